"""Comparisons: the rows of two sides that were asked for, what matters first, with means and what they cover."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ... import sql
from ...warehouse.errors import Exit, UnknownName
from ..filters import build_filter
from . import environments
from .sides import Side

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

Row = dict[str, Any]
WORSE, BETTER = ("SLOWER", "WORSE"), ("FASTER", "BETTER")

# What is compared unless the column is named.
USUAL = {"phase": "_is_warm(phase)", "metric": "_is_headline(metric, better)"}
# Newly failing, worse, no longer measured, better, newly measured, unsure, without direction, the same; the larger first.
ORDER = """
    CASE
        WHEN verdict = 'ONLY-THERE' AND base_status = 'ok' AND candidate_status <> 'ok' THEN 0
        WHEN verdict IN ('SLOWER', 'WORSE') THEN 1
        WHEN verdict = 'ONLY-THERE' THEN 2
        WHEN verdict IN ('FASTER', 'BETTER') THEN 3
        WHEN verdict = 'ONLY-HERE' THEN 4
        WHEN verdict = 'UNSURE' THEN 5
        WHEN verdict IS NULL THEN 6
        ELSE 7
    END,
    abs(ln(CASE WHEN ratio > 0 THEN ratio END)) DESC NULLS LAST, suite, name, mode, device, dtype, batch_size,
    sequence_length, parameters, backend, metric <> 'latency', metric, phase
"""
MEANS = "metric <> 'latency', abs(ln(ratio)) DESC, metric, phase, suite, backend"  # order of the means


@dataclass(frozen=True, slots=True)
class Comparison:
    """The rows of `comparisons` that were asked for, what matters first, and what goes with them."""

    base: Side
    candidate: Side
    margin: float
    rows: list[Row]
    unusual: list[Row]  # set apart because nobody named it: cold and warm-up phases, and what has no direction
    means: list[Row]  # one per metric × phase × suite × backend
    differences: list[environments.EnvironmentField]  # of their environments and code


def compare(
    warehouse: "Warehouse",
    base: Side,
    candidate: Side,
    *,
    margin: float = 0.02,
    where: Mapping[str, Sequence[str]] | None = None,
) -> Comparison:
    """Compare two sides case by case.

    Unless phases are named, cold and warm-up ones are set apart; unless metrics are, those without a direction.

    Args:
        warehouse: Where to look.
        base: The side to compare with.
        candidate: The side under judgement.
        margin: Smallest change that counts, as a fraction.
        where: column of `comparisons` -> values to keep; an empty list keeps all.

    Raises:
        UnknownName: No such column, or a value that it does not hold.
    """
    where = {column: values for column, values in (where or {}).items() if values}
    warehouse.connection.execute(
        "CREATE OR REPLACE TEMP TABLE all_compared AS FROM comparisons(?::VARCHAR[], ?::VARCHAR[], margin := ?::DOUBLE)",
        [list(base.runs), list(candidate.runs), margin],
    )
    columns = [column for column, *_ in warehouse.rows("DESCRIBE all_compared")]
    for column in where:
        if column not in columns:
            raise UnknownName("column", column, columns, where="comparisons")
    kept = build_filter(warehouse, "all_compared", where, place="what both sides measured")
    condition, values = kept.condition, kept.parameters
    usual = " AND ".join(["true", *(rule for column, rule in USUAL.items() if column not in where)])
    rows = warehouse.dicts(f"SELECT *, ({usual}) AS usual FROM all_compared WHERE {condition} ORDER BY {ORDER}", values)
    chosen = [row.pop("usual") for row in rows]
    return Comparison(
        base,
        candidate,
        margin,
        rows=[row for row, usual in zip(rows, chosen, strict=True) if usual],
        unusual=[row for row, usual in zip(rows, chosen, strict=True) if not usual],
        means=warehouse.dicts(
            f"WITH headline_rows AS (FROM all_compared WHERE {condition} AND {usual}) SELECT * FROM"
            f" ({sql.views()['comparison_means'].last_select}) WHERE n > 1 ORDER BY {MEANS}",
            values,
        ),
        differences=[
            fact for fact in environments.differences(warehouse, base.runs, candidate.runs) if fact.kind != "call"
        ],
    )


def exit_code(comparison: Comparison) -> Exit:
    """1 if anything got worse; else 3 if the candidate lacks anything; 4 if nothing could be judged."""
    verdicts = Counter(row["verdict"] for row in comparison.rows)
    if any(verdicts[verdict] for verdict in WORSE):
        return Exit.FAILED
    if any(map(is_lost, comparison.rows)):
        return Exit.NOTHING
    if not any(verdicts[verdict] for verdict in (*BETTER, "SAME")):
        return Exit.TOO_LITTLE
    return Exit.OK


def is_lost(row: Row) -> bool:
    """Whether the base has the case and the candidate lacks it."""
    return bool(row["verdict"] == "ONLY-THERE" and row["base_status"] == "ok")
