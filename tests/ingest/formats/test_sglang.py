"""SGLang: lines of benchmarks, which model they are of, and files that grow."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench.ingest.registry import find_format
from bench.ingest.run import IngestReport
from bench.warehouse.events import CaseRecord, Metric, Reject

from ...exhaustive import exhaustive
from .reading import lay, read, recognised

Rows = Callable[[str], list[tuple[Any, ...]]]


def line(**fields: Any) -> dict[str, Any]:
    """What bench_serving appends."""
    return {
        "backend": "sglang", "dataset_name": "random", "request_rate": 4.0, "max_concurrency": None, "sharegpt_output_len": None,
        "random_input_len": 1024, "random_output_len": 512, "random_range_ratio": 0.0, "duration": 2.0, "completed": 2,
        "total_input_tokens": 10, "total_output_tokens_retokenized": 6, "output_throughput": 3.0,
        "mean_e2e_latency_ms": 7.5, "median_ttft_ms": 1.5, "max_itl_ms": 0.5, "concurrency": 1.25, "accept_length": None,
    } | fields  # fmt: skip


def lines(*records: Any) -> str:
    """A file of them."""
    return "".join(f"{json.dumps(record)}\n" for record in records)


def test_a_line_is_a_case_with_its_load() -> None:
    """A benchmark at full rate says Infinity, which JSON has no word for."""
    got = read("sglang", lines(line(), line(request_rate=float("inf"))), "llama.jsonl")

    assert (got.names, got.accounting) == (["llama", "llama"], (2, 2, 0))
    first, second = (json.loads(case.parameters or "") for case in got.of(CaseRecord))
    assert first == {
        "dataset_name": "random", "request_rate": 4.0, "random_input_len": 1024, "random_output_len": 512,
        "random_range_ratio": 0.0,
    }  # fmt: skip
    assert second["request_rate"] == "inf"
    metrics = got.metrics()
    assert (metrics["latency_mean"], metrics["ttft_median"], metrics["itl_max"]) == (
        (7.5e6, "ns"), (1.5e6, "ns"), (0.5e6, "ns"),
    )  # fmt: skip
    assert (metrics["output_throughput"], metrics["concurrency_mean"]) == ((3.0, "tokens/s"), (1.25, "count"))
    assert got.better()["output_throughput"] == "higher"


@pytest.mark.parametrize(
    ("name", "said", "expected"),
    [
        ("sglang_0227_300_1024_512.jsonl", {}, "random"),
        ("sglang_0227_300_sharegpt.jsonl", {"dataset_name": "sharegpt"}, "sharegpt"),
        ("mine.jsonl", {}, "mine"),
        ("mine.jsonl", {"server_info": {"model_path": "llama", "tp_size": 2}}, "llama"),
    ],
)
def test_names(name: str, said: dict[str, Any], expected: str) -> None:
    """A date in a name would keep runs of two days apart."""
    assert read("sglang", lines(line(**said)), name).names == [expected]


def test_what_the_server_says_of_itself() -> None:
    """Its parallelism is an axis, the rest is kept, but for its key."""
    got = read(
        "sglang", lines(line(tag="v2", server_info={"model_path": "m", "tp_size": 2, "version": "0.5", "api_key": "k"}))
    )

    (case,) = got.of(CaseRecord)
    assert case.backend == "v2"
    assert json.loads(case.parameters or "")["tp_size"] == 2
    assert json.loads(got.metrics()["fields"]) == {"server_info": {"version": "0.5"}}


def test_the_first_version_named_no_units() -> None:
    """They are ms."""
    record = line(median_ttft=2.5, mean_e2e_latency=7.0)
    got = read("sglang", lines({key: value for key, value in record.items() if not key.endswith("_ms")}))

    assert (got.metrics()["ttft_median"], got.metrics()["latency_mean"]) == ((2.5e6, "ns"), (7e6, "ns"))


def test_requests_are_samples() -> None:
    """--output-details; a request that failed has none."""
    got = read(
        "sglang", lines(line(ttfts=[0.5, 0.0], itls=[[0.25], []], errors=["", "why"], output_lens=[2, 0], completed=1))
    )

    assert (got.samples("ttft"), got.samples("itl")) == ([(500_000_000, 1)], [(250_000_000, 1)])
    assert [m.value for m in got.of(Metric) if m.metric == "output_tokens"] == [2.0, None]
    assert got.outcomes() == [("ok", "1 of 2 requests failed: why")]


def test_what_was_not_streamed_has_no_first_token_and_no_gaps() -> None:
    """Without streaming 0 is written for them: the latency is not 0, but what the statistics say."""
    lists = {"ttfts": [0.0, 0.0], "itls": [[], []], "errors": ["", ""], "output_lens": [2, 3]}
    got = read("sglang", lines(line(median_ttft_ms=0.0, max_itl_ms=0.0, **lists)))

    assert {name for name in got.metrics() if name.startswith(("ttft", "itl", "tpot"))} == set()
    assert [got.samples(metric) for metric in ("latency", "ttft", "tpot", "itl")] == [[]] * 4
    assert got.metrics()["latency_mean"] == (7.5e6, "ns")
    got = read("sglang", lines(line(**{**lists, "ttfts": [0.5, 0.0], "itls": [[0.25], []]})))
    assert got.samples("ttft") == [(500_000_000, 1)], "of the one whose first token was seen"


def test_broken_lines_are_rejects_with_their_number() -> None:
    """The others load; a blank line says nothing."""
    got = read("sglang", lines(line()) + "{\n\n" + lines([1]) + '{"backend": "a", "backend": "b"}\n' + lines(line()))

    assert [at for at, _ in got.rejects()] == [2, 4, 5]
    assert (got.accounting, got.tally.left_out) == ((6, 2, 3), 1)


def test_no_key_of_a_server_is_in_a_reject() -> None:
    """A line that was cut keeps what else it said."""
    cut = json.dumps(line(server_info={"api_key": "secret", "model_path": "m"}))[:-2]
    (reject,) = read("sglang", lines(line()) + cut + "\n").of(Reject)

    assert "secret" not in (reject.text or "") and '"model_path": "m"' in (reject.text or "")


def test_a_sweep_of_vllm_is_none_of_sglang(tmp_path: Path) -> None:
    """Though it may set fields of these names."""
    lay(tmp_path, {"x.json": line(model_id="m", num_prompts=1)})

    assert recognised(tmp_path / "x.json") == ["vllm"]


@exhaustive
def test_a_file_that_grew_is_read_on(tmp_path: Path, load: Callable[..., IngestReport], rows: Rows) -> None:
    """New lines join the run; a line that is being written waits."""
    path = tmp_path / "a" / "x.jsonl"
    lay(tmp_path, {"a/x.jsonl": lines(line())})
    load(path)
    with path.open("a") as file:
        file.write(lines(line(request_rate=8.0)) + '{"backend": "sgl')

    (accounting,) = load(path).lines

    assert (accounting.known, accounting.loaded, accounting.rejected) == (1, 1, 0)
    assert rows("SELECT count(DISTINCT run_id), count(*), max(line) FROM cases") == [(1, 2, 2)]


def test_half_a_line_is_no_record() -> None:
    """Its writer is still at it; what is no line of text is left to the reader."""
    kind = find_format("sglang")
    assert (kind.whole(b'{"a": 1}'), kind.whole(b'{"a": 1'), kind.whole(b"\x00")) == (True, False, True)
