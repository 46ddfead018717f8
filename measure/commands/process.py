"""Runs of commands: one process from start to end, with its time, counters and memory."""

import contextlib
import marshal
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...warehouse.errors import BenchError

FLOOR_SLACK = 1.05  # the launcher grows a little while it works
COUNTERS = ("minor_faults", "major_faults", "voluntary_switches", "involuntary_switches")  # columns of `timings`


@dataclass(frozen=True, slots=True)
class Ran:
    """One run. Times are in ns; counters and memory include descendants that the process waited for.

    `code` is the exit code, negative for the signal that ended it; `left_group` the process
    group in which it left others behind. `peak_bytes` is the kernel's high-water mark of one
    process. For a process smaller than the launcher that mark is the launcher's own; `seen_bytes` is then the largest size
    that was sampled, and the peak lies between the two. For larger processes both are equal. `tree_bytes` is the largest
    sampled size of the process and its descendants together, None if it had none.
    """

    duration_ns: int
    timed_out: bool
    code: int
    left_group: int | None
    user_ns: int
    system_ns: int
    peak_bytes: int
    seen_bytes: int
    tree_bytes: int | None
    minor_faults: int
    major_faults: int
    voluntary_switches: int
    involuntary_switches: int
    stderr: bytes

    def failed(self, fine: frozenset[int] | None) -> bool:
        """Return whether the run failed; exit codes in `fine` do not count as failures, None allows all of them."""
        return self.timed_out or self.code < 0 or (fine is not None and self.code not in fine)

    @property
    def stderr_tail(self) -> str:
        """The end of what it wrote to stderr, as text."""
        from ..engine.messages import clean

        return clean(self.stderr.decode("utf-8", "replace"))

    def ending(self, timeout_s: float | None) -> tuple[str, str, dict[str, Any]]:
        """Status, reason and details of the outcome of a failed run."""
        from ..engine.runner import End  # slow to import, and seldom needed

        tail = self.stderr_tail
        end = End(
            exit_code=self.code if self.code >= 0 and not self.timed_out else None,
            signal=-self.code if self.code < 0 and not self.timed_out else None,
            timed_out=self.timed_out, stderr_tail=tail,
        )  # fmt: skip
        status, reason = end.details(timeout_s or 0.0)
        details = {"exit_code": end.exit_code, "signal": end.signal, "stderr_tail": tail or None}
        return status, reason.replace("worker ended", "ended"), details


def running_groups() -> set[int]:
    """The process groups of this machine in which a process has not ended."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            state, _, group = stat.read_bytes().rpartition(b")")[2].split()[:3]
            if state not in (b"Z", b"X"):
                found.add(int(group))
    return found


class NotStarted(Exception):
    """The program does not exist or cannot be run; the message says which."""


class Launcher:
    """The process that starts commands; see `launcher`."""

    def __init__(self, *, stdin: str = os.devnull, shown: bool = False) -> None:
        """Start it without waiting until it is ready.

        Commands read the file `stdin`; if `shown` they write to stderr, else nowhere.
        """
        self._stdin = stdin
        self._shown = shown
        script = str(Path(__file__).with_name("launcher.py"))
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._floor: int | None = None
        self._paths: dict[str, str] = {}  # of programs that were found

    @property
    def floor_bytes(self) -> int:
        """The smallest peak that the kernel can report for a command: the memory of the launcher itself."""
        if self._floor is None:
            self._floor = int(self._answer())
        return self._floor

    def run(self, arguments: Sequence[str], *, timeout_s: float | None = None, beside: Any = None) -> Ran:
        """Run a command to its end.

        Args:
            arguments: Its words, the program first.
            timeout_s: Most time it may take; then it is killed, with what it started.
            beside: Gives a context to hold while it runs, from its process id, such as a sampler's.

        Raises:
            NotStarted: There is no such program, or it cannot be run.
            KeyboardInterrupt: Ctrl-C; it is killed, and the launcher is gone.
        """
        path = self._paths.get(arguments[0]) or shutil.which(arguments[0])
        if path is None:
            raise NotStarted(f"no program {arguments[0]!r}")
        self._paths[arguments[0]] = path
        assert self.floor_bytes  # the launcher's first answer is read
        try:
            self._ask({"path": path, "arguments": list(arguments), "stdin": self._stdin, "shown": self._shown,
                       "timeout_s": timeout_s, "tell": beside is not None})  # fmt: skip
            answer = self._answer()
            with contextlib.nullcontext() if beside is None or isinstance(answer, dict) else beside(answer):
                ran = answer if isinstance(answer, dict) else self._answer()
        except KeyboardInterrupt:
            self.close()
            raise
        if "error" in ran:
            raise NotStarted(f"{arguments[0]}: {ran['error']}")
        if ran["peak_bytes"] > FLOOR_SLACK * self.floor_bytes:
            ran["seen_bytes"] = ran["peak_bytes"]
        return Ran(**ran)

    @contextlib.contextmanager
    def counting(self, kind: str) -> Iterator[Callable[[Sequence[str], float | None], int]]:
        """A context with a function that runs a command and returns the instructions that it executed in user mode.

        Raises:
            CannotCount: They cannot be counted so here, or the command did not end well under callgrind.
        """
        from ..system.instructions import CannotCount, InstructionCounter, collected, under_callgrind

        if kind == "callgrind":

            def simulate(words: Sequence[str], timeout_s: float | None) -> int:
                found = collected(self.run(under_callgrind(words), timeout_s=timeout_s).stderr)
                if found is None:
                    raise CannotCount(
                        "callgrind did not come to its end: the command fails under it, or takes too long"
                    )
                return found

            yield simulate
            return
        counter = InstructionCounter(self._process.pid)

        def count(words: Sequence[str], timeout_s: float | None) -> int:
            before = counter.read()
            self.run(words, timeout_s=timeout_s)
            return counter.read() - before

        try:
            yield count
        finally:
            counter.close()

    def close(self) -> None:
        """End it, and with it a command that still runs."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()

    def _ask(self, what: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # reading the reply then fails
            marshal.dump(what, self._process.stdin)
            self._process.stdin.flush()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        try:
            return marshal.load(self._process.stdout)
        except EOFError:
            code = self._process.wait()
            how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            raise BenchError(f"the process that starts commands ended by {how}; what was recorded is kept") from None


@contextlib.contextmanager
def launcher(*, stdin: str = os.devnull, shown: bool = False) -> Iterator[Launcher]:
    """A launcher for as long as a `with` block lasts."""
    made = Launcher(stdin=stdin, shown=shown)
    try:
        yield made
    finally:
        made.close()
