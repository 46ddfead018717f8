"""The product of a plan's axes: workloads, each with all its backends."""

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...warehouse.errors import BenchError
from ..engine.workload import BASELINE, Workload
from ..suites.model import ACCURACY, Model
from ..suites.registry import label


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
