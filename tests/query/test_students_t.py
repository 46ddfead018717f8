"""Student's t as scipy has it, and the error of a sum."""

import math

import numpy as np
import pytest
from bench.query.students_t import summed_error, t_quantile
from scipy import stats


@pytest.mark.parametrize("degrees", [1, 2, 2.5, 3, 4.2, 5, 7, 10, 13, 30, 100, 1e4, math.inf])
def test_quantiles_of_t_are_those_of_scipy(degrees: float) -> None:
    """Within a thousandth far out; at 97.5 %, of intervals, within half of that."""
    for p, within in ((1e-7, 1e-3), (1e-4, 1e-3), (0.01, 1e-3), (0.025, 5e-4), (0.3, 1e-3)):
        assert t_quantile(p, degrees) == pytest.approx(stats.t.isf(p, min(degrees, 1e12)), rel=within)
    assert t_quantile(0.01, 1.5) == t_quantile(0.01, 1)


def test_the_error_of_a_difference_of_means_is_that_of_welch() -> None:
    """Of five and three processes that scatter differently; what is exact, or overflows, leaves it as it is."""
    rng = np.random.default_rng(3)
    one, other = rng.normal(0, 1, 5), rng.normal(0, 3, 3)
    errors = [(t_quantile(0.025, len(x) - 1) * stats.sem(x), len(x) - 1.0) for x in (one, other)]
    error, _ = summed_error([*errors, (0.0, math.inf)])
    welch = stats.ttest_ind(one, other, equal_var=False).confidence_interval()

    assert error == pytest.approx((welch.high - welch.low) / 2, rel=1e-3)
    assert summed_error([]) == (0, math.inf)
    assert summed_error([(3e300, math.inf), (4e300, math.inf)])[0] == pytest.approx(5e300)
    assert math.isnan(summed_error([errors[0], (math.nan, 4)])[0])
