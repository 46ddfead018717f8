"""What every measuring command shares: the run's labels, shares as options, and how to talk to a person."""

import shutil
import sys
from collections.abc import Callable
from typing import Any

import click

from ..warehouse.errors import BenchError


def _tags(ctx: click.Context, param: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair:
            raise BenchError(f"tag {pair!r} has no value. Write it as KEY=VALUE.")
    return {key: value for key, _, value in (pair.partition("=") for pair in pairs)}


config_option: Callable[[Any], Any] = click.option(
    "--config", help="Label to compare this run by; the git branch if left out."
)
tags_option: Callable[[Any], Any] = click.option(
    "--tag",
    "tags",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_tags,
    help="Label of your own; may be repeated.",
)


def sample_option(default: float | None = None) -> Callable[[Any], Any]:
    """`--sample HZ`: how often the sampler looks; passed on as `sample`, to give to `sampler.sampled`."""
    return click.option(
        "--sample",
        type=click.FloatRange(min=0.01, max=1000),
        default=default,
        show_default=default is not None,
        metavar="HZ",
        help="Record memory, CPU and GPU use over time, looking so many times a second.",
    )


def share(text: str) -> float:
    """Read `1%` or `0.01`.

    Raises:
        BenchError: It is no share between 0 and 1.
    """
    try:
        value = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise BenchError(f"{text!r} is no share between 0 and 1. Write it as 1% or 0.01.")
    return value


def talk(text: str) -> None:
    """Say something to a person, on stderr."""
    click.echo(text, err=True)


def progress(text: str) -> None:
    """A line on stderr; on a terminal, each writes over the one before, and an empty one wipes it."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - 1
        click.echo(f"\r\x1b[K{text[:width]}", nl=False, err=True)
    elif text:
        talk(text)
