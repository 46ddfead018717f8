"""Views of GPUs: a speedup by the device's clock beside the host's, and what the clocks were."""

import math
from typing import Any

import pytest
from bench.measure.engine.estimate import ratio_of
from bench.warehouse.events import CaseRecord

from ...builders import Builder, case, metric, outcome, run, timing

AXES: dict[str, Any] = {"suite": "s", "mode": "inference", "device": "cuda", "dtype": "float32"}


def pair() -> tuple[CaseRecord, CaseRecord]:
    """The same work by eager and by inductor."""
    return case("m", backend="eager", **AXES), case("m", backend="inductor", **AXES)


def test_the_devices_clock_has_a_speedup_of_its_own(warehouse: Builder) -> None:
    """By the same estimate with the same interval; the host's, which it does not change, stands beside it."""
    sides = pair()
    host = [(1000 + 3 * n, 800 + n) for n in range(8)]
    device = [(900 + 2 * n, 300 + 5 * n) for n in range(8)]
    warehouse.add(run(), *sides, *map(outcome, sides))
    for block, both in enumerate(zip(host, device, strict=True)):
        for side, ns, own in zip(sides, *both, strict=True):
            warehouse.add(timing(side, ns, device_ns=own, block=block, process=0, loops=10))

    ((speedup, low, high, by_device, device_low, device_high, n, eager_ns, share),) = warehouse.rows(
        "SELECT speedup, low, high, device_speedup, device_low, device_high, n, baseline_device_ns, device_share"
        " FROM device_speedups"
    )
    expected, of_host = (ratio_of([math.log(a / b) for a, b in times]) for times in (device, host))
    assert (by_device, n) == (pytest.approx(expected.ratio, rel=1e-12), 8)
    assert (device_low, device_high) == pytest.approx((expected.low, expected.high), rel=1e-3)
    assert (speedup, low, high) == pytest.approx((of_host.ratio, of_host.low, of_host.high), rel=1e-3)
    assert (eager_ns, share) == pytest.approx((90.7, 317.5 / 803.5))
    assert warehouse.rows("SELECT speedup FROM speedups") == [(speedup,)]


def test_a_case_without_a_devices_clock_has_no_such_speedup(warehouse: Builder) -> None:
    """It is absent, not the host's."""
    sides = pair()
    warehouse.add(run(), *sides, *map(outcome, sides), *(timing(side, 9, block=0, process=0) for side in sides))

    assert warehouse.rows("FROM device_speedups") == []


@pytest.mark.parametrize(("throttled", "n"), [(2, 8), (8, 10), (10, 10)])
def test_throttled_samples_are_left_out_of_estimates_but_never_all(warehouse: Builder, throttled: int, n: int) -> None:
    """They are kept and counted. Where fewer than a quarter, or than five, are left, all count."""
    sides = pair()
    warehouse.add(run(), *sides, *map(outcome, sides))
    for block in range(10):
        slowed = block < throttled
        warehouse.add(timing(sides[0], 1000, block=block, process=0, throttled=0))
        warehouse.add(timing(sides[1], 900 if slowed else 500, block=block, process=0, throttled=4 if slowed else 0))

    ((found, speedup),) = warehouse.rows("SELECT n, speedup FROM speedups")
    counted = warehouse.rows("SELECT backend, n, throttled, reasons FROM gpu_conditions ORDER BY backend")
    assert (found, speedup) == (n, pytest.approx(2.0 if throttled == 2 else 1000 / 900))
    assert counted == [("eager", 10, 0, 0), ("inductor", 10, throttled, 4)]


def test_the_conditions_of_a_case_are_those_of_its_steady_samples(warehouse: Builder) -> None:
    """Values that the driver did not give are NULL; a case of a CPU has no row."""
    gpu, cpu = case("m", backend="eager", **AXES), case("n", backend="eager")
    warehouse.add(run(), gpu, cpu, timing(cpu, 5), timing(gpu, 5, throttled=None), timing(gpu, 6))
    for value in (1.0e9, 1.5e9, 1.7e9):
        warehouse.add(metric(gpu, "gpu_sm_clock", value, unit="Hz", phase="steady"))
    warehouse.add(
        metric(gpu, "gpu_sm_clock", 1.0, unit="Hz", phase="cold"),
        metric(gpu, "gpu_power_limit", 650.0, unit="W", phase="steady"),
        metric(gpu, "gpu_energy", 0.3, unit="J"), metric(gpu, "gpu_uuid", None, original_value="GPU-1234"),
    )  # fmt: skip

    rows = warehouse.rows(
        "SELECT name, n, throttled, min_sm_clock, median_sm_clock, max_sm_clock, power_limit, temperature, energy, power, gpu"
        " FROM gpu_conditions"
    )
    assert rows == [("m", 2, None, 1.0e9, 1.5e9, 1.7e9, 650.0, None, 0.3, None, "GPU-1234")]
