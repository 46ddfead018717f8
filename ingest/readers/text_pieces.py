"""The text of a file in pieces and in lines, unpacked and as UTF-8: gigabytes in little memory."""

import codecs
import zlib
from collections.abc import Iterable, Iterator
from typing import IO

from ..format import BLOCK_BYTES, MAX_LINE_BYTES, Part, count_lines, encoding, split_lines
from .document import BadRecord, unpack
from .packing import PIECE_BYTES, packing_of

UNPACKED_BYTES = 64 << 30  # of a packed document


def numbered_lines(part: Part, *, blank_end: bool = True) -> Iterator[tuple[int, bytes]]:
    """The lines of a part as `line_blocks` reads them, with their numbers."""
    number = part.first_line
    for block in line_blocks(part, blank_end=blank_end):
        yield from enumerate(split_lines(block), number)
        number += count_lines(block)


def line_blocks(part: Part, *, blank_end: bool) -> Iterator[bytes]:
    """The bytes of a part in blocks of whole lines; without `blank_end` up to the last line that is not blank.

    A file that is packed or UTF-16 is given as UTF-8.

    Raises:
        BadRecord: It cannot be unpacked from here on, or is no UTF-16, or a line of it is longer than a record may be.
    """
    with part.path.open("rb") as file:
        start = file.read(8)
    is_plain = not packing_of(start) and encoding(start) != "utf-16"
    blocks = part.blocks() if is_plain else _without_lines(part.first_line - 1, _whole_lines(pieces(part)))
    yield from blocks if blank_end else _without_blank_end(blocks)


def _whole_lines(read: Iterator[bytes]) -> Iterator[bytes]:
    """Pieces joined to blocks of whole lines; what comes before an error is given first."""
    some: list[bytes] = []
    size = 0
    problem = None
    while True:
        try:
            piece = next(read, b"")
        except BadRecord as error:
            piece, problem = b"", error
        if not piece:
            break
        some.append(piece)
        size += len(piece)
        if size >= BLOCK_BYTES and b"\n" in piece:
            block = b"".join(some)
            cut = block.rfind(b"\n") + 1
            yield block[:cut]
            some, size = [block[cut:]], len(block) - cut
        elif size > MAX_LINE_BYTES + BLOCK_BYTES:
            raise BadRecord(f"has a line longer than {MAX_LINE_BYTES >> 20} MiB")
    rest = b"".join(some)
    if problem is not None:  # the line that it cut is none
        rest = rest[: rest.rfind(b"\n") + 1]
    if rest:
        yield rest
    if problem is not None:
        raise problem


def _without_lines(count: int, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The blocks without the first lines."""
    for block in blocks:
        at = 0
        while count and at < len(block):
            at = block.find(b"\n", at) + 1 or len(block)
            count -= 1
        if at < len(block):
            yield block[at:]


def _without_blank_end(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The blocks up to the last line that is not blank; blank ones wait packed, for there may be gigabytes of them."""
    waiting: list[bytes] = []
    for block in blocks:
        if filled := len(block.rstrip()):
            yield from map(zlib.decompress, waiting)
            waiting.clear()
            cut = block.find(b"\n", filled) + 1 or len(block)
            yield block[:cut]
            block = block[cut:]
        if block:
            waiting.append(zlib.compress(block, 1))


def pieces(part: Part) -> Iterator[bytes]:
    """The unpacked content of a file in UTF-8 without a mark, a piece at a time.

    Raises:
        BadRecord: It cannot be unpacked, or is no UTF-16 though its mark says so, or unpacks to more than 64 GiB.
    """
    with part.path.open("rb") as file:
        packed = packing_of(file.read(8))
        file.seek(0)
        read = _bounded(unpack(part.path)) if packed else _read(file, part.end_byte)
        first = next(read, b"")
        coding = encoding(first)
        if coding != "utf-16":
            yield first.removeprefix(codecs.BOM_UTF8)
            yield from read
            return
        decoder = codecs.getincrementaldecoder(coding)()
        try:
            yield decoder.decode(first).encode("utf-8", "surrogatepass")
            for piece in read:
                yield decoder.decode(piece).encode("utf-8", "surrogatepass")
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            raise BadRecord("not utf-16") from None


def _read(file: IO[bytes], end: int) -> Iterator[bytes]:
    while end > 0 and (piece := file.read(min(PIECE_BYTES, end))):
        end -= len(piece)
        yield piece


def _bounded(unpacked: Iterator[bytes]) -> Iterator[bytes]:
    size = 0
    for piece in unpacked:
        size += len(piece)
        if size > UNPACKED_BYTES:
            raise BadRecord(f"unpacks to more than {UNPACKED_BYTES >> 30} GiB")
        yield piece
