"""k6, oha, Locust and wrk: latencies and rates of a load test under the same names."""

from pathlib import Path

import pytest
from bench.warehouse.events import CaseRecord

from ..conftest import Load
from .reading import lay, read
from .samples import K6, LOCUST, OHA, WRK


def test_k6_has_the_same_metrics_in_both_its_files() -> None:
    """`--summary-export` writes the values bare, `handleSummary` with their kind."""
    got = read("k6", K6, name="home.json")

    assert [(case.name, case.parameters) for case in got.of(CaseRecord)] == [
        ("home", None), ("home", '{"expected_response": "true"}'),
    ]  # fmt: skip
    said = got.metrics()
    assert said["latency_mean"] == (1.5e6, "ns") and said["latency_p95"] == (2.5e6, "ns")
    assert said["requests"] == (100.0, "count") and said["request_throughput"] == (10.0, "requests/s")
    assert said["http_req_failed"] == (0.25, None) and got.better()["http_req_failed"] == "lower"
    assert said["data_received"] == (5000.0, "bytes") and said["data_received_rate"] == (500.0, "bytes/s")
    assert said["fields"] == '{"thresholds": {"p(95)<500": false}}'
    assert got.tags == {"root_group": {"name": ""}}

    bare = {"metrics": {"http_req_duration": {"type": "trend", "contains": "time", "values": {"avg": 1.5, "p(95)": 2.5}},
                        "http_reqs": {"type": "counter", "contains": "default", "values": {"count": 100, "rate": 10}},
                        "http_req_failed": {"type": "rate", "contains": "default", "values": {"rate": 0.25}}}}  # fmt: skip
    other = read("k6", bare, name="home.json").metrics()
    assert {key: other[key] for key in ("latency_mean", "latency_p95", "requests")} == {
        key: said[key] for key in ("latency_mean", "latency_p95", "requests")
    }
    assert other["http_req_failed"] == (0.25, None)


@pytest.mark.parametrize("key", ["generated_at", "generatedAt"])
def test_a_summary_of_k6_1_0_says_when_it_was_written(key: str) -> None:
    """In either spelling of its versions."""
    listed = [{"name": "http_reqs", "type": "counter", "values": {"count": 100, "rate": 10.0}}]
    metadata = {"k6Version": "1.1.0", key: "2026-05-01T10:00:00Z"}
    got = read("k6", {"version": "1.0.0", "metadata": metadata, "results": {"metrics": listed}}, "home.json")

    assert [run.started_at for run in got.runs] == [1_777_629_600_000_000]


def test_oha_says_seconds() -> None:
    """Status codes and errors are counted."""
    got = read("oha", OHA, name="home.json")

    said = got.metrics()
    assert got.names == ["home"] and got.accounting == (1, 1, 0)
    assert (
        said["latency_mean"] == (2e6, "ns")
        and said["latency_p99.9"] == (5e6, "ns")
        and said["latency_max"] == (6e6, "ns")
    )
    assert said["ttfb_p50"] == (1e6, "ns") and said["request_throughput"] == (50.5, "requests/s")
    assert said["status: 200"] == (100.0, "count") and said["error: request timeout"] == (1.0, "count")
    assert got.better()["error: request timeout"] == "lower" and got.better()["success_rate"] == "higher"
    assert said["fields"] == '{"responseTimeHistogram": {"0.001": 10}}'


def test_locust_has_a_row_for_each_request() -> None:
    """In ms; percentiles that were not reached are none."""
    got = read("locust", LOCUST, name="x_stats.csv")

    assert [(case.name, case.parameters) for case in got.of(CaseRecord)] == [
        ("/api/users", '{"method": "GET"}'), ("Aggregated", None),
    ]  # fmt: skip
    said = got.metrics()
    assert (
        said["latency_mean"] == (5.5e7, "ns") and said["latency_p99"] == (1.8e8, "ns") and "latency_p99.9" not in said
    )
    assert said["request_throughput"] == (10.5, "requests/s") and said["failures"] == (5.0, "count")


def test_what_locust_writes_beside_is_left_out(tmp_path: Path, load: Load) -> None:
    """With a note; they say how the same came about."""
    history = "Timestamp,User Count,Type,Name,Requests/s,Failures/s,50%,Total Request Count\n1714979289,1,,Aggregated,1,0,5,2\n"
    failures = "Method,Name,Error,Occurrences\nGET,/,oops,3\n"
    lay(tmp_path / "e", {"x_stats.csv": LOCUST, "x_stats_history.csv": history, "x_failures.csv": failures})

    report = load(tmp_path / "e")

    assert [line.path.name for line in report.lines] == ["x_stats.csv"]
    assert sum("is not the statistics of Locust" in note for note in report.notes) == 2


def test_wrk_counts_sizes_in_1024s() -> None:
    """Threads and connections are axes; wrk2's percentiles have zeros."""
    got = read("wrk", f"warm\n{WRK}{WRK.replace('50%', '50.000%').replace('400 conn', '8 conn')}", name="t.txt")

    assert [case.parameters for case in got.of(CaseRecord)] == [
        '{"connections": 400, "threads": 12}', '{"connections": 8, "threads": 12}',
    ]  # fmt: skip
    assert got.metrics() == {
        "request_throughput": (748868.53, "requests/s"), "latency_mean": (635910.0, "ns"), "latency_stddev": (890000.0, "ns"),
        "latency_max": (12920000.0, "ns"), "latency_p50": (250000.0, "ns"), "throughput": (606.33 * 2**20, "bytes/s"),
        "requests": (22464657.0, "count"), "duration": (3e10, "ns"), "read": (17.76 * 2**30, "bytes"),
        "connect_errors": (0.0, "count"), "read_errors": (0.0, "count"), "write_errors": (0.0, "count"),
        "timeout_errors": (5.0, "count"), "error_responses": (7.0, "count"),
    }  # fmt: skip
    assert got.tally.notes == ["t.txt: 7 lines are not results"]


def test_a_report_of_wrk_that_was_cut_is_a_reject() -> None:
    """The next one loads."""
    got = read("wrk", WRK[:200] + "\n" + WRK, name="t.txt")

    assert got.rejects() == [(1, "ends before its requests/sec")] and got.accounting == (2, 1, 1)
