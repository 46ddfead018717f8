"""optimum-benchmark: targets of an experiment, folders of them, tables, and experiments that failed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench.ingest.run import IngestReport
from bench.warehouse.events import CaseRecord, MemorySample

from .reading import lay, read, recognised

Rows = Callable[[str], list[tuple[Any, ...]]]

CONFIG = {
    "name": "exp", "backend": {
        "name": "pytorch", "version": "2.4.1", "_target_": "x.PyTorchBackend", "model": "llama", "task": "text-generation",
        "device": "cuda", "device_ids": "0", "torch_dtype": "float16", "quantization_scheme": "awq", "torch_compile": False,
        "seed": 42,
    },
    "scenario": {
        "name": "inference", "_target_": "x.InferenceScenario", "iterations": 10,
        "input_shapes": {"batch_size": 2, "sequence_length": 64, "num_choices": 3}, "generate_kwargs": {"max_new_tokens": 8},
    },
    "launcher": {"name": "process", "_target_": "x.ProcessLauncher"},
    "environment": {
        "cpu": " EPYC", "cpu_count": 8, "cpu_ram_mb": 1000.5, "platform": "Linux-6", "machine": "x86_64",
        "python_version": "3.11", "gpu": ["A100"], "optimum_benchmark_version": "0.5.0",
    },
}  # fmt: skip
REPORT = {
    "load_model": {
        "memory": {"unit": "MB", "max_ram": 5534.732288, "max_allocated": 7372.498432, "max_reserved": None},
        "latency": {"unit": "s", "values": [11.5], "count": 1, "total": 11.5, "mean": 11.5, "p50": 11.5, "stdev": 0, "stdev_": 0},
        "throughput": None, "energy": None, "efficiency": None,
    },
    "decode": {
        "memory": None,
        "latency": {"unit": "s", "values": [1.5, 2.5], "count": 2, "total": 4.0, "mean": 2.0, "p99": 2.49, "stdev": 0.5,
                    "stdev_": 25},
        "throughput": {"unit": "tokens/s", "value": 43.5}, "energy": {"unit": "kWh", "cpu": 0.5, "total": 1.5},
        "efficiency": {"unit": "tokens/kWh", "value": 7.0},
    },
}  # fmt: skip


def test_a_target_is_a_case_of_the_model() -> None:
    """The config beside the report says which; settings that are off are no axes."""
    got = read("optimum-benchmark", REPORT, "benchmark_report.json", beside={"benchmark_config.json": CONFIG})

    assert (got.names, got.accounting) == (["llama", "llama"], (2, 2, 0))
    first, second = got.of(CaseRecord)
    assert (first.mode, first.device, first.dtype, first.backend) == ("inference", "cuda", "float16", "pytorch")
    assert (first.batch_size, first.sequence_length) == (2, 64)
    assert json.loads(second.parameters or "") == {
        "target": "decode", "task": "text-generation", "quantization_scheme": "awq", "input_shapes.num_choices": 3,
        "generate_kwargs.max_new_tokens": 8,
    }  # fmt: skip


def test_measurements() -> None:
    """Values are timings, statistics aggregates, peaks are memory, and the rest has its unit."""
    got = read("optimum-benchmark", REPORT, "benchmark_report.json")

    assert got.samples() == [(11_500_000_000, 1), (1_500_000_000, 1), (2_500_000_000, 1)]
    metrics = got.metrics()
    assert (metrics["latency_mean"], metrics["latency_p99"], metrics["latency_cv"]) == (
        (2e9, "ns"),
        (2.49e9, "ns"),
        (25.0, "%"),
    )
    assert (metrics["throughput"], metrics["energy_total"]) == ((43.5, "tokens/s"), (1.5, "kWh"))
    assert [got.better()[name] for name in ("throughput", "energy_cpu", "efficiency", "latency_total")] == [
        "higher", "lower", "higher", None,
    ]  # fmt: skip
    assert [(peak.source, peak.size_bytes) for peak in got.of(MemorySample)] == [
        ("rss", 5_534_732_288), ("cuda_allocated", 7_372_498_432),
    ]  # fmt: skip


def test_the_machine_is_the_environment() -> None:
    """Also torch, whose version the backend has."""
    got = read("optimum-benchmark", {"config": CONFIG, "report": REPORT}, "benchmark.json")

    machine = got.environment
    assert (machine.cpu, machine.logical_cores, machine.ram_bytes, machine.gpus) == ("EPYC", 8, 1_000_500_000, ["A100"])
    assert (machine.torch, machine.python, machine.architecture) == ("2.4.1", "3.11", "x86_64")


def test_a_config_without_report_failed() -> None:
    """Of which the folder holds nothing else."""
    got = read("optimum-benchmark", CONFIG, "benchmark_config.json")

    assert (got.names, got.outcomes()) == (["llama"], [("fail_to_run", "there is a config, but no report: it failed")])


def test_a_folder_says_it_once(tmp_path: Path, load: Callable[..., IngestReport], rows: Rows) -> None:
    """Though three files hold it; experiments below are of the same run."""
    lay(tmp_path, {
        "sweep/0/benchmark_config.json": CONFIG, "sweep/0/benchmark_report.json": REPORT,
        "sweep/0/benchmark.json": {"config": CONFIG, "report": REPORT},
        "sweep/1/benchmark_config.json": CONFIG | {"backend": CONFIG["backend"] | {"model": "other"}},  # type: ignore[operator]
    })  # fmt: skip

    load(tmp_path / "sweep")

    assert rows("SELECT name, parameters ->> 'target', status FROM case_outcomes ORDER BY 1, 2") == [
        ("llama", "decode", "ok"), ("llama", "load_model", "ok"), ("other", None, "fail_to_run"),
    ]  # fmt: skip
    assert rows("SELECT count(*), count(DISTINCT run_id) FROM timings") == [(3, 1)]


def flat(value: Any, above: str = "") -> dict[str, Any]:
    """As pandas makes columns of it."""
    if not isinstance(value, dict):
        return {above: value}
    return {key: one for name, inner in value.items() for key, one in flat(inner, f"{above}.{name}".strip(".")).items()}


def table(document: Any) -> str:
    """A CSV of a row."""
    columns = flat(document)
    cells = ["" if value is None else f'"{value}"' for value in columns.values()]
    return f"{','.join(columns)}\n{','.join(cells)}\n"


def test_a_table_says_the_same_as_the_document() -> None:
    """Cells are values: numbers, lists, True and nothing."""
    document = {"config": CONFIG, "report": REPORT}
    left = read("optimum-benchmark", document, "benchmark.json")
    right = read("optimum-benchmark", table(document), "benchmark.csv")

    assert [case.case_id for case in left.of(CaseRecord)] == [case.case_id for case in right.of(CaseRecord)]
    assert left.samples() == right.samples()
    assert [peak.size_bytes for peak in left.of(MemorySample)] == [peak.size_bytes for peak in right.of(MemorySample)]


@pytest.mark.parametrize(
    ("text", "reason"), [("1\n", "1 column under a header of"), ('"x', "not valid CSV: unexpected end of data")]
)
def test_a_broken_row_is_a_reject(text: str, reason: str) -> None:
    """The others load."""
    got = read("optimum-benchmark", table({"report": REPORT}) + text, "benchmark.csv")

    ((_, said),) = got.rejects()
    assert said.startswith(reason)


def test_what_measures_something_else_is_not_recognised(tmp_path: Path) -> None:
    """A latency alone makes no report."""
    lay(tmp_path, {"a.json": {"decode": {"latency": {"mean": 1}}}})

    assert recognised(tmp_path / "a.json") == []
