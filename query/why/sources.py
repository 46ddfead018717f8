"""The sources of parts: lines of source, operators and kernels, phases and bins of steps, cases of a geometric mean."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...warehouse.console.numbers import amount, counted, factor_of, percent
from ...warehouse.console.parameters import value_text
from ..comparison.compare import CHANGES
from ..comparison.sides import Side
from ..students_t import summed_error
from .kernel_lines import hidden_kernels
from .parts import Decomposition, DifferencePart, beyond_chance, decomposed, ends, part_of
from .sampled_lines import EDITED, sampled_lines, share_error

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

Row = dict[str, Any]
Sides = tuple[Side, Side]
Pair = tuple[float, float]  # of base and candidate
Bins = dict[int, Row]  # of scheduler steps, by their fewest tokens

IDLE = "idle: no kernel ran"
ALIKE = (
    "no part is seen to change its share: all may take longer or shorter alike, as on a machine that is slower or busier. Measure"
    " both sides again, in turns"
)
ONE_SIDED = ("ADDED", "REMOVED", "BROKEN", "FIXED")  # verdicts of cases without a ratio
UNEVEN = 2.0  # times as much as on the other side that a profiler slows one, which is said
LEAST_SIZE_CHANGE = 0.02  # of the tokens of steps in a bin, that is said
_PARTS = "FROM time_part_sides(?, ?) WHERE case_id = ?"
_HOW = {
    "line": "lines: shares of a profile taken in processes of their own, × the time measured without it",
    "operator": "operators: shares of passes with torch's profiler, × the time measured without it",
    "kernel": "kernels: their times in passes with torch's profiler; of two that overlap the common time counts once",
}
_PHASES = (
    "SELECT phase, run_id, ms, error FROM training_phases WHERE list_contains(?::VARCHAR[], run_id) AND case_id = ?"
)
_BINS = "FROM step_bins(?) WHERE metric = ? AND time_span IS NOT DISTINCT FROM ? ORDER BY least"


def whole_of(row: Row) -> DifferencePart:
    """The difference of a compared case, with the interval that belongs to its ratio, and whether it is decided."""
    base, candidate = row["base_value"], row["candidate_value"]
    low = high = None
    if row["low"] and row["high"]:
        bounds = [base * end if row["better"] != "lower" else base / end for end in (row["low"], row["high"])]
        low, high = min(bounds) - base, max(bounds) - base
    decided = row["verdict"] in CHANGES
    name = called(row) if row["name"] else "run"
    return DifferencePart(name, base, candidate, candidate - base, low, high, decided=decided)


def by_time(warehouse: "Warehouse", sides: Sides, row: Row) -> Decomposition | None:
    """The time of a call by line of source, operator or kernel; None where either side lacks a profile.

    A line is the same on both sides where file, function and text are; an operator or kernel where the name is. Where both
    were recorded, it is by line: a cause in Python is in no operator, and an operator is at the line that called it.
    """
    if row["metric"] != "latency":
        return None
    found = warehouse.dicts(_PARTS, [*(list(side.runs) for side in sides), row["case_id"]])
    if not found:
        return None
    kinds = {each["kind"] for each in found}
    whole, kind = whole_of(row), "line" if "line" in kinds else found[0]["kind"]
    found = [each for each in found if each["kind"] == kind]
    found = sampled_lines(found) if kind == "line" else found
    base, candidate = (
        _SideProfile(
            row[f"{side}_value"], found[0][f"{side}_slowdown"], math.fsum(each[f"{side}_calls"] or 0 for each in found)
        )
        for side in ("base", "candidate")
    )
    if kind == "kernel":
        return _by_kernel(whole, row["unit"], found, (base, candidate))
    parts = []
    left = _PartError(0.0, 0.0, math.inf)  # shares add up to 1: where no time is outside the parts, they leave nothing
    for each in found:
        one, other = base.spent(each, "base"), candidate.spent(each, "candidate")
        error = _time_error(each, (base.time, candidate.time), (one[0], other[0]), row, other[1] - one[1])
        if not each["function"]:
            left = error
            continue
        name = f"{each['function']}: {each['text']}" if each["text"] else each["function"]
        part = part_of(name, one[0], other[0], None, file=each["file"], line=each["line"])
        part = replace(part, changed=each.get("is_edited"))
        parts.append(_with_interval(part, error, exclusive=_is_exclusive(each)))
    alike = [ALIKE] if whole.is_beyond_noise and _have_equal_shares(found) else []
    note = _HOW[kind]
    if base.slowdown and candidate.slowdown and kind == "line":
        slowed = [percent(side.slowdown - 1, 1, sign=True) for side in (base, candidate) if side.slowdown]
        note += f"; sampling changed the time of a call there by {' and '.join(slowed)}"
    elif base.slowdown and candidate.slowdown:
        scales = 1 / base.slowdown, 1 / candidate.slowdown
        note += f", here × {scales[0]:.2f} and × {scales[1]:.2f}; what the profiler adds to a call is in the intervals"
    uneven = _uneven_note(base, candidate) if kind == "operator" else []
    edited = [EDITED] if any(part.changed for part in parts) else []
    return decomposed(
        row["unit"],
        whole,
        parts,
        error=max(left.down, left.up),
        degrees=left.degrees,
        notes=[*alike, note, *uneven, *edited, *hidden_kernels(parts)],
        of_profile=True,
    )


def _uneven_note(base: "_SideProfile", candidate: "_SideProfile") -> list[str]:
    """A sentence where the profiler slowed one side far more than the other: intervals do not tell what stretched it."""
    slow = base.slowdown or 1.0, candidate.slowdown or 1.0
    if max(slow) <= UNEVEN * min(slow):
        return []
    return [
        f"passes with the profiler took {slow[0]:.3g} times as long as without it on the base, and {slow[1]:.3g} times on the"
        " candidate: if a busy machine stretched them, shares are off; profile both sides again"
    ]


def _with_interval(part: DifferencePart, error: "_PartError", *, exclusive: bool) -> DifferencePart:
    """A part with its interval; of an exclusive one no end lies beyond 0, however noisy it is."""
    if math.isnan(error.down):
        return part
    low, high = part.difference - error.down, part.difference + error.up
    if exclusive:
        low, high = (max(low, 0.0), high) if part.difference > 0 else (low, min(high, 0.0))
    return replace(part, low=low, high=high, degrees=error.degrees, exclusive=exclusive)


def _is_exclusive(row: Row) -> bool:
    """True if each call of one side runs an operator that the other never does: it takes no time there."""
    less, more = sorted(row[f"{side}_calls"] or 0 for side in ("base", "candidate"))
    return bool(less == 0 and more >= 1)


def _have_equal_shares(rows: Sequence[Row]) -> bool:
    """True if no share differs beyond what chance makes of so many, where their errors are known and no line was edited."""
    parts = []
    for row in rows:
        error, degrees = summed_error(share_error(row, side) for side in ("base", "candidate"))
        part = part_of(row["function"], row["base"], row["candidate"], error, degrees=degrees)
        if part.low is None or _is_exclusive(row) or row.get("is_edited"):
            return False
        parts.append(part)
    return not any(beyond_chance(parts))


@dataclass(frozen=True, slots=True)
class _SideProfile:
    """The time of a case on one side, and of its calls while they were profiled."""

    time: float
    slowdown: float | None  # of these calls
    calls: float  # of all operators

    def spent(self, row: Row, side: str) -> tuple[float, float]:
        """The time of a part; and how far off it is if the profiler adds the same to each call."""
        share = row[side]
        if self.slowdown is None or not self.calls:
            return share * self.time, 0.0
        return share * self.time, self.time * (self.slowdown - 1) * ((row[f"{side}_calls"] or 0) / self.calls - share)


@dataclass(frozen=True, slots=True)
class _PartError:
    """The reach of the 95 % interval of a part, down and up, NaN if that is not known, and its degrees of freedom."""

    down: float
    up: float
    degrees: float


def _time_error(row: Row, times: Pair, spent: Pair, compared: Row, slowed: float) -> _PartError:
    """The reach of a part's interval: of its shares, the profiler, and the times that they are scaled to.

    A time is off by a factor: what only one side does takes no time below 0, however little is known of that time.
    """
    if not compared["low"] or not compared["high"]:
        return _PartError(math.nan, math.nan, math.inf)
    side = math.log(compared["high"] / compared["low"]) / 2 / math.sqrt(2)  # of the logarithm of one side's time
    less, more = (-math.expm1(-side), math.expm1(min(side, 700.0)))
    shares = [share_error(row, name) for name in ("base", "candidate")]
    own = [(time * error, degrees) for time, (error, degrees) in zip(times, shares, strict=True)]
    base, candidate = map(abs, spent)
    reaches = (candidate * less, base * more), (candidate * more, base * less)
    (down, degrees), (up, others) = (
        summed_error([*own, (abs(slowed), math.inf), *((reach, math.inf) for reach in each)]) for each in reaches
    )
    return _PartError(down, up, min(degrees, others))


def _by_kernel(
    whole: DifferencePart, unit: str, found: Sequence[Row], sides: "tuple[_SideProfile, _SideProfile]"
) -> Decomposition:
    """Kernels as they were timed, which no profiler slows; the rest of a call is idle."""
    assert whole.base is not None and whole.candidate is not None
    profiled = [side.time * (side.slowdown or 1.0) for side in sides]
    parts = []
    for row in found:
        if row["function"]:
            shares = [share_error(row, side) for side in ("base", "candidate")]
            error, degrees = summed_error((time * own, of) for time, (own, of) in zip(profiled, shares, strict=True))
            base, candidate = profiled[0] * row["base"], profiled[1] * row["candidate"]
            parts.append(part_of(row["function"], base, candidate, error, degrees=degrees))
    busy = [math.fsum(getattr(part, side) for part in parts) for side in ("base", "candidate")]
    widths = [(part.high - part.difference, part.degrees) for part in parts if part.high is not None]
    reach = math.nan if whole.high is None or whole.low is None else (whole.high - whole.low) / 2
    error, degrees = summed_error([(reach, math.inf), *widths])
    parts.append(part_of(IDLE, whole.base - busy[0], whole.candidate - busy[1], error, degrees=degrees))
    return decomposed(unit, whole, parts, error=0.0, notes=[_HOW["kernel"]], of_profile=True)


def by_phase(warehouse: "Warehouse", sides: Sides, row: Row) -> Decomposition | None:
    """The time of a training step by phase; None for other cases."""
    if row["suite"] != "script" or row["metric"] != "latency":
        return None
    base, candidate = (_phases(warehouse, side, row["case_id"]) for side in sides)
    if not base or not candidate:
        return None
    parts = []
    for phase in sorted(base.keys() | candidate.keys()):
        found = [side.get(phase, (0.0, 0.0)) for side in (base, candidate)]
        parts.append(part_of(phase, found[0][0], found[1][0], math.hypot(*(error for _, error in found))))
    error = math.hypot(*(math.nan if part.high is None else part.high - part.difference for part in parts))
    means = [math.fsum(ns for ns, _ in side.values()) / 1e6 for side in (base, candidate)]
    return decomposed(row["unit"], whole_of(row), parts, error=error, notes=[_means_note(means, "over steps")])


def _phases(warehouse: "Warehouse", side: Side, case_id: str) -> dict[str, tuple[float, float]]:
    """Mean time of a step in each phase over the runs of a side, in ns, with half its interval; NaN where that is not known."""
    found: dict[str, list[tuple[float, float]]] = {}
    rows = warehouse.rows(_PHASES, [list(side.runs), case_id])
    for phase, _, ms, error in rows:
        found.setdefault(phase, []).append((ms * 1e6, math.nan if error is None else error * 1e6))
    runs = len({run for _, run, _, _ in rows})
    return {
        phase: (math.fsum(ns for ns, _ in times) / runs, math.hypot(*(error for _, error in times)) / runs)
        for phase, times in found.items()
    }


def _means_note(means: Sequence[float], over: str) -> str:
    base, candidate = (amount(ms * 1e6, "ns") for ms in means)
    return (
        f"the parts add up to the means of all steps, {base} and {candidate}; the case is the median"
        f" {over}, and what tells these apart is unattributed"
    )


def by_bin(warehouse: "Warehouse", sides: Sides, row: Row) -> Decomposition | None:
    """The mean time of scheduler steps by bin of tokens: what they cost, and how many they are; None for other cases.

    Kitagawa, Components of a Difference Between Two Rates, JASA 50, 1955: with shares w and means m of a bin, and the mean M of
    all steps, the cost of a bin is (w + w') / 2 × (m' − m), its mix (w' − w) × ((m + m') / 2 − (M + M') / 2). They add up. Of the
    time of whole steps scheduling is a part of its own, and bins have the cost of the rest.
    """
    if row["suite"] != "scheduler":
        return None
    metric = row["metric"].removesuffix("_mean")
    span = json.loads(row["parameters"]).get("span")
    base, candidate = (_bins(warehouse, side, metric, span) for side in sides)
    if not base or not candidate:
        return None
    means = [math.fsum(one["share"] * one["mean"] for one in bins.values()) for bins in (base, candidate)]
    centre = sum(means) / 2
    scheduling = [_bins(warehouse, side, "schedule", span) for side in sides if metric == "step"]
    if not all(map(_tells, (base, candidate), scheduling)):
        scheduling = []
    parts = list(_kitagawa(base, candidate, centre, scheduling))
    parts += [_scheduling(base, candidate, scheduling)] if scheduling else []
    error = math.sqrt(math.fsum((part.high - part.difference) ** 2 for part in parts if part.high is not None))
    notes = [
        "cost: steps of the bin take longer or shorter; mix: there are more or fewer of them (Kitagawa 1955)",
        *_sizes_note(base, candidate),
        _means_note([mean / 1e6 for mean in means], "over runs and stretches of them"),
    ]
    return decomposed(row["unit"], whole_of(row), parts, error=error, notes=notes)


def _bins(warehouse: "Warehouse", side: Side, metric: str, span: str | None) -> Bins:
    return {one["least"]: one for one in warehouse.dicts(_BINS, [list(side.runs), metric, span])}


def _kitagawa(base: Bins, candidate: Bins, centre: float, scheduling: Sequence[Bins] = ()) -> Iterator[DifferencePart]:
    for least in sorted(base.keys() | candidate.keys()):
        one, other = base.get(least), candidate.get(least)
        either = one or other
        assert either is not None
        shares = one["share"] if one else 0.0, other["share"] if other else 0.0
        means = (one or either)["mean"], (other or either)["mean"]
        if one and other:
            weight = sum(shares) / 2
            error = weight * _root(one["mean_error"], other["mean_error"])
            apart = [bins[least]["mean"] for bins in scheduling] or [0.0, 0.0]  # a part of its own
            costs = [weight * (mean - own) for mean, own in zip(means, apart, strict=True)]
            yield part_of(f"cost of {_steps_of(either)}", costs[0], costs[1], error)
        height = sum(means) / 2 - centre
        error = abs(height) * _root(*(side["share_error"] for side in (one, other) if side))
        moved = (shares[1] - shares[0]) * height
        yield DifferencePart(f"mix: {_steps_of(either)}", None, None, moved, *ends(moved, error))


def _sizes_note(base: Bins, candidate: Bins) -> Iterator[str]:
    """A sentence on the bins whose steps have more or fewer tokens, where time in proportion to these is beyond noise."""
    found = {}
    for least in sorted((base.keys() & candidate.keys()) - {0}):
        one, other = base[least], candidate[least]
        change = math.log(other["mean_tokens"] / one["mean_tokens"])
        noise = _root(one["mean_error"], other["mean_error"]) / ((one["mean"] + other["mean"]) / 2 or 1.0)
        if abs(change) > max(noise, LEAST_SIZE_CHANGE):
            found[one["tokens"]] = f"{math.exp(change):.3g}"
    if found:
        bins, ratios = " and ".join(found), " and ".join(found.values())
        yield f"steps of {bins} tokens have {ratios} times the tokens, which their cost counts: see bench cost-model"


def _steps_of(one: Row) -> str:
    return f"steps of {one['tokens']} {'token' if one['tokens'] == '1' else 'tokens'}"


def _scheduling(base: Bins, candidate: Bins, scheduling: Sequence[Bins]) -> DifferencePart:
    """The time of scheduling in the steps of bins that both sides have."""
    spent = []
    for least in base.keys() & candidate.keys():
        weight = (base[least]["share"] + candidate[least]["share"]) / 2
        one, other = (bins[least] for bins in scheduling)
        spent.append(
            (weight * one["mean"], weight * other["mean"], weight * _root(one["mean_error"], other["mean_error"]))
        )
    sums = [math.fsum(each[side] for each in spent) for side in (0, 1)]
    return part_of("scheduling", sums[0], sums[1], math.hypot(*(error for *_, error in spent)))


def _tells(steps: Bins, scheduling: Bins) -> bool:
    """True if every step says how long it was scheduled."""
    return all(least in scheduling and scheduling[least]["steps"] == one["steps"] for least, one in steps.items())


def _root(*errors: float | None) -> float:
    """The half-width of a 95 % interval of standard errors; NaN where one is not known."""
    return 1.96 * math.sqrt(math.fsum(math.nan if error is None else error * error for error in errors))


def by_case(rows: Sequence[Row]) -> Decomposition | None:
    """The geometric mean of the ratios of cases: what each adds to its logarithm, in percent.

    Its interval is the sum of theirs, as in `comparison_means`: the run of a side may have been slower as a whole. Cases on one
    side only have no ratio: they are rows of their own, which add nothing.
    """
    compared = [row for row in rows if row["ratio"] and row["ratio"] > 0]
    if len(compared) < 2:
        return None
    count = len(compared)
    parts = []
    for row in compared:
        share = 100 * math.log(row["ratio"]) / count
        bounds = [100 * math.log(end) / count if end else None for end in (row["low"], row["high"])]
        parts.append(DifferencePart(label(row), None, None, share, bounds[0], bounds[1], off_alike=True))
    total = math.fsum(part.difference for part in parts)
    low, high = (_sum([getattr(part, end) for part in parts]) for end in ("low", "high"))
    whole = DifferencePart(f"geometric mean of {count} cases", None, None, total, low, high)
    changed = factor_of({**compared[0], "ratio": math.exp(total / 100)})
    notes = [f"{changed} in all; each case adds ln(ratio) / {count}, in percent; above 0 is better"]
    gone = [row for row in rows if row["verdict"] in ONE_SIDED]
    parts += [
        DifferencePart(f"{label(row)} ({row['verdict']})", None, None, 0.0, None, None, one_sided=True) for row in gone
    ]
    if gone:
        notes.append(f"{counted(len(gone), 'case')} on one side only: in no mean, so that what they add is 0")
    return decomposed("%", whole, parts, error=0.0, notes=notes)


def _sum(values: Sequence[float | None]) -> float | None:
    """The sum of values; None where one is not known."""
    known = [value for value in values if value is not None]
    return math.fsum(known) if len(known) == len(values) else None


def label(row: Row) -> str:
    """The name of a case with its backend, parameters and size, as far as they are known."""
    sizes = (("batch", row["batch_size"]), ("length", row["sequence_length"]))
    backend = row["backend"] if row["backend"] != called(row) else None
    texts = [called(row), backend, value_text(row["parameters"])]
    texts += [f"{name} {size}" for name, size in sizes if size is not None]
    return " ".join(text for text in texts if text) or "run"


def called(row: Row) -> str:
    """The name by which one asks for a case: a measured function's own, which is its backend."""
    return str((row["backend"] if row["suite"] == "function" else None) or row["name"])


SOURCES: tuple[Callable[["Warehouse", Sides, Row], Decomposition | None], ...] = (by_time, by_phase, by_bin)
