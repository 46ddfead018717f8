"""Shared by all measuring commands: options of the run, writing its rows, and messages."""

import math
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..warehouse.console.completion import complete
from ..warehouse.console.fitting import wide_option, write_fitted
from ..warehouse.console.options import Command, Values, format_option, store_option, store_words
from ..warehouse.environment import COMMIT
from ..warehouse.errors import BenchError
from ..warehouse.secrets import KEEP

if TYPE_CHECKING:
    from ..warehouse.recorder import Run


MOST = 1e9


class Finite(click.FloatRange):
    """A range of numbers below MOST, without nan and inf; MOST is the longest possible wait in seconds."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read one."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number) or number > MOST:
            self.fail(f"{value!r} is not a number up to {MOST:,.0f}.", param, ctx)
        return number


class AxisOption(Values):
    """An option that takes values of a column of cases; a run keeps which, and so a case is measured again by its row."""

    def __init__(self, *args: Any, column: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.column = column


SECONDS = Finite(min=0, min_open=True)
Table = tuple[Sequence[str], Iterable[Sequence[Any]]]  # headings and rows


_WORDS = f"{__name__}.words"


class CommandOfWords(Command):
    """A command whose arguments after `--` are the words of another command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep what follows `--` apart."""
        if "--" in args:
            place = args.index("--")
            args, ctx.meta[_WORDS] = args[:place], args[place + 1 :]
        return super().parse_args(ctx, args)


def words_after_dashes() -> list[str]:
    """The words after `--` of the command that runs."""
    return list(click.get_current_context().meta.get(_WORDS, ()))


def _tags(ctx: click.Context, param: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair:
            raise BenchError(f"tag {pair!r} has no value. Write it as KEY=VALUE.")
    return {key: value for key, _, value in (pair.partition("=") for pair in pairs)}


config_option: Callable[[Any], Any] = click.option(
    "--config",
    shell_complete=complete,
    help="Label to compare this run by; the project's, else the git branch, if left out.",
)
tags_option: Callable[[Any], Any] = click.option(
    "--tag", "tags", multiple=True, metavar="KEY=VALUE", callback=_tags, help="Label of your own; may be repeated."
)


def sample_option(default: float | None = None) -> Callable[[Any], Any]:
    """`--sample HZ`: how often the sampler looks; passed on as `sample`, to give to `process_sampler.sampled`."""
    return click.option(
        "--sample",
        type=Finite(min=0.01, max=1000),
        default=default,
        show_default=default is not None,
        metavar="HZ",
        help="Record memory, CPU and GPU use over time, this many times a second.",
    )


maps_option: Callable[[Any], Any] = click.option(
    "--map",
    "maps",
    multiple=True,
    metavar="FIELD=COLUMN,…",
    help="How to read tables among --results, as in bench ingest.",
)


def as_module(target: str) -> str:
    """A target with its module as it is imported from here: `folder.file:function` of `folder/file.py:function`.

    Raises:
        BenchError: The text names a file that cannot be imported from here.
    """
    file, colon, name = target.partition(":")
    if not (file.endswith(".py") and os.path.isfile(file)):
        return target
    parts = os.path.relpath(file).removesuffix(".py").split(os.sep)
    if not all(part.isidentifier() for part in parts):
        raise BenchError(
            f"{file} cannot be imported from here: it must be in or below the present folder, each name a Python name"
        )
    return ".".join(parts) + colon + name


def _keep(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        os.environ[KEEP] = "1"  # for workers, too


keep_option: Callable[[Any], Any] = click.option(
    "--keep-command-line", is_flag=True, expose_value=False, callback=_keep,
    help=f"Store what looks like a secret in a command line, as {KEEP}=1 does.",
)  # fmt: skip


def _commit(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is None:
        return
    if not re.fullmatch(r"[0-9a-fA-F]{7,40}", value):
        raise BenchError(f"{value!r} is not a commit. Write 7 to 40 of its hexadecimal digits, as git log prints them.")
    before = os.environ.get(COMMIT)
    os.environ[COMMIT] = value.lower()
    ctx.call_on_close(lambda: os.environ.pop(COMMIT, None) if before is None else os.environ.update({COMMIT: before}))


commit_option: Callable[[Any], Any] = click.option(
    "--commit", metavar="HASH", expose_value=False, callback=_commit,
    help=f"Commit of the measured code, if it is not that of this folder; else ${COMMIT}.",
)  # fmt: skip


def run_options(sample_hz: float | None = None) -> Callable[[Any], Any]:
    """Options of every run whose rows are written at its end: sample (in Hz, by default), config, tags, fmt, store.

    Beside them are `--keep-command-line` and `--commit`, which set their variables and are not passed on.
    """

    def add(command: Any) -> Any:
        for option in (
            store_option,
            format_option,
            wide_option,
            keep_option,
            commit_option,
            tags_option,
            config_option,
            sample_option(sample_hz),
        ):
            command = option(command)
        return command

    return add


def write(fmt: str, *, shown: Table, exact: Table, shared: Sequence[str] = (), spare: Sequence[str] = ()) -> None:
    """Write rows to stdout: formatted for people without the spare columns that have no room, or exact values for programs."""

    headings, rows = shown if fmt in ("table", "markdown") else exact
    write_fitted(headings, rows, fmt, shared=shared, spare=spare)


def recorded(run: "Run", then: str | None = None) -> None:
    """Report where a run was recorded, and the next command; by default one that queries its samples.

    This comes last: after Ctrl-C a command closes its run as interrupted and shows its results before it ends.

    Raises:
        KeyboardInterrupt: The run was interrupted.
    """
    then = then or f"Every sample of it:\n  bench sql \"FROM samples WHERE run_id = '{run.run_id}'\""
    then += store_words(run.store) if "bench " in then else ""
    talk(f"recorded as run {run.run_id} in {run.store}. {then}")
    if run.status == "interrupted":
        raise KeyboardInterrupt


def talk(text: str) -> None:
    """Write a sentence to stderr."""
    click.echo(text, err=True)


def progress(text: str) -> None:
    """Write a line to stderr; on a terminal it replaces the line before, and an empty line erases it."""
    from ..warehouse.console.tables import obeys

    if obeys(sys.stderr):
        width = shutil.get_terminal_size().columns - 1
        click.echo(f"\r\x1b[K{text[:width]}", nl=False, err=True)
    elif text:
        talk(text)
