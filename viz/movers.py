"""Movers: what changed between two sides, the worst and the best, with intervals."""

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..query.sides import Side, find_sides
from ..warehouse.errors import NothingToShow, UnknownName
from ..warehouse.options import Command
from ..warehouse.words import amount, counted, ratio
from .bars import Bar, Bars
from .data import Row, ask, ends_of, keeping, known_configs, text, texts
from .figure import Figure, compose, public
from .labels import CASE, shared, telling
from .options import backends_option, chart_options, models_option, suites_option
from .units import Unit, suiting

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

NAME = "movers"
MOST = 20  # from either end
WARM = "coalesce(phase, 'steady') NOT IN ('cold', 'warmup')"
SURE = ("FASTER", "SLOWER", "BETTER", "WORSE")


@click.command(NAME, cls=Command)
@click.argument("base")
@click.argument("candidate")
@click.option("--metric", default="latency", show_default=True, help="What to compare.")
@click.option(
    "--by", type=click.Choice(["ratio", "difference"]), default="ratio", show_default=True,
    help="Relative or absolute change.",
)  # fmt: skip
@click.option("--worst", type=click.IntRange(0), default=MOST, show_default=True, help="The N that lost most.")
@click.option("--best", type=click.IntRange(0), default=MOST, show_default=True, help="The N that gained most.")
@suites_option
@backends_option
@models_option
@click.option(
    "--margin", type=click.FloatRange(0), default=0.02, show_default=True, help="Smallest change that counts."
)
@chart_options
def command(**options: Any) -> "Callable[[Warehouse], Figure]":
    """What changed between two sides: the cases that lost and gained most, with 95 % intervals.

    A side is a config, the beginning of a run id or of a commit, latest or latest~1, as for `bench compare`. By ratio, above
    1 is better. A bar is hollow where the verdict is UNSURE or SAME; what only one side has stands below.

    \b
        bench viz movers main my-branch
        bench viz movers latest~1 latest --by difference --worst 10 --best 0 -o movers.png
    """
    return functools.partial(draw, **options)


def draw(
    warehouse: "Warehouse",
    base: str,
    candidate: str,
    *,
    metric: str = "latency",
    by: str = "ratio",
    worst: int = MOST,
    best: int = MOST,
    suites: Sequence[str] = (),
    backends: Sequence[str] = (),
    models: Sequence[str] = (),
    margin: float = 0.02,
    title: str | None = None,
    size: tuple[float, float] | None = None,
) -> Figure:
    """What changed between two sides.

    Args:
        warehouse: Where the runs are.
        base: The side to compare with, as `find_sides` takes it.
        candidate: The side under judgement.
        metric: What to compare.
        by: "ratio" (above 1 is better) or "difference" (candidate - base).
        worst: How many of the cases that lost most.
        best: How many of those that gained most.
        suites: Suites to draw.
        backends: Backends to draw.
        models: Models to draw.
        margin: Smallest change that counts, as a fraction.
        title: Title instead of the default.
        size: Width and height in inches.

    Raises:
        UnknownName: No run answers to a name, or nobody measured that metric, suite, backend or model.
        NothingToShow: No case was measured by either side.
    """
    notes: list[str] = []
    sides = find_sides(warehouse, base, candidate, say=notes.append)
    macro = f"comparisons({texts(sides[0].runs)}, {texts(sides[1].runs)}, margin := {margin!r}::DOUBLE)"
    measured = f"SELECT DISTINCT metric FROM {macro} WHERE metric IS NOT NULL ORDER BY 1"
    known = [name for (name,) in warehouse.rows(measured)]
    if not known:
        raise NothingToShow("neither side measured anything that can be compared. See what they are: bench runs")
    if metric not in known:
        raise UnknownName("metric", metric, known, where="what both sides measured")
    where = keeping(warehouse, macro, {"suite": suites, "backend": backends, "name": models})
    cases = f"""  SELECT * REPLACE (coalesce(case_id, name, metric) AS work_hash), NULL AS config, NULL AS run_id,
    CASE WHEN better = 'lower' THEN -difference ELSE difference END AS gain
  FROM {macro}
  WHERE metric = {text(metric)} AND {WARM} AND {where}"""
    columns = f"{', '.join(CASE)}, backend, metric, phase, unit, better, base_value, candidate_value, difference"
    ranking = "min(ratio)" if by == "ratio" else "min(gain)"
    sql = ends_of(
        cases,
        ranking,
        f"{columns}, ratio, low, high, verdict, reason, base_status, candidate_status, case_id",
        lowest=worst,
        highest=best,
    )
    rows = ask(warehouse, sql)
    verdicts = f"SELECT coalesce(verdict, 'no direction'), count(*) FROM ({cases}) GROUP BY 1 ORDER BY 1"
    totals = dict(warehouse.rows(verdicts))
    if not rows:
        raise NothingToShow("no case is left to draw. Try a larger --worst or --best")
    unit = Unit("x") if by == "ratio" else suiting((row["difference"] for row in rows), rows[0]["unit"])
    cases_told = telling(rows, (*CASE, "phase", "backend"), always="name")
    bars = [_bar(row, case, by) for row, case in zip(rows, cases_told, strict=True)]
    form = Bars(
        bars=bars,
        title=f"{metric}, change [x, log; above 1 is better]"
        if by == "ratio"
        else unit.title(f"{metric}, candidate - base"),
        unit=Unit(None) if by == "ratio" else unit,
        ratio=by == "ratio",
        tips=(("base", None), ("candidate", None), ("verdict", None), ("why", None)),
        known=known_configs(warehouse),
        given=size,
    )
    names = [side.name for side in sides]
    return compose(
        NAME,
        title=title,
        own_title=f"What changed from {names[0]} to {names[1]}",
        facts=_facts(rows, bars, totals, form.cut, sides),
        form=form,
        sql=sql,
        rows=rows,
        parameters={
            "base": list(sides[0].runs), "candidate": list(sides[1].runs), "metric": metric, "by": by, "worst": worst,
            "best": best, "suites": list(suites), "backends": list(backends), "models": list(models), "margin": margin,
        },
        counts=[{"verdict": verdict, "cases": count, "drawn": _drawn(rows, verdict)} for verdict, count in totals.items()],
        total=sum(totals.values()),
        notes=notes,
    )  # fmt: skip


movers = public(draw)


def _bar(row: Row, case: str, by: str) -> Bar:
    said = ratio(row["ratio"], row["low"], row["high"]) or ""
    if by == "difference" and row["difference"] is not None:
        sign = "+" if row["difference"] > 0 else "-" if row["difference"] < 0 else ""
        said = f"{sign}{amount(abs(row['difference']), row['unit'])} · {said}".removesuffix(" · ")
    low, high = _interval(row) if by == "difference" else (row["low"], row["high"])
    return Bar(
        row=case,
        series=row["backend"] or "",
        value=row["ratio"] if by == "ratio" else row["difference"],
        low=low,
        high=high,
        sure=row["verdict"] in SURE,
        note=_note(row),
        said=said,
        tips=(
            amount(row["base_value"], row["unit"]), amount(row["candidate_value"], row["unit"]), row["verdict"], row["reason"],
        ),
    )  # fmt: skip


def _interval(row: Row) -> tuple[float | None, float | None]:
    """The interval of the ratio as one of the difference, the base's value held."""
    base, low, high = row["base_value"], row["low"], row["high"]
    if base is None or low is None or not low > 0:
        return None, None
    return (
        (base / high - base, base / low - base) if row["better"] == "lower" else (base * low - base, base * high - base)
    )


def _note(row: Row) -> str:
    """What stands instead of a bar: how a side failed, or that it lacks the case."""
    if row["verdict"] == "ONLY-THERE":
        return "gone" if row["candidate_status"] in (None, "ok") else f"now {row['candidate_status']}"
    if row["verdict"] == "ONLY-HERE":
        return "new" if row["base_status"] in (None, "ok") else f"was {row['base_status']}"
    return "" if row["ratio"] is not None else "no ratio"


def _drawn(rows: Sequence[Row], verdict: str) -> int:
    return sum((row["verdict"] or "no direction") == verdict for row in rows)


def _facts(
    rows: Sequence[Row], bars: Sequence[Bar], totals: dict[str, int], cut: int, sides: Sequence[Side]
) -> list[str]:
    """The subtitle: the verdicts of all cases, and what is drawn of them."""
    total = sum(totals.values())
    hollow = sum(not bar.sure for bar in bars if bar.value is not None)
    runs = " against ".join(counted(len(side.runs), "run") for side in sides)
    return [
        *shared(rows, ("suite", "mode", "dtype", "device", "backend")),
        f"{len(rows):,} of {counted(total, 'case')}" if len(rows) < total else f"all {counted(total, 'case')}",
        ", ".join(f"{count:,} {verdict}" for verdict, count in sorted(totals.items(), key=lambda item: -item[1])),
        *([f"hollow: no change beyond doubt ({hollow:,})"] if hollow else []),
        runs,
        *([f"{counted(cut, 'interval')} cut off by the axis"] if cut else []),
    ]
