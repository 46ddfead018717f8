"""Fakes at the edge to a GPU: torch.cuda, and pynvml."""

import os
from types import SimpleNamespace
from typing import Any

MB = 1 << 20


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
        self.dead = False
        self._count = count
        self.now_ms = 0.0
        self.events = 0  # made so far

    def is_available(self) -> bool:
        return self._count > 0

    def device_count(self) -> int:
        return self._count

    def synchronize(self, index: int | None) -> None:
        self.log.append("synchronize")
        if self.dead:
            raise RuntimeError("CUDA error: an illegal memory access was encountered\nCUDA kernel errors might …")

    def set_device(self, index: int) -> None:
        self.log.append(f"use {index}")

    def empty_cache(self) -> None:
        self.log.append("empty")

    def reset_peak_memory_stats(self, index: int | None) -> None:
        self.log.append("reset")

    def memory_allocated(self, index: int | None) -> int:
        return 70

    def max_memory_allocated(self, index: int | None) -> int:
        return 100

    def max_memory_reserved(self, index: int | None) -> int:
        return 200

    def Event(self, enable_timing: bool) -> FakeEvent:  # noqa: N802
        self.events += 1
        return FakeEvent(self)

    def get_device_properties(self, index: int | None) -> SimpleNamespace:
        return SimpleNamespace(L2_cache_size=50 * MB, uuid="1234", name="H100")

    def empty(self, size: int, *, dtype: str, device: str) -> SimpleNamespace:
        """torch.empty: what is written there is logged, with its size in MB and its device."""
        return SimpleNamespace(zero_=lambda: self.log.append(f"write {size // MB} MB of {dtype} on {device}"))

    def call(self) -> None:
        self.log.append("call")
        self.now_ms += 2.0


class Library:
    """pynvml, as far as it is used: one GPU, that runs hot at 1.98 GHz, number 0 here whatever torch calls it."""

    NVML_CLOCK_SM, NVML_CLOCK_MEM = 1, 2
    NVML_PERF_POLICY_POWER, NVML_PERF_POLICY_THERMAL, NVML_TEMPERATURE_GPU = 0, 1, 0
    NVMLError = RuntimeError

    def __init__(self) -> None:
        self.capped_ns = 0  # by power, since the driver was loaded
        # idle and set by somebody, which is no throttling; a cap and heat, which is
        self.reasons = 0x1 | 0x2 | 0x4 | 0x40
        self.energy = iter(range(0, 10**9, 500))

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
        return self.reasons

    def nvmlDeviceGetViolationStatus(self, handle: int, policy: int) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(violationTime=self.capped_ns if policy == 0 else 0)

    def nvmlDeviceGetEnforcedPowerLimit(self, handle: int) -> int:  # noqa: N802
        return 650_000

    def nvmlDeviceGetTemperature(self, handle: int, sensor: int) -> int:  # noqa: N802
        return 61

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: int) -> int:  # noqa: N802
        return next(self.energy)

    def nvmlDeviceGetUUID(self, handle: int) -> str:  # noqa: N802
        return "GPU-1234"

    def nvmlDeviceGetDefaultApplicationsClock(self, handle: int, kind: int) -> int:  # noqa: N802
        return 1410

    def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[SimpleNamespace]:  # noqa: N802
        return [SimpleNamespace(pid=os.getpid(), usedGpuMemory=300), SimpleNamespace(pid=1, usedGpuMemory=1000)]

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(gpu=50)


def not_supported(*given: Any) -> Any:
    """What a driver answers that does not tell."""
    raise RuntimeError("Not Supported")
