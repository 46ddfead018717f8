"""Panels: views in a grid, each as large as its neighbours, in an image of exactly the size asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import theme
from .legend import Legend

_LEFT, _RIGHT, _BELOW = 52.0, 14.0, 42.0  # points: y axis, half a label, x axis
_BETWEEN, _TITLE, _LABELS = 50.0, 15.0, 20.0  # beside each other; a panel's title; labels of the x axis above it
_PAGE = 1040.0  # pixels of a page's width
_LARGER = 1.45  # on a page


@dataclass(frozen=True, slots=True)
class Grid:
    """Where panels go."""

    columns: int
    rows: int
    titled: bool  # whether panels have titles

    @classmethod
    def of(cls, count: int, columns: int, *, titled: bool = True) -> "Grid":
        """A grid of so many panels."""
        columns = min(count, columns)
        return cls(columns, -(-count // columns), titled)

    def inches(self, plot: float, legend: Legend) -> float:
        """Height of a figure whose panels are so high."""
        rest = theme.heading_points(1, 2) + _BELOW + self._above + (self.rows - 1) * self._between_rows
        return round(self.rows * plot + rest / theme.POINTS_PER_INCH + legend.inches, 2)

    def lowest(self, place: int, count: int) -> bool:
        """Whether no panel of so many stands below that one."""
        return place + self.columns >= count

    @property
    def _above(self) -> float:
        return _TITLE if self.titled else 0.0

    @property
    def _between_rows(self) -> float:
        return _LABELS + self._above

    def spec(
        self,
        views: Sequence[dict[str, Any]],
        *,
        size: tuple[float, float],
        head: float,
        legend: Legend,
        interactive: bool,
    ) -> dict[str, Any]:
        """The views in their places.

        Args:
            views: Vega-Lite, row by row, without width and height.
            size: Of the whole, in inches.
            head: Points that the title takes.
            legend: Below the panels.
            interactive: Whether it is for a page, which is as wide as it likes.
        """
        larger = _LARGER if interactive else 1.0
        width, height = (inches * theme.POINTS_PER_INCH for inches in size)
        below = _BELOW + legend.inches * theme.POINTS_PER_INCH
        high = height - head - self._above - below
        high = max(20.0, (high - self._between_rows * (self.rows - 1)) / self.rows)
        across = (_PAGE if interactive else width) - (_LEFT + _RIGHT) * larger
        wide = max(20.0, (across - _BETWEEN * larger * (self.columns - 1)) / self.columns)
        spec: dict[str, Any] = {
            "columns": self.columns,
            "spacing": {"row": round(self._between_rows * larger, 2), "column": round(_BETWEEN * larger, 2)},
            "bounds": "flush",
            "concat": [
                {"width": round(wide, 2), "height": round(high * (larger + 0.2 if interactive else 1), 2), **view}
                for view in views
            ],
        }
        if interactive:
            return {**spec, "usermeta": {"margin": round((_LEFT + _RIGHT) * larger)}}
        # Vega-Lite cannot fit panels into a size, but it hands these two signals on to Vega, which then takes them.
        inner = {"width": width - _LEFT - _RIGHT, "height": height - head - self._above - below}
        return {
            **spec,
            "autosize": {"type": "none"},
            "padding": {"left": _LEFT, "right": _RIGHT, "top": round(head + self._above, 2), "bottom": round(below, 2)},
            "params": [{"name": name, "value": round(value, 2)} for name, value in inner.items()],
        }
