"""What every chart's command shares: its options, and the way from a question to files or the terminal."""

import functools
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from ..warehouse.options import Values, store_option
from ..warehouse.store import Store
from .files import FORMATS
from .theme import THEMES

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse
    from .figure import Figure


def _memory_limit() -> str:
    """Of DuckDB: a quarter of the machine's memory, 1 GB at least. What does not fit is spilled to disk.

    A scatter of 100 million steps reads what it spills three times: three times the work at 1 GB as where it fits.
    """
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on every system
        memory = 0
    return f"{max(1000, memory // 4_000_000)}MB"


runs_option: Callable[[Any], Any] = click.option(
    "--runs", cls=Values, help="Only these runs: id prefix, config, commit, latest, latest~1."
)
configs_option: Callable[[Any], Any] = click.option("--configs", cls=Values, help="Only these configs.")
suites_option: Callable[[Any], Any] = click.option("--suites", cls=Values, help="Only these suites.")
backends_option: Callable[[Any], Any] = click.option("--backends", cls=Values, help="Only these backends.")
models_option: Callable[[Any], Any] = click.option("--models", cls=Values, help="Only these models.")


class Size(click.ParamType["tuple[float, float]"]):
    """Width and height in inches, as 6x4."""

    name = "WxH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, float]:
        """Read both numbers."""
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*[xX×]\s*(\d+(?:\.\d+)?)\s*", str(value))
        if match is None:
            self.fail(f"{value!r} is no size. Give width x height in inches, such as 6x4.", param, ctx)
        width, height = float(match[1]), float(match[2])
        if not (2 <= width <= 100 and 1.8 <= height <= 100):
            self.fail(f"{value!r}: a chart is 2 to 100 inches wide, and 1.8 to 100 high.", param, ctx)
        return width, height


def chart_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that every chart has; the command returns a function that draws, given a warehouse."""

    @functools.wraps(command)
    def run(
        output: tuple[str, ...], fmt: str | None, ppi: float, font: str | None, look: str | None, store: Store,
        **options: Any,
    ) -> None:  # fmt: skip
        _deliver(command(**options), store, output, fmt, ppi, font, look)

    for option in reversed(
        (
            click.option("--title", help="Title instead of the chart's own; '' draws none, and no subtitle."),
            click.option(
                "--size",
                type=Size(),
                help="Width and height of images, in inches.  [default: 6x4, more where the chart needs it]",
            ),
            click.option(
                "--ppi", type=click.FloatRange(36, 1200), default=300, show_default=True, help="Dots per inch of PNG."
            ),
            click.option("--font", help="Font family for all text."),
            click.option(
                "--theme",
                "look",
                type=click.Choice(THEMES),
                help="paper: on white. dark: on dark. screen: images without a ground, read on either; pages as the reader's"
                " system is.  [default: paper for images, screen for pages]",
            ),
            click.option("-o", "--output", multiple=True, metavar="FILE", help="File to write; several may be given."),
            click.option(
                "--format",
                "fmt",
                type=click.Choice(FORMATS),
                help="Format of the files, else from their names; without -o of what goes to standard output.",
            ),
            store_option,
        )
    ):
        run = option(run)
    return run


def _deliver(
    draw: "Callable[[Warehouse], Figure]",
    store: Store,
    output: tuple[str, ...],
    fmt: str | None,
    ppi: float,
    font: str | None,
    look: str | None,
) -> None:
    """Start the renderer, ask the warehouse, write every file; without files draw on standard output."""
    import contextlib

    from . import files
    from .provenance import sentence

    wanted = files.targets(output, fmt)
    with contextlib.ExitStack() as stack:
        renderer = files.renderer_for(wanted)
        if renderer is not None:
            stack.enter_context(renderer)
        from ..warehouse.database import Warehouse

        with Warehouse.open(store, config={"memory_limit": _memory_limit()}) as warehouse:
            figure = draw(warehouse)
        for count in figure.provenance.counts:
            click.echo(sentence(count), err=True)
        for note in figure.notes:
            click.echo(f"warning: {note}", err=True)
        if wanted:
            files.write(figure, wanted, renderer, ppi=ppi, font=font, look=look)
        else:
            files.show(figure, fmt)
