"""Baselines: compare a run with an earlier one, case by case, as `bench compare` does."""

import contextlib
from collections.abc import Sequence
from typing import Any

from ...warehouse.console.numbers import change_of, counted, time_with_doubt, times
from ...warehouse.console.tables import write_rows
from ...warehouse.errors import BenchError
from ...warehouse.store import Store
from ..engine.workload import BASELINE
from ..options import talk

Row = dict[str, Any]  # of `comparisons`


def resolve(store: Store, name: str) -> str:
    """The id of the run that a name means now, because `latest` will mean the new run once it is recorded.

    Raises:
        BenchError: No run has this name.
    """
    from ...query.resolve import resolve_run
    from ...warehouse.database import Warehouse

    with Warehouse.open(store) as warehouse:
        return resolve_run(warehouse, name)


def compared(store: Store, base: str, candidate: str, models: Sequence[str]) -> list[Row]:
    """Rows of `comparisons` for the steady latency of some models.

    Raises:
        BenchError: Neither run measured any of them.
    """
    from ...query.comparison.compare import compare
    from ...query.comparison.sides import find_sides
    from ...warehouse.database import Warehouse

    with Warehouse.open(store) as warehouse:
        sides = find_sides(warehouse, base, candidate, notify=talk)
        return compare(warehouse, *sides, where={"metric": ["latency"], "name": models}).rows


def headings(base: str, candidate: str) -> tuple[str, ...]:
    """Headings of `rows`, with the names of the two sides."""
    sides = (base, candidate, "change", f"speedup {base}", f"speedup {candidate}")
    return ("model", "mode", "batch", "length", "backend", *sides, "verdict")


def rows(found: Sequence[Row]) -> list[tuple[Any, ...]]:
    """Rows under `headings` of cases that both sides measured; a speedup is against the same side's baseline backend.

    A time has the number of its samples; its interval is that of the ratio, since the runs are what it varies with.
    """
    steady = [row for row in found if row["phase"] == "steady"]
    eager = {row["work_hash"]: row for row in steady if row["backend"] == BASELINE}
    return [
        (
            row["name"], row["mode"], row["batch_size"], row["sequence_length"], row["backend"],
            time_with_doubt(row["base_value"], None, None, row["base_n"]),
            time_with_doubt(row["candidate_value"], None, None, row["candidate_n"]), change_of(row) or "–",
            _speedup(eager.get(row["work_hash"]), row, "base_value"),
            _speedup(eager.get(row["work_hash"]), row, "candidate_value"), row["verdict"],
        )
        for row in steady
        if row["ratio"] is not None
    ]  # fmt: skip


def _speedup(eager: Row | None, row: Row, side: str) -> str:
    if eager is None or eager is row or not row[side] or not eager[side]:
        return "–"
    return times(eager[side] / row[side])


def show(
    store: Store, base: str, candidate: str, models: Sequence[str], fmt: str, sides: tuple[str, str] = ("then", "now")
) -> None:
    """Write the comparison for people; for programs say which command gives it. `sides` are what to call the two."""
    if fmt not in ("table", "markdown"):
        talk(f"compare it with: bench compare {base} {candidate} --store {store} --format {fmt}")
        return
    import click

    with contextlib.suppress(BenchError):  # said on stderr; what was measured stands
        found = compared(store, base, candidate, models)
        if both := rows(found):
            click.echo()
            write_rows(headings(*sides), both, fmt)
        if alone := sum(row["ratio"] is None for row in found if row["phase"] == "steady"):
            talk(f"{counted(alone, 'case', 'was', 'were')} measured, or went well, on one side only")
    talk(f"all metrics, intervals and reasons: bench compare {base} {candidate} --store {store}")
