"""SIGKILL at any instant: no event whose call returned is lost, no file is half in, nothing counts twice.

BENCH_KILLS=200 kills that often; a run of the suite does with fewer.
"""

import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bench
import pytest
from bench.warehouse import load as loading
from bench.warehouse import snapshot
from bench.warehouse.database import Warehouse
from bench.warehouse.load import load
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store
from bench.warehouse.upkeep.compaction import compact, merge

from ..builders import stored
from ..exhaustive import exhaustive, sampled

KILLS = int(os.environ.get("BENCH_KILLS", "8"))
THREADS = 2
ROWS = 40  # of one run or import of the loading process

# Each thread emits the numbers from 0, and says in shared memory how many calls have returned.
WRITER = f"""
import mmap, sys, threading
import bench
from bench.warehouse import recorder
store, counters, recorder.ROTATE_BYTES = sys.argv[1], sys.argv[2], int(sys.argv[3])
file = open(counters, "r+b")
shared = memoryview(mmap.mmap(file.fileno(), 0)).cast("q")
run = bench.run("crash", store=store)
def work(thread):
    case = run.case(f"case {{thread}}")
    for number in range(1 << 40):
        if number % 3 == 0:
            run.schedule_chunk([thread, number, *range(number % 23)], schedule_ms=number / 7)
        elif number % 3 == 1:
            case.timing(number, phase=f"phase {{number % 11}}")
        elif number % 100 == 2:
            case.outcome("failed", message=f"{{number}} " * 2000, exit_code=number)
        else:
            case.metric(f"metric {{number}}", number)
        shared[thread] = number + 1
for thread in range({THREADS}):
    threading.Thread(target=work, args=(thread,)).start()
"""

# Records and imports one small thing after another, and loads after each.
LOADER = f"""
import sys
import bench
from bench.warehouse import load
from bench.warehouse.upkeep.compaction import compact
from bench.warehouse.events import RunRecord, ScheduleChunk, Source
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store
store, first = Store.find(sys.argv[1]), int(sys.argv[2])
for number in range(first, first + 1000):
    print(number, flush=True)
    with bench.run(f"config {{number}}", store=store) as run:
        case = run.case("c")
        for sample in range({ROWS}):
            case.timing(number)
    with store.lock():
        name = f"file {{number}}"
        with EventLog(store).batch(name) as batch:
            batch.add(RunRecord(run_id=name, config="imported", source="test"))
            for line in range({ROWS}):
                batch.add(ScheduleChunk(run_id=name, source_id=name, line=line + 1, chunk_sizes=[number]))
            batch.add(Source(source_id=name, run_id=name, config="imported", path=name, name=name, format="test",
                end_byte=1, sha256=name, head_sha256=name, lines={ROWS}, loaded={ROWS}))
        load.load_locked(store)
    if number % 5 == 4:
        compact(store, below_bytes=1 << 20, target_bytes=1 << 24)
"""


def python(script: str, *arguments: object, **options: Any) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", script, *map(str, arguments)], text=True, **options)


def kill(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    yield Store.find(tmp_path / "store")


def leftovers(store: Store) -> list[Path]:
    """What a killed process may leave, and the next load must clear."""
    return [path for path in store.root.rglob("*") if path.name.startswith(".") or path.suffix == ".journal"]


@pytest.mark.parametrize("seed", sampled(range(KILLS), *range(KILLS // 4)))
def test_no_event_whose_call_returned_is_lost(seed: int, store: Store, tmp_path: Path) -> None:
    """After SIGKILL each thread's events are there, whole, in order and without a gap, at least as many as it knew of."""
    chance = random.Random(seed)
    counters = tmp_path / "counters"
    counters.write_bytes(bytes(8 * THREADS))
    rotate = 1 << 26 if seed % 2 else 700_000
    process = python(WRITER, store.root, counters, rotate)
    with counters.open("r+b") as file, mmap.mmap(file.fileno(), 0) as shared:
        while not all(struct.unpack(f"<{THREADS}q", shared[:])):
            assert process.poll() is None
            time.sleep(0.001)
        time.sleep(chance.random() ** 2 * 0.15)
        kill(process)
        known = struct.unpack(f"<{THREADS}q", shared[:])

    load(store)
    query = """
        SELECT chunk_sizes[1] AS thread, chunk_sizes[2] AS number,
            chunk_sizes[3:] = range(number % 23) AND schedule_ms = number / 7 AND number % 3 = 0 AS sound
        FROM schedule_chunks
        UNION ALL
        SELECT name[6:]::BIGINT, duration_ns, phase = 'phase ' || duration_ns % 11 AND duration_ns % 3 = 1
        FROM timings JOIN cases USING (run_id, case_id)
        UNION ALL
        SELECT name[6:]::BIGINT, exit_code, message = repeat(exit_code || ' ', 2000) AND exit_code % 100 = 2
        FROM outcomes JOIN cases USING (run_id, case_id)
        UNION ALL
        SELECT name[6:]::BIGINT, value::BIGINT, metric = 'metric ' || value::BIGINT AND value % 3 = 2
        FROM metrics JOIN cases USING (run_id, case_id)
    """
    summary = "thread, count(*), count(DISTINCT number), max(number) + 1, bool_and(sound)"
    found = stored(f"SELECT {summary} FROM ({query}) GROUP BY 1 ORDER BY 1", store)
    assert found == [(thread, *[found[thread][1]] * 3, True) for thread in range(THREADS)]
    assert all(0 <= found[thread][1] - known[thread] <= 1 for thread in range(THREADS))
    assert leftovers(store) == []


def whole(rows: list[tuple[Any, ...]]) -> bool:
    """Each run has all of its rows, or it is the last, recording when it was killed."""
    return all(count == ROWS for _, count in rows)


@exhaustive
def test_a_killed_load_leaves_the_old_version_and_the_next_one_is_right(store: Store) -> None:
    """Recording, importing, loading and compacting, killed again and again: all or nothing of each, and nothing twice."""
    chance = random.Random(1)
    imports = "SELECT source_id, count(*) FROM schedule_chunks GROUP BY 1"
    runs = "SELECT config, count(*) FROM timings JOIN runs USING (run_id) GROUP BY 1"
    lasting: set[str] = set()
    for attempt in range(max(4, KILLS // 4)):
        process = python(LOADER, store.root, attempt * 1000, stdout=subprocess.PIPE)
        assert process.stdout is not None
        while int(process.stdout.readline()) % 1000 < 1 + attempt % 5:
            pass
        time.sleep(chance.random() * 0.3)
        kill(process)
        process.stdout.close()
        with snapshot.connect(store.database) as connection:
            assert whole(connection.execute(imports).fetchall())
            before = {name for (name,) in connection.execute("SELECT source_id FROM sources").fetchall()}

        load(store)
        with Warehouse.open(store) as warehouse:
            assert whole(warehouse.rows(imports))
            assert all(count == ROWS or number == most for (number, count), most in _with_last(warehouse.rows(runs)))
            sources = {name for (name,) in warehouse.rows("SELECT source_id FROM sources")}
            assert lasting | before <= sources == {name for name, _ in warehouse.rows(imports)}
            lasting = sources
        assert leftovers(store) == []
    assert len(lasting) > 4


def _with_last(rows: list[tuple[str, int]]) -> list[tuple[tuple[int, int], int]]:
    """(number, rows) of each run, beside the number of the last of its process."""
    counts = [(int(config.split()[1]), count) for config, count in rows]
    last = {number // 1000: max(n for n, _ in counts if n // 1000 == number // 1000) for number, _ in counts}
    return [((number, count), last[number // 1000]) for number, count in counts]


def recorded(store: Store, *samples: int) -> None:
    with bench.run("a", store=store) as run:
        case = run.case("c")
        for sample in samples:
            case.timing(sample)


def durations(store: Store) -> list[int]:
    load(store)
    return [duration for (duration,) in stored("SELECT duration_ns FROM timings ORDER BY 1", store)]


class Killed(BaseException):
    """Stands for SIGKILL at a line of our choice."""


def test_killed_between_sealing_and_removing_the_journal_repeats_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal is sealed again, and every table that was there under its name stays as it is."""
    unlink = Path.unlink

    def killed(path: Path, missing_ok: bool = False) -> None:
        if path.suffix == ".journal":
            raise Killed
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", killed)
    with pytest.raises(Killed):
        recorded(store, 1, 2, 3)
    monkeypatch.undo()
    files = EventLog(store).files()
    files[0].path.unlink()  # as if killed between two tables

    assert durations(store) == [1, 2, 3]
    assert [file.name for file in EventLog(store).files()] == [file.name for file in files]
    assert leftovers(store) == []


def test_what_a_killed_load_spilled_goes_with_the_next(store: Store) -> None:
    """It may be as large as the store."""
    recorded(store, 1)
    (store.root / ".spill").mkdir()
    (store.root / ".spill" / "duckdb_temp_storage_DEFAULT-0.tmp").touch()

    assert durations(store) == [1]
    assert leftovers(store) == []


@exhaustive
def test_what_a_journal_not_removed_yet_was_sealed_to_is_not_compacted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else sealing it again would find its files gone, and repeat them."""
    recorded(store, 1)
    recorded(store, 2)
    sealed = next(file for file in EventLog(store).files() if file.table == "timings")
    load(store)
    (store.journals / f"{sealed.stem}.journal").touch()
    known = {file.name for file in EventLog(store).files()}
    merge(store, dict.fromkeys(known), below_bytes=1 << 20, target_bytes=1 << 20)

    assert sealed.path.exists()
    assert {file.name for file in EventLog(store).files() if file.table == "timings"} < known


@pytest.mark.exhaustive
@pytest.mark.parametrize("step", ["merge published", "warehouse published"])
def test_killed_within_a_compaction_counts_nothing_twice(
    step: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Merged files and those they stand for lie side by side, and the next load takes each event once."""
    for sample in range(5):
        recorded(store, sample)
    load(store)

    def killed(*_: object, **__: object) -> None:
        raise Killed

    if step == "merge published":
        monkeypatch.setattr(loading, "_publish", killed)
    else:
        monkeypatch.setattr(Path, "unlink", _only_parquet(killed))
    with pytest.raises(Killed):
        compact(store, below_bytes=1 << 20, target_bytes=1 << 20)
    monkeypatch.undo()
    assert len([file for file in EventLog(store).files() if file.table == "timings"]) == 6

    assert durations(store) == [0, 1, 2, 3, 4]
    recorded(store, 5)
    assert durations(store) == [0, 1, 2, 3, 4, 5]
    store.database.unlink()
    assert durations(store) == [0, 1, 2, 3, 4, 5]
    assert len([file for file in EventLog(store).files() if file.table == "timings"]) == 2
    assert leftovers(store) == []


def _only_parquet(killed: Any) -> Any:
    unlink = Path.unlink
    return lambda path, missing_ok=False: killed() if path.suffix == ".parquet" else unlink(path, missing_ok)
