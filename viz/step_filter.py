"""Scheduler steps: which of them a chart draws, and how many were left out for which reason."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import click

from ..query.pasteable_sql import list_literal, number_literal
from ..warehouse.console.declared import Option
from ..warehouse.console.numbers import counted
from ..warehouse.errors import NothingToShow
from .step_series import StepSeries
from .style.labels import printable

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

Counts = dict[str, dict[str, int]]  # by series: how many of its lines were read, trimmed, rejected, filtered …


TRIM, MAX_SCHEDULE_MS, MAX_MODEL_RUN_MS = 10, 300, 200  # unless the user says otherwise
Trim = Annotated[
    int, Option("Lines to leave out at the start and at the end of each file.", type=click.IntRange(0), metavar="LINES")
]
MaxScheduleMs = Annotated[
    float, Option("Leave out steps whose scheduling took this long or longer.", type=click.FloatRange(0), metavar="MS")
]
MaxModelRunMs = Annotated[
    float, Option("Leave out steps whose model run took this long or longer.", type=click.FloatRange(0), metavar="MS")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFilter:
    """The scheduler steps that a chart draws: of which series, within which limits."""

    series: StepSeries
    trim: int
    max_schedule_ms: float
    max_model_run_ms: float

    def rows_of(self, macro: str, arguments: str = "") -> str:
        """The FROM clause: the rows of a macro for each series."""
        return self.series.rows_of(macro, f"{arguments}, {self._limits()}" if arguments else self._limits())

    def steps(self) -> str:
        """The FROM clause of all kept steps."""
        return f"runtime_vs_tokens(runs := {list_literal(self.series.runs)}, {self._limits()})"

    def _limits(self) -> str:
        return (
            f'"trim" := {self.trim:d}, max_schedule_ms := {number_literal(self.max_schedule_ms)},'
            f" max_model_run_ms := {number_literal(self.max_model_run_ms)}"
        )

    def parameters(self) -> dict[str, Any]:
        """The parameters as strict JSON, which has no infinity."""
        limits = {"trim": self.trim, "max_schedule_ms": self.max_schedule_ms, "max_model_run_ms": self.max_model_run_ms}
        strict = {key: str(value) if value == float("inf") else value for key, value in limits.items()}
        return {**self.series.parameters(), **strict}


def count_lines(warehouse: "Warehouse", steps: StepFilter) -> tuple[Counts, int, int]:
    """Count the lines of each series; `drawn` and `incomplete` are still 0, and `heartbeats` are there where a series has some.

    read = trimmed + rejected + heartbeats + filtered + kept

    Returns:
        The counts; how many of all those filtered `max_model_run_ms` leaves out; and the most tokens of a step that is kept.
    """
    rows = warehouse.rows(
        "SELECT config, read, trimmed, rejected, heartbeats, filtered, kept, slow, most_tokens"
        f" FROM {steps.rows_of('runtime_vs_tokens_counts')}"
    )
    found = {config: numbers for config, *numbers in rows}
    counts, all_slow, end = {}, 0, 0
    any_idle = any(numbers[3] for numbers in found.values())
    for config in steps.series.names:
        read, trimmed, rejected, heartbeats, filtered, kept, slow, most_tokens = (
            int(n or 0) for n in found.get(config, (0,) * 8)
        )
        all_slow += slow
        end = max(end, most_tokens)
        counts[config] = {
            "read": read, "trimmed": trimmed, "rejected": rejected, **({"heartbeats": heartbeats} if any_idle else {}),
            "filtered": filtered, "incomplete": 0, "kept": kept, "drawn": 0,
        }  # fmt: skip
    return counts, all_slow, end


def left_out(steps: StepFilter, counts: Counts, slow: int) -> list[str]:
    """The subtitle's words on lines that are not drawn: how many were read and left out, by reason."""
    total = {key: sum(count[key] for count in counts.values()) for key in next(iter(counts.values()))}
    reasons = [
        (total["trimmed"], "trimmed"),
        (slow, f"over the limit of {steps.max_model_run_ms:g} ms"),
        (total["filtered"] - slow, f"over {steps.max_schedule_ms:g} ms to schedule"),
        (total["rejected"], "rejected"),
        (total.get("heartbeats", 0), "heartbeats"),
        (total["incomplete"], "without tokens or time"),
    ]
    facts = [f"{count:,} {reason}" for count, reason in reasons if count]
    return [f"{counted(total['read'], 'line')} read", *facts] if facts else []


def nothing_left(steps: StepFilter, counts: Counts) -> NothingToShow:
    """The error that says why no step is left, and what to change."""
    total = {key: sum(c[key] for c in counts.values()) for key in ("read", "trimmed", "rejected", "filtered", "kept")}
    configs = ", ".join(repr(printable(config)) for config in steps.series.names)
    if not total["read"]:
        return steps.series.nothing()
    lines = f"nothing to draw of {counted(total['read'], 'line')} in {configs}:"
    if total["trimmed"] == total["read"]:
        return NothingToShow(f"{lines} all lie within the first or last {steps.trim} of their file. Try --trim 0")
    if total["kept"]:
        return NothingToShow(f"{lines} {total['kept']:,} steps lack their tokens or their model run time.")
    if total["filtered"]:
        return NothingToShow(
            f"{lines} {total['filtered']:,} steps took {steps.max_schedule_ms:g} ms or longer to schedule, or"
            f" {steps.max_model_run_ms:g} ms or longer to run. Try a higher --max-schedule-ms or --max-model-run-ms"
        )
    if not total["rejected"]:
        return NothingToShow(f"{lines} the engine was idle in all that are not trimmed. Try --trim 0")
    return NothingToShow(f"{lines} {total['rejected']:,} could not be read. See them with: bench list rejects")


def token_budget(warehouse: "Warehouse", steps: StepFilter) -> int | None:
    """Most tokens a step may schedule, where the writer says."""
    runs = list_literal(steps.series.runs)
    ((most,),) = warehouse.rows(f"SELECT max(token_budget) FROM _step_ranges WHERE list_contains({runs}, run_id)")
    return int(most) if most else None
