"""history: FEATURES D8, gaps that stay gaps, and change points of single cases."""

import random
from typing import Any

import pytest
from bench.viz.charts.history import draw
from bench.viz.output.figure import Figure
from bench.warehouse.errors import UnknownName

from ...builders import Builder, case, metric, outcome, run, timing
from ...exhaustive import exhaustive

DAY_US = 86_400_000_000


def nights(*speedups: dict[str, float | None], suites: tuple[str, ...] = ("s",), config: str = "main") -> Builder:
    """A run a day: by backend the speedup of its one model; None is a failure, a backend left out was not run."""
    builder = Builder()
    for day, measured in enumerate(speedups, start=1):
        run_id = f"{config}-{day:02}"
        builder.add(run(run_id, config, started_at=day * DAY_US, git_commit=f"{day:07x}"))
        for suite in suites:
            eager = case("m", run_id, suite=suite, backend="eager")
            builder.add(eager, outcome(eager), timing(eager, 1_000_000))
            for backend, speedup in measured.items():
                one = case("m", run_id, suite=suite, backend=backend)
                builder.add(one, outcome(one, "ok" if speedup else "OOM"))
                if speedup:
                    builder.add(
                        timing(one, round(1_000_000 / speedup)),
                        metric(one, "compile_latency", 30e9, unit="ns", better="lower"),
                    )
    return builder


def line(figure: Figure, panel: int, series: str, *names: str) -> list[tuple[Any, ...]]:
    """The points of one line."""
    rows = zip(*(figure.fields[name] for name in ("panel", "series", *names)), strict=True)
    return [row[2:] for row in rows if row[:2] == (panel, series)]


def titles(figure: Figure) -> list[str]:
    return [view["layer"][0]["encoding"]["y"]["title"] for view in figure.spec(False)["concat"]]


def test_there_is_a_panel_for_each_metric_and_suite_with_data() -> None:
    """Geometric mean, pass rate and compile time; nobody measured memory."""
    every = ["geomean", "pass-rate", "compile-time", "memory"]
    figure = draw(nights({"inductor": 1.5}, {"inductor": 1.6}, suites=("a", "b")), metrics=every)

    assert titles(figure) == ["geomean [x]", "geomean [x]", "passing [%]", "passing [%]", "compile [s]", "compile [s]"]
    assert [view["layer"][-1]["mark"]["text"] for view in figure.spec(False)["concat"]] == ["a", "b"] * 3
    assert line(figure, 0, "inductor", "x", "y") == [("01-02", pytest.approx(1.5)), ("01-03", pytest.approx(1.6))]
    assert (
        titles(draw(nights({"inductor": 1.5}, {"inductor": 1.6}, suites=("a", "b")), metrics=["pass-rate"]))
        == ["passing [%]"] * 2
    )


def test_what_never_changed_is_told_and_not_drawn() -> None:
    """Unless nothing ever did: a blank chart says less than flat lines."""
    figure = draw(nights({"inductor": 1.5}, {"inductor": 1.6}, suites=("a", "b")))
    still = draw(nights({"inductor": 1.5}, {"inductor": 1.5}))

    assert titles(figure) == ["geomean [x]"] * 2
    assert "unchanged: a passing, b passing, a compile, b compile" in " ".join(figure.spec(False)["title"]["subtitle"])
    assert titles(still) == ["geomean [x]", "passing [%]", "compile [s]"]


def test_a_run_without_the_backend_is_a_gap() -> None:
    """Points stand only where data is; a dotted line bridges the rest, and its length is told."""
    figure = draw(nights({"a": 1.5, "b": 1.1}, {"a": 1.5}, {"a": 1.5, "b": 1.2}), metrics=["geomean"])

    assert line(figure, 0, "b", "x", "stretch") == [("01-02", 0), ("01-04", 1)]
    assert line(figure, 0, "a", "stretch") == [(0,), (0,), (0,)]
    assert "dotted: 1 gap" in "".join(figure.spec(False)["title"]["subtitle"])
    assert "  b  ▁·█" in figure.text(80, 10, False)


def test_a_failure_is_a_pass_rate_and_no_speedup() -> None:
    """0 % passing, and a gap in the geometric mean."""
    figure = draw(nights({"a": 1.5}, {"a": None}), metrics=["geomean", "pass-rate"])

    assert line(figure, 0, "a", "x") == [("01-02",)]
    assert line(figure, 1, "a", "y") == [(100.0,), (0.0,)]


def test_the_legend_stands_in_the_order_asked_for_or_of_the_names() -> None:
    """Whichever panel has a line first: eager has no speedup."""
    store = nights({"b10": 1.5, "b9": 1.2}, {"b10": 1.6, "b9": None})

    assert [name for name, _ in draw(store).names] == ["b9", "b10", "eager"]
    asked = ["eager", "b10", "b9"]
    assert [name for name, _ in draw(store, backends=asked).names] == asked


def test_only_the_last_runs_are_drawn() -> None:
    """Ten unless told otherwise."""
    night: dict[str, float | None] = {"a": 1.5}
    store = nights(*[night] * 12)

    assert len(line(draw(store), 0, "a", "x")) == 10
    assert len(line(draw(store, last=3), 0, "a", "x")) == 3


def test_slowdowns_count_as_one_if_wanted() -> None:
    """As the dashboard has it; else as they are."""
    store = nights({"a": 0.5}, {"a": 2.0})

    assert line(draw(store), 0, "a", "y") == [(pytest.approx(0.5),), (pytest.approx(2.0),)]
    assert line(draw(store, slowdowns_as_one=True), 0, "a", "y") == [(1.0,), (pytest.approx(2.0),)]


def test_a_metric_nobody_knows_is_named_with_the_nearest() -> None:
    """Metrics of cases are another question."""
    with pytest.raises(UnknownName, match="geomean"):
        draw(nights({"a": 1.5}), metrics=["geomeen"])


def values(*numbers: float | None) -> Builder:
    """A series of one case: a run a day with ten samples about that many ms; None is a run of another case only."""
    builder = Builder()
    for day, number in enumerate(numbers, start=1):
        run_id = f"main-{day:02}"
        one = case("other" if number is None else "m", run_id, backend="inductor")
        builder.add(run(run_id, "main", started_at=day * DAY_US), one, outcome(one))
        builder.add(*(timing(one, round((number or 1) * 1e6) + i * 1000) for i in range(10)))
    return builder


def test_a_case_is_drawn_run_by_run_with_its_interval() -> None:
    """The median of the samples of each run, and its doubt."""
    figure = draw(values(10.0, 11.0), models=["m"])

    assert line(figure, 0, "inductor", "x", "y", "low", "high") == [
        ("01-02", 10.0045, 10.001, 10.008), ("01-03", 11.0045, 11.001, 11.008),
    ]  # fmt: skip
    assert "too few runs to find changes: 9 are needed" in figure.spec(False)["title"]["subtitle"][-1]


def test_a_step_is_marked_with_the_levels_beside_it() -> None:
    """A rule where it happened, a level before and after, and its size in the subtitle."""
    noise = (0.0, 0.05, -0.05, 0.02, -0.02, 0.04, -0.04, 0.01)
    figure = draw(values(*(10 + n for n in noise), *(13 + n for n in noise)), models=["m"])

    levels = [layer for layer in figure.spec(False)["layer"] if "data" in layer]
    assert [(row["from"], row["to"], round(row["y"])) for row in levels[0]["data"]["values"]] == [
        ("01-02", "01-09", 10), ("01-10", "01-17", 13),
    ]  # fmt: skip
    assert [row["from"] for row in levels[1]["data"]["values"]] == ["01-10"]
    assert "1 change found" in " · ".join(figure.spec(False)["title"]["subtitle"])
    assert " · inductor · latency · 16 runs" in figure.spec(False)["title"]["subtitle"][0]
    assert " · +30.0 % at 01-10" in " · ".join(figure.spec(False)["title"]["subtitle"])


@pytest.mark.parametrize(
    ("numbers", "found"),
    [
        ([10.0] * 8 + [13.0] * 8, "latency of m: +30 % since 1970-01-10"),
        ([10.0] * 8 + [15.0] * 8 + [12.0] * 8, "latency of m: +50 % at 1970-01-10, the largest of 2 changes"),
        ([10.0] * 14 + [13.0] * 2, "latency of m: +30 % since 1970-01-16, one that may end again"),
        ([10.0] * 8 + [13.0] * 2 + [10.0] * 6, "History of m"),
        ([10.0] * 16, "History of m"),
    ],
)
def test_the_title_is_the_largest_step(numbers: list[float], found: str) -> None:
    """It has lasted since where nothing followed; what only the newest runs show may end; a steady case has the title of any."""
    assert draw(values(*numbers), models=["m"]).provenance.title == found


def test_what_only_the_newest_runs_show_is_told() -> None:
    """Two runs are too few for a lasting change, and no excursion that is over."""
    subtitle = " · ".join(draw(values(*[10.0] * 14, 13.0, 13.0), models=["m"]).spec(False)["title"]["subtitle"])

    assert "1 change that may end again · +30.0 % since 01-16" in subtitle
    assert "no change" not in subtitle and "excursion" not in subtitle


@exhaustive
def test_a_drift_is_a_line_and_a_step_on_its_way_divides_it() -> None:
    """The line begins and ends at the heights that were found, and only a step has a rule."""
    chance = random.Random(1)
    creep = [10 + day / 20 + chance.gauss(0, 0.03) for day in range(40)]
    drifting, stepping = (
        [layer["data"]["values"] for layer in figure.spec(False)["layer"] if "data" in layer]
        for figure in (
            draw(values(*series), models=["m"], last=40)
            for series in (creep, [value + (day >= 20) * 2 for day, value in enumerate(creep)])
        )
    )

    first, *rest = drifting[0]
    assert (first["from"], round(first["y"]), round(first["y_end"])) == ("01-02", 10, 12)
    assert all(row["y"] == row["y_end"] for row in rest)
    assert len(drifting) == 1
    assert [(row["from"], row["to"]) for row in stepping[0][:2]] == [("01-02", "01-21"), ("01-22", "02-10")]
    heights = [height for row in stepping[0][:2] for height in (row["y"], row["y_end"])]
    assert heights == pytest.approx([10, 11, 13, 14], abs=0.1)
    assert [row["from"] for row in stepping[1]] == ["01-22"]


def test_a_steady_case_has_no_marks() -> None:
    """And the subtitle says that changes were looked for."""
    figure = draw(values(*[10.0, 10.1, 9.9, 10.05, 9.95] * 3), models=["m"])

    assert not [layer for layer in figure.spec(False)["layer"] if "data" in layer]
    assert "no change found" in " ".join(figure.spec(False)["title"]["subtitle"])


def test_a_run_of_the_config_without_the_case_is_a_gap() -> None:
    """Its place stays empty, and the line is dotted over it."""
    figure = draw(values(10.0, None, 10.0), models=["m"])

    assert line(figure, 0, "inductor", "x", "stretch") == [("01-02", 0), ("01-04", 1)]


def test_a_case_without_latency_is_drawn_with_what_it_has() -> None:
    """Every metric has a panel, unless some are chosen; one it lacks is named with the nearest."""
    one = case("m", "main-01")
    builder = Builder().add(
        run("main-01"), one, metric(one, "graph_breaks", 1.0), metric(one, "score", 2.0, unit="ratio")
    )

    assert len(draw(builder, models=["m"]).spec(False)["concat"]) == 2
    with pytest.raises(UnknownName, match=r"no metric 'scores' in these cases.*'score'"):
        draw(builder, models=["m"], metrics=["scores"])


def test_a_case_that_only_failed_says_where_to_look() -> None:
    """Neither a blank chart nor a wrong one."""
    one = case("n", "main-01")
    builder = values(10.0).add(one, outcome(one, "OOM"))

    with pytest.raises(UnknownName, match="'m'"):
        draw(builder, models=["n"])


def test_panels_of_one_model_are_called_by_what_they_measure() -> None:
    """The title of the chart has the model, and long names of metrics have the room."""
    builder = values(10.0, 11.0)
    for day in (1, 2):
        one = case("m", f"main-{day:02}", backend="inductor")
        builder.add(metric(one, "compile_phase:one", 1e9, unit="ns", better="lower"))

    figure = draw(builder, models=["m"], metrics=["latency", "compile_phase:one"])

    titles = [view["layer"][-1]["mark"]["text"] for view in figure.spec(False)["concat"]]
    assert titles == ["compile_phase:one", "latency"]
