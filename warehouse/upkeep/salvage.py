"""Salvage of a damaged file of the log: the row groups whose checksums hold."""

import mmap
from collections.abc import Set
from dataclasses import replace
from pathlib import Path

from ..console.numbers import counted
from ..files import make_folder, open_file
from ..log import RESTORE, LogFile, sha256
from .row_groups import PARQUET, block_begin, protect, read_row_groups


def salvage(file: LogFile, folder: Path) -> tuple[LogFile, str] | None:
    """Copy what is whole of a damaged file into a folder.

    Returns:
        The file, which has its name and lies there, and a sentence on what is lost, to follow the name; None if nothing can
        be read, or nobody can say whether it is what was written.
    """
    import pyarrow as pa

    there = folder / file.name
    try:
        with open_file(file.path) as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
            make_folder(folder)
            lost = _salvage(data, there, file.digest)
    except (OSError, ValueError, pa.ArrowException):  # ValueError: it is empty
        return None
    if lost is None:
        return None
    return replace(file, path=there, size_bytes=there.stat().st_size), f"is damaged: {lost}. {RESTORE}"


def _salvage(data: mmap.mmap, there: Path, digest: str) -> str | None:
    """A sentence on what is lost; None if nothing can be kept."""
    whole = "no row is lost, because the damaged part is stored twice"
    found = read_row_groups(data)
    if found is None:  # then it is the damage, or not alone
        end = max(0, len(data) - _footer_bytes(data))
        there.write_bytes(data[: block_begin(data, end)] + data[end:])
        protect(there)
        return whole if sha256(there)[:16] == digest else None
    there.write_bytes(PARQUET + data[len(PARQUET) : found.begin] + found.block + found.footer)
    if sha256(there)[:16] == digest:
        return whole
    return _rewritten(there, found.damaged(data))


def _footer_bytes(data: mmap.mmap) -> int:
    size = len(PARQUET) + 4
    return size + int.from_bytes(data[-size : -len(PARQUET)], "little")


def _rewritten(there: Path, damaged: Set[int]) -> str | None:
    """Leave the row groups that are whole in a file; what is lost, in words, or None if none is whole."""
    import pyarrow.parquet as pq

    part = there.with_suffix(".part")
    with pq.ParquetFile(there) as source:
        rows, kept = source.metadata.num_rows, 0
        with pq.ParquetWriter(part, source.schema_arrow) as writer:
            for number in sorted(set(range(source.num_row_groups)) - damaged):
                group = source.read_row_group(number)
                writer.write_table(group)
                kept += group.num_rows
    part.replace(there)
    if not kept:
        return None
    groups = counted(len(damaged), "row group")
    return f"{rows - kept:,} of its {rows:,} rows, in {groups}, are lost, and left out of every answer"
