"""Runtime against tokens: how long the model ran in each scheduler step, over the tokens the step scheduled."""

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..warehouse.options import Command
from ..warehouse.output import shorten
from ..warehouse.words import counted
from . import fitted, reduce, steps
from .data import Row, ask, known_configs
from .figure import SIZE, Figure, compose, public
from .labels import printable
from .options import chart_options
from .scatter import Steps
from .steps import Question, step_options

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

NAME = "runtime-vs-tokens"
TITLE = "Model run time against scheduled tokens"
_TABLE = {  # columns of a table of what is drawn, and what the query calls them
    "config": "config", "tokens": "x", "model_run_ms": "y", "batch_size": "batch_size", "schedule_ms": "schedule_ms",
    "step": "rank", "path": "path", "line": "line", "steps": "n", "fitted_ms": "fitted_ms",
}  # fmt: skip
_TOLD = 3  # fits that the subtitle has room for


@click.command(NAME, cls=Command)
@step_options
@click.option(
    "--color-by", type=click.Choice(["config", "batch"]), default="config", show_default=True, help="What colour says."
)
@click.option(
    "--fit", is_flag=True, help="Draw the cost model of each config over its steps, as bench cost-model fits it."
)
@chart_options
def command(**options: Any) -> "Callable[[Warehouse], Figure]":
    """Model run time of each scheduler step over the tokens it scheduled.

    Counts of what was read, left out and drawn go to standard error. Without -o the chart is drawn as text.

    \b
        bench viz runtime-vs-tokens --configs A B -o chart.png
        bench viz runtime-vs-tokens --configs A --fit
        bench viz runtime-vs-tokens --configs A --color-by batch -o chart.svg
    """
    return functools.partial(draw, **options)


def draw(
    warehouse: "Warehouse",
    *,
    configs: Sequence[str] | None = None,
    trim: int = 10,
    max_schedule_ms: float = 300,
    max_model_run_ms: float = 200,
    color_by: str = "config",
    fit: bool = False,
    title: str | None = None,
    size: tuple[float, float] | None = None,
) -> Figure:
    """The model run time of each scheduler step over its tokens.

    Args:
        warehouse: Where the steps are.
        configs: Configs to draw; all that have steps unless given.
        trim: Lines left out at the start and at the end of each file.
        max_schedule_ms: Steps whose scheduling took this long or longer are left out.
        max_model_run_ms: Steps whose model run took this long or longer are left out.
        color_by: "config" or "batch" (requests in the step).
        fit: Whether the cost model of each config is drawn over its steps.
        title: Title instead of the default.
        size: Width and height in inches.

    Raises:
        UnknownName: The warehouse holds no such config.
        NothingToShow: No step is left to draw.
    """
    question = steps.question(
        warehouse, configs, trim=trim, max_schedule_ms=max_schedule_ms, max_model_run_ms=max_model_run_ms
    )
    counts = steps.counts(warehouse, question)
    grid = (
        None
        if sum(count["kept"] for count in counts.values()) <= reduce.DRAW_ALL_BELOW
        else reduce.grid_of(size or SIZE)
    )
    models = fitted.models(warehouse, question) if fit else {}
    rows = _rows(warehouse, question, grid, models)
    if not rows:
        raise steps.nothing(question, counts)
    for config, count in counts.items():
        own = [row["n"] for row in rows if row["config"] == config]
        count |= {"incomplete": count["kept"] - sum(own), "kept": sum(own), "drawn": len(own)}
    drawn = [config for config, count in counts.items() if count["drawn"]]
    form = Steps(
        rows=rows, notes={config: counted(counts[config]["kept"], "step") for config in drawn}, color_by=color_by,
        budget=steps.budget(warehouse, question), models={config: models[config] for config in drawn if fit},
        known=known_configs(warehouse), given=size,
    )  # fmt: skip
    total = sum(row["n"] for row in rows)
    return compose(
        NAME,
        title=title,
        own_title=TITLE,
        facts=[*([drawn[0]] if len(drawn) == 1 else []), _drawn(rows, total, grid), *_fits(form.models)],
        form=form,
        sql=_sql(question, grid, models),
        rows=[{column: row[name] for column, name in _TABLE.items() if name in row} for row in rows],
        parameters={**question.parameters(), "color_by": color_by, "fit": fit, "grid": grid},
        counts=[
            {"config": config, **count, **({"fit": fitted.brief(models[config])} if fit else {})}
            for config, count in counts.items()
        ],
        total=total,
        notes=[f"no step to draw in {printable(name)!r}" for name in counts if name not in drawn],
    )


runtime_vs_tokens = public(draw)


_WHOLE = """,
    line, batch_size::INTEGER AS batch_size, schedule_ms, hash(coalesce(source_id, run_id)) AS origin"""


def _points(question: Question, more: str = "") -> str:
    """One row per step as `reduce` wants them, as narrow as can be; config is its place.

    No condition here: DuckDB would add the tokens up once more to check it.
    """
    return f"""  SELECT list_position({question.list()}, config)::SMALLINT AS config, coalesce(batch_id, line, 0) AS rank,
    tokens::DOUBLE AS x, model_run_ms AS y{more}
  FROM runtime_vs_tokens({question.arguments()})"""


def _looked_up(question: Question, reduction: str) -> str:
    """The rows that a reduction of the narrow points keeps, with all that is told of them."""
    return f"""SELECT whole.*, kept.n, kept.halvings
FROM (
{_points(question, _WHOLE)}
) AS whole
JOIN (
{reduction}
) AS kept USING (config, rank, x, y)
QUALIFY row_number() OVER (PARTITION BY config, rank, x, y ORDER BY line) = 1"""


def _named(question: Question, query: str, models: fitted.Models) -> str:
    """The rows of `query` with config, run and file by name, and the fitted time where there are models."""
    fit = f"\n  {fitted.expression(models, question.configs)} AS fitted_ms," if models else ""
    return f"""SELECT {question.list()}[drawn.config] AS config, x, y, batch_size, schedule_ms, rank, line, n, halvings,{fit}
  run_id, source_id, path
FROM (
{query}
) AS drawn
LEFT JOIN (
  SELECT hash(source_id) AS origin, NULL AS run_id, source_id, min(path) AS path FROM sources GROUP BY source_id
  UNION ALL SELECT DISTINCT hash(run_id), run_id, NULL, NULL FROM runs
) USING (origin)
ORDER BY rank, drawn.config, line, x, y"""


def _sql(question: Question, grid: tuple[int, int] | None, models: fitted.Models) -> str:
    """The whole query as one statement."""
    if grid is None:
        return _named(question, reduce.all_rows(_points(question, _WHOLE)), models)
    return _named(question, _looked_up(question, reduce.reduced(_points(question), grid)), models)


def _rows(warehouse: "Warehouse", question: Question, grid: tuple[int, int] | None, models: fitted.Models) -> list[Row]:
    """The rows to draw, in drawing order.

    The points to reduce are put into a temporary table first: 3 times faster at 10M than within one statement. What else is
    told of a step is looked up for the rows that are kept: half the memory of carrying it along for all.
    """
    if grid is None:
        return ask(warehouse, _sql(question, grid, models))
    warehouse.connection.execute(f"CREATE OR REPLACE TEMP TABLE points AS {_points(question)}")
    try:
        return ask(warehouse, _named(question, _looked_up(question, reduce.reduction(grid)), models))
    finally:
        warehouse.connection.execute("DROP TABLE points")


def _drawn(rows: Sequence[Row], total: int, grid: tuple[int, int] | None) -> str:
    """How many of the steps are drawn."""
    if grid is None:
        return f"{'the only step' if total == 1 else f'all {total:,} steps'} drawn"
    halved = 2 ** rows[0]["halvings"]
    return f"{len(rows):,} of {total:,} steps drawn (grid {-(-grid[0] // halved)}×{-(-grid[1] // halved)})"


def _fits(models: fitted.Models) -> list[str]:
    """What the subtitle says of the models: of a few all, of many how to read them."""
    if not models:
        return []
    ring = ["ring: compute-bound from here on"] if any(model.knee_tokens for model in models.values()) else []
    if len(models) > _TOLD:
        lines = sum(model.curve is not None for model in models.values())
        return [f"lines: cost models of {lines} of {len(models)} configs", *ring]
    alone = len(models) == 1
    told = [
        fitted.brief(model) if alone else f"{shorten(printable(config), 10)}: {fitted.brief(model)}"
        for config, model in models.items()
    ]
    return [*told, *ring]
