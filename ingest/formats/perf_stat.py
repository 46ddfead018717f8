"""perf stat: what `-j` and `-x,` print, each line one counter."""

import functools
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from ..format import Head
from ..readers.document import BadRecord, Object, decode, instant, lines_of
from ..readers.results import Results, number
from ..readers.text_format import TextFormat

SEPARATORS = ",;\t|"
STARTED = re.compile(r"# started on (.{10,40})")
NONE = ("<not counted>", "<not supported>")
PERCENT = re.compile(r"\d{1,3}[.,]\d\d")
RATE = re.compile(r"([KMG]?)/sec")
SCALE = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}
PLACES = ("cpu", "core", "die", "cluster", "cache", "socket", "node", "thread", "cgroup", "place")


class PerfStat(TextFormat):
    """Counters of perf stat."""

    name = "perf-stat"
    doc = "perf stat as JSON (-j) or with a separator (-x,)"
    becomes = (
        "socket, core, thread … → axes; counter → metric, with -r a mean and its _error in percent, with -I samples"
    )
    began = STARTED

    def recognise(self, head: Head) -> bool:
        """Return whether the first line that is no comment is a counter."""
        line = next((line for line in lines_of(head.text)[:20] if line.strip() and not line.startswith("#")), "")
        if line.lstrip().startswith("{"):
            return '"counter-value"' in line and '"event"' in line
        return _fields(line) is not None

    def identity(self, name: str) -> str:
        """The name of the file, which is the name of the case."""
        return PurePath(name).stem

    def load(self, lines: list[str], results: Results) -> int:
        """One record a line."""
        describe(results, lines)
        results.context = None  # the event before, which a line with nothing but a derived metric belongs to
        for at, line in enumerate(lines, 1):
            if line.strip() and not line.startswith("#"):
                results.record(functools.partial(_read, results, line), line, at)
        return 0


def describe(results: Results, lines: list[str]) -> None:
    """The run by the line that `perf stat -o` writes above all others."""
    started = next((instant(found[1]) for line in lines[:5] if (found := STARTED.match(line))), None)
    if started is not None:
        results.run(started_at=started)


def _read(results: Results, line: str) -> None:
    record = decode(line) if line.lstrip().startswith("{") else _fields(line)
    if not isinstance(record, Object):
        raise BadRecord("no counter: value, unit, event, run time and percentage")
    event = record.text("event") or results.context
    if not event:
        raise BadRecord("no event")
    results.context = event
    places = {key: place for key in PLACES if (place := record.take(key)) is not None}
    case = results.case(results.file_name(), parameters=places)
    value, spread = record.take("counter-value"), record.take("variance")
    if value is not None:
        case.metric(event, value, record.text("unit") or "count", statistic=None if spread is None else "mean")
        case.metric(event, None if value in NONE else spread, "%", statistic="error")
    share = number(record.take("pcnt-running"))
    if share is not None and share < 100 and value not in NONE:
        results.note("some events were counted for a part of the time only, and perf scaled them up")
    _derived(record, event, case.metric)
    record.take("event-runtime")
    case.fields(record.left())


def _derived(record: Object, event: str, metric: Any) -> None:
    """A value that perf computed: `0.89 insn per cycle`, `120.5 K/sec`, `39.2 %  tma_backend_bound`."""
    value, unit = record.take("metric-value"), (record.text("metric-unit") or "").strip()
    read = number(value)
    if rate := RATE.fullmatch(unit):
        metric(f"{event}_rate", value if read is None else read * SCALE[rate[1]], "events/s", better=None)
    elif unit:
        percent, name = unit.startswith("%"), unit.removeprefix("%").strip()
        metric(name or event, value, "%" if percent or " of all " in f" {unit}" else None)


def _fields(line: str) -> Object | None:
    """A line of -x: optional interval, place and number of CPUs; value, unit, event, optional spread, time, percentage."""
    for separator in SEPARATORS:
        cells = [cell.strip() for cell in line.split(separator)]
        for at in range(min(4, len(cells) - 4)):
            if (found := _counter(cells, at)) is not None:
                return found
        if len(cells) > 5 and not any(cells[:-2]) and number(cells[-2]) is not None:
            return Object([("metric-value", cells[-2]), ("metric-unit", cells[-1])])
    return None


def _counter(cells: list[str], at: int) -> Object | None:
    value, unit, event, *rest = cells[at:]
    spread = [rest.pop(0)] if rest and rest[0].endswith("%") else []
    if (
        (number(value) is None and value not in NONE) or not re.search("[A-Za-z]", event) or re.search(r"\d", unit)
        or len(rest) < 2 or not rest[0].isdecimal() or not PERCENT.fullmatch(rest[1])
    ):  # fmt: skip
        return None
    named = [*_before(cells[:at]), ("counter-value", value), ("unit", unit), ("event", event)]
    named += [("variance", text.removesuffix("%")) for text in spread]
    named += [("event-runtime", rest[0]), ("pcnt-running", rest[1].replace(",", "."))]
    if len(rest) > 3 and rest[3]:
        named += [("metric-value", rest[2]), ("metric-unit", rest[3])]
    return Object(named)


def _before(cells: list[str]) -> Iterator[tuple[str, str]]:
    """The fields before the value: when with -I, and where with --per-socket and the like."""
    if cells and "." in cells[0]:
        yield "interval", cells.pop(0)
    yield from zip(("place", "aggregate-number"), cells, strict=False)
