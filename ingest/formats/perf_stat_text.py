"""perf stat: the table that it prints."""

import functools
import re

from ..format import Head
from ..readers.document import BadRecord, lines_of
from ..readers.results import Results, number
from ..readers.text_format import TextFormat
from .perf_stat import RATE, SCALE

TITLE = re.compile(r"\s*Performance counter stats for (.+?)(?: \((\d+) runs?\))?:")
NONE = r"<not (?:counted|supported)>"
COUNTER = re.compile(
    rf"\s*({NONE}|[\d.,]+)\s+(?:(msec|ns|Joules|%|[KMGT]i?B|MiB|Bytes)\s+)?([\w./:=<>,+-]*[A-Za-z][\w./:=<>,+-]*)\s*(.*)"
)
TIME = re.compile(r"\s*([\d.,]+)(?: \+- ([\d.,]+))? seconds (time elapsed|user|sys)\s*(.*)")
SPREAD = re.compile(r"\( \+-\s*([\d.]+)% \)")
DERIVED = re.compile(r"#\s+([\d.,]+)\s*(%?)\s*([^()]*?)\s*(?=\(|$)")
SHARE = re.compile(r"\((\d{1,3}\.\d\d)%\)")
TIMES = {"time elapsed": "latency", "user": "user_time", "sys": "system_time"}
THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?")


class PerfStatText(TextFormat):
    """The printed table of perf stat."""

    name = "perf-stat-text"
    doc = "perf stat's table, as printed"
    becomes = "command → case; counter → metric, with -r a mean and its _error in percent; time elapsed → latency"
    lost = "other lines"

    def recognise(self, head: Head) -> bool:
        """Return whether a line is its title."""
        return "Performance counter stats for" in head.text and any(TITLE.match(line) for line in lines_of(head.text))

    def load(self, lines: list[str], results: Results) -> int:
        """One record a counter, or time."""
        command, repeated, other = None, False, 0
        for at, line in enumerate(lines, 1):
            if title := TITLE.match(line):
                command, repeated = title[1].strip("'"), title[2] is not None
            elif command is not None and (TIME.fullmatch(line) or COUNTER.fullmatch(line)):
                results.record(functools.partial(_read, results, command, line, repeated=repeated), line, at)
            elif line.strip():
                other += 1
        return other


def _read(results: Results, command: str, line: str, *, repeated: bool) -> None:
    case, statistic = results.case(command), "mean" if repeated else None
    if time := TIME.fullmatch(line):
        metric, value, unit, rest = TIMES[time[3]], _plain(time[1]), "s", time[4]
        if time[2]:
            case.metric(metric, _plain(time[2]), "s", statistic="stderr")
    else:
        counter = COUNTER.fullmatch(line)
        if counter is None:
            raise BadRecord("no counter")
        metric, value, unit, rest = counter[3], _plain(counter[1]), counter[2] or "count", counter[4]
    case.metric(metric, value, unit, statistic=statistic)
    if spread := SPREAD.search(rest):
        case.metric(metric, spread[1], "%", statistic="error")
    if (share := SHARE.search(rest)) and float(share[1]) < 100:
        results.note("some events were counted for a part of the time only, and perf scaled them up")
    derived = DERIVED.search(rest)
    if derived and derived[3]:
        rate, name = RATE.fullmatch(derived[3]), derived[3]
        read = number(_plain(derived[1]))
        if rate and read is not None:
            case.metric(f"{metric}_rate", read * SCALE[rate[1]], "events/s", better=None)
        else:
            case.metric(name, _plain(derived[1]), "%" if derived[2] else None, better=None)


def _plain(text: str) -> str:
    """A number without separators of thousands."""
    return text.replace(",", "") if THOUSANDS.fullmatch(text) else text
