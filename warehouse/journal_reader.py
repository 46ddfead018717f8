"""Reading journals: the rows of a file that `journal` wrote, wherever it was cut and whatever of it is damaged."""

import contextlib
import dataclasses
import json
import os
import zlib
from collections.abc import Iterator, Sequence
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
    MAGICS,
    NUMBER,
    PAGE,
    SMALLEST,
    STRING,
    U32,
    Layout,
    checksum,
    pages,
)

if TYPE_CHECKING:
    import numpy as np

DECODED_BYTES = 1 << 22  # of frames at once: enough for numpy to pay, little memory
BLOCK_BYTES = 1 << 20
ALIKE, AT_ONCE = 32, 1 << 13  # after so many records of one length, so many more are looked at by numpy
NUMPY_CODES = {"I": "<u4", "q": "<i8", "H": "<u2", "n": "<i8", "d": "<f8", "?": "?", "Q": "<i8", "D": "<f8"}


class NeverBegun(BenchError):
    """The writer was killed before it could record anything."""


class DamagedJournal(BenchError):
    """A part of a journal could not be read. The rest is in the log, and the journal is kept aside."""


class Unreadable(BenchError):
    """The header of the journal is damaged, or was written by another version of bench."""


@dataclass(frozen=True, slots=True)
class FieldValues:
    """The values of one field in rows that have it."""

    code: str
    values: "np.ndarray[Any, Any]"  # (n,), or the items of all lists one after the other
    counts: "np.ndarray[Any, Any] | None" = None  # (n,) the lengths of the lists

    def of(self, rows: "np.ndarray[Any, Any]") -> "FieldValues":
        """Those of the rows for which the mask (n,) is true."""
        if self.counts is None:
            return FieldValues(self.code, self.values[rows])
        return FieldValues(self.code, self.values[rows.repeat(self.counts)], self.counts[rows])


@dataclass(frozen=True, slots=True)
class DecodedRows:
    """Rows of one table in which the same fields are present."""

    layout: Layout
    places: "np.ndarray[Any, Any]"  # (n,) int64: their order among all rows read together, ascending
    columns: dict[str, FieldValues]  # by the name of the field


@dataclass(frozen=True, slots=True)
class Stretch:
    """Records one after the other in a journal."""

    begin: int  # bytes from the beginning of the file
    length: int
    checked: bool  # whether a checksum holds for them


@dataclass(slots=True)
class Contents:
    """A journal as a reader finds it. Its rows are read in parts, in order, so that memory does not grow with the file."""

    path: Path
    header: dict[str, Any]
    layouts: list[Layout]
    damage: list[str]  # what could not be read, in sentences; more may come while rows are read
    unchecked: int  # bytes of records in a window, which has no checksum: its writer was killed
    stretches: list[Stretch]
    strings: dict[int, str] = dataclasses.field(default_factory=dict)

    def parts(self) -> Iterator[list[DecodedRows]]:
        """The rows of a few frames at a time; strings are complete for the rows given, and `damage` at the end."""
        reader = _Reader(self)
        gathered: list[Stretch] = []
        for stretch in self.stretches:
            if gathered and not (stretch.checked and gathered[-1].checked):
                yield reader.decode(gathered)
                gathered = []
            gathered.append(stretch)
            if sum(each.length for each in gathered) >= DECODED_BYTES:
                yield reader.decode(gathered)
                gathered = []
        if gathered:
            yield reader.decode(gathered)

    def read(self, stretches: Sequence[Stretch]) -> bytes:
        """The bytes of some stretches, one after the other."""
        with self.path.open("rb", buffering=0) as file:
            return b"".join(_at(file.fileno(), each.begin, each.length) for each in stretches)


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
    with open_file(path) as opened:
        file, end = opened.fileno(), os.fstat(opened.fileno()).st_size
        try:
            header, start = _header(path, _begin(file, end))
        except (NeverBegun, Unreadable):  # which of them takes all of the file to tell
            header, start = _header(path, _at(file, 0, end))
        layouts = [Layout(table, version, tuple(map(tuple, fields))) for table, version, fields in header.pop("tables")]
        size = header.pop("window")
        frames, damage = _frames(file, start + 2 * size, end), list[str]()
        windows = [(offset, _at(file, offset, size)) for offset in (start, start + size)]
    if (missing := start + 2 * size - end) > 0:  # the file has its size before it has a header
        damage.append(f"it was cut: {missing:,} bytes are missing")
    stretches, numbers, unchecked = dict(frames), set(frames), 0
    for offset, window in windows:
        records = window[NUMBER.size :].rstrip(b"\0")
        number, complement = NUMBER.unpack(window[: NUMBER.size].ljust(NUMBER.size, b"\0"))
        known = number ^ complement == COMPLEMENT
        if known:
            numbers.add(number)
        if records and not (known and number in frames):
            if not known:
                damage.append("the number of a window is damaged")
                number = COMPLEMENT + offset
            stretches[number] = Stretch(offset + NUMBER.size, size - NUMBER.size, False)
            unchecked += len(records)
    if len(numbers) < max(numbers, default=0):
        damage.append(f"{max(numbers) - len(numbers)} of {max(numbers)} parts are missing")
    return Contents(path, header, layouts, damage, unchecked, [stretches[number] for number in sorted(stretches)])


def header_of(path: Path) -> dict[str, Any]:
    """The header of a journal; empty if it is sealed already, or its header cannot be read."""
    with contextlib.suppress(OSError, BenchError), open_file(path) as opened:
        file = opened.fileno()
        return _header(path, _begin(file, os.fstat(file).st_size))[0]
    return {}


def run_of(path: Path) -> str | None:
    """The run of a journal; None if it is sealed already, or its header cannot be read."""
    return header_of(path).get("run_id")


def _begin(file: int, end: int) -> bytes:
    """The bytes of the header, whose length may be damaged."""
    head = _at(file, 0, HEADER.size)
    length = HEADER.unpack(head)[1] if len(head) == HEADER.size else 0
    return head + _at(file, HEADER.size, min(length, end))


def _header(path: Path, data: bytes) -> tuple[dict[str, Any], int]:
    """The header, and where the windows begin."""
    magic, length, expected = HEADER.unpack(data[: HEADER.size].ljust(HEADER.size, b"\0"))
    text = data[HEADER.size : HEADER.size + length]
    if magic in MAGICS and 0 < length == len(text) and zlib.crc32(text) == expected:
        return json.loads(text), pages(HEADER.size + length)
    end = data.find(b"\0", HEADER.size)  # of the text, which has no zero
    if not data[: HEADER.size].strip(b"\0") and (end < 0 or not data[pages(end) :].strip(b"\0")):
        raise NeverBegun(f"{path} holds no events: its header is not complete")
    if magic[:6] == MAGICS[0][:6] and magic not in MAGICS:
        raise Unreadable("was written by another version of bench, which can seal it with: bench store recover")
    raise Unreadable("has a damaged header, so that none of its events can be read. Restore it from a copy.")


def _at(file: int, begin: int, length: int) -> bytes:
    """So many bytes of a file, fewer at its end."""
    return os.pread(file, length, begin)


def _frames(file: int, at: int, end: int) -> dict[int, Stretch]:
    """The records of all frames that are whole, by number. What is missing is seen by the numbers."""
    found: dict[int, Stretch] = {}
    while 0 <= at <= end - FRAME_HEADER.size:
        magic, number, length, expected = FRAME_HEADER.unpack(_at(file, at, FRAME_HEADER.size))
        begin = at + FRAME_HEADER.size
        fits = magic == FRAME and begin + length <= end
        if fits and checksum(number, _at(file, begin, length)) == expected:
            found.setdefault(number, Stretch(begin, length, True))
            at = begin + length
        else:
            at = _find_frame(file, at + 1)
    return found


def _find_frame(file: int, at: int) -> int:
    """Where the next frame may begin; -1 where there is none."""
    while len(block := _at(file, at, BLOCK_BYTES)) >= len(FRAME):
        if (found := block.find(FRAME)) >= 0:
            return at + found
        at += len(block) - len(FRAME) + 1
    return -1


class _Reader:
    """Decodes records into rows that have the same fields."""

    def __init__(self, contents: Contents) -> None:
        import numpy as np

        self._contents = contents
        self._has_all_strings = False
        self._layouts = contents.layouts
        self._strings = contents.strings
        self._damage = contents.damage
        self._is_defined = np.zeros(0, bool)  # by the number of a string

    def decode(self, stretches: Sequence[Stretch]) -> list[DecodedRows]:
        """All rows of some stretches; strings that they define are added to the contents'."""
        import numpy as np

        data = self._contents.read(stretches)
        starts = _starts(data) if stretches[0].checked else self._starts_of_whole(data)
        kinds = _gather(data, "u1", starts + U32.size)
        masks = _gather(data, "<u4", starts + U32.size + 1).astype(np.int64)
        wide = np.isin(kinds, [kind for kind, layout in enumerate(self._layouts) if layout.has_wide_mask])
        masks[wide] |= _gather(data, "<u4", starts[wide] + HEAD.size).astype(np.int64) << 32
        for number in np.flatnonzero(kinds == STRING):
            self._strings[int(masks[number])] = _text(data, int(starts[number]))
        if (unknown := (kinds >= len(self._layouts)) & (kinds != STRING)).any():
            self._damage.append(f"{unknown.sum()} records are of tables that its header lacks")
        found = []
        shapes = masks << 8 | kinds
        for shape in np.unique(shapes).tolist():
            if (kind := shape & 255) < len(self._layouts):
                places = np.flatnonzero(shapes == shape)
                columns = dict(_columns(data, starts[places], self._layouts[kind], shape >> 8))
                found.append(self._with_strings(DecodedRows(self._layouts[kind], places, columns)))
        return [rows for rows in found if len(rows.places)]

    def _starts_of_whole(self, data: bytes) -> "np.ndarray[Any, Any]":
        """Where records begin that no checksum holds for: those whose trailer says that they are whole."""
        import numpy as np

        starts, at = [], 0
        while at + SMALLEST <= len(data) and (length := U32.unpack_from(data, at)[0]):
            if _is_whole(data, at, length):
                starts.append(at)
            else:
                if not data[at + length :].strip(b"\0"):
                    return np.array(starts, np.int64)  # the writer was killed while it wrote this one
                self._damage.append(f"{length} bytes of a window are damaged")
                if length < SMALLEST or not _is_whole(data, at + length, U32.unpack_from(data, at + length)[0]):
                    return np.array(starts, np.int64)
            at += length
        if data[at:].strip(b"\0"):
            self._damage.append("a window has a hole")
        return np.array(starts, np.int64)

    def _with_strings(self, rows: DecodedRows) -> DecodedRows:
        """The rows whose strings are all known; others lost theirs with a part that is damaged."""
        import numpy as np

        good = np.ones(len(rows.places), bool)
        for column in rows.columns.values():
            if column.code[-1] == "I" and not (known := self._defined(column.values)).all():
                if column.counts is None:
                    good &= known
                else:
                    good[np.arange(len(good)).repeat(column.counts)[~known]] = False
        if good.all():
            return rows
        self._damage.append(f"{(~good).sum()} rows of {rows.layout.table} lost the definition of a text")
        columns = {name: column.of(good) for name, column in rows.columns.items()}
        return DecodedRows(rows.layout, rows.places[good], columns)

    def _defined(self, numbers: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
        """Which of these strings are known."""
        import numpy as np

        if len(numbers) and numbers.min() == numbers.max() and int(numbers[0]) in self._strings:
            return np.ones(len(numbers), bool)
        while True:
            most = max(self._strings, default=-1) + 1 if len(self._strings) != self._is_defined.sum() else -1
            if most >= 0:
                self._is_defined = np.zeros(most, bool)
                self._is_defined[list(self._strings)] = True
            inside = numbers < len(self._is_defined)
            known = inside if not inside.any() else inside & self._is_defined[np.where(inside, numbers, 0)]
            if known.all() or self._has_all_strings:
                return known
            self._has_all_strings = True  # a signal handler may have defined one while an earlier part was written
            self._collect_strings()

    def _collect_strings(self) -> None:
        """Read the definitions in all parts."""
        for stretch in self._contents.stretches:
            data = self._contents.read([stretch])
            at = 0
            while at + SMALLEST <= len(data):
                length, kind, number = HEAD.unpack_from(data, at)
                if length < SMALLEST or not (stretch.checked or _is_whole(data, at, length)):
                    break
                if kind == STRING:
                    self._strings[number] = _text(data, at)
                at += length


def _starts(data: bytes) -> "np.ndarray[Any, Any]":
    """Where the records begin that a checksum holds for. In a hot loop most have the length of the one before."""
    import numpy as np

    found: list[np.ndarray[Any, Any]] = []
    singles: list[int] = []
    at, end, last, alike = 0, len(data), 0, 0
    while at + SMALLEST <= end and (length := U32.unpack_from(data, at)[0]) >= SMALLEST:
        if length != last:
            last, alike = length, 0
        alike += 1
        if alike < ALIKE:
            singles.append(at)
            at += length
            continue
        lengths = np.ndarray((min((end - at) // length, AT_ONCE),), "<u4", data, at, (length,))
        same = lengths == length
        count = len(same) if same.all() else int(same.argmin())
        found += [np.array(singles, np.int64), np.arange(at, at + count * length, length)]
        singles, alike = [], 0 if count < len(same) else ALIKE - 1
        at += count * length
    return np.concatenate([*found, np.array(singles, np.int64)])


def _columns(
    data: bytes, starts: "np.ndarray[Any, Any]", layout: Layout, mask: int
) -> Iterator[tuple[str, FieldValues]]:
    """The values of the fields of records that have the same ones."""
    import numpy as np

    at = starts + HEAD.size + U32.size * layout.has_wide_mask  # of the field
    for name, code in layout.present(mask):
        kind = np.dtype(NUMPY_CODES[code[-1]])
        if code[0] != "*":
            yield name, FieldValues(code, _gather(data, kind, at))
            at = at + kind.itemsize
            continue
        counts = _gather(data, "<u4", at).astype(np.int64)
        at = at + U32.size
        before = counts.cumsum() - counts  # items of the lists before
        items = (at - before * kind.itemsize).repeat(counts) + np.arange(counts.sum()) * kind.itemsize
        yield name, FieldValues(code, _gather(data, kind, items), counts)
        at = at + counts * kind.itemsize


def _gather(data: bytes, kind: Any, places: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """Values that begin at these places, which need not be aligned."""
    import numpy as np

    kind = np.dtype(kind)
    count = max(0, len(data) - kind.itemsize + 1)
    found: np.ndarray[Any, Any] = np.ndarray((count,), kind, data, 0, (1,))[places]
    return found


def _text(data: bytes, at: int) -> str:
    """What a string's definition defines."""
    (length,) = U32.unpack_from(data, at)
    return data[at + HEAD.size : at + length - U32.size].decode("utf-8", "backslashreplace")


def _is_whole(data: bytes, at: int, length: int) -> bool:
    """Whether a record of this length stands here, by its trailer."""
    if length < SMALLEST or at + length > len(data):
        return False
    (trailer,) = U32.unpack_from(data, at + length - U32.size)
    return bool(trailer == (length if length <= PAGE else zlib.crc32(data[at : at + length - U32.size])))
