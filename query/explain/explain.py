"""Explanations: a figure back to the SQL that gives it, its samples, what disturbed them, and the files they lie in."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...warehouse.console.parameters import value_text
from ...warehouse.console.tables import escape
from ...warehouse.errors import BenchError, NothingToShow, UnknownName
from ...warehouse.store import Notify
from ..axes import BACKEND_LAST, GEOMEAN
from ..comparison.environments import facts
from ..comparison.sides import Side, find_sides
from ..comparison.speedups import no_baseline
from ..pasteable_sql import among
from ..regression.remeasure import commands_for, obstacle
from ..resolve import SHORTEST_PREFIX, named_runs, resolve_run
from . import evidence
from .evidence import EvidenceStep, ExplainedCell
from .evidence_of_sides import comparison, comparison_geomeans, environments, geomean_cases, geomeans

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

RUN = "run"  # a name that no case should have, as GEOMEAN
USUAL = ("latency", "speedup")  # metrics that are explained unless another is asked for: the first there is
PHASES = ["steady", "", "warmup", "compile", "cold"]  # the figure is that of the first there is; '' stands for none
MACHINE = ("cpu", "logical_cores", "gpus", "os", "python", "torch")
LISTED = 16  # cases that an error names

# What has figures: cases, the bins of a scheduler's steps, and the run as a whole.
_AXES = ", ".join(axis for axis in BACKEND_LAST if axis not in ("suite", "name"))
_ANNOUNCED = f"""(
    SELECT run_id, case_id, name, {_AXES} FROM cases
    UNION
    SELECT run_id, case_id, name, {_AXES} FROM step_cells
    UNION
    SELECT run_id, case_id, '{RUN}', {_AXES} FROM cells WHERE case_id IS NULL
)"""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A figure, step by step; `data` is the step that holds the rows it is made of."""

    title: str
    parts: Sequence[EvidenceStep]
    data: EvidenceStep


def explain(
    warehouse: "Warehouse",
    names: Sequence[str],
    *,
    run: str | None = None,
    backend: str | None = None,
    metric: str | None = None,
    all_runs: bool = False,
    notify: Notify | None = None,
) -> Explanation:
    """Explain a case of one run, the geometric means of a run, or the difference of a case between two sides.

    Args:
        warehouse: Where to look.
        names: A case or `geomean`; or two sides, then a case.
        run: Run of a case alone, as for `explain_case`.
        backend: Backend, where the name has several.
        metric: Metric; if left out latency, else speedup, else the first.
        all_runs: Of two sides take every run that a name means, not only the newest and its repeats.
        notify: Called with a sentence for each run of a side that was left out, with the reason.

    Raises:
        UnknownName: There is no such case, run, backend or metric.
        BenchError: Several cases answer to the name, or the names are in another order.
    """
    if len(names) == 1:
        (name,) = names
        if name == GEOMEAN:
            return explain_geomean(warehouse, run=run, backend=backend)
        return explain_case(warehouse, name, run=run, backend=backend, metric=metric)
    base, candidate, name = names
    try:
        sides = find_sides(warehouse, base, candidate, all_runs=all_runs, notify=notify)
    except UnknownName:
        _check_order(warehouse, names)
        raise
    return explain_comparison(warehouse, sides, name, backend=backend, metric=metric)


def explain_case(
    warehouse: "Warehouse", name: str, *, run: str | None = None, backend: str | None = None, metric: str | None = None
) -> Explanation:
    """Explain the figures of one case in one run.

    Args:
        warehouse: Where to look.
        name: Name of the case, or the beginning of its id; `step` for all steps of a scheduler together, `tokens:64–127` for a
            bin of them, `run` for the run as a whole.
        run: Run, by any of its names. If left out, the newest that has the case; one of a bisect only if no other has it.
        backend: Backend, where the name has several.
        metric: Metric; if left out latency, else speedup, else the first.

    Raises:
        UnknownName: There is no such case, backend or metric; the nearest is named.
        BenchError: Several cases answer to the name; they are listed with their ids.
    """
    found = _named(warehouse, name, None if run is None else [resolve_run(warehouse, run)], backend)
    if run is None:
        usual = set(named_runs(warehouse, "latest"))
        found = [row for row in found if row[0] in usual] or found
    run_id = found[0][0]
    case_id, label = _only(name, [row for row in found if row[0] == run_id])
    cell = _cell(warehouse, [run_id], case_id, metric)
    samples = evidence.samples(warehouse, cell)
    parts = [*evidence.median(warehouse, cell)]
    if metric in (None, *USUAL):
        parts += evidence.speedup(warehouse, cell)
    parts += [*evidence.phases(warehouse, cell), *samples, *evidence.disturbances(warehouse, cell)]
    parts += [evidence.outcome(warehouse, cell), *evidence.files(warehouse, cell), _machine(warehouse, run_id)]
    parts.append(_again(warehouse, {run_id: [case_id]}))
    of = f"case {case_id} of " if case_id else ""
    return Explanation(f"{escape(label)}\n{of}{_about(warehouse, run_id)}", parts, samples[0])


def _check_order(warehouse: "Warehouse", names: Sequence[str]) -> None:
    """Check that the case comes after both sides.

    Raises:
        BenchError: A name in the place of a side is that of a case and of no run.
    """
    cases = {GEOMEAN, RUN, *(name for (name,) in warehouse.rows(f"SELECT DISTINCT name FROM {_ANNOUNCED}"))}
    for place, name in enumerate(names[:-1]):
        if name in cases:
            try:
                named_runs(warehouse, name)
            except UnknownName:
                order = shlex.join([*names[:place], *names[place + 1 :], name])
                raise BenchError(f"{name!r} is not a run. The case comes last: bench explain {order}") from None


def explain_comparison(
    warehouse: "Warehouse",
    sides: tuple[Side, Side],
    name: str,
    *,
    backend: str | None = None,
    metric: str | None = None,
) -> Explanation:
    """Explain the difference between two sides in one case, or their geometric means.

    Args:
        warehouse: Where to look.
        sides: The side to compare with, and the one under judgement.
        name: Name of the case, or the beginning of its id; `geomean` for the geometric means.
        backend: Backend, where the name has several.
        metric: Metric; if left out latency, else speedup, else the first, and of geometric means every one.

    Raises:
        UnknownName: Neither side has such a case, backend or metric; the nearest is named.
        BenchError: Several cases answer to the name; they are listed with their ids.
        NothingToShow: The sides share no case with a ratio, so there is no geometric mean.
    """
    base, candidate = (side.runs for side in sides)
    runs = list(dict.fromkeys([*base, *candidate]))
    about = "\n".join(
        f"{title} {_about(warehouse, side.runs[0])}{f', and {len(side.runs) - 1} more' * (len(side.runs) > 1)}"
        for title, side in zip(("base", "candidate"), sides, strict=True)
    )
    environment = environments(warehouse, base, candidate)
    if name == GEOMEAN:
        means, cases = comparison_geomeans(warehouse, base, candidate, backend, metric)
        if not means.rows:
            raise NothingToShow(f"{sides[0].name} and {sides[1].name} have nothing in common to take a mean of")
        return Explanation(f"geometric means of two sides\n{about}", [means, cases, environment], cases)
    case_id, label = _only(name, _named(warehouse, name, runs, backend))
    cell = _cell(warehouse, runs, case_id, metric)
    samples = evidence.samples(warehouse, cell)
    parts = [*comparison(warehouse, cell, base, candidate), environment, *samples, evidence.outcome(warehouse, cell)]
    parts += [
        *evidence.files(warehouse, cell),
        _again(warehouse, {_run_with(warehouse, side.runs, case_id): [case_id] for side in sides}),
    ]
    return Explanation(f"{escape(label)}\n{about}", parts, samples[0])


def explain_geomean(warehouse: "Warehouse", *, run: str | None = None, backend: str | None = None) -> Explanation:
    """The cases that the geometric means of a run cover, those they leave out, and why.

    Without a run it is the newest that has speedups.

    Raises:
        NothingToShow: There are no speedups.
        UnknownName: None of them is of that backend; the nearest is named.
    """
    rows = warehouse.rows(
        """
        SELECT run_id, list(DISTINCT backend) FROM geomean_speedups() JOIN _run_times USING (run_id)
        WHERE $run_id IS NULL OR run_id = $run_id
        GROUP BY run_id ORDER BY any_value(began_at) DESC NULLS LAST, run_id DESC LIMIT 1
        """,
        {"run_id": None if run is None else resolve_run(warehouse, run)},
    )
    if not rows:
        raise no_baseline(warehouse)
    ((run_id, backends),) = rows
    if backend is not None and backend not in backends:
        raise UnknownName("backend", backend, sorted(filter(None, backends)), where=f"run {run_id}")
    cases = geomean_cases(warehouse, run_id, backend)
    ids = [case_id for (case_id,) in warehouse.rows("SELECT case_id FROM speedups WHERE run_id = ?", [run_id])]
    parts = [geomeans(warehouse, run_id, backend), cases, _machine(warehouse, run_id), _again(warehouse, {run_id: ids})]
    return Explanation(f"geometric means of speedups\n{_about(warehouse, run_id)}", parts, cases)


def _named(
    warehouse: "Warehouse", name: str, run_ids: Sequence[str] | None, backend: str | None
) -> list[tuple[str, str | None, str]]:
    """Run, id and label of every case that a name means, of the newest run first.

    Raises:
        UnknownName: There is none; the nearest name or backend is named.
    """
    chosen = "true" if run_ids is None else among("run_id", run_ids)
    rows = warehouse.rows(
        f"""
        SELECT run_id, case_id, parameters, backend, concat_ws(
            ' ', name, mode, device, dtype, nullif(concat_ws(' x ', batch_size, sequence_length), '')
        ) AS label
        FROM {_ANNOUNCED} JOIN _run_times USING (run_id)
        WHERE (name = $name OR len($name) >= {SHORTEST_PREFIX} AND starts_with(case_id, $name)
                OR name = 'step' AND concat('tokens:', parameters ->> 'tokens') = replace($name, '-', '–'))
            AND ($backend IS NULL OR backend = $backend) AND {chosen}
        GROUP BY ALL
        ORDER BY any_value(began_at) DESC NULLS LAST, run_id DESC, label, parameters, backend
        """,
        {"name": name, "backend": backend},
    )
    if rows:
        labels = (filter(None, (label, value_text(parameters), of)) for _, _, parameters, of, label in rows)
        return [(row[0], row[1], " ".join(label)) for row, label in zip(rows, labels, strict=True)]
    backends = warehouse.rows(
        f"SELECT DISTINCT backend FROM {_ANNOUNCED} WHERE name = ? AND {chosen} ORDER BY 1", [name]
    )
    where = "" if run_ids is None else f"run {run_ids[0]}" if len(run_ids) == 1 else "either side"
    if backend is not None and backends:
        raise UnknownName("backend", backend, [known for (known,) in backends if known], where=f"case {name!r}")
    names = warehouse.rows(
        "SELECT DISTINCT unnest([name, CASE name WHEN 'step' THEN 'tokens:' || (parameters ->> 'tokens') END])"
        f" FROM {_ANNOUNCED} WHERE {chosen} ORDER BY 1"
    )
    known = [case for (case,) in names if case]
    raise UnknownName("case", name, known, where=where, cure="List them with: bench list cases")


def _only(name: str, found: Sequence[tuple[str, str | None, str]]) -> tuple[str | None, str]:
    """Id and label of the one case among these.

    Raises:
        BenchError: There are several.
    """
    labels = {case_id: label for _, case_id, label in found}
    if name == "step":  # of the bins of tokens, all of them together
        labels = {case_id: label for case_id, label in labels.items() if "tokens:all" in label} or labels
    if len(labels) == 1:
        return next(iter(labels.items()))
    named = "".join(f"\n  {case_id or '':16}  {escape(label)}" for case_id, label in list(labels.items())[:LISTED])
    more = f"\n  and {len(labels) - LISTED} more" if len(labels) > LISTED else ""
    raise BenchError(f"{name!r} is {len(labels)} cases. Give --backend, or the beginning of an id:{named}{more}")


def _cell(warehouse: "Warehouse", run_ids: Sequence[str], case_id: str | None, metric: str | None) -> ExplainedCell:
    """The metric to explain, and its phase.

    Raises:
        UnknownName: The case has no such metric; the nearest is named.
    """
    nothing = ExplainedCell(tuple(run_ids), case_id, table=_table(warehouse, case_id))
    found = warehouse.rows(
        f"""
        SELECT DISTINCT metric, phase, unit, list_position({PHASES!r}, coalesce(phase, '')) FROM {nothing.table}
        WHERE {nothing.case} ORDER BY 4 NULLS LAST, metric, unit
        """
    )
    metrics = [row[0] for row in found]
    if metric not in (None, "speedup", *metrics):  # a speedup that was measured is no metric of its own
        bins = "Bins of tokens are cases of their own, such as tokens:64–127" if nothing.table == "step_cells" else ""
        raise UnknownName("metric", str(metric), sorted(set(metrics)), where=f"case {case_id}", cure=bins)
    wanted = [metric] if metric in metrics else [*USUAL, *metrics]
    for name in wanted:
        for known, phase, unit, _ in found:
            if known == name:
                return replace(nothing, metric=known, phase=phase, unit=unit)
    return nothing


def _table(warehouse: "Warehouse", case_id: str | None) -> str:
    """The table of cells that has the case."""
    return "step_cells" if warehouse.rows("SELECT 1 FROM step_cells WHERE case_id = ? LIMIT 1", [case_id]) else "cells"


def _run_with(warehouse: "Warehouse", runs: Sequence[str], case_id: str | None) -> str:
    """The newest of these runs that has the case, else of the others of their configs; the newest where none has."""
    found = warehouse.rows(
        f"""
        SELECT run_id
        FROM _run_times
        WHERE config IN (SELECT config FROM _run_times WHERE list_contains($runs::VARCHAR[], run_id))
            AND run_id IN (SELECT run_id FROM {_ANNOUNCED} WHERE case_id = $case_id)
        ORDER BY list_contains($runs::VARCHAR[], run_id) DESC, began_at DESC NULLS LAST, run_id DESC
        LIMIT 1
        """,
        {"runs": [*runs], "case_id": case_id},
    )
    return str(found[0][0]) if found else runs[0]


def _about(warehouse: "Warehouse", run_id: str) -> str:
    """A run in a few words: its id, config, time, commit and machine."""
    ((config, began_at, commit, host),) = warehouse.rows(
        "SELECT config, began_at, git_commit, host FROM _run_times WHERE run_id = ?", [run_id]
    )
    when = began_at and f"{began_at:%Y-%m-%d %H:%M}"
    parts = (f"run {run_id}", f"config {config}", when, commit and f"commit {commit[:9]}", host)
    return escape(", ".join(filter(None, parts)))


def _machine(warehouse: "Warehouse", run_id: str) -> EvidenceStep:
    known = {fact.field: fact.texts()[0] for fact in facts(warehouse, [run_id], [run_id])}
    parts = ", ".join(f"{field} {known[field]}" for field in MACHINE if field in known)
    return EvidenceStep("measured on", None, [parts, f"all of it: bench show {shlex.quote(run_id)}"] if parts else [])


def _again(warehouse: "Warehouse", cases: Mapping[str, Sequence[str | None]]) -> EvidenceStep:
    """The commands that measure cases of runs again, or load an import again, and what prevents it."""
    parts: list[str] = []
    for run_id, case_ids in cases.items():
        announced = [case_id for case_id in case_ids if case_id is not None]
        sources = warehouse.rows(
            """
            WITH own AS (
                SELECT source_id FROM cases WHERE run_id = $run_id AND list_contains($case_ids::VARCHAR[], case_id)
            )
            SELECT DISTINCT config, path, CASE WHEN regexp_matches(format, '^(map|pattern)-')
                THEN regexp_extract(notes ->> 0, ': read with (--.*)', 1, 's') END
            FROM source_files
            WHERE source_id IN (FROM own)
                OR NOT EXISTS (FROM own) AND source_id IN (SELECT source_id FROM sources WHERE run_id = $run_id)
            ORDER BY ALL
            """,
            {"run_id": run_id, "case_ids": announced},
        )
        ((files,),) = warehouse.rows("SELECT count(DISTINCT source_id) FROM sources WHERE run_id = ?", [run_id])
        is_lone = files == 1  # what else is in its folder may be of another kind
        places = [(config, path if how or is_lone else str(Path(path).parent), how) for config, path, how in sources]
        commands = commands_for(warehouse, run_id, announced)
        ((own,),) = warehouse.rows("SELECT min(command) FROM runs WHERE run_id = ?", [run_id])
        if not isinstance(commands, str):
            parts += map(shlex.join, commands)
            parts += [f"not quite as it was: {why}"] if (why := obstacle(warehouse, run_id)) else []
        elif places:
            parts += [
                f"bench ingest {shlex.quote(f'{config}:{place}')} {how or ''}".rstrip() for config, place, how in places
            ]
        else:
            parts += [*([commands] if announced else []), *([f"its own command was: {own}"] if own else [])]
    return EvidenceStep("measure it again", None, list(dict.fromkeys(parts)))
