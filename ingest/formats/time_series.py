"""Time-series CSV as Apache Otava (Hunter) reads it: a row a measurement, with its time, its commit and some metrics."""

import contextlib
import csv
import re
from dataclasses import dataclass
from pathlib import PurePath

from ...warehouse.console.numbers import counted
from ...warehouse.events import Instant
from ...warehouse.log import Batch
from ..format import FILE, LOOK, Format, Head, Part, Tally
from ..readers.csv_rows import reason_of
from ..readers.document import BadRecord, instant, lines_of, read_text
from ..readers.json_format import reject_file
from ..readers.results import AS_THE_UNIT_SAYS, Results, number
from ..user_formats.columns import measure_of

TIMES = {"time", "timestamp", "date", "datetime"}
COMMITS = {"commit", "git_commit", "sha", "revision"}
ATTRIBUTES = {*COMMITS, "branch", "version", "tag", "build", "id", "run", "run_id", "host", "machine"}
NO_VALUE = {"", "nan", "null", "none", "n/a", "inf", "-inf", "infinity", "-infinity"}
UNIX = re.compile(r"\d{9,19}(\.\d+)?")

WITHIN_A_TEST = {"User Count", "Total Request Count"}  # of Locust: seconds of one load test, and no history of runs


@dataclass(frozen=True, slots=True)
class _Header:
    """The roles of the columns."""

    names: list[str]
    separator: str
    time: int  # which column

    @classmethod
    def of(cls, line: str) -> "_Header | None":
        """The header a line is; None if it names no time beside other columns, or a name twice."""
        separator = max(",;\t", key=line.count)
        names = [name.strip() for name in line.split(separator)]
        time = next((index for index, name in enumerate(names) if name.lower() in TIMES), None)
        fits = time is not None and len(names) > 1 and all(names) and len(set(names)) == len(names)
        return cls(names, separator, time) if fits and time is not None else None

    def cells(self, line: str) -> list[str]:
        """The cells of a row.

        Raises:
            BadRecord: They are not as many as there are columns.
        """
        if not line.strip():
            raise BadRecord("blank line")
        try:
            cells = next(csv.reader([line], delimiter=self.separator, strict=True), [])
        except csv.Error as error:
            raise BadRecord(reason_of(error)) from None
        if len(cells) != len(self.names):
            raise BadRecord(f"{counted(len(cells), 'column')} under a header of {len(self.names)}")
        return [cell.strip() for cell in cells]

    def moment(self, cells: list[str]) -> Instant:
        """The time at which a row was measured.

        Raises:
            BadRecord: Its time cannot be read.
        """
        text = cells[self.time]
        moment = instant(float(text) if UNIX.fullmatch(text) else text)
        if moment is None:
            raise BadRecord(f"{self.names[self.time]} is {text[:60]!r}, which cannot be read as a time")
        return moment

    def differing(self, rows: list[list[str]]) -> str | None:
        """The reason for which rows are not one series: a time or text that should not differ; None if they are one."""
        commits = [index for index, name in enumerate(self.names) if name.lower() in COMMITS]
        once = set(map(tuple, rows))  # a row that stands there twice is one measurement
        keys = [tuple(row[index] for index in (self.time, *commits)) for row in once]
        if len(set(keys)) < len(keys):
            return "its rows repeat a time"
        for index, name in enumerate(self.names):
            texts = {row[index] for row in rows if row[index].lower() not in NO_VALUE and number(row[index]) is None}
            if index != self.time and name.lower() not in ATTRIBUTES and len(texts) > 1:
                return f"its rows differ in {name!r}"
        return None

    def attributes(self, lines: list[str]) -> set[int]:
        """The columns that say what was measured: those known by name, and those of text."""
        found = {index for index, name in enumerate(self.names) if name.lower() in ATTRIBUTES}
        numeric: set[int] = set()
        textual: set[int] = set()
        for line in lines:
            with contextlib.suppress(BadRecord):
                for index, cell in enumerate(self.cells(line)):
                    if cell.lower() not in NO_VALUE:
                        (textual if number(cell) is None else numeric).add(index)
        return found | (textual - numeric - {self.time})


class TimeSeries(Format):
    """Series over time."""

    name = "time-series"
    doc = "CSV of time, commit …, metrics, as Otava reads it"
    becomes = "row → run; texts other than commit and branch → its tags; column of numbers → metric"
    unpacks = True
    runs = FILE
    histories = True

    def recognise(self, head: Head) -> bool:
        """True if there is a time beside other columns, the first row has a moment and a number, and rows are one series."""
        header, rows = _begun(head)
        if header is None or not rows:
            return False
        try:
            header.moment(rows[0])
        except BadRecord:
            return False
        numbers = any(number(cell) is not None for index, cell in enumerate(rows[0]) if index != header.time)
        return numbers and header.differing(rows) is None

    def near_miss(self, head: Head) -> str | None:
        """The column that says that rows are not one series over time."""
        header, rows = _begun(head)
        if header is None or not rows or (differing := header.differing(rows)) is None:
            return None
        return f"has a column {header.names[header.time]!r} but is not a series over time: {differing}"

    def identity(self, name: str) -> str:
        """The name of the file, which is the name of the case."""
        return PurePath(name).stem

    def read(self, part: Part, batch: Batch) -> Tally:
        """One run a row."""
        results = Results(part, batch)
        try:
            lines = lines_of(read_text(part).rstrip())
            rows = [(at, line) for at, line in enumerate(lines, 1) if not line.startswith("#")]
            header = _Header.of(rows[0][1]) if rows else None
            if header is None:
                raise BadRecord("has no header with a time and other columns")
        except BadRecord as error:
            reject_file(results, error)
            return results.close()
        comments = [line for line in lines if line.startswith("#")]
        if comments:
            results.note(
                f"{counted(len(comments), 'line', 'is a comment', 'are comments')}: {' '.join(comments)[:500]}"
            )
        attributes = header.attributes([line for _, line in rows[1:]])
        for at, line in rows[1:]:
            _row(results, header, attributes, at, line)
        return results.close()


def _row(results: Results, header: _Header, attributes: set[int], at: int, line: str) -> None:
    name = results.file_name()
    try:
        cells = header.cells(line)
        moment = header.moment(cells)
    except BadRecord as error:
        results.reject(error, line, at)
        return
    facts = {header.names[index]: cells[index] for index in sorted(attributes) if cells[index]}
    commit = next((facts.pop(key) for key in list(facts) if key.lower() in COMMITS), None)
    results.run(
        content="\n".join((name, *header.names, *cells)), started_at=moment, git_commit=commit,
        git_branch=facts.pop("branch", None), tags=facts,
    )  # fmt: skip

    def read() -> None:
        case = results.case(name)
        for index, cell in enumerate(cells):
            if index != header.time and index not in attributes and cell:
                about = measure_of(header.names[index]) or {}
                case.metric(header.names[index], cell, about.get("unit"), better=about.get("better", AS_THE_UNIT_SAYS))

    results.record(read, line, at)


def _begun(head: Head) -> tuple[_Header | None, list[list[str]]]:
    """The header and the first rows that are whole."""
    lines = [line for line in lines_of(head.text) if not line.startswith("#")]
    header = _Header.of(lines[0]) if len(lines) > 1 else None
    if header is None or set(header.names) >= WITHIN_A_TEST:
        return None, []
    rows = []
    for line in lines[1:] if len(head.data) <= LOOK else lines[1:-1]:
        with contextlib.suppress(BadRecord):
            rows.append(header.cells(line))
    return header, rows
