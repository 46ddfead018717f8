"""GenAI-Perf: what it writes as *_genai_perf.json and .csv, and the export of its Perf Analyzer, request by request.

Followed from 0.0.1 (2024) to 0.0.16 (2025), whose settings are nested. Of a request's responses those without text are left out,
as GenAI-Perf does: the first and last chunk of a chat only say who speaks and why it ends.
"""

import csv
import functools
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from ...warehouse.console.numbers import counted
from ...warehouse.events import Instant
from ...warehouse.log import Batch
from ..format import Head, Part, Tally
from ..readers.bulk import LONGEST_NAME
from ..readers.csv_rows import reason_of
from ..readers.document import BadRecord, Object, decode_companion, instant, lines_of, read_text
from ..readers.files import read_head
from ..readers.json_format import JsonFormat, UnlocatedRecords, reject_file
from ..readers.lazy_lists import count_in, read_document, records_in
from ..readers.results import Results, Subject
from . import _serving

SUFFIX = "_genai_perf"
HEADER = re.compile(r"Metric,(GPU,)?(avg,min,max,p99\b.*|Value)")
METRIC = re.compile(r"(.+?)(?: \(([^()]{1,30})\))?")
EVENT_FIELDS = ("data:", "event:", "id:", "retry:", ":")  # what lines of server-sent events begin with
FLAT = {  # settings that are axes, as arguments (until 0.0.11)
    name: name
    for name in (
        "concurrency", "request_rate", "synthetic_input_tokens_mean", "synthetic_input_tokens_stddev", "output_tokens_mean",
        "output_tokens_stddev", "batch_size", "batch_size_text", "endpoint_type", "streaming", "num_prompts",
    )
}  # fmt: skip
NESTED = {  # and since then
    "perf_analyzer.stimulus.concurrency": "concurrency", "perf_analyzer.stimulus.request_rate": "request_rate",
    "input.synthetic_tokens.mean": "synthetic_input_tokens_mean",
    "input.synthetic_tokens.stddev": "synthetic_input_tokens_stddev", "input.output_tokens.mean": "output_tokens_mean",
    "input.output_tokens.stddev": "output_tokens_stddev", "input.batch_size": "batch_size", "endpoint.type": "endpoint_type",
    "endpoint.streaming": "streaming",
}  # fmt: skip


class GenaiPerf(JsonFormat):
    """Results of GenAI-Perf."""

    name = "genai-perf"
    doc = "GenAI-Perf JSON or CSV, and Perf Analyzer's profile export"
    becomes = "samples of ttst, too; a CSV beside its JSON is ignored, another is named by its folder"
    lost = "texts, headers, API keys"
    places = ("*/*_genai_perf.json", "*/*_genai_perf.csv", "*/*profile_export*.json")
    shapes = (
        frozenset({"request_latency.unit", "request_latency.avg"}),
        frozenset({"experiments[].experiment.mode", "experiments[].requests[].timestamp"}),
    )

    def recognise(self, head: Head) -> bool:
        """Return whether it has the keys of a JSON, or a table of metrics in which one has a unit."""
        if "aiperf_version" in head.paths or "timeslices" in head.paths:
            return False
        if super().recognise(head):
            return True
        text = head.text.lstrip()
        rows = text.splitlines()[:2] if text.startswith("Metric,") else []
        return len(rows) > 1 and HEADER.fullmatch(rows[0]) is not None and " (" in rows[1]

    def left_out(self, head: Head) -> str | None:
        """A CSV repeats its JSON with rounded values."""
        beside = head.path.with_suffix(".json")
        if beside != head.path and head.path.suffix == ".csv" and beside.is_file():
            return f"repeats {beside.name} with rounded values"
        return None

    def read(self, part: Part, batch: Batch) -> Tally:
        """A document, or two or more tables."""
        if read_head(part.path).text.lstrip().startswith("{"):
            return super().read(part, batch)
        results = Results(part, batch)
        try:
            _tables(results, lines_of(read_text(part)))
        except BadRecord as error:
            reject_file(results, error)
        return results.close()

    def document(self, part: Part, results: Results) -> Any:
        """The document without secrets, its requests not decoded yet."""
        return _serving.public(read_document(part, "requests"))

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """One record of a summary; as many as there were requests of an export."""
        return _experiments(document, results) if "experiments" in document else [document]

    def load(self, record: Object, results: Results) -> None:
        """A summary, a level of load, or one of its requests."""
        if "request" in record:
            _request(record, results)
            return
        if "experiment" in record:
            case = results.case(record["name"], suite="serving", parameters=record["axes"])
            counts = Object([("completed", record["asked"] - record["silent"]), ("failed", record["silent"])])
            _serving.aggregates(case, counts)
            _serving.outcome(case, counts, [], record["asked"])
            case.fields(record.section("experiment"))
            return
        config = _config(record)
        case = results.case(_model(config) or _place(results), suite="serving", parameters=_axes(config))
        for key in list(record):
            value = record[key]
            if isinstance(value, Object) and key not in ("input_config", "telemetry_stats"):
                record.take(key)
                _statistics(case, key, value)
        _telemetry(case, record.get("telemetry_stats"))
        record.take("telemetry_stats")
        case.fields(record.left())


def _statistics(case: Subject, name: str, statistics: Object, suffix: str = "") -> None:
    """One metric; what has only an average is of the benchmark as a whole."""
    unit = statistics.text("unit")
    keys = [key for key in statistics if key != "unit"]
    for key in keys:
        kind = None if keys == ["avg"] and "throughput" in name else _serving.statistic(key)
        _metric(case, name, statistics.take(key), unit, kind, suffix)


def _metric(case: Subject, name: str, value: Any, unit: str | None, kind: str | None, suffix: str = "") -> None:
    if unit is not None and unit.strip() in ("per sec", "/sec"):
        unit = "tokens/s" if "token" in name else "requests/s"
    unit = "tokens" if unit is None and "length" in name else unit
    if isinstance(value, int | float | str):
        case.metric(f"{_serving.METRICS.get(name, name)}{suffix}", value, unit, statistic=kind)
    else:
        case.text(f"{name}{suffix}", value)


def _telemetry(case: Subject, telemetry: Any) -> None:
    """Power, memory and use of each GPU: by GPU and statistic, or in early versions the other way round."""
    for name, metric in telemetry.items() if isinstance(telemetry, Object) else ():
        if not isinstance(metric, Object):
            case.text(name, metric)
            continue
        unit = metric.text("unit")
        for key, values in metric.items():
            if isinstance(values, Object):
                gpus = key.lower().startswith("gpu") or key.isdigit()
                for inner, value in values.items():
                    gpu, kind = (key, inner) if gpus else (inner, key)
                    _metric(case, name, value, unit, _serving.statistic(kind), f"_{gpu}")
            elif key != "unit":
                _metric(case, name, values, unit, None, f"_{key}")


def _model(config: Object) -> str | None:
    """The models, whether there is one or several."""
    value = config.get("model") or config.get("model_names")
    names = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return ",".join(name for name in names if isinstance(name, str) and len(name) < LONGEST_NAME) or None


def _axes(config: Object) -> dict[str, Any]:
    axes: dict[str, Any] = {}
    for path, axis in (FLAT | NESTED).items():
        value: Any = config
        for key in path.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is not None and not isinstance(value, dict | list):
            axes.setdefault(axis, _serving.axis_value(value))
    return axes


def _place(results: Results) -> str:
    """A name for files that name no model: the folder below the one given, or the file."""
    name = PurePath(results.part.name)
    return name.parent.name or name.name.partition(".")[0].removesuffix(SUFFIX)


def _tables(results: Results, lines: list[str]) -> None:
    """Rows below their headers; a blank line and a header are no records."""
    columns: list[str] = []
    for at, line in enumerate(lines, 1):
        if HEADER.fullmatch(line):
            columns = line.split(",")
        elif line.strip():
            results.record(functools.partial(_row, results, columns, line), line, at)


def _row(results: Results, columns: list[str], line: str) -> None:
    try:
        cells = next(csv.reader([line], strict=True), [])
    except csv.Error as error:
        raise BadRecord(reason_of(error)) from None
    if len(cells) != len(columns) or len(cells) < 2:
        raise BadRecord(f"{counted(len(cells), 'column')} under a header of {len(columns)}")
    match = METRIC.fullmatch(cells[0])
    if match is None:
        raise BadRecord("no name of a metric")
    name, unit = match[1].strip().lower().replace(" ", "_"), match[2]
    case = results.case(_place(results), suite="serving")
    gpu = f"_{cells[1]}" if columns[1] == "GPU" else ""
    for column, cell in zip(columns[1:], cells[1:], strict=True):
        if column != "GPU":
            kind = None if column == "Value" else _serving.statistic(column)
            _metric(case, name, cell.strip().replace(",", ""), unit, kind, gpu)


def _experiments(document: Object, results: Results) -> Iterator[Any]:
    """Describe the run of an export; gives its requests one by one, with the case they are of."""
    experiments = document.array("experiments")
    levels = [_level(each) for each in experiments]
    results.run(
        started_at=min((level.start for level in levels if level is not None and level.start is not None), default=None),
        tags=document.left(),
    )  # fmt: skip
    stem = PurePath(results.part.name).name.partition(".")[0]
    try:
        summary = decode_companion(results.part.path.parent, f"{stem}{SUFFIX}.json")
    except BadRecord as error:
        results.note(f"what lies beside it does not say how it was measured: {error}")
        summary = None
    return _requests(levels, experiments, _config(summary) if isinstance(summary, Object) else Object(), results)


@dataclass(frozen=True, slots=True)
class _Level:
    """A level of load, and what its requests say of it together."""

    mode: str
    value: Any
    boundaries: Any
    requests: Any
    start: Instant | None
    silent: int  # requests to which nothing came
    model: str | None


def _level(experiment: Any) -> _Level | None:
    """A level of load; None if it does not say what it is."""
    value = experiment.get("experiment") if isinstance(experiment, Object) else None
    mode = value.get("mode") if isinstance(value, Object) else None
    if not isinstance(value, Object) or not isinstance(mode, str):
        return None
    start, silent, model = None, 0, None
    for request in records_in(experiment.get("requests")):
        if isinstance(request, Object):
            began = instant(request.get("timestamp"))
            start = began if start is None or (began is not None and began < start) else start
            silent += not request.get("response_timestamps")
            model = model or _asked_of(request)
    boundaries = experiment.get("window_boundaries")
    return _Level(mode, value.get("value"), boundaries, experiment.get("requests"), start, silent, model)


def _requests(levels: list[_Level | None], experiments: list[Any], config: Object, results: Results) -> Iterator[Any]:
    for level, experiment in zip(levels, experiments, strict=True):
        if level is None:
            yield UnlocatedRecords(experiment, BadRecord("an experiment that does not say its load"))
            continue
        name = _model(config) or level.model or _place(results)
        place = [("name", name), ("axes", _axes(config) | {level.mode: level.value})]
        boundaries = Object([("window_boundaries", level.boundaries)])
        counts = [("asked", count_in(level.requests)), ("silent", level.silent)]
        yield Object([("experiment", boundaries), *counts, *place])
        for index, request in enumerate(records_in(level.requests)):
            about = [("index", index), *place]
            yield request if isinstance(request, UnlocatedRecords) else Object([("request", request), *about])


def _config(summary: Object) -> Object:
    config = summary.get("input_config")
    return config if isinstance(config, Object) else Object()


def _asked_of(request: Object) -> str | None:
    """The model a request's payload names."""
    inputs = request.get("request_inputs")
    payload = inputs.get("payload") if isinstance(inputs, Object) else None
    try:
        value = json.loads(payload) if isinstance(payload, str) else None
    except (ValueError, RecursionError):
        return None
    model = value.get("model") if isinstance(value, dict) else None
    return model if isinstance(model, str) and len(model) < LONGEST_NAME else None


def _request(record: Object, results: Results) -> None:
    request, index = record.section("request"), record.get("index")
    start, times, outputs = (
        request.whole("timestamp"),
        request.array("response_timestamps"),
        request.array("response_outputs"),
    )
    if start is None or any(type(time) is not int for time in times):
        raise BadRecord("no times of a request and its responses")
    if len(outputs) == len(times):
        times = [time for time, output in zip(times, _joined(outputs), strict=True) if _has_text(output)]
    case = results.case(record["name"], suite="serving", parameters=record["axes"])
    case.has_outcome = True  # that of the level of load
    when = instant(start)
    for metric, value in (
        ("latency", times[-1] - start if times else None),
        ("ttft", times[0] - start if times else None),
        ("ttst", times[1] - times[0] if len(times) > 1 else None),
    ):
        if value is not None or metric != "ttst":
            case.samples([value], "ns", metric=metric, sample=index, recorded_at=when)
    gaps = [after - before for before, after in itertools.pairwise(times)]
    case.samples(gaps, "ns", metric="itl", recorded_at=when)
    case.samples([len(gaps)], "count", metric="itl_count")
    request.take("request_inputs")
    case.fields(request.left())


def _joined(outputs: list[Any]) -> list[Any]:
    """The responses as texts, where they are some. An event that was cut on its way is wholly in the response where it begins."""
    joined: list[Any] = []
    begun = None  # the last response in which an event begins
    for output in outputs:
        text = output.get("response") if isinstance(output, Object) else output
        if isinstance(text, str):
            if begun is not None and not text.startswith(EVENT_FIELDS):
                cut = text.find("\ndata:") + 1 or len(text)
                joined[begun] += text[:cut]
                text = text[cut:]
            if text.startswith("data:"):
                begun = len(joined)
        joined.append(text if isinstance(text, str) else output)
    return joined


def _has_text(output: Any) -> bool:
    """Return whether a response says something: an event of OpenAI's that has content, or anything that is none."""
    if not isinstance(output, str):
        return bool(output)
    return any(_says_something(line) for line in output.split("\n"))


def _says_something(line: str) -> bool:
    if line.startswith(EVENT_FIELDS) and not line.startswith("data:"):
        return False
    data = line.removeprefix("data:").strip()
    if not data or data == "[DONE]":
        return False
    try:
        chunk = json.loads(data)
    except (ValueError, RecursionError):
        return True
    if not isinstance(chunk, dict):
        return True
    if isinstance(chunk.get("choices"), list):
        return _has_content(chunk["choices"])
    return bool(chunk.get("text_output", True))  # of Triton's generate_stream


def _has_content(choices: list[Any]) -> bool:
    for choice in choices:
        if isinstance(choice, dict):
            inner = [choice, choice.get("delta"), choice.get("message")]
            texts = [
                part.get(key)
                for part in inner
                if isinstance(part, dict)
                for key in ("text", "content", "reasoning_content")
            ]
            if any(texts):
                return True
    return False
