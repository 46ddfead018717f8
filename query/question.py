"""Questions: a class each, from which the command, the Python function and the tool for agents are made.

@dataclass(frozen=True, slots=True)
class Slowest(Question[list[Row]]):
    \"""The slowest cases.                            the help of the command

    \\b
        bench slowest
    \"""

    limit: Annotated[int, Option("Cases to show.")] = 10

    def answer(self, warehouse: "Warehouse", asker: Asker) -> Reply[list[Row]]:
        …

command = command_of(Slowest)                       # a line of `command_names.py`
OpenStore.slowest = ask(Slowest)                    # in `api.py`
"""

import contextlib
import dataclasses
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Self, TypeVar

import click

from ..warehouse.console.declared import Option, Surface
from ..warehouse.console.fitting import wide_option, write_fitted
from ..warehouse.console.numbers import share, share_text
from ..warehouse.console.options import (
    Command,
    Values,
    command_line,
    format_option,
    notify,
    store_option,
)
from ..warehouse.console.tables import text_table, write_rows, write_text
from ..warehouse.errors import BenchError, Exit
from ..warehouse.settings import SETTINGS
from ..warehouse.store import Notify, Store
from .filters import where_pairs

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

Row = Mapping[str, Any]
HeadedRows = tuple[Sequence[str], Sequence[Sequence[Any]]]
Result = TypeVar("Result")
PEOPLE = ("table", "markdown")  # formats for people
KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD


class Share(Option):
    """An option for a fraction above 0 and below `most`, written as 3% or 0.03."""

    def __init__(self, help: str, name: str | None = None, *, most: float = 1, **attributes: Any) -> None:
        usual = {"type": lambda text: share(str(text), most), "metavar": "SHARE"}
        super().__init__(help, name, **{**usual, **attributes})

    def build(self, name: str, default: Any) -> click.Parameter:
        """The parameter of the command, which shows a default as a percentage."""
        return super().build(name, default if default is None else share_text(default))


Where = Annotated[
    Mapping[str, Sequence[str]] | None,
    Option(
        "Only rows with these values, of any column or parameter.", cls=Values, metavar="COLUMN=VALUE…", read=where_pairs,
    ),
]  # fmt: skip
Floor = Annotated[
    float | None,
    Share(
        "Smallest change that counts.", most=100,
        show_default=f"the project's for metric and case, else {share_text(SETTINGS['floor'].default)}",
    ),
]  # fmt: skip
AllRuns = Annotated[
    bool,
    Option("Every run a name means, rather than its newest with its repeats."),
]
output_option: Callable[[Any], Any] = click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write to instead of standard output.",
)


@dataclass(frozen=True, slots=True)
class Asker:
    """The one who asks: where sentences go that are said meanwhile, and whether it is the command."""

    notify: Notify
    command: bool = False  # then the project's settings count, and commands to go on with are proposed


@dataclass(frozen=True, slots=True)
class PeopleTable:
    """A table for people, and how it gives way to a narrow terminal: as `write_fitted` says."""

    columns: Sequence[str]
    cells: Sequence[Sequence[Any]]
    shared: Sequence[str] = ()
    spare: Sequence[str] = ()
    reason: str | None = None
    brief: str | None = None

    def write(self, fmt: str, output: Path | None) -> None:
        """Write it as text or Markdown."""
        fitting = {"shared": self.shared, "spare": self.spare, "reason": self.reason, "brief": self.brief}
        write_fitted(self.columns, self.cells, fmt, output, **fitting)  # type: ignore[arg-type]


def _nothing() -> Iterable[str]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(Generic[Result]):
    """An answer. What only some askers want is computed when they want it, while the warehouse is open."""

    result: Result  # of the function behind the question
    columns: Callable[[], Sequence[str]]  # of the rows
    rows: Iterable[Row]  # as programs get them; read once
    table: Callable[[], PeopleTable]
    sentences: Callable[[], Iterable[str]] = _nothing  # below the table
    lead: Callable[[], Iterable[str]] = _nothing  # above it
    hints: Callable[[], Iterable[str]] = _nothing  # below all, what a command proposes to do next
    figure: Callable[[], Iterable[str]] = _nothing  # lines above the table, on standard output
    blocks: "Callable[[], Iterable[str | HeadedRows]] | None" = (
        None  # for people in place of the table: lines and tables
    )
    documents: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    # format -> its text in place of the rows or of table and sentences, from the command line
    headings_alone: bool = True  # whether a table without rows is shown
    markdown_without_rows: Callable[[], str] | None = None  # Markdown in place of such a table
    says_always: bool = False  # whether the sentences belong to rows for programs, too
    deliver: Callable[[], None] | None = None  # what the command does with it, where it does not write rows
    exit_code: Exit = Exit.OK
    nothing: BenchError | None = None  # what the command ends with in place of an answer
    failure: BenchError | None = None  # what it ends with after the answer

    def write(self, fmt: str, output: Path | None, command: str) -> None:
        """Write it as a command does; `command` is the line that asks for it again."""
        if fmt in self.documents:
            write_text(self.documents[fmt](command), output)
        elif fmt == "table" and self.blocks is not None:
            self._write_blocks(output)
        elif fmt in PEOPLE:
            self._write_table(fmt, output)
        else:
            write_rows(self.columns(), (list(row.values()) for row in self.rows), fmt, output)
        if (fmt in PEOPLE and fmt not in self.documents) or self.says_always:
            for sentence in (*self.sentences(), *(self.hints() if fmt in PEOPLE else ())):
                notify(sentence)

    def text(self) -> str | None:
        """Its blocks as one text, as on a wide terminal; None without any."""
        if self.blocks is None:
            return None
        return "\n".join(block if isinstance(block, str) else text_table(*block) for block in self.blocks())

    def _write_blocks(self, output: Path | None) -> None:
        if output is not None:
            write_text(f"{self.text()}\n", output)
            return
        for block in self.blocks() if self.blocks is not None else ():
            if isinstance(block, str):
                click.echo(block)
            else:
                write_rows(*block, "table")

    def _write_table(self, fmt: str, output: Path | None) -> None:
        for sentence in self.lead():
            notify(sentence)
        if fmt == "table" and output is None and (lines := [*self.figure()]):
            click.echo("\n".join(lines))
        table = self.table()
        if not table.cells and fmt == "markdown" and self.markdown_without_rows is not None:
            write_text(self.markdown_without_rows(), output)
        elif table.cells or self.headings_alone or output is not None:
            table.write(fmt, output)


class Question(Generic[Result]):
    """A question to a store. Its fields are its options; those before `KW_ONLY` are positional.

    The docstring is the help of the command.
    """

    __slots__ = ()
    name: ClassVar[str]  # of the command
    for_agents: ClassVar[str] = ""  # the tool's description
    views: ClassVar[
        Mapping[str, str | Sequence[str]]
    ] = {}  # option that chooses the rows, "" without one -> view or group that they are of, or several
    version: ClassVar[int] = 1  # of the rows without such an option: raised when a column goes, or changes its type
    has_verdicts: ClassVar[bool] = False  # whether their verdict is one of those of `bench compare`
    text_alone: ClassVar[bool] = False  # whether agents get its text without rows
    fitted: ClassVar[bool] = True  # whether its tables give way to a narrow terminal
    writes_rows: ClassVar[bool] = True  # whether its command has --format and --output; else its replies deliver

    def answer(self, warehouse: "Warehouse", asker: Asker) -> Reply[Result]:
        """Reply it.

        Raises:
            BenchError: What is asked for is not there.
        """
        raise NotImplementedError

    def places(self) -> Sequence[str]:
        """Its options that may be paths: the command reads these in place."""
        return ()

    def asked_store(self, store: Store) -> contextlib.AbstractContextManager[Store]:
        """The store to ask: that of the command, or one that has its paths, read in place."""
        if not (places := self.places()):
            return contextlib.nullcontext(store)
        from .command_services import command_services
        from .comparison.sides import sides_in_place

        every = bool(getattr(self, "all_runs", False))
        return sides_in_place(store, places, notify, command_services().ingest_in_place, all_runs=every)

    def put(self, store: Store, answer: "Callable[[Warehouse], None]") -> None:
        """Let the command answer from the store that it asks."""
        from ..warehouse.database import Warehouse

        with self.asked_store(store) as asked, Warehouse.open(asked).plan_briefly() as warehouse:
            answer(warehouse)

    def prepared(self, store: Store) -> Self:
        """The question of the command, after its own preparations."""
        return self


@dataclass(frozen=True, slots=True)
class QuestionField:
    """A field of a question: its type without marks, its default (`...` if it has none), its option."""

    name: str
    type: Any
    default: Any
    option: Option
    positional: bool

    @property
    def tool_name(self) -> str:
        """Its name for agents."""
        return self.option.tool or self.name


def fields_of(question: type[Question[Any]]) -> tuple[QuestionField, ...]:
    """The options of a question, in order."""
    hints = typing.get_type_hints(question, include_extras=True)
    found = []
    for each in dataclasses.fields(question):  # type: ignore[arg-type]
        kind, *marks = typing.get_args(hints[each.name])
        (option,) = (mark for mark in marks if isinstance(mark, Option))
        default = ... if each.default is dataclasses.MISSING else each.default
        found.append(QuestionField(each.name, kind, default, option, not each.kw_only))
    return tuple(found)


def signature_of(question: type[Question[Any]]) -> inspect.Signature:
    """The signature of the Python function, without its store."""
    parameters = []
    for each in fields_of(question):
        if each.option.on is Surface.COMMAND:
            continue
        several = each.positional and _takes_several(each)
        kind = (
            inspect.Parameter.VAR_POSITIONAL
            if several
            else KEYWORD
            if each.positional
            else inspect.Parameter.KEYWORD_ONLY
        )
        default = inspect.Parameter.empty if several or each.default is ... else each.default
        parameters.append(inspect.Parameter(each.name, kind, default=default, annotation=str if several else each.type))
    return inspect.Signature(parameters)


def _takes_several(each: QuestionField) -> bool:
    return each.default == () or each.option.attributes.get("nargs") == -1


def tool_signature_of(question: type[Question[Any]]) -> inspect.Signature:
    """The signature of the tool, in types that JSON has; None stands for no values."""
    parameters = []
    for each in fields_of(question):
        if each.option.on is not Surface.ALL:
            continue
        kind, default = each.type, inspect.Parameter.empty if each.default is ... else each.default
        if _takes_several(each):
            kind, default = list[str] | None, None
        elif typing.get_args(Where)[0] == kind:
            kind = dict[str, list[str]] | None
        parameters.append(inspect.Parameter(each.tool_name, KEYWORD, default=default, annotation=kind))
    if not question.text_alone:
        parameters.append(inspect.Parameter("limit", KEYWORD, default=50, annotation=int))
    return inspect.Signature(parameters)


def documentation_of(question: type[Question[Any]]) -> str:
    """The docstring of the Python function: what is asked, and what each argument means."""
    first, *_ = inspect.cleandoc(str(question.__doc__)).split("\n\n")
    lines = [
        f"{each.name}: {each.option.help}" for each in fields_of(question) if each.option.on is not Surface.COMMAND
    ]
    arguments = "\n".join(f"    {line}" for line in lines)
    return f"{first}\n\nAs `bench {question.name}` does.\n\nArgs:\n{arguments}"


def command_of(question: type[Question[Any]]) -> click.Command:
    """The command that asks a question."""

    def run(*, store: Store, **given: Any) -> int:
        values = {each.name: _read(each, given[each.name]) for each in fields_of(question)}
        asked, codes = question(**values).prepared(store), [Exit.OK]

        def answer(warehouse: "Warehouse") -> None:
            found = asked.answer(warehouse, Asker(notify, command=True))
            if found.nothing is not None:
                raise found.nothing
            if found.deliver is not None:
                found.deliver()
            else:
                found.write(given["fmt"], given["output"], _line(question))
            codes.append(found.exit_code)
            if found.failure is not None:
                raise found.failure

        asked.put(store, answer)
        return codes[-1]

    parameters = [each.option.build(each.name, each.default) for each in fields_of(question)]
    rows = ((wide_option,) if question.fitted else ()) + (format_option, output_option)
    for option in reversed(((*rows,) if question.writes_rows else ()) + (store_option,)):
        run = option(run)
    made = click.command(question.name, cls=Command, help=str(question.__doc__))(run)
    made.params[:0] = parameters
    return made


def _read(each: QuestionField, value: Any) -> Any:
    return value if each.option.read is None else each.option.read(value)


def _line(question: type[Question[Any]]) -> str:
    """The command as it was given, without what concerns its output alone."""
    presented = [each.name for each in fields_of(question) if each.option.on is Surface.COMMAND]
    return command_line(click.get_current_context(), without=(*presented, "fmt", "output", "store"))
