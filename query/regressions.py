"""Regressions: what got worse since the runs before it, what fell below a limit, and what is no longer there."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from .. import sql
from ..warehouse.errors import Exit, UnknownName
from .ask import ask
from .environments import Fact, differences
from .names import resolve_run

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

REPEAT_HOURS = 12  # runs of one commit as near in time as this are repeats of each other
VERDICTS = ("REGRESSED", "SUSPECTED", "FLAGGED", "LOST", "BORDERLINE", "IMPROVED", "UNSURE", "STEADY")  # worst first
FAILING = ("REGRESSED", "SUSPECTED", "FLAGGED")
COLUMNS = ("finding", *sql.views()["regressions"].columns)  # finding: statistics, limit or coverage
AXES = ("suite", "name", "mode", "device", "dtype", "backend", "batch_size", "sequence_length", "parameters")
KINDS = {"name": "model"}  # what people call a column

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When a difference counts: the arguments of the macro `regressions`."""

    last: int = 20  # runs of the baseline, at most
    floor: float = 0.03
    fdr: float = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What no case may fall below or exceed: the arguments of the macro `newly_flagged`."""

    min_speedup: float = 0.95
    max_compile_seconds: float = 120.0
    min_compression: float = 0.9


def judged_runs(warehouse: "Warehouse", name: str) -> list[str]:
    """The run a name means, and its repeats.

    Repeats are runs of the same config that measured the same known, clean commit within half a day, or that were made
    to confirm it (`bench regressions --confirm`). Where no run came before all of these there is nothing to judge them
    by: then the run is judged with those that confirm it alone, by the others.

    Returns:
        Run ids, oldest first.

    Raises:
        UnknownName: No run answers to the name.
    """
    rows = warehouse.rows(_REPEATS, {"run": resolve_run(warehouse, name), "hours": REPEAT_HOURS})
    nothing_before = all(place == index for index, (_, place, _) in enumerate(rows, 1))
    return [run_id for run_id, _, confirming in rows if confirming or not nothing_before]


_REPEATS = """
    WITH run AS (
        SELECT
            time.run_id, config, time.git_commit, NOT git_dirty AS clean, began_at,
            json_extract_string(tags, '$.confirms') AS confirms,
            row_number() OVER (PARTITION BY config ORDER BY began_at NULLS FIRST, time.run_id) AS place
        FROM _run_times AS time
        JOIN (SELECT DISTINCT ON (run_id) run_id, git_dirty, tags FROM runs ORDER BY run_id, started_at, config) AS own
            ON time.run_id = own.run_id
    )
    SELECT
        other.run_id, other.place,
        coalesce(run.confirms, run.run_id) = coalesce(other.confirms, other.run_id) AS confirming
    FROM run
    JOIN run AS other USING (config)
    WHERE run.run_id = $run AND (
        confirming OR coalesce(
            run.clean AND other.clean AND run.git_commit = other.git_commit
            AND abs(date_diff('minute', run.began_at, other.began_at)) <= $hours * 60,
        false)
    )
    ORDER BY other.place
"""


def judge(warehouse: "Warehouse", runs: Sequence[str], rule: Rule, limits: Limits) -> list[Row]:
    """Judge runs against those before them.

    Args:
        warehouse: Where to look.
        runs: Ids of the runs under judgement, repeats included.
        rule: When a difference counts.
        limits: What else counts, however small the difference.

    Returns:
        One row per case × metric × phase judged; per number that is beyond a limit in all of these runs and was within
        it in the run before (FLAGGED, or BORDERLINE where it stood so near to it that its noise took it across); and per
        case that passed in the run before and in none of these (LOST). Worst first, all with COLUMNS: `finding` and
        those of the view `regressions`.
    """
    beyond = list(asdict(limits).values())
    rows = [
        *_rows(warehouse, "statistics", _STATISTICS, [list(runs), *asdict(rule).values()]),
        *_rows(warehouse, "limit", _FLAGGED, [list(runs), *beyond]),
        *_rows(warehouse, "coverage", _LOST, [list(runs)]),
    ]
    verdicts: dict[tuple[Any, ...], list[str]] = {}
    for row in rows:
        if row["finding"] == "statistics" and row["p"] is not None:
            key = row["config"], row["case_id"], _BEHIND.get(row["metric"], row["metric"])
            verdicts.setdefault(key, []).append(row["verdict"])
    return sorted((_weighed(row, verdicts) for row in rows), key=_severity)


# What a limit is about -> the metrics that show whether it moved; an import reports the first, a measurement the others.
_BEHIND = {"latency": "speedup"} | {
    f"{source}_peak": "compression_ratio" for source in ("cuda_allocated", "rss_growth", "rss")
}


def _weighed(row: Row, verdicts: Mapping[tuple[Any, ...], Sequence[str]]) -> Row:
    """A number that crossed a limit without having moved beyond its noise says nothing new, and fails no CI job."""
    found = verdicts.get((row["config"], row["case_id"], row["metric"]), ())
    if row["finding"] != "limit" or not found or set(found) & set(FAILING):
        return row
    return {**row, "verdict": "BORDERLINE", "reason": f"{row['reason']}, as near to it before as its noise takes it"}


_STATISTICS = "SELECT * FROM regressions(?::VARCHAR[], last := ?::BIGINT, floor := ?::DOUBLE, fdr := ?::DOUBLE)"
_FLAGGED = """
    WITH
    beyond AS (
        SELECT flag.config, flag.case_id, metric, count(*) AS runs
        FROM flags(min_speedup := $2, max_compile_seconds := $3, min_compression := $4) AS flag
        JOIN case_summaries AS side ON flag.run_id = side.run_id AND flag.case_id = side.case_id
        WHERE list_contains($1::VARCHAR[], flag.run_id) AND passing
        GROUP BY ALL
    ),
    measured AS (
        SELECT config, case_id, count(*) AS runs
        FROM case_summaries
        WHERE list_contains($1::VARCHAR[], run_id) AND passing
        GROUP BY ALL
    )
    SELECT
        config, case_id, suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters, metric, unit,
        CASE metric WHEN 'compile_latency' THEN 'lower' ELSE 'higher' END AS better, run_id,
        value_before AS baseline, value, value / nullif(value_before, 0) - 1 AS change, 'FLAGGED' AS verdict, why AS reason
    FROM newly_flagged(min_speedup := $2, max_compile_seconds := $3, min_compression := $4)
    JOIN beyond USING (config, case_id, metric)
    JOIN measured USING (config, case_id)
    WHERE list_contains($1::VARCHAR[], run_id) AND before = 'fine' AND value IS NOT NULL AND beyond.runs = measured.runs
"""
_LOST = """
    SELECT * EXCLUDE (status, reason, before_run_id), 'LOST' AS verdict, concat_ws(': ', status, reason) AS reason
    FROM coverage_losses AS loss
    WHERE list_contains($1::VARCHAR[], run_id) AND NOT EXISTS (
        SELECT 1
        FROM case_summaries AS other
        WHERE list_contains($1::VARCHAR[], other.run_id) AND other.passing
            AND loss.config = other.config AND loss.case_id = other.case_id
    )
"""


def _rows(warehouse: "Warehouse", finding: str, query: str, parameters: Sequence[object]) -> list[Row]:
    answer = ask(warehouse, query, parameters)
    assert answer is not None, "a SELECT gives rows"
    empty = dict.fromkeys(COLUMNS)
    return [{**empty, "finding": finding, **dict(zip(answer.columns, row, strict=True))} for row in answer.rows]


def _severity(row: Row) -> tuple[Any, ...]:
    """Worst first; among equals the largest change, then by name."""
    change = row["change"]
    size = math.inf if change is None or change <= -1 else abs(math.log1p(change))
    return VERDICTS.index(row["verdict"]), -size, *(str(row[name]) for name in ("config", *AXES, "metric", "phase"))


def choose(rows: Sequence[Row], where: Mapping[str, Sequence[str]]) -> list[Row]:
    """The rows whose columns hold one of the values; an empty list keeps all. Verdicts stay what they are among all.

    Raises:
        UnknownName: No row holds a value that was asked for.
    """
    for column, values in where.items():
        known = {str(row[column]) for row in rows if row[column] is not None}
        for value in values:
            if value not in known:
                raise UnknownName(KINDS.get(column, column), value, sorted(known), where="the runs under judgement")
        rows = [row for row in rows if not values or str(row[column]) in values]
    return list(rows)


def is_worse(row: Row) -> bool:
    """Whether the values moved the bad way, by however little."""
    change = row["change"]
    return change is None or (change > 0) == (row["better"] == "lower")


def doubtful(rows: Iterable[Row]) -> list[Row]:
    """What another run could turn into a regression, or clear: it looks worse, and one run alone shows it."""
    return [
        row
        for row in rows
        if row["verdict"] in ("SUSPECTED", "FLAGGED")
        or (row["verdict"] == "UNSURE" and row["p"] is not None and row["runs"] == 1 and is_worse(row))
    ]


def exit_code(rows: Iterable[Row]) -> Exit:
    """What a CI job should make of it."""
    rows = list(rows)
    verdicts = {row["verdict"] for row in rows}
    if verdicts & set(FAILING):
        return Exit.FAILED
    if "LOST" in verdicts:
        return Exit.NOTHING
    return Exit.OK if any(row["p"] is not None for row in rows) else Exit.TOO_LITTLE


def environment_changes(warehouse: "Warehouse", runs: Sequence[str]) -> list[Fact]:
    """What differs of machine, software and settings between judged runs and the run before them."""
    before = warehouse.rows(
        "SELECT arg_max(run_id, place) FROM _regression_runs(?::VARCHAR[], 1, 1) WHERE NOT is_judged GROUP BY config",
        [list(runs)],
    )
    found = differences(warehouse, [run_id for (run_id,) in before], runs) if before else []
    return [fact for fact in found if fact.kind in ("machine", "software", "flags", "variables")]
