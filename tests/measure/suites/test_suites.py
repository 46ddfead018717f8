"""Suites: what they list, without torch; what a target becomes, with it."""

import importlib
import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bench.measure.engine.workload import Workload
from bench.measure.models.product import product
from bench.measure.suites import Model, huggingface, registry, torchbench, torchvision
from bench.measure.suites.model import imported
from bench.measure.suites.registry import models_of
from bench.warehouse.errors import BenchError, UnknownName

from ...exhaustive import exhaustive

OWN = """
import neighbour
from torch import nn

class Sized(nn.Linear):
    def __init__(self):
        super().__init__(neighbour.WIDTH, 2)

    def get_example_inputs(self, batch_size=6, sequence_length: int = 9):
        import torch
        return torch.ones(batch_size, sequence_length, neighbour.WIDTH)

class Fixed(Sized):
    def get_example_inputs(self):
        return {"input": super().get_example_inputs(2, 3)}

class Inherits(Sized):
    pass

class Helper:
    pass
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "neighbour.py").write_text("WIDTH = 4\n")
    (tmp_path / "models, mine.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))  # put back what loading adds
    return tmp_path / "models, mine.py"


def workload(target: str, batch_size: int = 2, sequence_length: int | None = 8, mode: str = "training") -> Workload:
    return Workload(
        suite="s", name="n", target=target, mode=mode, device="cpu", dtype="float32", batch_size=batch_size,
        sequence_length=sequence_length, backends=("eager",),
    )  # fmt: skip


def test_a_file_is_a_suite_of_its_classes_with_inputs(own: Path) -> None:
    """An axis is there if the method takes it, its own or an inherited one; its default is the model's own size."""
    found = models_of(f"path:{own}")

    assert {name: (m.batch_size, m.sequence_length) for name, m in found.items()} == {
        "Sized": (6, 9),
        "Fixed": (None, None),
        "Inherits": (6, 9),
    }
    assert list(models_of(f"path:{own},class:Inherits")) == ["Inherits"]


def test_a_model_without_a_batch_axis_is_not_repeated_for_batch_sizes(own: Path) -> None:
    """Its case has none; and the case is named after the file, not after where it lies."""
    plan = product(
        f"path:{own}", models_of(f"path:{own},class:Fixed"), backends=[], modes=["inference"], devices=["cpu"],
        dtypes=["float32"], batch_sizes=[1, 2],
    )  # fmt: skip

    assert [(w.suite, w.axes("eager")["batch_size"]) for w in plan] == [("models, mine.py", None)]


def test_what_is_wrong_with_a_file_is_said(own: Path, tmp_path: Path) -> None:
    """No file, no Python, no model in it, no such class."""
    (tmp_path / "broken.py").write_text("class :")
    (tmp_path / "empty.py").write_text("class Helper: pass")

    for path, complaint in (
        ("absent.py", "cannot read"),
        ("broken.py", "is not valid Python"),
        ("empty.py", "has no model: a class with a method get_example_inputs"),
    ):
        with pytest.raises(BenchError, match=complaint):
            models_of(f"path:{tmp_path / path}")
    with pytest.raises(UnknownName, match="Nearest: 'Sized'"):
        models_of(f"path:{own},class:Size")


def test_a_class_in_a_file_is_built_with_what_it_takes(own: Path) -> None:
    """Sizes where it takes them, one tensor or keywords; and it may import its neighbours."""
    pytest.importorskip("torch")
    from bench.measure.pytorch.loading import build

    sized, fixed = (build(workload(f"{own}:{name}")) for name in ("Sized", "Fixed"))

    assert [tuple(x.shape) for x in sized.args] == [(2, 8, 4)]
    assert fixed.args == ()
    assert tuple(fixed.module(**fixed.kwargs).shape) == (2, 3, 2)


def test_twenty_architectures_of_every_kind() -> None:
    """Both sizes have the same; images have no sequence."""
    full, small = models_of("huggingface"), models_of("huggingface-small")

    heads = {a.head for a in huggingface.ARCHITECTURES.values()}
    assert full.keys() == small.keys()
    assert len(full) >= 20
    assert heads >= {"ForMaskedLM", "ForCausalLM", "ForConditionalGeneration", "ForImageClassification"}
    assert (full["bert"].sequence_length, small["bert"].sequence_length, full["vit"].sequence_length) == (512, 64, None)


@exhaustive
@pytest.mark.parametrize("name", ["bert", "llama", "t5", "whisper", "resnet"])
def test_an_architecture_computes_a_loss_of_its_labels(name: str) -> None:
    """One of each kind; at inference there are neither labels nor a loss."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    target = models_of("huggingface-small")[name].target

    module, inputs = huggingface.build(target.rpartition(":")[2], workload(target))
    with torch.no_grad():
        loss = module(**inputs).loss
        output = module(**huggingface.build(target.rpartition(":")[2], workload(target, mode="inference"))[1])

    assert torch.isfinite(loss)
    assert loss.ndim == 0
    assert output.loss is None


@exhaustive
@pytest.mark.parametrize(("named", "made"), [(None, "BertForMaskedLM"), (["BertModel"], "BertModel")])
def test_a_configuration_of_ones_own_is_built(tmp_path: Path, named: list[str] | None, made: str) -> None:
    """With the class it names, else that of its architecture; a model without a head gets no labels, and can be trained."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from bench.measure.pytorch.loading import build

    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "vocab_size": 50,
    }
    (tmp_path / "tiny.json").write_text(json.dumps({"model_type": "bert", "architectures": named, **sizes}))
    (model,) = models_of(f"path:{tmp_path / 'tiny.json'}").values()

    built = build(workload(model.target))

    assert type(built.module).__name__ == made
    assert (built.module.config.hidden_size, built.module.config.vocab_size) == (16, 50)
    assert ("labels" in built.kwargs) == (named is None)
    output = built.module(**built.kwargs)
    assert torch.isfinite(output[0]).all()


def test_a_longer_sequence_than_there_are_positions_is_refused() -> None:
    """In words, rather than by an index out of range."""
    pytest.importorskip("transformers")

    with pytest.raises(ValueError, match="n has 512 positions, and 513 are asked for"):
        huggingface.build("small/bert", workload("", sequence_length=513))


def test_a_suite_that_lacks_its_package_is_skipped_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its models are listed all the same; of torchbench, whose models lie in its folder, those that are known."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    for suite, cure in (
        ("huggingface", "bench-warehouse[huggingface]"), ("timm", "pip install timm"),
        ("torchvision", "pip install torchvision"), ("torchbench", "install.py"),
    ):  # fmt: skip
        models = models_of(suite)
        assert len(models) >= 18
        assert all(cure in str(model.skipped("inference", "cpu", "float32", "eager")) for model in models.values())


def test_a_model_of_torchvision_drops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its weights are random; dropout and stochastic depth stay in the graph, and let everything through."""
    torch = pytest.importorskip("torch")

    class StochasticDepth(torch.nn.Module):  # type: ignore[misc,name-defined]
        p = 0.5

    made = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Sequential(StochasticDepth()))
    models = SimpleNamespace(get_model=lambda name, weights: made if (name, weights) == ("vgg16", None) else None)
    package = SimpleNamespace(models=models, ops=SimpleNamespace(StochasticDepth=StochasticDepth))
    monkeypatch.setitem(sys.modules, "torchvision", package)

    module, (images,) = torchvision.build("vgg16", workload(""))

    assert module is made and tuple(images.shape) == (2, 3, 224, 224)
    assert 0 < made[0].p == made[1][0].p < 1e-20


def test_a_torchvision_of_another_torch_is_told_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that was said: operator torchvision::nms does not exist."""

    def fail(name: str) -> object:
        raise RuntimeError("operator torchvision::nms does not exist" if name == "timm" else "other")

    monkeypatch.setattr(importlib, "import_module", fail)
    monkeypatch.setattr(importlib.metadata, "version", {"torch": "2.13", "torchvision": "0.29"}.get)
    with pytest.raises(
        BenchError, match=r"torchvision 0.29 was built for another torch than 2.13 .*pip install torch torchvision"
    ):
        imported("timm")
    with pytest.raises(RuntimeError, match="other"):
        imported("torchvision")


def test_torchbench_is_the_folders_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each at its own batch size or the one asked for, with the skips known of it."""
    for name in ("alexnet", "llama", "no_model"):
        (tmp_path / "torchbenchmark" / "models" / name).mkdir(parents=True)
    (tmp_path / "torchbenchmark" / "__init__.py").write_text("raise RuntimeError('imported')")
    for name in ("alexnet", "llama"):
        (tmp_path / "torchbenchmark" / "models" / name / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))

    found = models_of("torchbench")

    assert list(found) == ["alexnet", "llama"]
    assert found["llama"].skipped("training", "cpu") == "it is not made for training"
    assert found["llama"].skipped("inference", "cpu") is None
    assert [m.batch_size for m in found.values()] == [0, 0]


def test_torchbench_builds_for_its_mode_and_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its own interface: Model(test, device, batch_size).get_module()."""

    class Model:
        def __init__(self, **given: Any) -> None:
            self.given = given

        def get_module(self) -> tuple[Any, Any]:
            return "module", self.given

    monkeypatch.setattr("importlib.import_module", lambda name: type("M", (), {"Model": Model}))

    assert torchbench.build("alexnet", workload("", batch_size=0, mode="inference")) == (
        "module",
        {"test": "eval", "device": "cpu", "batch_size": None},
    )


def test_every_suite_is_listed_without_importing_what_it_runs() -> None:
    """No torch, no transformers: the plan is printed in an instant."""
    code = """
import sys
from bench.measure.suites.model import imported
from bench.measure.suites.registry import models_of
print(*(len(models_of(suite)) > 4 for suite in ("builtin", "huggingface", "huggingface-small", "timm", "torchvision")))
print([name for name in ("torch", "transformers", "timm", "torchvision") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["True True True True True", "[]"]


def test_known_suites_have_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that need a package are there, too."""
    assert set(registry.known()) >= {"builtin", "huggingface", "huggingface-small", "timm", "torchbench", "torchvision"}


def test_a_model_may_ask_not_to_be_judged() -> None:
    """By the word accuracy among its conditions: it is timed, and its accuracy passes with the reason."""
    model = Model("m:M", 1, skips={"accuracy training": "too large", "cuda": "no GPU version"})

    for_cpu, trained, for_gpu = (
        product("s", {"m": model}, backends=[], modes=[mode], devices=[device], dtypes=["float32"])[0]
        for mode, device in (("inference", "cpu"), ("training", "cpu"), ("inference", "cuda:1"))
    )

    assert (for_cpu.skips, for_cpu.unchecked) == ({}, {})
    assert (trained.skips, trained.unchecked) == ({}, {"eager": "too large"})
    assert for_gpu.skips == {"eager": "no GPU version"}
