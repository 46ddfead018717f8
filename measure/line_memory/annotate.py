"""Annotated source: every traced file with the memory use of each line, as text or as one offline page.

The page is plain HTML without a script. Names and source of the program are escaped, and a content security policy forbids
the page to load or run anything.
"""

import html
import linecache
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...warehouse.console.numbers import size
from ...warehouse.console.tables import escape

HEADINGS = ("hits", "growth", "peak", "transient")
WIDTHS = (9, 10, 10, 10)

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


@dataclass(frozen=True, slots=True)
class Note:
    """The numbers beside a line; sizes in bytes."""

    hits: int
    growth: int
    peak: int
    transient: int

    def cells(self) -> tuple[str, str, str, str]:
        """The cells as text; empty where nothing changed."""
        moved = f"{'+' if self.growth > 0 else '−'}{size(abs(self.growth))}" if self.growth else ""
        return str(self.hits), moved, size(self.peak), size(self.transient) if self.transient else ""


Notes = Mapping[tuple[str, str], Mapping[int, Note]]  # by file and kind of memory, then by line


def as_text(notes: Notes, facts: Iterable[str]) -> str:
    """All files as text, in the order of their names."""
    parts = [*facts, ""]
    for (file, kind), lines in sorted(notes.items()):
        parts += [
            escape(f"{file}, {kind}"),
            "  ".join(name.rjust(width) for name, width in zip(HEADINGS, WIDTHS, strict=True)) + "  line",
        ]
        for number, text in _source(file, lines):
            cells = lines[number].cells() if number in lines else ("",) * len(HEADINGS)
            beside = "  ".join(cell.rjust(width) for cell, width in zip(cells, WIDTHS, strict=True))
            parts.append(f"{beside}  {number:4d}  {escape(text.expandtabs())}".rstrip())
        parts.append("")
    return "\n".join(parts)


def as_html(notes: Notes, facts: Iterable[str], title: str) -> str:
    """All files as one page; the shade of a line is its share of the largest growth or transient of the page."""
    most = max((max(n.growth, n.transient) for lines in notes.values() for n in lines.values()), default=0)
    return _PAGE.format(
        title=html.escape(title),
        facts="\n".join(f"<p>{html.escape(fact)}</p>" for fact in facts),
        files="\n".join(_table(*key, lines, most) for key, lines in sorted(notes.items())),
    )


def _table(file: str, kind: str, lines: Mapping[int, Note], most: int) -> str:
    rows = []
    for number, text in _source(file, lines):
        note = lines.get(number)
        cells = note.cells() if note else ("",) * len(HEADINGS)
        share = max(note.growth, note.transient, 0) / most if note and most else 0.0
        look = f' style="background: rgba(214, 84, 30, {0.6 * share:.2f})"' if share >= 0.01 else ""
        inner = "".join(f"<td>{html.escape(cell)}</td>" for cell in (*cells, str(number), text))
        rows.append(f"<tr{look}{'' if note else ' class=unhit'}>{inner}</tr>")
    heads = "".join(f"<th>{head}</th>" for head in (*HEADINGS, "line", "source"))
    title = html.escape(f"{file}, {kind}")
    return f"<h2>{title}</h2>\n<table><thead><tr>{heads}</tr></thead><tbody>\n" + "\n".join(rows) + "\n</tbody></table>"


def _source(file: str, lines: Mapping[int, Note]) -> list[tuple[int, str]]:
    """The lines of a file by number, as Python decodes them; without a file, the lines that ran, without text."""
    found = linecache.getlines(file) if os.path.isfile(file) else []
    texts = {number: text.rstrip("\r\n") for number, text in enumerate(found, start=1)}
    return sorted({**dict.fromkeys(lines, ""), **texts}.items())
