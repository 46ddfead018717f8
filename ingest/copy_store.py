"""Other stores of bench: their events are copied into this one, file by file, as they are."""

import os
from pathlib import Path

from ..warehouse.console.numbers import counted
from ..warehouse.errors import BenchError
from ..warehouse.events import TABLES
from ..warehouse.log import IMPORT, EventLog, replaced
from ..warehouse.remote.copying import CopyResult, copy_events
from ..warehouse.remote.inventory import Holding, holding, is_event_file, is_merged, missing
from ..warehouse.remote.places import DamagedFile, Entry, Folder
from ..warehouse.store import Store


def copy(path: Path, store: Store, notes: list[str]) -> int:
    """Copy the files of another store that this one lacks.

    Journals of dead processes are sealed there first, if that store may be written to.

    Args:
        path: Folder of the other store, or one Parquet file of its log.
        store: The store to copy into; the caller holds its lock.
        notes: Receives sentences about what was left out.

    Returns:
        How many files were copied.

    Raises:
        BenchError: The path is this store itself, is not a file of a log, or was renamed.
    """
    here, copied = Folder(store.root), CopyResult()
    if path.is_dir():
        other = Store(path.absolute())
        if other.root.resolve() == store.root.resolve():
            raise BenchError(f"{path} is the store itself. Its own journals are loaded by: bench ingest")
        if os.access(other.root, os.W_OK):
            with other.lock():
                _, left_out = EventLog(other).recover()
            notes += [f"{name} {why}" for name, why in left_out.items()]
        alive = EventLog(other).being_written()
        if alive:
            notes.append(
                f"{path}: {counted(len(alive), 'journal', 'is', 'are')} still written to; "
                "ingest again when their processes are done"
            )
        copy_events(Folder(other.root), here, copied)
        found, unreadable = EventLog(other).listing()
        files = len(found)
        notes += [f"{name} {why}" for name, why in unreadable.items()]
    else:
        _copy_file(path, here, copied)
        files = 1
    notes += [f"{problem} It is left out." for problem in copied.problems.values()]
    left = files - len(copied.entries) - len(copied.problems)
    notes.append(f"{path}: {counted(len(copied.entries), 'event file')} copied, {left} here already")
    return len(copied.entries)


def _copy_file(path: Path, here: Folder, copied: CopyResult) -> None:
    name = f"events/{_table(path)}/{path.name}"
    if not is_event_file(name):  # it is known by its name, and would count again
        raise BenchError(f"{path} has another name than the log gave it. Give a file of events/, or a store's folder.")
    stands_for = {name: frozenset(replaced(path))} if is_merged(name) else {}
    wanted, clashes = missing(Holding({name: Entry(name, path.stat().st_size, 0)}, stands_for), holding(here))
    copied.problems |= clashes
    for entry in wanted:
        try:
            here.put(path, name)
        except DamagedFile as error:
            copied.problems[name] = str(error)
        else:
            copied.entries.append(entry)


def _table(path: Path) -> str:
    """The table of a file of a log, from its metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(path).metadata or {}
    except (pa.ArrowInvalid, OSError) as error:
        raise BenchError(f"{path} cannot be read as Parquet: {error}") from error
    table: str = metadata.get(b"bench.table", b"").decode()
    if table not in TABLES:
        raise BenchError(f"{path} is Parquet, but not of an event log. Give a file of events/, or a store's folder.")
    if path.name.startswith(IMPORT):
        raise BenchError(f"{path} is one file of an import, which counts only whole. Give the store's folder.")
    return table
