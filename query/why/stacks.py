"""Folded stacks of two sides, as py-spy, austin and perf write them of any process: its samples by the function that ran."""

import math
import re
import statistics
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ...warehouse.console.numbers import percent
from ..comparison.sides import Side
from .parts import NOTHING_DIFFERS, Decomposition, DifferencePart, decomposed, ends, part_of

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

Function = tuple[str, str]  # its name and file
STACKS = "SELECT name, samples, run_id FROM _stacks(?) ORDER BY name, run_id"
_FOLDED = "folded-stacks"
_SOURCES = "SELECT DISTINCT source FROM runs WHERE list_contains(?::VARCHAR[], run_id)"
_REJECTED = "SELECT count(*) FROM rejects WHERE list_contains(?::VARCHAR[], run_id)"
_ASSUMED = "SELECT _assumed_reach('latency', NULL, 'ns', NULL)"  # half of a 95 % interval of ln(ratio) of two sessions
_OF_T = "SELECT _t975(?)"
SHIFTED = (
    "both sides have about as many samples: if each was recorded for a set time, parts are shares of it; record the same work on"
    " both to see what became slower"
)
_PLACE = re.compile(r"(.*) \(([^()]+):(\d{1,9})\)")


@dataclass(frozen=True, slots=True)
class _SideSamples:
    """The samples of a side: of each function in each of its recordings, and of its lines in all."""

    runs: int
    counts: dict[Function, list[float]] = field(default_factory=dict)
    lines: dict[Function, dict[int, float]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(float)))


def are_folded(warehouse: "Warehouse", sides: tuple[Side, Side]) -> bool:
    """True if every run of both sides is a file of folded stacks."""
    return warehouse.rows(_SOURCES, [[run for side in sides for run in side.runs]]) == [(_FOLDED,)]


def why_stacks(warehouse: "Warehouse", sides: tuple[Side, Side]) -> Decomposition:
    """The samples of two sides by the function that ran, the innermost of a stack: they add up to the difference of all.

    The error of a count is that of a Poisson variable; of several recordings it is how these differ, where that is more; of a
    single one it is assumed how far sessions of the same code are apart.
    """
    ((assumed,),) = warehouse.rows(_ASSUMED)
    base, candidate = (_samples(warehouse, side) for side in sides)
    parts = []
    for function in sorted(base.counts.keys() | candidate.counts.keys()):
        found = [_mean(warehouse, side.counts.get(function, []), side.runs, assumed) for side in (base, candidate)]
        lines = candidate.lines.get(function) or base.lines.get(function) or {}
        line = max(lines, key=lambda number: (lines[number], -number), default=0)
        error = math.hypot(found[0][1], found[1][1])
        parts.append(part_of(function[0], found[0][0], found[1][0], error, file=function[1], line=line))
    whole = []
    for side in (base, candidate):
        sums = [math.fsum(counts) for counts in zip(*side.counts.values(), strict=True)]
        whole.append(_mean(warehouse, sums, side.runs, assumed))
    difference = math.fsum(part.difference for part in parts)
    bounds = ends(difference, math.hypot(whole[0][1], whole[1][1]))
    how = "samples by the function that ran, at its line with most: their difference is one of time if both were sampled as often"
    one = (
        f", and of one recording that sessions differ by {percent(assumed, 1)}"
        if 1 in (base.runs, candidate.runs)
        else ""
    )
    split = decomposed(
        "count", DifferencePart("samples", whole[0][0], whole[1][0], difference, *bounds), parts, error=0.0,
        notes=[how, f"intervals assume that samples are independent{one}", *unread(warehouse, sides)],
    )  # fmt: skip
    if split.whole.is_beyond_noise or NOTHING_DIFFERS in split.notes:
        return split
    return replace(split, notes=[*split.notes, SHIFTED])


def unread(warehouse: "Warehouse", sides: tuple[Side, Side]) -> Iterator[str]:
    """A sentence on each side with lines that could not be read."""
    for side in sides:
        ((count,),) = warehouse.rows(_REJECTED, [list(side.runs)])
        if count:
            yield f"{side.name}: {count:,} of its lines {'is' if count == 1 else 'are'} no stack with a count, and left out"


def _samples(warehouse: "Warehouse", side: Side) -> _SideSamples:
    found = _SideSamples(len(side.runs))
    place = {run: at for at, run in enumerate(side.runs)}
    for stack, samples, run_id in warehouse.rows(STACKS, [list(side.runs)]):
        frame = stack.rpartition(";")[2]
        known = _PLACE.fullmatch(frame)
        function = (known[1], known[2]) if known else (frame, "")
        found.counts.setdefault(function, [0.0] * found.runs)[place[run_id]] += samples
        if known:
            found.lines[function][int(known[3])] += samples
    return found


def _mean(warehouse: "Warehouse", counts: list[float], runs: int, assumed: float) -> tuple[float, float]:
    """The mean of the counts of recordings, and half of its 95 % interval."""
    counts = counts or [0.0] * runs
    mean = math.fsum(counts) / runs
    counting = 1.96 * math.sqrt(math.fsum(counts) + 1) / runs  # one more, for none seen is not none at all
    if runs == 1:
        return mean, math.hypot(counting, assumed / math.sqrt(2) * mean)
    ((quantile,),) = warehouse.rows(_OF_T, [float(runs - 1)])
    return mean, max(counting, quantile * statistics.stdev(counts) / math.sqrt(runs))
