"""Meters of a line trace: the highest memory since the last reading and the memory now, cheap enough for every line.

The host's: the kernel keeps the high-water mark of a process; getrusage reads it, and writing 5 to
/proc/self/clear_refs sets it back to what is in use, so that reading it once more tells that, too: three system calls,
1.5 µs. getrusage never reports less than the process had before it called exec, so a traced process must not have
been started from a larger one (see line_worker). Without clear_refs a line sees the memory at its end only, and the
source is called `rss_sampled`.

A GPU's: what torch's allocator has given out, which it counts exactly.
"""

import os
import resource
import sys
from collections.abc import Collection
from typing import Any

from ..system.host_memory import PAGE_BYTES, error_bound_bytes
from .ledger import MemoryKind, Read

CLEAR_REFS = "/proc/self/clear_refs"


def host(clear_refs: str = CLEAR_REFS) -> tuple[MemoryKind, Read]:
    """The meter of this process's resident memory."""
    try:
        file = os.open(clear_refs, os.O_WRONLY | os.O_CLOEXEC)
        os.write(file, b"5")
    except OSError:
        return MemoryKind("rss_sampled", unit_bytes=PAGE_BYTES), _resident()
    # The names are bound here because looking them up costs a tenth of what is left.
    usage, write, of_thread = resource.getrusage, os.write, resource.RUSAGE_THREAD

    def read(last: int) -> tuple[int, int] | None:
        peak = usage(of_thread)[2]  # ru_maxrss: of the whole process even so, and no walk over its threads
        write(file, b"5")
        now = usage(of_thread)[2]
        return None if peak == now == last else (peak, now)

    return MemoryKind("rss", unit_bytes=1024, error_bound_bytes=error_bound_bytes()), read


def _resident() -> Read:
    file = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)

    def read(last: int) -> tuple[int, int] | None:
        now = int(os.pread(file, 128, 0).split()[1])
        return None if now == last else (now, now)

    return read


def gpus(known: Collection[int]) -> list[tuple[int, MemoryKind, Read]]:
    """Meters, by device index, of further GPUs on which torch has allocated memory in this process."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or not getattr(cuda, "is_initialized", lambda: False)():  # torch may be in the midst of its import
        return []
    fresh = (index for index in range(cuda.device_count()) if index not in known)
    return [
        (index, MemoryKind("cuda_allocated", device_index=index, error_bound_bytes=0), _gpu(cuda, index))
        for index in fresh
        if _allocated(cuda, index)["peak"]
    ]


def _gpu(cuda: Any, index: int) -> Read:
    def read(last: int) -> tuple[int, int] | None:
        allocated = _allocated(cuda, index)
        peak, now = allocated["peak"], allocated["current"]
        cuda.reset_peak_memory_stats(index)
        return None if peak == now == last else (peak, now)

    return read


def _allocated(cuda: Any, index: int) -> dict[str, int]:
    """`current` and `peak`; torch's own max_memory_allocated makes the same call, and flattens all of it."""
    stats = cuda.memory_stats_as_nested_dict(index)
    return stats["allocated_bytes"]["all"] if stats else {"current": 0, "peak": 0}
