"""Tables of commands in the room that a reader has: a row stays on one line, a reason whole below it, more behind `--wide`."""

import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import click

from .options import notify
from .parameters import ParametersText, plain, without_shared_parameters
from .tables import INDENT, Rows, cell_text, cut_to, shorten, width, write_noted, write_rows

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
    reason: str | None = None,
    brief: str | None = None,
) -> None:
    """Write rows as `write_rows` does; on a terminal a table for people gives up columns until its rows fit.

    Where the output is no terminal, nothing is left out or shortened.

    Args:
        columns: Their names.
        rows: The values.
        fmt: One of `options.FORMATS`; formats other than table keep all columns, as do files and commands with `--wide`.
        file: Path to write to; standard output if left out.
        shared: Columns that a sentence before the table tells if they have the same value in all of its rows.
        spare: Columns that may go, the first one first.
        reason: Last column, of texts, which always stands whole: below each row where it has no room beside the others.
        brief: Last column, of texts, which is shortened where the others leave it some room, and goes where they do not.
    """
    context = click.get_current_context(silent=True)
    if fmt != "table" or file is not None or (context is not None and context.meta.get(WIDE)):
        return write_rows(columns, rows, fmt, file)
    (columns, rows), equal = without_shared(columns, [*rows], shared)
    if equal:
        notify(f"all: {', '.join(shorten(each, ROOM) for each in equal)}")
    room, hidden = terminal_room(), list[str]()
    notes: list[str] = []
    is_noted = reason is not None and bool(columns) and columns[-1] == reason
    if is_noted and (not any(row[-1] for row in rows) or _widest(columns, rows) > (room or ROOM)):
        notes = [cell_text(row[-1]) for row in rows]
        columns, rows = columns[:-1], [row[:-1] for row in rows]
        notes = [_wrapped(note, room) for note in notes]
    if room is not None:
        (columns, rows), hidden = fit(columns, rows, spare, brief, room)
    write_noted(columns, rows, notes)
    if hidden:
        notify(f"not shown: {', '.join(hidden)}; --wide shows all")
    return None


def terminal_room() -> int | None:
    """Characters of a line of the terminal that standard output is, or of $COLUMNS; None where there is no limit."""
    if os.environ.get("COLUMNS", "").isdecimal() or sys.stdout.isatty():
        return shutil.get_terminal_size((ROOM, 0)).columns
    return None


def _widest(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> int:
    """Characters of the widest line of a table."""
    texts = [columns, *([cell_text(value) for value in row] for row in rows)]
    return sum(max(map(width, cells)) + GAP for cells in zip(*texts, strict=True)) - GAP


def _wrapped(note: str, room: int | None) -> str:
    """A text as lines below a row."""
    if room is None:
        return INDENT + note if note else ""
    lines = textwrap.wrap(note, max(room, LEAST), initial_indent=INDENT, subsequent_indent=INDENT)
    return "\n".join(lines)


def fit(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], spare: Sequence[str], brief: str | None, room: int
) -> tuple[Table, list[str]]:
    """The table without the spare columns that have no room, its last column shortened if that is `brief`; where it is
    too wide, without columns that are empty in all rows.

    Returns:
        The table, and what is missing from it: names of columns, `the end of …` for one that was shortened.
    """
    if not rows:
        return (columns, rows), []
    texts = [[cell_text(value) for value in row] for row in rows]
    widths = [max(map(width, cells)) for cells in zip(columns, *texts, strict=True)]
    kept, hidden = [*columns], []
    last = columns[-1] if columns and columns[-1] == brief else None

    def over() -> int:
        return sum(widths[columns.index(name)] + GAP for name in kept) - GAP - room

    if over() > 0:  # what holds nothing takes no room from the rest, and is not missed
        kept = [name for i, name in enumerate(columns) if any(row[i] for row in texts)]
        last = last if last in kept else None
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
            [cut_to(text[i], space) if columns[i] == last else row[i] for i in places]
            for row, text in zip(rows, texts, strict=True)
        ],
    ), hidden


def without_shared(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], among: Sequence[str]
) -> tuple[Table, list[str]]:
    """The table without those columns, of `among`, that have the same value in all of several rows.

    Of a column of parameters, those go that have the same value in all rows.

    Returns:
        The table, and what it lacks as `column value`; nothing is said of a column without any value.
    """
    if len(rows) < 2:
        return (columns, rows), []
    told: list[str] = []
    for i in (i for i, name in enumerate(columns) if name in among):
        if any(isinstance(row[i], ParametersText) for row in rows):
            alike, others = without_shared_parameters([row[i].given if row[i] else {} for row in rows])
            told = [f"{key} {plain(value)}".strip() for key, value in alike.items()]
            rows = [[*row[:i], ParametersText.of(own), *row[i + 1 :]] for row, own in zip(rows, others, strict=True)]
    equal = [i for i, name in enumerate(columns) if name in among and all(row[i] == rows[0][i] for row in rows)]
    rest = [i for i in range(len(columns)) if i not in equal]
    shared = [f"{columns[i]} {cell_text(rows[0][i])}" for i in equal if rows[0][i] is not None]
    return ([columns[i] for i in rest], [[row[i] for i in rest] for row in rows]), [*shared, *told]
