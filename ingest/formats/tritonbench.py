"""Results of tritonbench: its CSV of an operator, and the JSON that names each value by operator, input and backend."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ..format import Head
from ..readers.declared import Declared
from ..readers.document import Object
from ..readers.results import Results, Subject, number
from ._headed_table import HeadedTable, providers, typed

COLUMN = re.compile(r"(.+)-([a-z_0-9]+)")  # triton_matmul-latency
VALUE = re.compile(r"tritonbench_(?P<case>.+?)\[x_(?P<input>.*)-(?P<backend>[^-\]]*)\]_(?P<metric>.+)", re.DOTALL)
MEAN = re.compile(r"tritonbench_.+?\[.*\]-.+-avg", re.DOTALL)
# a latency with the distance of its extremes: 0.009000 (±1.50%)
SPREAD = re.compile(r" *(\S{1,40}) \(±(\S{1,40})%\)")
PASS = re.compile(r"tritonbench_(.+)-pass", re.DOTALL)
AVERAGE = "average"  # in place of an input, in the last row
AXIS = "x_val"  # the input, where no column names it
METRICS = {  # name, unit, direction
    "latency": ("latency", "ms", "lower"), "tflops": ("throughput", "TFLOPS", "higher"), "gbps": ("bandwidth", "GB/s", "higher"),
    "speedup": ("speedup", "ratio", "higher"), "compile_time": ("compile_latency", "ms", "lower"),
    "walltime": ("walltime", "ms", "lower"), "accuracy": ("accuracy", None, "higher"), "hw_roofline": ("hw_roofline", None, None),
    "mem_footprint_compression_ratio": ("mem_footprint_compression_ratio", "ratio", "higher"),
    "cuda_time": ("gpu_time", "ms", "lower"), "gpu_peak_mem": ("gpu_peak", "GB", "lower"),
    "cpu_peak_mem": ("cpu_peak", "GB", "lower"),
}  # fmt: skip


class Tritonbench(HeadedTable):
    """A table of tritonbench."""

    name = "tritonbench"
    doc = "tritonbench CSV"
    becomes = "file → case, x_val → axis, `<backend>-<metric>` → metric of the backend"
    lost = "the average of all inputs"
    separators = ";,"

    def fits(self, header: list[str], row: list[str]) -> bool:
        """The size, then columns that end in a metric of tritonbench; operators have others besides, and some of no backend."""
        named = [match for name in header[1:] if (match := COLUMN.fullmatch(name)) and match[2] in METRICS]
        return "-" not in header[0] and 0 < len(named) >= (len(header) - 1) / 2

    def open(self, document: Any, results: Results) -> Iterator[Any]:
        """The inputs, without their average."""
        return (one for one in document if not (isinstance(one, Object) and next(iter(one.values()), "") == AVERAGE))

    def load(self, record: Object, results: Results) -> None:
        """One input, of all backends."""
        axis, *columns = record
        case = providers(record, results, [axis])
        for name in columns:
            match = COLUMN.fullmatch(name)
            backend, key = (match[1], match[2]) if match else (None, name)
            _add(case(backend=backend), key, record.take(name))


class TritonbenchJson(Declared):
    """Values of tritonbench by name: of an operator (--output-json), or of a night."""

    name = "tritonbench-json"
    doc = "tritonbench JSON, of an operator or of a night"
    becomes = "operator → case, input → axis `x_val`, each value → metric of its backend; a pass of 0 → fail_to_run"
    lost = "the averages of all inputs"
    holds = Object
    about = {
        "started_at": "env.benchmark_date", "git_commit": "env.triton_commit", "git_branch": "env.triton_branch",
        "gpus": "env.device", "suite": "name",
    }  # fmt: skip

    def recognise(self, head: Head) -> bool:
        """Return whether any key names an operator's input and backend, or whether it passed."""
        return head.text.lstrip().startswith("{") and any(
            VALUE.fullmatch(path) or PASS.fullmatch(path) for path in map(_key, head.paths)
        )

    def evidence(self, head: Head) -> str:
        """The beginning that all its keys share."""
        return "has keys that begin with tritonbench_"

    def identity(self, name: str) -> str:
        """Nothing: the keys name operators."""
        return ""

    def find(self, document: Any) -> Iterable[Any]:
        """A record a key, without the averages."""
        values = document.section("metrics") if "metrics" in document else document
        found = [(key, values.take(key)) for key in list(values)]
        return [Object([("key", key), ("value", value)]) for key, value in found if not _is_average(key)]

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """The night's GPU and versions describe the run."""
        records = self.find(document)
        env = document.get("env")
        if isinstance(env, Object):
            for key in [key for key, value in env.items() if value == "unknown"]:
                env.take(key)
                del env[key]
            described = self._described(document)
            results.run(**{**described, "tags": described["tags"] | document.left()})
        return records

    def load(self, record: Object, results: Results) -> None:
        """One value, or whether all inputs of an operator were measured."""
        key, value = record.name("key"), record.take("value")
        if match := VALUE.fullmatch(key):
            case = results.case(match["case"], backend=match["backend"], parameters={AXIS: typed(match["input"])})
            _add(case, match["metric"], value)
        elif match := PASS.fullmatch(key):
            failed = number(value) == 0
            reason = "not all of its inputs were measured"
            results.case(match[1]).outcome("fail_to_run" if failed else "ok", reason if failed else None)
        else:
            results.case(key).metric("value", value)


def _add(case: Subject, key: str, value: Any) -> None:
    metric, unit, better = METRICS.get(key, (key, None, None))
    plain = value.removesuffix("x") if isinstance(value, str) else value
    if isinstance(value, str) and (spread := SPREAD.fullmatch(value)):
        plain = spread[1]
        case.metric(metric, spread[2], "%", statistic="error", better=None)
    if number(plain) is not None:
        case.metric(metric, plain, unit, better=better)
    else:
        case.text(metric, value)


def _key(path: str) -> str:
    return path.removeprefix("metrics.")


def _is_average(key: str) -> bool:
    match = VALUE.fullmatch(key)
    return match["input"] == AVERAGE if match else MEAN.fullmatch(key) is not None
