"""Training steps: every step of a script is a sample with its phases, whatever the loop looks like and however it ends."""

import copy
import json
import math
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import bench
import pytest
import torch
from bench.cli import cli
from bench.measure.training import recording
from bench.measure.training.flops import counting, known_peak
from bench.measure.training.phases import BACKWARD, DATA_WAIT, END, OPTIMIZER, Moments, durations, watch
from bench.warehouse.errors import BenchError
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from ...builders import stored
from ...exhaustive import exhaustive, first_of

SCRIPT = """
import bench, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.Adam(model.parameters())
loader = DataLoader(TensorDataset(torch.randn(512, 64), torch.randint(0, 10, (512,))), batch_size=16)
for epoch in range(3):
    for x, y in bench.steps(loader, tokens=16, peak_flops=1e12):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
"""
WITHOUT_TORCH = """
import sys, bench
import time
for batch in bench.steps(range(5), tokens=2):
    sum(range(1000))
for _ in range(4):
    bench.step(name="marked")
sys.exit("torch" in sys.modules)
"""
FORKED = """
import os, bench
for number in bench.steps(range(200)):
    if number % 20 == 19 and not os.fork():
        list(bench.steps([1]))  # of the same case
        os._exit(0)
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
"""
KILLED = """
import os, signal, bench
for number in bench.steps(range(9)):
    if number == 6:
        os.kill(os.getpid(), signal.SIGKILL)
"""
FLOPS = (
    2 * 16 * (64 * 128 + 128 * 10) * 2 + 2 * 16 * 128 * 10
)  # forward, weights' gradients, and those of the second's input


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store that steps are recorded into."""
    monkeypatch.setenv("BENCH_STORE", str(tmp_path / "store"))
    return tmp_path / "store"


@pytest.fixture
def model() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))


def batches(count: int = 6) -> list[Any]:
    return [torch.randn(16, 64) for _ in range(count)]


def counts(store: Path) -> dict[str, int]:
    """Samples of each metric."""
    return dict(stored("SELECT metric, sum(n)::INT FROM cells GROUP BY metric", store))


def launched(tmp_path: Path, source: str, code: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
    """A script of a user's in a process of its own."""
    script = tmp_path / "train.py"
    script.write_text(source)
    env = {**os.environ, "BENCH_STORE": str(tmp_path / "store"), **variables}
    found = subprocess.run([sys.executable, script], env=env, capture_output=True, text=True, cwd=tmp_path)
    assert found.returncode == code, found.stderr
    return found


@pytest.mark.exhaustive
def test_a_script_with_nothing_but_steps_tells_phases_rate_use_and_memory(tmp_path: Path) -> None:
    """A real training loop over a real loader, three epochs of it; `bench show` says it in a sentence."""
    launched(tmp_path, SCRIPT)
    store = tmp_path / "store"
    ((name, steps, step, mean, tokens, mfu, flops, memory, failed),) = stored(
        "SELECT name, steps, step_ms, mean_ms, tokens_per_second, mfu, flops, peak_memory_bytes, failed_steps"
        " FROM training_steps",
        store,
    )

    assert (name, steps, failed, flops) == ("train", 3 * 32 - 3, 0, FLOPS)
    assert math.isclose(tokens, 16 / step * 1e3, rel_tol=0.2)
    assert math.isclose(mfu, flops / step * 1e3 / 1e12, rel_tol=0.2)
    assert memory > 50e6
    phases = {phase: (ms, error) for phase, ms, error in stored("SELECT phase, ms, error FROM training_phases", store)}
    assert phases.keys() == {"data", "forward", "backward", "optimizer", "other"}
    assert math.isclose(sum(ms for ms, _ in phases.values()), mean, rel_tol=1e-6)
    assert all(error > 0 for _, error in phases.values())
    shown = CliRunner().invoke(cli, ["show", "--store", str(store)])
    assert "train: data " in shown.output
    assert re.search(r"tokens/s[;,] MFU ", shown.output)  # a busy machine's mean step has its rate apart


@pytest.mark.exhaustive
def test_without_torch_there_are_whole_steps(tmp_path: Path) -> None:
    """Nothing imports it; a mark between two others is a step."""
    launched(tmp_path, WITHOUT_TORCH)

    found = counts(tmp_path / "store")

    assert found.pop("rss_peak") >= 2
    assert found == {"latency": 5 + 3, "data_time": 5, "other_time": 5 + 3, "throughput": 5}


@pytest.mark.exhaustive
def test_a_forked_child_records_no_step_of_its_parent(tmp_path: Path) -> None:
    """A step that had ended when the child began is recorded once."""
    launched(tmp_path, FORKED)

    assert counts(tmp_path / "store")["latency"] == 200 + 10


def test_a_script_that_is_killed_keeps_every_step_that_ended(tmp_path: Path) -> None:
    """However short they are."""
    launched(tmp_path, KILLED, code=-9)

    assert counts(tmp_path / "store")["latency"] == 6


@exhaustive
def test_ranks_share_a_run(tmp_path: Path) -> None:
    """The rank is a parameter of the case."""
    for rank in ("1", "0"):
        launched(tmp_path, WITHOUT_TORCH, RANK=rank, WORLD_SIZE="2", LOCAL_WORLD_SIZE="1", MASTER_PORT="1")

    ranks = (
        "SELECT count(DISTINCT run_id), list_sort(list(parameters->>'rank')) FROM training_steps WHERE name = 'train'"
    )
    assert stored(ranks, tmp_path / "store") == [(1, ["0", "1"])]


def _gan(model: nn.Module) -> None:
    critic = nn.Linear(10, 1)
    optimizers = [torch.optim.Adam(part.parameters()) for part in (model, critic)]
    for batch in bench.steps(batches()):
        for sign, optimizer in zip((1, -1), optimizers, strict=True):
            optimizer.zero_grad()
            (sign * critic(model(batch))).mean().backward()
            optimizer.step()


def _accumulated(model: nn.Module) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for number, batch in enumerate(bench.steps(batches())):
        model(batch).mean().backward()
        if number % 3 == 2:
            optimizer.step()


def _scaled(model: nn.Module) -> None:
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cpu")
    for batch in bench.steps(batches()):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def _closure(model: nn.Module) -> None:
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)

    for batch in bench.steps(batches()):

        def loss(batch: Any = batch) -> Any:
            optimizer.zero_grad()
            found = model(batch).square().mean()
            found.backward()
            return found

        optimizer.step(loss)  # type: ignore[no-untyped-call]


def _in_backward(model: nn.Module) -> None:
    optimizers = {weight: torch.optim.SGD([weight], lr=0.1) for weight in model.parameters()}
    for weight, optimizer in optimizers.items():
        weight.register_post_accumulate_grad_hook(lambda _, optimizer=optimizer: optimizer.step())  # type: ignore[no-untyped-call]
    for batch in bench.steps(batches()):
        model(batch).mean().backward()


def _no_optimizer(model: nn.Module) -> None:
    for batch in bench.steps(batches()):
        model(batch).mean().backward()


def _evaluation(model: nn.Module) -> None:
    with torch.inference_mode():
        for batch in bench.steps(batches()):
            model(batch)


ALL = {"latency": 6, "data_time": 6, "other_time": 6}
LOOPS: dict[Callable[[nn.Module], None], dict[str, int]] = {
    _gan: {"forward_time": 6, "backward_time": 6, "optimizer_time": 6},
    _accumulated: {"forward_time": 6, "backward_time": 6, "optimizer_time": 2},
    _scaled: {"forward_time": 6, "backward_time": 6, "optimizer_time": 6},
    _closure: {"backward_time": 6, "optimizer_time": 6},
    _in_backward: {"forward_time": 6, "backward_time": 6, "optimizer_time": 6},
    _no_optimizer: {"forward_time": 6, "backward_time": 6},
    _evaluation: {},
}


@pytest.mark.parametrize("loop", first_of(1, LOOPS), ids=lambda loop: loop.__name__.strip("_"))
def test_loops_of_every_kind_are_taken_apart(loop: Callable[[nn.Module], None], store: Path, model: nn.Module) -> None:
    """Two models, accumulated gradients, scaled ones, closures, optimizers inside of the backward pass, none at all."""
    with bench.run("loop"):
        loop(model)

    found = counts(store)
    assert found.pop("flops") == 1
    assert found.pop("rss_peak") >= 1
    assert found == {**ALL, **LOOPS[loop]}


@pytest.mark.exhaustive
def test_compiled_models_compile_as_without_bench(store: Path, model: nn.Module) -> None:
    """One graph, never again: neither the phases nor counting operations is seen by the compiler; the count is of all of it."""
    captured = []

    def backend(graph: Any, inputs: Any) -> Any:
        captured.append(graph)
        return graph.forward

    compiled = torch.compile(model, backend=backend)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with bench.run("compiled"):
        for batch in bench.steps(batches()):
            compiled(batch).mean().backward()
            optimizer.step()

    assert len(captured) == 1
    assert stored("SELECT steps, flops FROM training_steps", store) == [(3, FLOPS)]


def _raises_in(phase: str, model: nn.Module) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for number, batch in enumerate(bench.steps(batches(), name="mine")):
        if number == 4 and phase == "forward":
            model(batch[:, :3])
        loss = model(batch).mean()
        loss.backward()
        if number == 4 and phase == "backward":
            loss.backward()
        optimizer.step()
        if number == 4 and phase == "other":
            raise MemoryError


@pytest.mark.parametrize(
    ("phase", "status"), first_of(1, [("forward", "fail_to_run"), ("backward", "fail_to_run"), ("other", "OOM")])
)
def test_a_step_that_fails_is_a_row_with_its_phase(phase: str, status: str, store: Path, model: nn.Module) -> None:
    """It is no sample; those before it are kept."""
    with pytest.raises((RuntimeError, MemoryError)), bench.run("failing"):
        _raises_in(phase, model)

    ((kind, where, reason),) = stored("SELECT status, phase, reason FROM case_outcomes", store)
    assert (kind, where) == (status, phase)
    assert reason.startswith(f"step 4, {phase}: ")
    assert counts(store)["latency"] == 4


@pytest.mark.exhaustive
def test_a_step_whose_failure_the_script_handles_is_a_row_and_no_sample(store: Path, model: nn.Module) -> None:
    """As loops do that skip a batch which is too large."""
    with bench.run("handled"):
        for number, batch in enumerate(bench.steps(batches())):
            loss = model(batch).mean()
            loss.backward()
            if number == 3:
                with pytest.raises(RuntimeError):
                    loss.backward()

    assert counts(store)["latency"] == 5
    ((value, text),) = stored("SELECT value, original_value FROM metrics WHERE metric = 'failed_step'", store)
    assert value == 3
    assert text.startswith("backward: RuntimeError: ")
    assert stored("SELECT status FROM case_outcomes", store) == [("ok",)]
    assert stored("SELECT failed_steps FROM training_steps", store) == [(1,)]


@exhaustive
@pytest.mark.parametrize("stepped", first_of(1, [True, False]))
def test_a_loop_left_by_break_keeps_a_step_whose_optimizer_ran(stepped: bool, store: Path, model: nn.Module) -> None:
    """A break at the end of a turn leaves a whole step, at its beginning none; a failure after the loop is not the step's."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(ZeroDivisionError), bench.run("left"):
        for number, batch in enumerate(bench.steps(batches())):
            if number == 4 and not stepped:
                break
            model(batch).mean().backward()
            optimizer.step()
            if number == 4:
                break
        raise ZeroDivisionError

    assert counts(store)["latency"] == 4 + stepped
    assert [reason for (reason,) in stored("SELECT reason FROM outcomes WHERE case_id IS NOT NULL", store)] == []


@pytest.mark.exhaustive
def test_marks_see_the_loader_that_is_waited_for(store: Path, model: nn.Module) -> None:
    """A step is what lies between two marks."""
    loader: torch.utils.data.DataLoader[Any] = torch.utils.data.DataLoader(batches(), batch_size=None)  # type: ignore[arg-type]
    with bench.run("marked"):
        for batch in loader:
            bench.step(tokens=16)
            model(batch).mean().backward()

    found = counts(store)
    assert {
        name: found[name] for name in ("latency", "data_time", "forward_time", "backward_time", "throughput")
    } == dict.fromkeys(("latency", "data_time", "forward_time", "backward_time", "throughput"), 5)


def _marked_within() -> None:
    for _ in bench.steps([1]):
        bench.step()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: bench.steps([1], tokens=0), "tokens=0 is not a number of tokens"),
        (lambda: bench.step(tokens=-1), "tokens=-1 is not"),
        (lambda: bench.step(peak_flops=float("nan")), "peak_flops=nan"),
        (lambda: list(bench.steps([1], flops=-1.0)), "flops=-1.0 is not"),
        (_marked_within, "in a loop over bench.steps()"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(call: Callable[[], Any], said: str, store: Path) -> None:
    """With what was given."""
    with bench.run("refused"), pytest.raises(BenchError, match=said.replace("(", "\\(").replace(")", "\\)")):
        call()


@exhaustive
def test_the_loader_is_still_a_loader(store: Path) -> None:
    """It has a length, its attributes, and may be copied; its errors come through, as do those of a count of tokens."""
    loader = bench.steps(SimpleNamespaceLoader(), tokens=len)

    assert (len(loader), loader.batch_size, copy.copy(loader).batch_size) == (7, 3, 3)
    with bench.run("errors"), pytest.raises(KeyError):
        for _ in loader:
            pass
    assert counts(store)["throughput"] == 1
    with bench.run("errors"), pytest.raises(TypeError):
        for _ in bench.steps([1], tokens=len):  # type: ignore[arg-type]
            pass


class SimpleNamespaceLoader:
    batch_size = 3

    def __len__(self) -> int:
        return 7

    def __iter__(self) -> Iterator[str]:
        yield "two"
        raise KeyError("file")


@exhaustive
def test_steps_belong_to_the_run_that_is_open(store: Path) -> None:
    """The next run has rows of its own, numbered anew; threads of one process record side by side."""
    for config in ("a", "b"):
        with bench.run(config):
            threads = [threading.Thread(target=lambda name=name: [*bench.steps(range(9), name=name)]) for name in "xy"]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    rows = stored("SELECT config, name, count(*), max(sample) FROM timings JOIN (FROM run_summaries) USING (run_id) JOIN cases "
                  "USING (run_id, case_id) WHERE metric = 'latency' GROUP BY ALL ORDER BY ALL", store)  # fmt: skip
    assert rows == [(config, name, 9, 8) for config in "ab" for name in "xy"]


@pytest.mark.exhaustive
def test_two_sides_differ_in_a_phase(store: Path) -> None:
    """`bench why` names it, and its parts add up."""
    for config, slow in (
        ("fast", 0),
        ("slow", 25),
    ):  # milliseconds a step, beside all of which no pause of the machine counts
        with bench.run(config):
            for _ in bench.steps(range(40), name="mine"):
                watch(torch)
                time.sleep(slow / 1000)
                torch.zeros(10_000, requires_grad=True).exp().sum().backward()  # type: ignore[no-untyped-call]

    asked = CliRunner().invoke(cli, ["why", "fast", "slow", "mine", "--format", "json", "--store", str(store)])
    (found,) = json.loads(asked.stdout)

    parts = {part["name"]: part["difference"] for part in found["parts"]}
    assert parts.keys() == {"data", "forward", "backward", "other"}
    assert parts["forward"] > 10e6 > parts["data"] + parts["other"]
    assert math.isclose(sum(parts.values()) + found["unattributed"]["difference"], found["difference"], abs_tol=1)


class Event:
    """An event of a GPU that passes its queue one millisecond an event, one step behind."""

    recorded: ClassVar[list["Event"]] = []

    def __init__(self) -> None:
        self.number = len(Event.recorded)
        Event.recorded.append(self)

    def elapsed_time(self, other: "Event") -> float:
        return float(other.number - self.number)

    def query(self) -> bool:
        return self.number < len(Event.recorded) - 3

    def synchronize(self) -> None:
        pass


def test_phases_on_a_gpu_are_those_of_its_stream(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each lies between two events in it, read when the GPU has passed them, the last ones when the run ends."""
    Event.recorded = []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 1000)
    monkeypatch.setattr(torch.cuda, "max_memory_reserved", lambda: 2000)
    monkeypatch.setattr(recording, "_event_of", lambda torch: Event)
    with bench.run("gpu"):
        for _ in bench.steps(range(5), flops=0):
            torch.ones(2, requires_grad=True).sum().backward()  # type: ignore[no-untyped-call]

    rows = stored(
        "SELECT metric, count(*), max(duration_ns) FROM timings WHERE metric <> 'latency' GROUP BY ALL ORDER BY ALL",
        store,
    )
    assert rows == [("backward_time", 5, 1_000_000), ("data_time", 5, 1_000_000), ("forward_time", 5, 1_000_000),
                    ("other_time", 5, 2_000_000)]  # fmt: skip
    assert stored("SELECT peak_memory_bytes FROM case_results", store) == [(1000,)]


KINDS = st.lists(st.sampled_from([DATA_WAIT, BACKWARD, OPTIMIZER, END]), max_size=30)


@given(KINDS, st.data())
def test_phases_add_up_to_the_step(kinds: list[str], data: st.DataObject) -> None:
    """In whatever order they begin and end."""
    times = sorted(data.draw(st.lists(st.integers(0, 2**60), min_size=len(kinds) + 1, max_size=len(kinds) + 1)))
    kinds = [*kinds, END]
    times = [*times, times[-1] + 5]

    assert sum(durations(kinds, times).values()) == times[-1] - times[0]


def test_a_phase_in_another_is_the_inner_ones() -> None:
    """An optimizer that computes its gradients itself; what is between a batch and the backward pass is forward."""
    kinds = [DATA_WAIT, END, BACKWARD, END, OPTIMIZER, BACKWARD, END, END, END]
    times = [0, 1, 3, 7, 15, 31, 63, 127, 255, 511]

    assert durations(kinds, times) == {
        "data_time": 2,
        "forward_time": 4,
        "backward_time": 8 + 64,
        "optimizer_time": 32 + 128,
        "other_time": 1 + 16 + 256,
    }


def test_the_phase_of_a_step_is_the_innermost_that_began() -> None:
    """And of one that failed, that which raised."""
    moments = Moments(None)
    assert moments.phase() == "forward"
    moments.add(OPTIMIZER)
    moments.add(BACKWARD)
    assert moments.phase() == "backward"
    moments.raised(BACKWARD, ValueError("no"))
    assert (moments.phase(), moments.failure) == ("backward", ("backward", "ValueError: no"))


def test_operations_are_counted_as_by_torch() -> None:
    """Products and attention; torch's own counter knows no attention on a CPU."""
    query = torch.randn(2, 4, 8, 16, requires_grad=True)

    with counting(torch) as found:
        nn.functional.scaled_dot_product_attention(query, query, query).sum().backward()  # type: ignore[no-untyped-call]

    products = 2 * 2 * 4 * 8 * 8 * 16  # of one product of attention, which has two forward and five backward
    assert found.by_dtype == {"float32": 7 * products}


@pytest.mark.parametrize(
    ("device", "dtype", "peak"),
    [("NVIDIA H200", "bfloat16", 989.4e12), ("NVIDIA H100 PCIe", "tf32", 378e12), ("NVIDIA A10G", "float16", None),
     ("NVIDIA RTX A1000", "float16", None), ("NVIDIA A100-SXM4-80GB", "bfloat16", 312e12),
     ("NVIDIA L4", "float32", 30.3e12), ("Tesla T4", "bfloat16", None), ("a GPU", "float32", None)],
)  # fmt: skip
def test_peaks_are_of_the_device_by_its_name(device: str, dtype: str, peak: float | None) -> None:
    """One that is not known, or lacks the type, has none: no guess."""
    found = known_peak(device, dtype)

    assert found == (None if peak is None else (peak, f"{device}, {dtype}"))
