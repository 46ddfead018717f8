"""Memory timeline: memory in use over time, by source and case."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import click

from ...query.pasteable_sql import number_literal
from ...query.tables import newest_runs
from ...warehouse.console.declared import Backends, Configs, Models, Option, Runs
from ...warehouse.console.numbers import amount, counted
from ...warehouse.errors import NothingToShow
from ..chart import Chart, chart
from ..data import Row, filter_sql, in_order, read_rows
from ..findings import largest
from ..marks.lines import Lines, Panel, Point
from ..style.labels import common_values, distinguish
from ..style.units import choose_unit, interval_of

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

TITLE = "Memory over time"
TOP = 12  # lines, each of a colour
FEW = 400  # readings that are all drawn: those of a line trace are few, and most of them in a moment
SERIES = {
    "reading": ("source", "name", "backend", "config", "run_id", "case_id"),
    "peak": ("source", "backend", "config"),
}
SOURCES = {  # what a source measures; each has a plot of its own, since they mean different things
    "rss": "process", "rss_growth": "added by a call", "cuda_allocated": "given out by the GPU's allocator",
    "cuda_reserved": "reserved by the GPU's allocator", "nvml": "in use on the GPU",
}  # fmt: skip
READINGS = "(SELECT memory_samples.*, config FROM memory_samples JOIN (SELECT run_id, config FROM run_summaries) USING (run_id))"


@chart
def draw(
    warehouse: "Warehouse",
    *,
    runs: Runs = (),
    configs: Configs = (),
    models: Models = (),
    backends: Backends = (),
    sources: Annotated[Sequence[str], Option("Only these: rss, cuda_allocated, nvml …")] = (),
    top: Annotated[int, Option("The N cases of each source that held most.", type=click.IntRange(1))] = TOP,
    all_cases: Annotated[bool, Option("All cases.", "--all")] = False,
) -> Chart:
    """Memory in use over time: a line for each source and case, from the first reading of its run on.

    Of each config the newest run is drawn, and of each source the cases that held most. If only peaks were recorded,
    they are drawn as points at their times.

    \b
        bench viz memory-timeline --runs latest
        bench viz memory-timeline --models resnet50 --sources cuda_allocated -o memory.png
    \f
    Raises:
        UnknownName: The warehouse holds no such run, config, model, backend or source.
        NothingToShow: No memory was recorded with its time.
    """
    chosen = {"run_id": runs or newest_runs(warehouse, "memory_samples"), "config": configs, "source": sources}
    condition = filter_sql(warehouse, READINGS, chosen)
    cases = "(SELECT DISTINCT ON (run_id, case_id) run_id, case_id, name, backend FROM cases ORDER BY run_id, case_id, name)"
    of_case = filter_sql(warehouse, cases, {"name": models, "backend": backends})
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
        raise NothingToShow("no memory was recorded with its time. Measure some with: bench measure models --sample 20")
    count, timed, span = totals[statistic]
    is_summed = statistic == "reading" and timed > FEW  # else each reading has a place of its own
    interval = number_literal(interval_of(span, timed) if is_summed else 1e-3)
    sql = f"""WITH readings AS (
  {readings}
),
timed AS (
  SELECT *, floor((at_s - min(at_s) OVER (PARTITION BY run_id)) / {interval})::BIGINT AS slot
  FROM readings
  WHERE at_s IS NOT NULL AND statistic = '{statistic}'
),
ranked AS (
  SELECT source, run_id, case_id, count(*) OVER (PARTITION BY source) AS cases,
    row_number() OVER (PARTITION BY source ORDER BY max(size_bytes) DESC, run_id, case_id) AS ranking
  FROM timed
  GROUP BY source, run_id, case_id
)
SELECT config, timed.run_id, timed.case_id, name, backend, timed.source, slot * {interval} AS seconds,
  max(size_bytes) AS most_bytes, count(*) AS readings, any_value(cases) AS cases
FROM timed JOIN ranked ON timed.source = ranked.source AND timed.run_id = ranked.run_id
  AND timed.case_id IS NOT DISTINCT FROM ranked.case_id
WHERE {"true" if all_cases or statistic == "peak" else f"ranking <= {top:d}"}
GROUP BY config, timed.run_id, timed.case_id, name, backend, timed.source, slot
ORDER BY {in_order("config", configs)}, timed.run_id, timed.source, {in_order("name", models)}, {in_order("backend", backends)},
  timed.case_id, slot"""
    rows = read_rows(warehouse, sql)
    drawn = sum(row["readings"] for row in rows)
    clock = choose_unit((row["seconds"] for row in rows), "s")
    kinds = sorted({row["source"] for row in rows}, key=lambda source: ([*SOURCES, source].index(source), source))
    form = Lines(
        points=[
            Point(
                panel=kinds.index(row["source"]),
                series=name,
                x=row["seconds"] / clock.size,
                y=row["most_bytes"],
                tips=(row["name"], row["readings"]),
            )
            for row, name in zip(rows, distinguish(rows, SERIES[statistic]), strict=True)
        ],
        panels=[_panel(rows, source, statistic, several=len(kinds) > 1) for source in kinds],
        x_title=clock.title("time since the first"),
        x_zero=True,
        joined=statistic == "reading",
        stepped=True,
        marked=statistic == "peak" or len(rows) <= 60,
        tips=(("case", None), (f"{statistic}s", ",d")),
    )
    return Chart(
        title=TITLE,
        finding=_finding(rows, statistic),
        facts=[
            *common_values(rows, ("config", "name", "backend", "source")),
            *_highest(rows),
            f"{counted(drawn, statistic)}" + (f", the highest of each {float(interval):g} s" if is_summed else ""),
            *([f"{counted(count - timed, statistic)} without a time left out"] if count > timed else []),
        ],
        form=form,
        sql=sql,
        rows=rows,
        parameters={
            "runs": list(runs), "configs": list(configs), "models": list(models), "backends": list(backends),
            "sources": list(sources), "top": None if all_cases else top,
        },
        counts=[{"statistic": kind, "recorded": many, "timed": when} for kind, (many, when, _) in sorted(totals.items())],
        total=timed,
    )  # fmt: skip


def _finding(rows: Sequence[Row], statistic: str) -> str | None:
    """The series that held most of the only kind of memory drawn; of one series its highest reading."""
    if len({row["source"] for row in rows}) > 1:
        return None
    names = distinguish(rows, SERIES[statistic])
    most: dict[str, float] = {}
    for name, row in zip(names, rows, strict=True):
        most[name] = max(most.get(name, 0.0), row["most_bytes"])
    if len(most) > 1:
        return largest(most.items(), "bytes", "at most")
    row = max(rows, key=lambda one: one["most_bytes"])
    return f"{amount(row['most_bytes'], 'bytes')} at most, after {amount(row['seconds'] * 1e9, 'ns')}"


def _highest(rows: Sequence[Row]) -> list[str]:
    """A note for each source of which some cases are not drawn: how many there are."""
    facts = []
    sources = list(dict.fromkeys(row["source"] for row in rows))
    for source in sources:
        own = [row for row in rows if row["source"] == source]
        drawn, total = len({(row["run_id"], row["case_id"]) for row in own}), own[0]["cases"]
        if drawn < total:
            facts.append(
                f"the {drawn} of {counted(total, 'case')} that held most{f' {source}' if len(sources) > 1 else ''}"
            )
    return facts


def _panel(rows: Sequence[Row], source: str, statistic: str, *, several: bool) -> Panel:
    """The plot of one source: its title says what is measured, and where there are several, how it is called in the data."""
    unit = choose_unit((row["most_bytes"] for row in rows if row["source"] == source), "bytes")
    what = "memory in use" if statistic == "reading" else "peak memory"
    meaning = f", {SOURCES[source]}" if source in SOURCES else ""
    return Panel(y_title=what, unit=unit, title=f"{source}{meaning}" if several else "")
