"""Regressions: what got worse since the runs before it, what fell below a limit, and what is no longer there."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ... import sql
from ...sql.rules import FDR, MAX_COMPILE_SECONDS, MIN_COMPRESSION, MIN_SPEEDUP, WINDOW
from ...warehouse.console.numbers import percent_change
from ...warehouse.console.parameters import value_text
from ...warehouse.errors import Exit, UnknownName
from ..ask import ask
from ..axes import AXES
from ..comparison.compare import LIKELY_WORSE, VERDICTS, WORSE
from ..comparison.environments import EnvironmentField, differences
from ..comparison.render import fold_metrics, fold_processor_time, members, metric
from ..resolve import COLUMN_LABELS, resolve_run

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

LARGE = 0.2  # a change that a reader wants to know of, even if it is not certain
FINDING_COLUMNS = tuple(sql.view("regression_findings").columns)
UNCHANGED = ("SAME", "UNSURE")
TOGETHER = (  # what cases that moved together have in common
    "finding", "config", "host", "machine", "suite", "mode", "device", "dtype", "backend", "metric", "phase", "verdict",
    "since_run_id",
)  # fmt: skip
TOO_MANY = 6  # cases that moved together are one line
WHOLE = ("shift", "suite")  # findings about many cases at once

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionRule:
    """The rule by which a difference counts: arguments of the macro `regression_findings`."""

    last: int = WINDOW  # runs of the baseline, at most
    floor: float | None = None  # None: what the project's settings say of metric and case
    fdr: float = FDR


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of every case: arguments of the macro `regression_findings`."""

    min_speedup: float = MIN_SPEEDUP
    max_compile_seconds: float = MAX_COMPILE_SECONDS
    min_compression: float = MIN_COMPRESSION


def judged_runs(warehouse: "Warehouse", *names: str) -> list[str]:
    """The run that each name means, and its repeats.

    Repeats are the other runs of its round (view `rounds`), the other parts of its night, and runs that were made to confirm
    it (`bench regressions --confirm`). Where no run came before all of these there is nothing to judge them by: then the run
    is judged with those that confirm it alone, by the others.

    Returns:
        Run ids, those of each name oldest first, none twice.

    Raises:
        UnknownName: No run answers to a name.
    """
    query = "SELECT run_id, place, is_confirming FROM run_repeats(?) ORDER BY place"
    judged: dict[str, None] = {}
    for name in names:
        rows = warehouse.rows(query, [resolve_run(warehouse, name)])
        nothing_before = all(place == index for index, (_, place, _) in enumerate(rows, 1))
        judged |= dict.fromkeys(run_id for run_id, _, confirming in rows if confirming or not nothing_before)
    return list(judged)


def judge(warehouse: "Warehouse", runs: Sequence[str], rule: RegressionRule, limits: Limits) -> list[Row]:
    """Judge runs against those before them.

    Args:
        warehouse: Where to look.
        runs: Ids of the runs under judgement, repeats included.
        rule: When a difference counts.
        limits: What else counts, however small the difference.

    Returns:
        Rows of `regression_findings`, worst first.
    """
    arguments = {**asdict(rule), **asdict(limits)}
    query = f"FROM regression_findings($judged::VARCHAR[], {', '.join(f'{name} := ${name}' for name in arguments)})"
    answer = ask(warehouse, query, {"judged": list(runs), **arguments})
    assert answer is not None, "a SELECT gives rows"
    return sorted(answer.dicts(), key=_severity)


def _severity(row: Row) -> tuple[Any, ...]:
    """Worst first, what is whole before its parts; among equals the largest change, then by name."""
    change = row["change"]
    size = math.inf if change is None or change <= -1 else abs(math.log1p(change))
    return (
        row["finding"] not in WHOLE or row["verdict"] in UNCHANGED,
        VERDICTS.index(row["verdict"]),
        -size,
        *(str(row[name]) for name in ("config", *AXES, "metric", "phase")),
    )


def choose(rows: Sequence[Row], where: Mapping[str, Sequence[str]]) -> list[Row]:
    """The rows whose columns hold one of the values; an empty list keeps all. Verdicts stay what they are among all.

    Raises:
        UnknownName: There is no such column, or no row holds a value that was asked for.
    """
    for column, values in where.items():
        if column not in FINDING_COLUMNS:
            raise UnknownName("column", column, FINDING_COLUMNS, where="regression_findings")
        known = {str(row[column]) for row in rows if row[column] is not None}
        for value in values:
            if value not in known:
                raise UnknownName(
                    COLUMN_LABELS.get(column, column), value, sorted(known), where="the runs under judgement"
                )
        rows = [row for row in rows if not values or str(row[column]) in values]
    return list(rows)


def fold(rows: Sequence[Row]) -> list[Row]:
    """One row in place of many cases that moved together: of one panel and metric, with one verdict, since one run; of a case
    whose processor time says what its latency does; and of all metrics of a case that is gone, broken or mended.

    It has the geometric mean of their changes, and the changes of those that moved least and most in place of the interval.
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in fold_metrics(fold_processor_time(rows)):
        alone = id(row) if row["case_id"] is None else None
        groups.setdefault(
            (alone, row.get("also"), row.get("others"), *(row[column] for column in TOGETHER)), []
        ).append(row)
    return [told for group in groups.values() for told in (group if len(group) < TOO_MANY else [_folded(group)])]


def _folded(rows: Sequence[Row]) -> Row:
    reasons = {row["reason"] for row in rows}
    changes = sorted((row["change"] for row in rows if row["change"] is not None), key=abs)
    known = len(changes) == len(rows) and min(changes) > -1
    return {
        **rows[0],
        **dict.fromkeys(("batch_size", "sequence_length", "parameters", "baseline", "value", "n", "evidence")),
        "name": members(len(rows), sorted({row["name"] for row in rows if row["name"] is not None})),
        "change": math.expm1(math.fsum(map(math.log1p, changes)) / len(changes)) if known else None,
        "low": changes[0] if known else None,
        "high": changes[-1] if known else None,
        "reason": reasons.pop() if len(reasons) == 1 else "",
        "folded": True,
    }


def axis_text(row: Row, axis: str) -> Any:
    """The value of an axis; in place of a name, that the row is about a whole suite or all cases."""
    whole = {"suite": "(suite)", "shift": "(all cases)"} if axis == "name" else {}
    return whole.get(row["finding"]) or value_text(row[axis])


def doubtful(rows: Iterable[Row]) -> list[Row]:
    """Findings that one run alone shows, or that are likely: another run may confirm or refute them. UNSURE stays so."""
    return [*filter(is_of_one_run, rows)]


def is_of_one_run(row: Row) -> bool:
    """Return whether a case is worse, or likely so, by the evidence of one run; of two sides no row says how many."""
    worse = row["verdict"] in (*WORSE, *LIKELY_WORSE) and row["case_id"] is not None
    return worse and "evidence" in row and not is_confirmed(row)


def worse_cases(rows: Iterable[Row]) -> list[Row]:
    """Findings that a case got worse, in their order."""
    return [row for row in rows if row["verdict"] in WORSE and row["case_id"] is not None]


def most_telling(rows: Sequence[Row]) -> Row:
    """The first of some rows, or what the same number of the same case is in steady calls: many samples instead of one."""
    keys = ("config", "host", "case_id", "metric", "unit")
    steady = (row for row in rows if row["phase"] == "steady" and all(row[key] == rows[0][key] for key in keys))
    return next(steady, rows[0])


def is_confirmed(row: Row) -> bool:
    """Return whether several runs show the change."""
    return row["evidence"] is not None and row["evidence"].endswith(", confirmed")


def large_and_unsure(rows: Iterable[Row]) -> list[Row]:
    """Cases that moved by 20 % or more, but not beyond doubt."""
    return [
        row
        for row in rows
        if row["finding"] not in WHOLE
        and row["verdict"] == "UNSURE"
        and not row["is_known"]
        and row["change"] is not None
        # a value of 0 has no logarithm
        and (row["change"] <= -1 or abs(math.log1p(row["change"])) >= math.log1p(LARGE))
    ]


def at_known_levels(rows: Iterable[Row]) -> list[Row]:
    """Cases that are worse than the runs before, at a level that they know."""
    return [row for row in rows if row["is_known"] and (row["change"] > 0) == (row["better"] == "lower")]


def doubtful_shifts(rows: Iterable[Row]) -> list[Row]:
    """The shared factor of all cases where it has no verdict although its interval excludes 1."""
    return [
        row
        for row in rows
        if row["finding"] == "shift" and row["verdict"] == "UNSURE" and (row["low"] > 0 or row["high"] < 0)
    ]


def shift_text(row: Row) -> str:
    """The shared factor of all cases: `all cases together +5.1 % in latency (unsure)`."""
    return f"all cases together {percent_change(row['change'])} in {metric(row)} ({row['verdict'].lower()})"


def is_judged(row: Row) -> bool:
    """Return whether a number has a verdict, or a test that left it UNSURE."""
    return row["p"] is not None or row["verdict"] not in (None, "UNSURE")


def is_doubted_limit(row: Row) -> bool:
    """True for a limit crossed on a class of machine with too few earlier runs to tell it from the machine."""
    return bool(row["finding"] == "limit" and row["verdict"] == "UNSURE")


def exit_code(rows: Iterable[Row], *, strict: bool = False, likely: bool = False) -> Exit:
    """The exit code for a CI job: 1 if anything got worse, 3 if something is only gone, 4 if most cases, or one that crossed a
    limit, cannot be judged.

    If `strict`, a large change that is UNSURE is too little data as well; with `likely` what is likely worse counts as worse.
    """
    rows = list(rows)
    verdicts = {row["verdict"] for row in rows}
    if verdicts & {*WORSE, *(LIKELY_WORSE if likely else ())}:
        return Exit.FAILED
    if verdicts & {"BROKEN", "REMOVED"}:
        return Exit.NOTHING
    measured = [row for row in rows if row["finding"] == "statistics"]
    enough = 2 * sum(map(is_judged, measured)) > len(measured) and not any(map(is_doubted_limit, rows))
    return Exit.OK if enough and not (strict and large_and_unsure(rows)) else Exit.TOO_LITTLE


def environment_changes(warehouse: "Warehouse", runs: Sequence[str]) -> list[EnvironmentField]:
    """Differences in machine, software and settings between the judged runs and the run before them.

    The host's name is none where the class of machine is known: runs are judged within it.
    """
    before = warehouse.rows(
        "SELECT arg_max(run_id, place) FROM _comparison_sides(NULL, ?::VARCHAR[], 1) WHERE side = 'base' GROUP BY pair",
        [list(runs)],
    )
    found = differences(warehouse, [run_id for (run_id,) in before], runs) if before else []
    nameless = "SELECT 1 FROM machines WHERE class_id IS NULL AND list_contains(?::VARCHAR[], run_id) LIMIT 1"
    if found and not warehouse.rows(nameless, [list(runs)]):
        found = [fact for fact in found if fact.field != "host"]
    return [fact for fact in found if fact.kind in ("machine", "software", "flags", "variables")]
