"""JMH, the Java microbenchmark harness: what `-rf json` writes."""

from collections.abc import Iterable, Iterator
from typing import Any

from ...warehouse.events import Environment
from ..readers.document import BadRecord, Object, labels
from ..readers.json_format import JsonFormat
from ..readers.results import Results, Subject

MOST_SAMPLES = 1_000_000  # of one histogram
MACHINE = ("jmhVersion", "jvm", "jvmArgs", "jdkVersion", "vmName", "vmVersion")


class Jmh(JsonFormat):
    """Results of JMH."""

    name = "jmh"
    doc = "JMH JSON"
    becomes = "jmh.mode, jmh.threads → axes; `rawData` → samples of throughput or latency"
    holds = list
    shapes = (frozenset({"[].benchmark", "[].primaryMetric"}), frozenset({"[].jmhVersion", "[].benchmark", "[].mode"}))

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """The run is the folder's; its machine is that of the first benchmark."""
        records: list[Any] = document
        first = next((record for record in records if isinstance(record, Object)), Object())
        machine = {field: first.get(field) for field in MACHINE}
        results.run(environment=Environment(environment_id="", extra=labels(machine)))
        results.context = machine
        results.note(
            "its scores, and percentiles but in mode sample, are over iterations that are means: means of means"
        )
        return records

    def load(self, record: Object, results: Results) -> None:
        """One benchmark in one mode."""
        axes = {f"jmh.{field}": record.take(field) for field in ("mode", "threads")}
        case = results.case(record.name("benchmark"), parameters={**axes, **record.section("params")})
        calls = record.whole("measurementBatchSize") if axes["jmh.mode"] in ("sample", "ss") else None
        primary, secondary = record.section("primaryMetric"), record.section("secondaryMetrics")
        _metric(results, case, primary, None, calls)
        for name in secondary:
            _metric(results, case, secondary.section(name), name, calls)
        for field, value in results.context.items():
            if record.get(field) == value:
                record.take(field)
        case.fields(record.left())


def _metric(results: Results, case: Subject, score: Object, name: str | None, calls: int | None) -> None:
    """One metric; `calls` is in each sample, None in the modes that write a mean for each iteration."""
    unit = score.text("scoreUnit")
    if name is None:
        name = "throughput" if (unit or "").startswith("ops/") else "latency"
    case.metric(name, score.take("score"), unit, statistic="mean")
    case.metric(name, score.take("scoreError"), unit, statistic="error")
    for bound, side in zip(score.array("scoreConfidence"), ("low", "high"), strict=False):
        case.metric(name, bound, unit, statistic=side, better=None)
    for percent, value in score.section("scorePercentiles").items():
        case.metric(name, value, unit, statistic=f"p{percent.removesuffix('.0')}")
    for fork, values in enumerate(score.array("rawData")):
        if not isinstance(values, list):
            raise BadRecord("rawData is not a list of lists")
        case.samples(values, unit, loops=calls, metric=name, process=fork, block=fork)
    for fork, iterations in enumerate(score.array("rawDataHistogram")):
        pairs = list(_pairs(iterations))
        count = sum(times for _, times in pairs)
        if count > MOST_SAMPLES:
            results.note(f"a histogram of {count} samples is kept as text")
            case.text(f"{name}_histogram", iterations)
        else:
            values = [value for value, times in pairs for _ in range(times)]
            case.samples(values, unit, loops=calls, metric=name, process=fork, block=fork)


def _pairs(value: Any) -> Iterator[tuple[Any, int]]:
    """The values of a histogram and how often each was met, out of however many lists."""
    if isinstance(value, list) and len(value) == 2 and type(value[1]) is int and value[1] >= 0:
        yield value[0], value[1]
    elif isinstance(value, list):
        for inner in value:
            yield from _pairs(inner)
    else:
        raise BadRecord("rawDataHistogram is not a list of values and counts")
