"""What machine and software a run happened on; everything here is optional, and nothing here may fail a run."""

import contextlib
import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
from dataclasses import fields, replace
from pathlib import Path

from .events import Environment, Json

VARIABLES = (
    "CUDA_VISIBLE_DEVICES", "KMP_AFFINITY", "KMP_BLOCKTIME", "LD_PRELOAD", "MALLOC_ARENA_MAX", "MALLOC_CONF",
    "MKL_NUM_THREADS", "OMP_NUM_THREADS", "OMP_PLACES", "OMP_PROC_BIND", "PYTHONHASHSEED", "PYTORCH_CUDA_ALLOC_CONF",
)  # fmt: skip
PREFIXES = ("TORCH", "INDUCTOR", "NCCL_", "TRITON_")
PER_PROCESS = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")  # paths that differ in every worker and change no speed


@functools.cache
def capture() -> Environment:
    """Describe this machine and its software, once per process."""
    import psutil

    gpus, driver = _gpus()
    variables = {
        name: value
        for name, value in sorted(os.environ.items())
        if (name in VARIABLES or name.startswith(PREFIXES)) and name not in PER_PROCESS
    }
    return identified(
        Environment(
            environment_id="",
            cpu=_cpu(),
            logical_cores=psutil.cpu_count(),
            physical_cores=psutil.cpu_count(logical=False),
            governor=_read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            ram_bytes=psutil.virtual_memory().total,
            gpus=gpus,
            driver=driver,
            os=f"{platform.system()} {platform.release()}",
            architecture=platform.machine(),
            python=platform.python_version(),
            torch=_version("torch"),
            variables=Json(json.dumps(variables, sort_keys=True)) if variables else None,
        )
    )


def identified(environment: Environment) -> Environment:
    """The same environment, named by the hash of what it says."""
    said = {f.name: getattr(environment, f.name) for f in fields(environment) if f.name != "environment_id"}
    digest = hashlib.sha256(json.dumps(said, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()
    return replace(environment, environment_id=digest[:16])


def git(folder: Path | None = None) -> tuple[str | None, str | None, bool | None]:
    """Commit, branch and dirtiness of the working tree around `folder`; Nones outside one."""
    command = ["git", "status", "--porcelain=v2", "--branch", "--untracked-files=no"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=2, check=True)
    except (OSError, subprocess.SubprocessError):
        return None, None, None
    lines = done.stdout.splitlines()
    said = dict(line[2:].split(" ", 1) for line in lines if line.startswith("# "))
    commit, branch = said.get("branch.oid"), said.get("branch.head")
    dirty = any(not line.startswith("# ") for line in lines)
    return (None if commit == "(initial)" else commit), (None if branch == "(detached)" else branch), dirty


def _cpu() -> str | None:
    for line in (_read("/proc/cpuinfo") or "").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or None


def _read(path: str) -> str | None:
    with contextlib.suppress(OSError):
        return Path(path).read_text().strip()
    return None


def _version(distribution: str) -> str | None:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(distribution)
    return None


def _gpus() -> tuple[list[str] | None, str | None]:
    if not Path("/dev/nvidiactl").exists():
        return None, None
    try:
        import pynvml

        pynvml.nvmlInit()
        names = [
            pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(i)) for i in range(pynvml.nvmlDeviceGetCount())
        ]
        return names, pynvml.nvmlSystemGetDriverVersion()
    except Exception:  # an absent or broken driver raises errors of pynvml's own making
        return None, None
