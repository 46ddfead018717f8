"""GuideLLM: benchmarks, their distributions and their requests."""

import json
from typing import Any

import pytest
from bench.warehouse.events import CaseRecord, Metric, Timing

from .reading import Read, read


def summary(mean: float, count: int = 2) -> dict[str, Any]:
    """A distribution."""
    return {
        "mean": mean, "median": mean, "mode": mean, "variance": 4.0, "std_dev": 2.0, "min": mean, "max": mean, "count": count,
        "total_sum": mean * count, "percentiles": {"p001": mean, "p50": mean, "p99": mean, "p999": mean}, "pdf": None,
    }  # fmt: skip


def distribution(mean: float) -> dict[str, Any]:
    """By status; none failed."""
    return {
        "successful": summary(mean),
        "incomplete": summary(0.0, 0),
        "errored": summary(0.0, 0),
        "total": summary(mean),
    }


def request(**fields: Any) -> dict[str, Any]:
    """One that completed."""
    return {
        "type_": "generative_request_stats", "request_id": "r", "output": "text", "request_args": "{}",
        "info": {"timings": {"request_start": 1.0}, "error": None}, "request_start_time": 1_700_000_000.5,
        "request_latency": 1.5, "time_to_first_token_ms": 20.0, "inter_token_latency_ms": 5.0, "time_per_output_token_ms": 7.0,
        "prompt_tokens": 8, "output_tokens": 4,
    } | fields  # fmt: skip


def benchmark(**fields: Any) -> dict[str, Any]:
    """One step."""
    return {
        "type_": "generative_benchmark", "id_": "i", "run_id": "r", "run_index": 0, "config": {
            "strategy": {"type_": "concurrent", "streams": 8}, "profile": {"type_": "concurrent"},
            "backend": {"model": "llama", "api_key": "secret"}, "requests": {"data": "prompt_tokens=8"},
        },
        "metrics": {
            "request_totals": {"successful": 2, "incomplete": 1, "errored": 0, "total": 3},
            "requests_per_second": distribution(1.5), "output_tokens_per_second": distribution(30.0),
            "request_latency": distribution(2.0), "time_to_first_token_ms": distribution(25.0),
            "text": {"tokens": {"input": distribution(8.0)}},
        },
        "requests": {"successful": [request(), request(request_latency=2.5)], "incomplete": [], "errored": [], "total": None},
        "start_time": 1_700_000_000.0, "end_time": 1_700_000_010.0, "duration": 10.0,
    } | fields  # fmt: skip


def report(*benchmarks: Any, **fields: Any) -> Read:
    """A file of them."""
    metadata = {"version": 1, "guidellm_version": "0.6.0", "python_version": "3.12", "platform": "Linux"}
    return read("guidellm", {"metadata": metadata, "args": {"rate": [1]}, "benchmarks": list(benchmarks)} | fields)


def test_a_benchmark_is_a_case_of_its_model_and_strategy() -> None:
    """The file is a run with its time and software."""
    got = report(benchmark())

    (case,) = got.of(CaseRecord)
    assert (case.name, json.loads(case.parameters or "")) == (
        "llama", {"strategy": "concurrent", "streams": 8, "data": "prompt_tokens=8"},
    )  # fmt: skip
    assert (got.runs[0].started_at, got.environment.python, got.tags["args"]) == (
        1_700_000_000_000_000,
        "3.12",
        {"rate": [1]},
    )


def test_distributions_are_aggregates() -> None:
    """Percentiles keep what they are: p001 is the 0.1th."""
    metrics = report(benchmark()).metrics()

    assert (metrics["latency_mean"], metrics["ttft_p99"]) == ((2e9, "ns"), (25e6, "ns"))
    assert {"ttft_p0.1", "ttft_p99.9", "ttft_stddev", "ttft_total_mean", "ttft_total_sum"} <= set(metrics)
    assert metrics["request_throughput_mean"] == (1.5, "requests/s")
    assert metrics["output_throughput_mean"] == (30.0, "tokens/s")
    assert metrics["requests_incomplete"] == (1.0, "count")
    assert metrics["text_tokens_input_mean"][0] == 8.0
    assert (metrics["ttft_variance"], metrics["ttft_count"]) == ((4.0, "ms²"), (2.0, "count"))


def test_distributions_over_no_request_say_nothing() -> None:
    """They are written as zeros."""
    assert not [name for name in report(benchmark()).metrics() if "errored" in name and name != "requests_errored"]


def test_requests_are_samples() -> None:
    """Their texts are left out, the rest is kept."""
    got = report(benchmark())

    assert got.accounting == (3, 3, 0)
    assert got.samples() == [(1_500_000_000, 1), (2_500_000_000, 1)]
    assert got.samples("tpot") == [(5_000_000, 1)] * 2
    assert [m.value for m in got.of(Metric) if m.metric == "output_tokens" and m.statistic is None] == [4, 4]
    assert "text" not in json.loads(got.metrics()["fields"]).values()


def test_a_request_as_version_0_7_writes_it() -> None:
    """Fields without a column are kept: dispatch delay, cached tokens, rates; a request of one token has no tpot."""
    tokens = {f"{kind}_tokens": None for kind in ("image", "video", "audio", "cached")}
    said = {
        "type_": "generative_request_stats", "request_id": "0143bbb3", "response_id": "cmpl-aa5d", "request_args": "{}",
        "output": "text", "reasoning_output": None, "tool_calls": None,
        "info": {
            "request_id": "0143bbb3", "conversation_id": None, "turn_index": 0, "status": "completed", "scheduler_node_id": 1,
            "timings": {"targeted_start": 1772470696.6772, "request_start": 1772470696.6802611, "token_iterations": 1024,
                        "request_end": 1772470721.5881217},
            "error": None, "traceback": None, "started_at": 1772470696.6802611, "completed_at": 1772470721.5881217,
        },
        "input_metrics": {"text_tokens": 81, **tokens, "total_tokens": 81},
        "output_metrics": {"text_tokens": 1024, **tokens, "total_tokens": 1024},
        "request_start_time": 1772470696.6802611, "request_end_time": 1772470721.5881217, "request_latency": 24.90786051750183,
        "request_dispatch_delay": 0.0030608, "request_scheduled_latency": 24.9109, "prompt_tokens": 81, "cached_tokens": 16,
        "output_tokens": 1024, "total_tokens": 1105, "time_to_first_token_ms": 171.52166366577148,
        "time_to_last_round_trip_ms": None, "avg_round_trip_time_ms": None, "time_per_output_token_ms": 24.32254352606833,
        "inter_token_latency_ms": 24.178653868062757, "tokens_per_second": 44.36350521649812,
        "output_tokens_per_second": 41.11151976623898, "time_to_first_output_token_ms": 171.52166366577148,
        "iter_tokens_per_iteration": 1.0, "output_tokens_per_iteration": 1.0,
    }  # fmt: skip
    short = said | {"output_tokens": 1, "inter_token_latency_ms": None, "request_latency": 0.2}
    got = report(benchmark(requests={"successful": [said, short], "errored": [], "incomplete": [], "total": None}))

    assert (got.samples(), got.samples("ttft")) == ([(24_907_860_518, 1), (200_000_000, 1)], [(171_521_664, 1)] * 2)
    assert got.samples("tpot") == [(24_178_654, 1)]
    starts = {timing.recorded_at for timing in got.of(Timing) if timing.metric == "latency"}
    assert starts == {1_772_470_696_680_261}
    kept = json.loads(got.metrics()["fields"])
    assert kept["cached_tokens"] == 16 and kept["request_dispatch_delay"] == 0.0030608
    assert got.metrics()["input_tokens"] == (81.0, "tokens")


def test_a_sample_of_the_requests_is_told() -> None:
    """Shares of it hold, rates do not."""
    totals = {"request_totals": {"successful": 22, "incomplete": 0, "errored": 0, "total": 22}}

    (note,) = report(benchmark(metrics=totals)).tally.notes
    assert note.endswith("holds 2 of 22 requests that completed: goodput by the second is of these only")
    assert report(benchmark()).tally.notes == []


def test_requests_that_failed_are_no_latencies() -> None:
    """They stand apart, and the outcome says so."""
    failed = request(info={"error": "refused"}, request_latency=0.1)
    got = report(benchmark(
        requests={"successful": [request()], "incomplete": [request(request_latency=0.2)], "errored": [failed]},
        metrics={"request_totals": {"successful": 1, "incomplete": 1, "errored": 1, "total": 3}},
    ))  # fmt: skip

    assert (got.samples(), got.samples("latency_errored")) == ([(1_500_000_000, 1)], [(100_000_000, 1)])
    assert got.samples("latency_incomplete") == [(200_000_000, 1)]
    assert got.outcomes() == [("ok", "1 of 3 requests failed: refused")]


def test_a_sweep_finds_its_rates_itself() -> None:
    """They differ in every run: the step is the axis."""
    config = {
        "strategy": {"type_": "constant", "rate": 12.34},
        "profile": {"type_": "sweep"},
        "backend": {"model": "m"},
    }
    first, second = report(benchmark(config=config), benchmark(config=config)).of(CaseRecord)

    assert [json.loads(case.parameters or "")["step"] for case in (first, second)] == [0, 1]
    assert "rate" not in json.loads(first.parameters or "")


def test_no_key_is_stored() -> None:
    """A warehouse is shown around."""
    got = report(benchmark(), args={"backend_kwargs": {"api_key": "secret", "model": "llama"}})

    assert "secret" not in str(got.events) + str(got.tags)
    broken = report(benchmark(metrics=5))
    assert broken.rejects() and "secret" not in str(broken.events)


@pytest.mark.parametrize(
    "said",
    [
        {
            "config": None,
            "worker": {"backend_model": "llama"},
            "args": {"strategy": {"type_": "constant", "rate": 2.0}},
        },
        {
            "config": None,
            "benchmarker": {"backend": {"model": "llama"}},
            "scheduler": {"strategy": {"type_": "constant", "rate": 2.0}},
        },
        {"config": {"backend": {"model": "llama"}, "strategy": {"type_": "constant", "rate": 2.0}}},
    ],
    ids=["0.2", "0.4", "0.6"],
)
def test_models_and_strategies_of_all_versions(said: dict[str, Any]) -> None:
    """Versions keep them in different places."""
    (case,) = report(benchmark(**said)).of(CaseRecord)

    assert (case.name, json.loads(case.parameters or "")) == ("llama", {"strategy": "constant", "rate": 2.0})


def test_what_is_broken_is_a_reject() -> None:
    """The others load."""
    got = report(benchmark(requests={"successful": [5, request()]}), "x")

    assert (got.accounting, [at for at, _ in got.rejects()]) == ((4, 2, 2), [2, 4])
