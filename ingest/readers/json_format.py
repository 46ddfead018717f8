"""Formats whose files are one JSON document."""

import functools
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from ...warehouse.events import as_json
from ...warehouse.log import Batch
from ..format import MAX_TEXT, Format, Head, Part, Tally
from .document import BadRecord, Object, decode, read_text, repeated_key, show
from .results import Results


@dataclass(frozen=True, slots=True)
class Broken:
    """Stands for records that cannot be located in the document: one reject."""

    value: Any
    error: BadRecord


class JsonFormat(Format):
    """Results in one JSON document."""

    unpacks = True
    holds: ClassVar[type | tuple[type, ...]] = Object  # what the document is

    def recognise(self, head: Head) -> bool:
        """Whether the beginning of the document has the keys of one of the shapes."""
        return any(shape <= head.paths for shape in self.shapes)

    def read(self, part: Part, batch: Batch) -> Tally:
        """Describe the run, then read record by record; a document that cannot be read is one record."""
        results = Results(part, batch)
        try:
            document = self.document(part)
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

    def document(self, part: Part) -> Any:
        """The document of a file."""
        return self.parse(read_text(part))

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


def read_record(results: Results, record: Any, load: Callable[[Object, Results], None], *, careful: bool) -> None:
    """Read one record of JSON; with care, if some object of the document repeats a key."""
    if isinstance(record, Broken):
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
