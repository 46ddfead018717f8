"""Timeline: queue, cache use and tokens per second of a scheduler over time."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...query.pasteable_sql import list_literal, number_literal
from ...query.step_runs import STEPPED
from ...warehouse.console.declared import Configs, Runs
from ...warehouse.console.numbers import counted
from ...warehouse.errors import NothingToShow
from ..chart import Chart, chart
from ..data import Row, read_rows
from ..marks.lines import Lines, Panel, Point
from ..step_series import SplitBy, choose_series
from ..style.labels import common_values
from ..style.units import DisplayUnit, choose_unit, interval_of

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

TITLE = "Scheduler over time"
NAMED = 3  # runs that the title has room for
GAP = 3  # intervals without a step that make a gap
PANELS = {  # column -> its panel
    "waiting": Panel(title="waiting requests, max", y_title="requests", unit=DisplayUnit(None)),
    "running": Panel(title="running requests, mean", y_title="requests", unit=DisplayUnit(None)),
    "cache_percent": Panel(title="KV cache in use, max", y_title="in use", unit=DisplayUnit("%")),
    "tokens_per_second": Panel(title="tokens/s of step time", y_title="tokens/s", unit=DisplayUnit(None)),
}
AT = "coalesce(clock_s, epoch_us(recorded_at) / 1e6::DOUBLE)"


@chart
def draw(
    warehouse: "Warehouse",
    *,
    runs: Runs = (),
    configs: Configs = (),
    split_by: SplitBy = None,
) -> Chart:
    """Waiting and running requests, cache use and tokens per second of scheduler steps, over time.

    Of each config the newest run is drawn, from its first step on, in intervals.

    \b
        bench viz timeline --configs A B
        bench viz timeline --runs latest -o timeline.png
    \f
    Raises:
        UnknownName: The warehouse holds no such run or config.
        NothingToShow: There are no steps, or none says when it was.
    """
    series = choose_series(warehouse, configs, runs, split_by=split_by, each_run=True)
    steps = f"""SELECT config, run_id, {AT} AS at_s, waiting, running, kv_cache_usage,
    CASE WHEN capture_mode IS DISTINCT FROM 'sampled' THEN _step_tokens(chunk_sizes, total_tokens)::DOUBLE END AS tokens,
    coalesce(step_ms, coalesce(schedule_ms, 0) + model_run_ms) AS step_ms
  FROM schedule_chunks JOIN {STEPPED} USING (run_id)
  WHERE list_contains({list_literal(series.runs)}, run_id)"""
    span, order = "coalesce(max(at_s) - min(at_s), 0)", f"list_position({list_literal(series.runs)}, run_id)"
    totals = warehouse.rows(
        f"SELECT run_id, count(*), count(at_s), {span} FROM ({steps}) GROUP BY run_id ORDER BY {order}"
    )
    if not totals:
        raise series.nothing()
    if not any(timed for _, _, timed, _ in totals):
        raise NothingToShow(
            "no scheduler step says when it was. Draw them over their tokens: bench viz runtime-vs-tokens"
        )
    interval = interval_of(max(span for *_, span in totals), max(timed for _, _, timed, _ in totals))
    sql = f"""WITH steps AS (
  {steps}
),
timed AS (
  SELECT *, floor((at_s - min(at_s) OVER (PARTITION BY run_id)) / {number_literal(interval)})::BIGINT AS place
  FROM steps
  WHERE isfinite(at_s)
)
SELECT config, run_id, place, place * {number_literal(interval)} AS seconds, count(*) AS steps, max(waiting) AS waiting,
  avg(running) AS running, 100 * max(kv_cache_usage) AS cache_percent,
  1000 * sum(tokens) FILTER (step_ms > 0) / sum(step_ms) FILTER (step_ms > 0 AND tokens IS NOT NULL) AS tokens_per_second
FROM timed
GROUP BY config, run_id, place
ORDER BY {order}, place"""
    rows = read_rows(warehouse, sql)
    unit = choose_unit((row["seconds"] for row in rows), "s")
    names = {run: name for name, (run,) in series.runs_of.items()}
    points, panels = _points(rows, names, unit)
    if not points:
        raise NothingToShow("no scheduler step says what waited, ran or was scheduled.")
    form = Lines(
        points=points,
        panels=panels,
        x_title=unit.title("time since the first step"),
        x_zero=True,
        marked=len(rows) <= 60,
        series=list(names.values()),
        tips=(("steps", ",d"),),
    )
    without = sum(every - timed for _, every, timed, _ in totals)
    return Chart(
        title=TITLE,
        finding=_finding(rows, names),
        facts=[
            *common_values(rows, ("config",)),
            *series.facts(),
            f"{counted(sum(row['steps'] for row in rows), 'step')}, a point for each {interval:g} s",
            *(["dotted where no step ran"] if any(point.stretch for point in points) else []),
            *([f"{counted(without, 'step')} without a time left out"] if without else []),
        ],
        form=form,
        sql=sql,
        rows=rows,
        parameters={**series.parameters(), "interval_s": interval},
        counts=[{"run": names[run], "steps": every, "timed": timed} for run, every, timed, _ in totals],
        total=sum(every for _, every, _, _ in totals),
        notes=series.notes(together=False),
    )


def _finding(rows: Sequence[Row], names: Mapping[str, str]) -> str | None:
    """The longest queue of each run, of three at most; None where no step says how many requests waited."""
    most: dict[str, int] = {}
    for row in rows:
        if row["waiting"] is not None:
            most[names[row["run_id"]]] = max(most.get(names[row["run_id"]], 0), row["waiting"])
    if not 1 <= len(most) <= NAMED or not any(most.values()):
        return None
    return f"most requests waiting at once: {', '.join(f'{name} {count:,}' for name, count in most.items())}"


def _points(rows: Sequence[Row], names: Mapping[str, str], unit: DisplayUnit) -> tuple[list[Point], list[Panel]]:
    """The points of every panel that has any, with the names of their runs; a while without steps begins another stretch."""
    points: list[Point] = []
    panels: list[Panel] = []
    series = [names[row["run_id"]] for row in rows]
    for column, panel in PANELS.items():
        found: list[Point] = []
        last: dict[str, int] = {}
        stretch = Counter[str]()
        for row, name in zip(rows, series, strict=True):
            if row[column] is None:
                continue
            if row["place"] - last.get(name, row["place"]) > GAP:
                stretch[name] += 1
            last[name] = row["place"]
            found.append(
                Point(panel=len(panels), series=name, x=row["seconds"] / unit.size, y=row[column], stretch=stretch[name],
                      tips=(row["steps"],))
            )  # fmt: skip
        if found:
            points += found
            panels.append(panel)
    return points, panels
