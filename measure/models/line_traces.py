"""Summaries of the line traces of a run: inference first, then training, a table for each model and size."""

import click

from ...warehouse.store import Store
from ..options import talk, write

TOP = BOTTOM = 6  # lines that took most, and that gave back most

_CASES = """
    SELECT mode, name, batch_size, sequence_length, dtype, device, case_id, reason FROM line_traces
    WHERE run_id = ? ORDER BY mode, name, batch_size, sequence_length, dtype, device, case_id
"""


def show(store: Store, run_id: str, fmt: str) -> None:
    """Write the lines of every case that moved memory most, for people; for programs say which view has them."""
    from ...warehouse.database import Warehouse
    from ..line_memory import report

    if fmt not in ("table", "markdown"):
        talk(f"memory by line: bench sql \"FROM line_memory WHERE run_id = '{run_id}'\" --store {store}")
        return
    with Warehouse.open(store) as warehouse:
        for mode, name, batch, length, dtype, device, case_id, reason in warehouse.rows(_CASES, [run_id]):
            sizes = " x ".join(str(size) for size in (batch, length) if size is not None)
            title = " ".join(
                filter(
                    None, (name, mode, sizes, dtype if dtype != "float32" else "", device if device != "cpu" else "")
                )
            )
            if reason:
                talk(f"{title}: no memory by line: {reason}")
                continue
            click.echo(f"\nmemory by line, {title}, eager:")
            of = (warehouse, run_id, case_id)
            lines = report.lines(*of, top=TOP, bottom=BOTTOM)
            write(fmt, shown=report.line_cells(lines), exact=((), ()))
            if len({line[:2] for line in lines}) > 1:
                click.echo()
                write(fmt, shown=report.sum_cells(report.sums(*of, top=TOP, bottom=BOTTOM)), exact=((), ()))
            for total in report.totals(*of):
                talk(f"{title}: {total}")
