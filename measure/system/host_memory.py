"""Peak memory of a stretch of code: exact where the kernel helps, sampled where it does not, and the row says which.

Writing 5 to /proc/self/clear_refs resets the kernel's high-water mark of this process, VmHWM in /proc/self/status:
reset, run, read. No sampling interval can miss a spike. Memory freed before the reading may be missing by what the
per-CPU counters have not yet added up: `error_bound_bytes`.

psutil has no high-water mark that can be reset: it reads what is sampled where the kernel cannot help.

Each stretch gives two peaks: `rss`, the whole process, and `rss_growth`, what the stretch added to the memory that
was in use when it began. Without clear_refs a thread reads every millisecond instead, and the sources are called
`rss_sampled` and `rss_growth_sampled`, so that nobody compares the two kinds.
"""

import contextlib
import ctypes
import gc
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
SAMPLE_SECONDS = 0.001
COUNTERS = 3


@dataclass(frozen=True, slots=True)
class Peak:
    """One peak, as a row of `memory_samples`; the bound is None where it is unknown."""

    source: str
    size_bytes: int
    error_bound_bytes: int | None = None
    device_index: int | None = None
    statistic: str = "peak"  # or a reading, where nobody keeps a peak
    phase: str | None = "steady"  # None: from the start of the process


class HostMemory:
    """Peaks of this process's resident memory."""

    def __init__(self, proc: Path = Path("/proc/self")) -> None:
        """Check once whether exact peaks are available."""
        self._proc = proc
        self.exact = self._probe()

    @contextlib.contextmanager
    def watch(self) -> Iterator[list[Peak]]:
        """Measure a `with` block; its peaks are in the list once it ends."""
        peaks: list[Peak] = []
        release_free_memory()
        if self.exact:
            before = self.resident_bytes()
            self._reset()
            yield peaks
            peak, bound, kind = self._status("VmHWM"), error_bound_bytes(), ""
        else:
            before = _resident_bytes()
            with _sampled() as highest:
                yield peaks
            peak, bound, kind = highest[0], None, "_sampled"
        peaks += [Peak("rss" + kind, peak, bound), Peak("rss_growth" + kind, max(peak - before, 0), bound)]

    def resident_bytes(self) -> int:
        """The resident memory of the process now."""
        return self._status("VmRSS") if self.exact else _resident_bytes()

    def highest(self) -> int:
        """The most that the process has held since it began, or since the last `forget` or `watch`; where `exact`."""
        return self._status("VmHWM")

    def forget(self) -> None:
        """Have `highest` begin anew, with what is held now; where `exact`."""
        self._reset()

    def _probe(self) -> bool:
        try:
            self._reset()
            return self._status("VmHWM") > 0
        except (OSError, ValueError):
            return False

    def _reset(self) -> None:
        (self._proc / "clear_refs").write_bytes(b"5")

    def _status(self, name: str) -> int:
        return status_bytes(name, self._proc)


def status_bytes(name: str, proc: Path = Path("/proc/self")) -> int:
    """A size that the kernel knows of a process, such as VmHWM.

    Raises:
        OSError: There is no such file.
        ValueError: It does not name it.
    """
    for line in (proc / "status").read_bytes().splitlines():
        if line.startswith(name.encode() + b":"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"no {name} in {proc}/status")


def error_bound_bytes() -> int:
    """The bytes that the kernel's per-CPU page counters can hold back.

    Resident memory is the sum of three of them (anonymous, file and shared pages), and the high-water mark adds up what
    they have folded in: each may keep max(32, 2 x CPUs) pages on each CPU we may run on (lib/percpu_counter.c).
    """
    return COUNTERS * len(os.sched_getaffinity(0)) * max(32, 2 * (os.cpu_count() or 1)) * PAGE_BYTES


def release_free_memory() -> None:
    """Return freed memory to the kernel, so that the next stretch has to allocate its own."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)


def _resident_bytes() -> int:
    import psutil

    return int(psutil.Process().memory_info().rss)


@contextlib.contextmanager
def _sampled() -> Iterator[list[int]]:
    highest = [_resident_bytes()]
    stop = threading.Event()

    def look() -> None:
        while not stop.wait(SAMPLE_SECONDS):
            highest[0] = max(highest[0], _resident_bytes())

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield highest
    finally:
        stop.set()
        thread.join()
        highest[0] = max(highest[0], _resident_bytes())
