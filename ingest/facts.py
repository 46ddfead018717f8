"""Facts of runs that their files lack: `--set KEY=VALUE`, and the day in a name."""

import itertools
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..warehouse.console.numbers import counted
from ..warehouse.errors import BenchError, UnknownName
from .readers.document import instant
from .readers.files import read_head
from .readers.folders import date_in, is_repeat
from .source_index import Measured

if TYPE_CHECKING:
    from ..warehouse.events import RunRecord

FOLDERS = 4  # above a file, of which those farther up must be named by nothing but the day
# A day that is no part of a name, a day with its time, a time with its year, or seconds since 1970; compiled where it is needed.
DATED = (
    rb"(?:(?<![\w.-])|(?<![\d.])(?=[\d/.-]{8,10}[-_T ]\d\d:?\d\d))20\d\d([-/.]?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])"
    rb"|\d\d:\d\d:\d\d (?:\w+ )?20\d\d|(?<![\d.])1[5-9]\d{8}"
)
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
    named = day_named(path) if path and run.started_at is None and "started_at" not in facts else None
    return (found, []) if named is None else ({**found, "started_at": instant(named[0].isoformat())}, [named[1]])


def day_named(path: Path) -> tuple[datetime, str] | None:
    """The day in the name of a file, or of a folder above it, with that name; None where there is none, or one to come."""
    beside, *above = (folder.name for folder in itertools.islice(path.absolute().parents, FOLDERS))
    for name in (path.name, beside, *(name for name in above if is_repeat(name))):
        day = date_in(name)
        if day and day.timestamp() <= time.time() + DAY_S:
            return day, name
    return None


def measured(path: Path, facts: Mapping[str, Any]) -> Measured:
    """The day and commit that a name or the user says of a file: bytes of equal results without a date are equal each night."""
    said, named = facts.get("started_at"), None if "started_at" in facts else day_named(path)
    day = datetime.fromtimestamp(said / 1e6, UTC) if said is not None else named[0] if named else None
    return day.date().isoformat() if day else "", facts.get("git_commit") or ""


def is_dated(path: Path) -> bool:
    """Return whether a file says, at its beginning, when it was measured."""
    return re.search(DATED, read_head(path).data) is not None


def note_on_equals(paths: list[str]) -> Iterator[str]:
    """A note on files that are loaded though their bytes are known."""
    if paths:
        more = f" and {counted(len(paths) - 1, 'other')}" if paths[1:] else ""
        yield f"{paths[0]}{more}: byte for byte a file of another day or commit, loaded as a result of its own"


def note_on_dates(names: Iterable[str]) -> Iterator[str]:
    """A note on runs that began on the day in a name."""
    first, *others = sorted(names) or [""]
    if first:
        more = f" and {counted(len(others), 'other')}" if others else ""
        yield f"began on the day in the name: the run of {first}{more}; --set time=… says otherwise"
