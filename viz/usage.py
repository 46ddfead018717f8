"""Usage: time or memory of models over sequence length or batch size."""

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..warehouse.errors import BenchError, NothingToShow, UnknownName
from ..warehouse.options import Command, Values
from ..warehouse.words import counted
from .data import Row, ask, found, keeping, known_configs, text
from .figure import Figure, compose, public
from .labels import printable, shared, telling
from .lines import Lines, Panel, Point
from .options import backends_option, chart_options, configs_option, models_option
from .units import Unit, suiting

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

NAME = "usage"
METRICS = {  # what is asked for -> the condition on cells, best first
    "time": ("metric = 'latency' AND unit = 'ns' AND coalesce(phase, 'steady') = 'steady'", "1"),
    "memory": (
        "unit = 'bytes' AND metric IN ('memory', 'cuda_allocated_peak', 'rss_growth_peak', 'rss_peak')",
        "list_position(['memory', 'cuda_allocated_peak', 'rss_growth_peak', 'rss_peak'], metric)",
    ),
}
AXES = {  # x axis -> column, title, the other axis, what its values are called
    "sequence-length": ("sequence_length", "sequence length [tokens]", "batch_size", "bsz"),
    "batch-size": ("batch_size", "batch size [samples]", "sequence_length", "len"),
}
SERIES = ("name", "config", "backend", "dtype", "mode", "device", "parameters")
RELATIVE = ("name", "backend", "config", "dtype", "mode", "device")  # axes on which a series to divide by is looked up


@click.command(NAME, cls=Command)
@click.option(
    "--metric", type=click.Choice(list(METRICS)), help="What to draw.  [default: time, memory where there is no time]"
)
@click.option("--x", type=click.Choice(list(AXES)), default="sequence-length", show_default=True, help="The x axis.")
@configs_option
@models_option
@backends_option
@click.option("--modes", cls=Values, help="Only inference, or only training.")
@click.option("--short-names", cls=Values, help="What to call the models, in the order of --models.")
@click.option("--no-log", is_flag=True, help="Linear axes from 0 rather than logarithmic ones.")
@click.option("--relative-to", metavar="NAME", help="Divide by this model, backend or config at the same sizes.")
@chart_options
def command(**options: Any) -> "Callable[[Warehouse], Figure]":
    """Time or memory of models over sequence length or batch size.

    A line for each model and value of the other axis, on logarithmic axes. Of each case the newest value is drawn.

    \b
        bench viz usage --models bert gpt2 -o time.png
        bench viz usage --metric memory --x batch-size --relative-to eager
    """
    return functools.partial(draw, **options)


def draw(
    warehouse: "Warehouse",
    *,
    metric: str | None = None,
    x: str = "sequence-length",
    configs: Sequence[str] = (),
    models: Sequence[str] = (),
    backends: Sequence[str] = (),
    modes: Sequence[str] = (),
    short_names: Sequence[str] = (),
    no_log: bool = False,
    relative_to: str | None = None,
    title: str | None = None,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Time or memory of models over sequence length or batch size.

    Args:
        warehouse: Where the results are.
        metric: "time" or "memory"; memory unless there is a time.
        x: "sequence-length" or "batch-size".
        configs: Configs to draw.
        models: Models to draw.
        backends: Backends to draw.
        modes: Modes to draw: inference, training.
        short_names: What to call the models, in the order of `models`.
        no_log: Whether axes are linear and begin at 0.
        relative_to: Model, backend or config that all values are divided by, at the same sizes.
        title: Title instead of the default.
        size: Width and height in inches.

    Raises:
        UnknownName: The warehouse holds no such config, model, backend or mode.
        NothingToShow: Nothing was measured over that axis.
    """
    if short_names and len(short_names) != len(models):
        raise BenchError(
            f"{counted(len(models), 'model')} and {counted(len(short_names), 'short name')}. Give each of --models one."
        )
    where = keeping(warehouse, "series", {"config": configs, "name": models, "backend": backends, "mode": modes})
    column, x_title, other, called = AXES[x]
    wanted = [metric] if metric else list(METRICS)
    for metric in wanted:
        sql = _sql(warehouse, metric, where, column, relative_to)
        if rows := ask(warehouse, sql):
            break
    else:
        raise _nothing(warehouse, wanted, where, x)
    failed = _failed(warehouse, METRICS[metric][0], f"{where} AND {column} IS NOT NULL")
    names = dict(zip(models, short_names, strict=False))
    labelled = [{**row, "name": names.get(row["name"], row["name"])} for row in rows]
    series = [
        label if row[other] is None else f"{label} - {called}: {row[other]}"
        for label, row in zip(telling(labelled, SERIES, always="name"), rows, strict=True)
    ]
    shown = [
        (row, name) for row, name in zip(rows, series, strict=True) if no_log or (row[column] > 0 and row["value"] > 0)
    ]
    hidden = len(rows) - len(shown)
    if not shown:
        raise NothingToShow(f"all {hidden:,} values are 0 or less. Draw them on linear axes: bench viz usage --no-log")
    unit = Unit("x") if relative_to else suiting((row["value"] for row, _ in shown), rows[0]["unit"])
    what = f"{metric} relative to {printable(relative_to)}" if relative_to else metric
    form = Lines(
        points=[_point(row, name, column) for row, name in shown],
        panels=[Panel(y_title=what, unit=unit)],
        x_title=x_title,
        x_zero=True,
        log_x=not no_log,
        log_y=not no_log,
        dashed=True,
        tips=(("samples", ",d"), ("measured as", None), ("look it up", None)),
        known=known_configs(warehouse),
        given=size,
    )
    return compose(
        NAME,
        title=title,
        own_title=_title(metric, labelled, relative_to),
        facts=[
            *shared(rows, ("config", "backend", "dtype", "device")),
            f"{len(shown)} of {counted(len(rows), 'result')}" if hidden else counted(len(rows), "result"),
            *([f"failed: {', '.join(f'{status} {count}' for status, count in failed.items())}"] if failed else []),
        ],
        form=form,
        sql=sql,
        rows=rows,
        parameters={
            "metric": metric, "x": x, "configs": list(configs), "models": list(models), "backends": list(backends),
            "modes": list(modes), "log": not no_log, "relative_to": relative_to,
        },
        counts=[
            {"config": config, "results": len(own), "drawn": sum(row["config"] == config for row, _ in shown)}
            for config in dict.fromkeys(row["config"] for row in rows)
            for own in [[row for row in rows if row["config"] == config]]
        ],
        notes=[f"{counted(hidden, 'value')} not above 0: no place on a logarithmic axis; see --no-log"] if hidden else (),
    )  # fmt: skip


usage = public(draw)


def _sql(warehouse: "Warehouse", metric: str, where: str, column: str, relative_to: str | None) -> str:
    """The newest value of each case; relative to another, divided by what that has at the same place."""
    condition, preference = METRICS[metric]
    kept = f"{where} AND {column} IS NOT NULL"
    newest = f"""WITH newest AS (
  SELECT config, name, mode, device, dtype, backend, batch_size, sequence_length, parameters, metric, unit, n, value,
    low, high, run_id, case_id
  FROM series
  WHERE {condition}
  QUALIFY row_number() OVER (PARTITION BY config, case_id ORDER BY {preference}, position DESC, value DESC) = 1
)"""
    order = "ORDER BY name, config, backend, dtype, mode, device, parameters, batch_size, sequence_length, case_id"
    if relative_to is None:
        return f"{newest}\nSELECT * FROM newest\nWHERE {kept}\n{order}"
    axis = _axis_of(warehouse, relative_to)
    others = [name for name in (*RELATIVE, "batch_size", "sequence_length", "parameters") if name != axis]
    same = " AND ".join(f"side.{name} IS NOT DISTINCT FROM base.{name}" for name in others)
    return f"""{newest}
SELECT side.* REPLACE (side.value / base.value AS value, NULL::DOUBLE AS low, NULL::DOUBLE AS high, 'ratio' AS unit)
FROM (SELECT * FROM newest WHERE {kept}) AS side
JOIN newest AS base ON {same}
WHERE base.{axis} = {text(relative_to)} AND side.{axis} IS DISTINCT FROM base.{axis} AND base.value > 0
{order}"""


def _axis_of(warehouse: "Warehouse", name: str) -> str:
    """On which axis a series to divide by is found."""
    known: list[str] = []
    for axis in RELATIVE:
        values = [str(value) for (value,) in warehouse.rows(f"SELECT DISTINCT {axis} FROM series ORDER BY 1")]
        if name in values:
            return axis
        known += values
    raise UnknownName("model, backend or config", name, known)


def _failed(warehouse: "Warehouse", measured: str, where: str) -> dict[str, int]:
    """By status, how many of these cases failed and never left such a value."""
    query = f"""
        SELECT status, count(DISTINCT (config, case_id)) FROM case_outcomes
        WHERE {where} AND kind = 'performance' AND status NOT IN ('ok', 'skipped', 'unknown')
            AND (config, case_id) NOT IN (SELECT (config, case_id) FROM series WHERE {measured})
        GROUP BY status ORDER BY status
    """
    return dict(warehouse.rows(query))


def _nothing(warehouse: "Warehouse", wanted: Sequence[str], where: str, x: str) -> NothingToShow:
    """Why nothing is there to draw."""
    measured = " OR ".join(f"({METRICS[metric][0]})" for metric in wanted)
    ((here,),) = warehouse.rows(f"SELECT count(*) FROM series WHERE ({measured}) AND {where}")
    other = next(axis for axis in AXES if axis != x)
    if here:
        return NothingToShow(
            f"none of {counted(here, 'result')} can be drawn over {x}. Try: bench viz usage --x {other}"
        )
    if failed := _failed(warehouse, measured, where):
        return NothingToShow(
            f"{counted(sum(failed.values()), 'case')} failed and none left a value. See them with: bench cases"
        )
    return NothingToShow(
        f"no {' or '.join(wanted)} was measured. Measure some with: bench measure models --sequence-lengths 64 128"
    )


def _point(row: Row, series: str, column: str) -> Point:
    return Point(
        panel=0,
        series=series,
        x=row[column],
        y=row["value"],
        low=row["low"],
        high=row["high"],
        tips=(row["n"], row["metric"], found(row, "series")),
    )


def _title(metric: str, rows: Sequence[Row], relative_to: str | None) -> str:
    """As the scripts that these files come from say it: `Time usage for inference A vs. B`."""
    models = list(dict.fromkeys(str(row["name"]) for row in rows))
    modes = {row["mode"] for row in rows}
    mode = f" for {next(iter(modes))}" if len(modes) == 1 and None not in modes else ""
    of = " vs. ".join(models) if len(models) <= 4 else f"of {len(models)} models"
    return f"{metric.capitalize()} usage{mode}{f' relative to {relative_to},' if relative_to else ''} {of}"
