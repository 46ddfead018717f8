"""Dynamo's forward pass metrics: a line for each pass of an engine, with totals of its prefills and decodes.

Two writers: the trace (`DYN_FPM_TRACE=1`: segments `<prefix>.<producer>.<index>.jsonl.gz` whose lines are envelopes of schema
dynamo.fpm.trace.v1), and a plain recorder (`{"received_at_ns", "metrics"}`). A pass with nothing scheduled is a heartbeat and no
step; worker, rank and counter identify a pass.

A block of lines is read in bulk by DuckDB if every line has the shape (the text without digits) of one that the exact reader
takes, no known key is missing, and nothing that only digits decide is wrong; else its lines are read one by one.

This file is long because the exact read, the bulk read and the proof that both agree depend on each other, field by field.
"""

import contextlib
import itertools
import mmap
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ...warehouse.events import Instant, Json, Reject, ScheduleChunk, as_json
from ...warehouse.forward_pass import (
    MOST_NUMBER,
    NAMED_FIELDS,
    QUEUED,
    QUEUED_TOKENS,
    QUEUED_VARIANCES,
    SCHEDULED,
    SOURCE,
    TIME_SPANS,
    TRACE_SCHEMA,
    UNKNOWN_SPAN,
    VARIANCES,
    VERSION,
    HeartbeatCount,
    is_step,
    step_columns,
)
from ...warehouse.log import Batch
from ...warehouse.schema import literal
from ..format import MAX_LINE_BYTES, Format, Head, Part, Tally, as_text, split_lines
from ..readers.document import BadRecord, Object, decode, repeated_key, show
from ..readers.packing import PackingError, packing_of, unpacked

if TYPE_CHECKING:
    import duckdb

MODES = ("full", "sampled")
BLOCK_BYTES = 44 << 20  # read in bulk together, some two row groups: what is unpacked needs so much room at a time
BLOCKS = 3  # one is unpacked, one read and one copied
BULK_BYTES = 1 << 18  # below this a line-by-line read is as fast
MOST_SHAPES = 256
PIECE_BYTES = 1 << 18  # whose shapes are taken together
RUN = 16  # lines that are compared together
LIVE_SECONDS = 600  # a packed file that changed since may still be written
LONGEST = 2**53  # ns, tokens or passes: what a DOUBLE holds, too
SEGMENT = re.compile(r"(.*)\.(\d{1,18})\.jsonl(\.gz)?")

Item = TypeVar("Item")

_VARIANCE_TYPES = ", ".join(f"{name} DOUBLE" for name in VARIANCES)
_WORK_TYPES = "".join(f"{name} BIGINT, " for name in SCHEDULED) + _VARIANCE_TYPES
_QUEUED_TYPES = "".join(f"{name} BIGINT, " for name in (*QUEUED, *QUEUED_TOKENS)) + _VARIANCE_TYPES
_FPM_TYPE = (
    "STRUCT(version BIGINT, worker_id VARCHAR, dp_rank BIGINT, counter_id BIGINT, wall_time DOUBLE, "
    f"scheduled_requests STRUCT({_WORK_TYPES}), queued_requests STRUCT({_QUEUED_TYPES}))"
)
_TRACE_TYPES = {
    "timestamp": "DOUBLE",
    "event": (
        'STRUCT("schema" VARCHAR, source STRUCT(namespace VARCHAR, component VARCHAR, producer_id VARCHAR), '
        f"capture_mode VARCHAR, observed_at_unix_ms BIGINT, fpm {_FPM_TYPE})"
    ),
}
_PLAIN_TYPES = {"received_at_ns": "BIGINT", "metrics": _FPM_TYPE}


class DynamoFpm(Format):
    """Forward pass metrics of Dynamo."""

    name = "dynamo-fpm"
    doc = "forward pass metrics of Dynamo"
    becomes = "see [below](#dynamo)"
    grows = True
    unpacks = True

    def recognise(self, head: Head) -> bool:
        """Return whether one of the first lines is an envelope, or what a plain recorder received."""
        return any(_is_pass(line) for line in head.lines())

    def whole(self, line: bytes) -> bool:
        """Return whether the last line ends as it began."""
        return not line.startswith(b"{") or line.rstrip().endswith(b"}")

    def order(self, names: Iterable[str]) -> list[str]:
        """Sort by prefix and producer, then by the number of the segment."""
        return sorted(names, key=_segment)

    def left_out(self, head: Head) -> str | None:
        """A segment that its writer has not ended would be another file when it has, and its passes be there twice."""
        if head.packed and time.time() - head.path.stat().st_mtime < LIVE_SECONDS:
            try:
                for _ in unpacked(head.path):
                    pass
            except PackingError:
                return "is still being written: its last segment is loaded when it is whole, or 10 minutes old"
        return None

    def read(self, part: Part, batch: Batch) -> Tally:
        """Block by block: in bulk what is proven to be regular, the rest line by line."""
        passes = _Passes(part, batch)
        try:
            for block, connection in _ahead(_tables(_ahead(_blocks(part, batch.staging)), part)):
                passes.add(block, connection)
        except PackingError as error:
            passes.reject(str(error), b"")
        return passes.close()


def _segment(name: str) -> tuple[str, int, str]:
    match = SEGMENT.fullmatch(name)
    return (match[1], int(match[2]), name) if match else (name, -1, name)


def _is_pass(line: str) -> bool:
    try:
        record = decode(line)
    except BadRecord:
        return False
    if not isinstance(record, Object):
        return False
    event = record.get("event")
    if isinstance(event, Object):
        return isinstance(event.get("schema"), str) and event["schema"].startswith("dynamo.fpm.trace.")
    metrics = record.get("metrics")
    return "received_at_ns" in record and isinstance(metrics, Object) and "scheduled_requests" in metrics


@dataclass(frozen=True, slots=True)
class _Block:
    """Whole lines, in a staged file that DuckDB can read."""

    path: Path
    content: mmap.mmap
    regular: "_Regular | None"  # what it is, if it is read in bulk


def _blocks(part: Part, staging: Path) -> Iterator[_Block]:
    """The lines, unpacked, in blocks of BLOCK_BYTES or one line more.

    A block is gone when BLOCKS more were made: its file is written over, since new pages would take as long as the writing.

    Raises:
        PackingError: As `unpacked` does, after what there is.
    """
    paths = itertools.cycle([staging / f"passes-{number}.jsonl" for number in range(BLOCKS)])
    pieces = _unpacked_or_not(part)
    rest: bytes | None = b""  # what follows the last whole line, None at the end
    damage = None
    while rest is not None:
        path = next(paths)
        with path.open("r+b" if path.exists() else "w+b") as file:
            size, rest = file.write(rest), None
            for piece in pieces:
                if isinstance(piece, PackingError):
                    damage = piece
                    break
                cut = piece.rfind(b"\n") + 1 if size + len(piece) >= BLOCK_BYTES else 0
                size += file.write(piece[:cut] if cut else piece)
                if cut:
                    rest = piece[cut:]
                    break
                if size > BLOCK_BYTES + MAX_LINE_BYTES:
                    damage = PackingError(f"a line is longer than {MAX_LINE_BYTES >> 20} MiB")
                    size = 0
                    break
            file.truncate(size)
            if size:
                content = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
                yield _Block(path, content, _regular(content) if size >= BULK_BYTES else None)
    if damage is not None:
        raise damage


def _ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The same, each made in another thread while the one before is used."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = pool.submit(next, items, None)
            yield item


def _unpacked_or_not(part: Part) -> "Iterator[bytes | PackingError]":
    with part.path.open("rb") as file:
        packed = packing_of(file.read(8)) is not None
    if not packed:
        yield from part.blocks()
        return
    known = part.first_line - 1  # lines of a file that grew
    try:
        for piece in unpacked(part.path):
            while known and piece:
                _, line_end, piece = piece.partition(b"\n")
                known -= bool(line_end)
            yield piece
    except PackingError as error:
        yield error


@dataclass(slots=True)
class _Passes:
    """The lines of one part on their way into a batch."""

    part: Part
    batch: Batch
    tally: Tally = field(default_factory=Tally)
    sampled: int = 0  # lines of a capture that left passes out
    heard: dict[tuple[str | None, int | None], HeartbeatCount] = field(
        default_factory=lambda: defaultdict(HeartbeatCount)
    )

    @property
    def span(self) -> str:
        """The span that the time of a pass covers."""
        return TIME_SPANS.get(self.part.options.engine or "", UNKNOWN_SPAN)

    def add(self, block: _Block, connection: "duckdb.DuckDBPyConnection | None") -> None:
        """Take the rows that a connection has of a block if it is proven that they are its lines; else the lines."""
        if connection is not None and block.regular is not None:
            with contextlib.closing(connection):
                if groups := _proven_groups(connection, block.regular):
                    self._add_table(connection, block.regular.lines, groups)
                    return
        for line in split_lines(block.content[:]):
            self._add_line(line)

    def _add_line(self, line: bytes) -> None:
        number = self.part.first_line + self.tally.lines
        try:
            values = _read(line)
        except BadRecord as error:
            self.reject(str(error), line)
            return
        self.tally.lines += 1
        self.tally.loaded += 1
        self.sampled += values["capture_mode"] == "sampled"
        step = is_step(values)
        self.tally.without_rows += not step
        heard = self.heard[values["worker_id"], values["dp_rank"]]
        heard.see(values["counter_id"], values["counter_id"], int(not step))
        if step:
            part = self.part
            values["time_span"] = self.span
            self.batch.add(ScheduleChunk(run_id=part.run_id, source_id=part.source_id, line=number, **values))

    def reject(self, reason: str, line: bytes) -> None:
        """Account for a line that cannot be read."""
        number = self.part.first_line + self.tally.lines
        self.tally.lines += 1
        self.tally.rejected += 1
        part = self.part
        rejected = Reject(source_id=part.source_id, run_id=part.run_id, line=number, reason=reason, text=as_text(line))
        self.batch.add(rejected)

    def _add_table(self, connection: "duckdb.DuckDBPyConnection", lines: int, groups: "list[_Group]") -> None:
        self.batch.copy(connection, ScheduleChunk, self._steps({group.source for group in groups}))
        for group in groups:
            self.heard[group.worker_id, group.dp_rank].see(group.first, group.last, group.heartbeats)
            self.sampled += group.rows if group.capture_mode == "sampled" else 0
            self.tally.without_rows += group.heartbeats
        self.tally.lines += lines
        self.tally.loaded += lines

    def _steps(self, sources: Set[tuple[str | None, ...]]) -> str:
        first = self.part.first_line + self.tally.lines
        return (
            "SELECT * EXCLUDE (step, wall_time, schema, version, namespace, component, producer_id, queued_prefill,"
            " queued_decode, observed),"
            f" {literal(self.part.run_id)} AS run_id, {literal(self.part.source_id)} AS source_id, {first} + rowid AS line,"
            f" {literal(self.span)} AS time_span, prefill_tokens + decode AS total_tokens, decode AS decode_tokens,"
            " queued_prefill + queued_decode AS waiting, prefill + decode AS running,"
            f" CASE WHEN wall_time > 0 THEN wall_time * 1000 END AS model_run_ms, {_extra_sql(sources)} AS extra"
            " FROM passes WHERE step"  # in order: by one thread
        )

    def close(self) -> Tally:
        """Add heartbeats, with the counters seen, and say what a reader of the file must know."""
        for (worker_id, dp_rank), heard in sorted(self.heard.items(), key=repr):
            self.batch.add(heard.metric(self.part.run_id, worker_id, dp_rank, source_id=self.part.source_id))
        name = self.part.name
        if any(heard.heartbeats for heard in self.heard.values()):
            self.tally.notes.append(f"{name}: heartbeats of an idle engine are no steps; see step_captures")
        if self.sampled:
            self.tally.notes.append(
                f"{name}: a sampled capture, which left passes out: totals of its steps say nothing. "
                "Capture all with DYN_FPM_MODE=full"
            )
        return self.tally


# One line, exactly


def _read(line: bytes) -> dict[str, Any]:
    """The columns of schedule_chunks that a line tells.

    Raises:
        BadRecord: It is no pass, or one of a version that nobody knows.
    """
    if len(line) > MAX_LINE_BYTES:
        raise BadRecord(f"longer than {MAX_LINE_BYTES >> 20} MiB")
    try:
        record = decode(line.decode("utf-8-sig").strip(" \t\r"))
    except UnicodeDecodeError as error:
        raise BadRecord(f"not UTF-8 at byte {error.start + 1}") from None
    if not isinstance(record, Object):
        raise BadRecord(f"not an object but {show(record)}")
    if (key := repeated_key(record)) is not None:
        raise BadRecord(f"repeats the key {key!r}")
    if "event" not in record:
        fpm = _object(record, "metrics")
        received = _whole(record, "received_at_ns")
        return {**_pass(fpm, None), "capture_mode": None, "recorded_at": Instant(received // 1000)}
    event = _object(record, "event")
    if event.get("schema") != TRACE_SCHEMA:
        raise BadRecord(f"schema is {show(event.get('schema'))}; this bench reads {TRACE_SCHEMA}. Update bench")
    mode = event.get("capture_mode")
    if mode not in MODES:
        raise BadRecord(f"capture_mode is {show(mode)}, not full or sampled")
    observed = _whole(event, "observed_at_unix_ms")
    since = _number(record, "timestamp") / 1000
    values = _pass(_object(event, "fpm"), _object(event, "source"))
    return {**values, "capture_mode": mode, "recorded_at": Instant(observed * 1000), "clock_s": since}


def _pass(fpm: Object, source: Object | None) -> dict[str, Any]:
    if fpm.get("version") != VERSION:
        raise BadRecord(
            f"version of the metrics is {show(fpm.get('version'))}; this bench reads {VERSION}. Update bench"
        )
    scheduled, queued = _object(fpm, "scheduled_requests"), _object(fpm, "queued_requests")
    worker_id = fpm.get("worker_id")
    if not isinstance(worker_id, str):
        raise BadRecord(f"worker_id is {show(worker_id)}, not a text")
    work = {column: _whole(scheduled, name) for name, column in SCHEDULED.items()}
    columns = step_columns(work, sum(_whole(queued, name) for name in QUEUED), _number(fpm, "wall_time"))
    columns |= {column: _whole(queued, name) for name, column in QUEUED_TOKENS.items()}
    columns |= {column: _number(scheduled, name) for name, column in VARIANCES.items()}
    columns |= {column: _number(queued, name) for name, column in QUEUED_VARIANCES.items()}
    named = {key: _text(source, key) for key in SOURCE} if source is not None else {}
    extra = {**_unknown(fpm, scheduled, queued), **named}
    return {
        **columns, "worker_id": worker_id, "dp_rank": _whole(fpm, "dp_rank"), "counter_id": _whole(fpm, "counter_id"),
        "extra": Json(as_json(extra)) if extra else None,
    }  # fmt: skip


def _unknown(fpm: Object, scheduled: Object, queued: Object) -> dict[str, Any]:
    """The fields that have no column."""
    parts = {
        "scheduled_requests": (scheduled, {*SCHEDULED, *VARIANCES}),
        "queued_requests": (queued, {*QUEUED, *QUEUED_TOKENS, *VARIANCES}),
    }
    left = {name: {key: part[key] for key in part if key not in known} for name, (part, known) in parts.items()}
    return {key: fpm[key] for key in fpm if key not in NAMED_FIELDS} | {
        name: rest for name, rest in left.items() if rest
    }


def _extra_sql(sources: Set[tuple[str | None, ...]]) -> str:
    """The JSON of who captured. No text needs an escape, as a block read in bulk has no backslash."""
    if len(sources) == 1:  # as of each segment, and far cheaper
        (source,) = sources
        return "NULL" if None in source else literal(as_json(dict(zip(SOURCE, source, strict=True))))
    fields = [f"'\"{name}\": \"' || {name} || '\"'" for name in SOURCE]
    return f"'{{' || concat_ws(', ', {', '.join(fields)}) || '}}'"


def _object(record: Object, key: str) -> Object:
    value = record.get(key)
    if not isinstance(value, Object):
        raise BadRecord(f"{key} is {show(value)}, not an object")
    return value


def _whole(record: Object, key: str) -> int:
    value = record.get(key)
    most = 2**63 // 1000 if key.endswith("_ms") else 2**63 if key.endswith("_ns") else LONGEST
    if type(value) is not int or not 0 <= value < most:
        raise BadRecord(f"{key} is {show(value)}, not a whole number of 0 or more")
    return value


def _number(record: Object, key: str) -> float:
    value = record.get(key)
    if type(value) not in (int, float) or not 0 <= value < MOST_NUMBER:  # type: ignore[operator]
        raise BadRecord(f"{key} is {show(value)}, not a number of 0 or more")
    return float(value)  # type: ignore[arg-type]


def _text(record: Object, key: str) -> str:
    value = record.get(key)
    if not isinstance(value, str):
        raise BadRecord(f"{key} is {show(value)}, not a text")
    return value


# A block, in bulk and proven


@dataclass(frozen=True, slots=True)
class _Regular:
    """A block that is read in bulk."""

    kind: str  # trace or plain
    lines: int


@dataclass(frozen=True, slots=True)
class _Group:
    """Rows of a block that have the same texts, rank and version: how many, of which with good numbers, and their counters."""

    worker_id: str | None
    dp_rank: int | None
    version: int | None
    schema: str | None
    capture_mode: str | None
    namespace: str | None
    component: str | None
    producer_id: str | None
    rows: int
    good: int
    heartbeats: int
    first: int | None
    last: int | None

    @property
    def source(self) -> tuple[str | None, ...]:
        """The file that they come from."""
        return self.namespace, self.component, self.producer_id

    def is_proven(self, kind: str) -> bool:
        """Return whether the exact reader would take each of them as it stands."""
        proven = self.good == self.rows and self.worker_id is not None and self.version == VERSION
        known = self.schema == TRACE_SCHEMA and self.capture_mode in MODES
        return proven and (kind == "plain" or (known and None not in self.source))


_GROUPS = (
    "SELECT worker_id, dp_rank, version, schema, capture_mode, namespace, component, producer_id, count(*),"
    " count(*) FILTER ({good}), count(*) FILTER (NOT step), min(counter_id), max(counter_id) FROM passes GROUP BY ALL"
)


def _tables(blocks: Iterator[_Block], part: Part) -> "Iterator[tuple[_Block, duckdb.DuckDBPyConnection | None]]":
    """Each block and, if it is read in bulk, a connection that has its rows as the table `passes`."""
    for block in blocks:
        yield block, _table(block.path, block.regular, part) if block.regular is not None else None


def _table(path: Path, regular: _Regular, part: Part) -> "duckdb.DuckDBPyConnection | None":
    import duckdb

    connection = part.cursor()
    try:
        connection.execute(f"CREATE TEMP TABLE passes AS {_select(path, regular.kind)}")
    except duckdb.Error:
        connection.close()
        return None
    return connection


def _proven_groups(connection: "duckdb.DuckDBPyConnection", regular: _Regular) -> list[_Group]:
    """The groups of all rows, if the exact reader would take each of them as it stands; else none."""
    groups = [_Group(*row) for row in connection.execute(_GROUPS.format(good=_in_range(regular.kind))).fetchall()]
    proven = sum(group.rows for group in groups) == regular.lines
    return groups if proven and all(group.is_proven(regular.kind) for group in groups) else []


def _regular(block: mmap.mmap) -> _Regular | None:
    """The kind of a block whose shapes all belong to lines that are read exactly, with the same keys; None for any other."""
    if block.find(b"\\") >= 0:
        return None
    examples = dict[bytes, bytes]()  # a line of each shape
    usual = run = b""  # the shape of the line before, and many such lines
    lines = start = 0
    while start < len(block):  # a piece at a time, which stays in the processor's cache
        end = block.find(b"\n", start + PIECE_BYTES) + 1 or len(block)
        piece = block[start:end]
        shapes, first, at = piece.translate(None, b"0123456789"), lines, 0
        while at < len(shapes):
            if run and shapes.startswith(run, at):
                at, lines = at + len(run), lines + RUN
            elif usual and shapes.startswith(usual, at):
                at, lines = at + len(usual), lines + 1
            else:
                line_end = shapes.find(b"\n", at) + 1 or len(shapes)
                usual = shapes[at:line_end]
                run = usual * RUN
                if usual not in examples:
                    examples[usual] = piece.split(b"\n", lines - first + 1)[lines - first]
                    if len(examples) > MOST_SHAPES:
                        return None
                at, lines = line_end, lines + 1
        start = end
    kinds = {_keys_of(line) for line in examples.values()}
    kind = kinds.pop() if len(kinds) == 1 else None
    return None if kind is None else _Regular(kind, lines)


def _keys_of(line: bytes) -> str | None:
    """The kind of a line that has the known keys and no other."""
    try:
        _read(line)
    except BadRecord:
        return None
    record = decode(line.decode("utf-8-sig"))
    keys = tuple(_paths(record, ""))
    for kind, known in (("trace", _TRACE_KEYS), ("plain", _PLAIN_KEYS)):
        if len(keys) == len(known) and set(keys) == known:
            return kind
    return None


def _paths(value: Any, above: str) -> Iterator[str]:
    for key, inner in value.items():
        path = f"{above}.{key}"
        yield path
        if isinstance(inner, Object):
            yield from _paths(inner, path)


def _fpm_keys(above: str) -> set[str]:
    keys = {f"{above}.{key}" for key in ("version", "worker_id", "dp_rank", "counter_id", "wall_time")}
    scheduled, queued = f"{above}.scheduled_requests", f"{above}.queued_requests"
    keys |= {scheduled, queued} | {f"{scheduled}.{name}" for name in SCHEDULED}
    keys |= {f"{queued}.{name}" for name in (*QUEUED, *QUEUED_TOKENS)}
    return keys | {f"{each}.{name}" for each in (scheduled, queued) for name in VARIANCES}


_TRACE_KEYS = {".timestamp", ".event", *(f".event.{key}" for key in ("schema", "source", "capture_mode", "fpm"))} | {
    ".event.observed_at_unix_ms", *(f".event.source.{key}" for key in SOURCE),
} | _fpm_keys(".event.fpm")  # fmt: skip
_PLAIN_KEYS = {".received_at_ns", ".metrics"} | _fpm_keys(".metrics")


def _select(path: Path, kind: str) -> str:
    """All values of the lines by column, in their order."""
    from .scheduler import glob_safe

    trace = kind == "trace"
    fpm, types = ("event.fpm", _TRACE_TYPES) if trace else ("metrics", _PLAIN_TYPES)
    columns = [f"{fpm}.{name}" for name in ("worker_id", "dp_rank", "counter_id", "wall_time", "version")]
    scheduled, queued = f"{fpm}.scheduled_requests", f"{fpm}.queued_requests"
    columns += [f"{scheduled}.{name} AS {column}" for name, column in SCHEDULED.items()]
    columns += [f"{scheduled}.{name} AS {column}" for name, column in VARIANCES.items()]
    columns += [f"{queued}.{name} AS {column}" for name, column in (QUEUED_TOKENS | QUEUED_VARIANCES).items()]
    columns += [
        f"{queued}.num_prefill_requests AS queued_prefill", f"{queued}.num_decode_requests AS queued_decode",
        "prefill > 0 OR decode > 0 OR prefill_tokens > 0 AS step",
    ]  # fmt: skip
    if trace:
        columns += [
            "event.schema AS schema", "event.capture_mode AS capture_mode", "timestamp / 1000 AS clock_s",
            "event.observed_at_unix_ms AS observed", "make_timestamp(observed * 1000) AS recorded_at",
            *(f"event.source.{key} AS {key}" for key in SOURCE),
        ]  # fmt: skip
    else:
        columns += ["NULL AS schema", "NULL AS capture_mode", "received_at_ns AS observed",
                    "make_timestamp(observed // 1000) AS recorded_at"]  # fmt: skip
        columns += [f"NULL AS {key}" for key in SOURCE]
    named = ", ".join(f"{literal(name)}: {literal(type_)}" for name, type_ in types.items())
    return (
        f"SELECT {', '.join(columns)} FROM read_json({literal(glob_safe(path))}, "
        f"columns = {{{named}}}, format = 'newline_delimited', compression = 'uncompressed', hive_partitioning = false, "
        f"maximum_object_size = {MAX_LINE_BYTES})"
    )


def _in_range(kind: str) -> str:
    """The conditions under which the exact reader takes a row's numbers: none is missing, none is too large."""
    wholes = ["dp_rank", "counter_id", *SCHEDULED.values(), "queued_prefill", "queued_decode", *QUEUED_TOKENS.values()]
    numbers = ["wall_time", *VARIANCES.values(), *QUEUED_VARIANCES.values()]
    rules = [f"{name} BETWEEN 0 AND {LONGEST - 1}" for name in wholes] + [f"{name} < {MOST_NUMBER}" for name in numbers]
    if kind == "plain":
        return " AND ".join([*rules, "observed >= 0"])
    return " AND ".join([*rules, "clock_s < 1e297", f"observed BETWEEN 0 AND {2**63 // 1000 - 1}"])
