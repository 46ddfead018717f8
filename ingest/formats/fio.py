"""fio: its JSON output."""

from collections.abc import Iterable
from typing import Any

from ..format import FILE
from ..readers.document import Object
from ..readers.json_format import JsonFormat
from ..readers.results import Results, Subject, number

DIRECTIONS = ("read", "write", "trim")
LATENCIES = {"lat": "latency", "clat": "completion_latency", "slat": "submission_latency"}
STATISTICS = {"min": "min", "max": "max", "mean": "mean", "stddev": "stddev"}
PLACES = ("name", "filename", "directory", "output", "description")  # options that say where, and not what


class Fio(JsonFormat):
    """Results of fio."""

    name = "fio"
    doc = "fio JSON"
    becomes = (
        "job × direction → case; lat, clat, slat → latency, completion_latency, submission_latency; iops; bandwidth → "
        "throughput"
    )
    runs = FILE
    shapes = (frozenset({"fio version", "jobs"}),)

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """The run of that time."""
        began = document.moment("timestamp_ms") or document.moment("timestamp")
        common, jobs = document.section("global options"), document.array("jobs")
        results.context = dict(common)
        results.run(started_at=began, tags=document.left())
        records: list[Any] = jobs
        return records

    def load(self, record: Object, results: Results) -> None:
        """One job."""
        name, error = record.name("jobname"), record.whole("error")
        said = results.context | record.section("job options")
        options = {key: value for key, value in said.items() if key not in PLACES}
        for direction in DIRECTIONS:
            done = record.section(direction)
            if error or number(done.get("total_ios", done.get("io_bytes"))):
                case = results.case(name, parameters={"direction": direction, **options})
                if error:
                    case.outcome("fail_to_run", f"error {error}")
                _direction(case, done)
                case.fields(done.left())
        rest = results.case(name, parameters=options)
        for key, metric in (("usr_cpu", "user_cpu"), ("sys_cpu", "system_cpu")):
            rest.metric(metric, record.take(key), "%")
        rest.metric("context_switches", record.take("ctx"), "count")
        rest.fields(record.left())


def _direction(case: Subject, done: Object) -> None:
    for key, metric in LATENCIES.items():
        for field, unit in ((f"{key}_ns", "ns"), (key, "us")):  # in us until fio 3
            times = done.section(field)
            if not number(times.get("max")):
                continue
            for name, statistic in STATISTICS.items():
                case.metric(metric, times.take(name), unit, statistic=statistic)
            percentiles = times.section("percentile")
            for percent in list(percentiles):
                rank = number(percent)
                case.metric(
                    metric, percentiles.take(percent), unit, statistic=f"p{percent if rank is None else f'{rank:g}'}"
                )
    bandwidth = done.take("bw_bytes")
    case.metric(
        "throughput", done.take("bw") if bandwidth is None else bandwidth, "KiB/s" if bandwidth is None else "B/s"
    )
    done.take("bw")
    case.metric("iops", done.take("iops"), "ops/s")
    case.metric("operations", done.take("total_ios"), "count")
    case.metric("duration", done.take("runtime"), "ms", better=None)
