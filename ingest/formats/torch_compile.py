"""Results of PyTorch's torch.compile benchmarks (benchmarks/dynamo): performance, accuracy and compilation metrics.

A folder is one report. What was measured stands partly in the rows and partly in the file's name,
`<compiler>_<suite>_<dtype>_<mode>_<device>_<performance|accuracy>[_compilation_metrics].csv`.

A failed model is a short row such as `cuda,gat,0,0.0000`, in accuracy files too: it becomes an outcome, never a value.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...warehouse.events import Case, Json, Metric, Outcome
from ...warehouse.log import Batch
from ...warehouse.recorder import case_ids
from ..csvfile import BadRow, Row, reject, rows, whole
from ..format import Format, Head, Part, Tally, split_lines

PERFORMANCE, ACCURACY, COMPILATION, SUMMARY = "performance", "accuracy", "compilation metrics", "summary"
LOOK = 1 << 14  # bytes by which a file is recognised
LEADING = ["dev", "name", "batch_size"]
COLUMNS = [  # of a performance file, in the order they were added over the years; older files have fewer
    *LEADING, "speedup", "abs_latency", "compilation_latency", "compression_ratio", "eager_peak_mem", "dynamo_peak_mem",
    "calls_captured", "unique_graphs", "graph_breaks", "unique_graph_breaks", "autograd_captures", "autograd_compiles",
    "cudagraph_skips",
]  # fmt: skip
DEVICES = {"cpu", "cuda", "xpu", "mps", "hpu", "npu", "rocm", "hip", "xla", "tpu", "mtia", "maia"}

# column -> metric, its unit, what one of the file's is in it, the file's unit, and which direction is better
METRICS: dict[str, tuple[str, str | None, float, str | None, str | None]] = {
    "speedup": ("speedup", "ratio", 1.0, "ratio", "higher"),
    "abs_latency": ("absolute_latency", "ns", 1e6, "ms", "lower"),
    "compilation_latency": ("compile_latency", "ns", 1e9, "s", "lower"),
    "compression_ratio": ("compression_ratio", "ratio", 1.0, "ratio", "higher"),
    "eager_peak_mem": ("eager_peak_memory", "bytes", 1e9, "GB", "lower"),
    "dynamo_peak_mem": ("compiled_peak_memory", "bytes", 1e9, "GB", "lower"),
    "cache_lookup_latency": ("cache_lookup_latency", "ns", 1e9, "s", "lower"),
    "calls_captured": ("calls_captured", "count", 1.0, "count", None),
    "unique_graphs": ("unique_graphs", "count", 1.0, "count", None),
    "graph_breaks": ("graph_breaks", "count", 1.0, "count", "lower"),
    "unique_graph_breaks": ("unique_graph_breaks", "count", 1.0, "count", "lower"),
    "autograd_captures": ("autograd_captures", "count", 1.0, "count", None),
    "autograd_compiles": ("autograd_compiles", "count", 1.0, "count", None),
    "cudagraph_skips": ("cudagraph_skips", "count", 1.0, "count", "lower"),
}
# On a CPU the benchmark multiplies psutil's percentage (0 to 100) by the size of memory: its "GB" are hundredths, and
# they are the resident size after the loop, no peak.
PERCENT_OF_MEMORY = {"eager_peak_mem", "dynamo_peak_mem"}
CPU_MEMORY = (
    "on a CPU the peak memories are the resident size after the loop, written 100 times too large; "
    "they are loaded divided by 100"
)

NAME = re.compile(
    r"(?P<backend>.+?)_(?P<suite>torchbench|huggingface|timm_models|[^_]+)_(?P<dtype>(?:amp|autocast)_(?:bf16|fp16|[^_]*float16)|[^_]+)_"
    r"(?P<mode>inference|training)_(?P<device>[^_]+)_(?P<kind>performance|accuracy)(?P<metrics>_compilation_metrics)?"
)


class TorchCompile(Format):
    """Report of the torch.compile benchmarks."""

    name = "torch-compile"
    doc = "torch.compile benchmark results: performance, accuracy and compilation_metrics CSVs of one folder"

    def recognise(self, head: Head) -> bool:
        """Whether the first records are of such a file, with its header or without."""
        if _is_summary(head):
            return True
        first = next((row for row in _first_rows(head) if not row.is_blank()), None)
        if first is None or not (
            _is_result(first) or first.text.lstrip().startswith("#") or first.cells[:1] == LEADING[:1]
        ):
            return False
        return _Table.of(list(_first_rows(head)), head.path.name) is not None

    def left_out(self, head: Head) -> str | None:
        """The summaries a report was published with are derived data."""
        return "is a published summary, which the views derive from the results" if _is_summary(head) else None

    def identity(self, name: str) -> str:
        """The axes a name says: two compilers that pass the same models write the same accuracy file."""
        match = NAME.fullmatch(_stem(name))
        return " ".join(group or "" for group in match.groups()) if match else ""

    def read(self, part: Part, batch: Batch) -> Tally:
        """One case with its outcome and metrics a line."""
        tally = Tally()
        records = list(rows(part.lines()))
        table = _Table.of(records, part.path.name)
        if table is None:
            tally.notes.append(f"{part.path.name} holds no row of results")
            table = _Table(PERFORMANCE, COLUMNS, 0)
        match = NAME.fullmatch(_stem(part.path.name))
        axes: dict[str, Any] = match.groupdict() if match else {}
        if match is None:
            tally.notes.append(f"the name {part.path.name} says no compiler, suite, dtype and mode; they are NULL")
        reader = _Reader(part, table, axes)
        announced: set[str] = set()
        again = 0
        for row in records[table.first :]:
            tally.lines += 1
            try:
                events = list(reader.events(row))
            except BadRow as error:
                reject(part, batch, tally, row, str(error))
                continue
            case = next(event for event in events if isinstance(event, Case))
            again += case.case_id in announced
            for event in events:
                if event is not case or case.case_id not in announced:
                    batch.add(event)
            announced.add(case.case_id)
            tally.loaded += 1
        if again:
            tally.notes.append(
                f"{part.path.name}: {again} rows repeat the name and batch size of another; all are kept"
            )
        if reader.cpu_memory:
            tally.notes.append(f"{part.path.name}: {CPU_MEMORY}")
        return tally


def _stem(name: str) -> str:
    return name.removesuffix(".csv")


def _first_rows(head: Head) -> Iterator[Row]:
    return rows(enumerate(split_lines(head.data[:LOOK]), 1))


def _is_summary(head: Head) -> bool:
    first = next(_first_rows(head), None)
    return first is not None and len(first.cells) > 2 and first.cells[:2] == ["", "Compiler"]


@dataclass(frozen=True, slots=True)
class _Table:
    """What kind of file it is, and what its columns are."""

    kind: str
    columns: list[str]
    first: int  # index of the first record that is no header

    @classmethod
    def of(cls, records: list[Row], name: str) -> "_Table | None":
        """Judge the first records; None if they are of no such file. The name only decides what they leave open."""
        first = next((index for index, row in enumerate(records) if not row.is_blank()), None)
        if first is None:
            return None
        cells = [cell.removeprefix("#").strip() for cell in records[first].cells]
        if cells[:3] == LEADING and len(cells) > 3:
            kind = {"speedup": PERFORMANCE, "accuracy": ACCURACY}.get(cells[3], COMPILATION)
            return cls(kind, cells, first + 1)
        data = [row for row in records[first:] if _is_result(row)]
        if not data or (not _is_result(records[first]) and not records[first].text.lstrip().startswith("#")):
            return None
        if _stem(name).endswith("_compilation_metrics"):
            kind = COMPILATION
        elif max(len(row.cells) for row in data) > 4:
            kind = PERFORMANCE
        else:
            said = NAME.fullmatch(_stem(name))
            numbers = all(_is_number(row.cells[3]) for row in data)
            kind = said["kind"] if said else PERFORMANCE if numbers else ACCURACY
        columns = [*LEADING, "accuracy"] if kind == ACCURACY else LEADING if kind == COMPILATION else COLUMNS
        return cls(kind, columns, first)


def _is_result(row: Row) -> bool:
    cells = row.cells
    return len(cells) > 3 and cells[0].lower() in DEVICES and bool(re.fullmatch(r"[\d\s,.()\[\]]+", cells[2]))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class _Reader:
    """Turns rows into events."""

    def __init__(self, part: Part, table: _Table, axes: dict[str, Any]) -> None:
        self.part = part
        self.table = table
        self.axes = {key: axes.get(key) for key in ("backend", "suite", "dtype", "mode")}
        self.cpu_memory = False  # whether a memory was met that is divided by 100

    def events(self, row: Row) -> Iterator[Case | Outcome | Metric]:
        """The events of a row, its case first.

        Raises:
            BadRow: It cannot be read.
        """
        if row.problem is not None:
            raise BadRow(row.problem)
        if row.is_blank():
            raise BadRow("blank line")
        if row.text.lstrip().startswith("#"):
            raise BadRow("disabled with #")
        if row.cells[:3] == LEADING:
            raise BadRow("a header amid the rows")
        if len(row.cells) < 4:
            raise BadRow(f"{len(row.cells)} columns; want device, name, batch size and a result at least")
        cells = dict(zip(self._columns(row), row.cells, strict=False))
        case = self._case(cells)
        place = {
            "run_id": self.part.run_id,
            "case_id": case["case_id"],
            "source_id": self.part.source_id,
            "line": row.line,
        }
        yield Case(**case, run_id=self.part.run_id, source_id=self.part.source_id, line=row.line)
        if self.table.kind == ACCURACY:
            yield _accuracy(row, place)
        elif self.table.kind == PERFORMANCE:
            outcome = _performance(row, place)
            yield outcome
            if outcome.status != "ok":
                return
        for column, text in cells.items():
            if column not in LEADING and column not in ("accuracy", "tag") and text:
                yield self._metric(column, text, cells["dev"].lower(), place)

    def _columns(self, row: Row) -> list[str]:
        columns, have = self.table.columns, len(row.cells)
        if self.table.kind == COMPILATION and have != len(columns):
            # A phase that did not run is left out of a row, and which one it was nobody can tell from the rest.
            raise BadRow(
                f"{have - 3} phase times under {len(columns) - 3} phases: which are missing or added is unknown"
            )
        if have > len(columns):
            if columns != COLUMNS[: len(columns)] or have > len(COLUMNS):
                raise BadRow(f"{have} columns under a header of {len(columns)}")
            return COLUMNS[:have]
        return columns

    def _case(self, cells: dict[str, str]) -> dict[str, Any]:
        if not cells["name"]:
            raise BadRow("no name")
        further = {"tag": cells["tag"]} if cells.get("tag") else {}
        size: int | None = None
        if re.search(r"[\[(,]", cells["batch_size"]):
            further["batch_sizes"] = cells["batch_size"]
        else:
            size = whole("batch_size", cells["batch_size"]) or None  # a failed row says 0
        axes: dict[str, Any] = {
            **self.axes,
            "name": cells["name"],
            "device": cells["dev"].lower() or None,
            "batch_size": size,
        }
        case_id, work_hash = case_ids(**axes, parameters=further or None)
        said = Json(json.dumps(further, sort_keys=True)) if further else None
        return {**axes, "case_id": case_id, "work_hash": work_hash, "parameters": said}

    def _metric(self, column: str, text: str, device: str, place: dict[str, Any]) -> Metric:
        kind = METRICS.get(column, (column, None, 1.0, None, None))
        if self.table.kind == COMPILATION:
            kind = (f"compile_phase:{column}", "ns", 1e9, "s", "lower")
        metric, unit, factor, original_unit, better = kind
        if column in PERCENT_OF_MEMORY and device == "cpu":
            self.cpu_memory = True
            factor, original_unit = factor / 100, "GB × 100"
        if not _is_number(text):
            raise BadRow(f"{column} is {text!r}, not a number")
        value = float(text)
        return Metric(
            metric=metric, value=value * factor if math.isfinite(value) else None, unit=unit, better=better,
            original_value=text, original_unit=original_unit, **place,
        )  # fmt: skip


def _performance(row: Row, place: dict[str, Any]) -> Outcome:
    speedup = row.cells[3]
    if not _is_number(speedup):
        if len(row.cells) == 4 and re.fullmatch(r"\w+", speedup):
            return Outcome(status=speedup, reason=f"the speedup column reads {speedup!r}", **place)
        raise BadRow(f"speedup is {speedup!r}, not a number")
    if float(speedup) > 0:
        return Outcome(status="ok", **place)
    return Outcome(status="fail_to_run", reason=f"the row has no measurement: {row.text}", **place)


def _accuracy(row: Row, place: dict[str, Any]) -> Outcome:
    status = row.cells[3]
    if not status:
        raise BadRow("no accuracy")
    if _is_number(status):
        return Outcome(kind="accuracy", status="fail_to_run", reason=f"the accuracy column reads {status!r}", **place)
    return Outcome(kind="accuracy", status=status, **place)
