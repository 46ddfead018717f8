"""Bands of a scatter: median, quantiles and fences of its points along the x axis, from a histogram that one pass makes."""

import bisect
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from ..query.pasteable_sql import number_literal
from .downsample import DRAWABLE, Extent

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

_COLUMNS = 64  # of the x axis; neighbours with few points are one band
_LEAST = 30  # points of a band, where its config has as many
_FINE = 400  # steps of the histogram to a factor of e: a quantile is off by 0.13 % at most
_COARSE = 10  # of these, in which modes are looked for: 2.5 %
_JUDGED, _MANY, _RAREST = 30, 100, 0.15  # points of a band from which on it may have two modes; the share of the rarer
_FENCE = 3.0  # distances between the quartiles, beyond which a point is an outlier: Tukey's "far out"
_DOUBT = 0.02  # of the median, at least, is no outlier: times that are all alike have quartiles at no distance
_WIDEST = 1 / 16  # of the x axis: a wider band would take the slope for scatter
_FEW = 8  # points from which on quartiles say what an outlier is

_Shape = Sequence[tuple[int, int]]  # how many points lie in a step of their logarithm, in order


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
    modes: Sequence[Sequence[float]] = ()  # where the points have two: the five quantiles from `low` to `high` of each

    @property
    def gap(self) -> float:
        """The middle between two modes, in steps of their logarithm."""
        return math.log(self.modes[0][-1] * self.modes[1][0]) / 2 * _FINE / _COARSE

    @property
    def fences(self) -> tuple[float, float]:
        """Beyond which points are outliers: below those of the lower mode, or above those of the upper."""
        if self.points < _FEW:
            return 0.0, float("inf")
        quartiles = [mode[1:4] for mode in self.modes] or [(self.first, self.median, self.third)]
        reaches = [_FENCE * (third - first) + _DOUBT * median for first, median, third in quartiles]
        return quartiles[0][0] - reaches[0], quartiles[-1][2] + reaches[-1]


@dataclass(frozen=True, slots=True)
class Bands:
    """Those of all configs, each from the lowest x on."""

    of_config: Mapping[str, Sequence[Band]]
    x_end: float

    @classmethod
    def read(cls, warehouse: "Warehouse", points: str, configs: Sequence[str], x_end: float) -> Self:
        """Those of a SELECT of points up to `x_end`, whose configs are given by their places from 1."""
        found: dict[str, list[Band]] = {config: [] for config in configs}
        shapes: dict[str, list[_Shape]] = {config: [] for config in configs}
        for place, *numbers, steps, counts in warehouse.rows(
            _SQL.format(points=points, x_end=number_literal(x_end or 1.0))
        ):
            found[configs[int(place) - 1]].append(replace(Band(*numbers), modes=two_modes(steps, counts)))
            shapes[configs[int(place) - 1]].append([*zip(steps, counts, strict=True)])
        return cls({config: _between(bands, shapes[config]) for config, bands in found.items()}, x_end or 1.0)

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
        """The extent of each config with points: its place, and its smallest and largest x and y."""
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
        """Those that lines of medians go through: points enough, of about one x. A line ends where there are no points.

        Where points have two modes, a line goes through each.
        """
        found: list[list[Band]] = [[]]
        second: list[Band] = []  # the line through the upper modes, beside the last one found
        end: float | None = None
        for band in self.of_config[config]:
            is_apart = end is not None and band.start - end > _WIDEST * self.x_end
            end = band.end
            is_told = self._told(band)
            if is_apart or (is_told and bool(band.modes) != bool(second)):
                second = []
                found += [[], second] if is_told and band.modes else [[]]
            if not is_told:
                continue
            if band.modes:
                lower, upper = (replace(band, low=mode[0], median=mode[2], high=mode[4]) for mode in band.modes)
                found[-2].append(lower)
                second.append(upper)
            else:
                found[-1].append(band)
        return [line for line in found if line]

    def bands_of_two_modes(self, config: str) -> list[Band]:
        """Those whose points have two modes."""
        return [band for band in self.of_config[config] if self._told(band) and band.modes]

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


def _between(bands: Sequence[Band], shapes: Sequence[_Shape]) -> list[Band]:
    """The bands; one with too few points to tell, between two of two modes, has theirs: its points lie above or below the gap."""
    telling = [place for place, band in enumerate(bands) if band.modes or band.points >= _MANY]
    found = list(bands)
    for place, band in enumerate(bands):
        at = bisect.bisect_left(telling, place)
        if band.modes or band.points >= _MANY or not 0 < at < len(telling):
            continue
        before, after = bands[telling[at - 1]], bands[telling[at]]
        if before.modes and after.modes:
            share = (band.x - before.x) / (after.x - before.x)
            gap = (1 - share) * before.gap + share * after.gap
            found[place] = replace(band, modes=_modes(shapes[place], gap))
    return found


def _modes(shape: _Shape, gap: float) -> Sequence[Sequence[float]]:
    """The 5 %, 25 %, 50 %, 75 % and 95 % of the points on each side of a step; nothing where all lie on one."""
    sides = [[(step, count) for step, count in shape if (step > gap) is upper] for upper in (False, True)]
    return [[_quantile(side, share) for share in (0.05, 0.25, 0.5, 0.75, 0.95)] for side in sides] if all(sides) else ()


def two_modes(steps: Sequence[int], counts: Sequence[int]) -> Sequence[Sequence[float]]:
    """The 5 %, 25 %, 50 %, 75 % and 95 % of each of two modes of points; nothing where there is one mode.

    There are two where the density falls between them to a quarter of the lower peak, by more than chance does, and each has a
    share of _RAREST at least.

    Args:
        steps: Logarithms of the points, in steps of _COARSE / _FINE, in order.
        counts: Points of each.
    """
    total = sum(counts)
    if total < _JUDGED:
        return ()
    dense = dict(zip(steps, counts, strict=True))
    places = range(steps[0], steps[-1] + 1)
    reach, sure = (1, 4.0) if total >= _MANY else (2, 3.0)
    smooth = [sum(dense.get(place + away, 0) for away in range(-reach, reach + 1)) for place in places]
    left = itertools.accumulate(smooth, max)
    right = reversed([*itertools.accumulate(reversed(smooth), max)])
    below = itertools.accumulate(dense.get(place, 0) for place in places)
    depths = [
        (lower - valley, place)
        for place, valley, lower, share in zip(places, smooth, map(min, left, right), below, strict=True)
        if min(share, total - share) >= _RAREST * total
        and valley <= lower / 4
        and lower - valley > sure * math.sqrt(lower)
    ]
    if not depths:
        return ()
    _, valley_place = max(depths)
    return _modes([*dense.items()], valley_place)


def _quantile(side: _Shape, share: float) -> float:
    """The value below which so much of the points lies, by their place within a step, which is wide for a line."""
    wanted, upto = share * sum(count for _, count in side), 0
    for step, count in side:
        if upto + count >= wanted:
            return math.exp((step + (wanted - upto) / count) * _COARSE / _FINE)
        upto += count
    raise AssertionError("a share of at most 1 is reached")


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
),
shapes AS (
  SELECT config, band, list(step ORDER BY step) AS steps, list(n ORDER BY step) AS counts
  FROM (
    SELECT config, band, floor(j / {_COARSE})::BIGINT AS step, sum(n)::BIGINT AS n
    FROM histogram JOIN bands USING (config, i) GROUP BY ALL
  ) AS coarse
  GROUP BY config, band
)
SELECT config, min(x_first), max(x_last), sum(sum_x) / sum(n), sum(n)::BIGINT, {_QUANTILES}, min(y_low), max(y_high),
  any_value(steps), any_value(counts)
FROM cumulated JOIN shapes USING (config, band) GROUP BY config, band ORDER BY config, band DESC"""
