"""vitest bench: what --outputJson writes."""

from collections.abc import Iterable
from typing import Any

from ..readers.declared import Declared, Quantity
from ..readers.document import Object
from ..readers.results import Results

STATISTICS = {"sd": "stddev", "sem": "stderr", "moe": "error", "p995": "p99.5", "p999": "p99.9"}


class Vitest(Declared):
    """Results of vitest bench."""

    name = "vitest"
    doc = "vitest bench JSON (--outputJson)"
    becomes = "file and groups → suite; `samples` → latency; hz → throughput"
    holds = Object
    shapes = (frozenset({"files[].filepath", "files[].groups[].fullName", "files[].groups[].benchmarks"}),)
    names = ("name",)
    axes = {"suite": "suite"}
    values = {
        "samples": Quantity("latency", "ms", loops=None, block=0), "hz": Quantity("throughput", "ops/s", "mean"),
        "sampleCount": Quantity("samples", "count"), "totalTime": Quantity("total_time", "ms", better=None),
        "variance": Quantity("latency", "ms²", "variance", better=None), "rme": Quantity("latency", "%", "rme", better=None),
        **{key: Quantity("latency", "ms", named) for key, named in STATISTICS.items()},
    }  # fmt: skip
    patterns = {r"(min|max|mean|median|p75|p99)": Quantity("latency", "ms", r"\1")}

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """A record a benchmark, with the file and groups that it is in."""
        records = list[Any]()
        for file in document.records("files"):
            for group in file.records("groups"):
                for record in group.array("benchmarks"):
                    if isinstance(record, Object):
                        record["suite"] = group.get("fullName") or file.get("filepath")
                        for key in (
                            "id",
                            "rank",
                            "critical",
                            "df",
                            "period",
                        ):  # the mean once more, or of this run only
                            record.take(key)
                    records.append(record)
        return records
