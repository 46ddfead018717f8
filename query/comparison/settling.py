"""What settles a verdict that is likely or unsure: further runs of both sides, and the command that judges with them."""

import shlex
from typing import TYPE_CHECKING

from ...warehouse.console.numbers import counted
from ..regression.remeasure import command_for
from ..run_paths import GatheredStore
from .compare import Comparison

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

MOST_CASES = 8  # that the command measures again: those that matter most
_SIDE = """
SELECT min(config), CASE WHEN count(DISTINCT git_commit) = 1 AND NOT coalesce(bool_or(git_dirty), true)
    THEN left(min(git_commit), 9) END
FROM runs WHERE list_contains(?::VARCHAR[], run_id)
"""


def describe_settling(warehouse: "Warehouse", found: Comparison) -> list[str]:
    """A sentence with the command, where an interval leaves a verdict open."""
    doubtful = [
        row for row in found.rows if row["low"] is not None and (row["verdict"] or "").startswith(("LIKELY", "UNSURE"))
    ]
    if not doubtful:
        return []
    if found.machines and not found.across:
        return ["to settle it, measure both sides on one machine"]
    if isinstance(warehouse.store, GatheredStore):
        return ["to settle it, put more results of each side into a folder: bench compare BASE/ CANDIDATE/"]
    sides = found.base, found.candidate
    (base, base_commit), (candidate, commit) = (warehouse.rows(_SIDE, [[*side.runs]])[0] for side in sides)
    if base == candidate:
        base, candidate = base_commit, commit
    if base is None or candidate is None or base == candidate:
        return ["to settle it, record more runs of each side and join their ids: bench compare BASE+ID CANDIDATE+ID"]
    judged = f"bench compare {shlex.quote(base)} {shlex.quote(candidate)} --all-runs"
    if any(side.others for side in sides):
        runs = counted(sum(len(side.runs) + side.others for side in sides), "run")
        return [f"to settle it, judge all {runs} of both sides: {judged}"]
    commands = []
    for side in sides:
        words = command_for(warehouse, side.runs[0], [row["case_id"] for row in doubtful[:MOST_CASES]])
        if isinstance(words, str):
            return [f"to settle it, load another result of each side, then: {judged}"]
        commands.append(shlex.join(words))
    where = ", each side at its commit" if base_commit != commit else ""
    return [f"to settle it, measure again{where}: {' && '.join([*dict.fromkeys(commands), judged])}"]
