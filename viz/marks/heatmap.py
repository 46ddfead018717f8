"""A heat map of states: rows over columns, each cell a colour and a letter that says the same."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...warehouse.console.tables import shorten, width
from ..style import terminal
from ..style.interaction import Tip, fade_others, params, tooltip
from ..style.labels import labels, printable
from ..style.plot_area import PlotArea, brief_rows, row_labels
from .cached import cached_property

WIDTH = 6.0  # inches
_ROW, _FRAME, _LEGEND_ROW = 0.16, 1.2, 0.17  # inches
_ACROSS = 3  # legend entries beside each other
_INK = "#1f2328"  # on tints, which are the same on any page


@dataclass(frozen=True, slots=True)
class State:
    """A state that a cell can have."""

    letter: str
    meaning: str
    tint: str

    @property
    def label(self) -> str:
        """Its entry in the legend."""
        return f"{self.letter}  {self.meaning}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatCell:
    """One cell."""

    row: str
    column: int  # its place
    state: State
    tips: tuple[Any, ...] = ()


@dataclass(frozen=True, kw_only=True)
class HeatMap:
    """The form; rows from top to bottom in the order of their first cells."""

    cells: Sequence[HeatCell]
    columns: tuple[str, ...]  # names of the places
    title: str  # of the columns
    tips: tuple[str, ...] = ()
    wanted_size: tuple[float, float] | None = None  # inches the user wants
    drawn_fields: tuple[str, ...] = field(default=("row", "column", "letter", "state"), init=False)
    least = 0.0  # no minimum height

    @cached_property
    def rows(self) -> dict[str, str]:
        """Label of each row, by name."""
        names = list(dict.fromkeys(cell.row for cell in self.cells))
        return row_labels(names, (self.wanted_size or (WIDTH,))[0])

    @cached_property
    def states(self) -> list[State]:
        """The states that occur."""
        return sorted({cell.state for cell in self.cells}, key=lambda state: state.meaning)

    @cached_property
    def size(self) -> tuple[float, float]:
        """Inches: what the rows need."""
        return WIDTH, round(_FRAME + self._below + len(self.rows) * _ROW, 2)

    @property
    def _below(self) -> float:
        """Inches of the legend."""
        return -(-len(self.states) // self._across) * _LEGEND_ROW

    @cached_property
    def _across(self) -> int:
        """Legend entries beside each other."""
        across = PlotArea.of(self.wanted_size or (WIDTH, 0), 0, rows=list(self.rows.values()))
        return across.columns([state.label for state in self.states], _ACROSS)

    def _plot_area(self, size: tuple[float, float], head: float) -> PlotArea:
        return PlotArea.of(size, head, below=self._below, rows=list(self.rows.values()))

    def left_out(self, size: tuple[float, float], head: float) -> list[str]:
        """Names of rows, and the letters."""
        missing = self._plot_area(size, head).unnamed(len(self.rows))
        return [*missing, *(["the letters"] if missing else [])]

    @property
    def names(self) -> list[tuple[str, str]]:
        """The states, which can be looked at alone."""
        return [(state.meaning, state.label) for state in self.states]

    @cached_property
    def fields(self) -> dict[str, list[Any]]:
        """One entry a cell."""
        places = self._places
        return {
            "row": [self.rows[cell.row] for cell in self.cells],
            "column": [places[cell.column] for cell in self.cells],
            "letter": [cell.state.letter for cell in self.cells],
            "state": [cell.state.label for cell in self.cells],
            "name": [printable(cell.row) for cell in self.cells],
            **{f"t{i}": [cell.tips[i] for cell in self.cells] for i in range(len(self.tips))},
        }

    @cached_property
    def _places(self) -> list[str]:
        return list(labels(self.columns, 16).values())

    def spec(self, interactive: bool, size: tuple[float, float], head: float) -> dict[str, Any]:
        """Rectangles with letters in them."""
        area = self._plot_area(size, head)
        axis = {"domain": False, "ticks": False, "grid": False}
        names = {} if interactive else area.names(len(self.rows))
        x = {
            "field": "column", "type": "ordinal", "title": area.title(self.title, across=True), "sort": None,
            "scale": {"domain": self._places, "padding": 0.06},
            "axis": {**axis, "labelAngle": 0, "labelOverlap": "greedy", "labelSeparation": 3},
        }  # fmt: skip
        y = {
            "field": "row", "type": "nominal", "title": None, "sort": None,
            "scale": {"domain": list(self.rows.values()), "padding": 0.06}, "axis": {**axis, "labelLimit": 0, **names},
        }  # fmt: skip
        legend = {"title": None, "orient": "bottom", "columns": self._across, "labelLimit": 0, "symbolType": "square"}
        scale = {"domain": [s.label for s in self.states], "range": [s.tint for s in self.states]}
        colour = {"field": "state", "type": "nominal", "scale": scale, "legend": legend}
        tips: list[Tip] = [("name", "case", None), ("column", self.title, None), ("state", "ended", None)]
        tips += [(f"t{i}", title, None) for i, title in enumerate(self.tips)]
        played = {"opacity": fade_others("state", 0.1), "tooltip": tooltip(tips)} if interactive else {}
        letter = {"type": "text", "fontSize": 10 if interactive else area.letters(6.5, len(self.rows)), "color": _INK}
        layers = [
            {"name": "cells", "mark": {"type": "rect"}, "encoding": {"x": x, "y": y, "color": colour, **played}},
            {"mark": letter, "encoding": {"x": x, "y": y, "text": {"field": "letter", "type": "nominal"}}},
        ]
        spec = {"layer": layers[:1] if area.unnamed(len(self.rows)) and not interactive else layers}
        played = {"params": params("state", zoom=False, views=["cells"]), **brief_rows(self.rows)}
        return {**spec, **played} if interactive else spec

    def text(self, columns: int, rows: int, colour: bool) -> list[str]:
        """A row of letters for each row, then what they mean."""
        room = min(40, max(map(width, self.rows.values())))
        shown = range(len(self.columns))[-max(1, (columns - room - 2) // 2) :]
        letters = {(cell.row, cell.column): cell.state for cell in self.cells}
        inks = {state: index for index, state in enumerate(self.states)}
        lines = []
        for name, label in self.rows.items():
            states = [letters.get((name, place)) for place in shown]
            drawn = " ".join(terminal.coloured(s.letter, inks[s], colour) if s else "." for s in states)
            lines.append(f"{terminal.pad(shorten(label, room), room)}  {drawn}")
        ends = f"{self._places[shown[0]]} … {self._places[shown[-1]]}, {self.title}"
        meanings = [
            f"  {terminal.coloured(state.letter, inks[state], colour)}  {state.meaning}" for state in self.states
        ]
        return [*lines, "", f"{ends}; a dot: not measured", *meanings]
