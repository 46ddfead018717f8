"""Commands that ask anything: sql, views."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..warehouse.console.fitting import wide_option, write_fitted
from ..warehouse.console.options import Command, Values, format_option, notify, store_option
from ..warehouse.console.tables import write_rows
from ..warehouse.errors import BenchError
from ..warehouse.store import Store
from .question import output_option

if TYPE_CHECKING:
    from .ask import Answer

DIALECTS = ("spark", "duckdb")


def write(answer: "Answer", fmt: str, output: Path | None = None) -> None:
    """Write an answer."""
    write_rows(answer.columns, answer.rows, fmt, output)


@click.command(cls=Command)
@click.argument("query", required=False)
@click.option(
    "-f", "--file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Read the query from a file."
)
@click.option(
    "--sandbox", is_flag=True, help="No files, no network, no settings, within limits: for queries you do not trust."
)
@click.option(
    "--timeout",
    "seconds",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    default=60,
    show_default=True,
    help="Most time for the answer in the sandbox.",
)
@click.option(
    "--memory", metavar="SIZE", default="2GB", show_default=True, help="Most memory for the answer in the sandbox."
)
@click.option(
    "--most-rows",
    type=click.IntRange(1),
    metavar="N",
    default=1_000_000,
    show_default=True,
    help="Most rows from the sandbox.",
)
@click.option(
    "--most-size", metavar="SIZE", default="1GB", show_default=True, help="Most bytes of all rows from the sandbox."
)
@click.option(
    "--extensions",
    cls=Values,
    metavar="NAME…",
    help="DuckDB's extensions to load, such as httpfs; missing ones are downloaded.",
)
@click.option(
    "--engine", type=click.Choice(["duckdb", "spark"]), default="duckdb", show_default=True, help="Who answers."
)
@click.option("--master", metavar="URL", help="Spark's cluster; without it all cores here.")
@output_option
@format_option
@store_option
def sql(
    query: str | None, file: Path | None, sandbox: bool, seconds: float, memory: str, most_rows: int,
    most_size: str, extensions: Sequence[str], engine: str, master: str | None, output: Path | None, fmt: str, store: Store,
) -> None:  # fmt: skip
    """Ask the warehouse anything, read-only.

    The query is an argument, a file, or standard input (-); on a terminal without any of them there is a prompt. Of several
    statements the rows of the last are written. With --sandbox the answer is made by a process of its own, which is
    ended past its limits.

    \b
        bench sql "SELECT name, backend, speedup FROM speedups ORDER BY speedup"
        bench sql "FROM runtime_vs_tokens(configs := ['A'])" --format parquet -o steps.parquet
        echo "FROM run_summaries" | bench sql --format json
        bench sql --engine spark "SELECT config, count(*) FROM timings JOIN runs USING (run_id) GROUP BY config"
    """
    from ..warehouse.database import Warehouse
    from .ask import ask, lock_settings, shut_in
    from .computed import compute

    if query == "-":
        query = None
    if query is not None and file is not None:
        raise BenchError("a query is given twice, as an argument and with --file. Give one of them.")
    if master is not None and engine != "spark":
        raise BenchError("--master is Spark's. Add --engine spark.")
    if extensions and (sandbox or engine == "spark"):
        raise BenchError(
            "--extensions works only with DuckDB outside of the sandbox: leave it or the other option out."
        )
    if engine == "spark":
        from .engines.spark_session import answer as ask_spark
        from .engines.spark_session import session

        if sandbox:
            raise BenchError("--sandbox works only with DuckDB. Leave --sandbox or --engine spark out.")
        if query is None and file is None and sys.stdin.isatty():
            raise BenchError('there is no query. Try: bench sql --engine spark "SELECT * FROM run_summaries"')
        with session(master or "local[*]") as spark:
            write(ask_spark(spark, store, query if query is not None else _read(file), notify), fmt, output)
        return
    if sandbox and not (query is None and file is None and sys.stdin.isatty()):
        from .limited import QuestionLimits, ask_limited, first_rows, parse_bytes

        limits = QuestionLimits(
            seconds=seconds, memory_bytes=parse_bytes(memory), rows=most_rows + 1, answer_bytes=parse_bytes(most_size)
        )
        asked = ask_limited(store, query if query is not None else _read(file), limits)
        if asked is not None:
            write_rows(asked.columns, first_rows(asked.rows, most_rows, notify), fmt, output)
        return
    with Warehouse.open(store) as warehouse:
        if sandbox:
            shut_in(warehouse)
        else:
            lock_settings(warehouse, extensions)
        if query is None and file is None and sys.stdin.isatty():
            from .prompt import converse

            converse(warehouse, fmt)
            return
        query = query if query is not None else _read(file)
        compute(warehouse, query)
        answer = ask(warehouse, query)
        if answer is not None:
            write(answer, fmt, output)


def _read(file: Path | None) -> str:
    try:
        return sys.stdin.read() if file is None else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BenchError(f"cannot read the query from {file or 'standard input'}: {error}.") from error


@click.command(cls=Command)
@click.argument("names", metavar="[NAME]…", nargs=-1)
@click.option(
    "--dialect",
    type=click.Choice(DIALECTS),
    help="Print the SQL that creates them in this dialect: all, or the named ones and what they read.",
)
@wide_option
@format_option
@store_option
def views(names: tuple[str, ...], dialect: str | None, fmt: str, store: Store) -> None:
    """List the views and tables; with a NAME, its columns and their meanings; with a dialect, as SQL for another engine.

    \b
        bench views
        bench views speedups
        bench views speedups pass_rates --dialect spark
    """
    from ..warehouse.database import Warehouse
    from .tables import catalog, describe

    if dialect is not None:
        from .engines.dialects import statements

        click.echo("\n\n".join(statements(dialect, names)))
        return
    if len(names) > 1:
        raise BenchError("one view is described at a time. Give one name, or --dialect.")
    with Warehouse.open(store) as warehouse:
        if not names:
            found = catalog(warehouse)
            if fmt != "table":
                write(found, fmt)
                return
            rows = [(kind, name, grain.removeprefix("One row per ")) for kind, name, grain in found.rows]
            write_fitted(["kind", "name", "one row per"], rows, fmt, spare=("kind",), brief="one row per")
            return
        described = describe(warehouse, names[0])
        if fmt == "table":
            click.echo(f"{described.name}\n\n{described.doc}\n")
        write_rows(["column", "type", "meaning"], described.columns, fmt)
