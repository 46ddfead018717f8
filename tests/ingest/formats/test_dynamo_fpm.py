"""Forward pass metrics: what a pass becomes, what is counted, and that the bulk read says the same as the exact one."""

import json
import random
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from bench.ingest.format import Options, Part, Tally
from bench.ingest.formats import dynamo_fpm
from bench.ingest.formats.dynamo_fpm import DynamoFpm
from bench.warehouse.events import Metric, Reject, ScheduleChunk
from bench.warehouse.forward_pass import read_pass
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ...exhaustive import at_most, exhaustive, first_of
from ..conftest import Load, Rows
from ..passes import fpm, received, segment, traced
from .reading import cursor

Found = tuple[list[dict[str, Any]], list[tuple[int, str]], list[tuple[float, str]], Tally]


def read(folder: Path, data: bytes, *, bulk: bool) -> Found:
    """Steps, rejects and heartbeats of one file, read in bulk where that is proven, or line by line."""
    path = folder / "passes.jsonl"
    path.write_bytes(data)
    log = EventLog(Store(folder))
    with pytest.MonkeyPatch.context() as patch, log.batch("x") as batch:
        patch.setattr(dynamo_fpm, "BULK_BYTES", 0 if bulk else 1 << 60)
        tally = DynamoFpm().read(Part(path, "run", "source", 0, len(data), 1, Options(), cursor), batch)
        batch.finish()
        found = {
            kind: [row for file in batch.parts.get(kind, []) for row in pq.read_table(file).to_pylist()]
            for kind in (ScheduleChunk, Reject, Metric)
        }
        batch.parts.clear()
    for row in found[ScheduleChunk]:
        row["extra"] = row["extra"] and json.loads(row["extra"])
    steps = sorted(found[ScheduleChunk], key=lambda row: row["line"])
    rejects = sorted((row["line"], row["reason"]) for row in found[Reject])
    return steps, rejects, [(row["value"], row["original_value"]) for row in found[Metric]], tally


def text(*lines: str) -> bytes:
    return "".join(line + "\n" for line in lines).encode()


@pytest.mark.parametrize("bulk", [False, True])
def test_a_pass_becomes_a_step_with_totals(tmp_path: Path, bulk: bool) -> None:
    """Tokens are those of prefill and one a decoding request; the span of the time is said."""
    steps, rejects, _, tally = read(tmp_path, text(traced(fpm(4, prefill=512, decode=3))), bulk=bulk)

    assert (rejects, tally.lines, tally.loaded) == ([], 1, 1)
    (step,) = steps
    assert {name: step[name] for name in (
        "total_tokens", "prefill_tokens", "decode_tokens", "prefill", "decode", "running", "waiting", "prefill_kv_tokens",
        "decode_kv_tokens", "model_run_ms", "time_span", "worker_id", "dp_rank", "counter_id", "capture_mode", "clock_s",
        "chunk_sizes", "line",
    )} == {
        "total_tokens": 515, "prefill_tokens": 512, "decode_tokens": 3, "prefill": 1, "decode": 3, "running": 4, "waiting": 4,
        "prefill_kv_tokens": 7, "decode_kv_tokens": 300, "model_run_ms": 20.0, "time_span": "wall_time", "worker_id": "w1",
        "dp_rank": 0, "counter_id": 4, "capture_mode": "full", "clock_s": 0.08, "chunk_sizes": None, "line": 1,
    }  # fmt: skip
    assert step["extra"] == {"namespace": "n", "component": "backend", "producer_id": "p1"}
    assert (step["queued_prefill_tokens"], step["queued_prefill_length_variance"]) == (300, 1.5)
    assert step["recorded_at"].year == 2025


@pytest.mark.parametrize("bulk", [False, True])
def test_a_byte_order_mark_is_no_damage(tmp_path: Path, bulk: bool) -> None:
    """PowerShell writes one at the beginning; the first pass was rejected."""
    data = text(traced(fpm(4, prefill=512, decode=3)), traced(fpm(5, decode=3)))

    assert read(tmp_path, b"\xef\xbb\xbf" + data, bulk=bulk) == read(tmp_path, data, bulk=bulk)


@pytest.mark.parametrize("bulk", [False, True])
def test_a_plain_recorder_has_the_same_metrics(tmp_path: Path, bulk: bool) -> None:
    """Without the envelope nobody knows the mode of the capture."""
    steps, _, _, _ = read(tmp_path, text(received(fpm(1, decode=2))), bulk=bulk)

    assert [(step["total_tokens"], step["capture_mode"], step["clock_s"]) for step in steps] == [(2, None, None)]


@pytest.mark.parametrize("bulk", [False, True])
def test_heartbeats_are_counted_and_no_steps(tmp_path: Path, bulk: bool) -> None:
    """A pass of nothing tells that the engine lives, and which counters were heard."""
    steps, _, heard, tally = read(
        tmp_path, text(*(traced(fpm(i, decode=i % 2)) for i in range(5)), traced(fpm(9, worker="w2"))), bulk=bulk
    )

    assert (len(steps), tally.lines, tally.loaded) == (2, 6, 6)
    assert [(value, json.loads(about)) for value, about in heard] == [
        (3.0, {"worker_id": "w1", "dp_rank": 0, "first": 0, "last": 4}),
        (1.0, {"worker_id": "w2", "dp_rank": 0, "first": 9, "last": 9}),
    ]
    assert [note.partition(": ")[2] for note in tally.notes] == [
        "heartbeats of an idle engine are no steps; see step_captures"  # so that files with other counts share it
    ]


@pytest.mark.parametrize("bulk", [False, True])
def test_fields_without_a_column_are_kept(tmp_path: Path, bulk: bool) -> None:
    """Of the pass and of its parts, as those of a step that is followed live; a later Dynamo may write more."""
    metrics = fpm(1, decode=1, speculative={"accepted": 3})
    metrics["scheduled_requests"]["num_draft_tokens"] = 5
    metrics["queued_requests"]["oldest_s"] = 0.5
    steps, rejects, _, _ = read(tmp_path, text(traced(metrics)), bulk=bulk)

    assert rejects == []
    assert steps[0]["extra"] == {
        "speculative": {"accepted": 3}, "scheduled_requests": {"num_draft_tokens": 5}, "queued_requests": {"oldest_s": 0.5},
        "namespace": "n", "component": "backend", "producer_id": "p1",
    }  # fmt: skip


BROKEN = [
    (traced(fpm(1, decode=1), mode="full2"), "capture_mode"),  # without digits it looks like a mode that is known
    ("{", "not valid JSON"),
    ("[1]", "not an object but [1]"),
    (traced(fpm(1, decode=1), schema="dynamo.fpm.trace.v2"), "Update bench"),
    (traced(fpm(1, decode=1, version=2)), "Update bench"),
    (traced(fpm(1, decode=1)).replace('"num_decode_requests": 1', '"num_decode_requests": 1.5'), "whole number"),
    (traced(fpm(1, decode=1)).replace('"num_decode_requests": 1', '"num_decode_requests": -1'), "whole number"),
    (traced(fpm(1, decode=1)).replace('"num_decode_requests": 1', '"num_decode_requests": "1"'), "whole number"),
    (traced(fpm(1, decode=1)).replace('"num_decode_requests": 1', '"num_decode_re4quests": 1'), "num_decode_requests"),
    (traced(fpm(1, decode=1)).replace('"counter_id": 1', '"counter_id": 01'), "not valid JSON"),
    (traced(fpm(1, decode=1)).replace('"counter_id": 1', '"counter_id": 99999999999999999999'), "whole number"),
    (traced(fpm(1, decode=1, wall_time=float("nan"))), "wall_time"),
    (traced(fpm(1, decode=1)).replace('"wall_time": 0.02', '"wall_time": 0.02, "wall_time": 0.03'), "repeats the key"),
    (received(fpm(1, decode=1)).replace("1760000000000000001", "null"), "received_at_ns"),
    ("", "not valid JSON"),
]  # fmt: skip


@pytest.mark.parametrize("bulk", [False, True])
@pytest.mark.parametrize(("line", "reason"), first_of(5, BROKEN))
def test_what_is_no_pass_is_rejected_with_its_reason(tmp_path: Path, line: str, reason: str, bulk: bool) -> None:
    """The lines around it are loaded: loaded + rejected = lines."""
    good = traced(fpm(0, decode=1))
    steps, rejects, _, tally = read(tmp_path, text(good, line, good), bulk=bulk)

    assert [(number, reason in said) for number, said in rejects] == [(2, True)], rejects
    assert ([step["line"] for step in steps], tally.lines, tally.loaded, tally.rejected) == ([1, 3], 3, 2, 1)


@pytest.mark.exhaustive
@settings(max_examples=at_most(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), plain=st.booleans(), damage=st.booleans())
def test_the_bulk_read_says_the_same_as_the_exact_one(tmp_path: Path, seed: int, plain: bool, damage: bool) -> None:
    """Whatever is in the file, also where a byte of it was changed."""
    rng = random.Random(seed)
    write = received if plain else traced
    passes = [
        fpm(i, prefill=rng.choice((0, 0, 512)), decode=rng.choice((0, 1, 30)), worker=rng.choice(("w1", "w2")),
            wall_time=rng.choice((0.0, 1e-7, 0.025, rng.random())))
        for i in range(12)
    ]  # fmt: skip
    data = bytearray(text(*map(write, passes)))
    if damage:
        data[rng.randrange(len(data))] = rng.choice(b'0123456789.-"{}:,\\ eE\n')

    assert read(tmp_path, bytes(data), bulk=True) == read(tmp_path, bytes(data), bulk=False)


def test_a_plain_file_of_a_writer_is_read_in_bulk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that Dynamo writes falls back to the slow way."""
    monkeypatch.setattr(dynamo_fpm._Passes, "_add_line", lambda self, line: pytest.fail("read line by line"))

    steps, *_ = read(
        tmp_path, text(*(traced(fpm(i, prefill=i, decode=2, wall_time=i * 1e-6)) for i in range(50))), bulk=True
    )
    assert len(steps) == 50


def test_blocks_cut_between_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file larger than a block is read in several, its lines numbered through."""
    monkeypatch.setattr(dynamo_fpm, "BLOCK_BYTES", 2000)
    monkeypatch.setattr("bench.ingest.format.BLOCK_BYTES", 1000)

    steps, _, _, tally = read(tmp_path, text(*(traced(fpm(i, decode=1)) for i in range(40))), bulk=True)
    assert ([step["line"] for step in steps], tally.lines) == ([*range(1, 41)], 40)


@exhaustive
def test_segments_of_several_producers_are_one_run(tmp_path: Path, load: Load, rows: Rows) -> None:
    """Their passes, heartbeats and lost passes are told by worker and rank, across segments."""
    folder = tmp_path / "trace"
    segment(folder, [traced(fpm(i, decode=1)) for i in (0, 1, 2)], index=0)
    segment(folder, [traced(fpm(i, decode=i % 2)) for i in (5, 6, 7)], index=1)
    segment(folder, [traced(fpm(i, decode=1, worker="w2"), producer="p2") for i in (3, 3, 4)], producer="p2")
    load(f"A:{folder}")

    query = (
        "SELECT worker_id, dp_rank, steps, heartbeats, first_counter, last_counter, lost, repeated FROM step_captures"
    )
    assert rows(f"{query} ORDER BY worker_id") == [
        ("w1", 0, 5, 1, 0, 7, 2, 0), ("w2", 0, 3, 0, 3, 4, 0, 1),
    ]  # fmt: skip
    assert rows("SELECT count(DISTINCT run_id), sum(lines), sum(loaded), sum(rejected) FROM sources") == [(1, 9, 9, 0)]


@pytest.mark.exhaustive
def test_a_segment_still_being_written_waits(tmp_path: Path, load: Load, rows: Rows) -> None:
    """Its passes would be there twice when it is whole. An old one is what is left of a crash, and is read."""
    import os

    path = segment(tmp_path / "trace", [traced(fpm(i, decode=1)) for i in range(400)])
    whole = path.read_bytes()
    segment(tmp_path / "trace", [traced(fpm(900, decode=1))], index=1)
    path.write_bytes(whole[: len(whole) // 2])

    load(f"A:{tmp_path / 'trace'}")
    assert rows("SELECT count(*) FROM schedule_chunks") == [(1,)]

    os.utime(path, (0, 0))
    load(f"A:{tmp_path / 'trace'}")
    ((lines, loaded, rejected),) = rows("SELECT lines, loaded, rejected FROM sources WHERE name LIKE '%p1.0.%'")
    assert 0 < loaded < 400 and rejected >= 1 and lines == loaded + rejected


counts = st.integers(0, 5000)


@given(counts, counts, counts, st.sampled_from([0.0, 0.02]), st.sampled_from([traced, received]))
def test_a_whole_record_is_the_same_step_live_and_from_a_file(
    counter: int, prefill: int, decode: int, wall_time: float, write: Any
) -> None:
    """The readers differ in what they refuse, not in what a step is; `clock_s` counts from the start of a file."""
    line = write(fpm(counter, prefill=prefill, decode=decode, wall_time=wall_time))
    strict = {name: value for name, value in dynamo_fpm._read(line.encode()).items() if value is not None}
    live = read_pass(json.loads(line), time_span="wall_time").columns

    assert {**strict, "time_span": "wall_time", "clock_s": None} == {**live, "clock_s": None}


def test_a_missing_count_is_zero_live_and_a_reject_in_a_file(tmp_path: Path) -> None:
    """A live record cannot be asked for again; a rejected line is kept with its reason."""
    metrics = fpm(1, decode=3)
    del metrics["scheduled_requests"]["sum_decode_kv_tokens"]
    _, rejects, _, _ = read(tmp_path, text(received(metrics)), bulk=False)

    assert read_pass({"received_at_ns": 1, "metrics": metrics}).columns["decode_kv_tokens"] == 0
    assert [reason.startswith("sum_decode_kv_tokens is") for _, reason in rejects] == [True]
