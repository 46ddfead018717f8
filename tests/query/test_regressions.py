"""What is judged, what counts against it, and in which order it is told."""

from collections.abc import Sequence
from typing import Any

import pytest
from bench.query.regression.regressions import (
    Limits,
    RegressionRule,
    choose,
    doubtful,
    exit_code,
    judge,
    judged_runs,
    large_and_unsure,
)
from bench.warehouse.errors import UnknownName
from bench.warehouse.events import Environment, Event, Json

from ..builders import Builder, case, memory, outcome, run, timing

HOUR = 3_600_000_000
AXES: dict[str, Any] = {"suite": "s", "mode": "inference", "device": "cpu", "dtype": "float32"}

ASSUMED = "assumes that sessions differ as public nightly runs do, 95 % within {} %"


def history(warehouse: Builder, *runs: tuple[str, int, str | None, dict[str, Any]]) -> Any:
    """Runs of config main: id, hour, commit and what else there is; clean unless said otherwise."""
    for run_id, hour, commit, other in runs:
        fields = {"config": "main", "git_dirty": False, **other}
        warehouse.add(run(run_id, started_at=hour * HOUR, git_commit=commit, **fields))
    return warehouse


def test_repeats_are_judged_together(warehouse: Builder) -> None:
    """Runs of one clean commit and config within half a day, wherever the one that is named stands among them."""
    store = history(
        warehouse,
        ("long-ago", 0, "c1", {}), ("before", 40, "c0", {}), ("first", 50, "c1", {}), ("again", 51, "c1", {}),
        ("dirty", 52, "c1", {"git_dirty": True}), ("unsure", 52, "c1", {"git_dirty": None}),
        ("other-config", 52, "c1", {"config": "o"}),
        ("other-code", 53, "c2", {}), ("next-day", 74, "c1", {}), ("gitless-1", 75, None, {}), ("gitless-2", 75, None, {}),
    )  # fmt: skip

    assert judged_runs(store, "first") == judged_runs(store, "again") == ["first", "again"]
    for alone in ("long-ago", "before", "dirty", "unsure", "other-code", "next-day", "gitless-1", "gitless-2"):
        assert judged_runs(store, alone) == [alone]


def test_a_run_made_to_confirm_another_is_its_repeat(warehouse: Builder) -> None:
    """However much later it was made, whichever of them is named."""
    tags = {"tags": Json('{"confirms": "first"}')}
    store = history(
        warehouse,
        ("before", 0, "c0", {}),
        ("first", 50, None, {}),
        ("then", 90, None, tags),
        ("once-more", 91, None, tags),
    )

    assert all(judged_runs(store, name) == ["first", "then", "once-more"] for name in ("first", "then", "once-more"))


def test_where_all_runs_are_of_one_commit_the_newest_is_judged_by_the_others(warehouse: Builder) -> None:
    """A try-out in one afternoon, or a repository that holds only the benchmarks: nothing came before, but they differ."""
    store = history(warehouse, *((f"run-{hour}", hour, "c1", {}) for hour in range(6)))

    assert judged_runs(store, "latest") == ["run-5"]
    store.add(run("sure", config="main", started_at=7 * HOUR, tags=Json('{"confirms": "run-5"}')))
    assert judged_runs(store, "latest") == ["run-5", "sure"]


def measured(run_id: str, speedups: dict[str, float], *, slow: float = 1.0, **statuses: str) -> list[Event]:
    """A run whose cases take 1 ms by inductor, times `slow`; eager takes so many times as long."""
    events: list[Event] = []
    for name, speedup in speedups.items():
        for backend, ns in (("eager", 1e6 * speedup), ("inductor", 1e6)):
            it = case(name, run=run_id, backend=backend, **AXES)
            status = statuses.get(name, "ok") if backend == "inductor" else "ok"
            events += [
                it,
                outcome(it, status, reason="said why" if status != "ok" else None),
                timing(it, round(ns * slow)),
            ]
    return events


def told(warehouse: Builder, runs: Sequence[str], **limits: float) -> list[tuple[Any, ...]]:
    """Verdict, name, metric and reason of what would be shown."""
    rows = judge(warehouse, runs, RegressionRule(), Limits(**limits))
    return [
        (row["verdict"], row["name"], row["metric"], row["reason"])
        for row in rows
        if row["verdict"] not in ("UNSURE", "SAME", "ADDED")
    ]


@pytest.mark.exhaustive
def test_a_speedup_that_falls_below_its_limit_is_flagged(warehouse: Builder) -> None:
    """If it was within it in the run before; one that was beyond it already, or is new, is not. Limits can be moved."""
    store = history(warehouse, ("r1", 0, "c0", {}), ("r2", 24, "c1", {}))
    warehouse.add(*measured("r1", {"falls": 1.2, "low": 0.8}), *measured("r2", {"falls": 0.9, "low": 0.8, "new": 0.5}))

    assert told(warehouse, ["r2"]) == [
        ("WORSE", "falls", "speedup", "speedup 0.900 is below 0.95"),
        ("LIKELY FASTER", "falls", "latency", ASSUMED.format(7.8)),
    ]
    assert told(warehouse, ["r2"], min_speedup=0.85) == [("LIKELY FASTER", "falls", "latency", ASSUMED.format(7.8))]
    (row,) = (row for row in judge(store, ["r2"], RegressionRule(), Limits()) if row["finding"] == "limit")
    assert (row["finding"], row["baseline"], row["value"], row["better"]) == (
        "limit",
        1.2,
        pytest.approx(0.9),
        "higher",
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("earlier", "reason"),
    [(0, "first run on new, 8 cores"), (2, "only 2 earlier on new, 8 cores: 3 are needed"), (3, None)],
)
def test_a_limit_crossed_on_a_new_class_of_machine_is_unsure(
    warehouse: Builder, earlier: int, reason: str | None
) -> None:
    """A ratio depends on the processor, too: exit 4 until the class has three earlier runs, as for every other number."""
    warehouse.add(*(Environment(environment_id=name, cpu=name, logical_cores=8) for name in ("new", "usual")))
    nights = ["new"] * earlier + ["usual"] * 3 + ["new"]
    history(warehouse, *((f"r{at}", 24 * at, f"c{at}", {"environment_id": name}) for at, name in enumerate(nights)))
    for at in range(len(nights)):
        warehouse.add(*measured(f"r{at}", {"m": 1.2 if at + 1 < len(nights) else 0.5}))

    rows = judge(warehouse, [f"r{earlier + 3}"], RegressionRule(), Limits())
    found = [(row["verdict"], row["reason"]) for row in rows if row["finding"] == "limit"]
    if reason is None:
        assert [verdict for verdict, _ in found] == ["SAME"]  # what was compiled did not move
    else:
        assert found == [("UNSURE", f"{reason}; speedup 0.500 is below 0.95")]
        assert (exit_code(rows), exit_code([row for row in rows if row["finding"] == "limit"] + [ROW] * 9)) == (4, 4)


@pytest.mark.exhaustive
def test_what_noise_takes_across_a_limit_fails_nobody(warehouse: Builder) -> None:
    """A speedup that always was about 0.96 ± 2 % is beyond 0.95 every other day: that is told, and no regression."""
    for number, speedup in enumerate((0.96, 0.98, 0.955, 0.97, 0.975, 0.96, 0.965, 0.94)):
        store = history(warehouse, (f"r{number}", 24 * number, f"c{number}", {}))
        store.add(*measured(f"r{number}", {"m": speedup}))

    rows = [row for row in judge(store, ["r7"], RegressionRule(), Limits()) if row["finding"] == "limit"]
    assert [(row["verdict"], row["name"]) for row in rows] == [("SAME", "m")]
    assert exit_code([rows[0], {**ROW, "p": 0.5}]) == 0


@pytest.mark.exhaustive
def test_a_repeat_within_the_limit_takes_the_flag_back(warehouse: Builder) -> None:
    """And one that is beyond it, too, does not."""
    history(warehouse, ("r1", 0, "c0", {}), ("r2", 24, "c1", {}), ("r3", 25, "c1", {}), ("r4", 26, "c1", {}))
    for run_id, speedup in (("r1", 1.2), ("r2", 0.9), ("r3", 0.91), ("r4", 1.1)):
        warehouse.add(*measured(run_id, {"m": speedup}))

    assert [row[0] for row in told(warehouse, ["r2", "r3"])] == ["WORSE"]
    assert told(warehouse, ["r2", "r4"]) == []


@pytest.mark.exhaustive
def test_memory_and_compile_time_have_limits_too(warehouse: Builder) -> None:
    """Compression below 0.9 is flagged with both values."""
    history(warehouse, ("r1", 0, "c0", {}), ("r2", 24, "c1", {}))
    for run_id, peak in (("r1", 100), ("r2", 200)):
        warehouse.add(*measured(run_id, {"m": 1.2}))
        sides = [case("m", run=run_id, backend=backend, **AXES) for backend in ("eager", "inductor")]
        warehouse.add(memory(sides[0], 100), memory(sides[1], peak))

    assert told(warehouse, ["r2"]) == [
        ("WORSE", "m", "compression_ratio", "memory compression 0.500 is below 0.9"),
        ("LIKELY WORSE", "m", "rss_peak", ASSUMED.format(3.8)),
    ]


def test_what_passed_and_does_not_now_is_lost(warehouse: Builder) -> None:
    """With what became of it; failed before is no loss, and neither is what a repeat passes."""
    history(warehouse, ("r1", 0, "c0", {}), ("r2", 24, "c1", {}), ("r3", 25, "c1", {}))
    warehouse.add(*measured("r1", dict.fromkeys(("gone", "fails", "always", "flaky", "fine"), 1.5), always="OOM"))
    warehouse.add(
        *measured(
            "r2", dict.fromkeys(("fails", "always", "flaky", "fine"), 1.5), always="OOM", fails="OOM", flaky="timeout"
        )
    )
    warehouse.add(*measured("r3", {"flaky": 1.5}))

    expected = [
        ("BROKEN", "fails", None, "OOM: said why"), ("REMOVED", "gone", None, "absent: the run did not announce it"),
        ("REMOVED", "gone", None, "absent: the run did not announce it"),
    ]  # fmt: skip
    assert told(warehouse, ["r2", "r3"]) == expected
    assert [row[1] for row in told(warehouse, ["r2"])] == ["fails", "flaky", "gone", "gone"]


@pytest.mark.exhaustive
def test_the_worst_come_first(warehouse: Builder) -> None:
    """Slower before removed before faster; the larger change before the smaller."""
    runs: list[tuple[str, int, str | None, dict[str, Any]]] = [(f"r{i}", 24 * i, f"c{i}", {}) for i in range(9)]
    history(warehouse, *runs)
    for index, (run_id, *_) in enumerate(runs):
        last = index == 8
        names = ["a", "b", "c", *(["gone"] if not last else [])]
        for name in names:
            it = case(name, run=run_id, backend="eager", **AXES)
            factor = {"a": 1.1, "b": 1.5, "c": 0.7}.get(name, 1) if last else 1 + index % 3 / 1000
            warehouse.add(it, outcome(it), timing(it, round(1e6 * factor)))

    assert [row[:2] for row in told(warehouse, ["r8"])] == [
        ("SLOWER", "b"), ("SLOWER", "a"), ("REMOVED", "gone"), ("FASTER", "c"),
    ]  # fmt: skip


ROW = {
    "finding": "statistics", "verdict": "SAME", "is_known": None, "p": 0.5, "case_id": "c",
    "evidence": "8 against 1 run, not confirmed",
    "change": 0.1, "better": "lower", "metric": "latency",
}  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([], 4), ([{"verdict": "UNSURE", "p": None}], 4), ([{}, {"verdict": "UNSURE", "p": None}], 4),
        ([{}, {}, {"verdict": "UNSURE", "p": None}], 0), ([{"verdict": "UNSURE", "p": 0.01}], 0), ([{"verdict": "FASTER"}], 0),
        ([{"verdict": "BROKEN", "p": None}], 3), ([{"verdict": "REMOVED", "p": None}, {"verdict": "SLOWER"}], 1),
        ([{"finding": "shift", "verdict": "SLOWER"}], 1), ([{"finding": "limit", "verdict": "WORSE", "p": None}], 1),
    ],
)  # fmt: skip
def test_the_exit_code_is_the_verdict_of_all(rows: list[dict[str, Any]], code: int) -> None:
    """1 something got worse, else 3 something is gone, else 4 most could not be judged, else 0."""
    assert exit_code([{**ROW, **row} for row in rows]) == code


def test_strict_wants_large_changes_to_be_certain() -> None:
    """A case that moved by half and stays UNSURE is too little data, if asked for."""
    rows = [ROW, {**ROW, "verdict": "UNSURE", "change": -0.5}]

    assert (exit_code(rows), exit_code(rows, strict=True), exit_code(rows[:1], strict=True)) == (0, 4, 0)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"verdict": "SLOWER"}, True), ({"finding": "limit", "verdict": "WORSE", "evidence": None}, True),
        ({"verdict": "SLOWER", "evidence": "8 against 2 runs, confirmed"}, False), ({"verdict": "UNSURE"}, False),
        ({"finding": "shift", "verdict": "SLOWER", "case_id": None}, False), ({"verdict": "FASTER"}, False),
        ({"verdict": "BROKEN", "evidence": None}, False), ({"verdict": "LIKELY SLOWER"}, True),
        ({"verdict": "LIKELY FASTER"}, False),
    ],
)  # fmt: skip
def test_only_what_looks_worse_is_measured_again(row: dict[str, Any], expected: bool) -> None:
    """A finding of one run and a likely one are measured again; what is unsure stays so, and good news need no confirming."""
    assert bool(doubtful([{**ROW, **row}])) == expected


def test_rows_can_be_chosen_by_value() -> None:
    """Values as they are spelt; one that no row has names the nearest."""
    rows = [{**ROW, "metric": "latency", "batch_size": 8}, {**ROW, "metric": "rss_peak", "batch_size": None}]

    assert choose(rows, {"metric": ["rss_peak"], "batch_size": []}) == rows[1:]
    assert choose(rows, {"batch_size": ["8"]}) == rows[:1]
    with pytest.raises(UnknownName, match="Nearest: 'latency'"):
        choose(rows, {"metric": ["latnecy"]})


@pytest.mark.parametrize(
    ("change", "large"), [(-1.0, True), (-1.5, True), (-0.5, True), (0.1, False), (0.2, True), (None, False)]
)
def test_a_value_of_zero_moved_by_much(change: float | None, large: bool) -> None:
    """A change to 0 has no logarithm; it counts among the large ones that stay UNSURE."""
    row = {"finding": "statistics", "verdict": "UNSURE", "is_known": None, "change": change}

    assert large_and_unsure([row]) == ([row] if large else [])
