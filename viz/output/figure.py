"""A figure: one chart before it has a file format, and the function by which chart modules make it."""

import dataclasses
import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from ...warehouse.console.tables import width
from ...warehouse.errors import MissingExtra, NothingToShow
from ..data import Row
from ..style import theme
from ..style.heading import Heading
from ..style.labels import printable, shared_part, wrap
from . import html
from . import provenance as embedding
from .provenance import Provenance, sha256_of

if TYPE_CHECKING:
    import altair


SIZE = (6.0, 4.0)  # inches, where neither the user nor the rows want another
HEADING_LINES = 3  # lines of title and subtitle that forms reckon with
_PAGE, _NOTEBOOK = 130, 105  # pixels to the inch of height
_NO_HEADING = "no heading is drawn, so the caption has to say: {}. {}."
_NO_ROOM = "{:g}x{:g} inches have no room for: {}"
_SEVERAL = {"concat", "hconcat", "vconcat", "facet", "repeat"}  # keys of specs whose views have sizes of their own


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One chart: its data and its spec."""

    provenance: Provenance
    size: tuple[float, float]  # inches
    columns: tuple[str, ...]  # of `rows`, as people call them
    rows: list[tuple[Any, ...]]  # what is drawn, in drawing order
    fields: dict[str, list[Any]]  # the same by column as the spec calls them, plus what tooltips say
    drawn_fields: tuple[str, ...]  # those that a still image needs
    spec: Callable[[bool], dict[str, Any]]  # Vega-Lite without data and config; True: to be played with
    text: Callable[[int, int, bool], str]  # columns, rows, colour -> the chart in characters
    names: list[tuple[str, str]]  # series: full name, value in the data
    letters: str  # all text of the figure, for its choice of fonts
    notes: list[str] = field(default_factory=list)  # warnings
    full_size: "Callable[[], Figure] | None" = None  # the same in the size it needs, where that is more

    def still(self, font: str, look: str = "paper") -> dict[str, Any]:
        """The spec for an image of exactly `size`, in one of `theme.THEMES`."""
        spec = self.spec(False)
        width, height = (round(inches * theme.POINTS_PER_INCH, 2) for inches in self.size)
        frame = {
            "width": width,
            "height": height,
            "autosize": {"type": "fit", "contains": "padding"},
            "padding": theme.PADDING,
        }
        return {
            "$schema": theme.SCHEMA,
            **(frame if not _SEVERAL & spec.keys() else {}),
            **({} if "data" in spec else {"data": {"values": self._values(self.drawn_fields)}}),
            **spec,
            "config": {**theme.image_config(font, look, theme.scale_of(self.size[0])), **spec.get("config", {})},
        }

    def interactive(self, font: str = "sans-serif") -> dict[str, Any]:
        """The whole spec with data, tooltips and provenance, for JSON files and notebooks; as large as it needs."""
        if self.full_size:
            return self.full_size().interactive(font)
        spec = self.spec(True)
        frame = {"width": 640, "height": round(self.size[1] * _NOTEBOOK)}
        return {
            "$schema": theme.SCHEMA,
            "usermeta": {**spec.pop("usermeta", {}), embedding.KEYWORD: json.loads(self.provenance.json())},
            **(frame if not _SEVERAL & spec.keys() else {}),
            "data": {"values": self._values(tuple(self.fields))},
            **spec,
            "config": {**theme.screen_config(font, dark=False), **spec.get("config", {})},
        }

    def altair(self) -> "altair.Chart":
        """The interactive chart as an Altair object, to look at in a notebook or to build on.

        Raises:
            MissingExtra: altair is not installed.
        """
        try:
            import altair
        except ImportError:
            raise MissingExtra("altair", "viz") from None
        return altair.Chart.from_dict(self.interactive())

    def block(self) -> html.Block:
        """The chart as part of a page; as high as it needs."""
        if self.full_size:
            return self.full_size().block()
        spec = self.spec(True)
        height = round(self.size[1] * _PAGE)
        frame = {"width": "container", "height": height, "autosize": {"type": "fit", "contains": "padding"}}
        return html.Block(
            title=self.provenance.title,
            spec={"$schema": theme.SCHEMA, **(frame if not _SEVERAL & spec.keys() else {}), **spec},
            columns=[_encode_column(name, values) for name, values in self.fields.items()],
            names=self.names,
        )

    def page(self, font: str, bundle: bytes, look: str = "screen") -> bytes:
        """The offline HTML page, in one of `theme.THEMES`."""
        return html.page(self.block(), self.provenance, font=font, bundle=bundle, look=look)

    def _values(self, names: Sequence[str]) -> list[dict[str, Any]]:
        columns = [self.fields[name] for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _encode_column(name: str, values: list[Any]) -> dict[str, Any]:
    """A column as JSON: texts as codes into the list of those there are."""
    if not any(isinstance(value, str) for value in values):
        return {"name": name, "values": values}
    codes: dict[Any, int] = {}
    coded = [codes.setdefault(value, len(codes)) for value in values]
    return {"name": name, "values": list(codes), "codes": coded}


class Form(Protocol):
    """The layout of rows: bars, lines, a heat map … It draws pictures and text, and does not know what rows mean."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    @abstractmethod
    def wanted_size(self) -> tuple[float, float] | None:
        """Inches the user wants."""

    @property
    @abstractmethod
    def size(self) -> tuple[float, float]:
        """Inches it needs, whatever the user wants, below a title of HEADING_LINES lines."""

    @property
    @abstractmethod
    def least(self) -> float:
        """The minimum height below the heading, points; 0 for none."""

    @property
    @abstractmethod
    def fields(self) -> dict[str, list[Any]]:
        """Columns of the data by the names that the spec uses."""

    @property
    @abstractmethod
    def drawn_fields(self) -> tuple[str, ...]:
        """Those that a still image needs."""

    @property
    @abstractmethod
    def names(self) -> list[tuple[str, str]]:
        """The series that can be shown alone: full name, value in the data."""

    @abstractmethod
    def spec(self, interactive: bool, size: tuple[float, float], head: float) -> dict[str, Any]:
        """Vega-Lite without title, data and config, for a figure of that size; the title takes `head` points.

        Of a still image it has data where these are not all rows.
        """

    @abstractmethod
    def left_out(self, size: tuple[float, float], head: float) -> list[str]:
        """The parts that do not fit into an image of that size."""

    @abstractmethod
    def text(self, columns: int, rows: int, colour: bool) -> list[str]:
        """The same in characters, line by line."""


def compose(
    chart: str,
    *,
    title: str | None,
    default_title: str,
    facts: Sequence[str],
    form: Form,
    sql: str,
    rows: Sequence[Row],
    parameters: Mapping[str, Any],
    finding: str | None = None,
    counts: Sequence[dict[str, Any]] = (),
    total: int | None = None,
    notes: Sequence[str] = (),
) -> Figure:
    """A figure of a form.

    Args:
        chart: The command that draws it.
        title: Title that was asked for; an empty one draws no heading, for a paper whose caption says it.
        default_title: What is drawn: the title where no finding is, else the first of the facts.
        facts: The parts of the subtitle.
        form: The picture.
        sql: The statement that gives `rows`.
        rows: The drawn rows.
        parameters: The chart's parameters, as JSON.
        finding: What the picture shows, in one sentence: the title, or a fact where it cannot be that.
        counts: Counts of rows that were read, left out and drawn: each a name, then numbers.
        total: How many rows the drawn ones stand for, if they were downsampled.
        notes: Warnings.

    Raises:
        NothingToShow: There are no rows.
    """
    if not rows:
        raise NothingToShow("there is nothing to draw. See what the store holds with: bench list runs")
    provenance = Provenance(
        chart=chart,
        title="",
        sql=sql,
        parameters=dict(parameters),
        counts=list(counts),
        drawn=len(rows),
        total=len(rows) if total is None else total,
        data_sha256=sha256_of([list(row.values()) for row in rows]),
    )

    def drawn_as(form: Form) -> Figure:
        told = not title and _fits(finding, form)
        named = dataclasses.replace(
            provenance, title=printable(title or (finding if told and finding else default_title))
        )
        others = [default_title] if told else [finding] if finding else []
        said = [printable(fact) for fact in (*others, *facts)]
        whole = partial(drawn_as, dataclasses.replace(form, wanted_size=None))
        return _figure(form, named, said, rows, notes, headed=title != "", whole=whole)

    return drawn_as(form)


def _fits(finding: str | None, form: Form) -> bool:
    """Return whether a figure of the wanted size has room for all of a finding, which without its middle would be another."""
    if not finding or not form.wanted_size:
        return bool(finding)
    title = printable(finding)
    return " ".join(Heading.fitting(title, [], *form.wanted_size, least=form.least, wide=True).title) == title


def _figure(
    form: Form, provenance: Provenance, facts: Sequence[str], rows: Sequence[Row], notes: Sequence[str], *, headed: bool,
    whole: "Callable[[], Figure]",
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
        full_size=whole if size[0] < needed[0] or size[1] < needed[1] else None,
    )
