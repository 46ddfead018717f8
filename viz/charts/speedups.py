"""Speedups: every case against its baseline, with 95 % intervals."""

from collections import Counter
from collections.abc import Sequence
from statistics import geometric_mean
from typing import TYPE_CHECKING, Annotated, Any

import click

from ...query.comparison.speedups import no_baseline
from ...query.tables import newest_runs
from ...warehouse.console.declared import Backends, Configs, Models, Option, Runs, Suites
from ...warehouse.console.numbers import amount, counted, ratio, times
from ...warehouse.errors import NothingToShow
from ..chart import Chart, chart
from ..data import USUAL, Row, ends_of, filter_sql, lookup_command, read_rows, select, usual_cases
from ..marks.bars import Bar, Bars
from ..style.labels import CASE, common_values, distinguish, ordered
from ..style.units import DisplayUnit

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

TITLE = "Speedup over eager"
MEANS = 3  # backends that the title has room for
PANEL = ("run_id", "suite", "mode", "dtype", "device")


@chart
def draw(
    warehouse: "Warehouse",
    *,
    runs: Runs = (),
    configs: Configs = (),
    suites: Suites = (),
    backends: Backends = (),
    models: Models = (),
    bottom: Annotated[int | None, Option(f"The slowest N cases.  [default: {USUAL}]", type=click.IntRange(1))] = None,
    top: Annotated[int | None, Option("The fastest N cases.", type=click.IntRange(1))] = None,
    all_cases: Annotated[bool, Option("All cases.", "--all")] = False,
) -> Chart:
    """Every case against its baseline: bars hung from 1 on a logarithmic axis, with 95 % intervals.

    A bar is hollow where its interval holds 1. A case that failed stands below with its status.
    Of each config the newest run is drawn.

    \b
        bench viz speedups
        bench viz speedups --backends inductor --all -o speedups.png
    \f
    Raises:
        UnknownName: The warehouse holds no such run, config, suite, backend or model.
        NothingToShow: No case was measured against a baseline.
    """
    where = {
        "run_id": runs or newest_runs(warehouse, "speedups"), "config": configs, "suite": suites, "backend": backends,
        "name": models,
    }  # fmt: skip
    condition = filter_sql(warehouse, "speedups", where)
    columns = f"config, {', '.join(CASE)}, backend, baseline_ns, candidate_ns, speedup, low, high, n, status, accuracy, reason"
    cases = select("*", "speedups", "status <> 'skipped'", condition)
    if all_cases:
        bottom = top = None
    elif bottom is None and top is None:
        bottom = usual_cases(warehouse, cases)
    chosen = {"bottom": bottom, "top": top}
    sql = ends_of(
        cases, "min(speedup)", f"{columns}, run_id, case_id", lowest=chosen["bottom"], highest=chosen["top"],
        backends=backends, configs=configs or runs,
    )  # fmt: skip
    rows = read_rows(warehouse, sql)
    counts = _counts(warehouse, condition, rows)
    if not rows and counts:
        raise NothingToShow("all cases were skipped. See why with: bench list cases")
    if not rows:
        raise no_baseline(warehouse)
    series = distinguish(rows, ("backend", "config", "run_id"))
    bars = _bars(rows, series)
    form = Bars(
        bars=bars,
        title="speedup over eager [x, log]",
        unit=DisplayUnit(None),
        ratio=True,
        tips=(("eager", None), ("backend", None), ("accuracy", None), ("look it up", None)),
        series=ordered(series, rows, {"backend": backends, "config": configs or runs}),
    )
    return Chart(
        title=TITLE,
        finding=None if models else _finding(warehouse, condition, sum(count["failed"] for count in counts)),
        facts=_facts(rows, bars, counts, chosen, form.cut),
        form=form,
        sql=sql,
        rows=rows,
        parameters={
            "runs": list(runs), "configs": list(configs), "suites": list(suites), "backends": list(backends),
            "models": list(models), "bottom": chosen["bottom"], "top": chosen["top"],
        },
        counts=counts,
        total=sum(count["cases"] for count in counts),
    )  # fmt: skip


Chosen = dict[str, int | None]  # how many cases from the bottom and from the top; both None: all


def _finding(warehouse: "Warehouse", condition: str, failed: int) -> str | None:
    """The geometric means of a run's backends, as `bench speedups` has them, over the same cases.

    None where one may be 1; of several suites or many backends, where all may be.
    """
    query = f"SELECT * FROM geomean_speedups(matched := {{}}) WHERE {condition} ORDER BY speedup DESC, backend"
    rows = warehouse.dicts(query.format("false"))
    panels, backends = {tuple(row[axis] for axis in PANEL) for row in rows}, {row["backend"] for row in rows}
    if len({row["run_id"] for row in rows}) != 1:
        return None
    if len(panels) > 1 and len(backends) == 1 and (found := _by_suite(rows)):
        return found
    if len(backends) > 1:
        rows = warehouse.dicts(query.format("true"))
    may_be_1 = [row["low"] is not None and row["low"] <= 1 <= row["high"] for row in rows]
    if any(row["n"] < 2 for row in rows):
        return None
    if len(panels) > 1 or len(backends) > MEANS:
        return None if all(may_be_1) else _by_backend(rows)
    if any(may_be_1):
        return None
    first = rows[0]
    whole = {row["n_total"] for row in rows}
    covered = (
        f"{first['n']:,} of {counted(max(whole), 'case')}"
        if whole != {first["n"]}
        else f"all {counted(first['n'], 'case')}"
    )
    if len(rows) == 1:
        said = f"{first['backend']}: {times(first['speedup'])} geometric mean over {covered}"
        return said + (f", {failed:,} failed" if failed else "")
    each = ", ".join(f"{row['backend']} {times(row['speedup'])}" for row in rows)
    return f"{each}: geometric means over {covered}"


def _by_suite(rows: Sequence[Row]) -> str | None:
    """The geometric means of one backend on a few suites of a run."""
    alike = len({tuple(row[axis] for axis in PANEL if axis != "suite") for row in rows}) == 1
    if len(rows) > MEANS or not alike or any(row["n"] < 2 for row in rows):
        return None
    each = ", ".join(f"{row['suite']} {times(row['speedup'])}" for row in rows)
    return f"{rows[0]['backend']}: {each}, geometric means"


def _by_backend(rows: Sequence[Row]) -> str:
    """The geometric means of each backend on several suites, or of many backends; of these the highest and the lowest."""
    means: dict[str, list[float]] = {}
    for row in rows:
        means.setdefault(row["backend"], []).append(row["speedup"])
    ordered = sorted(means, key=lambda backend: -geometric_mean(means[backend]))
    each = [f"{backend} {_span(means[backend])}" for backend in ordered]
    of_many = f" of {len(each)} backends" if len(each) > MEANS else ""
    said = f"{each[0]} to {each[-1]}" if of_many else ", ".join(each)
    panels = {tuple(row[axis] for axis in PANEL) for row in rows}
    suites = {panel[PANEL.index("suite")] for panel in panels}
    on = counted(len(panels), "suite") if len(suites) == len(panels) else f"{len(panels)} suites and settings"
    return f"{said}: geometric means{of_many}{f' on {on}' if len(panels) > 1 else ''}"


def _span(values: Sequence[float]) -> str:
    """The least and the most of factors: `1.34–1.58x`."""
    low, high = times(min(values)), times(max(values))
    return low if low == high else f"{low.removesuffix('x')}–{high}"


def _counts(warehouse: "Warehouse", condition: str, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Counts of cases by backend and result."""
    counted_rows = (
        "count(*), count(*) FILTER (NOT passing AND status <> 'skipped' AND reason <> 'no speedup'),"
        " count(*) FILTER (status = 'skipped'), count(*) FILTER (reason = 'no speedup')"
    )
    query = f"SELECT backend, {counted_rows} FROM speedups WHERE {condition} GROUP BY backend ORDER BY backend"
    drawn = Counter(row["backend"] for row in rows)
    return [
        {
            "backend": backend,
            "cases": cases,
            "skipped": skipped,
            "failed": failed,
            "no speedup": without,
            "drawn": drawn[backend],
        }
        for backend, cases, failed, skipped, without in warehouse.rows(query)
    ]


def _bars(rows: Sequence[Row], series: Sequence[str]) -> list[Bar]:
    cases = distinguish(rows, CASE, always="name")
    return [
        Bar(
            row=case,
            series=whose,
            value=row["speedup"],
            low=row["low"],
            high=row["high"],
            sure=row["low"] is None or row["low"] > 1 or row["high"] < 1,
            note=row["reason"] or "",
            text=ratio(row["speedup"], row["low"], row["high"], row["n"]) or "",
            tips=(
                amount(row["baseline_ns"], "ns"),
                amount(row["candidate_ns"], "ns"),
                row["accuracy"],
                lookup_command(row, "speedups"),
            ),
        )
        for row, case, whose in zip(rows, cases, series, strict=True)
    ]


def _facts(
    rows: Sequence[Row], bars: Sequence[Bar], counts: Sequence[dict[str, Any]], chosen: Chosen, cut: int
) -> list[str]:
    """The subtitle: what is drawn of what, what failed, and what hollow means."""
    measured = [bar for bar in bars if bar.value is not None]
    crossing = sum(not bar.sure for bar in measured)
    unknown = sum(bar.low is None for bar in measured)
    total = sum(count["cases"] - count["skipped"] for count in counts)
    ends = [
        f"the {counted(most, f'{which} case')}"
        for most, which in ((chosen["bottom"], "slowest"), (chosen["top"], "fastest"))
        if most
    ]
    failed = sum(count["failed"] for count in counts)
    skipped = sum(count["skipped"] for count in counts)
    without = sum(count["no speedup"] for count in counts)
    drawn = f"all {counted(total, 'result')}" if total > 1 else "the only result"
    if len(bars) < total:
        drawn = f"{len(bars):,} of {counted(total, 'result')}, {' and '.join(ends)}"
    return [
        *common_values(rows, ("config", "suite", "mode", "dtype", "device")),
        drawn,
        *([f"{failed:,} failed"] if failed else []),
        *([f"{without:,} without a speedup"] if without else []),
        *([f"{skipped:,} skipped"] if skipped else []),
        *([f"hollow: the 95 % interval holds 1 ({crossing:,})"] if crossing else []),
        *([f"without whiskers: no interval is known ({unknown:,})"] if unknown else []),
        *([f"{counted(cut, 'interval')} cut off by the axis"] if cut else []),
    ]
