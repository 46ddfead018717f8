"""Formats whose files are one JSON document, or a CSV table whose header names the fields of its rows."""

import functools
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...warehouse.console.numbers import counted
from ...warehouse.events import as_json
from ...warehouse.log import Batch
from ..format import LOOK, MAX_TEXT, NAMED_KEYS, Format, Head, Part, Tally
from .csv_rows import CsvRow, find_header, rows
from .document import BadRecord, Object, decode, instant, lines_of, read_text, repeated_key, show
from .leading_text import document_in, unlogged
from .results import Chosen, Results

LINES_BEFORE_HEADER = 100  # lines among which the header of a table is looked for, after what else was printed


@dataclass(frozen=True, slots=True)
class UnlocatedRecords:
    """Stands for records that cannot be located in the document: one reject."""

    value: Any
    error: BadRecord


class JsonFormat(Format):
    """Results in one JSON document."""

    unpacks = True
    headers: ClassVar[tuple[frozenset[str], ...]] = ()  # columns: a CSV file has all of one of these
    ragged: ClassVar[bool] = False  # whether a row of a table may end before its header does
    holds: ClassVar[type | tuple[type, ...]] = Object  # what the document is; a table is a list

    def recognise(self, head: Head) -> bool:
        """True if the beginning of the document has the keys of one of the shapes, or the columns of one of the headers."""
        if any(shape <= head.paths for shape in self.shapes):
            return True
        return self._header(head) is not None

    def _header(self, head: Head) -> CsvRow | None:
        """The header of a table among the first lines; it is looked for only where all columns stand somewhere."""
        if not any(all(column in head.text for column in columns) for columns in self.headers):
            return None
        return find_header(enumerate(lines_of(head.text)[:LINES_BEFORE_HEADER], 1), self.headers)

    def evidence(self, head: Head) -> str:
        """The keys or the columns."""
        header = self._header(head)
        if header is None or any(shape <= head.paths for shape in self.shapes):
            return super().evidence(head)
        names = sorted(next(columns for columns in self.headers if columns <= set(header.cells)))
        return f"has the columns {', '.join(names[:NAMED_KEYS])}" + (
            f" and {len(names) - NAMED_KEYS} more" if names[NAMED_KEYS:] else ""
        )

    def read(self, part: Part, batch: Batch) -> Tally:
        """Describe the run, then read record by record; a document that cannot be read is one record."""
        results = Results(part, batch)
        try:
            document = self.document(part, results)
            if not isinstance(document, self.holds):
                raise BadRecord(f"not what {self.name} writes, but {show(document)}")
            records = self.open(document, results)
        except BadRecord as error:
            reject_file(results, error)
            return results.close()
        repeated = repeated_key(document)
        for record in records:
            read_record(results, record, self.load, careful=repeated is not None)
        if repeated is not None and not results.tally.rejected:
            results.note(f"an object repeats the key {repeated!r}, whose last value counts")
        if not results.tally.lines:
            results.note("holds no record")
        return results.close()

    def document(self, part: Part, results: Results) -> Any:
        """The document of a file, without what was printed before it; of a table the list of its rows."""
        text, before = read_text(part), 0
        if self.printed:
            text, written = unlogged(text)
            results.written = instant(written)
        if not (self.headers and find_header(enumerate(lines_of(text[:LOOK])[:LINES_BEFORE_HEADER], 1), self.headers)):
            text, before = document_in(text)
        if before:
            results.note(
                f"{counted(before, 'line')} before the document {'is' if before == 1 else 'are'} no part of it"
            )
        if self.headers and text.strip() and not text.lstrip().startswith(("{", "[")):
            return self.table(text)
        return self.parse(text)

    def table(self, text: str) -> list[Any]:
        """The rows of a table."""
        return list(_table(text, self.headers, ragged=self.ragged))

    def parse(self, text: str) -> Any:
        """The document in a text."""
        return decode(text)

    @abstractmethod
    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """Describe the run (`results.run`), and give the records one by one: those after another `run` are of that one.

        Raises:
            BadRecord: The document is broken as a whole.
        """

    @abstractmethod
    def load(self, record: Object, results: Results) -> None:
        """Add what a record says.

        Raises:
            BadRecord: It cannot be read.
        """


class ListFormat(JsonFormat):
    """A list or a table of records, and nothing of when and where they were measured."""

    holds = list

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """Give the records."""
        records: list[Any] = document
        return records


def _table(text: str, headers: Collection[frozenset[str]], *, ragged: bool) -> Iterator[Any]:
    """The rows of a CSV as objects without the cells that are empty; what precedes the header is no row.

    Another header begins another table, as where files were put together.

    Raises:
        BadRecord: It has no such header.
    """
    lines = lines_of(text)
    header = find_header(enumerate(lines[:LINES_BEFORE_HEADER], 1), headers)
    if header is None:
        raise BadRecord(f"has no header with {', '.join(sorted(next(iter(headers))))}")
    for row in rows(
        (at, line.encode("utf-8", "backslashreplace")) for at, line in enumerate(lines[header.line :], header.line + 1)
    ):
        following = find_header([(row.line, row.text)], headers)
        header = following or header
        if row.is_blank() or following:
            continue
        if row.problem or not (
            len(row.cells) == len(header.cells) or (ragged and 1 < len(row.cells) < len(header.cells))
        ):
            problem = row.problem or f"{counted(len(row.cells), 'column')} under a header of {len(header.cells)}"
            yield UnlocatedRecords(row.text, BadRecord(problem))
        else:
            yield Object([(name, cell) for name, cell in zip(header.cells, row.cells, strict=False) if cell])


def records_of(text: str) -> list[Any]:
    """The records of a text: one document, a list of them, or one of either a line, of which some may be broken.

    Raises:
        BadRecord: It is one document that cannot be read.
    """
    try:
        return _listed(decode(text))
    except BadRecord:
        lines = [line for line in lines_of(text) if line.strip()]
        if len(lines) < 2:
            raise
    return [record for line in lines for record in _records_on(line)]


def _records_on(line: str) -> list[Any]:
    try:
        return _listed(decode(line))
    except BadRecord as error:
        return [UnlocatedRecords(line, error)]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def by_run(
    records: Sequence[Any], run_of: Callable[[Any], str], describe: Callable[[list[Any], Object, Results], Chosen],
    results: Results, *, says: Collection[str] = (),
) -> Iterator[Any]:  # fmt: skip
    """The records, each in the run that `run_of` names.

    A run is described by all its records and the first object among them; if `says` has fields, by one that has any of them:
    records before it are of the folder's run, as are those of runs that none describes.
    """
    groups: dict[str, list[Any]] = {}
    for record in records:
        groups.setdefault(run_of(record), []).append(record)
    chosen: dict[str, Chosen] = {}
    for record in records:
        run = run_of(record)
        if run in chosen:
            results.resume(chosen[run])
        elif isinstance(record, Object) and (not says or any(field in record for field in says)):
            try:
                chosen[run] = describe(groups[run], record, results)
            except BadRecord as error:
                yield UnlocatedRecords(record, error)
                continue
        elif isinstance(record, Object):
            results.resume((results.part.run_id, False))
        yield record


def read_record(results: Results, record: Any, load: Callable[[Object, Results], None], *, careful: bool) -> None:
    """Read one record of JSON; with care, if some object of the document repeats a key."""
    if isinstance(record, UnlocatedRecords):
        results.reject(record.error, as_json(record.value))
        return

    def read() -> None:
        if not isinstance(record, Object):
            raise BadRecord("not an object")
        if careful and (key := repeated_key(record)) is not None:
            raise BadRecord(f"repeats the key {key!r}")
        load(record, results)

    results.record(read, functools.partial(as_json, record))


def reject_file(results: Results, error: BadRecord) -> None:
    """Account for a file that cannot be read at all: as one record, of which the beginning is kept."""
    with results.part.path.open("rb") as file:
        results.reject(error, file.read(MAX_TEXT).decode("utf-8", "backslashreplace"))
