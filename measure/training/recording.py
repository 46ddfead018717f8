"""What a training step leaves in the log: a timing of the whole and of each phase, its rate, and at times the peak of memory."""

import contextlib
import sys
import time
import traceback
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeVar

from ...warehouse import recorder as recording
from ...warehouse.errors import BenchError, described
from ...warehouse.recorder import Case, Run
from ..system.host_memory import error_bound_bytes, status_bytes
from .flops import CountedFlops, counting
from .phases import DATA, END, OPTIMIZER, PHASES, Moments, here, watch

Batch = TypeVar("Batch")

COUNTED = 1  # number of the step whose operations are counted: the first one compiles
STEADY = 3  # number of the first step that is
MOST_PENDING = 64  # steps of a GPU whose events may be open
METRICS = {phase: f"{phase}_time" for phase in PHASES}  # the same text each time: a row of the same is quick
MEMORY_NS = 1_000_000_000  # between two looks at the peak of memory
MOST_FULL = 0.5  # of a GPU's memory, at which compiled code is not run uncompiled to count its operations

_clock = time.perf_counter_ns


@dataclass(frozen=True, slots=True)
class Given:
    """What a script says of its steps."""

    name: str | None
    flops: float | None
    peak_flops: float | None

    def __post_init__(self) -> None:
        if self.flops is not None and not self.flops >= 0:
            raise BenchError(f"flops={self.flops!r} is not a number of operations")
        if self.peak_flops is not None and not self.peak_flops > 0:
            raise BenchError(f"peak_flops={self.peak_flops!r} is not a number of operations a second")


@dataclass(frozen=True, slots=True)
class LeftStep:
    """A step in which a loop was left, by `break` or by an exception: the line tells which, once the run ends."""

    moments: Moments
    phase: str
    tokens: int | None
    code: CodeType
    line: int | None

    def was_raised_by(self, error: BaseException | None) -> bool:
        """Whether the error came out of the loop there."""
        trace = error.__traceback__ if error is not None else None
        return any(frame.f_code is self.code and line == self.line for frame, line in traceback.walk_tb(trace))


class TrainingRecorder:
    """Records the steps of one loop into a case."""

    def __init__(self, run: Run, given: Given) -> None:
        """Announce the case."""
        self.run = run
        self.is_looping = False  # over `bench.steps`
        self._given = given
        self._case = run.case(given.name or _script(), suite="script", mode="training")
        self._series: dict[str, Case] = {}  # one a metric: each remembers how its next row begins
        self._number = 0
        self._moments: Moments | None = None  # of the step that is open
        self._left: LeftStep | None = None
        self._counting: AbstractContextManager[CountedFlops] | None = None
        self._counted: CountedFlops | None = None
        self._flops: float | None = given.flops or None  # of a step, or a token where a step said how many it has
        if given.flops:
            self._case.metric("flops", given.flops, unit="count", text="as the script says")
        self._is_per_token = False
        self._peak = given.peak_flops
        if given.peak_flops is not None:
            self._case.metric("peak_flops", given.peak_flops, unit="count/s", text="as the script says")
        self._pending: deque[tuple[int, str, Moments]] = deque()  # steps whose events the GPU has not passed yet
        self._looked_at = 0
        self._highest: dict[str, int] = {}
        run.at_end.append(self._ended)

    def begin(self) -> None:
        """A step begins."""
        self._settle()
        torch = sys.modules.get("torch")
        event = None
        if torch is not None and hasattr(torch, "autograd"):  # it may be half imported
            watch(torch)
            if torch.cuda.is_initialized():
                event = _event_of(torch)
            if self._number == COUNTED and self._given.flops is None and self._counted is None:
                self._count(torch)
        self._moments = here.moments = Moments(event)

    def wait_for(self, source: Iterator[Batch]) -> Batch:
        """The next batch; waiting for it is a phase."""
        assert self._moments is not None
        self._moments.add(DATA)
        batch = next(source)
        self._moments.add(END)
        return batch

    def end(self, tokens: int | None) -> None:
        """The step that is open ends, if one is."""
        moments = self._moments
        if moments is None:
            return
        moments.add(END)
        self._finish()
        self._record(moments, tokens)

    def drop(self) -> None:
        """The step that is open was none: there are no more batches."""
        self._finish()

    def leave(self, tokens: int | None, frame: FrameType | None) -> None:
        """The loop in this frame is left inside of the step that is open."""
        moments = self._moments
        if moments is not None and frame is not None:
            phase = moments.phase()
            moments.add(END)
            self._left = LeftStep(moments, phase, tokens, frame.f_code, frame.f_lineno)
        self._finish()

    def _settle(self) -> None:
        """A step in which the loop was left counts if its optimizer ran: else nobody says that it was a whole one."""
        left, self._left = self._left, None
        if left is not None and OPTIMIZER in left.moments.kinds:
            self._record(left.moments, left.tokens)

    def _record(self, moments: Moments, tokens: int | None) -> None:
        number, self._number = self._number, self._number + 1
        if moments.failure is not None:
            self._case.metric("failed_step", number, text=": ".join(moments.failure))
            return
        phase = "cold" if number == 0 else "warmup" if number < STEADY else "steady"
        duration = moments.times[-1] - moments.times[0]
        self._timing("latency", duration, phase, number)
        self._rates(duration, tokens, phase)
        if moments.events:
            self._pending.append((number, phase, moments))
            self._take_passed(len(self._pending) > MOST_PENDING)
        else:
            self._phases(number, phase, moments.host_ns())
        if number == 0 or moments.times[-1] - self._looked_at > MEMORY_NS:
            self._look_at_memory(moments.times[-1])

    def _rates(self, duration: int, tokens: int | None, phase: str) -> None:
        if tokens is not None:
            self._metric("throughput", tokens / duration * 1e9, "tokens/s", phase)
        if self._counted is not None and self._flops is None:
            self._tell_operations(tokens)
        if self._flops is not None and self._peak is not None and (tokens or not self._is_per_token):
            operations = self._flops * (tokens or 1) if self._is_per_token else self._flops
            self._metric("mfu", operations / duration * 1e9 / self._peak, "ratio", phase)

    def _finish(self) -> None:
        self._moments = here.moments = None
        if self._counting is not None:
            self._counting.__exit__(None, None, None)
            self._counting = None

    def _count(self, torch: Any) -> None:
        if _would_be_too_much(torch):
            self._counted = CountedFlops()
            self._case.metric(
                "flops", None, text="not counted: GPU memory is more than half full, and uncompiled code takes more"
            )
            return
        self._counting = counting(torch)
        self._counted = self._counting.__enter__()

    def _tell_operations(self, tokens: int | None) -> None:
        """What was counted, once."""
        assert self._counted is not None
        if not self._counted.flops:
            return
        self._case.metric("flops", self._counted.flops, unit="count")
        self._is_per_token = tokens is not None
        self._flops = self._counted.flops / (tokens or 1)
        if self._peak is None and (known := self._counted.peak(sys.modules["torch"])) is not None:
            self._peak = known[0]
            self._case.metric("peak_flops", known[0], unit="count/s", text=known[1])

    def _timing(self, metric: str, duration: int, phase: str, number: int) -> None:
        series = self._series.get(metric) or self._series.setdefault(metric, Case(self.run, self._case.case_id))
        series.timing(duration, metric=metric, phase=phase, sample=number)

    def _metric(self, metric: str, value: float, unit: str, phase: str) -> None:
        self._case.metric(metric, value, unit=unit, better="higher", phase=phase)

    def _phases(self, number: int, phase: str, times: dict[str, int]) -> None:
        for name, duration in times.items():
            if duration > 0:
                self._timing(METRICS[name], duration, phase, number)

    def _take_passed(self, wait: bool) -> None:
        """Record the phases of steps that the GPU has passed; with `wait` those of all."""
        while self._pending:
            number, phase, moments = self._pending[0]
            last = moments.events[-1]
            if wait:
                last.synchronize()
            elif not last.query():
                return
            self._pending.popleft()
            self._phases(number, phase, moments.device_ns())

    def _look_at_memory(self, now: int) -> None:
        """Record the peaks of the process so far, if they have grown."""
        self._looked_at = now
        peaks = {}
        with contextlib.suppress(OSError, ValueError):  # not Linux
            peaks["rss"] = status_bytes("VmHWM")
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():
            peaks["cuda_allocated"] = torch.cuda.max_memory_allocated()
            peaks["cuda_reserved"] = torch.cuda.max_memory_reserved()
        for source, size in peaks.items():
            if size > self._highest.get(source, 0):
                self._highest[source] = size
                self._case.memory(size, source=source, error_bound_bytes=error_bound_bytes() if source == "rss" else 0)

    def _ended(self, error: BaseException | None) -> None:
        """The run ends: with an error, if that ended the script."""
        _recorders.pop(self._given.name, None)
        with contextlib.suppress(RuntimeError):  # of a GPU that is lost
            self._take_passed(wait=True)
        self._look_at_memory(_clock())
        moments, left = self._moments, self._left
        self._finish()
        if moments is not None and error is not None:
            self._failed(moments.phase(), error)
        elif left is not None and error is not None and left.was_raised_by(error):
            self._failed(left.phase, error)
        else:
            self._settle()

    def _failed(self, phase: str, error: BaseException) -> None:
        """A step ended the run."""
        if not isinstance(error, Exception):  # Ctrl-C
            return
        kind, reason = type(error).__name__, f"step {self._number}, {phase}: {described(error)}"
        status = "OOM" if "OutOfMemory" in kind or isinstance(error, MemoryError) else "fail_to_run"
        self._case.outcome(status, reason=reason, phase=phase, exception=kind, message=str(error))


_recorders: dict[str | None, TrainingRecorder] = {}


def recorder_of(given: Given) -> TrainingRecorder:
    """The recorder of the steps of this name in the run that is open, else in a new one."""
    found = _recorders.get(given.name)
    if found is None or found.run.status is not None:
        found = _recorders[given.name] = TrainingRecorder(recording.open_run() or recording.run(), given)
    return found


def _script() -> str:
    """The name of the script that runs."""
    stem = Path(sys.argv[0]).stem if sys.argv else ""
    return stem if stem not in ("", "-c", "__main__", "ipykernel_launcher") else "training"


def _event_of(torch: Any) -> Any:
    def event() -> Any:
        made = torch.cuda.Event(enable_timing=True)
        made.record()
        return made

    return event


def _would_be_too_much(torch: Any) -> bool:
    """Whether compiled code runs here, and a GPU has too little memory to run it uncompiled for one step."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    if not torch.cuda.is_initialized() or dynamo is None or not dynamo.counters["frames"]:
        return False
    _, total = torch.cuda.mem_get_info()
    return bool(torch.cuda.max_memory_allocated() > MOST_FULL * total)
