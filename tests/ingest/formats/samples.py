# ruff: noqa: E501
"""One small sample of each format, made here, for what is tried on all of them: some are files with others beside them."""

import contextlib
import gzip
import json
import pickle
import sqlite3
import struct
from typing import Any

from .snapshots import allocation, block, free, snapshot

SAMPLES: dict[str, dict[str, bytes]] = {}  # format -> files, the one to read first
BINARY: dict[str, dict[str, bytes]] = {}  # those that are no text


def sample(kind: str, content: object, name: str = "results.json", **beside: Any) -> None:
    """Add one; what is no text or bytes becomes JSON."""
    files = {name: content, **{key.replace("__", "/").replace("_dot_", "."): value for key, value in beside.items()}}
    SAMPLES[kind] = {
        key: value
        if isinstance(value, bytes)
        else value.encode()
        if isinstance(value, str)
        else json.dumps(value, indent=1).encode()
        for key, value in files.items()
    }


sample("pytest-benchmark", {
    "machine_info": {"node": "n", "system": "Linux", "release": "6", "cpu": {"brand": "c", "count": 2, "hz_actual": [1, 2]}},
    "commit_info": {"id": "abc", "branch": "main", "dirty": True}, "datetime": "2024-05-06T07:08:09.5",
    "benchmarks": [
        {"name": "a", "fullname": "t.py::a", "group": None, "params": {"n": 1}, "extra_info": {"hits": 3}, "options": {"x": 1},
         "stats": {"min": 1e-6, "mean": 2.5e-6, "ops": 4e5, "rounds": 2, "iterations": 5, "data": [2e-6, 3e-6], "outliers": "0;0"}},
        {"name": "b", "fullname": "t.py::b", "stats": {"mean": 1, "iterations": 1, "data": []}},
    ],
})  # fmt: skip
sample("google-benchmark", {
    "context": {"date": "2024-05-06T07:08:09+00:00", "num_cpus": 4, "load_avg": [0.5], "caches": [{"type": "Data", "size": 1}]},
    "benchmarks": [
        {"name": "BM_a/8", "run_name": "BM_a/8", "run_type": "iteration", "iterations": 100, "real_time": 2.5, "cpu_time": 2.0,
         "time_unit": "us", "items_per_second": 5.0, "label": "l"},
        {"name": "BM_a/8_mean", "run_name": "BM_a/8", "run_type": "aggregate", "aggregate_name": "mean", "iterations": 2,
         "real_time": 2.5, "cpu_time": 2.0, "time_unit": "us"},
        {"name": "BM_e", "run_type": "iteration", "error_occurred": True, "error_message": "why", "real_time": None},
    ],
})  # fmt: skip
sample("hyperfine", {"results": [
    {"command": "sleep 0.1", "mean": 0.1, "stddev": None, "median": 0.1, "user": 0.01, "system": 0.02, "min": 0.1, "max": 0.2,
     "times": [0.1, 0.2], "memory_usage_byte": [100, 200], "exit_codes": [0, 1], "parameters": {"n": "1"}},
]})  # fmt: skip
PYPERF = {
    "benchmarks": [{"metadata": {"name": "b", "loops": 4}, "runs": [
        {"metadata": {"date": "2024-05-06 07:08:09.5", "mem_max_rss": 5, "duration": 0.5}, "warmups": [[1, 1e-6], [4, 2e-6]]},
        {"metadata": {"cpu_freq": "1"}, "values": [1e-6, 2e-6], "warmups": [[4, 3e-6]]},
    ]}],
    "metadata": {"hostname": "h", "cpu_count": 4, "inner_loops": 2, "unit": "second", "perf_version": "2"}, "version": "1.0",
}  # fmt: skip
sample("pyperf", gzip.compress(json.dumps(PYPERF).encode(), mtime=0), name="results.json.gz")
sample("github-action-benchmark", "window.BENCHMARK_DATA = " + json.dumps({
    "lastUpdate": 1, "entries": {"S": [
        {"commit": {"id": "abc", "message": "m", "timestamp": "2024-05-06T07:08:09Z"}, "date": 1714979289000, "tool": "pytest",
         "benches": [{"name": "t.py::a", "value": 5.5, "unit": "iter/sec", "range": "stddev: 0.1", "extra": "mean: 2 usec\nrounds: 3"}]},
        {"commit": {"id": "def"}, "date": 1714979299000, "tool": "cargo",
         "benches": [{"name": "f", "value": 7, "unit": "ns/iter", "range": "± 2"}]},
    ]},
}), name="data.js")  # fmt: skip
sample("github-action-custom", [
    {"name": "a", "unit": "ms", "value": 1.5, "range": "0.5", "extra": "rounds: 3"}, {"name": "b", "unit": "points", "value": 50},
])  # fmt: skip
sample(
    "time-series",
    "# about\ntime,commit,os,latency,size\n2024-01-01 03:00:00 +0100,a1,linux,10,1.5\n2024-01-02,a2,linux,NaN,\n",
    name="api.csv",
)
ASV = {
    "commit_hash": "abc", "date": 1714979289000, "params": {"machine": "m", "cpu": "c", "ram": "8G"}, "python": "3.12",
    "requirements": {"numpy": "2"}, "version": 1, "env_vars": {}, "durations": {"x": 1.5},
    "results": {
        "time_a": 0.5, "time_skip": float("nan"), "time_fail": None,
        "time_p": {"params": [["1", "2"]], "result": [1, 2], "stats": [{"ci_99": [1, 2], "q_25": 1, "number": 3}, None], "samples": [[1, 2], None]},
    },
}  # fmt: skip
sample("asv", ASV, name="m/abc.json", benchmarks_dot_json={"time_p": {"name": "time_p", "param_names": ["n"], "type": "time", "unit": "seconds"}},
       m__machine_dot_json={"machine": "m", "version": 1})  # fmt: skip
ESTIMATE = {
    "confidence_interval": {"confidence_level": 0.95, "lower_bound": 1.5, "upper_bound": 2.5},
    "point_estimate": 2.0,
    "standard_error": 0.1,
}
sample("criterion", {"mean": ESTIMATE, "median": ESTIMATE, "slope": None, "std_dev": ESTIMATE}, name="Fib/new/estimates.json",
       Fib__new__sample_dot_json={"sampling_mode": "Linear", "iters": [1.0, 2.0], "times": [5.0, 9.0]},
       Fib__new__benchmark_dot_json={"group_id": "Fib", "full_id": "Fib/x", "value_str": "3", "throughput": {"Bytes": 4}})  # fmt: skip
JMH = {
    "jmhVersion": "1.37", "benchmark": "a.B.c", "mode": "thrpt", "threads": 2, "forks": 1, "params": {"n": "1"},
    "primaryMetric": {"score": 5.5, "scoreError": "NaN", "scoreConfidence": [5, 6], "scorePercentiles": {"99.9": 6}, "scoreUnit": "ops/ms",
                      "rawData": [[5, 6]]},
    "secondaryMetrics": {"gc": {"score": 1, "scoreUnit": "MB/sec", "rawDataHistogram": [[[[100, 2], [200, 1]]]]}},
}  # fmt: skip
sample("jmh", [JMH, JMH | {"mode": "sample"}])
sample("benchmarkdotnet", {
    "Title": "t", "HostEnvironmentInfo": {"ProcessorName": "c", "LogicalCoreCount": 4, "OsVersion": "o"},
    "Benchmarks": [{
        "DisplayInfo": "B.M: Job-X(Runtime=8) [N=1]", "FullName": "A.B.M(N: 1)", "Parameters": "N=1", "Memory": {"Gen0Collections": 1},
        "Statistics": {"N": 1, "Mean": 1.5, "Percentiles": {"P95": 2}, "ConfidenceInterval": {"Lower": 1}, "OriginalValues": [1.5]},
        "Measurements": [{"IterationMode": "Workload", "IterationStage": "Result", "LaunchIndex": 1, "IterationIndex": 1, "Operations": 2,
                          "Nanoseconds": 3}],
    }],
})  # fmt: skip
JUNIT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites name="pytest tests"><testsuite name="pytest" errors="0" failures="1" tests="3" time="1.5"
 timestamp="2024-05-06T07:08:09.5+02:00" hostname="n"><properties><property name="commit" value="abc" /></properties>
<testcase classname="t.TestA" name="test_a[1]" time="1,234.5"><system-out>printed</system-out></testcase>
<testcase classname="t" name="test_b" time="0.25"><failure message="assert 1 == 2" type="AssertionError">def test_b():
&gt;  assert 1 == 2</failure></testcase>
<testcase classname="t" name="test_c" time="0.0"><skipped type="pytest.skip" message="no GPU">t.py:3: no GPU</skipped></testcase>
</testsuite></testsuites>
"""
sample("junit", JUNIT, name="junit.xml")
sample("google-test", {"tests": 2, "failures": 1, "timestamp": "2024-05-06T07:08:09Z", "time": "0.5s", "name": "AllTests", "testsuites": [
    {"name": "Math", "tests": 2, "testsuite": [
        {"name": "Add/0", "value_param": "5", "file": "m.cc", "line": 3, "status": "RUN", "result": "COMPLETED", "time": "0.25s", "classname": "Math"},
        {"name": "Sub", "status": "RUN", "result": "COMPLETED", "time": "0s", "classname": "Math", "failures": [{"failure": "m.cc:9\nno", "type": ""}]},
        {"name": "DISABLED_x", "status": "NOTRUN", "result": "SUPPRESSED", "time": "0s", "classname": "Math"},
    ]}]})  # fmt: skip
sample("perf-stat", "# started on Thu May  9 10:11:12 2024\n\n1.20,msec,task-clock:u,1204272,100.00,0.697,CPUs utilized\n"
       "<not supported>,,cycles:u,0,100.00,,\n2000,,instructions:u,0.35%,1204272,75.00,0.89,insn per cycle\n", name="mine.csv")  # fmt: skip
sample("gnu-time", """hello
Command terminated by signal 9
\tCommand being timed: "sleep 1"
\tUser time (seconds): 0.25
\tElapsed (wall clock) time (h:mm:ss or m:ss): 0:01.25
\tMaximum resident set size (kbytes): 1088
\tSwaps: 0
\tExit status: 0
""", name="time.txt")  # fmt: skip
LLAMA = {
    "build_commit": "8cf427ff", "build_number": 5163, "cpu_info": "c ", "gpu_info": "G", "backends": "CUDA", "model_filename": "m.gguf",
    "model_type": "qwen2 7B Q4_K - Medium", "model_size": 4677120000, "model_n_params": 7615616512, "n_batch": 2048, "type_k": "f16",
    "flash_attn": False, "tensor_split": "0.00", "n_prompt": 512, "n_gen": 0, "n_depth": 0, "test_time": "2025-04-24T11:58:50Z",
    "avg_ns": 72135640, "stddev_ns": 1453752, "avg_ts": 7100.002165, "stddev_ts": 140.34152, "samples_ns": [74601900, 71632900],
    "samples_ts": [6863.1, 7147.55],
}  # fmt: skip
sample("llama-bench", [LLAMA, LLAMA | {"n_prompt": 0, "n_gen": 128, "n_depth": 4096}])
LM_EVAL = {
    "results": {
        "hellaswag": {"alias": "hellaswag", "acc,none": 0.25, "acc_stderr,none": 0.005, "acc_norm,none": 0.5, "acc_norm_stderr,none": "N/A"},
        "gsm8k": {"alias": "gsm8k", "exact_match,strict-match": 0.5, "exact_match,flexible-extract": 0.75, "perplexity,none": 5.5},
    },
    "configs": {"hellaswag": {"task": "hellaswag"}}, "versions": {"hellaswag": 1.0}, "n-shot": {"hellaswag": 5},
    "higher_is_better": {"hellaswag": {"acc": True, "acc_norm": True}, "gsm8k": {"perplexity": False}},
    "n-samples": {"hellaswag": {"original": 10042, "effective": 100}},
    "config": {"model": "hf", "model_args": "pretrained=gpt2", "batch_size": "8", "limit": 100}, "git_hash": "abc1234", "date": 1714979289.5,
    "model_name": "gpt2", "total_evaluation_time_seconds": "812.5",
}  # fmt: skip
sample("lm-eval", LM_EVAL)
K6 = {"root_group": {"name": ""}, "metrics": {
    "http_req_duration": {"avg": 1.5, "min": 1, "med": 1.25, "max": 3, "p(90)": 2, "p(95)": 2.5, "thresholds": {"p(95)<500": False}},
    "http_req_duration{expected_response:true}": {"avg": 1.5, "p(95)": 2.5}, "http_reqs": {"count": 100, "rate": 10},
    "http_req_failed": {"value": 0.25, "passes": 25, "fails": 75}, "data_received": {"count": 5000, "rate": 500},
    "vus": {"value": 5, "min": 1, "max": 5},
}}  # fmt: skip
sample("k6", K6, name="home.json")
OHA = {
    "summary": {"successRate": 1.0, "total": 2.0, "slowest": 0.006, "fastest": 0.001, "average": 0.002, "requestsPerSec": 50.5,
                "totalData": 1300, "sizePerRequest": None, "sizePerSec": 650.0},
    "responseTimeHistogram": {"0.001": 10}, "latencyPercentiles": {"p50": 0.001, "p99.9": 0.005}, "firstBytePercentiles": {"p50": 0.001},
    "statusCodeDistribution": {"200": 100}, "errorDistribution": {"request timeout": 1},
}  # fmt: skip
sample("oha", OHA, name="home.json")
LOCUST = (
    "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,Max Response Time,"
    "Average Content Size,Requests/s,Failures/s,50%,99%,99.9%,100%\n"
    "GET,/api/users,100,5,50,55,10,200,1024,10.5,0.5,50,180,N/A,200\n,Aggregated,100,5,50,55,10,200,1024,10.5,0.5,50,180,N/A,200\n"
)
sample("locust", LOCUST, name="x_stats.csv")
WRK = """Running 30s test @ http://127.0.0.1:8080/index.html
  12 threads and 400 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   635.91us    0.89ms  12.92ms   93.69%
    Req/Sec    56.20k     8.07k   62.00k    86.54%
  Latency Distribution
     50%  250.00us
  22464657 requests in 30.00s, 17.76GB read
  Socket errors: connect 0, read 0, write 0, timeout 5
  Non-2xx or 3xx responses: 7
Requests/sec: 748868.53
Transfer/sec:    606.33MB
"""
sample(
    "folded-stacks",
    "main (a.py:3);load (a.py:9);read 40\nmain (a.py:3);train (b.py:7) 200\nmain (a.py:3) 2\n",
    name="stacks.txt",
)
sample("wrk", WRK, name="wrk.txt")


def torch_log(*entries: tuple[dict[str, Any], str], number: int = 17025) -> str:
    """A structured log of torch.compile."""
    return "".join(
        f"V1129 20:04:16.466000 {number} torch/_dynamo/utils.py:2350] {json.dumps(header)}\n"
        + "".join(f"\t{line}\n" for line in payload.split("\n") if payload)
        for header, payload in entries
    )


def phase(name: str, begin_us: float, end_us: float) -> list[tuple[dict[str, Any], str]]:
    """The entries of a phase: its begin and its end."""
    ends = (("B", begin_us), ("E", end_us))
    return [
        ({"chromium_event": {}}, json.dumps({"name": name, "ph": ph, "ts": ts, "pid": 0, "tid": 0})) for ph, ts in ends
    ]


BROKEN = """Graph break in user code at /w/m.py:9
Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):

Call to `torch._dynamo.graph_break()`
  Explanation: User-inserted graph break.
  Hint: Remove the call.

User code traceback:
  File "/w/m.py", line 14, in <module>
    m(x)
  File "/w/m.py", line 9, in forward
    torch._dynamo.graph_break()
"""
COMPILED = {
    "recompile_reason": "0/0: tensor 'x' size mismatch",
    "co_filename": "/w/m.py",
    "co_firstlineno": 6,
    "co_name": "forward",
}
begun, ended = phase("entire_frame_compile", 100.0, 900.0)
sample(
    "torch-logs",
    torch_log(
        begun, ({"artifact": {"name": "torch_version", "encoding": "json"}}, '{"pytorch_version": "2.13.0"}'),
        *phase("GraphLowering.run", 200.0, 300.0), ({"artifact": {"name": "dynamo_graph_break_reason"}}, BROKEN),
        ({"artifact": {"name": "fx_graph_cache_miss", "encoding": "json"}}, "{}"), ended, ({"compilation_metrics": COMPILED}, ""),
    ),
    name="dedicated_log_torch_trace_x.log",
)  # fmt: skip
FIO = {
    "fio version": "fio-3.28", "timestamp": 1714979289, "timestamp_ms": 1714979289500, "time": "Mon May  6", "global options": {"ioengine": "libaio"},
    "jobs": [{
        "jobname": "rand", "groupid": 0, "error": 0, "job options": {"name": "rand", "filename": "/x", "bs": "4k", "rw": "randread"},
        "read": {"io_bytes": 4096000, "bw_bytes": 4096000, "bw": 4000, "iops": 1000.0, "runtime": 1000, "total_ios": 1000,
                 "slat_ns": {"min": 0, "max": 0}, "clat_ns": {"min": 1, "max": 9, "mean": 5, "percentile": {"99.900000": 900}},
                 "lat_ns": {"min": 100, "max": 900, "mean": 250.5, "stddev": 1, "N": 1000}},
        "write": {"io_bytes": 0, "total_ios": 0}, "usr_cpu": 1.5, "sys_cpu": 2.5, "ctx": 7, "latency_us": {"2": 0.0},
    }],
}  # fmt: skip
sample("fio", FIO)
NCCL = """# Collective test starting: all_reduce_perf
# nThread 1 nGpus 2 minBytes 8 maxBytes 1024
#  Rank  0 Group  0 Pid 7018 on  node device  0 [0x00] NVIDIA A100
#  Rank  1 Group  0 Pid 7018 on  node device  1 [0x01] NVIDIA A100
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    36.92    0.00    0.00      0    36.44    0.00    0.00      0
     1048576        262144     float     sum      -1    100.5    1.50    2.25      0    99.25    1.75    2.50      3
# Avg bus bandwidth    : 24.5
"""
sample("nccl-tests", NCCL, name="nccl.txt")
TRT_TIMES = [
    {"startH2dMs": 0.25, "endH2dMs": 0.5, "startComputeMs": 0.5, "endComputeMs": 1.75, "latencyMs": 1.5},
    {"inMs": 0.125, "startComputeMs": 2.0, "endComputeMs": 3.125, "computeMs": 1.125, "latencyMs": 2.5},
]
sample("trtexec-times", TRT_TIMES)
sample(
    "trtexec-profile",
    [{"count": 625}, {"name": "conv", "timeMs": 36.5, "averageMs": 0.0625, "medianMs": 0.05, "percentage": 1.25}],
)
NSYS_STATS = """Generating SQLite file /tmp/a.sqlite
Processing [/tmp/a.sqlite] with [cuda_gpu_kern_sum.py]...
Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
100.0,28918591,5,5783718.2,5780070.0,5777126,5797542,8313.1,"burn(float *, int, int)"

Processing [/tmp/a.sqlite] with [cuda_gpu_mem_size_sum.py]...
Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Operation
1.5,3,0.5,0.5,0.25,0.75,0.25,[CUDA memcpy HtoD]
"""
sample("nsys-stats", NSYS_STATS, name="stats.csv")
NCU = """==PROF== Connected to process 371693
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","Metric Name","Metric Unit","Metric Value","Rule Name"
"0","1","p","h","mm(float *, int)","1","7","(32, 32, 1)","(64, 64, 1)","0","gpu__time_duration.sum","nsecond","10,196,000",
"0","1","p","h","mm(float *, int)","1","7","(32, 32, 1)","(64, 64, 1)","0","Memory Throughput","%","78.50"
"""
sample("ncu", NCU, name="ncu.csv")
NCU_RAW = """==PROF== Connected to process 371693
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","device__attribute_name","dram__bytes_read.sum","gpu__time_duration.sum","sm__throughput.avg.pct"
"","","","","","","","","","","","","Kbyte","us","%"
"0","1","p","h","mm(float *, int)","1","7","(32, 32, 1)","(64, 64, 1)","0","8.0","NVIDIA A100","2,000.50","1,205.25","80.5"
"1","1","p","h","relu(float *)","1","7","(32, 1, 1)","(64, 1, 1)","0","8.0","NVIDIA A100","4","3","n/a"
"""
TORCH_TABLES = """two tables follow
[-------------------- Ops | odd ---------------------]
                         |   x+x    |        x@x      \x20
1 threads: -------------------------------------------
  (e1)       (64, 64)    |  \x1b[92m\x1b[1m   1.5\x1b[0m\x1b[0m  |       7.1       \x20
  (env two)  (256, 256)  |     6.4  |                 \x20
2 threads: -------------------------------------------
  (e1)       (64, 64)    |     1.5  |   15953.2       \x20
  (env two)  (256, 256)  |  7590.2  |  11977.5 (! 33%)

Times are in microseconds (us).
(! XX%) Measurement has high variance, where XX is the IQR / median * 100.

[---------- softmax ----------]
                  |  B=8
1 threads: --------------------
      dense       |  0.25 (+-0.125)

Times are in milliseconds (ms).
"""
sample("torch-benchmark", TORCH_TABLES, name="compare.txt")
sample(
    "torch-baselines",
    "dev,name,batch_size,ts,ofi\ncuda,alexnet,4,1.0241,0.0000\ncuda,dcgan,16,0.9812,1.25\n",
    name="baseline_ts.csv",
)
CONBENCH_SIDE = {
    "benchmark_name": "read", "case_permutation": "snappy, 2", "language": "Python", "single_value_summary": 0.25,
    "single_value_summary_type": "mean", "error": None, "benchmark_result_id": "b1", "batch_id": "x", "run_id": "r1",
    "tags": {"compression": "snappy", "cpu_count": 2, "name": "read"},
}  # fmt: skip
CONBENCH_PAIRS = [
    {"unit": "s", "less_is_better": True, "history_fingerprint": "f", "baseline": CONBENCH_SIDE,
     "contender": {**CONBENCH_SIDE, "run_id": "r2", "benchmark_result_id": "b2", "single_value_summary": 0.5},
     "analysis": {"pairwise": {"percent_change": -100.0, "regression_indicated": True}, "lookback_z_score": None}},
    {"unit": "i/s", "less_is_better": False, "baseline": None, "analysis": None,
     "contender": {**CONBENCH_SIDE, "run_id": "r2", "single_value_summary": None, "error": {"message": "why"}}},
]  # fmt: skip
sample(
    "conbench-compare", {"status_code": 200, "data": {"data": CONBENCH_PAIRS, "metadata": {"next_page_cursor": None}}}
)
sample("go-test", "goos: linux\npkg: p\nBenchmarkA/n=1-8 \t 100\t 25.5 ns/op\t 16 B/op\nBenchmarkB 5 1 ns/op\n--- FAIL: BenchmarkC\n    x.go:1: why\nPASS\n",
       name="bench.txt")  # fmt: skip
sample(
    "rust-text",
    "test a ... bench:       1,234 ns/iter (+/- 56) = 8 MB/s\ntest b ... FAILED\nfib 20  time:   [26.0 µs 26.2 µs 26.5 µs]\n",
    name="bench.txt",
)
sample("nvbench", {
    "meta": {"argv": ["x"], "version": {"nvbench": {"string": "1"}}}, "devices": [{"id": 0, "name": "G"}],
    "benchmarks": [{"name": "c", "states": [
        {"name": "s", "device": 0, "axis_values": [{"name": "N", "type": "int64", "value": "64"}], "is_skipped": False, "summaries": [
            {"tag": "nv/cold/time/gpu/mean", "hint": "duration", "data": [{"name": "value", "type": "float64", "value": "0.001"}]},
            {"tag": "nv/json/bin:nv/cold/sample_times", "data": [
                {"name": "filename", "type": "string", "value": "r_bin/0.bin"}, {"name": "size", "type": "int64", "value": "2"}]},
        ]},
        {"name": "s", "device": 0, "axis_values": None, "summaries": None, "is_skipped": True, "skip_reason": "why"},
    ]}],
}, r_bin__0_dot_bin=struct.pack("<2f", 0.001, 0.002))  # fmt: skip
TESTINFRA = {
    "timestamp": 1714979289, "head_sha": "abc", "job_id": 1, "runners": [{"name": "r", "gpu_info": "G"}], "dependencies": {"torch": {"version": "2"}},
    "benchmark": {"name": "s", "mode": "inference", "dtype": "bf16", "extra_info": {"device": "cuda", "dynamic": True}},
    "model": {"name": "m", "type": "t", "backend": "b"}, "metric": {"name": "latency(ms)", "benchmark_values": [1.5], "target_value": 2},
}  # fmt: skip
sample("test-infra", f"{json.dumps(TESTINFRA)}\n{json.dumps(TESTINFRA | {'job_id': 2})}\n")
sample("conbench", {"data": [{
    "run_id": "r", "timestamp": "2024-05-06T07:08:09Z", "tags": {"name": "n", "x": 1}, "github": {"commit": "abc"}, "error": None,
    "machine_info": {"name": "m", "memory_bytes": "5"}, "stats": {"data": [0.5], "times": [0.5], "unit": "s", "mean": 0.5},
}], "metadata": {}})  # fmt: skip
VLLM = {
    "date": "20250227-024826", "endpoint_type": "vllm", "backend": "vllm", "label": "l", "model_id": "m", "tokenizer_id": "t",
    "num_prompts": 2, "tp": "2", "request_rate": "inf", "burstiness": 1.0, "max_concurrency": None, "duration": 2.5, "completed": 1,
    "failed": 1, "output_throughput": 3.0, "input_lens": [4, 6], "output_lens": [3, 0], "ttfts": [0.01, 0.0], "itls": [[0.5, 0.25], []],
    "start_times": [1.5, 2.5], "generated_texts": ["a", ""], "errors": ["", "why"], "mean_ttft_ms": 10.0, "p99.9_itl_ms": 0.5,
    "rates": [0.5], "run_number": 0, "max_num_seqs": 32,
}  # fmt: skip
sample("vllm", f"{json.dumps(VLLM)}\n{json.dumps(VLLM | {'request_rate': 4.0})}\n")
SGLANG = {
    "tag": None, "backend": "sglang", "dataset_name": "random", "request_rate": float("inf"), "max_concurrency": 4, "random_input_len": 8,
    "random_output_len": 8, "random_range_ratio": 0.5, "server_info": {"model_path": "m", "tp_size": 2, "version": "1"}, "duration": 2.5,
    "completed": 1, "total_output_tokens_retokenized": 3, "output_throughput": 1.5, "mean_e2e_latency_ms": 7.5, "p99_itl_ms": 0.5,
    "ttfts": [0.01, 0.0], "itls": [[0.5], []], "output_lens": [2, 0], "errors": ["", "why"], "accept_length": 1.5,
}  # fmt: skip
sample("sglang", f"{json.dumps(SGLANG)}\n{json.dumps(SGLANG | {'request_rate': 4.0})}\n", name="m.jsonl")
sample(
    "torch-compile",
    "dev,name,batch_size,speedup,abs_latency,compilation_latency\ncuda,a,4,1.5,20.5,30.25\ncuda,b,0,0.0000\n"
    'cpu,d,"[1, 2]",1.25,1e2,3\n',
    name="inductor_torchbench_amp_training_cuda_performance.csv",
)
sample(
    "torch-compile-expected",
    "name,accuracy,graph_breaks\n\n\n\na,pass,0\n# why\nb,fail_accuracy,5\n",
    name="cpu_inductor_timm_inference.csv",
)
GENAI_REQUEST = {
    "timestamp": 1714979289000000000, "request_inputs": {"payload": '{"model": "m"}'},
    "response_timestamps": [1714979289000001000, 1714979289000002000, 1714979289000004000],
    "response_outputs": [{"response": 'data: {"choices": [{"delta": {"content": "a"}}]}'}, {"response": "data: [DONE]"}, {"response": "x"}],
}  # fmt: skip
GENAI_SUMMARY = {
    "request_latency": {"unit": "ms", "avg": 1.5, "p99": 2}, "request_throughput": {"unit": "requests/sec", "avg": 2},
    "telemetry_stats": {"gpu_power_usage": {"unit": "W", "gpu0": {"avg": 1}}},
    "input_config": {"model": ["m"], "concurrency": 1, "input": {"x": [1]}},
}  # fmt: skip
sample("genai-perf", {"experiments": [
    {"experiment": {"mode": "concurrency", "value": 1}, "requests": [GENAI_REQUEST, GENAI_REQUEST], "window_boundaries": [1]},
], "version": "2", "service_kind": "openai", "endpoint": "v1/chat"}, name="profile_export.json",
    profile_export_genai_perf_dot_json=GENAI_SUMMARY,
)  # fmt: skip
GUIDELLM_SUMMARY = {
    "mean": 1.5,
    "median": 1,
    "variance": 2,
    "count": 1,
    "percentiles": {"p001": 1, "p99": 2},
    "pdf": [[1, 1]],
}
sample("guidellm", {
    "metadata": {"version": 1, "guidellm_version": "0.6.0", "python_version": "3", "platform": "L"}, "args": {"rate": [1], "api_key": "k"},
    "benchmarks": [{
        "type_": "generative_benchmark", "run_id": "r", "config": {
            "strategy": {"type_": "concurrent", "streams": 8}, "profile": {"type_": "concurrent"}, "backend": {"model": "m"},
            "requests": {"data": ["x"]},
        },
        "metrics": {
            "request_totals": {"successful": 1, "incomplete": 0, "errored": 1, "total": 2}, "text": {"tokens": {"input": None}},
            "time_to_first_token_ms": {"successful": GUIDELLM_SUMMARY, "errored": {"count": 0, "mean": 0.0}},
        },
        "requests": {"successful": [{"request_latency": 1.5, "output": "t", "prompt_tokens": 4, "request_start_time": 1714979289.5}],
                     "incomplete": [], "errored": [{"info": {"error": "why"}, "request_latency": None}]},
        "start_time": 1714979289.5, "duration": 2.5, "extras": {"a": 1},
    }],
})  # fmt: skip
LLMPERF = {
    "version": "2023-08-31", "name": "m_summary", "model": "m", "mean_input_tokens": 550, "num_concurrent_requests": 5, "tp": "2",
    "results_ttft_s_quantiles_p99": 0.5, "results_ttft_s_mean": 0.25, "results_num_requests_started": 3, "results_number_errors": 1,
    "results_error_code_frequency": "{429: 1}", "results_num_completed_requests": 2, "results_odd": [1], "timestamp": 1703135943,
}  # fmt: skip
sample("llmperf", [
    {"error_code": None, "error_msg": "", "inter_token_latency_s": 0.5, "ttft_s": 0.25, "end_to_end_latency_s": 2.5,
     "request_output_throughput_token_per_s": 50.0, "number_output_tokens": 5, "number_input_tokens": 6, "start_time": 1.5},
    {"error_code": 429, "error_msg": "busy", "ttft_s": 0, "number_output_tokens": 0},
], name="m_individual_responses.json", m_summary_dot_json=LLMPERF)  # fmt: skip
OPTIMUM = {
    "name": "e", "backend": {"name": "pytorch", "version": "2", "_target_": "x", "model": "m", "device": "cuda", "task": "t", "seed": 4},
    "scenario": {"name": "inference", "_target_": "x", "input_shapes": {"batch_size": 1, "n": 2}}, "launcher": {"_target_": "x"},
    "environment": {"cpu": " c", "cpu_count": 4, "cpu_ram_mb": 1.5, "gpu": ["g"], "platform": "p"},
}  # fmt: skip
OPTIMUM_REPORT = {
    "load_model": {
        "memory": {"unit": "MB", "max_ram": 5.5, "max_allocated": None}, "throughput": None,
        "latency": {"unit": "s", "values": [1.5], "count": 1, "total": 1.5, "mean": 1.5, "p50": 1.5, "stdev": 0, "stdev_": 0},
    },
    "decode": {
        "memory": None, "latency": {"unit": "s", "values": [1.5, 2.5], "mean": 2}, "throughput": {"unit": "tokens/s", "value": 4},
        "energy": {"unit": "kWh", "cpu": 1},
    },
}  # fmt: skip
sample("optimum-benchmark", OPTIMUM_REPORT, name="benchmark_report.json", benchmark_config_dot_json=OPTIMUM)
MLPERF = {
    "loadgen_version": "4.0", "test_datetime": "2024-06-01T14:48:08Z", "sut_name": "S", "effective_scenario": "Server",
    "effective_test_mode": "PerformanceOnly", "effective_target_latency_ns": 5, "generic_message": "m", "loaded_qsl_set": [1, 2],
    "result_validity": "INVALID", "result_invalid_reason": "why", "result_samples_per_second": 0.5, "result_mean_latency_ns": 7,
    "result_99.00_percentile_latency_ns": 9,
}  # fmt: skip
sample("mlperf", "".join(
    f":::MLLOG {json.dumps({'key': key, 'value': value, 'time_ms': 0.5, 'metadata': {'is_error': False, 'pid': 1}})}\n"
    for key, value in MLPERF.items()
), name="mlperf_log_detail.txt", measurements_dot_json={
    "starting_weights_filename": "w", "retraining": "no", "weight_data_types": "fp16",
})  # fmt: skip
sample(
    "model-csv",
    "model,batch_size,sequence_length,result\r\nbert,8,32,0.5\r\nbert,8,128,1.5\r\n",
    name="k80_inference_time.csv",
    k80_env_dot_csv="framework,PyTorch\r\nframework_version,1.5.0\r\npython_version,3.7.5\r\nsystem,Linux\r\ncpu,x86_64\r\n",
)
NSYS = """
    CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
    INSERT INTO StringIds VALUES (1, 'add(int, float *)'), (2, 'cudaFree_v3020'), (3, 'step');
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, streamId INTEGER, correlationId INTEGER, demangledName INTEGER,
        gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 350, 7, 1, 1, 24, 1, 1, 256, 1, 1), (400, 700, 7, 2, 1, 24, 1, 1, 256, 1, 1);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, bytes INTEGER, copyKind INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (10, 60, 4096, 1);
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, nameId INTEGER, returnValue INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (5, 9, 2, 0);
    CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER);
    INSERT INTO NVTX_EVENTS VALUES (0, 800, 59, NULL, 3), (20, NULL, 34, 'mark', NULL);
    CREATE TABLE SCHED_EVENTS (start INTEGER, cpu INTEGER);
    INSERT INTO SCHED_EVENTS VALUES (1, 2);
    CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER);
    INSERT INTO TARGET_INFO_GPU VALUES (0, 'A100', 42297524224);
    CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT);
    INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('Hostname', 'node1'), ('CpuCores', '128');
    CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
    INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1684406205203098174);
"""


def database(script: str) -> bytes:
    """A SQLite database that a script makes."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(script)
        return connection.serialize()


BINARY["nsight-systems"] = {"report.sqlite": database(NSYS)}
BINARY["cuda-memory"] = {
    "snapshot.pickle": pickle.dumps(snapshot([block(0, 64, line=5)], [allocation(1, 32, line=12), free(1, 32)]))
}
TRACE = {
    "schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "G"}], "cuda_runtime_version": 12040,
    "distributedInfo": {"rank": 0, "world_size": 2}, "traceEvents": [
        {"ph": "X", "cat": "kernel", "name": "k<int>(int*, {lambda})", "pid": 0, "tid": 7, "ts": 1000.5, "dur": 1.76,
         "args": {"External id": 3, "stream": 7, "grid": [1, 1, 1], "block": [128, 1, 1]}},
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": "t", "ts": "1001", "dur": 2, "args": {"Input Dims": [[2, 3], []]}},
        {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#5", "pid": 1, "tid": 1, "ts": 900, "dur": 500.25},
        {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "ts": 1002, "pid": 1, "tid": 1,
         "args": {"Total Reserved": 64, "Total Allocated": 32, "Bytes": 8, "Device Id": 0, "Device Type": 1}},
        {"ph": "C", "name": "GPU 0 Utilization", "ts": 1003, "pid": 0, "args": {"GPU Utilization": 50, "note": "x"}},
        {"ph": "s", "id": 35, "pid": 1, "tid": 1, "ts": 1001, "cat": "ac2g", "name": "ac2g"},
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}},
    ],
    "traceName": "t.json", "displayTimeUnit": "ms", "baseTimeNanoseconds": 1727743122000000000,
}  # fmt: skip
sample("torch-trace", TRACE, name="rank-0.pt.trace.json")
TABLE = (
    "run,commit,branch,host,recorded_at,name,suite,mode,device,dtype,backend,batch_size,sequence_length,parameters,metric,"
    "statistic,phase,unit,better,value,loops,status,reason\n"
    'r1,abc,,h,2026-01-01T00:00:00,m,s,inference,cuda,float32,eager,8,,"{""tp"": 2}",latency,,steady,ns,lower,33.5,2,,\n'
    'r1,abc,,h,2026-01-01T00:00:00,m,s,inference,cuda,float32,eager,8,,"{""tp"": 2}",rss,peak,,bytes,lower,1024.0,,,\n'
    "r1,abc,,h,2026-01-01T00:00:00,n,,,,,,,,,,,,,,,,OOM,too big\n"
    "r2,,,,,m,,,,,,,128,,rate,p99,,tokens/s,higher,2.0,,,\n"
)
sample("bench-table", TABLE, name="results.csv")
sample("inferencex", [{
    "hw": "h200", "conc": conc, "image": "i:1", "model": "big", "framework": "vllm", "precision": "fp8", "isl": 1024, "osl": 512,
    "tp": 8, "disagg": False, "spec_decoding": "none", "tput_per_gpu": 100.5 * conc, "output_tput_per_gpu": 50.25, "mean_ttft": 0.5,
    "p99_tpot": 0.25, "median_e2el": 2.0, "mean_itl": 0.0, "mean_intvty": 40.0,
} for conc in (4, 16)])  # fmt: skip
sample("trtllm-bench", {
    "engine": {"model": "tiny", "model_path": "/m", "version": "1.2", "backend": "Pytorch", "dtype": "bfloat16"},
    "machine": {"name": "GPU", "memory.total": 80.0}, "world_info": {"tp_size": 2, "pp_size": 1, "issue_rate": None},
    "request_info": {"num_requests": 20, "avg_input_length": 128.0, "avg_output_length": 30.5},
    "performance": {
        "total_latency_ms": 4000.0, "avg_request_latency_ms": 800.0, "request_throughput_req_s": 5.0,
        "system_output_throughput_tok_s": 160.0, "request_latency_percentiles_ms": {"p50": 790.0, "maximum": 910.0, "average": 800.0},
    }, "streaming_metrics": {"avg_ttft_ms": 60.0, "avg_tpot_ms": 22.0, "ttft_percentiles": {"p99": 90.0}},
})  # fmt: skip
SERIES = {
    "total": 80,
    "min": 10,
    "max": 30,
    "median": 20.0,
    "avg": 20.0,
    "std_dev": 5.0,
    "percentiles": {"99": 29.0, "99.9": 30.0},
}
ENDPOINTS = {
    "version": "0.5", "git_sha": "abc", "test_started_at": 0, "n_samples_issued": 5, "n_samples_completed": 4, "n_samples_failed": 1,
    "duration_ns": 2_000_000_000, "state": "complete", "complete": True, "ttft": SERIES, "tpot": {}, "latency": {},
    "output_sequence_lengths": {"total": 160, "avg": 40.0, "percentiles": {"50.0": 41}}, "qps": 2.0, "tps": 80.0, "system_tps": 80.5,
    "run_config": {"load_pattern": {"type": "poisson", "target_qps": 2.5}, "seeds": [1]},
}  # fmt: skip
BESIDE = {
    "run_date": "2026-01-26",
    "config_summary": {"tensor_parallel": 8, "batch": None},
    "concurrency": 16,
    "ttft": 0.00002,
}
sample(
    "mlperf-endpoints",
    ENDPOINTS,
    name="tiny/r16/result_summary.json",
    tiny__r16__run_metadata_dot_json=json.dumps(BESIDE),
)
sample("sglang-one-batch", "".join(json.dumps(line) + "\n" for line in (
    {"run_name": "default", "batch_size": 8, "input_len": 1024, "output_len": 16, "prefill_latency": 0.25, "prefill_throughput": 32768.0,
     "decode_step_0_latency": 0.5, "median_decode_latency": 0.125, "median_decode_throughput": 64.0, "total_latency": 2.0,
     "overall_throughput": 4160.0},
    {"run_name": "server", "batch_size": 1, "input_len": 8, "output_len": 4, "latency": 0.5, "last_ttft": 0.0, "input_throughput": 16.0,
     "output_throughput": 8.0, "overall_throughput": 24.0, "last_gen_throughput": 10.0},
)), name="results.jsonl")  # fmt: skip
sample("llama-batched-bench", "".join(json.dumps({
    "n_kv_max": 2048, "n_batch": 512, "n_ubatch": 256, "flash_attn": 0, "is_pp_shared": 0, "n_gpu_layers": 99, "n_threads": 4,
    "n_threads_batch": 4, "pp": 128, "tg": 64, "pl": pl, "n_kv": 192 * pl, "t_pp": 0.5, "speed_pp": 256.0 * pl, "t_tg": 2.0,
    "speed_tg": 32.0 * pl, "t": 2.5, "speed": 76.8 * pl}) + "\n" for pl in (1, 2)), name="results.jsonl")  # fmt: skip
sample("hf-benchmark", {
    "metadata": {"hardware_info": {"gpu_name": "GPU", "python_version": "3.12", "torch_version": "2.9"}, "commit_id": "abc",
                 "timestamp": "2026-05-01T10:00:00"},
    "measurements": {"e2e_latency": [1.0, 1.5], "dt_tokens": [[0.25, 0.5, 0.75], [0.5]], "gpu_metrics": None},
    "config": {"name": "eager", "batch_size": 1, "sequence_length": 128, "num_tokens_to_generate": 3, "compile_mode": None},
}, name="tiny_benchmark_20260501_100000.json")  # fmt: skip
sample("torchbench-userbenchmark", {
    "name": "test_bench", "environ": {"pytorch_git_version": "abc", "pytorch_version": "2.9", "device": "GPU"},
    "metrics": {"model=resnet50, test=eval, device=cuda, bs=32, extra_args=[], metric=latencies": 12.5,
                "model=bert, test=train, device=cuda, bs=None, extra_args=['--x'], metric=gpu_peak_mem": 2.0, "overhead": 3.0,
                "alexnet-eval-amp_iter_latencies": [58.25, 58.5], "alexnet-eval-amp_cmem": 0.5},
})  # fmt: skip
BISECTED = [{
    "name": "torch-nightly", "metrics": {"test_eval[yolov3-cuda-eager]_latency": ms, "test_eval[yolov3-cuda-eager]_gmem": 2.0},
    "environ": {"pytorch_git_version": commit * 20, "pytorch_version": "2.9", "device": "GPU", "git_commit_hash": commit * 20},
} for commit, ms in (("a1", 57.25), ("b2", 63.5))]  # fmt: skip
sample("torchbench-bisection", {
    "target_repo": "pytorch", "start": "a1a1a1a", "end": "b2b2b2b", "result": [
        {"commit1": "a1a1a1a", "commit1_time": "2026-05-01 16:38:26 +0000", "commit1_digest": BISECTED[0],
         "commit2": "b2b2b2b", "commit2_time": "2026-05-01 16:41:51 +0000", "commit2_digest": BISECTED[1]},
    ],
})  # fmt: skip
sample("codspeed", {
    "creator": {"name": "codspeed-go", "version": "1", "pid": 7}, "instrument": {"type": "walltime"},
    "benchmarks": [{"name": "b", "uri": "a.go::b", "config": {"max_rounds": None}, "stats": {
        "min_ns": 100.0, "max_ns": 120.0, "mean_ns": 105.0, "stdev_ns": 3.0, "q1_ns": 102.0, "median_ns": 104.0, "q3_ns": 107.0,
        "rounds": 10, "total_time": 0.001, "iqr_outlier_rounds": 1, "stdev_outlier_rounds": 0, "iter_per_round": 100,
        "warmup_iters": 5}}],
})  # fmt: skip
sample("bencher", {
    "a": {"latency": {"value": 1500.0, "lower_value": 1400.0, "upper_value": 1650.0}},
    "b": {"latency": {"value": 2750.0}, "file-size": {"value": 12}, "mine": {"value": 5}},
})  # fmt: skip
sample("vitest", {"files": [{"filepath": "/w/a.bench.ts", "groups": [{"fullName": "a.bench.ts > sort", "benchmarks": [{
    "id": "1", "name": "quick", "rank": 1, "rme": 0.5, "samples": [0.5, 0.25], "totalTime": 0.75, "min": 0.25, "max": 0.5, "hz": 2666.0,
    "period": 0.375, "mean": 0.375, "variance": 0.03, "sd": 0.17, "sem": 0.125, "df": 1, "critical": 12.7, "moe": 1.5, "p75": 0.5,
    "p99": 0.5, "p995": 0.5, "p999": 0.5, "sampleCount": 2, "median": 0.375}]}]}]})  # fmt: skip
sample("nanobench", {"results": [{
    "title": "sort", "name": "quick", "unit": "op", "batch": 1, "complexityN": -1, "epochs": 2, "clockResolution": 2e-8, "warmup": 0,
    "relative": 0, "median(elapsed)": 5e-6, "medianAbsolutePercentError(elapsed)": 0.01, "median(instructions)": 100.0,
    "median(cpucycles)": 0, "totalTime": 0.001,
    "measurements": [{"iterations": 100, "elapsed": 4e-6}, {"iterations": 100, "elapsed": 6e-6}]}]})  # fmt: skip
sample("gungraun", {
    "version": "6", "kind": "LibraryBenchmark", "module_path": "lib::group::sort", "function_name": "sort", "id": "big", "details": "1000",
    "profiles": [{"tool": "Callgrind", "summaries": {"parts": [], "total": {"summary": {"Callgrind": {
        "Ir": {"metrics": {"Both": [{"Int": 2000}, {"Int": 1000}]}, "diffs": {}},
        "L1hits": {"metrics": {"Left": {"Int": 1500}}, "diffs": None}}}, "regressions": []}}}],
}, name="summary.json")  # fmt: skip
sample("trainer-state", {
    "best_metric": None, "epoch": 1.0, "global_step": 20, "is_world_process_zero": True, "max_steps": 20, "train_batch_size": 8,
    "log_history": [
        {"epoch": 0.5, "step": 10, "loss": 2.5, "learning_rate": 1e-4}, {"epoch": 1.0, "step": 20, "eval_loss": 2.0, "eval_runtime": 1.5},
        {"epoch": 1.0, "step": 20, "train_runtime": 40.0, "train_samples_per_second": 4.0, "train_loss": 2.25, "total_flos": 1e9},
    ],
}, name="trainer_state.json")  # fmt: skip
sample("aiperf-summary", {
    "schema_version": "1.2", "aiperf_version": "0.9.0", "start_time": "2026-05-01T10:00:00", "end_time": "2026-05-01T10:01:00",
    "request_latency": {"unit": "ms", "avg": 200.0, "p99": 220.0, "count": 40, "std": 9.5},
    "inter_token_latency": {"unit": "ms", "avg": 0.0, "p99": 0.0}, "request_throughput": {"unit": "requests/sec", "avg": 50.0},
    "request_count": {"unit": "requests", "avg": 40.0}, "error_request_count": {"unit": "requests", "avg": 0.0},
    "warmup_metrics": {"request_latency": {"unit": "ms", "avg": 2000.0}}, "was_cancelled": False, "error_summary": [],
    "input_config": {"endpoint": {"model_names": ["tiny"], "type": "chat"}, "loadgen": {"concurrency": 10},
                     "input": {"prompt": {"input_tokens": {"mean": 128}, "output_tokens": {"mean": 32.0}}}},
})  # fmt: skip
sample("aiperf-sweep", {
    "aggregation_type": "sweep", "num_profile_runs": 6, "num_successful_runs": 6, "failed_runs": [],
    "metadata": {"sweep_parameters": [{"name": "phases.profiling.concurrency", "values": [10, 20]}], "num_combinations": 2},
    "per_combination_metrics": [
        {"parameters": {"phases.profiling.concurrency": many}, "metrics": {
            "request_throughput_avg": {"mean": 10.0 * many, "std": 5.2, "ci_low": 90.0, "ci_high": 106.7, "unit": "requests/sec"},
            "time_to_first_token_p99": {"mean": 120.5, "std": 8.1, "unit": "ms"}, "output_token_throughput": {"mean": 400.0, "unit": "tokens/sec"},
            "request_latency": {"mean": 1.5, "std": 0, "unit": "sec"},
        }} for many in (10, 20)
    ],
    "best_configurations": {"best_throughput": {"parameters": {"concurrency": 20}, "metric": 200.0, "unit": "requests/sec"}},
    "pareto_optimal": [{"concurrency": 20}],
}, name="profile_export_aiperf_sweep.json")  # fmt: skip
sample("wandb-summary", {"_runtime": 12.5, "_step": 100, "_timestamp": 1777629600.5, "_wandb": {"runtime": 12},
                         "train/loss": 0.5, "mfu": 0.25, "note": "x"})  # fmt: skip
sample("serving-text", """### after the change
$ vllm bench serve --model acme/tiny --num-prompts 100

============ Serving Benchmark Result ============
Successful requests:                     100
Failed requests:                         0
Maximum request concurrency:             16
Benchmark duration (s):                  10.00
Total input tokens:                      12800
Total generated tokens:                  6400
Request throughput (req/s):              10.00
Output token throughput (tok/s):         640.00
Peak output token throughput (tok/s):    900.00
---------------Time to First Token----------------
Mean TTFT (ms):                          28.50
P99 TTFT (ms):                           58.25
---------------Inter-token Latency----------------
Mean ITL (ms):                           0.00
Median ITL (ms):                         0.00
==================================================
""", name="log.txt")  # fmt: skip
sample("triton-report", "N,Triton (GB/s),Torch (GB/s)\n256.0,512.0,341.25\n512.0,768.0,\n", name="add.csv")
sample(
    "tritonbench",
    'x_val;aten_matmul-latency;triton_matmul-latency;triton_matmul-speedup\n"(256, 256)";0.5;0.250000 (±1.50%);2.0x\n',
    name="gemm.csv",
)
sample("tritonbench-json", {
    "tritonbench_gemm_fwd[x_(256, 256)-aten_matmul]_latency": "0.5", "tritonbench_gemm_fwd[x_(256, 256)-triton_matmul]_latency": "0.25",
    "tritonbench_gemm_fwd[x_(256, 256)-triton_matmul]_speedup": 2.0, "tritonbench_gemm_fwd[x_average-triton_matmul]_speedup": 2.0,
    "tritonbench_gemm_fwd[triton_matmul]-speedup-avg": 2.0, "tritonbench_gemm_fwd-pass": 1,
}, name="gemm.json")  # fmt: skip
sample("intel-triton", "N,Triton-GB/s,XeTLA-GB/s,Triton-GB/s-min,XeTLA-GB/s-min,Triton-GB/s-max,XeTLA-GB/s-max,Triton-CV,XeTLA-CV,"
       "datetime,run_counter\n"
       "256,512.0,341.5,500.0,330.0,520.0,350.0,0.0125,0.025,2026-05-01 10:00:00.5,1\n"
       "512,768.0,630.5,760.0,620.0,780.0,640.0,0.0125,0.025,2026-05-01 10:00:00.5,1\n"
       "256,514.0,342.5,500.0,330.0,520.0,350.0,0.0125,0.025,2026-05-01 10:01:00.5,2\n", name="softmax.csv")  # fmt: skip
sample("liger", "kernel_name,kernel_provider,kernel_operation_mode,metric_name,metric_unit,x_name,x_label,x_value,y_value_50,y_value_20,"
       "y_value_80,extra_benchmark_config_str,gpu_name,timestamp,liger_version\n"
       'swiglu,liger,forward,speed,ms,T,length,1024,0.5,0.25,0.75,"{""dtype"": ""bf16""}",GPU,2026-05-01 10:00:00,0.6\n'
       'swiglu,huggingface,full,memory,MB,T,length,1024,128.0,127.0,129.0,"{}",GPU,2026-05-01 10:00:01,0.6\n', name="all.csv")  # fmt: skip
sample("mlflow", "run_id,experiment_id,status,artifact_uri,start_time,end_time,metrics.loss,metrics.tok_s,params.lr,tags.mlflow.runName,"
       "tags.mlflow.source.git.commit\n"
       "r1,1,FINISHED,file:/x,2026-05-01 10:00:00+00:00,2026-05-01 10:05:00+00:00,0.5,100.0,0.1,base,abc1234\n"
       "r2,1,FAILED,file:/x,2026-05-02 10:00:00+00:00,,,,0.2,try,abc1235\n", name="runs.csv")  # fmt: skip
sample("mlflow-page", '"Start Time","Duration","Run ID","Name","Source Type","Source Name","User","Status","batch_size","loss","tok_s"\n'
       '"2026-05-01 10:00:00","1.5min","r1","base","LOCAL","train.py","me","FINISHED","32","0.5","100.0"\n'
       '"2026-05-02 10:00:00","350ms","r2","try","LOCAL","train.py","me","FAILED","64","",""\n', name="runs.csv")  # fmt: skip
sample(
    "tensorboard",
    "Wall time,Step,Value\n1777629600.5,1,2.5\n1777629610.5,2,2.25\n",
    name="run-eager-tag-Loss_train.csv",
)
sample("wandb-chart", '"Step","eager - loss","eager - loss__MIN","eager - loss__MAX","inductor - loss"\n'
       '"1","2.5","2.5","2.5","2.25"\n"2","2.0","1.5","2.5",""\n', name="wandb_export.csv")  # fmt: skip
sample("mlperf-training", "".join(f"0: :::MLLOG {json.dumps(entry)}\n" if entry else "epoch 1\n" for entry in (
    {"time_ms": 1767225600000, "event_type": "POINT_IN_TIME", "key": "submission_benchmark", "value": "llama31_8b", "metadata": {}},
    {"time_ms": 1767225600000, "event_type": "POINT_IN_TIME", "key": "global_batch_size", "value": 32, "metadata": {}},
    {"time_ms": 1767225600100, "event_type": "INTERVAL_START", "key": "run_start", "value": None, "metadata": {}},
    None,
    {"time_ms": 1767225700100, "event_type": "POINT_IN_TIME", "key": "tracked_stats", "value": {"throughput": 100.5}, "metadata": {"step": 10}},
    {"time_ms": 1767225800100, "event_type": "POINT_IN_TIME", "key": "eval_accuracy", "value": 0.5, "metadata": {"samples_count": 640}},
    {"time_ms": 1767226600100, "event_type": "INTERVAL_END", "key": "run_stop", "value": None, "metadata": {"status": "success"}},
)), name="result_0.txt")  # fmt: skip
sample(
    "perf-stat-text",
    """
 Performance counter stats for './b' (5 runs):

          1,234.56 msec task-clock                #    0.998 CPUs utilized            ( +-  0.35% )
     4,000,000,000      cycles                    #    3.240 GHz                      ( +-  0.10% )  (62.50%)
   <not supported>      LLC-load-misses

           1.23700 +- 0.00400 seconds time elapsed  ( +-  0.32% )
""",
    name="perf.txt",
)
sample(
    "google-benchmark-text",
    """2026-05-01T10:00:00+00:00
Running ./b
Run on (4 X 2400 MHz CPU s)
-----------------------------------------------------------------------------
Benchmark                   Time             CPU   Iterations UserCounters...
-----------------------------------------------------------------------------
BM_a/8                   12.5 ns         12.0 ns     50000000 bytes_per_second=1.5Gi/s items=2k
BM_a/8                   13.5 ns         13.0 ns     50000000 bytes_per_second=1.5Gi/s items=2k
BM_a/8_mean              13.0 ns         12.5 ns            2 items=2k
BM_e                   ERROR OCCURRED: 'why'
""",
    name="log.txt",
)
sample(
    "catch2-text",
    """tests is a Catch2 v3.5.0 host application.

-------------------------------------------------------------------------------
Sort
  small
-------------------------------------------------------------------------------
a.cpp:1
...............................................................................

benchmark name                       samples       iterations    est run time
                                     mean          low mean      high mean
                                     std dev       low std dev   high std dev
-------------------------------------------------------------------------------
quick                                          100            10    1.25 ms
                                          120.5 ns       119 ns    122.25 ns
                                            7.5 ns         6 ns         9 ns

a name so long that it has
a line of its own                               20             1    1.116 s
                                            1.5 us       1 us       0.25 ms
                                            7.5 ns       6 ns         9 ns

===============================================================================
All tests passed (1 assertion in 1 test case)
""",
    name="log.txt",
)
sample(
    "catch2",
    """<?xml version="1.0" encoding="UTF-8"?>
<Catch2TestRun name="t" rng-seed="1" catch2-version="3.5.0">
  <TestCase name="Sort" filename="a.cpp" line="1">
    <Section name="small"><BenchmarkResults name="quick" samples="100" resamples="100000" iterations="10" clockResolution="20" estimatedDuration="1000">
      <mean value="120.5" lowerBound="119" upperBound="122.25" ci="0.95"/>
      <standardDeviation value="7.5" lowerBound="6" upperBound="9" ci="0.95"/>
      <outliers variance="0.5" lowMild="0" lowSevere="0" highMild="1" highSevere="2"/>
    </BenchmarkResults></Section>
    <BenchmarkResults name="bad" samples="100" resamples="1" iterations="1"><failed message="threw"/></BenchmarkResults>
  </TestCase>
</Catch2TestRun>
""",
    name="report.xml",
)
