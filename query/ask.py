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
    """Rows on their way: read them once, before the next question."""

    columns: list[str]
    rows: Iterator[tuple[Any, ...]]

    def dicts(self) -> Iterator[dict[str, Any]]:
        """The rows, each by the names of its columns."""
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)


def ask(warehouse: "Warehouse", query: str, parameters: object = None) -> Answer | None:
    """Run SQL and hand out the rows of its last statement as they come.

    Args:
        warehouse: Where to ask.
        query: One statement or several, parted by semicolons.
        parameters: Values for `?` or `$name`, when there is one statement.

    Returns:
        The rows; None where the last statement gives none, such as SET.

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
    """Take files, network and settings away from every later query on this connection."""
    warehouse.connection.execute("SET enable_external_access = false")
    warehouse.connection.execute("SET lock_configuration = true")


def friendly(warehouse: "Warehouse", error: "duckdb.Error") -> BenchError:
    """DuckDB's message, with our own names where one was mistaken."""
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
    """Tables, views and macros by name, and how each is written after FROM, with the arguments it must be given."""
    rows = warehouse.connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE NOT internal UNION SELECT view_name FROM duckdb_views() WHERE NOT internal"
    ).fetchall()
    macros = {
        view.name: f"{view.name}({', '.join(a.name for a in view.arguments if a.default is None)})"
        for view in sql.views().values()
        if view.arguments is not None and view.columns
    }
    return {name: name for (name,) in sorted(rows)} | {name: name for name in sql.computed()} | macros
