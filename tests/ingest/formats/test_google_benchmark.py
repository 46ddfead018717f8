"""google-benchmark: iterations are timings, aggregates are not, and what failed says why."""

import json
from typing import Any

from .reading import read

CONTEXT = {
    "date": "2024-05-06T07:08:09+02:00", "host_name": "box", "executable": "./bench", "num_cpus": 4, "mhz_per_cpu": 2700,
    "caches": [], "load_avg": [1.5], "library_build_type": "release",
}  # fmt: skip


def entry(name: str = "BM_a", **fields: Any) -> dict[str, Any]:
    """One iteration entry."""
    return {
        "name": name, "run_name": name, "run_type": "iteration", "repetition_index": 0, "iterations": 1000,
        "real_time": 2.5, "cpu_time": 2.0, "time_unit": "us",
    } | fields  # fmt: skip


def document(*entries: dict[str, Any]) -> dict[str, Any]:
    """A file."""
    return {"context": CONTEXT, "benchmarks": list(entries)}


def test_an_iteration_is_a_timing_of_its_loops() -> None:
    """The mean a file says becomes the time of all its iterations together; CPU time beside it."""
    got = read("google-benchmark", document(entry(), entry(repetition_index=1, real_time=3)))

    assert got.names == ["BM_a"]
    assert got.samples() == [(2_500_000, 1000), (3_000_000, 1000)]
    assert got.samples("cpu_time") == [(2_000_000, 1000)] * 2
    assert got.tally.notes == []


def test_the_printed_table_says_when_and_on_which_machine() -> None:
    """As the JSON does: caches and cores are what a class of machine is told by."""
    above = "2026-05-01T10:00:00+02:00\nRunning ./b\nRun on (4 X 2793.4 MHz CPU s)\nCPU Caches:\n  L3 Unified 49152 KiB (x1)\n"
    table = "Benchmark   Time   CPU   Iterations\nBM_a   2.5 ns   2.5 ns   100\n"
    printed = read("google-benchmark-text", above + table)
    caches = [{"type": "Unified", "level": 3, "size": 48 << 20, "num_sharing": 1}]
    context = CONTEXT | {"date": "2026-05-01T08:00:00Z", "mhz_per_cpu": 2793, "caches": caches}
    found = read("google-benchmark", {"context": context, "benchmarks": [entry()]})

    assert (printed.runs[0].started_at, printed.runs[0].command) == (found.runs[0].started_at, "./b")
    assert printed.tags["context"]["mhz_per_cpu"] == found.tags["context"]["mhz_per_cpu"]
    assert json.loads(printed.environment.extra or "")["caches"] == json.loads(found.environment.extra or "")["caches"]
    assert printed.environment.logical_cores == 4


def test_aggregates_are_metrics_of_the_case_they_belong_to() -> None:
    """A mean over repetitions is no sample, and a note says it is a mean of means; a cv is a ratio."""
    mean = entry("BM_a_mean", run_name="BM_a", run_type="aggregate", aggregate_name="mean", iterations=3)
    cv = mean | {"name": "BM_a_cv", "aggregate_name": "cv", "aggregate_unit": "percentage", "real_time": 0.05}
    got = read("google-benchmark", document(entry(), mean, cv))

    assert got.names == ["BM_a"]
    assert len(got.samples()) == 1
    assert got.metrics()["latency_mean"] == (2500.0, "ns")
    assert got.metrics()["latency_cv"] == (0.05, "ratio")
    assert any("means of means" in note for note in got.tally.notes)


def test_old_versions_say_it_in_the_name() -> None:
    """BM_a_mean beside BM_a is its mean; alone it is a benchmark."""
    plain = {"name": "BM_a", "iterations": 10, "real_time": 1, "cpu_time": 1, "time_unit": "ns"}
    got = read("google-benchmark", document(plain, plain | {"name": "BM_a_mean"}, plain | {"name": "other_mean"}))

    assert got.names == ["BM_a", "other_mean"]
    assert "latency_mean" in got.metrics()
    assert len(got.samples()) == 2


def test_complexity_is_kept() -> None:
    """BigO has coefficients in a unit, RMS is a ratio; neither is a duration that could be compared."""
    big_o = {
        "name": "F_BigO", "run_name": "F", "run_type": "aggregate", "aggregate_name": "BigO", "cpu_coefficient": 4.0,
        "real_coefficient": 6.0, "big_o": "N", "time_unit": "ns",
    }  # fmt: skip
    rms = {"name": "F_RMS", "run_name": "F", "run_type": "aggregate", "aggregate_name": "RMS", "rms": 0.5}
    got = read("google-benchmark", document(entry(), big_o, rms))

    assert got.metrics()["latency_BigO"] == (6.0, "ns")
    assert got.metrics()["cpu_time_BigO"] == (4.0, "ns")
    assert got.metrics()["latency_RMS"] == (0.5, "ratio")
    assert got.better()["latency_BigO"] is None


def test_errors_and_skips_are_outcomes() -> None:
    """With the message, and without a time: the 0 that stands there is none."""
    failed = entry(name="BM_f", run_name="BM_f", error_occurred=True, error_message="no file", iterations=0)
    failed |= {"real_time": 0.0, "cpu_time": 0.0}
    skipped = {"name": "BM_s", "run_type": "iteration", "skipped": True, "skip_message": "no GPU"}
    got = read("google-benchmark", document(entry(), failed, skipped))

    assert got.outcomes() == [("ok", None), ("fail_to_run", "no file"), ("skipped", "no GPU")]
    assert len(got.samples()) == 1
    assert "latency" not in got.metrics()


def test_counters_and_labels_are_kept() -> None:
    """Rates have a unit and a direction; settings stay text."""
    got = read("google-benchmark", document(entry(bytes_per_second=1e9, hits=3, label="warm", threads=2)))

    assert got.metrics()["bytes_per_second"] == (1e9, "bytes/s")
    assert got.metrics()["hits"] == (3.0, None)
    assert json.loads(got.metrics()["fields"]) == {
        "label": "warm", "threads": 2, "name": "BM_a", "run_type": "iteration", "time_unit": "us",
    }  # fmt: skip
    assert got.better()["bytes_per_second"] == "higher"


def test_the_context_is_the_run() -> None:
    """Varying facts (load, clock) are no part of the environment."""
    got = read("google-benchmark", document(entry()))

    (run,) = got.runs
    assert (run.host, run.command, run.started_at) == ("box", "./bench", 1714972089000000)
    assert got.environment.logical_cores == 4
    assert json.loads(got.environment.extra or "") == {"library_build_type": "release"}
    assert got.tags == {"context": {"mhz_per_cpu": 2700, "load_avg": [1.5]}}
