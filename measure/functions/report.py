"""The report of `bench measure function`: one row per function and arguments, from the recorded events."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...warehouse.console.numbers import counted, duration, percent, size, speed_of, time_with_doubt
from ...warehouse.console.tables import escape
from ..engine.estimate import Estimate, contradiction
from ..engine.sampling import WIDEST_PRINTED_PRECISION, busy

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

FUNCTION_SPARE = ("slowest", "fastest", "processes", "memory")  # headings that may go where there is no room
FUNCTION_HEADINGS = ("function", "arguments", "time", "fastest", "slowest", "memory", "processes", "speed", "status")
FUNCTION_COLUMNS = (
    "name", "function", "parameters", "status", "reason", "median_ns", "min_ns", "max_ns", "peak_growth_bytes", "samples",
    "processes", "time_ns", "time_low_ns", "time_high_ns", "disturbed", "ratio", "low", "high", "blocks",
)  # fmt: skip

_RESULTS = "SELECT * FROM function_results WHERE run_id = ? ORDER BY announced_at, line"


@dataclass(frozen=True, slots=True)
class FunctionResult:
    """One function with its arguments, in the order measured: its row of `function_results`, and its estimates.

    `time` is the time of a call in ns; `against` the ratio of the first function's time to its time, None of the first,
    and where either failed; `reference` the first function's time. `alone` says that there is no other to compare with.
    """

    row: Mapping[str, Any]
    time: Estimate
    against: Estimate | None
    reference: Estimate | None
    alone: bool

    @property
    def function(self) -> str:
        """Its name, with that of its module."""
        return str(self.row["backend"])

    @property
    def parameters(self) -> dict[str, Any]:
        """Its arguments."""
        return json.loads(self.row["parameters"] or "{}")  # type: ignore[no-any-return]

    @property
    def status(self) -> str:
        """Its status; interrupted where it has none."""
        return self.row["status"] or "interrupted"

    @property
    def disagreement(self) -> str | None:
        """Describe how the ratio disagrees with the printed times."""
        return contradiction(self.against, self.reference, self.time) if self.against and self.reference else None

    def cells(self) -> tuple[str, ...]:
        """The row of FUNCTION_HEADINGS."""
        found = self.against
        return (
            self.function, " ".join(f"{key}={value}" for key, value in self.parameters.items()),
            time_with_doubt(*_printed(self.time)), duration(self.row["min_ns"]), duration(self.row["max_ns"]),
            size(self.row["peak_bytes"]), str(self.time.processes),
            (found and speed_of(found.ratio, found.low, found.high, found.n)) or "–", self.status,
        )  # fmt: skip

    def values(self) -> tuple[Any, ...]:
        """The row of FUNCTION_COLUMNS."""
        own = self.row
        return (
            own["name"], self.function, self.parameters or None,  # Parquet has no empty struct
            self.status, own["reason"] or "", own["median_ns"], own["min_ns"], own["max_ns"], own["peak_bytes"],
            own["samples"] or 0, self.time.processes, *_printed(self.time)[:3], own["disturbed"],
            *(_printed(self.against) if self.against else (None,) * 4),
        )  # fmt: skip

    def notes(self, precision: float, limit: str = "--budget") -> Iterator[str]:
        """Notes below the row, each with the next step; `limit` is the option that ended the sampling."""
        title = escape(" ".join([self.function, *(f"{key}={value}" for key, value in self.parameters.items())]))
        if self.status != "ok":
            failed, total = self.row["failed"] or 0, self.row["processes"] or 0
            where = f" in {failed} of {total} processes" if 0 < failed < total else ""
            yield f"{title}: {self.status}{where}: {escape(self.row['reason'] or '')}"
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
            cure = f"processes differ: measure in more with --processes {2 * max(found.processes, self.time.processes)}"
            cure = cure if found.scattered else f"measure longer with a larger {limit}"
            yield f"{title}: ±{percent(found.precision, 1)} where {percent(precision, 1)} was asked: {cure}"
        if found.processes == 1:
            yield f"{title}: measured in one process: differences between processes are not in the interval"


def busy_machine(found: Sequence[FunctionResult]) -> str:
    """A sentence about a busy machine, from what disturbed the samples of every case; empty if it was quiet."""
    samples = [(one.row["samples"] or 0, one.row["disturbed"] or 0.0) for one in found]
    total = sum(count for count, _ in samples)
    return busy(sum(count * share for count, share in samples) / total) if total else ""


def results(warehouse: "Warehouse", run_id: str) -> list[FunctionResult]:
    """The cases of a run, each against the first of the same work."""
    rows = warehouse.dicts(_RESULTS, [run_id])
    sides = Counter(row["work_hash"] for row in rows)
    times = {row["case_id"]: _time(row) for row in rows}
    return [
        FunctionResult(
            row, times[row["case_id"]], _against(row), times.get(row["baseline_id"]), sides[row["work_hash"]] == 1
        )
        for row in rows
    ]


def _time(row: Mapping[str, Any]) -> Estimate:
    """The time of a call."""
    if row["time_ns"] is None:
        return Estimate(math.nan, 0.0, math.inf, 0, 0)
    processes = row["time_processes"] or 1
    ends = row["time_low_ns"] or 0.0, row["time_high_ns"] or math.inf
    return Estimate(row["time_ns"], *ends, row["time_n"], processes, processes > 1)


def _against(row: Mapping[str, Any]) -> Estimate | None:
    """The ratio of the first function's time to its time."""
    if row["ratio"] is None:
        return None
    ends = row["low"] or 0.0, row["high"] or math.inf
    return Estimate(row["ratio"], *ends, row["blocks"], row["ratio_processes"], row["scattered"])


def _printed(found: Estimate) -> tuple[float | None, float | None, float | None, int]:
    """An estimate, the ends of its interval, and how many blocks it rests on; None where nothing is known."""
    low, high = found.interval
    return found.ratio if found.n else None, low, high, found.n
