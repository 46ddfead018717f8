"""Speedups of several backends side by side, as TorchDynamo's benchmarks wrote them in 2022: a row a model, a column a backend.

A file that the dashboard made of the compilers' own files has the same form; it is read where these are not beside it.
"""

import contextlib
from pathlib import Path
from typing import Any

from ..format import Head
from ..readers.csv_rows import rows
from ..readers.document import Object, lines_of
from ..readers.json_format import ListFormat
from ..readers.results import Results, number
from ._torch_names import SIDE_BY_SIDE, axes_of, stem
from ._torch_rows import MEASURES

OF_ROW = ("dev", "name", "batch_size")
BACKENDS = {
    "eager", "aot_eager", "aot_cudagraphs", "aot_nvfuser", "aot_ts", "aot_ts_nvfuser", "cudagraphs", "cudagraphs_ts", "fx2trt",
    "inductor", "inductor_no_cudagraphs", "ipex", "ipex_bf16", "ipex_fp32", "nnc", "nvfuser", "nvprims_nvfuser", "ofi", "onednn",
    "onnx2tensorrt", "onnx2tf", "onnx2trt", "onnxrt", "onnxrt_cpu", "onnxrt_cpu_numpy", "onnxrt_cuda", "sr", "static_runtime",
    "taso", "torch2trt", "torch_tensorrt", "tensorrt", "trt", "ts", "ts_nnc", "ts_nvfuser", "ts_nvfuser_cudagraphs", "tvm", "xla",
}  # fmt: skip


class TorchBaselines(ListFormat):
    """Speedups, a backend a column."""

    name = "torch-baselines"
    doc = "TorchDynamo CSV of 2022: dev,name[,batch_size],ts,ofi,…"
    becomes = (
        "column → backend with speedup over eager; 0 → fail_to_run, word → accuracy outcome; the file's name says "
        "suite, dtype, mode and another metric"
    )
    headers = (frozenset({"dev", "name"}),)

    def recognise(self, head: Head) -> bool:
        """Return whether the first line names backends, and no compiler's own file lies beside it."""
        first = next(rows((1, line.encode()) for line in lines_of(head.text)[:1]), None)
        return first is not None and is_wide(first.cells, head.path) and not repeats_others(head.path)

    def load(self, record: Object, results: Results) -> None:
        """One model with all backends."""
        name, size = record.name("name"), record.count("batch_size")
        device = (record.text("dev") or "").lower() or None
        called = stem(results.part.name)
        match = SIDE_BY_SIDE.fullmatch(called)
        said: dict[str, Any] = {
            axis: value for axis, value in (match.groupdict() if match else {}).items() if axis != "device"
        }
        measure = next((each for each in MEASURES if each.column in called), MEASURES[0])
        for backend in [key for key in record if key not in OF_ROW]:
            case = results.case(name, device=device, batch_size=size, backend=backend, **said)
            text = record.text(backend) or ""
            value = number(text)
            if value is None and text.lower() != "nan":
                case.outcome(text[:200], kind="accuracy")
            elif not value:
                case.outcome("fail_to_run", f"the column reads {text}")
            else:
                case.metric(measure.metric, text, measure.original_unit, better=measure.better)


def is_wide(cells: list[str], path: Path) -> bool:
    """True if a header names backends: today's, or any in a file that is named as the dashboard's were."""
    columns = [cell for cell in cells[2:] if cell != "batch_size"]
    if cells[:2] != ["dev", "name"] or not columns or len(set(cells)) < len(cells):
        return False
    known = {measure.column for measure in MEASURES} | {"accuracy", "tag"}
    named = SIDE_BY_SIDE.fullmatch(stem(path.name)) is not None and known.isdisjoint(columns)
    return named or all(column in BACKENDS for column in columns)


def repeats_others(path: Path) -> bool:
    """True if it is named as the dashboard's are, and the compilers' own files, its source, lie beside it."""
    with contextlib.suppress(OSError):
        if SIDE_BY_SIDE.fullmatch(stem(path.name)):
            return any(
                axes_of(other.name) for other in path.parent.iterdir() if not SIDE_BY_SIDE.fullmatch(stem(other.name))
            )
    return False
