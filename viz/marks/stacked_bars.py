"""Stacked bars, one below the other: the parts of a whole."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...warehouse.console.tables import shorten, width
from ..style import terminal
from ..style.interaction import Tip, fade_others, params, tooltip
from ..style.labels import printable
from ..style.plot_area import Labelling, PlotArea, brief_rows, row_labels
from ..style.units import DisplayUnit, extent, format_number
from .cached import cached_property

WIDTH = 6.0  # inches
_ROW, _FRAME, _LEGEND = 0.3, 1.4, 0.17  # inches
_TINTS = ("#0072B2", "#E69F00", "#B3BAC2", "#009E73", "#CC79A7", "#56B4E9")
_FILLS = "█▒░▓▞▚"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """One bar: the size of each part, None if unknown."""

    row: str
    parts: tuple[float | None, ...]
    text: str  # after the bar
    tips: tuple[Any, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Stacks:
    """The form; bars from top to bottom."""

    stacks: Sequence[Stack]
    parts: tuple[str, ...]  # from the axis outwards
    title: str  # of the axis
    unit: DisplayUnit
    tints: tuple[str, ...] = _TINTS  # of the parts
    what: str = "config"  # what a bar is about
    tips: tuple[tuple[str, str | None], ...] = ()  # title and d3 format of each of a bar's `tips`
    labelling: Labelling = row_labels  # of the bars
    wanted_size: tuple[float, float] | None = None  # inches the user wants
    drawn_fields: tuple[str, ...] = field(default=("row", "part", "start", "end", "place"), init=False)
    least = 0.0  # no minimum height

    @cached_property
    def rows(self) -> dict[str, str]:
        """Label of each row, by name."""
        return self.labelling([stack.row for stack in self.stacks], (self.wanted_size or (WIDTH,))[0])

    @cached_property
    def size(self) -> tuple[float, float]:
        """Inches: what the rows need."""
        return WIDTH, round(_FRAME + len(self.stacks) * _ROW, 2)

    @cached_property
    def _across(self) -> int:
        """Legend entries beside each other."""
        across = PlotArea.of(self.wanted_size or (WIDTH, 0), 0, rows=list(self.rows.values()))
        return across.columns(self.parts, len(self.parts))

    def _plot_area(self, size: tuple[float, float], head: float) -> PlotArea:
        below = -(-len(self.parts) // self._across) * _LEGEND
        return PlotArea.of(size, head, below=below, rows=list(self.rows.values()), title=self.title)

    def left_out(self, size: tuple[float, float], head: float) -> list[str]:
        """Names of rows."""
        return self._plot_area(size, head).unnamed(len(self.stacks))

    @property
    def names(self) -> list[tuple[str, str]]:
        """The parts, which can be looked at alone."""
        return [(part, part) for part in self.parts]

    @cached_property
    def fields(self) -> dict[str, list[Any]]:
        """One entry for each part of a bar that is known."""
        entries: list[dict[str, Any]] = []
        for stack in self.stacks:
            end = 0.0
            known = sum(value for value in stack.parts if value is not None) or 1.0
            for place, (part, value) in enumerate(zip(self.parts, stack.parts, strict=True)):
                if value is None:
                    continue
                start, end = end, end + value / self.unit.size
                tips = {f"t{i}": tip for i, tip in enumerate(stack.tips)}
                entries.append(
                    {"row": self.rows[stack.row], "part": part, "start": start, "end": end, "place": place,
                     "name": printable(stack.row), "size": value / self.unit.size, "share": value / known, **tips}
                )  # fmt: skip
        names = (
            "row",
            "part",
            "start",
            "end",
            "place",
            "name",
            "size",
            "share",
            *(f"t{i}" for i in range(len(self.tips))),
        )
        return {name: [entry[name] for entry in entries] for name in names}

    def spec(self, interactive: bool, size: tuple[float, float], head: float) -> dict[str, Any]:
        """Bars from where the part before ends."""
        domain = list(extent([*self.fields["end"]], (), zero=True))
        area = self._plot_area(size, head)
        quiet = {"domain": False, "ticks": False, "grid": False, "labelLimit": 0}
        quiet |= {} if interactive else area.names(len(self.stacks))
        tips: list[Tip] = [
            ("name", self.what, None),
            ("part", "part", None),
            ("size", self.title, ",.4~g"),
            ("share", "share", ".1%"),
        ]
        tips += [(f"t{i}", title, form) for i, (title, form) in enumerate(self.tips)]
        played = {"opacity": fade_others("part", 0.1), "tooltip": tooltip(tips)} if interactive else {}
        scale = {"domain": list(self.parts), "range": list(self.tints[: len(self.parts)])}
        colour = {
            "field": "part", "type": "nominal", "scale": scale,
            "legend": {"title": None, "orient": "bottom", "columns": self._across, "symbolType": "square"},
        }  # fmt: skip
        encoding = {
            "x": {"field": "start", "type": "quantitative", "title": area.title(self.title, across=True),
                  "scale": {"domain": domain, "nice": False}},
            "x2": {"field": "end"},
            "y": {"field": "row", "type": "nominal", "title": None, "sort": None, "axis": quiet,
                  "scale": {"domain": list(self.rows.values()), "padding": 0.25}},
            "color": colour, **played,
        }  # fmt: skip
        spec = {"mark": {"type": "bar"}, "encoding": encoding}
        return (
            {**spec, "params": params("part", zoom=False), **brief_rows(self.rows, self.labelling)}
            if interactive
            else spec
        )

    def text(self, columns: int, rows: int, colour: bool) -> list[str]:
        """A line for each bar, each part with a filling of its own."""
        name_room = min(28, max(map(width, self.rows.values())))
        text_room = max(width(stack.text) for stack in self.stacks)
        across = max(10, columns - name_room - text_room - 4)
        longest = max(sum(value or 0 for value in stack.parts) for stack in self.stacks) or 1
        lines = []
        for stack in self.stacks:
            drawn, before, end = "", 0, 0.0
            for place, value in enumerate(stack.parts):
                end += value or 0
                upto = round(end / longest * across)
                drawn += terminal.coloured(_FILLS[place] * (upto - before), place, colour)
                before = upto
            label = terminal.pad(shorten(self.rows[stack.row], name_room), name_room)
            lines.append(f"{label}  {drawn}{' ' * (across - before)}  {printable(stack.text)}".rstrip())
        parts = "  ".join(
            f"{terminal.coloured(_FILLS[place], place, colour)} {part}" for place, part in enumerate(self.parts)
        )
        return [
            *lines,
            "",
            f"{parts}   full width: {format_number(longest / self.unit.size)} {self.unit.name or ''}".rstrip(),
        ]
