"""A plan measured: into a run of its own, and the table at the end, of it and of what was known before."""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..warehouse.errors import Exit, MissingExtra
from ..warehouse.store import Store
from .console import recorded, talk
from .machine_lock import alone
from .plan import Settings, Workload

if TYPE_CHECKING:
    from ..warehouse.recorder import Run
    from .resume import Known


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the run is called, and where and how its rows are written."""

    store: Store
    config: str | None
    tags: Mapping[str, str]
    lock: str
    fmt: str


def measure(plan: Sequence[Workload], settings: Settings, wanted: Wanted, known: "Known | None" = None) -> int:
    """Measure what is left of a plan, and write a row for each case of it.

    Args:
        plan: All of it.
        settings: How to measure.
        wanted: Where to.
        known: What is known of it.

    Returns:
        The exit code: 1 if a case failed, now or in a run that is known.

    Raises:
        KeyboardInterrupt: Ctrl-C; every case has an outcome then, too, and a row.
    """
    from ..warehouse.database import Warehouse
    from .report import noise_floor, results, show

    left = known.left(plan) if known else list(plan)
    if known and known.runs:
        talk(str(known))
    run, interrupted = _measure(left, settings, wanted, known.tags if known else {}) if left else (None, False)
    with Warehouse.open(wanted.store) as warehouse:
        found = results(warehouse, run.run_id if run else "", known=known.runs if known else None)
        floor = noise_floor(warehouse, found[0].run_id) if found else None
    show(found, wanted.fmt)
    if floor:
        talk(floor)
    if run:
        recorded(run, "Ask again with: bench speedups")
    else:
        talk("the whole plan is known: nothing was measured")
    if interrupted:
        raise KeyboardInterrupt
    return Exit.FAILED if any(result.failed for result in found) else Exit.OK


def _measure(
    plan: Sequence[Workload], settings: Settings, wanted: Wanted, tags: Mapping[str, str]
) -> tuple["Run", bool]:
    """The run, and whether Ctrl-C ended it."""
    from ..warehouse import recorder
    from . import live
    from .runner import Runner

    if importlib.util.find_spec("torch") is None:
        raise MissingExtra("torch", "torch")
    suites = {workload.suite for workload in plan}
    with alone(wanted.lock), recorder.run(
        wanted.config, suite=suites.pop() if len(suites) == 1 else None, store=wanted.store, source="measure",
        tags={**wanted.tags, **tags}, settings=settings.to_dict(),
    ) as run:  # fmt: skip
        interrupted, watch = False, live.watch()
        try:
            Runner(run, settings, watch=watch).measure(plan)
        except KeyboardInterrupt:
            interrupted = True
            run.close("interrupted", "Ctrl-C")
        watch.close()
    return run, interrupted
