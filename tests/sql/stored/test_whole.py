"""A stored query says what its file and those below it say, and plans each of them once."""

import re
from dataclasses import replace

import pytest
from bench import sql
from bench.sql.whole import whole
from bench.warehouse.events import TABLES
from bench.warehouse.views import WHOLE, definition

from ...builders import Builder
from ...exhaustive import first_of
from ..everything import everything

QUESTIONS = {
    "_compared_cases": (
        "['main-6', 'main-5'], ['fuse-6', 'fuse-7'], 20, 0.03, 0.05, false", "NULL, ['main-8'], 5, 0.03, 0.05, true"
    ),
    "_judged_cases": ("['main-8', 'main-7'], 20, 0.03, 0.05", "['fuse-8'], 3, 0.1, 0.05"),
}  # fmt: skip


@pytest.mark.parametrize("name", first_of(1, WHOLE))
def test_a_whole_view_gives_the_rows_of_its_file(name: str, warehouse: Builder) -> None:
    """But for the last digits of sums, whose order no engine promises."""
    warehouse.add(*everything())
    warehouse.connection.execute(definition(replace(sql.views()[name], name="by_its_file")))

    for arguments in QUESTIONS[name]:
        rows, expected = (
            sorted([repr(_rounded(row)) for row in warehouse.rows(f"FROM {called}({arguments})")])
            for called in (name, "by_its_file")
        )
        assert rows == expected
        assert rows


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_called_often_stands_there_once(name: str) -> None:
    """Of `_comparison_sides`, which half of the steps read, there is one, and no call of a macro is left."""
    text = whole(sql.views()[name])
    macros = [view.name for view in sql.views().values() if view.arguments is not None and view.columns]

    assert text.count("row_number() OVER (ORDER BY time.began_at NULLS FIRST, time.run_id) AS place") == 1
    assert re.findall(rf"\b(?:FROM|JOIN)\s+(?:{'|'.join(macros)})\(", text) == []


@pytest.mark.parametrize("name", WHOLE)
def test_no_step_hides_a_table(name: str) -> None:
    """A step is seen by all that stands within its query: one with the name of a table would be read in its place."""
    macros = {view.name for view in sql.views().values() if view.arguments is not None}
    steps = set(re.findall(r"^(\w+) AS (?:MATERIALIZED )?\(", whole(sql.views()[name]), re.MULTILINE))

    assert steps & (TABLES.keys() | sql.tables().keys() | sql.views().keys() - macros) == set()


def test_arguments_reach_what_they_name_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a text, an alias, a qualified column, a named argument or a function; a text may look like a comment."""
    low = sql.parse("low", "-- One row.\n--\n-- arguments: base, last := 3\n--\n-- x  BIGINT  Number.\n"
        "SELECT last, 'base -- FROM low(1)', base.last AS last FROM t AS base WHERE base(base) = last -- base")  # fmt: skip
    high = sql.parse("high", "-- One row.\n--\n-- x  BIGINT  Number.\n"
        "SELECT * FROM low(NULL, last := [7]) AS a JOIN low(1) USING (x) JOIN low(NULL, [7])")  # fmt: skip
    monkeypatch.setattr("bench.sql.whole.views", lambda: {"low": low, "high": high})

    text = " ".join(whole(high).split())
    asked = "SELECT {last}, 'base -- FROM low(1)', base.last AS last FROM t AS base WHERE base({base}) = {last}"
    assert text == (
        f"WITH low AS MATERIALIZED ( {asked.format(base='NULL', last='[7]')} ) "
        f"SELECT * FROM low AS a JOIN ( {asked.format(base='1', last='3')} ) AS low USING (x) JOIN low"
    )


def _rounded(row: tuple[object, ...]) -> list[object]:
    """Numbers to nine digits."""
    return [float(f"{value:.9g}") if isinstance(value, float) else value for value in row]
