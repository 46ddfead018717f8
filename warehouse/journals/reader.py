"""Reading journals: the rows of a file that `journal` wrote, wherever it was cut and whatever of it is damaged."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..console.numbers import counted
from ..errors import BenchError
from ..files import open_file
from ..journal import ABSENT_BITS, ABSENT_INT, COPIED, HEAD, STRING, U32, Layout
from .parts import Parts, find_parts
from .records import MOST_TEXTS, VOID, Finder, Found, fitting, gather, gather_fields, starts_of, text_at

if TYPE_CHECKING:
    import numpy as np

TYPICAL_BYTES = 64  # of a record, where none can be read: a timing takes 57
DECODED_BYTES = 1 << 22  # of frames at once: enough for numpy to pay, little memory
HEAD_FIELDS = [("length", "<u4"), ("kind", "u1"), ("mask", "<u4")]  # of a record
NUMPY_CODES = {"I": "<u4", "q": "<i8", "H": "<u2", "n": "<i8", "d": "<f8", "?": "?", "Q": "<i8", "D": "<f8"}


class DamagedJournal(BenchError):
    """A part of a journal could not be read. The rest is in the log, and the journal is kept aside."""


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


@dataclass(slots=True)
class Contents:
    """A journal as a reader finds it. Its rows are read in parts, in order, so that memory does not grow with the file."""

    path: Path
    found: Parts
    damage: list[str] = dataclasses.field(
        default_factory=list
    )  # what is lost, in sentences: complete when all rows are read
    strings: dict[int, str] = dataclasses.field(default_factory=dict)
    lost: int = 0  # events

    @property
    def header(self) -> dict[str, Any]:
        """The fields that all rows share."""
        return self.found.header

    @property
    def layouts(self) -> list[Layout]:
        """The layouts, by the kind of a record."""
        return self.found.layouts

    @property
    def unchecked(self) -> int:
        """Bytes of records that no checksum holds for: their writer was killed before it made one, or made none."""
        return self.found.unchecked_bytes

    def parts(self) -> Iterator[list[DecodedRows]]:
        """The rows of a few parts at a time; strings are complete for the rows given, and `damage` at the end."""
        with open_file(self.path) as file:
            reader = _Reader(self, file)
            yield from reader.rows()
        self.damage += reader.sentences()


def is_absent(values: "np.ndarray[Any, Any]", code: str) -> "np.ndarray[Any, Any]":
    """The numbers (code Q or D) that stand for none."""
    import numpy as np

    bits = np.ascontiguousarray(values).view("<i8")
    absent: np.ndarray[Any, Any] = bits == (ABSENT_INT if code == "Q" else ABSENT_BITS)
    return absent


def read(path: Path, *, is_live: bool = False) -> Contents:
    """Read a journal, wherever its end was cut and whatever of it is damaged.

    Args:
        path: The file.
        is_live: Whether a process writes it meanwhile: what it is writing is left for the next time.

    Raises:
        NeverBegun: Nothing was ever recorded in it.
        Unreadable: Its header is damaged or another version's, so none of it can be read.
    """
    with open_file(path) as file:
        return Contents(path, find_parts(file, path, is_live=is_live))


class _Reader:
    """Decodes records into rows that have the same fields."""

    def __init__(self, contents: Contents, file: BinaryIO) -> None:
        import numpy as np

        self._contents, self._file = contents, file
        self._has_all_strings = False
        self._layouts = contents.layouts
        self._strings = contents.strings
        self._finder = Finder(contents.layouts)
        self._is_defined = np.zeros(0, bool)  # by the number of a string
        names = {event.TABLE for event in COPIED}
        self._wide = [kind for kind, layout in enumerate(self._layouts) if layout.has_wide_mask]
        self._copied = [kind for kind, layout in enumerate(self._layouts) if layout.table in names]
        self._seen = set[bytes]()  # records of these kinds
        self._rows, self._bytes = 0, 0
        self._gaps = list[int]()  # bytes of each stretch in which some events are lost

    def rows(self) -> Iterator[list[DecodedRows]]:
        """All rows, and at last those of copies whose originals are lost."""
        gathered, size = list[bytes](), 0
        for part in self._contents.found.parts.values():
            records, damaged = part.read(self._file)
            if part.checked and not damaged:
                gathered.append(records)
                size += len(records)
            if gathered and (size >= DECODED_BYTES or not part.checked or damaged):
                yield self._checked(b"".join(gathered))
                gathered, size = [], 0
            if damaged or not part.checked:
                found = self._finder.find(records, damaged, fill=b"" if part.checked else part.fill)
                yield self._decode(records, self._noted(found))
        if gathered:
            yield self._checked(b"".join(gathered))
        self._estimate()
        if self._contents.lost or self._contents.found.cut_bytes:
            yield from self._copies()

    def _estimate(self) -> None:
        """Count the events that were in gaps and missing parts by what one takes elsewhere, with the texts defined for it."""
        contents, found = self._contents, self._contents.found
        row_bytes = self._bytes / self._rows if self._rows else TYPICAL_BYTES
        contents.lost += sum(max(1, round(gap / row_bytes)) for gap in self._gaps)
        contents.lost += round(found.missing * found.part_bytes / row_bytes)

    def _checked(self, data: bytes) -> list[DecodedRows]:
        """Rows that checksums hold for."""
        starts = starts_of(data)
        if len(starts) and starts[-1] + U32.unpack_from(data, int(starts[-1]))[0] != len(data):  # it was written so
            starts = self._noted(self._finder.find(data))
        return self._decode(data, starts)

    def _noted(self, found: Found) -> "np.ndarray[Any, Any]":
        self._contents.lost += found.lost
        self._gaps += found.gaps
        return found.starts

    def _copies(self) -> Iterator[list[DecodedRows]]:
        """Rows of copies that are in no part."""
        import numpy as np

        for data, starts in list(self._found_copies()):
            kinds = gather(data, "u1", starts + U32.size)
            missing = [
                start
                for start, kind in zip(starts.tolist(), kinds.tolist(), strict=True)
                if kind in self._copied and _record(data, start) not in self._seen
            ]
            rows = self._decode(data, np.array(missing, np.int64))
            self._contents.lost = max(0, self._contents.lost - sum(len(each.places) for each in rows))
            yield rows

    def _found_copies(self) -> Iterator[tuple[bytes, "np.ndarray[Any, Any]"]]:
        for part in self._contents.found.parts.values():
            if part.copies:
                copies, damaged = part.read_copies(self._file)
                yield copies, self._finder.find(copies, damaged, fill=b"\0").starts

    def sentences(self) -> list[str]:
        """The losses, a sentence each."""
        contents, found = self._contents, self._contents.found
        said = list[str]()
        if found.cut_bytes:
            said.append(f"it was cut: {found.cut_bytes:,} bytes are missing")
        if found.missing:
            said.append(f"{found.missing} of {found.missing + len(found.parts)} parts are missing")
        if found.cut_bytes and not contents.lost:
            said.append("nothing tells how many events are lost")
        elif contents.lost or said:
            number = "at least " if found.cut_bytes else "about " if self._gaps or found.missing else ""
            said.append(f"{number}{counted(contents.lost, 'event', 'is', 'are')} lost")
        return said

    def _decode(self, data: bytes, starts: "np.ndarray[Any, Any]") -> list[DecodedRows]:
        """The rows of records; strings that they define are added to the contents'."""
        import numpy as np

        heads = gather(data, f"V{HEAD.size}", starts).view(np.dtype(HEAD_FIELDS))  # one look at each record
        kinds, masks, ends = (
            np.ascontiguousarray(heads["kind"]), heads["mask"].astype(np.int64), starts + heads["length"] - U32.size
        )  # fmt: skip
        wide = _are(kinds, self._wide)
        if wide.any():
            wide[wide] &= starts[wide] + HEAD.size + U32.size <= len(data)
            masks[wide] |= gather(data, "<u4", starts[wide] + HEAD.size).astype(np.int64) << 32
        strings = np.flatnonzero(kinds == STRING)
        self._define(data, starts[strings], masks[strings])
        self._seen |= {_record(data, start) for start in starts[_are(kinds, self._copied)].tolist()}
        self._lose(int(((kinds >= len(self._layouts)) & (kinds < VOID)).sum()))
        found = []
        shapes = masks << 8 | kinds
        changes = np.flatnonzero(shapes[1:] != shapes[:-1]) + 1  # few: rows of one shape follow one another
        for shape in sorted({*shapes[:1].tolist(), *shapes[changes].tolist()}):
            if (kind := shape & 255) < len(self._layouts):
                layout, places = self._layouts[kind], np.flatnonzero(shapes == shape)
                own = starts[places]
                fits = fitting(data, own, ends[places], layout, shape >> 8)
                if not fits.all():
                    self._lose(int((~fits).sum()))
                    places, own = places[fits], own[fits]
                columns = dict(_columns(data, own, layout, shape >> 8))
                found.append(self._with_strings(DecodedRows(layout, places, columns)))
        self._rows += sum(len(rows.places) for rows in found)
        self._bytes += int(heads["length"].sum(dtype=np.int64))
        return [rows for rows in found if len(rows.places)]

    def _lose(self, events: int) -> None:
        self._contents.lost += events

    def _define(self, data: bytes, starts: "np.ndarray[Any, Any]", numbers: "np.ndarray[Any, Any]") -> None:
        for start, number in zip(starts.tolist(), numbers.tolist(), strict=True):
            if 0 < number < MOST_TEXTS:
                self._strings[number] = text_at(data, start)

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
        self._lose(int((~good).sum()))
        columns = {name: column.of(good) for name, column in rows.columns.items()}
        return DecodedRows(rows.layout, rows.places[good], columns)

    def _defined(self, numbers: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
        """The strings of these that are known."""
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
        """Read the definitions in all parts and copies."""
        found = list(self._found_copies())
        for part in self._contents.found.parts.values():
            records, damaged = part.read(self._file)
            fill = b"" if part.checked else part.fill
            found.append((records, self._finder.find(records, damaged, fill=fill).starts))
        for data, starts in found:
            kinds, numbers = gather(data, "u1", starts + U32.size), gather(data, "<u4", starts + U32.size + 1)
            self._define(data, starts[kinds == STRING], numbers[kinds == STRING])


def _are(kinds: "np.ndarray[Any, Any]", wanted: Iterable[int]) -> "np.ndarray[Any, Any]":
    """Mask (n,) of those of a few wanted kinds; numpy's `isin` takes ten times as long."""
    import numpy as np

    found = np.zeros(len(kinds), bool)
    for kind in wanted:
        found |= kinds == kind
    return found


def _record(data: bytes, at: int) -> bytes:
    (length,) = U32.unpack_from(data, at)
    return data[at : at + length]


def _columns(
    data: bytes, starts: "np.ndarray[Any, Any]", layout: Layout, mask: int
) -> Iterator[tuple[str, FieldValues]]:
    """The values of the fields of records that have the same ones."""
    import numpy as np

    at = starts + HEAD.size + U32.size * layout.has_wide_mask  # of the field
    for are_lists, group in itertools.groupby(layout.present(mask), lambda field: field[1][0] == "*"):
        fields = list(group)
        if not are_lists:  # side by side, so that one look at each record is enough
            together = np.dtype([("", NUMPY_CODES[code]) for _, code in fields])
            for (name, code), values in zip(fields, gather_fields(data, together, at), strict=True):
                yield name, FieldValues(code, values)
            at = at + together.itemsize
            continue
        for name, code in fields:
            kind = np.dtype(NUMPY_CODES[code[-1]])
            counts = gather(data, "<u4", at).astype(np.int64)
            at = at + U32.size
            before = counts.cumsum() - counts  # items of the lists before
            items = (at - before * kind.itemsize).repeat(counts) + np.arange(counts.sum()) * kind.itemsize
            yield name, FieldValues(code, gather(data, kind, items), counts)
            at = at + counts * kind.itemsize
