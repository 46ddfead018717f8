"""Tables recognised by what their header says as a whole, rather than by columns of known names."""

import functools
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any, ClassVar

from ...warehouse.console.numbers import counted
from ..format import Head, Part
from ..readers.csv_rows import CsvRow, rows
from ..readers.document import BadRecord, Object, lines_of, read_text
from ..readers.json_format import ListFormat, UnlocatedRecords
from ..readers.results import Results, Subject, number


class HeadedTable(ListFormat):
    """A table whose first line is its header."""

    separators: ClassVar[str] = ","

    def recognise(self, head: Head) -> bool:
        """Return whether the first line is such a header, over a row of as many cells."""
        lines = lines_of(head.text)[:2]
        if len(lines) < 2 or lines[0].startswith(("{", "[", "<")):
            return False
        found = [row.cells for row in _rows(lines, self._separator(lines[0])) if not row.problem]
        return len(found) == 2 and 0 < len(found[0]) == len(found[1]) and self.fits(*found)

    def fits(self, header: list[str], row: list[str]) -> bool:
        """Return whether a header and its first row are of this format."""
        raise NotImplementedError

    def document(self, part: Part, results: Results) -> Any:
        """The rows, as objects without the cells that are empty."""
        lines = lines_of(read_text(part))
        header, *found = _rows(lines or [""], self._separator(lines[0]) if lines else ",")
        if header.is_blank() or header.problem or len(set(header.cells)) < len(header.cells):
            raise BadRecord("has no header, or one that names a column twice")
        names = header.cells
        return [
            Object([(name, cell) for name, cell in zip(names, row.cells, strict=True) if cell])
            if not row.problem and len(row.cells) == len(names)
            else UnlocatedRecords(
                row.text,
                BadRecord(row.problem or f"{counted(len(row.cells), 'column')} under a header of {len(names)}"),
            )
            for row in found
            if not row.is_blank()
        ]

    def identity(self, name: str) -> str:
        """The name of the file, which is the name of the case."""
        return PurePath(name).stem

    def _separator(self, line: str) -> str:
        return max(self.separators, key=line.count)


def _rows(lines: list[str], separator: str) -> list[CsvRow]:
    return list(rows(((at, line.encode("utf-8", "backslashreplace")) for at, line in enumerate(lines, 1)), separator))


def providers(record: Object, results: Results, axes: Iterable[str]) -> "functools.partial[Subject]":
    """The axes of the case of each provider in a row."""
    sizes = {axis: typed(record.take(axis)) for axis in axes}
    return functools.partial(results.case, results.file_name(), parameters=sizes)


def typed(value: Any) -> Any:
    """A size as a number, a whole one where it is."""
    read = number(value)
    return value if read is None else int(read) if read.is_integer() else read
