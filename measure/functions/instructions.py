"""Instructions of a call of a function, counted in a process of its own.

That process has a fixed hash seed and collects no garbage, so that a fixed workload repeats. Counted are some calls, and the same
loop without a call; the difference by call holds neither the start of Python nor the counting.

callgrind is told to write a profile whenever the C function `ctermid` begins, which nobody else calls: the second of two holds
what was executed between them.
"""

import gc
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from ..engine.messages import first_line
from ..engine.workload import Job, Settings, Workload
from ..system.instructions import CALLGRIND, CannotCount, InstructionCounter, under_callgrind
from ..system.own_process import own_command
from .program import Calls, FunctionProgram

COUNTS = 3  # of each function
MANY = 20_000_000  # instructions counted together; by their number, as time would choose other calls on a busy machine
LONG_NS = 5e8  # long enough for calls that wait more than they compute; what computes takes 0.1 s until MANY are near
MOST_CALLS = 1000
MARK = "ctermid"
_TOTALS = re.compile(r"^totals: (\d+)", re.MULTILINE)

Count = Callable[[Callable[[], object]], int]  # the instructions of what it calls


def instructions_of(workload: Workload, backend: str, kind: str, timeout_s: float) -> list[float]:
    """The instructions of a call, as often as COUNTS says.

    Raises:
        CannotCount: They cannot be counted so here, or the function fails.
    """
    narrowed = replace(workload, backends=(backend,), baseline=backend)
    job = Job(run_id="", store="", process=0, workload=narrowed, settings=Settings(), program="")
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        profile = os.path.join(folder, CALLGRIND)
        words = own_command(__name__, kind, profile)
        if kind == CALLGRIND:
            words = list(under_callgrind(words, f"--dump-before={MARK}", "--dump-line=no", profile=profile))
        try:
            done = subprocess.run(
                words, input=json.dumps(job.to_dict()) + "\n", capture_output=True, text=True, errors="replace",
                timeout=timeout_s, env={**os.environ, "PYTHONHASHSEED": "0"},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise CannotCount(
                f"counting takes longer than the {timeout_s:g} s allowed: give a longer --timeout"
            ) from None
    if not done.stdout:
        raise CannotCount(f"the process that counts ended with {done.returncode}")
    answer = json.loads(done.stdout)
    if answer["reason"] is not None:
        raise CannotCount(answer["reason"])
    counts: list[float] = answer["counts"]
    return counts


def counts_of(call: Calls, count: Count) -> Iterator[float]:
    """The instructions of a call, again and again, after enough calls to have Python's own caches filled."""
    call()  # shows how a call is run to its end
    took = 0.0

    def counted(calls: int) -> int:
        def timed() -> None:
            nonlocal took
            took = call.timed(calls)

        return count(timed)

    calls = 1
    while counted(calls) < MANY and calls < MOST_CALLS and took < LONG_NS:
        calls *= 10
    counted(0)
    while True:
        none = counted(0)
        yield (counted(calls) - none) / calls


def counter_of(kind: str, profile: Path) -> Count:
    """The counter for this process.

    Raises:
        CannotCount: The kernel or the processor does not let us.
    """
    return _by_callgrind(profile) if kind == CALLGRIND else _by_kernel()


def _by_kernel() -> Count:
    counter = InstructionCounter(0, from_exec=False)

    def count(call: Callable[[], object]) -> int:
        before = counter.read()
        call()
        return counter.read() - before

    return count


def _by_callgrind(profile: Path) -> Count:
    written = 0

    def count(call: Callable[[], object]) -> int:
        nonlocal written
        os.ctermid()
        call()
        os.ctermid()
        written += 2
        found = _TOTALS.search(Path(f"{profile}.{written}").read_text())
        if found is None:
            raise CannotCount("callgrind wrote a profile without a total")
        return int(found[1])

    return count


def main() -> None:
    """In that process: answer the job on stdin."""
    kind, profile = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the function prints is no answer
    job = Job.from_dict(json.loads(sys.stdin.readline()))
    counts, reason = list[float](), None
    try:
        count = counter_of(kind, Path(profile))  # before anything starts a thread, which is counted then
        call = FunctionProgram(job.workload, job.settings).prepare(job.workload.baseline)
        gc.disable()
        for _, found in zip(range(COUNTS), counts_of(call, count), strict=False):
            counts.append(found)
    except Exception as error:
        reason = first_line(str(error)) or type(error).__name__
    json.dump({"counts": counts, "reason": reason}, answers)
    answers.flush()


if __name__ == "__main__":
    main()
