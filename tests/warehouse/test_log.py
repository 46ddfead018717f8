"""The event log: files appear whole, under their checksum, with their meaning inside, or not at all."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path
from typing import Any

import bench
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bench.warehouse import environment, schema
from bench.warehouse import log as log_module
from bench.warehouse.errors import BenchError
from bench.warehouse.events import EVENTS, ArchivedRun, Event, Instant, Metric, RunRecord, ScheduleChunk, Source, Timing
from bench.warehouse.journal import HEADER, HEADER_COPY, pages
from bench.warehouse.load import load
from bench.warehouse.locks import STALE_S
from bench.warehouse.log import EventLog, replaced, sha256
from bench.warehouse.store import Store
from bench.warehouse.upkeep.compaction import merge

from ..builders import run, source, stored
from ..exhaustive import exhaustive, first_of, sampled

pytestmark = pytest.mark.usefixtures("nothing_derived")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.find(tmp_path / "store").create()


def timing(duration_ns: int) -> Timing:
    return Timing(run_id="r", case_id="c", duration_ns=duration_ns)


def imported(store: Store, name: str = "steps", lines: int = 3) -> None:
    """One imported file of that many steps."""
    with store.lock(), EventLog(store).batch(name) as batch:
        batch.add(run(name))
        for line in range(1, lines + 1):
            batch.add(ScheduleChunk(run_id=name, source_id=name, line=line, chunk_sizes=[line]))
        batch.add(source(name, lines, run=name))


def names(store: Store) -> list[str]:
    return sorted(f"{file.table}/{file.stem}" for file in EventLog(store).files())


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.TABLE)
def test_a_file_carries_its_checksum_and_its_meaning(kind: type[Event], store: Store) -> None:
    """Name, version, and each column's doc and unit travel with the file."""
    path = EventLog(store).write(kind, [], "stem", note="mine")
    schema = pq.read_schema(path)

    assert path.name == f"stem-{sha256(path)[:16]}.parquet"
    said = schema.metadata
    assert (said[b"bench.table"].decode(), said[b"bench.version"].decode()) == (kind.TABLE, str(kind.VERSION))
    assert said[b"note"] == b"mine"
    assert [(f.name, schema.field(f.name).metadata[b"doc"].decode()) for f in kind.fields()] == [
        (f.name, f.doc) for f in kind.fields()
    ]
    assert [file.digest for file in EventLog(store).files()] == [sha256(path)[:16]]
    assert list(path.parent.iterdir()) == [path]


def test_a_missing_value_that_must_be_there_is_an_error(store: Store) -> None:
    """NULL in a column declared without it is refused, and no file appears."""
    rows = pa.table(
        {f.name: pa.nulls(1, pa.string()) if f.name == "run_id" else pa.nulls(1) for f in RunRecord.fields()}
    )
    with pytest.raises(BenchError, match="runs"):
        EventLog(store).write(RunRecord, rows, "stem")

    assert names(store) == []


def test_a_batch_is_published_whole_and_its_sources_last(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The `sources` file commits the import: whatever is killed before it counts for nothing."""
    order = []
    publish = log_module.publish

    def noting(temporary: Path, folder: Path, stem: str) -> Path:
        order.append(folder.name)
        return publish(temporary, folder, stem)

    monkeypatch.setattr(log_module, "publish", noting)
    imported(store)

    assert order[-1] == "sources" and sorted(order) == ["runs", "schedule_chunks", "sources"]
    assert names(store) == ["runs/import-steps", "schedule_chunks/import-steps", "sources/import-steps"]


def test_a_batch_that_fails_leaves_nothing(store: Store) -> None:
    """An exception while reading a file publishes none of its events."""
    with pytest.raises(ZeroDivisionError), store.lock(), EventLog(store).batch("steps") as batch:
        batch.add(run("steps"))
        _ = 1 / 0

    assert (names(store), list(store.events.iterdir())) == ([], [])


def test_a_batch_of_very_many_events_is_written_in_parts(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts are numbered, and one `sources` file commits them all."""
    monkeypatch.setattr(log_module, "ROWS_AT_ONCE", 2)
    imported(store, lines=5)
    load(store)

    assert [name for name in names(store) if "chunks" in name] == [
        f"schedule_chunks/import-steps{part}" for part in ("", ".1", ".2")
    ]
    assert stored("SELECT line FROM schedule_chunks ORDER BY line", store) == [(n,) for n in range(1, 6)]


def test_a_query_goes_into_a_batch_without_passing_through_python(store: Store) -> None:
    """Its columns are cast to the table's, those it lacks are NULL, and its rows keep their order."""
    with store.lock(), EventLog(store).batch("steps") as batch, duckdb.connect() as connection:
        select = "SELECT 'r' AS run_id, i AS batch_id, [i, i + 1] AS chunk_sizes FROM range(5000, 0, -1) t(i)"
        staged = batch.copy(connection, ScheduleChunk, select)
        assert connection.execute(f"SELECT count(*) FROM '{staged}'").fetchone() == (5000,)
        batch.add(source("steps", run="r"))
    file = next(file for file in EventLog(store).files() if file.table == "schedule_chunks")
    table = pq.read_table(file.path)

    assert table["batch_id"].to_pylist() == list(range(5000, 0, -1))
    assert table.schema.metadata[b"bench.version"] == b"1"
    assert table.column_names == [f.name for f in ScheduleChunk.fields()]


def test_an_import_without_its_sources_counts_for_nothing(store: Store) -> None:
    """Files of an import that was killed before its end are neither loaded nor compacted."""
    imported(store, "whole")
    imported(store, "partial")
    next((store.events / "sources").glob("import-partial-*")).unlink()
    load(store)

    assert stored("SELECT DISTINCT source_id FROM schedule_chunks", store) == [("whole",)]


def forged(store: Store, *changes: tuple[bytes, bytes]) -> Path:
    """A journal whose header another version of bench, or a bad disk, might have written so."""
    with bench.run("forged", store=store) as recorder:
        recorder.case("c").timing(7, details={"gc_collections": 3})
        recorder.flush()
        data = recorder._journal.path.read_bytes()
        recorder._closed = True  # so that it is not sealed
        recorder._journal.close()
        recorder._journal.path.unlink()
    magic, length, _ = HEADER.unpack_from(data)
    text = magic + zlib.decompress(data[HEADER.size :][:length])
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    packed = zlib.compress(text[len(magic) :])
    checksum = zlib.crc32(packed) if text.isascii() else 0
    head = HEADER.pack(text[: len(magic)], len(packed), checksum) + packed
    rest = data[pages(HEADER.size + length) :].replace(HEADER_COPY, bytes(len(HEADER_COPY)))
    path = store.journals / "forged.journal"
    path.write_bytes(head.ljust(pages(len(head)), b"\0") + rest)
    return path


@pytest.mark.parametrize(
    "texts",
    [
        ["a", "a", "a"],
        [None, "b", "a", None, "\udc80", "", "b"],
        [None, None],
        ["x" * 300, "y" * 300, "x" * 300],  # too long for the journal to remember: each has a number of its own
        [f"{number % 1100} {'z' * 1000}" for number in range(1200)],
    ],
    ids=["alike", "some", "none", "long", "more than a dictionary holds"],
)
def test_texts_are_sealed_as_they_were_recorded(texts: list[str | None], store: Store) -> None:
    """As texts, whose dictionaries are the writer's affair, with the meaning of their columns."""
    with bench.run("a", store=store) as recorder:
        case = recorder.case("c")
        for number, text in enumerate(texts):
            case.metric("m", number, text=text)
    (file,) = (store.events / "metrics").iterdir()
    table = pq.read_table(file)

    wanted = [None if text is None else text.encode("utf-8", "backslashreplace").decode() for text in texts]
    assert table["original_value"].to_pylist() == wanted
    assert table["value"].to_pylist() == list(range(len(texts)))
    declared = schema.arrow_schema(Metric)
    assert table.schema.equals(declared.with_metadata(table.schema.metadata), check_metadata=True)
    assert table.schema.metadata.items() >= declared.metadata.items()
    assert table["original_value"].null_count == texts.count(None)


def test_a_column_that_no_row_has_costs_nothing(store: Store) -> None:
    """It is not compressed, others are; the least and greatest text are written of the run alone, by which files are chosen."""
    with bench.run("a", store=store) as recorder:
        recorder.case("c").metric("m", 1.0, text="one")
    (file,) = (store.events / "metrics").iterdir()
    group, rows = pq.read_metadata(file).row_group(0), pq.read_table(file)
    columns = {group.column(place).path_in_schema: group.column(place) for place in range(group.num_columns)}

    assert {name: column.compression for name, column in columns.items()} == {
        name: "UNCOMPRESSED" if rows[name].null_count else "ZSTD" for name in columns
    }
    assert columns["run_id"].statistics.max == recorder.run_id
    assert columns["value"].statistics.max == 1.0
    assert columns["case_id"].statistics is None


def test_what_only_a_newer_bench_knows_is_kept(store: Store) -> None:
    """A column we have no name for is sealed with the others, counted when loaded, and there for a newer bench."""
    journal = forged(store, (b"gc_collections", b"new_collection"))
    loaded = load(store)
    (file,) = (store.events / "timings").iterdir()

    assert (loaded.unknown_columns, loaded.left_out, journal.exists()) == ({"timings.new_collection": 1}, {}, False)
    assert pq.read_table(file)["new_collection"].to_pylist() == [3]
    assert stored("SELECT duration_ns, gc_collections FROM timings", store) == [(7, None)]


def test_a_newer_version_is_sealed_as_it_is_and_refused_with_the_cure(store: Store) -> None:
    """Only the file of the newer table is left out; what else the journal held is loaded."""
    journal = forged(store, (b'["timings", 1,', b'["timings", 9,'))
    loaded = load(store)
    (file,) = (store.events / "timings").iterdir()

    assert loaded.left_out == {
        file.name: "was written as timings v9; this bench reads up to v1. Update bench to ingest it."
    }
    assert not journal.exists() and loaded.rows["cases"] == 1
    assert load(store).left_out.keys() == {file.name}


def test_files_of_a_newer_bench_are_one_note_a_version(store: Store) -> None:
    """Two hundred runs gave a thousand lines before every answer."""
    for number in range(3):
        path = EventLog(store).write(
            RunRecord,
            [RunRecord(run_id=f"r{number}", config="x", source="api")],
            f"a{number}",
            **{"bench.version": "9"},
        )
        assert path.exists()
    EventLog(store).write(Timing, [Timing(run_id="r", case_id="c", duration_ns=1)], "b", **{"bench.version": "9"})
    loaded = load(store)

    (sentence,) = loaded.notes
    assert sentence.endswith("Update bench to ingest it. So were 3 other files, all v9 of: runs, timings.")
    assert len(loaded.left_out) == 4


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    first_of(1, [(b'"timings"', b'"tidings"', "Update bench"), (b'"tables"', b'"tab\xff\xffs"', "damaged")]),
)
def test_a_journal_that_cannot_be_sealed_stays_and_is_named(old: bytes, new: bytes, reason: str, store: Store) -> None:
    """A damaged journal, or one with a table we do not know, hinders no other; it stays for the cure."""
    journal = forged(store, (old, new))
    with bench.run("fine", store=store) as recorder:
        recorder.case("c").timing(1)
    loaded = load(store)

    assert reason in loaded.left_out[journal.name]
    assert journal.exists()
    assert (1,) in stored("SELECT duration_ns FROM timings", store)


def left_behind(store: Store, **header: str) -> Path:
    """A journal with one timing whose writer is gone, as a machine would leave it that this header describes."""
    described = {**environment.machine(), **header}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(environment, "machine", lambda: described)
        recorder = bench.run("left", store=store)
    recorder.case("c").timing(1)
    recorder._closed = True  # so that it is not sealed
    recorder._journal.close()
    return recorder._journal.path


@pytest.mark.parametrize(
    "other", sampled([{"host": "beta"}, {"boot": "another"}, {"processes": "pid:[1]"}], {"host": "beta"}), ids=str
)
def test_a_journal_of_another_machine_is_left_alone_until_it_is_stale(other: dict[str, str], store: Store) -> None:
    """Its lock says nothing where locks are local to a mount; ten minutes without a touch say that its writer is gone."""
    path, ours = left_behind(store, **other), left_behind(store)
    assert load(store).recovered == [ours]
    assert path.exists()

    before = time.time() - STALE_S - 1
    os.utime(path, (before, before))
    assert load(store).recovered == [path]


@exhaustive
def test_a_writer_touches_its_journal_though_it_records_nothing(store: Store) -> None:
    """That is its heartbeat, by which others know that it lives: what the thread does every few seconds."""
    with bench.run("quiet", store=store) as recorder:
        assert "bench-sync" in {thread.name for thread in threading.enumerate()}
        recorder.flush()
        path = recorder._journal.path
        content = path.read_bytes()
        os.utime(path, (1.0, 1.0))
        recorder.flush()

        assert time.time() - path.stat().st_mtime < 120
        assert path.read_bytes() == content


@pytest.mark.exhaustive
@pytest.mark.skipif(
    not shutil.which("unshare")
    or subprocess.run(["unshare", "-p", "-f", "true"], capture_output=True, check=False).returncode != 0,
    reason="this machine lets nobody make a namespace of processes",
)
def test_a_journal_from_a_real_namespace_of_processes_waits(store: Store) -> None:
    """Its writer may live where nobody sees it; here it ended without closing, so that its lock is gone."""
    script = "import bench, os, sys; bench.run('a', store=sys.argv[1]).case('c').timing(7); os._exit(1)"
    subprocess.run(["unshare", "-p", "-f", sys.executable, "-c", script, str(store.root)], check=False)
    (path,) = EventLog(store).journals()
    assert load(store).recovered == []

    os.utime(path, (1.0, 1.0))
    assert load(store).recovered == [path]


def test_a_journal_of_another_machine_can_be_forced(store: Store) -> None:
    """By someone who knows that its machine is off."""
    path = left_behind(store, host="beta")
    assert load(store, force=True).recovered == [path]


@pytest.mark.exhaustive
def test_sealers_beside_openings_lose_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between creating a journal and locking it, a sealer may find it empty and remove it: every such opening begins again."""
    lock = fcntl.flock
    sealed: list[list[Path]] = []

    def late(file: Any, how: int) -> None:
        if how == fcntl.LOCK_EX and len(sealed) < 50:
            sealed.append(EventLog(store).journals())
            monkeypatch.setattr(fcntl, "flock", lock)
            EventLog(store).recover()
            monkeypatch.setattr(fcntl, "flock", late)
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    for sample in range(10):
        with bench.run(f"run {sample}", store=store) as recorder:
            recorder.case("c").timing(sample)
    monkeypatch.undo()

    assert any(sealed)
    assert stored("SELECT duration_ns FROM timings ORDER BY ALL", store) == [(sample,) for sample in range(10)]


@pytest.mark.exhaustive
def test_a_link_in_the_place_of_a_journal_is_not_followed(store: Store, tmp_path: Path) -> None:
    """Its target is no event of this store, and stays as it is."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    store.journals.mkdir(exist_ok=True)
    link = store.journals / "a.journal"
    link.symlink_to(victim)
    with bench.run("fine", store=store) as recorder:
        recorder.case("c").timing(1)

    assert load(store).left_out.keys() == {link.name}
    assert victim.read_text() == "mine"


def say_archived(store: Store) -> Path:
    """Note in the log that another store has a run, as archiving does when it has copied it."""
    now = Instant(1)
    gone = ArchivedRun(run_id="gone", config="c", archive="/elsewhere", archived_at=now, files=["runs.parquet"])
    return EventLog(store).write(ArchivedRun, [gone], "said")


@pytest.mark.exhaustive
def test_a_list_of_an_archive_that_was_killed_before_it_said_so_is_dropped(store: Store) -> None:
    """All is here as it was; once it is said, the same list is followed, and what is gone already is no error."""
    with bench.run("fine", store=store) as recorder:
        recorder.case("c").timing(1)
    mine = {file.path for file in EventLog(store).files()}
    going = store.root / log_module.ARCHIVING
    text = '{"said_by": "said", "remove": ["events/runs/runs.parquet"]}'
    going.write_text(text)
    assert load(store).left_out == {} and not going.exists()
    assert {file.path for file in EventLog(store).files()} == mine

    said = say_archived(store)
    going.write_text(text)
    assert load(store).left_out == {} and not going.exists()
    assert {file.path for file in EventLog(store).files()} == {*mine, said}


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "names",
    ['["../../victim"]', '["events/../../victim"]', '["/victim"]', "[3]", '"victim"', '{"a"', '["a\\u0000"]', "", "[" * 9999,
     '["MINE"]', '["warehouse.duckdb"]', '["artefacts/run/x"]', '["events"]'],
)  # fmt: skip
def test_what_was_not_archived_is_not_removed(names: str, store: Store, tmp_path: Path) -> None:
    """Whatever the list of archived files names, files outside the store and events that no other store has stay."""
    victims = [tmp_path / "victim", tmp_path.parent / "victim"]
    for victim in victims:
        victim.write_text("mine")
    with bench.run("fine", store=store) as recorder:
        recorder.case("c").timing(1)
    mine = {file.path for file in EventLog(store).files()}
    say_archived(store)
    load(store)
    going = store.root / log_module.ARCHIVING
    names = names.replace("MINE", min(mine).relative_to(store.root).as_posix())
    going.write_text(f'{{"said_by": "said", "remove": {names}}}')

    assert load(store).left_out.keys() == {going.name}
    assert [victim.read_text() for victim in victims] == ["mine", "mine"]
    assert {file.path for file in EventLog(store).files()} > mine
    going.unlink()
    assert load(store).left_out == {}


def test_a_journal_is_not_sealed_while_its_writer_lives(store: Store) -> None:
    """A load beside a live writer leaves its journal alone."""
    with bench.run("alive", store=store) as recorder:
        recorder.case("c").timing(1)
        assert load(store).recovered == []
        assert EventLog(store).journals() == [recorder._journal.path]
        assert not EventLog(store).seal(recorder._journal.path)

    assert EventLog(store).journals() == []


def test_a_merged_file_names_what_it_stands_for(store: Store) -> None:
    """Its metadata list the files it replaces, and its rows are theirs in order."""
    log = EventLog(store)
    paths = [log.write(Timing, [timing(10 * n), timing(10 * n + 1)], f"s{n}") for n in range(3)]
    known = {path.name for path in paths}

    assert merge(store, dict.fromkeys(known), below_bytes=1 << 20, target_bytes=1 << 20) == 3
    (merged,) = (file for file in log.files() if file.stem.startswith("merged-"))
    assert set(replaced(merged.path)) == known
    assert sorted(pq.read_table(merged.path)["duration_ns"].to_pylist()) == [0, 1, 10, 11, 20, 21]
    assert pq.read_schema(merged.path).metadata[b"bench.version"] == b"1"


@pytest.mark.parametrize("wrong", ["damaged", "not loaded"])
def test_compaction_takes_only_what_is_whole_and_loaded(wrong: str, store: Store) -> None:
    """Merging a damaged file would give the damage a new checksum."""
    log = EventLog(store)
    paths = [log.write(Timing, [timing(n)], f"s{n}") for n in range(3)]
    known = {path.name for path in paths}
    if wrong == "damaged":
        data = bytearray(paths[1].read_bytes())
        data[10] ^= 1
        paths[1].write_bytes(data)
    else:
        known.remove(paths[1].name)
    merge(store, dict.fromkeys(known), below_bytes=1 << 20, target_bytes=1 << 20)
    merged = [name for file in log.files() for name in replaced(file.path)]

    assert set(merged) == {paths[0].name, paths[2].name}


def test_files_of_others_are_left_alone(store: Store) -> None:
    """Notes, hidden files and unknown folders in the log's place are no part of it."""
    (store.events / "timings").mkdir()
    for name in ("timings/notes.txt", "timings/.hidden-1.parquet"):
        (store.events / name).touch()
    (store.events / "elsewhere").mkdir()

    assert EventLog(store).files() == []


def test_source_and_metadata_are_json(store: Store) -> None:
    """The columns' meanings in a file's metadata parse, for whoever reads it without bench."""
    path = EventLog(store).write(Source, [source()], "stem")
    columns = json.loads(pq.read_schema(path).metadata[b"bench.columns"])

    assert columns["end_byte"]["unit"] == "bytes"


def test_no_temporary_file_outlives_a_failed_write(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fills up during a merge leaves the small files and nothing else."""
    log = EventLog(store)
    known = {log.write(Timing, [timing(n)], f"s{n}").name for n in range(3)}

    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(BenchError, match="No space left"):
        merge(store, dict.fromkeys(known), below_bytes=1 << 20, target_bytes=1 << 20)

    assert {path.name for path in (store.events / "timings").iterdir()} == known
