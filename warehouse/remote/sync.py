"""`bench store sync` as a function: copy what one store has and another lacks, between folders and buckets."""

import contextlib
import os

from ..console.numbers import counted
from ..errors import BenchError
from ..log import EventLog
from ..store import Notify, Store
from .copying import CopyResult, Progress, artefacts, copy_events, transfer
from .mirror import mark, push
from .places import Bucket, place


def sync(
    source: Store,
    target: Store,
    *,
    dry_run: bool = False,
    wait: bool = True,
    notify: Notify | None = None,
    progress: Progress | None = None,
) -> CopyResult:
    """Copy the event files and artefacts that another store lacks.

    Args:
        source: Store to copy from; journals of dead processes are sealed there first, if it may be written to.
        target: Store to copy to; made if it is a folder.
        dry_run: Only find out what there is to copy.
        wait: Wait for a process that loads one of the stores rather than raise.
        notify: Called with a sentence that names the process it waits for.
        progress: Called with each file that was copied.

    Raises:
        StoreBusy: Another process is loading and `wait` is False.
        BenchError: A store is not there, cannot be reached, or is given twice.
    """
    if source.root.resolve() == target.root.resolve():
        raise BenchError(f"{source} is both source and destination. Give another store to copy to.")
    there, here = place(source), place(target)
    if not source.exists() and next(there.list("events"), None) is None:
        raise BenchError(f"there is no store at {source}. Give the folder or the address of one.")
    copied = CopyResult()
    if source.exists() and not dry_run and os.access(source.root, os.W_OK):
        with source.lock(wait=wait, notify=notify):
            _, left_out = EventLog(source).recover()
            push(source, must=True)
        copied.problems |= {name: f"{name} {why}" for name, why in left_out.items()}
    copied.problems |= {name: f"{name} {why}" for name, why in EventLog(source).listing()[1].items()}
    if waiting := EventLog(source).being_written():
        copied.notes.append(
            f"{counted(len(waiting), 'journal', 'is', 'are')} still written to in {source}, and not copied"
        )
    alone = contextlib.nullcontext() if dry_run or target.remote else target.lock(wait=wait, notify=notify)
    with alone:
        copy_events(there, here, copied, dry_run=dry_run, progress=progress)
        have = {entry.name for entry in here.list("artefacts")}
        left = [entry for entry in artefacts(there, source) if entry.name not in have]
        if dry_run:
            copied.entries += left
            return copied
        transfer(there, here, left, copied, progress)
    if isinstance(here, Bucket):
        mark(here, copied.entries)
    return copied
