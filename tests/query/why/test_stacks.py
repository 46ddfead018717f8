"""Folded stacks of two sides: samples by function add up to the difference of all."""

import math

from bench.query.comparison.compare import compare
from bench.query.comparison.render import verdict
from bench.query.comparison.sides import Side
from bench.query.why.command import cells
from bench.query.why.next_question import next_question
from bench.query.why.parts import NOTHING_DIFFERS
from bench.query.why.stacks import SHIFTED
from bench.query.why.why import why
from bench.warehouse.events import Event

from ...builders import Builder, case, metric, outcome, run

BASE = {"main (job.py:9);loop (job.py:4)": 900, "main (job.py:9);loop (job.py:5)": 600, "main (job.py:9);memcpy": 40}


def recorded(run_id: str, stacks: dict[str, int], config: str | None = None) -> list[Event]:
    """A run of a file of folded stacks."""
    found: list[Event] = [run(run_id, config, source="folded-stacks")]
    for stack, samples in stacks.items():
        it = case(stack, run=run_id)
        found += [it, outcome(it), metric(it, "samples", samples, unit="count")]
    return found


SIDES = (Side("base", ("base",)), Side("candidate", ("candidate",)))


def test_functions_add_up_to_all_samples_exactly(warehouse: Builder) -> None:
    """Each has the line with most of its samples; the innermost frame ran."""
    candidate = {**BASE, "main (job.py:9);loop (job.py:4)": 880, "main (job.py:9);extra (job.py:8)": 400}
    found = why(warehouse.add(*recorded("base", BASE), *recorded("candidate", candidate)), SIDES)

    first = found.parts[0]
    assert (first.name, first.file, first.line, first.base, first.candidate) == ("extra", "job.py", 8, 0, 400)
    assert found.whole.difference == 380 == math.fsum(part.difference for part in found.parts)
    assert found.unattributed.difference == 0 and first.is_beyond_noise
    assert {part.name: part.line for part in found.parts} == {"extra": 8, "loop": 4, "memcpy": 0}


def test_as_many_samples_within_what_counting_and_sessions_explain_differ_in_nothing(warehouse: Builder) -> None:
    """A few samples more, and a rare function that only one side shows."""
    candidate = {**{name: round(count * 1.04) for name, count in BASE.items()}, "rare (lib.py:1)": 3}
    found = why(warehouse.add(*recorded("base", BASE), *recorded("candidate", candidate)), SIDES)

    assert found.notes[0] == NOTHING_DIFFERS


def test_several_recordings_of_a_side_tell_how_far_they_are_apart(warehouse: Builder) -> None:
    """A function whose recordings differ by half is no difference at a tenth."""
    stack = "main (job.py:9);loop (job.py:4)"
    runs = {"base": 1000, "base 2": 1500, "candidate": 1100, "candidate 2": 1650}
    warehouse.add(*(event for name, n in runs.items() for event in recorded(name, {stack: n}, name.split()[0])))
    found = why(warehouse, (Side("base", ("base", "base 2")), Side("candidate", ("candidate", "candidate 2"))))

    assert (found.whole.base, found.whole.candidate) == (1250, 1375)
    assert NOTHING_DIFFERS in found.notes
    assert not any("one recording" in note for note in found.notes)


def test_a_comparison_of_recordings_ends_with_the_question_that_takes_them_apart() -> None:
    """No stack has a better direction, and samples are no exact count; those of parts have digits that tell ends apart."""
    candidate = {**BASE, "main (job.py:9);loop (job.py:5)": 60, "main (job.py:9);extra (job.py:8)": 400}
    warehouse = Builder().add(*recorded("base", BASE), *recorded("candidate", candidate))
    compared = compare(warehouse, *SIDES, where={"metric": ["samples"]})

    assert [row["verdict"] for row in compared.rows] == ["ADDED", None, None, None]
    assert verdict(compare(warehouse, *SIDES)) == "nothing is judged"
    assert next_question(warehouse, compared, all_runs=False) == ["why: bench why base candidate --store 'the store'"]
    candidate = {**BASE, "main (job.py:9);extra (job.py:8)": 400}
    warehouse = Builder().add(*recorded("base", BASE), *recorded("candidate", candidate))
    assert next(cells(why(warehouse, SIDES)))[:5] == ["extra", "0", "400", "+400", "+355 to +445"]


def test_recordings_of_a_set_time_have_parts_and_no_shares() -> None:
    """As many samples on both sides are no difference that a part could be a share of; what helps is said."""
    candidate = {
        "main (job.py:9);loop (job.py:4)": 500,
        "main (job.py:9);loop (job.py:5)": 300,
        "main (job.py:9);new (job.py:7)": 738,
    }
    found = why(Builder().add(*recorded("base", BASE), *recorded("candidate", candidate)), SIDES)

    assert SHIFTED in found.notes and found.whole.difference == -2
    assert {row[0]: row[5] for row in cells(found)}["new"] == "–"
    more = {**candidate, "main (job.py:9);new (job.py:7)": 1538}
    found = why(Builder().add(*recorded("base", BASE), *recorded("candidate", more)), SIDES)
    assert SHIFTED not in found.notes and {row[0]: row[5] for row in cells(found)}["samples"] == "100 %"
