"""The interface between a worker and what it measures: a torch model, or anything else that several backends can run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ...warehouse.recorder import Case
from ..system.devices import Device
from .workload import Settings, Workload


@dataclass(frozen=True, slots=True)
class Agreement:
    """Whether an output is right, the reason in words, and the largest absolute difference if there is one.

    `status` overrides pass and fail_accuracy; `metrics` are further numbers of the comparison; `digest` identifies the output
    to the last bit.
    """

    equal: bool
    what: str
    error: float | None
    status: str | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    digest: str | None = None

    @property
    def judged(self) -> str:
        """The status of the accuracy."""
        return self.status or ("pass" if self.equal else "fail_accuracy")


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a compiler did: a metric of the case, with its text."""

    name: str
    value: float | None
    unit: str = "count"
    better: str | None = None
    text: str | None = None


@dataclass(slots=True)
class MeasuredBackend:
    """One backend on its way through the phases."""

    backend: str
    case: Case
    call: Callable[[], Any]
    first_ns: int
    steady_ns: list[float]  # one call, by sample


class ModelFailed(Exception):
    """The workload could not be built; the error is its cause."""


class Program(Protocol):
    """A workload made runnable, such as `pytorch.program.TorchProgram`."""

    device: Device

    def missing(self, backend: str) -> str | None:
        """Why a backend cannot run here, with the cure; None if it can."""

    def prepare(self, backend: str) -> Callable[[], Any]:
        """One step of the workload by a backend."""
        ...

    def facts(self, backend: str) -> list[Fact]:
        """What a compiler did since the last `prepare`."""
        ...

    def keep(self, output: Any) -> Any:
        """A copy of a step's output that later steps leave alone."""

    def trust(self, output: Any) -> Agreement | None:
        """Whether others can be compared with the baseline's kept output; None if accuracy is not judged."""
        ...

    def agree(self, expected: Any, actual: Any) -> Agreement | None:
        """Compare two kept outputs; None if accuracy is not judged."""
        ...

    def trace(self, backend: str, call: Callable[[], Any], place: Path) -> list[Fact]:
        """Write the trace files of one call that the settings ask for; their names begin with `place`."""
        ...

    def settle(self) -> None:
        """Called between the first calls and the samples."""


REFERENCE = "reference"  # a phase of loading, see Workload.no_reference
Enter = Callable[[str], None]  # called with the phase that loading enters
MakeProgram = Callable[[Workload, Settings, Enter], Program]


def status_of(error: BaseException) -> str:
    """The status for an exception: OOM if memory ran out on the host or a device, else fail_to_run."""
    text = str(error).lower()
    out = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return "OOM" if out or "not enough memory" in text or "can't allocate memory" in text else "fail_to_run"
