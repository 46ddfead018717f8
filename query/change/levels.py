"""The levels of a series, the boundaries between them, and the excursions from them, with the tests of both."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .models import Change, SeriesModel, fitted
from .segments import CLIP, STEADIEST, level_of, noise_of, spread_out

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

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

    def counts(self, significance: float, min_magnitude: float) -> bool:
        """Return whether it is sure and large enough."""
        return self.p <= significance and (self.magnitude is None or abs(self.magnitude) >= min_magnitude)


class Levels:
    """The levels of a series, the boundaries between them, and the excursions from them, with the tests of both."""

    def __init__(self, model: SeriesModel) -> None:
        import numpy as np

        self.x, self.clipped, self.rho = model.x, model.clipped, model.rho
        self.value, self.slope = model.value, model.slope
        self.values = np.exp(self.x) if model.proportional else self.x
        self.noise = noise_of(self.x)
        self.boundaries = _placed(model)
        self.apart: list[Change] = []  # first and last value of each excursion
        self.inside = np.ones(len(self.x), dtype=bool)  # a value that is in no excursion
        sizes = np.diff([0, *(first for first, _ in self.boundaries), len(self.x)]).tolist()
        self.away = self.x - fitted(self.clipped, self.boundaries)
        self.near = np.clip(self.away, -CLIP * self.noise, CLIP * self.noise)
        # boundaries and excursions with these heights
        self._heights_of: tuple[tuple[Change, ...], tuple[Change, ...]] | None = None
        self._known_heights: list[float] = []
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
        far = np.flatnonzero(sizes > CLIP * self.sigma())
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

    def tilt(self) -> list[ChangePoint]:
        """The drift of a series that drifts all along, as Student's t of its slope within the levels."""
        sizes = [len(self.places(place)) for place in range(len(self.boundaries) + 1)]
        squares = sum(size * (size * size - 1) / 12 for size in sizes)
        p = self.tail(self.slope, spread_out(len(self.x), self.rho) / squares, self.sigma(), 1, self.freedom)
        half = self.slope * (len(self.x) - 1) / 2
        first = self._heights()[0]
        return [ChangePoint("drift", 0, len(self.x) - 1, self.value(first - half), self.value(first + half), p)]

    def excursions(self) -> list[ChangePoint]:
        """Stretches that leave a level and come back."""
        fit = self._fit() if self.apart else self.x
        return [self._excursion(first, last, fit) for first, last in self.apart]

    def _excursion(self, first: int, last: int, fit: "Floats") -> ChangePoint:
        import numpy as np

        before, after = float(fit[first]), level_of(self.x[first : last + 1], self.noise)
        size = last + 1 - first
        place = sum(first >= start for start, _ in self.boundaries)
        share = self.share(size) + self.share(len(self.places(place)))
        own = self.near[first : last + 1]
        sigma = self.sigma(float(own @ own), size)
        others = np.concatenate([self.away[:first], self.away[last + 1 :]])
        degrees = min(self.freedom, size * _degrees_of(others))
        p = self.tail(after - before, share, sigma, len(self.x) * size**2, degrees)
        return ChangePoint("excursion", first, last, self.value(before), self.value(after), p)

    def _returns(self, change: Change, following: Change) -> bool:
        """True if the stretch between two steps is an excursion: the levels around it are ALIKE, measured by its depth."""
        (first, last), (after, end) = change, following
        if first < last or after < end or after - first > SHORT:
            return False
        place = self.boundaries.index(change)
        before, own, behind = (float(self.clipped[self.places(place + i)].mean()) for i in range(3))
        return abs(behind - before) <= ALIKE * min(abs(own - before), abs(own - behind))

    def places(self, place: int) -> "NDArray[np.intp]":
        """The places of the values of a level."""
        start = self.boundaries[place - 1][1] if place else 0
        stop = self.boundaries[place][0] if place < len(self.boundaries) else len(self.x)
        return start + self.inside[start:stop].nonzero()[0]

    def _heights(self) -> list[float]:
        """The levels: those at a drift from a fit of all, others from their own values."""
        now = (tuple(self.boundaries), tuple(self.apart))
        if now == self._heights_of:
            return self._known_heights
        drifts = any(first < last for first, last in self.boundaries)
        fit = fitted(self.clipped, self.boundaries) if drifts else self.clipped
        heights = []
        for place in range(len(self.boundaries) + 1):
            values = self.places(place)
            heights.append(float(fit[values[0]]) if self._at_drift(place) else level_of(self.x[values], self.noise))
        self._heights_of, self._known_heights = now, heights
        return heights

    def _means(self, heights: Sequence[float]) -> list[float]:
        """The levels of values of which x are the logarithms."""
        noise = noise_of(self.values)
        return [
            self.value(height) if self._at_drift(place) else level_of(self.values[self.places(place)], noise)
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
        before, after = self.places(place), self.places(place + 1)
        if first == last:
            share = self.share(len(before)) + self.share(len(after))
            return self.tail(height, share, self.sigma(), n, self.freedom)
        line = np.interp(np.arange(before[0], after[-1] + 1), [first - 1, last], [0, 1])
        share = spread_out(len(line), self.rho) / (len(line) * float(line.var()))
        return self.tail(height, share, self.sigma(), n * n, self.freedom)

    def share(self, size: int) -> float:
        """Variance of the mean of `size` values, in variances of a value."""
        return spread_out(size, self.rho) / size

    def sigma(self, squares: float = 0.0, size: int = 0) -> float:
        """Sigma of the values around their levels, without some of them."""
        return math.sqrt(max(0.0, float(self.near @ self.near) - squares) / max(1.0, self.freedom - size))

    def tail(self, height: float, share: float, sigma: float, looks: float, degrees: float) -> float:
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


def _placed(model: SeriesModel) -> list[Change]:
    """The boundaries, each step where the levels beside it are nearest to the values (by absolute deviation).

    An absolute deviation grows with the values, and no value counts for more than the height of the step.
    """
    import numpy as np

    x, clipped = model.x, model.clipped
    boundaries = list(model.changes)
    for place, (first, last) in enumerate(boundaries):
        low = boundaries[place - 1][1] if place else 0
        high = boundaries[place + 1][0] if place + 1 < len(boundaries) else len(x)
        if first < last or high - low < 2 * MIN_SEGMENT:
            continue
        before, after = clipped[low:first].mean(), clipped[first:high].mean()
        gain = np.cumsum(np.abs(x[low:high] - before) - np.abs(x[low:high] - after))
        cut = low + MIN_SEGMENT + int(gain[MIN_SEGMENT - 1 : high - low - MIN_SEGMENT].argmin())
        boundaries[place] = cut, cut
    return boundaries
