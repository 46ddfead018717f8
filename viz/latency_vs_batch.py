"""Latency against batch size: how long steps of about so many tokens take, by how many requests share them."""

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..warehouse.errors import NothingToShow
from ..warehouse.options import Command, Values
from ..warehouse.words import counted
from . import steps
from .data import ask, known_configs, number
from .figure import Figure, compose, public
from .labels import shared
from .lines import Lines, Panel, Point
from .options import chart_options
from .steps import step_options
from .units import Unit

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

NAME = "latency-vs-batch"
TITLE = "Model run time against batch size"
TARGETS = (128, 256, 512, 1024, 2048, 4096)
TOLERANCE = 0.15
LEAST = 3  # steps a mean is taken over


@click.command(NAME, cls=Command)
@step_options
@click.option(
    "--targets", cls=Values, value_type=click.IntRange(1), metavar="TOKENS…",
    help=f"Numbers of tokens to group steps by.  [default: {' '.join(map(str, TARGETS))}]",
)  # fmt: skip
@click.option(
    "--tolerance", type=click.FloatRange(0, 1), default=TOLERANCE, show_default=True, metavar="SHARE",
    help="How far from a target the tokens of a step may be.",
)  # fmt: skip
@chart_options
def command(**options: Any) -> "Callable[[Warehouse], Figure]":
    """Model run time of steps of about so many tokens, over the requests in them.

    Mean and standard deviation of groups of 3 steps or more. One config has a line for each number of tokens; several
    have a panel for each.

    \b
        bench viz latency-vs-batch --configs A
        bench viz latency-vs-batch --configs A B --targets 256 1024 -o latency.png
    """
    return functools.partial(draw, **options)


def draw(
    warehouse: "Warehouse",
    *,
    configs: Sequence[str] | None = None,
    trim: int = 10,
    max_schedule_ms: float = 300,
    max_model_run_ms: float = 200,
    targets: Sequence[int] = (),
    tolerance: float = TOLERANCE,
    title: str | None = None,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Model run time of steps of about so many tokens, over the requests in them.

    Args:
        warehouse: Where the steps are.
        configs: Configs to draw; all that have steps unless given.
        trim: Lines left out at the start and at the end of each file.
        max_schedule_ms: Steps whose scheduling took this long or longer are left out.
        max_model_run_ms: Steps whose model run took this long or longer are left out.
        targets: Numbers of tokens to group steps by; 128 to 4096 unless given.
        tolerance: How far from a target the tokens of a step may be, as a share of it.
        title: Title instead of the default.
        size: Width and height in inches.

    Raises:
        UnknownName: The warehouse holds no such config.
        NothingToShow: No group has 3 steps.
    """
    question = steps.question(
        warehouse, configs, trim=trim, max_schedule_ms=max_schedule_ms, max_model_run_ms=max_model_run_ms
    )
    became = steps.counts(warehouse, question)
    wanted = sorted(set(targets or TARGETS))
    sql = f"""SELECT config, target_tokens, batch_size, n, mean_ms, sd_ms, mean_tokens
FROM latency_vs_batch(targets := {wanted}, tolerance := {number(float(tolerance))}, least := {LEAST},
  {question.arguments()})
ORDER BY config, target_tokens, batch_size"""
    rows = ask(warehouse, sql)
    if not rows:
        kept = sum(count["kept"] for count in became.values())
        if not kept:
            raise steps.nothing(question, became)
        raise NothingToShow(
            f"of {counted(kept, 'step')} no {LEAST} of one batch size lie within {tolerance:.0%} of"
            f" {', '.join(map(str, wanted))} tokens. Try: bench viz latency-vs-batch --targets 64 --tolerance 0.5"
        )
    several = len({row["config"] for row in rows}) > 1
    groups = sorted({row["target_tokens"] for row in rows})
    form = Lines(
        points=[
            Point(
                panel=groups.index(row["target_tokens"]) if several else 0,
                series=row["config"] if several else _about(row["target_tokens"]),
                x=row["batch_size"],
                y=row["mean_ms"],
                low=None if row["sd_ms"] is None else max(0.0, row["mean_ms"] - row["sd_ms"]),  # no time is negative
                high=None if row["sd_ms"] is None else row["mean_ms"] + row["sd_ms"],
                tips=(row["n"], row["mean_tokens"]),
            )
            for row in rows
        ],
        panels=[Panel(title=_about(group), y_title="model run", unit=Unit("ms")) for group in groups]
        if several
        else [Panel(y_title="model run", unit=Unit("ms"))],
        x_title="requests per step",
        x_zero=True,
        columns=2,
        tips=(("steps", ",d"), ("their mean tokens", ",.0f")),
        known=known_configs(warehouse),
        given=size,
    )
    for config, count in became.items():
        count["drawn"] = sum(row["n"] for row in rows if row["config"] == config)
    return compose(
        NAME,
        title=title,
        own_title=TITLE,
        facts=[
            *shared(rows, ("config",)),
            f"mean ± standard deviation of {counted(sum(row['n'] for row in rows), 'step')}",
            f"within {tolerance:.0%} of the tokens",
        ],
        form=form,
        sql=sql,
        rows=rows,
        parameters={**question.parameters(), "targets": wanted, "tolerance": tolerance},
        counts=[{"config": config, **count} for config, count in became.items()],
        total=sum(row["n"] for row in rows),
    )


latency_vs_batch = public(draw)


def _about(tokens: int) -> str:
    return f"about {tokens:,} tokens"
