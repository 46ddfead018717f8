"""Traces of one call, on request: a profiler trace of torch and a snapshot of a GPU's memory, as files of the store."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..engine.program import Fact

LOOKUP = "TorchDynamo Cache Lookup"  # what the profiler calls the search for code that fits the call


def profile(torch: Any, call: Callable[[], Any], path: Path) -> list[Fact]:
    """Profile one call into a Chrome trace, operators with shapes, memory and, on a GPU, kernels.

    Returns:
        The file, its size and path; and how long the compiler looked for its code, if it did.
    """
    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities, record_shapes=True, profile_memory=True) as profiler:
        call()
    profiler.export_chrome_trace(str(path))
    lookups = [event.cpu_time_total for event in profiler.events() if event.name.startswith(LOOKUP)]  # µs
    lookup = [Fact("cache_lookup_latency", sum(lookups) * 1e3, "ns", "lower")] if lookups else []
    return [_file("profile_trace", path), *lookup]


def memory_snapshot(torch: Any, call: Callable[[], Any], path: Path, device: str) -> list[Fact]:
    """Record every allocation of one call; torch does that on GPUs only, so a CPU gets the reason in place of a file."""
    if not device.startswith("cuda"):
        return [Fact("memory_snapshot", None, text="torch takes snapshots of a GPU's memory only")]
    memory = torch.cuda.memory
    memory._record_memory_history()
    try:
        call()
        torch.cuda.synchronize()
        memory._dump_snapshot(str(path))
    finally:
        memory._record_memory_history(enabled=None)
    return [_file("memory_snapshot", path)]


def _file(name: str, path: Path) -> Fact:
    return Fact(name, path.stat().st_size, "bytes", text=str(path))
