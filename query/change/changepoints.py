"""Where a series changed: steps, drifts, excursions from a level, and series that alternate between two levels."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .choice import describe
from .descriptions import Description
from .levels import MIN_SEGMENT, SURE, ChangePoint, Levels
from .segments import STEADIEST, level_of, noise_of
from .walks import changes_of_walk

SIGNIFICANCE = 0.02  # chance that a series without any change shows one
LEAST_RUNS = 9  # values that are judged: three levels of three


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

    `significance` is the largest that changes will be asked for; `progress` takes the number of series done.
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
    if description.walked is not None:
        found = list(changes_of_walk(description, significance))
    elif description.turns:
        found = [_two_levels(description)]
    else:
        levels = Levels(description)
        levels.set_excursions_apart()
        # The least sure goes first, of the sure ones the smallest. Each joins two levels, so this ends when none is left.
        while failing := [change for change in levels.changes() if not change.counts(significance, min_magnitude)]:
            levels.drop(
                max(failing, key=lambda one: (one.p if one.p > significance else 0.0, -abs(one.magnitude or 0.0)))
            )
        lasting = levels.changes()
        levels.find_outliers(significance)
        found = [*lasting, *levels.excursions()]
        if description.slope:
            found = [*levels.tilt(), *(_tilted(change, description) for change in found)]
    counted = [change for change in found if change.counts(significance, min_magnitude)]
    return sorted(counted, key=lambda change: (change.index, change.end))


def _tilted(change: ChangePoint, description: Description) -> ChangePoint:
    """A change of a series that drifts all along, between the levels at its place."""
    on = description.slope * (change.index - (len(description.x) - 1) / 2)
    if description.proportional:
        return replace(change, before=change.before * math.exp(on), after=change.after * math.exp(on))
    return replace(change, before=change.before + on, after=change.after + on)


def _two_levels(description: Description) -> ChangePoint:
    """That a series alternates. No series saves more than c by a description by chance more often than exp(-c / 2)."""
    import numpy as np

    x, turns = description.x, description.turns
    parts = np.split(x, turns)
    one, other = np.concatenate(parts[::2]), np.concatenate(parts[1::2])
    low, high = sorted(description.value(level_of(part, noise_of(part))) for part in (one, other))
    p = max(SURE, math.exp(-description.saved / 2))
    return ChangePoint("two levels", turns[0], turns[-1], low, high, p, len(turns))
