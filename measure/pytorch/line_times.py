"""The time of a model's step line by line, sampled in processes of their own: times are measured without it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..engine.program import SLOWED, Fact, Program
from ..engine.workload import Job
from ..functions.line_times import METRIC, OF_LINES, sample_lines, shares_of
from .child import answer, found_by, replicas


@dataclass(frozen=True, slots=True)
class TimedSteps:
    """Steps of a model, as the sampler takes them."""

    program: Program
    step: Any

    def __call__(self) -> Any:
        """Take one."""
        return self.step()

    def timed(self, loops: int) -> int:
        """Nanoseconds of so many."""
        return int(self.program.device.time(self.step, loops).duration_ns)


def line_facts(job: Job) -> Iterator[tuple[str, Fact]]:
    """Facts of each backend: the share of each line in each process, and how much sampling slowed it; or why there are none."""
    if job.workload.parameters.get("distributed"):
        for backend in job.workload.backends:
            yield backend, Fact(METRIC, None, text="lines of a model over several ranks are not sampled")
        return
    answers, reasons = replicas(__name__, job, "samples lines")
    for backend in job.workload.backends:
        if backend in reasons:
            yield backend, Fact(METRIC, None, text=reasons[backend])
            continue
        shares, slowdowns = shares_of(answers[backend])
        for line, values in shares.items():
            yield from ((backend, Fact(METRIC, share, "ratio", text=line.place)) for share in values)
        yield from ((backend, Fact(SLOWED, slowdown, "ratio", text=OF_LINES)) for slowdown in slowdowns)


def main() -> None:
    """Answer the job on stdin."""
    answer(lambda job: found_by(job, lambda program, step: [*sample_lines(TimedSteps(program, step))]))
