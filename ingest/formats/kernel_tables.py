"""Tables of kernel benchmarks with a provider a column or a row: triton.testing.perf_report, tritonbench, Liger-Kernel."""

import functools
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any

from ...warehouse.events import Environment
from ..format import FILE
from ..readers.document import Object
from ..readers.json_format import ListFormat, by_run
from ..readers.results import Chosen, Results, Subject, number
from ..readers.units import unit_of
from ._headed_table import HeadedTable

COLUMN = re.compile(r"(.+?) \(([^()]{1,40})\)")  # Triton (GB/s)
OPERATIONS = re.compile(r"[KMGTP]?FLOPS?(/s)?|[KMGTP]?OPS?", re.IGNORECASE)
LATENCY = re.compile(r"(?:run|execution|wall|elapsed)?\s*(?:time|latency)\s*", re.IGNORECASE)
BENCHED = re.compile(r"(.+)-([a-z_0-9]+)")  # triton_matmul-latency
BENCH_METRICS = {  # of tritonbench: name, unit, direction
    "latency": ("latency", "ms", "lower"), "tflops": ("throughput", "TFLOPS", "higher"), "gbps": ("bandwidth", "GB/s", "higher"),
    "speedup": ("speedup", "ratio", "higher"), "compile_time": ("compile_latency", "ms", "lower"),
    "walltime": ("walltime", "ms", "lower"), "accuracy": ("accuracy", None, "higher"), "hw_roofline": ("hw_roofline", None, None),
    "mem_footprint_compression_ratio": ("mem_footprint_compression_ratio", "ratio", "higher"),
    "cuda_time": ("gpu_time", "ms", "lower"), "gpu_peak_mem": ("gpu_peak", "GB", "lower"),
    "cpu_peak_mem": ("cpu_peak", "GB", "lower"),
}  # fmt: skip
LIGER = ("kernel_name", "kernel_provider", "metric_name", "metric_unit", "x_name", "x_value", "y_value_50")
QUANTILE = re.compile(r"y_value_(\d\d)")


def _providers(record: Object, results: Results, axes: Iterable[str]) -> "functools.partial[Subject]":
    """The axes of the case of each provider in a row."""
    sizes = {axis: _typed(record.take(axis)) for axis in axes}
    return functools.partial(results.case, PurePath(results.part.name).stem, parameters=sizes)


class TritonReport(HeadedTable):
    """A report of Triton."""

    name = "triton-report"
    doc = "triton.testing.perf_report CSV"
    becomes = "file → case, sizes → axes, a column of values → backend; its unit says whether latency or throughput"

    def fits(self, header: list[str], row: list[str]) -> bool:
        """Sizes, then columns of one unit, which is a time, a rate or operations."""
        units = {match[2] for name in header if (match := COLUMN.fullmatch(name))}
        first = next((at for at, name in enumerate(header) if COLUMN.fullmatch(name)), 0)
        plain = all(COLUMN.fullmatch(name) for name in header[first:])
        known = len(units) == 1 and _measured(next(iter(units))) is not None
        return first > 0 and plain and known and all(number(cell) is not None or not cell for cell in row)

    def load(self, record: Object, results: Results) -> None:
        """One size, of all providers."""
        columns = {name: match for name in record if (match := COLUMN.fullmatch(name))}
        case = _providers(record, results, [name for name in record if name not in columns])
        for name, match in columns.items():
            metric, unit, better = _measured(match[2]) or ("value", match[2], None)
            case(backend=match[1]).metric(metric, record.take(name), unit, better=better)


class Tritonbench(HeadedTable):
    """A table of tritonbench."""

    name = "tritonbench"
    doc = "tritonbench CSV"
    becomes = "file → case, x_val → axis, `<backend>-<metric>` → metric of the backend"
    separators = ";,"

    def fits(self, header: list[str], row: list[str]) -> bool:
        """The size, then columns that end in a metric of tritonbench."""
        named = [match for name in header[1:] if (match := BENCHED.fullmatch(name)) and match[2] in BENCH_METRICS]
        return len(header) > 1 and "-" not in header[0] and 0 < len(named) == len(header) - 1

    def load(self, record: Object, results: Results) -> None:
        """One input, of all backends."""
        axis, *columns = record
        case = _providers(record, results, [axis])
        for name in columns:
            match = BENCHED.fullmatch(name)
            if match is not None:
                metric, unit, better = BENCH_METRICS.get(match[2], (match[2], None, None))
                case(backend=match[1]).metric(metric, record.take(name).removesuffix("x"), unit, better=better)


class Liger(ListFormat):
    """Results of Liger-Kernel."""

    name = "liger"
    doc = "Liger-Kernel benchmark CSV (all_benchmark_data.csv)"
    becomes = "GPU and version → run, provider → backend, x → axis; speed → latency"
    headers = (frozenset(LIGER),)
    runs = FILE
    histories = True

    def open(self, document: Any, results: Results) -> Iterator[Any]:
        """A run for each GPU and version of Liger."""
        return by_run(document, _where, functools.partial(_liger_run), results)

    def load(self, record: Object, results: Results) -> None:
        """One size of one provider in one mode."""
        unit, metric = record.text("metric_unit"), record.name("metric_name")
        extra = _json(record.text("extra_benchmark_config_str"))
        axes = {
            record.name("x_name"): _typed(record.take("x_value")),
            "pass": record.text("kernel_operation_mode"),
            **extra,
        }
        case = results.case(
            record.name("kernel_name"), backend=record.text("kernel_provider"),
            parameters={key: value for key, value in axes.items() if value is not None},
        )  # fmt: skip
        named = {"speed": "latency"}.get(metric, metric)
        for key in [key for key in record if QUANTILE.fullmatch(key)]:
            percent = key.removeprefix("y_value_")
            statistic = "median" if percent == "50" else f"p{percent}"
            case.metric(named, record.take(key), unit, statistic=statistic, better="lower")
        for key in ("x_label", "gpu_name", "timestamp", "liger_version"):
            record.take(key)
        case.fields(record.left())


def _where(record: Any) -> str:
    return f"{record.get('gpu_name')}\n{record.get('liger_version')}" if isinstance(record, Object) else ""


def _liger_run(records: list[Any], first: Object, results: Results) -> Chosen:
    gpu = first.text("gpu_name")
    moments = [
        moment
        for record in records
        if isinstance(record, Object) and (moment := record.moment("timestamp")) is not None
    ]
    content = json.dumps([record if isinstance(record, Object) else record.value for record in records], default=str)
    return results.run(
        content=content, started_at=min(moments, default=None), tags={"liger_version": first.get("liger_version")},
        environment=Environment(environment_id="", gpus=[gpu] if gpu else None),
    )  # fmt: skip


def _json(text: str | None) -> dict[str, Any]:
    try:
        value = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return {"extra": text}
    return value if isinstance(value, dict) else {} if value is None else {"extra": value}


def _measured(label: str) -> tuple[str, str, str] | None:
    """Metric, unit and direction of a column with this label; None for an unknown one."""
    unit = unit_of(label)
    if OPERATIONS.fullmatch(label):
        return "throughput", label, "higher"
    if unit.name == "ns" or LATENCY.fullmatch(label):
        return "latency", label, "lower"
    if unit.better == "higher":
        return "throughput", label, "higher"
    return None


def _typed(value: Any) -> Any:
    """A size as a number, a whole one where it is."""
    read = number(value)
    return value if read is None else int(read) if read.is_integer() else read
