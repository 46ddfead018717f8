"""Options declared once, as annotations of a chart's parameters or a question's fields."""

import inspect
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Annotated, Any

import click

from .options import Values


class Surface(Enum):
    """The surfaces on which an option may be set, each with all those before it."""

    COMMAND = 1  # the command alone: how its output looks, and how it ends
    PEOPLE = 2  # and Python
    ALL = 3  # and programs that ask by the Model Context Protocol


class Option:
    """An option of a command: its help, and further arguments of `click.Option`.

    Name, default and kind are those of the parameter or field that it annotates: `False` makes a flag, `()` an option of
    several values, and a default other than None is shown in the help.
    """

    def __init__(
        self,
        help: str,
        name: str | None = None,
        *,
        on: Surface = Surface.ALL,
        tool: str | None = None,
        read: Callable[[Any], Any] | None = None,
        **attributes: Any,
    ) -> None:
        self.help = help
        self.name = name  # "-o --output" for both
        self.on = on
        self.tool = tool  # its name for agents, if that is another
        self.read = read  # from what the command was given to the value of the field
        self.attributes = attributes

    def build(self, name: str, default: Any) -> click.Parameter:
        """The parameter of the command."""
        names = [name, *(self.name or f"--{name.replace('_', '-')}").split()]
        attributes = {"help": self.help, **self.attributes}
        if default == ():
            attributes.setdefault("cls", Values)
        if default is False:
            return click.Option(names, is_flag=True, **attributes)
        if default is not None and default != ():
            attributes = {"default": default, "show_default": True, **attributes}
        return attributes.pop("cls", click.Option)(names, **attributes)  # type: ignore[no-any-return]


class Positional(Option):
    """An argument of a command; click shows no help of it, Python does."""

    def build(self, name: str, default: Any) -> click.Parameter:
        """The parameter of the command; one with the default `()` takes any number of values."""
        usual: dict[str, Any] = {"nargs": -1} if default == () else {} if default is ... else {"default": default}
        return click.Argument([name], **{"required": default is ..., **usual, **self.attributes})


def declared(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that its parameters declare, in their order."""
    built = [
        mark.build(each.name, each.default)
        for each in inspect.signature(command).parameters.values()
        for mark in getattr(each.annotation, "__metadata__", ())
        if isinstance(mark, Option)
    ]
    command.__click_params__ = [*getattr(command, "__click_params__", ()), *reversed(built)]  # type: ignore[attr-defined]
    return command


Runs = Annotated[
    Sequence[str],
    Option("Only these runs: id prefix, config, commit, day, tag:NAME, latest, latest~1, path.", on=Surface.PEOPLE),
]
Configs = Annotated[Sequence[str], Option("Only these configs.", on=Surface.PEOPLE)]
Suites = Annotated[Sequence[str], Option("Only these suites.", on=Surface.PEOPLE)]
Backends = Annotated[Sequence[str], Option("Only these backends.", on=Surface.PEOPLE)]
Models = Annotated[Sequence[str], Option("Only these models.", on=Surface.PEOPLE)]
Statuses = Annotated[Sequence[str], Option("Only these: ok, fail_to_run, OOM, timeout …", on=Surface.PEOPLE)]
Limit = Annotated[int | None, Option("Show at most this many rows.", on=Surface.PEOPLE, type=click.IntRange(0))]
