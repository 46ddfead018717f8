"""A Vega-Lite spec of one's own, with the rows of a query as its data: nothing in it may reach for the network."""

import datetime
import difflib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..warehouse.console.numbers import counted
from ..warehouse.console.tables import shorten
from ..warehouse.errors import BenchError
from .chart import Chart
from .data import SAFE_INTEGER
from .output.figure import SIZE
from .query_rows import QueryRows
from .style.labels import printable

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

MOST_ROWS = 100_000  # more would take the renderer all its memory
_FETCHES = {
    "url": "what it draws is the query's rows",
    "href": "a chart is no page of links",
    "loader": "nothing is loaded",
}
_MAKERS = {"fold", "flatten", "pivot", "impute", "lookup", "repeat", "density", "regression", "loess", "quantile"}
_DATA = {"values", "datasets"}  # rows within a spec: their columns may be called anything


class SpecFile(click.Path):
    """An option whose value is the spec in a file."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, path_type=str)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the spec.

        Raises:
            BenchError: It is no Vega-Lite spec, or one that would fetch something.
        """
        path = Path(str(super().convert(value, param, ctx)))
        try:
            spec = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise BenchError(f"cannot read a spec from {path}: {error}.") from error
        return checked(spec)


def checked(spec: Any) -> dict[str, Any]:
    """The spec, if it is one and asks nothing of the network.

    Raises:
        BenchError: Otherwise.
    """
    if not isinstance(spec, dict) or "/vega/" in str(spec.get("$schema")):
        raise BenchError('--spec takes a Vega-Lite spec, a JSON object such as: {"mark": "point", "encoding": {…}}')
    for key, value in _pairs(spec):
        if key in _FETCHES:
            raise BenchError(
                f"the spec has {key!r}: {printable(shorten(str(value), 60))}. Leave it out: {_FETCHES[key]}."
            )
        if (
            "image" in (value, value.get("type") if key == "mark" and isinstance(value, dict) else None)
            and key == "mark"
        ):
            raise BenchError("the spec has image marks, which load files. Draw points, or text.")
    return spec


def chart_of(warehouse: "Warehouse", answer: QueryRows, spec: Mapping[str, Any]) -> Chart:
    """The chart of a spec, which is as `checked` lets it pass; a title that is asked for counts more than its own, a size less.

    Raises:
        BenchError: The spec is none, would fetch something, or there are too many rows.
    """
    spec = checked(dict(spec))
    ((count,),) = warehouse.rows("SELECT count(*) FROM asked")
    if count > MOST_ROWS:
        raise BenchError(
            f"the query gives {count:,} rows, and a spec draws them as they are: {MOST_ROWS:,} at most."
            " Group them in SQL, or USING SAMPLE."
        )
    cursor = warehouse.connection.execute("FROM asked")
    values = [[json_value(value) for value in row] for row in cursor.fetchall()]
    rows = [dict(zip(answer.types, row, strict=True)) for row in values]
    title = spec.get("title")
    title = title.get("text") if isinstance(title, dict) else title
    title = " ".join(map(str, title)) if isinstance(title, list) else title
    missing = list(_unknown(spec, set(answer.types)))
    return Chart(
        title=title if isinstance(title, str) and title else "Rows of a query",
        facts=["the only row" if count == 1 else f"all {counted(count, 'row')} of the query"],
        form=_Own(spec, {name: [row[name] for row in rows] for name in answer.types}),
        sql=answer.query,
        rows=rows,
        parameters={"query": answer.query, "spec": spec},
        counts=[{"of": "query", "read": count, "drawn": count}],
        notes=missing,
    )


@dataclass(frozen=True, slots=True)
class _Own:
    """The form."""

    own: Mapping[str, Any]
    fields: dict[str, list[Any]]
    wanted_size: tuple[float, float] | None = None
    least = 0.0  # no minimum height

    @property
    def names(self) -> list[tuple[str, str]]:
        """None that bench knows of."""
        return []

    @property
    def size(self) -> tuple[float, float]:
        """Inches, unless the spec has a size of its own."""
        return SIZE

    def left_out(self, size: tuple[float, float], head: float) -> list[str]:
        """Nothing that bench knows of."""
        return []

    @property
    def drawn_fields(self) -> tuple[str, ...]:
        """All: what the spec does with them is its own affair."""
        return tuple(self.fields)

    def spec(self, interactive: bool, size: tuple[float, float], head: float) -> dict[str, Any]:
        """The spec without what bench sets: data and title."""
        return {key: value for key, value in self.own.items() if key not in ("$schema", "data", "title", "usermeta")}

    def text(self, columns: int, rows: int, colour: bool) -> list[str]:
        """The available columns, and the command that draws them."""
        names = ", ".join(map(printable, self.fields))
        return [shorten(f"columns: {names}", columns), "A spec of one's own is drawn in files: -o chart.png, or .html"]


def json_value(value: Any) -> Any:
    """A value as JSON and JavaScript can hold it: instants as ISO 8601 in UTC, lists and structs as they are."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= SAFE_INTEGER else str(value)
    if isinstance(value, float | Decimal):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, dict):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).isoformat() if value.tzinfo else f"{value.isoformat()}Z"
    return str(value)


def _pairs(node: Any) -> Iterator[tuple[str, Any]]:
    """Every key and value at any depth, data left out."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield key, value
            if key not in _DATA:
                yield from _pairs(value)
    elif isinstance(node, list):
        for value in node:
            yield from _pairs(value)


def _unknown(spec: Mapping[str, Any], columns: set[str]) -> Iterator[str]:
    """A warning for each field that neither the query nor, as far as one can see, the spec itself makes."""
    pairs = list(_pairs(spec))
    if _MAKERS & {key for key, _ in pairs}:
        return
    named = (name for key, value in pairs if key == "as" for name in (value if isinstance(value, list) else [value]))
    made = {name for name in named if isinstance(name, str)}
    fields = {value for key, value in pairs if key == "field" and isinstance(value, str)}
    for name in sorted(fields - columns - made):
        near = difflib.get_close_matches(name, columns, n=1, cutoff=0.5)
        hint = f" Nearest: {near[0]!r}." if near else ""
        yield f"the spec draws the field {printable(name)!r}, which the query does not give.{hint}"
