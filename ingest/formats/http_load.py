"""Summaries of HTTP load generators in JSON and CSV: k6 and Locust. Only Locust names what it measured."""

import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

from ...warehouse.events import Instant
from ..format import Head
from ..readers.csv_rows import find_header
from ..readers.document import BadRecord, Object, lines_of
from ..readers.json_format import LINES_BEFORE_HEADER, JsonFormat, ListFormat
from ..readers.results import Results, Subject, number

TAGGED = re.compile(r"([^{]*)\{(.*)\}")  # http_req_duration{expected_response:true}
K6_STATISTICS = {"avg": "mean", "med": "median", "min": "min", "max": "max"}
K6_PERCENTILE = re.compile(r"p\(?(\d+(?:\.\d+)?)\)?")
K6_TIMES = re.compile(r"http_req_.*|iteration_duration|group_duration|grpc_req_duration|ws_.*(?:duration|connecting)")
K6_NAMES = {"http_req_duration": "latency", "http_reqs": "requests"}
LOCUST = {
    "Median Response Time": "median", "Average Response Time": "mean", "Min Response Time": "min", "Max Response Time": "max",
}  # fmt: skip
LOCUST_PERCENT = re.compile(r"(\d+(?:\.\d+)?)%")
LOCUST_OTHERS = (
    frozenset({"Timestamp", "User Count", "Total Request Count"}), frozenset({"Method", "Name", "Error", "Occurrences"}),
    frozenset({"Count", "Message", "Traceback", "Nodes"}),
)  # fmt: skip


class K6(JsonFormat):
    """A summary of k6."""

    name = "k6"
    doc = "k6 summary (--summary-export, handleSummary's data, or version 1.0)"
    becomes = "`http_req_duration` → latency, `http_reqs` → request_throughput; tags → axes"
    began = re.compile(r'"generated_?[aA]t": *"([^"]{8,40})"')
    shapes = (
        frozenset({"metrics.http_reqs.rate"}), frozenset({"metrics.http_reqs.values.rate"}),
        frozenset({"metrics.iteration_duration.avg"}), frozenset({"metrics.iteration_duration.values.avg"}),
        frozenset({"version", "results.metrics[].name", "results.metrics[].values"}),
    )  # fmt: skip

    def identity(self, name: str) -> str:
        """The name of the file, which is the name of the case."""
        return PurePath(name).stem

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """Nothing is said of when and where."""
        if "results" in document:
            return _k6_listed(document, results)
        metrics = document.section("metrics")
        if left := document.left():
            results.run(tags=left)
        return [Object([("name", name), ("metric", metric)]) for name, metric in metrics.items()]

    def load(self, record: Object, results: Results) -> None:
        """One metric."""
        name, metric = record.name("name"), record.section("metric")
        match = TAGGED.fullmatch(name)
        pairs = [tag.partition(":") for tag in match[2].split(",")] if match and match[2] else []
        name = match[1] if match else name
        case = results.case(results.file_name(), parameters={key: value for key, _, value in pairs})
        contains = metric.text("contains")
        values = metric.section("values") if "values" in metric else metric
        if metric.take("type") == "rate" and "rate" in values:  # the other file calls it the value
            case.metric(name, values.take("rate"), better="lower" if name == "http_req_failed" else None)
            values.pop("rate")
        known = K6_NAMES.get(name, name)
        unit = "ms" if contains == "time" or K6_TIMES.fullmatch(name) else None
        for key in [key for key in values if key not in ("thresholds", "type", "contains", "values")]:
            _of_k6(case, known, key, values.take(key), unit)
        case.fields(metric.left())


def _k6_listed(document: Object, results: Results) -> Iterable[Any]:
    """The metrics of a summary of version 1.0, which says when it was written, and how long the test took."""
    found, metadata = document.section("results"), document.section("metadata")
    ended = metadata.moment("generated_at") or metadata.moment("generatedAt")
    metrics, duration = found.array("metrics"), number(document.section("config").get("duration_seconds"))
    began = Instant(ended - round(duration * 1e6)) if ended is not None and duration is not None else ended
    results.run(started_at=began, tags=document.left())
    return [
        Object([("name", metric.pop("name", None)), ("metric", metric)]) if isinstance(metric, Object) else metric
        for metric in metrics
    ]


def _of_k6(case: Subject, name: str, key: str, value: Any, unit: str | None) -> None:
    is_data = name.startswith("data_")
    if statistic := K6_STATISTICS.get(key) or ((match := K6_PERCENTILE.fullmatch(key)) and f"p{match[1]}"):
        case.metric(name, value, unit, statistic=statistic)
    elif key == "rate" and name == "requests":
        case.metric("request_throughput", value, "requests/s")
    elif key == "rate":
        case.metric(f"{name}_rate", value, "B/s" if is_data else None)
    elif key == "value":
        case.metric(name, value, better="lower" if name == "http_req_failed" else None)
    else:  # count, passes, fails
        case.metric(name if key == "count" else f"{name}_{key}", value, "B" if is_data else "count")


class Locust(ListFormat):
    """Statistics of Locust."""

    name = "locust"
    doc = "Locust CSV (…_stats.csv)"
    becomes = "response times → latency; requests/s → request_throughput"
    lost = "history, failures and exceptions"
    headers = (
        frozenset({"Name", "Request Count", "Failure Count", "Median Response Time", "Requests/s"}),
        *LOCUST_OTHERS,
    )

    def left_out(self, head: Head) -> str | None:
        """The fields other than statistics."""
        others = find_header(enumerate(lines_of(head.text)[:LINES_BEFORE_HEADER], 1), LOCUST_OTHERS)
        return "is not the statistics of Locust but what goes with them (…_stats.csv has those)" if others else None

    def load(self, record: Object, results: Results) -> None:
        """One request, or all of them."""
        method = record.text("Type")
        if "Request Count" not in record:
            raise BadRecord("no Request Count")
        case = results.case(record.name("Name"), parameters={"method": method} if method not in (None, "None") else {})
        for field, statistic in LOCUST.items():
            case.metric("latency", record.take(field), "ms", statistic=statistic)
        for field in list(record):
            if match := LOCUST_PERCENT.fullmatch(field):
                value = record.take(field)
                case.metric("latency", None if value == "N/A" else value, "ms", statistic=f"p{match[1]}")
        case.metric("request_throughput", record.take("Requests/s"), "requests/s")
        case.metric("failure_rate", record.take("Failures/s"), "failures/s", better="lower")
        case.metric("requests", record.take("Request Count"), "count")
        case.metric("failures", record.take("Failure Count"), "count", better="lower")
        case.metric("content_size", record.take("Average Content Size"), "B", statistic="mean", better=None)
        case.fields(record.left())
