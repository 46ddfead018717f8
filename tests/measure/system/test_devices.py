"""Time, memory and disturbance of the host."""

import gc
import time
from pathlib import Path

import pytest
from bench.measure.system.devices import Device, device
from bench.measure.system.disturbance import FRESH_NS, NAMES, DisturbanceCounters
from bench.measure.system.host_memory import HostMemory, error_bound_bytes

from ...exhaustive import exhaustive
from ..conftest import spike

MB = 1 << 20


def test_calls_that_lead_into_a_sample_are_not_timed() -> None:
    """They come first, and only they take long here."""
    calls: list[int] = []

    def call() -> None:
        calls.append(1)
        if len(calls) <= 2:
            time.sleep(0.5)

    reading = Device().time(call, 5, 2)

    assert (len(calls), reading.loops) == (7, 5)
    assert reading.duration_ns < 0.5e9  # the machine may pause, too


@pytest.fixture
def exact() -> HostMemory:
    host = HostMemory()
    if not host.exact:
        pytest.skip("the kernel does not let this process reset its high-water mark")
    return host


def test_a_freed_spike_is_found_within_its_bound(exact: HostMemory) -> None:
    """Every time, though nothing of it is left when the peak is read."""
    for _ in range(5):
        with exact.watch() as peaks:
            spike(32 * MB)
        growth = {peak.source: peak for peak in peaks}["rss_growth"]
        assert growth.error_bound_bytes == error_bound_bytes()
        assert 32 * MB - growth.error_bound_bytes <= growth.size_bytes <= 33 * MB


@pytest.mark.exhaustive
def test_one_watch_does_not_see_the_spike_of_another(exact: HostMemory) -> None:
    """The mark is reset in between."""
    with exact.watch():
        spike(64 * MB)
    with exact.watch() as peaks:
        spike(8 * MB)

    assert {peak.source: peak.size_bytes for peak in peaks}["rss_growth"] < 16 * MB


@exhaustive
def test_without_the_kernels_help_peaks_are_sampled_and_say_so(tmp_path: Path) -> None:
    """Other sources and no bound, so that nobody takes them for exact."""
    host = HostMemory(proc=tmp_path / "no-such-proc")

    with host.watch() as peaks:
        held = bytearray(16 * MB)
        time.sleep(0.05)
    del held

    assert not host.exact
    assert [(peak.source, peak.error_bound_bytes) for peak in peaks] == [
        ("rss_sampled", None),
        ("rss_growth_sampled", None),
    ]
    assert peaks[1].size_bytes > 12 * MB
    assert host.resident_bytes() > 12 * MB


def test_a_sample_knows_what_disturbed_it() -> None:
    """Columns of `timings`, of this stretch only."""

    def call() -> None:
        gc.collect(0)
        time.sleep(0.001)

    reading = Device().time(call, 3)

    assert set(reading.disturbance) <= set(NAMES)
    assert reading.disturbance["gc_collections"] == 3
    assert reading.disturbance["voluntary_switches"] >= 3
    assert reading.duration_ns >= 3_000_000
    assert reading.loops == 3


def test_stolen_time_is_not_read_right_before_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would empty the caches; what was read after the sample before holds, unless a pause lies between."""
    readings = iter(range(100))
    watch = DisturbanceCounters()
    monkeypatch.setattr(DisturbanceCounters, "_steal_ns", lambda self: next(readings))

    first = watch.since(watch.read())
    second = watch.since(watch.read())
    watch._read_at -= FRESH_NS
    third = watch.since(watch.read())

    assert [one["steal_ns"] for one in (first, second, third)] == [1, 1, 1]
    assert next(readings) == 5, "read before and after the first and the third, after the second only"


def test_steal_is_left_out_where_it_is_unknown() -> None:
    """Not zero: nobody looked."""
    watch = DisturbanceCounters()
    watch._stat = None

    assert "steal_ns" not in watch.since(watch.read())


def test_the_cache_of_a_cpu_cannot_be_flushed() -> None:
    """Which is a skip with its reason, not another measurement under the same name."""
    assert (
        device("cpu", flush_l2=True).missing()
        == "a GPU's L2 cache can be flushed, not a CPU's. Measure without --flush-l2"
    )
    assert device("cpu").missing() is None


def test_an_unknown_device_is_refused() -> None:
    """There is no guessing."""
    with pytest.raises(ValueError, match="no device 'tpu'"):
        device("tpu")
