"""Tables of commands in the room that a reader has: a row stays on one line, the rest is behind `--wide`."""

import os
import shutil
from collections.abc import Callable, Sequence
from typing import Any

import click

from .options import notify
from .tables import Rows, cell_text, cut_to, width, write_rows

ROOM = 100  # characters of a line where no terminal says how many it has
LEAST = 16  # characters of a last column that are worth printing
GAP = 2  # characters between columns
WIDE = f"{__name__}.wide"

Table = tuple[Sequence[str], Sequence[Sequence[Any]]]  # headings and rows


def _remember(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.meta[WIDE] = value


wide_option: Callable[[Any], Any] = click.option(
    "--wide", is_flag=True, expose_value=False, callback=_remember, help="Show every column, however wide the table is."
)


def write_fitted(
    columns: Sequence[str],
    rows: Rows,
    fmt: str,
    file: str | os.PathLike[str] | None = None,
    *,
    shared: Sequence[str] = (),
    spare: Sequence[str] = (),
    cut: str | None = None,
) -> None:
    """Write rows as `write_rows` does; a table for people gives up columns until its rows fit the terminal.

    Args:
        columns: Their names.
        rows: The values.
        fmt: One of `options.FORMATS`; formats other than table keep all columns, as do files and commands with `--wide`.
        file: Path to write to; standard output if left out.
        shared: Columns that a sentence before the table tells if they have the same value in all of its rows.
        spare: Columns that may go, the first one first.
        cut: Last column, of texts, which is shortened where the others leave it some room, and goes where they do not.
    """
    context = click.get_current_context(silent=True)
    if fmt != "table" or file is not None or (context is not None and context.meta.get(WIDE)):
        return write_rows(columns, rows, fmt, file)
    (columns, rows), equal = without_shared(columns, [*rows], shared)
    if equal:
        notify(f"all: {', '.join(equal)}")
    (shown, fitted), hidden = fit(columns, rows, spare, cut, shutil.get_terminal_size((ROOM, 0)).columns)
    write_rows(shown, fitted, fmt)
    if hidden:
        notify(f"not shown: {', '.join(hidden)}; --wide shows all")
    return None


def fit(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], spare: Sequence[str], cut: str | None, room: int
) -> tuple[Table, list[str]]:
    """The table without the spare columns that have no room, its last column shortened.

    Returns:
        The table, and what is missing from it: names of columns, `the end of …` for one that was shortened.
    """
    if not rows:
        return (columns, rows), []
    texts = [[cell_text(value) for value in row] for row in rows]
    widths = [max(map(width, cells)) for cells in zip(columns, *texts, strict=True)]
    kept, hidden = [*columns], []
    last = columns[-1] if columns and columns[-1] == cut else None

    def over() -> int:
        return sum(widths[columns.index(name)] + GAP for name in kept) - GAP - room

    for name in spare:
        least = min(widths[-1], LEAST) - widths[-1] if last else 0
        if name in kept and over() + least > 0:
            kept.remove(name)
            hidden.append(name)
    space = widths[-1] - max(over(), 0) if last else 0
    if last and space < min(widths[-1], LEAST):
        kept.remove(last)
        hidden.append(last)
    elif last and space < widths[-1]:
        hidden.append(f"the end of {last}")
    places = [columns.index(name) for name in kept]
    return (
        kept,
        [
            [_clauses(text[i], space) if columns[i] == last else row[i] for i in places]
            for row, text in zip(rows, texts, strict=True)
        ],
    ), hidden


def _clauses(text: str, room: int) -> str:
    """The text in at most that many columns, of a reason its first whole parts."""
    cut = cut_to(text, room)
    return cut if cut == text or "; " not in cut else f"{cut.rpartition('; ')[0]} …"


def without_shared(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], among: Sequence[str]
) -> tuple[Table, list[str]]:
    """The table without those columns, of `among`, that have the same value in all of several rows.

    Returns:
        The table, and what it lacks as `column value`.
    """
    if len(rows) < 2:
        return (columns, rows), []
    equal = [
        i
        for i, name in enumerate(columns)
        if name in among and rows[0][i] is not None and all(row[i] == rows[0][i] for row in rows)
    ]
    rest = [i for i in range(len(columns)) if i not in equal]
    shared = [f"{columns[i]} {cell_text(rows[0][i])}" for i in equal]
    return ([columns[i] for i in rest], [[row[i] for i in rest] for row in rows]), shared
