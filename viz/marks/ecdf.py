"""Cumulative shares of samples, the samples below them one by one, and their medians with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..output.figure import SIZE
from ..style import terminal
from ..style.interaction import fade_others, params, tooltip
from ..style.labels import printable
from ..style.plot_area import PlotArea
from ..style.units import DisplayUnit, extent
from .cached import cached_property
from .legend import Legend

Y_TITLE = "share of samples at or below"
_STRIP, _STRIPS = 0.13, 1.0  # of the height of all shares: for the samples of one series, and of all at most
_WIDE = 50.0  # largest / smallest sample from which the axis is logarithmic
_FEW = 300  # samples that are drawn large


@dataclass(frozen=True, slots=True, kw_only=True)
class EcdfPoint:
    """One sample, and the share of its series that is no larger."""

    series: str
    value: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The median of the samples of one series, with its interval."""

    series: str
    median: float
    low: float | None  # ends of its interval
    high: float | None
    n: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Ecdf:
    """The form; samples of a series in the order of their values."""

    samples: Sequence[EcdfPoint]
    summaries: Sequence[Summary]
    title: str  # of the x axis
    unit: DisplayUnit
    all_configs: Sequence[str] = ()  # configs of the store, whose looks are settled
    wanted_size: tuple[float, float] | None = None  # inches the user wants
    drawn_fields: tuple[str, ...] = field(default=("series", "value", "share", "strip"), init=False)
    least = 0.0  # no minimum height

    @cached_property
    def legend(self) -> Legend:
        """One entry for each series."""
        return Legend.fitting(
            [summary.series for summary in self.summaries], self.wanted_size, all_configs=self.all_configs
        )

    @cached_property
    def size(self) -> tuple[float, float]:
        """Inches: those of every chart, and what the strips of many series need."""
        more = max(0, len(self.summaries) - 2) * 0.2
        return SIZE[0], round(SIZE[1] + self.legend.inches + more, 2)

    def left_out(self, size: tuple[float, float], head: float) -> list[str]:
        """Names of series."""
        return self.legend.left_out

    @property
    def names(self) -> list[tuple[str, str]]:
        """Every series, with its name in the data."""
        return self.legend.names

    @cached_property
    def log(self) -> bool:
        """True if the values span so much that the axis must be logarithmic."""
        values = [sample.value for sample in self.samples]
        return min(values) > 0 and max(values) / min(values) > _WIDE

    @cached_property
    def _strips(self) -> dict[str, float]:
        """The strips of samples of each series, below the shares."""
        return {summary.series: -self._strip * (place + 0.7) for place, summary in enumerate(self.summaries)}

    @property
    def _strip(self) -> float:
        return min(_STRIP, _STRIPS / len(self.summaries))

    @cached_property
    def fields(self) -> dict[str, list[Any]]:
        """One entry a sample; `strip` is its place below the shares, moved a little so that equal ones are seen."""
        return {
            "series": [self.legend.labels[sample.series] for sample in self.samples],
            "value": [self.unit.of(sample.value) for sample in self.samples],
            "share": [sample.share for sample in self.samples],
            "strip": [
                round(self._strips[sample.series] + self._strip * 0.5 * (_scattered(place) - 0.5), 5)
                for place, sample in enumerate(self.samples)
            ],
            "whose": [printable(sample.series) for sample in self.samples],
        }

    @cached_property
    def _domain(self) -> tuple[float, float]:
        return extent([value for value in self.fields["value"] if value is not None], (), log=self.log)

    def spec(self, interactive: bool, size: tuple[float, float], head: float) -> dict[str, Any]:
        """Steps, dots, and medians in layers over one x axis."""
        low, high = self._domain
        area = PlotArea.of(size, head, below=self.legend.inches, beside=self.legend.beside)
        scale = {"type": "log" if self.log else "linear", "domain": [low, high], "nice": False}
        ticks: dict[str, Any] = {"labelOverlap": True, "labelSeparation": 3}
        ticks |= {"values": area.ticks(low, high, across=True), "format": "~g"} if self.log else {}
        title = f"{self.title.removesuffix(']')}, log]" if self.log and self.title.endswith("]") else self.title
        x = {
            "field": "value",
            "type": "quantitative",
            "title": area.title(title, across=True),
            "scale": scale,
            "axis": ticks,
        }
        y = {
            "field": "share", "type": "quantitative", "title": area.title(Y_TITLE, across=False),
            "scale": {"domain": [min(self._strips.values()) - self._strip / 2, 1.02], "nice": False},
            "axis": {"values": [0, 0.25, 0.5, 0.75, 1], "format": ".0%"},
        }  # fmt: skip
        looks = self.legend.encodings("series")
        colour = {**looks["color"], "legend": None}
        larger = 1.6 if interactive else max(1.0, area.scale)
        alone = {"opacity": fade_others("series", 0.05)} if interactive else {}
        fields = [("whose", "series", None), ("value", self.title, ",.5~g"), ("share", "at or below", ".1%")]
        dots = {
            "type": "point",
            "filled": True,
            "opacity": 0.45,
            "size": round((9 if len(self.samples) <= _FEW else 4) * larger**2),
        }
        first = {sample.series: sample for sample in reversed(self.samples)}
        middles = [
            {
                "series": self.legend.labels[s.series], "value": self.unit.of(s.median), "strip": self._strips[s.series],
                "low": self.unit.of(s.low), "high": self.unit.of(s.high),
                "least": self.unit.of(first[s.series].value), "share": first[s.series].share,
            }
            for s in self.summaries
        ]  # fmt: skip
        line = {"strokeWidth": round(1.2 * larger, 2), "clip": interactive}
        below = {"x": x, "y": {**y, "field": "strip"}}
        own = {"data": {"values": middles}}
        layers: list[dict[str, Any]] = [
            {"mark": {"type": "line", "interpolate": "step-after", **line},
             "encoding": {"x": x, "y": y, "stroke": colour, **alone}},
            {**own, "mark": {"type": "rule", **line},  # up to the share of the first
             "encoding": {"x": {**x, "field": "least"}, "y": y, "y2": {"datum": 0}, "stroke": colour, **alone}},
            {"mark": {**dots, "clip": interactive},
             "encoding": {**below, "fill": colour, **alone, **({"tooltip": tooltip(fields)} if interactive else {})}},
            {**own, "mark": {"type": "rule", "strokeWidth": 2.5 * larger},
             "encoding": {**below, "x": {**x, "field": "low"}, "x2": {"field": "high"}}},
            {**own, "name": "medians", "mark": {"type": "point", "filled": True, "opacity": 1, "size": round(34 * larger**2),
             "stroke": "white", "strokeWidth": 0.8}, "encoding": {**below, **looks}},
        ]  # fmt: skip
        spec = {"layer": layers, "resolve": {"legend": {"stroke": "independent", "fill": "independent"}}}
        return {**spec, "params": params("series", views=["medians"])} if interactive else spec

    def text(self, columns: int, rows: int, colour: bool) -> list[str]:
        """The shares as curves, and a sentence for each series."""
        low, high = self._domain
        curves = [
            terminal.TextSeries(
                label,
                [s.value / self.unit.size for s in self.samples if s.series == name],
                [s.share for s in self.samples if s.series == name],
                next(s.text for s in self.summaries if s.series == name),
            )
            for name, label in self.legend.labels.items()
        ]
        x, y = terminal.Axis(self.title, low, high, log=self.log), terminal.Axis(Y_TITLE, 0, 1)
        drawn = terminal.plot(curves, x, y, columns=columns, rows=rows, colour=colour, joined=True)
        return [*drawn, "", *terminal.legend(curves, columns, colour)]


def _scattered(place: int) -> float:
    """A number from 0 to 1, evenly spread over successive places: multiples of the golden ratio, its integer part left out."""
    return place * 0.6180339887498949 % 1
