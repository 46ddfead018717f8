"""Nsight Systems: what `nsys export --type sqlite` writes, or `nsys profile --export sqlite`.

Schemas differ by version, so tables are known by their columns: one with `start` and `end` (ns since the session began) holds
spans. Names are ids of `StringIds`.
"""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...warehouse.environment import identified
from ...warehouse.events import CaseRecord, Environment, Instant, Metric, Outcome, Reject, RunRecord, Timing, as_json
from ...warehouse.log import Batch
from ...warehouse.recorder import case_ids
from ...warehouse.schema import quote
from ..format import FILE, MAX_TEXT, Format, Head, Part, Tally
from ..readers.document import LAST, labels
from ..readers.sqlite_file import ROW_BYTES, SQLITE, as_plain, column_list, open_sqlite, plain_tables, sqlite_errors
from ._trace_rows import ON_GPU

if TYPE_CHECKING:
    import sqlite3

STRINGS = "StringIds"
SUITES = {  # as torch.profiler calls them, so that the same kernel from both has one name
    "CUPTI_ACTIVITY_KIND_KERNEL": "kernel", "CUPTI_ACTIVITY_KIND_MEMCPY": "gpu_memcpy",
    "CUPTI_ACTIVITY_KIND_MEMSET": "gpu_memset", "CUPTI_ACTIVITY_KIND_RUNTIME": "cuda_runtime",
    "CUPTI_ACTIVITY_KIND_DRIVER": "cuda_driver",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "cuda_sync", "NVTX_EVENTS": "nvtx", "OSRT_API": "osrt",
}  # fmt: skip
ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")  # cases of that device; a graph is one without
# columns a span is named by, the first that says something
NAMES = ("demangledName", "nameId", "textId", "text", "name")
AXES = ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "bytes", "copyKind", "memKind", "syncType")
COPIES = {
    1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD", 9: "HtoH", 10: "PtoP",
    11: "Unified HtoD", 12: "Unified DtoH", 13: "Unified DtoD",
}  # fmt: skip
ABOUT = {  # tables about the session, and how many rows of them are kept
    "TARGET_INFO_GPU": 64, "TARGET_INFO_SYSTEM_ENV": 1000, "ANALYSIS_DETAILS": 10, "EXPORT_META_DATA": 200,
    "META_DATA_CAPTURE": 200, "META_DATA_EXPORT": 200, "TARGET_INFO_SESSION_START_TIME": 1,
}  # fmt: skip
LONGEST = 4096  # characters of what is said about the session
MOST_SAID = 32  # times the size of the file: what all `fields` together may take


class NsightSystems(Format):
    """An export of Nsight Systems."""

    name = "nsight-systems"
    doc = "Nsight Systems export in SQLite (nsys export --type sqlite)"
    becomes = (
        "row of any table with start and end → timing of a case named by its kernel, call or range; its kind → suite, "
        "as torch.profiler calls it (`kernel`, `gpu_memcpy`, `cuda_runtime`); other columns → `fields`"
    )
    lost = "tables without spans"
    runs = FILE

    def recognise(self, head: Head) -> bool:
        """Return whether it is a database with strings and spans."""
        if not head.data.startswith(SQLITE):
            return False
        with contextlib.suppress(*sqlite_errors()), open_sqlite(head.path) as database:
            return _is_export(plain_tables(database))
        return False

    def read(self, part: Part, batch: Batch) -> Tally:
        """One record a row with start and end."""
        tally = Tally()
        tally.shares[part.run_id] = tally
        reader = _Reader(part, batch, tally)
        try:
            with open_sqlite(part.path) as database:
                reader.read(database)
        except sqlite_errors() as error:
            reader.reject(f"the database cannot be read: {error}", "")
        if Path(f"{part.path}-wal").exists():
            tally.notes.append(f"{part.name}: has a write-ahead log beside it, which is not read")
        tally.runs.append(reader.run)
        return tally


class _Reader:
    """Turns rows into events."""

    def __init__(self, part: Part, batch: Batch, tally: Tally) -> None:
        self.run = RunRecord(run_id=part.run_id, config=part.config, source=part.format)
        self._part, self._batch, self._tally = part, batch, tally
        self._began_ns = 0
        self._room = MOST_SAID * part.end_byte
        self._cases: dict[tuple[Any, ...], str] = {}

    def read(self, database: "sqlite3.Connection") -> None:
        """All tables of a database, in order of their names."""
        tables = plain_tables(database)
        if not _is_export(tables):
            self.reject("no export of Nsight Systems", "")
            return
        self._describe(database, tables)
        aside = []
        for table, columns in sorted(tables.items()):
            try:
                if {"start", "end"} <= set(columns):
                    self._spans(database, table, columns)
                elif table not in ABOUT and table != STRINGS:
                    ((count,),) = database.execute(f"SELECT count(*) FROM {quote(table)}")
                    aside += [f"{table} {count}"] * (count > 0)
            except sqlite_errors() as error:
                self.reject(f"{table} cannot be read any further: {error}", "")
        if aside:
            self._tally.notes.append(
                f"{self._part.name}: left out tables without spans, with so many rows: {', '.join(aside)}"
            )
        if not self._tally.lines:
            self._tally.notes.append(f"{self._part.name}: holds no record")

    def _describe(self, database: "sqlite3.Connection", tables: dict[str, list[str]]) -> None:
        """The run and its machine."""
        about: dict[str, list[dict[str, Any]]] = {}
        for table in ABOUT.keys() & tables.keys():
            with contextlib.suppress(*sqlite_errors()):
                for row in database.execute(
                    f"SELECT {column_list(tables[table])} FROM {quote(table)} LIMIT {ABOUT[table]}"
                ):
                    short = [value[:LONGEST] if isinstance(value, str) else value for value in map(as_plain, row)]
                    about.setdefault(table, []).append(dict(zip(tables[table], short, strict=True)))
        gpus, system = about.pop("TARGET_INFO_GPU", []), about.pop("TARGET_INFO_SYSTEM_ENV", [])
        facts = {str(row.get("name")): row.get("value") for row in system}
        extra = labels({"gpus": gpus, "system": facts})
        names = [gpu["name"] for gpu in gpus if isinstance(gpu.get("name"), str)]
        environment = identified(Environment(environment_id="", gpus=names or None, extra=extra)) if extra else None
        if environment is not None:
            self._batch.add(environment)
        began = next(iter(about.get("TARGET_INFO_SESSION_START_TIME", [])), {}).get("utcEpochNs")
        if type(began) is int and 0 < began < LAST * 1000:
            self._began_ns = began
        host = facts.get("Hostname")
        self.run = RunRecord(
            run_id=self.run.run_id, config=self.run.config, source=self.run.source,
            started_at=Instant(self._began_ns // 1000) if self._began_ns else None,
            environment_id=environment.environment_id if environment else None,
            host=host if isinstance(host, str) else None, tags=labels(dict(sorted(about.items()))),
        )  # fmt: skip

    def _spans(self, database: "sqlite3.Connection", table: str, columns: list[str]) -> None:
        suite = SUITES.get(table, table.removeprefix("CUPTI_ACTIVITY_KIND_").lower())
        named = [column for column in NAMES if column in columns]
        names = [
            f"(SELECT value FROM {STRINGS} WHERE id = t.{quote(column)})"
            if column not in ("text", "name")
            else f"t.{quote(column)}"
            for column in named
        ]
        name = f"coalesce({', '.join(names)}, NULL)" if names else "NULL"
        most = self._part.end_byte // ROW_BYTES  # rows
        for row in database.execute(f"SELECT {name}, {column_list(columns)} FROM {quote(table)} AS t ORDER BY rowid"):
            most -= 1
            if most < 0 or self._room < 0:
                self.reject(f"{table} has more rows than the file has room for", "")
                return
            self._span(suite, row[0], dict(zip(columns, map(as_plain, row[1:]), strict=True)))

    def _span(self, suite: str, name: Any, row: dict[str, Any]) -> None:
        start, end = row["start"], row["end"]
        called = as_plain(name)
        if called is None:
            called = (
                f"memcpy {COPIES.get(row['copyKind'], row['copyKind'])}" if row.get("copyKind") is not None else suite
            )
        marks = type(start) is int and end is None  # a moment, or a span that had not ended
        if not marks and not (type(start) is int and type(end) is int and 0 <= end - start < 2**63):
            self.reject(f"start is {start!r}, end {end!r}"[:200], as_json(row))
            return
        if not isinstance(called, str) or not 0 < len(called) <= MAX_TEXT:
            self.reject("no name that can be one", as_json(row))
            return
        self._tally.lines += 1
        self._tally.loaded += 1
        since = self._began_ns + start
        moment = Instant(since // 1000) if self._began_ns and 0 <= since < LAST * 1000 else None
        place: dict[str, Any] = {
            "run_id": self._part.run_id, "case_id": self._case(suite, called, row), "source_id": self._part.source_id,
            "line": self._tally.lines, "recorded_at": moment,
        }  # fmt: skip
        if end is not None:
            on = row.get("deviceId" if suite in ON_GPU else "globalTid")
            lane = "" if on is None else str(on)[:MAX_TEXT]
            self._batch.add(Timing(duration_ns=end - start, began_ns=start, lane=lane, **place))
        left = {key: value for key, value in row.items() if value is not None and key != "end"}
        text = as_json(left)[:MAX_TEXT]
        self._room -= len(text)
        self._batch.add(Metric(metric="fields", value=None, original_value=text, **place))

    def _case(self, suite: str, name: str, row: dict[str, Any]) -> str:
        axes = tuple(row.get(key) for key in AXES)
        if (known := self._cases.get((suite, name, axes))) is not None:
            return known
        facts = {key: value for key, value in zip(AXES, axes, strict=True) if value is not None}
        parameters: dict[str, Any] = {}
        for side in ("grid", "block"):  # as torch.profiler writes them
            if all(f"{side}{axis}" in facts for axis in "XYZ"):
                parameters[side] = [facts.pop(f"{side}{axis}") for axis in "XYZ"]
        parameters |= facts
        columns: dict[str, Any] = {"name": name, "suite": suite, "device": "cuda" if suite in ON_DEVICE else None}
        case_id, work_hash = case_ids(**columns, parameters=parameters or None)
        place: dict[str, Any] = {"run_id": self._part.run_id, "case_id": case_id, "source_id": self._part.source_id}
        place["line"] = self._tally.lines
        self._batch.add(CaseRecord(**columns, work_hash=work_hash, parameters=labels(parameters), **place))
        self._batch.add(Outcome(status="ok", **place))
        self._cases[suite, name, axes] = case_id
        return case_id

    def reject(self, reason: str, text: str) -> None:
        """Account for what cannot be read."""
        self._tally.lines += 1
        self._tally.rejected += 1
        place: dict[str, Any] = {
            "source_id": self._part.source_id,
            "run_id": self._part.run_id,
            "line": self._tally.lines,
        }
        self._batch.add(Reject(reason=reason, text=text[:MAX_TEXT], **place))


def _is_export(tables: dict[str, list[str]]) -> bool:
    strings = {"id", "value"} <= set(tables.get(STRINGS, ()))
    return strings and any({"start", "end"} <= set(columns) for columns in tables.values())
