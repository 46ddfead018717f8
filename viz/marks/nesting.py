"""Lines that lie on each other: each is wider than the next, which would hide it."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

_STEP, _MOST = 1.6, 3.0  # usual widths by which a line exceeds the next, and the first one the last at most
_LINES = 12  # at most: more would cover the plot


def find_nested(points: Sequence[tuple[int, str, float, float]]) -> dict[int, list[str]]:
    """The lines of each panel that lie on another somewhere, in the order in which they are drawn.

    A point is its panel, series, x and y; those of a line follow each other.
    """
    whose: dict[tuple[float, ...], str] = {}
    found: dict[int, set[str]] = {}
    for (panel, series, x, y), (*of, next_x, next_y) in itertools.pairwise(points):
        if of == [panel, series]:
            way = (panel, y) if y == next_y else (panel, x, y, next_x, next_y)
            if whose.setdefault(way, series) != series:
                found.setdefault(panel, set()).update((whose[way], series))
    drawn = dict.fromkeys((panel, series) for panel, series, *_ in points)
    return {
        panel: [series for place, series in drawn if place == panel and series in names]
        for panel, names in found.items()
        if len(names) <= _LINES
    }


def nested_widths(labels: Mapping[str, str], usual: float, nested: Sequence[str]) -> dict[str, Any]:
    """Vega-Lite widths of lines: nested ones in equal steps down to the usual one of the last, and of all others.

    `nested` are series, as `find_nested` has them; `labels` says how the data call them.
    """
    step = min(_STEP, _MOST / (len(nested) - 1))
    wider = {name: step * place for place, name in enumerate(reversed(nested))}
    widths = [round(usual * (1 + wider.get(name, 0.0)), 2) for name in labels]
    scale = {"type": "ordinal", "domain": list(labels.values()), "range": widths}
    return {"field": "series", "type": "ordinal", "legend": None, "scale": scale}
