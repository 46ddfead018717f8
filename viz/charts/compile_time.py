"""Compile time: how long each backend took to compile each case."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import click

from ...query.tables import newest_runs
from ...warehouse.console.declared import Backends, Configs, Models, Option, Runs, Suites
from ...warehouse.console.numbers import amount, counted
from ...warehouse.errors import NothingToShow
from ..chart import Chart, chart
from ..data import USUAL, Row, ends_of, filter_sql, lookup_command, read_rows, select, usual_cases
from ..findings import largest
from ..marks.bars import Bar, Bars
from ..style.labels import CASE, common_values, distinguish, ordered
from ..style.units import choose_unit

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

TITLE = "Compile time"


@chart
def draw(
    warehouse: "Warehouse",
    *,
    runs: Runs = (),
    configs: Configs = (),
    suites: Suites = (),
    backends: Backends = (),
    models: Models = (),
    top: Annotated[int | None, Option(f"The N slowest cases.  [default: {USUAL}]", type=click.IntRange(1))] = None,
    all_cases: Annotated[bool, Option("All cases.", "--all")] = False,
) -> Chart:
    """Compile time of each case and backend: bars from 0, the slowest first.

    Of each config the newest run is drawn. A case that failed stands below with its status.

    \b
        bench viz compile-time
        bench viz compile-time --backends inductor --top 20 -o compile.png
    \f
    Raises:
        UnknownName: The warehouse holds no such run, config, suite, backend or model.
        NothingToShow: No compile latency was recorded.
    """
    compiled = "(SELECT run_id FROM case_summaries WHERE compile_ns IS NOT NULL)"
    shown = runs or newest_runs(warehouse, compiled)
    where = {"run_id": shown, "config": configs, "suite": suites, "backend": backends, "name": models}
    condition = filter_sql(warehouse, "case_summaries", where)
    columns = f"config, {', '.join(CASE)}, backend, compile_ns, status, reason, run_id, case_id"
    cases = _cases(condition)
    highest = None if all_cases else top or usual_cases(warehouse, cases)
    sql = ends_of(cases, "max(compile_ns)", columns, highest=highest, backends=backends, configs=configs or runs)
    rows = read_rows(warehouse, sql)
    if not rows:
        raise NothingToShow(
            "no compile latency was recorded. Measure some with: bench measure models --backends inductor"
        )
    ((total,),) = warehouse.rows(f"SELECT count(*) FROM ({cases})")
    series = distinguish(rows, ("backend", "config", "run_id"))
    bars = _bars(rows, series)
    unit = choose_unit((bar.value for bar in bars), "ns")
    form = Bars(
        bars=bars, title=unit.title("compile time"), unit=unit, ratio=False,
        tips=(("reason", None), ("look it up", None)),
        series=ordered(series, rows, {"backend": backends, "config": configs or runs}),
    )  # fmt: skip
    failed = sum(row["compile_ns"] is None for row in rows)
    drawn = (
        f"all {counted(total, 'result')}"
        if len(rows) == total
        else f"{len(rows):,} of {counted(total, 'result')}, the {counted(highest or 0, 'slowest case')}"
    )
    return Chart(
        title=TITLE,
        finding=largest(((_whose(bar), bar.value) for bar in bars), "ns", "compile time"),
        facts=[
            *common_values(rows, ("config", "suite", "mode", "dtype", "device", "backend")),
            "the only result" if total == 1 else drawn,
            *([f"{failed:,} failed or left none"] if failed else []),
        ],
        form=form,
        sql=sql,
        rows=rows,
        parameters={
            "runs": list(runs), "configs": list(configs), "suites": list(suites), "backends": list(backends),
            "models": list(models), "top": highest,
        },
        counts=[
            {"backend": backend, "drawn": len(own), "without": own.count(None)}
            for backend in sorted({row["backend"] for row in rows}, key=lambda name: name or "")
            for own in [[row["compile_ns"] for row in rows if row["backend"] == backend]]
        ],
        total=total,
    )  # fmt: skip


def _whose(bar: Bar) -> str:
    """The case, and its series where there is one."""
    return f"{bar.row} · {bar.series}" if bar.series else bar.row


def _cases(condition: str) -> str:
    """The cases of backends that compiled any case of the run; a failed case has its status."""
    compiled = "count(compile_ns) OVER (PARTITION BY run_id, backend) > 0"
    return select("*", "case_summaries", "status <> 'skipped'", condition, qualify=compiled)


def _bars(rows: Sequence[Row], series: Sequence[str]) -> list[Bar]:
    cases = distinguish(rows, CASE, always="name")
    return [
        Bar(
            row=case,
            series=whose,
            value=row["compile_ns"],
            note="" if row["compile_ns"] is not None else "no compile time" if row["status"] == "ok" else row["status"],
            text=amount(row["compile_ns"], "ns"),
            tips=(row["reason"], lookup_command(row, "case_summaries")),
        )
        for row, case, whose in zip(rows, cases, series, strict=True)
    ]
