"""pyperf (and pyperformance): its JSON, packed or not."""

from collections.abc import Iterable, Iterator
from typing import Any

from ...warehouse.events import Environment, Instant
from ..format import FILE
from ..readers.document import BadRecord, Object, instant, labels
from ..readers.json_format import JsonFormat
from ..readers.results import Results, Subject

MACHINE = (
    "aslr", "cpu_affinity", "cpu_config", "cpu_machine", "python_cflags", "python_compiler", "python_executable",
    "python_hash_seed", "python_implementation", "python_unicode", "timer",
)  # fmt: skip
METRICS = {"second": ("latency", "s", "lower"), "byte": ("memory", "bytes", "lower"), "integer": ("value", None, None)}


class Pyperf(JsonFormat):
    """Results of pyperf."""

    name = "pyperf"
    doc = "pyperf and pyperformance JSON"
    becomes = "values → timings of loops × inner_loops; calibration → phase warmup; `mem_max_rss` → memory peaks"
    runs = FILE
    shapes = (
        frozenset({"benchmarks[].runs[].values"}),
        frozenset({"benchmarks[].runs[].warmups"}),
        frozenset({"benchmarks[].runs", "metadata.perf_version"}),
    )

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """One run a file."""
        suite: Object = document.section("metadata")
        records: list[Any] = document.array("benchmarks")
        results.context = suite
        for field in ("name", "loops", "inner_loops", "unit"):
            suite.take(field)
        host, commit, branch = suite.text("hostname"), suite.text("commit_id"), suite.text("commit_branch")
        environment = Environment(
            environment_id="", cpu=suite.text("cpu_model_name"), logical_cores=suite.count("cpu_count"),
            os=suite.text("platform"), python=suite.text("python_version"),
            extra=labels({field: suite.take(field) for field in MACHINE if field in suite}),
        )  # fmt: skip
        results.run(
            started_at=min(_dates([document, *records]), default=None), host=host, git_commit=commit, git_branch=branch,
            environment=environment, tags=document.left(),
        )  # fmt: skip
        return records

    def load(self, record: Object, results: Results) -> None:
        """One benchmark: its processes, each with some values."""
        about = Object([*results.context.items(), *record.section("metadata").items()])
        case = results.case(about.name("name"))
        metric, unit, better = METRICS.get(about.text("unit") or "second", (about.get("unit", "value"), None, None))
        done = 0
        for process, run in enumerate(record.records("runs")):
            own = run.section("metadata")
            here = Object([*about.items(), *own.items()])
            inner = here.whole("inner_loops") or 1
            date = own.moment("date")
            warmups = run.array("warmups")
            if any(not isinstance(pair, list) or len(pair) != 2 or type(pair[0]) is not int for pair in warmups):
                raise BadRecord("warmups is not a list of loops and values")
            for loops, value in warmups:
                case.samples(
                    [value], unit, loops=loops * inner, metric=metric, phase="warmup", better=better, recorded_at=date,
                    process=process, block=process,
                )  # fmt: skip
            values = run.array("values")
            case.samples(
                values, unit, loops=(here.whole("loops") or 1) * inner, metric=metric, better=better, recorded_at=date,
                process=process, block=process, sample=done,
            )  # fmt: skip
            done += len(values)
            _process(own, case)
            case.fields(run.left())
        case.fields({key: value for key, value in record.left().items() if key != "runs"})


def _process(own: Object, case: Subject) -> None:
    """The facts of one process."""
    own.take("loops")
    if "mem_max_rss" in own:
        case.memory([own.take("mem_max_rss")])
    case.metric("process_duration", own.take("duration"), "s", better=None)


def _dates(parts: list[Any]) -> Iterator[Instant]:
    """The times at which the processes began, as far as the file says."""
    for part in parts:
        if isinstance(part, Object):
            about = part.get("metadata")
            moment = instant(about.get("date")) if isinstance(about, Object) else None
            if moment is not None:
                yield moment
            runs = part.get("runs")
            yield from _dates(runs) if isinstance(runs, list) else ()
