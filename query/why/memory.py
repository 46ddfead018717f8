"""What lives at the peak of a program's memory on two sides, by the line that took it."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..comparison.sides import Side
from .parts import Decomposition, decomposed, part_of
from .sources import Row, Sides, whole_of

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

PEAK = "_peak"  # how the metric of a kind of memory ends
_PARTS = (
    "SELECT run_id, file, line, function, text, size_bytes, readings, error_bound_bytes FROM peak_parts"
    " WHERE list_contains(?::VARCHAR[], run_id) AND case_id = ? AND source = ?"
)
# Half of a 95 % interval of what lies anywhere between two bounds, as a share of their distance.
_EVEN = 1.96 / math.sqrt(12)
Line = tuple[str, str, str]  # file, function and text


@dataclass(slots=True)
class _SideLines:
    """The lines of one side: the mean of their bytes over its runs, with the variance of that, and where they stand."""

    sizes: dict[Line, float] = field(default_factory=lambda: defaultdict(float))
    variances: dict[Line, float] = field(default_factory=lambda: defaultdict(float))
    numbers: dict[Line, int] = field(default_factory=dict)


def is_peak(row: Mapping[str, Any]) -> bool:
    """True for the peak of a kind of memory."""
    return bool((row["metric"] or "").endswith(PEAK))  # a case that failed has none


def by_peak(warehouse: "Warehouse", sides: Sides, row: Row) -> Decomposition | None:
    """The peak of a kind of memory by the line that took it; None for other metrics, and where no lines were traced.

    A line is the same on both sides where file, function and text are. Each reading of memory may be too low by a bound: the
    interval of a line is that of as many such errors as it has readings.
    """
    if not is_peak(row):
        return None
    base, candidate = (_lines(warehouse, side, row) for side in sides)
    if not base.sizes or not candidate.sizes:
        return None
    parts, together = [], 0.0
    for line in base.sizes.keys() | candidate.sizes.keys():
        file, function, text = line
        variance = base.variances.get(line, 0.0) + candidate.variances.get(line, 0.0)
        together += variance
        parts.append(
            part_of(
                f"{function}: {text}" if text else function, base.sizes.get(line, 0.0), candidate.sizes.get(line, 0.0),
                math.sqrt(variance), file=file, line=candidate.numbers.get(line, base.numbers.get(line, 0)),
            )
        )  # fmt: skip
    noted = "what lines had added to memory when it was highest; what they gave back counts where it was given back"
    return decomposed(row["unit"], whole_of(row), parts, error=math.sqrt(together), notes=[noted])


def _lines(warehouse: "Warehouse", side: Side, row: Row) -> _SideLines:
    rows: Sequence[tuple[str, str, int, str, str, int, int, int | None]] = warehouse.rows(
        _PARTS, [list(side.runs), row["case_id"], row["metric"].removesuffix(PEAK)]
    )
    found, runs = _SideLines(), len({run for run, *_ in rows})
    for _, file, number, function, text, size, readings, bound in rows:
        line = file, function, text
        found.sizes[line] += size / runs
        found.variances[line] += 2 * readings * (_EVEN * (bound or 0) / runs) ** 2
        found.numbers[line] = number
    return found
