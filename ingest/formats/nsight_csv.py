"""Nsight's tables in CSV: what `nsys stats --format csv` and `ncu --csv` print, after and between what else they print."""

import re
from collections.abc import Iterable
from typing import Any

from ..format import Head
from ..readers.document import Object, lines_of
from ..readers.json_format import LINES_BEFORE_HEADER, ListFormat
from ..readers.results import Results, number

NAMES = ("Name", "Range", "Operation")
COLUMN = re.compile(r"(Total Time|Total|Average|Avg|Median|Med|Minimum|Min|Maximum|Max|StdDev) \((\w+)\)")
STATISTICS = {"Tot": "sum", "Ave": "mean", "Avg": "mean", "Med": "median", "Min": "min", "Max": "max", "Std": "stddev"}
CALLS = ("Instances", "Num Calls", "Calls", "Operations", "Count")
# beginnings of other lines
TALK = ("Processing [", "Generating ", "Exporting ", "Using ", "** ", "==", "SKIPPED:", "NOTICE:")
TIMES = {"nsecond": "ns", "usecond": "us", "msecond": "ms", "second": "s"}
BYTES = re.compile(r"([KMGT]?)byte(/s|/second)?")
THOUSANDS = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?")
SIZES = re.compile(r"\(\d{1,10}(, ?\d{1,10}){2}\)")
RAW = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream"'  # how the header of a raw page begins
OF_LAUNCH = ("ID", "Process ID", "Process Name", "Host Name", "Context", "Stream", "Kernel Time")
LATENCIES = ("Duration", "gpu__time_duration.sum")


class NsightTable(ListFormat):
    """Summaries of Nsight Systems."""

    name = "nsys-stats"
    doc = "Nsight Systems summaries in CSV (nsys stats --format csv)"
    becomes = "kind → suite; times → latency; sizes → size; instances → calls; time (%) → share"
    headers = tuple(
        frozenset({f"{total} ({unit})", name})
        for total, units in (("Total Time", ("ns", "us", "ms", "s")), ("Total", ("B", "KB", "MB", "GB", "KiB", "MiB")))
        for unit in units
        for name in NAMES
    )

    def table(self, text: str) -> list[Any]:
        """Without the lines that say what is being done."""
        return super().table("\n".join("" if line.startswith(TALK) else line for line in lines_of(text)))

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


class NsightCompute(ListFormat):
    """Metrics of kernels by Nsight Compute."""

    name = "ncu"
    doc = "Nsight Compute CSV (ncu --csv), a row for each metric, or a column (--page raw)"
    becomes = (
        "launch → a sample of each metric of its kernel, grid and block; duration → latency; rules, texts → `fields`"
    )
    lost = "process, context and stream"
    headers = (
        frozenset({"ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value"}),
        frozenset({"ID", "Process ID", "Kernel Name", "Context", "Stream"}),
    )
    ragged = True

    def recognise(self, head: Head) -> bool:
        """Return whether it has such a header; that of a raw page may be longer than what is looked at."""
        return super().recognise(head) or any(
            line.startswith(RAW) for line in lines_of(head.text)[:LINES_BEFORE_HEADER]
        )

    def table(self, text: str) -> list[Any]:
        """Without the lines about the profiling."""
        return super().table("\n".join("" if line.startswith(TALK) else line for line in lines_of(text)))

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """Nothing is said of when; of a raw page the row below the header has the units."""
        units = (record for record in document if isinstance(record, Object) and record.keys().isdisjoint(OF_LAUNCH))
        results.context = next(units, None) or Object()
        return [record for record in document if record is not results.context]

    def load(self, record: Object, results: Results) -> None:
        """One metric of one launch."""
        axes: dict[str, Any] = {"grid": _sizes(record.text("Grid Size")), "block": _sizes(record.text("Block Size"))}
        axes["device"] = record.text("Device")
        parameters = {key: value for key, value in axes.items() if value is not None}
        case = results.case(record.name("Kernel Name"), suite="kernel", parameters=parameters)
        for field in (*OF_LAUNCH, "Section Name", "CC"):
            record.take(field)
        if "Metric Name" in record or "Metric Value" in record:
            metrics = [(record.text("Metric Name"), record.text("Metric Value"), record.text("Metric Unit"))]
        else:
            columns = [column for column in record.left() if number(_plain(record[column])) is not None]
            metrics = [(column, record.text(column), results.context.get(column)) for column in columns]
        for name, value, unit in metrics:
            if name is not None:
                case.metric("latency" if name in LATENCIES else name, _plain(value), _unit(unit))
        case.fields(record.left())


def _plain(value: Any) -> Any:
    """A number as it is without marks between its thousands."""
    return value.replace(",", "") if isinstance(value, str) and THOUSANDS.fullmatch(value) else value


def _unit(text: str | None) -> str | None:
    """A unit in the words of other tools."""
    match = BYTES.fullmatch(text or "")
    return f"{match[1]}B{'/s' if match[2] else ''}" if match else TIMES.get(text or "", text)


def _sizes(text: str | None) -> Any:
    """`(32, 32, 1)` as torch.profiler and Nsight Systems write it, so that a kernel is the same in all."""
    return [int(size) for size in re.findall(r"\d+", text)] if text and SIZES.fullmatch(text) else text
