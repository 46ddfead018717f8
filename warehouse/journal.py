"""Journals: files to which a process appends its events, so that killing it loses none.

A journal is one file of one process. Events go into its window, a stretch of the file mapped into memory: an event is
in the page cache when `put` or `append` returns, with no system call, so it survives SIGKILL of the process. A full
window is written behind the file's end in one piece and used again: mapping ever new pages would cost more than the
events. `sync` makes what is there survive power loss. The window is reserved when the file is made and the rest is
written, so a full disk is an error and not a SIGBUS.

    file    MAGIC, u32 length of header, header (JSON: run, writer, the window's place, the layout of every table)
            window: u64 base, records, zeros; it belongs at `base`, over whatever is there
            records
    record  u32 length, u8 kind, payload, u32 trailer

A string definition (kind STRING) has the payload u32 id, UTF-8 bytes. A VOID record holds nothing. Any other kind is
the index of a layout in the header; its payload is a u32 mask of the nullable fields present, then the present fields
in the layout's order: integers i64 (u16 where it says so), instants i64 (ns), floats f64, booleans u8, strings u32
ids, lists a u32 count and their items. Integers and floats that a layout calls optional always have their place; where
there is none it holds ABSENT. The trailer is written last and equals the length; a record longer than a page
has the CRC-32 of the rest there, because after power loss its first and last page may be on disk without those
between. A reader stops at the first record that is not whole.

Appending takes no lock, which would cost as much as the event. Between reading `end`, moving it past the new record,
and the one C call that fills it there is no call of a Python function and no jump backward, and CPython switches
threads and runs signal handlers only there, so no other append comes between. That is why those lines look alike
wherever wherever they stand, and why a build without the GIL is refused.

This file is long because writer and reader of the format belong together.
"""

import contextlib
import dataclasses
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
from .events import EVENTS, Event, Instant, Json, ScheduleChunk

MAGIC = b"BENCHJ1\n"
STRING, VOID = 255, 254
PAGE = 4096
WINDOW_BYTES = 1 << 18
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
TYPES = {code: kind for kind, code in CODES.items()} | {"*H": list[int], "Q": int, "D": float}
STRUCT_CODES = {"I": "I", "q": "q", "H": "H", "n": "q", "d": "d", "?": "?", "Q": "q", "D": "d"}
NUMPY_CODES = {"I": "<u4", "q": "<i8", "H": "<u2", "n": "<i8", "d": "<f8", "?": "?", "Q": "<i8", "D": "<f8"}
KIND_OF_EVENT: dict[type[Event], int] = {event: index for index, event in enumerate(EVENTS)}
HEAD = struct.Struct("<IB")
U32 = struct.Struct("<I")
U64 = struct.Struct("<Q")

# What stands for no number (codes Q and D). The float is a NaN that no arithmetic gives: a measured NaN is another.
ABSENT_INT = -(1 << 63)
ABSENT_BITS = 0x7FF8_0000_BE2C_4A11
(ABSENT_FLOAT,) = struct.unpack("<d", U64.pack(ABSENT_BITS))
ABSENT = {"Q": struct.pack("<q", ABSENT_INT), "D": U64.pack(ABSENT_BITS)}


class StoreFull(BenchError):
    """The disk has no room for more events; those before are safe."""

    exit_code = Exit.INTERNAL


class Closed(BenchError):
    """The journal was closed meanwhile."""


class NeverBegun(BenchError):
    """The writer was killed before the header was complete, so no event was ever acknowledged."""


class Unreadable(BenchError):
    """The journal is damaged, or was written by a newer bench."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a table's rows in a journal, from its header."""

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

# The bulk of a server's events are scheduler steps: with chunks of 16 bits they take half the bytes, and with a place for
# every field that a server may know nobody needs to look which are there.
NARROW_CHUNK = len(LAYOUTS)
_SERVERS = ("batch_id", "schedule_ms", "model_run_ms", "step_ms", "waiting", "running", "prefill", "decode", "token_budget",
            "kv_cache_usage")  # fmt: skip


def _narrow(name: str, code: str, nullable: bool) -> tuple[str, str, bool]:
    if name in _SERVERS:
        return name, code.upper(), False
    return name, "*H" if name == "chunk_sizes" else code, nullable


LAYOUTS.append(
    dataclasses.replace(
        LAYOUTS[KIND_OF_EVENT[ScheduleChunk]],
        fields=tuple(_narrow(*field) for field in LAYOUTS[KIND_OF_EVENT[ScheduleChunk]].fields),
    )
)


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
        self.lock = threading.RLock()  # for draining and closing
        self.strings = dict(strings or {})
        self._ids = itertools.count(max(self.strings.values(), default=0) + 1)
        self._structs: dict[tuple[int, int, tuple[int, ...]], struct.Struct] = {}
        tables = [[x.table, x.version, x.fields] for x in LAYOUTS]
        text = json.dumps({**header, "tables": tables, "window": WINDOW_BYTES}).encode()
        self._window = -(-(12 + len(text)) // PAGE) * PAGE
        self._start = self._window + U64.size  # of the window's records
        self.end = self._start  # of the window's last record
        self.limit = self._base = self._window + WINDOW_BYTES  # past it is the slow path: drain, or find it closed
        with _disk_errors(path):
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX)
                os.posix_fallocate(self._file, 0, self.limit)
                self.map = mmap.mmap(self._file, self.limit)
            except OSError:
                os.close(self._file)
                path.unlink()
                raise
        self._zeros = bytes(self.limit - self._start)
        U64.pack_into(self.map, self._window, self._base)
        self.map[12 : 12 + len(text)] = text
        U32.pack_into(self.map, 8, len(text))
        self.map[:8] = MAGIC
        for string, number in self.strings.items():
            self._define(string, number)

    @property
    def size_bytes(self) -> int:
        """Bytes appended so far."""
        return self._base - len(self._zeros) - self._start + self.end - self._start

    def drain(self, extra: bytes = b"") -> None:
        """Write the window, and a record too large for it, behind the file's end, and begin the window anew.

        Appends of other threads and of signal handlers may come between; the window is begun anew only if none did.
        Killed anywhere, the reader finds every record once: the window counts, at its base, until its first length is 0.

        Raises:
            StoreFull: There is no space on the disk; the window stays as it is.
            Closed: The journal is closed.
        """
        with self.lock:
            while True:
                if self.limit < 0:
                    raise Closed(f"{self.path} is closed")
                end, base = self.end, self._base
                blob = self.map[self._start : end] + extra
                with _disk_errors(self.path):
                    _write_all(self._file, blob, base)
                start, window, zeros = self._start, self._window, self._zeros
                after = base + len(blob)
                new_base = U64.pack(after)
                if self.end == end and self._base == base:
                    self.map[start : start + 4] = b"\0\0\0\0"
                    self.map[start:] = zeros
                    self.map[window:start] = new_base
                    self._base = after
                    self.end = start
                    return

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
            Closed: The journal is closed.
            BenchError: A number does not fit its column; nothing of the row was written.
        """
        packer = self.struct(kind, mask, lengths)
        length = packer.size
        if length > PAGE:
            try:
                body = packer.pack(length, kind, mask, *values, 0)[:-4]
            except Exception as error:  # whatever a value's own __index__ or __float__ raises
                raise _misfit(kind, error) from None
            self.put(body)
            return
        while True:
            offset = self.end
            end = offset + length
            if end <= self.limit:
                break
            self.drain()
        self.end = end
        try:
            packer.pack_into(self.map, offset, length, kind, mask, *values, length)
        except BaseException as error:
            self.void(offset, length)
            if isinstance(error, Exception):
                raise _misfit(kind, error) from None
            raise

    def put(self, body: bytes) -> None:
        """Append one record that is complete except for its trailer."""
        length = len(body) + 4
        trailer = length if length <= PAGE else zlib.crc32(body)
        if length > len(self._zeros):
            self.drain(body + U32.pack(trailer))
            return
        packer = struct.Struct(f"<{len(body)}sI")  # packs in order, so the trailer is written after the body
        while True:
            offset = self.end
            end = offset + length
            if end <= self.limit:
                break
            self.drain()
        self.end = end
        packer.pack_into(self.map, offset, body, trailer)

    def void(self, offset: int, length: int) -> None:
        """Fill the place of a row whose values did not fit its columns; otherwise readers would stop there."""
        if self.limit >= 0:
            struct.pack_into(f"<IB{length - HEAD.size - 4}xI", self.map, offset, length, VOID, length)

    def add(self, event: Event) -> None:
        """Append any event, whatever its table.

        Raises:
            StoreFull: There is no space on the disk.
            Closed: The journal is closed.
            BenchError: A value does not fit its column.
        """
        kind = KIND_OF_EVENT[type(event)]
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
                continue
            try:
                if code[0] == "*":
                    lengths.append(len(value))
                    values += [len(value), *(map(self.string, value) if code[1] == "I" else value)]
                elif code == "I":
                    values.append(self.string(value))
                else:
                    values.append(value * 1000 if code == "n" else value)
            except (AttributeError, TypeError) as error:
                raise BenchError(f"cannot record {value!r} as {type(event).__name__}.{name}: {error}") from None
        self.append(kind, mask, tuple(lengths), values)

    def sync(self) -> None:
        """Return when everything appended so far would survive power loss.

        The window is drained first: its pages may reach the disk in any order with those written later.
        """
        with contextlib.suppress(Closed):
            self.drain()
        with contextlib.suppress(FileNotFoundError):  # sealed, which made it durable
            file = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fdatasync(file)
            finally:
                os.close(file)

    def close(self) -> None:
        """Write the window and unlock the file; anyone may seal it now."""
        with self.lock:
            if self.limit < 0:
                return
            with contextlib.suppress(StoreFull):  # then it is found in the window
                self.drain()
            self.limit = -1
            self.map.close()
            os.close(self._file)

    def abandon(self) -> None:
        """In a forked child: close the parent's journal without writing to it."""
        self.lock = threading.RLock()  # another thread of the parent may have held it
        self.limit = -1
        self.map.close()
        os.close(self._file)


def _misfit(kind: int, error: Exception) -> BenchError:
    return BenchError(f"cannot record in table {LAYOUTS[kind].table}: {error}. Integers must fit 64 bits.")


def _write_all(file: int, blob: bytes, offset: int) -> None:
    written = 0
    while written < len(blob):
        written += os.pwrite(file, blob[written:] if written else blob, offset + written)


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
    """The contents of a journal, up to its last complete record."""

    header: dict[str, Any]
    rows: dict[str, dict[str, list[Any]]]  # table -> column -> values
    layouts: dict[str, Layout]  # table -> how its writer declared it


def read(path: Path) -> Contents:
    """Read a journal, wherever its end was cut.

    Raises:
        NeverBegun: Not even the header is whole, so nothing was ever recorded in it.
        Unreadable: What it says contradicts itself.
    """
    data = path.read_bytes()
    if data[:8] != MAGIC or len(data) < 12 or len(data) < 12 + U32.unpack_from(data, 8)[0]:
        raise NeverBegun(f"{path} is no whole journal: its header is missing")
    start = 12 + U32.unpack_from(data, 8)[0]
    try:
        header = json.loads(data[12:start])
        tables = [Layout(table, version, tuple(map(tuple, fields))) for table, version, fields in header.pop("tables")]
        window = -(-start // PAGE) * PAGE
        behind = window + header.pop("window")
        reader = _Reader(tables)
        (base,) = U64.unpack_from(data.ljust(behind, b"\0"), window)
        inside = data[window + U64.size : behind]
        in_use = inside[:4].strip(b"\0") != b""
        reader.decode(data[behind : base if in_use else len(data)])
        reader.decode(inside)
        return Contents(header, reader.rows, {layout.table: layout for layout in tables})
    except (KeyError, TypeError, ValueError, struct.error) as error:
        raise Unreadable(f"is damaged ({type(error).__name__}: {error}). Restore it from a copy.") from error


def run_of(path: Path) -> str | None:
    """The run of a journal; None if it is sealed already, or its header is incomplete."""
    with contextlib.suppress(OSError, ValueError, KeyError, struct.error), path.open("rb") as file:
        magic, (length,) = file.read(8), U32.unpack(file.read(4))
        if magic == MAGIC:
            return str(json.loads(file.read(length))["run_id"])
    return None


class _Reader:
    """Decodes records into columns."""

    def __init__(self, tables: list[Layout]) -> None:
        self.tables = tables
        self.data, self.position = b"", 0
        self.strings: dict[int, str] = {}
        self.rows: dict[str, dict[str, list[Any]]] = {}
        self.structs: dict[str, struct.Struct] = {}

    def decode(self, data: bytes) -> None:
        """Take the records of one stretch, up to the last whole one."""
        self.data, self.position = data, 0
        while length := self._whole():
            if self.data[self.position + 4] < len(self.tables) and length <= PAGE and self._repeats(length):
                self.position += length * self._decode_alike(length)
            elif self._decode(length):
                self.position += length
            else:
                break

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
            dtype = np.dtype(shape + NUMPY_CODES[code[-1]])
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
            elif code in "QD":
                values = rows[name].astype(object)
                values[rows[name].copy().view("<i8") == (ABSENT_INT if code == "Q" else ABSENT_BITS)] = None
                columns[name] += values.tolist()
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
                if code in ABSENT and data[offset - packer.size : offset] == ABSENT[code]:
                    items = (None,)
                value = list(items) if code[0] == "*" else items[0] // 1000 if code == "n" else items[0]
            columns[name].append(value)
        return True

    def _struct(self, text: str) -> struct.Struct:
        packer = self.structs.get(text)
        if packer is None:
            packer = self.structs[text] = struct.Struct(text)
        return packer
