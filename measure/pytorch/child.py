"""Processes that a worker starts for the same workload, with the compile caches that the worker has filled.

The worker passes its job as one line of JSON; the process answers in lines of JSON, whatever the model prints.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..engine.messages import reason_of, resolve
from ..engine.program import REPLICAS, Fact, Program
from ..engine.workload import Job
from ..system.own_process import own_command
from . import torchrun
from .compiler_stats import caches

Answer = Mapping[str, Any]


def begin(module: str, job: Job) -> Callable[[], tuple[list[Answer], str]]:
    """Start a module's process, which ends with this one; the function waits for its answers to a job and how it ended."""
    environment = torchrun.left(os.environ)
    if root := environment.pop("BENCH_COMPILE_CACHE", None):
        environment |= caches(root)
    process = subprocess.Popen(
        own_command(module), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError), process.stdin as jobs:
        jobs.write(json.dumps(job.to_dict()) + "\n")

    def wait() -> tuple[list[Answer], str]:
        with process, process.stdout as lines:  # type: ignore[union-attr]
            found = [json.loads(line) for line in lines]
        return found, f"ended with {process.returncode}"

    return wait


def answer(ask: Callable[[Job], Iterator[Answer]]) -> None:
    """Answer, in that process, the job on stdin."""
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for found in ask(Job.from_dict(json.loads(sys.stdin.readline()))):
        print(json.dumps(found), file=lines, flush=True)


def facts_of_replicas(
    module: str, job: Job, kind: str, facts_of: Callable[[Sequence[Any]], Iterable[Fact]], *, doing: str, of_ranks: str
) -> Iterator[tuple[str, Fact]]:
    """Facts of each backend from the answers of REPLICAS of a module, one after another; or why one of them finds nothing.

    Args:
        module: Its process answers with `found_by`.
        job: Of the worker.
        kind: Kind of the fact that says why.
        facts_of: Facts of the answers for one backend.
        doing: What such a process does, for people.
        of_ranks: The reason where a model runs over several ranks.
    """
    if job.workload.parameters.get("distributed"):
        yield from ((backend, Fact(kind, None, text=of_ranks)) for backend in job.workload.backends)
        return
    found: dict[str, list[Any]] = defaultdict(list)
    reasons: dict[str, str] = {}
    for _ in range(REPLICAS):
        answers, end = begin(module, job)()
        told = {each["backend"]: each for each in answers}
        for backend in job.workload.backends:
            each = told.get(backend, {"reason": f"the process that {doing} {end}"})
            if each["reason"]:
                reasons[backend] = each["reason"]
            else:
                found[backend].append(each["found"])
    for backend in job.workload.backends:
        facts = [Fact(kind, None, text=reasons[backend])] if backend in reasons else facts_of(found[backend])
        yield from ((backend, fact) for fact in facts)


def found_by(job: Job, find: Callable[[Program, Callable[[], Any]], Any]) -> Iterator[Answer]:
    """An answer, in that process, for each backend: what is found of its program and step."""
    for backend in job.workload.backends:
        told: dict[str, Any] = {"backend": backend, "found": None, "reason": None}
        try:
            program = resolve(job.program)(job.workload, job.settings, alone=True)
            told["found"] = find(program, program.prepare(backend))
        except Exception as error:
            told["reason"] = reason_of(error)
        yield told
