"""Devices: how time and memory are read on each."""

import contextlib
import itertools
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from .disturbance import Watch
from .gpu_processes import Nvml
from .memory import HostMemory, Peak
from .memory_bound import free_bytes
from .sampling import Reading


class Device:
    """The CPU, and what every device has in common with it."""

    def __init__(self) -> None:
        self._watch = Watch()
        self.memory = HostMemory()

    def missing(self) -> str | None:
        """Why this device cannot be measured here, with the cure; None if it can."""
        return None

    def free_bytes(self) -> int:
        """Memory there is to allocate."""
        return free_bytes()

    def synchronize(self) -> None:
        """Return when everything asked of the device is done."""

    def time(self, call: Callable[[], Any], loops: int) -> Reading:
        """Time `loops` calls together; what disturbed them is read outside the timed stretch."""
        call = _together(call, loops)
        before = self._watch.read()
        repeats = itertools.repeat(None, loops)
        self.synchronize()
        start = time.perf_counter_ns()
        for _ in repeats:
            call()
        self.synchronize()
        duration = time.perf_counter_ns() - start
        return Reading(duration, loops, None, self._watch.since(before))

    @contextlib.contextmanager
    def peaks(self) -> Iterator[list[Peak]]:
        """Measure the peak memory of a `with` block; the list is filled when it ends."""
        with self.memory.watch() as peaks:
            yield peaks


class Cuda(Device):
    """An NVIDIA (or AMD, through torch's same interface) GPU."""

    def __init__(self, torch: Any, index: int | None = None) -> None:
        super().__init__()
        self._cuda = torch.cuda
        self._index = index
        self._nvml: Nvml | None = None

    def missing(self) -> str | None:
        """Why this device cannot be measured here."""
        count = self._cuda.device_count() if self._cuda.is_available() else 0
        if count == 0:
            return "torch sees no CUDA device. Check nvidia-smi, and that torch is a CUDA build (torch.version.cuda)"
        if self._index is not None and self._index >= count:
            return f"there is no CUDA device {self._index}: torch sees {count}"
        return None

    def free_bytes(self) -> int:
        """Memory of the device there is to allocate."""
        return int(self._cuda.mem_get_info(self._index)[0])

    def synchronize(self) -> None:
        """Return when everything asked of the device is done."""
        self._cuda.synchronize(self._index)

    def time(self, call: Callable[[], Any], loops: int) -> Reading:
        """Time `loops` calls together, by the host's clock and, between two events in the stream, by the device's."""
        call = _together(call, loops)
        start, end = (self._cuda.Event(enable_timing=True) for _ in range(2))

        def first() -> None:
            start.record()
            for _ in itertools.repeat(None, loops):
                call()
            end.record()

        reading = super().time(first, 1)
        device_ns = round(start.elapsed_time(end) * 1e6)
        return Reading(reading.duration_ns, loops, device_ns, reading.disturbance)

    @contextlib.contextmanager
    def peaks(self) -> Iterator[list[Peak]]:
        """Peaks of the host's memory and of the device's allocator, which keeps exact count of both."""
        with super().peaks() as peaks:
            self.synchronize()
            self._cuda.empty_cache()
            self._cuda.reset_peak_memory_stats(self._index)
            yield peaks
            self.synchronize()
        peaks += [
            Peak("cuda_allocated", self._cuda.max_memory_allocated(self._index), 0, self._index or 0),
            Peak("cuda_reserved", self._cuda.max_memory_reserved(self._index), 0, self._index or 0),
            *self._used(),
        ]

    def _used(self) -> list[Peak]:
        """What NVML says this process holds now, its context and the libraries' memory included; nothing where it is mute."""
        try:
            if self._nvml is None:
                import pynvml

                self._nvml = Nvml(pynvml)
            uses = self._nvml.look([os.getpid()])
        except Exception:  # no library, no driver, or one that does not tell: NVML has an error class for each
            return []
        return [Peak("nvml", use.size_bytes, None, use.device_index, "reading") for use in uses]


def _together(call: Callable[[], Any], loops: int) -> Callable[[], Any]:
    """What to call here, where other processes call it, too: they are told how often, before the clock starts."""
    together: Callable[[int], Callable[[], Any]] | None = getattr(call, "together", None)
    return call if together is None else together(loops)


def device(name: str) -> Device:
    """The device torch calls by this name: cpu, cuda, cuda:1.

    Raises:
        ValueError: It is none of these.
    """
    kind, _, index = name.partition(":")
    if kind == "cpu":
        return Device()
    if kind == "cuda":
        import torch

        return Cuda(torch, int(index) if index else None)
    raise ValueError(f"no device {name!r}: there are cpu, cuda and cuda:N")
