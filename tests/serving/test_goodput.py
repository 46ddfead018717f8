"""Goodput: requests within limits that are chosen afterwards, with intervals by blocks of time."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from bench.ingest.run import ingest
from bench.warehouse.events import CaseRecord
from bench.warehouse.store import Store

from ..builders import Builder, case, metric, run, stored, timing
from ..exhaustive import first_of, sampled


def request(of: CaseRecord, sample: int, *, at: float | None = None, ttft: float | None = 100.0, e2e: float | None = 1000.0,
            tokens: int | None = 10, outcome: str | None = None) -> list[Any]:  # fmt: skip
    """The samples of one request; ms."""
    found: list[Any] = [
        timing(of, round(ms * 1e6), metric=name, sample=sample)
        for name, ms in (("ttft", ttft), ("latency", e2e))
        if ms is not None
    ]
    found += [metric(of, "output_tokens", tokens, sample=sample)] if tokens is not None else []
    found += [metric(of, "start_time", at * 1e9, unit="ns", sample=sample)] if at is not None else []
    return found + ([metric(of, "request_outcome", None, original_value=outcome, sample=sample)] if outcome else [])


def test_a_request_is_its_samples_of_one_number(warehouse: Builder) -> None:
    """tpot is what is left after the first token, over the other tokens."""
    llama = case("llama", suite="serving")
    warehouse.add(
        run(),
        llama,
        *request(llama, 0, at=5.0, ttft=100, e2e=1000, tokens=10),
        *request(llama, 1, ttft=50, e2e=50, tokens=1),
    )

    query = "SELECT sample, arrival_s, ttft_ms, tpot_ms, e2e_ms, tokens_out, outcome FROM requests ORDER BY sample"
    assert warehouse.rows(query) == [(0, 5.0, 100.0, 100.0, 1000.0, 10.0, "ok"), (1, None, 50.0, None, 50.0, 1.0, "ok")]


def test_timings_of_other_suites_are_no_requests(warehouse: Builder) -> None:
    """Every latency has a number; only those of serving are of requests."""
    warehouse.add(run(), model := case("mlp"), timing(model, 5, sample=0))

    assert warehouse.rows("SELECT count(*) FROM requests") == [(0,)]


def test_a_number_that_cannot_be_is_unknown(warehouse: Builder) -> None:
    """A time below 0 meets no limit; neither does one of a unit that nobody converted."""
    llama = case("llama", suite="serving")
    warehouse.add(
        run(), llama, metric(llama, "latency", -5e6, unit="ns", sample=0), metric(llama, "output_tokens", -3.0, sample=0),
        metric(llama, "ttft", 50.0, unit="parsec", sample=1), metric(llama, "latency", 8e6, unit="ns", sample=1),
    )  # fmt: skip

    query = "SELECT ttft_ms, e2e_ms, tokens_out FROM requests ORDER BY sample"
    assert warehouse.rows(query) == [(None, None, None), (None, 8.0, None)]
    assert warehouse.rows("SELECT good FROM goodput(e2e := 10)") == [(1,)]


def test_a_request_that_failed_counts_and_is_not_good(warehouse: Builder) -> None:
    """With its reason, else as errored; its time to the first token is no success."""
    llama = case("llama", suite="serving")
    warehouse.add(
        run(), llama, *request(llama, 0, at=0.0), *request(llama, 1, at=1.0, outcome="cancelled"),
        metric(llama, "latency", None, sample=2), *request(llama, 3, at=9.0, e2e=1000),
    )  # fmt: skip

    assert warehouse.rows("SELECT outcome FROM requests ORDER BY sample") == [
        ("ok",),
        ("cancelled",),
        ("errored",),
        ("ok",),
    ]
    query = "SELECT requests, completed, good, share_met, duration_s, goodput, throughput FROM goodput()"
    assert warehouse.rows(query) == [(4, 2, 2, 0.5, 10.0, 0.2, 2.0)]


@pytest.mark.parametrize(
    ("limits", "good"),
    first_of(
        3,
        [
            ("", 3),
            ("ttft := 100", 2),
            ("ttft := 99.9", 1),
            ("e2e := 500", 1),
            ("tpot := 100", 3),
            ("tpot := 50", 1),
            ("ttft := 100, e2e := 999", 1),
        ],
    ),
)
def test_limits_are_chosen_afterwards(warehouse: Builder, limits: str, good: int) -> None:
    """A time of exactly the limit is within; a response of one token has no time per token and meets it."""
    llama = case("llama", suite="serving")
    warehouse.add(
        run(), llama, *request(llama, 0, ttft=100, e2e=1000), *request(llama, 1, ttft=200, e2e=1100),
        *request(llama, 2, ttft=50, e2e=50, tokens=1)
    )  # fmt: skip

    assert warehouse.rows(f"SELECT good FROM goodput({limits})") == [(good,)]


def test_one_record_of_a_case_twice_is_summed_up(warehouse: Builder) -> None:
    """The numbers of requests begin anew in each record of a file."""
    llama = case("llama", suite="serving")
    both = [
        found for line in (1, 2) for found in (
            timing(llama, 1_000_000, metric="ttft", sample=0, source_id="f", line=line),
            metric(llama, "benchmark_duration", 4e9, unit="ns", source_id="f", line=line),
        )
    ]  # fmt: skip
    warehouse.add(run(), llama, *both)

    assert warehouse.rows("SELECT requests, duration_s, goodput FROM goodput(ttft := 5)") == [(2, 8.0, 0.25)]


@pytest.mark.parametrize("told", [0.0, -3e9])
def test_a_duration_that_cannot_be_is_not_taken(warehouse: Builder, told: float) -> None:
    """Of a benchmark that says 0 or less the requests say how long it took: 4 s and 1 s."""
    llama = case("llama", suite="serving")
    warehouse.add(run(), llama, *request(llama, 0, at=0.0), *request(llama, 1, at=4.0))
    warehouse.add(metric(llama, "benchmark_duration", told, unit="ns"))

    assert warehouse.rows("SELECT duration_s, goodput FROM goodput()") == [(5.0, 0.4)]


def test_too_few_blocks_tell_no_interval(warehouse: Builder) -> None:
    """Not one from 0 to 1, which would say that something is known."""
    llama = case("llama", suite="serving", parameters={"request_rate": 1})
    warehouse.add(run(), llama, *request(llama, 0, at=0.0), *request(llama, 1, at=1.0))

    ends = "share_low, share_high, goodput_low, goodput_high"
    assert warehouse.rows(f"SELECT good, {ends} FROM goodput()") == [(2, None, None, None, None)]
    assert warehouse.rows("SELECT share_met, share_low, share_high FROM slo_curve()") == [(1.0, None, None)]


def test_the_interval_is_that_of_blocks(warehouse: Builder) -> None:
    """Good and bad requests by turns of five blocks each: the error is that of four neighbours together, of which 17 overlap."""
    llama = case("llama", suite="serving")
    warehouse.add(run(), llama)
    for i in range(400):
        warehouse.add(*request(llama, i, at=float(i), ttft=500 if i // 100 % 2 else 10))

    ((share, low, high, blocks, rate, rate_low, rate_high),) = warehouse.rows(
        "SELECT share_met, share_low, share_high, blocks, goodput, goodput_low, goodput_high FROM goodput(ttft := 100)"
    )
    assert (share, blocks) == (0.5, 20)
    batches = [40, 40, 20, 0, -20, -40, -40, -20, 0, 20, 40, 40, 20, 0, -20, -40, -40]  # requests more than expected
    error = 2.306 * 20 * (sum(batch**2 for batch in batches) / 17 / 4 / 16) ** 0.5 / 400
    assert (low, high) == pytest.approx((0.5 - error, 0.5 + error), rel=1e-3)
    assert (rate_low / rate, rate_high / rate) == pytest.approx((1 - 2 * error, 1 + 2 * error), rel=1e-3)


def test_blocks_are_of_equal_time(warehouse: Builder) -> None:
    """_request_blocks: by arrival; by number where one request does not say when it came."""
    llama, other = case("llama", suite="serving"), case("other", suite="serving")
    warehouse.add(run(), llama, other)
    for i in range(100):
        warehouse.add(*request(llama, i, at=0.01 * i if i < 90 else 100.0 + i), *request(other, i))

    query = """
        SELECT name, list(n ORDER BY block)
        FROM (SELECT case_id, block, count(*) AS n FROM _request_blocks(NULL, NULL, NULL, NULL, NULL) GROUP BY ALL)
        JOIN case_axes USING (case_id) GROUP BY name ORDER BY name
    """
    assert warehouse.rows(query) == [("llama", [90, 10]), ("other", [10] * 10)]


def detailed(seed: int, requests: int = 200) -> dict[str, Any]:
    """What `vllm bench serve --save-result --save-detailed` writes."""
    rng = random.Random(seed)
    failed = [rng.random() < 0.05 for _ in range(requests)]
    itls = [[] if bad else [rng.expovariate(50) for _ in range(rng.choice((0, 1, 30)))] for bad in failed]
    return {
        "date": "20250227-024826", "endpoint_type": "vllm", "backend": "vllm", "model_id": "llama", "tokenizer_id": "llama",
        "num_prompts": requests, "request_rate": 4.0, "duration": 51.25, "completed": failed.count(False), "failed": sum(failed),
        "input_lens": [100] * requests,
        "output_lens": [0 if bad else len(gaps) + 1 for bad, gaps in zip(failed, itls, strict=True)],
        "ttfts": [0.0 if bad else rng.expovariate(10) for bad in failed], "itls": itls,
        "start_times": [1e5 + i / 4 for i in range(requests)], "generated_texts": [""] * requests,
        "errors": ["boom" if bad else "" for bad in failed],
    }  # fmt: skip


def goodput_of_vllm(document: dict[str, Any], **limits: float) -> float:
    """As vLLM's benchmark counts, in seconds: tpot of one token is 0."""
    good = 0
    for ttft, gaps, error in zip(document["ttfts"], document["itls"], document["errors"], strict=True):
        e2e = ttft + sum(gaps)
        values = {"ttft": ttft, "tpot": (e2e - ttft) / len(gaps) if gaps else 0, "e2e": e2e}
        good += not error and all(values[name] <= limit / 1000 for name, limit in limits.items())
    return float(good / document["duration"])


ALL_LIMITS: dict[str, float] = {"ttft": 150, "tpot": 25, "e2e": 600}


@pytest.mark.parametrize("limits", sampled([{"ttft": 100}, {"tpot": 20}, {"e2e": 400}, ALL_LIMITS], ALL_LIMITS))
def test_goodput_is_that_of_vllm(tmp_path: Path, limits: dict[str, float]) -> None:
    """On its detailed files, for any limits."""
    (tmp_path / "runs").mkdir()
    documents = {seed: detailed(seed) for seed in (1, 2)}
    for seed, document in documents.items():
        (tmp_path / "runs" / f"r{seed}.json").write_text(json.dumps(document | {"request_rate": seed}))
    store = Store(tmp_path / "store").create()
    ingest(store, [f"A:{tmp_path / 'runs'}"])

    arguments = ", ".join(f"{name} := {limit}" for name, limit in limits.items())
    found = stored(f"SELECT goodput FROM goodput({arguments}) ORDER BY (parameters ->> 'request_rate')::DOUBLE", store)
    assert [rate for (rate,) in found] == pytest.approx(
        [goodput_of_vllm(document, **limits) for document in documents.values()]
    )
