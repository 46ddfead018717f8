"""Backends that export a model from Python: each turns a module and an example into a callable."""

import inspect
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..backend import Example

Call = Callable[..., Any]


def _exported(module: Any, example: "Example") -> Any:
    import torch

    return torch.export.export(module, example.args, dict(example.kwargs or {}))


def export(module: Any, example: "Example") -> Call:
    """The graph torch.export finds, run operator by operator."""
    call: Call = _exported(module, example).module()
    return call


def aotinductor(module: Any, example: "Example") -> Call:
    """The exported graph compiled to a shared library, loaded back."""
    import torch

    with tempfile.TemporaryDirectory(prefix="bench-aotinductor-") as folder:
        package = torch._inductor.aoti_compile_and_package(
            _exported(module, example), package_path=str(Path(folder) / "model.pt2")
        )
        call: Call = torch._inductor.aoti_load_package(package)
    return call


def torchscript(module: Any, example: "Example") -> Call:
    """The module traced by TorchScript."""
    import torch

    trace: Any = torch.jit.trace
    how = {"strict": False, "check_trace": False}  # dicts may come out, and eager is compared with anyway
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the user chose this backend
        if not example.kwargs:
            call: Call = trace(module, example.args, **how)
        else:  # it takes inputs by place or by name, and not both
            named = inspect.signature(module.forward).bind(*example.args, **example.kwargs).arguments
            call = trace(module, example_kwarg_inputs=named, **how)
    return call
