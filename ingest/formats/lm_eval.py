"""lm-evaluation-harness: the results file of an evaluation."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ..format import FILE, Head
from ..readers.document import BadRecord, Object, show
from ..readers.json_format import JsonFormat, UnlocatedRecords
from ..readers.results import Results

TASK = re.compile(r"results\..+\.[^.,]+,[\w-]+")  # a metric and its filter: results.hellaswag.acc,none
TASKS = {"versions", "n-shot", "n-samples", "higher_is_better", "configs", "task_hashes", "groups", "group_subtasks"}
NO_METRIC = ("alias", "name", "sample_len")
STDERR = "_stderr"


class LmEval(JsonFormat):
    """Scores of language models."""

    name = "lm-eval"
    doc = "lm-evaluation-harness results"
    becomes = "task → case with shots and filter; model → tags of the run: load each model under a name of its own"
    lost = "configs, hashes and groups of tasks"
    runs = FILE
    shapes = (frozenset({"results", "versions", "config.model_args"}),)

    def recognise(self, head: Head) -> bool:
        """True if a result has a metric with a filter, or, in old files, versions and arguments of a model."""
        return super().recognise(head) or any(TASK.fullmatch(path) for path in head.paths)

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """The run; the tasks with what is said of them elsewhere."""
        revision, began = document.text("git_hash"), document.moment("date")
        tasks = document.section("results")
        about = {key: document.section(key) for key in ("n-shot", "n-samples", "higher_is_better", "versions")}
        document.fields_read.update(TASKS)
        results.run(git_commit=revision, started_at=began, tags=document.left())
        return self._tasks(tasks, about)

    def _tasks(self, tasks: Object, about: dict[str, Object]) -> Iterator[Any]:
        for task, scores in tasks.items():
            if isinstance(scores, Object):
                said = [(key, inner.get(task)) for key, inner in about.items()]
                yield Object([("task", task), ("scores", scores), *said])
            else:
                yield UnlocatedRecords(scores, BadRecord(f"{task} is {show(scores)}, not an object"))

    def load(self, record: Object, results: Results) -> None:
        """One task."""
        task, scores, better = record.name("task"), record.section("scores"), record.section("higher_is_better")
        samples = record.take("n-samples")
        version, shots = record.take("versions"), record.take("n-shot")
        axes = {"n_shot": shots, "version": version}
        for key in list(scores):
            metric, _, filtered = key.partition(",")
            if key in NO_METRIC:
                continue
            name = metric.removesuffix(STDERR)
            parameters = axes | ({"filter": filtered} if filtered not in ("", "none") else {})
            case = results.case(task, parameters={key: value for key, value in parameters.items() if value is not None})
            direction = "higher" if better.get(name) is True else "lower" if better.get(name) is False else None
            if metric.endswith(STDERR):
                case.metric(name, scores.take(key), statistic="stderr")
            else:
                case.metric(name, scores.take(key), better=direction)
            if isinstance(samples, Object) and metric == name:
                case.metric("samples", samples.get("effective"), "count")
                samples = None
