"""Conbench: results and runs, whatever the API wraps around them."""

import json
from typing import Any

import pytest
from bench.warehouse.events import CaseRecord, Environment, Metric

from .reading import Read, read
from .samples import CONBENCH_PAIRS

STATS = {
    "data": [0.5, 0.25], "times": [0.5, 0.25], "unit": "s", "time_unit": "s", "iterations": 2, "mean": 0.375, "stdev": 0.1,
    "z_score": None,
}  # fmt: skip
MACHINE = {
    "name": "box", "architecture_name": "x86_64", "cpu_model_name": "A CPU", "cpu_thread_count": "8", "cpu_core_count": 4,
    "memory_bytes": "17179869184", "gpu_product_names": ["T4"], "os_name": "Linux", "os_version": "6", "kernel_name": "6.1",
}  # fmt: skip


def result(**fields: Any) -> dict[str, Any]:
    """One result, as posted."""
    return {
        "run_id": "r1", "batch_id": "b1", "timestamp": "2024-05-06T07:08:09Z", "run_reason": "commit",
        "tags": {"name": "file-read", "compression": "snappy", "id": "x"}, "context": {"lang": "C++"}, "info": {"v": "1"},
        "github": {"commit": "abc", "repository": "r"}, "machine_info": MACHINE, "stats": STATS, "error": None,
    } | fields  # fmt: skip


def load(content: object) -> Read:
    """Read a response."""
    return read("conbench", content)


@pytest.mark.parametrize(
    "wrapped",
    [
        result(),
        [result()],
        {"data": [result()], "metadata": {}},
        {"status_code": 200, "data": {"data": [result()], "metadata": {}}},
    ],
)
def test_results_are_found_in_whatever_wraps_them(wrapped: object) -> None:
    """Posted alone, listed, a page of the API, or a page in the documentation's wrapping."""
    got = load(wrapped)

    assert got.names == ["file-read"]
    assert got.samples() == [(500_000_000, 1), (250_000_000, 1)]


def test_tags_are_axes_and_the_rest_is_kept() -> None:
    """But the database's id of the case."""
    got = load([result()])

    assert got.of(CaseRecord)[0].parameters == '{"compression": "snappy"}'
    assert got.metrics()["latency_stddev"] == (1e8, "ns")
    assert "latency" not in got.metrics()


def test_a_conbench_run_is_a_run() -> None:
    """Commit, first time, machine; numbers of the machine may be texts."""
    got = load([result(timestamp="2024-05-06T07:08:10Z"), result(), result(run_id="r2")])

    assert [(run.git_commit, run.started_at, run.host) for run in got.runs] == [
        ("abc", 1714979289000000, "box"), ("abc", 1714979289000000, "box"),
    ]  # fmt: skip
    environment = got.of(Environment)[0]
    assert (environment.logical_cores, environment.ram_bytes, environment.gpus) == (8, 17179869184, ["T4"])
    assert json.loads(got.runs[0].tags or "")["run_reason"] == "commit"


@pytest.mark.parametrize(
    ("unit", "metric", "expected", "better"),
    [("B/s", "throughput", "bytes/s", "higher"), ("i/s", "throughput", "items/s", "higher"), ("B", "memory", "bytes", "lower"),
     ("widgets", "value", "widgets", None)],
)  # fmt: skip
def test_the_unit_says_what_was_measured(unit: str, metric: str, expected: str, better: str | None) -> None:
    """Times that stand beside a rate are samples of latency."""
    got = load([result(stats={"data": [10.0], "times": [0.5], "unit": unit, "time_unit": "s"})])

    (value,) = got.of(Metric)[:1]
    assert (value.metric, value.value, value.unit, value.better) == (metric, 10.0, expected, better)
    assert got.samples() == [(500_000_000, 1)]


def test_errors_are_outcomes() -> None:
    """With the last line as the reason."""
    got = load(
        [result(stats=None, error={"stack_trace": "Traceback\nValueError: x"}), result(stats=None, error="a\nb")]
    )

    assert got.outcomes()[1] == ("fail_to_run", "b")
    assert got.outcomes()[0][0] == "fail_to_run"


def test_a_description_of_a_run_is_a_run() -> None:
    """With its machine, and no results."""
    run = {
        "id": "r1",
        "reason": "nightly",
        "timestamp": "2024-05-06T07:08:09",
        "commit": {"sha": "abc"},
        "hardware": MACHINE,
    }
    got = load({"status_code": 200, "data": run})

    assert got.accounting == (1, 1, 0)
    assert (got.runs[0].git_commit, got.environment.cpu, got.tags["reason"]) == ("abc", "A CPU", "nightly")


def test_broken_results_are_rejects() -> None:
    """Without a name, of a wrong type, of a run that cannot be described."""
    got = load([result(), result(tags={}), result(stats=5), 7, result(run_id="r9", machine_info=5)])

    assert got.accounting == (5, 1, 4)


def test_a_comparison_is_two_runs() -> None:
    """Each side is a record of the run it belongs to; what the comparison says is kept with the contender."""
    got = read("conbench-compare", CONBENCH_PAIRS)

    assert [json.loads(run.tags or "") for run in got.runs] == [{"run_id": "r1"}, {"run_id": "r2"}]
    assert [(metric.value, metric.statistic, metric.better) for metric in got.of(Metric) if metric.metric == "latency"] == [
        (0.25e9, "mean", "lower"), (0.5e9, "mean", "lower"),
    ]  # fmt: skip
    assert json.loads(got.of(CaseRecord)[0].parameters or "") == {"compression": "snappy", "cpu_count": 2}
    assert ("fail_to_run", '{"message": "why"}') in got.outcomes()
    assert json.loads(got.metrics()["fields"])["analysis"]["pairwise"]["percent_change"] == -100.0
    assert got.accounting == (3, 3, 0)


def test_a_comparison_of_2022_has_texts_for_values() -> None:
    """And both sides' facts in one object."""
    pair = {
        "baseline": "0.036 s", "baseline_error": None, "baseline_run_id": "r1", "baseline_id": "b1", "batch": "read",
        "benchmark": "snappy", "change": "0.000%", "contender": None, "contender_error": {"message": "why"},
        "contender_run_id": "r2", "contender_id": "b2", "less_is_better": True, "tags": {"name": "read", "n": 2}, "unit": "s",
    }  # fmt: skip
    got = read("conbench-compare", {"data": [pair]})

    assert got.names == ["read", "read"] and got.metrics()["latency_mean"] == (36e6, "ns")
    assert ("fail_to_run", '{"message": "why"}') in got.outcomes()


def test_a_side_that_is_no_result_is_a_reject() -> None:
    """The other one loads."""
    got = read("conbench-compare", [{**CONBENCH_PAIRS[0], "baseline": 5}])

    assert [reason for _, reason in got.rejects()] == ["baseline is not a result"] and got.accounting == (2, 1, 1)
