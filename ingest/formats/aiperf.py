"""AIPerf: a record a request, as `aiperf profile` exports them (profile_export.jsonl).

Its inter_token_latency is a mean over a request's tokens, which others call tpot: so it is named. The gaps between chunks
(inter_chunk_latency, a list) are itl. The summary beside it says which model was asked, with which load.
"""

import functools
from collections.abc import Iterator
from typing import Any

from ...warehouse.events import Instant
from ...warehouse.log import Batch
from ..format import Format, Head, Part, Tally
from ..readers.document import BadRecord, Object, decode_companion
from ..readers.json_format import reject_file
from ..readers.results import LONGEST_NAME, Results
from . import _serving

SUMMARY = "profile_export_aiperf.json"
SAMPLES = {  # of one request
    "request_latency": "latency", "time_to_first_token": "ttft", "time_to_second_token": "ttst", "inter_token_latency": "tpot",
    "input_sequence_length": "input_tokens", "output_sequence_length": "output_tokens",
}  # fmt: skip
GAPS = "inter_chunk_latency"
LOAD = ("concurrency", "request_rate", "request_count", "benchmark_duration")


class Aiperf(Format):
    """Requests of AIPerf."""

    name = "aiperf"
    doc = "AIPerf requests in JSON lines (profile_export.jsonl)"
    becomes = "the model is named in profile_export_aiperf.json beside it, else the folder names the case"
    lost = "identifiers of requests, workers and conversations"
    grows = True
    unpacks = True
    places = ("*/profile_export.jsonl", "*/*/profile_export.jsonl")

    def recognise(self, head: Head) -> bool:
        """Whether the first lines are requests with their start and metrics."""
        return {"metadata.request_start_ns", "metadata.benchmark_phase", "metrics"} <= head.paths

    def whole(self, line: bytes) -> bool:
        """Whether the last line ends as it began."""
        return not line.startswith(b"{") or line.rstrip().endswith(b"}")

    def read(self, part: Part, batch: Batch) -> Tally:
        """A request a line."""
        results = Results(part, batch)
        try:
            name, axes = _about(results)
            for at, line in _serving.lines(part):
                results.record(functools.partial(_request, results, line, name, axes), line, at)
        except BadRecord as error:
            reject_file(results, error)
        return results.close()


def _about(results: Results) -> tuple[str, dict[str, Any]]:
    """The case of all requests, by the summary beside the file."""
    try:
        summary = decode_companion(results.part.path.parent, SUMMARY)
    except BadRecord as error:
        results.note(f"the summary beside it does not say what was measured: {error}")
        summary = None
    config = summary.get("input_config") if isinstance(summary, Object) else None
    sections = (
        {key: value for key, value in config.items() if isinstance(value, Object)} if isinstance(config, Object) else {}
    )
    names = sections.get("endpoint", Object()).get("model_names")
    known = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    name = ",".join(known)
    load = sections.get("loadgen", Object())
    axes = {key: _serving.axis_value(load.get(key)) for key in LOAD if isinstance(load.get(key), int | float)}
    return name if 0 < len(name) < LONGEST_NAME else results.part.path.absolute().parent.name or "aiperf", axes


def _request(results: Results, line: str, name: str, axes: dict[str, Any]) -> None:
    record = _serving.object_of(line)
    about, metrics = record.section("metadata"), record.section("metrics")
    start, number = about.get("request_start_ns"), about.get("session_num")
    if type(start) is not int or not 0 <= start < 2**63:
        raise BadRecord("no request_start_ns")
    case = results.case(name, suite="serving", parameters=axes)
    sample = number if type(number) is int and 0 <= number < 2**63 else results.tally.lines
    phase = "warmup" if about.get("benchmark_phase") == "warmup" else "steady"
    moment, error = Instant(start // 1000), record.get("error")
    case.samples(
        [start], "ns", loops=None, metric="start_time", better=None, sample=sample, phase=phase, recorded_at=moment
    )
    if isinstance(error, Object) or about.get("was_cancelled"):
        case.request_outcome(sample, "cancelled" if about.get("was_cancelled") else "errored", phase=phase)
        if isinstance(error, Object):
            case.text("error", error.get("message") or error.get("type"))
    for field, value, unit in _values(metrics):
        if field == GAPS and isinstance(value, list):
            case.samples(value, unit, metric="itl", phase=phase, recorded_at=moment)
            case.samples([len(value)], "count", metric="itl_count", phase=phase, sample=sample)
        elif isinstance(value, list):
            case.text(field, value)
        else:
            tokens = unit == "tokens" or field.endswith(("_count", "_length"))
            better: dict[str, Any] = {} if field in SAMPLES and not tokens else {"better": None}
            case.samples(
                [value],
                unit,
                metric=SAMPLES.get(field, field),
                phase=phase,
                sample=sample,
                recorded_at=moment,
                **better,
            )


def _values(metrics: Object) -> Iterator[tuple[str, Any, str | None]]:
    for field, metric in metrics.items():
        if isinstance(metric, Object):
            unit = metric.get("unit")
            yield field, metric.get("value"), unit if isinstance(unit, str) else None
