"""Incidents: changes that several cases made at the same run."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ... import sql
from .history import COLUMNS, Row, all_changes

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

LEAST_MEMBERS = 3  # cases that move together; two may do so by chance
INCIDENT_COLUMNS = tuple(sql.computed()["incidents"].columns)
PANEL = ("config", "suite", "mode", "device", "dtype", "backend")
TOGETHER = (*PANEL, "metric", "phase", "unit", "better", "kind")  # what members have in common, with run and direction


def all_incidents(warehouse: "Warehouse") -> list[tuple[Any, ...]]:
    """The rows of the table `incidents`."""
    changes = [dict(zip(COLUMNS, row, strict=True)) for row in all_changes(warehouse)]
    return [tuple(row[column] for column in INCIDENT_COLUMNS) for row in find_incidents(changes)]


def find_incidents(changes: Sequence[Row]) -> list[Row]:
    """The incidents among rows of `change_points`, those with the most members first.

    Members are cases of one panel whose changes of one metric are of one kind, begin with the same run and go the same way. A
    drift since the first run of a series may have begun before it, so it shares its beginning with no other.
    An incident has the columns of the member that changed most, and INCIDENT_COLUMNS.
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in changes:
        always = row["kind"] == "drift" and row["good_run_id"] is None
        if row["name"] is not None and row["change"] is not None and row["kind"] != "two levels" and not always:
            key = (*(row[column] for column in TOGETHER), row["since_run_id"], row["change"] > 0)
            groups.setdefault(key, []).append(row)
    incidents = [_incident(members) for members in groups.values() if len(members) >= LEAST_MEMBERS]
    return sorted(incidents, key=lambda row: row["members"], reverse=True)


def _incident(members: Sequence[Row]) -> Row:
    """The geometric mean of the members' levels, and the changes of those that moved least and most."""
    ordered = sorted(members, key=lambda row: abs(row["change"]))
    first, last = ordered[0], ordered[-1]
    before, after = (_mean([row[column] for row in members]) for column in ("before", "after"))
    return {
        **last,
        "verdict": Counter(row["verdict"] for row in members).most_common(1)[0][0],
        "members": len(members),
        "names": sorted({row["name"] for row in members}),
        "before": before,
        "after": after,
        "change": after / before - 1 if before and after is not None else None,
        "least_change": first["change"],
        "most_change": last["change"],
        "p": max(row["p"] for row in members),
    }


def _mean(values: Sequence[float]) -> float | None:
    """The geometric mean; None if there is none."""
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if min(values) > 0 else None


def without_members(changes: Sequence[Row], incidents: Sequence[Row]) -> Iterator[Row]:
    """The changes that belong to no incident."""
    known = {_identity(row) for row in incidents}
    return (row for row in changes if row["name"] is None or row["change"] is None or _identity(row) not in known)


def _identity(row: Row) -> tuple[Any, ...]:
    moved = row["most_change"] if "members" in row else row["change"]
    return (*(row[column] for column in TOGETHER), row["since_run_id"], moved > 0)
