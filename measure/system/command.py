"""`bench measure attach`: memory, CPU and GPU use of a running process."""

import contextlib

import click

from ...warehouse.console.numbers import counted
from ...warehouse.console.options import Command
from ...warehouse.console.tables import escape
from ...warehouse.errors import Exit
from ...warehouse.secrets import masked_command
from ...warehouse.store import Store
from ..options import SECONDS, recorded, run_options, talk, write

COLUMNS = ("metric", "unit", "n", "minimum", "median", "mean", "maximum")


@click.command("attach", cls=Command)
@click.argument("pid", type=click.IntRange(min=1))
@click.option("--duration", type=SECONDS, metavar="SECONDS",
              help="How long to look; else until the process ends, or Ctrl-C.")  # fmt: skip
@run_options(sample_hz=10.0)
def command(
    pid: int, sample: float, duration: float | None, config: str | None, tags: dict[str, str], fmt: str, store: Store
) -> int:
    """Look at a running process: memory, CPU and GPU use over time.

    It follows the process and its descendants until the process ends or you press Ctrl-C; the run is ok either way.

    \b
        bench measure attach 4711 --sample 20
    """
    from ...warehouse import recorder
    from ...warehouse.database import Warehouse
    from .nvml import nvml
    from .process_sampler import ProcessSampler
    from .process_tree import ProcessTree

    tree = ProcessTree(pid)
    name = masked_command(tree.command())
    talk(f"looking at {pid}, {escape(name)}, {sample:g} times a second. Stop with Ctrl-C")
    with recorder.run(config, suite="attach", store=store, source="measure", tags={"pid": str(pid), **tags}) as run:
        case = run.case(name)
        how = "Ctrl-C"
        with (
            contextlib.closing(ProcessSampler(run, tree, sample, case, nvml())) as sampler,
            contextlib.suppress(KeyboardInterrupt),
        ):
            how = "the process ended" if sampler.run(duration or float("inf")) else f"{duration:g} s were over"
        case.outcome("ok", reason=how)
    with Warehouse.open(store) as warehouse:
        rows = warehouse.rows(
            f"SELECT {', '.join(COLUMNS)} FROM cells WHERE run_id = ? AND case_id = ? ORDER BY unit, metric",
            [run.run_id, case.case_id],
        )
    shown = ((metric, n, *(_value(value, unit) for value in values)) for metric, unit, n, *values in rows)
    write(fmt, shown=([name for name in COLUMNS if name != "unit"], shown), exact=(COLUMNS, rows))
    late = f"; {sampler.missed} came due while another lasted, and were left out" if sampler.missed else ""
    talk(f"{how}, after {counted(sampler.looks, 'look')}{late}")
    recorded(run, f"Draw it with: bench viz memory-timeline --runs {run.run_id}")
    return Exit.OK


def _value(value: float, unit: str | None) -> str:
    from ...warehouse.console.numbers import size

    return size(value) if unit == "bytes" else f"{value:.3g}"
