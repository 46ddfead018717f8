"""runtime_vs_tokens keeps the steps that the analysis of FEATURES A keeps, and counts the others."""

import json
from pathlib import Path
from typing import Any

import pytest
from bench.warehouse.events import Event, Metric, Reject

from ..builders import Builder, chunk, run, source


def profile(name: str, lines: int, run: str = "run", **fields: Any) -> list[Event]:
    """A file of one-token steps, its batches counted from 0, and its accounting."""
    steps = [chunk(line, run=run, source_id=name, **fields) for line in range(1, lines + 1)]
    return [source(name, lines, run), *steps]


def test_the_first_and_last_ten_lines_are_left_out(warehouse: Builder) -> None:
    """Of 23 lines the 11th to the 13th stay."""
    warehouse.add(run(), *profile("a_0.jsonl", 23))

    assert warehouse.rows("SELECT line, batch_id FROM runtime_vs_tokens() ORDER BY ALL") == [
        (11, 10),
        (12, 11),
        (13, 12),
    ]


def test_a_file_of_twenty_lines_gives_nothing(warehouse: Builder) -> None:
    """20 lines are all head and tail, and do not move the batches of the next file."""
    warehouse.add(run(), *profile("a_0.jsonl", 20), *profile("a_1.jsonl", 21))

    assert warehouse.rows("SELECT batch_id FROM runtime_vs_tokens()") == [(10,)]


def test_files_go_by_their_number_and_move_the_batches_of_later_files(warehouse: Builder) -> None:
    """a_2 stands before a_10 and leaves 5 of 25 lines, so a_10 counts from 5; rejected lines count as lines."""
    warehouse.add(run(), *profile("a_10.jsonl", 21), *profile("a_2.jsonl", 24))
    warehouse.rows("UPDATE sources SET lines = 25, rejected = 1 WHERE name = 'a_2.jsonl'")

    query = "SELECT source_id, min(batch_id), max(batch_id) FROM runtime_vs_tokens() GROUP BY 1 ORDER BY 2"
    assert warehouse.rows(query) == [("a_2.jsonl", 10, 14), ("a_10.jsonl", 15, 15)]


def test_without_a_number_on_every_file_all_go_by_name(warehouse: Builder) -> None:
    """One file without a number: 'a_10' < 'a_2' < 'b' by name."""
    warehouse.add(run(), *profile("b.jsonl", 21), *profile("a_2.jsonl", 21), *profile("a_10.jsonl", 21))

    query = "SELECT source_id FROM runtime_vs_tokens() ORDER BY batch_id"
    assert warehouse.rows(query) == [("a_10.jsonl",), ("a_2.jsonl",), ("b.jsonl",)]


def test_configs_are_numbered_apart(warehouse: Builder) -> None:
    """The files of one config do not move those of another, and `configs` chooses."""
    warehouse.add(run("A"), run("B"), *profile("a_0.jsonl", 22, "A"), *profile("b_1.jsonl", 21, "B"))

    assert warehouse.rows("SELECT batch_id FROM runtime_vs_tokens(configs := ['B'])") == [(10,)]
    assert warehouse.rows("SELECT config, kept FROM runtime_vs_tokens_counts() ORDER BY 1") == [("A", 2), ("B", 1)]


def test_runs_are_chosen_and_numbered_as_if_there_were_no_others(warehouse: Builder) -> None:
    """`runs` keeps the steps of these: files of other runs of the config move no batches and have no counts."""
    warehouse.add(run("one", "A"), run("two", "A"), *profile("a_0.jsonl", 25, "one"), *profile("a_1.jsonl", 22, "two"))
    warehouse.rows("UPDATE sources SET config = 'A'")

    query = "SELECT run_id, min(batch_id) FROM runtime_vs_tokens(runs := {}) GROUP BY 1 ORDER BY 1"
    assert warehouse.rows(query.format("NULL")) == [("one", 10), ("two", 15)]
    assert warehouse.rows(query.format("['two']")) == [("two", 10)]
    counts = "SELECT config, files, read, kept FROM runtime_vs_tokens_counts(runs := ['two'])"
    assert warehouse.rows(counts) == [("A", 1, 22, 2)]
    assert warehouse.rows("SELECT config, steps FROM step_breakdown(runs := ['two'])") == [("A", 22)]


def test_thresholds_are_strict_and_a_missing_time_counts_as_nothing(warehouse: Builder) -> None:
    """300 and 200 ms are out, just below is in, NULL is in and stays NULL."""
    times = [(300.0, 1.0), (1.0, 200.0), (299.9, 199.9), (None, None), (float("nan"), 1.0)]
    steps = [chunk(i, source_id="f", schedule_ms=s, model_run_ms=m) for i, (s, m) in enumerate(times, 1)]
    warehouse.add(run(), source("f", 5), *steps)

    query = 'SELECT line, model_run_ms FROM runtime_vs_tokens("trim" := 0) ORDER BY line'
    assert warehouse.rows(query) == [(3, 199.9), (4, None)]


def test_tokens_are_the_sum_and_batch_size_the_number_of_chunks(warehouse: Builder) -> None:
    """A sum beyond 64 bits falls back on what the writer says rather than failing the query."""
    warehouse.add(
        run(), source("f", 4), chunk(1, [512, 1, 1], source_id="f"), chunk(2, [], source_id="f"),
        chunk(3, [2**62, 2**62], source_id="f", total_tokens=7),
    )  # fmt: skip

    query = 'SELECT tokens, batch_size FROM runtime_vs_tokens("trim" := 0) ORDER BY line'
    assert warehouse.rows(query) == [(514, 3), (0, 0), (7, 2)]


def test_own_recordings_are_files_by_process(warehouse: Builder) -> None:
    """A process that recorded its own steps is trimmed like a file."""
    warehouse.add(run(), *(chunk(line, writer=w) for w in "xy" for line in range(1, 22)))

    query = "SELECT line, batch_id, source_id FROM runtime_vs_tokens() ORDER BY batch_id"
    assert warehouse.rows(query) == [(11, 10, None), (11, 11, None)]


def test_numbers_of_two_writers_of_a_run_never_meet(warehouse: Builder) -> None:
    """One writer counts every second step, the other from 1: each step has a number of its own, in the order of writers."""
    warehouse.add(run(), *(chunk(line, writer="x", batch_id=2 * line) for line in (1, 2, 3)))
    warehouse.add(*(chunk(line, writer="y", batch_id=line) for line in (1, 2)))

    query = 'SELECT line, batch_id FROM runtime_vs_tokens("trim" := 0) ORDER BY batch_id'
    assert warehouse.rows(query) == [(1, 2), (2, 4), (3, 6), (1, 7), (2, 8)]


def test_a_file_that_grew_is_one_file(warehouse: Builder) -> None:
    """Lines of all parts are trimmed as one file, whichever run loaded them."""
    parts = [source("f", 15), source("f", 15, "later", part=1, first_line=16, source_id="f", config="run")]
    steps = [chunk(line, run="run" if line < 16 else "later", source_id="f") for line in range(1, 31)]
    warehouse.add(run(), run("later", config="run"), *parts, *steps)

    assert warehouse.rows("SELECT count(*), min(line), max(line) FROM runtime_vs_tokens()") == [(10, 11, 20)]


def test_every_line_read_is_accounted_for(warehouse: Builder) -> None:
    """read = trimmed + rejected + filtered + kept, a file without a single step included."""
    warehouse.add(run(), *profile("a_0.jsonl", 30), *profile("a_1.jsonl", 25, schedule_ms=400))
    warehouse.add(source("a_2.jsonl", 22, rejected=22))

    row = warehouse.dicts("SELECT * FROM runtime_vs_tokens_counts()")
    assert row == [
        {"config": "run", "files": 3, "read": 77, "trimmed": 60, "rejected": 2, "heartbeats": 0, "filtered": 5, "slow": 0,
         "kept": 10, "most_tokens": 1}
    ]  # fmt: skip


def test_a_heartbeat_is_no_line_that_could_not_be_read(warehouse: Builder) -> None:
    """A file of 10 lines with a reject inside and one that is trimmed; the first heartbeat is trimmed, too."""
    file = source("a.jsonl", 10, rejected=2)
    rejects = [Reject(run_id="run", source_id=file.source_id, line=line, reason="?", text="") for line in (2, 5)]
    steps = [chunk(line, source_id=file.source_id) for line in (3, 4, 6, 9, 10)]
    idle = Metric(run_id="run", source_id=file.source_id, metric="heartbeats", value=3.0, unit="count")
    warehouse.add(run(), file, *rejects, *steps, idle)

    query = 'SELECT read, trimmed, rejected, heartbeats, kept FROM runtime_vs_tokens_counts("trim" := 2)'
    assert warehouse.rows(query) == [(10, 4, 1, 2, 3)]


def test_most_tokens_are_those_of_a_step_that_can_be_drawn(warehouse: Builder) -> None:
    """Steps that are trimmed, filtered or without a time do not count."""
    warehouse.add(
        run(), chunk(1, [9]), chunk(2, [8], model_run_ms=200.0), chunk(3, [7], model_run_ms=None), chunk(4, [6])
    )
    warehouse.add(chunk(5, [5]), chunk(6, [10]))

    assert warehouse.rows('SELECT kept, most_tokens FROM runtime_vs_tokens_counts("trim" := 1)') == [(3, 6)]


def test_a_real_profile_gives_the_numbers_an_independent_reader_found(warehouse: Builder, shared_data: Path) -> None:
    """55 records: 35 kept, first batch 10, the sum and extremes of their model runs."""
    file = shared_data / "sched_jsonl" / "scheduler_profiling.prefix.jsonl"
    facts = json.loads((shared_data / "facts.json").read_text())["sched_jsonl/scheduler_profiling.prefix.jsonl"][
        "orig_view"
    ]
    records = [json.loads(line) for line in file.read_text().splitlines()]
    steps = [
        chunk(
            line, record["chunk_sizes"], source_id=file.name, batch_id=record["batch_id"],
            schedule_ms=record["schedule_duration_ms"], model_run_ms=record["model_run_duration_ms"],
        )
        for line, record in enumerate(records, 1)
    ]  # fmt: skip
    warehouse.add(run(), source(file.name, len(records)), *steps)

    query = """SELECT count(*), min(batch_id), sum(tokens)::DOUBLE, fsum(model_run_ms), min(model_run_ms), max(model_run_ms)
               FROM runtime_vs_tokens()"""
    times = facts["model_run"]
    expected = (
        facts["after_filters"],
        facts["first_batch_id"],
        facts["x_tokens"]["sum"],
        times["sum"],
        times["min"],
        times["max"],
    )
    assert warehouse.rows(query) == [expected]


def test_latency_against_batch_size_at_a_number_of_tokens(warehouse: Builder) -> None:
    """Steps within 15 % of a target form groups by batch size; groups of two are left out."""
    warehouse.add(run(), *[chunk(ms, [64, 64], model_run_ms=ms) for ms in (10, 11, 12)])
    warehouse.add(chunk(13, [108], model_run_ms=99), chunk(14, [109], model_run_ms=1), chunk(15, [147], model_run_ms=3))

    query = 'SELECT target_tokens, batch_size, n, mean_ms, sd_ms FROM latency_vs_batch("trim" := 0, least := {}) ORDER BY ALL'
    assert warehouse.rows(query.format(3)) == [(128, 2, 3, 11.0, 1.0)]
    assert warehouse.rows(query.format(2)) == [(128, 1, 2, 2.0, pytest.approx(2**0.5)), (128, 2, 3, 11.0, 1.0)]
