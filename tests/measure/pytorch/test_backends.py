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

INFERENCE_ONLY = {
    "inductor-freezing", "eager-cudagraph", "export", "aotinductor", "onnxruntime", "onnxruntime-torchscript", "tensorrt",
    "quantized", "quantized-int8dynamic", "quantized-int4weightonly", "quantized-autoquant", "quantized-noquant",
}  # fmt: skip
GPU_ONLY = {"cudagraphs", "eager-cudagraph", "tensorrt"}


def test_all_of_them_are_there() -> None:
    """The compilers, their modes, the exporters; and torch's own by its name for them."""
    registry.check(("eager", "aot_eager", "inductor", "inductor-reduce-overhead", "inductor-max-autotune",
                    "inductor-no-cudagraphs", "inductor-freezing", "cudagraphs", "export", "aotinductor", "torchscript",
                    "onnxruntime", "onnxruntime-torchscript", "tensorrt", "xla", "eager-cudagraph", "quantized",
                    "quantized-int8dynamic", "quantized-int4weightonly", "quantized-autoquant", "quantized-noquant",
                    "torch:tvm"))  # fmt: skip
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
        "onnxruntime-torchscript": "onnx is not installed. Install it with: pip install onnx",
        "tensorrt": "torch_tensorrt is not installed. Install it with: pip install torch-tensorrt",
        "xla": "torch_xla is not installed. Install it with: pip install torch-xla",
        **{
            f"quantized{mode}": "torchao is not installed. Install it with: pip install torchao"
            for mode in ("", "-int8dynamic", "-int4weightonly", "-autoquant")
        },
    }


@pytest.fixture
def large_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SimpleNamespace:
    """A machine with a GPU that nothing is missing on; its properties can be changed."""
    torch = pytest.importorskip("torch")
    gpu = SimpleNamespace(multi_processor_count=132, capability=(9, 0))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: gpu)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: gpu.capability)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: "there")
    monkeypatch.setattr("shutil.which", lambda name: str(tmp_path / "bin" / name))
    monkeypatch.setattr("bench.measure.pytorch.backends.needs.USUAL_HOME", str(tmp_path / "none"))
    (tmp_path / "include").mkdir()
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(variable, raising=False)
    gpu.header = tmp_path / "include" / "cuda.h"
    gpu.header.touch()
    monkeypatch.setitem(sys.modules, "torchao", SimpleNamespace(autoquant=print))
    monkeypatch.setattr("bench.measure.pytorch.backends.onnx_session.CUDA", "CUDA")
    runtime = SimpleNamespace(OrtValue=SimpleNamespace(from_dlpack=None), get_available_providers=lambda: ["CUDA"])
    monkeypatch.setitem(sys.modules, "onnxruntime", runtime)
    return gpu


def test_what_a_gpu_lacks_is_a_skip_with_its_cure(large_gpu: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """An old one, a small one, no triton, no headers of CUDA; nothing is tuned, or compiled, under a name it does not deserve."""
    names = ("inductor", "inductor-max-autotune", "inductor-no-cudagraphs", "aotinductor")
    assert [backend(name).missing("cuda:0") for name in names] == [None] * 4

    large_gpu.multi_processor_count = 40
    assert "68 multiprocessors and more, and this one has 40" in str(backend("inductor-max-autotune").missing("cuda:0"))
    assert backend("inductor").missing("cuda:0") is None
    large_gpu.header.unlink()
    assert "CUDA_HOME" in str(backend("aotinductor").missing("cuda:0"))
    large_gpu.capability = (6, 1)
    assert "7.0 and up; this one has 6.1" in str(backend("inductor").missing("cuda:0"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "triton" else "there")
    assert "pip install triton" in str(backend("inductor").missing("cuda:0"))
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert "apt install gcc" in str(backend("inductor").missing("cuda:0"))


def test_some_are_for_inference_or_for_a_gpu_only(large_gpu: SimpleNamespace) -> None:
    """A skip with its reason, not a failure."""

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
    with pytest.raises(ValueError, match="is not a class, so it cannot be compared"):
        backend("model:Second").prepare(module, Example(target="suite:build:bert"))
    assert backend("model:Second").unavailable("cpu", "training") == "model:Second is for inference only"
