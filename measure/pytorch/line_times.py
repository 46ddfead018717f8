"""The time of a model's step line by line, sampled in processes of their own: times are measured without it."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..engine.messages import reason_of, resolve
from ..engine.program import Fact, Program
from ..engine.workload import Job
from ..functions.line_times import METRIC, OF_LINES, PROCESSES, Sampled, sample_lines, shares_of
from .child import Answer, answer, begin
from .step_parts import SLOWED


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
    answers = defaultdict[str, list[Sampled]](list)
    reasons: dict[str, str] = {}
    for _ in range(PROCESSES):
        found, end = begin(__name__, job)()
        told = {each["backend"]: each for each in found}
        for backend in job.workload.backends:
            each = told.get(backend, {"reason": f"the process that samples lines {end}"})
            if each["reason"]:
                reasons[backend] = each["reason"]
            else:
                answers[backend].append(each["found"])
    for backend in job.workload.backends:
        if backend in reasons:
            yield backend, Fact(METRIC, None, text=reasons[backend])
            continue
        shares, slowdowns = shares_of(answers[backend])
        for line, values in shares.items():
            yield from ((backend, Fact(METRIC, share, "ratio", text=line.place)) for share in values)
        yield from ((backend, Fact(SLOWED, slowdown, "ratio", text=OF_LINES)) for slowdown in slowdowns)


def _sampled(job: Job) -> Iterator[Answer]:
    """An answer, in that process, for each backend."""
    for backend in job.workload.backends:
        told: dict[str, Any] = {"backend": backend, "found": [], "reason": None}
        try:
            program = resolve(job.program)(job.workload, job.settings, alone=True)
            told["found"] = [*sample_lines(TimedSteps(program, program.prepare(backend)))]
        except Exception as error:
            told["reason"] = reason_of(error)
        yield told


def main() -> None:
    """Answer the job on stdin."""
    answer(_sampled)
