"""Runtime against tokens: how long the model ran in each scheduler step, over the tokens the step scheduled."""

from typing import TYPE_CHECKING, Annotated

import click

from ...warehouse.console.numbers import counted
from ...warehouse.console.tables import shorten
from .. import downsample, step_filter
from ..data import Row, all_configs, read_rows
from ..marks import cost_curves
from ..marks.scatter import Steps
from ..options import Option, Size, Title
from ..output.figure import SIZE, Figure, compose
from ..step_filter import (
    MAX_MODEL_RUN_MS,
    MAX_SCHEDULE_MS,
    TRIM,
    MaxModelRunMs,
    MaxScheduleMs,
    StepConfigs,
    StepFilter,
    Trim,
)
from ..style.labels import printable

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

TITLE = "Model run time against scheduled tokens"
_TABLE = {  # columns of a table of what is drawn, and what the query calls them
    "config": "config", "tokens": "x", "model_run_ms": "y", "batch_size": "batch_size", "schedule_ms": "schedule_ms",
    "step": "rank", "path": "path", "line": "line", "steps": "n", "fitted_ms": "fitted_ms",
}  # fmt: skip
_TOLD = 3  # fits that the subtitle has room for


def draw(
    warehouse: "Warehouse",
    *,
    configs: StepConfigs = (),
    trim: Trim = TRIM,
    max_schedule_ms: MaxScheduleMs = MAX_SCHEDULE_MS,
    max_model_run_ms: MaxModelRunMs = MAX_MODEL_RUN_MS,
    color_by: Annotated[str, Option("What colour says.", type=click.Choice(["config", "batch"]))] = "config",
    fit: Annotated[
        bool, Option("Draw the cost model of each config over its steps, as bench cost-model fits it.")
    ] = False,
    title: Title = None,
    size: Size = None,
) -> Figure:
    """Model run time of each scheduler step over the tokens it scheduled.

    Counts of what was read, left out and drawn go to standard error. Without -o the chart is drawn as text.

    \b
        bench viz runtime-vs-tokens --configs A B -o chart.png
        bench viz runtime-vs-tokens profiles/a profiles/b -o chart.png
        bench viz runtime-vs-tokens --configs A --fit
        bench viz runtime-vs-tokens --configs A --color-by batch -o chart.svg
    \f
    Raises:
        UnknownName: The warehouse holds no such config.
        NothingToShow: No step is left to draw.
    """
    steps = step_filter.choose_steps(
        warehouse, configs, trim=trim, max_schedule_ms=max_schedule_ms, max_model_run_ms=max_model_run_ms
    )
    counts, slow = step_filter.count_lines(warehouse, steps)
    grid = (
        None
        if sum(count["kept"] for count in counts.values()) <= downsample.DRAW_ALL_BELOW
        else downsample.grid_of(size or SIZE)
    )
    models = cost_curves.models(warehouse, steps) if fit else {}
    rows = _rows(warehouse, steps, grid, models)
    if not rows:
        raise step_filter.nothing_left(steps, counts)
    for config, count in counts.items():
        own = [row["n"] for row in rows if row["config"] == config]
        count |= {"incomplete": count["kept"] - sum(own), "kept": sum(own), "drawn": len(own)}
    drawn = [config for config, count in counts.items() if count["drawn"]]
    facts = step_filter.left_out(steps, counts, slow)
    form = Steps(
        rows=rows, notes={config: counted(counts[config]["kept"], "step") for config in drawn}, color_by=color_by,
        budget=step_filter.token_budget(warehouse, steps), models={config: models[config] for config in drawn if fit},
        limit_ms=max_model_run_ms if slow else None, all_configs=all_configs(warehouse), wanted_size=size,
    )  # fmt: skip
    total = sum(row["n"] for row in rows)
    return compose(
        "runtime-vs-tokens",
        title=title,
        default_title=TITLE,
        facts=[
            *([drawn[0]] if len(drawn) == 1 else []), *facts, _drawn(len(rows), total, all_read=not facts), *_fits(form.models),
        ],
        form=form,
        sql=_sql(steps, grid, models),
        rows=[{column: row[name] for column, name in _TABLE.items() if name in row} for row in rows],
        parameters={**steps.parameters(), "color_by": color_by, "fit": fit, "grid": grid},
        counts=[
            {"config": config, **count, **({"fit": cost_curves.brief(models[config])} if fit else {})}
            for config, count in counts.items()
        ],
        total=total,
        notes=[f"no step to draw in {printable(name)!r}" for name in counts if name not in drawn],
    )  # fmt: skip


_WHOLE = """,
    line, batch_size::INTEGER AS batch_size, schedule_ms, hash(coalesce(source_id, run_id)) AS origin"""


def _points(steps: StepFilter, more: str = "") -> str:
    """One narrow row per step for `downsample`; config is given by its index.

    No condition here: DuckDB would add the tokens up once more to check it.
    """
    return f"""  SELECT list_position({steps.config_list()}, config)::SMALLINT AS config, coalesce(batch_id, line, 0) AS rank,
    tokens::DOUBLE AS x, model_run_ms AS y{more}
  FROM runtime_vs_tokens({steps.arguments()})"""


def _looked_up(steps: StepFilter, reduction: str) -> str:
    """The rows that the downsampling keeps, with all columns for tooltips."""
    return f"""SELECT whole.*, kept.n, kept.halvings
FROM (
{_points(steps, _WHOLE)}
) AS whole
JOIN (
{reduction}
) AS kept USING (config, rank, x, y)
QUALIFY row_number() OVER (PARTITION BY config, rank, x, y ORDER BY line) = 1"""


def _named(steps: StepFilter, query: str, models: cost_curves.Models) -> str:
    """The rows of `query` with config, run and file by name, and the fitted time where there are models."""
    fit = f"\n  {cost_curves.expression(models, steps.configs)} AS fitted_ms," if models else ""
    return f"""SELECT {steps.config_list()}[drawn.config] AS config, x, y, batch_size, schedule_ms, rank, line, n, halvings,{fit}
  run_id, source_id, path
FROM (
{query}
) AS drawn
LEFT JOIN (
  SELECT hash(source_id) AS origin, NULL AS run_id, source_id, min(path) AS path FROM sources GROUP BY source_id
  UNION ALL SELECT DISTINCT hash(run_id), run_id, NULL, NULL FROM runs
) USING (origin)
ORDER BY rank, drawn.config, line, x, y"""


def _sql(steps: StepFilter, grid: tuple[int, int] | None, models: cost_curves.Models) -> str:
    """The whole query as one statement."""
    if grid is None:
        return _named(steps, downsample.all_rows(_points(steps, _WHOLE)), models)
    return _named(steps, _looked_up(steps, downsample.reduced(_points(steps), grid)), models)


def _rows(
    warehouse: "Warehouse", steps: StepFilter, grid: tuple[int, int] | None, models: cost_curves.Models
) -> list[Row]:
    """The rows to draw, in drawing order.

    The points to downsample are put into a temporary table first, which is 3 times faster at 10M than one statement. Further
    columns are looked up for the kept rows only, which takes half the memory.
    """
    if grid is None:
        return read_rows(warehouse, _sql(steps, grid, models))
    warehouse.connection.execute(f"CREATE OR REPLACE TEMP TABLE points AS {_points(steps)}")
    try:
        return read_rows(warehouse, _named(steps, _looked_up(steps, downsample.reduction(grid)), models))
    finally:
        warehouse.connection.execute("DROP TABLE points")


def _drawn(points: int, total: int, *, all_read: bool) -> str:
    """The sentence on how many steps are drawn."""
    if points < total:
        return f"{total:,} steps drawn as {points:,} points"
    return f"{'the only step' if total == 1 else f'all {total:,} steps' if all_read else counted(total, 'step')} drawn"


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
    return [*facts, *ring]
