"""Asking: one SQL statement or a script, read-only, streamed, with errors a person can act on."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import sql
from ..warehouse.errors import BenchError
from .allowed import SANDBOX_SETTINGS, check_query, check_types, type_of

if TYPE_CHECKING:
    import duckdb

    from ..warehouse.database import Warehouse

BATCH = 2000  # rows fetched at a time
SILENT = {"CREATE", "DROP", "INSERT", "UPDATE", "DELETE", "SET", "VARIABLE_SET", "LOAD", "TRANSACTION", "ALTER"}


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a query as a stream: read them once, before the next query."""

    columns: list[str]
    rows: Iterator[tuple[Any, ...]]

    def dicts(self) -> Iterator[dict[str, Any]]:
        """The rows, each by the names of its columns."""
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)


def ask(
    warehouse: "Warehouse", query: str, parameters: object = None, *, rows_at_once: int | None = None
) -> Answer | None:
    """Run SQL and stream the rows of its last statement.

    Args:
        warehouse: Where to ask.
        query: One statement, or several separated by semicolons.
        parameters: Values for `?` or `$name`, when there is one statement.
        rows_at_once: Rows to fetch at a time; BATCH if left out.

    Returns:
        The rows; None if the last statement returns none, such as SET.

    Raises:
        BenchError: The query is wrong, fails, is empty, or would write a file or another database.
    """
    import duckdb

    connection = warehouse.connection
    last = last_statement(warehouse, query)
    try:
        result = connection.execute(last) if parameters is None else connection.execute(last, parameters)
    except duckdb.Error as error:
        raise friendly(warehouse, error) from error
    if is_silent(last) or result.description is None:
        return None
    return Answer([column[0] for column in result.description], _fetch(warehouse, result, rows_at_once or BATCH))


def is_silent(statement: "duckdb.Statement") -> bool:
    """Return whether a statement returns no rows of use, such as SET."""
    return type_of(statement) in SILENT


def last_statement(warehouse: "Warehouse", query: str) -> "duckdb.Statement":
    """Run all statements of a query but the last, and return that one; it only reads. Raises as `ask`."""
    import duckdb

    connection = warehouse.connection
    try:
        check_query(connection, query)
        statements = connection.extract_statements(query)
        check_types(statements)
        if not statements:
            raise BenchError('the query is empty. Try: bench sql "SELECT * FROM run_summaries"')
        for statement in statements[:-1]:
            connection.execute(statement)
    except duckdb.Error as error:
        raise friendly(warehouse, error) from error
    return statements[-1]


def _fetch(warehouse: "Warehouse", result: "duckdb.DuckDBPyConnection", count: int) -> Iterator[tuple[Any, ...]]:
    import duckdb

    try:
        while batch := result.fetchmany(count):
            yield from batch
    except duckdb.Error as error:  # results stream: a division by zero may come late
        raise friendly(warehouse, error) from error


def lock_settings(warehouse: "Warehouse", extensions: Sequence[str] = ()) -> None:
    """Lock the settings of this connection but SETTINGS, so that no query writes, loads or logs by way of one.

    Args:
        warehouse: Where to ask.
        extensions: Extensions of DuckDB to load, and to download where they are missing; a query loads no other.

    Raises:
        BenchError: An extension cannot be loaded.
    """
    import duckdb

    for name in extensions:
        if not re.fullmatch(r"[A-Za-z0-9_]+", name):
            raise BenchError(f"{name!r} is not the name of a DuckDB extension, such as httpfs.")
        try:
            warehouse.connection.execute(f"INSTALL {name}")
            warehouse.connection.execute(f"LOAD {name}")
        except duckdb.Error as error:
            raise BenchError(f"the extension {name} cannot be loaded: {str(error).splitlines()[0]}.") from error
    _fetch_nothing(warehouse)
    known = {name for (name,) in warehouse.connection.execute("SELECT name FROM duckdb_settings()").fetchall()}
    warehouse.connection.execute(f"SET allowed_configs = {[name for name in SANDBOX_SETTINGS if name in known]}")
    warehouse.connection.execute("SET lock_configuration = true")


def shut_in(warehouse: "Warehouse") -> None:
    """Deny all later queries on this connection access to files, the network and settings."""
    _fetch_nothing(warehouse)
    warehouse.connection.execute("SET enable_external_access = false")
    warehouse.connection.execute("SET lock_configuration = true")


def _fetch_nothing(warehouse: "Warehouse") -> None:
    """No query downloads or loads an extension by itself."""
    for setting in ("autoinstall_known_extensions", "autoload_known_extensions"):
        warehouse.connection.execute(f"SET {setting} = false")


def friendly(warehouse: "Warehouse", error: "duckdb.Error") -> BenchError:
    """DuckDB's message; for an unknown table, the nearest of our names."""
    text = str(error).strip()
    if locked := re.search(r'option "+(\w+)"+ - the configuration has been locked', text):
        return BenchError(f"bench sql only reads: the setting {locked[1]} is locked.")
    if extension := re.search(r"installing and loading the (\w+) extension", text):
        return BenchError(
            f"this needs DuckDB's extension {extension[1]}, which bench neither downloads nor loads unasked. Allow it with: "
            f"bench sql --extensions {extension[1]} …"
        )
    missing = re.search(
        r"Table(?: Function)? with name \"?([^\"\s]+)\"? (?:does not exist|is not in the catalog)", text
    )
    if not missing:
        wrong = BenchError(text)
        if place := re.search(r"^LINE \d+: .*", text, re.MULTILINE):
            wrong.where = place[0]
        if candidates := re.search(r"^Candidate bindings: (.*)", text, re.MULTILINE):
            wrong.nearest = re.findall(r'"([^"]+)"', candidates[1])
        return wrong
    import difflib

    name = missing[1].rpartition(".")[2]
    how = {known: form for known, form in readable(warehouse).items() if not known.startswith("_")}
    if name in how:
        return BenchError(f"{name} is read as: FROM {how[name]}")
    near = difflib.get_close_matches(name, how, n=3, cutoff=0.5)
    nearest = f" Nearest: {', '.join(how[known] for known in near)}." if near else ""
    unknown = BenchError(f"no table or view '{name}'.{nearest} List them with: bench views")
    unknown.nearest = [how[known] for known in near]
    return unknown


def readable(warehouse: "Warehouse") -> dict[str, str]:
    """The text after FROM of each table, view and macro, by name; macros with their required arguments."""
    rows = warehouse.connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE NOT internal UNION SELECT view_name FROM duckdb_views() WHERE NOT internal"
    ).fetchall()
    macros = {
        view.name: f"{view.name}({', '.join(a.name for a in view.arguments if a.default is None)})"
        for view in sql.views().values()
        if view.arguments is not None and view.columns
    }
    return {name: name for (name,) in sorted(rows)} | {name: name for name in sql.computed()} | macros
