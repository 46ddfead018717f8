"""Every SQL file keeps its word: documented columns are the columns, and an empty warehouse is no error."""

import re

import pytest
from bench import sql
from bench.warehouse.events import TABLES
from bench.warehouse.load import DERIVING

from ..builders import Builder, call
from ..exhaustive import exhaustive
from .everything import SIDES, extremes

VIEWS = [view for view in sql.views().values() if not view.scalar]
DERIVED = list(sql.tables().values())


@pytest.fixture(scope="module")
def built() -> Builder:
    """One empty warehouse for the tests that only look."""
    return Builder()


def relation(view: sql.View) -> str:
    """How to read a view, or a macro with its defaults and NULL for what has none."""
    if view.arguments is None:
        return view.name
    return f"{view.name}({', '.join('NULL' for argument in view.arguments if argument.default is None)})"


@pytest.mark.parametrize("view", [*VIEWS, *DERIVED], ids=lambda view: view.name)
def test_documented_columns_are_the_columns(view: sql.View, built: Builder) -> None:
    """The header names every column, in order, with its type, and nothing else."""
    found = built.rows(f"SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM {relation(view)})")

    assert [(name, column.type) for name, column in view.columns.items()] == found


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_no_view_gives_a_type_that_json_cannot_hold(view: sql.View, built: Builder) -> None:
    """Sums are cast: no HUGEINT and no DECIMAL leaves a view; and tests and figures (`make bench`) know how to call each."""
    types = {row[1] for row in built.rows(f"DESCRIBE SELECT * FROM {call(view, *SIDES)}")}

    assert types <= {"VARCHAR", "JSON", "BIGINT", "DOUBLE", "BOOLEAN", "TIMESTAMP", "VARCHAR[]", "BIGINT[]", "DOUBLE[]"}


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_meanings_are_in_the_catalog(view: sql.View, built: Builder) -> None:
    """The grain of a view or macro can be read back from the database, and so can a view's columns."""
    if view.arguments is None:
        doc = built.rows("SELECT comment FROM duckdb_views() WHERE view_name = ?", [view.name])
        found = built.rows("SELECT column_name, comment FROM duckdb_columns() WHERE table_name = ?", [view.name])
        assert dict(found) == {name: column.meaning for name, column in view.columns.items()}
    else:
        doc = built.rows("SELECT comment FROM duckdb_functions() WHERE function_name = ?", [view.name])

    assert doc == [(view.doc,)]


def test_names_are_given_once() -> None:
    """A derived table and a view of one name could not both be read."""
    assert not sql.tables().keys() & sql.views().keys()


def test_whatever_a_derived_table_reads_has_it_computed_anew(warehouse: Builder) -> None:
    """DERIVING names the events that derived tables read, be it through views, and no others."""
    known = sql.tables() | sql.views()
    wanted, seen = list(sql.tables()), set[str]()
    while wanted:
        name = wanted.pop()
        if name not in seen and name in known:
            wanted += known[name].reads
        seen.add(name)

    assert {event.TABLE for event in DERIVING} == seen & TABLES.keys()


def test_what_a_file_reads_is_what_the_parser_finds(warehouse: Builder) -> None:
    """Tables in FROM and JOIN, and functions; CTEs are no dependencies."""
    known = sql.tables() | sql.views()
    there = known.keys() | TABLES.keys()
    for view in known.values():
        (tree,) = warehouse.rows("SELECT json_serialize_sql(?)", [view.query])[0]
        named = set(re.findall(r'"(?:table_name|function_name)":"(\w+)"', tree))
        steps = set(re.findall(r'"key":"(\w+)","value":', tree))
        assert view.reads & there == (named - steps) & there, view.name


def test_the_digest_is_stable() -> None:
    """The same files give the same digest."""
    first = sql.digest()
    sql.digest.cache_clear()

    assert first == sql.digest()


def test_a_group_of_axes_stands_for_its_columns() -> None:
    """Some may be left out; one that the header describes has the meaning given there, at its place in the group."""
    groups = "-- axes: run without config, value without phase better\n-- unit  VARCHAR  ns or\n--   bytes."

    found = sql.parse("x", f"-- One row per case.\n--\n{groups}\n-- n  BIGINT  Samples.\nSELECT 1").columns

    assert list(found) == ["run_id", "metric", "unit", "n"]
    assert found["unit"] == sql.ViewColumn("VARCHAR", "ns or bytes.")
    assert found["run_id"] == sql.axes()["run"]["run_id"]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "-- Rows.\nSELECT 1",
        "-- One row per x.\n--\n-- a\nSELECT 1 AS a",
        "-- One row per x.\n--\n-- a  Without a type.\nSELECT 1 AS a",
        "-- One row per x.\n--\n-- axes: nothing\nSELECT 1 AS a",
        "-- One row per x.\n--\n-- axes: run without suite\nSELECT 1 AS a",
    ],
)
def test_a_file_without_a_proper_header_is_refused(text: str) -> None:
    """No grain, a column without type or meaning, or an unknown group is an error that names the file."""
    with pytest.raises(ValueError, match=r"broken\.sql"):
        sql.parse("broken", text)


@pytest.fixture(scope="module", params=[1, 2, *(pytest.param(seed, marks=exhaustive) for seed in range(3, 20))])
def extreme(request: pytest.FixtureRequest) -> Builder:
    warehouse = Builder().add(*extremes(request.param))
    assert warehouse.connection
    return warehouse


@pytest.mark.exhaustive
@pytest.mark.parametrize("view", [*VIEWS, *DERIVED], ids=lambda view: view.name)
def test_no_value_closes_a_view(view: sql.View, extreme: Builder) -> None:
    """All rows come, and where a number is claimed there is one, or NULL."""
    extreme.rows(f"CREATE OR REPLACE TEMP TABLE found AS FROM {call(view, *SIDES)}")

    numbers = [name for name, column in view.columns.items() if column.type == "DOUBLE"]
    odd = {name: extreme.rows(f'SELECT "{name}" FROM found WHERE NOT isfinite("{name}") LIMIT 1') for name in numbers}
    assert {name: rows for name, rows in odd.items() if rows} == {}
