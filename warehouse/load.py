"""Loading: the event log into the warehouse.

Deleting the warehouse loses nothing: the next load, or `rebuild`, derives it again.

This file is long because a load is one piece: what is sealed, known, left out and noted.
"""

import contextlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from .changes import RunChanges, forgets, needs_rebuild
from .errors import BenchError
from .events import (
    TABLES,
    CaseRecord,
    Environment,
    Event,
    MemorySample,
    Metric,
    Outcome,
    RunChange,
    RunRecord,
    ScheduleChunk,
    Source,
    Timing,
)
from .interruption import breakable
from .log import RESTORE, SPILL, SPLIT, EventLog, LogFile, archived, path_list, sha256, unmerged
from .log_files import DAMAGED, LeftOut, counting_files, covered_names, readable
from .schema import SQL_TYPES, create_tables, quote
from .snapshot import LoadedFile, cannot_build, new_version, open_current
from .store import Notify, Store
from .upkeep.healing import is_damage, note_damage
from .views import compute_derived

if TYPE_CHECKING:
    import duckdb

DAMAGED_SINCE = (
    "was damaged after it was loaded: all of its events are still in the answers, and a rebuild may lose some. "
    "Restore it from a copy."
)
GONE = (
    "is gone from the log after it was loaded: its events are still in the answers, and a rebuild would lose them. "
    "Restore it from a copy."
)
READ_FOR_AN_ANSWER = 1 << 25  # bytes
DERIVING_MEMORY = "2GB"  # medians are taken over all samples of a case

# what derived tables are computed from
DERIVING: tuple[type[Event], ...] = (
    RunRecord, CaseRecord, Outcome, Timing, MemorySample, ScheduleChunk, Metric, Source, Environment,
)  # fmt: skip


@dataclass(slots=True)
class LoadResult:
    """The result of a load."""

    recovered: list[Path] = field(default_factory=list)  # journals of dead writers that were sealed
    unchecked_bytes: int = 0  # of their newest events, which have no checksum: the writer ended before it made one
    emptied: list[str] = field(default_factory=list)  # sentences on journals that held nothing, and were removed
    rows: dict[str, int] = field(default_factory=dict)  # table -> events loaded
    files: int = 0
    rebuilt: bool = False
    left_out: LeftOut = field(default_factory=LeftOut)  # file name -> why it was not loaded
    damaged: dict[str, str] = field(
        default_factory=dict
    )  # file name -> what was found damaged of it after, or in, an earlier load
    unknown_columns: dict[str, int] = field(default_factory=dict)  # table.column -> files that have it

    @property
    def recovery_notes(self) -> list[str]:
        """Sentences on what was recovered without a checksum, and on journals that held nothing, if there were any."""
        if not self.unchecked_bytes:
            return self.emptied
        return [
            *self.emptied,
            f"{self.unchecked_bytes:,} bytes of journals that no process closed were recovered without a checksum: if the disk"
            " changed them, nothing shows it",
        ]

    @property
    def notes(self) -> list[str]:
        """The notes that every command prints: what was left out, what is damaged, and what is unchecked."""
        return [*self.problems.values(), *self.recovery_notes]

    @property
    def problems(self) -> dict[str, str]:
        """Sentences on files that were left out or are damaged, by their names."""
        return self.left_out.sentences() | {name: f"{name} {why}" for name, why in self.damaged.items()}


def load(store: Store, *, wait: bool = True, notify: Notify | None = None, force: bool = False) -> LoadResult:
    """Seal dead journals, then bring the warehouse up to date with the log.

    Args:
        store: The store; created if missing.
        wait: Wait for another loader rather than raise.
        notify: Called once with a sentence that names the process it waits for.
        force: Seal journals of other machines, too, however new they are.

    Raises:
        StoreBusy: Another process is loading and `wait` is False.
        BenchError: There is no store, or nothing is known of it.
    """
    must_exist(store)
    with store.lock(wait=wait, notify=notify):
        loaded = load_locked(store, force=force)
    _must_be_known(store)
    return loaded


def rebuild(store: Store, *, wait: bool = True, notify: Notify | None = None) -> LoadResult:
    """Derive the whole warehouse again; readers keep the old one until the new one is in place. Raises as `load`."""
    must_exist(store)
    with store.lock(wait=wait, notify=notify):
        loaded = load_locked(store, anew=True)
    _must_be_known(store)
    return loaded


@contextlib.contextmanager
def load_apart(store: Store) -> Iterator[tuple[Store, LoadResult]]:
    """The log of a store that this user may not write, loaded in a folder that is removed at the end; journals stay unread.

    Raises:
        BenchError: There is no store, or no room for its warehouse.
    """
    must_exist(store)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        apart = Store(Path(folder)).create()
        files, unreadable = EventLog(store).listing()
        for file in files:
            (apart.events / file.table).mkdir(exist_ok=True)
            (apart.events / file.table / file.name).symlink_to(file.path)
        loaded = load(apart)
        loaded.left_out |= unreadable
        yield apart, loaded


def load_locked(store: Store, *, anew: bool = False, force: bool = False) -> LoadResult:
    """`load` for a caller that holds the store's lock; fetches new files of a bucket first, and uploads missing ones."""
    if not store.remote:
        return _load_log(store, anew, force)
    from .remote.mirror import pull, push

    pull(store)
    loaded = _load_log(store, anew, force)
    push(store)
    return loaded


def _load_log(store: Store, anew: bool, force: bool) -> LoadResult:
    import duckdb

    log = EventLog(store)
    loaded = LoadResult()
    loaded.recovered, problems = log.recover(force=force)
    loaded.left_out |= problems
    loaded.unchecked_bytes, loaded.emptied = log.unchecked_bytes, log.emptied
    known = None if anew else _known(store)
    listed, unreadable = log.listing()
    loaded.left_out |= unreadable
    files = counting_files(listed, known.keys() if known is not None else None)
    changed = changed_files(files, known or {})
    again = {file.name for file in changed}
    here = {file.name for file in files}
    loaded.damaged = {name: file.damage for name, file in (known or {}).items() if file.damage and name in here - again}
    if (
        known is not None
        and all(file.name in known for file in files)
        and not changed
        and not lacks_partial(files, known)
    ):
        return loaded
    stands_for = covered_names(files)
    for file in list(files):  # what it replaces may only go if it is whole
        if stands_for.get(file.name, set()) & here and sha256(file.path)[:16] != file.digest:
            loaded.left_out[file.name] = DAMAGED
            del stands_for[file.name]
            files.remove(file)
    superseded = set().union(*stands_for.values())
    current = [file for file in files if file.name not in superseded]
    changed = [file for file in changed if file.name not in superseded]
    new, noted = current, dict[LogFile, set[str]]()
    if known is not None:
        covered = known.keys() | set().union(*(stands_for.get(name, set()) for name in known))
        new = [file for file in current if file.name not in known]
        noted = {file: stands_for[file.name] for file in new if stands_for.get(file.name, set()) & covered}
        gone = known.keys() - here - superseded
        if (
            # a merged file holds some events that are loaded and some that are not: only building anew tells them apart
            any(names & covered and unmerged(names - covered) for names in stands_for.values())
            # archived, or here as a whole again: only building anew takes rows away, and makes the warehouse smaller
            or any(name.startswith(SPLIT) for name in gone)
            or (gone and gone & archived(files)[1])
            # of a damaged file a part is loaded, and it is another file now
            or any(known[name].is_partial for name in gone | again)
            # what is forgotten goes from all tables, what is remembered comes back: anew, so that every way gives the same
            or any(file not in noted and needs_rebuild(file) for file in new)
        ):
            known, new, noted, changed = None, current, {}, []
    loaded.rebuilt = known is None
    new = readable(new, loaded.left_out, store.root / SPILL / "salvaged")
    loaded.damaged = {} if loaded.rebuilt else loaded.damaged
    loaded.damaged |= {file.name: DAMAGED_SINCE for file in changed if not _is_whole(file)}
    if new or changed or loaded.rebuilt:
        try:
            try:
                _publish_fitting(store, new, noted, changed, loaded)
            except duckdb.Error as error:
                if loaded.rebuilt or not is_damage(error):
                    raise
                note_damage(store, error)  # which is copied and added to: all anew
                loaded.rebuilt = True
                new = readable(current, loaded.left_out, store.root / SPILL / "salvaged")
                loaded.damaged = {}
                _publish_fitting(store, new, {}, [], loaded)
        except (duckdb.IOException, duckdb.TransactionException) as error:  # at COMMIT
            cause = str(error).splitlines()[0].rpartition("Original error: ")[2]
            raise cannot_build(store, cause) from error
    replaced_now = set().union(*(names for name, names in stands_for.items() if name not in loaded.left_out))
    for file in files:
        if file.name in replaced_now:
            with contextlib.suppress(PermissionError):  # another user's may stay: nothing reads it
                file.path.unlink()
    return loaded


def readable_files(store: Store) -> tuple[list[LogFile], LeftOut]:
    """The files that a load anew would read, without loading them: for other engines.

    Returns:
        The files, and by name why others are left out.

    Raises:
        BenchError: There is no store.
    """
    must_exist(store)
    log, seen = EventLog(store), LoadResult()
    if store.remote or log.is_unfinished():
        with store.lock():
            if store.remote:
                from .remote.mirror import pull

                pull(store)
            seen.recovered, problems = log.recover()
            seen.left_out |= problems
    listed, unreadable = log.listing()
    seen.left_out |= unreadable
    files = counting_files(listed)
    superseded = set().union(*covered_names(files).values())
    return readable([file for file in files if file.name not in superseded], seen.left_out), seen.left_out


def changed_files(files: Sequence[LogFile], known: Mapping[str, LoadedFile]) -> list[LogFile]:
    """The loaded files that were written to since."""
    return [file for file in files if file.name in known and not known[file.name].is_as(file)]


def damaged_files(changed: Sequence[LogFile], known: Mapping[str, LoadedFile]) -> Iterator[LogFile]:
    """Those of the changed files that are damaged, in a store where nothing can note that the others are whole.

    So each answer reads them again, and of files that are as long as they were no more than a moment's worth: a store that
    was copied to a read-only disk may be large. `verify` reads all.
    """
    left = READ_FOR_AN_ANSWER
    for file in changed:
        is_as_long = file.size_bytes == known[file.name].size_bytes
        left -= file.size_bytes * is_as_long
        if not is_as_long or (left >= 0 and not _is_whole(file)):
            yield file


def lacks_partial(files: Sequence[LogFile], known: Mapping[str, LoadedFile]) -> bool:
    """Return whether a damaged file, of which a part is loaded, is gone."""
    partial = {name for name, file in known.items() if file.is_partial}
    return bool(partial) and not partial <= {file.name for file in files}


def _is_whole(file: LogFile) -> bool:
    with contextlib.suppress(OSError):
        return sha256(file.path)[:16] == file.digest
    return False


def _publish_fitting(
    store: Store, new: list[LogFile], noted: dict[LogFile, set[str]], changed: list[LogFile], loaded: LoadResult
) -> None:
    """Publish a new version; files that lack a column, or hold one of another type, are left out and named."""
    import duckdb

    try:
        _publish(store, new, noted, changed, loaded)
    except (duckdb.DataError, duckdb.IntegrityError, duckdb.ProgrammingError):
        if not (misfits := _misfits(new)):
            raise
        loaded.left_out |= misfits
        loaded.rows, loaded.files = {}, 0
        if (fitting := [file for file in new if file.name not in misfits]) or loaded.rebuilt:
            _publish(store, fitting, noted, changed, loaded)


def _misfits(files: Sequence[LogFile]) -> dict[str, str]:
    """The files that cannot be loaded on their own, and why."""
    import duckdb

    found = {}
    with contextlib.closing(breakable(duckdb.connect())) as connection:
        create_tables(connection)
        for file in files:
            try:
                _insert(connection, TABLES[file.table], f"read_parquet({path_list([file])})", LoadResult())
            except (duckdb.DataError, duckdb.IntegrityError, duckdb.ProgrammingError) as error:
                why = str(error).splitlines()[0]
                found[file.name] = f"does not have the columns of {file.table} ({why}). {RESTORE}"
            connection.execute(f"DELETE FROM {file.table}")
    return found


def _publish(
    store: Store, new: list[LogFile], noted: dict[LogFile, set[str]], changed: list[LogFile], loaded: LoadResult
) -> None:
    loaded.rows, loaded.files, loaded.unknown_columns = {}, 0, {}
    lists = any(file.table == ScheduleChunk.TABLE for file in new)
    with new_version(store, fresh=loaded.rebuilt, wide=lists) as connection:
        for file, names in noted.items():
            _forget_files(connection, names)
            _note_files(connection, [file], loaded)
        _load(connection, [file for file in new if file not in noted], loaded)
        _forget_files(connection, {file.name for file in changed})
        _note_files(connection, changed, loaded)


def _forget_files(connection: "duckdb.DuckDBPyConnection", names: Set[str]) -> None:
    connection.execute("DELETE FROM _files WHERE name IN (SELECT unnest(?::VARCHAR[]))", [sorted(names)])


def _note_files(connection: "duckdb.DuckDBPyConnection", files: Sequence[LogFile], loaded: LoadResult) -> None:
    """Note which files are loaded, as they are now in the log, and what is damaged of them, so that every answer says it."""
    rows = []
    for file in files:
        whole = loaded.left_out.partly.get(file.name)
        as_it_is = whole or file
        damage = loaded.left_out[file.name] if whole else loaded.damaged.get(file.name)
        rows.append((file.table, file.name, as_it_is.size_bytes, as_it_is.modified_ns, whole is not None, damage))
    if rows:
        connection.executemany("INSERT INTO _files VALUES (?, ?, ?, ?, ?, ?)", rows)


def must_exist(store: Store) -> None:
    """Raise BenchError if the store does not exist, before a lock would create it."""
    if not store.may_hold():
        raise BenchError(f"there is no store at {store}. Record with `bench measure`, or load with: bench ingest PATH")


def _must_be_known(store: Store) -> None:
    """Raise the error that kept us from reading a bucket, if its mirror is empty."""
    if store.remote:
        from .remote.mirror import unread

        if error := unread(store):
            raise error


def _known(store: Store) -> dict[str, LoadedFile] | None:
    """The files the warehouse holds, by name; None if there is none, or another bench's, that must be built anew."""
    connection, known = open_current(store)
    if connection is not None:
        connection.close()
    return known


def _load(connection: "duckdb.DuckDBPyConnection", new: list[LogFile], loaded: LoadResult) -> None:
    # changes come first: they say which rows of the others count
    touched = _load_table(connection, RunChange, new, frozenset(), loaded)
    changes = RunChanges.of(connection)
    for event in TABLES.values():
        if event is not RunChange:
            touched |= _load_table(connection, event, new, changes.forgotten, loaded)
    if RunRecord.TABLE in loaded.rows:
        _one_row_a_run(connection)
    changes.apply(connection)
    if touched:
        connection.execute(f"SET memory_limit = '{DERIVING_MEMORY}'")
        compute_derived(connection, sorted(touched))


def _load_table(
    connection: "duckdb.DuckDBPyConnection",
    event: type[Event],
    new: list[LogFile],
    forgotten: Set[str],
    loaded: LoadResult,
) -> set[str]:
    """Insert the files of one table; returns the runs whose derived rows change."""
    files = [file for file in new if file.table == event.TABLE]
    if not files:
        return set()
    source = f"read_parquet({path_list(files)}, union_by_name = true)"
    if forgotten and forgets(event):
        source = f"(FROM {source} WHERE run_id NOT IN (SELECT run_id FROM forgotten_runs))"
    query = f"SELECT DISTINCT run_id::VARCHAR FROM {source}"  # as inserted: a damaged footer may call it bytes
    if event is Environment:  # which belongs to no run, and may come after runs that name it
        ids = f"(SELECT environment_id::VARCHAR FROM {source} EXCEPT SELECT environment_id FROM {event.TABLE})"
        query = f"SELECT run_id FROM runs WHERE environment_id IN {ids}"
    describes = event in (*DERIVING, RunChange)  # of a run with other tags there may be another report
    touched = {run for (run,) in connection.execute(query).fetchall()} if describes else set()
    loaded.rows[event.TABLE] = _insert(connection, event, source, loaded)
    loaded.files += len(files)
    _note_files(connection, files, loaded)
    return touched


def _one_row_a_run(connection: "duckdb.DuckDBPyConnection") -> None:
    """Merge the rows of a run that was described in parts, in any order: a file about its machine may come late."""
    columns = ", ".join(f"min({quote(f.name)}) AS {quote(f.name)}" for f in RunRecord.fields() if f.name != "run_id")
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE _whole AS SELECT run_id, {columns} FROM runs GROUP BY run_id HAVING count(*) > 1"
    )
    connection.execute("DELETE FROM runs WHERE run_id IN (SELECT run_id FROM _whole)")
    connection.execute("INSERT INTO runs BY NAME FROM _whole")


def _insert(connection: "duckdb.DuckDBPyConnection", event: type[Event], source: str, loaded: LoadResult) -> int:
    """Insert the rows of the files, with the columns that this bench knows; returns the number of rows."""
    have = {row[0] for row in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()}
    known = {f.name: SQL_TYPES[f.type] for f in event.fields()}
    for column in sorted(have - known.keys()):
        loaded.unknown_columns[f"{event.TABLE}.{column}"] = loaded.unknown_columns.get(f"{event.TABLE}.{column}", 0) + 1
    columns = ", ".join(f"{_cast(quote(name), kind)} AS {quote(name)}" for name, kind in known.items() if name in have)
    select = f"SELECT {columns} FROM {source}"
    if event is Environment:  # the same machine describes itself in every run
        select = (
            f"SELECT DISTINCT ON (environment_id) * FROM ({select}) "
            f"WHERE environment_id NOT IN (SELECT environment_id FROM {event.TABLE})"
        )
    row = connection.execute(f"INSERT INTO {event.TABLE} BY NAME {select}").fetchone()
    return int(row[0]) if row else 0


def _cast(column: str, kind: str) -> str:
    """A column cast to its type in the warehouse; invalid JSON becomes a JSON text, so that one bad row is no error."""
    return f"coalesce(TRY_CAST({column} AS JSON), to_json({column}))" if kind == "JSON" else f"CAST({column} AS {kind})"
