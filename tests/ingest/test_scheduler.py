"""Scheduler profiles: what a line becomes, and that the bulk read says the same as the exact one."""

import json
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from bench.ingest.format import Head, Options, Part, Tally
from bench.ingest.formats import scheduler
from bench.ingest.formats.scheduler import SchedulerSteps
from bench.warehouse.events import Reject, ScheduleChunk
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ..exhaustive import at_most, exhaustive, first_of
from .formats.reading import cursor, read_file
from .records import lines, step

pytestmark = pytest.mark.usefixtures("nothing_derived")

WRITER_2 = {
    "batch_id": 1, "timestamp": 1760000000.25, "total_scheduled_tokens": 515, "schedule_duration_ms": 0.5,
    "model_run_duration_ms": 20.5, "total_step_duration_ms": 22.0, "num_waiting_reqs": 1, "num_running_reqs": 4,
    "num_prefill_reqs": 1, "num_decode_reqs": 3, "prefill_chunk_sizes": [512], "decode_chunk_sizes": [1, 1, 1],
    "avg_prefill_chunk_size": 512.0, "max_prefill_chunk_size": 512, "min_prefill_chunk_size": 512,
    "avg_decode_chunk_size": 1.0, "kv_cache_usage": 0.5,
}  # fmt: skip
WRITER_3 = {
    "batch_id": 2, "time": "2026-01-02 03:04:05.678", "token_budget": 2048, "sched_tokens": 3, "slo_sched": False,
    "schedule_ms": "0.125", "num_waiting": 0, "num_running": 2, "num_scheduled": 2, "req_data_id": ["a,b", "c:d"],
    "chunk_sizes": [1, 2], "computed_tokens": [5, 6], "cached_tokens": [0, 0], "ttft_slo": [1.5, None], "ttft": [],
    "remaining_ttft": [], "meet_ttft": [True, False], "tbt": [], "decode_tokens": [1], "max_tokens": [9],
    "model_run_ms": "8.75",
}  # fmt: skip


def read(folder: Path, data: bytes, *, bulk: bool) -> tuple[list[dict[str, Any]], list[tuple[int, str, str]], Tally]:
    """Rows and rejects of one file, read in bulk if that can be proven or line by line."""
    path = folder / "p_0.jsonl"
    path.write_bytes(data)
    log = EventLog(Store(folder))
    with pytest.MonkeyPatch.context() as patch, log.batch("x") as batch:
        patch.setattr(scheduler, "BULK_BYTES", 0 if bulk else 1 << 60)
        part = Part(path, "run", "source", 0, len(data), 1, Options(), cursor)
        tally = SchedulerSteps().read(part, batch)
        batch.finish()
        chunks = [row for file in batch.parts.get(ScheduleChunk, []) for row in pq.read_table(file).to_pylist()]
        rejects = [row for file in batch.parts.get(Reject, []) for row in pq.read_table(file).to_pylist()]
        batch.parts.clear()
    for row in chunks:
        row["extra"] = json.loads(row["extra"]) if row["extra"] else None
    chunks.sort(key=lambda row: row["line"])
    return chunks, sorted((row["line"], row["reason"], row["text"]) for row in rejects), tally


def is_bulk(folder: Path, data: bytes) -> bool:
    """Whether the whole file is read in bulk, proven at the first attempt."""
    path = folder / "p_0.jsonl"
    path.write_bytes(data)
    with EventLog(Store(folder)).batch("x") as batch:
        part = Part(path, "run", "source", 0, len(data), 1, Options(), cursor)
        layout = scheduler._first_layout(part, scheduler.USUAL)
        try:
            return layout is not None and scheduler._copy(part, layout, batch, 0) == data.count(b"\n")
        except scheduler.Unproven:
            return False
        finally:
            batch.parts.clear()


@pytest.mark.parametrize("bulk", [False, True])
def test_a_byte_order_mark_is_no_damage(tmp_path: Path, bulk: bool) -> None:
    """PowerShell writes one at the beginning; the first step was rejected."""
    data = lines(*map(step, range(4))).encode()

    assert read(tmp_path, b"\xef\xbb\xbf" + data, bulk=bulk) == read(tmp_path, data, bulk=bulk)


def test_writer_1_is_taken_field_by_field(tmp_path: Path) -> None:
    """Every field of writer 1 has a column; its monotonic timestamp is no wall clock."""
    chunks, rejects, tally = read(tmp_path, lines(step(7)).encode(), bulk=True)

    assert not rejects
    assert (tally.lines, tally.loaded) == (1, 1)
    assert {key: value for key, value in chunks[0].items() if value is not None} == {
        "run_id": "run", "source_id": "source", "line": 1, "batch_id": 7, "clock_s": 3437048.5, "total_tokens": 3,
        "chunk_sizes": [1, 2], "computed_tokens": [10, 20], "cached_tokens": [0, 0], "schedule_ms": 0.25, "waiting": 4,
        "running": 2, "model_run_ms": 7.5,
    }  # fmt: skip


@pytest.mark.parametrize("bulk", [True, False])
def test_writer_2_has_its_chunks_in_two_lists(tmp_path: Path, bulk: bool) -> None:
    """chunk_sizes is prefill then decode, the unix timestamp is the wall clock, and what has no column is kept."""
    (chunk,), _, _ = read(tmp_path, lines(WRITER_2).encode(), bulk=bulk)

    assert chunk["chunk_sizes"] == [512, 1, 1, 1]
    assert (chunk["prefill_chunk_sizes"], chunk["decode_chunk_sizes"]) == ([512], [1, 1, 1])
    assert chunk["recorded_at"].isoformat() == "2025-10-09T08:53:20.250000"
    assert (chunk["step_ms"], chunk["prefill"], chunk["decode"], chunk["kv_cache_usage"]) == (22.0, 1, 3, 0.5)
    assert chunk["extra"] == {key: WRITER_2[key] for key in WRITER_2 if key.startswith(("avg", "max", "min"))}


@pytest.mark.parametrize("bulk", [True, False])
def test_writer_3_has_durations_as_text(tmp_path: Path, bulk: bool) -> None:
    """Milliseconds in quotes are numbers, the time is parsed and kept, lists of its own go to extra."""
    (chunk,), _, _ = read(tmp_path, lines(WRITER_3).encode(), bulk=bulk)

    assert (chunk["schedule_ms"], chunk["model_run_ms"], chunk["total_tokens"]) == (0.125, 8.75, 3)
    assert chunk["recorded_at"].isoformat() == "2026-01-02T03:04:05.678000"
    assert chunk["extra"]["time"] == "2026-01-02 03:04:05.678"
    assert chunk["extra"]["req_data_id"] == ["a,b", "c:d"]
    assert chunk["extra"]["ttft_slo"] == [1.5, None]


@pytest.mark.parametrize("record", [step(), WRITER_2, WRITER_3, step(chunk_sizes=5), step(note="x: {y}, [z]")])
def test_regular_files_are_read_in_bulk(tmp_path: Path, record: dict[str, Any]) -> None:
    """No writer's plain file falls back to the slow way."""
    data = lines(*({**record, "batch_id": index} for index in range(50))).encode()

    assert is_bulk(tmp_path, data)


def test_a_bare_number_is_a_batch_of_one(tmp_path: Path) -> None:
    """chunk_sizes may be a number."""
    for bulk in (True, False):
        (chunk,), _, _ = read(tmp_path, lines(step(chunk_sizes=9)).encode(), bulk=bulk)
        assert chunk["chunk_sizes"] == [9]


BROKEN = [
    ("", "blank line"),
    ("   ", "blank line"),
    ("nonsense", "not valid JSON: Expecting value at character 1"),
    ('{"batch_id": 1', "not valid JSON: Expecting ',' delimiter at character 15"),
    ("[1, 2]", "not an object but [1, 2]"),
    ("null", "not an object but null"),
    ("{}", "no batch_id"),
    (json.dumps(step())[:-1] + ",}", None),
    (json.dumps(step()).replace("7.5", "NaN"), "NaN is not a JSON value"),
    (json.dumps(step()).replace("7.5", "-Infinity"), "-Infinity is not a JSON value"),
    (json.dumps(step()).replace("7.5", "1e999"), "model_run_duration_ms is Infinity, not a finite number"),
    (json.dumps(step(batch_id=1.5)), "batch_id is 1.5, not a whole number"),
    (json.dumps(step(batch_id="5")), 'batch_id is "5", not a whole number'),
    (json.dumps(step(batch_id=True)), "batch_id is true, not a whole number"),
    (json.dumps(step(batch_id=2**63)), "batch_id is 9223372036854775808, beyond 64 bits"),
    (json.dumps(step(chunk_sizes=[1, 2.5])), "chunk_sizes[1] is 2.5, not a whole number"),
    (json.dumps(step(chunk_sizes=[1, None])), "chunk_sizes[1] is null, not a whole number"),
    (json.dumps(step(chunk_sizes=[[1]])), "chunk_sizes[0] is [1], not a whole number"),
    (json.dumps(step(model_run_duration_ms=True)), "model_run_duration_ms is true, not a finite number"),
    (json.dumps(step(model_run_duration_ms="fast")), 'model_run_duration_ms is "fast", not a finite number'),
    ('{"batch_id": 1, "batch_id": 2}', "repeats the key 'batch_id'"),
    (json.dumps(step()) * 2, None),
    (json.dumps(step()).replace("[1, 2]", "[1 2]"), None),
    (json.dumps(step()).replace('"batch_id": 0', '"batch_id": 01'), None),
    (json.dumps(step()).replace("[1, 2]", "[1, 2,]"), None),
    (json.dumps(step()).replace("7.5", "7."), None),
    ('{"batch_id": 1, "x": "\\ud800"}', "a lone surrogate in a text"),
]


@pytest.mark.parametrize(("broken", "reason"), first_of(8, BROKEN))
def test_a_broken_line_is_kept_with_line_reason_and_text(tmp_path: Path, broken: str, reason: str | None) -> None:
    """Whatever is wrong, the neighbours load, and the bulk read never swallows it."""
    good = [json.dumps(step(index)) for index in range(4)]
    data = lines(good[0], good[1], broken, good[2], good[3]).encode()
    for bulk in (True, False):
        chunks, rejects, tally = read(tmp_path, data, bulk=bulk)

        assert [(row["line"], row["batch_id"]) for row in chunks] == [(1, 0), (2, 1), (4, 2), (5, 3)]
        assert [(line, text) for line, _, text in rejects] == [(3, broken)]
        assert (tally.lines, tally.loaded, tally.rejected) == (5, 4, 1)
        if reason is not None:
            assert rejects[0][1] == reason


@pytest.mark.parametrize("end", ["\n", "  \t\n", "\n\r\n\n", "   "])
def test_blank_lines_at_the_end_are_no_rejects(tmp_path: Path, end: str) -> None:
    """They are left out; one before another step is a reject, which data that were lost look like."""
    data = (lines(json.dumps(step(0)), "", json.dumps(step(1))) + end).encode()
    for bulk in (True, False):
        chunks, rejects, tally = read(tmp_path, data, bulk=bulk)

        assert [row["line"] for row in chunks] == [1, 3]
        assert [line for line, _, _ in rejects] == [2]
        assert tally.left_out == end.count("\n") + (not end.endswith("\n"))


@pytest.mark.parametrize("most", [0, 3, 4])
def test_many_odd_lines_load_as_few_do(most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their numbers are held in memory, so that a file of more of them is read line by line."""
    monkeypatch.setattr("bench.ingest.formats.scheduler.MOST_ODD", most)
    data = lines(json.dumps(step(0)), "", "", "", "", json.dumps(step(1)), "").encode()
    chunks, rejects, tally = read(tmp_path, data, bulk=True)

    assert [row["line"] for row in chunks] == [1, 6]
    assert [line for line, _, _ in rejects] == [2, 3, 4, 5]
    assert (tally.lines, tally.loaded, tally.rejected, tally.left_out) == (7, 2, 4, 1)


LOADED = [
    (json.dumps(step(5.0)), {"batch_id": 5}),
    (json.dumps(step(2**53 + 1)), {"batch_id": 2**53 + 1}),
    (json.dumps(step(chunk_sizes=[2**53 + 1, 1])), {"chunk_sizes": [2**53 + 1, 1]}),
    (json.dumps(step(5, num_waiting_reqs=None)), {"waiting": None}),
    (json.dumps(step(5, unknown={"a": [1, None, "x"]})), {"extra": {"unknown": {"a": [1, None, "x"]}}}),
    (json.dumps(step(5, unknown=None)), {"extra": None}),
    (json.dumps({"batch_id": 5, "chunk_sizes": []}), {"chunk_sizes": [], "model_run_ms": None}),
    (json.dumps(step(5, model_run_duration_ms="7.25")), {"model_run_ms": 7.25}),
    (json.dumps(step(5, model_run_duration_ms=1e-05)), {"model_run_ms": 1e-05}),
    (json.dumps(step(5, text='a "quoted" \n line')), {"extra": {"text": 'a "quoted" \n line'}}),
    (json.dumps(step(5, text="中文 </script>"), ensure_ascii=False), {"extra": {"text": "中文 </script>"}}),
    (json.dumps(step(5)) + "\r", {"batch_id": 5}),
    ("  " + json.dumps(step(5)) + " \t", {"batch_id": 5}),
    (json.dumps(dict(reversed(step(5).items()))), {"batch_id": 5, "chunk_sizes": [1, 2]}),
    (json.dumps(step(5, _line=99, BATCH_ID=7)), {"batch_id": 5, "extra": {"_line": 99, "BATCH_ID": 7}}),
]


@pytest.mark.parametrize(("odd", "expected"), first_of(5, LOADED))
def test_an_unusual_line_loads_exactly(tmp_path: Path, odd: str, expected: dict[str, Any]) -> None:
    """JSON that fits its columns loads, in either way, and loses no digit."""
    good = [json.dumps(step(index)) for index in range(3)]
    for data in (lines(good[0], good[1], odd, good[2]), lines(odd, good[0], good[1], good[2])):
        for bulk in (True, False):
            chunks, rejects, _ = read(tmp_path, data.encode(), bulk=bulk)
            line = 3 if data.startswith(good[0]) else 1
            chunk = next(row for row in chunks if row["line"] == line)

            assert not rejects
            assert len(chunks) == 4
            assert {key: chunk[key] for key in expected} == expected


def mutate(data: bytes, rng: random.Random) -> bytes:
    """A few bytes deleted, replaced, doubled; lines cut or joined."""
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data))
        other = bytes([rng.choice(b'0123456789 ,:."{}[]-+eEtrufalsn\\\n\r\t\0\xff')])
        data = rng.choice(
            [
                data[:at] + data[at + 1 :],
                data[:at] + other + data[at + 1 :],
                data[:at] + other + data[at:],
                data[: data.rfind(b"\n", 0, at) + 1] + data[at:],
            ]
        )
    return data


@exhaustive
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**9), record=st.sampled_from([step(), WRITER_2, WRITER_3]))
def test_both_ways_agree_on_damaged_files(tmp_path: Path, seed: int, record: dict[str, Any]) -> None:
    """Bulk and exact reads give the same rows and rejects whatever bytes are lost, and account for every line."""
    rng = random.Random(seed)
    data = mutate(lines(*({**record, "batch_id": index} for index in range(12))).encode(), rng)
    physical = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))

    bulk, exact = read(tmp_path, data, bulk=True), read(tmp_path, data, bulk=False)

    assert bulk == exact
    assert bulk[2].lines == bulk[2].loaded + bulk[2].rejected + bulk[2].left_out == physical


def test_a_file_cut_anywhere_is_accounted_for(tmp_path: Path) -> None:
    """Truncation at every byte of a small file: every line is loaded or rejected."""
    data = lines(step(0), step(1)).encode()
    for end in range(1, len(data) + 1):
        (tmp_path / "p_0.jsonl").write_bytes(data[:end])
        found = read_file(SchedulerSteps(), tmp_path / "p_0.jsonl")
        records = len(found.of(ScheduleChunk)) + len(found.rejects())
        assert found.tally.lines == records == data[:end].count(b"\n") + (data[end - 1] != 10)


RECORDS = st.fixed_dictionaries(
    {
        "batch_id": st.integers(0, 2**40),
        "timestamp": st.floats(0, 1e11),
        "chunk_sizes": st.lists(st.integers(0, 99999)),
        "total_scheduled_tokens": st.integers(0, 2**31),
        "schedule_duration_ms": st.floats(0, 1e6),
        "num_running_reqs": st.integers(0, 1000),
        "model_run_duration_ms": st.floats(0, 1e6),
    }
)


@settings(max_examples=at_most(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(RECORDS, min_size=1))
def test_values_come_back_bit_for_bit(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    """The row has every digit that the writer wrote."""
    chunks, rejects, _ = read(tmp_path, lines(*records).encode(), bulk=True)

    assert not rejects
    for record, chunk in zip(records, chunks, strict=True):
        assert record["chunk_sizes"] == chunk["chunk_sizes"]
        for key in ("batch_id", "timestamp", "schedule_duration_ms", "model_run_duration_ms"):
            assert record[key] == chunk[scheduler.STEP_FIELDS[key][0]]


def test_a_few_broken_lines_leave_the_rest_in_bulk(tmp_path: Path) -> None:
    """Only lines unlike the others are read one by one."""
    good = [json.dumps(step(index)) for index in range(200)]
    good[50], good[150] = good[50][:40], good[150].replace("[1, 2]", "[1 2]")
    path = tmp_path / "p.jsonl"
    path.write_text(lines(*good))
    with EventLog(Store(tmp_path)).batch("x") as batch:
        part = Part(path, "run", "source", 0, path.stat().st_size, 1, Options(), cursor)

        odd = scheduler._read_bulk(part, batch, Tally(), scheduler.USUAL)

        assert [(51, good[50].encode()), (151, good[150].encode())] == list(odd or ())
        batch.parts.clear()


def test_broken_lines_are_those_of_their_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that share a batch are read one after the other, and the lines that one leaves are no lines of the next."""
    monkeypatch.setattr(scheduler, "BULK_BYTES", 0)
    with EventLog(Store(tmp_path)).batch("x") as batch:
        for name, broken in ("a", 1), ("b", 2):
            path = tmp_path / name
            path.write_text(lines(*(step(index) if index != broken else f"broken {name}" for index in range(4))))
            SchedulerSteps().read(Part(path, "run", name, 0, path.stat().st_size, 1, Options(), cursor), batch)
        batch.finish()
        rejects = [row for file in batch.parts[Reject] for row in pq.read_table(file).to_pylist()]
        batch.parts.clear()

    told = [(row["source_id"], row["line"], row["text"]) for row in rejects]
    assert told == [("a", 2, "broken a"), ("b", 3, "broken b")]


def test_recognition_is_by_content() -> None:
    """A step among the first lines is enough, a name is not."""

    def recognised(text: str) -> bool:
        return SchedulerSteps().recognise(Head(Path("x.jsonl"), text.encode()))

    assert recognised(lines(step()))
    assert recognised(lines("garbage", WRITER_3))
    assert recognised(lines(WRITER_2))
    assert not recognised(lines({"batch_id": 1}))
    assert not recognised("a,b,c\n1,2,3\n")
    assert not recognised("")


def test_files_are_ordered_by_the_number_after_the_last_underscore() -> None:
    """FEATURES A2: numerically; all by name if one has no number; equal keys by name."""
    order = SchedulerSteps().order

    assert order(["p_10.jsonl", "p_9.jsonl", "a_10.jsonl"]) == ["p_9.jsonl", "a_10.jsonl", "p_10.jsonl"]
    assert order(["p_10.jsonl", "p_9.jsonl", "x.jsonl"]) == ["p_10.jsonl", "p_9.jsonl", "x.jsonl"]


def test_the_known_sample(shared_data: Path, tmp_path: Path) -> None:
    """The real file has the sums that an independent reader found."""
    facts = json.loads((shared_data / "facts.json").read_text())["sched_jsonl/scheduler_profiling.prefix.jsonl"]
    data = (shared_data / "sched_jsonl" / "scheduler_profiling.prefix.jsonl").read_bytes()

    chunks, rejects, _ = read(tmp_path, data, bulk=True)

    assert not rejects
    assert len(chunks) == facts["lines"]
    assert sum(row["total_tokens"] for row in chunks) == facts["total_tokens"]
    assert math.isclose(sum(row["model_run_ms"] for row in chunks), facts["model_run"]["sum"])


def test_a_part_that_nobody_wants_any_more_ends(tmp_path: Path) -> None:
    """After Ctrl-C a thread that reads a long file must not go on to its end."""
    path = tmp_path / "p_1.jsonl"
    path.write_text(lines(step(1), step(2)))
    part = replace(Part.alone(path), stopped=lambda: True)

    with pytest.raises(KeyboardInterrupt):
        list(part.lines())
