"""Counting instructions: repeatable where it can be done, a reason where it cannot."""

import ctypes
import errno
import os
import platform
import shutil
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from bench.measure.commands.process import launcher
from bench.measure.system.instructions import (
    CannotCount,
    InstructionCounter,
    collected,
    counts_in_words,
    under_callgrind,
)


class Kernel:
    """libc at the edge to a kernel that counts: a counter is a file, from which each read gives the next of these counts."""

    def __init__(self, folder: Path, counts: Sequence[int]) -> None:
        self.path = folder / "counter"
        self.path.write_bytes(b"".join(count.to_bytes(8, "little") for count in counts))
        self.opened: list[tuple[int, int]] = []  # process and flags of each

    def syscall(self, number: int, attributes: Any, pid: int, *others: int) -> int:
        """perf_event_open."""
        self.opened.append((pid, struct.unpack_from("IIQQQQQ", attributes)[6]))
        return os.open(self.path, os.O_RDONLY)


def test_a_process_counts_itself_from_the_start_and_children_from_their_exec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In user mode, with the threads or children that it starts."""
    kernel = Kernel(tmp_path, [5, 7])
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: kernel)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    itself, children = InstructionCounter(0, from_exec=False), InstructionCounter(12)

    assert (itself.read(), itself.read(), children.read()) == (5, 7, 5)
    inherit, user = 1 << 1, 1 << 5 | 1 << 6
    assert kernel.opened == [(0, inherit | user), (12, inherit | user | 1 << 0 | 1 << 12)]
    itself.close()
    children.close()


@pytest.mark.parametrize(
    ("number", "reason"),
    [(errno.EACCES, "perf_event_paranoid"), (errno.ENOENT, "callgrind needs none"), (errno.EBUSY, "perf_event_open")],
)
def test_a_kernel_that_refuses_says_why(number: int, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what to do."""

    class Refusing:
        @staticmethod
        def syscall(*arguments: object) -> int:
            ctypes.set_errno(number)
            return -1

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: Refusing)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    with pytest.raises(CannotCount, match=reason):
        InstructionCounter(os.getpid())


def test_what_callgrind_collected() -> None:
    """The last line of its kind; nothing where it did not come to its end."""
    assert collected(b"==1== Collected : 12\n==1== \n==1== Collected : 387283\n==1== I refs: 387,283\n") == 387_283
    assert collected(b"sort: no such file") is None


@pytest.mark.parametrize(
    ("counts", "first", "words"),
    [
        ([387_283], [], "387,283 instructions (n=1, within 0 %)"),
        ([50.5, 51.0, 50.0], [101.0], "50.5 instructions, 0.5x those of the first (n=3, within 2 %)"),
        ([0.0], [0.0], "0 instructions (n=1, within 0 %)"),
    ],
)
def test_counts_in_words(counts: list[float], first: list[float], words: str) -> None:
    """With how far they lie apart; a first one of none has no ratio."""
    assert counts_in_words(counts, first) == words


def test_without_valgrind_there_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """No command fails for the lack of it."""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(CannotCount, match="not installed"):
        under_callgrind(["true"])


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_a_fixed_workload_repeats_within_a_thousandth() -> None:
    """Under callgrind."""
    with launcher() as starter, starter.counting("callgrind") as count:
        found = [count(["sort", "/etc/passwd"], 60.0) for _ in range(2)]

    assert max(found) <= 1.001 * min(found)


def test_the_kernel_s_count_repeats_within_a_thousandth() -> None:
    """Three counts of one sort agree; a machine without the counter skips this."""
    with launcher() as starter:
        try:
            with starter.counting("perf") as count:
                found = [count(["sort", "/etc/passwd"], 60.0) for _ in range(3)]
        except CannotCount as error:
            pytest.skip(str(error))

    assert min(found) > 100_000 and max(found) <= 1.001 * min(found)
