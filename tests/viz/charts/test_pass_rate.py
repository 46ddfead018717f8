"""pass-rate: which cell says what, and which cases are drawn."""

import itertools
from typing import Any

from bench.viz.charts.pass_rate import draw
from bench.viz.output.figure import Figure

from ...builders import Builder, case, outcome, run

DAY_US = 86_400_000_000


def days(*endings: dict[str, str], config: str = "main", builder: Builder | None = None) -> Builder:
    """A run a day: how each model ended; `pass` and `wrong` are ok runs with that accuracy."""
    builder = builder or Builder()
    for day, ended in enumerate(endings, start=1):
        run_id = f"{config}-{day}"
        builder.add(run(run_id, config, started_at=day * DAY_US))
        for name, ending in ended.items():
            one = case(name, run_id, backend="inductor")
            builder.add(one, outcome(one, "ok" if ending in ("pass", "wrong") else ending))
            if ending in ("pass", "wrong"):
                builder.add(outcome(one, "pass" if ending == "pass" else "fail_accuracy", kind="accuracy"))
    return builder


def cells(figure: Figure) -> list[tuple[Any, ...]]:
    return list(zip(*(figure.fields[name] for name in ("row", "column", "letter")), strict=True))


def test_a_letter_says_what_the_colour_says() -> None:
    """It gives the outcome of the case, run by run; the case that passes least comes first."""
    builder = days({"a": "pass", "b": "OOM"}, {"a": "wrong", "b": "timeout"}, {"a": "pass", "b": "fail_to_run"})

    figure = draw(builder)

    assert cells(figure) == [
        ("b", "01-02", "M"), ("b", "01-03", "T"), ("b", "01-04", "F"),
        ("a", "01-02", "P"), ("a", "01-03", "A"), ("a", "01-04", "P"),
    ]  # fmt: skip
    assert "33 % of results pass, 2 of 6" in figure.provenance.title


def test_statuses_nobody_foresaw_have_a_letter_too() -> None:
    """They look like their kin, or like nothing else."""
    figure = draw(days({"a": "eager_1st_run_OOM", "b": "eager_two_runs_differ", "c": "eager_2nd_run_fail", "d": "odd"}))

    assert {row: letter for row, _, letter in cells(figure)} == {"a": "M", "b": "A", "c": "F", "d": "X"}


def test_a_run_that_did_not_measure_a_case_leaves_the_place_empty() -> None:
    """No cell is invented; skipped cases count as not measured."""
    figure = draw(days({"a": "pass", "b": "pass"}, {"a": "pass"}, {"a": "pass", "b": "skipped"}))

    assert [cell for cell in cells(figure) if cell[0] == "b"] == [("b", "01-02", "P")]
    assert "b  P . ." in figure.text(80, 10, False)


def test_the_rate_counts_all_cases_though_few_are_drawn() -> None:
    """Drawing the worst does not make the store look worse."""
    figure = draw(days({"a": "pass", "b": "OOM", "c": "timeout"}, {"a": "pass", "b": "OOM", "c": "pass"}), bottom=1)

    assert {row for row, _, _ in cells(figure)} == {"b"}
    assert "1 of 3 cases" in figure.spec(False)["title"]["subtitle"][0]
    assert "50 % of results pass, 3 of 6" in figure.provenance.title


def test_hundred_percent_are_all() -> None:
    """One failure in hundreds is 99 %, and one that passes among hundreds is 1 %."""
    failing = dict.fromkeys((f"m{number}" for number in range(300)), "OOM")
    passing = dict.fromkeys(failing, "pass")

    for endings, share in (
        (passing | {"m0": "OOM"}, "> 99 %"),
        (failing | {"m0": "pass"}, "< 1 %"),
        (passing, "100 %"),
    ):
        assert f"{share} of results pass" in draw(days(endings)).provenance.title


def test_cases_that_always_pass_share_a_row() -> None:
    """They say one thing; a run in which nothing else ran has its column all the same."""
    builder = days({"a": "pass", "b": "OOM", "c": "pass"}, {"a": "pass", "c": "pass"})

    figure, whole = draw(builder), draw(builder, all_cases=True)

    assert cells(figure) == [("b", "01-02", "M"), *(("2 always pass", day, "P") for day in ("01-02", "01-03"))]
    assert "all 3 cases, 2 of them in one row" in " ".join(figure.spec(False)["title"]["subtitle"])
    assert {row for row, *_ in cells(whole)} == {"a", "b", "c"}


def test_only_the_last_runs_are_drawn() -> None:
    """Of each config; several configs are counted back from their newest run."""
    builder = days({"a": "pass"}, {"a": "OOM"}, {"a": "pass"}, config="A")
    figure = draw(days({"a": "pass"}, config="B", builder=builder), last=2)

    assert cells(figure) == [("a · A", "-1", "M"), ("a · A", "newest", "P"), ("a · B", "newest", "P")]


def test_cases_that_pass_alike_stand_by_name_and_backend() -> None:
    """So that the backends of a model are found in the same order in every model."""
    builder = Builder().add(run(started_at=DAY_US))
    for name, backend in itertools.product("ab", ("zeta", "alpha", "mid")):
        builder.add(one := case(name, backend=backend), outcome(one, "OOM"))

    expected = [f"{name} · {backend}" for name, backend in itertools.product("ab", ("alpha", "mid", "zeta"))]
    assert [row for row, _, _ in cells(draw(builder))] == expected
