"""The noise floor: the smallest difference that can be detected on this machine, from comparing a function with itself.

Two identical sides (a checksum over 4 MB: processor and memory) are sampled like the backends of a model. The floor is the
difference that their interval would detect with a power of 80 %; the time stolen by the hypervisor is reported as well.
"""

import zlib

from ...warehouse.recorder import Run
from ..engine.estimate import smallest_detectable
from ..engine.sampling import Sample, Sampler
from ..system.devices import Device
from .checks import OK, UNKNOWN, WARNING, Finding

BYTES = 4 << 20
NOISY = 0.01  # a floor above this asks for more than the usual precision of 1 % can give
MOST_STEAL = 0.01  # of the time


def noise(run: Run, seconds: float) -> list[Finding]:
    """Compare a function with itself; its samples are recorded as the case `identical`.

    Args:
        run: Run to record into.
        seconds: How long to sample.

    Returns:
        The noise floor, and the time stolen.
    """
    data = bytes(BYTES)
    device = Device()
    cases = [run.case("identical", suite="doctor", backend=name) for name in ("one", "another")]
    steal_ns = sampled_ns = 0

    def emit(sample: Sample) -> None:
        nonlocal steal_ns, sampled_ns
        reading = sample.reading
        steal_ns += reading.disturbance.get("steal_ns", 0)
        sampled_ns += reading.duration_ns
        details = {"block": sample.block, "position": sample.position, **reading.disturbance}
        cases[sample.side].timing(reading.duration_ns, phase=sample.phase, loops=reading.loops, details=details)

    sides = [lambda loops: device.time(lambda: zlib.crc32(data), loops)] * 2
    verdict = Sampler(sides, emit, seed=0).run(precision=0.0, budget_s=seconds)
    for case in cases:
        case.outcome("ok", reason=str(verdict))
    (estimate,) = verdict.estimates
    if not estimate.low:
        return [Finding("noise floor", UNKNOWN, f"{seconds:g} s are too short to tell (n={estimate.n})")]
    floor = smallest_detectable(estimate.low, estimate.high)
    sentence = f"{seconds:g} s show a difference of {floor:.2%}, four times in five (n={estimate.n})"
    cure = "cure what is found above, sample longer (--budget), or let nothing else run"
    steal = steal_ns / max(sampled_ns, 1)
    return [
        Finding("noise floor", OK if floor <= NOISY else WARNING, sentence, "" if floor <= NOISY else cure,
                {"noise_floor": (floor, "ratio")}),
        Finding("steal", OK if steal <= MOST_STEAL else WARNING, f"{steal:.1%} of the time went to other virtual machines",
                "" if steal <= MOST_STEAL else "a machine, or at least processors, of your own", {"steal": (steal, "ratio")}),
    ]  # fmt: skip
