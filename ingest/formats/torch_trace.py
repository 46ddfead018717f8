"""Traces of torch.profiler (Kineto), and others in Chrome's trace-event format: a list of events, `traceEvents`.

A gigabyte of them is read in blocks by DuckDB, which takes any JSON object for an event; what it cannot take is read one by
one. Times are microseconds from `baseTimeNanoseconds`, which stands at the end of the document, or since 1970.
"""

import contextlib
import itertools
import json
import re
import tempfile
import uuid
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ...warehouse.environment import identified
from ...warehouse.events import CaseRecord, Environment, Event, Instant, Outcome, Reject, RunRecord, as_json
from ...warehouse.log import Batch
from ...warehouse.recorder import case_ids
from ...warehouse.schema import literal
from ..format import FILE, MAX_LINE_BYTES, MAX_TEXT, Format, Head, Part, Tally
from ..readers.document import BadRecord, Object, decode, labels
from ..readers.json_stream import JsonArray, TornElement
from ..readers.packing import packing_of
from ..readers.text_pieces import pieces
from ._trace_rows import (
    CLOSED,
    COMPUTED_AXES,
    FIELDS,
    FIELDS_IN_PLACE,
    HALF_COUNT,
    HALVES,
    JSONS,
    NAME_CASES,
    NEW_CASES,
    ON_GPU,
    OPENED,
    READ_AXES,
    RECORD_COUNTS,
    RECORDS,
    ROWS,
    STILL_OPEN,
    TEXTS,
)  # fmt: skip

KEY = "traceEvents"
ON_DEVICE = (*ON_GPU, "gpu_user_annotation")
ENVIRONMENT = ("deviceProperties", "cupti_version", "cuda_runtime_version", "cuda_driver_version", "hip_runtime_version",
               "hip_driver_version", "roctracer_version")  # fmt: skip
BASE = re.compile(rb'"baseTimeNanoseconds"\s*:\s*(\d{1,19})')
LOOK = 1 << 16  # bytes at either end in which the base of the times is looked for
SEPARATOR = re.compile(rb"[\s,]*")
IN_PYTHON = 5_000  # records of a block whose rows are passed through Python; a file of its own is for more


class TorchTrace(Format):
    """A trace."""

    name = "torch-trace"
    doc = "trace of torch.profiler (Kineto), or another in Chrome's trace-event format"
    becomes = (
        "span, also in halves (B, E) → timing of a case named by it, with shapes, grid, block, bytes or collective; "
        "category → suite; [memory] → memory readings; counters → metrics; all else → `fields`; "
        "see [ingest](ingest.md#torch-trace)"
    )
    lost = "fields outside an event's args that the format does not define"
    unpacks = True
    runs = FILE

    shapes = (
        frozenset({KEY}), frozenset({"schemaVersion", "deviceProperties"}),
        frozenset({"schemaVersion", "distributedInfo"}), frozenset({"[].ph", "[].ts", "[].name"}),
    )  # fmt: skip

    def recognise(self, head: Head) -> bool:
        """Return whether it begins as a trace does."""
        return any(shape <= head.paths for shape in self.shapes)

    def read(self, part: Part, batch: Batch) -> Tally:
        """One record an event."""
        tally = Tally()
        recorded: Object = Object()
        started: int | None = None
        try:
            array = JsonArray(part, KEY)
        except BadRecord as error:
            _reject(part, batch, tally, str(error), "")
        else:
            with _Reader(part, batch, tally) as reader:
                for block in array.blocks():
                    if not reader.take(block):
                        reader.take_elements(array.elements(block))
                started = reader.first_us
            try:
                around = decode(array.around())
                recorded = around if isinstance(around, Object) else recorded
            except BadRecord as error:
                _reject(part, batch, tally, str(error), "")
        recorded.pop(KEY, None)
        run = _run(part, batch, recorded, started)
        tally.runs.append(run)
        tally.shares[part.run_id] = tally
        if not tally.lines:
            tally.notes.append(f"{part.name}: holds no record")
        return tally


def _run(part: Part, batch: Batch, recorded: Object, started: int | None) -> RunRecord:
    devices = recorded.get("deviceProperties")
    names = (
        [device.get("name") for device in devices if isinstance(device, Object)] if isinstance(devices, list) else []
    )
    extra = labels({key: recorded.pop(key) for key in ENVIRONMENT if key in recorded})
    environment = Environment(
        environment_id="", gpus=[name for name in names if isinstance(name, str)] or None, extra=extra
    )
    environment_id = None
    if extra:
        environment = identified(environment)
        environment_id = environment.environment_id
        batch.add(environment)
    moment = None if started is None else Instant(started)
    host = recorded.pop("host_name") if isinstance(recorded.get("host_name"), str) else None
    return RunRecord(
        run_id=part.run_id, config=part.config, source=part.format, started_at=moment, environment_id=environment_id,
        host=host or None, tags=labels(recorded),
    )  # fmt: skip


def _reject(part: Part, batch: Batch, tally: Tally, reason: str, text: str) -> None:
    tally.lines += 1
    tally.rejected += 1
    clean = text.encode("utf-8", "backslashreplace").decode()
    batch.add(
        Reject(source_id=part.source_id, run_id=part.run_id, line=tally.lines, reason=reason, text=clean[:MAX_TEXT])
    )


def base_us(part: Part) -> float:
    """The offset of a trace's times, by its beginning and its end; 0 if unknown."""
    with part.path.open("rb") as file:
        first = file.read(LOOK)
        file.seek(max(0, part.end_byte - LOOK))
        last = file.read(LOOK)
    if packing_of(first):
        first = last = b""
        with contextlib.suppress(BadRecord):
            for piece in pieces(part):
                first, last = first or piece[:LOOK], last[-LOOK:] + piece[-LOOK:]
    found = BASE.findall(last) or BASE.findall(first)
    return int(found[-1]) / 1000 if found else 0.0


class _Reader:
    """Turns blocks of events into rows: while one block is parsed, the rows of the one before are made on another thread."""

    def __init__(self, part: Part, batch: Batch, tally: Tally) -> None:
        self.first_us: int | None = None  # when the first event was
        self._part, self._batch, self._tally = part, batch, tally
        self._base_us = base_us(part)
        self._fields = FIELDS_IN_PLACE if part.options.in_place else FIELDS
        self._schema = f"trace_{uuid.uuid4().hex}"  # of this reader, for others may share the database

    def __enter__(self) -> "_Reader":
        self._folder = tempfile.TemporaryDirectory(prefix="bench-")
        self._file = Path(self._folder.name, "block.json")
        self._connection = self._part.cursor()
        self._connection.execute(f"CREATE SCHEMA {self._schema}")
        self._worker = self._connection.cursor()
        columns = "case_suite VARCHAR, case_name VARCHAR, case_axes VARCHAR, case_id VARCHAR"
        self._worker.execute(f"CREATE TEMP TABLE cases ({columns})")
        self._worker.execute(OPENED)
        self._pool = ThreadPoolExecutor(1, "rows")
        self._pending: Future[None] | None = None
        self._blocks = 0
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._wait()
        finally:
            self._pool.shutdown()
            self._worker.close()
            self._connection.execute(f"DROP SCHEMA {self._schema} CASCADE")
            self._connection.close()
            self._folder.cleanup()

    def take(self, block: bytes) -> bool:
        """Load a block; False if it is no list of events, and then nothing was loaded."""
        skip = len(SEPARATOR.match(block)[0])  # type: ignore[index]  # it matches nothing, too
        with self._file.open("wb") as file:
            file.writelines((b"[", memoryview(block)[skip:], b"]"))
        first = self._tally.lines + 1
        table = self._parse(f"{self._tally.lines} + row_number() OVER ()")
        if table is None:
            return False
        ((count,),) = self._connection.execute(f"SELECT count(*) FROM {table}").fetchall()
        self._tally.lines += count
        self._wait()
        self._pending = self._pool.submit(self._rows_of, table, first, self._tally.lines)
        return True

    def take_elements(self, elements: Iterator[Any]) -> None:
        """Load events one by one."""
        self._wait()
        while some := list(itertools.islice(elements, IN_PYTHON)):
            good: dict[int, str] = {}
            for element in some:
                reason, text = _judge(element)
                if reason is None:
                    self._tally.lines += 1
                    good[self._tally.lines] = text
                else:
                    _reject(self._part, self._batch, self._tally, reason, text)
            if not good:
                continue
            self._file.write_text(f"[{','.join(good.values())}]", encoding="utf-8")
            table = self._parse(f"{list(good)}[row_number() OVER ()]")
            if table is not None:
                self._rows_of(table, min(good), max(good))
            else:
                for line, text in good.items():
                    self._reject(line, text)

    def _parse(self, line: str) -> str | None:
        """The events in the file as a table; `line` is the SQL for their numbers. None if they cannot be parsed."""
        import duckdb

        columns = [f"{literal(key)}: 'VARCHAR'" for key in TEXTS] + [f"{literal(key)}: 'JSON'" for key in JSONS]
        self._blocks += 1
        table = f"{self._schema}.events_{self._blocks}"
        try:
            self._connection.execute(
                f"CREATE TABLE {table} AS SELECT {line} AS line, {READ_AXES} AS axes, * "
                f"FROM read_json({literal(str(self._file))}, format = 'array', "
                f"records = true, columns = {{{', '.join(columns)}}}, maximum_object_size = {MAX_LINE_BYTES}, "
                f"compression = 'uncompressed', hive_partitioning = false)"
            )
        except duckdb.Error:
            return None
        return table

    def _wait(self) -> None:
        """Until the rows of the block before are made."""
        if self._pending is not None:
            self._pending.result()
            self._pending = None

    def _rows_of(self, table: str, first: int, last: int) -> None:
        closed = self._closed(table)
        self._load(closed, first, last)
        for each in {table, closed}:
            self._worker.execute(f"DROP TABLE {each}")

    def _closed(self, table: str) -> str:
        """The table, or a copy in which the end of a span that was written in halves is the whole of it."""
        import duckdb

        ((count,),) = self._worker.execute(HALF_COUNT.replace("{events}", table)).fetchall()
        if not count:
            return table
        closed = f"{table}_closed"
        try:
            self._worker.execute(HALVES.replace("{events}", table))
            self._worker.execute(CLOSED.replace("{events}", table).replace("{closed}", closed))
            self._worker.execute(STILL_OPEN)
        except duckdb.Error:
            return table  # its halves stay events without a time
        return closed

    def _load(self, table: str, first: int, last: int) -> None:
        """Load the events of a table from a number to another; what no row can be made of is found by halves."""
        import duckdb

        try:
            self._worker.execute(
                RECORDS.replace("{events}", table).replace("{fields}", self._fields),
                {"base": self._base_us, "first": first, "last": last},
            )
        except duckdb.Error:
            if first == last:
                self._reject(first, "")
            else:
                self._load(table, first, (first + last) // 2)
                self._load(table, (first + last) // 2 + 1, last)
            return
        ((first_us, count, *counts),) = self._worker.execute(RECORD_COUNTS).fetchall()
        counted = dict(zip(ROWS, (each or 0 for each in counts), strict=True))  # NULL where there is no event
        self._tally.loaded += count - counted[Reject]
        self._tally.rejected += counted[Reject]
        if first_us is not None:
            self.first_us = first_us if self.first_us is None else min(first_us, self.first_us)
        self._announce()
        place = f"{literal(self._part.run_id)} AS run_id, {literal(self._part.source_id)} AS source_id, line"
        for event, (_, select) in ROWS.items():
            self._add(event, select.replace("{place}", place), counted[event])

    def _reject(self, line: int, text: str) -> None:
        """Account for an event, counted as a line already, that no row can be made of."""
        self._tally.rejected += 1
        place: dict[str, Any] = {"source_id": self._part.source_id, "run_id": self._part.run_id, "line": line}
        self._batch.add(Reject(reason="no event that can be read", text=text[:MAX_TEXT], **place))

    def _announce(self) -> None:
        """Add the cases that are new, and say how they ended: a span has."""
        import pyarrow as pa

        new = self._worker.execute(NEW_CASES).fetchall()
        if not new:
            return
        ids = []
        for suite, name, axes, line in new:
            recorded = dict(zip(COMPUTED_AXES, _values(axes), strict=False))
            parameters = {key: value for key, value in recorded.items() if value is not None}
            columns: dict[str, Any] = {
                "name": name,
                "suite": suite or None,
                "device": "cuda" if suite in ON_DEVICE else None,
            }
            case_id, work_hash = case_ids(**columns, parameters=parameters or None)
            place: dict[str, Any] = {
                "run_id": self._part.run_id, "case_id": case_id, "source_id": self._part.source_id, "line": line,
            }  # fmt: skip
            self._batch.add(CaseRecord(**columns, work_hash=work_hash, parameters=labels(parameters), **place))
            self._batch.add(Outcome(status="ok", **place))
            ids.append(case_id)
        keys = zip(*new, strict=True)
        table = pa.table(dict(zip(("suite", "name", "axes"), keys, strict=False)) | {"case_id": ids})
        self._worker.register("new_cases", table)
        self._worker.execute("INSERT INTO cases FROM new_cases")
        self._worker.unregister("new_cases")
        self._worker.execute(NAME_CASES)

    def _add(self, event: type[Event], select: str, count: int) -> None:
        """Add the rows of a query of so many records; few go through Python: a thousand small traces are not as many files."""
        if count > IN_PYTHON:
            moment = "" if event is Reject else "REPLACE (make_timestamp(recorded_at) AS recorded_at)"
            self._batch.copy(self._worker, event, f"SELECT * {moment} FROM ({select})")
        if not 0 < count <= IN_PYTHON:
            return
        result = self._worker.execute(select)
        names = [column[0] for column in result.description]
        for row in result.fetchall():
            self._batch.add(event(**dict(zip(names, row, strict=True))))


def _judge(element: Any) -> tuple[str | None, str]:
    """The reason for which an element is not an event, and its text."""
    if isinstance(element, TornElement):
        return element.reason, element.text
    try:
        text = as_json(element)
    except RecursionError:
        return "nested too deeply", ""
    if not isinstance(element, dict):
        return "not an object", text
    return ("longer than 16 MiB" if len(text) > MAX_LINE_BYTES else None), text


def _values(axes: str) -> list[Any]:
    try:
        values: list[Any] = json.loads(axes) if axes else []
    except (ValueError, RecursionError):
        return [axes]  # of the first one, as it is
    return values
