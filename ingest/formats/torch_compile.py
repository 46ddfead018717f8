"""Results of PyTorch's torch.compile benchmarks (benchmarks/dynamo): performance, accuracy, coverage, compilation metrics.

A folder is one report; an archive is a folder of them, named by their day (`day_001_01_01_23_performance_amp_179`, in
2022 `08_05_22_Performance_19942`). What was measured stands partly in the rows and partly in the file's name,
`<compiler>_<suite>_<dtype>_<mode>_<device>_<performance|accuracy>[_compilation_metrics].csv`; in 2022 without the kind,
and `<compiler>_<suite>_<dtype>_coverage_<device>.csv`.

A failed model is a short row such as `cuda,gat,0,0.0000`, in accuracy files too: it becomes an outcome, never a value.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...warehouse.console.numbers import counted
from ...warehouse.events import RunRecord
from ...warehouse.log import Batch
from ..format import Format, Head, Part, Tally, split_lines
from ..readers.csv_rows import BadRow, CsvRow, read_rows, reject, rows
from ..readers.document import labels, lines_of
from ._torch_names import NIGHT_FOLDERS, axes_of, day_of, stem
from ._torch_rows import (
    ACCURACY_FILE,
    CASE_COLUMNS,
    COMPILATION_FILE,
    COVERAGE_FILE,
    FIRST_COLUMNS,
    PERFORMANCE_FILE,
    ResultRows,
    is_number,
)
from .torch_baselines import is_wide, repeats_others

LOOK = 1 << 14  # bytes by which a file is recognised
BEFORE_LATENCY = [
    column for column in CASE_COLUMNS[:7] if column != "abs_latency"
]  # of rows without header, until 2022
COVERED = ["graphs", "graph_calls", "captured_ops", "total_ops", "pct_ops", "pct_time", "start_latency"]
# by the first column after LEADING
TABLE_OF_COLUMN = {"speedup": PERFORMANCE_FILE, "accuracy": ACCURACY_FILE, "graphs": COVERAGE_FILE}
DEVICES = {"cpu", "cuda", "xpu", "mps", "hpu", "npu", "rocm", "hip", "xla", "tpu", "mtia", "maia"}
CPU_MEMORY = (
    "on a CPU the peak memories are the resident size after the loop, written 100 times too large; "
    "they are loaded divided by 100"
)

LOOKUP = re.compile(r"\d{3},(?:performance|accuracy|coverage),\w+,[^,/]+")


class TorchCompile(Format):
    """Report of the torch.compile benchmarks."""

    name = "torch-compile"
    doc = (
        "torch.compile benchmark CSVs (performance, accuracy, coverage, compilation_metrics), or an archive of folders "
        "by day"
    )
    becomes = (
        "outcome, speedup, absolute_latency, compile_latency, memory peaks, counters, compile_phase:…; see "
        "[ingest](ingest.md#torch-compile)"
    )
    places = NIGHT_FOLDERS
    unpacks = True

    def recognise(self, head: Head) -> bool:
        """Return whether the first records are of such a file, with its header or without."""
        if _repeats_other_files(head):
            return True
        first = next((row for row in _first_rows(head) if not row.is_blank()), None)
        if (
            first is None
            or is_wide(first.cells, head.path)
            or not (_is_result(first) or first.text.lstrip().startswith("#") or first.cells[:1] == FIRST_COLUMNS[:1])
        ):
            return False
        return (
            _Table.of([first], head.path.name) is not None
            or _Table.of(list(_first_rows(head)), head.path.name) is not None
        )

    def left_out(self, head: Head) -> str | None:
        """The reason to take the file for a repetition of others; None if it is not."""
        return _repeats_other_files(head)

    def identity(self, name: str) -> str:
        """The axes a name says, and the day: two compilers that pass the same models write the same accuracy file."""
        label = " ".join(value or "" for value in axes_of(name).values())
        return f"{label} {place}" if (place := self.result_set(name)) else label

    def result_set(self, name: str) -> str:
        """The day's folder in an archive."""
        return name.rpartition("/")[0]

    def read(self, part: Part, batch: Batch) -> Tally:
        """One case with its outcome and metrics a line."""
        tally = Tally()
        tally.runs.append(_run(part))
        tally.shares[part.run_id] = tally
        records = read_rows(part, batch, tally)
        if records is None:
            return tally
        table = _Table.of(records, part.path.name)
        if table is None:
            tally.notes.append(f"{part.path.name} holds no row of results")
            table = _Table(PERFORMANCE_FILE, CASE_COLUMNS, 0)
        axes = axes_of(part.path.name)
        if not axes:
            tally.notes.append(f"the name {part.path.name} says no compiler, suite, dtype and mode; they are NULL")
        results = ResultRows(part, table.kind, table.columns, axes)
        for row in records[table.first :]:
            tally.lines += 1
            try:
                results.take(row)
            except BadRow as error:
                reject(part, batch, tally, row, str(error))
            else:
                tally.loaded += 1
        results.give(batch)
        if results.again:
            tally.notes.append(
                f"{part.path.name}: {counted(results.again, 'row', 'repeats', 'repeat')} the name and batch size of another; "
                "all are kept"
            )
        if results.has_cpu_memory:
            tally.notes.append(f"{part.path.name}: {CPU_MEMORY}")
        return tally


def _run(part: Part) -> RunRecord:
    """The run of a part, of the day that the folder's name says."""
    folder = part.path.absolute().parent.name
    day = day_of(folder)
    tags = labels({"folder": folder if day is not None else None})
    return RunRecord(run_id=part.run_id, config=part.config, source=part.format, started_at=day, tags=tags)


def _first_rows(head: Head) -> Iterator[CsvRow]:
    return rows(enumerate(split_lines(head.text[:LOOK].encode("utf-8", "replace")), 1))


def _repeats_other_files(head: Head) -> str | None:
    """The reason to leave a file out: it summarises a report, or indexes an archive; None for results."""
    first = next(_first_rows(head), None)
    cells = first.cells if first is not None else []
    if (len(cells) > 2 and cells[:2] == ["", "Compiler"]) or cells[:3] == ["dev", "suite", "name"]:
        return "is a published summary, which the views derive from the results"
    if len(cells) > 3 and cells[:3] == FIRST_COLUMNS and cells[3] not in TABLE_OF_COLUMN and repeats_others(head.path):
        return "shows side by side what the compilers' own files hold"
    if first is not None and LOOKUP.fullmatch(first.text):
        folders = [line.rpartition(",")[2] for line in lines_of(head.text) if LOOKUP.fullmatch(line)]
        missing = sum(not (head.path.parent / folder).is_dir() for folder in folders)
        return f"is an index of {counted(len(folders), 'report')}" + (
            f", {missing} of which are not here" if missing else ""
        )
    return None


@dataclass(frozen=True, slots=True)
class _Table:
    """The kind of file, and its columns."""

    kind: str
    columns: list[str]
    first: int  # index of the first record that is no header

    @classmethod
    def of(cls, records: list[CsvRow], name: str) -> "_Table | None":
        """Judge the first records; None if they are of no such file. The name only decides what they leave open."""
        first = next((index for index, row in enumerate(records) if not row.is_blank()), None)
        if first is None:
            return None
        cells = [cell.removeprefix("#").strip() for cell in records[first].cells]
        if cells[:3] == FIRST_COLUMNS and len(cells) > 3:
            return cls(TABLE_OF_COLUMN.get(cells[3], COMPILATION_FILE), cells, first + 1)
        data = [row for row in records[first:] if _is_result(row)]
        if not data or (not _is_result(records[first]) and not records[first].text.lstrip().startswith("#")):
            return None
        called = stem(name)
        width = max(len(row.cells) for row in data)
        if called.endswith("_compilation_metrics"):
            return cls(COMPILATION_FILE, FIRST_COLUMNS, first)
        if "_coverage_" in called:
            return cls(COVERAGE_FILE, [*FIRST_COLUMNS, *COVERED], first)
        if width == 4 and (axes_of(name).get("kind") or _kind_of(data)) == ACCURACY_FILE:
            return cls(ACCURACY_FILE, [*FIRST_COLUMNS, "accuracy"], first)
        return cls(PERFORMANCE_FILE, BEFORE_LATENCY if width == len(BEFORE_LATENCY) else CASE_COLUMNS, first)


def _kind_of(data: list[CsvRow]) -> str:
    return PERFORMANCE_FILE if all(is_number(row.cells[3]) for row in data) else ACCURACY_FILE


def _is_result(row: CsvRow) -> bool:
    cells = row.cells
    return len(cells) > 3 and cells[0].lower() in DEVICES and bool(re.fullmatch(r"[\d\s,.()\[\]]+", cells[2]))
