"""Asking: one SQL statement or a script, read-only, streamed, with errors a person can act on."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import sql
from ..warehouse.errors import BenchError

if TYPE_CHECKING:
    import duckdb

    from ..warehouse.database import Warehouse

BATCH = 2000  # rows fetched at a time
REFUSED = {"ATTACH", "DETACH", "COPY", "COPY_DATABASE", "EXPORT", "PREPARE", "EXECUTE"}  # ways to write, or to hide one
# EXPLAIN ANALYZE runs what it explains, COPY included.
EXPLAINS_A_QUESTION = re.compile(
    r"""(?xis) (?: \s | --[^\n]*\n | /\*.*?\*/ )*
    EXPLAIN (?: \s | --[^\n]*\n | /\*.*?\*/ | ANALYZE\b | \(\s*(?:ANALYZE|FORMAT)[^()]*\) )*
    (?: SELECT | FROM | WITH | VALUES | TABLE | PIVOT | UNPIVOT | SUMMARIZE | DESCRIBE | SHOW )\b"""
)
SILENT = {"CREATE", "DROP", "INSERT", "UPDATE", "DELETE", "SET", "VARIABLE_SET", "LOAD", "TRANSACTION", "ALTER"}


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a query as a stream: read them once, before the next query."""

    columns: list[str]
    rows: Iterator[tuple[Any, ...]]

    def dicts(self) -> Iterator[dict[str, Any]]:
        """The rows, each by the names of its columns."""
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)


def ask(warehouse: "Warehouse", query: str, parameters: object = None) -> Answer | None:
    """Run SQL and stream the rows of its last statement.

    Args:
        warehouse: Where to ask.
        query: One statement, or several separated by semicolons.
        parameters: Values for `?` or `$name`, when there is one statement.

    Returns:
        The rows; None if the last statement returns none, such as SET.

    Raises:
        BenchError: The query is wrong, fails, is empty, or would write a file or another database.
    """
    import duckdb

    connection = warehouse.connection
    try:
        statements = connection.extract_statements(query)
        for statement in statements:
            what = statement.type.name
            if what in REFUSED or (what == "EXPLAIN" and not EXPLAINS_A_QUESTION.match(statement.query)):
                raise BenchError(f"bench sql only reads: {what} is refused. Write a result with: bench sql … -o FILE")
        if not statements:
            raise BenchError('the query is empty. Try: bench sql "SELECT * FROM run_summaries"')
        for statement in statements[:-1]:
            connection.execute(statement)
        last = statements[-1]
        result = connection.execute(last) if parameters is None else connection.execute(last, parameters)
    except duckdb.Error as error:
        raise friendly(warehouse, error) from error
    if last.type.name in SILENT or result.description is None:
        return None
    return Answer([column[0] for column in result.description], _fetch(warehouse, result))


def _fetch(warehouse: "Warehouse", result: "duckdb.DuckDBPyConnection") -> Iterator[tuple[Any, ...]]:
    import duckdb

    try:
        while batch := result.fetchmany(BATCH):
            yield from batch
    except duckdb.Error as error:  # results stream: a division by zero may come late
        raise friendly(warehouse, error) from error


def shut_in(warehouse: "Warehouse") -> None:
    """Deny all later queries on this connection access to files, the network and settings."""
    warehouse.connection.execute("SET enable_external_access = false")
    warehouse.connection.execute("SET lock_configuration = true")


def friendly(warehouse: "Warehouse", error: "duckdb.Error") -> BenchError:
    """DuckDB's message; for an unknown table, the nearest of our names."""
    text = str(error).strip()
    missing = re.search(
        r"Table(?: Function)? with name \"?([^\"\s]+)\"? (?:does not exist|is not in the catalog)", text
    )
    if not missing:
        return BenchError(text)
    import difflib

    name = missing[1].rpartition(".")[2]
    how = {known: form for known, form in readable(warehouse).items() if not known.startswith("_")}
    if name in how:
        return BenchError(f"{name} is read as: FROM {how[name]}")
    near = difflib.get_close_matches(name, how, n=3, cutoff=0.5)
    nearest = f" Nearest: {', '.join(how[known] for known in near)}." if near else ""
    return BenchError(f"no table or view '{name}'.{nearest} List them with: bench views")


def readable(warehouse: "Warehouse") -> dict[str, str]:
    """How each table, view and macro is written after FROM, by name; macros with their required arguments."""
    rows = warehouse.connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE NOT internal UNION SELECT view_name FROM duckdb_views() WHERE NOT internal"
    ).fetchall()
    macros = {
        view.name: f"{view.name}({', '.join(a.name for a in view.arguments if a.default is None)})"
        for view in sql.views().values()
        if view.arguments is not None and view.columns
    }
    return {name: name for (name,) in sorted(rows)} | {name: name for name in sql.computed()} | macros
