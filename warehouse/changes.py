"""Changes of runs by users: forgotten, renamed, tagged. They are events; every reader of the log applies them."""

import contextlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .. import sql
from .events import ArchivedRun, Event, Instant, Json, RunChange, as_json
from .log import EventLog, LogFile, path_list
from .schema import SQL_TYPES, quote
from .secrets import without_secrets

if TYPE_CHECKING:
    from typing import Any

    import duckdb

    from .store import Store


def forgets(event: type[Event]) -> bool:
    """Return whether the rows of a forgotten run are left out of this table: all that holds what runs recorded."""
    return event not in (RunChange, ArchivedRun) and any(f.name == "run_id" for f in event.fields())


def needs_rebuild(file: LogFile) -> bool:
    """Return whether a file of the log changes more of loaded runs than their tags."""
    if file.table != RunChange.TABLE:
        return False
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return not set(pq.read_table(file.path, columns=["action"])["action"].to_pylist()) <= {"tag", "untag"}
    except (OSError, pa.ArrowInvalid, KeyError):  # damaged: loading says so
        return False


@dataclass(frozen=True, slots=True)
class RunChanges:
    """The changes in force: the last one of each kind."""

    forgotten: frozenset[str] = frozenset()  # runs that are in no view
    configs: Mapping[str, str] = field(default_factory=dict)  # run -> its new config
    tags: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)  # run -> tags; None: removed

    @classmethod
    def of(cls, connection: "duckdb.DuckDBPyConnection") -> "RunChanges":
        """Those of a warehouse, or of any database that has the table `run_changes` and its views."""
        forgotten = connection.execute("SELECT run_id FROM forgotten_runs").fetchall()
        configs: dict[str, str] = {}
        tags: dict[str, dict[str, str | None]] = {}
        for run_id, action, key, value in connection.execute("FROM _run_labels").fetchall():
            if action == "rename":
                configs[run_id] = value
            else:
                tags.setdefault(run_id, {})[key] = value if action == "tag" else None
        return cls(frozenset(run_id for (run_id,) in forgotten), configs, tags)

    @classmethod
    def read(cls, files: Iterable[LogFile]) -> "RunChanges":
        """Those of a log, of whose files the caller says which count.

        Raises:
            duckdb.Error: One of the files is damaged.
        """
        with changes_of(files) as connection:
            return cls.of(connection) if connection is not None else cls()

    def retagged(self, run_id: str, tags: str | None) -> Json | None:
        """A run's tags, a JSON object, as they are now. JSON of another kind, such as null, names no tags."""
        known = json.loads(tags or "{}")
        changed = {**(known if isinstance(known, dict) else {}), **self.tags.get(run_id, {})}
        left = {key: value for key, value in changed.items() if value is not None}
        return as_json(left) if left else None

    def apply(self, connection: "duckdb.DuckDBPyConnection") -> None:
        """Rename and tag the runs in a warehouse; doing it twice changes nothing."""
        for table in ("runs", "sources") if self.configs else ():
            connection.executemany(
                f"UPDATE {table} SET config = ? WHERE run_id = ?",
                [(config, run_id) for run_id, config in self.configs.items()],
            )
        if self.tags:
            query = "SELECT run_id, tags::VARCHAR FROM runs WHERE list_contains(?::VARCHAR[], run_id)"
            rows = connection.execute(query, [list(self.tags)]).fetchall()
            changed = [(self.retagged(run_id, tags), run_id) for run_id, tags in rows]
            if changed:
                connection.executemany("UPDATE runs SET tags = ? WHERE run_id = ?", changed)


def record_changes(
    store: "Store", connection: "duckdb.DuckDBPyConnection", changes: "Iterable[Mapping[str, Any]]"
) -> None:
    """Append changes to the log, as one file. The caller holds the store's lock, and loads afterwards.

    A change has the columns of `run_changes` but those that say which it is and when.
    """
    from .recorder import uuid7

    ((last,),) = connection.execute("SELECT epoch_us(max(changed_at)) FROM run_changes").fetchall()
    now = Instant(max(time.time_ns() // 1000, (last or 0) + 1))  # the last to be made counts, whatever a clock says
    stem = uuid7()
    events = [without_secrets(RunChange(change_id=stem, changed_at=now, **columns)) for columns in changes]
    if events:
        EventLog(store).write(RunChange, events, stem)


@contextlib.contextmanager
def changes_of(files: Iterable[LogFile]) -> "Iterator[duckdb.DuckDBPyConnection | None]":
    """A database in memory with `run_changes`, `forgotten_runs` and `_run_labels` of these files; None where there are none."""
    paths = [file for file in files if file.table == RunChange.TABLE]
    if not paths:
        yield None
        return
    import duckdb

    with contextlib.closing(duckdb.connect()) as connection:
        columns = ", ".join(
            f"CAST({quote(f.name)} AS {SQL_TYPES[f.type]}) AS {quote(f.name)}" for f in RunChange.fields()
        )
        source = f"read_parquet({path_list(paths)}, union_by_name = true)"
        connection.execute(f"CREATE TABLE run_changes AS SELECT DISTINCT {columns} FROM {source}")
        for name in ("forgotten_runs", "_run_labels"):
            connection.execute(f"CREATE VIEW {name} AS {sql.view(name).body}")
        yield connection
