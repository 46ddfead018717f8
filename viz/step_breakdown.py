"""Step breakdown: where the time of a scheduler step goes."""

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..warehouse.errors import NothingToShow
from ..warehouse.options import Command
from ..warehouse.words import counted
from .data import Row, ask, keeping
from .figure import Figure, compose, public
from .labels import shared
from .options import chart_options, configs_option
from .stacks import Stack, Stacks
from .units import suiting

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

NAME = "step-breakdown"
TITLE = "Where the time of a scheduler step goes"
PARTS = ("model run", "scheduling", "anything else")


@click.command(NAME, cls=Command)
@configs_option
@chart_options
def command(**options: Any) -> "Callable[[Warehouse], Figure]":
    """Mean time of a scheduler step, split into the model's run, scheduling and the rest.

    Taken over all steps, like the view of this name; nothing is trimmed or filtered.

    \b
        bench viz step-breakdown
        bench viz step-breakdown --configs A B -o steps.png
    """
    return functools.partial(draw, **options)


def draw(
    warehouse: "Warehouse",
    *,
    configs: Sequence[str] = (),
    title: str | None = None,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Mean time of a scheduler step, split into the model's run, scheduling and the rest.

    Args:
        warehouse: Where the steps are.
        configs: Configs to draw; all that have steps unless given.
        title: Title instead of the default.
        size: Width and height in inches.

    Raises:
        UnknownName: No such config has steps.
        NothingToShow: There are no steps, or none has a time.
    """
    sql = f"""SELECT config, steps, mean_schedule_ms, mean_model_run_ms, mean_step_ms, schedule_share, tokens_per_second,
  mean_tokens, mean_batch_size, prefill_share, mean_waiting, mean_running, mean_kv_cache_usage, mean_budget_use
FROM step_breakdown
WHERE {keeping(warehouse, "step_breakdown", {"config": configs})}
ORDER BY config"""
    rows = ask(warehouse, sql)
    if not rows:
        raise NothingToShow("no scheduler steps in the store. Load some with: bench ingest NAME:PATH")
    timed = [row for row in rows if row["mean_model_run_ms"] is not None or row["mean_schedule_ms"] is not None]
    if not timed:
        raise NothingToShow(
            'no scheduler step says how long it took. See them with: bench sql "FROM schedule_chunks LIMIT 5"'
        )
    stacks = [_stack(row) for row in timed]
    unit = suiting((sum(part or 0 for part in stack.parts) for stack in stacks), "ms")
    form = Stacks(
        stacks=stacks,
        parts=PARTS,
        title=unit.title("mean time of a step"),
        unit=unit,
        tips=(
            ("tokens per second", ",.0f"),
            ("tokens per step", ",.0f"),
            ("requests per step", ",.1f"),
            ("steps", ",d"),
        ),
        given=size,
    )
    silent = len(rows) - len(timed)
    return compose(
        NAME,
        title=title,
        own_title=TITLE,
        facts=[*shared(rows, ("config",)), f"mean of {counted(sum(row['steps'] for row in timed), 'step')}"],
        form=form,
        sql=sql,
        rows=rows,
        parameters={"configs": list(configs)},
        counts=[{"config": row["config"], "steps": row["steps"]} for row in rows],
        notes=[f"{counted(silent, 'config')} without any time left out"] if silent else (),
    )


step_breakdown = public(draw)


def _stack(row: Row) -> Stack:
    schedule, model, whole = row["mean_schedule_ms"], row["mean_model_run_ms"], row["mean_step_ms"]
    rest = None if whole is None else max(0.0, whole - (schedule or 0) - (model or 0))
    share = "" if row["schedule_share"] is None else f"{row['schedule_share']:.1%} scheduling"
    rate = "" if row["tokens_per_second"] is None else f"{row['tokens_per_second']:,.0f} tokens/s"
    return Stack(
        row=row["config"],
        parts=(model, schedule, rest),
        said=", ".join(part for part in (share, rate) if part),
        tips=(row["tokens_per_second"], row["mean_tokens"], row["mean_batch_size"], row["steps"]),
    )
