"""Names as labels: no control characters, and no line longer than its space."""

import bisect
import functools
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...warehouse.console.numbers import JSON_MARKS
from ...warehouse.console.tables import escape, fitting, shorten, width

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
    return re.sub("…+", "…", shorten(text, max(1, columns)))  # it may end where another begins


def labels(names: Iterable[str], columns: int) -> dict[str, str]:
    """A short printable label for each name: a pattern that it alone matches, where the columns allow one.

    Of a name that is too long words are left out that it shares with most others, never those that tell it apart.
    """
    chosen: dict[str, str] = {}
    taken: set[str] = set()
    for name, label in _shortest(tuple(names), columns).items():
        shown, copy = label, 2
        while label in taken:
            label = f"{_shortened(shown, columns - 3)}·{copy}"
            copy += 1
        chosen[name] = label
        taken.add(label)
    return chosen


def are_told_apart(names: Iterable[str], columns: int) -> bool:
    """Return whether labels of so many columns tell the names apart by what is in them, rather than by a number."""
    found = _shortest(tuple(names), columns)
    return len(set(found.values())) == len(found)


@functools.lru_cache(maxsize=64)
def _shortest(names: tuple[str, ...], columns: int) -> Mapping[str, str]:
    """The text that fits for each name; alike where nothing tells them apart in so little room."""
    whole = {name: printable(name) or "(empty)" for name in names}
    shared = Counter(word for text in whole.values() for word in set(_WORDS.findall(text)))
    texts = list(whole.values())
    return {
        name: text if width(text) <= columns else _telling(text, texts, shared, columns) for name, text in whole.items()
    }


def shared_part(names: Sequence[str], labels: Sequence[str]) -> str:
    """The common beginning and end of names that labels leave out: `meta-llama/…-int4`; empty if there is nothing."""
    if len(names) < 2 or not any("…" in label and "…" not in name for name, label in zip(names, labels, strict=True)):
        return ""
    words = [_WORDS.findall(name) for name in names]
    lead = _common(words)
    tail = _common([part[len(lead) :][::-1] for part in words])[::-1]
    begin, end = "".join(lead), "".join(tail)
    return f"{begin}…{end}" if len(begin) > 2 or len(end) > 2 else ""


def _common(words: Sequence[Sequence[str]]) -> list[str]:
    """The words that all begin with, less the last of the shortest."""
    firsts = zip(*words, strict=False)
    found = [first[0] for first in itertools.takewhile(lambda first: len(set(first)) == 1, firsts)]
    return found[: min(map(len, words)) - 1]


_WORDS = re.compile(r" · |[^\W_]+|[\W_]")  # a mark between the parts of a name, a word, a mark between words


def _telling(text: str, names: Sequence[str], shared: Mapping[str, int], columns: int) -> str:
    """The text without words that others have, too, as long as no other name could be meant.

    Of a name in parts, the first is what most readers look for: it is cut last.
    """
    words = _WORDS.findall(text)
    kept = [True] * len(words)
    first = words.index(_BETWEEN) if _BETWEEN in words else 0
    for places in (range(first, len(words)), sorted(range(first), key=lambda place: width(words[place]))):
        for place in sorted(places, key=lambda place: -shared[words[place]]):
            if width(_without(words, kept)) <= columns:
                break
            if words[place][0].isalnum():
                kept[place] = False
                kept[place] = not _tells(_without(words, kept), names, gap=_WORDS_LEFT_OUT)
        if width(_without(words, kept)) <= columns:
            return _without(words, kept)
        for least in (3, 1):
            label = _abbreviated(words, kept, shared, columns, places, least)
            if width(label) <= columns and _tells(label, names):
                return label
    label = _without(words, kept)
    pieces = (_shortened(label, columns), _ending(label, columns), *_around(text, names, columns))
    return next((piece for piece in pieces if _tells(piece, names)), _shortened(label, columns))


def _abbreviated(
    words: Sequence[str],
    kept: Sequence[bool],
    shared: Mapping[str, int],
    columns: int,
    places: Sequence[int],
    least: int,
) -> str:
    """The words that are kept; of those at these places the ones that most names share without their ends, where need be."""
    cut, end = list(words), "\0"  # an ellipsis that is no word left out

    def label() -> str:
        return re.sub(f"[{end}…]+", "…", _without(cut, kept))

    common = [place for place in places if kept[place] and words[place][0].isalnum() and shared[words[place]] > 1]
    for place in sorted(common, key=lambda place: (-shared[words[place]], -width(words[place]))):
        for letters in range(len(words[place]) - 2, least - 1, -1):
            if width(label()) <= columns:
                return label()
            cut[place] = words[place][:letters] + end
    return label()


def _without(words: Sequence[str], kept: Sequence[bool]) -> str:
    """The words that are kept, and the marks between two of them; an ellipsis for the others. Marks between parts stay."""
    parts: list[str] = []
    for place, word in enumerate(words):
        beside = [kept[near] or words[near] == _BETWEEN for near in (place - 1, place + 1) if 0 <= near < len(words)]
        if word == _BETWEEN or (kept[place] and (word[0].isalnum() or all(beside))):
            parts.append(word)
        elif parts[-1:] != ["…"]:
            parts.append("…")
    return re.sub(r"…( · …)+", "…", "".join(parts))  # parts of which nothing is left


_WORDS_LEFT_OUT = r"(?:(?<![^\W_])|(?![^\W_])).*(?:(?<![^\W_])|(?![^\W_]))"  # which begin and end where words do


def _tells(label: str, names: Sequence[str], *, gap: str = ".*") -> bool:
    """Return whether the label, an ellipsis being any `gap`, can stand for one of the names only."""
    pieces = label.split("…")
    pattern = re.compile(gap.join(map(re.escape, pieces)), re.DOTALL)
    alike = (name for name in names if all(piece in name for piece in pieces) and pattern.fullmatch(name))
    return len(list(itertools.islice(alike, 2))) == 1


def _ending(text: str, columns: int) -> str:
    """The end of a text."""
    while width(text) > columns - 1:
        text = text[1:]
    return f"…{text.removeprefix('…')}"


def shorten_line(name: str, columns: int) -> str:
    """A source line as `FILE:NUMBER ×HITS  TEXT`, without the end of its text, or where not even the rest fits its beginning."""
    head, gap, text = printable(name).partition("  ")
    if width(head) > columns:
        return _ending(head, columns)
    whole = f"{head}{gap}{text}"
    if width(whole) <= columns:
        return whole
    text = fitting(text, columns - width(f"{head}{gap}…"))
    return f"{head}{gap}{text.rstrip()}…" if text else head


def _around(text: str, names: Sequence[str], columns: int) -> Iterator[str]:
    """Pieces of a text around the places where it begins to differ from others, the last first."""
    alike = {
        next((at for at, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), 0)
        for other in names if other != text
    }  # fmt: skip
    for at in sorted(alike, reverse=True):
        piece = text[max(0, at - columns // 2) :]
        while width(piece) > columns - 2:
            piece = piece[:-1]
        yield f"…{piece}…"


def _shortened(name: str, columns: int) -> str:
    """Like `shorten`, but each part of a name keeps as much as the longest of them leave it."""
    parts = name.split(_BETWEEN)
    room = columns - len(_BETWEEN) * (len(parts) - 1)
    if room < 3 * len(parts):
        return shorten(name, columns)
    each = next(most for most in range(room, 0, -1) if sum(min(width(part), most) for part in parts) <= room)
    return _BETWEEN.join(shorten(part, each) for part in parts)


_CALLED = {"batch_size": "bs ", "sequence_length": "len "}
CASE = ("name", "mode", "device", "dtype", "batch_size", "sequence_length", "parameters", "suite")


def distinguish(rows: Sequence[Mapping[str, Any]], axes: Sequence[str], always: str | None = None) -> list[str]:
    """The label of each row: its values on those axes that tell the rows apart, and on `always`.

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


def ordered(
    names: Sequence[str], rows: Sequence[Mapping[str, Any]], asked: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """The distinct labels of `distinguish`: in the order in which values of these axes were asked for, else as
    `natural_key` sorts them.
    """
    places = {
        name: [list(values).index(row[axis]) if row[axis] in values else len(values) for axis, values in asked.items()]
        for name, row in zip(names, rows, strict=True)
    }
    return tuple(sorted(places, key=lambda name: (places[name], natural_key(name))))


def natural_key(name: str) -> tuple[str, str]:
    """Sort key by which numbers in names count by their size; in SQL `natural_order`."""
    return re.sub("[0-9]+", lambda number: number[0].rjust(20, "0"), name), name


def _brief(axis: str, value: Any) -> str:
    if axis == "parameters":
        return str(value).translate(JSON_MARKS)
    return str(value)[:8] if axis == "run_id" else str(value)


def common_values(rows: Sequence[Mapping[str, Any]], axes: Iterable[str]) -> list[str]:
    """The values that all rows share on these axes: `torchbench`, `training` …"""
    values = ({row[axis] for row in rows} for axis in axes)
    return [str(value) for found in values if len(found) == 1 for value in found if value is not None]
