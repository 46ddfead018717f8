"""A torch model made runnable by any number of backends."""

import contextlib
import copy
import hashlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from . import backends
from .devices import Device, device
from .loading import build
from .plan import BASELINE, Settings, Workload
from .program import Agreement, ModelFailed

if TYPE_CHECKING:
    import torch

# How far outputs may be from eager's, absolutely and relatively: rounding of that type, through some hundred operations.
TOLERANCES = {"float64": 1e-7, "float32": 1e-3, "bfloat16": 5e-2, "float16": 1e-2}


class TorchProgram:
    """One torch model at one size, for any number of backends, each with weights of its own."""

    def __init__(self, workload: Workload, settings: Settings) -> None:
        """Build the model and its inputs, the same for the same seed.

        Raises:
            ModelFailed: They could not be built.
        """
        import torch
        from torch.utils._pytree import tree_map_only

        if settings.threads is not None:
            torch.set_num_threads(settings.threads)
        torch.set_grad_enabled(workload.mode == "training")
        self._workload = workload
        self.device: Device = device(workload.device)
        if self.device.missing() is not None:
            return
        try:
            torch.manual_seed(settings.seed)
            built = build(workload)
            dtype = getattr(torch, workload.dtype)
            self._module = built.module.to(workload.device, dtype).train(workload.mode == "training")
            self._args, self._kwargs = tree_map_only(
                torch.Tensor,
                lambda x: x.to(workload.device, dtype) if x.is_floating_point() else x.to(workload.device),
                (built.args, dict(built.kwargs)),
            )
        except Exception as error:
            raise ModelFailed from error

    def missing(self, backend: str) -> str | None:
        """Why that backend cannot run here, with the cure; None if it can."""
        return self.device.missing() or backends.backend(backend).missing(self._workload.device)

    def prepare(self, backend: str) -> Callable[[], Any]:
        """One step of the workload by that backend: a forward pass, or forward, loss, backward and optimizer step."""
        import torch
        from torch._dynamo.utils import counters

        counters.clear()  # and no dynamo reset: it would make the backends prepared before compile anew
        training = self._workload.mode == "training"
        module = copy.deepcopy(self._module) if training else self._module
        forward, args, kwargs = backends.backend(backend).prepare(module), self._args, self._kwargs
        if not training:
            return lambda: forward(*args, **kwargs)
        parameters = list(module.parameters())
        optimizer = torch.optim.SGD(parameters, lr=1e-3)

        def train() -> Any:
            optimizer.zero_grad()
            loss = _loss(forward(*args, **kwargs))
            loss.backward()
            optimizer.step()
            return loss, [p.grad for p in parameters]

        return train

    def counters(self, backend: str) -> dict[str, float]:
        """What the compiler counted since `prepare`, by metric; nothing for a backend that does not compile."""
        if not backends.backend(backend).dynamo:
            return {}
        from torch._dynamo.utils import counters

        return {
            "calls_captured": counters["stats"]["calls_captured"],
            "unique_graphs": counters["stats"]["unique_graphs"],
            "graph_breaks": sum(counters["graph_break"].values()),
            "unique_graph_breaks": len(counters["graph_break"]),
        }

    def keep(self, output: Any) -> list["torch.Tensor"]:
        """A copy of a step's output (and gradients) that later steps leave alone."""
        return [tensor.detach().to("cpu", copy=True) for tensor in _tensors(output)]

    def agree(self, expected: list["torch.Tensor"], actual: list["torch.Tensor"]) -> Agreement:
        """Whether two kept outputs are equal, but for the rounding their type allows; NaN equals NaN."""
        import torch

        tolerance = TOLERANCES[self._workload.dtype]
        if [x.shape for x in expected] != [x.shape for x in actual]:
            return Agreement(
                False, f"{len(actual)} tensors, whose shapes differ from {BASELINE}'s {len(expected)}", None
            )
        pairs = [(x.double(), y.double()) for x, y in zip(expected, actual, strict=True)]
        error = max((float((x - y).abs().nan_to_num(0.0).max()) for x, y in pairs if x.numel()), default=0.0)
        equal = all(torch.allclose(y, x, rtol=tolerance, atol=tolerance, equal_nan=True) for x, y in pairs)
        what = (
            f"largest difference from {BASELINE} {error:.2g}, tolerance {tolerance:g}; output sha256 {_digest(actual)}"
        )
        return Agreement(equal, what, error)

    def settle(self) -> None:
        """Let nothing of the compiler run on beside the samples: its idle helper processes end."""
        with contextlib.suppress(ImportError, AttributeError):
            from torch._inductor.async_compile import shutdown_compile_workers

            shutdown_compile_workers()


def _loss(output: Any) -> Any:
    """The model's own loss if its output has one, else a scalar of everything it returns."""
    own = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
    if own is not None:
        return own
    return sum(tensor.float().square().mean() for tensor in _tensors(output) if tensor.is_floating_point())


def _tensors(value: Any) -> Iterator["torch.Tensor"]:
    """The tensors of a nested output, in order."""
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def _digest(tensors: list["torch.Tensor"]) -> str:
    import torch

    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:16]
