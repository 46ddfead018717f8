"""Plan what `bench measure models` measures, from its options and its plan file, before anything runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import click
from click.core import ParameterSource

from ...warehouse.environment import declare
from ...warehouse.errors import BenchError, UnknownName
from ..engine import launcher
from ..engine.workload import BASELINE, SETTING_AXES, Settings, Workload
from ..line_memory.options import choice
from ..options import talk
from ..pytorch import registry as known_backends
from ..pytorch import torchrun
from ..pytorch.settings import check_config, check_ddp, check_validation, turned
from ..suites.huggingface import ARCHITECTURES
from ..suites.model import Model
from ..suites.registry import models_of
from . import batch_size_file, plan_file
from .options import HERE, PRODUCT_AXES, QUICK_BUDGET_S, QUICK_PRECISION
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

    Raises:
        BenchError: The file cannot be read, or names what there is not.
        NothingToShow: Nothing of the plan is selected.
    """
    file = plan_file.read(options["plan_file"], ctx) if options["plan_file"] else plan_file.PlanFile()
    given = {name for name in options if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    if options["model_configs"]:
        named = tuple(options["suites"]) if "suites" in given else ()
        options = {**options, "suites": (*named, *(f"path:{file}" for file in options["model_configs"]))}
        given.add("suites")
    values = {name: value for name, value in options.items() if name not in HERE}
    values |= {name: value for name, value in file.shared.items() if name not in given}
    values["ranks"] = _ranks(values)
    parameters = {name: values[name] for name in SETTING_AXES if turned(name, values[name])}
    check_ddp(values["distributed"], values["optimize_ddp"], values["compiled_autograd"])
    launcher.words(values["launcher"])
    check_validation(values["translation_validation"])
    check_config("dynamo", values["dynamo_config"] or ())
    check_config("inductor", values["inductor_config"] or ())
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
    return PlanRequest(
        plan, _settings(values), {name: value for name, value in values.items() if name not in PRODUCT_AXES}
    )


def _ranks(values: Mapping[str, Any]) -> int | None:
    """Number of processes of a distributed model: as many as torchrun started; None if not given.

    Raises:
        BenchError: Another number is asked for, or the models are not distributed.
    """
    requested: int | None = values["ranks"]
    ranks = torchrun.started()
    if (ranks or requested) and not values["distributed"]:
        begun = f"torchrun started {ranks} ranks" if ranks else f"{requested} ranks are asked for"
        raise BenchError(f"{begun}, but the models are not distributed. Choose how: --distributed ddp|fsdp.")
    if ranks is None:
        return requested
    if requested not in (None, ranks):
        raise BenchError(f"torchrun started {ranks} ranks, not {requested}. Leave --ranks out.")
    return ranks


def _settings(values: Mapping[str, Any]) -> Settings:
    """The settings of the measurement."""
    usual = Settings(precision=QUICK_PRECISION, budget_s=QUICK_BUDGET_S) if values["quick"] else Settings()
    given = {**values, "sample_hz": values["sample"], "trace_lines": choice(values)}
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
    _check_sizes(place, axes, chosen)
    declare(package for _, models in chosen for model in models.values() for package in model.packages)
    rest = {name: axes[name] for name in PRODUCT_AXES if name not in ("suites", "models", "batch_size_file")}
    rest |= {
        "fast": axes["fast"],
        "no_skip": axes["no_skip"],
        "named_sizes": _named_sizes(axes["batch_size_file"], chosen),
    }
    return [
        workload
        for suite, models in chosen
        for workload in product(suite, models, **rest, parameters=parameters, notify=talk)
    ]


def _named_sizes(path: str | None, chosen: Sequence[tuple[str, dict[str, Model]]]) -> dict[str, int]:
    """The batch sizes of a file, for the models that are chosen; without one, none.

    Raises:
        BenchError: It cannot be read, or names none of these models.
    """
    sizes = batch_size_file.read(path) if path else {}
    models = {name: model for _, its in chosen for name, model in its.items()}
    found = {name: size for name, size in sizes.items() if name in models and models[name].batch_size is not None}
    if path and not found:
        raise UnknownName("model", next(iter(sizes)), models, where="the plan", cure=f"{path} names none that it has.")
    if path and len(found) < len(models):
        talk(f"{path} has a batch size for {len(found)} of {len(models)} models; the others are as ever")
    return found


def _check_sizes(place: str, axes: Mapping[str, Any], chosen: Sequence[tuple[str, dict[str, Model]]]) -> None:
    """Name the models that have no axis of the sizes that are asked for.

    Raises:
        BenchError: None of the models has it.
    """
    models = {name: model for _, its in chosen for name, model in its.items()}
    for option, axis in (("batch_sizes", "batch_size"), ("sequence_lengths", "sequence_length")):
        fixed = [name for name, model in models.items() if getattr(model, axis) is None] if axes[option] else []
        if not fixed:
            continue
        flag, size = f"--{option.replace('_', '-')}", axis.replace("_", " ")
        if len(fixed) == len(models):
            where = f"{place}: " if place else ""
            raise BenchError(
                f"{where}{' and '.join(fixed[:3])} {'takes' if len(fixed) == 1 else 'take'} no {size}. Leave {flag} out; a"
                f" model of your own takes it as an argument of get_example_inputs."
            )
        talk(f"{', '.join(fixed)} {'takes' if len(fixed) == 1 else 'take'} no {size}: {flag} is for the others")


def _models(suite_names: Sequence[str], names: Sequence[str]) -> list[tuple[str, dict[str, Model]]]:
    """The models of suites, all or those named; each name is in one of them at least."""
    suites = {suite: models_of(suite) for suite in suite_names}
    names = names or [name for models in suites.values() for name in models]
    for name in names:
        if not any(name in models for models in suites.values()):
            there = [known for models in suites.values() for known in models]
            where = "suite " + " and ".join(map(repr, suites))
            file = f" A file of models is a suite: --suites {name}" if name.startswith("path:") else ""
            kin = next((known for known in ARCHITECTURES if name.lower().startswith(known)), None)
            if kin or any(suite.startswith("huggingface") for suite in suites):
                file += " Architectures" if kin is None else f" {name} is of architecture {kin!r}; architectures"
                file += (
                    " are known by name in suite 'huggingface', with random weights: no checkpoint is downloaded. For a"
                    " configuration of your own: --model-config FILE.json"
                )
            raise UnknownName("model", name, there, where=where, cure=f"It has: {', '.join(there)}.{file}")
    return [
        (suite, {name: models[name] for name in dict.fromkeys(names) if name in models})
        for suite, models in suites.items()
    ]
