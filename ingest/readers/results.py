"""Results of one file on their way into a batch: runs, cases, samples and aggregates, with every record accounted for.

The rules of all formats are here: what samples and aggregates become, how units are converted, what happens to values
that are not numbers, and to fields that no format reads. This file is long because these rules are one set for all formats.
"""

import contextlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...warehouse.environment import identified
from ...warehouse.events import (
    CaseRecord,
    Environment,
    Event,
    Instant,
    MemorySample,
    Metric,
    Outcome,
    Reject,
    RunRecord,
    Timing,
    as_json,
)
from ...warehouse.log import Batch
from ...warehouse.recorder import case_ids
from ...warehouse.secrets import masked_command, masked_parameters, without_secrets
from ..format import MAX_TEXT, Part, Tally
from ..source_index import content_uuid
from .bulk import LONGEST_NAME, LONGEST_NS, Rows, is_whole, rows_of
from .document import INT64, BadRecord, labels, not_whole
from .folders import file_stem, undated
from .revision import revision_of
from .settings import nested_settings
from .units import SPREADS, Unit, unit_of

Chosen = tuple[str, bool]  # a run, and whether it is in the store already

ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,16}\b")  # of an object in memory, which differs in every run
LONGEST_NUMBER = 400  # characters
NOWHERE = Environment(environment_id="")
AS_THE_UNIT_SAYS = "as the unit says"


class Results:
    """The results of one file."""

    def __init__(self, part: Part, batch: Batch) -> None:
        """Nothing read yet; results belong to the part's own run until `run` names another."""
        self.part = part
        self.tally = Tally()
        self.run_id = part.run_id
        self.written: Instant | None = None  # when the first line of its log was
        self.context: Any = None  # what the head of a document says that its records need
        self.batch = batch
        self._known = False
        self.no_failures = False  # whether no record can say how a case ended, so that one ok is enough for each
        self._announced: set[tuple[str, str]] = set()
        self._passed: set[tuple[str, str]] = set()
        self._pending: list[Iterable[Event] | Rows] = []  # of the record being read
        self._subjects: dict[str, Subject] = {}  # cases of the record being read
        self._homeless: list[Reject] = []  # that came before any run was described
        self._unplaced = Tally()  # counts of what came before, and of what is no record
        self._last = ("", 0)  # run and line of the last record that has rows

    def run(
        self,
        *,
        content: str | None = None,
        environment: Environment | None = None,
        tags: Mapping[str, Any] | None = None,
        **columns: Any,
    ) -> Chosen:
        """Describe the run that the following records belong to.

        Args:
            content: What identifies the run, if a file holds several: if the run is in the store already, its records are
                known. Without `content` it is the part's own run.
            environment: Its machine and software, without an id.
            tags: Further facts; null ones are left out.
            columns: Further columns of `runs`.

        Returns:
            A handle for `resume`, after records of other runs came in between.
        """
        if content is not None:
            self.run_id = content_uuid(self.part.format, self.part.config, content)
            self._known = not self.part.claim(self.run_id)
        if environment is not None and environment != NOWHERE:
            environment = identified(without_secrets(environment))
            columns["environment_id"] = environment.environment_id
            self.batch.add(environment)
        self.tally.shares.setdefault(self.run_id, Tally())
        columns = revision_of(tags or {}) | {key: value for key, value in columns.items() if value is not None}
        if not self._known:
            columns.setdefault("config", self.part.config)
            run = RunRecord(run_id=self.run_id, source=self.part.format, tags=labels(tags or {}), **columns)
            self.tally.runs.append(run)
        return self.run_id, self._known

    def file_name(self) -> str:
        """The name that a file gives its case: its own, without the day; where that is all, the format's."""
        return undated(file_stem(self.part.name)) or self.part.format

    def resume(self, chosen: Chosen) -> None:
        """Continue with a run that was described before."""
        self.run_id, self._known = chosen

    def record(self, read: Callable[[], None], text: str | Callable[[], str], line: int | None = None) -> None:
        """Account for one record: `read` gives its events, or raises BadRecord, and then none of them count."""
        if self._known:
            self._count(known=1)
            return
        self._line = self.tally.lines + 1 if line is None else line
        self._pending, self._subjects = [], {}
        try:
            read()
        except BadRecord as error:
            self.reject(error, text if isinstance(text, str) else text(), line)
            return
        rows = sum(map(self._give, self._pending))
        for subject in self._subjects.values():
            self._announced.add((self.run_id, subject.case_id))
            if subject.is_measured and not subject.has_outcome and not self._is_said(subject):
                rows += self._give([Outcome(status="ok", **subject.place())])
        here = (self.run_id, self._line)
        self._count(loaded=1, without_rows=int(not rows or here == self._last))
        if rows:
            self._last = here

    def _is_said(self, subject: "Subject") -> bool:
        """Return whether an earlier record has said that a case is ok, and none can say anything else."""
        case = (self.run_id, subject.case_id)
        is_said = self.no_failures and case in self._passed
        if self.no_failures:
            self._passed.add(case)
        return is_said

    def _give(self, events: Iterable[Event] | Rows) -> int:
        """Add events to the batch; returns how many."""
        if isinstance(events, Rows):
            self.batch.add_rows(events.event, events.columns, events.count)
            return events.count
        count = 0
        for event in events:
            self.batch.add(event)
            count += 1
        return count

    @contextlib.contextmanager
    def collecting(self, batch: Any) -> Iterator[None]:
        """Let another take the events of the records that are read meanwhile."""
        usual, self.batch = self.batch, batch
        try:
            yield
        finally:
            self.batch = usual

    def count(self, records: int, *, run_id: str, is_known: bool) -> None:
        """Account for records of a run that were read, and added, by another way."""
        usual, self.run_id = self.run_id, run_id
        self._count(known=records) if is_known else self._count(loaded=records)
        self.run_id = usual

    def count_without_rows(self, records: int, run_id: str) -> None:
        """Say of records that were counted as loaded that they have no rows of their own."""
        for tally in (self.tally, self.tally.shares.get(run_id, self._unplaced)):
            tally.without_rows += records

    def _count(self, *, loaded: int = 0, rejected: int = 0, known: int = 0, without_rows: int = 0) -> None:
        counts = Tally(loaded + rejected + known, loaded, rejected, known, without_rows=without_rows)
        self.tally.add(counts)
        if self.tally.shares:
            self.tally.shares.setdefault(self.run_id, Tally()).add(counts)
        else:
            self._unplaced.add(counts)

    def leave_out(self, lines: int) -> None:
        """Account for lines that are no records."""
        for tally in (self.tally, self._unplaced):
            tally.add(Tally(lines, left_out=lines))

    def reject(self, error: BadRecord, text: str, line: int | None = None) -> None:
        """Account for a record that cannot be read, and keep the beginning of its text."""
        self._count(rejected=1)
        if error.note:
            self.note(error.note)
        rejected = Reject(
            source_id=self.part.source_id, run_id=self.run_id, line=self.tally.lines if line is None else line,
            reason=str(error), text=text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…",
        )  # fmt: skip
        if self.tally.shares:
            self.batch.add(rejected)
        else:
            self._homeless.append(rejected)

    def note(self, sentence: str) -> None:
        """Add a sentence about the file, once."""
        if (sentence := f"{self.part.name}: {sentence}") not in self.tally.notes:
            self.tally.notes.append(sentence)

    def close(self) -> Tally:
        """The accounting; runs that do not say when they began did so when their log begins."""
        if self.written is not None and not self.tally.runs:
            self.run()
        runs = self.tally.runs
        runs[:] = [replace(run, started_at=self.written) if run.started_at is None else run for run in runs]
        home = self.part.run_id
        if self.tally.shares:
            if not self._unplaced.loaded:
                home = next(iter(self.tally.shares))
            self.tally.shares.setdefault(home, Tally()).add(self._unplaced)
        for rejected in self._homeless:
            self.batch.add(replace(rejected, run_id=home))
        return self.tally

    def case(self, name: str, *, parameters: Mapping[str, Any] | None = None, **axes: Any) -> "Subject":
        """A case of the record being read, announced once a run.

        Args:
            name: What is measured.
            parameters: Further axes; nothing that varies from run to run.
            axes: Columns of `cases`.

        Raises:
            BadRecord: A number is larger than its column takes.
        """
        for axis, value in axes.items():
            if type(value) is int and value not in INT64:
                raise not_whole(axis, value)
        case_id, work_hash, name, parameters = case_of(name, parameters or {}, **axes)
        subject = self._subjects.setdefault(case_id, Subject(self, case_id, self._line))
        if not subject.is_announced and (self.run_id, case_id) not in self._announced:
            axes_json = as_json(parameters) if parameters else None
            self._pending.append(
                [CaseRecord(work_hash=work_hash, name=name, parameters=axes_json, **axes, **subject.place())]
            )
        subject.is_announced = True
        return subject

    def add(self, events: Iterable[Event] | Rows) -> None:
        """Add events of the record being read; they are made when it turns out whole."""
        self._pending.append(events)


class Subject:
    """A case, and its values in one record."""

    def __init__(self, results: Results, case_id: str, line: int) -> None:
        self.case_id = case_id
        self.is_announced = self.is_measured = self.has_outcome = False
        self._results = results
        self._line = line

    def place(self) -> dict[str, Any]:
        """The columns that say where an event belongs and where it came from."""
        part = self._results.part
        run_id = self._results.run_id
        return {"run_id": run_id, "case_id": self.case_id, "source_id": part.source_id, "line": self._line}

    def samples(
        self,
        values: Sequence[Any],
        unit: str | None,
        *,
        loops: int | None = 1,
        together: bool = False,
        metric: str = "latency",
        phase: str = "steady",
        recorded_at: Instant | None = None,
        better: str | None = AS_THE_UNIT_SAYS,
        block: int | None = None,
        apart: bool = False,
        **columns: Any,
    ) -> None:
        """Add raw samples.

        Args:
            values: One number a sample.
            unit: Their unit.
            loops: Calls in each sample; None if nobody knows.
            together: Whether a duration is that of all calls together, not of one.
            metric: What was measured.
            phase: warmup or steady.
            recorded_at: When.
            better: Direction, where the unit does not say it.
            block: Number of the process, fork or repetition in which all of them were measured; None if nobody knows.
            apart: Whether each sample is a process or repetition of its own, and so its own block.
            columns: Further columns of `timings`; `sample` is where counting begins.

        Durations become timings if their calls are known and whole ns are exact enough, else metrics without a
        statistic: in `cells` both are samples of the same.
        """
        kind = unit_of(unit)
        better = kind.better if better == AS_THE_UNIT_SAYS else better
        first = columns.pop("sample", 0) or 0
        if len(values) and kind.name is None and better is None:
            self._results.tally.unitless.add(metric)
        place = self.place() | {
            "metric": metric[:LONGEST_NAME],
            "phase": phase,
            "recorded_at": recorded_at,
            "block": block,
        }
        calls = loops if loops is not None and 0 < loops < LONGEST_NS else 0
        many = rows_of(
            values, unit, kind, better, calls=calls, together=together, first=first, place=place, columns=columns,
            apart=apart,
        )  # fmt: skip
        if many is not None:
            self.is_measured = True
            self._results.add(many)
            return
        read = [number(value, kind.factor) for value in values]
        self.is_measured |= any(value is not None for value in read)
        times = 1 if together else calls
        timed = kind.name == "ns" and calls > 0 and all(is_whole(one * times) for one in read if one is not None)

        def events() -> Iterator[Event]:
            for index, (value, one) in enumerate(zip(values, read, strict=True), first):
                if apart:
                    place["block"] = index
                if timed and one is not None:
                    yield Timing(duration_ns=round(one * times), loops=calls, sample=index, **columns, **place)
                else:
                    original = _original(value, one, unit, kind)
                    each = one / calls if together and calls and one is not None else one
                    yield Metric(value=each, unit=kind.name, better=better, sample=index, **original, **place)

        self._results.add(events())

    def metric(
        self,
        name: str,
        value: Any,
        unit: str | None = None,
        *,
        statistic: str | None = None,
        phase: str | None = None,
        better: str | None = AS_THE_UNIT_SAYS,
    ) -> None:
        """Add one number that is no sample: an aggregate with its statistic, a counter, a size; None adds nothing."""
        if value is None:
            return
        kind = unit_of(unit)
        if better == AS_THE_UNIT_SAYS:
            better = None if statistic in SPREADS else kind.better
        read = number(value, kind.factor)
        self.is_measured |= read is not None
        if read is not None and kind.name is None and better is None and statistic not in SPREADS:
            self._results.tally.unitless.add(name)
        self._results.add([Metric(
            metric=name[:LONGEST_NAME], value=read, unit=kind.name, better=better, statistic=statistic, phase=phase,
            **_original(value, read, unit, kind), **self.place(),
        )])  # fmt: skip

    def memory(self, values: Iterable[Any], unit: str = "bytes", *, source: str = "rss") -> None:
        """Add peaks of memory, one a sample."""
        for value in values:
            size = number(value, unit_of(unit).factor)
            if size is None or not 0 <= size < LONGEST_NS:
                self.text(f"{source}_peak", value)
            else:
                self._results.add([MemorySample(source=source, size_bytes=round(size), **self.place())])

    def text(self, name: str, value: Any) -> None:
        """Add a text: a metric without a value, whose `original_value` is the text; None adds nothing."""
        if value is not None:
            self._results.add(
                [Metric(metric=name[:LONGEST_NAME], value=None, original_value=_text(value), **self.place())]
            )

    def request_outcome(self, sample: int, status: str, *, phase: str = "steady") -> None:
        """Add why a request did not complete: the sample of that number has no latency, or none that counts."""
        said = Metric(
            metric="request_outcome",
            value=None,
            original_value=_text(status),
            sample=sample,
            phase=phase,
            **self.place(),
        )
        self._results.add([said])

    def fields(self, left: Mapping[str, Any]) -> None:
        """Add the fields of a record that were not used otherwise, as one JSON text."""
        if fields := {key: value for key, value in left.items() if value is not None}:
            self.text("fields", fields)
            self.setup(dict(nested_settings(fields)))

    def setup(self, facts: Mapping[str, bool | float | str]) -> None:
        """Say how it was set up, where no axis does: files that name the same case with another setup are told."""
        if facts:
            said = self._results.tally.setups.setdefault((self._results.run_id, self.case_id), {})
            for name, fact in facts.items():
                said.setdefault(name, fact)

    def outcome(self, status: str, reason: str | None = None, **columns: Any) -> None:
        """Add how it ended; a case that was measured is ok without being said so."""
        self.has_outcome = True
        self._results.add([Outcome(status=status, reason=reason, **columns, **self.place())])


def case_of(name: str, parameters: Mapping[str, Any], **axes: Any) -> tuple[str, str, str, dict[str, Any]]:
    """The hashes of a case and of its work; its name and further axes, without secrets and addresses."""
    name = masked_command(name)
    parameters = {
        key: ADDRESS.sub("0x…", value) if isinstance(value, str) else value
        for key, value in masked_parameters(parameters).items()
    }
    return *case_ids(name=name, parameters=parameters, **axes), name, parameters


def number(value: Any, factor: float = 1.0) -> float | None:
    """A number, also one in a text, times a factor; None for anything but a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and (len(value) > LONGEST_NUMBER or "_" in value):
        return None
    try:
        read = float(value) * factor
    except (ValueError, OverflowError):
        return None
    return read if math.isfinite(read) else None


def _original(value: Any, read: float | None, unit: str | None, kind: Unit) -> dict[str, Any]:
    """The original text and unit of a value, if they differ from value and unit."""
    converted = read is None or kind.factor != 1 or kind.name != unit
    return {"original_value": _text(value), "original_unit": unit and unit[:LONGEST_NAME]} if converted else {}


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else as_json(value) if isinstance(value, dict | list) else json.dumps(value)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"
