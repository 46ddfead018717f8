"""DuckDB's SQL as Spark's: one set of files, translated by sqlglot.

The body of a macro replaces each call of it, because Spark has no macros. What DuckDB abbreviates is written out: stars,
aliases that are read in the SELECT that makes them, GROUP BY ALL, UNION BY NAME. After that only functions and operators
differ; `functions` lists those that sqlglot does not translate.
"""

import functools
import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ErrorLevel, OptimizeError, ParseError, TokenError, UnsupportedError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import traverse_scope

from ... import sql
from ...warehouse.errors import BenchError
from ...warehouse.events import TABLES
from ...warehouse.schema import SQL_TYPES
from .functions import FUNCTIONS

TOUCHED = "_touched"  # the runs that a load concerns; in Spark all of them


class Untranslatable(BenchError):
    """Spark has no counterpart for something in a query."""


class BenchDuckDB(DuckDB):
    """DuckDB's SQL as the files write it: `len` is of lists and `length` of text, which in Spark are two functions."""

    INDEX_OFFSET = 0  # x[1] is read as it stands

    class Parser(DuckDB.Parser):  # type: ignore[valid-type, misc]
        """Its parser."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {**DuckDB.Parser.FUNCTIONS, "LEN": exp.ArraySize.from_arg_list}


def translate(query: str) -> str:
    """A query over events, derived tables, views and macros, in Spark's SQL.

    Args:
        query: One statement in DuckDB's SQL.

    Returns:
        The statement. It reads tables and views by their names, and calls no macro.

    Raises:
        Untranslatable: Spark has no counterpart for something in it.
        BenchError: It is not SQL, reads a column that does not exist, or calls a macro wrongly.
    """
    try:
        tree = _parse(query)
        if not isinstance(tree, exp.Query):
            raise BenchError("only a question can be translated: SELECT, FROM or WITH.")
        _name_columns(tree)
        tree = _without_touched(_inlined(tree))
        tree = qualify(
            tree, dialect=BenchDuckDB, schema=_schema(), validate_qualify_columns=False, quote_identifiers=False
        )
        tree = _translated(_spelt_out(tree))
        text = tree.sql(dialect="spark", pretty=True, identify=True, unsupported_level=ErrorLevel.RAISE)
    except UnsupportedError as error:
        raise Untranslatable(f"Spark: {str(error).splitlines()[0].rstrip('.')}.") from error
    except OptimizeError as error:
        raise BenchError(f"cannot read the query: {error}") from error
    try:
        sqlglot.parse_one(text, dialect="spark")
    except ParseError as error:
        raise Untranslatable("Spark: sqlglot translates it into something that Spark cannot parse.") from error
    return text


@functools.cache
def reads(query: str) -> frozenset[str]:
    """Names of the tables and views that a query reads, itself or by what it reads."""
    sources = [source for scope in traverse_scope(_inlined(_parse(query))) for source in scope.sources.values()]
    names = {
        source.name.lower() for source in sources if isinstance(source, exp.Table)
    }  # a step may be named as a view
    derived, found = sql.tables() | sql.views(), set[str]()
    for name in names & (derived.keys() | TABLES.keys() | {TOUCHED}):
        found |= {name} | (reads(derived[name].query) if name in derived else frozenset())
    return frozenset(found)


def _parse(query: str) -> exp.Expr:
    try:
        return sqlglot.parse_one(query, dialect=BenchDuckDB)
    except (ParseError, TokenError) as error:
        message = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
        raise BenchError(f"cannot read the query: {message}") from error


@functools.cache
def _schema() -> dict[str, object]:
    """Every table and view with its columns; only event tables need types."""
    events: dict[str, object] = {
        event.TABLE: {field.name: SQL_TYPES[field.type] for field in event.fields()} for event in TABLES.values()
    }
    derived: dict[str, object] = {
        view.name: dict.fromkeys(view.columns, "UNKNOWN") for view in _files() if view.columns
    }
    return events | derived | {TOUCHED: {"run_id": "VARCHAR", "config": "VARCHAR"}}


def _files() -> Iterable[sql.View]:
    return (sql.tables() | sql.views()).values()


def _name_columns(tree: exp.Query) -> None:
    """Name a column without an alias after its expression: `max(n)`, not `_col_0`."""
    for column in tree.selects:
        if not column.output_name and not column.is_star:
            name = column.sql(dialect=BenchDuckDB)
            column.replace(exp.alias_(column.copy(), name, quoted=True))


def _without_touched(tree: exp.Expr) -> exp.Expr:
    """Drop the conditions that restrict rows to the runs of a load."""
    for condition in list(tree.find_all(exp.In)):
        inner = condition.args.get("query")
        if inner and any(table.name == TOUCHED for table in inner.find_all(exp.Table)):
            condition.replace(exp.true())
    return tree


def _inlined(tree: exp.Expr) -> exp.Expr:
    """Put every macro's body where it is called."""
    macros = {view.name: view for view in _files() if view.arguments is not None}
    numbers = itertools.count(1)
    while call := next((call for call in tree.find_all(exp.Anonymous) if call.name.lower() in macros), None):
        macro = macros[call.name.lower()]
        body = _body(macro, call.expressions, next(numbers))
        if macro.scalar:
            call.replace(exp.Paren(this=body))
        else:
            table = call.parent
            assert isinstance(table, exp.Table)
            table.replace(
                exp.Subquery(this=body, alias=exp.TableAlias(this=exp.to_identifier(table.alias or macro.name)))
            )
    return tree


def _body(macro: sql.View, given: Sequence[exp.Expr], number: int) -> exp.Expr:
    """A macro's body with these arguments; its CTEs get unique names, because some engines lift all CTEs to the top."""
    names = [argument.name for argument in macro.arguments or ()]
    values = {
        a.name: sqlglot.parse_one(a.default, dialect=BenchDuckDB)
        for a in macro.arguments or ()
        if a.default is not None
    }
    for name, value in zip(names, given, strict=False):
        named = isinstance(value, exp.PropertyEQ | exp.Kwarg)
        values[value.this.name if named else name] = value.expression if named else value
    if len(given) > len(names) or values.keys() != set(names):
        wanted = ", ".join(a.name if a.default is None else f"{a.name} := {a.default}" for a in macro.arguments or ())
        raise BenchError(f"{macro.name} takes other arguments: {macro.name}({wanted})")
    body = sqlglot.parse_one(macro.query, dialect=BenchDuckDB)
    assert isinstance(body, exp.Query)
    steps = {step.alias for step in body.ctes}
    for step in body.ctes:
        step.set("alias", exp.TableAlias(this=exp.to_identifier(f"{step.alias}_{number}")))
    for table in body.find_all(exp.Table):
        if table.name in steps:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.alias_or_name)))
            table.set("this", exp.to_identifier(f"{table.name}_{number}"))
    for column in list(body.find_all(exp.Column)):
        if not column.table and column.name in values:
            column.replace(_operand(values[column.name]))
    return body.selects[0] if macro.scalar else body


def _spelt_out(tree: exp.Expr) -> exp.Expr:
    """Expand abbreviations that other engines lack and that `qualify` does not expand."""
    for step in tree.find_all(exp.CTE):
        step.set("materialized", None)
    for union in list(tree.find_all(exp.SetOperation)):
        if union.args.get("by_name"):
            names = list(dict.fromkeys(union.left.named_selects + union.right.named_selects))
            for side in (union.left, union.right):
                have = dict(zip(side.named_selects, side.selects, strict=True))
                side.set("expressions", [have.get(name) or exp.alias_(exp.null(), name) for name in names])
            union.set("by_name", False)
    for select in tree.find_all(exp.Select):
        group = select.args.get("group")
        if group and group.args.get("all"):
            keys = [column.unalias().copy() for column in select.selects if not column.find(exp.AggFunc)]
            select.set("group", exp.Group(expressions=keys))
        windows = {window.name: window for window in select.args.pop("windows", None) or ()}
        for window in select.find_all(exp.Window):
            if window.alias in windows and window.parent_select is select:
                for part in ("partition_by", "order", "spec"):
                    window.set(part, windows[window.alias].copy().args.get(part))
                window.set("alias", None)
    for row in list(tree.find_all(exp.TableColumn)):  # a whole row as one value
        scope = row.parent_select
        assert scope is not None
        sources = [scope.args["from_"].this, *(join.this for join in scope.args.get("joins") or ())]
        for source in (source for source in sources if source.alias == row.name):
            row.replace(_struct({name: exp.column(name, row.name) for name in source.named_selects}))
    return tree


def _operand(node: exp.Expr) -> exp.Expr:
    """A copy in parentheses if it needs them as an operand."""
    return exp.Paren(this=node.copy()) if isinstance(node, exp.Binary | exp.Unary | exp.Predicate) else node.copy()


def _struct(fields: dict[str, exp.Expr]) -> exp.Struct:
    return exp.Struct(
        expressions=[
            exp.PropertyEQ(this=exp.to_identifier(name), expression=field.copy()) for name, field in fields.items()
        ]
    )


def _is_null(node: exp.Expr) -> exp.Expr:
    return exp.Is(this=_operand(node), expression=exp.null())


@functools.cache
def _template(name: str) -> exp.Expr:
    return sqlglot.parse_one(FUNCTIONS[name], dialect="spark")


def _translated(tree: exp.Expr) -> exp.Expr:
    """The tree with every function and operator replaced, from the leaves up."""
    for node in reversed(list(tree.walk())):
        new = _one(node)
        if node is tree:
            tree = new
        elif new is not node:
            node.replace(new)
    return tree


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    """Spark's counterpart of a function."""
    if name not in FUNCTIONS:
        raise Untranslatable(f"Spark has no counterpart of {name}.")
    template = _template(name).copy()
    if isinstance(template, exp.Column) and not template.name.startswith("_"):  # another name
        return exp.Anonymous(this=template.name, expressions=[argument.copy() for argument in arguments])
    tree = exp.Paren(this=template)
    for column in list(tree.find_all(exp.Column)):
        if re.fullmatch(r"_\d", column.name):
            column.replace(_operand(arguments[int(column.name[1]) - 1]))
    return tree.this if isinstance(tree.this, exp.Func | exp.Paren | exp.Case) else tree


def _one(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Anonymous):
        return _function(node.name.lower(), node)
    if isinstance(node, exp.Format):
        return _printf(_braces(node.this.name), node.expressions)
    if isinstance(node, exp.Div) and not (isinstance(node.expression, exp.Literal) and float(node.expression.name)):
        return _call("divide", node.this, node.expression)
    if isinstance(node, exp.Greatest | exp.Least):
        name = "greater" if isinstance(node, exp.Greatest) else "lesser"
        operands: list[exp.Expr] = [node.this, *node.expressions]
        return functools.reduce(lambda a, b: _call(name, a, b), operands)
    if isinstance(node, exp.ArraySize):
        return _call("len", node.this)
    if isinstance(node, exp.ArrayOverlaps):
        return _call("list_has_any", node.this, node.expression)
    if isinstance(node, exp.Bracket):
        return _element(node)
    if isinstance(node, exp.Cast):
        return _cast(node)
    if isinstance(node, exp.JSONObject):
        fields = {pair.this.name: pair.expression for pair in node.expressions}
        return _call("json_object", _struct(fields))
    return _aggregate(node)


def _function(name: str, node: exp.Anonymous) -> exp.Expr:
    if name == "list_aggregate":
        return _call(node.expressions[1].name, node.expressions[0], node.expressions[2])
    if name == "hash":
        return _call(name, exp.Array(expressions=node.expressions))
    if name == "printf":
        return _printf(node.expressions[0].name, node.expressions[1:])
    if name in FUNCTIONS:
        return _call(name, *node.expressions)
    return node  # Spark may have a function of this name


def _element(node: exp.Bracket) -> exp.Expr:
    index = node.expressions[0]
    if isinstance(index, exp.Slice):
        return _call("slice", node.this, index.this, index.expression)
    return node if index.is_string else _call("get", node.this, index)


def _cast(node: exp.Cast) -> exp.Expr:
    if node.to.this == exp.DType.MAP:
        return _call("object", node.this)
    if node.to.this == exp.DType.BIGINT and not isinstance(node.this, exp.Null):
        node.set("this", _call("whole", node.this))
    for kind in node.find_all(exp.DataType):
        if kind.this == exp.DType.INT128:
            kind.replace(exp.DataType.build("DECIMAL(38, 0)"))
    return node


def _aggregate(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.ArgMax | exp.ArgMin | exp.Max) and node.args.get("count"):
        key = node.this if isinstance(node, exp.Max) else node.expression
        rows = _struct({"key": key, "value": node.this})
        return _call("newest", exp.ArrayAgg(this=rows), node.args["count"])
    if isinstance(node, exp.ArgMax | exp.ArgMin):  # of rows without a value DuckDB takes none; NULL is above all else
        key = node.expression
        if isinstance(key, exp.Tuple):
            parts = enumerate(key.expressions)
            key = _struct(
                {f"{which}{i}": of for i, part in parts for which, of in (("no", _is_null(part)), ("key", part))}
            )
        return type(node)(
            this=node.this.copy(), expression=exp.Case().when(exp.Not(this=_is_null(node.this)), key.copy())
        )
    if isinstance(node, exp.ArrayAgg):
        return _list(node)
    if isinstance(node, exp.Filter):
        return _filtered(node)
    return node


def _list(node: exp.ArrayAgg) -> exp.Expr:
    if isinstance(node.this, exp.Distinct | exp.Struct):  # neither has NULLs to keep
        return node
    if not isinstance(node.this, exp.Order):
        return _call("collect", node.this)
    fields: dict[str, exp.Expr] = {}
    for i, key in enumerate(node.this.expressions):
        if key.args.get("desc"):
            raise Untranslatable("list(… ORDER BY … DESC) is not translated; sort it the other way.")
        if not key.args.get("nulls_first"):
            fields[f"no{i}"] = _is_null(key.this)
        fields[f"key{i}"] = key.this
    return _call("sorted", exp.ArrayAgg(this=_struct({**fields, "value": node.this.this})))


def _filtered(node: exp.Filter) -> exp.Expr:
    """FILTER where Spark takes it: right after the aggregate, and not in a window."""
    condition: exp.Expr = node.expression.this
    inner: exp.Expr = node.this
    if isinstance(node.parent, exp.Window):
        value = exp.Literal.number(1) if isinstance(inner.this, exp.Star) else inner.this
        if isinstance(value, exp.Distinct):
            value.set("expressions", [exp.Case().when(condition.copy(), each.copy()) for each in value.expressions])
        else:
            inner.set("this", exp.Case().when(condition.copy(), value.copy()))
        return inner
    if isinstance(inner, exp.IgnoreNulls):
        return exp.IgnoreNulls(this=exp.Filter(this=inner.this.copy(), expression=node.expression.copy()))
    held = exp.Paren(this=inner.copy())  # a list may have become more than its aggregate
    gathered = held.find(exp.ArrayAgg, exp.ArrayUniqueAgg)
    if gathered is None:
        return node
    gathered.replace(exp.Filter(this=gathered.copy(), expression=node.expression.copy()))
    return _call("or_null", held.this)


def _printf(form: str, values: Sequence[exp.Expr]) -> exp.Expr:
    """C's format; Spark's %g keeps trailing zeros."""
    arguments: list[exp.Expr] = []
    for spec, value in zip(re.findall(r"%[-+0-9.]*[a-z]", form.replace("%%", "")), values, strict=True):
        number = exp.cast(value.copy(), "DOUBLE") if spec[-1] in "fg" else value.copy()
        if spec[-1] == "g":
            text = _call("printf", exp.Literal.string(spec), number)
            number = _call("without_zeros", text)
        arguments.append(number)
    return _call("printf", exp.Literal.string(re.sub(r"%[.0-9]*g", "%s", form)), *arguments)


def _braces(form: str) -> str:
    """A format in C's notation."""
    return re.sub(r"\{(?::([^}]*))?\}", lambda match: f"%{match[1] or 's'}", form.replace("%", "%%"))
