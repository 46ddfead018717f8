"""case_outcomes: no case without an end; step_breakdown: where a step's time goes."""

from bench.warehouse.events import Instant, Outcome

from ..builders import Builder, case, chunk, memory, outcome, run
from ..exhaustive import exhaustive

STATUSES = "SELECT name, kind, status FROM case_outcomes ORDER BY ALL"


def test_a_case_without_outcome_was_interrupted(warehouse: Builder) -> None:
    """Announced, and then nothing: the run was killed."""
    warehouse.add(run(), case("m"))

    assert warehouse.rows(STATUSES) == [("m", "performance", "interrupted")]
    assert warehouse.rows("SELECT reason FROM case_outcomes") == [("its run ended before it did",)]


def test_a_run_that_ended_well_ends_its_cases_well(warehouse: Builder) -> None:
    """A script that uses `bench.run` need not write outcomes; what was said explicitly stands."""
    warehouse.add(run(), case("a"), case("b"), outcome(case("b"), "OOM"), Outcome(run_id="run", status="ok"))

    assert warehouse.rows(STATUSES) == [("a", "performance", "ok"), ("b", "performance", "OOM")]


def test_nobody_knows_how_an_imported_case_ended(warehouse: Builder) -> None:
    """A table of results without statuses was not interrupted."""
    warehouse.add(run(), case("m", source_id="file"))

    assert warehouse.rows(STATUSES) == [("m", "performance", "unknown")]


def test_the_last_outcome_of_each_kind_counts(warehouse: Builder) -> None:
    """The runner corrects its worker; accuracy is a matter of its own."""
    it = case("m")
    warehouse.add(run(), it, outcome(it, "ok", recorded_at=1), outcome(it, "timeout", recorded_at=2))
    warehouse.add(outcome(it, "pass", kind="accuracy", recorded_at=3))

    assert warehouse.rows(STATUSES) == [("m", "accuracy", "pass"), ("m", "performance", "timeout")]


def test_a_step_is_broken_down(warehouse: Builder) -> None:
    """Scheduler share, tokens a second and the mix of prefill and decode."""
    warehouse.add(
        run("A"),
        chunk(1, [90, 10], "A", schedule_ms=1.0, model_run_ms=8.0, step_ms=10.0, waiting=4, kv_cache_usage=0.5,
              prefill_chunk_sizes=[90], decode_chunk_sizes=[10]),
        chunk(2, [50, 50], "A", schedule_ms=3.0, model_run_ms=27.0, waiting=0, kv_cache_usage=0.7,
              prefill_chunk_sizes=[50], decode_chunk_sizes=[50]),
    )  # fmt: skip

    (row,) = warehouse.dicts("SELECT * FROM step_breakdown()")
    assert (row["config"], row["steps"], row["tokens"]) == ("A", 2, 200)
    assert (row["mean_step_ms"], row["schedule_share"], row["tokens_per_second"]) == (20.0, 0.1, 5000.0)
    assert (row["prefill_tokens"], row["decode_tokens"], row["prefill_share"]) == (140, 60, 0.7)
    assert (row["max_waiting"], row["max_kv_cache_usage"], row["mean_batch_size"]) == (4, 0.7, 2.0)


def test_idle_steps_count(warehouse: Builder) -> None:
    """A list of no chunks is no tokens, in every view: with half the steps idle, half the throughput."""
    for line, sizes in enumerate(([100], [], [100], []), 1):
        warehouse.add(chunk(line, sizes, "A", schedule_ms=None))
    warehouse.add(chunk(5, [], "B", total_tokens=7, prefill_chunk_sizes=[], decode_chunk_sizes=[3]), run("A"), run("B"))

    query = "SELECT config, tokens_per_second, mean_tokens, prefill_tokens, prefill_share FROM step_breakdown() ORDER BY config"
    assert warehouse.rows(query) == [("A", 5000.0, 50.0, None, None), ("B", 0.0, 0.0, 0, 0.0)]
    query = "SELECT sum(n)::BIGINT FROM step_cells WHERE metric = 'model_run' AND (parameters ->> 'tokens') = '0'"
    assert warehouse.rows(query) == [(3,)]


@exhaustive
def test_a_writer_that_tells_no_prefill_has_no_mix(warehouse: Builder) -> None:
    """NULL rather than a guess; a step without times has no share either."""
    warehouse.add(run("A"), chunk(1, [5], "A", schedule_ms=None, model_run_ms=None))

    query = "SELECT prefill_tokens, prefill_share, schedule_share, tokens_per_second FROM step_breakdown()"
    assert warehouse.rows(query) == [(None, None, None, None)]


def test_a_case_that_passed_accuracy_and_then_died_was_interrupted(warehouse: Builder) -> None:
    """Being right is no proof of having been timed: the performance row is there, and says so."""
    killed = case("m")
    warehouse.add(run(), killed, outcome(killed, "pass", kind="accuracy"))

    assert warehouse.rows(STATUSES) == [("m", "accuracy", "pass"), ("m", "performance", "interrupted")]


def test_status_and_reason_are_of_one_outcome(warehouse: Builder) -> None:
    """A run that was resumed and ended well is not ok for the reason 'Ctrl-C'; a case that failed has its own reason or none."""
    warehouse.add(run(), it := case("m"))
    warehouse.add(Outcome(run_id="run", status="interrupted", reason="Ctrl-C", recorded_at=Instant(1)))
    warehouse.add(Outcome(run_id="run", status="ok", recorded_at=Instant(2)))
    warehouse.add(outcome(it, "OOM", recorded_at=1), outcome(it, "timeout", reason="too long", recorded_at=2))

    assert warehouse.rows("SELECT status, reason FROM run_summaries") == [("ok", None)]
    query = "SELECT status, reason, failed, processes FROM function_results"
    assert warehouse.rows(query) == [("OOM", None, 2, 2)]


def test_a_peak_has_its_own_bound(warehouse: Builder) -> None:
    """That of a smaller reading is not that of the peak."""
    warehouse.add(run(), it := case("m"), memory(it, 200), memory(it, 100, error_bound_bytes=4))

    assert warehouse.rows("SELECT peak_bytes, error_bound_bytes, n FROM peak_memory") == [(200, None, 2)]


def test_the_last_run_is_one_whose_time_is_known(warehouse: Builder) -> None:
    """A run of an unknown time is not the last; where no time is known, the last id is."""
    warehouse.add(
        run("r1", "a", started_at=1), run("r2", "a", started_at=2), run("r3", "a"), run("r4", "b"), run("r5", "b")
    )

    assert warehouse.rows("SELECT config, last_run FROM config_summaries ORDER BY config") == [("a", "r2"), ("b", "r5")]


def test_a_peak_reached_twice_is_where_it_was_first(warehouse: Builder) -> None:
    """Whatever the order of the readings."""
    it = case("m")
    readings = [memory(it, 9, statistic="reading", place=f"a.py:{line}", line=line) for line in (1, 2, 3)]
    for order in (readings, readings[::-1]):
        found = Builder().add(run(), it, *order).rows("SELECT peak_place FROM memory_totals")
        assert found == [("a.py:1",)]
