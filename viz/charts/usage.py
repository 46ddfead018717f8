"""Usage: time or memory of models over sequence length or batch size."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import click

from ...query.pasteable_sql import text_literal
from ...warehouse.console.declared import Backends, Configs, Models, Option, Runs
from ...warehouse.console.numbers import counted
from ...warehouse.errors import BenchError, NothingToShow, UnknownName
from ..chart import Chart, chart
from ..data import Row, filter_sql, in_order, lookup_command, read_rows
from ..findings import grown, of_lines
from ..marks.lines import Lines, Panel, Point
from ..style.labels import common_values, distinguish, printable
from ..style.units import DisplayUnit, choose_unit

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

MEMORY = {  # what memory may mean -> the condition on cells
    "GPU memory": "metric = 'cuda_allocated_peak' AND unit = 'bytes'",
    "process memory": "(metric = 'memory' OR metric = 'rss_peak' AND phase IS NULL) AND unit = 'bytes'",
    "memory of a call": "metric = 'rss_growth_peak' AND unit = 'bytes'",
    "process memory in a phase": "metric = 'rss_peak' AND phase IS NOT NULL AND unit = 'bytes'",
}
METRICS = {  # what is asked for -> what it may mean -> the condition on cells; a chart draws one meaning
    "time": {"time": "metric = 'latency' AND unit = 'ns' AND coalesce(phase, 'steady') = 'steady'"},
    "memory": MEMORY,
    **{asked: {kind: MEMORY[kind]} for asked, kind in (
        ("gpu-memory", "GPU memory"), ("process-memory", "process memory"), ("call-memory", "memory of a call"),
    )},
}  # fmt: skip
AXES = {  # x axis -> column, title, the other axis, what its values are called
    "sequence-length": ("sequence_length", "sequence length [tokens]", "batch_size", "bsz"),
    "batch-size": ("batch_size", "batch size [samples]", "sequence_length", "len"),
}
SERIES = ("name", "config", "backend", "dtype", "mode", "device", "parameters")
RELATIVE = ("name", "backend", "config", "dtype", "mode", "device")  # axes on which a series to divide by is looked up


@chart
def draw(
    warehouse: "Warehouse",
    *,
    metric: Annotated[
        str | None,
        Option("What to draw.  [default: time, memory where there is no time]", type=click.Choice(list(METRICS))),
    ] = None,
    x: Annotated[str, Option("The x axis.", type=click.Choice(list(AXES)))] = "sequence-length",
    runs: Runs = (),
    configs: Configs = (),
    models: Models = (),
    backends: Backends = (),
    modes: Annotated[Sequence[str], Option("Only inference, or only training.")] = (),
    short_names: Annotated[Sequence[str], Option("What to call the models, in the order of --models.")] = (),
    no_log: Annotated[bool, Option("Linear axes from 0 rather than logarithmic ones.")] = False,
    relative_to: Annotated[
        str | None, Option("Divide by this model, backend or config at the same sizes.", metavar="NAME")
    ] = None,
) -> Chart:
    """Time or memory of models over sequence length or batch size.

    A line for each model and value of the other axis, on logarithmic axes. Of each case the newest run is drawn, by the
    median of its samples. Memory is that of a GPU, of the process that ran the case alone (as old tools and imports have
    it), or what a call adds: the kind that most cases have, or the one named.

    \b
        bench viz usage --models bert gpt2 -o time.png
        bench viz usage --metric memory --x batch-size --relative-to eager
    \f
    Raises:
        UnknownName: The warehouse holds no such run, config, model, backend or mode.
        NothingToShow: Nothing was measured over that axis.
    """
    if short_names and len(short_names) != len(models):
        raise BenchError(
            f"{counted(len(models), 'model')} and {counted(len(short_names), 'short name')}. Give each of --models one."
        )
    of_runs = filter_sql(warehouse, "series", {"run_id": runs})
    where = filter_sql(
        warehouse, "series", {"run_id": runs, "config": configs, "name": models, "backend": backends, "mode": modes}
    )
    column, x_title, other, called = AXES[x]
    wanted = [metric] if metric else ["time", "memory"]
    order = f"{in_order('name', models)}, {in_order('config', configs)}, {in_order('backend', backends)}"
    for metric in wanted:
        asked = {
            kind: _sql(warehouse, condition, where, of_runs, column, relative_to, order)
            for kind, condition in METRICS[metric].items()
        }
        found = {kind: read_rows(warehouse, sql) for kind, sql in asked.items()}
        kind = max(found, key=lambda kind: len(found[kind]))
        if rows := found[kind]:
            break
    else:
        raise _nothing(warehouse, wanted, where, x, relative_to)
    sql = asked[kind]
    cases = {(row["config"], row["case_id"]) for row in rows}
    others = {(row["config"], row["case_id"]) for own in found.values() for row in own} - cases
    elsewhere = [printable(name) for name in models if name not in {row["name"] for row in rows}]
    failed = _failed(warehouse, METRICS[metric][kind], f"{where} AND {column} IS NOT NULL")
    names = dict(zip(models, short_names, strict=False))
    labelled = [{**row, "name": names.get(row["name"], row["name"])} for row in rows]
    whose = distinguish(labelled, SERIES, always="name")
    series = [
        label if row[other] is None else f"{label} - {called}: {row[other]}"
        for label, row in zip(whose, rows, strict=True)
    ]
    shown = [
        (row, name) for row, name in zip(rows, series, strict=True) if no_log or (row[column] > 0 and row["value"] > 0)
    ]
    hidden = len(rows) - len(shown)
    if not shown:
        raise NothingToShow(f"all {hidden:,} values are 0 or less. Draw them on linear axes: bench viz usage --no-log")
    unit = DisplayUnit("x") if relative_to else choose_unit((row["value"] for row, _ in shown), rows[0]["unit"])
    what = f"{kind} relative to {printable(relative_to)}" if relative_to else kind
    drawn = Counter(row["config"] for row, _ in shown)
    form = Lines(
        points=[_point(row, name, column) for row, name in shown],
        panels=[Panel(y_title=what, unit=unit)],
        x_title=x_title,
        x_zero=True,
        log_x=not no_log,
        log_y=not no_log,
        dashed=True,
        families={name: row["name"] for row, name in shown},
        tips=(("samples", ",d"), ("measured as", None), ("look it up", None)),
    )
    return Chart(
        title=_title(metric, labelled, relative_to),
        finding=_finding(form.points, [*zip(rows, whose, strict=True)], (column, other), what) if not hidden else None,
        facts=[
            *common_values(rows, ("config", "backend", "dtype", "device")),
            f"{len(shown)} of {counted(len(rows), 'result')}" if hidden else counted(len(rows), "result"),
            *([f"{counted(len(others), 'case')} with another kind of memory left out"] if others else []),
            *([f"no {kind} at any {x.replace('-', ' ')}: {', '.join(elsewhere)}"] if elsewhere else []),
            *([f"failed: {', '.join(f'{status} {count}' for status, count in failed.items())}"] if failed else []),
        ],
        form=form,
        sql=sql,
        rows=rows,
        parameters={
            "metric": metric, "x": x, "runs": list(runs), "configs": list(configs), "models": list(models),
            "backends": list(backends), "modes": list(modes), "log": not no_log, "relative_to": relative_to,
        },
        counts=[
            {"config": config, "results": count, "drawn": drawn[config]}
            for config, count in Counter(row["config"] for row in rows).items()
        ],
        notes=[f"{counted(hidden, 'value')} not above 0: no place on a logarithmic axis; see --no-log"] if hidden else (),
    )  # fmt: skip


def _finding(points: Sequence[Point], rows: Sequence[tuple[Row, str]], axes: tuple[str, str], what: str) -> str | None:
    """The growth of one model over the axis that was asked for, by its longest line; of several how they differ at all sizes."""
    if len({whose for _, whose in rows}) == 1:
        lines: dict[str, list[Point]] = {}
        for point in points:
            lines.setdefault(point.series, []).append(point)
        return grown(max(lines.values(), key=len), what, "tokens" if axes[0] == "sequence_length" else "samples")
    sizes = sorted({tuple(row[axis] or 0 for axis in axes) for row, _ in rows})
    of_sizes = [
        Point(
            panel=0, series=whose, x=sizes.index(tuple(row[axis] or 0 for axis in axes)), y=row["value"], low=row["low"],
            high=row["high"],
        )
        for row, whose in rows
    ]  # fmt: skip
    return of_lines(of_sizes, what, "sizes")


def _sql(
    warehouse: "Warehouse", condition: str, where: str, of_runs: str, column: str, relative_to: str | None, order: str
) -> str:
    """The newest value of each case, of the chosen runs if these have one; divided by what `relative_to` has there."""
    kept = f"{where} AND {column} IS NOT NULL"
    newest = f"""WITH newest AS (
  SELECT config, name, mode, device, dtype, backend, batch_size, sequence_length, parameters, metric, unit, n, value,
    low, high, run_id, case_id
  FROM series
  WHERE {condition}
  QUALIFY row_number() OVER (
    PARTITION BY config, case_id ORDER BY ({of_runs}) DESC, metric, phase NULLS FIRST, position DESC, value DESC
  ) = 1
)"""
    order = f"ORDER BY {order}, dtype, mode, device, parameters, batch_size, sequence_length, case_id"
    if relative_to is None:
        return f"{newest}\nSELECT * FROM newest\nWHERE {kept}\n{order}"
    axis = _axis_of(warehouse, relative_to)
    others = [name for name in (*RELATIVE, "batch_size", "sequence_length", "parameters") if name != axis]
    same = " AND ".join(f"side.{name} IS NOT DISTINCT FROM base.{name}" for name in others)
    return f"""{newest},
relative AS (
  SELECT side.* REPLACE (side.value / base.value AS value, NULL::DOUBLE AS low, NULL::DOUBLE AS high, 'ratio' AS unit)
  FROM (SELECT * FROM newest WHERE {kept}) AS side
  JOIN newest AS base ON {same}
  WHERE base.{axis} = {text_literal(relative_to)} AND side.{axis} IS DISTINCT FROM base.{axis} AND base.value > 0
)
SELECT * FROM relative
{order}"""


def _axis_of(warehouse: "Warehouse", name: str) -> str:
    """The axis that has the series to divide by."""
    known: list[str] = []
    for axis in RELATIVE:
        values = [str(value) for (value,) in warehouse.rows(f"SELECT DISTINCT {axis} FROM series ORDER BY 1")]
        if name in values:
            return axis
        known += values
    raise UnknownName("model, backend or config", name, known)


def _failed(warehouse: "Warehouse", measured: str, where: str) -> dict[str, int]:
    """Counts by status of failed cases that have no such value."""
    query = (
        f"SELECT status, count(DISTINCT (config, case_id)) FROM case_outcomes WHERE {where}"
        " AND kind = 'performance' AND status NOT IN ('ok', 'skipped', 'unknown')"
        f" AND (config, case_id) NOT IN (SELECT (config, case_id) FROM series WHERE {measured})"
        " GROUP BY status ORDER BY status"
    )
    return dict(warehouse.rows(query))


def _nothing(
    warehouse: "Warehouse", wanted: Sequence[str], where: str, x: str, relative_to: str | None
) -> NothingToShow:
    """The error that says why there is nothing to draw."""
    measured = " OR ".join(f"({condition})" for metric in wanted for condition in METRICS[metric].values())
    other = next(axis for axis in AXES if axis != x)
    count = "count(DISTINCT (config, case_id))"
    over = ", ".join(f"{count} FILTER ({AXES[axis][0]} IS NOT NULL)" for axis in (x, other))
    ((here, placed, elsewhere),) = warehouse.rows(f"SELECT {count}, {over} FROM series WHERE ({measured}) AND {where}")
    if placed and relative_to:
        return NothingToShow(
            f"{relative_to} has no result at the sizes of the others. See what there is with: bench list cases"
        )
    if elsewhere:
        return NothingToShow(
            f"none of {counted(here, 'result')} can be drawn over {x}. Try: bench viz usage --x {other}"
        )
    if here:
        return NothingToShow(
            f"none of {counted(here, 'result')} has a {x} or {other}. "
            'Draw them with: bench viz query "FROM series" --x name --y value'
        )
    ((passed,),) = warehouse.rows(f"SELECT count(*) FROM case_outcomes WHERE status = 'ok' AND {where}")
    if not passed and (failed := _failed(warehouse, measured, where)):
        return NothingToShow(
            f"{counted(sum(failed.values()), 'case')} failed and none left a value. See them with: bench list cases"
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
        tips=(row["n"], row["metric"], lookup_command(row, "series")),
    )


def _title(metric: str, rows: Sequence[Row], relative_to: str | None) -> str:
    """The title in the words of the scripts that write these files: `Time usage for inference A vs. B`."""
    models = list(dict.fromkeys(str(row["name"]) for row in rows))
    modes = {row["mode"] for row in rows}
    mode = f" for {next(iter(modes))}" if len(modes) == 1 and None not in modes else ""
    few = " vs. ".join(models) if mode or relative_to else f"of {' vs. '.join(models)}"
    of = few if len(models) <= 4 else f"of {len(models)} models"
    return f"{metric.replace('-', ' ').capitalize()} usage{mode}{f' relative to {relative_to},' if relative_to else ''} {of}"
