"""Waterfall: the parts of a difference, from the base to the candidate."""

import itertools
import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

from ...query.comparison.sides import find_sides
from ...query.pasteable_sql import table_of
from ...query.why.parts import NOTHING_DIFFERS, Decomposition, DifferencePart, folded, readable, together
from ...query.why.why import why
from ...warehouse.console.declared import Option, Positional
from ...warehouse.console.numbers import amount, counted, signed
from ..chart import Chart, chart
from ..data import Row, read_rows
from ..marks.bars import Bar, Bars
from ..style import palette
from ..style.plot_area import line_labels, row_labels
from ..style.units import choose_unit

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

MOST = 20  # parts; smaller ones are one row
MORE, LESS, LEFT, WHOLE = "more", "less", "unattributed", "whole"
COLOURS = {MORE: palette.MORE, LESS: palette.LESS, LEFT: palette.UNEXPLAINED, WHOLE: palette.WHOLE}
_LINE = re.compile(r"\S+:\d+  ")
COLUMNS = ("name", "base", "candidate", "difference", "low", "high")


@chart
def draw(
    warehouse: "Warehouse",
    base: str,
    candidate: str,
    case: Annotated[str | None, Positional("Case to draw the parts of, `step` or `geomean`.")] = None,
    *,
    metric: Annotated[str | None, Option("Metric to take apart.  [default: the time]")] = None,
    backend: Annotated[str | None, Option("Backend, where the case was measured on several.")] = None,
    all_runs: Annotated[bool, Option("Every run a name means, rather than its newest with its repeats.")] = False,
) -> Chart:
    """The parts of a difference, the largest first, from the base to the candidate; what is unattributed is grey.

    Parts, intervals and CASE are those of `bench why`: a case, `step` or `geomean`; if left out, it is the steps of a
    scheduler, the only case, or the mean of all cases. Hollow parts are within noise.

    \b
        bench viz why main my-branch work:score
        bench viz why a.trace.json b.trace.json -o why.png
    \f
    Raises:
        UnknownName: No run answers to a name, or both sides have no such case.
        NothingToShow: No parts of it are recorded on both sides.
    """
    notes: list[str] = []
    sides = find_sides(warehouse, base, candidate, all_runs=all_runs, notify=notes.append)
    found = why(warehouse, sides, case, metric=metric, backend=backend)
    sql = _statement(found)
    rows = read_rows(warehouse, sql)
    differences = [row["difference"] for row in rows]
    ends = [row[end] for row in rows for end in ("low", "high") if math.isfinite(row[end] or 0)]
    unit = choose_unit(differences if any(differences) else ends, found.unit)
    bars = list(_waterfall(rows, found.unit))
    form = Bars(
        bars=bars, title=unit.title("candidate - base"), unit=unit, ratio=False, colours=COLOURS,
        series=[name for name in COLOURS if any(bar.series == name for bar in bars)],
        tips=(("base", None), ("candidate", None)), labelling=_labels,
    )  # fmt: skip
    parts = len(found.parts)
    cut = [f"{counted(form.cut, 'interval')} cut off by the axis"] if form.cut else []
    return Chart(
        title=f"Why {readable(found.whole.name)} differs from {sides[0].name} to {sides[1].name}",
        finding=_finding(found),
        facts=[_ends(found), counted(parts, "part"), *cut],
        form=form,
        sql=sql,
        rows=rows,
        parameters={
            "base": list(sides[0].runs), "candidate": list(sides[1].runs), "case": case, "metric": metric, "backend": backend,
        },
        counts=[{"case": found.whole.name, "parts": parts, "drawn": len(rows) - 2}],
        notes=[*notes, *found.notes],
    )  # fmt: skip


def _ends(found: Decomposition) -> str:
    """Both values of the case, and their difference."""
    whole = found.whole
    change = signed(whole.difference, found.unit)
    if whole.base is None or whole.candidate is None:
        return change
    return f"{amount(whole.base, found.unit)} to {amount(whole.candidate, found.unit)}: {change}"


def _finding(found: Decomposition) -> str | None:
    """The whole difference and its largest part, or that nothing differs.

    None where either may be none, or where that part is one against the others.
    """
    if NOTHING_DIFFERS in found.notes:
        return f"{readable(found.whole.name)}: {NOTHING_DIFFERS}"
    whole, parts = found.whole, [part for part in found.parts if not part.one_sided]
    largest = parts[0] if parts else whole
    if largest is whole or not (_is_sure(whole) and _is_sure(largest)) or largest.difference * whole.difference < 0:
        return None
    of = f"{signed(whole.difference, found.unit)}, of which {signed(largest.difference, found.unit)}"
    return f"{readable(whole.name)}: {of} {readable(largest.name)}"


def _is_sure(part: DifferencePart) -> bool:
    return part.low is not None and part.high is not None and (part.low > 0 or part.high < 0)


def _statement(found: Decomposition) -> str:
    """SQL whose rows are the parts, those that are small or within noise as one, what is unattributed, and the whole."""
    parts = folded(found.parts)
    if len(parts) > MOST:
        parts = [*parts[: MOST - 1], together(parts[MOST - 1 :])]
    drawn = [*parts, found.unattributed, found.whole]
    return table_of("parts", COLUMNS, map(_named, drawn))


def _named(part: DifferencePart) -> tuple[str | float | None, ...]:
    """The row of a part: of a line of source its place comes first, of a kernel its name."""
    place = f"{os.path.basename(part.file)}:{part.line}"
    name = f"{part.name} ({place})" if ": " not in part.name else f"{place}  {part.name}"
    return (name if part.file else part.name, part.base, part.candidate, part.difference, part.low, part.high)


def _labels(names: Sequence[str], inches: float) -> dict[str, str]:
    """A label of each row: places of lines stay whole."""
    lines = [name for name in names if _LINE.match(name)]
    found = {**line_labels(lines, inches), **row_labels([name for name in names if name not in lines], inches)}
    return {name: found[name] for name in names}


def _waterfall(rows: list[Row], unit: str) -> Iterator[Bar]:
    """A bar for each row, which begins where the one before ends; the whole begins at 0 again."""
    ends = list(itertools.accumulate((row["difference"] for row in rows[:-1]), initial=0.0))
    seen = Counter[str]()
    for place, row in enumerate(rows):
        last = place == len(rows) - 1
        start = 0.0 if last else ends[place]
        seen[name := readable(row["name"])] += 1
        low, high = (None if row[end] is None else start + row[end] for end in ("low", "high"))
        doubtful = row["low"] is not None and row["high"] is not None and row["low"] < 0 < row["high"]
        whose = WHOLE if last else LEFT if place == len(rows) - 2 else MORE if row["difference"] >= 0 else LESS
        yield Bar(
            row=name if seen[name] == 1 else f"{name} ({seen[name]})", series=whose, value=start + row["difference"], start=start,
            low=low, high=high, sure=last or not doubtful, text=signed(row["difference"], unit),
            tips=(amount(row["base"], unit), amount(row["candidate"], unit)),
        )  # fmt: skip
