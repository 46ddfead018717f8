"""Findings that charts share: one sentence each, from the rows that are drawn, or none where they do not bear it."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..query.change.changepoints import LEAST_RUNS, change_points
from ..query.change.levels import ChangePoint
from ..query.pasteable_sql import list_literal, text_literal
from ..warehouse.console.numbers import amount, change_of, counted, percent_change, times
from ..warehouse.console.tables import shorten

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse
    from .marks.lines import Point

_FEWEST = 3  # values of which the largest is worth a sentence
_MOST = 0.75  # of the places that two lines share: where one is surely above the other
_NAME = 40  # columns of a name in a title
MAY_END = " that may end again"  # of an excursion so far
_SURE = ("FASTER", "SLOWER", "BETTER", "WORSE")


def largest(values: Iterable[tuple[str, float | None]], unit: str | None, what: str) -> str | None:
    """The largest of several values: `BERT: compile time 45 s, 2.1x the median of 10` where all are above 0.

    None where two share the first place, or of fewer than three.
    """
    known = sorted(((value, name) for name, value in values if value is not None), reverse=True)
    if len(known) < _FEWEST or known[0][0] == known[1][0]:
        return None
    middle = statistics.median(value for value, _ in known)
    share = f", {times(known[0][0] / middle)} the median of {len(known):,}" if known[-1][0] > 0 else ""
    return f"{shorten(known[0][1], _NAME)}: {what} {amount(known[0][0], unit)}{share}"


def of_lines(points: Sequence["Point"], what: str, places: str) -> str | None:
    """The finding of lines over sizes: how one grows, how two lie apart, or which of several is below all others."""
    count = len({point.series for point in points})
    if len({(point.series, point.x) for point in points}) < len(points):
        return None  # several values of one place are no line
    return (grown if count == 1 else apart if count == 2 else lowest)(points, what, places)


def grown(points: Sequence["Point"], what: str, places: str) -> str | None:
    """The ends of one series: `about 256 tokens: 1.60x the time from 1 to 64 requests`; None where intervals meet."""
    if len(points) < 2:
        return None
    ordered = sorted(points, key=lambda point: point.x)
    first, last = ordered[0], ordered[-1]
    if first.y <= 0 or last.y <= 0 or not (_above(first, last) or _above(last, first)):
        return None
    name = shorten(first.series, _NAME)
    return f"{name}: {times(last.y / first.y)} the {what} from {first.x:,.6g} to {last.x:,.6g} {places}"


def lowest(points: Sequence["Point"], what: str, places: str) -> str | None:
    """The series below all others wherever they all are: `gpt2: the least time of 4 at all 5 lengths`."""
    by_series: dict[str, dict[float, Point]] = {}
    for point in points:
        by_series.setdefault(point.series, {})[point.x] = point
    common = sorted(set.intersection(*(set(own) for own in by_series.values()))) if by_series else []
    if len(by_series) < _FEWEST or len(common) < 2:
        return None
    least = min(by_series, key=lambda name: by_series[name][common[0]].y)
    others = [own for name, own in by_series.items() if name != least]
    if not all(_above(own[x], by_series[least][x]) for own in others for x in common):
        return None
    return f"{shorten(least, _NAME)}: the least {what} of {len(by_series)} at all {len(common)} {places}"


def apart(points: Sequence["Point"], what: str, places: str) -> str | None:
    """Two series, one above the other: `bert: 1.5–2.1x the time of gpt2 at all 5 lengths`, or `at 4 of 5 lengths`.

    None where they cross, where intervals meet at more than a quarter of the places, or with fewer than two that they share.
    """
    by_series: dict[str, dict[float, Point]] = {}
    for point in points:
        by_series.setdefault(point.series, {})[point.x] = point
    if len(by_series) != 2:
        return None
    (one, own), (other, others) = by_series.items()
    common = sorted(own.keys() & others.keys())
    if len(common) < 2 or any(own[x].y <= 0 or others[x].y <= 0 for x in common):
        return None
    above = [x for x in common if _above(own[x], others[x])]
    below = [x for x in common if _above(others[x], own[x])]
    if below and not above:
        one, other, own, others, above, below = other, one, others, own, below, above
    if below or len(above) < max(2, _MOST * len(common)):
        return None
    ratios = sorted(own[x].y / others[x].y for x in above)
    ends = "–".join(dict.fromkeys(f"{ratio:.3g}" for ratio in (ratios[0], ratios[-1])))
    at = f"all {len(common)}" if len(above) == len(common) else f"{len(above)} of {len(common)}"
    return f"{shorten(one, _NAME)}: {ends}x the {what} of {shorten(other, _NAME)} at {at} {places}"


def _above(one: "Point", other: "Point") -> bool:
    """Return whether a point is above another, and its interval too where both have one."""
    if one.low is None or other.high is None:
        return one.y > other.y
    return one.low > other.high


def compared(warehouse: "Warehouse", base: str, candidate: str, case_id: str, metric: str) -> str | None:
    """The verdict of `bench compare` on one case of two runs, where it is beyond doubt: `1.30x slower (95 % 1.27–1.33)`."""
    macro = f"comparisons({list_literal([base])}, {list_literal([candidate])})"
    rows = warehouse.dicts(
        f"FROM {macro} WHERE case_id = {text_literal(case_id)} AND metric = {text_literal(metric)} AND verdict IN {_SURE}"
    )
    return change_of(rows[0]) if len(rows) == 1 else None


def moved(lines: Mapping[str, Sequence[tuple[str, float]]]) -> str | None:
    """The largest step of several lines: `speedup of torchbench: +5.1 % at 2026-05-03, the largest of 3 changes`.

    Args:
        lines: By what it is called, the places and values of a line in order.

    Returns:
        None where all lines are too short to judge.
    """
    judged = {name: line for name, line in lines.items() if len(line) >= LEAST_RUNS}
    if not judged:
        return None
    changes = [
        (abs(change.magnitude), name, change)
        for name, line in judged.items()
        for change in change_points([value for _, value in line])
        if change.magnitude
    ]
    found = [each for each in changes if each[2].kind == "step"] or [
        each for each in changes if is_newest(each[2], judged[each[1]])
    ]
    if not found:
        return f"no lasting change in {counted(max(map(len, judged.values())), 'run')}"
    _, name, change = max(found, key=lambda one: one[0])
    place = judged[name][change.index][0]
    return f"{shorten(name, _NAME)}: {percent_change(change.magnitude)} {of_changes(change, place, len(found))}"


def is_newest(change: ChangePoint, line: Sequence[object]) -> bool:
    """Return whether it is an excursion in which the newest run of a line is: nothing tells yet whether it lasts."""
    return change.kind == "excursion" and change.end == len(line) - 1


def of_changes(change: ChangePoint, when: str, count: int, *, lasts: bool = False) -> str:
    """The time of the largest change: `at 2026-05-03, the largest of 3 changes`; `since` if it lasts to the newest run."""
    is_open = change.kind == "excursion"
    which = MAY_END if is_open else ""
    of_all = f", the largest of {counted(count, 'change')}{which}" if count > 1 else f", one{which}" if is_open else ""
    return f"{'since' if lasts or is_open else 'at'} {when}{of_all}"
