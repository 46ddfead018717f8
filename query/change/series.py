"""The series that a history judges: which there are, and what each has in which run."""

import datetime
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...warehouse.errors import UnknownName
from ..ask import Answer, ask
from ..axes import AXES
from ..filters import build_filter
from .changepoints import LEAST_RUNS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ...warehouse.database import Warehouse

Row = dict[str, Any]

LABELS = (
    "config", "machine", "case_id", *AXES, "metric", "phase", "unit", "better",
)  # fmt: skip
USUAL = "coalesce(phase NOT IN ('cold', 'warmup'), true)"  # what is judged where no metric is named
SERIES = ("config", "machine", "case_id", "metric", "phase", "unit")  # what tells one series from another


@dataclass(frozen=True, slots=True)
class SeriesRun:
    """The facts of a run that a change point needs."""

    run_id: str
    began_at: datetime.datetime | None
    git_commit: str | None
    host: str | None
    environment_id: str | None
    night: int  # its round's place in time


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One number of a case or suite, in the rounds of its config and machine that tried its suite, from the first with it."""

    labels: Row  # LABELS
    runs: Sequence[SeriesRun]  # those with the number, and one of each round without
    numbers: "NDArray[np.float64]"  # the median of a run; NaN where it has none

    @property
    def values(self) -> list[float | None]:
        """The numbers as Python has them; None where a run has none."""
        return [None if value != value else value for value in self.numbers.tolist()]

    @property
    def n(self) -> int:
        """Runs that have the number."""
        import numpy as np

        return len(self.numbers) - int(np.count_nonzero(np.isnan(self.numbers)))


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
    connection = warehouse.connection
    connection.execute(_RUNS)
    connection.execute(_VALUES.format(condition=condition, usual=usual), parameters)
    connection.execute(_NAMED)
    connection.execute(_CHOSEN)
    left = f"SELECT DISTINCT metric, phase FROM _history_values WHERE {condition} AND NOT {usual}"
    named = f"SELECT metric || coalesce(' (' || phase || ')', '') FROM ({left}) ORDER BY 1"
    return [name for (name,) in warehouse.rows(named, parameters)]


# One row per run, in order of time; of one config and class of machine a group. Where no more than the host of a machine is
# known, a host of enough rounds stands for the class, as in `regressions`.
_RUNS = f"""
    CREATE OR REPLACE TEMP TABLE chosen_runs AS
    WITH
    placed AS (
        SELECT time.*, round_id, row_number() OVER (ORDER BY time.began_at NULLS FIRST, time.run_id) AS place
        FROM _run_times AS time
        JOIN _rounds AS round ON time.run_id = round.run_id
    ),
    hosts AS (
        SELECT config, machine_id
        FROM placed
        GROUP BY config, machine_id
        HAVING count(DISTINCT round_id) >= {LEAST_RUNS}
    ),
    timed AS (
        SELECT
            placed.*, coalesce(class.machine, hosts.machine_id) AS machine,
            min(place) OVER (PARTITION BY placed.config, round_id) AS night
        FROM placed
        LEFT JOIN _machine_classes AS class ON placed.machine_id = facts_id
        LEFT JOIN hosts ON placed.config = hosts.config AND placed.machine_id = hosts.machine_id
    )
    SELECT *, dense_rank() OVER (ORDER BY config, machine) AS machine_group
    FROM timed
"""
# The values as numbers alone: names are read once a series, as its first run has them.
_VALUES = """
    CREATE OR REPLACE TEMP TABLE chosen_values AS
    SELECT place, machine_group, _series_key(case_id, metric, phase, unit) AS series_id, n, value, low, high
    FROM (SELECT * FROM _history_values WHERE {condition} AND {usual}) AS series
    JOIN chosen_runs AS run ON series.run_id = run.run_id
"""


def _label(column: str) -> str:
    return f"run.{column}" if column == "machine" else f"named.{column}"


_NAMED = f"""
    CREATE OR REPLACE TEMP TABLE chosen_series AS
    WITH
    firsts AS (
        SELECT machine_group, series_id, min(place) AS first_place
        FROM chosen_values
        WHERE value IS NOT NULL
        GROUP BY machine_group, series_id
    ),
    named AS (
        SELECT *, _series_key(case_id, metric, phase, unit) AS series_id
        FROM _history_values
        WHERE run_id IN (SELECT run_id FROM firsts JOIN chosen_runs ON first_place = place)
    )
    SELECT
        row_number() OVER (ORDER BY {", ".join(_label(label) for label in ("suite", "name", "metric", *LABELS))}) AS series,
        {", ".join(_label(label) for label in LABELS)}, run.machine_group, named.series_id, first_place
    FROM named
    JOIN chosen_runs AS run ON named.run_id = run.run_id
    JOIN firsts
        ON place = first_place AND run.machine_group = firsts.machine_group AND named.series_id = firsts.series_id
"""
# One row per series × run of its config and class of machine that has the number, from the first. Of a round without it one run
# that tried its suite: the one that tried the case, if there is one. `every` is read for rounds of one run and for those of
# several; written out in between, all values of a large store would cost a third more.
_CHOSEN = """
    CREATE OR REPLACE TEMP TABLE chosen AS
    WITH
    tried AS (SELECT suite, run_id FROM _all_cells UNION SELECT suite, run_id FROM case_outcomes),
    visits AS (
        SELECT
            run.place, night, machine_group, suite,
            count(*) OVER (PARTITION BY machine_group, suite, round_id) AS shards
        FROM tried
        JOIN chosen_runs AS run ON tried.run_id = run.run_id
    ),
    every AS NOT MATERIALIZED (
        SELECT series, visit.place, night, shards, n, value, low, high
        FROM chosen_series AS named
        JOIN visits AS visit
            ON named.machine_group = visit.machine_group AND named.suite IS NOT DISTINCT FROM visit.suite
            AND visit.place >= first_place
        LEFT JOIN chosen_values AS known ON visit.place = known.place AND named.series_id = known.series_id
    )
    SELECT series, place, n, value, low, high FROM every WHERE shards = 1
    UNION ALL
    SELECT every.series, every.place, n, value, low, high
    FROM every
    JOIN chosen_series AS named ON every.series = named.series
    JOIN chosen_runs AS run ON every.place = run.place
    LEFT JOIN case_outcomes AS ended
        ON run.run_id = ended.run_id AND named.case_id = ended.case_id AND kind = 'performance'
    WHERE shards > 1
    WINDOW same_round AS (
        PARTITION BY every.series, every.night ORDER BY value IS NULL, ended.run_id NULLS LAST, every.place
    )
    QUALIFY value IS NOT NULL OR row_number() OVER same_round = 1
"""


def read(warehouse: "Warehouse") -> list[Series]:
    """The series that were chosen."""
    import numpy as np

    known = warehouse.rows("SELECT place, run_id, began_at, git_commit, host, environment_id, night FROM chosen_runs")
    runs = {place: SeriesRun(*rest) for place, *rest in known}
    names = warehouse.rows(f"SELECT {', '.join(LABELS)} FROM chosen_series ORDER BY series")
    table = warehouse.connection.sql("SELECT series, place, value FROM chosen ORDER BY series, place").fetchnumpy()
    numbers = np.ma.filled(table["value"], np.nan)
    series, begins = np.unique(np.asarray(table["series"]), return_index=True)
    ends = [*begins.tolist(), len(numbers)]
    shared: dict[bytes, list[SeriesRun]] = {}  # most series are of the same runs
    found = []
    for number, (start, stop) in zip(series.tolist(), itertools.pairwise(ends), strict=True):
        places = np.asarray(table["place"][start:stop])
        if (key := places.tobytes()) not in shared:
            shared[key] = [runs[place] for place in places.tolist()]
        labels = dict(zip(LABELS, names[number - 1], strict=True))
        found.append(Series(labels, shared[key], numbers[start:stop]))
    return found


def values(warehouse: "Warehouse", since: datetime.datetime | None = None) -> Answer:
    """The values of the chosen series, a row for every run: NULL with a status where it has none."""
    query = f"""
        SELECT
            {", ".join(f"named.{label}" for label in LABELS)}, began_at, run_id, git_commit, host, n, value, low, high,
            CASE WHEN value IS NULL THEN coalesce(nullif(status, 'ok'), 'not measured') ELSE 'ok' END AS status
        FROM chosen
        JOIN chosen_series AS named ON chosen.series = named.series
        JOIN chosen_runs AS run ON chosen.place = run.place
        LEFT JOIN (
            SELECT run_id AS ended_run, case_id AS ended_case, status FROM case_outcomes WHERE kind = 'performance'
        ) ON run_id = ended_run AND case_id = ended_case
        WHERE coalesce(began_at >= ?::TIMESTAMP, true)
        ORDER BY named.series, run.place
    """
    answer = ask(warehouse, query, [since])
    assert answer is not None, "a SELECT gives rows"
    return answer
