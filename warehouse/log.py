"""The event log: immutable Parquet files under events/<table>/, from which everything else derives.

A file is named <stem>-<first 16 hex digits of its SHA-256>.parquet, so it can be checked against its own name, and it
appears by rename, whole or not at all. What belongs together shares a stem:

    <uuid>          one sealed journal
    import-<…>      one imported file or part of one; it counts only once its `sources` file is there, renamed last
    merged-<month>-<…>   files merged by compaction; its metadata name the files that it replaces
    split-<…>       the part of a file that stays, or that went, when some of its runs were archived; it counts where that
                    file is absent

This file is long because it has all ways in which files get into the log: sealing, importing and publishing.
"""

import contextlib
import dataclasses
import fcntl
import functools
import hashlib
import itertools
import json
import operator
import os
import secrets
import shutil
import stat
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from . import environment, schema
from .errors import BenchError
from .events import TABLES, ArchivedRun, Event, Json, RunChange, Source
from .files import cure, disk_error, make_folder, open_file, open_regular, read_json, remove, sync, take_after_folder
from .journals.parts import NeverBegun, Unreadable, header_of
from .journals.reader import DamagedJournal, read
from .locks import STALE_S, claim_of, holder_lives, lock
from .schema import literal, quote
from .sealing import seal_journal
from .secrets import without_secrets
from .store import Store
from .upkeep.row_groups import protect

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

IMPORT = "import-"
MERGED = "merged-"
SPLIT = "split-"
ARCHIVING = "archiving.json"  # in the store: names of files that another store holds, and which go
STAGING = ".archiving-"
SPILL = ".spill"  # in the store: what sorting and loading put on the disk
RESTORE = "Restore it from a copy; `bench store rebuild` then loads it."
ROWS_AT_ONCE = 100_000
ROWS_OF_VECTOR = 2048  # DuckDB's own unit, which needs no larger copy
BYTES_IN_GROUP = 4 << 20  # of a row group in memory, about
ROWS_TOGETHER = 1000  # added at once, fewer wait for others: an Arrow table has its price


@dataclass(frozen=True, slots=True, order=True)
class LogFile:
    """One file of the log."""

    table: str
    name: str
    path: Path = dataclasses.field(compare=False)
    size_bytes: int = dataclasses.field(compare=False)
    modified_ns: int = dataclasses.field(compare=False, default=0)

    @property
    def stem(self) -> str:
        """The part of the name that files written together share."""
        return self.name.rpartition("-")[0]

    @property
    def commit(self) -> str:
        """The stem of the `sources` file that commits an imported file."""
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
        self.unchecked_bytes = 0  # of events that were sealed here, and have no checksum: their writers closed nothing
        self.emptied: list[str] = []  # sentences on journals that held nothing and were removed here

    def files(self) -> list[LogFile]:
        """Every published file, by table and name; names that are not the log's own are left out."""
        return self.listing()[0]

    def listing(self) -> tuple[list[LogFile], dict[str, str]]:
        """The published files, and by name why what stands in the place of one cannot be read: a folder, say, or a device."""
        found, unreadable = [], {}
        for table in TABLES:
            folder = self.store.events / table
            try:
                with os.scandir(folder) as entries:
                    names = [e for e in entries if e.name.endswith(".parquet") and not e.name.startswith(".")]
            except OSError as error:
                if os.path.lexists(folder):
                    unreadable[f"events/{table}"] = f"cannot be read: {error.strerror}. {RESTORE}"
                continue
            for entry in names:
                try:
                    about = entry.stat()
                    if stat.S_ISREG(about.st_mode):
                        found.append(LogFile(table, entry.name, Path(entry.path), about.st_size, about.st_mtime_ns))
                    else:
                        unreadable[entry.name] = f"is not a regular file. {RESTORE}"
                except OSError as error:
                    if os.path.lexists(entry.path):  # else it was merged just now
                        unreadable[entry.name] = f"cannot be read: {error.strerror}. {RESTORE}"
        return sorted(found), unreadable

    def write(self, event: type[Event], rows: "Sequence[Event] | pa.Table", stem: str, **extra: str) -> Path:
        """Publish one file of one table. The file's name begins with the stem; `extra` is further metadata.

        Raises:
            BenchError: A column that must not be NULL is, or the disk is full.
        """
        import pyarrow as pa

        with as_bench_error(event.TABLE, self.store.events):
            given: Any = rows
            table = given.cast(schema.arrow_schema(event)) if isinstance(rows, pa.Table) else table_of(event, given)
        about = {**schema.metadata(event), **extra}
        return self._write(event.TABLE, table.replace_schema_metadata(about), stem)

    def _write(self, table: str, rows: "pa.Table", stem: str) -> Path:
        import pyarrow.parquet as pq

        folder = self.store.events / table
        temporary = folder / f".{stem}.tmp"
        try:
            with as_bench_error(table, folder):
                make_folder(folder)
                pq.write_table(
                    rows,
                    temporary,
                    compression="zstd",
                    compression_level=1,
                    row_group_size=schema.ROWS_IN_GROUP,
                )
                return publish(temporary, folder, stem)
        finally:
            temporary.unlink(missing_ok=True)

    @contextlib.contextmanager
    def batch(self, stem: str) -> Iterator["Batch"]:
        """Collect the events of one imported file, and publish them together or, on an exception, not at all.

        The caller holds the store's lock. `stem` has no dot: what follows one numbers the files of one table.
        """
        if "." in stem:
            raise ValueError(f"a dot in {stem!r}")
        staging = self.store.events / f".{IMPORT}{secrets.token_hex(8)}"
        make_folder(staging)
        try:
            batch = Batch(staging)
            yield batch
            batch.finish()
            for event in sorted(batch.parts, key=lambda event: event is Source):  # sources last: it commits the rest
                for number, path in enumerate(batch.parts[event]):
                    folder = self.store.events / event.TABLE
                    with as_bench_error(event.TABLE, folder):
                        make_folder(folder)
                        publish(path, folder, f"{IMPORT}{stem}.{number}" if number else f"{IMPORT}{stem}")
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def seal(self, path: Path, *, force: bool = False) -> bool:
        """Turn a journal whose writer is gone into Parquet, and remove it; does nothing while its writer lives.

        Sealing again after a crash in between repeats nothing: rows already there under the journal's name stay. With `force`
        also one of another machine that may still write it, see `is_foreign`.

        Returns:
            Whether the journal is sealed now.

        Raises:
            Unreadable: Its header is damaged or another version's; it stays where it is.
            DamagedJournal: A part of it could not be read; the rest is sealed, and the file kept in `damaged/`.
        """
        try:
            descriptor = open_regular(path, os.O_RDWR | os.O_NOFOLLOW)
        except FileNotFoundError:
            return True
        except OSError as error:
            raise Unreadable(f"cannot be opened: {error.strerror}.") from error
        try:
            try:
                if not lock(descriptor) and holder_lives(claim_of(path), path) and not (force and is_foreign(path)):
                    return False
            except BlockingIOError:
                return False
            if not force and is_foreign(path):
                return False
            if _is_at(descriptor, path):
                self._seal(path)
            return True
        finally:
            os.close(descriptor)

    def _seal(self, path: Path) -> None:
        try:
            contents = read(path)
        except NeverBegun:
            _drop(path)
            self.emptied.append(
                f"{path.name} held no events and was removed: its process was killed or the system lost power before anything was"
                " written, or another program emptied it"
            )
            return
        with as_bench_error("of a journal", self.store.events):
            seal_journal(contents, self.store.events, path.stem, publish)
        self.unchecked_bytes += contents.unchecked
        if not contents.damage:
            _drop(path)
            return
        try:
            make_folder(self.store.damaged)
            path.rename(self.store.damaged / path.name)
            sync(self.store.damaged)
            sync(path.parent)
        except OSError as error:
            raise DamagedJournal(
                f"is damaged ({'; '.join(contents.damage)}). What could be read is in the log; the whole file stays where it "
                f"is, because {self.store.damaged} cannot take it: {error.strerror}"
            ) from error
        raise DamagedJournal(
            f"is damaged ({'; '.join(contents.damage)}). What could be read is in the log; the whole file is kept in "
            f"{self.store.damaged}"
        )

    def damaged(self) -> list[Path]:
        """Journals that were kept aside because a part of them could not be read; the rest of their events is in the log."""
        return sorted(self.store.damaged.glob("*"))

    def journals(self) -> list[Path]:
        """Journals not sealed yet, their writers alive or gone."""
        return sorted(self.store.journals.glob("*.journal"))

    def abandoned(self) -> Iterator[Path]:
        """Journals that wait to be sealed, their writers gone."""
        return filter(_is_abandoned, self.journals())

    def being_written(self) -> list[Path]:
        """Journals whose writers are alive, as far as this machine can tell. Others that are not sealed cannot be."""
        return [path for path in self.journals() if not _is_abandoned(path)]

    def is_unfinished(self) -> bool:
        """Return whether a journal waits to be sealed, its writer gone, or archived files to be removed."""
        return os.path.lexists(self.store.root / ARCHIVING) or any(self.abandoned())

    def recover(self, *, force: bool = False) -> tuple[list[Path], dict[str, str]]:
        """Seal every journal whose writer is gone, and clean up after killed processes; the caller holds the lock.

        Args:
            force: Seal journals of other machines, too, however new they are.

        Returns:
            The journals sealed, and the names of those that could not be read as a whole, with the reason.
        """
        remove(
            [
                self.store.root / SPILL,
                *self.store.events.glob(f".{IMPORT}*"),
                *self.store.events.glob(f"*/.{MERGED}*.tmp"),
                *self.store.events.glob(f"{ArchivedRun.TABLE}/.*.tmp"),
                *self.store.events.glob(f"{RunChange.TABLE}/.*.tmp"),
                *self.store.root.glob(f"{STAGING}*"),
            ]
        )
        sealed, left_out = [], self._finish_archiving()
        for path in self.journals():
            try:
                if self.seal(path, force=force):
                    sealed.append(path)
            except (Unreadable, DamagedJournal) as error:
                left_out[path.name] = str(error)
        return sealed, left_out

    def _finish_archiving(self) -> dict[str, str]:
        """Remove what another store holds since a process was killed; what cannot be done, by the name of the list."""
        going = self.store.root / ARCHIVING
        if not os.path.lexists(going):
            return {}
        try:
            for name in self._listed_names(going):
                path = self.store.root / name
                path.unlink(missing_ok=True)
                if not name.startswith(self.store.events.name):
                    with contextlib.suppress(OSError):  # others are in it
                        path.parent.rmdir()
            for table in self.store.events.iterdir():
                sync(table)
            going.unlink()
        except (OSError, ValueError) as error:
            return {
                going.name: f"cannot be followed: {getattr(error, 'strerror', None) or error}. What was archived may still be "
                f"in this store, too. Look at it, delete it, and archive again."
            }
        return {}

    def _listed_names(self, path: Path) -> list[str]:
        """Names of files to remove, from a list that may be damaged or hostile: only of what the log says was archived.

        There are none while the log does not have the file that says so: then archiving was killed just before it.

        Raises:
            OSError: It cannot be read.
            ValueError: It is no list of names, or names something else.
        """
        match read_json(path):
            case {"said_by": str(stem), "remove": list(names)}:
                pass
            case _:
                raise ValueError("it is not a list of names")
        listed = self.files()
        if not any(file.table == ArchivedRun.TABLE and file.stem == stem for file in listed):
            return []
        runs, files = archived(listed)
        for name in names:
            match str(name).split("/"):
                case [self.store.events.name, table, file] if table in TABLES and file in files:
                    pass
                case [self.store.artefacts.name, run, *below] if run in runs and {"", ".", ".."}.isdisjoint(below):
                    pass
                case _:
                    raise ValueError(f"it names {name!r}, which was not archived")
        return names


def _drop(path: Path) -> None:
    """Remove a journal whose events are in the log."""
    try:
        path.unlink()
        claim_of(path).unlink(missing_ok=True)
    except OSError as error:  # it is another user's
        raise Unreadable(f"is sealed and cannot be removed: {error.strerror}.") from error


def _is_abandoned(path: Path) -> bool:
    try:
        with open_file(path) as file:
            if not lock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB) and holder_lives(claim_of(path), path):
                return False
            return not is_foreign(path)
    except (BlockingIOError, FileNotFoundError):  # its writer lives, or it was sealed just now
        return False
    except OSError:  # sealing it says why it cannot be read
        return True


def is_foreign(path: Path) -> bool:
    """Return whether a journal is of another machine, boot or container and was written to within STALE_S.

    A lock is worth nothing there: on some shared disks each machine sees its own locks only. A writer touches its journal
    every few seconds, so one that is older is taken for dead.
    """
    header = header_of(path)
    ours = all(header.get(key, value) == value for key, value in environment.machine().items())
    with contextlib.suppress(OSError):
        return not ours and time.time() - path.stat().st_mtime < STALE_S
    return False


def _is_at(descriptor: int, path: Path) -> bool:
    """True if an open file is the one of this name: another process may have sealed it, or a writer begun another."""
    with contextlib.suppress(OSError):
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    return False


class Batch:
    """Collects the events of one imported file for the log."""

    def __init__(self, staging: Path) -> None:
        """Collect in the folder `staging`; `EventLog.batch` is how to get here."""
        self.staging = staging
        self.parts: dict[type[Event], list[Path]] = {}
        self._pending: defaultdict[type[Event], list[Event]] = defaultdict(list)
        self._columns: dict[type[Event], dict[str, list[Any]]] = {}
        self._tables: defaultdict[type[Event], list[pa.Table]] = defaultdict(list)
        self._added: Counter[type[Event]] = Counter()  # rows of both

    def add(self, event: Event) -> None:
        """Add one event, without its secrets."""
        pending = self._pending[type(event)]
        pending.append(without_secrets(event))
        if len(pending) >= ROWS_AT_ONCE:
            self._write(type(event))

    def add_rows(self, event: type[Event], columns: Mapping[str, Any], count: int) -> None:
        """Add so many events at once. A column is a list, an array, or one value for all; what is not named is NULL."""
        if count < ROWS_TOGETHER:
            pending = self._columns.setdefault(event, {field.name: [] for field in event.fields()})
            for name, gathered in pending.items():
                value: Any = columns.get(name)
                gathered.extend(itertools.repeat(value, count) if _is_one(value) else value)
        else:
            self._tables[event].append(_table_of_columns(event, columns, count))
        self._added[event] += count
        if self._added[event] >= ROWS_AT_ONCE:
            self._write(event)

    def add_table(self, event: type[Event], table: "pa.Table") -> None:
        """Add the rows of a table that has columns of the event, without secrets; those it lacks have the event's defaults."""
        self._tables[event].append(_filled(event, table))
        self._added[event] += table.num_rows
        if self._added[event] >= ROWS_AT_ONCE:
            self._write(event)

    def copy(self, connection: "duckdb.DuckDBPyConnection", event: type[Event], select: str) -> Path:
        """Add the rows of a query as a file of their own, without passing them through Python.

        Args:
            connection: Where the query runs.
            event: The table whose columns the query names; those it leaves out have the event's defaults.
            select: The query, in the order its rows shall have.

        Returns:
            The Parquet file, staged; it may be read until the batch ends.

        Raises:
            duckdb.Error: The query fails, or a column cannot hold a number of it, such as 1.5 in one of whole numbers.
            BenchError: The disk is full.
        """
        import duckdb
        import pyarrow as pa
        import pyarrow.parquet as pq

        path, wanted = self._next(event), schema.arrow_schema(event)
        texts = {f.name for f in event.fields() if f.type is Json}
        names = connection.sql(select).columns
        columns = ", ".join(f"CAST({quote(n)} AS VARCHAR) AS {quote(n)}" if n in texts else quote(n) for n in names)
        rows = connection.sql(f"SELECT {columns} FROM ({select})").to_arrow_reader(ROWS_OF_VECTOR)
        about: dict[str, Any] = {"compression": "zstd", "compression_level": 1, **schema.encodings(wanted)}
        try:
            with pq.ParquetWriter(path, wanted, **about) as writer:
                for table in _row_groups(rows):
                    writer.write_table(_filled(event, table))
        except (OSError, ValueError) as error:
            if (number := getattr(error, "errno", None)) is not None:
                raise _unwritable(path.parent, os.strerror(number)) from error
            raise duckdb.DataError(str(error)) from error  # of the query, as Arrow hands it on, or of Arrow
        pa.default_memory_pool().release_unused()  # which it would keep while the warehouse is loaded
        return path

    def finish(self) -> None:
        """Write what is pending."""
        for event in {**self._pending, **self._added}:
            self._write(event)

    def _write(self, event: type[Event]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self._next(event)
        with as_bench_error(event.TABLE, path.parent):
            tables = [table_of(event, self._pending.pop(event, [])), *self._tables.pop(event, [])]
            if columns := self._columns.pop(event, None):
                tables.append(_table_of_columns(event, columns, len(next(iter(columns.values())))))
            pq.write_table(
                pa.concat_tables(tables),
                path,
                compression="zstd",
                compression_level=1,
                row_group_size=schema.ROWS_IN_GROUP,
            )
        del self._added[event]

    def _next(self, event: type[Event]) -> Path:
        parts = self.parts.setdefault(event, [])
        parts.append(self.staging / f"{event.TABLE}-{len(parts)}.parquet")
        return parts[-1]


def _row_groups(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.Table]":
    """The rows in tables of the length of a row group; of large rows fewer, for a table is held in memory."""
    import pyarrow as pa

    some: list[pa.RecordBatch] = []
    for batch in batches:
        some.append(batch)
        if sum(map(len, some)) >= schema.ROWS_IN_GROUP or sum(each.nbytes for each in some) >= BYTES_IN_GROUP:
            yield pa.Table.from_batches(some)
            some = []
    if some:
        yield pa.Table.from_batches(some)


def _filled(event: type[Event], table: "pa.Table") -> "pa.Table":
    """The table as rows of the event, with its defaults in the columns that it lacks."""
    import pyarrow as pa

    wanted = schema.arrow_schema(event)
    usual = {each.name: each.default for each in dataclasses.fields(event)}  # type: ignore[arg-type]

    @functools.cache  # most columns are NULL, and share one that is
    def repeated(value: Any, kind: pa.DataType) -> pa.Array:
        return pa.repeat(pa.scalar(value, kind), table.num_rows)

    columns = [
        table[each.name].cast(each.type) if each.name in table.column_names else repeated(usual[each.name], each.type)
        for each in wanted
    ]
    return pa.table(columns, schema=wanted)


def table_of(event: type[Event], rows: Sequence[Event]) -> "pa.Table":
    """The events as an Arrow table."""
    import pyarrow as pa

    wanted = schema.arrow_schema(event)
    values_of = operator.attrgetter(*wanted.names)  # half the time of a getattr for each
    columns = zip(*map(values_of, rows), strict=True) if rows else [()] * len(wanted)
    return pa.table([_array(values, f.type) for values, f in zip(columns, wanted, strict=True)], schema=wanted)


def _table_of_columns(event: type[Event], columns: Mapping[str, Any], count: int) -> "pa.Table":
    """An Arrow table of so many events, each column its values or one value for all; what is not named is NULL."""
    import pyarrow as pa

    wanted = schema.arrow_schema(event)
    values: list[Any] = [columns.get(name) for name in wanted.names]
    arrays = [
        pa.repeat(_array([value], kind)[0], count) if _is_one(value) else _array(value, kind)
        for value, kind in zip(values, wanted.types, strict=True)
    ]
    return pa.table(arrays, schema=wanted)


def _is_one(value: Any) -> bool:
    """Return whether a value stands for a whole column."""
    return value is None or isinstance(value, str | int | float)


def _array(values: Sequence[Any], kind: "pa.DataType") -> "pa.Array":
    """An Arrow array; lone surrogates in a string (of a file name, say) become \\udcNN."""
    import pyarrow as pa

    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array([_unicode(value) for value in values], kind)


def _unicode(value: Any) -> Any:
    if isinstance(value, list):
        return [_unicode(item) for item in value]
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def path_list(files: Sequence[LogFile]) -> str:
    """The files as an SQL list, for read_parquet."""
    return f"[{', '.join(literal(str(file.path)) for file in files)}]"


def publish(temporary: Path, folder: Path, stem: str) -> Path:
    """Rename a finished file into the log under a name that holds its checksum, durably, and with checksums of its groups."""
    protect(temporary)
    digest = sha256(temporary)
    path = folder / f"{stem}-{digest[:16]}.parquet"
    take_after_folder(temporary)
    sync(temporary)
    os.replace(temporary, path)
    sync(folder)
    return path


def sha256(path: Path) -> str:
    """The SHA-256 of a file's content, as 64 hexadecimal digits."""
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_once(path: Path) -> str:
    """The same; a process reads a file once, until its size, its times or its inode change."""
    found = path.stat()
    return _sha256_of(path, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


@functools.cache
def _sha256_of(path: Path, *_: int) -> str:
    return sha256(path)


def metadata(path: Path | BinaryIO) -> dict[str, str]:
    """The metadata of a file of the log; empty if it is damaged, which loading reports."""
    import pyarrow.parquet as pq

    try:
        file_metadata = pq.read_metadata(path).metadata or {}
        return {key.decode(): value.decode() for key, value in file_metadata.items() if key.startswith(b"bench.")}
    except (OSError, ValueError):  # of Arrow, or no UTF-8
        return {}


def _names_in(path: Path | BinaryIO, key: str) -> list[str]:
    """A list of names in the metadata of a file; empty if it is damaged."""
    try:
        names = json.loads(metadata(path).get(key, "[]"))
    except ValueError:
        return []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def replaced(path: Path | BinaryIO) -> list[str]:
    """Names of the files a merged file stands for; none for any other file."""
    return _names_in(path, "bench.replaces")


def unmerged(names: Iterable[str]) -> set[str]:
    """The names of recorded or imported files; a merged file is named together with the files it replaces."""
    return {name for name in names if not name.startswith(MERGED)}


def splits(path: Path) -> list[str]:
    """Names of the files that one which was split is a part of; none for any other file."""
    return _names_in(path, "bench.splits")


def archived(files: Iterable[LogFile]) -> tuple[set[str], set[str]]:
    """The runs that went into other stores, and the names of files that went, or were split because a part of them did.

    Files that are damaged tell nothing; loading reports them.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    runs, names = set[str](), set[str]()
    for file in files:
        if file.stem.startswith(SPLIT):
            names.update(splits(file.path))
        if file.table == ArchivedRun.TABLE:
            with contextlib.suppress(OSError, pa.ArrowInvalid, KeyError):
                rows = pq.read_table(file.path, columns=["run_id", "files"]).to_pydict()
                runs.update(rows["run_id"])
                names.update(name for held in rows["files"] for name in held or ())
    return runs, names


def parquet_type(kind: Any) -> str:
    """The DuckDB type of a column that is read from a file of the log."""
    sql = schema.SQL_TYPES[kind]
    return "VARCHAR" if sql == "JSON" else sql


@contextlib.contextmanager
def as_bench_error(table: str, folder: Path) -> Iterator[None]:
    """Turn errors of Arrow and of the disk into errors that a person can act on."""
    try:
        yield
    except ValueError as error:  # pa.ArrowInvalid among them
        raise BenchError(f"cannot write table {table}: {error}") from error
    except OSError as error:
        raise _unwritable(error.filename or folder, error.strerror or str(error)) from error


@contextlib.contextmanager
def log_is_read(store: Store) -> Iterator[None]:
    """Turn errors of DuckDB that come from damaged files of the log into one that a person can act on."""
    import duckdb

    try:
        yield
    except (duckdb.IOException, duckdb.InvalidInputException) as error:
        raise BenchError(
            f"cannot read the event log of {store}: {str(error).splitlines()[0]}. Find the damage with: bench store verify"
        ) from error


def _unwritable(place: Path | str, reason: str) -> BenchError:
    return disk_error(f"cannot write to {place}: {reason}. {cure(reason).capitalize()}, and try again.", reason)
