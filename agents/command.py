"""Commands for programs: `bench programs schemas`, and `bench programs mcp`."""

import signal
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from ..query.command_services import command_services
from ..warehouse.console.options import Command, format_option, notify, store_option
from ..warehouse.console.tables import write_rows
from ..warehouse.errors import BenchError
from ..warehouse.interruption import SIGNALS
from ..warehouse.store import Store


@click.command(cls=Command, context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, metavar="[COMMAND]…", type=click.UNPROCESSED)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Write all schemas into this folder.",
)
@format_option
def schemas(words: tuple[str, ...], output: Path | None, fmt: str) -> None:
    """List the answers that have a JSON Schema; with a COMMAND, print the schema of what it writes with --format json.

    Name an option with the command if it makes another answer. Within a version an answer only gains columns.

    \b
        bench programs schemas
        bench programs schemas measure models
        bench programs schemas history --all
    """
    from . import schemas as made
    from .answers import ANSWERS

    if output is not None:
        if words:
            raise BenchError("-o writes every schema: give either COMMAND or -o.")
        changed = made.write_schemas(output)
        click.echo(f"{len(ANSWERS)} schemas in {output}, {len(changed)} of them changed", err=True)
    elif words:
        click.echo(made.text(" ".join(words)), nl=False)
    else:
        rows = [(name, answer.version, made.grain(name)) for name, answer in ANSWERS.items()]
        write_rows(["answer", "version", "rows"], rows, fmt)


@click.command(cls=Command)
@click.option(
    "--allow-measure",
    "commands",
    multiple=True,
    metavar="COMMAND",
    help="A command of bench measure that the tool `measure` may run, unchanged; may be repeated. Without it, nothing is"
    " measured.",
)
@click.option("--timeout", type=click.FloatRange(0, min_open=True), default=3600, show_default=True, metavar="SECONDS",
              help="Most time for one measurement.")  # fmt: skip
@click.option("--query-timeout", type=click.FloatRange(0, min_open=True), default=60, show_default=True, metavar="SECONDS",
              help="Most time for one query.")  # fmt: skip
@click.option("--query-memory", metavar="SIZE", default="2GB", show_default=True, help="Most memory for one query.")
@store_option
def mcp(commands: tuple[str, ...], timeout: float, query_timeout: float, query_memory: str, store: Store) -> None:
    """Answer agents by the Model Context Protocol, over standard input and output.

    Tools: views, sql (in the sandbox), compare, regressions, history, explain, plan, report, chart. Each answer says
    its doubt in words, before its rows; an UNSURE row has no ratio. Nothing is written and nothing measured, unless
    commands are allowed.

    \b
        bench programs mcp --store .bench
        bench programs mcp --allow-measure 'bench measure models --models mlp --quick'
    """
    rooms = command_services()
    for ending in SIGNALS:
        if signal.getsignal(ending) is not signal.SIG_IGN:
            signal.signal(ending, lambda number, frame: rooms.leave(number))
    from ..api import open as open_store
    from ..query.limited import parse_bytes
    from .server import build_server, raise_if_cancelled
    from .tools import LIMITS, AllowedMeasurements, Questions, measure_words

    for command in commands:
        measure_words(command)
    opened = open_store(store.root, sandbox=True)
    start = partial(rooms.run_bench, check=raise_if_cancelled)
    measurements = AllowedMeasurements(commands, start, opened, timeout) if commands else None
    limits = replace(LIMITS, seconds=query_timeout, memory_bytes=parse_bytes(query_memory))
    server = build_server(Questions(opened, limits), measurements)
    notify(f"answering from {store}, over standard input and output; Ctrl-C ends it")
    server.run("stdio")
    rooms.leave(0)  # its client is gone
