"""A scatter of scheduler steps, over their tokens: points, or how many are where, with medians or cost models over them."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..bands import Band
from ..data import Row
from ..output import png
from ..output.figure import SIZE
from ..style import terminal, theme
from ..style.interaction import Tip, fade_others, params, tooltip
from ..style.labels import printable
from ..style.plot_area import PlotArea
from ..style.value_axis import ValueAxis
from . import cost_curves
from .cached import cached_property
from .legend import Legend
from .overlays import band_layers
from .shaded_cells import ShadedCell, picture

_FAINT, _DARK = 0.35, 0.9  # shades of the cells with one step and with the most
_SHORTEST = 0.01  # of the x axis: half a line of medians
X_TITLE, Y_TITLE = "scheduled tokens per step", "model run [ms]"


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The form: a point for each step, or a shade for each cell and points for outliers; and lines over them."""

    rows: Sequence[Row]  # with `outlier` where cells are shaded
    axis: ValueAxis
    grid: tuple[int, int] | None  # cells that are shaded, across and down
    medians: Mapping[str, Sequence[Sequence[Band]]]  # by config, line by line
    alpha: float | None  # of points, where the user wants one
    point_size: float | None  # their diameter in points, likewise
    notes: dict[str, str]  # by config, what the legend in characters says of it
    color_by: str
    budget: int | None
    models: cost_curves.Models
    limit_ms: float | None  # slower steps were left out, if some were
    all_configs: Sequence[str] = ()  # configs of the store, whose looks are settled
    wanted_size: tuple[float, float] | None = None  # inches the user wants
    least = 0.0  # no minimum height

    @cached_property
    def legend(self) -> Legend:
        """One entry for each config; below the plot where a colour bar stands beside it."""
        return Legend.fitting(
            list(self.notes), self.wanted_size, below=self.color_by == "batch", all_configs=self.all_configs
        )

    @property
    def size(self) -> tuple[float, float]:
        """Inches: those of every chart, and what a legend below the plot needs."""
        return SIZE[0], round(SIZE[1] + self.legend.inches, 2)

    def left_out(self, size: tuple[float, float], head: float) -> list[str]:
        """Names of configs."""
        return self.legend.left_out

    @property
    def names(self) -> list[tuple[str, str]]:
        """Every config, and how it is called in the data."""
        return self.legend.names

    @property
    def drawn_fields(self) -> tuple[str, ...]:
        """The columns that a still image needs."""
        return ("c0", "c1", "c2", *(("c4",) if self.color_by == "batch" else ()))

    @cached_property
    def fields(self) -> dict[str, list[Any]]:
        """Columns under names without special characters; all of c0 to c10 appear in tooltips, x and y are middles of cells."""
        return {
            "c0": [self.legend.labels[row["config"]] for row in self.rows],
            "c1": [row["x"] for row in self.rows],
            "c2": [row["y"] for row in self.rows],
            "c3": [printable(row["config"]) for row in self.rows],
            "c4": [row["batch_size"] for row in self.rows],
            "c5": [row["schedule_ms"] for row in self.rows],
            "c6": [row["n"] for row in self.rows],
            "c7": [printable(row["path"] or "recorded by bench") for row in self.rows],
            "c8": [row["line"] for row in self.rows],
            "c9": [_origin(row) for row in self.rows],
            **({"c10": [row["fitted_ms"] for row in self.rows]} if self.models else {}),
            **(self._drawn_at(*self.grid) if self.grid else {}),
        }

    def _drawn_at(self, across: int, down: int) -> dict[str, list[Any]]:
        """The places where a page draws rows, and how dark: cells at their middles; outliers have no shade and stay in place."""
        drawn: dict[str, list[Any]] = {"x": [], "y": [], "shade": []}
        for row, cell in zip(self.rows, self._cells, strict=True):
            values: tuple[float, float, float | None] = row["x"], row["y"], None
            if cell:
                x = (cell.column + 0.5) / across * self._x_end
                values = x, self.axis.value((cell.row + 0.5) / down), cell.shade
            for column, value in zip(drawn.values(), values, strict=True):
                column.append(value)
        return drawn

    @cached_property
    def _cells(self) -> list[ShadedCell | None]:
        """The shaded cell of each row, the darker the larger the logarithm of its steps; None for outliers."""
        assert self.grid is not None
        across, down = self.grid
        most: dict[str, int] = {}
        for row in self.rows:
            most[row["config"]] = max(row["n"], most.get(row["config"], 1))
        cells: list[ShadedCell | None] = []
        for row in self.rows:
            dark = math.log(row["n"]) / (math.log(most[row["config"]]) or 1)
            cell = ShadedCell(
                _cell_of(row["x"] / self._x_end, across),
                _cell_of(self.axis.place(row["y"]), down),
                round(_FAINT + (_DARK - _FAINT) * dark, 2),
            )
            cells.append(None if row["outlier"] else cell)
        return cells

    @cached_property
    def _x_end(self) -> float:
        return max(row["x"] for row in self.rows) or 1

    def spec(self, interactive: bool, size: tuple[float, float], head: float) -> dict[str, Any]:
        """Points, or shaded cells with the outliers as points; over them medians or models."""
        ticks = (
            {"tickCount": 10, "tickMinStep": 1} if interactive else {"values": token_ticks(self._x_end, self.budget)}
        )
        area = PlotArea.of(size, head, below=self.legend.inches, beside=self.legend.beside)
        apart = {"labelOverlap": "greedy", "labelSeparation": 3}
        x, y = ("x", "y") if self.grid and interactive else ("c1", "c2")
        axes: dict[str, Any] = {
            "x": {
                "field": x, "type": "quantitative", "title": area.title(X_TITLE, across=True),
                "scale": {"domain": [0, self._x_end * 1.02], "nice": False}, "axis": {"format": ",d", **apart, **ticks},
            },
            "y": {
                "field": y, "type": "quantitative", "title": area.title(Y_TITLE, across=False),
                "scale": self.axis.scale(), "axis": {"format": ",~r", **self._y_ticks(interactive)},
            },
        }  # fmt: skip
        steps = {"name": "steps", **self._points(axes, area, interactive)}
        cells = [self._shades(axes, area) if interactive else self._picture(axes)] if self.grid else []
        larger = 1.6 if interactive else max(1.0, area.scale)
        colour = {**self.legend.encodings("of")["color"], "legend": None}
        over = [
            *self._limit(axes, clipped=interactive and self.axis.bulk is None), *self.axis.break_layers(axes["y"]),
            *(band_layers(self._medians(), axes, colour, larger=larger, alone=self._alone(interactive, "of"), tips={},
                          interactive=interactive)
              if self.medians else []),
            *(cost_curves.layers(
                self.models, self.legend, axes, interactive=interactive, coloured=self.color_by == "config"
            ) if self.models else []),
        ]  # fmt: skip
        if not cells and not over:
            return steps | ({"params": params("c0")} if interactive else {})
        zoom = self.axis.bulk is None  # a break stays where it is
        return {
            **({"data": {"values": self._outliers()}} if cells and not interactive else {}),
            "layer": [*cells, steps, *over],
            "resolve": {"legend": {"stroke": "independent", "fill": "independent"}},
            **({"params": params("c0", zoom=zoom, views=["steps"])} if interactive else {}),
        }

    def _y_ticks(self, interactive: bool) -> dict[str, Any]:
        """Those of the axis; where one zooms into it, those that are there then."""
        zooms = interactive and self.axis.bulk is None
        return {"tickCount": 6} if zooms else {"values": self.axis.ticks()}

    def _points(self, axes: dict[str, Any], area: PlotArea, interactive: bool) -> dict[str, Any]:
        """A point for each row; of shaded cells those of outliers alone."""
        each = _area(len(self.rows)) if self.point_size is None else self.point_size**2
        mark = {
            "type": "point",
            "filled": True,
            "size": each * (2 if interactive else 1),
            "opacity": 1,
            "strokeWidth": 0,
        }
        points: dict[str, Any] = {
            "mark": {
                **mark, **({"clip": True} if interactive else {"aria": False}),
                **({} if self.alpha is None else {"fillOpacity": self.alpha}),
            },
            "encoding": {
                **axes,
                **self.legend.encodings("c0", colour=self.color_by == "config"),
                **({"color": self._batch_colour(None if interactive else area)} if self.color_by == "batch" else {}),
                **self._alone(interactive, "c0"),
            },
        }  # fmt: skip
        points = self._told(points) if interactive else points
        if self.grid and interactive:
            points["transform"] = [{"filter": "datum.shade === null"}, *points.get("transform", [])]
        return points

    def _outliers(self) -> list[dict[str, Any]]:
        """The rows of a still image whose cells are a picture."""
        columns = zip(*(self.fields[name] for name in self.drawn_fields), self._cells, strict=True)
        return [dict(zip(self.drawn_fields, row, strict=True)) for *row, cell in columns if cell is None]

    def _picture(self, axes: dict[str, Any]) -> dict[str, Any]:
        """All cells as one picture, a pixel each, which lies over the plot as far as the grid does."""
        assert self.grid is not None
        scale = self.legend.encodings("c0")["color"]["scale"]
        colours = dict(zip(scale["domain"], scale["range"], strict=True))
        shaded = ((cell, colours[label]) for cell, label in zip(self._cells, self.fields["c0"], strict=True) if cell)
        x, y = (axes[side]["field"] for side in "xy")
        return {
            "name": "cells",
            "data": {"values": [{x: 0, "x2": self._x_end, y: self.axis.low, "y2": self.axis.high}]},
            "mark": {
                "type": "image", "url": png.data_url(picture(shaded, self.grid)), "aspect": False, "smooth": False, "aria": False,
            },
            "encoding": {**axes, "x2": {"field": "x2"}, "y2": {"field": "y2"}},
        }  # fmt: skip

    def _shades(self, axes: dict[str, Any], area: PlotArea) -> dict[str, Any]:
        """A square with a tooltip for each cell."""
        assert self.grid is not None
        across, down = self.grid
        side = max(area.width / across, area.height / down) * 1.6
        return self._told({
            "name": "cells",
            "transform": [{"filter": "datum.shade !== null"}],
            "mark": {
                "type": "point", "shape": "square", "strokeWidth": 0, "opacity": 1, "size": round(side**2, 2), "aria": False,
            },
            "encoding": {
                **axes,
                "fill": {**self.legend.encodings("c0")["color"], "legend": None},
                "fillOpacity": {"field": "shade", "type": "quantitative", "legend": None, "scale": None},
                **self._alone(True, "c0"),
            },
        })  # fmt: skip

    def _told(self, marks: dict[str, Any]) -> dict[str, Any]:
        """Marks with tooltips: file and line of each step, and the command that looks it up."""
        tips: list[Tip] = [
            ("c3", "config", None),
            ("c1", "tokens", ",d"),
            ("c2", "model run [ms]", ",.3f"),
            *([("c10", "fitted [ms]", ",.3f")] if self.models else []),
            ("c5", "schedule [ms]", ",.3f"),
            ("c4", "requests", ",d"),
            ("c6", "steps in this cell", ",d"),
            ("t0", "from", None),
            ("t1", "look it up", None),
        ]
        looked_up = "'bench sql \"FROM schedule_chunks WHERE ' + datum.c9 + datum.c8 + '\"'"
        return {
            **marks,
            "transform": [
                *marks.get("transform", []),
                {"calculate": "datum.c8 === null ? datum.c7 : datum.c7 + ':' + datum.c8", "as": "t0"},
                {"calculate": f"datum.c9 === '' ? '' : {looked_up}", "as": "t1"},
            ],
            "encoding": {**marks["encoding"], "tooltip": tooltip(tips)},
        }

    def _alone(self, interactive: bool, series: str) -> dict[str, Any]:
        return {"opacity": fade_others(series)} if interactive else {}

    def _medians(self) -> list[dict[str, Any]]:
        """Points of the lines; one band alone is a short line across its tokens."""
        least = self._x_end * _SHORTEST
        return [
            {
                "of": self.legend.labels[config],
                "line": number,
                "x": x,
                "y": band.median,
                "low": band.low,
                "high": band.high,
            }
            for config, lines in self.medians.items()
            for number, bands in enumerate(lines)
            for band in bands
            for x in (
                [band.x]
                if len(bands) > 1
                else [max(0.0, min(band.start, band.x - least)), max(band.end, band.x + least)]
            )
        ]

    def _limit(self, axes: dict[str, Any], *, clipped: bool) -> list[dict[str, Any]]:
        """A line at the limit over which steps were left out, and its name: above it, unless a page that zooms clips it there.

        There is none where the steps do not reach half of it: the line would press them to the ground.
        """
        if self.limit_ms is None or self.axis.high < self.limit_ms:
            return []
        at = {name: value for name, value in axes["y"].items() if name != "field"} | {"datum": self.limit_ms}
        said = f"limit {self.limit_ms:g} ms: slower steps are not drawn"
        where = {"baseline": "top", "dy": 3} if clipped else {"baseline": "bottom", "dy": -2}
        text = {"type": "text", "align": "right", "dx": -2, "text": said, **where}
        once: dict[str, Any] = {"data": {"values": [{}]}}
        return [
            {**once, "mark": {"type": "rule", "strokeDash": [5, 3], "color": theme.ON_AXIS}, "encoding": {"y": at}},
            {**once, "mark": {**text, "color": theme.ON_AXIS}, "encoding": {"y": at, "x": {"value": "width"}}},
        ]

    def _batch_colour(self, area: PlotArea | None) -> dict[str, Any]:
        """The colour bar; in an image as high as the plot, its title included."""
        sizes = sorted({row["batch_size"] for row in self.rows if (row["batch_size"] or 0) > 0}) or [1]
        wide = sizes[-1] / sizes[0] >= 16
        scale = {"scheme": "viridis", "domain": [sizes[0], sizes[-1]], "nice": False}
        return {
            "condition": {
                "test": "isValid(datum.c4) && datum.c4 > 0",
                "field": "c4",
                "type": "quantitative",
                "scale": {**scale, "type": "log", "base": 2} if wide else scale,
                "legend": {
                    "title": "requests per step",
                    "values": _batch_ticks(sizes, wide),
                    "format": ",d",
                    "gradientThickness": 9,
                    **(
                        {"gradientLength": max(20.0, round(area.height - 2 * theme.AXIS_TITLE * area.scale))}
                        if area
                        else {}
                    ),
                },
            },
            "value": "#9a9a9a",
        }

    def text(self, columns: int, rows: int, colour: bool) -> list[str]:
        """The plot, then the legend."""
        series = []
        for config, label in self.legend.labels.items():
            own = [row for row in self.rows if row["config"] == config]
            series.append(
                terminal.TextSeries(label, [row["x"] for row in own], [row["y"] for row in own], self.notes[config])
            )
        series += cost_curves.series(self.models)
        x = terminal.Axis(X_TITLE, 0, self._x_end)
        drawn = terminal.plot(series, x, self.axis, columns=columns, rows=rows, colour=colour)
        return [*drawn, "", *terminal.legend(series, columns, colour)]


def token_ticks(end: float, budget: int | None) -> list[int]:
    """Ticks for an axis of tokens from 0 to its end: the budget (else the largest power of two), its halves and doubles as far
    as they fit, and the end where it lies apart from these.
    """
    top = budget if budget and budget <= end else 2 ** max(0, int(math.log2(max(end, 1))))
    while top * 2 <= end:
        top *= 2
    ticks = [top]
    while ticks[-1] % 2 == 0 and ticks[-1] / 2 >= end / 20:
        ticks.append(ticks[-1] // 2)
    return [0, *reversed(ticks), *([int(end)] if end >= 1.2 * top else [])]


def _batch_ticks(sizes: list[int], wide: bool) -> list[int]:
    """Batch sizes that occur, as many as fit beside a colour bar."""
    if len(sizes) <= 6:
        return sizes
    if wide:
        return [size for size in sizes if size & (size - 1) == 0 or size == sizes[-1]][-9:]
    return sizes[:: -(-len(sizes) // 6)]


def _area(rows: int) -> float:
    """Area of a marker in square points: large enough to see single points, small enough for many."""
    return 36 if rows <= 60 else 20 if rows <= 1_000 else 11 if rows <= 5_000 else 7


def _origin(row: Row) -> str:
    """The condition that finds the step, without its line; empty if an id contains characters that a shell interprets."""
    column = "run_id" if row["source_id"] is None else "source_id"
    if not re.fullmatch(r"[\w.-]+", str(row[column]), re.ASCII) or row["line"] is None:
        return ""
    return f"{column} = '{row[column]}' AND line = "


def _cell_of(place: float, cells: int) -> int:
    """The cell that a place from 0 to 1 is in."""
    return min(math.floor(place * cells), cells - 1)
