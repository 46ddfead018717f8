"""Events of a training step: a timing of the whole and of each phase, its rate, and at times the peak of memory."""

import contextlib
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from threading import get_ident
from types import CodeType, FrameType
from typing import Any, TypeVar

from ...warehouse import recorder as recording
from ...warehouse.errors import BenchError, described
from ...warehouse.recorder import Run
from ..system.host_memory import error_bound_bytes, status_bytes
from .flops import CountedFlops, counting
from .phases import DATA_WAIT, END, OPTIMIZER, Moments, open_steps, watch

Batch = TypeVar("Batch")

COUNTED = 1  # number of the step whose operations are counted: the first one compiles
STEADY = 3  # number of the first step that is
MOST_PENDING = 64  # steps of a GPU whose events may be open
MEMORY_NS = 1_000_000_000  # between two looks at the peak of memory
MOST_FULL = 0.5  # of a GPU's memory, at which compiled code is not run uncompiled to count its operations

_clock = time.perf_counter_ns


@dataclass(frozen=True, slots=True)
class StepFacts:
    """Facts that a script gives of its steps."""

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
        """True if the error came out of that loop."""
        trace = error.__traceback__ if error is not None else None
        return any(frame.f_code is self.code and line == self.line for frame, line in traceback.walk_tb(trace))


class TrainingRecorder:
    """Records the steps of one loop into a case.

    What runs in each step finds cold caches, where each object that it touches costs more than the code: it does little.
    """

    __slots__ = (
        "_case",
        "_counted",
        "_counting",
        "_event",
        "_flops",
        "_highest",
        "_is_per_token",
        "_left",
        "_looked_at",
        "_moments",
        "_number",
        "_peak",
        "_pending",
        "_torch",
        "given",
        "is_looping",
        "run",
    )

    def __init__(self, run: Run, given: StepFacts) -> None:
        """Announce the case."""
        self.run = run
        self.is_looping = False  # over `bench.steps`
        self.given = given
        self._case = run.case(given.name or _script(), suite="script", mode="training")
        self._number = 0  # of the next step to record
        self._moments: Moments | None = None  # of the step that is open
        self._torch: Any = None  # once it is watched
        self._event: Callable[[], Any] | None = None  # records one in the stream of a GPU
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
        if self._left is not None:
            self._settle()
        if self._torch is None or self._number < STEADY:
            self._look_at_torch()
        self._moments = open_steps[get_ident()] = Moments(self._event)

    def _look_at_torch(self) -> None:
        torch = self._torch or self._watched()
        if torch is not None:
            self._event = _event_of(torch) if torch.cuda.is_initialized() else None
            if self._number == COUNTED and self.given.flops is None and self._counted is None:
                self._count(torch)

    def _watched(self) -> Any:
        """torch, once the script has imported it: from then on it says in which phase a step is."""
        torch = sys.modules.get("torch")
        if hasattr(torch, "autograd"):  # it may be half imported
            watch(torch)
            self._torch = torch
        return self._torch

    def wait_for(self, source: Iterator[Batch]) -> Batch:
        """The next batch; waiting for it is a phase."""
        assert self._moments is not None
        self._moments.add(DATA_WAIT)
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

    def turn(self, tokens: int | None) -> None:
        """The step that is open ends, if one is, and the next begins."""
        self.end(tokens)
        self.begin()

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
        if moments.events:
            self._case.timings({"latency": duration}, phase=phase, sample=number)
            self._pending.append((number, phase, moments))
            self._take_passed(len(self._pending) > MOST_PENDING)
        else:
            self._case.timings({"latency": duration, **moments.host_ns()}, phase=phase, sample=number)
        self._rates(duration, tokens, phase)
        if number == 0 or moments.times[-1] - self._looked_at > MEMORY_NS:
            self._look_at_memory(moments.times[-1])

    def _rates(self, duration: int, tokens: int | None, phase: str) -> None:
        if tokens is not None:
            rate = tokens / duration * 1e9
            self._case.metric("throughput", rate, unit="tokens/s", better="higher", phase=phase)
        if self._counted is not None and self._flops is None:
            self._tell_operations(tokens)
        if self._flops is not None and self._peak is not None and (tokens or not self._is_per_token):
            operations = self._flops * (tokens or 1) if self._is_per_token else self._flops
            share = operations / duration * 1e9 / self._peak
            self._case.metric("mfu", share, unit="ratio", better="higher", phase=phase)

    def _finish(self) -> None:
        self._moments = None
        open_steps.pop(get_ident(), None)
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
        """Record the counted operations, once."""
        assert self._counted is not None
        if not self._counted.flops:
            return
        self._case.metric("flops", self._counted.flops, unit="count")
        self._is_per_token = tokens is not None
        self._flops = self._counted.flops / (tokens or 1)
        if self._peak is None and (known := self._counted.peak(sys.modules["torch"])) is not None:
            self._peak = known[0]
            self._case.metric("peak_flops", known[0], unit="count/s", text=known[1])

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
            self._case.timings(moments.device_ns(), phase=phase, sample=number)

    def _look_at_memory(self, now: int) -> None:
        """Record the peaks of the process so far, if they have grown."""
        self._looked_at = now
        peaks = {}
        with contextlib.suppress(OSError, ValueError):  # not Linux
            peaks["rss"] = status_bytes("VmHWM")
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():
            self._event = _event_of(torch)
            peaks["cuda_allocated"] = torch.cuda.max_memory_allocated()
            peaks["cuda_reserved"] = torch.cuda.max_memory_reserved()
        for source, size in peaks.items():
            if size > self._highest.get(source, 0):
                self._highest[source] = size
                self._case.memory(size, source=source, error_bound_bytes=error_bound_bytes() if source == "rss" else 0)

    def _ended(self, error: BaseException | None) -> None:
        """The run ends: with an error, if that ended the script."""
        _recorders.pop(self.given.name, None)
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


def recorder_of(name: str | None, flops: float | None, peak_flops: float | None) -> TrainingRecorder:
    """The recorder of the steps of this name in the run that is open, else in a new one.

    Raises:
        BenchError: A number is not positive.
    """
    found = _recorders.get(name)
    if found is not None and found.run.status is None:
        known = found.given
        if known.flops is not flops or known.peak_flops is not peak_flops:
            StepFacts(name, flops, peak_flops)  # or raises
        return found
    made = TrainingRecorder(recording.open_run() or recording.run(), StepFacts(name, flops, peak_flops))
    _recorders[name] = made
    return made


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
    """True if compiled code runs on a GPU that lacks the memory to run one step uncompiled."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    if not torch.cuda.is_initialized() or dynamo is None or not dynamo.counters["frames"]:
        return False
    _, total = torch.cuda.mem_get_info()
    return bool(torch.cuda.max_memory_allocated() > MOST_FULL * total)
