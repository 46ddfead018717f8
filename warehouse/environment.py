"""The machine and software of a run; everything here is optional, and nothing here may fail a run.

It is read from /proc, /sys and package files in 2 ms: psutil, platform and importlib.metadata would give the same, and take
32 ms to import.
"""

import contextlib
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from .events import Environment, as_json
from .secrets import masked_variable

VARIABLES = (
    "CUBLAS_WORKSPACE_CONFIG", "CUDA_DEVICE_ORDER", "CUDA_LAUNCH_BLOCKING", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
    "KMP_AFFINITY", "KMP_BLOCKTIME", "LD_PRELOAD", "MALLOC_ARENA_MAX", "MALLOC_CONF", "MKL_NUM_THREADS",
    "NVIDIA_TF32_OVERRIDE", "OMP_NUM_THREADS", "OMP_PLACES", "OMP_PROC_BIND", "PYTHONHASHSEED", "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
)  # fmt: skip
PACKAGES = (  # beside torch: what a model is made of, or compiled with; names as in the folders of installed distributions
    "transformers", "timm", "torchbench", "torchvision", "torchao", "triton", "pytorch_triton", "onnxruntime",
    "onnxruntime_gpu", "onnxscript", "openvino", "torch_tensorrt", "numpy",
)  # fmt: skip
GPU_DEVICES = ("/dev/nvidiactl", "/dev/dxg")  # the second under WSL
_declared: set[str] = set()  # further packages, see `declare`
PREFIXES = ("TORCH", "INDUCTOR", "NCCL_", "TRITON_")
COMMIT = "BENCH_COMMIT"  # names the commit of the measured code, where that is not the tree that bench is called in
NAMES_OF_RUNS = "TORCHELASTIC_"  # what torchrun says of one start of its ranks
_SHARED = "cpu[0-9]*/topology/core_cpus_list"
PER_PROCESS = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")  # paths that differ in every worker and change no speed


def declare(packages: Iterable[str]) -> None:
    """Have the versions of these packages recorded, too, from the next `capture` on; names are those of pip."""
    _declared.update(re.sub(r"[-_.]+", "_", package).lower() for package in packages)
    capture.cache_clear()


@functools.cache
def capture() -> Environment:
    """Describe this machine and its software, once per process."""
    gpus, driver, extra = _gpus()
    extra |= machine_limits()
    machine = os.uname()
    variables = {
        name: masked_variable(name, value)
        for name, value in sorted(os.environ.items())
        if (name in VARIABLES or name.startswith(PREFIXES))
        and name not in PER_PROCESS
        and not name.startswith(NAMES_OF_RUNS)
    }
    packages = _versions()
    return identified(
        Environment(
            environment_id="",
            cpu=_cpu(),
            logical_cores=os.cpu_count(),
            physical_cores=_cores(),
            governor=_read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            ram_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
            gpus=gpus,
            driver=driver,
            os=f"{machine.sysname} {machine.release}",
            architecture=machine.machine,
            python=sys.version.split()[0],
            torch=packages.pop("torch", None),
            packages=as_json(packages) if packages else None,
            variables=as_json(variables) if variables else None,
            extra=as_json(extra) if extra else None,
        )
    )


def identified(environment: Environment) -> Environment:
    """The same environment with its id, the hash of all other columns."""
    facts = {f.name: getattr(environment, f.name) for f in fields(environment) if f.name != "environment_id"}
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()
    return replace(environment, environment_id=digest[:16])


@functools.cache
def machine() -> dict[str, str]:
    """The namespace of this kernel's process ids: host, boot, and the namespace of process ids; what is unknown is ''."""
    namespace = ""
    with contextlib.suppress(OSError):
        namespace = os.readlink("/proc/self/ns/pid")
    return {"host": os.uname().nodename, "boot": _read("/proc/sys/kernel/random/boot_id") or "", "processes": namespace}


def git(folder: Path | None = None) -> tuple[str | None, str | None, bool | None]:
    """Commit, branch and dirtiness of the measured code: the commit named by hand, else of the tree around `folder`."""
    found = _working_tree(folder)
    named = os.environ.get(COMMIT)
    return (named, found[1], False) if named else found


def _working_tree(folder: Path | None) -> tuple[str | None, str | None, bool | None]:
    """Commit, branch and dirtiness of the working tree around `folder`; Nones outside one."""
    command = ["git", "status", "--porcelain=v2", "--branch", "--untracked-files=no"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=2, check=True)
    except (OSError, subprocess.SubprocessError):
        return None, None, None
    lines = done.stdout.splitlines()
    facts = dict(line[2:].split(" ", 1) for line in lines if line.startswith("# "))
    commit, branch = facts.get("branch.oid"), facts.get("branch.head")
    dirty = any(not line.startswith("# ") for line in lines)
    return (None if commit == "(initial)" else commit), (None if branch == "(detached)" else branch), dirty


def _cpu() -> str:
    """The processor's model; ARM's kernels give numbers of its maker and part instead of a name."""
    of = functools.partial(_value_after, Path("/proc/cpuinfo"))
    if model := of("model name"):
        return model
    maker, part = of("CPU implementer"), of("CPU part")
    return f"{os.uname().machine} {maker} {part}" if maker and part else os.uname().machine


def machine_limits(root: Path = Path("/")) -> dict[str, Any]:
    """Caches of the first processor, and what a container or the affinity leaves of processors and memory; what limits."""
    found: dict[str, Any] = {}
    caches = []
    for folder in sorted((root / "sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind, level, size = (_read(str(folder / name)) for name in ("type", "level", "size"))
        if level and size and size.endswith("K") and size[:-1].isdigit():
            caches.append({"type": kind, "level": int(level), "size": int(size[:-1]) * 1024})
    if caches:
        found["caches"] = caches
    groups = root / "sys/fs/cgroup"
    quota, _, period = (_read(str(groups / "cpu.max")) or "").partition(" ")
    if not quota:  # version 1
        quota, period = (_read(str(groups / f"cpu/cpu.cfs_{name}_us")) or "" for name in ("quota", "period"))
    limits = [int(quota) / int(period)] if quota.isdigit() and period.isdigit() and int(period) else []
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    if allowed and allowed < (os.cpu_count() or 0):
        limits.append(allowed)
    if limits:
        found["cpu_limit"] = float(min(limits))
    memory = _read(str(groups / "memory.max")) or _read(str(groups / "memory/memory.limit_in_bytes")) or ""
    if memory.isdigit() and int(memory) < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
        found["memory_limit_bytes"] = int(memory)
    return found


def _cores() -> int | None:
    """Sets of processors that share a core."""
    return len({_read(str(path)) for path in Path("/sys/devices/system/cpu").glob(_SHARED)}) or None


def _read(path: str) -> str | None:
    with contextlib.suppress(OSError):
        return Path(path).read_text().strip()
    return None


def _versions() -> dict[str, str]:
    """Versions of torch, the PACKAGES and what was declared, where installed, each from where Python would find it."""
    files = {".dist-info": "METADATA", ".egg-info": "PKG-INFO"}
    wanted, found = {"torch", *PACKAGES, *_declared}, dict[str, str]()
    # of processes that this one starts now: the path of Python may have changed since this one began
    for folder in filter(None, (*os.environ.get("PYTHONPATH", "").split(os.pathsep), *sys.path)):
        with contextlib.suppress(OSError):
            for entry in sorted(os.listdir(folder)):
                name, kind = entry.partition("-")[0].lower(), os.path.splitext(entry)[1]
                if name in wanted and kind in files and name not in found:
                    version = _value_after(Path(folder, entry, files[kind]), "Version")
                    found |= {name: version} if version else {}
    return dict(sorted(found.items()))


def _value_after(path: Path, name: str) -> str | None:
    """The text after `name` and a colon in a file of such lines."""
    with contextlib.suppress(OSError), open(path, errors="replace") as lines:
        for line in lines:
            if line.startswith(name):
                return line.partition(":")[2].strip()
    return None


def _gpus() -> tuple[list[str] | None, str | None, dict[str, Any]]:
    """Names, driver and further facts of the GPUs."""
    if not any(Path(path).exists() for path in GPU_DEVICES):
        return None, None, {}
    try:
        import pynvml

        return described(pynvml)
    except Exception:  # an absent or broken driver raises errors of pynvml's own making
        return None, None, {}


def described(nvml: Any) -> tuple[list[str], str, dict[str, list[int | None]]]:
    """Names of the GPUs, their driver, and their memory and power limits, None where one does not tell; `nvml` is pynvml."""
    nvml.nvmlInit()
    gpus = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]

    def ask_each(ask: Callable[[Any], int]) -> list[int | None]:
        found: list[int | None] = []
        for gpu in gpus:
            try:
                found.append(ask(gpu))
            except nvml.NVMLError:
                found.append(None)
        return found

    more = {
        "gpu_ram_bytes": ask_each(lambda gpu: nvml.nvmlDeviceGetMemoryInfo(gpu).total),
        "gpu_power_limit_mw": ask_each(nvml.nvmlDeviceGetPowerManagementLimit),
    }
    return [nvml.nvmlDeviceGetName(gpu) for gpu in gpus], nvml.nvmlSystemGetDriverVersion(), more
