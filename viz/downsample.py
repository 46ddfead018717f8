"""Downsampling in SQL: of a scatter of any number of rows, keep those that can be seen."""

from collections.abc import Sequence
from typing import NamedTuple

GRID_PER_INCH = 150  # at 300 DPI a cell is 2 x 2 device pixels; measured 43 dB PSNR against the full drawing
DENSITY_PER_INCH = 50  # cells that are seen, and shaded by how many rows they hold
DRAW_ALL_BELOW = 20_000  # rows that are drawn as they are
DRAW_AT_MOST = 30_000  # rows a reduced scatter keeps, about 1.5 s of rendering
HEIGHT = "y / y_end"
DRAWABLE = "x >= 0 AND x < 'inf'::DOUBLE AND y >= 0 AND y < 'inf'::DOUBLE"
_HALVINGS = 8  # 900 x 600 halved 7 times is 7 x 4 cells: nothing can need more


class Extent(NamedTuple):
    """The extent of the points of a config."""

    config: int  # its place
    x_low: float
    x_high: float
    y_low: float
    y_high: float


def known_extents(extents: Sequence[Extent]) -> str:
    """The FROM clause of the points; from text, for a decimal number would be rounded twice, and slow."""
    rows = []
    for place, *numbers in extents:
        ends = ", ".join(f"'{number!r}'::DOUBLE" for number in numbers)
        rows.append(f"({place}::SMALLINT, {ends})")
    return f"(VALUES {', '.join(rows)}) AS known(config, x_low, x_high, y_low, y_high)"


def grid_of(size: tuple[float, float], per_inch: int = GRID_PER_INCH) -> tuple[int, int]:
    """Cells across and down for a figure of that many inches."""
    return max(1, round(size[0] * per_inch)), max(1, round(size[1] * per_inch))


def all_rows(points: str, *, at_most: int | None = None) -> str:
    """Every row, or so many of each config by chance, in drawing order, with the columns `reduced` would give."""
    sample = "" if at_most is None else (
        f"\nQUALIFY row_number() OVER (PARTITION BY config ORDER BY hash(rank), rank, x, y) <= {at_most:d}"
    )  # fmt: skip
    return f"""WITH points AS MATERIALIZED (
{points}
)
SELECT *, 1::BIGINT AS n, 0::BIGINT AS halvings FROM points WHERE {DRAWABLE}{sample} ORDER BY rank, config, x, y"""


def reduced(points: str, grid: tuple[int, int], *, at_most: int = DRAW_AT_MOST, height: str = HEIGHT) -> str:
    """The last-drawn row of every cell of the pixel grid, for each config.

    Real rows are kept, not cell centres: 4-10 dB closer to the full drawing, and tooltips show real values. A cell
    that holds an extreme of its config (lowest or highest x or y) is split, so that extremes always stay. The grid
    is halved until at most `at_most` rows remain.

    Args:
        points: A SELECT with config, rank (drawing order), x, y, and whatever else. Rows whose x or y is
            missing, not finite or negative are left out.
        grid: Cells across and down, from 0 to the largest x and y.
        at_most: Rows to keep.
        height: SQL of where y stands on its axis, from 0 to 1; of y and y_end, the largest.

    Returns:
        One SELECT: the columns of `points`, n (rows this one stands for), halvings (of the grid), in drawing order.
    """
    return f"WITH points AS MATERIALIZED (\n{points}\n),\n{reduction(grid, at_most=at_most, height=height).removeprefix('WITH ')}"


def reduction(grid: tuple[int, int], *, at_most: int = DRAW_AT_MOST, height: str = HEIGHT) -> str:
    """The steps of `reduced` after the first, over a table `points`."""
    extents = f"""SELECT config, min(x) AS x_low, max(x) AS x_high, min(y) AS y_low, max(y) AS y_high
  FROM points WHERE {DRAWABLE} GROUP BY config"""
    rest = last_of_cells("points", "extents", grid, at_most=at_most, height=height).removeprefix("WITH ")
    return f"WITH extents AS (\n  {extents}\n),\ncells AS (\n{cells('points', 'extents', grid, height)}\n),\n{rest}"


def cells(points: str, extents: str, grid: tuple[int, int], height: str = HEIGHT) -> str:
    """The cells of the grid that hold points: how many, and the rank of the last.

    Arguments are as of `reduced`; `extents` selects the smallest and the largest x and y of each config.
    """
    return f"""  SELECT config, i, j, extreme, max(rank) AS rank, count(*) AS n
  FROM ({_placed(points, extents, grid, height)}) AS placed GROUP BY ALL"""


def last_of_cells(
    points: str, extents: str, grid: tuple[int, int], *, at_most: int = DRAW_AT_MOST, height: str = HEIGHT, ties: str = "x, y"
) -> str:  # fmt: skip
    """The steps after a table `cells`; `ties` decides between rows of equal rank in a cell."""
    return f"""WITH grids AS (
  SELECT halvings, count(DISTINCT (config, i >> halvings, j >> halvings, extreme)) AS kept
  FROM cells, (SELECT range::INTEGER AS halvings FROM range({_HALVINGS})) GROUP BY halvings
),
grid AS (SELECT coalesce(min(halvings) FILTER (kept <= {at_most}), {_HALVINGS - 1}) AS halvings FROM grids),
kept AS (
  SELECT config, i >> halvings AS i, j >> halvings AS j, extreme, max(rank) AS rank, sum(n)::BIGINT AS n, halvings
  FROM cells, grid GROUP BY ALL
),
candidates AS (
  SELECT points.* FROM {points} AS points JOIN (SELECT DISTINCT config, rank FROM kept) AS last USING (config, rank)
)
SELECT placed.* EXCLUDE (i, j, extreme), kept.n, kept.halvings::BIGINT AS halvings
FROM ({_placed("candidates", extents, grid, height)}) AS placed
CROSS JOIN grid JOIN kept ON kept.config = placed.config AND kept.rank = placed.rank AND kept.extreme = placed.extreme
  AND kept.i = placed.i >> grid.halvings AND kept.j = placed.j >> grid.halvings
QUALIFY row_number() OVER (PARTITION BY kept.config, kept.i, kept.j, kept.extreme ORDER BY {ties}) = 1
ORDER BY placed.rank, placed.config, x, y"""


def _placed(points: str, extents: str, grid: tuple[int, int], height: str) -> str:
    """The points that can be drawn with their cell, i across and j up, and whether they are extremes of their config."""
    columns, rows = grid
    return f"""
  SELECT points.*,
    least(floor(coalesce(x / x_end, 0) * {columns}), {columns - 1})::INTEGER AS i,
    least(floor(coalesce({height}, 0) * {rows}), {rows - 1})::INTEGER AS j,
    CASE WHEN x = x_low OR x = x_high OR y = y_low OR y = y_high
      THEN (x = x_low)::INTEGER + 2 * (x = x_high)::INTEGER + 4 * (y = y_low)::INTEGER + 8 * (y = y_high)::INTEGER
      ELSE 0 END AS extreme
  FROM {points} AS points
  JOIN (
    SELECT *, nullif(max(x_high) OVER (), 0) AS x_end, nullif(max(y_high) OVER (), 0) AS y_end FROM {extents}
  ) AS extents USING (config)
  WHERE {DRAWABLE}
"""
