"""Labels of compared cases: what tells them apart is said of each, what they share is said once."""

from typing import Any

from bench.query.comparison.compare import Comparison, compare
from bench.query.comparison.labels import labels_of
from bench.query.comparison.render import render, shared_axes, shared_reasons, verdict
from bench.query.comparison.sides import Side
from bench.warehouse.events import Event

from ...builders import Builder, case, metric, outcome, run
from ...exhaustive import exhaustive


def compared(cases: list[dict[str, Any]], values: dict[str, tuple[int, int]]) -> Comparison:
    """Two runs with cases of these axes, each with the metrics and the values of both sides; lower is better."""
    events: list[Event] = [run("a", "a"), run("b", "b")]
    for axes in cases:
        for side, run_id in enumerate("ab"):
            it = case(run=run_id, **{"name": "llama", "suite": "serving", **axes})
            events += [it, outcome(it)]
            events += [metric(it, name, both[side], unit="ns", better="lower") for name, both in values.items()]
    return compare(Builder().add(*events), Side("a", ("a",)), Side("b", ("b",)))


def parameters(**values: Any) -> dict[str, Any]:
    return {"parameters": values}


@exhaustive
def test_only_parameters_in_which_cases_differ_are_columns() -> None:
    """A sweep over one of three parameters tells its values, and the others once."""
    sweep = [parameters(rate="inf", input_tokens=1024, concurrency=number) for number in (1, 8)]
    found = compared(sweep, {"ttft_median": (100, 200)})
    columns, rows = render(found, found.rows)

    assert columns[:2] == ["parameters", "metric"]
    assert {row[0] for row in rows} == {"concurrency:1", "concurrency:8"}
    assert next(shared_axes(found)) == "all cases: suite serving, name llama, rate inf, input_tokens 1024"


@exhaustive
def test_the_first_sentence_names_the_metric_where_there_are_several() -> None:
    """Of one case with several metrics the worst metric, of several cases with one metric the case, of both both."""
    two = {"ttft_median": (100, 150), "itl_median": (100, 300)}

    assert verdict(compared([{}], two)) == "2 likely slower (worst itl_median 3.00x) of 2 comparisons"
    sweep = [parameters(rate="inf", concurrency=number) for number in (1, 8)]
    assert "(worst concurrency:" in verdict(compared(sweep, {"itl_median": (100, 300)}))
    assert ", itl_median 3.00x)" in verdict(compared(sweep, two))


def test_functions_are_called_by_their_own_names() -> None:
    """Not by the first of those that took turns, which is the name of what they compute."""
    functions = [{"suite": "function", "name": "work:old", "backend": f"work:{name}"} for name in ("old", "new")]
    found = compared(functions, {"latency": (100, 300)})
    columns, rows = render(found, found.rows)

    assert columns[:2] == ["name", "metric"]
    assert {row[0] for row in rows} == {"work:old", "work:new"}
    assert "work:old" not in next(shared_axes(found))


def test_a_function_of_two_groups_is_told_by_group_and_function() -> None:
    """By its own name alone two cases would be one."""
    rows = [vars_of(suite="function", name=name, backend="work:new") for name in ("work:old", "work:older")]
    labels = labels_of(rows)

    assert labels.headings() == ["name"]
    assert not labels.by_function


@exhaustive
def test_a_reason_that_all_rows_of_a_verdict_have_is_said_once() -> None:
    """Fourteen cases that are gone are fourteen rows, and one sentence."""
    events: list[Event] = [run("a", "a"), run("b", "b")]
    for run_id, names in (("a", ("kept", "gone", "lost")), ("b", ("kept",))):
        for name in names:
            it = case(name, run=run_id, suite="s")
            events += [it, outcome(it), metric(it, "latency", 100, unit="ns", better="lower")]
    found = compare(Builder().add(*events), Side("a", ("a",)), Side("b", ("b",)))

    removed = [row for row in found.rows if row["verdict"] == "REMOVED"]
    assert [row[-1] for row in render(found, removed)[1]] == ["", ""]
    assert "all REMOVED: not measured by the candidate" in [*shared_reasons(found)]


def test_parameters_that_are_no_object_are_shown_as_they_are() -> None:
    """A list, or text that is no JSON, has no names."""
    rows = [{**vars_of(), "parameters": text} for text in ("[1, 2]", "[1, 3]", "n=1", None)]
    labels = labels_of(rows)

    assert [labels.name(row) for row in rows] == ["[1, 2]", "[1, 3]", "n=1", ""]


def vars_of(**axes: Any) -> dict[str, Any]:
    """The axes of a case."""
    it = case(**{"name": "m", **axes})
    return {axis: getattr(it, axis) for axis in it.__dataclass_fields__}
