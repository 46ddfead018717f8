"""`bench why`: the parts of a difference."""

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

from ...warehouse.console.completion import complete
from ...warehouse.console.declared import Option, Positional, Surface
from ...warehouse.console.numbers import amount, counted, signed, signed_interval, signed_share
from ...warehouse.console.options import notify
from ...warehouse.console.tables import escape
from ...warehouse.store import Store
from ..command_services import command_services
from ..question import AllRuns, Asker, PeopleTable, Question, Reply, command_of
from ..resolve import WHY
from ..tables import filled
from .parts import NOTHING_DIFFERS, Decomposition, DifferencePart, folded, readable
from .turns import turns_command

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse
    from ..comparison.sides import Side

HEADINGS = ("part", "base", "candidate", "difference", "95 %", "share", "where")


@dataclass(frozen=True, slots=True)
class Why(Question[Decomposition]):
    """Say why a case is slower: parts that add up to the difference, the largest first.

    Parts are the lines of a function that `bench measure lines` sampled; the operators of a model, on a GPU its
    kernels, that `bench measure models --profile` timed; with --metric the reasons of graph_breaks and recompiles, the
    phases of compile_latency, and for a peak of memory the lines that `bench measure memory` traced; the phases of training
    steps that `bench.steps` recorded; the bins of scheduler steps, what their steps cost apart from how many there are; of
    requests the queue, the prefill, tokens and stalls; the cases of a geometric mean; operators and kernels of two traces.
    Each has its interval; what no part explains is unattributed, and has one, too. CASE is a case, `step` or `geomean`. If
    left out, it is the steps of a scheduler, the only case, or the mean of all cases.

    \b
        bench why main my-branch work:score
        bench why A B step --all-runs
        bench why main my-branch geomean --format json
    """

    name = "why"
    views: ClassVar = {"": "why"}
    for_agents = """Say why a case is slower: parts that add up to the difference of two sides, each with its interval.

        `case` is a case, `step` (scheduler steps) or `geomean`; without it the steps, the only case, or the mean of all.
        """

    base: Annotated[str, Positional("The side to compare with.", shell_complete=complete)]
    candidate: Annotated[str, Positional("The side under judgement.", shell_complete=complete)]
    case: Annotated[str | None, Positional("Case to take apart, `step` or `geomean`.", shell_complete=complete)] = None
    _: KW_ONLY
    metric: Annotated[str | None, Option("Metric to take apart; the time if left out.")] = None
    backend: Annotated[str | None, Option("Backend, where the case was measured on several.")] = None
    measure: Annotated[
        bool, Option("Measure both sides again first, in turns, with the profilers.", on=Surface.COMMAND)
    ] = False
    everything: Annotated[
        bool, Option("Show every part; else those within noise are one row.", "--all", on=Surface.COMMAND)
    ] = False
    all_runs: AllRuns = False

    def places(self) -> Sequence[str]:
        """Both sides."""
        return (self.base, self.candidate)

    def prepared(self, store: Store) -> Self:
        """Measure both sides again first, with --measure: the same question of the runs that this makes."""
        from ...warehouse.database import Warehouse
        from ..comparison.sides import find_sides
        from ..regression.remeasure import measure_again

        if not self.measure:
            return self
        with Warehouse.open(store) as warehouse:
            sides = find_sides(warehouse, self.base, self.candidate, all_runs=self.all_runs)
            command, configs = turns_command(warehouse, sides, self.case)
        notify(f"measuring both sides again, in turns: {shlex.join(command)}")
        measure_again(command, f"{WHY}={self.base} {self.candidate}", command_services().measure_again)
        notify(f"the difference of {' and '.join(configs)}; what was measured before is as it was")
        return replace(self, base=configs[0], candidate=configs[1], all_runs=False)

    def answer(self, warehouse: "Warehouse", asker: Asker) -> Reply[Decomposition]:
        """One row: the difference with its parts."""
        from ..comparison.sides import find_sides
        from .changed import marked
        from .why import why

        sides = find_sides(warehouse, self.base, self.candidate, all_runs=self.all_runs, notify=asker.notify)
        found = why(warehouse, sides, self.case, metric=self.metric, backend=self.backend)
        found = marked(warehouse, sides, replace(found, notes=[*found.notes, *_other_machines(warehouse, sides)]))
        document = found.document()
        return Reply(
            result=found,
            columns=lambda: list(document),
            rows=[document],
            table=lambda: PeopleTable(
                *filled(HEADINGS, [*cells(found, everything=self.everything)]), spare=("base", "candidate")
            ),
            sentences=lambda: found.notes,
        )


def _other_machines(warehouse: "Warehouse", sides: "tuple[Side, Side]") -> Iterator[str]:
    """A sentence on each fact of machine and software that both sides say, and differently; of traces there are such already."""
    from ..comparison.environments import differences
    from .traces import are_traces

    if not are_traces(warehouse, sides):
        for fact in differences(warehouse, sides[0].runs, sides[1].runs):
            if fact.kind in ("machine", "software") and None not in (*fact.base, *fact.candidate):
                yield escape(f"the sides are of different {fact}")


def cells(found: Decomposition, *, everything: bool = False) -> Iterator[list[str]]:
    """The rows of HEADINGS: parts, what is unattributed, and the whole."""
    nothing, whole = NOTHING_DIFFERS in found.notes, found.whole
    parts = [*found.parts] if everything else folded(found.parts, nothing=nothing)
    # of noise there are none
    has_shares = not nothing and (whole.is_beyond_noise or (whole.low is None and whole.difference != 0))
    for part in (*parts, found.unattributed, whole):
        share = signed_share(part.difference / whole.difference) if has_shares else "–"
        yield [
            escape(readable(part.name)), _shown(part.base, found.unit), _shown(part.candidate, found.unit),
            signed(part.difference, found.unit), signed_interval(part.low, part.high, found.unit), share,
            escape(_where(part)) if part.file else "",
        ]  # fmt: skip


def _where(part: DifferencePart) -> str:
    """The line of a part, from the present folder if the file lies in it."""
    inside = os.path.relpath(part.file)
    file = part.file if inside.startswith(os.pardir) else inside
    changed = " (changed)" if part.changed else ""
    more = f" and {counted(len(part.also), 'more line')}" if part.also else ""
    return f"{file}:{part.line}{changed}{more}"


def _shown(value: float | None, unit: str) -> str:
    return "–" if value is None else amount(value, unit)


why = command_of(Why)
