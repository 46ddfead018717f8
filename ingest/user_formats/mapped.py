"""Tables of any kind by a mapping: one row is one record, which says a case, its values and how it ended."""

import contextlib
import functools
import itertools
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...warehouse.errors import UnknownName
from ...warehouse.events import Instant, as_json
from ...warehouse.log import Batch
from ..format import Format, Head, Part, Tally
from ..readers.document import BadRecord, decode, show
from ..readers.json_format import reject_file
from ..readers.records import Record
from ..readers.results import AS_THE_UNIT_SAYS, Results, Subject, number
from ..readers.tables import TableFile, check_columns, lists_within, lookup, open_table, spare
from ..readers.units import unit_of
from .columns import NO_VALUE, OtherColumns, field_of_a_run, sort_columns
from .mapping import KEY, METRICS, OF_KEY, REPEATED, SUFFIXES, Mapping, Term, Value, measured_value, with_columns
from .row_runs import PAUSE_S, RunsOfRows, cell_of, text_of
from .row_sql import COUNTS

CASE_AXES = ("suite", "mode", "device", "dtype", "backend")
ENDINGS = {
    "ok": "ok pass passed success successful succeeded complete completed done true",
    "fail_to_run": "fail_to_run fail failed failure error errored crash crashed false",
    "OOM": "oom out_of_memory",
    "timeout": "timeout timed_out time_out",
    "skipped": "skip skipped",
    "interrupted": "interrupted",
}
STATUS_WORDS = {word: status for status, words in ENDINGS.items() for word in words.split()}
# a number and the unit behind it
WITH_UNIT = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(%|[A-Za-zµμ]+)")
SEPARATED = re.compile(r"[+-]?[0-9.,' ]*[0-9]([,' ])[0-9]+(\.[0-9]+)?")
SEPARATORS = {",": "a comma", "'": "an apostrophe", " ": "a blank"}
WITH_COMMA = ": use a decimal point, and no separator of thousands"
MOST = 2.0**53  # beyond it doubles, which other tools count in, leave numbers out
LOOKED_AT = 1000  # rows that tell what a column holds
ORDERED = ("csv", "log")  # tables whose rows have their cells in the order of the columns
SHOWN = 12  # columns named in a note
COMPILED_BYTES = 1 << 20  # below this a table is read row by row as fast


class MappedFormat(Format):
    """Tables whose columns the user names."""

    doc = "any CSV, JSON, JSON lines, Parquet, SQLite or xlsx, whose columns --map names"
    unpacks = True

    def __init__(self, mapping: Mapping) -> None:
        """A format of its own for each mapping: what was read by another is not known to this one."""
        self.mapping = mapping
        self.name = f"map-{mapping.digest}"
        self.histories = mapping.parts_runs or mapping.may_part_runs

    def recognise(self, head: Head) -> bool:
        """Never: the user chooses this format."""
        return False

    def result_set(self, name: str) -> str:
        """The day in a file's name, unless its rows say when they were measured."""
        return "" if self.mapping.parts_runs else super().result_set(name)

    def unfit(self, path: Path) -> str | None:
        """The reason for which the mapping is not of this file: it is not a table, or lacks a column."""
        try:
            table = self._open(Part.alone(path))
        except BadRecord as error:
            return str(error)
        missing = check_columns(table, self.mapping.columns)
        if missing is None:
            return None
        what = self.mapping.columns[missing]
        cure = f"The columns are: {', '.join(map(repr, table.columns))}."
        if self.mapping.records is None and (within := lists_within(Part.alone(path))):
            cure = f"Rows in a list within are read with {' or '.join(f'records={each}' for each in within)}."
        if what not in REPEATED:
            cure += f" A text for all rows is written {what}:={missing}"
        return "has " + str(UnknownName("column", missing, table.columns, cure=cure))

    def _open(self, part: Part) -> TableFile:
        columns = self.mapping.columns
        key, value = (name if name in columns else None for name in (KEY, OF_KEY))
        return open_table(part, self.mapping.records, key=key, value=value)

    def read(self, part: Part, batch: Batch) -> Tally:
        """One record a row."""
        results = Results(part, batch)
        try:
            table = self._open(part)
        except BadRecord as error:
            reject_file(results, error)
            return results.close()
        results.note(f"read with --map {shlex.quote(str(self.mapping))}")
        read_table(table, self.mapping, results, by_time=self.mapping.may_part_runs)
        return results.close()


def read_table(table: TableFile, mapping: Mapping, results: Results, *, by_time: bool = False) -> None:
    """Add the rows of a table by a mapping, and notes about the table.

    A long table is read by SQL, a block at a time; a short one row by row. With `by_time` rows more than PAUSE_S apart belong to
    different runs.
    """
    if table.note is not None:
        results.note(table.note)
    results.no_failures = "status" not in mapping.fields
    reader = RowReader(with_columns(mapping, table.columns), results, is_ordered=table.kind in ORDERED)
    if reader.mapping.rest != "out":
        reader.sort_out(record.cells for record in itertools.islice(table.rows(), LOOKED_AT) if record.problem is None)
    is_long = results.part.size_bytes >= COMPILED_BYTES
    if is_long and table.blocks is not None and not reader.mapping.melts:
        from .compiled import CompiledMapping

        CompiledMapping(reader, table.blocks, _objects(table.columns)).read(by_time=by_time)
    else:
        if is_long:
            results.note("its rows are read one by one, not by SQL, because of melt")
        _read_rows(table, reader, by_time=by_time)
    reader.notes()


def _objects(columns: Iterable[str]) -> set[str]:
    """The paths of the objects that hold others, by the dotted paths of columns."""
    return {column[:at] for column in columns for at, character in enumerate(column) if character == "."}


def _read_rows(table: TableFile, reader: "RowReader", *, by_time: bool) -> None:
    """Add the rows of a table one by one; they are gone through up to three times."""
    results = reader.results
    groups = reader.runs.find(table, by_time=by_time)
    if groups is None and (began := reader.runs.began(table)) is not None:
        results.run(started_at=began)
    for record in table.rows():
        if groups is not None:
            try:
                groups[reader.runs.of(record)].choose(results)
            except BadRecord as error:  # whatever is known of the run before it, this row is not
                results.reject(error, record.text(), record.line)
                continue
        results.record(functools.partial(reader.load, record), record.text, record.line)


class FirstPlaces(dict[str, tuple[int, int]]):
    """Texts, and where each stood first: the line, and the place in it."""

    def note(self, text: str, place: tuple[int, int]) -> None:
        """Remember where a text stands."""
        self[text] = min(place, self.get(text, place))

    def in_order(self) -> list[str]:
        """The texts in the order of their places."""
        return sorted(self, key=lambda text: (self[text], text))


@dataclass
class RowReader:
    """Rows into events."""

    mapping: Mapping
    results: Results
    used: set[str] = field(default_factory=set)
    others: FirstPlaces = field(default_factory=FirstPlaces)  # columns that the mapping does not name
    # those of them that would part every row from all others
    no_axes: OtherColumns = field(default_factory=OtherColumns)
    odd: FirstPlaces = field(default_factory=FirstPlaces)  # statuses nobody knows
    has_status: bool = False  # any row
    is_ordered: bool = True  # whether all rows have the same columns, in the same order
    counts: Counter[tuple[str | None, ...]] = field(
        default_factory=Counter
    )  # samples so far, by run, case, metric and phase

    runs: RunsOfRows = field(init=False)
    number: Callable[[tuple[str | None, ...], int], int] = field(init=False)  # of the first of so many new samples

    def __post_init__(self) -> None:
        self.number = self._number
        self.used = set(self.mapping.columns)
        self.runs = RunsOfRows(self.mapping)

    def _number(self, place: tuple[str | None, ...], count: int) -> int:
        first = self.counts[place]
        self.counts[place] += count
        return first

    def sort_out(self, rows: Iterable[dict[str, Any]]) -> None:
        """Tell by some rows which columns that the mapping does not name are no axes of a case."""
        self.no_axes = sort_columns(rows, self.used)
        self.used |= {*self.no_axes.measured, *self.no_axes.times, *self.no_axes.labels}

    def load(self, record: Record) -> None:
        """One row.

        Raises:
            BadRecord: It cannot be read.
        """
        moment = self.runs.moment(record)
        cells, fields = record.cells, self.mapping.fields
        axes: dict[str, Any] = {}
        for name, term in fields.items():
            if name in COUNTS:
                axes[name] = _whole(term, cell_of(term, cells))
            elif name in CASE_AXES:
                axes[name] = text_of(cell_of(term, cells))
        what = text_of(cell_of(fields["name"], cells))
        if what is None:
            raise BadRecord(f"no {fields['name'].text}")
        parameters = self._parameters(cells, record.line)
        status = self._status(cells, record.line)
        failed = status not in (None, "ok")
        said: list[Subject] = []  # cases of the row
        for value in self.mapping.values:
            if value.melt is None:
                case = self.results.case(what, parameters=parameters, **axes)
            elif lookup(cells, value.column) is not None:
                case = self._melted(value, what, parameters, axes)
            else:
                continue
            said.append(case)
            self._value(value, cells, case, moment, failed=failed)
        if not said:
            said.append(self.results.case(what, parameters=parameters, **axes))
        for column in self.no_axes.measured:
            with contextlib.suppress(BadRecord):  # nobody asked for it
                self._value(measured_value(column), cells, said[-1], moment, failed=failed)
        said[-1].fields({column: lookup(cells, column) for column in self.no_axes.labels})
        if status is not None:
            for case in {case.case_id: case for case in said}.values():
                case.outcome(status, text_of(cell_of(fields.get("reason"), cells)))

    def _melted(self, value: Value, what: str, parameters: dict[str, Any], axes: dict[str, Any]) -> Subject:
        """The case of a column whose name is the value of an axis."""
        axis, text = value.melt or "", value.column
        if axis in COUNTS:
            return self.results.case(
                what, parameters=parameters, **{**axes, axis: _whole(Term(axis, fixed=True), text)}
            )
        if axis in CASE_AXES:
            return self.results.case(what, parameters=parameters, **{**axes, axis: text})
        return self.results.case(what, parameters={**parameters, axis: _typed(text)}, **axes)

    def notes(self) -> None:
        """Add notes about all rows."""
        if self.others:
            became = (
                "are left out"
                if self.mapping.rest == "out"
                else "became parameters; ignore=COLUMN leaves one out, rest=out all"
            )
            self.results.note(f"columns that the mapping does not name {became}: {_listed(self.others.in_order())}")
        of_runs = {name: field for name in self.no_axes.labels if (field := field_of_a_run(name))}
        if of_runs:
            said = ",".join(f"{field}={name}" for name, field in of_runs.items())
            self.results.note(
                f"columns that tell runs apart are kept as fields: {_listed([*of_runs])}; say what they are with --map {said}"
            )
        for names, became in (
            (self.no_axes.measured, "of measured numbers became metrics"),
            (
                [name for name in self.no_axes.labels if name not in of_runs],
                "that count or name rows are kept as fields",
            ),
        ):
            if names:
                cure = f"if one is an axis, say --map parameters={names[0]}, and --map ignore={names[0]} leaves it out"
                self.results.note(f"columns {became}: {_listed(names)}; {cure}")
        if times := self.no_axes.times:
            self.results.note(
                f"columns of times are left out: {_listed(times)}; say what it is with --map time={times[0]}"
            )
        if len(self.runs.starts) > 1:
            self.results.note(
                f"{len(self.runs.starts):,} runs: rows more than {PAUSE_S // 60} minutes apart belong to different ones; "
                "--map run:=NAME makes them one"
            )
        status = self.mapping.fields.get("status")
        if status is not None and not status.fixed and not self.has_status:
            self.results.note(f"no row has {status.text!r}, the status: all rows count as passed")
        if self.odd:
            self.results.note(
                f"statuses that bench does not know count as failures: {', '.join(self.odd.in_order()[:SHOWN])}"
            )

    def _parameters(self, cells: dict[str, Any], line: int) -> dict[str, Any]:
        axes: dict[str, Any] = {}
        for place, (path, value) in enumerate(spare(cells, self.used)):
            self.others.note(path, (line, place if self.is_ordered else 0))
            if self.mapping.rest != "out":
                axes[path] = _typed(value)
        for column in self.mapping.parameters:
            value = _typed(lookup(cells, column))
            if isinstance(value, dict):
                axes |= value
            elif value is not None:
                axes[column] = value
        return axes

    def _status(self, cells: dict[str, Any], line: int) -> str | None:
        text = text_of(cell_of(self.mapping.fields.get("status"), cells))
        if text is None:
            return None
        self.has_status = True
        status = self.status_of(text)
        if status is None:
            self.odd.note(text[:60], (line, 0))
        return status or text

    def status_of(self, text: str) -> str | None:
        """The status that a word means; None if nobody knows it."""
        return STATUS_WORDS.get(re.sub(r"[\s-]+", "_", text.lower()))

    def _value(
        self, value: Value, cells: dict[str, Any], case: Subject, moment: Instant | None, *, failed: bool
    ) -> None:
        cell = lookup(cells, value.column)
        about = {key: text_of(cell_of(term, cells)) for key, term in value.about.items()}
        unit, statistic = about.get("unit"), about.get("statistic")
        if isinstance(cell, str) and (parts := WITH_UNIT.fullmatch(cell)):
            own = unit_of(parts[2]).name
            if own in SUFFIXES and unit_of(unit or parts[2]).name == own:
                cell, unit = parts[1], parts[2]
        read = [_number(value.column, each, failed=failed) for each in (cell if isinstance(cell, list) else [cell])]
        numbers = [each for each in read if each is not None]
        if not numbers:
            return
        metric = about.get("metric") or value.metric or METRICS.get(unit_of(unit).name or "", value.default_metric)
        better = _better(about["better"]) if "better" in about else AS_THE_UNIT_SAYS
        if statistic is not None or ("phase" in about and about["phase"] is None):
            for each in numbers:
                case.metric(metric, each, unit, statistic=statistic, phase=about.get("phase"), better=better)
            return
        if unit_of(unit).name == "ns" and any((number(each) or 0) < 0 for each in numbers):
            raise BadRecord(f"{value.column} is {show(cell)}, and no duration is negative")
        place = (self.results.run_id, case.case_id, metric, about.get("phase"))
        term = value.about.get("loops")
        loops = None if term is None else _whole(term, cell_of(term, cells))
        case.samples(
            numbers, unit, loops=loops or 1, metric=metric, phase=about.get("phase") or "steady", better=better,
            recorded_at=moment, sample=self.number(place, len(numbers)),
        )  # fmt: skip


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if names[SHOWN:] else "")


def _typed(value: Any) -> Any:
    """A text that is a JSON number or object as that value, so that an axis is equal whatever the kind of table."""
    if isinstance(value, str) and (value[:1] in "-0123456789" or value[:1] == "{") and value:
        try:
            read = decode(value)
        except BadRecord:
            return value
        return read if isinstance(read, dict) or as_json(read) == value else value
    return value


def _whole(term: Term, value: Any) -> int | None:
    if value is None:
        return None
    read = number(value)
    if read is None or not read.is_integer() or not 0 <= read <= MOST:
        raise BadRecord(f"{term.text} is {show(value)}, not a whole number up to 2^53")
    return int(read)


def _number(column: str, value: Any, *, failed: bool) -> Any:
    """A number; None for a word that means no value, and for a 0 that a failed row writes."""
    if value is None or (isinstance(value, str) and value.lower() in NO_VALUE):
        return value
    read = number(value)
    if read is None and not isinstance(value, float):
        if isinstance(value, str) and (found := SEPARATED.fullmatch(value)):
            note = f"{column} has numbers with {SEPARATORS[found[1]]}, which are rejected{WITH_COMMA}"
            raise BadRecord(f"{column} is {show(value)}, not a number{WITH_COMMA}", note)
        raise BadRecord(f"{column} is {show(value)}, not a number")
    return None if failed and read == 0 else value


def _better(text: str | None) -> str | None:
    if text not in ("lower", "higher", None):
        raise BadRecord(f"better is {show(text)}, neither lower nor higher")
    return text
