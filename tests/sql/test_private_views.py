"""The steps that other views read: each one alone, on rows of its own."""

import json
import math
import re
from pathlib import Path

import pytest
from bench import sql
from bench.warehouse.events import ArchivedRun, Instant, Json, Metric, Outcome
from scipy import special, stats

from ..builders import Builder, case, chunk, metric, outcome, run, source, timing

HOUR = 3_600_000_000  # in µs


def test_every_private_step_is_tested() -> None:
    """A step without a test of its own would be seen only through what reads it."""
    tests = "".join(path.read_text() for path in Path(__file__).parents[1].rglob("test_*.py"))
    private = {name for name in sql.views() | sql.tables() if name.startswith("_")}

    assert {name for name in private if not re.search(rf"\b{name}\b", tests)} == set()


@pytest.fixture(scope="module")
def bare() -> Builder:
    """One empty warehouse for what only looks at its arguments."""
    return Builder()


@pytest.fixture
def runs(warehouse: Builder) -> Builder:
    """Two runs of a config on one host, one on another, and one of another config."""
    return warehouse.add(
        run("a1", "a", host="x", started_at=1), run("a2", "a", host="x", started_at=2),
        run("a3", "a", host="y", started_at=3), run("b1", "b", host="x", started_at=4),
    )  # fmt: skip


def test_run_times(warehouse: Builder) -> None:
    """A run began when it says so; an import that does not say began when its first file was loaded."""
    warehouse.add(run("own", "c", started_at=5, host="x"), run("import", "c"))
    warehouse.add(source("one", run="import", recorded_at=9), source("two", run="import", recorded_at=7))

    assert warehouse.rows("SELECT run_id, config, epoch_us(began_at), host FROM _run_times ORDER BY ALL") == [
        ("import", "c", 7, None),
        ("own", "c", 5, "x"),
    ]


def test_archived(warehouse: Builder) -> None:
    """A run is archived while it is in another store only, and belongs to the last store that it was moved to."""
    warehouse.add(run("back", "c"), ArchivedRun(run_id="back", config="c", archive="old", archived_at=Instant(1)))
    warehouse.add(ArchivedRun(run_id="gone", config="c", archive="old", archived_at=Instant(1)))
    warehouse.add(ArchivedRun(run_id="gone", config="c", archive="new", archived_at=Instant(2)))

    assert warehouse.rows("SELECT run_id, archive, epoch_us(archived_at) FROM _archived") == [("gone", "new", 2)]


def test_headline_rank(warehouse: Builder) -> None:
    """A warm latency stands for a case before a statistic of it, memory and what has no direction; a cold one last."""
    metrics = [
        ("'latency'", "'cold'", "'ns'", "'lower'"), ("'loss'", "NULL", "NULL", "NULL"),
        ("'latency_max'", "NULL", "'ns'", "'lower'"), ("'rss_peak'", "NULL", "'bytes'", "'lower'"),
        ("'cpu_time'", "NULL", "'ns'", "'lower'"), ("'graph_breaks'", "NULL", "'count'", "'lower'"),
        ("'ttft_p99'", "NULL", "'ns'", "'lower'"), ("'ttft_min'", "NULL", "'ns'", "'lower'"),
        ("'ttft_mean'", "NULL", "'ns'", "'lower'"), ("'init_time'", "NULL", "'ns'", "'lower'"),
        ("'time_to_train'", "NULL", "'ns'", "'lower'"),
        ("'latency_p99'", "NULL", "'ns'", "'lower'"), ("'throughput'", "NULL", "'x/s'", "'higher'"),
        ("'latency_min'", "NULL", "'ns'", "'lower'"), ("'latency_mean'", "NULL", "'ns'", "'lower'"),
        ("'latency_p50'", "NULL", "'ns'", "'lower'"), ("'latency'", "'steady'", "'ns'", "'lower'"),
    ]  # fmt: skip
    ranks = [warehouse.rows(f"SELECT _headline_rank({', '.join(each)})")[0][0] for each in metrics]

    assert ranks == sorted(ranks, reverse=True)


def test_all_cells(runs: Builder) -> None:
    """Measured cells and those of scheduler steps stand in one relation."""
    runs.add(it := case("m", run="a1"), timing(it, 7))
    runs.add(source("steps_0.jsonl", run="b1"), chunk(1, run="b1", source_id="steps_0.jsonl", model_run_ms=3.0))

    found = dict(runs.rows("SELECT config, list(DISTINCT metric ORDER BY metric) FROM _all_cells GROUP BY config"))
    assert found["a"] == ["latency"]
    assert "model_run" in found["b"]


def test_placed_cells(runs: Builder) -> None:
    """A run's place is among all of its config, those included that did not measure the case."""
    for run_id in ("a1", "a3", "b1"):
        runs.add(it := case("m", run=run_id), timing(it, 7))

    assert runs.rows("SELECT run_id, place FROM _placed_cells ORDER BY run_id") == [("a1", 1), ("a3", 3), ("b1", 1)]


def test_round_runs(runs: Builder) -> None:
    """They are the rows of `rounds` without the number of cases; the runs of one commit are a round on each machine."""
    for run_id in ("c1", "c2", "c3"):
        host = "y" if run_id == "c3" else "x"
        runs.add(
            run(run_id, "c", host=host, started_at=5, git_commit="c", git_dirty=False),
            it := case("m", run_id),
            timing(it, 7),
        )
    found = runs.rows("SELECT * EXCLUDE machine_key FROM _round_runs ORDER BY ALL")

    assert found == runs.rows("SELECT * EXCLUDE cases FROM rounds ORDER BY ALL")
    assert [run_ids for config, *_, run_ids, _, _, _ in found if config == "c"] == [["c1", "c2"], ["c3"]]


def test_comparison_sides(runs: Builder) -> None:
    """A run named twice counts once; `is_shared` says whether the other side has runs of that config and host."""
    query = "SELECT side, run_id, is_shared FROM _comparison_sides(['a1', 'a1', 'b1'], ['a2', 'a3'], 20) ORDER BY ALL"

    assert runs.rows(query) == [
        ("base", "a1", True),
        ("base", "b1", False),
        ("candidate", "a2", True),
        ("candidate", "a3", False),
    ]


def test_comparison_endings(runs: Builder) -> None:
    """A status is of what failed; a wrong answer is void only where the other side's is right."""
    for run_id, accuracy in (("a1", "pass"), ("b1", "fail_accuracy")):
        it = case("wrong", run=run_id)
        runs.add(it, outcome(it), outcome(it, accuracy, kind="accuracy"))
    runs.add(it := case("died", run="b1"), outcome(it, "OOM", reason="out of memory"))
    query = """
        SELECT name, base_status, candidate_status, candidate_reason, candidate_failed, base_void, candidate_void
        FROM _comparison_endings(['a1'], ['b1'], 20) JOIN case_axes USING (case_id) ORDER BY name
    """

    assert runs.rows(query) == [
        ("died", None, "OOM", "out of memory", 1, False, False),
        ("wrong", None, "fail_accuracy", None, 0, False, True),
    ]


def test_side_values_and_case_effects(runs: Builder) -> None:
    """Runs in which a case failed are left out; a side's value is the median over its runs of their medians."""
    for run_id, ns in (("a1", 10), ("a2", 30), ("a3", 1000), ("b1", 40)):
        it = case("m", run=run_id)
        runs.add(it, timing(it, ns), timing(it, ns), outcome(it, "fail_to_run" if run_id == "a3" else "ok"))
    sides = "(['a1', 'a2', 'a3'], ['b1'], 20)"

    values = runs.rows(f"SELECT side, runs, n, value, list_sort(places) FROM _side_values{sides} ORDER BY side")
    assert values == [("base", 2, 4, 20, [1, 2]), ("candidate", 1, 2, 40, [4])]
    query = (
        "SELECT base_value, candidate_value, base_runs, candidate_runs, base_n, candidate_n, exp(effect), own_degrees"
    )
    assert runs.rows(f"{query} FROM _case_effects(['a1', 'a2', 'a3'], ['b1'], 20, 0.03)") == [
        (20, 40, 2, 1, 4, 2, pytest.approx(2), 1)
    ]


def test_a_streak_is_of_runs_that_are_as_the_candidate_is(runs: Builder) -> None:
    """Those right before it, as far as they are beyond the floor and half as far from the base's value as it is."""
    runs.add(*(run(f"a{day}", "a", host="x", started_at=day) for day in range(4, 9)))
    for day, ns in ((1, 100), (2, 200), (4, 100), (5, 100), (6, 100), (7, 190), (8, 200)):
        runs.add(it := case("m", run=f"a{day}"), timing(it, ns))

    query = "SELECT streak, since_place, good_place, first_place FROM _case_effects(NULL, ['a8'], 20, 0.03)"
    assert runs.rows(query) == [(1, 8, 7, 9)]


def test_run_medians(runs: Builder) -> None:
    """All runs that may be the base, and which count whatever the others measured; a case that failed has none."""
    for run_id, ns in (("a1", 10), ("a2", 30)):
        runs.add(it := case("m", run=run_id), timing(it, ns))
    runs.add(run("a4", "a", host="x", started_at=5), it := case("m", run="a4"), timing(it, 20))
    runs.add(it := case("died", run="a4"), timing(it, 9), outcome(it, "OOM"))

    query = "SELECT side, run_id, is_recent, value FROM _run_medians(NULL, ['a4'], 1) ORDER BY run_id"
    assert runs.rows(query) == [("base", "a1", False, 10), ("base", "a2", True, 30), ("candidate", "a4", True, 20)]


def test_a_run_before_stands_in_for_one_that_lacks_the_case(runs: Builder) -> None:
    """Of the last two runs each case has two values, older ones where later runs did not measure it, as far as there are any."""
    runs.add(*(run(f"a{day}", "a", host="x", started_at=day) for day in range(5, 8)))
    for run_id, names, ns in (("a1", "mko", 10), ("a2", "m", 20), ("a5", "mkl", 50), ("a6", "m", 60), ("a7", "mk", 70)):
        for name in names:
            it = case(name, run=run_id)
            runs.add(it, timing(it, ns), timing(it, ns))

    query = """
        SELECT name, list_sort(places), runs, n, value, exp(list_avg(xs))
        FROM _side_values(NULL, ['a7'], 2) JOIN case_axes USING (case_id)
        WHERE side = 'base' ORDER BY name
    """
    assert runs.rows(query) == [
        ("k", [1, 5], 2, 4, 30, pytest.approx((10 * 50) ** 0.5)),
        ("l", [5], 1, 2, 50, pytest.approx(50)),
        ("m", [5, 6], 2, 4, 55, pytest.approx((50 * 60) ** 0.5)),
        ("o", [1], 1, 2, 10, pytest.approx(10)),
    ]


def test_a_value_without_a_logarithm_counts_in_the_median_alone(runs: Builder) -> None:
    """Places are those of the logarithms; a count of none has one."""
    for run_id, value in (("a1", 4.0), ("a2", 0.0)):
        runs.add(
            it := case("m", run=run_id),
            metric(it, "gain", value, unit="ratio"),
            metric(it, "breaks", value, unit="count"),
        )

    query = (
        "SELECT metric, value, list_sort(places), len(xs) FROM _side_values(['a1', 'a2'], ['b1'], 20) ORDER BY metric"
    )
    assert runs.rows(query) == [("breaks", 2, [1, 2], 2), ("gain", 2, [1], 1)]


def test_case_noises_and_errors(runs: Builder) -> None:
    """A case alone has the variance of its own runs; the error of two medians adds those of both sides."""
    for run_id, ns in (("a1", 100), ("a2", 110), ("b1", 105)):
        runs.add(it := case("m", run=run_id), timing(it, ns))
    sides = "(['a1', 'a2'], ['b1'], 20, 0.03)"

    ((variance, degrees),) = runs.rows(f"SELECT variance, noise_degrees FROM _case_noises{sides}")
    distances = [math.log(100 / 105), math.log(110 / 105)]
    assert (variance, degrees) == (pytest.approx(sum(x * x for x in distances) / 0.9776), 1)
    ((noise, error, change),) = runs.rows(
        "SELECT noise, error, change FROM _case_errors(['a1', 'a2'], ['b1'], 20, 0.03, false)"
    )
    assert (noise, change) == (pytest.approx(variance**0.5), 0)
    assert error == pytest.approx((variance * (1 + math.pi / 2 / (1 + math.pi / 2))) ** 0.5)
    ((p, verdict),) = runs.rows("SELECT p, verdict FROM _case_verdicts(['a1', 'a2'], ['b1'], 20, 0.03, 0.05, false)")
    assert (p, verdict) == (1, "UNSURE")


def test_gamma_functions_and_the_median_are_those_of_scipy(warehouse: Builder) -> None:
    """Digamma and trigamma from half a degree of freedom up; the median of normal values."""
    for x in (0.19, 0.5, 1.0, 3.7, 50.0, 4000.0):
        ((first, second),) = warehouse.rows("SELECT _digamma($1), _trigamma($1)", [x])
        assert first == pytest.approx(special.digamma(x), rel=1e-7, abs=1e-8)
        assert second == pytest.approx(special.polygamma(1, x), rel=1e-6)
    assert warehouse.rows("SELECT _digamma(0), _trigamma(0), _median_variance(1)") == [(None, None, 1)]


@pytest.mark.parametrize(
    "counts", [(0, 10, 10, 10), (3, 10, 7, 12), (0, 1000, 7, 1000), (2, 20_000, 3, 1000), (40, 50, 20, 50)]
)
def test_shares_of_failures_differ_as_scipy_says(warehouse: Builder, counts: tuple[int, int, int, int]) -> None:
    """By the corrected likelihood ratio of their table, whichever side comes first."""
    failed, trials, other, others = counts
    table = [[failed, trials - failed], [other, others - other]]
    expected = stats.chi2_contingency(table, correction=True, lambda_="log-likelihood").statistic

    for query in ("SELECT _share_difference($1, $2, $3, $4)", "SELECT _share_difference($3, $4, $1, $2)"):
        assert warehouse.rows(query, list(counts)) == [(pytest.approx(expected**0.5),)]


@pytest.mark.parametrize(
    ("xs", "ys"), [([0, 0, 1, 0, 0], [1, 1, 0, 1, 1]), ([1, 2, 3, 4], [2, 5, 6, 7, 8]), ([1, 1, 1, 1], [1, 1, 1, 1])]
)
def test_ranks_tell_sides_apart_as_scipy_says(warehouse: Builder, xs: list[float], ys: list[float]) -> None:
    """Whichever side comes first; ties make the error a little larger than scipy's, which is on the safe side."""
    expected = stats.mannwhitneyu(xs, ys, method="asymptotic").pvalue

    for sides in ([xs, ys], [ys, xs]):
        ((p,),) = warehouse.rows("SELECT _rank_p($1::DOUBLE[], $2::DOUBLE[])", sides)
        assert min(1, expected) - 1e-6 <= p <= min(1, 1.7 * expected)
    assert warehouse.rows("SELECT _rank_p([1, 2, 3], [4, 5])") == [(0,)]


def test_a_run_is_compared_with_runs_of_its_host(runs: Builder) -> None:
    """Runs of other hosts count where that host has too few and hosts are many."""
    query = "SELECT pair, side, run_id, is_anywhere FROM _comparison_sides(NULL, {}, 20) ORDER BY place"

    assert runs.rows(query.format("['a2', 'a3']")) == [
        (1, "base", "a1", False), (1, "candidate", "a2", False), (2, "candidate", "a3", False),
    ]  # fmt: skip
    runs.add(*(run(f"x{i}", "a", host=f"host-{i}", started_at=5 + i) for i in range(5)))
    found = runs.rows(query.format("['x4']"))
    assert [row[2] for row in found] == ["a1", "a2", "a3", "x0", "x1", "x2", "x3", "x4"] and all(
        row[3] for row in found
    )


def test_failures(warehouse: Builder) -> None:
    """Cases that ended well are left out; values before an interruption count, so its row is not void."""
    warehouse.add(run())
    for name, status in (("good", "ok"), ("killed", "interrupted"), ("big", "OOM")):
        warehouse.add(it := case(name), outcome(it, status))
    query = "SELECT name, status, void FROM _failures JOIN case_axes USING (case_id) ORDER BY name"

    assert warehouse.rows(query) == [("big", "OOM", True), ("killed", "interrupted", False)]


def test_summaries(warehouse: Builder) -> None:
    """Work that passes on one backend only counts in its own mean and not in the matched one."""
    warehouse.add(run())
    for name, backend, ns in (("one", "x", 50), ("one", "y", 25), ("two", "x", 100)):
        for side, each in (("eager", 100), (backend, ns)):
            it = case(name, backend=side)
            warehouse.add(it, outcome(it), *(timing(it, each, block=block) for block in range(5)))
    query = "SELECT backend, passing, n, n_matched, speedup, matched_speedup FROM _summaries WHERE backend <> 'eager'"

    assert warehouse.rows(f"{query} ORDER BY backend") == [
        ("x", 2, 2, 1, pytest.approx(2**0.5), pytest.approx(2)),
        ("y", 1, 1, 1, pytest.approx(4), pytest.approx(4)),
    ]


def test_reports(warehouse: Builder) -> None:
    """A run's place is among the runs of its config that judged the same suite."""
    for run_id, suite, day in (("r1", "s", 1), ("r2", "t", 2), ("r3", "s", 3)):
        warehouse.add(run(run_id, "c", started_at=day), it := case("m", run=run_id, suite=suite), outcome(it))

    assert warehouse.rows("SELECT run_id, position, age, previous_run FROM _reports ORDER BY run_id") == [
        ("r1", 1, 2, None),
        ("r2", 1, 1, None),
        ("r3", 2, 1, "r1"),
    ]


def test_workload_times(warehouse: Builder) -> None:
    """Work takes from the end of the work before, or the start of its run, to its last outcome."""
    warehouse.add(run(started_at=HOUR, host="x"), one := case("one"), two := case("two"))
    warehouse.add(outcome(one, recorded_at=HOUR + 3_000_000), outcome(two, recorded_at=HOUR + 10_000_000))

    assert warehouse.rows("SELECT machine_id, seconds FROM _workload_times ORDER BY seconds") == [
        ("host x", 3.0),
        ("host x", 7.0),
    ]


def test_workload_times_of_a_run_that_noted_no_case(warehouse: Builder) -> None:
    """Every work takes an equal share of the run."""
    warehouse.add(run(started_at=HOUR), case("one"), case("two"))
    warehouse.add(Outcome(run_id="run", case_id=None, status="ok", recorded_at=Instant(HOUR + 10_000_000)))

    assert warehouse.rows("SELECT seconds FROM _workload_times") == [(5.0,), (5.0,)]


def test_step_files(warehouse: Builder) -> None:
    """Files go by the number at the end of their stem, by name where one has none; rejected lines count as lines."""
    warehouse.add(run("a"), run("b"))
    for name, run_id in (("s_10.jsonl", "a"), ("s_9.jsonl", "a"), ("s_10.jsonl.b", "b"), ("s.jsonl", "b")):
        warehouse.add(source(name, 4, run=run_id, rejected=1), chunk(1, run=run_id, source_id=name))

    assert warehouse.rows("SELECT config, source_id, lines, file FROM _step_files ORDER BY config, file") == [
        ("a", "s_9.jsonl", 4, 1),
        ("a", "s_10.jsonl", 4, 2),
        ("b", "s.jsonl", 4, 1),
        ("b", "s_10.jsonl.b", 4, 2),
    ]


def test_step_ranges(warehouse: Builder) -> None:
    """A row for each file and each process of a run: its lines, its numbers, and how these differ from the lines."""
    warehouse.add(run(), source("f", 4), *(chunk(line, source_id="f", batch_id=line + 9) for line in (1, 2, 4)))
    warehouse.add(*(chunk(line, writer="x", batch_id=2 * line) for line in (1, 2)), chunk(3, writer="x", batch_id=-1))

    columns = "source_id, writer, steps, last_line, lowest, highest, lowest_shift, highest_shift"
    assert warehouse.rows(f"SELECT {columns} FROM _step_ranges ORDER BY writer NULLS FIRST") == [
        ("f", None, 3, 4, 10, 13, 9, 9),
        (None, "x", 3, 3, 2, 4, 1, 2),
    ]


def test_step_margins(warehouse: Builder) -> None:
    """Steps of a file are numbered after what trimming leaves of the files before it."""
    warehouse.add(run("a"), run("b"))
    for name, run_id in (("s_1.jsonl", "a"), ("s_2.jsonl", "a"), ("s_3.jsonl", "b")):
        warehouse.add(source(name, 5, run=run_id), chunk(1, run=run_id, source_id=name))

    assert warehouse.rows("SELECT source_id, before FROM _step_margins(['a'], 1, NULL) ORDER BY source_id") == [
        ("s_1.jsonl", None),
        ("s_2.jsonl", 3),
    ]


def test_steps(warehouse: Builder) -> None:
    """The first and last lines of a file are trimmed; a step as slow as a limit is filtered."""
    warehouse.add(run(), source("s_1.jsonl", 4))
    for line, model_ms in enumerate((1.0, 2.0, 9.0, 1.0), 1):
        warehouse.add(chunk(line, source_id="s_1.jsonl", batch_id=None, model_run_ms=model_ms))

    assert warehouse.rows(
        "SELECT line, batch_id, trimmed, filtered FROM _steps(NULL, 1, 300, 9, NULL) ORDER BY line"
    ) == [(1, 0, True, False), (2, 1, False, False), (3, 2, False, True), (4, 3, True, False)]


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("_is_warm(NULL)", True),
        ("_is_warm('steady')", True),
        ("_is_warm('cold')", False),
        ("_is_warm('warmup')", False),
        ("_is_headline(NULL, NULL)", True),
        ("_is_headline('latency', 'lower')", True),
        ("_is_headline('latency', NULL)", False),
        ("_is_headline('latency_max', 'lower')", False),
        ("""_case_label('m', '{"n":3}')""", "m n:3"),
        ("_case_label('m', NULL)", "m"),
        ("_step_tokens([512, 1], 7)", 513),
        ("_token_bin(0)", 0),
        ("_token_bin(1)", 1),
        ("_token_bin(1023)", 512),
        ("_token_bin(-1)", None),
        ("_token_bin_name(1)", "1"),
        ("_token_bin_name(512)", "512–1023"),
        ("_part_name('triton_poi_fused_gelu_3')", "triton_fused_gelu"),
        ("_part_name('triton_per_fused_add_layer_norm_1')", "triton_fused_add_layer_norm"),
        ("_part_name('triton_tem_fused_mm_1')", "triton_tem_fused_mm"),
        ("_part_name('triton_red_fused_2')", "triton_red_fused"),
        ("_part_name('graph_0_cpp_fused_add_12')", "cpp_fused_add"),
        ("_part_name('## Call CompiledFxGraph None ##')", "## Call CompiledFxGraph … ##"),
        (f"_part_name('## Call CompiledFxGraph f{51 * 'a'} ##')", "## Call CompiledFxGraph … ##"),
        ("_part_name('sgemm_128x64_nn')", "sgemm_128x64_nn"),
        ("_step_tokens([]::BIGINT[], 7)", 0),
        ("_step_tokens(NULL::BIGINT[], 7)", 7),
        (f"_step_tokens([{2**62}, {2**62}], 7)", 7),
        ("_ordered_mean([3, 1, 2])", 2.0),
        ("_percentiles([0, 1, 2])", [1.0, 1.8, 1.98]),
        ("_percentiles([]::DOUBLE[])", [None, None, None]),
        ("_finite(-1e308)", -1e308),
        ("_finite('nan'::DOUBLE)", None),
        ("_finite('-inf'::DOUBLE)", None),
        ("_difference(1, 3)", -2),
        (f"_difference({2**63 - 1}, -1)", None),
        ("(SELECT _total(x) FROM (VALUES (1), (NULL), (2)) AS t(x))", 3),
        (f"(SELECT _total(x) FROM (VALUES ({2**63 - 1}), (1)) AS t(x))", None),
        ("_fixed_point(0.25, 1e6)", 250_000),
        ("_fixed_point('nan'::DOUBLE, 1e6)", None),
        ("_fixed_point(1e300, 1e6)", None),
        ("_log_value(1, 'ns')", 0.0),
        ("_log_value(0, 'ns')", None),
        ("_log_value(0, 'count')", 0.0),
        ("_log_value(-1, 'count')", None),
        ("_gain(2, 'lower')", -2),
        ("_gain(2, 'higher')", 2),
        ("_gain(2, NULL)", 2),
        ("_sampling_variance(100, 90, 110, 10, 9, 4, 0.02)", pytest.approx(0.0001)),
        ("_assumed_reach('latency', 'steady', 'ns', NULL)", 0.078),
        ("_assumed_reach('compile_latency', NULL, 'ns', NULL)", 0.25),
        ("_assumed_reach('rss_peak', NULL, 'bytes', NULL)", 0.038),
        ("_assumed_reach('speedup', NULL, 'ratio', NULL)", 0.092),
        ("_assumed_reach('latency', 'steady', 'ns', 3)", 0.195),
        ("_assumed_reach('latency', 'steady', 'ns', 20)", 0.06),
        ("_assumed_reach('compile_latency', NULL, 'ns', 3)", 0.25),
        ("_assumed_reach('rss_peak', NULL, 'bytes', 3)", 0.038),
        ("_assumed_reach('speedup', NULL, 'ratio', 3)", 0.245),
        ("_statistic('latency_p50')", "p50"),
        ("_statistic('ttft_p99')", ""),
        ("_base_metric('cpu_time_mean')", "cpu_time"),
        ("_base_metric('rss_peak')", "rss_peak"),
        ("_is_of_latency('user_time')", True),
        ("_is_of_latency('cpu_time')", False),
        ("_is_of_latency('request_throughput')", False),
        ("_measurement('latency_median')", "latency"),
        ("_measurement('cpu_time_mean')", "cpu_time"),
        ("_measurement('items_per_second')", "latency"),
        ("_measurement('ttft_p50')", "ttft"),
        ("_measurement('ttft_p99')", "ttft_p99"),
        ("_measurement('rss_peak')", "rss_peak"),
        ("_is_count('graph_breaks', 'count')", True),
        ("_is_count('allocated', 'bytes')", True),
        ("_is_count('rss_peak', 'bytes')", False),
        ("_is_counter('instructions')", True),
        ("_is_counter('graph_breaks')", False),
        ("_is_effort('rounds')", True),
        ("_is_effort('samples')", True),
        ("_is_effort('captured_ops')", False),
        ("_is_failures('failed_calls')", True),
        ("_is_failures('latency')", False),
        ("_share_difference(1, 10, 0, 10)", 0.0),
        ("_share_difference(10, 10, 10, 10)", 0.0),
        ("_share_difference(1, 10, 10, 100)", 0.0),
        ("_share_difference(0, 0, 0, 0)", 0.0),
        (
            "_assumption(3, 0.078, 0.078, NULL, NULL, 1, 1)",
            "assumes that sessions differ as public nightly runs do, 95 % within 7.8 %",
        ),
        (
            "_assumption(30, 0.1, 0.078, 0.08, 0.1, 5, 6)",
            "5 against 6 processes or repetitions of one session each; "
            "assumes that sessions differ as these 30 cases do, 95 % within 10.0 %",
        ),
        (
            "_assumption(9, 0.195, 0.078, NULL, 0.8, 1, 1)",
            "these 9 cases differ by more than sessions do, assumed within 19.5 %",
        ),
        (
            "(SELECT list(q ORDER BY p) FROM (SELECT p, _q_value(p, 3, place, NULL) AS q"
            " FROM (VALUES (0.01, 1), (0.04, 2), (0.05, 3)) AS t(p, place)))",
            pytest.approx([0.03, 0.05, 0.05]),
        ),
        ("_is_accurate('pass_due_to_skip')", True),
        ("_is_accurate('fail_accuracy')", False),
        ("_is_time_or_rate('ns')", True),
        ("_is_time_or_rate('tokens/s')", True),
        ("_is_time_or_rate(NULL)", False),
        ("_change_verdict(true, 'ns')", "FASTER"),
        ("_change_verdict(false, 'ratio')", "WORSE"),
        ("_setting('suite/~/float32/cpu/a~1b')", "suite/~/float32/cpu"),
        ("_series_key('c', 'm', NULL, 'u') = _series_key('c', 'm', 'u', NULL)", False),
        ("_series_key('c', 'm', NULL, 'u') = _series_key('c', 'm', NULL, 'u')", True),
        ("(SELECT _geometric_mean(ln(x), x > 1) FROM (VALUES (1), (2), (8)) AS t(x))", pytest.approx(4)),
        ("(SELECT _geometric_mean(ln(x), x > 9) FROM (VALUES (1), (2), (8)) AS t(x))", None),
        ("(SELECT _geometric_width(w, w > 1) FROM (VALUES (1), (3), (4)) AS t(w))", 2.5),
        ("(SELECT _geometric_width(w, true) FROM (VALUES (3), (NULL)) AS t(w))", None),
        ("_batch_error([1, -1, 1, -1])", None),
        (
            "_batch_error([3, -1, -1, -1, 0])",
            pytest.approx((12 / 5 / 4) ** 0.5),
        ),  # one block each: that of independent ones
        (
            "_batch_error([2, 2, 0, 0, -2, -2, 0, 0, 1, -1])",
            pytest.approx((11.25 / 9 * 2 / 8) ** 0.5),
        ),  # nine pairs overlap
        ("_sampling_variance(100, NULL, NULL, 10, 4, 1, NULL)", pytest.approx(math.pi / 2 * 0.01 / 4)),
        (
            "_sampling_variance(100, 90, 110, 10, 9, NULL, NULL)",
            pytest.approx((math.log(110 / 90) / 2 / 1.959963984540054) ** 2),
        ),
        ("_comparison_evidence(1, 1, 1, 'SAME', false)", "one run each"),
        ("_comparison_evidence(20, 2, 2, 'SLOWER', true)", "20 against 2 runs on 2 hosts, confirmed"),
        ("_comparison_evidence(20, 1, 1, 'SLOWER', false)", "20 against 1 run, not confirmed"),
        ("_ending_reason('candidate', 'OOM', 1, 2, 'too big')", "candidate OOM in 1 of 3 runs: too big"),
        ("_ending_reason('base', 'OOM', 1, 2, 'too big')", "base OOM in 1 of 3 runs"),
        ("_ending_reason('base', 'OOM', 3, 0, 'too big')", "base OOM: too big"),
        ("_ending_reason('base', 'OOM', 1, NULL, NULL)", "base OOM"),
        ("_ending_reason('base', NULL, 0, 2, NULL)", None),
    ],
)
def test_scalars(bare: Builder, call: str, value: object) -> None:
    """They decide which rows a comparison shows, and how it names them."""
    assert bare.rows(f"SELECT {call}") == [(value,)]


def test_exported(warehouse: Builder) -> None:
    """A case's ending follows its samples; a value of the run as a whole is not exported."""
    warehouse.add(run(), it := case("m"), timing(it, 8, loops=2), outcome(it, "OOM"))
    warehouse.add(Metric(run_id="run", case_id=None, metric="steal", value=0.1))

    assert warehouse.rows("SELECT metric, value, loops, status, ending FROM _exported ORDER BY ending") == [
        ("latency", 4.0, 2, None, False),
        (None, None, None, "OOM", True),
    ]


def test_run_records(warehouse: Builder) -> None:
    """A run that was recorded twice has one row: that which began first."""
    warehouse.add(run("1", "b", started_at=2, host="late"), run("1", "c", started_at=1, host="early"), run("2"))

    assert warehouse.rows("SELECT run_id, config, host FROM _run_records ORDER BY run_id") == [
        ("1", "c", "early"), ("2", "2", None),
    ]  # fmt: skip


def test_passing_elsewhere(warehouse: Builder) -> None:
    """Of two works one passes on both backends, so one passes elsewhere; for a backend on which none does, all of the others'."""
    told = "SELECT _passing_elsewhere(in_mean, shared, backends, everywhere, but_one) FROM (VALUES {}) AS"
    names = "t(in_mean, shared, backends, everywhere, but_one)"

    assert warehouse.rows(f"{told.format('(true, 2, 2, 1, 1), (true, 1, 2, 1, 1)')} {names}") == [(1,)]
    assert warehouse.rows(f"{told.format('(true, 2, 2, 1, 1), (false, 1, 2, 1, 1)')} {names}") == [(2,)]
    assert warehouse.rows(f"{told.format('(false, 1, 1, 3, 0)')} {names}") == [(3,)]
    assert warehouse.rows(f"{told.format('(true, 1, 1, 3, 0)')} {names}") == [(None,)]


def test_pass_rate(warehouse: Builder) -> None:
    """As text; where nothing was judged there is none."""
    query = "SELECT _pass_rate(2, 3), _pass_rate(0, 1), _pass_rate(0, 0)"
    assert warehouse.rows(query) == [("67%, 2/3", "0%, 0/1", None)]


def test_superseded_cases(warehouse: Builder) -> None:
    """Of a resumed run what the second part measured again; unless that was interrupted."""
    warehouse.add(run("1", "c", started_at=1), run("2", "c", started_at=2, tags=Json('{"resumes": "1"}')))
    for run_id, statuses in (("1", {"a": "ok", "b": "interrupted", "c": "ok"}), ("2", {"a": "interrupted", "b": "ok"})):
        for name, status in statuses.items():
            warehouse.add(it := case(name, run_id), outcome(it, status))

    query = "SELECT run_id, name FROM _superseded_cases JOIN case_axes USING (case_id) ORDER BY ALL"
    assert warehouse.rows(query) == [("1", "b"), ("2", "a")]
    query = "SELECT report_id, run_id, name, status, same_id = case_id FROM _report_cases ORDER BY name"
    assert warehouse.rows(query) == [
        ("2", "1", "a", "ok", True),
        ("2", "2", "b", "ok", True),
        ("2", "1", "c", "ok", True),
    ]


def test_runs_before(warehouse: Builder) -> None:
    """The newest of the same config that measured all a run did, then those that measured part of it; other work never."""
    modes_of = {"old": "i", "both": "it", "part": "i", "train": "t", "own": "i", "later": "i"}
    for at, (name, modes) in enumerate(modes_of.items()):
        warehouse.add(run(name, "main", started_at=Instant(at)))
        for mode in modes:
            one = case("m", name, mode=mode, suite="s", backend="inductor")
            warehouse.add(one, outcome(one))
    warehouse.add(run("elsewhere", "other", started_at=Instant(3)))

    query = "SELECT run_id FROM _runs_before(?) ORDER BY place"
    assert [name for (name,) in warehouse.rows(query, ["own"])] == ["part", "both", "old"]
    assert [name for (name,) in warehouse.rows(query, ["both"])] == ["old"]
    warehouse.add(run("steps", "main", started_at=Instant(9)))
    assert next(name for (name,) in warehouse.rows(query, ["steps"])) == "later"
    for part in ("1/2", "2/2"):
        warehouse.add(run(part, "main", started_at=Instant(10 + int(part[0])), tags=Json(f'{{"partition": "{part}"}}')))
    assert next(name for (name,) in warehouse.rows(query, ["2/2"])) == "steps"


def test_report_summaries(warehouse: Builder) -> None:
    """A night in two parts is summed up over both; alone a run has the numbers of _summaries."""
    for run_id, speedup, tags in (("1", 2.0, None), ("2", 2.0, "1/2"), ("3", 8.0, "2/2")):
        it = case(f"m{speedup}", run_id, backend="x", source_id="f")
        warehouse.add(
            run(run_id, "c", started_at=int(run_id), tags=Json(f'{{"partition": "{tags}"}}') if tags else None)
        )
        warehouse.add(
            it, outcome(it), metric(it, "speedup", speedup), metric(it, "compile_latency", speedup, unit="ns")
        )

    query = "SELECT run_id, passing, total, rate, n, speedup, n_compiled, mean_compile_ns FROM _report_summaries ORDER BY run_id"
    assert warehouse.rows(query) == [
        ("1", 1, 1, "100%, 1/1", 1, pytest.approx(2.0), 1, 2.0),
        ("3", 2, 2, "100%, 2/2", 2, pytest.approx(4.0), 2, 5.0),
    ]
    assert warehouse.rows("SELECT run_id, passing FROM _night_summaries") == [("3", 2)]


def test_backends_of_a_night_compare_over_all_its_parts(warehouse: Builder) -> None:
    """A work that passes on the other backend in another part passes elsewhere; what a later part measured again counts once."""
    for part, works in enumerate(([("x", "1"), ("y", "1")], [("x", "2"), ("y", "3"), ("x", "1")]), 1):
        warehouse.add(run(f"{part}", "c", started_at=part, tags=Json(f'{{"partition": "{part}/2"}}')))
        for backend, work in works:
            it = case(f"m{work}", f"{part}", backend=backend, source_id="f")
            speedup = 2.0 if part == 1 else 8.0
            warehouse.add(it, outcome(it), metric(it, "speedup", speedup, unit="ratio"))
    warehouse.add(it := case("m2", "2", backend="y", source_id="f"), outcome(it, "OOM"), metric(it, "speedup", 1.0))

    query = (
        "SELECT backend, n, n_elsewhere, n_matched, speedup, matched_speedup, skipped, excluded FROM _night_summaries"
    )
    assert warehouse.rows(f"{query} ORDER BY backend") == [
        ("x", 2, 2, 1, pytest.approx(8), pytest.approx(8), 0, []),
        ("y", 2, 2, 1, pytest.approx(4), pytest.approx(2), 0, ["m2: OOM"]),
    ]


def test_a_run_that_confirms_another_has_a_summary_and_no_place_in_histories(warehouse: Builder) -> None:
    """It is a report of its own that is not typical."""
    for run_id, tags in (("1", None), ("2", Json('{"confirms": "1"}'))):
        warehouse.add(run(run_id, "c", started_at=int(run_id), tags=tags), it := case("m", run_id), outcome(it))

    assert warehouse.rows("SELECT run_id, is_typical FROM _report_summaries ORDER BY 1") == [("1", True), ("2", False)]
    assert warehouse.rows("SELECT run_id, passing FROM executive_summary() ORDER BY 1") == [("1", 1), ("2", 1)]
    assert warehouse.rows("SELECT run_id FROM history()") == [("1",)]


def test_a_panel_is_one_text(warehouse: Builder) -> None:
    """Equal where all five are, unknown ones included; a slash or a tilde in a name makes no other panel of it."""
    panels = [("s", "m", "t", "d", "b"), ("s", None, "t", "d", "b"), ("s", "", "t", "d", "b"), ("s", "~", "t", "d", "b"),
              ("s/m", "t", "d", "b", None), ("s", "m/t", "d", "b", None), ("s~1m", "t", "d", "b", None)]  # fmt: skip
    texts = [text for panel in panels for (text,) in warehouse.rows("SELECT _panel(?, ?, ?, ?, ?)", [*panel])]

    assert texts[:2] == ["s/m/t/d/b", "s/~/t/d/b"]
    assert len(set(texts)) == len(panels)
    assert warehouse.rows("SELECT _panel_part(NULL), _panel_part('a/~')") == [("~", "a~1~0")]


def test_flagged_numbers_and_their_words(warehouse: Builder) -> None:
    """A value beyond its limit, or a cause; `flags` puts them into words."""
    warehouse.add(run(), slow := case("slow", source_id="f"), outcome(slow), metric(slow, "speedup", 0.5, unit="ratio"))
    warehouse.add(died := case("died", source_id="f"), outcome(died, "OOM", reason="too big"))

    query = "SELECT name, metric, value, threshold, cause FROM _flagged_numbers(0.95, 120, 0.9) ORDER BY name"
    assert warehouse.rows(query) == [
        ("died", "status", None, None, "OOM: too big"),
        ("slow", "speedup", 0.5, 0.95, None),
    ]
    words = "SELECT _flag_reason('speedup', 0.5, 0.4, 0.6, 9, 0.95, NULL), _flag_reason('status', 1, 1, 1, 1, 1, 'OOM')"
    assert warehouse.rows(words) == [("speedup 0.500 (95 % 0.400–0.600, n=9) is below 0.95", "OOM")]


def test_compared_and_judged_cases(runs: Builder) -> None:
    """Beside what is shown stands how long it has been so; what only the base measured is not judged."""
    for run_id, ns, names in (("a1", 100, "mk"), ("a2", 400, "m")):
        for name in names:
            runs.add(it := case(name, run=run_id), timing(it, ns))

    compared = "_compared_cases(NULL, ['a2'], 20, 0.03, 0.05, false) ORDER BY name"
    assert runs.rows(f"SELECT name, verdict, base_total, base_runs, candidate_runs FROM {compared}") == [
        ("k", "REMOVED", 1, 1, None),
        ("m", "LIKELY SLOWER", 1, 1, 1),
    ]
    assert runs.rows(f"SELECT name, pair, first_place, streak, since_place, good_place, cases FROM {compared}") == [
        ("k", 1, None, None, None, None, 1),
        ("m", 1, 2, 0, 2, 1, 1),
    ]
    judged = "SELECT name, run_id, is_judged FROM _judged_cases(['a2'], 20, 0.03, 0.05) ORDER BY name"
    assert runs.rows(judged) == [("k", None, False), ("m", "a2", True)]


def test_the_words_of_a_shift(warehouse: Builder) -> None:
    """A change of a time is SLOWER, of anything else WORSE; one that p does not tell from chance is UNSURE."""
    query = "SELECT _shift_verdict(?, 0.01, ?, ?, 0.03, 0.05)"
    said = [
        ((-0.1, 0.001, "ns"), "SLOWER"),
        ((-0.1, 0.001, "bytes"), "WORSE"),
        ((-0.1, 0.02, "ns"), "UNSURE"),
        ((-0.7, None, "ns"), "UNSURE"),
        ((0.001, 0.5, "ns"), "SAME"),
    ]
    assert [warehouse.rows(query, [*given]) for given, _ in said] == [[(verdict,)] for _, verdict in said]
    assert warehouse.rows("SELECT _shift_reason(ln(1.1), 30, NULL, 1)") == [
        ("+10.0 % shared by 30 cases, taken out of each, as it may be the machine",)
    ]
    assert warehouse.rows("SELECT _shift_reason(ln(1.1), 30, 0.001, 1)") == [
        (
            "+10.0 % shared by 30 cases, taken out of each; p = 0.001; one run tells little of how runs differ as a whole",
        )
    ]


def test_speedup_reason(warehouse: Builder) -> None:
    """A speedup that is lower because the baseline got faster says so; one that the backend changed alone says nothing."""
    said = [
        (("0.8", "1"), "the baseline is 1.25x faster, the backend itself the same within 3 %"),
        (("1.2", "0.9"), "the baseline is 1.33x slower, the backend itself 1.11x slower"),
        (("0.8", "0.8"), None),
        (("0.8", "NULL"), None),
    ]

    for (speedup, own), text in said:
        assert warehouse.rows(f"SELECT _speedup_reason(ln({speedup}), ln({own}), 0.03)") == [(text,)]


def test_run_flags(warehouse: Builder) -> None:
    """Workers of a run report the settings of torch's compilers; a run without a report, or without JSON, has none."""
    one = case("m", "1", backend="inductor")
    flags = '{"dynamo.recompile_limit": "3"}'
    warehouse.add(
        run("1"),
        run("2"),
        run("3"),
        one,
        *(metric(one, "compiler_flags", None, original_value=flags) for _ in range(2)),
    )
    bad = case("m", "3", backend="inductor")
    warehouse.add(
        bad, *(metric(bad, "compiler_flags", None, original_value=text) for text in ("{", '{"a""b"}', '{"a": "\\q"}'))
    )

    assert warehouse.rows("SELECT * FROM _run_flags ORDER BY run_id") == [("1", flags), ("3", None)]
    assert warehouse.rows("SELECT run_id, flags FROM run_details ORDER BY run_id") == [
        ("1", flags),
        ("2", None),
        ("3", None),
    ]
    differences = (
        "SELECT field, base_values, candidate_values FROM environment_differences(['1'], ['2']) WHERE kind = 'flags'"
    )
    assert warehouse.rows(differences) == [("dynamo.recompile_limit", ["3"], [None])]


def test_earlier_values(warehouse: Builder) -> None:
    """The logarithms of what was measured before, oldest first, of series that six earlier runs have."""
    for day in range(8):
        warehouse.add(run(f"r{day}", "main", host="x", started_at=(day + 1) * 24 * HOUR))
        warehouse.add(it := case("m", run=f"r{day}"), timing(it, 1000 + day))
        if day > 3:
            warehouse.add(other := case("new", run=f"r{day}"), timing(other, 1))

    ((x, xs, place),) = warehouse.rows("SELECT x, xs, place FROM _earlier_values(['r7'], 20)")
    assert [round(math.exp(value)) for value in (*xs, x)] == [*range(1000, 1008)]
    assert place == 8


def test_trace_spans(warehouse: Builder) -> None:
    """A span has its thread or device, and began on the clock of its trace; stores of before have both in `fields` alone."""
    warehouse.add(run("t", "t", source="torch-trace"))
    places = [("cpu_op", {"ts": 1.5, "pid": 1, "tid": 2}), ("kernel", {"ts": 3, "args": {"device": 0}})]
    for line, (suite, place) in enumerate(places, 1):
        one = case(f"op{line}", "t", suite=suite)
        warehouse.add(
            one, timing(one, 7, line=line), metric(one, "fields", None, line=line, original_value=json.dumps(place))
        )
    bare, placed, late = (case(name, "t", suite="cpu_op") for name in ("bare", "placed", "late"))
    warehouse.add(bare, timing(bare, 7, line=3), placed, timing(placed, 7, line=4, began_ns=9, lane="1/2"))
    warehouse.add(late, timing(late, 7, line=5, lane=""))

    assert warehouse.rows("SELECT line, kind, name, ns, start, device, lane FROM _trace_spans(['t']) ORDER BY line") == [
        (1, "cpu_op", "op1", 7, 1500, False, "1/2"), (2, "kernel", "op2", 7, 3000, True, "0"),
        (4, "cpu_op", "placed", 7, 9, False, "1/2"), (5, "cpu_op", "late", 7, None, False, ""),
    ]  # fmt: skip


def test_stacks(warehouse: Builder) -> None:
    """A path that a file has twice is one; counts that are none are left out."""
    one, odd = case("main;f", "a"), case("main;g", "a")
    warehouse.add(run("a", "a", source="folded-stacks"), one, odd)
    warehouse.add(
        metric(one, "samples", 3), metric(one, "samples", 4), metric(odd, "samples", 1), metric(one, "other", 9)
    )
    warehouse.add(*(metric(odd, "samples", value) for value in (None, math.nan, math.inf, -2.0)))

    assert warehouse.rows("FROM _stacks(['a']) ORDER BY name") == [("a", "main;f", 7), ("a", "main;g", 1)]
