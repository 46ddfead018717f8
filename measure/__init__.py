"""Measuring: run workloads and record events.

A package that offers a backend makes it of `Backend`, one that offers a suite of models of `Model`.
"""

from typing import TYPE_CHECKING

from .._exports import lazy

if TYPE_CHECKING:
    from .functions.benchmarks import benchmark
    from .pytorch.backend import Backend, Example
    from .suites.model import Model

__all__ = ["Backend", "Example", "Model", "benchmark"]

__getattr__ = lazy(
    __name__,
    {
        "Backend": "pytorch.backend",
        "Example": "pytorch.backend",
        "Model": "suites.model",
        "benchmark": "functions.benchmarks",
    },
)
