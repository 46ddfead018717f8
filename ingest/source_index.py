"""The files that the store has already, known by content, and by the day and commit that were said of it."""

import hashlib
import json
import os
import uuid
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..warehouse.errors import BenchError
from ..warehouse.files import publish_text, read_json
from ..warehouse.store import Store
from .format import MAX_LINE_BYTES, encoding
from .readers.packing import packing_of

if TYPE_CHECKING:
    from .plan import NewPart

Measured = tuple[str, str]  # the day, as in 2026-11-28, and the commit; empty where unknown
NOT_SAID: Measured = ("", "")
INDEX = "sources.json"  # in the store; derived, and only trusted while it says the log's state
COLUMNS = "source_id, part, run_id, config, name, format, end_byte, sha256, head_sha256, first_line + lines"


@dataclass(frozen=True, slots=True)
class IndexedSource:
    """One part of an imported file, as the `sources` table has it."""

    source_id: str
    part: int
    run_id: str
    config: str
    name: str
    format: str
    end_byte: int
    sha256: str
    head_sha256: str
    next_line: int
    archive: str | None = None  # the store that it was moved to, and is no longer here
    forgotten: bool = False  # its run was, and is not loaded again unless asked for
    measured: "Measured" = NOT_SAID  # by its name or --set, where the file does not say


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Hashes of a file."""

    size_bytes: int
    sha256: str
    head_sha256: str  # of its first line, without the line end
    prefixes: dict[int, str]  # bytes from the beginning -> their SHA-256, where something of that length is known
    line_feeds: dict[int, int]  # the same, and all bytes -> line feeds in them; none where lines are not to be seen


@dataclass(slots=True)
class KnownSources:
    """Every imported file of a store."""

    by_sha256: dict[str, list[IndexedSource]] = field(default_factory=dict)
    by_head: dict[str, list[IndexedSource]] = field(default_factory=dict)  # those that may have grown since
    runs: dict[str, dict[str, str]] = field(default_factory=dict)  # run_id -> file name -> SHA-256 of its first line
    forgotten: set[str] = field(default_factory=set)  # runs
    planned: "dict[tuple[str, int], NewPart]" = field(default_factory=dict)  # of this very ingest, by id and part
    places: dict[tuple[str, int], Path] = field(default_factory=dict)  # files of this ingest that hold them

    @classmethod
    def of(cls, rows: Iterable[IndexedSource]) -> "KnownSources":
        """Those of some rows."""
        known = cls()
        for row in rows:
            known.add(row)
        return known

    def add(self, row: IndexedSource) -> None:
        """Add one."""
        self.by_sha256.setdefault(row.sha256, []).append(row)
        if row.head_sha256:
            self.by_head.setdefault(row.head_sha256, []).append(row)
        if row.forgotten:
            self.forgotten.add(row.run_id)
        elif row.archive is None:
            self.runs.setdefault(row.run_id, {})[row.name] = row.head_sha256

    def all_forgotten(self) -> "KnownSources":
        """The same, each as if its run were forgotten: so that content that is known becomes a new run."""
        return KnownSources.of(replace(row, forgotten=True) for row in self.rows())

    def rows(self) -> list[IndexedSource]:
        """All of them."""
        return [row for rows in self.by_sha256.values() for row in rows]


def read_index(store: Store) -> KnownSources | None:
    """The known sources from the index file; None if the log has changed since it was written."""
    try:
        index = read_json(store.root / INDEX)
        if index["log"] != _log_state(store) or not store.database.exists():
            return None
        return KnownSources.of(map(_of_json, index["sources"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _of_json(row: list[Any]) -> IndexedSource:
    row[-1] = tuple(row[-1])
    return IndexedSource(*row)


def read_log(store: Store) -> KnownSources:
    """The known sources, read from the log.

    Raises:
        BenchError: One of its files is damaged.
    """
    from ..warehouse.events import ArchivedRun, Source
    from ..warehouse.log import EventLog

    files, unreadable = EventLog(store).listing()
    if not files and not unreadable:  # of a new store, whose first load need not wait for DuckDB
        return KnownSources()
    import duckdb

    from ..warehouse.changes import RunChanges, changes_of

    for name, why in unreadable.items():
        if name == f"events/{Source.TABLE}" or os.path.lexists(store.events / Source.TABLE / name):
            raise BenchError(f"cannot tell what {store.root} has imported: {name} {why}")
    queries = {  # DISTINCT, for a merged file repeats those it stands for
        Source.TABLE: f"SELECT DISTINCT {COLUMNS}, coalesce(said_day, ''), coalesce(said_commit, '') FROM ("
        "SELECT NULL::VARCHAR AS said_day, NULL::VARCHAR AS said_commit WHERE false "
        "UNION ALL BY NAME SELECT * FROM read_parquet(?, union_by_name = true))",
        ArchivedRun.TABLE: "SELECT imported, archive FROM read_parquet(?) WHERE imported IS NOT NULL ORDER BY archived_at",
    }
    found: dict[str, list[tuple[Any, ...]]] = {}
    try:
        with duckdb.connect() as connection:
            for table, query in queries.items():
                paths = [str(file.path) for file in files if file.table == table]
                found[table] = connection.execute(query, [paths]).fetchall() if paths else []
        with changes_of(files) as connection:
            query = "SELECT imported, NULL FROM forgotten_runs WHERE imported IS NOT NULL"
            found[ArchivedRun.TABLE] += connection.execute(query).fetchall() if connection else []
            changes = RunChanges.of(connection) if connection else RunChanges()
    except duckdb.Error as error:
        raise BenchError(
            f"cannot read what {store.root} has imported: {error}. Find the damage with: bench store verify"
        ) from error
    parts = {
        (source_id, int(part)): IndexedSource(
            source_id, int(part), run_id, config, name, kind, int(end), sha256, head, int(next_line), archive
        )
        for imported, archive in found[ArchivedRun.TABLE]
        for source_id, part, run_id, config, name, kind, end, sha256, head, next_line in json.loads(imported)
    }
    parts |= {  # what came back is here
        (row[0], row[1]): replace(IndexedSource(*row[:-2]), measured=row[-2:]) for row in found[Source.TABLE]
    }
    rows = [replace(row, forgotten=row.run_id in changes.forgotten) for row in parts.values()]
    renamed = [replace(row, config=changes.configs[row.run_id]) for row in rows if row.run_id in changes.configs]
    return KnownSources.of([*rows, *renamed])  # a renamed run's file is known under either name


def write_index(store: Store, known: KnownSources) -> None:
    """Write the known sources for the next `read_index`."""
    publish_text(
        store.root / INDEX, json.dumps({"log": _log_state(store), "sources": [astuple(row) for row in known.rows()]})
    )


def _log_state(store: Store) -> str:
    """A hash of the names of the log's files, which are never written to again once they are there."""
    paths = (
        os.path.join(table, name) for table in os.scandir(store.events) if table.is_dir() for name in os.listdir(table)
    )
    return hashlib.sha256(
        "\n".join([*IndexedSource.__slots__, *sorted(paths)]).encode("utf-8", "surrogateescape")
    ).hexdigest()


def fingerprint(path: Path, known: KnownSources, tell: Callable[[int], None] | None = None) -> Fingerprint:
    """Hash a file in one pass, with its beginnings that are as long as something known that begins with the same line.

    `tell` is called with the bytes hashed, block by block.
    """
    with path.open("rb", buffering=0) as file:
        block = file.read(1 << 16)
        start = block
        while b"\n" not in start and len(start) < MAX_LINE_BYTES and (more := file.read(1 << 20)):
            start += more
        head = hashlib.sha256(start.partition(b"\n")[0][:MAX_LINE_BYTES].removesuffix(b"\r")).hexdigest()
        ends = sorted({row.end_byte for row in known.by_head.get(head, ())})
        whole, done = hashlib.sha256(), 0
        prefixes: dict[int, str] = {}
        line_feeds: dict[int, int] = {}
        count = 0
        block = start
        while block:
            while ends and ends[0] <= done + len(block):
                cut = ends.pop(0) - done
                whole.update(block[:cut])
                count += block.count(b"\n", 0, cut)
                block, done = block[cut:], done + cut
                prefixes[done], line_feeds[done] = whole.hexdigest(), count
            whole.update(block)
            count += block.count(b"\n")
            done += len(block)
            if tell is not None:
                tell(len(block))
            block = file.read(1 << 20)
    line_feeds[done] = count
    hidden = packing_of(start) is not None or encoding(start) == "utf-16"
    return Fingerprint(done, whole.hexdigest(), head, prefixes, {} if hidden else line_feeds)


def content_uuid(*content: str) -> str:
    """A UUID made of content (RFC 9562, version 8)."""
    digest = hashlib.sha256("\n".join(content).encode("utf-8", "surrogateescape")).digest()
    number = int.from_bytes(digest[:16]) & ~(0xF << 76) & ~(0b11 << 62) | 0x8 << 76 | 0b10 << 62
    return str(uuid.UUID(int=number))
