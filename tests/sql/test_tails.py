"""The tails of normal and t in SQL are those of scipy, as near as their comments say."""

import functools

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, t

from ..builders import Builder
from ..exhaustive import at_most

Numbers = npt.NDArray[np.float64]


@functools.cache
def built() -> Builder:
    """One empty warehouse: only its macros are asked."""
    return Builder()


def tails(expression: str, x: Numbers) -> Numbers:
    """A macro at every x."""
    rows = built().rows(f"SELECT {expression} FROM (SELECT unnest(?::DOUBLE[]) AS x)", [x.tolist()])
    return np.array([value for (value,) in rows])


def test_the_normal_tail_is_within_two_in_ten_million() -> None:
    """Relatively, on both sides, down to the smallest probability a double holds in full."""
    z = np.linspace(-37, 37, 7401)

    assert tails("_normal_tail(x)", z) == pytest.approx(norm.sf(z), rel=2e-7, abs=0)


@settings(max_examples=at_most(50))
@given(st.lists(st.floats(-37, 37), min_size=1))
def test_the_normal_tail_at_any_point(z: list[float]) -> None:
    """Also where the grid has none."""
    assert tails("_normal_tail(x)", np.array(z)) == pytest.approx(norm.sf(z), rel=2e-7, abs=0)


@pytest.mark.parametrize("df", [1, 1.3, 2, 2.5, 3, 4.5, 6, 8, 29.3, 1e3, 1e6])
def test_the_t_tail_is_within_a_millionth(df: float) -> None:
    """Relatively, fractions of degrees too; on the other side it is what is left of 1."""
    x = t.isf(np.geomspace(1e-12, 0.5, 500), df)
    found = tails(f"_t_tail(x, {df!r}::DOUBLE)", x)

    assert found == pytest.approx(t.sf(x, df), rel=1e-6, abs=0)
    assert tails(f"_t_tail(-x, {df!r}::DOUBLE)", x) == pytest.approx(t.cdf(x, df), rel=1e-6, abs=0)


@pytest.mark.parametrize("df", [1, 1.5, 2, 3, 8.5, 30])
def test_the_tail_beyond_the_quantile_is_what_the_quantile_leaves(df: float) -> None:
    """So p is below 5 % just where a 95 % interval excludes what p is about, however few the runs."""
    assert built().rows(f"SELECT 2 * _t_tail(_t975({df}::DOUBLE), {df}::DOUBLE)") == [(pytest.approx(0.05, rel=1e-5),)]


@pytest.mark.parametrize("macro", ["_normal_tail(NULL)", "_t_tail(NULL, 5)", "_t_tail(2.0, NULL)", "_t_tail(2.0, 0.9)"])
def test_what_has_no_tail_is_null(macro: str) -> None:
    """No data, or too few: NULL and no error."""
    assert built().rows(f"SELECT {macro}") == [(None,)]


def test_beyond_all_bounds_there_is_nothing_left() -> None:
    """An infinite z or t is no error."""
    inf = "'inf'::DOUBLE"
    assert built().rows(f"SELECT _normal_tail({inf}), _normal_tail(-{inf}), _t_tail({inf}, 5.0)") == [(0.0, 1.0, 0.0)]
