"""Asking from Python and notebooks: the answers of the commands as values that print themselves.

import bench

store = bench.open(".bench")
store.sql("FROM speedups").df()
store.compare("main", "my-branch")
store.chart("runtime-vs-tokens", configs=["A", "B"])
"""

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, cast

from .query.change.command import Changes
from .query.comparison.command import Compare
from .query.contents.command import Show
from .query.cost.command import FitCosts
from .query.explain.command import Explain, Plan
from .query.lists import Speedups
from .query.question import Asker, Question, documentation_of, signature_of
from .query.regression.command import Regressions
from .query.relation import Relation
from .query.why.command import Why
from .viz.report import ReportRun
from .warehouse.console.numbers import counted
from .warehouse.console.tables import html_table, text_table
from .warehouse.database import Warehouse
from .warehouse.errors import UnknownName
from .warehouse.load import must_exist
from .warehouse.store import Store

if TYPE_CHECKING:
    import altair

    from .query.comparison.compare import Comparison
    from .query.report import Report
    from .query.tables import Description
    from .viz.output.figure import Figure

Row = dict[str, Any]
Result = TypeVar("Result")
Made = TypeVar("Made")
Asked = ParamSpec("Asked")  # options of a question


def open(store: str | os.PathLike[str] | None = None, *, sandbox: bool = False) -> "OpenStore":
    """Open a store to ask it.

    Args:
        store: Folder or address; else $BENCH_STORE, else the nearest .bench upward.
        sandbox: Whether the SQL of queries and charts is kept from files, the network and settings, as by `--sandbox`.

    Raises:
        BenchError: There is no store.
    """
    found = Store.find(store)
    must_exist(found)
    return OpenStore(found, sandbox)


def compare(
    base: str, candidate: str, *, store: str | os.PathLike[str] | None = None, **options: Any
) -> "Verdicts[Comparison]":
    """Compare two sides of a store case by case: `bench.open(store).compare(base, candidate, …)`.

    Raises:
        UnknownName: No run answers to a name, or a column does not hold a value.
        BenchError: There is no store.
    """
    return open(store).compare(base, candidate, **options)


@dataclass(frozen=True, slots=True, repr=False)
class Verdicts(Generic[Result]):
    """The answer of a command: it prints as the command does, and is a table with sentences in a notebook."""

    result: Result  # of the function behind the command
    rows: list[Row]  # every row with all columns, as `--format json` writes them
    columns: list[str]  # of the table for people
    cells: list[list[Any]]
    sentences: list[str]
    text: str | None = None  # in place of the table

    def __repr__(self) -> str:
        if self.text is not None:
            return "\n".join([self.text, *self.sentences])
        return "\n".join([*([text_table(self.columns, self.cells)] if self.cells else []), *self.sentences])

    def _repr_html_(self) -> str:
        table = html_table(self.columns, self.cells) if self.cells else ""
        table = table if self.text is None else f"<pre>{escape(self.text)}</pre>"
        return table + "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences)


def ask_for(
    question: Callable[Asked, Question[Result]], made: "Callable[[Store, Verdicts[Result]], Made]"
) -> "Callable[Concatenate[OpenStore, Asked], Made]":
    """The method that asks a question: its options are its arguments; `made` makes its value of the answer."""
    asked = cast("type[Question[Result]]", question)
    signature = signature_of(asked)

    def method(self: "OpenStore", *args: Any, **kwargs: Any) -> Made:
        return made(self.store, self.answer(asked(**signature.bind(*args, **kwargs).arguments)))

    method.__name__, method.__doc__ = asked.name, documentation_of(asked)
    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    method.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[this, *signature.parameters.values()],
        return_annotation=made if isinstance(made, type) else Verdicts,
    )
    return method  # type: ignore[return-value]


def ask(question: Callable[Asked, Question[Result]]) -> "Callable[Concatenate[OpenStore, Asked], Verdicts[Result]]":
    """The method that asks a question and returns its answer."""
    return ask_for(question, lambda store, found: found)


def ask_several(question: Callable[..., Question[Result]]) -> "Callable[..., Verdicts[Result]]":
    """Like `ask`, for a question whose first option takes any number of arguments."""
    return ask(question)


@dataclass(frozen=True, slots=True, repr=False)
class ReportOfRun:
    """A report: Markdown when printed, HTML in a notebook."""

    store: Store
    found: "Verdicts[Report]"

    @property
    def result(self) -> "Report":
        """The document, and what it is about."""
        return self.found.result

    def markdown(self) -> str:
        """The report as Markdown of any length."""
        return self.result.document.markdown(None)

    def page(self) -> bytes:
        """The report as one offline HTML page, with its charts: what `bench report -o FILE.html` writes."""
        from .viz.report import page

        with Warehouse.open(self.store) as warehouse:
            return page(warehouse, self.result)

    def __repr__(self) -> str:
        return self.markdown()

    def _repr_html_(self) -> str:
        document = self.result.document
        parts = [f"<h2>{escape(document.title)}</h2>", f"<p><b>{escape(document.verdict)}</b></p>"]
        for section in document.sections:
            parts.append(f"<h3>{escape(section.title)}</h3>")
            parts += [f"<p>{escape(sentence)}</p>" for sentence in section.sentences]
            for table in section.tables:
                rows = [[c.shown(value) for c, value in zip(table.columns, row, strict=True)] for row in table.rows]
                parts.append(html_table([column.name for column in table.columns], rows))
        return "".join(parts)


@dataclass(frozen=True, slots=True, repr=False)
class OpenStore:
    """A store to ask. Every question sees what was recorded before it; nothing needs to be closed.

    In a sandbox the SQL of `sql` and `chart` reaches neither files nor the network nor settings.
    """

    store: Store
    sandbox: bool = False
    config: Mapping[str, Any] | None = None  # DuckDB's settings of charts

    def __repr__(self) -> str:
        ((runs, configs),) = self.sql("SELECT count(*), count(DISTINCT config) FROM run_summaries").rows()
        return f"<store {self.store}: {counted(runs, 'run')} of {counted(configs, 'config')}>"

    def sql(self, query: str, parameters: object = None) -> Relation:
        """Ask anything, read-only, as `bench sql` does.

        Args:
            query: One statement, or several separated by semicolons, of which the rows of the last count.
            parameters: Values for `?` or `$name`, when there is one statement.

        Returns:
            The rows, asked when they are wanted: `.rows()`, `.dicts()`, `.arrow()`, `.df()` (pandas), `.pl()` (Polars).
            These raise BenchError for a wrong query.
        """
        return Relation(self.store, query, parameters, self.sandbox)

    def views(self) -> list[Row]:
        """Every view, macro and table, as `bench views` lists them: kind, name, rows."""
        from .query.tables import catalog

        with Warehouse.open(self.store) as warehouse:
            return list(catalog(warehouse).dicts())

    def view(self, name: str) -> "Description":
        """Describe a view, macro or table, as `bench views NAME` describes it.

        Raises:
            UnknownName: There is none by that name.
        """
        from .query.tables import describe

        with Warehouse.open(self.store) as warehouse:
            return describe(warehouse, name)

    def answer(self, question: Question[Result]) -> "Verdicts[Result]":
        """Answer a question as its command does."""
        notes: list[str] = []
        with Warehouse.open(self.store).plan_briefly() as warehouse:
            found = question.answer(warehouse, Asker(notes.append))
            table, rows = found.table(), [dict(row) for row in found.rows]
            cells = [[*row] for row in table.cells]
            return Verdicts(found.result, rows, [*table.columns], cells, [*notes, *found.sentences()], found.text())

    show = ask_several(Show)

    speedups = ask(Speedups)

    compare = ask(Compare)

    regressions = ask_several(Regressions)

    history = ask(Changes)

    explain = ask_several(Explain)

    why = ask(Why)

    plan = ask(Plan)

    cost_model = ask(FitCosts)

    report = ask_for(ReportRun, ReportOfRun)

    def chart(self, name: str, **options: Any) -> "altair.Chart":
        """Draw a chart, as `bench viz NAME` does.

        Args:
            name: The chart, such as runtime-vs-tokens; `bench viz list` lists them.
            options: The options of its command: configs=["A", "B"] is --configs A B.

        Returns:
            The chart with its data, to look at in a notebook, to save, or to build on.

        Raises:
            UnknownName: There is no such chart, or it has no such option.
            NothingToShow: There is nothing to draw.
            MissingExtra: altair is not installed.
        """
        return self.figure(name, **options).altair()

    def figure(self, name: str, **options: Any) -> "Figure":
        """The chart as bench draws it: its text, rows and query, and its specs. Arguments and errors as of `chart`."""
        from .query.ask import shut_in
        from .viz.command import CHARTS, draw_of

        chart = name.replace("_", "-")
        if chart not in CHARTS:
            raise UnknownName("chart", name, CHARTS)
        draw = draw_of(chart)
        known = [parameter for parameter in inspect.signature(draw).parameters if parameter != "warehouse"]
        for option in options:
            if option not in known:
                raise UnknownName("option", option, known, where=f"the chart {chart}")
        with Warehouse.open(self.store, config=self.config) as warehouse:
            if self.sandbox:
                shut_in(warehouse)
            return draw(warehouse, **options)
