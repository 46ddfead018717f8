"""suite_shifts: suites that moved as a whole."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from bench.query.regression.regressions import Limits, RegressionRule, judge
from bench.warehouse.events import Event
from scipy import stats

from ..benchmarks.simulations.alarms import judge_suites
from ..builders import Builder, case, metric, outcome, run
from ..exhaustive import exhaustive, first_of

DAY = 86_400_000_000
AXES: dict[str, Any] = {"suite": "s", "mode": "inference", "device": "cpu", "dtype": "float32", "backend": "inductor"}
MODELS = [f"m{index}" for index in range(8)]


def night(
    day: int, speedups: Sequence[float], *, seconds: float = 10.0, failing: int = 0, host: str = "h1"
) -> list[Event]:
    """A report of some models, of which the first few fail."""
    run_id = f"night-{day:02}"
    events: list[Event] = [run(run_id, config="main", started_at=day * DAY, git_commit=f"c{day:02}", host=host)]
    for place, (name, speedup) in enumerate(zip(MODELS, speedups, strict=False)):
        it = case(name, run=run_id, source_id="file", **AXES)
        events += [
            it,
            outcome(it, "crash" if place < failing else "ok"),
            metric(it, "speedup", speedup, unit="ratio", better="higher"),
        ]
        events.append(metric(it, "compile_latency", seconds * 1e9, phase="compile", unit="ns"))
    return events


def moved(warehouse: Builder, judged: str, columns: str = "metric, verdict, since_run_id") -> list[tuple[Any, ...]]:
    """What is not the same in the judged run."""
    query = f"SELECT {columns} FROM suite_shifts([?]) WHERE verdict NOT IN ('SAME', 'UNSURE') ORDER BY metric"
    return warehouse.rows(query, [judged])


def test_a_suite_that_moved_is_one_row_with_the_run_it_began_with(warehouse: Builder) -> None:
    """Three nights ago all speedups fell by a tenth; those nights are the minority of what came before."""
    for day in range(10):
        warehouse.add(*night(day, [1.5 * (0.9 if day >= 7 else 1)] * 8))

    assert moved(
        warehouse, "night-09", "metric, verdict, n, round(change, 9), since_run_id, since_commit, good_commit"
    ) == [("suite_speedup", "WORSE", 9, -0.1, "night-07", "c07", "c06")]


@exhaustive
def test_a_suite_whose_baseline_got_faster_says_so(warehouse: Builder) -> None:
    """All speedups fell by a fifth, and no backend takes longer."""
    for day in range(6):
        warehouse.add(*night(day, [1.5 * (0.8 if day == 5 else 1)] * 8))
        for name in MODELS:
            it = case(name, run=f"night-{day:02}", source_id="file", **AXES)
            warehouse.add(metric(it, "absolute_latency", 1000 + day, unit="ns", better="lower"))
    query = "SELECT reason FROM regression_findings(['night-05']) WHERE finding = 'suite' AND metric = 'suite_speedup'"

    ((reason,),) = warehouse.rows(query)
    assert reason == "the baseline is 1.25x faster, the backend itself the same within 3 %; the whole suite, 8 cases"


@pytest.mark.parametrize("extra", first_of(1, [0.0, 0.5]), ids=["as usual", "one far out"])
def test_the_interval_and_p_are_those_of_the_study(extra: float, warehouse: Builder) -> None:
    """Student's t, with the variance of the reports before, moderated and winsorised as the simulation does it in numpy."""
    levels = 1.5 * np.exp(np.random.default_rng(0).normal(0, 0.01, 7))
    for day, level in enumerate(levels):
        warehouse.add(*night(day, [float(level) * np.exp(extra * (day == 2))] * 8))
    (row,) = warehouse.dicts("FROM suite_shifts(['night-06']) WHERE metric = 'suite_speedup'")

    *x, now = np.log(levels)
    x[2] += extra
    expected = judge_suites(np.array([x]).T, np.array([now]))
    reach = stats.t(3 + len(x) - 1).ppf(0.975) * expected.noise[0] * np.sqrt(1 + (np.pi / 2) / (len(x) + np.pi / 2 - 1))
    change = float(expected.change[0])
    assert (row["p"], row["noise"]) == pytest.approx((expected.p[0], expected.noise[0]), rel=1e-5)
    assert (np.log1p(row["low"]), np.log1p(row["high"])) == pytest.approx((change - reach, change + reach), rel=1e-5)


def test_rates_and_compile_times_move_in_words_of_their_own(warehouse: Builder) -> None:
    """Models that fail break the suite; a compile time is faster or slower."""
    for day in range(8):
        warehouse.add(*night(day, [1.5] * 8, failing=2 * (day == 7), seconds=30 if day == 7 else 10))

    assert moved(warehouse, "night-07", "metric, verdict") == [
        ("suite_compile_time", "SLOWER"),
        ("suite_pass_rate", "BROKEN"),
    ]


def test_a_suite_of_which_nothing_passes_is_broken(warehouse: Builder) -> None:
    """Its pass rate has no logarithm and counts all the same."""
    for day in range(6):
        warehouse.add(*night(day, [1.5] * 8, failing=8 * (day == 5)))

    assert moved(warehouse, "night-05", "metric, verdict") == [("suite_pass_rate", "BROKEN")]


@pytest.mark.parametrize(
    ("models", "host"), first_of(1, [pytest.param(4, "h1", id="a few cases"), pytest.param(8, "h2", id="another host")])
)
def test_what_says_nothing_of_a_suite_has_no_row(models: int, host: str, warehouse: Builder) -> None:
    """Fewer than 5 cases, or a machine that has no earlier report."""
    for day in range(8):
        warehouse.add(*night(day, [1.0 if day == 7 else 1.5] * models, host=host if day == 7 else "h1"))

    assert warehouse.rows("FROM suite_shifts(['night-07'])") == []


def test_a_suite_comes_before_its_cases(warehouse: Builder) -> None:
    """Among the findings of a night in which all its models lost a third."""
    rng = np.random.default_rng(1)
    for day in range(8):
        warehouse.add(*night(day, [float(x) for x in rng.normal(1.0 if day == 7 else 1.5, 0.01, 8)]))
    store: Any = warehouse
    found = judge(store, ["night-07"], RegressionRule(), Limits())

    assert (found[0]["finding"], found[0]["metric"], found[0]["verdict"]) == ("suite", "suite_speedup", "WORSE")
    assert {row["name"] for row in found if row["verdict"] == "WORSE"} == {None, *MODELS}
