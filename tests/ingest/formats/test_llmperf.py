"""LLMPerf: summaries, and the responses they are of."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.ingest.run import IngestReport
from bench.warehouse.events import CaseRecord, Metric

from .reading import lay, read

Rows = Callable[[str], list[tuple[Any, ...]]]


def summary(**fields: Any) -> dict[str, Any]:
    """What *_summary.json holds."""
    return {
        "version": "2023-08-31", "name": "llama_550_150_summary", "model": "llama", "mean_input_tokens": 550,
        "stddev_input_tokens": 0, "mean_output_tokens": 150, "stddev_output_tokens": 0, "num_concurrent_requests": 5,
        "results_ttft_s_quantiles_p99": 0.5, "results_ttft_s_mean": 0.25, "results_inter_token_latency_s_mean": 0.0625,
        "results_end_to_end_latency_s_stddev": 0.125, "results_number_input_tokens_min": "550",
        "results_request_output_throughput_token_per_s_mean": 50.0, "results_num_requests_started": 3, "results_error_rate": 0.0,
        "results_number_errors": 0, "results_error_code_frequency": "{}", "results_mean_output_throughput_token_per_s": 200.0,
        "results_num_completed_requests": 3, "results_num_completed_requests_per_min": 90.0, "framework": "x",
        "timestamp": 1703135943,
    } | fields  # fmt: skip


def response(**fields: Any) -> dict[str, Any]:
    """One of *_individual_responses.json."""
    return {
        "error_code": None, "error_msg": "", "inter_token_latency_s": 0.0625, "ttft_s": 0.25, "end_to_end_latency_s": 2.5,
        "request_output_throughput_token_per_s": 50.0, "number_total_tokens": 700, "number_output_tokens": 150,
        "number_input_tokens": 550,
    } | fields  # fmt: skip


def test_a_summary_is_a_case_of_its_model_and_load() -> None:
    """The user's own metadata are axes; numbers may be texts."""
    got = read("llmperf", summary())

    (case,) = got.of(CaseRecord)
    assert (case.name, json.loads(case.parameters or "")) == ("llama", {
        "mean_input_tokens": 550, "stddev_input_tokens": 0, "mean_output_tokens": 150, "stddev_output_tokens": 0,
        "num_concurrent_requests": 5, "framework": "x",
    })  # fmt: skip
    assert got.runs[0].started_at == 1_703_135_943_000_000
    metrics = got.metrics()
    assert (metrics["ttft_mean"], metrics["ttft_p99"]) == ((2.5e8, "ns"), (5e8, "ns"))
    assert (metrics["time_per_output_token_mean"], metrics["latency_stddev"]) == ((6.25e7, "ns"), (1.25e8, "ns"))
    assert (metrics["output_throughput"], metrics["request_throughput"]) == ((200.0, "tokens/s"), (1.5, "requests/s"))
    assert metrics["input_tokens_min"] == (550.0, "tokens")
    assert got.better()["error_rate"] == "lower"


def test_errors_are_in_the_outcome() -> None:
    """Their codes, too; without a completed request it failed."""
    some = summary(results_number_errors=1, results_num_completed_requests=2, results_error_code_frequency="{429: 1}")
    assert read("llmperf", some).outcomes() == [("ok", "1 of 3 requests failed: {429: 1}")]
    none = read("llmperf", summary(results_number_errors=3, results_num_completed_requests=0, results_ttft_s_mean=0.0))
    assert none.outcomes() == [("fail_to_run", "3 of 3 requests failed")]
    assert "ttft_mean" not in none.metrics()


def test_responses_are_samples() -> None:
    """One that failed is NULL; alone, they are named by their file."""
    failed = response(error_code=429, error_msg="busy", ttft_s=0.0, end_to_end_latency_s=0.0)
    got = read("llmperf", [response(), failed], "llama_550_150_individual_responses.json")

    assert (got.names, got.accounting) == (["llama_550_150"], (3, 3, 0))
    assert (got.samples(), got.samples("ttft")) == ([(2_500_000_000, 1)], [(250_000_000, 1)])
    assert [m.value for m in got.of(Metric) if m.metric == "latency"] == [None]
    assert [m.value for m in got.of(Metric) if m.metric == "output_tokens"] == [150.0, None]
    assert got.outcomes() == [("ok", "1 of 2 requests failed: error code 429")]
    assert got.metrics()["error"] == "busy"


def test_a_broken_response_is_a_reject() -> None:
    """The others load."""
    got = read("llmperf", [response(), 5, response()])

    assert (got.accounting, [at for at, _ in got.rejects()]) == ((4, 3, 1), [3])


def test_both_files_are_of_one_case(tmp_path: Path, load: Callable[..., IngestReport], rows: Rows) -> None:
    """The summary says what was asked of the model, and how long it took: 3 requests at 90 a minute."""
    lay(tmp_path, {"a/x_summary.json": summary(), "a/x_individual_responses.json": [response()] * 3})

    load(tmp_path / "a")

    assert rows("SELECT count(DISTINCT case_id), count(DISTINCT run_id), any_value(name) FROM cases") == [
        (1, 1, "llama")
    ]
    assert rows("SELECT epoch(started_at)::BIGINT FROM runs") == [(1_703_135_943,)]
    assert rows("SELECT good, duration_s, goodput, goodput_low FROM goodput(ttft := 300)") == [(3, 2.0, 1.5, None)]
