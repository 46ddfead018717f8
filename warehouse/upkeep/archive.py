"""Archiving: runs that began before a date move into another store, and nothing of them is lost on the way.

A file whose runs all go is copied as it is. One that is shared with runs that stay is split: a part goes, a part stays, and
either counts only where the file itself does not (`log.SPLIT`). When the other store holds everything, read back and
checked, this one writes down what to remove, says so (`archived_runs`), and removes it. Once it has said so, a kill is made
good by the next load. Until then nothing has changed here, and copies that were made are found, or made again, by the next
attempt.
"""

import contextlib
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from ..database import Warehouse
from ..errors import BenchError
from ..events import TABLES, ArchivedRun, Environment, Instant, Json
from ..files import publish_text
from ..journals.parts import run_of
from ..load import load_locked, must_exist
from ..log import (
    ARCHIVING,
    SPLIT,
    STAGING,
    EventLog,
    LogFile,
    log_is_read,
    path_list,
    replaced,
    sha256,
    splits,
    unmerged,
)
from ..recorder import uuid7
from ..remote.copying import CopyResult, artefacts, copy_events, transfer
from ..remote.inventory import Holding, base_name, holding
from ..remote.mirror import mark
from ..remote.places import Bucket, Folder, Place, place
from ..schema import literal
from ..store import Notify, Store
from .compaction import write_sorted

_RUNS = """
SELECT run.run_id, run.config, run.source, run.suite, run.git_commit, epoch_us(began_at), (
    SELECT to_json(list([
        source_id, part::VARCHAR, run_id, config, name, format, end_byte::VARCHAR, sha256, head_sha256,
        (first_line + lines)::VARCHAR
    ] ORDER BY source_id, part))
    FROM sources WHERE sources.run_id = run.run_id
)::VARCHAR
FROM run_summaries AS run
WHERE began_at < ? AND NOT list_contains(?::VARCHAR[], run.run_id)
ORDER BY began_at, run.run_id
"""


@dataclass(slots=True)
class ArchiveResult:
    """The result of an archive, or of a dry run."""

    runs: int = 0
    left: int = 0  # runs that stay
    files: int = 0
    size_bytes: int = 0
    split: int = 0  # those of the files that were shared with runs that stay


@dataclass(slots=True)
class _Plan:
    """Files that hold events of runs that go."""

    whole: list[LogFile] = field(default_factory=list)  # and of no others
    shared: list[LogFile] = field(default_factory=list)
    environments: list[LogFile] = field(default_factory=list)  # copied; they stay, for other runs may need them
    runs: dict[str, list[str]] = field(default_factory=dict)  # file name -> the runs in it that go


def archive(
    store: Store,
    target: Store,
    before: datetime,
    *,
    dry_run: bool = False,
    wait: bool = True,
    notify: Notify | None = None,
) -> ArchiveResult:
    """Move the runs that began before an instant into another store.

    Runs that are being recorded stay, and so do those of which nobody knows when they began.

    Args:
        store: Store to move from, a folder.
        target: Store to move to; made if it is a folder.
        before: The instant, UTC.
        dry_run: Only find out what would be moved.
        wait: Wait for a process that loads one of the stores rather than raise.
        notify: Called with a sentence that names the process it waits for.

    Raises:
        StoreBusy: Another process is loading and `wait` is False.
        BenchError: A file is damaged, or a store cannot be used; all is here as it was.
    """
    if store.remote:
        raise BenchError(
            f"{store} is mirrored by other machines, which would upload again what is removed. Copy it into a folder with "
            f"`bench store sync {store} FOLDER`, and archive that."
        )
    if store.root.resolve() == target.root.resolve():
        raise BenchError(f"{target} is this very store. Give another one to archive to.")
    must_exist(store)
    with store.lock(wait=wait, notify=notify):
        for sentence in load_locked(store).problems.values():
            raise BenchError(f"{sentence} Until then its content is unknown, and nothing is archived.")
        log = EventLog(store)
        with Warehouse.open(store) as warehouse, log_is_read(store):
            live = [run_of(path) for path in log.being_written()]
            runs = warehouse.rows(_RUNS, [before, live])
            ((count,),) = warehouse.rows("SELECT count(*) FROM run_summaries")
            plan = _plan(warehouse, log.files(), [run_id for run_id, *_ in runs])
        moved = [*plan.whole, *plan.shared]
        done = ArchiveResult(
            len(runs), count - len(runs), len(moved), sum(file.size_bytes for file in moved), len(plan.shared)
        )
        if runs and not dry_run:
            alone = contextlib.nullcontext() if target.remote else target.lock(wait=wait, notify=notify)
            with alone, log_is_read(store):
                _move(store, target, plan, runs)
            load_locked(store)
    return done


def _plan(warehouse: Warehouse, files: Iterable[LogFile], runs: Sequence[str]) -> _Plan:
    plan = _Plan()
    loaded = {name for (name,) in warehouse.rows("SELECT name FROM _files")}
    tables: defaultdict[str, list[LogFile]] = defaultdict(list)
    for file in files:
        if file.name in loaded and file.table != ArchivedRun.TABLE:
            tables[file.table].append(file)
    for table, same in tables.items():
        key = "environment_id" if table == Environment.TABLE else "run_id"
        goes = "SELECT unnest(?::VARCHAR[])"
        if key == "environment_id":
            goes = f"SELECT environment_id FROM runs WHERE run_id IN ({goes})"
        query = f"""
            SELECT filename, list({key}) FILTER (goes), bool_and(goes)
            FROM (
                SELECT DISTINCT filename, {key}, {key} IN ({goes}) AS goes
                FROM read_parquet({path_list(same)}, filename = true, union_by_name = true)
            )
            GROUP BY filename HAVING bool_or(goes)
        """
        by_path = {str(file.path): file for file in same}
        for path, going, alone in warehouse.rows(query, [runs]):
            if key == "environment_id":
                plan.environments.append(by_path[path])
            else:
                plan.runs[by_path[path].name] = going
                (plan.whole if alone else plan.shared).append(by_path[path])
    return plan


def _move(store: Store, target: Store, plan: _Plan, runs: Sequence[tuple[Any, ...]]) -> None:
    """Copy, check, write down what the next load removes, and say so."""
    here, there = Folder(store.root), place(target)
    with tempfile.TemporaryDirectory(prefix=STAGING, dir=store.root) as staging:
        going, staying = (Store(Path(staging, name)) for name in ("going", "staying"))
        parts = {file.name: _split(file, plan.runs[file.name], going, staying) for file in plan.shared}
        _clear_parts(store, there, plan.shared)
        copied = CopyResult()
        files = {_place_of(file): file for file in (*plan.whole, *plan.environments)}
        copy_events(here, there, copied, only=files.keys())
        copy_events(Folder(going.root), there, copied)
        going_runs = {run_id for run_id, *_ in runs}
        left_beside = [entry for entry in artefacts(here, store) if entry.name.split("/")[1] in going_runs]
        transfer(here, there, left_beside, copied)
        if copied.problems:
            raise BenchError(f"{next(iter(copied.problems.values()))} Nothing was removed here.")
        if isinstance(there, Bucket):
            mark(there, copied.entries)
        wanted = {name: unmerged(replaced(file.path)) or {file.name} for name, file in files.items()}
        _check(there, wanted, holding(Folder(going.root)), Path(staging, "read"))
        for entry in left_beside:
            _check_artefact(there, entry.name, store.root, Path(staging, "read"))
        for entry in Folder(staying.root).list("events"):
            here.put(staying.root / entry.name, entry.name)
    now = Instant(time.time_ns() // 1000)
    held: defaultdict[str, list[str]] = defaultdict(list)
    for name, in_it in plan.runs.items():
        for run_id in in_it:
            held[run_id].append(parts.get(name, name))
    rows = [
        ArchivedRun(
            run_id=run_id, config=config, source=source, suite=suite, git_commit=commit, began_at=began_at,
            archive=str(target), archived_at=now, files=sorted(held[run_id]),
            imported=Json(imported) if imported else None,
        )
        for run_id, config, source, suite, commit, began_at, imported in runs
    ]  # fmt: skip
    stem = uuid7()
    gone = [*map(_place_of, plan.whole), *map(_place_of, plan.shared), *(entry.name for entry in left_beside)]
    publish_text(store.root / ARCHIVING, json.dumps({"said_by": stem, "remove": gone}))
    EventLog(store).write(ArchivedRun, rows, stem)


def _split(file: LogFile, runs: Sequence[str], going: Store, staying: Store) -> str:
    """Write both parts of a file; returns the name of the one that goes."""
    import pyarrow.parquet as pq

    whole = [file.name, *replaced(file.path), *splits(file.path)]
    metadata = {"bench.splits": json.dumps(whole)}
    chosen = f"run_id IN ({', '.join(map(literal, runs))})"
    paths = [
        write_sorted(part, TABLES[file.table], [file], f"{SPLIT}{file.digest}-{name}", metadata, where)
        for part, name, where in ((going, "goes", chosen), (staying, "stays", f"NOT ({chosen})"))
    ]
    rows = [pq.read_metadata(path).num_rows for path in (file.path, *paths)]
    if rows[0] != rows[1] + rows[2]:
        raise AssertionError(f"{file.name} has {rows[0]} rows, its parts {rows[1:]}")
    return paths[0].name


def _clear_parts(store: Store, there: Place, files: Iterable[LogFile]) -> None:
    """Remove parts of files that are here whole: what a killed attempt left, or of a file that came back from elsewhere."""
    names = {file.name for file in files}
    for part in EventLog(store).files():
        if part.stem.startswith(SPLIT) and names.intersection(splits(part.path)):
            part.path.unlink()
    for file in files:
        for entry in there.list(f"events/{file.table}"):
            if base_name(entry.name).startswith(f"{SPLIT}{file.digest}-"):
                there.delete(entry.name)


def _check(there: Place, wanted: dict[str, set[str]], parts: Holding, scratch: Path) -> None:
    """Read back what holds the events that went: the files themselves, or what has been merged of them there."""
    have = holding(there)
    holders = set()
    for name, sealed in [*wanted.items(), *((name, {base_name(name)}) for name in parts.files)]:
        if name in have.files:
            holders.add(name)
            continue
        found = {n for n in have.files if base_name(n) in sealed or have.merged.get(n, frozenset()) & sealed}
        if not found or unmerged(sealed) - {base_name(n) for n in found}.union(
            *(have.merged.get(n, ()) for n in found)
        ):
            raise BenchError(f"{there.url} does not hold {name} after the copy. Nothing was removed here.")
        holders |= found
    for name in sorted(holders):
        there.get(name, scratch)
        scratch.unlink()


def _check_artefact(there: Place, name: str, root: Path, scratch: Path) -> None:
    there.get(name, scratch)
    if sha256(scratch) != sha256(root / name):
        raise BenchError(f"{there.url}/{name} is another file than the one here. Nothing was removed here.")
    scratch.unlink()


def _place_of(file: LogFile) -> str:
    return f"events/{file.table}/{file.name}"
