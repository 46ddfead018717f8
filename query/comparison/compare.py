"""Comparisons: the rows of two sides that were asked for, what matters first, with means and what they cover."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ... import sql
from ...sql.rules import FDR, WINDOW
from ...warehouse.console.numbers import is_time_or_rate
from ...warehouse.errors import Exit
from ..filters import Filter, build_filter
from . import environments
from .captures import describe_captures
from .sides import Side
from .variants import share_runs

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

Row = dict[str, Any]
WORSE, BETTER = ("SLOWER", "WORSE"), ("FASTER", "BETTER")
LIKELY_WORSE, LIKELY_BETTER = (tuple(f"LIKELY {verdict}" for verdict in verdicts) for verdicts in (WORSE, BETTER))

# What is compared unless the column is named.
USUAL = {"phase": "_is_warm(phase)", "metric": "is_headline AND (_is_headline(metric, better) OR verdict = 'CHANGED')"}
# worst first
VERDICTS = (
    "BROKEN", *WORSE, *LIKELY_WORSE, "REMOVED", *BETTER, *LIKELY_BETTER, "FIXED", "ADDED", "CHANGED", "UNSURE", None, "SAME",
)  # fmt: skip
CHANGES = (*WORSE, *LIKELY_WORSE, *BETTER, *LIKELY_BETTER, "CHANGED")  # verdicts that say that a number changed
SETTLED = (*CHANGES, "SAME")
# What matters first; of that the larger change.
ORDER = f"""
    coalesce(list_position({[verdict or "" for verdict in VERDICTS]}, coalesce(verdict, '')), 0),
    abs(ln(CASE WHEN ratio > 0 THEN ratio END)) DESC NULLS LAST, suite, name, mode, device, dtype, batch_size,
    sequence_length, parameters, backend, metric <> 'latency', metric, phase
"""
MEANS = "metric <> 'latency', abs(ln(ratio)) DESC, metric, phase, suite, backend"  # order of the means


@dataclass(frozen=True, slots=True)
class Comparison:
    """The rows of `comparisons` that were asked for, what matters first, and what goes with them."""

    base: Side
    candidate: Side
    rows: list[Row]
    unusual: list[Row]  # set apart because nobody named it: cold phases, other statistics, and what has no direction
    shifts: list[Row]  # what all cases of a metric share, one per metric × phase: rows of `shared_shifts`
    means: list[Row]  # one per metric × phase × suite × backend
    differences: list[environments.EnvironmentField]  # of their environments and code
    captures: list[str]  # sentences on scheduler steps that one side lacks
    crossovers: list[Row]  # sweeps in which the candidate is better from some size on: rows of `crossovers`
    machines: tuple[str, str] | None = None  # classes of both, or hosts of unknown processors
    are_hosts: bool = False  # the machines are names of hosts
    across: bool = False  # the machines are compared as they stand


@dataclass(frozen=True, slots=True)
class ComparedRows:
    """The rows of `comparisons` that were asked for, what matters first."""

    usual: list[Row]
    unusual: list[Row]  # cold phases, other statistics, and what has no direction, unless they were named
    kept: Filter  # what was asked for
    is_usual: str  # as SQL, of a row


def compare(
    warehouse: "Warehouse",
    base: Side,
    candidate: Side,
    *,
    floor: float | None = None,
    fdr: float = FDR,
    where: Mapping[str, Sequence[str]] | None = None,
    across: bool = False,
) -> Comparison:
    """Compare two sides case by case, with all that there is to say of the comparison.

    Arguments and errors are those of `compared_rows`.
    """
    runs = {"base": list(base.runs), "candidate": list(candidate.runs)}
    found = compared_rows(warehouse, base, candidate, floor=floor, fdr=fdr, where=where, across=across)
    asked = found.kept.values
    rows = [*found.usual, *found.unusual]
    machines, are_hosts = _machines(warehouse, runs) or (None, False)
    return Comparison(
        base,
        candidate,
        rows=found.usual,
        unusual=found.unusual,
        shifts=[
            row
            for row in warehouse.dicts(
                f"SELECT * FROM ({sql.view('shared_shifts').last_select})"
                " WHERE _is_warm(phase) AND _is_headline(metric, better) ORDER BY metric <> 'latency', metric, phase"
            )
            if row["metric"] in asked.get("metric", [row["metric"]])
        ],
        means=warehouse.dicts(
            f"WITH headline_rows AS (SELECT *, {share_runs(base, candidate)} AS is_of_same_runs FROM all_compared"
            f" WHERE {found.kept.condition} AND {found.is_usual})"
            f" SELECT * FROM ({sql.view('comparison_means').last_select}) WHERE n > 1 ORDER BY {MEANS}",
            found.kept.parameters,
        ),
        differences=[
            fact for fact in environments.differences(warehouse, base.runs, candidate.runs) if fact.kind != "call"
        ],
        captures=describe_captures(warehouse, base, candidate) if any(map(_is_step, rows)) else [],
        crossovers=_crossovers(warehouse, asked) if _may_cross(rows) else [],
        machines=machines,
        are_hosts=are_hosts,
        across=across,
    )


def compared_rows(
    warehouse: "Warehouse",
    base: Side,
    candidate: Side,
    *,
    floor: float | None = None,
    fdr: float = FDR,
    where: Mapping[str, Sequence[str]] | None = None,
    across: bool = False,
) -> ComparedRows:
    """Compare two sides case by case; the temporary tables `compared_cases` and `all_compared` hold the rows afterwards.

    Unless phases are named, cold and warm-up ones are set apart; unless metrics are, those without a direction.

    Args:
        warehouse: Where to look.
        base: The side to compare with.
        candidate: The side under judgement.
        floor: Smallest change that counts, as a fraction; None: what the project's settings say of metric and case.
        fdr: Share of false alarms to accept, of all alarms.
        where: column of `comparisons` -> values to keep; an empty list keeps all.
        across: Compare sides of different classes of machine as they stand.

    Raises:
        UnknownName: No such column, or a value that it does not hold.
    """
    where = {column: values for column, values in (where or {}).items() if values}
    warehouse.connection.execute(
        "CREATE OR REPLACE TEMP TABLE compared_cases AS SELECT *, $fdr::DOUBLE AS fdr FROM _compared_cases("
        "$base::VARCHAR[], $candidate::VARCHAR[], $last::BIGINT, $floor::DOUBLE, $fdr::DOUBLE, $across::BOOLEAN)",
        {
            "base": list(base.runs), "candidate": list(candidate.runs), "last": WINDOW, "floor": floor, "fdr": fdr,
            "across": across,
        },
    )  # fmt: skip
    columns = list(sql.view("comparisons").columns)
    warehouse.connection.execute(
        f"CREATE OR REPLACE TEMP VIEW all_compared AS SELECT {', '.join(columns)} FROM compared_cases"
    )
    kept = build_filter(warehouse, "all_compared", where, place="what both sides measured")
    usual = " AND ".join(["true", *(rule for column, rule in USUAL.items() if column not in where)])
    rows = warehouse.dicts(
        f"SELECT *, ({usual}) AS usual FROM all_compared WHERE {kept.condition} ORDER BY {ORDER}", kept.parameters
    )
    chosen = [row.pop("usual") for row in rows]
    return ComparedRows(
        usual=[row for row, is_usual in zip(rows, chosen, strict=True) if is_usual],
        unusual=[row for row, is_usual in zip(rows, chosen, strict=True) if not is_usual],
        kept=kept,
        is_usual=usual,
    )


def _may_cross(rows: Sequence[Row]) -> bool:
    """True if there may be a crossover: some cases are better, others worse."""
    ratios = [row["ratio"] for row in rows if row["ratio"] is not None and row["better"] is not None]
    return len(ratios) >= 3 and min(ratios) < 1 < max(ratios)


def _crossovers(warehouse: "Warehouse", where: Mapping[str, Sequence[str]]) -> list[Row]:
    """Those of the cases that were asked for, as far as the columns of a sweep tell, from the table of compared cases."""
    query = (
        f"FROM ({sql.view('crossovers').after_first_step}) ORDER BY metric <> 'latency', metric, phase, suite, name, mode,"
        " device, dtype, batch_size, sequence_length, parameters, backend, axis"
    )
    return [
        row
        for row in warehouse.dicts(query)
        if all(
            str(row[column]) in values for column, values in where.items() if column in row and column != row["axis"]
        )
    ]


def _machines(warehouse: "Warehouse", runs: Mapping[str, Sequence[str]]) -> tuple[tuple[str, str], bool] | None:
    """The classes of machine of both sides where these differ, else their hosts where no processor is known; True for hosts."""
    facts = "SELECT DISTINCT machine_id, host FROM _run_times WHERE list_contains(?::VARCHAR[], run_id)"
    if len(warehouse.rows(facts, [[run for side in runs.values() for run in side]])) == 1:  # planning takes 20 ms
        return None
    query = (
        "SELECT side.side, coalesce(is_other_machine, false), CASE WHEN is_other_machine THEN machines.machine ELSE side.host END"
        " FROM _comparison_sides($base::VARCHAR[], $candidate::VARCHAR[], 1) AS side"
        " JOIN machines ON side.run_id = machines.run_id WHERE is_other_machine IS NOT false ORDER BY ALL"
    )
    rows = warehouse.rows(query, dict(runs))
    names: dict[str, dict[str, None]] = {}
    for side, _, name in rows:
        names.setdefault(side, {})[name] = None
    found = [" + ".join(of_side) for of_side in names.values()]
    return ((found[0], found[1]), not rows[0][1]) if len(found) == 2 else None


def exit_code(comparison: Comparison, *, likely: bool = False) -> Exit:
    """1 if anything got worse, or all together; else 3 if the candidate lacks anything; 4 if nothing or no time is settled.

    With `likely` what is likely worse counts as worse.
    """
    verdicts = Counter(row["verdict"] for row in [*comparison.rows, *comparison.shifts])
    if any(verdicts[verdict] for verdict in ((*WORSE, *LIKELY_WORSE) if likely else WORSE)):
        return Exit.FAILED
    if any(map(is_lost, comparison.rows)):
        return Exit.NOTHING
    if not any(map(verdicts.get, SETTLED)) or leaves_times_open(comparison):
        return Exit.TOO_LITTLE
    return Exit.OK


def leaves_times_open(comparison: Comparison) -> bool:
    """Return whether both sides measured times or rates, and none of these is settled, whatever else is."""
    verdicts = {row["verdict"] for row in [*comparison.rows, *comparison.shifts] if is_time_or_rate(row["unit"])}
    return "UNSURE" in verdicts and verdicts.isdisjoint(SETTLED)


def _is_step(row: Row) -> bool:
    return bool(row["suite"] == "scheduler")


def is_lost(row: Row) -> bool:
    """Return whether the base has the case and the candidate lacks it."""
    return bool(row["verdict"] in ("BROKEN", "REMOVED") and row["base_status"] == "ok")
