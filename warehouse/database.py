"""The warehouse as a reader sees it: a read-only snapshot of the newest version."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from .console.numbers import counted
from .errors import BenchError, StoreBusy
from .files import may_not_write
from .load import (
    DAMAGED_SINCE,
    GONE,
    changed_files,
    damaged_files,
    lacks_partial,
    load,
    load_apart,
    must_exist,
    rebuild,
)
from .log import EventLog, LogFile
from .log_files import counting_files
from .settings import DEFAULT, FloorRule, find_setting, regular, setting
from .snapshot import LoadedFile, attach, connect, damage_notes, open_current
from .store import Store
from .upkeep.healing import DamagedWarehouse, healing, is_damage, is_damaged, note, note_damage
from .views import is_small

if TYPE_CHECKING:
    import duckdb


class Warehouse:
    """A read-only snapshot of the warehouse."""

    def __init__(self, store: Store, connection: "duckdb.DuckDBPyConnection") -> None:
        """Wrap a connection; `open` is how to get here."""
        self.store = store
        self.connection = healing(connection, self._heal)
        self._opened = _identity(store)

    @classmethod
    def open(cls, store: Store, *, config: Mapping[str, Any] | None = None, tell: bool = True) -> "Warehouse":
        """Open the newest version, after loading what is new in the log if nobody else is at it.

        Args:
            store: The store.
            config: DuckDB settings, such as memory_limit.
            tell: Whether notes say which files are damaged; not for who answers with that.

        Raises:
            BenchError: There is no store, or nothing was recorded in it.
        """
        must_exist(store)
        connection, known = (None, None) if store.remote else open_current(store, config)
        has_new, changed, gone = _pending(store, known)
        if connection is None or has_new or changed:
            if connection is not None:
                connection.close()
            try:
                loaded = load(store, wait=not store.database.exists())
                note(loaded.notes if tell else loaded.recovery_notes)
            except StoreBusy:
                pass
            except BenchError as error:
                if not may_not_write(error):
                    raise
                if not store.database.is_file() or is_damaged(store):
                    return cls(store, _opened_apart(store, config))
                if has_new:
                    note([f"what was recorded last is not in this answer: {error}"])
                note(f"{file.name} {DAMAGED_SINCE}" for file in damaged_files(changed, known or {}))
            connection = connect(store.database, config)
        _name_machines(connection)
        _set_floors(connection)
        if tell:
            note(damage_notes(connection))
            note(f"{name} {GONE}" for name in gone if not has_new)  # else it may be what the new ones stand for
        return cls(store, connection)

    def plan_briefly(self) -> Self:
        """Let queries run as they stand if the warehouse is small: to optimize bench's own takes longer than to answer them.

        A query of a user may depend on the optimizer, as it may read large files.
        """
        self.connection.execute(f"PRAGMA {'disable' if is_small(self.connection) else 'enable'}_optimizer")
        return self

    def rows(self, query: str, parameters: object = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        try:
            return self.connection.execute(query, parameters).fetchall()
        except _duckdb_error() as error:  # rows stream: a bad block may come late
            if not is_damage(error):
                raise
            self._heal(error)
            return self.connection.execute(query, parameters).fetchall()

    def dicts(self, query: str, parameters: object = ()) -> list[dict[str, Any]]:
        """All rows of a query, each by the names of its columns."""
        rows = self.rows(query, parameters)
        names = [column[0] for column in self.connection.description or ()]
        return [dict(zip(names, row, strict=True)) for row in rows]

    def close(self) -> None:
        """Let go of the snapshot."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is not None and is_damage(error):
                self._heal(error)
                raise DamagedWarehouse(
                    f"{self.store.database} was damaged, and is whole again. What was given of this answer may end early; "
                    "ask again."
                ) from error
        finally:
            self.close()

    def _heal(self, error: BaseException) -> None:
        """Build the warehouse anew, unless somebody did meanwhile, and look at the new one; temporary tables stay.

        Raises:
            DamagedWarehouse: This connection cannot look at it.
            BenchError: It cannot be built.
        """
        note_damage(self.store, error)
        database = self.store.database
        if _identity(self.store) == self._opened:
            try:
                note(rebuild(self.store).notes)
            except BenchError as refusal:
                if not may_not_write(refusal):
                    raise
                with load_apart(self.store) as (apart, _):
                    self._attach(apart.database)
                return
        self._attach(database)

    def _attach(self, database: Path) -> None:
        """Look at another version of the warehouse; temporary tables stay."""
        import duckdb

        self._opened = _identity(self.store)
        try:
            self.connection.execute("USE memory")
            self.connection.execute("DETACH warehouse")
            attach(self.connection, database)
            self.connection.execute("USE warehouse")
        except duckdb.Error as refusal:  # as in a sandbox
            raise DamagedWarehouse(f"{self.store.database} was damaged, and is built anew: ask again.") from refusal


def _name_machines(connection: "duckdb.DuckDBPyConnection") -> None:
    """Give the classes of machine the names of the project's settings, which no store holds."""
    if names := [
        (name, regular(pattern.lower())) for name, patterns in setting("machines").items() for pattern in patterns
    ]:
        connection.execute("CREATE TEMP TABLE _machine_names (name VARCHAR, pattern VARCHAR)")
        connection.executemany("INSERT INTO _machine_names VALUES (?, ?)", names)


def _set_floors(connection: "duckdb.DuckDBPyConnection") -> None:
    """Let comparisons take their smallest changes from the project's settings, which no store holds."""
    usual, origin = find_setting("floor")
    rules = [] if origin == DEFAULT else [FloorRule("*", "*", usual)]
    if rules := [*rules, *setting("floors")]:
        rules = rules[::-1]
        columns = ([rule.metric for rule in rules], [rule.case for rule in rules])
        patterns = [[None if pattern == "*" else regular(pattern) for pattern in column] for column in columns]
        connection.execute(
            "CREATE TEMP TABLE _floor_rules AS"
            " SELECT ?::DOUBLE[] AS floors, ?::VARCHAR[] AS floor_metrics, ?::VARCHAR[] AS floor_names",
            [[rule.floor for rule in rules], *patterns],
        )


def _opened_apart(store: Store, config: Mapping[str, Any] | None) -> "duckdb.DuckDBPyConnection":
    """A warehouse of our own, which DuckDB keeps open though its file is removed, of a store that never was loaded."""
    with load_apart(store) as (apart, loaded):
        journals = len(EventLog(store).journals())
        without = f", without what is in {counted(journals, 'journal')}" if journals else ""
        note([f"{store.root} cannot be written: it is loaded anew for each question{without}"])
        note(loaded.notes)
        return connect(apart.database, config)


def _identity(store: Store) -> tuple[int, int] | None:
    """The identity of one version of the warehouse."""
    try:
        found = store.database.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _duckdb_error() -> type[Exception]:
    import duckdb

    return duckdb.Error


def _pending(store: Store, known: Mapping[str, LoadedFile] | None) -> tuple[bool, list[LogFile], list[str]]:
    """True if a load would find something new, as far as the lock is not needed to tell.

    And the files that it would look at again, and the names of those that are gone.
    """
    if known is None:
        return True, [], []
    log = EventLog(store)
    files, unreadable = log.listing()
    has_new = (
        log.is_unfinished()
        or not unreadable.keys() <= known.keys()
        or any(file.name not in known for file in counting_files(files, known.keys()))
        or lacks_partial(files, known)
    )
    gone = known.keys() - unreadable.keys() - {file.name for file in files}
    return has_new, changed_files(files, known), sorted(name for name in gone if not known[name].damage)
