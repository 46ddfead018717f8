"""Criterion.rs: its folder (target/criterion), a subfolder for each benchmark and baseline."""

from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

from ...warehouse.console.numbers import counted
from ..readers.document import BadRecord, Object, decode_companion, show
from ..readers.json_format import JsonFormat
from ..readers.results import Results, Subject, number

LATEST = ("new", "change")  # folders of the latest measurement; any other holds a baseline
ESTIMATES = {"mean": "mean", "median": "median", "medianabsdev": "mad", "slope": "slope", "stddev": "stddev"}


class Criterion(JsonFormat):
    """Results of Criterion.rs."""

    name = "criterion"
    doc = "Criterion.rs folder (target/criterion)"
    becomes = "`change` → change_mean, change_median, below 0 if faster"
    lost = "tukey.json, raw.csv"
    places = ("**/estimates.json",)
    shapes = (
        frozenset({"Mean.point_estimate", "Median.point_estimate"}),
        frozenset({"mean.point_estimate", "median.point_estimate", "mean.confidence_interval"}),
    )

    def identity(self, name: str) -> str:
        """The folder of the benchmark."""
        return PurePath(name).parent.parent.name

    def group(self, name: str) -> str:
        """The baseline; the latest measurement has none."""
        baseline = PurePath(name).parent.name
        return "" if baseline in LATEST else baseline

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """A file is one record."""
        results.note("its means are over samples that are means over iterations already: means of means")
        return [document]

    def load(self, record: Object, results: Results) -> None:
        """One benchmark, as measured or as changed."""
        folder = results.part.path.parent
        about = _about(folder.parent, folder.name)
        name = about.text("full_id") or PurePath(results.part.name).parent.parent.as_posix()
        name = folder.parent.name if name == "." else name
        value = about.text("value_str")
        case = results.case(name, suite=about.text("group_id"), parameters={"value": value} if value else None)
        changed = folder.name == "change"
        for key in record:
            statistic = ESTIMATES.get(key.lower().replace("_", ""), key)
            estimate = record.take(key)
            if isinstance(estimate, Object):
                _estimate(case, estimate, statistic, changed)
            elif estimate is not None:
                case.text(key, estimate)
        if not changed:
            _samples(case, decode_companion(folder, "sample.json"))
        throughput = about.take("throughput")
        for unit, work in throughput.items() if isinstance(throughput, Object) else ():
            case.metric("work", work, unit.lower(), better=None)
        for key in ("function_id", "directory_name", "title"):
            about.take(key)  # parts of full_id
        case.fields(about.left())


def _about(benchmark: Any, baseline: str) -> Object:
    """The description of the benchmark, in a file next to its results."""
    for folder in (baseline, "new", "base"):
        about = decode_companion(benchmark, f"{folder}/benchmark.json")
        if isinstance(about, Object):
            return about
    return Object()


def _estimate(case: Subject, estimate: Object, statistic: str, changed: bool) -> None:
    metric, unit = ("change", "ratio") if changed else ("latency", "ns")
    interval = estimate.section("confidence_interval")
    point = estimate.take("point_estimate")
    if changed:
        case.metric(metric, point, unit, statistic=statistic, better="lower")
    else:
        case.metric(metric, point, unit, statistic=statistic)
    case.metric(metric, estimate.take("standard_error"), unit, statistic=f"{statistic}_stderr", better=None)
    for suffix in ("low", "high"):
        bound = interval.take({"low": "lower_bound", "high": "upper_bound"}[suffix])
        case.metric(metric, bound, unit, statistic=f"{statistic}_{suffix}", better=None)
    case.metric("confidence_level", interval.take("confidence_level"), "ratio", statistic=f"{metric}_{statistic}")
    case.fields(estimate.left())


def _samples(case: Subject, sample: Any) -> None:
    if isinstance(sample, Object):
        iterations, times = sample.array("iters"), sample.array("times")
        case.text("sampling_mode", sample.take("sampling_mode"))
    elif isinstance(sample, list) and len(sample) == 2 and all(isinstance(part, list) for part in sample):
        iterations, times = sample
    elif sample is None:
        return
    else:
        raise BadRecord("sample.json holds no lists of iterations and times")
    if len(iterations) != len(times):
        raise BadRecord(
            f"sample.json has {counted(len(times), 'time')} for {counted(len(iterations), 'count')} of iterations"
        )
    for index, (count, time) in enumerate(zip(iterations, times, strict=True)):
        loops = Object([("iters", count)]).whole("iters")
        if not loops or loops < 0 or number(time) is None:
            raise BadRecord(f"sample.json: sample {index} took {show(time)} for {show(count)} iterations")
        case.samples([time], "ns", loops=loops, together=True, sample=index, block=0)
