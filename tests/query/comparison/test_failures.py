"""Counts of what failed: chance alone fails some of many calls or requests, and a difference counts only beyond it."""

from collections.abc import Sequence

import pytest
from bench.query.comparison.compare import compare
from bench.query.comparison.render import render, shown
from bench.query.comparison.sides import Side
from bench.warehouse.events import Event, Instant

from ...builders import Builder, case, metric, outcome, run, timing
from ...exhaustive import first_of, sampled

DAY = 86_400_000_000


def called(run_id: str, failed: int, calls: int) -> list[Event]:
    """A command called so often, with -i of hyperfine."""
    it = case("grep", run=run_id)
    return [
        it, outcome(it), metric(it, "failed_calls", failed, unit="count", better="lower"),
        *(timing(it, 1_000_000 + number) for number in range(calls)),
    ]  # fmt: skip


def served(run_id: str, failed: int, requests: int) -> list[Event]:
    """A server that was asked so often."""
    it = case("m", run=run_id)
    return [
        it, outcome(it), metric(it, "failed", failed, unit="count", better="lower"),
        metric(it, "completed", requests - failed, unit="count", better=None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    first_of(
        3,
        [
            (called("a", 0, 10), called("b", 1, 10), "UNSURE"),
            (called("a", 20, 20), called("b", 20, 20), "SAME"),
            (called("a", 0, 10), called("b", 10, 10), "WORSE"),
            (served("a", 0, 1000), served("b", 2, 1000), "UNSURE"),
            (served("a", 400, 400), served("b", 0, 400), "BETTER"),
            (called("a", 1, 10), called("b", 10, 100), "UNSURE"),
            (called("a", 10, 10), called("b", 0, 10), "BETTER"),
            (served("a", 3, 10_000), served("b", 1, 100), "UNSURE"),
            (served("a", 0, 1000), served("b", 30, 1000), "WORSE"),
        ],
    ),
)
def test_one_run_a_side(warehouse: Builder, before: Sequence[Event], after: Sequence[Event], verdict: str) -> None:
    """A few more failures are no change, most calls are; where nothing completed the share is known, too."""
    warehouse.add(run("a", "a"), *before, run("b", "b"), *after)
    found = warehouse.rows("SELECT verdict FROM comparisons(['a'], ['b']) WHERE starts_with(metric, 'failed')")

    assert found == [(verdict,)]


@pytest.mark.parametrize(("failed", "verdict"), sampled([(1, "UNSURE"), (9, "WORSE")], (9, "WORSE")))
def test_a_night_after_nights_without_failures(warehouse: Builder, failed: int, verdict: str) -> None:
    """The first failed request of a thousand ends no job with 1; nine of them do."""
    for night in range(9):
        name = f"night{night}"
        warehouse.add(run(name, "main", host="h", started_at=Instant(night * DAY)))
        warehouse.add(*served(name, failed if night == 8 else 0, 1000))

    found = warehouse.rows("SELECT verdict FROM regression_findings(['night8']) WHERE metric = 'failed'")
    assert found == [(verdict,)]


def test_requests_that_nobody_counted_are_taken_for_many(warehouse: Builder) -> None:
    """Then the counts alone tell: 0 against 3 is chance, 0 against 30 is none."""
    for side, counts in (("a", (0, 0)), ("b", (3, 30))):
        warehouse.add(run(side, side))
        for name, count in zip(("few", "many"), counts, strict=True):
            it = case(name, run=side)
            warehouse.add(it, outcome(it), metric(it, "failed", count, unit="count", better="lower"))

    query = "SELECT name, verdict, reason FROM comparisons(['a'], ['b']) ORDER BY name"
    assert warehouse.rows(query) == [
        ("few", "UNSURE", "0 failed, then 3: chance does as much"), ("many", "WORSE", "0 failed, then 30"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cpu", "told"),
    first_of(1, [(1.3, [("latency, cpu_time", "SLOWER")]), (2.0, [("cpu_time", "SLOWER"), ("latency", "SLOWER")])]),
)
def test_processor_time_that_says_what_latency_says_shares_its_row(
    warehouse: Builder, cpu: float, told: list[tuple[str, str]]
) -> None:
    """A program that also keeps more processors busy has a row for that."""
    for side in "ab":
        for number in range(5):
            name = f"{side}{number}"
            warehouse.add(run(name, side), it := case("m", run=name), outcome(it))
            for what, factor in (("latency", 1.3), ("cpu_time", cpu)):
                ns = int(1e6 * (1 + number / 1000) * (factor if side == "b" else 1))
                warehouse.add(*(timing(it, ns + index, metric=what) for index in range(10)))

    sides = [Side(name, tuple(f"{name}{number}" for number in range(5))) for name in "ab"]
    comparison = compare(warehouse, *sides)
    columns, rows = render(comparison, shown(comparison))
    assert [(row[columns.index("metric")], row[columns.index("verdict")]) for row in rows] == told
    assert len(comparison.rows) == 2
