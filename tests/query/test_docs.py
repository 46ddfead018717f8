"""docs/sql.md names every view and command, and its queries run."""

import re
from pathlib import Path

import pytest
from bench import sql
from bench.cli import COMMANDS
from bench.warehouse.events import TABLES

from ..builders import Builder

PAGE = (Path(__file__).parents[2] / "docs" / "sql.md").read_text()


def test_every_public_view_and_table_is_named() -> None:
    """A view that the page does not know is not finished."""
    names = {*sql.views(), *sql.tables(), *TABLES}

    assert {name for name in names if not name.startswith("_") and f"`{name}" not in PAGE} == set()


def test_every_command_of_this_room_is_named() -> None:
    """Each with an example."""
    ours = {name for name, (module, _, _) in COMMANDS.items() if module == ".query.commands"}

    assert {name for name in ours if f"bench {name}" not in PAGE} == set()


@pytest.mark.parametrize("query", re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL))
def test_every_query_runs(warehouse: Builder, query: str) -> None:
    """What the page shows can be pasted."""
    warehouse.rows(query)
