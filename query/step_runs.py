"""Scheduler steps: which runs are meant where a user names sides, configs, runs or nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..warehouse.errors import NothingToShow
from .comparison.sides import find_side
from .resolve import resolve_run
from .tables import newest_runs

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

STEPPED = "(SELECT run_id, config, began_at FROM run_summaries WHERE steps > 0)"


@dataclass(frozen=True, slots=True)
class StepRuns:
    """Runs with scheduler steps."""

    of_config: Mapping[str, tuple[str, ...]]  # by config or side, from the oldest on
    others: Mapping[str, int]  # by config or side, how many more the config has; 0 where runs were named

    @property
    def runs(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(run for runs in self.of_config.values() for run in runs)


def choose_step_runs(
    warehouse: "Warehouse", configs: Sequence[str] = (), runs: Sequence[str] = (), *, sides: Sequence[str] = (),
    all_runs: bool = False,
) -> StepRuns:  # fmt: skip
    """The runs that are meant: those that `runs` names, else the newest of each config, with those that shared its plan.

    Args:
        warehouse: Where to look.
        configs: Configs, in this order; all that have steps unless given, or sides. One that has none has no runs.
        runs: Names of runs, as `resolve_run` takes them.
        sides: Come before the configs: configs, or what else `find_side` takes, each by its name.
        all_runs: Take all runs of each config, unless `runs` names some.

    Raises:
        UnknownName: No run answers to a name.
        NothingToShow: A run or side that is named has no steps.
    """
    rows = warehouse.rows(
        f"SELECT config, run_id FROM {STEPPED} ORDER BY natural_order(config), began_at NULLS FIRST, run_id"
    )
    named = [resolve_run(warehouse, name) for name in runs]
    if missing := [run for run in named if run not in {run for _, run in rows}]:
        raise NothingToShow(f"run {missing[0]} has no scheduler steps. List those that have: bench list runs")
    kept = {run for _, run in rows} if all_runs and not named else set(named or newest_runs(warehouse, STEPPED))
    every: dict[str, list[str]] = {}
    for config, run in rows:
        every.setdefault(config, []).append(run)
    found = [find_side(warehouse, text, all_runs=all_runs) for text in sides if text not in every]
    own_runs = {side.word: (side.name, tuple(run for _, run in rows if run in side.runs)) for side in found}
    if missing := [text for text, (_, own) in own_runs.items() if not own]:
        raise NothingToShow(f"{missing[0]} has no scheduler steps. List runs that have: bench list runs")
    chosen = dict.fromkeys((*sides, *configs) or [config for config, own in every.items() if kept & {*own}])
    of_config, others = {}, {}
    for text in chosen:
        name, own = own_runs.get(text) or (text, tuple(run for run in every.get(text, ()) if run in kept))
        of_config[name] = own
        others[name] = 0 if named or text in own_runs else len(every.get(text, ())) - len(own)
    return StepRuns(of_config, others)
