"""Settled: a search that remembers the last one says what a search from nothing says, and little else than one of all values."""

import json
from typing import Any

import numpy as np
import pytest
from bench.query.change import changepoints, settled
from bench.query.change.changepoints import change_points, examine
from bench.query.change.levels import ChangePoint
from bench.query.change.settled import LONG, SPACING, YOUNG, Searches, is_alike, mark_of

NIGHTS = 3


def series(count: int, seed: int = 0) -> list[np.ndarray]:
    """Series of noise, each third with a step long ago, each with one in the newest values."""
    rng = np.random.default_rng(seed)
    values = 100 + rng.standard_normal((count, LONG + 4 * SPACING))
    values[::3, 300:] += 5
    values[1::3, LONG + 20 :] += 4
    return list(values)


def test_a_search_that_remembers_equals_one_from_nothing() -> None:
    """Night by night, through a file; where something is remembered most series are not searched again."""
    given, before = series(12), Searches()
    for n in range(LONG + 2 * SPACING, LONG + 2 * SPACING + NIGHTS):
        now = [values[:n].tolist() for values in given]
        remembered = Searches(json.loads(json.dumps(before.kept)))
        found = examine(now, searches=remembered)

        assert [one.changes() for one in found] == [one.changes() for one in examine(now)]
        if before.kept:
            assert sum(one.model is None for one in found) >= 8
        before = remembered


def test_the_same_values_are_not_searched_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither those up to the mark nor, where the values behind it differ from those since the last change, all of them."""
    values = 100 + np.random.default_rng(2).standard_normal(LONG + 2 * SPACING)
    mark = mark_of(values)
    values[mark - 150 :] += 6
    values[mark + 2 :] += 2
    searched: list[int] = []
    search = changepoints._fit_and_judge

    def count(items: Any, **rules: Any) -> Any:
        searched.extend(map(len, items))
        return search(items, **rules)

    monkeypatch.setattr(changepoints, "_fit_and_judge", count)
    before = Searches()
    for _ in range(2):
        examine([values], searches=before)
        before = Searches(before.kept)

    assert searched == [mark, len(values)]


def test_new_values_that_differ_are_searched_with_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of four sigma is found as soon as by a search of all, and with its numbers."""
    rng = np.random.default_rng(1)
    for height in (4.0, -6.0):
        values = 100 + rng.standard_normal(LONG + 3 * SPACING)
        values[-6:] += height
        found = change_points(values.tolist())
        with monkeypatch.context() as whole:
            whole.setattr(settled, "LONG", 10**9)
            assert found == change_points(values.tolist()) != []


def test_the_newest_levels_differ_little_from_those_of_a_search_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same steps at the same runs; a level within a fifth of the noise, for a few values of hundreds are left out."""
    given = [values.tolist() for values in series(9, seed=3)]
    settled_changes = [one.changes() for one in examine(given)]
    monkeypatch.setattr(settled, "LONG", 10**9)
    for some, all_ in zip(settled_changes, (one.changes() for one in examine(given)), strict=True):
        assert [(one.kind, one.index) for one in some] == [(one.kind, one.index) for one in all_]
        assert [one.after for one in some] == pytest.approx([one.after for one in all_], abs=0.2)


def test_a_mark_moves_with_the_nights_and_not_with_the_unit() -> None:
    """It stands for SPACING nights, at other nights for other series, and depends on no factor of two."""
    values = np.full(LONG + 3 * SPACING, 100.0)
    marks = [mark_of(values[:n]) for n in range(LONG + SPACING, len(values))]

    assert all(0 <= n - mark < SPACING for n, mark in zip(range(LONG + SPACING, len(values)), marks, strict=True))
    assert len(set(marks)) <= 3
    assert mark_of(values) == mark_of(values / 1024)
    assert mark_of(values[: LONG - 1]) == LONG - 1
    assert len({mark_of(np.concatenate([[first], values])) for first in range(90, 110)}) > 5


def test_alike_is_what_no_window_contradicts() -> None:
    """One value far off, a few a little off, or too few to compare with: they differ."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal(600)
    far, shifted = x.copy(), x.copy()
    far[590] = 6.0
    shifted[580:595] += 2.0

    assert is_alike(x, 570, 0)
    assert not is_alike(far, 570, 0)
    assert not is_alike(shifted, 570, 0)
    assert not is_alike(x, 570, 570 - YOUNG + 1)


def test_a_search_is_known_of_its_own_exponent() -> None:
    """The same values on another scale are searched again."""
    x, change = np.arange(9.0), ChangePoint("step", 3, 3, 1.0, 2.0, 0.001)
    kept = Searches()
    kept.keep(x, 0, 0.02, 0.0, [change])
    ((key, found),) = kept.kept.items()

    assert Searches({key: found}).known(x, 0, 0.02, 0.0) == [change]
    assert Searches({key: found}).known(x, 1, 0.02, 0.0) is None


def test_values_that_differ_by_chance_do_not_cost_a_search_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many quiet series some have a few values off; a search of the newest finds nothing there, so the mark stands."""
    searched: list[int] = []
    monkeypatch.setattr(settled, "DIFFERS", 2.5)
    settled._reach.cache_clear()
    monkeypatch.setattr(Searches, "known", lambda self, x, *_: searched.append(len(x)))
    values = list(100 + np.random.default_rng(5).standard_normal((12, LONG + 3 * SPACING)))
    doubtful = sum(not is_alike(x, mark_of(x), 0) for x in values)
    examine(values, searches=Searches())
    settled._reach.cache_clear()

    assert doubtful >= 4
    assert sum(length == LONG + 3 * SPACING for length in searched) <= 1
