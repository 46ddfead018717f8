"""The prompt of `bench sql`: statements end in a semicolon, history is kept, errors are sentences."""

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..warehouse.console.tables import write_rows
from ..warehouse.errors import BenchError
from .ask import ask, readable
from .computed import compute

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

HISTORY_LINES = 2000


def converse(warehouse: "Warehouse", fmt: str) -> None:
    """Read statements and print their results until the end of input."""
    click.echo(
        "End a statement with ; and Ctrl-C cancels it. `bench views` lists what there is. Ctrl-D leaves.", err=True
    )
    with _line_editing(list(readable(warehouse).values())):
        for statement in _statements():
            try:
                compute(warehouse, statement)
                answer = ask(warehouse, statement)
                if answer is not None:
                    write_rows(answer.columns, answer.rows, fmt)
            except BenchError as error:
                click.echo(f"Error: {error}", err=True)
            except KeyboardInterrupt:
                click.echo("cancelled", err=True)
            sys.stdout.flush()


def _statements() -> Iterator[str]:
    lines: list[str] = []
    while True:
        try:
            line = input("  ...> " if lines else "bench> ")
        except KeyboardInterrupt:
            click.echo(err=True)
            lines = []
            continue
        except EOFError:
            click.echo(err=True)
            return
        if not lines and line.strip().rstrip(";").lower() in ("", "exit", "quit", ".exit", ".quit"):
            if line.strip():
                return
            continue
        lines.append(line)
        if line.rstrip().endswith(";"):
            yield "\n".join(lines)
            lines = []


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
