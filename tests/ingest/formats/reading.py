"""Files read by one format, without a store: what events they become."""

import functools
import json
import tempfile
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import pyarrow as pa
from bench.ingest.format import Format, Options, Part, Tally
from bench.ingest.readers.files import read_head
from bench.ingest.registry import formats
from bench.warehouse.events import CaseRecord, Environment, Event, Instant, Metric, Outcome, Reject, RunRecord, Timing

Kind = TypeVar("Kind", bound=Event)
EPOCH = datetime(1970, 1, 1)


@functools.cache
def _database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


def cursor() -> duckdb.DuckDBPyConnection:
    """Of one database in memory, as an ingest gives to its parts: to open one takes as long as to read fifty files."""
    return _database().cursor()


class Read:
    """The events a file became, in order. It is what a format sees as its batch."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.tally = Tally()

    def add(self, event: Event) -> None:
        """Take an event."""
        self.events.append(event)

    def add_rows(self, event: type[Event], columns: Mapping[str, Any], count: int) -> None:
        """Take many at once."""
        arrays = {
            name: list(values)
            for name, values in columns.items()
            if hasattr(values, "__len__") and not isinstance(values, str)
        }
        same = {name: value for name, value in columns.items() if name not in arrays}
        self.events += [
            event(**same, **{name: values[index] for name, values in arrays.items()}) for index in range(count)
        ]

    def add_table(self, event: type[Event], table: pa.Table) -> None:
        """Take the rows of a table."""
        nulls = {"value": None} if event is Metric else {}
        for row in table.to_pylist():
            known = {name: value for name, value in row.items() if value is not None}
            if "recorded_at" in known:
                known["recorded_at"] = Instant((known["recorded_at"] - EPOCH) // timedelta(microseconds=1))
            self.add(event(**{**nulls, **known}))

    def of(self, kind: type[Kind]) -> list[Kind]:
        """The events of one table."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def runs(self) -> list[RunRecord]:
        """The runs described."""
        return self.tally.runs

    @property
    def environment(self) -> Environment:
        """The environment described."""
        (environment,) = self.of(Environment)
        return environment

    @property
    def tags(self) -> dict[str, Any]:
        """Of the one run described."""
        (run,) = self.runs
        tags: dict[str, Any] = json.loads(run.tags or "{}")
        return tags

    @property
    def accounting(self) -> tuple[int, int, int]:
        """Records, loaded and rejected."""
        return self.tally.lines, self.tally.loaded, self.tally.rejected

    @property
    def names(self) -> list[str]:
        """Of the cases, in order."""
        return [case.name for case in self.of(CaseRecord)]

    def samples(self, metric: str = "latency", phase: str = "steady") -> list[tuple[int, int]]:
        """Duration and loops of each timing."""
        return [(t.duration_ns, t.loops) for t in self.of(Timing) if (t.metric, t.phase) == (metric, phase)]

    def metrics(self) -> dict[str, Any]:
        """Value and unit by name, the statistic appended as in `cells`; of a text, its text. Later ones win."""
        return {
            "_".join(filter(None, (m.metric, m.statistic))): (m.value, m.unit)
            if m.value is not None
            else m.original_value
            for m in self.of(Metric)
        }

    def better(self) -> dict[str, str | None]:
        """Direction by name."""
        return {"_".join(filter(None, (m.metric, m.statistic))): m.better for m in self.of(Metric)}

    def outcomes(self) -> list[tuple[str, str | None]]:
        """Status and reason."""
        return [(outcome.status, outcome.reason) for outcome in self.of(Outcome)]

    def rejects(self) -> list[tuple[int, str]]:
        """Record and reason."""
        return [(reject.line, reject.reason) for reject in self.of(Reject)]


def lay(folder: Path, files: Mapping[str, bytes | str | object]) -> None:
    """Write files below a folder: bytes and texts as they are, anything else as JSON."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        path.write_bytes(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)


def recognised(path: Path) -> list[str]:
    """The formats that take a file for theirs."""
    head = read_head(path)
    return [name for name, kind in formats().items() if kind.takes(head)]


def read_file(kind: Format, path: Path, name: str | None = None, claimed: set[str] | None = None) -> Read:
    """Read one file; runs named by content are new unless `claimed`."""
    read, taken = Read(), set() if claimed is None else claimed

    def claim(run_id: str) -> bool:
        new = run_id not in taken
        taken.add(run_id)
        return new

    part = Part(
        path, "run", "source", 0, path.stat().st_size, 1, Options(), cursor, config="config", format=kind.name,
        name=name or path.name, claim=claim,
    )  # fmt: skip
    read.tally = kind.read(part, read)  # type: ignore[arg-type]
    return read


def read(kind: str, content: object, name: str = "results.json", beside: Mapping[str, object] | None = None) -> Read:
    """Read content (bytes, text, or what becomes JSON) that nothing but this format may take for its own."""
    with tempfile.TemporaryDirectory() as folder:
        lay(Path(folder), {**(beside or {}), name: content})
        path = Path(folder, name)
        assert recognised(path) == [kind]
        return read_file(formats()[kind], path)
