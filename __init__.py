"""bench: an event-log store for performance work on ML systems.

import bench

with bench.run("my-config") as run:
    case = run.case("matmul", batch_size=8)
    with case.time():
        work()

bench.open().sql("FROM speedups")
"""

from typing import TYPE_CHECKING

from ._exports import lazy
from ._version import __version__

if TYPE_CHECKING:
    from .api import compare, open
    from .measure.functions.benchmarks import benchmark
    from .measure.training.steps import step, steps
    from .warehouse.recorder import Case, Run, run

__all__ = ["Case", "Run", "__version__", "benchmark", "compare", "open", "run", "step", "steps"]


__getattr__ = lazy(
    __name__,
    {
        "Case": "warehouse.recorder",
        "Run": "warehouse.recorder",
        "benchmark": "measure.functions.benchmarks",
        "compare": "api",
        "open": "api",
        "run": "warehouse.recorder",
        "step": "measure.training.steps",
        "steps": "measure.training.steps",
    },
)


def __dir__() -> list[str]:
    """The public names, which are imported on first use: for completion in notebooks."""
    return sorted(__all__)
