"""The peak of memory by line: what lines had added when it was highest, on both sides."""

import math
from typing import Any

import pytest
from bench.query.comparison.compare import compare
from bench.query.comparison.sides import Side
from bench.query.why.next_question import next_question
from bench.query.why.why import why
from bench.warehouse.events import MemoryLine

from ...builders import Builder, case, memory, outcome, run
from ...exhaustive import exhaustive

SIDES = (Side("base", ("base",)), Side("candidate", ("candidate",)))
MIB = 2**20


def traced(run_id: str, *readings: tuple[str, int], bound: int = 0, config: str | None = None) -> list[Any]:
    """A run of one program: memory in MiB after each place, and its peak; lines of job.py have a function and a text."""
    it = case("job.py", run=run_id)
    lines = {place for place, _ in readings if ":" in place}
    return [
        run(run_id, config or run_id), it, outcome(it),
        *(
            memory(it, size * MIB, line=number, place=place, statistic="reading", phase="steady", error_bound_bytes=bound)
            for number, (place, size) in enumerate(readings, 1)
        ),
        memory(it, max(size for _, size in readings) * MIB, statistic="peak", phase="steady"),
        *(
            MemoryLine(
                run_id=run_id, case_id=it.case_id, source="rss", file="job.py", line=int(place.split(":")[1]),
                function="load", text=f"text of {place}", hits=1,
                start_bytes=0, peak_bytes=0, end_bytes=0,
            )
            for place in sorted(lines)
        ),
    ]  # fmt: skip


BASE = traced("base", ("elsewhere", 10), ("job.py:3", 30), ("elsewhere", 31), ("job.py:7", 20))
CANDIDATE = traced(
    "candidate", ("elsewhere", 10), ("job.py:3", 30), ("job.py:4", 70), ("job.py:3", 75), ("job.py:7", 20)
)


def test_lines_up_to_the_peak_add_up_to_it(warehouse: Builder) -> None:
    """Nothing after it counts; a line that ran twice is one row."""
    warehouse.add(*BASE, *CANDIDATE)
    found = why(warehouse, SIDES, metric="rss_peak")

    parts = {part.name: (part.base, part.candidate, part.file, part.line) for part in found.parts}
    assert parts == {
        "load: text of job.py:4": (0, 40 * MIB, "job.py", 4), "load: text of job.py:3": (20 * MIB, 25 * MIB, "job.py", 3),
        "elsewhere": (MIB, 0, "", 0), "before the first line": (10 * MIB, 10 * MIB, "", 0),
    }  # fmt: skip
    assert [part.difference for part in found.parts] == [40 * MIB, 5 * MIB, -MIB, 0]
    assert found.whole.difference == 44 * MIB and found.unattributed.difference == 0
    sums = warehouse.rows("SELECT run_id, sum(size_bytes) FROM peak_parts GROUP BY run_id ORDER BY ALL")
    assert sums == [("base", 31 * MIB), ("candidate", 75 * MIB)]


def test_without_a_time_the_peak_is_taken_apart(warehouse: Builder) -> None:
    """A traced program has no time that is compared."""
    assert why(warehouse.add(*BASE, *CANDIDATE), SIDES).whole.difference == 44 * MIB


def test_a_reading_that_may_be_too_low_widens_the_interval_of_its_line(warehouse: Builder) -> None:
    """By each of its readings, on both sides."""
    warehouse.add(*traced("base", ("elsewhere", 10), ("job.py:3", 30), bound=MIB))
    warehouse.add(*traced("candidate", ("elsewhere", 10), ("job.py:3", 31), bound=MIB))
    found = why(warehouse, SIDES, metric="rss_peak")

    line = next(part for part in found.parts if part.file)
    assert line.high is not None and not line.is_beyond_noise
    assert line.high - line.difference == pytest.approx(2 * 1.96 / math.sqrt(12) * MIB)
    assert found.notes[0] == "nothing differs beyond noise"


@exhaustive
def test_sides_of_several_runs_have_the_mean_of_each_line(warehouse: Builder) -> None:
    """The parts still add up to the difference of the means."""
    warehouse.add(*BASE, *CANDIDATE, *traced("again", ("elsewhere", 12), ("job.py:3", 34), config="base"))
    found = why(warehouse, (Side("base", ("base", "again")), SIDES[1]), metric="rss_peak")

    total = math.fsum(part.difference for part in (*found.parts, found.unattributed))
    assert total == pytest.approx(found.whole.difference)
    assert next(part.base for part in found.parts if part.line == 3) == 21 * MIB


def test_a_comparison_prints_the_call(warehouse: Builder) -> None:
    """A peak changed, and both sides recorded its lines; a store that would not be found without it is named."""
    warehouse.add(*BASE, *CANDIDATE)
    (asked,) = next_question(warehouse, compare(warehouse, *SIDES), all_runs=False)

    assert asked == "why: bench why base candidate job.py --metric rss_peak --store 'the store'"
