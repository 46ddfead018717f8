"""NVBench: what `--json` or `--jsonbin` writes, with its sample files where they lie beside it."""

import struct
from collections import Counter
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

from ...warehouse.events import Environment
from ..readers.document import Object, labels, read_companion
from ..readers.json_format import JsonFormat
from ..readers.results import Results, Subject

UNITS = {  # by hint: unit, and which direction is better
    "duration": ("s", None), "percentage": ("ratio", None), "item_rate": ("items/s", "higher"),
    "byte_rate": ("bytes/s", "higher"), "bytes": ("bytes", None), "sample_size": ("count", None), "frequency": ("Hz", None),
}  # fmt: skip
TIMES = {"cold/time/gpu": "latency", "cold/time/cpu": "host_time", "batch/time/gpu": "batch_latency"}
STATISTICS = {
    "mean": "mean", "median": "median", "min": "min", "max": "max", "stdev/relative": "cv", "stdev/absolute": "stddev",
    "q1": "q1", "q3": "q3", "ir/relative": "relative_iqr", "ir/absolute": "iqr",
}  # fmt: skip
FILES = {  # of 32-bit floats: what is in them, and its unit
    "json/bin:nv/cold/sample_times": ("latency", "s"), "json/freqs-bin:nv/cold/sample_freqs": ("sm_frequency", "Hz"),
}  # fmt: skip


class Nvbench(JsonFormat):
    """Results of NVBench."""

    name = "nvbench"
    doc = "NVBench JSON (--json, --jsonbin) with its sample files"
    becomes = (
        "sample files → timings (GPU time); cold GPU time → latency, host time → host_time, batched → batch_latency; "
        "other summaries → metrics by tag"
    )
    lost = "names and descriptions of summaries; types of values"
    shapes = (
        frozenset({"meta.version.nvbench", "devices", "benchmarks"}),
        frozenset({"benchmarks[].states[].summaries", "benchmarks[].states[].is_skipped"}),
        frozenset({"meta.version.nvbench", "meta.argv"}),
    )

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """The run is the folder's: each program has a file."""
        devices, meta = document.records("devices"), document.section("meta")
        names = [device.text("name") or "GPU" for device in devices]
        repeated = Counter(names)
        gpus = {
            device.whole("id"): name if repeated[name] == 1 else f"{name} #{device.get('id')}"
            for device, name in zip(devices, names, strict=True)
        }
        command = " ".join(word for word in meta.array("argv") if isinstance(word, str))
        records = []
        for benchmark in document.records("benchmarks"):
            name = benchmark.name("name")
            records += [Object([("benchmark", name), ("state", state)]) for state in benchmark.array("states")]
        results.context = gpus
        environment = Environment(
            environment_id="", gpus=names or None, extra=labels({"devices": document.get("devices")})
        )
        results.run(command=command or None, environment=environment, tags={"meta": meta.left()})
        return records

    def load(self, record: Object, results: Results) -> None:
        """One state: a combination of axes on one device."""
        state = record.section("state")
        device = state.whole("device")
        axes = {axis.name("name"): axis.take("value") for axis in state.records("axis_values")}
        if device is not None:
            axes["gpu"] = results.context.get(device, str(device))
        case = results.case(record.name("benchmark"), device="cuda", parameters=axes)
        for summary in state.records("summaries"):
            _summary(results, case, summary)
        if state.take("is_skipped"):
            case.outcome("skipped", state.text("skip_reason"))
        left = state.left()
        for known in ("name", "axis_values", "summaries"):  # the axes again, and what explains the tags
            left.pop(known, None)
        case.fields(left)


def _summary(results: Results, case: Subject, summary: Object) -> None:
    tag = summary.name("tag").removeprefix("nv/")
    unit, better = UNITS.get(summary.text("hint") or "", (None, None))
    data = {datum.name("name"): datum.take("value") for datum in summary.records("data")}
    if tag in FILES:
        _samples(results, case, data, *FILES[tag])
        return
    metric, statistic = tag.replace("/", "_"), None
    for prefix, named in TIMES.items():
        if tag.startswith(f"{prefix}/"):
            metric, statistic = named, STATISTICS.get(tag.removeprefix(f"{prefix}/"), tag.removeprefix(f"{prefix}/"))
            better = "lower" if statistic in ("mean", "median", "min", "max", "q1", "q3") else None
    for name, value in data.items():
        number = "inf" if value is None else value  # which JSON has no word for
        case.metric(metric if name == "value" else f"{metric}_{name}", number, unit, statistic=statistic, better=better)


def _samples(results: Results, case: Subject, data: dict[str, Any], metric: str, unit: str) -> None:
    file_name, size = data.get("filename"), data.get("size")
    content = _read_samples(results, file_name) if isinstance(file_name, str) else None
    if content is None:
        results.note(f"sample file {file_name} is not there; its samples are left out")
    elif len(content) % 4 or str(len(content) // 4) != str(size):
        results.note(f"sample file {file_name} does not hold the {size} samples it should; they are left out")
    else:
        case.samples([value for (value,) in struct.iter_unpack("<f", content)], unit, metric=metric, block=0)


def _read_samples(results: Results, file_name: str) -> bytes | None:
    """The file a summary names, relative to the JSON or to where the program ran, which ends in the same folder."""
    folder = results.part.path.parent
    content = read_companion(folder, file_name)
    return content if content is not None else read_companion(folder, "/".join(PurePosixPath(file_name).parts[-2:]))
