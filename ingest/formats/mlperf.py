"""MLPerf Inference: the summary and the detailed log of LoadGen, versions 1 (2021) to 5 (2025).

The detailed log (lines of :::MLLOG) says all that the summary says and more: beside it the summary is left out. Percentiles are
samples at that rank, none interpolated. A time per output token leaves the first out.
"""

import functools
import re
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from ...warehouse.events import Environment
from ...warehouse.log import Batch
from ..format import FILE, Format, Head, Part, Tally
from ..readers.bulk import LONGEST_NAME
from ..readers.document import BadRecord, Object, decode_companion, instant, labels, read_text
from ..readers.files import read_head
from ..readers.folders import is_repeat
from ..readers.json_format import reject_file
from ..readers.results import Results, Subject, number
from . import _serving
from .mlperf_training import KEYS

ENTRY, TITLE = ":::MLLOG ", "MLPerf Results Summary"
SUMMARY, DETAIL, MEASUREMENTS = "mlperf_log_summary.txt", "mlperf_log_detail.txt", "measurements.json"
SUBMISSION = frozenset({"starting_weights_filename", "retraining", "weight_data_types"})
KEY = re.compile(r'"key": "(\w+)"')
HEADS = {  # what either file says of the whole test
    "SUT name": "name", "Scenario": "scenario", "Mode": "mode", "Result is": "valid", "sut_name": "name",
    "effective_scenario": "scenario", "effective_test_mode": "mode", "result_validity": "valid", "test_datetime": "moment",
    "loadgen_version": "version", "result_invalid_reason": "reason",
}  # fmt: skip
LATENCIES = {  # what is left of a name without its statistic
    "latency": "latency", "query_latency": "query_latency", "per_query_latency": "query_latency", "first_token_latency": "ttft",
    "time_to_output_token": "tpot", "time_per_output_token": "tpot",
}  # fmt: skip
RATES = {
    "samples_per_second": ("throughput", "samples/s"), "completed_samples_per_second": ("throughput", "samples/s"),
    "completed_samples_per_sec": ("throughput", "samples/s"), "scheduled_samples_per_sec": ("scheduled_throughput", "samples/s"),
    "scheduled_samples_per_second": ("scheduled_throughput", "samples/s"),
    "qps_w/_loadgen_overhead": ("throughput", "queries/s"), "qps_with_loadgen_overhead": ("throughput", "queries/s"),
    "qps_w/o_loadgen_overhead": ("throughput_without_loadgen", "queries/s"),
    "qps_without_loadgen_overhead": ("throughput_without_loadgen", "queries/s"),
    "tokens_per_second": ("output_throughput", "tokens/s"), "completed_tokens_per_second": ("output_throughput", "tokens/s"),
    "tps_w/_loadgen_overhead": ("output_throughput", "tokens/s"),
    "token_throughput_with_loadgen_overhead": ("output_throughput", "tokens/s"),
    "tps_w/o_loadgen_overhead": ("output_throughput_without_loadgen", "tokens/s"),
    "token_throughput": ("output_throughput_without_loadgen", "tokens/s"),
}  # fmt: skip
STATISTIC_KINDS = {"min", "max", "mean"}
RANK = re.compile(r"(\d{1,2}(?:\.\d{1,6})?)(th)?")
UNIT = re.compile(r"(.+?)(?:_\((ns|ms|s)\)|_(ns|ms))?")
COUNT = re.compile(r"(No|\d+) (warning|error)s? encountered\b.*", re.IGNORECASE)
LONGEST_REASON = 1000  # characters
EXACT = 2**53  # whole numbers that a float can hold
RUN = re.compile(r"run_\d+|performance|accuracy")  # folders of a submission that tell no test from another


@dataclass(slots=True)
class _Test:
    """The facts of a whole test, from its log."""

    name: str = ""
    scenario: str | None = None
    mode: str | None = None
    valid: str | None = None
    moment: str | None = None
    version: str | None = None
    reason: str = ""
    judged_at: int = 0  # the line that says how it ended

    def outcome(self, case: Subject) -> None:
        """The outcome of the run."""
        if self.valid == "VALID":
            case.outcome("ok")
        elif self.valid is not None:
            case.outcome("invalid", self.reason.strip()[:LONGEST_REASON] or f"LoadGen says {self.valid[:60]}")
        elif (self.mode or "").startswith("Accuracy"):
            case.outcome("skipped", "an accuracy run: nothing was timed")
        else:
            case.outcome("fail_to_run", "the log has no result: the test did not end")


class Mlperf(Format):
    """Results of MLPerf's LoadGen."""

    name = "mlperf"
    doc = "MLPerf Inference LoadGen logs, also whole submissions"
    becomes = (
        "log → run, folders above its run_N → config; system → case; scored percentile → scored_latency; INVALID → "
        "outcome invalid, accuracy runs → skipped"
    )
    lost = "time, line of LoadGen and thread of an entry"
    runs = FILE
    unpacks = True
    places = (f"**/{DETAIL}", f"**/{SUMMARY}")

    def recognise(self, head: Head) -> bool:
        """True for a log, a summary, the summary of an accuracy run, or the description of a submission."""
        text = head.text.lstrip()
        lines = [line for line in text[:400].splitlines() if line.strip()]
        return (
            (text.startswith(ENTRY) and '"key"' in text and not KEYS.search(text))
            or (TITLE in text[:200] and "SUT name" in text)
            or (len(lines) == 2 and all(COUNT.fullmatch(line) for line in lines))
            or head.paths >= SUBMISSION
        )

    def left_out(self, head: Head) -> str | None:
        """Files that repeat the detailed log, or belong to one."""
        text, folder = head.text.lstrip(), head.path.parent
        detailed = folder / DETAIL != head.path and _begins(folder / DETAIL, ENTRY)
        if text.startswith("{"):
            return "is read with the log beside it" if detailed or (folder / SUMMARY).is_file() else None
        if detailed and not text.startswith(ENTRY):
            return f"repeats {DETAIL}, which lies beside it"
        return (
            None if text.startswith(ENTRY) or TITLE in text[:200] else "is of an accuracy run, of which it says nothing"
        )

    def group(self, name: str) -> str:
        """The folders of a submission, but for the number of the run or its day."""
        folders = PurePath(name).parent.parts
        return "/".join(part for part in folders if not (RUN.fullmatch(part) or is_repeat(part)))

    def read(self, part: Part, batch: Batch) -> Tally:
        """A record a line; first, what the log says of the test."""
        results = Results(part, batch)
        text = read_head(part.path).text.lstrip()
        try:
            if text.startswith("{"):
                _submission(results)
            else:
                detailed = text.startswith(ENTRY)
                test = _looked_at(part, detailed)
                about = _described(results)
                results.run(
                    started_at=instant(test.moment), tags=about,
                    environment=Environment(environment_id="", extra=labels({"loadgen_version": test.version})),
                )  # fmt: skip
                dtype = about.get("weight_data_types")
                log = _Log(results, test, dtype if isinstance(dtype, str) else None)
                for at, line in _serving.lines(part):
                    results.record(functools.partial(log.entry if detailed else log.line, at, line), line, at)
        except BadRecord as error:
            reject_file(results, error)
        return results.close()


class _Log:
    """Reads lines of a log into the case of its test."""

    def __init__(self, results: Results, test: _Test, dtype: str | None) -> None:
        self.results, self.test, self.dtype = results, test, dtype
        self.section = ""  # of a summary: the heading above

    def case(self, at: int) -> Subject:
        """The test; with the line that judges it comes the outcome."""
        axes = {"scenario": self.test.scenario, "mode": self.test.mode}
        name = self.test.name[:LONGEST_NAME] or "mlperf"
        case = self.results.case(
            name, dtype=self.dtype, parameters={key: setting for key, setting in axes.items() if setting}
        )
        if at == self.test.judged_at:
            self.test.outcome(case)
        case.has_outcome = True
        return case

    def entry(self, at: int, line: str) -> None:
        """A line of the detailed log."""
        if not line.strip():
            return
        if not line.startswith(ENTRY):
            raise BadRecord("no entry of a log")
        logged = _serving.object_of(line[len(ENTRY) :])
        key, case = logged.name("key"), self.case(at)
        about = logged.section("metadata")
        for kind in ("error", "warning"):
            if about.get(f"is_{kind}") is True:
                case.text(kind, f"{key}: {logged.get('value')}")
        if key not in HEADS or key == "result_invalid_reason":
            _value(case, key.removeprefix("effective_"), logged.take("value"))

    def line(self, at: int, line: str) -> None:
        """A line of the summary: a setting, a result, or what belongs to the heading above."""
        case = self.case(at)
        key, colon, text = (part.strip() for part in line.partition(":"))
        if match := COUNT.fullmatch(line.strip()):
            case.metric(f"{match[2].lower()}s", 0 if match[1].lower() == "no" else match[1], "count", better="lower")
        elif line.lstrip().startswith("*") or (self.section and line.strip() and not (colon and text)):
            case.text(self.section.lower().replace(" ", "_") or "remark", line.strip())
        elif not line.strip():
            self.section = ""
        elif colon and not text:
            self.section = key
        elif colon and key not in HEADS:
            name = re.sub(r"\s+", "_", key.lower())
            per_query = self.section == "Per-query latency" and "token" not in name
            _value(case, re.sub("latency", "query_latency", name) if per_query else name, text)


def _value(case: Subject, key: str, value: Any) -> None:
    """A result, a setting or a counter, by its name in either file."""
    match = UNIT.fullmatch(key.removeprefix("result_"))
    name, unit = (match[1], match[2] or match[3]) if match else (key, None)
    words = name.split("_")
    ranks = [rank for word in words if (rank := RANK.fullmatch(word))]
    kinds = [word for word in words if word in STATISTIC_KINDS] + [f"p{float(rank[1]):g}" for rank in ranks]
    plain = "_".join(
        word for word in words if word not in STATISTIC_KINDS and word != "percentile" and not RANK.fullmatch(word)
    )
    read = number(value)
    if read is None or (abs(read) >= EXACT and name not in RATES):
        case.text(name, value)
    elif name in RATES:
        case.metric(RATES[name][0], value, RATES[name][1])
    elif plain in LATENCIES and len(kinds) == 1:
        scored = "scored_" if ranks and ranks[0][2] else ""
        case.metric(f"{scored}{LATENCIES[plain]}", value, unit or "ns", statistic=kinds[0])
    else:
        case.metric(name, value, unit, better=None)


def _looked_at(part: Part, detailed: bool) -> _Test:
    test, advice = _Test(), False
    for at, line in _serving.lines(part):
        test.judged_at = test.judged_at or at
        match = KEY.search(line[:200]) if detailed else None
        key, _, text = (part.strip() for part in (line.partition(":")))
        if match is not None and match[1] in HEADS:
            key = match[1]
            try:
                value = _serving.object_of(line[len(ENTRY) :]).get("value")
            except BadRecord:
                continue  # which is a reject when its turn comes
            text = value if isinstance(value, str) else ""
        elif detailed:
            continue
        advice = key == "Recommendations" or (advice and key.startswith("*"))
        if advice and key != "Recommendations" and len(test.reason) < LONGEST_REASON:
            test.reason += f"{line.strip().removeprefix('* ')} "
        if key in HEADS and text:
            setattr(test, HEADS[key], text)
            if HEADS[key] == "valid":
                test.judged_at = at
    return test


def _described(results: Results) -> dict[str, Any]:
    """The facts of the submission in measurements.json next to the log."""
    try:
        document = decode_companion(results.part.path.parent, MEASUREMENTS)
    except BadRecord as error:
        results.note(f"what was submitted is not known: {error}")
        return {}
    return dict(document) if isinstance(document, Object) else {}


def _submission(results: Results) -> None:
    """A description without a log."""
    text = read_text(results.part)
    about = _serving.object_of(text)
    results.run(tags=about)
    results.record(lambda: None, text)
    results.note("no log lies beside it: nothing is measured")


def _begins(path: Path, start: str) -> bool:
    try:
        return path.is_file() and read_head(path).text.lstrip().startswith(start)
    except OSError:
        return False
