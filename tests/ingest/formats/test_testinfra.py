"""pytorch/test-infra records: lists, objects and lines; jobs as runs."""

import json
from pathlib import Path
from typing import Any

import pytest
from bench.ingest.registry import find_format
from bench.warehouse.events import CaseRecord, Environment, Metric

from .reading import Read, lay, read, read_file


def record(metric: Any = "latency(ms)", values: Any = (1.5, 2.5), **fields: Any) -> dict[str, Any]:
    """One record."""
    extra = {"device": "cuda", "dynamic": True}
    return {
        "benchmark": {"name": "suite", "mode": "inference", "dtype": "bfloat16", "extra_info": extra},
        "model": {"name": "llama", "type": "llm", "backend": "inductor", "extra_info": {"quant": "int8", "loss": 0.5}},
        "metric": {"name": metric, "benchmark_values": values},
    } | fields  # fmt: skip


JOB: dict[str, Any] = {
    "timestamp": 1714979289, "repo": "pytorch/pytorch", "head_branch": "main", "head_sha": "abc", "workflow_id": 1,
    "run_attempt": 1, "job_id": 2, "schema_version": "v3", "dependencies": {"torch": {"version": "2.9"}},
    "runners": [{"name": "r1", "type": "h100", "gpu_info": "H100", "cpu_count": 96}],
}  # fmt: skip


def load(content: object) -> Read:
    """Read records."""
    return read("test-infra", content)


def test_a_record_is_a_metric_of_a_model() -> None:
    """The unit in its name is a unit; axes go to their columns, else to the parameters."""
    got = load([record()])

    (case,) = got.of(CaseRecord)
    assert (case.name, case.suite, case.mode, case.dtype, case.device, case.backend) == (
        "llama", "suite", "inference", "bfloat16", "cuda", "inductor",
    )  # fmt: skip
    assert json.loads(case.parameters or "") == {"type": "llm", "benchmark.dynamic": True, "model.quant": "int8"}
    values = [m for m in got.of(Metric) if m.metric == "latency"]
    assert [(m.value, m.unit, m.statistic) for m in values] == [(1.5e6, "ns", None), (2.5e6, "ns", None)]
    assert json.loads(got.metrics()["fields"]) == {"model": {"extra_info": {"loss": 0.5}}}


@pytest.mark.parametrize("text", [record(), [record()], f"{json.dumps(record())}\n\n{json.dumps(record('x'))}\n"])
def test_an_object_a_list_or_lines(text: object) -> None:
    """Whichever way it was uploaded."""
    assert load(text).accounting[2] == 0


def test_lines_may_hold_lists() -> None:
    """One upload a line, each a list of records; a broken line is one reject."""
    got = load(f"{json.dumps([record(), record('x')])}\n[broken\n{json.dumps([record('y')])}\n")

    assert got.accounting == (4, 3, 1)
    assert got.rejects()[0][0] == 3


def test_a_broken_line_leaves_the_others() -> None:
    """It is a reject with its text."""
    got = load(f"{json.dumps(record())}\n{{broken\n{json.dumps(record('x'))}\n")

    assert got.accounting == (3, 2, 1)
    assert got.rejects()[0][0] == 2


def test_a_job_is_a_run() -> None:
    """With commit, branch, time and machine; records of another job are of another run, and may be mixed."""
    other = JOB | {"head_sha": "def"}
    got = load([record(**JOB), record("x", **other), record("y", **JOB)])

    assert [(run.git_commit, run.git_branch, run.started_at, run.host) for run in got.runs] == [
        ("abc", "main", 1714979289000000, "r1"), ("def", "main", 1714979289000000, "r1"),
    ]  # fmt: skip
    environment = got.of(Environment)[0]
    assert (environment.gpus, environment.torch, environment.logical_cores) == (["H100"], "2.9", 96)
    runs = {m.metric: m.run_id for m in got.of(Metric) if m.value is not None}
    assert runs["latency"] == runs["y"] != runs["x"]


def test_records_without_a_job_are_of_the_folders_run() -> None:
    """Its files are one run then."""
    got = load([record()])

    assert (got.runs, got.tally.shares) == ([], {})


def test_records_that_are_known_are_counted(tmp_path: Path) -> None:
    """A job's records found again in another file are known."""
    lay(tmp_path, {"a.json": [record(**JOB)], "b.json": [record(**JOB), record("x", **(JOB | {"job_id": 3}))]})
    claimed: set[str] = set()
    kind = find_format("test-infra")
    reads = [read_file(kind, tmp_path / name, claimed=claimed) for name in ("a.json", "b.json")]

    assert [(got.tally.loaded, got.tally.known) for got in reads] == [(1, 0), (1, 1)]


def test_wrong_types_are_rejects() -> None:
    """A record without metric or with broken inputs."""
    got = load([record(), record(metric=None), record(values=5), record(model={"name": 5}), 7])

    assert got.accounting == (5, 1, 4)
