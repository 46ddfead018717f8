"""The start of torch's compiler, once a machine: it probes the processor's instructions and precompiles a header, 15 s of work.

A worker has compile caches of its own, which are empty. What its compiler leaves of the start alone, before any model, is kept
in the user's cache, and given to the next worker: files that are named by the hash of their content, of the compiler and of its
options. Graphs and kernels of models are never kept, so that their compilation is measured from an empty cache.
"""

import contextlib
import importlib
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ...warehouse.files import cache_folder

KEPT = 4  # versions of torch and Python, those used last
FILES = (".cpp", ".so", ".h", ".gch", ".pch")  # the last two are precompiled, by gcc and by clang


@contextlib.contextmanager
def shared(probes: Path) -> Iterator[None]:
    """A context in which the compiler starts with the empty folder `probes`: what is kept is given, what is new is kept."""
    places = dict(_places(probes))
    for kept, own in places.items():
        _link(_files(kept), own)
    before = {own: _files(own) for own in places.values()}  # of models compiled before, too
    yield
    for kept, own in places.items():
        _link({name: path for name, path in _files(own).items() if name not in before[own]}, kept)


def load() -> None:
    """Load Inductor, and meanwhile find the instructions of the processor; what is not found here, Inductor finds itself."""
    with contextlib.suppress(Exception), ThreadPoolExecutor(1) as pool:
        pool.submit(_probe)
        importlib.import_module("torch._inductor.compile_fx")


def _probe() -> None:
    """Let Inductor test the best instruction set of the processor; where that compiles and loads, so do older ones."""
    from torch._inductor import config, cpu_vec_isa

    has = set(cpu_vec_isa.x86_isa_checker())
    best = next((isa for isa in cpu_vec_isa.supported_vec_isa_list if has.issuperset(str(isa).split())), None)
    if best:  # asks the compiler
        with config.patch({"cpp.vec_isa_ok": True}):
            cpu_vec_isa.valid_vec_isa_list()


def _places(probes: Path) -> Iterator[tuple[Path, Path]]:
    """The places where files are kept and where the compiler looks for them; none where this torch has no such places."""
    import torch
    from torch._inductor import codecache

    with contextlib.suppress(RuntimeError, OSError):  # a user without a home, or who may not write there
        root = cache_folder("compiler-start")
        folder = root / f"{torch.__version__}-{sys.implementation.cache_tag}"
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        for old in sorted(root.iterdir(), key=lambda path: path.stat().st_mtime)[:-KEPT]:
            shutil.rmtree(old, ignore_errors=True)
        yield folder / "probes", probes
        if headers := getattr(codecache, "_HEADER_DIR", None):
            yield folder / "headers", Path(headers)


def _files(folder: Path) -> dict[Path, Path]:
    """The files to keep, by their name within a folder."""
    return {path.relative_to(folder): path for path in folder.rglob("*") if path.suffix in FILES}


def _link(files: Mapping[Path, Path], folder: Path) -> None:
    """Give each file a second name in another folder that has none of this name, or a copy on another disk."""
    with contextlib.suppress(OSError):
        for name, path in files.items():
            other = folder / name
            if other.exists():
                continue
            other.parent.mkdir(parents=True, exist_ok=True)
            temporary = other.with_name(f".{os.getpid()}-{other.name}")
            try:
                os.link(path, temporary)
            except OSError:
                shutil.copy2(path, temporary)
            os.replace(temporary, other)
