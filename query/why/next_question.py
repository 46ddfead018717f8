"""The question after a comparison: why the worst case changed, where its parts are recorded."""

import shlex
from typing import TYPE_CHECKING

from ..comparison.compare import CHANGES, Comparison
from .why import STEP, is_all_steps

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

_RECORDED = "SELECT DISTINCT case_id FROM time_part_sides(?, ?)"


def next_question(warehouse: "Warehouse", found: Comparison, *, all_runs: bool) -> list[str]:
    """The command that takes the first changed time with recorded parts apart; none where there is no such time."""
    changed = [row for row in found.rows if row["verdict"] in CHANGES and row["base_value"] is not None]
    times = [row for row in changed if row["metric"] == "latency"]
    sides = [list(found.base.runs), list(found.candidate.runs)]
    recorded = {case_id for (case_id,) in warehouse.rows(_RECORDED, sides)} if times else set()
    names = [STEP] if any(map(is_all_steps, found.rows)) and any(row["suite"] == "scheduler" for row in changed) else []
    names += [row["name"] for row in changed if row["metric"] == "latency" and row["suite"] == "script"]
    names += [row["name"] for row in times if row["case_id"] in recorded]
    if not names:
        return []
    words = ["bench", "why", found.base.name, found.candidate.name, names[0], *(["--all-runs"] if all_runs else [])]
    return [f"why: {shlex.join(words)}"]
