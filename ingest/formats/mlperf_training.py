"""MLPerf Training: the log of a run (result_N.txt), lines of :::MLLOG among whatever else was printed."""

import functools
import re
from typing import Any

from ...warehouse.events import Environment, Instant
from ..format import FILE, Head
from ..readers.bulk import LONGEST_NAME
from ..readers.document import LAST, BadRecord, Object, decode, labels
from ..readers.results import Results, Subject, number
from ..readers.text_format import TextFormat
from ..readers.units import unit_of

ENTRY = re.compile(r".*?:::MLLOG (\{.*)")
KEYS = re.compile(
    r'"key": *"(submission_(benchmark|division|org|platform)|run_start|init_start|cache_clear|global_batch_size)"'
)
TAGS = (
    "submission_org",
    "submission_benchmark",
    "submission_division",
    "submission_status",
    "submission_poc_name",
    "submission_entry",
    "seed",
)
AXES = {"global_batch_size": "global_batch_size", "division": "submission_division"}  # axis -> key of an entry
SPANS = {  # a time between two entries
    ("run_start", "run_stop"): "time_to_train", ("init_start", "init_stop"): "init_time",
    ("init_start", "run_start"): "setup_time",
}  # fmt: skip
RATES = {"throughput": "samples/s", "samples_per_second": "samples/s", "tokens_per_second": "tokens/s"}
POINTS = {
    "eval_accuracy": "higher",
    "eval_error": "lower",
    "train_loss": "lower",
    "eval_loss": "lower",
    "validation_loss": "lower",
}
ENDS = {"success": ("ok", None), "aborted": ("fail_to_run", "the run was aborted")}


class MlperfTraining(TextFormat):
    """Logs of MLPerf Training."""

    name = "mlperf-training"
    doc = "MLPerf Training log (result_N.txt)"
    becomes = "log → run; global_batch_size and texts of the set-up → axes; run_stop - run_start → time_to_train"
    lost = "other lines, source lines of entries"
    runs = FILE

    def recognise(self, head: Head) -> bool:
        """Return whether entries among the first lines have keys that only training logs have."""
        lines = head.text.splitlines() if ":::MLLOG" in head.text else []
        return any(KEYS.search(line) for line in lines if ENTRY.match(line))

    def load(self, lines: list[str], results: Results) -> int:
        """One record an entry, read when all are known."""
        entries = {at: match[1] for at, line in enumerate(lines, 1) if (match := ENTRY.match(line))}
        log = _Log(results)
        for text in entries.values():
            log.look(text)
        log.describe()
        for at, text in entries.items():
            results.record(functools.partial(log.entry, at, text), lines[at - 1], at)
        return sum(1 for at, line in enumerate(lines, 1) if at not in entries and line.strip())


class _Log:
    """The run of a log, and the case of its entries."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.said: dict[str, Any] = {}  # key -> its last value
        self.times: dict[str, int] = {}  # key -> ms since 1970 of the first
        self.status: str | None = None  # of run_stop
        self.points = 0  # samples so far

    def look(self, text: str) -> None:
        """Take from an entry what describes the run."""
        try:
            entry = _entry(text)
            key, time = entry.name("key"), entry.get("time_ms")
        except BadRecord:
            return  # which is a reject when its turn comes
        if isinstance(time, int | float) and 0 <= time < LAST // 1000:
            self.times.setdefault(key, int(time))
        self.said[key] = entry.get("value")
        about = entry.get("metadata")
        if key == "run_stop" and isinstance(about, Object):
            self.status = str(about.get("status"))

    def describe(self) -> None:
        """The run."""
        start, platform = self.times.get("run_start"), self.said.get("submission_platform")
        self.results.run(
            started_at=None if start is None else Instant(start * 1000), tags={key: self.said.get(key) for key in TAGS},
            environment=Environment(environment_id="", extra=labels({"platform": platform})),
        )  # fmt: skip

    def case(self) -> Subject:
        """The benchmark of the log."""
        name = self.said.get("submission_benchmark")
        axes = {axis: self.said.get(key) for axis, key in AXES.items()}
        case = self.results.case(
            str(name)[:LONGEST_NAME] if name else "mlperf-training", mode="training",
            parameters={key: value for key, value in axes.items() if value is not None},
        )  # fmt: skip
        case.has_outcome = True  # which the end of the run says
        return case

    def entry(self, at: int, text: str) -> None:
        """One entry."""
        entry = _entry(text)
        key, value, about, case = entry.name("key"), entry.take("value"), entry.section("metadata"), self.case()
        if key == "run_start" and self.status is None:
            case.outcome("fail_to_run", "the log has no run_stop: the run did not end")
        if key == "run_stop":
            status, reason = ENDS.get(self.status or "", ("fail_to_run", f"the run ended with status {self.status}"))
            case.outcome(status, reason)
        for (start, stop), metric in SPANS.items():
            if (
                key == stop
                and {start, stop} <= self.times.keys()
                and (metric != "time_to_train" or self.status == "success")
            ):
                case.metric(metric, self.times[stop] - self.times[start], "ms")
        if key == "tracked_stats" and isinstance(value, Object):
            for name, one in value.items():
                self._point(case, name, one, about)
        elif key in POINTS:
            self._point(case, key, value, about)
        elif key in TAGS or (key in AXES and number(value) is not None):
            return  # which the run or the case says
        elif number(value) is not None:
            case.metric(key, value, better=None)
        elif not key.endswith(("_start", "_stop")) and value is not None:
            case.text(key, value)

    def _point(self, case: Subject, name: str, value: Any, about: Object) -> None:
        """A value at a step or epoch, which is its number."""
        places = (about.get(key) for key in ("step", "samples_count", "epoch_num", "epoch_count", "step_num"))
        sample = next((place for place in places if type(place) is int and place >= 0), self.points)
        self.points += 1
        unit = RATES.get(name)
        case.samples(
            [value], unit, metric=name, sample=sample, better=unit_of(unit).better if unit else POINTS.get(name)
        )


def _entry(text: str) -> Object:
    entry = decode(text)
    if not isinstance(entry, Object):
        raise BadRecord("no entry of a log")
    return entry
