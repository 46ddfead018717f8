"""Journals: where a process writes its events so that killing it loses none.

A journal is one file, mapped into memory, appended to by one process. An event is in the page cache when `append`
returns, with no system call, so it survives SIGKILL of the process; `sync` makes it survive power loss. The space is
reserved with fallocate before it is written, so a full disk is an error here and not a SIGBUS later.

    file    MAGIC, u32 length of header, header (JSON: run, writer, and the layout of every table), records
    record  u32 length, u8 kind, payload, u32 trailer

A string definition (kind STRING) has the payload u32 id, UTF-8 bytes. Any other kind is the index of a table in the
header; its payload is a u32 mask of the nullable fields present, then the present fields in declared order: integers
and instants i64, floats f64, booleans u8, strings u32 ids, lists a u32 count and their items.
The trailer is written last and equals the length; a record longer than a page has the CRC-32 of its payload there,
because after power loss its first and last page may be on disk without those between. A reader stops at the first
record that is not whole.
"""

import contextlib
import fcntl
import json
import mmap
import os
import struct
import threading
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import BenchError, Exit
from .events import EVENTS, Event, Instant, Json

MAGIC = b"BENCHJ1\n"
STRING = 255
PAGE = 4096
FIRST_BYTES = 1 << 18
MOST_GROWTH_BYTES = 1 << 23
ROTATE_BYTES = 1 << 26
REMEMBERED_LENGTH = 256  # longer strings (stderr tails) are not worth keeping in memory to define them once
REMEMBERED_STRINGS = 1 << 16

CODES: dict[Any, str] = {str: "I", Json: "I", int: "q", Instant: "q", float: "d", bool: "?", list[int]: "*q", list[str]: "*I"}
KINDS: dict[type[Event], int] = {event: index for index, event in enumerate(EVENTS)}
HEAD = struct.Struct("<IB")
U32 = struct.Struct("<I")


class StoreFull(BenchError):
    """The disk has no room for more events; those before are safe."""

    exit_code = Exit.INTERNAL


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
                parts.append(f"I{next(lists)}{code[1]}" if code[0] == "*" else code)
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
    """The journal of one process. Its methods want `lock` held, but for `open` and `close`."""

    def __init__(self, path: Path, header: Mapping[str, Any], strings: Mapping[str, int] | None = None) -> None:
        """Create the file, lock it for as long as this process lives, and reserve its first stretch.

        Args:
            path: A file that does not exist yet.
            header: What holds for every event: at least run_id and writer.
            strings: Strings already numbered by a predecessor; they keep their numbers.
        """
        self.lock = threading.RLock()
        self.path = path
        self.header = header
        self.strings: dict[str, int] = {}
        self._next_id = 1
        self._structs: dict[tuple[int, int, tuple[int, ...]], struct.Struct] = {}
        with _disk_errors(path):
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            fcntl.flock(self._file, fcntl.LOCK_EX)
            os.posix_fallocate(self._file, 0, FIRST_BYTES)
        self.map = mmap.mmap(self._file, FIRST_BYTES)
        self.size, self.end = FIRST_BYTES, 0
        text = json.dumps({**header, "tables": [[x.table, x.version, x.fields] for x in LAYOUTS]}).encode()
        self.reserve(len(MAGIC) + 4 + len(text))
        self.map[12 : 12 + len(text)] = text
        U32.pack_into(self.map, 8, len(text))
        self.map[:8] = MAGIC
        self.end = 12 + len(text)
        for text_, number in (strings or {}).items():
            self._define(text_, number)
            self.strings[text_] = number

    def reserve(self, length: int) -> None:
        """Make room for `length` more bytes.

        Raises:
            StoreFull: There is no space on the disk.
        """
        if self.end + length <= self.size:
            return
        size = max(self.size + min(self.size, MOST_GROWTH_BYTES), self.end + length + PAGE)
        with _disk_errors(self.path):
            os.posix_fallocate(self._file, self.size, size - self.size)
        self.map.resize(size)
        self.size = size

    def string(self, text: str) -> int:
        """The number of a string in this journal, defined now if it is new."""
        number = self.strings.get(text)
        if number is not None:
            return number
        number = self._next_id
        self._define(text, number)
        if len(text) <= REMEMBERED_LENGTH and len(self.strings) < REMEMBERED_STRINGS:
            self.strings[text] = number
        return number

    def _define(self, text: str, number: int) -> None:
        payload = U32.pack(number) + text.encode("utf-8", "surrogatepass")
        length = HEAD.size + len(payload) + 4
        self.reserve(length)
        HEAD.pack_into(self.map, self.end, length, STRING)
        self.map[self.end + HEAD.size : self.end + length - 4] = payload
        U32.pack_into(self.map, self.end + length - 4, _trailer(length, payload))
        self.end += length
        self._next_id = max(self._next_id, number + 1)

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
            BenchError: A number does not fit 64 bits; nothing of the row was written.
        """
        packer = self.struct(kind, mask, lengths)
        length = packer.size
        self.reserve(length)
        offset = self.end
        try:
            packer.pack_into(self.map, offset, length, kind, mask, *values, length)
        except struct.error as error:
            self.map[offset : offset + length] = bytes(length)
            raise BenchError(f"cannot record in table {LAYOUTS[kind].table}: {error}. Integers must fit 64 bits.") from None
        if length > PAGE:
            U32.pack_into(self.map, offset + length - 4, zlib.crc32(self.map[offset + HEAD.size : offset + length - 4]))
        self.end = offset + length

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
            else:
                values.append(self.string(value) if code == "I" else value)
        self.append(kind, mask, tuple(lengths), values)

    def sync(self) -> None:
        """Return when everything appended so far would survive power loss (fdatasync writes mapped pages too)."""
        os.fdatasync(self._file)

    def close(self) -> None:
        """Give the unused space back and unlock the file; anyone may seal it now."""
        with self.lock, contextlib.suppress(ValueError, OSError):
            self.map.close()
            os.ftruncate(self._file, self.end)
            os.close(self._file)

    def abandon(self) -> None:
        """In a forked child: let go of the parent's journal without touching it."""
        with contextlib.suppress(ValueError, OSError):
            self.map.close()
            os.close(self._file)


def _trailer(length: int, payload: bytes) -> int:
    return length if length <= PAGE else zlib.crc32(payload)


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
    whole_bytes: int  # where the last whole record ends


def read(path: Path) -> Contents:
    """Read a journal, whatever byte its tail was cut at.

    Raises:
        BenchError: Not even the header is whole, so nothing was ever recorded in it.
    """
    data = path.read_bytes()
    if data[:8] != MAGIC or len(data) < 12 or len(data) < 12 + U32.unpack_from(data, 8)[0]:
        raise BenchError(f"{path} is no whole journal: its header is missing")
    start = 12 + U32.unpack_from(data, 8)[0]
    header = json.loads(data[12:start])
    tables = [Layout(table, version, tuple(map(tuple, fields))) for table, version, fields in header.pop("tables")]
    return _Reader(data, start, header, tables).contents()


class _Reader:
    """Decodes records into columns."""

    def __init__(self, data: bytes, start: int, header: dict[str, Any], tables: list[Layout]) -> None:
        self.data, self.position, self.header, self.tables = data, start, header, tables
        self.strings: dict[int, str] = {}
        self.rows: dict[str, dict[str, list[Any]]] = {}
        self.structs: dict[str, struct.Struct] = {}

    def contents(self) -> Contents:
        while length := self._whole():
            if self.data[self.position + 4] != STRING and length <= PAGE and self._repeats(length):
                self.position += length * self._decode_alike(length)
            elif self._decode(length):
                self.position += length
            else:
                break
        return Contents(self.header, self.rows, self.position)

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
        names, formats, offsets = ["_length", "_kind", "_mask"], ["<u4", "u1", "<u4"], [0, 4, 5]
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
            dtype = np.dtype(shape + {"I": "<u4", "q": "<i8", "d": "<f8", "?": "?"}[code[-1]])
            formats.append(dtype)  # type: ignore[arg-type]
            offsets.append(offset)
            offset += dtype.itemsize
        names.append("_trailer")
        formats.append("<u4")
        offsets.append(offset)
        record = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": length})  # type: ignore[call-overload]
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
                columns[name] += rows[name].tolist()
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
        payload = data[at + HEAD.size : at + length - 4] if length > PAGE else b""
        return length if trailer == _trailer(length, payload) else 0

    def _decode(self, length: int) -> bool:
        data, at = self.data, self.position
        kind = data[at + 4]
        if kind == STRING:
            (number,) = U32.unpack_from(data, at + HEAD.size)
            self.strings[number] = data[at + HEAD.size + 4 : at + length - 4].decode("utf-8", "surrogatepass")
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
                packer = self._struct(f"<{count}{code[-1]}")
                items = packer.unpack_from(data, offset)
                offset += packer.size
                if code[-1] == "I":
                    items = tuple(self.strings[item] for item in items)
                value = list(items) if code[0] == "*" else items[0]
            columns[name].append(value)
        return True

    def _struct(self, text: str) -> struct.Struct:
        packer = self.structs.get(text)
        if packer is None:
            packer = self.structs[text] = struct.Struct(text)
        return packer
