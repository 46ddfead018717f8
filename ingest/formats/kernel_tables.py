"""Tables of kernel benchmarks with a provider a column or a row: triton.testing.perf_report, Liger-Kernel."""

import functools
import json
import re
from collections.abc import Iterator
from typing import Any

from ...warehouse.events import Environment
from ..format import FILE, Head
from ..readers.document import Object
from ..readers.files import read_head
from ..readers.json_format import ListFormat, by_run
from ..readers.results import Chosen, Results, number
from ..readers.units import unit_of
from ._headed_table import HeadedTable, providers, typed

COLUMN = re.compile(r"(.+?) \(([^()]{1,40})\)")  # Triton (GB/s)
OPERATIONS = re.compile(r"[KMGTP]?FLOPS?(/s)?|[KMGTP]?OPS?", re.IGNORECASE)
LATENCY = re.compile(r"(?:run|execution|wall|elapsed)?\s*(?:time|latency)\s*", re.IGNORECASE)
FORKED = re.compile(
    r"(?P<provider>.+)-(?P<label>GB/s|GBps|TFlops|CV|[cm]?eff)(?:-(?P<statistic>min|max))?", re.IGNORECASE
)
REPEATED = ("datetime", "run_counter")  # when, and in which of several runs, a row was measured
ONE_RUN = re.compile(r"(.+)_\d+")  # name of a file with a run that another file has, too
LIGER = ("kernel_name", "kernel_provider", "metric_name", "metric_unit", "x_name", "x_value", "y_value_50")
EFFICIENCIES = {"eff": "efficiency", "ceff": "compute_efficiency", "meff": "memory_efficiency"}
BINARY = {"MB": "MiB"}  # Liger divides bytes by 2^20
QUANTILE = re.compile(r"y_value_(\d\d)")


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
        case = providers(record, results, [name for name in record if name not in columns])
        for name, match in columns.items():
            metric, unit, better = _measured(match[2]) or ("value", match[2], None)
            case(backend=match[1]).metric(metric, record.take(name), unit, better=better)


class IntelTritonReport(HeadedTable):
    """A report of the benchmarks of Triton for Intel GPUs."""

    name = "intel-triton"
    doc = "CSV of Triton's benchmarks for Intel GPUs"
    becomes = (
        "file → case, sizes → axes, `<provider>-GB/s` → bandwidth of a backend, TFlops → throughput, CV → variation"
    )

    def fits(self, header: list[str], row: list[str]) -> bool:
        """Sizes, then a rate of each provider; what describes a rate, and a moment and a count of runs, may follow."""
        columns = [name for name in header if name not in REPEATED]
        found = [FORKED.fullmatch(name) for name in columns]
        first = next((at for at, match in enumerate(found) if match), 0)
        return first > 0 and all(found[first:]) and any(match and _rate(match["label"]) for match in found)

    def left_out(self, head: Head) -> str | None:
        """A file of one run, where the file of all runs lies beside it."""
        match = ONE_RUN.fullmatch(head.path.stem)
        beside = head.path.with_stem(match[1]) if match else head.path
        if match and beside.is_file() and self.recognise(read_head(beside)):
            return f"repeats {beside.name}, which lies beside it"
        return None

    def open(self, document: Any, results: Results) -> Iterator[Any]:
        """The first row says when it began."""
        rows = list(document)
        moments = [
            moment for row in rows if isinstance(row, Object) and (moment := row.moment(REPEATED[0])) is not None
        ]
        if moments:
            results.run(started_at=min(moments))
        return iter(rows)

    def load(self, record: Object, results: Results) -> None:
        """One size in one run, of all providers."""
        columns = {name: match for name in record if (match := FORKED.fullmatch(name))}
        case = providers(record, results, [name for name in record if name not in columns and name not in REPEATED])
        for name, match in columns.items():
            value, label = record.take(name).removesuffix("%"), match["label"].lower()
            subject = case(backend=match["provider"])
            if rate := _rate(label):
                subject.metric(rate, value, match["label"], statistic=match["statistic"] or "mean", better="higher")
            elif label == "cv":
                subject.metric("variation", value, "ratio", better="neither")
            else:
                percent = "%" if label == "eff" else "ratio"
                subject.metric(EFFICIENCIES[label], value, percent, better="higher")


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
            record.name("x_name"): typed(record.take("x_value")),
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
            case.metric(named, record.take(key), BINARY.get(unit or "", unit), statistic=statistic, better="lower")
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


def _rate(label: str) -> str | None:
    """The metric of a rate of Triton for Intel GPUs."""
    lower = label.lower()
    return "throughput" if lower == "tflops" else "bandwidth" if lower in ("gb/s", "gbps") else None
