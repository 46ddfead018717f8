"""`bench publish`: a store as a static site."""

from pathlib import Path

import click

from ...warehouse.console.options import Command, notify, store_option
from ...warehouse.store import Store


@click.command("publish", cls=Command)
@click.argument("site", required=False, metavar="SITE")
@click.option("--title", metavar="TEXT", help="Title of the site instead of the name of the store's folder.")
@click.option(
    "--url", default="", metavar="URL", help="Where the site will stand, for links in summary.md and the feed."
)
@click.option(
    "--to-branch", metavar="BRANCH", help="Commit the site to this branch of the repository here, for GitHub Pages."
)
@click.option(
    "--with-logs",
    is_flag=True,
    help="Publish the end of what programs wrote whose cases failed, too: paths shortened, secrets in free text as they are.",
)
@click.option(
    "--with-sql",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="A page for SQL, too: by DuckDB-WASM, 8 MB that a browser reads at the first query. FOLDER is what npm pack"
    " @duckdb/duckdb-wasm brought, unpacked.",
)
@click.option("--what", is_flag=True, help="Say what would be published, and what is left out; write nothing.")
@store_option
def command(
    site: str | None,
    title: str | None,
    url: str,
    to_branch: str | None,
    with_logs: bool,
    with_sql: Path | None,
    what: bool,
    store: Store,
) -> None:
    """Publish a store as a static site: what changed, suites, runs, cases, any two runs compared.

    SITE is a folder or a bucket, s3://bucket/prefix: new, empty, or one that bench publish wrote, where it writes what
    differs. Any web server shows it, and a browser by its file. Names of hosts and users, command lines, paths and
    environment variables stay at home.

    \b
        bench publish site/
        bench publish site/ --to-branch gh-pages && git push origin gh-pages
        bench publish s3://bucket/site --url https://team.example/bench
        bench publish --what
    """
    from ...warehouse.database import Warehouse
    from . import site as made
    from .branch import branch_for_site, commit
    from .bucket import made_in, upload
    from .sql_page import Engine

    if what or site is None:
        if not what:
            raise click.UsageError(
                "name a folder: bench publish SITE/, or see what it would hold: bench publish --what"
            )
        described = click.HelpFormatter()  # which cuts nothing off
        described.write_dl(made.described(with_logs))
        click.echo(described.getvalue(), nl=False)
        return
    if url and not url.startswith(("https://", "http://")):
        raise click.UsageError(f"--url {url}: where the site will stand begins with https:// or http://")
    branch = None if to_branch is None else branch_for_site(to_branch)
    engine = None if with_sql is None else Engine(with_sql)
    folder = made_in(site) if (in_bucket := "://" in site) else Path(site)
    with Warehouse.open(store).plan_briefly() as warehouse:
        done = made.publish(
            warehouse, folder, title=title or made.title_of(store.root), url=url, logs=with_logs, engine=engine
        )
    if branch is not None:
        notify(commit(folder, branch, sorted(done.files)))
    if in_bucket:
        notify(upload(folder, done.files, site))
    else:
        notify(f"wrote {site}: {done}. Open {folder / 'index.html'}")
