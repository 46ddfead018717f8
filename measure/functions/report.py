"""The report of `bench measure function`: one row per function and arguments, from the recorded events."""

import json
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...warehouse.console.numbers import counted, duration, percent, size, speed_of, time_with_doubt
from ...warehouse.console.tables import escape
from ..engine.estimate import Estimate, combined, contradiction, process_estimate
from ..engine.sampling import WIDEST_PRINTED_PRECISION, busy

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

FUNCTION_SPARE = ("slowest", "fastest", "processes", "memory")  # headings that may go where there is no room
FUNCTION_HEADINGS = ("function", "arguments", "time", "fastest", "slowest", "memory", "processes", "speed", "status")
FUNCTION_COLUMNS = (
    "name", "function", "parameters", "status", "reason", "median_ns", "min_ns", "max_ns", "peak_growth_bytes", "samples",
    "processes", "time_ns", "time_low_ns", "time_high_ns", "disturbed", "ratio", "low", "high", "blocks",
)  # fmt: skip

_CASES = """
SELECT case_id, work_hash, name, backend, parameters, status, reason, failed, processes, peak_bytes
FROM function_results
WHERE run_id = ?
ORDER BY announced_at, line
"""
_SAMPLES = """
SELECT case_id, process, block, duration_ns::DOUBLE / loops, coalesce(involuntary_switches > 0, false)
FROM timings
WHERE run_id = ? AND metric = 'latency' AND phase = 'steady'
ORDER BY process, block
"""
_LEVELS = """
SELECT case_id, median, median_low, median_high, n, processes
FROM cells
WHERE run_id = ? AND metric = 'latency' AND phase = 'steady'
"""
UNKNOWN = Estimate(math.nan, 0.0, math.inf, 0, 0)

Blocks = Mapping[tuple[int, int], tuple[float, bool]]  # by process and block: ns of one call, whether it was disturbed


@dataclass(frozen=True, slots=True)
class FunctionResult:
    """One function with its arguments, in the order measured.

    `time` is the time of a call in ns; `against` the ratio of the first function's time to its time, None of the first,
    and where either failed; `reference` the first function's time. `alone` says that there is no other to compare with.
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
    time: Estimate
    against: Estimate | None
    reference: Estimate | None
    alone: bool

    @property
    def disturbed(self) -> list[bool]:
        """The samples that were disturbed."""
        return [disturbed for _, disturbed in self.blocks.values()]

    @property
    def disagreement(self) -> str | None:
        """Describe how the ratio disagrees with the printed times."""
        return contradiction(self.against, self.reference, self.time) if self.against and self.reference else None

    def cells(self) -> tuple[str, ...]:
        """The row of FUNCTION_HEADINGS."""
        times = self._times()
        found = self.against
        return (
            self.function, " ".join(f"{key}={value}" for key, value in self.parameters.items()),
            time_with_doubt(*_printed(self.time)), *(duration(it(times) if times else None) for it in (min, max)),
            size(self.peak_bytes), str(self.time.processes),
            (found and speed_of(found.ratio, found.low, found.high, found.n)) or "–", self.status,
        )  # fmt: skip

    def values(self) -> tuple[Any, ...]:
        """The row of FUNCTION_COLUMNS."""
        times, found = self._times(), self.against
        shown = (statistics.median(times), min(times), max(times)) if times else (None,) * 3
        disturbed = statistics.fmean(self.disturbed) if times else None
        against = _printed(found) if found else (None,) * 4
        found_text = dict(self.parameters) or None  # Parquet has no empty struct
        return (
            self.name, self.function, found_text, self.status, self.reason, *shown, self.peak_bytes, len(times),
            self.time.processes, *_printed(self.time)[:3], disturbed, *against,
        )  # fmt: skip

    def notes(self, precision: float, limit: str = "--budget") -> Iterator[str]:
        """Notes below the row, each with the next step; `limit` is the option that ended the sampling."""
        title = escape(" ".join([self.function, *(f"{key}={value}" for key, value in self.parameters.items())]))
        if self.status != "ok":
            where = f" in {self.failed} of {self.total} processes" if 0 < self.failed < self.total else ""
            yield f"{title}: {self.status}{where}: {escape(self.reason)}"
        found = self.against or (self.time if self.alone else None)
        if self.status != "ok" or not found:
            return
        if not found.precision < WIDEST_PRINTED_PRECISION:
            given = counted(found.n, "sample", "gives", "give")
            yield f"{title}: {given} no usable interval: measure longer with a larger {limit}"
            return
        if self.disagreement:
            yield f"{title}: {self.disagreement}"
        elif self.against and self.against.doubt:
            yield f"{title}: {self.against.doubt}"
        if found.precision > precision:
            cure = f"processes differ: measure in more than {found.processes} with --processes"
            cure = cure if found.scattered else f"measure longer with a larger {limit}"
            yield f"{title}: ±{percent(found.precision, 1)} where {percent(precision, 1)} was asked: {cure}"
        if found.processes == 1:
            yield f"{title}: measured in one process: differences between processes are not in the interval"

    def _times(self) -> list[float]:
        return [each_ns for each_ns, _ in self.blocks.values()]


def busy_machine(disturbed: Iterable[Iterable[bool]]) -> str:
    """A sentence about a busy machine, from what disturbed the samples of every case; empty if it was quiet."""
    samples = [was for case in disturbed for was in case]
    return busy(statistics.fmean(samples)) if samples else ""


def results(warehouse: "Warehouse", run_id: str) -> list[FunctionResult]:
    """The cases of a run, each against the first of the same work."""
    samples: dict[str, dict[tuple[int, int], tuple[float, bool]]] = {}
    for case_id, process, block, each_ns, disturbed in warehouse.rows(_SAMPLES, [run_id]):
        samples.setdefault(case_id, {})[process, block] = each_ns, disturbed
    levels = {
        case_id: Estimate(median, low or 0.0, high or math.inf, n, processes or 1, (processes or 1) > 1)
        for case_id, median, low, high, n, processes in warehouse.rows(_LEVELS, [run_id])
    }
    first: dict[str, tuple[str, Blocks, bool]] = {}  # by work
    found = []
    cases = warehouse.rows(_CASES, [run_id])
    sides = Counter(work for _, work, *_ in cases)
    for case_id, work, name, function, parameters, status, reason, failed, total, peak in cases:
        blocks, fine = samples.get(case_id, {}), status == "ok"
        reference_id, of_reference, is_fine = first.setdefault(work, (case_id, blocks, fine))
        reference = of_reference if reference_id != case_id and fine and is_fine else {}
        both = {
            key: (math.log(reference[key][0] / each_ns), reference[key][1] or disturbed)
            for key, (each_ns, disturbed) in blocks.items()
            if key in reference
        }
        found.append(
            FunctionResult(
                name, function, json.loads(parameters) if parameters else {}, status or "interrupted", reason or "",
                failed or 0, total or 0, peak, blocks, levels.get(case_id, UNKNOWN), over_processes(both) if both else None,
                levels.get(reference_id) if both else None, sides[work] == 1,
            )
        )  # fmt: skip
    return found


def over_processes(logs: Mapping[tuple[int, int], tuple[float, bool]]) -> Estimate:
    """The estimate from logs and whether each was disturbed, by process and block, in the order measured."""
    processes: dict[int, list[tuple[float, bool]]] = {}
    for (process, _), block in logs.items():
        processes.setdefault(process, []).append(block)
    return combined([process_estimate(*map(list, zip(*blocks, strict=True))) for blocks in processes.values()])


def _printed(found: Estimate) -> tuple[float | None, float | None, float | None, int]:
    """An estimate, the ends of its interval, and how many blocks it rests on; None where nothing is known."""
    low, high = found.interval
    return found.ratio if found.n else None, low, high, found.n
