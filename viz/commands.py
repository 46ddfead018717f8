"""`bench viz`: one command for each chart, and `explain`."""

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..warehouse.errors import UnknownName
from ..warehouse.options import Command, Values, store_option
from ..warehouse.store import Store
from .figure import FORMATS

if TYPE_CHECKING:
    from .figure import Figure

_MEMORY_LIMIT = "1GB"  # of DuckDB; what does not fit is spilled to disk


class Charts(click.Group):
    """The group of charts; names the nearest where there is none by that name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the chart."""
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            raise UnknownName("chart", args[0], self.commands, cure="List them with: bench viz --help")
        return super().resolve_command(ctx, args)


@click.group(cls=Charts)
def viz() -> None:
    """Draw charts of queries: into files, or without -o as text.

    \b
        bench viz runtime-vs-tokens --configs A B
        bench viz runtime-vs-tokens --configs A B -o chart.png -o chart.html
        bench viz explain chart.png
    """


class Size(click.ParamType["tuple[float, float]"]):
    """Width and height in inches, as 6x4."""

    name = "WxH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, float]:
        """Read both numbers."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?)[x×](\d+(?:\.\d+)?)", str(value))
        if match is None:
            self.fail(f"{value!r} is no size. Give width x height in inches, such as 6x4.", param, ctx)
        width, height = float(match[1]), float(match[2])
        if not (1 <= width <= 100 and 1 <= height <= 100):
            self.fail(f"{value!r}: width and height are 1 to 100 inches.", param, ctx)
        return width, height


def chart_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that every chart has; the command returns a function that draws, given a connection."""

    @functools.wraps(command)
    def run(
        output: tuple[str, ...], fmt: str | None, ppi: float, font: str | None, store: Store, **options: Any
    ) -> None:
        _deliver(command(**options), store, output, fmt, ppi, font)

    for option in reversed(
        (
            click.option("--title", help="Title instead of the chart's own."),
            click.option(
                "--size", type=Size(), help="Width and height in inches.  [default: 6x4, more for a long legend]"
            ),
            click.option(
                "--ppi", type=click.FloatRange(36, 1200), default=300, show_default=True, help="Dots per inch of PNG."
            ),
            click.option("--font", help="Font family for all text."),
            click.option("-o", "--output", multiple=True, metavar="FILE", help="File to write; several may be given."),
            click.option(
                "--format", "fmt", type=click.Choice(FORMATS), help="Format of the files; else from their names."
            ),
            store_option,
        )
    ):
        run = option(run)
    return run


def _deliver(
    draw: "Callable[[Any], Figure]",
    store: Store,
    output: tuple[str, ...],
    fmt: str | None,
    ppi: float,
    font: str | None,
) -> None:
    """Start the renderer, ask the warehouse, write every file; without files draw on standard output."""
    import contextlib

    from . import figure as figures
    from .provenance import sentence

    wanted = figures.targets(output, fmt)
    with contextlib.ExitStack() as stack:
        renderer = figures.renderer_for(wanted)
        if renderer is not None:
            stack.enter_context(renderer)
        from ..warehouse.database import Warehouse

        with Warehouse.open(store, config={"memory_limit": _MEMORY_LIMIT}) as warehouse:
            figure = draw(warehouse.connection)
        for count in figure.provenance.counts:
            click.echo(sentence(count), err=True)
        for note in figure.notes:
            click.echo(f"warning: {note}", err=True)
        if wanted:
            figures.write(figure, wanted, renderer, ppi=ppi, font=font)
        else:
            figures.show(figure)


@viz.command("runtime-vs-tokens", cls=Command)
@click.option("--configs", cls=Values, help="Configs to draw.  [default: all that have steps]")
@click.option(
    "--trim", type=click.IntRange(0), default=10, show_default=True, metavar="LINES",
    help="Lines to leave out at the start and at the end of each file.",
)  # fmt: skip
@click.option(
    "--max-schedule-ms", type=click.FloatRange(0), default=300, show_default=True, metavar="MS",
    help="Leave out steps whose scheduling took this long or longer.",
)  # fmt: skip
@click.option(
    "--max-model-run-ms", type=click.FloatRange(0), default=200, show_default=True, metavar="MS",
    help="Leave out steps whose model run took this long or longer.",
)  # fmt: skip
@click.option(
    "--color-by", type=click.Choice(["config", "batch"]), default="config", show_default=True, help="What colour says."
)
@chart_options
def runtime_vs_tokens(**options: Any) -> "Callable[[Any], Figure]":
    """Model run time of each scheduler step over the tokens it scheduled.

    Counts of what was read, left out and drawn go to standard error. Without -o the chart is drawn as text.

    \b
        bench viz runtime-vs-tokens --configs A B -o chart.png
        bench viz runtime-vs-tokens --configs A --color-by batch -o chart.svg
    """
    from .runtime_vs_tokens import draw

    return functools.partial(draw, **options)


@viz.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--sql", is_flag=True, help="Print only the query, ready for: bench sql")
def explain(file: Path, sql: bool) -> None:
    """Say what a chart file was drawn from: query, parameters, counts, hash of the data.

    \b
        bench viz explain chart.png
        bench sql "$(bench viz explain chart.png --sql)"
    """
    from .provenance import read

    provenance = read(file)
    click.echo(provenance.sql if sql else provenance.explain())
