"""Conbench: benchmark results as its API gives or takes them, and its descriptions of runs."""

from collections.abc import Iterator
from typing import Any

from ...warehouse.events import Environment, as_json
from ..readers.document import BadRecord, Object, instant, labels
from ..readers.json_format import Broken, JsonFormat
from ..readers.results import Chosen, Results, Subject
from ..readers.units import unit_of

STATISTICS = {
    "min": "min", "max": "max", "mean": "mean", "median": "median", "stdev": "stddev", "iqr": "iqr", "q1": "q1", "q3": "q3",
}  # fmt: skip
METRICS = {"ns": "latency", "ops/s": "throughput", "bytes/s": "throughput", "items/s": "throughput", "bytes": "memory"}
UNITS = {"i/s": "items/s", "b/s": "B/s"}
RUN = ("run_id", "run_name", "run_reason", "run_tags", "batch_id", "github", "commit", "machine_info", "cluster_info")


class Conbench(JsonFormat):
    """Results of Conbench."""

    name = "conbench"
    doc = "Conbench benchmark results (of its API, or as posted to it), and its descriptions of runs"
    becomes = (
        "results of one Conbench run → a run with its commit, first time and machine; a result → a case named by the tag "
        "`name`, other tags its parameters; `data` → samples of latency, throughput, memory or value as the unit says, "
        "`times` beside rates → samples of time; statistics → _mean …; `error` → outcome fail_to_run; results that are in "
        "the store already → known"
    )
    histories = True
    holds = (Object, list)
    shapes = (
        frozenset({"data.data[].stats", "data.data[].tags"}), frozenset({"data[].stats", "data[].tags"}),
        frozenset({"[].stats", "[].tags", "[].run_id"}), frozenset({"stats", "tags", "run_id"}),
        frozenset({"data.hardware", "data.commit", "data.id"}), frozenset({"hardware", "commit", "id", "reason"}),
        frozenset({"error", "tags", "run_id", "batch_id"}), frozenset({"data[].error", "data[].tags", "data[].batch_id"}),
    )  # fmt: skip

    def open(self, document: Any, results: Results) -> Iterator[Any]:
        """A run for the results of each Conbench run."""
        records = _records(document)
        groups: dict[str, list[Any]] = {}
        for record in records:
            groups.setdefault(_run_of(record), []).append(record)
        chosen: dict[str, Chosen] = {}
        for record in records:
            run = _run_of(record)
            if run in chosen:
                results.resume(chosen[run])
            elif isinstance(record, Object):
                try:
                    chosen[run] = _run(groups[run], record, results)
                except BadRecord as error:
                    yield Broken(record, error)
                    continue
            yield record

    def load(self, record: Object, results: Results) -> None:
        """One result, or the description of a run, which has no more to say."""
        if "hardware" in record and "stats" not in record:
            return
        tags = dict(record.section("tags"))
        name = tags.pop("name", None)
        tags.pop("id", None)  # of the case in that database
        if not isinstance(name, str) or not name:
            raise BadRecord("no tag called name")
        case = results.case(name, parameters=tags)
        stats, error = record.section("stats"), record.take("error")
        _stats(case, stats)
        if error is not None:
            text = error if isinstance(error, str) else as_json(error)
            case.outcome("fail_to_run", text.strip().rpartition("\n")[2][:500], message=text[:10_000])
        for field in (*RUN, "timestamp", "context", "info"):
            record.take(field)
        case.fields(record.left())


def _records(document: Any) -> list[Any]:
    """The results, out of whatever the API wrapped around them."""
    for _ in range(2):
        if isinstance(document, Object) and isinstance(document.get("data"), Object | list) and "stats" not in document:
            document = document["data"]
    return document if isinstance(document, list) else [document]


def _run_of(record: Any) -> str:
    return as_json(record.get("run_id", record.get("id"))) if isinstance(record, Object) else ""


def _run(records: list[Any], first: Object, results: Results) -> Chosen:
    machine = next(
        (first.section(field) for field in ("hardware", "machine_info", "cluster_info") if first.get(field)), Object()
    )
    commit = first.section("commit") or first.section("github")
    moments = [instant(record.get("timestamp")) for record in records if isinstance(record, Object)]
    gpus = machine.take("gpu_product_names")
    host, _ = machine.text("name"), machine.take("id")
    system, release = machine.text("os_name"), machine.text("os_version")
    environment = Environment(
        environment_id="", cpu=machine.text("cpu_model_name"), logical_cores=machine.count("cpu_thread_count"),
        physical_cores=machine.count("cpu_core_count"), ram_bytes=machine.count("memory_bytes"),
        gpus=[str(gpu) for gpu in gpus] if isinstance(gpus, list) else None, architecture=machine.text("architecture_name"),
        os=f"{system} {release}" if system and release else system,
        extra=labels({"machine": machine.left() or None, "context": first.get("context"), "info": first.get("info")}),
    )  # fmt: skip
    tags = {field: first.get(field) for field in RUN if field not in ("machine_info", "cluster_info")}
    if "hardware" in first:
        tags |= {key: value for key, value in first.items() if key != "hardware"}
    return results.run(
        content=as_json(records), started_at=min((moment for moment in moments if moment is not None), default=None),
        git_commit=commit.text("sha") or commit.text("commit"), host=host, environment=environment, tags=tags,
    )  # fmt: skip


def _stats(case: Subject, stats: Object) -> None:
    unit = stats.text("unit")
    unit = UNITS.get(unit.lower(), unit) if unit else None
    metric = METRICS.get(unit_of(unit).name or "", "value")
    better = "lower" if metric == "memory" else unit_of(unit).better
    data, times, time_unit = stats.array("data"), stats.array("times"), stats.text("time_unit")
    case.samples(data, unit, metric=metric, better=better)
    if times != data or time_unit != unit:
        case.samples(times, time_unit or "s", metric="time" if metric == "latency" else "latency")
    for field, statistic in STATISTICS.items():
        case.metric(
            metric, stats.take(field), unit, statistic=statistic, **({"better": "lower"} if metric == "memory" else {})
        )
    case.metric("iterations", stats.take("iterations"), "count")
