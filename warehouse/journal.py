"""Journals: files to which a process appends its events, so that killing it loses none.

A journal is one file of one process. Events go into one of two windows, stretches of the file that are mapped into memory:
an event is in the page cache when `add` returns, with no system call, so it survives SIGKILL of the process. A full window is
written behind the file's end as a frame, with checksums, while events go into the other window; then it is used again,
because mapping ever new pages would cost more than the events. `sync` makes what is there survive power loss. Header and
windows are reserved when the file is made and frames are written by system calls, so a full disk is an error and not a SIGBUS.

    file    MAGIC, u32 length and u32 CRC-32 of the header, header (JSON, compressed: run, writer, sizes of the windows and of
            their copies, the layout of every table), zeros up to a page
            two windows: copies, zeros; u64 number, its complement, records, FILL
            header again, with HEADER_COPY for MAGIC; frames, and the header once more before each 64th
    frame   FRAME, u64 number, u32 bytes of records and u32 of copies, u32 CRC-32 of these numbers and the table
            table: u32 CRC-32 of each page of the records, then of the copies
            records, copies
            table, and all of the head again with FRAME_END for FRAME
    record  u32 length, u8 kind, payload, u32 trailer

A string definition (kind STRING) has the payload u32 id, UTF-8 bytes. Any other kind is the index of a layout in the header;
its payload is a mask of the nullable fields present (u32; u64 where a layout has more than 32 of them), then the present fields
in the layout's order: integers i64 (u16 where it says so), instants i64 (ns), floats f64, booleans u8, strings u32 ids, lists a
u32 count and their items. Integers and floats that a layout calls optional may have their place where there is none; then it
holds ABSENT. The trailer equals the length; a record longer than a page has the CRC-32 of the rest there. It tells whether a
record in a window is whole; the values in a window of a process that was killed have no other check. Zeros where its last
records were, which no trailer tells, stand before FILL.

Damage stays where it is. A frame defines the texts that its records name. Copies are a second time what many rows depend on:
these definitions, the run and the cases; so no damaged page takes them all. Each page has a checksum, the table stands on both
sides of the pages, the header elsewhere again. `journals` finds records between damaged ones by their trailers.

Windows and frames are numbered in the order in which their records were written, without gaps. A window whose number a frame
has was written behind already and counts only where the frame is damaged. So a reader knows what is missing, and reads the rest.

Appending is one call of a C function, `mmap.write`, which copies a packed record to the window's position and moves the
position behind it. Other threads, tracers and signal handlers may run between any two calls, but not within one. All
conversions, which may run Python code, are done before; then the window must still be the one that defines the record's
texts. To close a window to further appends its position is moved to its
end, where `mmap.write` refuses everything. A build without the GIL takes a lock around the call. An exception that does not
come from a C function called here, but from a signal handler or a tracer, is passed on: the record is there, or it is not.

This file is long because the format and its writer belong together.
"""

import contextlib
import dataclasses
import fcntl
import functools
import itertools
import json
import mmap
import os
import struct
import sys
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, SupportsIndex

from .errors import BenchError
from .events import EVENTS, CaseRecord, Environment, Event, Instant, Json, RunRecord, ScheduleChunk
from .files import cure, exit_code, take_after_folder
from .locks import claim, claim_of, lock

MAGIC = b"BENCHJ4\n"
HEADER_COPY = b"BENCHH4\n"
FRAME = b"BENCHF4\n"
FRAME_END = b"BENCHE4\n"
STRING = 255
WINDOW_PAGE = 4096
WINDOW_BYTES = 1 << 18
COPIES_BYTES = 1 << 13  # of a window
RECORDS_BYTES = WINDOW_BYTES - COPIES_BYTES
HEADER_EVERY = 64  # frames
LASTING_BYTES = 1 << 12  # of a window's copies: what all later windows repeat
LASTING_EVERY = 8  # frames: only these have it
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
KIND_OF_EVENT: dict[type[Event], int] = {event: index for index, event in enumerate(EVENTS)}
HEADER = struct.Struct("<8sII")  # MAGIC, length, CRC-32
FRAME_HEAD = struct.Struct("<8sQIII")  # FRAME, number, bytes of records, bytes of copies, CRC-32
WINDOW_NUMBER = struct.Struct("<QQ")  # of a window, and its complement
HEAD = struct.Struct("<IBI")  # of a record: length, kind, the first 32 bits of its mask
U32 = struct.Struct("<I")
U64 = struct.Struct("<Q")
COMPLEMENT = (1 << 64) - 1
SMALLEST = HEAD.size + U32.size  # record

# What stands for no number (codes Q and D). The float is a NaN that no arithmetic gives: a measured NaN is another.
ABSENT_INT = -(1 << 63)
ABSENT_BITS = 0x7FF8_0000_BE2C_4A11
(ABSENT_FLOAT,) = struct.unpack("<d", U64.pack(ABSENT_BITS))

# Tables of which a row says what many others are about, and of which there is a copy.
COPIED = (RunRecord, CaseRecord, Environment)

_WHOLE = "qQ"  # codes of integers

MISFITS = (TypeError, ValueError, OverflowError)  # what `struct` raises for values, beside its own error

FILL = b"\xa5"  # in a window behind its records: no record has such a length, and what a disk loses is zeros
_FILLED = memoryview(FILL * RECORDS_BYTES)
_NO_LENGTH = U32.unpack(FILL * U32.size)[0]


class StoreFull(BenchError):
    """The disk has no room for more events, or may not be written; those before are safe."""


class JournalClosed(BenchError):
    """The journal was closed meanwhile."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a table's rows in a journal, from its header."""

    table: str
    version: int
    fields: tuple[tuple[str, str, bool], ...]  # name, code, nullable

    @property
    def has_wide_mask(self) -> bool:
        """True if a mask of 32 bits is too small."""
        return sum(nullable for _, _, nullable in self.fields) > 32

    def present(self, mask: int) -> Iterator[tuple[str, str]]:
        """Name and code of the fields that a row with this mask has."""
        bit = 1
        for name, code, nullable in self.fields:
            if not nullable or mask & bit:
                yield name, code
            if nullable:
                bit <<= 1

    def shape(self, mask: int) -> tuple[tuple[int, int], ...]:
        """The shape of a row with this mask: bytes before each list and of one of its items; last the bytes behind, and 0."""
        found, size = [], 0
        for _, code in self.present(mask):
            item = struct.calcsize(f"<{STRUCT_CODES[code[-1]]}")
            if code[0] == "*":
                found.append((size, item))
                size = 0
            else:
                size += item
        return (*found, (size, 0))

    def format(self, mask: int, lengths: tuple[int, ...]) -> str:
        """The struct format of a row with this mask and these list lengths, without the trailer."""
        counts = iter(lengths)
        parts = (
            f"I{next(counts)}{code[1]}" if code[0] == "*" else STRUCT_CODES[code] for _, code in self.present(mask)
        )
        return ("<IBQ" if self.has_wide_mask else "<IBI") + "".join(parts)


def layouts() -> list[Layout]:
    """The layout of every table as declared now; the run is in the header."""
    return [
        Layout(
            event.TABLE,
            event.VERSION,
            tuple((f.name, CODES[f.type], f.nullable) for f in event.fields() if f.name != "run_id"),
        )
        for event in EVENTS
    ]


LAYOUTS = layouts()

# The bulk of a server's events are scheduler steps. Their layout has what `Run.schedule_chunk` takes: chunks of 16 bits take half
# the bytes, and with a place for every number nobody needs to look which are there. Those that few servers give come last, and
# are there together or not at all.
NARROW_CHUNK = len(LAYOUTS)


def _narrow_chunk(whole: Layout) -> Layout:
    codes = {name: code for name, code, _ in whole.fields}
    usual = ("schedule_ms", "model_run_ms", "waiting", "running")
    rare = ("batch_id", "step_ms", "prefill", "decode", "token_budget", "kv_cache_usage")
    fields = (
        ("chunk_sizes", "*H", False),
        *((name, codes[name].upper(), False) for name in usual),
        *((name, codes[name], False) for name in ("recorded_at", "line")),
        *((name, codes[name].upper(), True) for name in rare),
    )
    return dataclasses.replace(whole, fields=fields)


LAYOUTS.append(_narrow_chunk(LAYOUTS[KIND_OF_EVENT[ScheduleChunk]]))


class _Row:
    """An event's values as Python's own numbers and texts: nothing that is done with them runs foreign code."""

    def __init__(self, event: Event) -> None:
        """Convert them.

        Raises:
            BenchError: A value is missing, or does not have the type of its column.
        """
        self.kind = KIND_OF_EVENT[type(event)]
        self.mask = 0
        self.values: list[tuple[str, Any]] = []  # code of the column, and value
        self._event, bit = event, 1
        for name, code, nullable in LAYOUTS[self.kind].fields:
            value = getattr(event, name)
            if nullable:
                if value is not None:
                    self.mask |= bit
                bit <<= 1
            if value is not None:
                self.values.append((code, self._plain(name, code, value)))
            elif not nullable:
                raise BenchError(f"{type(event).__name__}.{name} must not be None")

    def _plain(self, name: str, code: str, value: Any) -> Any:
        try:
            if code[0] == "*":
                return [_plain(code[1], item) for item in value]
            plain = _plain(code, value)
            return plain * 1000 if code == "n" else plain
        except struct.error as error:
            if not is_own(error):
                raise
            raise self.misfit() from None
        except MISFITS as error:
            if not is_own(error):
                raise
            raise BenchError(f"cannot record {value!r} as {type(self._event).__name__}.{name}: {error}") from None

    def misfit(self) -> BenchError:
        """The error for the first value that its column does not hold, with what the column holds."""
        declared = {column.name: column for column in self._event.fields()}
        problem = "a value does not have the type of its column."
        for name, code, _ in LAYOUTS[self.kind].fields:
            value = getattr(self._event, name)
            for one in value or () if code[0] == "*" else (value,):
                if code[-1] in _WHOLE and one is not None and not _fits(one):
                    unit = f" of {declared[name].unit}" if declared[name].unit else ""
                    problem = f"{name} is {one!r}, and must be a whole number{unit} within 64 bits."
                    return BenchError(f"cannot record in table {LAYOUTS[self.kind].table}: {problem}")
        return BenchError(f"cannot record in table {LAYOUTS[self.kind].table}: {problem}")


_EXACT = {"I": str, "q": int, "n": int, "d": float, "?": bool}  # the type of a plain value, by code of its column
_ALONE = {code: struct.Struct(f"<{STRUCT_CODES[code]}") for code in _EXACT}


def _plain(code: str, value: Any) -> Any:
    """A value as one of Python's own, converted as `struct` does."""
    if type(value) is _EXACT[code]:
        return value
    if code == "I":
        return str.__str__(value)
    return _ALONE[code].unpack(_ALONE[code].pack(value))[0]


def _fits(value: Any) -> bool:
    return isinstance(value, SupportsIndex) and -(1 << 63) <= value.__index__() < 1 << 63


def with_trailer(body: bytes) -> bytes:
    """A record from all of it but the trailer."""
    length = len(body) + U32.size
    return body + U32.pack(length if length <= WINDOW_PAGE else zlib.crc32(body))


class User(Protocol):
    """A holder of rows prepared for a window, which prepares them anew when the window changes."""

    def forget(self) -> None:
        """Write no more of what was prepared."""


class _NoRoom(Exception):
    """The window is full, is being written, or was closed; nothing was appended."""


class _Window:
    """One window: a mapped stretch of the file that takes records until it is full or closed.

    A signal handler may raise an exception wherever a function is called. So each step from one state to the next may be taken
    again, and the fields that say which state it is are set together, where nothing is called.
    """

    def __init__(
        self, file: int, offset: int, number: int, gate: "contextlib.AbstractContextManager[Any] | None"
    ) -> None:
        self._copies = mmap.mmap(file, COPIES_BYTES, offset=offset)
        self.map = mmap.mmap(file, RECORDS_BYTES, offset=offset + COPIES_BYTES)
        self.number = number
        self.next_number: int | None = None  # once it is written
        self._reached = self._end = 0  # where it was closed, and where its records end
        self.is_written = False  # behind, as a frame
        self._lasting_bytes = 0  # at the beginning of the copies
        self._gate = gate
        self.write: Callable[[bytes], Any] = self.map.write if gate is None else self._write
        self.open(number)

    def open(self, number: int, lasting: bytes = b"") -> None:
        """Take records, from the beginning, under a number; what is `lasting` is the first copy."""
        WINDOW_NUMBER.pack_into(self.map, 0, number, number ^ COMPLEMENT)
        self.defined: dict[str, int] = {}  # texts, in this window
        self._users: list[User] = []
        self._copies.seek(0)
        self._lasting_bytes = 0
        self.repeat(lasting)
        self.map.seek(WINDOW_NUMBER.size)
        self._reached = self._end = 0
        self.is_written, self.number, self.next_number = False, number, None

    def put(self, record: bytes, defined: Mapping[str, int]) -> None:
        """Append a record that names texts which are `defined`, unless the window was emptied since then.

        Raises:
            _NoRoom: It was not appended.
        """
        try:
            if self.defined is not defined:
                raise _NoRoom
            self.write(record)
        except ValueError as error:
            if not is_own(error):
                raise
            raise _NoRoom from None

    def copy(self, record: bytes) -> None:
        """Keep a record a second time, if there is room."""
        with self._gate or contextlib.nullcontext(), _while_mapped():
            if self._copies.tell() + len(record) <= COPIES_BYTES:
                self._copies.write(record)

    def repeat(self, lasting: bytes) -> None:
        """Keep what is lasting before all other copies, if there are none yet."""
        with _while_mapped():
            if self._copies.tell() == self._lasting_bytes:
                self._copies[: len(lasting)] = lasting
                self._copies.seek(len(lasting))
                self._lasting_bytes = len(lasting)

    def serve(self, user: User) -> None:
        """Tell a user once this window takes other records."""
        self._users.append(user)

    def close(self) -> memoryview:
        """Take no more records; returns those that it has, not copied."""
        if not self._end:
            with self._gate or contextlib.nullcontext():
                if not self._reached:
                    self._reached = self.map.tell()
                self.map.seek(0, os.SEEK_END)  # what was appended between these calls lies behind
            end = self._reached
            while end + U32.size <= RECORDS_BYTES and (length := U32.unpack_from(self.map, end)[0]) != _NO_LENGTH:
                end += length
            self._end = end
        return memoryview(self.map)[WINDOW_NUMBER.size : self._end]

    def copies(self) -> bytes:
        """The copies that go into its frame."""
        begin = 0 if self.number % LASTING_EVERY == 1 else self._lasting_bytes
        return self._copies[begin : self._copies.tell()]

    def clear(self, number: int, lasting: bytes) -> None:
        """Forget its records, which are in a frame, and take others under a new number."""
        for user in self._users:
            user.forget()
        self.map[WINDOW_NUMBER.size : self._end] = _FILLED[: self._end - WINDOW_NUMBER.size]
        self._copies[:] = bytes(COPIES_BYTES)
        self.open(number, lasting)

    def unmap(self) -> None:
        """Give the memory back."""
        with contextlib.suppress(BufferError):  # the trace of an error holds its records: unmapped with that
            self.map.close()
        self._copies.close()

    @property
    def used_bytes(self) -> int:
        """Bytes of its records; all of the window once it is closed."""
        try:
            return self.map.tell() - WINDOW_NUMBER.size
        except ValueError as error:  # another thread has closed the journal meanwhile
            if not is_own(error):
                raise
            return RECORDS_BYTES - WINDOW_NUMBER.size

    def _write(self, record: bytes) -> None:
        assert self._gate is not None
        with self._gate:
            self.map.write(record)


@contextlib.contextmanager
def _while_mapped() -> Iterator[None]:
    """A context for copies: nobody misses them once another thread has closed the journal, whose frames hold all."""
    try:
        yield
    except ValueError as error:
        if not is_own(error):
            raise


class Journal:
    """The journal of one process."""

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        """Create the file, lock it for as long as this process lives, and reserve its windows.

        Args:
            path: A file that does not exist yet.
            header: What holds for every event: at least run_id and writer.

        Raises:
            StoreFull: There is no space on the disk.
        """
        self.path = path
        self.lock = threading.RLock()  # for writing windows and closing
        self.closed = False
        self._numbers_of: dict[str, int] = {}  # texts
        self._ids = itertools.count(1)
        self._structs: dict[tuple[int, int, tuple[int, ...]], struct.Struct] = {}
        self._next_number = 3  # of windows and frames
        self._draining = False
        self._lasting = b""  # rows of the run, its environment and its first cases, and the texts that they name
        tables = [[x.table, x.version, x.fields] for x in LAYOUTS]
        about = {**header, "tables": tables, "window": WINDOW_BYTES, "copies": COPIES_BYTES, "fill": FILL[0]}
        text = zlib.compress(json.dumps(about).encode(), 1)
        self._header = HEADER.pack(HEADER_COPY, len(text), zlib.crc32(text)) + text
        start = pages(len(self._header))
        self._begin = self._end = start + 2 * WINDOW_BYTES + len(self._header)  # of the frames
        gate = None if getattr(sys, "_is_gil_enabled", lambda: True)() else threading.RLock()
        with _disk_errors(path):
            self._file = _create(path)
            try:
                os.posix_fallocate(self._file, 0, self._end)
                os.pwrite(self._file, MAGIC + self._header[len(MAGIC) :], 0)
                os.pwrite(self._file, self._header, self._begin - len(self._header))
                for window in range(2):
                    os.pwrite(self._file, _FILLED, start + window * WINDOW_BYTES + COPIES_BYTES)
                self._active, self._other = (
                    _Window(self._file, start + i * WINDOW_BYTES, i + 1, gate) for i in range(2)
                )
            except BaseException:  # the handler of a signal may raise anything
                os.close(self._file)
                path.unlink()
                raise
        self.write = (
            self._active.write
        )  # appends a record that names no text, or raises ValueError where there is no room

    @property
    def size_bytes(self) -> int:
        """Bytes appended so far."""
        return self._end - self._begin + self._active.used_bytes

    def add(self, event: Event) -> None:
        """Append any event, whatever its table.

        Raises:
            StoreFull: There is no space on the disk; nothing of the row was written.
            JournalClosed: The journal is closed.
            BenchError: A value does not fit its column; nothing of the row was written.
        """
        row = _Row(event)
        while True:
            window = self._active
            defined = window.defined
            kept = dict[str, int]() if isinstance(event, COPIED) else None
            try:
                record = self._record(row, functools.partial(self._number, window, defined, kept))
                window.put(record, defined)
            except _NoRoom:
                if self._make_room(row):
                    return
                continue
            break
        if kept is not None:
            window.copy(record)
            lasting = b"".join([self._lasting, *itertools.starmap(_definition, kept.items()), record])
            if len(lasting) <= LASTING_BYTES:
                self._lasting = lasting
                self._other.repeat(lasting)

    def prepare(self, user: User, texts: Sequence[str]) -> tuple[Callable[[bytes], Any], list[int]] | None:
        """The means to append rows that name these texts: the window's `write`, and their numbers in it.

        `write` raises ValueError once the window takes no more. None where that is the case now.
        """
        window = self._active
        defined = window.defined
        window.serve(user)
        try:
            numbers = [self._number(window, defined, None, text) for text in texts]
        except _NoRoom:
            return None
        return (window.write, numbers) if window.defined is defined and window is self._active else None

    def _number(self, window: _Window, defined: dict[str, int], kept: dict[str, int] | None, text: str) -> int:
        """The number of a text, defined in the window if it is not yet, and in its copies if it is to be `kept`."""
        number = defined.get(text)
        if number is None:
            number = self._numbered(text)
            definition = _definition(text, number)
            window.put(definition, defined)
            if len(text) <= REMEMBERED_LENGTH:
                defined[text] = number
            if len(text) <= REMEMBERED_LENGTH or kept is not None:
                window.copy(definition)
        if kept is not None:
            kept[text] = number
        return number

    def _numbered(self, text: str) -> int:
        number = self._numbers_of.get(text)
        if number is None:
            number = next(self._ids)
            if len(text) <= REMEMBERED_LENGTH and len(self._numbers_of) < REMEMBERED_STRINGS:
                self._numbers_of[text] = number
        return number

    def _alone(self, row: "_Row") -> bytes:
        """The record of a row with the definitions of all texts that it names."""
        definitions: list[bytes] = []

        def define(text: str) -> int:
            definitions.append(_definition(text, number := self._numbered(text)))
            return number

        record = self._record(row, define)
        return b"".join([*definitions, record])

    def _make_room(self, row: "_Row") -> bool:
        """Write a window behind the file's end so that there is room for a row; whether the row went along."""
        with self.lock:
            self._check_open()
            blob = self._alone(row)
            if self._draining:  # by this thread, which a signal handler or a tracer has interrupted
                number, self._next_number = self._next_number, self._next_number + 1
                try:
                    self._write_frame(number, blob)
                except BaseException:
                    if self._next_number == number + 1:  # else a part would be missing
                        self._next_number = number
                    raise
                return True
            if len(blob) > RECORDS_BYTES - WINDOW_NUMBER.size:
                self.drain(blob)
                return True
            if not self._has_room(blob):
                try:
                    self.drain()
                except StoreFull:
                    if not self._has_room(blob):  # nor in the other window
                        raise
            return False

    def _has_room(self, record: bytes) -> bool:
        return self._active.used_bytes + len(record) <= RECORDS_BYTES - WINDOW_NUMBER.size

    def drain(self, extra: bytes = b"") -> None:
        """Write the records of the window, and one too large for it, as a frame; appends go to the other window meanwhile.

        Killed anywhere, the reader finds every record once.

        Raises:
            StoreFull: There is no space on the disk; the window stays as it is.
            JournalClosed: The journal is closed.
        """
        with self.lock:
            self._check_open()
            if self._draining:
                return
            self._draining = True
            try:
                if self._other.number < self._active.number:  # the disk was full when it was to be written
                    self._flush(self._other)
                if self._active.used_bytes or extra:
                    self._active, self._other = self._other, self._active
                    self.write = self._active.write
                    self._flush(self._other, extra)
            finally:
                self._draining = False
                self.write = self._active.write

    def _flush(self, window: _Window, extra: bytes = b"") -> None:
        self._check_there()
        if not window.is_written:
            with window.close() as records:
                self._write_frame(window.number, b"".join([records, extra]) if extra else records, window.copies())
                window.is_written = True
        if window.next_number is None:
            window.next_number = self._next_number
            self._next_number += 1
        window.clear(window.next_number, self._lasting)

    def _write_frame(self, number: int, records: "bytes | memoryview", copies: bytes = b"") -> None:
        blobs = [*([self._header] if number % HEADER_EVERY == 0 else []), *frame(number, records, copies)]
        offset, end = self._end, self._end + sum(map(len, blobs))
        self._end = end  # at once: a signal handler may write another one
        try:
            with _disk_errors(self.path):
                _write_all(self._file, blobs, offset)
        except BaseException:
            if self._end == end:
                self._end = offset
            raise

    def _check_open(self) -> None:
        if self.closed:
            raise JournalClosed(f"{self.path} is closed")

    def _check_there(self) -> None:
        """Write the file anew if somebody removed it; then a following journal takes what comes.

        Raises:
            JournalClosed: It was removed. What was recorded is in a file of the same name again.
        """
        if os.fstat(self._file).st_nlink:
            return
        copy = self.path.with_name(f"{self.path.name}.copy")
        with _disk_errors(self.path), copy.open("wb") as out:
            position = 0
            while block := os.pread(self._file, 1 << 20, position):
                position += out.write(block)
            out.flush()
            os.fsync(out.fileno())
            copy.rename(self.path)
        sys.stderr.write(f"bench: {self.path.name} was removed while events were recorded; it was written again\n")
        self._release()
        raise JournalClosed(f"{self.path} was removed")

    def struct(self, kind: int, mask: int, lengths: tuple[int, ...] = ()) -> struct.Struct:
        """The packer of one shape of row, without its trailer, made once."""
        key = (kind, mask, lengths)
        packer = self._structs.get(key)
        if packer is None:
            if len(self._structs) > 10_000:  # lists of very many lengths: forget rather than grow
                self._structs.clear()
            packer = self._structs[key] = struct.Struct(LAYOUTS[kind].format(mask, lengths))
        return packer

    def _record(self, row: "_Row", number_of: Callable[[str], int]) -> bytes:
        lengths, values = list[int](), list[Any]()
        for code, value in row.values:
            if code[0] == "*":
                items = list(map(number_of, value)) if code[1] == "I" else value
                lengths.append(len(items))
                values += [len(items), *items]
            else:
                values.append(number_of(value) if code == "I" else value)
        packer = self.struct(row.kind, row.mask, tuple(lengths))
        try:
            return with_trailer(packer.pack(packer.size + U32.size, row.kind, row.mask, *values))
        except (struct.error, *MISFITS) as error:
            if not is_own(error):
                raise
            raise row.misfit() from None

    def sync(self) -> None:
        """Return when everything appended so far would survive power loss; the file's time says that its writer lives.

        The window is written first: its pages may reach the disk in any order with those written later.
        """
        with contextlib.suppress(JournalClosed):
            self.drain()
        with contextlib.suppress(FileNotFoundError):  # sealed, which made it durable
            file = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
            try:
                os.utime(file)
                os.fdatasync(file)
            finally:
                os.close(file)

    def close(self) -> None:
        """Write the windows and unlock the file; anyone may seal it now."""
        with self.lock:
            if not self.closed:
                self._write_windows()
            if self._file >= 0:
                self._release()
                claim_of(self.path).unlink(missing_ok=True)

    def _write_windows(self) -> None:
        windows = sorted((self._active, self._other), key=lambda window: window.number)
        for window in windows:
            window.close()  # both, before either is written: no append may come between
        with contextlib.suppress(StoreFull, JournalClosed):  # then they are read from the windows, or from a copy
            for window in windows:
                with window.close() as records:
                    if records and not window.is_written:
                        self._check_there()
                        self._write_frame(window.number, records, window.copies())
                        window.is_written = True

    def abandon(self) -> None:
        """Close the parent's journal in a forked child, without writing to it."""
        self.lock = threading.RLock()  # another thread of the parent may have held it
        self._release(in_child=True)  # the lock is the parent's, too

    def _release(self, *, in_child: bool = False) -> None:
        if self._file < 0:
            return
        self.closed = True
        for window in (self._active, self._other):
            window.unmap()
        if not in_child:  # a map that the trace of an error holds has the file open, and its lock with it
            with contextlib.suppress(OSError):  # a disk without locks
                fcntl.flock(self._file, fcntl.LOCK_UN)
        file, self._file = self._file, -1
        os.close(file)


def is_own(error: BaseException) -> bool:
    """True if a C function that was called here, or by the recorder, raised it; no signal handler, tracer or foreign class."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals.get("__name__") in (__name__, f"{__package__}.recorder")


def _definition(text: str, number: int) -> bytes:
    encoded = text.encode("utf-8", "backslashreplace")  # of a file name that is no UTF-8, say
    return with_trailer(HEAD.pack(SMALLEST + len(encoded), STRING, number) + encoded)


def frame(number: int, records: "bytes | memoryview", copies: bytes = b"") -> "list[bytes | memoryview]":
    """A frame, in the pieces to write one after the other."""
    table = checksums(records) + checksums(copies)
    numbers = number, len(records), len(copies)
    crc = head_checksum(*numbers, table)
    return [
        FRAME_HEAD.pack(FRAME, *numbers, crc),
        table,
        records,
        copies,
        table,
        FRAME_HEAD.pack(FRAME_END, *numbers, crc),
    ]


def checksums(data: "bytes | memoryview") -> bytes:
    """The CRC-32 of each page."""
    with memoryview(data) as view:
        found = [zlib.crc32(view[at : at + WINDOW_PAGE]) for at in range(0, len(view), WINDOW_PAGE)]
    return struct.pack(f"<{len(found)}I", *found)


def head_checksum(number: int, records: int, copies: int, table: bytes) -> int:
    """The CRC-32 of a frame's head and table."""
    return zlib.crc32(table, zlib.crc32(struct.pack("<QII", number, records, copies)))


def pages(count: int) -> int:
    """Bytes rounded up to whole pages."""
    return -(-count // WINDOW_PAGE) * WINDOW_PAGE


def _create(path: Path) -> int:
    """Create and lock a file; where somebody removed it before it was locked, another one."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            if not lock(file, fcntl.LOCK_EX):
                claim(claim_of(path))
            if os.fstat(file).st_nlink:
                take_after_folder(path)
                return file
        except BaseException:
            os.close(file)
            path.unlink(missing_ok=True)
            raise
        os.close(file)


def _write_all(file: int, blobs: Sequence["bytes | memoryview"], offset: int) -> None:
    blobs = list(filter(len, blobs))
    while blobs:
        written = os.pwritev(file, blobs, offset)
        offset += written
        while blobs and written >= len(blobs[0]):
            written -= len(blobs.pop(0))
        if written:
            blobs[0] = memoryview(blobs[0])[written:]


@contextlib.contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        full = StoreFull(
            f"cannot write events to {path.parent}: {reason}. What was recorded before is safe; "
            f"{cure(reason)}, or choose another store with BENCH_STORE."
        )
        full.exit_code = exit_code(reason)
        raise full from error
