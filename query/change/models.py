"""The model that describes values best: one level, steps, drifts, or two levels that alternate.

Each model predicts every value from the one before. The best is the one for which n log(mean squared error) plus
its price is least: the price is what its changes must save before they are believed, so a model that says more
must predict better (Rissanen, Automatica 14, 1978). Autocorrelated noise (AR(1)) is one level, and so are steps and drifts
that it explains as well.
"""

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .segments import CLIP, RHOS, WIDEST, clip_outliers, innovations, median_of, noise_of, partition

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RAMP_GRID = 16  # places of either end of a drift that are tried at once
FEWEST_TURNS = 4  # changes between two levels from which they may be said to alternate
TRANSIENT = 25  # runs: levels that alternate last no longer on average
RAREST = 0.2  # of all values: the rarer of two levels that alternate
APART = 4.0  # sigmas between two levels that alternate
EXACT = 1e-6  # of the variance: a smaller error is none


Change = tuple[int, int]  # first and last value on the way; the same for a step
Candidate = tuple[float, float, Sequence[Change]]  # cost, autocorrelation and changes


@dataclass(frozen=True, slots=True)
class SeriesModel:
    """A piecewise model fitted to a series."""

    x: "Floats"  # its values
    clipped: "Floats"  # the same without outliers
    changes: Sequence[Change]
    rho: float  # how much a deviation is like the one before
    turns: Sequence[int] = ()  # where a series that knows two levels changes from one to the other
    saved: float = 0.0  # by two levels, of what one level costs
    proportional: bool = False  # noise grows with the level: the values are logarithms
    walk: "Floats | None" = None  # a series that wanders; x are its increments, and the changes are theirs
    slope: float = 0.0  # of a series that drifts from its first value to its last, taken out of x

    def value(self, level: float) -> float:
        """A level as the series has it."""
        return math.exp(level) if self.proportional else level

    def residuals(self) -> "Floats":
        """The innovations: the new part of each value."""
        away = self.x - fitted(self.clipped, self.changes)
        return away[1:] - self.rho * away[:-1]


@dataclass(frozen=True, slots=True)
class ScaledSeries:
    """A series in units of its noise."""

    x: "Floats"
    clipped: "Floats"  # without outliers
    plain: "Floats"  # x around its median, in units of its noise
    y: "Floats"  # the same of the clipped values
    scale: float  # what the units add to a cost

    @classmethod
    def of(cls, x: "Floats") -> "ScaledSeries":
        """Around the median; no more than WIDEST sigmas wide."""
        noise, middle = noise_of(x), median_of(x)
        clipped = clip_outliers(x, noise)
        noise = max(noise, float(clipped.max() - clipped.min()) / WIDEST)
        return cls(x, clipped, (x - middle) / noise, (clipped - middle) / noise, 2 * len(x) * math.log(noise))

    @property
    def outlier_penalty(self) -> float:
        """Squared deviations that outliers count for."""
        import numpy as np

        return CLIP**2 * float(np.count_nonzero(self.x != self.clipped))


def divide(
    series: Sequence[ScaledSeries], significance: float, least: int, *, walks: bool = False
) -> list[tuple[SeriesModel, float]]:
    """The best model of each series, with its cost; of increments by steps only."""
    likely = [_likely(one.y) for one in series]
    trials = [(place, rho) for place, rhos in enumerate(likely) for rho in rhos]
    rows = [series[place].y for place, _ in trials]
    rhos = [rho for _, rho in trials]
    fees = [
        fee(len(one.y), significance) * variance
        for one, some in zip(series, likely, strict=True)
        for variance in innovations(one.y, some)
    ]
    divisions: list[list[list[int]]] = [[] for _ in series]
    for (place, _), cuts in zip(trials, partition(rows, rhos, fees, least), strict=True):
        if cuts not in divisions[place]:
            divisions[place].append(cuts)
    steps = [[[(cut, cut) for cut in cuts] for cuts in ([], *some)] for some in divisions]
    sums = iter(_sums_of([(one.y, changes) for one, some in zip(series, steps, strict=True) for changes in some]))
    candidates = []
    for one, some in zip(series, steps, strict=True):
        price = price_of(len(one.y), significance)
        costs = [(*_cost(len(one.y), next(sums), changes, price, one.outlier_penalty), changes) for changes in some]
        cost, changes, rho, turns, saved = _best(one, costs, price, least, walks)
        candidates.append((SeriesModel(one.x, one.clipped, changes, rho, turns, saved), cost + one.scale))
    return candidates


def _likely(y: "Floats") -> list[float]:
    """The autocorrelations that a series may have: that of its values is raised by changes, and never lowered."""
    away = y - y.mean()
    total = float(away @ away)
    most = float(away[1:] @ away[:-1]) / total + 2 / math.sqrt(len(y)) if total else 0.0
    return [rho for rho in RHOS if rho <= most] or [0.0]


@functools.lru_cache(maxsize=4096)
def fee(n: int, significance: float) -> float:
    """The cost a boundary must save, in variances: the square of Student's t that n contrasts exceed by chance (Bonferroni)."""
    from scipy.special import stdtrit

    return float(stdtrit(n - 2, 1 - significance / (2 * n))) ** 2


def price_of(n: int, significance: float) -> float:
    """The same as a gain of n log(mean squared error)."""
    return n * math.log1p(fee(n, significance) / (n - 2))


def _best(
    one: ScaledSeries, candidates: Sequence[Candidate], price: float, least: int, walks: bool
) -> tuple[float, Sequence[Change], float, Sequence[int], float]:
    """Cost, changes, autocorrelation, turns and what these save, of the cheapest model: one level comes first, then steps."""
    y, outlier_penalty, plain = one.y, one.outlier_penalty, candidates[0][0]
    cost, rho, changes = best = min(candidates, key=lambda candidate: candidate[0])
    if walks:
        return cost, changes, rho, (), 0.0
    tried = [best] if best is candidates[1] else [candidates[1], best]  # the one with the most steps, the best one
    cost, rho, changes = min(
        (_with_drifts(y, one, least, price, outlier_penalty) for one in tried), key=lambda one: one[0]
    )
    turns, alternating = _alternating(one.plain, price, cost)
    if turns and alternating < cost:
        return alternating, (), 0.0, turns, plain - alternating
    return cost, changes, rho, (), 0.0


def cost_of(y: "Floats", changes: Sequence[Change], price: float, outlier_penalty: float) -> tuple[float, float]:
    """n log(mean squared error of the next value) and the price of the changes, and the autocorrelation around them."""
    away = y - fitted(y, changes)
    sums = float(away @ away), float(away[1:] @ away[:-1]), float(away[0] ** 2 + away[-1] ** 2)
    return _cost(len(y), sums, changes, price, outlier_penalty)


def _cost(
    n: int, sums: tuple[float, float, float], changes: Sequence[Change], price: float, outlier_penalty: float
) -> tuple[float, float]:
    """The same by the sums of squares, of products of neighbours, and of the squares at both ends."""
    squares, products, ends = sums
    exact, least, best = n * EXACT, math.inf, 0.0
    for rho, weight in _weights(n):  # a third of the time of min()
        error = squares - 2 * rho * products + rho**2 * (squares - ends) + outlier_penalty
        error = (error if error > exact else exact) * weight
        if error < least:
            least, best = error, rho
    return n * math.log(least / n) + price * sum(1 if first == last else 2 for first, last in changes), best


def _sums_of(rows: Sequence[tuple["Floats", Sequence[Change]]]) -> list[tuple[float, float, float]]:
    """The sums that `_cost` takes, of many series and their steps at once."""
    import numpy as np

    if not rows:
        return []
    values = np.concatenate([y for y, _ in rows])
    lengths = np.array([len(y) for y, _ in rows], dtype=np.int64)
    stops = np.cumsum(lengths)
    begins = stops - lengths
    levels = np.array([begin + cut for begin, (_, changes) in zip(begins.tolist(), rows, strict=True)
                       for cut in (0, *(first for first, _ in changes))])  # fmt: skip
    sizes = np.diff(levels, append=len(values))
    away = values - np.repeat(np.add.reduceat(values, levels) / sizes, sizes)
    squares = away * away
    products = np.append(away[1:] * away[:-1], 0.0)
    products[stops - 1] = 0.0  # the next value is of another series
    return list(
        zip(
            np.add.reduceat(squares, begins).tolist(), np.add.reduceat(products, begins).tolist(),
            (squares[begins] + squares[stops - 1]).tolist(), strict=True,
        )
    )  # fmt: skip


@functools.lru_cache(maxsize=4096)
def _weights(n: int) -> list[tuple[float, float]]:
    """Weights by autocorrelation: factors of a mean squared error of n values whose n-fold logarithm the rest costs."""
    return [(rho, ((n if rho else 1) / (1 - rho**2)) ** (1 / n)) for rho in RHOS]


def fitted(y: "Floats", changes: Sequence[Change]) -> "Floats":
    """Levels, and straight lines from one to the next in drifts, by least squares."""
    import numpy as np

    if all(first == last for first, last in changes):
        starts = [0, *(first for first, _ in changes)]
        sizes = [stop - start for start, stop in itertools.pairwise([*starts, len(y)])]
        return np.asarray(np.repeat(np.add.reduceat(y, starts) / sizes, sizes))
    knots = [0, *itertools.chain.from_iterable((first - 1, last) for first, last in changes), len(y) - 1]
    position = np.interp(np.arange(len(y)), knots, np.repeat(np.arange(len(changes) + 1), 2))
    level = position.astype(np.intp)
    on = position - level  # how far on the way to the next level
    count = len(changes) + 2  # one after the last, to which nothing is on its way

    def sums(here: "Floats", there: "Floats") -> "Floats":
        return np.asarray(np.bincount(level, here, count) + np.bincount(level + 1, there, count), dtype=np.float64)

    heights = _solved(
        sums((1 - on) ** 2, on**2).tolist()[:-1], np.bincount(level, on * (1 - on), count).tolist(),
        sums((1 - on) * y, on * y).tolist(),
    )  # fmt: skip
    return np.asarray(heights[level] * (1 - on) + heights[level + 1] * on)


def _solved(own: list[float], beside: list[float], sums: list[float]) -> "Floats":
    """Solution of linear equations of which each has one unknown in common with the next (Thomas's algorithm), and a 0."""
    import numpy as np

    for i in range(1, len(own)):
        share = beside[i - 1] / own[i - 1]
        own[i] -= share * beside[i - 1]
        sums[i] -= share * sums[i - 1]
    solution = [0.0]
    for i in reversed(range(len(own))):
        solution.append((sums[i] - beside[i] * solution[-1]) / own[i])
    return np.array(solution[::-1])


def _with_drifts(y: "Floats", best: Candidate, least: int, price: float, outlier_penalty: float) -> Candidate:
    """Steps, with a drift in place of those in one direction where it predicts better.

    Steps that no line replaces are divided at the largest, which is left out, so what is left to try gets shorter.
    """
    import numpy as np

    steps = best[2]
    ends = [0, *(first for first, _ in steps), len(y)]
    rises = np.diff(np.add.reduceat(y, ends[:-1]) / np.diff(ends))
    todo = [list(run) for _, run in itertools.groupby(range(len(steps)), key=lambda place: bool(rises[place] > 0))]
    while todo:
        run = todo.pop()
        if len(run) < 2:
            continue
        others = [one for one in best[2] if one not in {steps[place] for place in run}]
        start = max((last for _, last in others if last <= steps[run[0]][0]), default=0)
        stop = min((first for first, _ in others if first >= steps[run[-1]][0]), default=len(y))
        ramp = _ramp(y[start:stop], least)
        if ramp is not None:
            changes = sorted([*others, (start + ramp[0], start + ramp[1])])
            drifting = (*cost_of(y, changes, price, outlier_penalty), changes)
            if drifting[0] < best[0]:
                best = drifting
                continue
        largest = max(range(len(run)), key=lambda i: abs(rises[run[i]]))
        todo += [run[:largest], run[largest + 1 :]]
    return best


def _ramp(y: "Floats", least: int) -> Change | None:
    """First value off the old level and first at the new one of the best level, straight line, level by least squares."""
    import numpy as np

    n, steepest = len(y), 3 * least
    if n <= 2 * steepest:
        return None
    y = y - y.mean()
    sums, moments = np.cumsum(y), np.cumsum(y * np.arange(n))
    start, stop, spacing = 0, n - 1, n
    while spacing > 1:  # an eighth of it is next, rounded up, which is less
        spacing = -(-spacing // (RAMP_GRID // 2))
        starts, stops, length, spread = _lines(n, start, stop, spacing, steepest)
        product = (moments[stops] - moments[starts] - starts * (sums[stops] - sums[starts])) / length - sums[stops]
        best = int((product * product / spread).argmax())
        start, stop = int(starts[best]), int(stops[best])
    return start + 1, stop


@functools.lru_cache(maxsize=1024)
def _lines(n: int, start: int, stop: int, spacing: int, steepest: int) -> tuple[Any, ...]:
    """Lines that rise from 0 to 1 around two places: their starts, stops, lengths, and sums of squares around their means."""
    import numpy as np

    around = spacing * np.arange(-RAMP_GRID // 2, RAMP_GRID // 2 + 1)
    starts, stops = (ends.ravel() for ends in np.meshgrid(start + around, stop + around))
    allowed = (starts >= 0) & (stops < n) & (stops - starts >= steepest)
    starts, stops = starts[allowed], stops[allowed]
    length = stops - starts
    total = n - 1 - stops + (length + 1) / 2
    squares = n - 1 - stops + (length + 1) * (2 * length + 1) / (6 * length)
    return starts, stops, length, squares - total * total / n


def _alternating(x: "Floats", price: float, dearest: float) -> tuple[list[int], float]:
    """The places where values change between two levels, and the cost of it; nothing where they do not, or it is too dear.

    A level that lasts is a level: they alternate where stretches are TRANSIENT runs on average, and there are FEWEST_TURNS.
    """
    import numpy as np

    n = len(x)
    ordered = np.sort(x)
    sums = np.cumsum(ordered)
    sizes = np.arange(1, n)
    cut = 1 + int((sums[:-1] ** 2 / sizes + (sums[-1] - sums[:-1]) ** 2 / (n - sizes)).argmax())
    if not RAREST <= cut / n <= 1 - RAREST:
        return [], 0.0
    low, high = median_of(ordered[:cut]), median_of(ordered[cut:])
    noise = max(math.sqrt(math.pi / 2) * float(np.abs(x - np.where(x > (low + high) / 2, high, low)).mean()), EXACT)
    if not high - low > APART * noise:
        return [], 0.0
    errors = np.minimum(np.abs(np.array([x - low, x - high])) / noise, CLIP) ** 2

    def cost(turns: int, errors: "Floats") -> float:
        often = turns / n
        said = -2 * n * (often * math.log(often) + (1 - often) * math.log1p(-often))
        return n * math.log(max(noise**2 * float(errors.mean()), EXACT)) + price + said

    most = int(np.count_nonzero(np.diff(errors[0] > errors[1])))  # fares make turns fewer, and errors larger
    if most < FEWEST_TURNS or min(cost(turns, errors.min(axis=0)) for turns in (FEWEST_TURNS, most)) > dearest:
        return [], 0.0
    above = _cheapest_way(errors, math.log(n))
    turns = np.flatnonzero(np.diff(above)) + 1
    if len(turns) < FEWEST_TURNS or n / (len(turns) + 1) > TRANSIENT:
        return [], 0.0
    return turns.tolist(), cost(len(turns), np.where(above, errors[1], errors[0]))


def _cheapest_way(errors: "Floats", fare: float) -> "NDArray[np.intp]":
    """The choice between two rows of errors at each place, where each change of rows costs a fare (Viterbi, 1967)."""
    import numpy as np

    low = high = 0.0
    came = []  # from which row the cheapest way leads to either
    for to_low, to_high in errors.T.tolist():
        came.append((int(high + fare < low), int(low + fare >= high)))
        low, high = min(low, high + fare) + to_low, min(high, low + fare) + to_high
    way = [int(high < low)]
    for sources in reversed(came[1:]):
        way.append(sources[way[-1]])
    return np.array(way[::-1])
