"""Instructions of a call of a function, counted in a process of its own.

That process has a fixed hash seed and collects no garbage, so that a fixed workload repeats. Counted are some calls, and the same
loop without a call; the difference by call holds neither the start of Python nor the counting.

callgrind is told to write a profile whenever the C function `ctermid` begins, which nobody else calls: the second of two holds
what was executed between them.
"""

import gc
import itertools
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from ..engine.workload import Workload
from ..system.instructions import CALLGRIND, CannotCount, InstructionCounter, under_callgrind
from ..system.own_process import own_command
from .apart import NoAnswer, answer, ask
from .program import Calls

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
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        profile = os.path.join(folder, CALLGRIND)
        words = own_command(__name__, kind, profile)
        if kind == CALLGRIND:
            words = list(under_callgrind(words, f"--dump-before={MARK}", "--dump-line=no", profile=profile))
        try:
            return ask(words, workload, backend, timeout_s, doing="counting", environment={"PYTHONHASHSEED": "0"})
        except NoAnswer as error:
            raise CannotCount(str(error)) from None


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
    """Answer, in that process, the job on stdin."""
    kind, profile = sys.argv[1:]

    def look(prepare: Callable[[], Calls]) -> Iterator[float]:
        count = counter_of(kind, Path(profile))  # before anything starts a thread, which is counted then
        call = prepare()
        gc.disable()
        yield from itertools.islice(counts_of(call, count), COUNTS)

    answer(look)
