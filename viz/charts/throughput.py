"""Throughput: tokens per second of scheduler steps over their tokens, under the roofs of the cost model."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ...query.cost.model import CostModel
from ...warehouse.console.declared import Runs
from ...warehouse.console.numbers import counted, percent
from ...warehouse.console.tables import shorten
from .. import step_filter
from ..chart import Chart, chart
from ..data import Row, read_rows
from ..marks import cost_curves
from ..marks.lines import Lines, Panel, Point
from ..marks.overlays import FittedCurve
from ..step_filter import MAX_MODEL_RUN_MS, MAX_SCHEDULE_MS, TRIM, MaxModelRunMs, MaxScheduleMs, StepFilter, Trim
from ..step_finding import of_two_series
from ..step_series import AllRuns, SplitBy, StepConfigs, StepSeries, choose_series
from ..style.labels import common_values, printable
from ..style.units import DisplayUnit

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

TITLE = "Throughput of scheduler steps"
PER_OCTAVE = 4  # groups of steps to each doubling of their tokens
_TOLD = 3  # configs that the subtitle has room for


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
) -> Chart:
    """Tokens per second of scheduler steps over their tokens, with what bounds them: a roofline.

    Points are medians of steps of about the same number of tokens, with the middle 90 %. Roofs are those of the cost
    model that bench cost-model fits: reading the weights bounds small steps, computing large ones.

    \b
        bench viz throughput --configs A B
        bench viz throughput --configs A -o roofline.png
    \f
    Raises:
        UnknownName: The warehouse holds no such config or run.
        NothingToShow: No step is left to draw.
    """
    series = choose_series(warehouse, configs, runs, all_runs=all_runs, split_by=split_by)
    steps = StepFilter(series=series, trim=trim, max_schedule_ms=max_schedule_ms, max_model_run_ms=max_model_run_ms)
    counts, slow, _ = step_filter.count_lines(warehouse, steps)
    sql = f"""SELECT {series.name_list()}[place] AS config, median(tokens)::DOUBLE AS tokens, count(*) AS steps,
  median(tokens / model_run_ms * 1000) AS tokens_per_second,
  quantile_cont(tokens / model_run_ms * 1000, 0.05) AS low, quantile_cont(tokens / model_run_ms * 1000, 0.95) AS high,
  avg(batch_size) AS mean_batch_size, sum(tokens)::DOUBLE AS sum_tokens, sum(model_run_ms) AS sum_ms
FROM (SELECT *, {series.place()} AS place FROM {steps.steps()})
WHERE tokens > 0 AND model_run_ms > 0 AND isfinite(model_run_ms)
GROUP BY place, floor(log2(tokens) * {PER_OCTAVE})
ORDER BY place, tokens"""
    rows = read_rows(warehouse, sql)
    if not rows:
        raise step_filter.nothing_left(steps, counts)
    drawn = list(dict.fromkeys(row["config"] for row in rows))
    models = {config: model for config, model in cost_curves.models(warehouse, steps).items() if config in drawn}
    for config, count in counts.items():
        own = sum(row["steps"] for row in rows if row["config"] == config)
        count |= {"incomplete": count["kept"] - own, "kept": own, "drawn": own}
    form = Lines(
        points=[
            Point(
                panel=0, series=row["config"], x=row["tokens"], y=row["tokens_per_second"], low=row["low"], high=row["high"],
                tips=(row["steps"], row["mean_batch_size"]),
            )
            for row in rows
        ],
        panels=[Panel(y_title="throughput", unit=DisplayUnit("tokens/s"))],
        x_title="scheduled tokens per step",
        log_x=True,
        log_y=True,
        joined=False,
        curves=[curve for config, model in models.items() for curve in _roofs(config, model, rows)],
        tips=(("steps", ",d"), ("their mean requests", ",.1f")),
    )  # fmt: skip
    return Chart(
        title=TITLE,
        finding=of_two_series(warehouse, steps) or _finding(models, rows, series),
        facts=[
            *common_values(rows, ("config",)),
            *series.facts(),
            *step_filter.left_out(steps, counts, slow),
            f"{counted(sum(row['steps'] for row in rows), 'step')} in groups: median, and the middle 90 % as a bar",
            *_describe_roofs(models, rows, series),
        ],
        form=form,
        sql=sql,
        rows=rows,
        parameters=steps.parameters(),
        counts=[
            {"config": config, **count, "fit": cost_curves.brief(models[config]) if config in models else "no steps"}
            for config, count in counts.items()
        ],
        total=sum(row["steps"] for row in rows),
        notes=series.notes(),
    )


def _roofs(config: str, model: CostModel, rows: Sequence[Row]) -> Iterator[FittedCurve]:
    """The fitted curve and its two bounds: the time to read the weights, and the time to compute the tokens."""
    tokens = [row["tokens"] for row in rows if row["config"] == config]
    few, many = min(tokens), max(tokens)
    line = tuple((at, at / ms * 1000) for at, _, ms, _, _ in model.line() if few <= at <= many and ms > 0)
    if len(line) > 1:
        yield FittedCurve(series=config, points=line)
    peak = 1e6 / model.per_token_us.value if model.per_token_us else None
    if model.floor_ms:
        per_token = 1000 / model.floor_ms.value
        end = many if peak is None else min(many, peak / per_token)
        if few < end:
            yield FittedCurve(series=config, points=((few, few * per_token), (end, end * per_token)), roof=True)
    if peak:
        yield FittedCurve(series=config, points=((few, peak), (many, peak)), roof=True)


def _finding(models: cost_curves.Models, rows: Sequence[Row], series: StepSeries) -> str | None:
    """The share of the limit that the only config achieves."""
    said = _describe_roofs(models, rows, series) if len(models) == 1 else []
    return said[0] if len(said) > 1 and " of the limit " in said[0] else None


def _describe_roofs(models: cost_curves.Models, rows: Sequence[Row], series: StepSeries) -> list[str]:
    """Sentences on the share of the compute bound that is achieved, and the tokens from which it can be reached."""
    sentences = []
    for config, model in models.items():
        own = [row for row in rows if row["config"] == config]
        achieved = sum(row["sum_tokens"] for row in own) / sum(row["sum_ms"] for row in own) * 1000
        name = f"{shorten(printable(config), 10)}: " if len(models) > 1 else ""
        if series.is_sampled(config):
            sentences.append(f"{name}tokens/s overall unknown: a sampled capture")
            continue
        if model.per_token_us is None:
            sentences.append(f"{name}{achieved:,.0f} tokens/s overall, limit unknown: {model.reason or model.status}")
            continue
        most, low, high = (
            1e6 / value for value in (model.per_token_us.value, model.per_token_us.high, model.per_token_us.low)
        )
        sentences.append(
            f"{name}{achieved:,.0f} tokens/s overall, {percent(achieved / most, 0)} of the limit of {most:,.0f}"
            f" (95 % {low:,.0f}–{high:,.0f})"
        )
    dashed = (
        ["dashed: the limits that the cost model sets"]
        if any(m.floor_ms or m.per_token_us for m in models.values())
        else []
    )
    return [*(sentences if len(sentences) <= _TOLD else []), *dashed]
