"""The warehouse: a DuckDB file derived from the event log, built beside the old one and published by rename.

Readers hold the version they opened; they never wait for a load and never see a lock error. A killed load leaves the
old version whole. Deleting the file loses nothing: the next load, or `rebuild`, derives it again.
"""

import contextlib
import functools
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from .. import sql
from .errors import BenchError, Exit, StoreBusy
from .events import (
    TABLES,
    ArchivedRun,
    Case,
    Environment,
    Event,
    MemorySample,
    Metric,
    Outcome,
    Run,
    ScheduleChunk,
    Source,
    Timing,
)
from .log import IMPORT, MERGED, SPILL, SPLIT, EventLog, LogFile, path_list, replaced, sha256, splits, sync, unmerged
from .schema import SQL_TYPES, create_tables, literal, quote
from .store import Say, Store
from .views import compute_derived, create_derived

if TYPE_CHECKING:
    import duckdb

LOADING_MEMORY = "400MB"  # rows stream through; more would only be buffered
DERIVING_MEMORY = "2GB"  # medians are taken over all samples of a case
RESTORE = "Restore it from a copy; `bench rebuild` then loads it."
DAMAGED = f"is damaged. {RESTORE}"
# what derived tables are computed from
DERIVING: tuple[type[Event], ...] = (Run, Case, Outcome, Timing, MemorySample, ScheduleChunk, Metric, Source)


@dataclass(slots=True)
class Loaded:
    """What a load did."""

    recovered: list[Path] = field(default_factory=list)  # journals of dead writers that were sealed
    rows: dict[str, int] = field(default_factory=dict)  # table -> events loaded
    files: int = 0
    rebuilt: bool = False
    left_out: dict[str, str] = field(default_factory=dict)  # file name -> why it was not loaded
    unknown_columns: dict[str, int] = field(default_factory=dict)  # table.column -> files that have it


def load(store: Store, *, wait: bool = True, say: Say | None = None) -> Loaded:
    """Seal dead journals, then bring the warehouse up to date with the log.

    Args:
        store: The store; created if missing.
        wait: Wait for another loader rather than raise.
        say: Told once, in a sentence, whom it waits for.

    Raises:
        StoreBusy: Another process is loading and `wait` is False.
        BenchError: There is no store, or nothing is known of it.
    """
    must_exist(store)
    with store.lock(wait=wait, say=say):
        loaded = load_locked(store)
    _must_be_known(store)
    return loaded


def rebuild(store: Store, *, wait: bool = True, say: Say | None = None) -> Loaded:
    """Derive the whole warehouse anew; readers keep the old one until the new one is in place. Raises as `load`."""
    must_exist(store)
    with store.lock(wait=wait, say=say):
        loaded = load_locked(store, anew=True)
    _must_be_known(store)
    return loaded


def load_locked(store: Store, *, anew: bool = False) -> Loaded:
    """`load` for a caller that holds the store's lock already; what a bucket has is fetched first, and what it lacks uploaded."""
    if not store.remote:
        return _load_log(store, anew)
    from .remote import pull, push

    pull(store)
    loaded = _load_log(store, anew)
    push(store)
    return loaded


def _load_log(store: Store, anew: bool) -> Loaded:
    import duckdb

    log = EventLog(store)
    loaded = Loaded()
    loaded.recovered, loaded.left_out = log.recover()
    known = None if anew else _known(store)
    files = counting_files(log.files(), known)
    if known is not None and all(file.name in known for file in files):
        return loaded
    stands_for = _stands_for(files)
    here = {file.name for file in files}
    for file in list(files):  # what it replaces may only go if it is whole
        if stands_for.get(file.name, set()) & here and sha256(file.path)[:16] != file.digest:
            loaded.left_out[file.name] = DAMAGED
            del stands_for[file.name]
            files.remove(file)
    superseded = set().union(*stands_for.values())
    new = [f for f in files if f.name not in superseded and (known is None or f.name not in known)]
    covered = set() if known is None else known.union(*(stands_for.get(name, set()) for name in known))
    if any(names & covered and unmerged(names - covered) for names in stands_for.values()):
        # a merged file holds some events that are loaded and some that are not: only building anew tells them apart
        known, new = None, [file for file in files if file.name not in superseded]
    gone = set() if known is None else known - here - superseded
    if any(name.startswith(SPLIT) for name in gone) or (gone and gone & _archived(files)):
        # archived, or here as a whole again: anew, since only that takes rows away, and makes the warehouse smaller
        known, new = None, [file for file in files if file.name not in superseded]
    noted = {} if known is None else {f: stands_for[f.name] for f in new if stands_for.get(f.name, set()) & covered}
    loaded.rebuilt = known is None
    new = _readable(new, loaded)
    if new or known is None:
        try:
            _publish(store, new, noted, loaded)
        except duckdb.Error as error:  # a page in a file, perhaps: leave out what its own name disowns, and try again
            whole = [file for file in new if sha256(file.path)[:16] == file.digest]
            if len(whole) == len(new):
                if isinstance(error, duckdb.IOException | duckdb.TransactionException):  # at COMMIT
                    said = str(error).splitlines()[0].rpartition("Original error: ")[2]
                    raise _internal(
                        f"cannot build the warehouse in {store.root}: {said}. The old one stays."
                    ) from error
                raise
            loaded.left_out |= {file.name: DAMAGED for file in new if file not in whole}
            _publish(store, whole, noted, loaded)
    replaced_now = set().union(*(names for name, names in stands_for.items() if name not in loaded.left_out))
    for file in files:
        if file.name in replaced_now:
            file.path.unlink()
    return loaded


def readable_files(store: Store) -> tuple[list[LogFile], dict[str, str]]:
    """The files that a load anew would read, without loading them: for other engines.

    Returns:
        The files, and by name why others are left out.

    Raises:
        BenchError: There is no store.
    """
    must_exist(store)
    log, seen = EventLog(store), Loaded()
    if store.remote or log.abandoned():
        with store.lock():
            if store.remote:
                from .remote import pull

                pull(store)
            seen.recovered, seen.left_out = log.recover()
    files = counting_files(log.files())
    superseded = set().union(*_stands_for(files).values())
    return _readable([file for file in files if file.name not in superseded], seen), seen.left_out


def _stands_for(files: list[LogFile]) -> dict[str, set[str]]:
    """By the name of a merged file all it stands for: what it says, and what another store merged that it holds as well."""
    said = {file.name: set(replaced(file.path)) for file in files if file.stem.startswith(MERGED)}
    held = {name: unmerged(names) for name, names in said.items()}
    holders: dict[str, set[str]] = {}  # of what was recorded or imported: the merged files that hold it
    for name, mine in held.items():
        for one in mine:
            holders.setdefault(one, set()).add(name)
    for other, theirs in held.items():
        for name in set.intersection(*(holders[one] for one in theirs)) if theirs else ():
            if name < other or theirs < held[name]:
                said[name].add(other)
    return said


def _publish(store: Store, new: list[LogFile], noted: dict[LogFile, set[str]], loaded: Loaded) -> None:
    loaded.rows, loaded.files = {}, 0
    with _new_version(store, fresh=loaded.rebuilt) as connection:
        for file, names in noted.items():
            connection.execute("DELETE FROM _files WHERE name IN (SELECT unnest(?::VARCHAR[]))", [sorted(names)])
            connection.execute("INSERT INTO _files VALUES (?, ?)", [file.table, file.name])
        _load(connection, [file for file in new if file not in noted], loaded)


class Warehouse:
    """A read-only snapshot of the warehouse."""

    def __init__(self, store: Store, connection: "duckdb.DuckDBPyConnection") -> None:
        """Wrap a connection; `open` is how to get here."""
        self.store = store
        self.connection = connection

    @classmethod
    def open(cls, store: Store, *, config: Mapping[str, Any] | None = None) -> "Warehouse":
        """Open the newest version, after loading what is new in the log if nobody else is at it.

        Args:
            store: The store.
            config: DuckDB settings, such as memory_limit.

        Raises:
            BenchError: There is no store, or nothing was recorded in it.
        """
        must_exist(store)
        connection, known = (None, None) if store.remote else _opened(store, config)
        if connection is None or _stale(store, known):
            if connection is not None:
                connection.close()
            with contextlib.suppress(StoreBusy):
                load(store, wait=not store.database.exists())
            connection = _connect(store.database, config)
        return cls(store, connection)

    def rows(self, query: str, parameters: object = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return self.connection.execute(query, parameters).fetchall()

    def close(self) -> None:
        """Let go of the snapshot."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def must_exist(store: Store) -> None:
    """Raise BenchError where a lock would make a store that nobody meant to make."""
    if not store.may_hold():
        raise BenchError(f"there is no store at {store}. Record with `bench measure`, or load with: bench ingest PATH")


def _must_be_known(store: Store) -> None:
    """Raise what kept us from a bucket of which the mirror holds nothing."""
    if store.remote:
        from .remote import unread

        if error := unread(store):
            raise error


def _connect(database: Path, config: Mapping[str, Any] | None = None) -> "duckdb.DuckDBPyConnection":
    """A connection of its own: DuckDB hands out one instance per path, which would be the version opened first."""
    import duckdb

    connection = duckdb.connect(config=dict(config or {}))
    try:
        connection.execute(f"ATTACH {literal(str(database))} AS warehouse (READ_ONLY)")
    except duckdb.Error as error:
        connection.close()
        raise BenchError(f"cannot open {database}: {error}. Derive it anew with: bench rebuild") from error
    connection.execute("USE warehouse")
    return connection


def counting_files(files: list[LogFile], loaded: Set[str] | None = None) -> list[LogFile]:
    """The files whose import was committed, which its `sources` file says, but for parts of others that count.

    Args:
        files: All files of a log.
        loaded: Names of files that are loaded, and so count; where there are no others no file is opened.
    """
    if loaded is not None and all(file.name in loaded for file in files):
        return files
    files = _without_parts(files)
    sources = [file for file in files if file.table == Source.TABLE]
    committed = {file.stem for file in sources}
    if any(file.stem.startswith(IMPORT) and file.commit not in committed for file in files):
        others = [file.path for file in sources if file.stem.startswith((MERGED, SPLIT))]
        committed |= {name.rpartition("-")[0] for path in others for name in (*replaced(path), *splits(path))}
    return [f for f in files if not f.stem.startswith(IMPORT) or f.commit in committed]


def _without_parts(files: list[LogFile]) -> list[LogFile]:
    """The files but for parts of such as are among them, or are stood for by one."""
    parts = {file: set(splits(file.path)) for file in files if file.stem.startswith(SPLIT)}
    if not parts:
        return files
    here = {file.name for file in files}.union(*(replaced(file.path) for file in files if file.stem.startswith(MERGED)))
    return [file for file in files if not parts.get(file, set()) & here]


def _archived(files: list[LogFile]) -> set[str]:
    """Names of the files that went into other stores, or were split because a part of them did."""
    import pyarrow.parquet as pq

    names = {name for file in files if file.stem.startswith(SPLIT) for name in splits(file.path)}
    for file in files:
        if file.table == ArchivedRun.TABLE:
            names.update(
                name for held in pq.read_table(file.path, columns=["files"])["files"].to_pylist() for name in held or ()
            )
    return names


def _known(store: Store) -> set[str] | None:
    """Names of the files the warehouse holds; None if there is none, or another bench's, that must be built anew."""
    connection, known = _opened(store)
    if connection is not None:
        connection.close()
    return known


def _opened(
    store: Store, config: Mapping[str, Any] | None = None
) -> "tuple[duckdb.DuckDBPyConnection | None, set[str] | None]":
    """The warehouse, if it is one of this bench, and the names of the files it holds."""
    import duckdb

    with contextlib.suppress(BenchError, duckdb.Error):
        if store.database.exists():
            connection = _connect(store.database, config)
            if connection.execute("SELECT value FROM _meta WHERE key = 'made_by'").fetchone() == (_made_by(),):
                return connection, {name for (name,) in connection.execute("SELECT name FROM _files").fetchall()}
    return None, None


def _stale(store: Store, known: set[str] | None) -> bool:
    """Whether a load would find anything to do, as far as can be told without the lock."""
    log = EventLog(store)
    return (
        known is None or log.abandoned() or any(file.name not in known for file in counting_files(log.files(), known))
    )


def _made_by() -> str:
    """What the warehouse's own shape depends on: the declared tables and the SQL files."""
    shape = [
        (event.TABLE, event.VERSION, [(f.name, str(f.type), f.nullable, f.doc) for f in event.fields()])
        for event in TABLES.values()
    ]
    return hashlib.sha256(repr((shape, sql.digest())).encode()).hexdigest()


@contextlib.contextmanager
def _new_version(store: Store, *, fresh: bool) -> "Iterator[duckdb.DuckDBPyConnection]":
    """A writable copy of the warehouse (or an empty one) that takes its place when all went well."""
    import duckdb

    building = store.root / f".warehouse-{os.getpid()}.duckdb"
    for leftover in store.root.glob(".warehouse-*"):  # of killed loads: we hold the lock
        leftover.unlink()
    try:
        if fresh:
            building.write_bytes(empty())
        else:
            shutil.copyfile(store.database, building)
        connection = duckdb.connect(
            config={
                "memory_limit": LOADING_MEMORY,
                "preserve_insertion_order": False,
                "temp_directory": str(store.root / SPILL),
            }
        )
        try:
            connection.execute(f"ATTACH {literal(str(building))} AS warehouse")
            connection.execute("USE warehouse")
            connection.execute("BEGIN")
            if fresh:
                connection.execute("INSERT INTO _meta VALUES ('made_by', ?)", [_made_by()])
            yield connection
            connection.execute("COMMIT")
            connection.execute("CHECKPOINT warehouse")
        finally:
            connection.close()
        sync(building)
        os.replace(building, store.database)
        sync(store.root)
    except duckdb.OutOfMemoryException as error:
        raise _internal(f"loading {store.root} needs more memory or disk than there is: {error}") from error
    except OSError as error:
        raise _internal(
            f"cannot build the warehouse in {store.root}: {error.strerror or error}. The old one stays."
        ) from error
    finally:
        for leftover in store.root.glob(f".warehouse-{os.getpid()}.duckdb*"):
            leftover.unlink()


def _internal(message: str) -> BenchError:
    error = BenchError(message)
    error.exit_code = Exit.INTERNAL
    return error


@functools.cache
def empty() -> bytes:
    """A warehouse without events. Making all views takes a third of a second, so a process does it once."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        file = Path(folder, "empty.duckdb")
        connection.execute(f"ATTACH {literal(str(file))} AS warehouse (STORAGE_VERSION 'v1.0.0')")
        connection.execute("USE warehouse")
        connection.execute("BEGIN")  # as changes of their own, a thousand statements would take twice the time
        create_tables(connection)
        create_derived(connection)
        connection.execute("CREATE TABLE _files (table_name VARCHAR, name VARCHAR)")
        connection.execute("COMMENT ON TABLE _files IS 'One row per file of the event log that is loaded.'")
        connection.execute("CREATE TABLE _meta (key VARCHAR, value VARCHAR)")
        connection.execute("COMMENT ON TABLE _meta IS 'One row per fact about this warehouse file.'")
        connection.execute("COMMIT")
        connection.execute("USE memory")
        connection.execute("DETACH warehouse")
        return file.read_bytes()


def _load(connection: "duckdb.DuckDBPyConnection", new: list[LogFile], loaded: Loaded) -> None:
    touched: set[str] = set()
    for table, event in TABLES.items():
        files = [file for file in new if file.table == table]
        if not files:
            continue
        source = f"read_parquet({path_list(files)}, union_by_name = true)"
        loaded.rows[table] = _insert(connection, event, source, loaded)
        loaded.files += len(files)
        connection.executemany("INSERT INTO _files VALUES (?, ?)", [(table, file.name) for file in files])
        if event in DERIVING:
            touched.update(run for (run,) in connection.execute(f"SELECT DISTINCT run_id FROM {source}").fetchall())
    if Run.TABLE in loaded.rows:
        _one_row_a_run(connection)
    if touched:
        connection.execute(f"SET memory_limit = '{DERIVING_MEMORY}'")
        compute_derived(connection, sorted(touched))


def _one_row_a_run(connection: "duckdb.DuckDBPyConnection") -> None:
    """Put together the rows of a run that was described in parts, in whatever order: a file about its machine may come late."""
    columns = ", ".join(f"min({quote(f.name)}) AS {quote(f.name)}" for f in Run.fields() if f.name != "run_id")
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE _whole AS SELECT run_id, {columns} FROM runs GROUP BY run_id HAVING count(*) > 1"
    )
    connection.execute("DELETE FROM runs WHERE run_id IN (SELECT run_id FROM _whole)")
    connection.execute("INSERT INTO runs BY NAME FROM _whole")


def _insert(connection: "duckdb.DuckDBPyConnection", event: type[Event], source: str, loaded: Loaded) -> int:
    """Insert what the files hold, the columns this bench knows; returns how many rows."""
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
    """A column as the warehouse has it; JSON that is none is kept as a text: one bad row must not close the store."""
    return f"coalesce(TRY_CAST({column} AS JSON), to_json({column}))" if kind == "JSON" else f"CAST({column} AS {kind})"


def _readable(files: list[LogFile], loaded: Loaded) -> list[LogFile]:
    """The files that can be read and are no newer than we are; the others are left out, and said."""
    import duckdb

    with contextlib.closing(duckdb.connect()) as connection:
        try:
            versions = _versions(connection, files)
        except duckdb.Error:  # one of them is damaged: find out which
            versions = {}
            for file in files:
                try:
                    versions |= _versions(connection, [file])
                except duckdb.Error as error:
                    loaded.left_out[file.name] = f"is damaged ({str(error).splitlines()[0]}). {RESTORE}"
    good = []
    for file in files:
        version = versions.get(str(file.path))
        newest = TABLES[file.table].VERSION
        if version is None:
            loaded.left_out.setdefault(file.name, "was not written by bench: it says no version.")
        elif version > newest:
            loaded.left_out[file.name] = (
                f"was written as {file.table} v{version}; this bench reads up to v{newest}. Update bench to ingest it."
            )
        else:
            good.append(file)
    return good


def _versions(connection: "duckdb.DuckDBPyConnection", files: Sequence[LogFile]) -> dict[str, int]:
    """What version each file says it has, by path."""
    if not files:
        return {}
    query = (
        "SELECT file_name, decode(value) FROM parquet_kv_metadata(?) "
        "WHERE decode(key) = 'bench.version' AND regexp_full_match(decode(value), '[0-9]{1,9}')"
    )
    paths = [str(file.path) for file in files]
    return {name: int(version) for name, version in connection.execute(query, [paths]).fetchall()}
