"""`bench viz`: one command for each chart, and `explain`."""

import importlib
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..warehouse.console.error_lines import choose_format_early
from ..warehouse.console.fitting import wide_option, write_fitted
from ..warehouse.console.options import Command, format_option, notify
from ..warehouse.errors import NothingToShow, UnknownName

if TYPE_CHECKING:
    from .output.figure import Figure


def _uses() -> dict[str, str]:
    """The use of each chart by its name, as the docstring of its module has it after a colon; none is imported."""
    found = {}
    for path in sorted(Path(__file__).with_name("charts").glob("[a-z]*.py")):
        with open(path, encoding="utf-8") as lines:
            use = lines.readline().partition(": ")[2].strip().removesuffix('"""')
        found[path.stem.replace("_", "-")] = use[:1].upper() + use[1:]
    return found


CHARTS = _uses()  # name of a command -> its use


class Charts(click.Group):
    """The group of charts: lists them statically, and imports one when it is called."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Without a chart take the one that fits the store best."""
        if not args or args[0].partition("=")[0] in ("-o", "--output", "--store"):
            args = [*_best(args), *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The charts, then the commands about files."""
        return [*CHARTS, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the chart."""
        if cmd_name not in CHARTS:
            return super().get_command(ctx, cmd_name)
        from .options import chart_command

        return chart_command(cmd_name, draw_of(cmd_name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a chart; for an unknown name, the error suggests the nearest."""
        if args and args[0] not in self.list_commands(ctx) and not args[0].startswith("-"):
            choose_format_early(args[1:], interspersed=True)
            raise UnknownName("chart", args[0], self.list_commands(ctx), cure="List them with: bench viz list")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the static one-line helps."""
        own = {name: command.get_short_help_str(limit=80) for name, command in self.commands.items()}
        with formatter.section("Commands"):
            formatter.write_dl([*CHARTS.items(), *own.items()])


def _best(args: list[str]) -> tuple[str, ...]:
    """The words of the chart to draw unless one is named; a notice says which it is, and what else there is."""
    from ..warehouse.database import Warehouse
    from ..warehouse.store import Store
    from .best_chart import fitting_charts

    given = args[args.index("--store") + 1] if "--store" in args[:-1] else None
    with Warehouse.open(Store.find(given)) as warehouse:
        fitting = fitting_charts(warehouse)
    if not fitting:
        raise NothingToShow("there is nothing to draw yet. Load results with: bench ingest PATH")
    others = [words[0] for words in fitting[1:]]
    more = f"; also {', '.join(others)}" if others else ""
    notify(f"drawn: bench viz {shlex.join(fitting[0])}{more}; all charts: bench viz list")
    return fitting[0]


@click.group(cls=Charts)
def viz() -> None:
    """Draw charts of queries: into files, or without -o as text; without a chart the one that fits the store best.

    \b
        bench viz -o picture.png
        bench viz runtime-vs-tokens --configs A B
        bench viz runtime-vs-tokens --configs A B -o chart.png -o chart.html
        bench viz explain chart.png
    """


@viz.command(name="list", cls=Command)
@wide_option
@format_option
def listed(fmt: str) -> None:
    """List the charts: what each is for, and a command that draws it.

    \b
        bench viz list
        bench viz list --format markdown
    """
    rows = [(name, example(name), use) for name, use in CHARTS.items()]
    write_fitted(["chart", "command", "use"], rows, fmt, spare=("command",), brief="use")


def draw_of(name: str) -> "Callable[..., Figure]":
    """Import a chart."""
    draw: Callable[..., Figure] = importlib.import_module(f".charts.{name.replace('-', '_')}", __package__).draw
    return draw


def example(name: str) -> str:
    """The first example command in a chart's help."""
    return next(
        line.strip() for line in str(draw_of(name).__doc__).splitlines() if line.strip().startswith(f"bench viz {name}")
    )


@viz.command(cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--sql", is_flag=True, help="Print only the query, ready for: bench sql")
def explain(file: Path, sql: bool) -> None:
    """Say which query and parameters a chart file was drawn from.

    It also says how many rows were read and drawn, and the hash of the data.

    \b
        bench viz explain chart.png
        bench sql "$(bench viz explain chart.png --sql)"
    """
    from .output.provenance import read

    provenance = read(file)
    click.echo(provenance.sql if sql else provenance.explain())
