"""google-benchmark: what `--benchmark_format=json` or `--benchmark_out` writes."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from ...warehouse.events import Environment
from ..format import FILE
from ..readers.document import BadRecord, Object, labels
from ..readers.json_format import JsonFormat
from ..readers.results import Results, Subject, number

AGGREGATES = {"mean", "median", "stddev", "cv", "BigO", "RMS"}
MACHINE = ("caches", "cpu_scaling_enabled", "aslr_enabled", "library_version", "library_build_type")
SETTINGS = {"repetitions", "repetition_index", "threads", "family_index", "per_family_instance_index", "iterations"}
RATES = {"bytes_per_second": "bytes/s", "items_per_second": "items/s"}
TIMES = (("real_time", "latency"), ("cpu_time", "cpu_time"))


class GoogleBenchmark(JsonFormat):
    """Results of google-benchmark."""

    name = "google-benchmark"
    doc = "google-benchmark JSON"
    becomes = "iteration → timing of `iterations` loops, and cpu_time; counters → metrics"
    runs = FILE
    shapes = (
        frozenset({"context.date", "context.num_cpus", "benchmarks"}),
        frozenset({"context.executable", "benchmarks[].cpu_time"}),
        frozenset({"benchmarks[].real_time", "benchmarks[].cpu_time", "benchmarks[].iterations"}),
    )

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """One run a file."""
        context, records = document.section("context"), document.array("benchmarks")
        extra = {field: context.take(field) for field in MACHINE if field in context}
        results.run(
            started_at=context.moment("date"),
            host=context.text("host_name"),
            command=context.text("executable"),
            environment=Environment(environment_id="", logical_cores=context.count("num_cpus"), extra=labels(extra)),
            tags=document.left(),
        )
        results.context = Counter()  # repetitions of each case so far
        return _with_types(records)

    def load(self, record: Object, results: Results) -> None:
        """One entry: one repetition, or one aggregate over them."""
        aggregate = record.get("run_type") == "aggregate"  # which is kept as text, as is the unit
        statistic = (record.text("aggregate_name") or "aggregate") if aggregate else None
        name = record.text("run_name") or record.name("name").removesuffix(f"_{statistic}")
        case = results.case(name)
        unit = record.get("time_unit") or "ns"
        if not isinstance(unit, str):
            raise BadRecord("time_unit is not a text")
        iterations, repetition = record.whole("iterations"), record.whole("repetition_index")
        if not aggregate and repetition is None:  # old versions number none
            repetition = results.context[case.case_id]
            results.context[case.case_id] += 1
        ended = not iterations and bool(record.get("error_occurred") or record.get("skipped"))
        for field, metric in TIMES:
            value = record.take(field)
            if ended and value == 0:  # is what it writes where there was nothing to time
                value = None
            if aggregate:
                share = statistic == "cv" or record.get("aggregate_unit") == "percentage"
                case.metric(metric, value, "ratio" if share else unit, statistic=statistic)
            elif value is not None:
                case.samples([value], unit, loops=iterations, metric=metric, sample=repetition, apart=True)
            coefficient = record.take(f"{field.partition('_')[0]}_coefficient")
            case.metric(metric, coefficient, unit, statistic=statistic, better=None)
        case.metric("latency", record.take("rms"), "ratio", statistic=statistic, better=None)
        if statistic == "mean":
            results.note("its means are over repetitions that are means over iterations already: means of means")
        _failure(record, case)
        _counters(record, case, statistic)
        case.fields(record.left())


def _with_types(records: list[Any]) -> list[Any]:
    """The records, where old versions said in the name only what is an aggregate: BM_x_mean beside BM_x."""
    names = {record.get("name") for record in records if isinstance(record, Object) and type(record.get("name")) is str}
    for record in records:
        if isinstance(record, Object) and type(record.get("name")) is str and "run_type" not in record:
            base, _, statistic = record["name"].rpartition("_")
            if base in names and statistic in AGGREGATES:
                record |= {"run_type": "aggregate", "aggregate_name": statistic}
    return records


def _failure(record: Object, case: Subject) -> None:
    if record.take("error_occurred"):
        case.outcome("fail_to_run", record.text("error_message"))
    elif record.take("skipped"):
        case.outcome("skipped", record.text("skip_message"))


def _counters(record: Object, case: Subject, statistic: str | None) -> None:
    """The counters of the user, which stand among the other fields."""
    for field in record.left():
        if field not in SETTINGS and number(record[field]) is not None and not isinstance(record[field], str):
            case.metric(
                field, record.take(field), RATES.get(field), statistic=statistic, phase=None if statistic else "steady"
            )
