"""perf stat: the table that it prints."""

import functools
import re

from ..format import Head
from ..readers.document import BadRecord, lines_of
from ..readers.results import Results, Subject, number
from ..readers.text_format import TextFormat
from .perf_stat import RATE, SCALE, STARTED, describe

TITLE = re.compile(r"\s*Performance counter stats for (.+?)(?: \((\d+) runs?\))?:")
NONE = r"<not (?:counted|supported)>"
COUNTER = re.compile(
    rf"\s*({NONE}|[\d.,]+)\s+(?:(msec|ns|Joules|%|[KMGT]i?B|MiB|Bytes)\s+)?([\w./:=<>,+-]*[A-Za-z][\w./:=<>,+-]*)"
    r"(?: \((msec)\))?\s*(.*)"
)
TIME = re.compile(r"\s*([\d.,]+)(?: \+- ([\d.,]+))? seconds (time elapsed|user|sys)\s*(.*)")
METRICS = re.compile(r"\s*(?:[A-Z]\w*(?: \((\w+)\))?)?\s*(#\s+[\d.,]+.*)")  # of a group, or of the counter above
SPREAD = re.compile(r"\( \+-\s*([\d.]+)% \)")
DERIVED = re.compile(r"#\s+([\d.,]+)\s*(%?)\s*([^()]*?)\s*(?=\(|$)")
SHARE = re.compile(r"\((\d{1,3}\.\d\d)%\)")
TIMES = {"time elapsed": "latency", "user": "user_time", "sys": "system_time"}
THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?")
COMMA = re.compile(r"\s*\d+,\d+ (?:\+- \d+,\d+ )?seconds time elapsed", re.MULTILINE)  # never grouped: a decimal comma
GROUPED = re.compile(r"(?<=\d)[ .'\u00a0\u202f](?=\d{3}(?!\d))")
DECIMAL = re.compile(r"(?<=\d),(?=\d)")
KIND = re.compile(r"(cpu_\w+)/")  # of cores: cpu_atom, cpu_core


class PerfStatText(TextFormat):
    """The printed table of perf stat."""

    name = "perf-stat-text"
    doc = "perf stat's table, as printed"
    becomes = "command → case; counter → metric, with -r a mean and its _error in percent; time elapsed → latency"
    lost = "other lines"
    began = STARTED

    def recognise(self, head: Head) -> bool:
        """Return whether a line is its title."""
        return "Performance counter stats for" in head.text and any(TITLE.match(line) for line in lines_of(head.text))

    def load(self, lines: list[str], results: Results) -> int:
        """One record a counter, time, or line of metrics."""
        command, repeated, kind, other = None, False, None, 0
        describe(results, lines)
        has_commas = any(COMMA.match(line) for line in lines)
        for at, line in enumerate(lines, 1):
            plain = DECIMAL.sub(".", GROUPED.sub("", line)) if has_commas else line
            counter, metrics = COUNTER.fullmatch(plain), METRICS.fullmatch(plain)
            if title := TITLE.match(line):
                command, repeated = title[1].strip("'"), title[2] is not None
            elif command is not None and (TIME.fullmatch(plain) or counter):
                kind = found[1] if counter and (found := KIND.match(counter[3])) else None
                results.record(functools.partial(_read, results, command, plain, repeated=repeated), line, at)
            elif command is not None and metrics:
                kind = metrics[1] or kind
                results.record(functools.partial(_derive, results.case(command), metrics[2], "", kind), line, at)
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
        metric, value, unit, rest = counter[3], _plain(counter[1]), counter[2] or counter[4] or "count", counter[5]
    case.metric(metric, value, unit, statistic=statistic)
    if spread := SPREAD.search(rest):
        case.metric(metric, spread[1], "%", statistic="error")
    if (share := SHARE.search(rest)) and float(share[1]) < 100:
        results.note("some events were counted for a part of the time only, and perf scaled them up")
    kind = KIND.match(metric)
    _derive(case, rest, metric, kind[1] if kind else None)


def _derive(case: Subject, text: str, counter: str, kind: str | None) -> None:
    """Metrics that perf computes from counters: `281.7 cs/sec  cs_per_second`, `17.3 %  tma_retiring`, `0.49 K/sec`."""
    derived = DERIVED.search(text)
    if not derived or not derived[3]:
        return
    *unit, name = re.split(r"\s{2,}", derived[3])
    value, rate = _plain(derived[1]), RATE.fullmatch(derived[3])
    read = number(value)
    if rate and read is not None:
        case.metric(f"{counter}_rate", read * SCALE[rate[1]], "events/s", better=None)
    else:
        case.metric(
            f"{kind}/{name}" if kind else name, value, "%" if derived[2] else unit[0] if unit else None, better=None
        )


def _plain(text: str) -> str:
    """A number without separators of thousands."""
    return text.replace(",", "") if THOUSANDS.fullmatch(text) else text
