"""Commands that ask: sql, views, speedups, runs, configs, cases, sources, rejects.

This file is long because every list is a command with options of its own.
"""

import contextlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..warehouse.console.fitting import wide_option, write_fitted
from ..warehouse.console.options import Command, Values, format_option, notify, store_option
from ..warehouse.console.tables import write_rows
from ..warehouse.errors import BenchError, NothingToShow
from ..warehouse.store import Store

if TYPE_CHECKING:
    from .ask import Answer

DIALECTS = ("spark", "duckdb")

output_option: Callable[[Any], Any] = click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write to instead of standard output.",
)
runs_option: Callable[[Any], Any] = click.option(
    "--runs", cls=Values, help="Only these: id prefix, config, commit, day, tag:NAME, latest, latest~1, path."
)
configs_option: Callable[[Any], Any] = click.option("--configs", cls=Values, help="Only these configs.")
suites_option: Callable[[Any], Any] = click.option("--suites", cls=Values, help="Only these suites.")
backends_option: Callable[[Any], Any] = click.option("--backends", cls=Values, help="Only these backends.")
where_option: Callable[[Any], Any] = click.option(
    "--where", "pairs", cls=Values, metavar="COLUMN=VALUE…", help="Only rows with these values, of any column."
)
models_option: Callable[[Any], Any] = click.option("--models", cls=Values, help="Only these models.")
limit_option: Callable[[Any], Any] = click.option(
    "--limit", type=click.IntRange(0), help="Show at most this many rows."
)


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
    extensions: Sequence[str], engine: str, master: str | None, output: Path | None, fmt: str, store: Store,
) -> None:  # fmt: skip
    """Ask the warehouse anything, read-only.

    The query is an argument, a file, or standard input; on a terminal without any of them there is a prompt. Of several
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

        limits = QuestionLimits(seconds=seconds, memory_bytes=parse_bytes(memory), rows=most_rows + 1)
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


@click.command(cls=Command)
@runs_option
@click.option("--all", "all_runs", is_flag=True, help="All runs rather than the newest of each config.")
@configs_option
@suites_option
@backends_option
@models_option
@wide_option
@format_option
@output_option
@store_option
def speedups(
    runs: Sequence[str], all_runs: bool, configs: Sequence[str], suites: Sequence[str], backends: Sequence[str],
    models: Sequence[str], fmt: str, output: Path | None, store: Store,
) -> None:  # fmt: skip
    """Every backend against its baseline: the ratio, its 95 % interval, and what failed.

    Of each config the newest run is shown, with those that shared its plan. The geometric mean over the cases that pass
    on every backend comes last, on stderr, with what it leaves out.

    \b
        bench speedups
        bench speedups --backends inductor --format csv
    """
    from ..warehouse.database import Warehouse
    from .comparison.speedups import FOR_PEOPLE, SPARE, geomeans, render
    from .tables import newest_runs, select

    with Warehouse.open(store) as warehouse:
        if not runs and not all_runs:
            runs = newest_runs(warehouse, "speedups")
        where = {"run_id": runs, "config": configs, "suite": suites, "backend": backends, "name": models}
        order = "config, run_id, suite, mode, device, dtype, name, batch_size, sequence_length, backend"
        if fmt not in ("table", "markdown"):
            write(select(warehouse, "speedups", where, order=order), fmt, output)
            return
        rows = list(select(warehouse, "speedups", where, columns=FOR_PEOPLE, order=order).rows)
        if not rows:
            raise NothingToShow(
                "no case was measured against a baseline. Compare two backends with: bench compare OLD NEW --by backend; "
                "measure models with their baseline with: bench measure models"
            )
        write_fitted(*render(rows), fmt, output, spare=SPARE)
        if not models:
            for sentence in geomeans(warehouse, {key: where[key] for key in where if key != "name"}):
                notify(sentence)


@click.command(cls=Command)
@configs_option
@limit_option
@click.option("--forgotten", is_flag=True, help="List the runs that were forgotten, the last one first.")
@click.option("--live", is_flag=True, help="List the runs that are being recorded now, with what they have so far.")
@wide_option
@format_option
@store_option
def runs(configs: Sequence[str], limit: int | None, forgotten: bool, live: bool, fmt: str, store: Store) -> None:
    """List runs, newest first, with their machines; a round, what one night measured of a config, stands above its runs.

    \b
        bench list runs
        bench list runs --configs main --limit 5
        bench list runs --live
    """
    if forgotten:
        _list(
            store,
            "forgotten_runs",
            {"config": configs},
            fmt,
            order="forgotten_runs.forgotten_at DESC, run_id",
            limit=limit,
        )
        return
    from ..warehouse.journals.live import live_store

    view, order = _RUNS[fmt in ("table", "markdown")]
    with live_store(store) if live else contextlib.nullcontext(store) as shown:
        _list(shown, view, {"config": configs}, fmt, order=order, limit=limit)


@click.command(cls=Command)
@wide_option
@format_option
@store_option
def configs(fmt: str, store: Store) -> None:
    """List configs and what is known of each.

    \b
        bench list configs
    """
    _list(store, "config_summaries", {}, fmt)


@click.command(cls=Command)
@runs_option
@configs_option
@suites_option
@backends_option
@models_option
@click.option("--statuses", cls=Values, help="Only these: ok, fail_to_run, OOM, timeout …")
@limit_option
@wide_option
@format_option
@store_option
def cases(
    runs: Sequence[str], configs: Sequence[str], suites: Sequence[str], backends: Sequence[str],
    models: Sequence[str], statuses: Sequence[str], limit: int | None, fmt: str, store: Store,
) -> None:  # fmt: skip
    """List cases and how each ended.

    \b
        bench list cases --runs latest
        bench list cases --statuses OOM timeout --format csv
    """
    where = {
        "run_id": runs, "config": configs, "suite": suites, "backend": backends, "name": models, "status": statuses,
    }  # fmt: skip
    order = "config, run_id, suite, name, mode, device, dtype, batch_size, sequence_length, backend, kind"
    _list(store, "case_outcomes", where, fmt, order=order, limit=limit)


@click.command(cls=Command)
@configs_option
@limit_option
@wide_option
@format_option
@store_option
def sources(configs: Sequence[str], limit: int | None, fmt: str, store: Store) -> None:
    """List imported files with the accounting of their lines.

    \b
        bench list sources
    """
    _list(store, "source_files", {"config": configs}, fmt, order="config, path, source_id", limit=limit)


@click.command(cls=Command)
@configs_option
@limit_option
@wide_option
@format_option
@store_option
def rejects(configs: Sequence[str], limit: int | None, fmt: str, store: Store) -> None:
    """List records that could not be read, and why.

    \b
        bench list rejects --limit 20
    """
    _list(store, "rejected_records", {"config": configs}, fmt, order="config, path, line", limit=limit)


# What a table for people shows of a view that has more columns than a screen.
_FOR_PEOPLE = {
    "listed_runs": (
        "run", "config", "source", "suite", "date_trunc('second', began_at) AS began_at",
        "left(git_commit, 9) AS commit", "machine", "status", "cases", "failed", "samples", "steps", "files", "rejected",
    ),
    "forgotten_runs": (
        "left(run_id, 13) AS run", "config", "source", "suite", "date_trunc('second', began_at) AS began_at",
        "date_trunc('second', forgotten_at) AS forgotten_at", "reason", "CASE WHEN dropped THEN 'removed' END AS events",
        "array_to_string(files, ', ') AS files",
    ),
    "config_summaries": (
        "config", "runs", "date_trunc('second', last_at) AS last_at", "array_to_string(sources, ', ') AS sources",
        "cases", "failed", "samples", "steps", "files", "rejected",
    ),
    "case_outcomes": (
        "left(run_id, 13) AS run", "config", "suite", "name", "mode", "device", "dtype", "backend",
        "batch_size AS batch", "sequence_length AS length", "parameters", "kind", "status", "reason",
    ),
    "source_files": (
        "config", "path", "format", "bytes", "lines", "loaded", "rejected", "known",
        "date_trunc('second', loaded_at) AS loaded_at", "notes",
    ),
    "rejected_records": ("config", "path", "line", "reason", "text"),
}  # fmt: skip
_RUNS = {  # whether for people -> view and its order
    False: ("run_summaries", "run_summaries.began_at DESC NULLS LAST, run_id DESC"),
    True: ("listed_runs", "round_at DESC NULLS LAST, round_id DESC, machine, run_id NULLS FIRST"),
}
# said once if equal
_SHARED = ("run", "machine", "source", "sources", "suite", "mode", "device", "dtype", "format", "commit", "kind")
_SPARE = (
    "source", "dropped", "files", "kind", "device", "dtype", "bytes", "loaded_at", "samples", "steps", "lines", "mode", "suite",
    "commit", "sources", "known",
)  # fmt: skip
_REASONS = {"case_outcomes": "reason", "source_files": "notes", "rejected_records": "text"}


def _list(
    store: Store, view: str, where: dict[str, Sequence[str]], fmt: str, *, order: str = "ALL", limit: int | None = None
) -> None:
    """Write a view, for people the columns that matter and hold anything, else all of them; of runs also say which went."""
    from ..warehouse.database import Warehouse
    from .resolve import removed_runs
    from .tables import select

    with Warehouse.open(store) as warehouse:
        if fmt in ("table", "markdown"):
            answer = select(warehouse, view, where, columns=_FOR_PEOPLE[view], order=order, limit=limit)
            table = without_empty(answer.columns, list(answer.rows))
            write_fitted(*table, fmt, shared=_SHARED, spare=_SPARE, reason=_REASONS.get(view))
        else:
            write(select(warehouse, view, where, order=order, limit=limit), fmt)
        for sentence in removed_runs(warehouse) if view in ("run_summaries", "listed_runs") else ():
            notify(sentence)


def without_empty(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[list[str], list[list[Any]]]:
    """The columns that hold anything; all of them where there are no rows."""
    keep = [i for i in range(len(columns)) if not rows or any(row[i] is not None for row in rows)]
    return [columns[i] for i in keep], [[row[i] for i in keep] for row in rows]
