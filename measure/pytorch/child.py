"""A process that a worker starts for the same workload, with the compile caches that the worker has filled.

The worker passes its job as one line of JSON; the process answers in lines of JSON, whatever the model prints.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

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
