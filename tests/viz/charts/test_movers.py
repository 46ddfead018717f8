"""movers: what changed, in which order, and what one side lacks."""

import random

import pytest
from bench.viz.charts.movers import draw
from bench.warehouse.errors import UnknownName

from ...builders import Builder, case, metric, outcome, run, timing
from ...exhaustive import exhaustive
from ..steps import fields


def sides(**changes: float | None) -> Builder:
    """Two configs of three runs each; by model how many times as long B takes as A, None where it fails."""
    builder, generator = Builder(), random.Random(1)
    for config in "AB":
        for number in range(3):
            run_id = f"{config}-{number}"
            builder.add(run(run_id, config, started_at=number, git_commit=config * 40, git_dirty=False, host="h"))
            for place, (name, change) in enumerate(changes.items(), start=1):
                one = case(name, run_id, backend="inductor")
                fails = change is None and config == "B"
                builder.add(one, outcome(one, "OOM" if fails else "ok"))
                if not fails:
                    each = 1e6 * place * (change or 1 if config == "B" else 1) * generator.uniform(0.999, 1.001)
                    builder.add(*(timing(one, round(each * generator.uniform(0.99, 1.01))) for _ in range(10)))
                    builder.add(metric(one, "score", 1 / each, unit="ratio", better="higher"))
    return builder


def test_what_lost_most_comes_first() -> None:
    """Above 1 is better; a bar is full where the verdict is beyond doubt."""
    figure = draw(sides(a=1.0, b=1.5, c=0.5), "A", "B", all_cases=True)

    assert fields(figure, "row", "sure") == [("b", True), ("a", False), ("c", True)]
    assert figure.fields["value"] == pytest.approx([1 / 1.5, 1, 2], rel=0.01)
    assert all(low < value < high for low, value, high in fields(figure, "low", "value", "high"))


@pytest.mark.exhaustive
def test_what_did_not_move_is_counted_and_not_drawn() -> None:
    """Unless nothing moved: then that is what there is to see."""
    figure = draw(sides(a=1.0, b=1.5, c=0.5), "A", "B")
    still = draw(sides(a=1.0, b=1.0), "A", "B")

    assert figure.fields["row"] == ["b", "c"]
    assert "2 of 3 cases, all 2 that moved" in " ".join(figure.spec(False)["title"]["subtitle"])
    assert set(still.fields["row"]) == {"a", "b"} and not any(still.fields["sure"])
    assert "nothing moved beyond doubt" in " ".join(still.spec(False)["title"]["subtitle"])


@exhaustive
def test_all_runs_of_both_sides_are_drawn_if_asked() -> None:
    """As `bench compare --all-runs` compares them; else the newest that has no repeat is one run."""
    builder = Builder()
    for config, milliseconds in (("A", 10), ("B", 15)):
        for number in range(3):
            builder.add(run(f"{config}-{number}", config, started_at=number, host="h"))
            one = case("a", f"{config}-{number}")
            builder.add(one, *(timing(one, 10**6 * milliseconds + sample) for sample in range(10)))

    newest, all_of_them = draw(builder, "A", "B"), draw(builder, "A", "B", all_runs=True)
    assert "1 run against 1 run" in " ".join(newest.spec(False)["title"]["subtitle"])
    assert "3 runs against 3 runs" in " ".join(all_of_them.spec(False)["title"]["subtitle"])


@pytest.mark.exhaustive
def test_by_difference_the_largest_in_the_unit_comes_first() -> None:
    """3 ms more of 6 weigh heavier than 1 ms more of 1; the interval is that of the ratio, the base held."""
    figure = draw(sides(a=2.0, b=1.0, c=1.0, d=1.0, e=1.0, f=1.5), "A", "B", by="difference", worst=2, best=0)

    assert figure.fields["row"] == ["f", "a"]
    assert figure.fields["value"] == pytest.approx([3, 1], rel=0.05)
    assert all(low < value < high for low, value, high in fields(figure, "low", "value", "high"))
    assert figure.spec(False)["layer"][0]["encoding"]["x"]["title"] == "latency, candidate - base [ms]"


@pytest.mark.exhaustive
def test_what_was_nothing_before_has_a_difference_and_no_ratio() -> None:
    """Its bar begins at 0, and the note stands beyond its end, where there is room for it."""
    builder = Builder()
    for config, breaks in (("A", 0), ("B", 5)):
        one = case("m", config, backend="inductor")
        builder.add(
            run(config, config), one, outcome(one), metric(one, "graph_breaks", breaks, unit="count", better="lower")
        )

    figure = draw(builder, "A", "B", metric="graph_breaks", by="difference")

    assert fields(figure, "value", "note", "at") == [(5, "no ratio", 5)]
    low, high = figure.spec(False)["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert low == 0 and high > 5.5


@pytest.mark.exhaustive
def test_a_metric_of_which_more_is_better_is_turned_round() -> None:
    """A score that falls has lost, whatever its sign."""
    for by in ("ratio", "difference"):
        figure = draw(sides(a=2.0, b=0.5), "A", "B", metric="score", by=by)

        assert figure.fields["row"] == ["a", "b"]


@pytest.mark.exhaustive
def test_what_now_fails_stands_below_with_its_status() -> None:
    """A case that is gone is a finding, not an omission."""
    figure = draw(sides(a=1.5, b=None), "A", "B")

    assert fields(figure, "row", "value", "note")[1] == ("b", None, "now OOM")
    assert fields(draw(sides(a=1.5, b=None), "B", "A"), "row", "note")[1] == ("b", "was OOM")


def test_the_ends_are_chosen_and_the_rest_is_counted() -> None:
    """The subtitle has the verdicts of all cases, drawn or not."""
    figure = draw(sides(a=2.0, b=1.5, c=1.0, d=0.5), "A", "B", worst=1, best=1)

    assert figure.fields["row"] == ["a", "d"]
    said = " ".join(figure.spec(False)["title"]["subtitle"])
    assert "2 of 4 cases" in said and "2 SLOWER" in said and "1 FASTER" in said
    assert "3 runs against 3 runs" in said


def test_unknown_metrics_are_named() -> None:
    """With those both sides measured."""
    with pytest.raises(UnknownName, match="latency"):
        draw(sides(a=1.0), "A", "B", metric="latenci")


@exhaustive
def test_without_latency_what_most_cases_have_is_compared() -> None:
    """An import that has no samples of time is drawn without an option, too."""
    builder = Builder()
    for config in "AB":
        builder.add(run(config, config))
        for name in ("a", "b"):
            one = case(name, config, backend="inductor")
            builder.add(one, outcome(one), metric(one, "speedup", 2.0, unit="ratio", better="higher"))
        builder.add(metric(one, "score", 1.0, unit="ratio", better="higher"))

    figure = draw(builder, "A", "B")

    assert figure.provenance.parameters["metric"] == "speedup"
