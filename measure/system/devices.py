"""Devices: how to measure time and memory on each."""

import contextlib
import functools
import gc
import itertools
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..engine.messages import first_line
from ..engine.sampling import MIN_SAMPLE_NS, Reading
from .disturbance import DisturbanceCounters
from .energy import EnergyReading, energy_of
from .host_memory import HostMemory, Peak
from .memory_limit import free_bytes
from .nvml import THROTTLES, NvmlGpu, nvml

FLUSH_BYTES = 256 * 2**20  # as triton's do_bench writes: 60 to 200 µs, in which the host queues a short call


class Device:
    """The CPU, and the base of other devices.

    A sample is to last `min_sample_ns` at least; with `even_loops` samples of all sides have equally many calls. Where a device
    is not `repeatable`, the same kernel may add in another order each time.
    """

    min_sample_ns = MIN_SAMPLE_NS
    even_loops = False
    repeatable = True

    def __init__(self, *, flush_l2: bool = False) -> None:
        """Prepare to measure; `flush_l2` has the L2 cache emptied before every call, where that can be done."""
        self._watch = DisturbanceCounters()
        self._flush_l2 = flush_l2
        self.memory = HostMemory()

    def missing(self) -> str | None:
        """The reason for which this device cannot be measured here, with the cure; None if it can."""
        return "a GPU's L2 cache can be flushed, not a CPU's. Measure without --flush-l2" if self._flush_l2 else None

    def use(self) -> None:
        """Have what names no index run there."""

    def lost(self) -> str | None:
        """The reason for which this process can run nothing there any more; None if it can."""
        return None

    def description(self) -> dict[str, str]:
        """Further facts of the device for each case, by metric."""
        return {}

    def release(self) -> None:
        """Give back memory that nothing holds any more, so that another process can have it."""

    def energy(self, call: Callable[[], Any], loops: int) -> EnergyReading:
        """Energy of one call, from many batches of so many."""
        return EnergyReading(reason="the energy of a CPU is not read")

    def free_bytes(self) -> int:
        """Memory there is to allocate."""
        return free_bytes()

    def synchronize(self) -> None:
        """Wait until the device has finished all work."""

    def time(self, call: Callable[[], Any], loops: int, lead: int = 0) -> Reading:
        """Time `loops` calls together, after `lead` that are not timed; counters are read before all of them, and after."""
        call = _together(call, lead + loops)
        before = self._watch.read()
        _repeat(call, lead)
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
    """An NVIDIA (or AMD, through torch's same interface) GPU.

    The GPU idles when a sample begins, and again at its end: samples are long, so that this does not count.
    """

    min_sample_ns = 10 * MIN_SAMPLE_NS
    even_loops = True
    repeatable = False

    def __init__(self, torch: Any, index: int | None = None, *, flush_l2: bool = False) -> None:
        super().__init__(flush_l2=flush_l2)
        self._torch = torch
        self._cuda = torch.cuda
        self._index = index
        self._in_peaks = False
        self._events: list[tuple[Any, Any]] = []  # made once: to make one costs as much as a short call

    def missing(self) -> str | None:
        """The reason for which this device cannot be measured here."""
        count = self._cuda.device_count() if self._cuda.is_available() else 0
        if count == 0:
            return "torch sees no CUDA device. Check nvidia-smi, and that torch is a CUDA build (torch.version.cuda)"
        if self._index is not None and self._index >= count:
            return f"there is no CUDA device {self._index}: torch sees {count}"
        return None

    def use(self) -> None:
        """Have what names no index run there: events, which belong to the current device, and libraries' own work.

        Where no index was asked for, a rank of several uses the GPU of its number.
        """
        index = self._index if self._index is not None else os.environ.get("LOCAL_RANK")
        if index is not None:
            self._index = int(index)
            self._cuda.set_device(self._index)

    def lost(self) -> str | None:
        """The reason for which nothing runs any more: an illegal access or a failed assertion in a kernel ends the context."""
        try:
            self._cuda.synchronize(self._index)
        except Exception as error:  # torch has a class for some of them, by version
            return first_line(str(error))
        return None

    def free_bytes(self) -> int:
        """Memory of the device there is to allocate."""
        return int(self._cuda.mem_get_info(self._index)[0])

    def synchronize(self) -> None:
        """Wait until the device has finished all work."""
        self._cuda.synchronize(self._index)

    def time(self, call: Callable[[], Any], loops: int, lead: int = 0) -> Reading:
        """Time `loops` calls together, by the host's clock and, between two events in the stream, by the device's.

        With the L2 cache to be flushed each is timed by itself, by the device's clock alone.
        """
        call = _together(call, lead + loops)
        before = self._gpu.violations() if self._gpu else {}
        _repeat(call, lead)
        flushed = self._flush_l2 and not self._in_peaks  # there the buffer would count as the call's
        reading = self._cold(call, loops) if flushed else self._timed(call, loops)
        return self._observed(reading, before)

    def _timed(self, call: Callable[[], Any], loops: int) -> Reading:
        ((start, end),) = self._pairs(1)

        def first() -> None:
            start.record()
            _repeat(call, loops)
            end.record()

        reading = super().time(first, 1)
        return replace(reading, loops=loops, device_ns=_nanoseconds(start, end))

    def _cold(self, call: Callable[[], Any], loops: int) -> Reading:
        """Each call after more bytes were written than the L2 cache holds, as triton's do_bench does.

        All of it is queued without waiting: while the GPU writes, the host runs ahead, so that the time between two events is
        the call's own, and not that of its launch. Of the host's clock nothing is left that would be the call's.
        """
        where = "cuda" if self._index is None else f"cuda:{self._index}"
        size = max(FLUSH_BYTES, self._properties.L2_cache_size)
        scratch = self._torch.empty(size, dtype=self._torch.int8, device=where)
        pairs = self._pairs(loops)

        def queue() -> None:
            for start, end in pairs:
                scratch.zero_()
                start.record()
                call()
                end.record()

        reading = super().time(queue, 1)
        device_ns = sum(_nanoseconds(*pair) for pair in pairs)
        return replace(reading, duration_ns=device_ns, loops=loops, device_ns=device_ns)

    def _pairs(self, count: int) -> list[tuple[Any, Any]]:
        """Pairs of events, so many, which belong to the current device."""
        while len(self._events) < count:
            start, end = (self._cuda.Event(enable_timing=True) for _ in range(2))
            self._events.append((start, end))
        return self._events[:count]

    def _observed(self, reading: Reading, before: Mapping[str, int]) -> Reading:
        """A sample with clocks, power limit and temperature, and what slowed the GPU meanwhile."""
        if self._gpu is None:
            return reading
        gauges, slowed = self._gpu.readings(), self._gpu.throttled(before)
        if slowed is None:
            return replace(reading, gauges=gauges)
        gauges |= {f"gpu_throttled:{name}": (1.0, "count") for name, bit in THROTTLES.items() if slowed & bit}
        return replace(reading, gauges=gauges, disturbance={**reading.disturbance, "throttled": slowed})

    def description(self) -> dict[str, str]:
        """The GPU by its identity, wherever its number stands, and how torch computes on it."""
        backends = self._torch.backends
        found = {
            "gpu_uuid": f"GPU-{getattr(self._properties, 'uuid', '')}", "gpu_name": self._properties.name,
            "cudnn_version": backends.cudnn.version(), "cudnn_benchmark": backends.cudnn.benchmark,
            "tf32_convolutions": backends.cudnn.allow_tf32, "tf32_products": backends.cuda.matmul.allow_tf32,
        }  # fmt: skip
        return {name: str(value) for name, value in found.items()}

    def release(self) -> None:
        """Give back what torch's allocator keeps for later."""
        gc.collect()
        self._cuda.empty_cache()

    def energy(self, call: Callable[[], Any], loops: int) -> EnergyReading:
        """Energy of one call, from many batches of so many, by the counter of NVML."""
        gpu = self._gpu
        if gpu is None:
            return EnergyReading(reason="NVML cannot be asked. Install it with: pip install nvidia-ml-py")
        together = _together(call, loops)

        def batch() -> int:
            _repeat(together, loops)
            self.synchronize()
            return loops

        return energy_of(batch, gpu.energy_mj)

    @contextlib.contextmanager
    def peaks(self) -> Iterator[list[Peak]]:
        """Peaks of the host's memory and of the device's allocator, which keeps exact count of both."""
        with super().peaks() as peaks:
            self.synchronize()
            self._cuda.empty_cache()
            self._cuda.reset_peak_memory_stats(self._index)
            before = self._cuda.memory_allocated(self._index)
            self._in_peaks = True
            try:
                yield peaks
                self.synchronize()
            finally:
                self._in_peaks = False
        allocated = self._cuda.max_memory_allocated(self._index)
        peaks += [
            Peak("cuda_allocated", allocated, 0, self._index or 0),
            Peak("cuda_growth", max(allocated - before, 0), 0, self._index or 0),
            Peak("cuda_reserved", self._cuda.max_memory_reserved(self._index), 0, self._index or 0),
            *self._used(),
        ]

    def _used(self) -> list[Peak]:
        """Memory of this process by NVML, including context and libraries; empty if NVML cannot tell."""
        size = self._gpu.memory_of([os.getpid()]) if self._gpu else None
        return [] if size is None else [Peak("nvml", size, None, self._index or 0, "reading")]

    @functools.cached_property
    def _properties(self) -> Any:
        return self._cuda.get_device_properties(self._index)

    @functools.cached_property
    def _gpu(self) -> NvmlGpu | None:
        """This GPU in NVML; None without library or driver, or if the driver does not know it."""
        found = nvml()
        try:
            return found.gpu(f"GPU-{self._properties.uuid}") if found else None
        except Exception:  # NVML has an error class for each, and an old torch no UUID
            return None


def _nanoseconds(start: Any, end: Any) -> int:
    """The time between two events, which resolve about 500 ns."""
    return round(float(start.elapsed_time(end)) * 1e6)


def _repeat(call: Callable[[], Any], times: int) -> None:
    for _ in itertools.repeat(None, times):
        call()


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
