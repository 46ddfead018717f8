"""`bench measure lines`: where a call of a function spends its time, line by line."""

import shlex
from pathlib import Path
from typing import Any

import click

from ...warehouse.console.options import Command
from ...warehouse.console.tables import write_text
from ...warehouse.errors import Exit
from ...warehouse.store import Store
from ..annotate import check_annotation, output_option
from ..engine.rounds import MOST_ROUNDS
from ..engine.workload import Settings
from ..functions.command import PROGRAMS
from ..functions.discovery import Group
from ..functions.here import measure_here
from ..functions.line_times import record_lines
from ..functions.options import (
    arguments_option,
    budget_option,
    processes_option,
    setup_option,
    target_of,
    timeout_option,
)
from ..functions.targets import check_spelling
from ..options import recorded, run_options, talk, write
from ..recorded_options import begin_run
from ..system.machine_lock import alone, lock_option

PRECISION = 0.01  # of the time of a call


@click.command("lines", cls=Command)
@click.argument("function", metavar="MODULE:FUNCTION", callback=target_of)
@arguments_option
@setup_option
@click.option("--show", type=click.Choice(["lines", "source"]), default="lines", show_default=True,
              help="Lines that take most time; annotated source.")  # fmt: skip
@click.option("--top", type=click.IntRange(min=0), default=10, show_default=True,
              help="Lines to show in the table; the others are one row.")  # fmt: skip
@output_option
@processes_option
@budget_option
@timeout_option
@lock_option
@run_options()
def command(
    function: str, arguments: dict[str, Any], setup: str, show: str, top: int, outputs: tuple[Path, ...],
    processes: int | None, budget_s: float, timeout_s: float, lock: str, sample: float | None, config: str | None,
    tags: dict[str, str], fmt: str, store: Store,
) -> int:  # fmt: skip
    """Time a function line by line.

    A call is timed as bench measure function does; then five more processes sample at which lines it spends that
    time, which the timed ones do not notice. Time in a library belongs to the line of your code that called it. Lines
    add up to the call. bench why compares two runs of it. Ends with 1 if the function failed.

    \b
        bench measure lines work:score --arg n=1000
        bench measure lines work:score --setup work:make -o score.html
    """
    from ...warehouse.database import Warehouse
    from . import report

    check_annotation(show, fmt, outputs)
    check_spelling(function)
    plan = [*Group(function, (function,), {key: [value] for key, value in arguments.items()}, setup).workloads()]
    settings = Settings(
        precision=PRECISION, budget_s=budget_s / (processes or MOST_ROUNDS), timeout_s=timeout_s, sample_hz=sample
    )
    with alone(lock), begin_run(config, suite="function", store=store, tags=tags) as run:
        failed, said = measure_here(
            run, plan, settings, f"{PROGRAMS}:FunctionProgram", processes=processes, budget_s=budget_s,
            after=lambda runner: record_lines(run, runner, plan, timeout_s),
        )  # fmt: skip
    with Warehouse.open(store) as warehouse:
        found = report.timed_lines(warehouse, run.run_id)
    if show == "source":
        write_text(f"{found.annotated().as_text()}\n")
    else:
        write(fmt, shown=(report.HEADINGS, found.cells(top)), exact=(report.COLUMNS, found.rows))
        for fact in found.facts():
            talk(fact)
    for output in outputs:
        found.annotated().write(output)
    for sentence in (*found.function.notes(PRECISION), *said):
        talk(sentence)
    recorded(run, f"Compare it with another run: {shlex.join(['bench', 'why', 'BASE', run.run_id[:13], function])}")
    return Exit.FAILED if failed or said else Exit.OK
