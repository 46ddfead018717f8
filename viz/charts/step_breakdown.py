"""Step breakdown: where the time of a scheduler step goes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...warehouse.console.declared import Configs, Runs
from ...warehouse.console.numbers import amount, counted, percent
from ...warehouse.errors import NothingToShow
from ..chart import Chart, chart
from ..data import Row, in_order, read_rows, select
from ..marks.stacked_bars import Stack, Stacks
from ..step_series import AllRuns, SplitBy, choose_series
from ..style.labels import common_values
from ..style.units import choose_unit

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

TITLE = "Where the time of a scheduler step goes"
ROUNDING = 1e-9  # of a step: less is no time that anything took
PARTS = ("model run", "scheduling", "anything else")


@chart
def draw(
    warehouse: "Warehouse",
    *,
    configs: Configs = (),
    runs: Runs = (),
    all_runs: AllRuns = False,
    split_by: SplitBy = None,
) -> Chart:
    """Mean time of a scheduler step, split into the model's run, scheduling and the rest.

    Taken over all steps of the newest run of each config; nothing is trimmed or filtered.

    \b
        bench viz step-breakdown
        bench viz step-breakdown --configs A B -o steps.png
    \f
    Raises:
        UnknownName: No such config has steps, or there is no such run.
        NothingToShow: There are no steps, or none has a time.
    """
    series = choose_series(warehouse, configs, runs, all_runs=all_runs, split_by=split_by)
    sql = select(
        "config, steps, mean_schedule_ms, mean_model_run_ms, mean_step_ms, schedule_share, tokens_per_second,"
        " mean_tokens, mean_batch_size, prefill_share, mean_waiting, mean_running, mean_kv_cache_usage, mean_budget_use",
        series.rows_of("step_breakdown"),
        order=in_order("config", series.names),
    )
    rows = read_rows(warehouse, sql)
    if not rows:
        raise series.nothing()
    timed = [row for row in rows if row["mean_model_run_ms"] is not None or row["mean_schedule_ms"] is not None]
    if not timed:
        raise NothingToShow(
            'no scheduler step says how long it took. See them with: bench sql "FROM schedule_chunks LIMIT 5"'
        )
    stacks = [_stack(row) for row in timed]
    has_rest = any(stack.parts[-1] for stack in stacks)
    unit = choose_unit((sum(part or 0 for part in stack.parts) for stack in stacks), "ms")
    form = Stacks(
        stacks=stacks if has_rest else [replace(stack, parts=stack.parts[:-1]) for stack in stacks],
        parts=PARTS if has_rest else PARTS[:-1],
        title=unit.title("mean time of a step"),
        unit=unit,
        tips=(
            ("tokens per second", ",.0f"),
            ("tokens per step", ",.0f"),
            ("requests per step", ",.1f"),
            ("steps", ",d"),
        ),
    )
    steps = counted(sum(row["steps"] for row in timed), "step")
    silent = len(rows) - len(timed)
    return Chart(
        title=TITLE,
        finding=_finding(stacks),
        facts=[*common_values(rows, ("config",)), *series.facts(), f"means over {steps}"],
        form=form,
        sql=sql,
        rows=rows,
        parameters=series.parameters(),
        counts=[{"config": row["config"], "steps": row["steps"]} for row in rows],
        notes=[*series.notes(), *([f"{counted(silent, 'config')} without any time left out"] if silent else [])],
    )


def _finding(stacks: Sequence[Stack]) -> str | None:
    """The part that takes most of a step, of one config or of all; they must have timed both."""
    if any(None in stack.parts[:2] for stack in stacks):
        return None
    times = [[part or 0.0 for part in stack.parts] for stack in stacks]
    largest = {parts.index(max(parts[:2])) for parts in times}
    if len(largest) != 1 or not all(map(sum, times)):
        return None
    (place,) = largest
    shares = sorted(parts[place] / sum(parts) for parts in times)
    if shares[0] < 0.5:
        return None
    called = ("the model run", PARTS[1])[place]
    if len(stacks) == 1:
        return f"{percent(shares[0], 1)} of a step of {amount(sum(times[0]) * 1e6, 'ns')} is {called}"
    low, high = percent(shares[0], 1), percent(shares[-1], 1)
    share = low if low == high else f"{low.removesuffix(' %')}–{high}"
    return f"{share} of a step is {called}, in {'both' if len(stacks) == 2 else f'all {len(stacks)}'} configs"


def _stack(row: Row) -> Stack:
    schedule, model, whole = row["mean_schedule_ms"], row["mean_model_run_ms"], row["mean_step_ms"]
    rest = None
    if whole is not None:
        rest = whole - (schedule or 0) - (model or 0)
        rest = 0.0 if rest < ROUNDING * whole else rest
    share = "" if row["schedule_share"] is None else f"{percent(row['schedule_share'], 1)} scheduling"
    rate = "" if row["tokens_per_second"] is None else f"{row['tokens_per_second']:,.0f} tokens/s"
    return Stack(
        row=row["config"],
        parts=(model, schedule, rest),
        text=", ".join(part for part in (share, rate) if part),
        tips=(row["tokens_per_second"], row["mean_tokens"], row["mean_batch_size"], row["steps"]),
    )
