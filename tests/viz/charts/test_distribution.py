"""distribution: which samples of which case are drawn, and what is said of them."""

from typing import Any

import pytest
from bench.viz.charts.distribution import draw
from bench.viz.output.figure import Figure
from bench.warehouse.errors import BenchError, NothingToShow

from ...builders import Builder, case, metric, run, timing
from ..steps import fields


def sampled(**sides: list[float]) -> Builder:
    """A run of one model for each side, its samples in ms."""
    builder = Builder()
    for side, samples in sides.items():
        one = case("m", side, backend="inductor")
        builder.add(run(side), one, *(timing(one, round(ms * 1e6)) for ms in samples))
    return builder


def medians(figure: Figure) -> list[dict[str, Any]]:
    values: list[dict[str, Any]] = figure.spec(False)["layer"][-1]["data"]["values"]
    return values


def test_every_sample_stands_at_its_share() -> None:
    """The share of the side's samples that are no larger, side by side."""
    figure = draw(sampled(A=[3.0, 1.0], B=[5.0]), ["A", "B"])

    assert fields(figure, "series", "value", "share") == [("A", 1.0, 0.5), ("A", 3.0, 1.0), ("B", 5.0, 1.0)]


def test_shares_begin_at_0() -> None:
    """The first sample is a step like the others; of one there is that step only, and not an empty plot."""
    figure = draw(sampled(A=[3.0, 1.0], B=[5.0]), ["A", "B"])

    assert [(m["least"], m["share"]) for m in medians(figure)] == [(1.0, 0.5), (5.0, 1.0)]


def test_the_median_has_its_interval_where_there_are_samples_enough() -> None:
    """Distribution-free, from six samples on; fewer have none, and the number says how many."""
    figure = draw(sampled(A=[1.0, 2, 3, 4, 5, 6], B=[7.0, 9.0]), ["A", "B"])

    assert [(m["value"], m["low"], m["high"]) for m in medians(figure)] == [(3.5, 1.0, 6.0), (8.0, None, None)]
    said = " ".join(figure.spec(False)["title"]["subtitle"])
    assert "median of A: 3.5 ms (95 % 1 ms–6 ms, n=6)" in said and "median of B: 8 ms (n=2)" in said


def test_many_samples_are_thinned_evenly_and_keep_their_ends() -> None:
    """Each kept sample keeps its own share, so the curve stays where it is."""
    figure = draw(sampled(A=[float(i) for i in range(5001, 10_001)]), ["A"])

    assert 1000 <= len(figure.rows) <= 1002
    assert fields(figure, "value", "share")[0] == (5.001, 1 / 5000)
    assert fields(figure, "value", "share")[-1] == (10.0, 1.0)
    assert "of 5,000 samples drawn" in " ".join(figure.spec(False)["title"]["subtitle"])


def test_an_outlier_makes_the_axis_logarithmic() -> None:
    """And the axis says so."""
    encoding = draw(sampled(A=[1.0, 1.1, 900.0]), ["A"]).spec(False)["layer"][0]["encoding"]

    assert (encoding["x"]["scale"]["type"], encoding["x"]["title"]) == ("log", "latency [ms, log]")


def test_backends_of_one_run_are_compared_too() -> None:
    """The axis in which the series differ names them."""
    builder = sampled(A=[1.0])
    eager = case("m", "A", backend="eager")

    assert fields(draw(builder.add(eager, timing(eager, 2_000_000)), ["A"]), "series") == [
        ("eager",),
        ("inductor",),
    ]


def test_of_several_cases_the_first_is_drawn_and_the_others_are_told() -> None:
    """Choosing is easy once one knows that there is a choice."""
    builder = sampled(A=[1.0])
    other = case("n", "A", backend="inductor")

    figure = draw(builder.add(other, timing(other, 2_000_000)), ["A"])

    assert figure.provenance.title == "Samples of m"
    assert figure.notes == ["1 other case left out: choose with --models, --backends or --suites"]


def test_other_runs_of_a_config_are_counted() -> None:
    """Of a config the newest run is drawn; a run that is named by itself leaves none out."""
    builder = Builder()
    for number in (1, 2, 3):
        one = case("m", f"run-{number}")
        builder.add(run(f"run-{number}", "A", started_at=number), one, timing(one, number * 1_000_000))
    figure = draw(builder, ["A"])

    assert "2 other runs left out" in " ".join(figure.spec(False)["title"]["subtitle"])
    assert figure.notes == ["2 other runs left out: name one by itself, such as A~1"]
    assert not draw(builder, ["run-3", "run-2"]).notes


def test_what_cannot_be_drawn_says_why() -> None:
    """The same run twice; no such metric; a median that was imported without its samples."""
    builder = sampled(A=[1.0])
    one = case("m", "A", backend="inductor")
    store = builder.add(metric(one, "throughput", 3.0, statistic="median"))

    with pytest.raises(BenchError, match="the same run"):
        draw(store, ["A", "latest"])
    with pytest.raises(NothingToShow, match="no side measured speed"):
        draw(store, ["A"], metric="speed")
    with pytest.raises(NothingToShow, match="no side measured throughput"):
        draw(store, ["A"], metric="throughput")
