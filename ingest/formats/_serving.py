"""Metrics of LLM serving benchmarks, with the same names for all tools.

- latency: from sending a request to its last token; ttft: to its first token; ttst: from its first to its second.
- itl: between two tokens (chunks) of a response; tpot: its mean over a response; time_per_output_token: latency over the
  number of tokens, the first included.
- request_throughput, input_throughput, output_throughput, total_throughput: of the whole benchmark, a second.

Requests are samples of one case with suite='serving'. The table `requests` puts the samples of one request together by
`sample`, the number of the request: within its case and run for own recordings; for an import within a case and record (line)
of a file. All samples of a request have that number, timings and metrics alike:

| samples of a request | stored as | in `requests` |
|---|---|---|
| latency, ttft, tpot | timings (ns, loops 1), or metrics of unit ns | e2e_ms, ttft_ms, tpot_ms |
| input_tokens, output_tokens | metrics, unit tokens, better NULL, statistic NULL | tokens_in, tokens_out |
| start_time | metrics, unit ns, better NULL: any origin, only differences count; else recorded_at | arrival_s |
| request_outcome | metrics without a value, original_value the text; only of requests that did not complete | outcome |

A request that did not complete has no latency, ttft, tpot and output_tokens (or has them as metrics with value NULL), and says
why in request_outcome: errored, cancelled, incomplete; else it counts as errored. tpot that no sample tells is
(e2e - ttft) / (tokens_out - 1), NULL where there is one token. Gaps (itl) are numbered through all requests of a record, in order
of these; itl_count (metrics, unit count, one a request) says how many are of each. The duration of a benchmark is the metric
benchmark_duration (ns, statistic NULL); without it, it is from the first arrival to the last end.
"""

import functools
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from ...warehouse.events import Instant
from ..format import Part
from ..readers.document import BadRecord, Object, decode, repeated_key
from ..readers.lazy_lists import count_in, records_in
from ..readers.results import Results, Subject, number
from ..readers.settings import settings_of
from ..readers.text_pieces import numbered_lines

METRICS = {
    "e2el": "latency", "e2e_latency": "latency", "request_latency": "latency", "end_to_end_latency": "latency",
    "time_to_first_token": "ttft", "time_to_second_token": "ttst",
    "inter_token_latency": "itl", "total_token_throughput": "total_throughput", "requests_per_second": "request_throughput",
    "tokens_per_second": "total_throughput", "output_tokens_per_second": "output_throughput",
    "output_token_throughput": "output_throughput",
    "input_sequence_length": "input_tokens", "output_sequence_length": "output_tokens",
    "number_input_tokens": "input_tokens", "number_output_tokens": "output_tokens",
    "prompt_tokens_per_second": "input_throughput", "request_concurrency": "concurrency", "prompt_tokens": "input_tokens",
    "prompt_token_count": "input_tokens", "output_token_count": "output_tokens", "total_token_count": "total_tokens",
}  # fmt: skip
STATISTICS = {"avg": "mean", "average": "mean", "std": "stddev", "std_dev": "stddev", "stdev": "stddev"}
AGGREGATE = re.compile(r"(mean|median|std|min|max|p\d+(?:\.\d+)?)_(\w+?)_(ms|s)")  # p99_ttft_ms
PLAIN: dict[str, tuple[str, str | None, str | None]] = {  # metric, unit, statistic
    "duration": ("benchmark_duration", "s", None),
    "elapsed_time": ("benchmark_duration", "s", None),
    "request_throughput": ("request_throughput", "requests/s", None),
    "requests_per_second": ("request_throughput", "requests/s", None),
    "request_goodput": ("request_goodput", "requests/s", None),
    "input_throughput": ("input_throughput", "tokens/s", None),
    "output_throughput": ("output_throughput", "tokens/s", None),
    "output_throughput_retokenized": ("output_throughput_retokenized", "tokens/s", None),
    "total_throughput": ("total_throughput", "tokens/s", None),
    "total_throughput_retokenized": ("total_throughput_retokenized", "tokens/s", None),
    "total_token_throughput": ("total_throughput", "tokens/s", None),
    "tokens_per_second": ("total_throughput", "tokens/s", None),
    "max_output_tokens_per_s": ("output_throughput", "tokens/s", "max"),
    "max_concurrent_requests": ("concurrency", "count", "max"),
    "concurrency": ("concurrency", "count", "mean"),
    "total_input_tokens": ("total_input_tokens", "tokens", None),
    "total_output_tokens": ("total_output_tokens", "tokens", None),
    "total_input_text_tokens": ("total_input_text_tokens", "tokens", None),
    "total_input_vision_tokens": ("total_input_vision_tokens", "tokens", None),
    "total_output_tokens_retokenized": ("total_output_tokens_retokenized", "tokens", None),
    "total_num_tokens": ("total_tokens", "tokens", None),
    "rtfx": ("rtfx", "ratio", None),
    "completed": ("completed", "count", None),
    "failed": ("failed", "count", None),
    "num_requests": ("completed", "count", None),
}
REQUESTS = {  # lists with an entry a request: metric, unit, and whether a request that failed has one
    "ttfts": ("ttft", "s", False), "latencies": ("latency", "s", False), "queue_times": ("client_queue_time", "s", True),
    "input_lens": ("input_tokens", "tokens", True), "output_lens": ("output_tokens", "tokens", False),
}  # fmt: skip
SECRETS = {"api_key", "admin_api_key", "authorization", "header", "headers", "password", "hf_token"}
SECRET = re.compile(r'("\w*(?:api_key|password|hf_token)"\s*:\s*)"[^"]*"?')
TOGETHER = 10_000  # gaps between tokens that are samples of one kind: one too short to be whole ns makes metrics of all
MOST_REASONS = 3


def statistic(name: str) -> str:
    """An aggregate by the name it has in our tables."""
    return STATISTICS.get(name, name)


def lines(part: Part) -> Iterator[tuple[int, str]]:
    """The lines of a part as text, with their numbers; bytes that are no UTF-8 stand as \\xNN.

    Raises:
        BadRecord: As `numbered_lines` does.
    """
    for at, line in numbered_lines(part):
        text = line.removesuffix(b"\r").decode("utf-8", "backslashreplace")
        yield at, text.removeprefix("\ufeff") if at == 1 else text


def read_line(results: Results, read: Callable[[], None], line: str, at: int) -> None:
    """Account for one line: `read` gives its events; a blank one is no record."""
    if line.strip():
        results.record(read, functools.partial(masked, line), at)
    else:
        results.leave_out(1)


def object_of(line: str) -> Object:
    """The JSON object a line is.

    Raises:
        BadRecord: It is none, or repeats a key, so that nobody can say which value was meant.
    """
    record = decode(line)
    if not isinstance(record, Object):
        raise BadRecord("not an object")
    if (key := repeated_key(record)) is not None:
        raise BadRecord(f"repeats the key {key!r}")
    return record


def aggregates(case: Subject, record: Object) -> None:
    """Add every field that is an aggregate by its name, such as p99_ttft_ms, or a number of the benchmark as a whole.

    Where no request completed, or all statistics of a latency are 0, a tool has measured nothing: such fields are left.
    """
    for field in list(record):
        match = AGGREGATE.fullmatch(field) if len(field) < 100 else None
        if is_void(record, field):
            continue
        if field in PLAIN:
            metric, unit, kind = PLAIN[field]
            case.metric(metric, record.take(field), unit, statistic=kind, **_direction(unit, metric))
        elif match is not None and number(record[field]) is not None:
            kind, metric = statistic(match[1]), METRICS.get(match[2], match[2])
            case.metric(metric, record.take(field), match[3], statistic=kind)


def is_void(record: Object, field: str) -> bool:
    """True for a 0 that means "not measured": no request completed, or the latency is 0 throughout."""
    match = AGGREGATE.fullmatch(field[:100])
    if record.get("completed") == 0 and ("throughput" in field or match is not None):
        return True
    if match is None or record[field] != 0:
        return False
    same = (other for other in record if (found := AGGREGATE.fullmatch(other[:100])) and found[2] == match[2])
    return all(record[other] == 0 for other in same)


def tokens(record: Object) -> dict[str, Any]:
    """Tokens of a request, by the totals of a benchmark, as axes: of its prompt and of its response.

    Where all requests have the same length, the mean is whole, and is the length. Other means vary a little from run to run, so
    the axis is the nearest power of two, as in ~1024; so is a mean of responses that is whole by chance, being no round number.
    """
    completed, axes = number(record.get("completed")), dict[str, Any]()
    for axis in ("input_tokens", "output_tokens") if completed else ():
        total = number(record.get(f"total_{axis}"))
        if total and completed and total > 0:
            axes[axis] = length(total / completed, response=axis == "output_tokens")
    return axes


def setup(case: Subject, record: Object) -> None:
    """Tell the mean lengths of prompts, which an axis may say roughly."""
    completed, total = number(record.get("completed")), number(record.get("total_input_tokens"))
    if completed and total:
        case.setup({"input tokens of a request": total / completed})


def settings(record: Object) -> dict[str, Any]:
    """The remaining settings of a record, as axes."""
    free = {field: value for field, value in record.left().items() if field not in PLAIN}
    return {field: axis_value(record.take(field)) for field, _ in settings_of(free)}


def length(mean: float, *, response: bool) -> int | str:
    """A mean number of tokens as an axis, as `tokens` has it."""
    if mean.is_integer() and (not response or mean < 8 or not mean % 8 or not mean % 10):
        return int(mean)
    return f"~{2 ** max(0, round(math.log2(mean)))}" if mean > 0 else 0


def _direction(unit: str | None, metric: str) -> dict[str, Any]:
    """The direction of a metric; the duration of a whole benchmark has none."""
    return {"better": "lower" if metric == "failed" else None} if unit in ("s", "count", "tokens") else {}


def counters(case: Subject, record: Object) -> None:
    """Add all remaining numbers, each as a metric of its own name."""
    for field in list(record.left()):
        if type(record[field]) in (int, float) and not is_void(record, field):
            case.metric(field, record.take(field), better=None)


def requests(results: Results, case: Subject, record: Object, moment: Instant | None) -> None:
    """Add samples for each request, in order and NULL for failed ones, and the outcome.

    Values that a request measured before it failed become separate metrics, such as ttft_errored.

    Raises:
        BadRecord: Lists differ in length, or lists are missing.
    """
    errors = record.array("errors")
    failed = {index for index, error in enumerate(errors) if error}
    fields = [field for field in (*REQUESTS, "itls", "errors") if _is_list(record, field)]
    if len(sizes := {length for field in fields if (length := count_in(record[field]))}) > 1:
        raise BadRecord(f"its lists are of {' and '.join(map(str, sorted(sizes)))} requests")
    outcome(case, record, [error for error in errors if error], len(errors))
    first_tokens = record.array("ttfts")
    if len(failed) < len(first_tokens) and not any(first_tokens):
        for field in ("ttfts", "itls"):  # nothing was streamed, so no first token and no gap was seen
            record.pop(field, None)
    for field, (metric, unit, always) in REQUESTS.items():
        if _is_list(record, field):
            recorded, better = record.array(field), "lower" if unit == "s" else None
            failures = set() if always else failed
            values = [None if index in failures or _is_void(field, one) else one for index, one in enumerate(recorded)]
            case.samples(values, unit, metric=metric, recorded_at=moment, better=better)
            cut = [value for index, value in enumerate(recorded) if index in failures and value]
            case.samples(cut, unit, metric=f"{metric}_errored", recorded_at=moment, better=None)
    case.samples(record.array("start_times"), "s", loops=None, metric="start_time", better=None)
    for index in sorted(failed):
        case.request_outcome(index, "errored")
    if not _is_list(record, "latencies") and _are_alike(record, "itls", "ttfts"):
        latencies = _latencies(record, failed)
        case.samples(latencies, "s", metric="latency", recorded_at=moment)
    elif _is_list(record, "latencies"):
        latencies = [None if index in failed else number(one) for index, one in enumerate(record.array("latencies"))]
    else:
        latencies = []
    alike = _are_alike(record, "ttfts", "output_lens") and count_in(record.array("ttfts")) == len(latencies)
    if latencies and alike and not _is_list(record, "tpots"):
        case.samples(_tpots(record, latencies), "s", metric="tpot", recorded_at=moment)
    _gaps(case, record.array("itls"), failed, moment)
    if texts := count_in(record.array("generated_texts")):
        results.note(f"{texts} generated texts are left out")
    for field in (*REQUESTS, "itls", "start_times", "generated_texts", "errors"):
        if _is_list(record, field):
            del record[field]  # which are long, and done with


def _are_alike(record: Object, *fields: str) -> bool:
    """True if fields are lists of as many requests: values of one are derived from those of the others."""
    return (
        all(_is_list(record, field) for field in fields)
        and len({count_in(record.array(field)) for field in fields}) == 1
    )


def _latencies(record: Object, failed: set[int]) -> list[float | None]:
    """Latencies that a tool leaves out of its details: the first token's and all gaps after it together."""
    ttfts, latencies = record.array("ttfts"), list[float | None]()
    for index, gaps in enumerate(records_in(record.array("itls"))):
        is_known = isinstance(gaps, list) and index not in failed and ttfts[index] != 0
        parts = [ttfts[index], *gaps] if is_known else [None]
        numbers = [number(part) for part in parts]
        latencies.append(None if None in numbers else math.fsum(one for one in numbers if one is not None))
    return latencies


def _tpots(record: Object, latencies: list[float | None]) -> list[float | None]:
    """Time per output token of each request: what follows its first token, over the number of tokens after the first."""
    found = list[float | None]()
    for latency, ttft, length in zip(latencies, record.array("ttfts"), record.array("output_lens"), strict=True):
        first, count = number(ttft), number(length)
        known = latency is not None and first and count is not None and count > 1
        found.append((latency - first) / (count - 1) if known else None)  # type: ignore[operator]  # all three are numbers
    return found


def _gaps(case: Subject, itls: list[Any], failed: set[int], moment: Instant | None) -> None:
    """Gaps between tokens of all requests in order, and the number of gaps of each request."""
    first, together, counts = 0, list[Any](), list[int]()
    for index, each in enumerate(records_in(itls)):
        if not isinstance(each, list):
            raise BadRecord("itls is not a list of lists")
        counts.append(len(each))
        if index in failed:
            case.samples(each, "s", metric="itl_errored", recorded_at=moment, better=None)
        else:
            together += each
        if len(together) >= TOGETHER or index == count_in(itls) - 1:
            case.samples(together, "s", metric="itl", recorded_at=moment, sample=first)
            first, together = first + len(together), []
    case.samples(counts, "count", metric="itl_count")


def _is_void(field: str, value: Any) -> bool:
    """True if a request's latency or time to its first token is 0, as tools write what they did not measure."""
    return field in ("ttfts", "latencies") and value == 0


def _is_list(record: Object, field: str) -> bool:
    return isinstance(record.get(field), list)


def outcome(case: Subject, record: Object, errors: list[Any], total: int, *, detail: str = "") -> None:
    """Add the outcome of a benchmark with failed requests: ok with the reason, unless no request completed.

    `record` counts those that `completed` and `failed`; `total` is 0 if unknown; `detail` is the reason if there are no
    `errors`.
    """
    for error in errors:
        case.text("error", error)
    completed, failed = record.whole("completed"), record.whole("failed") or len(errors)
    if not failed and completed != 0:
        return
    total = total or (completed or 0) + failed
    detail = detail or "; ".join(list(dict.fromkeys(str(error).strip()[-200:] for error in errors))[:MOST_REASONS])
    reason = f"{failed or 'none'} of {total} requests {'failed' if failed else 'completed'}"
    none = completed == 0 or (completed is None and failed == total)
    case.outcome("fail_to_run" if none else "ok", reason + (f": {detail}" if detail else ""))


def after(record: Object, key: str) -> Iterator[str]:
    """The fields that follow a given one in the text, where tools append the settings of a sweep."""
    found = False
    for field in record:
        if found:
            yield field
        found |= field == key


def axis_value(value: Any) -> Any:
    """The value of an axis; infinity as the text that the tools write."""
    return "inf" if value == float("inf") else value


def public(value: Any) -> Any:
    """Remove API keys from a document, which must not get into a store or its rejects."""
    if isinstance(value, dict):
        for key in [key for key in value if key.lower() in SECRETS]:
            del value[key]
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if isinstance(inner, dict | list):
            public(inner)
    return value


def masked(text: str) -> str:
    """A record as its reject stores it: without API keys."""
    return SECRET.sub(r'\1"…"', text)
