"""Overlays with data of their own: levels between change points, and curves of a model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..style.units import DisplayUnit
from .legend import Legend

_FEW = 4  # bands that leave each other to be seen
HALO = "white"  # around a line, which would be lost among points of its colour


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A level between two change points, or before the first, or after the last; or a drift, which ends at another value."""

    panel: int
    series: str
    start: float  # x of its first and of its last point
    end: float
    y: float
    y_end: float | None = None  # of a drift
    changed: bool  # whether a step begins it


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedCurve:
    """A curve of a model."""

    series: str
    points: tuple[tuple[float, float], ...]  # x and y
    roof: bool = False  # dashed: what bounds the others


def band_layers(
    values: Sequence[dict[str, Any]],
    axes: dict[str, Any],
    colour: dict[str, Any],
    *,
    larger: float,
    alone: dict[str, Any],
    tips: dict[str, Any],
    interactive: bool,
) -> list[dict[str, Any]]:
    """Lines that stand off the points below them, each on its band.

    Args:
        values: Points of the lines: `of`, the label of whose it is, x, y, low and high of the band, and where one has
            several lines, the number of the `line`.
        axes: Encodings of x and y, whose titles and scales are shared.
        colour: Encoding of the colour of lines and bands.
        larger: On a page.
        alone: Encoding of the opacity of lines that are not looked at.
        tips: Encoding of the tooltip.
        interactive: Whether they can be zoomed out of the plot.
    """
    x, y = ({**axes[axis], "field": axis} for axis in "xy")
    data = {"data": {"values": values}}
    few = len({value["of"] for value in values}) <= _FEW
    encoding = {"x": x, "y": y, "detail": [{"field": name, "type": "nominal"} for name in ("of", "line")], **alone}
    (left, *_, right), (bottom, *_, top) = (axes[axis]["scale"]["domain"] for axis in "xy")
    inside = all(left <= value["x"] <= right and bottom <= value["low"] <= value["high"] <= top for value in values)
    clip = interactive or not inside  # which costs an image 50 ms for each line and layer
    line = {"type": "line", "clip": clip, "interpolate": "monotone"}
    return [
        {**data, "mark": {"type": "area", "clip": clip, "fillOpacity": 0.25 if few else 0.12},
         "encoding": {**encoding, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "fill": colour}},
        {**data, "mark": {**line, "strokeWidth": 2.4 * larger, "stroke": HALO}, "encoding": encoding},
        {**data, "mark": {**line, "strokeWidth": 1.2 * larger}, "encoding": {**encoding, "stroke": colour, **tips}},
    ]  # fmt: skip


def level_layers(
    levels: Sequence[Level], axes: dict[str, Any], legend: Legend, unit: DisplayUnit, at: Callable[[float], Any]
) -> list[dict[str, Any]]:
    """A thick pale line for each level and drift, and a rule at each step; `at` is where an x stands on the axis."""
    if not levels:
        return []
    rows = [
        {
            "from": at(level.start),
            "to": at(level.end),
            "y": unit.of(level.y),
            "y_end": unit.of(level.y if level.y_end is None else level.y_end),
            "series": legend.labels[level.series],
            "changed": level.changed,
        }
        for level in levels
    ]
    colour = {**legend.encodings("series")["color"], "legend": None}
    span = {
        "x": {**axes["x"], "field": "from"},
        "x2": {"field": "to"},
        "y": axes["y"],
        "y2": {"field": "y_end"},
        "stroke": colour,
    }
    layers = [{"data": {"values": rows}, "mark": {"type": "rule", "strokeWidth": 4, "opacity": 0.3}, "encoding": span}]
    if begun := [row for row in rows if row["changed"]]:
        rule = {"type": "rule", "strokeDash": [3, 2]}
        layers.append({"data": {"values": begun}, "mark": rule, "encoding": {"x": span["x"], "stroke": colour}})
    return layers


def curve_layers(
    curves: Sequence[FittedCurve], axes: dict[str, Any], legend: Legend, unit: DisplayUnit, larger: float, clip: bool
) -> list[dict[str, Any]]:
    """The curves, roofs dashed; `clip` is whether they may leave the plot."""
    colour = {**legend.encodings("series")["color"], "legend": None}
    encoding = {**axes, "stroke": colour, "detail": {"field": "curve", "type": "nominal"}}
    layers = []
    for dash in (False, True):
        rows = [
            {"series": legend.labels[curve.series], "x": x, "y": unit.of(y), "curve": number}
            for number, curve in enumerate(curves)
            if curve.roof == dash
            for x, y in curve.points
        ]
        mark = {"type": "line", "clip": clip, "strokeWidth": 1.2 * larger, **({"strokeDash": [4, 3]} if dash else {})}
        if rows:
            layers.append({"data": {"values": rows}, "mark": mark, "encoding": encoding})
    return layers
