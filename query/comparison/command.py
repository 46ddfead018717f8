"""`bench compare`: two sides case by case."""

import contextlib
import glob
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import click

from ...sql.rules import FDR
from ...warehouse.console.completion import complete
from ...warehouse.console.declared import Backends, Models, Option, Positional, Suites, Surface
from ...warehouse.errors import BenchError, Exit, NothingToShow, UnknownName
from ..filters import asked_metrics
from ..question import AllRuns, Asker, Floor, PeopleTable, Question, Reply, Share, Where, command_of

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse
    from .compare import Comparison
    from .sides import Side

A_SIDE = "config, run id, commit, latest, latest~1; joined by +, they are pooled."


def reply_of(found: "Comparison", *, everything: bool = False) -> "Reply[Comparison]":
    """The sentences and rows of a comparison; without any row it has no columns."""
    from .pull_request import document
    from .render import COMPARED_SPARE, machines, render, sentences, shown, verdict

    rows = found.rows + found.unusual

    def table() -> PeopleTable:
        presented = shown(found, everything=everything) + (found.unusual if everything else [])
        return PeopleTable(*render(found, presented), spare=COMPARED_SPARE, reason="why")

    return Reply(
        result=found,
        columns=lambda: list(rows[0]) if rows else (),
        rows=rows,
        table=table,
        sentences=lambda: sentences(found, everything=everything),
        lead=lambda: (*machines(found), verdict(found)),
        headings_alone=False,
        documents={"markdown": lambda command: document(found, command=command).markdown()},
    )


@dataclass(frozen=True, slots=True)
class Compare(Question["Comparison"]):
    """Compare two sides case by case: ratio with its interval, difference, verdict, and why.

    A side is a config, the beginning of a run id or of a commit, a day, tag:NAME, latest or latest~1: its newest run
    with its repeats: others of the same config and clean commit, or of its night. Names joined by + are pooled. A
    side may also be a file or folder of results, another store or a bucket, PATH or NAME:PATH; of a store NAME is a
    run there, else latest. These are read in place: nothing is stored.

    FASTER, SLOWER (BETTER, WORSE for what is no time and no rate) changed by the floor or more, beyond noise; of all
    such verdicts a share of --fdr is false. LIKELY says that the interval excludes the floor, but that how runs of
    different times differ was assumed, not seen. SAME did not change, UNSURE may have. A count that differs is CHANGED
    where neither way is better. ADDED and REMOVED were measured on one side only, BROKEN and FIXED worked on one side only.

    With --by the sides are two values of a column of the cases: an axis (backend, dtype, name …) or a parameter. Cases
    are matched by all other axes.

    With --fail-on slower the exit code is 1 if anything is slower or worse, 3 if the candidate lacks what the base has,
    4 if every case, or every time and rate, is UNSURE. With --fail-on likely what is likely slower or worse ends with 1, too.

    Traces of PyTorch, Chrome or Nsight Systems are compared by operator and kernel: the time of each, the largest
    difference first, with the gaps between kernels. An option that names cases or verdicts, such as --metrics, compares
    each shape and grid as a case.

    With --slo it compares what two serving benchmarks served: goodput within the limits, throughput, and p50, p90 and
    p99 of their requests, with intervals by blocks of time, or by runs where a side has several.

    \b
        bench compare main my-branch
        bench compare A B --slo ttft=200 tpot=50
        bench compare latest~1 latest --metrics latency --format markdown
        bench compare A:profiles/a B:profiles/b --where 'parameters={"tokens":"all"}'
        bench compare main:s3://team/bench .bench
        bench compare 'grep foo' 'rg foo' --by name
    """

    name = "compare"
    views: ClassVar = {"": "comparisons"}
    has_verdicts = True
    for_agents = """Compare two sides case by case: FASTER, SLOWER, BETTER, WORSE, LIKELY …, SAME, UNSURE, CHANGED, ADDED ….

        A side is a config, the beginning of a run id or commit, latest or latest~1. `where` maps columns to values to keep,
        such as {"metric": ["latency"], "name": ["mlp"]}. An UNSURE row has an interval and no ratio: nothing is known of it.
        """

    base: Annotated[str, Positional(f"The side to compare with: {A_SIDE}", shell_complete=complete)]
    candidate: Annotated[str, Positional(f"The side under judgement: {A_SIDE}", shell_complete=complete)]
    _: KW_ONLY
    metrics: Annotated[Sequence[str], Option("Only these; else all that have a direction.", on=Surface.PEOPLE)] = ()
    suites: Suites = ()
    backends: Backends = ()
    models: Models = ()
    where: Where = None
    floor: Floor = None
    fdr: Annotated[float, Share("False alarms to accept, of all alarms.", on=Surface.PEOPLE)] = FDR
    slo: Annotated[
        Sequence[str],
        Option(
            "Compare what was served: goodput within these limits (ttft, tpot, e2e), and quantiles of requests.",
            on=Surface.COMMAND,
            metavar="METRIC=MS…",
        ),
    ] = ()
    everything: Annotated[
        bool, Option("Show every row: what is the same, and all that is UNSURE.", "--all", on=Surface.COMMAND)
    ] = False
    across: Annotated[
        bool,
        Option("Compare sides of different machines as they stand.", "--across-machines", on=Surface.PEOPLE),
    ] = False
    by: Annotated[
        str | None,
        Option(
            "Compare two values of this axis or parameter, within a run or several.",
            on=Surface.PEOPLE,
            metavar="COLUMN",
        ),
    ] = None
    runs: Annotated[
        Sequence[str], Option("With --by: compare in these runs, else in the newest.", on=Surface.PEOPLE)
    ] = ()
    all_runs: AllRuns = False
    fail_on: Annotated[
        str | None,
        Option(
            "End with 1 if anything is slower or worse, or likely so; 3 if anything is gone.",
            on=Surface.COMMAND,
            type=click.Choice(["slower", "likely"]),
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.slo:
            from .serving import read_limits

            read_limits(self.slo)
        if self.slo and (self.suites or self.backends or self.models or self.where):
            raise BenchError("--slo works with --metrics only: all cases that both sides served are compared")
        if self.slo and self.by:
            raise BenchError("--slo compares runs, not values of a column: leave out --by")
        if self.runs and not self.by:
            raise BenchError("--runs works only with --by COLUMN: otherwise the sides name the runs")

    def places(self) -> Sequence[str]:
        """The sides, or the runs in which values are compared."""
        return (self.runs or ("latest",)) if self.by else (self.base, self.candidate)

    def answer(self, warehouse: "Warehouse", asker: Asker) -> Reply[Any]:
        """The rows of `comparisons`, with limits those of `serving_comparisons`, of traces those of `trace_part_sides`."""
        from ..why.traces import are_traces, compare_traces

        with self._sides(warehouse, asker) as sides:
            if self.slo:
                return self._served(warehouse, sides)
            if asker.command and not self._names_cases() and are_traces(warehouse, sides):
                return compare_traces(warehouse, sides, everything=self.everything)
            return self._compared(warehouse, asker, sides)

    def _names_cases(self) -> bool:
        """True if some cases are asked for, or verdicts, which traces do not have as wholes."""
        named = (self.metrics, self.suites, self.backends, self.models, self.where, self.by, self.fail_on)
        return any(named) or self.floor is not None

    @contextlib.contextmanager
    def _sides(self, warehouse: "Warehouse", asker: Asker) -> "Iterator[tuple[Side, Side]]":
        from .variants import said_of, variants

        if self.by is None:
            yield self._named_sides(warehouse, asker)
            return
        values = (self.base, self.candidate)
        with variants(warehouse, self.by, values, self.places(), all_runs=self.all_runs, notify=asker.notify) as sides:
            if both := said_of(*sides):
                asker.notify(both)
            yield sides

    def _named_sides(self, warehouse: "Warehouse", asker: Asker) -> "tuple[Side, Side]":
        from .sides import find_sides
        from .variants import columns_of

        try:
            return find_sides(warehouse, self.base, self.candidate, all_runs=self.all_runs, notify=asker.notify)
        except UnknownName as unknown:
            files = [[*Path().glob(f"{glob.escape(name)}.*")] for name in (self.base, self.candidate)]
            if columns := columns_of(warehouse, (self.base, self.candidate)):
                words = ["bench", "compare", self.base, self.candidate, "--by", columns[0]]
                cure = f"The newest run has both as {columns[0]}: {shlex.join(words)}"
            elif all(len(found) == 1 for found in files):
                words = ["bench", "compare", *(str(found[0]) for found in files)]
                cure = f"Both are files here: {shlex.join(words)}"
            else:
                raise
            raise UnknownName("run", self.base, [], where=unknown.where or "", cure=cure) from None

    def _compared(self, warehouse: "Warehouse", asker: Asker, sides: "tuple[Side, Side]") -> "Reply[Comparison]":
        from ..why.next_question import next_question
        from .compare import compare, exit_code
        from .restarts import describe_restarts
        from .settling import describe_settling, with_settling
        from .variants import describe_lone_cases

        where = {"suite": self.suites, "backend": self.backends, "name": self.models, **(self.where or {})}
        if self.metrics or (asker.command and "metric" not in where):
            where["metric"] = asked_metrics(warehouse, self.metrics)
        found = compare(warehouse, *sides, floor=self.floor, fdr=self.fdr, where=where, across=self.across)
        reply = reply_of(found, everything=self.everything)
        if not reply.columns():
            return replace(reply, nothing=self._nothing())
        if self.by is None:
            reply = replace(
                reply,
                rows=with_settling(warehouse, found, reply.rows),
                hints=lambda: (
                    *describe_lone_cases(found.rows, self.base, self.candidate),
                    *(list(describe_restarts(warehouse, found)) or describe_settling(warehouse, found)),
                    *next_question(warehouse, found, all_runs=self.all_runs),
                ),
            )
        return replace(reply, exit_code=exit_code(found, likely=self.fail_on == "likely")) if self.fail_on else reply

    def _nothing(self) -> NothingToShow:
        nothing = NothingToShow(
            f"neither {self.base} nor {self.candidate} measured any of this."
            " See what they did with: bench list cases --runs latest"
        )
        nothing.exit_code = Exit.TOO_LITTLE if self.fail_on else Exit.NOTHING
        return nothing

    def _served(self, warehouse: "Warehouse", sides: "tuple[Side, Side]") -> Reply[Any]:
        from ..why.next_question import next_question_of_served
        from .serving import compare_served, exit_code_of_served, read_limits, render_served, sentences_of_served

        limits = read_limits(self.slo)
        rows = compare_served(warehouse, *sides, limits, floor=self.floor, fdr=self.fdr, metrics=self.metrics)
        return Reply(
            result=rows,
            columns=lambda: list(rows[0]),
            rows=rows,
            table=lambda: PeopleTable(*render_served(rows)),
            sentences=lambda: sentences_of_served(rows, limits),
            hints=lambda: next_question_of_served(warehouse, sides, rows, all_runs=self.all_runs),
            says_always=True,
            exit_code=exit_code_of_served(rows, likely=self.fail_on == "likely") if self.fail_on else Exit.OK,
        )


compare = command_of(Compare)
