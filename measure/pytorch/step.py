"""One step of a torch model: a forward pass, or forward, loss, backward pass and optimizer step."""

import contextlib
import copy
import functools
import itertools
import operator
from collections.abc import Callable, ItemsView, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .accuracy import tensors
from .settings import Knobs

POOL = 8  # of random inputs
LEARNING_RATE = 1e-3
AMP = "amp"  # of a dtype: autocast, to the device's usual type, or to the one after the underscore


@dataclass(frozen=True, slots=True)
class PreparedModel:
    """A module on its device in its type, with what to call it with."""

    module: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def cast(self, device: str, dtype: Any | None) -> "PreparedModel":
        """The model on a device; floating-point numbers in `dtype`, unless it is None."""
        import torch
        from torch.utils._pytree import tree_map_only

        args, kwargs = tree_map_only(
            torch.Tensor,
            lambda x: x.to(device, dtype) if dtype and x.is_floating_point() else x.to(device),
            (self.args, dict(self.kwargs)),
        )
        return PreparedModel(self.module.to(device, dtype) if dtype else self.module.to(device), args, kwargs)

    def copied(self) -> "PreparedModel":
        """A copy with weights of its own."""
        return replace(self, module=copy.deepcopy(self.module))

    @property
    def size_bytes(self) -> int:
        """The size of parameters and buffers; with shards, of those held here."""
        return sum(_local(x).nbytes for x in self.weights())

    def weights(self) -> Iterator[Any]:
        """Parameters and buffers."""
        return itertools.chain(self.module.parameters(), self.module.buffers())

    def pool(self) -> list[tuple[tuple[Any, ...], Mapping[str, Any]]]:
        """Its inputs and seven similar ones; integers are shuffled, because they must stay valid indices."""
        import torch
        from torch.utils._pytree import tree_map_only

        def another(x: Any) -> Any:
            return torch.randn_like(x) if x.is_floating_point() else x.flatten()[torch.randperm(x.numel())].view_as(x)

        others = [tree_map_only(torch.Tensor, another, (self.args, dict(self.kwargs))) for _ in range(POOL - 1)]
        return [(self.args, self.kwargs), *others]


def types(dtype: str, device: str) -> tuple[Any | None, Callable[[], Any]]:
    """The meaning of a dtype: the type to cast a model to, None for none, and the context its forward pass runs in."""
    import torch

    if not dtype.startswith(AMP):
        return getattr(torch, dtype), contextlib.nullcontext
    kind = device.partition(":")[0]
    low = getattr(torch, dtype.removeprefix(AMP).removeprefix("_")) if dtype != AMP else torch.get_autocast_dtype(kind)
    return torch.float32, lambda: torch.autocast(kind, dtype=low)


def turned(model: PreparedModel, knobs: Knobs, mode: str) -> PreparedModel:
    """The model with the knobs applied.

    Raises:
        ValueError: It has no parts to checkpoint.
    """
    import torch

    module = model.module.train(mode == "training" and not knobs.eval_mode)
    if knobs.channels_last:
        from torch.utils._pytree import tree_map_only

        def last(x: Any) -> Any:
            return x.to(memory_format=torch.channels_last) if x.dim() == 4 else x

        module = module.to(memory_format=torch.channels_last)
        args, kwargs = tree_map_only(torch.Tensor, last, (model.args, dict(model.kwargs)))
        model = PreparedModel(module, args, kwargs)
    if knobs.checkpointing and mode == "training":
        _checkpoint(module)
    return model


def mark_batch(model: PreparedModel, batch_size: int) -> None:
    """Have torch.compile take the batch for any size: in each input, the first dimension that is as large."""
    import torch
    from torch.utils._pytree import tree_leaves

    for x in tree_leaves((model.args, dict(model.kwargs))):
        if isinstance(x, torch.Tensor) and batch_size in x.shape:
            torch._dynamo.maybe_mark_dynamic(x, list(x.shape).index(batch_size))


def _checkpoint(module: Any) -> None:
    """Checkpoint by the model's own switch if it has one, as in transformers, else each of its submodules."""
    from torch.utils.checkpoint import checkpoint

    if hasattr(module, "gradient_checkpointing_enable"):
        module.gradient_checkpointing_enable()
        return
    parts = list(module.children())
    if not parts:
        raise ValueError("activation checkpointing: the model has no parts to checkpoint")
    for part in parts:
        part.forward = functools.partial(checkpoint, part.forward, use_reentrant=False)


@dataclass(frozen=True, slots=True)
class Gradients(Mapping[str, Any]):
    """Those of a module's parameters, by name, as they are when one looks: to gather them would be timed with each step."""

    module: Any

    def __getitem__(self, name: str) -> Any:
        return self._found()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found())

    def __len__(self) -> int:
        return len(self._found())

    def items(self) -> ItemsView[str, Any]:
        """All of them, found once: item by item, each would walk through the whole module."""
        return self._found().items()

    def _found(self) -> dict[str, Any]:
        return {name: p.grad for name, p in self.module.named_parameters() if p.grad is not None}


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """A step of training, as a function without arguments."""

    module: Any
    run: Callable[[], Any]
    amp: Callable[[], Any]
    optimizer: Any
    backward: Callable[[], Any] = contextlib.nullcontext  # the context that the backward pass runs in

    def __call__(self) -> Any:
        """The output with the loss, and the gradients by parameter."""
        self.optimizer.zero_grad()
        with self.amp():
            output = self.run()
            loss = _loss(output)
        with self.backward():
            loss.backward()
        self.optimizer.step()
        return {"output": output, "loss": loss, "gradients": Gradients(self.module)}

    @property
    def gradient_bytes(self) -> int:
        """The size of the gradients that the last step left."""
        return sum(_local(p.grad).nbytes for p in self.module.parameters() if p.grad is not None)

    @property
    def optimizer_bytes(self) -> int:
        """The size of the optimizer's state."""
        import torch
        from torch.utils._pytree import tree_leaves

        return sum(_local(x).nbytes for x in tree_leaves(dict(self.optimizer.state)) if isinstance(x, torch.Tensor))

    @property
    def held_bytes(self) -> int:
        """The size of weights, gradients and optimizer state: all that is held between two steps."""
        return PreparedModel(self.module, (), {}).size_bytes + self.gradient_bytes + self.optimizer_bytes


def _local(tensor: Any) -> Any:
    """The local shard of a tensor; the tensor itself if it has none."""
    return getattr(tensor, "to_local", lambda: tensor)()


def step(
    model: PreparedModel,
    forward: Callable[..., Any],
    mode: str,
    amp: Callable[[], Any],
    knobs: Knobs,
    backward: Callable[[], Any] = contextlib.nullcontext,
) -> Callable[[], Any]:
    """The function that one measured call runs. It returns the output; in training it is a TrainingStep."""
    import torch

    if knobs.randomize_inputs:
        inputs = itertools.cycle(model.pool())
        run = _cycling(forward, inputs)
    else:
        run = _fixed(forward, model.args, model.kwargs)
    inferring = run if amp is contextlib.nullcontext else _within(amp, run)
    if mode != "training":
        return inferring
    kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[knobs.optimizer or "sgd"]
    return TrainingStep(model.module, run, amp, kind(model.module.parameters(), lr=LEARNING_RATE), backward)


def _fixed(forward: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Callable[[], Any]:
    return lambda: forward(*args, **kwargs)


def _cycling(forward: Callable[..., Any], inputs: "itertools.cycle[Any]") -> Callable[[], Any]:
    def run() -> Any:
        args, kwargs = next(inputs)
        return forward(*args, **kwargs)

    return run


def _within(context: Callable[[], Any], run: Callable[[], Any]) -> Callable[[], Any]:
    def inside() -> Any:
        with context():
            return run()

    return inside


def _loss(output: Any) -> Any:
    """The model's own loss if its output has one, else a scalar of everything it returns.

    Raises:
        ValueError: It returns nothing there could be a gradient of.
    """
    own = output.get("loss") if isinstance(output, Mapping) else getattr(output, "loss", None)
    if own is not None:
        return own
    parts = [tensor.float().square().mean() for _, tensor in tensors(output) if tensor.is_floating_point()]
    if not parts:
        raise ValueError(
            f"nothing to train on: the model returns {type(output).__name__}, and no tensor of real numbers"
        )
    return functools.reduce(operator.add, parts)  # sum() would add to 0, which is a kernel more
