"""Other stores of bench: their events are copied into this one, file by file, as they are."""

import os
import shutil
from pathlib import Path

from ..warehouse.errors import BenchError
from ..warehouse.events import TABLES, Source
from ..warehouse.log import IMPORT, MERGED, EventLog, LogFile, replaced, sha256, sync
from ..warehouse.store import Store


def copy(path: Path, store: Store, notes: list[str]) -> int:
    """Copy what another store has and this one has not.

    Journals of dead processes are sealed there first, if that store may be written to.

    Args:
        path: Folder of the other store, or one Parquet file of its log.
        store: The store to copy into; the caller holds its lock.
        notes: What there is to say.

    Returns:
        How many files were copied.

    Raises:
        BenchError: The path is this very store, or no file of a log.
    """
    log = EventLog(store)
    if path.is_dir():
        other = Store(path.absolute())
        if other.root.resolve() == store.root.resolve():
            raise BenchError(f"{path} is the store itself. Its own journals are loaded by: bench ingest")
        if os.access(other.root, os.W_OK):
            with other.lock():
                EventLog(other).recover()
        alive = EventLog(other).journals()
        if alive:
            notes.append(
                f"{path}: {len(alive)} journals are still written to; ingest again when their processes are done"
            )
        files = EventLog(other).files()
    else:
        files = [_log_file(path)]
    have = {file.name for file in log.files()}
    have |= {name for file in log.files() if file.stem.startswith(MERGED) for name in replaced(file.path)}
    new = [file for file in files if file.name not in have]
    copied = 0
    for file in sorted(new, key=lambda file: (file.table == Source.TABLE, file)):  # sources last: they commit imports
        if not sha256(file.path).startswith(file.digest):
            notes.append(f"{file.path} is damaged: it does not match the checksum in its name; left out")
            continue
        folder = store.events / file.table
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / f".{file.name}.tmp"
        shutil.copyfile(file.path, temporary)
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(temporary, folder / file.name)
        sync(folder)
        copied += 1
    notes.append(f"{path}: {copied} event files copied, {len(files) - len(new)} were here already")
    return copied


def _log_file(path: Path) -> LogFile:
    """The file of a log that a path is, by what it says of itself."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        said = pq.read_metadata(path).metadata or {}
    except (pa.ArrowInvalid, OSError) as error:
        raise BenchError(f"{path} cannot be read as Parquet: {error}") from error
    table = said.get(b"bench.table", b"").decode()
    if table not in TABLES:
        raise BenchError(f"{path} is Parquet, but not of an event log. Give a file of events/, or a store's folder.")
    if path.name.startswith(IMPORT):
        raise BenchError(f"{path} is one file of an import, which counts only whole. Give the store's folder.")
    return LogFile(table, path.name, path, path.stat().st_size)
