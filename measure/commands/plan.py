"""The commands to run: their words, and the product of their parameters."""

import itertools
import math
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...warehouse.console.numbers import counted
from ...warehouse.errors import BenchError, UnknownName
from ...warehouse.recorder import case_ids
from ...warehouse.secrets import KEEP, masked_command, masked_parameters

SHELL = "/bin/sh"
MOST_VALUES = 10_000  # of one parameter
_NUMBER = r"[-+]?\d+(?:\.\d+)?"
_SCAN = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?:\.\.({_NUMBER}))?")

Parameters = Mapping[str, int | float | str]


OPERATORS = {"|", "||", "&", "&&", ";", "<", ">", ">>", "2>", "2>&1", "|&", "&>"}  # words that a shell obeys


@dataclass(frozen=True, slots=True)
class Template:
    """A command with placeholders for parameters: a text to split or to pass to a shell, or words."""

    text: str
    words: tuple[str, ...] | None = None  # where they were given as such

    def fill(self, parameters: Parameters, *, shell: bool) -> tuple[str, ...]:
        """The words to run.

        A value never splits into several words. For a shell it is inserted into the text unquoted.

        Raises:
            BenchError: The text cannot be split into words.
        """
        if shell:
            return (SHELL, "-c", filled(self.text, parameters))
        try:
            words = self.words or shlex.split(self.text)
        except ValueError as error:
            raise BenchError(f"{self.text!r} cannot be split into words: {error}") from None
        if self.words is None and (special := next((word for word in words if word in OPERATORS), None)):
            raise BenchError(
                f"{self.text!r} has a {special}, which only a shell understands. Add --shell, or give the words after --"
            )
        if not words:
            raise BenchError("an empty command cannot be run. Write it as: bench measure command -- CMD ARG…")
        return tuple(filled(word, parameters) for word in words)

    def names(self, known: Parameters) -> set[str]:
        """The parameters it uses."""
        return {name for name in known if f"{{{name}}}" in self.text}


@dataclass(frozen=True, slots=True)
class Hooks:
    """Commands to run around the measured ones without measuring them; None for no command."""

    setup: Template | None = None  # once before a side's first run
    prepare: Template | None = None  # before each run
    conclude: Template | None = None  # after each run
    cleanup: Template | None = None  # once after the last


@dataclass(frozen=True, slots=True)
class PlannedCommand:
    """One command with its parameters filled in: a case."""

    name: str
    parameters: Parameters
    template: Template
    hooks: Hooks = field(default_factory=Hooks)
    shell: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The command to run."""
        return self.template.fill(self.parameters, shell=self.shell)

    def __str__(self) -> str:
        """The command as it runs, or its name and parameters."""
        parameters = masked_parameters(self.parameters)
        if self.name == masked_command(self.template.text):
            return filled(self.name, parameters)
        return " ".join([self.name, *(f"{key}={value}" for key, value in parameters.items())])


def template_of(words: Sequence[str]) -> Template:
    """The command that follows `--`."""
    return Template(words[0] if len(words) == 1 else " ".join(map(_quoted, words)), tuple(words))


def by_name(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Arguments or parameters by their names.

    Raises:
        BenchError: A name is there twice.
    """
    for name, count in Counter(name for name, _ in pairs).items():
        if count > 1:
            raise BenchError(f"{name!r} was given twice. Write all its values at once: --parameter NAME=1,10,100")
    return dict(pairs)


def parameter_of(text: str) -> tuple[str, list[int | float | str]]:
    """Read `NAME=VALUE,…`, where a value may be a scan, `FROM..TO` or `FROM..TO..STEP`, both ends included.

    Raises:
        BenchError: The text has another form.
    """
    name, equals, values = text.partition("=")
    if not equals or not name or not values:
        raise BenchError(f"parameter {text!r} has no values. Write it as NAME=1,10,100 or NAME=1..10..3")
    parts = [part.replace("\0", ",") for part in values.replace("\\,", "\0").split(",")]
    found = [value for part in parts for value in _values(part)]
    return name, list(dict.fromkeys(found))


def plan(
    templates: Sequence[Template],
    *,
    names: Sequence[str] = (),
    parameters: Sequence[tuple[str, Sequence[int | float | str]]] = (),
    hooks: Sequence[Hooks] = (),
    shell: bool = False,
) -> list[list[PlannedCommand]]:
    """Plan the comparisons: the sides of each, its reference first.

    Several commands are compared with each other at equal parameters; a single one with itself over its parameters.

    Args:
        templates: The commands.
        names: What to call them, in their order; by their text, without its secrets, if left out.
        parameters: Names and values; all combinations are run.
        hooks: One for each command; none if left out.
        shell: Whether a shell runs them.

    Raises:
        BenchError: There are more names than commands, two sides with the same name, a parameter that is given twice, or
            is a secret with several values, or a text that cannot be split.
        UnknownName: No command uses a parameter.
    """
    if len(names) not in (0, len(templates)):
        raise BenchError(
            f"{counted(len(names), 'name')} for {counted(len(templates), 'command')}. Give --name once for each, or not at all."
        )
    axes = by_name(parameters)
    hooks = hooks or [Hooks()] * len(templates)
    _check_used(templates, hooks, axes)
    combinations = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    if len({case_ids(name="", parameters=each) for each in combinations}) < len(combinations):
        raise BenchError(
            "a parameter looks like a secret, and has several values: stored as ***, they cannot be told apart. Give it another "
            f"name, or keep its values with --keep-command-line ({KEEP}=1)."
        )
    called = names or [masked_command(template.text) for template in templates]
    if len(set(called)) != len(called):
        raise BenchError("two commands are called the same. Tell them apart with --name A --name B")
    sides = [
        [
            PlannedCommand(name, values, template, of, shell)
            for name, template, of in zip(called, templates, hooks, strict=True)
        ]
        for values in combinations
    ]  # fmt: skip
    for side in itertools.chain.from_iterable(sides):
        assert side.words
    return sides if len(templates) > 1 else [[side for (side,) in sides]]


def _check_used(templates: Sequence[Template], hooks: Sequence[Hooks], axes: Parameters | Mapping[str, Any]) -> None:
    around = [hook for of in hooks for hook in (of.setup, of.prepare, of.conclude, of.cleanup) if hook]
    used = set().union(*(template.names(axes) for template in [*templates, *around]))
    for name in axes:
        if name not in used:
            written = re.findall(r"{(\w+)}", " ".join(template.text for template in templates))
            raise UnknownName(
                "placeholder", f"{{{name}}}", written, where="any command", cure="Write it where the value belongs."
            )


def _quoted(word: str) -> str:
    """A word quoted for a shell; placeholder braces alone need no quotes."""
    bare = word.replace("{", "").replace("}", "")
    return word if shlex.quote(bare) == bare else shlex.quote(word)


def filled(text: str, parameters: Parameters) -> str:
    """The text with each {NAME} of a parameter replaced once; other braces stay."""
    if not parameters:
        return text
    names = "|".join(map(re.escape, parameters))
    return re.sub(rf"{{({names})}}", lambda found: str(parameters[found[1]]), text)


def _values(text: str) -> Iterator[int | float | str]:
    scan = _SCAN.fullmatch(text)
    if scan is None:
        yield _number(text)
        return
    import decimal  # which is slow to come, and seldom needed

    first, last = map(decimal.Decimal, scan.group(1, 2))
    step = decimal.Decimal(scan[3] or (1 if last >= first else -1))
    count = (last - first) / step if step else decimal.Decimal(-1)
    if not 0 <= count < MOST_VALUES:
        raise BenchError(f"the step of {text!r} does not lead from {first} to {last} in at most {MOST_VALUES:,} values")
    for number in range(int(count) + 1):
        yield _number(str(first + number * step))


def _number(text: str) -> int | float | str:
    """A number if formatting it gives the same text again; else the text, such as 007 or 1e3."""
    for kind in (int, float):
        try:
            if str(kind(text)) == text and math.isfinite(float(text)):
                return kind(text)
        except ValueError:
            continue
    return text


def program_is_there(words: Sequence[str]) -> bool:
    """Return whether a program of this name can be found now."""
    return shutil.which(words[0]) is not None
