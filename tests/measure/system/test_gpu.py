"""Time, memory, clocks and energy of a GPU, by a fake torch and a fake NVML; what a real one is needed for is skipped without."""

import importlib.util
import math
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bench.measure.doctor import checks
from bench.measure.engine.runner import Runner
from bench.measure.engine.sampling import Reading, Sampler
from bench.measure.engine.workload import Settings
from bench.measure.system.devices import Cuda, Device, device
from bench.measure.system.disturbance import NAMES
from bench.measure.system.energy import EnergyReading, energy_of
from bench.measure.system.nvml import Nvml
from bench.warehouse import recorder

from ...builders import stored
from .fake_gpu import FakeCuda, Library, not_supported


def test_a_gpu_is_timed_between_two_events() -> None:
    """Synchronised before the clock starts and before it stops."""
    cuda = FakeCuda()

    reading = Cuda(SimpleNamespace(cuda=cuda)).time(cuda.call, 3)

    assert cuda.log == ["synchronize", "record", "call", "call", "call", "record", "synchronize"]
    assert (reading.loops, reading.device_ns) == (3, 6_000_000)


@pytest.mark.parametrize(("index", "rank", "log"), [(1, None, ["use 1"]), (None, "3", ["use 3"]), (None, None, [])])
def test_what_names_no_gpu_runs_on_the_one_that_is_measured(
    monkeypatch: pytest.MonkeyPatch, index: int | None, rank: str | None, log: list[str]
) -> None:
    """Events are of the current device; a rank has the GPU of its number."""
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    if rank is not None:
        monkeypatch.setenv("LOCAL_RANK", rank)
    cuda = FakeCuda(count=4)

    Cuda(SimpleNamespace(cuda=cuda), index).use()

    assert cuda.log == log


def test_a_gpu_after_an_illegal_access_is_lost() -> None:
    """Until then it is not; a CPU never is."""
    cuda = FakeCuda()
    gpu = Cuda(SimpleNamespace(cuda=cuda))

    assert (gpu.lost(), Device().lost()) == (None, None)
    cuda.dead = True
    assert gpu.lost() == "CUDA error: an illegal memory access was encountered"


def flushing(cuda: FakeCuda) -> Cuda:
    """The second GPU of a fake torch, its L2 cache to be flushed."""
    return Cuda(SimpleNamespace(cuda=cuda, empty=cuda.empty, int8="int8"), 1, flush_l2=True)


def test_the_l2_cache_is_flushed_before_every_call_outside_of_what_is_timed() -> None:
    """More bytes are written than it holds. All is queued at once, so that no call is timed with its launch."""
    cuda = FakeCuda(count=2)

    reading = flushing(cuda).time(cuda.call, 2)

    write = "write 256 MB of int8 on cuda:1"
    assert cuda.log == ["synchronize", *2 * [write, "record", "call", "record"], "synchronize"]
    assert (reading.loops, reading.device_ns, reading.duration_ns) == (2, 4_000_000, 4_000_000)
    assert set(reading.disturbance) <= set(NAMES)


def test_events_are_made_once() -> None:
    """Not within what the host's clock times, sample by sample."""
    cuda = FakeCuda()
    gpu = Cuda(SimpleNamespace(cuda=cuda))

    for _ in range(3):
        gpu.time(cuda.call, 5)

    assert cuda.events == 2


def test_samples_of_a_gpu_are_long_and_of_equally_many_calls() -> None:
    """10 ms, since it idles when they begin and end; a ratio of sides with other loops would be biased by that."""
    times = {0: 2e6, 1: 0.5e6}
    taken: list[tuple[int, int]] = []

    def clock(side: int) -> Any:
        return lambda loops, lead: Reading(round(times[side] * loops), loops)

    sampler = Sampler(
        [clock(0), clock(1)], lambda sample: taken.append((sample.side, sample.reading.loops)), seed=0,
        sample_ns=Cuda.min_sample_ns, even_loops=Cuda.even_loops,
    )  # fmt: skip
    sampler.run(precision=0.1, budget_s=60, repeat=3)

    assert set(taken[-6:]) == {(0, 20), (1, 20)}
    assert (Device.min_sample_ns, Device.even_loops) == (1_000_000, False)


def test_the_buffer_that_flushes_is_no_memory_of_the_call() -> None:
    """Nothing is flushed while peaks are read."""
    cuda = FakeCuda(count=2)
    gpu = flushing(cuda)

    with gpu.peaks():
        gpu.time(cuda.call, 1)

    assert not any(entry.startswith("write") for entry in cuda.log)
    assert gpu.time(cuda.call, 1).loops == 1
    assert cuda.log[-5].startswith("write")


def test_a_gpu_reports_the_peaks_of_its_allocator() -> None:
    """Beside the host's, exact, with the device's index."""
    cuda = FakeCuda(count=2)

    with Cuda(SimpleNamespace(cuda=cuda), 1).peaks() as peaks:
        assert cuda.log[-1] == "reset"

    found = {peak.source: (peak.size_bytes, peak.error_bound_bytes, peak.device_index) for peak in peaks}
    assert found["cuda_allocated"] == (100, 0, 1)
    assert found["cuda_growth"] == (30, 0, 1), "what the block added to the 70 that others held"
    assert found["cuda_reserved"] == (200, 0, 1)
    assert any(source.startswith("rss") for source in found)


@pytest.mark.parametrize(("library", "expected"), [(Library(), [("nvml", 300, "reading")]), (None, [])])
def test_a_gpu_reports_what_nvml_sees_of_this_process(
    monkeypatch: pytest.MonkeyPatch, library: object, expected: list[object]
) -> None:
    """As a reading: nobody keeps the peak of it. Where NVML is mute, nothing."""
    monkeypatch.setitem(sys.modules, "pynvml", library)

    with Cuda(SimpleNamespace(cuda=FakeCuda()), 0).peaks() as peaks:
        pass

    assert [(peak.source, peak.size_bytes, peak.statistic) for peak in peaks if peak.source == "nvml"] == expected


def test_a_driver_that_does_not_tell_is_no_error() -> None:
    """Of a part of a GPU, under WSL, and of a virtual GPU some questions are not supported."""

    class Mute(Library):
        def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[SimpleNamespace]:  # noqa: N802
            raise RuntimeError("Not Supported")

    gpus = Nvml(Mute())

    assert gpus.look([os.getpid()]) == []
    assert checks.gpus(checks.Machine(), lambda: gpus) == checks.Finding(
        "gpu processes", checks.UNKNOWN, "NVML does not tell: Not Supported"
    )


def test_a_sample_of_a_gpu_knows_its_clocks_and_what_held_them_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read after the clock stopped, of the GPU that torch means; where NVML is mute, nothing."""
    cuda = FakeCuda()
    gpus = [Cuda(SimpleNamespace(cuda=cuda)) for _ in range(2)]

    monkeypatch.setitem(sys.modules, "pynvml", Library())
    gauges = gpus[0].time(cuda.call, 1).gauges
    monkeypatch.setitem(sys.modules, "pynvml", None)

    assert gauges == {
        "gpu_sm_clock": (1.98e9, "Hz"), "gpu_memory_clock": (2.619e9, "Hz"),
        "gpu_performance_state": (2.0, "count"), "gpu_power_limit": (650.0, "W"), "gpu_temperature": (61.0, "celsius"),
        "gpu_throttled:power_cap": (1.0, "count"), "gpu_throttled:heat_hardware": (1.0, "count"),
    }  # fmt: skip
    assert gpus[1].time(cuda.call, 1).gauges == {}


def test_a_power_cap_within_a_sample_is_seen_though_the_gpu_idles_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the counter of how long it has slowed; a driver that counts nothing and tells no reasons leaves it unknown."""
    library, cuda = Library(), FakeCuda()
    library.reasons = 0x1
    monkeypatch.setitem(sys.modules, "pynvml", library)
    gpu = Cuda(SimpleNamespace(cuda=cuda))

    def capped() -> None:
        cuda.call()
        library.capped_ns += 7

    quiet, slowed = (gpu.time(call, 1) for call in (cuda.call, capped))
    for name in ("nvmlDeviceGetViolationStatus", "nvmlDeviceGetCurrentClocksThrottleReasons"):
        monkeypatch.setattr(library, name, not_supported, raising=False)
    mute = gpu.time(cuda.call, 1)

    assert (quiet.disturbance["throttled"], slowed.disturbance["throttled"]) == (0, 0x4)
    assert (quiet.throttled, slowed.throttled) == (False, True)
    assert Reading(1, disturbance={"throttled": 4}).disturbed
    assert not Reading(1, disturbance={"throttled": 0}).disturbed
    assert "throttled" not in mute.disturbance
    assert mute.gauges["gpu_sm_clock"] == (1.98e9, "Hz"), "the other readings stay"


def test_a_gpu_is_known_by_its_uuid_whatever_number_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """NVML counts all GPUs of the machine, torch those that it sees; memory is told by torch's number."""
    monkeypatch.setitem(sys.modules, "pynvml", Library())
    backends = SimpleNamespace(
        cudnn=SimpleNamespace(version=lambda: 90100, benchmark=False, allow_tf32=True),
        cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=False)),
    )
    gpu = Cuda(SimpleNamespace(cuda=FakeCuda(count=2), backends=backends), 1)

    with gpu.peaks() as peaks:
        pass

    assert [(peak.size_bytes, peak.device_index) for peak in peaks if peak.source == "nvml"] == [(300, 1)]
    assert gpu.description() == {
        "gpu_uuid": "GPU-1234", "gpu_name": "H100", "cudnn_version": "90100", "cudnn_benchmark": "False",
        "tf32_convolutions": "True", "tf32_products": "False",
    }  # fmt: skip
    assert Device().description() == {}


def test_what_nobody_holds_is_given_back_to_other_processes() -> None:
    """Torch keeps freed memory for itself otherwise, and the process that measures memory begins beside this one."""
    cuda = FakeCuda()

    Cuda(SimpleNamespace(cuda=cuda)).release()

    assert cuda.log == ["empty"]


def energies(step_s: float, watts: float, batch_s: float) -> EnergyReading:
    """Energy by a counter that moves every `step_s`, while batches of ten calls take their time.

    To read it takes 4 ms, in which the GPU idles at a third of that power.
    """
    clock, idle = {"now": 0.0}, [0.0]

    def batch() -> int:
        clock["now"] += batch_s
        return 10

    def counter() -> int:
        clock["now"] += 0.004
        idle[0] += 0.004
        busy = clock["now"] - idle[0] * 2 / 3
        return round(math.floor(busy / step_s + 1e-9) * step_s * watts * 1e3)

    return energy_of(batch, counter, lambda: clock["now"])


@pytest.mark.parametrize("step_s", [0.0001, 0.02, 0.1])
def test_energy_is_that_between_two_steps_of_the_counter(step_s: float) -> None:
    """300 W while ten calls take 10 ms are 0.3 J a call, however seldom the counter moves."""
    found = energies(step_s, 300.0, 0.01)

    assert found.joules == pytest.approx(0.3, rel=0.05)
    assert found.watts == pytest.approx(300.0, rel=0.05)
    assert found.reason is None


def test_a_window_shorter_than_the_counters_steps_has_no_energy() -> None:
    """None with the reason, not 0; so where the counter stands still, and where the driver does not tell."""
    assert energies(2.0, 300.0, 0.01) == EnergyReading(reason="NVML's counter moves too seldom to tell within 5 s")
    assert energies(1e9, 300.0, 0.01).joules is None
    assert energy_of(lambda: 1, lambda: None) == EnergyReading(reason="NVML does not tell the energy of this GPU")
    assert Device().energy(lambda: None, 1) == EnergyReading(reason="the energy of a CPU is not read")


def test_the_energy_of_a_gpu_is_read_while_its_calls_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of the calls that a sample has, each waited for; without NVML the reason has the cure."""
    cuda = FakeCuda()
    monkeypatch.setitem(sys.modules, "pynvml", Library())
    monkeypatch.setattr("bench.measure.system.energy.LEAST_S", 0.0)
    monkeypatch.setattr("bench.measure.system.energy.LEAST_STEPS", 0)
    gpu = Cuda(SimpleNamespace(cuda=cuda))

    found = gpu.energy(cuda.call, 5)

    assert found.joules == pytest.approx(0.2), "500 mJ at every reading, two readings and five calls"
    assert cuda.log[:6] == [*5 * ["call"], "synchronize"]
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert "pip install nvidia-ml-py" in str(Cuda(SimpleNamespace(cuda=cuda)).energy(cuda.call, 1).reason)


def test_a_real_gpu_is_slower_from_memory_than_from_its_l2_cache() -> None:
    """A sum over half of the cache, flushed or not; its clock is read, and the buffer is gone afterwards."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU")
    x = torch.ones(torch.cuda.get_device_properties(0).L2_cache_size // 8, device="cuda:0")
    held = torch.cuda.memory_allocated(0)

    def least(gpu: Device) -> Reading:
        return min((gpu.time(x.sum, 100) for _ in range(20)), key=lambda reading: reading.device_ns or 0)

    warm, cold = (least(device("cuda:0", flush_l2=flush)) for flush in (False, True))

    assert (cold.device_ns or 0) > (warm.device_ns or 0)
    assert torch.cuda.memory_allocated(0) == held
    if importlib.util.find_spec("pynvml"):
        assert cold.gauges["gpu_sm_clock"][0] > 1e8


@pytest.mark.exhaustive
def test_the_clocks_of_samples_are_metrics_of_their_case(tmp_path: Path, workload: Any) -> None:
    """One for each sample, in its phase."""
    with recorder.run("t", store=tmp_path, source="measure") as run:
        Runner(run, Settings(repeat=5, budget_s=0.1), program="fake_program:FakeProgram").measure([workload(gauge=1)])

    rows = stored(
        "SELECT backend, median, unit, n FROM cells WHERE metric = 'gpu_sm_clock' AND phase = 'steady' ORDER BY 1",
        tmp_path,
    )
    assert rows == [(backend, 1e9, "Hz", 5) for backend in ("candidate", "eager")]


def test_a_missing_gpu_has_a_reason() -> None:
    """And the cure; the second of one is missing, too."""
    assert "nvidia-smi" in str(Cuda(SimpleNamespace(cuda=FakeCuda(0))).missing())
    assert Cuda(SimpleNamespace(cuda=FakeCuda(1)), 1).missing() == "there is no CUDA device 1: torch sees 1"
    assert Cuda(SimpleNamespace(cuda=FakeCuda(1))).missing() is None
