"""Names as labels: no control characters, and no line longer than its space."""

import bisect
import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...warehouse.console.numbers import JSON_MARKS
from ...warehouse.console.tables import escape, shorten, width

_BETWEEN = " · "  # the parts of a name
# Advances of Liberation Sans and Arial, rounded up; other capitals 0.71, other characters 0.56.
_EMS = {
    char: ems
    for ems, chars in ((0.23, "ijl'|"), (0.34, " ftrI.,:;/\\!()[]-·"), (0.9, "mwMW%"), (1.02, "@…—"))
    for char in chars
}


@functools.lru_cache(maxsize=1024)
def printable(text: str) -> str:
    """The text with non-printing characters (control, bidi, line breaks) as escapes."""
    return escape(text)


def ems(text: str) -> float:
    """An upper estimate of the width of a text in a sans-serif font, in multiples of the font size."""
    return sum(_EMS.get(char, 1.0 if width(char) == 2 else 0.71 if char.isupper() else 0.56) for char in text)


def wrap(parts: Iterable[str], room: float, separator: str, measure: Callable[[str], float] = width) -> list[str]:
    """The parts in as many lines as they need in that room.

    A part that is longer than a line is broken between its words; a word that is longer loses its middle.
    """
    lines = [""]
    for part in parts:
        for place, word in enumerate([part] if measure(part) <= room else part.split(" ")):
            shown = shorten_to_fit(word, room, measure)
            longer = f"{lines[-1]}{' ' if place else separator}{shown}" if lines[-1] else shown
            if measure(longer) <= room:
                lines[-1] = longer
            else:
                lines.append(shown)
    return lines


def shorten_to_fit(text: str, room: float, measure: Callable[[str], float]) -> str:
    """The text, without its middle where it does not fit."""
    if measure(text) <= room:
        return text
    columns = bisect.bisect_right(range(1, width(text)), room, key=lambda columns: measure(shorten(text, columns)))
    return shorten(text, max(1, columns))


def labels(names: Iterable[str], columns: int) -> dict[str, str]:
    """A short printable label for each name, no two alike. Where one is too long, what all begin with is left out."""
    whole = {name: printable(name) or "(empty)" for name in names}
    lead = _lead(whole.values()) if any(width(text) > columns for text in whole.values()) else 0
    chosen: dict[str, str] = {}
    taken: set[str] = set()
    for name, text in whole.items():
        shown = f"…{text[lead:]}" if lead else text
        label = _shortened(shown, columns)
        copy = 2
        while label in taken:
            label = f"{_shortened(shown, columns - 3)}·{copy}"
            copy += 1
        chosen[name] = label
        taken.add(label)
    return chosen


def _lead(names: Iterable[str]) -> int:
    """How many characters names that differ in their first part all begin with, up to a mark between words."""
    firsts = {re.split(" [·-] ", name, maxsplit=1)[0] for name in names}
    if len(firsts) < 2:
        return 0
    low, high = min(firsts), max(firsts)  # what they share all between them share
    lead = low[: next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), len(low))]
    while lead and (lead[-1].isalnum() or lead in firsts):
        lead = lead[:-1]
    return len(lead) if len(lead) > 2 else 0


def _shortened(name: str, columns: int) -> str:
    """As `shorten`, but of a name in parts each keeps as much as the longest of them leave it."""
    parts = name.split(_BETWEEN)
    room = columns - len(_BETWEEN) * (len(parts) - 1)
    if room < 3 * len(parts):
        return shorten(name, columns)
    each = next(most for most in range(room, 0, -1) if sum(min(width(part), most) for part in parts) <= room)
    return _BETWEEN.join(shorten(part, each) for part in parts)


_CALLED = {"batch_size": "bs ", "sequence_length": "len "}
CASE = ("name", "mode", "device", "dtype", "batch_size", "sequence_length", "parameters", "suite")


def distinguish(rows: Sequence[Mapping[str, Any]], axes: Sequence[str], always: str | None = None) -> list[str]:
    """What to call each row: its values on those axes that tell the rows apart, and on `always`.

    An axis that tells nothing beyond those before it is left out. Rows that nothing tells apart are called by the first
    axis that is set.
    """
    chosen: list[str] = []
    count = 1  # rows told apart so far
    for axis in axes:
        apart = len({tuple(row[a] for a in (*chosen, axis)) for row in rows})
        if apart > count or axis == always:
            chosen.append(axis)
            count = apart
    chosen = chosen or [next((axis for axis in axes if any(row[axis] is not None for row in rows)), axes[0])]
    return [
        _BETWEEN.join(f"{_CALLED.get(a, '')}{_brief(a, row[a])}" for a in chosen if row[a] is not None) or "(none)"
        for row in rows
    ]


def _brief(axis: str, value: Any) -> str:
    if axis == "parameters":
        return str(value).translate(JSON_MARKS)
    return str(value)[:8] if axis == "run_id" else str(value)


def common_values(rows: Sequence[Mapping[str, Any]], axes: Iterable[str]) -> list[str]:
    """What the rows have in common on these axes: `torchbench`, `training` …"""
    values = ({row[axis] for row in rows} for axis in axes)
    return [str(value) for found in values if len(found) == 1 for value in found if value is not None]
