"""vLLM: serving, latency and throughput; requests one by one; failures; sweeps."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench.ingest.run import IngestReport
from bench.warehouse.events import CaseRecord, Metric, Outcome, Timing
from hypothesis import given
from hypothesis import strategies as st

from .reading import Read, lay, read

Rows = Callable[[str], list[tuple[Any, ...]]]


def serving(**fields: Any) -> dict[str, Any]:
    """What `vllm bench serve --save-result` writes."""
    return {
        "date": "20250227-024826", "endpoint_type": "vllm", "backend": "vllm", "label": None, "model_id": "llama",
        "tokenizer_id": "llama", "num_prompts": 2, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": None,
        "duration": 2.0, "completed": 2, "failed": 0, "total_input_tokens": 10, "total_output_tokens": 6,
        "request_throughput": 1.0, "output_throughput": 3.0, "mean_ttft_ms": 15.0, "p99_ttft_ms": 20.0, "std_e2el_ms": 1.5,
    } | fields  # fmt: skip


DETAILS = {
    "input_lens": [4, 6], "output_lens": [3, 2], "ttfts": [0.01, 0.02], "itls": [[0.5, 0.25], [0.125]], "start_times": [7.5, 8.5],
    "generated_texts": ["a", "b"], "errors": ["", ""],
}  # fmt: skip


def case_of(got: Read) -> tuple[str | None, Any]:
    """Backend and parameters of the only case."""
    (case,) = got.of(CaseRecord)
    return case.backend, json.loads(case.parameters or "{}")


def test_a_serving_benchmark_is_a_case_of_its_model_and_load() -> None:
    """Aggregates are no samples; throughputs are better when higher, latencies when lower."""
    got = read("vllm", serving())

    assert (got.names, got.of(CaseRecord)[0].suite, got.outcomes()) == (["llama"], "serving", [("ok", None)])
    setting = {"burstiness": 1.0, "num_prompts": 2, "request_rate": "inf", "input_tokens": 5, "output_tokens": 3}
    assert case_of(got) == ("vllm", setting)
    metrics = got.metrics()
    assert metrics["ttft_mean"] == (15e6, "ns")
    assert metrics["latency_stddev"] == (1.5e6, "ns")
    assert metrics["output_throughput"] == (3.0, "tokens/s")
    assert metrics["benchmark_duration"] == (2e9, "ns")
    better = got.better()
    assert [better[name] for name in ("ttft_p99", "latency_stddev", "request_throughput", "completed")] == [
        "lower", None, "higher", None,
    ]  # fmt: skip
    assert (got.runs[0].started_at, got.of(Timing)) == (1_740_624_506_000_000, [])


def test_requests_are_samples_in_their_order() -> None:
    """Gaps of all requests follow each other; how many each has says whose they are."""
    got = read("vllm", serving(**DETAILS))

    assert got.samples("ttft") == [(10_000_000, 1), (20_000_000, 1)]
    assert got.samples("itl") == [(500_000_000, 1), (250_000_000, 1), (125_000_000, 1)]
    assert [m.value for m in got.of(Metric) if m.metric == "itl_count"] == [2, 1]
    assert [m.value for m in got.of(Metric) if m.metric == "output_tokens"] == [3, 2]
    assert got.tally.notes == ["results.json: 2 generated texts are left out"]


def test_a_request_that_failed_is_null_and_no_zero() -> None:
    """Its 0.0 is no latency; the outcome says how many failed, and why."""
    details = DETAILS | {"ttfts": [0.01, 0.0], "itls": [[0.5], []], "output_lens": [2, 0], "errors": ["", "Too many\n"]}
    got = read("vllm", serving(completed=1, failed=1, **details))

    assert got.samples("ttft") == [(10_000_000, 1)]
    assert [m.value for m in got.of(Metric) if m.metric == "ttft" and m.statistic is None] == [None]
    assert got.outcomes() == [("ok", "1 of 2 requests failed: Too many")]
    assert got.metrics()["error"] == "Too many\n"


def test_what_a_failed_request_measured_stands_apart() -> None:
    """It got as far as its first tokens."""
    got = read("vllm", serving(completed=1, **(DETAILS | {"errors": ["", "cut"]})))

    assert (got.samples("ttft"), got.samples("ttft_errored")) == ([(10_000_000, 1)], [(20_000_000, 1)])
    assert (len(got.samples("itl")), got.samples("itl_errored")) == (2, [(125_000_000, 1)])


def test_a_benchmark_none_of_whose_requests_completed_failed() -> None:
    """Its latency of 0 ms is kept as text, and is no metric."""
    got = read("vllm", serving(completed=0, failed=2, mean_ttft_ms=0.0, output_throughput=0.0, p99_ttft_ms=0.0))

    assert got.outcomes() == [("fail_to_run", "2 of 2 requests failed")]
    assert {"ttft_mean", "output_throughput"}.isdisjoint(got.metrics())
    assert json.loads(got.metrics()["fields"])["mean_ttft_ms"] == 0.0


def test_labels_are_what_is_compared_and_settings_are_axes() -> None:
    """A label is a backend; texts of --metadata are parameters, unless they vary from run to run."""
    got = read("vllm", serving(label="v1", tp="2", commit="abc", tokenizer_id="t"))

    backend, parameters = case_of(got)
    assert (backend, parameters["endpoint"], parameters["tp"], parameters["tokenizer_id"]) == ("v1", "vllm", "2", "t")
    assert (json.loads(got.metrics()["fields"]), got.runs[0].git_commit) == ({"commit": "abc"}, "abc")


def test_what_a_sweep_set_are_axes() -> None:
    """All that stands behind the number of the run."""
    got = read("vllm", serving(run_number=1, max_num_seqs=32, enforce_eager=True))

    assert case_of(got)[1] | {"max_num_seqs": 32, "enforce_eager": True} == case_of(got)[1]
    assert got.metrics()["run_number"] == (1.0, None)


def test_results_appended_to_a_file_are_records_of_it() -> None:
    """--append-result: one a line; a broken one is a reject."""
    got = read("vllm", f"{json.dumps(serving())}\n{json.dumps(serving(request_rate=4.0))}\n{{")

    assert got.accounting == (3, 2, 1)
    assert got.rejects()[0][0] == 3


def test_a_latency_benchmark_is_named_by_its_file() -> None:
    """It says nothing of the model."""
    got = read(
        "vllm", {"avg_latency": 1.5, "latencies": [1.0, 2.0], "percentiles": {"10": 1.1, "99": 1.99}}, "latency_x.json"
    )

    assert (got.names, got.samples()) == (["latency_x"], [(1_000_000_000, 1), (2_000_000_000, 1)])
    assert (got.metrics()["latency_mean"], got.metrics()["latency_p99"]) == ((1.5e9, "ns"), (1.99e9, "ns"))


def test_a_throughput_benchmark_has_rates() -> None:
    """Of requests and of tokens, in and out together."""
    record = {
        "elapsed_time": 2,
        "num_requests": 4,
        "total_num_tokens": 100,
        "requests_per_second": 2.0,
        "tokens_per_second": 50.0,
    }
    got = read("vllm", record, "throughput_x.json")

    assert got.names == ["throughput_x"]
    assert got.metrics()["request_throughput"] == (2.0, "requests/s")
    assert got.metrics()["total_throughput"] == (50.0, "tokens/s")


def test_lists_of_different_lengths_are_rejected() -> None:
    """Nobody can say which request a value is of."""
    got = read("vllm", serving(**(DETAILS | {"ttfts": [0.01]})))

    assert got.rejects() == [(1, "its lists are of 1 and 2 requests")]


def test_a_folder_of_a_sweep_is_one_run(tmp_path: Path, load: Callable[..., IngestReport], rows: Rows) -> None:
    """Its files are cases; the summary that repeats them is left out, and what failed is an outcome."""
    one, two = serving(run_number=0, max_num_seqs=1), serving(run_number=0, max_num_seqs=2)
    failure = {
        "run_number": 1,
        "error_type": "E",
        "error": "why",
        "serve_overrides": {"max_num_seqs": 3},
        "bench_overrides": {},
    }
    lay(tmp_path, {
        "sweep/BENCH--a/run=0.json": one, "sweep/BENCH--b/run=0.json": two, "sweep/BENCH--c/run=1.failure.json": failure,
        "sweep/BENCH--a/summary.json": [one], "sweep/summary.csv": "a,b\n",
    })  # fmt: skip

    load(tmp_path / "sweep")
    report = load(tmp_path / "sweep" / "BENCH--a")

    assert rows("SELECT count(*) FROM runs") == [(1,)]
    assert rows("SELECT parameters ->> 'max_num_seqs', status FROM case_outcomes ORDER BY 1") == [
        ("1", "ok"), ("2", "ok"), ("3", "fail_to_run"),
    ]  # fmt: skip
    assert any("summary.json repeats what run=0.json" in note for note in report.notes)


LATENCY = st.floats(1e-4, 100.0)


@given(st.lists(st.tuples(LATENCY, st.lists(LATENCY, max_size=4), st.booleans()), min_size=1, max_size=8))
def test_every_request_is_there(requests: list[tuple[float, list[float], bool]]) -> None:
    """Samples are those of the requests that completed; NULL stand where one failed."""
    got = read("vllm", serving(
        completed=sum(ok for _, _, ok in requests), ttfts=[ttft for ttft, _, _ in requests],
        itls=[gaps for _, gaps, _ in requests], errors=["" if ok else "e" for _, _, ok in requests],
    ))  # fmt: skip

    done = [(ttft, gaps) for ttft, gaps, ok in requests if ok]
    timed = [duration / 1e9 for duration, _ in got.samples("ttft")]
    assert all(math.isclose(left, right, rel_tol=1e-3) for left, right in zip(timed, (t for t, _ in done), strict=True))
    assert len(got.samples("itl")) == sum(len(gaps) for _, gaps in done)
    empty = [m for m in got.of(Metric) if m.metric == "ttft" and m.statistic is None]
    assert len(empty) == len(requests) - len(done)
    assert [outcome.status for outcome in got.of(Outcome)] == ["ok" if done else "fail_to_run"]


@pytest.mark.parametrize("value", [{}, "x", [1, {"a": 2}]])
def test_odd_lists_are_rejects(value: Any) -> None:
    """They say what is wrong."""
    assert read("vllm", serving(itls=value)).accounting == (1, 0, 1)
