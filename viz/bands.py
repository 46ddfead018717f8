"""Bands of a scatter: median, quantiles and fences of its points along the x axis, from a histogram that one pass makes."""

import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from ..query.pasteable_sql import number_literal
from .downsample import DRAWABLE, Extent

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

_COLUMNS = 64  # of the x axis; neighbours with few points are one band
_LEAST = 30  # points of a band, where its config has as many
_FINE = 400  # steps of the histogram to a factor of e: a quantile is off by 0.13 % at most
_FENCE = 3.0  # distances between the quartiles, beyond which a point is an outlier: Tukey's "far out"
_DOUBT = 0.02  # of the median, at least, is no outlier: times that are all alike have quartiles at no distance
_WIDEST = 1 / 16  # of the x axis: a wider band would take the slope for scatter
_FEW = 8  # points from which on quartiles say what an outlier is


@dataclass(frozen=True, slots=True)
class Band:
    """The points of a config of about one x."""

    start: float  # the smallest x
    end: float  # the largest
    x: float  # the mean
    points: int
    low: float  # 5 % of the points are lower
    first: float  # quartiles
    median: float
    third: float
    high: float  # 5 % are higher
    most: float  # 1 % are higher
    lowest: float  # the smallest y
    highest: float  # the largest

    @property
    def fences(self) -> tuple[float, float]:
        """Beyond which points are outliers."""
        if self.points < _FEW:
            return 0.0, float("inf")
        reach = _FENCE * (self.third - self.first) + _DOUBT * self.median
        return self.first - reach, self.third + reach


@dataclass(frozen=True, slots=True)
class Bands:
    """Those of all configs, each from the lowest x on."""

    of_config: Mapping[str, Sequence[Band]]
    x_end: float

    @classmethod
    def read(cls, warehouse: "Warehouse", points: str, configs: Sequence[str], x_end: float) -> Self:
        """Those of a SELECT of points up to `x_end`, whose configs are given by their places from 1."""
        found: dict[str, list[Band]] = {config: [] for config in configs}
        for place, *numbers in warehouse.rows(_SQL.format(points=points, x_end=number_literal(x_end or 1.0))):
            found[configs[int(place) - 1]].append(Band(*numbers))
        return cls(found, x_end or 1.0)

    @property
    def lowest(self) -> float:
        """The smallest y, 1 without points."""
        return min((band.lowest for bands in self.of_config.values() for band in bands), default=1.0)

    @property
    def highest(self) -> float:
        """The largest y, 0 without points."""
        return max((band.highest for bands in self.of_config.values() for band in bands), default=0.0)

    @property
    def extents(self) -> list[Extent]:
        """Of each config with points, its place and its smallest and largest x and y."""
        return [
            Extent(
                place,
                min(band.start for band in bands), max(band.end for band in bands),
                min(band.lowest for band in bands), max(band.highest for band in bands),
            )
            for place, bands in enumerate(self.of_config.values(), 1) if bands
        ]  # fmt: skip

    def points(self, config: str) -> int:
        """Count the points of a config that can be drawn."""
        return sum(band.points for band in self.of_config[config])

    @property
    def bulk(self) -> float:
        """The y below which nearly all points lie that are no outliers."""
        tops = (min(band.fences[1], band.most) for bands in self.of_config.values() for band in bands)
        return max(tops, default=0.0) * 1.05

    def lines(self, config: str) -> list[list[Band]]:
        """Those that lines of medians go through: points enough, of about one x. A line ends where there are no points."""
        found: list[list[Band]] = [[]]
        end: float | None = None
        for band in self.of_config[config]:
            if end is not None and band.start - end > _WIDEST * self.x_end:
                found.append([])
            end = band.end
            if self._told(band):
                found[-1].append(band)
        return [line for line in found if line]

    def _told(self, band: Band) -> bool:
        return band.points >= _LEAST * 2 / 3 and band.end - band.start <= _WIDEST * self.x_end

    def outliers(self, points: Iterable[tuple[str, float, float]]) -> list[bool]:
        """Return whether each point, a config with x and y, is one."""
        ends = {config: [band.end for band in bands] for config, bands in self.of_config.items()}
        fences = {config: [band.fences for band in bands] for config, bands in self.of_config.items()}
        found = []
        for config, x, y in points:
            low, high = fences[config][bisect.bisect_left(ends[config], x)]
            found.append(not low <= y <= high)
        return found


_QUANTILES = ", ".join(
    f"exp(min(j) FILTER (upto >= {q} * points) / {_FINE})" for q in (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
)
_SQL = f"""WITH histogram AS (
  SELECT config, floor(x / {{x_end}} * {_COLUMNS})::INTEGER AS i,
    round(ln(greatest(y, 1e-6)) * {_FINE})::INTEGER AS j, count(*) AS n, min(x) AS x_first, max(x) AS x_last, sum(x) AS sum_x,
    min(y) AS y_low, max(y) AS y_high
  FROM (
{{points}}
  ) AS points WHERE {DRAWABLE} GROUP BY ALL
),
columns AS (
  SELECT config, i, sum(sum(n)) OVER (PARTITION BY config ORDER BY i DESC) - sum(n) AS beyond
  FROM histogram GROUP BY config, i
),
bands AS (SELECT config, i, floor(beyond / {_LEAST}) AS band FROM columns),
cumulated AS (
  SELECT *, sum(n) OVER (PARTITION BY config, band ORDER BY j, i) AS upto, sum(n) OVER (PARTITION BY config, band) AS points
  FROM histogram JOIN bands USING (config, i)
)
SELECT config, min(x_first), max(x_last), sum(sum_x) / sum(n), sum(n)::BIGINT, {_QUANTILES}, min(y_low), max(y_high)
FROM cumulated GROUP BY config, band ORDER BY config, band DESC"""
