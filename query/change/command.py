"""`bench history`: what changed over many runs."""

import datetime
import functools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...sql.rules import FDR
from ...warehouse.console.fitting import wide_option, write_fitted
from ...warehouse.console.numbers import counted
from ...warehouse.console.options import Command, Moment, Values, format_option, notify, share_option, store_option
from ...warehouse.console.tables import obeys, write_rows
from ...warehouse.errors import BenchError, Exit, NothingToShow
from ...warehouse.store import Store
from ..bisect.suggest import bisect_command
from ..command import backends_option, configs_option, models_option, output_option, suites_option, write

if TYPE_CHECKING:
    from ..ask import Answer
    from .history import History
    from .render import FindCommit

PEOPLE = ("table", "markdown")


@click.command(cls=Command)
@click.argument("pattern", required=False)
@click.option(
    "--metrics",
    cls=Values,
    help="Only these metrics, in all phases; by default all metrics, without cold and warm-up phases.",
)
@configs_option
@suites_option
@backends_option
@models_option
@click.option(
    "--since", type=Moment(), metavar="DATE", help="Only changes (with --all: values) from this time on, UTC."
)
@share_option("--min-magnitude", default="1%", most=100, help="Smallest change that counts.")
@share_option("--fdr", default=f"{FDR:.0%}", help="False alarms to accept, of the series said to have changed.")
@click.option("--all", "show_values", is_flag=True, help="List the values themselves.")
@click.option("--members", is_flag=True, help="List every change, by incident.")
@click.option("--summary", is_flag=True, help="Geomean, pass rate, compile time and memory over the last runs.")
@click.option("-k", type=click.IntRange(1), default=10, show_default=True, help="Runs that --summary shows.")
@wide_option
@format_option
@output_option
@store_option
def history(
    pattern: str | None, metrics: Sequence[str], configs: Sequence[str], suites: Sequence[str], backends: Sequence[str],
    models: Sequence[str], since: datetime.datetime | None, min_magnitude: float, fdr: float, show_values: bool,
    members: bool, summary: bool, k: int, fmt: str, output: Path | None, store: Store,
) -> int:  # fmt: skip
    """What changed over many runs: incidents, the costliest first, from steps, drifts and excursions of every number.

    PATTERN is part of a model's name, or a pattern of the whole name with * and ?. A series is a number of a case in
    all runs of a config; it needs 9 runs or more. A single series is drawn, with its changes. An excursion ends after at
    most 10 runs. What happened at one moment, to all cases, suites and metrics, is one incident; the first 40 are shown.

    Ends with 4 if there are too few runs to judge anything.

    \b
        bench history
        bench history bert --metrics latency --since 2026-11-01
        bench history --summary -k 20
    """
    from ...warehouse.database import Warehouse
    from . import history as past
    from .changepoints import LEAST_RUNS

    where = {"config": configs, "suite": suites, "backend": backends}
    if summary:
        if pattern or models or metrics or show_values or since:
            raise BenchError("--summary is of all models; it goes with --configs, --suites, --backends and -k only.")
        _summarize(store, where, k, fmt, output)
        return Exit.OK
    with Warehouse.open(store) as warehouse:
        unusual = past.choose(warehouse, {**where, "name": models, "metric": metrics}, pattern)
        series = past.read(warehouse)
        if not series:
            named = f" There is, if named with --metrics: {', '.join(unusual)}." if unusual else ""
            raise NothingToShow(f"nothing measured fits.{named} See what there is with: bench list cases")
        if show_values:
            _list(past.values(warehouse, since), fmt, output)
            return Exit.OK
        progress = _Progress(len(series)) if obeys(sys.stderr) else None
        found = past.find(series, fdr=fdr, min_magnitude=min_magnitude, since=since, progress=progress)
        if fmt in PEOPLE:
            _tell(found, unusual, members, fmt, output, functools.partial(bisect_command, warehouse))
    if fmt not in PEOPLE:
        write_rows(past.COLUMNS, [list(row.values()) for row in found.rows], fmt, output)
    if not found.judged:
        longest = max(one.n for one in series)
        few = BenchError(
            f"none of {len(series)} series has the {LEAST_RUNS} runs it takes to tell a change from chance; the longest has"
            f" {longest}. See the values with: bench history --all"
        )
        few.exit_code = Exit.TOO_LITTLE
        raise few
    return Exit.OK


class _Progress:
    """One line on the terminal that says how many series are done, and goes when all are."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __call__(self, done: int) -> None:
        if done == self.count:
            click.echo("\r\x1b[K", nl=False, err=True)
        elif done % 100 == 0:
            click.echo(f"\rjudged: {done:,} of {self.count:,} series", nl=False, err=True)


def _list(answer: "Answer", fmt: str, output: Path | None) -> None:
    """The values, for people without the columns that hold nothing."""
    from .render import SHARED_BY_VALUES, render_values

    if fmt in PEOPLE:
        write_fitted(
            *render_values(list(answer.dicts())), fmt, output, shared=SHARED_BY_VALUES, spare=("run", "commit", "n")
        )
    else:
        write(answer, fmt, output)


def _tell(
    found: "History", unusual: Sequence[str], members: bool, fmt: str, output: Path | None, find: "FindCommit"
) -> None:
    """The incidents or the changes for people; one series with its chart."""
    from .render import SPARE, SPARE_OF_INCIDENTS, chart, render, render_incidents, sentences

    one = len(found.series) == 1
    if one and fmt == "table" and output is None:
        click.echo("\n".join(chart(found.series[0], found.changes[0])))
    if found.rows or output is not None:
        if members or one:
            write_fitted(*render(found), fmt, output, spare=SPARE)
        else:
            write_fitted(
                *render_incidents(found), fmt, output, shared=("where",), spare=SPARE_OF_INCIDENTS, brief="also"
            )
    if found.judged:
        for sentence in sentences(found, unusual, find, members=members or one):
            notify(sentence)


def _summarize(store: Store, where: dict[str, Sequence[str]], k: int, fmt: str, output: Path | None) -> None:
    from ...warehouse.database import Warehouse
    from ..tables import select
    from .render import PANEL, summary

    with Warehouse.open(store) as warehouse:
        found = select(warehouse, f"history(k := {k:d})", where, order=f"{', '.join(PANEL)}, position")
        if fmt not in PEOPLE:
            write(found, fmt, output)
            return
        rows = list(found.dicts())
    if not rows:
        raise NothingToShow("no run judged any case. See what there is with: bench list runs")
    write_rows(*summary(rows), fmt, output)
    runs = {row["run_id"]: row["began_at"] for row in rows}
    times = sorted(at for at in runs.values() if at is not None)
    notify(
        counted(len(runs), "run")
        + (f", {times[0]:%Y-%m-%d} to {times[-1]:%Y-%m-%d}" if times else "")
        + ", oldest left"
    )
