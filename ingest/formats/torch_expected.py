"""Expectations of PyTorch's CI for torch.compile: accuracy and graph breaks of each model, and speedups to reach.

Three layouts: `name,accuracy,graph_breaks` (ci_expected_accuracy, in 2022 without accuracy), `name,float32,bfloat16,…` (the
accuracy in each dtype; Intel's XPU tests) and `#name,data_type,shape,wrapper,perf_speedup_target_<machine>`. Which compiler,
suite and mode it is about stands in the name, as in `cpu_inductor_amp_freezing_timm_inference.csv`.
"""

import functools
import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from ...warehouse.console.numbers import counted
from ...warehouse.log import Batch
from ..format import Format, Head, Part, Tally, split_lines
from ..readers.csv_rows import CsvRow, rows
from ..readers.document import BadRecord, read_lines
from ..readers.json_format import reject_file
from ..readers.results import Results, Subject, number

DTYPES = {"float32", "float16", "bfloat16", "float64", "amp", "amp_bf16", "amp_fp16"}
TARGET = "perf_speedup_target_"
SUITES = {"torchbench": "torchbench", "huggingface": "huggingface", "timm_models": "timm_models", "timm": "timm_models"}
NAME = re.compile(
    r"(?:rolling__|expected_ci_speedup_)?(?P<before>.*?)_?(?P<suite>torchbench|huggingface|timm_models|timm)"
    r"_?(?P<after>[a-z_]*?)_?(?P<mode>inference|training)?\d?"
)
DEVICES = {"cpu", "cuda", "xpu", "rocm"}
LONGEST_COMMENT = 500  # characters of all comments that a note repeats


class TorchExpected(Format):
    """Expectations of PyTorch's CI."""

    name = "torch-compile-expected"
    doc = "what PyTorch's CI expects of torch.compile: accuracy, graph breaks, speedup targets"
    becomes = "run tagged `expected`; accuracy → an outcome for each dtype; graph_breaks, speedup → metrics"
    unpacks = True

    def recognise(self, head: Head) -> bool:
        """Return whether the first line is one of those headers."""
        lines = split_lines(head.text[:4096].encode("utf-8", "replace"))
        first = next((row for row in rows(enumerate(lines, 1)) if not row.is_blank()), None)
        return first is not None and _Header.of(first) is not None

    def identity(self, name: str) -> str:
        """The compiler in a file's name: two compilers may be expected the same of."""
        return _stem(name)

    def read(self, part: Part, batch: Batch) -> Tally:
        """One record a row."""
        results = Results(part, batch)
        results.run(tags={"expected": True})
        axes, further = _axes(_stem(part.name))
        if not axes:
            results.note("the name says no compiler, suite and mode; they are NULL")
        header: _Header | None = None
        comments: list[str] = []
        try:
            lines = read_lines(part)
        except BadRecord as error:
            reject_file(results, error)
            return results.close()
        for row in rows(lines):
            if row.is_blank():
                continue
            if header is None:
                header = _Header.of(row)
                if header is not None:
                    continue
            if row.text.lstrip().startswith("#") and not (header and len(row.cells) == len(header.columns)):
                comments.append(row.text.strip())
            elif header is None:
                results.reject(BadRecord("no header before it"), row.text, row.line)
            else:
                read = functools.partial(header.load, row, results, axes, further)
                results.record(read, row.text, row.line)
        if comments:
            results.note(f"{counted(len(comments), 'comment')}: {' '.join(comments)[:LONGEST_COMMENT]}")
        if not results.tally.lines:
            results.note("holds no record")
        return results.close()


@dataclass(frozen=True, slots=True)
class _Header:
    """The roles of the columns."""

    columns: list[str]

    @classmethod
    def of(cls, row: CsvRow) -> "_Header | None":
        """The header a row is; None if it is none of these."""
        columns = [cell.removeprefix("#").strip() for cell in row.cells]
        if row.problem or columns[:1] != ["name"] or len(set(columns)) < len(columns):
            return None
        rest = set(columns[1:])
        known = rest in ({"accuracy"}, {"graph_breaks"}, {"accuracy", "graph_breaks"})
        targets = "data_type" in rest and any(column.startswith(TARGET) for column in rest)
        return cls(columns) if known or targets or (rest and rest <= DTYPES) else None

    def load(self, row: CsvRow, results: Results, axes: dict[str, Any], further: dict[str, Any]) -> None:
        """Add what a row says.

        Raises:
            BadRecord: It cannot be read.
        """
        if row.problem is not None:
            raise BadRecord(row.problem)
        if row.text.lstrip().startswith("#"):
            raise BadRecord("disabled with #")
        if len(row.cells) != len(self.columns):
            raise BadRecord(f"{counted(len(row.cells), 'column')} under a header of {len(self.columns)}")
        cells = dict(zip(self.columns, row.cells, strict=True))
        if not cells.pop("name"):
            raise BadRecord("no name")
        for dtype in sorted(DTYPES & cells.keys()):
            if status := cells.pop(dtype):
                results.case(row.cells[0], **axes, dtype=dtype, parameters=further).outcome(status, kind="accuracy")
        accuracy, breaks = cells.pop("accuracy", ""), cells.pop("graph_breaks", "")
        if accuracy or breaks:
            case = results.case(row.cells[0], **axes, parameters=further)
            _number(case, "graph_breaks", breaks, "count", "lower")
            if accuracy:
                case.outcome(accuracy, kind="accuracy")
        targets = {column: cells.pop(column) for column in list(cells) if column.startswith(TARGET)}
        named = {
            "dtype": cells.pop("data_type", "") or None,
            "backend": cells.pop("backend", "") or axes.get("backend"),
        }
        for column, target in targets.items():
            parameters = further | cells | {"machine": column.removeprefix(TARGET)}
            _number(
                results.case(row.cells[0], **axes | named, parameters=parameters), "speedup", target, "ratio", "higher"
            )


def _number(case: Subject, metric: str, text: str, unit: str, better: str) -> None:
    if text:
        if number(text) is None:
            raise BadRecord(f"{metric} is {text[:60]!r}, not a number")
        case.metric(metric, text, unit, better=better)


def _stem(name: str) -> str:
    return PurePath(name.removesuffix(".gz")).stem


def _axes(stem: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The axes and parameters that a file's name says; empty if it says none."""
    match = NAME.fullmatch(stem)
    if match is None:
        return {}, {}
    words = [word for word in f"{match['before']}_{match['after']}".split("_") if word]
    mode = match["mode"] or next((word for word in words if word in ("inference", "training")), None)
    device = next((word for word in words if word in DEVICES), None)
    named = "_".join(word for word in words if word not in (mode, device, "dynamic"))
    axes = {"backend": named or None, "suite": SUITES[match["suite"]], "mode": mode, "device": device}
    return axes, {"dynamic_shapes": True} if "dynamic" in words else {}
