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

from ...builders import stored
from ...exhaustive import first_of
from ...ingest.formats.snapshots import MIB, allocation, block, free, snapshot
from ..fake_program import KERNEL_NS

PROGRAM = "fake_program:FakeProgram"


def metrics(store: Path, *names: str) -> list[tuple[Any, ...]]:
    return stored(
        "SELECT backend, metric, value, original_value FROM metrics JOIN cases USING (run_id, case_id)"
        " WHERE metric IN (SELECT unnest(?)) ORDER BY backend DESC, metric", store, [list(names)],
    )  # fmt: skip


def measure(store: Path, workload: Any, **settings: Any) -> None:
    with recorder.run("t", store=store, source="measure") as run:
        Runner(run, Settings(repeat=5, budget_s=0.2, **settings), program=PROGRAM).measure([workload])


@pytest.mark.exhaustive
def test_a_trace_is_a_file_of_the_store(tmp_path: Path, workload: Any) -> None:
    """In the run's folder, named by case and backend; its path is an event."""
    measure(tmp_path, workload("eager", "odd/name"), profile=True)

    found = metrics(tmp_path, "trace")

    assert [(backend, Path(path).parent.parent) for backend, _, _, path in found] == [
        ("odd/name", tmp_path / "artefacts"),
        ("eager", tmp_path / "artefacts"),
    ]
    assert found[0][3].endswith("-odd_name")


@pytest.mark.exhaustive
def test_the_share_of_kernels_is_of_a_call_that_nobody_profiles(tmp_path: Path, workload: Any) -> None:
    """The profiler slows what launches them, not the kernels."""
    measure(tmp_path, workload(), profile=True)

    shares = {backend: value for backend, _, value, _ in metrics(tmp_path, "kernel_share")}
    medians = dict(stored("SELECT backend, median FROM cells WHERE metric = 'latency' AND phase = 'steady'", tmp_path))
    assert shares == {backend: pytest.approx(KERNEL_NS / median, rel=1e-3) for backend, median in medians.items()}


@pytest.mark.exhaustive
def test_a_warm_start_is_told_beside_the_cold_one(tmp_path: Path, workload: Any) -> None:
    """Less the steady median of the same backend; the baseline compiles nothing, and nothing unasked is done."""
    measure(tmp_path, workload(), warm_start=True)
    measure(tmp_path / "unasked", workload())

    ((backend, _, value, reason),) = metrics(tmp_path, "warm_compile_latency")
    assert (backend, value is not None, reason) == ("candidate", True, None)
    assert metrics(tmp_path / "unasked", "warm_compile_latency", "trace") == []


@pytest.mark.parametrize(
    ("deeds", "reason"),
    first_of(
        1,
        [
            ({"candidate": "raise@1"}, "RuntimeError: no kernel for this"),
            ({"candidate": "sigkill@1"}, "the second process ended with -9"),
            ({"load": "no such size"}, "ValueError: no such size"),
        ],
    ),
)
def test_a_warm_start_that_fails_says_why(tmp_path: Path, workload: Any, deeds: dict[str, str], reason: str) -> None:
    """And judges nobody; what the model prints is no answer."""
    job = Job(
        run_id="r", store=str(tmp_path), process=0, workload=workload(**deeds), settings=Settings(), program=PROGRAM
    )

    (found,) = warm_calls(job, ["candidate"])

    assert (found.first_ns, found.reason) == (None, reason)


@pytest.mark.exhaustive
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
        _snapshot=lambda: snapshot([block(0, 64, line=5)], [allocation(1, 32, line=12), free(1, 32)]),
    )
    fake = SimpleNamespace(cuda=SimpleNamespace(memory=memory, synchronize=lambda: said.append("synchronize")))

    found, *live = profiles.memory_snapshot(fake, lambda: said.append("call"), path, "cuda:0")
    (none,) = profiles.memory_snapshot(fake, lambda: None, path, "cpu")

    assert said == ["record {}", "call", "synchronize", "record {'enabled': None}"]
    assert (found.value, found.text) == (3, str(path))
    assert {(fact.name, fact.value) for fact in live} == {("live_at_peak", 64 * MIB), ("live_at_peak", 32 * MIB)}
    assert (none.value, none.text) == (None, "torch takes snapshots of a GPU's memory only")


@pytest.mark.exhaustive
def test_what_a_model_consists_of_is_a_file(tmp_path: Path) -> None:
    """Operators with their inputs, each kind once, and how often; graphs as captured and as ATen, and their operators."""
    torch = pytest.importorskip("torch")
    module, x = torch.nn.Linear(2, 2), torch.ones(3, 2)
    torch._dynamo.reset()

    with torch.no_grad():
        kinds, *totals = inspection.operators(
            torch, lambda: (module(x), module(x)), tmp_path / "operators", lambda: None
        )

    def step_by(backend: Any) -> Any:
        compiled = torch.compile(module, backend=backend)
        return lambda: compiled(x).sum().backward()

    graphs, *calls = inspection.graphs(step_by, tmp_path / "graphs", lambda: None)

    assert {fact.name: fact.value for fact in totals}["operator:aten.addmm.default"] == 2
    assert "2 aten.addmm.default(float32[2], float32[3, 2], float32[2, 2])\n" in (tmp_path / "operators").read_text()
    assert (kinds.value, graphs.value) == (len((tmp_path / "operators").read_text().splitlines()), 1)
    assert {"# as captured", "# ATen", "# ATen, backward"} <= set((tmp_path / "graphs").read_text().splitlines())
    found = {fact.name: fact.value for fact in calls}
    assert (found["graph_operator:aten.addmm.default"], found["graph_operator:aten.mm.default"]) == (1, 1)


def span(name: str, start: float, end: float, device: str = "DeviceType.CUDA") -> SimpleNamespace:
    """An event of torch's profiler, in µs."""
    return SimpleNamespace(name=name, device_type=device, time_range=SimpleNamespace(start=start, end=end))


def test_the_times_of_kernels_add_up_to_the_time_in_which_any_ran() -> None:
    """The common time of two streams counts once; work of the host is no kernel."""
    events = [
        span("gemm", 0, 40),
        span("copy", 30, 50),
        span("gemm", 60, 99),
        span("aten::mm", 0, 90, "DeviceType.CPU"),
    ]

    found = {fact.name: fact.value for fact in profiles.kernel_times(events)}

    assert found == {"kernel_time": 89_000, "kernel:copy": 20_000, "kernel:gemm": 79_000}


def test_a_profile_without_kernels_has_no_time_of_them() -> None:
    """None with the reason, not 0."""
    (found,) = profiles.kernel_times([span("aten::mm", 0, 90, "DeviceType.CPU")])

    assert (found.value, found.text) == (None, "the profiler saw no kernel of a GPU")


@pytest.mark.exhaustive
def test_energy_is_a_metric_of_each_backend(tmp_path: Path, workload: Any) -> None:
    """On request; where the device does not tell it there is the reason, and no number."""
    measure(tmp_path, workload(), energy=True)
    measure(tmp_path / "unasked", workload())

    assert metrics(tmp_path, "gpu_energy", "gpu_power") == [
        (backend, "gpu_energy", None, "the energy of a CPU is not read") for backend in ("eager", "candidate")
    ]
    assert metrics(tmp_path / "unasked", "gpu_energy") == []


@pytest.mark.exhaustive
def test_graphs_cover_a_share_of_calls_and_of_time(tmp_path: Path) -> None:
    """A graph break leaves two graphs, whose forward and backward are inside; what comes between and after them is not."""
    torch = pytest.importorskip("torch")
    weight = torch.randn(8, 8, requires_grad=True)

    def model(x: Any) -> Any:
        y = torch.relu(x @ weight)
        torch._dynamo.graph_break()
        return y.tanh()

    def step_by(backend: Any) -> Any:
        compiled = torch.compile(model, backend=backend)
        return lambda: compiled(torch.ones(4, 8)).exp().mean().backward()

    torch._dynamo.reset()
    facts = inspection.graphs(step_by, tmp_path / "graphs", lambda: None)
    found = {fact.name: fact.value for fact in facts if fact.value is not None}

    assert (found["graphs"], found["graph_calls"]) == (2, 4)  # each forward and backward
    assert 0 < found["captured_ops"] < found["total_ops"]
    assert found["captured_ops_share"] == found["captured_ops"] / found["total_ops"]
    assert 0 < found["captured_time_share"] < 1
    assert found["graph_operator_time:aten.mm.default"] > 0
    assert "graph_operator_time:aten.exp.default" not in found
