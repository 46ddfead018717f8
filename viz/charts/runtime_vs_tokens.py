"""Runtime against tokens: model run time of each scheduler step over its tokens."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import click

from ...warehouse.console.declared import Option, Runs
from ...warehouse.console.numbers import amount, counted
from ...warehouse.console.tables import shorten
from .. import downsample, step_filter
from ..bands import Bands
from ..chart import Chart, chart
from ..data import Row, read_rows
from ..findings import grown
from ..marks import cost_curves
from ..marks.lines import Point
from ..marks.scatter import Y_TITLE, Steps
from ..options import Size
from ..output.figure import SIZE
from ..step_filter import MAX_MODEL_RUN_MS, MAX_SCHEDULE_MS, TRIM, MaxModelRunMs, MaxScheduleMs, StepFilter, Trim
from ..step_finding import of_two_series
from ..step_series import AllRuns, SplitBy, StepConfigs, choose_series
from ..style.labels import printable
from ..style.value_axis import AXIS_SCALES, ValueAxis

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

TITLE = "Model run time against scheduled tokens"
_TABLE = {  # columns of a table of what is drawn, and what the query calls them
    "config": "config", "tokens": "x", "model_run_ms": "y", "batch_size": "batch_size", "schedule_ms": "schedule_ms",
    "step": "rank", "path": "path", "line": "line", "steps": "n", "fitted_ms": "fitted_ms",
}  # fmt: skip
DENSE_FROM = 2_000  # steps of which more would cover each other
_NAMED = 40  # columns of a config in a title
_TOLD = 3  # fits, or configs of two modes, that the subtitle has room for


@chart
def draw(
    warehouse: "Warehouse",
    *,
    configs: StepConfigs = (),
    runs: Runs = (),
    all_runs: AllRuns = False,
    split_by: SplitBy = None,
    trim: Trim = TRIM,
    max_schedule_ms: MaxScheduleMs = MAX_SCHEDULE_MS,
    max_model_run_ms: MaxModelRunMs = MAX_MODEL_RUN_MS,
    color_by: Annotated[str, Option("What colour says.", type=click.Choice(["config", "batch"]))] = "config",
    fit: Annotated[
        bool, Option("Draw the cost model of each config over its steps, as bench cost-model fits it.")
    ] = False,
    y_scale: Annotated[
        str,
        Option(
            "The axis of time. robust: with a break, beyond which outliers are drawn closer together.",
            type=click.Choice(AXIS_SCALES),
        ),
    ] = "robust",
    sample_points: Annotated[
        int | None,
        Option(
            "Draw this many steps of each config as points, chosen at random, instead of shading by count.",
            type=click.IntRange(1),
            metavar="STEPS",
        ),
    ] = None,
    alpha: Annotated[
        float | None, Option("Opacity of points, from 0 to 1.  [default: 1]", type=click.FloatRange(0, 1))
    ] = None,
    point_size: Annotated[
        float | None,
        Option(
            "Diameter of points, in points of print.  [default: by how many there are]",
            type=click.FloatRange(0.1, 50),
            metavar="POINTS",
        ),
    ] = None,
    size: Size = None,
) -> Chart:
    """Model run time of each scheduler step over the tokens it scheduled.

    Counts of what was read, left out and drawn go to standard error. Without -o the chart is drawn as text.

    \b
        bench viz runtime-vs-tokens --configs A B -o chart.png
        bench viz runtime-vs-tokens profiles/a profiles/b -o chart.png
        bench viz runtime-vs-tokens --configs A --fit
        bench viz runtime-vs-tokens --configs A --color-by batch -o chart.svg
    \f
    Raises:
        UnknownName: The warehouse holds no such config or run.
        NothingToShow: No step is left to draw.
    """
    series = choose_series(warehouse, configs, runs, all_runs=all_runs, split_by=split_by)
    steps = StepFilter(series=series, trim=trim, max_schedule_ms=max_schedule_ms, max_model_run_ms=max_model_run_ms)
    counts, slow, x_end = step_filter.count_lines(warehouse, steps)
    models = cost_curves.models(warehouse, steps) if fit else {}
    bands = Bands.read(warehouse, _points(steps, positive=y_scale == "log"), series.names, x_end)
    total = sum(map(bands.points, series.names))
    if not total:
        raise step_filter.nothing_left(steps, counts)
    limit_ms = max_model_run_ms if slow and bands.highest >= max_model_run_ms / 2 else None
    axis = ValueAxis.of(Y_TITLE, y_scale, low=bands.lowest, high=limit_ms or bands.highest, bulk=bands.bulk)
    dense = color_by == "config" and sample_points is None and total > DENSE_FROM
    reduced = dense or (sample_points is None and total > downsample.DRAW_ALL_BELOW)
    per_inch = downsample.DENSITY_PER_INCH if dense else downsample.GRID_PER_INCH
    grid = downsample.grid_of(size or SIZE, per_inch) if reduced else None
    sql, rows = _rows(warehouse, steps, axis, grid, bands, sample_points, models)
    for config, count in counts.items():
        drawable = bands.points(config)
        drawn = sum(row["n"] for row in rows if row["config"] == config)
        count |= {"incomplete": count["kept"] - drawable, "kept": drawable, "drawn": drawn}
    drawn_configs = [config for config, count in counts.items() if count["drawn"]]
    outliers = bands.outliers((row["config"], row["x"], row["y"]) for row in rows) if dense else []
    for row, outlier in zip(rows, outliers, strict=dense):
        row["outlier"] = outlier
    facts = step_filter.left_out(steps, counts, slow)
    form = Steps(
        rows=rows, axis=axis, grid=_halved(grid, rows) if grid and dense else None,
        medians={config: bands.lines(config) for config in drawn_configs if dense and not fit},
        alpha=alpha, point_size=point_size, color_by=color_by,
        notes={config: counted(counts[config]["kept"], "step") for config in drawn_configs},
        budget=step_filter.token_budget(warehouse, steps), models={config: models[config] for config in drawn_configs if fit},
        limit_ms=limit_ms,
    )  # fmt: skip
    of_modes = [said for config in drawn_configs if (said := _two_modes(bands, config))]
    if len(drawn_configs) == 1:
        finding = of_modes[0] if of_modes else _growth(bands, drawn_configs[0])
    else:
        finding = of_two_series(warehouse, steps) or (of_modes[0] if of_modes else None)
    return Chart(
        title=TITLE,
        finding=finding,
        facts=[
            *drawn_configs[: len(drawn_configs) == 1], *series.facts(), *facts,
            *_drawn(rows, total, all_read=not facts, dense=dense),
            *([f"line: median{' of each mode' if of_modes else ''}, band: middle 90 %"] if form.medians else []),
            *[said for said in of_modes[:_TOLD] if said != finding], *_fits(form.models),
        ],
        form=form,
        sql=sql,
        rows=[{column: row[name] for column, name in _TABLE.items() if name in row} for row in rows],
        parameters={
            **steps.parameters(), "color_by": color_by, "fit": fit, "y_scale": y_scale, "sample_points": sample_points,
            "grid": grid,
        },
        counts=[
            {"config": config, **count, **({"fit": cost_curves.brief(models[config])} if fit else {})}
            for config, count in counts.items()
        ],
        total=total,
        notes=[*series.notes(), *(f"no step to draw in {printable(name)!r}" for name in counts if name not in drawn_configs)],
    )  # fmt: skip


def _two_modes(bands: Bands, config: str) -> str | None:
    """The sentence that times have two modes, and at which tokens, with an example."""
    modes = bands.bands_of_two_modes(config)
    if not modes:
        return None
    low, high = (amount(mode[2] * 1e6, "ns") for mode in max(modes, key=lambda band: band.points).modes)
    span = f"{modes[0].start:,.0f}–{modes[-1].end:,.0f}"
    return f"{shorten(printable(config), _NAMED)}: times of two modes at {span} tokens, such as {low} and {high}"


def _growth(bands: Bands, config: str) -> str | None:
    """The growth of times with the tokens."""
    points = [
        Point(panel=0, series=printable(config), x=round(band.x), y=band.median, low=band.low, high=band.high)
        for line in bands.lines(config)
        for band in line
    ]
    return grown(points, "time", "tokens")


_WHOLE = """,
    line, batch_size::INTEGER AS batch_size, schedule_ms, hash(coalesce(source_id, run_id)) AS origin"""


def _points(steps: StepFilter, more: str = "", *, positive: bool = False) -> str:
    """One row per step for `downsample`; config is given by its index. A time of 0 has no place on a logarithmic axis.

    Every question reads the steps anew. As a table of their own 100 million of them take gigabytes, and no less time.
    """
    y = "CASE WHEN model_run_ms > 0 THEN model_run_ms END" if positive else "model_run_ms"
    return f"""  SELECT {steps.series.place()}::SMALLINT AS config, coalesce(batch_id, line, 0) AS rank,
    tokens::DOUBLE AS x, {y} AS y{more}
  FROM {steps.steps()}"""


def _named(steps: StepFilter, query: str, models: cost_curves.Models) -> str:
    """The rows of `query` with config, run and file by name, and the fitted time where there are models."""
    fit = f" {cost_curves.expression(models, steps.series.names)} AS fitted_ms," if models else ""
    return f"""SELECT {steps.series.name_list()}[drawn.config] AS config,
  x, y, batch_size, schedule_ms, rank, line, n, halvings,{fit} run_id, source_id, path
FROM (
{query}
) AS drawn
LEFT JOIN (
  SELECT hash(source_id) AS origin, NULL AS run_id, source_id, min(path) AS path FROM sources GROUP BY source_id
  UNION ALL SELECT DISTINCT hash(run_id), run_id, NULL, NULL FROM runs
) USING (origin)
ORDER BY rank, drawn.config, line, x, y"""


def _rows(
    warehouse: "Warehouse", steps: StepFilter, axis: ValueAxis, grid: tuple[int, int] | None, bands: Bands,
    sample: int | None, models: cost_curves.Models,
) -> tuple[str, list[Row]]:  # fmt: skip
    """The statement that gives the rows to draw, and these, in drawing order.

    Its cells are made by a statement of their own: in one, DuckDB would keep all steps in memory between its two readings.
    """
    points = _points(steps, _WHOLE, positive=axis.log)
    if grid is None:
        sql = _named(steps, downsample.all_rows(points, at_most=sample), models)
        return sql, read_rows(warehouse, sql)
    extents, height = downsample.known_extents(bands.extents), axis.height_sql()
    cells = downsample.cells(f"(\n{points}\n)", extents, grid, height)
    last = downsample.last_of_cells(f"(\n{points}\n)", extents, grid, height=height, ties="x, y, line")
    sql = _named(steps, f"WITH cells AS (\n{cells}\n),\n{last.removeprefix('WITH ')}", models)
    warehouse.connection.execute(f"CREATE OR REPLACE TEMP TABLE cells AS\n{cells}")
    try:
        return sql, read_rows(warehouse, _named(steps, last, models))
    finally:
        warehouse.connection.execute("DROP TABLE cells")


def _halved(grid: tuple[int, int], rows: Sequence[Row]) -> tuple[int, int]:
    """The cells that the rows stand for."""
    across, down = (-(-cells // 2 ** rows[0]["halvings"]) for cells in grid)
    return across, down


def _drawn(rows: Sequence[Row], total: int, *, all_read: bool, dense: bool) -> list[str]:
    """The subtitle's words on how many steps are drawn, and as what."""
    if dense:
        apart = sum(row["n"] for row in rows if row["outlier"])
        return [
            f"{total:,} steps drawn, darker where more are",
            *([f"{counted(apart, 'outlier')} as points"] if apart else []),
        ]
    if sum(row["n"] for row in rows) < total:
        return [f"{len(rows):,} of {total:,} steps drawn, chosen by chance"]
    if len(rows) < total:
        return [f"{total:,} steps drawn as {len(rows):,} points"]
    return [
        f"{'the only step' if total == 1 else f'all {total:,} steps' if all_read else counted(total, 'step')} drawn"
    ]


def _fits(models: cost_curves.Models) -> list[str]:
    """The subtitle's text on the models: all of a few, or how to read many."""
    if not models:
        return []
    ring = ["ring: compute-bound from here on"] if any(model.knee_tokens for model in models.values()) else []
    if len(models) > _TOLD:
        lines = sum(model.curve is not None for model in models.values())
        return [f"lines: cost models of {lines} of {len(models)} configs", *ring]
    alone = len(models) == 1
    facts = [
        cost_curves.brief(model) if alone else f"{shorten(printable(config), 10)}: {cost_curves.brief(model)}"
        for config, model in models.items()
    ]
    return [*facts, *_fitted_batch(models), *ring]


def _fitted_batch(models: cost_curves.Models) -> list[str]:
    """The requests for which curves are drawn, where steps differ in them: those of other batches lie beside the curves."""
    drawn = [
        model for model in models.values() if model.curve is not None and model.batch_size and model.typical_batch_size
    ]
    ends = sorted({round(model.typical_batch_size or 0) for model in drawn if len({*(model.batch_size or ())}) > 1})
    one = "line" if len(drawn) == 1 else "lines"
    return (
        [f"{one}: fit for {'–'.join(f'{end:,}' for end in dict.fromkeys((ends[0], ends[-1])))} requests"]
        if ends
        else []
    )
