"""Conbench: benchmark results as its API gives or takes them, its descriptions of runs, and its comparisons of two runs."""

from collections.abc import Iterable, Iterator
from typing import Any

from ...warehouse.events import Environment, as_json
from ..readers.document import BadRecord, Object, instant, labels
from ..readers.json_format import JsonFormat, UnlocatedRecords, by_run
from ..readers.results import Chosen, Results, Subject
from ..readers.units import unit_of

STATISTICS = {
    "min": "min", "max": "max", "mean": "mean", "median": "median", "stdev": "stddev", "iqr": "iqr", "q1": "q1", "q3": "q3",
}  # fmt: skip
METRICS = {"ns": "latency", "ops/s": "throughput", "bytes/s": "throughput", "items/s": "throughput", "bytes": "memory"}
UNITS = {"i/s": "items/s", "b/s": "B/s"}
OF_BOTH = ("analysis", "history_fingerprint")  # what a comparison says of its two sides
RUN = ("run_id", "run_name", "run_reason", "run_tags", "batch_id", "github", "commit", "machine_info", "cluster_info")


class Conbench(JsonFormat):
    """Results of Conbench."""

    name = "conbench"
    doc = "Conbench results, as its API gives or takes them"
    becomes = "tag `name` → case, other tags → axes; `times` beside rates → samples of time"
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
        return by_run(_records(document), _run_of, _run, results)

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
        _stats(case, record.section("stats"))
        _error(case, record.take("error"))
        for field in (*RUN, "timestamp", "context", "info"):
            record.take(field)
        case.fields(record.left())


class ConbenchCompare(JsonFormat):
    """Comparisons of two runs by Conbench."""

    name = "conbench-compare"
    doc = "Conbench comparison of two runs or results (api/compare/…)"
    becomes = "each side → a record of its run; value → _mean by its unit; analysis → `fields` of the contender"
    histories = True
    holds = (Object, list)
    shapes = (
        *(
            frozenset({f"{at}baseline", f"{at}contender", f"{at}analysis"})
            for at in ("data.data[].", "data[].", "[].", "")
        ),
        *(frozenset({f"{at}baseline_run_id", f"{at}contender_run_id"}) for at in ("data[].", "[].", "")),
    )

    def open(self, document: Any, results: Results) -> Iterator[Any]:
        """A run for the results of each Conbench run."""
        sides = [side for record in _records(document) for side in _sides(record)]
        groups: dict[str, list[Any]] = {}
        for side in sides:
            if isinstance(side, Object):
                groups.setdefault(_run_of(side), []).append(side)
        for group in groups.values():
            measured = [{key: value for key, value in side.items() if key not in OF_BOTH} for side in group]
            results.run(content=as_json(measured), tags={"run_id": group[0].get("run_id")})
            yield from group
        yield from (side for side in sides if isinstance(side, UnlocatedRecords))

    def load(self, record: Object, results: Results) -> None:
        """One side of a comparison."""
        tags = dict(record.section("tags"))
        name = tags.pop("name", None) or record.text("benchmark_name")
        tags.pop("id", None)
        if not isinstance(name, str) or not name:
            raise BadRecord("no tag called name")
        case = results.case(name, parameters=tags)
        unit, less = record.text("unit"), record.take("less_is_better")
        unit = UNITS.get(unit.lower(), unit) if unit else None
        better = {True: "lower", False: "higher"}.get(less) if isinstance(less, bool) else None
        metric = METRICS.get(unit_of(unit).name or "", "value")
        statistic = record.text("single_value_summary_type") or "mean"
        value = record.take("single_value_summary" if "single_value_summary" in record else "value")
        case.metric(metric, value, unit, statistic=statistic, better=better)
        _error(case, record.take("error"))
        for field in ("run_id", "benchmark_name", "case_permutation", "language", "batch_id", "benchmark_result_id"):
            record.take(field)
        case.fields(record.left())


def _sides(record: Any) -> Iterable[Any]:
    """Split a comparison into two results; fields of both go to the contender."""
    if not isinstance(record, Object):
        return [UnlocatedRecords(record, BadRecord("not an object"))]
    both = {key: record[key] for key in ("unit", "less_is_better") if key in record}
    rest = {key: record[key] for key in OF_BOTH if key in record}
    found: list[Any] = []
    for name in ("baseline", "contender"):
        side, more = record.get(name), rest if name == "contender" else {}
        if isinstance(side, str) or f"{name}_run_id" in record:  # as until 2023: 0.036 s
            value = (side or "").split()[:1] if isinstance(side, str | None) else [as_json(side)]
            apart = {key.removeprefix(f"{name}_"): record[key] for key in record if key.startswith(f"{name}_")}
            about = {
                "tags": record.get("tags"),
                "benchmark_name": record.get("batch"),
                "value": next(iter(value), None),
            }
            side = Object([*{**about, **apart}.items()]) if side is not None or apart.get("error") else None
        if isinstance(side, Object):
            found.append(Object([*{**side, **both, **more}.items()]))
        elif side is not None:
            found.append(UnlocatedRecords(record, BadRecord(f"{name} is not a result")))
    return found or [UnlocatedRecords(record, BadRecord("neither a baseline nor a contender"))]


def _error(case: Subject, error: Any) -> None:
    if error is not None:
        text = error if isinstance(error, str) else as_json(error)
        case.outcome("fail_to_run", text.strip().rpartition("\n")[2][:500], message=text[:10_000])


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
