"""airspeed velocity (asv): its results folder, a file for each commit and environment of each machine."""

import functools
import itertools
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...warehouse.console.numbers import counted
from ...warehouse.events import Environment, Instant
from ..format import FILE, Head
from ..readers.document import BadRecord, Object, companion, decode_companion, labels
from ..readers.json_format import JsonFormat
from ..readers.results import Results, Subject, number

MACHINE = {"arch", "cpu", "machine", "num_cpu", "os", "ram", "version"}
UNITS = {
    "time": "seconds",
    "timeraw": "seconds",
    "memory": "bytes",
    "mem": "bytes",
    "peakmemory": "bytes",
    "peakmem": "bytes",
}
METRICS = {"seconds": "latency", "bytes": "memory"}
STATISTICS = {"q_25": "q1", "q_75": "q3", "min": "min", "max": "max", "mean": "mean", "std": "stddev"}
KNOWN = {*STATISTICS, "ci_99_a", "ci_99_b", "repeat", "number"}
SEPARATOR = re.compile(r"[/\\]")
MOST_COMBINATIONS = 100_000


class Asv(JsonFormat):
    """Results of airspeed velocity."""

    name = "asv"
    doc = "airspeed velocity (asv) results, versions 1 and 2"
    becomes = (
        "result → latency_median (latency_estimate without statistics), memory or value; null → fail_to_run, NaN → "
        "skipped"
    )
    lost = "profiles"
    runs = FILE
    places = ("*/*.json",)
    shapes = (frozenset({"commit_hash", "results", "params"}), frozenset({"commit_hash", "results", "result_columns"}))

    def recognise(self, head: Head) -> bool:
        """Return whether it is a file of results, or one that describes the machine or the benchmarks."""
        return super().recognise(head) or self.left_out(head) is not None

    def left_out(self, head: Head) -> str | None:
        """Files that describe the results hold none."""
        if {"machine", "version"} <= head.paths <= MACHINE:
            return "describes the machine and is read with its results"
        if any(path.endswith(".param_names") for path in head.paths) and not super().recognise(head):
            return "describes the benchmarks and is read with their results"
        return None

    def group(self, name: str) -> str:
        """Results of one machine are comparable: each has a subfolder."""
        return name.rpartition("/")[0]

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """One run a file; the records are its benchmarks."""
        described = decode_companion(results.part.path.parent, "machine.json")
        params = document.section("params")
        machine = Object([*(described.items() if isinstance(described, Object) else ()), *params.items()])
        requirements = document.section("requirements")
        variables = document.section("env_vars")
        axes = {f"env.{name}": value for name, value in [*requirements.items(), *variables.items()] if value}
        python = document.text("python")
        if python and not SEPARATOR.search(python):  # else it is the path of an interpreter that was there
            axes["env.python"] = python
        columns, versions = document.array("result_columns"), document.section("benchmark_version")
        further = params.keys() - MACHINE - requirements.keys() - {"python"}
        records = [Object([("name", name), ("result", value)]) for name, value in document.section("results").items()]
        results.context = (columns, versions, axes, _described(results.part.path))
        results.run(
            started_at=document.moment("date"), git_commit=document.text("commit_hash"), host=machine.text("machine"),
            environment=Environment(
                environment_id="", cpu=machine.text("cpu"), os=machine.text("os"), architecture=machine.text("arch"),
                logical_cores=machine.count("num_cpu"), python=python, extra=labels({"ram": machine.get("ram")} | axes),
            ),
            tags=document.left() | {"params": {key: params[key] for key in further}},
        )  # fmt: skip
        return records

    def load(self, record: Object, results: Results) -> None:
        """One benchmark: a case for each combination of its parameters."""
        columns, versions, axes, described = results.context
        name = record.name("name")
        about = described.get(name)
        about = about if isinstance(about, Object) else Object()
        entry = _Entry.of(record.take("result"), columns)
        version = entry.version if entry.version is not None else versions.get(name)
        names = about.get("param_names")
        unit = _unit(name, about)
        for index, combination in enumerate(entry.combinations()):
            labelled = {_parameter(names, place): value for place, value in enumerate(combination)}
            shared = axes | ({"version": str(version)[:12]} if version is not None else {})
            case = results.case(name, parameters={**shared, **labelled} or None)
            _result(case, entry, index, unit)
        if entry.profile is not None:
            results.note("its profiles are left out")


@dataclass(slots=True)
class _Entry:
    """The data of one benchmark, whichever version wrote it."""

    result: Any
    params: list[Any] = field(default_factory=list)
    version: Any = None
    started_at: Instant | None = None
    duration: Any = None
    stats: dict[str, list[Any]] = field(default_factory=dict)  # by statistic, a value for each combination
    samples: list[Any] = field(default_factory=list)
    profile: Any = None
    left: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, value: Any, columns: list[Any]) -> "_Entry":
        """Version 2 has a list under columns, version 1 an object or the bare result."""
        if isinstance(value, list):
            given = Object(list(zip(map(str, columns), value, strict=False)))
            stats = {key.removeprefix("stats_"): given.array(key) for key in given if key.startswith("stats_")}
        elif isinstance(value, Object):
            given = value
            each = [one if isinstance(one, Object) else Object() for one in given.array("stats")]
            stats = {key: [one.get(key) for one in each] for key in dict.fromkeys(key for one in each for key in one)}
            pairs = stats.pop("ci_99", [])
            for index, key in enumerate(("ci_99_a", "ci_99_b")):
                stats[key] = [pair[index] if isinstance(pair, list) and len(pair) == 2 else None for pair in pairs]
        else:
            return cls(value)
        return cls(
            given.take("result"), given.array("params"), given.take("version"), given.moment("started_at"),
            given.take("duration"), stats, given.array("samples"), given.take("profile"), given.left(),
        )  # fmt: skip

    def combinations(self) -> list[tuple[Any, ...]]:
        """The values of the parameters, one tuple a result.

        Raises:
            BadRecord: There are not as many results.
        """
        if any(not isinstance(values, list) for values in self.params):
            raise BadRecord("params is not a list of lists")
        count = math.prod(map(len, self.params))
        given = len(self.result) if isinstance(self.result, list) else 1
        if count > MOST_COMBINATIONS or (self.result is not None and count != given):
            raise BadRecord(f"{counted(given, 'result')} for {counted(count, 'combination')} of parameters")
        return list(itertools.product(*self.params))

    def at(self, values: list[Any], index: int) -> Any:
        """The element of a list for a combination; None if there is none."""
        return values[index] if index < len(values) else None


def _result(case: Subject, entry: _Entry, index: int, unit: str | None) -> None:
    value = entry.result[index] if isinstance(entry.result, list) else entry.result
    stats = {key: entry.at(values, index) for key, values in entry.stats.items()}
    case.fields(entry.left | {key: given for key, given in stats.items() if key not in KNOWN})
    if index == 0:
        case.metric("benchmark_duration", entry.duration, "s", better=None)
    if value is None:
        case.outcome("fail_to_run", "asv has no result: it failed")
        return
    if isinstance(value, float) and math.isnan(value):
        case.outcome("skipped", "asv wrote NaN: it was skipped")
        return
    metric = METRICS.get(unit or "", "value")
    measured = any(number(stats.get(key)) is not None for key in ("q_25", "ci_99_a", "repeat"))
    statistic = ("median" if measured else "estimate") if metric == "latency" else None
    better = None if metric == "value" else "lower"
    case.metric(metric, value, unit, statistic=statistic, better=better)
    for key, named in STATISTICS.items():
        case.metric(metric, stats.get(key), unit, statistic=named)
    for key, named in (("ci_99_a", "ci99_low"), ("ci_99_b", "ci99_high")):
        case.metric(metric, stats.get(key), unit, statistic=named, better=None)
    case.metric("repeat", stats.get("repeat"), "count")
    samples, loops = entry.at(entry.samples, index), stats.get("number")
    if isinstance(samples, list):
        calls = loops if type(loops) is int else None
        case.samples(samples, unit, loops=calls, metric=metric, better=better, recorded_at=entry.started_at)


def _parameter(names: Any, place: int) -> str:
    given = names[place] if isinstance(names, list) and place < len(names) else None
    return given if isinstance(given, str) else f"param{place + 1}"


def _unit(name: str, about: Mapping[str, Any]) -> str | None:
    """The unit from benchmarks.json, else from the prefix of the function's name."""
    kind = about.get("type") or name.rpartition(".")[2].partition("_")[0]
    given = about.get("unit")
    return UNITS.get(kind if isinstance(kind, str) else "") or (given if isinstance(given, str) else None)


def _described(path: Path) -> Object:
    """The benchmarks.json of the folder above, or of this one."""
    for folder in (path.parent, path.parent.parent):
        found = companion(folder, "benchmarks.json")
        if found is not None:
            return _read_described(found, found.stat().st_mtime_ns)
    return Object()


@functools.lru_cache(maxsize=4)
def _read_described(path: Path, changed: int) -> Object:
    described = decode_companion(path.parent, path.name)
    return described if isinstance(described, Object) else Object()
