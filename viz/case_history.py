"""The history of single cases: their values in every run, with intervals and change points."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..query.change.changepoints import LEAST_RUNS, change_points
from ..query.change.levels import ChangePoint
from ..query.pasteable_sql import list_literal
from ..warehouse.console.numbers import counted, percent, percent_change
from ..warehouse.console.tables import shorten
from ..warehouse.errors import NothingToShow, UnknownName
from .chart import Chart
from .data import Row, filter_sql, in_order, lookup_command, read_rows, select
from .findings import MAY_END, is_newest, of_changes
from .marks.lines import Lines, Panel, Point
from .marks.overlays import Level
from .marks.run_axis import RunAxis, began, days_of
from .style.labels import CASE, common_values, distinguish, ordered, printable
from .style.units import choose_unit

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

MOST_PANELS = 12
LASTING = ("step", "drift")
FoundChange = tuple[tuple[str, str], ChangePoint]  # with the case and the series of its line
NAME_COLUMNS = 40  # of a case in the title
NAMED = 3  # changes that the subtitle names


def chart_of_cases(
    warehouse: "Warehouse",
    where: Mapping[str, Sequence[str]],
    metrics: Sequence[str],
    *,
    last: int | None,
) -> Chart:
    """The history of single models, for `history --models`: unless metrics are given latency, or all where there is none.

    Raises:
        UnknownName: `series` holds no such value, or these cases no such metric.
        NothingToShow: Nothing was measured of these cases.
    """
    of_cases = f"coalesce(phase, 'steady') = 'steady' AND {filter_sql(warehouse, 'series', where)}"
    known = [name for (name,) in warehouse.rows(f"SELECT DISTINCT metric FROM series WHERE {of_cases} ORDER BY metric")]
    if not known:
        raise NothingToShow("nothing was measured of these cases. See how they ended: bench list cases")
    for metric in metrics:
        if metric not in known:
            raise UnknownName("metric", metric, known, where="these cases")
    metrics = metrics or (["latency"] if "latency" in known else known)
    series = "config, case_id, metric, phase, unit"
    sql = select(
        "config, suite, name, mode, device, dtype, batch_size, sequence_length, parameters, backend, metric,"
        " phase, unit, position, run_id, began_at, git_commit, n, value, low, high, case_id",
        "series",
        f"list_contains({list_literal(metrics)}, metric)",
        of_cases,
        qualify=f"row_number() OVER (PARTITION BY {series} ORDER BY position DESC) <= {last:d}" if last else "",
        order=f"{', '.join((in_order('name', where['name']), *CASE[1:]))}, metric, unit,"
        f" {in_order('backend', where['backend'])}, {in_order('config', where['config'])}, case_id, position",
    )
    rows = read_rows(warehouse, sql)
    axis = RunAxis.of(_runs(warehouse, rows))
    named = "name" if len({row["name"] for row in rows}) > 1 else None  # else the title of the chart says it
    titles = distinguish(rows, (*CASE, "metric"), always=named)
    names = distinguish(rows, ("backend", "config"))
    lines = {
        (title, name): [row for row, a, b in zip(rows, titles, names, strict=True) if (a, b) == (title, name)]
        for title in dict.fromkeys(titles) for name in dict.fromkeys(names)
    }  # fmt: skip
    changes = {key: change_points([row["value"] for row in line]) for key, line in lines.items() if line}
    kept = _most_changed(changes)
    left_out = len(set(titles)) - len(kept)
    changes = {key: found for key, found in changes.items() if key[0] in kept}
    lines = {key: lines[key] for key in changes}
    points = [point for (title, name), line in lines.items() for point in _points(line, kept.index(title), name, axis)]
    form = Lines(
        points=points,
        panels=[
            _panel(title, [row for (a, _), line in lines.items() if a == title for row in line], len(kept))
            for title in kept
        ],
        x_title=axis.title,
        x_names=axis.names,
        columns=min(2, len(kept)),
        levels=[
            level
            for key, line in lines.items()
            for level in _levels(line, changes[key], kept.index(key[0]), key[1], axis)
        ],
        series=ordered(names, rows, {axis: where[axis] for axis in ("backend", "config")}),
        tips=(("run", None), ("began", None), ("commit", None), ("samples", ",d"), ("look it up", None)),
    )
    sentences = _describe_changes(changes, lines, axis, several=len(kept) > 1)
    drawn = [row for line in lines.values() for row in line]
    return Chart(
        title=f"History of {', '.join(dict.fromkeys(row['name'] for row in drawn))}",
        finding=_finding(_lasting(changes) or _newest(changes, lines), lines, axis),
        facts=[
            *common_values(drawn, ("config", "suite", "mode", "dtype", "device", "backend", "metric")),
            days_of(len(axis.names), drawn),
            *sentences,
            *(["dotted: runs that did not measure it"] if any(point.stretch for point in points) else []),
        ],
        form=form,
        sql=sql,
        rows=rows,
        parameters={**{key: list(values) for key, values in where.items()}, "metrics": list(metrics), "last": last},
        counts=[
            {"case": f"{a} · {b}", "runs": len(line), "changes": len(changes[a, b])} for (a, b), line in lines.items()
        ],
        notes=[
            f"{counted(left_out, 'case')} left out, which changed least: choose fewer with --models, --suites or --metrics"
        ]
        if left_out
        else (),
    )


def _most_changed(changes: Mapping[tuple[str, str], Sequence[ChangePoint]]) -> list[str]:
    """The cases that changed most, as many as there are panels for, in the order of all."""
    largest: dict[str, float] = {}
    for (case, _), found in changes.items():
        largest[case] = max([largest.get(case, 0.0), *(abs(change.magnitude or 0) for change in found)])
    kept = sorted(largest, key=lambda case: -largest[case])[:MOST_PANELS]
    return [case for case in largest if case in kept]


def _runs(warehouse: "Warehouse", rows: Sequence[Row]) -> list[Row]:
    """All runs of the same configs between the first and the last one drawn, including runs without the case."""
    of_configs = f"list_contains({list_literal(sorted({row['config'] for row in rows}))}, config)"
    query = f"SELECT run_id, config, began_at, git_commit FROM run_summaries WHERE {of_configs} AND samples > 0"
    drawn = {row["run_id"] for row in rows}
    instants = [row["began_at"] for row in rows if row["began_at"]]
    between = (min(instants, default=""), max(instants, default=""))
    return [
        run
        for run in read_rows(warehouse, query)
        if run["run_id"] in drawn or between[0] <= (run["began_at"] or "") <= between[1]
    ]


def _panel(title: str, rows: Sequence[Row], panels: int) -> Panel:
    metric = "" if f"· {title}".endswith(f"· {rows[0]['metric']}") and panels > 1 else rows[0]["metric"]
    unit = choose_unit((row["value"] for row in rows), rows[0]["unit"])
    return Panel(title=title if panels > 1 else "", y_title=metric, unit=unit, zero=False)


def _points(line: Sequence[Row], panel: int, series: str, axis: RunAxis) -> list[Point]:
    """The points of one line; a run of the config that lacks the case begins another stretch."""
    points: list[Point] = []
    stretch, last = 0, None
    for row in line:
        place = axis.places[row["run_id"]]
        if last is not None and any(axis.configs[between] == row["config"] for between in range(last + 1, place)):
            stretch += 1
        last = place
        points.append(
            Point(
                panel=panel,
                series=series,
                x=place,
                y=row["value"],
                low=row["low"],
                high=row["high"],
                stretch=stretch,
                tips=(row["run_id"], began(row), row["git_commit"], row["n"], lookup_command(row, "series")),
            )
        )
    return points


def _levels(line: Sequence[Row], changes: Sequence[ChangePoint], panel: int, series: str, axis: RunAxis) -> list[Level]:
    """The levels and drifts of one line."""
    places = [axis.places[row["run_id"]] for row in line]
    return [
        Level(panel=panel, series=series, start=places[start], end=places[end], y=y, y_end=y_end, changed=changed)
        for start, end, y, y_end, changed in _pieces(changes, len(line) - 1)
    ]


def _pieces(changes: Sequence[ChangePoint], last: int) -> Iterator[tuple[int, int, float, float, bool]]:
    """First and last value of each level and drift, its height at both, and whether a step begins it.

    A step within a drift divides it. Excursions change no level.
    """
    found = [change for change in changes if change.kind in LASTING]
    drift: ChangePoint | None = None  # that has not ended
    start, y, stepped = 0, found[0].before if found else 0.0, False
    for change in [*found, None] if found else []:
        place = change.index if change else last + 1
        if drift is not None and drift.end < place:
            end = _height(drift, start, y)
            yield start, drift.end, y, end, stepped
            start, y, stepped, drift = drift.end, end, False, None
        if start < place:
            yield start, place - 1, y, change.before if change and drift else y, stepped
        if change is not None:
            is_drift = change.kind == "drift"
            start, y = (max(0, place - 1), change.before) if is_drift else (place, change.after)
            stepped, drift = not is_drift, change if is_drift else drift


def _height(drift: ChangePoint, start: int, y: float) -> float:
    """The height at which a drift ends that is at this height at `start`."""
    slope = (drift.after - drift.before) / max(1, drift.end - max(0, drift.index - 1))
    return y + slope * (drift.end - start)


def _lasting(changes: Mapping[tuple[str, str], Sequence[ChangePoint]]) -> list[FoundChange]:
    """Steps and drifts of all lines, the largest first."""
    found = [(key, change) for key, found in changes.items() for change in found if change.kind in LASTING]
    return sorted(found, key=lambda item: -abs(item[1].magnitude or 0))


def _newest(
    changes: Mapping[tuple[str, str], Sequence[ChangePoint]], lines: Mapping[tuple[str, str], Sequence[Row]]
) -> list[FoundChange]:
    """Excursions in which the newest run of a line is, the largest first: nothing tells yet whether they last."""
    found = [(key, change) for key, found in changes.items() for change in found if is_newest(change, lines[key])]
    return sorted(found, key=lambda item: -abs(item[1].magnitude or 0))


def _finding(found: Sequence[FoundChange], lines: Mapping[tuple[str, str], Sequence[Row]], axis: RunAxis) -> str | None:
    """The largest change, unless it is a drift: `latency of mlp: +12 % since 2026-05-03`; `at` where its line changed again."""
    if not found:
        return None
    key, change = found[0]
    if change.kind == "drift" or not change.magnitude:
        return None
    line = lines[key]
    row, place = line[change.index], axis.places[line[change.index]["run_id"]]
    of_row = row["metric"], row["name"]
    if len({case for (case, _), own in lines.items() if (own[0]["metric"], own[0]["name"]) == of_row}) > 1:
        return None  # several cases have that name
    name = axis.names[place]
    when = {"run [day]": str(row["began_at"])[:10], "run, the oldest first": f"run {name}"}.get(axis.title, name)
    alone = len({whose for _, whose in lines}) == 1
    is_last = all(other.index <= change.index for place, other in found if place == key)
    size = f"{'−' if change.magnitude < 0 else '+'}{percent(abs(change.magnitude))}"
    return (
        f"{row['metric']} of {shorten(printable(row['name']), NAME_COLUMNS)}{'' if alone else f' ({key[1]})'}:"
        f" {size} {of_changes(change, when, len(found), lasts=is_last)}"
    )


def _describe_changes(
    changes: Mapping[tuple[str, str], Sequence[ChangePoint]],
    lines: Mapping[tuple[str, str], Sequence[Row]],
    axis: RunAxis,
    *,
    several: bool,
) -> list[str]:
    """The changes in words, the largest first."""
    lasting, newest = _lasting(changes), _newest(changes, lines)
    kinds = Counter(change.kind for found in changes.values() for change in found)
    alone = len({whose for _, whose in lines}) == 1  # then it is named above
    sentences = []
    for (case, whose), change in (lasting or newest)[:NAMED]:
        called = " · ".join([*([case] if several else []), *([] if alone else [whose])])
        size = "" if change.magnitude is None else f"{percent_change(change.magnitude)} "
        where = axis.names[axis.places[lines[case, whose][change.index]["run_id"]]]
        sentences.append(f"{called} {size}{'at' if lasting else 'since'} {where}".lstrip())
    if max(map(len, lines.values())) < LEAST_RUNS:
        return [f"too few runs to find changes: {LEAST_RUNS} are needed"]
    return [
        f"{counted(len(lasting), 'change')} found"
        if lasting
        else f"{counted(len(newest), 'change')}{MAY_END}"
        if newest
        else "no change found",
        *sentences,
        *([counted(past, "excursion")] if (past := kinds["excursion"] - len(newest)) else []),
        *(["alternates between two levels"] if kinds["two levels"] else []),
    ]
