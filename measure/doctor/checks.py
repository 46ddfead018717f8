"""The doctor: properties of this machine that would disturb a measurement, each finding with its cure.

A check reads the system's files below `root`, which tests replace. What cannot be known is reported as unknown: a virtual
machine shows no governor.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ...warehouse.console.numbers import counted, duration, percent, size
from ..engine.sampling import CLOCK_NS
from ..system.host_memory import HostMemory, error_bound_bytes
from ..system.nvml import Nvml, nvml

OK, WARNING, UNKNOWN = "ok", "warning", "unknown"
MOST_LOAD = 0.1  # of the processors, by others
CJK = "4e00"  # a code point that fonts beyond Latin have


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check; the cure is empty if nothing needs one. Durations are in ns, other values are shares."""

    check: str
    status: str
    found: str
    cure: str = ""
    values: Mapping[str, tuple[float, str]] = field(default_factory=dict)  # metric -> value and unit


@dataclass(frozen=True, slots=True)
class Machine:
    """The root of the system's files, and the processors we may run on."""

    root: Path = Path("/")
    cpus: tuple[int, ...] = field(default_factory=lambda: tuple(sorted(os.sched_getaffinity(0))))

    def read(self, path: str) -> str | None:
        """The text of a file; None if it does not exist."""
        try:
            return (self.root / path).read_text().strip()
        except (OSError, UnicodeDecodeError):
            return None


def governor(machine: Machine) -> Finding:
    """Return whether the CPU clock may be lowered to save power."""
    found = {machine.read(f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor") for cpu in machine.cpus}
    names = sorted(filter(None, found))
    if not names:
        return Finding("governor", UNKNOWN, "the kernel shows none, as in most virtual machines")
    if names == ["performance"]:
        return Finding("governor", OK, "performance")
    return Finding("governor", WARNING, f"{', '.join(names)}: the clock follows the load",
                   "sudo cpupower frequency-set -g performance")  # fmt: skip


def turbo(machine: Machine) -> Finding:
    """Return whether the CPU clock may be raised for a while (turbo)."""
    for path, off in (
        ("sys/devices/system/cpu/intel_pstate/no_turbo", "1"),
        ("sys/devices/system/cpu/cpufreq/boost", "0"),
    ):
        text = machine.read(path)
        if text is not None and text != off:
            return Finding("turbo", WARNING, "on: the clock depends on heat and on the neighbours",
                           f"echo {off} | sudo tee /{path}")  # fmt: skip
        if text is not None:
            return Finding("turbo", OK, "off")
    return Finding("turbo", UNKNOWN, "the kernel does not show it")


def siblings(machine: Machine) -> Finding:
    """Return whether two of our processors share a core."""
    cores: dict[str, list[int]] = {}
    for cpu in machine.cpus:
        core = machine.read(f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        if core is None:
            return Finding("siblings", UNKNOWN, "the kernel does not show them")
        cores.setdefault(core, []).append(cpu)
    if len(cores) == len(machine.cpus):
        return Finding("siblings", OK, f"{counted(len(cores), 'processor')}, each a core of its own")
    alone = ",".join(str(cpus[0]) for cpus in cores.values())
    return Finding("siblings", WARNING, f"{len(machine.cpus)} processors share {counted(len(cores), 'core')}",
                   f"measure on one of each: taskset -c {alone} bench measure …")  # fmt: skip


def huge_pages(machine: Machine) -> Finding:
    """Return whether the kernel uses 2 MB pages without being asked."""
    text = machine.read("sys/kernel/mm/transparent_hugepage/enabled")
    if text is None:
        return Finding("huge pages", UNKNOWN, "the kernel does not show them")
    chosen = text.partition("[")[2].partition("]")[0]
    if chosen != "always":
        return Finding("huge pages", OK, chosen)
    return Finding("huge pages", WARNING, "always: peaks are in steps of 2 MiB, and pages are merged while you measure",
                   "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled")  # fmt: skip


def quota(machine: Machine) -> Finding:
    """Return whether a CPU quota of a control group can pause us within a sample."""
    for folder in _groups(machine):
        limit, period = (machine.read(f"{folder}/cpu.max") or "max").partition(" ")[::2]
        if limit == "max":
            limit, period = (machine.read(f"{folder}/cpu.cfs_{name}_us") or "-1" for name in ("quota", "period"))
        if int(limit) > 0:
            share = int(limit) / int(period or 100_000)
            throttled = next(
                (line.split()[1] for line in (machine.read(f"{folder}/cpu.stat") or "").splitlines()
                 if line.startswith("nr_throttled")), "0",
            )  # fmt: skip
            return Finding("quota", WARNING, f"{share:g} processors at most; stopped {throttled} times so far",
                           "lift it (docker run --cpus, limits.cpu of a pod), or give whole processors")  # fmt: skip
    return Finding("quota", OK, "none")


def _groups(machine: Machine) -> Iterator[str]:
    """Folders of our control groups, of both versions, and those above them."""
    for line in (machine.read("proc/self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        top = Path("sys/fs/cgroup", controllers)
        own = top / path.lstrip("/")
        yield from (str(folder) for folder in (own, *own.parents) if folder.is_relative_to(top))


def load(machine: Machine) -> Finding:
    """Return whether other processes load this machine."""
    text = machine.read("proc/loadavg")
    if text is None:
        return Finding("load", UNKNOWN, "the kernel does not show it")
    busy = float(text.split()[0]) / max(os.cpu_count() or 1, 1)
    values = {"load": (busy, "ratio")}
    if busy <= MOST_LOAD:
        return Finding("load", OK, f"{percent(busy, 0)} of the processors in the last minute", values=values)
    return Finding("load", WARNING, f"{percent(busy, 0)} of the processors in the last minute",
                   "end what runs: ps aux --sort=-%cpu | head", values)  # fmt: skip


def gpus(machine: Machine, look: Callable[[], Nvml | None] = nvml) -> Finding:
    """Return whether other processes use the GPUs."""
    found = look()
    if found is None and machine.read("proc/driver/nvidia/version") is not None:
        return Finding(
            "gpu processes", UNKNOWN, "there is a driver, and NVML cannot be asked", "pip install nvidia-ml-py"
        )
    if found is None:
        return Finding("gpu processes", OK, "no GPU that NVML knows")
    try:
        others = found.others([os.getpid()])
    except found.Error as error:
        return Finding("gpu processes", UNKNOWN, f"NVML does not tell: {error}")
    if not others:
        return Finding("gpu processes", OK, "none but ours")
    pids = ", ".join(f"{pid} on GPU {index}" for index, pid in others)
    if not any(machine.read(f"proc/{pid}/comm") for _, pid in others):
        return Finding(
            "gpu processes", UNKNOWN, f"{pids}: none has this number here, as where NVML counts outside of a container"
        )
    return Finding(
        "gpu processes", WARNING, f"{pids}, by NVML's numbers", "end them, or measure on another: --devices cuda:N"
    )


def gpu_clocks(machine: Machine, look: Callable[[], Nvml | None] = nvml) -> Finding:
    """Return whether the GPUs' clocks follow load, power and heat. The cure locks them, and gives them back."""
    found = look()
    if found is None:
        return Finding("gpu clocks", OK, "no GPU that NVML knows")
    locks = [gpu.clock_lock() for gpu in found.gpus()]
    free = [lock for lock in locks if lock.locked is False and lock.mhz]
    if free:
        lines = [
            f"sudo nvidia-smi -i {lock.uuid} --lock-gpu-clocks={lock.mhz},{lock.mhz}; bench measure …; "
            f"sudo nvidia-smi -i {lock.uuid} --reset-gpu-clocks"
            for lock in free
        ]
        which = f"{len(free)} of {len(locks)}" if len(locks) > 1 else "it"
        return Finding("gpu clocks", WARNING, f"not locked: {which} follows load, power and heat", "\n".join(lines))
    if any(lock.locked is None or not lock.locked for lock in locks):
        return Finding("gpu clocks", UNKNOWN, "NVML does not tell whether they are locked")
    return Finding("gpu clocks", OK, "locked")


def clock(machine: Machine, now: Callable[[], int] = time.perf_counter_ns) -> Finding:
    """The resolution of the clock, and the cost of reading it."""
    steps = [b - a for a, b in ((now(), now()) for _ in range(2000))]
    overhead = float(sorted(steps)[len(steps) // 2])
    resolution = float(min((step for step in steps if step > 0), default=0))
    values = {"clock_overhead": (overhead, "ns"), "clock_resolution": (resolution, "ns")}
    source = machine.read("sys/devices/system/clocksource/clocksource0/current_clocksource") or "unknown"
    text = f"{source}: {duration(overhead)} a reading, steps of {duration(resolution)}"
    if overhead <= 2 * CLOCK_NS:
        return Finding("clock", OK, text, values=values)
    return Finding("clock", WARNING, f"{text}: short samples need more loops than they get",
                   "boot with clocksource=tsc, or ask whoever runs the virtual machine", values)  # fmt: skip


def fonts(machine: Machine) -> Finding:
    """Return whether a font for non-Latin names in charts is installed."""
    program = shutil.which("fc-list")
    if program is None:
        return Finding("fonts", UNKNOWN, "there is no fontconfig to ask", "apt install fontconfig fonts-noto-cjk")
    done = subprocess.run([program, f":charset={CJK}", "family"], capture_output=True, text=True)
    if done.stdout.strip():
        return Finding("fonts", OK, "charts can show Chinese and Japanese names")
    return Finding(
        "fonts", WARNING, "charts would show Chinese and Japanese names as boxes", "apt install fonts-noto-cjk"
    )


def exact_memory(machine: Machine) -> Finding:
    """Return whether the kernel's high-water mark can be reset."""
    if HostMemory(machine.root / "proc" / "self").exact:
        return Finding("exact memory", OK, f"peaks are exact, to {size(error_bound_bytes())}")
    return Finding("exact memory", WARNING, "peaks would be sampled: /proc/self/clear_refs cannot be written",
                   "run outside the sandbox, on a kernel with CONFIG_PROC_PAGE_MONITOR")  # fmt: skip


CHECKS: tuple[Callable[[Machine], Finding], ...] = (
    governor, turbo, siblings, huge_pages, quota, load, gpus, gpu_clocks, clock, fonts, exact_memory,
)  # fmt: skip
