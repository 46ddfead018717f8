"""History: what becomes of series of runs, with their gaps, and how many false alarms are let pass."""

import datetime
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from bench.query.change.history import false_discovery_rates, find
from bench.query.change.render import sentences
from bench.query.change.series import Series, SeriesRun, choose, read, values
from bench.query.regression.regressions import environment_changes
from bench.warehouse.errors import UnknownName
from bench.warehouse.events import Environment
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ..builders import Builder, case, metric, outcome, run, timing
from ..exhaustive import exhaustive

DAY = 86_400_000_000
AXES: dict[str, Any] = {"suite": "s", "mode": "inference", "device": "cpu", "dtype": "float32", "backend": "inductor"}
QUIET = [1.0, 1.01, 0.99, 1.005, 0.995, 1.0, 1.008, 0.992, 1.003, 0.997]


def runs(*numbers: float | None, name: str = "m", config: str = "main", **fields: Any) -> Any:
    """A run a day, in which the case took so many ms; None: it failed, and another case was measured."""
    builder = Builder()
    for day, number in enumerate(numbers):
        run_id = f"{config}-{day:02}"
        given = {key: value[day] if isinstance(value, list) else value for key, value in fields.items()}
        one, other = case(name, run_id, **AXES), case("other", run_id, **AXES)
        builder.add(run(run_id, config, started_at=day * DAY, **{"git_commit": f"c{day:02}", **given}), one, other)
        builder.add(outcome(one, "OOM" if number is None else "ok"), timing(other, 10**6))
        if number is not None:
            builder.add(timing(one, round(number * 1e6)))
    return builder


def series(numbers: list[float | None], **labels: Any) -> Series:
    """A series of nothing but numbers."""
    known = {"config": "main", "case_id": "c", "name": "m", "metric": "latency", "unit": "ns", "better": "lower"}
    names = (
        "machine",
        "suite",
        "mode",
        "device",
        "dtype",
        "backend",
        "batch_size",
        "sequence_length",
        "parameters",
        "phase",
    )
    order = (
        "config", "machine", "case_id", "suite", "name", "mode", "device", "dtype", "backend", "batch_size", "sequence_length",
        "parameters", "metric", "phase", "unit", "better",
    )  # fmt: skip
    given = {**dict.fromkeys(names), **known, **labels}
    start = datetime.datetime(2026, 1, 1)
    days = [
        SeriesRun(f"r{day}", start + datetime.timedelta(day), f"c{day}", "h", "e", day) for day in range(len(numbers))
    ]
    return Series({name: given[name] for name in order}, days, np.array(numbers, dtype=np.float64))


def found(warehouse: Builder, **rules: Any) -> list[dict[str, Any]]:
    """Rows of all series of model m."""
    choose(warehouse, {"name": ["m"]})
    return list(find(read(warehouse), **rules).rows)


def test_a_series_begins_with_its_first_value_and_has_gaps() -> None:
    """A run that measured the suite but not the case is a gap; before the first value there is nothing to lack."""
    warehouse = runs(None, 1.0, None, 2.0)
    choose(warehouse, {"name": ["m"]})
    (one,) = read(warehouse)

    assert (list(one.values), one.n) == ([1e6, None, 2e6], 2)
    assert [run.run_id for run in one.runs] == ["main-01", "main-02", "main-03"]
    assert (one.labels["metric"], one.labels["backend"], one.labels["better"]) == ("latency", "inductor", "lower")


def test_a_run_in_which_everything_failed_is_a_gap() -> None:
    """It measured nothing, but it tried."""
    warehouse = runs(1.0, 1.0)
    one = case("m", "failed", **AXES)
    warehouse.add(run("failed", "main", started_at=2 * DAY), one, outcome(one, "timeout"))
    choose(warehouse, {"name": ["m"]})

    assert [list(one.values) for one in read(warehouse)] == [[1e6, 1e6, None]]
    assert list(values(warehouse, read(warehouse)).rows)[-1][-1] == "timeout"


def test_the_values_that_may_be_judged_are_those_of_history_series() -> None:
    """They lack the positions, which cost more to count than what a series needs."""
    warehouse = runs(1.0, None)
    for name in "abc":  # with m and other a suite of the least size
        warehouse.add(one := case(name, "main-00", **AXES), outcome(one), timing(one, 10**6))
    choose(warehouse, {})
    judged = warehouse.rows("FROM judged_values ORDER BY ALL")

    assert {row[1].partition("/")[0] for row in judged} > {"suite"}
    assert judged == warehouse.rows("SELECT * EXCLUDE position FROM history_series ORDER BY ALL")


def test_a_run_with_two_values_of_one_case_counts_once() -> None:
    """A model that failed has no batch size, so it is the case that has one: the larger number stands, both are listed."""
    warehouse = Builder()
    for night in range(3):
        run_id = f"night-{night}"
        whole, failed = case("m", run_id, source_id="f", batch_size=8), case("m", run_id, source_id="f")
        warehouse.add(run(run_id, "main", "torch-compile", started_at=night * DAY), whole)
        warehouse.add(metric(whole, "graph_breaks", 1.0, better="lower"), outcome(whole, "pass", kind="accuracy"))
        if night < 2:
            warehouse.add(outcome(whole))
        else:
            warehouse.add(failed, outcome(failed, "OOM"), metric(failed, "graph_breaks", 5.0, better="lower"))
    choose(warehouse, {})
    (one,) = read(warehouse)

    assert ([*one.values], [run.run_id for run in one.runs]) == ([1.0, 1.0, 5.0], ["night-0", "night-1", "night-2"])
    listed = values(warehouse, [one])
    assert sorted(row[listed.columns.index("value")] for row in listed.rows) == [1.0, 1.0, 1.0, 5.0]


def shards(*nights: str, hosts: Sequence[str | None] = (), **known: Any) -> Builder:
    """Two files a night, one with m and one with other; of each letter a processor, B half as fast, 10 % slower from night 12."""
    builder = Builder()
    for cpu in set(nights):
        builder.add(Environment(environment_id=cpu, **(known or {"cpu": f"Xeon {cpu}"})))
    for night, cpu in enumerate(nights):
        for shard, name in enumerate(("m", "other")):
            run_id, slow = f"night-{night:02}-{shard}", (2 if cpu == "B" else 1) * (1.1 if night >= 12 else 1)
            one = case(name, run_id)
            about = {
                "host": hosts[night] if hosts else f"runner-{night}",
                "environment_id": cpu,
                "git_commit": f"c{night}",
            }
            builder.add(
                run(run_id, "main", "hyperfine", started_at=night * DAY + shard * 60_000_000, git_dirty=False, **about),
                one,
            )
            builder.add(outcome(one), timing(one, round(1e6 * slow * QUIET[night % 10])))
    return builder


@exhaustive
def test_the_other_shards_of_a_night_are_no_gaps() -> None:
    """A round has the number or lacks it; its files that hold other cases are no runs without it."""
    warehouse = shards(*"ABAB")
    choose(warehouse, {"name": ["other"]})

    assert [[run.run_id for run in one.runs] for one in read(warehouse)] == [
        ["night-00-1", "night-02-1"], ["night-01-1", "night-03-1"],
    ]  # fmt: skip
    assert [one.values.count(None) for one in read(warehouse)] == [0, 0]


@exhaustive
def test_a_night_without_the_case_is_one_gap_whose_file_tried_it() -> None:
    """Of the files of a round the one that says how the case ended stands for it."""
    warehouse = shards(*"AAA")
    failed, beside = case("m", "night-03-1"), case("other", "night-03-0")
    for shard, one in enumerate((beside, failed)):
        about = {"environment_id": "A", "git_commit": "c3", "git_dirty": False}
        warehouse.add(run(one.run_id, "main", "hyperfine", started_at=3 * DAY + shard * 60_000_000, **about), one)
    warehouse.add(outcome(beside), timing(beside, 10**6), outcome(failed, "OOM"))
    choose(warehouse, {"name": ["m"]})
    (only,) = read(warehouse)

    assert ([run.run_id for run in only.runs][-2:], only.values[-1]) == (["night-02-0", "night-03-1"], None)
    assert list(values(warehouse, read(warehouse)).rows)[-1][-1] == "OOM"


@exhaustive
def test_a_step_on_two_classes_is_one_incident_and_no_host_is_named() -> None:
    """Classes are judged apart, so each has the step; their nights alternate, and their hosts have new names each night."""
    warehouse = shards(*"AB" * 12)
    choose(warehouse, {})
    history = find(read(warehouse))

    assert {(row["name"], row["machine"]): row["since_run_id"][:8] for row in history.rows} == {
        ("m", "Xeon A"): "night-12", ("other", "Xeon A"): "night-12",
        ("m", "Xeon B"): "night-13", ("other", "Xeon B"): "night-13",
    }  # fmt: skip
    assert [(row["members"], row["verdict"]) for row in history.incidents] == [(2, "SLOWER")]
    assert {row["note"] for row in history.rows} == {None}


def test_a_class_with_few_nights_is_named() -> None:
    """Regressions judge by three rounds, history by nine: the sentence says where, and who judges it."""
    warehouse = shards(*"AAAAAAAAAABBBBB")
    choose(warehouse, {})
    said = list(sentences(find(read(warehouse)), []))

    assert said[-1] == (
        "2 series not judged: fewer than the 9 runs it takes on Xeon B; their newest runs are judged by: bench regressions"
    )


def test_regressions_name_no_host_where_the_class_is_known() -> None:
    """Hosted runners have a new name every night; a host is told where it is all that is known."""
    assert environment_changes(shards(*"AAAA"), ["night-03-0"]) == []
    (told,) = environment_changes(shards(*"AAAAAA", ram_bytes=1), ["night-05-0"])
    assert str(told) == "host: runner-4 → runner-5"


@pytest.mark.exhaustive
def test_hosts_of_unknown_machines_are_judged_apart_if_each_has_runs_enough() -> None:
    """Two that differ by half alternate otherwise; names that come once cannot be judged apart."""
    pair = shards(*"AB" * 9, hosts=["one", "two"] * 9, ram_bytes=1)
    choose(pair, {"name": ["m"]})
    assert [one.labels["machine"] for one in read(pair)] == ["host one", "host two"]
    assert [row["kind"] for row in find(read(pair)).rows] == ["step", "step"]

    drawn = shards(*"AB" * 9, ram_bytes=1)
    choose(drawn, {"name": ["m"]})
    assert [(one.labels["machine"], one.n) for one in read(drawn)] == [(None, 18)]


@exhaustive
def test_the_values_say_why_one_is_missing() -> None:
    """NULL with the status of the case in that run."""
    warehouse = runs(1.0, None, 2.0)
    choose(warehouse, {"name": ["m"]})
    answer = values(warehouse, read(warehouse))
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]

    assert [(row["run_id"], row["value"], row["status"]) for row in rows] == [
        ("main-00", 1e6, "ok"), ("main-01", None, "OOM"), ("main-02", 2e6, "ok"),
    ]  # fmt: skip
    later = values(warehouse, read(warehouse), datetime.datetime(1970, 1, 3))
    assert len(list(later.rows)) == 1


def test_a_step_is_told_with_its_runs_commits_and_levels() -> None:
    """Over a gap the commits between are those of the runs that have values."""
    (row,) = found(runs(*QUIET, None, *(1.2 * value for value in QUIET[:6])))

    assert (row["kind"], row["verdict"], row["metric"], row["name"]) == ("step", "SLOWER", "latency", "m")
    assert (row["good_run_id"], row["since_run_id"], row["until_run_id"]) == ("main-09", "main-11", "main-11")
    assert (row["good_commit"], row["since_commit"]) == ("c09", "c11")
    assert (row["n_before"], row["n_after"]) == (10, 6)
    assert row["change"] == pytest.approx(0.2, abs=0.002)
    assert row["low"] < 0.2 < row["high"] and row["high"] - row["low"] < 0.03
    assert 0 < row["p"] < 0.01 and row["note"] is None


def test_the_interval_of_a_step_is_that_of_two_means() -> None:
    """Welch's, of their ratio; by scipy where the change is small."""
    rng = np.random.default_rng(0)
    before, after = rng.uniform(99, 101, 30), rng.uniform(104, 107, 20)
    ((row,),) = [find([series([*before, *after])]).rows]
    welch = stats.ttest_ind(after, before, equal_var=False).confidence_interval(0.95)

    assert (row["before"] * row["low"], row["before"] * row["high"]) == pytest.approx((welch.low, welch.high), abs=0.1)


def test_levels_that_do_not_move_have_an_interval_without_width() -> None:
    """A count that went from 3 to 5 did so by exactly two thirds."""
    ((row,),) = [find([series([3.0] * 20 + [5.0] * 20, unit="count")]).rows]  # type: ignore[arg-type]

    assert row["verdict"] == "WORSE"
    assert (row["before"], row["after"]) == pytest.approx((3.0, 5.0))
    assert row["low"] == row["high"] == pytest.approx(2 / 3)


def test_a_drift_has_a_first_and_a_last_run() -> None:
    """And no interval, for its levels are ends of a line."""
    noise = np.random.default_rng(1).normal(0, 0.5, 90)
    drifting = 100 + noise + 12 * np.clip((np.arange(90) - 30) / 30, 0, 1)
    ((row,),) = [find([series(list(drifting))]).rows]

    assert row["kind"] == "drift"
    assert datetime.datetime(2026, 1, 28) < row["since_at"] < datetime.datetime(2026, 2, 4)
    assert datetime.datetime(2026, 2, 24) < row["until_at"] < datetime.datetime(2026, 3, 6)
    assert (row["low"], row["high"]) == (None, None)
    assert row["change"] == pytest.approx(0.12, abs=0.01)


def test_an_excursion_is_told_with_its_runs_and_depth() -> None:
    """From the last run before it, over a gap, to its own last; it is no part of the level around it."""
    (row,) = found(runs(*QUIET, None, *[0.04 * value for value in QUIET[:4]], *QUIET))

    assert (row["kind"], row["verdict"], row["note"]) == ("excursion", "FASTER", None)
    assert (row["good_run_id"], row["since_run_id"], row["until_run_id"]) == ("main-09", "main-11", "main-14")
    assert (row["good_commit"], row["since_commit"], row["until_commit"]) == ("c09", "c11", "c14")
    assert (row["n_before"], row["n_after"]) == (20, 4)
    assert (row["before"], row["change"]) == (pytest.approx(1e6, rel=0.002), pytest.approx(-0.96, abs=0.001))
    assert -0.98 < row["low"] < row["change"] < row["high"] < -0.94


def test_an_excursion_may_begin_the_series() -> None:
    """Then there is no run before it."""
    ((row,),) = [find([series([3.0, 3.0, *QUIET, *QUIET])]).rows]

    assert (row["kind"], row["good_run_id"], row["since_run_id"], row["until_run_id"]) == (
        "excursion",
        None,
        "r0",
        "r1",
    )


def test_a_drift_over_all_of_a_series_is_since_its_first_run() -> None:
    """No run is before it; a step on its way has its own row, with the runs of the drift on either side."""
    rng = np.random.default_rng(7)
    place = np.arange(100)
    values = 100 + 0.08 * place + 8 * (place >= 60) + rng.standard_normal(100)
    drift, step = sorted(find([series(values.tolist())]).rows, key=lambda row: row["kind"])

    assert (drift["kind"], drift["since_run_id"], drift["good_run_id"], drift["n_before"]) == ("drift", "r0", None, 0)
    assert (step["kind"], step["n_before"], step["n_after"]) == ("step", 60, 39)


def test_a_series_of_two_levels_is_one_row() -> None:
    """Neither slower nor faster: UNSURE, with how often it changes, and the runs of each level."""
    both = [value * (1.3 if day // 4 % 2 else 1) for day, value in enumerate(QUIET * 4)]
    ((row,),) = [find([series(list(both))]).rows]

    assert (row["kind"], row["verdict"], row["note"]) == ("two levels", "UNSURE", "alternates, 9 times")
    assert (row["since_run_id"], row["until_run_id"], row["n_before"], row["n_after"]) == ("r4", "r36", 20, 20)
    assert row["change"] == pytest.approx(0.3, abs=0.005)


@pytest.mark.parametrize(
    ("unit", "better", "verdict"),
    [
        ("ns", "lower", "SLOWER"), ("tokens/s", "higher", "FASTER"), ("bytes", "lower", "WORSE"), ("ratio", "higher", "BETTER"),
        ("count", None, None),
    ],
)  # fmt: skip
def test_the_verdict_is_in_the_words_of_compare(unit: str, better: str | None, verdict: str | None) -> None:
    """Times and rates are faster or slower, the rest better or worse, what has no direction neither."""
    one = series([*(10 * value for value in QUIET), *(12 * value for value in QUIET)], unit=unit, better=better)

    assert [row["verdict"] for row in find([one]).rows] == [verdict]


@pytest.mark.exhaustive
def test_what_else_changed_is_said() -> None:
    """Another host, of those with too few runs to have a series each, another environment, or no other commit."""
    numbers = [*QUIET, *(1.3 * value for value in QUIET)]
    hosts, environments = [host for host in ("z", "a", "b", "y") for _ in range(5)], ["x"] * 10 + ["y"] * 10

    assert [row["note"] for row in found(runs(*numbers, host=hosts))] == ["host a → b"]
    assert [row["note"] for row in found(runs(*numbers, environment_id=environments))] == ["environment differs"]
    assert [row["note"] for row in found(runs(*numbers, git_commit="same"))] == ["same commit"]


def test_the_newest_change_comes_first_and_of_a_run_the_largest() -> None:
    """Those before `since` are left out, though they were found."""
    jumps = {"a": (10, 1.3), "b": (10, 1.5), "c": (20, 1.2)}
    many = [
        series([value * (factor if day >= at else 1) for day, value in enumerate(QUIET * 4)], name=name, case_id=name)
        for name, (at, factor) in jumps.items()
    ]

    assert [row["name"] for row in find(many).rows] == ["c", "b", "a"]
    since = find(many, since=datetime.datetime(2026, 1, 15))
    assert [row["name"] for row in since.rows] == ["c"]


def test_short_series_are_counted_and_not_judged() -> None:
    """Nine runs are enough to judge, and gaps are no runs."""
    history = find([series([1.0, None, *QUIET[:7]]), series(list(QUIET[:9]))])

    assert (len(history.series), history.judged, list(history.rows)) == (2, 1, [])


def test_a_small_change_can_be_passed_over() -> None:
    """Though it is sure."""
    one = series([*QUIET, *(1.05 * value for value in QUIET)])

    assert len(find([one]).rows) == 1
    assert not find([one], min_magnitude=0.1).rows


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_rates_of_false_alarms_are_those_of_scipy(p: list[float]) -> None:
    """Benjamini and Hochberg's, whatever the order of the tests."""
    assert false_discovery_rates(p) == pytest.approx(stats.false_discovery_control(p).tolist())


def test_many_quiet_series_raise_no_alarm() -> None:
    """Each alone would raise one in 50 or so; of 200 together none is said to have changed, but the one that has."""
    rng = np.random.default_rng(2)
    quiet = [series(list(100 + rng.standard_normal(40)), case_id=str(i)) for i in range(200)]
    loud = series([*(100 + rng.standard_normal(25)), *(106 + rng.standard_normal(15))], case_id="loud")

    assert {row["case_id"] for row in find([*quiet, loud]).rows} == {"loud"}


@pytest.mark.exhaustive
def test_models_are_chosen_by_a_part_of_the_name_or_a_pattern() -> None:
    """Whatever its case; what fits nothing names the nearest."""
    warehouse = runs(1.0, 1.0, name="BERT [base] 100%_'x'")

    def chosen(pattern: str) -> set[str]:
        choose(warehouse, {}, pattern)
        return {one.labels["name"] for one in read(warehouse)}

    for pattern in ("bert", "[BASE]", "100%_'X'", "bert*", "*'x?"):
        assert chosen(pattern) == {"BERT [base] 100%_'x'"}
    assert chosen("*") == {"BERT [base] 100%_'x'", "other"}
    with pytest.raises(UnknownName, match="Nearest: 'other'"):
        chosen("otter")
    with pytest.raises(UnknownName, match="no backend 'induktor'"):
        choose(warehouse, {"backend": ["induktor"]})


@exhaustive
def test_phases_that_are_not_warm_are_left_out_unless_named() -> None:
    """They are said; metrics of a run as a whole and those without direction belong to it."""
    builder: Any = Builder()
    for day in range(3):
        run_id = f"r{day}"
        one = case("m", run_id, **AXES)
        builder.add(run(run_id, "main", started_at=day * DAY), one, timing(one, 10, phase="cold"), timing(one, 5))
        builder.add(metric(one, "graph_breaks", 3.0, unit="count"))

    assert choose(builder, {}) == ["latency (cold)"]
    assert {(one.labels["metric"], one.labels["phase"]) for one in read(builder)} == {
        ("latency", "steady"), ("graph_breaks", None),
    }  # fmt: skip
    assert choose(builder, {"metric": ["latency"]}) == []
    assert {one.labels["phase"] for one in read(builder)} == {"cold", "steady"}


def test_an_empty_store_has_no_series(warehouse: Builder) -> None:
    """And nothing breaks."""
    choose(warehouse, {})

    assert read(warehouse) == []
    assert not find([]).rows
