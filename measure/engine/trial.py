"""A trial: a worker takes a few steps of the baseline, to find out whether a batch size fits."""

import traceback
from dataclasses import replace

from .messages import Reporter, status_of
from .program import MakeProgram, ModelFailed
from .workload import Job

SIDES = 2  # the baseline and what is compared with it; in training each has weights of its own
STEPS = 2  # the second step also holds what the first leaves: gradients, the optimizer's state


def take_steps(job: Job, make: MakeProgram, reporter: Reporter) -> None:
    """Take a few steps of the baseline in a worker and report the status; the last line on stderr is the reason."""
    backend, status = job.workload.baseline, "ok"
    workload = replace(job.workload, no_reference="nothing is judged")  # float64 is not what has to fit
    try:
        program = make(workload, job.settings, reporter.enter)
        if program.missing(backend) is None:
            steps = [program.prepare(backend) for _ in range(SIDES)]  # held together, as they are when measured
            for step in steps:
                for _ in range(STEPS):
                    step()
            program.device.synchronize()
    except Exception as error:
        cause = error.__cause__ if isinstance(error, ModelFailed) and error.__cause__ else error
        status = status_of(cause)
        traceback.print_exception(cause)
    reporter.ended(backend, "performance", status)
