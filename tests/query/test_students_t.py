"""Student's t: held to scipy's, of which the tests have a copy."""

import pytest
from bench.query.students_t import exceeded_by, upper_tail
from scipy import special

DEGREES = (1, 1.5, 2, 4.7, 30, 500, 20_000)


@pytest.mark.parametrize("degrees", DEGREES)
def test_tails_are_those_of_scipy(degrees: float) -> None:
    """Near 0 and far out, on either side."""
    for t in (0.0, 0.001, 0.5, 2.0, 8.0, 40.0, 1e3):
        assert upper_tail(t, degrees) == pytest.approx(special.stdtr(degrees, -t), rel=1e-10, abs=1e-300)
        assert upper_tail(-t, degrees) == pytest.approx(special.stdtr(degrees, t), rel=1e-10)
    assert upper_tail(1e200, degrees) == 0.0


@pytest.mark.parametrize("degrees", DEGREES)
def test_quantiles_are_those_of_scipy(degrees: float) -> None:
    """From the middle to one in ten million."""
    for chance in (0.5, 0.49, 0.25, 0.025, 1e-3, 1e-7):
        assert exceeded_by(chance, degrees) == pytest.approx(-special.stdtrit(degrees, chance), rel=1e-10, abs=1e-12)
