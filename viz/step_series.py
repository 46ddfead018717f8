"""Series of scheduler steps: a config with the runs that are drawn of it, or each run by itself."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any

import click

from ..query.pasteable_sql import list_literal, text_literal
from ..query.resolve import check_values
from ..query.step_runs import StepRuns, choose_step_runs
from ..warehouse.console.declared import Option
from ..warehouse.console.numbers import counted
from ..warehouse.errors import NothingToShow
from .style.labels import distinguish, printable

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

StepConfigs = Annotated[Sequence[str], Option("Configs to draw.  [default: all that have steps]")]
AllRuns = Annotated[bool, Option("Draw all runs of a config together, not only the newest.")]
SplitBy = Annotated[
    str | None, Option("Draw each run by itself: all runs, unless --runs names some.", type=click.Choice(["run"]))
]


_TOLD = 3  # configs that a note names


@dataclass(frozen=True, slots=True)
class StepSeries:
    """The series of a chart, in order."""

    runs_of: Mapping[str, tuple[str, ...]]  # series -> its runs; none for a config without steps
    chosen: StepRuns
    split: bool = False  # whether each is one run
    captures: tuple[str, ...] = ()  # sentences on steps that are missing, and on times that span different things
    sampled_runs: frozenset[str] = frozenset()  # those whose captures left steps out, so that no total is known

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the series."""
        return tuple(self.runs_of)

    @property
    def runs(self) -> tuple[str, ...]:
        """The runs of all of them."""
        return tuple(run for runs in self.runs_of.values() for run in runs)

    def is_sampled(self, name: str) -> bool:
        """Return whether any run of a series is a capture that left steps out."""
        return not self.sampled_runs.isdisjoint(self.runs_of[name])

    def name_list(self) -> str:
        """Their names, as an SQL list."""
        return list_literal(self.names)

    def place(self) -> str:
        """SQL of the place in that list, from 1, of a step with its config and run_id."""
        return (
            f"list_position({list_literal(self.runs)}, run_id)"
            if self.split
            else f"list_position({self.name_list()}, config)"
        )

    def rows_of(self, macro: str, arguments: str = "") -> str:
        """The FROM clause: the rows of a macro for each series."""
        more = f", {arguments}" if arguments else ""
        if not self.split or not self.runs_of:
            return f"{macro}(runs := {list_literal(self.runs)}{more})"
        parts = (
            f"SELECT * REPLACE ({text_literal(name)} AS config) FROM {macro}(runs := {list_literal(runs)}{more})"
            for name, runs in self.runs_of.items()
        )
        return f"({' UNION ALL '.join(parts)})"

    def parameters(self) -> dict[str, Any]:
        """Those of the chart that chose them."""
        return {
            "configs": list(self.chosen.of_config),
            "runs": list(self.runs),
            "split_by": "run" if self.split else None,
        }

    def nothing(self) -> NothingToShow:
        """The error that none of them has any step."""
        configs = ", ".join(repr(printable(config)) for config in self.chosen.of_config) or "the store"
        return NothingToShow(f"no scheduler steps in {configs}. Load some with: bench ingest NAME:PATH")

    def facts(self) -> list[str]:
        """The subtitle's words on runs: that only the newest is drawn, or how many together."""
        if others := sum(self.chosen.others.values()):
            each = " of each config" if len(self.runs_of) > 1 else ""
            return [f"newest run{each}, {counted(others, 'other')} left out"]
        most = max(map(len, self.runs_of.values()), default=0)
        return [f"{counted(len(self.runs), 'run')} together"] if most > 1 else []

    def notes(self, *, together: bool = True) -> list[str]:
        """The options that show the other runs; `together` is whether the chart can draw them as one."""
        ways = f"{'--all-runs draws all of them together, ' if together else ''}--split-by run draws each by itself"
        left_out = {config: count for config, count in self.chosen.others.items() if count}
        names = [printable(config) for config in left_out]
        of = ", ".join(names) if len(names) <= _TOLD else f"{len(names)} configs"
        others = [f"{counted(sum(left_out.values()), 'other run')} of {of} left out. {ways}"] if left_out else []
        return [*others, *self.captures]


def choose_series(
    warehouse: "Warehouse",
    configs: Sequence[str] = (),
    runs: Sequence[str] = (),
    *,
    all_runs: bool = False,
    split_by: str | None = None,
    each_run: bool = False,
) -> StepSeries:
    """The series to draw: of each config, or of all that have steps, the newest run unless others are asked for.

    `each_run`: each run is a series of its own, whatever is asked for.

    Raises:
        UnknownName: No run answers to a name, or the warehouse holds no such config.
        NothingToShow: A run that is named has no steps.
    """
    check_values(warehouse, "(FROM runs)", "config", configs)
    chosen = choose_step_runs(warehouse, configs, runs, all_runs=all_runs or split_by is not None)
    recorded = warehouse.rows(
        "SELECT config, run_id, coalesce(time_span, 'model'), bool_or(is_sampled), sum(counters)"
        f" FROM _step_ranges WHERE list_contains({list_literal(chosen.runs)}, run_id) GROUP BY ALL ORDER BY ALL"
    )
    captures = tuple(_captures(warehouse, chosen.runs, recorded))
    sampled = frozenset(run for _, run, _, is_sampled, _ in recorded if is_sampled)
    if split_by is None and not each_run:
        return StepSeries(chosen.of_config, chosen, captures=captures, sampled_runs=sampled)
    listed = list_literal(chosen.runs)
    found = {
        run: {"day": day and str(day), "folder": path and PurePath(path).parent.name}
        for run, day, path in warehouse.rows(
            f"SELECT run_id, any_value(began_at)::DATE, min(path) FROM run_details LEFT JOIN source_files USING (run_id)"
            f" WHERE list_contains({listed}, run_id) GROUP BY run_id"
        )
    }
    rows = [
        {"config": config, "run_id": run, **found[run]} for config, runs in chosen.of_config.items() for run in runs
    ]
    names = distinguish(rows, ("config", "folder", "day", "run_id"), always="config")
    runs_of = {name: (row["run_id"],) for name, row in zip(names, rows, strict=True)}
    return StepSeries(runs_of, chosen, split=True, captures=captures, sampled_runs=sampled)


def _captures(warehouse: "Warehouse", runs: Sequence[str], recorded: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Notes on the record of these runs: captures that left steps out, lost passes, what the times span."""
    listed = list_literal(runs)
    if sampled := sorted({config for config, *_, is_sampled, _ in recorded if is_sampled}):
        yield f"{_some(sampled)}: a sampled capture, so totals are not known. Capture every step with DYN_FPM_MODE=full"
    if any(counters for *_, counters in recorded):
        captures = warehouse.rows(
            "SELECT config, coalesce(sum(lost), 0)::BIGINT, sum(repeated)::BIGINT"
            f" FROM step_captures WHERE list_contains({listed}, run_id) GROUP BY config ORDER BY config"
        )
        where = "FROM step_captures says of which worker"
        for config, lost, repeated in captures:
            if lost:
                yield f"{printable(config)}: {counted(lost, 'step', 'was', 'were')} lost: {where}"
            if repeated:
                yield (
                    f"{printable(config)}: {counted(repeated, 'step', 'has', 'have')} the counter of another, as in a second copy"
                    f" or after a restart: {where}"
                )
    spans: dict[str, dict[str, None]] = {}
    for config, _, span, *_ in recorded:
        spans.setdefault(span, {})[config] = None
    if len(spans) > 1:
        named = ", ".join(f"{span} of {_some([*configs])}" for span, configs in spans.items())
        yield f"times span different things ({named}): compare the shapes, not the heights"


def _some(configs: Sequence[str]) -> str:
    return ", ".join(map(printable, configs)) if len(configs) <= _TOLD else counted(len(configs), "config")
