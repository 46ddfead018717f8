"""pyperf: workers, warm-ups, loops, units other than seconds."""

import gzip
import json
from typing import Any

from bench.warehouse.events import MemorySample, Metric, Timing

from .reading import read

SUITE = {
    "hostname": "box", "cpu_count": 4, "cpu_model_name": "A CPU", "platform": "Linux", "python_version": "3.12",
    "aslr": "Full", "perf_version": "2.6", "boot_time": "2024-01-01 00:00:00", "unit": "second", "inner_loops": 10,
    "name": "suite",
}  # fmt: skip


def worker(*values: object, **fields: Any) -> dict[str, Any]:
    """One process."""
    return {
        "metadata": {"date": "2024-05-06 07:08:09.5", "mem_max_rss": 1000, "cpu_freq": "1 GHz"},
        "values": values,
    } | fields


def document(*benchmarks: object, **suite: Any) -> dict[str, Any]:
    """A file."""
    return {"benchmarks": list(benchmarks), "metadata": SUITE | suite, "version": "1.0"}


CALIBRATION = {"metadata": {"date": "2024-05-06 07:08:08"}, "warmups": [[1, 1e-4], [2, 1e-4]]}
BENCHMARK = {
    "metadata": {"name": "b", "loops": 8},
    "runs": [CALIBRATION, worker(1e-6, 2e-6, warmups=[[8, 3e-6]]), worker(1e-6)],
}


def test_values_are_timings_of_all_loops_by_process() -> None:
    """Outer times inner loops; samples are numbered over the workers."""
    got = read("pyperf", document(BENCHMARK))

    steady = [timing for timing in got.of(Timing) if timing.phase == "steady"]
    assert [(t.duration_ns, t.loops, t.process, t.sample) for t in steady] == [
        (80_000, 80, 1, 0), (160_000, 80, 1, 1), (80_000, 80, 2, 2),
    ]  # fmt: skip
    assert (got.names, got.runs[0].started_at) == (["b"], 1714979288000000)
    assert steady[0].recorded_at == 1714979289500000


def test_warmups_and_calibration_are_no_samples() -> None:
    """They are a phase of their own, with the loops each says."""
    got = read("pyperf", document(BENCHMARK))

    assert got.samples(phase="warmup") == [(1_000_000, 10), (2_000_000, 20), (240_000, 80)]


def test_the_machine_is_the_environment() -> None:
    """Facts that differ between processes stay with the case."""
    got = read("pyperf", document(BENCHMARK))

    assert (got.environment.cpu, got.environment.os, got.runs[0].host) == ("A CPU", "Linux", "box")
    assert json.loads(got.environment.extra or "") == {"aslr": "Full"}
    assert got.tags == {"metadata": {"boot_time": "2024-01-01 00:00:00", "perf_version": "2.6"}, "version": "1.0"}
    assert [sample.size_bytes for sample in got.of(MemorySample)] == [1000, 1000]
    assert json.loads(got.metrics()["fields"]) == {"metadata": {"cpu_freq": "1 GHz"}}


def test_bytes_are_no_durations() -> None:
    """Memory measured with pyperf is a metric in bytes, where less is better."""
    got = read("pyperf", document({"metadata": {"name": "m"}, "runs": [worker(5000)]}, unit="byte"))

    (metric,) = [metric for metric in got.of(Metric) if metric.metric == "memory"]
    assert (metric.value, metric.unit, metric.better, metric.statistic) == (5000.0, "bytes", "lower", None)
    assert not got.of(Timing)


def test_the_name_may_stand_with_the_suite() -> None:
    """A file of one benchmark keeps it there; without any, the record is a reject."""
    bare = {"runs": [worker(1e-6)]}
    assert read("pyperf", document(bare)).names == ["suite"]
    assert read("pyperf", document(bare, name=None)).rejects() == [(1, "no name")]


def test_packed_files_are_read() -> None:
    """By content: the name does not matter."""
    got = read("pyperf", gzip.compress(json.dumps(document(BENCHMARK)).encode()), name="x")

    assert got.accounting == (1, 1, 0)
