"""The torch side: models, steps, outputs compared, and one real measurement from command line to table."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bench.measure.plan import Settings, Workload, product
from bench.measure.program import ModelFailed
from bench.measure.suites import builtin, models_of

torch = pytest.importorskip("torch")

from bench.measure.torch_program import TorchProgram  # noqa: E402


@pytest.fixture(autouse=True)
def grad_mode() -> Any:
    """A program sets it for its whole process, which here is everybody's."""
    with torch.enable_grad():
        yield


def program(
    name: str = "mlp", mode: str = "inference", target: str | None = None, seed: int = 0, **axes: Any
) -> TorchProgram:
    axes = {"devices": ["cpu"], "dtypes": ["float32"], "batch_sizes": [2], "sequence_lengths": [3], **axes}
    (workload,) = product("builtin", models_of("builtin", (name,)), backends=[], modes=[mode], **axes)
    if target:
        workload = Workload(**{f: getattr(workload, f) for f in Workload.__dataclass_fields__} | {"target": target})
    return TorchProgram(workload, Settings(seed=seed))


@pytest.mark.parametrize("mode", ["inference", "training"])
@pytest.mark.parametrize("name", builtin())
def test_every_model_runs_and_the_same_seed_gives_the_same_output(name: str, mode: str) -> None:
    """In another program, too; another seed gives another."""
    first, again, other = (p.keep(p.prepare("eager")()) for p in (program(name, mode, seed=s) for s in (1, 1, 2)))

    assert all(torch.isfinite(tensor).all() for tensor in first)
    assert program(name, mode).agree(first, again).equal
    assert not program(name, mode).agree(first, other).equal


def test_training_changes_the_weights_of_its_own_side_only() -> None:
    """Each backend starts from the same weights, however long the others trained."""
    p = program(mode="training")
    step = p.prepare("eager")
    first = p.keep(step())
    second = p.keep(step())
    other_side = p.keep(p.prepare("eager")())

    assert second[0] < first[0], "the loss goes down"
    assert p.agree(first, other_side).equal


def test_outputs_agree_up_to_the_rounding_of_their_type() -> None:
    """NaN equals NaN; a shape or a number too few is a difference."""
    p = program()
    ones = [torch.ones(3)]

    assert p.agree(ones, [torch.ones(3) + 1e-5]).equal
    assert p.agree([torch.tensor([torch.nan])], [torch.tensor([torch.nan])]).equal
    assert not p.agree(ones, [torch.ones(3) + 1e-2]).equal
    assert not p.agree(ones, [torch.tensor([1.0, 1.0, torch.nan])]).equal
    assert not p.agree(ones, [torch.ones(4)]).equal
    assert not p.agree(ones, [torch.ones(3)] * 2).equal
    assert "largest difference from eager 0," in p.agree(ones, ones).what


def test_a_model_that_is_not_there_is_a_failure_to_load() -> None:
    """With the cause kept."""
    with pytest.raises(ModelFailed) as failure:
        program(target="bench.measure.models:Missing")
    assert isinstance(failure.value.__cause__, AttributeError)


def test_an_absent_gpu_is_a_skip_with_its_reason() -> None:
    """For every backend, before anything is built."""
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")

    assert "torch sees no CUDA device" in str(program(devices=["cuda"]).missing("eager"))


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
    assert "n=15)" in done.stdout
