"""Movers: what changed between two sides: the worst and the best, with intervals."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import click

from ...query.comparison.sides import Side, find_sides
from ...query.pasteable_sql import list_literal, text_literal
from ...warehouse.console.declared import Backends, Models, Option, Suites
from ...warehouse.console.numbers import amount, change_of, counted
from ...warehouse.errors import NothingToShow, UnknownName
from ..chart import Chart, chart
from ..data import Row, ends_of, filter_sql, read_rows, select
from ..marks.bars import Bar, Bars
from ..style.labels import CASE, common_values, distinguish, ordered
from ..style.units import DisplayUnit, choose_unit

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

MOST = 20  # from either end
WARM = "coalesce(phase, 'steady') NOT IN ('cold', 'warmup')"
STILL = ("SAME", "UNSURE")  # verdicts of cases that did not move beyond doubt
SURE = ("SLOWER", "WORSE", "FASTER", "BETTER")
APART = ("BROKEN", "FIXED")


@chart
def draw(
    warehouse: "Warehouse",
    base: str,
    candidate: str,
    *,
    metric: Annotated[str | None, Option("What to compare.  [default: latency; else what most cases have]")] = None,
    by: Annotated[str, Option("Relative or absolute change.", type=click.Choice(["ratio", "difference"]))] = "ratio",
    worst: Annotated[int, Option("The N that lost most.", type=click.IntRange(0))] = MOST,
    best: Annotated[int, Option("The N that gained most.", type=click.IntRange(0))] = MOST,
    suites: Suites = (),
    backends: Backends = (),
    models: Models = (),
    all_runs: Annotated[bool, Option("Every run a name means, rather than its newest with its repeats.")] = False,
    floor: Annotated[
        float | None,
        Option("Smallest change that counts.  [default: the project's for metric and case]", type=click.FloatRange(0)),
    ] = None,
    all_cases: Annotated[bool, Option("Draw the cases that are UNSURE or SAME, too.", "--all")] = False,
) -> Chart:
    """What changed between two sides: the cases that lost and gained most, with 95 % intervals.

    A side is a config, the beginning of a run id or of a commit, a day, tag:NAME, latest or latest~1, as for `bench
    compare`. By ratio, above 1 is better. Cases whose verdict is UNSURE or SAME are counted, and drawn, as hollow
    bars, with --all or if there is nothing else. Cases that only one side has stand below.

    \b
        bench viz movers main my-branch
        bench viz movers latest~1 latest --by difference --worst 10 --best 0 -o movers.png
    \f
    Raises:
        UnknownName: No run answers to a name, or nobody measured that metric, suite, backend or model.
        NothingToShow: No case was measured by either side.
    """
    notes: list[str] = []
    sides = find_sides(warehouse, base, candidate, all_runs=all_runs, notify=notes.append)
    smallest = "NULL" if floor is None else repr(floor)
    macro = f"comparisons({list_literal(sides[0].runs)}, {list_literal(sides[1].runs)}, floor := {smallest}::DOUBLE)"
    known: list[str] = [
        name
        for (name,) in warehouse.rows(
            f"SELECT metric FROM {macro} WHERE metric IS NOT NULL GROUP BY metric"
            " ORDER BY metric <> 'latency', NOT bool_or(_is_headline(metric, better)), count(*) DESC, metric"
        )
    ]
    if not known:
        raise NothingToShow("neither side measured anything that can be compared. See what they are: bench list runs")
    metric = metric or known[0]
    if metric not in known:
        raise UnknownName("metric", metric, known, where="what both sides measured")
    where = filter_sql(warehouse, macro, {"suite": suites, "backend": backends, "name": models})
    cases = select(
        "* REPLACE (coalesce(case_id, name, metric) AS work_hash), NULL AS config, NULL AS run_id,"
        " CASE WHEN better = 'lower' THEN -difference ELSE difference END AS gain",
        macro,
        f"metric = {text_literal(metric)}",
        WARM,
        where,
    )
    verdicts = f"SELECT coalesce(verdict, 'no direction'), count(*) FROM ({cases}) GROUP BY 1 ORDER BY 1"
    totals = dict(warehouse.rows(verdicts))
    moved = sum(count for verdict, count in totals.items() if verdict not in STILL)
    only_moved = moved > 0 and not all_cases
    columns = f"{', '.join(CASE)}, backend, metric, phase, unit, better, base_value, candidate_value, difference"
    ranking = "min(ratio)" if by == "ratio" else "min(gain)"
    sql = ends_of(
        f"{cases}\n  AND coalesce(verdict, '') NOT IN {STILL}" if only_moved else cases,
        ranking,
        f"{columns}, ratio, low, high, verdict, reason, base_status, candidate_status, case_id",
        lowest=worst,
        highest=best,
    )
    rows = read_rows(warehouse, sql)
    if not rows:
        raise NothingToShow("no case is left to draw. Try a larger --worst or --best")
    unit = DisplayUnit("x") if by == "ratio" else choose_unit((row["difference"] for row in rows), rows[0]["unit"])
    cases_told = distinguish(rows, (*CASE, "phase", "backend"), always="name")
    bars = [_bar(row, case, by) for row, case in zip(rows, cases_told, strict=True)]
    form = Bars(
        bars=bars,
        title=f"{metric}, change [x, log; above 1 is better]"
        if by == "ratio"
        else unit.title(f"{metric}, candidate - base"),
        unit=DisplayUnit(None) if by == "ratio" else unit,
        ratio=by == "ratio",
        series=ordered([bar.series for bar in bars], rows, {"backend": backends}),
        tips=(("base", None), ("candidate", None), ("verdict", None), ("why", None)),
    )
    names = [side.name for side in sides]
    return Chart(
        title=f"What changed from {names[0]} to {names[1]}",
        finding=_finding(metric, rows, totals, cases_told),
        facts=_facts(rows, bars, totals, moved if only_moved else None, form.cut, sides),
        form=form,
        sql=sql,
        rows=rows,
        parameters={
            "base": list(sides[0].runs), "candidate": list(sides[1].runs), "metric": metric, "by": by, "worst": worst,
            "best": best, "suites": list(suites), "backends": list(backends), "models": list(models), "floor": floor,
            "all": all_cases,
        },
        counts=[{"verdict": verdict, "cases": count, "drawn": _drawn(rows, verdict)} for verdict, count in totals.items()],
        total=sum(totals.values()),
        notes=notes,
    )  # fmt: skip


def _finding(metric: str, rows: Sequence[Row], totals: dict[str, int], cases: Sequence[str]) -> str | None:
    """The verdicts beyond doubt, and the largest change: `latency: 3 slower; largest mlp: 1.30x slower (95 % 1.27–1.33)`."""
    sure = [(row, case) for row, case in zip(rows, cases, strict=True) if row["verdict"] in SURE and row["ratio"]]
    if not sure:
        return None
    counts = ", ".join(f"{totals[name]:,} {name.lower()}" for name in (*SURE, *APART) if totals.get(name))
    row, case = max(sure, key=lambda one: abs(math.log(one[0]["ratio"])))
    return f"{metric}: {counts}; largest {case}: {change_of(row)}"


def _bar(row: Row, case: str, by: str) -> Bar:
    change = change_of(row) or ""
    if by == "difference" and row["difference"] is not None:
        sign = "+" if row["difference"] > 0 else "-" if row["difference"] < 0 else ""
        change = f"{sign}{amount(abs(row['difference']), row['unit'])} · {change}".removesuffix(" · ")
    low, high = _interval(row) if by == "difference" else (row["low"], row["high"])
    return Bar(
        row=case,
        series=row["backend"] or "",
        value=row["ratio"] if by == "ratio" else row["difference"],
        low=low,
        high=high,
        sure=row["verdict"] in SURE,
        note=_note(row),
        text=change,
        tips=(
            amount(row["base_value"], row["unit"]), amount(row["candidate_value"], row["unit"]), row["verdict"], row["reason"],
        ),
    )  # fmt: skip


def _interval(row: Row) -> tuple[float | None, float | None]:
    """The interval of the ratio as an interval of the difference, with the base's value fixed."""
    base, low, high = row["base_value"], row["low"], row["high"]
    if base is None or low is None or not low > 0:
        return None, None
    return (
        (base / high - base, base / low - base) if row["better"] == "lower" else (base * low - base, base * high - base)
    )


def _note(row: Row) -> str:
    """The note in place of a bar: how a side failed, or that it lacks the case."""
    if row["verdict"] in ("REMOVED", "BROKEN"):
        return "gone" if row["candidate_status"] in (None, "ok") else f"now {row['candidate_status']}"
    if row["verdict"] in ("ADDED", "FIXED"):
        return "new" if row["base_status"] in (None, "ok") else f"was {row['base_status']}"
    return "" if row["ratio"] is not None else "no ratio"


def _drawn(rows: Sequence[Row], verdict: str) -> int:
    return sum((row["verdict"] or "no direction") == verdict for row in rows)


def _facts(
    rows: Sequence[Row], bars: Sequence[Bar], totals: dict[str, int], moved: int | None, cut: int, sides: Sequence[Side]
) -> list[str]:
    """The subtitle: the verdicts of all cases, and what is drawn of them: those that moved, or all where that is None."""
    total = sum(totals.values())
    hollow = sum(not bar.sure for bar in bars if bar.value is not None)
    of_moved = "" if moved is None else f", {'all' if moved == len(rows) else 'of'} {moved:,} that moved"
    runs = " against ".join(counted(len(side.runs), "run") for side in sides)
    return [
        *common_values(rows, ("suite", "mode", "dtype", "device", "backend")),
        f"{len(rows):,} of {counted(total, 'case')}{of_moved}"
        if len(rows) < total
        else f"all {counted(total, 'case')}",
        *(["nothing moved beyond doubt"] if totals.keys() <= set(STILL) else []),
        ", ".join(f"{count:,} {verdict}" for verdict, count in sorted(totals.items(), key=lambda item: -item[1])),
        *([f"hollow: no change beyond doubt ({hollow:,})"] if hollow else []),
        runs,
        *([f"{counted(cut, 'interval')} cut off by the axis"] if cut else []),
    ]
