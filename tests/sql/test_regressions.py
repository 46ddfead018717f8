"""regressions: each run of a case against the runs before it, and what it takes to call that a change."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from bench.warehouse.events import Environment

from ..benchmarks.simulations.alarms import judge, judge_shift
from ..builders import Builder, case, metric, outcome, run, timing
from ..exhaustive import exhaustive, first_of, sampled

DAY = 86_400_000_000
STEADY = (1000, 1010, 990, 1005, 995, 1000, 1008, 992)  # ns, with a spread of 1 %


def record(warehouse: Builder, values: Mapping[str, Sequence[int | None]], *, config: str = "main", first: int = 0,
           hosts: Sequence[str] = ("host",), status: str = "ok", environment_id: str | None = None) -> list[str]:  # fmt: skip
    """One run a day, with a sample of each case that has one; returns the run ids."""
    ids = []
    warehouse.add(Environment(environment_id="known", cpu="a processor"))
    for index in range(max(map(len, values.values()))):
        run_id = f"{config}-{first + index:02d}"
        warehouse.add(
            run(
                run_id,
                config,
                started_at=(first + index) * DAY,
                host=hosts[index % len(hosts)],
                git_commit=f"c{first + index}",
                environment_id=environment_id,
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


def numbers(rows: list[dict[str, Any]], name: str) -> list[float]:
    """A column, NaN where it is NULL."""
    return [math.nan if row[name] is None else row[name] for row in rows]


@pytest.mark.parametrize(
    ("runs", "seed"),
    sampled([(runs, seed) for runs in (1, 2, 5, 12) for seed in range(8)], (2, 5)),
)
def test_the_macro_is_the_rule_that_was_simulated(warehouse: Builder, runs: int, seed: int) -> None:
    """SQL and numpy (with scipy's t and Benjamini-Hochberg) agree, so that the published figures are those of the product."""
    rng = np.random.default_rng(seed)
    series = int(rng.integers(5, 60))
    noise = 0.01 * np.exp(rng.normal(0, (0, 0.5, 2)[seed % 3], series))
    logs = rng.normal(0, noise, (runs + 2, series)) + 10
    logs = logs.round(2) if seed % 2 else logs  # many are equal
    step = rng.choice([0, 0.05, -0.3], series)
    logs[runs:] += step
    logs[runs - 1] += np.where(rng.random(series) < 0.3, step, 0) if runs > 2 else 0  # it began a run before
    logs[runs + 1, rng.random(series) < (0.3, 1)[seed % 4 == 0]] = np.nan
    values = np.exp(logs)
    for index, row in enumerate(values):
        warehouse.rows(
            "INSERT INTO runs BY NAME SELECT ? AS run_id, 'main' AS config, 'api' AS source, make_timestamp(?) AS started_at",
            [f"r{index:02d}", min(index, runs) * DAY + index],
        )
        warehouse.rows(
            "INSERT INTO _run_times BY NAME SELECT run_id, config, started_at AS began_at FROM runs WHERE run_id = ?",
            [f"r{index:02d}"],
        )
        warehouse.rows(
            "INSERT INTO _rounds BY NAME SELECT run_id, config, run_id AS round_id, began_at FROM _run_times WHERE run_id = ?",
            [f"r{index:02d}"],
        )
        warehouse.rows("INSERT INTO _machine_facts BY NAME SELECT ? AS run_id, 'main' AS config", [f"r{index:02d}"])
        measured = ~np.isnan(row)
        warehouse.connection.register("given", pa.table({"i": np.arange(series)[measured], "median": row[measured]}))
        warehouse.rows(
            "INSERT INTO cells BY NAME SELECT ? AS run_id, 'main' AS config, 'case-' || i AS case_id, 'latency' AS metric,"
            " 'steady' AS phase, 'ns' AS unit, 'lower' AS better, median, 1 AS n FROM given",
            [f"r{index:02d}"],
        )

    expected = judge(values[:runs], values[runs:])
    judged = [f"r{runs:02d}", f"r{runs + 1:02d}"]
    found = warehouse.dicts("FROM regressions(?::VARCHAR[]) ORDER BY split_part(case_id, '-', 2)::BIGINT", [judged])
    assert numbers(found, "noise") == pytest.approx(expected.noise.tolist(), rel=1e-6, nan_ok=True)
    for name in ("p", "q"):
        assert numbers(found, name) == pytest.approx(getattr(expected, name).tolist(), rel=1e-4, abs=1e-15, nan_ok=True)
    called = np.where(expected.change < 0, "FASTER", "SLOWER")
    called = np.where(expected.likely, np.char.add("LIKELY ", called), called)
    assert [row["verdict"] if row["verdict"] not in ("UNSURE", "SAME") else "" for row in found] == np.where(
        expected.called | expected.likely, called, ""
    ).tolist()
    assert all(row["n"] == runs for row in found)
    together = warehouse.dicts("FROM shared_shifts(NULL, ?)", [judged])
    assert len(together) == (series >= 20)
    for row in together:
        shared = judge_shift(values[:runs], values[runs:])
        assert math.log(1 / row["ratio"]) == pytest.approx(shared.shift, abs=1e-12)
        assert row["p"] == pytest.approx(shared.p, rel=1e-4)
        assert (row["verdict"] in ("SLOWER", "FASTER")) == shared.called
    compared = warehouse.dicts(
        "SELECT verdict, p, q FROM comparisons(?, ?) ORDER BY split_part(case_id, '-', 2)::BIGINT",
        [[f"r{index:02d}" for index in range(runs)], judged],
    )
    given = judge(values[:runs], values[runs:], is_history=False)
    assert numbers(compared, "p") == pytest.approx(given.p.tolist(), rel=1e-4, abs=1e-15, nan_ok=True)
    assert [row["verdict"] in ("FASTER", "SLOWER") for row in compared] == given.called.tolist()
    assert [row["verdict"].startswith("LIKELY") for row in compared] == given.likely.tolist()
    if np.array_equal(given.p, expected.p, equal_nan=True):  # no run before is as the new ones: the same verdicts
        assert [row["verdict"] for row in compared] == [row["verdict"] for row in found]
    else:
        assert seed % 2  # where many are equal


@pytest.mark.exhaustive
def test_a_step_of_a_number_without_noise_stays_a_step(warehouse: Builder) -> None:
    """While it lasts, each run is slower, not only the first; a number that comes and goes is none."""
    ids = record(warehouse, {"step": (5, 5, 5, 5, 5, 5, 6, 6, 6), "again": (5, 5, 6, 5, 5, 5, 5, 5, 6)})

    assert [verdicts(warehouse, [run_id])["step"] for run_id in ids[6:]] == ["SLOWER"] * 3
    (reason,) = warehouse.rows("SELECT reason FROM regressions(?::VARCHAR[]) WHERE name = 'step'", [ids[-1:]])[0]
    assert reason.endswith("seen in 3 runs in a row")
    query = "SELECT name, verdict, p FROM {} WHERE metric = 'latency' ORDER BY name DESC"
    assert warehouse.rows(query.format("regressions(?::VARCHAR[])"), [ids[-1:]])[1] == ("again", "UNSURE", 1 / 8)
    # given as a base, runs have no order: two of eight were as slow
    assert warehouse.rows(query.format("comparisons(?, ?)"), [ids[:-1], ids[-1:]])[0] == ("step", "UNSURE", 2 / 8)


@exhaustive
def test_the_reason_says_that_earlier_runs_differ_as_much(warehouse: Builder) -> None:
    """This makes a change beyond the noise UNSURE."""
    ids = record(warehouse, {"again": (*(5,) * 6, 6, *(5,) * 12, 6)})

    ((verdict, reason),) = warehouse.rows("SELECT verdict, reason FROM regressions(?::VARCHAR[])", [ids[-1:]])
    assert (verdict, reason.partition(";")[0]) == ("UNSURE", "other runs of the base differ as much")


def test_a_second_run_confirms_or_refutes(warehouse: Builder) -> None:
    """Slower by 20 % in one run, or in two, which confirm each other; a repeat that does not show it clears it."""
    ids = record(
        warehouse, {"slower": (*STEADY, 1200, 1210), "hiccup": (*STEADY, 1200, 1003), "same": (*STEADY, 1000, 1003)}
    )

    assert verdicts(warehouse, ids[-2:-1]) == {"slower": "SLOWER", "hiccup": "SLOWER", "same": "SAME"}
    assert verdicts(warehouse, ids[-2:]) == {"slower": "SLOWER", "hiccup": "UNSURE", "same": "SAME"}
    query = "SELECT evidence, reason LIKE '%its runs disagree%' FROM regressions(?::VARCHAR[]) WHERE name <> 'same' ORDER BY ALL"
    assert warehouse.rows(query, [ids[-2:]]) == [("8 against 2 runs", True), ("8 against 2 runs, confirmed", False)]


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_both_directions_are_judged_alike(warehouse: Builder, better: str) -> None:
    """A factor of 1.2 up and down have the same p; which of them is worse the metric says."""
    for index, value in enumerate((*STEADY, 1200)):
        warehouse.add(run(f"r{index}", "main", started_at=index * DAY))
        for name, turned in (("up", value), ("down", 1e6 / value)):
            it = case(name, run=f"r{index}")
            warehouse.add(it, outcome(it), metric(it, "score", turned, better=better))

    found = warehouse.rows("SELECT name, verdict, round(p, 12), sign(change) FROM regressions(['r8']) ORDER BY change")
    good, bad = "BETTER", "WORSE"
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
    assert row["evidence"] == "8 against 1 run, not confirmed" and row["reason"].startswith("q below 0.001; noise")


@pytest.mark.exhaustive
def test_a_change_below_the_floor_is_none_however_certain(warehouse: Builder) -> None:
    """Memory that never moves and now is 2 % more stays SAME, at 10 % it does not; another floor is another question."""
    ids = record(
        warehouse, {"little": [10_000] * 20 + [10_200], "much": [10_000] * 20 + [11_000], "same": [10_000] * 21}
    )

    assert verdicts(warehouse, ids[-1:]) == {"little": "SAME", "much": "SLOWER", "same": "SAME"}
    assert verdicts(warehouse, ids[-1:], floor=0.01)["little"] == "SLOWER"
    assert verdicts(warehouse, ids[-1:], floor=0.2)["much"] == "SAME"


def test_a_clock_that_ticks_coarsely_raises_no_alarm(warehouse: Builder) -> None:
    """If most values are equal, the few that are one tick off still tell the spread."""
    ticks = [10] * 8 + [11] + [10] * 5 + [11] + [10] * 5 + [11]
    ids = record(warehouse, {"coarse": ticks})

    assert verdicts(warehouse, ids[-1:]) == {"coarse": "UNSURE"}


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

    assert verdicts(warehouse, ["now"]) == {"calm": "SLOWER", "busy": "UNSURE"}


@exhaustive
def test_a_few_runs_before_are_enough(warehouse: Builder) -> None:
    """Two tell the noise of one case; one tells nothing by itself, nor does none."""
    ids = record(warehouse, {"m": (1000, 1010, 2000)})

    query = "SELECT verdict, reason, p IS NULL, n FROM regressions(?::VARCHAR[])"
    assert verdicts(warehouse, ids[-1:], fdr=0.1) == {"m": "SLOWER"}
    assumed = "assumes that sessions differ as public nightly runs do, 95 % within 7.8 %"
    assert warehouse.rows(query, [ids[1:2]]) == [("UNSURE", assumed, True, 1)]
    assert warehouse.rows(query, [ids[:1]]) == [
        ("UNSURE", "no earlier run of its config on its class of machine", True, 0)
    ]


@exhaustive
def test_each_host_is_judged_by_its_own_runs(warehouse: Builder) -> None:
    """A commit that is twice as slow on the second machine only is found there."""
    for host, now in (("h1", 1000), ("h2", 2000)):
        record(warehouse, {"m": (*STEADY, now)}, config="main", hosts=[host], first=0 if host == "h1" else 40)

    query = "SELECT host, verdict, n FROM regressions(['main-08', 'main-48']) ORDER BY host"
    assert warehouse.rows(query) == [("h1", "SAME", 8), ("h2", "SLOWER", 8)]


def test_what_all_cases_share_is_taken_out(warehouse: Builder) -> None:
    """A night of 10 % on 30 cases is one finding, and the case that is twice as slow another."""
    rng = np.random.default_rng(0)
    values = {f"m{i}": (1e6 * np.exp(rng.normal(0, 0.01, 9))).astype(int).tolist() for i in range(30)}
    for name, series in values.items():
        series[-1] = int(series[-1] * (2.2 if name == "m0" else 1.1))
    ids = record(warehouse, values, environment_id="known")

    changed = {
        name: verdict for name, verdict in verdicts(warehouse, ids[-1:]).items() if verdict not in ("SAME", "UNSURE")
    }
    assert changed == {"m0": "SLOWER"}
    ((verdict, cases, ratio),) = warehouse.rows("SELECT verdict, cases, ratio FROM shared_shifts(NULL, [?])", [ids[-1]])
    assert (verdict, cases, ratio) == ("SLOWER", 30, pytest.approx(1 / 1.1, rel=0.01))


@exhaustive
def test_what_one_test_would_believe_and_many_do_not_is_unsure(warehouse: Builder) -> None:
    """Among 40 cases one differs by 4 %: chance does that, and the row says so."""
    rng = np.random.default_rng(0)
    values = {f"m{i}": (1e6 * np.exp(rng.normal(0, 0.015, 21))).astype(int).tolist() for i in range(40)}
    values["m0"][-1] = 1_042_000
    ids = record(warehouse, values)

    query = "SELECT verdict, reason FROM regressions(?::VARCHAR[]) WHERE name = 'm0'"
    ((verdict, reason),) = warehouse.rows(query, [ids[-1:]])
    assert verdict == "UNSURE"
    assert reason.startswith("chance alone does this to 1 of 40, q = 0.")


@exhaustive
def test_only_the_last_runs_before_are_the_baseline(warehouse: Builder) -> None:
    """Runs after the judged one, of other configs, and older than the window do not count."""
    record(warehouse, {"m": [500] * 10 + list(STEADY) + [1200] + [1200] * 9})
    record(warehouse, {"m": [300] * 30}, config="other")

    query = "SELECT verdict, n, baseline FROM regressions(['main-18'], last := {})"
    assert warehouse.rows(query.format(8)) == [("SLOWER", 8, pytest.approx(1000))]
    assert warehouse.rows(query.format(18))[0][1:] == (18, pytest.approx(500))


def test_a_run_is_compared_on_its_own_machine(warehouse: Builder) -> None:
    """Runs of a faster host are no baseline, however many; a new host has none."""
    record(warehouse, {"m": [500] * 6}, hosts=["fast"])
    ids = record(warehouse, {"m": STEADY}, first=10, hosts=["slow"])
    record(warehouse, {"m": [800]}, first=30, hosts=["new"])

    assert warehouse.rows("SELECT verdict, n FROM regressions([?])", [ids[-1]]) == [("SAME", 7)]
    query = "SELECT verdict, reason FROM regressions(['main-30'])"
    assert warehouse.rows(query) == [("UNSURE", "no earlier run of its config on its class of machine")]


def test_machines_that_change_with_every_run_stand_in_for_each_other(warehouse: Builder) -> None:
    """A CI that hands out a fresh host each time: the differences between hosts are in the noise, and it is said."""
    ids = record(warehouse, {"m": (*STEADY, 1000, 1300)}, hosts=[f"host-{i}" for i in range(10)])

    query = "SELECT verdict, n, reason LIKE '%; baseline of other hosts%' FROM regressions([?])"
    assert warehouse.rows(query, [ids[-1]]) == [("SLOWER", 9, True)]


def test_a_repeat_on_another_machine_confirms_nothing(warehouse: Builder) -> None:
    """Its numbers are not comparable with the baseline of the first."""
    ids = record(warehouse, {"m": (*STEADY, 1200)})
    ids += record(warehouse, {"m": [1200]}, first=20, hosts=["other"])

    query = "SELECT host, verdict, evidence FROM regressions(?::VARCHAR[]) ORDER BY host"
    assert warehouse.rows(query, [ids[-2:]]) == [
        ("host", "SLOWER", "8 against 1 run, not confirmed"),
        ("other", "UNSURE", None),
    ]


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
    assert warehouse.rows(query) == [("WORSE", 0, 2, None)]


@pytest.mark.parametrize("now", first_of(1, [0.0, -3.0]))
def test_what_has_no_ratio_is_not_judged(warehouse: Builder, now: float) -> None:
    """Zero or less of anything but a count; a glitch of it among the runs before does no harm."""
    for index in range(9):
        a, b = case("a", run=f"r{index}"), case("b", run=f"r{index}")
        warehouse.add(run(f"r{index}", "main", started_at=index * DAY), a, b, outcome(a), outcome(b))
        warehouse.add(metric(a, "growth", now if index == 8 else 5.0, better="lower"))
        warehouse.add(metric(b, "growth", now if index == 4 else 5.0, better="lower"))

    found = warehouse.rows("SELECT name, verdict, reason FROM regressions(['r8']) ORDER BY name")
    assert found[0] == ("a", "UNSURE", "a value of 0 or less has no ratio")
    assert found[1][:2] == ("b", "SAME")


def test_only_what_has_a_direction_is_judged(warehouse: Builder) -> None:
    """And the numeric error of an output, which has tolerances of its own, is not; a value of the whole run is."""
    for index in range(9):
        it = case("m", run=f"r{index}")
        warehouse.add(run(f"r{index}", "main", started_at=index * DAY), it, outcome(it))
        warehouse.add(metric(it, "calls", 1.0 + index), metric(it, "accuracy_error", 1.0 + index, better="lower"))
        whole = metric(it, "total", 100.0 * (1 + (index == 8)), better="lower")
        warehouse.add(type(whole)(run_id=whole.run_id, metric="total", value=whole.value, better="lower"))

    assert warehouse.rows("SELECT case_id, metric, verdict FROM regressions(['r8'])") == [(None, "total", "WORSE")]


@exhaustive
def test_the_streak_says_since_when(warehouse: Builder) -> None:
    """Three runs are beyond already: the change began with the first, and the commit before was good."""
    ids = record(warehouse, {"m": (*STEADY, 1200, 1000, 1200, 1210, 1190)})

    query = "SELECT verdict, since_run_id, since_commit, good_commit FROM regressions([?])"
    assert warehouse.rows(query, [ids[-1]]) == [("SLOWER", ids[-3], "c10", "c9")]
    assert warehouse.rows(query, [ids[-2]])[0][1:] == (ids[-3], "c10", "c9")
    assert warehouse.rows(query, [ids[-4]]) == [("UNSURE", None, None, None)]
    [(reason,)] = warehouse.rows("SELECT reason FROM regressions([?])", [ids[-1]])
    assert reason.endswith("; seen in 3 runs in a row")


def test_hostile_names_are_names(warehouse: Builder) -> None:
    """Quotes and semicolons in a case, a config and a run id."""
    name = "m'); DROP TABLE cells; --"
    ids = record(warehouse, {name: (*STEADY, 1200)}, config=name)

    assert verdicts(warehouse, ids[-1:]) == {name: "SLOWER"}


@pytest.mark.parametrize("judged", first_of(1, [[], ["nobody"], None]))
def test_no_run_is_no_row(warehouse: Builder, judged: list[str] | None) -> None:
    """Not an error either."""
    record(warehouse, {"m": STEADY})

    assert warehouse.rows("FROM regressions(?::VARCHAR[])", [judged]) == []
