"""The report of a measurement: one row per case, read from the views, and notes."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import click

from ...warehouse.console.numbers import counted, duration, memory, percent, ratio, time_with_doubt
from ..engine.estimate import Estimate, contradiction, doubt
from ..engine.workload import BASELINE, NOT_FAILURES
from ..options import Table, talk, write

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

SHOWN_STATISTICS = ("median", "min", "mean")  # of a case's samples, the usual one first
FAILURES = ("failed", "status", "phase", "reason")


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One case of the run. Times in ns, memory in bytes; None is unknown or not applicable."""

    run_id: str
    suite: str | None
    model: str
    mode: str
    device: str
    dtype: str
    batch_size: int | None
    sequence_length: int | None
    parameters: str | None
    backend: str
    status: str | None
    reason: str | None
    phase: str | None
    accuracy: str | None
    accuracy_reason: str | None
    median_ns: float | None
    median_low_ns: float | None
    median_high_ns: float | None
    minimum_ns: float | None
    mean_ns: float | None
    mean_low_ns: float | None
    mean_high_ns: float | None
    samples: int
    disturbed: float | None
    speedup: float | None
    low: float | None
    high: float | None
    blocks: int | None
    p: float | None
    p_unpaired: float | None
    compile_ns: float | None
    compiles: int
    peak_bytes: int | None
    process_bytes: int | None
    revision: str | None
    disagreement: str | None = None  # how the speedup disagrees with the medians beside it

    @property
    def title(self) -> str:
        """The name of the case, without default values."""
        sizes = [str(x) for x in (self.batch_size, self.sequence_length) if x is not None]
        of = f"@{self.revision}" if self.revision else ""
        parts = [self.model, self.mode, " x ".join(sizes), *self.unusual, self.backend, of]
        return " ".join(part for part in parts if part)

    @property
    def unusual(self) -> list[str]:
        """Axes without a column of their own that do not have their default values."""
        parameters = [f"{key}={value}" for key, value in json.loads(self.parameters or "{}").items()]
        return [x for x, usual in ((self.dtype, "float32"), (self.device, "cpu")) if x != usual] + parameters

    @property
    def work(self) -> tuple[object, ...]:
        """The computation and its run, whatever the backend."""
        return (
            self.run_id, self.suite, self.model, self.mode, self.device, self.dtype, self.batch_size, self.sequence_length,
            self.parameters,
        )  # fmt: skip

    @property
    def median(self) -> Estimate:
        """The median latency in ns; without samples an estimate of nothing."""
        low, high = self.median_low_ns or 0.0, self.median_high_ns or math.inf
        return Estimate(self.median_ns or math.nan, low, high, self.samples)

    @property
    def judged(self) -> str:
        """The status, or the accuracy status if the output was wrong."""
        return str(self.accuracy if self.wrong else self.status)

    @property
    def wrong(self) -> bool:
        """True if it ran but its output is wrong."""
        return self.status == "ok" and self.accuracy not in (None, *NOT_FAILURES)

    @property
    def blamed(self) -> tuple[str | None, str | None]:
        """The phase of a failure and its reason; outputs are judged after the first call."""
        return ("cold", self.accuracy_reason) if self.wrong else (self.phase, self.reason)

    @property
    def failed(self) -> bool:
        """True if it counts against the run."""
        return self.judged not in NOT_FAILURES

    def time(self, statistic: str) -> tuple[float | None, float | None, float | None]:
        """A statistic of its samples in ns, with the ends of its 95 % interval; a minimum has none."""
        if statistic == "mean":
            return self.mean_ns, self.mean_low_ns, self.mean_high_ns
        if statistic == "min":
            return self.minimum_ns, None, None
        return self.median_ns, self.median_low_ns, self.median_high_ns

    def cells(self, statistic: str = SHOWN_STATISTICS[0]) -> tuple[str | int | None, ...]:
        """The row of the table; a case with a wrong output has no speedup."""
        gained = None if self.failed else ratio(self.speedup, self.low, self.high, self.blocks, self.p)
        return (
            " ".join([self.model, *self.unusual]), self.mode, self.batch_size, self.sequence_length, self.backend,
            time_with_doubt(*self.time(statistic), self.samples, self.disturbed), gained or "–",
            time_with_doubt(self.compile_ns, None, None, self.compiles), memory(self.process_bytes, self.peak_bytes), self.judged,
        )  # fmt: skip

    def note(self) -> str | None:
        """A note below the row: why its precision is limited, why it does not show a difference, or why it was skipped."""
        if self.status == "skipped":
            return f"{self.title}: skipped: {self.reason}"
        if self.failed or self.backend == BASELINE:
            return None
        doubts = self.disagreement
        if not doubts and self.speedup is not None and self.low is not None and self.high is not None:
            doubts = doubt(self.speedup, self.low, self.high)
        return "; ".join(filter(None, (f"{self.title}: {self.reason or 'measured'}", doubts)))


BEFORE, AFTER = ("model", "mode", "batch", "length", "backend"), ("speedup", "compile", "memory (+step)", "status")
MODEL_COLUMNS = tuple(field.name for field in fields(CaseResult))
_COLUMNS = ", ".join("name AS model" if name == "model" else name for name in MODEL_COLUMNS if name != "disagreement")
# The cases of the run, and of other runs those that belong to the plan and that the run has not.
_QUERY = f"""
SELECT {_COLUMNS}
FROM model_results
WHERE run_id = $run OR list_contains(map_keys($known::MAP(VARCHAR, VARCHAR)), case_id)
    AND run_id = ($known::MAP(VARCHAR, VARCHAR))[case_id]
    AND case_id NOT IN (SELECT case_id FROM cases WHERE run_id = $run)
ORDER BY run_id, line, announced_at
"""


def results(warehouse: "Warehouse", run_id: str, *, known: Mapping[str, str] | None = None) -> list[CaseResult]:
    """The cases of a run, in the order of its plan.

    `known`: cases of other runs that belong to the plan, case_id -> run_id; those that the run has not come first.
    """
    found = [CaseResult(*row) for row in warehouse.rows(_QUERY, {"run": run_id, "known": dict(known or {})})]
    baselines = {one.work: one.median for one in found if one.backend == BASELINE}
    return [replace(one, disagreement=_disagreement(one, baselines.get(one.work))) for one in found]


def _disagreement(result: CaseResult, baseline: Estimate | None) -> str | None:
    """Describe how a speedup disagrees with the printed medians."""
    if baseline is None or None in (speedup := (result.speedup, result.low, result.high, result.blocks)):
        return None
    return contradiction(Estimate(*speedup), baseline, result.median)  # type: ignore[arg-type]


def noise_floor(warehouse: "Warehouse", run_id: str) -> str | None:
    """The latest noise floor that bench doctor recorded for the machine of a run, or for its GPU, as a sentence."""
    ((on_gpu,),) = warehouse.rows("SELECT bool_or(starts_with(device, 'cuda')) FROM cases WHERE run_id = ?", [run_id])
    column, what = ("gpu_noise_floor", "this GPU") if on_gpu else ("noise_floor", "this machine")
    rows = warehouse.rows(
        f"SELECT {column}, measured_at FROM noise_floors JOIN runs USING (environment_id, host)"
        f" WHERE runs.run_id = ? AND {column} IS NOT NULL ORDER BY measured_at DESC LIMIT 1",
        [run_id],
    )
    if not rows:
        return None
    ((floor, when),) = rows
    return f"the noise floor of {what} was {percent(floor, 2)} at {when:%F %H:%M} UTC (bench doctor)"


def compiler_start(warehouse: "Warehouse", run_id: str) -> str | None:
    """The time that compilers took to start, as a sentence; None where none did."""
    ((total_ns, processes),) = warehouse.rows(
        "SELECT sum(value), count(DISTINCT case_id) FROM metrics WHERE run_id = ? AND metric = 'compiler_start'",
        [run_id],
    )
    if not processes:
        return None
    return f"compilers took {duration(total_ns)} to start, {counted(processes, 'time')}: no time above has it"


def _told_apart(found: Sequence[CaseResult]) -> list[CaseResult]:
    """The cases for people: a model that several suites have is named with its suite."""
    suites: dict[str, set[str | None]] = {}
    for one in found:
        suites.setdefault(one.model, set()).add(one.suite)
    return [replace(one, model=f"{one.suite} {one.model}") if len(suites[one.model]) > 1 else one for one in found]


def show(found: Sequence[CaseResult], fmt: str, statistic: str = SHOWN_STATISTICS[0], side: str = "revision") -> None:
    """Write a row for each case, for people also a row for each failure, and notes to stderr.

    `statistic` is what people see of the samples; programs get all. `side` heads the sides, where there are several.
    """
    headings = (*BEFORE, statistic, *AFTER)
    exact = [[getattr(result, name) for name in MODEL_COLUMNS] for result in found]
    found = _told_apart(found)
    shown: Table = headings, [result.cells(statistic) for result in found]
    if any(result.revision for result in found):
        shown = (side, *headings), [(result.revision, *result.cells(statistic)) for result in found]
    write(
        fmt,
        shown=shown,
        exact=(MODEL_COLUMNS, exact),
        shared=("mode", "batch", "length"),
        spare=("compile", "memory (+step)"),
    )
    failures = [(one.title, one.judged, *one.blamed) for one in found if one.failed and one.status != "interrupted"]
    if failures and fmt in ("table", "markdown"):
        click.echo()
        write(fmt, shown=(FAILURES, failures), exact=((), ()))
    for note in filter(None, (result.note() for result in found)):
        talk(note)
    if any(result.speedup is not None for result in found):
        talk("each model was measured in one process: differences between processes are not in the intervals")
