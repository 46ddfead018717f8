import math
from collections.abc import Sequence
from typing import Any

import duckdb
import pytest
from bench.viz import downsample
from hypothesis import given, settings
from hypothesis import strategies as st

from ..exhaustive import at_most

Point = tuple[str, float | None, float | None]
FINITE = st.floats(0, 1e6, allow_nan=False, width=32)
POINTS = st.lists(st.tuples(st.sampled_from("AB"), FINITE, FINITE), min_size=1, max_size=60)
GRID = (8, 6)


def relation(points: Sequence[Point]) -> str:
    """A SELECT with a row for each (config, x, y), drawn in that order."""
    rows = ", ".join(f"('{c}', {rank}, {rank}, {sql(x)}, {sql(y)})" for rank, (c, x, y) in enumerate(points))
    return f"SELECT * FROM (VALUES {rows}) AS t(config, rank, line, x, y)"


def sql(value: float | None) -> str:
    return "NULL::DOUBLE" if value is None else f"'{value!r}'::DOUBLE"


def reduced(points: Sequence[Point], grid: tuple[int, int] = GRID, **options: Any) -> list[dict[str, Any]]:
    cursor = duckdb.connect().execute(downsample.reduced(relation(points), grid, **options))
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


@settings(max_examples=at_most(25))
@given(POINTS)
def test_every_point_is_stood_for_once(points: list[Point]) -> None:
    """The n of the kept rows add up to the rows there were, config by config."""
    kept = reduced(points)

    for config in "AB":
        assert sum(c == config for c, _, _ in points) == sum(row["n"] for row in kept if row["config"] == config)


@settings(max_examples=at_most(25))
@given(POINTS)
def test_kept_rows_are_real_and_in_drawing_order(points: list[Point]) -> None:
    """Nothing is snapped or invented, and what was drawn last is still drawn last."""
    kept = reduced(points)

    assert sorted(row["rank"] for row in kept) == [row["rank"] for row in kept]
    assert all(points[row["rank"]] == (row["config"], row["x"], row["y"]) for row in kept)


@pytest.mark.exhaustive
@settings(max_examples=at_most(25))
@given(POINTS)
def test_extremes_stay(points: list[Point]) -> None:
    """The lowest and the highest x and y of each config are among the rows kept."""
    kept = reduced(points, at_most=1)

    for config in {c for c, _, _ in points}:
        for axis, name in ((1, "x"), (2, "y")):
            there: list[Any] = [point[axis] for point in points if point[0] == config]
            left = [row[name] for row in kept if row["config"] == config]
            assert (min(there), max(there)) == (min(left), max(left))


def test_the_last_drawn_row_of_a_cell_is_kept() -> None:
    """Rows of one cell hide each other; the one on top stays."""
    corners = [("A", 0, 0), ("A", 100, 100)]

    kept = reduced([*corners, ("A", 50.1, 50.1), ("A", 50.3, 50.3), ("A", 50.2, 50.2)])

    assert [(row["x"], row["n"]) for row in kept] == [(0, 1), (100, 1), (50.2, 3)]


def test_the_grid_is_halved_until_few_enough_remain() -> None:
    """Data that fill the plane get a coarser grid, and the rows say how often it was halved."""
    points = [("A", x, y) for x in range(32) for y in range(32)]

    kept = reduced(points, grid=(32, 32), at_most=120)

    assert len(kept) <= 120
    assert {2} == {row["halvings"] for row in kept}


def test_equal_ranks_give_one_row_a_cell() -> None:
    """Steps without a number of their own share a rank; each cell still gives one row."""
    query = "SELECT 'A' AS config, 0 AS rank, i AS line, i::DOUBLE AS x, (i % 7)::DOUBLE AS y FROM range(500) t(i)"

    rows = duckdb.connect().execute(downsample.reduced(query, GRID)).fetchall()

    assert sum(row[-2] for row in rows) == 500
    assert len(rows) < 100


def test_what_cannot_be_drawn_is_left_out() -> None:
    """NULL, NaN, infinite and negative coordinates have no place in the plane."""
    points = [("A", 1, 1), ("A", None, 1), ("A", 1, math.nan), ("A", math.inf, 1), ("A", 1, -math.inf), ("A", -1, 1)]

    assert [row["rank"] for row in reduced(points)] == [0]
    assert duckdb.connect().execute(f"SELECT rank FROM ({downsample.all_rows(relation(points))})").fetchall() == [(0,)]


def test_all_points_at_the_origin() -> None:
    """An extent of zero is no division by zero."""
    assert [row["n"] for row in reduced([("A", 0, 0), ("A", 0, 0)])] == [2]
