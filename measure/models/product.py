"""The product of a plan's axes: workloads, each with all its backends."""

import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...warehouse.errors import BenchError
from ..engine.workload import BASELINE, FOR_ACCURACY, Workload
from ..pytorch.settings import USUAL_OPTIMIZER
from ..suites.model import FAST, TIMED_ONLY, Model
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
    named_sizes: Mapping[str, int] | None = None,
    fast: bool = False,
    no_skip: bool = False,
    notify: Callable[[str], None] = lambda sentence: None,
) -> list[Workload]:
    """Every combination once, in the order given.

    A model without a batch or sequence axis ignores `batch_sizes` or `sequence_lengths`; none of them mean the model's
    own. The baseline is added to the backends if it is missing, and comes first.

    Args:
        suite: Where the models are from.
        models: By name.
        backends: Backends.
        modes: Modes.
        devices: Devices.
        dtypes: Types; where a model has an exception another one is measured.
        batch_sizes: Sizes, FOR_ACCURACY for that which each model has for it.
        sequence_lengths: Lengths.
        parameters: Knobs that are set.
        named_sizes: Batch sizes by model, which come before `batch_sizes`.
        fast: Whether to leave out what takes long.
        no_skip: Whether to run what the suite skips, unless it is not installed.
        notify: Called once with what is measured otherwise than asked, and why.
    """
    sides = (BASELINE, *(name for name in dict.fromkeys(backends) if name != BASELINE))
    workloads: list[Workload] = []
    said: dict[str, None] = {}
    for name, model in models.items():
        named = (named_sizes or {}).get(name)
        batches: Sequence[int] = (
            (0,) if model.batch_size is None else (named,) if named else batch_sizes or (model.batch_size,)
        )
        lengths: Sequence[int | None] = (
            (None,) if model.sequence_length is None else sequence_lengths or (model.sequence_length,)
        )
        for batch_size, length in itertools.product(dict.fromkeys(batches), dict.fromkeys(lengths)):
            for mode, device, dtype in itertools.product(*map(dict.fromkeys, (modes, devices, dtypes))):
                asked = dict(parameters or {})
                place = (mode, device.partition(":")[0])
                other = model.excepted(*place, dtype, asked.get("optimizer", USUAL_OPTIMIZER))
                if "optimizer" in other:
                    del asked["optimizer"]
                    said[f"{name}: SGD instead of Adam: {other['why']}"] = None
                if (cast := other.get("dtype", dtype)) != dtype:
                    said[f"{name}: {cast} instead of {dtype}: {other['why']}"] = None
                axes = (*place, cast, *((FAST,) if fast else ()))
                skips = {
                    side: reason
                    for side in sides
                    if (reason := model.skipped(*axes, side, all_else=not no_skip)) is not None
                }
                unchecked = {
                    side: reason
                    for side in sides
                    if (reason := model.skipped(*axes, side, TIMED_ONLY, all_else=not no_skip)) is not None
                }
                tolerances = {
                    side: own
                    for side in sides
                    if "tolerance" not in asked and (own := model.excepted(*axes, side).get("tolerance")) is not None
                }
                size = model.accuracy_batch_size or model.batch_size or 0 if batch_size == FOR_ACCURACY else batch_size
                workloads.append(
                    Workload(
                        suite=label(suite), name=name, target=model.target, mode=mode, device=device, dtype=cast,
                        batch_size=size or other.get("batch_size", 0), sequence_length=length, backends=sides, parameters=asked,
                        skips=skips, unchecked=unchecked, tolerances=tolerances,
                    )
                )  # fmt: skip
    for sentence in said:
        notify(sentence)
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
            tolerances={**first.tolerances, **workload.tolerances},
        )
    return list(found.values())
