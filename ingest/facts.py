"""Facts of runs that their files lack: `--set KEY=VALUE`, and the day in a name."""

import itertools
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..warehouse.console.numbers import counted
from ..warehouse.errors import BenchError, UnknownName
from .readers.document import instant
from .readers.folders import date_in, is_repeat

if TYPE_CHECKING:
    from ..warehouse.events import RunRecord

FOLDERS = 4  # above a file, of which those farther up must be named by nothing but the day
DAY_S = 86400  # by which a day may be ahead, in another time zone

FACTS = {  # what a user may say of runs -> column
    "commit": "git_commit", "branch": "git_branch", "host": "host", "suite": "suite", "time": "started_at", "command": "command",
}  # fmt: skip


def parse_facts(pairs: Iterable[str]) -> dict[str, Any]:
    """The facts of `--set KEY=VALUE`, as columns of `runs`.

    Raises:
        BenchError: There is no such key, or the value is no time.
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if key not in FACTS:
            raise UnknownName(
                "fact", key, FACTS, cure=f"Facts: {', '.join(FACTS)}. A label of your own: --tag {key}=VALUE"
            )
        if not equals or not value.strip():
            raise BenchError(f"--set {pair} has no value. Write --set {key}=VALUE")
        found[FACTS[key]] = value.strip()
    if "started_at" in found:
        if (moment := instant(found["started_at"])) is None:
            raise BenchError(
                f"--set time={found['started_at']} cannot be read as a time. Write it as 2026-05-01T10:00:00Z"
            )
        found["started_at"] = moment
    return found


def missing_facts(run: "RunRecord", facts: Mapping[str, Any], path: Path | None) -> tuple[dict[str, Any], list[str]]:
    """The facts that a run lacks, as the user says them; a start by the day in the name of file or folder, with that name."""
    found = {column: value for column, value in facts.items() if getattr(run, column) is None}
    names: list[str] = []
    if path and run.started_at is None and "started_at" not in facts:
        beside, *above = (folder.name for folder in itertools.islice(path.absolute().parents, FOLDERS))
        names = [path.name, beside, *(name for name in above if is_repeat(name))]
    for name in names:
        day = date_in(name)
        if day and day.timestamp() <= time.time() + DAY_S:
            return {**found, "started_at": instant(day.isoformat())}, [name]
    return found, []


def note_on_dates(names: Iterable[str]) -> Iterator[str]:
    """A note on runs that began on the day in a name."""
    first, *others = sorted(names) or [""]
    if first:
        more = f" and {counted(len(others), 'other')}" if others else ""
        yield f"began on the day in the name: the run of {first}{more}; --set time=… says otherwise"
