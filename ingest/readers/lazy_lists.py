"""JSON documents with a few long lists of records: such a list stays text and is decoded one record at a time.

In memory are the text, 8 bytes a record, and one record: not the objects of all of them, which take several times as much.
"""

import json
import re
from array import array
from collections.abc import Iterator
from typing import Any

from ..format import MAX_TEXT, Part
from . import document
from .document import BadRecord, decode, repeated_key
from .json_format import UnlocatedRecords
from .json_stream import past
from .text_pieces import pieces

MAX_BYTES = 1 << 30  # of such a document, unpacked
LONG_BYTES = 1 << 20  # of a list that stays text
WINDOW_BYTES = 1 << 20  # that are decoded at once, to find where records end
PLACE = "\0list"  # the key of what stands in the place of such a list while the rest is decoded
BLANK = re.compile(r"\s*")


class LongList(list[Any]):
    """A list that is still text; code that does not know it sees an empty list."""

    def __init__(self, data: bytearray, starts: "array[int]") -> None:
        super().__init__()
        self._data = data
        self._starts = starts  # of each record, and behind the last

    def __bool__(self) -> bool:
        return True  # so that `value or []` is this one

    def records(self) -> Iterator[Any]:
        """The records, each decoded as it is asked for; Broken where it is too deep, or repeats a key."""
        for index in range(len(self._starts) - 1):
            start, end = self._starts[index : index + 2]
            text = self._data[start:end].decode("utf-8", "replace").strip(", \t\r\n")
            try:
                record = decode(text)
                if (key := repeated_key(record)) is not None:
                    raise BadRecord(f"repeats the key {key!r}")
                yield record
            except BadRecord as error:
                yield UnlocatedRecords(text[:MAX_TEXT], error)

    @property
    def size(self) -> int:
        """The number of items."""
        return len(self._starts) - 1


def records_in(value: Any) -> Iterator[Any]:
    """The records of a list, long or not; none of what is no list."""
    return value.records() if isinstance(value, LongList) else iter(value if isinstance(value, list) else ())


def count_in(value: Any) -> int:
    """The number of records that `records_in` gives."""
    return value.size if isinstance(value, LongList) else len(value) if isinstance(value, list) else 0


def read_document(part: Part, *keys: str) -> Any:
    """The document of a file, lists under these keys that are longer than 1 MiB as LongList.

    Raises:
        BadRecord: It is no document, or larger than 1 GiB, or without such lists than any document may be.
    """
    data = bytearray()
    for piece in pieces(part):
        data += piece
        if len(data) > MAX_BYTES:
            raise BadRecord(f"larger than {MAX_BYTES >> 20} MiB: split it into files of fewer records")
    if len(data) <= LONG_BYTES:
        return decode(_text(data))
    lists: list[LongList] = []
    around = bytearray()
    begin = re.compile(rb'(?<!\\)"(?:%b)"\s*:\s*\[' % b"|".join(re.escape(key.encode()) for key in keys))
    done = 0
    while found := begin.search(data, done):
        starts = _starts(data, found.end())
        around += data[done : found.end() - 1]
        done = starts[-1] + 1 if len(starts) else found.end()
        if done - found.end() > LONG_BYTES:
            around += json.dumps({PLACE: len(lists)}).encode()
            lists.append(LongList(data, starts))
        else:
            around += data[found.end() - 1 : done]
    around += data[done:]
    if len(around) > document.MAX_BYTES:
        raise BadRecord(f"larger than {document.MAX_BYTES >> 20} MiB without its lists of {', '.join(keys)}")
    return _placed(decode(_text(around)), lists)


def _text(data: bytearray) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadRecord(f"not {error.encoding} at byte {error.start + 1}") from None


def _starts(data: bytearray, at: int) -> "array[int]":
    """The places where the elements of a list begin, whose bracket is before `at`, and that of its last bracket.

    Raises:
        BadRecord: One of them is no JSON, or the list does not end.
    """
    starts, window = array("Q"), WINDOW_BYTES
    scan = json.JSONDecoder().raw_decode
    while True:
        text = data[at : at + window].decode("utf-8", "surrogateescape")
        is_last, plain, done = at + window >= len(data), text.isascii(), 0
        problem = "the list does not end"
        while (begin := past(BLANK, text, done)) < len(text):
            if text[begin] == "]":
                starts.append(at + (begin if plain else _size(text[:begin])))
                return starts
            try:
                _, end = scan(text, begin)
            except (ValueError, RecursionError) as error:
                problem = "nested too deeply" if isinstance(error, RecursionError) else f"not valid JSON: {error}"[:200]
                break
            following = past(BLANK, text, end)
            if following >= len(text):
                break  # what follows may belong to it
            if text[following] not in ",]":
                raise BadRecord("not valid JSON: no comma between elements of a list")
            starts.append(at + (begin if plain else _size(text[:begin])))
            done = following + (text[following] == ",")
        if not done and is_last:
            raise BadRecord(problem)
        window = WINDOW_BYTES if done else window * 4
        at += done if plain else _size(text[:done])


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _placed(value: Any, lists: list[LongList]) -> Any:
    """A document with the lists in their places."""
    if isinstance(value, dict):
        at = value.get(PLACE)
        if len(value) == 1 and type(at) is int and 0 <= at < len(lists):
            return lists[at]
        for key, inner in value.items():
            value[key] = _placed(inner, lists)
    elif isinstance(value, list):
        value[:] = [_placed(inner, lists) for inner in value]
    return value
