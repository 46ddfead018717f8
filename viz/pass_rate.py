"""Pass rate: how every case ended in each of the last runs."""

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..warehouse.errors import NothingToShow
from ..warehouse.options import Command
from ..warehouse.words import counted
from .data import Row, ask, found, keeping
from .figure import Figure, compose, public
from .heat import Cell, Heat, State
from .labels import CASE, shared, telling
from .options import backends_option, chart_options, configs_option, models_option, suites_option
from .run_axis import RunAxis, began, days_of

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

NAME = "pass-rate"
TITLE = "Which cases pass"
LAST, BOTTOM = 10, 50

PASSES = State("P", "passes", "#8fd6bd")
FAILS = State("F", "fails to run", "#eb8f6c")
OTHER = State("X", "ended otherwise", "#d6d07e")
ENDINGS = {  # reason that a case does not pass -> what is drawn
    "fail_to_run": FAILS,
    "fail_accuracy": State("A", "wrong result", "#f4c65a"),
    "OOM": State("M", "out of memory", "#e0a0c9"),
    "timeout": State("T", "timeout", "#8abbea"),
    "interrupted": State("I", "interrupted", "#b9a2ea"),
    "model_fail_to_load": State("L", "model does not load", "#dfb184"),
}
ALIKE = {"OOM": ("OOM",), "fail_accuracy": ("two_runs_differ",), "fail_to_run": ("run_fail",)}  # parts of reasons


@click.command(NAME, cls=Command)
@configs_option
@suites_option
@backends_option
@models_option
@click.option(
    "--last", type=click.IntRange(1), default=LAST, show_default=True, metavar="K", help="Runs of each config."
)
@click.option(
    "--bottom", type=click.IntRange(1), default=BOTTOM, show_default=True, help="The N cases that pass least."
)
@click.option("--all", "all_cases", is_flag=True, help="All cases.")
@chart_options
def command(**options: Any) -> "Callable[[Warehouse], Figure]":
    """How every case ended in each of the last runs, by colour and by letter.

    The cases that pass least come first. An empty place is a run that did not measure the case.

    \b
        bench viz pass-rate --suites torchbench
        bench viz pass-rate --backends inductor --last 30 --all -o passing.png
    """
    return functools.partial(draw, **options)


def draw(
    warehouse: "Warehouse",
    *,
    configs: Sequence[str] = (),
    suites: Sequence[str] = (),
    backends: Sequence[str] = (),
    models: Sequence[str] = (),
    last: int = LAST,
    bottom: int = BOTTOM,
    all_cases: bool = False,
    title: str | None = None,
    size: tuple[float, float] | None = None,
) -> Figure:
    """How every case ended in each of the last runs.

    Args:
        warehouse: Where the runs are.
        configs: Configs to draw.
        suites: Suites to draw.
        backends: Backends to draw.
        models: Models to draw.
        last: How many runs of each config.
        bottom: How many of the cases that pass least.
        all_cases: Whether to draw all cases.
        title: Title instead of the default.
        size: Width and height in inches.

    Raises:
        UnknownName: The warehouse holds no such config, suite, backend or model.
        NothingToShow: No run judged any case.
    """
    where = {"config": configs, "suite": suites, "backend": backends, "name": models}
    condition = keeping(warehouse, "case_summaries", where)
    cases = f"""WITH cases AS (
  SELECT *, dense_rank() OVER (PARTITION BY config ORDER BY began_at DESC NULLS LAST, run_id DESC) AS age
  FROM case_summaries
  JOIN (SELECT run_id, began_at, git_commit FROM run_summaries) USING (run_id)
  WHERE status <> 'skipped' AND {condition}
),
recent AS (
  SELECT *, avg(passing::INTEGER) OVER (PARTITION BY config, case_id) AS share FROM cases WHERE age <= {last:d}
)"""
    limit = "" if all_cases else f"\nWHERE place <= {bottom:d}"
    sql = f"""{cases},
placed AS (SELECT *, dense_rank() OVER (ORDER BY share, name, backend, config, case_id) AS place FROM recent)
SELECT config, {", ".join(CASE)}, backend, run_id, began_at, git_commit, passing, status, accuracy, reason, age, case_id
FROM placed{limit}
ORDER BY place, began_at NULLS FIRST, run_id"""
    rows = ask(warehouse, sql)
    if not rows:
        raise NothingToShow("no run judged any case. Measure some with: bench measure models")
    axis = RunAxis.of(rows) if len({row["config"] for row in rows}) == 1 else RunAxis.back(rows)
    counts = _counts(warehouse, cases, rows)
    results, passing, total = (sum(count[key] for count in counts) for key in ("results", "passing", "cases"))
    called = telling(rows, (*CASE, "backend", "config"), always="name")
    form = Heat(
        cells=[
            Cell(
                row=case,
                column=axis.places[row["run_id"]],
                state=_state(row),
                tips=(row["reason"], row["run_id"], began(row), row["git_commit"], found(row, "case_summaries")),
            )
            for row, case in zip(rows, called, strict=True)
        ],
        columns=axis.names,
        title=axis.title,
        tips=("reason", "run", "began", "commit", "look it up"),
        given=size,
    )
    drawn = len(set(called))
    return compose(
        NAME,
        title=title,
        own_title=TITLE,
        facts=[
            *shared(rows, ("config", "suite", "mode", "dtype", "device", "backend")),
            f"{drawn:,} of {counted(total, 'case')}, those that pass least" if drawn < total else f"all {counted(total, 'case')}",
            f"{passing / results:.0%} of {'all ' if drawn < total else ''}results pass ({passing:,} of {results:,})",
            days_of(len(axis.places), rows),
        ],
        form=form,
        sql=sql,
        rows=rows,
        parameters={
            "configs": list(configs), "suites": list(suites), "backends": list(backends), "models": list(models),
            "last": last, "bottom": None if all_cases else bottom,
        },
        counts=counts,
        total=results,
    )  # fmt: skip


pass_rate = public(draw)


def _counts(warehouse: "Warehouse", cases: str, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """By backend, what there is of its cases, drawn or not."""
    query = f"""{cases}
        SELECT coalesce(backend, ''), count(*), count(*) FILTER (passing), count(DISTINCT (config, case_id)) FROM recent
        GROUP BY 1 ORDER BY 1"""
    return [
        {
            "backend": backend, "cases": count, "results": results, "passing": passing,
            "drawn": sum((row["backend"] or "") == backend for row in rows),
        }
        for backend, results, passing, count in warehouse.rows(query)
    ]  # fmt: skip


def _state(row: Row) -> State:
    """What is drawn of a result."""
    if row["passing"]:
        return PASSES
    reason = str(row["reason"]).removeprefix("baseline ")
    if reason in ENDINGS:
        return ENDINGS[reason]
    return next((ENDINGS[name] for name, parts in ALIKE.items() if any(part in reason for part in parts)), OTHER)
