"""The report of `bench measure lines`: the lines of a call by their time, read from the views."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...warehouse.console.numbers import counted, duration, interval, percent, time_with_doubt
from ...warehouse.console.tables import escape
from ..annotate import AnnotatedSource, place, shortened
from ..engine.sampling import WIDEST_PRINTED_PRECISION
from ..functions.report import FunctionResult, results

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

HEADINGS = ("line", "time", "95 %", "share", "text")
NOTE_HEADINGS = {"time": 9, "95 %": 14, "share": 7}
COLUMNS = ("file", "function", "line", "text", "share", "error", "n", "time_ns", "time_low_ns", "time_high_ns")
ELSEWHERE = "no line"  # as where a call begins and ends
_LINES = """
SELECT file, function, line, text, share, error, n, slowdown
FROM time_parts
WHERE run_id = ? AND kind = 'line'
ORDER BY share DESC, file, line, function
"""


@dataclass(frozen=True, slots=True)
class LineTime:
    """The time of lines within a call in ns, with the ends of its 95 % interval, None where that is not known."""

    share: float  # of the call, 0 to 1
    time: float
    low: float | None
    high: float | None

    @property
    def weight(self) -> float:
        """Its share."""
        return self.share

    def cells(self) -> tuple[str, ...]:
        """A text under each of NOTE_HEADINGS."""
        return duration(self.time), interval(self.low, self.high, "ns") or "–", percent(self.share, 1)


@dataclass(frozen=True, slots=True)
class TimedLines:
    """The lines of one function, those that take most time first."""

    function: FunctionResult
    found: Sequence[dict[str, Any]]  # rows of time_parts

    @property
    def rows(self) -> Iterator[tuple[Any, ...]]:
        """A row of COLUMNS for each line."""
        for row in self.found:
            line = self._time([row])
            yield (*(row[name] for name in COLUMNS[:7]), line.time, line.low, line.high)

    def cells(self, top: int) -> Iterator[tuple[str, ...]]:
        """The rows of HEADINGS: so many lines, and all others as one."""
        for row in self.found[:top]:
            where = place(row["file"], row["line"]) if row["file"] else row["function"] or ELSEWHERE
            yield escape(where), *self._time([row]).cells(), escape(shortened(row["text"]))
        if others := self.found[top:]:
            yield counted(len(others), "other"), *self._time(others).cells(), ""

    def facts(self) -> Iterator[str]:
        """Sentences on the call, and on how its lines were sampled."""
        name, time = escape(self.function.function), self.function.time
        if time.n:
            high = time.high if math.isfinite(time.high) else None
            whole = time_with_doubt(time.ratio, time.low if high else None, high, time.n)
            yield f"{name}: a call takes {whole}; a line its share of that"
        if self.found:
            slowed = self.found[0]["slowdown"]
            disturbed = (
                f", which changed the processor time of a call by {percent(slowed - 1, 1, sign=True)}" if slowed else ""
            )
            yield f"lines: means of {self.found[0]['n']} processes in which they were sampled{disturbed}"

    def annotated(self) -> AnnotatedSource:
        """The source of every file that has a line."""
        at: dict[tuple[str, str], dict[int, list[dict[str, Any]]]] = {}
        for row in self.found:
            if row["file"]:
                at.setdefault((row["file"], "time"), {}).setdefault(row["line"], []).append(row)
        notes = {key: {line: self._time(rows) for line, rows in lines.items()} for key, lines in at.items()}
        title = f"Time of {self.function.function}, line by line"
        return AnnotatedSource(title, [*self.facts()], NOTE_HEADINGS, notes)

    def _time(self, rows: Sequence[dict[str, Any]]) -> LineTime:
        """The time of lines together: their share of a call, and the errors of both."""
        call, share = self.function.time, math.fsum(row["share"] for row in rows)
        time = share * call.ratio
        is_known = call.precision < WIDEST_PRINTED_PRECISION
        errors = [math.nan if row["error"] is None else row["error"] * call.ratio for row in rows]
        error = math.hypot(*errors, share * (call.high - call.low) / 2)
        low, high = (max(time - error, 0.0), time + error) if is_known and math.isfinite(error) else (None, None)
        return LineTime(share, time, low, high)


def timed_lines(warehouse: "Warehouse", run_id: str) -> TimedLines:
    """The lines of the only function of a run."""
    (function,) = results(warehouse, run_id)
    return TimedLines(function, warehouse.dicts(_LINES, [run_id]))
