"""The beginnings of a journal's records, also between damaged ones, which are found again by their trailers."""

import functools
import itertools
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..journal import HEAD, SMALLEST, STRING, U32, U64, WINDOW_PAGE, Layout

if TYPE_CHECKING:
    import numpy as np

VOID = 254  # in a journal of the first layout: a row that did not fit its columns
MOST_TEXTS = 1 << 23  # in a journal; a number beyond is damage
FEWEST_ALIKE = 64  # records in a stretch, in the mean, for which it is worth while to copy each stretch by itself
ALIKE, AT_ONCE = 32, 1 << 13  # after so many records of one length, so many more are looked at by numpy


@dataclass(slots=True)
class Found:
    """The records of a stretch."""

    starts: "np.ndarray[Any, Any]"  # (n,) of those that are whole
    lost: int = 0  # events
    gaps: list[int] = field(default_factory=list)  # bytes of each stretch in which some events are lost


def starts_of(data: bytes) -> "np.ndarray[Any, Any]":
    """The beginnings of the records that checksums hold for. In a hot loop most have the length of the one before."""
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


class Finder:
    """Finds the records of one journal where no checksum holds, or not all do."""

    def __init__(self, layouts: Sequence[Layout]) -> None:
        self._layouts = layouts
        self._shape = functools.lru_cache(maxsize=4096)(self._shape_of)

    def find(self, data: bytes, damaged: Collection[int] = (), *, fill: bytes = b"") -> Found:
        """The records that are whole, by their trailers, and that lie in no damaged page.

        Args:
            data: Records one after the other.
            damaged: Numbers of the pages whose checksums do not hold.
            fill: The byte that follows in a window, whose last record may be one that was being written when its writer was
                killed; empty if the data end with a record.
        """
        import numpy as np

        starts, found, candidates = list[int](), Found(np.zeros(0, np.int64)), None
        at, end, usual = 0, len(data.rstrip(fill)) if fill else len(data), 0
        while at < end:
            length = self.whole(data, at)
            if length:
                if damaged and any(
                    page in damaged for page in range(at // WINDOW_PAGE, (at + length - 1) // WINDOW_PAGE + 1)
                ):
                    found.lost += data[at + U32.size] not in (STRING, VOID)
                else:
                    starts.append(at)
                usual = length if data[at + U32.size] != STRING else usual
                at += length
                continue
            if candidates is None:
                candidates = _candidates(data, len(self._layouts))
            following = self._next(data, at + 1, candidates)
            if following is None:
                if _has_trailer(data[at:end]):
                    found.lost += 1
                elif not _is_torn(data, at, end, fill):
                    found.gaps.append(end - at)
                break
            gap, size = following - at, self.whole(data, following)
            if gap in (size, *U32.unpack_from(data, at)):
                found.lost += 1
            elif size == usual and gap % size == 0:
                found.lost += gap // size
            else:
                found.gaps.append(gap)
            at = following
        found.starts = np.array(starts, np.int64)
        return found

    def whole(self, data: bytes, at: int) -> int:
        """The length of the record that stands here; 0 where none does, by its trailer and its layout."""
        if at + SMALLEST > len(data):
            return 0
        length, kind, mask = HEAD.unpack_from(data, at)
        if length < SMALLEST or at + length > len(data):
            return 0
        (trailer,) = U32.unpack_from(data, at + length - U32.size)
        if (length <= WINDOW_PAGE and trailer != length) or not self._fits(data, at, length, kind, mask):
            return 0
        if length > WINDOW_PAGE and trailer != zlib.crc32(memoryview(data)[at : at + length - U32.size]):
            return 0
        return int(length)

    def _fits(self, data: bytes, at: int, length: int, kind: int, mask: int) -> bool:
        """Return whether a record of this length is one of its layout."""
        if kind in (STRING, VOID):
            return kind == VOID or 0 < mask < MOST_TEXTS
        if kind >= len(self._layouts):
            return False
        place, end = at + HEAD.size, at + length - U32.size
        if self._layouts[kind].has_wide_mask:
            if end - at < HEAD.size + U32.size:
                return False
            (mask,) = U64.unpack_from(data, at + HEAD.size - U32.size)
            place += U32.size
        for before, item in self._shape(kind, mask):
            place += before
            if not item:
                break
            if place + U32.size > end:
                return False
            place += U32.size + item * U32.unpack_from(data, place)[0]
        return place == end

    def _shape_of(self, kind: int, mask: int) -> tuple[tuple[int, int], ...]:
        """Bytes before each list and bytes of its items; at last the bytes behind them, and 0."""
        layout = self._layouts[kind]
        if mask >> sum(nullable for *_, nullable in layout.fields):
            return ((-1, 0),)  # it has fields that the layout lacks
        return layout.shape(mask)

    def _next(self, data: bytes, at: int, candidates: "np.ndarray[Any, Any]") -> int | None:
        import numpy as np

        effort = 16 * len(data)  # a file made to harm could have any number of long records, one in the other
        for place in candidates[np.searchsorted(candidates, at) :].tolist():
            length, kind, mask = HEAD.unpack_from(data, place)
            if length > WINDOW_PAGE and self._fits(data, place, length, kind, mask):
                effort -= length
            if effort < 0:
                break
            if self.whole(data, place):
                return int(place)
        return None


def _is_torn(data: bytes, at: int, end: int, fill: bytes) -> bool:
    """Return whether no record was written here, behind the last whole one of a window, or one was just being written."""
    rest = data[at:end]
    left, (length,) = len(rest), U32.unpack(rest[: U32.size].ljust(U32.size, b"\0"))
    if not fill:
        return False
    if left <= length <= len(data) - at and not data[at + length - U32.size : at + length].strip(fill):
        return True
    if fill.strip(b"\0") and rest.startswith(fill * U32.size):
        return True  # what was never written has changed
    return (int.from_bytes(rest) ^ int.from_bytes(fill * left)).bit_count() == 1  # so has one bit


def _has_trailer(record: bytes) -> bool:
    """Return whether these bytes are one record, whatever length stands at their beginning."""
    length, trailer = U32.pack(len(record)), record[-U32.size :]
    if len(record) <= WINDOW_PAGE:
        return trailer == length
    return trailer == U32.pack(zlib.crc32(memoryview(record)[U32.size : -U32.size], zlib.crc32(length)))


def _candidates(data: bytes, layouts: int) -> "np.ndarray[Any, Any]":
    """The places where records may begin: a length, a kind that there is, and in a short one the trailer."""
    import numpy as np

    count = len(data) - SMALLEST + 1
    if count <= 0:
        return np.zeros(0, np.int64)
    lengths = np.ndarray((len(data) - U32.size + 1,), "<u4", data, 0, (1,))
    kinds = np.frombuffer(data, np.uint8)[U32.size : U32.size + count]
    places = np.flatnonzero(
        (lengths[:count] >= SMALLEST) & ((kinds < layouts) | (kinds >= VOID)) & (lengths[:count] <= len(data))
    )
    size = lengths[places].astype(np.int64)
    places, size = places[places + size <= len(data)], size[places + size <= len(data)]
    found: np.ndarray[Any, Any] = places[(size > WINDOW_PAGE) | (lengths[places + size - U32.size] == size)]
    return found


def fitting(
    data: bytes, starts: "np.ndarray[Any, Any]", ends: "np.ndarray[Any, Any]", layout: Layout, mask: int
) -> "np.ndarray[Any, Any]":
    """The records (n,) of one layout and mask that have the length that these demand, with `ends` before their trailers."""
    import numpy as np

    at, fits = starts + HEAD.size + U32.size * layout.has_wide_mask, np.ones(len(starts), bool)
    if mask >> sum(nullable for *_, nullable in layout.fields):
        return ~fits
    for before, item in layout.shape(mask):
        at = at + before
        if item:
            fits &= at + U32.size <= ends
            at = at + U32.size + item * gather(data, "<u4", np.where(fits, at, 0)).astype(np.int64)
    fits &= at == ends
    return fits


def gather(data: bytes, kind: Any, places: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """Values that begin at these places, which need not be aligned."""
    import numpy as np

    kind = np.dtype(kind)
    count = max(0, len(data) - kind.itemsize + 1)
    found: np.ndarray[Any, Any] = np.ndarray((count,), kind, data, 0, (1,))[places]
    return found


def gather_fields(data: bytes, kind: "np.dtype[Any]", places: "np.ndarray[Any, Any]") -> "list[np.ndarray[Any, Any]]":
    """The fields of structures of this kind that begin at these places, one array each."""
    import numpy as np

    steps = np.diff(places)
    usual = int(steps[len(steps) // 3]) if len(steps) else 1
    ends = [0, *(np.flatnonzero(steps != usual) + 1).tolist(), len(places)]
    if len(ends) * FEWEST_ALIKE > len(places):
        # As bytes first: numpy copies a structure field by field, which takes longer where each has its place.
        found = gather(data, f"V{kind.itemsize}", places).view(kind)
        return [np.ascontiguousarray(found[name]) for name in kind.names or ()]
    # In a hot loop all are as far apart: each field is copied from where it stands, not the structure first.
    columns = [np.empty(len(places), kind[name]) for name in kind.names or ()]
    for begin, end in itertools.pairwise(ends):
        stretch = np.ndarray((end - begin,), kind, data, int(places[begin]), (usual,))
        for name, column in zip(kind.names or (), columns, strict=True):
            column[begin:end] = stretch[name]
    return columns


def text_at(data: bytes, at: int) -> str:
    """The number and text of a string's definition."""
    (length,) = U32.unpack_from(data, at)
    return data[at + HEAD.size : at + length - U32.size].decode("utf-8", "backslashreplace")
