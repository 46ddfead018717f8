"""The time of a call line by line, sampled in processes of their own so that the timed ones are not disturbed.

A timer interrupts the main thread about every five milliseconds, at random, and the time since the interruption before is
charged to the line at work: not one sample, as Python handles a signal only when a call into C returns, however long that took;
what it handles late is divided among the lines of a stretch (see stretches). The line is the innermost of the user's code, so
that a library is charged to the line that called it; else the innermost of a library.
"""

import contextlib
import gc
import itertools
import json
import os
import random
import re
import resource
import signal
import site
import statistics
import sysconfig
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from ...query.why.parts import LEAST_LINE_SHARE, OTHER_LINES
from ...warehouse.console.tables import escape
from ..engine.program import REPLICAS, SLOWED
from ..engine.sampling import loops_for
from ..engine.workload import Workload
from ..options import progress
from ..system.disturbance import DisturbanceCounters, OwnClock
from ..system.own_process import own_command
from .apart import NoAnswer, answer, ask
from .stretches import Place, Stretches, place_of

if TYPE_CHECKING:
    from ...warehouse.recorder import Run
    from ..engine.runner import Runner

SECONDS = 1.0  # that count in each, at least one call
MOST_WAITING = 5  # times as long as that for the whole, where others have the processor
# Mean time between samples; longer where samples are dear, as of deep stacks. Calls of five functions took 0.3–3.1 % more
# processor time with it, 2.2 % in the middle, and 2.5–3.8 % at 1 ms.
PERIOD_S = 0.005
SOONEST_S = 2e-5  # a timer that is over at once would never let the thread go on
MOST_TAKEN = 0.008  # of the time, by handlers of samples
RECENT = 9  # samples, whose median is what one costs
UNSAMPLED_EVERY = 4  # stretches: one runs without the timer, to tell what sampling adds to the processor time of a call
FEWEST = 5  # stretches of either kind that tell it
METRIC = "line_time"  # the share of a line, which is its text
OF_LINES = "line"  # text of how much sampling slows a call, beside what torch's profiler does
Sampled = Sequence[Any]  # the answer of a process: the cost of sampling, then each line with its ns
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


class TimedCalls(Protocol):
    """A function with its arguments, or a step of a model."""

    def __call__(self) -> Any:
        """Call it once."""

    def timed(self, loops: int) -> int:
        """Nanoseconds of so many calls."""
        ...


OTHERS = SourceLine("", OTHER_LINES, 0, "")


def line_shares(
    workload: Workload, backend: str, timeout_s: float
) -> tuple[dict[SourceLine, list[float]], list[float]]:
    """The shares of lines of a function in processes that sample it, as `shares_of` has them.

    Raises:
        NoAnswer: A process dies or takes longer than `timeout_s`, or the function fails.
    """
    words = own_command(__name__)
    return shares_of([ask(words, workload, backend, timeout_s, doing="sampling lines") for _ in range(REPLICAS)])


def shares_of(answers: Sequence[Sampled]) -> tuple[dict[SourceLine, list[float]], list[float]]:
    """The share of each line in the time of a call, 0 to 1, in each process, most first; and how much sampling slowed each.

    Lines of less than a thousandth in every process are taken together, as OTHERS.
    """
    shares = defaultdict[SourceLine, list[float]](lambda: [0.0] * len(answers))
    slowdowns = []
    for process, (slowdown, *found) in enumerate(answers):
        slowdowns += [slowdown] if slowdown else []
        total = sum(spent for _, spent in found)
        for line, spent in found:
            shares[SourceLine(**line)][process] = spent / total
    small = [line for line, values in shares.items() if max(values) < LEAST_LINE_SHARE]
    if small:
        shares[OTHERS] = [sum(values) for values in zip(*map(shares.pop, small), strict=True)]
    return dict(sorted(shares.items(), key=lambda each: -sum(each[1]))), slowdowns


def record_lines(run: "Run", runner: "Runner", plan: Sequence[Workload], timeout_s: float) -> Iterator[str]:
    """Record at which lines each function that did not fail spends its time; say why where that is not known."""
    for workload, function in ((each, function) for each in plan for function in each.backends):
        if runner.has_failed(workload, function):
            continue
        progress(f"{escape(function)}: sampling lines")
        try:
            shares, slowdowns = line_shares(workload, function, timeout_s)
        except NoAnswer as error:
            yield f"{escape(function)}: lines were not sampled: {escape(str(error))}"
            continue
        case = run.case(**workload.axes(function), announce=False)
        for line, values in shares.items():
            for share in values:
                case.metric(METRIC, share, unit="ratio", phase="steady", text=line.place)
        for slowdown in slowdowns:
            case.metric(SLOWED, slowdown, unit="ratio", phase="steady", text=OF_LINES)


class LineSampler:
    """A context for the main thread that samples the time spent at each line, but while it pauses.

    The timer runs on through a pause, and time since the sample before is carried on beyond it: so each moment that counts is as
    likely to be looked at, however short the stretches between pauses are. Time in which others had the processor does not count:
    on a busy machine it is longer than what any line takes. Nor does a sample that fell due then: a thread loses its processor at
    system calls more often than elsewhere. Times between samples are exponential, so that the next is as likely at any moment.
    """

    def __init__(self, period_s: float = PERIOD_S) -> None:
        """Prepare it."""
        self.spent: dict[Place, int] = defaultdict(int)  # ns
        self._period_s = period_s
        self._running = self._counts = False
        self._carried = 0  # ns since the last sample, before the last pause
        self._costs = deque[int](maxlen=RECENT)  # processor time of the last samples, ns
        self._random = random.Random(0)
        self._libraries = (_BENCH, *_library_folders())
        self._owners: dict[str, str] = {}  # by file

    def __enter__(self) -> "LineSampler":
        """Start the timer."""
        self._clock = OwnClock()
        self._before = signal.signal(signal.SIGALRM, self._sample)
        self._running = True
        self.resume()
        self._arm(self._clock.waited())
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it."""
        self._running = self._counts = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)

    def resume(self) -> None:
        """Time counts from now on."""
        self._last = self._clock.read()
        self._counts = True

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        """A context in a pause, whose time counts."""
        self.resume()
        try:
            yield
        finally:
            self.pause()

    def pause(self) -> None:
        """Time does not count from now on."""
        self._counts = False
        self._carried += self._clock.read() - self._last

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """A context in a pause, in which no samples are taken."""
        self._running = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        yield
        self._running = True
        self._arm(self._clock.waited())

    def _arm(self, waited: int) -> None:
        # The median: some clocks of processor time advance by 10 ms at once, and a mean would remember that tick for long.
        # Only of RECENT samples: the first ones fill caches, and by their cost the next would come far too late.
        dear_s = statistics.median(self._costs) / 1e9 / MOST_TAKEN if len(self._costs) == RECENT else 0.0
        self._armed = waited, _sleeps()
        signal.setitimer(signal.ITIMER_REAL, max(self._random.expovariate(1 / max(self._period_s, dear_s)), SOONEST_S))

    def _is_due_while_waiting(self, waited: int) -> bool:
        """True if others had the processor since the timer was set, and the thread did not sleep."""
        before, sleeps = self._armed
        return waited > before and _sleeps() == sleeps

    def _sample(self, _: int, frame: FrameType | None) -> None:
        if not self._running:  # a late signal must not start the timer again, which would end the process
            return
        began = time.thread_time_ns()
        waited = self._clock.waited()
        is_taken = self._counts and not self._is_due_while_waiting(waited)
        if is_taken:
            self._charge(frame, time.perf_counter_ns() - waited)
        self._arm(waited)
        if is_taken:
            self._costs.append(time.thread_time_ns() - began)
            self._last = self._clock.read()  # sampling is nobody's time

    def _charge(self, frame: FrameType | None, now: int) -> None:
        self.spent[place_of(self.charged(frame))] += max(
            self._carried + now - self._last, 0
        )  # a reading is not one moment
        self._carried = 0

    def charged(self, frame: FrameType | None) -> FrameType | None:
        """The frame of a stack that its time is charged to, from the innermost one on; None where bench itself is at work."""
        library = None
        while frame is not None:
            owner = self._owner(frame.f_code.co_filename)
            if owner == "user":
                return frame
            if owner == "library":
                library = library or frame
            elif library is not None and not frame.f_code.co_filename.startswith("<"):  # no call of the timing loop
                return None
            elif library is not None:
                return library
            frame = frame.f_back
        return library

    def _owner(self, file: str) -> str:
        """The owner of a file: the user, a library, or bench, which owns also what lies in no file."""
        found = self._owners.get(file)
        if found is None:
            path = os.path.abspath(file)
            inside = [root for root in self._libraries if path.startswith(root + os.sep)]
            # as what imports a module, between its lines and the line that asks for it
            is_python = file.startswith("<frozen ")
            is_ours = (file.startswith("<") and not is_python) or _BENCH in inside
            found = self._owners[file] = "bench" if is_ours else "library" if inside or is_python else "user"
        return found


def _sleeps() -> int:
    """The times that this thread gave its processor up by itself."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def _library_folders() -> Iterator[str]:
    """The folders of Python and of what was installed."""
    paths = sysconfig.get_paths()
    yield from (paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib"))
    yield from site.getsitepackages()
    yield site.getusersitepackages()


def sampled(
    call: TimedCalls, seconds: float = SECONDS, period_s: float = PERIOD_S
) -> tuple[list[tuple[SourceLine, float]], float | None]:
    """The nanoseconds that calls of a function spend at each line, together at least `seconds`, most first.

    Beside them the processor time of a call that is sampled / without, from stretches in turns; None where these were too few.
    """
    import linecache

    call()  # shows how a call is run to its end, and fills Python's own caches
    loops, end = loops_for(call.timed(1)), time.perf_counter() + MOST_WAITING * seconds
    watch = DisturbanceCounters()
    taken: dict[bool, list[int]] = {True: [], False: []}  # processor times of stretches, by whether they were sampled
    with LineSampler(period_s) as sampler:
        sampler.pause()
        for number in itertools.count(1):
            if sum(sampler.spent.values()) >= seconds * 1e9 or time.perf_counter() >= end:
                break
            is_sampled = number % UNSAMPLED_EVERY != 0
            before = watch.read()  # samples as those that are timed: other threads get their turn between them
            with sampler.counting() if is_sampled else sampler.stopped():
                began = time.process_time_ns()
                call.timed(loops)
                taken[is_sampled].append(time.process_time_ns() - began)
            watch.since(before)
    stretches = Stretches(sampler.charged)
    stretches.look(lambda: call.timed(1))
    spent = defaultdict[SourceLine, float](float)
    for (file, function, line), spent_ns in stretches.divided(sampler.spent).items():
        text = linecache.getline(file, line).strip() if file else ""
        spent[SourceLine(_shown(file), _EXPRESSION.sub("", function), line, text)] += spent_ns
    lines = sorted(spent.items(), key=lambda each: -each[1])
    if min(map(len, taken.values())) < FEWEST or not (alone := statistics.median(taken[False])):
        return lines, None
    return lines, statistics.median(taken[True]) / alone


def _shown(file: str) -> str:
    """A path from the present folder, where it lies in that."""
    here = os.getcwd()
    return os.path.relpath(file, here) if file.startswith(here + os.sep) else file


def sample_lines(call: TimedCalls) -> Iterator[float | tuple[dict[str, Any], float] | None]:
    """The cost of sampling, then lines with the nanoseconds at each, in a process that does nothing else.

    Raises:
        NoAnswer: Others had the processor whenever a sample fell due.
    """
    call()
    gc.collect()
    gc.freeze()  # as where it is timed
    lines, slowdown = sampled(call)
    if not lines:
        raise NoAnswer("no line was seen, as others had the processor each time: measure where less runs")
    yield slowdown
    for line, spent in lines:
        yield asdict(line), spent


def main() -> None:
    """Answer, in that process, the job on stdin with the lines of the function."""
    answer(lambda prepare: sample_lines(prepare()))
