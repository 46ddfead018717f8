"""Where a series changed: steps, drifts, excursions from a level, and series that alternate between two levels."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from .descriptions import Change, Description, describe, fitted
from .segments import CLIP, STEADIEST, level_of, noise_of, spread_out

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SIGNIFICANCE = 0.02  # chance that a series without any change shows one
LEAST_RUNS = 9  # values that are judged: three levels of three
MIN_SEGMENT = 3  # values that make a level
SHORT = 10  # values: a level no longer from which a series returns is an excursion
ALIKE = 0.25  # of the depth of an excursion: what the levels around it may differ by
SURE = 1e-300  # p of what is beyond any doubt: 0 where a number ends


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """One change of a series. Indices count the values given, gaps included."""

    kind: Literal["step", "drift", "excursion", "two levels"]
    index: int  # first value of the new level; of a drift, first that left the old one; of two levels, the first turn
    end: int  # `index` of a step; of a drift the first value at the new level; of an excursion, of two levels the last
    before: float  # level before: the mean of its values within three sigma of their median; of two levels the lower
    after: float  # level after, of an excursion its own; of two levels the higher
    p: float  # chance of such a change where there is none
    count: int = 1  # turns of two levels

    @property
    def magnitude(self) -> float | None:
        """(after - before) / |before|; None where before is 0."""
        return (self.after - self.before) / abs(self.before) if self.before else None


@dataclass(frozen=True, slots=True)
class Examined:
    """A series that has been described, from which changes can be asked for at any significance."""

    places: Sequence[int]  # where among the values given the numbers are
    exponent: int  # of the power of two by which they were divided
    description: Description | None  # None of a series too short to judge

    def changes(self, significance: float = SIGNIFICANCE, min_magnitude: float = 0.0) -> list[ChangePoint]:
        """The changes in time order: those whose p is no more than `significance`, and of this fraction of the level before."""
        if self.description is None:
            return []
        return [
            replace(
                change, index=self.places[change.index], end=self.places[change.end],
                before=math.ldexp(change.before, self.exponent), after=math.ldexp(change.after, self.exponent),
            )
            for change in _judge(self.description, significance, min_magnitude)
        ]  # fmt: skip


def change_points(
    values: Sequence[float | None], *, significance: float = SIGNIFICANCE, min_magnitude: float = 0.0
) -> list[ChangePoint]:
    """Find the steps, drifts and excursions of a series.

    Args:
        values: In time order. None, NaN and infinities are gaps and are skipped.
        significance: Chance that a series without changes shows any.
        min_magnitude: Changes of less than this fraction of the level before are ignored.

    Returns:
        In time order; an empty list for fewer values than LEAST_RUNS.
    """
    if not (0 < significance < 1 and min_magnitude >= 0):
        raise ValueError("want 0 < significance < 1 and min_magnitude >= 0")
    (examined,) = examine([values], significance=significance)
    return examined.changes(significance, min_magnitude)


def examine(
    series: Sequence[Sequence[float | None]], *, significance: float = SIGNIFICANCE,
    progress: Callable[[int], None] | None = None,
) -> list[Examined]:  # fmt: skip
    """Describe many series, which costs far less at once than one by one.

    Args:
        series: As for `change_points`.
        significance: The largest that changes will be asked for.
        progress: Called with the number of series done.
    """
    import numpy as np

    known = []
    for values in series:
        given = np.array([math.nan if value is None else value for value in values], dtype=np.float64)
        places = np.flatnonzero(np.isfinite(given))
        exponent = int(np.frexp(np.abs(given[places]).max(initial=0.0))[1])
        x = np.ldexp(given[places], -exponent)  # nothing is rounded, and squares cannot overflow
        known.append((places, exponent, x))
    long = [i for i, (*_, x) in enumerate(known) if len(x) >= LEAST_RUNS and np.ptp(x) > STEADIEST]
    long.sort(key=lambda i: len(known[i][2]))
    examined = [Examined((), 0, None)] * len(series)
    described = describe([known[i][2] for i in long], significance, MIN_SEGMENT)
    for done, (i, description) in enumerate(zip(long, described, strict=True), start=len(series) - len(long) + 1):
        examined[i] = Examined(known[i][0].tolist(), known[i][1], description)
        if progress:
            progress(done)
    return examined


def _judge(description: Description, significance: float, min_magnitude: float) -> list[ChangePoint]:
    """The changes of a description that are sure and large enough."""
    if description.turns:
        both = _two_levels(description)
        return [both] if _counts(both, significance, min_magnitude) else []
    levels = _Levels(description)
    levels.set_excursions_apart()
    # The least sure goes first, of the sure ones the smallest. Each joins two levels, so this ends when none is left.
    while failing := [change for change in levels.changes() if not _counts(change, significance, min_magnitude)]:
        levels.drop(max(failing, key=lambda one: (one.p if one.p > significance else 0.0, -abs(one.magnitude or 0.0))))
    lasting = levels.changes()
    levels.find_outliers(significance)
    found = [*lasting, *(one for one in levels.excursions() if _counts(one, significance, min_magnitude))]
    return sorted(found, key=lambda change: (change.index, change.end))


def _counts(change: ChangePoint, significance: float, min_magnitude: float) -> bool:
    return change.p <= significance and (change.magnitude is None or abs(change.magnitude) >= min_magnitude)


def _two_levels(description: Description) -> ChangePoint:
    """That a series alternates. No series saves more than c by a description by chance more often than exp(-c / 2)."""
    import numpy as np

    x, turns = description.x, description.turns
    parts = np.split(x, turns)
    one, other = np.concatenate(parts[::2]), np.concatenate(parts[1::2])
    low, high = sorted(description.value(level_of(part, noise_of(part))) for part in (one, other))
    p = max(SURE, math.exp(-description.saved / 2))
    return ChangePoint("two levels", turns[0], turns[-1], low, high, p, len(turns))


class _Levels:
    """The levels of a series, the boundaries between them, and the excursions from them, with the tests of both."""

    def __init__(self, description: Description) -> None:
        import numpy as np

        self.x, self.calm, self.rho = description.x, description.calm, description.rho
        self.value = description.value
        self.values = np.exp(self.x) if description.proportional else self.x
        self.noise = noise_of(self.x)
        self.boundaries = _placed(description)
        self.apart: list[Change] = []  # first and last value of each excursion
        self.inside = np.ones(len(self.x), dtype=bool)  # a value that is in no excursion
        sizes = np.diff([0, *(first for first, _ in self.boundaries), len(self.x)]).tolist()
        self.away = self.x - fitted(self.calm, self.boundaries)
        self.near = np.clip(self.away, -CLIP * self.noise, CLIP * self.noise)
        self.freedom = sum(max(0.0, size - spread_out(size, self.rho)) for size in sizes)

    def changes(self) -> list[ChangePoint]:
        """The steps and drifts."""
        heights = self._heights()
        levels = heights if self.values is self.x else self._means(heights)
        return [
            ChangePoint(
                "step" if first == last else "drift", first, last, levels[place], levels[place + 1],
                self._p(place, heights[place + 1] - heights[place]),
            )
            for place, (first, last) in enumerate(self.boundaries)
        ]  # fmt: skip

    def drop(self, change: ChangePoint) -> None:
        """Join the levels before and after a step or a drift."""
        self.boundaries.remove((change.index, change.end))

    def set_excursions_apart(self) -> None:
        """A short stretch between two levels that are alike is an excursion, not two steps. The shortest go first."""
        # Each turn removes a boundary, so this ends.
        while pairs := [pair for pair in itertools.pairwise(self.boundaries) if self._returns(*pair)]:
            (first, _), (after, _) = min(pairs, key=lambda pair: pair[1][0] - pair[0][0])
            self._set_apart(first, after - 1)
            self.boundaries.remove((first, first))

    def _set_apart(self, first: int, last: int) -> None:
        self.apart.append((first, last))
        self.inside[first : last + 1] = False

    def find_outliers(self, significance: float) -> None:
        """Values that lie together beyond their level, farther than noise explains, are an excursion, however few."""
        import numpy as np

        fit = self._fit()
        away = np.where(self.inside, self.x - fit, 0.0)
        sizes = np.abs(away)
        far = np.flatnonzero(sizes > CLIP * self._sigma())
        limits = [0, *itertools.chain.from_iterable(self.boundaries), len(self.x)]
        for peak in far[np.argsort(-sizes[far])].tolist():
            if not self.inside[peak]:
                continue
            alike = self.inside & (away * np.sign(away[peak]) > sizes[peak] / 2)
            low = max(limit for limit in limits if limit <= peak)
            high = min(limit for limit in limits if limit > peak)
            first, last = peak, peak
            while first > low and alike[first - 1]:
                first -= 1
            while last + 1 < high and alike[last + 1]:
                last += 1
            size, left = last + 1 - first, np.count_nonzero(self.inside[low:high])
            if size <= SHORT and size < left and self._excursion(first, last, fit).p <= significance:
                self._set_apart(first, last)

    def excursions(self) -> list[ChangePoint]:
        """What departs from a level and comes back."""
        fit = self._fit() if self.apart else self.x
        return [self._excursion(first, last, fit) for first, last in self.apart]

    def _excursion(self, first: int, last: int, fit: "Floats") -> ChangePoint:
        import numpy as np

        before, after = float(fit[first]), level_of(self.x[first : last + 1], self.noise)
        size = last + 1 - first
        place = sum(first >= start for start, _ in self.boundaries)
        share = self._share(size) + self._share(len(self._places(place)))
        own = self.near[first : last + 1]
        sigma = self._sigma(float(own @ own), size)
        others = np.concatenate([self.away[:first], self.away[last + 1 :]])
        degrees = min(self.freedom, size * _degrees_of(others))
        p = self._tail(after - before, share, sigma, len(self.x) * size**2, degrees)
        return ChangePoint("excursion", first, last, self.value(before), self.value(after), p)

    def _returns(self, change: Change, following: Change) -> bool:
        """Whether the stretch between two steps is an excursion: the levels around it are ALIKE, measured by its depth."""
        (first, last), (after, end) = change, following
        if first < last or after < end or after - first > SHORT:
            return False
        place = self.boundaries.index(change)
        before, own, behind = (float(self.calm[self._places(place + i)].mean()) for i in range(3))
        return abs(behind - before) <= ALIKE * min(abs(own - before), abs(own - behind))

    def _places(self, place: int) -> "NDArray[np.intp]":
        """Where the values of a level lie."""
        import numpy as np

        start = self.boundaries[place - 1][1] if place else 0
        stop = self.boundaries[place][0] if place < len(self.boundaries) else len(self.x)
        return start + np.flatnonzero(self.inside[start:stop])

    def _heights(self) -> list[float]:
        """The levels: those at a drift from a fit of all, others from their own values."""
        drifts = any(first < last for first, last in self.boundaries)
        fit = fitted(self.calm, self.boundaries) if drifts else self.calm
        heights = []
        for place in range(len(self.boundaries) + 1):
            values = self._places(place)
            heights.append(float(fit[values[0]]) if self._at_drift(place) else level_of(self.x[values], self.noise))
        return heights

    def _means(self, heights: Sequence[float]) -> list[float]:
        """The levels of values of which x are the logarithms."""
        noise = noise_of(self.values)
        return [
            self.value(height) if self._at_drift(place) else level_of(self.values[self._places(place)], noise)
            for place, height in enumerate(heights)
        ]

    def _at_drift(self, place: int) -> bool:
        return any(first < last for first, last in self.boundaries[max(0, place - 1) : place + 1])

    def _fit(self) -> "Floats":
        """The level at each value; in a drift the line."""
        import numpy as np

        heights = self._heights()
        knots = [
            0,
            *itertools.chain.from_iterable((first - 1, last) for first, last in self.boundaries),
            len(self.x) - 1,
        ]
        return np.asarray(np.interp(np.arange(len(self.x)), knots, np.repeat(heights, 2)))

    def _p(self, place: int, height: float) -> float:
        """p of a boundary."""
        import numpy as np

        (first, last), n = self.boundaries[place], len(self.x)
        before, after = self._places(place), self._places(place + 1)
        if first == last:
            share = self._share(len(before)) + self._share(len(after))
            return self._tail(height, share, self._sigma(), n, self.freedom)
        line = np.interp(np.arange(before[0], after[-1] + 1), [first - 1, last], [0, 1])
        share = spread_out(len(line), self.rho) / (len(line) * float(line.var()))
        return self._tail(height, share, self._sigma(), n * n, self.freedom)

    def _share(self, size: int) -> float:
        """Variance of the mean of `size` values, in variances of a value."""
        return spread_out(size, self.rho) / size

    def _sigma(self, squares: float = 0.0, size: int = 0) -> float:
        """Sigma of the values around their levels, without some of them."""
        return math.sqrt(max(0.0, float(self.near @ self.near) - squares) / max(1.0, self.freedom - size))

    def _tail(self, height: float, share: float, sigma: float, looks: float, degrees: float) -> float:
        """Chance that the largest of so many contrasts is as high: Student's t, Bonferroni's correction."""
        from scipy.special import stdtr

        if height == 0:
            return 1.0
        spread = max(sigma, STEADIEST) * math.sqrt(share)
        return min(1.0, max(SURE, 2 * looks * float(stdtr(max(1.0, degrees), -abs(height) / spread))))


def _degrees_of(away: "Floats") -> float:
    """Degrees of freedom of Student's t with tails as heavy as those of the deviations; the lightest that are plausible.

    Of normal values 95 % lie within 2.9 times the median deviation; of Student's t with d degrees within about 2.9 + 3.5 / d.
    """
    import numpy as np

    sizes = np.sort(np.abs(away))
    n = len(sizes)
    middle, far = float(sizes[n // 2]), float(sizes[int(0.95 * n)])
    if far == 0:
        return math.inf
    excess = far / max(middle, far / 100) * (1 - 2 / math.sqrt(n)) - 2.9  # less two standard errors of the ratio
    return max(1.0, 3.5 / excess) if excess > 0 else math.inf


def _placed(description: Description) -> list[Change]:
    """The boundaries, each step where the levels beside it are nearest to the values (by absolute deviation).

    An absolute deviation grows with the values, and no value counts for more than the height of the step.
    """
    import numpy as np

    x, calm = description.x, description.calm
    boundaries = list(description.changes)
    for place, (first, last) in enumerate(boundaries):
        low = boundaries[place - 1][1] if place else 0
        high = boundaries[place + 1][0] if place + 1 < len(boundaries) else len(x)
        if first < last or high - low < 2 * MIN_SEGMENT:
            continue
        before, after = calm[low:first].mean(), calm[first:high].mean()
        gain = np.cumsum(np.abs(x[low:high] - before) - np.abs(x[low:high] - after))
        cut = low + MIN_SEGMENT + int(gain[MIN_SEGMENT - 1 : high - low - MIN_SEGMENT].argmin())
        boundaries[place] = cut, cut
    return boundaries
