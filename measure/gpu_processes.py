"""What processes use of NVIDIA GPUs, by NVML."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any


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

    def look(self, pids: Collection[int]) -> list[GpuUse]:
        """The GPUs these processes use; a process whose memory the driver does not tell counts as using none."""
        found = []
        for index, handle in enumerate(self._handles):
            processes = self._library.nvmlDeviceGetComputeRunningProcesses(handle)
            sizes = [p.usedGpuMemory for p in processes if p.pid in pids and p.usedGpuMemory is not None]
            if sizes:
                busy = self._library.nvmlDeviceGetUtilizationRates(handle).gpu / 100
                found.append(GpuUse(index, sum(sizes), busy))
        return found

    def others(self, pids: Collection[int]) -> list[tuple[int, int]]:
        """GPU and process id of whatever else computes or draws there."""
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
