"""A chart: what is drawn of a query, and its figure in the title and size that somebody asks for.

A module of `charts/` says the first by a function that `chart` makes its `draw`.
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..warehouse.console.tables import width
from ..warehouse.errors import NothingToShow
from .data import Row, all_configs
from .options import Size, Title
from .output.figure import HEADING_LINES, Figure, Form
from .output.provenance import Provenance, sha256_of
from .style import theme
from .style.heading import Heading
from .style.labels import printable, shared_part, wrap

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

_NO_HEADING = "no heading is drawn, so the caption has to say: {}. {}."
_NO_ROOM = "{:g}x{:g} inches have no room for: {}"
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_FRAME = {
    name: inspect.Parameter(name, _KEYWORD, default=None, annotation=kind)
    for name, kind in (("title", Title), ("size", Size))
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart: its form, rows and query, and what its heading says; the title and the size are somebody's choice."""

    form: Form
    sql: str  # the statement that gives `rows`
    rows: Sequence[Row]  # those that are drawn
    parameters: Mapping[str, Any]  # of the chart, as JSON
    title: str  # what is drawn: the title where no finding is, else the first of the facts
    finding: str | None = None  # what the picture shows, in one sentence: the title, or a fact where it cannot be that
    facts: Sequence[str] = ()  # the parts of the subtitle
    counts: Sequence[dict[str, Any]] = ()  # of rows that were read, left out and drawn: each a name, then numbers
    total: int | None = None  # how many rows the drawn ones stand for, if they were downsampled
    notes: Sequence[str] = ()  # sentences beside it

    def figure(
        self, name: str, *, title: str | None = None, size: tuple[float, float] | None = None, configs: Sequence[str] = ()
    ) -> Figure:  # fmt: skip
        """The figure.

        Args:
            name: The command that draws it.
            title: Title that was asked for; an empty one draws no heading, for a paper whose caption says it.
            size: Inches that were asked for.
            configs: Configs of the store from the oldest on, whose looks are settled, where the form gives looks to configs.

        Raises:
            NothingToShow: There are no rows.
        """
        rows = self.rows
        if not rows:
            raise NothingToShow("there is nothing to draw. See what the store holds with: bench list runs")
        provenance = Provenance(
            chart=name,
            title="",
            sql=self.sql,
            parameters=dict(self.parameters),
            counts=list(self.counts),
            drawn=len(rows),
            total=len(rows) if self.total is None else self.total,
            data_sha256=sha256_of([list(row.values()) for row in rows]),
        )

        looks = {"all_configs": configs} if configs else {}

        def sized(size: Size) -> Figure:
            form = dataclasses.replace(self.form, wanted_size=size, **looks)
            told = not title and _fits(self.finding, form)
            named = dataclasses.replace(
                provenance, title=printable(title or (self.finding if told and self.finding else self.title))
            )
            others = [self.title] if told else [self.finding] if self.finding else []
            said = [printable(fact) for fact in (*others, *self.facts)]
            return _figure(form, named, said, rows, self.notes, headed=title != "", sized=sized)

        return sized(size)


def chart(draw: Callable[..., Chart]) -> Callable[..., Figure]:
    """Let a function of a warehouse and of options draw a figure: what it returns, in the title and the size asked for.

    These two are options of every chart. A function that asks for fewer rows in a small figure has `size` itself.
    """
    own = inspect.signature(draw)

    @functools.wraps(draw)
    def figure(warehouse: "Warehouse", *sides: Any, title: Title = None, size: Size = None, **options: Any) -> Figure:
        given = {"size": size} if "size" in own.parameters else {}
        found = draw(warehouse, *sides, **options, **given)
        name = draw.__module__.rpartition(".")[2].replace("_", "-")
        configs = all_configs(warehouse) if "all_configs" in found.form.__dataclass_fields__ else ()
        return found.figure(name, title=title, size=size, configs=configs)

    parameters = [each for each in own.parameters.values() if each.name not in _FRAME]
    figure.__signature__ = own.replace(  # type: ignore[attr-defined]
        parameters=[*parameters, *_FRAME.values()], return_annotation=Figure
    )
    return figure


def _fits(finding: str | None, form: Form) -> bool:
    """Return whether a figure of the wanted size has room for all of a finding, which without its middle would be another."""
    if not finding or not form.wanted_size:
        return bool(finding)
    title = printable(finding)
    return " ".join(Heading.fitting(title, [], *form.wanted_size, least=form.least, wide=True).title) == title


def _figure(
    form: Form, provenance: Provenance, facts: Sequence[str], rows: Sequence[Row], notes: Sequence[str], *, headed: bool,
    sized: Callable[[Size], Figure],
) -> Figure:  # fmt: skip
    named, shown = zip(*form.names, strict=True) if form.names else ((), ())
    said = [*facts, *([f"names: {shared}"] if (shared := shared_part(named, shown)) else [])]
    title, facts_text = provenance.title, " · ".join(said)
    texts = {text for name in form.drawn_fields for text in form.fields[name] if type(text) is str}
    letters = "".join((title, facts_text, *sorted(texts)))

    def heading(across: float, height: float | None = None) -> Heading:
        if not headed:
            return Heading([], [], theme.heading_points(0, 0))
        return Heading.fitting(title, said, across, height, least=form.least, wide=width(letters) > len(letters))

    usual = heading(form.size[0])
    more = max(0.0, usual.points - theme.heading_points(1, HEADING_LINES - 1)) / theme.POINTS_PER_INCH
    needed = form.size[0], round(form.size[1] + more, 2)
    size, head, missing = needed, usual, list[str]()
    if form.wanted_size:
        size, head = form.wanted_size, heading(*form.wanted_size)
        missing = [*head.left_out, *form.left_out(size, head.points)]

    def spec(interactive: bool) -> dict[str, Any]:
        drawn = form.spec(interactive, size, head.points)
        if not headed:
            return {"description": f"{title}. {facts_text}.", **drawn}
        frame: dict[str, Any] = {"frame": "bounds"}  # from the left end of all labels
        if "concat" in drawn:  # which has no bounds
            left = drawn.get("padding", {}).get("left", theme.PADDING)
            frame = {"frame": "group", "dx": theme.PADDING - left}
        heading = {"text": head.title, "subtitle": head.subtitle, **frame}
        return {"title": heading, "description": f"{title}. {facts_text}.", **drawn}

    def text(columns: int, lines: int, colour: bool) -> str:
        above = [*wrap([title], columns, " "), *wrap(said, columns, " · "), ""] if headed else []
        return "\n".join([*above, *form.text(columns, lines, colour)])

    return Figure(
        provenance=provenance,
        size=size,
        columns=tuple(rows[0]) if rows else (),
        rows=[tuple(row.values()) for row in rows],
        fields=form.fields,
        drawn_fields=form.drawn_fields,
        spec=spec,
        text=text,
        names=form.names,
        letters=letters,
        notes=[
            *notes,
            *([] if headed else [_NO_HEADING.format(title, facts_text)]),
            *([_NO_ROOM.format(*size, " · ".join(missing))] if missing else ()),
        ],
        sized=sized,
        is_full_size=size[0] >= needed[0] and size[1] >= needed[1],
    )
