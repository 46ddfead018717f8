"""Tables of any kind by a mapping: one row is one record, which says a case, its values and how it ended."""

import bisect
import contextlib
import functools
import hashlib
import itertools
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...warehouse.errors import UnknownName
from ...warehouse.events import Instant, as_json
from ...warehouse.log import Batch
from ..format import Format, Head, Part, Tally
from ..readers.document import BadRecord, decode, instant, show
from ..readers.json_format import reject_file
from ..readers.results import AS_THE_UNIT_SAYS, Chosen, Results, Subject, number
from ..readers.tables import Record, TableFile, check_columns, lookup, open_table, spare
from ..readers.units import unit_of
from .mapping import OF_RUN, REPEATED, Mapping, Term, Value, with_columns

COUNTS = ("batch_size", "sequence_length")
METRICS = {"ns": "latency", "ops/s": "throughput"}
NO_VALUE = {"nan", "null", "none", "n/a", "na", "-", "inf", "+inf", "-inf", "infinity", "-infinity", "+infinity"}
ENDINGS = {
    "ok": "ok pass passed success successful succeeded complete completed done true",
    "fail_to_run": "fail_to_run fail failed failure error errored crash crashed false",
    "OOM": "oom out_of_memory",
    "timeout": "timeout timed_out time_out",
    "skipped": "skip skipped",
    "interrupted": "interrupted",
}
STATUSES = {word: status for status, words in ENDINGS.items() for word in words.split()}
UNIX = re.compile(r"\d{9,19}(\.\d+)?")
MOST = 2.0**53  # beyond it doubles, which other tools count in, leave numbers out
DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]|$)")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
EXACT = 4  # digits of a number that was measured
PAUSE_S = 1800  # a longer one between two rows ends a run: each night is one, though its cases are minutes apart
_PAUSE = PAUSE_S * 1_000_000
LOOKED_AT = 1000  # rows that tell what a column holds
SHOWN = 12  # columns named in a note


class Mapped(Format):
    """Tables whose columns the user names."""

    doc = "any CSV, JSON, JSON lines or Parquet, whose columns --map names"
    unpacks = True

    def __init__(self, mapping: Mapping) -> None:
        """A format of its own for each mapping: what was read by another is not known to this one."""
        self.mapping = mapping
        self.name = f"map-{mapping.digest}"
        self.histories = mapping.parts_runs or mapping.may_part_runs

    def recognise(self, head: Head) -> bool:
        """Never: the user chooses this format."""
        return False

    def unfit(self, path: Path) -> str | None:
        """Why the mapping cannot be of this file: it is no table, or has no such column."""
        try:
            table = open_table(Part.alone(path), self.mapping.records)
        except BadRecord as error:
            return str(error)
        missing = check_columns(table, self.mapping.columns)
        if missing is None:
            return None
        what = self.mapping.columns[missing]
        cure = f"The columns are: {', '.join(map(repr, table.columns))}."
        if what not in REPEATED:
            cure += f" A text for all rows is written {what}:={missing}"
        return "has " + str(UnknownName("column", missing, table.columns, cure=cure))

    def read(self, part: Part, batch: Batch) -> Tally:
        """One record a row."""
        results = Results(part, batch)
        try:
            table = open_table(part, self.mapping.records)
        except BadRecord as error:
            reject_file(results, error)
            return results.close()
        results.note(f"read with --map {shlex.quote(str(self.mapping))}")
        read_table(table, self.mapping, results, by_time=self.mapping.may_part_runs)
        return results.close()


def read_table(table: TableFile, mapping: Mapping, results: Results, *, by_time: bool = False) -> None:
    """Add the rows of a table by a mapping, and notes about the table.

    Args:
        table: Its rows are read up to three times.
        mapping: What its columns are.
        results: Takes cases, values and notes.
        by_time: Rows more than PAUSE_S apart belong to different runs.
    """
    reader = _Reader(with_columns(mapping, table.columns), results)
    if reader.mapping.rest != "out":
        reader.sort_out(record.cells for record in itertools.islice(table.rows(), LOOKED_AT) if record.problem is None)
    if by_time:
        reader.starts = _starts(table, reader)
    groups = _runs(table, reader) if mapping.parts_runs or len(reader.starts) > 1 else None
    if groups is None and "time" in mapping.fields:
        _began(table, reader)
    for record in table.rows():
        if groups is not None:
            try:
                groups[reader.run_of(record)].choose(results)
            except BadRecord as error:  # whatever is known of the run before it, this row is not
                results.reject(error, record.text(), record.line)
                continue
        results.record(functools.partial(reader.load, record), record.text, record.line)
    reader.notes()


@dataclass(slots=True)
class _Group:
    """The rows of one run."""

    run_facts: dict[str, str]
    digest: "hashlib._Hash"
    began: Instant | None = None
    chosen: Chosen | None = None

    def choose(self, results: Results) -> None:
        """Make it the run of the next record; its rows identify it."""
        if self.chosen is not None:
            results.resume(self.chosen)
            return
        label = {"run": self.run_facts["run"]} if "run" in self.run_facts else {}
        self.chosen = results.run(
            content=f"{as_json(self.run_facts)}\n{self.digest.hexdigest()}", started_at=self.began, tags=label,
            git_commit=self.run_facts.get("commit"), git_branch=self.run_facts.get("branch"), host=self.run_facts.get("host"),
        )  # fmt: skip


def _runs(table: TableFile, reader: "_Reader") -> dict[str, _Group]:
    """The runs that the rows belong to, found in a pass of its own."""
    groups: dict[str, _Group] = {}
    for record in table.rows():
        with contextlib.suppress(BadRecord):
            group = groups.setdefault(reader.run_of(record), _Group(reader.run_facts_of(record), hashlib.sha256()))
            group.digest.update(as_json(record.cells).encode() + b"\n")
            group.began = min(filter(None, (group.began, reader.moment(record))), default=None)
    return groups


def _starts(table: TableFile, reader: "_Reader") -> list[Instant]:
    """When the runs began that pauses part from each other, in order."""
    spans: dict[int, tuple[Instant, Instant]] = {}  # of each stretch of PAUSE_S: the first and the last time in it
    for record in table.rows():
        with contextlib.suppress(BadRecord):
            if (moment := reader.moment(record)) is not None:
                first, last = spans.get(moment // _PAUSE, (moment, moment))
                spans[moment // _PAUSE] = min(first, moment), max(last, moment)
    ordered = sorted(spans.values())
    later = [first for (_, before), (first, _) in itertools.pairwise(ordered) if first - before > _PAUSE]
    return [*(first for first, _ in ordered[:1]), *later]


def _began(table: TableFile, reader: "_Reader") -> None:
    """The run begins with the first row that says when it was measured."""
    for record in table.rows():
        with contextlib.suppress(BadRecord):
            if (moment := reader.moment(record)) is not None:
                reader.results.run(started_at=moment)
                return


@dataclass(slots=True)
class _Reader:
    """Rows into events."""

    mapping: Mapping
    results: Results
    used: set[str] = field(default_factory=set)
    others: dict[str, None] = field(default_factory=dict)  # columns that the mapping does not name, in order
    measured: list[Value] = field(default_factory=list)  # those of them that hold measured values
    times: list[str] = field(
        default_factory=list
    )  # and those that hold times, which would part every row from all others
    starts: list[Instant] = field(default_factory=list)  # of the runs, where pauses part them
    odd: dict[str, None] = field(default_factory=dict)  # statuses nobody knows
    counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)  # samples so far, by run, case and metric

    def __post_init__(self) -> None:
        self.used = set(self.mapping.columns)

    def sort_out(self, rows: Iterable[dict[str, Any]]) -> None:
        """Tell by some rows which columns that the mapping does not name are no axes of a case."""
        columns: dict[str, list[Any]] = {}
        for cells in rows:
            for path, value in spare(cells, self.used):
                columns.setdefault(path, []).append(value)
        for path, values in columns.items():
            texts = [str(value) for value in values if value is not None and str(value).lower() not in NO_VALUE]
            if not texts:
                continue
            if all(DATE.match(text) for text in texts) and len(set(texts)) > 1:
                self.times.append(path)
            elif all(map(NUMBER.fullmatch, texts)) and 2 * sum(map(_is_exact, texts)) > len(texts):
                self.measured.append(Value(path, {}))
        self.used |= {*self.times, *(value.column for value in self.measured)}

    def load(self, record: Record) -> None:
        """One row.

        Raises:
            BadRecord: It cannot be read.
        """
        moment = self.moment(record)
        cells, fields = record.cells, self.mapping.fields
        axes: dict[str, Any] = {}
        for name, term in fields.items():
            if name in COUNTS:
                axes[name] = _whole(term, _cell(term, cells))
            elif name in ("suite", "mode", "device", "dtype", "backend"):
                axes[name] = _text(_cell(term, cells))
        what = _text(_cell(fields["name"], cells))
        if what is None:
            raise BadRecord(f"no {fields['name'].text}")
        case = self.results.case(what, parameters=self._parameters(cells), **axes)
        status = self._status(cells)
        for value in self.mapping.values:
            self._value(value, cells, case, moment, failed=status not in (None, "ok"))
        for value in self.measured:
            with contextlib.suppress(BadRecord):  # nobody asked for it
                self._value(value, cells, case, moment, failed=status not in (None, "ok"))
        if status is not None:
            case.outcome(status, _text(_cell(fields.get("reason"), cells)))

    def run_of(self, record: Record) -> str:
        """What tells the run of a row from others.

        Raises:
            BadRecord: It cannot be read.
        """
        moment, facts = self.moment(record), self.run_facts_of(record)
        if moment is not None and self.starts:
            facts["time"] = str(self.starts[bisect.bisect_right(self.starts, moment) - 1])
        return as_json(facts)

    def run_facts_of(self, record: Record) -> dict[str, str]:
        """The fields of a row that describe its run."""
        texts = {name: _text(_cell(self.mapping.fields.get(name), record.cells)) for name in OF_RUN}
        return {name: text for name, text in texts.items() if text is not None}

    def moment(self, record: Record) -> Instant | None:
        """When a row was measured; None if it has no time.

        Raises:
            BadRecord: What it says is no time, or the row cannot be read at all.
        """
        if record.problem is not None:
            raise BadRecord(record.problem)
        term = self.mapping.fields.get("time")
        value = _cell(term, record.cells)
        if term is None or value is None:
            return None
        moment = instant(float(value) if isinstance(value, str) and UNIX.fullmatch(value) else value)
        if moment is None:
            raise BadRecord(f"{term.text} is {show(value)}, which is no time that can be read")
        return moment

    def notes(self) -> None:
        """Add notes about all rows."""
        if self.others:
            became = (
                "are left out"
                if self.mapping.rest == "out"
                else "became parameters; ignore=COLUMN leaves one out, rest=out all"
            )
            self.results.note(f"columns that the mapping does not name {became}: {_listed(list(self.others))}")
        if self.measured:
            names = [value.column for value in self.measured]
            cure = f"if one is an axis, say --map parameters={names[0]}, and --map ignore={names[0]} leaves it out"
            self.results.note(f"columns of measured numbers became metrics: {_listed(names)}; {cure}")
        if self.times:
            self.results.note(
                f"columns of times are left out: {_listed(self.times)}; say what it is with --map time={self.times[0]}"
            )
        if len(self.starts) > 1:
            self.results.note(
                f"{len(self.starts):,} runs: rows more than {PAUSE_S // 60} minutes apart belong to different ones; "
                "--map run:=NAME makes them one"
            )
        if self.odd:
            self.results.note(
                f"statuses that bench does not know count as failures: {', '.join(list(self.odd)[:SHOWN])}"
            )

    def _parameters(self, cells: dict[str, Any]) -> dict[str, Any]:
        axes: dict[str, Any] = {}
        for path, value in spare(cells, self.used):
            self.others[path] = None
            if self.mapping.rest != "out":
                axes[path] = _typed(value)
        for column in self.mapping.parameters:
            value = _typed(lookup(cells, column))
            if isinstance(value, dict):
                axes |= value
            elif value is not None:
                axes[column] = value
        return axes

    def _status(self, cells: dict[str, Any]) -> str | None:
        text = _text(_cell(self.mapping.fields.get("status"), cells))
        if text is None:
            return None
        status = STATUSES.get(re.sub(r"[\s-]+", "_", text.lower()))
        if status is None:
            self.odd[text[:60]] = None
        return status or text

    def _value(
        self, value: Value, cells: dict[str, Any], case: Subject, moment: Instant | None, *, failed: bool
    ) -> None:
        cell = lookup(cells, value.column)
        about = {key: _text(_cell(term, cells)) for key, term in value.about.items()}
        unit, statistic = about.get("unit"), about.get("statistic")
        if isinstance(cell, str) and cell.endswith("%") and unit_of(unit or "%").name == "%":
            cell, unit = cell[:-1].rstrip(), "%"
        read = [_number(value.column, each, failed=failed) for each in (cell if isinstance(cell, list) else [cell])]
        numbers = [each for each in read if each is not None]
        if not numbers:
            return
        metric = about.get("metric") or value.metric or METRICS.get(unit_of(unit).name or "", value.column)
        better = _better(about["better"]) if "better" in about else AS_THE_UNIT_SAYS
        if statistic is not None or ("phase" in about and about["phase"] is None):
            for each in numbers:
                case.metric(metric, each, unit, statistic=statistic, phase=about.get("phase"), better=better)
            return
        if unit_of(unit).name == "ns" and any((number(each) or 0) < 0 for each in numbers):
            raise BadRecord(f"{value.column} is {show(cell)}, and no duration is negative")
        place = (self.results.run_id, case.case_id, f"{metric} {about.get('phase')}")
        term = value.about.get("loops")
        loops = None if term is None else _whole(term, _cell(term, cells))
        case.samples(
            numbers, unit, loops=loops or 1, metric=metric, phase=about.get("phase") or "steady", better=better,
            recorded_at=moment, sample=self.counts[place],
        )  # fmt: skip
        self.counts[place] += len(numbers)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if names[SHOWN:] else "")


def _is_exact(text: str) -> bool:
    """Whether a number has a fraction and four digits that count or more: axes, such as 0.25, are rounder than measurements."""
    digits = re.sub(r"[eE].*|[^0-9]", "", text).strip("0")
    return "." in text and len(digits) >= EXACT


def _cell(term: Term | None, cells: dict[str, Any]) -> Any:
    return None if term is None else term.text if term.fixed else lookup(cells, term.text)


def _text(value: Any) -> str | None:
    text = value if isinstance(value, str | None) else as_json(value)
    return text or None


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
        raise BadRecord(f"{column} is {show(value)}, not a number")
    return None if failed and read == 0 else value


def _better(text: str | None) -> str | None:
    if text not in ("lower", "higher", None):
        raise BadRecord(f"better is {show(text)}, neither lower nor higher")
    return text
