"""Reading journals: the rows of a file that `journal` wrote, wherever it was cut and whatever of it is damaged."""

import contextlib
import dataclasses
import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import BenchError
from .files import open_file
from .journal import (
    ABSENT_BITS,
    ABSENT_INT,
    COMPLEMENT,
    FRAME,
    FRAME_HEADER,
    HEAD,
    HEADER,
    MAGIC,
    NUMBER,
    PAGE,
    SMALLEST,
    STRING,
    STRUCT_CODES,
    U32,
    Layout,
    checksum,
    pages,
)

if TYPE_CHECKING:
    import numpy as np

DECODED_BYTES = 1 << 22  # of frames at once: enough for numpy to pay, little memory
NUMPY_CODES = {"I": "<u4", "q": "<i8", "H": "<u2", "n": "<i8", "d": "<f8", "?": "?", "Q": "<i8", "D": "<f8"}


class NeverBegun(BenchError):
    """The writer was killed before it could record anything."""


class DamagedJournal(BenchError):
    """A part of a journal could not be read. The rest is in the log, and the journal is kept aside."""


class Unreadable(BenchError):
    """The header of the journal is damaged, or was written by another version of bench."""


@dataclass(frozen=True, slots=True)
class DecodedRows:
    """Rows of one shape: a table, the fields that are present, the lengths of their lists."""

    layout: Layout
    mask: int
    places: "np.ndarray[Any, Any]"  # (n,) int64: their order among all rows read together
    values: "np.ndarray[Any, Any]"  # (n,) structured: a field for each column that is present


@dataclass(slots=True)
class Contents:
    """A journal as a reader finds it. Its rows are read in parts, in order."""

    header: dict[str, Any]
    layouts: list[Layout]
    damage: list[str]  # what could not be read, in sentences; more may come while rows are read
    unchecked: int  # bytes of records in a window, which has no checksum: its writer was killed
    records: list[tuple[bytes, bool]]  # by part, and whether a checksum holds for them
    strings: dict[int, str] = dataclasses.field(default_factory=dict)

    def parts(self) -> Iterator[list[DecodedRows]]:
        """The rows of a few frames at a time; strings are complete for the rows given, and `damage` at the end."""
        reader = _Reader(self)
        gathered: list[bytes] = []
        for records, checked in self.records:
            if not checked:
                if gathered:
                    yield reader.decode(b"".join(gathered), checked=True)
                    gathered = []
                yield reader.decode(records, checked=False)
                continue
            gathered.append(records)
            if sum(map(len, gathered)) >= DECODED_BYTES:
                yield reader.decode(b"".join(gathered), checked=True)
                gathered = []
        if gathered:
            yield reader.decode(b"".join(gathered), checked=True)

    @property
    def rows(self) -> dict[str, dict[str, list[Any]]]:
        """All of it as Python values: table -> column -> values, in the order written."""
        found: dict[str, list[tuple[int, int, dict[str, Any]]]] = {}
        layouts = {layout.table: layout for layout in self.layouts}
        for number, part in enumerate(self.parts()):
            for rows in part:
                columns = _python_columns(rows, self.strings)
                for index, place in enumerate(rows.places.tolist()):
                    row = {name: values[index] for name, values in columns.items()}
                    found.setdefault(rows.layout.table, []).append((number, place, row))
        return {
            table: {
                name: [row[name] for *_, row in sorted(entries, key=lambda entry: entry[:2])]
                for name, _, _ in layouts[table].fields
            }
            for table, entries in sorted(found.items(), key=lambda item: min(entry[:2] for entry in item[1]))
        }


def _python_columns(rows: DecodedRows, strings: Mapping[int, str]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {name: [None] * len(rows.values) for name, _, _ in rows.layout.fields}
    for name, code in rows.layout.present(rows.mask):
        values = rows.values[name]
        if code == "I":
            columns[name] = [strings[number] for number in values.tolist()]
        elif code == "*I":
            columns[name] = [[strings[number] for number in row] for row in values.tolist()]
        elif code in "QD":
            absent = is_absent(values, code)
            columns[name] = [None if gone else value for value, gone in zip(values.tolist(), absent, strict=True)]
        else:
            columns[name] = (values // 1000 if code == "n" else values).tolist()
    return columns


def is_absent(values: "np.ndarray[Any, Any]", code: str) -> "np.ndarray[Any, Any]":
    """Which of the numbers (code Q or D) stand for none."""
    import numpy as np

    bits = np.ascontiguousarray(values).view("<i8")
    absent: np.ndarray[Any, Any] = bits == (ABSENT_INT if code == "Q" else ABSENT_BITS)
    return absent


def read(path: Path) -> Contents:
    """Read a journal, wherever its end was cut and whatever of it is damaged.

    Raises:
        NeverBegun: Nothing was ever recorded in it.
        Unreadable: Its header is damaged or another version's, so none of it can be read.
    """
    with open_file(path) as file:
        data = file.read()
    header, start = _header(path, data)
    layouts = [Layout(table, version, tuple(map(tuple, fields))) for table, version, fields in header.pop("tables")]
    size = header.pop("window")
    frames, damage = _frames(data, start + 2 * size), list[str]()
    if (missing := start + 2 * size - len(data)) > 0:  # the file has its size before it has a header
        damage.append(f"it was cut: {missing:,} bytes are missing")
    parts = {number: (records, True) for number, records in frames.items()}
    numbers, unchecked = set(frames), 0
    for offset in (start, start + size):
        window = data[offset : offset + size]
        records = window[NUMBER.size :].rstrip(b"\0")
        number, complement = NUMBER.unpack(window[: NUMBER.size].ljust(NUMBER.size, b"\0"))
        known = number ^ complement == COMPLEMENT
        if known:
            numbers.add(number)
        if records and not (known and number in frames):
            if not known:
                damage.append("the number of a window is damaged")
                number = COMPLEMENT + offset
            parts[number] = (window[NUMBER.size :], False)
            unchecked += len(records)
    if len(numbers) < max(numbers, default=0):
        damage.append(f"{max(numbers) - len(numbers)} of {max(numbers)} parts are missing")
    return Contents(header, layouts, damage, unchecked, [parts[number] for number in sorted(parts)])


def header_of(path: Path) -> dict[str, Any]:
    """The header of a journal; empty if it is sealed already, or its header cannot be read."""
    with contextlib.suppress(OSError, BenchError), open_file(path) as file:
        head = file.read(HEADER.size)
        return _header(path, head + file.read(HEADER.unpack(head)[1] if len(head) == HEADER.size else 0))[0]
    return {}


def run_of(path: Path) -> str | None:
    """The run of a journal; None if it is sealed already, or its header cannot be read."""
    return header_of(path).get("run_id")


def _header(path: Path, data: bytes) -> tuple[dict[str, Any], int]:
    """The header, and where the windows begin."""
    magic, length, expected = HEADER.unpack(data[: HEADER.size].ljust(HEADER.size, b"\0"))
    text = data[HEADER.size : HEADER.size + length]
    if magic == MAGIC and 0 < length == len(text) and zlib.crc32(text) == expected:
        return json.loads(text), pages(HEADER.size + length)
    end = data.find(b"\0", HEADER.size)  # of the text, which has no zero
    if not data[: HEADER.size].strip(b"\0") and (end < 0 or not data[pages(end) :].strip(b"\0")):
        raise NeverBegun(f"{path} holds no events: its header is not complete")
    if magic[:6] == MAGIC[:6] and magic != MAGIC:
        raise Unreadable("was written by another version of bench, which can seal it with: bench recover")
    raise Unreadable("has a damaged header, so that none of its events can be read. Restore it from a copy.")


def _frames(data: bytes, at: int) -> dict[int, bytes]:
    """The records of all frames that are whole, by number. What is missing is seen by the numbers."""
    found: dict[int, bytes] = {}
    while at >= 0 and at + FRAME_HEADER.size <= len(data):
        magic, number, length, expected = FRAME_HEADER.unpack_from(data, at)
        begin = at + FRAME_HEADER.size
        records = data[begin : begin + length]
        if magic == FRAME and len(records) == length and checksum(number, records) == expected:
            found.setdefault(number, records)
            at = begin + length
        else:
            at = data.find(FRAME, at + 1)
    return found


class _Reader:
    """Decodes records into rows of like shape."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._has_all_strings = False
        self._layouts = contents.layouts
        self._strings = contents.strings
        self._damage = contents.damage
        self._types: dict[tuple[bytes, tuple[int, ...]], np.dtype[Any]] = {}
        self._has_lists: dict[bytes, bool] = {}  # by head

    def decode(self, data: bytes, *, checked: bool) -> list[DecodedRows]:
        """All rows of some records; strings that they define are added to the contents'.

        Args:
            data: Records one after the other, perhaps with zeros behind.
            checked: Whether a checksum holds for them. Without one, each is checked by its trailer.
        """
        import numpy as np

        shapes: dict[tuple[bytes, tuple[int, ...]], list[tuple[int, int, int]]] = {}  # offset, count, place
        at, end, place = 0, len(data), 0
        while at + SMALLEST <= end:
            head = data[at : at + HEAD.size]
            length, kind, mask = HEAD.unpack(head)
            if not length:
                break
            if not checked and not _is_whole(data, at, length):
                if not data[at + length :].strip(b"\0"):
                    break  # the writer was killed while it wrote this one
                self._damage.append(f"{length} bytes of a window are damaged")
                if length < SMALLEST or not _is_whole(data, at + length, U32.unpack_from(data, at + length)[0]):
                    break
                at += length
                continue
            if kind == STRING:
                self._strings[mask] = _text(data, at, length)
                at += length
                continue
            if kind >= len(self._layouts):
                self._damage.append(f"a record is of table {kind}, which its header lacks")
                break
            counts = self._counts(data, at, head) if self._has_lists.get(head, True) else ()
            count = self._alike(data, at, end, head, counts) if checked else 1
            shapes.setdefault((head, counts), []).append((at, count, place))
            at += count * length
            place += count
        if data[at:].strip(b"\0") and not checked and at + U32.size <= end and not U32.unpack_from(data, at)[0]:
            self._damage.append("a window has a hole")
        buffer = np.frombuffer(data, np.uint8)
        found = (self._rows(buffer, data, head, counts, runs) for (head, counts), runs in shapes.items())
        return [rows for rows in map(self._with_strings, found) if len(rows.values)]

    def _with_strings(self, rows: DecodedRows) -> DecodedRows:
        """The rows whose strings are all known; others lost theirs with a part that is damaged."""
        import numpy as np

        good = np.ones(len(rows.values), bool)
        for name, code in rows.layout.present(rows.mask):
            if code[-1] == "I":
                values = rows.values[name].reshape(len(good), -1)
                for number in set(np.unique(values).tolist()) - self._strings.keys():
                    if not self._has_all_strings:  # defined by a signal handler while an earlier part was written
                        self._has_all_strings = True
                        self._collect_strings()
                    if number not in self._strings:
                        good &= (values != number).all(axis=1)
        if good.all():
            return rows
        self._damage.append(f"{(~good).sum()} rows of {rows.layout.table} lost the definition of a text")
        return DecodedRows(rows.layout, rows.mask, rows.places[good], rows.values[good])

    def _collect_strings(self) -> None:
        """Read the definitions in all parts."""
        for data, checked in self._contents.records:
            at = 0
            while at + SMALLEST <= len(data):
                length, kind, number = HEAD.unpack_from(data, at)
                if length < SMALLEST or not (checked or _is_whole(data, at, length)):
                    break
                if kind == STRING:
                    self._strings[number] = _text(data, at, length)
                at += length

    def _counts(self, data: bytes, at: int, head: bytes) -> tuple[int, ...]:
        """The lengths of a record's lists."""
        _, kind, mask = HEAD.unpack(head)
        counts, offset = [], at + HEAD.size
        for _, code in self._layouts[kind].present(mask):
            if code[0] == "*":
                (count,) = U32.unpack_from(data, offset)
                counts.append(count)
                offset += U32.size + count * struct.calcsize("<" + STRUCT_CODES[code[1]])
            else:
                offset += struct.calcsize("<" + STRUCT_CODES[code])
        self._has_lists[head] = bool(counts)
        return tuple(counts)

    def _alike(self, data: bytes, at: int, end: int, head: bytes, counts: tuple[int, ...]) -> int:
        """How many records of one shape follow each other, as in a hot loop most do; at least this one."""
        import numpy as np

        (length,) = U32.unpack_from(head)
        if data[at + length : at + length + HEAD.size] != head:
            return 1
        rows = np.frombuffer(data, np.uint8, (end - at) // length * length, at).reshape(-1, length)[: 1 << 16]
        same = (rows[:, : HEAD.size] == np.frombuffer(head, np.uint8)).all(axis=1)
        if counts:
            values = rows[: len(same)].view(self._type(head, counts)).reshape(-1)
            for number, count in enumerate(counts):
                same &= values[f"count {number}"] == count
        return len(same) if same.all() else int(same.argmin())

    def _type(self, head: bytes, counts: tuple[int, ...]) -> "np.dtype[Any]":
        """How a record of this shape lies in memory."""
        import numpy as np

        dtype = self._types.get((head, counts))
        if dtype is None:
            length, kind, mask = HEAD.unpack(head)
            names, formats, offsets, offset = [], list[Any](), [], HEAD.size
            lists = iter(enumerate(counts))
            for name, code in self._layouts[kind].present(mask):
                shape: Any = ()
                if code[0] == "*":
                    number, count = next(lists)
                    names.append(f"count {number}")
                    formats.append("<u4")
                    offsets.append(offset)
                    offset += U32.size
                    shape = (count,)
                one = np.dtype((NUMPY_CODES[code[-1]], shape))
                names.append(name)
                formats.append(one)
                offsets.append(offset)
                offset += one.itemsize
            dtype = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": length})
            self._types[head, counts] = dtype
        return dtype

    def _rows(
        self,
        buffer: "np.ndarray[Any, Any]",
        data: bytes,
        head: bytes,
        counts: tuple[int, ...],
        runs: list[tuple[int, int, int]],
    ) -> DecodedRows:
        import numpy as np

        length, kind, mask = HEAD.unpack(head)
        dtype = self._type(head, counts)
        if len(runs) == 1:
            at, count, place = runs[0]
            values, places = np.frombuffer(data, dtype, count, at), np.arange(place, place + count)
        else:
            sizes = np.array([count for _, count, _ in runs])
            within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            offsets = np.repeat([at for at, _, _ in runs], sizes) + within * length
            places = np.repeat([place for *_, place in runs], sizes) + within
            values = buffer[offsets[:, None] + np.arange(length)].view(dtype).reshape(-1)
        return DecodedRows(self._layouts[kind], mask, places, values)


def _text(data: bytes, at: int, length: int) -> str:
    return data[at + HEAD.size : at + length - U32.size].decode("utf-8", "backslashreplace")


def _is_whole(data: bytes, at: int, length: int) -> bool:
    """Whether a record of this length stands here, by its trailer."""
    if length < SMALLEST or at + length > len(data):
        return False
    (trailer,) = U32.unpack_from(data, at + length - U32.size)
    return bool(trailer == (length if length <= PAGE else zlib.crc32(data[at : at + length - U32.size])))
