"""Journals: where a process writes its events so that killing it loses none.

A journal is one file, mapped into memory, appended to by one process. An event is in the page cache when `put` or
`append` returns, with no system call, so it survives SIGKILL of the process; `sync` makes it survive power loss. The
space is reserved with fallocate before it is written, so a full disk is an error here and not a SIGBUS later.

    file    MAGIC, u32 length of header, header (JSON: run, writer, and the layout of every table), records
    record  u32 length, u8 kind, payload, u32 trailer

A string definition (kind STRING) has the payload u32 id, UTF-8 bytes. A VOID record holds nothing. Any other kind is
the index of a table in the header; its payload is a u32 mask of the nullable fields present, then the present fields
in declared order: integers i64, instants i64 (ns), floats f64, booleans u8, strings u32 ids, lists a u32 count and
their items. The trailer is written last and equals the length; a record longer than a page has the CRC-32 of the rest
there, because after power loss its first and last page may be on disk without those between. A reader stops at the
first record that is not whole.

Appending takes no lock, which would cost as much as the event. Between reading `end`, moving it past the new record,
and the one C call that fills it there is no call of a Python function and no jump backward, and CPython switches
threads and runs signal handlers only there, so no other append comes between. That is why those lines look alike
wherever they stand, and why a build without the GIL is refused.
"""

import contextlib
import fcntl
import itertools
import json
import mmap
import os
import struct
import sys
import threading
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import BenchError, Exit
from .events import EVENTS, Event, Instant, Json

MAGIC = b"BENCHJ1\n"
STRING, VOID = 255, 254
PAGE = 4096
FIRST_BYTES = 1 << 18
MOST_GROWTH_BYTES = 1 << 20
POPULATE_WRITE = 23  # MADV_POPULATE_WRITE, Linux 5.14: cheaper than a fault for each page
ROTATE_BYTES = 1 << 26
REMEMBERED_LENGTH = 256  # longer strings (stderr tails) are not worth keeping in memory to define them once
REMEMBERED_STRINGS = 1 << 16

CODES: dict[Any, str] = {
    str: "I",
    Json: "I",
    int: "q",
    Instant: "n",
    float: "d",
    bool: "?",
    list[int]: "*q",
    list[str]: "*I",
}
TYPES = {code: kind for kind, code in CODES.items()}
STRUCT_CODES = {"I": "I", "q": "q", "n": "q", "d": "d", "?": "?"}
KINDS: dict[type[Event], int] = {event: index for index, event in enumerate(EVENTS)}
HEAD = struct.Struct("<IB")
U32 = struct.Struct("<I")


class StoreFull(BenchError):
    """The disk has no room for more events; those before are safe."""

    exit_code = Exit.INTERNAL


class Closed(BenchError):
    """The journal was closed meanwhile."""


class NeverBegun(BenchError):
    """Its writer was killed before the header was whole, so nothing was ever acknowledged in it."""


class Unreadable(BenchError):
    """It is damaged, or a newer bench's."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How a table's rows lie in a journal, as its header says."""

    table: str
    version: int
    fields: tuple[tuple[str, str, bool], ...]  # name, code, nullable

    def format(self, mask: int, lengths: tuple[int, ...]) -> str:
        """The struct format of a row with this mask and these list lengths."""
        parts, lists, bit = ["<IBI"], iter(lengths), 1
        for _, code, nullable in self.fields:
            present = not nullable or mask & bit
            if nullable:
                bit <<= 1
            if present:
                parts.append(f"I{next(lists)}{code[1]}" if code[0] == "*" else STRUCT_CODES[code])
        return "".join(parts) + "I"


def layouts() -> list[Layout]:
    """The layout of every table as declared now; the run is said once, in the header."""
    return [
        Layout(
            event.TABLE,
            event.VERSION,
            tuple((f.name, CODES[f.type], f.nullable) for f in event.fields() if f.name != "run_id"),
        )
        for event in EVENTS
    ]


LAYOUTS = layouts()


class Journal:
    """The journal of one process."""

    def __init__(self, path: Path, header: Mapping[str, Any], strings: Mapping[str, int] | None = None) -> None:
        """Create the file, lock it for as long as this process lives, and reserve its first stretch.

        Args:
            path: A file that does not exist yet.
            header: What holds for every event: at least run_id and writer.
            strings: Strings already numbered by a predecessor; they keep their numbers.

        Raises:
            StoreFull: There is no space on the disk.
        """
        if not getattr(sys, "_is_gil_enabled", lambda: True)():
            raise BenchError("recording needs a Python build with the GIL")
        self.path = path
        self.lock = threading.RLock()  # for growing and closing
        self.strings = dict(strings or {})
        self._ids = itertools.count(max(self.strings.values(), default=0) + 1)
        self._structs: dict[tuple[int, int, tuple[int, ...]], struct.Struct] = {}
        text = json.dumps({**header, "tables": [[x.table, x.version, x.fields] for x in LAYOUTS]}).encode()
        with _disk_errors(path):
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX)
                os.posix_fallocate(self._file, 0, FIRST_BYTES)
                self.map = mmap.mmap(self._file, FIRST_BYTES)
            except OSError:
                os.close(self._file)
                path.unlink()
                raise
        self.limit = FIRST_BYTES  # appending past it is the slow path: grow, or find the journal closed
        self.map[12 : 12 + len(text)] = text
        U32.pack_into(self.map, 8, len(text))
        self.map[:8] = MAGIC
        self.end = 12 + len(text)
        for string, number in self.strings.items():
            self._define(string, number)

    def grow(self, length: int) -> None:
        """Make room for `length` more bytes.

        Raises:
            StoreFull: There is no space on the disk.
            Closed: The journal is closed.
        """
        with self.lock:
            if self.limit < 0:
                raise Closed(f"{self.path} is closed")
            if self.end + length <= self.limit:
                return
            limit, more = self.limit, max(min(self.limit, MOST_GROWTH_BYTES), length)
            with _disk_errors(self.path):
                os.posix_fallocate(self._file, limit, more)
                if self.limit == limit:  # after any call a signal handler may record something, and grow the map
                    self.map.resize(limit + more)
            with contextlib.suppress(OSError, ValueError):
                self.map.madvise(POPULATE_WRITE, limit // PAGE * PAGE, more // PAGE * PAGE)
            if self.limit == limit:
                self.limit = limit + more

    def string(self, text: str) -> int:
        """The number of a string in this journal, defined now if it is new."""
        number = self.strings.get(text)
        if number is None:
            number = next(self._ids)
            self._define(text, number)
            if len(text) <= REMEMBERED_LENGTH and len(self.strings) < REMEMBERED_STRINGS:
                self.strings[text] = number
        return number

    def _define(self, text: str, number: int) -> None:
        encoded = text.encode("utf-8", "backslashreplace")  # of a file name that is no UTF-8, say
        self.put(HEAD.pack(HEAD.size + 8 + len(encoded), STRING) + U32.pack(number) + encoded)

    def struct(self, kind: int, mask: int, lengths: tuple[int, ...] = ()) -> struct.Struct:
        """The packer of one shape of row, made once."""
        key = (kind, mask, lengths)
        packer = self._structs.get(key)
        if packer is None:
            if len(self._structs) > 10_000:  # lists of very many lengths: forget rather than grow
                self._structs.clear()
            packer = self._structs[key] = struct.Struct(LAYOUTS[kind].format(mask, lengths))
        return packer

    def append(self, kind: int, mask: int, lengths: tuple[int, ...], values: list[Any]) -> None:
        """Append one row: `values` are the present fields flattened, strings as numbers.

        Raises:
            StoreFull: There is no space on the disk; nothing of the row was written.
            BenchError: A number does not fit its column; nothing of the row was written.
        """
        packer = self.struct(kind, mask, lengths)
        length = packer.size
        try:
            if length > PAGE:
                self.put(packer.pack(length, kind, mask, *values, 0)[:-4])
                return
            while True:
                offset = self.end
                end = offset + length
                if end <= self.limit:
                    break
                self.grow(length)
            self.end = end
            packer.pack_into(self.map, offset, length, kind, mask, *values, length)
        except struct.error as error:
            if length <= PAGE:
                self.void(offset, length)
            raise BenchError(
                f"cannot record in table {LAYOUTS[kind].table}: {error}. Integers must fit 64 bits."
            ) from None

    def put(self, body: bytes) -> None:
        """Append one record given whole but for its trailer."""
        length = len(body) + 4
        trailer = length if length <= PAGE else zlib.crc32(body)
        packer = struct.Struct(f"<{len(body)}sI")  # packs in order, so the trailer is written after the body
        while True:
            offset = self.end
            end = offset + length
            if end <= self.limit:
                break
            self.grow(length)
        self.end = end
        packer.pack_into(self.map, offset, body, trailer)

    def void(self, offset: int, length: int) -> None:
        """Fill the place of a row that turned out not to fit its columns."""
        struct.pack_into(f"<IB{length - HEAD.size - 4}xI", self.map, offset, length, VOID, length)

    def add(self, event: Event) -> None:
        """Append any event, whatever its table."""
        kind = KINDS[type(event)]
        mask, bit, lengths, values = 0, 1, [], []
        for name, code, nullable in LAYOUTS[kind].fields:
            value = getattr(event, name)
            if nullable:
                if value is not None:
                    mask |= bit
                bit <<= 1
            if value is None:
                if not nullable:
                    raise BenchError(f"{type(event).__name__}.{name} must not be None")
            elif code[0] == "*":
                lengths.append(len(value))
                values += [len(value), *(map(self.string, value) if code[1] == "I" else value)]
            elif code == "I":
                values.append(self.string(value))
            else:
                values.append(value * 1000 if code == "n" else value)
        self.append(kind, mask, tuple(lengths), values)

    def sync(self) -> None:
        """Return when everything appended so far would survive power loss (fdatasync writes mapped pages too)."""
        if self.limit >= 0:
            os.fdatasync(self._file)

    def close(self) -> None:
        """Give the unused space back and unlock the file; anyone may seal it now."""
        with self.lock:
            if self.limit < 0:
                return
            self.limit = -1
            self.map.close()
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self.end)
            os.close(self._file)

    def abandon(self) -> None:
        """In a forked child: let go of the parent's journal without touching it."""
        self.lock = threading.RLock()  # another thread of the parent may have held it
        self.limit = -1
        self.map.close()
        os.close(self._file)


@contextlib.contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreFull(
            f"cannot write events to {path.parent}: {error.strerror}. What was recorded before is safe; "
            "free some space, or choose another store with BENCH_STORE."
        ) from error


@dataclass(slots=True)
class Contents:
    """What a journal holds, up to its last whole record."""

    header: dict[str, Any]
    rows: dict[str, dict[str, list[Any]]]  # table -> column -> values
    layouts: dict[str, Layout]  # table -> how its writer declared it
    whole_bytes: int  # where the last whole record ends


def read(path: Path) -> Contents:
    """Read a journal, whatever byte its tail was cut at.

    Raises:
        NeverBegun: Not even the header is whole, so nothing was ever recorded in it.
        Unreadable: What it says contradicts itself.
    """
    data = path.read_bytes()
    if data[:8] != MAGIC or len(data) < 12 + U32.unpack_from(data, 8)[0]:
        raise NeverBegun(f"{path} is no whole journal: its header is missing")
    start = 12 + U32.unpack_from(data, 8)[0]
    try:
        header = json.loads(data[12:start])
        tables = [Layout(table, version, tuple(map(tuple, fields))) for table, version, fields in header.pop("tables")]
        return _Reader(data, start, header, tables).contents()
    except (KeyError, TypeError, ValueError, struct.error) as error:
        raise Unreadable(f"is damaged ({type(error).__name__}: {error}). Restore it from a copy.") from error


class _Reader:
    """Decodes records into columns."""

    def __init__(self, data: bytes, start: int, header: dict[str, Any], tables: list[Layout]) -> None:
        self.data, self.position, self.header, self.tables = data, start, header, tables
        self.strings: dict[int, str] = {}
        self.rows: dict[str, dict[str, list[Any]]] = {}
        self.structs: dict[str, struct.Struct] = {}

    def contents(self) -> Contents:
        while length := self._whole():
            if self.data[self.position + 4] < len(self.tables) and length <= PAGE and self._repeats(length):
                self.position += length * self._decode_alike(length)
            elif self._decode(length):
                self.position += length
            else:
                break
        return Contents(self.header, self.rows, {layout.table: layout for layout in self.tables}, self.position)

    def _repeats(self, length: int) -> bool:
        """Whether the next record has the same length, kind and mask, as in a hot loop most have."""
        at, size = self.position, HEAD.size + 4
        return self.data[at : at + size] == self.data[at + length : at + length + size]

    def _decode_alike(self, length: int) -> int:
        """Decode whole records of one shape together, at numpy's speed; returns how many (at least 1)."""
        import numpy as np

        data, at = self.data, self.position
        layout = self.tables[data[at + 4]]
        (mask,) = U32.unpack_from(data, at + HEAD.size)
        names = ["_length", "_kind", "_mask"]
        formats: list[Any] = ["<u4", "u1", "<u4"]
        offsets = [0, 4, 5]
        offset, fixed = 9, ["_length", "_kind", "_mask", "_trailer"]
        absent, bit = [], 1
        for name, code, nullable in layout.fields:
            present = not nullable or mask & bit
            if nullable:
                bit <<= 1
            if not present:
                absent.append(name)
                continue
            shape = ""
            if code[0] == "*":
                (count,) = U32.unpack_from(data, at + offset)
                names.append(f"_count_{name}")
                fixed.append(f"_count_{name}")
                formats.append("<u4")
                offsets.append(offset)
                offset += 4
                shape = f"({count},)"
            names.append(name)
            dtype = np.dtype(shape + {"I": "<u4", "q": "<i8", "n": "<i8", "d": "<f8", "?": "?"}[code[-1]])
            formats.append(dtype)
            offsets.append(offset)
            offset += dtype.itemsize
        names.append("_trailer")
        formats.append("<u4")
        offsets.append(offset)
        record = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": length})
        rows = np.frombuffer(data, record, min((len(data) - at) // length, 1 << 16), at)
        alike = np.logical_and.reduce([rows[name] == rows[name][0] for name in fixed])
        rows = rows[: len(rows) if alike.all() else int(alike.argmin())]
        columns = self._columns(layout)
        for name, code, _ in layout.fields:
            if name in absent:
                columns[name] += [None] * len(rows)
            elif code == "I":
                columns[name] += [self.strings[number] for number in rows[name].tolist()]
            elif code == "*I":
                columns[name] += [[self.strings[number] for number in row] for row in rows[name].tolist()]
            else:
                columns[name] += (rows[name] // 1000 if code == "n" else rows[name]).tolist()
        return len(rows)

    def _columns(self, layout: Layout) -> dict[str, list[Any]]:
        columns = self.rows.get(layout.table)
        if columns is None:
            columns = self.rows[layout.table] = {name: [] for name, _, _ in layout.fields}
        return columns

    def _whole(self) -> int:
        """The length of the record here if it is whole, else 0."""
        data, at = self.data, self.position
        if at + HEAD.size > len(data):
            return 0
        (length,) = U32.unpack_from(data, at)
        if length < HEAD.size + 4 or at + length > len(data):
            return 0
        (trailer,) = U32.unpack_from(data, at + length - 4)
        want = length if length <= PAGE else zlib.crc32(data[at : at + length - 4])
        return length if trailer == want else 0

    def _decode(self, length: int) -> bool:
        data, at = self.data, self.position
        kind = data[at + 4]
        if kind == VOID:
            return True
        if kind == STRING:
            (number,) = U32.unpack_from(data, at + HEAD.size)
            self.strings[number] = data[at + HEAD.size + 4 : at + length - 4].decode("utf-8", "backslashreplace")
            return True
        if kind >= len(self.tables):
            return False
        layout = self.tables[kind]
        (mask,) = U32.unpack_from(data, at + HEAD.size)
        columns = self._columns(layout)
        offset, bit = at + HEAD.size + 4, 1
        for name, code, nullable in layout.fields:
            present = not nullable or mask & bit
            if nullable:
                bit <<= 1
            value: Any = None
            if present:
                count = 1
                if code[0] == "*":
                    (count,) = U32.unpack_from(data, offset)
                    offset += 4
                packer = self._struct(f"<{count}{STRUCT_CODES[code[-1]]}")
                items = packer.unpack_from(data, offset)
                offset += packer.size
                if code[-1] == "I":
                    items = tuple(self.strings[item] for item in items)
                value = list(items) if code[0] == "*" else items[0] // 1000 if code == "n" else items[0]
            columns[name].append(value)
        return True

    def _struct(self, text: str) -> struct.Struct:
        packer = self.structs.get(text)
        if packer is None:
            packer = self.structs[text] = struct.Struct(text)
        return packer
