"""Every event bench records: the one place where tables, columns, units and meanings are declared.

Arrow schemas, DuckDB tables, column comments, journal records and docs all derive from these dataclasses.
A field's type says how it is stored:

    str VARCHAR · int BIGINT · float DOUBLE · bool BOOLEAN · list[int] BIGINT[] · list[str] VARCHAR[]
    Json JSON text · Instant TIMESTAMP (UTC; microseconds since 1970 in Python)

Adding a nullable field is always allowed. Nothing is renamed or re-typed. A change of meaning raises VERSION, adds a
line of history beside it, and brings the function that upgrades older files with it.

This file is long because all tables are declared in one place.
"""

import dataclasses
import functools
import json
import math
import types
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NewType, Union, get_args, get_origin

Json = NewType("Json", str)
Instant = NewType("Instant", int)


LARGEST = 1e150  # a value of this or more is in no cell: its square is beyond double precision


def as_json(value: Any) -> Json:
    """A value as strict JSON: what JSON or UTF-8 has no word for (NaN, a lone surrogate, an object) as text."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, default=str)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False, sort_keys=True, default=str)
    return Json(text.encode("utf-8", "surrogatepass").decode("utf-8", "replace"))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True, slots=True)
class Column:
    """The meaning of a field, and its unit if it has one."""

    doc: str
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """One column of one table, as declared."""

    name: str
    type: Any  # str, int, float, bool, Json, Instant, list[int] or list[str]
    nullable: bool
    doc: str
    unit: str | None


class Event:
    """Base of all events."""

    TABLE: ClassVar[str]
    VERSION: ClassVar[int] = 1
    DOC: ClassVar[str]

    @classmethod
    @functools.cache
    def fields(cls) -> tuple[Field, ...]:
        """The columns in declared order."""
        return tuple(_field(field.name, field.type) for field in dataclasses.fields(cls))  # type: ignore[arg-type]


def _field(name: str, hint: Any) -> Field:
    annotated, column = get_args(hint)
    options = get_args(annotated) if get_origin(annotated) in (Union, types.UnionType) else (annotated,)
    kinds = [option for option in options if option is not type(None)]
    if len(kinds) != 1 or not isinstance(column, Column):
        raise TypeError(f"field {name}: want Annotated[TYPE or TYPE | None, Column(...)], got {hint}")
    return Field(name, kinds[0], len(options) > 1, column.doc, column.unit)


# Columns that several tables share mean the same in each.
RunId = Annotated[str, Column("Run this belongs to: UUIDv7, or for an import a UUID derived from its content.")]
CaseId = Annotated[str, Column("Case this belongs to: hash of the case's axes, the same in every run.")]
OptionalCaseId = Annotated[str | None, Column("Case this belongs to; NULL when it concerns the run as a whole.")]
SourceId = Annotated[str | None, Column("Imported file this came from; NULL for bench's own measurements.")]
Line = Annotated[int | None, Column("Line (or record) in that file, from 1; for own events the order of emission.")]
RecordedAt = Annotated[Instant | None, Column("Wall clock when it was recorded; NULL where an import does not say.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord(Event):
    """One invocation that measured, or one imported result set."""

    TABLE = "runs"
    DOC = "invocation that measured, or imported result set"

    run_id: RunId
    config: Annotated[str, Column("Label that runs of the same setting share, and charts compare by.")]
    source: Annotated[str, Column("What produced it: 'api', 'measure', or the name of the imported format.")]
    suite: Annotated[str | None, Column("Set of workloads this run was about.")] = None
    command: Annotated[str | None, Column("Command line that produced it.")] = None
    started_at: Annotated[Instant | None, Column("When the run began; NULL where an import does not say.")] = None
    git_commit: Annotated[str | None, Column("Commit of the measured code.")] = None
    git_branch: Annotated[str | None, Column("Branch of the measured code.")] = None
    git_dirty: Annotated[bool | None, Column("Whether the working tree differed from that commit.")] = None
    host: Annotated[str | None, Column("Machine that measured.")] = None
    environment_id: Annotated[str | None, Column("Environment it ran in.")] = None
    tags: Annotated[Json | None, Column("Labels given by the user, as a JSON object.")] = None
    bench_version: Annotated[str | None, Column("Version of bench that recorded it.")] = None
    settings: Annotated[Json | None, Column("How it measured (precision, budget, seed …), as a JSON object.")] = None
    options: Annotated[
        Json | None,
        Column("Options of the command that measured it, as a JSON list: the view run_options has its rows."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment(Event):
    """A machine and its software, named by the hash of this description."""

    TABLE = "environments"
    DOC = "machine and software description"

    environment_id: Annotated[str, Column("Hash of all the other columns.")]
    cpu: Annotated[str | None, Column("Processor model.")] = None
    logical_cores: Annotated[int | None, Column("Processors the scheduler sees.", unit="count")] = None
    physical_cores: Annotated[int | None, Column("Cores without hyper-threads.", unit="count")] = None
    governor: Annotated[str | None, Column("CPU frequency governor.")] = None
    ram_bytes: Annotated[int | None, Column("Main memory.", unit="bytes")] = None
    gpus: Annotated[list[str] | None, Column("GPU names, in device order.")] = None
    driver: Annotated[str | None, Column("GPU driver version.")] = None
    os: Annotated[str | None, Column("Operating system and kernel release.")] = None
    architecture: Annotated[str | None, Column("Machine architecture, such as x86_64.")] = None
    python: Annotated[str | None, Column("Python version.")] = None
    torch: Annotated[str | None, Column("PyTorch version.")] = None
    packages: Annotated[
        Json | None, Column("Versions of what models are made of and compiled with, as a JSON object.")
    ] = None
    flags: Annotated[Json | None, Column("Compiler and dynamo/inductor settings, as a JSON object.")] = None
    variables: Annotated[Json | None, Column("Environment variables that change speed, as a JSON object.")] = None
    extra: Annotated[Json | None, Column("What else was known, as a JSON object.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRecord(Event):
    """One cell of a plan, announced before it is measured."""

    TABLE = "cases"
    DOC = "cell of a plan, in one run"

    run_id: RunId
    case_id: CaseId
    name: Annotated[str, Column("Model, function, command or benchmark.")]
    suite: Annotated[str | None, Column("Set the workload belongs to, such as builtin, huggingface, torchbench.")] = (
        None
    )
    mode: Annotated[str | None, Column("inference or training.")] = None
    device: Annotated[str | None, Column("cpu, cuda, xpu, mps …")] = None
    dtype: Annotated[str | None, Column("float32, bfloat16, amp …")] = None
    backend: Annotated[str | None, Column("Compiler or implementation: eager, inductor …")] = None
    batch_size: Annotated[int | None, Column("Samples in one batch.", unit="count")] = None
    sequence_length: Annotated[int | None, Column("Tokens in one sequence.", unit="count")] = None
    parameters: Annotated[Json | None, Column("Further axes, as a JSON object.")] = None
    work_hash: Annotated[
        str | None, Column("Hash of what is computed, whoever computes it: all axes but the backend.")
    ] = None
    recorded_at: RecordedAt = None
    source_id: SourceId = None
    line: Line = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(Event):
    """The end of a case, or of the run if it names no case."""

    TABLE = "outcomes"
    DOC = "end of a case, or of a run as a whole"

    run_id: RunId
    case_id: OptionalCaseId = None
    kind: Annotated[str, Column("What was judged: 'performance' or 'accuracy'.")] = "performance"
    status: Annotated[str, Column("ok, pass, fail_to_run, fail_accuracy, OOM, timeout, skipped, interrupted …")]
    reason: Annotated[str | None, Column("Why, in one line.")] = None
    phase: Annotated[str | None, Column("Phase reached: load, reference, cold, compile, warmup, steady.")] = None
    exit_code: Annotated[int | None, Column("Exit code of the worker process.")] = None
    signal: Annotated[int | None, Column("Signal that ended the worker process.")] = None
    exception: Annotated[str | None, Column("Exception type.")] = None
    message: Annotated[str | None, Column("Exception text.")] = None
    stderr_tail: Annotated[str | None, Column("Last lines the worker wrote to stderr.")] = None
    recorded_at: RecordedAt = None
    source_id: SourceId = None
    line: Line = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing(Event):
    """One timed sample: `loops` calls that together took `duration_ns`."""

    TABLE = "timings"
    DOC = "timed sample"

    run_id: RunId
    case_id: CaseId
    metric: Annotated[str, Column("What was timed; 'latency' unless said otherwise.")] = "latency"
    phase: Annotated[str, Column("cold, compile, warmup or steady.")] = "steady"
    loops: Annotated[int, Column("Calls in this sample; duration_ns / loops is the time of one.", unit="count")] = 1
    duration_ns: Annotated[int, Column("Monotonic-clock duration of all loops together.", unit="ns")]
    sample: Annotated[int | None, Column("Number of the sample within its case, from 0.")] = None
    block: Annotated[
        int | None,
        Column(
            "Block of interleaved sides it belongs to, from 0; of an import the process, fork or repetition that it was"
            " measured in: samples of one block share its noise, and blocks are the level between sample and run."
        ),
    ] = None
    position: Annotated[int | None, Column("Place of this side within its block, from 0.")] = None
    process: Annotated[int | None, Column("Worker process within the run, from 0.")] = None
    recorded_at: RecordedAt = None
    device_ns: Annotated[int | None, Column("Duration by the device's own clock (CUDA events).", unit="ns")] = None
    voluntary_switches: Annotated[int | None, Column("Context switches the process asked for.", unit="count")] = None
    involuntary_switches: Annotated[int | None, Column("Context switches forced on it.", unit="count")] = None
    minor_faults: Annotated[int | None, Column("Page faults without input or output.", unit="count")] = None
    major_faults: Annotated[int | None, Column("Page faults that read the disk.", unit="count")] = None
    steal_ns: Annotated[int | None, Column("Time the hypervisor took away, all processors.", unit="ns")] = None
    gc_collections: Annotated[int | None, Column("Garbage collections.", unit="count")] = None
    throttled: Annotated[
        int | None, Column("What slowed the GPU meanwhile, as the bits of NVML's reasons; 0 nothing, NULL unknown.")
    ] = None
    began_ns: Annotated[int | None, Column("When a span of a trace began, on the clock of the trace.", unit="ns")] = (
        None
    )
    lane: Annotated[str | None, Column("Thread, or GPU, that a span of a trace ran on.")] = None
    source_id: SourceId = None
    line: Line = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySample(Event):
    """One reading, or one peak, of memory."""

    TABLE = "memory_samples"
    DOC = "reading or peak of memory"

    run_id: RunId
    case_id: OptionalCaseId = None
    source: Annotated[str, Column("rss, cuda_allocated, cuda_reserved, nvml …")]
    size_bytes: Annotated[int, Column("Memory in use.", unit="bytes")]
    statistic: Annotated[str, Column("'peak' over the phase, or 'reading' at one instant.")] = "peak"
    phase: Annotated[str | None, Column("cold, compile, warmup, steady.")] = None
    error_bound_bytes: Annotated[
        int | None, Column("How far below the truth it may lie; NULL unknown.", unit="bytes")
    ] = None
    device_index: Annotated[int | None, Column("GPU it was read from.")] = None
    place: Annotated[str | None, Column("Source line that had run, as FILE:LINE; NULL if unknown.")] = None
    recorded_at: RecordedAt = None
    source_id: SourceId = None
    line: Line = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLine(Event):
    """One source line of a traced program."""

    TABLE = "memory_lines"
    DOC = "source line of a traced program"

    run_id: RunId
    case_id: OptionalCaseId = None
    file: Annotated[str, Column("Source file.")]
    line: Annotated[int, Column("Line in the source file, from 1.")]
    function: Annotated[str | None, Column("Function the line belongs to.")] = None
    text: Annotated[str | None, Column("Source text of the line.")] = None
    hits: Annotated[int, Column("Times the line ran.", unit="count")]
    start_bytes: Annotated[int, Column("Memory before the line, at its largest peak.", unit="bytes")]
    peak_bytes: Annotated[int, Column("Highest memory while the line ran, and what it called.", unit="bytes")]
    end_bytes: Annotated[int, Column("Memory after the line, at its largest peak.", unit="bytes")]
    transient_bytes: Annotated[
        int | None, Column("Most that a run of it took and gave back: peak above both start and end.", unit="bytes")
    ] = None
    increase_bytes: Annotated[
        int | None,
        Column("Sum of what memory rose by at the line, outside other traced lines it called.", unit="bytes"),
    ] = None
    decrease_bytes: Annotated[int | None, Column("Sum of what memory fell by there, not negative.", unit="bytes")] = (
        None
    )
    source: Annotated[str | None, Column("Memory it is about: rss, cuda_allocated …; NULL means rss.")] = None
    device_index: Annotated[int | None, Column("GPU it was read from.")] = None
    error_bound_bytes: Annotated[
        int | None, Column("How far below the truth each of them may lie; NULL unknown.", unit="bytes")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleChunk(Event):
    """One step of an LLM server's scheduler."""

    TABLE = "schedule_chunks"
    DOC = "scheduler step"

    run_id: RunId
    chunk_sizes: Annotated[
        list[int] | None, Column("Tokens scheduled for each request in this step.", unit="tokens")
    ] = None
    batch_id: Annotated[int | None, Column("Number of the step as its writer counts it.")] = None
    total_tokens: Annotated[int | None, Column("Tokens scheduled, as the writer says.", unit="tokens")] = None
    schedule_ms: Annotated[float | None, Column("Time the scheduler took.", unit="ms")] = None
    model_run_ms: Annotated[float | None, Column("Time the model took.", unit="ms")] = None
    step_ms: Annotated[float | None, Column("Time the whole step took.", unit="ms")] = None
    waiting: Annotated[int | None, Column("Requests in the waiting queue.", unit="count")] = None
    running: Annotated[int | None, Column("Requests being served.", unit="count")] = None
    prefill: Annotated[int | None, Column("Requests in prefill.", unit="count")] = None
    decode: Annotated[int | None, Column("Requests in decode.", unit="count")] = None
    prefill_chunk_sizes: Annotated[list[int] | None, Column("Tokens of each prefill chunk.", unit="tokens")] = None
    decode_chunk_sizes: Annotated[list[int] | None, Column("Tokens of each decode chunk.", unit="tokens")] = None
    computed_tokens: Annotated[list[int] | None, Column("Tokens of each request computed before.", unit="tokens")] = (
        None
    )
    cached_tokens: Annotated[list[int] | None, Column("Tokens of each request found in cache.", unit="tokens")] = None
    token_budget: Annotated[int | None, Column("Most tokens one step may schedule.", unit="tokens")] = None
    kv_cache_usage: Annotated[float | None, Column("Share of the KV cache in use, 0 to 1.", unit="ratio")] = None
    clock_s: Annotated[float | None, Column("Writer's clock, of any origin; differences are meaningful.", unit="s")] = (
        None
    )
    recorded_at: RecordedAt = None
    writer: Annotated[str | None, Column("Process or file that wrote the step; steps are numbered within it.")] = None
    source_id: SourceId = None
    line: Line = None
    extra: Annotated[Json | None, Column("Fields of the record that have no column, as a JSON object.")] = None
    prefill_tokens: Annotated[
        int | None, Column("Prompt tokens computed in this step, where no chunk sizes say so.", unit="tokens")
    ] = None
    decode_tokens: Annotated[
        int | None,
        Column("Tokens generated in this step: one a decoding request, unless decoding is speculative.", unit="tokens"),
    ] = None
    prefill_kv_tokens: Annotated[
        int | None, Column("KV-cache tokens that the requests in prefill hold before the step.", unit="tokens")
    ] = None
    decode_kv_tokens: Annotated[
        int | None, Column("KV-cache tokens that the requests in decode hold before the step.", unit="tokens")
    ] = None
    worker_id: Annotated[str | None, Column("Engine that ran the step, among those of one deployment.")] = None
    dp_rank: Annotated[int | None, Column("Data-parallel rank within the engine, from 0.")] = None
    counter_id: Annotated[
        int | None, Column("Number of the pass as worker and rank count it; a gap is a pass that was lost.")
    ] = None
    capture_mode: Annotated[str | None, Column("full: every step was recorded; sampled: some; NULL: full.")] = None
    time_span: Annotated[
        str | None,
        Column("What model_run_ms spans: 'model' (NULL too), 'cuda', 'scheduler_interval', 'schedule_to_output' …"),
    ] = None
    prefill_length_variance: Annotated[
        float | None, Column("Variance of the prompt lengths of the requests in prefill.", unit="tokens²")
    ] = None
    decode_kv_variance: Annotated[
        float | None, Column("Variance of the KV-cache tokens that the requests in decode hold.", unit="tokens²")
    ] = None
    queued_prefill_tokens: Annotated[
        int | None, Column("Prompt tokens of the requests that wait for prefill.", unit="tokens")
    ] = None
    queued_decode_kv_tokens: Annotated[
        int | None, Column("KV-cache tokens that the requests which wait for decode hold.", unit="tokens")
    ] = None
    queued_prefill_length_variance: Annotated[
        float | None, Column("Variance of the prompt lengths of the requests that wait for prefill.", unit="tokens²")
    ] = None
    queued_decode_kv_variance: Annotated[
        float | None,
        Column("Variance of the KV-cache tokens that the requests which wait for decode hold.", unit="tokens²"),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric(Event):
    """Any other scalar of a case or a run."""

    TABLE = "metrics"
    DOC = "scalar of a case or of a run"

    run_id: RunId
    case_id: OptionalCaseId = None
    metric: Annotated[str, Column("Name, such as compile_latency, graph_breaks, speedup.")]
    value: Annotated[
        float | None, Column("Value in `unit`; durations are in ns, sizes in bytes; 1e150 and more is in no cell.")
    ]
    unit: Annotated[str | None, Column("Unit of the value: ns, bytes, ratio, count, tokens/s …")] = None
    better: Annotated[str | None, Column("'higher', 'lower', or NULL where neither is better.")] = None
    statistic: Annotated[str | None, Column("Aggregate it is: min, mean, median, p99 …; NULL for one observation.")] = (
        None
    )
    phase: Annotated[str | None, Column("cold, compile, warmup, steady.")] = None
    original_value: Annotated[str | None, Column("The text it was read from, where it was converted.")] = None
    original_unit: Annotated[str | None, Column("The unit it was read in, where it was converted.")] = None
    recorded_at: RecordedAt = None
    source_id: SourceId = None
    line: Line = None
    sample: Annotated[
        int | None, Column("Number of the sample within its case, as in timings; NULL for an aggregate.")
    ] = None
    block: Annotated[
        int | None, Column("Process, fork or repetition it was measured in, as in timings; NULL if unknown.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Event):
    """One imported file, or one further part of a file that grows, and its accounting."""

    TABLE = "sources"
    DOC = "imported file, or part of one that grew"

    source_id: Annotated[str, Column("Hash of the first part's content and the config.")]
    part: Annotated[int, Column("0 for the first load of a file, then counting its growths.")] = 0
    run_id: RunId
    config: Annotated[str, Column("Config it was loaded as.")]
    path: Annotated[str, Column("Path as given when it was loaded.")]
    name: Annotated[str, Column("File name, by which the files of a run are ordered.")]
    format: Annotated[str, Column("Format it was recognised as.")]
    start_byte: Annotated[int, Column("Where this part begins.", unit="bytes")] = 0
    end_byte: Annotated[int, Column("Where this part ends.", unit="bytes")]
    sha256: Annotated[str, Column("SHA-256 of the file from its beginning to end_byte.")]
    head_sha256: Annotated[str, Column("SHA-256 of the first line, by which a grown file is known again.")]
    first_line: Annotated[int, Column("Number of this part's first line, from 1.")] = 1
    lines: Annotated[int, Column("Lines (or records) in this part.", unit="count")]
    loaded: Annotated[int, Column("Lines that became events.", unit="count")]
    rejected: Annotated[int, Column("Lines that could not be read; see rejects.", unit="count")] = 0
    known: Annotated[int | None, Column("Lines that are in the store already, from elsewhere.", unit="count")] = None
    left_out: Annotated[
        int | None, Column("Lines that are no record, such as those no pattern matches.", unit="count")
    ] = None
    without_rows: Annotated[
        int | None,
        Column(
            "Of the loaded lines, those without a row of their own: they describe the run, or share it.", unit="count"
        ),
    ] = None
    notes: Annotated[Json | None, Column("What else the reader had to say, as a JSON list of sentences.")] = None
    said_day: Annotated[
        str | None,
        Column("Day that its name or --set says, where the file does not; of another day, equal bytes are new."),
    ] = None
    said_commit: Annotated[str | None, Column("Commit that --set says, where the file does not; likewise.")] = None
    recorded_at: RecordedAt = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject(Event):
    """One record that could not be read."""

    TABLE = "rejects"
    DOC = "record that could not be read"

    source_id: Annotated[str, Column("Imported file it stands in.")]
    run_id: RunId
    line: Annotated[int, Column("Line (or record) in that file, from 1.")]
    reason: Annotated[str, Column("Why it could not be read.")]
    text: Annotated[str | None, Column("The record itself; bytes that are no UTF-8 stand as \\xNN.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedRun(Event):
    """One run that was moved into another store. It may have come back since: then it is among `runs`, too."""

    TABLE = "archived_runs"
    DOC = "run that was moved into another store"

    run_id: RunId
    config: Annotated[str, Column("Config it belongs to.")]
    source: Annotated[str | None, Column("What produced it: api, measure, or the format imported.")] = None
    suite: Annotated[str | None, Column("Set of workloads it was about.")] = None
    git_commit: Annotated[str | None, Column("Commit of the measured code.")] = None
    began_at: Annotated[Instant | None, Column("When it began.")] = None
    archive: Annotated[str, Column("Store it was moved to: folder or address.")]
    archived_at: Annotated[Instant | None, Column("When it was moved.")] = None
    files: Annotated[list[str] | None, Column("Names of the event files that hold it there.")] = None
    imported: Annotated[
        Json | None, Column("Its imported files, so that none is loaded twice: a JSON list of lists.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChange(Event):
    """One change that a user made to a run afterwards. The newest of a kind counts, but a run that was dropped stays so."""

    TABLE = "run_changes"
    DOC = "change of a run afterwards: forgotten, remembered, dropped, renamed, tagged"

    run_id: RunId
    change_id: Annotated[str, Column("Change it is part of: UUIDv7, the same for all runs that one command changed.")]
    action: Annotated[str, Column("forget, remember, drop (its events are gone for good), rename, tag or untag.")]
    key: Annotated[str | None, Column("Of tag and untag: the label's name.")] = None
    value: Annotated[str | None, Column("Of rename: the new config; of tag: the label's value.")] = None
    changed_at: Annotated[Instant, Column("When it was changed.")]
    reason: Annotated[str | None, Column("Why, as the user said.")] = None
    config: Annotated[str | None, Column("Of forget: the config it belonged to.")] = None
    source: Annotated[str | None, Column("Of forget: what produced it.")] = None
    suite: Annotated[str | None, Column("Of forget: the set of workloads it was about.")] = None
    git_commit: Annotated[str | None, Column("Of forget: the commit of the measured code.")] = None
    began_at: Annotated[Instant | None, Column("Of forget: when the run began.")] = None
    files: Annotated[list[str] | None, Column("Of forget: paths of the files it was imported from.")] = None
    imported: Annotated[
        Json | None, Column("Of forget: its imported files, so that none is loaded again: a JSON list of lists.")
    ] = None


# How a case may end, as recording says it; what other tools say is kept in their words.
STATUSES = (
    "ok", "pass", "pass_due_to_skip", "skipped", "fail_to_run", "fail_accuracy", "OOM", "timeout", "interrupted", "failed",
    "error", "killed", "crashed", "infra_error", "warning", "unknown", "model_fail_to_load", "eager_1st_run_fail",
    "eager_1st_run_OOM", "eager_2nd_run_fail", "eager_2nd_run_OOM", "eager_two_runs_differ", "fp64_OOM",
    "both_nan",
)  # fmt: skip

EVENTS: tuple[type[Event], ...] = (
    RunRecord, Environment, CaseRecord, Outcome, Timing, MemorySample, MemoryLine, ScheduleChunk, Metric, Source, Reject,
    ArchivedRun, RunChange,
)  # fmt: skip
TABLES: dict[str, type[Event]] = {event.TABLE: event for event in EVENTS}
