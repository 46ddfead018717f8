"""Numbers as a person reads them."""

from typing import Any

import pytest
from bench.warehouse.console.numbers import (
    amount,
    counted,
    duration,
    exact_percent,
    mean_of,
    number,
    percent,
    percent_change,
    probability,
    ratio,
    share,
    share_of,
    share_text,
    signed_share,
    size,
    times,
)
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"), (0, "0 ns"), (0.5, "0.5 ns"), (1, "1.00 ns"), (12.34, "12.3 ns"), (999, "999 ns"), (1_234, "1.23 µs"),
        (123_456_789, "123 ms"), (2.5e9, "2.50 s"), (-1.5e6, "-1.50 ms"), (12_345e9, "12345 s"), (float("inf"), "inf s"),
    ],
)  # fmt: skip
def test_durations_have_three_digits_and_a_unit(value: Any, text: str) -> None:
    """Whatever their size."""
    assert duration(value) == text


def test_sizes_are_binary() -> None:
    """As memory is."""
    assert [size(0), size(3 << 20), size(1536), size(1023 << 10)] == ["0 B", "3.00 MiB", "1.50 KiB", "1023 KiB"]


def test_what_rounds_up_to_the_next_unit_is_in_it() -> None:
    """Nothing is 1000 µs, nor 1024 KiB."""
    assert [duration(999_960), size((1 << 20) - 1), amount(999_999.9999, "ns")] == ["1.00 ms", "1.00 MiB", "1 ms"]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.5e6, "ns", "1.5 ms"), (12.5, "ns", "12.5 ns"), (1.23456e9, "ns", "1.235 s"), (3 << 20, "bytes", "3 MiB"),
        (100, "bytes", "100 B"), (2, "count", "2"), (0.95, "ratio", "0.95"), (45000, "tokens/s", "45000 tokens/s"),
        (12345.6, "tokens/s", "12346 tokens/s"), (3, None, "3"), (None, "ns", ""),
        (3.4133e11, "bytes/s", "341.3 GB/s"), (2e9, "bytes/s", "2 GB/s"), (512, "bytes/s", "512 B/s"),
    ],
)  # fmt: skip
def test_an_amount_has_its_unit(value: float | None, unit: str | None, text: str) -> None:
    """In the size that suits it, with four digits at most of times and sizes."""
    assert amount(value, unit) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_for_people_are_within_rounding(value: float) -> None:
    """Six significant digits, and never fewer digits before the point than there are."""
    assert float(number(value)) == pytest.approx(value, rel=5.1e-6, abs=1e-320)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ((1.184, 1.1234, 1.2411, 30), "1.18x (95 % 1.12–1.24, n=30)"),
        ((1.18, 1.12, 1.24), "1.18x (95 % 1.12–1.24)"),
        ((1.0042, 1.0012, 1.0072, 69), "1.004x (95 % 1.001–1.007, n=69)"),
        ((1.184, 1.1234, 1.2411, 30, 0.0456), "1.18x (95 % 1.12–1.24, n=30, p=0.046)"),
        ((1.184, 1.1234, 1.2411, 30, 1e-9), "1.18x (95 % 1.12–1.24, n=30, p<0.001)"),
        ((2.0, 0.44, 9.1), "2x (95 % 0.44–9.1)"),
        ((0.0042, 0.0040, 0.0044), "0.0042x (95 % 0.0040–0.0044)"),
        ((0.0042, 0.00418, 0.00422), "0.00420x (95 % 0.00418–0.00422)"),
        ((0.0042, 0.0011, 0.016), "0.0042x (95 % 0.0011–0.016)"),
        ((12345.6, 12000.1, 12600.1), "12346x (95 % 12000–12600)"),
        ((12345.6, 2000.1, 30000.1, 4), "12000x (95 % 2000–30000, n=4)"),
        ((0.0042, None, None, 3), "0.0042x (no interval, n=3)"),
        ((0.0, None, None), "0.00x (no interval)"),
        ((1.5, None, None, 3), "1.50x (no interval, n=3)"),
        ((0.08, 0.0001, 658.84, 5, 0.4), "0.080x (95 % interval wider than 100x, n=5, p=0.400)"),
        ((2.0, 0.0, float("inf")), "2.00x (95 % interval wider than 100x)"),
        ((None,), None),
    ],
)
def test_a_ratio_carries_its_doubt(known: tuple[Any, ...], said: str | None) -> None:
    """As many decimals as the interval deserves; a missing one is said to be missing, one that tells nothing to be wide."""
    assert ratio(*known) == said


@given(st.floats(1e-9, 1e12))
def test_a_ratio_alone_is_within_rounding(value: float) -> None:
    """However small or large: never 0, and no digit of a large one is noise."""
    assert float(times(value)[:-1]) == pytest.approx(value, rel=0.051 if value < 1 else 0.0051)


def test_one_is_singular() -> None:
    """The noun and its verb follow the count."""
    assert [counted(n, "run", "was", "were") for n in (0, 1, 2048)] == ["0 runs were", "1 run was", "2,048 runs were"]
    assert counted(1, "case") == "1 case"


@pytest.mark.parametrize(
    ("ratio", "low", "high", "text"),
    [
        (1.14, 0.95, 1.36, "1.14x faster or no change (95 % 0.95–1.36)"),
        (0.8, 0.6, 1.2, "1.25x slower or no change (95 % 0.83–1.67)"),
        (1.3, 1.2, 1.4, "1.30x faster (95 % 1.20–1.40)"),
        (1.0, 0.99, 1.01, "1.00x (95 % 0.99–1.01)"),
        (1.3, None, None, "1.30x faster (no interval)"),
        (0.41, None, None, "2.44x slower (no interval)"),
    ],
)
def test_a_mean_says_its_direction(ratio: float, low: float | None, high: float | None, text: str) -> None:
    """A mean whose interval holds 1 has a direction, and says that it may be no change."""
    assert mean_of({"ratio": ratio, "low": low, "high": high, "unit": "ns", "better": "lower"}) == text


def test_a_percentage_has_two_digits_or_as_many_decimals_as_asked() -> None:
    """The space before % is always there; a sign only where a change is told."""
    assert [percent(0.00424), percent(0.12), percent(1.5), percent(0)] == ["0.42 %", "12 %", "150 %", "0 %"]
    assert [percent(0.123, 0), percent(0.123, 2), percent(0.03, 1, sign=True)] == ["12 %", "12.30 %", "+3.0 %"]
    assert percent_change(-0.031, -0.034, -0.028) == "-3.1 % (95 % -3.4 to -2.8)"
    assert [percent_change(0.031, None, None), percent_change(None)] == ["+3.1 %", None]
    assert [percent(-0.0004, 1), percent_change(-0.0004, -0.0004, 0.03)] == ["0.0 %", "+0.0 % (95 % +0.0 to +3.0)"]


def test_a_probability_is_never_rounded_to_certainty() -> None:
    """Neither up nor down; of a count, all are all."""
    assert [probability(value) for value in (0.99999, 0.973, 0.0001)] == ["> 99.9 %", "97.3 %", "< 0.1 %"]
    assert [share_of(count, 1000) for count in (0, 1, 500, 999, 1000)] == ["0 %", "< 1 %", "50 %", "> 99 %", "100 %"]


def test_a_share_is_written_as_it_is_read() -> None:
    """A default in a command's help can be typed."""
    assert [share_text(value) for value in (0.03, 0.005)] == ["3%", "0.5%"]
    assert [exact_percent(value) for value in (0.03, 0.005, 0.125)] == ["3 %", "0.5 %", "12.5 %"]
    assert [share(share_text(value)) for value in (0.03, 0.005)] == [0.03, 0.005]


def test_a_share_against_the_whole_has_a_minus() -> None:
    """As differences have; nothing has no sign."""
    assert [signed_share(value) for value in (0.92, -0.041, -0.004, 0.0)] == ["92 %", "−4 %", "0 %", "0 %"]
