"""TorchBench userbenchmarks: metrics named by pairs of key and value, or by words of the benchmark's own."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..readers.declared import Declared, Quantity
from ..readers.document import Object
from ..readers.results import Results, Subject

PAIRS = re.compile(r"(\w+)=(.*?)(?:, (?=\w+=)|$)")
WORDS = re.compile(  # of the run on CPUs: alexnet-eval_latency
    r"(?P<model>.+?)-(?P<test>train|eval)(?:-(?P<run>.+))?_(?P<metric>latency|throughput|cmem|iter_latencies|iter_throughputs)"
)
METRICS = {  # by their name in the runs of TorchBench's own models; what it calls GB are GiB: 3.8720703125 is 3,965 MiB
    "latencies": Quantity("latency", "ms", "median"), "cpu_peak_mem": Quantity("cpu_peak", "GiB", better="lower"),
    "gpu_peak_mem": Quantity("gpu_peak", "GiB", better="lower"), "ttfb": Quantity("ttfb", "ms"),
    "pt2_compilation_time": Quantity("compile_latency", "s"),
    "pt2_graph_breaks": Quantity("graph_breaks", "count", better="lower"),
    "throughputs": Quantity("throughput", better="higher"), "model_flops": Quantity("model_flops", better="higher"),
    "latency": Quantity("latency", "ms", "mean"), "iter_latencies": Quantity("latency", "ms", block=0),
    "throughput": Quantity("throughput", better="higher"), "iter_throughputs": Quantity("throughput", better="higher", block=0),
    "cmem": Quantity("cpu_peak", "GiB", better="lower"),
}  # fmt: skip
NONE = {"None", "[]", ""}


class TorchbenchUserbenchmark(Declared):
    """Metrics of a userbenchmark."""

    name = "torchbench-userbenchmark"
    doc = "TorchBench userbenchmark JSON"
    becomes = (
        "pairs or words in the name of a metric → case (model) and axes; other metrics → a case of the benchmark's name"
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
        axes = dict(PAIRS.findall(key)) if PAIRS.match(key) else _words(key, suite)
        case, metric = _case(results, suite, axes), axes.get("metric", key)
        METRICS.get(metric, Quantity(metric)).add(case, value)
        case.fields(record.left())


def _words(key: str, suite: str | None) -> dict[str, str]:
    words = WORDS.fullmatch(key)
    found = {name: word for name, word in words.groupdict().items() if word} if words else {}
    return {**found, "device": "cpu"} if found and suite == "cpu" else found


def _case(results: Results, suite: str | None, axes: dict[str, str]) -> Subject:
    size = axes.get("bs", "")
    more = {key: value for key, value in axes.items() if key not in ("model", "test", "device", "bs", "metric")}
    test = {"train": "training", "eval": "inference"}.get(axes.get("test", ""), axes.get("test"))
    return results.case(
        axes.get("model") or suite or "userbenchmark", suite=suite, mode=test, device=axes.get("device"),
        batch_size=int(size) if size.isdecimal() and len(size) < 10 else None,
        parameters={key: value for key, value in more.items() if value not in NONE},
    )  # fmt: skip
