"""CSV as benchmark scripts write it: records with the line they begin on, and what is wrong with those that are broken."""

import csv
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ...warehouse.events import Reject
from ...warehouse.log import Batch
from ..format import MAX_TEXT, Part, Tally, as_text
from .document import BadRecord, read_lines

SEPARATORS = ",;\t|"
LONGEST_RECORD = 100  # lines; an unclosed quote must not swallow the rest of a file
LONGEST_BYTES = 1 << 20  # of a record
NO_CSV = "not valid CSV"
QUOTE = f"{NO_CSV}: a quote that opens or closes no cell, or is not closed within {LONGEST_RECORD} lines"
LONE_CR = (
    "a carriage return (CR) without a line feed, the line end of old Macs. Convert the file: tr '\\r' '\\n' < OLD > NEW"
)


class BadRow(Exception):
    """A record that cannot be read; the message is the reason."""


@dataclass(frozen=True, slots=True)
class CsvRow:
    """One record."""

    line: int  # where it begins
    cells: list[str]  # stripped of blanks
    text: str
    problem: str | None = None  # why there are no cells

    def is_blank(self) -> bool:
        """Return whether the line holds nothing."""
        return not self.text.strip()


def rows(lines: Iterable[tuple[int, bytes]], separator: str = ",") -> Iterator[CsvRow]:
    """The records of numbered lines; a quoted cell may span several that follow each other."""
    held: list[tuple[int, bytes]] = []
    is_open = False
    for number, line in lines:
        if held and number != held[-1][0] + 1:
            yield from _record(held, separator, is_open=is_open)
            held, is_open = [], False
        held.append((number, line))
        is_open ^= line.count(b'"') % 2 == 1
        if not is_open or len(held) == LONGEST_RECORD:
            yield from _record(held, separator, is_open=is_open)
            held, is_open = [], False
    if held:
        yield from _record(held, separator, is_open=is_open)


def _record(lines: list[tuple[int, bytes]], separator: str, *, is_open: bool) -> Iterator[CsvRow]:
    """The record that some lines are together; where they are none, those with the quotes are bad, and the others rows."""
    if not is_open:
        together = _row(lines[0][0], b"\n".join(line for _, line in lines), separator)
        if len(lines) == 1 or not _is_no_csv(together.problem):
            yield together
            return
    for number, line in lines:
        alone = _row(number, line, separator)
        yield replace(alone, cells=[], problem=alone.problem or QUOTE) if line.count(b'"') % 2 else alone


def _is_no_csv(problem: str | None) -> bool:
    return problem is not None and (problem == LONE_CR or problem.startswith(NO_CSV))


def _row(line: int, data: bytes, separator: str) -> CsvRow:
    kept = as_text(data).removeprefix("\ufeff") if line == 1 else as_text(data)
    if len(data) > LONGEST_BYTES:
        return CsvRow(line, [], kept, f"longer than {LONGEST_BYTES >> 20} MiB")
    text = kept
    try:
        if not data.isascii():
            data.decode("utf-8-sig")
        if len(data) > MAX_TEXT:
            text = data.removesuffix(b"\r").decode("utf-8-sig" if line == 1 else "utf-8")
        if "\0" in text:
            return CsvRow(line, [], kept, "holds a NUL byte")
        plain = text and '"' not in text and "\r" not in text  # most are, and need no parser
        cells = text.split(separator) if plain else next(csv.reader([text], delimiter=separator, strict=True), [])
    except UnicodeDecodeError:
        return CsvRow(line, [], kept, "not UTF-8")
    except csv.Error as error:
        return CsvRow(line, [], kept, reason_of(error))
    return CsvRow(line, [cell.strip() for cell in cells], kept)


def reason_of(error: csv.Error) -> str:
    """The reason for which a record is not CSV."""
    return LONE_CR if "new-line character" in str(error) else f"{NO_CSV}: {error}"


def read_header(lines: Iterable[tuple[int, bytes]]) -> tuple[CsvRow | None, str]:
    """The first row that is neither blank nor a comment, which names the columns, and what separates them."""
    for number, line in lines:
        text = as_text(line).removeprefix("\ufeff")
        if text.strip() and not text.startswith("#"):
            separator = max(SEPARATORS, key=text.count)
            return next(rows([(number, line)], separator)), separator
    return None, ","


def find_header(lines: Iterable[tuple[int, str]], headers: Iterable[frozenset[str]]) -> CsvRow | None:
    """The first line that has all columns of one of the headers."""
    wanted = list(headers)
    for number, line in lines:
        if any(all(column in line for column in columns) for columns in wanted):
            row = _row(number, line.encode("utf-8", "backslashreplace"), ",")
            if any(columns <= set(row.cells) for columns in wanted):
                return row
    return None


def read_rows(part: Part, batch: Batch, tally: Tally) -> list[CsvRow] | None:
    """The records of a whole file, up to its last; None, and a reject for all of it, where it cannot be read at all."""
    try:
        found = list(rows(read_lines(part)))
    except BadRecord as error:
        tally.lines += 1
        reject(part, batch, tally, CsvRow(1, [], "", ""), str(error))
        return None
    while found and found[-1].is_blank():
        found.pop()
    return found


def reject(part: Part, batch: Batch, tally: Tally, row: CsvRow, reason: str) -> None:
    """Keep a record that could not be read."""
    batch.add(Reject(source_id=part.source_id, run_id=part.run_id, line=row.line, reason=reason, text=row.text))
    tally.rejected += 1


def number(name: str, text: str) -> float:
    """A finite number.

    Raises:
        BadRow: The text is none.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in text:
        raise BadRow(f"{name} is {text!r}, not a finite number")
    return value


def whole(name: str, text: str) -> int:
    """A whole number from 0 on.

    Raises:
        BadRow: The text is none.
    """
    value = number(name, text)
    if not value.is_integer() or not 0 <= value < 2**63:
        raise BadRow(f"{name} is {text!r}, not a whole number")
    return int(value)
