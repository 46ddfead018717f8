"""The one place where derived data heals itself: a block of the warehouse is bad, so it is built anew and asked again.

DuckDB keeps a checksum of every block, and tells a bad one when it is read, at opening or in the middle of a query. The
warehouse is derived, so nothing is lost by it; what was asked is asked again in the same connection, which keeps its
temporary tables. Where that cannot be, as when rows were given already, an error says that it can be asked again.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ..errors import BenchError, Exit

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

    from ..store import Store

T = TypeVar("T")
CORRUPT = ("Corrupt database file", "Failed to load metadata pointer", "Could not read enough bytes from file")
_noted: set[str] = set()
_damaged: "set[Path]" = set()  # that cannot be removed


class DamagedWarehouse(BenchError):
    """The warehouse was damaged while it was read; it is whole again, and can be asked again."""

    exit_code = Exit.BUSY


def note(sentences: Iterable[str]) -> None:
    """Write to stderr what an answer leaves out, once in a process."""
    for sentence in sentences:
        if sentence not in _noted:
            from ..console.options import notify

            _noted.add(sentence)
            notify(f"note: {sentence}")


def told(sentences: Iterable[str]) -> None:
    """Take notes that a command writes itself, so that they are not written again."""
    _noted.update(sentences)


def note_damage(store: "Store", error: BaseException) -> None:
    """Say that the warehouse is built anew, and why."""
    note([f"{store.database} is damaged ({_reason(error)}); it is derived, and is built anew from the event log"])


def drop(store: "Store", error: BaseException) -> None:
    """Say that the warehouse is damaged, and remove it, so that whoever needs it waits for the new one."""
    note_damage(store, error)
    try:
        store.database.unlink(missing_ok=True)
    except OSError:  # another user's
        _damaged.add(store.database)


def is_damaged(store: "Store") -> bool:
    """Return whether the warehouse is known to be damaged, and could not be removed."""
    return store.database in _damaged


def is_damage(error: BaseException | None) -> bool:
    """True if an error, or one that caused it, comes of a damaged database file; duckdb has been imported then."""
    while error is not None:
        if type(error).__module__.endswith("duckdb") and any(sign in str(error) for sign in CORRUPT):
            return True
        error = error.__cause__
    return False


def _reason(error: BaseException) -> str:
    text = str(error.__cause__ or error)  # its own words: the error that it became names the file and a cure, too
    return next((sign for sign in CORRUPT if sign in text), text.splitlines()[0])


def healing(
    connection: "duckdb.DuckDBPyConnection", heal: Callable[[BaseException], None]
) -> "duckdb.DuckDBPyConnection":
    """The same connection, whose statements are executed again after `heal` where they meet a damaged block."""
    return cast("duckdb.DuckDBPyConnection", _Healing(connection, heal))


class _Healing:
    """Passes all on to the connection."""

    def __init__(self, connection: "duckdb.DuckDBPyConnection", heal: Callable[[BaseException], None]) -> None:
        self._connection, self._heal = connection, heal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, *arguments: Any, **named: Any) -> "duckdb.DuckDBPyConnection":
        """Execute a statement."""
        return self._repaired(lambda: self._connection.execute(*arguments, **named))

    def executemany(self, *arguments: Any, **named: Any) -> "duckdb.DuckDBPyConnection":
        """Execute a statement with several sets of parameters."""
        return self._repaired(lambda: self._connection.executemany(*arguments, **named))

    def sql(self, *arguments: Any, **named: Any) -> "duckdb.DuckDBPyRelation":
        """A query as a relation."""
        return self._repaired(lambda: self._connection.sql(*arguments, **named))

    def _repaired(self, ask: Callable[[], T]) -> T:
        import duckdb

        try:
            return ask()
        except duckdb.Error as error:
            if not is_damage(error):
                raise
            self._heal(error)
            return ask()
