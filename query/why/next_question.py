"""The question after a comparison: why the worst case changed, where its parts are recorded."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...warehouse.errors import BenchError
from ..comparison.compare import CHANGES, Comparison
from ..comparison.sides import find_sides
from .compiling import COMPILED
from .why import STEP, is_all_steps

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

_RECORDED = "SELECT DISTINCT case_id FROM time_part_sides(?, ?)"


def next_question(warehouse: "Warehouse", found: Comparison, *, all_runs: bool) -> list[str]:
    """The command that takes the first change with recorded parts apart; none where there is no such change."""
    changed = [row for row in found.rows if row["verdict"] in CHANGES and row["base_value"] is not None]
    steps = any(map(is_all_steps, found.rows)) and any(row["suite"] == "scheduler" for row in changed)
    asked = [STEP] if steps else next(_asked(warehouse, [found.base.runs, found.candidate.runs], changed), None)
    if not asked:
        return []
    words = ["bench", "why", found.base.name, found.candidate.name, *asked, *(["--all-runs"] if all_runs else [])]
    return [f"why: {shlex.join(words)}"]


def question_since(warehouse: "Warehouse", good: str, row: Mapping[str, Any]) -> str | None:
    """The command that takes what a run has lost since a commit apart, where its parts are recorded on both sides."""
    try:
        sides = find_sides(warehouse, good, row["run_id"])
    except BenchError:
        return None
    asked = next(_asked(warehouse, [side.runs for side in sides], [row]), None)
    return f"why: {shlex.join(['bench', 'why', *(side.name for side in sides), *asked])}" if asked else None


def _asked(
    warehouse: "Warehouse", sides: Sequence[Sequence[str]], changed: Sequence[Mapping[str, Any]]
) -> Iterator[list[str]]:
    """The case, and what of it to take apart: times first, then counts of the compiler."""
    times = [row for row in changed if row["metric"] == "latency"]
    recorded = {case_id for (case_id,) in warehouse.rows(_RECORDED, [*map(list, sides)])} if times else set()
    backends = {row["backend"] for row in changed}
    for row in [*times, *(row for row in changed if row["metric"] in COMPILED)]:
        if row["metric"] in COMPILED or row["suite"] == "script" or row["case_id"] in recorded:
            backend = ["--backend", row["backend"]] if len(backends) > 1 and row["backend"] else []
            yield [row["name"], *([] if row["metric"] == "latency" else ["--metric", row["metric"]]), *backend]
