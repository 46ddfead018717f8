"""A torch model as a workload that any number of backends run. A package that offers a backend makes it of `Backend`."""

from .backend import Backend, Example

__all__ = ["Backend", "Example"]
