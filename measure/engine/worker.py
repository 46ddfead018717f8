"""A worker: one fresh process that measures one workload with all its backends.

It reads its job as one line of JSON on stdin, records into the run that the runner began, and reports its progress on a
separate pipe, so that a crash can be attributed to the backend that was running. Its stdin stays open: when it closes, the
runner is gone, and the worker's whole process group ends.

Phases: load; cold (the first call of each backend, compilation included); then, backends interleaved, warmup and
steady. An exception of a backend becomes its outcome, and the others continue.
"""

import contextlib
import functools
import json
import os
import shutil
import signal
import statistics
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import astuple, replace
from typing import Any

from ...warehouse.errors import text_of
from ...warehouse.recorder import Case, Run, join
from ..system.devices import Device
from ..system.memory_limit import bound
from .extras import afterwards
from .launcher import open_pipe
from .messages import TAIL_BYTES, Reporter, clean, first_line, reason_of, resolve, status_of
from .program import (
    Agreement,
    DeviceLost,
    Fact,
    MakeProgram,
    Measured,
    MeasuredBackend,
    ModelFailed,
    Program,
)
from .sampling import Reading, Sample, Sampler, SideFailed, Verdict
from .trial import take_steps
from .workload import Job

FIRST_CALL = ("rss_growth", "rss_growth_sampled", "cuda_growth")  # what compiling took at most


COLD = "cold: from an empty compile cache"  # what a compile latency is of; that of a warm start is a metric of its own


class Measurement:
    """Measures one job, from loading to the last outcome."""

    def __init__(self, job: Job, run: Run, reporter: Reporter) -> None:
        """Attach to the cases that the runner has announced."""
        self._job = job
        self._run = run
        self._reporter = reporter
        self._cases = {name: run.case(**job.workload.axes(name), announce=False) for name in job.workload.backends}
        self._expected: Any = None  # the baseline's output, kept
        self._pid = os.getpid()
        self._trusted: Agreement | None = None  # whether others can be compared with it
        self._baseline_status = ""

    def run(self, make: MakeProgram) -> None:
        """Measure; every case has an outcome when this returns, or the runner knows that the device is lost."""
        try:
            self._measure(make)
        except DeviceLost as reason:
            self._reporter.lost(str(reason))

    def _measure(self, make: MakeProgram) -> None:
        self._reporter.enter("load")
        try:
            program = make(self._job.workload, self._job.settings, self._reporter.enter)
        except ModelFailed as failure:
            for backend in self._cases:
                self._failed(backend, failure.__cause__ or failure, status="model_fail_to_load")
            return
        if program.device.missing() is None:
            for name, text in program.device.description().items():
                for case in self._cases.values():
                    case.metric(name, None, text=text)
        sides = [side for backend in self._cases if (side := self._first_call(program, backend)) is not None]
        program.settle()
        begun = [(side, found) for side in sides if (found := self._second_call(program, side)) is not None]
        sides = [side for side, found in begun if self._memory(program, side, found)]
        if sides:
            self._sample(program.device, sides)
            for side, fact in afterwards(self._job, self._run, program, sides):
                self._facts(side.case, [fact])

    def _first_call(self, program: Program, backend: str) -> MeasuredBackend | None:
        """Time the first call and check its output."""
        self._reporter.enter("cold", backend)
        case = self._cases[backend]
        try:
            reason = program.missing(backend)
            if reason is not None:
                self._end(backend, "skipped", reason=reason)
                return None
            call = program.prepare(backend)
            outputs: list[Any] = []
            with program.device.peaks() as peaks:
                reading = program.device.time(lambda: outputs.append(call()), 1)
            self._record(case, reading, phase="cold")
            first_ns, first_calls = reading.duration_ns, program.first_calls(backend)
            for phase in ("compile", "warmup")[
                : first_calls - 1
            ]:  # a graph is recorded, and replayed for the first time
                program.rewind()
                outputs.clear()
                reading = program.device.time(lambda: outputs.append(call()), 1)
                self._record(case, reading, phase=phase)
                first_ns += reading.duration_ns
            for peak in peaks:  # no memory samples: peaks of one call are compared with those of one call
                if peak.source in FIRST_CALL:
                    case.metric(f"first_call_{peak.source}", peak.size_bytes, unit="bytes", better="lower")
            self._facts(case, program.facts(backend))
            self._check(program, backend, program.keep(outputs.pop()))
        except Exception as error:
            self._failed(backend, error)
            _look_after(program.device)
            return None
        return MeasuredBackend(backend, case, call, first_ns, [], first_calls)

    def _facts(self, case: Case, facts: Iterable[Fact], phase: str | None = None) -> None:
        for fact in facts:
            case.metric(fact.name, fact.value, unit=fact.unit, better=fact.better, phase=phase, text=fact.text)

    def _check(self, program: Program, backend: str, output: Any) -> None:
        """Compare with the baseline's output; the baseline must agree with itself."""
        workload = self._job.workload
        if backend == workload.baseline:
            self._expected = output
        if backend in workload.unchecked:
            found: Agreement | None = Agreement(True, workload.unchecked[backend], None, "pass_due_to_skip")
        elif backend == workload.baseline:
            found = self._trusted = program.trust(output)
        elif self._expected is None:
            found = Agreement(
                False, f"{workload.baseline} gave no output to compare with", None, self._baseline_failed()
            )
        elif self._trusted is not None and not self._trusted.equal:
            found = self._trusted
        else:
            found = program.agree(self._expected, output)
        if found is not None:
            self._judged(backend, found)

    def _judged(self, backend: str, found: Agreement) -> None:
        case = self._cases[backend]
        case.outcome(found.judged, kind="accuracy", reason=first_line(found.what) or None)
        if found.error is not None:
            case.metric("accuracy_error", found.error, better="lower")
        for name, value in found.metrics.items():
            case.metric(name, value)
        if found.digest is not None:
            case.metric("output_digest", None, text=found.digest)
        self._reporter.ended(backend, "accuracy", found.judged)

    def _baseline_failed(self) -> str:
        """The accuracy status of others when the baseline has no output."""
        if not self._job.workload.mode:
            return "skipped"
        return "eager_1st_run_OOM" if self._baseline_status == "OOM" else "eager_1st_run_fail"

    def _second_call(self, program: Program, side: MeasuredBackend) -> Measured | None:
        """Make the second call, which may compile again; what waits for its peak memory, None if it failed."""
        self._reporter.enter("warmup", side.backend)
        try:
            program.facts(side.backend)  # forget those of other sides
            measured = program.memory(side.backend, side.call)
            self._end_child()
            again = program.facts(side.backend)
            self._facts(side.case, (fact for fact in again if fact.value), phase="warmup")
        except Exception as error:
            self._failed(side.backend, error)
            _look_after(program.device)
            return None
        return measured

    def _memory(self, program: Program, side: MeasuredBackend, measured: Measured) -> bool:
        """Record peak memory; returns whether it could be measured."""
        self._reporter.enter("warmup", side.backend)
        try:
            peaks, parts = measured()
            self._facts(side.case, parts)
        except Exception as error:
            self._failed(side.backend, error)
            _look_after(program.device)
            return False
        for peak in peaks:
            side.case.memory(
                peak.size_bytes, source=peak.source, statistic=peak.statistic, phase=peak.phase,
                error_bound_bytes=peak.error_bound_bytes, device_index=peak.device_index,
            )  # fmt: skip
        sizes = {peak.source: peak.size_bytes for peak in peaks}
        shown = sizes.get("cuda_allocated") or next((sizes[it] for it in FIRST_CALL if it in sizes), None)
        process = None if "cuda_allocated" in sizes else sizes.get("rss")
        self._reporter.found(side.backend, peak_bytes=shown, process_bytes=process)
        return True

    def _sample(self, device: Device, sides: list[MeasuredBackend]) -> None:
        """Sample the sides; if one fails, the others start again without it, from warm-up, in new blocks."""
        settings, blocks = self._job.settings, 0
        warming: list[bool] = []  # whether each sample of the warm-up lost its processor

        def emit(sample: Sample) -> None:
            nonlocal blocks
            if sample.phase == "warmup":
                warming.append(sample.reading.preempted)
            if sample.phase != self._reporter.phase:
                self._reporter.enter(sample.phase)
                # a busy machine, before the end
                self._reporter.found(sides[0].backend, disturbed=statistics.fmean(warming))
            blocks, side = sample.block + 1, sides[sample.side]
            self._record(side.case, sample.reading, phase=sample.phase, block=sample.block, position=sample.position)
            if sample.phase == "steady":
                side.steady_ns.append(sample.reading.each_ns)

        while sides:
            self._reporter.enter("warmup")
            sampler = Sampler(
                [functools.partial(device.time, side.call) for side in sides], emit, seed=settings.seed, first_block=blocks,
                sample_ns=device.min_sample_ns, even_loops=device.even_loops,
            )  # fmt: skip
            try:
                verdict = sampler.run(precision=settings.precision, budget_s=settings.budget_s, repeat=settings.repeat)
            except SideFailed as failure:
                broken = sides.pop(failure.side)
                self._failed(broken.backend, failure.__cause__ or failure)
                _look_after(device)
            else:
                self._finish(sides, verdict)
                return

    def _finish(self, sides: list[MeasuredBackend], verdict: Verdict) -> None:
        """Record how each side ended, with the precision of its ratio to the baseline."""
        first, *others = sides
        self._reporter.found(first.backend, sampled_s=verdict.seconds, disturbed=verdict.preempted)
        for side, part in zip(others or sides, verdict.parts, strict=True):
            self._reporter.found(side.backend, part=astuple(part))
        self._ended_well(first, str(verdict))
        for side, estimate in zip(others, verdict.estimates, strict=False):  # of a lone side, its own level
            if first.backend == self._job.workload.baseline:
                self._reporter.found(side.backend, speedup=(estimate.ratio, estimate.low, estimate.high, estimate.n))
            self._ended_well(side, str(replace(verdict, estimates=(estimate,))))

    def _ended_well(self, side: MeasuredBackend, how: str) -> None:
        if self._job.workload.mode and side.backend != self._job.workload.baseline:
            latency = side.first_ns - side.first_calls * statistics.median(side.steady_ns)
            if latency > 0:  # a first call like any other compiled nothing that could be told from noise
                side.case.metric("compile_latency", latency, unit="ns", better="lower", text=COLD)
        self._end(side.backend, "ok", reason=how)

    def _end_child(self) -> None:
        """End this process if it is one that the measured code made by a fork: it would measure beside the worker."""
        if os.getpid() != self._pid:
            os._exit(0)

    def _record(self, case: Case, reading: Reading, *, phase: str, **where: int) -> None:
        self._end_child()
        details = {"device_ns": reading.device_ns, "process": self._job.process, **where, **reading.disturbance}
        case.timing(reading.duration_ns, phase=phase, loops=reading.loops, details=details)
        for name, (value, unit) in reading.gauges.items():
            case.metric(name, value, unit=unit, phase=phase)

    def _failed(self, backend: str, error: BaseException, status: str | None = None) -> None:
        """Record the exception of a backend as its outcome, and as its accuracy outcome if that is still missing."""
        text = "".join(traceback.format_exception(error))
        sys.stderr.write(text)
        reason = reason_of(error)
        status = status or status_of(error)
        if status == "OOM" and self._is_crowded(backend):
            self._reporter.crowded(backend)
            return
        if self._job.workload.mode and self._reporter.phase in ("load", "cold"):
            judged = status
            if backend == self._job.workload.baseline:
                self._baseline_status = status
                judged = status if self._reporter.phase == "load" else self._baseline_failed()
            self._judged(backend, Agreement(False, reason, None, judged))
        self._end(
            backend, status, reason=reason,
            exception=type(error).__qualname__, message=clean(text_of(error)[:TAIL_BYTES]), stderr_tail=clean(text[-TAIL_BYTES:]),
        )  # fmt: skip

    def _is_crowded(self, backend: str) -> bool:
        """True if a backend shares a GPU with others than the baseline, all of which hold memory as long as this process."""
        workload = self._job.workload
        return workload.device.startswith("cuda") and backend != workload.baseline and len(self._cases) > 2

    def _end(self, backend: str, status: str, **details: Any) -> None:
        self._cases[backend].outcome(status, phase=self._reporter.phase, **details)
        self._reporter.ended(backend, "performance", status)


def _look_after(device: Device) -> None:
    """See whether the device still works.

    Raises:
        DeviceLost: It does not.
    """
    if reason := device.lost():
        raise DeviceLost(reason)


@contextlib.contextmanager
def ending_with_runner() -> Iterator[None]:
    """End this process group when stdin closes, which means that the runner died.

    Measured code sees an empty stdin: otherwise it would wait for the runner, which waits for it.
    """
    cache = os.environ.get("TORCHINDUCTOR_CACHE_DIR", "")
    runner = os.dup(0)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)

    def watch() -> None:
        while os.read(runner, 4096):
            pass
        shutil.rmtree(cache, ignore_errors=True)
        os.killpg(os.getpgid(0), signal.SIGKILL)

    threading.Thread(target=watch, name="bench-runner-watch", daemon=True).start()
    yield


def main() -> None:
    """Measure the job on stdin; the one argument is the address of the pipe to report on."""
    job = Job.from_dict(json.loads(_read_line()))
    reporter = Reporter(open_pipe(sys.argv[1]))
    with ending_with_runner():
        make: MakeProgram = resolve(job.program)
        if job.workload.bounded and job.workload.device == "cpu":
            bound()
        if job.trial:
            take_steps(job, make, reporter)
            return
        with contextlib.closing(join(job.run_id, job.store)) as run:
            Measurement(job, run, reporter).run(make)


def _read_line() -> bytes:
    """One line of stdin, read without a buffer, so that the rest stays in the pipe."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(0, 1)):
        line += byte
    return line
