"""Changes of a random walk: each value is the one before plus an increment, so there is no level to step from.

Only its moves can be judged: it drifts where the mean of its increments is surely not 0, and it stepped where it moved at once,
or within a few runs, farther than it does otherwise. Increments have levels and outliers as values have, so both are judged
alike.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .levels import ALIKE, SHORT, ChangePoint, Levels
from .models import SeriesModel
from .segments import clip_outliers, level_of, noise_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FASTER = 2.0  # times: a drift less than so much faster or slower than the one before is the same


def changes_of_walk(model: SeriesModel, significance: float) -> Iterator[ChangePoint]:
    """Its drifts, steps, and excursions, which are two steps that undo each other."""
    levels = Levels(model)
    levels.set_excursions_apart()
    # As with levels of values, the least sure goes first. Each joins two, so this ends when none is left.
    while failing := [change for change in levels.changes() if change.p > significance or _goes_on(change)]:
        levels.drop(max(failing, key=lambda one: (one.p if one.p > significance else 0.0, _alike(one))))
    levels.find_outliers(significance)
    moves = sorted((one for one in levels.excursions() if not _goes_on(one)), key=lambda one: one.index)
    yield from _drifts(model, levels, [one for one in moves if one.p <= significance])
    yield from _moves(model, moves)


def _alike(change: ChangePoint) -> float:
    """The smaller slope in terms of the larger; less than 0 where they differ in direction."""
    small, large = sorted((change.before, change.after), key=abs)
    return small / large if large else 1.0


def _goes_on(change: ChangePoint) -> bool:
    """Return whether it is the same drift after the change of its slope."""
    return _alike(change) > 1 / FASTER


def _drifts(model: SeriesModel, levels: Levels, moves: Sequence[ChangePoint]) -> Iterator[ChangePoint]:
    """The stretches in which it drifts. One that begins with the series may have begun before it.

    A stretch drifts as surely as its mean increment differs from 0, or as its slope changed at its beginning. Its level after
    leaves out the sure moves within it, which are changes of their own.
    """
    walk = model.walk
    assert walk is not None
    clipped, n = clip_outliers(walk), len(levels.x)
    turns = levels.changes()
    ends = [0, *(turn.index for turn in turns), n]
    for place, (start, stop) in enumerate(itertools.pairwise(ends)):
        own = levels.x[levels.places(place)]
        looks = n ** ((start > 0) + (stop < n))
        p = levels.tail(float(own.mean()), levels.share(len(own)), float(own.std(ddof=1)), looks, len(own) - 1)
        if start:
            p = min(p, turns[place - 1].p)
        jumps = sum(walk[one.end + 1] - walk[one.index] for one in moves if start <= one.index and one.end < stop)
        after = float(clipped[stop] - jumps)
        yield ChangePoint("drift", start + 1 if start else 0, stop, float(clipped[start]), after, p)


def _moves(model: SeriesModel, found: Sequence[ChangePoint]) -> Iterator[ChangePoint]:
    """Moves that are farther than others: at once a step, within a few runs a drift, one that is undone an excursion."""
    x, walk = model.x, model.walk
    assert walk is not None
    todo = list(found[::-1])
    while todo:
        one = todo.pop()
        before, first = float(walk[one.index]), one.index + 1
        if todo and todo[-1].end - one.index <= SHORT and _undone(x, one, todo[-1]):
            back = todo.pop()
            own = walk[first : back.end + 1]
            yield ChangePoint("excursion", first, back.end, before, level_of(own, noise_of(walk)), max(one.p, back.p))
        else:
            after = float(walk[one.end + 1])
            yield ChangePoint("step" if one.index == one.end else "drift", first, one.end + 1, before, after, one.p)


def _undone(x: "Floats", there: ChangePoint, back: ChangePoint) -> bool:
    """Return whether two moves together are little, measured by the shorter of both."""
    one, other = (float(x[move.index : move.end + 1].sum()) for move in (there, back))
    return abs(one + other) <= ALIKE * min(abs(one), abs(other))
