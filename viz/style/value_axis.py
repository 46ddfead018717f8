"""An axis of values in Vega-Lite and in SQL: from 0, logarithmic, or with a break beyond which outliers stand closer."""

from dataclasses import dataclass
from typing import Any

from ...query.pasteable_sql import number_literal
from . import theme
from .terminal import BELOW_BREAK, Axis
from .units import even_ticks, log_ticks

AXIS_SCALES = ("robust", "linear", "log")
_WORTH = 1.5  # a break is where the bulk would have less than two thirds of the axis
_ABOVE = 1.02  # the axis ends a little above the highest value
_MARK = "M-1,.1L1,-.9M-1,.9L1,-.1"  # two strokes across the axis


@dataclass(frozen=True, slots=True)
class ValueAxis(Axis):
    """A vertical axis."""

    @classmethod
    def of(cls, title: str, scale: str, *, low: float, high: float, bulk: float) -> "ValueAxis":
        """An axis of one of `AXIS_SCALES`.

        Args:
            title: Its title.
            scale: `robust` has a break where the bulk has too little room.
            low: The smallest value above 0.
            high: Where it ends.
            bulk: Where nearly all values end.
        """
        if scale == "log":
            return cls(title, low * 0.9, max(high, low) * 1.1, log=True)
        return cls(title, 0.0, high, bulk=bulk if scale == "robust" and high > _WORTH * bulk > 0 else None)

    def scale(self) -> dict[str, Any]:
        """Vega-Lite."""
        if self.bulk is not None:
            beyond = {"expr": f"height * {1 - BELOW_BREAK:.2f}"}
            return {"domain": [self.low, self.bulk, self.high], "range": [{"expr": "height"}, beyond, 0], "nice": False}
        end = self.high if self.log else self.high * _ABOVE
        return {"type": "log" if self.log else "linear", "domain": [self.low, end], "nice": False}

    def ticks(self) -> list[float]:
        """Ticks, as many as are read with ease, on both sides of the break."""
        if self.log:
            return log_ticks(self.low, self.high)
        if self.bulk is None:
            return even_ticks(0, self.high, 6)
        return [*even_ticks(0, self.bulk, 6), *even_ticks(self.bulk * 1.2, self.high, 3)]

    def height_sql(self) -> str:
        """SQL of where y stands, from 0 to 1."""
        low, high, bulk = (number_literal(end or 0.0) for end in (self.low, self.high, self.bulk))
        if self.log:
            return f"ln(y / {low}) / ln({high} / {low})"
        if self.bulk is None:
            return f"y / {high}"
        return (
            f"CASE WHEN y <= {bulk} THEN {BELOW_BREAK} * y / {bulk}"
            f" ELSE {BELOW_BREAK} + {1 - BELOW_BREAK:.2f} * (y - {bulk}) / ({high} - {bulk}) END"
        )

    def break_layers(self, y: dict[str, Any]) -> list[dict[str, Any]]:
        """The mark of the break: two strokes on the axis, and a dotted line across the plot; `y` is the axis' encoding."""
        if self.bulk is None:
            return []
        at = {name: value for name, value in y.items() if name != "field"} | {"datum": self.bulk}
        once: dict[str, Any] = {"data": {"values": [{}]}}
        strokes = {"type": "point", "shape": _MARK, "size": 45, "strokeWidth": 1.2, "opacity": 1, "clip": False}
        return [
            {**once, "mark": {"type": "rule", "strokeDash": [1, 2], "strokeWidth": 0.8}, "encoding": {"y": at}},
            {**once, "mark": strokes, "encoding": {"y": at, "x": {"value": 0}, "stroke": {"value": theme.ON_AXIS}}},
        ]
