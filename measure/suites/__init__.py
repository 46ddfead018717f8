"""Named sets of models. Other packages provide a suite as a dict of `Model`."""

from .model import Model

__all__ = ["Model"]
