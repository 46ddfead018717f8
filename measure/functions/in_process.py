"""Measure one call in the current process, such as that of a test."""

import asyncio
import contextlib
import functools
import gc
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...warehouse.recorder import Case
from ..engine.messages import reason_of
from ..engine.sampling import Reading, Sample, Sampler, SideFailed
from .program import Calls, Here

PATIENCE = 4.0  # budgets at most, on a machine so busy that hardly any sample keeps its processor

Prepare = Callable[[], tuple[tuple[Any, ...], Mapping[str, Any]] | None]


@dataclass(slots=True)
class CallMeasurement:
    """The result of the first call, and ns per call for each sample."""

    result: Any
    times: list[float] = field(default_factory=list)


def measure_call(
    case: Case, function: Callable[..., Any], positional: tuple[Any, ...], named: Mapping[str, Any], *,
    precision: float, budget_s: float,
) -> CallMeasurement:  # fmt: skip
    """Record the first call, the peak memory of one call, and samples until the time is precise enough.

    Every call gets the same argument objects, and is run to its end (see awaiting). `precision` is the half-width of the 95 %
    interval of the time, as a fraction. The case has an outcome afterwards.
    """
    device = Here()

    def record(reading: Reading, phase: str, **where: int) -> None:
        case.timing(reading.duration_ns, phase=phase, loops=reading.loops, details={**where, **reading.disturbance})

    def emit(sample: Sample) -> None:
        record(sample.reading, sample.phase, block=sample.block, position=sample.position, process=0)
        if sample.phase == "steady":
            measured.times.append(sample.reading.each_ns)

    with contextlib.closing(asyncio.new_event_loop()) as loop, _failing_as_outcome(case):
        call = Calls(function, positional, named, loop, keep=True)
        results: list[Any] = []
        record(device.time(lambda: results.append(call()), 1), "cold")
        measured = CallMeasurement(results.pop())
        with device.peaks() as peaks:
            call()
        for peak in peaks:
            case.memory(peak.size_bytes, source=peak.source, phase="steady", error_bound_bytes=peak.error_bound_bytes)
        with _unseen_by_the_collector():
            verdict = Sampler([functools.partial(device.time, call)], emit, seed=0).run(
                precision=precision, budget_s=budget_s, patience=PATIENCE
            )
        case.outcome("ok", reason=str(verdict), phase="steady")
    return measured


def measure_rounds(
    case: Case, function: Callable[..., Any], positional: tuple[Any, ...], named: Mapping[str, Any], *,
    rounds: int, loops: int = 1, warmup: int = 0, prepare: Prepare | None = None, clean: Callable[..., Any] | None = None,
) -> CallMeasurement:  # fmt: skip
    """Record a fixed number of rounds of `loops` calls each, after so many that are not counted.

    `prepare` is called before each round, untimed, and may return the arguments of its calls; `clean` is called after it with
    these. The case has an outcome afterwards.
    """
    device, measured = Here(), CallMeasurement(None)
    with contextlib.closing(asyncio.new_event_loop()) as loop, _failing_as_outcome(case):
        for number in range(-warmup, rounds):
            args, kwargs = (prepare() if prepare else None) or (positional, named)
            call = Calls(function, args, kwargs, loop, keep=True)
            results: list[Any] = []
            reading = device.time(lambda call=call, results=results: results.append(call()), loops)  # type: ignore[misc]
            measured.result = results.pop()
            if clean is not None:
                clean(*args, **kwargs)
            phase = "steady" if number >= 0 else "warmup"
            case.timing(reading.duration_ns, phase=phase, loops=reading.loops, details={**reading.disturbance})
            if number >= 0:
                measured.times.append(reading.each_ns)
        case.outcome("ok", reason=f"{rounds} rounds, as the test says", phase="steady")
    return measured


@contextlib.contextmanager
def _failing_as_outcome(case: Case) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        cause = error.__cause__ if isinstance(error, SideFailed) and error.__cause__ else error
        status = "OOM" if isinstance(cause, MemoryError) else "fail_to_run"
        status = "interrupted" if isinstance(cause, KeyboardInterrupt) else status
        case.outcome(status, reason=reason_of(cause), exception=type(cause).__qualname__)
        raise cause from None


@contextlib.contextmanager
def _unseen_by_the_collector() -> Iterator[None]:
    """Keep the garbage collector from searching existing objects while samples are taken."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
