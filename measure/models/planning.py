"""Plan what `bench measure models` measures, from its options and its plan file, before anything runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import click
from click.core import ParameterSource

from ...warehouse.errors import BenchError, UnknownName
from ..engine.workload import BASELINE, PARAMETERS, Settings, Workload
from ..options import talk
from ..pytorch import registry as known_backends
from ..pytorch import torchrun
from ..pytorch.settings import turned
from ..suites.model import Model
from ..suites.registry import models_of
from . import plan_file
from .options import AXES, HERE, QUICK_BUDGET_S, QUICK_PRECISION
from .product import merged, product
from .selection import select


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The plan, how to measure it, and the values of the options that are no axes, by parameter name."""

    plan: list[Workload]
    settings: Settings
    values: Mapping[str, Any]


def plan_request(ctx: click.Context, options: Mapping[str, Any]) -> PlanRequest:
    """Combine options and plan file, and select workloads.

    Args:
        ctx: Of the command.
        options: Values of its options.

    Raises:
        BenchError: The file cannot be read, or names what there is not.
        NothingToShow: Nothing of the plan is selected.
    """
    file = plan_file.read(options["plan_file"], ctx) if options["plan_file"] else plan_file.PlanFile()
    given = {name for name in options if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    values = {name: value for name, value in options.items() if name not in HERE}
    values |= {name: value for name, value in file.shared.items() if name not in given}
    values["ranks"] = _ranks(values)
    parameters = {name: values[name] for name in PARAMETERS if turned(name, values[name])}
    products = {
        place: values | {name: value for name, value in table.items() if name not in given}
        for place, table in file.products.items()
    }
    if any(BASELINE not in axes["backends"] for axes in products.values()):
        talk(f"{BASELINE} added: it is what speedups are measured against")
    plan = merged(workload for place, axes in products.items() for workload in _product(place, axes, parameters))
    plan = select(plan, **{name: options[name] for name in ("only", "keep", "leave", "leave_exactly")})
    if options["part"]:
        plan = options["part"].of(plan)
    return PlanRequest(plan, _settings(values), {name: value for name, value in values.items() if name not in AXES})


def _ranks(values: Mapping[str, Any]) -> int | None:
    """Number of processes of a distributed model: as many as torchrun started; None if not given.

    Raises:
        BenchError: Other ones are asked for, or nothing is spread over them.
    """
    requested: int | None = values["ranks"]
    ranks = torchrun.started()
    if (ranks or requested) and not values["distributed"]:
        begun = f"torchrun started {ranks} ranks" if ranks else f"{requested} ranks are asked for"
        raise BenchError(f"{begun}, and nothing is spread over them. Say how: --distributed ddp|fsdp.")
    if ranks is None:
        return requested
    if requested not in (None, ranks):
        raise BenchError(f"torchrun started {ranks} ranks, not {requested}. Leave --ranks out.")
    return ranks


def _settings(values: Mapping[str, Any]) -> Settings:
    """The settings of the measurement."""
    usual = Settings(precision=QUICK_PRECISION, budget_s=QUICK_BUDGET_S) if values["quick"] else Settings()
    given = {**values, "sample_hz": values["sample"]}
    return Settings(**{
        field.name: getattr(usual, field.name) if given[field.name] is None else given[field.name]
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
            file = f" A file of models is a suite: --suites {name}" if name.startswith("path:") else ""
            raise UnknownName("model", name, there, where=where, cure=f"It has: {', '.join(there)}.{file}")
    return [
        (suite, {name: models[name] for name in dict.fromkeys(names) if name in models})
        for suite, models in suites.items()
    ]
