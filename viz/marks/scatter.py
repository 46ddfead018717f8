"""A scatter of scheduler steps, over their tokens, with the cost models fitted to them."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..data import Row
from ..output.figure import SIZE
from ..style import terminal
from ..style.interaction import Tip, fade_others, params, tooltip
from ..style.labels import printable
from ..style.plot_area import PlotArea
from . import cost_curves
from .legend import Legend

LIMIT_COLOUR = "#6e7781"  # of the line at the limit, and its name
X_TITLE, Y_TITLE = "scheduled tokens per step", "model run [ms]"


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The form: a point for each step, and the curves of the models."""

    rows: Sequence[Row]
    notes: dict[str, str]  # by config, what the legend in characters says of it
    color_by: str
    budget: int | None
    models: cost_curves.Models
    limit_ms: float | None  # slower steps were left out, if some were
    all_configs: Sequence[str]  # configs of the store, whose looks are settled
    wanted_size: tuple[float, float] | None

    @cached_property
    def legend(self) -> Legend:
        """One entry for each config."""
        return Legend.fitting(list(self.notes), self.wanted_size, all_configs=self.all_configs)

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
        return [(printable(config), label) for config, label in self.legend.labels.items()]

    @property
    def drawn_fields(self) -> tuple[str, ...]:
        """The columns that a still image needs."""
        return ("c0", "c1", "c2", "c4") if self.color_by == "batch" else ("c0", "c1", "c2")

    @cached_property
    def fields(self) -> dict[str, list[Any]]:
        """Columns under names without special characters; c0 to c4 are drawn, all appear in tooltips."""
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
        }

    def spec(self, interactive: bool, size: tuple[float, float], head: float) -> dict[str, Any]:
        """Points, or points with models in layers over them."""
        x_end, y_end = self._ends
        ticks = {"tickCount": 10, "tickMinStep": 1} if interactive else {"values": token_ticks(x_end, self.budget)}
        area = PlotArea.of(size, head, below=self.legend.inches, beside=self.legend.beside)
        apart = {"labelOverlap": "greedy", "labelSeparation": 3}
        mark = {
            "type": "point",
            "filled": True,
            "size": _area(len(self.rows)) * (2 if interactive else 1),
            "opacity": 1,
            "strokeWidth": 0,
        }
        axes: dict[str, Any] = {
            "x": {
                "field": "c1", "type": "quantitative", "title": area.title(X_TITLE, across=True),
                "scale": {"domain": [0, x_end * 1.02], "nice": False}, "axis": {"format": ",d", **apart, **ticks},
            },
            "y": {
                "field": "c2", "type": "quantitative", "title": area.title(Y_TITLE, across=False),
                "scale": {"domain": [0, y_end * 1.02], "nice": not interactive},
            },
        }  # fmt: skip
        points: dict[str, Any] = {
            "mark": {**mark, "clip": True} if interactive else {**mark, "aria": False},
            "encoding": {
                **axes,
                **self.legend.encodings("c0", colour=self.color_by == "config"),
                **({"color": self._batch_colour()} if self.color_by == "batch" else {}),
            },
        }
        if interactive:
            points = _interactive(points, fit=bool(self.models))
        over = [*self._limit(axes), *(cost_curves.layers(
            self.models, self.legend, axes, interactive=interactive, coloured=self.color_by == "config"
        ) if self.models else [])]  # fmt: skip
        if not over:
            return points | ({"params": params("c0")} if interactive else {})
        return {
            "layer": [{"name": "steps", **points}, *over],
            "resolve": {"legend": {"stroke": "independent", "fill": "independent"}},
            **({"params": params("c0", views=["steps"])} if interactive else {}),
        }

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """Where the axes end: at the most tokens; and at the slowest step, or at the limit over which there are more."""
        most, slowest = (max(row[axis] for row in self.rows) or 1 for axis in "xy")
        return most, self.limit_ms if self.limit_ms is not None and slowest >= self.limit_ms / 2 else slowest

    def _limit(self, axes: dict[str, Any]) -> list[dict[str, Any]]:
        """A line at the limit over which steps were left out, and its name.

        There is none where the steps do not reach half of it: the line would press them to the ground.
        """
        if self.limit_ms is None or self._ends[1] < self.limit_ms:
            return []
        at = {name: value for name, value in axes["y"].items() if name != "field"} | {"datum": self.limit_ms}
        said = f"limit {self.limit_ms:g} ms: slower steps are not drawn"
        text = {"type": "text", "align": "right", "baseline": "bottom", "dx": -2, "dy": -2, "text": said}
        once: dict[str, Any] = {"data": {"values": [{}]}}
        return [
            {**once, "mark": {"type": "rule", "strokeDash": [5, 3], "color": LIMIT_COLOUR}, "encoding": {"y": at}},
            {**once, "mark": {**text, "color": LIMIT_COLOUR}, "encoding": {"y": at, "x": {"value": "width"}}},
        ]

    def _batch_colour(self) -> dict[str, Any]:
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
        x_end, y_end = self._ends
        axes = terminal.Axis(X_TITLE, 0, x_end), terminal.Axis(Y_TITLE, 0, y_end)
        drawn = terminal.plot(series, *axes, columns=columns, rows=rows, colour=colour)
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


def _interactive(points: dict[str, Any], *, fit: bool) -> dict[str, Any]:
    """Points with tooltips: file and line of each step, and the command that looks it up."""
    tips: list[Tip] = [
        ("c3", "config", None),
        ("c1", "tokens", ",d"),
        ("c2", "model run [ms]", ",.3f"),
        *([("c10", "fitted [ms]", ",.3f")] if fit else []),
        ("c5", "schedule [ms]", ",.3f"),
        ("c4", "requests", ",d"),
        ("c6", "steps in this cell", ",d"),
        ("t0", "from", None),
        ("t1", "look it up", None),
    ]
    return {
        **points,
        "transform": [
            {"calculate": "datum.c8 === null ? datum.c7 : datum.c7 + ':' + datum.c8", "as": "t0"},
            {
                "calculate": "datum.c9 === '' ? '' : 'bench sql \"FROM schedule_chunks WHERE ' + datum.c9 + datum.c8 + '\"'",
                "as": "t1",
            },
        ],
        "encoding": {**points["encoding"], "opacity": fade_others("c0"), "tooltip": tooltip(tips)},
    }
