"""Scheduler profiles: one JSON object a line for each step of an LLM server's scheduler.

Three writers are known, told apart by their fields. All their fields are taken by name, whoever wrote them; a field that
has no column is kept in `extra`.

A large file is read in bulk by DuckDB, which is fast and forgiving: it rounds 1.5 to 2, takes "5" and true for numbers,
drops unknown keys. So a bulk read counts only when it is proven to have lost nothing (`_prove`); else the lines that
differ from the others are set aside and read one by one, exactly, and the rest is read in bulk again.

This file is long because the exact read, the bulk read and the proof that both agree depend on each other, field by field.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...warehouse.events import Instant, Json, Reject, ScheduleChunk
from ...warehouse.log import Batch
from ...warehouse.schema import literal, quote
from ..format import MAX_LINE_BYTES, Format, Head, Part, Tally, as_text, count_lines, split_lines
from ..readers.document import BadRecord, Object, show
from ..readers.folders import is_repeat

if TYPE_CHECKING:
    import duckdb

BULK_BYTES = 1 << 20  # below this a line-by-line read is as fast as starting a bulk one
MOST_ODD = 1_000_000  # lines that bulk reading leaves to be read one by one; with more of them all are
EXACT = 2**53 - 1  # whole numbers up to here survive being read as DOUBLE
UNIX_SECONDS = (1e8, 1e11)  # a timestamp in this range is wall clock (1973 to 5138), else some monotonic clock

WHOLE, NUMBER, QUOTED, LIST, SINGLE, OTHER = "whole", "number", "quoted", "list", "single", "other"

# field of a record -> column, and what it holds
STEP_FIELDS: dict[str, tuple[str, str]] = {
    "batch_id": ("batch_id", WHOLE),
    "timestamp": ("clock_s", NUMBER),
    "total_scheduled_tokens": ("total_tokens", WHOLE),
    "sched_tokens": ("total_tokens", WHOLE),
    "chunk_sizes": ("chunk_sizes", LIST),
    "prefill_chunk_sizes": ("prefill_chunk_sizes", LIST),
    "decode_chunk_sizes": ("decode_chunk_sizes", LIST),
    "all_computed_tokens": ("computed_tokens", LIST),
    "computed_tokens": ("computed_tokens", LIST),
    "all_cached_tokens": ("cached_tokens", LIST),
    "cached_tokens": ("cached_tokens", LIST),
    "schedule_duration_ms": ("schedule_ms", NUMBER),
    "schedule_ms": ("schedule_ms", NUMBER),
    "model_run_duration_ms": ("model_run_ms", NUMBER),
    "model_run_ms": ("model_run_ms", NUMBER),
    "total_step_duration_ms": ("step_ms", NUMBER),
    "num_waiting_reqs": ("waiting", WHOLE),
    "num_waiting": ("waiting", WHOLE),
    "num_running_reqs": ("running", WHOLE),
    "num_running": ("running", WHOLE),
    "num_prefill_reqs": ("prefill", WHOLE),
    "num_decode_reqs": ("decode", WHOLE),
    "token_budget": ("token_budget", WHOLE),
    "kv_cache_usage": ("kv_cache_usage", NUMBER),
}
DURATIONS = {"schedule_duration_ms", "schedule_ms", "model_run_duration_ms", "model_run_ms"}
CHUNKS = {"chunk_sizes", "prefill_chunk_sizes", "decode_chunk_sizes"}
TOTALS = ("prefill_tokens", "decode_tokens")  # columns that add up to the tokens of a step


@dataclass(frozen=True, slots=True)
class StepNames:
    """The names of the fields of a step, and the column without which a record is none."""

    fields: Mapping[str, tuple[str, str]]  # field of a record -> column, and what it holds
    factors: Mapping[str, float] = field(default_factory=dict)  # of columns that the writer has in another unit
    required: str = "batch_id"


USUAL = StepNames(STEP_FIELDS)
WALL_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{1,6})?")  # of the field `time`; read as UTC


class SchedulerSteps(Format):
    """Scheduler steps of an LLM server."""

    name = "scheduler"
    doc = "scheduler profile of an LLM server in JSON lines (batch_id, chunk_sizes …)"
    becomes = "see [ingest](ingest.md#scheduler)"
    grows = True
    names = USUAL

    def recognise(self, head: Head) -> bool:
        """Return whether one of the first lines is a step: a number, chunks and a duration."""
        return any(_is_step(line) for line in head.lines())

    def whole(self, line: bytes) -> bool:
        """Return whether a line is a JSON object."""
        try:
            return isinstance(_decode(line), dict)
        except BadRecord:
            return False

    def result_set(self, name: str) -> str:
        """The file, if its name counts or dates it: the log of a night or a repeat, not a part of one log."""
        return stem if is_repeat(stem := Path(name).stem) else ""

    def order(self, names: Iterable[str]) -> list[str]:
        """Sort by the integer after the last `_` of the stem; if a file has none, all by name. Equal keys go by name."""
        keys = {name: re.search(r"_([+-]?[0-9]+)$", Path(name).stem) for name in names}
        if all(keys.values()):
            return sorted(keys, key=lambda name: (int(keys[name][1]), name))  # type: ignore[index]
        return sorted(keys)

    def read(self, part: Part, batch: Batch) -> Tally:
        """Read in bulk what can be proven, and the rest line by line."""
        tally = Tally()
        filled = part.without_blank_end()  # blank lines at the end say nothing
        rest = replace(part, start_byte=filled.end_byte)
        tally.lines = tally.left_out = sum(map(count_lines, rest.blocks()))
        odd = _read_bulk(filled, batch, tally, self.names) if filled.size_bytes >= BULK_BYTES else None
        for number, line in filled.lines() if odd is None else odd:
            tally.lines += 1
            try:
                if not line.strip():
                    raise BadRecord("blank line")
                batch.add(_chunk(_decode(line), part, number, self.names))
                tally.loaded += 1
            except BadRecord as error:
                batch.add(_reject(part, number, str(error), line))
                tally.rejected += 1
        return tally


def _reject(part: Part, number: int, reason: str, line: bytes) -> Reject:
    return Reject(source_id=part.source_id, run_id=part.run_id, line=number, reason=reason, text=as_text(line))


def _is_step(line: str) -> bool:
    try:
        record = _decode(line.encode())
    except (BadRecord, UnicodeEncodeError):
        return False
    return "batch_id" in record and not CHUNKS.isdisjoint(record) and not DURATIONS.isdisjoint(record)


# One line, exactly


def _no_constant(text: str) -> Any:
    raise BadRecord(f"{text} is not a JSON value")


_json = json.JSONDecoder(object_pairs_hook=Object, parse_constant=_no_constant)


def _decode(line: bytes) -> dict[str, Any]:
    """The JSON object a line holds.

    Raises:
        BadRecord: It holds none.
    """
    if len(line) > MAX_LINE_BYTES:
        raise BadRecord(f"longer than {MAX_LINE_BYTES >> 20} MiB")
    try:
        text = line.decode("utf-8-sig").strip(" \t\r\v\f")
        record = _json.decode(text)
    except UnicodeDecodeError as error:
        raise BadRecord(f"not UTF-8 at byte {error.start + 1}") from None
    except json.JSONDecodeError as error:
        raise BadRecord(f"not valid JSON: {error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise BadRecord("not valid JSON: nested too deeply") from None
    except ValueError as error:  # a number of thousands of digits
        raise BadRecord(f"not valid JSON: {error}") from None
    if not isinstance(record, Object):
        raise BadRecord(f"not an object but {show(record)}")
    if record.repeated is not None:
        raise BadRecord(f"repeats the key {record.repeated!r}")
    return record


def _chunk(record: Mapping[str, Any], part: Part, line: int, names: StepNames) -> ScheduleChunk:
    """The event a record is.

    Raises:
        BadRecord: A field holds what its column cannot.
    """
    columns: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for key, value in record.items():
        column, kind = names.fields.get(key, ("", OTHER))
        if value is None:
            continue
        if kind == OTHER or column in columns:
            extra[key] = value
        else:
            columns[column] = _READ[kind](key, value)
            if column in names.factors:
                columns[column] *= names.factors[column]
    if names.required not in columns:
        raise BadRecord(f"no {next(key for key, (column, _) in names.fields.items() if column == names.required)}")
    if "chunk_sizes" not in columns and not CHUNKS.isdisjoint(columns):
        prefill, decode = columns.get("prefill_chunk_sizes"), columns.get("decode_chunk_sizes")
        columns["chunk_sizes"] = (prefill or []) + (decode or [])
    if "total_tokens" not in columns and (parts := [columns[name] for name in TOTALS if name in columns]):
        columns["total_tokens"] = sum(parts)
    return ScheduleChunk(
        run_id=part.run_id,
        source_id=part.source_id,
        line=line,
        recorded_at=_recorded_at(columns.get("clock_s"), extra.get("time")),
        extra=_as_json(extra) if extra else None,
        **columns,
    )


def _whole(key: str, value: Any) -> int:
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is not int:
        raise BadRecord(f"{key} is {show(value)}, not a whole number")
    if not -(2**63) <= value < 2**63:
        raise BadRecord(f"{key} is {show(value)}, beyond 64 bits")
    return value


def _number(key: str, value: Any) -> float:
    try:
        number = float(value) if type(value) in (int, float, str) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise BadRecord(f"{key} is {show(value)}, not a finite number")
    return number


def _list(key: str, value: Any) -> list[int]:
    if isinstance(value, list):
        return [_whole(f"{key}[{index}]", item) for index, item in enumerate(value)]
    return [_whole(key, value)]


_READ: dict[str, Callable[[str, Any], Any]] = {WHOLE: _whole, NUMBER: _number, LIST: _list}


def _recorded_at(seconds: float | None, text: Any) -> Instant | None:
    if seconds is not None and UNIX_SECONDS[0] <= seconds < UNIX_SECONDS[1]:
        return Instant(math.floor(seconds * 1e6))
    if isinstance(text, str) and WALL_TIME.fullmatch(text):
        try:
            moment = datetime.fromisoformat(text).replace(tzinfo=UTC)
        except ValueError:  # the 31st of February
            return None
        since = moment - datetime(1970, 1, 1, tzinfo=UTC)
        return Instant((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)
    return None


def _as_json(extra: dict[str, Any]) -> Json:
    try:
        text = json.dumps(extra, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        text.encode()
    except UnicodeEncodeError:
        raise BadRecord("a lone surrogate in a text") from None
    except ValueError:
        raise BadRecord("a number beyond double precision") from None
    return Json(text)


# A whole file, in bulk and proven


class Unproven(Exception):
    """A bulk read that cannot be shown to have lost nothing."""


@dataclass(frozen=True, slots=True)
class _Field:
    key: str
    column: str  # empty for a field that goes to `extra`
    kind: str


_DUCKDB_TYPES = {
    WHOLE: "DOUBLE",
    NUMBER: "DOUBLE",
    QUOTED: "VARCHAR",
    LIST: "DOUBLE[]",
    SINGLE: "DOUBLE",
    OTHER: "JSON",
}


@dataclass(frozen=True, slots=True)
class _Layout:
    """The fields of the first record; all records of one writer have the same fields."""

    fields: tuple[_Field, ...]
    names: StepNames

    @classmethod
    def of(cls, record: dict[str, Any], names: StepNames) -> "_Layout | None":
        """The layout of a record; None if it lacks what is required, or has two fields for one column."""
        fields = []
        for key, value in record.items():
            column, kind = names.fields.get(key, ("", OTHER))
            if kind == LIST and not isinstance(value, list):
                kind = SINGLE
            elif kind == NUMBER and isinstance(value, str):
                kind = QUOTED
            fields.append(_Field(key, column, kind))
        named = [field.column for field in fields if field.column]
        return cls(tuple(fields), names) if len(named) == len(set(named)) and names.required in named else None

    def fits(self, record: dict[str, Any]) -> bool:
        """True if a bulk read with this layout reads this record, and so every record of its shape, correctly."""
        kinds = {field.key: field.kind for field in self.fields}
        if (
            not record.keys() <= kinds.keys()
            or not {key for key, kind in kinds.items() if kind == OTHER} <= record.keys()
        ):
            return False
        return all(_FITS[kinds[key]](value) for key, value in record.items())

    def select(self, part: Part) -> str:
        """The SQL of a bulk read; a value that cannot be converted without loss is an error."""
        types = ", ".join(f"{literal(f.key)}: '{_DUCKDB_TYPES[f.kind]}'" for f in self.fields)
        keys = {field.column: quote(field.key) for field in self.fields if field.column}
        values = {field.column: _LOSSLESS[field.kind].format(quote(field.key)) for field in self.fields if field.column}
        for column, factor in self.names.factors.items():
            if column in values:
                values[column] = f"({values[column]}) * {factor!r}::DOUBLE"
        kinds = [name for name in ("prefill_chunk_sizes", "decode_chunk_sizes") if name in keys]
        if kinds and "chunk_sizes" not in keys:
            chunks = " || ".join(f"coalesce({values[name]}, [])" for name in kinds)
            listed = ", ".join(keys[name] for name in kinds)
            values["chunk_sizes"] = f"CASE WHEN coalesce({listed}) IS NOT NULL THEN {chunks} END"
        totals = [f"CAST({values[name]} AS BIGINT)" for name in TOTALS if name in values]
        if totals and "total_tokens" not in keys:
            total = " + ".join(f"coalesce({value}, 0)" for value in totals)
            values["total_tokens"] = f"CASE WHEN coalesce({', '.join(totals)}) IS NOT NULL THEN {total} END"
        values["recorded_at"] = self._recorded_at(keys)
        others = [field.key for field in self.fields if field.kind == OTHER]
        if others:
            names = [literal(json.dumps(key, ensure_ascii=False) + ":") for key in others]
            texts = [f"coalesce({quote(key)}, error('absent'))" for key in others]
            pairs = " || ',' || ".join(f"{name} || {text}" for name, text in zip(names, texts, strict=True))
            values["extra"] = f"'{{' || {pairs} || '}}'"
        values["run_id"], values["source_id"] = literal(part.run_id), literal(part.source_id)
        values["line"] = f"{part.first_line - 1} + row_number() OVER ()"
        return (
            f"SELECT {', '.join(f'{value} AS {name}' for name, value in values.items())} "
            f"FROM read_json({literal(glob_safe(part.path))}, columns = {{{types}}}, format = 'newline_delimited', "
            f"compression = 'uncompressed', hive_partitioning = false) QUALIFY {keys[self.names.required]} IS NOT NULL"
        )

    def _recorded_at(self, keys: dict[str, str]) -> str:
        cases = []
        if "clock_s" in keys:
            (low, high), factor = UNIX_SECONDS, self.names.factors.get("clock_s", 1.0)
            clock = keys["clock_s"] if factor == 1 else f"({keys['clock_s']} * {factor!r}::DOUBLE)"
            moment = f"make_timestamp(CAST(floor({clock} * 1e6) AS BIGINT))"
            cases.append(f"WHEN {clock} >= {low} AND {clock} < {high} THEN {moment}")
        if any(field.key == "time" for field in self.fields):
            pattern = literal(f'"{WALL_TIME.pattern}"')
            cases.append(f"""WHEN regexp_full_match("time", {pattern}) THEN try_cast(trim("time", '"') AS TIMESTAMP)""")
        return f"CASE {' '.join(cases)} END" if cases else "NULL"


_FITS: dict[str, Callable[[Any], bool]] = {
    WHOLE: lambda value: type(value) is int,
    NUMBER: lambda value: type(value) in (int, float),
    QUOTED: lambda value: isinstance(value, str),
    LIST: lambda value: isinstance(value, list) and all(type(item) is int for item in value),
    SINGLE: lambda value: type(value) is int,
    OTHER: lambda value: value is not None,
}
_LOSSLESS = {
    WHOLE: "{0}",  # whether it is whole shows where it becomes that (`Batch.copy`)
    NUMBER: "CASE WHEN {0} IS NULL OR isfinite({0}) THEN {0} ELSE error('not finite') END",
    QUOTED: "CASE WHEN {0} IS NULL OR isfinite(CAST({0} AS DOUBLE)) THEN CAST({0} AS DOUBLE) ELSE error('not finite') END",
    LIST: "{0}",
    SINGLE: "CASE WHEN {0} IS NOT NULL THEN [{0}] END",
}


def glob_safe(path: Path) -> str:
    """A path escaped so that DuckDB does not read it as a glob pattern."""
    return re.sub(r"([*?\[])", r"[\1]", str(path.absolute()))


def _read_bulk(part: Part, batch: Batch, tally: Tally, names: StepNames) -> Iterable[tuple[int, bytes]] | None:
    """Read what can be read in bulk.

    Returns:
        The lines left to be read one by one, with their numbers; None for all of them. `tally` counts the others.
    """
    layout = _first_layout(part, names)
    if layout is None:
        return None
    masked = _MaskedPart(part, batch.staging)
    if part.start_byte or part.end_byte < part.path.stat().st_size:
        masked.mask(_none)
    for find_odd in (None, _irregular, _invalid, _trailing_comma):
        try:
            if find_odd and not masked.mask(find_odd(masked.part, layout)):
                continue
            lines = _copy(masked.part, layout, batch, len(masked.numbers))
        except _TooOdd:
            return None
        except Unproven:
            continue
        tally.lines += lines - len(masked.numbers)
        tally.loaded += lines - len(masked.numbers)
        return masked.odd_lines()
    return None


class _TooOdd(Exception):
    """More lines are odd than bulk reading is worth."""


def _first_layout(part: Part, names: StepNames) -> _Layout | None:
    for _, line in part.lines():
        try:
            return _Layout.of(_decode(line), names)
        except BadRecord:
            continue
    return None


def _copy(part: Part, layout: _Layout, batch: Batch, masked: int) -> int:
    """Read a part that is a whole file in bulk into the batch, and prove it; returns its number of lines.

    Raises:
        Unproven: Something may have been lost; the batch is as before.
    """
    import duckdb

    connection = part.cursor()
    before = list(batch.parts.get(ScheduleChunk, []))
    try:
        written = batch.copy(connection, ScheduleChunk, layout.select(part))
        return _prove(connection, written, part.path, layout, masked)
    except (duckdb.Error, Unproven) as error:
        for staged in set(batch.parts.get(ScheduleChunk, [])) - set(before):
            staged.unlink(missing_ok=True)
        batch.parts[ScheduleChunk] = before
        raise Unproven from error


def _prove(connection: "duckdb.DuckDBPyConnection", written: Path, path: Path, layout: _Layout, masked: int) -> int:
    """Show that the rows written are all that the file says, by counting.

    DuckDB has parsed every line as one JSON object without repeated keys, or failed. What it could have passed over in
    silence changes one of these counts of bytes against the rows: a key without column (:), a null (u), true (u), false
    (f), a number in quotes (\"), a trailing comma (,), a line that is no object ({), and any line at all (line feed). `masked`
    lines are `{}` and no record.

    Raises:
        Unproven: A count differs.
    """
    chunks = _column_chunks(connection, written)
    rows = chunks["line"].values if chunks else 0
    named = [field for field in layout.fields if field.column and chunks]
    lists = [field for field in named if field.kind in (LIST, SINGLE)]
    present = {field: rows - chunks[field.column].nulls for field in named}
    unsure = [field for field in lists if chunks[field.column].nulls]  # an empty list counts as null there
    others = any(field.kind == OTHER for field in layout.fields)
    sums = [f"count({field.column})" for field in unsure]
    if others:
        sums += [f"coalesce(sum(len(extra) - len(replace(extra, {literal(chr(char))}, ''))), 0)" for char in b':,"{uf']
        sums += ["count(*) FILTER (regexp_matches(extra, '[:\\[,]-?(nan|inf)', 'i'))"]
    counted: list[int] = []
    if sums:
        query = f"SELECT {', '.join(sums)} FROM read_parquet({literal(glob_safe(written))})"
        counted = [int(value) for value in connection.execute(query).fetchall()[0]]
        present |= dict(zip(unsure, counted, strict=False))
    colons, commas, quotes, braces, us, fs, constants = counted[-7:] if others else [0] * 7
    commas_in_lists = sum(chunks[field.column].values - rows for field in lists)
    whole = (field for field in named if field.kind in (WHOLE, LIST, SINGLE))
    largest = max((chunks[field.column].largest for field in whole), default=0)

    keys = sum(present.values())
    quoted = sum(count for field, count in present.items() if field.kind == QUOTED)
    expected = {
        "\n": rows + masked,
        ":": keys + colons,
        ",": keys - rows + (rows if others else 0) + commas_in_lists + commas,
        '"': 2 * keys + 2 * quoted + quotes,
        "{": (braces if others else rows) + masked,
        "u": sum(count * field.key.count("u") for field, count in present.items()) + us,
        "f": sum(count * field.key.count("f") for field, count in present.items()) + fs,
        "\\": 0,
    }
    if constants or largest > EXACT or _count_bytes(path, expected) != expected:
        raise Unproven
    return rows + masked


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Statistics of one column from the metadata of a Parquet file; for a list column, of its elements."""

    values: int  # an empty or missing list counts as one
    nulls: int
    largest: int  # magnitude of the whole number farthest from 0


def _column_chunks(connection: "duckdb.DuckDBPyConnection", path: Path) -> dict[str, _Chunk]:
    largest = "coalesce(greatest(try_cast(stats_max_value AS HUGEINT), -try_cast(stats_min_value AS HUGEINT)), 0)"
    query = (
        "SELECT split_part(path_in_schema, ',', 1), sum(num_values), sum(stats_null_count), "
        f"max({largest}) FROM parquet_metadata({literal(glob_safe(path))}) WHERE stats_null_count IS NOT NULL GROUP BY ALL"
    )
    return {name: _Chunk(*map(int, counts)) for name, *counts in connection.execute(query).fetchall()}


def _count_bytes(path: Path, characters: Iterable[str]) -> dict[str, int]:
    """The count of each character in a file; an unended last line counts as ended."""
    import numpy as np

    counts = dict.fromkeys(characters, 0)
    last = b""
    with path.open("rb", buffering=0) as file:
        while data := file.read(1 << 20):
            block = np.frombuffer(data, dtype=np.uint8)
            for character in counts:
                if ord(character) in data:  # looking for one that is not there takes a tenth of counting it
                    counts[character] += int(np.count_nonzero(block == ord(character)))
            last = data[-1:]
    if last not in (b"", b"\n"):
        counts["\n"] += 1
    return counts


# The lines that are not like the others

# finds in a block, of which it is told the number of the first line: the places of odd lines, and how many lines there are
Find = Callable[[bytes, int], tuple[list[int], int]]


class _MaskedPart:
    """A part with `{}` in place of its odd lines, so that every other line keeps its number; they lie in a file of their own."""

    def __init__(self, part: Part, folder: Path) -> None:
        """Mask nothing so far."""
        self.part = part  # the part itself, or the file of its copy
        self.numbers: list[int] = []  # of the odd lines, as they were found
        self._copy, self._odd = folder / "masked.jsonl", folder / "odd.jsonl"
        self._odd.unlink(missing_ok=True)  # of another part of the batch

    def mask(self, find: Find) -> bool:
        """Mask the lines that are found; returns whether there are any.

        Raises:
            _TooOdd: There are too many.
        """
        before, first = len(self.numbers), self.part.first_line
        temporary = self._copy.with_suffix(".tmp")
        with temporary.open("wb") as copy, self._odd.open("ab") as odd:
            for block in self.part.blocks():
                places, count = find(block, first)
                if places:
                    lines = split_lines(block)
                    odd.writelines(lines[place] + b"\n" for place in places)
                    self.numbers += [first + place for place in places]
                    for place in places:
                        lines[place] = b"{}"
                    block = b"\n".join(lines) + b"\n"
                    if len(self.numbers) > MOST_ODD:
                        raise _TooOdd
                copy.write(block)
                first += count
        temporary.replace(self._copy)
        self.part = replace(self.part, path=self._copy, start_byte=0, end_byte=self._copy.stat().st_size)
        return len(self.numbers) > before

    def odd_lines(self) -> Iterator[tuple[int, bytes]]:
        """The odd lines as they were, with their numbers."""
        if self.numbers:
            odd = replace(self.part, path=self._odd, start_byte=0, end_byte=self._odd.stat().st_size)
            yield from zip(self.numbers, (line for _, line in odd.lines()), strict=True)


def _none(block: bytes, first: int) -> tuple[list[int], int]:
    return [], count_lines(block)


def _irregular(part: Part, layout: _Layout) -> Find:
    """Lines whose shape is not that of a record the layout fits.

    A line's shape is what is left of it without digits, blanks and commas. One line of each shape is looked at closely;
    lists of any length and numbers of any value share a shape, and a file has a handful.
    """
    regular: set[bytes] = set()
    irregular: set[bytes] = set()

    def is_odd(shape: bytes, line: bytes) -> bool:
        if shape in regular:
            return False
        if shape not in irregular:
            fits = _judge(line, layout)
            if fits is not None:
                (regular if fits else irregular).add(shape)
            return not fits
        return True

    def find(block: bytes, first: int) -> tuple[list[int], int]:
        shapes = block.removesuffix(b"\n").translate(None, b"0123456789 ,").split(b"\n")
        if regular.issuperset(shapes):
            return [], len(shapes)
        lines = split_lines(block)
        unknown = [place for place, shape in enumerate(shapes) if shape not in regular]
        return [place for place in unknown if is_odd(shapes[place], lines[place])], len(shapes)

    return find


def _judge(line: bytes, layout: _Layout) -> bool | None:
    """Return whether lines of this shape fit the layout; None if this one is broken and says nothing of others."""
    try:
        return b"\\" not in line and layout.fits(_decode(line))
    except BadRecord:
        return None


def _invalid(part: Part, layout: _Layout) -> Find:
    """Lines that are no JSON, such as [1 2] or 01, though their shape is that of a good line."""
    return _where("NOT json_valid(line)", part)


def _trailing_comma(part: Part, layout: _Layout) -> Find:
    """Lines with a comma that nothing follows, which DuckDB takes for JSON."""
    return _where("regexp_matches(line, ',\\s*[}\\]]')", part)


def _where(condition: str, part: Part) -> Find:
    """Lines of a masked file for which a condition of DuckDB holds; none if it cannot read them."""
    import duckdb

    query = (
        f"SELECT {part.first_line - 1} + number FROM (SELECT line, row_number() OVER () AS number FROM read_csv("
        f"{literal(glob_safe(part.path))}, columns = {{line: 'VARCHAR'}}, delim = chr(1), quote = '', escape = '', "
        f"header = false, auto_detect = false, max_line_size = {2 * MAX_LINE_BYTES}, hive_partitioning = false)) "
        f"WHERE {condition}"
    )
    try:
        numbers = {number for (number,) in part.cursor().execute(query).fetchall()}
    except duckdb.Error:
        numbers = set()

    def find(block: bytes, first: int) -> tuple[list[int], int]:
        count = count_lines(block)
        return [place for place in range(count if numbers else 0) if first + place in numbers], count

    return find
