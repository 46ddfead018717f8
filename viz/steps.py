"""Scheduler steps: which of them a chart is about, and what became of the rest."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from ..warehouse.errors import NothingToShow, UnknownName
from ..warehouse.options import Values
from .data import number, texts
from .labels import printable

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

Counts = dict[str, dict[str, int]]  # by config, what became of its lines


def step_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say which steps."""
    for option in reversed(
        (
            click.option("--configs", cls=Values, help="Configs to draw.  [default: all that have steps]"),
            click.option(
                "--trim", type=click.IntRange(0), default=10, show_default=True, metavar="LINES",
                help="Lines to leave out at the start and at the end of each file.",
            ),
            click.option(
                "--max-schedule-ms", type=click.FloatRange(0), default=300, show_default=True, metavar="MS",
                help="Leave out steps whose scheduling took this long or longer.",
            ),
            click.option(
                "--max-model-run-ms", type=click.FloatRange(0), default=200, show_default=True, metavar="MS",
                help="Leave out steps whose model run took this long or longer.",
            ),
        )
    ):  # fmt: skip
        command = option(command)
    return command


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of the warehouse: FEATURES A3 and A5."""

    configs: tuple[str, ...]
    trim: int
    max_schedule_ms: float
    max_model_run_ms: float

    def list(self) -> str:
        """The configs, as an SQL list."""
        return texts(self.configs)

    def arguments(self) -> str:
        """The macros' arguments, as SQL."""
        return (
            f'configs := {self.list()}, "trim" := {self.trim:d},'
            f" max_schedule_ms := {number(self.max_schedule_ms)}, max_model_run_ms := {number(self.max_model_run_ms)}"
        )

    def parameters(self) -> dict[str, Any]:
        """The same as strict JSON, which has no infinity."""
        return {key: str(value) if value == float("inf") else value for key, value in asdict(self).items()}


def question(
    warehouse: "Warehouse",
    configs: Sequence[str] | None,
    *,
    trim: int = 10,
    max_schedule_ms: float = 300,
    max_model_run_ms: float = 200,
) -> Question:
    """The question; without configs about all that have scheduler steps, or files that should have had some."""
    if not configs:
        configs = [
            str(config) for (config,) in warehouse.rows("SELECT config FROM runtime_vs_tokens_counts() ORDER BY 1")
        ]
    return Question(
        configs=tuple(dict.fromkeys(configs)),
        trim=trim,
        max_schedule_ms=float(max_schedule_ms),
        max_model_run_ms=float(max_model_run_ms),
    )


def counts(warehouse: "Warehouse", asked: Question) -> Counts:
    """By config, what became of its lines: read = trimmed + rejected + filtered + kept; `drawn` and `incomplete` are 0 yet.

    Raises:
        UnknownName: The warehouse holds no such config.
        NothingToShow: The warehouse holds none at all.
    """
    rows = warehouse.rows(
        f"SELECT config, read, trimmed, rejected, filtered, kept FROM runtime_vs_tokens_counts({asked.arguments()})"
    )
    found = {row[0]: row[1:] for row in rows}
    if missing := [config for config in asked.configs if config not in found]:
        names = [str(config) for (config,) in warehouse.rows("SELECT DISTINCT config FROM runs ORDER BY config")]
        if not names:
            raise NothingToShow("the store holds no runs. Load some with: bench ingest NAME:PATH")
        for config in missing:
            if config not in names:
                raise UnknownName("config", printable(config), names, cure="List them with: bench configs")
    became = {}
    for config in asked.configs:
        read, trimmed, rejected, filtered, kept = (int(n or 0) for n in found.get(config, (0,) * 5))
        became[config] = {
            "read": read, "trimmed": trimmed, "rejected": rejected, "filtered": filtered,
            "incomplete": 0, "kept": kept, "drawn": 0,
        }  # fmt: skip
    return became


def nothing(asked: Question, became: Counts) -> NothingToShow:
    """Why nothing is left, and what to change."""
    total = {key: sum(c[key] for c in became.values()) for key in ("read", "trimmed", "rejected", "filtered", "kept")}
    configs = ", ".join(repr(printable(config)) for config in asked.configs) or "the store"
    if not total["read"]:
        return NothingToShow(f"no scheduler steps in {configs}. Load some with: bench ingest NAME:PATH")
    lines = f"nothing to draw of {total['read']:,} lines in {configs}:"
    if total["trimmed"] == total["read"]:
        return NothingToShow(f"{lines} all lie within the first or last {asked.trim} of their file. Try --trim 0")
    if total["kept"]:
        return NothingToShow(f"{lines} {total['kept']:,} steps lack their tokens or their model run time.")
    if total["filtered"]:
        return NothingToShow(
            f"{lines} {total['filtered']:,} steps took {asked.max_schedule_ms:g} ms or longer to schedule, or"
            f" {asked.max_model_run_ms:g} ms or longer to run. Try a higher --max-schedule-ms or --max-model-run-ms"
        )
    return NothingToShow(f"{lines} {total['rejected']:,} could not be read. See them with: bench rejects")


def budget(warehouse: "Warehouse", asked: Question) -> int | None:
    """Most tokens a step may schedule, where the writer says."""
    runs = f"SELECT run_id FROM runs WHERE list_contains({asked.list()}, config)"
    ((most,),) = warehouse.rows(f"SELECT max(token_budget) FROM schedule_chunks WHERE run_id IN ({runs})")
    return int(most) if most else None
