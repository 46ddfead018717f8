"""The results of runs: one row a case, from the views `case_results` and `call_results`, with further metrics as columns."""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ...warehouse.console.numbers import amount, counted, interval, percent
from ...warehouse.console.parameters import plain
from ...warehouse.errors import UnknownName
from ...warehouse.settings import setting
from ..axes import HEADINGS, WORK_AXES
from ..filters import build_filter
from ..resolve import check_values

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

Row = dict[str, Any]
LABELS = {"config": "config", "run_id": "run", **{axis: HEADINGS[axis] for axis in WORK_AXES}}  # column -> heading
TOLD_ONCE = (*LABELS.values(), "metric", "n", "status")  # if equal, beside parameters
RESULT_SPARE = ("dtype", "device", "mode", "suite", "run", "spread", "n")  # may go where there is no room
OWN = ("launcher_peak", "runner_cpu", "seed")  # what measuring says of itself
NOT_FAILURES = ("ok", "pass", "pass_due_to_skip")
COLUMNS = {
    *TOLD_ONCE,
    "value",
    "mean",
    "minimum",
    "95 %",
    "spread",
    "peak memory",
    "reason",
}  # that no parameter may be called
STATISTICS = {"median": "value", "mean": "mean", "minimum": "minimum"}  # of the setting `headline` -> column
ORDER = (
    "config, run_id, suite, natural_order(name), mode, device, dtype, batch_size, sequence_length,"
    " natural_order(parameters::VARCHAR), backend"
)
SORTS = {
    "value": "value", "n": "n", "spread": "spread", "memory": "peak_memory_bytes", "status": "status",
    "name": "natural_order(name)",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunResults:
    """Rows of `case_results`; with further metrics each has a column of that name, and `units` says in what."""

    rows: list[Row]
    total: int  # rows without the limit
    units: Mapping[str, str | None] = field(default_factory=dict)  # of the further metrics, in the order asked for


def results(
    warehouse: "Warehouse",
    runs: Sequence[str],
    where: Mapping[str, Sequence[str]] | None = None,
    *,
    metrics: Sequence[str] = (),
    sort: str | None = None,
    limit: int | None = None,
    calls: Mapping[str, Sequence[str]] | None = None,
) -> RunResults:
    """The results of runs.

    Args:
        warehouse: Where to look.
        runs: Run ids.
        where: column of `case_results` -> values to keep.
        metrics: Further metrics to give for each case.
        sort: A key of SORTS, or one of `metrics`; with `-` before it the largest first. By the axes if left out.
        limit: Most rows.
        calls: run -> runs of its measurement, as `calls_of` gives them: each of these runs has the row of all its calls.

    Raises:
        UnknownName: No such column, value, metric or order.
    """
    check_values(warehouse, "_all_cells", "metric", metrics, place="the store")
    kept = build_filter(warehouse, "case_results", where)
    key, down = (sort or "").removeprefix("-"), (sort or "").startswith("-")
    if key and key not in (*SORTS, *metrics):
        raise UnknownName("order", key, (*SORTS, *metrics))
    order = f"{SORTS[key]} {'DESC' if down else ''} NULLS LAST, {ORDER}" if key in SORTS else ORDER
    calls = calls or {}
    source, ids = "case_results", [[run for run in runs if run not in calls]]
    if calls:
        source = (
            "(FROM case_results WHERE list_contains(?::VARCHAR[], run_id) UNION ALL BY NAME"
            " SELECT * EXCLUDE (calls) FROM call_results WHERE list_contains(?::VARCHAR[], run_id))"
        )
        ids = [*ids, [*calls], [*runs]]
    rows = warehouse.dicts(
        f"FROM {source} WHERE list_contains(?::VARCHAR[], run_id) AND {kept.condition} ORDER BY {order}",
        [*ids, *kept.parameters],
    )
    units = _add_metrics(warehouse, {run: calls.get(run, [run]) for run in runs}, rows, metrics)
    if key in metrics:
        rows.sort(key=lambda row: (row[key] is None, (row[key] or 0) * (-1 if down else 1)))
    return RunResults(rows[:limit], len(rows), units)


def calls_of(warehouse: "Warehouse", runs: Sequence[str]) -> dict[str, list[str]]:
    """All calls of the measurement (`bench measure command --results`) whose newest call is one of these runs."""
    found = warehouse.rows(
        "SELECT own.run_id, own.config, json_extract_string(tags, '$.calls') AS calls FROM _run_records AS own"
        " JOIN _run_times AS time ON own.run_id = time.run_id WHERE calls IS NOT NULL ORDER BY began_at, own.run_id"
    )
    measurements: dict[tuple[str, str], list[str]] = {}
    for run_id, config, calls in found:
        measurements.setdefault((config, calls), []).append(run_id)
    return {calls[-1]: calls for calls in measurements.values() if len(calls) > 1 and calls[-1] in runs}


def _add_metrics(
    warehouse: "Warehouse", runs: Mapping[str, Sequence[str]], rows: Sequence[Row], metrics: Sequence[str]
) -> dict[str, str | None]:
    """Give each row its median of each metric, the warm one of several phases, over the calls of its run; return their units."""
    if not metrics:
        return {}
    found = warehouse.rows(
        "SELECT run_id, case_id, metric, median, unit FROM _all_cells WHERE list_contains(?::VARCHAR[], run_id) AND"
        " list_contains(?::VARCHAR[], metric) ORDER BY _headline_rank(metric, phase, unit, better) DESC, phase, unit",
        [[call for calls in runs.values() for call in calls], [*metrics]],
    )
    values = {(run, case, metric): value for run, case, metric, value, _ in found}
    units = {metric: unit for _, _, metric, _, unit in found}
    for row in rows:
        for metric in metrics:
            seen = [values.get((call, row["case_id"], metric)) for call in runs[row["run_id"]]]
            known = [value for value in seen if value is not None]
            row[metric] = statistics.median(known) if known else None
    return {metric: units.get(metric) for metric in metrics}


def render(found: RunResults) -> tuple[list[str], list[list[Any]], list[str]]:
    """Rows as a table for people, without the columns that hold nothing; and the columns that need be told only once if equal.

    Reasons are those of failures, and what measuring says of itself is no row.
    """
    found = replace(found, rows=[row for row in found.rows if row["case_id"] is not None or row["metric"] not in OWN])
    statistic = setting("headline")
    value = STATISTICS[statistic]
    runs = len({row["run_id"] for row in found.rows})
    axes = {axis: name for axis, name in LABELS.items() if runs > 1 or axis not in ("config", "run_id")}
    given = [json.loads(row["parameters"] or "{}") for row in found.rows]
    parameters = {
        f"{key} (parameter)" if key in COLUMNS else key: [_plain(each.get(key)) for each in given]
        for key in dict.fromkeys(key for each in given for key in each)
    }
    cells = {
        **{name: [_axis(row, axis) for row in found.rows] for axis, name in axes.items()},
        **parameters,
        "metric": [_metric(row) for row in found.rows],
        "value" if statistic == "median" else statistic: [amount(row[value], row["unit"]) for row in found.rows],
        "95 %": [interval(row["low"], row["high"], row["unit"]) for row in found.rows] if value == "value" else [],
        "n": [row["n"] for row in found.rows],
        "spread": [None if row["spread"] is None else percent(row["spread"]) for row in found.rows],
        "peak memory": [amount(row["peak_memory_bytes"], "bytes") or None for row in found.rows],
        **{
            metric: [amount(row[metric], unit) or None for row in found.rows]
            for metric, unit in found.units.items()
            if any(row["metric"] not in (metric, None) for row in found.rows)  # else it is the value
        },
        "failed": [amount(row["failures"], "count") if row["failures"] else None for row in found.rows],
        "status": [row["status"] for row in found.rows],
        "reason": [None if row["status"] in NOT_FAILURES else row["reason"] for row in found.rows],
    }
    kept = {name: column for name, column in cells.items() if any(cell is not None for cell in column)}
    return [*kept], [list(row) for row in zip(*kept.values(), strict=True)], [*TOLD_ONCE, *parameters]


def _plain(value: Any) -> Any:
    """A parameter as a cell: what is nested as JSON, without its marks."""
    return plain(value) if isinstance(value, dict | list) else value


def _axis(row: Row, axis: str) -> Any:
    value = row[axis]
    if axis == "run_id":
        return value[:13]
    if axis == "name" and row["case_id"] is None:
        return "(the run)"
    return value


def _metric(row: Row) -> str | None:
    return (
        row["metric"]
        if row["phase"] in (None, "steady") or row["metric"] is None
        else f"{row['metric']} ({row['phase']})"
    )


def heading(warehouse: "Warehouse", runs: Sequence[str], calls: Mapping[str, Sequence[str]] | None = None) -> str:
    """One line on what the runs were: config, run, calls if it is one of several, day, commit, host and counts."""
    rows = warehouse.rows(
        "SELECT config, run_id, began_at, git_commit, host, source, cases, steps, status FROM run_summaries"
        " WHERE list_contains(?::VARCHAR[], run_id) ORDER BY began_at",
        [[*runs]],
    )
    config, run_id, began_at, commit, host, source, cases, steps, status = rows[-1]
    if len(rows) > 1:
        configs = {row[1]: row[0] for row in rows}
        return f"{counted(len(rows), 'run')} of {', '.join(dict.fromkeys(configs[run] for run in runs))}"
    of_calls = f"{counted(len(calls[run_id]), 'call')}, the last " if calls and run_id in calls else ""
    day = began_at and f"{began_at:%Y-%m-%d %H:%M}"
    held = counted(steps, "step") if steps and not cases else counted(cases, "case")
    ended = status if status not in ("ok", "imported") else None
    parts = [config, f"{of_calls}run {run_id[:13]}", day, commit and f"commit {commit[:9]}", host, source, held, ended]
    return " · ".join(filter(None, parts))
