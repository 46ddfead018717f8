"""Disturbances of a sample: context switches, page faults, stolen time, garbage collections.

getrusage takes 1 µs. A line of /proc/stat takes 15 µs, in which the kernel also fills the caches that the sample would use:
read right before the clock it adds up to 1.4 % to the minimum of a 1.4 ms sample, getrusage 0.1 %. So stolen time is counted
from the reading after the sample before.
"""

import gc
import os
import resource
import threading
import time
from collections.abc import Mapping

NAMES = ("voluntary_switches", "involuntary_switches", "minor_faults", "major_faults", "gc_collections", "steal_ns")
FRESH_NS = (
    5_000_000  # an older reading of stolen time is taken anew, or a pause would count towards the sample after it
)
_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_STEAL = 8  # column of the "cpu" line of /proc/stat, proc(5)


class DisturbanceCounters:
    """Counters of this process and, for stolen time, of the machine; read before and after a sample, never within."""

    def __init__(self) -> None:
        try:
            self._stat: int | None = os.open("/proc/stat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._stat = None
        self._stolen_ns = self._read_at = 0

    def read(self) -> tuple[int, ...]:
        """Running totals before a sample, in the order of NAMES; steal is there only where the kernel counts it."""
        if time.perf_counter_ns() - self._read_at > FRESH_NS:
            self._stolen_ns = self._steal_ns()
        return (*_of_this_process(), self._stolen_ns)

    def since(self, before: tuple[int, ...]) -> Mapping[str, int]:
        """The increase since `before`, by column of `timings`; without steal where it is unknown."""
        now = _of_this_process()
        self._stolen_ns = self._steal_ns()
        self._read_at = time.perf_counter_ns()
        changes = {name: new - old for name, new, old in zip(NAMES, (*now, self._stolen_ns), before, strict=True)}
        if self._stat is None:
            del changes["steal_ns"]
        return changes

    def _steal_ns(self) -> int:
        if self._stat is None:
            return 0
        line = os.pread(self._stat, 512, 0).split(b"\n", 1)[0].split()
        return int(line[_STEAL]) * _TICK_NS if len(line) > _STEAL else 0


class OwnClock:
    """A clock of the thread that makes it, which stands still while the thread waits for a processor that others use.

    It runs while the thread sleeps. Where the kernel does not count such waits, it is the usual clock.
    """

    def __init__(self) -> None:
        try:
            self._waits: int | None = os.open(
                f"/proc/self/task/{threading.get_native_id()}/schedstat", os.O_RDONLY | os.O_CLOEXEC
            )
        except OSError:
            self._waits = None

    def read(self) -> int:
        """Nanoseconds since any moment."""
        waited = self.waited()
        return time.perf_counter_ns() - waited

    def waited(self) -> int:
        """Nanoseconds in which it stood still."""
        return 0 if self._waits is None else int(os.pread(self._waits, 64, 0).split()[1])


def _of_this_process() -> tuple[int, ...]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    collections = sum(generation["collections"] for generation in gc.get_stats())
    return usage.ru_nvcsw, usage.ru_nivcsw, usage.ru_minflt, usage.ru_majflt, collections
