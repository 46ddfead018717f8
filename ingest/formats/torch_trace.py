"""Traces of torch.profiler (Kineto), and others in Chrome's trace-event format: a list of events, `traceEvents`.

A gigabyte of them is read in blocks by DuckDB, which takes any JSON object for an event; what it cannot take is read one by
one. Times are microseconds from `baseTimeNanoseconds`, which stands at the end of the document, or since 1970.
"""

import contextlib
import itertools
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...warehouse.environment import identified
from ...warehouse.events import Case, Environment, Event, Instant, MemorySample, Metric, Outcome, Reject, Run, Timing
from ...warehouse.log import Batch
from ...warehouse.recorder import case_ids
from ...warehouse.schema import literal, quote
from ..document import BadRecord, Object, as_json, decode, labels
from ..format import FILE, GZIP, MAX_LINE_BYTES, MAX_TEXT, Format, Head, Part, Tally
from ..jsonarray import JsonArray, Torn, pieces
from ..results import LONGEST_NAME

KEY = "traceEvents"
SHAPES = (
    {"traceEvents[].ph"}, {"schemaVersion", "deviceProperties"}, {"schemaVersion", "distributedInfo"},
    {"[].ph", "[].ts", "[].name"},
)  # fmt: skip
OTHER = (
    "id",
    "bp",
    "s",
    "tts",
    "tdur",
    "stack",
    "sf",
    "cname",
    "scope",
    "bind_id",
    "flow_in",
    "flow_out",
    "id2",
    "estack",
    "esf",
)
TEXTS, JSONS = ("ph", "cat", "name", "ts", "dur"), ("pid", "tid", "args", *OTHER)
ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation")
AXES = (  # arguments that tell what was computed, the same whenever it is computed again
    "Input Dims", "Input type", "grid", "block", "bytes", "Collective name", "In msg nelems", "Out msg nelems", "Group size",
    "dtype",
)  # fmt: skip
ENVIRONMENT = ("deviceProperties", "cupti_version", "cuda_runtime_version", "cuda_driver_version", "hip_runtime_version",
               "hip_driver_version", "roctracer_version")  # fmt: skip
BASE = re.compile(rb'"baseTimeNanoseconds"\s*:\s*(\d{1,19})')
LOOK = 1 << 16  # bytes at either end in which the base of the times is looked for
SEPARATOR = re.compile(rb"[\s,]*")
IN_PYTHON = 5_000  # rows of a block that are passed through Python; a file of its own is for more
LONGEST_US = 2**63 / 1000
FIRST_US, LAST_US = 10**14, 10**17  # times that are since 1970 by themselves: 1973 to 5138


class TorchTrace(Format):
    """A trace."""

    name = "torch-trace"
    doc = "trace of torch.profiler (Kineto), .json or .json.gz of any size, or any other in Chrome's trace-event format"
    becomes = (
        "a file → a run of the time its events began; a span (ph X) → a timing of a case named by it, its category the suite, "
        "its input shapes, grid and block, bytes or collective its parameters; [memory] → memory readings; counters (ph C) → "
        "metrics; what else an event says (thread, ids, arguments), and other events whole → `fields` of their line; "
        "deviceProperties → environment, other fields of the document → tags; see "
        "[decision](decisions/2026-11-21-spans-are-samples.md)"
    )
    lost = "fields of an event, outside its args, that the format does not define"
    unpacks = True
    runs = FILE

    def recognise(self, head: Head) -> bool:
        """Whether it begins as a trace does."""
        return any(shape <= head.paths for shape in SHAPES)

    def read(self, part: Part, batch: Batch) -> Tally:
        """One record an event."""
        tally = Tally()
        said: Object = Object()
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
                said = around if isinstance(around, Object) else said
            except BadRecord as error:
                _reject(part, batch, tally, str(error), "")
        said.pop(KEY, None)
        run = _run(part, batch, said, started)
        tally.runs.append(run)
        tally.shares[part.run_id] = tally
        if not tally.lines:
            tally.notes.append(f"{part.name}: holds no record")
        return tally


def _run(part: Part, batch: Batch, said: Object, started: int | None) -> Run:
    devices = said.get("deviceProperties")
    names = (
        [device.get("name") for device in devices if isinstance(device, Object)] if isinstance(devices, list) else []
    )
    extra = labels({key: said.pop(key) for key in ENVIRONMENT if key in said})
    environment = Environment(
        environment_id="", gpus=[name for name in names if isinstance(name, str)] or None, extra=extra
    )
    environment_id = None
    if extra:
        environment = identified(environment)
        environment_id = environment.environment_id
        batch.add(environment)
    moment = None if started is None else Instant(started)
    return Run(
        run_id=part.run_id, config=part.config, source=part.format, started_at=moment, environment_id=environment_id,
        tags=labels(said),
    )  # fmt: skip


def _reject(part: Part, batch: Batch, tally: Tally, reason: str, text: str) -> None:
    tally.lines += 1
    tally.rejected += 1
    clean = text.encode("utf-8", "backslashreplace").decode()
    batch.add(
        Reject(source_id=part.source_id, run_id=part.run_id, line=tally.lines, reason=reason, text=clean[:MAX_TEXT])
    )


def base_us(part: Part) -> float:
    """What is to be added to the times of a trace, by its beginning and its end; 0 where it does not say."""
    with part.path.open("rb") as file:
        first = file.read(LOOK)
        file.seek(max(0, part.end_byte - LOOK))
        last = file.read(LOOK)
    if first.startswith(GZIP):
        first = last = b""
        with contextlib.suppress(BadRecord):
            for piece in pieces(part):
                first, last = first or piece[:LOOK], last[-LOOK:] + piece[-LOOK:]
    found = BASE.findall(last) or BASE.findall(first)
    return int(found[-1]) / 1000 if found else 0.0


class _Reader:
    """Turns blocks of events into rows."""

    def __init__(self, part: Part, batch: Batch, tally: Tally) -> None:
        self.first_us: int | None = None  # when the first event was
        self._part, self._batch, self._tally = part, batch, tally
        self._base_us = base_us(part)

    def __enter__(self) -> "_Reader":
        self._folder = tempfile.TemporaryDirectory(prefix="bench-")
        self._file = Path(self._folder.name, "block.json")
        self._connection = self._part.cursor()
        self._connection.execute(
            "CREATE OR REPLACE TEMP TABLE cases (suite VARCHAR, name VARCHAR, axes VARCHAR, case_id VARCHAR)"
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._folder.cleanup()

    def take(self, block: bytes) -> bool:
        """Load a block; False if it is no list of events, and then nothing was loaded."""
        skip = len(SEPARATOR.match(block)[0])  # type: ignore[index]  # it matches nothing, too
        with self._file.open("wb") as file:
            file.writelines((b"[", memoryview(block)[skip:], b"]"))
        return self._load(f"{self._tally.lines} + row_number() OVER ()")

    def take_elements(self, elements: Iterator[Any]) -> None:
        """Load events one by one."""
        while some := list(itertools.islice(elements, IN_PYTHON)):
            good: dict[int, str] = {}
            for element in some:
                reason, text = _judge(element)
                if reason is None:
                    good[self._tally.lines + 1] = text
                    self._tally.lines += 1
                else:
                    _reject(self._part, self._batch, self._tally, reason, text)
            if not good:
                continue
            self._file.write_text(f"[{','.join(good.values())}]", encoding="utf-8")
            self._tally.lines -= len(good)
            if not self._load(f"{list(good)}[row_number() OVER ()]"):
                for text in good.values():
                    _reject(self._part, self._batch, self._tally, "no event that can be read", text)

    def _load(self, line: str) -> bool:
        """Load the events in the file; `line` is the SQL for their numbers."""
        import duckdb

        columns = ", ".join(
            [f"{literal(key)}: 'VARCHAR'" for key in TEXTS] + [f"{literal(key)}: 'JSON'" for key in JSONS]
        )
        try:
            self._connection.execute(
                f"CREATE OR REPLACE TEMP TABLE events AS SELECT {line} AS line, * FROM read_json({literal(str(self._file))}, "
                f"format = 'array', records = true, columns = {{{columns}}}, maximum_object_size = {MAX_LINE_BYTES}, "
                f"compression = 'uncompressed', hive_partitioning = false)"
            )
            self._connection.execute(_RECORDS, {"base": self._base_us})
        except duckdb.Error:
            return False
        ((count, bad, first),) = self._connection.execute(
            "SELECT count(*), count(*) FILTER (kind = 'bad'), min(recorded_at) FROM records"
        ).fetchall()
        self._rows = count
        self._tally.lines += count
        self._tally.loaded += count - bad
        self._tally.rejected += bad
        if first is not None:
            self.first_us = first if self.first_us is None else min(first, self.first_us)
        self._announce()
        place = f"{literal(self._part.run_id)} AS run_id, {literal(self._part.source_id)} AS source_id, line"
        for event, select in _SELECTS.items():
            self._add(event, select.replace("{place}", place))
        if bad:
            self._add(Reject, _BAD.replace("{place}", place))
        return True

    def _announce(self) -> None:
        """Add the cases that are new, and say how they ended: a span has."""
        import pyarrow as pa

        keys = "suite, name, axes"
        new = self._connection.execute(
            f"SELECT {keys}, min(line) FROM records ANTI JOIN cases USING ({keys}) WHERE name IS NOT NULL GROUP BY ALL ORDER BY 4"
        ).fetchall()
        ids = []
        for suite, name, axes, line in new:
            said = dict(zip(AXES, _values(axes), strict=False))
            parameters = {key: value for key, value in said.items() if value is not None}
            columns: dict[str, Any] = {
                "name": name,
                "suite": suite or None,
                "device": "cuda" if suite in ON_DEVICE else None,
            }
            case_id, work_hash = case_ids(**columns, parameters=parameters or None)
            place: dict[str, Any] = {
                "run_id": self._part.run_id, "case_id": case_id, "source_id": self._part.source_id, "line": line,
            }  # fmt: skip
            self._batch.add(Case(**columns, work_hash=work_hash, parameters=labels(parameters), **place))
            self._batch.add(Outcome(status="ok", **place))
            ids.append(case_id)
        if new:
            table = pa.table(
                {key: [row[index] for row in new] for index, key in enumerate(keys.split(", "))} | {"case_id": ids}
            )
            self._connection.register("new_cases", table)
            self._connection.execute("INSERT INTO cases FROM new_cases")
            self._connection.unregister("new_cases")

    def _add(self, event: type[Event], select: str) -> None:
        """Add the rows of a query, of a small block through Python, so that a thousand small traces are not as many files."""
        if self._rows > IN_PYTHON:
            moment = "" if event is Reject else "REPLACE (make_timestamp(recorded_at) AS recorded_at)"
            self._batch.copy(self._connection, event, f"SELECT * {moment} FROM ({select})")
            return
        result = self._connection.execute(select)
        names = [column[0] for column in result.description]
        for row in result.fetchall():
            self._batch.add(event(**dict(zip(names, row, strict=True))))


def _judge(element: Any) -> tuple[str | None, str]:
    """Why an element is no event, and its text."""
    if isinstance(element, Torn):
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


def _fields() -> str:
    """What a record says beyond its other columns, as JSON, in SQL."""
    place = [
        "'\"ts\":' || CASE WHEN isfinite(us) THEN ts ELSE to_json(ts) END",
        *(f"'\"{key}\":' || {quote(key)}" for key in ("pid", "tid", "args")),
    ]
    whole = [
        *(f"'\"{key}\":' || to_json({quote(key)})" for key in ("ph", "cat", "dur")), "'\"name\":' || to_json(called)",
        *place, *(f"'\"{key}\":' || {quote(key)}" for key in OTHER),
    ]  # fmt: skip
    short = f"kind = 'span' AND name = called AND coalesce({', '.join(OTHER)}) IS NULL"  # as nearly all are
    said = f"CASE WHEN {short} THEN concat_ws(',', {', '.join(place)}) ELSE concat_ws(',', {', '.join(whole)}) END"
    return f"'{{' || {said} || '}}'"


_PATHS = ", ".join(literal(f'$."{key}"') for key in AXES)
_RECORDS = f"""
CREATE OR REPLACE TEMP TABLE records AS
WITH numbers AS (
    SELECT *, try_cast(ts AS DOUBLE) AS us, try_cast(dur AS DOUBLE) AS took, "name" AS called,
        CASE
            WHEN ph = 'X' AND length("name") BETWEEN 1 AND {MAX_TEXT} AND took >= 0 AND took < {LONGEST_US} THEN 'span'
            WHEN ph = 'X' OR ph IS NULL THEN 'bad'
            WHEN ph = 'C' AND length("name") BETWEEN 1 AND {MAX_TEXT} THEN 'counter'
            WHEN ph = 'i' AND "name" = '[memory]' THEN 'memory'
            ELSE 'other'
        END AS kind
    FROM events
), named AS (
    SELECT * REPLACE (CASE
        WHEN kind NOT IN ('span', 'counter') THEN NULL
        WHEN starts_with("name", 'ProfilerStep#') THEN 'ProfilerStep' ELSE "name"
    END AS "name")
    FROM numbers
)
SELECT
    line, kind, coalesce(cat, CASE kind WHEN 'counter' THEN 'counter' ELSE '' END) AS suite, "name", args,
    CASE WHEN kind = 'span' THEN coalesce(to_json(json_extract(args, [{_PATHS}]))::VARCHAR, '') ELSE '' END AS axes,
    CASE WHEN kind = 'span' THEN CAST(round(took * 1000) AS BIGINT) END AS duration_ns,
    CASE
        WHEN $base > 0 AND us + $base >= 0 AND us + $base < {LAST_US} THEN CAST(floor(us + $base) AS BIGINT)
        WHEN us >= {FIRST_US} AND us < {LAST_US} THEN CAST(floor(us) AS BIGINT)
    END AS recorded_at,
    CASE WHEN kind = 'bad' THEN CASE
        WHEN ph IS NULL THEN 'no ph'
        WHEN "called" IS NULL OR "called" = '' THEN 'no name'
        WHEN length("called") > {MAX_TEXT} THEN 'name has ' || length("called") || ' characters'
        ELSE 'dur is ' || coalesce(left(dur, 60), 'missing') || ', no duration'
    END END AS reason,
    left({_fields()}, {MAX_TEXT}) AS fields
FROM named
"""
_BAD = "SELECT {place}, reason, fields AS text FROM records WHERE kind = 'bad' ORDER BY line"
_CASES = "records JOIN cases USING (suite, name, axes)"
_SELECTS: dict[type[Event], str] = {
    Timing: (
        f"SELECT {{place}}, case_id, 'latency' AS metric, 'steady' AS phase, 1 AS loops, duration_ns, recorded_at FROM {_CASES} "
        "WHERE kind = 'span'"
    ),
    MemorySample: """
        SELECT {place}, source, size_bytes, 'reading' AS statistic, device_index, recorded_at FROM (
            SELECT line, recorded_at, CASE WHEN index >= 0 THEN index END AS device_index, unnest([
                {'source': device || '_allocated', 'size_bytes': try_cast(args ->> 'Total Allocated' AS BIGINT)},
                {'source': device || '_reserved', 'size_bytes': try_cast(args ->> 'Total Reserved' AS BIGINT)}
            ], recursive := true) FROM (
                SELECT *, try_cast(args ->> 'Device Id' AS BIGINT) AS index,
                    CASE args ->> 'Device Type' WHEN '0' THEN 'cpu' WHEN '1' THEN 'cuda' ELSE 'device' END AS device
                FROM records WHERE kind = 'memory'
            )
        ) WHERE size_bytes >= 0
    """,
    Metric: f"""
        SELECT {{place}}, case_id, left(entry.key, {LONGEST_NAME}) AS metric,
            CASE WHEN isfinite(number) THEN number END AS value,
            CASE WHEN isfinite(number) THEN NULL ELSE left(entry.value ->> '$', {MAX_TEXT}) END AS original_value, recorded_at
        FROM (
            SELECT *, try_cast(entry.value ->> '$' AS DOUBLE) AS number FROM (
                SELECT line, case_id, recorded_at, unnest(map_entries(try_cast(args AS MAP(VARCHAR, JSON)))) AS entry
                FROM {_CASES} WHERE kind = 'counter'
            )
        )
        UNION ALL
        SELECT {{place}}, case_id, 'fields', NULL, fields, recorded_at FROM records LEFT JOIN cases USING (suite, name, axes)
        WHERE kind <> 'bad'
    """,
}
