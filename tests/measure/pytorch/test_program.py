"""The torch side: models, steps, outputs compared, and one real measurement from command line to table."""

import json
import subprocess
import sys
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.measure.engine.program import DeviceLost, ModelFailed
from bench.measure.engine.workload import Settings, Workload
from bench.measure.models.product import product
from bench.measure.pytorch.backend import Backend
from bench.measure.pytorch.registry import OWN
from bench.measure.suites.registry import builtin, models_of
from bench.measure.system.devices import Device
from bench.measure.system.host_memory import Peak

from ...exhaustive import exhaustive, first_of, sampled

torch = pytest.importorskip("torch")

from bench.measure.pytorch import compiler_stats  # noqa: E402
from bench.measure.pytorch.accuracy import digest  # noqa: E402
from bench.measure.pytorch.program import TorchProgram  # noqa: E402
from bench.measure.pytorch.ranks import Together  # noqa: E402


@pytest.fixture(autouse=True)
def grad_mode() -> Any:
    """A program sets it for its whole process, which here is everybody's."""
    with torch.enable_grad():
        yield


def program(
    name: str = "mlp", mode: str = "inference", target: str = "", seed: int = 0, knobs: Any = None, **axes: Any
) -> TorchProgram:
    axes = {"batch_sizes": [2], "sequence_lengths": [3], **axes}
    workload = builtin_workload(name, mode, **axes)
    return TorchProgram(
        replace(workload, target=target or workload.target, parameters=knobs or {}), Settings(seed=seed)
    )


def builtin_workload(name: str = "mlp", mode: str = "inference", **axes: Any) -> Workload:
    """One that builtin has, on the CPU in float32 unless the axes say otherwise."""
    axes = {"devices": ["cpu"], "dtypes": ["float32"], **axes}
    (workload,) = product("builtin", {name: models_of("builtin")[name]}, backends=[], modes=[mode], **axes)
    return workload


@pytest.mark.parametrize("mode", ["inference", "training"])
@pytest.mark.parametrize("name", sampled([*builtin()], "mlp"))
def test_every_model_runs_and_the_same_seed_gives_the_same_output(name: str, mode: str) -> None:
    """In another program, too; another seed gives another."""
    first, again, other = (p.keep(p.prepare("eager")()) for p in (program(name, mode, seed=s) for s in (1, 1, 2)))

    assert all(torch.isfinite(tensor).all() for tensor in first.values())
    assert digest(first) == digest(again)
    assert digest(first) != digest(other)


def test_training_changes_the_weights_of_its_own_side_only() -> None:
    """Each backend starts from the same weights, however long the others trained."""
    p = program(mode="training")
    step = p.prepare("eager")
    first = p.keep(step())
    second = p.keep(step())
    other_side = p.keep(p.prepare("eager")())

    assert second["output.loss"] < first["output.loss"], "the loss goes down"
    assert digest(first) == digest(other_side)


@pytest.mark.exhaustive
@pytest.mark.parametrize("optimizer", first_of(1, ["sgd", "adam"]))
def test_a_backend_is_rewound_to_its_first_call(monkeypatch: pytest.MonkeyPatch, optimizer: str) -> None:
    """In place, since a CUDA graph knows its weights by their addresses; the third call of one is judged like a first."""
    p = program(mode="training", knobs={"optimizer": optimizer})
    monkeypatch.setattr(TorchProgram, "first_calls", lambda self, backend: 3)
    step = p.prepare("eager")
    places = [weight.data_ptr() for weight, _ in p._weights]
    outputs = []
    for _ in range(3):
        outputs.append(digest(p.keep(step())))
        p.rewind()

    assert len(set(outputs)) == 1
    assert [weight.data_ptr() for weight, _ in p._weights] == places


def test_graphs_take_three_first_calls_on_a_gpu_only() -> None:
    """Without one they are not recorded."""
    p = program()
    p._workload = replace(p._workload, device="cuda:0")

    assert [p.first_calls(name) for name in ("eager", "inductor", "inductor-reduce-overhead", "cudagraphs")] == [
        1,
        1,
        3,
        3,
    ]
    assert program().first_calls("inductor-reduce-overhead") == 1


JITTERY = """
import torch

class Jittery(torch.nn.Module):
    jitter = {jitter}

    def forward(self, x):
        Jittery.jitter = -Jittery.jitter
        return x + Jittery.jitter

    def get_example_inputs(self):
        return torch.ones(4)
"""


@pytest.mark.parametrize(
    ("repeatable", "jitter", "status"),
    [(False, 1e-6, "pass"), (False, 0.5, "eager_two_runs_differ"), (True, 1e-6, "eager_two_runs_differ")],
)
def test_eager_of_a_gpu_may_differ_from_itself_within_the_tolerance(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, repeatable: bool, jitter: float, status: str
) -> None:
    """Atomics add in any order; a CPU repeats itself to the last bit. A larger difference is one on both."""
    monkeypatch.setattr(Device, "repeatable", repeatable)
    (tmp_path / "jittery.py").write_text(JITTERY.format(jitter=jitter))
    p = program(target=f"{tmp_path / 'jittery.py'}:Jittery")

    found = p.trust(p.keep(p.prepare("eager")()))

    assert found is not None
    assert (found.judged, "differ by up to" in found.what) == (status, True)


@pytest.mark.exhaustive
def test_a_backward_pass_is_captured_as_it_runs() -> None:
    """By compiled autograd, which torch counts; the gradients are those of eager."""
    p = program(mode="training", knobs={"compiled_autograd": True})
    expected = p.keep(p.prepare("eager")())

    found = p.keep(p.prepare("aot_eager")())

    assert p.agree(expected, found).equal
    assert {fact.name: fact.value for fact in p.facts("aot_eager")}["autograd_captures"] == 1


@exhaustive
def test_memory_of_a_rank_is_its_own_not_that_of_the_backends_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks are started once for all backends, so the allocator's peak counts those of all: only what is its own remains."""
    p = program(mode="training", knobs={"optimizer": "adam"})
    step: Any = p.prepare("eager")
    step()
    weights = sum(weight.nbytes for weight in step.module.parameters())
    peaks = [Peak("cuda_allocated", 10**9, 0, 0), Peak("cuda_growth", 500, 0, 0), Peak("rss", 7)]

    found = [p._own(peak, peaks, Together(step, 0, lambda *words: None)) for peak in peaks]

    # gradients as large as the weights; two moments of each for adam, and its count of steps
    steps = 4 * len(list(step.module.parameters()))
    assert [peak.size_bytes for peak in found] == [500 + 4 * weights + steps, 500, 7]


def test_what_was_prepared_can_be_dropped() -> None:
    """So that another process has the memory: nothing of the program holds the model any more."""
    p = program(mode="training")
    held = weakref.ref(p._model.module)
    step = p.prepare("eager")
    step()
    del step

    p.release()

    assert held() is None


@exhaustive
def test_eager_that_repeats_itself_is_trusted() -> None:
    """With a float64 reference it is right by definition; what it gave is named to the last bit."""
    p = program(mode="training")
    output = p.keep(p.prepare("eager")())

    found = p.trust(output)

    assert found is not None
    assert (found.judged, found.what) == ("pass", "two runs of eager are equal to the last bit")
    assert found.digest == digest(output)
    assert found.metrics["accuracy_eager_rmse"] < 1e-6


class Unsteady(torch.nn.Linear):  # type: ignore[misc,name-defined]
    """Its numbers depend on how often a process ran it."""

    calls = 0

    def __init__(self) -> None:
        super().__init__(2, 2)

    def forward(self, x: Any) -> Any:
        Unsteady.calls += 1
        if Unsteady.calls == Unsteady.fails:
            raise MemoryError
        return super().forward(x) + Unsteady.calls

    fails = 0

    @staticmethod
    def get_example_inputs() -> Any:
        return torch.ones(1, 2)


@pytest.mark.parametrize(
    ("fails", "status", "what"),
    [
        (0, "eager_two_runs_differ", "differ by up to 1. Measure it with: --deterministic"),
        (3, "eager_2nd_run_OOM", "Memory"),
    ],
)
def test_eager_that_does_not_is_not(fails: int, status: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It differs, or its second run fails; the run in float64 was the first."""
    monkeypatch.setattr(Unsteady, "calls", 0)
    monkeypatch.setattr(Unsteady, "fails", fails)
    p = program(target=f"{Unsteady.__module__}:Unsteady")

    found = p.trust(p.keep(p.prepare("eager")()))

    assert found is not None
    assert (found.equal, found.judged) == (False, status)
    assert what in found.what


def test_a_backend_is_as_right_as_eager_or_fails() -> None:
    """By its distance from float64, which is recorded beside eager's."""
    p = program()
    output = p.keep(p.prepare("eager")())

    right, wrong = (p.agree(output, {place: x + error for place, x in output.items()}) for error in (1e-6, 0.1))

    assert (right.judged, wrong.judged) == ("pass", "fail_accuracy")
    assert "output: RMSE 0.1 from float64, eager's is" in wrong.what
    assert wrong.metrics["accuracy_rmse"] == pytest.approx(0.1, rel=1e-3)
    assert right.digest != wrong.digest


def test_a_random_model_that_differs_says_how_to_compare_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its numbers are each backend's own; a model that draws none has no such excuse, nor has one that was deterministic."""

    def judged(target: str, **knobs: Any) -> str:
        p = program(target=target, **knobs)
        eager = p.keep(p.prepare("eager")())
        p.trust(eager)
        return p.agree(eager, {place: x + 9 for place, x in eager.items()}).what

    draws = f"{Draws.__module__}:Draws"
    cure = "the model draws random numbers, each backend its own. Compare it with: --deterministic"
    assert cure in judged(draws)
    assert "random" not in judged(draws, knobs={"deterministic": True})
    monkeypatch.setattr(Draws, "p", 0.0)
    assert "random" not in judged(draws)


@pytest.mark.parametrize("deterministic", [False, True])
def test_random_numbers_of_float64_excuse_no_backend(deterministic: bool) -> None:
    """It draws others than float32 does, so eager was as far from it as any backend, and each passed."""
    p = program(target=f"{Scales.__module__}:Scales", knobs={"deterministic": True} if deterministic else {})
    eager = p.keep(p.prepare("eager")())
    p.trust(eager)

    other = p.agree(eager, {place: x.roll(1) for place, x in eager.items()})

    assert other.judged == "fail_accuracy"
    assert "by cosine, as float64 draws random numbers of its own" in other.what
    assert p.agree(eager, eager).equal


class Scales(torch.nn.Module):  # type: ignore[misc,name-defined]
    """It scales its input by random numbers."""

    def forward(self, x: Any) -> Any:
        return x * torch.rand_like(x)

    @staticmethod
    def get_example_inputs() -> Any:
        return torch.ones(8, 64)


class Draws(torch.nn.Module):  # type: ignore[misc,name-defined]
    """It drops half of its input."""

    p = 0.5

    def forward(self, x: Any) -> Any:
        return torch.nn.functional.dropout(x, self.p) if self.p else x

    @staticmethod
    def get_example_inputs() -> Any:
        return torch.ones(4, 8)


def test_nan_on_both_sides_is_its_own_status() -> None:
    """Eager's result says nothing then, so the backend's is neither right nor wrong."""
    p = program()
    nan = {place: x * torch.nan for place, x in p.keep(p.prepare("eager")()).items()}

    assert p.agree(nan, nan).judged == "both_nan"


@pytest.mark.parametrize(
    ("at_once", "expected"),
    [(1, "+a -a +b -b +c -c"), (2, "+a +b -a +c -b -c")],
)
def test_memory_processes_run_beside_each_other(monkeypatch: pytest.MonkeyPatch, at_once: int, expected: str) -> None:
    """After all second calls, as many as there is room for; each gives the numbers of its own backend."""
    p, log = program(), list[str]()

    def begin(workload: Workload, settings: Settings, backend: str) -> Any:
        def wait() -> Any:
            log.append(f"-{backend}")
            return [], [backend]

        log.append(f"+{backend}")
        return wait

    monkeypatch.setattr("bench.measure.pytorch.memory_process.measure", begin)
    monkeypatch.setattr(TorchProgram, "_at_once", lambda self: at_once)

    waiting = [p.memory(name, lambda: None) for name in "abc"]
    assert log == []
    assert [fact for wait in waiting for fact in wait()[1]] == [*"abc"]
    assert " ".join(log) == expected


class Exits(Unsteady):
    """It ends its process."""

    def forward(self, x: Any) -> Any:
        raise SystemExit


def test_the_reference_is_a_phase_of_loading() -> None:
    """So that a death in it is known as one; the next worker is told to do without, and why."""
    phases: list[str] = []
    workload = builtin_workload()

    with pytest.raises(SystemExit):
        TorchProgram(replace(workload, target=f"{Exits.__module__}:Exits"), Settings(), phases.append)
    assert phases.pop() == "reference"
    TorchProgram(workload, Settings(), phases.append)
    p = TorchProgram(
        replace(workload, no_reference="float64 failed: worker ended by SIGSEGV"), Settings(), phases.append
    )

    assert phases == ["reference", "load"]
    output = p.keep(p.prepare("eager")())
    assert "by cosine, as float64 failed: worker ended by SIGSEGV" in p.agree(output, output).what


class Narrow(Unsteady):
    """It takes everything but float64."""

    def forward(self, x: Any) -> Any:
        if x.dtype.itemsize == 8:
            raise RuntimeError("device-side assert triggered")
        return x


def test_a_reference_that_ends_the_device_is_no_failure_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process measures without one; where the device goes on, this one does."""
    workload = builtin_workload()
    narrow = replace(workload, target=f"{Narrow.__module__}:Narrow")

    TorchProgram(narrow, Settings())
    monkeypatch.setattr(Device, "lost", lambda self: "device-side assert triggered")
    with pytest.raises(DeviceLost, match="device-side assert"):
        TorchProgram(narrow, Settings())


def test_without_memory_for_float64_the_cosine_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the outcome says so."""
    monkeypatch.setattr(Device, "free_bytes", lambda self: 0)
    p = program()
    output = p.keep(p.prepare("eager")())

    found = p.agree(output, output)

    assert found.metrics == {"accuracy_cosine": 1.0}
    assert "by cosine, as float64 needs" in found.what


def test_a_backend_that_is_meant_to_differ_is_judged_by_the_cosine(monkeypatch: pytest.MonkeyPatch) -> None:
    """As quantised weights are; the next backend is not."""
    p = program()
    eager = p.keep(p.prepare("eager")())
    rough = {place: x * 1.01 for place, x in eager.items()}
    quantized = Backend("quantized", lambda module, example: module, rough=True)
    monkeypatch.setattr("bench.measure.pytorch.registry.OWN", (*OWN, quantized))

    p.prepare("quantized")
    judged = [p.agree(eager, rough).judged]
    p.prepare("eager")
    judged.append(p.agree(eager, rough).judged)

    assert judged == ["pass", "fail_accuracy"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", sampled(["bfloat16", "float16", "amp", "float64"], "bfloat16"))
def test_every_type_trains(dtype: str) -> None:
    """The small ones are cast, amp is not; each is right by its own rule."""
    p = program(mode="training", dtypes=[dtype])
    output = p.keep(p.prepare("eager")())

    found = p.trust(output)
    assert found is not None
    assert found.judged == "pass"
    weights = next(value for place, value in output.items() if place.startswith("output.gradients"))
    assert weights.dtype == (torch.float32 if dtype == "amp" else getattr(torch, dtype))


def test_a_model_that_is_not_there_is_a_failure_to_load() -> None:
    """With the cause kept."""
    with pytest.raises(ModelFailed) as failure:
        program(target="bench.measure.suites.builtin_models:Missing")
    assert isinstance(failure.value.__cause__, AttributeError)


def test_an_absent_gpu_is_a_skip_with_its_reason() -> None:
    """For every backend, before anything is built."""
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")

    assert "torch sees no CUDA device" in str(program(devices=["cuda"]).missing("eager"))


@exhaustive
def test_a_real_measurement_ends_in_a_table(tmp_path: Path) -> None:
    """Command line, worker, journal, warehouse, table: aot_eager, since it compiles in a second."""
    command = ["measure", "models", "--models", "mlp", "--backends", "aot_eager", "--repeat", "15", "--budget", "1"]

    done = subprocess.run(
        [sys.executable, "-m", "bench", *command, "--store", str(tmp_path)], capture_output=True, text=True, timeout=120
    )

    assert done.returncode == 0, done.stderr
    assert "eager added" in done.stderr
    assert "1 of 1 mlp inference b32" in done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if " mlp " in f" {line} "]
    assert [("eager" in row, "aot_eager" in row, "ok" in row) for row in rows] == [
        (True, False, True),
        (False, True, True),
    ]
    assert "n=15" in done.stdout


def test_a_compiler_says_what_is_not_torchs_default() -> None:
    """Of dynamo and inductor, whoever set it; what was set to its default again is none."""
    import torch._dynamo.config as dynamo
    import torch._inductor.config as inductor

    before = json.loads(compiler_stats.flags().text or "")
    with dynamo.patch(recompile_limit=3), inductor.patch(shape_padding=inductor.shape_padding):
        after = json.loads(compiler_stats.flags().text or "")

    assert {key: value for key, value in after.items() if before.get(key) != value} == {"dynamo.recompile_limit": "3"}
