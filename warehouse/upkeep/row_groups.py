"""Extra parts of an event file that limit damage to row groups: their checksums, a second footer.

Both stand between the rows and the footer, where no reader of Parquet looks, whoever wrote the file:

    row groups, MAGIC, u32 length and u32 CRC-32 of what follows up to the footer,
    zlib of: u32 count, u64 begin, u64 end and u32 CRC-32 of each row group, footer
    footer

Chosen before checksums of pages, which DuckDB does not write, and which leave the head of a page and the footer unchecked.
They cost 0.5 ms and 2 to 3 KB a file. Damage of the footer, or of this, then costs nothing; a file that was cut is lost.
"""

import mmap
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"BENCHRG\n"
HEAD = struct.Struct("<8sII")  # MAGIC, length, CRC-32
GROUP = struct.Struct("<QQI")  # begin, end, CRC-32
U32 = struct.Struct("<I")
PARQUET = b"PAR1"  # at both ends of a file; before the last one stands the footer's length
MOST_BYTES = 1 << 28  # of a footer
MOST_SEARCHED_BYTES = 1 << 22  # for a block whose MAGIC is damaged: a second


@dataclass(frozen=True, slots=True)
class RowGroups:
    """The bytes between the rows and the footer, as written."""

    begin: int  # where the rows end
    block: bytes
    groups: list[tuple[int, int, int]]  # begin, end, CRC-32
    footer: bytes

    def damaged(self, data: mmap.mmap) -> set[int]:
        """Numbers of the row groups that are not what was written."""
        with memoryview(data) as view:
            return {n for n, (begin, end, crc) in enumerate(self.groups) if zlib.crc32(view[begin:end]) != crc}


def protect(path: Path) -> None:
    """Put checksums and a second footer into a Parquet file that has none yet.

    Raises:
        OSError: The disk is full, or may not be written.
    """
    with path.open("r+b") as file:
        file.seek(-len(PARQUET) - U32.size, 2)
        (length,) = U32.unpack(file.read(U32.size))
        begin = file.seek(-length - len(PARQUET) - U32.size, 2)
        footer = file.read()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data, memoryview(data) as view:
            groups = [(first, end, zlib.crc32(view[first:end])) for first, end in _extents(path)]
        packed = zlib.compress(U32.pack(len(groups)) + b"".join(GROUP.pack(*group) for group in groups) + footer)
        file.seek(begin)
        file.write(HEAD.pack(MAGIC, len(packed), zlib.crc32(packed)) + packed + footer)


def _extents(path: Path) -> Iterator[tuple[int, int]]:
    """The beginning and the end of each row group."""
    import pyarrow.parquet as pq

    about = pq.read_metadata(path)
    for number in range(about.num_row_groups):
        group = about.row_group(number)
        columns = [group.column(index) for index in range(group.num_columns)]
        begins = [c.dictionary_page_offset or c.data_page_offset for c in columns]
        yield min(begins), max(at + c.total_compressed_size for at, c in zip(begins, columns, strict=True))


def read_row_groups(data: mmap.mmap) -> RowGroups | None:
    """The extra parts of a file; None if it has none, or they are damaged."""
    at = data.rfind(MAGIC)
    while at >= 0:
        _, length, crc = HEAD.unpack(data[at : at + HEAD.size].ljust(HEAD.size, b"\0"))
        packed = data[at + HEAD.size : at + HEAD.size + min(length, MOST_BYTES)]
        if zlib.crc32(packed) == crc and (found := _parsed(at, HEAD.pack(MAGIC, length, crc) + packed)):
            return found
        at = data.rfind(MAGIC, 0, at)
    return None


def block_begin(data: mmap.mmap, end: int) -> int:
    """The beginning of the block that ends at `end`, also if its MAGIC is damaged; 0 if there is none."""
    at = data.rfind(MAGIC, 0, end)
    if at >= 0:
        return at
    for begin in range(end - HEAD.size, max(0, end - MOST_SEARCHED_BYTES), -1):
        _, length, crc = HEAD.unpack_from(data, begin)
        if begin + HEAD.size + length == end and zlib.crc32(data[begin + HEAD.size : end]) == crc:
            return begin
    return 0


def _parsed(begin: int, block: bytes) -> RowGroups | None:
    try:
        plain = zlib.decompressobj().decompress(block[HEAD.size :], MOST_BYTES)
        (count,) = U32.unpack_from(plain)
        groups = [GROUP.unpack_from(plain, U32.size + number * GROUP.size) for number in range(count)]
    except (zlib.error, struct.error):
        return None
    return RowGroups(begin, block, groups, plain[U32.size + count * GROUP.size :])
