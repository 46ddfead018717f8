"""Live memory at the peak of a program on two sides, by the line, or the call path, that took it."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
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
NO_LINE: "Line" = ("", "", "", -1)
# Half of a 95 % interval of what lies anywhere between two bounds, as a share of their distance.
_EVEN = 1.96 / math.sqrt(12)
Line = tuple[str, str, str, int]  # file, function, text and number


@dataclass(slots=True)
class _SideLines:
    """The lines of one side: the mean of their bytes over its runs, with the variance of that, and where they stand."""

    sizes: dict[Line, float] = field(default_factory=lambda: defaultdict(float))
    variances: dict[Line, float] = field(default_factory=lambda: defaultdict(float))
    is_traced: bool = False  # line by line; else a snapshot of an allocator has call paths


def is_peak(row: Mapping[str, Any]) -> bool:
    """True for the peak of a kind of memory."""
    return bool((row["metric"] or "").endswith(PEAK))  # a case that failed has none


def by_peak(warehouse: "Warehouse", sides: Sides, row: Row) -> Decomposition | None:
    """The peak of a kind of memory by the line that took it; None for other metrics, and where no lines were traced.

    A line is the same on both sides where file, function and text are; several such of a function are the same in order, those of
    equal sizes first, or where they have one number. Each reading of memory may be too low by a bound: the
    interval of a line is that of as many such errors as it has readings.
    """
    if not is_peak(row):
        return None
    base, candidate = (_lines(warehouse, side, row) for side in sides)
    if not base.sizes or not candidate.sizes:
        return None
    parts, together = [], 0.0
    for one, other in _pairs(base.sizes, candidate.sizes):
        file, function, text, number = one if other == NO_LINE else other
        variance = base.variances.get(one, 0.0) + candidate.variances.get(other, 0.0)
        together += variance
        name = f"{function}: {text}" if text else function
        sizes = base.sizes.get(one, 0.0), candidate.sizes.get(other, 0.0)
        parts.append(part_of(name, *sizes, math.sqrt(variance), file=file, line=number))
    noted = (
        "what lines had added to memory when it was highest; what they gave back counts where it was given back"
        if base.is_traced or candidate.is_traced
        else "call paths: what they had asked for that lived when the allocator held most, to the byte"
    )
    return decomposed(row["unit"], whole_of(row), parts, error=math.sqrt(together), notes=[noted])


def _pairs(base: Mapping[Line, float], candidate: Mapping[Line, float]) -> Iterator[tuple[Line, Line]]:
    """The lines of both sides that are the same; NO_LINE where one side lacks it."""
    groups: dict[tuple[str, str, str], tuple[list[Line], list[Line]]] = {}
    for at, lines in enumerate((base, candidate)):
        for line in sorted(lines):
            groups.setdefault(line[:3], ([], []))[at].append(line)
    for ours, theirs in groups.values():
        sizes = [base[line] for line in ours], [candidate[line] for line in theirs]
        for _, first, end, begin, stop in SequenceMatcher(None, *sizes, autojunk=False).get_opcodes():
            yield from _in_order(ours[first:end], theirs[begin:stop])


def _in_order(ours: Sequence[Line], theirs: Sequence[Line]) -> Iterator[tuple[Line, Line]]:
    """The pairs of as many lines; else those of the same number are the same."""
    if len(ours) == len(theirs):
        yield from zip(ours, theirs, strict=True)
        return
    for line in sorted({*ours, *theirs}):
        yield (line if line in ours else NO_LINE), (line if line in theirs else NO_LINE)


def _lines(warehouse: "Warehouse", side: Side, row: Row) -> _SideLines:
    rows: Sequence[tuple[str, str, int, str, str, int, int, int | None]] = warehouse.rows(
        _PARTS, [list(side.runs), row["case_id"], row["metric"].removesuffix(PEAK)]
    )
    found, runs = _SideLines(), len({run for run, *_ in rows})
    for _, file, number, function, text, size, readings, bound in rows:
        line = file, function, text, number
        found.sizes[line] += size / runs
        found.variances[line] += 2 * readings * (_EVEN * (bound or 0) / runs) ** 2
        found.is_traced |= readings > 0
    return found
