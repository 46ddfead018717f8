"""`bench cost-model`: fit what a scheduler step costs; print it, or record it."""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import click

from ...warehouse import recorder
from ...warehouse.console.completion import complete
from ...warehouse.console.declared import Configs, Option, Positional, Runs, Surface
from ...warehouse.console.numbers import amount, counted, percent, percent_change
from ...warehouse.errors import BenchError, Exit, NothingToShow
from ...warehouse.store import Store
from ..question import Asker, PeopleTable, Question, Reply, command_of
from ..step_runs import StepRuns, choose_step_runs
from .model import CostModel, FittedParameter, as_json, fit_runs, runs_to_fit
from .phases import COST_PARAMETERS, PhaseModel, phase_model_of, read_phases, refused
from .residuals import RegionResidual, residuals_by_region

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

Fits = Sequence[CostModel] | Sequence[PhaseModel]
LINE = ("config", "tokens", "batch_size", "model_run_ms", "low_ms", "high_ms")
HELD = ("config", "against", "phase", "tokens", "steps", "outside", "median", "expected", "differs by")
SUITE = "step-cost"  # of the cases that `--record` makes, which the view step_cost_models reads
PHASE_SUITE = "step-phases"  # the same by phase, for step_phase_costs
LOWER_IS_BETTER = {"floor_ms", "per_token_us", "per_request_us", *COST_PARAMETERS}


def _limit(what: str) -> Option:
    help = f"Leave out steps whose {what} took this long or longer."
    return Option(help, on=Surface.PEOPLE, type=click.FloatRange(0), metavar="MS")


@dataclass(frozen=True, slots=True)
class FitCosts(Question["Fits"]):
    """Fit what a step of an LLM scheduler costs, by the tokens it schedules and the requests in it.

    A step of few tokens takes a minimum time, that of reading the weights; from some number of tokens on it is
    compute-bound, and each further token costs; so does each request. The fit is robust: hiccups do not count, so
    nothing needs filtering. What the steps cannot tell is left blank, with the reason. Ends with 4 if nothing could
    be told of any config.

    Each SIDE is fitted by itself: a config, a run, a file, a folder or another store, as `bench compare` takes them. Without
    one it is each config.

    `--by phase` fits prefill tokens, decoding requests and KV tokens separately, as far as the steps allow it.
    `--against` fits other steps by phase, such as those of yesterday's run, and says by phase and range of tokens how
    much longer the steps now take.

    json (or -o FILE.json) is one object with the formula, for simulators; the other formats are rows.

    \b
        bench cost-model A B
        bench cost-model A -o model.json
        bench cost-model --by phase
        bench cost-model A --against latest~1
        bench cost-model --record
    """

    name = "cost-model"
    views: ClassVar = {option: f"cost-model {option}".strip() for option in ("", "--line", "--by phase", "--against")}
    fitted = False

    sides: Annotated[Sequence[str], Positional("Sides to fit.", metavar="[SIDE]...", shell_complete=complete)] = ()
    _: KW_ONLY
    configs: Configs = ()
    runs: Runs = ()
    all_runs: Annotated[bool, Option("Fit all runs of a config together, not only the newest.", on=Surface.PEOPLE)] = (
        False
    )
    trim: Annotated[
        int, Option("First and last lines of a file to leave out.", on=Surface.PEOPLE, type=click.IntRange(0))
    ] = 10
    max_schedule_ms: Annotated[float, _limit("scheduling")] = math.inf
    max_model_run_ms: Annotated[float, _limit("model run")] = math.inf
    by: Annotated[
        str | None,
        Option(
            "Fit prefill tokens, decoding requests and KV tokens apart, in a straight line.", on=Surface.PEOPLE,
            type=click.Choice(["phase"]),
        ),
    ] = None  # fmt: skip
    against: Annotated[
        str | None,
        Option(
            "Fit this side by phase, and say how the other steps differ from it, by phase and range of tokens.",
            on=Surface.PEOPLE, metavar="SIDE",
        ),
    ] = None  # fmt: skip
    line: Annotated[
        bool, Option("Write the fitted curve as rows to draw, rather than its parameters.", on=Surface.COMMAND)
    ] = False
    record: Annotated[
        bool, Option("Keep the models in the store, as a run of its own, for step_cost_models.", on=Surface.COMMAND)
    ] = False

    def __post_init__(self) -> None:
        if self.line and (self.by or self.against):
            raise BenchError("--line draws the curve over all tokens; leave out --by and --against")
        if self.record and self.against:
            raise BenchError("--against has nothing to record; record the fits with --by phase --record")
        if self.record and self.sides:
            raise BenchError("--record keeps the models of configs: name them with --configs")
        if self.runs and self.sides:
            raise BenchError("--runs chooses among configs: leave it out, the sides name the runs")

    def places(self) -> Sequence[str]:
        """The sides and what stands beside them; without a side the store itself is asked, for all its configs."""
        beside = [] if self.against is None else [self.against]
        return (*self.sides, *self.configs, *beside) if self.sides else ()

    def answer(self, warehouse: "Warehouse", asker: Asker) -> "Reply[Fits]":
        """The models, the curve of each, or how steps differ from one."""
        limits = {
            "trim": self.trim, "max_schedule_ms": self.max_schedule_ms, "max_model_run_ms": self.max_model_run_ms,
        }  # fmt: skip
        if self.against is not None:
            return self._held_against(warehouse, self.against, limits, asker)
        chosen = runs_to_fit(warehouse, self.configs, self.runs, sides=self.sides, all_runs=self.all_runs)
        fits: Fits
        told: Sequence[str]
        if self.by is not None:
            fits = phases = [
                phase_model_of(name, read_phases(warehouse, own, **limits)) for name, own in chosen.of_config.items()
            ]
            table, said, suite, told = (
                PeopleTable(*_by_phase(phases)),
                [*map(_said, phases)],
                PHASE_SUITE,
                COST_PARAMETERS,
            )
            documents = {}
        else:
            fits = models = fit_runs(warehouse, chosen.of_config, **limits)  # type: ignore[arg-type]
            table, said = PeopleTable(*_render(models)), [*_accounts(warehouse, models, chosen, limits)]
            suite, told, documents = SUITE, ("floor_ms", "per_token_us"), {"json": lambda _: as_json(models)}
        rows = [model.row() for model in fits]
        if self.line:
            points = [(fit.config, *point) for fit in fits if isinstance(fit, CostModel) for point in fit.line()]
            rows = [dict[str, Any](zip(LINE, point, strict=True)) for point in points]
            table, documents = PeopleTable(LINE, points), {}

        def sentences() -> Iterator[str]:
            yield from said
            if self.record:
                run = _record(fits, warehouse.store, limits, suite)
                yield f"recorded as run {run}: FROM {'step_phase_costs' if self.by else 'step_cost_models'}"

        known = any(getattr(model, name) for model in fits for name in told)
        return Reply(
            result=fits,
            columns=lambda: LINE if self.line else [*rows[0]],
            rows=rows,
            table=lambda: table,
            sentences=sentences,
            says_always=True,
            documents=documents,
            exit_code=Exit.OK if known else Exit.TOO_LITTLE,
        )

    def _held_against(
        self, warehouse: "Warehouse", against: str, limits: Mapping[str, float], asker: Asker
    ) -> "Reply[Fits]":
        """Fit `against` by phase, and reply how the steps of the chosen configs differ from it."""
        chosen = runs_to_fit(warehouse, self.configs, self.runs, sides=self.sides, all_runs=self.all_runs).of_config
        ((against, reference),) = choose_step_runs(warehouse, sides=[against]).of_config.items()
        model = phase_model_of(against, read_phases(warehouse, reference, **limits))
        found: list[RegionResidual] = []
        for config, own in chosen.items() if model.curve is not None else ():
            steps = read_phases(warehouse, own, **limits)
            refusal = refused(steps)
            if refusal is not None and refusal[0] != "too-few-steps":
                asker.notify(f"{config}: {refusal[1]}")
            elif steps.time_spans != model.time_spans:
                own_span, other_span = (", ".join(sorted(each)) for each in (steps.time_spans, model.time_spans))
                asker.notify(f"{config}: its times span {own_span}, those of {against} {other_span}")
            elif model.uses_kv and not steps.has_kv:
                asker.notify(f"{config}: its KV tokens are not recorded, and the fit of {against} needs them")
            else:
                found += residuals_by_region(config, steps, against, model)
                if set(own) & set(reference):
                    asker.notify(
                        f"{config}: its own steps are in the fit, so this is how well a straight line describes them"
                    )
        nothing = NothingToShow(f"{against} cannot be fitted: {model.reason}") if model.curve is None else None
        if nothing is not None:
            nothing.exit_code = Exit.TOO_LITTLE
        cells = [
            [
                row.config, row.against, row.phase, "all" if row.low_tokens is None else f"{row.low_tokens}–{row.high_tokens}",
                row.steps, row.outside, amount(row.median_ms * 1e6, "ns"), amount(row.expected_ms * 1e6, "ns"),
                _format_residual(row),
            ]
            for row in found
        ]  # fmt: skip
        return Reply(
            result=[model],
            columns=lambda: [field.name for field in dataclasses.fields(RegionResidual)],
            rows=[dataclasses.asdict(row) for row in found],
            table=lambda: PeopleTable(HELD, cells),
            sentences=lambda: [
                f"{against}: fitted to {counted(model.steps, 'step')}, residuals ±{percent(model.spread or 0)}"
                + (f"; {model.reason}" if model.reason else "")
            ],
            says_always=True,
            nothing=nothing,
            exit_code=Exit.OK if found else Exit.TOO_LITTLE,
        )


cost_model = command_of(FitCosts)


def _by_phase(models: Sequence[PhaseModel]) -> tuple[list[str], list[list[Any]]]:
    """A table for people, each estimate with its interval."""
    columns = [
        "config", "steps", "floor", "per prefill token", "per decoding request", "per KV token", "R²",
        "residuals", "status",
    ]  # fmt: skip
    return columns, [
        [
            model.config, model.steps,
            *(format_estimate(getattr(model, name), "ms" if name.endswith("_ms") else "µs") for name in COST_PARAMETERS),
            *_quality(model),
        ]
        for model in models
    ]  # fmt: skip


def _said(model: PhaseModel) -> str:
    outliers = f"{model.config}: {counted(model.steps, 'step')}, {model.outliers} of them outliers"
    return f"{outliers}; {model.reason}" if model.reason else outliers


def _format_residual(row: RegionResidual) -> str:
    """`+3.1 % (95 % +2.8 to +3.4)`; without an interval where the steps are too few for one."""
    told = percent_change(row.residual, row.low, row.high) or ""
    return f"{told} (too few steps for an interval)" if row.low is None or row.high is None else told


def _render(models: Sequence[CostModel]) -> tuple[list[str], list[list[Any]]]:
    """A table for people, each estimate with its interval."""
    columns = [
        "config", "steps", "floor", "per token", "compute-bound from", "per request", "R²", "residuals", "status",
    ]  # fmt: skip
    rows = [
        [
            model.config, model.steps, format_estimate(model.floor_ms, "ms"), format_estimate(model.per_token_us, "µs"),
            format_estimate(model.knee_tokens, "tokens"), format_estimate(model.per_request_us, "µs"), *_quality(model),
        ]
        for model in models
    ]  # fmt: skip
    return columns, rows


def _quality(model: CostModel | PhaseModel) -> tuple[str | None, str | None, str]:
    """The quality of a fit: R², the spread of the residuals and the status."""
    return (
        None if model.r2 is None else f"{model.r2:.4f}",
        None if model.spread is None else f"±{percent(model.spread)}",
        model.status,
    )


def format_estimate(estimate: FittedParameter | None, unit: str) -> str | None:
    """An estimate with its interval, to two digits of the interval's width: `7.37 ms (95 % 7.34–7.41)`."""
    if estimate is None:
        return None
    half = (estimate.high - estimate.low) / 2
    places = min(max(0, 1 - math.floor(math.log10(half))), 9) if half > 0 else 3
    return f"{estimate.value:.{places}f} {unit} (95 % {estimate.low:.{places}f}–{estimate.high:.{places}f})"


def _accounts(
    warehouse: "Warehouse", models: Sequence[CostModel], chosen: StepRuns, limits: Mapping[str, float]
) -> Iterator[str]:
    """A sentence for each config: how many lines were used, and which parameters could not be estimated."""
    query = """
        SELECT read, trimmed, rejected, heartbeats, filtered, kept
        FROM runtime_vs_tokens_counts(runs := ?, "trim" := ?, max_schedule_ms := ?, max_model_run_ms := ?)
    """
    for model in models:
        runs, others = chosen.of_config[model.config], chosen.others[model.config]
        ((read, trimmed, rejected, heartbeats, filtered, kept),) = warehouse.rows(query, [[*runs], *limits.values()])
        yield (
            f"{model.config}: {read} lines read, {trimmed} trimmed, {rejected} rejected, "
            + (f"{counted(heartbeats, 'heartbeat')}, " if heartbeats else "")
            + f"{filtered} filtered, {kept - model.steps} incomplete, {model.steps} steps, {model.outliers} of them outliers"
            + (f"; {model.reason}" if model.reason else "")
            + (f"; {counted(others, 'other run')} left out: --all-runs fits all of them" if others else "")
        )


def _record(models: Fits, store: Store, limits: Mapping[str, float], suite: str) -> str:
    """Record every number of the models as a metric of a case named after the config; returns the run's id."""
    parameters = {name: value for name, value in limits.items() if value < math.inf}
    with recorder.run("cost-model", suite=suite, store=store, source="cost-model") as run:
        for model in models:
            case = run.case(model.config, suite=suite, parameters=parameters)
            for name, value in model.row().items():
                if name not in ("config", "status", "reason"):
                    stem, unit, factor = _stored(name)
                    better = "lower" if name in LOWER_IS_BETTER else None
                    case.metric(stem, None if value is None else value * factor, unit=unit, better=better)
            reason = model.reason and f"{model.status}: {model.reason}"
            case.outcome("skipped" if model.curve is None else "ok", reason=reason)
    return run.run_id


def _stored(column: str) -> tuple[str, str, float]:
    """The metric name, unit and factor by which a column is recorded; durations are recorded in ns."""
    for ending, factor in (("_ms", 1e6), ("_us", 1e3)):
        if column.endswith(ending):
            return column.removesuffix(ending), "ns", factor
    counted = column.endswith(("steps", "outliers", "tokens", "requests", "batch_size"))
    return column, "count" if counted else "ratio", 1
