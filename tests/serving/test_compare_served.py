"""bench compare --slo: goodput and quantiles of two sides."""

import json

import pytest
from bench.query.comparison.serving import compare_served, exit_code_of_served, read_limits
from bench.query.comparison.sides import Side
from bench.warehouse.errors import BenchError, Exit, NothingToShow, UnknownName

from ..builders import Builder, case, metric, run, timing
from ..viz.serving import benchmarks


def served(builder: Builder, *runs: str, **limits: float) -> dict[str, str]:
    """The verdict of each metric, of the only case."""
    base, candidate = (Side(run, (run,)) for run in runs)
    return {
        row["metric"]: row["verdict"] for row in compare_served(builder, base, candidate, limits, floor=0.03, fdr=0.05)
    }


def test_what_changed_is_told_for_goodput_and_quantiles() -> None:
    """The candidate is a fifth faster per token and was sent fewer requests."""
    found = served(benchmarks(loads=(4,)), "run-0-0", "run-1-0", tpot=24)

    assert (found["tpot_p50"], found["tpot_p90"], found["interactivity"], found["goodput"]) == ("LIKELY FASTER",) * 4
    assert found["throughput"] == "LIKELY SLOWER" and "request_rate" not in found


def test_one_run_a_side_is_likely_at_most_and_as_wide_as_a_comparison_has_it() -> None:
    """Sessions are assumed to differ as `comparisons` assumes it, and equal times of all requests have that interval, too."""
    builder = Builder()
    for name, ms in (("a", 1000), ("b", 1250)):
        llama = case("llama", name, suite="serving")
        builder.add(run(name, name), llama)
        for number in range(240):
            builder.add(metric(llama, "start_time", number * 1e8, unit="ns", sample=number))
            builder.add(timing(llama, ms * 1_000_000, sample=number))
    sides = Side("a", ("a",)), Side("b", ("b",))

    (row,) = compare_served(builder, *sides, {}, floor=0.03, fdr=0.05, metrics=["e2e_p50"])

    assert (row["verdict"], row["p"]) == ("LIKELY SLOWER", None)
    assert row["evidence"] == "20 blocks against 20 blocks, sessions assumed within 7.8 %"
    (same,) = builder.rows("SELECT ratio, low, high FROM comparisons(['a'], ['b']) WHERE metric = 'latency'")
    assert (row["ratio"], row["low"], row["high"]) == pytest.approx(same)
    assert [exit_code_of_served([row], likely=likely) for likely in (False, True)] == [Exit.OK, Exit.FAILED]


def test_the_same_load_again_is_not_worse() -> None:
    """Of two runs of one config nothing is called a change."""
    found = served(benchmarks(("base",), (4,), runs=2), "run-0-0", "run-0-1", ttft=150)

    assert {*found.values()} <= {"SAME", "UNSURE"}


def test_a_p99_of_few_requests_is_unsure() -> None:
    """240 requests have two or three beyond it: blocks tell nothing of its error."""
    assert served(benchmarks(loads=(4,)), "run-0-0", "run-1-0")["e2e_p99"] == "UNSURE"


def test_runs_are_the_unit_where_a_side_has_several(warehouse: Builder) -> None:
    """Three runs of each config: two degrees of freedom, whatever the number of requests."""
    builder = benchmarks(loads=(4,), runs=3, requests=60)

    query = "SELECT DISTINCT config, degrees, units, n_runs FROM serving_metrics() WHERE metric = 'tpot_p50' ORDER BY config"
    assert builder.rows(query) == [("base", 2, "runs", 3), ("pr", 2, "runs", 3)]


@pytest.mark.parametrize(
    ("base", "verdict", "evidence"),
    [((800, 1000, 1200), "UNSURE", "3 runs for both"), ((1000, 1000, 1000), "SLOWER", "3 runs against 20 blocks")],
)
def test_runs_of_one_side_tell_how_the_only_run_of_the_other_may_differ(
    warehouse: Builder, base: tuple[int, ...], verdict: str, evidence: str
) -> None:
    """Its blocks cannot, and a run that is 30 % slower is nothing new among runs that differ by 20 %."""
    for name, ms in (*zip("abc", base, strict=True), ("only", 1300)):
        llama = case("llama", name, suite="serving")
        warehouse.add(run(name, "only" if name == "only" else "base"), llama)
        for number in range(240):
            warehouse.add(metric(llama, "start_time", number * 1e8, unit="ns", sample=number))
            warehouse.add(timing(llama, int(ms * 1e6 * (1 + number * 37 % 101 / 1000)), sample=number))
    sides = Side("base", ("a", "b", "c")), Side("only", ("only",))

    (row,) = compare_served(warehouse, *sides, {}, floor=0.03, fdr=0.05, metrics=["e2e_p50"])
    assert (row["verdict"], row["evidence"]) == (verdict, evidence)


def failures(builder: Builder, concurrency: int) -> Builder:
    """Add a run `dead` of the same model, of which no request completes."""
    llama = case("llama", "dead", suite="serving", parameters={"max_concurrency": concurrency, "tp_size": 2})
    builder.add(run("dead"), llama)
    for number in range(240):
        builder.add(metric(llama, "start_time", number * 1e8, unit="ns", sample=number))
        builder.add(metric(llama, "request_outcome", None, original_value="errored", sample=number))
    return builder


def test_a_side_that_serves_nothing_is_worse() -> None:
    """0 has no logarithm, and is no lack of data. The other way round it is better."""
    builder = failures(benchmarks(("base",), (4,)), 4)
    base, candidate = Side("base", ("run-0-0",)), Side("dead", ("dead",))
    (row,) = compare_served(builder, base, candidate, {"ttft": 150}, floor=0.03, fdr=0.05, metrics=["share_met"])

    assert (row["verdict"], row["ratio"], row["low"], row["high"]) == ("WORSE", 0.0, None, None)
    assert 0 < row["p"] < 1e-6
    assert served(builder, "dead", "run-0-0", ttft=150)["goodput"] == "FASTER"


def test_sides_without_requests_say_how_to_keep_them() -> None:
    """Nothing in common is no empty table."""
    with pytest.raises(NothingToShow, match=r"^no has no requests .* --save-detailed"):
        served(benchmarks(loads=(4,)), "run-0-0", "no")


def test_sides_of_different_cases_say_what_differs() -> None:
    """And which chart needs no case in common."""
    with pytest.raises(NothingToShow, match=r"they differ in max_concurrency\. Draw both with: bench viz pareto"):
        served(failures(benchmarks(("base",), (4,)), 8), "run-0-0", "dead")


def test_limits_are_read_in_ms() -> None:
    """Whatever else is said is an error that names the nearest."""
    assert read_limits(["ttft=200", "e2e=1500ms"]) == {"ttft": 200, "e2e": 1500}
    with pytest.raises(UnknownName, match="ttft"):
        read_limits(["tfft=200"])
    with pytest.raises(BenchError, match="METRIC=MS"):
        read_limits(["ttft"])
    for text in ("ttft=", "ttft=-1", "ttft=nan"):
        with pytest.raises(BenchError, match="Write it in ms, such as 200"):
            read_limits([text])
    with pytest.raises(BenchError, match="twice"):
        read_limits(["ttft=200", "ttft=300"])


def test_gpus_are_tagged_or_named(warehouse: Builder) -> None:
    """_serving_gpus: the tag of a run, else what the case says of its parallelism."""
    builder = benchmarks(("base",), (4,), requests=12)
    assert builder.rows("SELECT gpus FROM _serving_gpus") == [(2.0,)]
    builder.connection.execute("UPDATE runs SET tags = ?", [json.dumps({"gpus": "8"})])
    assert builder.rows("SELECT gpus FROM _serving_gpus") == [(8.0,)]


def test_draws_are_of_students_t(warehouse: Builder) -> None:
    """_pseudo_t: its quantiles are those of t, and what is drawn for two things is not correlated."""
    query = """
        SELECT quantile_cont(_pseudo_t(d, 2, 5), 0.975), quantile_cont(_pseudo_t(d, 2, 5), 0.5),
            corr(_pseudo_t(d, 2, 19), _pseudo_t(d, 3, 19))
        FROM range(1, 20001) t(d)
    """
    ((high, middle, correlation),) = warehouse.rows(query)
    assert (high, middle, correlation) == (
        pytest.approx(2.571, abs=0.08),
        pytest.approx(0, abs=0.03),
        pytest.approx(0, abs=0.03),
    )
