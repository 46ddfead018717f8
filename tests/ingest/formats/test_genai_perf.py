"""GenAI-Perf: summaries in JSON and CSV, and the export of every request."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench.ingest.registry import find_format
from bench.ingest.run import IngestReport
from bench.warehouse.events import CaseRecord, Metric
from hypothesis import given
from hypothesis import strategies as st

from .reading import lay, read, read_file

Rows = Callable[[str], list[tuple[Any, ...]]]

CSV = """
Metric,avg,min,max,p99,p95,p90,p75,p50,p25
Time To First Token (ms),"1,146.31",249.48,"3,485.23",1,1,1,1,640.07,1
Output Sequence Length (tokens),174.45,164.00,187.00,1,1,1,1,174.00,1

Metric,Value
Output Token Throughput (per sec),261.25
Request Throughput (per sec),1.50
Request Count (count),40.00

Metric,GPU,avg,min,max,p99,p95,p90,p75,p50,p25
GPU Power Usage (W),gpu0,10.00,9.00,11.00,1,1,1,1,10.00,1

Metric,GPU,Value
Total GPU Memory (GB),gpu0,85.02
"""


def summary(**fields: Any) -> dict[str, Any]:
    """What *_genai_perf.json holds."""
    return {
        "request_throughput": {"unit": "requests/sec", "avg": 1.5},
        "request_latency": {"unit": "ms", "avg": 6.5, "p99": 9.5, "min": 5.5, "std": 0.5},
        "input_sequence_length": {"unit": "tokens", "avg": 3000.0},
        "input_config": {"model": ["llama"], "concurrency": 10, "output_tokens_mean": 128, "streaming": True, "verbose": False,
                         "header": ["Authorization: x"]},
    } | fields  # fmt: skip


def export(*requests: dict[str, Any], **experiment: Any) -> dict[str, Any]:
    """What Perf Analyzer exports."""
    load = {"mode": "concurrency", "value": 10} | experiment
    return {
        "experiments": [{"experiment": load, "requests": list(requests), "window_boundaries": [1, 9]}],
        "version": "2.59",
    }


def request(*texts: str | None, start: int = 1_700_000_000_000_000_000, step: int = 1_000_000) -> dict[str, Any]:
    """A request of a chat, a chunk each `step` ns; None is one without content."""
    chunks = [f"data: {json.dumps({'choices': [{'delta': {'content': text}}]})}\n\n" for text in texts]
    return {
        "timestamp": start, "request_inputs": {"payload": json.dumps({"model": "llama", "stream": True})},
        "response_timestamps": [start + step * (index + 1) for index in range(len(chunks))],
        "response_outputs": [{"response": chunk} for chunk in chunks],
    }  # fmt: skip


def test_a_csv_is_tables_below_each_other() -> None:
    """Numbers have thousands separators; GPUs are told apart."""
    got = read("genai-perf", CSV, "profile_export_genai_perf.csv")

    assert (got.names, got.accounting) == (["profile_export"], (7, 7, 0))
    metrics = got.metrics()
    assert (metrics["ttft_mean"], metrics["ttft_p50"]) == ((1_146_310_000.0, "ns"), (640_070_000.0, "ns"))
    assert metrics["output_tokens_mean"] == (174.45, "tokens")
    assert (metrics["output_throughput"], metrics["request_throughput"]) == ((261.25, "tokens/s"), (1.5, "requests/s"))
    assert metrics["gpu_power_usage_gpu0_max"] == (11.0, "W")
    assert metrics["total_gpu_memory_gpu0"] == (85.02e9, "bytes")
    assert [got.better()[name] for name in ("ttft_mean", "output_throughput", "output_tokens_mean")] == [
        "lower",
        "higher",
        None,
    ]


@pytest.mark.parametrize(
    ("row", "reason"),
    [("Request Latency (ms),1", "2 columns under a header of 10"), ('"x', "not valid CSV: unexpected end of data")],
)
def test_a_broken_row_is_a_reject(row: str, reason: str) -> None:
    """With its line."""
    got = read("genai-perf", CSV.replace("\n\nMetric,Value", f"\n{row}\n\nMetric,Value"))

    assert got.rejects() == [(5, reason)]


def test_a_json_is_a_case_of_its_model_and_load() -> None:
    """Settings that do not change the work are kept, but are no axes."""
    got = read("genai-perf", summary())

    (case,) = got.of(CaseRecord)
    assert case.name == "llama"
    assert json.loads(case.parameters or "") == {"concurrency": 10, "output_tokens_mean": 128, "streaming": True}
    assert got.metrics()["latency_p99"] == (9.5e6, "ns")
    assert got.metrics()["request_throughput"] == (1.5, "requests/s")
    config = json.loads(got.metrics()["fields"])["input_config"]
    assert config["verbose"] is False and "header" not in config


def test_nested_settings_are_the_same_axes() -> None:
    """As newer versions write them."""
    config = {
        "model_names": ["llama"], "perf_analyzer": {"stimulus": {"concurrency": 10}}, "endpoint": {"streaming": True},
        "input": {"output_tokens": {"mean": 128}},
    }  # fmt: skip

    assert (
        read("genai-perf", summary(input_config=config)).of(CaseRecord)[0].case_id
        == read("genai-perf", summary()).of(CaseRecord)[0].case_id
    )


@pytest.mark.parametrize("said", [{"unit": "W", "gpu0": {"avg": 5.0}}, {"unit": "W", "avg": {"gpu0": 5.0}}])
def test_telemetry_of_both_layouts(said: dict[str, Any]) -> None:
    """By GPU or by statistic."""
    got = read("genai-perf", summary(telemetry_stats={"gpu_power_usage": said}))

    assert got.metrics()["gpu_power_usage_gpu0_mean"] == (5.0, "W")


def test_responses_without_text_are_no_tokens() -> None:
    """Of four chunks two have content: the second and third."""
    got = read("genai-perf", export(request(None, "a", "b", None)))

    assert got.samples() == [(3_000_000, 1)]
    assert (got.samples("ttft"), got.samples("ttst"), got.samples("itl")) == (
        [(2_000_000, 1)],
        [(1_000_000, 1)],
        [(1_000_000, 1)],
    )
    assert (got.names, got.of(CaseRecord)[0].parameters) == (["llama"], '{"concurrency": 10}')
    assert (got.runs[0].started_at, got.tags) == (1_700_000_000_000_000, {"version": "2.59"})
    assert (got.metrics()["fields"], got.outcomes()) == ('{"window_boundaries": [1, 9]}', [("ok", None)])


def test_an_event_that_was_cut_on_its_way_is_one() -> None:
    """It counts when its first part came; comments and names of events are no tokens, and an end behind its end is none."""
    start, whole = (
        1_700_000_000_000_000_000,
        {"choices": [{"delta": {"content": "a"}}], "object": "chat.completion.chunk"},
    )
    event = f"data: {json.dumps(whole)}\n\n"
    whole_ones = [": ping\n\n", event, event[:30], f"{event[30:]}data: [DONE]\n\n", "event: done\n\n"]
    texts = [*whole_ones, event[:9], event[9:40], event[40:]]
    said = {
        "timestamp": start, "response_timestamps": [start + 10 * (1 + index) for index in range(len(texts))],
        "response_outputs": [{"response": text} for text in texts],
    }  # fmt: skip
    got = read("genai-perf", export(said))

    assert (got.samples("ttft"), got.samples("itl"), got.samples()) == ([(20, 1)], [(10, 1), (30, 1)], [(60, 1)])


def test_what_the_gateway_of_triton_streams_has_text_where_it_says_some() -> None:
    """Its last event is empty, as one of OpenAI's is; what Triton itself says by gRPC is counted, whatever it holds."""
    start = 1_700_000_000_000_000_000
    said = {"timestamp": start, "response_timestamps": [start + 10, start + 20]}
    streamed = [{"response": f'data: {{"text_output": "{text}"}}\n\n'} for text in ("a", "")]

    assert read("genai-perf", export(said | {"response_outputs": streamed})).samples() == [(10, 1)]
    plain = [{"text_output": "a"}, {"text_output": ""}]
    assert read("genai-perf", export(said | {"response_outputs": plain})).samples() == [(20, 1)]


def test_a_request_without_response_is_null() -> None:
    """It stands among the samples; the outcome counts those to which nothing came at all."""
    got = read("genai-perf", export(request("a"), request(None), request()))

    assert got.samples() == [(1_000_000, 1)]
    assert [m.value for m in got.of(Metric) if m.metric == "latency"] == [None, None]
    assert got.outcomes() == [("ok", "1 of 3 requests failed")]


def test_a_broken_request_is_a_reject() -> None:
    """The others load."""
    got = read("genai-perf", export(request("a"), request("a") | {"response_timestamps": ["x"]}, request("b")))

    assert (got.accounting, got.rejects()) == ((4, 3, 1), [(3, "no times of a request and its responses")])


@pytest.mark.parametrize("said", [None, [], [None]])
def test_an_export_without_requests_measured_nothing(tmp_path: Path, said: Any) -> None:
    """Whatever stands there instead."""
    lay(tmp_path, {"x.json": {"experiments": said}})

    assert read_file(find_format("genai-perf"), tmp_path / "x.json").tally.loaded == 0


def test_files_of_one_benchmark_are_one_case(tmp_path: Path, load: Callable[..., IngestReport], rows: Rows) -> None:
    """Requests and summary meet; the rounded CSV is left out."""
    lay(tmp_path, {
        "a/profile_export.json": export(request("a", "b")), "a/profile_export_genai_perf.json": summary(),
        "a/profile_export_genai_perf.csv": CSV,
    })  # fmt: skip

    report = load(tmp_path / "a")

    assert rows("SELECT count(DISTINCT case_id), count(DISTINCT run_id) FROM cases") == [(1, 1)]
    assert rows("SELECT count(*) FROM timings WHERE metric = 'latency'") == [(1,)]
    assert any("repeats profile_export_genai_perf.json" in note for note in report.notes)


@given(st.lists(st.lists(st.integers(1, 10**9), min_size=1, max_size=5), min_size=1, max_size=5))
def test_times_add_up(requests: list[list[int]]) -> None:
    """To the first token and from token to token is the latency, to the ns."""
    base, said = 1_700_000_000_000_000_000, []
    for gaps in requests:
        times = [base + sum(gaps[: index + 1]) for index in range(len(gaps))]
        said.append(
            {"timestamp": base, "response_timestamps": times, "response_outputs": [{"text_output": "x"}] * len(times)}
        )
    got = read("genai-perf", export(*said))

    assert sum(duration for duration, _ in got.samples()) == sum(map(sum, requests))
    assert sum(duration for metric in ("ttft", "itl") for duration, _ in got.samples(metric)) == sum(map(sum, requests))
