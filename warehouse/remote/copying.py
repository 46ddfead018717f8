"""Copying files between places: what one has and the other lacks, each file checked, nothing twice.

A file appears at its destination whole or not at all and is never overwritten, so a copy that was interrupted continues
when it is repeated.
"""

import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import Missing, PlaceError
from ..events import Source
from ..journals.parts import run_of
from ..log import EventLog
from ..store import Store
from .inventory import Holding, at_once, commit, holding, missing
from .places import Bucket, DamagedFile, Entry, Folder, Place

ATTEMPTS = 5  # at a place where files are merged meanwhile


_ARTEFACT = re.compile(r"artefacts/([^/.\\\x00-\x1f][^/\\\x00-\x1f]*)(/[^/.\\\x00-\x1f][^/\\\x00-\x1f]*)+")


Progress = Callable[[Entry], None]  # called with each file that was copied


@dataclass(slots=True)
class CopyResult:
    """The result of a copy, or of a dry run."""

    entries: list[Entry] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)  # name -> why it was not copied, as a sentence
    notes: list[str] = field(default_factory=list)
    damaged: dict[str, int] = field(default_factory=dict)  # of `problems`, what may be whole the next time -> its bytes

    @property
    def size_bytes(self) -> int:
        """The size of all that was copied."""
        return sum(entry.size_bytes for entry in self.entries)


def copy_events(
    source: Place,
    target: Place,
    copied: CopyResult,
    *,
    has: Holding | None = None,
    only: Collection[str] | None = None,
    exactly: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> None:
    """Copy the event files that the target lacks.

    Merged ones are first, for what a damaged one stands for may be there to be copied; `sources` are last, for they
    commit imports of the other tables.

    Args:
        source: Where from.
        target: Where to; if that is the folder of a store, the caller holds its lock.
        copied: Where to note what was copied, and what was not, and why.
        has: What the source has, if that is known.
        only: Names of the files that may be copied; None if all may.
        exactly: As of `missing`.
        dry_run: Only note what would be.
        progress: Called with each file that was copied.
    """
    for _ in range(ATTEMPTS):
        has, have = has or holding(source), holding(target)
        if only is not None:
            has = has.without(has.files.keys() - only)
        wanted, clashes = missing(has, have, exactly=exactly)
        copied.problems |= clashes
        if dry_run:
            copied.entries += wanted
            return
        merged = [entry for entry in wanted if entry.name in has.merged]
        failed = transfer(source, target, merged, copied, progress)
        for entry in merged:
            if entry.name in failed:
                del has.files[entry.name], has.merged[entry.name]
            else:
                have.files[entry.name], have.merged[entry.name] = entry, has.merged[entry.name]
        if isinstance(target, Bucket) and merged:
            copied.problems |= commit(target, {e.name: has.merged[e.name] for e in merged if e.name not in failed})
        rest, _ = missing(has, have, exactly=exactly)
        failed |= copy_rest(source, target, [entry for entry in rest if entry.name not in has.merged], copied, progress)
        if not any(isinstance(error, Missing) for error in failed.values()):
            return
        has = None  # what is gone was merged meanwhile: look again
    raise PlaceError(f"{source.url} changes faster than it can be copied. Try again when no compaction runs.")


def copy_rest(
    source: Place, target: Place, entries: Sequence[Entry], copied: CopyResult, progress: Progress | None = None
) -> dict[str, PlaceError]:
    """Copy files that stand for themselves, `sources` last; as `transfer`."""
    commits = f"events/{Source.TABLE}/"
    failed = transfer(source, target, [e for e in entries if not e.name.startswith(commits)], copied, progress)
    return failed | transfer(source, target, [e for e in entries if e.name.startswith(commits)], copied, progress)


def transfer(
    source: Place, target: Place, entries: Sequence[Entry], copied: CopyResult, progress: Progress | None = None
) -> dict[str, PlaceError]:
    """Copy files, several at once, each checked against its name.

    Returns:
        By name, why files could not be copied: damaged, which is noted as a problem, or gone meanwhile.

    Raises:
        PlaceError: A place cannot be used.
    """
    failed: dict[str, PlaceError] = {}

    def one(entry: Entry) -> PlaceError | None:
        try:
            _copy(source, target, entry.name)
        except (DamagedFile, Missing) as error:
            return error
        return None

    for entry, error in zip(entries, at_once(one, entries), strict=True):
        if error:
            failed[entry.name] = error
            if isinstance(error, DamagedFile):
                copied.problems[entry.name] = str(error)
                copied.damaged[entry.name] = entry.size_bytes
        else:
            copied.entries.append(entry)
            if progress:
                progress(entry)
    return failed


def _copy(source: Place, target: Place, name: str) -> None:
    if isinstance(target, Folder):
        source.get(name, target.root / name)
    elif isinstance(source, Folder):
        target.put(source.root / name, name)
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "file")
            source.get(name, path)
            target.put(path, name)


def artefacts(where: Place, store: Store) -> Iterator[Entry]:
    """Files that runs left beside their events; of a folder not those of runs that are still being recorded."""
    live = {run_of(path) for path in EventLog(store).being_written()} if isinstance(where, Folder) else set()
    for entry in where.list("artefacts"):
        match = _ARTEFACT.fullmatch(entry.name)
        if match and match[1] not in live:
            yield entry
