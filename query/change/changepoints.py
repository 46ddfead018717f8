"""Where a series changed: steps, slow drifts, and spikes that are neither."""

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from .segments import CLIP, STEADIEST, cuts_of, level_of, median_of, noise_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SIGNIFICANCE = 0.02  # chance that a series without any change shows one
MIN_SEGMENT = 3  # values that make a level; fewer that differ are a spike
SPIKE = 4.0  # sigmas from its level that make a spike
RAMP_GRID = 16  # places of either end of a drift tried at once


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """One step, drift or spike of a series. Indices count the values given, gaps included."""

    kind: Literal["step", "drift", "spike"]
    index: int  # first value of the new level; of a drift, first that left the old one; of a spike, its first
    end: int  # last value on the way: `index` itself for a step, of a drift the first at the new level
    before: float  # level before: the mean of its values within three sigma of their median
    after: float  # level after; of a spike, its most distant value
    p: float | None  # chance of such a change where there is none; None for a spike, which is no change

    @property
    def magnitude(self) -> float | None:
        """(after - before) / |before|; None where before is 0."""
        return (self.after - self.before) / abs(self.before) if self.before else None


def change_points(
    values: Sequence[float | None], *, significance: float = SIGNIFICANCE, min_segment: int = MIN_SEGMENT,
    min_magnitude: float = 0.0, seed: int = 0,
) -> list[ChangePoint]:  # fmt: skip
    """Find the steps, drifts and spikes of a series.

    Args:
        values: In time order. None, NaN and infinities are gaps and are skipped.
        significance: Chance that a series without changes, whatever the distribution of its noise, shows any.
        min_segment: Values that make a level; a shorter run of outliers is a spike.
        min_magnitude: Changes of less than this fraction of the level before are ignored.
        seed: Seed of the shuffles; the same values and seed give the same result.

    Returns:
        In time order; an empty list for fewer values than `shortest(significance, min_segment)`.
    """
    import numpy as np

    if not (0 < significance < 1 and min_segment >= 2 and min_magnitude >= 0):
        raise ValueError("want 0 < significance < 1, min_segment >= 2 and min_magnitude >= 0")
    given = np.array([math.nan if value is None else value for value in values], dtype=np.float64)
    places = np.flatnonzero(np.isfinite(given))
    exponent = int(np.frexp(np.abs(given[places]).max(initial=0.0))[1])
    x = np.ldexp(given[places], -exponent)  # by a power of two: nothing is rounded, and squares cannot overflow
    if len(x) < shortest(significance, min_segment):
        return []
    cuts = cuts_of(x, significance=significance, least=min_segment, seed=seed)
    found = _transitions(x, cuts, min_segment)
    while small := _negligible(found, min_magnitude):
        cuts = {cut: p for cut, p in cuts.items() if not any(t.index <= cut <= t.end for t in small)}
        found = _transitions(x, cuts, min_segment)
    found = sorted([*found, *_spikes(x, found, min_segment)], key=lambda change: change.index)
    return [
        replace(
            change, index=int(places[change.index]), end=int(places[change.end]),
            before=math.ldexp(change.before, exponent), after=math.ldexp(change.after, exponent),
        )
        for change in found
    ]  # fmt: skip


@functools.cache
def shortest(significance: float = SIGNIFICANCE, min_segment: int = MIN_SEGMENT) -> int:
    """The smallest number of values in which any change can be significant.

    Of n values, half lie wholly before the others by chance in 2 of (n choose n/2) orders.
    """
    sizes = itertools.count(2 * min_segment)
    return next(n for n in sizes if 2 / math.comb(n, n // 2) <= significance)


def _transitions(x: "Floats", cuts: dict[int, float], least: int) -> list[ChangePoint]:
    """Steps; where a straight line fits better than several steps in one direction, a drift replaces them."""
    import numpy as np

    noise = noise_of(x)
    ends = [0, *cuts, len(x)]
    levels = [level_of(part, noise) for part in np.split(x, ends[1:-1])]
    fit = np.repeat(levels, np.diff(ends))
    parts = np.split(np.clip(x, fit - CLIP * noise, fit + CLIP * noise), ends[1:-1])
    found: list[ChangePoint] = []
    place = 1  # of the boundary in `ends`
    while place <= len(cuts):
        start = max(ends[place - 1], found[-1].end) if found else 0
        parts[place - 1] = parts[place - 1][start - ends[place - 1] :]  # without what a drift before reached into
        rises = np.sign(np.diff(levels[place - 1 :]))
        steps = next((i for i, rise in enumerate(rises) if rise != rises[0]), len(rises))
        ramp = None
        while steps and (ramp := _ramp(parts[place - 1 : place + steps], least)) is None:
            steps -= max(1, steps // 4)
        if ramp is not None:
            first, last, before, after = ramp
            p = min(cuts[cut] for cut in ends[place : place + steps])
            if found and found[-1].kind == "step":
                found[-1] = replace(found[-1], after=before)
            levels[place + steps - 1] = after  # so that the next change begins there
            found.append(ChangePoint("drift", start + first, start + last, before, after, p))
            place += steps
        else:
            cut = ends[place]
            found.append(ChangePoint("step", cut, cut, levels[place - 1], levels[place], cuts[cut]))
            place += 1
    return found


def _ramp(parts: list["Floats"], least: int) -> tuple[int, int, float, float] | None:
    """A level, a straight line, a level, fitted to adjoining levels by least squares.

    Returns:
        First value off the old level, first value at the new one, both levels; None where the levels of `parts` explain
        the values as well (by BIC), or the line is so steep that it is a step.
    """
    import numpy as np

    y = np.concatenate(parts)
    n, steepest = len(y), 3 * least
    flat = sum(float(((part - part.mean()) ** 2).sum()) for part in parts)
    if n <= 2 * steepest or flat <= 0:
        return None
    mean = float(y.mean())
    y = y - mean
    sums, moments = np.cumsum(y), np.cumsum(y * np.arange(n))
    start, stop, spacing = np.array([0]), np.array([n - 1]), n
    while spacing > 1:
        spacing = -(-spacing // (RAMP_GRID // 2))
        around = spacing * np.arange(-RAMP_GRID // 2, RAMP_GRID // 2 + 1)
        start, stop = (ends.ravel() for ends in np.meshgrid(start + around, stop + around))
        allowed = (start >= 0) & (stop < n) & (stop - start >= steepest)
        start, stop = start[allowed], stop[allowed]
        length = stop - start
        # the line u rises from 0 at start to 1 at stop: sums of u, of u² and of u y
        u = n - 1 - stop + (length + 1) / 2
        spread = n - 1 - stop + (length + 1) * (2 * length + 1) / (6 * length) - u * u / n
        product = (moments[stop] - moments[start] - start * (sums[stop] - sums[start])) / length - sums[stop]
        best = int(np.argmax(product * product / spread))
        start, stop = start[best : best + 1], stop[best : best + 1]
    slope = float(product[best] / spread[best])
    left = float(y @ y) - slope * float(product[best])
    if left > 0 and n * math.log(flat / left) <= (5 - 2 * len(parts)) * math.log(n):
        return None
    before = mean - slope * float(u[best]) / n
    return int(start[0]) + 1, int(stop[0]), before, before + slope


def _negligible(found: list[ChangePoint], least: float) -> list[ChangePoint]:
    """Changes below the least magnitude, smallest first, because two neighbours together may be above it."""
    sizes = [math.inf if change.magnitude is None else abs(change.magnitude) for change in found]
    beside = [math.inf, *sizes, math.inf]
    return [
        change
        for place, (change, size) in enumerate(zip(found, sizes, strict=True))
        if size < least and size < beside[place] and size <= beside[place + 2]
    ]


def _spikes(x: "Floats", found: list[ChangePoint], least: int) -> list[ChangePoint]:
    """Runs of fewer than `least` values far from the level they lie in."""
    import numpy as np

    if found:
        knots = [(place, level) for c in found for place, level in ((c.index - 1, c.before), (c.end, c.after))]
        fit = np.interp(np.arange(len(x)), *np.transpose(knots))
    else:
        fit = np.full(len(x), level_of(x, noise_of(x)))
    away = x - fit
    spread = 1.4826 * median_of(np.abs(away)) or math.sqrt(float(away @ away) / len(x))
    side = np.sign(away) * (np.abs(away) > SPIKE * max(spread, STEADIEST))
    bounds = [0, *(np.flatnonzero(np.diff(side)) + 1), len(x)]
    return [
        ChangePoint(
            "spike", int(low), int(high) - 1, float(fit[low]), float(x[low + np.abs(away[low:high]).argmax()]), None
        )
        for low, high in itertools.pairwise(bounds)
        if side[low] and high - low < least
    ]
