"""Rows of torch.compile's results, on their way into a batch: an archive has hundreds of thousands of numbers, so rows are
gathered as tuples and become columns a file at a time."""

import functools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...warehouse.console.numbers import counted
from ...warehouse.events import CaseRecord, Event, Json, Metric, Outcome, as_json
from ...warehouse.log import Batch
from ...warehouse.recorder import case_ids
from ..format import Part
from ..readers.csv_rows import BadRow, CsvRow, whole

PERFORMANCE_FILE, ACCURACY_FILE, COVERAGE_FILE, COMPILATION_FILE = (
    "performance",
    "accuracy",
    "coverage",
    "compilation metrics",
)
FIRST_COLUMNS = ["dev", "name", "batch_size"]
CASE_COLUMNS = [  # of a performance file, in the order they were added over the years; older files have fewer
    *FIRST_COLUMNS, "speedup", "abs_latency", "compilation_latency", "compression_ratio", "eager_peak_mem", "dynamo_peak_mem",
    "calls_captured", "unique_graphs", "graph_breaks", "unique_graph_breaks", "autograd_captures", "autograd_compiles",
    "cudagraph_skips",
]  # fmt: skip
NO_METRICS = {*FIRST_COLUMNS, "accuracy", "tag"}


@dataclass(frozen=True, slots=True)
class Measure:
    """The metric of a column."""

    column: str
    metric: str
    unit: str | None = None
    factor: float = 1.0  # what one of the file's unit is in ours
    original_unit: str | None = None
    better: str | None = None


MEASURES = (
    Measure("speedup", "speedup", "ratio", 1.0, "ratio", "higher"),
    Measure("abs_latency", "absolute_latency", "ns", 1e6, "ms", "lower"),
    Measure("compilation_latency", "compile_latency", "ns", 1e9, "s", "lower"),
    Measure("compression_ratio", "compression_ratio", "ratio", 1.0, "ratio", "higher"),
    Measure("eager_peak_mem", "eager_peak_memory", "bytes", 1e9, "GB", "lower"),
    Measure("dynamo_peak_mem", "compiled_peak_memory", "bytes", 1e9, "GB", "lower"),
    Measure("cache_lookup_latency", "cache_lookup_latency", "ns", 1e9, "s", "lower"),
    Measure("calls_captured", "calls_captured", "count", 1.0, "count"),
    Measure("unique_graphs", "unique_graphs", "count", 1.0, "count"),
    Measure("graph_breaks", "graph_breaks", "count", 1.0, "count", "lower"),
    Measure("unique_graph_breaks", "unique_graph_breaks", "count", 1.0, "count", "lower"),
    Measure("autograd_captures", "autograd_captures", "count", 1.0, "count"),
    Measure("autograd_compiles", "autograd_compiles", "count", 1.0, "count"),
    Measure("cudagraph_skips", "cudagraph_skips", "count", 1.0, "count", "lower"),
    Measure("graphs", "graphs", "count", 1.0, "count"),
    Measure("graph_calls", "graph_calls", "count", 1.0, "count"),
    Measure("captured_ops", "captured_ops", "count", 1.0, "count"),
    Measure("total_ops", "total_ops", "count", 1.0, "count"),
    Measure("pct_ops", "captured_ops_share", "ratio", 1.0, "ratio", "higher"),  # called percent, and is 0 to 1
    Measure("pct_time", "captured_time_share", "ratio", 1.0, "ratio", "higher"),
    Measure("start_latency", "start_latency", "ns", 1e9, "s", "lower"),
)
# On a CPU the benchmark multiplies psutil's percentage (0 to 100) by the size of memory: its "GB" are hundredths, and
# they are the resident size after the loop, no peak.
PERCENT_OF_MEMORY = {"eager_peak_mem", "dynamo_peak_mem"}
HUNDREDTHS = "GB × 100"


class ResultRows:
    """The rows of one file."""

    def __init__(self, part: Part, kind: str, columns: list[str], axes: dict[str, Any]) -> None:
        """None yet."""
        self.again = 0  # rows about a case that an earlier one is about
        self.has_cpu_memory = False  # whether a memory was met that is divided by 100
        self._place = {"run_id": part.run_id, "source_id": part.source_id}
        self._kind = kind
        self._columns = columns
        self._tag = columns.index("tag") if "tag" in columns else len(columns)
        self._axes = tuple((axis, axes.get(axis)) for axis in ("backend", "suite", "dtype", "mode"))
        self._known: dict[tuple[int, str], list[Measure | None]] = {}
        self._announced: set[str] = set()
        self._cases: list[tuple[Any, ...]] = []
        self._outcomes: list[tuple[int, str, str, str | None]] = []
        self._metrics: list[tuple[int, str, str, float | None, Measure]] = []

    def take(self, row: CsvRow) -> None:
        """Take a row as a whole.

        Raises:
            BadRow: It cannot be read; nothing of it was taken.
        """
        self._check(row)
        device, name, batch_size = row.cells[0].lower(), row.cells[1], row.cells[2]
        case = _case(self._axes, name, device, batch_size, "".join(row.cells[self._tag : self._tag + 1]))
        case_id = case[0]
        ended = self._ended(row)
        metrics = []
        if ended is None or ended[0] == "ok" or self._kind == ACCURACY_FILE:
            metrics = [
                (row.line, case_id, text, _value(measure, text), measure)
                for measure, text in zip(self._measures(len(row.cells), device), row.cells, strict=False)
                if measure is not None and text
            ]
        if case_id in self._announced:
            self.again += 1
        else:
            self._announced.add(case_id)
            self._cases.append((row.line, *case))
        if ended is not None:
            self._outcomes.append((row.line, case_id, *ended))
        self._metrics += metrics

    def give(self, batch: Batch) -> None:
        """Write all rows taken to a batch."""
        cases = _columns(self._cases, "line", "case_id", "work_hash", "name", "device", "batch_size", "parameters")
        outcomes = _columns(self._outcomes, "line", "case_id", "status", "reason")
        outcomes["kind"] = "accuracy" if self._kind == ACCURACY_FILE else "performance"
        metrics = _columns(self._metrics, "line", "case_id", "original_value", "value", "measure")
        measures = metrics.pop("measure", ())
        for name in ("metric", "unit", "better", "original_unit"):
            metrics[name] = [getattr(measure, name) for measure in measures]
        self.has_cpu_memory = HUNDREDTHS in metrics["original_unit"]
        self._add(batch, CaseRecord, cases | dict(self._axes), len(self._cases))
        self._add(batch, Outcome, outcomes, len(self._outcomes))
        self._add(batch, Metric, metrics, len(self._metrics))

    def _add(self, batch: Batch, event: type[Event], columns: dict[str, Any], count: int) -> None:
        if count:
            batch.add_rows(event, columns | self._place, count)

    def _check(self, row: CsvRow) -> None:
        """Raise BadRow if a row is not a result, or if its cells are ambiguous."""
        if row.problem is not None:
            raise BadRow(row.problem)
        if row.is_blank():
            raise BadRow("blank line")
        if row.text.lstrip().startswith("#"):
            raise BadRow("disabled with #")
        if row.cells[:3] == FIRST_COLUMNS:
            raise BadRow("a header amid the rows")
        columns, have = self._columns, len(row.cells)
        if have < 4:
            raise BadRow(f"{counted(have, 'column')}; want device, name, batch size and a result at least")
        if self._kind == COMPILATION_FILE and have != len(columns):
            # A phase that did not run is left out of a row, and which one it was nobody can tell from the rest.
            raise BadRow(
                f"{have - 3} phase times under {len(columns) - 3} phases: which are missing or added is unknown"
            )
        if have > len(columns) and (
            len(columns) < 4 or columns != CASE_COLUMNS[: len(columns)] or have > len(CASE_COLUMNS)
        ):
            raise BadRow(f"{counted(have, 'column')} under a header of {len(columns)}")

    def _measures(self, width: int, device: str) -> list[Measure | None]:
        """The metric of each cell of a row; None for the axes."""
        if (measures := self._known.get((width, device))) is None:
            columns = CASE_COLUMNS[:width] if width > len(self._columns) else self._columns
            measures = self._known[width, device] = [_measure(column, self._kind, device) for column in columns]
        return measures

    def _ended(self, row: CsvRow) -> tuple[str, str | None] | None:
        """Status and reason, where the file says how its cases ended.

        Raises:
            BadRow: The row does not.
        """
        if self._kind == COMPILATION_FILE:
            return None
        text = row.cells[3]
        if self._kind == ACCURACY_FILE:
            if not text:
                raise BadRow("no accuracy")
            return ("fail_to_run", f"the accuracy column reads {text!r}") if is_number(text) else (text, None)
        if not is_number(text):
            if len(row.cells) == 4 and re.fullmatch(r"\w+", text):
                return text, f"the speedup column reads {text!r}"
            raise BadRow(f"speedup is {text!r}, not a number")
        if float(text) > 0 or (self._kind == COVERAGE_FILE and len(row.cells) > 4):  # no graph, yet it ran
            return "ok", None
        return "fail_to_run", f"the row has no measurement: {row.text}"


def _columns(rows: Sequence[tuple[Any, ...]], *names: str) -> dict[str, Any]:
    return dict(zip(names, zip(*rows, strict=True), strict=False))


def is_number(text: str) -> bool:
    """Return whether a cell is one, be it NaN."""
    try:
        float(text)
    except ValueError:
        return False
    return True


@functools.lru_cache(maxsize=1 << 14)  # a case is the same in every report of an archive
def _case(
    axes: tuple[tuple[str, Any], ...], name: str, device: str, batch_size: str, tag: str
) -> tuple[str, str, str, str | None, int | None, Json | None]:
    """A case, in columns.

    Raises:
        BadRow: It has no name, or the batch size is none.
    """
    if not name:
        raise BadRow("no name")
    further = {"tag": tag} if tag else {}
    size: int | None = None
    if re.search(r"[\[(,]", batch_size):
        further["batch_sizes"] = batch_size
    else:
        size = whole("batch_size", batch_size) or None  # a failed row says 0
    case_id, work_hash = case_ids(
        **dict(axes), name=name, device=device or None, batch_size=size, parameters=further or None
    )
    text = as_json(further) if further else None
    return case_id, work_hash, name, device or None, size, text


def _measure(column: str, kind: str, device: str) -> Measure | None:
    if column in NO_METRICS:
        return None
    if kind == COMPILATION_FILE:
        return Measure(column, f"compile_phase:{column}", "ns", 1e9, "s", "lower")
    measure = next((each for each in MEASURES if each.column == column), Measure(column, column))
    if device == "cpu" and column in PERCENT_OF_MEMORY:
        return replace(measure, factor=measure.factor / 100, original_unit=HUNDREDTHS)
    return measure


def _value(measure: Measure, text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        raise BadRow(f"{measure.column} is {text!r}, not a number") from None
    return value * measure.factor if math.isfinite(value) else None
