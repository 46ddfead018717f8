"""The views as SQL text for DuckDB or Spark: what `bench views --dialect` prints."""

import textwrap
from collections.abc import Iterator, Sequence

from ... import sql
from ...warehouse.errors import UnknownName
from ...warehouse.views import definition
from .spark_views import TOUCHED, translator

CREATE = {"spark": "CREATE OR REPLACE TEMPORARY VIEW", "duckdb": "CREATE TABLE"}
WIDTH = 118


def statements(dialect: str, names: Sequence[str]) -> Iterator[str]:
    """Statements that create views, each after all it reads, with their meaning as comments.

    Args:
        dialect: A key of `CREATE`.
        names: Views, macros and derived tables; what they read comes as well. Without names: all.

    Yields:
        A statement, or a comment that says why there is none.

    Raises:
        UnknownName: There is no such view.
        MissingExtra: sqlglot is not installed.
    """
    known = sql.tables() | sql.views()
    for name in names:
        if name not in known:
            shown = [name for name in known if not name.startswith("_")]
            raise UnknownName("view", name, shown, cure="List them with: bench views")
    translate = translator()
    read = (
        set(names).union(*(translate.reads(known[name].query) for name in names))
        if names
        else {*known, translate.TOUCHED}
    )
    yield _comment(
        f"The views of bench in the SQL of {dialect}. They read the event tables, which lie as Parquet in the store, "
        "events/<table>/; `runs` must have one row per run_id, `environments` one per environment_id."
    )
    if translate.TOUCHED in read:
        text = textwrap.dedent(TOUCHED).strip() if dialect == "duckdb" else translate.translate(TOUCHED)
        yield f"{CREATE[dialect]} {translate.TOUCHED} AS\n{text};"
    for name in sql.in_order():
        if name in read:
            yield (_head(known[name]) + "\n" + (_duckdb(known[name]) if dialect == "duckdb" else _spark(known[name])))


def _spark(view: sql.View) -> str:
    translate = translator()
    if view.arguments is not None and view.name.startswith("_"):
        return _comment("Only other views call this macro; its body stands in them.")
    given = [argument.name for argument in view.arguments or () if argument.default is None]
    taken = [
        f"{argument.name} := {argument.default}" for argument in view.arguments or () if argument.default is not None
    ]
    call = f"{'SELECT' if view.scalar else 'FROM'} {view.name}({', '.join(f':{name}' for name in given)})"
    try:
        text = translate.translate(view.query if view.arguments is None else call)
    except translate.Untranslatable as error:
        cure = f'bench sql "FROM {view.name}" --format parquet -o {view.name}.parquet'
        return _comment(f"Not translated: {error} Make it a table there, from: {cure}")
    notes = [_comment(f"A macro, here with {', '.join(taken)}.")] if taken else []
    if given:
        return "\n".join([*notes, _comment(f"A query with parameters, not a view: {', '.join(given)}."), f"{text};"])
    return "\n".join([*notes, f"{CREATE['spark']} `{view.name}` AS", f"{text};"])


def _duckdb(view: sql.View) -> str:
    return f"CREATE TABLE {view.name} AS\n{view.body};" if view.name in sql.tables() else f"{definition(view)};"


def _head(view: sql.View) -> str:
    lines = [_comment(f"{view.name}: {view.doc}")]
    width = max(map(len, view.columns), default=0)
    lines += [f"--   {name:<{width}}  {column.meaning}" for name, column in view.columns.items()]
    return "\n".join(lines)


def _comment(text: str) -> str:
    return "\n".join(textwrap.wrap(text, WIDTH, initial_indent="-- ", subsequent_indent="-- "))
