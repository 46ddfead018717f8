"""Backends: the ways to run a model. One backend is one entry here.

Another package offers one as an entry point of group `bench.backends`: a function without arguments that returns a
`Backend`.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

from ..warehouse.errors import UnknownName

GROUP = "bench.backends"


@dataclass(frozen=True, slots=True)
class Backend:
    """One way to run a model.

    `prepare` turns a module into what is called in its place; work it puts off happens in the first call, which is
    timed as such. `missing` takes a device and says, with the cure, why the backend cannot run there; None if it can.
    `dynamo` tells whether torch._dynamo's counters are about it.
    """

    name: str
    prepare: Callable[[Any], Any]
    missing: Callable[[str], str | None] = lambda device: None
    dynamo: bool = False


def _compile(backend: str) -> Callable[[Any], Any]:
    def prepare(module: Any) -> Any:
        import torch

        return torch.compile(module, backend=backend)

    return prepare


def _without_compiler(device: str) -> str | None:
    if device == "cpu":
        compilers = filter(None, (os.environ.get("CXX"), "g++", "clang++"))
        if not any(map(shutil.which, compilers)):
            return "inductor needs a C++ compiler on the CPU. Install one with: apt install g++ (or set CXX)"
    elif shutil.which("cc") is None and shutil.which("gcc") is None:
        return "inductor's triton needs a C compiler. Install one with: apt install gcc"
    return None


OWN = (
    Backend("eager", lambda module: module),
    Backend("aot_eager", _compile("aot_eager"), dynamo=True),
    Backend("inductor", _compile("inductor"), _without_compiler, dynamo=True),
)


def known() -> Mapping[str, Callable[[], Backend]]:
    """Backends by name: our own, and those of installed packages."""
    own = {backend.name: (lambda backend=backend: backend) for backend in OWN}
    return {**{point.name: (lambda point=point: point.load()()) for point in entry_points(group=GROUP)}, **own}


def check(names: tuple[str, ...]) -> None:
    """Refuse a name that is no backend.

    Raises:
        UnknownName: With the nearest that is one.
    """
    for name in names:
        if name not in known():
            raise UnknownName("backend", name, known(), cure=f"There are: {', '.join(known())}.")


def backend(name: str) -> Backend:
    """The backend of that name.

    Raises:
        UnknownName: There is none.
    """
    check((name,))
    return known()[name]()
