"""Exports of experiment trackers: runs of MLflow, scalars of TensorBoard, charts and summaries of Weights & Biases."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

from ...warehouse.events import as_json
from ..format import FILE
from ..readers.declared import placed
from ..readers.document import Object
from ..readers.folders import file_stem, undated
from ..readers.json_format import JsonFormat, ListFormat
from ..readers.results import AS_THE_UNIT_SAYS, Results, Subject, number
from ..user_formats.columns import measure_of
from ._headed_table import HeadedTable, typed

SCALAR = re.compile(r"(?:(?P<run>.+?)[-_])?tag-(?P<tag>.+)")  # run-train-tag-Loss_train
CHART = re.compile(r"(.+) - ([^-].*?)(__MIN|__MAX)?")  # eager-run - train/loss__MIN
STEPS = ("Step", "Relative Time (Process)", "Relative Time (Wall)", "Wall Time")
LASTED = re.compile(r"(\d+(?:\.\d+)?) ?(ms|s|min|h|d)")  # as MLflow's web page writes a duration
# What else a row says.
OF_RUN = ("Duration", "Start Time", "Run ID", "Name", "Source Type", "Source Name", "User", "Status")
UNITS = {"h": 3600, "d": 86400, "min": 60, "s": 1, "ms": 0.001}
ESCAPED = re.compile(r"'(?=[=+\-@])")  # before what a spreadsheet would take for a formula
LOSS = re.compile(r"(^|[/_. -])(loss|error|perplexity)$", re.IGNORECASE)


def _measure(metric: str) -> dict[str, Any]:
    """Unit and direction of a metric, as far as its name says them."""
    about = measure_of(metric) or {}
    return {
        "unit": about.get("unit"),
        "better": "lower" if LOSS.search(metric) else about.get("better", AS_THE_UNIT_SAYS),
    }


def _typed_axes(texts: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a run as the axes of its case."""
    return placed({key: typed(text) for key, text in texts.items()})


class Mlflow(ListFormat):
    """Runs of MLflow."""

    name = "mlflow"
    doc = "MLflow runs CSV (mlflow.search_runs().to_csv)"
    becomes = "row → run, named by mlflow.runName; params → axes, metrics → metrics, tags → tags; FAILED → fail_to_run"
    headers = (frozenset({"run_id", "experiment_id", "status", "start_time"}),)
    histories = True
    runs = FILE

    def open(self, document: Any, results: Results) -> Iterator[Any]:
        """A run a row."""
        for record in document:
            if isinstance(record, Object):
                tags = {key[5:]: record.get(key) for key in record if key.startswith("tags.")}
                commit, branch = (
                    record.text("tags.mlflow.source.git.commit"),
                    record.text("tags.mlflow.source.git.branch"),
                )
                results.run(
                    content=as_json(record), started_at=record.moment("start_time"), git_commit=commit, git_branch=branch,
                    command=record.text("tags.mlflow.source.name"), tags=tags,
                )  # fmt: skip
            yield record

    def load(self, record: Object, results: Results) -> None:
        """One run."""
        record.name("run_id")
        axes = _typed_axes({key[7:]: record.take(key) for key in record if key.startswith("params.")})
        case = results.case(record.text("tags.mlflow.project") or results.file_name(), **axes)
        for key in [key for key in record if key.startswith("metrics.")]:
            case.metric(key[8:], record.take(key), **_measure(key[8:]))
        _ended(case, record.text("status"))
        for key in [key for key in record if key.startswith("tags.")]:
            record.take(key)
        case.fields(record.left())


class MlflowPage(ListFormat):
    """Runs of MLflow, as its web page gives them."""

    name = "mlflow-page"
    doc = "MLflow runs CSV of the web page (Download CSV)"
    becomes = "row → run; a column whose name says that it was measured → metric, another → axis; Duration → benchmark_duration"
    headers = (frozenset({"Start Time", "Duration", "Run ID", "Source Type", "Status"}),)
    histories = True
    runs = FILE

    def open(self, document: Any, results: Results) -> Iterator[Any]:
        """A run a row."""
        for record in document:
            if isinstance(record, Object):
                tags = {name: record.get(name) for name in ("Name", "Source Type", "User") if record.get(name)}
                started, command = record.moment("Start Time"), record.text("Source Name")
                results.run(content=as_json(record), started_at=started, command=command, tags=tags)
            yield record

    def load(self, record: Object, results: Results) -> None:
        """One run."""
        record.name("Run ID")
        values = {key: ESCAPED.sub("", str(record.take(key))) for key in record if key not in OF_RUN}
        measured = [key for key, value in values.items() if number(value) is not None and measure_of(key) is not None]
        axes = _typed_axes({key: value for key, value in values.items() if key not in measured})
        case = results.case(results.file_name(), **axes)
        for key in measured:
            case.metric(key, values[key], **_measure(key))
        if lasted := LASTED.fullmatch(str(record.get("Duration"))):
            record.take("Duration")
            case.metric("benchmark_duration", float(lasted[1]) * UNITS[lasted[2]], "s", better=None)
        _ended(case, record.text("Status"))
        for key in OF_RUN[1:]:
            record.take(key)
        case.fields(record.left())


def _ended(case: Subject, status: str | None) -> None:
    if status in ("FAILED", "KILLED"):
        case.outcome("fail_to_run", f"MLflow says {status}")
    elif status in ("RUNNING", "SCHEDULED"):
        case.outcome("unknown", "the run had not ended")


class TensorboardScalars(ListFormat):
    """One scalar of TensorBoard over time."""

    name = "tensorboard"
    doc = "TensorBoard scalar CSV (Wall time, Step, Value)"
    becomes = "tag in the file's name → metric, numbered by step; run in it → case"
    headers = (frozenset({"Wall time", "Step", "Value"}),)

    def identity(self, name: str) -> str:
        """The name of the file, which names run and tag."""
        return PurePath(name).stem

    def load(self, record: Object, results: Results) -> None:
        """One step."""
        match = SCALAR.fullmatch(file_stem(results.part.name))
        run, tag = (match["run"], match["tag"]) if match else (None, results.file_name())
        step = record.count("Step")
        record["at"] = number(record.get("Wall time"))
        case = results.case(undated((run or "").removeprefix("run-")) or "run")
        moment = record.moment("at")
        case.samples([record.take("Value")], metric=tag, sample=step, recorded_at=moment, **_measure(tag))
        record.take("Wall time")
        case.fields(record.left())


class WandbChart(HeadedTable):
    """A chart of Weights & Biases."""

    name = "wandb-chart"
    doc = "Weights & Biases chart CSV (Step, a column a run)"
    becomes = "run → case, metric numbered by step; __MIN and __MAX → min and max"

    def fits(self, header: list[str], row: list[str]) -> bool:
        """Steps, then columns of runs."""
        return header[0] in STEPS and len(header) > 1 and all(CHART.fullmatch(name) for name in header[1:])

    def identity(self, name: str) -> str:
        """Nothing: the columns name the runs."""
        return ""

    def load(self, record: Object, results: Results) -> None:
        """One step of all runs."""
        axis = next(iter(record), "Step")
        place = number(record.take(axis))
        step = int(place) if place is not None and place.is_integer() and 0 <= place < 2**63 else None
        for name in [name for name in record if name != axis]:
            match = CHART.fullmatch(name)
            if match is None:
                continue
            case, value, statistic = results.case(match[1]), record.take(name), match[3]
            if statistic is None:
                case.samples([value], metric=match[2], sample=step, **_measure(match[2]))
            elif value != record.get(name.removesuffix(statistic)):  # else it is the value itself
                case.metric(match[2], value, statistic=statistic[2:].lower(), **_measure(match[2]))


class WandbSummary(JsonFormat):
    """The last values of a run of Weights & Biases."""

    name = "wandb-summary"
    doc = "Weights & Biases wandb-summary.json"
    becomes = "last value of each metric → metric; _runtime → benchmark_duration"
    shapes = (frozenset({"_runtime", "_step", "_timestamp"}),)
    runs = FILE

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """One record."""
        results.run(started_at=Object([("at", document.get("_timestamp"))]).moment("at"))
        document.take("_timestamp")
        return [document]

    def load(self, record: Object, results: Results) -> None:
        """The whole summary."""
        case = results.case("run")
        case.metric("benchmark_duration", record.take("_runtime"), "s", better=None)
        case.metric("step", record.take("_step"), "count")
        for key in ("_timestamp", "_wandb"):
            record.take(key)
        for key in [key for key, value in record.items() if key[:1] != "_" and number(value) is not None]:
            case.metric(key, record.take(key), **_measure(key))
        case.fields(record.left())
