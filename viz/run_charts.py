"""The charts of a run, or of two that are compared: one list, for a report and for the pages of a site."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ..warehouse.console.options import spell_values

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse
    from .output.figure import Figure

CASES = 2  # of a pair, whose difference is taken apart: those whose parts differ most
_PROFILED = (
    "SELECT case_id FROM time_part_sides([?], [?]) GROUP BY case_id"
    " ORDER BY max(abs(candidate - base)) DESC, case_id LIMIT ?"
)


@dataclass(frozen=True, slots=True)
class RunChart:
    """One chart, not drawn yet."""

    command: str  # words after `bench viz`
    draw: "Callable[..., Figure]"  # of the warehouse


@dataclass(frozen=True, slots=True)
class DrawableRuns:
    """The runs by what charts can be drawn of."""

    stepped: Mapping[str, str]  # those with steps of a scheduler, and their configs
    served: frozenset[str]  # those with requests
    failing: frozenset[str]  # those with requests that did not complete
    has_parts: bool  # parts of a time, of any run

    @classmethod
    def of(cls, warehouse: "Warehouse") -> "DrawableRuns":
        """The whole store."""
        stepped = dict(warehouse.rows("SELECT run_id, config FROM run_summaries WHERE steps > 0"))
        served = dict(warehouse.rows("SELECT run_id, bool_and(outcome = 'ok') FROM requests GROUP BY run_id"))
        failing = frozenset(run for run, completed in served.items() if not completed)
        return cls(stepped, frozenset(served), failing, bool(warehouse.rows("SELECT 1 FROM time_parts LIMIT 1")))

    def any(self) -> bool:
        """Return whether any run has a chart."""
        return bool(self.stepped or self.served or self.has_parts)

    def of_steps(self, runs: Sequence[str]) -> Iterator[RunChart]:
        """The charts of the steps of these runs, in one where there are several; of two their difference, taken apart."""
        if not runs or not self.stepped.keys() >= set(runs):
            return
        from .charts import runtime_vs_tokens, step_breakdown

        chosen = spell_values("--runs", runs)
        apart = "run" if len({self.stepped[run] for run in runs}) < len(runs) else None  # else a config is one line
        yield RunChart(
            f"runtime-vs-tokens{chosen}{' --split-by run' if apart else ''}",
            partial(runtime_vs_tokens.draw, runs=runs, split_by=apart),
        )
        if len(runs) == 1:
            yield RunChart(f"step-breakdown{chosen}", partial(step_breakdown.draw, runs=runs))
        elif len(runs) == 2:
            yield _difference(runs[0], runs[1], "step")

    def of_requests(self, runs: Sequence[str]) -> Iterator[RunChart]:
        """The charts of the requests of these runs; the share that completed only where it is not 100 % throughout."""
        if runs and self.served.issuperset(runs):
            from .charts import pareto, slo_curve

            chosen = spell_values("--runs", runs)
            if self.failing.intersection(runs):
                yield RunChart(f"slo-curve{chosen}", partial(slo_curve.draw, runs=runs))
            yield RunChart(f"pareto{chosen}", partial(pareto.draw, runs=runs))

    def of_parts(self, warehouse: "Warehouse", base: str, candidate: str) -> Iterator[RunChart]:
        """The differences of the cases whose parts both sides recorded."""
        if self.has_parts:
            for (case,) in warehouse.rows(_PROFILED, [base, candidate, CASES]):
                yield _difference(base, candidate, case)


def _difference(base: str, candidate: str, case: str) -> RunChart:
    """The waterfall of a case."""
    from .charts import why

    return RunChart(
        f"why {shlex.join([base, candidate, case])}",
        partial(why.draw, base=base, candidate=candidate, case=case),
    )
