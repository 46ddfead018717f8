"""Derived tables and views, made from the files of `sql` in the order that what they read demands."""

import graphlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .. import sql
from .schema import literal, quote

if TYPE_CHECKING:
    import duckdb


def create_derived(connection: "duckdb.DuckDBPyConnection") -> None:
    """Create every derived table that is missing, empty, with its comments. The event tables must be there."""
    connection.execute("CREATE TEMP TABLE IF NOT EXISTS _touched (run_id VARCHAR, config VARCHAR)")
    for table in _in_order(connection, sql.tables()):
        connection.execute(f"CREATE TABLE IF NOT EXISTS {table.name} AS {table.body} LIMIT 0")
        _comment(connection, "TABLE", table)


def compute_derived(connection: "duckdb.DuckDBPyConnection", run_ids: Iterable[str]) -> None:
    """Compute the derived rows of these runs, and of their configs, anew, in the tables `create_derived` made."""
    touched = """
        CREATE OR REPLACE TEMP TABLE _touched AS
        SELECT run_id, min(config) AS config
        FROM (SELECT unnest(?::VARCHAR[]) AS run_id) LEFT JOIN runs USING (run_id) GROUP BY run_id
    """
    connection.execute(touched, [list(run_ids)])
    for table in _in_order(connection, sql.tables()):
        key = "run_id" if "run_id" in table.columns else "config"
        connection.execute(f"DELETE FROM {table.name} WHERE {key} IN (SELECT {key} FROM _touched)")
        connection.execute(f"INSERT INTO {table.name} {table.body}")


def create_views(connection: "duckdb.DuckDBPyConnection") -> None:
    """Replace all views and macros by those of this version, with their comments in the catalog.

    The event tables and the derived tables must be there.
    """
    _drop_all(connection)
    for view in _in_order(connection, sql.views()):
        if view.arguments is None:
            connection.execute(f"CREATE VIEW {view.name} AS {view.body}")
            _comment(connection, "VIEW", view)
        else:
            arguments = ", ".join(
                quote(argument.name) + (f" := {argument.default}" if argument.default is not None else "")
                for argument in view.arguments
            )
            kind, body = ("MACRO", f"({view.body})") if view.scalar else ("MACRO TABLE", f"TABLE {view.body}")
            connection.execute(f"CREATE MACRO {view.name}({arguments}) AS {body}")
            connection.execute(f"COMMENT ON {kind} {view.name} IS {literal(view.doc)}")


def _in_order(connection: "duckdb.DuckDBPyConnection", views: Mapping[str, sql.View]) -> Iterator[sql.View]:
    """Views or tables, each after those of them that it reads."""
    reads = {view.name: reads_of(connection, view.body) & views.keys() for view in views.values()}
    for name in graphlib.TopologicalSorter(reads).static_order():
        yield views[name]


def reads_of(connection: "duckdb.DuckDBPyConnection", query: str) -> set[str]:
    """Names of the tables, views and macros that a SELECT reads, its own CTEs left out."""
    row = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchone()
    tree = json.loads(row[0]) if row else {}
    if tree.get("error"):
        raise ValueError(f"{tree.get('error_message')} in {query}")
    names: set[str] = set()
    own: set[str] = set()
    _walk(tree, names, own)
    return names - own


def _walk(node: Any, names: set[str], own: set[str]) -> None:
    if isinstance(node, list):
        for child in node:
            _walk(child, names, own)
    elif isinstance(node, dict):
        if node.get("type") == "BASE_TABLE":
            names.add(node["table_name"])
        elif "function_name" in node:
            names.add(node["function_name"])
        own.update(entry["key"] for entry in node.get("cte_map", {}).get("map", ()))
        for child in node.values():
            _walk(child, names, own)


def _drop_all(connection: "duckdb.DuckDBPyConnection") -> None:
    ours = "WHERE NOT internal AND database_name = current_database()"
    for (name,) in connection.execute(f"SELECT view_name FROM duckdb_views() {ours}").fetchall():
        connection.execute(f"DROP VIEW {quote(name)}")
    for name, kind in connection.execute(
        f"SELECT function_name, function_type FROM duckdb_functions() {ours}"
    ).fetchall():
        connection.execute(f"DROP MACRO {'TABLE ' if kind == 'table_macro' else ''}{quote(name)}")


def _comment(connection: "duckdb.DuckDBPyConnection", kind: str, view: sql.View) -> None:
    connection.execute(f"COMMENT ON {kind} {view.name} IS {literal(view.doc)}")
    for column, meaning in view.columns.items():
        connection.execute(f"COMMENT ON COLUMN {view.name}.{quote(column)} IS {literal(meaning)}")
