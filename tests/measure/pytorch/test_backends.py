"""Backends: which there are, where they do not run, and that each computes what eager does."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bench.measure.pytorch import compiler_stats, registry
from bench.measure.pytorch.backend import Example
from bench.measure.pytorch.registry import OWN, backend
from bench.warehouse.errors import UnknownName

INFERENCE_ONLY = {"inductor-freezing", "export", "aotinductor", "onnxruntime", "tensorrt", "quantized"}
GPU_ONLY = {"cudagraphs", "tensorrt"}


def test_all_of_them_are_there() -> None:
    """The compilers, their modes, the exporters; and torch's own by its name for them."""
    registry.check(("eager", "aot_eager", "inductor", "inductor-reduce-overhead", "inductor-max-autotune",
                    "inductor-no-cudagraphs", "inductor-freezing", "cudagraphs", "export", "aotinductor", "torchscript",
                    "onnxruntime", "tensorrt", "xla", "quantized", "torch:tvm"))  # fmt: skip
    with pytest.raises(UnknownName, match=r"Nearest: 'torchscript'.*torch:NAME, for those of torch\._dynamo"):
        registry.check(("torchscrpt",))
    with pytest.raises(UnknownName, match="model:CLASS"):
        registry.check(("model:",))


def test_what_is_not_installed_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything else that may be missing."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    cures = {one.name: one.unavailable("cuda", "inference") for one in OWN if one.needs}

    assert cures == {
        "onnxruntime": "onnx is not installed. Install it with: pip install onnx",
        "tensorrt": "torch_tensorrt is not installed. Install it with: pip install torch-tensorrt",
        "xla": "torch_xla is not installed. Install it with: pip install torch-xla",
        "quantized": "torchao is not installed. Install it with: pip install torchao",
    }


def test_some_are_for_inference_or_for_a_gpu_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A skip with its reason, not a failure."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: "there")
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/there")

    def refused(device: str, mode: str) -> set[str]:
        return {one.name for one in OWN if one.unavailable(device, mode) is not None}

    assert refused("cuda", "training") == INFERENCE_ONLY
    assert refused("cpu", "inference") == GPU_ONLY
    assert backend("export").unavailable("cpu", "training") == "export is for inference only"
    assert "--devices cuda" in str(backend("cudagraphs").unavailable("cpu", "inference"))


def test_one_that_torch_does_not_know_is_missing() -> None:
    """With those it knows; the name is looked up where torch is."""
    pytest.importorskip("torch")

    assert "It has: " in str(backend("torch:nope").unavailable("cpu", "inference"))
    assert backend("torch:eager").unavailable("cpu", "inference") is None


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    torch = pytest.importorskip("torch")
    asked: list[dict[str, Any]] = []

    def compile(module: Any, **how: Any) -> Any:
        asked.append(how)
        return module

    monkeypatch.setattr(torch, "compile", compile)
    return asked


def test_a_mode_of_inductor_is_a_backend_of_its_own(compiled: list[dict[str, Any]]) -> None:
    """So that modes are compared with each other, too; fullgraph and dynamic are passed on."""
    names = ("inductor", "inductor-max-autotune", "inductor-no-cudagraphs", "inductor-freezing", "xla", "torch:eager")
    for name in names:
        backend(name).prepare(None, Example(fullgraph=True, dynamic=True))

    usual = {"fullgraph": True, "dynamic": True}
    assert compiled == [
        {"backend": "inductor", **usual},
        {"backend": "inductor", "mode": "max-autotune", **usual},
        {"backend": "inductor", "mode": "max-autotune-no-cudagraphs", **usual},
        {"backend": "inductor", "options": {"freezing": True}, **usual},
        {"backend": "openxla", **usual},
        {"backend": "eager", **usual},
    ]


def test_quantized_weights_are_compiled(compiled: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    """By torchao, on a copy: the backend says that it changes the module."""
    done: list[Any] = []
    fake = SimpleNamespace(Int8WeightOnlyConfig=lambda: "int8", quantize_=lambda *given: done.append(given))
    monkeypatch.setitem(sys.modules, "torchao", SimpleNamespace(quantization=fake))
    monkeypatch.setitem(sys.modules, "torchao.quantization", fake)

    backend("quantized").prepare("module", Example())

    assert done == [("module", "int8")]
    assert compiled[0]["backend"] == "inductor"
    assert backend("quantized").changes


@pytest.mark.parametrize("name", ["eager", "aot_eager", "export", "torchscript", "torch:eager"])
def test_each_computes_what_eager_does(name: str) -> None:
    """With inputs by place and by name."""
    torch = pytest.importorskip("torch")

    class Scale(torch.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any, by: Any) -> Any:
            return {"scaled": x * by}

    inputs = (torch.arange(4.0),), {"by": torch.tensor(3.0)}

    found = backend(name).prepare(Scale().eval(), Example(*inputs))(*inputs[0], **inputs[1])

    assert found["scaled"].tolist() == [0.0, 3.0, 6.0, 9.0]


def test_an_onnx_session_gets_tensors_by_its_own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the model's inputs; what it gives comes back as tensors."""
    torch = pytest.importorskip("torch")
    seen: dict[str, Any] = {}

    class Session:
        def __init__(self, path: str, providers: list[str]) -> None:
            seen["providers"] = providers
            assert Path(path).name == "model.onnx"

        def get_inputs(self) -> list[Any]:
            return [SimpleNamespace(name="x.1"), SimpleNamespace(name="mask")]

        def run(self, names: None, given: dict[str, Any]) -> list[Any]:
            return [given["x.1"] * given["mask"]]

    monkeypatch.setitem(sys.modules, "onnxruntime", SimpleNamespace(InferenceSession=Session))
    monkeypatch.setattr(torch.onnx, "export", lambda *a, **k: SimpleNamespace(save=lambda path: None))

    call = backend("onnxruntime").prepare(None, Example((), {}, device="cuda:0"))
    (found,) = call(torch.tensor([1.0, 2.0]), mask=torch.tensor([1.0, 0.0]))

    assert found.tolist() == [1.0, 0.0]
    assert seen["providers"] == ["CUDAExecutionProvider", "CPUExecutionProvider"]


BREAKING = """
def forward(x, n):
    x = x + 1
    print("", end="")
    return x * n
"""


def test_what_the_compiler_did_is_told_once() -> None:
    """Captured calls and graphs, each graph break with reason and place, each recompilation with its reason."""
    torch = pytest.importorskip("torch")
    made: dict[str, Any] = {}
    exec(compile(BREAKING, "breaking.py", "exec"), made)
    torch._dynamo.reset()
    compiler_stats.forget()

    call = torch.compile(made["forward"], backend="eager")
    for rows in (2, 3):
        call(torch.ones(rows), 2)
    facts = compiler_stats.facts()

    values = {fact.name: fact.value for fact in facts}
    (broken,) = (fact for fact in facts if fact.name.startswith("graph_break:"))
    again = [fact for fact in facts if fact.name.startswith("recompile:")]
    assert (values["calls_captured"], values["unique_graphs"]) == (4, 4)
    assert (values["graph_breaks"], values["unique_graph_breaks"], values["recompiles"]) == (2, 1, 2)
    assert (broken.value, broken.text, "\n" in broken.name) == (2, "breaking.py:4 in forward", False)
    assert "print" in broken.name
    assert any("size mismatch" in fact.name for fact in again)
    assert values["compile_phase:_compile.compile_inner"]
    assert not any(fact.value for fact in compiler_stats.facts()), "what was told is counted no more"


def test_a_reason_loses_what_differs_from_run_to_run() -> None:
    """Hints and addresses; the explanation stays, in one line."""
    reason = "Unsupported call\n  Explanation: calls <function f at 0x7f12ab>.\n  Hint: do not.\n\n  Developer debug context: x"

    assert compiler_stats.shortened(reason) == "Unsupported call: calls <function f>."
    assert compiler_stats.shortened("call_method item") == "call_method item"


def test_another_class_of_the_file_takes_the_place_of_the_model(tmp_path: Path) -> None:
    """With the very weights of the first, in its type; one that is not there, or has others, says so."""
    torch = pytest.importorskip("torch")
    file = tmp_path / "variants.py"
    file.write_text(
        "import torch\n"
        "class First(torch.nn.Linear):\n"
        "    def __init__(self): super().__init__(2, 2)\n"
        "class Second(First):\n"
        "    def forward(self, x): return x @ self.weight.T + self.bias\n"
        "class Other(torch.nn.Linear):\n"
        "    def __init__(self): super().__init__(3, 2)\n"
    )
    module = torch.nn.Linear(2, 2).double().eval()
    example = Example(target=f"{file}:First")

    other: Any = backend("model:Second").prepare(module, example)

    assert (type(other).__name__, other.training) == ("Second", False)
    assert other.weight.data_ptr() == module.weight.data_ptr()
    for name, said in (("Other", "size mismatch"), ("Nope", "no attribute 'Nope'")):
        with pytest.raises((RuntimeError, AttributeError), match=said):
            backend(f"model:{name}").prepare(module, example)
    with pytest.raises(ValueError, match="made by a function"):
        backend("model:Second").prepare(module, Example(target="suite:build:bert"))
    assert backend("model:Second").unavailable("cpu", "training") == "model:Second is for inference only"
