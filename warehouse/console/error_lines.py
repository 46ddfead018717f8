"""Errors of commands: a sentence for people, or with `--errors json` one JSON object for programs.

The object is the last line on stderr. It has the fields of `errors.error_fields`.
"""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import click

from ..errors import BenchError, Exit, error_fields

FORMATS = ("text", "json")
VARIABLE = "BENCH_ERRORS"

_chosen: list[str] = []  # by the options of this process's command line, the last one counts


def errors_option() -> click.Option:
    """The option that every command takes."""
    return click.Option(
        ["--errors"],
        type=click.Choice(FORMATS),
        callback=choose_format,
        expose_value=False,
        help=f"Write an error as a sentence or as JSON, as the last line on stderr; else ${VARIABLE}, or text.",
    )


def choose_format(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Take the value of the option."""
    if value is not None:
        _chosen.append(value)


def choose_format_early(args: Sequence[str], *, interspersed: bool) -> None:
    """Look for the option before the arguments are parsed, so that an error in parsing them is written as wanted.

    If `interspersed`, options may come after arguments; else these belong to a program.
    """
    for place, arg in enumerate(args):
        if arg == "--" or not (interspersed or arg.startswith("-")):
            break
        name, equals, value = arg.partition("=")
        if name == "--errors":
            value = value if equals else "".join(args[place + 1 : place + 2])
            _chosen.extend([value] if value in FORMATS else [])


def forget_format() -> None:
    """Begin another command line."""
    _chosen.clear()


def write_error(error: BenchError | click.ClickException | str, exit_code: int = Exit.USAGE, kind: str = "") -> None:
    """Write an error to stderr in the chosen format; a text needs its exit code and kind."""
    wants_json = (_chosen or [os.environ.get(VARIABLE, "")])[-1] == "json"
    if wants_json:
        click.echo(json.dumps(_fields(error, exit_code, kind), ensure_ascii=False), err=True)
    elif isinstance(error, click.ClickException):
        error.show()
    else:
        click.echo(f"Error: {error}", err=True)


def _fields(error: BenchError | click.ClickException | str, exit_code: int, kind: str) -> Mapping[str, Any]:
    if isinstance(error, BenchError):
        return error.fields()
    if isinstance(error, click.ClickException):
        context: click.Context | None = getattr(error, "ctx", None)
        return error_fields(
            error.format_message(),
            Exit.USAGE,
            type(error).__name__,
            where=context.command_path if context else None,
            nearest=getattr(error, "possibilities", None) or (),
            cure=f"See: {context.command_path} --help" if context else "",
        )
    return error_fields(error, exit_code, kind)
