"""The warehouse as a reader sees it: a read-only snapshot of the newest version."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

from .console.numbers import counted
from .errors import BenchError, StoreBusy
from .files import may_not_write
from .load import load, load_apart, must_exist
from .log import EventLog
from .log_files import counting_files
from .snapshot import connect, open_current
from .store import Store

if TYPE_CHECKING:
    import duckdb


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
        connection, known = (None, None) if store.remote else open_current(store, config)
        if connection is None or _stale(store, known):
            if connection is not None:
                connection.close()
            try:
                loaded = load(store, wait=not store.database.exists())
                _note(loaded.notes)
            except StoreBusy:
                pass
            except BenchError as error:
                if not may_not_write(error):
                    raise
                if not store.database.is_file():
                    return cls(store, _opened_apart(store, config))
                _note([f"what was recorded last is not in this answer: {error}"])
            connection = connect(store.database, config)
        return cls(store, connection)

    def rows(self, query: str, parameters: object = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""
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

    def __exit__(self, *_: object) -> None:
        self.close()


def _opened_apart(store: Store, config: Mapping[str, Any] | None) -> "duckdb.DuckDBPyConnection":
    """A warehouse of our own, which DuckDB keeps open though its file is removed, of a store that never was loaded."""
    with load_apart(store) as (apart, loaded):
        journals = len(EventLog(store).journals())
        without = f", without what is in {counted(journals, 'journal')}" if journals else ""
        _note([f"{store.root} cannot be written: it is loaded anew for each question{without}"])
        _note(loaded.notes)
        return connect(apart.database, config)


_noted: set[str] = set()


def _note(sentences: Iterable[str]) -> None:
    """Write to stderr what an answer leaves out, once in a process."""
    for sentence in sentences:
        if sentence not in _noted:
            from .console.options import notify

            _noted.add(sentence)
            notify(f"note: {sentence}")


def _stale(store: Store, known: set[str] | None) -> bool:
    """Whether a load would find anything to do, as far as can be told without the lock."""
    log = EventLog(store)
    files, unreadable = log.listing()
    return (
        known is None
        or log.is_unfinished()
        or not unreadable.keys() <= known
        or any(file.name not in known for file in counting_files(files, known))
    )
