"""Knobs: each is an option, a parameter of the case, and does what it says."""

import contextlib
import json
from types import SimpleNamespace
from typing import Any

import pytest
from bench.measure.command import measure
from bench.measure.engine.program import ModelFailed
from bench.measure.engine.workload import Settings, Workload
from bench.measure.pytorch.settings import KNOBS, Knobs
from click.testing import CliRunner

torch = pytest.importorskip("torch")

from bench.measure.pytorch.program import TorchProgram  # noqa: E402
from bench.measure.pytorch.step import PreparedModel, step  # noqa: E402


@pytest.fixture(autouse=True)
def put_back() -> Any:
    """A program sets what it needs for its whole process, which here is everybody's."""
    import torch._dynamo.config as dynamo

    limit = dynamo.recompile_limit
    with torch.enable_grad():
        yield
    dynamo.recompile_limit = limit


def program(name: str = "MLP", mode: str = "training", **knobs: Any) -> TorchProgram:
    workload = Workload(
        suite="s", name="n", target=f"bench.measure.suites.builtin_models:{name}", mode=mode, device="cpu", dtype="float32",
        batch_size=2,
        sequence_length=None, backends=("eager",), parameters={"cosine": True, **knobs},
    )  # fmt: skip
    return TorchProgram(workload, Settings())


def test_a_knob_that_is_turned_is_a_parameter_of_the_case() -> None:
    """By the name of its option; one that is not, or that is where it stands anyway, is none: that is the same case."""
    usual = ["--optimizer", "sgd", "--distributed", "ddp", "--ranks", "2"]
    given = ["--optimizer", "adam", "--channels-last", "--inductor-config", "a=1", "b=x", "--tolerance", "0"]

    plain, turned = (
        CliRunner().invoke(measure, ["models", "--models", "mlp", "--print", "--format", "json", *options]).stdout
        for options in (usual, given)
    )

    assert [row["parameters"] for row in json.loads(plain)] == 2 * [{"distributed": "ddp"}]
    assert json.loads(turned)[0]["parameters"] == {
        "optimizer": "adam", "channels_last": True, "inductor_config": ["a=1", "b=x"], "tolerance": 0.0,
    }  # fmt: skip
    assert set(KNOBS) >= {"eval_mode", "randomize_inputs", "fullgraph", "checkpointing", "memory_fraction", "cosine"}


def test_each_optimizer_takes_its_own_step() -> None:
    """Adam's first is the learning rate, whatever the gradient."""
    sgd, adam = (program(optimizer=name) for name in ("sgd", "adam"))

    first = [p.prepare("eager") for p in (sgd, adam)]
    second = [[float(step()["loss"].detach()) for _ in range(3)] for step in first]

    assert second[0][0] == second[1][0]
    assert second[0][1] != second[1][1]


def test_checkpointing_computes_the_same_gradients() -> None:
    """By recomputing what it did not keep."""
    plain, checkpointed = (program(checkpointing=on) for on in (False, True))

    expected, actual = (p.keep(p.prepare("eager")()) for p in (plain, checkpointed))

    assert plain.agree(expected, actual).equal
    assert any(place.startswith("output.gradients") for place in actual)


def test_eval_mode_trains_without_moving_statistics() -> None:
    """Batch norm keeps those it has."""
    moved, kept = (program("CNN", eval_mode=on) for on in (False, True))

    assert [p._model.module.training for p in (moved, kept)] == [True, False]


def test_channels_last_is_the_format_of_inputs_and_weights() -> None:
    """Of images and convolutions; the numbers stay."""
    model = program("CNN", "inference", channels_last=True)._model

    assert model.args[0].is_contiguous(memory_format=torch.channels_last)
    assert model.module.features[3].weight.is_contiguous(memory_format=torch.channels_last)


def test_a_dynamic_batch_is_compiled_for_any_size() -> None:
    """And of the other sizes for those there are: the graph has a name for its first dimension, and a number for the second."""
    shapes: list[list[str]] = []

    def look(graph: Any, inputs: Any) -> Any:
        given = (node.meta["example_value"] for node in graph.graph.nodes if node.op == "placeholder")
        shapes.extend([str(size) for size in x.shape] for x in given if isinstance(x, torch.Tensor))
        return graph

    torch._dynamo.reset()
    program("MLP", "inference", dynamic_batch=True)._compiled_step(look)

    ((batch, width),) = [shape for shape in shapes if not all(size.isdecimal() for size in shape)]
    assert batch.startswith("s")
    assert width == "256"


def test_random_inputs_differ_from_call_to_call_and_are_names_still() -> None:
    """Whole numbers are shuffled; the first call has the inputs of everybody, for the accuracy check."""
    step = program("MLP", "inference", randomize_inputs=True).prepare("eager")
    outputs = [step() for _ in range(9)]
    pool = PreparedModel(None, (torch.arange(5), torch.zeros(3)), {}).pool()

    assert torch.equal(outputs[0], outputs[8])
    assert not torch.equal(outputs[0], outputs[1])
    assert all(sorted(args[0].tolist()) == [0, 1, 2, 3, 4] for args, _ in pool)


def test_settings_of_the_compiler_are_set_or_refused() -> None:
    """A value is a Python literal or text; a setting that does not exist fails the model, in words."""
    program(dynamo_config=["recompile_limit=3"])

    assert torch._dynamo.config.recompile_limit == 3
    with pytest.raises(ModelFailed) as failure:
        program(inductor_config=["no.such=1"])
    assert str(failure.value.__cause__) == "torch._inductor.config has no 'no.such'"


def test_what_concerns_a_gpu_is_told_to_it() -> None:
    """And what concerns determinism to the whole process: by a torch that takes note."""
    said: list[Any] = []
    cuda = SimpleNamespace(
        matmul=SimpleNamespace(), set_per_process_memory_fraction=lambda *given: said.append(given)
    )  # fmt: skip
    fake = SimpleNamespace(
        use_deterministic_algorithms=said.append, cuda=cuda, device=lambda name: SimpleNamespace(index=int(name[-1])),
        backends=SimpleNamespace(cudnn=SimpleNamespace(), cuda=cuda),
    )  # fmt: skip
    import torch._inductor.config as inductor

    before = inductor.fallback_random
    try:
        Knobs(deterministic=True, memory_fraction=0.5).apply(fake, "cuda:1")
        assert inductor.fallback_random
    finally:
        inductor.fallback_random = before

    assert said == [True, (0.5, 1)]
    assert (cuda.matmul.allow_tf32, fake.backends.cudnn.deterministic) == (False, True)


def test_what_returns_no_numbers_is_not_trained() -> None:
    """Said in words, not as an int that has no attribute backward."""
    model = PreparedModel(torch.nn.Linear(2, 2), (), {})
    train = step(model, lambda: None, "training", contextlib.nullcontext, Knobs())

    with pytest.raises(ValueError, match="nothing to train on: the model returns NoneType"):
        train()
