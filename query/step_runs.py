"""Scheduler steps: which runs are meant where a user names configs, runs or neither."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..warehouse.errors import NothingToShow
from .resolve import resolve_run
from .tables import newest_runs

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

STEPPED = "(SELECT run_id, config, began_at FROM run_summaries WHERE steps > 0)"


@dataclass(frozen=True, slots=True)
class StepRuns:
    """Runs with scheduler steps."""

    of_config: Mapping[str, tuple[str, ...]]  # by config, from the oldest on
    others: Mapping[str, int]  # by config, how many more it has; 0 where runs were named

    @property
    def runs(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(run for runs in self.of_config.values() for run in runs)


def choose_step_runs(
    warehouse: "Warehouse", configs: Sequence[str] = (), runs: Sequence[str] = (), *, all_runs: bool = False
) -> StepRuns:
    """The runs that are meant: those that `runs` names, else the newest of each config, with those that shared its plan.

    Args:
        warehouse: Where to look.
        configs: Configs, in this order; all that have steps unless given. One that has none has no runs.
        runs: Names of runs, as `resolve_run` takes them.
        all_runs: Take all runs of each config, unless `runs` names some.

    Raises:
        UnknownName: No run answers to a name.
        NothingToShow: A run that is named has no steps.
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
    chosen = dict.fromkeys(configs or [config for config, own in every.items() if kept & {*own}])
    of_config = {config: tuple(run for run in every.get(config, ()) if run in kept) for config in chosen}
    others = {config: 0 if named else len(every.get(config, ())) - len(own) for config, own in of_config.items()}
    return StepRuns(of_config, others)
