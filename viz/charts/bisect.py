"""Bisect: what each commit changed, and the probability that it is the one that made it slower."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from ...query.bisect.results import find_search
from ...query.computed import compute
from ...query.pasteable_sql import text_literal
from ...warehouse.console.declared import Option
from ...warehouse.console.numbers import counted, percent_change, probability
from ...warehouse.errors import NothingToShow
from ..chart import Chart, chart
from ..data import Row, read_rows, select
from ..marks.lines import Lines, Panel, Point
from ..marks.overlays import Level
from ..style.units import DisplayUnit

if TYPE_CHECKING:
    from ...query.bisect.findings import BisectQuestion
    from ...warehouse.database import Warehouse

PERCENT = DisplayUnit("%", 0.01)
DIGITS = 9  # of a commit


@chart
def draw(
    warehouse: "Warehouse",
    *,
    search: Annotated[
        str | None, Option("Search to draw, by the beginning of its name.  [default: the newest]")
    ] = None,
) -> Chart:
    """The change at every measured commit, in the order of commits, and the probability that each commit made the change.

    Changes are medians of runs in relation to the level before the change; the thick lines are the levels.

    \b
        bench viz bisect
        bench viz bisect --search 951e53 -o bisect.png
    \f
    Raises:
        NothingToShow: There is no search, or nothing was measured for it.
        UnknownName: No search has this name.
    """
    question = find_search(warehouse, search)
    compute(warehouse, "bisect_commits bisect_results")
    of_search = f"search = {text_literal(question.search)}"
    columns = "place, revision, probability, status, runs, change, failures, reason"
    sql = select(columns, "bisect_commits", of_search, order="place")
    rows = read_rows(warehouse, sql)
    (result,) = read_rows(warehouse, select("*", "bisect_results", of_search))
    what = "failing" if question.finds == "failure" else str(question.metric)
    measured = [row for row in rows if row["change"] is not None]
    if not measured and not any(row["failures"] for row in rows):
        raise NothingToShow(f"nothing was measured for search {question.search} yet. Go on with the same bench bisect")
    panels = [Panel(y_title="probability", unit=PERCENT, title="made the change")]
    points = [_point(row, 0, "probability", row["probability"]) for row in rows if row["place"]]
    if measured:
        panels.insert(0, Panel(y_title=what, unit=PERCENT, title="change", zero=False))
        points = [_point(row, 0, "change", row["change"]) for row in measured] + [_moved(point) for point in points]
    form = Lines(
        points=points, panels=panels, x_title="commit, in order", levels=_levels(result, rows) if measured else (),
        tips=(("commit", None), ("runs", None), ("status", None)), dashed=False, columns=1,
    )  # fmt: skip
    return Chart(
        title=f"The commit that changed {what}", form=form,
        finding=f"{what}: {_answer(result)}" if result["status"] == "found" else None, facts=_facts(question, result, rows),
        sql=sql, rows=rows, parameters={"search": question.search},
        counts=[{"search": question.search, **{key: result[key] for key in ("commits", "revisions", "runs")}}],
    )  # fmt: skip


def _point(row: Row, panel: int, series: str, value: float) -> Point:
    tips = (row["revision"][:DIGITS], row["runs"] or row["failures"], row["status"])
    return Point(panel=panel, series=series, x=row["place"], y=value, tips=tips)


def _moved(point: Point) -> Point:
    return Point(panel=1, series=point.series, x=point.x, y=point.y, tips=point.tips)


def _levels(result: Row, rows: Sequence[Row]) -> list[Level]:
    """The level before the change and after it, where one was found."""
    if result["status"] != "found" or result["change"] is None:
        return []
    places = {row["revision"]: row["place"] for row in rows}
    at, last = places[result["last_commit"]], len(rows) - 1
    return [
        Level(panel=0, series="change", start=0, end=max(0, at - 1), y=0.0, changed=False),
        Level(panel=0, series="change", start=at, end=last, y=result["change"], changed=True),
    ]


def _answer(result: Row) -> str:
    """The answer with its doubt."""
    first, last = (str(result[end] or "")[:DIGITS] for end in ("first_commit", "last_commit"))
    which = first if first == last else f"{first} to {last}"
    change = percent_change(result["change"], result["low"], result["high"])
    between = f" by {change}" if change else ""
    answers: dict[str, Any] = {
        "found": f"{which} changed it{between}, {probability(result['probability'] or 0.0)} sure",
        "nothing": f"no commit changed it, {probability(result['nothing'])} sure",
        "open": "not sure yet",
    }
    return str(answers[result["status"]])


def _facts(question: "BisectQuestion", result: Row, rows: Sequence[Row]) -> list[str]:
    """The subtitle: the answer unless the title says it, how much it took, and what could not be measured."""
    held = sum(row["status"] in ("not prepared", "failed") for row in rows)
    return [
        *([_answer(result)] if result["status"] != "found" else []),
        *([f"{counted(result['others'], 'other change')}"] if result["others"] else []),
        f"{counted(result['runs'], 'run')} of {counted(result['revisions'], 'revision')}, {counted(result['commits'], 'commit')}",
        *([f"{counted(held, 'commit')} cannot be measured"] if held else []),
        f"{question.good[:DIGITS]}..{question.bad[:DIGITS]}",
    ]
