"""Requirements of backends: compilers, a GPU of a kind, headers. Each answer is None, or the lack with its cure."""

import importlib.util
import os
import shutil
from pathlib import Path

CAPABILITY = (7, 0)  # of a GPU, from which on triton compiles for it
MULTIPROCESSORS = 68  # of a GPU, from which on inductor tries its templates of matrix products
CUDA_HOMES = ("CUDA_HOME", "CUDA_PATH")
USUAL_HOME = "/usr/local/cuda"


def without_compiler(device: str) -> str | None:
    """The programs that inductor lacks: a C++ compiler on the CPU; a C compiler, triton and a GPU it compiles for on a GPU."""
    if device == "cpu":
        compilers = filter(None, (os.environ.get("CXX"), "g++", "clang++"))
        if not any(map(shutil.which, compilers)):
            return "inductor needs a C++ compiler on the CPU. Install one with: apt install g++ (or set CXX)"
        return None
    if shutil.which("cc") is None and shutil.which("gcc") is None:
        return "inductor's triton needs a C compiler. Install one with: apt install gcc"
    if importlib.util.find_spec("triton") is None:
        return "triton is not installed, which inductor compiles with on a GPU. Install it with: pip install triton"
    import torch

    if torch.version.hip is None and (found := torch.cuda.get_device_capability(device)) < CAPABILITY:
        return f"triton compiles for GPUs of compute capability 7.0 and up; this one has {found[0]}.{found[1]}"
    return None


def without_gpu(device: str) -> str | None:
    """Return whether it is a GPU."""
    return None if device.startswith("cuda") else "it needs a GPU. Measure it with: --devices cuda"


def without_large_gpu(device: str) -> str | None:
    """The missing requirement of max-autotune: on a small GPU it would silently tune nothing of matrix products."""
    if (lack := without_compiler(device)) or not device.startswith("cuda"):
        return lack
    import torch

    count = torch.cuda.get_device_properties(device).multi_processor_count
    if torch.version.hip is None and count < MULTIPROCESSORS:
        return (
            f"max-autotune tunes matrix products on GPUs of {MULTIPROCESSORS} multiprocessors and more, and this one has"
            f" {count}. Measure: inductor"
        )
    return None


def without_headers(device: str) -> str | None:
    """The missing requirement of AOTInductor: on a GPU it compiles against CUDA's headers, which triton lacks."""
    if (lack := without_compiler(device)) or not device.startswith("cuda"):
        return lack
    nvcc = shutil.which("nvcc")
    homes = [os.environ.get(name) for name in CUDA_HOMES] + [str(Path(nvcc).parents[1]) if nvcc else None, USUAL_HOME]
    if any(home and Path(home, "include", "cuda.h").exists() for home in homes):
        return None
    return "aotinductor needs CUDA's headers on a GPU. Install the CUDA toolkit, and set CUDA_HOME to its folder"
