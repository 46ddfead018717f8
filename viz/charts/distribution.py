"""Distribution: the samples of a case on several sides, with their medians."""

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from ...query.comparison.sides import runs_of
from ...query.pasteable_sql import text_literal
from ...warehouse.console.declared import Backends, Models, Option, Suites
from ...warehouse.console.numbers import amount, counted
from ...warehouse.console.tables import shorten
from ...warehouse.errors import BenchError, NothingToShow
from ..chart import Chart, chart
from ..data import Row, filter_sql, in_order, read_rows
from ..findings import compared
from ..marks.ecdf import Ecdf, EcdfPoint, Summary
from ..style.labels import CASE, common_values, distinguish
from ..style.units import choose_unit

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

MOST = 1000  # samples of a side that are drawn
_OTHERS = """SELECT count(DISTINCT run_id), min(config)
FROM cells
WHERE metric = ? AND work_hash IS NOT DISTINCT FROM ? AND list_contains(?::VARCHAR[], config)
    AND NOT list_contains(?::VARCHAR[], run_id)"""
TOLD = 3  # medians that the subtitle has room for


@chart
def draw(
    warehouse: "Warehouse",
    sides: Sequence[str],
    *,
    metric: Annotated[str, Option("What was measured.")] = "latency",
    suites: Suites = (),
    backends: Backends = (),
    models: Models = (),
) -> Chart:
    """The samples of one case on each side: how many lie at or below a value, each by itself, and the median.

    A side is a run: the beginning of an id, a config, a commit, latest or latest~1. The bar below is the 95 % interval
    of the median, which `bench show` prints. Where several cases fit, the first by name is drawn.

    \b
        bench viz distribution main my-branch --models resnet50 --backends inductor
        bench viz distribution latest --models resnet50 -o samples.png
    \f
    Raises:
        UnknownName: No run answers to a name, or there is no such suite, backend or model.
        NothingToShow: No side has samples of that metric.
        BenchError: Two sides are the same run.
    """
    runs = {runs_of(warehouse, side, repeats=False)[0]: side for side in sides}
    if len(runs) < len(sides):
        raise BenchError("two of the sides are the same run. List runs with: bench list runs")
    chosen = ", ".join(f"({text_literal(run)}, {text_literal(side)})" for run, side in runs.items())
    where = filter_sql(warehouse, "cells", {"suite": suites, "backend": backends, "name": models})
    cells = f"""SELECT side, cell.*
  FROM cells AS cell
  JOIN (VALUES {chosen}) AS sides(run_id, side) USING (run_id)
  WHERE metric = {text_literal(metric)} AND coalesce(phase, 'steady') = 'steady' AND {where}"""
    works = warehouse.rows(
        f"SELECT work_hash FROM ({cells}) GROUP BY work_hash ORDER BY count(DISTINCT side) DESC, min(name), work_hash"
    )
    if not works:
        raise NothingToShow(
            f"no side measured {metric} of such a case. {_cure(warehouse, list(runs), list(runs.values()))}"
        )
    work = text_literal(str(works[0][0]))
    sql = _sql(cells, metric, work, f"{in_order('side', list(runs.values()))}, {in_order('backend', backends)}")
    rows = read_rows(warehouse, sql)
    if not rows:
        raise NothingToShow(f"the sides have no single samples of {metric}: an import brought its median only.")
    names = distinguish(rows, ("side", "backend", "dtype", "device", "case_id"))
    unit = choose_unit((row["median"] for row in rows), rows[0]["unit"])
    first = {name: row for row, name in reversed(list(zip(rows, names, strict=True)))}
    form = Ecdf(
        samples=[
            EcdfPoint(series=name, value=row["value"], share=row["place"] / row["n"])
            for row, name in zip(rows, names, strict=True)
        ],
        summaries=[
            Summary(
                series=name,
                median=row["median"],
                low=row["median_low"],
                high=row["median_high"],
                n=row["n"],
                text=_describe(row),
            )
            for name, row in reversed(first.items())
        ],
        title=unit.title(metric),
        unit=unit,
    )
    total = sum(row["n"] for row in first.values())
    ((others, config),) = warehouse.rows(_OTHERS, [metric, works[0][0], list(runs.values()), list(runs)])
    left = len(works) - 1
    return Chart(
        title=f"Samples of {rows[0]['name']}",
        finding=_finding(warehouse, [*reversed(first.values())], metric),
        facts=[
            *common_values(rows, ("suite", "mode", "dtype", "device", "backend")),
            *(f"median of {shorten(name, 28)}: {_describe(row)}" for name, row in reversed(first.items()) if len(first) <= TOLD),
            *([f"{counted(others, 'other run')} left out"] if others else ()),
            f"{f'{len(rows):,} of' if len(rows) < total else 'all'} {counted(total, 'sample')} drawn",
        ],
        form=form,
        sql=sql,
        rows=rows,
        parameters={
            "sides": list(runs), "metric": metric, "suites": list(suites), "backends": list(backends), "models": list(models),
        },
        counts=[{"side": name, "samples": row["n"], "drawn": names.count(name)} for name, row in reversed(first.items())],
        total=total,
        notes=[
            *([f"{counted(others, 'other run')} left out: name one by itself, such as {config}~1"] if others else ()),
            *([f"{counted(left, 'other case')} left out: choose with --models, --backends or --suites"] if left else ()),
        ],
    )  # fmt: skip


def _finding(warehouse: "Warehouse", drawn: Sequence[Row], metric: str) -> str | None:
    """The second of two sides against the first, in the words of `bench compare`, where it is sure."""
    if len(drawn) != 2 or drawn[0]["run_id"] == drawn[1]["run_id"] or drawn[0]["case_id"] != drawn[1]["case_id"]:
        return None
    base, candidate = drawn
    said = compared(warehouse, base["run_id"], candidate["run_id"], candidate["case_id"], metric)
    return said and f"{shorten(candidate['side'], 28)}: {metric} of {shorten(candidate['name'], 28)} is {said}"


def _cure(warehouse: "Warehouse", runs: Sequence[str], sides: Sequence[str]) -> str:
    """The command that shows what the sides measured."""
    stepped = "run_summaries ANTI JOIN case_outcomes USING (run_id) WHERE steps > 0"
    if warehouse.rows(f"SELECT 1 FROM {stepped} AND list_contains(?::VARCHAR[], run_id) LIMIT 1", [[*runs]]):
        return f"They recorded scheduler steps. Draw these with: bench viz runtime-vs-tokens {shlex.join(sides)}"
    return f"See what they measured: bench list cases --runs {shlex.quote(sides[0])}"


def _sql(cells: str, metric: str, work: str, order: str) -> str:
    """SQL of the samples in order with their rank; of more than MOST, an even selection with the smallest and largest."""
    return f"""WITH cell AS (
  {cells} AND coalesce(work_hash, '') = coalesce({work}, '')
),
samples AS (
  SELECT run_id, case_id, duration_ns / loops AS value FROM timings
  WHERE metric = {text_literal(metric)} AND phase = 'steady' AND loops > 0
  UNION ALL
  SELECT run_id, case_id, value FROM metrics
  WHERE metric = {text_literal(metric)} AND coalesce(phase, 'steady') = 'steady' AND statistic IS NULL
),
placed AS (
  SELECT *, row_number() OVER (PARTITION BY run_id, case_id ORDER BY value) AS place
  FROM samples
  WHERE (run_id, case_id) IN (SELECT (run_id, case_id) FROM cell) AND isfinite(value)
)
SELECT side, {", ".join(CASE)}, backend, unit, value, place, cell.n, median, median_low, median_high, run_id, case_id
FROM placed JOIN cell USING (run_id, case_id)
WHERE place IN (1, cell.n) OR place % greatest(1, cell.n // {MOST}) = 0
ORDER BY {order}, case_id, place"""


def _describe(row: Row) -> str:
    """The median with its interval."""
    middle = amount(row["median"], row["unit"])
    if row["median_low"] is None:
        return f"{middle} (n={row['n']})"
    return f"{middle} (95 % {amount(row['median_low'], row['unit'])}–{amount(row['median_high'], row['unit'])}, n={row['n']})"
