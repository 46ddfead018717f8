"""docs/sql.md names every view, and every command with an example."""

from pathlib import Path

from bench import sql
from bench.command_names import COMMANDS
from bench.warehouse.events import TABLES

PAGE = (Path(__file__).parents[2] / "docs" / "sql.md").read_text()


def test_every_public_view_and_table_is_named() -> None:
    """A view that the page does not know is not finished."""
    names = {*sql.views(), *sql.tables(), *TABLES}

    assert {name for name in names if not name.startswith("_") and f"`{name}" not in PAGE} == set()


def test_every_command_of_the_page_is_named() -> None:
    """Those that write a view or any SQL, each with an example."""
    modules = (".query.command", ".query.lists")
    ours = {name for name, (module, _, _) in COMMANDS.items() if module in modules}

    assert {"sql", "speedups"} <= ours
    assert {name for name in ours if f"bench {name}" not in PAGE} == set()
