"""An axis of runs: each has a place in the order of time, and a unique name."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ...warehouse.console.numbers import counted
from ..data import Row


@dataclass(frozen=True, slots=True)
class RunAxis:
    """Runs from the oldest to the newest."""

    title: str
    names: tuple[str, ...]
    places: dict[str, int]  # run id -> place
    configs: tuple[str, ...]  # of the runs

    @classmethod
    def of(cls, rows: Iterable[Row]) -> "RunAxis":
        """The axis of the runs that rows belong to; rows have run_id, config, began_at and git_commit."""
        runs = {row["run_id"]: row for row in rows}
        ordered = sorted(runs.values(), key=lambda run: (run["began_at"] or "", run["run_id"]))
        title, names = _named(ordered)
        places = {run["run_id"]: place for place, run in enumerate(ordered)}
        return cls(title, tuple(names), places, tuple(run["config"] for run in ordered))

    @classmethod
    def back(cls, rows: Iterable[Row]) -> "RunAxis":
        """The axis of runs of several configs, each counted back from its newest: rows have `age`, 1 for the newest."""
        ages = {row["run_id"]: row["age"] for row in rows}
        most = max(ages.values())
        names = (*(f"-{age - 1}" for age in range(most, 1, -1)), "newest")
        configs = {row["run_id"]: row["config"] for row in rows}
        return cls(
            "runs before the newest of each config",
            names,
            {run: most - age for run, age in ages.items()},
            tuple(configs.values()),
        )


def _named(runs: Sequence[Row]) -> tuple[str, list[str]]:
    """Labels of runs: by day where they differ in it, else by minute, by day and a number, by commit, or by number."""
    years = {str(run["began_at"])[:4] for run in runs}
    since = 2 if len(years) > 1 else 5
    days = [run["began_at"] and run["began_at"][since:10] for run in runs]
    nth = {run["run_id"]: days[: place + 1].count(days[place]) for place, run in enumerate(runs)}
    ways: dict[str, Callable[[Row], Any]] = {
        "run [day]": lambda run: run["began_at"] and run["began_at"][since:10],
        "run [time]": lambda run: run["began_at"] and run["began_at"][since:16],
        "run [day #]": lambda run: run["began_at"] and f"{run['began_at'][since:10]} #{nth[run['run_id']]}",
        "run [commit]": lambda run: run["git_commit"] and run["git_commit"][:7],
    }
    for title, way in ways.items():
        names = [way(run) for run in runs]
        if all(names) and len(set(names)) == len(names):
            return title, names
    return "run, the oldest first", [str(place) for place in range(1, len(runs) + 1)]


def began(row: Row) -> str:
    """The time when a run began, to the second."""
    return str(row["began_at"] or "unknown")[:19]


def days_of(runs: int, rows: Iterable[Row]) -> str:
    """The number of runs and their days: `3 runs, from 2026-11-20 to 2026-11-22`."""
    days = sorted(row["began_at"][:10] for row in rows if row["began_at"]) or ["an unknown day"]
    span = f"of {days[0]}" if days[0] == days[-1] else f"from {days[0]} to {days[-1]}"
    return f"{counted(runs, 'run')}, {span}"
