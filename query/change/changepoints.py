"""The changes of a series: steps, drifts, excursions from a level, and series that alternate between two levels."""

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..shared_work import share_out
from .choice import fit
from .levels import MIN_SEGMENT, SURE, ChangePoint, Levels
from .models import SeriesModel
from .segments import STEADIEST, level_of, noise_of
from .settled import COMPARED, YOUNG, Searches, is_alike, mark_of
from .walks import changes_of_walk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SIGNIFICANCE = 0.02  # chance that a series without any change shows one
LEAST_RUNS = 9  # values that are judged: three levels of three
VALUES_OF_A_PROCESS = (
    60_000  # from which a share of the search takes longer than the start of its process, a third of a second
)


@dataclass(slots=True)
class FittedSeries:
    """A series and what was found in it, at any significance."""

    places: "NDArray[np.intp]"  # where among the values given the numbers are
    exponent: int  # of the power of two by which they were divided
    x: "Floats"  # the numbers that were searched; none of a series too short to judge
    found: Sequence[ChangePoint] | None = None  # at SIGNIFICANCE, in places and units of x
    model: SeriesModel | None = None  # None where all was known

    def changes(
        self, significance: float = SIGNIFICANCE, min_magnitude: float = 0.0, searches: Searches | None = None
    ) -> list[ChangePoint]:
        """The changes in time order: those whose p is no more than `significance`, and of this fraction of the level before."""
        return [
            replace(
                change, index=int(self.places[change.index]), end=int(self.places[change.end]),
                before=math.ldexp(change.before, self.exponent), after=math.ldexp(change.after, self.exponent),
            )
            for change in self._judged(significance, min_magnitude, searches)
        ]  # fmt: skip

    def _judged(self, significance: float, min_magnitude: float, searches: Searches | None) -> Sequence[ChangePoint]:
        """The changes in places and units of x. Where all count, they are those that were found: none of them is dropped."""
        known = self.found or ()
        strict = significance <= SIGNIFICANCE
        if not len(self.x) or (strict and all(one.counts(significance, min_magnitude) for one in known)):
            return known
        asked = (self.x, self.exponent, significance, min_magnitude)
        found = None if searches is None else searches.known(*asked)
        if found is None:
            if self.model is None:
                (self.model,) = fit([self.x], max(significance, SIGNIFICANCE), MIN_SEGMENT)
            found = _judge(self.model, significance, min_magnitude)
            if searches is not None:
                searches.keep(*asked, found)
        return found


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
    series: "Sequence[Sequence[float | None] | Floats]", *, significance: float = SIGNIFICANCE,
    progress: Callable[[int], None] | None = None, searches: Searches | None = None,
) -> list[FittedSeries]:  # fmt: skip
    """Search many series, which costs far less at once than one by one.

    A long series is searched up to a mark where what follows is as before (`settled`).

    Args:
        series: In time order; None, NaN and infinities are gaps.
        significance: The largest that changes will be asked for.
        progress: Called with the number of series done.
        searches: What is known of earlier searches.
    """
    import numpy as np

    fitted_series = []
    todo: list[FittedSeries] = []
    for values in series:
        given = np.array(values, dtype=np.float64)  # None becomes NaN
        places = np.flatnonzero(np.isfinite(given))
        exponent = int(np.frexp(np.abs(given[places]).max(initial=0.0))[1])
        x = np.ldexp(given[places], -exponent)  # nothing is rounded, and squares cannot overflow
        one = FittedSeries(places, exponent, x[:0], ())
        fitted_series.append(one)
        if len(x) >= LEAST_RUNS and _varies(x):
            one.x, one.found = x, None
            todo.append(one)
    whole = [one.x for one in todo]
    _cut(todo, significance)
    for done, _ in enumerate(_search(todo, significance, searches), start=len(series) - len(todo) + 1):
        if progress:
            progress(done)
    again = _differing_since_last(todo, whole, significance)
    for _ in _search(again, significance, searches):
        pass
    return fitted_series


def _cut(series: Sequence[FittedSeries], significance: float) -> None:
    """Leave of a series its values up to the mark where what follows is as before."""
    marked = [(one, mark) for one in series if (mark := mark_of(one.x)) < len(one.x)]
    differ = _differ([(one.x, mark, max(0, mark - COMPARED)) for one, mark in marked], significance)
    for (one, mark), differs in zip(marked, differ, strict=True):
        if not differs:
            one.x = one.x[:mark]


def _differing_since_last(
    series: Sequence[FittedSeries], whole: Sequence["Floats"], significance: float
) -> list[FittedSeries]:
    """The series whose values behind the mark are not as those since the last change, if this is near; with all their values."""
    near = []
    for one, x in zip(series, whole, strict=True):
        last = max((change.end for change in one.found or ()), default=0)
        if len(one.x) < len(x) and last > len(one.x) - COMPARED:
            near.append((one, x, last))
    differ = _differ([(x, len(one.x), last) for one, x, last in near], significance)
    again = [(one, x) for (one, x, _), differs in zip(near, differ, strict=True) if differs]
    for one, x in again:
        one.x, one.found, one.model = x, None, None
    return [one for one, _ in again]


def _differ(asked: Sequence[tuple["Floats", int, int]], significance: float) -> list[bool]:
    """Tell of each series, by its mark and the place that it is compared from, whether anything changed behind the mark.

    Nothing did where no values there differ from those before. Where some do, as of many series some do by chance, a search of
    these few values tells: it takes a tenth of a search of all.
    """
    differ = [not is_alike(x, mark, since) for x, mark, since in asked]
    parts = {i: asked[i][0][asked[i][2] :] for i, differs in enumerate(differ) if differs}
    doubtful = [i for i, part in parts.items() if asked[i][1] - asked[i][2] >= YOUNG and _varies(part)]
    doubtful.sort(key=lambda i: len(parts[i]))
    for i, model in zip(doubtful, fit([parts[i] for i in doubtful], significance, MIN_SEGMENT), strict=True):
        _, mark, since = asked[i]
        differ[i] = any(change.end >= mark - YOUNG - since for change in _judge(model, SIGNIFICANCE, 0.0))
    return differ


def _varies(x: "Floats") -> bool:
    """Return whether values differ by more than how numbers are written."""
    import numpy as np

    return bool(np.ptp(x) > STEADIEST)


def _search(series: Sequence[FittedSeries], significance: float, searches: Searches | None) -> Iterator[FittedSeries]:
    """Find the changes of each that are not known."""
    todo = []
    for one in series:
        one.found = None if searches is None else searches.known(one.x, one.exponent, SIGNIFICANCE, 0.0)
        if one.found is None:
            todo.append(one)
        else:
            yield one
    todo.sort(key=lambda one: len(one.x))
    search = functools.partial(_fit_and_judge, significance=significance)
    shares = sum(len(one.x) for one in todo) // VALUES_OF_A_PROCESS
    for place, (model, found) in share_out(search, [one.x for one in todo], shares):
        one = todo[place]
        one.model, one.found = model, found
        if searches is not None:
            searches.keep(one.x, one.exponent, SIGNIFICANCE, 0.0, found)
        yield one


def _fit_and_judge(series: Sequence["Floats"], significance: float) -> Iterator[tuple[SeriesModel, list[ChangePoint]]]:
    """The model of each series, and its changes at SIGNIFICANCE; the shortest series come first."""
    for model in fit(series, significance, MIN_SEGMENT):
        yield model, _judge(model, SIGNIFICANCE, 0.0)


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
    """The finding that a series alternates. No series saves more than c by a model by chance more often than exp(-c / 2)."""
    import numpy as np

    x, turns = model.x, model.turns
    parts = np.split(x, turns)
    one, other = np.concatenate(parts[::2]), np.concatenate(parts[1::2])
    low, high = sorted(model.value(level_of(part, noise_of(part))) for part in (one, other))
    p = max(SURE, math.exp(-model.saved / 2))
    return ChangePoint("two levels", turns[0], turns[-1], low, high, p, len(turns))
