"""A JSON document that is one long list, or holds one under a key, in blocks of whole elements: gigabytes in little memory.

Where a block ends is guessed: at the last `}` that a comma and a `{` follow. Within a text or a nested list such a guess is
wrong, and then the block is no list of whole elements. Its reader finds that out by parsing it, and has it split exactly
(`elements`); what was torn goes before the next block. So nothing depends on the guess but time.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..format import MAX_LINE_BYTES, Part
from .document import BadRecord
from .text_pieces import pieces

BLOCK_BYTES = 32 << 20
BETWEEN = re.compile(rb"\}\s*,\s*\{")
BETWEEN_TEXT = re.compile(BETWEEN.pattern.decode())
BLANK = re.compile(r"[\s,]*")
ELEMENT = 1 << 12  # characters that most elements are shorter than
LONGEST_WORD = 16  # characters of -Infinity, or of an escape, which may be cut
LOOK_BACK = 1 << 16  # bytes in which the end of a block is looked for first


@dataclass(frozen=True, slots=True)
class TornElement:
    """Text in the place of an element that is not one."""

    text: str
    reason: str


class JsonArray:
    """The long list of a document, and the document around it."""

    def __init__(self, part: Part, key: str) -> None:
        """Read up to the list.

        Raises:
            BadRecord: There is none within the first 16 MiB.
        """
        self.problem: str | None = None  # why there was no more to read
        self._pieces = pieces(part)
        self._rest = b""  # read, and not given to anybody yet
        self._at_end = self._is_closed = self._is_torn = False
        begin = re.compile(rb'\A\s*\[|"%b"\s*:\s*\[' % re.escape(key.encode()))
        while (found := begin.search(self._rest)) is None:
            if self._at_end or len(self._rest) > MAX_LINE_BYTES:
                raise BadRecord(self.problem or f"has no list {key!r}")
            self._fill(len(self._rest) + 1)
        self._around = [self._rest[: found.end()]]
        self._rest = self._rest[found.end() :]

    def blocks(self) -> Iterator[bytes]:
        """Elements, most likely whole ones, with what separates them, also before the first; not the brackets around."""
        while not self._is_closed:
            self._fill(BLOCK_BYTES + len(self._rest) * self._is_torn)
            block = self._rest
            if not block:
                return
            end = None if self._is_torn and self._at_end else _last_end(block)
            self._is_torn = False
            self._rest = b"" if end is None else block[end:]
            yield block[:end]

    def elements(self, block: bytes) -> Iterator[Any]:
        """The elements of a block, exactly; what is none is Torn."""
        text, at = block.decode("utf-8", "surrogateescape"), 0
        while (at := past(BLANK, text, at)) < len(text):
            if text[at] == "]":
                self._is_closed = True
                self._around.append(_encode(text[at:]) + self._rest)
                return
            try:
                value, at = _element(text, at)
            except _NotOne as error:
                following = BETWEEN_TEXT.search(text, at)
                more_to_come = self._rest or not self._at_end
                if (following is None or error.wants_more) and more_to_come and len(text) - at <= MAX_LINE_BYTES:
                    self._rest, self._is_torn = _encode(text[at:]) + self._rest, True
                    return
                end = following.start() + 1 if following else len(text)
                yield TornElement(text[at:end], str(error))
                at = end
            else:
                yield value

    def around(self) -> str:
        """The document with the list empty.

        Raises:
            BadRecord: The list does not end, or much comes after it, or what is around is no text.
        """
        if not self._is_closed:
            raise BadRecord(self.problem or "ends within the list")
        self._rest = b""
        self._fill(MAX_LINE_BYTES)
        if len(self._rest) >= MAX_LINE_BYTES:
            raise BadRecord("goes on for more than 16 MiB after the list")
        try:
            return b"".join((*self._around, self._rest)).decode()
        except UnicodeDecodeError:
            raise BadRecord("not UTF-8 around the list") from None

    def _fill(self, size: int) -> None:
        """Read until so many bytes are at hand, or no more come."""
        read, have = [self._rest], len(self._rest)
        try:
            while have < size and not self._at_end:
                piece = next(self._pieces, b"")
                self._at_end = not piece
                read.append(piece)
                have += len(piece)
        except BadRecord as error:
            self.problem, self._at_end = str(error), True
        self._rest = b"".join(read)


def _last_end(block: bytes) -> int | None:
    """The apparent end of the last element that another follows; None if there is none."""
    back = LOOK_BACK
    while True:
        ends = [match.start() + 1 for match in BETWEEN.finditer(block, max(0, len(block) - back))]
        if ends or back >= len(block):
            return ends[-1] if ends else None
        back *= 16


class _NotOne(Exception):
    """An element that is missing here; the message is the reason, the same for all that are wrong in the same way."""

    def __init__(self, reason: str, *, wants_more: bool) -> None:
        super().__init__(reason)
        self.wants_more = wants_more  # whether it may be the beginning of one


def _element(text: str, at: int) -> tuple[Any, int]:
    """The element at a place, and where it ends.

    Python's error counts the lines of all that it was given, so it is given a short piece, and a longer one where that
    ends too early: the time of many bad elements would be quadratic otherwise.

    Raises:
        _NotOne: There is none.
    """
    size = ELEMENT
    while True:
        piece, is_last = text[at : at + size], at + size >= len(text)
        try:
            value, end = _decoder.raw_decode(piece)
        except json.JSONDecodeError as error:
            at_end = error.pos >= len(piece.rstrip()) or error.msg.startswith("Unterminated")
            if is_last or not (at_end or error.pos > len(piece) - LONGEST_WORD):
                raise _NotOne(f"not valid JSON: {error.msg}", wants_more=is_last and at_end) from None
        except ValueError as error:  # a number of thousands of digits
            raise _NotOne(f"not valid JSON: {error}", wants_more=False) from None
        except RecursionError:
            raise _NotOne("nested too deeply", wants_more=False) from None
        else:
            if is_last or end < len(piece):  # else it may be the beginning of a longer number
                return value, at + end
        size *= 4


_decoder = json.JSONDecoder()


def past(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Behind what matches at a place of a text; that place if nothing does."""
    match = pattern.match(text, at)
    return match.end() if match else at


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
