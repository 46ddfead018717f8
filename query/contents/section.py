"""The results of runs as a section of a report, for runs that measured no baseline."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...warehouse.console.fitting import without_shared
from ..document import Section, Table, TableColumn
from .results import render, results

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse


def results_section(
    warehouse: "Warehouse", runs: Sequence[str], suites: Sequence[str] = (), backends: Sequence[str] = ()
) -> Section | None:
    """The table of `bench show`: a row a case; None where the runs have no case."""
    found = results(warehouse, runs, {"suite": suites, "backend": backends})
    if not found.rows:
        return None
    columns, rows, once = render(found)
    (kept, cells), shared = without_shared(columns, rows, once)
    table = Table([TableColumn(name, "count" if name == "n" else "text") for name in kept], [[*row] for row in cells])
    of_all_steps = any(row["suite"] == "scheduler" and '"all"' in str(row["parameters"]) for row in found.rows)
    sentences = [
        "The median of each case's samples with its 95 % interval"
        f"{'; of all steps of a scheduler their mean' if of_all_steps else ''}.",
        *([f"All cases: {', '.join(shared)}."] if shared else []),
    ]
    command = f"bench show {' '.join(run[:13] for run in runs)}"
    return Section(key="results", title="Results", sentences=sentences, tables=[table], weight=10, command=command)
