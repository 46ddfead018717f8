"""BenchmarkDotNet: the JSON of its exporters (full, brief, compressed)."""

import re
from collections.abc import Iterable
from typing import Any

from ...warehouse.events import Environment
from ..readers.document import BadRecord, Object, instant, labels, show
from ..readers.json_format import JsonFormat
from ..readers.results import Results, Subject, number

STATISTICS = {
    "Min": "min", "LowerFence": "lower_fence", "Q1": "q1", "Median": "median", "Mean": "mean", "Q3": "q3",
    "UpperFence": "upper_fence", "Max": "max", "InterquartileRange": "iqr", "StandardError": "stderr",
    "StandardDeviation": "stddev",
}  # fmt: skip
MEMORY = {
    "BytesAllocatedPerOperation": ("allocated", "bytes"), "Gen0Collections": ("gen0_collections", "count"),
    "Gen1Collections": ("gen1_collections", "count"), "Gen2Collections": ("gen2_collections", "count"),
}  # fmt: skip
PHASES = {  # what an iteration measured, and in which phase; old versions say mode and stage in one word
    "WorkloadResult": ("latency", "steady"), "WorkloadActual": ("latency_with_overhead", "steady"),
    "WorkloadWarmup": ("latency", "warmup"), "WorkloadPilot": ("latency", "warmup"), "WorkloadJitting": ("latency", "cold"),
    "Result": ("latency", "steady"), "MainTarget": ("latency_with_overhead", "steady"),
    "MainWarmup": ("latency", "warmup"), "Pilot": ("latency", "warmup"),
}  # fmt: skip
RESULTS = {kind for kind, (metric, phase) in PHASES.items() if (metric, phase) == ("latency", "steady")}
BEGAN = re.compile(r"\d{8}-\d{6}$")  # at the end of a title
JOB = re.compile(r"[^:]*: (?P<id>[^( \[]*)(?:\((?P<settings>.*)\))?(?: \[.*\])?")


class BenchmarkDotNet(JsonFormat):
    """Results of BenchmarkDotNet."""

    name = "benchmarkdotnet"
    doc = "BenchmarkDotNet JSON"
    becomes = "results → timings (pilot: warmup, jitting: cold), overhead"
    began = re.compile(r'"Title": *"[^"]{0,1000}?\b(\d{8}-\d{6})"')
    places = ("results/*.json",)
    shapes = (frozenset({"HostEnvironmentInfo", "Benchmarks"}),)

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """The run is the folder's: each class of benchmarks has a file."""
        host: Object = document.section("HostEnvironmentInfo")
        records: list[Any] = document.array("Benchmarks")
        processor = host.take("ProcessorName")
        if isinstance(processor, Object):  # of old versions: a value that is made when it is first asked for
            processor = processor.get("Value")
        environment = Environment(
            environment_id="", cpu=processor if isinstance(processor, str) else None,
            logical_cores=host.count("LogicalCoreCount") or host.count("ProcessorCount"), os=host.text("OsVersion"),
            architecture=host.text("Architecture"), extra=labels(host.left()),
        )  # fmt: skip
        title = document.get("Title")
        began = BEGAN.search(title) if isinstance(title, str) else None
        results.run(
            started_at=instant(began[0]) if began else None, environment=environment,
            tags=document.left() | {"HostEnvironmentInfo": None},
        )  # fmt: skip
        results.note("its means are over iterations that are means over operations already: means of means")
        return records

    def load(self, record: Object, results: Results) -> None:
        """One benchmark."""
        parts = [record.text(field) for field in ("Namespace", "Type", "Method")]
        full_name = record.text("FullName")
        name = full_name.partition("(")[0] if full_name else ".".join(part for part in parts if part)
        if not name:
            raise BadRecord("no FullName, and no Method")
        job = _job(record.get("DisplayInfo"))
        case = results.case(name, parameters=_parameters(record.text("Parameters")) | ({"job": job} if job else {}))
        measurements = record.records("Measurements")
        statistics = record.take("Statistics")
        if isinstance(statistics, Object):
            _statistics(case, statistics, has_results=any(_kind(one) in RESULTS for one in measurements))
        else:
            case.outcome("fail_to_run", "BenchmarkDotNet has no statistics of it")
        memory = record.section("Memory")
        for field, (metric, unit) in MEMORY.items():
            case.metric(metric, memory.take(field), unit, better="lower")
        for measured in record.records("Metrics"):
            about = measured.section("Descriptor")
            better = {True: "higher", False: "lower"}.get(about.take("TheGreaterTheBetter"))
            case.metric(about.name("Id"), measured.take("Value"), about.text("Unit") or None, better=better)
        _measurements(case, measurements)
        case.fields(record.left())


def _parameters(text: str | None) -> dict[str, str]:
    """`N=10, Mode=Fast`, also with & in between; what is no list of pairs is one parameter."""
    pairs = [pair.partition("=") for pair in (text or "").replace("&", ", ").split(", ") if pair]
    if not all(equals for _, equals, _ in pairs):
        return {"parameters": text or ""}
    return {name.strip(): value for name, _, value in pairs}


def _job(text: Any) -> str | None:
    """The settings of a job that is not the default one; its generated name differs from run to run."""
    match = JOB.fullmatch(text) if isinstance(text, str) and len(text) < 10_000 else None
    if match is None or match["id"] == "DefaultJob":
        return None
    return match["settings"] or match["id"]


def _statistics(case: Subject, statistics: Object, *, has_results: bool) -> None:
    """Durations in ns of one operation."""
    values = statistics.array("OriginalValues")  # the results again, if there are any
    if not has_results:
        case.samples(values, "ns", loops=None)
    for field, statistic in STATISTICS.items():
        case.metric("latency", statistics.take(field), "ns", statistic=statistic)
    case.metric("samples", statistics.take("N"), "count")
    for percent, value in statistics.section("Percentiles").items():
        case.metric("latency", value, "ns", statistic=percent.lower())
    interval = statistics.section("ConfidenceInterval")
    for field, statistic in (("Lower", "low"), ("Upper", "high"), ("Margin", "error")):
        case.metric("latency", interval.take(field), "ns", statistic=statistic, better=None)
    case.fields(statistics.left())


def _kind(measurement: Object) -> str:
    return (measurement.text("IterationMode") or "") + (measurement.text("IterationStage") or "")


def _measurements(case: Subject, measurements: list[Object]) -> None:
    for one in measurements:
        kind = _kind(one)
        metric, phase = PHASES.get(kind, ("overhead", "warmup" if "Warmup" in kind else "steady"))
        operations = one.whole("Operations") or 0
        launch, iteration = one.whole("LaunchIndex"), one.whole("IterationIndex")
        if min(launch or 1, iteration or 1) < 1:
            raise BadRecord(f"a measurement of launch {launch}, iteration {iteration}")
        total = one.take("Nanoseconds")
        if operations < 1 or number(total) is None:
            raise BadRecord(f"a measurement of {operations} operations that took {show(total)} ns")
        process = None if launch is None else launch - 1
        sample = (iteration or 1) - 1
        case.samples(
            [total], "ns", loops=operations, together=True, metric=metric, phase=phase, process=process, block=process,
            sample=sample,
        )  # fmt: skip
