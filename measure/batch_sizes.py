"""Batch sizes that fit: halved from FIRST until a worker takes a few steps of the baseline, each try in a worker of its own.

A try that does not fit is a case of its own size, skipped with the reason. On the CPU a worker may allocate no more than a
share of the memory that is free when it starts, and if memory runs out all the same, it is the first that the kernel ends:
no try can take the machine down. The workload that is measured then has the size found, and the same bound.
"""

import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .plan import AUTO, Job, Workload, merged
from .program import MakeProgram, ModelFailed, status_of

if TYPE_CHECKING:
    from ..warehouse.recorder import Run
    from .runner import Runner
    from .worker import Reporter

FIRST = 1024
STEPS = 2  # the second holds what the first leaves: gradients, the optimizer's state
MISFITS = ("OOM", "killed", "timeout")  # ends that a smaller batch may not have


def fitted(plan: Sequence[Workload], run: "Run", runner: "Runner", say: Callable[[str], None]) -> list[Workload]:
    """The plan with a size for each workload that asks for one that fits; one that fails in another way fails when measured.

    Args:
        plan: What is to be measured.
        run: Where tries that did not fit are recorded.
        runner: Gives each try its worker.
        say: Told what each try came to.
    """
    return merged(
        _largest(workload, run, runner, say) if workload.batch_size == AUTO else workload for workload in plan
    )


def _largest(workload: Workload, run: "Run", runner: "Runner", say: Callable[[str], None]) -> Workload:
    size = FIRST
    while True:
        sized = replace(workload, batch_size=size, bounded=True)
        status, reason = runner.tried(sized)
        if status not in MISFITS or size == 1:
            say(f"{sized}: {'it fits' if status == 'ok' else f'{status}: {reason}'}")
            return sized
        run.case(**sized.axes(workload.baseline)).outcome("skipped", reason=f"does not fit: {status}: {reason}")
        say(f"{sized}: does not fit: {status}: {reason}")
        size //= 2


def take_steps(job: Job, make: MakeProgram, reporter: "Reporter") -> None:
    """In a worker: take a few steps of the baseline, and tell how that ended; the last line on stderr says why."""
    backend, status = job.workload.baseline, "ok"
    workload = replace(job.workload, no_reference="nothing is judged")  # float64 is not what has to fit
    try:
        program = make(workload, job.settings, reporter.enter)
        if program.missing(backend) is None:
            step = program.prepare(backend)
            for _ in range(STEPS):
                step()
            program.device.synchronize()
    except Exception as error:
        cause = error.__cause__ if isinstance(error, ModelFailed) and error.__cause__ else error
        status = status_of(cause)
        traceback.print_exception(cause)
    reporter.ended(backend, "performance", status)
