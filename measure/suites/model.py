"""A model of a suite: what to build, its default sizes, and where it is not to be run."""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field

ACCURACY = "accuracy"  # a word of skips: not to be judged, only timed


@dataclass(frozen=True, slots=True)
class Model:
    """Where a model is, and the sizes to run it at when none are asked for.

    `target` is what `loading.build` makes a model of. `batch_size` and `sequence_length` are None for a model that has
    no such axis, and 0 where only the model knows its own. `skips` says where not to run it, and why: condition ->
    reason, a condition being words that must all hold of the case, of mode, kind of device, dtype and backend, as in
    "training", "cuda" or "cpu training"; "" always holds, and with "accuracy" among them a case is timed, not judged.
    """

    target: str
    batch_size: int | None
    sequence_length: int | None = None
    skips: Mapping[str, str] = field(default_factory=dict)

    def skipped(self, *axes: str) -> str | None:
        """Why a case of these axes is not run; None if it is."""
        return next((reason for condition, reason in self.skips.items() if set(condition.split()) <= set(axes)), None)


def without(package: str, cure: str) -> dict[str, str]:
    """Skips for models that need a package: none if it is installed, else all of them, with the cure."""
    if importlib.util.find_spec(package) is not None:
        return {}
    return {"": f"{package} is not installed. Install it with: {cure}"}
