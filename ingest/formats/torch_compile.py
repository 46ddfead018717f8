"""Results of PyTorch's torch.compile benchmarks (benchmarks/dynamo): performance, accuracy, coverage, compilation metrics.

A folder is one report; an archive is a folder of them, named by their day (`day_001_01_01_23_performance_amp_179`, in
2022 `08_05_22_Performance_19942`). What was measured stands partly in the rows and partly in the file's name,
`<compiler>_<suite>_<dtype>_<mode>_<device>_<performance|accuracy>[_compilation_metrics].csv`; in 2022 without the kind,
and `<compiler>_<suite>_<dtype>_coverage_<device>.csv`.

A failed model is a short row such as `cuda,gat,0,0.0000`, in accuracy files too: it becomes an outcome, never a value.
"""

import functools
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from ...warehouse.events import Case, Json, Metric, Outcome, Run
from ...warehouse.log import Batch
from ...warehouse.recorder import case_ids
from ..csvfile import BadRow, Row, reject, rows, whole
from ..document import BadRecord, labels, lines_of, read_lines
from ..format import Format, Head, Part, Tally, split_lines
from ..torchnames import FOLDERS, SIDE_BY_SIDE, axes_of, day_of, stem

PERFORMANCE, ACCURACY, COVERAGE, COMPILATION = "performance", "accuracy", "coverage", "compilation metrics"
LOOK = 1 << 14  # bytes by which a file is recognised
LEADING = ["dev", "name", "batch_size"]
COLUMNS = [  # of a performance file, in the order they were added over the years; older files have fewer
    *LEADING, "speedup", "abs_latency", "compilation_latency", "compression_ratio", "eager_peak_mem", "dynamo_peak_mem",
    "calls_captured", "unique_graphs", "graph_breaks", "unique_graph_breaks", "autograd_captures", "autograd_compiles",
    "cudagraph_skips",
]  # fmt: skip
BEFORE_LATENCY = [column for column in COLUMNS[:7] if column != "abs_latency"]  # of rows without header, until 2022
COVERED = ["graphs", "graph_calls", "captured_ops", "total_ops", "pct_ops", "pct_time", "start_latency"]
KINDS = {"speedup": PERFORMANCE, "accuracy": ACCURACY, "graphs": COVERAGE}  # by the first column after LEADING
NO_METRICS = {*LEADING, "accuracy", "tag"}
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
    "graphs": ("graphs", "count", 1.0, "count", None),
    "graph_calls": ("graph_calls", "count", 1.0, "count", None),
    "captured_ops": ("captured_ops", "count", 1.0, "count", "higher"),
    "total_ops": ("total_ops", "count", 1.0, "count", None),
    "pct_ops": ("captured_ops_share", "ratio", 1.0, "ratio", "higher"),  # called percent, and is 0 to 1
    "pct_time": ("captured_time_share", "ratio", 1.0, "ratio", "higher"),
    "start_latency": ("start_latency", "ns", 1e9, "s", "lower"),
}
# On a CPU the benchmark multiplies psutil's percentage (0 to 100) by the size of memory: its "GB" are hundredths, and
# they are the resident size after the loop, no peak.
PERCENT_OF_MEMORY = {"eager_peak_mem", "dynamo_peak_mem"}
CPU_MEMORY = (
    "on a CPU the peak memories are the resident size after the loop, written 100 times too large; "
    "they are loaded divided by 100"
)

LOOKUP = re.compile(r"\d{3},(?:performance|accuracy|coverage),\w+,[^,/]+")


class TorchCompile(Format):
    """Report of the torch.compile benchmarks."""

    name = "torch-compile"
    doc = (
        "torch.compile benchmark results: performance, accuracy, coverage and compilation_metrics CSVs of one folder, of any "
        "age, or an archive of such folders by day; its expected-performance CSV"
    )
    becomes = (
        "a folder → a run, of its day where its name says one; a row → a case with its outcome, speedup, absolute_latency, "
        "compile_latency, peak memories and counters, compile_phase:…; see [ingest](ingest.md#torch-compile)"
    )
    lost = "nothing; summaries and lookup.csv, which say the same again, are left out with a note"
    places = FOLDERS
    unpacks = True

    def recognise(self, head: Head) -> bool:
        """Whether the first records are of such a file, with its header or without."""
        if _said_elsewhere(head):
            return True
        first = next((row for row in _first_rows(head) if not row.is_blank()), None)
        if first is None or not (
            _is_result(first) or first.text.lstrip().startswith("#") or first.cells[:1] == LEADING[:1]
        ):
            return False
        return (
            _Table.of([first], head.path.name) is not None
            or _Table.of(list(_first_rows(head)), head.path.name) is not None
        )

    def left_out(self, head: Head) -> str | None:
        """What says again what other files say."""
        return _said_elsewhere(head)

    def identity(self, name: str) -> str:
        """The axes a name says, and the day: two compilers that pass the same models write the same accuracy file."""
        said = " ".join(value or "" for value in axes_of(name).values())
        return f"{said} {place}" if (place := self.result_set(name)) else said

    def result_set(self, name: str) -> str:
        """The day's folder in an archive."""
        return PurePath(name).parent.as_posix() if "/" in name else ""

    def read(self, part: Part, batch: Batch) -> Tally:
        """One case with its outcome and metrics a line."""
        tally = Tally()
        tally.runs.append(_run(part))
        tally.shares[part.run_id] = tally
        try:
            records = list(rows(read_lines(part)))
        except BadRecord as error:
            tally.lines += 1
            reject(part, batch, tally, Row(1, [], "", ""), str(error))
            return tally
        table = _Table.of(records, part.path.name)
        if table is None:
            tally.notes.append(f"{part.path.name} holds no row of results")
            table = _Table(PERFORMANCE, COLUMNS, 0)
        axes = axes_of(part.path.name)
        if not axes:
            tally.notes.append(f"the name {part.path.name} says no compiler, suite, dtype and mode; they are NULL")
        reader = _Reader(part, table, axes)
        announced: set[str] = set()
        again = 0
        for row in records[table.first :]:
            tally.lines += 1
            try:
                case, events = reader.events(row)
            except BadRow as error:
                reject(part, batch, tally, row, str(error))
                continue
            if case.case_id in announced:
                again += 1
            else:
                batch.add(case)
                announced.add(case.case_id)
            for event in events:
                batch.add(event)
            tally.loaded += 1
        if again:
            tally.notes.append(
                f"{part.path.name}: {again} rows repeat the name and batch size of another; all are kept"
            )
        if reader.cpu_memory:
            tally.notes.append(f"{part.path.name}: {CPU_MEMORY}")
        return tally


def _run(part: Part) -> Run:
    """The run of a part, of the day that the folder's name says."""
    folder = part.path.absolute().parent.name
    day = day_of(folder)
    tags = labels({"folder": folder if day is not None else None})
    return Run(run_id=part.run_id, config=part.config, source=part.format, started_at=day, tags=tags)


def _first_rows(head: Head) -> Iterator[Row]:
    return rows(enumerate(split_lines(head.text[:LOOK].encode("utf-8", "replace")), 1))


def _said_elsewhere(head: Head) -> str | None:
    """Why a file is left out that says what others say: a summary of a report, an index of an archive; None for results."""
    first = next(_first_rows(head), None)
    cells = first.cells if first is not None else []
    if (len(cells) > 2 and cells[:2] == ["", "Compiler"]) or cells[:3] == ["dev", "suite", "name"]:
        return "is a published summary, which the views derive from the results"
    if (
        len(cells) > 3
        and cells[:3] == LEADING
        and cells[3] not in KINDS
        and SIDE_BY_SIDE.fullmatch(stem(head.path.name))
    ):
        return "shows side by side what the compilers' own files hold"
    if first is not None and LOOKUP.fullmatch(first.text):
        folders = [line.rpartition(",")[2] for line in lines_of(head.text) if LOOKUP.fullmatch(line)]
        missing = sum(not (head.path.parent / folder).is_dir() for folder in folders)
        return f"is an index of {len(folders)} reports" + (f", {missing} of which are not here" if missing else "")
    return None


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
            return cls(KINDS.get(cells[3], COMPILATION), cells, first + 1)
        data = [row for row in records[first:] if _is_result(row)]
        if not data or (not _is_result(records[first]) and not records[first].text.lstrip().startswith("#")):
            return None
        called = stem(name)
        width = max(len(row.cells) for row in data)
        if called.endswith("_compilation_metrics"):
            return cls(COMPILATION, LEADING, first)
        if "_coverage_" in called:
            return cls(COVERAGE, [*LEADING, *COVERED], first)
        if width == 4 and (axes_of(name).get("kind") or _kind_of(data)) == ACCURACY:
            return cls(ACCURACY, [*LEADING, "accuracy"], first)
        return cls(PERFORMANCE, BEFORE_LATENCY if width == len(BEFORE_LATENCY) else COLUMNS, first)


def _kind_of(data: list[Row]) -> str:
    return PERFORMANCE if all(_is_number(row.cells[3]) for row in data) else ACCURACY


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

    def events(self, row: Row) -> tuple[Case, list[Outcome | Metric]]:
        """The case of a row, and what it says of it.

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
        announced = Case(**case, run_id=self.part.run_id, source_id=self.part.source_id, line=row.line)
        events: list[Outcome | Metric] = []
        if self.table.kind == ACCURACY:
            events.append(_accuracy(row, place))
        elif self.table.kind != COMPILATION:
            outcome = _performance(row, place, self.table.kind)
            events.append(outcome)
            if outcome.status != "ok":
                return announced, events
        device = cells["dev"].lower()
        events += [
            self._metric(column, text, device, place)
            for column, text in cells.items()
            if text and column not in NO_METRICS
        ]
        return announced, events

    def _columns(self, row: Row) -> list[str]:
        columns, have = self.table.columns, len(row.cells)
        if self.table.kind == COMPILATION and have != len(columns):
            # A phase that did not run is left out of a row, and which one it was nobody can tell from the rest.
            raise BadRow(
                f"{have - 3} phase times under {len(columns) - 3} phases: which are missing or added is unknown"
            )
        if have > len(columns):
            if len(columns) < 4 or columns != COLUMNS[: len(columns)] or have > len(COLUMNS):
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
        case_id, work_hash = _case_ids(tuple(axes.items()), tuple(further.items()))
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
        try:
            value = float(text)
        except ValueError:
            raise BadRow(f"{column} is {text!r}, not a number") from None
        return Metric(
            metric=metric, value=value * factor if math.isfinite(value) else None, unit=unit, better=better,
            original_value=text, original_unit=original_unit, **place,
        )  # fmt: skip


@functools.lru_cache(maxsize=1 << 14)
def _case_ids(axes: tuple[tuple[str, Any], ...], further: tuple[tuple[str, str], ...]) -> tuple[str, str]:
    """Ids of a case, which is the same in every report of an archive."""
    return case_ids(**dict(axes), parameters=dict(further) or None)


def _performance(row: Row, place: dict[str, Any], kind: str) -> Outcome:
    speedup = row.cells[3]
    if not _is_number(speedup):
        if len(row.cells) == 4 and re.fullmatch(r"\w+", speedup):
            return Outcome(status=speedup, reason=f"the speedup column reads {speedup!r}", **place)
        raise BadRow(f"speedup is {speedup!r}, not a number")
    if float(speedup) > 0 or (kind == COVERAGE and len(row.cells) > 4):  # no graph, yet it ran
        return Outcome(status="ok", **place)
    return Outcome(status="fail_to_run", reason=f"the row has no measurement: {row.text}", **place)


def _accuracy(row: Row, place: dict[str, Any]) -> Outcome:
    status = row.cells[3]
    if not status:
        raise BadRow("no accuracy")
    if _is_number(status):
        return Outcome(kind="accuracy", status="fail_to_run", reason=f"the accuracy column reads {status!r}", **place)
    return Outcome(kind="accuracy", status=status, **place)
