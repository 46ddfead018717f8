"""Small pictures that are drawn when publishing: SVG whose colours are those of the page, light or dark, by class names."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from ...warehouse.console.numbers import percent_change


@dataclass(frozen=True, slots=True)
class Span:
    """A level: from one place to another, inclusive."""

    first: int
    last: int
    value: float


def sparkline(values: Sequence[float | None], label: str, *, width: int = 120, height: int = 24) -> str:
    """A line of values, oldest first, with a dot at the newest."""
    present = [value for value in values if value is not None]
    if all(None in pair for pair in itertools.pairwise(values)):  # there is no line
        return ""
    scale = _Scale.of(len(values), present, width, height, 3)
    last = max(place for place, value in enumerate(values) if value is not None)
    x, y = scale.at(last, values[last] or 0.0)
    return _svg(
        width, height, label, "spark",
        f'<path class="line" d="{_path(values, scale)}"/><circle class="dot" cx="{x:g}" cy="{y:g}" r="2"/>',
    )  # fmt: skip


def incident(
    values: Sequence[float | None],
    levels: Sequence[Span],
    since: int,
    label: str,
    *,
    worse: bool | None,
    until: int | None = None,
) -> str:
    """Values around an incident, in per cent of the level before, with the levels and the place where it began."""
    width, height, left, bottom = 340, 104, 54, 6
    present = [value for value in values if value is not None] + [level.value for level in levels]
    scale = _Scale.of(len(values), present, width, height, bottom, left)
    kind = {True: "worse", False: "better", None: "other"}[worse]
    start, stop = scale.x(since - 0.5), scale.x((len(values) - 1 if until is None else until) + 0.5)
    parts = [f'<rect class="{kind}" x="{start:.1f}" y="0" width="{max(1.0, stop - start):.1f}" height="{height}"/>']
    told = sorted({0.0, *(level.value for level in levels)})
    apart = [value for i, value in enumerate(told) if i == 0 or abs(scale.y(value) - scale.y(told[i - 1])) > 11]
    for value in apart:
        y = scale.y(value)
        parts.append(f'<line class="grid" x1="{left}" x2="{width}" y1="{y:.1f}" y2="{y:.1f}"/>')
        text = percent_change(value / 100) if value else "0 %"
        parts.append(f'<text x="{left - 5}" y="{min(height - 2, max(9, y + 3.5)):.1f}" text-anchor="end">{text}</text>')
    parts.append(f'<path class="line" d="{_path(values, scale)}"/>')
    for level in levels:
        colour = kind if level.first >= since else "before"
        x1, x2, y = scale.x(level.first), scale.x(level.last), scale.y(level.value)
        parts.append(f'<line class="level {colour}" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
    return _svg(width, height, label, "picture", "".join(parts))


@dataclass(frozen=True, slots=True)
class _Scale:
    left: float
    step: float
    low: float
    high: float
    top: float
    bottom: float

    @classmethod
    def of(
        cls, count: int, present: Sequence[float], width: float, height: float, margin: float, left: float = 0.0
    ) -> "_Scale":
        ordered = sorted(present)
        cut = len(ordered) // 50  # a few outliers do not flatten the rest
        low, high = ordered[cut], ordered[-1 - cut]
        room = (high - low) * 0.08 or abs(high) * 0.01 or 1.0
        return cls(
            left + margin,
            (width - left - 2 * margin) / max(1, count - 1),
            low - room,
            high + room,
            margin,
            height - margin,
        )

    def x(self, place: float) -> float:
        return self.left + place * self.step

    def y(self, value: float) -> float:
        part = (min(self.high, max(self.low, value)) - self.low) / (self.high - self.low)
        return self.bottom - part * (self.bottom - self.top)

    def at(self, place: float, value: float) -> tuple[float, float]:
        return round(self.x(place), 1), round(self.y(value), 1)


def _path(values: Sequence[float | None], scale: _Scale) -> str:
    """Through the values; a gap where there is none."""
    parts, pen = [], "M"
    for place, value in enumerate(values):
        if value is None or not math.isfinite(value):
            pen = "M"
            continue
        x, y = scale.at(place, value)
        parts.append(f"{pen}{x:g} {y:g}")
        pen = "L"
    return "".join(parts)


def _svg(width: int, height: int, label: str, kind: str, inside: str) -> str:
    return (
        f'<svg class="{kind}" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
        f' aria-label="{escape(label)}">{inside}</svg>'
    )
