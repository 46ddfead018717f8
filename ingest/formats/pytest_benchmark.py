"""pytest-benchmark: what `--benchmark-json` and `--benchmark-save` write; of a storage folder, all saved runs."""

import re
from collections.abc import Iterable
from typing import Any

from ...warehouse.events import Environment
from ..format import FILE
from ..readers.document import Object, labels
from ..readers.folders import is_repeat
from ..readers.json_format import JsonFormat
from ..readers.results import Results, number

STATISTICS = {
    "min": "min", "max": "max", "mean": "mean", "stddev": "stddev", "median": "median", "iqr": "iqr", "q1": "q1",
    "q3": "q3", "ld15iqr": "ld15iqr", "hd15iqr": "hd15iqr", "total": "sum",
}  # fmt: skip
COUNTED = re.compile(r"[0-9]+|[0-9a-f]{7,40}")  # a number of a job, a commit
STORAGE = ".benchmarks"  # in the folder of a project
VARYING = ("hz_actual", "hz_actual_friendly", "hz_actual_raw")  # of the processor: what it ran at a moment ago


class PytestBenchmark(JsonFormat):
    """Results of pytest-benchmark."""

    name = "pytest-benchmark"
    doc = f"pytest-benchmark JSON, or its storage folder ({STORAGE})"
    becomes = "case named by `fullname`; `group` → suite; `ops` → throughput_mean; numbers of `extra_info` → metrics"
    runs = FILE
    places = ("*/*.json", f"{STORAGE}/*/*.json")
    shapes = (
        frozenset({"benchmarks[].fullname", "benchmarks[].stats"}),
        frozenset({"benchmarks[].stats.rounds", "benchmarks[].stats.iterations"}),
        frozenset({"machine_info.python_implementation", "commit_info", "benchmarks"}),
    )

    def group(self, name: str) -> str:
        """The folder of the machine in a storage folder: its runs are comparable. Those of nights, jobs and commits are none."""
        folders = name.split("/")[:-1]
        return "/".join(
            part for part in folders if part != STORAGE and not is_repeat(part) and not COUNTED.fullmatch(part)
        )

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """One run a file."""
        commit, machine = document.section("commit_info"), document.section("machine_info")
        records: list[Any] = document.array("benchmarks")
        revision, dirty = commit.text("id"), commit.take("dirty")
        host = machine.text("node")
        environment, varying = _environment(machine)
        results.run(
            started_at=document.moment("datetime"),
            git_commit=None if revision == "unversioned" else revision,
            git_branch=commit.text("branch"),
            git_dirty=dirty if isinstance(dirty, bool) else None,
            host=host,
            environment=environment,
            tags={**document.left(), "machine_info": varying},
        )
        return records

    def load(self, record: Object, results: Results) -> None:
        """One benchmark."""
        name = record.text("fullname") or record.name("name")
        case = results.case(name, suite=record.text("group"), parameters=record.section("params"))
        stats = record.section("stats")
        loops, data = stats.whole("iterations"), stats.array("data")
        case.samples(data, "s", loops=loops, block=0)
        for field, statistic in STATISTICS.items():
            case.metric("latency", stats.take(field), "s", statistic=statistic)
        case.metric("throughput", stats.take("ops"), "ops/s", statistic="mean")
        case.metric("rounds", stats.take("rounds"), "count")
        case.metric("iterations", loops, "count")
        extra = record.section("extra_info")
        for field, value in extra.items():
            if number(value) is not None:
                case.metric(field, extra.take(field))
        case.fields(record.left())


def _environment(machine: Object) -> tuple[Environment, dict[str, Any]]:
    """The description of the machine, and the part of it that differs from run to run."""
    cpu = machine.get("cpu")
    described = machine.section("cpu") if isinstance(cpu, Object) else Object()
    brand = described.take("brand_raw") or described.take("brand")
    varying = {field: described.take(field) for field in VARYING if field in described}
    system, release = machine.text("system"), machine.text("release")
    environment = Environment(
        environment_id="",
        cpu=brand if isinstance(brand, str) else None,
        logical_cores=described.count("count"),
        os=f"{system} {release}" if system and release else system,
        architecture=machine.text("machine"),
        python=machine.text("python_version"),
        extra=labels(machine.left()),
    )
    return environment, varying
