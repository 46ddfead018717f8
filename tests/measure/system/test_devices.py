"""Time, memory and disturbance: of the host for real, of a GPU by a fake torch."""

import gc
import importlib.util
import mmap
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bench.measure.engine.runner import Runner
from bench.measure.engine.sampling import Reading
from bench.measure.engine.workload import Settings
from bench.measure.system.devices import Cuda, Device, device
from bench.measure.system.disturbance import FRESH_NS, NAMES, DisturbanceCounters
from bench.measure.system.host_memory import HostMemory, error_bound_bytes
from bench.warehouse import recorder
from bench.warehouse.database import Warehouse
from bench.warehouse.store import Store

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

    def get_device_properties(self, index: int | None) -> SimpleNamespace:
        return SimpleNamespace(L2_cache_size=50 * MB, uuid="1234")

    def empty(self, size: int, *, dtype: str, device: str) -> SimpleNamespace:
        """torch.empty: what is written there is logged, with its size in MB and its device."""
        return SimpleNamespace(zero_=lambda: self.log.append(f"write {size // MB} MB of {dtype} on {device}"))

    def call(self) -> None:
        self.log.append("call")
        self.now_ms += 2.0


def test_a_gpu_is_timed_between_two_events() -> None:
    """Synchronised before the clock starts and before it stops."""
    cuda = FakeCuda()

    reading = Cuda(SimpleNamespace(cuda=cuda)).time(cuda.call, 3)

    assert cuda.log == ["synchronize", "record", "call", "call", "call", "record", "synchronize"]
    assert (reading.loops, reading.device_ns) == (3, 6_000_000)


def flushing(cuda: FakeCuda) -> Cuda:
    """The second GPU of a fake torch, its L2 cache to be flushed."""
    return Cuda(SimpleNamespace(cuda=cuda, empty=cuda.empty, int8="int8"), 1, flush_l2=True)


def test_the_l2_cache_is_flushed_before_every_call_outside_of_what_is_timed() -> None:
    """As many bytes are written as it really holds, and done before the clock starts; the calls' times are added."""
    cuda = FakeCuda(count=2)

    reading = flushing(cuda).time(cuda.call, 2)

    write = "write 50 MB of int8 on cuda:1"
    assert cuda.log == 2 * [write, "synchronize", "record", "call", "record", "synchronize"]
    assert (reading.loops, reading.device_ns) == (2, 4_000_000)
    assert set(reading.disturbance) <= set(NAMES)


def test_the_buffer_that_flushes_is_no_memory_of_the_call() -> None:
    """Where peaks are read nothing is flushed."""
    cuda = FakeCuda(count=2)
    gpu = flushing(cuda)

    with gpu.peaks():
        gpu.time(cuda.call, 1)

    assert not any(entry.startswith("write") for entry in cuda.log)
    assert gpu.time(cuda.call, 1).loops == 1
    assert cuda.log[-6].startswith("write")


def test_the_cache_of_a_cpu_cannot_be_flushed() -> None:
    """Which is a skip with its reason, not another measurement under the same name."""
    assert (
        device("cpu", flush_l2=True).missing()
        == "a GPU's L2 cache can be flushed, not a CPU's. Measure without --flush-l2"
    )
    assert device("cpu").missing() is None


def test_a_gpu_reports_the_peaks_of_its_allocator() -> None:
    """Beside the host's, exact, with the device's index."""
    cuda = FakeCuda(count=2)

    with Cuda(SimpleNamespace(cuda=cuda), 1).peaks() as peaks:
        assert cuda.log[-1] == "reset"

    found = {peak.source: (peak.size_bytes, peak.error_bound_bytes, peak.device_index) for peak in peaks}
    assert found["cuda_allocated"] == (100, 0, 1)
    assert found["cuda_reserved"] == (200, 0, 1)
    assert any(source.startswith("rss") for source in found)


class Library:
    """pynvml, as far as it is used: one GPU, that runs hot at 1.98 GHz."""

    NVML_CLOCK_SM, NVML_CLOCK_MEM = 1, 2

    def nvmlInit(self) -> None: ...  # noqa: N802

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return 1

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        return index

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> int:  # noqa: N802
        if uuid != "GPU-1234":
            raise LookupError(uuid)
        return 0

    def nvmlDeviceGetClockInfo(self, handle: int, kind: int) -> int:  # noqa: N802
        return {1: 1980, 2: 2619}[kind]

    def nvmlDeviceGetPerformanceState(self, handle: int) -> int:  # noqa: N802
        return 2

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: int) -> int:  # noqa: N802
        return 0x1 | 0x2 | 0x4 | 0x40  # idle and set by somebody, which is no throttling; a cap and heat, which is

    def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[SimpleNamespace]:  # noqa: N802
        return [SimpleNamespace(pid=os.getpid(), usedGpuMemory=300), SimpleNamespace(pid=1, usedGpuMemory=1000)]

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(gpu=50)


@pytest.mark.parametrize(("library", "expected"), [(Library(), [("nvml", 300, "reading")]), (None, [])])
def test_a_gpu_reports_what_nvml_sees_of_this_process(
    monkeypatch: pytest.MonkeyPatch, library: object, expected: list[object]
) -> None:
    """As a reading: nobody keeps the peak of it. Where NVML is mute, nothing."""
    monkeypatch.setitem(sys.modules, "pynvml", library)

    with Cuda(SimpleNamespace(cuda=FakeCuda()), 0).peaks() as peaks:
        pass

    assert [(peak.source, peak.size_bytes, peak.statistic) for peak in peaks if peak.source == "nvml"] == expected


def test_a_sample_of_a_gpu_knows_its_clocks_and_what_held_them_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read after the clock stopped, of the GPU that torch means; where NVML is mute, nothing."""
    cuda = FakeCuda()
    gpus = [Cuda(SimpleNamespace(cuda=cuda)) for _ in range(2)]

    monkeypatch.setitem(sys.modules, "pynvml", Library())
    gauges = gpus[0].time(cuda.call, 1).gauges
    monkeypatch.setitem(sys.modules, "pynvml", None)

    assert gauges == {
        "gpu_sm_clock": (1.98e9, "Hz"), "gpu_memory_clock": (2.619e9, "Hz"),
        "gpu_performance_state": (2.0, "count"),
        "gpu_throttled:power_cap": (1.0, "count"), "gpu_throttled:heat_hardware": (1.0, "count"),
    }  # fmt: skip
    assert gpus[1].time(cuda.call, 1).gauges == {}


def test_a_real_gpu_is_slower_from_memory_than_from_its_l2_cache() -> None:
    """A sum over a quarter of the cache, flushed or not; its clock is read, and the buffer is gone afterwards."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU")
    x = torch.ones(torch.cuda.get_device_properties(0).L2_cache_size // 16, device="cuda:0")
    held = torch.cuda.memory_allocated(0)

    def least(gpu: Device) -> Reading:
        gpu.time(x.sum, 10)
        return min((gpu.time(x.sum, 1) for _ in range(50)), key=lambda reading: reading.device_ns or 0)

    warm, cold = (least(device("cuda:0", flush_l2=flush)) for flush in (False, True))

    assert (cold.device_ns or 0) > (warm.device_ns or 0)
    assert torch.cuda.memory_allocated(0) == held
    if importlib.util.find_spec("pynvml"):
        assert cold.gauges["gpu_sm_clock"][0] > 1e8


def test_the_clocks_of_samples_are_metrics_of_their_case(tmp_path: Path, workload: Any) -> None:
    """One for each sample, in its phase."""
    with recorder.run("t", store=tmp_path, source="measure") as run:
        Runner(run, Settings(repeat=5, budget_s=0.1), program="fake_program:FakeProgram").measure([workload(gauge=1)])

    with Warehouse.open(Store(tmp_path)) as warehouse:
        rows = warehouse.rows(
            "SELECT backend, median, unit, n FROM cells WHERE metric = 'gpu_sm_clock' AND phase = 'steady' ORDER BY 1"
        )
    assert rows == [(backend, 1e9, "Hz", 5) for backend in ("candidate", "eager")]


def test_a_missing_gpu_has_a_reason() -> None:
    """And the cure; the second of one is missing, too."""
    assert "nvidia-smi" in str(Cuda(SimpleNamespace(cuda=FakeCuda(0))).missing())
    assert Cuda(SimpleNamespace(cuda=FakeCuda(1)), 1).missing() == "there is no CUDA device 1: torch sees 1"
    assert Cuda(SimpleNamespace(cuda=FakeCuda(1))).missing() is None


def test_an_unknown_device_is_refused() -> None:
    """There is no guessing."""
    with pytest.raises(ValueError, match="no device 'tpu'"):
        device("tpu")
