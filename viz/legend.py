"""Where a legend stands so that it hides no point, and the labels that fit there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .labels import labels, printable, width
from .palette import DASHES, MARKERS, styles

_PER_INCH = 15  # characters of an 8 pt label
_ROW_INCHES = 0.165
_MOST_ROWS = 8  # more are a reason to shorten names
_SHORT = 30  # columns a name that is shortened is worth
_AXIS = 8  # characters that the labels of a vertical axis take: a legend below begins where the plot does
_WIDER = 1.15  # fonts with Chinese characters draw dots and dashes as wide as those


@dataclass(frozen=True, slots=True)
class Legend:
    """One entry for each config: beside the plot where names are short and few, else below it in columns."""

    orient: str
    columns: int
    labels: dict[str, str]  # by config, in drawing order
    known: Sequence[str] = ()  # configs of the store from the oldest on, whose looks are settled

    @classmethod
    def fitting(
        cls, configs: Sequence[str], inches: float, *, below: bool = False, known: Sequence[str] = ()
    ) -> "Legend":
        """The legend for these configs in a figure that wide; where `below`, in no case beside the plot."""
        across = inches * _PER_INCH / (_WIDER if any(width(config) > len(config) for config in configs) else 1)
        longest = max((width(printable(config)) for config in configs), default=0)
        if longest <= across * 0.25 and len(configs) <= 18 and not below:
            return cls("right", 1, labels(configs, max(8, int(across * 0.25))), known)
        across -= _AXIS
        columns = int(max(1, min(8 if below else 4, len(configs), across // (longest + 5))))
        if len(configs) > _MOST_ROWS * columns:
            columns = max(columns, int(across // _SHORT))
        return cls("bottom", columns, labels(configs, max(8, int(across / columns) - 4)), known)

    @property
    def inches(self) -> float:
        """Height it adds below the plot."""
        entries = len(self.labels) if len(self.labels) > 1 else 0
        return -(-entries // self.columns) * _ROW_INCHES if self.orient == "bottom" else 0

    def encodings(self, field: str, *, colour: bool = True) -> dict[str, Any]:
        """Vega-Lite colour and shape for that field; one legend for both, none for a single config."""
        looks = self._looks
        domain = list(self.labels.values())
        legend = (
            {"title": None, "orient": self.orient, "columns": self.columns, "labelLimit": 0}
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
        return styles(list(self.labels), self.known)
