"""A model of a suite: what to build, its default sizes, where it is not to be run, and where otherwise than asked."""

import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...warehouse.errors import BenchError

TIMED_ONLY = "accuracy"  # a word of skips: not to be judged, only timed
ABSENT = "absent"  # the condition of a skip that nothing lifts: what the model needs is not installed
FAST = "fast"  # a word of skips: left out by --fast, as it takes long


@dataclass(frozen=True, slots=True)
class Model:
    """The place of a model, and the sizes to run it at when none are asked for.

    `target` is what `loading.build` makes a model of. `batch_size` and `sequence_length` are None for a model that has
    no such axis, and 0 where only the model knows its own. `skips` says where not to run it, and why: condition ->
    reason, a condition being words that must all hold of the case, of mode, kind of device, dtype and backend, as in
    "training", "cuda" or "cpu training"; "" always holds, and with "accuracy" among them a case is timed, not judged.

    `exceptions` says what is measured otherwise than asked: condition -> axes and knobs (dtype, optimizer, tolerance,
    batch_size), with the reason under "why"; the optimizer is a word of these conditions, too. `accuracy_batch_size` is the
    size that accuracy is judged at where `--batch-sizes accuracy` asks for it.
    `packages` are what it is made of, by their names for pip: their versions are recorded with every run.
    """

    target: str
    batch_size: int | None
    sequence_length: int | None = None
    skips: Mapping[str, str] = field(default_factory=dict)
    exceptions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    accuracy_batch_size: int | None = None
    packages: tuple[str, ...] = ()

    def skipped(self, *axes: str, all_else: bool = True) -> str | None:
        """The reason not to run a case of these axes; None to run it. Without `all_else` only what is not installed counts."""
        if ABSENT in self.skips or not all_else:
            return self.skips.get(ABSENT)
        return next((reason for condition, reason in self.skips.items() if set(condition.split()) <= set(axes)), None)

    def excepted(self, *axes: str) -> dict[str, Any]:
        """The exceptions for a case of these axes; of two conditions that hold, the later counts."""
        found: dict[str, Any] = {}
        for condition, values in self.exceptions.items():
            if set(condition.split()) <= set(axes):
                found |= values
        return found


def imported(name: str) -> Any:
    """A package that builds on torchvision.

    Raises:
        BenchError: The torchvision here was built for another torch.
    """
    try:
        return importlib.import_module(name)
    except RuntimeError as error:
        if "operator torchvision::" not in str(error):
            raise
        from importlib.metadata import version

        raise BenchError(
            f"torchvision {version('torchvision')} was built for another torch than {version('torch')} ({error}). "
            "Install both from the same index: pip install torch torchvision"
        ) from error


def without(package: str, cure: str) -> dict[str, str]:
    """Skips for models that need a package: none if it is installed, else all of them, with the cure."""
    if importlib.util.find_spec(package) is not None:
        return {}
    return {ABSENT: f"{package} is not installed. Install it with: {cure}"}
