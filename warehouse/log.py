"""The event log: immutable Parquet files under events/<table>/, the truth from which all else derives.

A file is named <stem>-<first 16 hex digits of its SHA-256>.parquet, so it can be checked against its own name, and it
appears by rename, whole or not at all. What belongs together shares a stem:

    <uuid>          one sealed journal
    import-<…>      one imported file or part of one; it counts only once its `sources` file is there, renamed last
    merged-<uuid>   small files put together by `compact`; its metadata name the files it stands for
"""

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import journal, schema
from .errors import BenchError, Exit
from .events import TABLES, Event, ScheduleChunk, Source
from .schema import literal, quote
from .store import Store

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

IMPORT = "import-"
MERGED = "merged-"
ROWS_AT_ONCE = 100_000


@dataclass(frozen=True, slots=True, order=True)
class LogFile:
    """One file of the log."""

    table: str
    name: str
    path: Path = dataclasses.field(compare=False)
    size_bytes: int = dataclasses.field(compare=False)

    @property
    def stem(self) -> str:
        """What files written together share."""
        return self.name.rpartition("-")[0]

    @property
    def commit(self) -> str:
        """Of an imported file: the stem of the `sources` file that commits it."""
        return self.stem.partition(".")[0]

    @property
    def digest(self) -> str:
        """The beginning of the SHA-256 its content must have."""
        return self.name.rpartition("-")[2].removesuffix(".parquet")


class EventLog:
    """The log of one store."""

    def __init__(self, store: Store) -> None:
        """The log of `store`, which need not exist yet."""
        self.store = store

    def files(self) -> list[LogFile]:
        """Every published file, by table and name; names that are not the log's own are left out."""
        found = []
        for table in TABLES:
            with contextlib.suppress(FileNotFoundError), os.scandir(self.store.events / table) as entries:
                for entry in entries:
                    if entry.name.endswith(".parquet") and not entry.name.startswith("."):
                        found.append(LogFile(table, entry.name, Path(entry.path), entry.stat().st_size))
        return sorted(found)

    def write(self, event: type[Event], rows: "Sequence[Event] | pa.Table", stem: str, **extra: str) -> Path:
        """Publish one file of one table.

        Args:
            event: The table.
            rows: Events, or an Arrow table with the table's columns.
            stem: What the file's name begins with.
            extra: Further metadata for the file.

        Raises:
            BenchError: A column that must not be NULL is, or the disk is full.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        wanted = schema.arrow_schema(event)
        if not isinstance(rows, pa.Table):
            columns = {name: [getattr(row, name) for row in rows] for name in wanted.names}
            rows = pa.table(columns, schema=wanted)
        rows = rows.cast(wanted).replace_schema_metadata({**wanted.metadata, **extra})
        folder = self.store.events / event.TABLE
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / f".{stem}.tmp"
        with _as_bench_error(event, folder):
            pq.write_table(rows, temporary, compression="zstd", compression_level=1)
            return publish(temporary, folder, stem)

    @contextlib.contextmanager
    def batch(self, stem: str) -> Iterator["Batch"]:
        """Collect the events of one imported file, and publish them together or, on an exception, not at all.

        The caller holds the store's lock.
        """
        staging = self.store.events / f".{IMPORT}{secrets.token_hex(8)}"
        staging.mkdir(parents=True)
        try:
            batch = Batch(staging)
            yield batch
            batch.finish()
            for event in sorted(batch.parts, key=lambda event: event is Source):  # sources last: it commits the rest
                for number, path in enumerate(batch.parts[event]):
                    folder = self.store.events / event.TABLE
                    folder.mkdir(exist_ok=True)
                    publish(path, folder, f"{IMPORT}{stem}.{number}" if number else f"{IMPORT}{stem}")
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def seal(self, path: Path) -> bool:
        """Turn a journal whose writer is gone into Parquet, and remove it; does nothing while its writer lives.

        Sealing again after a crash in between repeats nothing: a table already there under the journal's name stays.

        Returns:
            Whether the journal is sealed now.
        """
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            if path.exists():
                self._seal(path)
            return True
        finally:
            os.close(descriptor)

    def _seal(self, path: Path) -> None:
        try:
            contents = journal.read(path)
        except BenchError:  # killed before its header was written: nothing was ever acknowledged in it
            path.unlink()
            return
        for table, columns in contents.rows.items():
            if table not in TABLES:
                raise BenchError(
                    f"{path} holds table {table!r}, which this bench does not know. Update bench to seal it."
                )
            if not list((self.store.events / table).glob(f"{path.stem}-*.parquet")):
                self.write(TABLES[table], arrow_table(TABLES[table], columns, contents.header), path.stem)
        path.unlink()

    def compact(self, *, below_bytes: int, target_bytes: int) -> int:
        """Merge files smaller than `below_bytes` into files of about `target_bytes`; the caller holds the lock.

        The small files stay until a load has noted what stands for them now (`database.load_locked`).

        Returns:
            How many files were merged.
        """
        groups: list[list[LogFile]] = []
        for file in self.files():
            if file.size_bytes >= below_bytes or (file.stem.startswith(IMPORT) and not self.committed(file)):
                continue
            group = groups[-1] if groups else []
            if not group or group[0].table != file.table or sum(f.size_bytes for f in group) >= target_bytes:
                groups.append([file])
            else:
                group.append(file)
        groups = [group for group in groups if len(group) > 1]
        # `sources` last: its small files commit imports of the other tables, and may go only after those
        for group in sorted(groups, key=lambda group: group[0].table == Source.TABLE):
            self._merge(group)
        return sum(map(len, groups))

    def committed(self, file: LogFile) -> bool:
        """Whether the import this file belongs to was finished."""
        return any((self.store.events / Source.TABLE).glob(f"{file.commit}-*.parquet"))

    def _merge(self, group: list[LogFile]) -> None:
        import duckdb

        event = TABLES[group[0].table]
        folder = self.store.events / event.TABLE
        stem = f"{MERGED}{secrets.token_hex(8)}"
        temporary = folder / f".{stem}.tmp"
        said = {**schema.metadata(event), "bench.replaces": json.dumps([file.name for file in group])}
        with contextlib.closing(duckdb.connect()) as connection:
            copy(connection, f"FROM read_parquet({path_list(group)}, union_by_name = true)", temporary, said)
        publish(temporary, folder, stem)

    def journals(self) -> list[Path]:
        """Journals not sealed yet, their writers alive or gone."""
        return sorted(self.store.journals.glob("*.journal"))

    def recover(self) -> list[Path]:
        """Seal every journal whose writer is gone, and clear what killed imports and compactions left; the caller holds the lock."""
        for staging in self.store.events.glob(f".{IMPORT}*"):
            shutil.rmtree(staging, ignore_errors=True)
        for unfinished in self.store.events.glob(f"*/.{MERGED}*.tmp"):
            unfinished.unlink()
        return [path for path in self.journals() if self.seal(path)]


class Batch:
    """The events of one imported file, on their way into the log."""

    def __init__(self, staging: Path) -> None:
        """Collect in the folder `staging`; `EventLog.batch` is how to get here."""
        self.staging = staging
        self.parts: dict[type[Event], list[Path]] = {}
        self._pending: dict[type[Event], list[Event]] = {}

    def add(self, event: Event) -> None:
        """Add one event."""
        pending = self._pending.setdefault(type(event), [])
        pending.append(event)
        if len(pending) >= ROWS_AT_ONCE:
            self._write(type(event))

    def copy(self, connection: "duckdb.DuckDBPyConnection", event: type[Event], select: str) -> Path:
        """Add the rows of a query, without passing them through Python.

        Args:
            connection: Where the query runs.
            event: The table whose columns the query names; those it leaves out are NULL.
            select: The query, in the order its rows shall have.

        Returns:
            The Parquet file, staged; it may be read until the batch ends.
        """
        path = self._next(event)
        have = {row[0] for row in connection.execute(f"DESCRIBE {select}").fetchall()}
        columns = ", ".join(
            f"CAST({quote(f.name) if f.name in have else 'NULL'} AS {_parquet_type(f.type)}) AS {quote(f.name)}"
            for f in event.fields()
        )
        copy(connection, f"SELECT {columns} FROM ({select})", path, schema.metadata(event))
        return path

    def finish(self) -> None:
        """Write what is pending."""
        for event in list(self._pending):
            self._write(event)

    def _write(self, event: type[Event]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows = self._pending.pop(event)
        wanted = schema.arrow_schema(event)
        table = pa.table({name: [getattr(row, name) for row in rows] for name in wanted.names}, schema=wanted)
        path = self._next(event)
        with _as_bench_error(event, path.parent):
            pq.write_table(table, path, compression="zstd", compression_level=1)

    def _next(self, event: type[Event]) -> Path:
        parts = self.parts.setdefault(event, [])
        parts.append(self.staging / f"{event.TABLE}-{len(parts)}.parquet")
        return parts[-1]


def arrow_table(event: type[Event], columns: dict[str, list[Any]], header: dict[str, Any]) -> "pa.Table":
    """What a journal holds of one table; columns it does not have are NULL, the run and writer are its header's."""
    import pyarrow as pa

    wanted = schema.arrow_schema(event)
    rows = len(next(iter(columns.values())))
    constant = {"run_id": header["run_id"], **({"writer": header["writer"]} if event is ScheduleChunk else {})}
    arrays = []
    for field in wanted:
        values = [constant[field.name]] * rows if field.name in constant else columns.get(field.name, [None] * rows)
        arrays.append(pa.array(values, field.type))
    return pa.Table.from_arrays(arrays, schema=wanted)


def copy(connection: "duckdb.DuckDBPyConnection", select: str, path: Path, metadata: dict[str, str]) -> None:
    """Write the rows of a query, in order, to a Parquet file with this metadata."""
    said = ", ".join(f"{quote(key)}: {literal(value)}" for key, value in metadata.items())
    connection.execute(
        f"COPY ({select}) TO {literal(str(path))} "
        f"(FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, KV_METADATA {{{said}}})"
    )


def path_list(files: Sequence[LogFile]) -> str:
    """The files as an SQL list, for read_parquet."""
    return f"[{', '.join(literal(str(file.path)) for file in files)}]"


def publish(temporary: Path, folder: Path, stem: str) -> Path:
    """Rename a finished file into the log under a name that holds its checksum, durably."""
    digest = sha256(temporary)
    path = folder / f"{stem}-{digest[:16]}.parquet"
    descriptor = os.open(temporary, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(temporary, path)
    sync_folder(folder)
    return path


def sync_folder(folder: Path) -> None:
    """Make renames within a folder survive power loss."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256(path: Path) -> str:
    """The SHA-256 of a file's content, as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def replaced(path: Path) -> list[str]:
    """Names of the files a merged file stands for; none for any other file."""
    import pyarrow.parquet as pq

    said = (pq.read_metadata(path).metadata or {}).get(b"bench.replaces")
    names: list[str] = json.loads(said) if said else []
    return names


def _parquet_type(kind: Any) -> str:
    sql = schema.SQL_TYPES[kind]
    return "VARCHAR" if sql == "JSON" else sql


@contextlib.contextmanager
def _as_bench_error(event: type[Event], folder: Path) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except pa.ArrowInvalid as error:
        raise BenchError(f"cannot write table {event.TABLE}: {error}") from error
    except OSError as error:
        full = BenchError(f"cannot write to {folder}: {error.strerror or error}. Free some space and try again.")
        full.exit_code = Exit.INTERNAL
        raise full from error
