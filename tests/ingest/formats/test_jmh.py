"""JMH: modes, raw scores, histograms, secondary metrics."""

import json
from typing import Any

import pytest
from bench.warehouse.events import CaseRecord, Metric

from .reading import read


def metric(unit: str = "ns/op", **fields: Any) -> dict[str, Any]:
    """One metric."""
    return {
        "score": 5.5, "scoreError": 0.5, "scoreConfidence": [5.0, 6.0], "scorePercentiles": {"50.0": 5.4, "99.9": 6.0},
        "scoreUnit": unit, "rawData": [[5.0, 6.0], [5.5]],
    } | fields  # fmt: skip


def benchmark(mode: str = "avgt", primary: object = None, **fields: Any) -> dict[str, Any]:
    """One benchmark."""
    return {
        "jmhVersion": "1.37", "benchmark": "a.B.c", "mode": mode, "threads": 2, "forks": 2, "jdkVersion": "21",
        "measurementBatchSize": 1, "params": {"n": "10"}, "primaryMetric": primary or metric(), "secondaryMetrics": {},
    } | fields  # fmt: skip


def test_parameters_mode_and_threads_are_axes() -> None:
    """The same method measured in two ways is two cases of one name."""
    got = read("jmh", [benchmark("avgt"), benchmark("thrpt", metric("ops/s"))])

    assert [json.loads(case.parameters or "") for case in got.of(CaseRecord)] == [
        {"jmh.mode": "avgt", "jmh.threads": 2, "n": "10"}, {"jmh.mode": "thrpt", "jmh.threads": 2, "n": "10"},
    ]  # fmt: skip
    assert set(got.names) == {"a.B.c"}


def test_scores_of_iterations_are_observations_and_the_score_their_mean() -> None:
    """Each is a mean over calls that nobody counted: no timing; the score is noted as a mean of means."""
    got = read("jmh", [benchmark()])

    raw = [m for m in got.of(Metric) if m.metric == "latency" and m.statistic is None]
    assert [(m.value, m.unit, m.phase) for m in raw] == [
        (5.0, "ns", "steady"),
        (6.0, "ns", "steady"),
        (5.5, "ns", "steady"),
    ]
    assert not got.samples()
    assert got.metrics()["latency_mean"] == (5.5, "ns")
    assert (got.metrics()["latency_error"], got.better()["latency_error"]) == ((0.5, "ns"), None)
    assert (got.metrics()["latency_low"], got.metrics()["latency_p99.9"]) == ((5.0, "ns"), (6.0, "ns"))
    assert any("means of means" in note for note in got.tally.notes)


def test_throughput_is_better_when_higher() -> None:
    """And its unit is converted."""
    got = read("jmh", [benchmark("thrpt", metric("ops/ms"))])

    assert got.metrics()["throughput_mean"] == (5500.0, "ops/s")
    assert got.better()["throughput_mean"] == "higher"


@pytest.mark.parametrize("histogram", [[[[100, 2], [200, 1]]], [[[[100, 2]], [[200, 1]]]]])
def test_a_histogram_is_its_samples(histogram: object) -> None:
    """In mode sample every call is timed; old versions nest the iterations, new ones do not."""
    got = read("jmh", [benchmark("sample", metric(rawData=None, rawDataHistogram=histogram))])

    assert got.samples() == [(100, 1), (100, 1), (200, 1)]


def test_a_single_shot_is_a_timing() -> None:
    """Of as many calls as there are in a batch."""
    got = read("jmh", [benchmark("ss", metric("us/op", rawData=[[5]]), measurementBatchSize=4)])

    assert got.samples() == [(20_000, 4)]


def test_secondary_metrics_keep_their_names() -> None:
    """Allocation rate, for one."""
    got = read("jmh", [benchmark(secondaryMetrics={"·gc.alloc.rate": metric("MB/sec")})])

    assert got.metrics()["·gc.alloc.rate_mean"] == (5.5e6, "bytes/s")


def test_the_jvm_is_the_environment_and_the_rest_is_kept() -> None:
    """A benchmark on another JVM than the first says so itself."""
    got = read("jmh", [benchmark(), benchmark(jdkVersion="8", benchmark="x")])

    assert json.loads(got.environment.extra or "") == {"jdkVersion": "21", "jmhVersion": "1.37"}
    assert json.loads(got.metrics()["fields"]) == {
        "jdkVersion": "8", "forks": 2, "measurementBatchSize": 1,
    }  # fmt: skip


def test_a_huge_histogram_is_kept_as_text() -> None:
    """A file of a few bytes may claim billions of samples."""
    got = read("jmh", [benchmark("sample", metric(rawData=None, rawDataHistogram=[[[1, 10**12]]]))])

    assert got.metrics()["latency_histogram"] == "[[1, 1000000000000]]"
    assert got.accounting == (1, 1, 0)
