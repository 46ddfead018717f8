"""`bench publish`: a store as a static site."""

from pathlib import Path

import click

from ...warehouse.console.options import Command, notify, store_option
from ...warehouse.console.tables import write_rows
from ...warehouse.store import Store


@click.command("publish", cls=Command)
@click.argument("site", required=False, type=click.Path(file_okay=False, path_type=Path))
@click.option("--title", metavar="TEXT", help="Title of the site instead of the name of the store's folder.")
@click.option(
    "--url", default="", metavar="URL", help="Where the site will stand, for links in summary.md and the feed."
)
@click.option("--what", is_flag=True, help="Say what would be published, and what is left out; write nothing.")
@store_option
def command(site: Path | None, title: str | None, url: str, what: bool, store: Store) -> None:
    """Publish a store as a static site: what changed, suites, runs, cases, any two runs compared.

    SITE is a new or empty folder, or one that bench publish wrote: then only what differs is written. Any web server
    shows it, and a browser by its file. Names of hosts and users, command lines, paths and environment variables stay
    at home.

    \b
        bench publish site/
        bench publish --what
    """
    from ...warehouse.database import Warehouse
    from . import site as made

    if what or site is None:
        if not what:
            raise click.UsageError(
                "name a folder: bench publish SITE/, or see what it would hold: bench publish --what"
            )
        write_rows(["about", "published"], [list(line) for line in made.described()], "table")
        return
    with Warehouse.open(store) as warehouse:
        done = made.publish(warehouse, site, title=title or made.title_of(store.root), url=url)
    notify(f"wrote {site}: {done}. Open {site / 'index.html'}")
