"""Bencher Metric Format: benchmark → measure → value, with its limits where they are known."""

from collections.abc import Iterable
from typing import Any

from ..format import Head
from ..readers.document import BadRecord, Object
from ..readers.json_format import JsonFormat
from ..readers.results import Results

VALUES = {"value": None, "lower_value": "low", "upper_value": "high"}
MEASURES = {  # of Bencher's own: unit and direction
    "latency": ("ns", "lower"), "throughput": ("ops/s", "higher"), "build-time": ("s", "lower"), "file-size": ("bytes", "lower"),
    "instructions": ("count", "lower"), "estimated-cycles": ("count", "lower"), "total-read-write": ("count", "lower"),
    "l1-hits": ("count", None), "l2-hits": ("count", None), "ram-hits": ("count", None), "json-size": ("bytes", "lower"),
}  # fmt: skip


class Bencher(JsonFormat):
    """Results in the Bencher Metric Format."""

    name = "bencher"
    doc = "Bencher Metric Format (BMF) JSON"
    becomes = "measure → metric: a latency is in ns, a throughput in ops/s, others of Bencher's own as it says"

    def recognise(self, head: Head) -> bool:
        """Return whether every value stands two keys deep, beside nothing but its limits."""
        deep = {path.rpartition(".")[2] for path in head.paths if path.count(".") == 2}
        return "value" in deep and deep <= set(VALUES) and not any(
            path.count(".") > 2 or "[]" in path for path in head.paths
        )  # fmt: skip

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """A record a benchmark."""
        return [Object([("name", name), ("measures", measures)]) for name, measures in document.items()]

    def load(self, record: Object, results: Results) -> None:
        """One benchmark."""
        case = results.case(record.name("name"))
        for measure, value in record.section("measures").items():
            if not isinstance(value, Object):
                raise BadRecord(f"{measure[:60]} is not an object with a value")
            unit, better = MEASURES.get(measure, (None, None))
            for key, statistic in VALUES.items():
                case.metric(
                    measure.replace("-", "_"),
                    value.take(key),
                    unit,
                    statistic=statistic,
                    better=None if statistic else better,
                )
            case.fields(value.left())
