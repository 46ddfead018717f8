"""What settles a verdict that is likely or unsure: further runs of both sides, and the command that judges with them."""

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..regression.remeasure import command_for
from ..run_paths import is_path
from .compare import Comparison

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

MOST_CASES = 8  # that the command measures again: those that matter most
_SIDE = """
SELECT min(config), CASE WHEN count(DISTINCT git_commit) = 1 AND NOT coalesce(bool_or(git_dirty), true)
    THEN left(min(git_commit), 9) END
FROM runs WHERE list_contains(?::VARCHAR[], run_id)
"""


def describe_settling(warehouse: "Warehouse", found: Comparison, places: Sequence[str]) -> list[str]:
    """A sentence with the command, where an interval leaves a verdict open; `places` are the sides as they were given."""
    doubtful = [
        row for row in found.rows if row["low"] is not None and (row["verdict"] or "").startswith(("LIKELY", "UNSURE"))
    ]
    if not doubtful:
        return []
    if found.machines and not found.across:
        return ["to settle it, measure both sides on one machine"]
    if any(map(is_path, places)):
        return ["to settle it, put more results of each side into a folder: bench compare BASE/ CANDIDATE/"]
    cases = [row["case_id"] for row in doubtful[:MOST_CASES]]
    again = [command_for(warehouse, side.runs[0], cases) for side in (found.base, found.candidate)]
    sides = [warehouse.rows(_SIDE, [[*side.runs]])[0] for side in (found.base, found.candidate)]
    (base, base_commit), (candidate, commit) = sides
    if base == candidate:
        base, candidate = base_commit, commit
    judged = f"bench compare {shlex.quote(base or 'A+A2')} {shlex.quote(candidate or 'B+B2')} --all-runs"
    commands = list(dict.fromkeys(shlex.join(words) for words in again if not isinstance(words, str)))
    if any(isinstance(words, str) for words in again):
        return [f"to settle it, load another result of each side, then: {judged}"]
    where = ", each side at its commit" if base_commit != commit else ""
    return [f"to settle it, measure again{where}: {' && '.join([*commands, judged])}"]
