"""speedups: what is drawn of what, in which order, and what hollow means."""

from typing import Any

import pytest
from bench.viz.charts.speedups import TITLE, draw
from bench.warehouse.errors import NothingToShow, UnknownName

from ...builders import Builder, case, outcome, run, timing
from ...exhaustive import first_of
from ..steps import fields


def models(*blocks: tuple[str, list[float]], config: str = "main", builder: Builder | None = None) -> Builder:
    """A run in which each model's blocks are so many times as fast on inductor as on eager."""
    builder = (builder or Builder()).add(run(config, config))
    for name, ratios in blocks:
        eager, inductor = (case(name, config, backend=backend) for backend in ("eager", "inductor"))
        builder.add(eager, inductor, outcome(eager), outcome(inductor))
        for block, ratio in enumerate(ratios):
            for side, each in ((eager, 1_000_000 * ratio), (inductor, 1_000_000)):
                builder.add(timing(side, round(each), block=block, process=0))
    return builder


FASTER, SLOWER, SAME = (
    [2.0, 2.1, 1.9, 2.0, 2.05, 1.95],
    [0.5, 0.52, 0.48, 0.5, 0.51, 0.49],
    [0.8, 1.2, 1.0, 0.9, 1.1, 1.0],
)


def test_the_slowest_stand_first() -> None:
    """A reader sees them first; a bar is full if its interval leaves 1 out."""
    figure = draw(models(("a", FASTER), ("b", SAME), ("c", SLOWER)))

    assert fields(figure, "row", "sure") == [("c", True), ("b", False), ("a", True)]
    assert "hollow: the 95 % interval holds 1 (1)" in figure.spec(False)["title"]["subtitle"][-1]


def test_one_sample_has_no_interval_and_says_so() -> None:
    """A bar without whiskers is no doubtful one: an import of medians would be hollow throughout. The subtitle says why."""
    figure = draw(models(("a", [2.0])))

    assert fields(figure, "low", "high", "sure") == [(None, None, True)]
    assert "without whiskers: no interval is known (1)" in figure.spec(False)["title"]["subtitle"][-1]


@pytest.mark.parametrize(
    ("blocks", "found"),
    [
        ([("a", FASTER), ("b", FASTER)], "inductor: 2.00x geometric mean over all 2 cases"),
        ([("a", FASTER), ("b", FASTER), ("c", [])], "inductor: 2.00x geometric mean over 2 of 3 cases, 1 failed"),
        ([("a", SLOWER), ("b", SLOWER)], "inductor: 0.50x geometric mean over all 2 cases"),
        ([("a", SAME), ("b", SAME)], TITLE),
        ([("a", FASTER)], TITLE),
    ],
)
def test_the_title_is_the_geometric_mean(blocks: list[tuple[str, list[float]]], found: str) -> None:
    """It is that of `geomean_speedups`; where its interval holds 1, or there is one case, the title is that of any."""
    builder = models(*blocks)
    builder.add(*(outcome(case(name, "main", backend="inductor"), "OOM") for name, ratios in blocks if not ratios))

    assert draw(builder).provenance.title == found


def test_means_of_several_backends_are_over_the_same_cases() -> None:
    """A case that one of them lacks counts for none."""
    builder = models(("a", FASTER), ("b", FASTER), ("c", FASTER))
    for name in "ab":
        one = case(name, "main", backend="tensorrt")
        builder.add(one, outcome(one), *(timing(one, round(400_000 + k), block=k, process=0) for k in range(6)))

    assert draw(builder).provenance.title.startswith("tensorrt 5.00x, inductor 2.00x: geometric means over 2 of ")


@pytest.mark.parametrize(
    ("suites", "backends", "found"),
    [
        (("x", "y"), {"tensorrt": 5.0}, "tensorrt 5.00x, inductor 2.00x: geometric means on 2 suites"),
        (("x",), {"a": 5.0, "b": 4.0, "c": 0.5}, "a 5.00x to c 0.50x: geometric means of 4 backends"),
        (("x", "y"), {"a": 5.0, "b": 4.0, "c": 0.5}, "a 5.00x to c 0.50x: geometric means of 4 backends on 2 suites"),
    ],
)
def test_the_title_of_several_suites_or_many_backends_is_their_range(
    suites: tuple[str, ...], backends: dict[str, float], found: str
) -> None:
    """Each backend with the means of its suites; of more than three the highest and the lowest."""
    builder = Builder().add(run("main", "main"))
    for suite in suites:
        for name in "ab":
            for backend, speedup in {"eager": 1.0, "inductor": 2.0, **backends}.items():
                one = case(name, "main", suite=suite, backend=backend)
                builder.add(
                    one, outcome(one), *(timing(one, round(2e6 / speedup) + k, block=k, process=0) for k in range(6))
                )

    assert draw(builder).provenance.title == found


def test_a_failed_case_stands_at_the_axis_with_its_status() -> None:
    """It has no bar, and is not dropped; nor does a skipped one vanish from the counts."""
    builder = models(("a", FASTER))
    for name, status in (("b", "OOM"), ("c", "skipped")):
        eager, inductor = (case(name, "main", backend=backend) for backend in ("eager", "inductor"))
        builder.add(eager, inductor, outcome(eager), outcome(inductor, status), timing(eager, 5))

    figure = draw(builder)

    assert fields(figure, "row", "note") == [("a", ""), ("b", "OOM")]
    assert figure.fields["value"][1] is None
    assert figure.fields["at"][1] == 1
    assert figure.provenance.counts == [
        {"backend": "inductor", "cases": 3, "skipped": 1, "failed": 1, "no speedup": 0, "drawn": 2}
    ]
    assert "OOM" in figure.text(80, 10, False)


def test_a_case_that_ended_well_but_was_not_measured_says_so() -> None:
    """Its row would else be empty without a word, and the subtitle would call it failed."""
    builder = models(("a", FASTER))
    eager, inductor = (case("b", "main", backend=backend) for backend in ("eager", "inductor"))
    builder.add(eager, inductor, outcome(eager), outcome(inductor), timing(eager, 5))

    figure = draw(builder)

    assert fields(figure, "row", "note") == [("a", ""), ("b", "no speedup")]
    subtitle = " · ".join(figure.spec(False)["title"]["subtitle"])
    assert "1 without a speedup" in subtitle
    assert "failed" not in subtitle


def test_a_fast_but_wrong_result_says_that_it_is_wrong() -> None:
    """The accuracy that did not pass stands at the end of the bar."""
    builder = models(("a", FASTER))
    builder.add(outcome(case("a", "main", backend="inductor"), "fail_accuracy", kind="accuracy"))

    assert fields(draw(builder), "note") == [("fail_accuracy",)]


@pytest.mark.parametrize(
    ("options", "rows"),
    first_of(
        2,
        [({"bottom": 1}, ["c"]), ({"top": 1}, ["a"]), ({"top": 2}, ["a", "b"]), ({"bottom": 1, "top": 1}, ["c", "a"])],
    ),
)
def test_the_ends_are_chosen(options: dict[str, Any], rows: list[str]) -> None:
    """The subtitle says which end of how many."""
    figure = draw(models(("a", FASTER), ("b", SAME), ("c", SLOWER)), **options)

    assert rows == figure.fields["row"]
    assert f"{len(rows)} of 3 results" in figure.spec(False)["title"]["subtitle"][0]


def test_fifty_cases_are_drawn_unless_all_are_asked_for() -> None:
    """A figure one can print."""
    store = models(*((f"m{number:02}", [1.0 + number]) for number in range(60)))

    assert len(draw(store).rows) == 50
    assert len(draw(store, all_cases=True).rows) == 60


def test_configs_are_told_apart_where_there_are_several() -> None:
    """With one backend the config alone is the series, and looks as it does in every other chart."""
    figure = draw(models(("a", SAME), config="B", builder=models(("a", FASTER), config="A")))

    assert sorted(fields(figure, "row", "series"), reverse=True) == [("a", "B"), ("a", "A")]


def test_an_outlier_leaves_the_others_to_be_seen() -> None:
    """A logarithmic axis; an interval that would stretch it far beyond the bars is cut off, and that is said."""
    figure = draw(models(("a", [1e-3, 1e3] * 5), ("b", FASTER)))

    low, high = figure.fields["low"], figure.fields["high"]
    assert max(high) < 10 and min(low) > 0.1
    assert "1 interval cut off by the axis" in "".join(figure.spec(False)["title"]["subtitle"])


def test_unknown_names_are_told_apart_from_nothing() -> None:
    """A typing error names the nearest; cases that were all skipped say where to look."""
    with pytest.raises(UnknownName, match="inductor"):
        draw(models(("a", FASTER)), backends=["inducto"])
    eager, inductor = (case("c", backend=backend) for backend in ("eager", "inductor"))
    store = Builder().add(run(), eager, inductor, outcome(eager), outcome(inductor, "skipped"))
    with pytest.raises(NothingToShow, match=r"all cases were skipped.*bench list cases"):
        draw(store)


def test_cases_of_many_bars_are_fewer_unless_more_are_asked_for() -> None:
    """Fifty of them would make an image of four feet; the subtitle says how many are drawn."""
    builder = Builder()
    for number in range(8):
        models(*((f"m{place}", [2.0]) for place in range(14)), config=f"config-{number}", builder=builder)
    store = builder

    figure = draw(store)

    assert len(figure.rows) == 8 * 12
    assert "96 of 112 results, the 12 slowest cases" in " ".join(figure.spec(False)["title"]["subtitle"])
    assert len(draw(store, bottom=14).rows) == 112
