"""Damage to the other files of formats that have several kinds: `samples.py` holds one of each format."""

import random
from pathlib import Path
from typing import Any

import pytest
from bench.ingest.registry import find_format

from ...exhaustive import first_of
from . import fuzz
from .reading import lay, read_file, recognised
from .samples import GENAI_SUMMARY, LLMPERF, OPTIMUM, OPTIMUM_REPORT

KINDS: dict[str, tuple[str, dict[str, Any]]] = {  # format and files, the one to read first
    "vllm latency": ("vllm", {"a.json": {"avg_latency": 1.5, "latencies": [1.0, 2.0], "percentiles": {"10": 1.1, "99": 1.9}}}),
    "vllm throughput": ("vllm", {"a.json": {
        "elapsed_time": 2, "num_requests": 4, "total_num_tokens": 9, "requests_per_second": 2.0, "tokens_per_second": 50.0,
    }}),
    "vllm failure": ("vllm", {"a.failure.json": {
        "run_number": 1, "error_type": "E", "error": "why", "serve_overrides": {"a": 1}, "bench_overrides": {"model": "m"},
    }}),
    "genai-perf summary": ("genai-perf", {"a_genai_perf.json": GENAI_SUMMARY}),
    "genai-perf csv": ("genai-perf", {
        "a.csv": 'Metric,avg,min,max,p99\nTime To First Token (ms),"1,146.31",249.48,3,4\n\n'
        "Metric,Value\nRequest Count (count),40.00\n\n"
        "Metric,GPU,Value\nTotal GPU Memory (GB),gpu0,85.02\n",
    }),
    "llmperf summary": ("llmperf", {"m_summary.json": LLMPERF}),
    "optimum-benchmark config": ("optimum-benchmark", {"benchmark_config.json": OPTIMUM}),
    "optimum-benchmark both": ("optimum-benchmark", {"benchmark.json": {"config": OPTIMUM, "report": OPTIMUM_REPORT}}),
    "optimum-benchmark csv": ("optimum-benchmark", {
        "a.csv": "config.name,config.backend.model,report.decode.memory.max_ram,report.decode.latency.unit,"
        "report.decode.latency.values\n"
        'e,m,5.5,s,"[1.5, 2.5]"\n',
    }),
    "mlperf summary": ("mlperf", {
        "a.txt": "======\nMLPerf Results Summary\n======\nSUT name : S\nScenario : Offline\nMode     : PerformanceOnly\n"
        "Samples per second: 0.5\nResult is : INVALID\n  Min duration satisfied : Yes\nRecommendations:\n * Run longer.\n\n"
        "Min latency (ns)                : 5\n99.00 percentile latency (ns)   : 7\n\nmin_duration (ms): 0\n"
        "No warnings encountered during test.\n",
    }),
    "mlperf submission": ("mlperf", {
        "measurements.json": {"starting_weights_filename": "w", "retraining": "no", "weight_data_types": "fp16"},
    }),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_of_one_format_and_loads_whole(tmp_path: Path, kind: str) -> None:
    """As it is."""
    name, files = KINDS[kind]
    lay(tmp_path, files)
    path = tmp_path / next(iter(files))

    assert recognised(path) == [name]
    read = read_file(find_format(name), path)
    assert read.tally.loaded == read.tally.lines > 0


@pytest.mark.parametrize("kind", first_of(3, KINDS))
def test_damage_raises_nothing(tmp_path: Path, kind: str) -> None:
    """A hundred ways; every record is accounted for."""
    damage(tmp_path, kind, inputs=100, seed=1)


def damage(folder: Path, kind: str, inputs: int, seed: int) -> None:
    """Read so many damaged files of a kind; what raises says which one."""
    name, files = KINDS[kind]
    lay(folder, files)
    path = folder / next(iter(files))
    whole = path.read_bytes()
    for index in range(inputs):
        rng = random.Random(f"{seed} {kind} {index}")
        mutation = rng.choice(fuzz.MUTATIONS)
        path.write_bytes(mutation(whole, rng) or b" ")
        try:
            fuzz.check(find_format(name), path, path.name)
        except Exception as error:
            error.add_note(f"{kind}, input {index} of seed {seed}: {mutation.__name__}; {path.read_bytes()[:1000]!r}")
            raise
