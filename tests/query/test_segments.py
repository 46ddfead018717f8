"""The statistics under change points, against what they stand for."""

import itertools
import math

import numpy as np
import pytest
from bench.query.change import segments
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

LEAST = 3


def standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray((values - values.mean()) / values.std())


@given(st.lists(st.integers(0, 5), min_size=6, max_size=30).filter(lambda values: len(set(values)) > 1))
@settings(max_examples=50, derandomize=True)
def test_the_scan_finds_the_strongest_contrast(values: list[int]) -> None:
    """Its z² is that of comparing the mean of the stretch with the mean of the rest, over every stretch it looks at."""
    y = standardised(np.array(values, dtype=float))
    n = len(y)
    (best,), first, last = segments._scan(y[np.newaxis], LEAST)

    def z2(start: int, stop: int) -> float:
        inside, outside = y[start:stop], np.concatenate([y[:start], y[stop:]])
        z = float(inside.mean() - outside.mean()) / math.sqrt(1 / len(inside) + 1 / len(outside))
        return z * z - (2 * math.log(n) if stop < n else 0)

    ends = [(start, n) for start in range(LEAST, n - LEAST + 1)]
    inner = [
        (start, start + size) for size in segments._lengths(n, LEAST) for start in range(LEAST, n - LEAST - size + 1)
    ]
    assert best == pytest.approx(max(itertools.starmap(z2, ends + inner)))
    assert best == pytest.approx(z2(first, last))


@pytest.mark.parametrize(("n", "low"), [(9, 4), (10, 4), (10, 5), (11, 5), (12, 4)])
def test_p_is_the_share_of_orders_that_look_as_different(n: int, low: int) -> None:
    """Counted over all orders of two values, for the most orderly of them and for a less orderly one; the bound holds."""
    orders = [[float(place in ones) for place in range(n)] for ones in itertools.combinations(range(n), n - low)]
    z2, _, _ = segments._scan(np.array([standardised(np.array(order)) for order in orders]), LEAST)
    test = segments._Test(np.zeros(n), LEAST, segments.MOST_SHUFFLES, 0)
    for observed in sorted(set(z2.round(9)))[-3:]:
        exact = float((z2 >= observed - 1e-6).mean())
        y = standardised(np.array(orders[0]))

        assert segments._p(y, observed, test) == pytest.approx(exact, rel=0.5)
        assert segments._bound(y, observed, LEAST) >= exact


def test_noise_is_that_around_the_level() -> None:
    """Sigma of normal values, whatever steps and outliers there are."""
    values = np.random.default_rng(0).normal(0, 2, 2000) + 50 * (np.arange(2000) // 200)
    values[::50] = 1e6

    assert segments.noise_of(values) == pytest.approx(2, rel=0.1)
    assert segments.noise_of(np.array([0.0, 0, 0, 0, 0, 3, 0, 0, 0, 0])) == pytest.approx(math.sqrt(2 * 9 / 9 / 2))


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.floats(0.1, 10))
@settings(max_examples=60, derandomize=True)
def test_a_level_is_the_mean_of_what_is_near_the_median(values: list[float], noise: float) -> None:
    """As scipy trims: within three sigma of it."""
    x = np.array(values)
    middle = float(np.median(x))
    near = x[np.abs(x - middle) <= 3 * noise]

    assert segments.median_of(x) == middle
    if len(near):
        expected = stats.tmean(x, (middle - 3 * noise, middle + 3 * noise))
        assert segments.level_of(x, noise) == pytest.approx(expected, rel=1e-9, abs=1e-6)


def test_values_that_follow_each_other_are_worth_less() -> None:
    """The share of the variance that a contrast explains is that of n (1 - rho) / (1 + rho) values."""
    for z2, n in ((10.0, 40), (30.0, 40)):
        ratio = z2 / (n - z2)
        discounted = segments._discounted(z2, n, 0.5, 0.0)

        assert discounted / (n - discounted) == pytest.approx(ratio / 3)
        assert segments._discounted(z2, n, 0.0, 0.0) == pytest.approx(z2)


def test_autocorrelation_is_told_from_levels() -> None:
    """Of values within levels; steps do not count as following each other."""
    rng = np.random.default_rng(0)
    plain = rng.standard_normal(600) + 20 * (np.arange(600) >= 300)
    wandering = rng.standard_normal(600)
    for i in range(1, 600):
        wandering[i] += 0.5 * wandering[i - 1]

    assert segments._autocorrelation(plain, [300]) == pytest.approx(0.0, abs=0.08)
    assert segments._autocorrelation(wandering, []) == pytest.approx(0.5, abs=0.1)
    assert segments._autocorrelation(wandering[:18], [9]) == 0.0
