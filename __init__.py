"""bench: an event-log store for performance work on ML systems.

import bench

with bench.run("my-config") as run:
    case = run.case("matmul", batch_size=8)
    with case.time():
        work()
"""

from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .measure.functions.benchmarks import benchmark
    from .warehouse.recorder import Case, Run, run

__all__ = ["Case", "Run", "__version__", "benchmark", "run"]


def __getattr__(name: str) -> Any:
    """Import what is used on first use, so that `import bench` costs nothing (PEP 562)."""
    if name in ("Case", "Run", "run"):
        from .warehouse import recorder

        return getattr(recorder, name)
    if name == "benchmark":
        from .measure.functions.benchmarks import benchmark

        return benchmark
    raise AttributeError(f"module 'bench' has no attribute {name!r}")
