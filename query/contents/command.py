"""`bench show`: what is in a run."""

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import click

from ... import sql
from ...warehouse.console.completion import complete
from ...warehouse.console.declared import Backends, Limit, Models, Option, Positional, Statuses, Suites, Surface
from ...warehouse.console.numbers import counted
from ...warehouse.console.options import notify, store_words
from ...warehouse.store import Store
from ..filters import asked_metrics
from ..question import Asker, PeopleTable, Question, Reply, Where, command_of
from .results import RESULT_SPARE, SORTS, Row, RunResults, calls_of, heading, render, results
from .training import training_sentences

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

FIRST = 10  # cases that `ingest` shows
MOST_NICE = 19
MOST_NAMED = 10  # words of a command that a sentence says


@dataclass(frozen=True, slots=True)
class Show(Question[RunResults]):
    """What is in a run: one row a case, with its value, interval, samples, spread, peak memory and status.

    RUN is the beginning of an id, a config, the beginning of a commit, a day, tag:NAME, latest (the default; latest~1 is the
    one before), or a file, folder or other store, which is read in place. The value is the median of the case's headline
    metric: its latency, else what is nearest to it.

    \b
        bench show
        bench show main --metrics rss_peak compile_latency --sort -value --limit 20
        bench show main~1 --details
        bench show results.json
        bench show --follow
    """

    name = "show"
    views: ClassVar = {"": "case_results", "--details": "run_details"}
    version = 2
    for_agents = (
        "What is in runs: one row a case, with its value, interval, samples and status. `runs` defaults to the newest."
    )

    runs: Annotated[
        Sequence[str], Positional("Runs; the newest if left out.", metavar="[RUN]...", shell_complete=complete)
    ] = ()
    _: KW_ONLY
    metrics: Annotated[Sequence[str], Option("Further metrics, each a column.")] = ()
    suites: Suites = ()
    backends: Backends = ()
    models: Models = ()
    statuses: Statuses = ()
    where: Where = None
    sort: Annotated[
        str | None,
        Option(
            f"By {', '.join(SORTS)} or one of --metrics; -COLUMN: the largest first.", on=Surface.PEOPLE,
            metavar="COLUMN",
        ),
    ] = None  # fmt: skip
    limit: Limit = None
    details: Annotated[
        bool,
        Option("The run itself instead: command, commit, machine, versions, settings.", on=Surface.PEOPLE),
    ] = False
    follows: Annotated[
        bool,
        Option(
            "Again every 2 s while it is recorded, less often where it holds millions.", "--follow", on=Surface.COMMAND
        ),
    ] = False

    def places(self) -> Sequence[str]:
        """The runs."""
        return self.runs

    def put(self, store: Store, answer: "Callable[[Warehouse], None]") -> None:
        """Ask the store, or what is being recorded in it, again and again."""
        if not self.follows:
            Question.put(self, store, answer)
            return
        from .follow import follow

        os.nice(MOST_NICE)  # where all processors are busy, those that record have them
        follow(store, answer)

    def answer(self, warehouse: "Warehouse", asker: Asker) -> Reply[RunResults]:
        """The rows of `case_results`, with a column for each further metric."""
        from ..resolve import resolve_run

        chosen = list(dict.fromkeys(resolve_run(warehouse, name) for name in self.runs or ["latest"]))
        if self.details:
            return _details(warehouse, chosen)
        where = {
            "suite": self.suites, "backend": self.backends, "name": self.models, "status": self.statuses,
            **(self.where or {}),
        }  # fmt: skip
        named = [
            run for run in chosen if not any(run.startswith(name) for name in self.runs)
        ]  # one that is meant by its id is alone
        calls, asked = calls_of(warehouse, named), asked_metrics(warehouse, self.metrics)
        found = results(warehouse, chosen, where, metrics=asked, sort=self.sort, limit=self.limit, calls=calls)
        columns = [*(found.rows[0] if found.rows else sql.view("case_results").columns)]

        def sentences() -> Iterator[str]:
            if not found.rows:
                some = " of these" if any(where.values()) else ""
                yield f"no case{some}. What the run was: {shlex.join(['bench', 'show', *self.runs, '--details'])}"
            if len(found.rows) < found.total:
                yield f"{found.total - len(found.rows):,} more without --limit"
            if not calls:
                yield from _of_its_night(warehouse, named)
            yield from training_sentences(warehouse, chosen)
            yield from _preempted(warehouse, found.rows)
            yield from _large_values(warehouse, chosen)

        return Reply(
            result=found,
            columns=lambda: columns,
            rows=found.rows,
            table=lambda: _table(found),
            lead=lambda: [heading(warehouse, chosen, calls)],
            sentences=sentences,
            headings_alone=False,
        )


show = command_of(Show)


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
    _table(found).write("table", None)
    rest = f"{counted(found.total - FIRST, 'more case')}: " if found.total > FIRST else ""
    where = store_words(warehouse.store)
    if calls:
        notify(f"{rest}bench show {shlex.quote(found.rows[0]['config'])}{where}")
        return
    others = f" (the newest of {len(runs)} runs)" if len(runs) > 1 else ""
    notify(f"{rest}bench show {newest[:13]}{where}{others}")


def _table(found: RunResults) -> PeopleTable:
    if not found.rows:
        return PeopleTable((), ())
    columns, rows, shared = render(found)
    return PeopleTable(columns, rows, shared=shared, spare=RESULT_SPARE, reason="reason")


def _details(warehouse: "Warehouse", runs: Sequence[str]) -> Reply[RunResults]:
    """The rows of `run_details`; for people a table for each, of what is known."""
    from ..tables import select

    found = select(warehouse, "run_details", {"run_id": runs})
    rows = [*found.rows]
    known = [
        [(name, str(value)) for name, value in zip(found.columns, row, strict=True) if value is not None]
        for row in rows
    ]
    described = [dict(zip(found.columns, row, strict=True)) for row in rows]
    return Reply(
        result=RunResults(described, len(rows)),
        columns=lambda: found.columns,
        rows=described,
        table=lambda: PeopleTable(found.columns, rows),
        blocks=lambda: ((("field", "value"), facts) for facts in known),
    )


def _of_its_night(warehouse: "Warehouse", runs: Sequence[str]) -> Iterator[str]:
    """Say that a night has more runs than the one that a name means: its other shards, or a rerun."""
    query = "SELECT DISTINCT other_run_id FROM related_runs WHERE same_round AND list_contains(?::VARCHAR[], run_id) ORDER BY ALL"
    others = [other for (other,) in warehouse.rows(query, [[*runs]]) if other not in runs]
    if others:
        words = ["bench", "show", *(run[:13] for run in [*runs, *others])]
        cure = shlex.join(words) if len(words) <= MOST_NAMED else "bench list runs"
        yield f"{counted(len(others), 'more run')} of its night: {cure}{store_words(warehouse.store)}"


def _preempted(warehouse: "Warehouse", rows: Sequence[Row]) -> Iterator[str]:
    """Say in which case most timings count in no statistic, as they lost their processor (see cells)."""
    shown = {(row["run_id"], row["case_id"]): row for row in rows if _is_timed(row)}
    counts = warehouse.rows(
        "SELECT count(*), run_id, case_id FROM timings SEMI JOIN (FROM case_summaries WHERE disturbed > 0)"
        " USING (run_id, case_id) WHERE list_contains(?::VARCHAR[], run_id) AND metric = 'latency' AND phase = 'steady'"
        " AND loops > 0 GROUP BY ALL ORDER BY ALL",
        [list({run for run, _ in shown})],
    )
    lost = [(count - row["n"], count, row["name"]) for count, *key in counts if (row := shown.get(tuple(key)))]
    lost = sorted((case for case in lost if case[0]), reverse=True)
    if lost:
        out, count, name = lost[0]
        more = f"; so in {counted(len(lost) - 1, 'more case')}" if len(lost) > 1 else ""
        yield f"{name}: {out:,} of {counted(count, 'timing')} lost their processor, and do not count{more}"


def _is_timed(row: Row) -> bool:
    """True for a case whose value is of its steady latency."""
    return (row["metric"], row["phase"]) == ("latency", "steady")


def _large_values(warehouse: "Warehouse", runs: Sequence[str]) -> Iterator[str]:
    """Say that values of 1e150 or more count in no statistic."""
    from ...warehouse.events import LARGEST
    from ..pasteable_sql import among, paste

    large = f"FROM metrics WHERE {among('run_id', runs)} AND abs(value) >= {LARGEST} AND isfinite(value)"
    ((count,),) = warehouse.rows(f"SELECT count(*) {large}")
    if count:
        yield f"{counted(count, 'value')} of 1e150 or more counted in no statistic: {paste(large)}"
