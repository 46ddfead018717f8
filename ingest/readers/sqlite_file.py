"""SQLite files that may be hostile: opened read-only and immutable, with bounds on length, work and text.

Nothing in it is trusted: only plain tables are read, no view, no virtual table, no extension, no function of its schema.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as in_url

from ...warehouse.schema import quote
from ..format import MAX_LINE_BYTES

if TYPE_CHECKING:
    import sqlite3

SQLITE = b"SQLite format 3\0"
MOST_TABLES = 1000
OPERATIONS = 10_000  # of SQLite's machine, after which it asks whether to go on
ROW_BYTES = 4  # the fewest that a row takes in a file
MOST_TEXT = (
    4  # times the size of the file: what all texts together may take, each byte that is no UTF-8 written as \xNN
)


def sqlite_errors() -> tuple[type[Exception], ...]:
    """Errors of reading a damaged database."""
    import sqlite3

    return sqlite3.Error, ValueError, OverflowError, MemoryError  # ValueError: a name or a message that is no UTF-8


@contextlib.contextmanager
def open_sqlite(path: Path) -> Iterator["sqlite3.Connection"]:
    """A database, to read only."""
    import sqlite3

    database = sqlite3.connect(f"file:{in_url(str(path.absolute()))}?mode=ro&immutable=1", uri=True)
    left = 1000 + path.stat().st_size // 100  # times OPERATIONS: far more than any reading of a file of that size takes

    def is_enough() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    try:
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_LINE_BYTES)
        database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        database.set_progress_handler(is_enough, OPERATIONS)
        database.text_factory = lambda data: data.decode("utf-8", "backslashreplace")
        for setting in ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON", "mmap_size = 0"):
            database.execute(f"PRAGMA {setting}")
        yield database
    finally:
        database.close()


def plain_tables(database: "sqlite3.Connection") -> dict[str, list[str]]:
    """The plain tables and their plain columns: none that is computed, no view, no virtual table."""
    query = (
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%' AND name NOT LIKE 'sqlite%'"
    )
    names = [name for (name,) in database.execute(query) if isinstance(name, str)]
    return {
        name: [row[1] for row in database.execute(f"PRAGMA table_xinfo({quote(name)})") if row[6] == 0]
        for name in names[:MOST_TABLES]
    }


def tables_of(path: Path) -> dict[str, list[str]]:
    """The plain tables of a file and their columns.

    Raises:
        Exception: One of `sqlite_errors`.
    """
    with open_sqlite(path) as database:
        return plain_tables(database)


def rows_of_table(path: Path, table: str, columns: list[str]) -> Iterator[tuple[Any, ...]]:
    """The rows of a table, bytes as text.

    Raises:
        Exception: One of `sqlite_errors`, also where there are more rows or longer texts than the file has room for.
    """
    size = path.stat().st_size
    rows, room = size // ROW_BYTES, MOST_TEXT * size
    with open_sqlite(path) as database:
        for row in database.execute(f"SELECT {column_list(columns)} FROM {quote(table)}"):
            cells = tuple(map(as_plain, row))
            rows -= 1
            room -= sum(len(cell) for cell in cells if isinstance(cell, str))
            if rows < 0 or room < 0:
                raise ValueError("it has more rows or longer texts than the file has room for")
            yield cells


def column_list(columns: list[str]) -> str:
    """Columns as a SELECT names them."""
    return ", ".join(quote(column) for column in columns)


def as_plain(value: Any) -> Any:
    """A value of a column, bytes as text."""
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value
