"""A backend: one way to run a model. `registry` lists all backends."""

import contextlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Example:
    """Facts about the coming calls that a backend may use."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] | None = None
    device: str = "cpu"
    mode: str = "inference"
    fullgraph: bool = False
    dynamic: bool | None = None  # None leaves torch's own choice
    target: str = ""  # what the module was made of, see loading


Prepare = Callable[[Any, Example], Callable[..., Any]]


@dataclass(frozen=True, slots=True)
class Backend:
    """One way to run a model.

    `prepare` turns a module and an example into what is called in the module's place; it is part of the first call.
    `missing` takes a device and says, with the cure, why the backend cannot run there; None if it can. `needs` are
    packages, each with its install line. `dynamo` tells whether torch._dynamo's counters are about it, `inductor` whether
    it compiles by Inductor, `training` whether it can train, `changes` whether it changes the module, and so gets a copy,
    and `rough` whether what it gives is meant to differ, and is judged by its cosine with eager's. `graphs` tells that on a
    GPU it records a CUDA graph at the second call and replays it from the third on, so that the first is not what it will be.
    """

    name: str
    prepare: Prepare
    missing: Callable[[str], str | None] = lambda device: None
    needs: Mapping[str, str] | None = None
    dynamo: bool = False
    inductor: bool = False
    training: bool = True
    changes: bool = False
    rough: bool = False
    graphs: bool = False

    def unavailable(self, device: str, mode: str) -> str | None:
        """The reason for which this backend cannot run a workload; None if it can."""
        if mode == "training" and not self.training:
            return f"{self.name} is for inference only"
        for package, cure in (self.needs or {}).items():
            if not _found(package):
                return f"{package} is not installed. Install it with: {cure}"
        return self.missing(device)


def _found(package: str) -> bool:
    with contextlib.suppress(ValueError):
        return importlib.util.find_spec(package) is not None
    return True  # it is there, though it has no spec
