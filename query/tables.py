"""The commands' tables as functions: each a selection from one view, streamed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import sql
from ..warehouse.errors import UnknownName
from ..warehouse.schema import quote
from .ask import Answer, ask, readable
from .filters import build_filter

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

KINDS_OF_VIEW = ("view", "macro", "computed", "table")
RESERVED = {"trim"}  # argument names that DuckDB before 2.0 takes only in quotes


def select(
    warehouse: "Warehouse",
    view: str,
    where: Mapping[str, Sequence[str]] | None = None,
    *,
    columns: Sequence[str] = ("*",),
    order: str = "ALL",
    limit: int | None = None,
) -> Answer:
    """Rows of a view.

    Args:
        warehouse: Where to look.
        view: The view, a table, or a macro with its arguments.
        where: column -> values to keep; an empty list keeps all. `run_id` takes what `resolve_run` takes.
        columns: Columns, or SQL expressions.
        order: ORDER BY, as SQL.
        limit: Most rows.

    Raises:
        UnknownName: There is no such column, or it does not hold a value; the message suggests the nearest one.
    """
    kept = build_filter(warehouse, view, where)
    query = f"SELECT {', '.join(columns)} FROM {view} WHERE {kept.condition} ORDER BY {order}"
    answer = ask(warehouse, query if limit is None else f"{query} LIMIT {limit:d}", kept.parameters)
    assert answer is not None, "a SELECT gives rows"
    return answer


def newest_runs(warehouse: "Warehouse", view: str) -> list[str]:
    """The newest run of every config that has rows in a view, and the runs that took from the same plan."""
    newest = (
        "SELECT coalesce(arg_max(run_id, (began_at, run_id)) FILTER (began_at IS NOT NULL), max(run_id)) FROM run_summaries"
        f" WHERE run_id IN (SELECT run_id FROM {view}) GROUP BY config"
    )
    runs = {run_id for (run_id,) in warehouse.rows(newest)}
    plan = "SELECT other_run_id FROM related_runs WHERE same_plan AND list_contains(?::VARCHAR[], run_id)"
    return sorted(runs | {run_id for (run_id,) in warehouse.rows(plan, [sorted(runs)])})


@dataclass(frozen=True, slots=True)
class Description:
    """The description of a table, view or macro that `bench views NAME` prints."""

    name: str
    doc: str
    columns: list[tuple[str, str, str]]  # name, type, meaning


def catalog(warehouse: "Warehouse") -> Answer:
    """One row per view, macro and table: kind, how to read it, what a row is. Steps (`_…`) are left out."""
    docs = dict(
        warehouse.rows(
            "SELECT table_name, comment FROM duckdb_tables() WHERE NOT internal"
            " UNION ALL SELECT view_name, comment FROM duckdb_views() WHERE NOT internal"
            " UNION ALL SELECT function_name, comment FROM duckdb_functions() WHERE NOT internal"
        )
    )
    rows = []
    for name, form in readable(warehouse).items():
        if not name.startswith("_"):
            view = sql.views().get(name)
            computed = sql.computed().get(name)
            kind = (
                "computed" if computed else "table" if view is None else "view" if view.arguments is None else "macro"
            )
            grain = (computed.doc if computed else docs.get(name) or "").partition(". ")[0].removesuffix(".")
            rows.append((kind, form, grain))
    rows.sort(key=lambda row: (KINDS_OF_VIEW.index(row[0]), row[1]))
    return Answer(["kind", "name", "rows"], iter(rows))


def signature(view: sql.View) -> str:
    """The text of a view after FROM; a macro with its arguments and defaults."""
    if view.arguments is None:
        return view.name
    names = {a: quote(a.name) if a.name in RESERVED else a.name for a in view.arguments}
    arguments = (name if a.default is None else f"{name} := {a.default}" for a, name in names.items())
    return f"{view.name}({', '.join(arguments)})"


def describe(warehouse: "Warehouse", name: str) -> Description:
    """The description of a table, view or macro.

    Raises:
        UnknownName: There is none by that name.
    """
    name = name.partition("(")[0]
    forms = readable(warehouse)
    if name not in forms:
        near = [known for known in forms if not known.startswith("_")]
        raise UnknownName("view or table", name, near, cure="List them with: bench views")
    if computed := sql.computed().get(name):
        return Description(
            name, computed.doc, [(column, of.type, of.meaning) for column, of in computed.columns.items()]
        )
    view = sql.views().get(name)
    must = [a for a in (view.arguments if view else None) or () if a.default is None]  # lists of runs
    read = f"{name}({', '.join(['NULL::VARCHAR[]'] * len(must))})" if must else forms[name]
    types = warehouse.rows(f"SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM {read})")
    if view is not None:
        return Description(
            signature(view), view.doc, [(column, kind, view.columns[column].meaning) for column, kind in types]
        )
    ((doc,),) = warehouse.rows("SELECT comment FROM duckdb_tables() WHERE table_name = ?", [name])
    comments = dict(warehouse.rows("SELECT column_name, comment FROM duckdb_columns() WHERE table_name = ?", [name]))
    return Description(name, doc or "", [(column, kind, comments.get(column) or "") for column, kind in types])


def filled(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[list[str], list[list[Any]]]:
    """The columns that have a value in any row."""
    told = [i for i in range(len(columns)) if not rows or any(row[i] not in (None, "", "–") for row in rows)]
    return [columns[i] for i in told], [[row[i] for i in told] for row in rows]
