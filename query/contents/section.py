"""The results of runs as a section of a report, for runs that measured no baseline."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..document import Section, Table, TableColumn
from .results import TOLD_ONCE, render, results

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse


def results_section(
    warehouse: "Warehouse", runs: Sequence[str], suites: Sequence[str] = (), backends: Sequence[str] = ()
) -> Section | None:
    """The table of `bench show`: a row a case; None where the runs have no case."""
    found = results(warehouse, runs, {"suite": suites, "backend": backends})
    if not found.rows:
        return None
    columns, rows, _ = render(found)
    shared = [
        i
        for i, name in enumerate(columns)
        if len(rows) > 1 and name in TOLD_ONCE and len({row[i] for row in rows}) == 1
    ]
    told = ", ".join(f"{columns[i]} {rows[0][i]}" for i in shared)
    kept = [i for i in range(len(columns)) if i not in shared]
    table = Table(
        [TableColumn(columns[i], "count" if columns[i] == "n" else "text") for i in kept],
        [[row[i] for i in kept] for row in rows],
    )
    of_all_steps = any(row["suite"] == "scheduler" and '"all"' in str(row["parameters"]) for row in found.rows)
    sentences = [
        "The median of each case's samples with its 95 % interval"
        f"{'; of all steps of a scheduler their mean' if of_all_steps else ''}.",
        *([f"All cases: {told}."] if told else []),
    ]
    command = f"bench show {' '.join(run[:13] for run in runs)}"
    return Section(key="results", title="Results", sentences=sentences, tables=[table], weight=10, command=command)
