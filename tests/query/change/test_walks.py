"""Series that wander, that drift all along, or that have a rhythm: what is said of them, and what is not."""

from collections import Counter

import numpy as np
import pytest
from bench.query.change.changepoints import change_points
from bench.query.change.rhythms import period_of, without_rhythm
from numpy.typing import NDArray

from ...exhaustive import exhaustive

Floats = NDArray[np.float64]
PLACE = np.arange(100)


def walk(rng: np.random.Generator, n: int = 100) -> Floats:
    """Each value is the last one and 1 % of it, up or down."""
    return np.asarray(100 * np.exp(np.cumsum(0.01 * rng.standard_normal(n))))


def told(values: Floats) -> list[tuple[str, int, int]]:
    """Kind, first and last value of each change of 1 % or more."""
    return [(one.kind, one.index, one.end) for one in change_points(values.tolist(), min_magnitude=0.01)]


# Series that wander


def test_where_a_walk_happens_to_go_is_no_change() -> None:
    """At most 8 of 100 walks show any."""
    rng = np.random.default_rng(1)

    assert sum(bool(told(walk(rng))) for _ in range(100)) <= 8


def test_a_jump_of_a_walk_is_a_step() -> None:
    """One of 15 % where the other increments are 1 %: on its run, from the value before to that after, and nothing else."""
    rng = np.random.default_rng(2)
    series = [walk(rng) * np.where(PLACE < 60, 1, 1.15) for _ in range(100)]

    assert sum(told(values) == [("step", 60, 60)] for values in series) >= 92
    (step,) = change_points(series[0].tolist())
    assert (step.before, step.after) == pytest.approx((series[0][59], series[0][60]))


@exhaustive
@pytest.mark.parametrize("runs", [1, 2, 5])
def test_a_jump_that_is_undone_is_an_excursion(runs: int) -> None:
    """With its first and last run."""
    rng = np.random.default_rng(runs)
    hole = np.isin(PLACE, range(60, 60 + runs))
    found = [told(walk(rng) * np.where(hole, 0.8, 1)) for _ in range(50)]

    assert sum(("excursion", 60, 59 + runs) in changes for changes in found) >= 45


def test_a_walk_that_drifts_does_so_since_the_first_run() -> None:
    """A trend over all of a series is one statement, and no run of it is where it began."""
    rng = np.random.default_rng(3)
    found = [told(walk(rng) * 1.005**PLACE) for _ in range(50)]

    assert sum(changes == [("drift", 0, 99)] for changes in found) >= 44


@exhaustive
def test_a_drift_that_turns_is_a_drift_since_then() -> None:
    """Up by 2 % a run, then down by 2 %: two rows, of which the second begins where the slope changes."""
    rng = np.random.default_rng(4)
    slope = np.where(PLACE < 60, 0.02, -0.02)
    found = [told(np.exp(np.cumsum(slope + 0.01 * rng.standard_normal(100)))) for _ in range(50)]
    turns = [changes[1][1] for changes in found if [kind for kind, *_ in changes] == ["drift", "drift"]]

    assert len(turns) >= 44
    assert turns == pytest.approx([60] * len(turns), abs=4)


def test_a_drift_that_goes_on_a_little_faster_is_one() -> None:
    """Less than twice as fast, although that it is faster is sure."""
    slope = np.where(PLACE < 60, 0.02, 0.03)
    values = np.exp(np.cumsum(slope + 0.001 * np.random.default_rng(5).standard_normal(100)))

    assert told(values) == [("drift", 0, 99)]


@exhaustive
def test_what_leaps_again_and_again_and_wears_off_has_no_steps() -> None:
    """As an account into which a salary is paid every 28 to 32 days, or a cache that is emptied about once a month."""
    rng = np.random.default_rng(6)
    found: Counter[str] = Counter()
    for _ in range(20):
        increments = -0.03 * rng.exponential(1, 400) * (rng.random(400) < 0.5)
        increments[np.cumsum(rng.integers(28, 33, 12))] += 1 + 0.05 * rng.standard_normal(12)
        found.update(kind for kind, *_ in told(8 + np.cumsum(increments - increments.mean())))

    assert found["step"] <= 1


# Series that drift all along


def test_a_step_of_what_drifts_all_along_is_one_step_and_one_drift() -> None:
    """A level that rises by 8 sigma in all and by 8 at once is no staircase of three steps."""
    rng = np.random.default_rng(7)
    series = [100 + 0.08 * PLACE + 8 * (PLACE >= 60) + rng.standard_normal(100) for _ in range(50)]
    found = [told(values) for values in series]

    assert sum(changes == [("drift", 0, 99), ("step", 60, 60)] for changes in found) >= 38
    drift, step = change_points(series[0].tolist())
    assert drift.after - drift.before == pytest.approx(8, abs=2)
    assert (step.before, step.after) == pytest.approx((104.8, 112.8), abs=1)


# Rhythms


def weekly(rng: np.random.Generator, n: int = 100) -> Floats:
    """Every seventh run is 10 % slower, with a noise of 1 %."""
    return np.asarray(100 * np.where(np.arange(n) % 7 == 3, 1.1, 1) * (1 + 0.01 * rng.standard_normal(n)))


def test_a_rhythm_is_found_and_noise_has_none() -> None:
    """Seven; of 300 series of noise at most three have one."""
    rng = np.random.default_rng(8)

    assert [period_of(weekly(rng) - 100, 100) for _ in range(20)] == [7] * 20
    assert sum(bool(period_of(rng.standard_normal(100), 100)) for _ in range(300)) <= 3


def test_a_rhythm_is_no_change_and_hides_none() -> None:
    """Neither its slow runs are, nor is a step of 5 % beneath it missed or moved."""
    rng = np.random.default_rng(9)

    assert sum(bool(told(weekly(rng))) for _ in range(50)) <= 4
    stepped = [told(weekly(rng) * np.where(PLACE < 50, 1, 1.05)) for _ in range(50)]
    assert sum(changes == [("step", 50, 50)] for changes in stepped) >= 44


def test_a_wave_is_no_change() -> None:
    """A daily load on a benchmark that runs every hour: up and down by five sigma."""
    rng = np.random.default_rng(10)
    wave = 100 + 5 * np.sin(2 * np.pi * np.arange(240) / 24)

    assert sum(bool(told(wave + rng.standard_normal(240))) for _ in range(20)) <= 2


def test_what_is_left_without_a_rhythm_keeps_its_steps_and_its_mean() -> None:
    """By ratios where all is positive, by differences elsewhere."""
    rng = np.random.default_rng(11)
    for lift in (0, -104):
        values = weekly(rng) + lift + 20.0 * (PLACE >= 50)
        left = without_rhythm(values, 7)

        assert left.mean() == pytest.approx(values.mean(), abs=0.5)
        assert np.ptp(left[:50]) < 7 and np.ptp(left[50:]) < 7
        assert left[50:].mean() - left[:50].mean() == pytest.approx(20, abs=1)
