"""Extras beside the samples: energy, files of one call, a line trace, first calls in a second process. They change no outcome."""

import re
import statistics
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from ...warehouse.errors import described
from ...warehouse.files import make_folder
from ...warehouse.recorder import Run
from ..pytorch import lines
from ..pytorch.warm_start import warm_calls
from ..system.energy import EnergyReading
from .program import KERNEL_TIME, Fact, MeasuredBackend, Program
from .sampling import loops_for
from .workload import Job

_ODD = re.compile(r"[^\w.-]")


def afterwards(
    job: Job, run: Run, program: Program, sides: list[MeasuredBackend]
) -> Iterator[tuple[MeasuredBackend, Fact]]:
    """Facts about the sides that the settings ask for; a failure is a fact without a value, with the reason."""
    if job.settings.energy:
        yield from _energies(program, sides)
    if job.settings.traced:
        yield from _traces(run, program, sides)
    settings = job.settings
    others = settings.minify, settings.warm_start, settings.profile, settings.lines, settings.trace_lines is not None
    if not any(others):
        return
    for side in sides:
        side.call = _dropped
    program.release()  # other processes follow, which need the memory of the device
    if job.settings.minify:
        yield from _minified(run, program, sides)
    if job.settings.trace_lines is not None:
        yield from _lines(job, run, sides)
    if job.settings.profile:
        yield from _step_parts(job, sides)
    if job.settings.lines:
        yield from _line_times(job, sides)
    if job.settings.warm_start:
        yield from _warm_starts(job, [side for side in sides if side.backend != job.workload.baseline])


def _dropped() -> None:
    """Stand in the place of a call that is made no more."""


def _energies(program: Program, sides: list[MeasuredBackend]) -> Iterator[tuple[MeasuredBackend, Fact]]:
    """Energy of a call and mean power; without a value, and with the reason, where the device does not tell."""
    for side in sides:
        loops = loops_for(statistics.median(side.steady_ns), program.device.min_sample_ns) if side.steady_ns else 1
        try:
            found = program.device.energy(side.call, loops)
        except Exception as error:
            found = EnergyReading(reason=described(error))
        yield side, Fact("gpu_energy", found.joules, "J", "lower", found.reason)
        if found.watts is not None:
            yield side, Fact("gpu_power", found.watts, "W")


def _traces(run: Run, program: Program, sides: list[MeasuredBackend]) -> Iterator[tuple[MeasuredBackend, Fact]]:
    for side, place in _places(run, sides):
        try:
            for fact in program.trace(side.backend, side.call, place):
                yield side, fact
                if fact.name == KERNEL_TIME and fact.value is not None and side.steady_ns:
                    steady_ns = statistics.median(side.steady_ns)  # of calls in which no profiler slows the host
                    yield side, Fact("kernel_share", fact.value / steady_ns, "ratio", "higher")
        except Exception as error:
            yield side, Fact("trace", None, text=described(error))


def _minified(run: Run, program: Program, sides: list[MeasuredBackend]) -> Iterator[tuple[MeasuredBackend, Fact]]:
    for side, place in _places(run, sides):
        try:
            for fact in program.minify(side.backend, place):
                yield side, fact
        except Exception as error:
            yield side, Fact("minify", None, text=described(error))


def _places(run: Run, sides: list[MeasuredBackend]) -> Iterator[tuple[MeasuredBackend, Path]]:
    """The sides, and what the names of their files begin with."""
    folder = run.store.artefacts / run.run_id
    make_folder(folder)
    for side in sides:
        yield side, folder / f"{side.case.case_id}-{_ODD.sub('_', side.backend)}"


def _lines(job: Job, run: Run, sides: list[MeasuredBackend]) -> Iterator[tuple[MeasuredBackend, Fact]]:
    """Memory line by line of the baseline; how many events there were is recorded with the lines."""
    for side in sides:
        if side.backend == job.workload.baseline and (reason := lines.trace_lines(job, run, side.case)):
            yield side, Fact(lines.TRACE, None, text=reason)


def _step_parts(job: Job, sides: list[MeasuredBackend]) -> Iterator[tuple[MeasuredBackend, Fact]]:
    """Shares of operators or kernels in the time of a step."""
    from ..pytorch.step_parts import part_facts

    yield from _of_backends(job, sides, part_facts)


def _line_times(job: Job, sides: list[MeasuredBackend]) -> Iterator[tuple[MeasuredBackend, Fact]]:
    """Shares of lines in the time of a step."""
    from ..pytorch.line_times import line_facts

    yield from _of_backends(job, sides, line_facts)


def _of_backends(
    job: Job, sides: list[MeasuredBackend], facts: Callable[[Job], Iterator[tuple[str, Fact]]]
) -> Iterator[tuple[MeasuredBackend, Fact]]:
    """Facts that processes of their own find of the sides that did not fail."""
    named = {side.backend: side for side in sides}
    for backend, fact in facts(replace(job, workload=replace(job.workload, backends=tuple(named)))):
        yield named[backend], fact


def _warm_starts(job: Job, sides: list[MeasuredBackend]) -> Iterator[tuple[MeasuredBackend, Fact]]:
    """The latency of a first call that finds its code in the disk cache, computed like that of the cold call."""
    for side, warm in zip(sides, warm_calls(job, [side.backend for side in sides]), strict=True):
        latency = warm.first_ns - statistics.median(side.steady_ns) if warm.first_ns and side.steady_ns else None
        yield side, Fact("warm_compile_latency", latency, "ns", "lower", warm.reason)
        for name, value in warm.counters.items():
            yield side, Fact(f"warm_{name}", value)
