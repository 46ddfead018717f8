"""`bench measure`: one command for each thing to measure."""

import importlib
from pathlib import Path

import click

from ..warehouse.console.error_lines import choose_format_early
from ..warehouse.console.options import notify
from ..warehouse.errors import UnknownName

# name -> (folder whose command.py has `command`, short help). Static, so that help imports none.
MEASURING = {
    "models": ("models", "Every backend of every model against eager, with intervals."),
    "command": ("commands", "How long commands take, what they need, and which is faster."),
    "function": ("functions", "How long functions take, and which is faster."),
    "lines": ("lines", "Where a call of a function spends its time, line by line."),
    "memory": ("line_memory", "Where a program's memory goes, line by line."),
    "attach": ("system", "Memory, CPU and GPU use of a running process over time."),
    "serving": ("serving", "Scheduler steps of a running SGLang or Dynamo server."),
}


class Measures(click.Group):
    """The group of measuring commands: lists them statically, and imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the docs."""
        return list(MEASURING)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command."""
        if cmd_name not in MEASURING:
            return None
        command: click.Command = importlib.import_module(f".{MEASURING[cmd_name][0]}.command", __package__).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; for an unknown name, the error suggests the nearest."""
        if args and args[0] not in MEASURING and not args[0].startswith("-"):
            choose_format_early(args[1:], interspersed=True)
            raise UnknownName("measure command", args[0], MEASURING, cure="List them with: bench measure --help")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the static one-line helps."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_) for name, (_, help_) in MEASURING.items()])


def hiding(folder: Path) -> Path | None:
    """The file or folder that scripts in a folder would import as `bench`, if it is not this package."""
    for path in (folder / "bench.py", folder / "bench" / "__init__.py"):
        if path.is_file() and not path.parent.samefile(Path(__file__).parents[1]):
            return path
    return None


@click.group(cls=Measures)
def measure() -> None:
    """Measure, and record every sample.

    \b
        bench measure memory train.py
        bench measure attach 4711
        bench measure models --backends eager inductor
    """
    if path := hiding(Path.cwd()):
        notify(
            f"note: {path.relative_to(Path.cwd())} is what scripts in this folder import as bench; rename it to record in them"
        )
