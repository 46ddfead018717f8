"""The ledger of a line trace: the memory changes of each source line, in files that survive a killed process.

The traced process writes and the process that started it reads a folder:

    places.jsonl   one line a source line, in the order they were first met: {"file", "line", "function"}
    N.cells        memory-mapped: CELL numbers of 64 bits for each of those lines, in the order of FIELDS
    steps          one STEP for each stretch between two line events in which memory moved
    sources.jsonl  one line for each N: {"source", "device_index", "unit_bytes", "error_bound_bytes"}

Nothing is aggregated anywhere else, so everything that was counted before a process died is there.

A *step* is the time between two line events. A change of memory in it is attributed to the line that was running
(`increase`, `decrease`), and its highest memory to every line open at that time, in all threads (`peak`): the running
line, and the lines whose calls it serves. So what a call allocated and freed shows on the calling line.
"""

import json
import mmap
import os
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CELL = 8
HITS, START, PEAK, END, TRANSIENT, INCREASE, DECREASE = range(7)
MOST_LINES = 1 << 20  # 64 MiB of a sparse file
STEP = struct.Struct("<qqqqqq")  # source, place, ns since 1970, start, peak, end
UNSETTLED = -1  # of a record: see Lane
ELSEWHERE, FULL = 0, CELL  # places that are no line: no traced line was open; the ledger had no room for it
NOT_LINES = ((ELSEWHERE, "elsewhere"), (FULL, "no room"))

# Told what memory was when last called: None if it has been that ever since, else its peak since then and what it is
# now, in units of the source. Most lines move no memory, and None is what says so soonest.
Read = Callable[[int], tuple[int, int] | None]


@dataclass(frozen=True, slots=True)
class MemoryKind:
    """A kind of memory: its name in the store, and the unit of its numbers."""

    source: str
    device_index: int | None = None
    unit_bytes: int = 1
    error_bound_bytes: int | None = None


class Ledger:
    """The ledger of one memory source, in the traced process."""

    def __init__(self, folder: Path, number: int, source: MemoryKind, read: Read, first: int | None = None) -> None:
        """Map the cells; memory was `first`, or what is read now, before the first line."""
        self.read = read
        self.lanes: list[Lane] = []
        self.on_move: Callable[[], None] | None = None  # called where memory moved
        self._number = number
        size = MOST_LINES * CELL * 8
        file = os.open(folder / f"{number}.cells", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.ftruncate(file, size)
        self.cells = memoryview(mmap.mmap(file, size)).cast("q")
        os.close(file)
        self._steps = os.open(folder / "steps", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with (folder / "sources.jsonl").open("a") as sources:
            sources.write(json.dumps({key: getattr(source, key) for key in MemoryKind.__slots__}) + "\n")
        if first is None:
            reading = read(-1)
            assert reading is not None, "memory is never -1"
            first = reading[1]
        self.last = first
        self._step(ELSEWHERE, self.last, self.last, self.last)

    def moved(self, place: int, peak: int, now: int) -> None:
        """Memory has changed since the last event: attribute the change to the line that was running."""
        last = self.last
        if peak > last:
            for lane in self.lanes:
                for record in lane.open:
                    if record[2] < peak:
                        record[2], record[3] = peak, UNSETTLED
        if now > last:
            self.cells[place + INCREASE] += now - last
        elif now < last:
            self.cells[place + DECREASE] += last - now
        self.last = now
        self._step(place, last, max(peak, last, now), now)
        if self.on_move is not None:
            self.on_move()

    def _step(self, place: int, start: int, peak: int, end: int) -> None:
        os.write(self._steps, STEP.pack(self._number, place // CELL, time.time_ns(), start, peak, end))


class Lane:
    """The lines one thread has open, innermost last; below them all, the time in which it has none.

    Each is a record: its place, memory before it, the highest since, and, fourth, the memory at which the line is
    *settled*: while memory is that, to leave the line says nothing new of it. Where a line begins that was as high before
    (`line_at` tells), a hit is then all there is to count, and whoever traces may do just that.
    """

    __slots__ = ("_ledger", "open")

    def __init__(self, ledger: Ledger, places: tuple[int, ...] = (ELSEWHERE,)) -> None:
        self._ledger = ledger
        self.open = [[place, ledger.last, ledger.last, UNSETTLED] for place in places]
        ledger.lanes.append(self)
        for place in places[1:]:  # lines open already, where a ledger is opened late
            ledger.cells[place] += 1

    def line(self, place: int) -> None:
        """The innermost frame continues at another line."""
        self.line_at(place, self._ledger.read(self._ledger.last))

    def line_at(self, place: int, reading: tuple[int, int] | None) -> bool:
        """The same, of memory read already; whether this line was as high before."""
        ledger = self._ledger
        record = self.open[-1]
        if reading is not None:
            ledger.moved(record[0], *reading)
        before, start, highest, _ = record
        now, cells = ledger.last, ledger.cells
        if highest > cells[before + PEAK] or (highest > start and highest > now):
            self._close(before, start, highest, now)
        known = now <= cells[place + PEAK]
        record[0], record[1], record[2], record[3] = place, now, now, now if known else UNSETTLED
        cells[place] += 1
        return known

    def enter(self, place: int) -> None:
        """A frame begins, or resumes after a yield, which is not a new hit."""
        now = self.look()
        self.open.append([place, now, now, now if now <= self._ledger.cells[place + PEAK] else UNSETTLED])

    def leave(self) -> None:
        """The innermost frame ends, or yields."""
        now = self.look()
        if len(self.open) > 1:  # else it was open before anyone looked
            place, start, highest, _ = self.open.pop()
            self._close(place, start, highest, now)

    def look(self) -> int:
        """Attribute the change since the last reading to the running line; returns memory now."""
        ledger = self._ledger
        reading = ledger.read(ledger.last)
        if reading is not None:
            ledger.moved(self.open[-1][0], *reading)
        return ledger.last

    def _close(self, place: int, start: int, highest: int, now: int) -> None:
        """A run of a line has ended: add it to the line's numbers."""
        cells = self._ledger.cells
        if highest > cells[place + PEAK]:
            cells[place + START], cells[place + PEAK], cells[place + END] = start, highest, now
        cells[place + TRANSIENT] = max(cells[place + TRANSIENT], highest - max(start, now))


class Places:
    """Numbers for source lines, given as they are met."""

    def __init__(self, folder: Path, most: int = MOST_LINES) -> None:
        self._file = os.open(folder / "places.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._next = len(NOT_LINES) * CELL
        self._end = most * CELL
        for _, name in NOT_LINES:
            self._notify(name, 0, "")

    def new(self, file: str, line: int, function: str) -> int:
        """A new place for this line, or FULL; called once per line."""
        place = self._next
        if place >= self._end:
            return FULL
        self._next = place + CELL
        self._notify(file, line, function)
        return place

    def _notify(self, file: str, line: int, function: str) -> None:
        os.write(self._file, json.dumps({"file": file, "line": line, "function": function}).encode() + b"\n")


@dataclass(frozen=True, slots=True)
class LineChanges:
    """The changes of one source's memory at one line; all but hits in bytes."""

    source: MemoryKind
    file: str
    line: int
    function: str
    hits: int
    start: int
    peak: int
    end: int
    transient: int
    increase: int
    decrease: int


@dataclass(frozen=True, slots=True)
class Step:
    """One stretch between two line events in which memory moved; sizes in bytes."""

    source: MemoryKind
    file: str
    line: int  # 0 where no traced line was at work
    at_ns: int
    start: int
    peak: int
    end: int


class Reader:
    """Reads the ledger of a traced process, alive or dead."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places = list(_whole_lines(folder / "places.jsonl"))
        self._sources = [MemoryKind(**fields) for fields in _whole_lines(folder / "sources.jsonl")]

    def lines(self) -> Iterator[LineChanges]:
        """Every line that ran, by source, in the order in which they were first met."""
        return (counted for counted in self._counted() if counted.line and counted.hits)

    def elsewhere(self) -> dict[str, tuple[int, int]]:
        """Rise and fall of host memory outside all lines in bytes, by the names in NOT_LINES."""
        return {
            c.file: (c.increase, c.decrease)
            for c in self._counted()
            if not c.line and c.source.device_index is None and (c.increase or c.decrease)
        }

    def steps(self) -> Iterator[Step]:
        """Every stretch in which memory moved, in order."""
        try:
            data = (self._folder / "steps").read_bytes()
        except FileNotFoundError:
            return
        for number, place, at, *sizes in STEP.iter_unpack(data[: len(data) // STEP.size * STEP.size]):
            source, at_work = self._sources[number], self._places[place]
            yield Step(source, at_work["file"], at_work["line"], at, *(size * source.unit_bytes for size in sizes))

    def _counted(self) -> Iterator[LineChanges]:
        for number, source in enumerate(self._sources):
            with (self._folder / f"{number}.cells").open("rb") as file:
                cells = memoryview(file.read(len(self._places) * CELL * 8)).cast("q")
            for index, place in enumerate(self._places):
                hits, *sizes = cells[index * CELL : index * CELL + DECREASE + 1]
                start, peak, end, transient, increase, decrease = (size * source.unit_bytes for size in sizes)
                yield LineChanges(
                    source, place['file'], place['line'], place['function'], hits, start, peak, end, transient, increase, decrease
                )  # fmt: skip


def _whole_lines(path: Path) -> Iterator[Any]:
    """The complete records of a file whose writer may have been killed while writing one."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return iter(())
    return map(json.loads, text[: text.rfind(b"\n") + 1].splitlines())
