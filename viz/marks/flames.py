"""Flames: frames below the frame that calls them, as wide as what they take, in the colour of how that changed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...query.why.parts import readable
from ...warehouse.console.tables import shorten, width
from ..style import palette
from ..style.interaction import Tip, tooltip
from ..style.labels import printable
from ..style.plot_area import PlotArea
from ..style.terminal import pad
from ..style.units import DisplayUnit
from .cached import cached_property

WIDTH = 6.0  # inches
_ROW, _FRAME, _LEGEND = 0.17, 1.56, 0.57  # inches
SAME = "#E4E7EB"
_INK = "#1f2328"
_EDGE = "rgba(255, 255, 255, 0.75)"
_SHORTEST = 14  # points or pixels of a frame that has letters
_TIPS: tuple[Tip, ...] = (
    ("name", "path ends in", None), ("candidate", "candidate", None), ("base", "base", None), ("change", "difference", None),
    ("own", "own, without what it calls", None),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One frame: where it begins, how wide it is, and what tooltips say."""

    name: str
    depth: int  # 0 for the root
    start: float
    value: float
    difference: float
    texts: tuple[str, str, str, str]  # candidate, base, difference, own


@dataclass(frozen=True, kw_only=True)
class Flames:
    """The form; frames come callers first."""

    frames: Sequence[Frame]
    unit: DisplayUnit
    title: str
    wanted_size: tuple[float, float] | None = None  # inches the user wants
    drawn_fields: tuple[str, ...] = field(default=("label", "x0", "x1", "y0", "y1", "difference"), init=False)
    least = 0.0  # no minimum height

    @cached_property
    def depth(self) -> int:
        """The number of frames below each other."""
        return 1 + max(frame.depth for frame in self.frames)

    @cached_property
    def size(self) -> tuple[float, float]:
        """Inches: what the deepest path needs."""
        return WIDTH, round(max(1.8, _FRAME + self.depth * _ROW), 2)

    def left_out(self, size: tuple[float, float], head: float) -> list[str]:
        """The letters, in frames that are too low for them."""
        return PlotArea.of(size, head, below=_LEGEND).unnamed(self.depth)

    @property
    def names(self) -> list[tuple[str, str]]:
        """No series: the page searches frames instead."""
        return []

    @cached_property
    def fields(self) -> dict[str, list[Any]]:
        """One entry a frame."""
        frames = self.frames
        return {
            "label": [printable(readable(frame.name)) for frame in frames],
            "name": [printable(frame.name) for frame in frames],
            "x0": [self.unit.of(frame.start) for frame in frames],
            "x1": [self.unit.of(frame.start + frame.value) for frame in frames],
            "y0": [frame.depth for frame in frames],
            "y1": [frame.depth + 1 for frame in frames],
            "difference": [self.unit.of(frame.difference) for frame in frames],
            **{
                name: [frame.texts[place] for frame in frames]
                for place, name in enumerate(("candidate", "base", "change", "own"))
            },
        }

    def spec(self, interactive: bool, size: tuple[float, float], head: float) -> dict[str, Any]:
        """Rectangles with names in them; on a page a click zooms in, and a text is searched for."""
        area = PlotArea.of(size, head, below=_LEGEND)
        whole = self.unit.of(self.frames[0].value)
        most = max(map(abs, self.fields["difference"])) or 1.0
        zoomed = {
            "domainMin": {"expr": "at.x0 ? at.x0[0] : 0"}, "domainMax": {"expr": f"at.x1 ? at.x1[0] : {whole!r}"},
        }  # fmt: skip
        x = {
            "field": "x0", "type": "quantitative", "title": area.title(self.title, across=True),
            "scale": {"nice": False, "zero": False, **(zoomed if interactive else {"domain": [0, whole]})},
            "axis": {"grid": False, "labelFlush": True},
        }  # fmt: skip
        scale = {"nice": False, "zero": False, "reverse": True, "domain": [0, self.depth]}
        y = {"field": "y0", "type": "quantitative", "title": None, "axis": None, "scale": scale}
        tints = {"domain": [-most, 0, most], "range": [palette.LESS, SAME, palette.MORE], "interpolate": "rgb"}
        colour = {
            "field": "difference", "type": "quantitative", "scale": tints,
            "legend": {
                "title": area.title(self.unit.title("candidate - base"), across=True), "orient": "bottom",
                "direction": "horizontal", "gradientThickness": 8, "tickCount": 3,
            },
        }  # fmt: skip
        place = {"x": x, "x2": {"field": "x1"}, "y": y, "y2": {"field": "y1"}}
        room = "min(scale('x', datum.x1), width) - max(scale('x', datum.x0), 0)"
        letters = {
            "type": "text", "align": "left", "baseline": "middle", "clip": True, "color": _INK,
            "x": {"expr": "max(scale('x', datum.x0), 0) + 3"}, "limit": {"expr": f"{room} - 5"},
            "fontSize": 10 if interactive else area.letters(6.5, self.depth),
        }  # fmt: skip
        shown = {"condition": {"test": f"{room} > {_SHORTEST}", "value": 1}, "value": 0}
        middle = {**y, "field": "middle"}
        rect = {"type": "rect", "clip": True, "stroke": _EDGE, "strokeWidth": 0.4}
        frames: dict[str, Any] = {"name": "frames", "mark": rect, "encoding": {**place, "color": colour}}
        named = {
            "transform": [{"calculate": "datum.y0 + 0.5", "as": "middle"}], "mark": letters,
            "encoding": {"y": middle, "text": {"field": "label", "type": "nominal"}, "opacity": shown},
        }  # fmt: skip
        if not interactive:
            return {"layer": [frames] if area.unnamed(self.depth) else [frames, named]}
        sought = "search === '' || indexof(lower(datum.name), lower(search)) >= 0"
        frames["encoding"] |= {
            "opacity": {"condition": {"test": sought, "value": 1}, "value": 0.15}, "tooltip": tooltip(_TIPS),
        }  # fmt: skip
        letters["tooltip"], rect["cursor"] = None, "pointer"
        click = {"type": "point", "fields": ["x0", "x1"], "on": "click", "clear": "dblclick", "toggle": False}
        bound = {"input": "text", "name": "Search ", "placeholder": "part of a name", "autocomplete": "off"}
        params = [
            {"name": "search", "value": "", "bind": bound},
            {"name": "at", "select": click, "views": ["frames"]},
        ]
        return {"layer": [frames, named], "params": params}

    def text(self, columns: int, rows: int, colour: bool) -> list[str]:
        """The widest frames, indented below what calls them, with what they take and how that changed."""
        widest = sorted(self.frames, key=lambda frame: -frame.value)[: max(3, rows)]
        chosen = set(map(id, widest))
        shown = [frame for frame in self.frames if id(frame) in chosen]
        beside = [max(width(frame.texts[place]) for frame in shown) for place in (0, 2)]
        room = max(12, min(60, columns - sum(beside) - 4))
        lines = []
        for frame in shown:
            label = shorten(" " * min(frame.depth, room // 2) + printable(frame.name), room)
            values = (frame.texts[place].rjust(wide) for place, wide in zip((0, 2), beside, strict=True))
            lines.append("  ".join((pad(label, room), *values)))
        more = len(self.frames) - len(shown)
        return [*lines, *([f"and {more:,} narrower"] if more else [])]
