"""Plan files: TOML whose keys are the options of `bench measure models`, without their dashes.

    precision = "2%"                     # how to measure, and axes that all products share
    modes = ["inference", "training"]

    [[product]]                          # one product of axes; a plan has as many as it needs
    suites = "builtin"
    batch-sizes = [1, 8]

    [[product]]
    models = ["mlp"]
    backends = ["inductor", "aot_eager"]

Options on the command line override the file, for every product.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import click

from ...warehouse.console.options import Values
from ...warehouse.errors import BenchError, UnknownName
from .options import HERE, PRODUCT_AXES

PRODUCT = "product"


@dataclass(frozen=True, slots=True)
class PlanFile:
    """The content of a plan file, by parameter name, converted like the options of the command."""

    shared: Mapping[str, Any] = field(default_factory=dict)
    products: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {"": {}})  # by where they stand


def read(path: str, ctx: click.Context) -> PlanFile:
    """Read a plan file. The options of the command say which keys there are and what they take.

    Raises:
        BenchError: It cannot be read, is no TOML, or a value is none its option takes.
        UnknownName: It has a key that is no option; the nearest is named.
    """
    try:
        with open(path, "rb") as file:
            found = tomllib.load(file)
    except OSError as error:
        raise BenchError(f"cannot read {path}: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BenchError(f"{path} is not valid TOML: {error}.") from error
    products = found.pop(PRODUCT, [])
    if not isinstance(products, list) or not all(isinstance(product, dict) for product in products):
        raise BenchError(f"{path}: {PRODUCT} is a table of axes. Write it as [[{PRODUCT}]].")
    options = {
        parameter.opts[-1].lstrip("-"): parameter for parameter in ctx.command.params if parameter.name not in HERE
    }
    axes = {key: parameter for key, parameter in options.items() if parameter.name in PRODUCT_AXES}
    shared = _values(found, options, ctx, path, also=[PRODUCT])
    places = {f"{path}, [[{PRODUCT}]] {number}": product for number, product in enumerate(products, 1)} or {path: {}}
    return PlanFile(
        shared, {place: _values(product, axes, ctx, place, elsewhere=options) for place, product in places.items()}
    )


def _values(
    table: Mapping[str, Any],
    options: Mapping[str, click.Parameter],
    ctx: click.Context,
    where: str,
    *,
    elsewhere: Iterable[str] = (),
    also: Iterable[str] = (),
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key in elsewhere and key not in options:
            raise BenchError(f"{where}, {key}: it holds for all products. Write it above the first [[{PRODUCT}]].")
        if key not in options and any(f"--{key}" in parameter.opts for parameter in ctx.command.params):
            raise BenchError(f"{where}, {key}: it belongs to one measurement, not to a plan. Give it as --{key}.")
        if key not in options:
            raise UnknownName("key", key, [*options, *also], where=where)
        parameter = options[key]
        assert parameter.name is not None
        try:
            found[parameter.name] = parameter.process_value(ctx, _texts(parameter, value))
        except (click.BadParameter, BenchError) as error:
            problem = error.message if isinstance(error, click.BadParameter) else str(error)
            raise BenchError(f"{where}, {key}: {problem}") from None
    return found


def _texts(parameter: click.Parameter, value: Any) -> Any:
    """A TOML value as the texts of a command line."""
    if isinstance(value, dict):
        if not parameter.multiple:
            raise BenchError("takes one value, not a table.")
        return [f"{name}={text}" for name, text in value.items()]
    values = value if isinstance(value, list) else [value]
    if not values:
        raise BenchError("an empty list asks for nothing. Leave the key out for what is usual.")
    if not parameter.multiple and isinstance(value, list):
        raise BenchError("takes one value, not a list.")
    if any(isinstance(item, (list, dict)) for item in values):
        raise BenchError("takes plain values.")
    texts = [str(item) for item in values]
    if isinstance(parameter, Values):
        return [text.replace(",", "\\,") for text in texts]
    return texts if parameter.multiple else texts[0]
