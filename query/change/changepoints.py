"""Where a series changed: steps, drifts, excursions from a level, and series that alternate between two levels."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .choice import fit
from .levels import MIN_SEGMENT, SURE, ChangePoint, Levels
from .models import SeriesModel
from .segments import STEADIEST, level_of, noise_of
from .walks import changes_of_walk

SIGNIFICANCE = 0.02  # chance that a series without any change shows one
LEAST_RUNS = 9  # values that are judged: three levels of three


@dataclass(frozen=True, slots=True)
class FittedSeries:
    """A series and its model, which gives its changes at any significance."""

    places: Sequence[int]  # where among the values given the numbers are
    exponent: int  # of the power of two by which they were divided
    model: SeriesModel | None  # None of a series too short to judge

    def changes(self, significance: float = SIGNIFICANCE, min_magnitude: float = 0.0) -> list[ChangePoint]:
        """The changes in time order: those whose p is no more than `significance`, and of this fraction of the level before."""
        if self.model is None:
            return []
        return [
            replace(
                change, index=self.places[change.index], end=self.places[change.end],
                before=math.ldexp(change.before, self.exponent), after=math.ldexp(change.after, self.exponent),
            )
            for change in _judge(self.model, significance, min_magnitude)
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
    (fitted_series,) = examine([values], significance=significance)
    return fitted_series.changes(significance, min_magnitude)


def examine(
    series: Sequence[Sequence[float | None]], *, significance: float = SIGNIFICANCE,
    progress: Callable[[int], None] | None = None,
) -> list[FittedSeries]:  # fmt: skip
    """Describe many series, which costs far less at once than one by one.

    `significance` is the largest that changes will be asked for; `progress` takes the number of series done.
    """
    import numpy as np

    known = []
    for values in series:
        given = np.array(values, dtype=np.float64)  # None becomes NaN
        places = np.flatnonzero(np.isfinite(given))
        exponent = int(np.frexp(np.abs(given[places]).max(initial=0.0))[1])
        x = np.ldexp(given[places], -exponent)  # nothing is rounded, and squares cannot overflow
        known.append((places, exponent, x))
    long = [i for i, (*_, x) in enumerate(known) if len(x) >= LEAST_RUNS and np.ptp(x) > STEADIEST]
    long.sort(key=lambda i: len(known[i][2]))
    fitted_series = [FittedSeries((), 0, None)] * len(series)
    candidates = fit([known[i][2] for i in long], significance, MIN_SEGMENT)
    for done, (i, model) in enumerate(zip(long, candidates, strict=True), start=len(series) - len(long) + 1):
        fitted_series[i] = FittedSeries(known[i][0].tolist(), known[i][1], model)
        if progress:
            progress(done)
    return fitted_series


def _judge(model: SeriesModel, significance: float, min_magnitude: float) -> list[ChangePoint]:
    """The changes of a model that are sure and large enough."""
    if model.walk is not None:
        found = list(changes_of_walk(model, significance))
    elif model.turns:
        found = [_two_levels(model)]
    else:
        levels = Levels(model)
        levels.set_excursions_apart()
        # The least sure goes first, of the sure ones the smallest. Each joins two levels, so this ends when none is left.
        lasting = levels.changes()
        while failing := [change for change in lasting if not change.counts(significance, min_magnitude)]:
            levels.drop(
                max(failing, key=lambda one: (one.p if one.p > significance else 0.0, -abs(one.magnitude or 0.0)))
            )
            lasting = levels.changes()
        levels.find_outliers(significance)
        found = [*lasting, *levels.excursions()]
        if model.slope:
            found = [*levels.tilt(), *(_tilted(change, model) for change in found)]
    counted = [change for change in found if change.counts(significance, min_magnitude)]
    return sorted(counted, key=lambda change: (change.index, change.end))


def _tilted(change: ChangePoint, model: SeriesModel) -> ChangePoint:
    """A change of a series that drifts all along, between the levels at its place."""
    on = model.slope * (change.index - (len(model.x) - 1) / 2)
    if model.proportional:
        return replace(change, before=change.before * math.exp(on), after=change.after * math.exp(on))
    return replace(change, before=change.before + on, after=change.after + on)


def _two_levels(model: SeriesModel) -> ChangePoint:
    """That a series alternates. No series saves more than c by a model by chance more often than exp(-c / 2)."""
    import numpy as np

    x, turns = model.x, model.turns
    parts = np.split(x, turns)
    one, other = np.concatenate(parts[::2]), np.concatenate(parts[1::2])
    low, high = sorted(model.value(level_of(part, noise_of(part))) for part in (one, other))
    p = max(SURE, math.exp(-model.saved / 2))
    return ChangePoint("two levels", turns[0], turns[-1], low, high, p, len(turns))
