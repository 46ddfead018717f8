"""Panels: views in a grid, each as large as its neighbours, in an image of exactly the size asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...warehouse.console.numbers import counted
from ...warehouse.errors import BenchError
from ..style import theme
from ..style.labels import ems, shorten_to_fit
from ..style.plot_area import PlotArea
from .legend import Legend

_LEFT, _RIGHT, _BELOW = 52.0, 14.0, 42.0  # points: y axis with its title, half a label, x axis
_BETWEEN, _TITLE, _LABELS = 50.0, 15.0, 20.0  # beside each other; a panel's title; labels of the x axis above it
_AXIS_TITLE, _RIM = 14.0, 2.0  # of the y axis, which dense panels have above them; around an image
_BARE = 6.0  # between panels without labels
_DENSE = 40.0  # points of a panel's height, below which an axis has no room for its title
# points of a panel: its height at least; lower or narrower ones are to be avoided
_LEAST, _LOW, _NARROW = (16.0, 30.0, 50.0)
_PAGE = 1040.0  # pixels of a page's width
_LARGER = 1.45  # on a page


@dataclass(frozen=True, slots=True)
class Grid:
    """The places of the panels."""

    columns: int
    rows: int
    titled: bool  # whether panels have titles
    dense: bool  # whether titles of y axes stand above the panels, and labels of x axes below the lowest only
    scale: float  # of letters

    @classmethod
    def of(
        cls,
        count: int,
        columns: int,
        legend: Legend,
        *,
        titled: bool = True,
        wanted_size: tuple[float, float] | None = None,
    ) -> "Grid":
        """A grid of so many panels.

        There are `columns` beside each other, or more where they would be too low; the legend is below them.
        """
        columns = min(count, columns)
        if wanted_size is None:
            return cls(columns, -(-count // columns), titled, False, 1.0)
        scale = theme.scale_of(wanted_size[0])

        def area(grid: Grid) -> PlotArea:
            return grid.plot_area(wanted_size, theme.heading_points(1, 1, scale), legend, interactive=False)

        grids = []
        for across in range(columns, count + 1):
            loose, dense = (cls(across, -(-count // across), titled or dense, dense, scale) for dense in (False, True))
            grids.append(loose if count == 1 or area(loose).height >= _DENSE else dense)
        wide = [grid for grid in grids if area(grid).width >= _NARROW]
        return max(wide or grids[:1], key=lambda grid: min(area(grid).height, _LOW * scale))

    def inches(self, plot: float, legend: Legend) -> float:
        """Height of a figure whose panels are so high."""
        rest = theme.heading_points(1, 2) + _BELOW + self._above + (self.rows - 1) * self._between_rows
        return round(self.rows * plot + rest / theme.POINTS_PER_INCH + legend.inches, 2)

    def least(self, legend: Legend) -> float:
        """Points of height that it needs below the heading of a figure."""
        return self._above + self._below(legend) + self.rows * _LEAST + (self.rows - 1) * self._between_rows

    def lowest(self, place: int, count: int) -> bool:
        """Return whether no panel of so many stands below that one."""
        return place + self.columns >= count

    @property
    def _above(self) -> float:
        return _TITLE * self.scale if self.titled else 0.0

    @property
    def _left(self) -> float:
        return _LEFT - _AXIS_TITLE if self.dense else _LEFT

    @property
    def _between(self) -> float:
        return _BETWEEN - _AXIS_TITLE if self.dense else _BETWEEN

    @property
    def _between_rows(self) -> float:
        return (_BARE if self.dense else _LABELS * self.scale) + self._above

    def plot_area(self, size: tuple[float, float], head: float, legend: Legend, *, interactive: bool) -> PlotArea:
        """The plot area of one panel. `size` is that of the whole, in inches; the title takes `head` points."""
        larger = _LARGER if interactive else self.scale
        width, height = (inches * theme.POINTS_PER_INCH for inches in size)
        high = (height - head - self._above - self._below(legend) - self._between_rows * (self.rows - 1)) / self.rows
        across = (_PAGE if interactive else width) - (self._left + _RIGHT) * larger
        wide = (across - self._between * larger * (self.columns - 1)) / self.columns
        return PlotArea(max(20.0, wide), high, larger, 0.7 * self._between * larger)

    def heading(self, area: PlotArea, place: int, text: str) -> str:
        """The title of the panel at that place, as far as it fits: beyond the last of a row there is the rim only."""
        last = (place + 1) % self.columns == 0
        room = area.width + (_RIGHT * area.scale - _RIM if last else area.beyond)
        return shorten_to_fit(text, room, lambda text: ems(text) * theme.AXIS_TITLE * theme.BOLD * area.scale)

    def _below(self, legend: Legend) -> float:
        return _BELOW * self.scale + legend.inches * theme.POINTS_PER_INCH

    def spec(
        self,
        views: Sequence[dict[str, Any]],
        area: PlotArea,
        *,
        size: tuple[float, float],
        head: float,
        legend: Legend,
        interactive: bool,
    ) -> dict[str, Any]:
        """The views in their places.

        Views are Vega-Lite, row by row, without width and height. `size` and `head` are as of `plot_area`.

        Raises:
            BenchError: An image of that size has no room for so many panels.
        """
        larger = area.scale
        spec: dict[str, Any] = {
            "columns": self.columns,
            "spacing": {
                "row": round(self._between_rows * larger / self.scale, 2), "column": round(self._between * larger, 2),
            },
            "bounds": "flush",
            "concat": [
                {"width": round(area.width, 2), "height": round(area.height * (larger + 0.2 if interactive else 1), 2), **view}
                for view in views
            ],
        }  # fmt: skip
        if interactive:
            return {**spec, "usermeta": {"margin": round((self._left + _RIGHT) * larger)}}
        width, height = (inches * theme.POINTS_PER_INCH for inches in size)
        if area.height < _LEAST:
            missing = (_LEAST - area.height) * self.rows
            needed = (height + missing) / theme.POINTS_PER_INCH
            bare = (
                " leave the heading to the caption: --title ''," if head - theme.heading_points(0, 0) >= missing else ""
            )
            raise BenchError(
                f"panels in {counted(self.rows, 'row')} have no room in {size[0]:g}x{size[1]:g} inches."
                f" Ask for more: --size {size[0]:g}x{needed + 0.05:.1f},{bare} or draw less."
            )
        # Vega-Lite cannot fit panels into a size, but it hands these two signals on to Vega, which then takes them.
        left, right, below = self._left * self.scale, _RIGHT * self.scale, self._below(legend)
        inner = {"width": width - left - right, "height": height - head - self._above - below}
        return {
            **spec,
            "autosize": {"type": "none"},
            "padding": {"left": left, "right": right, "top": round(head + self._above, 2), "bottom": round(below, 2)},
            "params": [{"name": name, "value": round(value, 2)} for name, value in inner.items()],
        }
