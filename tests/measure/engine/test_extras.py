"""Beside the samples: traces of one call, as files of the store, and warm starts in a second process."""

import gzip
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bench.measure.engine.runner import Runner
from bench.measure.engine.workload import Job, Settings
from bench.measure.pytorch import inspection, profiles
from bench.measure.pytorch.warm_start import warm_calls
from bench.warehouse import recorder
from bench.warehouse.database import Warehouse
from bench.warehouse.store import Store

PROGRAM = "fake_program:FakeProgram"


def metrics(store: Path, *names: str) -> list[tuple[Any, ...]]:
    with Warehouse.open(Store(store)) as warehouse:
        return warehouse.rows(
            "SELECT backend, metric, value, original_value FROM metrics JOIN cases USING (run_id, case_id)"
            " WHERE metric IN (SELECT unnest(?)) ORDER BY backend DESC, metric", [list(names)],
        )  # fmt: skip


def measure(store: Path, workload: Any, **settings: Any) -> None:
    with recorder.run("t", store=store, source="measure") as run:
        Runner(run, Settings(repeat=5, budget_s=0.2, **settings), program=PROGRAM).measure([workload])


def test_a_trace_is_a_file_of_the_store(tmp_path: Path, workload: Any) -> None:
    """In the run's folder, named by case and backend; its path is an event."""
    measure(tmp_path, workload("eager", "odd/name"), profile=True)

    found = metrics(tmp_path, "trace")

    assert [(backend, Path(path).parent.parent) for backend, _, _, path in found] == [
        ("odd/name", tmp_path / "artefacts"),
        ("eager", tmp_path / "artefacts"),
    ]
    assert found[0][3].endswith("-odd_name")


def test_a_warm_start_is_told_beside_the_cold_one(tmp_path: Path, workload: Any) -> None:
    """Less the steady median of the same backend; the baseline compiles nothing, and nothing unasked is done."""
    measure(tmp_path, workload(), warm_start=True)
    measure(tmp_path / "unasked", workload())

    ((backend, _, value, reason),) = metrics(tmp_path, "warm_compile_latency")
    assert (backend, value is not None, reason) == ("candidate", True, None)
    assert metrics(tmp_path / "unasked", "warm_compile_latency", "trace") == []


@pytest.mark.parametrize(
    ("deeds", "reason"),
    [
        ({"candidate": "raise@1"}, "no kernel for this"),
        ({"candidate": "sigkill@1"}, "the second process ended with -9"),
        ({"load": "no such size"}, "no such size"),
    ],
)
def test_a_warm_start_that_fails_says_why(tmp_path: Path, workload: Any, deeds: dict[str, str], reason: str) -> None:
    """And judges nobody; what the model prints is no answer."""
    job = Job(
        run_id="r", store=str(tmp_path), process=0, workload=workload(**deeds), settings=Settings(), program=PROGRAM
    )

    (found,) = warm_calls(job, ["candidate"])

    assert (found.first_ns, found.reason) == (None, reason)


def test_a_profile_is_a_chrome_trace(tmp_path: Path) -> None:
    """Of one call, with the time the compiler looked for its code."""
    torch = pytest.importorskip("torch")
    x = torch.ones(3)
    path = tmp_path / "t.trace.json.gz"

    def call() -> None:
        with torch.profiler.record_function(profiles.LOOKUP):
            x.tanh()

    file, lookup = profiles.profile(torch, call, path)

    with gzip.open(path) as opened:
        names = {event.get("name") for event in json.load(opened)["traceEvents"]}
    assert "aten::tanh" in names
    assert (file.name, file.text, file.value) == ("profile_trace", str(path), path.stat().st_size)
    assert lookup.name == "cache_lookup_latency"


def test_a_snapshot_of_memory_is_a_gpus(tmp_path: Path) -> None:
    """Recorded over one call and no longer; a CPU gets the reason."""
    said: list[str] = []
    path = tmp_path / "t.snapshot.pickle"
    memory = SimpleNamespace(
        _record_memory_history=lambda **how: said.append(f"record {how}"),
        _dump_snapshot=lambda file: Path(file).write_bytes(b"123"),
    )
    fake = SimpleNamespace(cuda=SimpleNamespace(memory=memory, synchronize=lambda: said.append("synchronize")))

    (found,) = profiles.memory_snapshot(fake, lambda: said.append("call"), path, "cuda:0")
    (none,) = profiles.memory_snapshot(fake, lambda: None, path, "cpu")

    assert said == ["record {}", "call", "synchronize", "record {'enabled': None}"]
    assert (found.value, found.text) == (3, str(path))
    assert (none.value, none.text) == (None, "torch takes snapshots of a GPU's memory only")


def test_what_a_model_consists_of_is_a_file(tmp_path: Path) -> None:
    """Operators with their inputs, each kind once, and how often; graphs as captured and as ATen, and their operators."""
    torch = pytest.importorskip("torch")
    module, x = torch.nn.Linear(2, 2), torch.ones(3, 2)
    torch._dynamo.reset()

    with torch.no_grad():
        kinds, *totals = inspection.operators(torch, lambda: (module(x), module(x)), tmp_path / "operators")
    graphs, *calls = inspection.graphs(
        lambda backend: torch.compile(module, backend=backend)(x).sum().backward(), tmp_path / "graphs"
    )

    assert {fact.name: fact.value for fact in totals}["operator:aten.addmm.default"] == 2
    assert "2 aten.addmm.default(float32[2], float32[3, 2], float32[2, 2])\n" in (tmp_path / "operators").read_text()
    assert (kinds.value, graphs.value) == (len((tmp_path / "operators").read_text().splitlines()), 1)
    assert {"# as captured", "# ATen", "# ATen, backward"} <= set((tmp_path / "graphs").read_text().splitlines())
    found = {fact.name: fact.value for fact in calls}
    assert (found["graph_operator:aten.addmm.default"], found["graph_operator:aten.mm.default"]) == (1, 1)
