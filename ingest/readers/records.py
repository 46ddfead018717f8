"""One row of a table of any kind, as the exact reader gives it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...warehouse.console.numbers import counted
from .csv_rows import CsvRow


@dataclass(frozen=True, slots=True)
class Record:
    """One row of a table."""

    line: int  # line of the file, or number of the record where lines mean nothing
    cells: dict[str, Any]  # column -> what it holds, nothing where it is empty
    text: Callable[[], str]
    problem: str | None = None  # why there are no cells


def record_of_csv(row: CsvRow, names: list[str]) -> Record:
    """A row of a CSV whose columns have these names."""
    problem = row.problem or ("blank line" if row.is_blank() else None)
    if problem is None and len(row.cells) != len(names):
        problem = f"{counted(len(row.cells), 'column')} under a header of {len(names)}"
    cells = {} if problem else {name: cell for name, cell in zip(names, row.cells, strict=True) if cell and name}
    return Record(row.line, cells, lambda: row.text, problem)
