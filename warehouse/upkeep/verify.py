"""Verification: the log against its own checksums, the warehouse against the log, the imports against their lines."""

from dataclasses import dataclass, field

from ..changes import forgets
from ..console.numbers import counted
from ..database import Warehouse
from ..errors import BenchError
from ..events import TABLES, Environment, RunRecord
from ..files import may_not_write
from ..load import GONE, load_locked, must_exist
from ..log import IMPORT, EventLog, sha256
from ..log_files import counting_files
from ..remote.mirror import disagreements, pull
from ..schema import quote
from ..store import Notify, Store


@dataclass(slots=True)
class Verification:
    """The checked files and their faults."""

    files: int = 0
    events: int = 0
    sources: int = 0
    lines: int = 0
    problems: dict[str, str] = field(default_factory=dict)  # file, table or source -> what is wrong, as a sentence
    notes: list[str] = field(default_factory=list)
    is_complete: bool = True  # false where the log cannot be written: what waits in journals is in none of these counts


def verify(store: Store, *, wait: bool = True, notify: Notify | None = None) -> Verification:
    """Bring the warehouse up to date, then check all of the store; of a bucket, that it lists what its mirror has.

    Raises:
        StoreBusy: Another process is loading and `wait` is False.
        BenchError: There is no store.
    """
    must_exist(store)
    checked = Verification()
    try:
        with store.lock(wait=wait, notify=notify):
            pull(store, whole=True)
            loaded = load_locked(store)
        checked.problems |= loaded.problems
        checked.notes += loaded.recovery_notes
    except BenchError as error:
        if not may_not_write(error):
            raise
        checked.notes.append(f"what was recorded last is not checked: {error}")
        checked.is_complete = False
    checked.problems |= disagreements(store)
    _check_files(EventLog(store), checked)
    with Warehouse.open(store, tell=False) as warehouse:
        _read_blocks(warehouse)
        _check_tables(warehouse, checked)
        _check_sources(warehouse, checked)
    return checked


def _check_files(log: EventLog, checked: Verification) -> None:
    files = log.files()
    counted = {file.name for file in counting_files(files)}
    for file in files:
        checked.files += 1
        if sha256(file.path)[:16] != file.digest:
            checked.problems[file.name] = (
                f"{file.path} is damaged: its content does not match the checksum in its name. Restore it from a copy; "
                "`bench store rebuild` then loads it."
            )
        elif file.name not in counted:
            why = (
                "belongs to an import that never finished"
                if file.stem.startswith(IMPORT)
                else "is part of a file that is here"
            )
            checked.notes.append(f"{file.name} {why}, and counts for nothing")
    for path in log.damaged():
        checked.problems[path.name] = (
            f"{path} is damaged, and kept until you delete it; what could be read is in the log"
        )
    for journal in log.being_written():
        checked.notes.append(f"{journal.name} is still being written")


def _read_blocks(warehouse: Warehouse) -> None:
    """Read all of the warehouse, so that a bad block heals now and not in the middle of a question."""
    here = "SELECT table_name FROM duckdb_tables() WHERE database_name = 'warehouse'"
    for (table,) in warehouse.rows(here):
        warehouse.rows(f"SELECT bit_xor(hash(whole)) FROM {quote(table)} AS whole")


def _check_tables(warehouse: Warehouse, checked: Verification) -> None:
    """The warehouse holds as many rows as the files it names, and every one of them is still there."""
    here = {file.name: file for file in EventLog(warehouse.store).files()}
    forgotten = [run_id for (run_id,) in warehouse.rows("SELECT run_id FROM forgotten_runs")]
    for table, event in TABLES.items():
        loaded = [name for (name,) in warehouse.rows("SELECT name FROM _files WHERE table_name = ?", [table])]
        for name in sorted(set(loaded) - here.keys()):
            checked.problems[name] = f"{table}/{name} {GONE}"
        paths = [str(here[name].path) for name in loaded if name in here and name not in checked.problems]
        rows = 0
        if paths and event is RunRecord:  # of which several rows become one
            query = (
                "SELECT count(DISTINCT run_id) FROM read_parquet(?, union_by_name = true) "
                "WHERE NOT list_contains(?::VARCHAR[], run_id)"
            )
            rows = warehouse.rows(query, [paths, forgotten])[0][0]
        elif paths:
            rows = sum(n for (n,) in warehouse.rows("SELECT num_rows FROM parquet_file_metadata(?)", [paths]))
            if forgotten and forgets(event):
                query = (
                    "SELECT count(*) FROM read_parquet(?, union_by_name = true) "
                    "WHERE list_contains(?::VARCHAR[], run_id)"
                )
                rows -= warehouse.rows(query, [paths, forgotten])[0][0]
        ((count,),) = warehouse.rows(f"SELECT count(*) FROM {table}")
        checked.events += count
        damaged = len(paths) < len(loaded)
        if event is not Environment and count != rows and not damaged:
            checked.problems[table] = (
                f"table {table} holds {counted(count, 'row')}, its files {rows}. Derive it anew with: bench store rebuild"
            )


def _check_sources(warehouse: Warehouse, checked: Verification) -> None:
    """Check of every imported file and run that its lines are accounted for, and that as many have rows and rejects as it says.

    What older versions of bench imported does not say which lines are known or have no row: of those there may be fewer rows.
    """
    union = " UNION ALL ".join(
        f"SELECT source_id, run_id, line FROM {event.TABLE} WHERE source_id IS NOT NULL AND line IS NOT NULL"
        for event in TABLES.values()
        if {"source_id", "line"} <= {f.name for f in event.fields()} and event.TABLE != "rejects"
    )
    query = f"""
        WITH events AS (SELECT source_id, run_id, count(DISTINCT line) AS have FROM ({union}) GROUP BY ALL),
        refused AS (SELECT source_id, run_id, count(*) AS have_rejects FROM rejects GROUP BY ALL),
        said AS (
            SELECT
                source_id, run_id, any_value(path) AS path, sum(lines) AS lines, sum(loaded) AS loaded,
                sum(rejected) AS rejected, sum(coalesce(known, lines - loaded - rejected)) AS known,
                sum(coalesce(left_out, 0)) AS left_out, sum(loaded - coalesce(without_rows, 0)) AS with_rows,
                bool_and(without_rows IS NOT NULL) AS is_exact
            FROM sources GROUP BY ALL
        )
        SELECT
            source_id, coalesce(path, source_id), coalesce(lines, 0)::BIGINT, coalesce(loaded, 0)::BIGINT,
            coalesce(rejected, 0)::BIGINT, coalesce(known, 0)::BIGINT, coalesce(left_out, 0)::BIGINT,
            coalesce(with_rows, 0)::BIGINT, coalesce(is_exact, true), coalesce(have, 0), coalesce(have_rejects, 0)
        FROM said FULL JOIN events USING (source_id, run_id) FULL JOIN refused USING (source_id, run_id)
        ORDER BY path, source_id, run_id
    """
    cure = "Derive it anew with: bench store rebuild"
    if checked.problems:  # of files, which no rebuild brings back
        cure = "The rest may be in a file that is named above"
    sources = set()
    for (
        source_id,
        path,
        lines,
        loaded,
        rejected,
        known,
        left_out,
        with_rows,
        is_exact,
        have,
        have_rejects,
    ) in warehouse.rows(query):
        sources.add(source_id)
        checked.lines += lines
        is_counted = loaded + rejected + known + left_out == lines and known >= 0
        if not is_counted or have > with_rows or (is_exact and have < with_rows) or have_rejects != rejected:
            checked.problems[path] = (
                f"{path}: of {counted(lines, 'line')}, {loaded} said to be loaded ({with_rows} of them into rows), {rejected} "
                f"rejected, {known} known and {left_out} left out; rows of {counted(have, 'line')} and "
                f"{counted(have_rejects, 'reject')} are here. {cure}"
            )
    checked.sources = len(sources)
