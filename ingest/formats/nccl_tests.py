"""nccl-tests and rccl-tests: the tables that all_reduce_perf and its siblings print."""

import functools
import re
from pathlib import PurePath
from typing import Any

from ..format import Head
from ..readers.document import BadRecord, lines_of
from ..readers.results import Results
from ..readers.text_format import TextFormat

COLUMNS = {"size", "count", "type", "time", "algbw", "busbw"}
STARTING = re.compile(r"#\s*Collective test starting:\s*(\w+)")
RANK = re.compile(r"#\s+Rank\s+\d+\s")
PLACES = ("out-of-place", "in-place")


class NcclTests(TextFormat):
    """Results of nccl-tests."""

    name = "nccl-tests"
    doc = "output of nccl-tests and rccl-tests"
    becomes = (
        "row → two cases of the collective, out-of-place and in-place; time → latency_mean; algbw, busbw; wrong "
        "results → fail_accuracy"
    )
    lost = "comment lines except header, collective and ranks"

    def recognise(self, head: Head) -> bool:
        """Return whether the header of the table is there."""
        return any(_header(line) for line in lines_of(head.text)) if "busbw" in head.text else False

    def identity(self, name: str) -> str:
        """The name of the file, which may be the name of the cases."""
        return PurePath(name).stem

    def load(self, lines: list[str], results: Results) -> int:
        """One record a row."""
        name, ranks, header = results.file_name(), 0, None
        other = 0
        for at, line in enumerate(lines, 1):
            if found := STARTING.match(line):
                name, ranks = found[1], 0
            elif RANK.match(line):
                ranks = 1 if header else ranks + 1
                header = None
            elif names := _header(line):
                header = names
            elif header and line[:1] == " " and line.split()[:1] and line.split()[0].isdecimal():
                results.record(functools.partial(_read, results, name, ranks, header, line.split()), line, at)
            elif line.strip() and not line.startswith("#"):
                other += 1
        return other


def _header(line: str) -> list[str] | None:
    names = line.removeprefix("#").split()
    return names if line.startswith("#") and set(names) >= COLUMNS else None


def _read(results: Results, name: str, ranks: int, header: list[str], cells: list[str]) -> None:
    if len(cells) != len(header):
        raise BadRecord(f"{len(cells)} columns under a header of {len(header)}")
    starts = [at for at, column in enumerate(header) if column == "time"]
    about = dict(zip(header[: starts[0]], cells, strict=False))
    axes: dict[str, Any] = {
        key: value for key, value in about.items() if key != "count" and value not in ("-1", "none")
    }
    if not about["size"].isdecimal() or len(about["size"]) > 18:
        raise BadRecord(f"size is {about['size']!r}, not a number of bytes")
    axes |= {"size": int(about["size"])} | ({"ranks": ranks} if ranks else {})
    for start, end, place in zip(starts, [*starts[1:], len(header)], PLACES, strict=False):
        case = results.case(name, parameters={**axes, "place": place})
        values = dict(zip(header[start:end], cells[start:end], strict=True))
        case.metric("latency", values.pop("time"), "us", statistic="mean")
        for metric in ("algbw", "busbw"):
            case.metric(metric, values.pop(metric, None), "GB/s")
        wrong = values.pop("#wrong", None)
        if wrong is not None and wrong.isdecimal():
            case.metric("wrong", wrong, "count", better="lower")
            if wrong.strip("0"):
                case.outcome("fail_accuracy", f"{wrong} values are wrong")
            wrong = None
        case.fields({**values, "#wrong": wrong})
