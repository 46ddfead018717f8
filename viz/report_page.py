"""A document of findings as one offline page: the verdict first, tables that sort, filter and copy, charts to play with."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ..query.document import Column, Document, Section, Table
from . import html
from .figure import Figure
from .labels import printable

FILTERED_FROM = 8  # rows from which a table has a field to filter it
NOWRAP = 48  # characters a cell holds in one line

_STYLE = """
body { max-width: 1480px; }
main { overflow-wrap: anywhere; }
.chart { overflow-x: auto; }
.controls label, .controls select { max-width: 100%; }
header h1 { font-size: 22px; margin: 0 0 4px; }
.verdict { font-size: 16px; padding: 10px 14px; border-left: 5px solid var(--soft); background: var(--wash); margin: 12px 0; }
.verdict.good { border-color: #1a7f37; } .verdict.bad { border-color: #cf222e; }
.facts { display: flex; flex-wrap: wrap; gap: 2px 18px; color: var(--soft); margin: 0; padding: 0; list-style: none; }
.facts b { color: var(--ink); font-weight: 500; }
nav { display: flex; flex-wrap: wrap; gap: 4px 14px; padding: 10px 0; border-bottom: 1px solid var(--line); }
nav a { color: inherit; }
section, main > details.section { border-top: 1px solid var(--line); padding: 14px 0 6px; }
section h2, details.section > summary { font-size: 16px; font-weight: 600; margin: 0 0 6px; }
.tools { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; color: var(--soft); margin-top: 8px; }
.tools input, .tools button { font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--line);
  border-radius: 6px; padding: 2px 8px; }
.tools input { width: 22ch; }
.scroll.long { max-height: 70vh; overflow-y: auto; }
table.data th { position: sticky; top: 0; background: var(--paper); padding: 0; }
table.data th button { all: unset; cursor: pointer; padding: 3px 12px; white-space: nowrap; }
table.data th:first-child button { padding-left: 0; }
table.data th button:focus-visible { outline: 2px solid #0072B2; }
table.data th button::after { content: "\\2195"; color: var(--line); padding-left: 4px; }
table.data th[aria-sort=ascending] button::after { content: "\\2191"; color: var(--ink); }
table.data th[aria-sort=descending] button::after { content: "\\2193"; color: var(--ink); }
table.data th, table.data td { text-align: left; white-space: nowrap; }
table.data td.long { white-space: normal; overflow-wrap: break-word; min-width: 40ch; max-width: 60ch; }
table.data td.n, table.data th.n { text-align: right; }
@media (max-width: 640px) { body { padding: 12px; } th, td { padding: 3px 8px; } }
@media print { nav, .tools, .controls { display: none; } .scroll.long { max-height: none; } }
"""

# Sorting is stable; numbers sort by their value, nothing last either way. Copying takes what is shown, as it is shown.
_SCRIPT = """
"use strict";
for (const box of document.querySelectorAll(".table")) {
  const table = box.querySelector("table"), body = table.tBodies[0], rows = [...body.rows];
  const said = box.querySelector(".said"), field = box.querySelector("input"), copy = box.querySelector(".copy");
  const value = (row, at) => {
    const cell = row.cells[at];
    if (cell.textContent === "") return null;
    return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
  };
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, at) => head.querySelector("button").addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const compare = (a, b) => {
      const x = value(a, at), y = value(b, at);
      if (x === null || y === null) return (x === null) - (y === null);
      const order = typeof x === "number" && typeof y === "number" ? x - y
        : String(x).localeCompare(String(y), undefined, {numeric: true});
      return down ? -order : order;
    };
    body.append(...[...rows].sort(compare));
  }));
  const count = () => {
    const shown = rows.filter(row => !row.hidden).length;
    said.textContent = shown === rows.length ? `${shown} row${shown === 1 ? "" : "s"}` : `${shown} of ${rows.length} rows`;
  };
  if (field) field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\\s+/).filter(Boolean);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every(word => text.includes(word));
    }
    count();
  });
  copy.addEventListener("click", async () => {
    const line = row => [...row.cells].map(cell => (cell.dataset.v ?? cell.textContent).replace(/[\\t\\n\\r]/g, " ")).join("\\t");
    const text = [table.tHead.rows[0], ...body.rows].filter(row => !row.hidden).map(line).join("\\n");
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    said.textContent = done ? "copied, ready to paste into a spreadsheet" : "the browser refused to copy";
    document.documentElement.dataset.copied = text;
    setTimeout(count, 3000);
  });
  count();
}
const unfold = () => {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.tagName === "DETAILS") target.open = true;
};
addEventListener("hashchange", unfold);
unfold();
"""


def page(document: Document, charts: Mapping[str, Sequence[Figure]], *, font: str, bundle: bytes) -> bytes:
    """The page.

    Args:
        document: What it says.
        charts: By key of a section, the charts that stand under its sentences.
        font: CSS font-family list that has all characters of the charts.
        bundle: JavaScript of Vega, Vega-Lite and Vega-Embed.
    """
    blocks: list[html.Block] = []
    parts = [_head(document)]
    for section in document.sections:
        elements = []
        for figure in charts.get(section.key, ()):
            blocks.append(figure.block())
            elements.append(blocks[-1].element(len(blocks) - 1) + _origin(figure))
        parts.append(_section(section, elements))
    title, body = printable(document.title), "\n".join(parts)
    return html.document(title, body, blocks, font=font, bundle=bundle, style=_STYLE, script=_SCRIPT)


def _origin(figure: Figure) -> str:
    explained = escape(figure.provenance.explain())
    return f'<details><summary>Where this chart comes from</summary><pre tabindex="0">{explained}</pre></details>'


def _head(document: Document) -> str:
    judged = {True: "good", False: "bad", None: ""}[document.good]
    facts = "".join(f"<li>{_text(name)} <b>{_text(value)}</b></li>" for name, value in document.facts)
    links = "".join(f'<a href="#{escape(section.key)}">{_text(section.title)}</a>' for section in document.sections)
    return (
        f'<header><h1>{_text(document.title)}</h1><p class="verdict {judged}" role="status">{_text(document.verdict)}</p>'
        f'<ul class="facts">{facts}</ul></header><nav aria-label="Sections">{links}</nav>'
    )


def _section(section: Section, charts: Sequence[str]) -> str:
    inside = "".join(f"<p>{_text(sentence)}</p>" for sentence in section.sentences)
    inside += "\n".join(charts) + "\n".join(map(_table, section.tables))
    key, title = escape(section.key), _text(section.title)
    if section.folded and not charts:  # a chart in a closed fold would be drawn 0 pixels wide
        return f'<details class="section" id="{key}"><summary>{title}</summary>{inside}</details>'
    return f'<section id="{key}"><h2>{title}</h2>{inside}</section>'


def _table(table: Table) -> str:
    if not table.rows:
        return ""
    heads = "".join(
        f'<th scope="col"{_numeric(column)}><button type="button">{_text(column.name)}</button></th>'
        for column in table.columns
    )
    rows = "".join(f"<tr>{''.join(map(_cell, table.columns, row))}</tr>" for row in table.rows)
    many = len(table.rows) >= FILTERED_FROM
    field = '<input type="search" placeholder="filter rows" aria-label="Filter rows">' if many else ""
    tools = (
        f'<div class="tools">{field}<button type="button" class="copy">Copy</button><span class="said"></span></div>'
    )
    # tabindex: what scrolls must be reachable by keyboard
    return (
        f'<div class="table">{tools}<div class="scroll{" long" if len(table.rows) > 40 else ""}" tabindex="0">'
        f'<table class="data"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div></div>'
    )


def _cell(column: Column, value: Any) -> str:
    text = column.shown(value)
    if column.numeric:
        exact = "" if value is None else f' data-v="{float(value)!r}"'
        return f'<td class="n"{exact}>{_text(text)}</td>'
    long = ' class="long"' if len(text) > NOWRAP else ""
    return f"<td{long}>{_text(text)}</td>"


def _numeric(column: Column) -> str:
    return ' class="n"' if column.numeric else ""


def _text(text: str) -> str:
    return escape(printable(text))
