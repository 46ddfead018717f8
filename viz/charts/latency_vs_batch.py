"""Latency against batch size: model run time of steps of about the same number of tokens, over their requests."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import click

from ...query.pasteable_sql import number_literal
from ...warehouse.console.declared import Option, Runs
from ...warehouse.console.numbers import counted, exact_percent
from ...warehouse.errors import NothingToShow
from .. import step_filter
from ..chart import Chart, chart
from ..data import in_order, read_rows, select
from ..findings import grown
from ..marks.lines import Lines, Panel, Point
from ..step_filter import MAX_MODEL_RUN_MS, MAX_SCHEDULE_MS, TRIM, MaxModelRunMs, MaxScheduleMs, StepFilter, Trim
from ..step_finding import of_two_series
from ..step_series import AllRuns, SplitBy, StepConfigs, choose_series
from ..style.labels import common_values
from ..style.units import DisplayUnit

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

TITLE = "Model run time against batch size"
TARGETS = (128, 256, 512, 1024, 2048, 4096)
TOLERANCE = 0.15
LEAST = 3  # steps a median is taken over


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
    targets: Annotated[
        Sequence[int],
        Option(
            f"Numbers of tokens to group steps by.  [default: {' '.join(map(str, TARGETS))}]",
            value_type=click.IntRange(1),
            metavar="TOKENS…",
        ),
    ] = (),
    tolerance: Annotated[
        float,
        Option("How far from a target the tokens of a step may be.", type=click.FloatRange(0, 1), metavar="SHARE"),
    ] = TOLERANCE,
) -> Chart:
    """Model run time of steps of about the same number of tokens, over the requests in them.

    Median and middle 90 % of groups of 3 steps or more. One config has a line for each number of tokens; several
    have a panel for each.

    \b
        bench viz latency-vs-batch --configs A
        bench viz latency-vs-batch --configs A B --targets 256 1024 -o latency.png
    \f
    Raises:
        UnknownName: The warehouse holds no such config or run.
        NothingToShow: No group has 3 steps.
    """
    series = choose_series(warehouse, configs, runs, all_runs=all_runs, split_by=split_by)
    steps = StepFilter(series=series, trim=trim, max_schedule_ms=max_schedule_ms, max_model_run_ms=max_model_run_ms)
    counts, slow, _ = step_filter.count_lines(warehouse, steps)
    wanted = sorted(set(targets or TARGETS))
    groups_of = f"targets := {wanted}, tolerance := {number_literal(float(tolerance))}, least := {LEAST}"
    sql = select(
        "config, target_tokens, batch_size, n, median_ms, low_ms, high_ms, mean_tokens",
        steps.rows_of("latency_vs_batch", groups_of),
        order=f"{in_order('config', series.names)}, target_tokens, batch_size",
    )
    rows = read_rows(warehouse, sql)
    if not rows:
        kept = sum(count["kept"] for count in counts.values())
        if not kept:
            raise step_filter.nothing_left(steps, counts)
        raise NothingToShow(
            f"a group takes {LEAST} steps of one batch size within {exact_percent(tolerance)} of"
            f" {', '.join(map(str, wanted))} tokens; {counted(kept, 'step')} kept form none."
            " Try: bench viz latency-vs-batch --targets 64 --tolerance 0.5"
        )
    several = len({row["config"] for row in rows}) > 1
    groups = sorted({row["target_tokens"] for row in rows})
    form = Lines(
        points=[
            Point(
                panel=groups.index(row["target_tokens"]) if several else 0,
                series=row["config"] if several else _about(row["target_tokens"]),
                x=row["batch_size"],
                y=row["median_ms"],
                low=row["low_ms"],
                high=row["high_ms"],
                tips=(row["n"], row["mean_tokens"]),
            )
            for row in rows
        ],
        panels=[Panel(title=_about(group), y_title="model run", unit=DisplayUnit("ms")) for group in groups]
        if several
        else [Panel(y_title="model run", unit=DisplayUnit("ms"))],
        x_title="requests per step",
        x_zero=True,
        columns=2,
        tips=(("steps", ",d"), ("their mean tokens", ",.0f")),
    )
    for config, count in counts.items():
        count["drawn"] = sum(row["n"] for row in rows if row["config"] == config)
    return Chart(
        title=TITLE,
        finding=of_two_series(warehouse, steps) if several else _finding(form.points),
        facts=[
            *common_values(rows, ("config",)),
            *series.facts(),
            *step_filter.left_out(steps, counts, slow),
            f"{counted(sum(row['n'] for row in rows), 'step')} in groups: median, and the middle 90 % as a bar",
            f"tokens within {exact_percent(tolerance)} of the number named",
        ],
        form=form,
        sql=sql,
        rows=rows,
        parameters={**steps.parameters(), "targets": wanted, "tolerance": tolerance},
        counts=[{"config": config, **count} for config, count in counts.items()],
        total=sum(row["n"] for row in rows),
        notes=series.notes(),
    )


def _finding(points: Sequence[Point]) -> str | None:
    """The growth of the line over most batch sizes."""
    lines: dict[str, list[Point]] = {}
    for point in points:
        lines.setdefault(point.series, []).append(point)
    return grown(max(lines.values(), key=len), "time", "requests")


def _about(tokens: int) -> str:
    return f"about {tokens:,} tokens"
