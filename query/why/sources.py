"""Where parts come from: lines of source, bins of scheduler steps, cases of a geometric mean."""

import json
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..comparison.render import value_text
from ..comparison.sides import Side
from .parts import Decomposition, DifferencePart, decomposed, ends, part_of

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

Row = dict[str, Any]
Sides = tuple[Side, Side]

_LINES = "FROM line_time_sides(?, ?) WHERE case_id = ?"
_BINS = "FROM step_bins(?) WHERE metric = ? AND time_span IS NOT DISTINCT FROM ? ORDER BY least"


def whole_of(row: Row) -> DifferencePart:
    """The difference of a compared case, with the interval that belongs to its ratio."""
    base, candidate = row["base_value"], row["candidate_value"]
    low = high = None
    if row["low"] and row["high"]:
        bounds = [base * end if row["better"] != "lower" else base / end for end in (row["low"], row["high"])]
        low, high = min(bounds) - base, max(bounds) - base
    return DifferencePart(row["name"] or "run", base, candidate, candidate - base, low, high)


def by_line(warehouse: "Warehouse", sides: Sides, row: Row) -> Decomposition | None:
    """The time of a call by line of source; None where either side lacks a profile of its lines.

    A line is the same on both sides where file, function and text are; its time is its share of the profile × the time of the
    case, measured without the profile.
    """
    found = warehouse.dicts(_LINES, [*(list(side.runs) for side in sides), row["case_id"]])
    if not found:
        return None
    times = row["base_value"], row["candidate_value"]
    parts, outside = [], None
    for line in found:
        errors = line["base_error"], line["candidate_error"]
        error = None if None in errors else math.hypot(*map(operator.mul, times, errors))
        if not line["function"]:
            outside = error
            continue
        name = f"{line['function']}: {line['text']}" if line["text"] else line["function"]
        spent = times[0] * line["base"], times[1] * line["candidate"]
        parts.append(part_of(name, *spent, error, file=line["file"], line=line["line"]))
    note = "lines: shares of a profile taken in processes of their own, × the time measured without it"
    return decomposed(row["unit"], whole_of(row), parts, error=outside, notes=[note])


def by_bin(warehouse: "Warehouse", sides: Sides, row: Row) -> Decomposition | None:
    """The mean time of scheduler steps by bin of tokens: what they cost, and how many they are; None for other cases.

    Kitagawa, Components of a Difference Between Two Rates, JASA 50, 1955: with shares w and means m of a bin, and the mean M of
    all steps, the cost of a bin is (w + w') / 2 × (m' − m), its mix (w' − w) × ((m + m') / 2 − (M + M') / 2). They add up.
    """
    if row["suite"] != "scheduler":
        return None
    metric = row["metric"].removesuffix("_mean")
    span = json.loads(row["parameters"]).get("span")
    base, candidate = (
        {one["least"]: one for one in warehouse.dicts(_BINS, [list(s.runs), metric, span])} for s in sides
    )
    if not base or not candidate:
        return None
    means = [math.fsum(one["share"] * one["mean"] for one in bins.values()) for bins in (base, candidate)]
    centre = sum(means) / 2
    parts = list(_kitagawa(base, candidate, centre))
    error = math.sqrt(math.fsum((part.high - part.difference) ** 2 for part in parts if part.high is not None))
    notes = [
        "cost: steps of the bin take longer or shorter; mix: there are more or fewer of them (Kitagawa 1955)",
        f"the parts add up to the means of all steps, {means[0] / 1e6:.3f} and {means[1] / 1e6:.3f} ms; the case is the median"
        " over runs and stretches of them, and what tells these apart is unattributed",
    ]
    return decomposed(row["unit"], whole_of(row), parts, error=error, notes=notes)


def _kitagawa(base: dict[int, Row], candidate: dict[int, Row], centre: float) -> Iterator[DifferencePart]:
    for least in sorted(base.keys() | candidate.keys()):
        one, other = base.get(least), candidate.get(least)
        either = one or other
        assert either is not None
        shares = one["share"] if one else 0.0, other["share"] if other else 0.0
        means = (one or either)["mean"], (other or either)["mean"]
        if one and other:
            weight = sum(shares) / 2
            error = weight * _root(one["mean_error"], other["mean_error"])
            yield part_of(f"cost of steps of {either['tokens']} tokens", weight * means[0], weight * means[1], error)
        height = sum(means) / 2 - centre
        error = abs(height) * _root(*(side["share_error"] for side in (one, other) if side))
        moved = (shares[1] - shares[0]) * height
        yield DifferencePart(f"mix: steps of {either['tokens']} tokens", None, None, moved, *ends(moved, error))


def _root(*errors: float | None) -> float:
    """The half-width of a 95 % interval of standard errors; NaN where one is not known."""
    return 1.96 * math.sqrt(math.fsum(math.nan if error is None else error * error for error in errors))


def by_case(rows: Sequence[Row]) -> Decomposition | None:
    """The geometric mean of the ratios of cases: what each adds to its logarithm, in percent.

    Cases on one side only have no ratio, and are told.
    """
    compared = [row for row in rows if row["ratio"] and row["ratio"] > 0]
    if len(compared) < 2:
        return None
    count = len(compared)
    parts = []
    for row in compared:
        share = 100 * math.log(row["ratio"]) / count
        bounds = [100 * math.log(end) / count if end else None for end in (row["low"], row["high"])]
        parts.append(DifferencePart(label(row), None, None, share, bounds[0], bounds[1]))
    errors = [(part.high - part.low) / 2 for part in parts if part.high is not None and part.low is not None]
    total = math.fsum(part.difference for part in parts)
    error = math.sqrt(math.fsum(width * width for width in errors)) if len(errors) == count else None
    whole = DifferencePart(f"geometric mean of {count} cases", None, None, total, *ends(total, error))
    notes = [f"{math.exp(total / 100):.3f}x in all; each case adds ln(ratio) / {count}, in percent; above 0 is better"]
    if gone := [row for row in rows if row["verdict"] in ("ADDED", "REMOVED", "BROKEN", "FIXED")]:
        notes.append(
            "on one side only, in no mean: " + ", ".join(f"{label(row)} ({row['verdict']})" for row in gone[:20])
        )
    return decomposed("%", whole, parts, error=0.0, notes=notes)


def label(row: Row) -> str:
    """The name of a case with its backend, parameters and size, as far as they are known."""
    sizes = (("batch", row["batch_size"]), ("length", row["sequence_length"]))
    texts = [row["name"], row["backend"] if row["backend"] != row["name"] else None, value_text(row["parameters"])]
    texts += [f"{name} {size}" for name, size in sizes if size is not None]
    return " ".join(text for text in texts if text) or "run"


SOURCES: tuple[Callable[["Warehouse", Sides, Row], Decomposition | None], ...] = (by_line, by_bin)
