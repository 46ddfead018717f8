"""Searches as the store holds them: the question, the runs, and the tables that follow from both."""

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import sql
from ...warehouse.errors import BenchError, NothingToShow, UnknownName
from .findings import BisectFindings, BisectQuestion, RevisionRun, conclude, levels

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

COMMIT_COLUMNS = tuple(sql.computed()["bisect_commits"].columns)
FIELDS = (
    "search", "good", "bad", "commits", "unchanged", "measure", "finds", "metric", "phase", "models", "backends", "floor",
    "confidence",
)  # fmt: skip
_RUNS = "SELECT * FROM bisect_runs WHERE search = ? ORDER BY began_at, run_id, case_id"


def to_settings(question: BisectQuestion) -> dict[str, Any]:
    """A question as the settings of the run that records it."""
    plain = {name: getattr(question, name) for name in FIELDS}
    lists = {name: list(value) for name, value in plain.items() if isinstance(value, list | tuple | set | frozenset)}
    return {**plain, **lists, "candidates": question.last}


def from_settings(settings: str) -> BisectQuestion:
    """The question from what `to_settings` gave, as JSON.

    Raises:
        BenchError: It was recorded by a version that asked otherwise.
    """
    found = json.loads(settings)
    try:
        fields: dict[str, Any] = {name: found.get(name) for name in FIELDS}
        return BisectQuestion(**{**fields, "unchanged": frozenset(found["unchanged"])})
    except (KeyError, TypeError) as error:
        raise BenchError(f"a search is recorded in another way: {error}. Search again with: bench bisect") from None


def find_search(warehouse: "Warehouse", name: str | None = None) -> BisectQuestion:
    """The question of a search: the newest, or the one whose name begins so.

    Raises:
        NothingToShow: There is no search.
        UnknownName: None has this name.
    """
    rows = warehouse.rows("SELECT search, settings FROM bisect_searches ORDER BY began_at DESC, search")
    if not rows:
        raise NothingToShow(
            "there is no search yet. Begin one with: bench bisect GOOD..BAD -- measure function MODULE:FUNCTION"
        )
    for search, settings in rows:
        if name is None or search.startswith(name):
            return from_settings(settings)
    raise UnknownName(
        "search", name or "", [search for search, _ in rows], cure="List them with: bench sql 'FROM bisect_searches'"
    )


def read_runs(warehouse: "Warehouse", question: BisectQuestion) -> list[RevisionRun]:
    """The runs of a search, oldest first, each with the geometric mean of the cases that all of them measured.

    Raises:
        BenchError: No run has the metric; the message names those that there are.
    """
    rows = list(warehouse.dicts(_RUNS, [question.search]))
    runs: dict[str, dict[str, Any]] = {row["run_id"]: row for row in rows}
    values: dict[str, dict[str, float]] = defaultdict(dict)
    for row in rows:
        if _is_asked(question, row) and row["value"] is not None and row["value"] > 0:
            values[row["run_id"]][row["case_id"]] = row["value"]
    fine = [run_id for run_id, row in runs.items() if row["status"] == "ok"]
    measured = [run_id for run_id in fine if values[run_id]]
    if fine and not measured and question.finds == "change":
        known = sorted({row["metric"] for row in rows if row["metric"]})
        raise UnknownName("metric", question.metric or "", known, where="the runs of this search")
    cases = set.intersection(*(set(values[run_id]) for run_id in measured)) if measured else set()
    if measured and not cases:
        raise BenchError(
            "the revisions have no case in common: choose those that all have with --models or --backends."
        )
    return [
        RevisionRun(
            row["place"], row["host"] or "", row["status"],
            math.exp(math.fsum(math.log(values[run_id][case]) for case in cases) / len(cases)) if run_id in measured else None,
            row["reason"],
        )
        for run_id, row in runs.items()
    ]  # fmt: skip


def _is_asked(question: BisectQuestion, row: dict[str, Any]) -> bool:
    return (
        row["metric"] == question.metric
        and row["phase"] in (question.phase, None)
        and (not question.models or row["name"] in question.models)
        and (not question.backends or row["backend"] in question.backends)
    )


def direction(warehouse: "Warehouse", question: BisectQuestion) -> tuple[str | None, str | None]:
    """Unit of the metric of a search, and which direction is better."""
    query = "SELECT unit, better FROM bisect_runs WHERE search = ? AND metric = ? LIMIT 1"
    return next(iter(warehouse.rows(query, [question.search, question.metric])), (None, None))


def commit_rows(findings: BisectFindings) -> list[list[Any]]:
    """The rows of `bisect_commits` for one search."""
    question, known = findings.question, levels(findings)
    reasons = {run.place: run.reason for run in findings.runs if run.place in findings.unusable}
    failures: dict[int, int] = defaultdict(int)
    for run in findings.runs:
        failures[run.place] += run.status == "failed"
    return [
        [
            question.search, place, commit, float(findings.probability[place]) if place else 0.0,
            findings.unusable.get(place) or ("measured" if place in known or failures[place] else None),
            known.get(place, (0, None))[0] or None, math.expm1(known[place][1]) if place in known else None,
            failures[place] or None, reasons.get(place),
        ]
        for place, commit in enumerate(question.commits)
    ]  # fmt: skip


def result_row(findings: BisectFindings) -> list[Any]:
    """The row of `bisect_results` for one search."""
    question = findings.question
    change = findings.change or findings.doubt
    commits = question.commits
    first, last = (change.bracket.first, change.bracket.last) if change else (None, None)
    return [
        question.search, findings.status, question.metric if question.finds == "change" else None,
        commits[first] if first is not None else None, commits[last] if last is not None else None,
        change and change.bracket.probability, float(findings.probability[0]), *_change(change), len(findings.others),
        None if math.isnan(findings.noise) else findings.noise, findings.measured, findings.revisions, question.last,
    ]  # fmt: skip


def _change(change: Any) -> list[float | None]:
    if change is None or math.isnan(change.effect):
        return [None, None, None]
    return [math.expm1(value) for value in (change.effect, change.low, change.high)]


def _all(warehouse: "Warehouse") -> list[BisectFindings]:
    rows: Sequence[tuple[str]] = warehouse.rows("SELECT settings FROM bisect_searches ORDER BY began_at, search")
    questions = [from_settings(settings) for (settings,) in rows]
    return [conclude(question, read_runs(warehouse, question)) for question in questions]


def all_commits(warehouse: "Warehouse") -> list[list[Any]]:
    """The rows of the computed table `bisect_commits`."""
    return [row for findings in _all(warehouse) for row in commit_rows(findings)]


def all_results(warehouse: "Warehouse") -> list[list[Any]]:
    """The rows of the computed table `bisect_results`."""
    return [result_row(findings) for findings in _all(warehouse)]
