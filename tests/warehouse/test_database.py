"""The warehouse: derived, incremental, equal however it came about, and never in its readers' way."""

import math
import mmap
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bench
import duckdb
import pytest
from bench import sql
from bench.warehouse import log, snapshot, views
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError
from bench.warehouse.events import Reject, RunRecord, ScheduleChunk, Timing
from bench.warehouse.load import load, readable_files, rebuild
from bench.warehouse.log import EventLog
from bench.warehouse.schema import ROWS_IN_GROUP
from bench.warehouse.store import Store
from bench.warehouse.upkeep.compaction import compact, merge
from bench.warehouse.upkeep.verify import verify

from ..builders import run, source, stored
from ..exhaustive import exhaustive, first_of
from .conftest import durations

ANY_SIZE = 1 << 30


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.find(tmp_path / "store")


def record(store: Store, config: str, *durations: int) -> None:
    with bench.run(config, store=store) as recorder:
        case = recorder.case("c")
        for duration in durations:
            case.timing(duration)


def fill(store: Store, seed: int, runs: int = 3) -> None:
    """Runs with everything a view may ask of, and an import, from a seed."""
    chance = random.Random(seed)
    for number in range(runs):
        with bench.run(f"config {number % 2}", store=store, suite="s") as recorder:
            for name in ("m1", "m2", "m3"):
                for backend in ("eager", "inductor"):
                    case = recorder.case(name, suite="s", mode="inference", device="cpu", backend=backend, batch_size=2)
                    case.timing(chance.randrange(10**9), phase="cold")
                    for block in range(chance.randrange(1, 12)):
                        case.timing(
                            chance.randrange(1, 10**6), loops=3, details={"block": block, "position": 0, "process": 0}
                        )
                    case.memory(chance.randrange(1, 10**9))
                    case.metric("compile_latency", chance.random() * 1e9, unit="ns", better="lower")
                    case.metric("nothing", chance.choice([None, math.nan, math.inf, 0.0]))
                    case.outcome(chance.choice(["ok", "ok", "fail_to_run", "OOM"]))
                    case.outcome(chance.choice(["pass", "fail_accuracy"]), kind="accuracy")
            for _ in range(60):
                sizes = [chance.randrange(1, 600) for _ in range(chance.randrange(5))]
                recorder.schedule_chunk(sizes, schedule_ms=chance.random() * 400, model_run_ms=chance.random() * 300)
    name = f"import{seed}"
    with store.lock(), EventLog(store).batch(name) as batch:
        batch.add(run(name, config="config 0", source="scheduler"))
        for line in range(1, 40):
            batch.add(
                ScheduleChunk(
                    run_id=name, source_id=name, line=line, batch_id=line, chunk_sizes=[line], model_run_ms=1.5 * line
                )
            )
        batch.add(Reject(source_id=name, run_id=name, line=40, reason="broken", text="{"))
        batch.add(source(name, 40, run=name, rejected=1))


def answers(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Every table's, view's and macro's rows, in an order of their own."""
    found = {}
    with Warehouse.open(store) as warehouse:
        names = [
            name
            for (name,) in warehouse.rows(
                "SELECT table_name FROM duckdb_tables() WHERE NOT starts_with(table_name, '_')"
            )
        ]
        names += [view.name for view in sql.views().values() if view.arguments is None]
        names += [
            f"{view.name}()"
            for view in sql.views().values()
            if view.arguments and not view.scalar and all(argument.default for argument in view.arguments)
        ]
        for name in names:
            found[name] = sorted(warehouse.rows(f"SELECT * FROM {name}"), key=_key)
    return found


def _key(row: tuple[Any, ...]) -> str:
    return repr([f"{value:.8g}" if isinstance(value, float) else value for value in row])


def assert_same(one: dict[str, list[tuple[Any, ...]]], other: dict[str, list[tuple[Any, ...]]]) -> None:
    assert one.keys() == other.keys()
    for name, rows in one.items():
        assert len(rows) == len(other[name]), name
        for row, again in zip(rows, other[name], strict=True):
            assert all(map(_alike, row, again)), (name, row, again)


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12) or (math.isnan(one) and math.isnan(other))
    return bool(one == other)


def test_a_load_takes_what_is_new_and_a_second_one_nothing(store: Store) -> None:
    """Incremental and idempotent: the file is not even touched when there is nothing to do."""
    record(store, "a", 1, 2)
    first = load(store)
    assert (first.rows["timings"], first.rows["runs"], first.rebuilt) == (2, 1, True)
    record(store, "a", 3)
    second = load(store)
    assert (second.rows["timings"], second.rebuilt) == (1, False)
    before = os.stat(store.database)
    third = load(store)
    after = os.stat(store.database)

    assert (third.files, third.rows) == (0, {})
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert durations(store) == [1, 2, 3]


@pytest.mark.exhaustive
def test_loads_one_by_one_leave_one_row_a_run(store: Store) -> None:
    """If a load computes the rows of a whole config anew, those of the load before go."""
    for number in range(3):
        record(store, "a", number)
        load(store)
    with Warehouse.open(store) as warehouse:
        assert warehouse.rows("SELECT count(*), count(DISTINCT run_id) FROM _rounds") == [(3, 3)]


@exhaustive
def test_opening_loads_what_is_pending(store: Store) -> None:
    """Who asks gets the newest, without an ingest in between; deleting the warehouse loses nothing."""
    record(store, "a", 1)
    assert durations(store) == [1]
    record(store, "a", 2)
    assert durations(store) == [1, 2]
    store.database.unlink()
    assert durations(store) == [1, 2]


def test_no_store_is_an_error_with_the_next_step(store: Store) -> None:
    """Asking before anything was recorded says how to begin, and creates nothing."""
    with pytest.raises(BenchError, match=r"no store at .* bench ingest PATH"):
        Warehouse.open(store)
    assert not store.root.exists()


@pytest.mark.parametrize("content", first_of(1, [b"", b"garbage" * 1000, None]), ids=["empty", "garbage", "torn"])
def test_a_corrupt_warehouse_is_derived_anew(content: bytes | None, store: Store) -> None:
    """Only the log is the truth."""
    record(store, "a", 1)
    load(store)
    store.database.write_bytes(store.database.read_bytes()[:5000] if content is None else content)

    assert durations(store) == [1]


@exhaustive
def test_a_warehouse_of_another_shape_is_derived_anew(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an update that changed tables or views, the first load builds anew."""
    record(store, "a", 1)
    load(store)
    monkeypatch.setattr(snapshot, "_made_by", lambda: "a newer bench")

    assert load(store).rebuilt
    assert not load(store).rebuilt


@pytest.mark.exhaustive
@pytest.mark.parametrize("needed", first_of(1, sorted(set(views.NEEDED.values()))))
def test_a_derived_table_has_no_rows_without_those_it_needs(
    store: Store, monkeypatch: pytest.MonkeyPatch, needed: str
) -> None:
    """A load that leaves it alone for lack of them leaves nothing out."""
    tables = [name for name, table in views.NEEDED.items() if table == needed]
    fill(store, 1)
    with bench.run("served", store=store) as recorder:
        recorder.case("llama", suite="serving").timing(5)
        recorder.case("mlp").outcome("failed")
    with bench.run("doctor", store=store, source="doctor") as recorder:
        recorder.case("machine").metric("noise_floor", 0.01)
    load(store)
    with duckdb.connect(str(store.database)) as connection:
        before = [connection.execute(f"SELECT count(*) FROM {name}").fetchone() for name in tables]
        runs = [run for (run,) in connection.execute("SELECT run_id FROM runs").fetchall()]
        connection.execute(f"DELETE FROM {needed}")
        monkeypatch.setattr(views, "empty_tables", lambda connection: set())
        views.compute_derived(connection, runs)
        after = [connection.execute(f"SELECT count(*) FROM {name}").fetchone() for name in tables]

    assert (0,) not in before
    assert set(after) == {(0,)}


@pytest.mark.exhaustive
def test_few_rows_are_derived_alike_without_the_optimizer(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each statement as it stands gives the same rows; all that is executed afterwards is optimized again."""
    fill(store, 1)
    load(store)
    found = []
    with duckdb.connect(str(store.database)) as connection:
        runs = [run for (run,) in connection.execute("SELECT run_id FROM runs").fetchall()]
        for few in (0, 1 << 30):
            monkeypatch.setattr(views, "FEW_ROWS", few)
            views.compute_derived(connection, runs)
            rows = {name: connection.execute(f"FROM {name}").fetchall() for name in sql.tables()}
            found.append({name: sorted(map(repr, each)) for name, each in rows.items()})
            assert "FILTER" not in connection.execute("EXPLAIN SELECT 1 WHERE false").fetchall()[0][1].upper()

    assert found[0] == found[1] and found[0]["case_summaries"]


@pytest.mark.exhaustive
def test_questions_to_few_rows_are_answered_alike_without_the_optimizer(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a small warehouse bench plans its own queries as they stand, and the optimizer drops a filter for all others."""
    fill(store, 1)
    asked = """
        FROM comparisons(
            (SELECT list(run_id ORDER BY run_id) FROM runs WHERE config = 'config 0'),
            (SELECT list(run_id ORDER BY run_id) FROM runs WHERE config = 'config 1')
        )
    """
    found, plans = [], []
    for few in (0, 1 << 30):
        monkeypatch.setattr(views, "FEW_ROWS", few)
        with Warehouse.open(store).plan_briefly() as warehouse:
            found.append(sorted(map(repr, warehouse.rows(asked))))
            plans.append("FILTER" in warehouse.rows("EXPLAIN SELECT 1 WHERE false")[0][1].upper())

    assert found[0] == found[1] and found[0]
    assert plans == [False, True]


@exhaustive
def test_every_answer_is_the_same_however_the_warehouse_came_about(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once or in increments of any order, on one thread or two, rebuilt or compacted: the same rows."""
    fill(store, 1)
    files = EventLog(store).files()
    connect, threads = duckdb.connect, 1
    monkeypatch.setattr(duckdb, "connect", lambda config=None: connect(config={**(config or {}), "threads": threads}))
    wanted = answers(store)
    assert all(wanted[table] for table in ("cells", "timings", "schedule_chunks", "rejects", "outcomes"))

    threads = 2
    rebuild(store)
    assert_same(wanted, answers(store))
    for order in range(2):
        chance, other = random.Random(order), Store.find(tmp_path / f"other {order}").create()
        chance.shuffle(files)
        for begin in range(0, len(files), 9):
            for file in files[begin : begin + 9]:
                folder = other.events / file.table
                folder.mkdir(exist_ok=True)
                shutil.copy(file.path, folder)
            load(other)
        assert_same(wanted, answers(other))
    compact(store, below_bytes=ANY_SIZE, target_bytes=ANY_SIZE)
    assert len(EventLog(store).files()) < len(files)
    assert_same(wanted, answers(store))
    rebuild(store)
    assert_same(wanted, answers(store))
    assert verify(store).problems == {}


@exhaustive
def test_compacting_again_and_again_keeps_every_answer(store: Store) -> None:
    """Merged files are merged with new ones."""
    for seed in (1, 2):
        fill(store, seed, runs=1)
        wanted = answers(store)
        compact(store, below_bytes=ANY_SIZE, target_bytes=ANY_SIZE)
        assert_same(wanted, answers(store))
        assert verify(store).problems == {}
    months = [(file.table, file.stem[: len("merged-2026-11")]) for file in EventLog(store).files()]
    assert len(months) == len(set(months))


@exhaustive
def test_whoever_opens_the_store_seals_what_was_left(store: Store) -> None:
    """A run that leaves its journal to others, or was killed, is there at once, also where the log has nothing new."""
    for seal in (True, False):
        bench.run(store=store).close(seal=seal)

        assert stored("SELECT count(*) FROM runs", store) == [(2 - seal,)]


@pytest.mark.exhaustive
def test_a_reader_keeps_the_version_it_opened(store: Store) -> None:
    """Snapshots of several versions live side by side in one process."""
    record(store, "a", 1)
    with Warehouse.open(store) as old:
        record(store, "a", 2)
        with Warehouse.open(store) as new, Warehouse.open(store) as again:
            record(store, "a", 3)
            load(store)
            count = "SELECT count(*) FROM timings"
            assert [w.rows(count) for w in (old, new, again)] == [[(1,)], [(2,)], [(2,)]]
    assert durations(store) == [1, 2, 3]


def test_a_reader_cannot_write(store: Store) -> None:
    """The snapshot is read-only."""
    record(store, "a", 1)
    with Warehouse.open(store) as warehouse, pytest.raises(duckdb.Error, match="read-only"):
        warehouse.rows("DELETE FROM timings")


@exhaustive
def test_readers_and_many_loaders_never_meet_a_lock(store: Store) -> None:
    """Eight commands that load at once, and readers meanwhile: nobody sees an error, every run is there at the end."""
    record(store, "first", 0)
    load(store)
    command = [sys.executable, "-m", "bench", "recover", "--store", str(store.root)]
    processes = []
    for number in range(8):
        record(store, "more", number + 1)
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    seen = [0]
    while any(process.poll() is None for process in processes):
        seen.append(len(durations(store)))
    said = [(process.communicate()[0], process.returncode) for process in processes]

    assert [code for _, code in said] == [0] * 8
    assert not [text for text, _ in said if "rror" in text or "Conflicting" in text]
    assert seen == sorted(seen)
    assert durations(store) == list(range(9))


@exhaustive
def test_a_reader_does_not_wait_for_a_loader(store: Store) -> None:
    """While somebody loads, readers get the version there is."""
    record(store, "a", 1)
    load(store)
    record(store, "a", 2)
    with store.lock():
        assert durations(store) == [1]
    assert durations(store) == [1, 2]


def damaged(store: Store, table: str, how: str) -> Path:
    path = next((store.events / table).iterdir())
    data = bytearray(path.read_bytes())
    if how == "flipped":
        data[4 + len(data) // 8] ^= 0xFF
    else:
        del data[len(data) // 8 :]
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("how", first_of(1, ["flipped", "truncated"]))
def test_a_damaged_file_is_left_out_and_named(how: str, store: Store) -> None:
    """The rest of the log is loaded; verify and each load say which file to restore."""
    record(store, "a", *range(500))
    path = damaged(store, "timings", how)
    record(store, "b", 1000)
    loaded = load(store)
    checked = verify(store)

    assert set(checked.problems) == {path.name}
    assert "Restore it from a copy" in checked.problems[path.name]
    assert 1000 in durations(store)
    if how == "truncated":
        assert "damaged" in loaded.left_out[path.name]
        assert load(store).left_out.keys() == {path.name}


def test_other_engines_read_a_file_for_its_checksum_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second question reads nothing again; a file that changed in between is read, and left out."""
    record(store, "a", *range(500))
    readable_files(store)  # seals the journal
    read, sha256 = list[Path](), log.sha256

    def counted(path: Path) -> str:
        read.append(path)
        return sha256(path)

    monkeypatch.setattr(log, "sha256", counted)

    assert [readable_files(store)[1], read] == [{}, []]
    path = next((store.events / "timings").iterdir())
    data = bytearray(path.read_bytes())
    data[5] ^= 0xFF  # of its first page
    path.write_bytes(data)
    assert readable_files(store)[1].keys() == {path.name}
    assert read == [path]


def test_a_newer_file_is_refused_with_the_cure_and_the_rest_loaded(store: Store) -> None:
    """Its table and version are said; updating bench is what helps."""
    record(store, "a", 1)
    path = EventLog(store).write(Timing, [], "newer", **{"bench.version": "7"})
    unsaid = EventLog(store).write(Timing, [], "foreign", **{"bench.version": "?"})

    assert load(store).left_out == {
        path.name: "was written as timings v7; this bench reads up to v1. Update bench to ingest it.",
        unsaid.name: "was not written by bench: it says no version.",
    }
    assert durations(store) == [1]


@pytest.mark.exhaustive
@pytest.mark.parametrize("wrong", first_of(1, ["missing", "of another type"]))
def test_a_file_with_a_wrong_column_is_left_out_and_the_rest_loaded(wrong: str, store: Store) -> None:
    """It is whole, and says the right version; every command ended in an internal error."""
    import pyarrow as pa
    from bench.warehouse.schema import arrow_schema

    rows = log.table_of(Timing, [Timing(run_id="r", case_id="c", duration_ns=1)]).drop(["duration_ns"])
    if wrong != "missing":
        rows = rows.append_column("duration_ns", pa.array(["long"]))
    path = EventLog(store.create())._write(
        "timings", rows.replace_schema_metadata(arrow_schema(Timing).metadata), "odd"
    )
    record(store, "a", 2)
    loaded, again = load(store), load(store)

    assert [*loaded.left_out] == [*again.left_out] == [path.name]
    assert loaded.left_out[path.name].startswith("does not have the columns of timings (")
    assert (durations(store), loaded.rows["timings"], again.rows) == ([2], 1, {})
    assert verify(store).problems.keys() == {path.name}


@exhaustive
def test_unknown_columns_are_kept_out_and_counted(store: Store) -> None:
    """A column of a newer bench does no harm."""
    import pyarrow as pa
    from bench.warehouse.schema import arrow_schema

    rows = log.table_of(Timing, [Timing(run_id="r", case_id="c", duration_ns=1)])
    table = rows.append_column("novelty", pa.array([5])).replace_schema_metadata(arrow_schema(Timing).metadata)
    EventLog(store.create())._write("timings", table, "newer")
    record(store, "a", 2)
    loaded = load(store)

    assert (loaded.unknown_columns, loaded.left_out) == ({"timings.novelty": 1}, {})
    assert durations(store) == [1, 2]


@exhaustive
@pytest.mark.parametrize("wrong", first_of(1, ["missing", "rows", "sources"]))
def test_verify_finds_what_is_wrong(wrong: str, store: Store) -> None:
    """A file that is gone, a row too few, a source that does not add up: named, with the cure."""
    fill(store, 1, runs=1)
    load(store)
    assert verify(store).problems == {}
    if wrong == "missing":
        path = next((store.events / "timings").iterdir())
        path.unlink()
        assert "gone from the log" in verify(store).problems[path.name]
        return
    with duckdb.connect(str(store.database)) as connection:
        if wrong == "rows":
            connection.execute("DELETE FROM timings WHERE block = 0")
        else:
            connection.execute("UPDATE sources SET loaded = loaded - 1")
    (problem,) = verify(store).problems.values()
    assert "bench store rebuild" in problem
    rebuild(store)
    assert verify(store).problems == {}


@exhaustive
def test_a_run_whose_parts_come_from_several_files_is_one_row_to_verify(store: Store) -> None:
    """One file said its version, and another its machine: `verify` counted two rows for good, and the cure changed nothing."""
    log = EventLog(store)
    log.write(RunRecord, [run(bench_version="1"), run(environment_id="e")], "together")
    log.write(RunRecord, [run(host="h"), run("other")], "apart")
    load(store)

    assert stored("SELECT count(*) FROM runs", store) == [(2,)]
    assert verify(store).problems == {}


@pytest.mark.exhaustive
def test_a_merged_file_that_is_damaged_replaces_nothing(store: Store) -> None:
    """The small files stay, and their events, until what stands for them is whole."""
    for number in range(3):
        record(store, "a", number)
    load(store)
    log = EventLog(store)
    merge(store, {file.name: None for file in log.files()}, below_bytes=ANY_SIZE, target_bytes=ANY_SIZE)
    merged = next(file for file in log.files() if file.table == "timings" and file.stem.startswith("merged-"))
    data = bytearray(merged.path.read_bytes())
    data[6] ^= 0xFF
    merged.path.write_bytes(data)

    assert load(store).left_out.keys() == {merged.name}
    rebuild(store)
    assert durations(store) == [0, 1, 2]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 32 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    if (
        mount is None
        or subprocess.run([mount, "-t", "tmpfs", "-o", "size=32m", "tmpfs", folder], capture_output=True).returncode
    ):
        pytest.skip("mounting a small file system needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def _fill_disk(ballast: Path) -> None:
    """Page by page: what is left of a larger piece has room for a small file."""
    with ballast.open("ab", buffering=0) as file, pytest.raises(OSError):
        while True:
            file.write(bytes(mmap.PAGESIZE))


@pytest.mark.exhaustive
def test_a_disk_that_is_really_full(small_disk: Path) -> None:
    """Recording says so and goes on saying so; with room again everything that was acknowledged is there."""
    store = Store.find(small_disk / "store")
    record(store, "a", 1)
    load(store)
    recorder = bench.run("b", store=store)
    case = recorder.case("c")
    ballast = small_disk / "ballast"
    _fill_disk(ballast)
    count = 0
    with pytest.raises(BenchError, match="No space left on device"):
        for count in range(100_000):
            case.timing(count)
    with pytest.raises(BenchError, match="No space left on device"):
        case.timing(count)
    with pytest.raises(BenchError, match="No space left on device"):
        bench.run("c", store=store)
    with pytest.raises(BenchError, match="No space left on device"):
        recorder.close()
    with pytest.raises(BenchError, match="No space left on device"):
        load(store)
    with snapshot.connect(store.database) as old:
        assert old.execute("SELECT duration_ns FROM timings").fetchall() == [(1,)]
    ballast.unlink()
    load(store)

    assert durations(store) == sorted([1, *range(count)])
    assert count > 1000


@exhaustive
def test_a_disk_that_fills_up_while_publishing_keeps_the_old_version(small_disk: Path) -> None:
    """The error says so, nothing is left behind, and the next load with room is right."""
    store = Store.find(small_disk / "store")
    record(store, "a", 1)
    load(store)
    record(store, "a", 2)
    ballast = small_disk / "ballast"
    free = shutil.disk_usage(small_disk).free
    for room in (free, free // 2, 1 << 16, 0):
        ballast.write_bytes(bytes(max(0, free - room)))
        if room <= 1 << 16:
            with pytest.raises(BenchError, match="free some space, then load it with: bench ingest"):
                rebuild(store)
            with snapshot.connect(store.database) as old:
                assert old.execute("SELECT count(*) FROM timings").fetchall()[0][0] >= 1
            assert not list(store.root.glob(".warehouse*"))
        else:
            rebuild(store)
        ballast.unlink()

    assert durations(store) == [1, 2]


@exhaustive
def test_rows_of_lists_lie_in_short_row_groups(store: Store) -> None:
    """Each thread that loads holds a row group in memory: one of steps is as short as in the log, and none is lost."""
    import pyarrow as pa

    count = 2 * ROWS_IN_GROUP + 1
    steps = {
        "run_id": pa.repeat("r", count),
        "line": pa.array(range(count)),
        "chunk_sizes": pa.repeat(pa.scalar([1]), count),
    }
    with EventLog(store).batch("x") as batch:
        batch.add_table(ScheduleChunk, pa.table(steps))
        batch.add(source(run="r"))
    load(store)

    with Warehouse.open(store) as warehouse:
        groups = "SELECT max(start + count) FROM pragma_storage_info('schedule_chunks') WHERE column_name = 'line'"
        assert warehouse.rows(groups) == [(ROWS_IN_GROUP,)]
        assert warehouse.rows("SELECT count(*), sum(line) FROM schedule_chunks") == [(count, sum(range(count)))]


@exhaustive
@pytest.mark.parametrize("passes", [snapshot.DEAR_PASSES, ("unused_columns", "of_another_version")])
def test_a_reader_plans_without_the_dear_passes_that_its_duckdb_has(
    passes: tuple[str, ...], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "DEAR_PASSES", passes)
    record(store, "main", 1)

    with Warehouse.open(store) as warehouse:
        known = {name for (name,) in warehouse.rows("SELECT name FROM duckdb_optimizers()")}
        ((left_out,),) = warehouse.rows("SELECT current_setting('disabled_optimizers')")

    assert set(filter(None, left_out.split(","))) == known.intersection(passes)


def test_what_is_got_ready_meanwhile_is_there_after_it() -> None:
    """A block and a thread beside it; whoever needs what the thread could not get meets the error again."""
    got: list[str] = []
    with snapshot.meanwhile(lambda: got.append("ready")):
        pass
    with snapshot.meanwhile(lambda: got.append(str(1 // 0))):
        got.append("block")

    assert got == ["ready", "block"]
