"""SLO curve: share of requests within the given limits, over the load."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...warehouse.console.declared import Configs, Runs
from ...warehouse.console.numbers import counted
from ...warehouse.errors import NothingToShow
from .. import slo
from ..chart import Chart, chart
from ..data import Row, in_order, read_rows, select
from ..marks.lines import Lines, Panel, Point
from ..slo import E2e, Tpot, Ttft
from ..style.labels import common_values
from ..style.units import DisplayUnit

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

NAMED = 3  # configs that the title has room for
TITLE = "Share of requests within limits, by load"


@chart
def draw(
    warehouse: "Warehouse",
    *,
    configs: Configs = (),
    runs: Runs = (),
    ttft: Ttft = None,
    tpot: Tpot = None,
    e2e: E2e = None,
) -> Chart:
    """The share of requests within the given limits, over the load that the benchmark sent.

    Without limits it is the share that completed. Bars are 95 % intervals, by blocks of time or by runs.

    \b
        bench viz slo-curve --ttft 200 --tpot 50
        bench viz slo-curve --configs A B --e2e 2000 -o slo.png
    \f
    Raises:
        UnknownName: There is no such config or run.
        NothingToShow: The store holds no requests.
    """
    limits = {"ttft": ttft, "tpot": tpot, "e2e": e2e}
    arguments = slo.arguments(warehouse, configs, runs, limits)
    sql = select("*", f"slo_curve({arguments})", order=f"{in_order('config', configs)}, load, case_id")
    rows = read_rows(warehouse, sql)
    if not rows:
        raise NothingToShow("no benchmark says how long it took or when its requests came, so no load is known")
    form = Lines(
        points=[
            Point(
                panel=0, series=row["config"], x=row["load"], y=row["share_met"] * 100,
                low=None if row["share_low"] is None else row["share_low"] * 100,
                high=None if row["share_high"] is None else row["share_high"] * 100, tips=(row["requests"], row["goodput"]),
            )
            for row in rows
        ],
        panels=[Panel(y_title="requests within limits", unit=DisplayUnit("%"))],
        x_title="load [requests/s]",
        x_zero=True,
        tips=(("requests", ",d"), ("goodput [requests/s]", ",.3~g")),
    )  # fmt: skip
    without = sum(row["share_low"] is None for row in rows)
    return Chart(
        title=TITLE,
        finding=_finding(rows, "within limits" if any(limits.values()) else "completed"),
        facts=[
            slo.sentence(limits) or "no limits given: those that completed",
            *common_values(rows, ("config", "name")),
            f"{counted(sum(row['requests'] for row in rows), 'request')}, 95 % intervals by blocks of time or runs",
            *([f"{without} without an interval: too few requests"] if without else []),
            *filter(None, [slo.left_out(warehouse, arguments, len(rows), "a load")]),
        ],
        form=form,
        sql=sql,
        rows=rows,
        parameters={"configs": list(configs), "runs": list(runs), **limits},
        counts=[
            {"config": config, "requests": sum(row["requests"] for row in rows if row["config"] == config)}
            for config in dict.fromkeys(row["config"] for row in rows)
        ],
    )  # fmt: skip


def _finding(rows: Sequence[Row], what: str) -> str | None:
    """The most requests within limits that each of a few configs served in a second, and the load that was sent then."""
    if all(row["share_met"] == 1 for row in rows):
        return f"all {counted(sum(row['requests'] for row in rows), 'request')} {what}"
    most: dict[str, Row] = {}
    for row in rows:
        if row["goodput"] is not None and (
            row["config"] not in most or row["goodput"] > most[row["config"]]["goodput"]
        ):
            most[row["config"]] = row
    if not 1 <= len(most) <= NAMED:
        return None
    said = ", ".join(f"{config} {row['goodput']:.3g} of {row['load']:.3g}" for config, row in most.items())
    return f"most requests/s {what}: {said}"
