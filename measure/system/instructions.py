"""Instructions executed in user mode: a second witness beside time, which other load on the machine does not move.

The kernel counts them where it has access to the processor's counters (`perf_event_open`); many virtual machines have none, and
some systems let only root count. callgrind of valgrind counts them everywhere, in a simulated processor that takes 20 to 50
times as long; of a command's descendants it counts none.
"""

import contextlib
import ctypes
import os
import platform
import re
import shutil
import statistics
import struct
from collections.abc import Sequence

from ...warehouse.console.numbers import percent

CALLGRIND = "callgrind"
KINDS = ("perf", CALLGRIND)
_SYSCALL = {"x86_64": 298, "aarch64": 241}  # of perf_event_open
_HARDWARE, _INSTRUCTIONS = 0, 1
_SIZE = 128  # bytes of perf_event_attr
# Bits of perf_event_attr: disabled, until the process calls exec; inherited; user mode only.
_DISABLED, _INHERIT, _NO_KERNEL, _NO_HYPERVISOR, _ON_EXEC = 1 << 0, 1 << 1, 1 << 5, 1 << 6, 1 << 12
_CLOSE_ON_EXEC = 8
_COLLECTED = re.compile(rb"Collected\s*:\s*(\d+)")


class CannotCount(Exception):
    """Instructions cannot be counted here; the message says why."""


class InstructionCounter:
    """The kernel's count of what a process executes, and the threads and children that it starts from now on."""

    def __init__(self, pid: int, *, from_exec: bool = True) -> None:
        """Count for a process.

        Args:
            pid: The process; 0 is this one.
            from_exec: Count each child from its exec on, and nothing else.

        Raises:
            CannotCount: The kernel or the processor does not let us.
        """
        number = _SYSCALL.get(platform.machine())
        if number is None or platform.system() != "Linux":
            raise CannotCount(
                f"perf counts on Linux on {' and '.join(_SYSCALL)}, not on {platform.system()} {platform.machine()}"
            )
        flags = _INHERIT | _NO_KERNEL | _NO_HYPERVISOR | (_DISABLED | _ON_EXEC if from_exec else 0)
        attributes = struct.pack("IIQQQQQ", _HARDWARE, _SIZE, _INSTRUCTIONS, 0, 0, 0, flags).ljust(_SIZE, b"\0")
        libc = ctypes.CDLL(None, use_errno=True)
        self._file = libc.syscall(number, ctypes.create_string_buffer(attributes, _SIZE), pid, -1, -1, _CLOSE_ON_EXEC)
        if self._file < 0:
            raise CannotCount(_reason(ctypes.get_errno()))

    def read(self) -> int:
        """Instructions so far; of children those that have ended."""
        return int.from_bytes(os.read(self._file, 8), "little")

    def close(self) -> None:
        """Stop counting."""
        with contextlib.suppress(OSError):
            os.close(self._file)


def _reason(number: int) -> str:
    import errno

    if number in (errno.EACCES, errno.EPERM):
        return "the kernel lets only root count instructions: set /proc/sys/kernel/perf_event_paranoid to 2 or less"
    if number in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV):
        return "this machine has no access to its processor's counters, as many virtual ones; --instructions callgrind needs none"
    return f"perf_event_open: {os.strerror(number)}"


def counts_in_words(counts: Sequence[float], reference: Sequence[float] = ()) -> str:
    """The median of counts, how far they lie apart, and its ratio to the median of the reference's."""
    median = statistics.median(counts)
    apart = (max(counts) - min(counts)) / max(median, 1)
    of_first = (
        f", {median / statistics.median(reference):.4g}x those of the first" if reference and min(reference) > 0 else ""
    )
    shown = f"{median:,.0f}" if median >= 1000 else f"{median:.4g}"
    return f"{shown} instructions{of_first} (n={len(counts)}, within {percent(apart)})"


def under_callgrind(words: Sequence[str], *options: str, profile: str = os.devnull) -> tuple[str, ...]:
    """The command under callgrind, which writes its profile there.

    Raises:
        CannotCount: valgrind is not installed.
    """
    if shutil.which("valgrind") is None:
        raise CannotCount("callgrind is part of valgrind, which is not installed")
    return ("valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", *options, "--", *words)


def collected(stderr: bytes) -> int | None:
    """The count that callgrind prints at its end."""
    found = _COLLECTED.findall(stderr)
    return int(found[-1]) if found else None
