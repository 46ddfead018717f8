"""What is derived heals itself: a bad block anywhere in the warehouse costs a sentence, and no answer and no event."""

import random
from pathlib import Path

import bench
import duckdb
import pytest
from bench.cli import cli
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError
from bench.warehouse.load import load
from bench.warehouse.store import Store
from bench.warehouse.upkeep import healing
from bench.warehouse.upkeep.verify import verify
from click.testing import CliRunner

from ...exhaustive import exhaustive, first_of

SAID = "is derived, and is built anew from the event log"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two runs of some blocks, loaded."""
    store = Store(tmp_path / "store").create()
    record(store, 1)
    record(store, 2)
    load(store)
    return store


def record(store: Store, number: int) -> None:
    """A run of 2,000 timings."""
    with bench.run("x", store=store, run_id=f"01a21f48-0000-7000-8000-{number:012}") as run:
        for index in range(20):
            case = run.case(f"case {index}")
            for sample in range(100):
                case.timing(1000 + 37 * sample * number + index)


@pytest.fixture(autouse=True)
def _nothing_noted() -> None:
    healing._noted.clear()


def answers(store: Store) -> list[object]:
    """A question to every table and some views."""
    with Warehouse.open(store) as warehouse:
        tables = warehouse.rows("SELECT table_name FROM duckdb_tables() WHERE database_name = 'warehouse' ORDER BY 1")
        derived = [t for (t,) in tables if t != "_files"]
        sums: list[object] = [
            warehouse.rows(f'SELECT count(*), bit_xor(hash(t)) FROM "{table}" AS t') for table in derived
        ]
        return [*sums, warehouse.rows("FROM run_summaries ORDER BY ALL"), warehouse.rows("FROM timings ORDER BY ALL")]


def damage(store: Store, at: int) -> None:
    """Flip a bit, as of a file that nobody has open."""
    data = bytearray(store.database.read_bytes())
    data[at] ^= 0x10
    store.database.unlink()
    store.database.write_bytes(data)


@exhaustive
def test_a_bit_flipped_anywhere_costs_no_answer(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    """In the header, the catalogue, and tables: the answers are those of before, and one line says what was done."""
    expected, size = answers(store), store.database.stat().st_size
    draw, told = random.Random(1), 0
    for trial in range(3):
        healing._noted.clear()
        damage(store, 20 if trial == 0 else draw.randrange(size))
        assert answers(store) == expected
        said = [line for line in capfd.readouterr().err.splitlines() if line]
        assert len(said) <= 1 and all(SAID in line for line in said), said
        told += len(said)
    assert told > 1
    assert verify(store).problems == {}


def bad_table(store: Store, table: str) -> None:
    """Flip bits until a table cannot be read, and everything that opening reads can."""
    data = store.database.read_bytes()
    draw = random.Random(2)
    while True:
        damage(store, draw.randrange(3 * 262144, len(data)))
        connection = duckdb.connect()
        try:
            connection.execute(f"ATTACH '{store.database}' AS w (READ_ONLY)")
            connection.execute("SELECT * FROM w._files; SELECT * FROM w._meta").fetchall()
            connection.execute(f"SELECT bit_xor(hash(t)) FROM w.{table} AS t").fetchall()
        except duckdb.Error as error:
            if "Corrupt" in str(error) and "_files" not in str(error):
                try:
                    connection.execute("SELECT count(*) FROM w._meta").fetchall()
                    return
                except duckdb.Error:
                    pass
        finally:
            connection.close()
        store.database.write_bytes(data)


@pytest.mark.parametrize(
    "words",
    first_of(1, [
        ["verify"], ["compare", "01a21f48-0000-7000-8000-000000000001", "01a21f48-0000-7000-8000-000000000002"],
        ["sql", "SELECT count(*), sum(duration_ns) FROM timings"], ["runs"], ["cases"],
    ]),
)  # fmt: skip
def test_every_command_heals(store: Store, words: list[str]) -> None:
    """`bench verify` ended with 70, "a bug in bench", and so did `compare`; `sql` said "Corrupt database file"."""
    words = [*words, "--store", str(store.root)]
    expected = CliRunner().invoke(cli, words, catch_exceptions=False)
    bad_table(store, "timings")
    healing._noted.clear()
    result = CliRunner().invoke(cli, words, catch_exceptions=False)

    assert (result.exit_code, result.stdout) == (expected.exit_code, expected.stdout)
    assert words[0] not in ("verify", "sql") or result.stderr.count(SAID) == 1


@exhaustive
def test_a_load_into_a_damaged_warehouse_builds_it_anew(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    """New events join the old ones."""
    bad_table(store, "cells")
    record(store, 3)
    load(store)

    with Warehouse.open(store) as warehouse:
        assert warehouse.rows("SELECT count(*) FROM timings") == [(6000,)]
        warehouse.rows("SELECT bit_xor(hash(c)) FROM cells AS c")
    assert verify(store).problems == {}


@exhaustive
def test_temporary_tables_outlive_the_healing(store: Store) -> None:
    """A question of several statements goes on where it was."""
    bad_table(store, "timings")
    with Warehouse.open(store) as warehouse:
        warehouse.connection.execute("CREATE TEMP TABLE chosen AS SELECT run_id FROM runs")
        (statement,) = warehouse.connection.extract_statements(
            "SELECT count(*) FROM timings JOIN chosen USING (run_id)"
        )
        assert warehouse.connection.execute(statement).fetchall() == [(4000,)]


@exhaustive
def test_rows_that_were_given_are_not_given_twice(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a bad block comes late, an error says that the warehouse is whole again; the next question is answered."""
    late = duckdb.Error("Corrupt database file: computed checksum 1 does not match stored checksum 2")
    before = store.database.stat().st_ino
    with pytest.raises(healing.DamagedWarehouse, match=r"is whole again.*ask again") as error, Warehouse.open(store):
        raise late
    assert error.value.exit_code == 75
    assert store.database.stat().st_ino != before
    with Warehouse.open(store) as warehouse:
        assert warehouse.rows("SELECT count(*) FROM timings") == [(4000,)]


@exhaustive
def test_a_damaged_warehouse_that_may_not_be_written(
    store: Store,
) -> None:
    """Nobody can build it anew there: the question is answered from one of its own."""
    expected = answers(store)
    bad_table(store, "timings")
    healing._noted.clear()
    refusal = BenchError("cannot write")
    refusal.__cause__ = PermissionError(13, "Permission denied")

    def refuse(*_: object, **__: object) -> None:
        raise refusal

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.warehouse.database.rebuild", refuse)
        patch.setattr("bench.warehouse.database.load", refuse)
        assert answers(store) == expected
