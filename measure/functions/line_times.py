"""Where the time of a call goes, line by line, sampled in processes of their own so that the timed ones are not disturbed.

A timer interrupts the main thread about once a millisecond, at random, and the time since the interruption before is charged to
the line at work: not one sample, as Python handles a signal only when a call into C returns, however long that took. The line is
the innermost of the user's code, so that a library is charged to the line that called it; else the innermost of a library.
"""

import gc
import json
import os
import random
import re
import signal
import site
import sysconfig
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from ...warehouse.console.tables import escape
from ..engine.sampling import loops_for
from ..engine.workload import Workload
from ..options import progress
from ..system.disturbance import DisturbanceCounters
from ..system.own_process import own_command
from .apart import NoAnswer, answer, ask
from .program import Calls

if TYPE_CHECKING:
    from ...warehouse.recorder import Run
    from ..engine.runner import Runner

PROCESSES = 5  # of each function: how they differ is the error of a share
SECONDS = 1.0  # of sampling in each, at least one call
LEAST_SHARE = 0.001
PERIOD_S = 0.001  # mean time between samples, 0.5 to 1.5 times it
METRIC = "line_time"  # the share of a line, which is its text
# part of the function whose line it is on
_EXPRESSION = re.compile(r"(\.<locals>\.<(lambda|genexpr|listcomp|setcomp|dictcomp)>)+$")
_BENCH = str(Path(__file__).parents[2])


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of source; `line` is 0 and the texts are empty for what no line of a file does."""

    file: str
    function: str
    line: int
    text: str

    @property
    def place(self) -> str:
        """All of it, as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)


OTHERS = SourceLine("", "other lines", 0, "")


def line_shares(workload: Workload, backend: str, timeout_s: float) -> dict[SourceLine, list[float]]:
    """The share of each line in the time of a call, 0 to 1, in each process; most first.

    Lines of less than a thousandth in every process are taken together, as OTHERS.

    Raises:
        NoAnswer: A process dies or takes longer than `timeout_s`, or the function fails.
    """
    shares = defaultdict[SourceLine, list[float]](lambda: [0.0] * PROCESSES)
    for process in range(PROCESSES):
        found = ask(own_command(__name__), workload, backend, timeout_s, doing="sampling lines")
        total = sum(spent for _, spent in found)
        for line, spent in found:
            shares[SourceLine(**line)][process] = spent / total
    small = [line for line, values in shares.items() if max(values) < LEAST_SHARE]
    if small:
        shares[OTHERS] = [sum(values) for values in zip(*map(shares.pop, small), strict=True)]
    return dict(sorted(shares.items(), key=lambda each: -sum(each[1])))


def record_lines(run: "Run", runner: "Runner", plan: Sequence[Workload], timeout_s: float) -> Iterator[str]:
    """Record at which lines each function that did not fail spends its time; say why where that is not known."""
    for workload, function in ((each, function) for each in plan for function in each.backends):
        if runner.has_failed(workload, function):
            continue
        progress(f"{escape(function)}: sampling lines")
        try:
            shares = line_shares(workload, function, timeout_s)
        except NoAnswer as error:
            yield f"{escape(function)}: lines were not sampled: {escape(str(error))}"
            continue
        case = run.case(**workload.axes(function), announce=False)
        for line, values in shares.items():
            for share in values:
                case.metric(METRIC, share, unit="ratio", phase="steady", text=line.place)


class LineSampler:
    """For a `with` block in the main thread: the time spent at each line, but while it pauses.

    The timer runs on through a pause, and time since the sample before is carried on beyond it: so each moment that counts is as
    likely to be looked at, however short the stretches between pauses are.
    """

    def __init__(self, period_s: float = PERIOD_S) -> None:
        """Prepare it."""
        self.spent: dict[tuple[str, str, int], int] = defaultdict(int)  # ns by file, function and line
        self._period_s = period_s
        self._running = self._counts = False
        self._carried = 0  # ns since the last sample, before the last pause
        self._random = random.Random(0)
        self._owners: dict[str, str] = {}  # by file

    def __enter__(self) -> "LineSampler":
        """Start the timer."""
        self._before = signal.signal(signal.SIGALRM, self._sample)
        self._running = True
        self.resume()
        self._arm()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it."""
        self._running = self._counts = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)

    def resume(self) -> None:
        """Time counts from now on."""
        self._last = time.perf_counter_ns()
        self._counts = True

    def pause(self) -> None:
        """Time does not count from now on."""
        self._counts = False
        self._carried += time.perf_counter_ns() - self._last

    def _arm(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, self._period_s * self._random.uniform(0.5, 1.5))

    def _sample(self, _: int, frame: FrameType | None) -> None:
        if not self._running:  # a late signal must not start the timer again, which would end the process
            return
        if self._counts:
            self._charge(frame, time.perf_counter_ns())
            self._last = time.perf_counter_ns()  # sampling is nobody's time
        self._arm()

    def _charge(self, frame: FrameType | None, now: int) -> None:
        place, foreign = None, None
        while frame is not None and place is None:
            code, whose = frame.f_code, self._owner(frame.f_code.co_filename)
            if whose == "user":
                place = code.co_filename, code.co_qualname, frame.f_lineno or 0
            elif whose == "library" and foreign is None:
                foreign = code.co_filename, code.co_qualname, frame.f_lineno or 0
            frame = frame.f_back
        place = place or foreign or ("", "", 0)
        self.spent[place] += self._carried + now - self._last
        self._carried = 0

    def _owner(self, file: str) -> str:
        """Whose a file is: the user's, a library's, or bench's, as is what lies in no file."""
        found = self._owners.get(file)
        if found is None:
            path = os.path.abspath(file)
            inside = [root for root in (_BENCH, *_library_folders()) if path.startswith(root + os.sep)]
            is_ours = file.startswith("<") or _BENCH in inside
            found = self._owners[file] = "bench" if is_ours else "library" if inside else "user"
        return found


def _library_folders() -> Iterator[str]:
    """Where Python and what was installed lie."""
    paths = sysconfig.get_paths()
    yield from (paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib"))
    yield from site.getsitepackages()
    yield site.getusersitepackages()


def sampled(call: Calls, seconds: float = SECONDS, period_s: float = PERIOD_S) -> list[tuple[SourceLine, int]]:
    """The nanoseconds that calls of a function spend at each line, together at least `seconds`, most first."""
    import linecache

    call()  # shows how a call is run to its end, and fills Python's own caches
    loops, end = loops_for(call.timed(1)), time.perf_counter() + seconds
    watch = DisturbanceCounters()
    with LineSampler(period_s) as sampler:
        sampler.pause()
        while time.perf_counter() < end:  # samples as those that are timed: other threads get their turn between them
            before = watch.read()
            sampler.resume()
            call.timed(loops)
            sampler.pause()
            watch.since(before)
    spent = Counter[SourceLine]()
    for (file, function, line), spent_ns in sampler.spent.items():
        text = linecache.getline(file, line).strip() if file else ""
        spent[SourceLine(_shown(file), _EXPRESSION.sub("", function), line, text)] += spent_ns
    return spent.most_common()


def _shown(file: str) -> str:
    """A path from the present folder, where it lies in that."""
    here = os.getcwd()
    return os.path.relpath(file, here) if file.startswith(here + os.sep) else file


def main() -> None:
    """In that process: answer the job on stdin with lines and the nanoseconds at each."""

    def look(prepare: Callable[[], Calls]) -> Iterator[tuple[dict[str, Any], int]]:
        call = prepare()
        call()
        gc.collect()
        gc.freeze()  # as where it is timed
        for line, spent in sampled(call):
            yield asdict(line), spent

    answer(look)


if __name__ == "__main__":
    main()
