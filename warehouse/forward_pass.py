"""Forward pass metrics: what one record of a serving engine's scheduler says of a step, whether read from a file or a socket.

Dynamo (for vLLM, SGLang and TensorRT-LLM) and SGLang write one record a pass. It comes in three forms:

    {"timestamp": …, "event": {"schema": "dynamo.fpm.trace.v1", "capture_mode": …, "observed_at_unix_ms": …, "fpm": PASS}}
    {"received_at_ns": …, "metrics": PASS}    of Dynamo's recorder
    PASS                                      on a ZMQ socket, as msgpack

`step_columns` and `is_step` say what a step is, for two readers that differ in strictness. `read_pass` is lenient, as it follows
a live engine that cannot be asked again: a count that is missing is 0, and unknown fields are kept. The reader of trace files,
`ingest/formats/dynamo_fpm.py`, is strict: a line that lacks a field is rejected, with its reason and its text.

A record has totals and no size of single chunks. Decoding requests count one token each, so speculative tokens are missing.
What `wall_time` spans depends on the engine, which the record does not name; who knows it passes `time_span`.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .events import Instant, Metric, as_json

TRACE_SCHEMA = "dynamo.fpm.trace.v1"
VERSION = 1
LONGEST_NAME = 200  # characters of a worker's; it is stored with every step
MOST = (1 << 63) - 1
MOST_NUMBER = 1e300  # of seconds, or of a variance; milliseconds of it are finite, too
MOST_STREAMS = 10_000  # workers and ranks whose counters are remembered

# engine -> what its `wall_time` spans
TIME_SPANS = {"vllm": "scheduler_interval", "sglang": "cuda", "trtllm": "iteration"}
UNKNOWN_SPAN = "wall_time"  # where nobody says the engine

SCHEDULED = {  # field -> column
    "num_prefill_requests": "prefill",
    "sum_prefill_tokens": "prefill_tokens",
    "sum_prefill_kv_tokens": "prefill_kv_tokens",
    "num_decode_requests": "decode",
    "sum_decode_kv_tokens": "decode_kv_tokens",
}
QUEUED = ("num_prefill_requests", "num_decode_requests")  # waiting
QUEUED_TOKENS = {"sum_prefill_tokens": "queued_prefill_tokens", "sum_decode_kv_tokens": "queued_decode_kv_tokens"}
VARIANCES = {"var_prefill_length": "prefill_length_variance", "var_decode_kv_tokens": "decode_kv_variance"}
QUEUED_VARIANCES = {name: f"queued_{column}" for name, column in VARIANCES.items()}
SOURCE = ("namespace", "component", "producer_id")  # of an envelope: who captured, in `extra`
NAMED_FIELDS = {"version", "worker_id", "dp_rank", "counter_id", "wall_time", "scheduled_requests", "queued_requests"}


def step_columns(work: Mapping[str, int], waiting: int, seconds: float) -> dict[str, Any]:
    """The columns of `schedule_chunks` that follow from the counts of a pass.

    `work` is by the names of SCHEDULED; 0 seconds stand for not measured.
    """
    return {
        **work, "decode_tokens": work["decode"], "total_tokens": work["prefill_tokens"] + work["decode"],
        "running": work["prefill"] + work["decode"], "waiting": waiting,
        "model_run_ms": seconds * 1000 if seconds > 0 else None,
    }  # fmt: skip


def is_step(columns: Mapping[str, Any]) -> bool:
    """Return whether something was scheduled; else it is a heartbeat."""
    return any(columns[name] for name in ("prefill", "decode", "prefill_tokens"))


class BadPass(Exception):
    """A record that is no forward pass; the message is the reason."""


@dataclass(frozen=True, slots=True)
class ForwardPass:
    """One record."""

    worker_id: str
    dp_rank: int
    counter_id: int
    sampled: bool  # passes between records were left out on purpose
    heartbeat: bool  # nothing was scheduled: no step
    columns: dict[str, Any]  # of `schedule_chunks`, those with a value


def read_pass(document: object, *, time_span: str | None = None) -> ForwardPass:
    """Read one record, decoded from JSON or msgpack. `time_span` is what its `wall_time` spans, to store with the step.

    Raises:
        BadPass: It is no forward pass, or of a version that is not known.
    """
    record = _mapping(document, "the record")
    columns: dict[str, Any] = {}
    source: dict[str, str] = {}
    if "event" in record:
        event = _mapping(record["event"], "event")
        if event.get("schema") != TRACE_SCHEMA:
            raise BadPass(f"schema {_short(event.get('schema'))} is not {TRACE_SCHEMA}")
        columns["capture_mode"] = _text(event, "capture_mode")
        source = _texts(event.get("source"), SOURCE)
        if (observed := _whole(event, "observed_at_unix_ms", None)) is not None:
            columns["recorded_at"] = Instant(min(observed * 1000, MOST))
        record = _mapping(event.get("fpm"), "fpm")
    elif "metrics" in record:
        if (received := _whole(record, "received_at_ns", None)) is not None:
            columns["recorded_at"] = Instant(received // 1000)
        record = _mapping(record["metrics"], "metrics")
    if "scheduled_requests" not in record:
        raise BadPass("no scheduled_requests")
    if record.get("version", VERSION) != VERSION:
        raise BadPass(
            f"version {_short(record['version'])} of forward pass metrics; this bench reads version {VERSION}"
        )
    return _pass(record, columns, time_span, source)


def _pass(
    record: Mapping[Any, Any], columns: dict[str, Any], time_span: str | None, source: dict[str, str]
) -> ForwardPass:
    scheduled = _mapping(record["scheduled_requests"], "scheduled_requests")
    queued = _mapping(record.get("queued_requests") or {}, "queued_requests")
    found = {column: _whole(scheduled, name, 0) or 0 for name, column in SCHEDULED.items()}
    worker, rank, counter = _text(record, "worker_id"), _whole(record, "dp_rank", 0), _whole(record, "counter_id", 0)
    waiting = sum(_whole(queued, name, 0) or 0 for name in QUEUED)
    columns |= step_columns(found, waiting, _seconds(record, "wall_time"))
    if max(columns["total_tokens"], columns["running"], waiting) > MOST:
        raise BadPass("its totals are beyond 64 bits")
    columns |= {"worker_id": worker, "dp_rank": rank, "counter_id": counter}
    columns["time_span"] = time_span
    left = {
        "scheduled_requests": _take(scheduled, SCHEDULED, {}, VARIANCES, columns),
        "queued_requests": _take(queued, QUEUED, QUEUED_TOKENS, QUEUED_VARIANCES, columns),
    }
    unknown = {str(name): value for name, value in record.items() if name not in NAMED_FIELDS}
    extra = {**unknown, **{name: fields for name, fields in left.items() if fields}, **source}
    columns["extra"] = _as_json(extra) if extra else None
    return ForwardPass(
        worker_id=worker or "",
        dp_rank=rank or 0,
        counter_id=counter or 0,
        sampled=columns.get("capture_mode") == "sampled",
        heartbeat=not is_step(columns),
        columns={name: value for name, value in columns.items() if value is not None},
    )


def _take(
    part: Mapping[Any, Any],
    counts: Collection[str],
    tokens: Mapping[str, str],
    variances: Mapping[str, str],
    columns: dict[str, Any],
) -> dict[str, Any]:
    """Put tokens and variances into their columns; what has no column and is not 0 is left, and what is no such number."""
    left = {}
    for name, value in part.items():
        is_whole = type(value) is int and 0 <= value <= MOST
        if name in tokens and is_whole:
            columns[tokens[name]] = value
        elif name in variances and (is_whole or (type(value) is float and 0 <= value < MOST_NUMBER)):
            columns[variances[name]] = float(value)
        elif name not in counts and value:
            left[str(name)] = value
    return left


def _texts(record: object, names: Iterable[str]) -> dict[str, str]:
    given = record if isinstance(record, Mapping) else {}
    return {name: value for name in names if isinstance(value := given.get(name), str)}


def _as_json(extra: dict[str, Any]) -> str:
    try:
        return as_json(extra)
    except (TypeError, RecursionError):  # msgpack has keys that JSON has no word for
        return as_json({name: repr(value) for name, value in extra.items()})


def _mapping(value: object, name: str) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise BadPass(f"{name} is not an object")
    return value


def _whole(record: Mapping[Any, Any], name: str, default: int | None) -> int | None:
    value = record.get(name, default)
    if value is not default and (type(value) is not int or not 0 <= value <= MOST):
        raise BadPass(f"{name} is {_short(value)}, no whole number from 0 to 2^63")
    return value


def _seconds(record: Mapping[Any, Any], name: str) -> float:
    value = record.get(name, 0.0)
    if type(value) not in (int, float) or not 0 <= value < MOST_NUMBER:
        raise BadPass(f"{name} is {_short(value)}, no number of seconds")
    return float(value)


def _text(record: Mapping[Any, Any], name: str) -> str | None:
    value = record.get(name)
    if value is not None and (not isinstance(value, str) or len(value) > LONGEST_NAME):
        raise BadPass(f"{name} is {_short(value)}, no text of up to {LONGEST_NAME} characters")
    return value


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


@dataclass(slots=True)
class HeartbeatCount:
    """Heartbeats of one worker and rank, and the smallest and largest counter heard with them."""

    heartbeats: int = 0
    first: int | None = None
    last: int | None = None

    def see(self, first: int | None, last: int | None, heartbeats: int) -> None:
        """Count some more."""
        self.heartbeats += heartbeats
        self.first = min((value for value in (self.first, first) if value is not None), default=None)
        self.last = max((value for value in (self.last, last) if value is not None), default=None)

    def metric(self, run_id: str, worker_id: str | None, dp_rank: int | None, **about: Any) -> Metric:
        """The event that `step_captures` reads."""
        counters = {"worker_id": worker_id, "dp_rank": dp_rank, "first": self.first, "last": self.last}
        return Metric(
            run_id=run_id, metric="heartbeats", value=float(self.heartbeats), unit="count",
            original_value=json.dumps(counters, ensure_ascii=False), **about,
        )  # fmt: skip


@dataclass(slots=True)
class PassCounters:
    """Counts the passes that are missing between records, by the counter of each worker and rank."""

    missing: int = 0  # records lost on their way
    restarts: int = 0  # times a counter went back, as that of a worker which was started again does
    _last: dict[tuple[str, int], int] = field(default_factory=dict)

    def see(self, record: ForwardPass) -> None:
        """Count one record, heartbeats too, in the order of arrival. Those of a sampled capture leave gaps on purpose."""
        key = record.worker_id, record.dp_rank
        last = self._last.get(key)
        if last is not None and record.counter_id <= last:
            self.restarts += 1
        elif last is not None and not record.sampled:
            self.missing += record.counter_id - last - 1
        if last is not None or len(self._last) < MOST_STREAMS:
            self._last[key] = record.counter_id
