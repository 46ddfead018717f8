"""The parts of a journal's file, in every layout there was: its header, what lies in its windows, and its frames.

BENCHJ1  (0.1.0) no checksums: one window, u64 place where its records belong and records, then all records before
BENCHJ2  frames with one checksum each; each text is defined once in the file; its header is plain JSON
BENCHJ3  the same, with layouts of more than 32 nullable fields
BENCHJ4  as `journal` says
"""

import contextlib
import json
import os
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import BenchError
from ..files import open_file
from ..journal import (
    COMPLEMENT,
    FRAME,
    FRAME_END,
    FRAME_HEAD,
    HEADER,
    HEADER_COPY,
    MAGIC,
    STRUCT_CODES,
    U64,
    WINDOW_NUMBER,
    WINDOW_PAGE,
    Layout,
    head_checksum,
    pages,
)

FIRST, SECOND, THIRD = b"BENCHJ1\n", b"BENCHJ2\n", b"BENCHJ3\n"
FIRST_HEAD = struct.Struct("<8sI")  # magic, length of the header
WHOLE_FRAME = b"BENCHFR\n"
WHOLE_FRAME_HEAD = struct.Struct("<8sQII")  # magic, number, length, CRC-32 of number and records
MOST_HEADER_BYTES = 1 << 24
MOST_WINDOW_BYTES = 1 << 26
BLOCK_BYTES = 1 << 20
_MAGICS = re.compile(b"|".join((FRAME, FRAME_END, WHOLE_FRAME)))


class NeverBegun(BenchError):
    """The writer was killed before it could record anything."""


class Unreadable(BenchError):
    """The header of the journal is damaged, or was written by another version of bench."""


@dataclass(slots=True)
class Stretch:
    """Records one after the other in a journal, and their copies."""

    begin: int  # bytes from the beginning of the file
    length: int
    copies_begin: int = 0
    copies: int = 0  # their length
    checked: bool = False  # whether checksums hold for them
    table: tuple[int, ...] = ()  # CRC-32 of each page of the records, then of the copies
    has_end: bool = True  # whether all of a frame was written
    spare: tuple[int, int] | None = None  # the window they were written from: begin and length of its records
    fill: bytes = b"\0"  # what stands behind the records of a window

    def read(self, file: BinaryIO) -> tuple[bytes, set[int]]:
        """Its records, and which pages of them are damaged."""
        descriptor = file.fileno()
        records = _at(descriptor, self.begin, self.length)
        if not self.table:
            return records, set()
        table = self.table[: pages(self.length) // WINDOW_PAGE]
        damaged = _damaged(records, table)
        if damaged and self.spare:
            spare = _at(descriptor, self.spare[0], min(self.spare[1], self.length))
            sound = damaged - _damaged(spare.ljust(self.length, b"\0"), table)
            records, damaged = _with_pages(records.ljust(self.length, b"\0"), spare, sound), damaged - sound
        return records.ljust(self.length, b"\0"), damaged

    def read_copies(self, file: BinaryIO) -> tuple[bytes, set[int]]:
        """Its copies, and which pages of them are damaged."""
        copies = _at(file.fileno(), self.copies_begin, self.copies)
        damaged = _damaged(copies, self.table[pages(self.length) // WINDOW_PAGE :]) if self.table else set()
        return copies.ljust(self.copies, b"\0"), damaged


def _damaged(data: bytes, table: Sequence[int]) -> set[int]:
    """The pages that do not have these checksums."""
    view = memoryview(data)
    return {
        page
        for page, expected in enumerate(table)
        if zlib.crc32(view[page * WINDOW_PAGE : (page + 1) * WINDOW_PAGE]) != expected
    }


def _with_pages(data: bytes, other: bytes, taken: Iterable[int]) -> bytes:
    """The data with these pages of the other."""
    whole = bytearray(data)
    for page in taken:
        whole[page * WINDOW_PAGE : (page + 1) * WINDOW_PAGE] = other[page * WINDOW_PAGE : (page + 1) * WINDOW_PAGE]
    return bytes(whole)


@dataclass(slots=True)
class Parts:
    """The places of all parts of a journal."""

    header: dict[str, Any]
    layouts: list[Layout]
    parts: dict[int, Stretch] = field(default_factory=dict)  # by number, in the order written
    part_bytes: int = 0  # of records in a part, where many were written
    missing: int = 0  # parts that must have been there
    cut_bytes: int = 0  # at the end of a file that is too short for its windows
    unchecked_bytes: int = 0  # of records that no checksum holds for


def find_parts(file: BinaryIO, path: Path, *, is_live: bool = False) -> Parts:
    """Find the parts of a journal, wherever its end was cut and whatever of it is damaged.

    Args:
        file: The file, open.
        path: Its name, for messages.
        is_live: Whether a process writes it meanwhile: a frame that is not whole yet counts as the window that it was.

    Raises:
        NeverBegun: Nothing was ever recorded in it.
        Unreadable: Its header is damaged or another version's, so none of it can be read.
    """
    descriptor, end = file.fileno(), os.fstat(file.fileno()).st_size
    magic, header, start = _header(descriptor, end, path)
    layouts = _layouts(header.pop("tables", None))
    window, copies, fill = header.pop("window", 0), header.pop("copies", 0), header.pop("fill", 0)
    sizes = isinstance(window, int) and isinstance(copies, int) and 0 <= copies < window <= MOST_WINDOW_BYTES
    if not layouts or not sizes or fill not in range(256) or not isinstance(header.get("run_id"), str):
        raise Unreadable("has a damaged header, so that none of its events can be read. Restore it from a copy.")
    found = Parts(header, layouts, part_bytes=window - copies - WINDOW_NUMBER.size)
    if magic == FIRST:
        _first_layout(descriptor, start, window, end, found)
        return found
    # windows first: what is written behind meanwhile is found among the frames
    windows = [_Window(descriptor, start + place * window, window, copies, bytes([fill])) for place in range(2)]
    begin = start + 2 * window
    found.cut_bytes = max(0, begin - end)  # the file has its size before it has a header
    frames = dict[int, Stretch]()
    for number, part in _frames(descriptor, begin, os.fstat(descriptor).st_size):
        if not is_live or part.has_end:
            frames.setdefault(number, part)
    numbers, unnamed = set(frames), 0
    for each in windows:
        named = each.number_among(descriptor, frames)
        if named in frames and (frames[named].has_end or not each.has_records):
            frames[named].spare = each.part.begin, each.part.length
        elif each.has_records or each.has_copies or named is not None:
            named = named or _free_number(numbers | {w.number for w in windows if w.number})
            frames[named] = each.part
            found.unchecked_bytes += each.used_bytes
        if named is None:
            unnamed += 1
        else:
            numbers.add(named)
    found.missing = max(0, max(numbers, default=0) - len(numbers) - unnamed)
    found.parts = {number: frames[number] for number in sorted(frames)}
    return found


def header_of(path: Path) -> dict[str, Any]:
    """The header of a journal; empty if it is sealed already, or its header cannot be read."""
    with contextlib.suppress(OSError, BenchError), open_file(path) as opened:
        return _header(opened.fileno(), os.fstat(opened.fileno()).st_size, path)[1]
    return {}


def run_of(path: Path) -> str | None:
    """The run of a journal; None if it is sealed already, or its header cannot be read."""
    return header_of(path).get("run_id")


class _Window:
    """One of two windows as a reader finds it."""

    def __init__(self, file: int, begin: int, size: int, copies: int, fill: bytes) -> None:
        first = begin + copies + WINDOW_NUMBER.size
        self.part = Stretch(first, size - copies - WINDOW_NUMBER.size, begin, copies, fill=fill)
        data = _at(file, first - WINDOW_NUMBER.size, size - copies).ljust(WINDOW_NUMBER.size, b"\0")
        is_empty = not data.strip(b"\0")  # it never came to the disk
        self._records = b"" if is_empty else data[WINDOW_NUMBER.size :].rstrip(fill)
        self.has_records, self.used_bytes = bool(self._records), len(self._records)
        self.has_copies = bool(_at(file, begin, copies).strip(b"\0"))  # those of what is lasting come before any record
        number, complement = WINDOW_NUMBER.unpack_from(data)
        self.number = number if number ^ complement == COMPLEMENT and number else None

    def number_among(self, file: int, frames: dict[int, Stretch]) -> int | None:
        """Its number; where that is damaged, the one of the frame that has what it has. None where nobody knows."""
        if self.number is not None or not self.has_records:
            return self.number
        pages_here = [
            zlib.crc32(self._records[at : at + WINDOW_PAGE]) for at in range(0, len(self._records), WINDOW_PAGE)
        ]
        for number, part in frames.items():
            if any(map(int.__eq__, pages_here, part.table)):
                return number
            if _at(file, part.begin, part.length).rstrip(self.part.fill) == self._records:
                return number
        return None


def _free_number(taken: set[int]) -> int:
    return next(number for number in range(1, len(taken) + 2) if number not in taken)


def _header(file: int, end: int, path: Path) -> tuple[bytes, dict[str, Any], int]:
    """The magic of the layout, the header, and where the windows begin."""
    head = _at(file, 0, HEADER.size).ljust(HEADER.size, b"\0")
    magic, length, expected = HEADER.unpack(head)
    if magic == FIRST:
        return _first_header(file)
    text = _at(file, HEADER.size, min(length, MOST_HEADER_BYTES))
    known = magic in (MAGIC, SECOND, THIRD)
    if known and 0 < length == len(text) and zlib.crc32(text) == expected:
        return magic, _parsed(text if magic != MAGIC else _unpacked(text)), pages(HEADER.size + length)
    for at in _places(file, re.compile(HEADER_COPY), 0, end):
        _, length, expected = HEADER.unpack(_at(file, at, HEADER.size).ljust(HEADER.size, b"\0"))
        text = _at(file, at + HEADER.size, min(length, MOST_HEADER_BYTES))
        if 0 < length == len(text) and zlib.crc32(text) == expected:
            return MAGIC, _parsed(_unpacked(text)), pages(HEADER.size + length)
    if not head.strip(b"\0") and _holds_nothing(file, end):
        raise NeverBegun(f"{path} holds no events: its header is not complete")
    if magic[:6] == MAGIC[:6] and not known:
        raise Unreadable("was written by another version of bench, which can seal it with: bench store recover")
    raise Unreadable("has a damaged header, so that none of its events can be read. Restore it from a copy.")


def _first_header(file: int) -> tuple[bytes, dict[str, Any], int]:
    _, length = FIRST_HEAD.unpack(_at(file, 0, FIRST_HEAD.size).ljust(FIRST_HEAD.size, b"\0"))
    text = _at(file, FIRST_HEAD.size, min(length, MOST_HEADER_BYTES))
    return FIRST, _parsed(text), pages(FIRST_HEAD.size + len(text))


def _unpacked(text: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(text, MOST_HEADER_BYTES)
    except zlib.error:
        return b""


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        header = None
    return header if isinstance(header, dict) else {}


def _layouts(tables: Any) -> list[Layout]:
    """The layouts that a header names; none where it is damaged."""
    try:
        layouts = [
            Layout(table, version, tuple((n, c, bool(null)) for n, c, null in f)) for table, version, f in tables
        ]
    except (TypeError, ValueError):
        return []
    codes = {*STRUCT_CODES, "*q", "*H", "*I"}
    names = all(isinstance(x.table, str) and isinstance(x.version, int) for x in layouts)
    fields = all(isinstance(n, str) and c in codes for x in layouts for n, c, _ in x.fields)
    return layouts if names and fields and len(layouts) < 254 else []


def _holds_nothing(file: int, end: int) -> bool:
    """Return whether there is nothing but a header's text without what stands before it."""
    text = _at(file, HEADER.size, min(end, MOST_HEADER_BYTES)).partition(b"\0")[0]
    at = pages(HEADER.size + len(text)) if text else 0
    while block := _at(file, at, BLOCK_BYTES):
        if block.strip(b"\0"):
            return False
        at += len(block)
    return True


def _first_layout(file: int, start: int, window: int, end: int, found: Parts) -> None:
    """The parts of a journal of the first layout: its window counts, from its place on, unless it begins with zeros."""
    behind = start + window
    found.cut_bytes = max(0, behind - end)
    (base,) = U64.unpack(_at(file, start, U64.size).ljust(U64.size, b"\0"))
    in_use = _at(file, start + U64.size, 4).strip(b"\0") != b""
    last = min(base, end) if in_use and base >= behind else end
    found.parts = {1: Stretch(behind, max(0, last - behind)), 2: Stretch(start + U64.size, window - U64.size)}
    found.unchecked_bytes = sum(len(_at(file, part.begin, part.length).rstrip(b"\0")) for part in found.parts.values())


def _frames(file: int, at: int, end: int) -> Iterator[tuple[int, Stretch]]:
    """The numbers and parts of all frames. What is missing is seen by the numbers."""
    begin, effort = at, 4 * end + BLOCK_BYTES  # a file made to harm could name tables of any length, over and over
    while 0 <= at < end and effort > 0:
        magic = _at(file, at, len(FRAME))
        read = {FRAME: _frame, FRAME_END: _frame_before, WHOLE_FRAME: _whole_frame}.get(magic)
        if magic == HEADER_COPY:
            after = at + HEADER.size + HEADER.unpack(_at(file, at, HEADER.size).ljust(HEADER.size, b"\0"))[1]
            if after == end or _at(file, after, len(FRAME)) == FRAME:
                at = after
                continue
        number, part, after, cost = read(file, begin, at, end) if read else (0, None, 0, 0)
        effort -= cost
        if part is not None:
            yield number, part
            at = after
        else:
            at = next(_places(file, _MAGICS, at + 1, end), -1)


_Read = tuple[
    int, Stretch | None, int, int
]  # number, part, where the next may begin, bytes that were looked at in vain


def _frame(file: int, begin: int, at: int, end: int) -> _Read:
    """The frame that begins here."""
    numbers, table, size = _head(file, at, end)
    first = at + FRAME_HEAD.size
    found = _at(file, first, table)
    if len(found) < table or head_checksum(*numbers[:3], found) != numbers[3]:
        return 0, None, 0, table
    part, last = _part(first + table, numbers, found), first + 2 * table + size
    part.has_end = _at(file, last, FRAME_HEAD.size) == FRAME_HEAD.pack(FRAME_END, *numbers)
    return numbers[0], part, last + FRAME_HEAD.size if part.has_end else last, 0


def _frame_before(file: int, begin: int, at: int, end: int) -> _Read:
    """The frame that ends here, whose head is damaged."""
    numbers, table, size = _head(file, at, end)
    first = at - table - size
    if first < begin:
        return 0, None, 0, 0
    found = _at(file, at - table, table)
    if head_checksum(*numbers[:3], found) != numbers[3]:
        return 0, None, 0, table
    return numbers[0], _part(first, numbers, found), at + FRAME_HEAD.size, 0


def _head(file: int, at: int, end: int) -> tuple[tuple[int, int, int, int], int, int]:
    """The numbers of a frame's head, and the bytes of its table and of its records and copies."""
    _, number, records, copies, crc = FRAME_HEAD.unpack(_at(file, at, FRAME_HEAD.size).ljust(FRAME_HEAD.size, b"\0"))
    return (number, records, copies, crc), 4 * ((pages(records) + pages(copies)) // WINDOW_PAGE), records + copies


def _part(begin: int, numbers: tuple[int, int, int, int], table: bytes) -> Stretch:
    _, records, copies, _ = numbers
    return Stretch(begin, records, begin + records, copies, True, struct.unpack(f"<{len(table) // 4}I", table))


def _whole_frame(file: int, begin: int, at: int, end: int) -> _Read:
    """The frame of an older layout that begins here, if all of it is whole."""
    _, number, length, expected = WHOLE_FRAME_HEAD.unpack(
        _at(file, at, WHOLE_FRAME_HEAD.size).ljust(WHOLE_FRAME_HEAD.size, b"\0")
    )
    first = at + WHOLE_FRAME_HEAD.size
    if first + length > end or _whole_checksum(number, _at(file, first, length)) != expected:
        return 0, None, 0, min(length, end)
    return number, Stretch(first, length, checked=True), first + length, 0


def _whole_checksum(number: int, records: bytes) -> int:
    return zlib.crc32(records, zlib.crc32(U64.pack(number)))


def _places(file: int, pattern: "re.Pattern[bytes]", at: int, end: int) -> Iterator[int]:
    """The places where a magic stands, from a place on."""
    while at < end and len(block := _at(file, at, BLOCK_BYTES)) >= len(FRAME):
        for match in pattern.finditer(block):
            yield at + match.start()
        at += len(block) - len(FRAME) + 1


def _at(file: int, begin: int, length: int) -> bytes:
    """Bytes of a file, so many, fewer at its end."""
    return os.pread(file, length, begin)
