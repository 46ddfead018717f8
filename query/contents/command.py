"""`bench show`: what is in a run."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...warehouse.console.completion import complete
from ...warehouse.console.fitting import wide_option, write_fitted
from ...warehouse.console.numbers import counted
from ...warehouse.console.options import Command, Values, format_option, notify, store_option
from ...warehouse.console.tables import write_dicts, write_rows
from ...warehouse.store import Store
from ..command import backends_option, limit_option, models_option, suites_option, where_option
from ..filters import asked_metrics, where_pairs
from ..question import output_option
from .follow import follow
from .results import SORTS, SPARE, RunResults, calls_of, heading, render, results
from .training import training_sentences

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

FIRST = 10  # cases that `ingest` shows
MOST_NICE = 19


@click.command(cls=Command)
@click.argument("runs", metavar="[RUN]...", nargs=-1, shell_complete=complete)
@click.option("--metrics", cls=Values, help="Further metrics, each a column.")
@suites_option
@backends_option
@models_option
@click.option("--statuses", cls=Values, help="Only these: ok, fail_to_run, OOM, timeout …")
@where_option
@click.option(
    "--sort", metavar="COLUMN", help=f"By {', '.join(SORTS)} or one of --metrics; -COLUMN: the largest first."
)
@limit_option
@click.option("--details", is_flag=True, help="The run itself instead: command, commit, machine, versions, settings.")
@click.option(
    "--follow",
    "follows",
    is_flag=True,
    help="Again every 2 s while it is recorded, less often where it holds millions.",
)
@wide_option
@format_option
@output_option
@store_option
def show(
    runs: Sequence[str], metrics: Sequence[str], suites: Sequence[str], backends: Sequence[str], models: Sequence[str],
    statuses: Sequence[str], pairs: Sequence[str], sort: str | None, limit: int | None, details: bool, follows: bool, fmt: str,
    output: Path | None, store: Store,
) -> None:  # fmt: skip
    """What is in a run: one row a case, with its value, interval, samples, spread, peak memory and status.

    RUN is the beginning of an id, a config, the beginning of a commit, a day, tag:NAME, a path that was ingested, or
    latest (the default); latest~1 is the one before. The value is the median of the case's headline metric: its latency,
    else what is nearest to it.

    \b
        bench show
        bench show main --metrics rss_peak compile_latency --sort -value --limit 20
        bench show main~1 --details
        bench show --follow
    """
    from ...warehouse.database import Warehouse
    from ..resolve import resolve_run

    where = {"suite": [*suites], "backend": [*backends], "name": [*models], "status": [*statuses], **where_pairs(pairs)}

    def answer(warehouse: "Warehouse") -> None:
        chosen = list(dict.fromkeys(resolve_run(warehouse, name) for name in runs or ["latest"]))
        if details:
            _write_details(warehouse, chosen, fmt, output)
            return
        named = [
            run for run in chosen if not any(run.startswith(name) for name in runs)
        ]  # one that is meant by its id is alone
        calls = calls_of(warehouse, named)
        asked = asked_metrics(warehouse, metrics)
        found = results(warehouse, chosen, where, metrics=asked, sort=sort, limit=limit, calls=calls)
        if fmt not in ("table", "markdown"):
            write_dicts(found.rows, fmt, output)
            return
        notify(heading(warehouse, chosen, calls))
        if found.rows:
            _write(found, fmt, output)
        else:
            notify("no case. What the run was: bench show --details")
        if len(found.rows) < found.total:
            notify(f"{found.total - len(found.rows):,} more without --limit")
        for sentence in training_sentences(warehouse, chosen):
            notify(sentence)
        _warn_of_large_values(warehouse, chosen)

    if follows:
        os.nice(MOST_NICE)  # where all processors are busy, those that record have them
        follow(store, answer)
        return
    with Warehouse.open(store) as warehouse:
        answer(warehouse)


def show_first(warehouse: "Warehouse", runs: Sequence[str]) -> None:
    """Write the first cases of runs, and the command for the rest: how `bench ingest` ends."""
    ((newest,),) = warehouse.rows(
        "SELECT run_id FROM run_summaries WHERE list_contains(?::VARCHAR[], run_id) ORDER BY began_at DESC, run_id DESC LIMIT 1",
        [[*runs]],
    )
    calls = calls_of(warehouse, [newest])
    found = results(warehouse, [newest], limit=FIRST, calls=calls)
    if not found.rows:
        return
    click.echo(err=True)
    notify(heading(warehouse, [newest], calls))
    _write(found, "table")
    rest = f"{counted(found.total - FIRST, 'more case')}: " if found.total > FIRST else ""
    if calls:
        notify(f"{rest}bench show {shlex.quote(found.rows[0]['config'])}")
        return
    others = f" (the newest of {len(runs)} runs)" if len(runs) > 1 else ""
    notify(f"{rest}bench show {newest[:13]}{others}")


def _write(found: "RunResults", fmt: str, output: Path | None = None) -> None:
    columns, rows, shared = render(found)
    write_fitted(columns, rows, fmt, output, shared=shared, spare=SPARE, reason="reason")


def _write_details(warehouse: "Warehouse", runs: Sequence[str], fmt: str, output: Path | None) -> None:
    from ..tables import select

    found = select(warehouse, "run_details", {"run_id": runs})
    if fmt != "table":
        write_rows(found.columns, found.rows, fmt, output)
        return
    for row in found.rows:
        facts = [(name, str(value)) for name, value in zip(found.columns, row, strict=True) if value is not None]
        write_rows(["field", "value"], facts, fmt, output)


def _warn_of_large_values(warehouse: "Warehouse", runs: Sequence[str]) -> None:
    """Say that values of 1e150 or more count in no statistic."""
    from ...warehouse.events import LARGEST
    from ..pasteable_sql import among, paste

    large = f"FROM metrics WHERE {among('run_id', runs)} AND abs(value) >= {LARGEST} AND isfinite(value)"
    ((count,),) = warehouse.rows(f"SELECT count(*) {large}")
    if count:
        notify(f"{counted(count, 'value')} of 1e150 or more counted in no statistic: {paste(large)}")
