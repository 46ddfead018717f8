"""Memory lines: memory of each source line of a traced program: before it, kept, and transient."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any

import click

from ...query.pasteable_sql import text_literal
from ...query.tables import newest_runs
from ...warehouse.console.declared import Configs, Models, Option, Runs
from ...warehouse.console.numbers import counted
from ...warehouse.console.tables import shorten
from ...warehouse.errors import NothingToShow
from ..chart import Chart, chart
from ..data import Row, filter_sql, read_rows, select
from ..findings import largest
from ..marks.stacked_bars import Stack, Stacks
from ..style.labels import common_values, printable
from ..style.plot_area import line_labels
from ..style.units import DisplayUnit, choose_unit, format_number

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

TITLE = "Memory by source line"
TOP = 40
# of a line's peak, and their tints
PARTS = {"before": "#B3BAC2", "kept": "#0072B2", "freed": "#009E73", "transient": "#E69F00"}
MOVED_BYTES = "greatest(abs(coalesce(growth_bytes, 0)), coalesce(transient_bytes, 0), peak_bytes - start_bytes)"
ONE = ("run_id", "case_id", "source", "device_index")  # what one trace is told from another by


@chart
def draw(
    warehouse: "Warehouse",
    *,
    runs: Runs = (),
    configs: Configs = (),
    models: Models = (),
    sources: Annotated[Sequence[str], Option("Only this kind of memory: rss, cuda_allocated …")] = (),
    top: Annotated[int, Option("The N lines that moved memory most.", type=click.IntRange(1))] = TOP,
    all_lines: Annotated[bool, Option("All lines.", "--all")] = False,
) -> Chart:
    """Memory of each source line of a program traced by bench measure memory: before it, kept, freed, and transient.

    Kept and freed count all times the line ran, without what it called. Lines stand in the order of the source, with
    how often they ran. Of several traces the newest is drawn.

    \b
        bench viz memory-lines
        bench viz memory-lines --runs latest --sources cuda_allocated --top 20 -o lines.png
    \f
    Raises:
        UnknownName: The warehouse holds no such run, config, program or kind of memory.
        NothingToShow: No program was traced line by line.
    """
    where = {
        "run_id": runs or newest_runs(warehouse, "line_memory"),
        "config": configs,
        "name": models,
        "source": sources,
    }
    condition = filter_sql(warehouse, "line_memory", where)
    key = ", ".join(ONE)
    traces = warehouse.rows(
        f"SELECT {key}, any_value(name), least(min(start_bytes), min(end_bytes)), count(*) FROM line_memory"
        " LEFT JOIN (SELECT run_id, began_at FROM run_summaries) USING (run_id)"
        f" WHERE {condition} GROUP BY {key}"
        f" ORDER BY max(began_at) DESC NULLS LAST, run_id DESC, source <> 'rss', {key}"
    )
    if not traces:
        raise NothingToShow("no program was traced line by line. Trace one with: bench measure memory PROGRAM.py")
    *trace, program, base, total = traces[0]
    chosen = " AND ".join(
        f"{key} IS NOT DISTINCT FROM {_literal(value)}" for key, value in zip(ONE, trace, strict=True)
    )
    sql = select(
        "file, line, text, function, hits, start_bytes, peak_bytes, end_bytes, transient_bytes, growth_bytes,"
        " error_bound_bytes, config, source",
        "line_memory",
        chosen,
        qualify="" if all_lines else f"row_number() OVER (ORDER BY {MOVED_BYTES} DESC, file, line) <= {top:d}",
        order="file, line",
    )
    rows = read_rows(warehouse, sql)
    unit = choose_unit((row["peak_bytes"] - base for row in rows), "bytes")
    form = Stacks(
        stacks=[_stack(row, label, base, unit) for row, label in zip(rows, _labels(rows), strict=True)],
        parts=tuple(PARTS),
        tints=tuple(PARTS.values()),
        title=unit.title(f"memory above its lowest, {_size(base)}"),
        unit=unit,
        what="line",
        labelling=line_labels,
        tips=(("times run", ",d"), ("before", None), ("at most", None), ("after", None), ("transient", None),
              ("grew in all", None), ("in", None)),
    )  # fmt: skip
    bounds = [row["error_bound_bytes"] for row in rows if row["error_bound_bytes"] is not None]
    return Chart(
        title=TITLE,
        finding=largest(((f"line {row['line']}", row["growth_bytes"]) for row in rows), "bytes", "grew by"),
        facts=[
            *([shorten(printable(str(program)), 40)] if program else []),
            *common_values(rows, ("config", "source")),
            *_file(rows, program),
            _drawn(len(rows), total),
            *([f"up to {_size(max(bounds))} too low"] if bounds and max(bounds) else []),
        ],
        form=form,
        sql=sql,
        rows=rows,
        parameters={
            "runs": list(runs), "configs": list(configs), "models": list(models), "sources": list(sources),
            "top": None if all_lines else top,
        },
        counts=[{"trace": str(program or trace[0]), "lines": total, "drawn": len(rows)}],
        total=total,
        notes=_left_out(len(traces) - 1),
    )  # fmt: skip


def _file(rows: Sequence[Row], program: str | None) -> list[str]:
    """The file, if there is only one and it is not the program itself."""
    files = {PurePath(row["file"]).name for row in rows}
    return sorted(files - {PurePath(program or "").name}) if len(files) == 1 else []


def _drawn(drawn: int, total: int) -> str:
    lines = counted(total, "line")
    return f"all {lines}" if drawn == total else f"{drawn:,} of {lines}, those that moved it most"


def _left_out(traces: int) -> list[str]:
    hint = "choose with --runs, --models or --sources"
    return [f"{counted(traces, 'other trace')} left out: {hint}"] if traces else []


def _literal(value: Any) -> str:
    return "NULL" if value is None else text_literal(value) if isinstance(value, str) else str(int(value))


def _labels(rows: Sequence[Row]) -> list[str]:
    """The number of each line, how often it ran, and its text; its file where there are several."""
    several = len({row["file"] for row in rows}) > 1
    files = [f"{PurePath(row['file']).name}:" if several else "" for row in rows]
    texts = [(row["text"] or "").strip() for row in rows]
    return [
        f"{file}{row['line']} ×{row['hits']:,}  {text}".rstrip()
        for file, row, text in zip(files, rows, texts, strict=True)
    ]


def _stack(row: Row, label: str, base: int, unit: DisplayUnit) -> Stack:
    """Memory before the line, what it kept or freed in all, and what a run of it took and gave back, up to the peak."""
    grown, transient = row["growth_bytes"], row["transient_bytes"]
    end = max(0, row["end_bytes"] - base)
    kept, freed = min(end, max(0, grown or 0)), max(0, -(grown or 0))
    above = max(0, row["peak_bytes"] - base - end - freed)
    parts = [f"{format_number(grown / unit.size)} {unit.name}".replace("-", "−")] if grown else []
    parts += [f"{format_number(transient / unit.size)} {unit.name} transient"] if transient else []
    return Stack(
        row=label,
        parts=(end - kept, kept, freed, above),
        text=", ".join(parts),
        tips=(
            row["hits"], _size(row["start_bytes"]), _size(row["peak_bytes"]), _size(row["end_bytes"]),
            _size(transient), _size(grown), row["function"],
        ),
    )  # fmt: skip


def _size(size_bytes: int | None) -> str | None:
    if size_bytes is None:
        return None
    unit = choose_unit([size_bytes], "bytes")
    return f"{format_number(size_bytes / unit.size)} {unit.name}"
