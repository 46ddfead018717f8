"""SGLang: what `python -m sglang.bench_serving` appends to its file, a benchmark a line.

Followed from v0.2 (2024), whose names lack the unit (median_ttft in ms), to 2026, which adds a tag and what the server says of
itself.
"""

import functools
import re
from pathlib import PurePath
from typing import Any

from ...warehouse.log import Batch
from ..format import Format, Head, Part, Tally
from ..readers.document import BadRecord, Object
from ..readers.json_format import reject_file
from ..readers.results import Results
from . import _serving

AXES = (
    "dataset_name", "request_rate", "max_concurrency", "sharegpt_output_len", "random_input_len", "random_output_len",
    "random_range_ratio",
)  # fmt: skip
SERVER = (
    "tp_size",
    "dp_size",
    "pp_size",
    "ep_size",
    "dtype",
    "quantization",
    "attention_backend",
    "speculative_algorithm",
)
OLD = {  # fields of v0.2, in ms
    "mean_e2e_latency": ("latency", "mean"), "median_e2e_latency": ("latency", "median"), "median_ttft": ("ttft", "median"),
    "median_itl": ("itl", "median"),
}  # fmt: skip
DEFAULT = re.compile(r"[\w-]+_\d{4}_\d+_(\d+_\d+|\w+)", re.ASCII)  # backend, month and day, number of prompts, dataset


class Sglang(Format):
    """Results of SGLang."""

    name = "sglang"
    doc = "sglang.bench_serving JSON lines, also --output-details"
    becomes = "parallelism → axes; metrics as of vLLM"
    lost = "generated texts, API keys"
    grows = True
    unpacks = True

    shapes = (
        frozenset({"backend", "request_rate", "random_range_ratio", "random_output_len"}),
        frozenset({"backend", "request_rate", "median_e2e_latency_ms", "total_output_tokens_retokenized"}),
    )

    def recognise(self, head: Head) -> bool:
        """Return whether the first lines have its fields, and no name of a model, which vLLM writes."""
        return "model_id" not in head.paths and any(shape <= head.paths for shape in self.shapes)

    def whole(self, line: bytes) -> bool:
        """Return whether the last line ends as it began."""
        return not line.startswith(b"{") or line.rstrip().endswith(b"}")

    def read(self, part: Part, batch: Batch) -> Tally:
        """A record a line."""
        results = Results(part, batch)
        try:
            for at, line in _serving.lines(part):
                _serving.read_line(results, functools.partial(_read, results, line), line, at)
        except BadRecord as error:
            reject_file(results, error)
        return results.close()


def _read(results: Results, line: str) -> None:
    record = _serving.public(_serving.object_of(line))
    backend, server = record.text("backend"), record.get("server_info")
    tag = record.text("tag") or backend
    axes = {axis: _serving.axis_value(record.take(axis)) for axis in AXES} | {
        "endpoint": backend if backend != tag else None
    }
    axes |= _serving.settings(record)
    if not str(axes["dataset_name"]).startswith("random"):  # of which the axes say the lengths
        axes |= _serving.tokens(record)
    name = None
    if isinstance(server, Object):
        record.take("server_info")
        name = server.text("model_path")
        axes |= {axis: server.take(axis) for axis in SERVER}
    case = results.case(
        name or _name(results, axes["dataset_name"]), suite="serving", backend=tag,
        parameters={key: value for key, value in axes.items() if value is not None},
    )  # fmt: skip
    for field, (metric, statistic) in OLD.items():
        case.metric(metric, record.take(field), "ms", statistic=statistic)
    _serving.setup(case, record)
    _serving.aggregates(case, record)
    _serving.requests(results, case, record, None)
    _serving.counters(case, record)
    case.fields(record.left())


def _name(results: Results, dataset: Any) -> str:
    """The name of the case if no model is named: that of the file, unless it has only a date and counts."""
    stem = PurePath(results.part.name).name.partition(".")[0]
    return dataset if DEFAULT.fullmatch(stem) and isinstance(dataset, str) and dataset else results.file_name()
