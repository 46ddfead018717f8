"""A workload and the settings it is measured with, as a runner hands them to its workers."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from ..pytorch.settings import KNOBS

BASELINE = "eager"
AUTO = -1  # a batch size that is still to be found, see batch_sizes
FOR_ACCURACY = -2  # a batch size that each model knows, see Model
NOT_FAILURES = ("ok", "pass", "pass_due_to_skip", "skipped")  # statuses that are no failure
MODES = ("inference", "training")
SETTING_AXES = ("threads", "launcher", *KNOBS)  # settings that are axes of a case, too, beside those that have a column
DTYPES = ("float32", "float64", "float16", "bfloat16", "amp", "amp_float16", "amp_bfloat16")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The work of one worker process: one piece of work with every backend, the baseline first.

    An axis that is empty or 0 does not apply: functions have no mode, device or dtype. A `bounded` workload may allocate
    only a share of the free memory, see batch_sizes. A workload with `no_reference` is not run in float64, for that reason.
    """

    suite: str
    name: str
    target: str  # module:attribute of the model's class
    mode: str
    device: str
    dtype: str
    batch_size: int
    sequence_length: int | None
    backends: tuple[str, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    baseline: str = BASELINE
    skips: Mapping[str, str] = field(default_factory=dict)  # backend -> why it is not run
    unchecked: Mapping[str, str] = field(default_factory=dict)  # backend -> why its accuracy is not judged
    # backend -> that of its accuracy, where the model has its own
    tolerances: Mapping[str, float] = field(default_factory=dict)
    bounded: bool = False
    no_reference: str = ""

    def axes(self, backend: str) -> dict[str, Any]:
        """The case of one backend, as arguments of `Run.case`."""
        names = ("suite", "name", "mode", "device", "dtype", "batch_size", "sequence_length")
        return {
            **{name: getattr(self, name) or None for name in names},
            "backend": backend,
            "parameters": self.parameters or None,
        }

    def __str__(self) -> str:
        """A short name for people, without default values."""
        parts = [self.name, self.mode] if self.mode else [self.name]
        parts += [f"b{'auto' if self.batch_size == AUTO else self.batch_size}"] if self.batch_size else []
        parts += [f"s{self.sequence_length}"] if self.sequence_length is not None else []
        parts += [self.dtype] if self.dtype not in ("float32", "") else []
        parts += [self.device] if self.device not in ("cpu", "") else []
        return " ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a measurement, the same for every workload.

    `precision` is a fraction; `repeat`, if given, is the exact number of blocks instead of it; `threads` None leaves
    torch's own choice; `sample_hz`, if given, has a sampler look at the worker so many times a second. `warm_start` has a second
    process make the first calls again, from the caches; `profile`, `memory_snapshot` and `inspect` leave files of one call,
    `minify` a script that shows why a compiled output is wrong. `energy` reads what a call takes of a GPU. Without `memory` the
    peak memory of models is not measured. `trace_lines`, the fields of a line_memory.trace.Scope, has the memory of the baseline
    traced line by line, `lines` the time of a step sampled. `launcher` is a command to put before every worker.
    """

    precision: float = 0.01
    budget_s: float = 20.0
    timeout_s: float = 2000.0
    repeat: int | None = None
    threads: int | None = None
    seed: int = 0
    sample_hz: float | None = None
    warm_start: bool = False
    profile: bool = False
    lines: bool = False
    memory_snapshot: bool = False
    inspect: bool = False
    minify: bool = False
    memory: bool = True
    energy: bool = False
    trace_lines: Mapping[str, Any] | None = None
    launcher: str | None = None

    @property
    def traced(self) -> bool:
        """True if any setting asks for trace files."""
        return self.profile or self.memory_snapshot or self.inspect or self.minify

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The job of a worker, passed on its standard input as one line of JSON."""

    run_id: str
    store: str
    process: int  # number of the worker within the run
    workload: Workload
    settings: Settings
    program: str  # module:function that makes the workload runnable; see program.Program
    trial: bool = False  # only to see whether its size fits

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The job from the result of `to_dict`."""
        workload = {**values["workload"], "backends": tuple(values["workload"]["backends"])}
        return cls(**{**values, "workload": Workload(**workload), "settings": Settings(**values["settings"])})
