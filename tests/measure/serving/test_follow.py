"""Following what SGLang and Dynamo publish or write: sockets, growing files, and hostile bytes in both."""

import gzip
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest
import zmq
from bench import cli
from bench.measure.serving import follow, streams
from bench.measure.serving.follow import Follower, LiveFigures
from bench.measure.serving.streams import GrowingFiles, Socket, StreamRecord, open_stream
from bench.warehouse import recorder
from bench.warehouse.errors import BenchError
from bench.warehouse.forward_pass import read_pass
from bench.warehouse.load import load
from bench.warehouse.store import Store
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from ...builders import stored
from ...exhaustive import at_most, exhaustive, first_of
from ...ingest.passes import fpm, segment, traced


def a_pass(counter: int, *, decode: int = 4, prefill: int = 100, rank: int = 0) -> dict[str, Any]:
    """A record as SGLang publishes it."""
    return {
        "version": 1, "worker_id": "w", "dp_rank": rank, "counter_id": counter, "wall_time": 0.01 if decode else 0.0,
        "scheduled_requests": {"num_prefill_requests": int(prefill > 0), "sum_prefill_tokens": prefill,
                               "num_decode_requests": decode, "sum_decode_kv_tokens": decode * 50},
        "queued_requests": {"num_prefill_requests": 2},
    }  # fmt: skip


def line(counter: int) -> bytes:
    """A record as Dynamo's trace has it."""
    event = {"schema": "dynamo.fpm.trace.v1", "capture_mode": "full", "observed_at_unix_ms": 5, "fpm": a_pass(counter)}
    return json.dumps({"timestamp": 1, "event": event}).encode() + b"\n"


def rows(store: Path, query: str) -> list[Any]:
    """What the store holds."""
    load(Store.find(store))
    return stored(query, store)


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Callable[[str], list[StreamRecord]]]:
    """Asks a stream of files what has come; one stream for each pattern."""
    opened: dict[str, GrowingFiles] = {}

    def take(pattern: str) -> list[StreamRecord]:
        stream = opened.setdefault(pattern, GrowingFiles(str(tmp_path / pattern)))
        return list(stream.take())

    yield take
    for stream in opened.values():
        stream.close()


def counters(arrived: list[StreamRecord]) -> list[Any]:
    """The counters of passes, and the reason of what is none."""
    return [each.reason or each.document["event"]["fpm"]["counter_id"] for each in arrived]


# Files


def test_lines_are_taken_as_they_are_written(tmp_path: Path, files: Any) -> None:
    """Once each; a line without its end waits for it."""
    path = tmp_path / "trace.jsonl"
    assert files("trace.jsonl") == []
    path.write_bytes(line(1) + line(2)[:50])
    first = files("trace.jsonl")
    with path.open("ab") as out:
        out.write(line(2)[50:] + line(3))

    assert (counters(first), counters(files("trace.jsonl")), files("trace.jsonl")) == ([1], [2, 3], [])


def test_gzip_is_unpacked_as_it_grows(tmp_path: Path, files: Any) -> None:
    """Of a member that is being written, and of several one after another."""
    with (tmp_path / "t.0.jsonl.gz").open("wb") as raw:
        with gzip.GzipFile(fileobj=raw, mode="wb") as out:
            out.write(line(1))
            out.flush()
            raw.flush()
            first = files("t.0.jsonl.gz")
            out.write(line(2))
        raw.write(gzip.compress(line(3)))

    assert (counters(first), counters(files("t.0.jsonl.gz"))) == ([1], [2, 3])


def test_segments_that_appear_later_are_followed(tmp_path: Path, files: Any) -> None:
    """And those that were removed meanwhile are read to their end, and let go."""
    (tmp_path / "t.a.0.jsonl.gz").write_bytes(gzip.compress(line(1)))
    assert counters(files("t.*.jsonl.gz")) == [1]
    (tmp_path / "t.a.0.jsonl.gz").unlink()
    (tmp_path / "t.a.1.jsonl.gz").write_bytes(gzip.compress(line(2)))
    assert counters(files("t.*.jsonl.gz")) == [2]
    (tmp_path / "t.a.0.jsonl.gz").write_bytes(gzip.compress(line(9)))

    assert counters(files("t.*.jsonl.gz")) == [9]


def test_a_renamed_file_is_not_read_again(tmp_path: Path, files: Any) -> None:
    """A pattern that fits both names of a rotation takes each line once, those too that come after the renaming."""
    old = (tmp_path / "t.jsonl").open("wb", buffering=0)
    old.write(line(1))
    assert counters(files("t.jsonl*")) == [1]
    (tmp_path / "t.jsonl").rename(tmp_path / "t.jsonl.1")
    old.write(line(2))
    (tmp_path / "t.jsonl").write_bytes(line(3))

    assert counters(files("t.jsonl*") + files("t.jsonl*")) == [2, 3]


def test_a_folder_is_its_traces(tmp_path: Path, files: Any) -> None:
    """Other files in it are not looked at."""
    (tmp_path / "a.jsonl").write_bytes(line(1))
    (tmp_path / "notes.txt").write_bytes(b"no record\n")

    assert counters(files(".")) == [1]


def test_segments_are_read_by_their_number_and_one_after_another(
    tmp_path: Path, files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Number 10 comes after 2, and only when nothing is left of 2, however long that is: else the counter would jump."""
    monkeypatch.setattr(streams, "BLOCKS_AT_ONCE", 1)
    monkeypatch.setattr(streams, "BLOCK_BYTES", 1000)
    for number, counter in ((10, 100), (2, 0)):
        passes = b"".join(line(counter + each) for each in range(20))
        (tmp_path / f"t.a.{number}.jsonl.gz").write_bytes(gzip.compress(passes))
    found = [each for _ in range(50) for each in counters(files("t.*.jsonl.gz"))]

    assert found == [*range(20), *range(100, 120)]


def test_a_last_line_without_its_end_is_a_record_if_it_is_whole(tmp_path: Path) -> None:
    """Nothing follows when following ends; half a record, of a writer that goes on, is none."""
    (tmp_path / "a.jsonl").write_bytes(line(1) + line(2).rstrip())
    (tmp_path / "b.jsonl").write_bytes(line(3) + line(4)[:50])
    stream = GrowingFiles(str(tmp_path))
    follower = followed_stream(tmp_path / "store", stream)
    stream.close()

    assert (follower.records, follower.steps) == (3, 3)


def test_a_file_that_is_emptied_is_read_anew(tmp_path: Path, files: Any) -> None:
    """As by log rotation that copies and truncates."""
    path = tmp_path / "trace.jsonl"
    path.write_bytes(line(1) + line(2))
    assert counters(files("trace.jsonl")) == [1, 2]
    path.write_bytes(line(3))

    assert counters(files("trace.jsonl")) == [3]


def test_what_is_no_gzip_is_one_reject(tmp_path: Path, files: Any) -> None:
    """Nobody knows where the next record begins; what came before it is kept."""
    (tmp_path / "t.gz").write_bytes(gzip.compress(line(1)) + b"garbage\n" * 100)

    first, second = files("t.gz")
    assert first.document and "the rest of the file is not valid gzip" in second.reason
    assert files("t.gz") == []


def test_a_line_without_an_end_does_not_fill_the_memory(
    tmp_path: Path, files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it is a gzip of a thousand times its size."""
    monkeypatch.setattr(streams, "MOST_BYTES", 10_000)
    (tmp_path / "t.gz").write_bytes(gzip.compress(b"x" * 3_000_000 + b"\n" + line(1)))
    found = [each for _ in range(5) for each in files("t.gz")]

    assert [each.reason for each in found] == ["3,000,000 bytes are more than the 10,000 of a record", None]
    assert len(found[0].data) <= 10_000


@settings(max_examples=at_most(50), deadline=None)
@given(st.lists(st.binary(max_size=30) | st.integers(0, 99).map(line), max_size=6))
def test_any_bytes_are_records_or_rejects(pieces: list[bytes]) -> None:
    """Nothing is raised, and lines are counted as `wc` does, but for blank ones."""
    data = b"".join(pieces)
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"bench-any-bytes-{os.getpid()}.jsonl"
    path.write_bytes(data)
    stream = GrowingFiles(str(path))
    found = list(stream.take())
    stream.close()
    path.unlink()

    assert len(found) == sum(bool(each.strip()) for each in data.split(b"\n")[:-1])


def test_pipes_and_devices_are_not_followed(tmp_path: Path, files: Any) -> None:
    """They would wait, or never end. It is said once."""
    os.mkfifo(tmp_path / "pipe.jsonl")

    assert (counters(files("pipe.jsonl")), files("pipe.jsonl")) == (["cannot be read: it is not a file"], [])


def test_files_beyond_the_most_are_named(tmp_path: Path, files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is a reject: a part of a trace never looks like all of it."""
    monkeypatch.setattr(streams, "MOST_FILES", 1)
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_bytes(line(1))
    (second, first) = files("*.jsonl")

    assert first.source.endswith("a.jsonl") and first.reason is None
    assert second.source.endswith("b.jsonl") and "because 1 files are" in second.reason


# Sockets


@pytest.fixture
def publisher(tmp_path: Path) -> Iterator[Callable[[bytes], None]]:
    """Publishes messages at ipc://…/fpm.0, as SGLang does; the first once the subscriber is there."""
    context = zmq.Context()
    socket = context.socket(zmq.XPUB)
    socket.bind(f"ipc://{tmp_path}/fpm.0")
    there = threading.Event()

    def publish(payload: bytes) -> None:
        if not there.is_set():
            assert socket.poll(60_000), "nobody subscribes"
            socket.recv()
            there.set()
        socket.send_multipart((b"", b"\0" * 8, payload))

    yield publish
    socket.close(0)
    context.term()


def receive(stream: Socket, count: int) -> list[StreamRecord]:
    """So many messages."""
    found: list[StreamRecord] = []
    end = time.monotonic() + 60
    while len(found) < count and time.monotonic() < end:
        found += stream.take()
        time.sleep(0.005)
    return found


def test_messages_are_read_or_say_why_not(tmp_path: Path, publisher: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record; bytes that are no msgpack; bytes behind one; a message that is too long."""
    monkeypatch.setattr(streams, "MOST_BYTES", 1000)
    stream = Socket(f"ipc://{tmp_path}/fpm.0")
    for payload in (
        msgpack.packb(a_pass(1)),
        b"\xc1",
        msgpack.packb(1) + b"x",
        b"x" * 1001,
        b"",
        b"\xdf\xff\xff\xff\xff",
    ):
        publisher(payload)
    good, *bad = receive(stream, 6)
    stream.close()

    assert good.document == a_pass(1) and [each.number for each in (good, *bad)] == [1, 2, 3, 4, 5, 6]
    assert all(each.reason for each in bad) and "1,001 bytes" in str(bad[2].reason)


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("zmq://127.0.0.1:5557", "tcp://127.0.0.1:5557"),
        ("zmq:///tmp/x.0", "ipc:///tmp/x.0"),
        ("ipc:///tmp/y", "ipc:///tmp/y"),
    ],
)
def test_an_address_of_zmq_is_one_of_tcp_or_a_path(address: str, name: str) -> None:
    """The server need not be there yet."""
    stream = open_stream(address)
    stream.close()

    assert stream.name == name


@pytest.mark.parametrize(
    "address", ["http://host:1", "zmq://", "tcp://nowhere", "tcp://host:port", "zmq://host:0", "zmq://host:65537"]
)
def test_what_is_no_address_is_an_error(address: str) -> None:
    """It says how to write one."""
    with pytest.raises(BenchError, match="Write zmq://HOST:PORT"):
        open_stream(address)


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files need neither."""
    monkeypatch.setitem(sys.modules, "zmq", None)
    with pytest.raises(BenchError, match=r"bench-warehouse\[serving\]"):
        open_stream("zmq://127.0.0.1:5557")


# Following


class Listed:
    """A stream of what a test says."""

    name = "listed"

    def __init__(self, *documents: Any) -> None:
        self.documents = list(documents)

    def is_there(self) -> bool:
        """It is."""
        return True

    def take(self) -> Iterator[StreamRecord]:
        """All of it, once."""
        for number, document in enumerate(self.documents, 1):
            bad = isinstance(document, bytes)
            yield StreamRecord(
                "listed", number, None if bad else document, "no JSON" if bad else None, document if bad else b"{}"
            )
        self.documents.clear()

    def last(self) -> Iterator[StreamRecord]:
        """Nothing more."""
        return iter(())

    def close(self) -> None:
        """Nothing to do."""


def followed(store: Path, *documents: Any) -> Follower:
    """What became of these records."""
    return followed_stream(store, Listed(*documents))


def followed_stream(store: Path, stream: streams.Stream) -> Follower:
    """What became of the records of a stream, which ends after a moment of silence."""
    with recorder.run("c", store=store) as run:
        follower = Follower(run, [stream], time_span="cuda")
        follower.follow(lambda: False, idle_s=0.05)
        follower.finish()
    return follower


def test_every_record_is_a_step_a_heartbeat_or_a_reject(tmp_path: Path) -> None:
    """And a gap of the counter is a pass that is missing."""
    followed(tmp_path, a_pass(1), a_pass(2, decode=0, prefill=0), b"garbage", {"x": 1}, a_pass(5))

    assert rows(tmp_path, "SELECT metric, value FROM metrics ORDER BY 1") == [
        ("counter_restarts", 0), ("heartbeats", 1), ("missing_passes", 2), ("records", 5), ("rejected_records", 2), ("steps", 2),
    ]  # fmt: skip
    assert rows(tmp_path, "SELECT counter_id, total_tokens, model_run_ms, time_span FROM schedule_chunks ORDER BY line") == [
        (1, 104, 10.0, "cuda"), (5, 104, 10.0, "cuda"),
    ]  # fmt: skip
    assert rows(tmp_path, "SELECT config, line, reason, text FROM rejected_records ORDER BY line") == [
        ("c", 3, "listed: no JSON", "garbage"), ("c", 4, "listed: no scheduled_requests", "{}"),
    ]  # fmt: skip


def test_a_heartbeat_is_no_lost_pass(tmp_path: Path) -> None:
    """Its counter was heard, also where it is the first or the last of its worker."""
    idle = {"decode": 0, "prefill": 0}
    followed(tmp_path, a_pass(1, **idle), a_pass(2), a_pass(3, **idle), a_pass(5), a_pass(6, **idle))

    assert rows(tmp_path, "SELECT steps, heartbeats, first_counter, last_counter, lost FROM step_captures") == [
        (2, 3, 1, 6, 1)
    ]


def test_a_killed_follower_loses_no_heartbeat(tmp_path: Path) -> None:
    """Each is recorded as it comes, for a worker without a name, too: a pass that nobody counted would be a lost one."""
    idle = {"decode": 0, "prefill": 0}
    passes = [a_pass(1), a_pass(2, **idle), a_pass(3, **idle), a_pass(4)]
    for each in passes:
        del each["worker_id"]
    with recorder.run("c", store=tmp_path) as run:
        Follower(run, [Listed(*passes)], time_span="cuda").follow(lambda: False, idle_s=0.05)  # and no finish

    assert rows(tmp_path, "SELECT worker_id, steps, heartbeats, lost FROM step_captures") == [(None, 2, 2, 0)]


def test_rejects_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In number and in size; all of them are counted."""
    monkeypatch.setattr(follow, "MOST_REJECTS", 3)
    follower = followed(tmp_path, *[b"x" * 10_000] * 8)

    assert follower.rejected == 8
    assert rows(tmp_path, "SELECT count(*), max(len(text)) FROM rejects") == [(3, 4096)]


def test_a_stream_that_is_silent_has_ended(tmp_path: Path) -> None:
    """After as long as is said."""
    with recorder.run("c", store=tmp_path) as run:
        follower = Follower(run, [Listed(a_pass(1))], time_span="cuda")
        follower.follow(lambda: False, idle_s=0.1)

    assert follower.steps == 1


def test_the_live_line_is_of_the_last_seconds() -> None:
    """Tokens a second, the time of a step, and the queue and KV cache of all ranks."""
    live = LiveFigures()
    live.see(0.0, read_pass(a_pass(1, prefill=5000)))
    live.see(9.0, read_pass(a_pass(2)))
    live.see(10.0, read_pass(a_pass(1, rank=1)))

    assert live.text(10.5) == "104 tokens/s   step 10.0 ms   queue 4   KV 400 tokens"
    live.see(10.0, read_pass(a_pass(3) | {"wall_time": 0.0}))
    assert "step 10.0 ms" in live.text(10.5), "a pass whose time nobody measured has none"
    assert LiveFigures().text(0) == "0 tokens/s   step –   queue 0   KV 0 tokens"


# The command


def test_the_command_follows_a_file_to_its_end(tmp_path: Path) -> None:
    """It prints what the steps came to, and says what became of all records."""
    (tmp_path / "t.jsonl").write_bytes(line(1) + line(2) + b"oops\n")
    arguments = ["measure", "serving", "--from", str(tmp_path / "t.jsonl"), "--idle", "0.2", "--config", "c",
                 "--store", str(tmp_path / "store"), "--format", "csv"]  # fmt: skip
    done = CliRunner().invoke(cli.cli, arguments)

    assert done.exit_code == 0
    assert done.stdout.splitlines()[1].startswith("2,10.0,208,10400.0,")
    assert "3 records: 2 steps, 0 heartbeats, 1 rejected" in done.stderr
    assert "tokens/s" not in done.stderr  # it is no terminal


@exhaustive
@pytest.mark.parametrize(  # a long trace is loaded in bulk
    ("count", "engine"), first_of(1, [(3, None), (2000, "vllm"), (3, "vllm"), (2000, None)])
)
def test_passes_that_are_loaded_and_followed_compare(tmp_path: Path, count: int, engine: str | None) -> None:
    """The same engine was given to both, or to neither: their times span the same, so their steps are the same cases."""
    lines = [traced(fpm(counter, prefill=100, decode=2)) for counter in range(1, count)]
    path = segment(tmp_path, [*lines, traced(fpm(count, decode=1))])
    given = [*(["--engine", engine] if engine else []), "--store", str(tmp_path / "store")]
    for command in (["ingest", f"loaded:{path}"], ["measure", "serving", "--from", str(path), "--idle", "0.1"]):
        assert CliRunner().invoke(cli.cli, [*command, *given]).exit_code == 0

    span, tag = ("scheduler_interval", "vllm") if engine else ("wall_time", None)
    query = "SELECT time_span, tags->>'engine', count(*) FROM schedule_chunks JOIN runs USING (run_id) GROUP BY ALL"
    assert rows(tmp_path / "store", query) == [(span, tag, 2 * count)]


@exhaustive
def test_an_engine_is_said_too_late_for_known_lines(tmp_path: Path) -> None:
    """They keep the span that they were loaded with, and a note says how to load them anew."""
    path = segment(tmp_path, [traced(fpm(1, decode=1))])
    loading = ["ingest", f"a:{path}", "--store", str(tmp_path / "store")]
    CliRunner().invoke(cli.cli, loading)
    again = CliRunner().invoke(cli.cli, [*loading, "--engine", "vllm"])

    assert "those that are known keep what their times span" in again.stderr


@pytest.mark.parametrize(
    ("data", "said"),
    first_of(
        1, [(line(5) + line(1), "times a counter went back: 1, as after a restart"), (b"oops\n", "It holds no step.")]
    ),
)
def test_what_a_reader_of_the_run_must_know_is_said(tmp_path: Path, data: bytes, said: str) -> None:
    """That an engine restarted, and that there is nothing to draw."""
    (tmp_path / "t.jsonl").write_bytes(data)
    arguments = ["measure", "serving", "--from", str(tmp_path / "t.jsonl"), "--idle", "0.2",
                 "--store", str(tmp_path / "store")]  # fmt: skip

    assert said in CliRunner().invoke(cli.cli, arguments).stderr


@pytest.mark.parametrize(
    ("address", "waits"),
    first_of(
        2, [("t.*.jsonl", False), ("other.*.jsonl", True), ("ipc:///none/fpm.0", True), (".", False), ("none", True)]
    ),
)
def test_what_is_not_there_yet_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, waits: bool
) -> None:
    """A pattern is there where a file fits it, a local socket where its file is."""
    (tmp_path / "t.0.jsonl").write_bytes(line(1))
    monkeypatch.chdir(tmp_path)
    arguments = ["measure", "serving", "--from", address, "--idle", "0.2", "--store", str(tmp_path / "store")]

    said = CliRunner().invoke(cli.cli, arguments).stderr
    assert (f"nothing is at {address} yet" in said) == waits


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", first_of(1, [signal.SIGINT, signal.SIGTERM]))
def test_ctrl_c_ends_a_run_well(tmp_path: Path, number: signal.Signals) -> None:
    """All that has come is kept, the run is ok, and so is the exit code."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(line(1))
    command = [sys.executable, "-m", "bench", "measure", "serving", "--from", str(path), "--config", "c",
               "--store", str(tmp_path / "store")]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while "following" not in process.stderr.readline():
            pass
        for counter in range(2, 50):
            with path.open("ab") as out:
                out.write(line(counter))
        time.sleep(0.5)
        process.send_signal(number)
        process.stderr.read()

    assert process.returncode == 0
    assert rows(tmp_path / "store", "SELECT status, steps FROM run_summaries") == [("ok", 49)]
