"""Incidents: what happened at one moment, over cases, suites and metrics, ranked by what it costs."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ... import sql
from ...warehouse.console.numbers import counted, percent_change

if TYPE_CHECKING:
    from .series import Row, Series

INCIDENT_COLUMNS = tuple(sql.computed()["incidents"].columns)
PANEL = ("config", "suite", "mode", "device", "dtype", "backend")
SPEED = ("speedup", "latency", "absolute_latency", "throughput")  # of one measurement of a case: they change together
OF_SUITES = {"suite_speedup": "speedup", "suite_compile_time": "compile_latency"}  # number of a suite -> of its cases
LARGEST = math.log(100)  # a change counts as no more
OVER = 0.25  # cost of what is over, in that of what lasts
SMALL = 0.3  # cost below which an incident stands last: 3 cases by 10 %, 30 by 1 %

Moment = tuple[str, int | str]  # config; place in time, or what has none
Subject = tuple[str, bool]  # metric, whether it rose


def order_runs(series: Sequence["Series"]) -> dict[tuple[str, str], int]:
    """The place in time of each config's runs, counted in rounds: what one night measured has one place."""
    alike = {(id(one.runs), one.labels["config"]): one.runs for one in series}
    nights = {(config, run.run_id): run.night for (_, config), runs in alike.items() for run in runs}
    known: dict[str, set[int]] = defaultdict(set)
    for (config, _), night in nights.items():
        known[config].add(night)
    places = {config: {night: place for place, night in enumerate(sorted(each))} for config, each in known.items()}
    return {key: places[key[0]][night] for key, night in nights.items()}


def count_cases(series: Sequence["Series"]) -> dict[tuple[Any, ...], int]:
    """The cases of each panel."""
    cases: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    for one in series:
        if one.labels["name"] is not None:
            cases[_panel(one.labels)].add(one.labels["case_id"])
    return {panel: len(ids) for panel, ids in cases.items()}


def find_incidents(
    changes: Sequence["Row"], places: Mapping[tuple[str, str], int], cases: Mapping[tuple[Any, ...], int]
) -> list["Row"]:
    """Sum rows of `change_points` up as incidents, and number them in both.

    Args:
        changes: The rows; their `incident` is set.
        places: Place in time of each config's runs, from `order_runs`.
        cases: Cases of each panel, from `count_cases`.

    Returns:
        INCIDENT_COLUMNS, the costliest first.
    """
    incidents: dict[Moment, list[Row]] = defaultdict(list)
    for row, moment in zip(changes, _moments(changes, places), strict=True):
        incidents[moment].append(row)
    found = [(_sum_up(members, cases), members) for members in incidents.values()]
    found.sort(key=lambda one: _rank(one[0]))
    for number, (incident, members) in enumerate(found, 1):
        incident["incident"] = number
        for row in members:
            row["incident"] = number
    return [{column: incident[column] for column in INCIDENT_COLUMNS} for incident, _ in found]


def _rank(incident: "Row") -> tuple[Any, ...]:
    """Sort key of incidents: worse, better, then small, alternating or without direction; by cost."""
    undirected = incident["better"] is None or incident["kind"] == "two levels"
    return (
        undirected or incident["cost"] < SMALL, undirected, not incident["is_worse"], -incident["cost"],
        str(incident["since_run_id"]),
    )  # fmt: skip


def _moments(changes: Sequence["Row"], places: Mapping[tuple[str, str], int]) -> Iterator[Moment]:
    """The moment of each change: its own run, or that of a larger change of the same measurement and direction.

    Such a change is dated a run earlier or later, or at a run at which the series has no value.
    """
    costs: dict[tuple[str, Subject, int], float] = defaultdict(float)
    for row in changes:
        costs[row["config"], _measurement(row), _place(row, "since", places)] += _size(row)
    moved: dict[tuple[str, Subject, int], int] = {}

    def settle(config: str, subject: Subject, nearby: Sequence[int]) -> int:
        """The place with the largest cost among those nearby."""
        return max(nearby, key=lambda place: (costs.get((config, subject, place), 0.0), -place))

    for config, subject, place in sorted(costs, key=lambda key: -costs[key]):
        best = settle(config, subject, range(place - 1, place + 2))
        moved[config, subject, place] = moved.get((config, subject, best), best)
    for row in changes:
        if row["kind"] == "two levels" or (row["kind"] == "drift" and row["good_run_id"] is None):
            yield row["config"], row["kind"]
            continue
        last = _place(row, "since", places)
        first = _place(row, "good", places) + 1 if row["good_run_id"] else last
        best = settle(row["config"], _measurement(row), range(min(first, last), last + 1))
        yield row["config"], moved.get((row["config"], _measurement(row), best), best)


def _place(row: "Row", which: str, places: Mapping[tuple[str, str], int]) -> int:
    return places[row["config"], row[f"{which}_run_id"]]


def _subject(row: "Row") -> Subject:
    return str(OF_SUITES.get(row["metric"], row["metric"])), bool(row["after"] > row["before"])


def _measurement(row: "Row") -> Subject:
    """The measurement and its direction; rates of the same calls count as their times do."""
    metric, rose = _subject(row)
    return ("speed", is_worse(row)) if metric in SPEED and row["better"] is not None else (metric, rose)


def is_worse(row: "Row") -> bool:
    """Return whether it changed for the worse."""
    return row["better"] is not None and (row["after"] > row["before"]) == (row["better"] == "lower")


def _size(row: "Row") -> float:
    """|ln(after / before)|."""
    before, after = row["before"], row["after"]
    return min(LARGEST, abs(math.log(after / before))) if before > 0 and after > 0 else LARGEST


def _cost(row: "Row") -> float:
    return _size(row) * (OVER if row["lasts"] is False else 1.0)


def _panel(row: "Row") -> tuple[Any, ...]:
    return tuple(row[column] for column in PANEL)


def _sum_up(members: Sequence["Row"], cases: Mapping[tuple[Any, ...], int]) -> "Row":
    """The row of an incident: the numbers of the subject that costs most, and the others in a word."""
    groups: dict[Subject, list[Row]] = defaultdict(list)
    for row in members:
        groups[_subject(row)].append(row)
    costs = {subject: _cost_of(rows, cases) for subject, rows in groups.items()}
    ranked = sorted(
        groups, key=lambda one: (not is_worse(groups[one][0]), groups[one][0]["better"] is None, -costs[one])
    )
    lead = groups[ranked[0]]
    moved = [row for row in lead if row["name"] is not None] or lead
    ordered = sorted(moved, key=_size)
    begins: dict[str, float] = defaultdict(float)
    for row in moved:
        begins[row["since_run_id"]] += _cost(row)
    most = next(row for row in reversed(ordered) if begins[row["since_run_id"]] == max(begins.values()))
    before, after = (_mean([row[column] for row in moved]) for column in ("before", "after"))
    count = len({row["case_id"] for row in moved})
    return {
        **most,
        "metric": ranked[0][0] if any(row["name"] is not None for row in lead) else most["metric"],
        "cost": costs[ranked[0]],
        "is_worse": is_worse(most),
        "kind": _most_common(moved, "kind"),
        "verdict": _most_common(moved, "verdict"),
        "lasts": _most_common(moved, "lasts"),
        "members": count if most["name"] is not None else sum({_panel(row): cases.get(_panel(row), 1) for row in moved}.values()),
        "suites": sorted({row["suite"] for row in moved if row["suite"] is not None}),
        "names": sorted({row["name"] for row in moved if row["name"] is not None}),
        "before": before,
        "after": after,
        "change": after / before - 1 if before and after is not None else most["change"],
        "least_change": ordered[0]["change"],
        "most_change": ordered[-1]["change"],
        "p": max(row["p"] for row in moved),
        "also": "; ".join(_in_a_word(groups[one]) for one in ranked[1:]) or None,
        "changes": len(members),
    }  # fmt: skip


def _cost_of(rows: Sequence["Row"], cases: Mapping[tuple[Any, ...], int]) -> float:
    """The cost of the cases of each panel; of one whose cases were not seen to move, that of its suite's number."""
    of_cases: dict[tuple[Any, ...], float] = defaultdict(float)
    of_suites: dict[tuple[Any, ...], float] = defaultdict(float)
    for row in rows:
        if row["name"] is None:
            of_suites[_panel(row)] = max(of_suites[_panel(row)], _cost(row) * cases.get(_panel(row), 1))
        else:
            of_cases[_panel(row)] += _cost(row)
    return math.fsum((of_suites | of_cases).values())


def _in_a_word(rows: Sequence["Row"]) -> str:
    """A metric, its mean change, and how many cases changed so; a suite's own metric has none."""
    moved = [row for row in rows if row["name"] is not None] or rows
    before, after = (_mean([row[column] for row in moved]) for column in ("before", "after"))
    change = f" {percent_change(after / before - 1)}" if before and after is not None else ""
    if moved[0]["name"] is None:
        return f"{rows[0]['metric']}{change}"
    return f"{_subject(rows[0])[0]}{change} in {counted(len({row['case_id'] for row in moved}), 'case')}"


def _most_common(rows: Sequence["Row"], column: str) -> Any:
    return Counter(row[column] for row in rows).most_common(1)[0][0]


def _mean(values: Sequence[float]) -> float | None:
    """The geometric mean; None if there is none."""
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if min(values) > 0 else None
