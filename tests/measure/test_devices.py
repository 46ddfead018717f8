"""Time, memory and disturbance: of the host for real, of a GPU by a fake torch."""

import gc
import mmap
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from bench.measure.devices import Cuda, Device, device
from bench.measure.disturbance import NAMES, Watch
from bench.measure.memory import HostMemory, error_bound_bytes

MB = 1 << 20


def spike(size: int) -> None:
    """Touch so much memory, and give it back at once."""
    with mmap.mmap(-1, size) as memory:
        for page in range(0, size, mmap.PAGESIZE):
            memory[page] = 1


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


def test_one_watch_does_not_see_the_spike_of_another(exact: HostMemory) -> None:
    """The mark is reset in between."""
    with exact.watch():
        spike(64 * MB)
    with exact.watch() as peaks:
        spike(8 * MB)

    assert {peak.source: peak.size_bytes for peak in peaks}["rss_growth"] < 16 * MB


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


def test_steal_is_left_out_where_it_is_unknown() -> None:
    """Not zero: nobody looked."""
    watch = Watch()
    watch._stat = None

    assert "steal_ns" not in watch.since(watch.read())


class FakeEvent:
    """A CUDA event: the device's clock when it was recorded."""

    def __init__(self, cuda: "FakeCuda") -> None:
        self._cuda, self.at_ms = cuda, 0.0

    def record(self) -> None:
        self._cuda.log.append("record")
        self.at_ms = self._cuda.now_ms

    def elapsed_time(self, end: "FakeEvent") -> float:
        return end.at_ms - self.at_ms


class FakeCuda:
    """torch.cuda, as far as it is used: a device that works in 2 ms steps and keeps a log."""

    def __init__(self, count: int = 1) -> None:
        self.log: list[str] = []
        self._count = count
        self.now_ms = 0.0

    def is_available(self) -> bool:
        return self._count > 0

    def device_count(self) -> int:
        return self._count

    def synchronize(self, index: int | None) -> None:
        self.log.append("synchronize")

    def empty_cache(self) -> None: ...

    def reset_peak_memory_stats(self, index: int | None) -> None:
        self.log.append("reset")

    def max_memory_allocated(self, index: int | None) -> int:
        return 100

    def max_memory_reserved(self, index: int | None) -> int:
        return 200

    def Event(self, enable_timing: bool) -> FakeEvent:  # noqa: N802
        return FakeEvent(self)

    def call(self) -> None:
        self.log.append("call")
        self.now_ms += 2.0


def test_a_gpu_is_timed_between_two_events() -> None:
    """Synchronised before the clock starts and before it stops."""
    cuda = FakeCuda()

    reading = Cuda(SimpleNamespace(cuda=cuda)).time(cuda.call, 3)

    assert cuda.log == ["synchronize", "record", "call", "call", "call", "record", "synchronize"]
    assert (reading.loops, reading.device_ns) == (3, 6_000_000)


def test_a_gpu_reports_the_peaks_of_its_allocator() -> None:
    """Beside the host's, exact, with the device's index."""
    cuda = FakeCuda(count=2)

    with Cuda(SimpleNamespace(cuda=cuda), 1).peaks() as peaks:
        assert cuda.log[-1] == "reset"

    found = {peak.source: (peak.size_bytes, peak.error_bound_bytes, peak.device_index) for peak in peaks}
    assert found["cuda_allocated"] == (100, 0, 1)
    assert found["cuda_reserved"] == (200, 0, 1)
    assert any(source.startswith("rss") for source in found)


def test_a_gpu_reports_what_nvml_sees_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a reading: nobody keeps the peak of it. Where NVML is mute, nothing."""

    class Library:
        def nvmlInit(self) -> None: ...  # noqa: N802

        def nvmlDeviceGetCount(self) -> int:  # noqa: N802
            return 1

        def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
            return index

        def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[SimpleNamespace]:  # noqa: N802
            return [SimpleNamespace(pid=os.getpid(), usedGpuMemory=300), SimpleNamespace(pid=1, usedGpuMemory=1000)]

        def nvmlDeviceGetUtilizationRates(self, handle: int) -> SimpleNamespace:  # noqa: N802
            return SimpleNamespace(gpu=50)

    def seen(library: object) -> list[tuple[str, int, str]]:
        monkeypatch.setitem(sys.modules, "pynvml", library)
        with Cuda(SimpleNamespace(cuda=FakeCuda()), 0).peaks() as peaks:
            pass
        return [(peak.source, peak.size_bytes, peak.statistic) for peak in peaks if peak.source == "nvml"]

    assert seen(Library()) == [("nvml", 300, "reading")]
    assert seen(None) == []


def test_a_missing_gpu_has_a_reason() -> None:
    """And the cure; the second of one is missing, too."""
    assert "nvidia-smi" in str(Cuda(SimpleNamespace(cuda=FakeCuda(0))).missing())
    assert Cuda(SimpleNamespace(cuda=FakeCuda(1)), 1).missing() == "there is no CUDA device 1: torch sees 1"
    assert Cuda(SimpleNamespace(cuda=FakeCuda(1))).missing() is None


def test_an_unknown_device_is_refused() -> None:
    """There is no guessing."""
    with pytest.raises(ValueError, match="no device 'tpu'"):
        device("tpu")
