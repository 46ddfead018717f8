"""Levels of a series: where it is divided into stretches that differ beyond chance.

Circular binary segmentation (Olshen, Venkatraman, Lucito and Wigler, Biostatistics 5, 2004) of values that are cut off at
three times their noise: the stretch that differs most from the rest is looked for, at one end or in the middle, and is kept
when shuffling the values seldom shows one as different; then its parts are searched in the same way. E-divisive
(Matteson and James, JASA 109, 2014) divides likewise, by distances of all pairs of values. One value can count for
no more than three sigma, so no outlier makes a change, however far it lies (as Fearnhead and Rigaill, JASA 114, 2019).
"""

import functools
import itertools
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CLIP = 3.0  # sigmas that one value counts for at most
STEADIEST = 1e-12  # of the largest value: a spread below it is how numbers are written
SURE = 1e-6  # a bound on p below which nothing is shuffled
MOST_SHUFFLES, LEAST_SHUFFLES = 4999, 199
SHUFFLED_VALUES = 50_000  # of all shuffles together: there are more of a short series, where they are cheap
LONG_ENOUGH = 10  # values per level for their autocorrelation to be told
ENOUGH = 5  # shuffles beyond the observed value that end the search: p is no smaller than about 5 / shuffles


@dataclass(frozen=True, slots=True)
class _Test:
    """Tests whether a stretch of the series is divided; each result is computed once."""

    x: "Floats"
    least: int  # values of a level
    shuffles: int
    seed: int
    rho: float = 0.0  # how much each value is like the one before
    known: dict[tuple[int, int], tuple[float, int, int]] = field(default_factory=dict)

    def __call__(self, start: int, stop: int) -> tuple[float, int, int]:
        """The result of `_division` for x[start:stop], with indices that count from the beginning of x."""
        if (start, stop) not in self.known:
            p, first, last = _division(self.x[start:stop], self)
            self.known[start, stop] = p, start + first, start + last
        return self.known[start, stop]


def cuts_of(x: "Floats", *, significance: float, least: int, seed: int) -> dict[int, float]:
    """First values of new levels, in order, with p.

    Shuffling destroys autocorrelation, so the evidence of an autocorrelated series is discounted.
    """
    shuffles = min(MOST_SHUFFLES, max(LEAST_SHUFFLES, SHUFFLED_VALUES // len(x)))
    test = _Test(x, least, shuffles, seed)
    cuts = _tidy(_divide(test, significance), test, significance)
    rho = _autocorrelation(x, list(cuts)) if cuts else 0.0
    return _tidy(cuts, replace(test, rho=rho, known={}), significance) if rho > 0 else cuts


def _divide(test: _Test, significance: float) -> dict[int, float]:
    """Divide while the parts differ significantly; the p of a part is never below that of the whole."""
    found: dict[int, float] = {}
    todo = [(0, len(test.x), 0.0)]
    while todo:
        start, stop, above = todo.pop()
        p, first, last = test(start, stop)
        if (p := max(p, above)) <= significance:
            ends = sorted({start, first, last, stop})
            found |= dict.fromkeys(ends[1:-1], p)
            todo += [(low, high, p) for low, high in itertools.pairwise(ends)]
    return dict(sorted(found.items()))


def _tidy(cuts: dict[int, float], test: _Test, significance: float) -> dict[int, float]:
    """Move each boundary to where it fits the levels on both sides best; drop those that are no longer significant."""
    cuts = _placed(test.x, cuts, test.least)
    while cuts:
        ends = [0, *cuts, len(test.x)]
        doubt = {cut: test(low, high)[0] for low, cut, high in zip(ends, cuts, ends[2:], strict=False)}
        weakest = max(doubt, key=doubt.__getitem__)
        if doubt[weakest] <= significance:
            return _placed(test.x, {cut: max(p, doubt[cut]) for cut, p in cuts.items()}, test.least)
        del cuts[weakest]
    return cuts


def _placed(x: "Floats", cuts: dict[int, float], least: int) -> dict[int, float]:
    """Move each boundary to where the levels on both sides fit best, with deviations clipped at CLIP sigmas."""
    import numpy as np

    noise = noise_of(x)
    ends = [0, *cuts, len(x)]
    for place in range(1, len(ends) - 1):
        low, cut, high = ends[place - 1 : place + 2]
        before, after = (np.abs(x[low:high] - level_of(part, noise)) for part in (x[low:cut], x[cut:high]))
        cost = np.cumsum(np.minimum(before, CLIP * noise) ** 2 - np.minimum(after, CLIP * noise) ** 2)
        ends[place] = low + least + int(cost[least - 1 : len(cost) - least].argmin())
    return dict(zip(ends[1:-1], cuts.values(), strict=True))


def _division(x: "Floats", test: _Test) -> tuple[float, int, int]:
    """The stretch that differs most from the rest, and the probability that a shuffle shows an equal difference.

    Returns:
        p, and the stretch [first, last); it reaches to the end where there is one boundary only.
    """
    import numpy as np

    n = len(x)
    if n < 2 * test.least or np.ptp(x) <= STEADIEST:
        return 1.0, 0, n
    most = CLIP * noise_of(x)
    y = np.clip(x - median_of(x), -most, most)
    y = (y - y.mean()) / y.std()
    (best,), first, last = _scan(y[np.newaxis], test.least)
    best = _discounted(best, n, test.rho, 0.0 if last == n else _penalty(n))
    bound = _bound(y, best, test.least)
    if bound < SURE:
        return bound, first, last
    size = last - first if last < n else first
    return max(_p(y, best, test), 2 / math.comb(n, size)), first, last  # no fewer orders than that look the same


def _bound(y: "Floats", z2: float, least: int) -> float:
    """What p cannot exceed: the inequality of Serfling (Ann. Stat. 2, 1974) for sums of values drawn without replacement.

    Once for every stretch that is looked at, either way.
    """
    n = len(y)
    looked_at = n * (1 + len(_lengths(n, least)))
    return 2 * looked_at * math.exp(-2 * z2 * n / (n + 2) / float(y.max() - y.min()) ** 2)


def _p(y: "Floats", observed: float, test: _Test) -> float:
    """Chance of `observed` or more among shuffles.

    Counted as far as there are ENOUGH of them (Besag and Clifford, Biometrika 78, 1991), beyond that by the exponential tail
    of the largest (Knijnenburg et al., Bioinformatics 25, 2009).
    """
    import numpy as np

    n = len(y)
    null = np.empty(0)
    for orders in _shuffles(n, test.shuffles, test.seed):
        null = np.append(null, _scan(y[orders], test.least)[0])
        beyond = int((null >= observed * (1 - 1e-9)).sum())
        if beyond >= ENOUGH:
            return (1 + beyond) / (1 + len(null))
    tail = np.sort(null)[-max(2 * ENOUGH, len(null) // 20) :]
    mean = float((tail[1:] - tail[0]).mean())
    if mean <= 0 or observed <= tail[0]:
        return (1 + beyond) / (1 + len(null))
    return len(tail) / (1 + len(null)) * math.exp(-(observed - float(tail[0])) / mean)


@functools.lru_cache(maxsize=128)
def _shuffles(n: int, most: int, seed: int) -> list["NDArray[np.int32]"]:
    """Random orders of n values, in three growing lots: most series show within the first that they hold no change."""
    import numpy as np

    rows = np.broadcast_to(np.arange(n, dtype=np.int32), (most, n))
    return np.split(np.random.default_rng([seed, n]).permuted(rows, axis=1), [19, 99])


def _scan(y: "Floats", least: int) -> tuple["Floats", int, int]:
    """The strongest contrast of a stretch with the rest, in each row of y (standardised).

    Returns:
        z² of the best of each row, and of the first row the stretch [first, last). A stretch in the middle has two
        boundaries, so it needs _penalty more.
    """
    import numpy as np

    n = y.shape[1]
    sums = np.zeros((len(y), n + 1))
    np.cumsum(y, axis=1, out=sums[:, 1:])
    sizes = np.arange(least, n - least + 1)
    ends = sums[:, least : n - least + 1] ** 2 * (n / (sizes * (n - sizes)))
    best, first, last = ends.max(axis=1), least + int(ends[0].argmax()), n
    lengths = _lengths(n, least)
    if not lengths:
        return best, first, last
    peaks = np.empty((len(lengths), len(y)))
    for peak, size in zip(peaks, lengths, strict=True):
        np.abs(sums[:, least + size : n - least + 1] - sums[:, least : n - least + 1 - size]).max(axis=1, out=peak)
    sizes = np.array(lengths)
    inner = peaks**2 * (n / (sizes * (n - sizes)))[:, np.newaxis] - _penalty(n)
    if inner[:, 0].max() > best[0]:
        size = lengths[int(inner[:, 0].argmax())]
        shifted = sums[0, least + size : n - least + 1] - sums[0, least : n - least + 1 - size]
        first = least + int(np.abs(shifted).argmax())
        last = first + size
    return np.maximum(best, inner.max(axis=0)), first, last


@functools.cache
def _lengths(n: int, least: int) -> list[int]:
    """Lengths of inner stretches that are tried, each by about a third longer than the one before."""
    lengths = [least]
    while lengths[-1] <= n - 2 * least:
        lengths.append(lengths[-1] + max(1, lengths[-1] // 3))
    return lengths[:-1]


def _penalty(n: int) -> float:
    """What a second boundary must add to z²."""
    return 2 * math.log(n)


def _discounted(z2: float, n: int, rho: float, penalty: float) -> float:
    """z² of n values, each rho like the one before: their means vary (1 + rho) / (1 - rho) times as much."""
    share = min((z2 + penalty) / n, 1 - 1e-12)  # of the variance that the contrast explains
    ratio = share / (1 - share) * (1 - rho) / (1 + rho)
    return ratio / (1 + ratio) * n - penalty


def _autocorrelation(x: "Floats", cuts: list[int]) -> float:
    """Lag-1 autocorrelation within the levels, 0 to 0.9.

    Fitting a mean to each level takes (1 + 3 rho) / n from it (Marriott and Pope, Biometrika 41, 1954), which is put back.
    """
    import numpy as np

    most = CLIP * noise_of(x)
    parts = [np.clip(part - level_of(part, most / CLIP), -most, most) for part in np.split(x, cuts)]
    squares = sum(float(part @ part) for part in parts)
    if squares == 0:
        return 0.0
    rho = sum(float(part[1:] @ part[:-1]) for part in parts) / squares
    share = len(parts) / len(x)
    return min(0.9, max(0.0, rho + (1 + 3 * rho) * share)) if share <= 1 / LONG_ENOUGH else 0.0


def noise_of(x: "Floats") -> float:
    """Sigma of values around their level, from successive differences, of which a step moves but one.

    By their median; where more than half of them are 0, by their mean square.
    """
    import numpy as np

    steps = np.abs(np.diff(x))
    sigma = 1.4826 * median_of(steps) or math.sqrt(float(steps @ steps) / len(steps))
    return max(sigma / math.sqrt(2), STEADIEST)


def median_of(x: "Floats") -> float:
    """np.median costs ten times as much on few values."""
    import numpy as np

    ordered = np.sort(x)
    return float(ordered[(len(x) - 1) // 2] + ordered[len(x) // 2]) / 2


def level_of(x: "Floats", noise: float) -> float:
    """Mean of the values within CLIP sigmas of their median."""
    import numpy as np

    away = np.abs(x - median_of(x))
    return float(x[away <= max(CLIP * noise, away.min())].mean())
