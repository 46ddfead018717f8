"""Bars, one below the other, hung from 1 on a logarithmic axis or standing on 0, with their intervals."""

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...warehouse.console.tables import shorten, width
from ..style import theme
from ..style.interaction import Tip, fade_others, params, tooltip
from ..style.labels import ems, printable
from ..style.plot_area import Labelling, PlotArea, brief_rows, row_labels
from ..style.terminal import coloured, pad
from ..style.units import DisplayUnit, extent, format_number, log_ticks
from .cached import cached_property
from .legend import Legend

WIDTH = 6.0  # inches
_ROW, _SERIES = 0.17, 0.1  # inches of a row, and of every further series in it
_PAGE, _DENSEST = 7.5, 0.6  # inches of rows on a page; what they may shrink to, to fit there
_FRAME = 1.15  # inches of title and axis
_AT_ONCE = 64  # bars of a page that are shown at once
_ABREAST = 6  # series that colour tells apart in one row
_WHISKER = 4.0  # points: the ends of an interval, lower where rows are
_NOTED = 5.0  # points of a bar's height in an image, below which notes would stand on each other
_NOTES, _BEYOND = 0.5, 8.0  # share of the width that notes have at most; points about them
_GAP = 0.25  # between rows, of the distance from one to the next
_GREY = "#7d858e"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar."""

    row: str  # what stands beside it; bars of one row differ in their series
    series: str
    value: float | None  # None: there is only the note
    low: float | None = None  # ends of its interval
    high: float | None = None
    sure: bool = True  # filled; hollow otherwise
    note: str = ""  # stands at its end: a status
    text: str = ""  # the value as people read it, with its doubt
    tips: tuple[Any, ...] = ()  # what else a tooltip tells
    start: float | None = None  # where it begins, unless where all do


@dataclass(frozen=True, kw_only=True)
class Bars:
    """The form; `bars` from top to bottom."""

    bars: Sequence[Bar]
    title: str  # of the axis
    unit: DisplayUnit  # of the axis
    ratio: bool  # hung from 1 on a logarithmic axis; otherwise standing on 0
    series: Sequence[str] = ()  # in the order of the legend; else that of the bars
    tips: tuple[tuple[str, str | None], ...] = ()  # title and d3 format of each of a bar's `tips`
    all_configs: Sequence[str] = ()  # configs of the store, whose looks are settled
    colours: Mapping[str, str] = field(default_factory=dict)  # by series, of which the colour says something
    wanted_size: tuple[float, float] | None = None  # inches the user wants
    labelling: Labelling = row_labels  # of the rows

    @cached_property
    def size(self) -> tuple[float, float]:
        """Inches: what the rows need."""
        rows = len(self.rows) * (_ROW + _SERIES * (self._abreast - 1))
        rows = max(rows * _DENSEST, min(rows, _PAGE))
        return WIDTH, round(max(1.5, _FRAME + self._below + rows), 2)

    @property
    def _below(self) -> float:
        """Inches of the legend, where there is one."""
        return 0.0 if self._crowded else self.legend.inches

    @cached_property
    def legend(self) -> Legend:
        """One entry for each series."""
        size = self.wanted_size or (WIDTH, 0)
        share = PlotArea.of(size, 0, rows=list(self.rows.values())).width / size[0] / theme.POINTS_PER_INCH
        return Legend.fitting(self._series, self.wanted_size, plot=share, all_configs=self.all_configs)

    @cached_property
    def _series(self) -> list[str]:
        return list(dict.fromkeys([*self.series, *(bar.series for bar in self.bars)]))

    @cached_property
    def _crowded(self) -> bool:
        """True if a row would hold more series than can be told apart by colour: each then has a row of its own."""
        return len(self._series) > _ABREAST

    @cached_property
    def _abreast(self) -> int:
        """Bars that a row has room for: one for each series, if any row has two."""
        return len(self._series) if len(self.rows) < len(self.bars) else 1

    @property
    def _slots(self) -> int:
        """Places of bars, and between rows."""
        return math.ceil(len(self.rows) * self._abreast / (1 - _GAP))

    @cached_property
    def rows(self) -> dict[str, str]:
        """Label of each row, by name, from top to bottom."""
        names = list(dict.fromkeys(map(self._row, self.bars)))
        return self.labelling(names, (self.wanted_size or (WIDTH,))[0])

    def _row(self, bar: Bar) -> str:
        return f"{bar.row} · {bar.series}" if self._crowded else bar.row

    @cached_property
    def base(self) -> float:
        """The value at which bars begin."""
        return 1.0 if self.ratio else 0.0

    @cached_property
    def _span(self) -> tuple[float, float]:
        """All bars, and as much of their intervals as keeps the bars visible."""
        values = [v for bar in self.bars for v in map(self._shown, (bar.value, bar.start)) if v is not None]
        ends = [v for bar in self.bars for v in map(self._shown, (bar.low, bar.high)) if v is not None]
        return extent([*values, self.base], ends, zero=not self.ratio, log=self.ratio)

    @cached_property
    def domain(self) -> tuple[float, float]:
        """Ends of the axis: all bars, and room for the notes beyond them."""
        low, high = self._span
        area = self._plot_area(self.wanted_size or self.size, 0)
        longest = max(map(ems, (*self._notes, *self._shared_notes)), default=0.0)
        if not longest:
            return low, high
        share = min(_NOTES, (_BEYOND + longest * area.letters(theme.NOTE, self._slots)) / area.width)
        room = share / (1 - share) * (math.log(high / low) if self.ratio else high - low)
        if self._rightwards(low, high):
            return low, high * math.exp(room) if self.ratio else high + room
        return low / math.exp(room) if self.ratio else low - room, high

    def _rightwards(self, low: float, high: float) -> bool:
        """Return whether there is more room to the right of the base, where notes are then placed."""
        return high * low >= 1 if self.ratio else high + low >= 0

    @property
    def cut(self) -> int:
        """The number of intervals that extend beyond the axis."""
        low, high = self._span
        return sum((self._shown(b.low) or low) < low or (self._shown(b.high) or high) > high for b in self.bars)

    def _shown(self, value: float | None) -> float | None:
        """A value in the axis's unit; None where the axis has no place for it."""
        return None if value is None or (self.ratio and value <= 0) else value / self.unit.size

    @property
    def names(self) -> list[tuple[str, str]]:
        """Every series, with its name in the data."""
        return self.legend.names

    drawn_fields = (
        "row",
        "series",
        "value",
        "low",
        "high",
        "low_end",
        "high_end",
        "sure",
        "note",
        "shared",
        "at",
        "start",
    )
    least = 0.0  # no minimum height

    @cached_property
    def fields(self) -> dict[str, list[Any]]:
        """One entry a bar."""
        low, high = self._span
        spans = [(self._shown(bar.low), self._shown(bar.high)) for bar in self.bars]
        ends = [(max(a, low), min(b, high)) if a is not None and b is not None else (None, None) for a, b in spans]
        values = [self._shown(bar.value) for bar in self.bars]
        outer = max if self._rightwards(low, high) else min
        ends_of_rows: dict[str, float] = {}
        for bar, value, span in zip(self.bars, values, ends, strict=True):
            reached = (ends_of_rows.get(self._row(bar), self.base), value, *span)
            ends_of_rows[self._row(bar)] = outer(x for x in reached if x is not None)
        return {
            "row": [self.rows[self._row(bar)] for bar in self.bars],
            "series": [self.legend.labels[bar.series] for bar in self.bars],
            "value": values,
            "start": [self.base if bar.start is None else self._shown(bar.start) for bar in self.bars],
            "low": [a for a, _ in ends],
            "high": [b for _, b in ends],
            "low_end": [a if a == shown else None for (a, _), (shown, _) in zip(ends, spans, strict=True)],
            "high_end": [b if b == shown else None for (_, b), (_, shown) in zip(ends, spans, strict=True)],
            "sure": [bar.sure for bar in self.bars],
            "note": self._notes,
            "shared": self._shared_notes,
            "at": [ends_of_rows[self._row(bar)] for bar in self.bars],
            "name": [printable(bar.row) for bar in self.bars],
            "whose": [printable(bar.series) for bar in self.bars],
            "said": [bar.text or bar.note for bar in self.bars],
            **{f"t{i}": [bar.tips[i] for bar in self.bars] for i in range(len(self.tips))},
        }

    @cached_property
    def _notes(self) -> list[str]:
        return [printable(bar.note) for bar in self.bars]

    @cached_property
    def _shared_notes(self) -> list[str]:
        """The note of each bar; the middle one says those of its row, or of neighbours without a value that have the same."""
        rows, series = {name: place for place, name in enumerate(self.rows)}, self._series
        places = [(rows[self._row(bar)], series.index(bar.series)) for bar in self.bars]
        notes = [*self._notes]

        def alike(i: int) -> tuple[object, ...]:
            if self._abreast > 1:
                return (places[i][0],)
            return (notes[i],) if notes[i] and self.bars[i].value is None else (i,)

        noted = (i for i in sorted(range(len(notes)), key=places.__getitem__) if notes[i] or self._abreast == 1)
        groups = [list(group) for _, group in itertools.groupby(noted, key=alike)]
        for members in groups:
            counts = Counter(notes[place] for place in members)
            said = ", ".join(note if count == 1 else f"{note} ×{count}" for note, count in counts.items())
            for place in members:
                notes[place] = said if place == members[len(members) // 2] else ""
        return notes

    def spec(self, interactive: bool, size: tuple[float, float], head: float) -> dict[str, Any]:
        """Bars, whiskers, and notes in layers."""
        low, high = self.domain
        area = self._plot_area(size, head)
        axis: dict[str, Any] = {"labelOverlap": True, "labelSeparation": 3}
        if self.ratio:
            axis |= {"values": area.ticks(low, high, across=True), "labelExpr": "format(datum.value, ',~r') + 'x'"}
        scale = {"type": "log" if self.ratio else "linear", "domain": [low, high], "nice": False}
        x = {"type": "quantitative", "title": area.title(self.title, across=True), "scale": scale, "axis": axis}
        colour = self.legend.encodings("series")["color"]
        looks = zip(self.legend.labels, colour["scale"]["range"], strict=True)
        colour["scale"]["range"] = [self.colours.get(series, look) for series, look in looks]
        if self._crowded:
            colour["legend"] = None
        right = self._rightwards(low, high)
        note: dict[str, Any] = {"align": "left" if right else "right", "dx": 4 if right else -4, "color": theme.FAILED}
        slot = area.height / self._slots
        crowded = slot < _NOTED and not interactive
        together = crowded or (
            interactive and self._abreast > 1
        )  # a page's letters are higher than bars that share a row
        at_end = {**x, "datum": self._span[right]}  # beyond all bars: notes are then higher than their rows
        if not interactive:
            note |= {"fontSize": area.letters(theme.NOTE, self._slots)}
        whisker = 6 if interactive else round(min(_WHISKER, slot), 2)
        thin = {"strokeWidth": round(slot / 4, 2)} if slot < _WHISKER and not interactive else {}
        bar = {
            "x": {**x, "field": "value"},
            "x2": {"field": "start"},
            "color": colour,
            "stroke": colour,
            "fillOpacity": {"condition": {"test": "datum.sure", "value": 1}, "value": 0.12},
        }
        layers: list[dict[str, Any]] = [
            {"mark": {"type": "rule", "color": _GREY}, "data": {"values": [{}]}, "encoding": {"x": {**x, "datum": self.base}}},
            {"name": "bars", "mark": {"type": "bar", "strokeWidth": 0.8}, "encoding": bar},
            {"mark": {"type": "rule", **thin}, "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}}},
            *(
                {"mark": {"type": "tick", "height": whisker}, "encoding": {"x": {**x, "field": end}}}
                for end in ("low_end", "high_end")  # none where the axis cuts an interval off
            ),
            {
                "mark": {"type": "text", **note},
                "encoding": {
                    "x": at_end if crowded else {**x, "field": "at"},
                    "text": {"field": "shared" if together else "note", "type": "nominal"},
                },
            },
        ]  # fmt: skip
        rows = self._rows_encoding({} if interactive else area.names(len(self.rows)))
        for layer in layers:
            if "data" not in layer:
                layer["encoding"] |= rows
        if not interactive:
            return {"layer": layers}
        tips: list[Tip] = [("name", "case", None), ("whose", "series", None), ("said", self.title, None)]
        tips += [(f"t{i}", title, form) for i, (title, form) in enumerate(self.tips)]
        for layer in layers:
            if "data" not in layer:
                layer["encoding"] |= {"opacity": fade_others("series", 0.08)}
        layers[1]["encoding"] |= {"tooltip": tooltip(tips)}
        layers[-1]["encoding"] |= {"tooltip": tooltip(tips)}
        about = {**brief_rows(self.rows, self.labelling)["usermeta"], **self._groups()}
        return {"params": params("series", zoom=False, views=["bars"]), "layer": layers, "usermeta": about}

    def _groups(self) -> dict[str, Any]:
        """Rows by turns for a page, which has a switch: name, first and last of each group; nothing where a screen holds all."""
        rows = list(self.rows)
        count = math.ceil(len(rows) * self._abreast / _AT_ONCE)
        if count < 2:
            return {}
        each = math.ceil(len(rows) / count)
        frame = (_FRAME + self._below) / self.size[1]  # share of the height that rows do not take
        ends = [(first, min(first + each, len(rows))) for first in range(0, len(rows), each)]
        named = [[f"{a + 1}–{b}: {printable(rows[a])} … {printable(rows[b - 1])}", a, b] for a, b in ends]
        return {"groups": [*named, [f"all {len(rows)}", 0, len(rows)]], "frame": round(frame, 4)}

    def _plot_area(self, size: tuple[float, float], head: float) -> PlotArea:
        beside = [] if self._crowded else self.legend.beside
        rows = list(self.rows.values())
        return PlotArea.of(size, head, below=self._below, beside=beside, rows=rows, title=self.title)

    def left_out(self, size: tuple[float, float], head: float) -> list[str]:
        """Names of rows, and of series."""
        return self._plot_area(size, head).unnamed(len(self.rows)) + ([] if self._crowded else self.legend.left_out)

    def _rows_encoding(self, labelled: dict[str, Any]) -> dict[str, Any]:
        domain = list(self.rows.values())
        axis = {"title": None, "ticks": False, "domain": False, "grid": False, "labelLimit": 0, **labelled}
        row = {
            "field": "row",
            "type": "nominal",
            "sort": None,
            "scale": {"domain": domain, "padding": _GAP},
            "axis": axis,
        }
        if self._abreast == 1:
            return {"y": row}
        series = list(self.legend.labels.values())
        return {
            "y": row,
            "yOffset": {
                "field": "series",
                "type": "nominal",
                "sort": None,
                "bandPosition": 0.5,
                "scale": {"domain": series, "paddingInner": 0.12},
            },
        }

    def text(self, columns: int, rows: int, colour: bool) -> list[str]:
        """A line for each bar: its name, its series, the bar and the value with its doubt."""
        names, series = self.rows, self.legend.labels
        many = len(series) > 1 and not all(bar.series in self._row(bar) for bar in self.bars)
        name_room = min(28, max(map(width, names.values())))
        series_room = min(16, max(map(width, series.values()))) if many else 0
        text_room = max(width(self._text_of(bar)) for bar in self.bars)
        across = max(12, columns - name_room - series_room - text_room - (6 if many else 4))
        index = {name: i for i, name in enumerate(series)}
        gap = " " * (name_room + (series_room + 2 if many else 0) + 2)
        lines = [gap + self._ruler(across), gap + shorten(self.title, columns - len(gap))]
        for bar in self.bars:
            whose = pad(shorten(series[bar.series], series_room), series_room) + "  " if many else ""
            drawn = coloured(self._drawn(bar, across), index[bar.series], colour)
            name = pad(shorten(names[self._row(bar)], name_room), name_room)
            lines.append(f"{name}  {whose}{drawn}  {self._text_of(bar)}".rstrip())
        return lines

    def _text_of(self, bar: Bar) -> str:
        return printable(" ".join(part for part in (bar.text, bar.note) if part))

    def _place(self, value: float, across: int) -> int:
        low, high = (math.log(end) for end in self._span) if self.ratio else self._span
        at = (math.log(value) if self.ratio else value) - low
        return min(across - 1, max(0, round(at / (high - low) * (across - 1))))

    def _drawn(self, bar: Bar, across: int) -> str:
        cells = [" "] * across
        start = None if bar.start is None else self._shown(bar.start)
        base, value = self._place(self.base if start is None else start, across), self._shown(bar.value)
        low, high = self._shown(bar.low), self._shown(bar.high)
        if low is not None and high is not None:
            for at in range(self._place(low, across), self._place(high, across) + 1):
                cells[at] = "─"
        if value is not None:
            end = self._place(value, across)
            for at in range(min(base, end), max(base, end) + 1):
                cells[at] = "█" if bar.sure else "░"
        cells[base] = "┃" if cells[base] == " " else cells[base]
        return "".join(cells)

    def _ruler(self, across: int) -> str:
        """The numbers of the axis, as many as there is room for."""
        low, high = self._span
        ticks = [1.0, *log_ticks(low, high)] if self.ratio else [0.0, high / 2, high]
        cells, taken = [" "] * (across + 8), -1
        for tick in sorted(ticks):
            label = f"{tick:,g}x" if self.ratio else format_number(tick)
            at = max(0, self._place(tick, across) - len(label) // 2)
            if at > taken:
                cells[at : at + len(label)] = label
                taken = at + len(label)
        return "".join(cells).rstrip()
