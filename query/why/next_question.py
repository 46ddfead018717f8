"""The question after a comparison: why the worst case changed, where its parts are recorded."""

import itertools
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...warehouse.errors import BenchError
from ..comparison.compare import CHANGES, Comparison
from ..comparison.sides import Side, find_sides
from ..run_paths import store_to_ask
from .compiling import COMPILED
from .memory import PEAK, is_peak
from .serving import QUANTILE
from .stacks import are_folded
from .why import STEP, how_to_record, is_all_steps, why

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

FIRST = 3  # rows under a finding
UNKNOWN = "–"  # in a cell
_RECORDED = "SELECT DISTINCT case_id FROM time_part_sides(?, ?)"
_SERVED = """
    SELECT case_id FROM requests WHERE list_contains(?::VARCHAR[], run_id) AND ttft_ms + e2e_ms IS NOT NULL
    INTERSECT
    SELECT case_id FROM requests WHERE list_contains(?::VARCHAR[], run_id) AND ttft_ms + e2e_ms IS NOT NULL
"""
_NAMED = """
    SELECT DISTINCT case_id FROM cases
    WHERE list_contains(?::VARCHAR[], run_id) AND name IS NOT DISTINCT FROM ? AND (?::VARCHAR IS NULL OR backend = ?)
"""
_FUNCTIONS = """
    SELECT DISTINCT case_id FROM cases WHERE list_contains(?::VARCHAR[], run_id) AND suite = 'function' AND backend = ?
"""
_TRACED = """
    SELECT case_id, source FROM peak_parts WHERE list_contains(?::VARCHAR[], run_id)
    INTERSECT
    SELECT case_id, source FROM peak_parts WHERE list_contains(?::VARCHAR[], run_id)
"""


def next_question(warehouse: "Warehouse", found: Comparison, *, all_runs: bool) -> list[str]:
    """The command that takes the first change with recorded parts apart; none where there is no such change.

    Samples of folded stacks have no better direction, and a case a path: they are taken apart as a whole.
    """
    changed = [row for row in found.rows if row["verdict"] in CHANGES and row["base_value"] is not None]
    steps = any(map(is_all_steps, found.rows)) and any(row["suite"] == "scheduler" for row in changed)
    if steps:
        asked: CaseQuestion | None = CaseQuestion(STEP)
    elif are_folded(warehouse, (found.base, found.candidate)):
        asked = CaseQuestion(None)
    else:
        asked = next(_asked(warehouse, [found.base.runs, found.candidate.runs], changed), None)
    if asked is None:
        return []
    return [_call(warehouse, (found.base, found.candidate), asked, all_runs=all_runs)]


def next_question_of_served(
    warehouse: "Warehouse", sides: tuple[Side, Side], rows: Sequence[Mapping[str, Any]], *, all_runs: bool
) -> list[str]:
    """The command that takes the first changed quantile of the time of requests apart; none where there is none."""
    changed = [row for row in rows if row["verdict"] in CHANGES and row["metric"].startswith("e2e_p")]
    asked = next(_asked(warehouse, [side.runs for side in sides], changed), None)
    return [] if asked is None else [_call(warehouse, sides, asked, all_runs=all_runs)]


def _call(warehouse: "Warehouse", sides: Sequence[Side], asked: "CaseQuestion", *, all_runs: bool) -> str:
    words = ["bench", "why", *(side.word for side in sides), *asked.words, *(["--all-runs"] if all_runs else [])]
    return f"why: {shlex.join(words)}{store_to_ask(warehouse)}"


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
            yield f"why is not recorded on both sides: {how_to_record(row)}"
        return
    yield _call(warehouse, sides, asked, all_runs=False)
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
        reach = "" if bounds == UNKNOWN else f" (95 % {bounds})"
        of_whole = "" if share == UNKNOWN else f"{share} of the difference"
        yield f"  {name}: {', '.join(filter(None, (f'{difference}{reach}', of_whole, where)))}"


@dataclass(frozen=True, slots=True)
class CaseQuestion:
    """A case to take apart, with its metric if that is not the time, and its backend if it has several."""

    name: str | None
    metric: str | None = None
    backend: str | None = None

    @property
    def words(self) -> list[str]:
        """The options as words of the command."""
        named = {"--metric": self.metric, "--backend": self.backend}
        return [*filter(None, [self.name]), *(word for pair in named.items() if pair[1] for word in pair if word)]


def _asked(
    warehouse: "Warehouse", sides: Sequence[Sequence[str]], changed: Sequence[Mapping[str, Any]]
) -> Iterator[CaseQuestion]:
    """The case, and what of it to take apart: times first, then counts of the compiler, then peaks of memory."""
    times = [row for row in changed if row["metric"] == "latency" or QUANTILE.fullmatch(row["metric"])]
    runs = [*map(list, sides)]
    recorded = (
        {case_id for query in (_RECORDED, _SERVED) for (case_id,) in warehouse.rows(query, runs)} if times else set()
    )
    backends = {row["backend"] for row in changed}
    for row in [*times, *(row for row in changed if row["metric"] in COMPILED)]:
        if row["metric"] in COMPILED or row["case_id"] in recorded or row.get("suite") == "script":
            metric = None if row["metric"] == "latency" else row["metric"]
            yield _question(warehouse, sides, row, metric, row["backend"] if len(backends) > 1 else None)
    peaks = [row for row in changed if is_peak(row)]
    traced = set(warehouse.rows(_TRACED, [*map(list, sides)])) if peaks else set()
    for row in peaks:
        if (row["case_id"], row["metric"].removesuffix(PEAK)) in traced:
            yield _question(warehouse, sides, row, row["metric"], row["backend"] if len(backends) > 1 else None)


def _question(
    warehouse: "Warehouse",
    sides: Sequence[Sequence[str]],
    row: Mapping[str, Any],
    metric: str | None,
    backend: str | None,
) -> CaseQuestion:
    """A case by its name, or by its id where the sides have several of that name; a function by its own, which is its backend."""
    runs = [run for side in sides for run in side]
    if row.get("suite") == "function" and row["backend"]:
        named = warehouse.rows(_FUNCTIONS, [runs, row["backend"]])
        return CaseQuestion(row["case_id"] if len(named) > 1 else row["backend"], metric)
    named = warehouse.rows(_NAMED, [runs, row["name"], backend, backend])
    return CaseQuestion(row["case_id"] if len(named) > 1 else row["name"], metric, backend)
