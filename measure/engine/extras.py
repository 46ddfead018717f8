"""Extras beside the samples: trace files of one call, and first calls in a second process. They change no outcome."""

import re
import statistics
from collections.abc import Iterator

from ...warehouse.files import make_folder
from ...warehouse.recorder import Run
from ..pytorch.warm_start import warm_calls
from .program import Fact, MeasuredBackend, Program
from .workload import Job

_ODD = re.compile(r"[^\w.-]")


def afterwards(
    job: Job, run: Run, program: Program, sides: list[MeasuredBackend]
) -> Iterator[tuple[MeasuredBackend, Fact]]:
    """Facts about the sides that the settings ask for; a failure is a fact without a value, with the reason."""
    if job.settings.traced:
        yield from _traces(run, program, sides)
    if job.settings.warm_start:
        yield from _warm_starts(job, [side for side in sides if side.backend != job.workload.baseline])


def _traces(run: Run, program: Program, sides: list[MeasuredBackend]) -> Iterator[tuple[MeasuredBackend, Fact]]:
    folder = run.store.artefacts / run.run_id
    make_folder(folder)
    for side in sides:
        place = folder / f"{side.case.case_id}-{_ODD.sub('_', side.backend)}"
        try:
            for fact in program.trace(side.backend, side.call, place):
                yield side, fact
        except Exception as error:
            yield side, Fact("trace", None, text=f"{type(error).__name__}: {error}")


def _warm_starts(job: Job, sides: list[MeasuredBackend]) -> Iterator[tuple[MeasuredBackend, Fact]]:
    """The latency of a first call that finds its code in the disk cache, computed like that of the cold call."""
    for side, warm in zip(sides, warm_calls(job, [side.backend for side in sides]), strict=True):
        latency = warm.first_ns - statistics.median(side.steady_ns) if warm.first_ns and side.steady_ns else None
        yield side, Fact("warm_compile_latency", latency, "ns", "lower", warm.reason)
        for name, value in warm.counters.items():
            yield side, Fact(f"warm_{name}", value)
