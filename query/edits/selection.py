"""The runs that a user means to change: by run id, config, commit, date, tag, or a file that was imported."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from ...warehouse.errors import BenchError, UnknownName
from ..resolve import RunNames, matching_runs, run_names, split_back

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

_QUERY = "FROM _selectable_runs WHERE forgotten = ? ORDER BY began_at DESC NULLS LAST, run_id DESC"


@dataclass(frozen=True, slots=True)
class SelectedRun:
    """One run, as a user may name it."""

    run_id: str
    config: str
    source: str
    suite: str | None
    began_at: datetime | None
    git_commit: str | None
    samples: int | None
    files: list[str] | None
    forgotten: bool
    dropped: bool

    @property
    def names(self) -> RunNames:
        """The names of a run; without tags."""
        day = None if self.began_at is None else self.began_at.date().isoformat()
        return RunNames(self.run_id, self.config, self.git_commit, self.source, day)


def select_runs(warehouse: "Warehouse", names: Iterable[str], *, forgotten: bool = False) -> list[SelectedRun]:
    """All runs that some names mean, newest first.

    Args:
        warehouse: Where to look.
        names: Each a config (all its runs), the beginning of a run id or of a git commit, a day as YYYY-MM-DD (UTC), `tag:NAME`
            (not of forgotten runs), or an imported file or a folder of such; `latest` and anything with `~N` after it mean
            one run.
        forgotten: Look among the forgotten runs, rather than among the others.

    Raises:
        UnknownName: No run answers to a name.
        BenchError: The beginning of an id fits several runs.
    """
    runs = [SelectedRun(*row) for row in warehouse.rows(_QUERY, [forgotten])]
    called = [run.names for run in runs] if forgotten else run_names(warehouse, tagged=True)
    chosen = {run_id for name in names for run_id in _meant(warehouse, name, runs, called, forgotten)}
    return [run for run in runs if run.run_id in chosen]


def _meant(
    warehouse: "Warehouse", name: str, runs: Sequence[SelectedRun], called: Sequence[RunNames], forgotten: bool
) -> list[str]:
    base, back = split_back(name, called)
    found = matching_runs(base, called)
    if not found:
        found = [run.run_id for run in runs if any(_is_of(path, base) for path in run.files or ())]
    if not found:
        what, cure = ("forgotten run", "bench list runs --forgotten") if forgotten else ("run", "bench list runs")
        if not runs:
            raise BenchError(f"there is no {what} in {warehouse.store}.")
        known = dict.fromkeys(
            [run.config for run in runs]
            + [run.run_id for run in runs]
            + [os.path.basename(path) for run in runs for path in run.files or ()]
        )
        raise UnknownName(what, name, known, where=str(warehouse.store), cure=f"List them with: {cure}")
    if back is None and base != "latest":
        return found
    if (back or 0) >= len(found):
        raise BenchError(f"no run {name!r}: {base} has {len(found)}. List them with: bench list runs")
    return [found[back or 0]]


def _is_of(path: str, name: str) -> bool:
    """Return whether a user who writes `name` means the file that was imported as `path`, or a folder above it."""
    whole, wanted = os.path.abspath(path), os.path.abspath(name)
    return name in (path, os.path.basename(path)) or whole == wanted or whole.startswith(wanted.rstrip(os.sep) + os.sep)
