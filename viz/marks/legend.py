"""The place of a legend, where it hides no point, and the labels that fit there."""

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...warehouse.console.numbers import counted
from ...warehouse.console.tables import width
from ..output.figure import SIZE
from ..style import theme
from ..style.labels import are_told_apart, ems, labels, printable
from ..style.palette import DASHES, MARKERS, styles

_PER_INCH = 15  # characters of an 8 pt label
_LETTER = _PER_INCH * theme.LABEL / theme.POINTS_PER_INCH  # of a usual one to the size of the font
_ROW_INCHES = 0.165
_MOST_ROWS = 8  # more are a reason to shorten names
_SHORT = 30  # columns a name that is shortened is worth
_LEAST_PART = 4  # characters of each part of a label
_LEAST = 13  # columns of an entry, where there is little room
_BESIDE, _BELOW = 0.55, 0.26  # of a figure's height, where the user gives it
_ENDLESS = 1e6
_ELSE = 1.1  # inches of a title and an axis
_AXIS, _AXIS_POINTS = 10, 48.0  # characters, points of a vertical axis: a legend below begins where the plot does
_ENTRY = 24.0  # points of an entry without its text


@dataclass(frozen=True, slots=True)
class Legend:
    """One entry for each config: beside the plot where names are short and few, else below it in columns."""

    orient: str
    columns: int
    labels: dict[str, str]  # by config, in drawing order
    all_configs: Sequence[str] = ()  # configs of the store from the oldest on, whose looks are settled
    scale: float = 1.0  # of its letters
    # by config, of which it has the colour; its own otherwise
    families: Mapping[str, str] = field(default_factory=dict)
    limit: int = 0  # places, where there are fewer than entries; the last then says how many more there are

    @classmethod
    def fitting(
        cls,
        configs: Sequence[str],
        wanted_size: tuple[float, float] | None = None,
        *,
        plot: float | None = None,
        below: bool = False,
        all_configs: Sequence[str] = (),
        families: Mapping[str, str] | None = None,
    ) -> "Legend":
        """The legend for these configs.

        Args:
            configs: In drawing order.
            wanted_size: Inches of the figure that the user wants. Of that height the legend takes no more than its share.
            plot: Share of the width of the figure that the plot has; what an axis of numbers leaves, unless given.
            below: Whether it stands in no case beside the plot.
            all_configs: Configs of the store from the oldest on, whose looks are settled.
            families: By config, of which family it has the colour, such as a model; its own otherwise.
        """
        families = families or {}
        inches, high = wanted_size or (SIZE[0], _ENDLESS)
        scale = theme.scale_of(inches)
        row = _ROW_INCHES * scale
        shown = list(map(printable, configs))
        broadest = max((ems(name) / max(1, width(name)) for name in shown), default=1.0)  # of a column, in font sizes
        wide = any(width(name) > len(name) for name in shown)
        wider = max(1.0, _LETTER * broadest, theme.WIDER if wide else 0.0)
        across = inches * (plot or 1.0) * _PER_INCH / wider / scale
        longest = max(map(width, shown), default=0)
        beside = min(18, high * _BESIDE / row)
        if longest <= across * 0.25 and len(configs) <= beside and not below:
            return cls("right", 1, labels(configs, max(8, int(across * 0.25))), all_configs, scale, families)
        across -= _AXIS if plot is None else 0
        columns = int(max(1, min(8 if below else 4, len(configs), across // (longest + 5))))
        if len(configs) > _MOST_ROWS * columns:
            columns = max(columns, int(across // min(_SHORT, longest + 5)))
        rows = max(1, int(high * _BELOW / row))
        if len(configs) > rows * columns:
            columns = max(columns, min(int(across // _LEAST), -(-len(configs) // rows)))
        if len(configs) > rows * columns and not below:  # no name is left out while the plot is the larger part
            rows = max(rows, int((high - _ELSE) / 2 / row))

        points = inches * theme.POINTS_PER_INCH * (plot or 1.0)
        points -= 2 * theme.PADDING + _AXIS_POINTS * scale if plot is None else 0
        letter = theme.LABEL * scale * (theme.WIDER if wide else 1.0)

        def room(columns: int) -> int:
            ellipsis = 1  # which is twice as wide as other characters
            return max(7, int((points / columns - _ENTRY) / (letter * broadest)) - ellipsis)

        @functools.cache
        def most(columns: int) -> int:
            """Characters of labels in so many columns, which may be broader than the names are."""
            room_points = points / columns - _ENTRY
            fewer = range(room(columns), 7, -1)
            return next((n for n in fewer if max(map(ems, labels(configs, n).values())) * letter <= room_points), 7)

        def say_something(columns: int) -> bool:
            parts = max((name.count(" · ") for name in shown), default=0) + 1
            return most(columns) >= _LEAST_PART * parts and are_told_apart(configs, most(columns))

        whole = int(points // (max((ems(name) for name in shown), default=0.0) * letter + _ENTRY))
        if longest > room(columns) and whole * rows >= len(configs):  # names that need not be shortened
            return cls("bottom", min(whole, len(configs)), labels(configs, longest), all_configs, scale, families)
        while columns > 1 and not say_something(columns):  # rather fewer names
            columns -= 1
        limit = rows * columns if rows * columns < len(configs) else 0
        return cls("bottom", columns, labels(configs, most(columns)), all_configs, scale, families, limit)

    @property
    def inches(self) -> float:
        """Height it adds below the plot."""
        entries = self.limit or (len(self.labels) if len(self.labels) > 1 else 0)
        return -(-entries // self.columns) * _ROW_INCHES * self.scale if self.orient == "bottom" else 0

    @property
    def beside(self) -> list[str]:
        """The labels that it writes beside the plot."""
        return list(self.labels.values()) if self.orient == "right" and len(self.labels) > 1 else []

    @property
    def names(self) -> list[tuple[str, str]]:
        """Every entry's name, with its label."""
        return [(printable(name), label) for name, label in self.labels.items()]

    @property
    def left_out(self) -> list[str]:
        """The entries that do not fit."""
        missing = len(self.labels) - self.limit + 1 if self.limit else 0
        return [f"{counted(missing, 'name')} of the legend"] if missing else []

    def encodings(self, field: str, *, colour: bool = True) -> dict[str, Any]:
        """Vega-Lite colour and shape for that field; one legend for both, none for a single config."""
        looks = self._looks
        domain = list(self.labels.values())
        most = {"symbolLimit": self.limit} if self.limit else {}
        legend = (
            {"title": None, "orient": self.orient, "columns": self.columns, "labelLimit": 0, **most}
            if len(domain) > 1
            else None
        )
        encoding = {"field": field, "type": "nominal", "legend": legend}
        shape = {**encoding, "scale": {"domain": domain, "range": [looks[config][1] for config in self.labels]}}
        if not colour:
            return {"shape": shape} if len(domain) > 1 else {}
        return {
            "color": {**encoding, "scale": {"domain": domain, "range": [looks[config][0] for config in self.labels]}},
            **({"shape": shape} if len(domain) > 1 else {}),
        }

    def strokes(self, field: str) -> dict[str, Any]:
        """Vega-Lite colour of lines without markers, and dashes where there are more of them than colours; one legend."""
        colour, looks = self.encodings(field)["color"], self._looks
        alike = len({colour for colour, _ in looks.values()}) < len(looks)
        longer = {"symbolSize": 90} if alike else {}  # as long as the height of a row allows, for the dashes to be seen
        legend = colour["legend"] and {**colour["legend"], "symbolType": "stroke", "symbolStrokeWidth": 2, **longer}
        dashes = [DASHES[MARKERS.index(looks[config][1])] for config in self.labels]
        dash = {**colour, "legend": legend, "scale": {**colour["scale"], "range": dashes}}
        return {"color": {**colour, "legend": legend}, **({"strokeDash": dash} if alike else {})}

    @property
    def _looks(self) -> dict[str, tuple[str, str]]:
        if not self.families:
            return styles(list(self.labels), self.all_configs)
        looks, used = styles(list(self.families.values()), self.all_configs), Counter[str]()
        found = {}
        for config in self.labels:
            family = self.families[config]
            found[config] = looks[family][0], MARKERS[used[family] % len(MARKERS)]
            used[family] += 1
        return found
