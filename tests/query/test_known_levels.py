"""What regressions knows of a series: levels that it was at before, and steps of the last three runs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from bench.query.regression.command import sentences
from bench.query.regression.regressions import Limits, RegressionRule, exit_code, judge
from bench.warehouse.errors import Exit

from ..builders import Builder, case, outcome, run, timing
from ..exhaustive import exhaustive, first_of, sampled

DAY = 86_400_000_000
WOBBLE = (0, 4, -3, 2, -4, 1, -1, 3, -2, 0)  # per mille
FLIPS = [0] * 10 + [1] * 6 + [0] * 8 + [1] * 5 + [0] * 12  # levels of earlier runs


def record(warehouse: Builder, levels: Sequence[float], name: str = "m", jitter: float = 1.0) -> str:
    """One run a day of one case that takes 1 ms times exp(level) or so; returns the last run's id."""
    for day, level in enumerate(levels):
        if name == "m":
            warehouse.add(run(f"r-{day:02}", "main", started_at=(day + 1) * DAY, host="h", git_commit=f"c{day:02}"))
        it = case(name, run=f"r-{day:02}", backend="eager")
        wobble = 1 + jitter * WOBBLE[(7 * day + len(name)) % 10] / 1000
        warehouse.add(it, outcome(it), timing(it, round(1e6 * np.exp(level) * wobble)))
    return f"r-{len(levels) - 1:02}"


def told(warehouse: Builder, judged: str, columns: str = "verdict") -> tuple[Any, ...]:
    """Columns of the only case."""
    (row,) = warehouse.rows(f"SELECT {columns} FROM regressions([?]) WHERE metric = 'latency' AND name = 'm'", [judged])
    return row


def test_a_case_that_is_back_at_a_level_is_no_regression(warehouse: Builder) -> None:
    """It was there twice before; beyond both levels it is slower all the same."""
    judged = record(warehouse, [0.06 * flip for flip in FLIPS] + [0.06])

    assert told(warehouse, judged) == ("UNSURE",)
    assert warehouse.rows(
        "SELECT stretches, reached, longest, lasting, is_known FROM series_levels([?])", [judged]
    ) == [(2, 11, 6, 1, True)]


def test_a_case_beyond_its_levels_is_slower(warehouse: Builder) -> None:
    """By 20 % where the levels are 6 % apart."""
    assert told(warehouse, record(warehouse, [0.06 * flip for flip in FLIPS] + [0.2])) == ("SLOWER",)


@exhaustive
def test_single_bad_runs_are_no_level(warehouse: Builder) -> None:
    """Three bad nights, each alone, do not excuse a step of their size."""
    levels = [0.12 if day in (5, 17, 29) else 0.0 for day in range(41)]

    assert told(warehouse, record(warehouse, [*levels, 0.12])) == ("SLOWER",)


@pytest.mark.parametrize(
    ("nights", "verdict"), first_of(1, [([0.06], "UNSURE"), ([0.09], "SLOWER"), ([0.06] * 5, "SLOWER")])
)
def test_two_runs_in_a_row_at_the_very_level_are_a_level(warehouse: Builder, nights: list[float], verdict: str) -> None:
    """Once is enough where noise does no such thing; beyond that level, or for more than twice as long, it is news."""
    levels = [0.06 if day in (5, 6) else 0.0 for day in range(41)]

    assert told(warehouse, record(warehouse, levels + nights)) == (verdict,)


@exhaustive
def test_a_level_that_lasts_longer_than_ever_is_news(warehouse: Builder) -> None:
    """A stretch of 2 runs twice before, and now the fifth run in a row."""
    levels = [0.06 if day in (5, 6, 17, 18) else 0.0 for day in range(41)]

    assert told(warehouse, record(warehouse, [*levels, *[0.06] * 5])) == ("SLOWER",)


def test_a_known_level_is_told_and_ends_with_0(warehouse: Builder) -> None:
    """The exit code is that of a quiet night, and a sentence names the case."""
    judged = record(warehouse, [0.06 * flip for flip in FLIPS] + [0.06])
    rows = judge(warehouse, [judged], RegressionRule(), Limits())

    assert exit_code(rows, strict=True) == Exit.OK
    (known,) = [sentence for sentence in sentences(warehouse, rows, [judged]) if "earlier runs were at" in sentence]
    assert known == "1 case at a slower level that earlier runs were at, too: m +5.9 % (see --all)"


@pytest.mark.parametrize("nights", sampled([1, 2, 3, 4], 3))
def test_a_small_step_is_told_by_the_third_night(nights: int, warehouse: Builder) -> None:
    """5 % beneath a noise of 2 %: no single night shows it, three together do, since the first night that has it."""
    rng = np.random.default_rng(5)
    levels = rng.normal(0, 0.02, 45).tolist() + [0.05, 0.045, 0.055, 0.05][:nights]
    judged = record(warehouse, levels)
    for other in range(30):
        record(warehouse, rng.normal(0, 0.02, len(levels)).tolist(), f"other-{other}")

    expected = ("SLOWER", "r-45", "c44") if nights >= 3 else ("UNSURE", None, None)
    assert told(warehouse, judged, "verdict, since_run_id, good_commit") == expected


def test_what_all_cases_do_for_three_nights_is_no_step_of_each(warehouse: Builder) -> None:
    """A slower machine is a finding of its own."""
    rng = np.random.default_rng(6)
    for number in range(25):
        levels = rng.normal(0, 0.01, 48) + 0.05 * (np.arange(48) >= 45)
        judged = record(warehouse, levels.tolist(), "m" if number == 0 else f"other-{number}")

    assert warehouse.rows("SELECT count(*) FROM recent_steps([?]) WHERE is_step", [judged]) == [(0,)]
