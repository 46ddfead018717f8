"""The block of a sample: the process, fork or repetition that it shares with others."""

from typing import Any

import pytest
from bench.warehouse.events import Metric, Timing

from .reading import Read, read


def blocks(got: Read, metric: str = "latency") -> list[tuple[int | None, int | None]]:
    """Block and sample of each sample, of timings and of metrics without a statistic."""
    timed = [(one.block, one.sample) for one in got.of(Timing) if one.metric == metric and one.phase == "steady"]
    return timed + [(one.block, one.sample) for one in got.of(Metric) if one.metric == metric and one.statistic is None]


def google_benchmark(*repetitions: dict[str, Any]) -> dict[str, Any]:
    """Repetitions of one benchmark."""
    entry = {"name": "BM_a", "run_type": "iteration", "iterations": 10, "time_unit": "ns", "cpu_time": 1.0}
    context = {"date": "2026-05-01T10:00:00+00:00", "num_cpus": 4}
    return {"context": context, "benchmarks": [entry | {"real_time": 100.0} | one for one in repetitions]}


PYPERF = {
    "version": "1.0", "metadata": {"name": "bench", "loops": 4},
    "benchmarks": [{"runs": [{"values": [0.5, 0.25]}, {"values": [0.75, 0.5]}]}],
}  # fmt: skip
JMH = [{
    "jmhVersion": "1.37", "benchmark": "a.B.c", "mode": "thrpt",
    "primaryMetric": {"score": 5.0, "scoreUnit": "ops/s", "rawData": [[5.0, 6.0], [5.5]]},
}]  # fmt: skip
HYPERFINE = {"results": [{"command": "a", "mean": 0.5, "times": [0.5, 0.25, 0.75]}]}
PYTEST_BENCHMARK = {"benchmarks": [{"fullname": "a", "stats": {"rounds": 2, "iterations": 4, "data": [0.5, 0.25]}}]}
LLAMA_BENCH = [{
    "model_filename": "a.gguf", "model_type": "tiny", "n_prompt": 8, "n_gen": 0, "avg_ts": 7.5, "avg_ns": 10,
    "samples_ns": [10, 12],
    "samples_ts": [8.0, 7.0],
}]  # fmt: skip
GO = "goos: linux\nBenchmarkA-4 10 5.0 ns/op\nBenchmarkB-4 10 5.0 ns/op\nBenchmarkA-4 10 6.0 ns/op\n"


@pytest.mark.parametrize(
    ("kind", "content", "metric", "expected"),
    [
        ("pyperf", PYPERF, "latency", [(0, 0), (0, 1), (1, 2), (1, 3)]),
        ("jmh", JMH, "throughput", [(0, 0), (0, 1), (1, 0)]),
        ("hyperfine", HYPERFINE, "latency", [(0, 0), (1, 1), (2, 2)]),
        ("pytest-benchmark", PYTEST_BENCHMARK, "latency", [(0, 0), (0, 1)]),
        ("llama-bench", LLAMA_BENCH, "latency", [(0, 0), (1, 1)]),
        ("llama-bench", LLAMA_BENCH, "throughput", [(0, 0), (1, 1)]),
        ("google-benchmark", google_benchmark({"repetition_index": 1}, {"repetition_index": 0}), "latency", [(1, 1), (0, 0)]),
        ("google-benchmark", google_benchmark({}, {}), "latency", [(0, 0), (1, 1)]),
        ("google-benchmark", google_benchmark({}, {}), "cpu_time", [(0, 0), (1, 1)]),
        ("go-test", GO, "latency", [(0, 0), (0, 0), (1, 1)]),
    ],
)  # fmt: skip
def test_a_process_fork_or_repetition_is_a_block(
    kind: str, content: object, metric: str, expected: list[tuple[int, int]]
) -> None:
    """Each independent measurement has its own number; samples of one process share theirs."""
    assert expected == blocks(read(kind, content), metric)


def test_many_samples_have_the_blocks_that_few_have() -> None:
    """Arrays of samples are made at once, but say the same."""
    times = [0.5] * 300
    got = read("hyperfine", {"results": [{"command": "a", "mean": 0.5, "times": times}]})

    assert [(index, index) for index in range(300)] == blocks(got)
