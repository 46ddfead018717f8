"""The prompt of `bench sql`: statements end in a semicolon, history is kept, errors are sentences."""

import contextlib
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..warehouse.console.tables import write_rows
from ..warehouse.errors import BenchError
from ..warehouse.interruption import last_signal
from .ask import ask, readable
from .computed import compute
from .tables import catalog

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

HISTORY_LINES = 2000
HELP = (
    "End a statement with ; and Ctrl-C cancels it. `show tables` lists what there is, `describe NAME;` its columns. "
    "Tab completes names. Ctrl-D leaves."
)
LEAVE_WORDS = {"exit", "quit", ".exit", ".quit", "\\q"}
HELP_WORDS = {"help", ".help", "?", "\\?", "\\h"}
LIST_WORDS = {"show tables", "show views", "show all tables", ".tables", "\\d", "\\dt"}


def converse(warehouse: "Warehouse", fmt: str) -> None:
    """Read statements and print their results until the end of input."""
    click.echo(HELP, err=True)
    with _line_editing(_names(warehouse)):
        for statement in _statements():
            try:
                if _word(statement) in HELP_WORDS:
                    click.echo(HELP, err=True)
                    continue
                if _word(statement) in LIST_WORDS:
                    listed = catalog(warehouse)
                    write_rows(listed.columns, listed.rows, fmt)
                    continue
                compute(warehouse, statement)
                answer = ask(warehouse, statement)
                if answer is not None:
                    write_rows(answer.columns, answer.rows, fmt)
            except BenchError as error:
                click.echo(f"Error: {error}", err=True)
            except KeyboardInterrupt:
                if last_signal() != signal.SIGINT:
                    raise
                click.echo("cancelled", err=True)
            sys.stdout.flush()


def _statements() -> Iterator[str]:
    lines: list[str] = []
    while True:
        try:
            line = input("  ...> " if lines else "bench> ")
        except KeyboardInterrupt:
            click.echo(err=True)
            if last_signal() != signal.SIGINT:
                raise
            lines = []
            continue
        except EOFError:
            click.echo(err=True)
            return
        if not lines and not _word(line):
            continue
        if not lines and _word(line) in LEAVE_WORDS:
            return
        lines.append(line)
        if line.rstrip().endswith(";") or (len(lines) == 1 and _word(line) in HELP_WORDS | LIST_WORDS):
            yield "\n".join(lines)
            lines = []


def _word(statement: str) -> str:
    """A statement of few words, as the words above are written."""
    return " ".join(statement.strip().rstrip(";").lower().split())


def _names(warehouse: "Warehouse") -> list[str]:
    """Completions of Tab: views and tables as they are read, and all columns."""
    columns = warehouse.rows("SELECT DISTINCT column_name FROM duckdb_columns() WHERE NOT internal ORDER BY 1")
    return sorted({*readable(warehouse).values(), *(name for (name,) in columns)})


@contextlib.contextmanager
def _line_editing(names: list[str]) -> Iterator[None]:
    """Editing, completion of names, and a history that outlives the session, where readline is there."""
    try:
        import readline
    except ImportError:
        yield
        return

    def complete(text: str, state: int) -> str | None:
        matches = [name for name in names if name.startswith(text)]
        return matches[state] if state < len(matches) else None

    history = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "bench" / "sql_history"
    with contextlib.suppress(OSError):
        readline.read_history_file(history)
    readline.set_history_length(HISTORY_LINES)
    readline.set_completer(complete)
    readline.set_completer_delims(re.sub(r"[_.]", "", readline.get_completer_delims()))
    readline.parse_and_bind("tab: complete")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            history.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(history)
