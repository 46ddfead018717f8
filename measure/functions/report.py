"""The report of `bench measure function`: one row per function and arguments, from the recorded events."""

import json
import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...warehouse.console.numbers import counted, duration, ratio, size
from ...warehouse.console.tables import escape
from ..engine.estimate import Estimate, doubt, level_of, paired
from ..engine.sampling import WIDEST_PRINTED_PRECISION

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

HEADINGS = (
    "function",
    "arguments",
    "median",
    "fastest",
    "slowest",
    "memory",
    "samples",
    "processes",
    "speed",
    "status",
)
COLUMNS = (
    "name", "function", "parameters", "status", "reason", "median_ns", "min_ns", "max_ns", "peak_growth_bytes", "samples",
    "processes", "ratio", "low", "high", "blocks",
)  # fmt: skip
DIFFERENT = 0.05  # of the time: from there on processes that differ are worth a word; a ratio is taken within each

_CASES = """
SELECT case_id, work_hash, name, backend, parameters, status, reason, failed, processes, peak_bytes
FROM function_results
WHERE run_id = ?
ORDER BY announced_at, line
"""
_SAMPLES = """
SELECT case_id, process, block, duration_ns::DOUBLE / loops
FROM timings
WHERE run_id = ? AND metric = 'latency' AND phase = 'steady'
ORDER BY process, block
"""

Blocks = Mapping[tuple[int, int], float]  # by process and block: ns of one call


@dataclass(frozen=True, slots=True)
class FunctionResult:
    """One function with its arguments, in the order measured.

    `against` is the ratio of the first function's time to its time; None of the first, and where either failed. `alone`
    says that there is no other to compare with.
    """

    name: str
    function: str
    parameters: Mapping[str, Any]
    status: str
    reason: str
    failed: int  # of `total` processes
    total: int
    peak_bytes: int | None
    blocks: Blocks
    against: Estimate | None
    alone: bool

    def cells(self) -> tuple[str, ...]:
        """The row of HEADINGS."""
        times = list(self.blocks.values())
        shown = (statistics.median(times), min(times), max(times)) if times else (None, None, None)
        found = self.against
        return (
            self.function, " ".join(f"{key}={value}" for key, value in self.parameters.items()), *map(duration, shown),
            size(self.peak_bytes), str(len(times)), str(len(self._processes())),
            (found and ratio(found.ratio, found.low, found.high, found.n)) or "–", self.status,
        )  # fmt: skip

    def values(self) -> tuple[Any, ...]:
        """The row of COLUMNS."""
        times = list(self.blocks.values())
        shown = (statistics.median(times), min(times), max(times)) if times else (None, None, None)
        found = self.against
        bounds = (found.low, found.high) if found and math.isfinite(found.high) else (None, None)
        ratio = (found.ratio, *bounds, found.n) if found else (None,) * 4
        found_text = dict(self.parameters) or None  # Parquet has no empty struct
        return (
            self.name, self.function, found_text, self.status, self.reason, *shown, self.peak_bytes, len(times),
            len(self._processes()), *ratio,
        )  # fmt: skip

    def notes(self, precision: float, limit: str = "--budget") -> Iterator[str]:
        """Notes below the row, each with the next step; `limit` is the option that ended the sampling."""
        title = escape(" ".join([self.function, *(f"{key}={value}" for key, value in self.parameters.items())]))
        if self.status != "ok":
            where = f" in {self.failed} of {self.total} processes" if 0 < self.failed < self.total else ""
            yield f"{title}: {self.status}{where}: {escape(self.reason)}"
        found = self.against or (level_of(self.blocks.values()) if self.alone else None)
        if self.status == "ok" and found and not found.precision < WIDEST_PRINTED_PRECISION:
            given = counted(found.n, "sample", "gives", "give")
            yield f"{title}: {given} no telling interval: measure longer with a larger {limit}"
        elif self.status == "ok" and found:
            if self.against and (found_text := doubt(found.ratio, found.low, found.high)):
                yield f"{title}: {found_text}"
            if found.precision > precision:
                yield f"{title}: ±{found.precision:.1%} where {precision:.1%} was asked: measure longer with a larger {limit}"
        levels = [statistics.median(times) for times in self._processes().values()]
        if self.alone and levels and max(levels) > (1 + DIFFERENT) * min(levels):
            yield f"{title}: its processes differ by {max(levels) / min(levels) - 1:.0%}: measure in more with --processes"

    def _processes(self) -> dict[int, list[float]]:
        found: dict[int, list[float]] = {}
        for (process, _), each_ns in self.blocks.items():
            found.setdefault(process, []).append(each_ns)
        return found


def results(warehouse: "Warehouse", run_id: str) -> list[FunctionResult]:
    """The cases of a run, each against the first of the same work."""
    samples: dict[str, dict[tuple[int, int], float]] = {}
    for case_id, process, block, each_ns in warehouse.rows(_SAMPLES, [run_id]):
        samples.setdefault(case_id, {})[process, block] = each_ns
    first: dict[str, tuple[Blocks, bool]] = {}  # by work
    found = []
    cases = warehouse.rows(_CASES, [run_id])
    sides = Counter(work for _, work, *_ in cases)
    for case_id, work, name, function, parameters, status, reason, failed, total, peak in cases:
        blocks, fine = samples.get(case_id, {}), status == "ok"
        against = _ratio(first[work][0], blocks) if work in first and fine and first[work][1] else None
        first.setdefault(work, (blocks, fine))
        found_text = json.loads(parameters) if parameters else {}
        alone = sides[work] == 1
        status = status or "interrupted"
        found.append(
            FunctionResult(
                name, function, found_text, status, reason or "", failed or 0, total or 0, peak, blocks, against, alone
            )
        )
    return found


def _ratio(baseline: Blocks, blocks: Blocks) -> Estimate | None:
    """The ratio over the blocks that timed both, ordered by process; autocorrelation widens its interval."""
    both = [(baseline[key], blocks[key]) for key in blocks if key in baseline]
    return paired(both) if both else None
