"""Compile time: how long each backend took to compile each case."""

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..query.tables import newest_runs
from ..warehouse.errors import NothingToShow
from ..warehouse.options import Command
from ..warehouse.words import amount, counted
from .bars import Bar, Bars
from .data import Row, ask, ends_of, found, keeping, known_configs
from .figure import Figure, compose, public
from .labels import CASE, shared, telling
from .options import backends_option, chart_options, configs_option, models_option, runs_option, suites_option
from .units import suiting

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

NAME = "compile-time"
TITLE = "Compile time"
TOP = 50


@click.command(NAME, cls=Command)
@runs_option
@configs_option
@suites_option
@backends_option
@models_option
@click.option("--top", type=click.IntRange(1), default=TOP, show_default=True, help="The N slowest cases.")
@click.option("--all", "all_cases", is_flag=True, help="All cases.")
@chart_options
def command(**options: Any) -> "Callable[[Warehouse], Figure]":
    """How long each backend took to compile each case: bars from 0, the slowest first.

    Of each config the newest run is drawn. A case that failed stands below with its status.

    \b
        bench viz compile-time
        bench viz compile-time --backends inductor --top 20 -o compile.png
    """
    return functools.partial(draw, **options)


def draw(
    warehouse: "Warehouse",
    *,
    runs: Sequence[str] = (),
    configs: Sequence[str] = (),
    suites: Sequence[str] = (),
    backends: Sequence[str] = (),
    models: Sequence[str] = (),
    top: int = TOP,
    all_cases: bool = False,
    title: str | None = None,
    size: tuple[float, float] | None = None,
) -> Figure:
    """How long each backend took to compile each case.

    Args:
        warehouse: Where the cases are.
        runs: Runs to draw; the newest of each config unless given.
        configs: Configs to draw.
        suites: Suites to draw.
        backends: Backends to draw.
        models: Models to draw.
        top: How many of the slowest cases to draw.
        all_cases: Whether to draw all.
        title: Title instead of the default.
        size: Width and height in inches.

    Raises:
        UnknownName: The warehouse holds no such run, config, suite, backend or model.
        NothingToShow: No compile latency was recorded.
    """
    where = {
        "run_id": runs or _newest(warehouse),
        "config": configs,
        "suite": suites,
        "backend": backends,
        "name": models,
    }
    condition = keeping(warehouse, "case_summaries", where)
    columns = f"config, {', '.join(CASE)}, backend, compile_ns, status, reason, run_id, case_id"
    cases = _cases(condition)
    sql = ends_of(cases, "max(compile_ns)", columns, highest=None if all_cases else top)
    rows = ask(warehouse, sql)
    if not rows:
        raise NothingToShow(
            "no compile latency was recorded. Measure some with: bench measure models --backends inductor"
        )
    ((total,),) = warehouse.rows(f"SELECT count(*) FROM ({cases})")
    bars = _bars(rows)
    unit = suiting((bar.value for bar in bars), "ns")
    form = Bars(
        bars=bars, title=unit.title("compile time"), unit=unit, ratio=False,
        tips=(("reason", None), ("look it up", None)), known=known_configs(warehouse), given=size,
    )  # fmt: skip
    failed = sum(row["compile_ns"] is None for row in rows)
    drawn = (
        f"all {counted(total, 'result')}"
        if len(rows) == total
        else f"{len(rows):,} of {counted(total, 'result')}, the slowest"
    )
    return compose(
        NAME,
        title=title,
        own_title=TITLE,
        facts=[
            *shared(rows, ("config", "suite", "mode", "dtype", "device", "backend")),
            "the only result" if total == 1 else drawn,
            *([f"{failed:,} failed or left none"] if failed else []),
        ],
        form=form,
        sql=sql,
        rows=rows,
        parameters={
            "runs": list(runs), "configs": list(configs), "suites": list(suites), "backends": list(backends),
            "models": list(models), "top": None if all_cases else top,
        },
        counts=[
            {"backend": backend, "drawn": len(own), "without": own.count(None)}
            for backend in sorted({row["backend"] for row in rows})
            for own in [[row["compile_ns"] for row in rows if row["backend"] == backend]]
        ],
        total=total,
    )  # fmt: skip


compile_time = public(draw)


def _cases(condition: str) -> str:
    """Cases of a backend that compiled any case of the run; a case that failed has its status."""
    return f"""  SELECT * FROM case_summaries
  WHERE status <> 'skipped' AND {condition}
  QUALIFY count(compile_ns) OVER (PARTITION BY run_id, backend) > 0"""


def _newest(warehouse: "Warehouse") -> list[str]:
    return newest_runs(warehouse, "(SELECT run_id FROM case_summaries WHERE compile_ns IS NOT NULL)")


def _bars(rows: Sequence[Row]) -> list[Bar]:
    cases = telling(rows, CASE, always="name")
    series = telling(rows, ("backend", "config", "run_id"))
    return [
        Bar(
            row=case,
            series=whose,
            value=row["compile_ns"],
            note="" if row["compile_ns"] is not None else "no compile time" if row["status"] == "ok" else row["status"],
            said=amount(row["compile_ns"], "ns"),
            tips=(row["reason"], found(row, "case_summaries")),
        )
        for row, case, whose in zip(rows, cases, series, strict=True)
    ]
