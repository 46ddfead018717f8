"""Traces of one call, on request: a profiler trace of torch and a snapshot of a GPU's memory, as files of the store."""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ...query.why.allocations import LIVE_AT_PEAK, peaks
from ..engine.program import KERNEL_TIME, Fact

KERNEL = "kernel:"  # and its name: its time in one call
LOOKUP = "TorchDynamo Cache Lookup"  # what the profiler calls the search for code that fits the call


def profile(torch: Any, call: Callable[[], Any], path: Path) -> list[Fact]:
    """Profile one call into a Chrome trace, operators with shapes, memory and, on a GPU, kernels.

    Returns:
        The file, its size and path; and how long the compiler looked for its code, if it did.
    """
    activities = [torch.profiler.ProfilerActivity.CPU]
    on_gpu = torch.cuda.is_available()
    if on_gpu:
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities, record_shapes=True, profile_memory=True) as profiler:
        call()
        if on_gpu:
            torch.cuda.synchronize()
    profiler.export_chrome_trace(str(path))
    lookups = [event.cpu_time_total for event in profiler.events() if event.name.startswith(LOOKUP)]  # µs
    lookup = [Fact("cache_lookup_latency", sum(lookups) * 1e3, "ns", "lower")] if lookups else []
    kernels = kernel_times(profiler.events()) if on_gpu else []
    return [_file("profile_trace", path), *lookup, *kernels]


def kernel_times(events: Iterable[Any]) -> list[Fact]:
    """Times of a GPU's kernels, copies and fills within one profiled call.

    Args:
        events: The profiler's events; those of the GPU have its kind of device, and times in µs.

    Returns:
        `kernel:NAME` for each name, all its kernels together. `kernel_time`, the time in which any ran: of two that overlap,
        in two streams, the common time counts once.
    """
    spans = [
        (event.name, event.time_range.start * 1e3, event.time_range.end * 1e3)
        for event in events
        if str(event.device_type).endswith("CUDA") and not getattr(event, "is_user_annotation", False)
    ]
    names = Counter[str]()
    busy = reached = 0.0
    for name, start, end in sorted(spans, key=lambda span: span[1]):
        names[name] += end - start
        busy += max(end - max(start, reached), 0.0)
        reached = max(reached, end)
    if not spans:
        return [Fact(KERNEL_TIME, None, "ns", "lower", "the profiler saw no kernel of a GPU")]
    return [
        Fact(KERNEL_TIME, busy, "ns", "lower"),
        *(Fact(KERNEL + name, ns, "ns", "lower") for name, ns in sorted(names.items())),
    ]


def memory_snapshot(torch: Any, call: Callable[[], Any], path: Path, device: str) -> list[Fact]:
    """Record every allocation of one call; torch does that on GPUs only, so a CPU gets the reason in place of a file.

    Beside the file the memory of each call path that lived when the allocator held most, for `bench why`.
    """
    if not device.startswith("cuda"):
        return [Fact("memory_snapshot", None, text="torch takes snapshots of a GPU's memory only")]
    memory = torch.cuda.memory
    memory._record_memory_history()
    try:
        call()
        torch.cuda.synchronize()
        memory._dump_snapshot(str(path))
        snapshot = memory._snapshot()
    finally:
        memory._record_memory_history(enabled=None)
    index = int(device.partition(":")[2] or 0)
    live = dict(peaks(snapshot)).get(index, Counter())
    return [
        _file("memory_snapshot", path),
        *(Fact(LIVE_AT_PEAK, size, "bytes", text=path.place) for path, size in live.items()),
    ]


def _file(name: str, path: Path) -> Fact:
    return Fact(name, path.stat().st_size, "bytes", text=str(path))
