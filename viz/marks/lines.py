"""Lines with points, intervals and gaps, in one panel or in several."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...warehouse.console.numbers import counted
from ...warehouse.console.tables import shorten, width
from ..output.figure import SIZE
from ..style import terminal, theme
from ..style.interaction import Tip, fade_others, params, tooltip
from ..style.labels import labels, printable
from ..style.plot_area import PlotArea
from ..style.units import DisplayUnit, extent, format_number
from .cached import cached_property
from .legend import Legend
from .nesting import find_nested, nested_widths
from .overlays import FittedCurve, Level, curve_layers, level_layers
from .panels import Grid

_PLOT = 1.35  # inches of height of a panel among others
_FEW = 400  # points that are marked large
# areas of points in square pixels; the largest are of those that no line leads to
_DOTS = {"alone": 60, "few": 24, "many": 9}
_LONE = 12  # points at most that are large, where no lines lead to them
# as they are, where d3 would round them to the distance of ticks
_NUMBERS = {"labelExpr": "format(datum.value, ',~r')"}
_EVEN = {"labelOverlap": "parity"}  # where there is no room for all labels, every second one rather than those that fit
_TICKS = 12  # whole numbers on the x axis that all get a tick


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One point of a line."""

    panel: int
    series: str
    x: float  # in the unit of the axis, or the place of its name
    y: float
    low: float | None = None  # ends of its interval
    high: float | None = None
    stretch: int = 0  # points of one stretch are joined by a solid line; a dotted one bridges the gap to the next
    tips: tuple[Any, ...] = ()  # what else a tooltip tells


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One plot."""

    y_title: str
    unit: DisplayUnit  # of its values
    title: str = ""
    zero: bool = True  # whether its axis begins at 0, where it is not logarithmic


@dataclass(frozen=True, kw_only=True)
class Lines:
    """The form; points in drawing order."""

    points: Sequence[Point]
    panels: Sequence[Panel]
    x_title: str
    x_names: tuple[str, ...] = ()  # of the places 0, 1, 2 … on an axis of names
    x_zero: bool = False  # whether the x axis begins at 0, where it is not logarithmic
    x_time: bool = False  # whether x is milliseconds since 1970, UTC
    log_x: bool = False
    log_y: bool = False
    columns: int = 1  # of panels
    dashed: bool = False
    stepped: bool = False  # whether a value holds until the next, rather than changing on the way to it
    marked: bool = True  # whether points are, rather than lines alone
    joined: bool = True  # whether lines are drawn at all
    series: Sequence[str] = ()  # in the order of the legend; else that of the points
    levels: Sequence[Level] = ()
    curves: Sequence[FittedCurve] = ()  # of the first panel
    sparklines: bool = False  # in characters: a row for each line rather than a plot for each panel
    tips: tuple[tuple[str, str | None], ...] = ()  # title and d3 format of each of a point's `tips`
    families: Mapping[str, str] = field(default_factory=dict)  # by series, of which it has the colour
    all_configs: Sequence[str] = ()  # configs of the store, whose looks are settled
    wanted_size: tuple[float, float] | None = None  # inches the user wants
    drawn_fields: tuple[str, ...] = field(default=("panel", "series", "x", "y", "low", "high", "stretch"), init=False)

    @property
    def _in_grid(self) -> bool:
        """True if panels have places of their own: several, or one whose title is not the figure's."""
        return len(self.panels) > 1 or bool(self.panels[0].title)

    @cached_property
    def grid(self) -> Grid:
        """The arrangement of the panels."""
        titled = any(panel.title for panel in self.panels)
        return Grid.of(len(self.panels), self.columns, self.legend, titled=titled, wanted_size=self.wanted_size)

    @cached_property
    def legend(self) -> Legend:
        """One entry for each series."""
        drawn = dict.fromkeys(point.series for point in self.points)
        names = [name for name in dict.fromkeys((*self.series, *drawn)) if name in drawn]
        return Legend.fitting(
            names, self.wanted_size, below=self._in_grid, all_configs=self.all_configs, families=self.families
        )

    @cached_property
    def size(self) -> tuple[float, float]:
        """Inches: those of every chart for one panel, what they need for several."""
        if len(self.panels) == 1:
            return SIZE[0], round(SIZE[1] + self.legend.inches, 2)
        return SIZE[0], self.grid.inches(_PLOT, self.legend)

    @property
    def least(self) -> float:
        """Points of height that panels need below the heading."""
        return self.grid.least(self.legend) if self._in_grid else 0.0

    @property
    def names(self) -> list[tuple[str, str]]:
        """Every series, and how it is called in the data."""
        return self.legend.names

    @cached_property
    def _places(self) -> list[str]:
        """The names of the places on the x axis, no two alike."""
        places = [name if name not in self.x_names[:i] else f"{name} #{i}" for i, name in enumerate(self.x_names)]
        return list(labels(places, 16).values())

    def _at(self, x: float) -> Any:
        return self._places[int(x)] if self.x_names else x

    @cached_property
    def fields(self) -> dict[str, list[Any]]:
        """One entry a point."""
        shown = [(self.panels[point.panel].unit, point) for point in self.points]
        return {
            "panel": [point.panel for point in self.points],
            "series": [self.legend.labels[point.series] for point in self.points],
            "x": [self._at(point.x) for point in self.points],
            "y": [unit.of(point.y) for unit, point in shown],
            "low": [unit.of(point.low) for unit, point in shown],
            "high": [unit.of(point.high) for unit, point in shown],
            "stretch": [point.stretch for point in self.points],
            "whose": [printable(point.series) for point in self.points],
            **{f"t{i}": [point.tips[i] for point in self.points] for i in range(len(self.tips))},
        }

    def spec(self, interactive: bool, size: tuple[float, float], head: float) -> dict[str, Any]:
        """One layered view, or a grid of them."""
        area = self._area(size, head, interactive=interactive)
        views = [self._view(place, interactive, area) for place in range(len(self.panels))]
        marks = [f"marks{place}" for place in range(len(views))]
        if not self._in_grid:
            return {
                **views[0],
                **({"params": params("series", zoom=not self.x_names, views=marks)} if interactive else {}),
            }
        spec = self.grid.spec(views, area, size=size, head=head, legend=self.legend, interactive=interactive)
        spec |= {"resolve": {"scale": {"strokeWidth": "independent"}}} if self._nested else {}
        return {**spec, "params": params("series", zoom=False, views=marks)} if interactive else spec

    def left_out(self, size: tuple[float, float], head: float) -> list[str]:
        """Names of lines, and parts of the titles of panels."""
        area = self._area(size, head, interactive=False)
        titles = list(map(self._heading, self.panels))
        cut = sum(self.grid.heading(area, place, title) != title for place, title in enumerate(titles))
        return [
            *self.legend.left_out,
            *([f"the whole title of {cut} of {counted(len(titles), 'panel')}"] if cut else []),
        ]

    def _area(self, size: tuple[float, float], head: float, *, interactive: bool) -> PlotArea:
        """The plot area of a panel."""
        if self._in_grid:
            return self.grid.plot_area(size, head, self.legend, interactive=interactive)
        return PlotArea.of(size, head, below=self.legend.inches, beside=self.legend.beside)

    def _view(self, place: int, interactive: bool, area: PlotArea) -> dict[str, Any]:
        """One panel: gaps dotted, stretches solid, intervals, points, levels."""
        panel, larger = self.panels[place], 1.6 if interactive else max(1.0, area.scale)
        clip = interactive or self._beyond(place)  # which costs an image 50 ms a layer
        dot = _DOTS[self._crowd]
        axes = {"x": self._x_encoding(place, area), "y": self._y_encoding(place, area)}
        looks = self.legend.encodings("series")
        colour = {**looks["color"], "legend": None}
        alone = {"opacity": fade_others("series", 0.06)} if interactive else {}
        line: dict[str, Any] = {"type": "line", "strokeWidth": round(1.1 * larger, 2), "clip": interactive}
        # the mitre of a steep peak reaches beyond its value: a count would fall below 0
        line |= {"strokeJoin": "round"}
        line |= {"interpolate": "step-after"} if self.stepped else {}
        joined = {**axes, "stroke": colour, **alone}
        if nested := self._nested.get(place):
            joined |= {"strokeWidth": nested_widths(self.legend.labels, line.pop("strokeWidth"), nested)}
        marks: list[dict[str, Any]] = [
            {"mark": {**line, "strokeDash": [1, 2.5]}, "encoding": joined},
            {
                "mark": {**line, **({"strokeDash": [4, 2.5]} if self.dashed else {})},
                "encoding": {**joined, "detail": {"field": "stretch", "type": "nominal"}},
            },
            {
                "mark": {"type": "rule", "clip": clip},
                "encoding": {**axes, "y": {**axes["y"], "field": "low"}, "y2": {"field": "high"}, "stroke": colour, **alone},
            },
            {
                "name": f"marks{place}",
                "mark": {"type": "point", "filled": True, "opacity": 1, "size": round(dot * larger**2)},
                "encoding": {**axes, **looks, **alone, **({"tooltip": self._tooltip(panel)} if interactive else {})},
            },
        ]  # fmt: skip
        wanted = [
            any(p.stretch for p in self.points),
            self.joined,
            any(p.low is not None for p in self.points),
            self.marked,
        ]
        layers = [layer for layer, want in zip(marks, wanted, strict=True) if want]
        if not self.marked:  # the lines themselves are what one points at, and what the legend shows
            layers[-1] |= {"name": f"marks{place}"}
            layers[-1]["encoding"].pop("stroke")
            layers[-1]["encoding"] |= self.legend.strokes("series")
        if len(self.panels) > 1:
            layers = [{"transform": [{"filter": f"datum.panel === {place}"}], **layer} for layer in layers]
        levels = [level for level in self.levels if level.panel == place]
        layers += level_layers(levels, axes, self.legend, panel.unit, self._at)
        layers += curve_layers(self.curves, axes, self.legend, panel.unit, larger, clip) if place == 0 else []
        shown = self._heading(panel)
        if shown:
            layers.append(theme.panel_title(self.grid.heading(area, place, shown), 1.45 if interactive else area.scale))
        lines = dict.fromkeys(("stroke", "strokeWidth"), "independent")  # the legends of points stay
        return {"layer": layers, "resolve": {"legend": lines}}

    def _heading(self, panel: Panel) -> str:
        """The heading of a panel: its title, and on a dense grid what the axis has no room for.

        That is its unit where titles tell the panels apart, else all that the axis would say.
        """
        if not self.grid.dense:
            return panel.title
        if len({each.title for each in self.panels}) == len(self.panels):
            return " · ".join(filter(None, (panel.title, panel.unit.name)))
        return " · ".join(filter(None, (panel.title, panel.unit.title(panel.y_title))))

    @property
    def _crowd(self) -> str:
        """The density of points: a few that are alone in their series, few, many."""
        if len(self.points) == len({(point.panel, point.series) for point in self.points}) <= _LONE:
            return "alone"
        return "few" if len(self.points) <= _FEW else "many"

    @cached_property
    def _nested(self) -> dict[int, list[str]]:
        return find_nested([(point.panel, point.series, point.x, point.y) for point in self.points])

    def _tooltip(self, panel: Panel) -> list[dict[str, Any]]:
        tips: list[Tip] = [("whose", "series", None)]
        if not self.x_time:  # which is told as text among the others
            tips += [("x", self.x_title, None if self.x_names else ",~g")]
        tips += [("y", panel.unit.title(panel.y_title), ",.4~g")]
        return tooltip([*tips, *((f"t{i}", title, form) for i, (title, form) in enumerate(self.tips))])

    def _x_encoding(self, place: int, area: PlotArea) -> dict[str, Any]:
        lowest = self.grid.lowest(place, len(self.panels))
        title = area.title(self.x_title, across=True) if lowest else None
        shown: dict[str, Any] = {
            "labelOverlap": "greedy",
            "labelSeparation": 3,
            "labels": lowest or not self.grid.dense,
        }
        if self.x_names:
            axis = {**shown, "labelAngle": 0, "grid": False}
            scale = {"type": "point", "domain": self._places, "padding": 0.4}
            return {"field": "x", "type": "ordinal", "title": title, "sort": None, "scale": scale, "axis": axis}
        low, high = self._x_domain
        if self.x_time:
            scale = {"type": "utc", "domain": [low, high], "nice": False}
            return {"field": "x", "type": "temporal", "title": title, "scale": scale, "axis": shown}
        present = sorted({point.x for point in self.points})
        ticks: dict[str, Any] = (
            {"values": area.ticks(low, high, across=True)} if self.log_x else {"tickCount": 10, **_EVEN}
        )
        if len(present) <= _TICKS and not any(x % 1 for x in present):
            ticks = {"values": present}
        scale = {"type": "log" if self.log_x else "linear", "domain": [low, high], "nice": False}
        return {
            "field": "x",
            "type": "quantitative",
            "title": title,
            "scale": scale,
            "axis": {**_NUMBERS, **shown, **ticks},
        }

    @cached_property
    def _x_domain(self) -> tuple[float, float]:
        values = [point.x for point in self.points]
        return extent(values, (), zero=self.x_zero, log=self.log_x)

    def _ends(self, place: int) -> list[float]:
        """The ends of the intervals of a panel, and of its curves."""
        own = [point for point in self.points if point.panel == place]
        ends = [end for point in own for end in (point.low, point.high) if end is not None]
        return ends + [y for curve in self.curves for _, y in curve.points if place == 0]

    def _y_domain(self, place: int) -> tuple[float, float]:
        panel = self.panels[place]
        values = [point.y for point in self.points if point.panel == place]
        low, high = extent(values, self._ends(place), zero=panel.zero, log=self.log_y)
        return low / panel.unit.size, high / panel.unit.size

    def _beyond(self, place: int) -> bool:
        """Return whether an interval or a curve extends beyond the y axis of its panel."""
        (low, high), size = self._y_domain(place), self.panels[place].unit.size
        return any(not low <= end / size <= high for end in self._ends(place))

    def _y_encoding(self, place: int, area: PlotArea) -> dict[str, Any]:
        panel = self.panels[place]
        low, high = self._y_domain(place)
        ticks = {**_NUMBERS, "values": area.ticks(low, high, across=False)} if self.log_y else {"tickCount": 5}
        scale = {"type": "log" if self.log_y else "linear", "domain": [low, high], "nice": False}
        title = None if self.grid.dense else area.title(panel.unit.title(panel.y_title), across=False) or None
        return {
            "field": "y",
            "type": "quantitative",
            "title": title,
            "scale": scale,
            "axis": {**ticks, "labelOverlap": True},
        }

    def text(self, columns: int, rows: int, colour: bool) -> list[str]:
        """The panels one below the other, then the legend."""
        if self.sparklines:
            return self._sparklines(columns, colour)
        several = len(self.panels) > 1
        names = list(self.legend.labels.items())
        lines: list[str] = []
        drawn: list[terminal.TextSeries] = []
        for place, panel in enumerate(self.panels):
            own = [point for point in self.points if point.panel == place]
            drawn = []
            for name, label in names:
                mine = [point for point in own if point.series == name]
                drawn.append(terminal.TextSeries(label, [p.x for p in mine], [p.y / panel.unit.size for p in mine]))
            x = terminal.Axis(self.x_title, 0, max(1, len(self._places) - 1), names=tuple(self._places))
            if not self.x_names:
                x = terminal.Axis(self.x_title, *self._x_domain, log=self.log_x, time=self.x_time)
            y_title = panel.unit.title(panel.y_title)
            y = terminal.Axis(
                " · ".join(part for part in (panel.title, y_title) if part), *self._y_domain(place), log=self.log_y
            )
            lines += terminal.plot(
                drawn,
                x,
                y,
                columns=columns,
                rows=max(5, rows // 2) if several else rows,
                colour=colour,
                joined=self.joined,
            )
            lines += [""]
        return [*lines, *terminal.legend(drawn, columns, colour)]

    def _sparklines(self, columns: int, colour: bool) -> list[str]:
        """A row for each line: its name, a sparkline with gaps, its last value and the range of all values."""
        names = list(self.legend.labels)
        room = min(32, max(map(width, self.legend.labels.values())))
        lines = []
        for place, panel in enumerate(self.panels):
            title = panel.unit.title(panel.y_title)
            lines.append(shorten(" · ".join(part for part in (panel.title, title) if part), columns))
            for index, name in enumerate(names):
                own = {p.x: p.y / panel.unit.size for p in self.points if (p.panel, p.series) == (place, name)}
                if not own:
                    continue
                course = [own.get(x) for x in range(len(self._places))][-max(8, columns - room - 34) :]
                drawn = terminal.coloured(
                    terminal.sparkline(course, min(own.values()), max(own.values())), index, colour
                )
                label = terminal.pad(shorten(self.legend.labels[name], room), room)
                span = f"{format_number(min(own.values()))} to {format_number(max(own.values()))}"
                lines.append(f"  {label}  {drawn}  {format_number(own[max(own)])}  ({span})")
            lines.append("")
        return [*lines, f"{self._places[0]} … {self._places[-1]}, {self.x_title}"]
