"""Backends: the ways to run a model. One backend is one entry here.

Another package offers one as an entry point of group `bench.backends`: a function without arguments that returns a
`Backend`. `torch:NAME` is whatever torch._dynamo knows by that name: `torch:eager` is eager through the frame
evaluation alone, which is what that costs. And `model:NAME` is another model in the first one's place: a class of the
same file, with the same weights and inputs, that should compute the same.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib.metadata import entry_points
from typing import Any

from ...warehouse.errors import UnknownName
from . import loading
from .backend import Backend, Example
from .backends import cuda_graph, exports, needs, onnx_session, quantization

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


def compiled_backward(backend: Backend, example: Example) -> Callable[[], Any]:
    """The context of a backward pass that is captured as it runs, and compiled by the same backend."""
    from torch._dynamo import compiled_autograd

    return lambda: compiled_autograd._enable(
        lambda graph: backend.prepare(graph, example), dynamic=bool(example.dynamic)
    )


def _compiler(name: str, missing: Callable[[str], str | None] = lambda device: None, **how: Any) -> Backend:
    """A backend of torch.compile."""
    return Backend(name, partial(compiled, **{"backend": name, **how}), missing, dynamo=True)


def _quantized(
    mode: str, missing: Callable[[str], str | None] = needs.without_compiler, *, quantizes: bool = True
) -> Backend:
    """A mode of torchao, then inductor; int8weightonly has no suffix."""
    quantize = getattr(quantization, mode)

    def prepare(module: Any, example: Example) -> Callable[..., Any]:
        return compiled(quantize(module, example.device), example, options=quantization.OPTIONS)

    name = "quantized" if mode == "int8weightonly" else f"quantized-{mode}"
    packages = quantization.INSTALL if quantizes else None
    return Backend(
        name, prepare, missing, packages, dynamo=True, inductor=True, training=False, changes=quantizes, rough=quantizes
    )


def _inductor(name: str, **how: Any) -> Backend:
    called = f"inductor-{name}" if name else "inductor"
    return replace(_compiler(called, needs.without_compiler, backend="inductor", **how), inductor=True)


_ONNX = {name: f"pip install {name}" for name in ("onnx", "onnxscript", "onnxruntime")}

OWN = (
    Backend("eager", lambda module, example: module),
    _compiler("aot_eager"),
    _inductor(""),
    replace(_inductor("reduce-overhead", mode="reduce-overhead"), graphs=True),
    replace(_inductor("max-autotune", mode="max-autotune"), missing=needs.without_large_gpu, graphs=True),
    replace(_inductor("no-cudagraphs", mode="max-autotune-no-cudagraphs"), missing=needs.without_large_gpu),
    replace(_inductor("freezing", options={"freezing": True}), training=False, changes=True),
    replace(_compiler("cudagraphs", needs.without_gpu), graphs=True),
    Backend("eager-cudagraph", cuda_graph.captured, needs.without_gpu, training=False),
    Backend("export", exports.export, training=False),
    Backend("aotinductor", exports.aotinductor, needs.without_headers, inductor=True, training=False),
    Backend("torchscript", exports.torchscript),
    Backend("onnxruntime", onnx_session.exported, onnx_session.missing, _ONNX, training=False),
    Backend("onnxruntime-torchscript", partial(onnx_session.exported, dynamo=False), onnx_session.missing, _ONNX,
            training=False),
    replace(
        _compiler("tensorrt", needs.without_gpu), needs={"torch_tensorrt": "pip install torch-tensorrt"}, training=False
    ),
    replace(_compiler("xla", backend="openxla"), needs={"torch_xla": "pip install torch-xla"}),
    _quantized("int8weightonly"),
    _quantized("int8dynamic"),
    _quantized("int4weightonly"),
    _quantized("autoquant", lambda device: quantization.without_autoquant(device) or needs.without_compiler(device)),
    _quantized("noquant", quantizes=False),
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
