"""The live table: shows the last cases of a plan and the progress on a terminal.

It is drawn when something happens and never by a timer, so nothing of it runs while samples are taken. At the end it is
erased, because the whole table follows.
"""

import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from ...warehouse.console.numbers import clock, is_too_wide, memory, ratio, times
from ...warehouse.console.tables import escape, obeys, shorten, width
from .progress import ProgressLines, ProgressListener
from .sampling import busy
from .workload import NOT_FAILURES, Workload

HEADINGS = ("model", "backend", "status", "speedup", "memory")
LEAST_LINES = 8  # of a terminal; a smaller one gets lines
LEAST_TITLE = 10  # columns of a model's; where the others leave less, lines are cut at their end


@dataclass(slots=True)
class LiveRow:
    """The current state of one case."""

    title: str
    backend: str
    status: str = ""
    speedup: Sequence[Any] = ()  # ratio, low, high, n
    memory: str = ""

    def texts(self, speedup: Callable[..., str | None]) -> list[str]:
        """Its cells."""
        gained = (speedup(*self.speedup) or "–") if self.speedup else ""
        return [escape(text) for text in (self.title, self.backend, self.status, gained, self.memory)]


def _interval(ratio: float, low: float, high: float, n: int) -> str | None:
    return None if is_too_wide(low, high) else f"{times(low)[:-1]}–{times(high)}"


# How a speedup is written where there is room, and where there is less.
SPEEDUPS: tuple[Callable[..., str | None], ...] = (ratio, lambda *gained: ratio(*gained[:3]), _interval)


class LiveTable(ProgressListener):
    """Draws on a terminal, each time over the last drawing."""

    def __init__(self, out: IO[str], now: Callable[[], float] = time.monotonic) -> None:
        """Draw on `out`; `now` gives seconds."""
        self._out = out
        self._now = now
        self._lock = threading.Lock()
        self._rows: list[LiveRow] = []
        self._current: dict[str, LiveRow] = {}  # rows of the workload at its turn, by backend
        self._all = self._done = self._drawn = 0
        self._busy = ""
        self._began = self._ended = now()  # the first workload, the last that is done

    def plan(self, workloads: int) -> None:
        """Add to the number of workloads to come."""
        self._all += workloads

    def begin(self, workload: Workload) -> None:
        """A row for each of its backends."""
        with self._lock:
            self._current = {name: LiveRow(self.title(workload), name) for name in workload.backends}
            self._rows += self._current.values()
            self._draw()

    def enter(self, phase: str, backend: str | None) -> None:
        """Show the phase in the rows that are not done."""
        with self._lock:
            for name, row in self._current.items():
                if backend in (None, name) and row.status in ("", "load", "reference", "cold", "warmup", "steady"):
                    row.status = phase
            self._draw()

    def found(self, backend: str, numbers: Mapping[str, Any]) -> None:
        """Fill in new results."""
        with self._lock:
            row = self._current[backend]
            row.status = numbers.get("status", row.status)
            row.speedup = numbers.get("speedup", row.speedup)
            self._busy = busy(numbers["disturbed"]) if "disturbed" in numbers else self._busy
            if "peak_bytes" in numbers:
                row.memory = memory(numbers.get("process_bytes"), numbers["peak_bytes"])
            self._draw()

    def end(self, statuses: Mapping[str, str]) -> None:
        """Show the worst status of each backend; a failed one has no speedup."""
        with self._lock:
            for name, status in statuses.items():
                row = self._current[name]
                row.status = status
                if status not in NOT_FAILURES:
                    row.speedup = ()
            self._done, self._ended = self._done + 1, self._now()
            self._draw()

    def close(self) -> None:
        """Wipe it."""
        with self._lock:
            self._wipe()
            self._out.flush()

    def _draw(self) -> None:
        columns, lines = _size(self._out)
        shown = [*_fitted(self._rows[-(lines - 3) :], columns - 1), self._progress()]
        with contextlib.suppress(OSError):  # a lost terminal must not end the measurement
            self._wipe()
            self._out.write("".join(_cut(line, columns - 1) + "\n" for line in shown))
            self._out.flush()
            self._drawn = len(shown)

    def _wipe(self) -> None:
        if self._drawn:
            self._out.write(f"\x1b[{self._drawn}F\x1b[J")
        self._drawn = 0

    def _progress(self) -> str:
        """Workloads done, elapsed time, and the remaining time if the rest takes as long on average."""
        now = self._now()
        text = f"{self._done} of {self._all} workloads in {clock(now - self._began)}"
        if self._done:
            each = (self._ended - self._began) / self._done
            left = max(each * (self._all - self._done) - (now - self._ended), 0.0)
            text += f", about {clock(left)} left"
        return f"{text}; {self._busy}" if self._busy else text


def _fitted(rows: Sequence[LiveRow], room: int) -> Iterator[str]:
    """A line for the headings and for each row, shortened to the width: first the speedups, then the middle of titles."""
    tables = [[[*HEADINGS], *(row.texts(speedup) for row in rows)] for speedup in SPEEDUPS]
    layouts = [(texts, _widths(texts)) for texts in tables]
    texts, widths = next((layout for layout in layouts if _needed(layout[1]) <= room), layouts[-1])
    spare = room - _needed(widths)
    widths[0] = min(widths[0], max(widths[0] + spare, LEAST_TITLE))
    for title, *cells in texts:
        row = zip((shorten(title, widths[0]), *cells), widths, strict=True)
        yield "  ".join(text + " " * (space - width(text)) for text, space in row)


def _widths(texts: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(width, column)) for column in zip(*texts, strict=True)]


def _needed(widths: Sequence[int]) -> int:
    """The columns of a line, with two between its cells."""
    return sum(widths) + 2 * (len(widths) - 1)


def _cut(line: str, room: int) -> str:
    while width(line) > room:
        line = line[:-1]
    return line.rstrip()


def watch(out: IO[str] | None = None) -> ProgressListener:
    """A live table if `out` (default stderr) is a terminal with cursor control, else lines."""
    shown: IO[str] = sys.stderr if out is None else out
    return LiveTable(shown) if obeys(shown) and _size(shown)[1] >= LEAST_LINES else ProgressLines()


def _size(out: IO[str]) -> tuple[int, int]:
    """Columns and lines of the terminal; stdout, which shutil asks, may be a file."""
    try:
        return os.get_terminal_size(out.fileno())
    except (OSError, ValueError):
        return shutil.get_terminal_size()
