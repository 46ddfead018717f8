"""What a measurement prints at its end: one row per case, read from the views, and what is worth knowing of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .estimate import smallest_detectable
from .plan import BASELINE

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

COLUMNS = ("model", "mode", "size", "backend", "median", "speedup", "compile", "memory", "status")

# One row per case and the numbers of the table, in the order of announcement. Memory is what one call adds to the
# process; on a GPU what the allocator had given out.
_QUERY = """
SELECT
    c.name, c.mode, c.device, c.dtype, c.batch_size, c.sequence_length, c.backend, o.status, o.reason, l.median,
    coalesce(l.n, 0), s.speedup, s.low, s.high, s.n, s.accuracy, compile.median, m.peak_bytes
FROM cases AS c
LEFT JOIN case_outcomes AS o ON o.run_id = c.run_id AND o.case_id = c.case_id AND o.kind = 'performance'
LEFT JOIN cells AS l ON l.run_id = c.run_id AND l.case_id = c.case_id AND l.metric = 'latency' AND l.phase = 'steady'
LEFT JOIN cells AS compile
    ON compile.run_id = c.run_id AND compile.case_id = c.case_id AND compile.metric = 'compile_latency'
LEFT JOIN (
    SELECT run_id, case_id, arg_min(peak_bytes, source) AS peak_bytes  -- cuda_allocated before rss_growth
    FROM peak_memory WHERE source IN ('cuda_allocated', 'rss_growth', 'rss_growth_sampled') GROUP BY ALL
) AS m ON m.run_id = c.run_id AND m.case_id = c.case_id
LEFT JOIN speedups AS s ON s.run_id = c.run_id AND s.case_id = c.case_id
WHERE c.run_id = ?
ORDER BY c.line, c.recorded_at
"""


@dataclass(frozen=True, slots=True)
class Result:
    """One case of the run. Times in ns, memory in bytes; None is unknown or not applicable."""

    model: str
    mode: str
    device: str
    dtype: str
    batch_size: int
    sequence_length: int | None
    backend: str
    status: str | None
    reason: str | None
    median_ns: float | None
    samples: int
    speedup: float | None
    low: float | None
    high: float | None
    blocks: int | None
    accuracy: str | None
    compile_ns: float | None
    peak_bytes: int | None

    @property
    def size(self) -> str:
        """The axes that have no column of their own, as in `8 x 128 bfloat16`."""
        parts = [str(self.batch_size) + (f" x {self.sequence_length}" if self.sequence_length is not None else "")]
        return " ".join(parts + [x for x, usual in ((self.dtype, "float32"), (self.device, "cpu")) if x != usual])

    @property
    def judged(self) -> str:
        """The status, or that the output was wrong."""
        return "fail_accuracy" if self.status == "ok" and self.accuracy == "fail_accuracy" else str(self.status)

    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        return (
            self.model,
            self.mode,
            self.size,
            self.backend,
            duration(self.median_ns),
            speedup(self.speedup, self.low, self.high, self.blocks),
            duration(self.compile_ns),
            size(self.peak_bytes),
            self.judged,
        )

    def note(self) -> str | None:
        """What the row cannot say: why the case failed, how precise it is and why no more so, what it could not see."""
        title = f"{self.model} {self.mode} {self.size} {self.backend}"
        if self.judged != "ok":
            return f"{title}: {self.judged}{': ' + self.reason if self.reason and self.status != 'ok' else ''}"
        if self.backend == BASELINE:
            return None
        unseen = ""
        if self.low is not None and self.high is not None and self.low <= 1 <= self.high:
            effect = smallest_detectable(self.low, self.high)
            unseen = f"; no difference found (smallest detectable: {effect:.1%})"
        return f"{title}: {self.reason or 'measured'}{unseen}"


def results(warehouse: "Warehouse", run_id: str) -> list[Result]:
    """The cases of a run, in the order of its plan."""
    return [Result(*row) for row in warehouse.rows(_QUERY, [run_id])]


def speedup(value: float | None, low: float | None, high: float | None, n: int | None) -> str:
    """`1.18x (95 % 1.12–1.24, n=30)`, with as many decimals as the interval deserves."""
    if value is None:
        return "–"
    if low is None or high is None or not math.isfinite(high):
        return f"{value:.2f}x (no interval, n={n or 0})"
    places = 3 if high - low < 0.02 else 2
    return f"{value:.{places}f}x (95 % {low:.{places}f}–{high:.{places}f}, n={n})"


def duration(nanoseconds: float | None) -> str:
    """Three digits and a unit."""
    return _scaled(nanoseconds, ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")))


def size(bytes_: float | None) -> str:
    """Three digits and a binary unit."""
    return _scaled(bytes_, ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B")))


def _scaled(value: float | None, units: Sequence[tuple[float, str]]) -> str:
    if value is None:
        return "–"
    for scale, unit in units:
        if abs(value) >= scale:
            scaled = value / scale
            return f"{scaled:.{max(0, 2 - math.floor(math.log10(abs(scaled))))}f} {unit}"
    return f"{value:g} {units[-1][1]}"
