"""Compaction: the log's small files become few large ones, sorted and packed, one month of runs in each.

Every answer stays the same: rows keep the columns that order them, and a merged file names all the files it stands for.
These stay until a load has noted what stands for them now (`load.load_locked`), so a kill at any instant costs nothing.

How a merged file is written was chosen by measuring a million timings as `bench measure models` and as scripts record
them, ids and all, durations log-normal; bytes an event, and processor time to write it:

    as sealed, one run to a file                          11.6   10.7
    sorted, DuckDB's writer, zstd 3                        6.7    5.9    0.9 s
    sorted, Arrow's dictionaries for all columns          10.7    9.8    0.3 s
    sorted, numbers as differences, text in dictionaries   5.9    4.6    0.2 s
    the same with zstd 9, with zstd 15                     5.8    4.6    0.2 s, 0.7 s

Of scheduler steps, lists are smaller in dictionaries (23.0 bytes for 25.4), and floats without (19.5).
"""

import contextlib
import json
import re
import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import schema
from ..changes import forgets, record_changes
from ..database import Warehouse
from ..events import TABLES, Environment, Event, Source
from ..files import make_folder
from ..interruption import breakable
from ..load import load_locked, must_exist
from ..log import (
    MERGED,
    SPILL,
    SPLIT,
    EventLog,
    LogFile,
    as_bench_error,
    log_is_read,
    metadata,
    parquet_type,
    path_list,
    publish,
    replaced,
    sha256,
    splits,
    unmerged,
)
from ..remote.mirror import pull, push, sweep
from ..schema import literal, quote
from ..snapshot import LOADING_MEMORY
from ..store import Notify, Store

if TYPE_CHECKING:
    import duckdb

# What rows are sorted by: those of these columns that their table has.
ORDER = ("environment_id", "run_id", "case_id", "source_id", "writer", "metric", "phase", "process", "block", "sample",
         "position", "line", "recorded_at")  # fmt: skip
SORTED = "bench.sorted_by"  # metadata of a file that is sorted: those columns
GROUP_ROWS = 122_880  # of a row group, the least that a reader skips

_MONTH = re.compile(rf"{MERGED}(\d{{4}}-\d\d)-")


def compact(
    store: Store, *, below_bytes: int, target_bytes: int, wait: bool = True, notify: Notify | None = None
) -> int:
    """Merge small files of the log, and pack again large ones that are not sorted; a second time finds nothing to do.

    Args:
        store: The store.
        below_bytes: Size under which a file is small.
        target_bytes: Size at which what is merged is large enough.
        wait: Wait for another loader rather than raise.
        notify: Called with a sentence that names the process it waits for.

    Returns:
        How many files became fewer.

    Raises:
        StoreBusy: Another process is loading and `wait` is False.
        BenchError: The disk is full, or there is no store.
    """
    must_exist(store)
    with store.lock(wait=wait, notify=notify):
        pull(store, whole=True, exactly=True)
        load_locked(store)
        if not store.remote:  # other mirrors would bring them back
            _drop_parts(EventLog(store).files())
        push(store, must=True)
        with log_is_read(store):
            with Warehouse.open(store, tell=False) as warehouse:  # said first: what is about to go cannot be remembered
                rows = warehouse.rows("SELECT run_id FROM forgotten_runs WHERE NOT dropped ORDER BY run_id")
                record_changes(store, warehouse.connection, [{"run_id": run, "action": "drop"} for (run,) in rows])
            load_locked(store)
            with Warehouse.open(store, tell=False) as warehouse:
                months = _months(warehouse, EventLog(store).files())
                dropped = [run_id for (run_id,) in warehouse.rows("SELECT run_id FROM forgotten_runs WHERE dropped")]
            merged = merge(store, months, below_bytes=below_bytes, target_bytes=target_bytes, dropped=dropped)
        load_locked(store)
        sweep(store)
    return merged


def _drop_parts(files: Sequence[LogFile]) -> None:
    """Remove parts of files that were split and are here whole and sound, too: each command would look into them for nothing."""
    parts = [(file, set(splits(file.path))) for file in files if file.stem.startswith(SPLIT)]
    if not parts:
        return
    rest = [file for file in files if not file.stem.startswith(SPLIT)]
    there = {file: {file.name, *replaced(file.path)} for file in rest}
    concerned = [file for file, names in there.items() if any(names & of for _, of in parts)]
    whole = set().union(*(there[file] for file in concerned if sha256(file.path)[:16] == file.digest))
    for part, names in parts:
        origin = {name for name in unmerged(names) if not name.startswith(SPLIT)}  # what those came of is named, too
        if origin and origin <= whole:
            part.path.unlink()


def merge(
    store: Store, months: Mapping[str, str | None], *, below_bytes: int, target_bytes: int, dropped: Sequence[str] = ()
) -> int:
    """Merge files of the same table and month; the caller holds the lock, and loads afterwards.

    Only files in `months` are merged, file -> month of its newest run. Rows of `dropped` runs are left out: files that hold
    some are written again, however large.

    Returns:
        How many files were merged.
    """
    log = EventLog(store)
    sealing = {path.stem for path in log.journals()}  # sealed again if its sealer dies, unless its files are there
    groups: defaultdict[tuple[str, str | None], list[LogFile]] = defaultdict(list)
    ready, holders = set(), _files_of(log.files(), dropped)
    for file in log.files():
        if file.name in months and file.stem not in sealing and not file.stem.startswith(SPLIT):
            if _is_sorted(file) and file not in holders:
                ready.add(file)
            if file not in ready or file.size_bytes < below_bytes:
                groups[file.table, months[file.name]].append(file)
    merged = 0
    # `sources` last: its small files commit imports of the other tables, and may go only after those
    for (table, month), files in sorted(groups.items(), key=lambda group: group[0][0] == Source.TABLE):
        for lot in _lots(files, below_bytes, target_bytes, holders):
            if not ready.issuperset(lot):
                whole = [file for file in lot if sha256(file.path)[:16] == file.digest]
                if len(whole) > 1 or whole == lot:
                    _merge(store, TABLES[table], month, whole, dropped)
                    merged += len(whole)
    return merged


def _files_of(files: Iterable[LogFile], runs: Sequence[str]) -> set[LogFile]:
    """The files that hold rows of some runs, which are to be left out."""
    import duckdb

    found: set[LogFile] = set()
    tables: defaultdict[str, dict[str, LogFile]] = defaultdict(dict)
    for file in files if runs else ():
        if forgets(TABLES[file.table]):
            tables[file.table][str(file.path)] = file
    source = "read_parquet(?, filename = true, union_by_name = true)"
    query = f"SELECT DISTINCT filename FROM {source} WHERE run_id IN (SELECT unnest(?::VARCHAR[]))"
    with contextlib.closing(duckdb.connect()) as connection:
        for paths in tables.values():
            rows = connection.execute(query, [list(paths), list(runs)]).fetchall()
            found.update(paths[path] for (path,) in rows)
    return found


def _lots(files: Sequence[LogFile], below_bytes: int, target_bytes: int, must: Set[LogFile]) -> Iterator[list[LogFile]]:
    """Files in lots of about the target's size, what is left over in the last one.

    One small file alone is no lot, unless it must be written again.
    """
    lot: list[LogFile] = []
    have, left = 0, sum(file.size_bytes for file in files)
    for file in files:
        lot.append(file)
        have, left = have + file.size_bytes, left - file.size_bytes
        if have >= target_bytes and left >= below_bytes:
            yield lot
            lot, have = [], 0
    if len(lot) > 1 or have >= below_bytes or not must.isdisjoint(lot):
        yield lot


def _is_sorted(file: LogFile) -> bool:
    """Return whether a merged file was written as this bench would write it."""
    return file.stem.startswith(MERGED) and metadata(file.path).get(SORTED) == _order(TABLES[file.table])


def _months(warehouse: Warehouse, files: Iterable[LogFile]) -> dict[str, str | None]:
    """The month in which the newest run of each loaded file began, as YYYY-MM; None if unknown."""
    loaded = {name for (name,) in warehouse.rows("SELECT name FROM _files")}
    months: dict[str, str | None] = {}
    unread = defaultdict(list)
    for file in files:
        if file.name in loaded:
            match = _MONTH.match(file.stem)
            months[file.name] = match[1] if match else None
            if not match and file.table != Environment.TABLE:
                unread[file.table].append(file)
    for same in unread.values():
        names = {str(file.path): file.name for file in same}
        query = f"""
            SELECT filename, strftime(max(began_at), '%Y-%m')
            FROM (SELECT DISTINCT filename, run_id FROM read_parquet({path_list(same)}, filename = true))
            JOIN run_summaries USING (run_id)
            GROUP BY filename
        """
        months |= {names[path]: month for path, month in warehouse.rows(query)}
    return months


def _merge(
    store: Store, event: type[Event], month: str | None, files: Sequence[LogFile], dropped: Sequence[str]
) -> None:
    """Publish what stands for some files, all that any of them stood for included: who has those needs it as well."""
    stands_for = sorted({name for file in files for name in (file.name, *replaced(file.path))})
    stem = f"{MERGED}{month}-{secrets.token_hex(8)}" if month else f"{MERGED}{secrets.token_hex(8)}"
    where = f"run_id NOT IN ({', '.join(map(literal, dropped))})" if dropped and forgets(event) else "true"
    write_sorted(store, event, files, stem, {"bench.replaces": json.dumps(stands_for)}, where)


def write_sorted(
    store: Store,
    event: type[Event],
    files: Sequence[LogFile],
    stem: str,
    metadata_given: Mapping[str, str],
    where: str,
) -> Path:
    """Publish the rows of some files of one table as one file, sorted and packed; memory stays bounded.

    Columns that this bench does not know are kept. `where` is the SQL condition of the rows to take.

    Raises:
        BenchError: The disk is full.
    """
    import duckdb

    folder = store.events / event.TABLE
    temporary = folder / f".{stem}.tmp"
    make_folder(folder)
    try:
        config: dict[str, Any] = {"memory_limit": LOADING_MEMORY, "temp_directory": str(store.root / SPILL)}
        with (
            contextlib.closing(breakable(duckdb.connect(config=config))) as connection,
            as_bench_error(event.TABLE, folder),
        ):
            _write(connection, event, files, where, temporary, {SORTED: _order(event), **metadata_given})
            return publish(temporary, folder, stem)
    finally:
        temporary.unlink(missing_ok=True)


def _write(
    connection: "duckdb.DuckDBPyConnection",
    event: type[Event],
    files: Sequence[LogFile],
    where: str,
    path: Path,
    metadata_given: Mapping[str, str],
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    source = f"read_parquet({path_list(files)}, union_by_name = true)"
    have = [row[0] for row in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()]
    own = {field.name: field for field in schema.arrow_schema(event)}
    columns = [
        quote(f.name) if f.name in have else f"CAST(NULL AS {parquet_type(f.type)}) AS {quote(f.name)}"
        for f in event.fields()
    ]
    columns += [quote(name) for name in have if name not in own]
    distinct = "DISTINCT" if event is Environment else ""  # the same machine describes itself in every run
    order = ", ".join(map(quote, _order(event).split(", ")))
    query = f"SELECT {distinct} {', '.join(columns)} FROM {source} WHERE {where} ORDER BY {order}"
    reader = connection.sql(query).to_arrow_reader(GROUP_ROWS)
    fields = [own.get(field.name, field) for field in reader.schema]
    wanted = pa.schema(fields, metadata={**schema.metadata(event), **metadata_given})
    with pq.ParquetWriter(path, wanted, compression="zstd", compression_level=3, **schema.encodings(wanted)) as writer:
        for batch in reader:
            writer.write_table(pa.Table.from_batches([batch]).cast(wanted))


def _order(event: type[Event]) -> str:
    """The sort columns of a table."""
    have = {field.name for field in event.fields()}
    return ", ".join(column for column in ORDER if column in have)
