"""Use of NVIDIA GPUs by processes, and the GPUs' clocks, read from NVML."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

# bits of nvmlDeviceGetCurrentClocksThrottleReasons (NVML API, clocks event reasons) that slow a GPU down; idleness and clocks
# that somebody set are none
THROTTLES = {
    "power_cap": 0x04, "hardware_slowdown": 0x08, "heat_software": 0x20, "heat_hardware": 0x40, "power_brake": 0x80,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class GpuUse:
    """One GPU that one of the processes uses."""

    device_index: int
    size_bytes: int  # memory of these processes
    utilization: float  # share of the last moment in which any kernel ran, of any process: NVML knows no other


class Nvml:
    """The GPUs of this machine; `library` is pynvml, or what acts like it."""

    def __init__(self, library: Any) -> None:
        """Begin to use NVML.

        Raises:
            library.NVMLError: There is no driver.
        """
        self._library = library
        library.nvmlInit()
        self._handles = [library.nvmlDeviceGetHandleByIndex(index) for index in range(library.nvmlDeviceGetCount())]

    def clocks(self, uuid: str) -> dict[str, tuple[float, str]]:
        """A GPU's clocks and reasons for slowdowns: value and unit by metric.

        Raises:
            library.NVMLError: There is no such GPU.
        """
        library = self._library
        handle = library.nvmlDeviceGetHandleByUUID(uuid)
        reasons = library.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
        return {
            "gpu_sm_clock": (library.nvmlDeviceGetClockInfo(handle, library.NVML_CLOCK_SM) * 1e6, "Hz"),
            "gpu_memory_clock": (library.nvmlDeviceGetClockInfo(handle, library.NVML_CLOCK_MEM) * 1e6, "Hz"),
            "gpu_performance_state": (
                float(library.nvmlDeviceGetPerformanceState(handle)),
                "count",
            ),  # 0 is the fastest
            **{f"gpu_throttled:{name}": (1.0, "count") for name, bit in THROTTLES.items() if reasons & bit},
        }

    def look(self, pids: Collection[int]) -> list[GpuUse]:
        """The GPUs that these processes use; a process whose memory the driver does not report counts as using none."""
        found = []
        for index, handle in enumerate(self._handles):
            processes = self._library.nvmlDeviceGetComputeRunningProcesses(handle)
            sizes = [p.usedGpuMemory for p in processes if p.pid in pids and p.usedGpuMemory is not None]
            if sizes:
                busy = self._library.nvmlDeviceGetUtilizationRates(handle).gpu / 100
                found.append(GpuUse(index, sum(sizes), busy))
        return found

    def others(self, pids: Collection[int]) -> list[tuple[int, int]]:
        """GPU and process id of all other processes that use it."""
        return [
            (index, process.pid)
            for index, handle in enumerate(self._handles)
            for processes in (
                self._library.nvmlDeviceGetComputeRunningProcesses(handle),
                self._library.nvmlDeviceGetGraphicsRunningProcesses(handle),
            )
            for process in processes
            if process.pid not in pids
        ]


def nvml() -> Nvml | None:
    """NVML, where it and a driver are there."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        return Nvml(pynvml)
    except pynvml.NVMLError:
        return None
