"""A scatter in characters, for a terminal without a display."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from .labels import shorten, width
from .units import short

# ANSI colours in the order that stays apart on dark and on light grounds.
_INKS = (34, 31, 32, 35, 33, 36, 94, 91, 92, 95, 93, 96)
_LETTERS = "ox+*#@%&=~^"
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # braille bits by row and column of a 4 x 2 cell


@dataclass(frozen=True, slots=True)
class Series:
    """One config's points."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    note: str = ""  # said after the label in the legend


def scatter(
    series: Sequence[Series],
    *,
    title: str,
    subtitle: str,
    x_title: str,
    y_title: str,
    columns: int,
    rows: int,
    colour: bool,
) -> str:
    """Draw points from the origin up and right.

    With colour, or with one series, dots are braille (2 x 4 to a character) and the later series wins a character.
    Without colour several series are told apart by a letter each, one to a character.
    """
    x_end = max((value for one in series for value in one.x), default=0) or 1
    y_end = max((value for one in series for value in one.y), default=0) or 1
    y_ticks = {0: short(y_end), rows // 2: short(y_end * (1 - (rows // 2) / max(rows - 1, 1))), rows - 1: "0"}
    gutter = max(map(len, y_ticks.values()))
    across = max(10, columns - gutter - 2)
    dots = colour or len(series) == 1
    cells = _braille(series, x_end, y_end, across, rows) if dots else _letters(series, x_end, y_end, across, rows)
    lines = [shorten(title, columns), shorten(subtitle, columns), "", " " * gutter + " " + shorten(y_title, across)]
    for row in range(rows):
        line = _line([cells.get((column, row), (" ", None)) for column in range(across)], colour)
        lines.append(f"{y_ticks.get(row, ''):>{gutter}} {'┤' if row in y_ticks else '│'}{line}".rstrip())
    middle, end = short(x_end / 2), short(x_end)
    ruler = "0".ljust(across // 2 - len(middle) // 2) + middle
    lines.append(" " * (gutter + 1) + "└" + "─" * across)
    lines.append(" " * (gutter + 2) + ruler.ljust(across - len(end)) + end)
    lines.append(" " * (gutter + 2) + " " * max(0, (across - width(x_title)) // 2) + x_title)
    lines.append("")
    for index, one in enumerate(series):
        mark = "⣿" if dots else _LETTERS[index % len(_LETTERS)]
        lines.append(f"  {inked(mark, index, colour)} {shorten(one.label, 48)}{'  ' + one.note if one.note else ''}")
    return "\n".join(lines)


def _braille(
    series: Sequence[Series], x_end: float, y_end: float, across: int, rows: int
) -> dict[tuple[int, int], tuple[str, int | None]]:
    bits: dict[tuple[int, int], int] = {}
    owner: dict[tuple[int, int], int] = {}
    for index, one in enumerate(series):
        for x, y in zip(one.x, one.y, strict=True):
            column, row = _place(x, x_end, across * 2), rows * 4 - 1 - _place(y, y_end, rows * 4)
            cell = (column // 2, row // 4)
            bits[cell] = bits.get(cell, 0) | _DOTS[row % 4][column % 2]
            owner[cell] = index
    return {cell: (chr(0x2800 + value), owner[cell]) for cell, value in bits.items()}


def _letters(
    series: Sequence[Series], x_end: float, y_end: float, across: int, rows: int
) -> dict[tuple[int, int], tuple[str, int | None]]:
    return {
        (_place(x, x_end, across), rows - 1 - _place(y, y_end, rows)): (_LETTERS[index % len(_LETTERS)], index)
        for index, one in enumerate(series)
        for x, y in zip(one.x, one.y, strict=True)
    }


def _place(value: float, end: float, cells: int) -> int:
    return min(cells - 1, max(0, int(value / end * cells)))


def _line(cells: list[tuple[str, int | None]], colour: bool) -> str:
    runs = itertools.groupby(cells, key=lambda cell: cell[1])
    return "".join(inked("".join(char for char, _ in run), index, colour) for index, run in runs)


def inked(text: str, index: int | None, colour: bool) -> str:
    """The text in the colour of a series, where there is colour."""
    return f"\x1b[{_INKS[index % len(_INKS)]}m{text}\x1b[0m" if colour and index is not None else text
