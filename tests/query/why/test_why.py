"""`bench why`: parts that add up to the difference, whatever the source, and what is said where there is none."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from bench.cli import cli
from bench.query.comparison.compare import compare
from bench.query.comparison.sides import Side
from bench.query.students_t import summed_error
from bench.query.why.command import cells
from bench.query.why.compiling import UNCOUNTED
from bench.query.why.next_question import next_question
from bench.query.why.parts import NOTHING_DIFFERS, Decomposition, DifferencePart, decomposed, folded, part_of
from bench.query.why.sampled_lines import EDITED, LEAST_EDITED_SHARE, sampled_lines
from bench.query.why.sources import ALIKE, by_case, label, whole_of
from bench.query.why.why import why
from bench.warehouse import recorder
from bench.warehouse.errors import BenchError, NothingToShow, UnknownName
from bench.warehouse.events import Metric
from bench.warehouse.store import Store
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from ...builders import Builder, case, chunk, metric, outcome, run, steps, timing
from ...exhaustive import exhaustive

FINITE = st.floats(-1e12, 1e12)
SIDES = (Side("base", ("base",)), Side("candidate", ("candidate",)))
Lines = Mapping[tuple[int, str], list[float]]


def line(number: int, text: str) -> str:
    """A line of work.py, as the profile names it."""
    return json.dumps({"file": "work.py", "function": "score" if number else "", "line": number, "text": text})


def profiled(run_id: str, each_ns: int, lines: Lines, name: str = "work:score") -> list[Any]:
    """A run of one function: 8 samples in each of three processes, and shares of lines."""
    it = case(name, run=run_id, suite="function", backend=name)
    return [
        run(run_id, run_id), it, outcome(it),
        *(timing(it, each_ns + wobble, process=process) for process in range(3) for wobble in range(8)),
        *(
            metric(it, "line_time", share, unit="ratio", phase="steady", original_value=line(*place))
            for place, shares in lines.items() for share in shares
        ),
    ]  # fmt: skip


BASE: Lines = {(3, "a = sorted(x)"): [0.49, 0.5, 0.51], (4, "return a"): [0.5, 0.49, 0.48], (0, ""): [0.01, 0.01, 0.01]}
CANDIDATE: Lines = {
    (3, "a = sorted(x)"): [0.25, 0.26, 0.24], (4, "b = sorted(x)"): [0.5, 0.49, 0.51], (5, "return a"): [0.24, 0.24, 0.24],
    (0, ""): [0.01, 0.01, 0.01],
}  # fmt: skip


def total(found: Decomposition) -> float:
    """Parts and what is unattributed."""
    return math.fsum(part.difference for part in (*found.parts, found.unattributed))


def test_lines_of_a_model_stand_before_its_operators(warehouse: Builder) -> None:
    """A cause in Python is in no operator; each has its own cost of the profile."""
    for side, each_ns, lines in (("base", 1_000_000, BASE), ("candidate", 2_000_000, CANDIDATE)):
        rows = profiled(side, each_ns, lines)
        operators = [
            metric(rows[1], "operator_part", share, original_value=json.dumps({"function": name, "calls": 1}))
            for name, share in (("aten::mm", 0.9), ("", 0.1)) for _ in range(3)
        ]  # fmt: skip
        costs = [
            metric(rows[1], "profiler_slowdown", 3.0),
            metric(rows[1], "profiler_slowdown", 1.1, original_value="line"),
        ]
        warehouse.add(*rows, *operators, *costs)
    found = why(warehouse, SIDES)

    assert found.parts[0].name == "score: b = sorted(x)" and total(found) == found.whole.difference
    assert "sampling changed the time of a call there by +10.0 % and +10.0 %" in found.notes[0]
    slowdowns = "SELECT DISTINCT kind, slowdown FROM time_parts ORDER BY kind"
    assert warehouse.rows(slowdowns) == [("line", 1.1), ("operator", 3.0)]


@given(st.lists(st.tuples(FINITE, FINITE)), FINITE, FINITE)
def test_parts_and_what_is_left_are_the_difference(
    values: list[tuple[float, float]], base: float, candidate: float
) -> None:
    """Whatever the parts are; the largest comes first."""
    parts = [part_of(str(number), *both, 1.0) for number, both in enumerate(values)]
    found = decomposed("ns", part_of("whole", base, candidate, None), parts, error=0.0)

    assert total(found) == pytest.approx(candidate - base, abs=1e-2)
    sizes = [abs(part.difference) for part in found.parts]
    assert sizes == sorted(sizes, reverse=True)
    assert math.fsum(part.difference for part in folded(found.parts)) == pytest.approx(
        math.fsum(part.difference for part in found.parts), abs=1e-2
    )


def test_a_line_that_is_new_explains_a_function(warehouse: Builder) -> None:
    """A line is known by its text, wherever it stands; the numbers are shares of the time measured without the profile."""
    warehouse.add(*profiled("base", 1_000_000, BASE), *profiled("candidate", 2_000_000, CANDIDATE))
    found = why(warehouse, SIDES)

    first = found.parts[0]
    assert (first.name, first.file, first.line) == ("score: b = sorted(x)", "work.py", 4)
    assert [first.base, first.candidate] == [0.0, pytest.approx(1_000_000, rel=1e-3)]
    assert first.difference / found.whole.difference >= 0.9
    assert first.is_beyond_noise
    assert total(found) == found.whole.difference
    assert found.unattributed.difference == pytest.approx(10_000, rel=1e-3)
    moved = next(part for part in found.parts if part.name == "score: return a")
    assert moved.line == 5 and moved.base == pytest.approx(490_000, rel=1e-3)


def test_a_line_that_was_edited_is_one_part(warehouse: Builder) -> None:
    """Its difference is what the edit costs, not all of its time; the line below moved, and another was added."""
    edited: Lines = {
        (5, "a = sorted(x, key=f)"): [0.7, 0.71, 0.69], (6, "return a"): [0.2, 0.19, 0.21], (3, "f = len"): [0.09, 0.09, 0.09],
        (0, ""): [0.01, 0.01, 0.01],
    }  # fmt: skip
    warehouse.add(*profiled("base", 1_000_000, BASE), *profiled("candidate", 2_000_000, edited))
    found = why(warehouse, SIDES)

    first = found.parts[0]
    assert (first.name, first.line, first.changed) == ("score: a = sorted(x, key=f)", 5, True)
    assert [first.base, first.candidate] == pytest.approx([500_000, 1_400_000], rel=1e-3)
    assert [part.name for part in found.parts] == [first.name, "score: f = len", "score: return a"]
    assert EDITED in found.notes and ALIKE not in found.notes
    assert total(found) == found.whole.difference


TEXTS = st.lists(
    st.sampled_from(["a = f(x)", "a = f(x, 1)", "a = f(x, 2)", "b = g(y)", "b = g(y, z)", "return"]), unique=True
)


@given(TEXTS, TEXTS)
def test_edited_lines_keep_every_share(base: list[str], candidate: list[str]) -> None:
    """A line that both sides have stays itself wherever it went; another stands for no more than one line of the base."""

    def share(texts: list[str], text: str) -> float:
        return (2 * texts.index(text) + 1) / 200 if text in texts else 0.0  # 0.5 % is hardly seen

    def place(texts: list[str], text: str) -> int | None:
        return texts.index(text) + 1 if text in texts else None

    lines = [
        {
            "file": "work.py", "function": "score", "text": text, "line": place(candidate, text) or place(base, text),
            "base_line": place(base, text), "base": share(base, text), "candidate": share(candidate, text),
            "base_error": share(base, text) / 2, "candidate_error": 0.0, "base_degrees": 4.0, "candidate_degrees": None,
        }
        for text in {*base, *candidate}
    ]  # fmt: skip
    found = sampled_lines(lines)

    for side, texts in (("base", base), ("candidate", candidate)):
        assert sorted(row[side] for row in found if row[side]) == pytest.approx(
            sorted(share(texts, text) for text in texts)
        )
    for row in found:
        assert row["base_error"] == row["base"] / 2
        assert ("is_edited" in row) == bool(row["base"] and row["candidate"] and row["text"] not in base)
        assert "is_edited" not in row or min(row["base"], row["candidate"]) >= LEAST_EDITED_SHARE
        assert row["text"] not in base or row["base"] in (0, share(base, row["text"]))
    assert len(lines) - len(found) == sum("is_edited" in row for row in found)


def test_a_line_that_is_too_short_for_one_profile_is_no_difference(warehouse: Builder) -> None:
    """A profile takes lines of less than a thousandth together: one that is just longer on the other side is among them, too."""
    others = {"file": "", "function": "other lines", "line": 0, "text": ""}

    def shares(short: float, together: float) -> Lines:
        rest = 1 - short - together
        return {(3, "a = sorted(x)"): [rest, rest, rest]} | ({(2, "def score(x):"): [short] * 3} if short else {})

    for side, short, together in (("base", 0.0, 0.0012), ("candidate", 0.0011, 0.0002)):
        rows = profiled(side, 1_000_000, shares(short, together))
        warehouse.add(
            *rows, *(metric(rows[1], "line_time", together, original_value=json.dumps(others)) for _ in range(3))
        )
    found = why(warehouse, SIDES)

    assert {part.name for part in found.parts} == {"score: a = sorted(x)", "other lines"}
    (rest,) = (part for part in found.parts if part.name == "other lines")
    assert [rest.base, rest.candidate] == [pytest.approx(1200, rel=1e-3), pytest.approx(1300, rel=1e-3)]
    assert total(found) == pytest.approx(found.whole.difference, abs=1e-6)


def test_where_no_time_lies_outside_the_lines_nothing_is_unattributed(warehouse: Builder) -> None:
    """Exactly: shares add up to 1 but for the rounding of floats, of which a table showed −2.91e-11 ns."""
    sides = [
        {(3, "a = sorted(x)"): [0.1, 0.2, 0.3], (4, "return a"): [0.9, 0.8, 0.7]},
        {(3, "a = sorted(x)"): [0.3, 0.3, 0.4], (4, "return a"): [0.7, 0.7, 0.6]},
    ]
    warehouse.add(*profiled("base", 526_511, sides[0]), *profiled("candidate", 767_733, sides[1]))
    left = why(warehouse, SIDES).unattributed

    assert (left.difference, left.low, left.high) == (0, 0, 0)


def test_equal_sides_differ_in_nothing(warehouse: Builder) -> None:
    """All parts are within noise, and are one row."""
    warehouse.add(*profiled("base", 1_000_000, BASE), *profiled("candidate", 1_000_000, BASE))
    found = why(warehouse, SIDES, "work:score")

    assert [row[0] for row in cells(found)] == ["2 other parts", "unattributed", "work:score"]
    assert len([*cells(found, everything=True)]) == 4
    assert found.notes[0] == NOTHING_DIFFERS


@exhaustive
def test_parts_of_equal_sides_differ_in_1_of_100_pairs() -> None:
    """However many they are: thirty parts, whose shares five processes a side tell, 1,000 times.

    Quantiles of the normal distribution, in place of Student's t, called 33 of them.
    """
    rng = np.random.default_rng(1)
    called = 0
    for shares in rng.normal(0, 1, (1000, 30, 2, 5)):
        parts = []
        for number, sides in enumerate(shares):
            errors = [(2.7764 * side.std(ddof=1) / math.sqrt(5), 4.0) for side in sides]
            error, degrees = summed_error(errors)
            parts.append(part_of(f"{number}", sides[0].mean(), sides[1].mean(), error, degrees=degrees))
        whole = DifferencePart("whole", 100.0, 100.0, 0.0, -1.0, 1.0)
        called += NOTHING_DIFFERS not in decomposed("ns", whole, parts, error=math.nan).notes

    assert 0 < called <= 15


@pytest.mark.parametrize(("errors", "is_said"), [(1, False), (40, True)])
def test_one_part_of_many_is_beyond_its_interval_by_chance(errors: int, is_said: bool) -> None:
    """A lone part half beyond its 95 % interval differs; one of forty does so by chance."""
    parts = [part_of("beyond", 0.0, 1.5, 1.0), *(part_of(f"{n}", 0.0, 0.0, 1.0) for n in range(errors - 1))]
    found = decomposed(
        "ns", DifferencePart("whole", 0.0, 0.2, 0.2, -1.0, 1.4), parts, error=1e-3 if errors == 1 else 1.0
    )

    assert (NOTHING_DIFFERS in found.notes) == is_said


@pytest.mark.parametrize(("noise", "is_said"), [(1.0, False), (2.0, True)])
def test_a_part_within_the_noise_of_the_whole_may_be_that_of_a_neighbour(noise: float, is_said: bool) -> None:
    """However alike the processes of a side are; an operator that only one side calls is told in any case."""
    part = part_of("beyond", 0.0, 1.5, 0.1)
    whole = DifferencePart("whole", 10.0, 10.0, 0.0, -noise, noise)

    assert (NOTHING_DIFFERS in decomposed("ns", whole, [part], error=math.nan, of_profile=True).notes) == is_said
    exclusive = replace(part, exclusive=True)
    assert NOTHING_DIFFERS not in decomposed("ns", whole, [exclusive], error=math.nan, of_profile=True).notes


@pytest.mark.parametrize(("low", "decided", "is_said"), [(0.1, False, True), (0.1, True, False), (0.3, False, False)])
def test_a_whole_just_beyond_its_interval_differs_where_compare_says_so(
    low: float, decided: bool, is_said: bool
) -> None:
    """One of twenty equal pairs lies there; one in a hundred lies further."""
    part = part_of("within", 0.0, 1.0, 2.0)
    whole = DifferencePart("whole", 10.0, 11.0, 1.0, low, 2.0 - low, decided=decided)

    found = decomposed("ns", whole, [part], error=math.nan, of_profile=True)
    assert (NOTHING_DIFFERS in found.notes) == is_said
    assert all(row[5] == "–" for row in cells(found)) == is_said


def test_a_part_of_recorded_steps_is_told_beside_a_whole_of_which_little_is_known() -> None:
    """Another mix of steps is counted, not sampled: what one run a side says of their time hides none of it."""
    part = part_of("mix: steps of 2048–4095 tokens", 5.0, 0.0, 0.7)
    whole = DifferencePart("step", 21.0, 11.0, -10.0, -20.0, 21.0)

    assert NOTHING_DIFFERS not in decomposed("ns", whole, [part], error=math.nan).notes


def test_a_whole_that_is_longer_in_all_its_parts_alike_is_said(warehouse: Builder) -> None:
    """As on a machine that is busier: no line has another share."""
    warehouse.add(*profiled("base", 1_000_000, BASE), *profiled("candidate", 2_000_000, BASE))

    assert why(warehouse, SIDES).notes[0] == ALIKE


def stepped(
    run_id: str, each_ns: int, kind: str, parts: Mapping[tuple[str, float], list[float]], slowdown: float
) -> list[Any]:
    """A run of a model: samples, and shares of operators or kernels by name and calls."""
    it = case("net", run=run_id, suite="builtin", backend="eager")
    return [
        run(run_id, run_id), it, outcome(it), *(timing(it, each_ns + wobble) for wobble in range(8)),
        metric(it, "profiler_slowdown", slowdown, unit="ratio"),
        *(
            metric(it, f"{kind}_part", share, unit="ratio", original_value=json.dumps({"function": name, "calls": calls}))
            for (name, calls), shares in parts.items() for share in shares
        ),
    ]  # fmt: skip


def test_a_gelu_in_float64_is_named_with_its_casts(warehouse: Builder) -> None:
    """Operators add up to the difference; one that only one side runs is shown, and is none below 0; the scale is said."""
    base = {("addmm", 2.0): [0.80, 0.81], ("gelu", 1.0): [0.10, 0.10], ("", 0.0): [0.10, 0.09]}
    slow = {
        ("addmm", 2.0): [0.60, 0.61],
        ("gelu", 1.0): [0.30, 0.29],
        ("_to_copy", 2.0): [0.01, 0.01],
        ("", 0.0): [0.09, 0.09],
    }
    warehouse.add(
        *stepped("base", 100_000, "operator", base, 1.25), *stepped("candidate", 130_000, "operator", slow, 1.6)
    )
    found = why(warehouse, SIDES, "net")

    assert total(found) == found.whole.difference
    assert [part.name for part in folded(found.parts) if part.is_beyond_noise] == ["gelu", "_to_copy"]
    copied = next(part for part in found.parts if part.name == "_to_copy")
    assert copied.difference == pytest.approx(1_300, rel=1e-3) and copied.low == 0
    assert found.unattributed.low is not None and found.unattributed.low < 0 < (found.unattributed.high or 0)
    assert "here × 0.80 and × 0.62" in found.notes[0]


@pytest.mark.exhaustive
def test_an_operators_interval_has_what_the_profiler_may_add_to_each_call() -> None:
    """A small operator that is called often is the one that a profiler slows."""
    shares = {("small", 9.0): [0.5, 0.5], ("large", 1.0): [0.5, 0.5], ("", 0.0): [0.0, 0.0]}
    widths = {}
    for slowdown in (1.0, 2.0):
        warehouse = Builder().add(*stepped("base", 100_000, "operator", shares, 1.0))
        warehouse.add(*stepped("candidate", 100_000, "operator", shares, slowdown))
        widths[slowdown] = [
            part.high - part.low for part in why(warehouse, SIDES, "net").parts if part.high and part.low
        ]

    # proportional: 50 % of 100 µs; the same at each call: 50 % of 200 µs − 9/10 of the 100 µs that it adds
    assert [0.5 * math.sqrt(b * b - a * a) for a, b in zip(widths[1.0], widths[2.0], strict=True)] == pytest.approx(
        [40_000] * 2, rel=1e-3
    )


@pytest.mark.parametrize(("slowdown", "is_said"), [(1.9, False), (9.0, True)])
def test_passes_that_one_side_alone_had_stretched_are_said(warehouse: Builder, slowdown: float, is_said: bool) -> None:
    """A busy machine stretches all of them alike, so that no interval shows how far shares are off."""
    shares = {("gelu", 1.0): [0.5, 0.5], ("", 0.0): [0.5, 0.5]}
    warehouse.add(*stepped("base", 100_000, "operator", shares, 1.0))
    warehouse.add(*stepped("candidate", 100_000, "operator", shares, slowdown))
    notes = " ".join(why(warehouse, SIDES, "net").notes)

    assert ("took 1 times as long as without it on the base, and 9 times on the candidate" in notes) == is_said


def test_kernels_keep_their_times_and_idle_is_the_rest(warehouse: Builder) -> None:
    """However much the profiler slows the host that launches them."""
    base = {("gemm", 1.0): [0.4, 0.4], ("", 0.0): [0.6, 0.6]}
    slow = {("gemm", 1.0): [0.45, 0.45], ("", 0.0): [0.55, 0.55]}
    warehouse.add(*stepped("base", 100_000, "kernel", base, 2.0), *stepped("candidate", 120_000, "kernel", slow, 2.0))
    found = why(warehouse, SIDES, "net")

    parts: dict[str, Any] = {part.name: (part.base, part.candidate) for part in found.parts}
    assert parts["gemm"] == (pytest.approx(80_000, rel=1e-3), pytest.approx(108_000, rel=1e-3))
    assert parts["idle: no kernel ran"] == (pytest.approx(20_000, rel=1e-3), pytest.approx(12_000, rel=1e-3))
    assert total(found) == found.whole.difference and found.unattributed.difference == pytest.approx(0, abs=1e-6)


def compiled(run_id: str, reasons: Mapping[tuple[str, str | None], float]) -> list[Any]:
    """A run of a compiled model: breaks of its graph by reason and stack."""
    it = case("net", run=run_id, suite="builtin", backend="inductor")
    return [
        run(run_id, run_id), it, outcome(it), metric(it, "graph_breaks", sum(reasons.values()), better="lower"),
        *(metric(it, f"graph_break:{reason}", n, better="lower", original_value=place) for (reason, place), n in reasons.items()),
    ]  # fmt: skip


def test_breaks_of_a_graph_have_reasons_and_lines_new_ones_first(warehouse: Builder) -> None:
    """They add up to the count of the case; a reason may be where the compiler names no line."""
    base: dict[tuple[str, str | None], float] = {
        ("data-dependent: item()", "/a/old.py:3 in f"): 1.0,
        ("gone", None): 4.0,
    }
    more: dict[tuple[str, str | None], float] = {
        ("data-dependent: item()", "/a/old.py:3 in f"): 1.0,
        ("data-dependent: print", "/a/outer.py:1 in g\n/a/new.py:7 in forward"): 2.0,
    }
    warehouse.add(*compiled("base", base), *compiled("candidate", more))
    found = why(warehouse, SIDES, "net", metric="graph_breaks")

    assert [(part.name, part.difference, part.file, part.line) for part in found.parts] == [
        ("data-dependent: print", 2.0, "/a/new.py", 7), ("gone", -4.0, "", 0), ("data-dependent: item()", 0.0, "/a/old.py", 3),
    ]  # fmt: skip
    assert found.whole.difference == -2.0 and found.unattributed.difference == 0


def test_a_break_that_torch_lists_and_does_not_count_is_said(warehouse: Builder) -> None:
    """At a branch on data its counter stays, so that the row of what is unattributed takes the break off again."""
    (torch_run, it, ended, counted, broken) = compiled(
        "candidate", {("generic_jump TensorVariable()", "/a/m.py:5 in f"): 1.0}
    )
    warehouse.add(*compiled("base", {}), torch_run, it, ended, replace(counted, value=0.0), broken)
    found = why(warehouse, SIDES, "net", metric="graph_breaks")

    assert [(part.line, part.difference) for part in found.parts] == [(5, 1.0)]
    assert (found.whole.difference, found.unattributed.difference, found.notes[-1]) == (0.0, -1.0, UNCOUNTED)


@pytest.mark.exhaustive
def test_a_break_that_moved_within_its_function_is_the_same() -> None:
    """At other lines, or in a copy of the file; where one side has more of them nobody knows which is new."""
    base: dict[tuple[str, str | None], float] = {("print", "/a/m.py:3 in f"): 1.0, ("print", "/a/m.py:9 in f"): 2.0}
    moved: dict[tuple[str, str | None], float] = {("print", "/b/m.py:4 in f"): 1.0, ("print", "/b/m.py:10 in f"): 3.0}
    warehouse = Builder().add(*compiled("base", base), *compiled("candidate", moved))
    found = why(warehouse, SIDES, "net", metric="graph_breaks")

    assert [(part.file, part.line, part.base, part.candidate) for part in found.parts] == [
        ("/b/m.py", 10, 2.0, 3.0), ("/b/m.py", 4, 1.0, 1.0),
    ]  # fmt: skip
    more = {**moved, ("print", "/b/m.py:7 in f"): 1.0}
    warehouse = Builder().add(*compiled("base", base), *compiled("candidate", more))
    assert len(why(warehouse, SIDES, "net", metric="graph_breaks").parts) == 5


@pytest.mark.exhaustive
def test_the_first_break_of_a_graph_has_its_reason(warehouse: Builder) -> None:
    """From none there is no ratio, but a difference."""
    reason: dict[tuple[str, str | None], float] = {("graph_break()", "/a/new.py:7 in forward"): 1.0}
    warehouse.add(*compiled("base", {}), *compiled("candidate", reason))
    found = why(warehouse, SIDES, "net", metric="graph_breaks")

    assert [(part.difference, part.line) for part in found.parts] == [(1.0, 7)] and found.whole.difference == 1.0
    assert NOTHING_DIFFERS not in found.notes
    assert (
        why(
            warehouse.add(*compiled("other", {})), (SIDES[0], Side("other", ("other",))), "net", metric="graph_breaks"
        ).notes[0]
        == NOTHING_DIFFERS
    )


def test_code_that_is_compiled_again_at_the_second_call_counts(warehouse: Builder) -> None:
    """A side that compiles nothing then records no count of that call: it counts as 0."""
    reason: dict[tuple[str, str | None], float] = {}
    events = [*compiled("base", reason), *compiled("candidate", reason)]
    it = case("net", run="candidate", suite="builtin", backend="inductor")
    for run_id in ("base", "candidate"):
        of_side = case("net", run=run_id, suite="builtin", backend="inductor")
        events.append(metric(of_side, "recompiles", 0.0, better="lower"))
    events += [
        metric(it, "recompiles", 1.0, better="lower", phase="warmup"),
        metric(
            it,
            "recompile:self.calls == 1",
            1.0,
            better="lower",
            phase="warmup",
            original_value="/a/work.py:9 in forward",
        ),
    ]
    found = why(warehouse.add(*events), SIDES, "net", metric="recompiles")

    assert [(part.name, part.difference, part.line) for part in found.parts] == [("self.calls == 1", 1.0, 9)]
    assert found.whole.difference == 1.0 and found.unattributed.difference == 0.0


@exhaustive
def test_compile_latency_has_phases_that_add_up() -> None:
    """Each without those within it, also where one between them is not recorded; the rest is unattributed."""
    events: list[Any] = []
    for run_id, factor in (("base", 1), ("candidate", 3)):
        it = case("net", run=run_id, suite="builtin", backend="inductor")
        spent = {
            "_compile.compile_inner": 100,
            "build_guards": 5,
            "GraphLowering.compile_to_fn": 20 + 10 * factor,
            "other": 7,
        }
        events += [
            run(run_id, run_id),
            it,
            outcome(it),
            metric(it, "compile_latency", 120.0 * factor, unit="ns", better="lower"),
        ]
        events += [metric(it, f"compile_phase:{name}", float(ns), unit="ns") for name, ns in spent.items()]
    found = why(Builder().add(*events), SIDES, "net", metric="compile_latency")

    assert {part.name: (part.base, part.candidate) for part in found.parts} == {
        "tracing (dynamo)": (65, 45), "guards": (5, 5), "code generation": (30, 50),
    }  # fmt: skip
    assert found.whole.difference == 240 and found.unattributed.difference == 240


def test_autotuning_is_a_part_and_cached_code_is_said() -> None:
    """Of each operator by a phase of its own name, within the lowering; code from a cache is not compiled."""
    events: list[Any] = []
    for run_id, tuned, hits in (("base", 0, 2), ("candidate", 30, 0)):
        it = case("net", run=run_id, suite="builtin", backend="inductor")
        spent = {"_compile.compile_inner": 100 + tuned, "GraphLowering.run": 10 + tuned}
        spent |= {"mm_template_autotuning": tuned // 3, "addmm_template_precompiling": 2 * tuned // 3} if tuned else {}
        cached = {"fxgraph_cache_hits": hits, "fxgraph_cache_misses": 2 - hits}
        events += [
            run(run_id, run_id),
            it,
            outcome(it),
            metric(it, "compile_latency", 100.0 + tuned, unit="ns", better="lower"),
        ]
        events += [metric(it, f"compile_phase:{name}", float(ns), unit="ns") for name, ns in spent.items()]
        events += [metric(it, name, float(count)) for name, count in cached.items()]
    found = why(Builder().add(*events), SIDES, "net")

    assert [(part.name, part.difference) for part in found.parts if part.difference] == [
        ("autotuning of templates (matmul, convolution)", 30.0)
    ]
    assert found.notes[-1] == "code from the cache: 2 of 2 graphs in the base, 0 of 2 in the candidate"


@exhaustive
@given(
    st.lists(st.tuples(st.integers(1, 4000), st.floats(1, 50), st.floats(1, 50)), min_size=8, max_size=40),
    st.integers(0, 3),
)
def test_cost_and_mix_of_steps_add_up_to_the_means(found: list[tuple[int, float, float]], skipped: int) -> None:
    """Also where a bin is on one side only."""
    sizes, before, after = zip(*found, strict=True)
    warehouse = Builder().add(run("base"), run("candidate"), *steps("base", sizes, before))
    warehouse.add(*steps("candidate", sizes[skipped:], after[skipped:]))
    parts = why(warehouse, SIDES, "step")

    means = [math.fsum(times) / len(times) for times in (before, after[skipped:])]
    assert math.fsum(part.difference for part in parts.parts) == pytest.approx(1e6 * (means[1] - means[0]), abs=50)
    assert total(parts) == pytest.approx(parts.whole.difference, abs=1e-3)


def test_scheduling_is_a_part_of_whole_steps() -> None:
    """Bins cost what is left; where a step does not say how long it was scheduled, they cost all of it."""
    events: list[Any] = [run("base"), run("candidate"), run("silent")]
    for side, scheduled in (("base", 1.0), ("candidate", 4.0), ("silent", None)):
        events += [
            chunk(line, [n], side, model_run_ms=20.0, schedule_ms=scheduled or (1.0 if line < 3 else None))
            for line, n in enumerate([4, 1000] * 32, 1)
        ]
    found, silent = (
        why(Builder().add(*events), (SIDES[0], Side(side, (side,))), "step", metric="step_mean")
        for side in ("candidate", "silent")
    )

    assert found.parts[0].name == "scheduling" and found.parts[0].difference == pytest.approx(3e6)
    assert [part.difference for part in found.parts[1:]] == pytest.approx([0.0] * 4)
    assert total(found) == pytest.approx(found.whole.difference)
    assert "scheduling" not in {part.name for part in silent.parts}


@exhaustive
def test_a_longer_step_is_cost_and_more_of_them_is_mix() -> None:
    """Planted: large steps cost 10 ms more, small ones are as many and cost the same; then only their number changes."""
    small, large = [4] * 64, [1000] * 64
    base = steps("base", small + large, [5.0] * 64 + [20.0] * 64)
    slower = steps("candidate", small + large, [5.0] * 64 + [30.0] * 64)
    found = why(Builder().add(run("base"), run("candidate"), *base, *slower), SIDES)
    assert found.parts[0].name == "cost of steps of 512–1023 tokens"
    assert found.parts[0].difference == pytest.approx(5e6)
    assert [part.difference for part in found.parts[1:]] == pytest.approx([0.0] * 3)

    base = steps("base", small + large, [5.0] * 64 + [20.0] * 64)
    more = steps("candidate", [4] * 32 + [1000] * 96, [5.0] * 32 + [20.0] * 96)
    found = why(Builder().add(run("base"), run("candidate"), *base, *more), SIDES)
    assert {part.name.partition(":")[0] for part in found.parts if part.difference > 1} == {"mix"}


def test_more_tokens_within_a_bin_are_said_beside_its_cost() -> None:
    """At 20 µs a token 1.5 times the tokens take 1.5 times as long; other steps of the same sizes are slower alone."""
    sizes = [600, 640, 4, 4] * 32
    base = [chunk(line, [n], "base", model_run_ms=0.02 * n) for line, n in enumerate(sizes, 1)]
    more = [chunk(line, [n * 3 // 2], "more", model_run_ms=0.03 * n) for line, n in enumerate(sizes, 1)]
    slow = [chunk(line, [n], "slow", model_run_ms=0.03 * n) for line, n in enumerate(sizes, 1)]
    warehouse = Builder().add(run("base"), run("more"), run("slow"), *base, *more, *slow)
    one, other = (" ".join(why(warehouse, (SIDES[0], Side(to, (to,))), "step").notes) for to in ("more", "slow"))

    assert "steps of 4–7 and 512–1023 tokens have 1.5 and 1.5 times the tokens" in one
    assert "times the tokens" not in other


@exhaustive
def test_steps_whose_writer_says_what_their_times_span_have_parts() -> None:
    """They are cases of their own; steps of a negative number of tokens have no bin, as in the cases."""
    events: list[Any] = [run("base"), run("candidate")]
    for run_id, each_ms in (("base", 20.0), ("candidate", 30.0)):
        events += [chunk(line, [1000], run_id, model_run_ms=each_ms, time_span="cuda") for line in range(1, 65)]
        events.append(chunk(65, [-1], run_id, model_run_ms=500.0, time_span="cuda"))
    found = why(Builder().add(*events), SIDES, "step")

    assert found.parts[0].name == "cost of steps of 512–1023 tokens"
    assert math.fsum(part.difference for part in found.parts) == pytest.approx(1e7)
    with pytest.raises(UnknownName, match="A bin of tokens is a part of all steps: take 'step' apart"):
        why(Builder().add(*events), SIDES, "tokens:512–1023")


def test_a_value_of_the_whole_run_is_no_case_of_that_name(warehouse: Builder) -> None:
    """It has no id to begin with the name."""
    events = [
        event
        for run_id in ("base", "candidate")
        for event in (run(run_id), Metric(run_id=run_id, metric="startup", value=5.0, unit="ns", better="lower"))
    ]
    with pytest.raises(UnknownName, match="no case 'zzzzzzzz'"):
        why(warehouse.add(*events), SIDES, "zzzzzzzz", metric="startup")


def test_cases_are_told_apart_by_their_parameters() -> None:
    """And by what else they differ in; a function by its own name, not by that of the first that took turns."""
    row = {
        "suite": "function",
        "name": "work:first",
        "backend": "f",
        "parameters": '{"n":10}',
        "batch_size": 4,
        "sequence_length": None,
    }

    assert label(row) == "f n:10 batch 4"


def compared(name: str, ratio: float | None, verdict: str = "UNSURE") -> dict[str, Any]:
    """A row of a comparison."""
    low, high = (ratio * 0.99, ratio * 1.01) if ratio else (None, None)
    return {
        "suite": "s", "name": name, "backend": None, "parameters": None, "batch_size": None, "sequence_length": None,
        "ratio": ratio, "low": low, "high": high, "verdict": verdict, "unit": "ns", "better": "lower",
    }  # fmt: skip


def test_cases_add_up_to_the_geometric_mean() -> None:
    """In logarithms; those on one side only are rows of their own that add nothing."""
    found = by_case([compared("a", 2.0), compared("b", 0.9), compared("c", 1.0), compared("d", None, "ADDED")])
    assert found is not None

    assert found.whole.difference == pytest.approx(100 * math.log(2.0 * 0.9) / 3)
    assert [part.name for part in found.parts] == ["a", "b", "c", "d (ADDED)"]
    assert [part.name for part in folded(found.parts, nothing=True)] == ["3 other parts", "d (ADDED)"]
    assert total(found) == pytest.approx(found.whole.difference)
    assert found.notes[0].startswith("1.22x faster in all; ")
    assert found.notes[1] == "1 case on one side only: in no mean, so that what they add is 0"
    assert by_case([compared("a", 2.0)]) is None


def test_the_interval_of_a_geometric_mean_is_as_wide_as_in_a_comparison() -> None:
    """A slow run of one side is in all of its cases: more of them do not make it narrower, nor do they in the row of others."""
    found = by_case([compared("a", 1.005), compared("b", 0.999), compared("c", 1.004)])
    assert found is not None

    row, *_ = folded(found.parts, nothing=True)
    log_ends = [[100 * math.log(ratio * end) / 3 for ratio in (1.005, 0.999, 1.004)] for end in (0.99, 1.01)]
    assert [found.whole.low, found.whole.high] == pytest.approx([*map(sum, log_ends)])
    assert [row.low, row.high] == pytest.approx([found.whole.low, found.whole.high], abs=0.02)


def test_a_function_that_took_turns_is_asked_for_by_its_own_name() -> None:
    """The name of the first of them is that of what all compute."""
    warehouse = Builder()
    for side in ("base", "candidate"):
        for function in ("old", "new"):
            it = case("work:old", run=side, suite="function", backend=f"work:{function}")
            warehouse.add(run(side, side), it, outcome(it), *(timing(it, 1000 + number) for number in range(9)))

    for function in ("old", "new"):
        with pytest.raises(NothingToShow, match=f"no parts of work:{function} are recorded"):
            why(warehouse, SIDES, f"work:{function}")


def test_a_comparison_asks_for_a_function_that_took_turns_by_its_own_name(warehouse: Builder) -> None:
    """The answer has that name, too, though the case has that of the first of them."""
    place = json.dumps({"file": "work.py", "function": "new", "line": 3, "text": "return 1"})
    for side, ns in (("base", 1000), ("candidate", 2000)):
        warehouse.add(run(side, side))
        for function, slowed in (("old", 1000), ("new", ns)):
            it = case("work:old", run=side, suite="function", backend=f"work:{function}")
            warehouse.add(it, outcome(it), *(timing(it, slowed + n % 2, process=n) for n in range(9)))
            warehouse.add(metric(it, "line_time", 1.0, original_value=place))

    (asked,) = next_question(warehouse, compare(warehouse, *SIDES), all_runs=False)
    assert asked == "why: bench why base candidate work:new --store 'the store'"
    assert why(warehouse, SIDES, "work:new").whole.name == "work:new"


@pytest.mark.parametrize(("better", "ends"), [("lower", (1.0, 4.0)), ("higher", (-1.5, 0.0))])
def test_the_interval_is_that_of_the_ratio(better: str, ends: tuple[float, float]) -> None:
    """Of which above 1 is better: a time of 2 that may be 2 to 0.333 as good is 3 to 6."""
    row = {"suite": "s", "name": "a", "base_value": 2.0, "candidate_value": 4.0, "better": better, "verdict": "UNSURE"}
    row |= {"low": 1 / 3, "high": 2 / 3} if better == "lower" else {"low": 0.25, "high": 1.0}

    whole = whole_of(row)
    assert [whole.low, whole.high] == pytest.approx([*ends])


@exhaustive
def test_what_has_no_parts_says_how_to_record_them() -> None:
    """And names that are none have the nearest."""
    warehouse = Builder().add(*profiled("base", 1000, BASE), *profiled("candidate", 2000, {}))
    with pytest.raises(NothingToShow, match=r"no parts of work:score are recorded on both sides: .* --lines records"):
        why(warehouse, SIDES)
    it = {run_id: case("job", run=run_id, suite="function", backend="job") for run_id in ("base", "candidate")}
    peaks = [metric(one, "rss_peak", 1e6, unit="bytes", better="lower") for one in it.values()]
    with pytest.raises(
        NothingToShow, match="no parts of job are recorded on both sides: bench measure memory … records"
    ):
        why(Builder().add(run("base"), run("candidate"), *it.values(), *peaks), SIDES, metric="rss_peak")
    with pytest.raises(UnknownName, match="Nearest: 'work:score'"):
        why(warehouse, SIDES, "work:scor")
    with pytest.raises(
        NothingToShow, match=r"a mean takes two cases that both sides measured\. Name one case: work:score"
    ):
        why(warehouse, SIDES, "geomean")
    with pytest.raises(UnknownName, match="no backend 'eager'"):
        why(warehouse, SIDES, "work:score", backend="eager")
    with pytest.raises(NothingToShow, match="no latency of a case in common"):
        why(Builder().add(*profiled("base", 1000, BASE), run("candidate")), SIDES, metric="latency")


def test_one_name_of_several_cases_is_asked_back(warehouse: Builder) -> None:
    """With their ids."""
    events: list[Any] = [run("base"), run("candidate")]
    for run_id in ("base", "candidate"):
        for size in (1, 2):
            it = case("m", run=run_id, batch_size=size)
            events += [it, outcome(it), timing(it, 1000)]
    with pytest.raises(BenchError, match=r"2 cases are called 'm'. Name one by its id(.|\n)*m batch 1, latency"):
        why(warehouse.add(*events), SIDES, "m")


@pytest.fixture
def bench(tmp_path: Any) -> Callable[..., Any]:
    """The command beside a store of two runs of a profiled function."""
    store = Store(tmp_path / "store")
    for config, each_ns, lines in (("base", 1_000_000, BASE), ("candidate", 2_000_000, CANDIDATE)):
        with recorder.run(config, store=store, source="measure") as it:
            function = it.case(suite="function", name="work:score", backend="work:score")
            for wobble in range(8):
                function.timing(each_ns + wobble, phase="steady")
            for place, shares in lines.items():
                for share in shares:
                    function.metric("line_time", share, unit="ratio", phase="steady", text=line(*place))
            function.outcome("ok")
    return lambda *words: CliRunner().invoke(cli, [*words, "--store", str(store.root)], standalone_mode=False)


def test_the_command_prints_a_row_a_part(bench: Callable[..., Any]) -> None:
    """The whole last; JSON holds the same, with exact sums."""
    done = bench("why", "base", "candidate")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[2].startswith("score: b = sorted(x)") and lines[2].endswith("work.py:4")
    assert lines[-1].startswith("work:score") and "+1 ms" in lines[-1]

    (document,) = json.loads(bench("why", "base", "candidate", "--format", "json").stdout)
    left = document["unattributed"]["difference"]
    assert math.fsum([*(part["difference"] for part in document["parts"]), left]) == document["difference"]
    assert document["parts"][0]["file"] == "work.py" and document["unit"] == "ns"


@exhaustive
def test_comparisons_name_the_next_question(bench: Callable[..., Any]) -> None:
    """A changed case with parts has one."""
    assert "\nwhy: bench why base candidate work:score --store " in bench("compare", "base", "candidate").stderr


def test_names_of_lines_are_shown_safe() -> None:
    """Control characters of source code reach no terminal."""
    whole = DifferencePart("x", 1.0, 2.0, 1.0, None, None)
    found = decomposed("ns", whole, [part_of("f: \x1b[2J", 1.0, 2.0, 0.1)], error=0.0)

    assert "\x1b" not in str([*cells(found)])


@exhaustive
def test_a_bin_of_one_step_differs_no_more_surely_than_steps_do() -> None:
    """It does not tell how steps differ: the others do."""
    warehouse = Builder()
    for side, odd in (("base", 10.0), ("candidate", 11.0)):
        times = [10.0 + (at % 7) / 2 for at in range(640)]
        times[320] = odd
        sizes = [100.0] * 640
        sizes[320] = 5.0
        warehouse.add(run(side), *steps(side, sizes, times))
    found = why(warehouse, SIDES, "step")

    lone = next(part for part in found.parts if "4–7" in part.name and part.name.startswith("cost"))
    assert lone.low is not None and lone.high is not None and lone.low < 0 < lone.high
    assert NOTHING_DIFFERS in found.notes
