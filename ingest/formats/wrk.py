"""wrk and wrk2: the report they print."""

import functools
import itertools
import re
from typing import Any

from ..format import Head
from ..readers.document import BadRecord
from ..readers.results import Results
from ..readers.text_format import TextFormat

BEGIN = re.compile(r"Running (.{1,40}) test @ (\S+)")
TIME, SIZE = r"(\d[\d.]*)(us|ms|s|m|h)", r"(\d[\d.]*)([KMGTP]?B)"
THREADS = re.compile(r"(\d+) threads and (\d+) connections")
LATENCY = re.compile(rf"Latency\s+{TIME}\s+{TIME}\s+{TIME}\s+\S+")
PERCENT = re.compile(rf"(\d+(?:\.\d+)?)%\s+{TIME}")
TOTAL = re.compile(rf"(\d+) requests in {TIME}, {SIZE} read")
PERSEC = re.compile(r"Requests/sec:\s+(\d[\d.]*)")
TRANSFER = re.compile(rf"Transfer/sec:\s+{SIZE}")
ERRORS = re.compile(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)")
STATUS = re.compile(r"Non-2xx or 3xx responses: (\d+)")
UNITS = {"m": "min", "h": "min"}


class Wrk(TextFormat):
    """Reports of wrk."""

    name = "wrk"
    doc = "output of wrk and wrk2"
    becomes = "address → case; requests/sec → request_throughput; transfer/sec → throughput"
    lost = "each thread's rate, the spectrum of percentiles"

    def recognise(self, head: Head) -> bool:
        """Return whether a report begins, and what it says of threads follows."""
        return BEGIN.search(head.text) is not None and THREADS.search(head.text) is not None

    def load(self, lines: list[str], results: Results) -> int:
        """One record a report."""
        starts = [at for at, line in enumerate(lines) if BEGIN.match(line)]
        before = lines[: starts[0]] if starts else lines
        other = sum(bool(line.strip()) for line in before)
        for start, end in itertools.pairwise([*starts, len(lines)]):
            block = lines[start:end]
            results.record(functools.partial(_read, results, block), "\n".join(block), start + 1)
            other += sum(bool(line.strip()) and not any(shape.search(line) for shape in READ) for line in block)
        return other


READ = (BEGIN, THREADS, LATENCY, PERCENT, TOTAL, PERSEC, TRANSFER, ERRORS, STATUS)


def _read(results: Results, block: list[str]) -> None:
    found: dict[Any, Any] = {shape: next(filter(None, map(shape.search, block)), None) for shape in READ}
    begin, threads, rate = found[BEGIN], found[THREADS], found[PERSEC]
    if rate is None:
        raise BadRecord("ends before its requests/sec")
    axes = {"threads": int(threads[1][:9]), "connections": int(threads[2][:9])} if threads else {}
    case = results.case(begin[2], parameters=axes)
    case.metric("request_throughput", rate[1], "requests/s")
    if latency := found[LATENCY]:
        for place, statistic in ((1, "mean"), (3, "stddev"), (5, "max")):
            case.metric("latency", *_time(latency[place], latency[place + 1]), statistic=statistic)
    for line in block:
        if percent := PERCENT.fullmatch(line.strip()):
            case.metric("latency", *_time(percent[2], percent[3]), statistic=f"p{float(percent[1]):g}")
    if transfer := found[TRANSFER]:
        case.metric("throughput", transfer[1], f"{_binary(transfer[2])}/s")
    if total := found[TOTAL]:
        case.metric("requests", total[1], "count")
        case.metric("duration", *_time(total[2], total[3]), better=None)
        case.metric("read", total[4], _binary(total[5]))
    if errors := found[ERRORS]:
        for place, kind in enumerate(("connect", "read", "write", "timeout"), 1):
            case.metric(f"{kind}_errors", errors[place], "count", better="lower")
    if status := found[STATUS]:
        case.metric("error_responses", status[1], "count", better="lower")


def _time(value: str, unit: str) -> tuple[Any, str]:
    """A time and its unit; hours become minutes, which units know."""
    try:
        return (float(value) * 60, "min") if unit == "h" else (value, UNITS.get(unit, unit))
    except ValueError:
        return value, "min"


def _binary(unit: str) -> str:
    """wrk counts in 1,024s."""
    return unit if unit == "B" else f"{unit[0]}iB"
