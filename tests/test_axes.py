"""The axes of a case are listed once, in `sql/axes.txt`, as the event declares them."""

import re
from dataclasses import fields
from pathlib import Path

from bench import sql
from bench.query.axes import AXES, BACKEND_LAST, HEADINGS
from bench.warehouse.events import CaseRecord

ROOT = Path(sql.__file__).parent


def test_the_axes_are_those_of_the_event() -> None:
    """Whatever an event says of a case, but its ids, its time and its source."""
    other = {"run_id", "case_id", "work_hash", "recorded_at", "source_id", "line"}

    assert {field.name for field in fields(CaseRecord)} - other == set(AXES)
    assert set(BACKEND_LAST) == set(HEADINGS) == set(AXES)


def test_no_file_writes_the_axes_out() -> None:
    """`{axes}` stands for them, `{own.axes}` for those of a table."""
    written = re.compile(r",\s+".join(rf"(?:\w+\.)?{axis}" for axis in AXES) + r"(?!\w|::)")

    assert [path.name for path in ROOT.rglob("*.sql") if written.search(path.read_text(encoding="utf-8"))] == []
    assert all("{axes}" not in view.body for view in (sql.views() | sql.tables()).values())


def test_the_axes_of_a_table_carry_its_name() -> None:
    """The first as well as the last."""
    assert "axes.suite, axes.name" in sql.tables()["cells"].body
    assert "axes.parameters, metric" in " ".join(sql.tables()["cells"].body.split())
