"""Use of NVIDIA GPUs by processes; the GPUs' clocks, power, heat and energy; read from NVML."""

import contextlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")

# bits of nvmlDeviceGetCurrentClocksThrottleReasons (NVML API, clocks event reasons) that slow a GPU down; idleness and clocks
# that somebody set are none
THROTTLES = {
    "power_cap": 0x04, "hardware_slowdown": 0x08, "heat_software": 0x20, "heat_hardware": 0x40, "power_brake": 0x80,
}  # fmt: skip


CLOCKS_SET = 0x02  # somebody has set clocks


@dataclass(frozen=True, slots=True)
class ClockLock:
    """True if a GPU's clocks are locked, None unknown; and the clock of its multiprocessors to lock them at, MHz."""

    uuid: str
    locked: bool | None
    mhz: int | None


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
        self.Error: type[Exception] = library.NVMLError
        library.nvmlInit()
        self._handles = [library.nvmlDeviceGetHandleByIndex(index) for index in range(library.nvmlDeviceGetCount())]

    def gpu(self, uuid: str) -> "NvmlGpu":
        """One GPU by its UUID, which is the same for torch and for NVML; their numbers are not.

        Raises:
            pynvml.NVMLError: There is no such GPU.
        """
        return NvmlGpu(self._library, self._library.nvmlDeviceGetHandleByUUID(uuid))

    def gpus(self) -> "list[NvmlGpu]":
        """All GPUs, by NVML's numbers."""
        return [NvmlGpu(self._library, handle) for handle in self._handles]

    def look(self, pids: Collection[int]) -> list[GpuUse]:
        """The GPUs that these processes use, by NVML's numbers; what the driver does not report counts as not used."""
        found = []
        for index, handle in enumerate(self._handles):
            with contextlib.suppress(self.Error):  # not supported: a part of a GPU, WSL, a virtual GPU
                processes = self._library.nvmlDeviceGetComputeRunningProcesses(handle)
                sizes = [p.usedGpuMemory for p in processes if p.pid in pids and p.usedGpuMemory is not None]
                if sizes:
                    busy = self._library.nvmlDeviceGetUtilizationRates(handle).gpu / 100
                    found.append(GpuUse(index, sum(sizes), busy))
        return found

    def others(self, pids: Collection[int]) -> list[tuple[int, int]]:
        """GPU and process id of all other processes that use it.

        Raises:
            pynvml.NVMLError: The driver does not tell, as of a part of a GPU or under WSL.
        """
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


class NvmlGpu:
    """One GPU, read by NVML. What its driver does not tell is left out."""

    def __init__(self, library: Any, handle: Any) -> None:
        self._library, self._handle = library, handle

    def readings(self) -> dict[str, tuple[float, str]]:
        """Clocks, power limit and temperature now: value and unit by metric; of performance states 0 is the fastest."""
        library = self._library
        return self._told({
            "gpu_sm_clock": lambda gpu: (library.nvmlDeviceGetClockInfo(gpu, library.NVML_CLOCK_SM) * 1e6, "Hz"),
            "gpu_memory_clock": lambda gpu: (library.nvmlDeviceGetClockInfo(gpu, library.NVML_CLOCK_MEM) * 1e6, "Hz"),
            "gpu_performance_state": lambda gpu: (float(library.nvmlDeviceGetPerformanceState(gpu)), "count"),
            "gpu_power_limit": lambda gpu: (library.nvmlDeviceGetEnforcedPowerLimit(gpu) / 1e3, "W"),
            "gpu_temperature": lambda gpu: (
                float(library.nvmlDeviceGetTemperature(gpu, library.NVML_TEMPERATURE_GPU)), "celsius"
            ),
        })  # fmt: skip

    def violations(self) -> dict[str, int]:
        """The time in ns that power and heat have slowed the GPU since its driver was loaded, by reason.

        They count on while nobody looks: a cap within a sample shows in them when it is over.
        """
        library = self._library

        def since_loaded(policy: int) -> Callable[[Any], int]:
            return lambda gpu: int(library.nvmlDeviceGetViolationStatus(gpu, policy).violationTime)

        return self._told({
            "power_cap": since_loaded(library.NVML_PERF_POLICY_POWER),
            "heat_software": since_loaded(library.NVML_PERF_POLICY_THERMAL),
        })  # fmt: skip

    def throttled(self, before: Mapping[str, int]) -> int | None:
        """The reasons that slowed the GPU since `before`, or do now, as bits of THROTTLES; None if the driver hides them."""
        after = self.violations()
        now = self._told({"now": self._library.nvmlDeviceGetCurrentClocksThrottleReasons})
        if not now and not before.keys() & after.keys():
            return None
        grown = sum(THROTTLES[reason] for reason in before.keys() & after.keys() if after[reason] > before[reason])
        return grown | int(now.get("now", 0)) & sum(THROTTLES.values())

    def energy_mj(self) -> int | None:
        """Energy since its driver was loaded; None where it does not tell."""
        return self._told({"energy": self._library.nvmlDeviceGetTotalEnergyConsumption}).get("energy")

    def memory_of(self, pids: Collection[int]) -> int | None:
        """Memory of these processes; None where they have none here, or the driver does not tell."""
        found = self._told({"processes": self._library.nvmlDeviceGetComputeRunningProcesses}).get("processes", ())
        sizes = [one.usedGpuMemory for one in found if one.pid in pids and one.usedGpuMemory is not None]
        return sum(sizes) if sizes else None

    def clock_lock(self) -> ClockLock:
        """Return whether its clocks are locked, and at which they can be."""
        library = self._library
        found = self._told({
            "uuid": library.nvmlDeviceGetUUID,
            "reasons": library.nvmlDeviceGetCurrentClocksThrottleReasons,
            "default": lambda gpu: library.nvmlDeviceGetDefaultApplicationsClock(gpu, library.NVML_CLOCK_SM),
            "most": lambda gpu: library.nvmlDeviceGetMaxClockInfo(gpu, library.NVML_CLOCK_SM),
        })  # fmt: skip
        reasons = found.get("reasons")
        return ClockLock(
            found.get("uuid", ""),
            None if reasons is None else bool(reasons & CLOCKS_SET),
            found.get("default") or found.get("most"),
        )

    def _told(self, questions: Mapping[str, Callable[[Any], T]]) -> dict[str, T]:
        """The answers that the driver gives; some are not supported by a part of a GPU, under WSL, or by old GPUs."""
        answers = {}
        for name, question in questions.items():
            with contextlib.suppress(self._library.NVMLError, AttributeError):  # an old pynvml lacks some functions
                answers[name] = question(self._handle)
        return answers


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
