"""Evidence for figures over many cells: a comparison of two sides, a geometric mean."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ... import sql
from ...warehouse.console.numbers import change_of
from ..comparison.environments import facts, sentence
from ..comparison.render import why
from ..document import TableColumn
from ..pasteable_sql import among, equals, list_literal, one_line
from .evidence import EvidenceStep, ExplainedCell, answer

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse


def comparison(
    warehouse: "Warehouse", cell: ExplainedCell, base: Sequence[str], candidate: Sequence[str]
) -> list[EvidenceStep]:
    """The comparison of two sides in a cell, the value of every run, and the assumed noise."""
    sql = (
        "SELECT verdict, ratio, low, high, unit, better, base_value, candidate_value, difference, evidence, reason FROM"
        f" comparisons({list_literal(base)}, {list_literal(candidate)})"
        f" WHERE {equals('case_id', cell.case_id)} AND {cell.figures}"
    )
    rows = warehouse.dicts(sql)
    if not rows:
        return []
    (row,) = rows
    verdict, before, after, difference = (
        row[name] for name in ("verdict", "base_value", "candidate_value", "difference")
    )
    shown = TableColumn("value", cell.kind).shown
    compared = "" if row["ratio"] is None else f": {change_of(row)}"
    sentences = [f"{verdict or 'no verdict'}{compared}; {'; '.join(why(row))}"]
    if difference is not None:
        sign = "+" if difference > 0 else "−" if difference < 0 else ""
        sentences.append(f"base {shown(before)}, candidate {shown(after)}, difference {sign}{shown(abs(difference))}")
    side = f"CASE WHEN {among('run_id', base)} THEN 'base' ELSE 'candidate' END AS side"
    kinds: dict[str, str] = dict.fromkeys(("value", "low", "high"), cell.kind)
    each = (
        f"SELECT {side}, run_id, began_at, left(git_commit, 9) AS git_commit, n, value, low, high FROM series"
        f" WHERE {cell.case} AND {cell.figures} ORDER BY side, began_at, run_id"
    )
    shares = ("own_noise", "pooled_noise", "noise")
    noise = (
        "SELECT config, host, n AS runs, own_noise, pooled_noise, noise FROM run_noise WHERE config IN"
        f" (SELECT config FROM runs WHERE {among('run_id', cell.run_ids)})"
        f" AND {equals('case_id', cell.case_id)} AND {cell.figures} ORDER BY ALL"
    )
    return [
        EvidenceStep(cell.title, sql, sentences, figure=True),
        answer(warehouse, "runs", each, kinds=kinds),
        answer(warehouse, "noise from run to run", noise, kinds=dict.fromkeys(shares, "share")),
    ]


def comparison_geomeans(
    warehouse: "Warehouse", base: Sequence[str], candidate: Sequence[str], backend: str | None, metric: str | None
) -> tuple[EvidenceStep, EvidenceStep]:
    """The geometric means of the ratios of two sides, and the cases that they are taken over or leave out."""
    compared = f"comparisons({list_literal(base)}, {list_literal(candidate)})"
    chosen = "better IS NOT NULL AND _is_warm(phase)"
    chosen += _only("backend", backend) + _only("metric", metric)
    means = (
        f"WITH headline_rows AS (SELECT *, false AS is_of_same_runs FROM {compared} WHERE {chosen})"
        " SELECT metric, phase, suite, backend, ratio, n, total AS n_total"
        f" FROM ({one_line(sql.view('comparison_means').last_select)}) ORDER BY ALL"
    )
    cases = (
        "SELECT metric, phase, suite, backend, name, batch_size AS batch, sequence_length AS length, parameters, ratio,"
        f" verdict, reason FROM {compared} WHERE {chosen} ORDER BY ALL"
    )
    sentence = "above 1 is better; over n of n_total cases, those that have a ratio"
    shown = replace(answer(warehouse, "geometric means", means), sentences=[sentence], figure=True)
    return shown, answer(warehouse, "cases", cases)


def environments(warehouse: "Warehouse", base: Sequence[str], candidate: Sequence[str]) -> EvidenceStep:
    """Differences between the environments of two sides."""
    text = "array_to_string(list_transform({}, lambda v: coalesce(v, '–')), '; ')"
    sql = (
        f"SELECT kind, field, {text.format('base_values')} AS base, {text.format('candidate_values')} AS candidate"
        f" FROM environment_differences({list_literal(base)}, {list_literal(candidate)}) WHERE NOT same ORDER BY ALL"
    )
    return replace(answer(warehouse, "environments", sql), sentences=[sentence(facts(warehouse, base, candidate))])


def geomeans(warehouse: "Warehouse", run_id: str, backend: str | None) -> EvidenceStep:
    """The geometric means of a run, of one backend or of all, with what each covers."""
    sql = (
        "SELECT suite, mode, dtype, device, backend, speedup, dashboard_speedup, n, n_total FROM geomean_speedups()"
        f" WHERE {equals('run_id', run_id)}{_only('backend', backend)} ORDER BY ALL"
    )
    sentence = "n of n_total cases, those that pass; dashboard_speedup counts slowdowns as 1"
    return replace(answer(warehouse, "geometric means", sql), sentences=[sentence], figure=True)


def geomean_cases(warehouse: "Warehouse", run_id: str, backend: str | None) -> EvidenceStep:
    """The cases of the geometric means, and those left out, with the reason."""
    columns = (
        "suite, mode, dtype, device, backend, name, batch_size AS batch, sequence_length AS length, parameters, speedup,"
        " left_out, matched"
    )
    query = (
        f"SELECT {columns} FROM geomean_cases WHERE {equals('run_id', run_id)}{_only('backend', backend)} ORDER BY ALL"
    )
    return answer(warehouse, "cases", query)


def _only(column: str, value: str | None) -> str:
    """A condition to append if a value is given."""
    return "" if value is None else f" AND {equals(column, value)}"
