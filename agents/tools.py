"""The tools of `bench programs mcp`: the questions of `bench.open`, each answer with a summary, its doubt in words, and rows.

No tool takes a path. SQL runs in the sandbox. What a tool measures is chosen among commands that the user has listed.
"""

import inspect
import json
import shlex
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..api import OpenStore, Verdicts
from ..query.change.command import Changes
from ..query.comparison.command import Compare
from ..query.contents.command import Show
from ..query.document import COMMENT_LIMIT
from ..query.explain.command import Explain, Plan
from ..query.limited import QuestionLimits, limited, settings
from ..query.question import Question, fields_of, tool_signature_of
from ..query.regression.command import Regressions
from ..query.why.command import Why
from ..viz.report import ReportRun
from ..warehouse.console.numbers import counted
from ..warehouse.console.tables import escape, json_value
from ..warehouse.database import Warehouse
from ..warehouse.errors import BenchError
from ..warehouse.store import Store
from . import caveats

if TYPE_CHECKING:
    from ..viz.output.figure import Figure

Where = dict[str, list[str]]  # column -> values to keep
Started = Callable[[Sequence[str], float], "subprocess.CompletedProcess[str]"]  # words after `bench`, seconds → its end

MOST_ROWS = 1000
MOST_TEXT = 2000  # characters of a text in a row
LIMITS = QuestionLimits(characters=MOST_TEXT + 1, answer_bytes=16 * 10**6)  # what is cut says so
MOST_DOCUMENT = COMMENT_LIMIT  # characters of a report or an explanation


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """An answer of a tool. Whoever passes it on passes on its doubt."""

    summary: str = field(metadata={"meaning": "What was found, in words."})
    doubt: list[str] = field(
        metadata={"meaning": "What the answer does not show. Pass it on with what is taken from it."}
    )
    rows: list[dict[str, Any]] = field(
        default_factory=list, metadata={"meaning": "What matters first. `says` is what a row shows, in words."}
    )
    left_out: int | None = field(
        default=0, metadata={"meaning": "Rows that are not among these; null where there are more, uncounted."}
    )
    text: str | None = field(
        default=None, metadata={"meaning": "The report, explanation or chart; what a measurement wrote to stderr."}
    )


@dataclass(frozen=True, slots=True)
class PictureAnswer:
    """An answer with a picture beside it."""

    answer: ToolAnswer
    png: bytes | None


def tool(
    question: type[Question[Any]], told: Callable[[Any, "Verdicts[Any]"], caveats.Told]
) -> Callable[..., ToolAnswer]:
    """The tool that asks a question; `told` puts its answer into words."""
    signature = tool_signature_of(question)

    def method(self: "Questions", *args: Any, **kwargs: Any) -> ToolAnswer:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        limit = bound.arguments.pop("limit", MOST_ROWS)
        names = {each.tool_name: each.name for each in fields_of(question)}
        given = {names[name]: value for name, value in bound.arguments.items() if value is not None}
        asked = question(**given)
        answer = self.store.answer(asked)
        return _judged(*told(asked, answer), limit, answer.text)

    method.__name__, method.__doc__ = question.name, question.for_agents
    method.__annotations__ = {each.name: each.annotation for each in signature.parameters.values()}
    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    method.__signature__ = signature.replace(parameters=[this, *signature.parameters.values()])  # type: ignore[attr-defined]
    return method


@dataclass(frozen=True, slots=True)
class Questions:
    """The tools that only read."""

    store: OpenStore
    limits: QuestionLimits = LIMITS  # of a query that a client writes

    def views(self, name: str | None = None) -> ToolAnswer:
        """List the views and tables that `sql` can read; with a name, its columns with their types and meanings."""
        if name is None:
            rows = self.store.views()
            return ToolAnswer(summary=f"{counted(len(rows), 'view')}, tables and macros", doubt=[], rows=rows)
        found = self.store.view(name)
        rows = [dict[str, Any](zip(("column", "type", "meaning"), column, strict=True)) for column in found.columns]
        return ToolAnswer(summary=f"{found.name}: {found.doc}", doubt=[], rows=rows)

    def sql(self, query: str, limit: int = 100) -> ToolAnswer:
        """Ask the store in DuckDB's SQL, read-only: one SELECT over the views. Files, network and settings are out of reach.

        For "is it faster" use compare: rows of a query carry no verdict.
        """
        relation = replace(self.store.sql(query), sandbox=True, limits=self.limits)
        columns, values, more = relation.first(_bounded(limit))
        rows = plain(dict(zip(columns, row, strict=True)) for row in values)
        return ToolAnswer(
            summary=f"{counted(len(rows), 'row')}{', and there are more' if more else ''}",
            doubt=[*caveats.verdicts_among(rows), *caveats.intervals(rows), caveats.NO_VERDICT, caveats.ROWS_ARE_DATA],
            rows=rows,
            left_out=None if more else 0,
        )

    show = tool(Show, caveats.of_results)

    compare = tool(Compare, caveats.of_comparison)

    regressions = tool(Regressions, caveats.of_regressions)

    history = tool(Changes, caveats.of_history)

    explain = tool(Explain, caveats.of_explanation)

    why = tool(Why, caveats.of_why)

    plan = tool(Plan, caveats.of_plan)

    report = tool(ReportRun, caveats.of_report)

    def chart(
        self, name: str, options: dict[str, Any] | None = None, picture: bool = False, limit: int = 50
    ) -> PictureAnswer:
        """Draw a chart as text, with its rows, and with `picture` as PNG.

        `name` and `options` are those of `bench viz`: history, speedups, movers (base, candidate), distribution (sides),
        query (query, x, y, color, kind), … An unknown name or option is an error that says which there are.
        """
        if name == "query":  # the SQL is the client's
            Warehouse.open(self.store.store).close()
            parts = limited(self.limits, _draw, self.store.store, name, options, picture, limit)
            return next(parts)  # type: ignore[no-any-return]
        return self.draw(name, options, picture, limit)

    def draw(self, name: str, options: dict[str, Any] | None, picture: bool, limit: int) -> PictureAnswer:
        """Draw a chart in this process; as `chart`."""
        from ..viz.command import CHARTS, draw_of
        from ..viz.options import option_values

        known = name.replace("_", "-")
        values = option_values(known, draw_of(known), options or {}) if known in CHARTS else {}
        figure: Figure = self.store.figure(name, **values)
        rows = [dict(zip(figure.columns, row, strict=True)) for row in figure.rows]
        kept = rows[: _bounded(limit)]
        answer = ToolAnswer(
            summary=f"{known}: {counted(len(rows), 'row')} drawn",
            doubt=[
                *caveats.verdicts_among(rows),
                *map(escape, figure.notes),
                caveats.NO_VERDICT,
                caveats.ROWS_ARE_DATA,
            ],
            rows=plain(kept),
            left_out=len(rows) - len(kept),
            text=_cut(figure.text(100, 30, False), MOST_DOCUMENT),
        )
        if not picture:
            return PictureAnswer(answer, None)
        from ..viz.output.files import png

        return PictureAnswer(answer, png(figure))


@dataclass(frozen=True, slots=True)
class AllowedMeasurements:
    """The tool that measures: one of some commands, as the user wrote them."""

    commands: tuple[str, ...]
    start: Started
    store: OpenStore
    limit_s: float = 3600

    def measure(self, command: str, config: str | None = None) -> ToolAnswer:
        """Measure: run one of the listed commands, unchanged, and record it. `config` labels the run, to compare it later."""
        if command not in self.commands:
            raise BenchError(f"{command!r} is not allowed. Allowed is: {'; '.join(self.commands)}")
        _, what, *rest = measure_words(command)
        if config is not None:
            if any(word.partition("=")[0] == "--config" for word in rest):
                raise BenchError("the command has its own --config. Leave config out.")
            if not config.isprintable() or not 0 < len(config) <= 100:
                raise BenchError(f"{config!r} is not a valid label: use 1 to 100 printable characters.")
            rest = [f"--config={config}", *rest]
        words = ["measure", what, "--format=json", "--errors=json", f"--store={self.store.store}", *rest]
        try:
            done = self.start(words, self.limit_s)
        except subprocess.TimeoutExpired as error:
            raise BenchError(
                f"it took longer than {self.limit_s:g} s and was interrupted; what it recorded is kept."
            ) from error
        rows = _json_rows(done.stdout)
        failed = Counter(row.get("status") for row in rows)
        if done.returncode and not rows:
            raise BenchError(f"it ended with {done.returncode}: {escape(_last(done.stderr))}")
        return ToolAnswer(
            summary=f"measured {counted(len(rows), 'row')}, exit code {done.returncode}; "
            + ", ".join(f"{count} {escape(str(status))}" for status, count in failed.items()),
            doubt=[
                *caveats.intervals(rows),
                "one run: what varies from run to run is not in these intervals; compare judges two sides with several runs",
                caveats.ROWS_ARE_DATA,
            ],
            rows=plain(rows),
            text=_cut(escape_lines(done.stderr), MOST_TEXT),
        )


def _draw(limits: QuestionLimits, folder: str, store: Store, *arguments: Any) -> Iterator[PictureAnswer]:
    """A chart, for `limited`."""
    yield Questions(OpenStore(store, sandbox=True, config=settings(limits, folder))).draw(*arguments)


def measure_words(command: str) -> list[str]:
    """The words of a command that may be allowed: `measure` and what follows it.

    Raises:
        BenchError: It is no command of `bench measure`.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BenchError(f"cannot read the command {command!r}: {error}.") from error
    words = words[1:] if words[:1] == ["bench"] else words
    if len(words) < 3 or words[0] != "measure":
        raise BenchError(f"{command!r} measures nothing. Allow a command such as: bench measure models --models mlp")
    return words


def plain(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows as JSON holds them; a long text is cut, and says so."""
    return [{str(name): _short(json_value(value)) for name, value in row.items()} for row in rows]


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return _cut(value, MOST_TEXT)
    if isinstance(value, list):
        return [_short(item) for item in value[:MOST_ROWS]]
    if isinstance(value, dict):
        return {_cut(key, MOST_TEXT): _short(item) for key, item in value.items()}
    return value


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} characters more)"


def _bounded(limit: int) -> int:
    if not 1 <= limit <= MOST_ROWS:
        raise BenchError(f"limit is {limit}, and must be from 1 to {MOST_ROWS}.")
    return limit


def _judged(
    sentences: Iterable[str],
    rows: Sequence[Mapping[str, Any]],
    doubts: Sequence[str],
    limit: int,
    text: str | None,
) -> ToolAnswer:
    """The answer of a command that has sentences below its table, or a text."""
    kept = rows[: _bounded(limit)]
    more = Counter(row.get("verdict") for row in rows[len(kept) :])
    cut = ", ".join(f"{count} {verdict or 'without a verdict'}" for verdict, count in more.items())
    return ToolAnswer(
        summary=". ".join(escape(sentence.strip()) for sentence in sentences),
        doubt=[*doubts, *([f"not in rows for want of room: {cut}"] if cut else []), caveats.ROWS_ARE_DATA],
        rows=plain(kept),
        left_out=len(rows) - len(kept),
        text=None if text is None else _cut(text, MOST_DOCUMENT),
    )


def _json_rows(text: str) -> list[dict[str, Any]]:
    try:
        rows = json.loads(text)
    except ValueError:
        return []
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _last(text: str) -> str:
    """The message of an error that was written as JSON, else the last line."""
    line = (text.strip().splitlines() or [""])[-1]
    try:
        return str(json.loads(line)["message"])
    except (ValueError, KeyError, TypeError):
        return line


def escape_lines(text: str) -> str:
    """A text of several lines that cannot steer a terminal."""
    return "\n".join(map(escape, text.splitlines()))
