"""TorchBench userbenchmarks: metrics named by pairs of key and value, or by words of the benchmark's own."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..readers.declared import Declared, Quantity
from ..readers.document import Object
from ..readers.results import Results, Subject

PAIRS = re.compile(r"(\w+)=(.*?)(?:, (?=\w+=)|$)")
METRICS = {  # by their name in the run of TorchBench's own models
    "latencies": Quantity("latency", "ms", "median"), "cpu_peak_mem": Quantity("cpu_peak", "GB", better="lower"),
    "gpu_peak_mem": Quantity("gpu_peak", "GB", better="lower"), "ttfb": Quantity("ttfb", "ms"),
    "pt2_compilation_time": Quantity("compile_latency", "s"),
    "pt2_graph_breaks": Quantity("graph_breaks", "count", better="lower"),
    "throughputs": Quantity("throughput", better="higher"), "model_flops": Quantity("model_flops", better="higher"),
}  # fmt: skip
NONE = {"None", "[]", ""}


class TorchbenchUserbenchmark(Declared):
    """Metrics of a userbenchmark."""

    name = "torchbench-userbenchmark"
    doc = "TorchBench userbenchmark JSON"
    becomes = (
        "pairs in the name of a metric → case (model) and axes; other metrics belong to a case of the benchmark's name"
    )
    holds = Object
    shapes = (frozenset({"name", "environ.pytorch_git_version", "metrics"}),)
    about = {"git_commit": "environ.pytorch_git_version", "torch": "environ.pytorch_version", "gpus": "environ.device"}

    def identity(self, name: str) -> str:
        """Nothing: the file says it."""
        return ""

    def find(self, document: Any) -> Iterable[Any]:
        """A record a metric."""
        suite, metrics = document.get("name"), document.section("metrics")
        document.take("name")
        return [Object([("suite", suite), ("key", key), ("value", value)]) for key, value in metrics.items()]

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """The rest of the document describes the run."""
        records = self.find(document)
        described: Mapping[str, Any] = self._described(document)
        results.run(**{**described, "tags": document.left()})
        return records

    def load(self, record: Object, results: Results) -> None:
        """One metric."""
        key, value, suite = record.name("key"), record.take("value"), record.text("suite")
        axes = dict(PAIRS.findall(key)) if PAIRS.match(key) else {}
        case, metric = _case(results, suite, axes), axes.get("metric", key)
        METRICS.get(metric, Quantity(metric)).add(case, value)
        case.fields(record.left())


def _case(results: Results, suite: str | None, axes: dict[str, str]) -> Subject:
    size = axes.get("bs", "")
    more = {key: value for key, value in axes.items() if key not in ("model", "test", "device", "bs", "metric")}
    test = {"train": "training", "eval": "inference"}.get(axes.get("test", ""), axes.get("test"))
    return results.case(
        axes.get("model") or suite or "userbenchmark", suite=suite, mode=test, device=axes.get("device"),
        batch_size=int(size) if size.isdecimal() and len(size) < 10 else None,
        parameters={key: value for key, value in more.items() if value not in NONE},
    )  # fmt: skip
