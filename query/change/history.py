"""History: which series changed, when, by how much, between which commits, and how sure that is."""

import datetime
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ... import sql
from ...sql.rules import FDR
from ...warehouse.console.numbers import is_time_or_rate
from ...warehouse.errors import UnknownName
from ..ask import Answer, ask
from ..axes import AXES
from ..filters import build_filter
from .changepoints import LEAST_RUNS, SIGNIFICANCE, examine
from .incidents import count_cases, find_incidents, order_runs
from .levels import ChangePoint

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

Row = dict[str, Any]

LABELS = (
    "config", "machine", "case_id", *AXES, "metric", "phase", "unit", "better",
)  # fmt: skip
MIN_MAGNITUDE = 0.01  # default of `bench history --min-magnitude`
USUAL = "coalesce(phase NOT IN ('cold', 'warmup'), true)"  # what is judged where no metric is named
SERIES = ("config", "machine", "case_id", "metric", "phase", "unit")  # what tells one series from another
COLUMNS = tuple(sql.computed()["change_points"].columns)


@dataclass(frozen=True, slots=True)
class SeriesRun:
    """The facts of a run that a change point needs."""

    run_id: str
    began_at: datetime.datetime | None
    git_commit: str | None
    host: str | None
    environment_id: str | None


@dataclass(frozen=True, slots=True)
class Series:
    """One number of a case or suite, in the runs of its config and machine that tried its suite, from the first with it."""

    labels: Row  # LABELS
    runs: Sequence[SeriesRun]
    values: Sequence[float | None]  # the median of a run; None where it has none

    @property
    def n(self) -> int:
        """Runs that have the number."""
        return len(self.values) - self.values.count(None)


@dataclass(frozen=True, slots=True)
class History:
    """The changes of the series that were chosen."""

    series: Sequence[Series]
    changes: Sequence[Sequence[ChangePoint]]  # of each series
    rows: Sequence[Row]  # COLUMNS, a row per change; the newest first, of one run the largest first
    incidents: Sequence[Row]  # INCIDENT_COLUMNS, the costliest first
    judged: int  # series of LEAST_RUNS or more
    threshold: float  # p up to which a change counts


def choose(warehouse: "Warehouse", where: Mapping[str, Sequence[str]], pattern: str | None = None) -> list[str]:
    """Choose the series that `read` and `values` give.

    Where no metric is named, cold and warm-up phases are left out.

    Args:
        warehouse: Where to look.
        where: Columns of `history_series` -> values to keep; an empty list keeps all.
        pattern: Part of a model's name, or a pattern of the whole of it with * and ?; case does not matter.

    Returns:
        What was left out because no metric was named.

    Raises:
        UnknownName: A value that no series has, or a pattern that fits none.
    """
    kept = build_filter(warehouse, "history_series", where)
    condition, parameters = kept.condition, list[object](kept.parameters)
    if pattern is not None:
        fits = "lower(name) GLOB lower(?)" if set(pattern) & set("*?") else "contains(lower(name), lower(?))"
        if not warehouse.rows(f"SELECT 1 FROM history_series WHERE {fits} LIMIT 1", [pattern]):
            known = [name for (name,) in warehouse.rows("SELECT DISTINCT name FROM history_series ORDER BY 1") if name]
            raise UnknownName("model", pattern, known, cure="List them with: bench list cases")
        condition = f"{condition} AND {fits}"
        parameters.append(pattern)
    usual = "true" if where.get("metric") else USUAL
    warehouse.connection.execute(_CHOSEN.format(condition=condition, usual=usual), parameters)
    unusual = "SELECT DISTINCT metric || coalesce(' (' || phase || ')', '') FROM history_series"
    return [name for (name,) in warehouse.rows(f"{unusual} WHERE {condition} AND NOT {usual} ORDER BY 1", parameters)]


# One row per series × run of its config and class of machine that tried anything of its suite, from the first run that has the
# number.
_CHOSEN = f"""
    CREATE OR REPLACE TEMP TABLE chosen AS
    WITH
    time AS (
        SELECT time.*, machine, row_number() OVER (ORDER BY began_at NULLS FIRST, time.run_id) AS place
        FROM _run_times AS time
        JOIN machines ON time.run_id = machines.run_id
    ),
    wanted AS (
        SELECT series.*, machine, place, _series_key(case_id, metric, phase, unit) AS series_id
        FROM (SELECT * FROM history_series WHERE {{condition}} AND {{usual}}) AS series
        JOIN time ON series.run_id = time.run_id
    ),
    firsts AS (
        SELECT config, machine, series_id, min(place) AS first_place
        FROM wanted
        WHERE value IS NOT NULL
        GROUP BY config, machine, series_id
    ),
    named AS (
        SELECT {", ".join(f"wanted.{label}" for label in LABELS)}, wanted.series_id, first_place
        FROM wanted
        JOIN firsts ON wanted.place = first_place AND wanted.series_id = firsts.series_id
    ),
    tried AS (SELECT config, suite, run_id FROM _all_cells UNION SELECT config, suite, run_id FROM case_outcomes)
    SELECT
        named.* EXCLUDE first_place, time.place, time.run_id, time.began_at, time.git_commit, time.host, time.environment_id,
        wanted.n, value, low, high
    FROM named
    JOIN tried ON named.config = tried.config AND named.suite IS NOT DISTINCT FROM tried.suite
    JOIN time
        ON tried.run_id = time.run_id AND named.machine IS NOT DISTINCT FROM time.machine AND time.place >= named.first_place
    LEFT JOIN wanted ON tried.run_id = wanted.run_id AND named.series_id = wanted.series_id
"""


def read(warehouse: "Warehouse") -> list[Series]:
    """The series that were chosen."""
    known = warehouse.rows("SELECT DISTINCT place, run_id, began_at, git_commit, host, environment_id FROM chosen")
    runs = {place: SeriesRun(*rest) for place, *rest in known}
    query = f"""
        SELECT {", ".join(LABELS)}, list(place ORDER BY place), list(value ORDER BY place)
        FROM chosen GROUP BY ALL ORDER BY {_ORDER}
    """
    shared: dict[tuple[int, ...], list[SeriesRun]] = {}  # most series are of the same runs
    found = []
    for *labels, places, values in warehouse.rows(query):
        key = tuple(places)
        if key not in shared:
            shared[key] = [runs[place] for place in places]
        found.append(Series(dict(zip(LABELS, labels, strict=True)), shared[key], values))
    return found


def values(warehouse: "Warehouse", since: datetime.datetime | None = None) -> Answer:
    """The values of the chosen series, a row for every run: NULL with a status where it has none."""
    query = f"""
        SELECT
            {", ".join(f"chosen.{label}" for label in LABELS)}, began_at, chosen.run_id, git_commit, host, n, value, low,
            high, CASE WHEN value IS NULL THEN coalesce(nullif(status, 'ok'), 'not measured') ELSE 'ok' END AS status
        FROM chosen
        LEFT JOIN case_outcomes AS ended
            ON chosen.run_id = ended.run_id AND chosen.case_id = ended.case_id AND kind = 'performance'
        WHERE coalesce(began_at >= ?::TIMESTAMP, true)
        ORDER BY {_ORDER}, place
    """
    answer = ask(warehouse, query, [since])
    assert answer is not None, "a SELECT gives rows"
    return answer


_ORDER = ", ".join(f"chosen.{label}" for label in ("suite", "name", "metric", *LABELS))


def find(
    series: Sequence[Series], *, fdr: float = FDR, min_magnitude: float = 0.0,
    since: datetime.datetime | None = None, progress: Callable[[int], None] | None = None,
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
    """
    examined = examine([one.values for one in series], progress=progress)
    likely = [one.changes() for one in examined]
    evidence = [min((change.p for change in changes), default=1.0) for changes in likely]
    judged = [p for one, p in zip(series, evidence, strict=True) if one.n >= LEAST_RUNS]
    passed = sum(rate <= fdr for rate in false_discovery_rates(judged))
    threshold = min(SIGNIFICANCE, fdr * passed / max(1, len(judged)))
    found = [
        [] if p > threshold
        else changes if all(change.counts(threshold, min_magnitude) for change in changes)
        else one.changes(threshold, min_magnitude)
        for one, changes, p in zip(examined, likely, evidence, strict=True)
    ]  # fmt: skip

    rows = [row for one, changes in zip(series, found, strict=True) for row in _rows(one, changes)]
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
    """For each p, the expected share of false discoveries among it and all smaller ones (Benjamini and Hochberg, 1995).

    Written here because `bench history` needs nothing else of scipy.stats, whose import takes 1 s.
    """
    rates, least = [1.0] * len(p), 1.0
    for rank, index in enumerate(sorted(range(len(p)), key=p.__getitem__, reverse=True)):
        least = rates[index] = min(least, p[index] * len(p) / (len(p) - rank))
    return rates


def _rows(series: Series, changes: Sequence[ChangePoint]) -> Iterator[Row]:
    """The changes of a series as rows."""
    apart = {place for change in changes if change.kind == "excursion" for place in range(change.index, change.end + 1)}
    known = {place: value for place, value in enumerate(series.values) if value is not None}
    level = {place: value for place, value in known.items() if place not in apart}
    lasting = [change for change in changes if change.kind in ("step", "drift")]
    for change in changes:
        start = max((other.end for other in lasting if other.end <= change.index and other != change), default=0)
        stop = min(
            (other.index for other in lasting if other.index >= change.end and other != change), default=math.inf
        )
        around = [other for other in lasting if other != change and other.index <= change.index < other.end]
        if around:  # on the way of a drift
            start, stop = max(start, around[0].index), min(stop, around[0].end)
        near = {place: value for place, value in level.items() if start <= place < stop}
        if change.kind == "excursion":
            before = list(near.values())
            after = [value for place, value in known.items() if change.index <= place <= change.end]
        elif change.kind == "two levels":
            middle = (change.before + change.after) / 2
            before, after = ([value for value in known.values() if (value > middle) is high] for high in (False, True))
        else:
            before = [value for place, value in near.items() if place < change.index]
            after = [value for place, value in near.items() if place >= change.end]
        good = series.runs[max(places)] if (places := [place for place in level if place < change.index]) else None
        since, until = series.runs[change.index], series.runs[change.end]
        low, high = (None if around else _interval(change, before, after)) or (None, None)
        found = (
            *series.labels.values(), change.kind, _verdict(change, series.labels, low, high), since.began_at, since.run_id,
            since.git_commit, until.began_at, until.run_id, until.git_commit, good and good.run_id,
            good and good.git_commit, change.before, change.after, change.magnitude, low, high, change.p, len(before),
            len(after), _note(change, good, since if change.kind == "excursion" else until),
            _lasts(change, lasting, max(known)), None,
        )  # fmt: skip
        yield dict(zip(COLUMNS, found, strict=True))


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


def _interval(change: ChangePoint, before: Sequence[float], after: Sequence[float]) -> tuple[float, float] | None:
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


def _variance(values: Sequence[float]) -> float:
    """Of a sample; statistics.variance counts in fractions, which takes twenty times as long."""
    mean = math.fsum(values) / len(values)
    return math.fsum([(value - mean) ** 2 for value in values]) / (len(values) - 1)


def _note(change: ChangePoint, before: SeriesRun | None, after: SeriesRun) -> str | None:
    """Other differences between the runs around a change, or how often two levels alternate."""
    if change.kind == "two levels":
        return f"alternates, {change.count} times"
    if before is None:
        return None
    if before.host != after.host:
        return f"host {before.host or 'unknown'} → {after.host or 'unknown'}"
    if before.environment_id != after.environment_id:
        return "environment differs"
    if before.git_commit is not None and before.git_commit == after.git_commit:
        return "same commit"
    return None
