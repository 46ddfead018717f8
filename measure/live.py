"""The live table: a terminal sees the last cases of a plan and how far it is.

It is drawn when something happens, and never on a timer: nothing of it runs while samples are taken. When all is done it is
wiped, as the whole table follows.
"""

import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import IO, Any

from ..warehouse.output import escape, ratio, width
from .plan import FINE, Workload
from .watch import Lines, Watch
from .words import size

HEADINGS = ("model", "backend", "status", "speedup", "memory")
LEAST_LINES = 8  # of a terminal; a smaller one gets lines


class Table(Watch):
    """Draws on a terminal, over what it drew before."""

    def __init__(self, out: IO[str], now: Callable[[], float] = time.monotonic) -> None:
        """Draw on `out`; `now` gives seconds."""
        self._out = out
        self._now = now
        self._lock = threading.Lock()
        self._rows: list[list[str]] = []
        self._current: dict[str, list[str]] = {}  # rows of the workload at its turn, by backend
        self._all = self._done = self._drawn = 0
        self._began = self._ended = now()  # the first workload, the last that is done

    def plan(self, workloads: int) -> None:
        """So many more workloads are to come."""
        self._all += workloads

    def begin(self, workload: Workload) -> None:
        """A row for each of its backends."""
        with self._lock:
            self._current = {name: [self.title(workload), name, "", "", ""] for name in workload.backends}
            self._rows += self._current.values()
            self._draw()

    def enter(self, phase: str, backend: str | None) -> None:
        """Say so in the rows that are not done."""
        with self._lock:
            for name, row in self._current.items():
                if backend in (None, name) and row[2] in ("", "load", "reference", "cold", "warmup", "steady"):
                    row[2] = phase
            self._draw()

    def found(self, backend: str, numbers: Mapping[str, Any]) -> None:
        """Fill in what is known."""
        with self._lock:
            row = self._current[backend]
            row[2] = numbers.get("status", row[2])
            if "speedup" in numbers:
                row[3] = ratio(*numbers["speedup"]) or "–"
            if "peak_bytes" in numbers:
                row[4] = size(numbers["peak_bytes"])
            self._draw()

    def end(self, statuses: Mapping[str, str]) -> None:
        """The worst status of each backend stands; what is wrong is compared with nothing."""
        with self._lock:
            for name, status in statuses.items():
                row = self._current[name]
                row[2] = status
                if status not in FINE:
                    row[3] = ""
            self._done, self._ended = self._done + 1, self._now()
            self._draw()

    def close(self) -> None:
        """Wipe it."""
        with self._lock:
            self._wipe()
            self._out.flush()

    def _draw(self) -> None:
        columns, lines = _size(self._out)
        rows = [list(HEADINGS), *self._rows[-(lines - 3) :]]
        texts = [[escape(text) for text in row] for row in rows]
        widths = [max(map(width, column)) for column in zip(*texts, strict=True)]
        shown = [
            "  ".join(text + " " * (room - width(text)) for text, room in zip(row, widths, strict=True))
            for row in texts
        ]
        shown.append(self._progress())
        with contextlib.suppress(OSError):  # the terminal is gone: no reason to lose the measurement
            self._wipe()
            self._out.write("".join(_cut(line, columns - 1) + "\n" for line in shown))
            self._out.flush()
            self._drawn = len(shown)

    def _wipe(self) -> None:
        if self._drawn:
            self._out.write(f"\x1b[{self._drawn}F\x1b[J")
        self._drawn = 0

    def _progress(self) -> str:
        """How many of how many, for how long, and for how long yet if the rest takes as long as those before."""
        now = self._now()
        said = f"{self._done} of {self._all} workloads in {clock(now - self._began)}"
        if not self._done:
            return said
        each = (self._ended - self._began) / self._done
        left = max(each * (self._all - self._done) - (now - self._ended), 0.0)
        return f"{said}, about {clock(left)} left"


def _cut(line: str, room: int) -> str:
    while width(line) > room:
        line = line[:-1]
    return line.rstrip()


def clock(seconds: float) -> str:
    """`42 s`, `3:07 min` or `2:03 h`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02} min" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02} h"


def watch(out: IO[str] | None = None) -> Watch:
    """The table where `out`, stderr if left out, is a terminal that can be drawn on, else lines."""
    out = out or sys.stderr
    drawable = out.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return Table(out) if drawable and _size(out)[1] >= LEAST_LINES else Lines()


def _size(out: IO[str]) -> tuple[int, int]:
    """Columns and lines of the terminal; stdout, which shutil asks, may be a file."""
    try:
        return os.get_terminal_size(out.fileno())
    except (OSError, ValueError):
        return shutil.get_terminal_size()
