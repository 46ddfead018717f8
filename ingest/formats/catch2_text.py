"""Catch2: the table of benchmarks that it prints."""

import functools
import re
from typing import NamedTuple

from ..format import FILE, Head
from ..readers.document import BadRecord, lines_of
from ..readers.results import Results
from ..readers.text_format import TextFormat

HEADER = re.compile(r"benchmark name\s+samples\s+iterations\s+est(?:imated| run time)\s*")
HEADED = re.compile(r"(mean|std dev)\s+low \1\s+high \1")  # the two lines below it
TIME = r"\s+(\d[\d.e+]*) (ns|us|ms|s|min)"
COUNTS = re.compile(rf"(\S.*?)?\s+(\d+)\s+(\d+){TIME}\s*")
TIMES = re.compile(rf"{TIME}{TIME}{TIME}\s*")
RULE = re.compile(r"([-.=~])\1{30,}\s*")


class _Benchmark(NamedTuple):
    """Its name, the names of its test and sections, and its three lines of numbers."""

    suite: str
    name: str
    lines: tuple[str, ...]


class Catch2Text(TextFormat):
    """Printed benchmarks of Catch2."""

    name = "catch2-text"
    doc = "Catch2's table of benchmarks, as printed"
    becomes = "as its XML, with fewer digits"
    lost = "other lines"
    runs = FILE

    def recognise(self, head: Head) -> bool:
        """Return whether a line is the header of its table."""
        return any(HEADER.fullmatch(line.strip()) for line in lines_of(head.text)[:200])

    def load(self, lines: list[str], results: Results) -> int:
        """One record a benchmark: a line of counts, whose name may be cut or stand above, one of means and one of deviations."""
        found, used = list[tuple[int, _Benchmark]](), 0
        above, suite, is_table = list[str](), "", False
        for at, line in enumerate(lines):
            text = line.strip()
            if HEADER.fullmatch(text):
                is_table, above = True, []
            elif RULE.fullmatch(text):
                if above and text[0] == "-":  # the names of a test and its sections stand between two rules
                    suite, is_table = " / ".join(above), False
                above = []
            elif not text:
                above = []
            elif is_table and (counts := COUNTS.fullmatch(line)):
                name = " ".join([*above, counts[1] or ""]).strip()
                found.append((at, _Benchmark(suite, name, tuple(lines[at : at + 3]))))
                used, above = used + 3, []
            elif not TIMES.fullmatch(line) and not HEADED.fullmatch(text):
                above.append(text)
        for at, benchmark in found:
            results.record(functools.partial(_load, results, benchmark), "\n".join(benchmark.lines), at + 1)
        return sum(1 for line in lines if line.strip()) - used


def _load(results: Results, found: _Benchmark) -> None:
    counts, *times = (
        pattern.fullmatch(line) for pattern, line in zip((COUNTS, TIMES, TIMES), found.lines, strict=False)
    )
    if not found.name or counts is None or len(times) < 2 or times[0] is None:
        raise BadRecord("a benchmark without a name, or without its means")
    case = results.case(found.name, suite=found.suite or None)
    for key, value in (("samples", counts[2]), ("iterations", counts[3])):
        case.metric(key, value, "count")
    for at, statistic in enumerate(("mean", "low", "high")):
        better = {} if statistic == "mean" else {"better": None}
        case.metric("latency", times[0][2 * at + 1], times[0][2 * at + 2], statistic=statistic, **better)
    if times[1] is not None:
        case.metric("latency", times[1][1], times[1][2], statistic="stddev")
