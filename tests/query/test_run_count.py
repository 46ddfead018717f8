"""Power: the runs that a plan asks for are those that show the change, and no more."""

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from bench.query.explain.run_count import DetectionGoal, effects, render, sentences
from bench.warehouse import events
from bench.warehouse.console.numbers import percent, span
from bench.warehouse.errors import BenchError, Exit, UnknownName
from bench.warehouse.events import Event
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from ..builders import Builder, case, chunk, metric, outcome, run, timing
from ..exhaustive import at_most, exhaustive, first_of
from .conftest import Bench

MINUTE = 60 * 10**6  # in microseconds


def history(values: dict[str, Sequence[int]], config: str = "main", host: str | None = "vm") -> list[Event]:
    """Runs of a config, a minute apart, each with one latency of every case; a run takes 30 s."""
    found: list[Event] = []
    for number in range(max(map(len, values.values()))):
        began = (number + 1) * MINUTE
        run_id = f"{config}-{number}"
        found.append(run(run_id, config, host=host, started_at=began, command=f"measure {config}"))
        found.append(events.Outcome(run_id=run_id, status="ok", recorded_at=events.Instant(began + MINUTE // 2)))
        for name, series in values.items():
            if number < len(series):
                found += [it := case(name, run=run_id), timing(it, series[number])]
    return found


def noisy(cases: int = 4, runs: int = 6, noise: float = 0.01, seed: int = 0) -> dict[str, Sequence[int]]:
    """Latencies of some cases that scatter from run to run."""
    logs = np.random.default_rng(seed).normal(0, noise, (cases, runs))
    return {f"m{i}": [round(1e9 * math.exp(x)) for x in row] for i, row in enumerate(logs)}


def exact_multiple(runs: int, weight: float, alpha: float, power: float, changed: float) -> float:
    """What `_detectable_multiple` approximates: the noncentral t, by averaging over the error's chi distribution.

    The error and the shift are those of effects of which a share is far above the others.
    """
    df = runs - 1 + weight
    scale = np.sqrt(stats.chi2.ppf((np.arange(4000) + 0.5) / 4000, df) / df)
    critical = stats.t.isf(alpha / 2, df)
    ncp = optimize.brentq(lambda ncp: float(np.mean(stats.norm.cdf(ncp - critical * scale))) - power, 0, 1000)
    shift, distance = (
        stats.norm.ppf(0.5 / (1 - changed)),
        stats.norm.ppf(0.5 + 0.25 / (1 - changed)) / stats.norm.ppf(0.75),
    )
    return float(ncp * distance + shift) * math.sqrt(math.pi / (runs + math.pi / 2 - 1))


@settings(max_examples=at_most(60))
@given(
    runs=st.integers(1, 200), weight=st.floats(3, 30), alpha=st.sampled_from([0.05, 0.1, 0.01, 0.002]),
    power=st.sampled_from([0.8, 0.9]), changed=st.sampled_from([0, 0.1, 0.3]),
)  # fmt: skip
def test_the_smallest_effect_is_that_of_the_noncentral_t(
    runs: int, weight: float, alpha: float, power: float, changed: float
) -> None:
    """Within 3 % of exact at 3 degrees of freedom, and 1 % from 8."""
    ((found,),) = BUILT.rows("SELECT _detectable_multiple(?, ?, ?, ?, ?)", [runs, weight, alpha, power, changed])

    tolerance = 0.03 if runs - 1 + weight < 8 else 0.01
    assert found == pytest.approx(exact_multiple(runs, weight, alpha, power, changed), rel=tolerance)


BUILT = Builder()


@pytest.mark.parametrize("p", [1e-6, 0.001, 0.025, 0.2, 0.5, 0.8, 0.999])
def test_quantiles_are_those_of_the_normal_and_of_t(p: float) -> None:
    """Beyond their range there is none."""
    ((z, t, below),) = BUILT.rows("SELECT _normal_quantile($1), _t_quantile($1, 12), _t_quantile($1, 1.9)", [p])

    assert z == pytest.approx(stats.norm.isf(p), abs=2e-6)
    assert t == pytest.approx(stats.t.isf(p, 12), rel=1e-3, abs=1e-7)
    assert below is None
    assert BUILT.rows("SELECT _normal_quantile(0), _normal_quantile(1), _normal_quantile(NULL)") == [(None, None, None)]


@pytest.mark.parametrize("df", first_of(2, [1, 2, 3, 4.5, 8, 30, 1000]))
def test_quantiles_of_t_hold_far_out(df: float) -> None:
    """Within a thousandth from the middle to one in a thousand million."""
    for p in (1e-9, 1e-7, 1e-5, 1e-3, 0.01, 0.1, 0.3, 0.45, 0.49):
        ((t,),) = BUILT.rows("SELECT _t_quantile($1, $2)", [p, df])
        assert t == pytest.approx(stats.t.isf(p, df), rel=1e-3)


@exhaustive
def test_the_runs_that_are_asked_for_show_the_change_as_often_as_promised(warehouse: Builder) -> None:
    """Simulated as `comparisons` judges: medians of normal runs over their error, as well known as the weight says."""
    rng = np.random.default_rng(7)
    warehouse.add(*history(noisy(cases=8, runs=8, noise=0.02, seed=1)))
    for row in effects(warehouse, DetectionGoal(effect=0.05, power=0.8)):
        n, noise, degrees = row["runs_needed"], row["noise"], row["runs_needed"] - 1 + row["weight"]
        sides = np.median(rng.normal(0, noise, (2, 4000, n)), axis=2)
        error = noise * math.sqrt(math.pi / (n + math.pi / 2 - 1)) * np.sqrt(rng.chisquare(degrees, 4000) / degrees)
        critical = stats.t.isf(0.025, degrees) * error

        assert 0.78 < np.mean(sides[0] - sides[1] + math.log(1.05) > critical) < 0.95
        assert np.mean(np.abs(sides[0] - sides[1]) > critical) < 0.06


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("spread", [1, 5])
def test_a_plan_is_kept_by_compare(spread: int, seed: int) -> None:
    """Three runs a side, a case in ten changed as much as the plan promises to see: compare finds four in five."""
    rng = np.random.default_rng(seed)
    cases, changed = 200, 20
    noise = 0.02 * np.exp(rng.uniform(-0.5, 0.5, (cases, 1)) * math.log(spread))  # alike, or apart by a factor of 5

    def runs(config: str, count: int, changes: Sequence[float] = ()) -> list[Event]:
        logs = rng.normal(0, noise, (cases, count))
        logs[: len(changes)] += np.array(changes).reshape(-1, 1)
        return history({f"m{i:03}": [round(1e9 * math.exp(x)) for x in row] for i, row in enumerate(logs)}, config)

    warehouse = Builder().add(*runs("main", 10))
    promised = {row["name"]: row["detectable"] for row in effects(warehouse, DetectionGoal(runs=3, correction="bh"))}
    changes = [math.log1p(promised[f"m{i:03}"]) for i in range(changed)]
    warehouse.add(*runs("base", 3), *runs("same", 3), *runs("slower", 3, changes))

    sides = "['base-0', 'base-1', 'base-2'], ['{0}-0', '{0}-1', '{0}-2']"
    query = "SELECT count(*) FILTER (verdict = 'SLOWER') FROM comparisons({}) WHERE metric = 'latency'"
    ((slower,),) = warehouse.rows(query.format(sides.format("slower")))
    ((false_alarms,),) = warehouse.rows(query.format(sides.format("same")))
    assert 0.5 <= slower / changed <= 1
    assert false_alarms / cases < 0.01


@pytest.mark.exhaustive
@pytest.mark.parametrize("effect", [0.3, 0.1, 0.05, 0.02])
def test_fewer_runs_would_not_do(warehouse: Builder, effect: float) -> None:
    """One run less sees less, and so many see it."""
    warehouse.add(*history(noisy(noise=0.03)))
    for row in effects(warehouse, DetectionGoal(effect=effect)):
        n = row["runs_needed"]
        seen = [
            warehouse.rows(
                f"SELECT detectable FROM {DetectionGoal(runs=runs).sql} WHERE case_id = ?", [row["case_id"]]
            )[0][0]
            for runs in (n - 1, n)
        ]
        assert seen[1] <= effect
        assert n == 1 or seen[0] is None or seen[0] > effect


@pytest.mark.exhaustive
def test_more_doubt_costs_more_runs() -> None:
    """A smaller effect, more power, a smaller alpha and a correction each ask for more."""
    warehouse = Builder().add(*history(noisy(cases=5)))

    def needed(**changes: Any) -> int:
        return int(sum(row["runs_needed"] for row in effects(warehouse, DetectionGoal(effect=0.02, **changes))))

    usual = needed()
    assert needed(power=0.9) > usual and needed(alpha=0.01) > usual
    assert needed(correction="bonferroni") == needed(alpha=0.01)  # five cases
    assert usual < needed(correction="bh", changed=0.5) < needed(correction="bonferroni")
    assert needed(correction="bh", changed=0.001) == needed(correction="bonferroni")


def test_noise_within_a_run_is_a_floor() -> None:
    """Runs that agree by chance promise no more than their samples allow; how much they say is said."""
    runs = [run(f"r{i}", "main", started_at=i * MINUTE) for i in range(1, 4)]
    samples = [timing(case("m", run=it.run_id), 1000 + 40 * i, sample=i) for it in runs for i in range(20)]
    warehouse = Builder().add(*runs, *(case("m", run=it.run_id) for it in runs), *samples)

    (row,) = effects(warehouse, DetectionGoal(runs=5))
    assert row["noise"] == 0 and row["sampling_noise"] > 0.05
    assert row["detectable"] > 0.05


@pytest.mark.exhaustive
def test_a_run_takes_as_long_as_its_work() -> None:
    """From the end of the work before to its own last outcome; equal shares where no case noted its end."""
    shares: Any = Builder().add(*history(noisy(cases=3)))
    assert [row["workload_seconds"] for row in effects(shares, DetectionGoal())] == [10.0] * 3

    ended = [outcome(case(name, run=f"main-{i}"), recorded_at=(i + 1) * MINUTE + at * 10**6) for i in range(6)
             for name, at in (("m1", 9), ("m0", 4))]  # fmt: skip
    noted: Any = Builder().add(*history(noisy(cases=2)), *ended)
    assert {row["name"]: row["workload_seconds"] for row in effects(noted, DetectionGoal())} == {"m0": 4.0, "m1": 5.0}


@exhaustive
def test_one_run_tells_no_noise() -> None:
    """Exit code 4, with the command that measures again; a store without anything gets one, too."""
    warehouse = Builder().add(*history(noisy(runs=1)))
    with pytest.raises(BenchError, match=r"holds 4 cases of one run each.* again with: measure main") as stopped:
        effects(warehouse, DetectionGoal())
    assert stopped.value.exit_code == Exit.TOO_LITTLE

    empty: Any = Builder()
    with pytest.raises(BenchError, match=r"holds nothing.* bench measure models"):
        effects(empty, DetectionGoal())


@pytest.mark.exhaustive
def test_latency_is_planned_for_unless_there_is_none() -> None:
    """Other metrics are asked for by name; a failure is no value."""
    others = [metric(case("m0", run=f"main-{i}"), "graph_breaks", 1.0 + i % 2) for i in range(6)]
    warehouse = Builder().add(*history(noisy(cases=1)), *others)
    assert {row["metric"] for row in effects(warehouse, DetectionGoal())} == {"latency"}
    assert {row["metric"] for row in effects(warehouse, DetectionGoal(), {"metric": ["graph_breaks"]})} == {
        "graph_breaks"
    }

    runs = [run(f"r{i}", "c", started_at=i + 1) for i in range(3)]
    imported: Any = Builder().add(*runs, *(case("m", run=it.run_id) for it in runs))
    imported.add(*(metric(case("m", run=it.run_id), "speedup", 1.5 + i / 100) for i, it in enumerate(runs)))
    assert {row["metric"] for row in effects(imported, DetectionGoal())} == {"speedup"}
    with pytest.raises(UnknownName, match="'speedup'"):
        effects(imported, DetectionGoal(), {"metric": ["speeedup"]})


def test_the_plan_in_words(warehouse: Builder) -> None:
    """It says what half of the cases and nine of ten need and show, the time it takes, the false alarms, and what is left out."""
    warehouse.add(*history(noisy(cases=10)), *history({"x": [10**9]}, "fresh"))
    found, strict = (effects(warehouse, DetectionGoal(effect=0.02, correction=name)) for name in ("none", "bonferroni"))

    assert list(sentences(found, strict, DetectionGoal(effect=0.02))) == [
        "main on vm, latency: to see 2 % (power 80 %, alpha 5 %) takes 3 runs on each side for half of 10 cases, 5 runs for"
        " nine of ten",
        "  a run takes 30 s, so both sides take 3 min, or 5 min",
        "  3 runs on each side show 1.9 % in half of them, 2.4 % in nine of ten",
        "  of 10 cases that did not change, 0.5 will look changed; --correct bonferroni rules that out with 6 runs, or 9 runs",
        "left out: 1 case of fresh, measured by one run only; another run tells their noise",
    ]
    columns, table = render(found, DetectionGoal(effect=0.02))
    assert columns == ["config", "host", "name", "metric", "seen", "noise", "within run", "runs for 2 %", "3 runs see"]
    assert table[0] == ["main", "vm", "m0", "latency", 6, "0.67 %", None, 3, "1.9 %"]


@exhaustive
def test_exact_numbers_are_no_false_alarms() -> None:
    """Only cases with noise look changed without being so; where none has noise, no alarm is promised."""
    sizes: dict[str, Sequence[int]] = {f"size{i}": [100] * 6 for i in range(30)}

    def alarms(values: dict[str, Sequence[int]]) -> list[str]:
        found = effects(Builder().add(*history(values)), DetectionGoal())
        return [line for line in sentences(found, found, DetectionGoal()) if "look changed" in line]

    (mixed,) = alarms(sizes | noisy(cases=4))
    assert mixed.startswith("  of 4 cases with noise that did not change, 0.2 will look changed;")
    assert alarms(sizes) == []


@exhaustive
def test_scheduler_steps_are_planned_for(warehouse: Builder) -> None:
    """Their noise is known, whatever else the store holds, and their config and metrics can be named."""
    steps = [chunk(i, [64], run=f"a{day}", model_run_ms=10.0 + (i * day) % 3) for day in range(3) for i in range(40)]
    runs = [run(f"a{day}", "A", started_at=day + 1) for day in range(3)]
    warehouse.add(*history(noisy(runs=1)), *runs, *steps)

    for where in ({}, {"config": ["A"], "metric": ["model_run"]}):
        found = effects(warehouse, DetectionGoal(), where)
        assert ("A", "model_run", True) in {(row["config"], row["metric"], row["noise"] is not None) for row in found}
    with pytest.raises(UnknownName, match=r"no metric 'model_rum' in the store\. Nearest: 'model_run'"):
        effects(warehouse, DetectionGoal(), {"metric": ["model_rum"]})


@exhaustive
def test_a_bin_of_few_steps_takes_the_runs_that_have_six() -> None:
    """`bench compare` gives it no verdict with fewer samples on a side, however little it varies."""
    runs = [run(f"a{day}", "A", started_at=day + 1) for day in range(4)]
    steps = [chunk(i, [5000] if i == 20 else [64], run=it.run_id, model_run_ms=10.0) for it in runs for i in range(40)]
    warehouse = Builder().add(*runs, *steps)

    def planned(number: int) -> list[Any]:
        found = effects(warehouse, DetectionGoal(runs=number), {"metric": ["model_run"]})
        told = [line for line in sentences(found, found, DetectionGoal(runs=number)) if "UNSURE" in line]
        return [*((row["parameters"], row["runs_needed"], row["detectable"]) for row in found), *told]

    few, many = '{"tokens":"4096–8191"}', '{"tokens":"64–127"}'
    assert planned(5) == [
        (few, 6, None), (many, 2, 0),
        "  1 case has fewer than 6 samples in 5 runs: bench compare leaves it UNSURE",
    ]  # fmt: skip
    assert planned(6) == [(few, 6, 0), (many, 2, 0)]


def test_a_plan_that_nothing_fulfils_says_so(warehouse: Builder) -> None:
    """Too little history for so few runs, and an effect that no number of runs shows, are no numbers."""
    warehouse.add(*history(noisy(cases=1, runs=2), host=None))
    plan = DetectionGoal(effect=1e-6, runs=1)
    found = effects(warehouse, plan)

    assert [(row["runs_needed"], row["detectable"]) for row in found] == [(None, None)]
    first, second, *others = sentences(found, found, plan)
    assert first == "main, latency: to see 0.0001 % (power 80 %, alpha 5 %) takes over 100,000 runs on each side"
    assert second == "  1 run on each side is too few as long as so little is known of the noise"
    assert others == []


def test_the_command_plans(bench: Bench) -> None:
    """Rows of the macro for programs, a table for people; two runs of main are enough, one of fuse is not."""
    result = bench("plan", "--detect", "10%", "--format", "json")
    assert {row["config"] for row in json.loads(result.stdout)} == {"main", "fuse"} and result.stderr == ""

    lines = bench("plan", "--runs", "5", "--power", "0.9", "--configs", "main").stdout.splitlines()
    assert lines[0].split()[-7:] == ["runs", "for", "3", "%", "5", "runs", "see"]
    assert len(lines) == 2 + 4
    error = bench("plan", "--configs", "fuse").exception
    assert isinstance(error, BenchError) and error.exit_code == Exit.TOO_LITTLE


@pytest.mark.parametrize("option", [["--detect", "x"], ["--detect", "0%"], ["--power", "100%"], ["--alpha", "-1"]])
def test_a_share_that_is_none_is_said(bench: Bench, option: list[str]) -> None:
    """With the way to write one."""
    assert "Write it as" in str(bench("plan", *option).exception)


def test_shares_and_times_for_people() -> None:
    """Two digits, and the unit one waits in."""
    assert [percent(x) for x in (0.03, 0.0045, 0.123, 1.2)] == ["3 %", "0.45 %", "12 %", "120 %"]
    assert [span(x) for x in (41.3, 150, 3600 * 2.5)] == ["41 s", "2 min", "2 h 30 min"]
