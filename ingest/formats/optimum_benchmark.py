"""optimum-benchmark: the folder of an experiment, of versions 0.2 (2024) to 0.6 (2025).

Its config, its report and both in one file say the same thing three times, and once more as CSV: the report is read, with the
config beside it. A folder with a config only is an experiment that failed.
"""

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

from ...warehouse.console.numbers import counted
from ...warehouse.events import Environment
from ..format import Head
from ..readers.bulk import LONGEST_NAME
from ..readers.document import BadRecord, Object, decode, decode_companion, labels
from ..readers.json_format import JsonFormat, UnlocatedRecords
from ..readers.results import Results, Subject, number
from . import _serving

CONFIG, REPORT, BOTH = "benchmark_config.json", "benchmark_report.json", "benchmark.json"
MEMORY = {
    "max_ram": "rss", "max_allocated": "cuda_allocated", "max_reserved": "cuda_reserved", "max_global_vram": "nvml",
    "max_process_vram": "nvml_process",
}  # fmt: skip
IDENTITY = (  # settings of the backend that are columns, or do not change the work
    "name", "version", "_target_", "model", "processor", "library", "model_type", "device", "device_ids", "seed", "torch_dtype",
    "dtype", "no_weights", "eval_mode",
)  # fmt: skip
WORK = ("input_shapes", "generate_kwargs", "call_kwargs", "forward_kwargs", "training_arguments")
MODES = {"inference", "training"}


class OptimumBenchmark(JsonFormat):
    """Results of optimum-benchmark."""

    name = "optimum-benchmark"
    doc = "optimum-benchmark experiments, JSON or CSV"
    becomes = (
        "target (load_model, prefill, decode …) → axis of the model; max_ram, max_allocated … → memory peaks; config "
        "without report → fail_to_run"
    )
    holds = (Object, list)
    places = ("**/benchmark.json", "**/benchmark_report.json", "**/benchmark_config.json")
    shapes = (
        frozenset({"backend._target_", "launcher._target_"}),
        frozenset({"config.backend._target_", "config.launcher._target_"}),
    )

    def recognise(self, head: Head) -> bool:
        """Return whether it is a config, or measures what reports do."""
        first = head.text.partition("\n")[0].strip()
        table = not first.startswith(("{", "[")) and "." in first and first.isascii()
        paths = {path for column in first.split(",") for path in _prefixes(column)} if table else head.paths
        if any(shape <= paths for shape in self.shapes):
            return True
        targets = {path.removesuffix(".latency") for path in paths if path.endswith(".latency") and path.count(".") < 3}
        keys = ("latency.values", "latency.mean", "memory.max_ram")
        return any(
            f"{target}.memory" in paths and any(f"{target}.{key}" in paths for key in keys) for target in targets
        )

    def left_out(self, head: Head) -> str | None:
        """Files that repeat another in the same folder."""
        folder, own = head.path.parent, head.path.name
        for better in (REPORT, BOTH):
            if own == better:
                return None
            if (folder / better).is_file() and own.startswith("benchmark"):
                return (
                    f"is read with {better} beside it" if own == CONFIG else f"repeats {better}, which lies beside it"
                )
        return None

    def parse(self, text: str) -> Any:
        """A document, or the rows of a table of its fields."""
        return decode(text) if text.lstrip().startswith("{") else list(_rows(text))

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """A record is a target of an experiment."""
        experiments = [_experiment(each, results) for each in (document if isinstance(document, list) else [document])]
        configs = [each.get("config") for each in experiments if isinstance(each, Object)]
        environment = next((found for each in configs if (found := _environment(each)) is not None), None)
        if environment is not None:
            results.run(environment=environment)
        return _targets(experiments)

    def load(self, record: Object, results: Results) -> None:
        """One target, or an experiment without one."""
        config = record.section("config")
        case = _case(results, config, record.get("target"))
        if "target" not in record:
            case.outcome("fail_to_run", "there is a config, but no report: it failed")
        else:
            _measurements(case, record.section("measured"))
        case.fields({"config": left} if (left := config.left()) else {})


def _prefixes(column: str) -> Iterator[str]:
    keys = column.strip().strip('"').split(".")
    for length in range(1, min(len(keys), 5) + 1):
        yield ".".join(keys[:length])


def _rows(text: str) -> Iterator[Any]:
    """The rows as documents; a cell is a value of JSON, or a text."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
        for row in reader:
            if len(row) != len(header):
                yield UnlocatedRecords(row, BadRecord(f"{counted(len(row), 'column')} under a header of {len(header)}"))
                continue
            try:
                yield _nested(header, row)
            except BadRecord as error:
                yield UnlocatedRecords(row, error)
    except csv.Error as error:
        yield UnlocatedRecords(text[:1000], BadRecord(f"not valid CSV: {error}"))


def _nested(header: list[str], row: list[str]) -> Object:
    document = Object()
    for column, cell in zip(header, row, strict=True):
        *above, last = column.split(".")
        inner: Any = document
        for key in above:
            inner = inner.setdefault(key, Object())
            if not isinstance(inner, Object):
                raise BadRecord(f"{column[:60]} is below a field that has a value")
        if last in inner:
            raise BadRecord(f"repeats the column {column[:60]!r}")
        inner[last] = _value(cell)
    return document


def _value(cell: str) -> Any:
    """The Python value of a text that pandas wrote."""
    if cell in ("", "nan", "None"):
        return None
    if cell in ("True", "False"):
        return cell == "True"
    if cell[0] in "[-0123456789":
        try:
            value = json.loads(cell)
        except (ValueError, RecursionError):
            return cell
        return value if not isinstance(value, float) or math.isfinite(value) else cell
    return cell


def _experiment(document: Any, results: Results) -> Any:
    """Config and report of what is a config, a report, or both."""
    if not isinstance(document, Object):
        return document
    if "backend" in document and "launcher" in document:
        return Object([("config", document)])
    if isinstance(document.get("config"), Object):
        return document
    try:
        config = decode_companion(results.part.path.parent, CONFIG)
    except BadRecord as error:
        results.note(f"the config beside it cannot be read: {error}")
        config = None
    return Object([("config", config if isinstance(config, Object) else Object()), ("report", document)])


def _targets(experiments: list[Any]) -> Iterator[Any]:
    for each in experiments:
        report = each.get("report") if isinstance(each, Object) else None
        if not isinstance(each, Object):
            yield each
        elif report is None:
            yield Object([("config", each["config"])])
        elif not isinstance(report, Object):
            yield UnlocatedRecords(each, BadRecord("the report is not an object"))
        else:
            for target, measured in report.items():
                yield Object([("config", each["config"]), ("target", target), ("measured", measured)])


def _environment(config: Any) -> Environment | None:
    recorded = config.get("environment") if isinstance(config, Object) else None
    if not isinstance(recorded, Object):
        return None
    backend, gpus, ram = config.get("backend"), recorded.take("gpu"), number(recorded.get("cpu_ram_mb"), 1e6)
    torch = backend.get("version") if isinstance(backend, Object) and backend.get("name") == "pytorch" else None
    if ram is not None and 0 <= ram < 2**63:
        recorded.take("cpu_ram_mb")
    names = [gpus] if isinstance(gpus, str) else gpus if isinstance(gpus, list) else []
    texts = {
        column: recorded.take(key).strip()
        for column, key in (("cpu", "cpu"), ("os", "platform"), ("architecture", "machine"), ("python", "python_version"))
        if isinstance(recorded.get(key), str)
    }  # fmt: skip
    return Environment(
        environment_id="", logical_cores=recorded.count("cpu_count"),
        ram_bytes=round(ram) if ram is not None and 0 <= ram < 2**63 else None,
        gpus=[name for name in names if isinstance(name, str)] or None, torch=torch if isinstance(torch, str) else None,
        extra=labels(recorded.left()), **texts,
    )  # fmt: skip


def _case(results: Results, config: Object, target: Any) -> Subject:
    backend, scenario = config.section("backend"), config.section("scenario" if "scenario" in config else "benchmark")
    config.take("environment")
    shapes = scenario.get("input_shapes")
    sizes = {key: shapes.count(key) for key in ("batch_size", "sequence_length")} if isinstance(shapes, Object) else {}
    axes: dict[str, Any] = {"target": target}
    for key in list(backend):
        if key not in IDENTITY and isinstance(backend[key], str | int | float) and backend[key] is not False:
            axes[key] = backend.take(key)
    for key in WORK:
        if isinstance(scenario.get(key), Object):
            axes |= {f"{key}.{inner}": value for inner, value in scenario.section(key).items() if inner not in sizes}
    mode = scenario.text("name")
    name = backend.text("model") or config.text("name") or "optimum-benchmark"
    return results.case(
        name[:LONGEST_NAME], mode=mode if mode in MODES else None, device=backend.text("device"),
        dtype=backend.text("torch_dtype") or backend.text("dtype"), backend=backend.text("name"), **sizes,
        parameters={
            key: _serving.axis_value(value) for key, value in axes.items() if value is not None and value not in ({}, [])
        },
    )  # fmt: skip


def _measurements(case: Subject, measured: Object) -> None:
    latency, memory = measured.section("latency"), measured.section("memory")
    unit = latency.text("unit") or "s"
    case.samples(latency.array("values"), unit, block=0)
    case.metric("latency_count", latency.take("count"), "count")
    case.metric("latency", latency.take("stdev_"), "%", statistic="cv")
    for key in list(latency):
        if key not in ("unit", "values", "count", "stdev_") and number(latency[key]) is not None:
            total = {"better": None} if key == "total" else {}
            case.metric("latency", latency.take(key), unit, statistic=_serving.statistic(key), **total)
    unit = memory.text("unit") or "MB"
    for key, source in MEMORY.items():
        if memory.get(key) is not None:
            case.memory([memory.take(key)], unit, source=source)
    for name, better in (("throughput", "higher"), ("efficiency", "higher"), ("energy", "lower")):
        recorded = measured.section(name)
        unit_of = recorded.text("unit")
        for key in list(recorded):
            if key != "unit":
                case.metric(name if key == "value" else f"{name}_{key}", recorded.take(key), unit_of, better=better)
    case.fields(measured.left())
