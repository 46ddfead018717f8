"""Nsight's tables in CSV: what `nsys stats --format csv` and `ncu --csv` print, after and between what else they print."""

import re
from collections.abc import Iterable
from typing import Any

from ..readers.document import Object, lines_of
from ..readers.json_format import JsonFormat
from ..readers.results import Results

NAMES = ("Name", "Range", "Operation")
COLUMN = re.compile(r"(Total Time|Total|Average|Avg|Median|Med|Minimum|Min|Maximum|Max|StdDev) \((\w+)\)")
STATISTICS = {"Tot": "sum", "Ave": "mean", "Avg": "mean", "Med": "median", "Min": "min", "Max": "max", "Std": "stddev"}
CALLS = ("Instances", "Num Calls", "Calls", "Operations", "Count")
TALK = (
    "Processing [",
    "Generating ",
    "Exporting ",
    "Using ",
    "** ",
    "==",
    "SKIPPED:",
    "NOTICE:",
)  # beginnings of other lines
TIMES = {"nsecond": "ns", "usecond": "us", "msecond": "ms", "second": "s"}
THOUSANDS = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?")
SIZES = re.compile(r"\(\d{1,10}(, ?\d{1,10}){2}\)")
OF_LAUNCH = ("ID", "Process ID", "Process Name", "Host Name", "Context", "Stream", "Kernel Time")
LATENCIES = ("Duration", "gpu__time_duration.sum")


class NsightTable(JsonFormat):
    """Summaries of Nsight Systems."""

    name = "nsys-stats"
    doc = "Nsight Systems summaries in CSV (nsys stats --format csv), one report or several"
    becomes = (
        "a row → a case named by the kernel, operation or range, its kind the suite (kernel, gpu_memcpy, api, nvtx); times → "
        "latency_mean, _median, _sum …; sizes → size_mean …; instances → calls; time (%) → share"
    )
    headers = tuple(
        frozenset({f"{total} ({unit})", name})
        for total, units in (("Total Time", ("ns", "us", "ms", "s")), ("Total", ("B", "KB", "MB", "GB", "KiB", "MiB")))
        for unit in units
        for name in NAMES
    )
    holds = list

    def table(self, text: str) -> list[Any]:
        """Without the lines that say what is being done."""
        return super().table("\n".join("" if line.startswith(TALK) else line for line in lines_of(text)))

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """Nothing is said of when and where."""
        records: list[Any] = document
        return records

    def load(self, record: Object, results: Results) -> None:
        """One kernel, call, copy or range."""
        field = next((field for field in NAMES if field in record), "Name")
        axes = {key: record.take(key) for key in ("GridXYZ", "BlockXYZ", "Style", "Device", "Strm") if key in record}
        case = results.case(record.name(field), suite=_kind(field, record), parameters=axes)
        for column in [column for column in record if COLUMN.fullmatch(column)]:
            match = COLUMN.fullmatch(column)
            assert match is not None
            is_size = "b" in match[2].lower()
            metric, statistic = "size" if is_size else "latency", STATISTICS[match[1][:3]]
            case.metric(
                metric, record.take(column), match[2], statistic=statistic, **({"better": None} if is_size else {})
            )
        for column in CALLS:
            case.metric("calls", record.take(column), "count")
        case.metric("share", record.take("Time (%)") or record.take("Time(%)"), "%")
        case.fields(record.left())


def _kind(field: str, record: Object) -> str | None:
    if field == "Name":
        return "kernel" if "Instances" in record else "api"
    return {"Range": "nvtx", "Operation": "gpu_memcpy"}[field]


class NsightCompute(JsonFormat):
    """Metrics of kernels by Nsight Compute."""

    name = "ncu"
    doc = "Nsight Compute CSV (ncu --csv), a row for each metric"
    becomes = (
        "a row → a sample of that metric of a case named by the kernel, its suite kernel, block, grid and device its parameters; "
        "Duration and gpu__time_duration.sum → latency; rules → fields"
    )
    lost = "process, context and stream of a launch"
    headers = (frozenset({"ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value"}),)
    ragged = True
    holds = list

    def table(self, text: str) -> list[Any]:
        """Without the lines about the profiling."""
        return super().table("\n".join("" if line.startswith(TALK) else line for line in lines_of(text)))

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """Nothing is said of when; the machine has a name."""
        records: list[Any] = document
        return records

    def load(self, record: Object, results: Results) -> None:
        """One metric of one launch."""
        axes: dict[str, Any] = {"grid": _sizes(record.text("Grid Size")), "block": _sizes(record.text("Block Size"))}
        axes["device"] = record.text("Device")
        parameters = {key: value for key, value in axes.items() if value is not None}
        case = results.case(record.name("Kernel Name"), suite="kernel", parameters=parameters)
        name, value, unit = record.text("Metric Name"), record.text("Metric Value"), record.text("Metric Unit")
        if value is not None and THOUSANDS.fullmatch(value):
            value = value.replace(",", "")
        if name is not None:
            case.metric("latency" if name in LATENCIES else name, value, TIMES.get(unit or "", unit))
        for field in (*OF_LAUNCH, "Section Name", "CC"):
            record.take(field)
        case.fields(record.left())


def _sizes(text: str | None) -> Any:
    """`(32, 32, 1)` as torch.profiler and Nsight Systems write it, so that a kernel is the same in all."""
    return [int(size) for size in re.findall(r"\d+", text)] if text and SIZES.fullmatch(text) else text
