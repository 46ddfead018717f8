"""LLMPerf: the summary and the individual responses that `token_benchmark_ray.py` writes (2023-08-31, its only version).

Its inter_token_latency is the time to the last token over the number of tokens, the first included: here it is
time_per_output_token, as that of GuideLLM.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any

from ..readers.document import BadRecord, Object, decode_companion, repeated_key
from ..readers.json_format import JsonFormat
from ..readers.results import Results, Subject, number
from . import _serving

SUMMARY, RESPONSES = "_summary", "_individual_responses"
DISTRIBUTION = re.compile(r"results_(\w+?)_(?:quantiles_(p\d+)|(mean|min|max|stddev))", re.ASCII)
METRICS = {  # of a response, and of the distributions over them
    "inter_token_latency_s": ("time_per_output_token", "s"), "ttft_s": ("ttft", "s"), "end_to_end_latency_s": ("latency", "s"),
    "request_output_throughput_token_per_s": ("request_output_throughput", "tokens/s"),
    "number_input_tokens": ("input_tokens", "tokens"), "number_output_tokens": ("output_tokens", "tokens"),
    "number_total_tokens": ("total_tokens", "tokens"),
}  # fmt: skip
WHOLE = {  # of the benchmark
    "results_mean_output_throughput_token_per_s": ("output_throughput", "tokens/s"),
    "results_num_completed_requests_per_min": ("request_throughput", "requests/min"),
    "results_num_requests_started": ("requests_started", "count"), "results_num_completed_requests": ("completed", "count"),
    "results_number_errors": ("failed", "count"), "results_error_rate": ("error_rate", "ratio"),
}  # fmt: skip
AXES = (
    "mean_input_tokens",
    "stddev_input_tokens",
    "mean_output_tokens",
    "stddev_output_tokens",
    "num_concurrent_requests",
)
SAMPLING = "additional_sampling_params"
VARYING = ("timestamp", "name", "version")


class Llmperf(JsonFormat):
    """Results of LLMPerf."""

    name = "llmperf"
    doc = "LLMPerf *_summary.json and *_individual_responses.json"
    becomes = "time_per_output_token; completed requests and their rate → benchmark_duration"
    holds = (Object, list)
    shapes = (
        frozenset({"model", "num_concurrent_requests", "results_num_requests_started"}),
        frozenset({"model", "num_concurrent_requests", "results_ttft_s_mean"}),
        frozenset({"[].error_code", "[].ttft_s", "[].number_output_tokens"}),
    )

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """A summary is one record; of responses, all together are one and each is one."""
        if isinstance(document, list):
            return _responses(document, results)
        moment = document.moment("timestamp")
        if moment is not None:
            results.run(started_at=moment)
        return [document]

    def load(self, record: Object, results: Results) -> None:
        """A summary, or a response."""
        if "response" in record:
            _response(record, results)
        elif "responses" in record:
            _outcome(_case(results, record["about"]), record["responses"])
        else:
            _summary(record, results)


def _summary(record: Object, results: Results) -> None:
    case = _case(results, record)
    nothing = record.get("results_num_completed_requests") == 0
    for field in list(record):
        match = DISTRIBUTION.fullmatch(field) if len(field) < 100 else None
        if field in WHOLE:
            metric, unit = WHOLE[field]
            lower = {"better": "lower"} if metric in ("failed", "error_rate") else {}
            case.metric(metric, record.take(field), unit, **lower)
        elif match is not None and match[1] in METRICS and not nothing:
            metric, unit = METRICS[match[1]]
            case.metric(metric, record.take(field), unit, statistic=match[2] or match[3])
    completed, a_minute = (number(record.get(f"results_num_completed_requests{each}")) for each in ("", "_per_min"))
    if completed and a_minute and min(completed, a_minute) > 0:
        case.metric("benchmark_duration", 60 * completed / a_minute, "s", better=None)
    counts = Object(
        [("completed", record.get("results_num_completed_requests")), ("failed", record.get("results_number_errors"))]
    )
    codes = record.get("results_error_code_frequency")
    _serving.outcome(case, counts, [], 0, detail=codes if isinstance(codes, str) and codes != "{}" else "")
    case.fields(record.left())


def _case(results: Results, about: Object) -> Subject:
    """The case that a summary describes; without values if it has none."""
    if not about:
        return results.case(_stem(results), suite="serving")
    axes = {axis: about.take(axis) for axis in AXES}
    axes |= {field: about.take(field) for field in about if field.startswith(SAMPLING)}
    for field, value in about.items():
        if (
            not field.startswith("results_")
            and field not in (*axes, *VARYING, "model")
            and isinstance(value, int | float | str)
        ):
            axes[field] = about.take(field)
    about.take("version")
    about.take("name")
    parameters = {key: _serving.axis_value(value) for key, value in axes.items() if value is not None}
    return results.case(about.name("model"), suite="serving", parameters=parameters)


def _stem(results: Results) -> str:
    name = PurePath(results.part.name).name.partition(".json")[0]
    return name.removesuffix(RESPONSES) or name


def _responses(document: list[Any], results: Results) -> Iterator[Any]:
    """The responses, with what the summary beside them says of what was asked."""
    try:
        about = decode_companion(results.part.path.parent, f"{_stem(results)}{SUMMARY}.json")
    except BadRecord as error:
        results.note(f"the summary beside it does not say what was measured: {error}")
        about = None
    known = (
        isinstance(about, Object) and isinstance(about.get("model"), str) and about["model"] and not repeated_key(about)
    )
    facts = about if known else Object()
    yield Object([("responses", document), ("about", facts)])
    for index, response in enumerate(document):
        yield Object([("response", response), ("index", index), ("about", facts)])


def _outcome(case: Subject, responses: list[Any]) -> None:
    errors = [each.get("error_code") for each in responses if isinstance(each, Object)]
    failed = sum(code is not None for code in errors)
    counts = Object([("completed", len(errors) - failed), ("failed", failed)])
    codes = sorted({f"error code {code}" for code in errors if code is not None})
    _serving.outcome(case, counts, [], len(errors), detail="; ".join(codes[:3]))


def _response(record: Object, results: Results) -> None:
    response = record.section("response")
    case = _case(results, record["about"])
    case.has_outcome = True  # that of all together
    failed = response.get("error_code") is not None
    for field, (metric, unit) in METRICS.items():
        if field in response:
            value = response.take(field)
            better = {"s": "lower", "tokens/s": "higher"}.get(unit)
            value = None if failed and metric != "input_tokens" else value
            case.samples([value], unit, metric=metric, sample=record["index"], better=better)
    if "start_time" in response:
        case.samples(
            [response.take("start_time")], "s", loops=None, metric="start_time", better=None, sample=record["index"]
        )
    if failed:
        case.request_outcome(record["index"], "errored")
    message = response.take("error_msg")
    case.text("error", message if message != "" else None)
    case.fields(response.left())
