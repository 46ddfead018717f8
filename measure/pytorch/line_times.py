"""The time of a model's step line by line, sampled in processes of their own: times are measured without it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..engine.program import SLOWED, Fact, Program
from ..engine.workload import Job
from ..functions.line_times import METRIC, OF_LINES, Sampled, sample_lines, shares_of
from .child import answer, facts_of_replicas, found_by


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
    of_ranks = "lines of a model over several ranks are not sampled"
    return facts_of_replicas(__name__, job, METRIC, _facts, doing="samples lines", of_ranks=of_ranks)


def _facts(answers: Sequence[Sampled]) -> Iterator[Fact]:
    shares, slowdowns = shares_of(answers)
    for line, values in shares.items():
        yield from (Fact(METRIC, share, "ratio", text=line.place) for share in values)
    yield from (Fact(SLOWED, slowdown, "ratio", text=OF_LINES) for slowdown in slowdowns)


def main() -> None:
    """Answer the job on stdin."""
    answer(lambda job: found_by(job, lambda program, step: [*sample_lines(TimedSteps(program, step))]))
