"""The noise floor: how small a difference can be seen here, by comparing a thing with itself.

Two sides that do the same (a checksum over 4 MB: processor and memory) are sampled as a model's backends are. What
their interval would show, four times in five, is the floor; what the hypervisor took meanwhile is told as well.
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
    """Compare a thing with itself; its samples are recorded as of the case `identical`.

    Args:
        run: Run to record into.
        seconds: How long.

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
