"""What is left of a damaged file of the log: the row groups whose pages have the checksums that were written with them."""

from dataclasses import replace
from pathlib import Path

from .. import schema
from ..console.numbers import counted
from ..files import make_folder
from ..log import RESTORE, LogFile


def salvage(file: LogFile, folder: Path) -> tuple[LogFile, str] | None:
    """Copy the whole row groups of a damaged file into a folder.

    Returns:
        The file, which has its name and lies there, and a sentence on what is lost, to follow the name; None if nothing can
        be read, or nobody can say whether it is what was written: its pages have no checksums.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    there = folder / file.name
    try:
        with pq.ParquetFile(file.path, page_checksum_verification=True) as damaged:
            about = damaged.schema_arrow.metadata or {}
            if any(about.get(key.encode()) != value.encode() for key, value in schema.CHECKED_PAGES.items()):
                return None
            groups, rows, kept = damaged.num_row_groups, damaged.metadata.num_rows, 0
            make_folder(folder)
            with pq.ParquetWriter(there, damaged.schema_arrow) as writer:
                for number in range(groups):
                    try:
                        group = damaged.read_row_group(number)
                        group.validate(full=True)
                    except (OSError, ValueError, pa.ArrowException):
                        continue
                    writer.write_table(group)
                    kept += group.num_rows
                    groups -= 1
    except (OSError, ValueError, pa.ArrowException):
        return None
    if (
        not 0 < kept < rows
    ):  # with all rows the damage is where the file says what is where, and any of them may be wrong
        return None
    lost = f"{rows - kept:,} of its {rows:,} rows, in {counted(groups, 'row group')}, are lost, and left out of every answer"
    return replace(file, path=there, size_bytes=there.stat().st_size), f"is damaged: {lost}. {RESTORE}"
