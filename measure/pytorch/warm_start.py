"""A warm start: a second process makes the same first calls with the caches that the first process left on disk.

`python -m bench.measure.pytorch.warm_start` reads the worker's job as one line of JSON on stdin, and writes a line of JSON for
each backend: how long its first call took, and what the compiler found in its cache; or why it failed.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..engine.program import ModelFailed
from ..engine.workload import Job
from ..system.own_process import own_command
from . import torchrun
from .compiler_stats import caches

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
    environment = torchrun.left(os.environ)
    if root := environment.pop("BENCH_COMPILE_CACHE", None):
        environment |= caches(root)
    done = subprocess.run(
        own_command(__name__), input=json.dumps(narrowed.to_dict()) + "\n", stdout=subprocess.PIPE, text=True,
        env=environment,
    )  # fmt: skip
    found = {record["backend"]: WarmCall(**record) for record in map(json.loads, done.stdout.splitlines())}
    died = f"the second process ended with {done.returncode}"
    return [found.get(name, WarmCall(name, None, {}, died)) for name in narrowed.workload.backends]


def main() -> None:
    """Make the first calls; stdout is for what they came to, whatever the model prints."""
    from ..engine.messages import first_line, resolve

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    job = Job.from_dict(json.loads(sys.stdin.readline()))
    for backend in job.workload.backends:
        call: dict[str, Any] = {"backend": backend, "first_ns": None, "counters": {}, "reason": None}
        try:
            program = resolve(job.program)(job.workload, job.settings)
            step = program.prepare(backend)
            call["first_ns"] = program.device.time(step, 1).duration_ns
            call["counters"] = {fact.name: fact.value for fact in program.facts(backend) if fact.name in TOLD}
        except Exception as error:
            cause = error.__cause__ if isinstance(error, ModelFailed) and error.__cause__ else error
            call["reason"] = first_line(str(cause)) or type(cause).__name__
        print(json.dumps(call), file=answers, flush=True)


if __name__ == "__main__":
    main()
