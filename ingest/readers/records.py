"""One row of a table of any kind, as the exact reader gives it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ...warehouse.console.numbers import counted
from .csv_rows import CsvRow
from .document import BadRecord


@dataclass(frozen=True, slots=True)
class Record:
    """One row of a table."""

    line: int  # line of the file, or number of the record where lines mean nothing
    cells: dict[str, Any]  # column -> what it holds, nothing where it is empty
    text: Callable[[], str]
    problem: str | None = None  # why there are no cells


def until_damage(rows: Iterable[Record], line: int = 0) -> Iterator[Record]:
    """The rows; where what follows them cannot be read, one more that says so. `line` is the one before the first.

    Raises:
        BadRecord: Nothing of the file can be read.
    """
    try:
        for record in rows:
            line = record.line
            yield record
    except BadRecord as error:
        if not line:
            raise
        yield record_of_rest(line, error)


def record_of_rest(line: int, error: BadRecord) -> Record:
    """A record in place of all lines behind one that cannot be read."""
    return Record(line + 1, {}, lambda: f"after line {line}", f"the rest {error}")


def record_of_csv(row: CsvRow, names: list[str]) -> Record:
    """A row of a CSV whose columns have these names."""
    problem = row.problem or ("blank line" if row.is_blank() else None)
    if problem is None and len(row.cells) != len(names):
        problem = f"{counted(len(row.cells), 'column')} under a header of {len(names)}"
    cells = {} if problem else {name: cell for name, cell in zip(names, row.cells, strict=True) if cell and name}
    return Record(row.line, cells, lambda: row.text, problem)
