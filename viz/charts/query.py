"""Query: the rows of any query as points, lines, bars, or in a Vega-Lite spec of your own."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import click

from ...warehouse.console.declared import Option
from ...warehouse.console.numbers import counted
from ...warehouse.errors import BenchError, NothingToShow
from .. import findings, query_rows, user_spec
from ..chart import Chart, chart
from ..data import Row
from ..marks.bars import Bar, Bars
from ..marks.lines import Lines, Panel, Point
from ..options import Size, UserSQL
from ..output.figure import Form
from ..query_rows import Columns, Counts
from ..style import units
from ..style.labels import common_values, printable
from ..style.terminal import format_instant
from ..style.units import DisplayUnit, choose_unit, format_number

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

MARKS = ("points", "line", "bars")
MOST_BARS = 100  # that one figure has room for
MOST_SERIES = 40
NEAR_ZERO = 1 / 3  # of the largest value, that the smallest may be for an axis to begin at 0
ROW_TITLE = 40  # characters of a tooltip's title


@chart
def draw(
    warehouse: "Warehouse",
    query: Annotated[str, UserSQL],
    *,
    x: Annotated[str | None, Option("Column across.  [default: the first]", metavar="COLUMN")] = None,
    y: Annotated[
        str | None, Option("Column of numbers.  [default: the first of numbers but x]", metavar="COLUMN")
    ] = None,
    color: Annotated[
        str | None, Option("Column that tells series apart, by colour and marker.", metavar="COLUMN")
    ] = None,
    kind: Annotated[
        str | None,
        Option("What to draw.  [default: bars over names, a line over time, else points]", type=click.Choice(MARKS)),
    ] = None,
    log_x: Annotated[bool, Option("Logarithmic across.")] = False,
    log_y: Annotated[bool, Option("Logarithmic upwards; bars then hang from 1.")] = False,
    spec: Annotated[
        Mapping[str, Any] | None,
        Option(
            "A Vega-Lite spec of your own, whose data the rows become.", type=user_spec.SpecFile(), metavar="FILE.json"
        ),
    ] = None,
    size: Size = None,
) -> Chart:
    """Draw the rows of any query of the store.

    Kinds follow from the columns' types, units from what their names end in: _ns, _ms, _bytes … Whatever cannot be drawn (NULL,
    NaN, not above 0 on a logarithmic axis) is counted. The query is one SELECT; files, network and settings are out of its reach.

    \b
        bench viz query "SELECT name, backend, speedup FROM speedups" --x name --y speedup --color backend --log-y
        bench viz query "SELECT began_at, value AS latency_ns, backend FROM series WHERE name = 'mlp'
            AND metric = 'latency'" --color backend -o mlp.png
        bench viz query "FROM speedups" --spec mine.json -o mine.html
    \f
    Raises:
        UnknownName: The query gives no such column.
        NothingToShow: It gives no rows, or none that can be drawn.
        BenchError: It is wrong, or no SELECT, or a column's type does not fit.
    """
    with query_rows.rows_of(warehouse, query) as answer:
        if spec is not None:
            if x or y or color or kind or log_x or log_y:
                raise BenchError("--spec says what to draw: leave out --x, --y, --color, --kind, --log-x and --log-y.")
            return user_spec.chart_of(warehouse, answer, spec)
        columns = answer.choose(x, y, color)
        kind = kind or {"name": "bars", "time": "line"}.get(columns.x_kind, "points")
        if columns.turned and kind != "bars":
            raise BenchError(
                f"{columns.y!r} holds no numbers, so only bars can show it. Leave out --kind, or swap --x and --y."
            )
        if log_x and (kind == "bars" or columns.x_kind != "number"):
            raise BenchError(f"{columns.x!r} has no logarithmic axis: it holds no numbers, or bars are drawn.")
        if kind == "bars":
            rows, counts, sql = answer.first(columns, MOST_BARS, MOST_SERIES, log_y=log_y)
        else:
            rows, counts, sql = answer.reduced(columns, MOST_SERIES, log_x=log_x, log_y=log_y, size=size)
    form = _bars(rows, columns, log_y) if kind == "bars" else _lines(rows, columns, kind, log_x, log_y)
    if not rows or (kind == "bars" and not any(row["y"] is not None for row in rows)):
        raise NothingToShow(
            f"none of {counted(counts['read'], 'row')} can be drawn: {_reasons(counts) or 'no numbers'}."
        )
    return Chart(
        title=_title(columns),
        finding=_finding(rows, columns, kind, log_y) if len(rows) == counts["read"] else None,
        facts=[
            *(common_values(rows, ("series",)) if color else []),
            _drawn(rows, counts),
            *([reasons] if (reasons := _reasons(counts)) else []),
        ],
        form=form,
        sql=sql,
        rows=[columns.named(row) for row in rows],
        parameters={"query": query, "x": columns.x, "y": columns.y, "color": color, "kind": kind, "log_x": log_x, "log_y": log_y},
        counts=[{"of": "query", **{key: n for key, n in counts.items() if n}, "drawn": len(rows)}],
        total=counts["read"],
        notes=_notes(counts),
    )  # fmt: skip


def _finding(rows: Sequence[Row], columns: Columns, kind: str, log_y: bool) -> str | None:
    """The largest of bars, the largest step of lines over time, or how lines over numbers differ."""
    what, unit = units.name_and_unit(columns.y)
    if kind == "bars":
        named = [f"{row['written']} · {row['series']}" if columns.color else str(row["written"]) for row in rows]
        values = [(name, row["y"]) for name, row in zip(named, rows, strict=True)]
        return None if log_y or len({*named}) < len(named) else findings.largest(values, unit, what)
    points = [
        Point(panel=0, series=row["series"] if columns.color else what, x=row["x"], y=row["y"])
        for row in rows if columns.x_kind != "name"
    ]  # fmt: skip
    if columns.x_kind == "number":
        return (
            findings.of_lines(points, what, f"values of {units.name_and_unit(columns.x)[0]}") if columns.color else None
        )
    lines: dict[str, dict[str, float]] = {}
    for point in sorted(points, key=lambda point: point.x):
        lines.setdefault(point.series, {})[format_instant(point.x)] = point.y
    is_line = sum(map(len, lines.values())) == len(points) and kind == "line"
    return findings.moved({name: [*line.items()] for name, line in lines.items()}) if is_line else None


def _title(columns: Columns) -> str:
    of = f", by {units.name_and_unit(columns.color)[0]}" if columns.color else ""
    return f"{units.name_and_unit(columns.y)[0]} over {units.name_and_unit(columns.x)[0]}{of}".capitalize()


def _drawn(rows: Sequence[Row], counts: Counts) -> str:
    if len(rows) == counts["read"]:
        return "the only row" if len(rows) == 1 else f"all {counted(len(rows), 'row')}"
    return f"{len(rows):,} of {counted(counts['read'], 'row')}"


_WHY = {
    "null": "NULL", "not_finite": "NaN or infinite", "not_positive": "not above 0 on a logarithmic axis",
    "other_series": "of other series", "beyond": "beyond the first", "hidden": "behind others",
}  # fmt: skip
_NO_BAR = {"null": "NULL", "not_finite": "NaN or infinite", "not_positive": "not above 0"}


def _reasons(counts: Counts) -> str:
    return ", ".join(f"{counts[key]:,} {why}" for key, why in _WHY.items() if counts[key])


def _notes(counts: Counts) -> list[str]:
    notes = []
    if counts["beyond"]:
        notes.append(
            f"{counted(counts['beyond'], 'row')} left out: {MOST_BARS} bars are drawn, the first. ORDER BY … LIMIT chooses"
        )
    if counts["other_series"]:
        notes.append(
            f"{counted(counts['other_series'], 'row')} left out: {MOST_SERIES} series are drawn, the largest. WHERE chooses"
        )
    return notes


def _bars(rows: Sequence[Row], columns: Columns, log: bool) -> Form:
    """A bar for each row; a row beside the same name and series gets a number."""
    name, base = units.name_and_unit(columns.y)
    values = [row["y"] for row in rows if row["y"] is not None]
    unit = DisplayUnit(base) if log else choose_unit(values, base)
    seen = Counter[tuple[str, str]]()
    bars = []
    for row in rows:
        key = (str(row["written"]), row["series"] if columns.color else name)
        seen[key] += 1
        bars.append(
            Bar(
                row=key[0] if seen[key] == 1 else f"{key[0]} #{seen[key]}",
                series=key[1],
                value=row["y"],
                note=_NO_BAR.get(row["why"], ""),
                text="" if row["y"] is None else f"{format_number(row['y'] / unit.size)} {unit.name or ''}".strip(),
                tips=tuple(row[tip] for tip in columns.tips),
            )
        )
    return Bars(
        bars=bars, title=unit.title(name), unit=unit, ratio=log, tips=tuple((_tip(t), None) for t in columns.tips.values()),
    )  # fmt: skip


def _lines(rows: Sequence[Row], columns: Columns, kind: str, log_x: bool, log_y: bool) -> Form:
    x_name, x_base = units.name_and_unit(columns.x)
    y_name, y_base = units.name_and_unit(columns.y)
    names = list(dict.fromkeys(row["x"] for row in rows)) if columns.x_kind == "name" else []
    places = {name: place for place, name in enumerate(names)}
    across = choose_unit((row["x"] for row in rows), x_base) if columns.x_kind == "number" else DisplayUnit(None)
    y_values = [row["y"] for row in rows]
    when = (("at (UTC)", None),) if columns.x_kind == "time" else ()
    return Lines(
        points=[
            Point(
                panel=0, series=row["series"] if columns.color else y_name,
                x=places[row["x"]] if names else row["x"] / across.size, y=row["y"],
                tips=(*([format_instant(row["x"])] if when else []), *(row[tip] for tip in columns.tips), row["n"]),
            )
            for row in rows
        ],
        panels=[Panel(y_title=y_name, unit=choose_unit(y_values, y_base), zero=_near_zero(y_values))],
        x_title=f"{x_name} (UTC)" if when else across.title(x_name),
        x_names=tuple(map(printable, names)),
        x_time=columns.x_kind == "time",
        x_zero=columns.x_kind == "number" and _near_zero([row["x"] for row in rows]),
        log_x=log_x,
        log_y=log_y,
        joined=kind == "line",
        marked=kind == "points" or len(rows) <= 200,
        tips=(*when, *((_tip(title), None) for title in columns.tips.values()), ("rows here", ",d")),
    )  # fmt: skip


def _near_zero(values: Sequence[float]) -> bool:
    """Return whether the axis of these values begins at 0, which it does if that costs little room."""
    return bool(values) and 0 <= min(values) <= NEAR_ZERO * max(values)


def _tip(column: str) -> str:
    """A tooltip's title; `image` and `title` are no titles there but mean something to it."""
    return (
        f"{printable(column)[:ROW_TITLE]} (column)" if column in ("image", "title") else printable(column)[:ROW_TITLE]
    )
