# ruff: noqa: E501
"""Formats that are tables: what the records of each become, written out, and the engine that reads them."""

import json
from pathlib import Path
from typing import Any

import pytest
from bench.ingest.readers.declared import Declared, Quantity
from bench.ingest.registry import formats
from bench.warehouse.events import CaseRecord, Instant, Metric, Reject, Timing

from ...exhaustive import first_of
from .reading import Read, read, read_file
from .samples import SAMPLES


def of(kind: str) -> Read:
    """The sample of a format, read from a file of its own name."""
    (name, content), *beside = SAMPLES[kind].items()
    return read(kind, content, name, dict(beside))


def cases(got: Read) -> list[tuple[Any, ...]]:
    """Name, columns that are set, and parameters of each case."""
    columns = ("suite", "mode", "device", "dtype", "backend", "batch_size", "sequence_length")
    return [
        (case.name, *filter(None, (getattr(case, column) for column in columns)), json.loads(case.parameters or "{}"))
        for case in got.of(CaseRecord)
    ]


def values(got: Read, at: int = 0) -> dict[str, Any]:
    """Of one case: value (of a text, itself) by metric and statistic; samples as a list, times in ns."""
    case_id = got.of(CaseRecord)[at].case_id
    found: dict[str, Any] = {}
    events: list[Metric | Timing] = [*got.of(Metric), *got.of(Timing)]
    for event in sorted(events, key=lambda event: -1 if event.sample is None else event.sample):
        if event.case_id == case_id:
            value: Any = event.duration_ns / event.loops if isinstance(event, Timing) else event.value
            value = event.original_value if value is None and isinstance(event, Metric) else value
            value = round(value, 6) if isinstance(value, float) else value
            statistic = event.statistic if isinstance(event, Metric) else None
            name = "_".join(
                filter(None, (event.metric, statistic, "" if event.phase in ("steady", None) else event.phase))
            )
            if event.sample is not None:
                found.setdefault(name, []).append(value)
            else:
                found[name] = value
    return found


PLAN = {"conc": 4, "disagg": False, "hw": "h200", "isl": 1024, "osl": 512, "spec_decoding": "none", "tp": 8}
EXPECTED: dict[str, tuple[list[tuple[Any, ...]], list[dict[str, Any]]]] = {
    "inferencex": (
        [("big", "serving", "fp8", "vllm", PLAN), ("big", "serving", "fp8", "vllm", PLAN | {"conc": 16})],
        [{
            "throughput_per_gpu": 402.0, "output_throughput_per_gpu": 50.25, "ttft_mean": 0.5e9, "tpot_p99": 0.25e9,
            "latency_median": 2e9, "interactivity_mean": 40.0,
        }],
    ),
    "trtllm-bench": (
        [("tiny", "serving", "bfloat16", "Pytorch", {
            "input_tokens": 128, "output_tokens": "~32", "num_requests": 20, "pp_size": 1, "tp_size": 2,
        })],
        [{
            "input_tokens_mean": 128.0, "output_tokens_mean": 30.5, "benchmark_duration": 4e9, "latency_mean": 800e6,
            "request_throughput": 5.0, "output_throughput": 160.0, "latency_p50": 790e6, "latency_max": 910e6, "ttft_mean": 60e6,
            "tpot_mean": 22e6, "ttft_p99": 90e6,
        }],
    ),
    "mlperf-endpoints": (
        [("tiny", "serving", {"concurrency": 16, "output_tokens": 40, "target_qps": 2.5, "tensor_parallel": 8, "type": "poisson"})],
        [{
            "benchmark_duration": 2e9, "requests_started": 5.0, "completed": 4.0, "failed": 1.0, "request_throughput": 2.0,
            "output_throughput": 80.0, "system_throughput": 80.5, "total_output_tokens": 160.0, "output_tokens_mean": 40.0,
            "output_tokens_p50": 41.0, "ttft_min": 10.0, "ttft_max": 30.0, "ttft_median": 20.0, "ttft_mean": 20.0, "ttft_stddev": 5.0,
            "ttft_p99": 29.0, "ttft_p99.9": 30.0,
        }],
    ),
    "sglang-one-batch": (
        [("results", 8, {"input_len": 1024, "output_len": 16, "run_name": "default"}),
         ("results", 1, {"input_len": 8, "output_len": 4, "run_name": "server"})],
        [{"prefill_latency": 0.25e9, "prefill_throughput": 32768.0, "decode_latency": 0.5e9, "decode_latency_median": 0.125e9,
          "decode_throughput_median": 64.0, "latency": 2e9, "total_throughput": 4160.0},
         {"latency": 0.5e9, "input_throughput": 16.0, "output_throughput": 8.0, "total_throughput": 24.0, "decode_throughput": 10.0}],
    ),
    "hf-benchmark": (
        [("tiny", 1, 128, {"config": "eager", "num_tokens_to_generate": 3})],
        [{"latency": [1e9, 1.5e9], "ttft": [0.25e9, 0.5e9], "tpot": [0.25e9, "null"]}],
    ),
    "torchbench-userbenchmark": (
        [("resnet50", "test_bench", "inference", "cuda", 32, {}),
         ("bert", "test_bench", "training", "cuda", {"extra_args": "['--x']"}), ("test_bench", "test_bench", {}),
         ("alexnet", "test_bench", "inference", {"run": "amp"})],
        [{"latency_median": 12.5e6}, {"gpu_peak": 2.0 * 2**30}, {"overhead": 3.0}, {"latency": [58.25e6, 58.5e6], "cpu_peak": 2.0**29}],
    ),
    "torchbench-bisection": (
        [("yolov3", "torch-nightly", "inference", "cuda", "eager", {})] * 2,
        [{"latency_median": 63.5e6, "gpu_peak": 2.0 * 2**30}],  # of the last run
    ),
    "codspeed": (
        [("a.go::b", {})],
        [{"latency_min": 100.0, "latency_max": 120.0, "latency_mean": 105.0, "latency_stddev": 3.0, "latency_q1": 102.0,
          "latency_median": 104.0, "latency_q3": 107.0, "rounds": 10.0, "iterations": 100.0, "warmup_iterations": 5.0,
          "total_time": 1e6, "iqr_outliers": 1.0, "stdev_outliers": 0.0}],
    ),
    "bencher": (
        [("a", {}), ("b", {})],
        [{"latency": 1500.0, "latency_low": 1400.0, "latency_high": 1650.0}, {"latency": 2750.0, "file_size": 12.0, "mine": 5.0}],
    ),
    "vitest": (
        [("quick", "a.bench.ts > sort", {})],
        [{"latency": [0.5e6, 0.25e6], "latency_min": 0.25e6, "latency_max": 0.5e6, "latency_mean": 0.375e6, "latency_median": 0.375e6,
          "latency_p75": 0.5e6, "latency_p99": 0.5e6, "latency_p99.5": 0.5e6, "latency_p99.9": 0.5e6, "latency_stddev": 0.17e6,
          "latency_stderr": 0.125e6, "latency_error": 1.5e6, "latency_rme": 0.5, "latency_variance": 0.03, "throughput_mean": 2666.0,
          "samples": 2.0, "total_time": 0.75e6}],
    ),
    "nanobench": (
        [("quick", "sort", {"batch": 1, "complexityN": -1, "unit": "op"})],
        [{"latency": [4000.0, 6000.0], "latency_median": 5000.0, "latency_mdape": 0.01, "instructions_median": 100.0, "epochs": 2.0,
          "total_time": 1e6}],
    ),
    "llama-batched-bench": (
        [("results", {
            "pp": 128, "tg": 64, "pl": pl, "n_kv": 192 * pl, "n_kv_max": 2048, "n_batch": 512, "n_ubatch": 256, "flash_attn": 0,
            "is_pp_shared": 0, "n_gpu_layers": 99, "n_threads": 4, "n_threads_batch": 4,
        }) for pl in (1, 2)],
        [{"prefill_latency": 0.5e9, "prefill_throughput": 256.0, "decode_duration": 2e9, "decode_throughput": 32.0, "latency": 2.5e9,
          "total_throughput": 76.8}],
    ),
    "gungraun": ([("lib::group::sort big", "LibraryBenchmark", {})], [{"instructions": 2000.0, "L1hits": 1500.0, "details": "1000"}]),
    "trainer-state": (
        [("train", "training", {"max_steps": 20, "train_batch_size": 8})],
        [{"loss": [2.5], "learning_rate": [1e-4], "eval_loss": [2.0], "eval_runtime": 1.5e9, "train_runtime": 40e9,
          "train_samples_per_second": 4.0, "train_loss": [2.25], "total_flos": [1e9]}],
    ),
    "aiperf-summary": (
        [("tiny", "serving", {"concurrency": 10, "input_tokens": 128, "output_tokens": 32})],
        [{"latency_mean": 200e6, "latency_p99": 220e6, "latency_count": 40.0, "latency_stddev": 9.5e6, "request_throughput": 50.0,
          "completed": 40.0, "failed": 0.0, "latency_mean_warmup": 2e9}],
    ),
    "serving-text": (
        [("acme/tiny", "serving", {"heading": "after the change", "input_tokens": 128, "max_concurrency": 16, "output_tokens": 64})],
        [{"completed": 100.0, "failed": 0.0, "benchmark_duration": 10e9, "total_input_tokens": 12800.0, "total_output_tokens": 6400.0,
          "request_throughput": 10.0, "output_throughput": 640.0, "output_throughput_max": 900.0, "ttft_mean": 28.5e6,
          "ttft_p99": 58.25e6}],
    ),
    "triton-report": (
        [("add", "Triton", {"N": 256}), ("add", "Torch", {"N": 256}), ("add", "Triton", {"N": 512})],
        [{"throughput": 512e9}, {"throughput": 341.25e9}, {"throughput": 768e9}],
    ),
    "tritonbench": (
        [("gemm", "aten_matmul", {"x_val": "(256, 256)"}), ("gemm", "triton_matmul", {"x_val": "(256, 256)"})],
        [{"latency": 0.5e6}, {"latency": 0.25e6, "latency_error": 1.5, "speedup": 2.0}],
    ),
    "tritonbench-json": (
        [("gemm_fwd", "aten_matmul", {"x_val": "(256, 256)"}), ("gemm_fwd", "triton_matmul", {"x_val": "(256, 256)"}), ("gemm_fwd", {})],
        [{"latency": 0.5e6}, {"latency": 0.25e6, "speedup": 2.0}, {}],
    ),
    "intel-triton": (
        [("softmax", "Triton", {"N": 256}), ("softmax", "XeTLA", {"N": 256}), ("softmax", "Triton", {"N": 512}),
         ("softmax", "XeTLA", {"N": 512})],
        [{"bandwidth_mean": 514e9, "bandwidth_min": 500e9, "bandwidth_max": 520e9, "variation": 0.0125}],  # of the last run
    ),
    "liger": (
        [("swiglu", "liger", {"T": 1024, "dtype": "bf16", "pass": "forward"}), ("swiglu", "huggingface", {"T": 1024, "pass": "full"})],
        [{"latency_median": 0.5e6, "latency_p20": 0.25e6, "latency_p80": 0.75e6},
         {"memory_median": 128 * 2**20, "memory_p20": 127 * 2**20, "memory_p80": 129 * 2**20}],
    ),
    "mlflow": ([("runs", {"lr": 0.1}), ("runs", {"lr": 0.2})], [{"loss": 0.5, "tok_s": 100.0}]),
    "mlflow-page": (
        [("runs", 32, {}), ("runs", 64, {})],
        [{"benchmark_duration": 90e9, "loss": 0.5, "tok_s": 100.0}, {"benchmark_duration": 0.35e9}],
    ),
    "tensorboard": ([("eager", {})], [{"Loss_train": [2.5, 2.25]}]),
    "wandb-chart": (
        [("eager", {}), ("inductor", {})], [{"loss": [2.5, 2.0], "loss_min": 1.5, "loss_max": 2.5}, {"loss": [2.25]}],
    ),
    "wandb-summary": ([("run", {})], [{"benchmark_duration": 12.5e9, "step": 100.0, "train/loss": 0.5, "mfu": 0.25}]),
    "mlperf-training": (
        [("llama31_8b", "training", {"global_batch_size": 32})],
        [{"throughput": [100.5], "eval_accuracy": [0.5], "time_to_train": 1000e9}],
    ),
    "perf-stat-text": (
        [("./b", {})],
        [{"task-clock_mean": 1234.56e6, "task-clock_error": 0.35, "CPUs utilized": 0.998, "cycles_mean": 4e9, "cycles_error": 0.1,
          "GHz": 3.24, "LLC-load-misses_mean": "<not supported>", "latency_mean": 1.237e9, "latency_stderr": 4e6,
          "latency_error": 0.32}],
    ),
    "google-benchmark-text": (
        [("BM_a/8", {}), ("BM_e", {})],
        [{"latency": [12.5, 13.5], "cpu_time": [12.0, 13.0], "latency_mean": 13.0, "cpu_time_mean": 12.5,
          "bytes_per_second": 1.5 * 2**30, "items": 2000.0, "items_mean": 2000.0}],
    ),
    "catch2-text": (
        [("quick", "Sort / small", {}), ("a name so long that it has a line of its own", "Sort / small", {})],
        [{"latency_mean": 120.5, "latency_low": 119.0, "latency_high": 122.25, "latency_stddev": 7.5, "samples": 100.0, "iterations": 10.0},
         {"latency_mean": 1500.0, "latency_low": 1000.0, "latency_high": 250000.0, "latency_stddev": 7.5, "samples": 20.0,
          "iterations": 1.0}],
    ),
    "catch2": (
        [("quick", "Sort / small", {}), ("bad", "Sort", {})],
        [{"latency_mean": 120.5, "latency_low": 119.0, "latency_high": 122.25, "latency_stddev": 7.5, "samples": 100.0,
          "iterations": 10.0, "resamples": 100000.0, "outlier_variance": 0.5}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ["result_summary.json", "results_summary.json", "performance/result_summary.json"])
@pytest.mark.parametrize("parts", ["TP 8, PP 1", {"tensor_parallel": 8}, None])
def test_a_summary_of_endpoints_is_of_its_run(name: str, parts: object) -> None:
    """Wherever a version writes it, beside its failed requests or without, and however its parallelism is said."""
    summary = {
        "n_samples_issued": 4,
        "n_samples_completed": 4,
        "duration_ns": 2e9,
        "output_sequence_lengths": {"total": 160},
    }
    beside = {"tiny/r16/run_metadata.json": json.dumps({"config_summary": parts})}
    got = read("mlperf-endpoints", summary, f"tiny/r16/{name}", beside)

    axes: dict[str, object] = {"concurrency": 16, "output_tokens": 40}
    axes |= parts if isinstance(parts, dict) else {"config_summary": parts} if parts else {}
    assert [("tiny", "serving", axes)] == cases(got)


def test_times_of_tokens_have_an_older_and_a_newer_name() -> None:
    """transformers: either gives the same times to and between tokens; texts are left out."""
    text = SAMPLES["hf-benchmark"]["tiny_benchmark_20260501_100000.json"].decode()
    newer, older = (
        [
            (one.metric, one.duration_ns)
            for one in read("hf-benchmark", text.replace("dt_tokens", name), "t.json").of(Timing)
        ]
        for name in ("dt_tokens", "token_generation_times")
    )

    assert newer == older


def test_a_template_of_ones_own_lists_results_with_their_context() -> None:
    """nanobench: a list without the document around it; what was measured by two libraries are two cases."""
    row = {
        "title": "General",
        "name": "subscribe",
        "median(elapsed)": 2e-7,
        "medianAbsolutePercentError(elapsed)": 0.01,
    }
    got = read("nanobench", json.dumps([{**row, "source": source} for source in ("rpp", "rxcpp")]), "r.json")

    assert [("subscribe", "General", {"source": source}) for source in ("rpp", "rxcpp")] == cases(got)


@pytest.mark.parametrize("kind", EXPECTED)
def test_records_become_cases_and_values(kind: str) -> None:
    """Every name, axis and number of the sample, in ns, bytes and per second."""
    got = of(kind)
    named, valued = EXPECTED[kind]

    assert named == cases(got)[: len(named)]
    for at, expected in enumerate(valued):
        found = values(got, at)
        found.pop("fields", None)
        assert expected == found


def test_later_rows_of_inferencex_put_the_statistic_last() -> None:
    """A measure is no axis in either order; a recipe's checksum is a tag, so that a new one is the same case."""
    row = {
        "hw": "h100", "conc": 4, "model": "m", "framework": "sglang", "precision": "fp8", "dcp_size": 1, "recipe_fingerprint": "aa",
        "tput_per_gpu": 100.0, "output_tput_per_gpu": 80.0, "intvty_p50": 50.0, "ttft_mean": 2.0, "joules_per_total_token": 0.5,
    }  # fmt: skip
    got = read("inferencex", json.dumps([row]), "agg.json")

    assert cases(got) == [("m", "serving", "fp8", "sglang", {"hw": "h100", "conc": 4, "dcp_size": 1})]
    assert values(got) == {
        "throughput_per_gpu": 100.0, "output_throughput_per_gpu": 80.0, "interactivity_p50": 50.0, "ttft_mean": 2e9,
        "energy_per_total_token": 0.5,
    }  # fmt: skip


class Tool(Declared):
    """A format of a tool that there is not."""

    name, doc = "tool", "its JSON"
    records = "results"
    about = {"started_at": "date", "git_commit": "commit", "gpus": "gpu", "site": "site"}  # noqa: RUF012
    names = ("model", "file")
    axes = {"suite": "=mine", "batch_size": "setup.batch", "rate": "setup.rate"}  # noqa: RUF012
    values = {"times": Quantity("latency", "s", apart=True), "gap": Quantity("itl", "ms", void=True)}  # noqa: RUF012
    patterns = {r"stats\.(p\d+|avg)_ms": Quantity("latency", "ms", r"\1")}  # noqa: RUF012


def tool(document: Any, tmp_path: Path) -> Read:
    """What Tool makes of a document."""
    (tmp_path / "a.json").write_text(json.dumps(document))
    return read_file(Tool(), tmp_path / "a.json")


def test_tables_say_what_run_case_and_values_are(tmp_path: Path) -> None:
    """Other facts of the document are tags; whole fractions of axes are whole numbers; infinity is a text."""
    got = tool({"date": "2026-05-01T10:00:00Z", "commit": "abc", "gpu": "GPU", "site": "here", "note": "n", "results": [
        {"file": "f", "setup": {"batch": 8.0, "rate": float("inf")}, "times": [0.5, 0.25], "stats": {"p99_ms": 2.0, "avg_ms": 1.0}},
    ]}, tmp_path)  # fmt: skip

    assert (got.runs[0].git_commit, got.runs[0].started_at, got.environment.gpus) == ("abc", 1777629600000000, ["GPU"])
    assert got.tags == {"site": "here", "note": "n"}
    assert cases(got) == [("f", "mine", 8, {"rate": "inf"})]
    assert values(got) == {"latency": [0.5e9, 0.25e9], "latency_p99": 2e6, "latency_mean": 1e6}


@pytest.mark.parametrize("gpu", [10**30, True, {"name": "GPU"}])
def test_a_gpu_that_is_not_named_is_a_tag(gpu: Any, tmp_path: Path) -> None:
    """Neither a text nor a list of texts."""
    got = tool({"gpu": gpu, "results": [{"model": "m", "times": [0.5]}]}, tmp_path)

    assert got.tags.keys() == {"gpus"}


def test_zero_of_what_was_not_measured_stays_in_fields(tmp_path: Path) -> None:
    """With all that no table names."""
    got = tool({"results": [{"model": "m", "gap": 0.0, "seed": 7}, {"model": "n", "gap": 0.5}]}, tmp_path)

    assert json.loads(values(got, 0)["fields"]) == {"gap": 0.0, "seed": 7}
    assert values(got, 1) == {"itl": 0.5e6}


@pytest.mark.parametrize(
    ("document", "reason"),
    [({"results": 5}, "results is 5, not a list"), ({"results": [{"seed": 1}]}, "no model or file"), ({"results": [1]}, "not an object")],
)  # fmt: skip
def test_what_is_no_record_is_a_reject_with_its_reason(document: Any, reason: str, tmp_path: Path) -> None:
    """And nothing else of the file is lost."""
    assert tool(document, tmp_path).rejects() == [(1, reason)]


def test_an_axis_larger_than_its_column_is_a_reject() -> None:
    """It was an error where its rows are written, which ended the whole call."""
    (name, content), *_ = SAMPLES["hf-benchmark"].items()
    document = json.loads(content)
    document["config"]["sequence_length"] = 10**30

    found = read("hf-benchmark", json.dumps(document).encode(), name)

    assert [reason for _, reason in found.rejects()] == [f"sequence_length is {10**30}, not a whole number of 64 bits"]


def test_each_commit_of_a_bisection_is_a_run() -> None:
    """One that ends a step and begins the next is one run; a commit without metrics is a reject that says so."""
    found = json.loads(SAMPLES["torchbench-bisection"]["results.json"])
    (step,) = found["result"]
    after = {f"commit1{key}": step[f"commit2{key}"] for key in ("", "_time", "_digest")}
    steps = [
        step,
        after | {"commit2": "c3c3c3c", "commit2_time": "2026-05-01 17:00:00 +0000", "commit2_digest": "timeout"},
    ]
    for document in (found | {"result": steps}, steps):  # the list alone is what an issue quotes
        got = read("torchbench-bisection", document)
        assert [run.git_commit for run in got.tally.runs] == ["a1" * 20, "b2" * 20, "c3c3c3c"]
        assert (got.tally.loaded, got.tally.rejected) == (4, 1)
        assert 'commit2_digest is "timeout", without metrics' in [reject.reason for reject in got.of(Reject)]
        medians = [(metric.run_id, metric.value) for metric in got.of(Metric) if metric.metric == "latency"]
        assert medians == [(got.tally.runs[0].run_id, 57.25e6), (got.tally.runs[1].run_id, 63.5e6)]


def test_what_sglang_prints_is_named_as_in_its_json() -> None:
    """The prompts that it drew, printed above, are no heading: they differ from run to run. A load that is not set is no axis."""
    text = """after the change:
#Input tokens: 31993
#Output tokens: 6401

============ Serving Benchmark Result ============
Backend:                                 sglang
Traffic request rate:                    inf
Max request concurrency:                 not set
Successful requests:                     32
Total input tokens:                      32768
Total input text tokens:                 32768
Total generated tokens:                  6400
Total generated tokens (retokenized):    6390
Accept length:                           2.85
Mean E2E Latency (ms):                   6264.10
==================================================
"""
    got = read("serving-text", text, "log.txt")
    assert cases(got) == [
        (
            "log",
            "serving",
            "sglang",
            {"heading": "after the change", "input_tokens": 1024, "output_tokens": 200, "request_rate": "inf"},
        )
    ]
    found = values(got)
    assert (found["total_output_tokens_retokenized"], found["accept_length"], found["latency_mean"]) == (
        6390,
        2.85,
        6264.1e6,
    )


LOG_OF_A_JOB = [  # what stands before each line
    "2026-06-01T02:03:04.1234567Z ", "build\tRun bench\t2026-06-01T02:03:04.1234567Z ", "2026-06-01T02:03:04.123456Z 00O ", "bench-1  | ",
]  # fmt: skip


@pytest.mark.parametrize(
    "kind", first_of(1, ["serving-text", *(kind for kind, one in formats().items() if one.printed and kind in SAMPLES)])
)
def test_the_log_of_a_job_is_what_the_job_printed(kind: str) -> None:
    """As GitHub, its gh, GitLab and docker compose write it; a run that does not say when it began did so with the log."""
    (name, content), *beside = SAMPLES[kind].items()
    text = content.decode()
    plain = read(kind, text, name, dict(beside))
    for before in LOG_OF_A_JOB:
        logged = read(kind, "".join(before + line for line in text.splitlines(keepends=True)), name, dict(beside))
        moment = plain.runs[0].started_at if plain.runs else None
        expected = moment or (Instant(1780279384 * 10**6) if "T02" in before else None)

        assert [repr(event) for event in logged.events] == [repr(event) for event in plain.events]
        assert [run.started_at for run in logged.runs] == ([expected] if logged.runs else [])


def test_headings_of_quoted_results_tell_them_apart() -> None:
    """A reply quotes a pull request: before and after stay two cases."""
    (content,) = SAMPLES["serving-text"].values()
    result = content.decode()[content.decode().index("====") :]
    quoted = "".join(f"> {line}" for line in f"### Before\n{result}\n### After\n\n{result}".splitlines(keepends=True))

    assert [axes["heading"] for _, _, axes in cases(read("serving-text", quoted))] == ["Before", "After"]
