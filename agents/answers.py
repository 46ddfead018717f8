"""The answer of each command with `--format json`: the columns of its rows, by the headers of views and `columns.txt`."""

import functools
import importlib.resources
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import sql
from ..query.change.command import Changes
from ..query.comparison.command import Compare
from ..query.comparison.compare import VERDICTS
from ..query.contents.command import Show
from ..query.cost.command import FitCosts
from ..query.explain.command import EnvironmentDifference, Explain, Plan
from ..query.lists import ListCases, ListConfigs, ListRejects, ListRuns, ListSources, Speedups
from ..query.question import Question
from ..query.regression.command import Regressions
from ..query.why.command import Why
from ..sql import ViewColumn

_FROM = re.compile(r"from (\w+): (.+)")
VERDICT = {"verdict": tuple(verdict for verdict in VERDICTS if verdict)}


@dataclass(frozen=True, slots=True)
class JsonAnswer:
    """The rows that a command writes with `--format json`.

    `shapes` are views, or groups of `columns.txt`; a row has the columns of one of them. Without any, a row may have any.
    """

    shapes: tuple[str, ...]
    version: int = 1  # raised when a column goes, or changes its type; a new one raises nothing
    choices: dict[str, tuple[str, ...]] | None = None  # column -> the values it may have


def _asked(*questions: type[Question[Any]]) -> dict[str, JsonAnswer]:
    """The answers of questions, each by the command and the option that chooses them."""
    return {
        f"{question.name} {option}".strip(): JsonAnswer(
            (shapes,) if isinstance(shapes, str) else tuple(shapes),
            1 if option else question.version,
            VERDICT if question.has_verdicts else None,
        )
        for question in questions
        for option, shapes in question.views.items()
    }


def _of(*shapes: str) -> JsonAnswer:
    return JsonAnswer(shapes)


# Command, with the option that makes it answer so → its rows. `cost-model` and `errors` are objects.
ANSWERS = {
    "sql": _of(),
    "views": _of("views"),
    "views NAME": _of("views NAME"),
    **_asked(Speedups, Compare, Regressions, Changes, ListRuns, ListConfigs, ListCases, ListSources, ListRejects),
    "compare TRACE": _of("trace_part_sides"),
    **_asked(Show, Explain, EnvironmentDifference, Plan, Why, FitCosts),
    "viz list": _of("viz list"),
    "schemas": _of("schemas"),
    "bisect": _of("bisect_commits"),
    "settings": _of("settings"),
    "doctor": _of("doctor"),
    "sync --dry-run": _of("sync --dry-run"),
    "measure models": JsonAnswer(("measure models",), version=2),
    "measure models --print": _of("measure models --print"),
    "measure command": _of("measure command"),
    "measure function": _of("measure function"),
    "measure lines": _of("measure lines"),
    "measure memory": _of("measure memory"),
    "measure memory --show steps": _of("measure memory --show steps"),
    "measure attach": _of("measure attach"),
    "measure serving": _of("measure serving"),
    "errors": _of("errors"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RowShape:
    """The grain of a row, and its columns by name, in order."""

    grain: str
    columns: dict[str, ViewColumn]


def row_shape(name: str) -> RowShape:
    """The rows of a view, derived or computed table, or group of `columns.txt`."""
    return _own()[name] if name in _own() else _of_view(name)


def _of_view(name: str) -> RowShape:
    view = (sql.views() | sql.tables() | sql.computed())[name]
    return RowShape(view.doc.partition(". ")[0].removesuffix(".") + ".", view.columns)


@functools.cache
def _own() -> dict[str, RowShape]:
    """The groups of `columns.txt`."""
    text = importlib.resources.files(__package__ or __name__).joinpath("columns.txt").read_text(encoding="utf-8")
    found = {}
    for paragraph in text.strip().split("\n\n")[1:]:
        name, grain, *lines = paragraph.splitlines()
        found[name] = RowShape(grain, _columns(lines))
    return found


def _columns(lines: Sequence[str]) -> dict[str, ViewColumn]:
    columns: dict[str, ViewColumn] = {}
    for line in lines:
        if taken := _FROM.fullmatch(line):
            known = _of_view(taken[1]).columns
            columns |= {name: known[name] for name in taken[2].split(", ")}
        else:
            columns |= sql.read_columns("columns.txt", line)
    return columns
