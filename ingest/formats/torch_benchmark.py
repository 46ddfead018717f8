"""torch.utils.benchmark: the tables that `Compare` prints, and its measurements written as JSON.

A list of measurements is mostly kept as a pickle, which is never read here, for it can run code; what says so is in
`ingest/readers/unrecognised.py`.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ...warehouse.console.numbers import counted
from ..format import Head
from ..readers.document import BadRecord, Object, lines_of
from ..readers.json_format import JsonFormat, UnlocatedRecords
from ..readers.results import Results

AXES = ("sub_label", "description", "num_threads", "env", "setup", "global_setup")
COLOUR = re.compile(r"\x1b\[\d*m")
TITLE = re.compile(r"\[-* (.*) -*\]\s*")
THREADS = re.compile(r"(\d+) threads: -*\s*")
# names of rows begin further to the right, where none is before them
ENVIRONMENT = re.compile(r" {2}\((.*?)\) {2,}(\S.*)")
UNIT = re.compile(r"Times are in \w+ \((ns|us|ms|s)\)\.\s*")
VALUE = re.compile(r"(\d+(?:\.\d+)?)(?: \(! (\d+)%\)| \(\+-(\d+(?:\.\d+)?)\))?")
WARNING = "(! XX%) Measurement has high variance"


class TorchBenchmark(JsonFormat):
    """Measurements of torch.utils.benchmark."""

    name = "torch-benchmark"
    doc = "torch.utils.benchmark: what Compare prints, or its measurements as JSON"
    becomes = (
        "cell → latency_median of its label; IQR / median → relative_iqr; JSON → timings of raw_times, each of "
        "number_per_run loops"
    )
    lost = "lines around the tables"
    printed = True
    holds = (Object, list)
    shapes = (frozenset({"[].raw_times", "[].number_per_run"}), frozenset({"raw_times", "number_per_run"}))

    def recognise(self, head: Head) -> bool:
        """Return whether it has such a table, or such measurements."""
        return super().recognise(head) or next(_tables(lines_of(head.text)), None) is not None

    def parse(self, text: str) -> Any:
        """Tables as an object: their cells, and how many lines are around them."""
        lines = lines_of(text)
        tables = list(_tables(lines))
        if not tables:
            return super().parse(text)
        other = sum(bool(line.strip()) for line in lines) - sum(count for count, _ in tables)
        return Object([("cells", [cell for _, cells in tables for cell in cells]), ("other", other)])

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """Nothing is said of when and where."""
        if isinstance(document, Object) and "cells" in document:
            if document["other"]:
                results.note(counted(document["other"], "line", "is not a result", "are not results"))
            cells: list[Any] = document["cells"]
            return cells
        return document if isinstance(document, list) else [document]

    def load(self, record: Object, results: Results) -> None:
        """One measurement."""
        statement = record.text("stmt")
        name = record.text("label") or statement or record.name("sub_label")
        parameters = {axis: value for axis in AXES if (value := record.take(axis)) not in (None, "", "pass")}
        if statement is not None and statement != name:
            parameters["stmt"] = statement
        case = results.case(name, parameters=parameters)
        if "raw_times" in record:
            case.samples(record.array("raw_times"), "s", loops=record.whole("number_per_run"), together=True, block=0)
        unit = record.text("unit")
        case.metric("latency", record.take("median"), unit, statistic="median")
        case.metric("relative_iqr", record.take("percent"), "%")
        case.metric("latency", record.take("range"), unit, statistic="range", better=None)
        case.fields(record.left())


def _tables(lines: list[str]) -> Iterator[tuple[int, list[Any]]]:
    """The tables of a text: how many lines each has that say something, and its cells."""
    lines = [COLOUR.sub("", line) for line in lines]
    began = None
    for at, line in enumerate(lines):
        if TITLE.fullmatch(line):
            began = at
        elif began is not None and (unit := UNIT.fullmatch(line)):
            inside = [each for each in lines[began : at + 1] if each.strip()]
            warned = lines[at + 1 : at + 2] and lines[at + 1].startswith(WARNING)
            if len(inside) > 2 and inside[1].count("|"):
                yield len(inside) + bool(warned), list(_cells(inside[:-1], unit[1]))
            began = None


def _cells(lines: list[str], unit: str) -> Iterator[Any]:
    """The cells of a table, as objects in the words of a measurement."""
    label = TITLE.fullmatch(lines[0])
    columns = [column.strip() for column in lines[1].split("|")[1:]]
    threads, env = None, None
    for line in lines[2:]:
        if found := THREADS.fullmatch(line):
            threads, env = int(found[1]) if len(found[1]) < 9 else None, None
            continue
        name, *cells = line.rsplit("|", len(columns))
        if len(cells) != len(columns):
            yield UnlocatedRecords(line, BadRecord(f"{len(cells)} cells under a header of {len(columns)}"))
            continue
        if found := ENVIRONMENT.fullmatch(name.rstrip()):
            env, name = found[1], found[2]
        title = label[1].strip() if label else ""
        about = [("label", title), ("sub_label", name.strip()), ("num_threads", threads), ("env", env)]
        for column, text in zip(columns, map(str.strip, cells), strict=True):
            value = VALUE.fullmatch(text)
            if value is not None:
                values = zip(("median", "percent", "range"), value.groups(), strict=True)
                said = [(key, each) for key, each in values if each is not None]
                yield Object([*about, ("description", column), ("unit", unit), *said])
            elif text:
                yield UnlocatedRecords(line, BadRecord(f"{text[:60]!r} is not a time"))
