"""Pass rate: how every case ended in each of the last runs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import click

from ...warehouse.console.declared import Backends, Configs, Models, Option, Runs, Suites
from ...warehouse.console.numbers import counted, share_of
from ...warehouse.errors import NothingToShow
from ..chart import Chart, chart
from ..data import Row, filter_sql, in_order, lookup_command, read_rows
from ..marks.heatmap import HeatCell, HeatMap, State
from ..marks.run_axis import RunAxis, began, days_of
from ..style.labels import CASE, common_values, distinguish

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

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


@chart
def draw(
    warehouse: "Warehouse",
    *,
    runs: Runs = (),
    configs: Configs = (),
    suites: Suites = (),
    backends: Backends = (),
    models: Models = (),
    last: Annotated[int, Option("Runs of each config.", type=click.IntRange(1), metavar="K")] = LAST,
    bottom: Annotated[int, Option("The N cases that pass least.", type=click.IntRange(1))] = BOTTOM,
    all_cases: Annotated[bool, Option("All cases.", "--all")] = False,
) -> Chart:
    """How every case ended in each of the last runs, by colour and by letter.

    The cases that pass least come first; those that always pass share one row, unless --all. An empty place is a run that
    did not measure the case.

    \b
        bench viz pass-rate --suites torchbench
        bench viz pass-rate --backends inductor --last 30 --all -o passing.png
    \f
    Raises:
        UnknownName: The warehouse holds no such run, config, suite, backend or model.
        NothingToShow: No run judged any case.
    """
    where = {"run_id": runs, "config": configs, "suite": suites, "backend": backends, "name": models}
    condition = filter_sql(warehouse, "case_summaries", where)
    cases = f"""WITH cases AS (
  SELECT *, dense_rank() OVER (PARTITION BY config ORDER BY began_at DESC NULLS LAST, run_id DESC) AS age
  FROM case_summaries
  JOIN (SELECT run_id, began_at, git_commit FROM run_summaries) USING (run_id)
  WHERE status <> 'skipped' AND {condition}
),
recent AS (
  SELECT *, avg(passing::INTEGER) OVER (PARTITION BY config, case_id) AS share FROM cases WHERE age <= {max(last, len(runs)):d}
)"""
    whole = f"{cases}\nSELECT count(DISTINCT (config, case_id)) FILTER (share = 1), count(DISTINCT (config, case_id)) FROM recent"
    ((steady, total),) = warehouse.rows(whole)
    rest = 0 if all_cases or steady in (1, total) else steady  # one of them, or nothing else, is drawn as it is
    limit = "" if all_cases else f"\nWHERE place <= {bottom:d}{' AND share < 1' if rest else ''}"
    order = ", ".join(in_order(axis, where[axis]) for axis in ("name", "backend", "config"))
    sql = f"""{cases},
placed AS (SELECT *, dense_rank() OVER (ORDER BY share, {order}, case_id) AS place FROM recent)
SELECT config, {", ".join(CASE)}, backend, run_id, began_at, git_commit, passing, status, accuracy, reason, age, case_id
FROM placed{limit}
ORDER BY place, began_at NULLS FIRST, run_id"""
    rows = read_rows(warehouse, sql)
    if not rows:
        raise NothingToShow("no run judged any case. Measure some with: bench measure models")
    ran = read_rows(
        warehouse, f"{cases}\nSELECT DISTINCT run_id, config, began_at, git_commit, age FROM recent ORDER BY ALL"
    )
    axis = RunAxis.of(ran) if len({row["config"] for row in ran}) == 1 else RunAxis.back(ran)
    counts = _counts(warehouse, cases, rows)
    results, passing = (sum(count[key] for count in counts) for key in ("results", "passing"))
    everything = read_rows(
        warehouse, f"{cases}\nSELECT DISTINCT config, {', '.join(CASE)}, backend FROM recent ORDER BY ALL"
    )
    called = distinguish([*rows, *everything], (*CASE, "backend", "config"), always="name")[: len(rows)]
    form = HeatMap(
        cells=[
            HeatCell(
                row=case,
                column=axis.places[row["run_id"]],
                state=_state(row),
                tips=(
                    row["reason"],
                    row["run_id"],
                    began(row),
                    row["git_commit"],
                    lookup_command(row, "case_summaries"),
                ),
            )
            for row, case in zip(rows, called, strict=True)
        ]
        + [
            HeatCell(row=f"{rest:,} always pass", column=column, state=PASSES, tips=(None,) * 5)
            for column in range(len(axis.names) if rest else 0)
        ],
        columns=axis.names,
        title=axis.title,
        tips=("reason", "run", "began", "commit", "look it up"),
    )
    drawn = len(set(called))
    return Chart(
        title=TITLE,
        finding=f"{share_of(passing, results)} of results pass, {passing:,} of {results:,}"
        + (f"; {steady:,} of {counted(total, 'case')} do in every run" if len(axis.names) > 1 else ""),
        facts=[
            *common_values(everything, ("config", "suite", "mode", "dtype", "device", "backend")),
            _describe(drawn, rest, total),
            days_of(len(axis.places), ran),
        ],
        form=form,
        sql=sql,
        rows=rows,
        parameters={
            "runs": list(runs), "configs": list(configs), "suites": list(suites), "backends": list(backends),
            "models": list(models), "last": last, "bottom": None if all_cases else bottom,
        },
        counts=counts,
        total=results,
    )  # fmt: skip


def _describe(drawn: int, rest: int, total: int) -> str:
    """Say how many cases are drawn; those that always pass are one row."""
    if drawn + rest == total:
        return f"all {counted(total, 'case')}, {rest:,} of them in one row" if rest else f"all {counted(total, 'case')}"
    return f"{drawn:,} of {counted(total, 'case')}, those that pass least"


def _counts(warehouse: "Warehouse", cases: str, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Counts of cases by backend, drawn or not."""
    what = "coalesce(backend, ''), count(*), count(*) FILTER (passing), count(DISTINCT (config, case_id))"
    query = f"{cases}\nSELECT {what} FROM recent GROUP BY 1 ORDER BY 1"
    return [
        {
            "backend": backend, "cases": count, "results": results, "passing": passing,
            "drawn": sum((row["backend"] or "") == backend for row in rows),
        }
        for backend, results, passing, count in warehouse.rows(query)
    ]  # fmt: skip


def _state(row: Row) -> State:
    """The state that is drawn for a result."""
    if row["passing"]:
        return PASSES
    reason = str(row["reason"]).removeprefix("baseline ")
    if reason in ENDINGS:
        return ENDINGS[reason]
    return next((ENDINGS[name] for name, parts in ALIKE.items() if any(part in reason for part in parts)), OTHER)
