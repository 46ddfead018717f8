"""What a worker asks of a workload: the same for a torch model and for whatever else can be run by several backends."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from .devices import Device
from .plan import Settings, Workload


@dataclass(frozen=True, slots=True)
class Agreement:
    """Whether a backend's output is the baseline's, in words, and the largest absolute difference if it is a number."""

    equal: bool
    what: str
    error: float | None


class ModelFailed(Exception):
    """The workload could not be built; the error is its cause."""


class Program(Protocol):
    """A workload made runnable; `torch_program.TorchProgram` is one."""

    device: Device

    def missing(self, backend: str) -> str | None:
        """Why a backend cannot run here, with the cure; None if it can."""

    def prepare(self, backend: str) -> Callable[[], Any]:
        """One step of the workload by a backend."""
        ...

    def counters(self, backend: str) -> dict[str, float]:
        """What a compiler counted since the last `prepare`, by metric."""
        ...

    def keep(self, output: Any) -> Any:
        """A copy of a step's output that later steps leave alone."""

    def agree(self, expected: Any, actual: Any) -> Agreement | None:
        """Compare two kept outputs; None where nobody asked."""
        ...

    def settle(self) -> None:
        """Called between the first calls and the samples."""


MakeProgram = Callable[[Workload, Settings], Program]
