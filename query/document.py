"""A document of findings: sections of sentences and tables, with values still values, and its Markdown.

`viz` renders the same document as an HTML page. The kind of a column decides how its values are written and aligned.
"""

import bisect
import datetime
import itertools
import math
import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..warehouse.console.numbers import amount, duration, number, percent, times
from ..warehouse.console.tables import escape

_QUOTA = 10  # rows of each table that stay while any has more
_MARKUP = str.maketrans({**{mark: f"\\{mark}" for mark in "\\`*_[]|#~"}, "<": "&lt;", ">": "&gt;", "@": "@\u200b"})
COMMENT_LIMIT = 65_536  # characters of an issue comment on GitHub; other forges allow more


_SHOWN: dict[str, Callable[[Any], str]] = {
    "text": lambda value: escape(str(value)),
    "note": lambda value: escape(str(value)),
    "number": lambda value: number(float(value)),
    "count": lambda value: f"{value:,.0f}",
    "duration": lambda value: amount(value, "ns"),
    "seconds": lambda value: duration(value * 1e9),
    "ratio": times,
    "change": lambda value: percent(value, 1, sign=True),  # a fraction
    "share": lambda value: percent(value, 1),  # a fraction
    "bytes": lambda value: amount(value, "bytes"),
    "told": lambda value: value.text,
    "time": lambda value: (
        value.strftime("%Y-%m-%d %H:%M") if isinstance(value, datetime.datetime) else escape(str(value))
    ),
}


@dataclass(frozen=True, slots=True)
class Told:
    """A number in words of its own, such as one with its interval."""

    value: float | None  # it sorts by this
    text: str


@dataclass(frozen=True, slots=True)
class TableColumn:
    """The name of a column and the kind of its values."""

    name: str
    kind: str = (
        "text"  # a key of _SHOWN; "note": text that has a line of its own below the row, where there are such lines
    )

    @property
    def numeric(self) -> bool:
        """True if its values sort by size."""
        return self.kind not in ("text", "note", "time", "told")

    def shown(self, value: Any) -> str:
        """A value as text; an empty text for None."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return ""
        return _SHOWN[self.kind](value)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of values under columns."""

    columns: Sequence[TableColumn]
    rows: Sequence[Sequence[Any]]

    def without_empty(self) -> "Table":
        """The table without its empty columns, and without counts of which all are 0."""
        says = [(None, 0) if column.kind == "count" else (None,) for column in self.columns]
        keep = [i for i, nothing in enumerate(says) if any(row[i] not in nothing for row in self.rows)]
        return Table([self.columns[i] for i in keep], [[row[i] for i in keep] for row in self.rows])

    def without_alike(self, names: Container[str]) -> "tuple[Table, str]":
        """The table without those of the named columns that are equal in all rows, and a sentence with their values."""
        alike = [i for i, c in enumerate(self.columns) if c.name in names and len({row[i] for row in self.rows}) == 1]
        if len(self.rows) < 2 or not alike:
            return self, ""
        keep = [i for i in range(len(self.columns)) if i not in alike]
        sentence = ", ".join(f"{self.columns[i].name} {self.columns[i].shown(self.rows[0][i])}" for i in alike)
        table = Table([self.columns[i] for i in keep], [[row[i] for i in keep] for row in self.rows])
        return table, f"All of them: {sentence}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One subject of a document."""

    key: str  # its anchor, and where a picture of it goes
    title: str
    sentences: Sequence[str] = ()
    tables: Sequence[Table] = ()
    folded: bool = False
    weight: int = 0  # lighter sections are cut first if a comment is too long
    command: str = ""  # what lists all of it
    pictures: Sequence[tuple[str, str]] = ()  # text and path of images, for Markdown


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A title, a verdict, facts, and sections in order."""

    title: str
    verdict: str
    good: bool | None  # None: nothing to judge by
    facts: Sequence[tuple[str, str]] = ()
    sections: Sequence[Section] = field(default_factory=tuple)

    def markdown(self, limit: int | None = COMMENT_LIMIT) -> str:
        """The document as Markdown that fits into a comment.

        The tables of the lightest sections are cut first, with a note; to their first rows, and only where all of them are
        still too long to nothing.

        Args:
            limit: Most characters; None for any number.
        """
        written = [_lines(table) for section in self.sections for table in section.tables]
        kept = [len(rows) for _, rows in written]
        weights = [section.weight for section in self.sections for _ in section.tables]
        text = self._markdown(written, kept)
        lightest = sorted(range(len(kept)), key=lambda i: (weights[i], -i))
        for quota, index in itertools.product((_QUOTA, 0), lightest):
            if limit is None or len(text) <= limit:
                break
            full, kept[index] = kept[index], min(kept[index], quota)
            text = self._markdown(written, kept)
            if len(text) <= limit:  # as many of its rows as there is room for
                more = range(kept[index] + 1, full)
                kept[index] += bisect.bisect_right(
                    more, limit, key=lambda n: len(self._markdown(written, _with(kept, index, n)))
                )
                text = self._markdown(written, kept)
        return text if limit is None or len(text) <= limit else text[: limit - 3] + "\n…\n"

    def _markdown(self, written: Sequence[tuple[list[str], list[str]]], kept: Sequence[int]) -> str:
        """The document with so many rows of each table, whose lines are written already."""
        mark = {True: "✅", False: "❌", None: "⚪"}[self.good]
        parts = [f"## {markdown_text(self.title)}", f"{mark} **{markdown_text(self.verdict)}**"]
        if self.facts:
            parts.append(" · ".join(f"{markdown_text(name)} {_code(value)}" for name, value in self.facts))
        tables = zip(written, kept, strict=True)
        for section in self.sections:
            body = [markdown_text(sentence) for sentence in section.sentences]
            body += [f"![{markdown_text(text)}](<{path}>)" for text, path in section.pictures]
            for (head, rows), count in itertools.islice(tables, len(section.tables)):
                if count:
                    body.append("\n".join([*head, *rows[:count]]))
                if count < len(rows):
                    more = f"_and {len(rows) - count:,} more_"
                    body.append(f"{more}: {_code(section.command)}" if section.command else more)
            parts.append(
                _folded(section.title, body)
                if section.folded
                else "\n\n".join([f"### {markdown_text(section.title)}", *body])
            )
        return "\n\n".join(parts) + "\n"


def _with(kept: Sequence[int], index: int, count: int) -> list[int]:
    return [*kept[:index], count, *kept[index + 1 :]]


def markdown_text(text: str) -> str:
    """Text escaped for Markdown: no markup, no HTML, no mention of a person, one line."""
    return escape(" ".join(text.split())).translate(_MARKUP)


def _code(text: str) -> str:
    safe = escape(" ".join(text.split()))
    fence = "`" * (max(map(len, re.findall("`+", safe)), default=0) + 1)
    space = " " if "`" in safe else ""
    return f"{fence}{space}{safe}{space}{fence}" if safe else ""


def _folded(title: str, body: Sequence[str]) -> str:
    inside = "\n\n".join(body)
    return f"<details>\n<summary>{markdown_text(title)}</summary>\n\n{inside}\n\n</details>"


def _lines(table: Table) -> tuple[list[str], list[str]]:
    """The two lines of its head, and a line for each row."""
    head = [
        "| " + " | ".join(markdown_text(column.name) for column in table.columns) + " |",
        "|" + "|".join("--:" if column.numeric else "---" for column in table.columns) + "|",
    ]
    rows = [
        "| " + " | ".join(markdown_text(c.shown(value)) for c, value in zip(table.columns, row, strict=True)) + " |"
        for row in table.rows
    ]
    return head, rows
