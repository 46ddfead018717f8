"""Pareto: two metrics of serving benchmarks, and how surely each is on the Pareto frontier."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from ...query.pasteable_sql import text_literal
from ...warehouse.console.declared import Configs, Option, Runs
from ...warehouse.console.numbers import counted, probability
from ...warehouse.errors import NothingToShow, UnknownName
from .. import slo
from ..chart import Chart, chart
from ..data import Row, in_order, read_rows, select
from ..marks.frontier import Frontier
from ..marks.lines import Panel, Point
from ..slo import E2e, Tpot, Ttft
from ..style.labels import common_values, distinguish
from ..style.units import DisplayUnit

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

TITLE = "Which configuration serves most"
NAMES = {
    "interactivity": "interactivity: tokens/s/user", "throughput": "throughput: tokens/s",
    "throughput_per_gpu": "throughput: tokens/s/GPU", "goodput": "goodput: requests/s", "token_goodput": "goodput: tokens/s",
    "share_met": "share of requests within limits", "request_rate": "load: requests/s",
}  # fmt: skip
SURE = 0.05  # a point of less membership is not labelled
NAMED = 4  # configs that the title has room for


@chart
def draw(
    warehouse: "Warehouse",
    *,
    x: Annotated[str, Option("Metric of the x axis, as serving_metrics names it.", metavar="METRIC")] = "interactivity",
    y: Annotated[
        str, Option("Metric of the y axis; throughput is per GPU where their number is known.", metavar="METRIC")
    ] = "throughput",
    configs: Configs = (),
    runs: Runs = (),
    ttft: Ttft = None,
    tpot: Tpot = None,
    e2e: E2e = None,
) -> Chart:
    """Two metrics of serving benchmarks against each other: tokens a second of a user against those of a GPU, or any.

    Bars are 95 % intervals, by blocks of time or by runs. The percentage at a point says how surely it is on the
    frontier; none is written below 5 %, or where a metric has no interval. The grey line joins the points on the
    frontier as measured.

    \b
        bench viz pareto --x interactivity --y throughput
        bench viz pareto --y goodput --ttft 200 --tpot 50 -o pareto.png
    \f
    Raises:
        UnknownName: There is no such metric, config or run.
        NothingToShow: No benchmark has both metrics.
    """
    limits = {"ttft": ttft, "tpot": tpot, "e2e": e2e}
    arguments = slo.arguments(warehouse, configs, runs, limits)
    metrics = f"serving_metrics({arguments})"
    known = {str(metric) for (metric,) in warehouse.rows(f"SELECT DISTINCT metric FROM {metrics}")}
    for metric in (x, y):
        if metric not in known and metric not in NAMES:
            raise UnknownName("metric", metric, sorted(known), where="serving_metrics")
    x, y = (_per_gpu(warehouse, metrics, metric) for metric in (x, y))
    sql = select(
        "*", f"serving_frontier(x := {text_literal(x)}, y := {text_literal(y)}{', ' if arguments else ''}{arguments})",
        order=f"{in_order('config', configs)}, x_value, y_value, case_id",
    )  # fmt: skip
    rows = read_rows(warehouse, sql)
    if not rows:
        raise NothingToShow(
            f'no serving benchmark has {x} and {y}. See what there is with: bench sql "FROM serving_metrics()"'
        )
    share = [100 if metric == "share_met" else 1 for metric in (x, y)]
    units = [
        DisplayUnit("%" if metric == "share_met" else "ms" if metric.rpartition("_")[2][:1] == "p" else None)
        for metric in (x, y)
    ]
    cases = distinguish(rows, ("backend", "parameters"), always="name")
    marks = [
        probability(row["membership"], 0) if row["membership"] >= SURE and _has_interval(row) and len(rows) > 1 else ""
        for row in rows
    ]
    form = Frontier(
        points=[
            Point(
                panel=0, series=row["config"], x=row["x_value"] * share[0], y=row["y_value"] * share[1],
                low=_of(row["y_low"], share[1]), high=_of(row["y_high"], share[1]),
                tips=(case, round(100 * row["membership"], 1) if _has_interval(row) else None),
            )
            for row, case in zip(rows, cases, strict=True)
        ],
        across=[(_of(row["x_low"], share[0]), _of(row["x_high"], share[0])) for row in rows],
        marks=marks,
        front=sorted((row["x_value"] * share[0], row["y_value"] * share[1]) for row in rows if row["is_on"]),
        panels=[Panel(y_title=_title(y), unit=units[1])],
        x_title=units[0].title(_title(x)),
        x_zero=True,
        tips=(("case", None), ("on the frontier [%]", None)),
    )  # fmt: skip
    return Chart(
        title=TITLE,
        finding=_finding(rows) or _ends(rows, x, y),
        facts=[
            *common_values(rows, ("config", "name")),
            f"{counted(len(rows), 'case')} of {counted(len({row['config'] for row in rows}), 'config')}",
            *(["the only one"] if len(rows) == 1 else []),
            *(["at a point: how surely it is on the frontier"] if any(marks) else []),
            *filter(None, [slo.sentence(limits), _unknown(rows)]),
            *filter(None, [slo.left_out(warehouse, arguments, len(rows), f"{x} or {y}")]),
        ],
        form=form,
        sql=sql,
        rows=rows,
        parameters={"x": x, "y": y, "configs": list(configs), "runs": list(runs), **limits},
        counts=_counts(rows),
    )


def _finding(rows: Sequence[Row]) -> str | None:
    """The number of cases of each of a few configs surely on the frontier; None where none is, or one is drawn."""
    known = [row for row in rows if _has_interval(row)]
    sure = Counter(row["config"] for row in known if row["membership"] >= 1 - SURE)
    total = Counter(row["config"] for row in known)
    if not sure or not 2 <= len(total) <= NAMED:
        return None
    said = ", ".join(f"{config} {sure[config]} of {n}" for config, n in total.items())
    return f"cases surely on the frontier: {said}"


def _ends(rows: Sequence[Row], x: str, y: str) -> str | None:
    """The ends of the frontier of one config: `A: 273 tokens/s/GPU at 29.8 tokens/s/user, 61.1 at 89.5`."""
    front = sorted((row["x_value"], row["y_value"]) for row in rows if row["is_on"])
    units = [_title(metric).partition(": ")[2] for metric in (x, y)]
    if len({row["config"] for row in rows}) > 1 or len(front) < 2 or not all(units):
        return None
    (first_x, first_y), (last_x, last_y) = front[0], front[-1]
    return f"{rows[0]['config']}: {first_y:.3g} {units[1]} at {first_x:.3g} {units[0]}, {last_y:.3g} at {last_x:.3g}"


def _per_gpu(warehouse: "Warehouse", metrics: str, metric: str) -> str:
    """Throughput as it is per GPU, where the number of GPUs is known of every case."""
    if metric != "throughput":
        return metric
    query = f"SELECT count(*) FILTER (metric = 'throughput'), count(*) FILTER (metric = 'throughput_per_gpu') FROM {metrics}"
    ((every, known),) = warehouse.rows(query)
    return "throughput_per_gpu" if every and every == known else metric


def _of(value: float | None, factor: int) -> float | None:
    return None if value is None else value * factor


def _title(metric: str) -> str:
    return NAMES.get(metric, metric.replace("_", " "))


def _has_interval(row: Row) -> bool:
    """Return whether both metrics of a point have one; else nobody knows how surely it is on the frontier."""
    return row["x_low"] is not None and row["y_low"] is not None


def _unknown(rows: Sequence[Row]) -> str | None:
    """Count the points without an interval."""
    without = sum(not _has_interval(row) for row in rows)
    return f"{without} without an interval: too few requests" if without else None


def _counts(rows: Sequence[Row]) -> list[dict[str, Any]]:
    cases = Counter(row["config"] for row in rows)
    on_frontier = Counter(row["config"] for row in rows if row["is_on"])
    return [{"config": config, "cases": n, "on the frontier": on_frontier[config]} for config, n in cases.items()]
