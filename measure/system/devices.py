"""Devices: how to measure time and memory on each."""

import contextlib
import functools
import itertools
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from ..engine.sampling import Reading
from .disturbance import DisturbanceCounters
from .host_memory import HostMemory, Peak
from .memory_limit import free_bytes
from .nvml import Nvml, nvml

T = TypeVar("T")


class Device:
    """The CPU, and the base of other devices."""

    def __init__(self, *, flush_l2: bool = False) -> None:
        """Prepare to measure; `flush_l2` has the L2 cache emptied before every call, where that can be done."""
        self._watch = DisturbanceCounters()
        self._flush_l2 = flush_l2
        self.memory = HostMemory()

    def missing(self) -> str | None:
        """Why this device cannot be measured here, with the cure; None if it can."""
        return "a GPU's L2 cache can be flushed, not a CPU's. Measure without --flush-l2" if self._flush_l2 else None

    def free_bytes(self) -> int:
        """Memory there is to allocate."""
        return free_bytes()

    def synchronize(self) -> None:
        """Wait until the device has finished all work."""

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

    def __init__(self, torch: Any, index: int | None = None, *, flush_l2: bool = False) -> None:
        super().__init__(flush_l2=flush_l2)
        self._torch = torch
        self._cuda = torch.cuda
        self._index = index
        self._in_peaks = False

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
        """Wait until the device has finished all work."""
        self._cuda.synchronize(self._index)

    def time(self, call: Callable[[], Any], loops: int) -> Reading:
        """Time `loops` calls together, by the host's clock and, between two events in the stream, by the device's.

        With the L2 cache to be flushed they are timed one by one, and their times added.
        """
        call = _together(call, loops)
        flushed = self._flush_l2 and not self._in_peaks  # there the buffer would count as the call's
        reading = self._cold(call, loops) if flushed else self._timed(call, loops)
        return replace(reading, gauges=self._clocks())

    def _timed(self, call: Callable[[], Any], loops: int) -> Reading:
        start, end = (self._cuda.Event(enable_timing=True) for _ in range(2))

        def first() -> None:
            start.record()
            for _ in itertools.repeat(None, loops):
                call()
            end.record()

        reading = super().time(first, 1)
        return replace(reading, loops=loops, device_ns=round(start.elapsed_time(end) * 1e6))

    def _cold(self, call: Callable[[], Any], loops: int) -> Reading:
        """Each call after as many bytes were written as the L2 cache holds, as NVBench does."""
        where = "cuda" if self._index is None else f"cuda:{self._index}"
        scratch = self._torch.empty(self._properties.L2_cache_size, dtype=self._torch.int8, device=where)
        readings = []
        for _ in range(loops):
            scratch.zero_()
            readings.append(self._timed(call, 1))
        disturbance = {name: sum(one.disturbance[name] for one in readings) for name in readings[0].disturbance}
        return Reading(
            sum(one.duration_ns for one in readings), loops, sum(one.device_ns or 0 for one in readings), disturbance
        )

    @contextlib.contextmanager
    def peaks(self) -> Iterator[list[Peak]]:
        """Peaks of the host's memory and of the device's allocator, which keeps exact count of both."""
        with super().peaks() as peaks:
            self.synchronize()
            self._cuda.empty_cache()
            self._cuda.reset_peak_memory_stats(self._index)
            self._in_peaks = True
            try:
                yield peaks
                self.synchronize()
            finally:
                self._in_peaks = False
        peaks += [
            Peak("cuda_allocated", self._cuda.max_memory_allocated(self._index), 0, self._index or 0),
            Peak("cuda_reserved", self._cuda.max_memory_reserved(self._index), 0, self._index or 0),
            *self._used(),
        ]

    def _used(self) -> list[Peak]:
        """Memory of this process by NVML, including context and libraries; empty if NVML cannot tell."""
        uses = self._asked(lambda library: library.look([os.getpid()])) or []
        return [Peak("nvml", use.size_bytes, None, use.device_index, "reading") for use in uses]

    def _clocks(self) -> dict[str, tuple[float, str]]:
        """The GPU's clocks now, and reasons for slowdowns; empty if NVML cannot tell."""
        return self._asked(lambda library: library.clocks(f"GPU-{self._properties.uuid}")) or {}

    def _asked(self, question: Callable[[Nvml], T]) -> T | None:
        """NVML's answer; None without library or driver, or if the driver cannot tell."""
        try:
            return question(self._nvml) if self._nvml else None
        except Exception:  # NVML has an error class for each
            return None

    @functools.cached_property
    def _properties(self) -> Any:
        return self._cuda.get_device_properties(self._index)

    @functools.cached_property
    def _nvml(self) -> Nvml | None:
        return nvml()


def _together(call: Callable[[], Any], loops: int) -> Callable[[], Any]:
    """The function to call if other processes must call it, too: they learn how often before the clock starts."""
    together: Callable[[int], Callable[[], Any]] | None = getattr(call, "together", None)
    return call if together is None else together(loops)


def device(name: str, *, flush_l2: bool = False) -> Device:
    """The device torch calls by this name: cpu, cuda, cuda:1.

    Raises:
        ValueError: It is none of these.
    """
    kind, _, index = name.partition(":")
    if kind == "cpu":
        return Device(flush_l2=flush_l2)
    if kind == "cuda":
        import torch

        return Cuda(torch, int(index) if index else None, flush_l2=flush_l2)
    raise ValueError(f"no device {name!r}: there are cpu, cuda and cuda:N")
