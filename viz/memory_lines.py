"""Memory by source line: what each line of a traced program held, took and gave back."""

import functools
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from ..query.tables import newest_runs
from ..warehouse.errors import NothingToShow
from ..warehouse.options import Command, Values
from ..warehouse.output import shorten
from ..warehouse.words import counted
from .data import Row, ask, keeping, text
from .figure import Figure, compose, public
from .labels import printable, shared
from .options import chart_options, configs_option, models_option, runs_option
from .stacks import Stack, Stacks
from .units import Unit, short, suiting

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

NAME = "memory-lines"
TITLE = "Memory by source line"
TOP = 40
PARTS = {"before": "#B3BAC2", "kept": "#0072B2", "transient": "#E69F00"}  # of a line's peak, and their tints
ONE = ("run_id", "case_id", "source", "device_index")  # what one trace is told from another by


@click.command(NAME, cls=Command)
@runs_option
@configs_option
@models_option
@click.option("--sources", cls=Values, help="Only this kind of memory: rss, cuda_allocated …")
@click.option(
    "--top", type=click.IntRange(1), default=TOP, show_default=True, help="The N lines that moved memory most."
)
@click.option("--all", "all_lines", is_flag=True, help="All lines.")
@chart_options
def command(**options: Any) -> "Callable[[Warehouse], Figure]":
    """Memory of each source line of a program traced by bench measure memory: before it, kept, and transient.

    Lines stand in the order of the source, with how often they ran. Of several traces the newest is drawn.

    \b
        bench viz memory-lines
        bench viz memory-lines --runs latest --sources cuda_allocated --top 20 -o lines.png
    """
    return functools.partial(draw, **options)


def draw(
    warehouse: "Warehouse",
    *,
    runs: Sequence[str] = (),
    configs: Sequence[str] = (),
    models: Sequence[str] = (),
    sources: Sequence[str] = (),
    top: int = TOP,
    all_lines: bool = False,
    title: str | None = None,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Memory of each source line of a traced program.

    Args:
        warehouse: Where the lines are.
        runs: Runs to choose the trace from; the newest of each config unless given.
        configs: Configs to choose it from.
        models: Programs to choose it from.
        sources: Kinds of memory to choose it from: rss, cuda_allocated …
        top: How many of the lines that moved memory most to draw.
        all_lines: Whether to draw all lines.
        title: Title instead of the default.
        size: Width and height in inches.

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
    condition = keeping(warehouse, "line_memory", where)
    traces = warehouse.rows(
        f"""SELECT {", ".join(ONE)}, any_value(name), min(start_bytes), count(*) FROM line_memory
        LEFT JOIN (SELECT run_id, began_at FROM run_summaries) USING (run_id)
        WHERE {condition} GROUP BY {", ".join(ONE)}
        ORDER BY max(began_at) DESC NULLS LAST, run_id DESC, source <> 'rss', {", ".join(ONE)}"""
    )
    if not traces:
        raise NothingToShow("no program was traced line by line. Trace one with: bench measure memory PROGRAM.py")
    *trace, program, base, total = traces[0]
    chosen = " AND ".join(
        f"{key} IS NOT DISTINCT FROM {_literal(value)}" for key, value in zip(ONE, trace, strict=True)
    )
    limit = "" if all_lines else f"\n  QUALIFY row_number() OVER (ORDER BY moved_bytes DESC, file, line) <= {top:d}"
    sql = f"""SELECT file, line, text, function, hits, start_bytes, peak_bytes, end_bytes, transient_bytes, growth_bytes,
  error_bound_bytes, config, source
FROM (
  SELECT *, greatest(abs(coalesce(growth_bytes, 0)), coalesce(transient_bytes, 0), peak_bytes - start_bytes) AS moved_bytes
  FROM line_memory
  WHERE {chosen}{limit}
)
ORDER BY file, line"""
    rows = ask(warehouse, sql)
    unit = suiting((row["peak_bytes"] - base for row in rows), "bytes")
    form = Stacks(
        stacks=[_stack(row, label, base, unit) for row, label in zip(rows, _labels(rows), strict=True)],
        parts=tuple(PARTS),
        tints=tuple(PARTS.values()),
        title=unit.title(f"memory above the {_size(base)} at the start"),
        unit=unit,
        what="line",
        tips=(("times run", ",d"), ("before", None), ("at most", None), ("after", None), ("transient", None),
              ("grew in all", None), ("in", None)),
        given=size,
    )  # fmt: skip
    bounds = [row["error_bound_bytes"] for row in rows if row["error_bound_bytes"] is not None]
    return compose(
        NAME,
        title=title,
        own_title=TITLE,
        facts=[
            *([shorten(printable(str(program)), 40)] if program else []),
            *shared(rows, ("config", "source")),
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


memory_lines = public(draw)


def _file(rows: Sequence[Row], program: str | None) -> list[str]:
    """The file, where there is one and it is not the program."""
    files = {PurePath(row["file"]).name for row in rows}
    return sorted(files - {PurePath(program or "").name}) if len(files) == 1 else []


def _drawn(drawn: int, total: int) -> str:
    lines = counted(total, "line")
    return f"all {lines}" if drawn == total else f"{drawn:,} of {lines}, those that moved it most"


def _left_out(traces: int) -> list[str]:
    hint = "choose with --runs, --models or --sources"
    return [f"{counted(traces, 'other trace')} left out: {hint}"] if traces else []


def _literal(value: Any) -> str:
    return "NULL" if value is None else text(value) if isinstance(value, str) else str(int(value))


def _labels(rows: Sequence[Row]) -> list[str]:
    """The number of each line, how often it ran, and its text; its file where there are several."""
    several = len({row["file"] for row in rows}) > 1
    files = [f"{PurePath(row['file']).name}:" if several else "" for row in rows]
    texts = [(row["text"] or "").strip() for row in rows]
    return [
        f"{file}{row['line']} ×{row['hits']:,}  {text}".rstrip()
        for file, row, text in zip(files, rows, texts, strict=True)
    ]


def _stack(row: Row, label: str, base: int, unit: Unit) -> Stack:
    """What was there before, what stayed of what the line took, and what it gave back."""
    start, peak, end = (row[f"{when}_bytes"] - base for when in ("start", "peak", "end"))
    kept = max(0, end - start)
    grown, transient = row["growth_bytes"], row["transient_bytes"]
    told = [f"{short(grown / unit.size)} {unit.name}".replace("-", "−")] if grown else []
    told += [f"{short(transient / unit.size)} {unit.name} transient"] if transient else []
    return Stack(
        row=label,
        parts=(max(0, start), kept, max(0, peak - max(0, start) - kept)),
        said=", ".join(told),
        tips=(
            row["hits"], _size(row["start_bytes"]), _size(row["peak_bytes"]), _size(row["end_bytes"]),
            _size(transient), _size(grown), row["function"],
        ),
    )  # fmt: skip


def _size(size_bytes: int | None) -> str | None:
    if size_bytes is None:
        return None
    unit = suiting([size_bytes], "bytes")
    return f"{short(size_bytes / unit.size)} {unit.name}"
