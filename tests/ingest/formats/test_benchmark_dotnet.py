"""BenchmarkDotNet: measurements by stage, statistics, jobs, parameters, memory."""

import json
from typing import Any

from bench.ingest.readers.document import instant
from bench.warehouse.events import CaseRecord, Metric

from .reading import read

HOST = {
    "ProcessorName": "A CPU",
    "LogicalCoreCount": 8,
    "OsVersion": "Linux",
    "Architecture": "X64",
    "RuntimeVersion": "8",
}
STATISTICS = {
    "N": 2, "Min": 1.0, "Mean": 1.5, "StandardDeviation": 0.5, "Percentiles": {"P95": 2.0}, "OriginalValues": [1.0, 2.0],
    "ConfidenceInterval": {"N": 2, "Mean": 1.5, "Lower": 1.0, "Upper": 2.0, "Margin": 0.5, "Level": 12}, "Skewness": 0,
}  # fmt: skip


def measurement(mode: str, stage: str | None, total: float, index: int = 1) -> dict[str, Any]:
    """One iteration of ten operations."""
    stages = {} if stage is None else {"IterationStage": stage}
    return {
        "IterationMode": mode,
        **stages,
        "LaunchIndex": 1,
        "IterationIndex": index,
        "Operations": 10,
        "Nanoseconds": total,
    }


def benchmark(**fields: Any) -> dict[str, Any]:
    """One benchmark."""
    return {
        "DisplayInfo": "B.M: DefaultJob", "Namespace": "A", "Type": "B", "Method": "M", "FullName": "A.B.M",
        "Parameters": "", "Statistics": STATISTICS,
    } | fields  # fmt: skip


def document(*benchmarks: object, host: object = HOST) -> dict[str, Any]:
    """A file."""
    return {"Title": "B-20240506", "HostEnvironmentInfo": host, "Benchmarks": list(benchmarks)}


def test_measurements_are_timings_by_stage() -> None:
    """Results are the samples; warm-up, pilot and jitting are phases; overhead is a metric of its own."""
    stages = [
        ("Overhead", "Jitting", 5), ("Workload", "Jitting", 1000), ("Workload", "Pilot", 300), ("Overhead", "Warmup", 1),
        ("Workload", "Warmup", 200), ("Workload", "Actual", 110), ("Workload", "Result", 100),
    ]  # fmt: skip
    got = read("benchmarkdotnet", document(benchmark(Measurements=[measurement(*stage) for stage in stages])))

    assert got.samples() == [(100, 10)]
    assert got.samples(phase="warmup") == [(300, 10), (200, 10)]
    assert got.samples(phase="cold") == [(1000, 10)]
    assert got.samples("latency_with_overhead") == [(110, 10)]
    assert got.samples("overhead") == [(5, 10)]


def test_old_versions_say_mode_and_stage_in_one() -> None:
    """MainWarmup and Result."""
    measured = [
        measurement("MainWarmup", None, 200),
        measurement("Result", None, 100),
        measurement("IdleTarget", None, 5),
    ]
    got = read("benchmarkdotnet", document(benchmark(Measurements=measured)))

    assert (got.samples(), got.samples(phase="warmup"), got.samples("overhead")) == (
        [(100, 10)],
        [(200, 10)],
        [(5, 10)],
    )


def test_a_number_of_an_iteration_that_is_none() -> None:
    """They count from 1: anything below is a reject, also where one less is beyond 64 bits."""
    for index in (-1, -(2**63)):
        got = read("benchmarkdotnet", document(benchmark(Measurements=[measurement("Workload", "Result", 100, index)])))

        assert got.rejects() == [(1, f"a measurement of launch 1, iteration {index}")]


def test_statistics_are_aggregates() -> None:
    """The original values stand in for measurements that were not exported."""
    got = read("benchmarkdotnet", document(benchmark()))

    assert got.metrics()["latency_mean"] == (1.5, "ns")
    assert got.metrics()["latency_p95"] == (2.0, "ns")
    assert got.metrics()["latency_low"] == (1.0, "ns")
    assert [m.value for m in got.of(Metric) if m.metric == "latency" and m.statistic is None] == [1.0, 2.0]
    assert json.loads(got.metrics()["fields"])["DisplayInfo"] == "B.M: DefaultJob"


def test_parameters_and_job_are_axes() -> None:
    """The generated name of a job is not: it differs from run to run."""
    job = "B.M: Job-QWERTY(Runtime=.NET 8.0, Server=True) [N=10]"
    got = read("benchmarkdotnet", document(
        benchmark(FullName="A.B.M(N: 10)", Parameters="N=10&Mode=Fast", DisplayInfo=job),
        benchmark(FullName=None, DisplayInfo="B.M: Dry"), benchmark(Parameters="odd"),
    ))  # fmt: skip

    assert got.names == ["A.B.M"] * 3
    assert [json.loads(case.parameters or "") for case in got.of(CaseRecord)] == [
        {"N": "10", "Mode": "Fast", "job": "Runtime=.NET 8.0, Server=True"}, {"job": "Dry"}, {"parameters": "odd"},
    ]  # fmt: skip


def test_memory_and_metrics_have_a_direction() -> None:
    """Fewer bytes are better; a metric says itself."""
    described = {"Value": 7, "Descriptor": {"Id": "BranchMisses", "Unit": "", "TheGreaterTheBetter": False}}
    memory = {"BytesAllocatedPerOperation": 64, "Gen0Collections": 1, "TotalOperations": 1000}
    got = read("benchmarkdotnet", document(benchmark(Memory=memory, Metrics=[described])))

    assert got.metrics()["allocated"] == (64.0, "bytes")
    assert got.metrics()["BranchMisses"] == (7.0, None)
    assert (got.better()["allocated"], got.better()["BranchMisses"]) == ("lower", "lower")


def test_without_statistics_it_failed() -> None:
    """null stands for a benchmark that threw."""
    assert read("benchmarkdotnet", document(benchmark(Statistics=None))).outcomes() == [
        ("fail_to_run", "BenchmarkDotNet has no statistics of it")
    ]


def test_the_host_is_the_environment() -> None:
    """Old versions write the processor as a lazy value."""
    got = read(
        "benchmarkdotnet", document(benchmark(), host=HOST | {"ProcessorName": {"IsValueCreated": True, "Value": "P"}})
    )

    env = got.environment
    assert (env.cpu, env.logical_cores, env.os) == ("P", 8, "Linux")
    assert json.loads(env.extra or "")["RuntimeVersion"] == "8"
    assert got.tags == {"Title": "B-20240506"}


def test_the_title_says_when_a_run_began() -> None:
    """As BenchmarkDotNet has ended it since 2018."""
    (run,) = read("benchmarkdotnet", document(benchmark()) | {"Title": "B-20240506-070809"}).tally.runs
    assert run.started_at == instant("2024-05-06T07:08:09Z")


def test_original_values_are_the_samples_where_no_result_was_written() -> None:
    """Measurements of the warm-up alone do not stand in for them."""
    warmup = {"IterationMode": "Workload", "IterationStage": "Warmup", "Operations": 1, "Nanoseconds": 9}
    statistics = {"N": 2, "OriginalValues": [1.0, 2.0]}
    got = read("benchmarkdotnet", document(benchmark(Statistics=statistics, Measurements=[warmup])))

    assert [m.value for m in got.of(Metric) if m.metric == "latency" and m.statistic is None] == [1.0, 2.0]
    assert got.samples(phase="warmup") == [(9, 1)]
