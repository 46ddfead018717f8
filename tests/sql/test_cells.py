"""cells: each summary is what a statistician would compute, whatever order the samples came in."""

import math
import random
import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, t

from ..builders import Builder, case, chunk, memory, metric, outcome, run, timing

AXES: dict[str, Any] = {
    "suite": "s", "mode": "inference", "device": "cpu", "dtype": "float32", "backend": "eager", "batch_size": 8,
}  # fmt: skip


def test_a_timing_counts_per_call(warehouse: Builder) -> None:
    """A sample of 4 loops in 1000 ns is 250 ns; phases are kept apart."""
    it = case("m", **AXES)
    warehouse.add(run(config="A"), it, timing(it, 1000, loops=4), timing(it, 7, phase="cold"))

    query = "SELECT config, name, suite, backend, batch_size, metric, phase, unit, better, n, median FROM cells ORDER BY phase"
    head = ("A", "m", "s", "eager", 8, "latency")
    assert warehouse.rows(query) == [(*head, "cold", "ns", "lower", 1, 7.0), (*head, "steady", "ns", "lower", 1, 250.0)]


def test_metrics_and_memory_are_cells_too(warehouse: Builder) -> None:
    """A metric that is an aggregate carries its statistic in its name, so that min and p99 are not averaged."""
    it = case("m")
    warehouse.add(
        run(), it, metric(it, "ttft", 5.0, unit="ns", statistic="p99"), metric(it, "ttft", 1.0, unit="ns", statistic="min"),
        metric(it, "breaks", 2.0, unit="count", better="lower"), memory(it, 64, source="rss"), memory(it, 32, source="rss"),
    )  # fmt: skip

    assert warehouse.rows("SELECT metric, unit, n, maximum FROM cells ORDER BY metric") == [
        ("breaks", "count", 1, 2.0), ("rss_peak", "bytes", 2, 64.0), ("ttft_min", "ns", 1, 1.0), ("ttft_p99", "ns", 1, 5.0),
    ]  # fmt: skip


def test_values_that_are_no_numbers_make_no_cell(warehouse: Builder) -> None:
    """NULL, NaN, infinity and 1e300 are left out; they neither poison a mean nor stop a load."""
    it = case("m")
    values = [None, float("nan"), float("inf"), float("-inf"), 1e300, 3.0]
    warehouse.add(run(), it, *(metric(it, "x", value) for value in values), metric(it, "y", float("nan")))

    assert warehouse.rows("SELECT metric, n, mean FROM cells") == [("x", 1, 3.0)]


def test_a_case_announced_twice_is_one_cell(warehouse: Builder) -> None:
    """The runner and its worker may both announce a case."""
    it = case("m")
    warehouse.add(run(), it, it, timing(it, 1))

    assert warehouse.rows("SELECT n FROM cells") == [(1,)]


@settings(max_examples=4)
@given(st.lists(st.lists(st.integers(1, 10**12), min_size=1, max_size=40), min_size=1, max_size=8))
def test_statistics_are_those_of_numpy(cases: list[list[int]]) -> None:
    """Quartiles by linear interpolation, n - 1 in the standard deviation; of each case by itself."""
    warehouse = Builder().add(run())
    for number, values in enumerate(cases):
        it = case(f"{number}")
        warehouse.add(it, *(timing(it, value) for value in values))
    rows = warehouse.rows("SELECT n, minimum, q1, median, q3, maximum, mean, stdev FROM cells ORDER BY name")

    for (*row, deviation), values in zip(rows, cases, strict=True):
        expected = [len(values), *np.percentile(values, [0, 25, 50, 75, 100]), np.mean(values)]
        assert row == pytest.approx(expected, rel=1e-12)
        assert deviation == (pytest.approx(statistics.stdev(values), rel=1e-9) if len(values) > 1 else None)


def test_cells_do_not_depend_on_threads_or_order() -> None:
    """The same samples in another order, on another number of threads, give the same bits."""
    it = case("m")
    samples = [timing(it, random.Random(1).randrange(10**9) + i) for i in range(5000)]
    one = Builder().add(run(), it, *samples)
    other = Builder().add(run(), it, *random.Random(2).sample(samples, len(samples)))
    other.connection.execute("SET threads = 1")

    assert one.rows("SELECT * FROM cells") == other.rows("SELECT * FROM cells")


def test_the_interval_of_the_median_covers_95_percent(warehouse: Builder) -> None:
    """For every n the ranks cover at least 95 %; one rank tighter would cover less, but for 2 in 100 sizes."""
    sizes = [*range(1, 41), 100, 500]
    for n in sizes:
        it = case(f"{n}")
        warehouse.add(it, *(timing(it, value) for value in range(1, n + 1)))
    warehouse.add(run())

    loose = 0
    for n, low, high in warehouse.rows("SELECT n, median_low, median_high FROM cells ORDER BY n"):
        if n < 6:
            assert (low, high) == (None, None)
            continue
        assert high == n + 1 - low
        assert 1 - 2 * binom.cdf(low - 1, n, 0.5) >= 0.95
        loose += 1 - 2 * binom.cdf(low, n, 0.5) >= 0.95
    assert loose <= 1


def test_student_t_is_that_of_scipy(warehouse: Builder) -> None:
    """Within 2 in a million from 1 degree of freedom up, fractions too; NULL below."""
    degrees = [1, 1.25, 2, 2.5, 3, 4, 5.5, 7, 10, 30, 1000, 1e9]
    rows = warehouse.rows("SELECT _t975(x) FROM (SELECT unnest(?::DOUBLE[]) AS x)", [degrees])

    assert [value for (value,) in rows] == pytest.approx([t.ppf(0.975, df) for df in degrees], rel=2e-6)
    assert warehouse.rows("SELECT _t975(0.5), _t975(NULL)") == [(None, None)]


def test_several_gpus_have_no_median_between_them(warehouse: Builder) -> None:
    """The fullest counts: its readings are samples, those of another GPU are none of them."""
    warehouse.add(run(), it := case("m"))
    for index, size in ((0, 10), (0, 8), (1, 1), (1, 2)):
        warehouse.add(memory(it, size, "cuda_allocated", device_index=index))

    assert warehouse.rows("SELECT n, median, maximum FROM cells") == [(2, 9.0, 10.0)]


def test_accuracy_judged_in_one_mode_does_not_fail_the_other(warehouse: Builder) -> None:
    """Training was not judged: it passes by its performance."""
    for mode in ("inference", "training"):
        warehouse.add(it := case("m", suite="s", mode=mode, backend="eager"), outcome(it))
        if mode == "inference":
            warehouse.add(outcome(it, "pass", kind="accuracy"))
    warehouse.add(run())

    assert warehouse.rows("SELECT mode, passing FROM case_summaries ORDER BY mode") == [
        ("inference", True),
        ("training", True),
    ]


def test_a_target_given_twice_counts_once(warehouse: Builder) -> None:
    """Three steps are a group of three, however often they are asked for."""
    warehouse.add(run(), *(chunk(line, [128]) for line in (1, 2, 3)))

    assert warehouse.rows('SELECT n FROM latency_vs_batch(targets := [128, 128], "trim" := 0)') == [(3,)]


def test_scheduler_steps_have_their_axes_in_detectable_effects(warehouse: Builder) -> None:
    """They are announced by nobody, and are cases all the same."""
    for run_id in ("r1", "r2"):
        warehouse.add(run(run_id, "c"), *(chunk(line, [128], run_id, model_run_ms=10.0 + line) for line in (1, 2, 3)))

    query = "SELECT DISTINCT suite, name, parameters IS NULL FROM detectable_effects() WHERE metric = 'model_run'"
    assert warehouse.rows(query) == [("scheduler", "step", False)]


def test_two_units_of_one_metric_stay_apart(warehouse: Builder) -> None:
    """5 ms are no 5 ns: a row each in cells and comparisons, a mean each, and one row of results, with the time in ns."""
    warehouse.add(run("a"), run("b"))
    for run_id, ns in (("a", 4e6), ("b", 8e6)):
        it = case("m", run_id, backend="inductor")
        warehouse.add(it, outcome(it), metric(it, "compile_latency", ns / 1e6, unit="ms", better="lower"))
        for name in ("latency", "compile_latency"):
            warehouse.add(metric(it, name, ns, unit="ns", better="lower", phase="steady"))
        warehouse.add(metric(it, "latency", ns / 1e6, unit="ms", better="lower", phase="steady"))

    kept = [("compile_latency", "ms"), ("compile_latency", "ns"), ("latency", "ms"), ("latency", "ns")]
    assert warehouse.rows("SELECT metric, unit FROM cells WHERE run_id = 'a' ORDER BY ALL") == kept
    assert warehouse.rows("SELECT metric, unit FROM comparisons(['a'], ['b']) ORDER BY ALL") == kept
    means = "SELECT metric, unit, ratio, n FROM comparison_means(['a'], ['b']) ORDER BY ALL"
    assert warehouse.rows(means) == [(*it, pytest.approx(0.5), 1) for it in kept]
    results = "SELECT run_id, median_ns, compile_ns FROM model_results ORDER BY run_id"
    assert warehouse.rows(results) == [("a", 4e6, 4e6), ("b", 8e6, 8e6)]


def test_processes_that_measured_zero_have_no_logarithm(warehouse: Builder) -> None:
    """A processor time of 0 leaves no error behind; the others tell the spread; the interval is around median and mean."""
    it = case("m", "r")
    values = (0, 100, 110, 121)
    warehouse.add(run("r"), it, *(timing(it, ns, process=process) for process, ns in enumerate(values)))

    ((processes, spread, low, high),) = warehouse.rows(
        "SELECT processes, process_spread, median_low, median_high FROM cells"
    )
    assert (processes, spread) == (4, pytest.approx(math.log(1.1)))
    reach = math.exp(3.182446 * math.log(1.1) / 2)
    assert (low, high) == (pytest.approx(105 / reach, rel=1e-5), pytest.approx(110 * reach, rel=1e-5))


def test_samples_that_lost_their_processor_do_not_count_beside_calm_ones(warehouse: Builder) -> None:
    """On a busy machine they tell of the others, however few are calm; a steady machine and a cold call keep all."""
    calm, cold = case("calm"), case("cold")
    warehouse.add(
        run(), calm, cold, *(timing(calm, 100, involuntary_switches=0) for _ in range(3)),
        *(timing(calm, 300, involuntary_switches=2) for _ in range(200)),
        timing(cold, 100, phase="cold", involuntary_switches=0), timing(cold, 300, phase="cold", involuntary_switches=1),
    )  # fmt: skip

    assert warehouse.rows("SELECT name, n, median, maximum FROM cells ORDER BY name") == [
        ("calm", 3, 100.0, 100.0), ("cold", 2, 200.0, 300.0),
    ]  # fmt: skip


@pytest.mark.parametrize(("each_ns", "n"), [(100, 1), (20_000_000, 4)])
def test_where_none_kept_its_processor_the_shortest_lost_least(each_ns: int, n: int, warehouse: Builder) -> None:
    """It alone counts; what lasts longer than a turn on the processor always loses it, and all count."""
    it = case("m")
    warehouse.add(run(), it, *(timing(it, each_ns * times, involuntary_switches=1) for times in (2, 1, 9, 8)))

    assert warehouse.rows("SELECT n, minimum, maximum FROM cells") == [(n, each_ns, each_ns * (1 if n == 1 else 9))]


def test_a_calm_machine_keeps_its_slowest_samples(warehouse: Builder) -> None:
    """One of twenty lost its processor: it is part of the tail that the case has here."""
    it = case("m")
    warehouse.add(run(), it, *(timing(it, 100 + 900 * k, involuntary_switches=k) for k in [0] * 19 + [1]))

    assert warehouse.rows("SELECT n, maximum FROM cells") == [(20, 1000.0)]


@pytest.mark.parametrize(("disturbed", "spread"), [(0, 0.16), (4, 0.03)])
def test_a_process_that_a_busy_machine_slowed_down_counts_as_one_far_out(
    disturbed: int, spread: float, warehouse: Builder
) -> None:
    """One of ten is 1.6 times as slow: on a calm machine processes are of two kinds, on a busy one its neighbours did it."""
    it, medians = case("m"), [1000, 1010, 990, 1005, 995, 1015, 985, 1000, 1010, 1600]
    warehouse.add(
        run(), it,
        *(timing(it, ns, process=process, involuntary_switches=0) for process, ns in enumerate(medians) for _ in range(8)),
        *(timing(it, 9000, process=process, involuntary_switches=1) for process in range(10) for _ in range(disturbed)),
    )  # fmt: skip

    ((found, median),) = warehouse.rows("SELECT process_spread, median FROM cells")
    assert median == 1002.5 and found == pytest.approx(spread, abs=0.02)
