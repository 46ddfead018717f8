"""Find batch sizes that fit: halve from FIRST until a worker can take a few steps of the baseline, each try in a new worker.

A try that does not fit is recorded as a skipped case of that size, with the reason. On the CPU a worker may allocate only a
share of the memory that is free when it starts, and the kernel ends it first if memory runs out, so no try can take the
machine down. The measured workload has the size that was found and the same bound. The size is recorded, so that a resumed
plan needs no tries.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..engine.workload import AUTO, Workload
from .product import merged

if TYPE_CHECKING:
    from ...warehouse.recorder import Run
    from ..engine.runner import Runner

FIRST = 1024
MISFITS = ("OOM", "killed", "timeout")  # ends that a smaller batch may not have
FOUND = "batch_size_found"  # a metric of the baseline's case; its text is how the try ended, ok or another failure


def fitted(plan: Sequence[Workload], run: "Run", runner: "Runner", notify: Callable[[str], None]) -> list[Workload]:
    """The plan with a size for each workload that asks for one; a workload that fails otherwise fails when it is measured.

    What was found, and tries that did not fit, are recorded in the run.
    """
    return merged(
        _largest(workload, run, runner, notify) if workload.batch_size == AUTO else workload for workload in plan
    )


def _largest(workload: Workload, run: "Run", runner: "Runner", notify: Callable[[str], None]) -> Workload:
    tries = iter(sizes(workload))
    sized = next(tries)
    while True:
        status, reason = runner.tried(sized)
        smaller = next(tries, None)
        if status not in MISFITS or smaller is None:
            break
        run.case(**sized.axes(workload.baseline)).outcome("skipped", reason=f"does not fit: {status}: {reason}")
        notify(f"{sized}: does not fit: {status}: {reason}")
        sized = smaller
    notify(f"{sized}: {'it fits' if status == 'ok' else f'{status}: {reason}'}")
    run.case(**sized.axes(workload.baseline), announce=False).metric(FOUND, None, text=status)
    return sized


def sizes(workload: Workload) -> Iterator[Workload]:
    """The workload at each size to try, largest first."""
    size = FIRST
    while size:
        yield replace(workload, batch_size=size, bounded=True)
        size //= 2
