"""Groups of commands that are listed statically: a command is imported when it is called."""

import importlib
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import click

from .command_names import FOR_PROGRAMS, KEEPING, LISTING
from .warehouse.console.error_lines import choose_format_early, errors_option
from .warehouse.errors import UnknownName

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class LazyGroup(click.Group):
    """A group whose commands are named in a table: name -> module, attribute, short help."""

    entries: Mapping[str, tuple[str, str, str]] = {}
    earlier: Collection[str] = ()  # names that go on working, unlisted

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take `--errors` into account even where the rest is wrong."""
        choose_format_early(args, interspersed=False)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the table."""
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command."""
        if cmd_name not in self.entries:
            return None
        module, attribute, _ = self.entries[cmd_name]
        command: click.Command = getattr(importlib.import_module(module, __package__), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; for an unknown name, the error suggests the nearest."""
        if args and args[0] not in self.entries:
            choose_format_early(args[1:], interspersed=True)
        if args and args[0] not in self.entries and not args[0].startswith("-"):
            cure = f"List them with: {ctx.command_path} --help"
            raise UnknownName("command", args[0], [*self.entries, *self.earlier], cure=cure)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """The commands that begin so, with their help; importing all of them would take seconds."""
        from click.shell_completion import CompletionItem

        names = (name for name in self.entries if name.startswith(incomplete))
        own = [CompletionItem(name, help=self.entries[name][2]) for name in names]
        return own or click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the static one-line helps; importing the commands would cost seconds."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_) for name, (_, _, help_) in self.entries.items()])


def _group(name: str, entries: Mapping[str, tuple[str, str, str]], help: str) -> LazyGroup:
    group = LazyGroup(name, help=help, params=[errors_option()])
    group.entries = entries
    return group


listing = _group("list", LISTING, "List runs, configs, cases, sources or rejects.\n\n\b\n    bench list runs")
keeping = _group("store", KEEPING, "Keep a store whole, small and copied.\n\n\b\n    bench store verify")
for_programs = _group("programs", FOR_PROGRAMS, "For programs and shells.\n\n\b\n    bench programs schemas")
