"""A document of findings as one offline page: the verdict first, tables that sort, filter and copy, interactive charts."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ...query.document import Document, Section, Table, TableColumn, Told
from ..style.labels import printable
from . import html
from .figure import Figure

FILTERED_FROM = 8  # rows from which a table has a field to filter it
NOWRAP = 28  # characters a cell holds in one line
WIDE = 10  # columns from which a table has smaller letters, and breaks names where there is no room


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
    return html.document(title, body, blocks, font=font, bundle=bundle, part="report_page")


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
    notes = [at for at, column in enumerate(table.columns) if column.kind == "note"]
    cells = [at for at in range(len(table.columns)) if at not in notes]
    columns = [table.columns[at] for at in cells]
    heads = "".join(
        f'<th scope="col"{_numeric(column)}><button type="button">{_text(column.name)}</button></th>'
        for column in columns
    )
    rows = "".join(
        f"<tbody><tr>{''.join(map(_cell, columns, [row[at] for at in cells]))}</tr>"
        + "".join(
            f'<tr class="note"><td colspan="{len(cells)}">{_text(str(row[at]))}</td></tr>' for at in notes if row[at]
        )
        + "</tbody>"
        for row in table.rows
    )
    many = len(table.rows) >= FILTERED_FROM
    field = '<input type="search" placeholder="filter rows" aria-label="Filter rows">' if many else ""
    tools = (
        f'<div class="tools">{field}<button type="button" class="copy">Copy</button><span class="status"></span></div>'
    )
    # tabindex: what scrolls must be reachable by keyboard
    return (
        f'<div class="table">{tools}<div class="scroll{" long" if len(table.rows) > 40 else ""}" tabindex="0">'
        f'<table class="data{" wide" if len(columns) >= WIDE else ""}"><thead><tr>{heads}</tr></thead>{rows}</table></div></div>'
    )


def _cell(column: TableColumn, value: Any) -> str:
    text = column.shown(value)
    if column.numeric:
        exact = "" if value is None else f' data-v="{float(value)!r}"'
        return f'<td class="n"{exact}>{_text(text)}</td>'
    if isinstance(value, Told) and value.value is not None:
        factor, bracket, doubt = text.partition(" (")
        told = f"{_text(factor)} <span>({_text(doubt)}</span>" if bracket else _text(text)
        return f'<td class="told" data-v="{value.value!r}">{told}</td>'
    kind = ' class="long"' if len(text) > NOWRAP else ' class="name"' if column.kind == "text" else ""
    return f"<td{kind}>{_text(text).replace('_', '_<wbr>')}</td>"


def _numeric(column: TableColumn) -> str:
    return ' class="n"' if column.numeric else ""


def _text(text: str) -> str:
    return escape(printable(text))
