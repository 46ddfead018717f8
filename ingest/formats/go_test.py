"""Go: what `go test -bench` prints."""

import functools
import re
from collections import Counter

from ...warehouse.events import Environment
from ..format import Head
from ..readers.document import BadRecord, labels, lines_of
from ..readers.results import Results, Subject, number
from ..readers.text_format import TextFormat

RESULT = re.compile(r"(Benchmark\S*)\s+(\d+)\s+(\S.*)")
STARTED = re.compile(r"Benchmark\S*\s*")  # printed before a result, when something else is printed in between
ENDED = re.compile(r"\s*--- (FAIL|SKIP): (Benchmark\S*)")
REASON = re.compile(r"\s+\S+\.go:\d+: (.*)")
CONFIGURATION = re.compile(r"([a-z][\w./-]*): +(.*)")  # goos: linux; any key may be added (Go's benchmark format)
PASSED = re.compile(r"PASS|ok\s+\S+\s+\S+")  # of a whole package; that one failed is told, as any other line
PAIR = re.compile(r"(\w[\w.-]*)=([^=,]*)")
PROCESSORS = re.compile(r"-\d+$")
METRICS = {"ns/op": "latency", "B/op": "allocated", "allocs/op": "allocations", "MB/s": "throughput"}
LOWER = {"B/op", "allocs/op"}


class GoTest(TextFormat):
    """Results of Go benchmarks."""

    name = "go-test"
    doc = "output of go test -bench"
    becomes = "`pkg` → suite; key=value parts of the name → axes; ns/op → timing; other units → metrics"
    lost = "other lines"

    def recognise(self, head: Head) -> bool:
        """Return whether a line among the first is a result in ns/op, or says goos before a benchmark."""
        lines = lines_of(head.text) if "Benchmark" in head.text else []
        configured = any(line.startswith("goos: ") for line in lines)
        return any(
            (match := RESULT.fullmatch(line.strip())) is not None and (configured or "ns/op" in match[3].split())
            for line in lines
        )

    def load(self, lines: list[str], results: Results) -> int:
        """One record a line that begins with Benchmark and goes on, or says how one ended."""
        facts = {match[1]: match[2].strip() for line in lines if (match := CONFIGURATION.fullmatch(line))}
        suite = None
        results.run(environment=Environment(
            environment_id="", os=facts.pop("goos", None), architecture=facts.pop("goarch", None), cpu=facts.pop("cpu", None),
            extra=labels({key: value for key, value in facts.items() if key != "pkg"}),
        ))  # fmt: skip
        results.context = Counter()  # results of each case so far (-count)
        other = 0
        for at, line in enumerate(lines, 1):
            if line.startswith("pkg: "):
                suite = line[5:].strip()
            elif ENDED.match(line) or (line.startswith("Benchmark") and not STARTED.fullmatch(line)):
                following = lines[at] if at < len(lines) else ""
                results.record(functools.partial(_read, results, line, suite, following), line, at)
            elif line.strip() and not CONFIGURATION.fullmatch(line) and not PASSED.fullmatch(line.strip()):
                other += 1
        return other


def _read(results: Results, line: str, suite: str | None, following: str) -> None:
    if ended := ENDED.match(line):
        reason = REASON.fullmatch(following)
        status = {"FAIL": "fail_to_run", "SKIP": "skipped"}[ended[1]]
        _case(results, ended[2], suite).outcome(status, reason[1] if reason else None)
        return
    match = RESULT.fullmatch(line.strip())
    words = match[3].split() if match else []
    pairs = list(zip(words[::2], words[1::2], strict=False))
    if match is None or len(words) % 2 or any(number(value) is None for value, _ in pairs):
        raise BadRecord("no benchmark, iterations, and pairs of value and unit")
    case, iterations = _case(results, match[1], suite), int(match[2][:18])
    for value, unit in pairs:
        if unit == "ns/op":
            case.samples([value], "ns", loops=iterations, sample=results.context[case.case_id], apart=True)
            results.context[case.case_id] += 1
        elif unit in LOWER:
            case.metric(METRICS[unit], value, "bytes" if unit == "B/op" else "count", better="lower")
        else:
            case.metric(METRICS.get(unit, unit), value, unit)


def _case(results: Results, name: str, suite: str | None) -> Subject:
    parts = PROCESSORS.sub("", name).split("/")[1:]
    pairs = {match[1]: match[2] for part in parts if (match := PAIR.fullmatch(part))}
    return results.case(name, suite=suite, parameters=pairs)
