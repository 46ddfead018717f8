"""The plan: which workloads to measure, each with all its backends."""

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from ..warehouse.errors import BenchError
from .knobs import KNOBS
from .suites import ACCURACY, Model, label

BASELINE = "eager"
AUTO = -1  # a batch size that is still to be found, see batch_sizes
FINE = ("ok", "pass", "pass_due_to_skip", "skipped")  # statuses that are no failure
MODES = ("inference", "training")
PARAMETERS = ("threads", *KNOBS)  # settings that are axes of a case, too, beside those that have a column
DTYPES = ("float32", "float64", "float16", "bfloat16", "amp", "amp_float16", "amp_bfloat16")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What one worker process measures: one piece of work, by every backend, the baseline first.

    An axis that is empty or 0 is none, as functions have no mode, device or dtype. A `bounded` one leaves the machine
    some memory, see batch_sizes; one with `no_reference` is not run in float64, and that says why.
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
    skips: Mapping[str, str] = field(default_factory=dict)  # backend -> why it is not to be run
    unchecked: Mapping[str, str] = field(default_factory=dict)  # backend -> why its accuracy is not judged
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
        """Short, for a person: what is usual is left out."""
        parts = [self.name, self.mode] if self.mode else [self.name]
        parts += [f"b{'auto' if self.batch_size == AUTO else self.batch_size}"] if self.batch_size else []
        parts += [f"s{self.sequence_length}"] if self.sequence_length is not None else []
        parts += [self.dtype] if self.dtype not in ("float32", "") else []
        parts += [self.device] if self.device not in ("cpu", "") else []
        return " ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to measure, the same for every workload.

    `precision` is a fraction; `repeat`, if given, is the exact number of blocks instead of it; `threads` None leaves
    torch's own choice; `sample_hz`, if given, has a sampler look at the worker so many times a second. `warm_start` has a second
    process make the first calls again, from the caches; `profile`, `memory_snapshot` and `inspect` leave files of one call,
    `minify` a script that shows why a compiled output is wrong.
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
    memory_snapshot: bool = False
    inspect: bool = False
    minify: bool = False

    @property
    def traced(self) -> bool:
        """Whether anything leaves files."""
        return self.profile or self.memory_snapshot or self.inspect or self.minify

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a worker is told on its standard input, as one line of JSON."""

    run_id: str
    store: str
    process: int  # number of the worker within the run
    workload: Workload
    settings: Settings
    program: str  # module:function that makes the workload runnable; see program.Program
    trial: bool = False  # only to see whether its size fits

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """What `to_dict` gave."""
        workload = {**values["workload"], "backends": tuple(values["workload"]["backends"])}
        return cls(**{**values, "workload": Workload(**workload), "settings": Settings(**values["settings"])})


def product(
    suite: str,
    models: Mapping[str, Model],
    *,
    backends: Sequence[str],
    modes: Sequence[str],
    devices: Sequence[str],
    dtypes: Sequence[str],
    batch_sizes: Sequence[int] = (),
    sequence_lengths: Sequence[int] = (),
    parameters: Mapping[str, Any] | None = None,
) -> list[Workload]:
    """Every combination once, in the order given.

    A model without a batch or sequence axis ignores `batch_sizes` or `sequence_lengths`; none of them mean the model's
    own. The baseline is added to the backends if it is missing, and comes first.
    """
    sides = (BASELINE, *(name for name in dict.fromkeys(backends) if name != BASELINE))
    workloads = []
    for name, model in models.items():
        batches: Sequence[int] = (0,) if model.batch_size is None else batch_sizes or (model.batch_size,)
        lengths: Sequence[int | None] = (
            (None,) if model.sequence_length is None else sequence_lengths or (model.sequence_length,)
        )
        for batch_size, length in itertools.product(dict.fromkeys(batches), dict.fromkeys(lengths)):
            for mode, device, dtype in itertools.product(*map(dict.fromkeys, (modes, devices, dtypes))):
                axes = (mode, device.partition(":")[0], dtype)
                skips = {side: reason for side in sides if (reason := model.skipped(*axes, side)) is not None}
                unchecked = {
                    side: reason for side in sides if (reason := model.skipped(*axes, side, ACCURACY)) is not None
                }
                workloads.append(
                    Workload(
                        suite=label(suite), name=name, target=model.target, mode=mode, device=device, dtype=dtype,
                        batch_size=batch_size, sequence_length=length, backends=sides, parameters=parameters or {},
                        skips=skips, unchecked=unchecked,
                    )
                )  # fmt: skip
    return workloads


def merged(workloads: Iterable[Workload]) -> list[Workload]:
    """Each work once, in the order of its first mention, by all the backends that were asked for.

    Raises:
        BenchError: Two models would be one: cases are named after the file of their model, wherever it lies.
    """
    found: dict[str, Workload] = {}
    for workload in workloads:
        work = json.dumps(workload.axes(""), sort_keys=True)
        first = found.setdefault(work, workload)
        if first.target != workload.target:
            raise BenchError(
                f"{first.target} and {workload.target} would be one case, since cases are named after the file wherever it"
                " lies. Measure them in two runs, and tell these apart with --config."
            )
        backends = tuple(dict.fromkeys((*first.backends, *workload.backends)))
        found[work] = replace(
            first,
            backends=backends,
            skips={**first.skips, **workload.skips},
            unchecked={**first.unchecked, **workload.unchecked},
        )
    return list(found.values())
