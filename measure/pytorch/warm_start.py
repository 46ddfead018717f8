"""A warm start: a second process makes the same first calls with the caches that the first process left on disk."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..engine.messages import reason_of, resolve
from ..engine.workload import Job
from .child import Answer, answer, begin

TOLD = ("fxgraph_cache_hits", "fxgraph_cache_misses")


@dataclass(frozen=True, slots=True)
class WarmCall:
    """The first call of a backend in the second process; None and the reason where there was none."""

    backend: str
    first_ns: int | None
    counters: Mapping[str, float]
    reason: str | None = None


def warm_calls(job: Job, backends: Iterable[str]) -> list[WarmCall]:
    """The first calls of these backends in a process of their own, which ends with this one."""
    narrowed = replace(job, workload=replace(job.workload, backends=tuple(backends)))
    lines, end = begin(__name__, narrowed)()
    found = {line["backend"]: WarmCall(**line) for line in lines}
    return [
        found.get(name, WarmCall(name, None, {}, f"the second process {end}")) for name in narrowed.workload.backends
    ]


def _called(job: Job) -> Iterator[Answer]:
    """An answer, in that process, for each backend."""
    for backend in job.workload.backends:
        call: dict[str, Any] = {"backend": backend, "first_ns": None, "counters": {}, "reason": None}
        try:
            program = resolve(job.program)(job.workload, job.settings)
            step = program.prepare(backend)
            call["first_ns"] = program.device.time(step, 1).duration_ns
            call["counters"] = {fact.name: fact.value for fact in program.facts(backend) if fact.name in TOLD}
        except Exception as error:
            call["reason"] = reason_of(error)
        yield call


def main() -> None:
    """Answer the job on stdin."""
    answer(_called)
