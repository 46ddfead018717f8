"""A comparison as Markdown for a pull request."""

from collections.abc import Sequence
from typing import Any

from ...warehouse.console.numbers import counted
from ...warehouse.errors import Exit
from ..document import Document, Section, Table, TableColumn
from . import environments
from .compare import Comparison, Row, exit_code
from .render import crossovers, floors, means, moved, render, shared_axes, shared_reasons, shifts, shown, verdict


def document(comparison: Comparison, *, command: str) -> Document:
    """The comparison as Markdown for a pull request: the verdict, what changed, and folded what did not.

    `command` is the `bench compare` that makes it: it lists what a comment has no room for.
    """
    everything = f"{command} --all"
    rows = shown(comparison, everything=True)
    changed = [row for row in rows if row["verdict"] not in (None, "UNSURE", "SAME")]
    unsure = [row for row in rows if row["verdict"] in (None, "UNSURE")]
    same = [row for row in rows if row["verdict"] == "SAME"]
    code = exit_code(comparison)
    doubtful = any(row["verdict"] == "UNSURE" for row in moved(comparison)) or (unsure and not changed)
    shared = [*shared_axes(comparison), *shared_reasons(comparison)]
    together = [*crossovers(comparison), *shifts(comparison), *comparison.captures]
    sides = {"base": comparison.base, "candidate": comparison.candidate}
    sections = [
        _section(comparison, "changed", "What changed", changed,
                 sentences=[*together, *(shared if changed else [])], weight=9, command=command),
        Section(key="means", title="Geometric means", sentences=list(means(comparison)), weight=8) if comparison.means else None,
        _section(comparison, "unsure", f"Unsure: {len(unsure):,}", unsure,
                 sentences=shared if unsure and not changed else [], folded=True, command=everything),
        _section(comparison, "same", f"The same within {floors(same)}: {len(same):,}", same,
                 sentences=shared if same and not (changed or unsure) else [], folded=True, command=everything),
        _environment(comparison, command),
    ]  # fmt: skip
    return Document(
        title=f"{comparison.base.name} → {comparison.candidate.name}",
        verdict=verdict(comparison),
        good=None if code == Exit.TOO_LITTLE or (code == Exit.OK and doubtful) else code == Exit.OK,
        facts=[(name, ", ".join(run[:13] for run in side.runs)) for name, side in sides.items()],
        sections=[section for section in sections if section is not None],
    )


def _section(
    comparison: Comparison, key: str, title: str, rows: Sequence[Row], *, sentences: Sequence[str], **rest: Any
) -> Section | None:
    if not (rows or sentences):
        return None
    columns, values = render(comparison, rows)
    tables = (
        [Table([TableColumn(name, "note" if name == "why" else "text") for name in columns], values)] if rows else []
    )
    return Section(key=key, title=title, sentences=sentences, tables=tables, **rest)


def _environment(comparison: Comparison, command: str) -> Section | None:
    if not comparison.differences:
        return None
    columns, values = environments.render(comparison.differences, comparison.base.name, comparison.candidate.name)
    table = Table([TableColumn(name) for name in columns], values)
    return Section(
        key="environment",
        title=f"Environment: {counted(len(values), 'difference')}",
        tables=[table],
        folded=True,
        command=command,
    )
