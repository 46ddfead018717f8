"""A figure: one chart before it has a file format."""

import json
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from ...warehouse.errors import MissingExtra
from ..style import theme
from . import html
from . import provenance as embedding
from .provenance import Provenance

if TYPE_CHECKING:
    import altair


SIZE = (6.0, 4.0)  # inches, where neither the user nor the rows want another
HEADING_LINES = 3  # lines of title and subtitle that forms reckon with
_PAGE, _NOTEBOOK = 130, 105  # pixels to the inch of height
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
    notes: list[str] = field(default_factory=list)  # sentences beside it
    sized: "Callable[[tuple[float, float] | None], Figure]"  # the same in another size, or in the one it needs
    is_full_size: bool  # it has the size it needs, or more

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
        if not self.is_full_size:
            return self.sized(None).interactive(font)
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
        if not self.is_full_size:
            return self.sized(None).block()
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
