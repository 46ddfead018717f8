"""AIPerf: a record a request, as `aiperf profile` exports them (profile_export.jsonl), and its summaries.

Several trials of one setting are runs of one config; the settings of a sweep are cases.
Its inter_token_latency is a mean over a request's tokens, which others call tpot: so it is named. The gaps between chunks
(inter_chunk_latency, a list) are itl. The summary beside it says which model was asked, with which load.
"""

import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import Any

from ...warehouse.events import Instant
from ...warehouse.log import Batch
from ..format import Format, Head, Part, Tally
from ..readers.bulk import LONGEST_NAME
from ..readers.declared import look
from ..readers.document import BadRecord, Object, decode_companion, show
from ..readers.json_format import JsonFormat, reject_file
from ..readers.results import Results, Subject, number
from . import _serving

SUMMARY = "profile_export_aiperf.json"
SAMPLES = {  # of one request
    "request_latency": "latency", "time_to_first_token": "ttft", "time_to_second_token": "ttst", "inter_token_latency": "tpot",
    "input_sequence_length": "input_tokens", "output_sequence_length": "output_tokens",
}  # fmt: skip
ZERO_IS_MISSING = {"latency", "ttft", "ttst", "tpot", "itl"}
GAPS = "inter_chunk_latency"
LOAD = ("concurrency", "request_rate", "request_count", "benchmark_duration")
LATER = {"requests": "request_count", "rate": "request_rate", "duration": "benchmark_duration"}  # of a phase -> of LOAD
TRIAL = re.compile(r"(?:trial|run)[_-]?\d+", re.IGNORECASE)
VERSION, SLICES, AGGREGATE = "aiperf_version", "timeslices", "metadata.aggregation_type"
COMBINATIONS = "per_combination_metrics"
AGGREGATES = ("sweep_aggregate", "aggregate")  # folders
SWEEP = f"{AGGREGATES[0]}/profile_export_aiperf_sweep.json"
# a folder of one setting of a sweep: concurrency_10
COMBINATION = re.compile(rf"({'|'.join(LOAD)})_([0-9]{{1,9}}(?:\.[0-9]{{1,9}})?)")
SUMS_UP = "sums up trials, which are runs themselves"
SUMMED_UP = "says again what the aggregate of its sweep says"
STATISTIC = re.compile(r"(?P<metric>\w+?)_(?P<statistic>avg|min|max|std|p\d+)(?:_ms)?")  # ttft_p99_ms
COUNTS = {"request_count": "completed", "error_request_count": "failed", "good_request_count": "good_requests"}
SETTINGS = ("input_config", "error_summary", "telemetry_data", "telemetry_stats", "server_metrics_summary")


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
        """Return whether the first lines are requests with their start and metrics."""
        return {"metadata.request_start_ns", "metadata.benchmark_phase", "metrics"} <= head.paths

    def result_set(self, name: str) -> str:
        """The day in the name, and the trial."""
        return " ".join(filter(None, (super().result_set(name), _trial(name))))

    def whole(self, line: bytes) -> bool:
        """Return whether the last line ends as it began."""
        return not line.startswith(b"{") or line.rstrip().endswith(b"}")

    def read(self, part: Part, batch: Batch) -> Tally:
        """A request a line."""
        results = Results(part, batch)
        try:
            name, axes = _about(results)
            for at, line in _serving.lines(part):
                _serving.read_line(results, functools.partial(_request, results, line, name, axes), line, at)
        except BadRecord as error:
            reject_file(results, error)
        return results.close()


class AiperfSummary(JsonFormat):
    """Summaries of AIPerf."""

    name = "aiperf-summary"
    doc = "AIPerf summary JSON (profile_export_aiperf.json), also of time slices"
    becomes = "trial → run; model → case; load and mean lengths asked for → axes; warmup_metrics → phase warmup; slices → samples"
    lost = "API keys, the server's metrics"
    began = re.compile(r'"start_time": *"([^"]{8,40})"')
    places = tuple(
        f"{'*/' * deep}profile_export_aiperf{kind}.json" for deep in (1, 2, 3) for kind in ("", "_timeslices")
    )
    shapes = (
        frozenset({VERSION, "request_latency.avg"}), frozenset({VERSION, "input_config", "request_count.avg"}),
        frozenset({f"{SLICES}[].request_latency.avg"}),
    )  # fmt: skip

    def result_set(self, name: str) -> str:
        """The day in the name, and the trial."""
        return " ".join(filter(None, (super().result_set(name), _trial(name))))

    def document(self, part: Part, results: Results) -> Any:
        """The document without secrets."""
        return _serving.public(super().document(part, results))

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """The run of that time; a record for the whole, or for each slice."""
        document.take("end_time")
        results.run(started_at=document.moment("start_time"), tags={"aiperf_version": document.take(VERSION)})
        results.context = _about(results, document if "input_config" in document else None)
        if SLICES not in document:
            return [document]
        slices: list[Any] = document.array(SLICES)
        for at, one in enumerate(slices):
            if isinstance(one, Object):
                one["slice"] = at
        return slices

    def load(self, record: Object, results: Results) -> None:
        """The whole, or one slice."""
        name, axes = results.context
        case, at = results.case(name, suite="serving", parameters=axes), record.take("slice")
        for key in ("schema_version", "was_cancelled", "start_ns", "end_ns", "timeslice_index", "is_complete"):
            if key != "was_cancelled" or record.get(key) is False:
                record.take(key)
        _summary(case, record, at)
        warm = record.section("warmup_metrics")
        _summary(case, warm, at, phase="warmup")
        if record.get("was_cancelled"):
            case.outcome("interrupted", "AIPerf was cancelled")
        for key in SETTINGS:
            record.take(key)
        case.text("errors", record.get("error_summary") or None)
        case.fields(record.left())


class AiperfSweep(JsonFormat):
    """Means over trials of AIPerf, of which nothing else was kept."""

    name = "aiperf-sweep"
    doc = "AIPerf aggregate JSON, of a sweep or of trials (profile_export_aiperf_sweep.json, …_aggregate.json), without them"
    becomes = "combination → case, named by the folder; mean over trials → metric. Trials beside it are loaded instead"
    lost = "which combinations were best"
    places = tuple(
        f"{'*/' * deep}profile_export_aiperf_{kind}.json" for deep in (1, 2, 3, 4) for kind in ("sweep", "aggregate")
    )
    shapes = (
        frozenset({f"{COMBINATIONS}[].parameters", f"{COMBINATIONS}[].metrics"}),
        frozenset({VERSION, AGGREGATE, "metrics"}),
    )  # fmt: skip

    def left_out(self, head: Head) -> str | None:
        """The aggregate of what lies beside it: trials, or of trials the aggregate of their sweep."""
        folder = _above(head.path)
        if folder == head.path.absolute().parent:
            return None
        if any(next(folder.glob(f"{'*/' * deep}{SUMMARY}"), None) for deep in (1, 2, 3)):
            return SUMS_UP
        sweeps = [above / part / SWEEP for above in (folder, folder.parent) for part in ("", AGGREGATES[1])]
        return SUMMED_UP if AGGREGATE in head.paths and any(map(Path.is_file, sweeps)) else None

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """A record a combination; trials of one setting are one."""
        of_trials = COMBINATIONS not in document
        about = document.section("metadata") if of_trials else document
        tags = {key: about.get(key) for key in ("num_profile_runs", "num_successful_runs")}
        results.run(tags={key: value for key, value in tags.items() if value is not None})
        if about.get("failed_runs"):
            results.note(f"failed trials: {show(about['failed_runs'])}")
        records: list[Any] = [document] if of_trials else document.array(COMBINATIONS)
        for key in (VERSION, "schema_version") if of_trials else ():
            document.take(key)
        return records

    def load(self, record: Object, results: Results) -> None:
        """The settings and the mean of each metric over trials."""
        settings = record.section("parameters")
        leaves = [name.rpartition(".")[2] for name in settings]
        axes = {
            leaf if leaves.count(leaf) == 1 else name: _serving.axis_value(value)
            for (name, value), leaf in zip(settings.items(), leaves, strict=True)
        }
        above = _above(results.part.path)
        axes = axes or _setting(results.part.path.absolute().parent) or _setting(above)
        name = (above.parent if _setting(above) else above).name
        case = results.case(name or "aiperf", suite="serving", parameters=axes)
        metrics = record.section("metrics")
        for key in [key for key, value in metrics.items() if isinstance(value, Object)]:
            one, match = metrics.section(key), STATISTIC.fullmatch(key)
            name = match["metric"] if match else key
            name = COUNTS.get(name) or SAMPLES.get(name) or _serving.METRICS.get(name, name)
            is_whole = (not match or match["statistic"] == "avg") and ("throughput" in name or name in COUNTS.values())
            statistic = None if is_whole else _serving.statistic(match["statistic"] if match else "avg")
            case.metric(name, one.take("mean"), one.text("unit"), statistic=statistic)
        case.text("fields", record.left() or None)


def _above(path: Path) -> Path:
    """The folder of a benchmark, above the folders of its aggregates."""
    folder = path.absolute().parent
    while {folder.name, folder.parent.name}.intersection(AGGREGATES):
        folder = folder.parent
    return folder


def _setting(folder: Path) -> dict[str, float]:
    """The axis that a folder of one combination is named by."""
    match = COMBINATION.fullmatch(folder.name)
    return {match[1]: int(whole) if (whole := float(match[2])).is_integer() else whole} if match else {}


def _summary(case: Subject, metrics: Object, at: int | None, phase: str | None = None) -> None:
    """The statistics of each metric, or its mean in one slice of time."""
    for key in [key for key, value in metrics.items() if isinstance(value, Object) and "unit" in value]:
        one = metrics.section(key)
        unit, values = one.text("unit"), [name for name in one if name != "unit"]
        name = COUNTS.get(key) or SAMPLES.get(key) or _serving.METRICS.get(key, key)
        counted = unit in ("tokens", "requests") or key.endswith(("_count", "_length"))
        missing = name in ZERO_IS_MISSING and not any(number(one[value]) for value in values)
        for value in [] if missing else values:
            statistic = _serving.statistic(value)
            whole = values == ["avg"] and (counted or "throughput" in key)
            if at is not None and value == "avg":
                case.samples([one.take(value)], unit, metric=f"{name}_by_slice", sample=at, loops=None, better=None)
            elif at is None:
                better: dict[str, Any] = {"better": "lower" if name == "failed" else None} if counted else {}
                if value in ("count", "sum"):
                    better = {"better": None}
                said = "count" if value == "count" else unit
                case.metric(name, one.take(value), said, statistic=None if whole else statistic, phase=phase, **better)
        for value in values:
            one.take(value)


def _trial(name: str) -> str:
    """The folder of a trial that a file lies in, below the folder given."""
    return next((part for part in PurePath(name).parts[:-1] if TRIAL.fullmatch(part)), "")


def _about(results: Results, summary: Any = None) -> tuple[str, dict[str, Any]]:
    """The case of all requests, by a summary, or the one beside the file."""
    try:
        summary = summary or decode_companion(results.part.path.parent, SUMMARY)
    except BadRecord as error:
        results.note(f"the summary beside it does not say what was measured: {error}")
    config = summary.get("input_config") if isinstance(summary, Object) else None
    sections = (
        {key: value for key, value in config.items() if isinstance(value, Object)} if isinstance(config, Object) else {}
    )
    names = sections.get("endpoint", Object()).get("model_names")
    items = sections.get("models", Object()).get("items")  # of later versions
    named = [item.get("name") for item in items if isinstance(item, Object)] if isinstance(items, list) else []
    known = [name for name in (names if isinstance(names, list) else named) if isinstance(name, str)]
    name = ",".join(known)
    load, lengths = _load(config) if isinstance(config, Object) else ({}, {})
    axes = {key: _serving.axis_value(load.get(key)) for key in LOAD if isinstance(load.get(key), int | float)}
    for side, mean in lengths.items():
        if isinstance(mean, int | float) and (exact := number(mean)) is not None:
            axes[side] = int(exact) if exact.is_integer() else exact
    return name if 0 < len(name) < LONGEST_NAME else results.part.path.absolute().parent.name or "aiperf", axes


def _load(config: Object) -> tuple[dict[str, Any], dict[str, Any]]:
    """Load and mean lengths asked for; of a later version those of the phase that is measured, and of the first data set."""
    phases, datasets = config.get("phases"), config.get("datasets")
    if not isinstance(phases, list):
        lengths = {side: look(config, f"input.prompt.{side}.mean") for side in ("input_tokens", "output_tokens")}
        return dict(load if isinstance(load := config.get("loadgen"), Object) else {}), lengths
    known = [phase for phase in phases if isinstance(phase, Object)]
    phase = next((phase for phase in known if phase.get("name") == "profiling"), known[-1] if known else Object())
    first = datasets[0] if isinstance(datasets, list) and datasets and isinstance(datasets[0], Object) else Object()
    load = {LATER.get(key, key): value for key, value in phase.items()}
    given = {side: look(first, f"prompts.{key}") for side, key in (("input_tokens", "isl"), ("output_tokens", "osl"))}
    return load, {side: one.get("mean") if isinstance(one, Object) else one for side, one in given.items()}


def _request(results: Results, line: str, name: str, axes: dict[str, Any]) -> None:
    record = _serving.object_of(line)
    about, metrics = record.section("metadata"), record.section("metrics")
    start, place = about.get("request_start_ns"), about.get("session_num")
    if type(start) is not int or not 0 <= start < 2**63:
        raise BadRecord("no request_start_ns")
    case = results.case(name, suite="serving", parameters=axes)
    sample = place if type(place) is int and 0 <= place < 2**63 else results.tally.lines
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
