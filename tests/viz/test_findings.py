"""Findings of charts: said only where the rows that are drawn bear them."""

import pytest
from bench.viz import findings
from bench.viz.marks.lines import Point

from ..builders import Builder, case, outcome, run, timing


def line(series: str, *values: float, low: float | None = None, high: float | None = None) -> list[Point]:
    """A line at 0, 1, 2 …"""
    return [Point(panel=0, series=series, x=x, y=y, low=low, high=high) for x, y in enumerate(values)]


def test_the_largest_of_several_is_named_with_its_distance_from_the_median() -> None:
    """Of two values, or where two share the first place, nothing is said; among values below 0 there is no multiple."""
    values = [("a", 1e9), ("b", 4e9), ("c", 2e9), ("d", None)]

    assert findings.largest(values, "ns", "compile time") == "b: compile time 4 s, 2.00x the median of 3"
    assert findings.largest([*values, ("e", 4e9)], "ns", "compile time") is None
    assert findings.largest(values[:2], "ns", "compile time") is None
    assert findings.largest([*values, ("e", -1.0)], "ns", "grew by") == "b: grew by 4 s"


def test_one_series_is_above_the_other_only_where_it_is_so_everywhere() -> None:
    """The ratios of the places they share; none where lines cross, a third series is drawn, or intervals meet at many places."""
    two = [*line("bert", 2.0, 6.0, 9.0), *line("gpt2", 1.0, 2.0, 3.0, 4.0)]

    assert findings.apart(two, "time", "lengths") == "bert: 2–3x the time of gpt2 at all 3 lengths"
    assert findings.apart(two[::-1], "time", "lengths") == findings.apart(two, "time", "lengths")
    assert findings.apart([*line("bert", 2.0, 1.0), *line("gpt2", 1.0, 2.0)], "time", "lengths") is None
    assert findings.apart([*two, *line("t5", 5.0, 5.0)], "time", "lengths") is None
    wide = [*line("bert", 2.0, 2.0, low=0.5, high=3.0), *line("gpt2", 1.0, 1.0, low=0.5, high=1.5)]
    assert findings.apart(wide, "time", "lengths") is None
    once = [*line("bert", 1.0, 4.0, 6.0, 9.0), *line("gpt2", 1.0, 2.0, 3.0, 3.0)]
    assert findings.apart(once, "time", "lengths") == "bert: 2–3x the time of gpt2 at 3 of 4 lengths"


def test_lines_over_sizes_are_told_by_how_many_they_are() -> None:
    """One by its ends, two by their ratios, more by the one below all others; nothing where that is not so everywhere."""
    one, two, three = line("bert", 2.0, 6.0), line("gpt2", 1.0, 2.0), line("t5", 3.0, 7.0)

    assert findings.of_lines(one, "time", "tokens") == "bert: 3.00x the time from 0 to 1 tokens"
    assert findings.of_lines(line("bert", 2.0, 6.0, low=1.0, high=9.0), "time", "tokens") is None
    assert findings.of_lines([*one, *two], "time", "sizes") == "bert: 2–3x the time of gpt2 at all 2 sizes"
    assert findings.of_lines([*one, *two, *three], "time", "sizes") == "gpt2: the least time of 3 at all 2 sizes"
    assert findings.of_lines([*one, *two, *line("t5", 0.5, 7.0)], "time", "sizes") is None
    assert findings.of_lines([*one, *one], "time", "sizes") is None


def test_the_largest_step_of_lines_is_named_with_its_place() -> None:
    """Short lines say nothing; of quiet ones that nothing lasting changed is the finding."""
    quiet = [(f"day {place}", 100 + 0.1 * (place % 3)) for place in range(16)]
    stepped = [(name, value * (1.2 if place > 9 else 1)) for place, (name, value) in enumerate(quiet)]

    assert findings.moved({"speedup": stepped, "passing": quiet}) == "speedup: +20.0 % at day 10"
    newest = [(name, value * (0.9 if place > 13 else 1)) for place, (name, value) in enumerate(quiet)]
    assert findings.moved({"speedup": newest}) == "speedup: -10.0 % since day 14, one that may end again"
    assert findings.moved({"passing": quiet}) == "no lasting change in 16 runs"
    assert findings.moved({"passing": quiet[:5]}) is None


@pytest.mark.parametrize(("factor", "said"), [(2.0, "2.00x slower"), (1.0, None)])
def test_two_sides_are_told_apart_by_the_verdict_of_compare_alone(factor: float, said: str | None) -> None:
    """In its words, and only where it is sure."""
    builder = Builder()
    for name, by in (("base", 1.0), ("candidate", factor)):
        one = case("mlp", name, backend="inductor")
        builder.add(run(name, name), one, outcome(one))
        builder.add(
            *(
                timing(one, int(by * (1e6 + 1e3 * (sample % 7))), sample=sample, process=sample // 10)
                for sample in range(50)
            )
        )
    found = findings.compared(builder, "base", "candidate", case("mlp", "base", backend="inductor").case_id, "latency")

    assert (found or "").startswith(said) if said else found is None
