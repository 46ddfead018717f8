"""Rust: what `cargo bench` prints, with the built-in harness or with Criterion.rs."""

import functools
import re

from ..format import Head
from ..readers.document import BadRecord, lines_of
from ..readers.results import Results
from ..readers.text_format import TextFormat

TEST, BENCH, FAILED = "test ", " ... bench:", " ... FAILED"
NUMBER = r"(-?\d[\d.,]*(?:e[-+]?\d+)?)"
LIBTEST = re.compile(rf" *{NUMBER} (\S+) \(\+/- {NUMBER}\)(?: = {NUMBER} (\S+))?\s*")
MARKS = {" time:   [": "latency", " thrpt:  [": "throughput"}  # of Criterion.rs, which aligns them
THREE = re.compile(rf"{NUMBER} (\S+) {NUMBER} (\S+) {NUMBER} (\S+)\]\s*")


class RustText(TextFormat):
    """Results of Rust benchmarks as text."""

    name = "rust-text"
    doc = "output of cargo bench: libtest or Criterion.rs"
    becomes = "latency_estimate, latency_range, latency_low, latency_high, throughput"
    lost = "other lines"

    def recognise(self, head: Head) -> bool:
        """Return whether one of the first lines is such a result."""
        marked = BENCH in head.text or any(mark in head.text for mark in MARKS)
        for line in lines_of(head.text) if marked else ():
            name, mark, rest = _split(line)
            if (LIBTEST if mark == BENCH else THREE).fullmatch(rest) and mark != FAILED and (name or mark != BENCH):
                return True
        return False

    def load(self, lines: list[str], results: Results) -> int:
        """One record a result."""
        above, other = "", 0  # a long name stands on a line of its own; thrpt below time has none
        for at, line in enumerate(lines, 1):
            name, mark, rest = _split(line)
            if mark:
                above = name or above
                results.record(functools.partial(_read, results, above, mark, rest), line, at)
            elif line.strip():
                other += 1
                above = line.strip()
        return other


def _split(line: str) -> tuple[str, str, str]:
    """The name, what marks the line as a result, and the result; no mark where it is none."""
    if line.startswith(TEST):
        for mark in (BENCH, FAILED):
            name, found, rest = line[len(TEST) :].partition(mark)
            if found:
                return name.strip(), mark, rest
    for mark in MARKS:
        name, found, rest = line.partition(mark)
        if found:
            return name.strip(), mark, rest
    return "", "", ""


def _read(results: Results, name: str, mark: str, rest: str) -> None:
    match = (LIBTEST if mark == BENCH else THREE).fullmatch(rest)
    if not name or (match is None and mark != FAILED):
        raise BadRecord("a result that cannot be read" if name else "a result without a name")
    case = results.case(name)
    if match is None:
        case.outcome("fail_to_run", "cargo says FAILED")
    elif mark == BENCH:
        case.metric("latency", _without_commas(match[1]), match[2], statistic="estimate")
        case.metric("latency", _without_commas(match[3]), match[2], statistic="range")
        case.metric("throughput", match[4] and _without_commas(match[4]), match[5], statistic="estimate")
    else:
        case.metric(MARKS[mark], _without_commas(match[1]), match[2], statistic="low", better=None)
        case.metric(MARKS[mark], _without_commas(match[3]), match[4], statistic="estimate")
        case.metric(MARKS[mark], _without_commas(match[5]), match[6], statistic="high", better=None)


def _without_commas(text: str) -> str:
    """A number without its thousands separators."""
    return text.replace(",", "")
