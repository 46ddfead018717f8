"""The interface between a worker and what it measures: a torch model, or anything else that several backends can run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ...warehouse.recorder import Case
from ..system.devices import Device
from ..system.host_memory import Peak
from .workload import Settings, Workload


@dataclass(frozen=True, slots=True)
class Agreement:
    """The verdict on an output: right or not, the reason in words, and the largest absolute difference if there is one.

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
    first_ns: int  # of all first calls together
    steady_ns: list[float]  # one call, by sample
    first_calls: int = 1


class ModelFailed(Exception):
    """The workload could not be built; the error is its cause."""


Measured = Callable[[], tuple[list[Peak], list[Fact]]]  # waits for what is being measured elsewhere


class Program(Protocol):
    """A workload made runnable, such as `pytorch.program.TorchProgram`."""

    device: Device

    def missing(self, backend: str) -> str | None:
        """The reason for which a backend cannot run here, with the cure; None if it can."""

    def prepare(self, backend: str) -> Callable[[], Any]:
        """One step of the workload by a backend."""
        ...

    def facts(self, backend: str) -> list[Fact]:
        """Activity of a compiler since the last `prepare`."""
        ...

    def keep(self, output: Any) -> Any:
        """A copy of a step's output that later steps leave alone."""

    def trust(self, output: Any) -> Agreement | None:
        """Return whether others can be compared with the baseline's kept output; None if accuracy is not judged."""
        ...

    def agree(self, expected: Any, actual: Any) -> Agreement | None:
        """Compare two kept outputs; None if accuracy is not judged."""
        ...

    def trace(self, backend: str, call: Callable[[], Any], place: Path) -> list[Fact]:
        """Write the trace files of one call that the settings ask for; their names begin with `place`."""
        ...

    def memory(self, backend: str, call: Callable[[], Any]) -> Measured:
        """Call it for the second time; the function gives the peaks of a call and of the process that makes it, and its facts."""
        ...

    def first_calls(self, backend: str) -> int:
        """The number of calls until a backend is steady: three where a graph is recorded."""
        ...

    def rewind(self) -> None:
        """Have the next call of the backend prepared last do what its first call did, to the same weights."""

    def minify(self, backend: str, place: Path) -> list[Fact]:
        """The smallest script that shows why a backend is wrong, if it is; its name begins with `place`."""
        ...

    def release(self) -> None:
        """Drop what was prepared, so that another process has the device's memory; nothing is called any more."""

    def settle(self) -> None:
        """Called between the first calls and the samples."""


class DeviceLost(Exception):
    """The device runs nothing any more in this process."""


KERNEL_TIME = "kernel_time"  # of a call, by the profiler
SLOWED = "profiler_slowdown"  # time of a step or call with a profiler / without it
# processes that profile: how they differ is the error of a share, for within one all have its memory layout
REPLICAS = 5
REFERENCE = "reference"  # a phase of loading, see Workload.no_reference
Enter = Callable[[str], None]  # called with the phase that loading enters
MakeProgram = Callable[[Workload, Settings, Enter], Program]
