"""Resolve names that users give: a run by id prefix, config, commit, day, tag, `latest` or path; values of a column."""

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from ..warehouse.console.numbers import counted
from ..warehouse.errors import BenchError, NothingToShow, UnknownName
from ..warehouse.events import STATUSES
from ..warehouse.log import EventLog
from ..warehouse.schema import quote
from ..warehouse.upkeep.healing import note
from .run_paths import GatheredStore, is_path, place_of, runs_of_path

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

_RUNS = "SELECT run_id, config, git_commit, source, began_at FROM run_summaries ORDER BY began_at DESC NULLS LAST, run_id DESC"
_TAGS = "SELECT run_id, tags::VARCHAR FROM runs WHERE tags IS NOT NULL"
_ARCHIVED = "SELECT run_id, config, git_commit, '', archive FROM _archived ORDER BY archived_at DESC, run_id"
_FORGOTTEN = "SELECT run_id, config, git_commit, source FROM forgotten_runs ORDER BY forgotten_at DESC, run_id"
COLUMN_LABELS = {"name": "model"}  # what people call a column
WHY = "why"  # config and tag of runs that `bench why --measure` made: they are never meant by other names
SHORTEST_PREFIX = 4  # characters of a run id or commit that may stand for the whole
_TAG = "tag:"  # before the name or value of a tag
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_COMMIT = re.compile(r"[0-9a-f]+")


class RunNames(NamedTuple):
    """The names of a run."""

    run_id: str
    config: str
    git_commit: str | None
    source: str
    day: str | None = None  # it began on, in UTC, as YYYY-MM-DD
    tags: str | None = None  # JSON


def resolve_run(warehouse: "Warehouse", name: str) -> str:
    """The run a name means: the newest of `resolve_runs`."""
    return resolve_runs(warehouse, name)[0]


def resolve_runs(warehouse: "Warehouse", name: str) -> list[str]:
    """All runs a name means, as `named_runs` says, or a path: those of the files there that were ingested; newest first.

    Raises:
        UnknownName: No run answers to it.
        BenchError: As in `named_runs`; or nothing at the path was ingested.
    """
    try:
        return named_runs(warehouse, name)
    except UnknownName:
        if not is_path(name):
            raise
    return runs_of_path(warehouse, name)


def named_runs(warehouse: "Warehouse", name: str) -> list[str]:
    """All runs a name means that is no path, newest first.

    Args:
        warehouse: Where to look.
        name: `latest` (any run, but those of `bench doctor`, `bench bisect` and `bench why`), a config, the beginning of a
            run id or of a git commit, a day in UTC as YYYY-MM-DD, or `tag:` and a tag's name, its value or NAME=VALUE, in
            this order; `~N` after it leaves out the newest N: latest~1, main~2.

    Returns:
        Run ids, at least one.

    Raises:
        UnknownName: No run answers to it.
        BenchError: The beginning of an id fits several runs, there are fewer runs than `~N` asks for, or none at all, or
            those it means were archived.
    """
    base = name.partition("~")[0]
    rows = run_names(warehouse, tagged=base.startswith(_TAG) or base == "latest" or _COMMIT.fullmatch(base) is not None)
    base, back = split_back(name, rows)
    runs = matching_runs(base, rows)
    if not runs:
        _raise_if_removed(warehouse, base)
        if not rows and place_of(warehouse, name):
            raise BenchError(f"{name} holds no result")
        if not rows:
            cures = removed_runs(warehouse) or ["Record with `bench measure`, or load with: bench ingest PATH"]
            if EventLog(warehouse.store).being_written():
                cures = ["One is being recorded: see it with `bench show --follow`"]
            raise BenchError(" ".join([f"there are no runs in {warehouse.store}.", *cures]))
        known = list(dict.fromkeys(["latest", *(config for _, config, *_ in rows), *(run_id for run_id, *_ in rows)]))
        cure = "List them with: bench list runs"
        if warehouse.rows("SELECT 1 FROM cases WHERE name = ? LIMIT 1", [name]):
            cure = "It is the name of a case: --models chooses it, and bench compare … --by name compares two of a run"
        raise UnknownName("run", name, known, where=str(warehouse.store), cure=cure)
    if (back or 0) >= len(runs):
        raise BenchError(f"no run {name!r}: {base} has {len(runs)}. List them with: bench list runs")
    _note_future(base, runs[: (back or 0) + 1], rows)
    return runs[back or 0 :]


def _note_future(name: str, meant: Sequence[str], rows: Iterable[RunNames]) -> None:
    """Say that a wrong clock made a run the newest of its name."""
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()  # clocks may differ by hours
    for run in rows:
        named = name == run.day or run.run_id.startswith(name)
        if run.run_id in meant and run.day is not None and run.day > tomorrow and not named:
            note([
                f"run {run.run_id} counts as the newest of {name!r} because it began in the future, on {run.day}: its clock was"
                f" wrong. Take it out with: bench forget {run.run_id}"
            ])  # fmt: skip


def run_names(warehouse: "Warehouse", *, tagged: bool) -> list[RunNames]:
    """The names of all runs, newest first; tags only if `tagged`."""
    tags = dict(warehouse.rows(_TAGS)) if tagged else {}
    rows = warehouse.rows(_RUNS)
    day = {row[0]: row[4].date().isoformat() for row in rows if row[4] is not None}
    return [RunNames(*row[:4])._replace(day=day.get(row[0]), tags=tags.get(row[0])) for row in rows]


def split_back(name: str, runs: Iterable[RunNames]) -> tuple[str, int | None]:
    """A name and the number after its `~`; None where there is none, or a config is called so (`--revisions HEAD~1`)."""
    base, _, back = name.partition("~")
    counts = back.isdecimal() and not any(run.config == name for run in runs)
    return (base, int(back)) if counts else (name, None)


def matching_runs(name: str, runs: Sequence[RunNames]) -> list[str]:
    """Runs a name without `~N` means, in the order given."""
    if name == "latest":
        own = [
            run.run_id for run in runs if run.source not in ("doctor", "bisect") and not _is_aside(run, "bisect", WHY)
        ]
        return own or [run.run_id for run in runs]
    of_config = [run.run_id for run in runs if run.config == name]
    whole = of_config or [run.run_id for run in runs if run.run_id == name]
    if whole or len(name) < SHORTEST_PREFIX:
        return whole
    by_id = [run.run_id for run in runs if run.run_id.startswith(name)]
    if len(by_id) > 1:
        raise BenchError(f"{name!r} matches {len(by_id)} run ids: {', '.join(by_id[:3])} … Use a longer prefix.")
    if by_id:
        return by_id
    if _DAY.fullmatch(name):
        return [run.run_id for run in runs if run.day == name]
    if name.startswith(_TAG):
        return [run.run_id for run in runs if _has_tag(run, name.removeprefix(_TAG))]
    if not _COMMIT.fullmatch(name):
        return []
    of_commit = [run for run in runs if run.git_commit is not None and run.git_commit.startswith(name)]
    return [run.run_id for run in of_commit if not _is_aside(run, WHY)] or [run.run_id for run in of_commit]


def _is_aside(run: RunNames, *made_by: str) -> bool:
    """True for a run that one of these made, as its tag says."""
    return any(tag in (run.tags or "") and tag in _tags(run) for tag in made_by)


def _has_tag(run: RunNames, tag: str) -> bool:
    return any(tag in (key, str(value), f"{key}={value}") for key, value in _tags(run).items())


def _tags(run: RunNames) -> dict[str, Any]:
    tags = json.loads(run.tags or "{}")
    return tags if isinstance(tags, dict) else {}


def removed_runs(warehouse: "Warehouse") -> list[str]:
    """Count the runs moved into other stores, a sentence for each store, and the forgotten ones."""
    counts = Counter(archive for *_, archive in warehouse.rows(_ARCHIVED))
    forgotten = len(warehouse.rows(_FORGOTTEN))
    return [
        f"{counted(n, 'run', 'was', 'were')} archived to {archive}: ask there with --store {archive}."
        for archive, n in counts.items()
    ] + (
        [f"{counted(forgotten, 'run', 'is', 'are')} forgotten: list them with `bench list runs --forgotten`."]
        if forgotten
        else []
    )


def _raise_if_removed(warehouse: "Warehouse", name: str) -> None:
    """Raise BenchError where a name means runs that were moved into another store, or forgotten."""
    forgotten = {row[0]: row for row in warehouse.rows(_FORGOTTEN)}
    if name != "latest" and (found := matching_runs(name, _named(forgotten.values()))):
        which = f"run {found[0]} was" if len(found) == 1 else f"the {len(found)} runs of {name!r} were"
        raise BenchError(
            f"{which} forgotten. `bench list runs --forgotten` says when and why; `bench remember` brings runs back."
        )
    rows = warehouse.rows(_ARCHIVED)
    if found := matching_runs(name, _named(rows)) if name != "latest" else []:
        archive = next(row[4] for row in rows if row[0] == found[0])
        which = f"run {found[0]} was" if len(found) == 1 else f"the {len(found)} runs of {name!r} were"
        raise BenchError(
            f"{which} archived to {archive}. Ask there with --store {archive}, or bring all of it back with: "
            f"bench store sync {archive} {warehouse.store.root}"
        )


def _named(rows: Iterable[tuple[Any, ...]]) -> list[RunNames]:
    return [RunNames(*row[:4]) for row in rows]


def is_config(warehouse: "Warehouse", name: str) -> bool:
    """True if a run has this config."""
    return bool(warehouse.rows("SELECT 1 FROM runs WHERE config = ? LIMIT 1", [name]))


def check_values(warehouse: "Warehouse", view: str, column: str, values: Sequence[str], *, place: str = "") -> None:
    """Raise UnknownName for a value that a column does not hold, or say where its runs were archived.

    `place` is how the error calls the view, if a user does not know its name.
    """
    if not values:
        return
    known = [
        value
        for (value,) in warehouse.rows(f"SELECT DISTINCT {quote(column)}::VARCHAR FROM {view} ORDER BY 1")
        if value
    ]
    if column == "status":  # that nothing timed out is an answer
        known += [status for status in STATUSES if status not in known]
    for value in values:
        if value not in known:
            is_gathered = isinstance(warehouse.store, GatheredStore)  # where no other command would look
            cure = "" if place or is_gathered else f'See them with: bench sql "SELECT DISTINCT {column} FROM {view}"'
            if column == "config":
                _raise_if_removed(warehouse, value)
                if is_config(warehouse, value):
                    cure = "" if is_gathered else f" See what they recorded with: bench show {shlex.quote(value)}"
                    raise NothingToShow(f"config {value!r} has runs, but nothing to show here.{cure}")
                cure = "List them with: bench list configs"
            where = place or ("" if view.startswith("(") else view)  # other views may well have it
            raise UnknownName(COLUMN_LABELS.get(column, column), value, known, where=where, cure=cure)
