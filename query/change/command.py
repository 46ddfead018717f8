"""`bench history`: what changed over many runs."""

import datetime
import functools
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import click

from ...sql.rules import FDR
from ...warehouse.console.declared import Backends, Configs, Models, Option, Positional, Suites, Surface
from ...warehouse.console.numbers import counted
from ...warehouse.console.options import Moment
from ...warehouse.console.tables import obeys
from ...warehouse.errors import BenchError, Exit, NothingToShow
from ..bisect.suggest import bisect_command
from ..question import Asker, PeopleTable, Question, Reply, Share, Where, command_of

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse
    from ..ask import Answer
    from .history import History
    from .render import FindCommit


@dataclass(frozen=True, slots=True)
class Changes(Question["History"]):
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

    name = "history"
    views: ClassVar = {"": "change_points", "--all": "history --all", "--summary": "history"}
    for_agents = """What changed over many runs, and since when: steps, drifts and excursions of every number of every case.

        `pattern` is part of a model's name. A series needs 9 runs; of a shorter one nothing is said.
        """

    pattern: Annotated[str | None, Positional("Part of a model's name, or a pattern with * and ? for all of it.")] = (
        None
    )
    _: KW_ONLY
    metrics: Annotated[
        Sequence[str],
        Option(
            "Only these metrics, in all phases; by default all metrics, without cold and warm-up phases.",
            on=Surface.PEOPLE,
        ),
    ] = ()
    configs: Configs = ()
    suites: Suites = ()
    backends: Backends = ()
    models: Models = ()
    where: Where = None
    since: Annotated[
        datetime.datetime | None,
        Option(
            "Only changes (with --all: values) from this time on, UTC.",
            on=Surface.PEOPLE,
            type=Moment(),
            metavar="DATE",
        ),
    ] = None
    min_magnitude: Annotated[float, Share("Smallest change that counts.", on=Surface.PEOPLE, most=100)] = 0.01
    fdr: Annotated[float, Share("False alarms to accept, of the series said to have changed.", on=Surface.PEOPLE)] = FDR
    show_values: Annotated[bool, Option("List the values themselves.", "--all", on=Surface.COMMAND)] = False
    members: Annotated[bool, Option("List every change, by incident.", on=Surface.PEOPLE)] = False
    summary: Annotated[
        bool, Option("Geomean, pass rate, compile time and memory over the last runs.", on=Surface.COMMAND)
    ] = False
    k: Annotated[int, Option("Runs that --summary shows.", "-k", on=Surface.COMMAND, type=click.IntRange(1))] = 10

    def __post_init__(self) -> None:
        if self.summary and (
            self.pattern or self.models or self.metrics or self.show_values or self.since or self.where
        ):
            raise BenchError("--summary covers all models; it works with --configs, --suites, --backends and -k only.")

    def answer(self, warehouse: "Warehouse", asker: Asker) -> "Reply[History]":
        """The rows of `change_points`; with `show_values` the values, with `summary` the rows of `history`."""
        from . import history as past
        from . import series as chosen

        panel = {"config": self.configs, "suite": self.suites, "backend": self.backends}
        if self.summary:
            return _summary(warehouse, panel, self.k)
        where = {**panel, "name": self.models, "metric": self.metrics, **(self.where or {})}
        unusual = chosen.choose(warehouse, where, self.pattern)
        series = chosen.read(warehouse)
        if not series:
            named = f" Judged only if --metrics names them: {', '.join(unusual)}." if unusual else ""
            raise NothingToShow(f"nothing measured matches.{named} See what there is with: bench list cases")
        if self.show_values:
            return _values(chosen.values(warehouse, series, self.since))
        progress = _Progress(len(series)) if asker.command and obeys(sys.stderr) else None
        found = past.find(series, fdr=self.fdr, min_magnitude=self.min_magnitude, since=self.since, progress=progress)
        find = functools.partial(bisect_command, warehouse) if asker.command else None
        return self._changes(found, unusual, find)

    def _changes(self, found: "History", unusual: Sequence[str], find: "FindCommit | None") -> "Reply[History]":
        """The incidents or the changes; one series with its chart."""
        from . import history as past
        from .render import SERIES_SPARE, SPARE_OF_INCIDENTS, chart, render, render_incidents, sentences

        one = len(found.series) == 1
        each = self.members or one

        def table() -> PeopleTable:
            if each:
                return PeopleTable(*render(found), spare=SERIES_SPARE)
            return PeopleTable(*render_incidents(found), shared=("where",), spare=SPARE_OF_INCIDENTS, brief="also")

        def said() -> Iterator[str]:
            return sentences(found, unusual, find, members=each) if found.judged or find is None else iter(())

        return Reply(
            result=found,
            columns=lambda: past.COLUMNS,
            rows=found.rows,
            table=table,
            headings_alone=False,
            sentences=said,
            figure=lambda: chart(found.series[0], found.changes[0]) if one else (),
            failure=None if found.judged else _too_few(found),
        )


history = command_of(Changes)


def _too_few(found: "History") -> BenchError:
    """The error where no series is long enough."""
    from .changepoints import LEAST_RUNS

    longest = max(one.n for one in found.series)
    few = BenchError(
        f"none of {len(found.series)} series has the {LEAST_RUNS} runs it takes to tell a change from chance; the longest"
        f" has {longest}. See the values with: bench history --all"
    )
    few.exit_code = Exit.TOO_LITTLE
    return few


class _Progress:
    """One line on the terminal that says how many series are done, and goes when all are."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __call__(self, done: int) -> None:
        if done == self.count:
            click.echo("\r\x1b[K", nl=False, err=True)
        elif done % 100 == 0:
            click.echo(f"\rjudged: {done:,} of {self.count:,} series", nl=False, err=True)


def _values(found: "Answer") -> Reply[Any]:
    """The values, for people without the columns that hold nothing."""
    from .render import SHARED_BY_VALUES, render_values

    rows = found.dicts()
    return Reply(
        result=None,
        columns=lambda: found.columns,
        rows=rows,
        table=lambda: PeopleTable(*render_values(list(rows)), shared=SHARED_BY_VALUES, spare=("run", "commit", "n")),
    )


def _summary(warehouse: "Warehouse", where: Mapping[str, Sequence[str]], k: int) -> Reply[Any]:
    """The last runs side by side."""
    from ..tables import select
    from .render import PANEL, summary

    found = select(warehouse, f"history(k := {k:d})", where, order=f"{', '.join(PANEL)}, position")
    rows = list(found.dicts())

    def table() -> PeopleTable:
        if not rows:
            raise NothingToShow("no run judged any case. See what there is with: bench list runs")
        return PeopleTable(*summary(rows))

    def span() -> Iterator[str]:
        runs = {row["run_id"]: row["began_at"] for row in rows}
        times = sorted(at for at in runs.values() if at is not None)
        yield (
            counted(len(runs), "run")
            + (f", {times[0]:%Y-%m-%d} to {times[-1]:%Y-%m-%d}" if times else "")
            + ", oldest left"
        )

    return Reply(result=None, columns=lambda: found.columns, rows=rows, table=table, sentences=span)
