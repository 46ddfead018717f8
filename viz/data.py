"""The data of a chart: one pasteable statement over the views, and its rows as JSON values."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..query.filters import build_filter
from ..query.pasteable_sql import list_literal

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

SAFE_INTEGER = 2**53  # JavaScript has no larger ones
_MOST_CASES, _LEAST_CASES = 50, 10
_MOST_BARS = 100  # of an image, which is then as high as a screen
USUAL = f"{_MOST_CASES}, fewer where these have more than {_MOST_BARS} bars"  # what `usual_cases` answers

Row = dict[str, Any]


def select(columns: str, source: str, *conditions: str, order: str = "", qualify: str = "") -> str:
    """One statement over a view, as a chart prints it: what is selected, from where, what is kept, in which order."""
    kept = " AND ".join(condition for condition in conditions if condition != "true") or "true"
    clauses = {"SELECT": columns, "FROM": source, "WHERE": kept, "QUALIFY": qualify, "ORDER BY": order}
    return "\n".join(f"{keyword} {text}" for keyword, text in clauses.items() if text)


def in_order(column: str, asked: Sequence[str]) -> str:
    """Sort key: the order in which values were asked for, else that of `natural_key`."""
    return f"list_position({list_literal(asked)}, {column})" if asked else f"natural_order({column})"


def filter_sql(warehouse: "Warehouse", view: str, where: Mapping[str, Sequence[str]]) -> str:
    """The condition that keeps these values, as `query.filters.build_filter` takes them, as SQL that can be pasted."""
    return build_filter(warehouse, view, where).pasteable


def all_configs(warehouse: "Warehouse") -> tuple[str, ...]:
    """The configs of the store, oldest first; their colours and shapes follow from this order."""
    rows = warehouse.rows("SELECT config FROM run_summaries GROUP BY config ORDER BY min(began_at) NULLS LAST, config")
    return tuple(str(config) for (config,) in rows)


def read_rows(warehouse: "Warehouse", statement: str) -> list[Row]:
    """All rows of a statement, with values that JSON and JavaScript can hold."""
    cursor = warehouse.connection.execute(statement)
    names = [column[0] for column in cursor.description or ()]
    columns = map(json_column, zip(*cursor.fetchall(), strict=True))
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def json_column(column: Sequence[Any]) -> Sequence[Any]:
    """A column as JSON and JavaScript can hold it.

    Decimal becomes a float, what is not finite None, integers past 2^53 and instants text.
    """
    kinds = set(map(type, column))
    fits = kinds <= {str, float, bool, int, type(None)}
    if fits and float in kinds:
        fits = all(math.isfinite(value) for value in column if type(value) is float)
    if fits and int in kinds:
        fits = all(abs(value) <= SAFE_INTEGER for value in column if type(value) is int)
    return column if fits else [_json_value(value) for value in column]


def _json_value(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and abs(value) > SAFE_INTEGER:
        return str(value)
    if value is None or isinstance(value, (str, int)):
        return value
    return value.isoformat(" ") if hasattr(value, "isoformat") else _json_value(float(value))


def lookup_command(row: Row, view: str) -> str:
    """The command that looks a case up; empty if an id contains characters that a shell interprets."""
    if not all(re.fullmatch(r"[\w.-]+", str(row[key]), re.ASCII) for key in ("run_id", "case_id")):
        return ""
    return f"bench sql \"FROM {view} WHERE run_id = '{row['run_id']}' AND case_id = '{row['case_id']}'\""


def usual_cases(warehouse: "Warehouse", cases: str) -> int:
    """The default number of cases of a bar chart: 50, fewer where each has so many bars that an image is higher than a screen.

    `cases` is as for `ends_of`.
    """
    ((bars,),) = warehouse.rows(f"SELECT count(DISTINCT (run_id, backend)) FROM ({cases})")
    return min(_MOST_CASES, max(_LEAST_CASES, _MOST_BARS // max(1, int(bars))))


def ends_of(
    cases: str, statistic: str, columns: str, *, lowest: int | None = None, highest: int | None = None,
    backends: Sequence[str] = (), configs: Sequence[str] = (),
) -> str:  # fmt: skip
    """The rows of the cases at either end of a ranking, and of as many that have no value.

    Args:
        cases: A SELECT with work_hash, backend, config, run_id and case_id; rows of one work_hash stay together.
        statistic: An aggregate over the rows of a work_hash, by which they are ranked.
        columns: What to select.
        lowest: How many from the low end.
        highest: How many from the high end; without either, all.
        backends: The order of those of one work_hash, as they were asked for; else by name.
        configs: Likewise.

    Returns:
        One SELECT, from the lowest upwards; from the highest downwards if only those are asked for.
    """
    ends = {"from_lowest": lowest, "from_highest": highest}
    kept = " OR ".join(f"{end} <= {most:d}" for end, most in ends.items() if most is not None)
    down = " DESC" if highest is not None and lowest is None else ""
    return f"""WITH cases AS (
{cases}
),
ranked AS (SELECT *, {statistic} OVER (PARTITION BY work_hash) AS ranking FROM cases),
placed AS (
  SELECT *,
    dense_rank() OVER (PARTITION BY ranking IS NULL ORDER BY ranking, work_hash) AS from_lowest,
    dense_rank() OVER (PARTITION BY ranking IS NULL ORDER BY ranking DESC, work_hash) AS from_highest
  FROM ranked
)
SELECT {columns}
FROM placed
WHERE {kept or "true"}
ORDER BY ranking{down} NULLS LAST, work_hash, {in_order("backend", backends)}, {in_order("config", configs)}, run_id, case_id"""
