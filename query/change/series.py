"""The series that a history judges: which there are, and what each has in which run."""

import datetime
import functools
import importlib
import itertools
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...warehouse.errors import UnknownName
from ...warehouse.snapshot import meanwhile
from ..ask import Answer, ask
from ..axes import AXES
from ..filters import build_filter
from ..resolve import is_config
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
        UnknownName: No such column, a value that no series has, or a pattern that fits none.
    """
    kept = build_filter(warehouse, "history_series", where)
    condition, parameters = kept.condition, list[object](kept.parameters)
    if pattern is not None:
        fits = "lower(name) GLOB lower(?)" if set(pattern) & set("*?") else "contains(lower(name), lower(?))"
        if not warehouse.rows(f"SELECT 1 FROM history_series WHERE {fits} LIMIT 1", [pattern]):
            known = [name for (name,) in warehouse.rows("SELECT DISTINCT name FROM history_series ORDER BY 1") if name]
            cure = "List them with: bench list cases"
            if is_config(warehouse, pattern):
                cure = f"It is a config: bench history --configs {shlex.quote(pattern)}"
            raise UnknownName("model", pattern, known, cure=cure)
        condition = f"{condition} AND {fits}"
        parameters.append(pattern)
    usual = "true" if where.get("metric") else USUAL
    connection = warehouse.connection
    connection.execute(_RUNS)
    with meanwhile(functools.partial(_import_ahead, warehouse.rows("SELECT count(*) FROM chosen_runs")[0][0])):
        connection.execute(_SUITES)
        connection.execute(_JUDGED)
        connection.execute(_VALUES.format(condition=condition, usual=usual), parameters)
        connection.execute(_VISITS)
        connection.execute(_FIRSTS)
        first = warehouse.rows("SELECT DISTINCT run_id FROM first_places JOIN chosen_runs ON first_place = place")
        connection.execute(_NAMED.format(runs=", ".join("?" * len(first)) or "NULL"), [run for (run,) in first])
        left = f"SELECT DISTINCT metric, phase FROM judged_values WHERE {condition} AND NOT {usual}"
        named = f"SELECT metric || coalesce(' (' || phase || ')', '') FROM ({left}) ORDER BY 1"
        return [name for (name,) in warehouse.rows(named, parameters)]


def _import_ahead(runs: int) -> None:
    """Import the libraries that reading so many runs needs, and that of a search if they are enough to judge."""
    for library in ("numpy", *(("scipy.special",) if runs >= LEAST_RUNS else ())):
        importlib.import_module(library)


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
# What may be judged: the cells, and the numbers of whole suites, which are computed once as to plan them takes longest.
_SUITES = """
    CREATE OR REPLACE TEMP TABLE suite_values AS
    SELECT config, case_id, suite, mode, device, dtype, backend, metric, phase, unit, better, run_id, cases AS n, value, low, high
    FROM suite_series
"""
_JUDGED = f"""
    CREATE OR REPLACE TEMP VIEW judged_values AS
    SELECT config, case_id, {", ".join(AXES)}, metric, phase, unit, better, run_id, n, value, low, high
    FROM _placed_cells
    UNION ALL BY NAME
    FROM suite_values
"""
# The values as numbers alone: names are read once a series, as its first run has them.
_VALUES = """
    CREATE OR REPLACE TEMP TABLE chosen_values AS
    SELECT place, machine_group, _series_key(case_id, metric, phase, unit) AS series_id, value
    FROM (SELECT * FROM judged_values WHERE {condition} AND {usual}) AS series
    JOIN chosen_runs AS run ON series.run_id = run.run_id
    WHERE value IS NOT NULL
"""
# One row per run × suite that it tried, numbered so that those of one suite, config and class of machine lie together, in order
# of time; `shards` says how many of them are of one round.
_VISITS = """
    CREATE OR REPLACE TEMP TABLE chosen_visits AS
    WITH
    tried AS (SELECT suite, run_id FROM _all_cells UNION SELECT suite, run_id FROM case_outcomes)

    SELECT
        dense_rank() OVER (ORDER BY machine_group, suite) AS suite_group,
        row_number() OVER (ORDER BY machine_group, suite, place) - 1 AS visit, run.place, night, machine_group, suite,
        count(*) OVER (PARTITION BY machine_group, suite, round_id) AS shards
    FROM tried
    JOIN chosen_runs AS run ON tried.run_id = run.run_id
"""


def _label(column: str) -> str:
    return f"run.{column}" if column == "machine" else f"named.{column}"


_FIRSTS = """
    CREATE OR REPLACE TEMP TABLE first_places AS
    SELECT machine_group, series_id, min(place) AS first_place
    FROM chosen_values
    GROUP BY machine_group, series_id
"""
# One row per series. Its runs are the visits of its suite, config and class of machine from its first value on; its number of one
# is, among those of all series, at the visit plus `shift`. Its names are read from its first run: these runs are listed, so that
# nothing is read of others.
_NAMED = f"""
    CREATE OR REPLACE TEMP TABLE chosen_series AS
    WITH
    named AS (
        SELECT DISTINCT
            run_id, {", ".join(label for label in LABELS if label != "machine")},
            _series_key(case_id, metric, phase, unit) AS series_id
        FROM judged_values
        WHERE run_id IN ({{runs}})
    ),
    groups AS (
        SELECT machine_group, suite, suite_group, max(visit) AS last_visit
        FROM chosen_visits
        GROUP BY machine_group, suite, suite_group
    ),
    numbered AS (
        SELECT
            row_number() OVER (ORDER BY {", ".join(_label(label) for label in ("suite", "name", "metric", *LABELS))}) AS series,
            {", ".join(_label(label) for label in LABELS)}, run.machine_group, named.series_id, groups.suite_group,
            visit.visit AS first_visit, last_visit
        FROM named
        JOIN chosen_runs AS run ON named.run_id = run.run_id
        JOIN first_places AS first
            ON place = first_place AND run.machine_group = first.machine_group AND named.series_id = first.series_id
        JOIN groups ON run.machine_group = groups.machine_group AND named.suite IS NOT DISTINCT FROM groups.suite
        ASOF JOIN chosen_visits AS visit ON groups.suite_group = visit.suite_group AND first_place <= visit.place
    )

    SELECT *, (sum(last_visit - first_visit + 1) OVER (ORDER BY series) - last_visit - 1)::BIGINT AS shift FROM numbered
"""
_KNOWN = """
    SELECT shift + visit AS at, value
    FROM chosen_values AS known
    JOIN chosen_series AS named ON known.machine_group = named.machine_group AND known.series_id = named.series_id
    JOIN chosen_visits AS visit ON named.suite_group = visit.suite_group AND known.place = visit.place
"""
# Of a round without the number one run stands for all: the one that tried the case, if there is one.
_LEFT_OUT = """
    SELECT shift + visit AS at
    FROM chosen_series AS named
    JOIN chosen_visits AS visit ON named.suite_group = visit.suite_group AND visit >= first_visit
    JOIN chosen_runs AS run ON visit.place = run.place
    LEFT JOIN chosen_values AS known ON visit.place = known.place AND named.series_id = known.series_id
    LEFT JOIN case_outcomes AS ended
        ON run.run_id = ended.run_id AND named.case_id = ended.case_id AND kind = 'performance'
    WHERE shards > 1
    WINDOW same_round AS (PARTITION BY series, visit.night ORDER BY value IS NULL, ended.run_id NULLS LAST, visit)
    QUALIFY value IS NULL AND row_number() OVER same_round > 1
"""


def read(warehouse: "Warehouse") -> list[Series]:
    """The series that were chosen."""
    import numpy as np

    facts = warehouse.rows("SELECT place, run_id, began_at, git_commit, host, environment_id, night FROM chosen_runs")
    of_place = {place: SeriesRun(*rest) for place, *rest in facts}
    runs = [of_place[place] for (place,) in warehouse.rows("SELECT place FROM chosen_visits ORDER BY visit")]
    named = warehouse.rows(
        f"SELECT shift, first_visit, last_visit, {', '.join(LABELS)} FROM chosen_series ORDER BY series"
    )
    known, left_out = (warehouse.connection.sql(query).fetchnumpy() for query in (_KNOWN, _LEFT_OUT))
    numbers = np.full(sum(last - first + 1 for _, first, last, *_ in named), np.nan)
    np.fmax.at(numbers, known["at"], known["value"])  # a model that failed may have two in one run (see _same_cases)
    kept = np.full(len(numbers), True)
    kept[left_out["at"]] = False
    shared: dict[tuple[int, int, bytes], list[SeriesRun]] = {}  # most series are of the same runs
    found = []
    for shift, first, last, *labels in named:
        own = slice(shift + first, shift + last + 1)
        key = (first, last, kept[own].tobytes())
        if key not in shared:
            shared[key] = [*itertools.compress(runs[first : last + 1], kept[own])]
        found.append(Series(dict(zip(LABELS, labels, strict=True)), shared[key], numbers[own][kept[own]]))
    return found


def values(warehouse: "Warehouse", series: Sequence[Series], since: datetime.datetime | None = None) -> Answer:
    """The values of the series that were read, a row for every run: NULL with a status where it has none."""
    import pyarrow as pa

    places = [number for number, one in enumerate(series, start=1) for _ in one.runs]
    given = pa.table({"series": places, "run_id": [run.run_id for one in series for run in one.runs]})
    warehouse.connection.register("given", given)
    warehouse.connection.execute("CREATE OR REPLACE TEMP TABLE chosen AS FROM given")
    warehouse.connection.unregister("given")
    query = f"""
        SELECT
            {", ".join(f"named.{label}" for label in LABELS)}, began_at, run.run_id, git_commit, host, n, value, low, high,
            CASE WHEN value IS NULL THEN coalesce(nullif(status, 'ok'), 'not measured') ELSE 'ok' END AS status
        FROM chosen
        JOIN chosen_series AS named ON chosen.series = named.series
        JOIN chosen_runs AS run ON chosen.run_id = run.run_id
        LEFT JOIN (
            SELECT run_id AS known_run, _series_key(case_id, metric, phase, unit) AS known_id, n, value, low, high
            FROM judged_values
        ) ON run.run_id = known_run AND named.series_id = known_id
        LEFT JOIN (
            SELECT run_id AS ended_run, case_id AS ended_case, status FROM case_outcomes WHERE kind = 'performance'
        ) ON run.run_id = ended_run AND case_id = ended_case
        WHERE coalesce(began_at >= ?::TIMESTAMP, true)
        ORDER BY named.series, run.place
    """
    answer = ask(warehouse, query, [since])
    assert answer is not None, "a SELECT gives rows"
    return answer
