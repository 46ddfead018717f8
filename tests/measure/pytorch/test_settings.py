"""Knobs: each is an option, a parameter of the case, and does what it says."""

import contextlib
import json
import os
from types import SimpleNamespace
from typing import Any

import pytest
from bench.measure.command import measure
from bench.measure.engine.program import ModelFailed
from bench.measure.engine.workload import Settings, Workload
from bench.measure.pytorch.settings import DDP_MODES, KNOBS, Knobs
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
    given = [
        "--optimizer", "adam", "--channels-last", "--inductor-config", "max_autotune=1", "debug=x", "--tolerance",
        "0",
    ]  # fmt: skip

    plain, turned = (
        CliRunner().invoke(measure, ["models", "--models", "mlp", "--print", "--format", "json", *options]).stdout
        for options in (usual, given)
    )

    assert [row["parameters"] for row in json.loads(plain)] == 2 * [{"distributed": "ddp"}]
    assert json.loads(turned)[0]["parameters"] == {
        "optimizer": "adam", "channels_last": True, "inductor_config": ["max_autotune=1", "debug=x"], "tolerance": 0.0,
    }  # fmt: skip
    assert set(KNOBS) >= {"eval_mode", "randomize_inputs", "fullgraph", "checkpointing", "memory_fraction", "cosine"}


@pytest.mark.exhaustive
def test_each_optimizer_takes_its_own_step() -> None:
    """Adam's first is the learning rate, whatever the gradient."""
    sgd, adam = (program(optimizer=name) for name in ("sgd", "adam"))

    first = [p.prepare("eager") for p in (sgd, adam)]
    second = [[float(step()["loss"].detach()) for _ in range(3)] for step in first]

    assert second[0][0] == second[1][0]
    assert second[0][1] != second[1][1]


@pytest.mark.exhaustive
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


@pytest.mark.exhaustive
def test_a_dynamic_batch_is_compiled_for_any_size() -> None:
    """And of the other sizes for those there are: the graph has a name for its first dimension, and a number for the second."""
    shapes: list[list[str]] = []

    def look(graph: Any, inputs: Any) -> Any:
        given = (node.meta["example_value"] for node in graph.graph.nodes if node.op == "placeholder")
        shapes.extend([str(size) for size in x.shape] for x in given if isinstance(x, torch.Tensor))
        return graph

    torch._dynamo.reset()
    program("MLP", "inference", dynamic_batch=True)._compiled_step(look)()

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
    assert str(failure.value.__cause__).startswith("no setting 'no.such' in torch._inductor.config")
    result = CliRunner().invoke(measure, ["models", "--models", "mlp", "--dynamo-config", "recompile_limt=3"])
    assert "Nearest: 'recompile_limit'" in str(result.exception)


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


@pytest.mark.parametrize(("text", "wanted"), [("on", True), ("off", False)])
def test_tf32_is_a_knob(monkeypatch: pytest.MonkeyPatch, text: str, wanted: bool) -> None:
    """Of products and convolutions; without it torch's own choice stays."""
    fake = SimpleNamespace(
        cudnn=SimpleNamespace(allow_tf32=None), cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=None))
    )

    Knobs(tf32=text).apply(SimpleNamespace(backends=fake), "cpu")
    assert (fake.cudnn.allow_tf32, fake.cuda.matmul.allow_tf32) == (wanted, wanted)


@pytest.mark.parametrize("mode", DDP_MODES)
def test_a_mode_of_ddp_is_a_setting_of_dynamo(mode: str) -> None:
    """By torch's own name for it."""
    import torch._dynamo.config as dynamo

    with dynamo.patch(optimize_ddp=True):
        Knobs(optimize_ddp=mode).apply(torch, "cpu")
        assert dynamo.optimize_ddp == mode


@pytest.mark.parametrize(
    ("options", "cure"),
    [
        (["--optimize-ddp", "ddp_optimizer"], "no effect without --distributed ddp."),
        (["--optimize-ddp", "ddp_optimizer", "--distributed", "fsdp"], "no effect without --distributed ddp."),
        (["--optimize-ddp", "python_reducer", "--distributed", "ddp"], "Add: --compiled-autograd."),
        (
            ["--optimize-ddp", "no_optimization", "--distributed", "ddp", "--compiled-autograd"],
            "Leave out one of both.",
        ),
        (["--optimize-ddp", "python_reducer", "--distributed", "ddp", "--compiled-autograd"], ""),
    ],
)
def test_a_mode_of_ddp_that_torch_has_not_is_refused_before_anything_runs(options: list[str], cure: str) -> None:
    """Without DDP, or without what it compiles."""
    done = CliRunner().invoke(measure, ["models", "--models", "mlp", "--modes", "training", "--print", *options])

    assert (done.exit_code == 0) == (cure == "")
    assert cure in done.output + str(done.exception)


def test_deterministic_products_have_the_workspace_that_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it the first of a GPU raises; one that the user has set stays."""
    done: list[bool] = []
    fake = SimpleNamespace(
        use_deterministic_algorithms=done.append,
        backends=SimpleNamespace(cudnn=SimpleNamespace(), cuda=SimpleNamespace(matmul=SimpleNamespace())),
    )
    import torch._inductor.config as inductor

    with inductor.patch(fallback_random=False):
        for before, after in ((None, ":4096:8"), (":16:8", ":16:8")):
            monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
            if before:
                monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", before)
            Knobs(deterministic=True).apply(fake, "cuda")
            assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == after

    assert done == [True, True]
    assert (fake.backends.cudnn.allow_tf32, fake.backends.cuda.matmul.allow_tf32) == (False, False)
