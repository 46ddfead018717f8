"""ONNX: the model as torch exports it, run by ONNX Runtime. An export fails in one of five ways, each an exception of its own.

The name of the exception is that of the outcome, by which the view export_failures counts; its cause is in the text.
"""

import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...engine.messages import reason_of

if TYPE_CHECKING:
    from ..backend import Example

UPGRADE = "pip install --upgrade onnxruntime"
ON_GPU = "pip uninstall onnxruntime && pip install onnxruntime-gpu"
CUDA = "CUDAExecutionProvider"
UNTRANSLATED = {  # what torch's exporters raise, by name, since their classes are private or move
    "ConversionError", "DispatchError", "GraphConstructionError", "UnsupportedOperatorError", "SymbolicValueError",
}  # fmt: skip


class OnnxFailure(Exception):
    """A model did not make it to ONNX Runtime, or through it; the first error is its cause."""

    def __init__(self, error: BaseException) -> None:
        *_, first = _causes(error)
        super().__init__(reason_of(first))


class CaptureFailed(OnnxFailure):
    """Torch could not take the model's graph."""


class TranslationFailed(OnnxFailure):
    """An operator of the graph has no counterpart in ONNX."""


class OnnxFileFailed(OnnxFailure):
    """The exported file is not valid ONNX."""


class SessionFailed(OnnxFailure):
    """ONNX Runtime does not load it."""


class SessionRunFailed(OnnxFailure):
    """ONNX Runtime does not run it."""


def missing(device: str) -> str | None:
    """The reason for which ONNX Runtime cannot run on a device, with the cure; None if it can."""
    import onnxruntime as ort

    if not hasattr(ort.OrtValue, "from_dlpack"):
        return f"onnxruntime {ort.__version__} takes no tensors of torch. Install a newer one with: {UPGRADE}"
    if device.startswith("cuda") and CUDA not in ort.get_available_providers():
        return f"this onnxruntime runs on the CPU only. Install the other with: {ON_GPU}"
    return None


def exported(module: Any, example: "Example", *, dynamo: bool = True) -> "Session":
    """The model in ONNX Runtime, by the exporter on torch.export or, without `dynamo`, by that on TorchScript.

    Raises:
        OnnxFailure: In one of its ways.
    """
    import onnx
    import onnxruntime as ort
    import torch

    kind, _, index = example.device.partition(":")
    with tempfile.TemporaryDirectory(prefix="bench-onnx-") as folder:
        path = str(Path(folder) / "model.onnx")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # the user chose this exporter
                torch.onnx.export(
                    module, example.args, path, kwargs=dict(example.kwargs or {}), dynamo=dynamo, verbose=False
                )
        except Exception as error:
            names = {type(one).__name__ for one in _causes(error)}
            raise (TranslationFailed if names & UNTRANSLATED else CaptureFailed)(error) from error
        try:
            onnx.checker.check_model(path)
        except Exception as error:
            raise OnnxFileFailed(error) from error
        own = [(CUDA, {"device_id": int(index or 0)})] if kind == "cuda" else []
        try:
            return Session(ort.InferenceSession(path, providers=[*own, "CPUExecutionProvider"]), kind, int(index or 0))
        except Exception as error:
            raise SessionFailed(error) from error


class Session:
    """A model in ONNX Runtime. Its outputs are a list, in the order of the model's tensors.

    Tensors are handed over where they lie, on a GPU as on a CPU. ONNX Runtime waits for its own stream before it returns.
    """

    def __init__(self, session: Any, kind: str, index: int) -> None:
        """Take a session on a device.

        Raises:
            RuntimeError: It has fallen back to the CPU.
        """
        if kind == "cuda" and CUDA not in session.get_providers():
            raise RuntimeError(f"ONNX Runtime fell back to the CPU: {', '.join(session.get_providers())}")
        self._session, self._place = session, (kind, index)
        self._inputs = [given.name for given in session.get_inputs()]
        self._outputs = [made.name for made in session.get_outputs()]

    def __call__(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Run it.

        Raises:
            SessionRunFailed: ONNX Runtime raised.
        """
        import onnxruntime as ort
        import torch
        from torch.utils._pytree import tree_leaves
        from torch.utils.dlpack import from_dlpack

        given = [x.detach().contiguous() for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        try:
            binding = self._session.io_binding()
            for name, x in zip(self._inputs, given, strict=True):
                binding.bind_ortvalue_input(name, ort.OrtValue.from_dlpack(x))
            for name in self._outputs:
                binding.bind_output(name, *self._place)
            self._session.run_with_iobinding(binding)
            return [from_dlpack(y) for y in binding.get_outputs()]
        except Exception as error:
            raise SessionRunFailed(error) from error


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and what caused it, the first of all at the end."""
    seen: list[BaseException] = []
    found: BaseException | None = error
    while found is not None and found not in seen:
        seen.append(found)
        yield found
        found = found.__cause__
