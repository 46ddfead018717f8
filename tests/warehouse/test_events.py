"""The declarations: complete, consistent, and still able to read every file that was ever released."""

import json
import re
import shutil
from pathlib import Path

import duckdb
import pytest
from bench.warehouse.database import Warehouse
from bench.warehouse.events import EVENTS, TABLES, Event, Instant
from bench.warehouse.load import load
from bench.warehouse.schema import SQL_TYPES, arrow_schema, create_tables
from bench.warehouse.store import Store

from .strategies import plain

DATA = Path(__file__).parents[1] / "data"
UNITS = {"ns": ("_ns",), "ms": ("_ms",), "s": ("_s",), "bytes": ("_bytes", "_byte")}


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.TABLE)
def test_every_column_is_documented_and_named_with_its_unit(kind: type[Event]) -> None:
    """A meaning for each; units of time and size stand in the name; instants end in _at."""
    assert kind.DOC
    for field in kind.fields():
        assert field.doc.endswith((".", "…")) and field.type in SQL_TYPES, field
        if field.unit in UNITS:
            assert field.name.endswith(UNITS[field.unit]), field
        assert (field.type is Instant) == field.name.endswith("_at"), field
        assert re.fullmatch(r"[a-z][a-z0-9_]*", field.name)


def test_tables_are_named_once() -> None:
    """One declaration per table."""
    assert len(TABLES) == len(EVENTS)


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.TABLE)
def test_sql_and_arrow_tell_the_same(kind: type[Event]) -> None:
    """The DuckDB table and the Arrow schema have the declared columns, in order, with their comments and NULLs."""
    schema = arrow_schema(kind)
    with duckdb.connect() as connection:
        create_tables(connection)
        columns = connection.execute(
            "SELECT column_name, is_nullable, comment FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index",
            [kind.TABLE],
        ).fetchall()

    assert [(name, nullable) for name, nullable, _ in columns] == [(f.name, f.nullable) for f in schema]
    assert all(comment.startswith(f.doc) for (_, _, comment), f in zip(columns, kind.fields(), strict=True))


@pytest.mark.parametrize("version", sorted(path.name for path in DATA.glob("v*")))
def test_files_of_every_released_version_are_read_for_ever(version: str, tmp_path: Path) -> None:
    """Every column comes back as it was written then."""
    shutil.copytree(DATA / version / "events", tmp_path / "events")
    store = Store.find(tmp_path)
    loaded = load(store)
    expected = json.loads((DATA / version / "rows.json").read_text())

    assert (loaded.left_out, loaded.unknown_columns) == ({}, {})
    with Warehouse.open(store) as warehouse:
        for table, rows in expected.items():
            names = ", ".join(rows[0])
            found = warehouse.rows(f"SELECT {names} FROM {table}")
            assert sorted([[plain(value) for value in row] for row in found], key=repr) == sorted(
                [list(row.values()) for row in rows], key=repr
            ), table


def test_the_present_version_has_a_file_of_every_table() -> None:
    """Raising a version means adding its file."""
    for kind in EVENTS:
        assert list((DATA / f"v{kind.VERSION}" / "events" / kind.TABLE).glob("*.parquet")), kind.TABLE
