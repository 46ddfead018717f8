"""A store in a bucket: whatever the network, the server, the clocks and kills do, nothing is lost and nothing counts twice."""

import datetime
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import bench
import pytest
from bench.warehouse.errors import BenchError
from bench.warehouse.events import RunRecord, ScheduleChunk, Source
from bench.warehouse.load import load, load_locked, rebuild
from bench.warehouse.log import EventLog
from bench.warehouse.recorder import join
from bench.warehouse.remote import inventory, mirror
from bench.warehouse.remote.mirror import push
from bench.warehouse.remote.places import Bucket
from bench.warehouse.store import Store
from bench.warehouse.upkeep.compaction import compact, merge
from bench.warehouse.upkeep.verify import verify

from ..builders import stored
from ..exhaustive import exhaustive, first_of, sampled
from ..object_server import ObjectServer
from .conftest import SECRET, durations, held

Machine = Callable[[str], Store]
pytestmark = pytest.mark.usefixtures("nothing_derived")
MB = 1 << 20


def record(store: Store, config: str, *durations: int) -> str:
    """One run with these samples."""
    with bench.run(config, store=store) as run:
        case = run.case("c")
        for duration in durations:
            case.timing(duration)
    return run.run_id


def names(url: str, prefix: str) -> list[str]:
    return [entry.name for entry in Bucket(url).list(prefix)]


def away(method: str, path: str, number: int) -> str:
    """Nothing reaches the server."""
    return "reset"


def test_what_one_machine_records_another_reads(machine: Machine) -> None:
    """At once, and again after the first time, when only what is new is listed."""
    a, b = machine("a"), machine("b")
    record(a, "one", 1, 2)
    assert durations(b) == [1, 2]
    record(a, "two", 3)
    record(b, "three", 4)

    assert durations(a) == durations(b) == durations(machine("fresh")) == [1, 2, 3, 4]


def test_a_run_that_leaves_sealing_to_others_is_uploaded(machine: Machine) -> None:
    """Which saves time where the next command is on the same machine."""
    run = bench.run("x", store=machine("a"))
    run.case("c").timing(1)
    run.close(seal=False)

    assert held(machine("b")) == [1]


def test_a_pull_with_nothing_new_is_one_request(machine: Machine, server: ObjectServer) -> None:
    """However many files there are."""
    a = machine("a")
    for number in range(3):
        record(a, "x", number)
    for _ in range(2):  # the second knows the markers of the last hour, too
        held(a)
    before = server.requests
    held(a)

    assert server.requests - before == 1


def test_the_address_and_its_mirror_are_one_store(
    url: str, server: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By --store, by $BENCH_STORE and by the folder itself; another server's bucket of that name has another mirror."""
    store = Store.find(url + "/").create()
    assert (str(store), store.remote) == (url, url)
    assert Store.find(store.root) == store
    monkeypatch.setenv("BENCH_STORE", url)
    assert Store.find() == store

    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://elsewhere")
    assert Store.find(url).root != store.root


def test_a_mirror_lies_where_state_belongs(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may hold the only copy of something, so it is in no cache."""
    monkeypatch.delenv("BENCH_MIRRORS", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert str(Store.find("s3://bucket/team").root).startswith("/state/bench/mirrors/s3-bucket-team-")
    monkeypatch.delenv("XDG_STATE_HOME")
    assert Store.find("s3://bucket/team").root.is_relative_to(Path.home() / ".local/state/bench/mirrors")


def test_recording_does_not_need_the_bucket(
    machine: Machine, server: ObjectServer, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence says that the events are safe and when they are uploaded, and so they are."""
    a = machine("a")
    server.fault = away
    record(a, "x", 1)
    record(a, "x", 2)
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert "cannot be reached. Check the network" in said and f"safe in {a.root}; the next command uploads it" in said

    server.fault = None
    monkeypatch.setattr(mirror, "_away", {})  # as in the next process
    held(a)
    assert held(machine("b")) == [1, 2]


@exhaustive
def test_questions_are_answered_from_the_mirror_while_the_bucket_is_away(
    machine: Machine, server: ObjectServer, capfd: pytest.CaptureFixture[str]
) -> None:
    """And they say as of when; where there is nothing to answer from, the reason is an error."""
    a = machine("a")
    record(a, "x", 1)
    durations(a)
    capfd.readouterr()
    server.fault = away

    assert durations(a) == [1]
    assert "Answers come from its mirror, as of 20" in capfd.readouterr().err
    with pytest.raises(BenchError, match="cannot be reached"):
        durations(machine("b"))
    with pytest.raises(BenchError, match="cannot be reached"):
        compact(a, below_bytes=MB, target_bytes=MB)


def test_a_bucket_that_holds_nothing_is_said(machine: Machine, capfd: pytest.CaptureFixture[str]) -> None:
    """Its name may be misspelt; before it was asked it may hold anything, as `--resume` on a new machine must know."""
    a = machine("a")
    assert a.may_hold() and not a.exists()
    assert durations(a) == []
    assert f"{a} holds nothing yet." in capfd.readouterr().err


def test_keeping_order_needs_the_bucket_where_the_mirror_never_saw_it(machine: Machine, server: ObjectServer) -> None:
    """It is no success to have recovered or derived nothing of what cannot be reached."""
    server.fault = away
    for step in (load, rebuild):
        with pytest.raises(BenchError, match="cannot be reached"):
            step(machine("a"))


@exhaustive
@pytest.mark.parametrize("fault", sampled(["throttle", "reset", "lost", "truncate", "delay"], "lost"))
def test_bad_days_lose_nothing(fault: str, machine: Machine, server: ObjectServer) -> None:
    """Every third request goes wrong; what was recorded is there, once, for who recorded it and for others."""
    server.fault = lambda method, path, number: fault if number % 3 == 0 else None
    a, b = machine("a"), machine("b")
    for number in range(2):
        record(a, "x", number)
        record(b, "y", 10 + number)

    assert held(a) == held(machine("c")) == [0, 1, 10, 11]


@pytest.mark.exhaustive
def test_a_kill_between_upload_and_marker_loses_nothing(machine: Machine, url: str) -> None:
    """Who lists all sees the files; who lists what is new sees them when the machine pushes again."""
    a, b = machine("a"), machine("b")
    record(b, "x", 1)
    held(b)
    script = (
        "import os, signal, sys; from pathlib import Path; import bench; from bench.warehouse.remote import mirror\n"
        "from bench.warehouse.store import Store\n"
        "mirror.mark = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "with bench.run('y', store=Store(Path(sys.argv[1]), sys.argv[2])) as run: run.case('c').timing(2)\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(a.root), url], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert held(machine("fresh")) == [1, 2]
    assert held(b) == [1]  # a day from now it would list all

    held(a)
    assert held(b) == [1, 2]


@exhaustive
def test_a_forked_process_leaves_the_upload_to_others(machine: Machine) -> None:
    """obstore's threads stay with the parent: a child that asked it would wait for ever."""
    a = machine("a")
    record(a, "x", 1)
    child = os.fork()
    if not child:
        record(a, "x", 2)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

    assert held(a) == held(machine("b")) == [1, 2]


@pytest.mark.parametrize("hours", first_of(1, [-7, 7]))
def test_the_server_has_a_clock_of_its_own(hours: int, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hours from ours; what is new is found by it alone."""
    shift(monkeypatch, hours)
    a, b = machine("a"), machine("b")
    for number in range(2):
        record(a, "x", number)
        assert held(b) == list(range(number + 1))


@exhaustive
def test_a_marker_that_comes_late_is_made_again(machine: Machine, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process slept between upload and marker, while others listed later ones."""
    a, b = machine("a"), machine("b")
    stat = Bucket.stat

    def sleep(bucket: Bucket, name: str) -> object:
        found = stat(bucket, name)
        if name.startswith("events/"):
            shift(monkeypatch, 5)
            monkeypatch.setattr(Bucket, "stat", stat)
            record(b, "y", 2)
            held(b)
        return found

    held(b)
    monkeypatch.setattr(Bucket, "stat", sleep)
    record(a, "x", 1)

    assert held(b) == [1, 2]
    assert len(names(url, "uploads")) == 3


def shift(monkeypatch: pytest.MonkeyPatch, hours: int) -> None:
    """Move the clock of the server."""
    from moto.core.utils import utcnow

    monkeypatch.setattr("moto.s3.models.utcnow", lambda: utcnow() + datetime.timedelta(hours=hours))


@exhaustive
def test_many_writers_at_once_and_readers_beside_them(machine: Machine) -> None:
    """Each with a mirror of its own; what was recorded is there for all."""

    def work(number: int) -> None:
        store = machine(str(number))
        for sample in range(2):
            record(store, "x", 10 * number + sample)
            load(store)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    everything = [10 * number + sample for number in range(3) for sample in range(2)]
    assert durations(machine("fresh")) == durations(machine("0")) == everything


@exhaustive
def test_a_mirror_that_was_deleted_comes_back(machine: Machine) -> None:
    """All that was uploaded is fetched again."""
    a = machine("a")
    record(a, "x", 1)
    shutil.rmtree(a.root)
    record(a, "x", 2)

    assert held(a) == [1, 2]


@pytest.mark.exhaustive
def test_an_import_counts_when_its_sources_are_uploaded(
    machine: Machine, server: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They go last, so an upload that broke off commits nothing elsewhere."""

    def chunks(store: Store) -> list[tuple[int]]:
        return stored("SELECT count(*) FROM schedule_chunks", store)

    a, b = machine("a"), machine("b")
    server.fault = lambda method, path, number: "refuse" if method == "PUT" and "/sources/" in path else None
    with a.lock():
        with EventLog(a).batch("f") as batch:
            batch.add(RunRecord(run_id="f", config="x", source="test"))
            batch.add(ScheduleChunk(run_id="f", source_id="f", line=1, chunk_sizes=[1]))
            batch.add(Source(source_id="f", run_id="f", config="x", path="f", name="f", format="t", end_byte=1,
                             sha256="f", head_sha256="f", lines=1, loaded=1))  # fmt: skip
        load_locked(a)
    assert chunks(a) == [(1,)]
    assert chunks(b) == [(0,)]

    server.fault = None
    monkeypatch.setattr(mirror, "_away", {})
    load(a)
    assert chunks(b) == [(1,)]


@exhaustive
def test_compaction_counts_nothing_twice_elsewhere(machine: Machine, url: str) -> None:
    """For who has all the small files, some of them, or none; the small ones leave the bucket."""
    a, all_, some = machine("a"), machine("all"), machine("some")
    record(a, "x", 1)
    assert durations(some) == [1]
    record(a, "x", 2)
    assert durations(all_) == [1, 2]
    compact(a, below_bytes=MB, target_bytes=MB)
    assert len(names(url, "events/timings")) == 1
    record(a, "x", 3)
    compact(a, below_bytes=MB, target_bytes=MB)
    assert len(names(url, "events/timings")) == 1

    for store in (a, all_, some, machine("none")):
        assert durations(store) == [1, 2, 3]
    record(some, "x", 4)
    compact(all_, below_bytes=MB, target_bytes=MB)
    assert durations(some) == [1, 2, 3, 4]
    assert verify(a).problems == {}


@exhaustive
def test_of_two_who_merge_the_same_files_one_gives_way(machine: Machine, url: str) -> None:
    """Both merged the second run's file, each with another; nobody ever counts it twice, nor loses the others."""
    a, b = machine("a"), machine("b")
    for number in range(3):
        record(a, "x", number)
    assert durations(a) == durations(b) == [0, 1, 2]
    first, second, third = (path.rpartition("/")[2] for path in names(url, "events/timings"))
    merge(a, {first: None, second: None}, below_bytes=MB, target_bytes=MB)
    merge(b, {second: None, third: None}, below_bytes=MB, target_bytes=MB)
    load(b)  # is first to say what counts
    assert durations(a) == [0, 1, 2]

    assert durations(b) == durations(machine("fresh")) == [0, 1, 2]
    compact(a, below_bytes=MB, target_bytes=MB)
    for store in (a, b):
        assert durations(store) == [0, 1, 2]
        assert verify(store).problems == {}
    assert len(names(url, "events/timings")) == 2  # what came to nothing may be about to count, for all anyone knows


@exhaustive
def test_compactions_at_once_leave_every_event_once(machine: Machine) -> None:
    """Two machines compact together while a third records."""
    stores = [machine(name) for name in "ab"]
    for number in range(4):
        record(stores[number % 2], "x", number)
    failures = []

    def work(store: Store) -> None:
        try:
            compact(store, below_bytes=MB, target_bytes=MB)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    record(machine("d"), "x", 4)
    for thread in threads:
        thread.join()

    assert failures == []
    for store in (*stores, machine("fresh")):
        assert durations(store) == [0, 1, 2, 3, 4]


@pytest.mark.exhaustive
def test_a_compaction_killed_before_it_counts_is_settled_by_the_next_load(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The merged file was published here and uploaded, and no record named it."""
    a = machine("a")
    for number in range(2):
        record(a, "x", number)

    def kill(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(mirror, "commit", kill)
        compact(a, below_bytes=MB, target_bytes=MB)
    assert durations(machine("b")) == [0, 1]

    assert durations(a) == [0, 1]
    assert durations(machine("c")) == durations(machine("b")) == [0, 1]


def test_no_credential_is_in_any_file(
    machine: Machine, url: str, server: ObjectServer, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of the mirror, of the bucket, and of what is said when access is denied."""
    a = machine("a")
    with pytest.raises(BenchError):
        bench.run("x", store=f"s3://key:{SECRET}@bucket/x")
    record(a, "x", 1)
    held(a)
    server.fault = lambda method, path, number: "deny"
    record(a, "x", 2)
    server.fault = None

    bucket = Bucket(url)
    contents = [bucket.read(name) for prefix in ("events", "uploads") for name in names(url, prefix)]
    contents += [path.read_bytes() for path in a.root.rglob("*") if path.is_file()]
    said = capfd.readouterr()
    assert "access is denied" in said.err
    for secret in (SECRET, "AKIAPLANTED"):
        assert not any(secret.encode() in content for content in contents)
        assert secret not in said.err + said.out


def test_only_files_of_the_log_are_taken_from_a_bucket(
    machine: Machine, url: str, server: ObjectServer, tmp_path: Path
) -> None:
    """Whatever anybody calls an object, in the listing or in a marker."""
    a, b = machine("a"), machine("b")
    record(a, "x", 1)
    held(b)
    path = f"/{url.removeprefix('s3://')}"
    hostile = ["events/timings/.x-0123456789abcdef.parquet", "events/other/x-0123456789abcdef.parquet",
               "events/timings/x.parquet", "events/timings/x%20y-0123456789abcdef.parquet"]  # fmt: skip
    for name in hostile:
        server.raw("PUT", f"{path}/{name}", b"x")
    outside = dict.fromkeys(["../x", "events/timings/../../../x-0123456789abcdef.parquet", "/etc/passwd", *hostile], 1)
    server.raw("PUT", f"{path}/uploads/20990101T000000Z-x", json.dumps(outside).encode())

    assert held(b) == held(machine("c")) == [1]
    for store in (b, machine("c")):
        assert {file.name for file in EventLog(store).files()} == {file.name for file in EventLog(a).files()}
    assert not list(tmp_path.rglob("x-*")) and not list(tmp_path.rglob("*x.parquet"))


@pytest.mark.exhaustive
def test_a_damaged_file_of_the_bucket_is_named_and_the_rest_is_there(
    machine: Machine, url: str, server: ObjectServer, capfd: pytest.CaptureFixture[str]
) -> None:
    """The machine that recorded it has it whole, and `verify` there tells."""
    a = machine("a")
    record(a, "x", 1)
    record(a, "x", 2)
    name = names(url, "events/timings")[0]  # of the first run: names begin with the time
    server.raw("PUT", f"/{url.removeprefix('s3://')}/{name}", b"damaged")

    assert held(machine("b")) == [2]
    assert f"the download of {url}/{name} is damaged" in capfd.readouterr().err
    assert list(verify(a).problems) == [name]


@exhaustive
def test_a_damaged_download_is_tried_again_and_told_until_it_is_whole(
    machine: Machine, url: str, server: ObjectServer, capfd: pytest.CaptureFixture[str]
) -> None:
    """The mirror took the names it had seen for files it had: runs were missing from all later answers, without a word."""
    a, b = machine("a"), machine("b")
    record(a, "x", 1)
    assert held(b) == [1]
    record(a, "x", 2)
    (name,) = set(names(url, "events/timings")) - {f"events/timings/{path.name}" for path in b.events.glob("timings/*")}
    server.fault = lambda method, path, number: "shorten" if path.endswith(name) else ""

    for _ in range(2):
        mirror._notified.clear()  # as in another process
        assert held(b) == [1]
        told = capfd.readouterr().err
        assert f"the download of {url}/{name} is damaged" in told and "The next command tries again" in told
        assert "copied: answers are without what they hold" in told and "copy; " not in told
    assert verify(b).problems == {name: f"{url}/{name} is in no answer: its download was damaged."}
    server.fault = None
    assert held(b) == [1, 2]
    assert "damaged" not in capfd.readouterr().err
    assert verify(b).problems == {}


@exhaustive
def test_a_first_download_that_ends_early_is_no_whole_answer(
    machine: Machine, url: str, server: ObjectServer, capfd: pytest.CaptureFixture[str]
) -> None:
    """A part of the bucket had come before the error, and nothing said that the answer was of a part."""
    a, b = machine("a"), machine("b")
    record(a, "x", 1)
    record(a, "x", 2)
    name = max(names(url, "events/timings"))
    server.fault = lambda method, path, number: "truncate" if path.endswith(name) else ""

    assert held(b) != [1, 2]
    assert "Answers come from its mirror, which never saw all of it." in capfd.readouterr().err
    server.fault = None
    mirror._away.clear()
    assert held(b) == [1, 2]


@pytest.mark.exhaustive
def test_what_is_gone_from_the_bucket_is_uploaded_again(machine: Machine, url: str) -> None:
    """When all of it is listed: a bucket that lost files is made whole by the mirrors."""
    a = machine("a")
    record(a, "x", 1)
    held(a)
    for name in names(url, "events"):
        Bucket(url).delete(name)
    verify(a)

    assert held(machine("b")) == [1]


def test_artefacts_are_uploaded_when_their_run_is_over(machine: Machine, url: str) -> None:
    """They are still written to before; other machines do not fetch them by themselves."""
    a = machine("a")
    with bench.run("x", store=a) as run:
        folder = a.artefacts / run.run_id
        folder.mkdir(parents=True)
        (folder / "trace.json").write_text("{}")
        push(a)
        assert names(url, "artefacts") == []
    assert names(url, "artefacts") == [f"artefacts/{run.run_id}/trace.json"]

    b = machine("b")
    held(b)
    assert not b.artefacts.exists()


def test_workers_of_a_run_leave_the_upload_to_its_owner(machine: Machine, server: ObjectServer) -> None:
    """Nothing is sent while others still measure."""
    a = machine("a")
    with bench.run("x", store=a) as run:
        before = server.requests
        with join(run.run_id, a) as worker:
            worker.case("c").timing(1)
        assert server.requests == before

    assert held(machine("b")) == [1]


def test_records_of_merges_are_numbered(url: str, server: ObjectServer) -> None:
    """Two who add at once: the second sees what the first one added."""
    first, second = Bucket(url), Bucket(url)
    newest = inventory.newest_record
    assert inventory.commit(first, {"events/timings/merged-a-1.parquet": frozenset({"a", "b"})}) == {}
    assert newest(second) == (1, {"events/timings/merged-a-1.parquet"})
    assert newest(Bucket(url + "/other")) == (0, set())
