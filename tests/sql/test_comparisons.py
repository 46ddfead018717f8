"""comparisons: a verdict for every case, whose doubt counts runs before samples, and which no failure slips past."""

import math
from datetime import datetime
from typing import Any

import numpy as np
import pytest
from bench.query.comparison.compare import compare as compare_sides
from bench.query.comparison.render import machines
from bench.query.comparison.sides import Side
from bench.warehouse.events import Event, Metric
from scipy import stats

from ..benchmarks.simulations.alarms import judge
from ..builders import Builder, case, chunk, memory, metric, outcome, run, timing
from ..exhaustive import exhaustive, first_of, sampled

AXES: dict[str, Any] = {"suite": "s", "mode": "inference", "device": "cpu", "dtype": "float32", "backend": "inductor"}
LOOSE = [100, 101, 102, 103, 104, 105, 106, 107, 108, 109]  # median 104.5, its interval 102 to 107


def measured(run_id: str, durations: list[int], name: str = "m", **axes: Any) -> list[Event]:
    """A case that went well, with its samples."""
    it = case(name, run=run_id, **{**AXES, **axes})
    return [it, outcome(it), *(timing(it, duration) for duration in durations)]


def compare(warehouse: Builder, base: list[str], candidate: list[str], floor: float = 0.02) -> list[dict[str, Any]]:
    """All rows, by name and metric."""
    query = "FROM comparisons(?, ?, floor := ?) ORDER BY name, backend, metric, phase"
    return warehouse.dicts(query, [base, candidate, floor])


def one(warehouse: Builder, base: list[str], candidate: list[str], floor: float = 0.02) -> dict[str, Any]:
    """The only row."""
    (row,) = compare(warehouse, base, candidate, floor)
    return row


def test_one_run_a_side_of_one_case_is_likely(warehouse: Builder) -> None:
    """Above 1 is better; the difference is candidate - base; how sessions differ is assumed, and part of the interval."""
    warehouse.add(run("a"), run("b"), *measured("a", LOOSE), *measured("b", [d // 2 for d in LOOSE]))

    row = one(warehouse, ["a"], ["b"])

    assert (row["verdict"], row["unit"], row["better"], row["p"]) == ("LIKELY FASTER", "ns", "lower", None)
    assert (row["base_value"], row["candidate_value"], row["difference"]) == (104.5, 52.0, -52.5)
    assert (row["base_runs"], row["base_n"], row["candidate_n"]) == (1, 10, 10)
    assert row["ratio"] == pytest.approx(104.5 / 52)
    reach = math.hypot(0.078, *(math.log(high / low) / 2 for low, high in ((101, 108), (50, 54))))
    assert (row["low"], row["high"]) == pytest.approx((row["ratio"] * math.exp(-reach), row["ratio"] * math.exp(reach)))
    assert (row["base_status"], row["candidate_status"]) == ("ok", "ok")
    assert row["reason"] == "assumes that sessions differ as public nightly runs do, 95 % within 7.8 %"
    assert row["evidence"] == "one run each"


@pytest.mark.parametrize(
    ("unit", "better", "expected"),
    first_of(2, [
        ("ns", "lower", "SLOWER"), ("tokens/s", "higher", "FASTER"), ("bytes", "lower", "WORSE"),
        ("ratio", "higher", "BETTER"), ("count", "lower", "WORSE"), ("ns", None, None),
    ]),
)  # fmt: skip
def test_a_verdict_speaks_of_time_or_of_worth(warehouse: Builder, unit: str, better: str | None, expected: str) -> None:
    """Times and rates are faster or slower, all else better or worse; without a direction there is none."""
    for run_id, value in (("a1", 100.0), ("a2", 101.0), ("a3", 102.0), ("b1", 200.0), ("b2", 202.0), ("b3", 204.0)):
        warehouse.add(run(run_id), metric(case("m", run=run_id), "x", value, unit=unit, better=better))

    row = one(warehouse, ["a1", "a2", "a3"], ["b1", "b2", "b3"])

    assert row["verdict"] == expected
    assert row["ratio"] == pytest.approx(1 / 2 if better == "lower" else 2)


def test_equal_within_the_margin_is_the_same(warehouse: Builder) -> None:
    """The whole interval must lie within it: else nothing was found, and the smallest effect that would have been is said."""
    for run_id, last in (("a1", 0), ("a2", 4), ("b1", 0), ("b2", 4)):
        warehouse.add(run(run_id), *measured(run_id, [d + last for d in LOOSE]))
    base, candidate = ["a1", "a2"], ["b1", "b2"]

    assert one(warehouse, base, candidate, 0.5)["verdict"] == "SAME"
    row = one(warehouse, base, candidate, 0.02)
    assert (row["verdict"], row["evidence"]) == ("UNSURE", "2 against 2 runs")
    assert row["p"] == pytest.approx(1.0, abs=1e-6)
    assert row["reason"].startswith(
        f"no difference found (smallest detectable: {100 * row['detectable']:.1f} %); noise"
    )


def test_a_difference_below_the_margin_is_no_verdict(warehouse: Builder) -> None:
    """1 % beyond doubt, which might matter or not at a margin of 1.01 %."""
    for run_id, level in (
        ("a1", 10_000),
        ("a2", 10_002),
        ("a3", 10_004),
        ("b1", 10_100),
        ("b2", 10_102),
        ("b3", 10_104),
    ):
        warehouse.add(run(run_id), *measured(run_id, [level + i for i in range(10)]))
    base, candidate = ["a1", "a2", "a3"], ["b1", "b2", "b3"]

    assert one(warehouse, base, candidate, 0.005)["verdict"] == "SLOWER"
    assert one(warehouse, base, candidate, 0.02)["verdict"] == "SAME"
    assert one(warehouse, base, candidate, 0.0101)["reason"].startswith("a difference, but it may be less than 1.01 %")


@pytest.mark.exhaustive
def test_single_samples_are_judged_by_what_sessions_do(warehouse: Builder) -> None:
    """Public nights are single numbers, too: twice as fast is likely, 7 % is not, and the interval says why."""
    warehouse.add(run("a"), run("b"), *measured("a", [100]), *measured("b", [50]))

    row = one(warehouse, ["a"], ["b"])

    assert (row["verdict"], row["ratio"], row["p"], row["detectable"]) == ("LIKELY FASTER", 2.0, None, None)
    assert (row["low"], row["high"]) == pytest.approx((2 * math.exp(-0.078), 2 * math.exp(0.078)))
    warehouse.add(run("c"), *measured("c", [107]))
    assert one(warehouse, ["a"], ["c"])["verdict"] == "UNSURE"


@pytest.mark.parametrize(
    ("processes", "change", "verdict"),
    sampled(
        [
            (5, 10, "LIKELY SLOWER"),
            (5, 20, "LIKELY SLOWER"),
            (5, 30, "SLOWER"),
            (20, 9, "LIKELY SLOWER"),
            (20, 10, "SLOWER"),
        ],
        (20, 9, "LIKELY SLOWER"),
        (20, 10, "SLOWER"),
    ),
)
def test_processes_of_one_session_are_sure_beyond_what_unchanged_nights_do(
    warehouse: Builder, processes: int, change: int, verdict: str
) -> None:
    """One public night in two hundred is 23 % from the next though nothing changed, and of files of 20 processes 9 %."""
    for run_id, ns in (("a", 10_000), ("b", 10_000 + 100 * change)):
        it = case("m", run=run_id, **AXES)
        warehouse.add(run(run_id), it, outcome(it), *(timing(it, ns + part, process=part) for part in range(processes)))

    assert one(warehouse, ["a"], ["b"], 0.03)["verdict"] == verdict


@pytest.mark.parametrize("processes", sampled([1, 5, 20], 20))
@pytest.mark.parametrize(
    ("cases", "apart", "noise"), first_of(2, [(50, 0.05, 0.16), (9, 0.7, 0.01), (30, 0.3, 0.02), (7, 0.2, 0.02), (12, 0, 0.03)])
)  # fmt: skip
def test_one_run_a_side_is_judged_as_the_study_says(processes: int, cases: int, apart: float, noise: float) -> None:
    """Intervals and verdicts of cases that changed by factors of their own, of one process or several that agree within 5 %."""
    rng = np.random.default_rng(cases)
    logs = np.stack([np.zeros(cases), rng.normal(np.linspace(-apart, apart, cases), noise)])
    logs[1] -= np.median(logs[1])  # what all share has an error of its own
    warehouse = Builder()
    for run_id, values in zip("ab", 1e9 * np.exp(logs), strict=True):
        warehouse.add(run(run_id))
        for index, value in enumerate(values):
            it = case(f"m{index:02}", run=run_id, **AXES)
            warehouse.add(it, outcome(it))
            for process, apart_by in enumerate(0.05 / processes * (np.arange(processes) - processes // 2)):
                ns = round(value * np.exp(apart_by))
                warehouse.add(timing(it, ns, process=process if processes > 1 else None))

    rows = compare(warehouse, ["a"], ["b"], 0.03)

    own = 0.05 / processes * float(np.std(np.arange(processes), ddof=1)) if processes > 1 else 0.0
    reach = math.sqrt(2) * float(stats.t.ppf(0.975, processes - 1)) * own / math.sqrt(processes) if own else None
    found = judge(np.exp(logs[:1]), np.exp(logs[1:]), is_history=False, processes=reach, counted=processes)
    widths = [math.log(row["high"] / row["low"]) for row in rows]
    assert widths == pytest.approx((found.high - found.low).tolist(), rel=1e-3)
    assert [row["verdict"].startswith("LIKELY") for row in rows] == found.likely.tolist()
    assert [row["verdict"] in ("SLOWER", "FASTER") for row in rows] == found.called.tolist()
    assert any(found.likely | found.called) or apart < 0.1


@exhaustive
def test_no_change_stands_beside_an_interval_that_holds_1(warehouse: Builder) -> None:
    """A change by 6 to 14 % of two runs a side that are 3 % apart: q within 15 % is not enough where the interval holds 1."""
    for step in range(6, 15):
        it = {"a1": 100, "a2": 103, "b1": 100 + step, "b2": 103 + step}
        warehouse.add(*(run(f"{run_id}-{step}") for run_id in it))
        warehouse.add(
            *(metric(case("m", run=f"{run_id}-{step}"), "x", x, unit="ns", better="lower") for run_id, x in it.items())
        )
    rows = [one(warehouse, [f"a1-{step}", f"a2-{step}"], [f"b1-{step}", f"b2-{step}"], 0.03) for step in range(6, 15)]

    assert [row["verdict"] != "UNSURE" for row in rows] == [row["high"] < 1 for row in rows]
    assert {row["verdict"] for row in rows if row["q"] <= 0.15} == {"UNSURE", "SLOWER"}


@pytest.mark.parametrize(
    ("shared", "step", "verdict", "told"),
    first_of(2, [
        (1.12, 0.89, "FASTER", "; 1.12x faster than all cases together (95 % 1.12–1.13), which share +12.0 %"),
        (1.028, 0.9685, "UNSURE", "changed beyond the +2.8 % that all cases share, but not as it stands"),
        (1.025, 0.9, "FASTER", "q below 0.001"),
    ]),
)  # fmt: skip
def test_what_all_share_is_part_of_the_interval_or_the_reason_has_one_without(
    warehouse: Builder, shared: float, step: float, verdict: str, told: str
) -> None:
    """Of 24 cases, one changed by another factor: less than the floor that all share is in the interval that is judged."""
    for run_id, factor in (("a1", 1.0), ("a2", 1.005), ("a3", 0.995), ("b1", 1.0), ("b2", 1.005), ("b3", 0.995)):
        warehouse.add(run(run_id))
        for number in range(24):
            it = case(f"m{number:02}", run=run_id)
            value = 1000 * factor * (1 if run_id < "b" else shared * (1 if number else step))
            warehouse.add(it, metric(it, "x", value, unit="ns", better="lower"))

    row, *_ = compare(warehouse, ["a1", "a2", "a3"], ["b1", "b2", "b3"], 0.03)

    assert row["verdict"] == verdict, row
    assert told in row["reason"]


def test_a_speedup_says_whether_its_baseline_changed(warehouse: Builder) -> None:
    """The backend takes as long as before, and its speedup is lower: eager got faster."""
    for run_id, speedup in (("a", 2.0), ("b", 1.6)):
        it = case("m", run=run_id, backend="inductor")
        warehouse.add(
            run(run_id), it, outcome(it), metric(it, "speedup", speedup, unit="ratio", better="higher"),
            metric(it, "absolute_latency", 1000, unit="ns", better="lower"),
        )  # fmt: skip
    reasons = {row["metric"]: row["reason"] for row in compare(warehouse, ["a"], ["b"], 0.03)}

    assert "the baseline is 1.25x faster, the backend itself the same within 3 %" in reasons["speedup"]
    assert "baseline" not in reasons["absolute_latency"]


@pytest.mark.parametrize(
    ("base", "candidate", "expected"), first_of(2, [(0, 3, "WORSE"), (3, 0, "BETTER"), (3, 3, "SAME"), (0, 0, "SAME")])
)
def test_counts_are_exact(warehouse: Builder, base: float, candidate: float, expected: str) -> None:
    """Graph breaks do not scatter: none before and three now is worse, though there is no ratio."""
    for run_id, value in (("a", base), ("b", candidate)):
        warehouse.add(run(run_id), metric(case("m", run=run_id), "graph_breaks", value, unit="count", better="lower"))

    row = one(warehouse, ["a"], ["b"])

    assert (row["verdict"], row["difference"]) == (expected, candidate - base)
    assert row["reason"] == ("equal" if base == candidate else "a count, exact")


def test_a_value_of_zero_has_no_ratio(warehouse: Builder) -> None:
    """Never infinity."""
    for run_id, value in (("a", 0.0), ("b", 5.0)):
        warehouse.add(run(run_id), metric(case("m", run=run_id), "x", value, unit="ns", better="lower"))

    row = one(warehouse, ["a"], ["b"])

    assert (row["verdict"], row["ratio"], row["difference"]) == ("UNSURE", None, 5.0)
    assert row["reason"] == "a value of 0 or less has no ratio"


def test_the_run_is_the_unit_of_evidence(warehouse: Builder) -> None:
    """Runs that scatter by 5 % make a difference of 4 % nothing, however tight the samples of each are."""
    rng = np.random.default_rng(1)
    names = [f"h{i}" for i in range(12)]
    for i, run_id in enumerate([*names, "new"]):
        warehouse.add(run(run_id, config="branch" if run_id == "new" else "main", started_at=i))
        for name in "xyz":
            level = 1e6 * (0.96 if run_id == "new" else math.exp(0.05 * rng.standard_normal()))
            warehouse.add(*measured(run_id, [int(level) + d for d in range(10)], name=name))

    rows = compare(warehouse, ["h11"], ["new"])

    assert {row["verdict"] for row in rows} == {"UNSURE"}
    assert all(0.02 < row["noise"] < 0.1 and row["high"] / row["low"] > 1.1 for row in rows)
    assert all("noise of a run" in row["reason"] for row in rows)


def test_the_change_is_no_noise(warehouse: Builder) -> None:
    """Two runs of one config that differ by half say nothing of how much its runs differ: that is assumed."""
    warehouse.add(run("a", config="main", started_at=1), run("b", config="main", started_at=2))
    warehouse.add(*measured("a", [1000 + d for d in range(10)]), *measured("b", [1500 + d for d in range(10)]))

    row = one(warehouse, ["a"], ["b"])
    assert (row["verdict"], row["noise"]) == ("LIKELY SLOWER", None)

    for i in (3, 4):  # now there are runs that tell
        warehouse.add(run(f"b{i}", config="main", started_at=i), *measured(f"b{i}", [1500 + i + d for d in range(10)]))
    row = one(warehouse, ["a"], ["b"])
    assert row["verdict"] == "SLOWER"
    assert row["noise"] < 0.01


def test_several_runs_a_side_are_their_median(warehouse: Builder) -> None:
    """One bad machine among three changes nothing; the runs are counted, and one named twice counts once."""
    for run_id, level in (("a1", 100), ("a2", 102), ("a3", 400), ("b1", 50), ("b2", 51)):
        warehouse.add(run(run_id, config=run_id[0]), *measured(run_id, [1000 * level + d for d in range(10)]))

    row = one(warehouse, ["a1", "a2", "a3", "a3"], ["b1", "b2"])

    assert (row["base_value"], row["candidate_value"]) == (102004.5, 50504.5)
    assert (row["base_runs"], row["candidate_runs"], row["base_n"]) == (3, 2, 30)
    assert row["evidence"] == "3 against 2 runs, confirmed"


@pytest.mark.parametrize(
    ("slow", "expected", "reason"),
    [(3, "UNSURE", "the runs of both sides overlap, as chance may have it"), (5, "SLOWER", "q below 0.001")],
)
def test_runs_at_two_speeds_are_told_apart_by_all_of_them(
    warehouse: Builder, slow: int, expected: str, reason: str
) -> None:
    """The median of the candidate is at the slower speed with three of its five runs: the ranks of all do not say so."""
    for place in range(5):
        for side, ns in (("a", 1_000_000 + place), ("b", 1_150_000 + place if place < slow else 1_000_000 - place)):
            warehouse.add(run(f"{side}{place}"), *measured(f"{side}{place}", [ns] * 10))

    row = one(warehouse, [f"a{place}" for place in range(5)], [f"b{place}" for place in range(5)])

    assert (row["verdict"], row["reason"].partition(";")[0]) == (expected, reason)
    assert (row["low"] < 1 <= row["high"]) == (expected == "UNSURE")


def test_a_case_that_fails_now_is_broken(warehouse: Builder) -> None:
    """With the reason; its numbers until then do not count. Failing before and running now is the mirror image."""
    fine, broken = measured("a", LOOSE), case("m", run="b", **AXES)
    warehouse.add(run("a"), run("b"), *fine, broken, timing(broken, 1), outcome(broken, "OOM", reason="out of memory"))

    there, here = one(warehouse, ["a"], ["b"]), one(warehouse, ["b"], ["a"])

    assert (there["verdict"], there["base_value"], there["candidate_value"], there["ratio"]) == (
        "BROKEN",
        104.5,
        None,
        None,
    )
    assert (there["base_status"], there["candidate_status"]) == ("ok", "OOM")
    assert there["reason"] == "candidate OOM: out of memory"
    assert (here["verdict"], here["reason"]) == ("FIXED", "base OOM: out of memory")


@pytest.mark.exhaustive
def test_a_case_that_fails_on_both_sides_is_still_a_row(warehouse: Builder) -> None:
    """Without a metric; nothing is dropped in silence."""
    for run_id, status in (("a", "OOM"), ("b", "timeout")):
        it = case("m", run=run_id, **AXES)
        warehouse.add(run(run_id), it, outcome(it, status))

    row = one(warehouse, ["a"], ["b"])

    assert (row["name"], row["metric"], row["verdict"]) == ("m", None, "UNSURE")
    assert row["reason"] == "base OOM; candidate timeout"


def test_a_case_that_fails_in_some_runs_says_so(warehouse: Builder) -> None:
    """The others count."""
    broken = case("m", run="b2", **AXES)
    warehouse.add(
        run("a"), run("b1"), run("b2"), *measured("a", LOOSE), *measured("b1", LOOSE), broken, outcome(broken, "OOM")
    )

    row = one(warehouse, ["a"], ["b1", "b2"])

    assert (row["candidate_runs"], row["candidate_status"]) == (1, "OOM")
    assert row["reason"].endswith("; candidate OOM in 1 of 2 runs")


def test_a_fast_wrong_answer_is_no_answer(warehouse: Builder) -> None:
    """Accuracy that was a pass and is none voids the numbers; where it was wrong before, they compare."""
    right, wrong = measured("a", LOOSE), measured("b", [d // 2 for d in LOOSE])
    warehouse.add(run("a"), run("b"), *right, *wrong)
    before, after = (case("m", run=run_id, **AXES) for run_id in "ab")
    warehouse.add(outcome(before, "pass", kind="accuracy"), outcome(after, "fail_accuracy", kind="accuracy"))

    assert (row := one(warehouse, ["a"], ["b"]))["verdict"] == "BROKEN"
    assert row["reason"] == "candidate fail_accuracy"
    assert one(warehouse, ["b"], ["a"])["verdict"] == "FIXED"
    assert one(warehouse, ["b"], ["b"])["verdict"] == "UNSURE"


@pytest.mark.exhaustive
def test_a_side_without_runs_has_no_noise_of_its_own(warehouse: Builder) -> None:
    """Though its config has a short history of the case: the other side's holds for it, and nothing is below 0."""
    for config in "ab":
        for number in range(2):
            run_id = f"{config}{number}"
            warehouse.add(run(run_id, config, started_at=number))
            warehouse.add(
                *measured(run_id, [1000 + number] * 6), *measured(run_id, [1000 + number] * 6, f"only {config}")
            )

    rows = compare(warehouse, ["a0", "a1"], ["b0", "b1"])

    assert [row["verdict"] for row in rows] == ["SAME", "REMOVED", "ADDED"]
    assert all(row["noise"] > 0 and row["ratio"] is None for row in rows[1:])


def test_another_backend_is_no_match(warehouse: Builder) -> None:
    """It is another case, on one side only."""
    warehouse.add(run("a"), run("b"), *measured("a", LOOSE), *measured("b", LOOSE, backend="eager"))

    rows = compare(warehouse, ["a"], ["b"])

    assert [(row["backend"], row["verdict"], row["reason"]) for row in rows] == [
        ("eager", "ADDED", "not measured by the base"), ("inductor", "REMOVED", "not measured by the candidate"),
    ]  # fmt: skip


FEW = "fewer than 6 samples on a side"


@pytest.mark.parametrize(("samples", "verdict"), first_of(1, [(5, "LIKELY SLOWER"), (6, "SLOWER")]))
def test_few_samples_beside_many_are_no_more_than_likely(warehouse: Builder, samples: int, verdict: str) -> None:
    """The runs of the base tell how runs differ, not how much one sample of the candidate may be off."""
    for number in range(5):
        warehouse.add(run(f"a{number}"), *measured(f"a{number}", [d + number for d in LOOSE]))
    warehouse.add(run("b"), *measured("b", [3 * d for d in LOOSE[:samples]]))

    row = one(warehouse, [f"a{number}" for number in range(5)], ["b"])

    assert row["verdict"] == verdict
    assert row["reason"].startswith(FEW) == (samples < 6) == (row["p"] is None)


def test_one_sample_a_run_on_both_sides_is_judged(warehouse: Builder) -> None:
    """If no run has more, the runs tell what a sample may be off."""
    for side, level in (("a", 100), ("b", 200)):
        for number in range(3):
            warehouse.add(run(f"{side}{number}"), *measured(f"{side}{number}", [level + number]))

    assert one(warehouse, ["a0", "a1", "a2"], ["b0", "b1", "b2"])["verdict"] == "SLOWER"


@pytest.mark.exhaustive
def test_runs_of_one_sample_vary_as_the_samples_of_the_other_side(warehouse: Builder) -> None:
    """Six runs of one sample each may happen to lie close together: the error is that of samples which vary by a third."""
    wide = [70, 80, 90, 100, 110, 120, 130, 140]
    for number in range(6):
        warehouse.add(run(f"a{number}"), *measured(f"a{number}", [d + number for d in wide]))
        warehouse.add(run(f"b{number}"), *measured(f"b{number}", [130 + number]))

    row = one(warehouse, [f"a{number}" for number in range(6)], [f"b{number}" for number in range(6)])

    assert row["verdict"] == "UNSURE"
    assert row["low"] < 1 / 1.2


@pytest.mark.exhaustive
def test_a_bin_of_few_steps_is_no_more_than_likely(warehouse: Builder) -> None:
    """A preempted step takes several times as long, and in a bin of one step it is all there is."""
    for run_id, slow in (("a0", 10.0), ("a1", 11.0), ("a2", 10.5), ("b0", 40.0), ("b1", 10.0), ("b2", 42.0)):
        steps = [chunk(line, [64], run=run_id, model_run_ms=10.0 + line % 3 / 10) for line in range(60)]
        warehouse.add(run(run_id), *steps, chunk(60, [5000], run=run_id, model_run_ms=slow))

    rows = {
        row["parameters"]: row
        for row in compare(warehouse, ["a0", "a1", "a2"], ["b0", "b1", "b2"])
        if row["metric"] == "model_run"
    }

    assert rows['{"tokens":"64–127"}']["verdict"] == "SAME"
    assert rows['{"tokens":"4096–8191"}']["verdict"] == "LIKELY SLOWER"
    assert rows['{"tokens":"4096–8191"}']["reason"].startswith(FEW)


def test_steps_of_a_scheduler_are_told_apart_by_their_tokens(warehouse: Builder) -> None:
    """They are cases of no plan, and have axes all the same."""
    for run_id in ("a", "b"):
        warehouse.add(run(run_id), *(chunk(line, [64], run=run_id, model_run_ms=10.0) for line in range(40)))

    axes = {(row["suite"], row["name"], row["parameters"]) for row in compare(warehouse, ["a"], ["b"])}

    assert axes == {("scheduler", "step", f'{{"tokens":"{bin}"}}') for bin in ("64–127", "all")}


def test_metrics_and_phases_are_compared_apart(warehouse: Builder) -> None:
    """A value of the run as a whole is matched with its like."""
    for run_id in "ab":
        it = case("m", run=run_id, **AXES)
        warehouse.add(run(run_id), it, outcome(it), timing(it, 5), timing(it, 9, phase="cold"), memory(it, 64))
        warehouse.add(Metric(run_id=run_id, metric="total", value=1.0))

    assert [(row["name"], row["metric"], row["phase"], row["ratio"]) for row in compare(warehouse, ["a"], ["b"])] == [
        ("m", "latency", "cold", 1.0), ("m", "latency", "steady", 1.0), ("m", "rss_peak", None, 1.0), (None, "total", None, 1.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kib", "factor", "runs", "verdict"),
    first_of(1, [(76, 1.37, 3, "UNSURE"), (1, 5, 20, "UNSURE"), (100_000, 1.37, 3, "WORSE")]),
)
def test_memory_that_the_meter_cannot_tell_apart_is_unsure(
    warehouse: Builder, kib: int, factor: float, runs: int, verdict: str
) -> None:
    """However many runs agree that it grew: of a few pages each may be 768 KiB too low, and of 100 MB that is nothing."""
    for number in range(2 * runs):
        it = case("m", name := f"{'ab'[number % 2]}{number}")
        size = kib * 1024 * (factor if number % 2 else 1) + number
        warehouse.add(run(name, "c"), it, outcome(it), memory(it, round(size), error_bound_bytes=768 << 10))

    base, candidate = ([f"{'ab'[at]}{number}" for number in range(at, 2 * runs, 2)] for at in (0, 1))
    row = one(warehouse, base, candidate)
    assert (row["metric"], row["verdict"]) == ("rss_peak", verdict)


def test_calls_that_warm_up_have_no_verdict(warehouse: Builder) -> None:
    """Twice as slow in four runs, they are neither a finding nor one of the comparisons that q counts."""
    for number in range(8):
        it = case("m", name := f"{'ab'[number % 2]}{number}")
        factor = 1 + number % 2
        warm = (timing(it, 1000 * factor + i + number, phase="warmup") for i in range(10))
        steady = (timing(it, 1000 + i + number) for i in range(10))
        warehouse.add(run(name, "c"), it, outcome(it), *warm, *steady)

    rows = compare(warehouse, ["a0", "a2", "a4", "a6"], ["b1", "b3", "b5", "b7"])
    assert {(row["metric"], row["phase"]): (row["verdict"], row["reason"].split(";")[0]) for row in rows} == {
        ("latency", "warmup"): (None, "calls that warm up"),
        ("latency", "steady"): ("SAME", "within 2 %"),
    }


@pytest.mark.parametrize(
    ("base", "candidate"), first_of(1, [(["nobody"], ["'; DROP TABLE runs; --"]), (None, None), ([], [])])
)
def test_nothing_to_compare_is_no_row(warehouse: Builder, base: list[str] | None, candidate: list[str] | None) -> None:
    """No runs, unknown ones, hostile names."""
    warehouse.add(run("a"), *measured("a", LOOSE))

    assert warehouse.rows("FROM comparisons(?::VARCHAR[], ?::VARCHAR[])", [base, candidate]) == []


@pytest.mark.parametrize("repeats", sampled([1, 3], 3))
def test_intervals_cover_and_identical_sides_are_not_told_apart(repeats: int) -> None:
    """Lognormal runs of known noise: 95 % intervals cover 1 in 94 % or more; 5 % at most are called faster or slower."""
    rng = np.random.default_rng(7)
    runs, names = [f"r{i:02}" for i in range(24)], [f"m{i}" for i in range(120)]
    warehouse = Builder().add(*(run(run_id, config="main", started_at=i) for i, run_id in enumerate(runs)))
    noise = {name: 0.02 * math.exp(0.4 * rng.standard_normal()) for name in names}  # cases differ in theirs
    for run_id in runs:
        events: list[Event] = []
        for name in names:
            level = 1e6 * math.exp(noise[name] * rng.standard_normal())
            events += measured(run_id, [int(level * math.exp(0.03 * z)) for z in rng.standard_normal(8)], name=name)
        warehouse.add(*events)

    rows = []
    for i in range(0, 24, 2 * repeats):
        rows += compare(warehouse, runs[i : i + repeats], runs[i + repeats : i + 2 * repeats])

    covered = sum(row["low"] <= 1 <= row["high"] for row in rows) / len(rows)
    assert covered >= 0.94
    assert sum(row["verdict"] in ("FASTER", "SLOWER") for row in rows) / len(rows) <= 0.05


def test_an_effect_of_ten_percent_is_seen() -> None:
    """The price of honesty is not blindness: three runs a side of 2 % noise show 10 % of ten cases in 40 mostly."""
    rng = np.random.default_rng(8)
    warehouse = Builder()
    for side, level in (("a", 1.0), ("b", 1.1)):
        for i in range(3):
            events: list[Event] = [run(f"{side}{i}", config=side, started_at=i)]
            for name in range(40):
                value = 1e6 * (level if name < 10 else 1) * math.exp(0.02 * rng.standard_normal())
                events += measured(f"{side}{i}", [int(value) + d for d in range(8)], name=f"m{name}")
            warehouse.add(*events)

    rows = compare(warehouse, ["a0", "a1", "a2"], ["b0", "b1", "b2"])

    assert sum(row["verdict"] == "SLOWER" for row in rows) >= 8
    assert not any(row["verdict"] == "FASTER" for row in rows)


def doctored(run_id: str, minute: int, floor: float, governor: str, host: str = "box") -> list[Event]:
    """What bench doctor found on a host: its noise floor, and the governor of the processors."""
    noise, clock = (case(name, run=run_id, suite="doctor") for name in ("noise floor", "governor"))
    return [
        run(run_id, "doctor", "doctor", suite="doctor", host=host, started_at=datetime(2026, 11, 1, 12, minute)),
        noise, outcome(noise, "ok" if floor < 0.01 else "warning", reason=f"{floor:.2%}"),
        metric(noise, "noise_floor", floor, unit="ratio", better="lower"),
        clock, outcome(clock, "ok", reason=governor),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("earlier", "newest", "told", "said"),
    first_of(
        2,
        [
            (0.9, 0.001, 0.078, "public nightly runs do, 95 % within 7.8 %"),
            (0.001, 0.2, 0.2 * 1.96 / 2.8016, "equal sides did for bench doctor, 95 % within 14.0 %"),
        ],
    ),
)
def test_sessions_are_taken_to_differ_as_much_as_the_newest_doctor_of_the_host_saw(
    warehouse: Builder, earlier: float, newest: float, told: float, said: str
) -> None:
    """A noisy host widens what is assumed of times; one second of quiet narrows nothing, and memory is not timed."""
    for run_id, durations in (("a", LOOSE), ("b", [d // 2 for d in LOOSE])):
        warehouse.add(run(run_id, host="box"), *measured(run_id, durations))
        it = case("m", run=run_id, **AXES)
        warehouse.add(metric(it, "rss_peak", float(sum(durations)), unit="bytes", better="lower"))
    warehouse.add(*doctored("d1", 1, earlier, "x"), *doctored("d2", 2, newest, "x"))
    time, size = compare(warehouse, ["a"], ["b"])

    samples = [math.log(high / low) / 2 for low, high in ((101, 108), (50, 54))]
    assert time["high"] == pytest.approx(time["ratio"] * math.exp(math.hypot(told, *samples)), rel=1e-3)
    assert time["reason"] == f"assumes that sessions differ as {said}"
    assert size["reason"] == "assumes that sessions differ as public nightly runs do, 95 % within 3.8 %"


@pytest.mark.exhaustive
def test_sides_whose_doctors_differ_are_told_first(warehouse: Builder) -> None:
    """By the doctor that is nearest in time on each host; a number that a check measures differs if one needs a cure."""
    for run_id, host in (("a", "one"), ("b", "two")):
        warehouse.add(run(run_id, host=host, started_at=datetime(2026, 11, 1, 12)), *measured(run_id, LOOSE))
        warehouse.add(*doctored(f"far-{host}", 59, 0.5, "unlike", host))
    warehouse.add(*doctored("near-one", 1, 0.002, "performance", "one"))
    sides = Side("a", ("a",)), Side("b", ("b",))
    assert "noise floor: ok → warning" in next(machines(compare_sides(warehouse, *sides)))
    warehouse.add(*doctored("near-two", 2, 0.004, "powersave", "two"))

    found = compare_sides(warehouse, *sides)
    first, second = machines(found)
    assert first == "bench doctor found the sides' machines different: governor: performance → powersave"
    assert second.startswith("other hosts, and no processor is known: one → two; ")
    assert [*machines(compare_sides(warehouse, sides[0], sides[0]))] == []
