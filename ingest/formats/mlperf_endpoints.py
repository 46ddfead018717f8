"""MLPerf Endpoints: what `inference-endpoint benchmark` writes as result_summary.json (2026), one file a point of load."""

from pathlib import Path, PurePath
from typing import Any

from ..readers.declared import Declared, Quantity, leaves, look, take
from ..readers.document import BadRecord, Object, decode_companion, instant
from ..readers.results import Results, Subject, number
from . import _serving

METADATA = "run_metadata.json"  # beside it in a submission
PERFORMANCE = "performance"  # the folder of a run in which newer versions write it, beside that of accuracy
PERCENTILE = r"(\d+(?:\.\d*[1-9])?)(?:\.0+)?"
ROLLUP = r"(min|max|median|avg|std_dev)"
SERIES = r"(ttft|tpot|latency)"
COUNTS = {"completed": "n_samples_completed", "failed": "n_samples_failed"}


class MlperfEndpoints(Declared):
    """Summaries of MLPerf Endpoints."""

    name = "mlperf-endpoints"
    doc = "MLPerf Endpoints summary JSON (result_summary.json, results_summary.json)"
    becomes = (
        "case named by the folder of its model (MODEL/r16/); load, concurrency and parallelism (run_metadata.json beside it) → "
        "axes; qps → request_throughput, tps → output_throughput"
    )
    lost = "other fields of run_metadata.json"
    places = tuple(f"{'*/' * deep}{name}_summary.json" for deep in (1, 2, 3, 4) for name in ("result", "results"))
    shapes = (frozenset({"n_samples_issued", "n_samples_completed", "duration_ns", "output_sequence_lengths"}),)
    holds = Object
    values = {
        "duration_ns": Quantity("benchmark_duration", "ns", better=None),
        "n_samples_issued": Quantity("requests_started", "count", better=None),
        "n_samples_completed": Quantity("completed", "count", better=None),
        "n_samples_failed": Quantity("failed", "count", better="lower"),
        "qps": Quantity("request_throughput", "requests/s"), "tps": Quantity("output_throughput", "tokens/s"),
        "system_tps": Quantity("system_throughput", "tokens/s"),
        "tps_per_user": Quantity("output_throughput_per_user", "tokens/s"),
        "output_sequence_lengths.total": Quantity("total_output_tokens", "tokens", better=None),
    }  # fmt: skip
    patterns = {
        rf"{SERIES}\.{ROLLUP}": Quantity(r"\1", "ns", r"\2", void=True),
        rf"{SERIES}\.percentiles\.{PERCENTILE}": Quantity(r"\1", "ns", r"p\2", void=True),
        rf"output_sequence_lengths\.{ROLLUP}": Quantity("output_tokens", "tokens", r"\1", better=None),
        rf"output_sequence_lengths\.percentiles\.{PERCENTILE}": Quantity(
            "output_tokens", "tokens", r"p\1", better=None
        ),
    }

    def identity(self, name: str) -> str:
        """Its folders, which name the case."""
        return str(PurePath(name).parent)

    def open(self, document: Any, results: Results) -> Any:
        """The day that the file beside it says; of this tool, version and commit are none of what was measured."""
        results.context = _metadata(results)
        tags = {f"mlperf_endpoints_{key}": document.take(key) for key in ("version", "git_sha")}
        results.run(
            started_at=instant(results.context.get("run_date")),
            tags={key: value for key, value in tags.items() if value},
        )
        return [document]

    def case(self, record: Object, results: Results, name: str | None = None) -> Subject:
        """Load is what its own settings say, and parallelism those beside it."""
        folder = _folder(results)
        about: Object = results.context
        summed = about.get("config_summary")  # its parts, or a text: TP 1, PP 1
        parts = summed if isinstance(summed, Object) else {"config_summary": summed}
        axes = {"concurrency": about.get("concurrency"), **parts}
        for keys, value in list(leaves(record)):
            if keys[:2] == ("run_config", "load_pattern") and not isinstance(value, list):
                axes["_".join(keys[2:]) or "load_pattern"] = take(record, keys)
        total, completed = (
            number(look(record, path)) for path in ("output_sequence_lengths.total", "n_samples_completed")
        )
        if total and completed and completed > 0:
            axes["output_tokens"] = _serving.length(total / completed, response=True)
        point = folder.name
        model = folder.parent.name if point[:1] == "r" and point[1:].isdigit() else point
        if model != point and axes["concurrency"] is None:
            axes["concurrency"] = int(point[1:]) if len(point) < 19 else point
        parameters = {key: _serving.axis_value(value) for key, value in axes.items() if value is not None}
        return results.case(model or self.name, suite="serving", parameters=parameters)

    def more(self, record: Object, case: Subject, results: Results) -> None:
        """A run that was cut short, or whose requests failed."""
        state = record.text("state")
        if record.take("complete") is False:
            case.outcome("interrupted", f"its state is {state}" if state else "incomplete")
        else:
            counts = Object([(key, record.get(field)) for key, field in COUNTS.items()])
            _serving.outcome(case, counts, [], record.whole("n_samples_issued") or 0)


def _folder(results: Results) -> Path:
    """The folder of its run."""
    folder = results.part.path.resolve().parent
    return folder.parent if folder.name == PERFORMANCE else folder


def _metadata(results: Results) -> Object:
    """The metadata that lies beside the summary in a submission; empty where it is missing or unreadable, which is noted."""
    try:
        found = decode_companion(_folder(results), METADATA)
    except BadRecord as error:
        results.note(f"what lies beside it does not say how it was measured: {error}")
        return Object()
    return found if isinstance(found, Object) else Object()
