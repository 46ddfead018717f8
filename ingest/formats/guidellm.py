"""GuideLLM: its report in JSON (benchmarks.json), of versions 0.2 (2025) to 0.7 (2026).

Its time_per_output_token counts the first token too. Its inter_token_latency is a mean over a request's tokens, which others call
tpot: so it is named for single requests; its distribution, weighted by tokens, is that of itl.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from ...warehouse.events import Environment
from ..format import FILE, Part
from ..readers.bulk import LONGEST_NAME
from ..readers.document import Object, instant
from ..readers.json_format import JsonFormat, UnlocatedRecords
from ..readers.lazy_lists import count_in, read_document, records_in
from ..readers.results import Results, Subject
from . import _serving

STATUSES = ("successful", "incomplete", "errored", "total")
TAILS = {"p001": "p0.1", "p01": "p1", "p05": "p5", "p999": "p99.9"}
REQUEST = {  # of one request: metric and unit
    "request_latency": ("latency", "s"), "time_to_first_token_ms": ("ttft", "ms"), "inter_token_latency_ms": ("tpot", "ms"),
    "time_per_output_token_ms": ("time_per_output_token", "ms"),
    "time_to_first_output_token_ms": ("time_to_first_output_token", "ms"),
    "prompt_tokens": ("input_tokens", "tokens"), "output_tokens": ("output_tokens", "tokens"),
}  # fmt: skip
TEXTS = ("prompt", "output", "reasoning_output", "request_args", "tool_calls")
LOAD = ("rate", "streams", "max_concurrency", "num_conversations")
MODELS = (  # where the model is named, by version
    ("config", "backend", "model"), ("benchmarker", "backend", "model"), ("worker", "backend_model"), ("args", "model"),
    ("args", "backend_kwargs", "model"), ("config", "spec", "backend", "model"), ("args", "processor"),
)  # fmt: skip
DATA = (
    ("config", "requests", "data"), ("benchmarker", "requests", "data"), ("request_loader", "data"), ("args", "data"),
    ("config", "spec", "data"),
)  # fmt: skip
TOTALS = (
    ("metrics", "request_totals"), ("request_totals",), ("scheduler_metrics", "requests_made"), ("run_stats", "requests_made"),
)  # fmt: skip
STRATEGIES = (("config", "strategy"), ("scheduler", "strategy"), ("args", "strategy"))
PROFILES = (("config", "profile", "type_"), ("benchmarker", "profile", "type_"), ("args", "profile", "type_"))


class Guidellm(JsonFormat):
    """Results of GuideLLM."""

    name = "guidellm"
    doc = "GuideLLM report in JSON"
    becomes = "strategy → axis; metrics of other than successful requests end in _incomplete, _errored, _total"
    lost = "texts, headers, API keys"
    runs = FILE
    shapes = (
        frozenset({"metadata.guidellm_version", "benchmarks"}),
        frozenset({"benchmarks[].type_", "benchmarks[].run_id"}),
        frozenset({"benchmarks[].metrics.requests_per_second.successful.mean"}),
    )

    def document(self, part: Part, results: Results) -> Any:
        """The document without secrets, its requests not decoded yet."""
        return _serving.public(read_document(part, *STATUSES[:3]))

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """One run a file; a benchmark is a record, and each of its requests."""
        benchmarks: list[Any] = document.array("benchmarks")
        starts = [instant(_start(each)) for each in benchmarks if isinstance(each, Object)]
        metadata = document.get("metadata")
        about = metadata if isinstance(metadata, Object) else Object()
        python, platform = about.get("python_version"), about.get("platform")
        results.run(
            started_at=min((start for start in starts if start is not None), default=None),
            environment=Environment(
                environment_id="", python=python if isinstance(python, str) else None,
                os=platform if isinstance(platform, str) else None,
            ),
            tags=document.left(),
        )  # fmt: skip
        return _records(benchmarks, document)

    def load(self, record: Object, results: Results) -> None:
        """A benchmark, or one of its requests."""
        case = results.case(record["name"], suite="serving", parameters=record["axes"])
        if "request" in record:
            _request(case, record.section("request"), record["status"], record["number"])
            return
        benchmark = record.section("benchmark")
        _metrics(case, benchmark.section("metrics"), "")
        case.metric("benchmark_duration", benchmark.take("duration"), "s", better=None)
        _outcome(case, benchmark)
        _note_sample(results, benchmark)
        benchmark.take("requests")
        case.fields(benchmark.left())


def _records(benchmarks: list[Any], document: Object) -> Iterator[Any]:
    """Each benchmark, and then its requests, with the case they are of."""
    for index, benchmark in enumerate(benchmarks):
        if not isinstance(benchmark, Object):
            yield benchmark
            continue
        place = [("name", _model(benchmark, document)), ("axes", _axes(benchmark, document, index))]
        yield Object([("benchmark", benchmark), *place])
        requests = benchmark.get("requests")
        for status in STATUSES[:3]:
            several = requests.get(status) if isinstance(requests, Object) else None
            for number, request in enumerate(records_in(several)):
                about = [("status", status), ("number", number), *place]
                yield (
                    request
                    if isinstance(request, UnlocatedRecords)
                    else Object([("request", _serving.public(request)), *about])
                )


def _at(document: Object, path: tuple[str, ...]) -> Any:
    value: Any = document
    for key in path:
        value = value.get(key) if isinstance(value, Object) else None
    return value


def _first(paths: tuple[tuple[str, ...], ...], *documents: Object) -> Any:
    """The value at the first path that any of the documents has."""
    found = (_at(document, path) for document in documents for path in paths)
    return next((value for value in found if value), None)


def _model(benchmark: Object, document: Object) -> str:
    name = _first(MODELS, benchmark, document)
    return name if isinstance(name, str) and len(name) < LONGEST_NAME else "guidellm"


def _axes(benchmark: Object, document: Object, index: int) -> dict[str, Any]:
    strategy, data = _first(STRATEGIES, benchmark), _first(DATA, benchmark, document)
    axes: dict[str, Any] = {"data": data}
    if isinstance(strategy, Object):
        axes["strategy"] = strategy.get("type_")
        if _first(PROFILES, benchmark) == "sweep":
            axes["step"] = index
        else:
            axes |= {key: _serving.axis_value(strategy.get(key)) for key in LOAD}
    return {key: value for key, value in axes.items() if value is not None}


def _start(benchmark: Object) -> Any:
    return benchmark.get("start_time") or _at(benchmark, ("run_stats", "start_time"))


def _metrics(case: Subject, metrics: Object, above: str) -> None:
    """Distributions by status, and groups of them."""
    for name in list(metrics):
        inner = metrics[name]
        if not isinstance(inner, Object):
            continue
        metrics.take(name)
        if not any(status in inner for status in STATUSES):
            _metrics(case, inner, f"{above}{name}_")
            continue
        for status in STATUSES:
            summary = inner.get(status)
            suffix = "" if status == "successful" else f"_{status}"
            if isinstance(summary, Object):
                inner.take(status)
                _distribution(case, f"{above}{name}", summary, suffix)
            elif type(summary) is int:
                case.metric(f"requests_{status}", inner.take(status), "count")


def _distribution(case: Subject, name: str, summary: Object, suffix: str) -> None:
    name, unit = _named(name)
    if summary.get("count") == 0:  # zeros that nothing was measured for
        for key in summary:
            summary.take(key)
        return
    percentiles = summary.get("percentiles")
    if isinstance(percentiles, Object):
        for key in percentiles:
            case.metric(name + suffix, percentiles.take(key), unit, statistic=TAILS.get(key, key))
    for key in list(summary):
        if type(summary[key]) in (int, float):
            value = summary.take(key)
            if key == "count":
                case.metric(f"{name}{suffix}_count", value, "count")
            else:
                squared = key == "variance"  # its unit is the square of that of the others
                kind = _serving.statistic(key)
                case.metric(
                    name + suffix, value, f"{unit}²" if squared and unit else unit, statistic=kind, **_direction(kind)
                )


def _direction(kind: str) -> dict[str, Any]:
    return {"better": None} if kind in ("mode", "total_sum", "variance") else {}


def _named(name: str) -> tuple[str, str | None]:
    """Our name and the unit of one of its metrics."""
    axis_value = name.removesuffix("_ms")
    unit = "ms" if axis_value != name else None
    if name == "request_latency":
        unit = "s"
    elif "per_second" in name:
        unit = "requests/s" if name.startswith("request") else "tokens/s" if "token" in name else "1/s"
    elif name.endswith(("token_count", "_tokens")):
        unit = "tokens"
    return _serving.METRICS.get(axis_value, axis_value), unit


def _outcome(case: Subject, benchmark: Object) -> None:
    totals = _first(TOTALS, benchmark)
    if isinstance(totals, Object):
        errored = _at(benchmark, ("requests", "errored"))
        reasons = [_error(each) for each in records_in(errored) if isinstance(each, Object)]
        counts = Object([("completed", totals.get("successful")), ("failed", totals.get("errored"))])
        _serving.outcome(case, counts, [error for error in reasons if error], totals.whole("total") or 0)


def _note_sample(results: Results, benchmark: Object) -> None:
    """Say that requests were left out, as `--sample-requests` has it: what is counted by the second is too little then."""
    kept, made = count_in(_at(benchmark, ("requests", "successful"))), _at(benchmark, (*TOTALS[0], "successful"))
    if type(made) is int and kept < made:
        results.note(f"holds {kept} of {made} requests that completed: goodput by the second is of these only")


def _error(request: Object) -> Any:
    return request.get("error") or _at(request, ("info", "error")) or _at(request, ("scheduler_info", "error"))


def _request(case: Subject, request: Object, status: str, number: int) -> None:
    """One request; what one that was cut short or failed took is no latency."""
    case.has_outcome = True  # the benchmark's
    suffix = "" if status == "successful" else f"_{status}"
    if suffix:
        case.request_outcome(number, status)
    when = instant(request.get("request_start_time") or request.get("start_time"))
    for field, (metric, unit) in REQUEST.items():
        if field in request:
            case.samples(
                [request.take(field)], unit, metric=metric + suffix, sample=number, recorded_at=when,
                better="lower" if unit != "tokens" and not suffix else None,
            )  # fmt: skip
    for field in TEXTS:
        request.take(field)
    case.fields(request.left())
