"""The model of a series: of its values, of their logarithms, or of their increments.

Of values where there is a level, of logarithms where noise grows with it, of increments where the series wanders: where each
value is the last one and what is new. What recurs again and again, a rhythm, is taken out first, and a slope that goes on over
all steps after that, each where this lowers the cost of the rest by more than it costs itself.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .models import ScaledSeries, SeriesModel, cost_of, divide, fitted, price_of
from .rhythms import period_of, without_rhythm
from .segments import clip_outliers, median_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BATCH = 20_000  # values that are divided at once
GROWTH = 1.1  # times: levels no farther apart have the same noise
TILTS = 2  # times that a slope is estimated, each time within the steps that the last one left


def fit(series: Sequence["Floats"], significance: float, least: int) -> Iterator[SeriesModel]:
    """Describe each series.

    Args:
        series: Finite values in time order, at least 2 × `least` and 5 of each; the shortest series first.
        significance: Chance that a series of noise is divided.
        least: Values of a level.
    """
    todo = list(series[::-1])
    while todo:
        taken = [todo.pop()]  # so that every turn leaves fewer
        while todo and (len(taken) + 1) * len(todo[-1]) <= BATCH:
            taken.append(todo.pop())
        yield from _fit_batch(taken, significance, least)


def _fit_batch(series: Sequence["Floats"], significance: float, least: int) -> Iterator[SeriesModel]:
    """The best model of each series, with a rhythm where it has one."""
    plain = _cheapest(series, significance, least)
    periods = {
        i: period
        for i, (one, _) in enumerate(plain)
        if not one.turns and (period := period_of(one.residuals(), len(series[i])))
    }
    adjusted = [without_rhythm(series[i], period) for i, period in periods.items()]
    for (i, period), (one, cost) in zip(periods.items(), _cheapest(adjusted, significance, least), strict=True):
        if cost + (period - 1) * math.log(len(series[i])) < plain[i][1]:
            plain[i] = one, cost
    yield from _with_slopes(plain, significance, least)


def _with_slopes(plain: Sequence[tuple[SeriesModel, float]], significance: float, least: int) -> Iterator[SeriesModel]:
    """Each model, or steps from a level that drifts all along where these are cheaper than steps alone.

    A series most of whose values equal the one before does not drift.
    """
    import numpy as np

    best = list(plain)
    tilted = {
        i: one
        for i, (one, _) in enumerate(plain)
        if len(one.changes) >= 2 and one.walk is None and median_of(np.abs(np.diff(one.x))) > 0
    }
    slopes = dict.fromkeys(tilted, 0.0)
    for _ in range(TILTS):
        flat = []
        for i, one in tilted.items():
            slopes[i] += _slope(one)
            x = plain[i][0].x
            flat.append(ScaledSeries.of(x - slopes[i] * (np.arange(len(x)) - (len(x) - 1) / 2)))
        divided = dict(zip(tilted, divide(flat, significance, least), strict=True))
        tilted = {i: one for i, (one, _) in divided.items() if one.changes}
        for i, one in tilted.items():
            known, cost = plain[i][0], divided[i][1] + price_of(len(one.x), significance)
            cost += 2 * float(known.clipped.sum()) if known.proportional else 0.0
            if cost < best[i][1]:
                best[i] = replace(one, slope=slopes[i], proportional=known.proportional), cost
    yield from (one for one, _ in best)


def _slope(one: SeriesModel) -> float:
    """The slope of all stretches between changes together, by least squares."""
    import numpy as np

    products = squares = 0.0
    for part in np.split(one.clipped, [place for change in one.changes for place in change]):
        away = np.arange(len(part)) - (len(part) - 1) / 2
        products += float(away @ part)
        squares += float(away @ away)
    return products / squares


def _cheapest(series: Sequence["Floats"], significance: float, least: int) -> list[tuple[SeriesModel, float]]:
    """The best model of each series: of its values, their logarithms, or the increments of either; with its cost."""
    import numpy as np

    best = divide([ScaledSeries.of(x) for x in series], significance, least)
    grow = [i for i, (one, _) in enumerate(best) if _moves_far(one)]
    logarithms = divide([ScaledSeries.of(np.log(series[i])) for i in grow], significance, least)
    for i, (one, cost) in zip(grow, logarithms, strict=True):
        cost += 2 * float(np.log(best[i][0].clipped).sum())  # as densities of the same values
        if cost < best[i][1]:
            best[i] = replace(one, proportional=True), cost
    walks = [walk for i, x in enumerate(series) for walk in _walks(i, x, best[i][1], significance)]
    candidates = divide([increments for _, _, increments in walks], significance, least, walks=True)
    for (i, density, _), (one, cost) in zip(walks, candidates, strict=True):
        cost = cost * len(series[i]) / len(one.x) + density
        if cost < best[i][1]:
            best[i] = replace(one, walk=series[i]), cost
    return best


def _moves_far(one: SeriesModel) -> bool:
    """Return whether there are levels so far apart that it matters whether noise grows with them."""
    levels = fitted(one.clipped, one.changes)
    return bool(one.changes and one.x.min() > 0 and levels.max() > GROWTH * levels.min())


def _walks(i: int, x: "Floats", cost: float, significance: float) -> Iterator[tuple[int, float, "ScaledSeries"]]:
    """The increments of a series and of its logarithms whose model may cost less; with what a density needs."""
    import numpy as np

    clipped = clip_outliers(x)
    trials = [(x, 0.0)]
    if x.min() > 0 and clipped.max() > GROWTH * clipped.min():
        trials.append((np.log(x), 2 * float(np.log(clipped).sum())))
    for values, density in trials:
        increments = ScaledSeries.of(np.diff(values))
        price = price_of(len(increments.y), significance)
        own_cost, _ = cost_of(increments.y, (), price, increments.outlier_penalty)
        if (own_cost + increments.scale) * len(x) / len(increments.y) + density < cost + price:
            yield i, density, increments
