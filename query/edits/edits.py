"""Forget, remember, rename and tag runs: each an event in the log, so that every store and rebuild agrees."""

import contextlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...warehouse.changes import record_changes
from ...warehouse.database import Warehouse
from ...warehouse.errors import BenchError, UnknownName
from ...warehouse.journals.parts import run_of
from ...warehouse.load import load_locked, must_exist
from ...warehouse.log import EventLog
from ...warehouse.store import Notify, Store
from .selection import SelectedRun, select_runs

_FILES = "source_id, part, run_id, config, name, format, end_byte, sha256, head_sha256, first_line + lines"  # as an archive lists


def preview(store: Store, names: Sequence[str]) -> list[SelectedRun]:
    """The runs that a change would concern; nothing is written. Names and errors are as of `select_runs`."""
    with Warehouse.open(store) as warehouse:
        return select_runs(warehouse, names)


def forget(
    store: Store, names: Sequence[str], *, reason: str | None = None, notify: Notify | None = None
) -> list[SelectedRun]:
    """Take runs out of every view. Their events stay in the log until it is compacted. Names are as of `select_runs`.

    Returns:
        The runs that are forgotten now.

    Raises:
        UnknownName: No run answers to a name.
        BenchError: One of the runs is still being recorded, or the store cannot be written.
    """
    with _locked(store, notify) as warehouse:
        runs = select_runs(warehouse, names)
        alive = {run_of(path) for path in EventLog(store).being_written()}
        if busy := next((run.run_id for run in runs if run.run_id in alive), None):
            raise BenchError(f"run {busy} is still being recorded. Forget it when it is done.")
        chosen = [run.run_id for run in runs]
        imported: defaultdict[str, list[list[str]]] = defaultdict(list)
        rows = warehouse.rows(
            f"SELECT {_FILES} FROM sources WHERE list_contains(?::VARCHAR[], run_id) ORDER BY source_id, part", [chosen]
        )
        for row in rows:
            imported[row[2]].append([str(value) for value in row])
        began = dict(warehouse.rows("SELECT run_id, epoch_us(began_at) FROM run_summaries"))
        record_changes(
            store,
            warehouse.connection,
            (
                {
                    "run_id": run.run_id, "action": "forget", "reason": reason, "config": run.config, "source": run.source,
                    "suite": run.suite, "git_commit": run.git_commit, "began_at": began[run.run_id], "files": run.files,
                    "imported": json.dumps(imported[run.run_id]) if run.run_id in imported else None,
                }
                for run in runs
            ),
        )  # fmt: skip
    return runs


def remember(store: Store, names: Sequence[str], *, notify: Notify | None = None) -> list[SelectedRun]:
    """Bring forgotten runs back. Arguments, result and errors as of `forget`.

    Raises:
        UnknownName: No forgotten run answers to a name.
        BenchError: Compaction has removed the events of one of them.
    """
    with _locked(store, notify) as warehouse:
        runs = select_runs(warehouse, names, forgotten=True)
        if gone := [run for run in runs if run.dropped]:
            first = gone[0]
            cure = f" Load it again with: bench ingest --again {' '.join(first.files)}" if first.files else ""
            raise BenchError(
                f"run {first.run_id} of {first.config} cannot be remembered: `bench store compact` has removed its events.{cure}"
            )
        record_changes(store, warehouse.connection, [{"run_id": run.run_id, "action": "remember"} for run in runs])
    return runs


def rename(store: Store, names: Sequence[str], config: str, *, notify: Notify | None = None) -> list[SelectedRun]:
    """Give runs another config. Arguments, result and errors as of `forget`; `config` is the new label."""
    check_config(config)
    change = {"action": "rename", "value": config}
    return _change(store, names, [change], notify)


def tag(
    store: Store, names: Sequence[str], tags: Mapping[str, str], *, notify: Notify | None = None
) -> list[SelectedRun]:
    """Give runs labels, in place of those with the same key. Arguments, result and errors as of `forget`."""
    return _change(store, names, [{"action": "tag", "key": key, "value": value} for key, value in tags.items()], notify)


def untag(
    store: Store, names: Sequence[str], keys: Sequence[str], *, notify: Notify | None = None
) -> list[SelectedRun]:
    """Take labels from runs. Arguments, result and errors as of `forget`.

    Raises:
        UnknownName: None of the runs has a tag of such a key.
    """
    return _change(store, names, [{"action": "untag", "key": key} for key in keys], notify)


def check_config(config: str) -> None:
    """Raise BenchError for what cannot be a config."""
    if not config.strip() or config == "latest":
        raise BenchError(f"{config!r} cannot be the name of a config. Give a word, such as main.")


def _change(
    store: Store, names: Sequence[str], changes: Sequence[dict[str, Any]], notify: Notify | None
) -> list[SelectedRun]:
    with _locked(store, notify) as warehouse:
        runs = select_runs(warehouse, names)
        removed = [change["key"] for change in changes if change["action"] == "untag"]
        if removed:
            _check_keys(warehouse, [run.run_id for run in runs], removed)
        record_changes(
            store, warehouse.connection, [{"run_id": run.run_id, **change} for run in runs for change in changes]
        )
    return runs


def _check_keys(warehouse: Warehouse, runs: Sequence[str], keys: Sequence[str]) -> None:
    query = "SELECT DISTINCT unnest(json_keys(tags)) FROM runs WHERE list_contains(?::VARCHAR[], run_id) ORDER BY 1"
    known = [key for (key,) in warehouse.rows(query, [runs])]
    for key in keys:
        if key not in known:
            raise UnknownName("tag", key, known, where="these runs")


@contextlib.contextmanager
def _locked(store: Store, notify: Notify | None) -> Iterator[Warehouse]:
    """The warehouse while nobody else loads; what was recorded in between is loaded at the end."""
    must_exist(store)
    with store.lock(notify=notify):
        load_locked(store)
        with Warehouse.open(store) as warehouse:
            yield warehouse
        load_locked(store)
