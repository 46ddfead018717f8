"""The sampler: memory, CPU and GPU use of a running process over time, and the sampler's own cost.

At every look it records `rss`, the process, and `rss_tree`, it and its descendants; where they use a GPU, `nvml` memory
and `gpu_utilization:N`. Every quarter of a second `cpu_utilization` of the tree (1 is one core busy: the kernel counts in
hundredths of a second), and every second `sampler_utilization`, what the sampler itself used, so that its cost can be
told from the program's. Each is a row as soon as it is read: a sampler that is killed leaves what it saw.

It sleeps between looks, and what comes and goes between two of them it does not see: peaks are for memory.HostMemory.
"""

import contextlib
import os
import select
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from ...warehouse.errors import BenchError
from ...warehouse.events import Instant, MemorySample, Metric
from ...warehouse.recorder import Case, Run
from .nvml import Nvml, nvml
from .process_tree import Look, ProcessEnded, ProcessTree

CPU_NS, COST_NS = 250_000_000, 1_000_000_000


@dataclass(slots=True)
class _Since:
    """The beginning of a stretch over which utilization is computed: wall clock and processor time, ns."""

    wall: int
    cpu: int


class ProcessSampler:
    """Reads a process tree so many times a second, until it ends or `stop` is called."""

    def __init__(
        self, run: Run, tree: ProcessTree, hz: float, case: Case | None = None, gpus: Nvml | None = None
    ) -> None:
        """Prepare to record into `run`, of `case` or of the run as a whole.

        Raises:
            BenchError: The process has ended.
        """
        try:
            self._process = os.pidfd_open(tree.pid)
        except ProcessLookupError:
            raise BenchError(f"process {tree.pid} has ended already") from None
        self._run = run
        self._tree = tree
        self._interval_s = 1 / hz
        self._case_id = case.case_id if case else None
        self._gpus = gpus
        self._wake, self._woken = os.pipe()
        self._cpu: tuple[int, Look] | None = None  # when the last use of CPU was told, and what was seen then
        self.looks = self.missed = 0

    def run(self, duration_s: float = float("inf")) -> bool:
        """Sample until the process ends, `stop` is called, or the time is over; returns whether the process ended."""
        start = time.monotonic()
        first = own = _Since(time.monotonic_ns(), time.thread_time_ns())
        number = 0
        events = select.poll()  # not select(), which fails for descriptors above 1023
        events.register(self._process, select.POLLIN)
        events.register(self._wake, select.POLLIN)
        try:
            while True:
                try:
                    self._look(self._tree.look())
                except ProcessEnded:
                    return True
                own = self._cost(own, COST_NS)
                passed = time.monotonic() - start
                if passed >= duration_s:
                    return False
                # Looks that came due while this one lasted are counted as missed, not made up for.
                due = int(passed / self._interval_s) + 1
                self.missed += due - number - 1
                number = due
                wait = min(number * self._interval_s, duration_s) - passed
                ready = events.poll(max(wait, 0) * 1000)
                if ready:
                    return any(descriptor == self._process for descriptor, _ in ready)
        finally:
            self._cost(own, 1 if own is first else CPU_NS)  # of a moment after the last look it would say nothing
            self._metric("sampler_missed", self.missed, "count", better="lower")

    def stop(self) -> None:
        """End `run`, from another thread."""
        os.write(self._woken, b"\0")

    def close(self) -> None:
        """Close the sampler's files."""
        for descriptor in (self._wake, self._woken, self._process):
            os.close(descriptor)

    def _look(self, seen: Look) -> None:
        self.looks += 1
        self._memory("rss", seen.rss_bytes)
        self._memory("rss_tree", seen.tree_bytes)
        for use in self._gpus.look(seen.cpu_ns) if self._gpus else ():
            self._memory("nvml", use.size_bytes, use.device_index)
            self._metric(f"gpu_utilization:{use.device_index}", use.utilization, "ratio")
        now = time.monotonic_ns()
        if self._cpu is None:
            self._cpu = now, seen
        elif now - self._cpu[0] >= CPU_NS:
            self._metric("cpu_utilization", cpu_between(self._cpu[1], seen) / (now - self._cpu[0]), "ratio")
            self._cpu = now, seen

    def _cost(self, since: _Since, least_ns: int) -> _Since:
        """Record what the sampler itself used, once the stretch is long enough."""
        now = _Since(time.monotonic_ns(), time.thread_time_ns())
        if now.wall - since.wall < least_ns:
            return since
        self._metric("sampler_utilization", (now.cpu - since.cpu) / (now.wall - since.wall), "ratio", better="lower")
        return now

    def _memory(self, source: str, size_bytes: int, device_index: int | None = None) -> None:
        self._run.emit(
            MemorySample(
                run_id=self._run.run_id, case_id=self._case_id, source=source, size_bytes=size_bytes, statistic="reading",
                device_index=device_index, recorded_at=_now(),
            )
        )  # fmt: skip

    def _metric(self, name: str, value: float, unit: str, better: str | None = None) -> None:
        self._run.emit(
            Metric(
                run_id=self._run.run_id, case_id=self._case_id, metric=name, value=float(value), unit=unit, better=better,
                recorded_at=_now(),
            )
        )  # fmt: skip


def cpu_between(before: Look, after: Look) -> int:
    """Processor time of the tree between two readings, in ns, without what a process used just before it ended."""
    return sum(max(ns - before.cpu_ns.get(pid, 0), 0) for pid, ns in after.cpu_ns.items())


@contextlib.contextmanager
def sampled(run: Run, pid: int, hz: float | None, case: Case | None = None) -> Iterator[None]:
    """Sample a process from a thread within the context; without `hz` do nothing."""
    if hz is None:
        yield
        return
    try:
        sampler = ProcessSampler(run, ProcessTree(pid), hz, case, nvml())
    except BenchError:  # it has ended by now: the caller will say how
        yield
        return
    thread = threading.Thread(target=sampler.run, name="bench-sampler", daemon=True)
    thread.start()
    try:
        yield
    finally:
        sampler.stop()
        thread.join()
        sampler.close()


def _now() -> Instant:
    return Instant(time.time_ns() // 1000)
