"""The options of a measuring command as rows of its run, which measure it again: see the view `run_options`.

Each has a role: what is measured and how, which sides take turns, and where its rows go; and what could choose cases is listed
with the column of a case that it chooses by. A command is built again from those that the question needs, so that nothing reads
a command line or knows an option's name.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..warehouse.console.options import Values, options_given
from ..warehouse.secrets import masked_words
from ..warehouse.store import Store
from .options import AxisOption, words_after_dashes

if TYPE_CHECKING:
    from ..warehouse.recorder import Run

OptionRows = Sequence[Mapping[str, Any]]
# Names of parameters by role; all others say how it is measured.
ROLES = {
    **dict.fromkeys(
        ("suites", "models", "model_configs", "backends", "modes", "batch_sizes", "batch_size_file", "sequence_lengths", "dtypes",
         "devices", "only", "keep", "leave", "leave_exactly", "part"), "what"
    ),
    **dict.fromkeys(("revisions", "packages", "rounds"), "sides"),
    **dict.fromkeys(
        ("config", "tags", "store", "fmt", "wide", "lock", "errors", "commit", "keep_command_line", "fleet", "resume", "retry",
         "baseline", "statistic", "log_file", "show", "top", "bottom", "outputs"), "where"
    ),
}  # fmt: skip


def recorded_options(values: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """The options of the running command, in the order in which they can be given again.

    Args:
        values: Of its parameters by name; those that say how, and were not given, are rows, too, unless they are the default.
    """
    context = click.get_current_context()
    words = ["measure", str(context.info_name)]
    arguments, options, given = [], [], set()
    for parameter, name, texts in options_given(context):
        given.add(parameter.name)
        if name is None:
            arguments.append(_row("what", None, texts))
        else:
            options.append(_row(_role(parameter), name, texts))
    for parameter in context.command.params if values else ():
        if parameter.name not in given and _role(parameter) == "how":
            options += [_row("how", *each) for each in spelled(parameter, (values or {}).get(str(parameter.name)))]
    own = words_after_dashes()
    return [
        _row("command", None, words),
        *axes_of(context.command),
        *([*arguments, *options] if context.allow_interspersed_args else [*options, *arguments]),
        *([_row("what", "--", own)] if own else []),
    ]


def axes_of(command: click.Command) -> list[dict[str, Any]]:
    """The options of a command that choose cases by their columns, each with its column."""
    found = [option for option in command.params if isinstance(option, AxisOption)]
    return [_row("axis", option.opts[-1], [option.column]) for option in found]


def begin_run(config: str | None, *, suite: str, store: Store, tags: Mapping[str, str]) -> "Run":
    """Begin the run of the running command, which keeps its options."""
    from ..warehouse import recorder

    return recorder.run(config, suite=suite, store=store, source="measure", tags=tags, options=recorded_options())


def options_of_words(command: str, words: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a command of another tool, of which all words are arguments."""
    return [_row("command", None, [command]), _row("what", None, words)]


def spelled(parameter: click.Parameter, value: Any) -> Iterator[tuple[str, list[str]]]:
    """The name of an option and its values as texts, once for each time that it is given; nothing if it has its default."""
    unsaid: tuple[Any, ...] = (parameter.default, None, {}, ())
    name = parameter.opts[-1]
    if value in unsaid or (value is False and not parameter.secondary_opts):
        return
    if isinstance(value, bool):
        yield (name if value else parameter.secondary_opts[-1]), []
    elif isinstance(value, Mapping):
        yield from ((name, [f"{key}={text}"]) for key, text in value.items())
    elif isinstance(parameter, Values):
        yield name, [str(each).replace(",", "\\,") for each in value]
    else:
        yield from ((name, [str(each)]) for each in (value if isinstance(value, tuple) else [value]))


def _role(parameter: click.Parameter) -> str:
    return ROLES.get(str(parameter.name), "how")


def _row(role: str, option: str | None, arguments: Sequence[str]) -> dict[str, Any]:
    words = masked_words([*([option] if option else []), *arguments])
    return {"role": role, "option": option, "arguments": words[1:] if option else words}
