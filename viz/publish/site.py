"""A site of a store: what is in it, put together and written."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..._version import __version__
from ...query.change.settled import Searches
from ...warehouse.console.numbers import file_size
from ..output.html import text_of
from . import contents, feeds, figures, front, incidents, pairs, payload, sql_page, tiles
from .folder import FRONT_PAGE, SiteFolder
from .private import ENDING, ENVIRONMENT, LOG, RUN, shortened, withheld_with

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse
    from .sql_page import Engine

SCRIPT, STYLE = "site.js", "site.css"


@dataclass(frozen=True, slots=True)
class PublishedSite:
    """The files that were written."""

    files: Mapping[str, int]
    total_bytes: int  # with the manifest, by which the next publishing knows what is there
    written_bytes: int
    incidents: int

    def __str__(self) -> str:
        count = len(self.files) + 1
        return f"{count:,} files, {file_size(self.total_bytes)}, of which {file_size(self.written_bytes)} are new"


def publish(
    warehouse: "Warehouse", root: Path, *, title: str, url: str = "", logs: bool = False, engine: "Engine | None" = None
) -> PublishedSite:
    """Write the site of a store into a folder, or bring the one that is there up to date.

    Args:
        warehouse: Of the store.
        root: The folder.
        title: Of the site.
        url: Where it will stand, for links from elsewhere.
        logs: Publish the end of what programs wrote whose cases failed.
        engine: Of SQL in the browser, for a site with a page for it.

    Raises:
        BenchError: The folder holds other files, or cannot be written.
    """
    folder = SiteFolder.open(root)
    searches = Searches(folder.before.get("kept", {}).get("searches", {}))
    found = contents.read(warehouse, searches, logs=logs)
    folder.kept["searches"] = searches.kept
    told = incidents.tell(found)
    runs = [run["run_id"] for run in found.runs]
    cases = [case["case_id"] for case in found.cases]
    divided = tiles.write(warehouse, folder, runs, cases, found.values, found.digests, logs=logs)
    chosen = pairs.chosen(warehouse, found.history.incidents if found.history else [])
    configs = {run["run_id"]: run["config"] for run in found.runs}
    compared = pairs.write(warehouse, folder, chosen, configs, found.digests, logs=logs)
    pictures = figures.write(
        warehouse, folder, runs, [pair for pair in chosen if "|".join(pair) in compared], found.digests
    )
    data = {
        "version": __version__,
        "tiles": divided.of_page(),
        "pairs": compared,
        "opening": next(([*pair] for pair in chosen if "|".join(pair) in compared), None),
        **{
            kind: Path(folder.add(*payload.script(kind, payload.pack(value)))).stem
            for kind, value in (
                ("runs", contents.of_runs(found)),
                ("cases", contents.of_cases(found, divided.groups)),
                ("changes", incidents.of_changes(found, told)),
                ("figures", pictures),
            )
        },
        "incidents": {one.anchor: one.title for one in told},
        "cases_from": contents.CASES,
        "kept": tiles.KEPT,
        "facts": {called: column for column, called in ENVIRONMENT.items()},
    }
    style, code = (_asset(folder, name) for name in (STYLE, SCRIPT))
    for name, content in feeds.files(found, told, title=title, url=url):
        folder.put(name, content)
    withheld = f"Left out: {withheld_with(logs)}."
    if engine is not None:
        scripts = (code, _asset(folder, sql_page.SQL_SCRIPT))
        sql_page.write(folder, engine, title=title, data=data, style=style, scripts=scripts, limits=withheld)
    page = front.page(
        found, told, title=title, data=data, style=style, code=code, limits=withheld, sql=engine is not None
    )
    folder.put(FRONT_PAGE, page)
    folder.finish()
    total = sum(folder.files.values()) + folder.manifest_bytes
    return PublishedSite(folder.files, total, folder.written_bytes, len(told))


def described(logs: bool = False) -> list[tuple[str, str]]:
    """The published parts of a store by kind; then those that are not published."""
    return [
        ("of each run", ", ".join(RUN.values())),
        ("of its machine", f"{', '.join(ENVIRONMENT.values())}; its class, and a number in place of its name"),
        ("of each case", "suite, model and the other axes, with paths in names cut to their last part"),
        ("its values", "median, 95 % interval and number of samples of what comparisons judge"),
        ("where it failed", ", ".join([*ENDING.values(), *(LOG.values() if logs else ())])),
        (
            "what follows",
            "changes, incidents, means of suites, comparisons with their reasons, charts of steps and requests",
        ),
        ("left out", withheld_with(logs)),
    ]


def _asset(folder: SiteFolder, name: str) -> str:
    content = Path(__file__).with_name(name).read_text(encoding="utf-8")
    if name == SCRIPT:
        content = text_of("tables.js") + content
    packed = content.encode()
    return folder.add(payload.named(name, packed), packed)


def title_of(store: Path) -> str:
    """The title of a site that is given none: the folder that the store lies in."""
    name = store.parent.name if store.name.startswith(".") else store.name
    return shortened(name) or "Performance"
