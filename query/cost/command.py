"""`bench cost-model`: fit what a scheduler step costs; print it, or record it."""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...warehouse import recorder
from ...warehouse.console.numbers import counted
from ...warehouse.console.options import Command, format_option, notify, store_option
from ...warehouse.console.tables import write_dicts, write_rows, write_text
from ...warehouse.errors import Exit
from ...warehouse.store import Store
from ..command import configs_option, runs_option
from ..question import output_option
from ..resolve import check_values
from ..step_runs import STEPPED, StepRuns, choose_step_runs
from .model import CostModel, FittedParameter, as_json, fit
from .phases import PARAMETERS, PhaseModel, fit_phases, phase_model_of, read_phases, refused
from .residuals import RegionResidual, residuals_by_region

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

SUITE = "step-cost"  # of the cases that `--record` makes, which the view step_cost_models reads
PHASE_SUITE = "step-phases"  # the same by phase, for step_phase_costs
LOWER_IS_BETTER = {"floor_ms", "per_token_us", "per_request_us", *PARAMETERS}


def _limit(flag: str, what: str) -> Callable[[Any], Any]:
    text = f"Leave out steps whose {what} took this long or longer."
    return click.option(flag, type=click.FloatRange(0), default=math.inf, show_default=True, metavar="MS", help=text)


@click.command(cls=Command, name="cost-model")
@configs_option
@runs_option
@click.option("--all-runs", is_flag=True, help="Fit all runs of a config together, not only the newest.")
@click.option(
    "--trim", type=click.IntRange(0), default=10, show_default=True, help="First and last lines of a file to leave out."
)
@_limit("--max-schedule-ms", "scheduling")
@_limit("--max-model-run-ms", "model run")
@click.option(
    "--by",
    type=click.Choice(["phase"]),
    help="Fit prefill tokens, decoding requests and KV tokens apart, in a straight line.",
)
@click.option(
    "--against",
    metavar="CONFIG|RUN",
    help="Fit this config or run by phase, and say how the other steps differ from it, by phase and range of tokens.",
)
@click.option("--line", is_flag=True, help="Write the fitted curve as rows to draw, rather than its parameters.")
@click.option("--record", is_flag=True, help="Keep the models in the store, as a run of its own, for step_cost_models.")
@format_option
@output_option
@store_option
def cost_model(
    configs: Sequence[str], runs: Sequence[str], all_runs: bool, trim: int, max_schedule_ms: float, max_model_run_ms: float,
    by: str | None, against: str | None, line: bool, record: bool, fmt: str, output: Path | None, store: Store,
) -> int:  # fmt: skip
    """Fit what a step of an LLM scheduler costs, by the tokens it schedules and the requests in it.

    A step of few tokens takes a minimum time, that of reading the weights; from some number of tokens on it is
    compute-bound, and each further token costs; so does each request. The fit is robust: hiccups do not count, so
    nothing needs filtering. What the steps cannot tell is left blank, with the reason. Ends with 4 if nothing could
    be told of any config.

    `--by phase` fits prefill tokens, decoding requests and KV tokens separately, as far as the steps allow it.
    `--against` fits other steps by phase, such as those of yesterday's run, and says by phase and range of tokens how
    much longer the steps now take.

    json (or -o FILE.json) is one object with the formula, for simulators; the other formats are rows.

    \b
        bench cost-model --configs A B
        bench cost-model --configs A -o model.json
        bench cost-model --by phase
        bench cost-model --configs A --against latest~1
        bench cost-model --record
    """
    from ...warehouse.database import Warehouse

    if line and (by or against):
        raise click.UsageError("--line draws the curve over all tokens; leave out --by and --against")
    if record and against:
        raise click.UsageError("--against has nothing to record; record the fits with --by phase --record")
    limits = {"trim": trim, "max_schedule_ms": max_schedule_ms, "max_model_run_ms": max_model_run_ms}
    if output is not None and output.suffix == ".json" and fmt == "table":
        fmt = "json"
    with Warehouse.open(store) as warehouse:
        if against is not None:
            return _hold_against(warehouse, against, configs, runs, all_runs, limits, fmt, output)
        if by is not None:
            phases = fit_phases(warehouse, configs=configs, runs=runs, all_runs=all_runs, limits=limits)
            return _show_phases(phases, store if record else None, limits, fmt, output)
        models = fit(warehouse, configs=configs, runs=runs, all_runs=all_runs, **limits)  # type: ignore[arg-type]
        chosen = choose_step_runs(warehouse, configs, runs, all_runs=all_runs)
        accounts = list(_accounts(warehouse, models, chosen, limits))
    if line:
        rows = [(model.config, *row) for model in models for row in model.line()]
        write_rows(["config", "tokens", "batch_size", "model_run_ms", "low_ms", "high_ms"], rows, fmt, output)
    elif fmt == "json":
        write_text(as_json(models), output)
    elif fmt in ("table", "markdown"):
        write_rows(*_render(models), fmt, output)
    else:
        write_dicts([model.row() for model in models], fmt, output)
    for account in accounts:
        notify(account)
    if record:
        notify(f"recorded as run {_record(models, store, limits, SUITE)}: FROM step_cost_models")
    return Exit.OK if any(model.floor_ms or model.per_token_us for model in models) else Exit.TOO_LITTLE


def _show_phases(
    models: Sequence[PhaseModel], store: Store | None, limits: Mapping[str, float], fmt: str, output: Path | None
) -> int:
    """Print fits by phase, and record them if a store is given."""
    if fmt in ("table", "markdown"):
        columns = [
            "config", "steps", "floor", "per prefill token", "per decoding request", "per KV token", "R²",
            "residuals", "status",
        ]  # fmt: skip
        rows = [
            [
                model.config, model.steps,
                *(format_estimate(getattr(model, name), "ms" if name.endswith("_ms") else "µs") for name in PARAMETERS),
                *_quality(model),
            ]
            for model in models
        ]  # fmt: skip
        write_rows(columns, rows, fmt, output)
    else:
        write_dicts([model.row() for model in models], fmt, output)
    for model in models:
        notify(
            f"{model.config}: {counted(model.steps, 'step')}, {model.outliers} of them outliers"
            + (f"; {model.reason}" if model.reason else "")
        )
    if store is not None:
        notify(f"recorded as run {_record(models, store, limits, PHASE_SUITE)}: FROM step_phase_costs")
    told = any(getattr(model, name) for model in models for name in PARAMETERS)
    return Exit.OK if told else Exit.TOO_LITTLE


def _hold_against(
    warehouse: "Warehouse", against: str, configs: Sequence[str], runs: Sequence[str], all_runs: bool,
    limits: Mapping[str, float], fmt: str, output: Path | None,
) -> int:  # fmt: skip
    """Fit `against` by phase, and print how the steps of the chosen configs differ from it."""
    check_values(warehouse, STEPPED, "config", configs)
    names = {config for (config,) in warehouse.rows(f"SELECT DISTINCT config FROM {STEPPED}")}
    is_config = against in names
    reference = choose_step_runs(warehouse, [against] if is_config else [], [] if is_config else [against]).runs
    fitted = read_phases(warehouse, reference, **limits)
    model = phase_model_of(against, fitted)
    if model.curve is None:
        notify(f"{against} cannot be fitted: {model.reason}")
        return Exit.TOO_LITTLE
    found: list[RegionResidual] = []
    chosen = choose_step_runs(warehouse, sorted(configs), runs, all_runs=all_runs).of_config
    for config, own in chosen.items():
        steps = read_phases(warehouse, own, **limits)
        refusal = refused(steps)
        if refusal is not None and refusal[0] != "too-few-steps":
            notify(f"{config}: {refusal[1]}")
        elif steps.time_spans != model.time_spans:
            own_span, other_span = (", ".join(sorted(each)) for each in (steps.time_spans, model.time_spans))
            notify(f"{config}: its times span {own_span}, those of {against} {other_span}")
        elif model.uses_kv and not steps.has_kv:
            notify(f"{config}: its KV tokens are not recorded, and the fit of {against} needs them")
        else:
            found += residuals_by_region(config, steps, against, model)
            if set(own) & set(reference):
                notify(f"{config}: its own steps are in the fit, so this is how well a straight line describes them")
    fields = [field.name for field in dataclasses.fields(RegionResidual)]
    if fmt in ("table", "markdown"):
        write_rows(["config", "against", "phase", "tokens", "steps", "outside", "median", "expected", "differs by"], [
            [
                row.config, row.against, row.phase, "all" if row.low_tokens is None else f"{row.low_tokens}–{row.high_tokens}",
                row.steps, row.outside, f"{row.median_ms:.3f} ms", f"{row.expected_ms:.3f} ms", _format_residual(row),
            ]
            for row in found
        ], fmt, output)  # fmt: skip
    else:
        write_rows(fields, [[getattr(row, name) for name in fields] for row in found], fmt, output)
    notify(
        f"{against}: fitted to {counted(model.steps, 'step')}, residuals ±{100 * (model.spread or 0):.2g} %"
        + (f"; {model.reason}" if model.reason else "")
    )
    return Exit.OK if found else Exit.TOO_LITTLE


def _format_residual(row: RegionResidual) -> str:
    """`+3.1 % (95 % +2.8 – +3.4)`; without an interval where the steps are too few for one."""
    if row.low is None or row.high is None:
        return f"{100 * row.residual:+.1f} % (too few steps for an interval)"
    return f"{100 * row.residual:+.1f} % (95 % {100 * row.low:+.1f} to {100 * row.high:+.1f})"


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
        None if model.spread is None else f"±{100 * model.spread:.2g} %",
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


def _record(
    models: Sequence[CostModel] | Sequence[PhaseModel], store: Store, limits: Mapping[str, float], suite: str
) -> str:
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
