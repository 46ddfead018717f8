"""Read documents of results with care: text of any encoding, compressed or not; errors in JSON with their place.

A document is held in memory as a whole, so its size is bounded: unpacked, and in the number of its lists and objects.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from ...warehouse.events import Instant, Json, as_json
from ..format import MAX_TEXT, Part, encoding, split_lines
from .packing import PackingError, packing_of, unpacked

MAX_BYTES = 128 << 20  # of a document, unpacked
MAX_CONTAINERS = 4_000_000  # lists and objects of a document: each takes a hundred bytes, however short its text
MAX_LINES = 4_000_000  # of a document that is read by its lines, for the same reason
MAX_DEPTH = 64
INT64 = range(-(2**63), 2**63)  # the whole numbers that a column takes
MOMENT = re.compile(
    r"(\d{4})[-./](\d{1,2})[-./](\d{1,2})(?:(?:T|\s+)(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?)?"
    r"\s*(Z|UTC|[+-]\d{2}(?::?\d{2})?)?",
    re.ASCII,
)
CTIME = re.compile(
    r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) +(\d{1,2}) (\d\d:\d\d:\d\d) (\d{4})", re.ASCII
)  # Mon Jun  1 02:00:00 2026
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
STAMP = re.compile(r"(\d{4})(\d\d)(\d\d)[-_T]?(\d\d)(\d\d)(\d\d)", re.ASCII)  # 20260501-100000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST = 10**17  # µs since 1970, in the year 5138: databases differ in what they can say of later ones
# unix s, ms, µs, ns: 1973 to 5138
CLOCKS = ((1e8, 1e11, 1e6), (1e11, 1e14, 1e3), (1e14, 1e17, 1.0), (1e17, 1e20, 1e-3))


class BadRecord(Exception):
    """A record that cannot be read; the message is the reason."""

    def __init__(self, reason: str, note: str | None = None) -> None:
        """Take the reason; `note` is what to say of a file that has such records, after its name."""
        super().__init__(reason)
        self.note = note


class Object(dict[str, Any]):
    """A JSON object that remembers which fields were read, so that `left` returns all others."""

    __slots__ = ("fields_read", "repeated")

    def __init__(self, pairs: list[tuple[str, Any]] | None = None) -> None:
        super().__init__(pairs or ())
        self.fields_read: set[str] | None = None
        self.repeated: str | None = None
        if pairs and len(self) < len(pairs):
            keys = [key for key, _ in pairs]
            self.repeated = next(key for key in keys if keys.count(key) > 1)

    def take(self, key: str) -> Any:
        """A field, whatever it is; None if it is absent."""
        if self.fields_read is None:
            self.fields_read = set()
        self.fields_read.add(key)
        return self.get(key)

    def text(self, key: str) -> str | None:
        """A text; None if it is absent or null.

        Raises:
            BadRecord: It is something else.
        """
        value = self.take(key)
        if value is not None and not isinstance(value, str):
            raise BadRecord(f"{key} is {show(value)}, not a text")
        return value

    def name(self, key: str) -> str:
        """A text that must be present, not empty, and at most 64 Ki characters long."""
        value = self.text(key)
        if not value or len(value) > MAX_TEXT:
            raise BadRecord(f"no {key}" if not value else f"{key} has {len(value)} characters")
        return value

    def whole(self, key: str) -> int | None:
        """A whole number of 64 bits; None if it is absent or null."""
        value = self.take(key)
        if type(value) is float and value.is_integer():
            value = int(value)
        if value is not None and (type(value) is not int or value not in INT64):
            raise not_whole(key, value)
        return value

    def count(self, key: str) -> int | None:
        """A count, also as a text; anything else stays among the fields that were not read."""
        value = self.get(key)
        text = str(value) if type(value) in (int, str) else ""
        if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text)):
            return None
        self.take(key)
        return int(text)

    def moment(self, key: str) -> Instant | None:
        """A time; anything else stays among the fields that were not read."""
        moment = instant(self.get(key))
        if moment is not None:
            self.take(key)
        return moment

    def section(self, key: str) -> "Object":
        """An object, an empty one if it is absent or null."""
        value = self.take(key)
        if value is not None and not isinstance(value, Object):
            raise BadRecord(f"{key} is {show(value)}, not an object")
        return Object() if value is None else value

    def array(self, key: str) -> list[Any]:
        """A list, an empty one if it is absent or null."""
        value = self.take(key)
        if value is not None and not isinstance(value, list):
            raise BadRecord(f"{key} is {show(value)}, not a list")
        return value or []

    def records(self, key: str) -> "list[Object]":
        """A list of objects."""
        values = self.array(key)
        if any(not isinstance(value, Object) for value in values):
            raise BadRecord(f"{key} is a list of more than objects")
        return values

    def left(self) -> dict[str, Any]:
        """The fields that were not read, here and in nested objects."""
        rest = {}
        for key, value in self.items():
            remains = _left(value) if self.fields_read and key in self.fields_read else value
            if remains is not None:
                rest[key] = remains
        return rest


CONTAINERS = {Object, dict, list}


def _left(value: Any) -> Any:
    if isinstance(value, Object) and value.fields_read:
        return value.left() or None
    if isinstance(value, list):
        return [rest for each in _inside(value) if (rest := _left(each)) is not None] or None
    return None


def read_bytes(part: Part) -> bytes:
    """A whole file, unpacked.

    Raises:
        BadRecord: It is larger than a document may be, or cannot be unpacked.
    """
    if part.end_byte > MAX_BYTES:
        raise _too_large("the file is larger than")
    with part.path.open("rb") as file:
        data = file.read(part.end_byte)
    if packing_of(data) is None:
        return data
    whole = bytearray()
    for piece in unpack(part.path):
        whole += piece
        if len(whole) > MAX_BYTES:
            raise _too_large("unpacks to more than")
    return bytes(whole)


def unpack(path: Path) -> Iterator[bytes]:
    """The unpacked content of a file, in pieces.

    Raises:
        BadRecord: It cannot be unpacked.
    """
    try:
        yield from unpacked(path)
    except PackingError as error:
        raise BadRecord(str(error)) from None


def _too_large(what: str) -> BadRecord:
    return BadRecord(f"{what} {MAX_BYTES >> 20} MiB, and is read as a whole: split it into files of fewer records")


def read_text(part: Part) -> str:
    """A whole file as text: UTF-8, or UTF-16 by its byte order mark, without that mark."""
    return _decoded(read_bytes(part))


def _decoded(data: bytes) -> str:
    try:
        return data.decode(encoding(data))
    except UnicodeDecodeError as error:
        raise BadRecord(f"not {error.encoding} at byte {error.start + 1}") from None


def read_lines(part: Part) -> list[tuple[int, bytes]]:
    """The lines of a whole file in UTF-8, with their numbers; a line that is no UTF-8 is given as it is.

    Raises:
        BadRecord: It cannot be unpacked, is UTF-16 and broken, or has too many lines.
    """
    data = _as_utf8(read_bytes(part))
    if data.count(b"\n") > MAX_LINES:
        raise BadRecord(
            f"has more than {MAX_LINES:,} lines, and is read as a whole: split it into files of fewer lines"
        )
    return list(enumerate(split_lines(data), 1))


def _as_utf8(data: bytes) -> bytes:
    return _decoded(data).encode("utf-8", "surrogatepass") if encoding(data) == "utf-16" else data


def lines_of(text: str) -> list[str]:
    """Its lines as an editor counts them, without their ends."""
    lines = text.replace("\r\n", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def decode(text: str) -> Any:
    """Decode a JSON value. NaN and Infinity are accepted, because many tools write them; callers must check numbers.

    Raises:
        BadRecord: It is not JSON, nested too deeply, or too much.
    """
    if text.count("[") + text.count("{") > MAX_CONTAINERS:
        raise BadRecord(f"more than {MAX_CONTAINERS:,} lists and objects")
    try:
        value = _decoder.decode(text)
    except json.JSONDecodeError as error:
        raise BadRecord(
            f"not valid JSON: {error.msg.removesuffix(' at')} at line {error.lineno}, character {error.colno}"
        ) from None
    except RecursionError:
        raise BadRecord("nested too deeply") from None
    except ValueError as error:  # a number of thousands of digits
        raise BadRecord(f"not valid JSON: {error}") from None
    if _is_deep(value):
        raise BadRecord(f"nested deeper than {MAX_DEPTH} levels")
    return value


_decoder = json.JSONDecoder(object_pairs_hook=Object)


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: Any) -> list[Any]:
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if CONTAINERS.isdisjoint(map(type, values)):  # as of lists of numbers, which may be long
        return []
    return [inner for inner in values if isinstance(inner, dict | list)]


def repeated_key(value: Any) -> str | None:
    """A key that occurs twice in an object, so that one of its values is lost; None if there is none."""
    if isinstance(value, Object) and value.repeated is not None:
        return value.repeated
    return next((key for inner in _inside(value) if (key := repeated_key(inner)) is not None), None)


def show(value: Any) -> str:
    """A value as a reason quotes it."""
    text = json.dumps(value) if isinstance(value, float) else as_json(value)  # which writes Infinity as a text
    return text if len(text) <= 60 else f"{text[:60]}…"


def not_whole(key: str, value: Any) -> BadRecord:
    """The reason to reject a record whose value does not fit its column."""
    return BadRecord(f"{key} is {show(value)}, not a whole number of 64 bits")


def labels(values: Mapping[str, Any]) -> Json | None:
    """The values that are not null or empty, as a JSON object; None if there are none."""
    kept = {key: value for key, value in values.items() if value is not None and value not in ({}, [], "")}
    return as_json(kept) if kept else None


def instant(value: Any) -> Instant | None:
    """A moment: ISO 8601 or the like, in UTC unless it says a zone, or a unix time of any unit; None if it is none."""
    if type(value) in (int, float):
        scale = next((scale for low, high, scale in CLOCKS if low <= value < high), None)
        return None if scale is None else Instant(math.floor(value * scale))
    if not isinstance(value, str) or len(value) >= 100:
        return None
    if stamp := STAMP.fullmatch(value):
        value = "{}-{}-{} {}:{}:{}".format(*stamp.groups())
    elif (said := CTIME.fullmatch(value.strip())) and said[1] in MONTHS:
        value = f"{said[4]}-{MONTHS.index(said[1]) + 1}-{said[2]} {said[3]}"
    match = MOMENT.fullmatch(value.strip())
    if match is None:
        return None
    fraction, zone = (match[7] or "").ljust(6, "0")[:6], match[8] or "Z"
    hours, minutes = ("0", "0") if zone[0] in "ZU" else (zone[:3], f"{zone[0]}{zone[3:].strip(':') or 0}")
    try:
        offset = timezone(timedelta(hours=int(hours), minutes=int(minutes)))
        year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
        since = datetime(year, month, day, hour, minute, second, int(fraction), tzinfo=offset) - EPOCH
    except (ValueError, OverflowError):
        return None
    microseconds = since // timedelta(microseconds=1)
    return Instant(microseconds) if 0 <= microseconds < LAST else None


def companion(folder: Path, relative: str) -> Path | None:
    """A regular file that belongs to a document; None if it does not exist or lies outside the folder."""
    try:
        inside = folder.resolve()
        target = (inside / relative).resolve()
        return target if target.is_relative_to(inside) and target.is_file() else None
    except (OSError, ValueError, RuntimeError):  # a name too long, a NUL, a loop of links
        return None


def read_companion(folder: Path, relative: str) -> bytes | None:
    """The content of a file that belongs to a document; None if it does not exist.

    Raises:
        BadRecord: It cannot be read.
    """
    path = companion(folder, relative)
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadRecord(f"{relative} cannot be read: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise _too_large(f"{relative} is larger than")
    return data


def decode_companion(folder: Path, relative: str) -> Any:
    """The JSON of a file that belongs to a document; None if there is none.

    Raises:
        BadRecord: It cannot be read.
    """
    data = read_companion(folder, relative)
    try:
        return None if data is None else decode(data.decode(encoding(data)))
    except UnicodeDecodeError as error:
        raise BadRecord(f"{relative} is not {error.encoding}") from None
    except BadRecord as error:
        raise BadRecord(f"{relative}: {error}") from None
