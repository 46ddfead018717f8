"""The question after a comparison: why the worst case changed, where its parts are recorded."""

import itertools
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...warehouse.errors import BenchError
from ..comparison.compare import CHANGES, Comparison
from ..comparison.sides import Side, find_sides
from .compiling import COMPILED
from .memory import PEAK, is_peak
from .why import STEP, how_to_record, is_all_steps, why

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

FIRST = 3  # rows under a finding
_RECORDED = "SELECT DISTINCT case_id FROM time_part_sides(?, ?)"
_TRACED = """
    SELECT case_id, source FROM peak_parts WHERE list_contains(?::VARCHAR[], run_id)
    INTERSECT
    SELECT case_id, source FROM peak_parts WHERE list_contains(?::VARCHAR[], run_id)
"""


def next_question(warehouse: "Warehouse", found: Comparison, *, all_runs: bool) -> list[str]:
    """The command that takes the first change with recorded parts apart; none where there is no such change."""
    changed = [row for row in found.rows if row["verdict"] in CHANGES and row["base_value"] is not None]
    steps = any(map(is_all_steps, found.rows)) and any(row["suite"] == "scheduler" for row in changed)
    if steps:
        asked: CaseQuestion | None = CaseQuestion(STEP)
    else:
        asked = next(_asked(warehouse, [found.base.runs, found.candidate.runs], changed), None)
    if asked is None:
        return []
    words = ["bench", "why", found.base.name, found.candidate.name, *asked.words, *(["--all-runs"] if all_runs else [])]
    return [f"why: {shlex.join(words)}"]


def question_since(
    warehouse: "Warehouse", good: str, row: Mapping[str, Any], *, answered: bool = False
) -> Iterator[str]:
    """The command that takes what a run has lost since a commit apart, where its parts are recorded on both sides.

    With `answered` the first rows of its answer follow.
    """
    try:
        sides = find_sides(warehouse, good, row["run_id"])
    except BenchError:
        return
    asked = next(_asked(warehouse, [side.runs for side in sides], [row]), None)
    if asked is None:
        if answered:
            yield f"why is not recorded on both sides: {how_to_record(row['suite'])}"
        return
    yield f"why: {shlex.join(['bench', 'why', *(side.name for side in sides), *asked.words])}"
    if answered:
        yield from first_rows(warehouse, sides, asked)


def first_rows(warehouse: "Warehouse", sides: tuple[Side, Side], asked: "CaseQuestion") -> Iterator[str]:
    """The first rows of the answer as lines, or why there is none."""
    from .changed import marked
    from .command import cells

    try:
        found = marked(warehouse, sides, why(warehouse, sides, asked.name, metric=asked.metric, backend=asked.backend))
    except BenchError as error:
        yield str(error)
        return
    for name, _, _, difference, bounds, share, where in itertools.islice(cells(found), FIRST):
        yield f"  {name}: {', '.join(filter(None, (f'{difference} (95 % {bounds})', share, where)))}"


@dataclass(frozen=True, slots=True)
class CaseQuestion:
    """What to take apart: a case, its metric if that is not the time, and its backend if it has several."""

    name: str | None
    metric: str | None = None
    backend: str | None = None

    @property
    def words(self) -> list[str]:
        """As words of the command."""
        named = {"--metric": self.metric, "--backend": self.backend}
        return [*filter(None, [self.name]), *(word for pair in named.items() if pair[1] for word in pair if word)]


def _asked(
    warehouse: "Warehouse", sides: Sequence[Sequence[str]], changed: Sequence[Mapping[str, Any]]
) -> Iterator[CaseQuestion]:
    """The case, and what of it to take apart: times first, then counts of the compiler, then peaks of memory."""
    times = [row for row in changed if row["metric"] == "latency"]
    recorded = {case_id for (case_id,) in warehouse.rows(_RECORDED, [*map(list, sides)])} if times else set()
    backends = {row["backend"] for row in changed}
    for row in [*times, *(row for row in changed if row["metric"] in COMPILED)]:
        if row["metric"] in COMPILED or row["suite"] == "script" or row["case_id"] in recorded:
            metric = None if row["metric"] == "latency" else row["metric"]
            yield CaseQuestion(row["name"], metric, row["backend"] if len(backends) > 1 else None)
    peaks = [row for row in changed if is_peak(row)]
    traced = set(warehouse.rows(_TRACED, [*map(list, sides)])) if peaks else set()
    for row in peaks:
        if (row["case_id"], row["metric"].removesuffix(PEAK)) in traced:
            yield CaseQuestion(row["name"], row["metric"], row["backend"] if len(backends) > 1 else None)
