"""Compaction: few large files instead of many small ones, sorted and packed, and every answer as before."""

import random
import shutil
from pathlib import Path

import bench
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bench.warehouse.events import Environment, Instant, RunRecord, ScheduleChunk, Timing
from bench.warehouse.load import load, rebuild
from bench.warehouse.log import EventLog, LogFile, metadata, replaced
from bench.warehouse.schema import arrow_schema
from bench.warehouse.store import Store
from bench.warehouse.upkeep.compaction import compact, merge
from bench.warehouse.upkeep.verify import verify

from ..builders import run, stored
from ..exhaustive import exhaustive

MB = 1 << 20
OCTOBER, NOVEMBER = Instant(1_760_000_000_000_000), Instant(1_762_500_000_000_000)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.find(tmp_path / "store").create()


def timings(run_id: str, count: int, case_id: str = "c") -> list[Timing]:
    return [Timing(run_id=run_id, case_id=case_id, duration_ns=1000 + n % 7, sample=n) for n in range(count)]


def write(store: Store, run_id: str, count: int = 3, began: Instant = NOVEMBER) -> None:
    """The files of one run, as if sealed."""
    log = EventLog(store)
    log.write(RunRecord, [run(run_id, started_at=began)], run_id)
    log.write(Timing, timings(run_id, count), run_id)


def files(store: Store, table: str = "timings") -> list[LogFile]:
    return [file for file in EventLog(store).files() if file.table == table]


def samples(store: Store) -> list[tuple[str, int]]:
    return stored("SELECT run_id, count(*) FROM timings GROUP BY ALL ORDER BY ALL", store)


def test_rows_are_sorted_by_run_case_and_sample(store: Store) -> None:
    """Whatever order they came in, so that a reader of one run or case skips the rest; the file says so."""
    rows = [timing for run_id in "ba" for case in "yx" for timing in timings(run_id, 5, case)]
    random.Random(1).shuffle(rows)
    log = EventLog(store)
    names = [log.write(Timing, part, f"s{n}").name for n, part in enumerate((rows[:9], rows[9:]))]
    merge(store, dict.fromkeys(names), below_bytes=MB, target_bytes=MB)
    merged = next(file for file in files(store) if file.name not in names)

    found = pq.read_table(merged.path)
    assert found.to_pylist() == sorted(
        pa.concat_tables(pq.read_table(log.store.events / "timings" / name) for name in names).to_pylist(),
        key=lambda row: (row["run_id"], row["case_id"], row["sample"]),
    )
    assert found.schema.equals(arrow_schema(Timing))
    assert found.schema.field("duration_ns").metadata[b"unit"] == b"ns"
    assert metadata(merged.path)["bench.sorted_by"].startswith("run_id, case_id, source_id, metric")


def test_runs_of_a_month_share_files(store: Store) -> None:
    """A file's name says its month, so that what is old can be told without reading."""
    for number, began in enumerate((OCTOBER, NOVEMBER, OCTOBER, NOVEMBER)):
        write(store, f"run {number}", began=began)
    compact(store, below_bytes=MB, target_bytes=MB)

    found = {file.stem[:14]: set(pq.read_table(file.path)["run_id"].to_pylist()) for file in files(store)}
    assert found == {"merged-2025-10": {"run 0", "run 2"}, "merged-2025-11": {"run 1", "run 3"}}


@pytest.mark.exhaustive
def test_a_second_time_there_is_nothing_to_do(store: Store) -> None:
    """Also where what came out is small, and where one small file of a month is alone."""
    for number in range(3):
        write(store, f"run {number}", 5000)
    write(store, "alone", began=OCTOBER)
    compact(store, below_bytes=MB, target_bytes=30_000)
    once = EventLog(store).files()
    assert len(files(store)) == 2 and any(file.stem == "alone" for file in once)

    assert compact(store, below_bytes=MB, target_bytes=MB) == 0
    assert EventLog(store).files() == once
    write(store, "new")
    assert compact(store, below_bytes=MB, target_bytes=MB) == 4
    assert len(files(store)) == 2 and [count for _, count in samples(store)] == [3, 3, 5000, 5000, 5000]


@pytest.mark.exhaustive
def test_a_large_file_is_packed_if_it_was_not(store: Store) -> None:
    """Large pieces of an import or a seal take half the room afterwards, and are left alone from then on."""
    write(store, "large", 20_000)
    before = files(store)[0].size_bytes
    assert compact(store, below_bytes=1000, target_bytes=MB) == 2
    (packed,) = files(store)

    assert packed.size_bytes < before / 2
    assert compact(store, below_bytes=1000, target_bytes=MB) == 0
    assert verify(store).problems == {}


def test_timings_take_few_bytes(store: Store) -> None:
    """Durations of eight digits with noise of 3 %, instants and a counter: 7 bytes a sample, ids and all."""
    chance = random.Random(1)
    at, rows = 1_760_000_000_000_000, []
    for sample in range(20_000):
        duration = int(20_000_000 * chance.lognormvariate(0, 0.03))
        at += duration // 1000 + chance.randrange(50)
        rows.append(
            Timing(run_id="r", case_id="c", duration_ns=duration, sample=sample, recorded_at=Instant(at), loops=1)
        )
    path = EventLog(store).write(Timing, rows, "s")
    merge(store, {path.name: None}, below_bytes=1, target_bytes=MB)

    assert files(store)[0].stem.startswith("merged-")
    assert files(store)[0].size_bytes / len(rows) < 7


def test_columns_of_a_newer_bench_are_kept(store: Store) -> None:
    """And those that an older one did not write are NULL, as they were."""
    new = pa.table({"run_id": ["n"], "chunk_sizes": [[1, 2]], "invented": [7], "also": ["x"]})
    old = pa.table({"run_id": ["o"], "chunk_sizes": [[3]]})
    log = EventLog(store)
    names = [log._write("schedule_chunks", rows, f"s{n}").name for n, rows in enumerate((new, old))]
    merge(store, dict.fromkeys(names), below_bytes=MB, target_bytes=MB)
    merged = next(file for file in files(store, "schedule_chunks") if file.name not in names)

    found = pq.read_table(merged.path)
    assert set(found.column_names) == {f.name for f in ScheduleChunk.fields()} | {"invented", "also"}
    rows = found.select(["run_id", "chunk_sizes", "invented", "also", "line"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [("n", [1, 2], 7, "x", None), ("o", [3], None, None, None)]


def test_a_machine_that_described_itself_often_is_kept_once(store: Store) -> None:
    """Its rows are alike, since its id is their hash."""
    log = EventLog(store)
    names = [log.write(Environment, [Environment(environment_id="e", cpu="x")], f"s{n}").name for n in range(3)]
    merge(store, dict.fromkeys(names), below_bytes=MB, target_bytes=MB)
    load(store)

    (merged,) = files(store, "environments")
    assert pq.read_metadata(merged.path).num_rows == 1
    assert verify(store).problems == {}


@exhaustive
@pytest.mark.parametrize("had", [0, 1, 2, 3])
def test_a_store_that_has_what_was_merged_twice_takes_it_once(had: int, store: Store, tmp_path: Path) -> None:
    """A merged file names all that it stands for: another store may have any of those, but not what came between."""
    other = Store.find(tmp_path / "other").create()
    copied: list[LogFile] = []
    for number in range(3):
        write(store, f"run {number}")
        if number == had - 1:
            copied = EventLog(store).files()
        for file in copied:
            (other.events / file.table).mkdir(exist_ok=True)
            shutil.copy(file.path, other.events / file.table)
        copied = []
        if number:
            compact(store, below_bytes=MB, target_bytes=MB)
    wanted = [(f"run {number}", 3) for number in range(3)]
    if had:
        assert len(samples(other)) == had
    for file in EventLog(store).files():
        (other.events / file.table).mkdir(exist_ok=True)
        shutil.copy(file.path, other.events / file.table)

    assert (samples(store), samples(other)) == (wanted, wanted)
    rebuild(other)
    assert samples(other) == wanted
    assert verify(other).problems == {}


@pytest.mark.exhaustive
def test_what_is_recorded_meanwhile_is_left_for_the_next_time(store: Store) -> None:
    """A journal that is being written, and files that no load has seen, are no part of it."""
    with bench.run("a", store=store) as alive:
        alive.case("c").timing(1)
        write(store, "one")
        write(store, "two")
        compact(store, below_bytes=MB, target_bytes=MB)
        alive.case("c").timing(2)
    merged = [name for file in EventLog(store).files() for name in replaced(file.path)]

    assert len(merged) == 4
    assert stored("SELECT count(*) FROM timings", store) == [(8,)]


@pytest.mark.exhaustive
def test_any_reader_of_parquet_can_read_it(store: Store) -> None:
    """Only encodings of the first format and the differences that every reader knows are used."""
    write(store, "one", 100)
    write(store, "two", 100)
    compact(store, below_bytes=MB, target_bytes=MB)
    with duckdb.connect() as connection:
        used = connection.execute(
            "SELECT DISTINCT unnest(string_split(encodings, ', ')) FROM parquet_metadata(?)",
            [[str(file.path) for file in EventLog(store).files()]],
        ).fetchall()

    assert {name for (name,) in used} <= {"PLAIN", "RLE", "RLE_DICTIONARY", "PLAIN_DICTIONARY", "DELTA_BINARY_PACKED"}
