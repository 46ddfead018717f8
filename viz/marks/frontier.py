"""Points with intervals in both directions, a label each, and the frontier of the best: a form on top of lines."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...warehouse.console.numbers import counted
from ..style.interaction import fade_others
from ..style.labels import ems
from ..style.plot_area import PlotArea
from ..style.units import extent
from .cached import cached_property
from .lines import Lines

_GREY = "#8a8a8a"
_RIGHT, _ABOVE = 3.0, 7.0  # points from a point to its mark
_LETTER, _APART = 6.5, 1.2  # points of a mark's font; lines apart, in sizes of it


@dataclass(frozen=True, kw_only=True)
class Frontier(Lines):
    """The form: points of one panel in the order in which those of a series are joined."""

    across: Sequence[tuple[float | None, float | None]]  # ends of each point's interval along x
    marks: Sequence[str]  # what stands at each point; '' nothing
    front: Sequence[tuple[float, float]] = ()  # the best points, joined in grey
    drawn_fields: tuple[str, ...] = field(
        default=("panel", "series", "x", "y", "low", "high", "stretch", "left", "right", "mark", "place"), init=False
    )

    @cached_property
    def fields(self) -> dict[str, list[Any]]:
        """One entry a point."""
        lefts, rights = ([ends[place] for ends in self.across] for place in (0, 1))
        return {
            **super().fields,
            "left": lefts,
            "right": rights,
            "mark": list(self.marks),
            "place": [*range(len(self.marks))],
        }

    @cached_property
    def _x_domain(self) -> tuple[float, float]:
        ends = [end for pair in self.across for end in pair if end is not None]
        return extent([point.x for point in self.points], ends, zero=self.x_zero, log=self.log_x)

    def _view(self, place: int, interactive: bool, area: PlotArea) -> dict[str, Any]:
        view = super()._view(place, interactive, area)
        axes = {"x": self._x_encoding(place, area), "y": self._y_encoding(place, area)}
        colour = {**self.legend.encodings("series")["color"], "legend": None}
        unit = self.panels[place].unit
        front = {
            "data": {"values": [{"x": x, "y": unit.of(y)} for x, y in self.front]},
            "mark": {
                "type": "line",
                "color": _GREY,
                "strokeDash": [2, 2],
                "strokeWidth": 1.6 if interactive else 1,
                "clip": True,
            },
            "encoding": axes,
        }
        alone = {"opacity": fade_others("series", 0.06)} if interactive else {}
        rule = {
            "mark": {"type": "rule", "clip": True},
            "encoding": {
                **axes,
                "x": {**axes["x"], "field": "left"},
                "x2": {"field": "right"},
                "stroke": colour,
                **alone,
            },
        }
        text = {
            "transform": [{"filter": {"field": "place", "oneOf": self._legible(area)}}],
            "mark": {
                "type": "text",
                "dy": -_ABOVE,
                "dx": _RIGHT,
                "align": "left",
                "fontSize": 11 if interactive else round(_LETTER * area.scale, 2),
            },
            "encoding": {**axes, "text": {"field": "mark", "type": "nominal"}, **alone},
        }
        crosses = any(end is not None for pair in self.across for end in pair)
        more = [layer for layer, wanted in ((rule, crosses), (text, any(self.marks))) if wanted]
        return {**view, "layer": [*([front] if len(self.front) > 1 else []), *view["layer"], *more]}

    def left_out(self, size: tuple[float, float], head: float) -> list[str]:
        """Names of lines, and marks of points."""
        area = PlotArea.of(size, head, below=self.legend.inches, beside=self.legend.beside)
        missing = sum(map(bool, self.marks)) - len(self._legible(area))
        return [*super().left_out(size, head), *([f"what stands at {counted(missing, 'point')}"] if missing else [])]

    def _legible(self, area: PlotArea) -> list[int]:
        """The points whose marks stand on no other: in the order of their series, those on the frontier first."""
        (left, right), (low, high) = self._x_domain, self._y_domain(0)
        best = set(self.front)
        points = sorted(enumerate(self.points), key=lambda entry: (entry[1].x, entry[1].y) not in best)
        letter, taken, kept = _LETTER * area.scale, list[tuple[float, float, float]](), list[int]()
        for place, point in points:
            if not self.marks[place]:
                continue
            x = (point.x - left) / (right - left) * area.width + _RIGHT
            y = (point.y / self.panels[0].unit.size - low) / (high - low) * area.height
            wide = ems(self.marks[place]) * letter
            if all(x + wide < a or b < x or abs(y - other) > _APART * letter for a, b, other in taken):
                taken.append((x, x + wide, y))
                kept.append(place)
        return sorted(kept)
