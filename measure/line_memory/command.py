"""`bench measure memory`: where a program's memory goes, line by line."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...warehouse.console.options import PlainCommand
from ...warehouse.console.tables import escape, write_text
from ...warehouse.errors import Exit
from ...warehouse.store import Store
from ..annotate import check_annotation, output_option
from ..options import SECONDS, recorded, run_options, talk, write
from ..recorded_options import begin_run
from .options import scope_options

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse
    from .run import MeasuredLines

SHOWN = ("lines", "sums", "steps", "source")


@click.command("memory", cls=PlainCommand, context_settings={"allow_interspersed_args": False})
@click.argument("target")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("-m", "module", is_flag=True, help="TARGET is a module to run, as python -m does.")
@scope_options()
@click.option("--show", type=click.Choice(SHOWN), default="lines", show_default=True,
              help="Lines that moved memory most; the same of CPU and GPUs together; every step; annotated source.")  # fmt: skip
@click.option("--top", type=click.IntRange(min=0), default=6, show_default=True,
              help="Lines with the largest growth, and with the largest transients, to show.")  # fmt: skip
@click.option("--bottom", type=click.IntRange(min=0), default=6, show_default=True,
              help="Lines that gave back most to show.")  # fmt: skip
@output_option
@click.option("--timeout", type=SECONDS, metavar="SECONDS",
              help="Most time for the program.")  # fmt: skip
@run_options()
def command(
    target: str, arguments: tuple[str, ...], module: bool, modules: tuple[str, ...], excluded: tuple[str, ...],
    events: str, gpus: tuple[int, ...], show: str, top: int, bottom: int, outputs: tuple[Path, ...],
    timeout: float | None, sample: float | None, config: str | None, tags: dict[str, str], fmt: str, store: Store,
) -> int:  # fmt: skip
    """Trace memory line by line, on exact numbers.

    TARGET is a script with its ARGUMENTS, a module (-m), or a callable as module:callable. Options for bench go
    before it. Each line is shown with the peak of memory during it and all it called, even if that was freed before
    it returned. Ends with 1 if the program failed; what was measured is kept in any case.

    \b
        bench measure memory train.py --epochs 1
        bench measure memory --modules mypackage -o memory.html -m mypackage.train
    """
    from ...warehouse.database import Warehouse
    from ..system.process_sampler import sampled
    from . import report
    from .run import program_of, trace
    from .trace import Scope

    check_annotation(show, fmt, outputs)
    program = program_of(target, arguments, module=module)
    folders = tuple(os.path.join(folder, "") for folder in (program.folder, Path.cwd()))
    scope = Scope(folders, modules, excluded, events, gpus or None)
    with begin_run(config, suite="memory", store=store, tags=tags) as run:
        traced = trace(run, program, scope, timeout_s=timeout, beside=lambda pid, case: sampled(run, pid, sample, case))
        if traced.interrupted:
            run.close("interrupted", "Ctrl-C")
    with Warehouse.open(store) as warehouse:
        source = report.annotated(warehouse, traced.run_id, traced.case_id, traced.name)
        if show == "source":
            write_text(f"{source.as_text()}\n")
        else:
            _show(warehouse, traced, show, top, bottom, fmt)
    for output in outputs:
        source.write(output)
    for note in traced.notes:
        talk(note)
    if traced.status != "ok":
        talk(escape(f"{target}: {traced.status}{': ' + traced.reason if traced.reason else ''}"))
    recorded(run, f"Draw it with: bench viz memory-lines --runs {run.run_id}")
    return Exit.OK if traced.status == "ok" else Exit.FAILED


def _show(warehouse: "Warehouse", traced: "MeasuredLines", show: str, top: int, bottom: int, fmt: str) -> None:
    """Write the chosen table to stdout, and the totals to stderr."""
    from . import report

    of = (warehouse, traced.run_id, traced.case_id)
    if show == "steps":
        rows = report.steps(*of)
        write(fmt, shown=report.step_cells(rows), exact=(report.STEP_COLUMNS, rows))
    elif show == "sums":
        rows = report.sums(*of, top=top, bottom=bottom)
        write(fmt, shown=report.sum_cells(rows), exact=(report.SUM_COLUMNS, rows))
    else:
        rows = report.lines(*of, top=top, bottom=bottom)
        write(fmt, shown=report.line_cells(rows), exact=(report.LINE_COLUMNS, rows))
    for total in report.totals(*of):
        talk(str(total))
