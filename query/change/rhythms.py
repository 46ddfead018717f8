"""Rhythms: what recurs after as many runs again and again, such as a machine that is slower every seventh night.

A rhythm is no change. It is taken out by classical decomposition: the typical deviation of each place in a period from the
moving average over one (Macaulay, The Smoothing of Time Series, 1931), by medians, which no step moves.
"""

import math
from typing import TYPE_CHECKING

from .segments import CLIP, STEADIEST, median_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CYCLES = 4  # times that a rhythm is seen at least
LIKE = 3.0  # standard errors: autocorrelation from which a period is tried


def period_of(residuals: "Floats", n: int) -> int:
    """The period, in values, at which the residuals of a model recur; 0 for none.

    Args:
        residuals: The residuals, those of the increments for a series that wanders.
        n: Values of the series.

    Among the periods at which the residuals correlate with themselves, the one that saves most of n log(sum of squares) is taken,
    if it saves more than its numbers and the choice cost: log n each (Schwarz, Annals of Statistics 6, 1978).
    """
    import numpy as np

    sizes = np.abs(residuals - median_of(residuals))
    most = CLIP * max(1.4826 * median_of(sizes), STEADIEST)
    z = np.clip(residuals - median_of(residuals), -most, most)
    z -= z.mean()
    longest = n // CYCLES
    if longest < 2 or not z.any():
        return 0
    power = np.abs(np.fft.rfft(z, 2 * len(z))) ** 2
    like = np.fft.irfft(power)[: longest + 1]
    best, period = 0.0, 0
    for tried in (2 + np.flatnonzero(like[2:] > LIKE * like[0] / math.sqrt(len(z)))).tolist():
        place = np.arange(len(z)) % tried
        sums = np.bincount(place, z)
        left = float(like[0] - (sums * sums / np.bincount(place)).sum())
        saved = len(z) * math.log(like[0] / max(left, STEADIEST * float(like[0]))) - (tried + 1) * math.log(n)
        if saved > best:
            best, period = saved, tried
    return period


def without_rhythm(x: "Floats", period: int) -> "Floats":
    """The values without what recurs: by ratios, or by differences where some are not positive."""
    import numpy as np

    return x / np.exp(_recurring(np.log(x), period)) if x.min() > 0 else x - _recurring(x, period)


def _recurring(x: "Floats", period: int) -> "Floats":
    """The periodic part of each value; its mean is 0."""
    import numpy as np

    weights = np.full(period, 1.0) if period % 2 else np.repeat([0.5, 1.0, 0.5], [1, period - 1, 1])
    half = len(weights) // 2
    level = np.asarray(np.convolve(x, weights / weights.sum(), "valid"), dtype=np.float64)
    away = x[half : len(x) - half] - level
    place = np.arange(half, len(x) - half) % period
    typical = np.array([median_of(away[place == i]) for i in range(period)])
    return np.asarray((typical - typical.mean())[np.arange(len(x)) % period])
