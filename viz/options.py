"""Options of charts: the parameters of a chart's `draw`, and the options of output that every chart has."""

import contextlib
import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import click

from ..warehouse.console.declared import Option
from ..warehouse.console.options import Choice, Command, Values, notify, store_option
from ..warehouse.errors import BenchError, UnknownName
from ..warehouse.store import Store
from .output.files import FORMATS
from .style.theme import THEMES

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse
    from .output.figure import Figure


class UserSQL:
    """Marks SQL of the user: the command denies it access to files, the network and settings."""


def inches(text: str) -> tuple[float, float]:
    """Width and height in inches, as 6x4.

    Raises:
        BenchError: It is no size, or none that a chart can have.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*[xX×]\s*(\d+(?:\.\d+)?)\s*", text)
    if match is None:
        raise BenchError(f"{text!r} is not a size. Give width x height in inches, such as 6x4.")
    width, height = float(match[1]), float(match[2])
    if not (2 <= width <= 100 and 1.8 <= height <= 100):
        raise BenchError(f"{text!r}: a chart is 2 to 100 inches wide, and 1.8 to 100 high.")
    return width, height


Title = Annotated[str | None, Option("Title instead of the chart's own; '' draws none, and no subtitle.")]
Size = Annotated[
    tuple[float, float] | None,
    Option(
        "Width and height of images, in inches.  [default: 6x4, more where the chart needs it]",
        type=click.types.FuncParamType(inches),
        metavar="WxH",
    ),
]


def chart_command(name: str, draw: "Callable[..., Figure]") -> click.Command:
    """The command of a chart: its parameters are options, its docstring up to the form feed is the help."""
    _, *parameters = inspect.signature(draw).parameters.values()
    confined = any(UserSQL in getattr(parameter.annotation, "__metadata__", ()) for parameter in parameters)

    @click.command(name, cls=Command, help=str(draw.__doc__).partition("\f")[0])
    @click.option(
        "--ppi", type=click.FloatRange(36, 1200), default=300, show_default=True, help="Dots per inch of PNG."
    )
    @click.option("--font", help="Font family for all text.")
    @click.option(
        "--theme",
        "look",
        type=Choice(THEMES),
        help="paper: on white. dark: on dark. screen: images without a background, readable on both;"
        " pages follow the reader's system.  [default: paper for images, screen for pages]",
    )
    @click.option("-o", "--output", multiple=True, metavar="FILE", help="File to write; several may be given.")
    @click.option(
        "--format",
        "fmt",
        type=Choice(FORMATS),
        help="Format of the files, by default as their names say; without -o, format of what goes to standard output.",
    )
    @store_option
    def command(
        output: tuple[str, ...], fmt: str | None, ppi: float, font: str | None, look: str | None, store: Store,
        named: tuple[str, ...] = (), **options: Any,
    ) -> None:  # fmt: skip
        def drawn(warehouse: "Warehouse") -> "Figure":
            if confined:
                from ..query.ask import shut_in

                shut_in(warehouse)
            if named:
                _name(warehouse, named, options)
            return draw(warehouse, **options)

        with _sides_in_place(store, _sides(named, options), every=bool(options.get("all_runs"))) as held:
            _deliver(drawn, held, output, fmt, ppi, font, look)

    command.params[:0] = map(_parameter, parameters)
    names = {parameter.name for parameter in parameters}
    if "configs" in names:
        cases = "|CASE" if "models" in names else ""
        command.params.insert(0, click.Argument(["named"], nargs=-1, metavar=f"[CONFIG|PATH{cases}]..."))
    return command


def option_values(chart: str, draw: "Callable[..., Figure]", given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a chart from values such as JSON has, each read as its option reads it; none may name a file.

    Raises:
        UnknownName: The chart has no such option.
        BenchError: A value is none of the option's.
    """
    _, *parameters = inspect.signature(draw).parameters.values()
    options = {parameter.name: _parameter(parameter) for parameter in parameters}
    known = {name: option for name, option in options.items() if not isinstance(option.type, click.Path)}
    values: dict[str, Any] = {}
    for name, value in given.items():
        option = known.get(name)
        if option is None:
            raise UnknownName("option", name, known, where=f"the chart {chart}")
        several = isinstance(option, Values) or option.nargs == -1
        try:
            if several:
                values[name] = tuple(map(str, [value] if isinstance(value, str) else value))
            elif getattr(option, "is_flag", False):
                values[name] = value is True
            else:
                values[name] = None if value is None else option.type(str(value), option)
        except (click.BadParameter, TypeError) as error:
            raise BenchError(f"chart {chart}: {name} cannot be {value!r}: {error}.") from error
    return values


def _sides(named: Sequence[str], options: Mapping[str, Any]) -> list[str]:
    """Parameters that take a name or a path: arguments of any chart, sides of one that compares."""
    return [*named, *options.get("sides", ()), *(options[side] for side in ("base", "candidate") if side in options)]


def _name(warehouse: "Warehouse", named: Sequence[str], options: dict[str, Any]) -> None:
    """Put what is named without an option into `configs`; a path also into `runs`, unless the chart is of many runs.

    The name of a case that is none of a config goes into `models`, where the chart has them.

    Raises:
        UnknownName: It is neither.
    """
    from ..query.comparison.sides import configs_of, runs_of

    if "models" in options:
        models = _cases_among(warehouse, named)
        options["models"] = (*models, *options["models"])
        named = [text for text in named if text not in models]
    configs, paths = configs_of(warehouse, named)
    options["configs"] = (*configs, *options["configs"])
    if paths and "last" not in options:
        every = options.get("all_runs") or options.get("split_by")
        runs = (run for text in named for run in runs_of(warehouse, text, bool(every)))
        options["runs"] = (*options["runs"], *runs)


def _cases_among(warehouse: "Warehouse", named: Sequence[str]) -> list[str]:
    """Those that are no configs and no paths, but names of cases.

    Raises:
        UnknownName: One is nothing of this.
    """
    from ..query.run_paths import is_path

    configs = {config for (config,) in warehouse.rows("SELECT DISTINCT config FROM run_summaries")}
    others = [text for text in named if text not in configs and not is_path(text)]
    cases = [name for (name,) in warehouse.rows("SELECT DISTINCT name FROM cases ORDER BY 1")] if others else []
    for text in others:
        if text not in cases:
            raise UnknownName("config or case", text, [*configs, *cases], cure="List them with: bench list cases")
    return others


def _sides_in_place(store: Store, named: Sequence[str], *, every: bool) -> "contextlib.AbstractContextManager[Store]":
    """A store that also has what is no name of a config but a path."""
    from ..query.comparison.sides import sides_in_place

    def ingest(target: Store, paths: Sequence[str]) -> None:
        from ..ingest.command import ingest_in_place

        ingest_in_place(target, paths)

    return sides_in_place(store, named, notify, ingest, all_runs=every)


def _parameter(parameter: inspect.Parameter) -> click.Parameter:
    """The click parameter for a parameter of `draw`; one without an option is an argument."""
    for mark in getattr(parameter.annotation, "__metadata__", ()):
        if isinstance(mark, Option):
            return mark.build(parameter.name, parameter.default)
    several = parameter.annotation == Sequence[str]
    return click.Argument([parameter.name], nargs=-1 if several else 1, required=True)


def _memory_limit() -> str:
    """DuckDB's memory limit: a quarter of the machine's memory, at least 1 GB. More is spilled to disk."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on every system
        memory = 0
    return f"{max(1000, memory // 4_000_000)}MB"


def _deliver(
    draw: "Callable[[Warehouse], Figure]",
    store: Store,
    output: tuple[str, ...],
    fmt: str | None,
    ppi: float,
    font: str | None,
    look: str | None,
) -> None:
    """Start the renderer, query the warehouse, and write every file; without files draw on standard output."""
    from .output import files
    from .output.provenance import sentence

    wanted = files.targets(output, fmt)
    with contextlib.ExitStack() as stack:
        renderer = files.renderer_for(wanted)
        if renderer is not None:
            stack.enter_context(renderer)
        from ..warehouse.database import Warehouse

        with Warehouse.open(store, config={"memory_limit": _memory_limit()}) as warehouse:
            figure = draw(warehouse)
        for count in figure.provenance.counts:
            click.echo(sentence(count), err=True)
        for note in figure.notes:
            click.echo(f"note: {note}", err=True)
        if wanted:
            files.write(figure, wanted, renderer, ppi=ppi, font=font, look=look)
        else:
            files.show(figure, fmt)
