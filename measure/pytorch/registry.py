"""Backends: the ways to run a model. One backend is one entry here.

Another package offers one as an entry point of group `bench.backends`: a function without arguments that returns a
`Backend`. `torch:NAME` is whatever torch._dynamo knows by that name: `torch:eager` is eager through the frame
evaluation alone, which is what that costs. And `model:NAME` is another model in the first one's place: a class of the
same file, with the same weights and inputs, that should compute the same.
"""

import inspect
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib.metadata import entry_points
from typing import Any

from ...warehouse.errors import UnknownName
from . import exports, loading
from .backend import Backend, Example

GROUP = "bench.backends"
TORCH, MODEL = "torch:", "model:"


def compiled(
    module: Any, example: Example, *, backend: str | Callable[..., Any] = "inductor", **how: Any
) -> Callable[..., Any]:
    """A module by torch.compile; nothing is compiled before the first call."""
    import torch

    if "isolate_recompiles" in inspect.signature(torch.compile).parameters:
        how["isolate_recompiles"] = True  # else the code that another backend compiled counts as compiled before
    call: Callable[..., Any] = torch.compile(
        module, backend=backend, fullgraph=example.fullgraph, dynamic=example.dynamic, **how
    )
    return call


def _compiler(name: str, missing: Callable[[str], str | None] = lambda device: None, **how: Any) -> Backend:
    """A backend of torch.compile."""
    return Backend(name, partial(compiled, **{"backend": name, **how}), missing, dynamo=True)


def _without_compiler(device: str) -> str | None:
    if device == "cpu":
        compilers = filter(None, (os.environ.get("CXX"), "g++", "clang++"))
        if not any(map(shutil.which, compilers)):
            return "inductor needs a C++ compiler on the CPU. Install one with: apt install g++ (or set CXX)"
    elif shutil.which("cc") is None and shutil.which("gcc") is None:
        return "inductor's triton needs a C compiler. Install one with: apt install gcc"
    return None


def _without_gpu(device: str) -> str | None:
    return None if device.startswith("cuda") else "it needs a GPU. Measure it with: --devices cuda"


def _quantized(module: Any, example: Example) -> Callable[..., Any]:
    from torchao.quantization import Int8WeightOnlyConfig, quantize_

    quantize_(module, Int8WeightOnlyConfig())
    return compiled(module, example)


def _inductor(name: str, **how: Any) -> Backend:
    return _compiler(f"inductor-{name}" if name else "inductor", _without_compiler, backend="inductor", **how)


_ONNX = {name: f"pip install {name}" for name in ("onnx", "onnxscript", "onnxruntime")}

OWN = (
    Backend("eager", lambda module, example: module),
    _compiler("aot_eager"),
    _inductor(""),
    _inductor("reduce-overhead", mode="reduce-overhead"),
    _inductor("max-autotune", mode="max-autotune"),
    _inductor("no-cudagraphs", mode="max-autotune-no-cudagraphs"),
    replace(_inductor("freezing", options={"freezing": True}), training=False, changes=True),
    _compiler("cudagraphs", _without_gpu),
    Backend("export", exports.export, training=False),
    Backend("aotinductor", exports.aotinductor, _without_compiler, training=False),
    Backend("torchscript", exports.torchscript),
    Backend("onnxruntime", exports.onnxruntime, needs=_ONNX, training=False),
    replace(
        _compiler("tensorrt", _without_gpu), needs={"torch_tensorrt": "pip install torch-tensorrt"}, training=False
    ),
    replace(_compiler("xla", backend="openxla"), needs={"torch_xla": "pip install torch-xla"}),
    Backend("quantized", _quantized, _without_compiler, {"torchao": "pip install torchao"}, dynamo=True, training=False,
            changes=True, rough=True),
)  # fmt: skip


def _of_torch(name: str) -> Backend:
    """A backend by torch._dynamo's own name for it, whichever it is."""

    def missing(device: str) -> str | None:
        import torch._dynamo

        offered = torch._dynamo.list_backends(exclude_tags=())
        return None if name in offered else f"torch._dynamo has no backend {name!r}. It has: {', '.join(offered)}"

    return replace(_compiler(name, missing), name=TORCH + name)


def _model(name: str) -> Backend:
    """Another class of the model's file, in place of the model."""
    return Backend(MODEL + name, lambda module, example: loading.beside(example.target, name, module), training=False)


def known() -> Mapping[str, Callable[[], Backend]]:
    """Backends by name: our own, and those of installed packages."""
    own = {backend.name: (lambda backend=backend: backend) for backend in OWN}
    return {**{point.name: (lambda point=point: point.load()()) for point in entry_points(group=GROUP)}, **own}


def check(names: tuple[str, ...]) -> None:
    """Refuse an unknown backend; the worker checks `torch:` and `model:` names.

    Raises:
        UnknownName: With the nearest that is one.
    """
    for name in names:
        if name not in known() and (not name.startswith((TORCH, MODEL)) or name.endswith(":")):
            cure = f"There are: {', '.join(known())}; {TORCH}NAME, for those of torch._dynamo; and {MODEL}CLASS."
            raise UnknownName("backend", name, known(), cure=cure)


def backend(name: str) -> Backend:
    """The backend of that name.

    Raises:
        UnknownName: There is none.
    """
    check((name,))
    for prefix, make in ((TORCH, _of_torch), (MODEL, _model)):
        if name.startswith(prefix):
            return make(name.removeprefix(prefix))
    return known()[name]()
