"""trtexec of TensorRT: the times of each inference (--exportTimes) and of each layer (--exportProfile)."""

from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

from ..readers.document import Object
from ..readers.json_format import ListFormat
from ..readers.results import Results, number

PARTS = {
    "latency": ("latencyMs", "", ""), "compute": ("computeMs", "startComputeMs", "endComputeMs"),
    "h2d": ("h2dMs", "startH2dMs", "endH2dMs"), "d2h": ("d2hMs", "startD2hMs", "endD2hMs"),
    "enqueue": ("enqMs", "startEnqMs", "endEnqMs"),
    "h2d_old": ("inMs", "startInMs", "endInMs"), "d2h_old": ("outMs", "startOutMs", "endOutMs"),
}  # fmt: skip


class TrtexecTimes(ListFormat):
    """Times of inferences."""

    name = "trtexec-times"
    doc = "trtexec JSON of inferences (--exportTimes)"
    becomes = "samples of latency, compute, h2d, d2h, enqueue"
    lost = "when each part began and ended"
    shapes = (frozenset({"[].startComputeMs", "[].endComputeMs"}),)

    def identity(self, name: str) -> str:
        """The name of the file, which is the name of the case."""
        return PurePath(name).stem

    def load(self, record: Object, results: Results) -> None:
        """One inference."""
        case = results.case(results.file_name())
        for name, (field, start, end) in PARTS.items():
            value, began, ended = (record.take(key) for key in (field, start, end))
            if value is None and number(began) is not None and number(ended) is not None:
                value = round(number(ended) - number(began), 9)  # type: ignore[operator]  # both are numbers
            if value is not None:
                case.samples([value], "ms", metric=name.removesuffix("_old"), sample=results.tally.lines, block=0)
        case.fields(record.left())


class TrtexecProfile(ListFormat):
    """Times of layers."""

    name = "trtexec-profile"
    doc = "trtexec JSON of layers (--exportProfile)"
    becomes = "file → suite; times → latency; percentage → share"
    shapes = (frozenset({"[].name", "[].timeMs", "[].averageMs", "[].percentage"}),)

    def identity(self, name: str) -> str:
        """The name of the file, which is the suite."""
        return PurePath(name).stem

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """The first entry says how many inferences there were."""
        records: list[Any] = document
        if records and isinstance(records[0], Object) and set(records[0]) == {"count"}:
            results.run(tags=dict(records[0]))
            return records[1:]
        return records

    def load(self, record: Object, results: Results) -> None:
        """One layer."""
        case = results.case(record.name("name"), suite=results.file_name())
        for field, statistic in (("averageMs", "mean"), ("medianMs", "median"), ("timeMs", "sum")):
            case.metric("latency", record.take(field), "ms", statistic=statistic)
        case.metric("share", record.take("percentage"), "%")
        case.fields(record.left())
