"""History: which series changed, when, by how much, between which commits, and how sure that is."""

import datetime
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ... import sql
from ...sql.rules import FDR
from ...warehouse.console.numbers import is_time_or_rate
from .changepoints import LEAST_RUNS, SIGNIFICANCE, examine
from .incidents import count_cases, find_incidents, order_runs
from .levels import ChangePoint
from .series import Row, Series, SeriesRun, choose, read
from .settled import Searches

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ...warehouse.database import Warehouse

MIN_MAGNITUDE = 0.01  # default of `bench history --min-magnitude`
COLUMNS = tuple(sql.computed()["change_points"].columns)


@dataclass(frozen=True, slots=True)
class History:
    """The changes of the series that were chosen."""

    series: Sequence[Series]
    changes: Sequence[Sequence[ChangePoint]]  # of each series
    rows: Sequence[Row]  # COLUMNS, a row per change; the newest first, of one run the largest first
    incidents: Sequence[Row]  # INCIDENT_COLUMNS, the costliest first
    judged: int  # series of LEAST_RUNS or more
    threshold: float  # p up to which a change counts


def find(
    series: Sequence[Series], *, fdr: float = FDR, min_magnitude: float = 0.0,
    since: datetime.datetime | None = None, progress: Callable[[int], None] | None = None,
    searches: Searches | None = None,
) -> History:  # fmt: skip
    """Find the changes of every series, with the false discovery rate controlled over all series together.

    A series has changed if its p is no more than SIGNIFICANCE and passes the procedure of Benjamini and Hochberg (JRSS B
    57, 1995) among all that are long enough to judge; its changes are those significant at the level that the procedure
    leaves to it (Benjamini and Bogomolov, JRSS B 76, 2014).

    Args:
        series: What to judge.
        fdr: Of the series said to have changed, the share that may not have.
        min_magnitude: Changes of less than this fraction are passed over.
        since: Changes before it are found but not returned.
        progress: Called with the number of series done.
        searches: What is known of earlier searches.
    """
    examined = examine([one.numbers for one in series], progress=progress, searches=searches)
    likely = [one.changes() for one in examined]
    evidence = [min((change.p for change in changes), default=1.0) for changes in likely]
    judged = [p for one, p in zip(series, evidence, strict=True) if one.n >= LEAST_RUNS]
    passed = sum(rate <= fdr for rate in false_discovery_rates(judged))
    threshold = min(SIGNIFICANCE, fdr * passed / max(1, len(judged)))
    found = [
        [] if p > threshold else one.changes(threshold, min_magnitude, searches)
        for one, p in zip(examined, evidence, strict=True)
    ]

    rows = [row for one, changes in zip(series, found, strict=True) if changes for row in _rows(one, changes)]
    if since is not None:
        rows = [row for row in rows if row["since_at"] is None or row["since_at"] >= since]
    incidents = find_incidents(rows, order_runs(series), count_cases(series))
    first = datetime.datetime.min
    rows.sort(
        key=lambda row: (row["since_at"] or first, row["since_run_id"], abs(row["change"] or math.inf)), reverse=True
    )
    return History(series, found, rows, incidents, len(judged), threshold)


def all_changes(warehouse: "Warehouse") -> list[list[Any]]:
    """The rows of the computed table `change_points`."""
    return [list(row.values()) for row in find_all(warehouse).rows]


def all_incidents(warehouse: "Warehouse") -> list[list[Any]]:
    """The rows of the computed table `incidents`."""
    return [list(row.values()) for row in find_all(warehouse).incidents]


def find_all(warehouse: "Warehouse") -> History:
    """The changes of every series that is judged unless a metric is named."""
    choose(warehouse, {})
    return find(read(warehouse), min_magnitude=MIN_MAGNITUDE)


def false_discovery_rates(p: Sequence[float]) -> list[float]:
    """The expected share of false discoveries among each p and all smaller ones (Benjamini and Hochberg, 1995).

    Written here because `bench history` needs nothing else of scipy.stats, whose import takes 1 s.
    """
    rates, least = [1.0] * len(p), 1.0
    for rank, index in enumerate(sorted(range(len(p)), key=p.__getitem__, reverse=True)):
        least = rates[index] = min(least, p[index] * len(p) / (len(p) - rank))
    return rates


def _rows(series: Series, changes: Sequence[ChangePoint]) -> Iterator[Row]:
    """The changes of a series as rows."""
    import numpy as np

    chosen = ~np.isnan(series.numbers)
    known = _Values.of(series.numbers, chosen)
    for change in changes:
        if change.kind == "excursion":
            chosen[change.index : change.end + 1] = False
    level = _Values.of(series.numbers, chosen)
    lasting = [change for change in changes if change.kind in ("step", "drift")]
    for change in changes:
        start = max((other.end for other in lasting if other.end <= change.index and other != change), default=0)
        stop = min(
            (other.index for other in lasting if other.index >= change.end and other != change), default=math.inf
        )
        around = [other for other in lasting if other != change and other.index <= change.index < other.end]
        if around:  # on the way of a drift
            start, stop = max(start, around[0].index), min(stop, around[0].end)
        if change.kind == "excursion":
            before, after = level.between(start, stop), known.between(change.index, change.end + 1)
        elif change.kind == "two levels":
            middle = (change.before + change.after) / 2
            before, after = (known.values[(known.values > middle) == high] for high in (False, True))
        else:
            before = level.between(start, min(change.index, stop))
            after = level.between(max(start, change.end), stop)
        earlier = level.places[level.places < change.index]
        good = series.runs[earlier[-1]] if len(earlier) else None
        since, until = series.runs[change.index], series.runs[change.end]
        low, high = (None if around else _interval(change, before, after)) or (None, None)
        found = (
            *series.labels.values(), change.kind, _verdict(change, series.labels, low, high), since.began_at, since.run_id,
            since.git_commit, until.began_at, until.run_id, until.git_commit, good and good.run_id,
            good and good.git_commit, change.before, change.after, change.magnitude, low, high, change.p, len(before),
            len(after), _note(change, series.labels["machine"], good, since if change.kind == "excursion" else until),
            _lasts(change, lasting, int(known.places[-1])), None,
        )  # fmt: skip
        yield dict(zip(COLUMNS, found, strict=True))


@dataclass(frozen=True, slots=True)
class _Values:
    """Values by their places, in order."""

    places: "NDArray[np.intp]"
    values: "NDArray[np.float64]"

    @classmethod
    def of(cls, numbers: "NDArray[np.float64]", chosen: "NDArray[np.bool_]") -> "_Values":
        """Those that are chosen of the numbers of a series."""
        return cls(chosen.nonzero()[0], numbers[chosen])

    def between(self, start: float, stop: float) -> "NDArray[np.float64]":
        """Those from one place on and before another."""
        return self.values[self.places.searchsorted(start) : self.places.searchsorted(stop)]


def _lasts(change: ChangePoint, lasting: Sequence[ChangePoint], newest: int) -> bool | None:
    """Return whether the series is still nearer to the level after than to the one before."""
    if change.kind == "two levels":
        return None
    if change.kind == "excursion":
        return change.end == newest
    now = max(lasting, key=lambda other: other.index).after
    return abs(now - change.after) <= abs(now - change.before)


def _verdict(change: ChangePoint, labels: Row, low: float | None, high: float | None) -> str | None:
    """FASTER or SLOWER for times and rates, BETTER or WORSE for the rest, UNSURE where the interval holds 0 or levels alternate.

    None where there is no direction.
    """
    if labels["better"] is None:
        return None
    if change.kind == "two levels" or (low is not None and high is not None and low <= 0 <= high):
        return "UNSURE"
    better = (change.after > change.before) == (labels["better"] == "higher")
    if is_time_or_rate(labels["unit"]):
        return "FASTER" if better else "SLOWER"
    return "BETTER" if better else "WORSE"


def _interval(
    change: ChangePoint, before: "NDArray[np.float64]", after: "NDArray[np.float64]"
) -> tuple[float, float] | None:
    """The 95 % interval of a magnitude: of the ratio of two means by the delta method.

    Welch's for a step. The few values of an excursion are taken to vary as those around it. None for a drift, whose levels are
    ends of a line, for two levels, and where there is no magnitude.
    """
    few = change.kind == "excursion"
    if change.kind not in ("step", "excursion") or change.magnitude is None or min(len(before), len(after) + few) < 2:
        return None
    ratio = change.after / change.before
    errors = [
        (size / change.before) ** 2 * _variance(before if few else level) / len(level)
        for size, level in ((ratio, before), (1.0, after))
    ]
    if not sum(errors):  # both levels are exact
        return change.magnitude, change.magnitude
    from scipy.special import stdtrit

    freedom = (
        len(before) - 1
        if few
        else sum(errors) ** 2
        / sum(error**2 / (len(level) - 1) for error, level in zip(errors, (before, after), strict=True))
    )
    width = float(stdtrit(int(freedom), 0.975)) * math.sqrt(sum(errors))
    return change.magnitude - width, change.magnitude + width


def _variance(values: "NDArray[np.float64]") -> float:
    """The variance of a sample; statistics.variance counts in fractions, which takes twenty times as long."""
    mean = math.fsum(values.tolist()) / len(values)
    return math.fsum(((values - mean) ** 2).tolist()) / (len(values) - 1)


def _note(change: ChangePoint, machine: str | None, before: SeriesRun | None, after: SeriesRun) -> str | None:
    """Other differences between the runs around a change, or how often two levels alternate. No host of a known machine."""
    if change.kind == "two levels":
        return f"alternates, {change.count} times"
    if before is None:
        return None
    if machine is None and before.host != after.host:
        return f"host {before.host or 'unknown'} → {after.host or 'unknown'}"
    if before.environment_id != after.environment_id:
        return "environment differs"
    if before.git_commit is not None and before.git_commit == after.git_commit:
        return "same commit"
    return None
