"""vLLM: what `vllm bench serve`, `latency` and `throughput` write, and before them benchmarks/benchmark_*.py.

Followed from v0.5 (2024) to 2026: results of one benchmark, several appended to a file (`--append-result`), and the folders of
`vllm bench sweep serve`.
"""

import re
from collections.abc import Iterator
from typing import Any

from ..format import Head, Part
from ..readers.document import BadRecord, Object, instant, read_text
from ..readers.json_format import JsonFormat, records_of
from ..readers.lazy_lists import read_document
from ..readers.results import Results
from . import _serving as serving

AXES = (
    "best_of", "use_beam_search", "num_prompts", "request_rate", "burstiness", "max_concurrency", "ramp_up_strategy",
    "ramp_up_start_rps", "ramp_up_end_rps", "dataset_name",
)  # fmt: skip
RUN = re.compile(r"(^|_)(commit|sha|version|host|time|date|id)(_|$)", re.ASCII)  # of --metadata: what is no axis
COMMITS = ("git_commit", "commit", "commit_id", "sha")


class Vllm(JsonFormat):
    """Results of vLLM."""

    name = "vllm"
    doc = "vLLM benchmark JSON: serving, latency, throughput, sweeps"
    becomes = (
        "a latency or throughput benchmark is named by its file; sweep → axes; latency is e2el; request_throughput, "
        "output_throughput, total_throughput"
    )
    lost = "generated texts"
    began = re.compile(r'"date": *"([^"]{8,40})"')
    holds = (Object, list)
    places = ("*/run=*.json", "*/*/run=*.json", "*/*.failure.json")
    shapes = (
        frozenset({"model_id", "num_prompts", "request_rate"}),
        frozenset({"[].model_id", "[].num_prompts", "[].request_rate"}),
        frozenset({"avg_latency", "latencies", "percentiles"}),
        frozenset({"elapsed_time", "num_requests", "requests_per_second", "tokens_per_second"}),
        frozenset({"error_type", "error", "serve_overrides"}),
    )

    def left_out(self, head: Head) -> str | None:
        """A summary says again what the runs of a sweep beside it say."""
        if "[].model_id" in head.paths and (head.path.parent / "run=0.json").is_file():
            return "repeats what run=0.json and others beside it say"
        return None

    def document(self, part: Part, results: Results) -> Any:
        """One result, or a list of them, whose longest lists are not decoded yet; or one a line."""
        try:
            document = read_document(part, "itls", "generated_texts")
        except BadRecord:
            return records_of(read_text(part))
        return document if isinstance(document, list) else [document]

    def open(self, document: Any, results: Results) -> Iterator[Any]:
        """The run is the folder's: a sweep has many files."""
        records = [record for record in document if isinstance(record, Object)]
        began = min((date for record in records if (date := instant(record.get("date"))) is not None), default=None)
        commits = {
            commit for record in records for key in COMMITS if isinstance(commit := record.get(key), str) and commit
        }
        if began is not None or commits:
            results.run(started_at=began, git_commit=commits.pop() if len(commits) == 1 else None)
        yield from document

    def load(self, record: Object, results: Results) -> None:
        """One benchmark."""
        if "latencies" in record and "avg_latency" in record:
            _latency(record, results)
        elif "requests_per_second" in record and "model_id" not in record:
            _throughput(record, results)
        elif "error_type" in record and "model_id" not in record:
            _failure(record, results)
        else:
            _serving(record, results)


def _serving(record: Object, results: Results) -> None:
    moment = instant(record.get("date"))
    if moment is not None:
        record.take("date")
    endpoint = record.text("backend") or record.text("endpoint_type")
    label = record.text("label") or endpoint
    if record.get("endpoint_type") == endpoint:
        record.take("endpoint_type")
    name, tokenizer = record.name("model_id"), record.text("tokenizer_id")
    axes = (
        {axis: serving.axis_value(record.take(axis)) for axis in AXES}
        | dict(_settings(record))
        | serving.tokens(record)
        | serving.settings(record)
    )
    axes |= {
        "endpoint": endpoint if endpoint != label else None,
        "tokenizer_id": tokenizer if tokenizer != name else None,
    }
    parameters = {key: value for key, value in axes.items() if value is not None}
    case = results.case(name, suite="serving", backend=label, parameters=parameters)
    serving.setup(case, record)
    serving.aggregates(case, record)
    serving.requests(results, case, record, moment)
    serving.counters(case, record)
    case.fields(record.left())


def _settings(record: Object) -> Iterator[tuple[str, Any]]:
    """The settings of a sweep, which follow the number of its run, and the user's own text about the benchmark."""
    for field in serving.after(record, "run_number"):
        yield field, serving.axis_value(record.take(field))
    for field, value in record.left().items():
        if isinstance(value, str) and not RUN.search(field) and len(value) < 200:
            yield field, record.take(field)


def _latency(record: Object, results: Results) -> None:
    case = results.case(results.file_name(), suite="latency")
    case.samples(record.array("latencies"), "s")
    case.metric("latency", record.take("avg_latency"), "s", statistic="mean")
    case.metric("latency", record.take("std_latency"), "s", statistic="stddev")
    percentiles = record.section("percentiles")
    for key in percentiles:
        if not re.fullmatch(r"\d{1,2}(\.\d+)?", key, re.ASCII):
            raise BadRecord(f"{key[:60]!r} is not a percentile")
        case.metric("latency", percentiles.take(key), "s", statistic=f"p{key}")
    case.fields(record.left())


def _throughput(record: Object, results: Results) -> None:
    case = results.case(results.file_name(), suite="throughput")
    serving.aggregates(case, record)
    serving.counters(case, record)
    case.fields(record.left())


def _failure(record: Object, results: Results) -> None:
    """A combination of a sweep that gave no result."""
    axes = dict(record.section("serve_overrides")) | dict(record.section("bench_overrides"))
    name = axes.pop("model", None)
    case = results.case(
        name if isinstance(name, str) and name else results.file_name(), suite="serving", parameters=axes
    )
    message = record.text("error")
    kind = record.text("error_type")
    case.outcome("fail_to_run", f"{kind}: {message}"[:500], exception=kind, message=message)
    case.fields(record.left())
