"""The rows of a user's query: its columns and their kinds, and the rows that can be drawn."""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..warehouse.errors import BenchError, NothingToShow, UnknownName
from ..warehouse.schema import quote
from . import downsample
from .data import Row, read_rows
from .output.figure import SIZE

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

Counts = dict[str, int]  # read = null + not_finite + not_positive + other_series + beyond + hidden + drawn

_NUMBER = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL\(.*\)|BIGNUM|VARINT")
_TIME = re.compile(r"DATE|TIMESTAMP.*")
_TIPS, _TIP = 10, 200  # other columns that tooltips tell, and characters of each
_HELD = "WITH given AS (\nFROM asked\n)"
_REASONS = ("null", "not_finite", "not_positive", "other_series")


def kind_of(type_name: str) -> str:
    """number, time or name."""
    return "number" if _NUMBER.fullmatch(type_name) else "time" if _TIME.fullmatch(type_name) else "name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns to draw."""

    x: str
    x_kind: str
    y: str  # numbers; of bars that lie, x and y have changed places
    color: str | None
    turned: bool
    tips: dict[str, str] = field(default_factory=dict)  # t0, t1 … -> other columns

    def named(self, row: Row) -> Row:
        """A row with the query's own names."""
        color = {self.color: row["series"]} if self.color else {}
        return {
            self.x: row["written"],
            self.y: row["y"],
            **color,
            **{name: row[tip] for tip, name in self.tips.items()},
        }


@dataclass(frozen=True, slots=True)
class QueryRows:
    """A query with its rows in the temporary table `asked`."""

    warehouse: "Warehouse"
    query: str  # one SELECT, without a semicolon
    types: dict[str, str]  # column -> type

    def column(self, name: str) -> str:
        """The column of that name, as the query spells it.

        Raises:
            UnknownName: The query gives no such column.
        """
        found = {column.lower(): column for column in self.types}.get(name.lower())
        if found is None:
            raise UnknownName("column", name, self.types, where="what the query gives")
        return found

    def choose(self, x: str | None, y: str | None, color: str | None) -> Columns:
        """The columns to draw; those not named follow from the types.

        Raises:
            UnknownName: The query gives no such column.
            BenchError: No column holds numbers.
        """
        kinds = {name: kind_of(type_name) for name, type_name in self.types.items()}
        x, y, color = (name and self.column(name) for name in (x, y, color))
        x = x or next((name for name in kinds if name not in (y, color)), None)
        y = y or next((name for name in kinds if kinds[name] == "number" and name not in (x, color)), None)
        if x is None or y is None:
            given = ", ".join(f"{name} {type_name}" for name, type_name in self.types.items())
            raise BenchError(f"a chart needs a column across and another of numbers; the query gives {given}.")
        turned = kinds[y] != "number"
        if turned:
            if kinds[x] != "number":
                raise BenchError(
                    f"neither {x!r} nor {y!r} holds numbers. Name a column of numbers with --y, or cast one: {y}::DOUBLE"
                )
            x, y = y, x
        others = [name for name in self.types if name not in (x, y, color)][:_TIPS]
        tips = {f"t{place}": name for place, name in enumerate(others)}
        return Columns(x=x, x_kind=kinds[x], y=y, color=color, turned=turned, tips=tips)

    def first(self, columns: Columns, most: int, most_series: int, *, log_y: bool) -> tuple[list[Row], Counts, str]:
        """The first rows, including those without a number, with the reason."""
        checked = self._query(columns, most_series, log_x=False, log_y=log_y)
        sql = f"""{checked}
SELECT x, written, y, series, {self._tips(columns)}why
FROM checked
WHERE why IS DISTINCT FROM 'other_series'
ORDER BY place
LIMIT {most}"""
        rows = read_rows(self.warehouse, sql)
        counts = self._counts(checked)
        del counts["drawable"]
        return (
            rows,
            {**counts, "beyond": counts["read"] - counts["other_series"] - len(rows), "hidden": 0},
            self._whole(sql),
        )

    def reduced(
        self, columns: Columns, most_series: int, *, log_x: bool, log_y: bool, size: tuple[float, float] | None
    ) -> tuple[list[Row], Counts, str]:
        """The rows that can be drawn; of very many, those that are visible."""
        checked = self._query(columns, most_series, log_x=log_x, log_y=log_y)
        counts = self._counts(checked)
        drawable = counts.pop("drawable")
        drawn = f"written, y, series, {self._tips(columns)}n"
        if drawable <= downsample.DRAW_ALL_BELOW:
            sql = (
                f"{checked}\nSELECT x, {drawn.removesuffix('n')}1 AS n\nFROM checked\nWHERE why IS NULL\nORDER BY place"
            )
        else:
            steps = downsample.reduction(downsample.grid_of(size or SIZE)).removeprefix("WITH ")
            sql = f"{checked},\n{_placed(columns.x_kind, log_x, log_y)},\n{steps}"
            sql = f"SELECT x_value AS x, {drawn.replace('y', 'y_value AS y', 1)}\nFROM (\n{sql}\n)\nORDER BY rank"
        rows = read_rows(self.warehouse, sql)
        return rows, {**counts, "beyond": 0, "hidden": drawable - len(rows)}, self._whole(sql)

    def _whole(self, sql: str) -> str:
        """The statement with the query itself in place of the table that holds its rows."""
        return sql.replace(_HELD, f"WITH given AS (\n{self.query}\n)", 1)

    def _tips(self, columns: Columns) -> str:
        return "".join(f"{tip}, " for tip in columns.tips)

    def _query(self, columns: Columns, most_series: int, *, log_x: bool, log_y: bool) -> str:
        """Rows with place, x, y, series, tips, and why they cannot be drawn."""
        x, y = quote(columns.x), quote(columns.y)
        across = {
            "number": f"{x}::DOUBLE",
            "time": f"CASE WHEN isfinite({x}) THEN epoch({x}) * 1000 END",
            "name": _name_of(columns.x),
        }
        series = _name_of(columns.color) if columns.color else "''"
        finite = "isfinite(x) AND " if columns.x_kind == "number" else ""
        above = " AND ".join(f"{axis} > 0" for axis, log in (("x", log_x), ("y", log_y)) if log) or "true"
        tips = "".join(f", left({quote(name)}::VARCHAR, {_TIP}) AS {tip}" for tip, name in columns.tips.items())
        written = {"number": x, "time": f"{x}::VARCHAR", "name": _name_of(columns.x)}[columns.x_kind]
        return f"""{_HELD},
numbered AS (
  SELECT row_number() OVER () AS place, {across[columns.x_kind]} AS x, {written} AS written, {y}::DOUBLE AS y,
    {series} AS series{tips}
  FROM given
),
largest AS (SELECT series FROM numbered GROUP BY series ORDER BY count(*) DESC, series LIMIT {most_series}),
checked AS (
  SELECT place, x, written, series{"".join(f", {tip}" for tip in columns.tips)},
    CASE
      WHEN series NOT IN (FROM largest) THEN 'other_series'
      WHEN written IS NULL OR y IS NULL THEN 'null'
      WHEN x IS NULL OR NOT ({finite}isfinite(y)) THEN 'not_finite'
      WHEN NOT ({above}) THEN 'not_positive'
    END AS why,
    CASE WHEN isfinite(y) AND ({above}) THEN y END AS y
  FROM numbered
)"""

    def _counts(self, sql: str) -> Counts:
        found = dict(self.warehouse.rows(f"{sql}\nSELECT why, count(*) FROM checked GROUP BY why"))
        counts = {reason: found.get(reason, 0) for reason in _REASONS}
        return {"read": sum(found.values()), **counts, "drawable": found.get(None, 0)}


def _name_of(column: str) -> str:
    """A column's values as names: NULL is one, too."""
    return f"coalesce({quote(column)}::VARCHAR, 'NULL')"


def _placed(x_kind: str, log_x: bool, log_y: bool) -> str:
    """The steps between `checked` and `downsample.reduction`: places from 0 to 1 on either axis, which it takes for x and y."""
    across = "dense_rank() OVER (ORDER BY x)" if x_kind == "name" else "ln(x)" if log_x else "x"
    return f"""positions AS (
  SELECT *, ({across})::DOUBLE AS a, {"ln(y)" if log_y else "y"} AS b FROM checked WHERE why IS NULL
),
ends AS (SELECT min(a) AS a0, max(a) AS a1, min(b) AS b0, max(b) AS b1 FROM positions),
points AS MATERIALIZED (
  SELECT * EXCLUDE (x, y, a, b, a0, a1, b0, b1, series), series AS config, series, x AS x_value, y AS y_value,
    place AS rank, coalesce((a - a0) / nullif(a1 - a0, 0), 0) AS x, coalesce((b - b0) / nullif(b1 - b0, 0), 0) AS y
  FROM positions, ends
)"""


@contextlib.contextmanager
def rows_of(warehouse: "Warehouse", query: str) -> Iterator[QueryRows]:
    """Run the query, and keep its rows in a temporary table within the context.

    Raises:
        BenchError: The query is wrong, or no single SELECT.
        NothingToShow: It gives no rows.
    """
    from ..query.ask import ask as run
    from ..query.computed import compute

    compute(warehouse, query)
    query = _one_select(warehouse, query)
    run(warehouse, f"CREATE OR REPLACE TEMP TABLE asked AS FROM (\n{query}\n)")
    try:
        types = {name: kind for name, kind, *_ in warehouse.rows("DESCRIBE asked")}
        ((count,),) = warehouse.rows("SELECT count(*) FROM asked")
        if not count:
            raise NothingToShow('the query gives no rows. Look at it with: bench sql "…"')
        yield QueryRows(warehouse, query, types)
    finally:
        warehouse.connection.execute("DROP TABLE asked")


def _one_select(warehouse: "Warehouse", query: str) -> str:
    """The query without a semicolon at its end."""
    import duckdb

    from ..query.allowed import check_query
    from ..query.ask import friendly

    try:
        check_query(warehouse.connection, query)
        statements = warehouse.connection.extract_statements(query)
        if len(statements) != 1 or statements[0].type.name != "SELECT":
            kinds = ", ".join(statement.type.name for statement in statements) or "nothing"
            raise BenchError(
                f"bench viz query draws the rows of one SELECT; this is {kinds}. Run anything else with: bench sql"
            )
        tokens = [start for start, kind in duckdb.tokenize(query) if "comment" not in str(kind).lower()]
    except duckdb.Error as error:
        raise friendly(warehouse, error) from error
    return query[: tokens[-1]] if tokens and query[tokens[-1] :].startswith(";") else query
