"""Annotated source: files with what was measured beside each line, as text or as one offline page.

The page is plain HTML without a script. Names and source of the program are escaped, and a content security policy forbids
the page to load or run anything.
"""

import html
import linecache
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import click

from ..warehouse.console.tables import escape, write_text
from ..warehouse.errors import BenchError
from .options import talk

TEXT_WIDTH = 60
_INSTALLED = re.compile(r"^.*/(site|dist)-packages/")

output_option: Callable[[Any], Any] = click.option(
    "-o", "--output", "outputs", multiple=True, type=click.Path(dir_okay=False, path_type=Path),
    help="Write annotated source, as .html or .txt; may be repeated.",
)  # fmt: skip

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 14px system-ui, sans-serif; margin: 2rem; color: #1b1f24; background: #fff; }}
h2 {{ font-size: 1rem; margin-top: 2rem; }}
table {{ border-collapse: collapse; font: 12px ui-monospace, monospace; }}
th, td {{ padding: 1px 8px; text-align: right; white-space: pre; }}
th {{ position: sticky; top: 0; background: #fff; border-bottom: 1px solid #999; }}
th:last-child, td:last-child {{ text-align: left; }}
.unhit td {{ color: #6b7280; }}
@media (prefers-color-scheme: dark) {{
  body, th {{ color: #e6e8eb; background: #16181c; }}
  .unhit td {{ color: #8b929c; }}
}}
</style></head><body>
<h1>{title}</h1>
{facts}
{files}
</body></html>
"""


class Note(Protocol):
    """The numbers beside a line."""

    @property
    def weight(self) -> float:
        """The shade that it has; the largest of a page is the darkest."""
        ...

    def cells(self) -> Sequence[str]:
        """A text under each heading."""
        ...


@dataclass(frozen=True, slots=True)
class AnnotatedSource:
    """Files with numbers beside their lines, and sentences on all of it."""

    title: str
    facts: Sequence[str]
    headings: Mapping[str, int]  # with the width of the column
    notes: Mapping[tuple[str, str], Mapping[int, Note]]  # by file and what was measured, then by line

    def as_text(self) -> str:
        """All files as text, in the order of their names."""
        parts = [*self.facts, ""]
        for (file, what), lines in sorted(self.notes.items()):
            parts += [
                escape(f"{file}, {what}"),
                "  ".join(name.rjust(width) for name, width in self.headings.items()) + "  line",
            ]
            for number, text in _source(file, lines):
                cells = lines[number].cells() if number in lines else ("",) * len(self.headings)
                beside = "  ".join(cell.rjust(width) for cell, width in zip(cells, self.headings.values(), strict=True))
                parts.append(f"{beside}  {number:4d}  {escape(text.expandtabs())}".rstrip())
            parts.append("")
        return "\n".join(parts)

    def as_html(self) -> str:
        """All files as one page; the shade of a line is its share of the largest weight of the page."""
        most = max((note.weight for lines in self.notes.values() for note in lines.values()), default=0)
        return _PAGE.format(
            title=html.escape(self.title),
            facts="\n".join(f"<p>{html.escape(fact)}</p>" for fact in self.facts),
            files="\n".join(self._table(*key, lines, most) for key, lines in sorted(self.notes.items())),
        )

    def write(self, output: Path) -> None:
        """Write a page or text, as the file's name says."""
        write_text(self.as_html() if output.suffix == ".html" else self.as_text(), output)
        talk(f"wrote {output}")

    def _table(self, file: str, what: str, lines: Mapping[int, Note], most: float) -> str:
        rows = []
        for number, text in _source(file, lines):
            note = lines.get(number)
            cells = note.cells() if note else ("",) * len(self.headings)
            share = note.weight / most if note and most else 0.0
            look = f' style="background: rgba(214, 84, 30, {0.6 * share:.2f})"' if share >= 0.01 else ""
            inner = "".join(f"<td>{html.escape(cell)}</td>" for cell in (*cells, str(number), text))
            rows.append(f"<tr{look}{'' if note else ' class=unhit'}>{inner}</tr>")
        heads = "".join(f"<th>{head}</th>" for head in (*self.headings, "line", "source"))
        title = html.escape(f"{file}, {what}")
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>\n" + "\n".join(rows) + "\n</tbody></table>"
        return f"<h2>{title}</h2>\n{table}"


def check_annotation(show: str, fmt: str, outputs: Iterable[Path]) -> None:
    """Refuse a format that annotated source cannot have, before anything is measured.

    Raises:
        BenchError: It is to be shown as something else than text, or written as something else or into no folder.
    """
    if show == "source" and fmt != "table":
        raise BenchError(f"annotated source is text, not {fmt}: leave out --format, or ask for --show lines")
    for output in outputs:
        if output.suffix not in (".html", ".txt"):
            raise BenchError(f"annotated source is written as .html or .txt, not as {str(output)!r}")
        if not output.parent.is_dir():
            raise BenchError(f"there is no folder {str(output.parent)!r} to write {output.name} into")


def place(file: str, line: int) -> str:
    """A line as people read it: of an installed package the path within it."""
    return f"{_INSTALLED.sub('', file)}:{line}"


def shortened(text: str | None) -> str:
    """The text of a line, as wide as a table has room for."""
    text = text or ""
    return text if len(text) <= TEXT_WIDTH else text[: TEXT_WIDTH - 1] + "…"


def _source(file: str, lines: Iterable[int]) -> list[tuple[int, str]]:
    """The lines of a file by number, as Python decodes them; without a file, the lines that ran, without text."""
    found = linecache.getlines(file) if os.path.isfile(file) else []
    texts = {number: text.rstrip("\r\n") for number, text in enumerate(found, start=1)}
    return sorted({**dict.fromkeys(lines, ""), **texts}.items())
