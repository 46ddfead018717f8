"""What a report says first: means over what passes, each with what it covers, beside the run before."""

import math
import random
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from bench import sql
from bench.warehouse.events import CaseRecord, Event
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import gmean

from ..builders import Builder, case, metric, outcome, run, timing
from .everything import everything

AXES: dict[str, Any] = {"suite": "s", "mode": "inference", "device": "cpu", "dtype": "float32"}


def reported(
    name: str, speedup: float | None, run: str = "run", backend: str = "inductor", status: str = "ok"
) -> list[Event]:
    """A case an import reports, and its speedup."""
    it = case(name, run=run, backend=backend, source_id="file", **AXES)
    return [it, outcome(it, status), metric(it, "speedup", speedup, unit="ratio")]


def pair(name: str, run: str = "run") -> tuple[CaseRecord, CaseRecord]:
    return case(name, run=run, backend="eager", **AXES), case(name, run=run, backend="inductor", **AXES)


def blocks(name: str, ratio: float, run: str = "run") -> list[Event]:
    """A measured pair, so much faster with inductor, in 20 blocks with 1 % of noise."""
    noise = np.random.default_rng(len(name)).lognormal(0, 0.01, (20, 2))
    sides = pair(name, run)
    samples = [
        timing(side, round(each * noise[block, i]), block=block, process=0)
        for block in range(20)
        for i, (side, each) in enumerate(zip(sides, (1e9 * ratio, 1e9), strict=True))
    ]
    return [*sides, *map(outcome, sides), *samples]


VALUES = st.one_of(st.none(), st.just(0.0), st.floats(0.01, 100), st.just(1.0), st.just(math.nan))


@settings(max_examples=5)
@given(st.lists(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=8), min_size=1, max_size=7))
def test_geometric_means_are_those_of_scipy(runs: list[list[tuple[float | None, float | None]]]) -> None:
    """Over what passes on this backend, or on both; slowdowns as they are, or as 1; what is left out is counted."""
    warehouse = Builder()
    expected: dict[bool, list[tuple[Any, ...]]] = {False: [], True: []}
    for number, speedups in enumerate(runs):
        speedups = [*speedups, (2.0, 0.5)]  # one that both report: where none is, nothing is compared
        warehouse.add(run(f"{number}"))
        for i, both in enumerate(speedups):
            for backend, value in zip("ab", both, strict=True):
                warehouse.add(*reported(f"m{i}", value, f"{number}", backend))
        numbers = np.nan_to_num(np.array(speedups, dtype=float))
        for side in range(2):
            own = numbers[numbers[:, side] > 0, side]
            shared = numbers[(numbers > 0).all(axis=1), side]
            for matched, values in ((False, own), (True, shared)):
                means = gmean(values), gmean(np.maximum(values, 1))
                told = len(values), len(own), True
                expected[matched].append((*(pytest.approx(mean, rel=1e-12) for mean in means), *told))

    for matched, rows in expected.items():
        query = f"""SELECT speedup, dashboard_speedup, n, n_here, n_total - n = len(excluded)
                    FROM geomean_speedups(matched := {matched}) ORDER BY run_id, backend"""
        assert warehouse.rows(query) == rows


def test_a_geometric_mean_says_what_passes_here_and_elsewhere(warehouse: Builder) -> None:
    """Three backends: each with its own, what passes on both others, and what passes on all; a broken one hinders none."""
    for backend, names in {"a": "wxy", "b": "wx", "c": "wyz", "broken": ""}.items():
        for name in "wxyz":
            warehouse.add(*reported(name, 2.0, backend=backend, status="ok" if name in names else "OOM"))
    warehouse.add(run())

    query = "SELECT backend, n, n_here, n_elsewhere, n_total, excluded FROM geomean_speedups(matched := true) ORDER BY backend"
    elsewhere = "does not pass on every backend"
    assert warehouse.rows(query) == [
        ("a", 1, 3, 1, 4, [f"x: {elsewhere}", f"y: {elsewhere}", "z: OOM"]),
        ("b", 1, 2, 2, 4, [f"x: {elsewhere}", "y: OOM", "z: OOM"]),
        ("broken", 0, 0, 1, 4, ["w: OOM", "x: OOM", "y: OOM", "z: OOM"]),
        ("c", 1, 3, 2, 4, ["x: OOM", f"y: {elsewhere}", f"z: {elsewhere}"]),
    ]


def test_a_backend_alone_has_no_elsewhere(warehouse: Builder) -> None:
    """NULL, not 0: there is nothing to pass on."""
    warehouse.add(run(), *reported("m", 2.0))

    assert warehouse.rows("SELECT n, n_here, n_elsewhere FROM geomean_speedups()") == [(1, 1, None)]


def test_the_interval_of_a_geometric_mean_is_that_of_its_cases(warehouse: Builder) -> None:
    """Independent errors of n logs add in squares, and their mean has the n-th part; without all of them there is none."""
    warehouse.add(run(), *blocks("a", 2.0), *blocks("bb", 3.0))
    logs = np.log(warehouse.rows("SELECT low, speedup, high FROM speedups"))
    half = np.sqrt((((logs[:, 2] - logs[:, 0]) / 2) ** 2).sum()) / 2

    ((low, mean, high),) = warehouse.rows("SELECT low, speedup, high FROM geomean_speedups()")
    expected = np.exp(logs[:, 1].mean() + half * np.array([-1, 0, 1]))
    assert (low, mean, high) == pytest.approx(tuple(expected), rel=1e-12)
    unpaired = pair("no interval")
    warehouse.add(*unpaired, *map(outcome, unpaired), *(timing(side, 100) for side in unpaired))
    assert warehouse.rows("SELECT low, high, n FROM geomean_speedups()") == [(None, None, 3)]


def test_the_executive_summary_says_all_of_a_backend_in_a_row(warehouse: Builder) -> None:
    """Geomean with coverage, pass rate, compile time, compression, skipped and flagged; the baseline has a row too."""
    good, bad, skipped = (case(name, backend="inductor", **AXES) for name in ("good", "bad", "skipped"))
    eager = case("good", backend="eager", **AXES)
    warehouse.add(run(started_at=0, git_commit="abc"), good, eager, bad, skipped, outcome(good), outcome(eager))
    warehouse.add(outcome(bad, "OOM"), outcome(skipped, "skipped"), timing(eager, 400), timing(good, 100))
    warehouse.add(metric(good, "compile_latency", 130e9, unit="ns"), metric(good, "compression_ratio", 0.8))

    query = """SELECT backend, git_commit, speedup, n, passing, total, rate, skipped, mean_seconds, mean_ratio, flagged
               FROM executive_summary({}) ORDER BY backend"""
    assert warehouse.rows(query.format("")) == [
        ("eager", "abc", None, 0, 1, 1, "100%, 1/1", 0, None, None, 0),
        ("inductor", "abc", pytest.approx(4.0), 1, 1, 2, "50%, 1/2", 1, 130.0, 0.8, 2),
    ]
    limits = "max_compile_seconds := 200, min_compression := 0.5"
    assert [row[-1] for row in warehouse.rows(query.format(limits))] == [0, 1]


def test_slowdowns_count_as_they_are_and_as_one(warehouse: Builder) -> None:
    """0.25x and 4x: 1x, and 2x with slowdowns as 1."""
    warehouse.add(run(), *reported("slow", 0.25), *reported("fast", 4.0))

    for view in ("executive_summary", "history"):
        query = f"SELECT speedup, dashboard_speedup FROM {view}()"
        assert warehouse.rows(query) == [(pytest.approx(1.0), pytest.approx(2.0))]
    for as_one, mean in (("false", 1.0), ("true", 2.0)):
        query = f"SELECT speedup FROM summary_diff(slowdowns_as_one := {as_one})"
        assert warehouse.rows(query) == [(pytest.approx(mean),)]


def test_two_runs_stand_side_by_side(warehouse: Builder) -> None:
    """Each over its own passing cases; matched over those that pass in both, the others with their reason."""
    warehouse.add(
        *(
            run(run_id, "nightly", "torch-compile", started_at=i * 86_400_000_000)
            for i, run_id in enumerate(("first", "old", "new"))
        )
    )
    warehouse.add(*reported("a", 99.0, "first"))
    warehouse.add(*reported("a", 2.0, "old"), *reported("b", 8.0, "old"), *reported("gone", 2.0, "old"))
    warehouse.add(*reported("a", 4.0, "new"), *reported("b", None, "new", status="OOM"), *reported("c", 1.0, "new"))

    (row,) = warehouse.dicts("SELECT * FROM summary_diff()")
    assert (row["run_id"], row["run_id_before"]) == ("new", "old")
    assert (row["speedup"], row["speedup_before"]) == (pytest.approx(2.0), pytest.approx(32 ** (1 / 3)))
    assert (row["n"], row["n_before"], row["n_matched"]) == (2, 3, 1)
    assert (row["matched_speedup"], row["matched_speedup_before"]) == (pytest.approx(4.0), pytest.approx(2.0))
    assert row["excluded"] == ["b: OOM now", "c: absent before", "gone: absent now"]
    assert (row["rate"], row["rate_before"]) == ("67%, 2/3", "100%, 3/3")


def test_a_single_run_stands_alone(warehouse: Builder) -> None:
    """There is nothing before it: NULL, and no matched mean."""
    warehouse.add(run(), *reported("a", 2.0))

    (row,) = warehouse.dicts("SELECT * FROM summary_diff()")
    nothing = {
        key: value for key, value in row.items() if key.endswith("_before") or "matched" in key or key == "excluded"
    }
    assert set(nothing.values()) == {None}
    assert (row["speedup"], row["n"], row["passing"]) == (2.0, 1, 1)


def breaks(it: CaseRecord, reasons: Iterable[tuple[str, float, str | None]]) -> list[Event]:
    return [
        metric(it, f"graph_break:{why}", count, unit="count", better="lower", original_value=stack)
        for why, count, stack in reasons
    ]


def test_reasons_of_graph_breaks_are_told_once(warehouse: Builder) -> None:
    """Summed over models and places, with the names of both; another run has rows of its own."""
    a, b, other = (
        case(name, run=r, backend="inductor", **AXES) for name, r in (("a", "run"), ("b", "run"), ("a", "2"))
    )
    why = "call_function: it's {unsupported}\nHint: don't"
    warehouse.add(
        run(), run("2"), a, b, other, *breaks(a, [(why, 2, "m.py:3"), (why, 1, "m.py:9"), ("print", 1, None)])
    )
    warehouse.add(
        *breaks(b, [(why, 4, "m.py:3")]), *breaks(other, [("print", 5, "x.py:1")]), metric(a, "graph_breaks", 4.0)
    )

    query = "SELECT run_id, reason, breaks, n_models, models, stacks FROM graph_break_reasons ORDER BY run_id DESC, breaks DESC"
    assert warehouse.rows(query) == [
        ("run", why, 7, 2, ["a", "b"], ["m.py:3", "m.py:9"]),
        ("run", "print", 1, 1, ["a"], []),
        ("2", "print", 5, 1, ["a"], ["x.py:1"]),
    ]


@pytest.mark.exhaustive
def test_a_rebuild_is_equal_bit_for_bit() -> None:
    """Every derived table is the same, to the last digit, from events in another order; ties go the same way."""
    rng = random.Random(3)
    numbers = [reported(f"m{i}", rng.lognormvariate(0, 0.5), backend=rng.choice("ab")) for i in range(300)]
    compiled = [metric(it[0], "compile_latency", rng.lognormvariate(23, 1), unit="ns") for it in numbers]  # type: ignore[arg-type]
    told = [run(), *(event for it in numbers for event in it), *compiled, *everything()]
    one, other = Builder().add(*told), Builder().add(*rng.sample(told, len(told)))

    for table in (*sql.tables(), "memory_totals", "step_breakdown()", "shape_speedups"):
        assert one.rows(f"FROM {table} ORDER BY ALL") == other.rows(f"FROM {table} ORDER BY ALL"), table
