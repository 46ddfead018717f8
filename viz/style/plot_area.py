"""The room of a plot in an image of a given size, and the letters that fit there."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import theme
from .labels import are_told_apart, ems, labels, shorten_line, shorten_to_fit, wrap
from .units import log_ticks

_BELOW = 30.0  # points of an axis with its title
_BESIDE = 52.0  # of an axis of numbers with its title
_ROW = 1.15  # lines apart, in sizes of their font
_ENTRY = 20.0  # of a legend's entry without its text
_TICK = 32.0, 13.0  # of a tick with its label: across, and upwards
_PHONE = 2.6  # inches of an image whose rows have labels as a phone needs them
_SMALLEST = 4.5  # points of a font; larger on a slide
_NAMES, _NARROW_NAMES = 5.5, 8.0  # columns of a row's label for each inch, of a narrow image more


def row_labels(names: Sequence[str], inches: float) -> dict[str, str]:
    """Labels of rows in an image that wide: in a third of it, or more where less does not tell the names apart."""
    usual = _row_columns(inches)
    columns = next((n for n in (usual, usual * 5 // 4, usual * 3 // 2) if are_told_apart(names, n)), usual)
    return labels(names, columns)


def line_labels(names: Sequence[str], inches: float) -> dict[str, str]:
    """Labels of source lines: the number of each stays whole, its text loses its end."""
    columns = _row_columns(inches) * 5 // 4
    return {name: shorten_line(name, columns) for name in names}


def _row_columns(inches: float) -> int:
    scale = theme.scale_of(inches)
    return max(10, int(inches * (_NARROW_NAMES if scale < 1 else _NAMES / scale)))


Labelling = Callable[[Sequence[str], float], dict[str, str]]  # labels of names in an image so many inches wide


def brief_rows(rows: Mapping[str, str], labelling: Labelling = row_labels) -> dict[str, Any]:
    """Labels of rows for narrow pages, as on a phone: pairs of labels, the one in full and a brief one."""
    brief = labelling(list(rows), _PHONE)
    return {"usermeta": {"brief": [[label, brief[name]] for name, label in rows.items() if brief[name] != label]}}


@dataclass(frozen=True, slots=True)
class PlotArea:
    """The area where a plot is drawn."""

    width: float  # points
    height: float
    scale: float  # of fonts
    beyond: float = 0.0  # points that the title of a panel's axis may be longer than it; it then has one line

    @classmethod
    def of(
        cls,
        size: tuple[float, float],
        head: float,
        *,
        below: float = 0.0,
        beside: Sequence[str] = (),
        rows: Sequence[str] = (),
        title: str = "",
    ) -> "PlotArea":
        """The room that is left.

        Args:
            size: Of the image, in inches.
            head: Points of its title.
            below: Inches of the legend below the plot.
            beside: Labels of the legend beside it.
            rows: Labels of the vertical axis, where those are names.
            title: Of the horizontal axis, which may need a second line.
        """
        scale = theme.scale_of(size[0])
        width, height = (inches * theme.POINTS_PER_INCH for inches in size)
        label = theme.LABEL * scale
        left = max((ems(row) * label + 8 for row in rows), default=_BESIDE * scale)
        right = max((ems(name) * label + 24 for name in beside), default=0.0)
        high = height - head - below * theme.POINTS_PER_INCH - _BELOW * scale
        across = max(1.0, width - 2 * theme.PADDING - left - right)
        second = theme.AXIS_TITLE * scale * _ROW if ems(title) * theme.AXIS_TITLE * scale > across else 0.0
        return cls(across, max(1.0, high - second), scale)

    def title(self, text: str, *, across: bool) -> str | list[str]:
        """The title of an axis: broken into two lines where it is longer than the axis, if there is room for two."""
        room = self.width if across else self.height

        def measure(text: str) -> float:
            return ems(text) * theme.AXIS_TITLE * self.scale

        if across and self.beyond:
            return shorten_to_fit(text, room + self.beyond, measure)
        first, *more = wrap(re.split(r" (?=\[)", text, maxsplit=1), room, " ", measure)  # a unit stays whole
        return [first, shorten_to_fit(" ".join(more), room, measure)] if more else first

    def ticks(self, low: float, high: float, *, across: bool) -> list[float]:
        """Ticks of a logarithmic axis, as many as are read with ease."""
        room = self.width / _TICK[0] if across else self.height / _TICK[1]
        return log_ticks(low, high, max(3, min(9, int(room / self.scale))))

    def columns(self, entries: Sequence[str], most: int) -> int:
        """The number of columns of a legend below the plot."""
        widths = [ems(entry) * theme.LABEL * self.scale + _ENTRY for entry in entries]
        if len(entries) <= most and sum(widths) <= self.width:
            return len(entries)
        return max(1, min(most, len(entries), int(self.width / max(widths))))

    def names(self, count: int) -> dict[str, Any]:
        """The label style of an axis of so many names: smaller where they would touch."""
        size = self._font(count)
        return {"labelOverlap": "greedy", **({"labelFontSize": size} if size < theme.LABEL * self.scale else {})}

    def letters(self, points: float, count: int) -> float:
        """The size of letters of usually so many points, in rows of which there are so many."""
        return min(points * self.scale, self._font(count))

    def unnamed(self, count: int) -> list[str]:
        """The note on names that have no room."""
        return [f"some of {count:,} names"] if self.height / count < self._smallest else []

    def _font(self, count: int) -> float:
        return round(min(theme.LABEL * self.scale, max(self._smallest, self.height / count / _ROW)), 2)

    @property
    def _smallest(self) -> float:
        return _SMALLEST * max(1.0, self.scale)
