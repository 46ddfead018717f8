"""The noise floor: the smallest difference that can be detected on this machine, from comparing a function with itself.

Two identical sides (a checksum over 4 MB: processor and memory) are sampled like the backends of a model. The floor is the
difference that their interval would detect with a power of 80 %; the time stolen by the hypervisor is reported as well. Where
there is a GPU the same is done with a kernel of its own, which reads and writes 256 MB.
"""

import functools
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...warehouse.console.numbers import percent
from ...warehouse.recorder import Run
from ..engine.estimate import smallest_detectable
from ..engine.sampling import Sample, Sampler
from ..system.devices import Device, device
from ..system.nvml import nvml
from .checks import OK, UNKNOWN, WARNING, Finding

BYTES = 4 << 20
GPU_BYTES = 256 << 20  # far beyond its caches
NOISY = 0.01  # a floor above this asks for more than the usual precision of 1 % can give
MOST_STEAL = 0.01  # of the time


def noise(run: Run, seconds: float) -> list[Finding]:
    """Compare a function with itself; its samples are recorded as the case `identical`.

    Returns:
        The noise floor, and the time stolen.
    """
    data = bytes(BYTES)
    found, steal = _floor(run, seconds, Device(), lambda: zlib.crc32(data))
    return [found, steal] if steal else [found]


def gpu_noise(run: Run, seconds: float) -> list[Finding]:
    """Compare a kernel of the first GPU with itself; nothing where NVML knows no GPU, since torch takes seconds to import.

    Returns:
        The noise floor of the GPU.
    """
    if nvml() is None:
        return []
    try:
        gpu = device("cuda")
        import torch
    except ImportError:
        return [Finding("gpu noise floor", UNKNOWN, "torch is not installed", "pip install torch")]
    if reason := gpu.missing():
        return [Finding("gpu noise floor", UNKNOWN, reason)]
    x = torch.ones(GPU_BYTES // 4, device="cuda")
    found, _ = _floor(run, seconds, gpu, lambda: x.mul_(1.0), "cuda")
    return [
        replace(found, check="gpu noise floor", values={f"gpu_{name}": value for name, value in found.values.items()})
    ]


def _floor(
    run: Run, seconds: float, device: Device, call: Callable[[], Any], name: str | None = None
) -> tuple[Finding, Finding | None]:
    """The noise floor of one call, and the time stolen meanwhile."""
    cases = [run.case("identical", suite="doctor", backend=backend, device=name) for backend in ("one", "another")]
    steal_ns = sampled_ns = 0

    def emit(sample: Sample) -> None:
        nonlocal steal_ns, sampled_ns
        reading = sample.reading
        steal_ns += reading.disturbance.get("steal_ns", 0)
        sampled_ns += reading.duration_ns
        details = {
            "device_ns": reading.device_ns, "block": sample.block, "position": sample.position, **reading.disturbance,
        }  # fmt: skip
        cases[sample.side].timing(reading.duration_ns, phase=sample.phase, loops=reading.loops, details=details)

    sampler = Sampler(
        [functools.partial(device.time, call)] * 2, emit, seed=0, sample_ns=device.min_sample_ns,
        even_loops=device.even_loops,
    )  # fmt: skip
    verdict = sampler.run(precision=0.0, budget_s=seconds)
    for case in cases:
        case.outcome("ok", reason=str(verdict))
    (estimate,) = verdict.estimates
    if not estimate.low:
        return Finding("noise floor", UNKNOWN, f"{seconds:g} s are too short to tell (n={estimate.n})"), None
    floor = smallest_detectable(estimate.low, estimate.high)
    sentence = f"{seconds:g} s show a difference of {percent(floor, 2)}, four times in five (n={estimate.n})"
    cure = "cure what is found above, sample longer (--budget), or let nothing else run"
    steal = steal_ns / max(sampled_ns, 1)
    return (
        Finding("noise floor", OK if floor <= NOISY else WARNING, sentence, "" if floor <= NOISY else cure,
                {"noise_floor": (floor, "ratio")}),
        Finding("steal", OK if steal <= MOST_STEAL else WARNING,
                f"{percent(steal, 1)} of the time went to other virtual machines",
                "" if steal <= MOST_STEAL else "a machine, or at least processors, of your own", {"steal": (steal, "ratio")}),
    )  # fmt: skip
