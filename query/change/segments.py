"""Levels of a series: the division into stretches of one level each that is best of all, for many series at once.

Optimal partitioning (Jackson et al., IEEE Signal Processing Letters 12, 2005) of values whose noise may be autocorrelated:
within a stretch they vary around one level as an AR(1) process. No value counts for more than three sigma beyond the
median of its neighbours, so that no outlier makes a level (as Fearnhead and Rigaill, JASA 114, 2019).
"""

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RHOS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.95)  # autocorrelations that are tried
CLIP = 3.0  # sigmas that one value counts for at most
NEIGHBOURS = 5  # values whose median a value is compared with; a level of three keeps its place
STEADIEST = 1e-12  # of the largest value: a spread below it is how numbers are written
WIDEST = 1e7  # sigmas between levels up to which squares are exact enough


def clip_outliers(x: "Floats", noise: float | None = None) -> "Floats":
    """Values without outliers: one beyond CLIP sigmas of noise from the median of the NEIGHBOURS around it becomes that median.

    A step stays where it is.
    """
    import numpy as np

    around = np.sort(x[_neighbours(len(x))], axis=1)[:, NEIGHBOURS // 2]
    return np.where(np.abs(x - around) > CLIP * (noise_of(x) if noise is None else noise), around, x)


@functools.lru_cache(maxsize=64)
def _neighbours(n: int) -> "NDArray[np.intp]":
    """The places of the values around each of n."""
    import numpy as np

    first = np.clip(np.arange(n) - NEIGHBOURS // 2, 0, n - NEIGHBOURS)
    return first[:, np.newaxis] + np.arange(NEIGHBOURS)


def innovations(y: "Floats", rhos: Sequence[float]) -> list[float]:
    """Variance of what is new in each value of AR(1) processes, from successive differences, of which a step moves two."""
    import numpy as np

    fresh = y[1:] - np.array(rhos)[:, np.newaxis] * y[:-1]
    steps = np.abs(fresh[:, 1:] - fresh[:, :-1])
    ordered, n = np.sort(steps, axis=1), len(y) - 2
    most = CLIP * 1.4826 * (ordered[:, (n - 1) // 2] + ordered[:, n // 2]) / 2
    most[most == 0] = math.inf
    sums = (np.minimum(steps, most[:, np.newaxis]) ** 2).sum(axis=1)
    return [max(each / n / 2, STEADIEST) for each in sums.tolist()]


def partition(y: Sequence["Floats"], rho: Sequence[float], price: Sequence[float], least: int) -> list[list[int]]:
    """Divide each row of values where that costs least.

    Args:
        y: Rows of values, which may differ in length.
        rho: Of each row, how much a value is like the one before.
        price: Of each row, what a boundary costs: squared deviations that it must save.
        least: Values of a level.

    Returns:
        The first values of new levels, for each row.
    """
    import numpy as np

    if not y:
        return []
    sizes = [len(row) for row in y]
    n = max(sizes)
    values = np.zeros((n, len(y)))  # a column each: what is done to all of a place at once lies together
    for column, given in zip(values.T, y, strict=True):
        column[: len(given)] = given
    like, fee = np.array(rho), np.array(price)
    gain, begin = 1 - like, 1 - like**2
    # The cost of a stretch is that of its first value, begin (y - level)², and of what is new in each later one, all at its best
    # level. Sums from the beginning give it for any stretch at once.
    fresh = np.zeros((n + 1, len(y)))
    fresh[2:] = values[1:] - like * values[:-1]
    sums, squares = np.cumsum(fresh, axis=0) * gain, np.cumsum(fresh**2, axis=0)
    head = begin * values - sums[1:]
    fixed = begin * values**2 - squares[1:]
    weight = 1 / (begin + np.arange(n, 0, -1)[:, np.newaxis] * gain**2)  # of a stretch of so many more values than one
    opened = np.full((n + 1, len(y)), np.inf)  # the least cost of all before a place, with what begins there
    opened[0] = fixed[0]
    came = np.zeros((n + 1, len(y)), dtype=np.intp)
    columns, room = np.arange(len(y)), np.empty((n, len(y)))
    for stop in range(least, n + 1):
        count = stop - least + 1  # places where the last stretch may begin
        level = np.add(head[:count], sums[stop], out=room[:count])
        level *= level
        level *= weight[n - stop + 1 : n - least + 2]
        np.subtract(opened[:count], level, out=level)
        best = came[stop] = level.argmin(axis=0)
        if stop < n:
            opened[stop] = level[best, columns] + squares[stop] + fee + fixed[stop]
    return [_back(came[:, column], size) for column, size in enumerate(sizes)]


def _back(came: "NDArray[np.intp]", stop: int) -> list[int]:
    """The boundaries on the cheapest way to `stop`. Each is before the last, so there is an end."""
    cuts = []
    while stop := int(came[stop]):
        cuts.append(stop)
    return cuts[::-1]


def spread_out(size: int, rho: float) -> float:
    """The variance of the mean of `size` AR(1) values, relative to that of independent ones."""
    if rho == 0 or size <= 1:
        return 1.0
    return (1 + rho) / (1 - rho) - 2 * rho * (1 - math.pow(rho, size)) / (size * (1 - rho) ** 2)


def noise_of(x: "Floats") -> float:
    """Sigma of values around their level, from successive differences, of which a step moves but one.

    By their median; where more than half of them are 0, by their mean square.
    """
    import numpy as np

    steps = np.abs(x[1:] - x[:-1])
    sigma = 1.4826 * median_of(steps) or math.sqrt(float(steps @ steps) / len(steps))
    return max(sigma / math.sqrt(2), STEADIEST)


def median_of(x: "Floats") -> float:
    """np.median costs ten times as much on few values."""
    ordered = x.copy()
    ordered.sort()
    return float(ordered[(len(x) - 1) // 2] + ordered[len(x) // 2]) / 2


def level_of(x: "Floats", noise: float) -> float:
    """Mean of the values within CLIP sigmas of their median."""
    import numpy as np

    away = np.abs(x - median_of(x))
    near = x[away <= max(CLIP * noise, away.min())]
    return float(near.sum()) / len(near)
