"""Tables of any kind, read row by row: CSV with any separator, JSON, JSON lines, packed or not; Parquet, SQLite, xlsx."""

import functools
import itertools
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...warehouse.errors import UnknownName
from ...warehouse.events import as_json
from ...warehouse.upkeep.row_groups import PARQUET
from ..format import Part, as_text, encoding
from . import csv_rows
from .document import BadRecord, Object, decode, read_text, repeated_key, show
from .files import read_head
from .records import Record, record_of_csv, until_damage
from .sqlite_file import SQLITE, rows_of_table, sqlite_errors, tables_of
from .text_pieces import numbered_lines
from .text_rows import RowBlock, csv_blocks, json_blocks, record_blocks
from .xlsx_file import SheetRow, is_workbook, open_workbook

if TYPE_CHECKING:
    import pyarrow as pa

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
BATCH = 4096  # rows of Parquet read at a time
SHOWN = 20  # tables or sheets that a message names
PEEK = 1000  # rows of JSON whose fields are the columns, unless one is looked for that they have not


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file as a table."""

    kind: str  # csv, json, json lines, parquet, sqlite or xlsx
    columns: list[str]
    complete: bool  # whether every column there is is among them; rows of JSON have fields of their own
    rows: Callable[[], Iterator[Record]]
    note: str | None = None  # what the user must know of it
    blocks: Callable[[], Iterator[RowBlock]] | None = None  # the same rows as columns of text, for SQL


def open_table(part: Part, records: str | None, *, key: str | None = None, value: str | None = None) -> TableFile:
    """A file as a table, judged by how it begins.

    Args:
        part: What is to be read of it.
        records: Where the rows are: a path in a JSON document, a table of SQLite, a sheet of a workbook.
        key: The column for the key of each row, where the rows are those of a JSON object.
        value: The column for what such an object holds under a key, where that is no object itself.

    Raises:
        BadRecord: It is none.
    """
    head = read_head(part.path).data
    if head.startswith(PARQUET):
        return _parquet(part)
    if head.startswith(SQLITE):
        return _sqlite(part, records)
    if is_workbook(part.path):
        return _sheet(part, records)
    if head.startswith(OLE):
        raise BadRecord("is an old (.xls) or an encrypted workbook: save it as .xlsx without a password, or as CSV")
    first = head.decode(encoding(head), "replace").removeprefix("\ufeff").lstrip().partition("\n")[0].rstrip()
    if not first.startswith(("{", "[")):
        return _csv(part)
    if records is None and key is None and _begins_lines(part, first):
        rows = functools.partial(_json_lines, part)
        return TableFile("json lines", _fields(rows()), False, rows, blocks=functools.partial(_line_blocks, part))
    return _json(part, records) if key is None else _object(part, records, key, value)


def lists_within(part: Part) -> list[str]:
    """The paths to the lists of objects in a file that is one JSON object; none for any other file."""
    try:
        lines = (line.strip() for _, line in numbered_lines(part) if line.strip())
        first, second = next(lines, b"").decode("utf-8-sig", "replace"), next(lines, None)
        if not first.startswith("{") or (second is not None and _begins_lines(part, first)):
            return []
        return [*_lists(decode(read_text(part)))]
    except BadRecord:
        return []


def lookup(cells: dict[str, Any], path: str) -> Any:
    """A cell by its column, or by a dotted path through objects; None if there is none."""
    if path in cells:
        return cells[path]
    value: Any = cells
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def spare(cells: dict[str, Any], used: Iterable[str], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The cells that are not used, by dotted path for nested objects."""
    for key, value in cells.items():
        path = f"{prefix}{key}"
        if path not in used:
            if isinstance(value, dict) and value:
                yield from spare(value, used, f"{path}.")
            else:
                yield path, value


def _csv(part: Part) -> TableFile:
    """The first row that is neither blank nor a comment names the columns."""
    header, separator = csv_rows.read_header(numbered_lines(part))
    if header is None or header.problem:
        raise BadRecord(f"has no header: {header.problem}" if header else "has no header")
    _check_header(header.cells)
    names, first = header.cells, header.line

    def rows() -> Iterator[Record]:
        lines = (line for line in numbered_lines(part, blank_end=False) if line[0] > first)
        return until_damage((record_of_csv(row, names) for row in csv_rows.rows(lines, separator)), first)

    def blocks() -> Iterator[RowBlock]:
        return csv_blocks(part, names, separator, first)

    return TableFile("csv", [name for name in names if name], True, rows, blocks=blocks)


def _check_header(names: Iterable[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1 and name]
    if twice:
        raise BadRecord(f"has the column {twice[0]!r} twice: give one of the two another name in the header")


def _begins_lines(part: Part, first: str) -> bool:
    """Return whether the first line is a whole object, or a whole list that is followed by another line."""
    try:
        value = decode(first)
    except BadRecord:
        return False
    others = itertools.islice(numbered_lines(part), 1, None) if isinstance(value, list) else ()
    return isinstance(value, Object) or any(line.strip() for _, line in others)


def _line_blocks(part: Part) -> Iterator[RowBlock]:
    return json_blocks(part, _of_lines)


def _json_lines(part: Part) -> Iterator[Record]:
    return until_damage(_of_lines(numbered_lines(part, blank_end=False)))


def _of_lines(lines: Iterable[tuple[int, bytes]]) -> Iterator[Record]:
    for number, line in lines:
        text = functools.partial(as_text, line)
        try:
            value = decode(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except UnicodeDecodeError:
            yield Record(number, {}, text, "not UTF-8")
        except BadRecord as error:
            yield Record(number, {}, text, "blank line" if not line.strip() else str(error))
        else:
            for each in value if isinstance(value, list) else [value]:
                yield _of_json(number, each, text if each is value else functools.partial(as_json, each))


def _of_json(number: int, value: Any, text: Callable[[], str]) -> Record:
    if not isinstance(value, Object):
        return Record(number, {}, text, f"not an object, but {show(value)}")
    key = repeated_key(value)
    problem = None if key is None else f"repeats the key {key!r}"
    return Record(number, {name: inner for name, inner in value.items() if inner is not None}, text, problem)


def _json(part: Part, records: str | None) -> TableFile:
    """A document: a list of objects, or one that holds such a list somewhere."""
    document = decode(read_text(part))
    there = list(_lists(document))
    if isinstance(document, Object) and records is None and not there:
        document = [document]
    found = document if records is None else lookup(document, records) if isinstance(document, dict) else None
    if not isinstance(found, list):
        cure = f"Say where with records=PATH: {', '.join(there)}" if there else "It holds no list of objects."
        raise BadRecord(f"is an object whose rows are in a list within, but not {records or 'itself one'}. {cure}")

    def rows() -> Iterator[Record]:
        return (_of_json(number, value, functools.partial(as_json, value)) for number, value in enumerate(found, 1))

    return TableFile("json", _fields(rows()), False, rows, blocks=lambda: record_blocks(rows()))


def _object(part: Part, records: str | None, key: str, column: str | None) -> TableFile:
    """An object in a JSON document whose values are the rows."""
    document = decode(read_text(part))
    found = document if records is None else lookup(document, records) if isinstance(document, dict) else None
    if not isinstance(found, Object):
        raise BadRecord(
            f"holds no object {records or 'as a whole'} whose keys could name rows. Say where with records=PATH"
        )
    if (twice := found.repeated) is not None:
        raise BadRecord(f"repeats the key {twice!r}")

    def rows() -> Iterator[Record]:
        for number, (name, value) in enumerate(found.items(), 1):
            cells = Object([(column, value)]) if column and not isinstance(value, Object) else value
            record = _of_json(number, cells, functools.partial(as_json, {name: value}))
            yield record if record.problem else replace(record, cells={key: name, **record.cells})

    return TableFile("json", _fields(rows()), False, rows, blocks=lambda: record_blocks(rows()))


def _lists(value: Any, prefix: str = "") -> Iterator[str]:
    for key, inner in value.items() if isinstance(value, dict) else ():
        if isinstance(inner, list) and inner and isinstance(inner[0], dict):
            yield f"{prefix}{key}"
        yield from _lists(inner, f"{prefix}{key}.")


def _fields(rows: Iterable[Record]) -> list[str]:
    """The columns of the first rows, by dotted path for nested objects."""
    found: dict[str, None] = {}
    for record, _ in zip(rows, range(PEEK), strict=False):
        found |= dict.fromkeys(path for path, _ in spare(record.cells, ()))
    return list(found)


def _parquet(part: Part) -> TableFile:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        names = pq.read_schema(part.path).names
    except (pa.ArrowException, OSError) as error:
        raise BadRecord(f"cannot be read as Parquet: {error}") from None

    def rows() -> Iterator[Record]:
        number = 0
        try:
            with pq.ParquetFile(part.path) as file:
                for batch in file.iter_batches(batch_size=BATCH):
                    for cells in _microseconds(batch).to_pylist():
                        number += 1
                        kept = {key: _as_json_value(value) for key, value in cells.items() if value is not None}
                        yield Record(number, kept, functools.partial(as_json, kept))
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            text = f"after row {number}"
            yield Record(number + 1, {}, lambda: text, f"the rest cannot be read as Parquet: {error}")

    return TableFile("parquet", names, True, rows, blocks=lambda: record_blocks(rows()))


def _sqlite(part: Part, records: str | None) -> TableFile:
    """One table of a database."""
    with part.path.open("rb") as file:
        if file.read(len(SQLITE)) != SQLITE:
            raise BadRecord("is a packed SQLite file, which is read unpacked only: unpack it first")
    tables = _tables(part.path)
    name = _chosen("table", records, tables)

    def rows() -> Iterator[Record]:
        number = 0
        try:
            for row in rows_of_table(part.path, name, tables[name]):
                number += 1
                cells = {column: cell for column, cell in zip(tables[name], row, strict=True) if cell not in (None, "")}
                yield Record(number, cells, functools.partial(as_json, cells))
        except sqlite_errors() as error:
            text = f"after row {number}"
            yield Record(number + 1, {}, lambda: text, f"the rest of the table cannot be read: {error}")

    log = part.path.with_name(f"{part.path.name}-wal")
    note = None
    if log.is_file() and log.stat().st_size:
        cure = f"sqlite3 {shlex.quote(str(part.path))} 'PRAGMA wal_checkpoint(TRUNCATE)'"
        note = f"has a write-ahead log beside it, which is not read. Move its rows into the database with: {cure}"
    return TableFile("sqlite", tables[name], True, rows, note, blocks=lambda: record_blocks(rows()))


def _sheet(part: Part, records: str | None) -> TableFile:
    """One sheet of a workbook, whose first row that holds something names the columns; empty rows are none."""
    book = open_workbook(part.path)
    name = _chosen("sheet", records, book.sheets)
    header = next(book.rows(name), None)
    if header is None or header.problem:
        raise BadRecord(f"has no header in the sheet {name!r}{f': {header.problem}' if header else ''}")
    first, names = header.number, {column: str(cell).strip() for column, cell in header.cells.items()}
    _check_header(names.values())

    def rows() -> Iterator[Record]:
        number = first
        try:
            for row in book.rows(name):
                number = row.number
                if number > first:
                    yield _of_sheet(row, names)
        except BadRecord as error:
            text = f"after row {number}"
            yield Record(number + 1, {}, lambda: text, f"the rest of the sheet: {error}")

    return TableFile("xlsx", list(names.values()), True, rows, blocks=lambda: record_blocks(rows()))


def _of_sheet(row: SheetRow, names: dict[int, str]) -> Record:
    more = min(row.cells.keys() - names.keys(), default=None)
    problem = row.problem if more is None else f"a cell in column {more + 1}, which the header does not name"
    cells = {} if problem else {names[column]: cell for column, cell in row.cells.items()}
    return Record(row.number, cells, functools.partial(as_json, list(row.cells.values())), problem)


def describe_tables(path: Path) -> str | None:
    """A description of a database or workbook, to follow its name; None if it is neither.

    Raises:
        BadRecord: It cannot be read.
    """
    if is_workbook(path):
        return f"is a workbook with the sheets: {_listed(open_workbook(path).sheets)}"
    with path.open("rb") as file:
        if file.read(len(SQLITE)) != SQLITE:
            return None
    return f"is an SQLite file with the tables: {_listed(_tables(path))}"


def _tables(path: Path) -> dict[str, list[str]]:
    try:
        return tables_of(path)
    except sqlite_errors() as error:
        raise BadRecord(f"cannot be read as SQLite: {error}") from None


def _listed(names: Iterable[str]) -> str:
    names = sorted(names)
    return ", ".join(map(repr, names[:SHOWN])) + (f" and {len(names) - SHOWN} more" if names[SHOWN:] else "")


def _chosen(what: str, wanted: str | None, there: Iterable[str]) -> str:
    """The table or sheet that is meant.

    Raises:
        BadRecord: There is none of that name, or nobody said which of several.
    """
    names = sorted(there)
    if wanted in names or (wanted is None and len(names) == 1):
        return names[0] if wanted is None else wanted
    if not names:
        raise BadRecord(f"holds no {what}")
    if wanted is None:
        cure = shlex.quote("records=" + names[0].replace(",", "\\,"))
        raise BadRecord(f"holds {len(names)} {what}s: {_listed(names)}. Say which with --map {cure}")
    raise BadRecord(f"has {UnknownName(what, wanted, names, cure=f'The {what}s are: {_listed(names)}.')}")


def _microseconds(batch: "pa.RecordBatch") -> "pa.RecordBatch":
    """Convert timestamps in ns, which Python lacks, to µs."""
    import pyarrow as pa

    columns = [
        column.cast(pa.timestamp("us", column.type.tz), safe=False)
        if pa.types.is_timestamp(column.type) and column.type.unit == "ns"
        else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _as_json_value(value: Any) -> Any:
    """A value as JSON would have it."""
    if isinstance(value, dict):
        return {str(key): _as_json_value(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_as_json_value(inner) for inner in value]
    if isinstance(value, Decimal):
        return float(value) if value != value.to_integral_value() else int(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return value if isinstance(value, str | bool | int | float | None) else str(value)


def check_columns(table: TableFile, wanted: dict[str, str]) -> str | None:
    """The first wanted column that is missing although every column is known; None if there is none."""
    missing = {column for column in wanted if not _has(table.columns, column)}
    if not table.complete:  # rows have fields of their own: a failure's may be in none of these, others far down
        missing = {column for column in missing if wanted[column] not in ("status", "reason")}
        rows = table.rows() if missing else iter(())
        while missing and (record := next(rows, None)) is not None:
            missing = {column for column in missing if lookup(record.cells, column) is None}
    return min(missing, default=None)


def _has(columns: list[str], column: str) -> bool:
    return column in columns or any(name.startswith(f"{column}.") for name in columns)
