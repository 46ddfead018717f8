"""Student's t without scipy, whose import takes 0.36 s."""

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist

_NORMAL = NormalDist()


def t_quantile(p: float, degrees: float) -> float:
    """The value that Student's t exceeds with probability p below a half, within 0.1 %; below two degrees of freedom that of one.

    Hill, Algorithm 396, Communications of the ACM 13, 1970; of one and two degrees of freedom it is exact. SQL has `_t_quantile`.
    """
    if degrees == math.inf:
        return -_NORMAL.inv_cdf(p)
    if degrees < 2:
        return 1 / math.tan(math.pi * p)
    if degrees == 2:
        return (1 - 2 * p) / math.sqrt(2 * p * (1 - p))
    a = 1 / (degrees - 0.5)
    b = (48 / a) / a
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * degrees
    y = (d * 2 * p) ** (2 / degrees)
    if y > 0.05 + a:
        x = _NORMAL.inv_cdf(p)
        y = x * x
        if degrees < 5:
            c += 0.3 * (degrees - 4.5) * (x + 0.6)
        c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c
        y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
        y = math.expm1(a * y * y)
    else:
        y = (
            (1 / (((degrees + 6) / (degrees * y) - 0.089 * d - 0.822) * (degrees + 2) * 3) + 0.5 / (degrees + 4)) * y
            - 1
        ) * (degrees + 1) / (degrees + 2) + 1 / y
    return math.sqrt(degrees * y)


def summed_error(errors: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """The error of a sum of independent terms and its degrees of freedom, of theirs; each error is half of a 95 % interval.

    What is exact, or not known at all (NaN), has no degrees of freedom of its own.
    """
    own = [(error / t_quantile(0.025, degrees), degrees) for error, degrees in errors]
    unit = max((error for error, _ in own), default=0.0) or 1.0  # squares of larger ones might not be finite
    total, degrees = summed_variance([((error / unit) * (error / unit), degrees) for error, degrees in own])
    return t_quantile(0.025, degrees) * math.sqrt(total) * unit, degrees


def summed_variance(variances: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The variance of a sum of independent terms and its degrees of freedom, of theirs; infinitely many where all are exact.

    Satterthwaite, An Approximate Distribution of Estimates of Variance Components, Biometrics 2, 1946; of two means it is
    Welch's test.
    """
    total = math.fsum(variance for variance, _ in variances)
    spread = math.fsum(variance * variance / degrees for variance, degrees in variances)
    return total, total * total / spread if spread > 0 else math.inf
