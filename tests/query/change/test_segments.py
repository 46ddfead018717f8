"""The statistics under change points, against what they stand for."""

import itertools
import math

import numpy as np
import pytest
from bench.query.change import models, segments
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from ...exhaustive import at_most

LEAST = 3


def likelihood_ratio(y: NDArray[np.float64], rho: float) -> float:
    """Squared deviations of an AR(1) stretch from its best level, by the covariance of its values."""
    n = len(y)
    inverse = np.linalg.inv(rho ** np.abs(np.subtract.outer(np.arange(n), np.arange(n))) / (1 - rho**2))
    level = (inverse @ y).sum() / inverse.sum()
    return float((y - level) @ inverse @ (y - level))


@given(st.lists(st.integers(0, 5), min_size=6, max_size=13), st.sampled_from(segments.RHOS), st.floats(0.1, 30))
@settings(max_examples=at_most(60))
def test_the_partition_is_the_cheapest_of_all(values: list[int], rho: float, price: float) -> None:
    """Beside every other division of the values, each stretch weighed by the covariance of an AR(1) process."""
    y = np.array(values, dtype=float)

    def cost(cuts: tuple[int, ...]) -> float:
        return price * len(cuts) + sum(likelihood_ratio(part, rho) for part in np.split(y, cuts))

    every = [
        cuts
        for count in range(len(y) // LEAST)
        for cuts in itertools.combinations(range(1, len(y)), count)
        if min(np.diff([0, *cuts, len(y)])) >= LEAST
    ]
    longer = np.concatenate([y, y])
    (found, _) = segments.partition([y, longer], [rho, 0.0], [price, price], LEAST)

    assert cost(tuple(found)) == pytest.approx(min(map(cost, every)), abs=1e-6)


def test_noise_is_that_around_the_level() -> None:
    """Sigma of normal values, whatever steps and outliers there are."""
    values = np.random.default_rng(0).normal(0, 2, 2000) + 50 * (np.arange(2000) // 200)
    values[::50] = 1e6

    assert segments.noise_of(values) == pytest.approx(2, rel=0.1)
    assert segments.noise_of(np.array([0.0, 0, 0, 0, 0, 3, 0, 0, 0, 0])) == pytest.approx(math.sqrt(2 * 9 / 9 / 2))


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.floats(0.1, 10))
@settings(max_examples=at_most(60))
def test_a_level_is_the_mean_of_what_is_near_the_median(values: list[float], noise: float) -> None:
    """As scipy trims: within three sigma of it."""
    x = np.array(values)
    middle = float(np.median(x))
    near = x[np.abs(x - middle) <= 3 * noise]

    assert segments.median_of(x) == middle
    if len(near):
        expected = stats.tmean(x, (middle - 3 * noise, middle + 3 * noise))
        assert segments.level_of(x, noise) == pytest.approx(expected, rel=1e-9, abs=1e-6)


def test_one_or_two_outliers_are_taken_out_and_three_values_are_a_level() -> None:
    """Wherever they are, at either end too; a step keeps its place."""
    plain = np.tile([10.0, 10.2, 9.9, 10.1], 10)
    for place in (0, 1, 20, 38, 39):
        outliers = plain.copy()
        outliers[place : place + 2] = 15
        assert segments.clip_outliers(outliers).max() < 11

    level = plain.copy()
    level[20:23] = 15
    assert segments.clip_outliers(level).tolist() == level.tolist()


@pytest.mark.parametrize("rho", [0.0, 0.4, 0.8])
def test_autocorrelation_is_told_and_counts_for_less(rho: float) -> None:
    """Functions give the news in each value, the variance of a mean of such values, and the rho that describes them."""
    rng = np.random.default_rng(3)
    values = rng.standard_normal(3000)
    for i in range(1, 3000):
        values[i] += rho * values[i - 1]
    covariance = rho ** np.abs(np.subtract.outer(np.arange(12), np.arange(12)))

    assert segments.innovations(values, [rho]) == [pytest.approx(1, rel=0.1)]
    assert segments.spread_out(12, rho) == pytest.approx(covariance.sum() / 12)
    assert models.cost_of(values, (), 0.0, 0.0)[1] == rho


def test_a_drift_is_fitted_by_least_squares() -> None:
    """Levels and the line between them, beside numpy's fit of the line alone."""
    line = np.random.default_rng(1).standard_normal(40) + np.arange(40)

    assert models.fitted(line, [(1, 39)]) == pytest.approx(np.polyval(np.polyfit(range(40), line, 1), range(40)))
    assert models.fitted(np.array([1.0, 1, 1, 3, 5, 5, 5]), [(3, 4)]) == pytest.approx([1, 1, 1, 3, 5, 5, 5])


@given(st.lists(st.tuples(st.floats(0, 9), st.floats(0, 9)), min_size=1, max_size=9), st.floats(0, 12))
@settings(max_examples=at_most(60))
def test_the_way_through_two_levels_is_the_cheapest(errors: list[tuple[float, float]], fare: float) -> None:
    """Of all ways, each change of levels paid for."""

    def cost(way: tuple[int, ...]) -> float:
        turns = sum(a != b for a, b in itertools.pairwise(way))
        return fare * turns + sum(pair[level] for pair, level in zip(errors, way, strict=True))

    way = tuple(models._cheapest_way(np.array(errors).T, fare).tolist())

    assert cost(way) == pytest.approx(min(map(cost, itertools.product((0, 1), repeat=len(errors)))))
