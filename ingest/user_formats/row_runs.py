"""The run that each row of a table belongs to: by what the row says, or by the pauses between rows."""

import bisect
import contextlib
import hashlib
import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ...warehouse.events import Instant, as_json
from ..readers.document import BadRecord, instant, show
from ..readers.records import Record
from ..readers.results import Chosen, Results
from ..readers.tables import TableFile, lookup
from .mapping import OF_RUN, Mapping, Term

PAUSE_S = 1800  # a longer one between two rows ends a run: each night is one, though its cases are minutes apart
_PAUSE = PAUSE_S * 1_000_000
UNIX = re.compile(r"\d{9,19}(\.\d+)?")


@dataclass(slots=True)
class RowGroup:
    """The rows of one run."""

    run_facts: dict[str, str]
    digest: "hashlib._Hash"
    began: Instant | None = None
    chosen: Chosen | None = None

    @classmethod
    def empty(cls, run_facts: dict[str, str]) -> "RowGroup":
        """A run of no rows yet."""
        return cls(run_facts, hashlib.sha256())

    def choose(self, results: Results) -> Chosen:
        """Make it the run of the next record; its rows identify it."""
        if self.chosen is not None:
            results.resume(self.chosen)
            return self.chosen
        label = {"run": self.run_facts["run"]} if "run" in self.run_facts else {}
        self.chosen = results.run(
            config=self.run_facts.get("config", results.part.config),
            content=f"{as_json(self.run_facts)}\n{self.digest.hexdigest()}", started_at=self.began, tags=label,
            git_commit=self.run_facts.get("commit"), git_branch=self.run_facts.get("branch"), host=self.run_facts.get("host"),
        )  # fmt: skip
        return self.chosen


@dataclass(slots=True)
class RunsOfRows:
    """The runs that rows belong to by a mapping."""

    mapping: Mapping
    starts: list[Instant] = field(default_factory=list)  # of the runs, where pauses part them

    def find(self, table: TableFile, *, by_time: bool) -> dict[str, RowGroup] | None:
        """The runs of a table by what `of` says of a row, found in a pass of its own; None if all rows are of one run.

        With `by_time` rows more than PAUSE_S apart belong to different runs.
        """
        if by_time:
            self.starts = run_starts(moment for moment in map(self._moment_if_read, table.rows()) if moment is not None)
        if not self.mapping.parts_runs and len(self.starts) < 2:
            return None
        groups: dict[str, RowGroup] = {}
        for record in table.rows():
            with contextlib.suppress(BadRecord):
                group = groups.setdefault(self.of(record), RowGroup.empty(self._facts(record)))
                group.digest.update(as_json(record.cells).encode() + b"\n")
                moments = (group.began, self.moment(record))
                group.began = min((moment for moment in moments if moment is not None), default=None)
        return groups

    def began(self, table: TableFile) -> Instant | None:
        """The time of the first row that says when it was measured."""
        if "time" not in self.mapping.fields:
            return None
        return next((moment for moment in map(self._moment_if_read, table.rows()) if moment is not None), None)

    def of(self, record: Record) -> str:
        """The identity of a row's run.

        Raises:
            BadRecord: It cannot be read.
        """
        moment, facts = self.moment(record), self._facts(record)
        if moment is not None and self.starts:
            facts["time"] = str(self.starts[bisect.bisect_right(self.starts, moment) - 1])
        return as_json(facts)

    def moment(self, record: Record) -> Instant | None:
        """The time of a row; None if it has none.

        Raises:
            BadRecord: What it says is no time, or the row cannot be read at all.
        """
        if record.problem is not None:
            raise BadRecord(record.problem)
        term = self.mapping.fields.get("time")
        value = cell_of(term, record.cells)
        if term is None or value is None:
            return None
        moment = instant(float(value) if isinstance(value, str) and UNIX.fullmatch(value) else value)
        if moment is None:
            raise BadRecord(f"{term.text} is {show(value)}, which cannot be read as a time")
        return moment

    def _moment_if_read(self, record: Record) -> Instant | None:
        with contextlib.suppress(BadRecord):
            return self.moment(record)
        return None

    def _facts(self, record: Record) -> dict[str, str]:
        """The fields of a row that describe its run."""
        texts = {name: text_of(cell_of(self.mapping.fields.get(name), record.cells)) for name in OF_RUN}
        return {name: text for name, text in texts.items() if text is not None}


def run_starts(moments: Iterable[Instant]) -> list[Instant]:
    """The times, in order, at which runs began that pauses part; in memory are two times for each half an hour."""
    spans: dict[int, tuple[Instant, Instant]] = {}  # of each stretch of PAUSE_S: the first and the last time in it
    for moment in moments:
        first, last = spans.get(moment // _PAUSE, (moment, moment))
        spans[moment // _PAUSE] = min(first, moment), max(last, moment)
    return spans_to_starts(spans)


def spans_to_starts(spans: dict[int, tuple[Instant, Instant]]) -> list[Instant]:
    """The same by the first and the last time in each stretch of PAUSE_S."""
    ordered = sorted(spans.values())
    later = [first for (_, before), (first, _) in itertools.pairwise(ordered) if first - before > _PAUSE]
    return [*(first for first, _ in ordered[:1]), *later]


def cell_of(term: Term | None, cells: dict[str, Any]) -> Any:
    """The value of a term of the mapping in a row; None if it has none."""
    return None if term is None else term.text if term.fixed else lookup(cells, term.text)


def text_of(value: Any) -> str | None:
    """A cell as text; None if it is empty."""
    text = value if isinstance(value, str | None) else as_json(value)
    return text or None
