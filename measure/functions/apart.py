"""A look at one function in a process of its own, apart from those that are timed."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..engine.messages import reason_of
from ..engine.workload import Job, Settings, Workload
from .program import Calls, FunctionProgram


class NoAnswer(Exception):
    """The process gave no answer; the message says why."""


def ask(
    words: Sequence[str], workload: Workload, backend: str, timeout_s: float, *, doing: str,
    environment: Mapping[str, str] | None = None,
) -> list[Any]:  # fmt: skip
    """The answer of the process that `words` start, for one function of a workload.

    Args:
        words: The command; its process calls `answer`.
        workload: What the function is part of.
        backend: The function.
        timeout_s: Most time for the process.
        doing: What it does, for messages: counting, sampling.
        environment: Variables to set in it.

    Raises:
        NoAnswer: It takes too long or dies, or the function fails.
    """
    narrowed = replace(workload, backends=(backend,), baseline=backend)
    job = Job(run_id="", store="", process=0, workload=narrowed, settings=Settings(), program="")
    try:
        done = subprocess.run(
            words, input=json.dumps(job.to_dict()) + "\n", capture_output=True, text=True, errors="replace",
            timeout=timeout_s, env={**os.environ, **(environment or {})},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise NoAnswer(f"{doing} takes longer than the {timeout_s:g} s allowed: give a longer --timeout") from None
    if not done.stdout:
        raise NoAnswer(f"the process for {doing} ended with {done.returncode}")
    answer = json.loads(done.stdout)
    if answer["reason"] is not None:
        raise NoAnswer(answer["reason"])
    found: list[Any] = answer["found"]
    return found


def answer(look: Callable[[Callable[[], Calls]], Iterator[Any]]) -> None:
    """Answer, in that process, the job on stdin with what `look` yields of the function, which it prepares when it is ready."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the function prints is no answer
    job = Job.from_dict(json.loads(sys.stdin.readline()))
    found, reason = list[Any](), None
    try:
        found.extend(look(lambda: FunctionProgram(job.workload, job.settings).prepare(job.workload.baseline)))
    except Exception as error:
        reason = reason_of(error)
    json.dump({"found": found, "reason": reason}, answers)
    answers.flush()
