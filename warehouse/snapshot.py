"""A version of the warehouse file: opened read-only, or built beside the old one and published by rename.

Readers hold the version they opened; they never wait for a load and never see a lock error. A killed load leaves the
old version whole.
"""

import contextlib
import functools
import hashlib
import importlib
import importlib.resources
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import sql
from .errors import BenchError, Exit, NoLocks
from .events import TABLES
from .files import cache_folder, cure, disk_error, make_folder, remove, sync, take_after_folder
from .interruption import breakable
from .locks import lacks_locks
from .log import SPILL, LogFile
from .schema import ROWS_IN_GROUP, create_tables, literal
from .store import Store
from .upkeep.healing import drop
from .views import create_derived

if TYPE_CHECKING:
    import duckdb

STORAGE = "v1.5.0"  # format of the file: what the oldest DuckDB that bench works with reads, too
LOADING_MEMORY = "400MB"  # rows stream through; more would only be buffered
# Passes of DuckDB's optimizer that take longer over plans of many steps than they save: an eighth of a comparison.
DEAR_PASSES = ("projection_pullup", "projection_placement")
CACHED = 8  # empty warehouses in the cache: of other versions of bench and of DuckDB, which may be in use, too
DIGEST_BYTES = 32
FILES = """
CREATE TABLE _files (
    table_name VARCHAR, name VARCHAR, size_bytes BIGINT, modified_ns BIGINT, is_partial BOOLEAN, damage VARCHAR
)
"""


class LoadedFile(NamedTuple):
    """A file of the log as it was when it was loaded, or last found to be whole."""

    size_bytes: int
    modified_ns: int
    is_partial: bool  # damaged already then: what was whole of it is loaded
    damage: str | None  # what was found, in words that follow its name

    def is_as(self, file: LogFile) -> bool:
        """True unless the file was written to since; a bit that flips on the disk changes neither size nor time."""
        return (self.size_bytes, self.modified_ns) == (file.size_bytes, file.modified_ns)


def connect(database: Path, config: Mapping[str, Any] | None = None) -> "duckdb.DuckDBPyConnection":
    """A connection of its own: DuckDB hands out one instance per path, which would be the version opened first."""
    import duckdb

    connection = breakable(duckdb.connect(config=dict(config or {})))
    try:
        attach(connection, database)
    except NoLocks:
        connection.close()
        raise
    except (duckdb.Error, OSError) as error:
        connection.close()
        raise BenchError(f"cannot open {database}: {error}. Derive it anew with: bench store rebuild") from error
    connection.execute("USE warehouse")
    _plan_briefly(connection)
    return connection


def _plan_briefly(connection: "duckdb.DuckDBPyConnection") -> None:
    """Leave out the dear passes that this version of DuckDB has."""
    known = {name for (name,) in connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()}
    connection.execute(f"SET disabled_optimizers = {literal(','.join(filter(known.__contains__, DEAR_PASSES)))}")


def attach(connection: "duckdb.DuckDBPyConnection", database: Path) -> None:
    """Attach a version for reading; of a disk without locks a copy, which is gone with the connection."""
    import duckdb

    try:
        connection.execute(f"ATTACH {literal(str(database))} AS warehouse (READ_ONLY)")
    except duckdb.IOException as error:
        if not lacks_locks(error):
            raise
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            copy = shutil.copyfile(database, Path(folder, database.name))
            _attach_temporary(connection, copy, " (READ_ONLY)")


def _attach_temporary(connection: "duckdb.DuckDBPyConnection", file: Path, options: str = "") -> None:
    """Attach a file of the folder for temporary ones, which is the last resort."""
    import duckdb

    try:
        connection.execute(f"ATTACH {literal(str(file))} AS warehouse{options}")
    except duckdb.IOException as error:
        if not lacks_locks(error):
            raise
        raise NoLocks(
            f"the disk of {tempfile.gettempdir()} has no file locks, and DuckDB opens no database without. What was recorded is "
            "kept; set TMPDIR to a folder of a disk with locks."
        ) from error


def open_current(
    store: Store, config: Mapping[str, Any] | None = None
) -> "tuple[duckdb.DuckDBPyConnection | None, dict[str, LoadedFile] | None]":
    """The warehouse, if it is one of this bench and whole, and the files it holds, by name."""
    import duckdb

    try:
        if store.database.is_file():
            connection = connect(store.database, config)
            made_by = connection.execute("SELECT value FROM _meta WHERE key = 'made_by'").fetchone()
            if made_by == (_made_by(),):
                rows = connection.execute(
                    "SELECT name, size_bytes, modified_ns, is_partial, damage FROM _files"
                ).fetchall()
                return connection, {name: LoadedFile(*facts) for name, *facts in rows}
    except (BenchError, duckdb.Error) as error:
        if isinstance(error, NoLocks) or isinstance(error.__cause__, OSError):  # no copy can be made
            raise
        if not isinstance(error, duckdb.CatalogException):  # else it is not of this bench, and whole
            drop(store, error)
    return None, None


def damage_notes(connection: "duckdb.DuckDBPyConnection") -> list[str]:
    """A sentence for each loaded file that is damaged in the log."""
    query = "SELECT name || ' ' || damage FROM _files WHERE damage IS NOT NULL ORDER BY name"
    return [sentence for (sentence,) in connection.execute(query).fetchall()]


@functools.cache
def _made_by() -> str:
    """Everything that the warehouse's shape depends on: the declared tables, the SQL files, the format of the file."""
    shape = [
        (event.TABLE, event.VERSION, [(f.name, str(f.type), f.nullable, f.doc) for f in event.fields()])
        for event in TABLES.values()
    ]
    return hashlib.sha256(repr((shape, sql.digest(), STORAGE, FILES)).encode()).hexdigest()


@contextlib.contextmanager
def new_version(store: Store, *, fresh: bool, wide: bool = False) -> "Iterator[duckdb.DuckDBPyConnection]":
    """A writable copy of the warehouse (or an empty one) that takes its place when all went well.

    With `wide`, tables that are empty so far get row groups a quarter as long: each thread that loads holds one in memory.
    """
    import duckdb

    building = store.root / f".warehouse-{os.getpid()}.duckdb"
    remove(store.root.glob(".warehouse-*"))  # of killed loads: we hold the lock
    try:
        if fresh:
            building.write_bytes(empty())
        else:
            shutil.copyfile(store.database, building)
        with _opened(building, store.root / SPILL, wide) as connection:
            connection.execute("BEGIN")
            if fresh:
                connection.execute("INSERT INTO _meta VALUES ('made_by', ?)", [_made_by()])
            yield connection
            connection.execute("COMMIT")
            connection.execute("CHECKPOINT warehouse")
        take_after_folder(building)
        sync(building)
        os.replace(building, store.database)
        sync(store.root)
    except duckdb.OutOfMemoryException as error:
        raise internal_error(f"loading {store.root} needs more memory or disk than there is: {error}") from error
    except OSError as error:
        raise cannot_build(store, error.strerror or str(error)) from error
    finally:
        remove(store.root.glob(f".warehouse-{os.getpid()}.duckdb*"))


@contextlib.contextmanager
def _opened(building: Path, spill: Path, wide: bool) -> "Iterator[duckdb.DuckDBPyConnection]":
    """A version opened for writing; on a disk without locks it is written elsewhere, and comes back at the end."""
    import duckdb

    config: dict[str, Any] = {
        "memory_limit": LOADING_MEMORY,
        "preserve_insertion_order": False,
        "write_buffer_row_group_count": 1,
        "temp_directory": str(spill),
    }
    options = f" (ROW_GROUP_SIZE {ROWS_IN_GROUP})" if wide else ""
    with contextlib.ExitStack() as stack:
        connection, copy = breakable(duckdb.connect(config=config)), None
        try:
            try:
                connection.execute(f"ATTACH {literal(str(building))} AS warehouse{options}")
            except duckdb.IOException as error:
                if not lacks_locks(error):
                    raise
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-"))
                copy = shutil.copyfile(building, Path(folder, building.name))
                _attach_temporary(connection, copy, options)
            connection.execute("USE warehouse")
            yield connection
        finally:
            connection.close()
        if copy is not None:
            shutil.copyfile(copy, building)


def cannot_build(store: Store, cause: str) -> BenchError:
    """The error of a load that the machine did not let finish; the events are in the log all the same."""
    what = f"cannot build the warehouse in {store.root}: {cause}."
    return disk_error(f"{what} What was recorded is kept; {cure(cause)}, then load it with: bench ingest", cause)


def internal_error(message: str) -> BenchError:
    """An error that is no fault of the user's: exit code 70."""
    error = BenchError(message)
    error.exit_code = Exit.INTERNAL
    return error


def empty() -> bytes:
    """The file of a warehouse without events. Creating all views takes most of a second, so the user's cache keeps it."""
    with _making:
        return _empty()


@contextlib.contextmanager
def meanwhile(work: Callable[[], object]) -> Iterator[None]:
    """A context with a thread that gets ready what is needed after it; whoever needs that meets an error of the thread again.

    DuckDB works without Python's lock, so the thread takes another processor.
    """

    def get_ready() -> None:
        with contextlib.suppress(Exception):
            work()

    thread = threading.Thread(target=get_ready, name="meanwhile")
    thread.start()
    try:
        yield
    finally:
        thread.join()


def make_ready(store: Store) -> None:
    """Import the libraries of a load, and make the empty warehouse if there is none."""
    for library in ("duckdb", "pyarrow.parquet"):
        importlib.import_module(library)
    if not store.database.exists():
        empty()


_making = threading.Lock()


@functools.cache
def _empty() -> bytes:
    """Read it from the cache, where its SHA-256 stands before it; made anew where the cache has none or a damaged one."""
    without_cache = contextlib.suppress(OSError, RuntimeError)  # the user has no home, or may not write there
    with without_cache:
        digest, content = (read := _cached().read_bytes())[:DIGEST_BYTES], read[DIGEST_BYTES:]
        if digest == hashlib.sha256(content).digest():
            return content
    made = _make_empty()
    with without_cache:
        cached = _cached()
        make_folder(cached.parent)
        with tempfile.NamedTemporaryFile(dir=cached.parent, delete=False) as file:
            file.write(hashlib.sha256(made).digest() + made)
        os.replace(file.name, cached)
        remove(sorted(cached.parent.iterdir(), key=os.path.getmtime)[:-CACHED])
    return made


def _cached() -> Path:
    """The place in the cache, by all that it depends on: its shape, the code that makes it, and DuckDB, which writes it."""
    import duckdb

    here = importlib.resources.files(__package__ or __name__)
    files = ("schema.py", "snapshot.py", "views.py", "../sql/whole.py")
    code = [here.joinpath(name).read_text(encoding="utf-8") for name in files]
    key = repr((_made_by(), code, duckdb.__version__))
    return cache_folder("empty") / hashlib.sha256(key.encode()).hexdigest()


def _make_empty() -> bytes:
    import duckdb

    with tempfile.TemporaryDirectory() as folder, duckdb.connect(config={"threads": 1}) as connection:
        file = Path(folder, "empty.duckdb")
        # a third of the time of a thousand statements that nothing is asked by
        connection.execute("PRAGMA disable_optimizer")
        _attach_temporary(connection, file, f" (STORAGE_VERSION {literal(STORAGE)})")
        connection.execute("USE warehouse")
        connection.execute("BEGIN")  # as changes of their own, a thousand statements would take twice the time
        create_tables(connection)
        create_derived(connection)
        connection.execute(FILES)
        connection.execute("COMMENT ON TABLE _files IS 'One row per file of the event log that is loaded.'")
        connection.execute("CREATE TABLE _meta (key VARCHAR, value VARCHAR)")
        connection.execute("COMMENT ON TABLE _meta IS 'One row per fact about this warehouse file.'")
        connection.execute("COMMIT")
        connection.execute("USE memory")
        connection.execute("DETACH warehouse")
        return file.read_bytes()
