"""`bench ingest`."""

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ..warehouse.console.numbers import counted
from ..warehouse.console.options import Command, Values, store_option
from ..warehouse.console.tables import obeys, write_rows
from ..warehouse.errors import AllRejected, BenchError
from ..warehouse.forward_pass import TIME_SPANS
from ..warehouse.settings import setting
from ..warehouse.store import Store
from .accounting import Line, all_rejected
from .facts import FACTS, parse_facts
from .format import Format, Options
from .load_notes import folded
from .plan import Item, SourceOptions
from .progress import IngestProgress
from .readers.files import read_head
from .registry import formats
from .run import IngestReport
from .run import ingest as ingest_files
from .user_formats.mapped_steps import mapped_format, step_columns
from .user_formats.mapping import fields_for_people, terms_of
from .user_formats.pattern import Pattern

SHOWN_NOTES = 20
SHOWN_FILES = 3  # that an error names


@click.command(
    cls=Command, epilog=f"\b\nFields of --map:\n{fields_for_people()}\n\nOf scheduler steps: {step_columns()}"
)
@click.argument("paths", nargs=-1, metavar="[PATH | NAME:PATH]...")
@click.option("--format", "format_name", metavar="NAME", help="Read as this format, whatever the files look like.")
@click.option(
    "--map", "maps", multiple=True, metavar="FIELD=COLUMN,…", help="Read any table: which column is which field."
)
@click.option(
    "--pattern", metavar="REGEX", help="Read any text: a line that matches is a row, its named groups are columns."
)
@click.option("--axes", cls=Values, metavar="COLUMN…", help="Columns of a table that are axes of its cases.")
@click.option("--metrics", cls=Values, metavar="COLUMN…", help="Columns that are measured numbers.")
@click.option("--ignore", cls=Values, metavar="COLUMN…", help="Columns to leave out.")
@click.option("--config", metavar="LABEL", help="Config to load as; else NAME of NAME:PATH, else the folder's name.")
@click.option("--tag", "tags", multiple=True, metavar="KEY=VALUE", help="Label the new runs; may be repeated.")
@click.option(
    "--metric", type=click.Choice(["time", "memory"]), help="What the results of a CSV are, if the CSV does not say it."
)
@click.option(
    "--engine",
    type=click.Choice(list(TIME_SPANS)),
    help="Engine that wrote a forward pass trace. It tells what the times of the steps span; the trace does not.",
)
@click.option(
    "--set",
    "facts",
    multiple=True,
    metavar="KEY=VALUE",
    help=f"Say what the files do not: {', '.join(FACTS)}; may be repeated.",
)
@click.option("-v", "--verbose", is_flag=True, help="Say of each file why it was taken for a file of its format.")
@click.option("--again", is_flag=True, help="Load files of forgotten runs, too, as new runs.")
@click.option("--dry-run", is_flag=True, help="Say what would be loaded, and write nothing.")
@click.option("--no-wait", is_flag=True, help="Give up (exit code 75) if another process is loading.")
@store_option
def ingest(
    paths: tuple[str, ...], format_name: str | None, maps: tuple[str, ...], pattern: str | None,
    axes: tuple[str, ...], metrics: tuple[str, ...], ignore: tuple[str, ...], config: str | None,
    tags: tuple[str, ...], metric: str | None, engine: str | None, facts: tuple[str, ...], verbose: bool, again: bool,
    dry_run: bool, no_wait: bool, store: Store,
) -> None:  # fmt: skip
    """Load results into the store: files, or folders of files, whose format is recognised from their content.

    What the store already has is recognised by content and not loaded again; of a JSONL file that grew, only the new
    lines are loaded. Without PATH, journals of processes that died are sealed and loaded.

    \b
        bench ingest A:profiles/a B:profiles/b

    Any table (CSV, JSON, JSON lines, Parquet, SQLite, xlsx) is read by a mapping of its columns. FIELD=COLUMN names
    the column of a field, FIELD:=TEXT gives one text for all rows; words such as ms, lower and mean need no
    colon. What describes a value follows it; what comes before the first value describes all of them. @FILE
    holds the same in TOML.

    \b
        bench ingest results.csv --map name=model,value=result,unit=ms
        bench ingest r.csv --map "name=op,unit=us,value=mean,statistic=mean,value=p99,statistic=p99,value=peak,unit=MB"
        bench ingest nightly.jsonl --map name=test,value=seconds,unit=s,commit=sha,time=date,status=result,reason=error
        bench ingest any.parquet --map @mapping.toml --map suite:=nightly
        bench ingest sweep.csv --map name=kernel --metrics time_us gflops --axes threads tile --ignore host_id

    Any text is read by a regular expression (RE2's syntax): the named groups of a line that matches are its columns;
    a group with the name of a field is that field. Other lines are counted. Of a log that grew, only the new lines
    are read.

    \b
        bench ingest train.log --pattern '(?P<name>\\w+) took (?P<value>[\\d.]+) ?(?P<unit>ms|s)'
        bench ingest train.log --pattern 'loss=(?P<loss>\\S+)' --map name:=train,value=loss,better=lower
    """
    report = ingest_files(
        store,
        list(paths),
        sources=SourceOptions(
            format=format_name,
            config=config,
            own=_own((*maps, *terms_of(axes, metrics, ignore)), pattern, format_name, paths),
            again=again,
        ),
        options=Options(metric=metric, engine=engine),
        tags={**setting("tags"), **dict(_pair(tag) for tag in tags)},
        facts=parse_facts(facts),
        dry_run=dry_run,
        wait=not no_wait,
        notify=_notify,
        progress=_Bar() if obeys(sys.stderr) else None,
    )
    if verbose:
        for item in report.plan.items:
            _notify(f"{item.path}: {item.format}, because it {_evidence(item)}")
    if dry_run:
        _show_plan(report)
    else:
        _show(report, store)
        _refuse_rejected(store, report.lines, "See each with: bench list rejects")
    _refuse_unrecognised(report)


def ingest_in_place(store: Store, paths: Sequence[str]) -> None:
    """Load each `PATH` or `NAME:PATH` without options into a store that only one command asks; notes go to stderr.

    Raises:
        BenchError: Nothing at one of the paths can be loaded.
    """
    options = Options(in_place=True)
    report = ingest_files(
        store, list(paths), options=options, notify=_notify, progress=_Bar() if obeys(sys.stderr) else None
    )
    _show_notes(report)
    _refuse_unrecognised(report)
    for config in dict.fromkeys(line.config for line in report.lines):
        lines = [line for line in report.lines if line.config == config]
        _refuse_rejected(store, lines, "See each with bench ingest FILE, then: bench list rejects")
        if rejected := sum(line.rejected for line in lines):
            of = f"{counted(sum(line.lines for line in lines), 'record')} of {config}"
            told = f"{rejected:,} of {of} {'is' if rejected == 1 else 'are'} rejected, and left out"
            _notify(f"note: {told}. See each with bench ingest FILE, then: bench list rejects")


def ingest_result(
    store: Store, paths: Sequence[Path], config: str, *, tags: Mapping[str, str], facts: Mapping[str, Any],
    maps: Sequence[str] = (),
) -> tuple[list[str], list[str]]:  # fmt: skip
    """Load files that a measured call wrote as new runs of a config, though the store may know their content.

    `tags` are labels of the runs, `facts` columns of `runs` for what the files do not say, `maps` as `--map`.

    Returns:
        The ids of the runs, and notes.

    Raises:
        BenchError: Nothing in them can be loaded.
    """
    sources = SourceOptions(config=config, own=mapped_format(maps) if maps else None, anew=True)
    report = ingest_files(store, [str(path) for path in paths], sources=sources, tags=tags, facts=facts, notify=_notify)
    _refuse_unrecognised(report)
    if not report.runs:
        raise BenchError(f"nothing in {paths[0].name} is a result")
    _refuse_rejected(store, report.lines, "See each with: bench list rejects")
    return report.runs, report.notes


def _refuse_unrecognised(report: IngestReport) -> None:
    """Raise the error of the paths that hold nothing to load, whose last lines say how to read the first of them."""
    if failed := report.plan.failed:
        others = [str(error).splitlines()[0].rstrip(":") for error in failed[1:]]
        raise BenchError("\n".join([*others, str(failed[0])]))


def _refuse_rejected(store: Store, lines: Sequence[Line], cure: str) -> None:
    """Raise AllRejected if no record of some files could be read, with the most frequent reason."""
    if not (records := all_rejected(lines)):
        return
    from ..warehouse.database import Warehouse

    with Warehouse.open(store) as warehouse:
        theirs = "source_id IN (SELECT source_id FROM sources WHERE list_contains(?::VARCHAR[], path))"
        query = f"SELECT reason FROM rejects WHERE {theirs} GROUP BY ALL ORDER BY count(*) DESC, reason LIMIT 1"
        reasons = warehouse.rows(query, [[str(line.path) for line in lines]])
    names = ", ".join(str(line.path) for line in lines[:SHOWN_FILES]) + " …" * (len(lines) > SHOWN_FILES)
    whole = "its only record" if records == 1 else f"each of {counted(records, 'record')}"
    raise AllRejected(f"{names}: {whole} is rejected{''.join(f': {reason}' for (reason,) in reasons)}. {cure}")


def _evidence(item: Item) -> str:
    """The reason for which a file was taken for one of its format, in words that follow `because it`."""
    kind = formats().get(item.format)
    if kind is None:
        return "is read as you say"
    return kind.evidence(read_head(item.path))


def _own(
    maps: tuple[str, ...], pattern: str | None, format_name: str | None, paths: tuple[str, ...]
) -> Format | None:  # fmt: skip
    """The format made of the user's mapping or pattern."""
    if not maps and pattern is None:
        return None
    if format_name or not paths:
        what = "--map" if pattern is None else "--pattern"
        raise BenchError(
            f"{what} {'says what --format says' if format_name else 'is about a file'}. Give FILE {what} …"
        )
    return mapped_format(maps) if pattern is None else Pattern(pattern, maps)


def _pair(tag: str) -> tuple[str, str]:
    key, equals, value = tag.partition("=")
    if not (key and equals):
        raise BenchError(f"--tag {tag!r} is not KEY=VALUE, such as --tag gpu=h200")
    return key, value


def _show(report: IngestReport, store: Store) -> None:
    """Show the accounting, one row for each config and format, then the notes."""
    sums: dict[tuple[str, str], list[int]] = {}
    for line in report.lines:
        row = sums.setdefault((line.config, line.format), [0, 0, 0, 0, 0, 0])
        for index, value in enumerate((1, line.lines, line.loaded, line.rejected, line.known, line.left_out)):
            row[index] += value
    rows: list[tuple[object, ...]] = [(*key, *row) for key, row in sums.items()]
    if len(rows) > 1:
        rows.append(("total", "", *(sum(column) for column in zip(*sums.values(), strict=True))))
    if rows:
        columns = ["config", "format", "files", "lines", "loaded", "rejected", "known", "left_out"]
        shown = len(columns) if any(row[-1] for row in rows) else -1  # most formats leave nothing out
        write_rows(columns[:shown], [row[:shown] for row in rows], "table")
    _show_notes(report)
    if report.recovered:
        _notify(
            f"sealed and loaded {counted(report.recovered, 'journal')} of processes that ended without closing their run"
        )
    if any(line.rejected for line in report.lines) and not all_rejected(report.lines):
        _notify("Rejected records are kept with file, line and reason; see them with: bench list rejects")
    if not rows and not report.recovered and not report.copied:
        _notify(f"nothing new for {store}. Load files and folders with: bench ingest PATH")
    if report.runs or (not rows and store.database.is_file()):
        from ..query.contents.command import show_first
        from ..warehouse.database import Warehouse

        with Warehouse.open(store) as warehouse:  # which names the damaged files of the store
            if report.runs:
                show_first(warehouse, report.runs)


def _show_plan(report: IngestReport) -> None:
    rows: list[tuple[object, ...]] = []
    for item in report.plan.items:
        new = item.new
        if new is None:
            action = "a copy of another" if item.twin else "known"
        elif new.start_byte:
            action = f"load what was added after line {new.first_line - 1}"
        else:
            action = "load"
        rows.append((item.config, item.format, str(item.path), action, new.end_byte - new.start_byte if new else 0))
    rows += [("", "bench", str(path), "copy what is new", None) for path in report.plan.stores]
    write_rows(["config", "format", "path", "action", "bytes"], rows, "table")
    _show_notes(report)


def _show_notes(report: IngestReport) -> None:
    from ..warehouse.upkeep.healing import told

    told(report.notes)
    notes = folded(report.notes)
    for note in notes[:SHOWN_NOTES]:
        _notify(f"note: {note}")
    if len(notes) > SHOWN_NOTES:
        _notify(f"note: … and {len(notes) - SHOWN_NOTES} more")


def _notify(sentence: str) -> None:
    click.echo(sentence, err=True)


class _Bar(IngestProgress):
    """One line on the terminal, rewritten at most ten times a second."""

    def __init__(self) -> None:
        self._next = 0.0
        self._looked = self._hashed = self._files = self._done = self._bytes = self._total = 0

    def looked(self) -> None:
        """Show how many files were looked at."""
        self._looked += 1
        self._show(f"looking at files: {self._looked:,}, {self._hashed >> 20:,} MiB hashed")

    def hashed(self, size_bytes: int) -> None:
        """Show the bytes hashed, with the files so far."""
        self._hashed += size_bytes
        self._show(f"looking at files: {self._looked:,}, {self._hashed >> 20:,} MiB hashed")

    def reading(self, files: int, size_bytes: int) -> None:
        """Set how much there is to read."""
        self._files, self._total = files, size_bytes

    def read(self, size_bytes: int) -> None:
        """Show the files read."""
        self._done += 1
        self._bytes += size_bytes
        self._show(f"reading: {self._done} of {self._files} files, {self._bytes >> 20} of {self._total >> 20} MiB")

    def publishing(self) -> None:
        """Show that the warehouse is next, and leave the line empty for what follows."""
        self._next = 0.0
        self._show("")

    def _show(self, text: str) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + 0.1
            click.echo(f"\r\x1b[K{text}", nl=False, err=True)
