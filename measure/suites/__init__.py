"""Named sets of models. A package that offers a suite makes it of `Model`."""

from .model import Model

__all__ = ["Model"]
