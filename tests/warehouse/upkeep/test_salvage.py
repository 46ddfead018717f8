"""A damaged event file loses its row group and no more; every command that reads the store says so, until the file is whole."""

import contextlib
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import bench
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bench.cli import cli
from bench.warehouse import log, schema
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError
from bench.warehouse.events import Timing
from bench.warehouse.load import rebuild
from bench.warehouse.log import EventLog, LogFile
from bench.warehouse.store import Store
from bench.warehouse.upkeep import healing
from bench.warehouse.upkeep.row_groups import HEAD, MAGIC
from bench.warehouse.upkeep.salvage import salvage
from bench.warehouse.upkeep.verify import verify
from click.testing import CliRunner

from ...exhaustive import exhaustive, first_of, sampled
from ...ingest.records import lines, step

pytestmark = pytest.mark.usefixtures("nothing_derived")

ROWS = 2000


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A run of 2,000 timings, in row groups of 500, sealed and not loaded yet."""
    monkeypatch.setattr(schema, "ROWS_IN_GROUP", 500)
    store = Store(tmp_path / "store").create()
    with bench.run("x", store=store) as run:
        case = run.case("c")
        for sample in range(ROWS):
            case.timing(1000 + 7919 * sample % 5000)
    healing._noted.clear()
    return store


def timings(store: Store) -> Path:
    (path,) = (store.events / "timings").iterdir()
    return path


def flip(path: Path, at: int, bit: int = 3) -> bytes:
    """Flip a bit; returns what was there."""
    data = path.read_bytes()
    path.write_bytes(data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :])
    return data


@exhaustive
@pytest.mark.usefixtures("derived")
def test_a_damaged_page_loses_its_row_group(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    """Five hundred of 2,000 events are lost; each command says so; a copy of the file put back brings them all."""
    path = timings(store)
    column = pq.read_metadata(path).row_group(2).column(5)  # which has one page, and no dictionary
    whole = flip(path, column.data_page_offset + column.total_compressed_size - 5)

    for _ in range(2):  # the load, and a later command, which loads nothing
        healing._noted.clear()
        capfd.readouterr()
        with Warehouse.open(store) as warehouse:
            assert warehouse.rows("SELECT count(*), count(DISTINCT sample) FROM timings") == [(1500, 1500)]
        assert f"{path.name} is damaged: 500 of its 2,000 rows, in 1 row group, are lost" in capfd.readouterr().err
    assert list(verify(store).problems) == [path.name]
    rebuild(store)
    path.write_bytes(whole)
    healing._noted.clear()
    with Warehouse.open(store) as warehouse:
        assert warehouse.rows("SELECT count(*) FROM timings") == [(ROWS,)]
    assert "damaged" not in capfd.readouterr().err
    assert verify(store).problems == {}


@exhaustive
def test_damage_after_the_load_is_told_by_every_command(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    """The warehouse still has every event; the answer says which file is not what it was, until it is."""
    path = timings(store)

    def answer() -> tuple[int, str]:
        healing._noted.clear()
        capfd.readouterr()
        with Warehouse.open(store) as warehouse:
            ((rows,),) = warehouse.rows("SELECT count(*) FROM timings")
        return rows, capfd.readouterr().err

    assert answer() == (ROWS, "")
    whole = flip(path, 400)
    damaged = f"note: {path.name} was damaged after it was loaded: all of its events are still in the answers"
    for _ in range(2):  # the load that finds it, and a later command, which loads nothing
        rows, told = answer()
        assert (rows, told[: len(damaged)]) == (ROWS, damaged)
    path.write_bytes(whole)
    assert answer() == (ROWS, "")
    os.utime(path, (1, 1))  # written to, and what it was: read once, and noted as it is
    assert answer() == (ROWS, "")
    assert EventLog(store).files()[-1].modified_ns == 10**9
    with Warehouse.open(store) as warehouse:
        assert warehouse.rows("SELECT count(*) FROM _files WHERE modified_ns = 1000000000") == [(1,)]


def test_a_loaded_file_that_is_gone_is_told_by_every_command(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    """Only `verify` told; a rebuild, which any damage of the warehouse starts, then lost its events in silence."""
    Warehouse.open(store).close()
    path = timings(store)
    kept = path.rename(path.with_suffix(".kept"))
    for _ in range(2):
        healing._noted.clear()
        capfd.readouterr()
        with Warehouse.open(store) as warehouse:
            assert warehouse.rows("SELECT count(*) FROM timings") == [(ROWS,)]
        assert capfd.readouterr().err.startswith(f"note: {path.name} is gone from the log after it was loaded")
    kept.rename(path)
    healing._noted.clear()
    Warehouse.open(store).close()
    assert capfd.readouterr().err == ""


@pytest.mark.usefixtures("derived")
@pytest.mark.parametrize("loaded_before", sampled([True, False], False))
def test_verify_tells_a_damaged_file_once(store: Store, loaded_before: bool) -> None:
    """As its answer, with exit code 1; the note of other commands would say it again."""
    if loaded_before:
        Warehouse.open(store).close()
    path = timings(store)
    flip(path, 400)
    for _ in range(2):
        healing._noted.clear()
        done = CliRunner().invoke(cli, ["store", "verify", "--store", str(store.root)])
        assert done.exit_code == 1
        assert [path.name in line for line in done.output.splitlines()].count(True) == 1, done.output


@pytest.mark.usefixtures("derived")
@pytest.mark.parametrize(
    ("loaded_before", "words"),
    first_of(1, [
        (True, ["recover"]), (True, ["compact"]), (False, ["archive", "archive-of-it", "--before", "2000-01-01"]),
        (True, ["archive", "archive-of-it", "--before", "2000-01-01"]), (False, ["recover"]), (False, ["compact"]),
    ]),
)  # fmt: skip
def test_what_keeps_a_store_tells_a_damaged_file_each_time(
    words: list[str], loaded_before: bool, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, with exit code 1; a load that found nothing new said nothing, and archiving went on."""
    monkeypatch.chdir(tmp_path)
    if loaded_before:
        Warehouse.open(store).close()
    path = timings(store)
    flip(path, 400)
    for _ in range(3):
        healing._noted.clear()
        done = CliRunner().invoke(cli, ["store", *words, "--store", str(store.root)])
        told = done.output + (str(done.exception) if isinstance(done.exception, BenchError) else "")
        assert (done.exit_code, told.count(path.name)) == (1, 1), told


@exhaustive
@pytest.mark.usefixtures("derived")
def test_the_exit_code_of_ingest_is_about_what_it_was_given(store: Store, tmp_path: Path) -> None:
    """A damaged file of the store is a note there, once, with a new file and without any; `verify` fails on it."""
    Warehouse.open(store).close()
    path = timings(store)
    flip(path, 400)
    (tmp_path / "p_1.jsonl").write_text(lines(step(1)))
    for paths in ([str(tmp_path / "p_1.jsonl")], []):
        healing._noted.clear()
        done = CliRunner().invoke(cli, ["ingest", *paths, "--store", str(store.root)])
        assert (done.exit_code, "nothing new" in done.stderr) == (0, not paths)
        assert done.stderr.count(f"note: {path.name} was damaged after it was loaded") == 1


@exhaustive
def test_a_partly_loaded_file_that_is_removed_takes_its_rows_along(store: Store) -> None:
    """The rest of a damaged file stays loaded until somebody gives the file up."""
    path = timings(store)
    column = pq.read_metadata(path).row_group(2).column(5)
    flip(path, column.data_page_offset + column.total_compressed_size - 5)
    for expected in (1500, 0):
        with Warehouse.open(store) as warehouse:
            assert warehouse.rows("SELECT count(*) FROM timings") == [(expected,)]
        path.unlink(missing_ok=True)


@pytest.mark.parametrize("said", [b'["a\xe3("]', b'["a', b"5", b"[5]"])
def test_damaged_names_of_merged_files_are_none(said: bytes, tmp_path: Path) -> None:
    """A load goes on, and the checksum tells the damage: bytes that are no UTF-8 were an internal error."""
    pq.write_table(pa.table({"x": [1]}, metadata={b"bench.replaces": said, b"bench.splits": said}), tmp_path / "m")

    assert (log.replaced(tmp_path / "m"), log.splits(tmp_path / "m")) == ([], [])


def copied(store: Store) -> Path:
    """Three times these timings in a file that DuckDB wrote, as bulk imports are."""
    (source,) = (store.events / "timings").iterdir()
    with EventLog(store).batch("bulk") as batch, contextlib.closing(duckdb.connect()) as connection:
        batch.copy(
            connection,
            Timing,
            f"SELECT * REPLACE (sample + {ROWS} * i AS sample) FROM '{source}', range(3) AS r(i) ORDER BY sample",
        )
    (path,) = (store.events / "timings").glob("import-*")
    return path


def rows_of(path: Path) -> list[tuple[object, ...]]:
    """All rows of a file."""
    return [tuple(row.values()) for row in pq.read_table(path).to_pylist()]


@pytest.mark.parametrize("file_of", first_of(1, [timings, copied]))
def test_no_flipped_bit_changes_a_value_or_costs_more_than_its_group(
    file_of: Callable[[Store], Path], store: Store, tmp_path: Path
) -> None:
    """At 60 places of the file, its footer too: what is read is as it was written, and at most a row group is not read."""
    path = file_of(store)
    file = LogFile("timings", path.name, path, path.stat().st_size)
    expected, about = rows_of(path), pq.read_metadata(path)
    groups = {about.row_group(number).num_rows for number in range(about.num_row_groups)}
    assert about.num_row_groups > 2
    draw, size, lost = random.Random(4), path.stat().st_size, Counter[int]()
    for _ in range(60):
        whole = flip(path, draw.randrange(size), draw.randrange(8))
        found = salvage(file, tmp_path / "rest")
        rows = rows_of(found[0].path) if found else []
        path.write_bytes(whole)
        there = set(rows)
        assert [row for row in expected if row in there] == rows
        lost[len(expected) - len(rows)] += 1
    assert set(lost) == {0} | groups and lost[0] > 5, lost


def test_damage_of_the_mark_costs_nothing(store: Store, tmp_path: Path) -> None:
    """A flipped bit in any byte of what tells where the checksums begin."""
    path = timings(store)
    file, expected = LogFile("timings", path.name, path, path.stat().st_size), rows_of(path)
    mark = path.read_bytes().rindex(MAGIC)
    for place in range(mark, mark + HEAD.size):
        whole = flip(path, place)
        found = salvage(file, tmp_path / "rest")
        path.write_bytes(whole)
        assert found is not None and rows_of(found[0].path) == expected
        assert "no row is lost" in found[1]


def test_a_file_without_checksums_is_left_out_whole(
    store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An earlier bench wrote it; a flipped bit may decode to another value there, which no error tells."""
    monkeypatch.setattr(log, "protect", lambda path: None)
    path = copied(store)
    flip(path, pq.read_metadata(path).row_group(1).column(0).data_page_offset + 40)

    assert salvage(LogFile("timings", path.name, path, path.stat().st_size), tmp_path) is None
