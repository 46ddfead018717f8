"""Options of commands that measure functions: their arguments, and how long."""

import ast
import json
from collections.abc import Callable
from typing import Any

import click

from ...warehouse.errors import BenchError
from ..commands.plan import by_name
from ..engine.rounds import LEAST_ROUNDS, MOST_ROUNDS
from ..options import SECONDS, as_module


def argument_of(text: str) -> tuple[str, Any]:
    """Read `NAME=VALUE`: JSON, a Python literal, or else text.

    Raises:
        BenchError: It is no such thing.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise BenchError(f"argument {text!r} has no name or no value. Write it as NAME=VALUE.")
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(value)
            return name, json.loads(json.dumps(found))
        except (ValueError, TypeError, SyntaxError):
            continue
    return name, value


def targets_of(ctx: click.Context, param: click.Parameter, targets: tuple[str, ...]) -> tuple[str, ...]:
    """Read functions, or modules."""
    targets = tuple(map(as_module, targets))
    for target in targets:
        module, colon, name = target.partition(":")
        if not all(part.isidentifier() for part in [*module.split("."), *(name.split(".") if colon else ())]):
            raise BenchError(f"{target!r} names no function and no module. Write it as module:function, or module.")
    if len({":" in target for target in targets}) > 1:
        raise BenchError(
            "functions are measured as module:function, or modules with all their benchmarks: not both at once"
        )
    if len(set(targets)) != len(targets):
        raise BenchError("a function was given twice; to compare it with itself, give it a second name")
    return targets


def target_of(ctx: click.Context, param: click.Parameter, target: str | None) -> str:
    """Read one function; empty without any."""
    if target and ":" not in target:
        raise BenchError(f"{target!r} names no function. Write it as module:function.")
    return "".join(targets_of(ctx, param, (target,) if target else ()))


def _arguments(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, Any]:
    return by_name(list(map(argument_of, texts)))


arguments_option: Callable[[Any], Any] = click.option(
    "--arg", "arguments", multiple=True, metavar="NAME=VALUE", callback=_arguments,
    help="Keyword argument, as JSON, a Python literal or text; may be repeated.",
)  # fmt: skip
setup_option: Callable[[Any], Any] = click.option(
    "--setup", metavar="MODULE:FUNCTION", callback=target_of,
    help="Function that makes the arguments, outside the timing, once for each function and process.",
)  # fmt: skip
processes_option: Callable[[Any], Any] = click.option(
    "--processes", type=click.IntRange(min=1), metavar="N",
    help=f"Measure in exactly N fresh processes. [default: {LEAST_ROUNDS}, up to {MOST_ROUNDS} while the interval is too wide]",
)  # fmt: skip
budget_option: Callable[[Any], Any] = click.option(
    "--budget", "budget_s", type=SECONDS, default=10.0, show_default=True, metavar="SECONDS",
    help="Most time to sample a comparison, all processes together.",
)  # fmt: skip
timeout_option: Callable[[Any], Any] = click.option(
    "--timeout", "timeout_s", type=SECONDS, default=600.0, show_default=True, metavar="SECONDS",
    help="Most time for one process.",
)  # fmt: skip
