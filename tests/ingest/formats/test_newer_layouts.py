# ruff: noqa: E501
"""Layouts of tools that their newer versions write: the same cases and numbers as of the older ones."""

import json
from pathlib import Path
from typing import Any

from bench.ingest.formats.kernel_tables import IntelTritonReport
from bench.ingest.readers.files import read_head
from bench.warehouse.events import Metric, Outcome

from .reading import read
from .test_declared import cases, values


def lines(*records: Any) -> bytes:
    """A record a line."""
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def hf(**measured: Any) -> dict[str, Any]:
    """A configuration as transformers' benchmark wrote it in 2026."""
    return {
        "metadata": {
            "timestamp": "2026-05-01T10:00:00", "branch_name": "main", "commit_id": "abc", "commit_message": "m", "model_id": "acme/tiny",
            "success": bool(measured), "hardware_info": {"gpu_name": "GPU"},
        },
        "measurements": {
            "e2e_latency": [], "time_to_first_token": [], "inter_token_latency": [], "shape_and_decoded_outputs": [], "gpu_metrics": None,
            "timestamps": None, **measured,
        },
        "config": {"name": "eager", "batch_size": 1, "sequence_length": 128, "num_tokens_to_generate": 3},
    }  # fmt: skip


MEASURED = {
    "e2e_latency": [1.0, 1.5], "time_to_first_token": [0.25, 0.5], "inter_token_latency": [0.125, 0.25],
    "shape_and_decoded_outputs": ["(1, 3) | a"] * 2, "timestamps": [[[0.25, 0.375]], [[0.5, 0.75]]],
}  # fmt: skip
SAMPLES = {"latency": [1e9, 1.5e9], "ttft": [0.25e9, 0.5e9], "tpot": [0.125e9, 0.25e9]}


def test_transformers_benchmark_says_first_token_and_the_gap_between_tokens_itself() -> None:
    """Times that it computed from its timestamps are read as the samples that older files leave to be computed."""
    got = read("hf-benchmark", json.dumps({"1a2b": hf(**MEASURED)}).encode(), "tiny_benchmark_20260501_100000.json")

    found = values(got)
    assert cases(got) == [("acme/tiny", 1, 128, {"config": "eager", "num_tokens_to_generate": 3})]
    assert {name: found[name] for name in SAMPLES} == SAMPLES


def test_transformers_benchmark_of_the_hub_has_a_configuration_a_line() -> None:
    """Its JSON lines are recognised; one that failed is a case without times."""
    text = lines({"benchmark_config_hash": "1a", **hf(**MEASURED)}, {"benchmark_config_hash": "2b", **hf()})
    got = read("hf-benchmark", text, "benchmark_run.jsonl")

    assert [outcome.status for outcome in got.of(Outcome)] == ["ok", "fail_to_run"]
    assert [case for case, *_ in cases(got)] == ["acme/tiny"]
    assert values(got)["latency"] == [1e9, 1.5e9]


def test_gungraun_of_version_7_has_metrics_by_new_and_old() -> None:
    """Counts, rates in %, and bytes; of perf, which has no total, those of its only part in the unit that it gives."""

    def both(new: Any) -> dict[str, Any]:
        return {"values": {"new": new, "old": new}, "change": {"diff_pct": "0", "factor": "1"}}

    summary = {
        "version": "7", "kind": "LibraryBenchmark", "module_path": "lib::group::sort", "function_name": "sort", "id": "big",
        "description": "1000", "baselines": [None, None], "profiles": [
            {"tool": "Callgrind", "data": {"parts": [], "total": {"regressions": [], "metrics": {
                "Ir": both(2000), "L1HitRate": both(99.5), "D1MissRate": {"values": {"new": 0.25}}, "Dr": {"values": {"old": 5}}}}}},
            {"tool": "DHAT", "data": {"parts": [], "total": {"regressions": [], "metrics": {"TotalBytes": both(64)}}}},
            {"tool": "Perf", "data": {"parts": [{"metrics": {"task-clock": both({"value": 1.5, "unit": "ms"})}}],
                                      "total": {"regressions": [], "metrics": {}}}},
        ],
    }  # fmt: skip
    got = read("gungraun", summary, "summary.json")

    assert cases(got) == [("lib::group::sort big", "LibraryBenchmark", {})]
    found = values(got)
    found.pop("fields", None)
    assert found == {
        "instructions": 2000.0, "L1HitRate": 99.5, "D1MissRate": 0.25, "TotalBytes": 64.0, "task-clock": 1.5e6, "details": "1000",
    }  # fmt: skip


def test_a_batch_of_sglang_says_minus_one_for_what_its_server_did_not_tell() -> None:
    """-1 tokens accepted and -1 tokens a second were not measured; what a steady state gave is a metric."""
    record = {
        "run_name": "default", "batch_size": 4, "input_len": 8, "output_len": 4, "latency": 0.5, "input_throughput": 16.0,
        "output_throughput": 8.0, "overall_throughput": 24.0, "last_ttft": 0.25, "last_gen_throughput": -1, "acc_length": -1,
        "total_output_tokens": 16, "num_early_stopped": 0, "steady_state_output_throughput": 9.5, "steady_state_window_s": 0.25,
        "cache_hit_rate": None,
    }  # fmt: skip
    got = read("sglang-one-batch", lines(record), "result.jsonl")

    found = values(got)
    found.pop("fields", None)
    assert cases(got) == [("result", 4, {"input_len": 8, "output_len": 4, "run_name": "default"})]
    assert found == {
        "latency": 0.5e9, "input_throughput": 16.0, "output_throughput": 8.0, "total_throughput": 24.0, "ttft": 0.25e9,
        "total_output_tokens": 16.0, "early_stopped": 0.0, "steady_output_throughput": 9.5, "steady_duration": 0.25e9,
    }  # fmt: skip


def test_the_table_of_llama_batched_bench_has_the_settings_above_it() -> None:
    """The axes are those of its JSON lines, so that two tables with other settings are two cases."""
    text = (
        "main: n_kv_max = 2048, n_batch = 512, n_ubatch = 256, flash_attn = 0, is_pp_shared = 0, n_gpu_layers = -1, n_threads = 4, "
        "n_threads_batch = 4\n\n"
        "|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |\n"
        "|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|\n"
        "|   128 |     64 |    1 |    192 |    0.500 |   256.00 |    2.000 |    32.00 |    2.500 |    76.80 |\n"
    )
    got = read("llama-batched-bench", text, "bench.txt")

    axes = {
        "pp": 128, "tg": 64, "pl": 1, "n_kv": 192, "n_kv_max": 2048, "n_batch": 512, "n_ubatch": 256, "flash_attn": 0,
        "is_pp_shared": 0, "n_gpu_layers": -1, "n_threads": 4, "n_threads_batch": 4,
    }  # fmt: skip
    assert cases(got) == [("bench", axes)]
    assert values(got)["latency"] == 2.5e9


def test_tritonbench_has_metrics_of_its_operators_and_of_no_backend() -> None:
    """The row of averages repeats the others and is none; a text is kept as such."""
    text = (
        "(M, N);flops;aten-latency;tri-latency;tri-speedup;tri-best_config\n"
        '"(8, 16)";256.0;0.5;0.25;2.0;{"num_warps": 4}\n'
        "average;256.0;0.5;0.25;2.0;\n"
    )
    got = read("tritonbench", text, "op_gemm.csv")

    size = {"(M, N)": "(8, 16)"}
    assert cases(got) == [("op_gemm", size), ("op_gemm", "aten", size), ("op_gemm", "tri", size)]
    assert [values(got, at) for at in range(3)] == [
        {"flops": 256.0}, {"latency": 0.5e6}, {"latency": 0.25e6, "speedup": 2.0, "best_config": '{"num_warps": 4}'},
    ]  # fmt: skip


def test_a_night_of_tritonbench_has_its_gpu_and_commit_and_what_did_not_pass() -> None:
    """Metrics of all operators lie in one object; `unknown` is no fact; a pass of 0 is a failure, and averages are no values."""
    got = read("tritonbench-json", json.dumps({
        "name": "nightly",
        "env": {"benchmark_date": "20260501100000", "device": "GPU", "triton_commit": "bbb222", "triton_branch": "unknown"},
        "metrics": {
            "tritonbench_gemm[x_(1024, -1)-aten]_tflops": 512.5, "tritonbench_gemm[aten]-tflops-avg": 512.5,
            "tritonbench_gemm-pass": 1, "tritonbench_flash-pass": 0,
        },
    }), "result.json")  # fmt: skip

    assert cases(got) == [("gemm", "aten", {"x_val": "(1024, -1)"}), ("gemm", {}), ("flash", {})]
    (run,) = got.runs
    assert (run.started_at, run.git_commit, run.git_branch) == (1777629600_000000, "bbb222", None)
    assert [(outcome.status, outcome.reason) for outcome in got.of(Outcome)] == [
        ("ok", None), ("ok", None), ("fail_to_run", "not all of its inputs were measured"),
    ]  # fmt: skip


def test_parameters_of_mlflow_are_typed_axes_and_metrics_have_the_unit_of_their_names() -> None:
    """As in any table: a batch size is that axis, a number no text, `latency_ms` is in ms and `tok_s` the higher the better."""
    text = (
        "run_id,experiment_id,status,start_time,metrics.latency_ms,metrics.tok_s,params.batch_size,params.lr,params.optimizer\n"
        "r1,1,FINISHED,2026-05-01 10:00:00+00:00,2.5,100.0,32,1e-4,adam\n"
    )
    got = read("mlflow", text, "runs.csv")

    assert cases(got) == [("runs", 32, {"lr": 0.0001, "optimizer": "adam"})]
    found = {
        metric.metric: (metric.value, metric.unit, metric.better)
        for metric in got.of(Metric)
        if metric.metric != "fields"
    }
    assert found == {"latency_ms": (2.5e6, "ns", "lower"), "tok_s": (100.0, "tokens/s", "higher")}


def test_one_run_of_a_report_for_intel_gpus_is_left_out_beside_all_runs(tmp_path: Path) -> None:
    """With the file of all runs it would count twice; alone it is read."""
    one, all_runs = tmp_path / "softmax_0.csv", tmp_path / "softmax.csv"
    one.write_text("N,Triton-GB/s,Triton-CV\n256,512.0,0.0125\n")
    report = IntelTritonReport()

    assert report.recognise(read_head(one)) and report.left_out(read_head(one)) is None
    all_runs.write_text("N,Triton-GB/s,Triton-CV,datetime,run_counter\n256,512.0,0.0125,2026-05-01 10:00:00.5,1\n")
    assert report.left_out(read_head(one)) == "repeats softmax.csv, which lies beside it"
