"""Memory timeline: memory in use over time."""

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..query.tables import newest_runs
from ..warehouse.errors import NothingToShow
from ..warehouse.options import Command, Values
from ..warehouse.words import counted
from .data import ask, keeping, known_configs, number
from .figure import Figure, compose, public
from .labels import shared, telling
from .lines import Lines, Panel, Point
from .options import backends_option, chart_options, configs_option, models_option, runs_option
from .units import interval_of, suiting

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

NAME = "memory-timeline"
TITLE = "Memory over time"
FEW = 400  # readings that are all drawn: those of a line trace are few, and most of them in a moment
SERIES = {
    "reading": ("source", "name", "backend", "config", "run_id", "case_id"),
    "peak": ("source", "backend", "config"),
}
READINGS = "(SELECT memory_samples.*, config FROM memory_samples JOIN (SELECT run_id, config FROM run_summaries) USING (run_id))"


@click.command(NAME, cls=Command)
@runs_option
@configs_option
@models_option
@backends_option
@click.option("--sources", cls=Values, help="Only these: rss, cuda_allocated, nvml …")
@chart_options
def command(**options: Any) -> "Callable[[Warehouse], Figure]":
    """Memory in use over time: a line for each source and case, from the first reading of its run on.

    Of each config the newest run is drawn. Where only peaks were recorded, they are drawn as points when they were.

    \b
        bench viz memory-timeline --runs latest
        bench viz memory-timeline --models resnet50 --sources cuda_allocated -o memory.png
    """
    return functools.partial(draw, **options)


def draw(
    warehouse: "Warehouse",
    *,
    runs: Sequence[str] = (),
    configs: Sequence[str] = (),
    models: Sequence[str] = (),
    backends: Sequence[str] = (),
    sources: Sequence[str] = (),
    title: str | None = None,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Memory in use over time.

    Args:
        warehouse: Where the readings are.
        runs: Runs to draw; the newest of each config unless given.
        configs: Configs to draw.
        models: Models to draw.
        backends: Backends to draw.
        sources: Sources to draw: rss, cuda_allocated, nvml …
        title: Title instead of the default.
        size: Width and height in inches.

    Raises:
        UnknownName: The warehouse holds no such run, config, model, backend or source.
        NothingToShow: No memory was recorded with its time.
    """
    chosen = {"run_id": runs or newest_runs(warehouse, "memory_samples"), "config": configs, "source": sources}
    condition = keeping(warehouse, READINGS, chosen)
    cases = "(SELECT DISTINCT ON (run_id, case_id) run_id, case_id, name, backend FROM cases ORDER BY run_id, case_id, name)"
    of_case = keeping(warehouse, cases, {"name": models, "backend": backends})
    readings = f"""SELECT reading.*, name, backend, epoch_us(recorded_at) / 1e6::DOUBLE AS at_s
  FROM (SELECT * FROM {READINGS} WHERE {condition}) AS reading
  LEFT JOIN {cases} AS own USING (run_id, case_id)
  WHERE {of_case}"""
    totals = {
        statistic: (count, timed, span)
        for statistic, count, timed, span in warehouse.rows(
            f"SELECT statistic, count(*), count(at_s), coalesce(max(at_s) - min(at_s), 0) FROM ({readings}) GROUP BY statistic"
        )
    }
    statistic = next((kind for kind in ("reading", "peak") if totals.get(kind, (0, 0, 0))[1]), None)
    if statistic is None:
        raise NothingToShow("no memory was recorded with its time. Measure some with: bench measure models")
    count, timed, span = totals[statistic]
    interval = number(interval_of(span, timed) if statistic == "reading" and timed > FEW else 1e-3)
    sql = f"""WITH readings AS (
  {readings}
),
timed AS (
  SELECT *, floor((at_s - min(at_s) OVER (PARTITION BY run_id)) / {interval})::BIGINT AS slot
  FROM readings
  WHERE at_s IS NOT NULL AND statistic = '{statistic}'
)
SELECT config, run_id, case_id, name, backend, source, slot * {interval} AS seconds, max(size_bytes) AS most_bytes,
  count(*) AS readings
FROM timed
GROUP BY config, run_id, case_id, name, backend, source, slot
ORDER BY config, run_id, source, name, backend, case_id, slot"""
    rows = ask(warehouse, sql)
    clock, unit = suiting((row["seconds"] for row in rows), "s"), suiting((row["most_bytes"] for row in rows), "bytes")
    form = Lines(
        points=[
            Point(
                panel=0,
                series=name,
                x=row["seconds"] / clock.size,
                y=row["most_bytes"],
                tips=(row["name"], row["readings"]),
            )
            for row, name in zip(rows, telling(rows, SERIES[statistic]), strict=True)
        ],
        panels=[Panel(y_title="memory in use" if statistic == "reading" else "peak memory", unit=unit)],
        x_title=clock.title("time since the first"),
        x_zero=True,
        joined=statistic == "reading",
        marked=statistic == "peak" or len(rows) <= 60,
        tips=(("case", None), (f"{statistic}s", ",d")),
        known=known_configs(warehouse),
        given=size,
    )
    return compose(
        NAME,
        title=title,
        own_title=TITLE,
        facts=[
            *shared(rows, ("config", "name", "backend", "source")),
            f"{counted(timed, statistic)}" + (f", the most in {float(interval):g} s" if statistic == "reading" else ""),
            *([f"{counted(count - timed, statistic)} without a time left out"] if count > timed else []),
        ],
        form=form,
        sql=sql,
        rows=rows,
        parameters={
            "runs": list(runs), "configs": list(configs), "models": list(models), "backends": list(backends),
            "sources": list(sources),
        },
        counts=[{"statistic": kind, "recorded": many, "timed": when} for kind, (many, when, _) in sorted(totals.items())],
        total=timed,
    )  # fmt: skip


memory_timeline = public(draw)
