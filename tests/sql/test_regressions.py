"""regressions: each run of a case against the runs before it, and what it takes to call that a change."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from bench.query.regression.regressions import RegressionRule

from ..benchmarks.alarms import judge
from ..builders import Builder, case, metric, outcome, run, timing
from ..exhaustive import sampled

DAY = 86_400_000_000
STEADY = (1000, 1010, 990, 1005, 995, 1000, 1008, 992)  # ns, with a spread of 1 %


def record(warehouse: Builder, values: Mapping[str, Sequence[int | None]], *, config: str = "main", first: int = 0,
           hosts: Sequence[str] = ("host",), status: str = "ok") -> list[str]:  # fmt: skip
    """One run a day, with a sample of each case that has one; returns the run ids."""
    ids = []
    for index in range(max(map(len, values.values()))):
        run_id = f"{config}-{first + index:02d}"
        warehouse.add(
            run(
                run_id,
                config,
                started_at=(first + index) * DAY,
                host=hosts[index % len(hosts)],
                git_commit=f"c{first + index}",
            )
        )
        for name, each in values.items():
            if index < len(each) and (ns := each[index]) is not None:
                it = case(name, run=run_id, backend="eager")
                warehouse.add(it, outcome(it, status), timing(it, ns))
        ids.append(run_id)
    return ids


def verdicts(warehouse: Builder, judged: Sequence[str], **arguments: Any) -> dict[str, str]:
    """Verdict of each case."""
    said = "".join(f", {name} := {value}" for name, value in arguments.items())
    return dict(warehouse.rows(f"SELECT name, verdict FROM regressions(?::VARCHAR[]{said})", [list(judged)]))


@pytest.mark.parametrize("seed", sampled(range(8), 1, 2))
@pytest.mark.parametrize("runs", [5, 12, 40])
def test_the_macro_is_the_rule_that_was_simulated(warehouse: Builder, seed: int, runs: int) -> None:
    """SQL and numpy (with scipy's t and Benjamini-Hochberg) agree, so that the published figures are those of the product."""
    rng = np.random.default_rng(seed)
    series = int(rng.integers(1, 40))
    noise = 0.01 * np.exp(rng.normal(0, (0, 0.5, 2)[seed % 3], series))
    logs = rng.normal(0, noise, (runs + 2, series)) + 10
    logs = logs.round(2) if seed % 2 else logs  # many are equal
    logs[runs:] += rng.choice([0, 0.05, -0.3], series)
    logs[runs + 1, rng.random(series) < 0.3] = np.nan
    values = np.exp(logs)
    for index, row in enumerate(values):
        warehouse.rows(
            "INSERT INTO runs BY NAME SELECT ? AS run_id, 'main' AS config, ? AS source", [f"r{index:02d}", "api"]
        )
        measured = ~np.isnan(row)
        warehouse.connection.register("given", pa.table({"i": np.arange(series)[measured], "median": row[measured]}))
        warehouse.rows(
            "INSERT INTO cells BY NAME SELECT ? AS run_id, 'main' AS config, 'case-' || i AS case_id, 'latency' AS metric,"
            " 'steady' AS phase, 'ns' AS unit, 'lower' AS better, median FROM given",
            [f"r{index:02d}"],
        )

    expected = judge(values[:runs], values[runs:])
    found = warehouse.dicts(
        "FROM regressions(?::VARCHAR[]) ORDER BY split_part(case_id, '-', 2)::BIGINT",
        [[f"r{runs:02d}", f"r{runs + 1:02d}"]],
    )
    assert [row["noise"] for row in found] == pytest.approx(expected.noise.tolist(), rel=1e-9)
    for name in ("p", "q"):
        assert [row[name] for row in found] == pytest.approx(getattr(expected, name).tolist(), rel=1e-5, abs=1e-15)
    called = np.where(expected.effect < 0, "IMPROVED", np.where(np.isnan(values[-1]), "SUSPECTED", "REGRESSED"))
    assert [row["verdict"] if row["verdict"] not in ("UNSURE", "STEADY") else "" for row in found] == np.where(
        expected.called, called, ""
    ).tolist()
    assert all(row["n"] == min(runs, RegressionRule().last) for row in found)


def test_one_run_raises_suspicion_and_a_second_confirms_it(warehouse: Builder) -> None:
    """Worse by 20 %: SUSPECTED by one run, REGRESSED by two; a repeat that does not show it clears it."""
    ids = record(
        warehouse, {"slower": (*STEADY, 1200, 1210), "hiccup": (*STEADY, 1200, 1003), "same": (*STEADY, 1000, 1003)}
    )

    assert verdicts(warehouse, ids[-2:-1]) == {"slower": "SUSPECTED", "hiccup": "SUSPECTED", "same": "STEADY"}
    assert verdicts(warehouse, ids[-2:]) == {"slower": "REGRESSED", "hiccup": "STEADY", "same": "STEADY"}
    query = "SELECT runs, reason FROM regressions(?::VARCHAR[]) WHERE name = 'hiccup'"
    assert warehouse.rows(query, [ids[-2:]]) == [(2, "only in some of the 2 runs")]


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_both_directions_are_judged_alike(warehouse: Builder, better: str) -> None:
    """A factor of 1.2 up and down have the same p; which of them is worse the metric says."""
    for index, value in enumerate((*STEADY, 1200)):
        warehouse.add(run(f"r{index}", "main", started_at=index * DAY))
        for name, turned in (("up", value), ("down", 1e6 / value)):
            it = case(name, run=f"r{index}")
            warehouse.add(it, outcome(it), metric(it, "score", turned, better=better))

    found = warehouse.rows("SELECT name, verdict, round(p, 12), sign(change) FROM regressions(['r8']) ORDER BY change")
    good, bad = "IMPROVED", "SUSPECTED"
    expected = [("down", good), ("up", bad)] if better == "lower" else [("down", bad), ("up", good)]
    assert [row[:2] for row in found] == expected
    assert found[0][2] == found[1][2] and [row[3] for row in found] == [-1, 1]


def test_the_change_carries_its_interval(warehouse: Builder) -> None:
    """1200 against 1000: +20 %, and the interval covers that of run-to-run noise on both sides."""
    (*_, last) = record(warehouse, {"m": (*STEADY, 1200)})

    (row,) = warehouse.dicts("FROM regressions([?])", [last])
    assert (row["baseline"], row["value"], row["n"], row["runs"]) == (pytest.approx(1000), pytest.approx(1200), 8, 1)
    assert row["change"] == pytest.approx(0.2)
    assert 0.1 < row["low"] < row["change"] < row["high"] < 0.3
    assert row["reason"].startswith("one run, not confirmed by another, q ")


def test_a_change_below_the_floor_is_none_however_certain(warehouse: Builder) -> None:
    """Memory that never moves and now is 2 % more stays STEADY, at 10 % it does not; another floor is another question."""
    ids = record(
        warehouse, {"little": [10_000] * 20 + [10_200], "much": [10_000] * 20 + [11_000], "same": [10_000] * 21}
    )

    assert verdicts(warehouse, ids[-1:]) == {"little": "STEADY", "much": "SUSPECTED", "same": "STEADY"}
    assert verdicts(warehouse, ids[-1:], floor=0.01)["little"] == "SUSPECTED"
    assert verdicts(warehouse, ids[-1:], floor=0.2)["much"] == "STEADY"


def test_a_clock_that_ticks_coarsely_raises_no_alarm(warehouse: Builder) -> None:
    """Where most values are equal, the few that are one tick off still tell the spread."""
    ticks = [10] * 8 + [11] + [10] * 5 + [11] + [10] * 5 + [11]
    ids = record(warehouse, {"coarse": ticks})

    assert verdicts(warehouse, ids[-1:]) == {"coarse": "STEADY"}


def test_a_run_whose_samples_disagree_knows_little(warehouse: Builder) -> None:
    """The same median, 30 % above: with samples that agree it is a change, on a machine that was busy it is none."""
    record(warehouse, {"calm": STEADY, "busy": STEADY})
    warehouse.add(run("now", "main", started_at=10 * DAY, host="host"))
    for name, samples in (
        ("calm", (1290, 1295, 1298, 1300, 1302, 1305, 1310)),
        ("busy", (900, 950, 990, 1300, 2000, 4000, 9000)),
    ):
        it = case(name, run="now", backend="eager")
        warehouse.add(it, outcome(it), *(timing(it, ns) for ns in samples))

    assert verdicts(warehouse, ["now"]) == {"calm": "SUSPECTED", "busy": "STEADY"}


def test_too_few_runs_before_are_said(warehouse: Builder) -> None:
    """Five are needed unless told otherwise."""
    ids = record(warehouse, {"m": (*STEADY[:4], 2000)})

    query = "SELECT verdict, reason, p, n FROM regressions(?::VARCHAR[])"
    assert warehouse.rows(query, [ids[-1:]]) == [
        ("UNSURE", "4 earlier runs of its config on its host; 5 are needed", None, 4)
    ]
    assert verdicts(warehouse, ids[-1:], least=4) == {"m": "SUSPECTED"}
    assert warehouse.rows("SELECT verdict, n FROM regressions(?::VARCHAR[])", [ids[:1]]) == [("UNSURE", 0)]


def test_what_one_test_would_believe_and_many_do_not_is_unsure(warehouse: Builder) -> None:
    """Among 40 cases one differs by 4 %: chance does that, and the row says so."""
    rng = np.random.default_rng(0)
    values = {f"m{i}": (1e6 * np.exp(rng.normal(0, 0.015, 21))).astype(int).tolist() for i in range(40)}
    values["m0"][-1] = 1_042_000
    ids = record(warehouse, values)

    query = "SELECT verdict, reason FROM regressions(?::VARCHAR[]) WHERE name = 'm0'"
    ((verdict, reason),) = warehouse.rows(query, [ids[-1:]])
    assert verdict == "UNSURE"
    assert reason.startswith("chance alone does this to one of 40, q = 0.")


def test_only_the_last_runs_before_are_the_baseline(warehouse: Builder) -> None:
    """Runs after the judged one, of other configs, and older than the window do not count."""
    record(warehouse, {"m": [500] * 10 + list(STEADY) + [1200] + [1200] * 9})
    record(warehouse, {"m": [300] * 30}, config="other")

    query = "SELECT verdict, n, baseline FROM regressions(['main-18'], last := {})"
    assert warehouse.rows(query.format(8)) == [("SUSPECTED", 8, pytest.approx(1000))]
    assert warehouse.rows(query.format(18))[0][1:] == (18, pytest.approx(500))


def test_a_run_is_compared_on_its_own_machine(warehouse: Builder) -> None:
    """Runs of a faster host are no baseline, however many; a new host has none."""
    record(warehouse, {"m": [500] * 6}, hosts=["fast"])
    ids = record(warehouse, {"m": STEADY}, first=10, hosts=["slow"])
    record(warehouse, {"m": [800]}, first=30, hosts=["new"])

    assert warehouse.rows("SELECT verdict, n FROM regressions([?])", [ids[-1]]) == [("STEADY", 7)]
    query = "SELECT verdict, reason FROM regressions(['main-30'])"
    assert warehouse.rows(query) == [("UNSURE", "0 earlier runs of its config on its host; 5 are needed")]


def test_machines_that_change_with_every_run_stand_in_for_each_other(warehouse: Builder) -> None:
    """A CI that hands out a fresh host each time: the differences between hosts are in the noise, and it is said."""
    ids = record(warehouse, {"m": (*STEADY, 1000, 1300)}, hosts=[f"host-{i}" for i in range(10)])

    query = "SELECT verdict, n, reason LIKE '%; baseline of other hosts' FROM regressions([?])"
    assert warehouse.rows(query, [ids[-1]]) == [("SUSPECTED", 9, True)]


def test_a_repeat_on_another_machine_confirms_nothing(warehouse: Builder) -> None:
    """Its numbers are not comparable with the baseline of the first."""
    ids = record(warehouse, {"m": (*STEADY, 1200)})
    ids += record(warehouse, {"m": [1200]}, first=20, hosts=["other"])

    assert verdicts(warehouse, ids[-2:]) == {"m": "SUSPECTED"}


def test_cases_that_failed_have_no_value(warehouse: Builder) -> None:
    """The samples of a case that ran out of memory neither judge nor are judged."""
    record(warehouse, {"m": [100] * 3}, status="OOM")
    ids = record(warehouse, {"m": STEADY}, first=10)
    failed = record(warehouse, {"m": [9000]}, first=30, status="timeout")

    assert warehouse.rows("SELECT n FROM regressions([?])", [ids[-1]]) == [(7,)]
    assert verdicts(warehouse, failed) == {}


def test_counts_may_begin_at_zero(warehouse: Builder) -> None:
    """No graph break in eight runs, two now: worse, without a percentage."""
    for index in range(9):
        it = case("m", run=f"r{index}")
        warehouse.add(run(f"r{index}", "main", started_at=index * DAY), it, outcome(it))
        warehouse.add(metric(it, "graph_breaks", 2.0 * (index == 8), unit="count", better="lower"))

    query = "SELECT verdict, baseline, value, change FROM regressions(['r8'])"
    assert warehouse.rows(query) == [("SUSPECTED", 0, pytest.approx(2), None)]


@pytest.mark.parametrize("now", [0.0, -3.0])
def test_what_has_no_ratio_is_not_judged(warehouse: Builder, now: float) -> None:
    """Zero or less of anything but a count; a glitch of it among the runs before does no harm."""
    for index in range(9):
        a, b = case("a", run=f"r{index}"), case("b", run=f"r{index}")
        warehouse.add(run(f"r{index}", "main", started_at=index * DAY), a, b, outcome(a), outcome(b))
        warehouse.add(metric(a, "growth", now if index == 8 else 5.0, better="lower"))
        warehouse.add(metric(b, "growth", now if index == 4 else 5.0, better="lower"))

    found = warehouse.rows("SELECT name, verdict, reason FROM regressions(['r8']) ORDER BY name")
    assert found[0] == ("a", "UNSURE", "a value of zero or less has no ratio")
    assert found[1][:2] == ("b", "STEADY")


def test_only_what_has_a_direction_is_judged(warehouse: Builder) -> None:
    """And the numeric error of an output, which has tolerances of its own, is not; a value of the whole run is."""
    for index in range(9):
        it = case("m", run=f"r{index}")
        warehouse.add(run(f"r{index}", "main", started_at=index * DAY), it, outcome(it))
        warehouse.add(metric(it, "calls", 1.0 + index), metric(it, "accuracy_error", 1.0 + index, better="lower"))
        whole = metric(it, "total", 100.0 * (1 + (index == 8)), better="lower")
        warehouse.add(type(whole)(run_id=whole.run_id, metric="total", value=whole.value, better="lower"))

    assert warehouse.rows("SELECT case_id, metric, verdict FROM regressions(['r8'])") == [(None, "total", "SUSPECTED")]


def test_the_streak_says_since_when(warehouse: Builder) -> None:
    """Three runs are beyond already: the change began with the first, and the commit before was good."""
    ids = record(warehouse, {"m": (*STEADY, 1200, 1000, 1200, 1210, 1190)})

    query = "SELECT verdict, since_run_id, since_commit, good_commit FROM regressions([?])"
    assert warehouse.rows(query, [ids[-1]]) == [("SUSPECTED", ids[-3], "c10", "c9")]
    assert warehouse.rows(query, [ids[-2]])[0][1:] == (ids[-3], "c10", "c9")
    assert warehouse.rows(query, [ids[-4]]) == [("STEADY", None, None, None)]
    [(reason,)] = warehouse.rows("SELECT reason FROM regressions([?])", [ids[-1]])
    assert reason.startswith("one run judged, but so 3 runs in a row, q ")


def test_hostile_names_are_names(warehouse: Builder) -> None:
    """Quotes and semicolons in a case, a config and a run id."""
    name = "m'); DROP TABLE cells; --"
    ids = record(warehouse, {name: (*STEADY, 1200)}, config=name)

    assert verdicts(warehouse, ids[-1:]) == {name: "SUSPECTED"}


@pytest.mark.parametrize("judged", [[], ["nobody"], None])
def test_no_run_is_no_row(warehouse: Builder, judged: list[str] | None) -> None:
    """Not an error either."""
    record(warehouse, {"m": STEADY})

    assert warehouse.rows("FROM regressions(?::VARCHAR[])", [judged]) == []
