"""pytest-benchmark: samples, statistics, parameters, machine and commit."""

import json
from typing import Any

from bench.warehouse.events import CaseRecord, Metric

from .reading import read

STATS = {
    "min": 1e-6, "max": 4e-6, "mean": 2e-6, "stddev": 5e-7, "median": 1.5e-6, "iqr": 3e-7, "q1": 1.2e-6, "q3": 1.5e-6,
    "rounds": 3, "iterations": 10, "ops": 5e5, "total": 6e-6, "outliers": "1;0",
}  # fmt: skip
MACHINE = {
    "node": "box", "machine": "x86_64", "system": "Linux", "release": "6.1", "python_version": "3.12.1",
    "python_compiler": "GCC", "cpu": {"brand_raw": "A CPU", "count": 8, "hz_actual_friendly": "2.5 GHz"},
}  # fmt: skip


def benchmark(name: str = "test_a", **fields: Any) -> dict[str, Any]:
    """One benchmark without raw data."""
    return {"name": name, "fullname": f"t.py::{name}", "group": None, "params": None, "stats": STATS} | fields


def document(*benchmarks: object, **fields: Any) -> dict[str, Any]:
    """A file."""
    commit = {"id": "abc", "branch": "main", "dirty": False, "time": "2024-05-06T00:00:00+00:00"}
    return {
        "machine_info": MACHINE, "commit_info": commit, "datetime": "2024-05-06T07:08:09.5", "version": "4.0.0",
        "benchmarks": list(benchmarks),
    } | fields  # fmt: skip


def test_data_are_timings_of_iterations_calls() -> None:
    """A time per call becomes the time of all calls of a round."""
    got = read("pytest-benchmark", document(benchmark(stats={**STATS, "data": [1e-6, 2e-6, 3e-6]})))

    assert got.samples() == [(10_000, 10), (20_000, 10), (30_000, 10)]
    assert got.outcomes() == [("ok", None)]


def test_statistics_are_aggregates_in_ns() -> None:
    """Each has its name, the text it was converted from, and a direction unless it is a spread."""
    got = read("pytest-benchmark", document(benchmark()))

    assert got.metrics()["latency_mean"] == (2000.0, "ns")
    assert got.metrics()["latency_stddev"] == (500.0, "ns")
    assert got.metrics()["throughput_mean"] == (5e5, "ops/s")
    assert got.metrics()["rounds"] == (3.0, "count")
    assert (got.better()["latency_mean"], got.better()["throughput_mean"], got.better()["latency_stddev"]) == (
        "lower", "higher", None,
    )  # fmt: skip
    mean = next(metric for metric in got.of(Metric) if metric.statistic == "mean")
    assert (mean.original_value, mean.original_unit) == ("2e-06", "s")


def test_parameters_are_axes_and_hold_no_address() -> None:
    """An object's place in memory is no part of a case's identity."""
    got = read("pytest-benchmark", document(benchmark(group="g", params={"n": 3, "f": "<f at 0x7f0011223344>"})))

    (case,) = got.of(CaseRecord)
    assert (case.name, case.suite) == ("t.py::test_a", "g")
    assert json.loads(case.parameters or "") == {"n": 3, "f": "<f at 0x…>"}


def test_the_file_says_when_where_and_of_what() -> None:
    """Commit and time go to the run, the machine to the environment, what varies and the rest to tags."""
    got = read("pytest-benchmark", document(benchmark()))

    (run,) = got.runs
    assert (run.git_commit, run.git_branch, run.git_dirty, run.host) == ("abc", "main", False, "box")
    assert run.started_at == 1714979289500000
    env = got.environment
    assert (env.cpu, env.logical_cores, env.os, env.python) == ("A CPU", 8, "Linux 6.1", "3.12.1")
    assert json.loads(env.extra or "") == {"python_compiler": "GCC"}
    assert got.tags == {
        "version": "4.0.0", "machine_info": {"hz_actual_friendly": "2.5 GHz"},
        "commit_info": {"time": "2024-05-06T00:00:00+00:00"},
    }  # fmt: skip


def test_no_field_is_dropped() -> None:
    """Numbers of extra_info are metrics; everything else is kept as text."""
    got = read("pytest-benchmark", document(benchmark(extra_info={"hits": 7, "why": "x"}, options={"timer": "t"})))

    assert got.metrics()["hits"] == (7.0, None)
    assert json.loads(got.metrics()["fields"]) == {
        "name": "test_a", "extra_info": {"why": "x"}, "options": {"timer": "t"}, "stats": {"outliers": "1;0"},
    }  # fmt: skip


def test_a_broken_benchmark_leaves_the_others() -> None:
    """It is a reject with its number, reason and text; so is one that repeats a key."""
    got = read("pytest-benchmark", document(benchmark("a"), benchmark("b", stats=[]), 5, benchmark("c", fullname="")))

    assert got.names == ["t.py::a", "c"]
    assert got.rejects() == [(2, "stats is [], not an object"), (3, "not an object")]
    assert got.accounting == (4, 2, 2)


def test_a_repeated_key_is_a_reject_of_its_record_only() -> None:
    """Nobody can say which of the values was meant."""
    text = json.dumps(document(benchmark("a"), benchmark("b")))
    text = text.replace('"name": "b"', '"name": "b", "name": "c"')

    assert read("pytest-benchmark", text).rejects() == [(2, "repeats the key 'name'")]


def test_a_value_that_is_no_number_is_null_with_its_text() -> None:
    """NaN, null and words among samples are kept, and are no zeros."""
    got = read("pytest-benchmark", document(benchmark(stats={**STATS, "data": [1e-6, "omitted", float("nan"), None]})))

    assert got.samples() == [(10_000, 10)]
    assert [m.original_value for m in got.of(Metric) if m.value is None and m.metric == "latency"] == [
        "omitted", "NaN", "null",
    ]  # fmt: skip
