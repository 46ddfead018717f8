"""MLPerf: summaries and detailed logs of LoadGen, which say the same of a test; submissions of many."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench.ingest.run import IngestReport
from bench.warehouse.events import CaseRecord, Metric

from ...exhaustive import exhaustive
from .reading import Read, lay, read

Rows = Callable[[str], list[tuple[Any, ...]]]

RULE = "=" * 48
SUMMARY = f"""{RULE}
MLPerf Results Summary
{RULE}
SUT name : PySUT
Scenario : Server
Mode     : PerformanceOnly
Completed samples per second    : 74.96
Completed tokens per second: 22020.92
Result is : VALID
  Performance constraints satisfied : Yes
Early Stopping Result:
 * Run successful.

{RULE}
Additional Stats
{RULE}
Scheduled samples per second : 76.17
Min latency (ns)                : 1000
Mean latency (ns)               : 2000
99.00 percentile latency (ns)   : 4000
99.90 percentile first token latency (ns)   : 300
Mean Time to Output Token (ns)               : 20

{RULE}
Test Parameters Used
{RULE}
target_qps : 77
min_duration (ms): 600000
qsl_rng_seed : 13281865557512327830

No warnings encountered during test.

2 errors encountered. See detailed log.
"""


def log(**entries: Any) -> str:
    """A detailed log, an entry a key."""
    head = {
        "loadgen_version": "4.0 @ fa4fe53e53", "test_datetime": "2024-06-01T14:48:08Z", "sut_name": "PySUT",
        "requested_scenario": "Offline", "effective_scenario": "Server", "effective_test_mode": "PerformanceOnly",
    }  # fmt: skip
    about = {"is_error": False, "is_warning": False, "file": "x.cc", "line_no": 5, "pid": 1, "tid": 1}
    return "".join(
        f":::MLLOG {json.dumps({'key': key.replace('__', '.'), 'value': value, 'time_ms': 0.5, 'metadata': about})}\n"
        for key, value in (head | entries).items()
    )


RESULT: dict[str, Any] = {
    "effective_target_qps": 77, "effective_min_duration_ms": 600000, "effective_qsl_rng_seed": 13281865557512327830,
    "result_validity": "VALID", "result_completed_samples_per_sec": 74.96, "result_scheduled_samples_per_sec": 76.17,
    "result_min_latency_ns": 1000, "result_mean_latency_ns": 2000, "result_99__00_percentile_latency_ns": 4000,
    "result_first_token_99__90_percentile_latency_ns": 300, "result_time_to_output_token_mean": 20,
}  # fmt: skip


def both() -> list[Read]:
    """The same test from either file."""
    return [read("mlperf", SUMMARY, "a.txt"), read("mlperf", log(**RESULT), "b.txt")]


def test_either_file_says_the_same() -> None:
    """One case, its results under the same names, in the same units."""
    summary, detail = both()

    assert [(case.case_id, case.name) for case in summary.of(CaseRecord)] == [
        (case.case_id, case.name) for case in detail.of(CaseRecord)
    ]
    assert summary.of(CaseRecord)[0].parameters == '{"mode": "PerformanceOnly", "scenario": "Server"}'
    left, right = summary.metrics(), detail.metrics()
    same = {
        "throughput": (74.96, "samples/s"), "scheduled_throughput": (76.17, "samples/s"), "latency_min": (1000.0, "ns"),
        "latency_mean": (2000.0, "ns"), "latency_p99": (4000.0, "ns"), "ttft_p99.9": (300.0, "ns"), "tpot_mean": (20.0, "ns"),
        "target_qps": (77.0, None), "min_duration": (6e11, "ns"), "qsl_rng_seed": "13281865557512327830",
    }  # fmt: skip
    assert {name: left[name] for name in same} == same == {name: right[name] for name in same}
    assert (left["output_throughput"], left["errors"], left["warnings"]) == (
        (22020.92, "tokens/s"), (2.0, "count"), (0.0, "count"),
    )  # fmt: skip
    assert summary.better()["latency_p99"] == "lower"
    assert (summary.better()["throughput"], summary.better()["min_duration"]) == ("higher", None)


def test_every_line_is_a_record() -> None:
    """Rules and blank lines are, too."""
    summary, detail = both()

    assert summary.accounting == (33, 33, 0)
    assert detail.accounting == (17, 17, 0)
    assert summary.metrics()["early_stopping_result"] == "* Run successful."


def test_the_log_says_when_and_with_what() -> None:
    """The summary does not."""
    detail = both()[1]

    assert detail.runs[0].started_at == 1_717_253_288_000_000
    assert detail.environment.extra == '{"loadgen_version": "4.0 @ fa4fe53e53"}'


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ({"result_validity": "VALID"}, ("ok", None)),
        ({"result_validity": "INVALID", "result_invalid_reason": "too short "}, ("invalid", "too short")),
        ({}, ("fail_to_run", "the log has no result: the test did not end")),
        ({"effective_test_mode": "AccuracyOnly"}, ("skipped", "an accuracy run: nothing was timed")),
    ],
)
def test_how_a_test_ended(said: dict[str, Any], outcome: tuple[str, str | None]) -> None:
    """An accuracy run has no metrics, and no failure."""
    assert read("mlperf", log(**said)).outcomes() == [outcome]


def test_a_summary_says_what_to_do() -> None:
    """Which is the reason."""
    text = SUMMARY.replace(
        "VALID\n", "INVALID\nRecommendations:\n * Increase the target QPS.\n * Run longer.\n   Much.\n"
    )
    got = read("mlperf", text)

    assert got.outcomes() == [("invalid", "Increase the target QPS. Run longer.")]
    assert "Much." in {metric.original_value for metric in got.of(Metric) if metric.metric == "recommendations"}


def test_the_percentile_that_is_scored_stands_apart() -> None:
    """A single stream is judged by it; below, it is said again among the others."""
    got = read(
        "mlperf", SUMMARY.replace("Completed samples per second    : 74.96", "90.0th percentile latency (ns) : 3000")
    )

    assert got.metrics()["scored_latency_p90"] == (3000.0, "ns")


def test_streams_have_latencies_of_queries() -> None:
    """In the summary below a heading, in the log by name."""
    summary = read("mlperf", SUMMARY.replace("Min latency", "Per-query latency:  \nMin latency"))
    detail = read("mlperf", log(result_min_query_latency_ns=1000, result_99__00_percentile_per_query_latency_ns=4000))

    for got in (summary, detail):
        assert got.metrics()["query_latency_min"] == (1000.0, "ns")
        assert got.metrics()["query_latency_p99"] == (4000.0, "ns")


def test_a_broken_line_is_a_reject() -> None:
    """With its number; the others load."""
    got = read("mlperf", log(**RESULT) + "x\n:::MLLOG {\n")

    assert [at for at, _ in got.rejects()] == [18, 19]
    assert got.tally.loaded == 17


def test_a_folder_is_said_once(tmp_path: Path, load: Callable[..., IngestReport], rows: Rows) -> None:
    """The summary is left out; what was submitted is tags and type of numbers; numbers of runs and days are no configs."""
    about = {"starting_weights_filename": "w", "retraining": "no", "weight_data_types": "fp16"}
    for number in (1, 2):
        folder = f"sub/2024-06-0{number}/r50/Server/performance/run_{number}"
        lay(tmp_path, {
            f"{folder}/mlperf_log_summary.txt": SUMMARY, f"{folder}/measurements.json": about,
            f"{folder}/mlperf_log_detail.txt": log(**RESULT | {"result_mean_latency_ns": 2000 + number}),
        })  # fmt: skip

    load(tmp_path / "sub")

    assert rows("SELECT DISTINCT config, tags ->> 'retraining' FROM runs") == [("sub/r50/Server", "no")]
    assert rows("SELECT count(*), count(DISTINCT run_id), any_value(dtype) FROM cases") == [(2, 2, "fp16")]
    assert rows("SELECT value FROM metrics WHERE metric = 'latency' AND statistic = 'mean' ORDER BY 1") == [
        (2001.0,),
        (2002.0,),
    ]


@exhaustive
@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("mlperf_log_summary.txt", SUMMARY, "repeats mlperf_log_detail.txt, which lies beside it"),
        (
            "measurements.json",
            {"starting_weights_filename": "w", "retraining": "", "weight_data_types": ""},
            "is read with the log",
        ),
        (
            "a.txt",
            "\nNo warnings encountered during test.\n\nNo errors encountered during test.\n",
            "repeats mlperf_log_detail",
        ),
    ],
)
def test_what_is_left_out_says_why(
    tmp_path: Path, load: Callable[..., IngestReport], name: str, content: object, why: str
) -> None:
    """In the notes of the load."""
    lay(tmp_path, {"a/mlperf_log_detail.txt": log(**RESULT), f"a/{name}": content})

    assert any(f"{name} {why}" in note for note in load(tmp_path / "a").notes)
