"""Torch models as workloads for any number of backends. Other packages provide a backend as an instance of `Backend`."""

from .backend import Backend, Example

__all__ = ["Backend", "Example"]
