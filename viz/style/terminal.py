"""Pictures in characters, for a terminal without a display."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ...warehouse.console.tables import shorten, width
from .units import format_number

# ANSI colours in the order that stays apart on dark and on light grounds.
_INKS = (34, 31, 32, 35, 33, 36, 94, 91, 92, 95, 93, 96)
_LETTERS = "ox+*#@%&=~^"
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # braille bits by row and column of a 4 x 2 cell
_LEVELS = "▁▂▃▄▅▆▇█"
BELOW_BREAK = 0.78  # of a broken axis is for what lies below the break


@dataclass(frozen=True, slots=True)
class TextSeries:
    """One config's points."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    note: str = ""  # said after the label in the legend
    mark: str = ""  # a character that draws it as a line; such series lie over the others and have no colour


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis, from its low end to its high end."""

    title: str
    low: float
    high: float
    log: bool = False
    names: tuple[str, ...] = ()  # of the places 0, 1, 2 … where they are no numbers
    time: bool = False  # whether it counts milliseconds since 1970, UTC
    bulk: float | None = None  # where a break is: what lies below has the larger part of the axis

    def place(self, value: float) -> float:
        """The place of a value, 0 to 1."""
        if self.bulk is not None:
            low, high, start, share = _parts(self, value > self.bulk)
            return start + share * (value - low) / (high - low)
        value, low, high = (math.log(v) if self.log else v for v in (value, self.low, self.high))
        return (value - low) / ((high - low) or 1)

    def value(self, at: float) -> float:
        """The text at a position from 0 to 1."""
        if self.bulk is not None:
            low, high, start, share = _parts(self, at > BELOW_BREAK)
            return low + (high - low) * (at - start) / share
        low, high = (math.log(end) if self.log else end for end in (self.low, self.high))
        value = low + at * (high - low)
        return math.exp(value) if self.log else value

    def tick(self, at: float) -> str:
        """The number, or name, that stands at 0 to 1."""
        if self.names:
            return self.names[round(at * (len(self.names) - 1))]
        if self.time:
            return format_instant(self.low + at * (self.high - self.low))[:16]
        return format_number(self.value(at))


def _parts(axis: Axis, beyond: bool) -> tuple[float, float, float, float]:
    """The part of a broken axis below or beyond the break: its ends, where it starts on the axis, and its share of it."""
    assert axis.bulk is not None
    if beyond:
        return axis.bulk, axis.high, BELOW_BREAK, 1 - BELOW_BREAK
    return axis.low, axis.bulk, 0.0, BELOW_BREAK


def format_instant(ms: float) -> str:
    """An instant in UTC as ISO 8601, from milliseconds since 1970; years beyond 9999 as they can be."""
    import datetime

    try:
        return str(datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=ms))
    except OverflowError:
        return f"{ms:g} ms"


def plot(
    series: Sequence[TextSeries], x: Axis, y: Axis, *, columns: int, rows: int, colour: bool, joined: bool = False
) -> list[str]:
    """Points, or lines through them, between two axes.

    With colour, or with one series, dots are braille (2 x 4 to a character) and the later series wins a character.
    Without colour several series are told apart by a letter each, one to a character.
    """
    middle = rows // 2
    y_ticks = {0: y.tick(1), middle: y.tick(1 - middle / max(rows - 1, 1)), rows - 1: y.tick(0)}
    gutter = max(map(len, y_ticks.values()))
    across = max(10, columns - gutter - 2)
    fine = _in_dots(series, colour)
    cells = _cells(series, x, y, across, rows, fine=fine, joined=joined)
    lines = [" " * gutter + " " + shorten(y.title, across)] if y.title else []
    for row in range(rows):
        line = _line([cells.get((column, row), (" ", None)) for column in range(across)], colour)
        lines.append(f"{y_ticks.get(row, ''):>{gutter}} {'┤' if row in y_ticks else '│'}{line}".rstrip())
    half, end = x.tick(0.5), shorten(x.tick(1), across // 3)
    ruler = shorten(x.tick(0), across // 3)
    if len(x.names) != 2 and width(half) < across // 3:
        ruler = pad(ruler, across // 2 - width(half) // 2) + half
    if len(x.names) != 1:
        ruler = pad(ruler, across - width(end)) + end
    lines.append(" " * (gutter + 1) + "└" + "─" * across)
    lines.append(" " * (gutter + 2) + ruler)
    if x.title:
        lines.append(" " * (gutter + 2) + " " * max(0, (across - width(x.title)) // 2) + shorten(x.title, across))
    return lines


def legend(series: Sequence[TextSeries], columns: int, colour: bool) -> list[str]:
    """A line for each series, with the mark `plot` gives it."""
    fine = _in_dots(series, colour)
    lines = []
    for index, one in enumerate(series):
        mark = one.mark or coloured("⣿" if fine else _LETTERS[index % len(_LETTERS)], index, colour)
        note = f"  {one.note}" if one.note else ""
        lines.append(f"  {mark} {shorten(one.label, max(8, min(48, columns - 4 - width(note))))}{note}")
    return lines


def sparkline(values: Sequence[float | None], low: float, high: float) -> str:
    """A character for each value, the higher the larger; a gap is a dot."""
    steps = len(_LEVELS) - 1
    flat = (high - low) <= 1e-9 * abs(high)
    return "".join(
        "·" if value is None else _LEVELS[steps // 2 if flat else round((value - low) / (high - low) * steps)]
        for value in values
    )


def coloured(text: str, index: int | None, colour: bool) -> str:
    """The text in the colour of a series, where there is colour."""
    return f"\x1b[{_INKS[index % len(_INKS)]}m{text}\x1b[0m" if colour and index is not None else text


def _in_dots(series: Sequence[TextSeries], colour: bool) -> bool:
    return colour or sum(not one.mark for one in series) == 1


def _cells(
    series: Sequence[TextSeries], x: Axis, y: Axis, across: int, rows: int, *, fine: bool, joined: bool
) -> dict[tuple[int, int], tuple[str, int | None]]:
    """The character at each column and row, and whose it is."""
    wide, high = (2, 4) if fine else (1, 1)
    bits: dict[tuple[int, int], int] = {}
    owner: dict[tuple[int, int], int] = {}
    over: dict[tuple[int, int], tuple[str, int | None]] = {}
    for index, one in enumerate(series):
        if one.mark:
            over |= dict.fromkeys(_joined(_dots(one, x, y, across, rows)), (one.mark, None))
            continue
        dots = _dots(one, x, y, across * wide, rows * high)
        for column, row in _joined(dots) if joined and fine else dots:
            cell = (column // wide, row // high)
            bits[cell] = bits.get(cell, 0) | _DOTS[row % high][column % wide]
            owner[cell] = index
    letter: Callable[[tuple[int, int]], str] = (
        (lambda cell: chr(0x2800 + bits[cell])) if fine else (lambda cell: _LETTERS[owner[cell] % len(_LETTERS)])
    )
    return {cell: (letter(cell), owner[cell]) for cell in bits} | over


def _dots(one: TextSeries, x: Axis, y: Axis, across: int, rows: int) -> list[tuple[int, int]]:
    """Columns, and rows from the top, of the points."""
    return [(_dot(x.place(a), across), rows - 1 - _dot(y.place(b), rows)) for a, b in zip(one.x, one.y, strict=True)]


def _dot(place: float, dots: int) -> int:
    return min(dots - 1, max(0, int(place * dots)))


def _joined(dots: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The dots and those on straight lines between neighbours."""
    yield from dots[:1]
    for (a, b), (c, d) in itertools.pairwise(dots):
        steps = max(abs(c - a), abs(d - b), 1)
        yield from ((a + round((c - a) * i / steps), b + round((d - b) * i / steps)) for i in range(1, steps + 1))


def pad(text: str, columns: int) -> str:
    """The text with blanks after it, to that many columns."""
    return text + " " * max(0, columns - width(text))


def _line(cells: list[tuple[str, int | None]], colour: bool) -> str:
    runs = itertools.groupby(cells, key=lambda cell: cell[1])
    return "".join(coloured("".join(char for char, _ in run), index, colour) for index, run in runs)
