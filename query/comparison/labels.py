"""The labels of compared cases: the axes and parameters in which they differ, apart from what all share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...warehouse.console.parameters import ParametersText, parameters_of, without_shared_parameters
from ..axes import HEADINGS

SIZES = ("batch_size", "sequence_length")  # axes whose values say nothing without their heading


@dataclass(frozen=True, slots=True)
class Labels:
    """Names for some cases: what tells them apart, and what they share."""

    axes: tuple[str, ...]  # in which they differ; of a single case its name
    keys: frozenset[str]  # of the parameters in which they differ
    shared: list[tuple[str, Any]]  # headings and parameters with the values that all cases have
    by_function: bool  # cases are called by the functions that took turns, not by the first of them

    def headings(self) -> list[str]:
        """The headings of the columns that tell cases apart."""
        return [HEADINGS[axis] for axis in self.axes]

    def cells(self, row: Mapping[str, Any]) -> list[Any]:
        """The values of these columns."""
        values = _axes(row, by_function=self.by_function)
        parameters = {key: value for key, value in parameters_of(row["parameters"]).items() if key in self.keys}
        return [ParametersText.of(parameters) if axis == "parameters" else values[axis] for axis in self.axes]

    def name(self, row: Mapping[str, Any]) -> str:
        """The name of a case in a sentence: all that tells it apart."""
        found = zip(self.axes, self.cells(row), strict=True)
        texts = [
            f"{HEADINGS[axis]} {value}" if axis in SIZES else f"{value}" for axis, value in found if value is not None
        ]
        return " ".join(texts)


def labels_of(rows: Sequence[Mapping[str, Any]]) -> Labels:
    """The labels of the cases of some rows."""
    functions = {(row["name"], row["backend"]) for row in rows if row["suite"] == "function" and row["backend"]}
    by_function = len(functions) == len({backend for _, backend in functions}) > 0
    cases = [_axes(row, by_function=by_function) for row in rows]
    axes = tuple(axis for axis in HEADINGS if len({case[axis] for case in cases}) > 1) or ("name",)
    alike, others = without_shared_parameters([parameters_of(row["parameters"]) for row in rows])
    shared = [
        (HEADINGS[axis], case[axis]) for case in cases[:1] for axis in HEADINGS if axis not in (*axes, "parameters")
    ]
    return Labels(
        axes=axes,
        keys=frozenset(key for each in others for key in each),
        shared=[(name, value) for name, value in [*shared, *alike.items()] if value is not None],
        by_function=by_function,
    )


def _axes(row: Mapping[str, Any], *, by_function: bool) -> dict[str, Any]:
    """The axes of a row; a measured function by its own name."""
    axes = {axis: row[axis] for axis in HEADINGS}
    is_function = by_function and row["suite"] == "function" and row["backend"]
    return axes | {"name": row["backend"], "backend": None} if is_function else axes
