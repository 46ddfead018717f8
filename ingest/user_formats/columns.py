"""What the columns of a table are that its mapping does not name: axes of a case, measured numbers, times, or names of rows."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..readers.tables import spare

NO_VALUE = {
    "nan", "null", "none", "n/a", "#n/a", "na", "-", "inf", "+inf", "-inf", "infinity", "-infinity", "+infinity",
}  # fmt: skip
DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]|$)")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
WHOLE = re.compile(r"\d{1,18}")
EXACT = 4  # digits of a number that was measured
MANY = 20  # values of a column; one with more, most of which stand in one row, parts nearly every row from all others
COUNTER = re.compile(
    r"(index|idx|iter(ation)?|step|rep(eat|etition)?|round|row|sample|trial|unnamed: \d+)s?([ _]?(id|idx|index|no|num|number))?",
    re.IGNORECASE,
)
IDENTIFIER = re.compile(r"(.*[ _])?(id|uuid|guid|hash)", re.IGNORECASE)
HEXADECIMAL = re.compile(r"(?=.*\d)[0-9a-fA-F-]{16,64}")


@dataclass(slots=True)
class OtherColumns:
    """The columns that are no axes, by what they are instead."""

    measured: list[str] = field(default_factory=list)
    times: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)  # that count rows or name them


def sort_columns(rows: Iterable[dict[str, Any]], used: Iterable[str]) -> OtherColumns:
    """Judge by some rows the columns that are not used.

    As axes they would make a case of nearly every row.
    """
    columns: dict[str, list[str]] = {}
    for cells in rows:
        for path, value in spare(cells, used):
            texts = columns.setdefault(path, [])
            if value is not None and str(value).lower() not in NO_VALUE:
                texts.append(str(value))
    found = OtherColumns()
    for path, texts in columns.items():
        if len(set(texts)) > 1 or any(map(_is_exact, texts)):
            kind = _kind(path, texts)
            if kind is not None:
                getattr(found, kind).append(path)
    return found


def _kind(name: str, texts: Sequence[str]) -> str | None:
    if all(map(DATE.match, texts)):
        return "times"
    unique = 2 * len(set(texts)) > len(texts)
    if (COUNTER.fullmatch(name) and all(map(WHOLE.fullmatch, texts))) or (
        unique and (all(map(HEXADECIMAL.fullmatch, texts)) or (len(set(texts)) > MANY and IDENTIFIER.fullmatch(name)))
    ):
        return "labels"
    if all(map(NUMBER.fullmatch, texts)):
        exact = _is_exact if not (unique and len(set(texts)) > MANY) else _is_odd
        if 2 * sum(map(exact, texts)) > len(texts):
            return "measured"
    return None


def _is_exact(text: str) -> bool:
    """Whether a number has a fraction and four digits that count or more: axes, such as 0.25, are rounder than measurements."""
    digits = re.sub(r"[eE].*|[^0-9]", "", text).strip("0")
    return "." in text and len(digits) >= EXACT


def _is_odd(text: str) -> bool:
    """Whether a number has a fraction, or is none that people choose: no thousands, no few times a power of two."""
    if not WHOLE.fullmatch(text):
        return True
    number = int(text)
    return len(text.strip("0")) >= EXACT and number // (number & -number) > 10 ** (EXACT - 1)
