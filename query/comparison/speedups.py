"""Speedups for people: each with its doubt, and the geometric mean with what it leaves out."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...warehouse.console.numbers import amount, counted, ratio, times
from ...warehouse.errors import NothingToShow
from ..axes import BACKEND_LAST, HEADINGS
from ..tables import select

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

LABELS = ("config", *BACKEND_LAST)
FOR_PEOPLE = (
    *LABELS,
    "baseline_ns",
    "candidate_ns",
    "speedup",
    "low",
    "high",
    "n",
    "p",
    "status",
    "accuracy",
    "passing",
)
NAMED = 3  # cases left out that a sentence names

SPEEDUP_SPARE = ("baseline", "candidate")  # columns of a table that may go where there is no room
_ALTERNATIVES = """
    SELECT name, backend FROM cases
    WHERE name IS NOT NULL AND run_id = (SELECT run_id FROM _run_times ORDER BY began_at DESC NULLS LAST, run_id DESC LIMIT 1)
    ORDER BY line, recorded_at, case_id
"""


def render(rows: Sequence[Sequence[Any]]) -> tuple[list[str], list[list[Any]]]:
    """Rows of FOR_PEOPLE as a table without empty axes; each ratio is a text with its interval."""
    width = len(LABELS)
    names = [HEADINGS.get(axis, axis) for axis in LABELS]
    keep = [i for i in range(width) if any(row[i] is not None for row in rows)]
    columns = [names[i] for i in keep] + ["baseline", "candidate", "speedup", "status"]
    out = []
    for row in rows:
        baseline, candidate, speedup, low, high, n, p, status, accuracy, passing = row[width:]
        wrong = status == "ok" and not passing and accuracy is not None
        shown = None if wrong else ratio(speedup, low, high, n, p)  # a wrong answer is not faster
        sides = (amount(baseline, "ns"), amount(candidate, "ns"))
        out.append([*(row[i] for i in keep), *sides, shown, accuracy if wrong else status])
    return columns, out


def no_baseline(warehouse: "Warehouse") -> NothingToShow:
    """The error where no case has a baseline, with the whole command for the alternatives that the newest run holds."""
    rows = warehouse.rows(_ALTERNATIVES)
    for column, found in (("backend", [backend for _, backend in rows]), ("name", [name for name, _ in rows])):
        values = list(dict.fromkeys(filter(None, found)))
        if len(values) > 1 and (column == "backend" or len(values) == len(rows) == 2):
            words = shlex.join(["bench", "compare", *values[:2], "--by", column])
            return NothingToShow(
                f"no case was measured against a baseline. The newest run has {len(values)} values of {column}: {words}"
            )
    return NothingToShow(
        "no case was measured against a baseline. Compare two runs with: bench compare; measure models with their baseline with:"
        " bench measure models"
    )


def geomeans(warehouse: "Warehouse", where: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """A sentence for each geometric mean of the runs shown, with its coverage."""
    columns = (
        "config", "suite", "mode", "dtype", "device", "backend", "speedup", "dashboard_speedup", "n", "n_total",
        "excluded",
    )  # fmt: skip
    found = select(
        warehouse, "geomean_speedups()", where, columns=columns, order="config, suite, mode, dtype, device, backend"
    )
    for *axes, speedup, dashboard, n, total, excluded in found.rows:
        mean = "no geomean" if speedup is None else f"geomean {times(speedup)}"
        as_one = f" ({times(dashboard)} with slowdowns as 1)" if speedup is not None and dashboard != speedup else ""
        covered = f"over {n} of {counted(total, 'case')}{_left_out(excluded)}"
        yield f"{' '.join(axis for axis in axes if axis)}: {mean}{as_one} {covered}"


def _left_out(excluded: Sequence[str]) -> str:
    if not excluded:
        return ""
    if len(excluded) <= NAMED:
        return f"; left out: {', '.join(excluded)}"
    reasons = Counter(text.rpartition(": ")[2] for text in excluded)
    return f"; left out: {', '.join(f'{count} {reason}' for reason, count in reasons.most_common())}"
