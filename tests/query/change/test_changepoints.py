"""Change points: what is documented is found, nothing is found where nothing is, and the answer does not hang on units."""

import csv
import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench.query import shared_work
from bench.query.change import changepoints, levels
from bench.query.change.changepoints import LEAST_RUNS, SIGNIFICANCE, change_points, examine
from bench.query.change.levels import ChangePoint
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ...exhaustive import at_most, exhaustive, first_of, in_parts, sampled

Noise = Callable[[np.random.Generator, int], NDArray[np.float64]]
Values = Sequence[float | None] | NDArray[np.float64]


def found(values: Values, **rules: Any) -> list[ChangePoint]:
    """Changes of all kinds."""
    return change_points(list(values), **rules)


def changes(values: Values, **rules: Any) -> list[ChangePoint]:
    """Steps and drifts."""
    return [change for change in found(values, **rules) if change.kind in ("step", "drift")]


def spans(values: Values, kind: str) -> list[tuple[int, int]]:
    """First and last value of each change of one kind."""
    return [(change.index, change.end) for change in found(values) if change.kind == kind]


def boundaries(values: Values) -> list[int]:
    """Where a level ends and another begins, at either end of an excursion too."""
    return [
        place
        for change in found(values)
        for place in ((change.index, change.end + 1) if change.kind == "excursion" else (change.index,))
    ]


def column(file: Path, name: str) -> list[float]:
    """A column of a CSV file with comments."""
    lines = (line for line in file.read_text().splitlines() if not line.startswith("#"))
    return [float(row[name]) for row in csv.DictReader(lines)]


def tcpd(folder: Path, name: str) -> list[float]:
    """A series of the Turing Change Point Dataset."""
    return [float(value) for value in json.loads((folder / "tcpd" / f"{name}.json").read_text())["series"][0]["raw"]]


# What is documented


@pytest.mark.parametrize(
    ("file", "name", "expected"),
    [
        ("change_points/otava_series1.csv", "value", [6]),
        ("change_points/otava_series2.csv", "value", [4]),
        ("change_points/mongodb_simple_regression_with_spike.csv", "value", [15]),
        ("otava_csv/sample.csv", "metric1", []),
        ("otava_csv/sample.csv", "metric2", [6]),
        ("conbench_outliers/outlier_A.csv", "svs", []),
    ],
)
def test_documented_steps_are_found(shared_data: Path, file: str, name: str, expected: list[int]) -> None:
    """Exactly where they are, and no others."""
    assert [change.index for change in changes(column(shared_data / file, name))] == expected
    assert spans(column(shared_data / file, name), "drift") == []


def test_a_change_below_the_least_magnitude_is_passed_over(shared_data: Path) -> None:
    """As Otava documents it for these two."""
    first, second = (column(shared_data / f"change_points/otava_series{i}.csv", "value") for i in (1, 2))

    assert [change.index for change in changes(first, min_magnitude=0.2)] == [6]
    assert changes(second, min_magnitude=0.2) == []


def test_a_magnitude_is_relative_to_the_level_before(shared_data: Path) -> None:
    """Otava documents -12.9 % for this one."""
    (change,) = changes(column(shared_data / "otava_csv" / "sample.csv", "metric2"))

    assert change.magnitude == pytest.approx(-0.129, abs=0.0005)
    assert change.before == pytest.approx(np.mean([10.43, 10.23, 10.29, 10.91, 10.34, 10.69]))


def test_outliers_are_spikes(shared_data: Path) -> None:
    """The two that Conbench names, and the lone one that MongoDB's test wants passed over."""
    outliers = column(shared_data / "conbench_outliers" / "outlier_A.csv", "svs")
    spikes = [change for change in change_points(outliers) if change.kind == "excursion"]

    assert [change.after for change in spikes] == [269.2997, 2995.5260]
    assert [outliers[change.index] for change in spikes] == [269.2997, 2995.5260]
    regression = column(shared_data / "change_points" / "mongodb_simple_regression_with_spike.csv", "value")
    assert spans(regression, "excursion") == [(2, 2)]


def test_steps_and_declines_of_a_real_series_are_told_apart(shared_data: Path) -> None:
    """MongoDB's E-divisive counts 9 change points in it: 5 steps, and both ends of 2 declines that take ten runs each."""
    series = json.loads((shared_data / "mongodb_spa" / "profiling__small.json").read_text())

    assert spans(series["series"], "step") == [(25, 25), (114, 114), (173, 173), (198, 198), (287, 287)]
    assert np.array(spans(series["series"], "drift")) == pytest.approx(np.array([(62, 71), (235, 244)]), abs=3)
    assert series["expected"] == 5 + 2 * 2


def test_a_real_series_of_two_outliers_has_no_change(shared_data: Path) -> None:
    """MongoDB's other series: no truth is given; nothing lasts in it but its level."""
    series = json.loads((shared_data / "mongodb_spa" / "real_series.json").read_text())

    assert changes(series) == []
    assert spans(series, "excursion") == [(4, 4), (90, 90)]


def test_what_most_annotators_mark_is_found(shared_data: Path) -> None:
    """The Nile at 28, and nothing else; quality_control_1 at 143 to 146, the surest of three steps."""
    assert [change.index for change in changes(tcpd(shared_data, "nile"))] == [28]

    surest = min(changes(tcpd(shared_data, "quality_control_1")), key=lambda change: change.p or 0)
    assert 143 <= surest.index <= 146


# What is not there


def machines(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Runs with a noise of 1.5 %, of which 3 % met a bad machine: 10 to 50 % slower."""
    bad = np.where(rng.random(n) < 0.03, 1 + rng.uniform(0.1, 0.5, n), 1)
    return np.asarray(100 * np.exp(0.015 * rng.standard_normal(n)) * bad)


def wandering(rng: np.random.Generator, n: int, rho: float = 0.2) -> NDArray[np.float64]:
    """Each value a little like the one before."""
    values = rng.standard_normal(n)
    for i in range(1, n):
        values[i] += rho * values[i - 1]
    return values


@pytest.mark.parametrize(
    "noise",
    first_of(
        2,
        [
            lambda rng, n: rng.standard_normal(n),
            lambda rng, n: rng.standard_t(3, n),
            lambda rng, n: rng.standard_cauchy(n),
            lambda rng, n: rng.lognormal(0, 1, n),
            lambda rng, n: rng.integers(0, 3, n).astype(float),
            lambda rng, n: (rng.random(n) < 0.1).astype(float),
            machines,
            wandering,
        ],
    ),
    ids=["normal", "t3", "cauchy", "lognormal", "three values", "two values", "bad machines", "autocorrelation 0.2"],
)
def test_noise_seldom_shows_a_change(noise: Noise) -> None:
    """At most 5 % of series of 100 values do, whatever their noise."""
    rng = np.random.default_rng(2026)
    alarms = sum(bool(changes(noise(rng, 100))) for _ in range(200))

    assert alarms <= 10


def test_p_is_no_smaller_than_chance_makes_it() -> None:
    """Of 400 series of noise no more than that share falls below any p, but for the luck of the draw."""
    rng = np.random.default_rng(1)
    least = [min((change.p or 0 for change in changes(rng.standard_t(4, 30))), default=1.0) for _ in range(400)]

    for p, most in ((0.02, 14), (0.005, 6), (0.001, 3)):
        assert sum(value <= p for value in least) <= most


@pytest.mark.parametrize(
    "values",
    [[], [1.0], [1.0, 2.0, 3.0], [None] * 20, [7.0] * 50, [0.1 + 0.2, 0.3] * 20, [0.0] * 30, [math.nan, math.inf] * 20],
)
def test_there_is_nothing_to_find(values: list[float | None]) -> None:
    """In what is too short, constant, constant but for the last bit, or no number at all."""
    assert change_points(values) == []


def test_nine_values_are_judged() -> None:
    """And no fewer: three levels of three."""
    assert LEAST_RUNS == 9
    assert changes([1.0, 1.1, 1.2, 1.05, 3.0, 3.1, 3.2, 3.05]) == []
    assert [change.index for change in changes([1.0, 1.1, 1.2, 1.05, 3.0, 3.1, 3.2, 3.05, 3.15])] == [4]


def autoregressive(rng: np.random.Generator, n: int, rho: float) -> NDArray[np.float64]:
    """An AR(1) process of variance 1 that has forgotten how it began."""
    return wandering(rng, n + 100, rho)[100:] * math.sqrt(1 - rho**2)


@exhaustive
@pytest.mark.parametrize(("rho", "most"), first_of(1, [(0.0, 0.5), (0.5, 1.5), (0.8, 4.0)]))
def test_autocorrelation_is_no_change(rho: float, most: float) -> None:
    """Changes of any kind in 1,000 values, in series of 100."""
    rng = np.random.default_rng(12)
    alarms = sum(len(found(100 + autoregressive(rng, 100, rho))) for _ in range(200))

    assert alarms / 20 <= most


# What is there


@pytest.mark.parametrize("sigmas", sampled([5, 10], 5))
@pytest.mark.parametrize("runs", sampled([1, 2, 3, 4, 8], 1, 4))
def test_a_hole_is_an_excursion(runs: int, sigmas: int) -> None:
    """With its first and its last value, between twenty of the level on either side: at 10 sigma nearly always."""
    rng = np.random.default_rng([runs, sigmas])
    hole = np.repeat([0.0, 1.0, 0.0], [20, runs, 20])
    series = [1.5 + 0.1 * (rng.standard_normal(40 + runs) - sigmas * hole) for _ in range(100)]
    exact = sum((20, 19 + runs) in spans(values, "excursion") for values in series)

    assert exact >= {5: 80, 10: 98}[sigmas]


def test_an_excursion_tells_its_depth() -> None:
    """The level before, its own, and what the difference is of the first."""
    values = np.concatenate([np.tile([1.49, 1.5, 1.51, 1.5], 5), [0.06, 0.061, 0.059], np.tile([1.5, 1.51, 1.49], 7)])
    (change,) = found(values)

    assert (change.kind, change.index, change.end) == ("excursion", 20, 22)
    assert (change.before, change.after) == pytest.approx((1.5, 0.06), abs=0.002)
    assert change.magnitude == pytest.approx(-0.96, abs=0.001)


def test_an_excursion_at_the_end_may_become_a_step() -> None:
    """Two values are an excursion so far, three a level; a level of more than ten values is no excursion."""
    values = np.random.default_rng(3).normal(10, 0.1, 24).round(2).tolist()

    assert [(one.kind, one.index, one.end) for one in found([*values, 15.0, 15.1])] == [("excursion", 24, 25)]
    assert [(one.kind, one.index) for one in found([*values, 15.0, 15.1, 15.0])] == [("step", 24)]
    assert [(one.kind, one.index) for one in found([*values, *[15.0, 15.1] * 6, *values])] == [
        ("step", 24),
        ("step", 36),
    ]


def test_noise_may_grow_with_the_level() -> None:
    """Noise of 2 % is three times as much at three times the level, and no change there."""
    rng = np.random.default_rng(10)
    series = [np.repeat([1.0, 3.0], 50) * np.exp(0.02 * rng.standard_normal(100)) for _ in range(50)]
    answers = [found(values) for values in series]

    assert sum([(change.kind, change.index) for change in answer] == [("step", 50)] for answer in answers) >= 48
    assert answers[0][0].after == pytest.approx(series[0][50:].mean(), rel=0.005)


def test_the_date_of_a_step_is_the_first_value_after_it() -> None:
    """Of steps of five sigma; values that lean towards the new level, or far beyond it, do not move it."""
    rng = np.random.default_rng(8)
    series = [rng.standard_normal(60) + 5 * (np.arange(60) >= 40) for _ in range(100)]

    assert sum([change.index for change in changes(values)] == [40] for values in series) >= 95
    leaning = [84.1, 85.9, 83.2, 84.7, 85.1, 83.9, 84.4, 83.6, 90.1, 89.2, 173.3, 172.1, 174.0, 173.7, 172.8]
    assert [change.index for change in changes(leaning)] == [10]


def test_levels_that_last_are_steps_and_those_that_do_not_are_two_levels() -> None:
    """Six sigma apart: nine stretches of 18 to 60 values are eight steps; a mode that seldom lasts ten values is none."""
    rng = np.random.default_rng(9)
    sizes = rng.integers(18, 61, 9)
    lasting = changes(np.repeat(6.0 * (np.arange(9) % 2), sizes) + rng.standard_normal(sizes.sum()))
    assert [change.index for change in lasting] == pytest.approx(np.cumsum(sizes)[:-1].tolist(), abs=2)

    turns = rng.random(100) < 0.1
    (sticky,) = found(100 + 6.0 * (np.cumsum(turns) % 2) + rng.standard_normal(100))
    assert sticky.kind == "two levels"
    assert sticky.count == pytest.approx(turns[1:].sum(), abs=2)
    assert (sticky.before, sticky.after) == pytest.approx((100, 106), abs=0.6)


def test_a_ramp_is_one_drift_with_its_range() -> None:
    """Not as many steps as it is divided into; a staircase stays steps."""
    noise = np.random.default_rng(4).standard_normal(200)
    ramp = noise + 30 * np.clip((np.arange(200) - 50) / 100, 0, 1)
    (drift,) = changes(ramp)

    assert drift.kind == "drift"
    assert (drift.index, drift.end) == pytest.approx((51, 150), abs=4)
    assert (drift.before, drift.after) == pytest.approx((0, 30), abs=0.7)
    assert [change.kind for change in changes(noise + 6.0 * (np.arange(200) // 50))] == ["step"] * 3


def test_a_drift_over_the_whole_series_is_found() -> None:
    """Though it has no level at either end."""
    (drift,) = changes(np.random.default_rng(5).standard_normal(60) + np.linspace(0, 8, 60))

    assert (drift.kind, drift.end - drift.index > 40) == ("drift", True)


def test_a_drift_into_a_step_leaves_each_its_part() -> None:
    """They do not overlap, and the step begins at the level where the drift ended."""
    values = np.random.default_rng(6).standard_normal(150)
    values += 20 * np.clip((np.arange(150) - 30) / 50, 0, 1)
    values[110:] -= 12
    drift, step = changes(values)

    assert (drift.kind, step.kind, step.index) == ("drift", "step", 110)
    assert drift.end < step.index
    assert step.before == drift.after


def test_gaps_are_passed_over() -> None:
    """Indices are those of the values given."""
    values: list[float | None] = [
        1.0, None, 1.02, 0.99, math.nan, 1.01, 1.0, None, 2.0, 2.02, None, 1.99, 2.01, 2.0, math.inf,
    ]  # fmt: skip

    assert [(change.index, change.end) for change in changes(values)] == [(8, 8)]


def test_small_changes_beside_each_other_are_weighed_together() -> None:
    """Two steps of 3 % are one of 6 %: the smaller goes first."""
    values = 100 + np.random.default_rng(7).normal(0, 0.2, 90)
    values[30:] += 3
    values[60:] += 3.2

    assert len(changes(values)) == 2
    (change,) = changes(values, min_magnitude=0.04)
    assert change.index == 60
    assert change.magnitude == pytest.approx(0.046, abs=0.003)
    assert changes(values, min_magnitude=0.1) == []


def test_a_magnitude_needs_a_level_to_be_relative_to() -> None:
    """From 0 there is none; below 0 it is relative to the size."""
    assert ChangePoint("step", 1, 1, 0.0, 2.0, 0.01).magnitude is None
    assert ChangePoint("step", 1, 1, -10.0, -5.0, 0.01).magnitude == 0.5


@pytest.mark.parametrize("rules", [{"significance": 0.0}, {"significance": 1.0}, {"min_magnitude": -0.1}])
def test_rules_without_sense_are_refused(rules: dict[str, float]) -> None:
    """Rather than answered."""
    with pytest.raises(ValueError, match="want"):
        changes([1.0] * 20, **rules)


# What must not matter


@st.composite
def plateaus(draw: st.DrawFn) -> tuple[NDArray[np.float64], list[int]]:
    """Levels at least six sigma apart, each of eight values or more; and where they begin."""
    rises = draw(st.lists(st.floats(6, 40), min_size=1, max_size=3))
    signs = draw(st.lists(st.sampled_from([-1, 1]), min_size=len(rises), max_size=len(rises)))
    sizes = draw(st.lists(st.integers(8, 25), min_size=len(rises) + 1, max_size=len(rises) + 1))
    levels = np.concatenate([[0], np.cumsum(np.multiply(rises, signs))])
    noise = np.random.default_rng(draw(st.integers(0, 1000))).uniform(-1.7, 1.7, sum(sizes))
    return np.repeat(levels, sizes) + noise, list(np.cumsum(sizes)[:-1])


def beside(places: list[int], others: list[int]) -> bool:
    """Whether each place has another within a value of it."""
    return all(any(abs(other - place) <= 1 for other in others) for place in places)


@given(plateaus())
@settings(max_examples=at_most(40))
def test_planted_steps_are_found(planted: tuple[NDArray[np.float64], list[int]]) -> None:
    """All of them, within a value."""
    values, starts = planted

    assert beside(starts, boundaries(values))


@given(st.integers(6, 40), st.integers(6, 40), st.integers(0, 1000), st.sampled_from([5.0, -5.0, 8.0]))
@settings(max_examples=at_most(60))
def test_a_step_of_five_sigma_with_six_values_on_either_side_is_found(n: int, m: int, seed: int, height: float) -> None:
    """Within a value."""
    values = np.random.default_rng(seed).standard_normal(n + m)
    values[n:] += height

    assert beside([n], [change.index for change in changes(values)])


@given(plateaus(), st.integers(-900, 900), st.sampled_from([1.0, -1.0]))
@settings(max_examples=at_most(30))
def test_units_do_not_matter(planted: tuple[NDArray[np.float64], list[int]], power: int, sign: float) -> None:
    """Scaled by powers of two from 1e-270 to 1e270, and turned over, everything is the same, p to the last bit."""
    values, _ = planted
    scaled = [replaced(change, sign * 2.0**power) for change in found(values)]

    assert found(sign * values * 2.0**power) == scaled


def replaced(change: ChangePoint, factor: float) -> ChangePoint:
    before, after = change.before * factor, change.after * factor
    return ChangePoint(change.kind, change.index, change.end, before, after, change.p)


@given(plateaus(), st.floats(-1e6, 1e6), st.floats(0.01, 100))
@settings(max_examples=at_most(30))
def test_where_zero_lies_does_not_matter(
    planted: tuple[NDArray[np.float64], list[int]], shift: float, factor: float
) -> None:
    """Shifted and stretched values have shifted and stretched levels at the same places."""
    values, _ = planted
    plain, shifted = changes(values), changes(values * factor + shift)

    assert [(change.kind, change.index) for change in shifted] == [(change.kind, change.index) for change in plain]
    levels = [change.before * factor + shift for change in plain]
    assert [change.before for change in shifted] == pytest.approx(levels, abs=1e-6 * factor)


@given(plateaus())
@settings(max_examples=at_most(30))
def test_the_direction_of_time_does_not_matter(planted: tuple[NDArray[np.float64], list[int]]) -> None:
    """Backwards, the levels part at the same places, within a value."""
    values, starts = planted

    assert beside(starts, [len(values) - place for place in boundaries(values[::-1])])


@given(
    st.lists(st.one_of(st.none(), st.floats(allow_nan=True), st.integers(-3, 3)), max_size=80),
    st.sampled_from([0.0, 0.01, 0.3]),
)
@settings(max_examples=at_most(60))
def test_whatever_is_given_the_answer_is_in_order(values: list[float | None], least: float) -> None:
    """Deterministic, places within the series, nothing that overlaps but on the way of a drift, p and magnitude as wanted."""
    answer = change_points(values, min_magnitude=least)

    assert answer == change_points(values, min_magnitude=least)
    lasting = [
        change
        for change in answer
        if change.kind in ("step", "drift") and not any(holds(other, change) for other in answer)
    ]
    places = [place for change in lasting for place in (change.index, change.end)]
    assert places == sorted(places)
    for change in answer:
        assert 0 <= change.index <= change.end < len(values) and 0 < change.p <= SIGNIFICANCE
        assert math.isfinite(change.before) and math.isfinite(change.after)
        assert change.magnitude is None or abs(change.magnitude) >= least


def holds(drift: ChangePoint, change: ChangePoint) -> bool:
    """Whether a change lies on the way of a drift."""
    return drift.kind == "drift" and drift != change and drift.index <= change.index <= change.end <= drift.end


def worlds(seed: int, n: int) -> NDArray[np.float64]:
    """Series that wander, swing, alternate, or leap over all magnitudes."""
    rng = np.random.default_rng(seed)
    noise, place = rng.standard_normal(n), np.arange(n)
    kinds: list[Callable[[], NDArray[np.float64]]] = [
        lambda: np.exp(np.cumsum(0.01 * noise)),
        lambda: noise + rng.uniform(0, 20) * np.sin(place / rng.uniform(2, 60)) + place * rng.uniform(-0.2, 0.2),
        lambda: np.repeat(rng.uniform(0, 30, n), rng.integers(1, 60, n))[:n] + noise * rng.choice([0, 1e-9, 1]),
        lambda: np.repeat(6.0 * (place % 2), rng.integers(20, 61, n))[:n] + noise,
        lambda: rng.standard_cauchy(n),
        lambda: rng.integers(0, rng.integers(2, 9), n).astype(float),
        lambda: 10.0 ** rng.uniform(-300, 300, n) * rng.choice([-1, 1], n),
        lambda: np.cumsum(np.cumsum(noise)),
    ]
    return kinds[seed % len(kinds)]()


@pytest.mark.parametrize("seeds", in_parts(range(3000), 60))
def test_every_search_ends(seeds: Sequence[int]) -> None:
    """For any least magnitude, in a number of rounds that the length of the series bounds: each one drops a change."""
    drops = 0

    def counting(found: Any, change: ChangePoint) -> None:
        nonlocal drops
        drops += 1
        assert drops < len(found.x)
        drop(found, change)

    drop = levels.Levels.drop
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels.Levels, "drop", counting)
        for seed in seeds:
            values = worlds(seed, 20 + seed % 230).tolist()
            for least in (0.05, (0.0, 0.01, 0.3, 10.0)[seed // 8 % 4]):
                drops = 0
                change_points(values, min_magnitude=least)


def test_exact_levels_are_steps_and_no_drift() -> None:
    """A ratio that repeats to the last digit but for a few runs: three steps, and no slope with a step after every few runs."""
    values = [1.0617] * 16 + [1.0509] * 13 + [1.04] * 13 + [0.9881] * 8
    values[11] = values[15] = 1.0619

    assert [(change.kind, change.index) for change in change_points(values) if change.kind != "excursion"] == [
        ("step", 16), ("step", 29), ("step", 42)
    ]  # fmt: skip


@pytest.mark.exhaustive
def test_processes_that_share_a_search_find_what_one_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    series = [rng.normal(100, 1, 20 + n) + 9 * (np.arange(20 + n) > 12) * (n % 3) for n in range(40)]
    alone = examine(series)
    monkeypatch.setattr(shared_work, "_processors", lambda: 3)
    monkeypatch.setattr(changepoints, "VALUES_OF_A_PROCESS", 200)
    done: list[int] = []
    shared = examine(series, progress=done.append)
    assert [one.changes() for one in shared] == [one.changes() for one in alone]
    assert [one.changes(1e-6, 0.1) for one in shared] == [one.changes(1e-6, 0.1) for one in alone]
    assert sum(len(one.changes()) for one in alone) > 20
    assert done == list(range(1, 41))


def test_what_a_night_adds_is_searched_without_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 1,500 series of 1,000 values some 56 have a new mark: to search them takes less time than a process takes to start."""
    shares: list[int] = []

    def note(work: Any, items: Any, asked: int) -> Iterator[Any]:
        shares.append(asked)
        return iter(())

    monkeypatch.setattr(changepoints, "share_out", note)
    examine([*np.random.default_rng(1).normal(100, 1, (56, 1000))])

    assert max(shares) < 2
