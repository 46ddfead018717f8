"""A damaged event file loses its row group and no more; every command that reads the store says so, until the file is whole."""

import random
from pathlib import Path

import bench
import pyarrow.parquet as pq
import pytest
from bench.warehouse import schema
from bench.warehouse.database import Warehouse
from bench.warehouse.load import load, rebuild
from bench.warehouse.log import LogFile, sha256
from bench.warehouse.store import Store
from bench.warehouse.upkeep import healing
from bench.warehouse.upkeep.salvage import salvage
from bench.warehouse.upkeep.verify import verify

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


def test_no_flipped_bit_changes_a_value(store: Store, tmp_path: Path) -> None:
    """At 150 places of the file: what is read is as it was written, or it is not read."""
    path = timings(store)
    file = LogFile("timings", path.name, path, path.stat().st_size)
    written = pq.read_table(path)
    groups = {
        tuple(written.slice(at, 500).to_pylist()[0].values()): written.slice(at, 500) for at in range(0, ROWS, 500)
    }
    draw, size, saved = random.Random(4), path.stat().st_size, 0
    for _ in range(150):
        whole = flip(path, draw.randrange(size), draw.randrange(8))
        if found := salvage(file, tmp_path / "rest"):
            rest, why = found
            table = pq.read_table(rest.path)
            assert "row group" in why and 0 < table.num_rows < ROWS and table.num_rows % 500 == 0
            for at in range(0, table.num_rows, 500):
                part = table.slice(at, 500)
                assert part.equals(groups[tuple(part.to_pylist()[0].values())])
            saved += 1
        path.write_bytes(whole)
    assert saved > 30
    assert sha256(path)[:16] == file.digest and salvage(file, tmp_path / "rest") is None


def test_a_file_without_checksums_is_left_out_whole(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flipped bit may decode to another value there, which no error tells."""
    monkeypatch.setattr(schema, "CHECKED_PAGES", {"bench.page_checksums": "none"})
    path = timings(store)
    flip(path, pq.read_metadata(path).row_group(2).column(0).data_page_offset + 40)

    assert load(store).left_out[path.name].startswith("is damaged. ")
