"""google-benchmark: the table that it prints."""

import functools
import re
from collections import Counter

from ...warehouse.events import Environment
from ..format import FILE, Head
from ..readers.document import BadRecord, instant, labels, lines_of
from ..readers.results import Results, number
from ..readers.text_format import TextFormat
from .google_benchmark import AGGREGATES, RATES

HEADER = re.compile(r"Benchmark\s+Time\s+CPU\s+Iterations(?:\s+UserCounters\.\.\.)?\s*")
ROW = re.compile(r"(\S.*?)\s+(\d[\d.e+-]*) (ns|us|ms|s|%)\s+(\d[\d.e+-]*) (?:ns|us|ms|s|%)\s+(\d+)((?:\s+\S.*)?)")
FAILED = re.compile(r"(\S+)\s+(ERROR OCCURRED|SKIPPED): '(.*)'")
COUNTER = re.compile(r"([\w/]+)=([\d.e+-]+)([kMGTPEZY]?i?|[munp])(%?)(/s)?")
SCALE = {
    "": 1.0, **{letter: 1e3**power for power, letter in enumerate("kMGTPEZY", 1)},
    **{f"{letter}i": 1024.0**power for power, letter in enumerate("KMGTPEZY", 1)}, "ki": 1024.0,
    "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12,
}  # fmt: skip
MACHINE = re.compile(r"Run on \((\d{1,9}) X ([\d.]+) MHz CPU ?s?\)")
CACHE = re.compile(r"L(\d) (Data|Instruction|Unified) (\d{1,9}) ?Ki?B? \(x(\d{1,9})\)")
PROGRAM = re.compile(r"Running (\S.*)")


class GoogleConsole(TextFormat):
    """Printed results of google-benchmark."""

    name = "google-benchmark-text"
    doc = "google-benchmark's table, as printed"
    becomes = "as its JSON, with fewer digits; a line repeated is a further repetition"
    lost = "other lines, load of the machine"
    runs = FILE

    def recognise(self, head: Head) -> bool:
        """Return whether a line is the header of its table."""
        return any(HEADER.fullmatch(line) for line in lines_of(head.text)[:200])

    def load(self, lines: list[str], results: Results) -> int:
        """One record a row."""
        header = next((at for at, line in enumerate(lines) if HEADER.fullmatch(line.strip())), 0)
        about = {at for at, line in enumerate(lines[:header], 1) if _describes(line.strip())}
        _describe(results, [lines[at - 1].strip() for at in sorted(about)])
        results.context = Counter()  # rows of each case so far
        begun, other = False, 0
        for at, line in enumerate(lines, 1):
            text = line.strip()
            if at in about:
                continue
            begun |= HEADER.fullmatch(text) is not None
            if begun and (ROW.fullmatch(text) or FAILED.fullmatch(text)):
                results.record(functools.partial(_read, results, text), line, at)
            elif text and not text.startswith("---") and not HEADER.fullmatch(text):
                other += 1
        return other


def _describes(text: str) -> bool:
    return (
        bool(MACHINE.fullmatch(text) or CACHE.fullmatch(text) or PROGRAM.fullmatch(text)) or instant(text) is not None
    )


def _describe(results: Results, lines: list[str]) -> None:
    """The run by what stands above its table: when, which program, and the machine as in the JSON."""
    machine, program = (
        next((match for line in lines if (match := known.fullmatch(line))), None) for known in (MACHINE, PROGRAM)
    )
    caches = [
        {"type": kind, "level": int(level), "size": int(size) << 10, "num_sharing": int(sharing)}
        for level, kind, size, sharing in (match.groups() for match in map(CACHE.fullmatch, lines) if match)
    ]
    if lines:
        results.run(
            started_at=next((moment for line in lines if (moment := instant(line)) is not None), None),
            command=program[1] if program else None,
            environment=Environment(
                environment_id="", logical_cores=int(machine[1]) if machine else None, extra=labels({"caches": caches})
            ),
            tags={"context": {"mhz_per_cpu": round(float(machine[2]))}} if machine else {},
        )


def _read(results: Results, text: str) -> None:
    if failed := FAILED.fullmatch(text):
        status = "skipped" if failed[2] == "SKIPPED" else "fail_to_run"
        results.case(failed[1]).outcome(status, failed[3])
        return
    row = ROW.fullmatch(text)
    if row is None:
        raise BadRecord("no row of the table")
    base, _, ending = row[1].rpartition("_")
    statistic = ending if ending in AGGREGATES and base else None
    case = results.case(base if statistic else row[1])
    times = {"latency": row[2], "cpu_time": row[4]}
    unit, loops, at = row[3], int(row[5][:18]), results.context[case.case_id]
    results.context[case.case_id] += statistic is None
    for metric, value in times.items():
        if statistic:
            case.metric(metric, value, "%" if unit == "%" else unit, statistic=statistic)
        else:
            case.samples([value], unit, loops=loops, metric=metric, sample=at, apart=True)
    for name, value, prefix, percent, rate in COUNTER.findall(row[6]):
        scaled = number(value, SCALE.get(prefix, 1.0))
        if scaled is None:
            raise BadRecord(f"{name} is {value}, not a number")
        known = RATES.get(name) or ("%" if percent else f"{name}/s" if rate else None)
        case.metric(name, scaled, known, statistic=statistic, phase=None if statistic else "steady")
