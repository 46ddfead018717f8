"""TorchBench userbenchmarks and their bisections: metrics named by pairs of key and value, or by words of the benchmark's own."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from ...warehouse.events import as_json
from ..readers.declared import Declared, Quantity
from ..readers.document import BadRecord, Object, show
from ..readers.json_format import UnlocatedRecords
from ..readers.results import Results, Subject

PAIRS = re.compile(r"(\w+)=(.*?)(?:, (?=\w+=)|$)")
WORDS = re.compile(  # of the run on CPUs: alexnet-eval_latency
    r"(?P<model>.+?)-(?P<test>train|eval)(?:-(?P<run>.+))?_(?P<metric>latency|throughput|cmem|iter_latencies|iter_throughputs)"
)
NIGHTLY = re.compile(  # of torch-nightly: test_eval[resnet50-cuda-eager]_latency
    r"test_(?P<test>train|eval)\[(?P<model>.+)-(?P<device>[^-]+)-(?P<backend>[^-]+)\]_(?P<metric>latency|cmem|gmem)"
)
# of torch-nightly -> what test_bench calls it
NIGHTLY_METRICS = {"latency": "latencies", "cmem": "cpu_peak_mem", "gmem": "gpu_peak_mem"}
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
    holds: ClassVar[type | tuple[type, ...]] = Object
    shapes: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"name", "environ.pytorch_git_version", "metrics"}),)
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
        axes = dict(PAIRS.findall(key)) if PAIRS.match(key) else _nightly(key) or _words(key, suite)
        case, metric = _case(results, suite, axes), axes.get("metric", key)
        METRICS.get(metric, Quantity(metric)).add(case, value)
        case.fields(record.left())


class TorchbenchBisection(TorchbenchUserbenchmark):
    """The result of a bisection of a userbenchmark, with the metrics of both commits of each step."""

    name = "torchbench-bisection"
    doc = "TorchBench bisection JSON (bisection.py)"
    becomes = "commit → run with its metrics, as `torchbench-userbenchmark`"
    histories = True
    holds = (Object, list)
    shapes = (
        frozenset({"result[].commit1_digest", "result[].commit2_digest"}),
        frozenset({"[].commit1_digest", "[].commit2_digest"}),
        frozenset({"target_repo", "start", "end", "result"}),
    )

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """A run a commit; one that ends a step and begins the next is there twice."""
        if isinstance(document, list):
            return self._commits(document, {}, results)
        return self._commits(document.array("result"), document.left(), results)

    def _commits(self, steps: list[Any], tags: dict[str, Any], results: Results) -> Iterator[Any]:
        met = set()
        for step in steps:
            for side in ("commit1", "commit2") if isinstance(step, Object) else ():
                digest, commit, time = step.get(f"{side}_digest"), step.get(side), step.get(f"{side}_time")
                content = as_json([commit, digest])
                if content in met:
                    continue
                met.add(content)
                about = digest if isinstance(digest, Object) and isinstance(digest.get("metrics"), Object) else Object()
                described: Mapping[str, Any] = self._described(about)
                environ = about.take("environ")
                more = environ.left() if isinstance(environ, Object) else {}
                said = {"commit": commit, "commit_time": time, **tags, **more}
                results.run(content=content, **{**described, "tags": described["tags"] | said})
                if about:
                    yield from self.find(about)
                else:
                    yield UnlocatedRecords(digest, BadRecord(f"{side}_digest is {show(digest)}, without metrics"))


def _nightly(key: str) -> dict[str, str]:
    words = NIGHTLY.fullmatch(key)
    return {**words.groupdict(), "metric": NIGHTLY_METRICS[words["metric"]]} if words else {}


def _words(key: str, suite: str | None) -> dict[str, str]:
    words = WORDS.fullmatch(key)
    found = {name: word for name, word in words.groupdict().items() if word} if words else {}
    return {**found, "device": "cpu"} if found and suite == "cpu" else found


def _case(results: Results, suite: str | None, axes: dict[str, str]) -> Subject:
    size = axes.get("bs", "")
    more = {
        key: value for key, value in axes.items() if key not in ("model", "test", "device", "backend", "bs", "metric")
    }
    test = {"train": "training", "eval": "inference"}.get(axes.get("test", ""), axes.get("test"))
    return results.case(
        axes.get("model") or suite or "userbenchmark", suite=suite, mode=test, device=axes.get("device"),
        backend=axes.get("backend"), batch_size=int(size) if size.isdecimal() and len(size) < 10 else None,
        parameters={key: value for key, value in more.items() if value not in NONE},
    )  # fmt: skip
