"""Derived tables and views, created from the files of `sql`, each after those that it reads."""

import contextlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from .. import sql
from ..sql.whole import whole
from .schema import literal, quote

if TYPE_CHECKING:
    import duckdb

SAMPLES_AT_ONCE = 2_000_000
FEW_ROWS = 20_000  # of a warehouse: up to twice as many, bench's statements take less time as they stand than optimized
TOUCH = """
    CREATE OR REPLACE TEMP TABLE _touched AS
    SELECT run_id, min(config) AS config
    FROM (SELECT unnest(?::VARCHAR[]) AS run_id) LEFT JOIN runs USING (run_id) GROUP BY run_id
"""

# A load recomputes the rows of a derived table with these keys: by the first of its columns that is one of these.
TOUCHED = {
    "run_id": "SELECT run_id FROM _touched",
    "config": "SELECT config FROM _touched",
    "case_id": "SELECT case_id FROM (SELECT run_id, case_id FROM cases UNION ALL SELECT run_id, case_id FROM step_cells)"
    " JOIN _touched USING (run_id)",
}

# Derived tables that are dear even where there is nothing to derive: they have no rows of a run without rows of it here.
NEEDED = {
    "_failures": "cases",
    "_step_ranges": "schedule_chunks",
    "_summaries": "cases",
    "block_ratios": "timings WHERE block IS NOT NULL",
    "case_outcomes": "cases",
    "case_summaries": "cases",
    "noise_floors": "runs WHERE source = 'doctor'",
    "requests": "cases WHERE suite = 'serving'",
    "step_cells": "schedule_chunks",
}


# Stored with all that they call as one query, for that is planned in half to a third of the time (`python -m tests.benchmarks
# answers`); what else compares or judges calls one of these once. A stored query takes time whenever the warehouse is opened.
WHOLE = ("_compared_cases", "_judged_cases")


def create_derived(connection: "duckdb.DuckDBPyConnection") -> None:
    """Create all derived tables, empty, and all views and macros, with their comments in the catalog.

    The event tables must be there, and nothing of these.
    """
    connection.execute(TOUCH, [[]])
    tables, views = sql.tables(), sql.views()
    for name in sql.in_order():
        if name in tables:
            connection.execute(f"CREATE TABLE {name} AS {tables[name].body} LIMIT 0")
            _comment(connection, "TABLE", tables[name])
        else:
            _create_view(connection, views[name])


def compute_derived(connection: "duckdb.DuckDBPyConnection", run_ids: Iterable[str]) -> None:
    """Recompute the derived rows of these runs, their configs and their cases, in the tables of `create_derived`.

    At most once in a transaction: it removes old rows only from tables that held some when the transaction began.
    """
    run_ids = sorted(set(run_ids))
    filled, counted = _filled(connection), _samples(connection, run_ids)
    few = sum(filled.values()) + sum(count for _, count in counted) <= FEW_ROWS
    with as_they_stand(connection) if few else contextlib.nullcontext():
        _compute(connection, run_ids, filled, _parts(counted))


def is_small(connection: "duckdb.DuckDBPyConnection") -> bool:
    """True if the warehouse has so few rows that bench's statements take less time as they stand than optimized."""
    return sum(_filled(connection).values()) <= FEW_ROWS


@contextlib.contextmanager
def as_they_stand(connection: "duckdb.DuckDBPyConnection") -> Iterator[None]:
    """Execute statements without optimizing them."""
    import duckdb

    connection.execute("PRAGMA disable_optimizer")
    try:
        yield
    finally:
        with contextlib.suppress(duckdb.Error):  # after an error nothing is executed before the transaction ends
            connection.execute("PRAGMA enable_optimizer")


def _compute(
    connection: "duckdb.DuckDBPyConnection", run_ids: list[str], filled: Collection[str], parts: list[list[str]]
) -> None:
    tables, touched, empty = sql.tables(), None, set[str]()
    for name in filter(tables.__contains__, sql.in_order()):
        key = _key(tables[name])
        delete = f"DELETE FROM {name} WHERE {key} IN ({TOUCHED[key]})"  # once: it reads the whole table
        insert = insertion(tables[name])
        lots = parts if key == "run_id" else [run_ids]
        for statement, lot in [*([(delete, run_ids)] if name in filled else []), *((insert, lot) for lot in lots)]:
            if lot != touched:  # most loads are one lot
                connection.execute(TOUCH, [lot])
                touched, empty = lot, empty_tables(connection)
            if statement == delete or name not in empty:
                connection.execute(statement)


def _key(table: sql.View) -> str:
    return next(column for column in table.columns if column in TOUCHED)


def insertion(table: sql.View) -> str:
    """The statement that computes the rows of a derived table, of the runs in `_touched`.

    Rows of one run lie together, so that a question about it reads a small part of the table; in equal order, so that a
    question about many runs finds the same case at the same place.
    """
    order = f"{_key(table)}, metric, case_id" if "metric" in table.columns else _key(table)
    return f"INSERT INTO {table.name} FROM ({table.body}) ORDER BY {order}"


def _filled(connection: "duckdb.DuckDBPyConnection") -> dict[str, int]:
    """The tables that held rows when the transaction began, and how many."""
    query = "SELECT table_name, estimated_size FROM duckdb_tables() WHERE database_name = current_database()"
    return {name: size for name, size in connection.execute(query).fetchall() if size}


def empty_tables(connection: "duckdb.DuckDBPyConnection") -> set[str]:
    """The derived tables that have no rows of the runs in `_touched`, for lack of what they need."""
    needed = sorted(set(NEEDED.values()))
    rows = "EXISTS (FROM (FROM {}) WHERE run_id IN (SELECT run_id FROM _touched))"
    found = connection.execute("SELECT " + ", ".join(map(rows.format, needed))).fetchone()
    missing = {table for table, is_there in zip(needed, found or (), strict=True) if not is_there}
    return {name for name, table in NEEDED.items() if table in missing}


def _samples(connection: "duckdb.DuckDBPyConnection", run_ids: list[str]) -> list[tuple[str, int]]:
    """The numbers of samples, metrics and steps of each run."""
    counted = """
        SELECT run_id, count(sample.run_id)
        FROM (SELECT unnest(?::VARCHAR[]) AS run_id)
        LEFT JOIN (
            SELECT run_id FROM timings UNION ALL SELECT run_id FROM metrics UNION ALL SELECT run_id FROM schedule_chunks
        ) AS sample USING (run_id)
        GROUP BY run_id ORDER BY run_id
    """
    return connection.execute(counted, [run_ids]).fetchall()


def _parts(counted: Iterable[tuple[str, int]]) -> list[list[str]]:
    """The runs in lots of limited size, so that computing a lot fits in memory."""
    parts, room = list[list[str]](), 0
    for run_id, samples in counted:
        if not parts or samples > room:
            parts.append([])
            room = SAMPLES_AT_ONCE
        parts[-1].append(run_id)
        room -= samples
    return parts


def definition(view: sql.View) -> str:
    """The statement that creates a view or macro in DuckDB."""
    if view.arguments is None:
        return f"CREATE VIEW {view.name} AS {view.body}"
    arguments = ", ".join(
        quote(argument.name) + (f" := {argument.default}" if argument.default is not None else "")
        for argument in view.arguments
    )
    body = f"({view.body})" if view.scalar else f"TABLE {view.body}"
    return f"CREATE MACRO {view.name}({arguments}) AS {body}"


def _create_view(connection: "duckdb.DuckDBPyConnection", view: sql.View) -> None:
    connection.execute(definition(replace(view, body=whole(view)) if view.name in WHOLE else view))
    if view.arguments is None:
        _comment(connection, "VIEW", view)
    else:
        kind = "MACRO" if view.scalar else "MACRO TABLE"
        connection.execute(f"COMMENT ON {kind} {view.name} IS {literal(view.doc)}")


def _comment(connection: "duckdb.DuckDBPyConnection", kind: str, view: sql.View) -> None:
    connection.execute(f"COMMENT ON {kind} {view.name} IS {literal(view.doc)}")
    for name, column in view.columns.items():
        connection.execute(f"COMMENT ON COLUMN {view.name}.{quote(name)} IS {literal(column.meaning)}")
