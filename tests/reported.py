# ruff: noqa: E501
"""Inputs after reports of people about benchmark tools, each with the answer that is right (see `test_reported.py`).

A row is a folder or a file; its numbers are made up. The same tests read files that reproduce the reports, where those are present.
"""

import csv
import io
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PROCESSORS = {
    "A": {"mhz_per_cpu": 3244, "l3": 2**25, "factor": 1.0},
    "B": {"mhz_per_cpu": 2793, "l3": 3 * 2**24, "factor": 1.6},
}
NIGHTS = "BABBABAAABABAAABAAAB"  # the last one is on a processor that was drawn seven times before
HEAD = {"num_cpus": 4, "cpu_scaling_enabled": False, "library_build_type": "release"}


def write(folder: Path) -> None:
    """Write the inputs of every row into the folder."""
    _hosted_runners(folder)
    _serving(folder)
    _tables(folder)
    _documents(folder)
    _pairs(folder)
    _absent(folder / "11-absent")


def _put(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def _rows(*rows: Iterable[object]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _google(context: dict[str, Any], times: dict[str, float], unit: str = "ms", **more: Any) -> dict[str, Any]:
    entries = [
        {"name": name, "run_name": name, "run_type": "iteration", "iterations": 1000, "time_unit": unit, "real_time": time,
         "cpu_time": time, **more}
        for name, time in times.items()
    ]  # fmt: skip
    return {"context": {"executable": "/w/b", "host_name": "runner"} | HEAD | context, "benchmarks": entries}


def _hosted_runners(folder: Path) -> None:
    """01: two processors under names that change; 02: two executables a night, of which the first gets slower; 08: a commit."""
    chance = random.Random(1)
    for name, drawn in (("seen", NIGHTS), ("never", "A" * 19 + "B")):
        for night, letter in enumerate(drawn):
            it = PROCESSORS[letter]
            context = {
                "date": f"2026-03-{night + 1:02}T02:00:00+00:00", "host_name": f"{chance.getrandbits(48):012x}",
                "mhz_per_cpu": it["mhz_per_cpu"], "caches": [{"type": "Unified", "level": 3, "size": it["l3"], "num_sharing": 4}],
            }  # fmt: skip
            times = {f"BM_{i}": (i + 1) * it["factor"] * chance.gauss(1, 0.01) for i in range(3)}
            _put(folder / "01-machine-lottery" / name / f"{night:03}.json", _google(context, times))
    for night in range(8):
        for minute, tool, letter in ((0, "algo_bench", "a"), (2, "core_bench", "b")):
            context = {
                "date": f"2026-03-{night + 1:02}T02:{minute:02}:00+00:00", "executable": f"/w/{tool}", "caches": [],
                "GIT_COMMIT_HASH": f"0abc{night:03}", "GIT_BRANCH": "main",
            }  # fmt: skip
            times = {f"BM_{letter}{i}": (i + 1) * chance.gauss(1, 0.01) for i in range(3)}
            if (night, tool) == (7, "algo_bench"):
                times["BM_a0"] *= 1.5
            _put(folder / "02-several-files-a-night" / "nightly" / f"{tool}_{night}.json", _google(context, times))
            if (night, tool) == (0, "core_bench"):
                _put(folder / "08-gbench-commit" / "core_bench_0.json", _google(context, times))


def _vllm(**fields: Any) -> dict[str, Any]:
    return {
        "date": "20260501-100000", "backend": "openai", "model_id": "acme/tiny-7b", "tokenizer_id": "acme/tiny-7b", "num_prompts": 100,
        "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 16, "duration": 10.0, "completed": 100, "failed": 0,
        "total_input_tokens": 12800, "total_output_tokens": 12800, "mean_ttft_ms": 20.0, "median_ttft_ms": 19.0,
    } | fields  # fmt: skip


def _serving(folder: Path) -> None:
    """03: prompts of three lengths; 07: three trials of AIPerf; 14: one token an answer; requests of vLLM; SGLang without streaming."""
    for length, ttft in ((128, 20.1), (1024, 90.45), (8192, 703.5)):
        for repeat, factor in ((0, 0.995), (1, 1.005)):
            name = f"tiny_isl{length}_osl128_conc16_{repeat}.json"
            said = _vllm(total_input_tokens=100 * length, median_ttft_ms=ttft * factor, mean_ttft_ms=ttft * factor)
            _put(folder / "03-vllm-lengths" / name, said)
    for trial, (latency, rate) in enumerate(((197.8245, 49.5), (199.7158, 50.5), (199.6918, 51.5)), 1):
        summary = {
            "schema_version": "1.2", "aiperf_version": "0.9.0", "request_latency": {"unit": "ms", "avg": latency, "p50": latency},
            "request_throughput": {"unit": "requests/sec", "avg": rate}, "request_count": {"unit": "requests", "avg": 40.0},
            "warmup_metrics": {"request_latency": {"unit": "ms", "avg": 1992.5}}, "start_time": "2026-05-01T10:00:00.000000",
            "input_config": {
                "endpoint": {"model_names": ["acme/tiny-7b"]}, "loadgen": {"concurrency": 10, "request_count": 40},
            },
        }  # fmt: skip
        at = folder / "07-aiperf-summary" / "acme-tiny-7b-openai-chat-concurrency_10"
        _put(at / f"trial_{trial:04}" / "profile_export_aiperf.json", summary)
    _put(at / "aggregate" / "profile_export_aiperf_aggregate.json", {
        "schema_version": "1.0", "aiperf_version": "0.9.0", "metadata": {"aggregation_type": "confidence", "num_profile_runs": 3},
        "metrics": {"request_throughput_avg": {"mean": 50.5, "unit": "requests/sec"}},
    })  # fmt: skip
    gaps = dict.fromkeys(
        ("mean_tpot_ms", "median_tpot_ms", "p99_tpot_ms", "mean_itl_ms", "median_itl_ms", "p99_itl_ms"), 10.0
    )
    common = {"num_prompts": 50, "completed": 50, "total_input_tokens": 5000, "max_concurrency": 8}
    _put(folder / "14-zero-itl-base.json", _vllm(**common, total_output_tokens=5000, **gaps))
    _put(folder / "14-zero-itl.json", _vllm(**common, total_output_tokens=50, **dict.fromkeys(gaps, 0.0)))
    _put(folder / "openai-infqps-x-20260226-115439.json", _vllm(
        date="20260226-115439", model_id="m/x", num_prompts=40, completed=40, failed=2, total_input_tokens=4000,
        total_output_tokens=2560, input_lens=[100] * 40, output_lens=[64] * 40, ttfts=[0.2 + i / 1000 for i in range(40)],
        itls=[[0.02] * 63] * 40, errors=[""] * 40, generated_texts=["x"] * 40,
    ))  # fmt: skip
    silent = {
        f"{statistic}_{what}_ms": 0.0 for statistic in ("mean", "median", "std", "p99") for what in ("ttft", "itl")
    }
    _put(folder / "sg.jsonl", "".join(
        json.dumps({
            "backend": "sglang", "dataset_name": "random", "request_rate": float("inf"), "max_concurrency": users,
            "random_input_len": 2500, "random_output_len": 100, "random_range_ratio": 1.0, "duration": 91.8, "completed": 300,
            "total_input_tokens": 750000, "total_output_tokens": 30000, "mean_e2e_latency_ms": latency, **silent,
        }) + "\n" for users, latency in ((16, 4760.0), (32, 9100.0))
    ))  # fmt: skip


def _tables(folder: Path) -> None:
    """04: kernels with a time; 12: two configs whose digits differ; 13: alternatives, in a table and of hyperfine."""
    four = [(1024, "torch", 0.0201), (1024, "triton", 0.0123), (4096, "torch", 0.0822), (4096, "triton", 0.0501)]
    _put(folder / "04-table-with-timestamp" / "kernels.csv", _rows(
        ("kernel", "provider", "dtype", "size", "median_ms", "timestamp"),
        *(("softmax", provider, "fp16", size, ms, f"2026-05-01T10:00:{at:02}") for at, (size, provider, ms) in enumerate(four)),
    ))  # fmt: skip
    for name, ttfts, usage in (
        ("d1", ("52.50", "82.10", "240.30", "410.50"), (97, 98)),
        ("d2", ("52.80", "82.55", "241.70", "409.10"), (96, 96)),
    ):
        shapes = [(1024, 4, 91.3, 410.5), (1024, 16, 130.4, 1411.2), (8192, 4, 300.1, 300.7), (8192, 16, 702.9, 903.4)]
        _put(folder / "12-map-identity" / name / "r.csv", _rows(
            ("model", "engine", "isl", "conc", "mean_ttft_ms", "p99_ttft_ms", "tok_s", "gpu_util"),
            *(("big-70b", "vllm", *shape[:2], ttft, *shape[2:], usage[i % 2])
              for i, (shape, ttft) in enumerate(zip(shapes, ttfts, strict=True))),
        ))  # fmt: skip
    liger = [(size, "liger" if provider == "triton" else provider, ms) for size, provider, ms in four]
    _put(folder / "13-alternatives-in-one-run" / "kernels.csv", _rows(
        ("kernel", "provider", "size", "ms"), *(("softmax", provider, size, ms) for size, provider, ms in liger),
    ))  # fmt: skip
    _put(folder / "13-alternatives-in-one-run" / "hyperfine.json", {"results": [
        _hyperfine("grep foo", 0.1, [0] * 10), _hyperfine("rg foo", 0.05, [0, 0, 1, *[0] * 7]),
    ]})  # fmt: skip


def _hyperfine(command: str, mean: float, codes: list[int]) -> dict[str, Any]:
    spread = [(i * 7 % 11 - 5) / 1000 for i in range(len(codes))]
    times = [mean * (1 + each - sum(spread) / len(spread)) for each in spread]
    return {
        "command": command, "mean": mean, "stddev": mean / 100, "median": mean, "user": 0.05, "system": 0.01, "min": min(times),
        "max": max(times), "times": times, "exit_codes": codes,
    }  # fmt: skip


def _documents(folder: Path) -> None:
    """05: a unit of test-infra; 06: a training log; 09: calls that all end with 1; 10: lines before the document."""
    _put(folder / "05-test-infra-unit" / "operator_bench.json", [{
        "benchmark": {"name": "operators", "mode": "inference", "dtype": "float32"}, "model": {"name": "add_M1_N1"},
        "metric": {"name": "latency", "unit": "us", "benchmark_values": [12.3]},
    }])  # fmt: skip
    log = [
        (0, "POINT_IN_TIME", "submission_benchmark", "llama31_8b", {}), (100, "INTERVAL_START", "run_start", None, {}),
        (100_100, "POINT_IN_TIME", "tracked_stats", {"throughput": 100.5}, {"step": 10}),
        (1_000_100, "INTERVAL_END", "run_stop", None, {"status": "success"}),
    ]  # fmt: skip
    _put(folder / "06-mlperf-training" / "result_0.txt", "".join(
        ":::MLLOG " + json.dumps({"namespace": "", "time_ms": 1767225600000 + ms, "event_type": kind, "key": key, "value": value,
                                  "metadata": more}) + "\n"
        for ms, kind, key, value, more in log
    ))  # fmt: skip
    for side, mean in (("A", 0.1), ("B", 0.15)):
        for run in range(3):
            document = {"results": [_hyperfine("grep -q foo f", mean * (1 + run / 2000), [1] * 20)]}
            _put(folder / "09-hyperfine-ignored-failure" / side / f"{run}.json", document)
    record = {
        "build_commit": "abc1234", "build_number": 6300, "cpu_info": "CPU", "gpu_info": "GPU", "backends": "Vulkan",
        "model_filename": "tiny.gguf", "model_type": "qwen3 4B", "n_prompt": 512, "n_gen": 0, "test_time": "2026-05-01T10:00:00Z",
    }  # fmt: skip
    _put(folder / "10-llama-bench-noise" / "lb.json", "ggml_vulkan: Found 1 Vulkan devices:\nggml_vulkan: 0 = GPU\n" + json.dumps([
        {**record, "n_depth": depth, "avg_ns": ns, "stddev_ns": ns // 500, "avg_ts": rate, "stddev_ts": 2.0,
         "samples_ns": [ns - 1000, ns + 1000], "samples_ts": [rate, rate]}
        for depth, ns, rate in ((0, 500_000_000, 1024.0), (4096, 800_000_000, 640.0))
    ]))  # fmt: skip


def _pairs(folder: Path) -> None:
    """gb: nine repetitions, 30 % slower; go: 32 % slower and twice the bytes; gha: another processor, everything twice as slow."""
    for number, us in ((1, 100.0), (2, 130.0)):
        document = _google({"date": f"2026-08-0{number}T10:00:00+00:00", "caches": []}, {})
        for name in ("BM_A/1024/real_time", "BM_B<float>/threads:8"):
            for index in range(9):
                (entry,) = _google(
                    {}, {name: us * (1 + (index - 4) / 200)}, "us", repetitions=9, repetition_index=index
                )["benchmarks"]
                document["benchmarks"].append(entry)
        failed = {
            "name": "BM_Err",
            "run_name": "BM_Err",
            "run_type": "iteration",
            "error_occurred": True,
            "error_message": "no GPU",
        }
        document["benchmarks"].append(failed)
        _put(folder / f"gb{number}.json", document)
    for number, (ns, size) in enumerate((((1052, 1060), 128), ((1390, 1400), 256)), 1):
        foo = "".join(f"BenchmarkFoo/size=10-8 \t 1000000\t {each} ns/op\t {size} B/op\t 3 allocs/op\n" for each in ns)
        bar = "BenchmarkBar-8 \t 200\t 5.1 ns/op\t 2000.5 MB/s\n"
        _put(
            folder / f"go{number}.txt",
            f"goos: linux\ngoarch: amd64\npkg: x/y\ncpu: AMD EPYC\n{foo}{bar}PASS\nok  \tx/y\t3.1s\n",
        )
    for number, processor, factor in ((3, "EPYC 7763", 1.0), (4, "Xeon 8272CL", 2.0)):
        entries = []
        for case in range(8):
            seconds = (case + 1) * 1e-4 * factor * (1 + case % 3 / 100)
            stats = dict.fromkeys(("min", "max", "mean", "median"), seconds) | {
                "stddev": seconds / 50,
                "rounds": 50,
                "iterations": 1,
            }
            entries.append({"name": f"test_{case}", "fullname": f"b.py::test_{case}", "params": None, "stats": stats})
        _put(folder / f"gha_{number}.json", {
            "machine_info": {"node": processor, "cpu": {"brand_raw": processor, "count": 4}, "python_version": "3.11.7"},
            "commit_info": {"id": f"{number:040}", "time": f"2026-01-0{number}T10:00:00+00:00", "branch": "main", "dirty": False},
            "datetime": f"2026-01-0{number}T11:00:00+00:00", "version": "4.0.0", "benchmarks": entries,
        })  # fmt: skip


def _absent(folder: Path) -> None:
    """11: a document of each of ten tools."""
    _put(folder / "bmf.json", {
        "bench_a": {"latency": {"value": 1500.0, "lower_value": 1400.0, "upper_value": 1650.0}},
        "bench_b": {"latency": {"value": 2750.0}, "throughput": {"value": 12.0}},
    })  # fmt: skip
    _put(folder / "codspeed.json", {"creator": {"name": "codspeed-cpp", "version": "1.0"}, "instrument": {"type": "walltime"}, "benchmarks": [
        {"name": "b1", "uri": "a.cpp::b1", "config": {}, "stats": {"min_ns": 100.0, "max_ns": 120.0, "median_ns": 104.0, "rounds": 10}},
    ]})  # fmt: skip
    _put(folder / "hf_bench_v2.json", {
        "metadata": {"hardware_info": {"gpu_name": "GPU", "torch_version": "2.9.0"}, "commit_id": "abc", "timestamp": "2026-05-01T10:00:00"},
        "measurements": {"e2e_latency": [1.0, 1.1], "dt_tokens": [[0.1, 0.2], [0.1, 0.2]], "gpu_metrics": None},
        "config": {"name": "eager", "batch_size": 1, "sequence_length": 128, "num_tokens_to_generate": 128},
    })  # fmt: skip
    _put(folder / "inferencex_agg.json", [
        {"hw": "h200", "conc": users, "model": "acme/big-70b", "infmax_model_prefix": "big", "framework": "vllm", "precision": "fp8",
         "isl": 1024, "osl": 1024, "tp": 8, "tput_per_gpu": rate, "output_tput_per_gpu": rate / 2,
         "mean_ttft": 0.4, "mean_tpot": 0.01, "mean_e2el": 10.0}
        for users, rate in ((4, 2639.015822), (16, 6964.404506), (64, 18379.17368))
    ])  # fmt: skip
    _put(folder / "k6new.json", {
        "version": "1.0.0", "metadata": {"generated_at": "2026-05-01T10:00:00Z", "k6_version": "1.5.0"},
        "config": {"execution": "local", "script": "s.js", "duration_seconds": 10.0}, "results": {"checks": [], "thresholds": [], "metrics": [
            {"name": "http_req_duration", "type": "trend", "contains": "time", "values": {"avg": 12.0, "med": 11.0, "p95": 25.0}},
            {"name": "http_reqs", "type": "counter", "contains": "default", "values": {"count": 100, "rate": 10.0}},
        ]},
    })  # fmt: skip
    _put(
        folder / "perf_txt.txt",
        """
 Performance counter stats for './b' (5 runs):

          1,234.56 msec task-clock                #    0.998 CPUs utilized            ( +-  0.35% )
     4,000,000,000      cycles                    #    3.240 GHz                      ( +-  0.10% )
   <not supported>      LLC-load-misses

           1.23700 +- 0.00400 seconds time elapsed  ( +-  0.32% )
""",
    )
    _put(folder / "sglang_one_batch.jsonl", "".join(
        json.dumps({"run_name": "default", "batch_size": batch, "input_len": 1024, "output_len": 16, "prefill_latency": prefill,
                    "total_latency": total, "overall_throughput": 6933.3}) + "\n"
        for batch, prefill, total in ((1, 0.0512, 0.15), (8, 0.3, 0.42))
    ))  # fmt: skip
    _put(folder / "torchbench_userbenchmark.json", {"name": "test_bench", "environ": {"pytorch_git_version": "abc"}, "metrics": {
        "model=resnet50, test=eval, device=cuda, bs=32, extra_args=[], metric=latencies": 12.3,
        "model=bert, test=train, device=cuda, bs=None, extra_args=[], metric=latencies": 45.6,
    }})  # fmt: skip
    _put(folder / "triton.csv", "N,Triton (GB/s),Torch (GB/s)\n256.0,512.0,341.33\n512.0,768.0,630.15\n")
    _put(folder / "trtllm.json", {
        "engine": {"model": "acme/tiny-7b", "version": "1.2", "backend": "Pytorch", "dtype": "bfloat16"},
        "world_info": {"tp_size": 2, "pp_size": 1}, "request_info": {"num_requests": 20, "avg_input_length": 128.0, "avg_output_length": 32.0},
        "performance": {"total_latency_ms": 4000.0, "request_throughput_req_s": 5.0, "system_output_throughput_tok_s": 160.0,
                        "request_latency_percentiles_ms": {"p50": 790.0}},
        "streaming_metrics": {"avg_ttft_ms": 60.0, "avg_tpot_ms": 22.0},
    })  # fmt: skip
