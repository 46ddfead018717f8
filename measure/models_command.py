"""`bench measure models`: every backend of every model against eager."""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ..warehouse.errors import BenchError, Exit, MissingExtra, UnknownName
from ..warehouse.options import Command
from ..warehouse.store import Store
from . import backends as known_backends
from . import plan_file as plan_files
from .console import progress, recorded, talk
from .machine_lock import alone
from .models_options import (
    AXES,
    HERE,
    QUICK_BUDGET_S,
    QUICK_PRECISION,
    axis_options,
    command_for,
    selection_options,
    setting_options,
)
from .plan import BASELINE, PARAMETERS, Settings, Workload, merged, product
from .selection import select
from .suites import Model, models_of

if TYPE_CHECKING:
    from .resume import Known

CASE_COLUMNS = ("suite", "model", "mode", "device", "dtype", "batch", "length", "parameters", "backend", "left_out")


@click.command("models", cls=Command)
@click.argument("plan_file", metavar="[PLAN.toml]", required=False, type=click.Path(exists=True, dir_okay=False))
@axis_options
@setting_options
@selection_options
@click.pass_context
def command(ctx: click.Context, /, store: Store, fmt: str, **options: Any) -> int:
    """Measure models: every backend against eager, with intervals.

    Each workload runs in a fresh process, its backends interleaved in random blocks, until the speedup is known as
    precisely as asked. A plan file holds the same options, and several products of axes. Ends with 1 if a case failed;
    what was measured is kept in any case.

    \b
        bench measure models --models mlp attention --backends eager inductor --batch-sizes 1 8 32
        bench measure models nightly.toml --partition 1/4 --resume
    """
    file = plan_files.read(options["plan_file"], ctx) if options["plan_file"] else plan_files.PlanFile()
    given = {name for name in options if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    said = {name: value for name, value in options.items() if name not in HERE}
    said |= {name: value for name, value in file.shared.items() if name not in given}
    settings = _settings(said)
    parameters = {name: said[name] for name in PARAMETERS if said[name]}
    products = {
        place: said | {name: value for name, value in table.items() if name not in given}
        for place, table in file.products.items()
    }
    if any(BASELINE not in axes["backends"] for axes in products.values()):
        talk(f"{BASELINE} added: it is what speedups are measured against")
    plan = merged(workload for place, axes in products.items() for workload in _product(place, axes, parameters))
    plan = select(plan, **{name: options[name] for name in ("only", "keep", "leave", "leave_exactly")})
    if (part := options["part"]) and not (plan := part.of(whole := plan)):
        talk(f"part {part} of a plan of {len(whole)} workloads is empty")
        return Exit.OK
    known = None
    if options["resume"] or options["retry"]:
        from .resume import known_cases

        known = known_cases(store, plan, settings, retry=options["retry"], say=talk)
    if options["print_commands"]:
        if ctx.get_parameter_source("store") is ParameterSource.COMMANDLINE:
            said["store"] = store.root
        for workload in known.left(plan) if known else plan:
            click.echo(command_for(workload, {n: v for n, v in said.items() if n not in AXES}, ctx.command.params))
        return Exit.OK
    if options["print_only"]:
        _print(plan, known, fmt)
        return Exit.OK
    return _measure(plan, known, settings, store, fmt, config=said["config"], tags=said["tags"], lock=options["lock"])


def _settings(said: Mapping[str, Any]) -> Settings:
    """How to measure, of what was asked."""
    usual = Settings(precision=QUICK_PRECISION, budget_s=QUICK_BUDGET_S) if said["quick"] else Settings()
    asked = {**said, "sample_hz": said["sample"]}
    return Settings(**{
        field.name: getattr(usual, field.name) if asked[field.name] is None else asked[field.name]
        for field in fields(Settings)
    })  # fmt: skip


def _product(place: str, axes: Mapping[str, Any], parameters: Mapping[str, Any]) -> list[Workload]:
    """The workloads of one product of axes.

    Raises:
        BenchError: There is no such backend or suite, or a model is in none of the suites; says at which place.
    """
    try:
        known_backends.check(axes["backends"])
        chosen = _models(axes["suites"], axes["models"])
    except BenchError as error:
        raise BenchError(f"{place}: {error}") if place else error from None
    rest = {name: axes[name] for name in AXES if name not in ("suites", "models")}
    return [workload for suite, models in chosen for workload in product(suite, models, **rest, parameters=parameters)]


def _models(suite_names: Sequence[str], names: Sequence[str]) -> list[tuple[str, dict[str, Model]]]:
    """The models of suites, all or those named; each name is in one of them at least."""
    suites = {suite: models_of(suite) for suite in suite_names}
    names = names or [name for models in suites.values() for name in models]
    for name in names:
        if not any(name in models for models in suites.values()):
            there = [known for models in suites.values() for known in models]
            where = "suite " + " and ".join(map(repr, suites))
            raise UnknownName("model", name, there, where=where, cure=f"It has: {', '.join(there)}.")
    return [
        (suite, {name: models[name] for name in dict.fromkeys(names) if name in models})
        for suite, models in suites.items()
    ]


def _print(plan: Sequence[Workload], known: "Known | None", fmt: str) -> None:
    """Write a row for each case, with the reason if it will not be measured."""
    from ..warehouse.output import write_rows

    rows = []
    for workload in plan:
        for backend in workload.backends:
            axes = workload.axes(backend)
            values = [axes[name] for name in ("suite", "name", "mode", "device", "dtype", "batch_size",
                                              "sequence_length", "parameters", "backend")]  # fmt: skip
            run_id = known.run_of(workload, backend) if known else None
            rows.append((*values, workload.skips.get(backend) or (run_id and f"known from run {run_id}")))
    write_rows(CASE_COLUMNS, rows, fmt)


def _measure(
    plan: list[Workload], known: "Known | None", settings: Settings, store: Store, fmt: str, *,
    config: str | None, tags: Mapping[str, str], lock: str,
) -> int:  # fmt: skip
    from ..warehouse import recorder
    from ..warehouse.database import Warehouse
    from .report import noise_floor, results, show
    from .runner import Runner

    run_id = ""
    left = known.left(plan) if known else plan
    if known and known.runs:
        talk(str(known))
        tags = {**tags, **known.tags}
    if left:
        if importlib.util.find_spec("torch") is None:
            raise MissingExtra("torch", "torch")
        suites = {workload.suite for workload in left}
        with alone(lock), recorder.run(
            config, suite=suites.pop() if len(suites) == 1 else None, store=store, source="measure", tags=tags,
            settings=settings.to_dict(),
        ) as run:  # fmt: skip
            run_id = run.run_id
            Runner(run, settings, say=progress).measure(left)
        progress("")
    with Warehouse.open(store) as warehouse:
        found = results(warehouse, run_id, known=known.runs if known else None)
        floor = noise_floor(warehouse, run_id)
    show(found, fmt)
    if floor:
        talk(floor)
    if left:
        recorded(run, "Ask again with: bench speedups")
    else:
        talk("the whole plan is known: nothing was measured")
    return Exit.FAILED if any(result.failed for result in found) else Exit.OK
