"""Options of a line trace: which modules, which events, which GPUs."""

from collections.abc import Callable, Mapping
from typing import Any

import click

from ...warehouse.console.options import Values
from ...warehouse.errors import BenchError
from .trace import TRACED_EVENTS

CHOICES = ("modules", "excluded", "events", "gpus")  # fields of Scope
OF_MODELS = "trace_"  # begins the names of these options where a trace is one thing among others
_BESIDE = "[default: what lies beside the script or under this folder and is not installed]"
_OF_MODEL = "[default: those that define the model's classes, and the step of training]"


def scope_options(prefix: str = "") -> Callable[[Any], Any]:
    """`--modules`, `--exclude`, `--events` and `--gpus`, each with a prefix such as `trace-`."""
    default, name = (_OF_MODEL, OF_MODELS) if prefix else (_BESIDE, "")
    options = (
        click.option(f"--{prefix}modules", f"{name}modules", cls=Values, metavar="NAME,…",
                     help=f"Modules to trace, with what is below them; * for all. {default}"),
        click.option(f"--{prefix}exclude", f"{name}excluded", cls=Values, metavar="NAME,…", help="Modules not to trace."),
        click.option(f"--{prefix}events", f"{name}events", type=click.Choice(TRACED_EVENTS), default=TRACED_EVENTS[0],
                     show_default=True,
                     help="Read memory at every line, or only where functions begin and end: then a function is one line."),
        click.option(f"--{prefix}gpus", f"{name}gpus", cls=Values, value_type=click.IntRange(min=0), metavar="INDEX,…",
                     help="GPUs whose memory to trace; all that are used if left out."),
    )  # fmt: skip

    def add(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def choice(values: Mapping[str, Any]) -> dict[str, Any] | None:
    """The scope of `--trace-lines`, as fields of Scope; None without it.

    Raises:
        BenchError: Something is to be followed, and nothing traced.
    """
    given = {name: values[OF_MODELS + name] for name in CHOICES}
    if values["trace_lines"]:
        return {**given, "gpus": given["gpus"] or None}
    if odd := [name for name in CHOICES if given[name] not in ((), None, TRACED_EVENTS[0])]:
        option = {"excluded": "exclude"}.get(odd[0], odd[0])
        raise BenchError(f"--trace-{option} has no effect without --trace-lines.")
    return None
