"""Services that commands of this room take from rooms above; `cli.py` passes them in the click context."""

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import click

if TYPE_CHECKING:
    from ..warehouse.store import Store


@dataclass(frozen=True, slots=True)
class CommandServices:
    """Services of rooms above this one."""

    ingest_in_place: Callable[["Store", Sequence[str]], None]  # load each `PATH` or `NAME:PATH` into a store
    ingest_result: "Callable[..., tuple[list[str], list[str]]]"  # as ingest.command.ingest_result
    measure_again: Callable[[Sequence[str], str], int]  # a `bench measure` command, and a tag of its runs → exit code
    run_bench: "Callable[..., subprocess.CompletedProcess[str]]"  # as cli._run_bench
    leave: Callable[[int], NoReturn]  # end by this signal, or by none (0), whatever the threads wait for


def command_services() -> CommandServices:
    """The services that `cli.py` passed to the running command."""
    return click.get_current_context().find_object(CommandServices) or _missing()


def _missing() -> CommandServices:
    raise RuntimeError("internal error: the command was started without the context of bench.cli")
