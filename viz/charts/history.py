"""History: geometric mean, pass rate, compile time and memory over the last runs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import click

from ...warehouse.console.declared import Backends, Configs, Models, Option, Runs, Suites
from ...warehouse.console.numbers import counted
from ...warehouse.errors import NothingToShow, UnknownName
from ..case_history import chart_of_cases
from ..chart import Chart, chart
from ..data import Row, filter_sql, in_order, read_rows, select
from ..findings import moved
from ..marks.lines import Lines, Panel, Point
from ..marks.run_axis import RunAxis, began, days_of
from ..style.labels import common_values, distinguish, ordered
from ..style.units import DisplayUnit

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

TITLE = "History of the last runs"
LAST = 10  # runs
MOST_CASES = 6  # of those that changed
_EVERY = 2**31 - 1  # of them
_FLAT = 0.001  # relative: less is no change that a panel would show
METRICS = {  # what is asked for -> its column, and the axis
    "geomean": ("speedup", Panel(y_title="geomean", unit=DisplayUnit("x"), zero=False)),
    "pass-rate": ("pass_percent", Panel(y_title="passing", unit=DisplayUnit("%"))),
    "compile-time": ("mean_seconds", Panel(y_title="compile", unit=DisplayUnit("s"))),
    "memory": ("mean_ratio", Panel(y_title="compression", unit=DisplayUnit("x"), zero=False)),
}
PANEL = ("suite", "mode", "dtype", "device")  # one panel for each of them
SERIES = ("backend", "config")


def _changed(warehouse: "Warehouse", where: Mapping[str, Sequence[str]]) -> list[str]:
    """Cases whose numbers changed, the largest change first; where none did, the first by name."""
    from ...query.change import history as past
    from ...query.change import series as chosen

    chosen.choose(
        warehouse, {column: values for column, values in where.items() if values and column != "run_id"}, None
    )
    series = chosen.read(warehouse)
    if not series:
        return []
    rows = past.find(series, min_magnitude=0.01).rows
    names = [str(row["name"]) for row in rows or [each.labels for each in series] if row["name"]]
    return list(dict.fromkeys(names))[:MOST_CASES]


@chart
def draw(
    warehouse: "Warehouse",
    *,
    runs: Runs = (),
    configs: Configs = (),
    suites: Suites = (),
    backends: Backends = (),
    models: Models = (),
    metrics: Annotated[
        Sequence[str],
        Option(
            f"What to draw: {', '.join(METRICS)}; with --models, metrics such as latency."
            "  [default: all; latency, if there is any]"
        ),
    ] = (),
    last: Annotated[
        int | None,
        Option(
            f"How many runs of a config.  [default: {LAST}; with --models all]", type=click.IntRange(1), metavar="K"
        ),
    ] = None,
    slowdowns_as_one: Annotated[
        bool, Option("Let slowdowns count as 1 in the geometric mean, as PyTorch's dashboard does.")
    ] = False,
) -> Chart:
    """Geometric mean, pass rate, compile time and memory over the last runs, a panel for each suite.

    Numbers that never changed are named rather than drawn, unless --metrics asks for them.

    With --models the numbers of these cases in every run, with intervals and the change points that were found. A dotted
    line bridges runs that did not measure.

    \b
        bench viz history --suites torchbench -o history.png
        bench viz history --models resnet50 --backends inductor --metrics latency
    \f
    Raises:
        UnknownName: The warehouse holds no such run, config, suite, backend, model or metric.
        NothingToShow: No run judged any case.
    """
    where = {"run_id": runs, "config": configs, "suite": suites, "backend": backends}
    if models:
        cases = {**where, "name": models}
        return chart_of_cases(warehouse, cases, metrics, last=last)
    unknown = [metric for metric in metrics if metric not in METRICS]
    if unknown:
        raise UnknownName("metric", unknown[0], METRICS, cure="Metrics of single cases need --models")
    macro = f"history(k := {last or (_EVERY if runs else LAST):d})"
    mean = "dashboard_speedup" if slowdowns_as_one else "speedup"
    sql = select(
        f"config, suite, mode, dtype, device, backend, position, run_id, began_at, git_commit, ran, {mean} AS speedup,"
        f" low * {mean} / speedup AS low, high * {mean} / speedup AS high, n, passing, total,"
        " 100.0::DOUBLE * passing / total AS pass_percent, mean_seconds, mean_ratio",
        macro,
        filter_sql(warehouse, macro, where),
        order=f"suite, mode, dtype, device, {in_order('backend', backends)}, {in_order('config', configs)}, position",
    )
    rows = read_rows(warehouse, sql)
    axis = RunAxis.of(rows)
    if not metrics and not any(row["speedup"] for row in rows) and (names := _changed(warehouse, where)):
        return chart_of_cases(warehouse, {**where, "name": names}, (), last=last)
    points, panels, flat = _points(rows, axis, metrics or tuple(METRICS), all_drawn=bool(metrics))
    if not points:
        raise NothingToShow("no run judged any case. Measure some with: bench measure models")
    judged = sum(row["ran"] for row in rows)
    form = Lines(
        points=points,
        panels=panels,
        x_title=axis.title,
        x_names=axis.names,
        columns=min(3, len(set(distinguish(rows, PANEL)))),
        sparklines=True,
        series=ordered(distinguish(rows, SERIES), rows, {"backend": backends, "config": configs}),
        tips=(("run", None), ("began", None), ("commit", None), ("passing", None)),
    )
    return Chart(
        title=TITLE,
        finding=_finding(points, panels, axis),
        facts=[
            *common_values(rows, ("config", *PANEL)),
            days_of(len(axis.names), rows),
            *([f"unchanged: {', '.join(flat)}"] if flat else []),
            *([f"dotted: {counted(len(rows) - judged, 'gap')}"] if judged < len(rows) else []),
        ],
        form=form,
        sql=sql,
        rows=rows,
        parameters={
            "runs": list(runs), "configs": list(configs), "suites": list(suites), "backends": list(backends),
            "metrics": list(metrics),
            "last": last or LAST, "slowdowns_as_one": slowdowns_as_one,
        },
        counts=_counts(rows),
    )  # fmt: skip


def _points(
    rows: Sequence[Row], axis: RunAxis, metrics: Sequence[str], *, all_drawn: bool
) -> tuple[list[Point], list[Panel], list[str]]:
    """The points of a panel for each metric and suite that any run has a value for; the panels; and which are left out.

    Those are panels whose lines are all flat, unless all are.
    """
    titles, series = distinguish(rows, PANEL), distinguish(rows, SERIES)
    several = len(set(titles)) > 1
    points: list[Point] = []
    panels: list[Panel] = []
    flat: list[str] = []
    for metric in metrics:
        column, panel = METRICS[metric]
        for title in dict.fromkeys(titles):
            found: list[Point] = []
            for name in dict.fromkeys(series):
                line = [row for row, a, b in zip(rows, titles, series, strict=True) if (a, b) == (title, name)]
                found += _line(line, len(panels), name, column, axis)
            if found and not all_drawn and _is_flat(found):
                flat.append(f"{title} {panel.y_title}" if several else panel.y_title)
            elif found:
                points += found
                panels.append(replace(panel, title=title if several else ""))
    return (points, panels, flat) if points or not flat else _points(rows, axis, metrics, all_drawn=True)


def _finding(points: Sequence[Point], panels: Sequence[Panel], axis: RunAxis) -> str | None:
    """The largest step of the lines that are drawn."""
    lines: dict[str, list[tuple[str, float]]] = {}
    several = len({point.series for point in points}) > 1
    for point in points:
        panel = panels[point.panel]
        parts = [panel.y_title, *([panel.title] if panel.title else []), *([point.series] if several else [])]
        lines.setdefault(" · ".join(parts), []).append((axis.names[int(point.x)], point.y))
    return moved(lines)


def _is_flat(points: Sequence[Point]) -> bool:
    """Return whether no line of a panel ever changes."""
    values: dict[str, list[float]] = {}
    for point in points:
        values.setdefault(point.series, []).append(point.y)
    return all(max(line) - min(line) <= _FLAT * abs(max(line)) for line in values.values())


def _line(rows: Sequence[Row], panel: int, series: str, column: str, axis: RunAxis) -> list[Point]:
    """The points of one line; a run without a value begins another stretch."""
    points: list[Point] = []
    stretch = 0
    for row in rows:
        if row[column] is None:
            stretch += bool(points)
            continue
        points.append(
            Point(
                panel=panel,
                series=series,
                x=axis.places[row["run_id"]],
                y=row[column],
                low=row["low"] if column == "speedup" else None,
                high=row["high"] if column == "speedup" else None,
                stretch=stretch,
                tips=(row["run_id"], began(row), row["git_commit"], f"{row['passing']} of {row['total']}"),
            )
        )
    return points


def _counts(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The number of runs by backend; each suite (mode, dtype, device) of a run counts, either as judged or as a gap."""
    return [
        {
            "backend": backend,
            "runs": len({row["run_id"] for row in own}),
            "judged": sum(bool(row["ran"]) for row in own),
            "gaps": sum(not row["ran"] for row in own),
        }
        for backend in dict.fromkeys(row["backend"] for row in rows)
        for own in [[row for row in rows if row["backend"] == backend]]
    ]
