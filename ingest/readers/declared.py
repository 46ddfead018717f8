"""Formats as tables: a record is a case, and a table says what each of its fields becomes.

Fields are named by their path in the record, such as `stats.mean_ns`. What no table names is kept in `fields`.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, ClassVar

from ...warehouse.events import Environment
from .document import BadRecord, Object, show
from .json_format import JsonFormat, records_of
from .results import AS_THE_UNIT_SAYS, Results, Subject, number
from .settings import settings_of

STATISTICS = {
    "avg": "mean", "average": "mean", "med": "median", "std": "stddev", "stdev": "stddev", "std_dev": "stddev",
    "minimum": "min", "maximum": "max",
}  # fmt: skip
LEVEL = "[]."  # in a path: each object of a list
LONGEST_PATH = 1000  # characters that patterns are tried on
RUN = ("command", "git_commit", "git_branch", "host", "suite")  # texts among the columns of `runs`
MACHINE = ("cpu", "driver", "os", "architecture", "python", "torch")  # and of `environments`
COLUMNS = (
    "suite",
    "mode",
    "device",
    "dtype",
    "backend",
    "batch_size",
    "sequence_length",
)  # of `cases`; others are parameters


@dataclass(frozen=True, slots=True)
class Quantity:
    r"""The metric of a field: one number, or the samples of a list.

    In a table by patterns, metric, unit and statistic may refer to groups of the pattern, as \1.
    """

    metric: str
    unit: str | None = None
    statistic: str | None = None
    better: str | None = AS_THE_UNIT_SAYS
    phase: str | None = None
    void: bool = False  # whether the tool writes 0 or -1 for what it did not measure
    apart: bool = False  # of a list: whether each sample is a process or repetition of its own
    block: int | None = None  # of a list: the one that all samples share
    loops: int | None = 1  # of a list: calls in each sample

    def of(self, match: "re.Match[str]", names: Mapping[str, str]) -> "Quantity":
        """The value of a field whose path fits a pattern; `names` are other words for metrics."""
        metric, statistic = match.expand(self.metric), self.statistic and match.expand(self.statistic)
        return Quantity(
            names.get(metric, metric), self.unit and match.expand(self.unit), STATISTICS.get(statistic or "", statistic),
            self.better, self.phase, self.void, self.apart, self.block, self.loops,
        )  # fmt: skip

    def add(self, case: Subject, value: Any) -> None:
        """Add what a record has."""
        if isinstance(value, list):
            case.samples(
                value, self.unit, metric=self.metric, phase=self.phase or "steady", better=self.better, loops=self.loops,
                apart=self.apart, block=self.block,
            )  # fmt: skip
        else:
            case.metric(self.metric, value, self.unit, statistic=self.statistic, phase=self.phase, better=self.better)

    def is_void(self, value: Any) -> bool:
        """Return whether a value says that nothing was measured."""
        return value is None or (self.void and number(value) in (0, -1))


class Declared(JsonFormat):
    """A format whose records are cases, told by tables."""

    lines: ClassVar[bool] = False  # whether a file may hold a record a line
    holds: ClassVar[type | tuple[type, ...]] = (Object, list)
    # the list of records in the document, such as `files[].benchmarks`; without it the document is the list, or the only record
    records: ClassVar[str] = ""
    # field of a record -> paths above it, of which the first says it
    inherited: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    omitted: ClassVar[tuple[str, ...]] = ()  # fields that say again what others do
    about: ClassVar[Mapping[str, str]] = {}  # column of runs or environments, or a tag -> path in the document
    names: ClassVar[tuple[str, ...]] = ()  # the first of these that is there names the case; else the file does
    axes: ClassVar[Mapping[str, str]] = {}  # axis -> path; `=text` is the text itself
    values: ClassVar[Mapping[str, Quantity]] = {}  # path -> what it becomes
    patterns: ClassVar[Mapping[str, Quantity]] = {}  # pattern of a path -> the same
    metrics: ClassVar[Mapping[str, str]] = {}  # our name of a metric that a pattern finds
    setup: ClassVar[bool] = (
        False  # whether every text and switch that is left says what was measured, and so is an axis
    )
    note: ClassVar[str | None] = None  # what one must know of all files

    def parse(self, text: str) -> Any:
        """One document, or one a line where the tool writes lines."""
        return records_of(text) if self.lines else super().parse(text)

    def identity(self, name: str) -> str:
        """The file's name, where it names the case."""
        return "" if self.names else PurePath(name).stem

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """Describe the run by the document, or by its first record."""
        first = document if isinstance(document, Object) else None
        results.context = first or next((one for one in document if isinstance(one, Object)), Object())
        records = self.find(document)
        described = self._described(results.context)
        if left := document.left() if self._within(document) else {}:
            described["tags"] = left | described["tags"]
        if self.about or left:
            results.run(**described)
        if self.note:
            results.note(self.note)
        return records

    def find(self, document: Any) -> Iterable[Any]:
        """The records of the document.

        Raises:
            BadRecord: They are no list.
        """
        if not self._within(document):
            return document if isinstance(document, list) else [document]
        if LEVEL in self.records:
            return list(self._nested("", document, self.records.split(LEVEL), {}))
        found = taken(document, self.records)
        if found is not None and not isinstance(found, list):
            raise BadRecord(f"{self.records} is {show(found)}, not a list")
        return found or []

    def _nested(self, path: str, place: Object, keys: list[str], above: dict[str, Object]) -> Iterator[Any]:
        """The records in the lists of lists below a place, each with what it inherits from what it is in."""
        above = {**above, path: place}
        if len(keys) > 1:
            for inner in place.records(keys[0]):
                yield from self._nested(f"{path}{keys[0]}{LEVEL}", inner, keys[1:], above)
            return
        inherited: dict[str, Any] = {}
        for field, paths in self.inherited.items():
            for level, key in map(_cut, paths):
                said = above[level].take(key)
                inherited[field] = inherited.get(field) or said
        for record in place.array(keys[0]):
            if isinstance(record, Object):
                record.update(inherited)
            yield record

    def _within(self, document: Any) -> bool:
        return bool(self.records) and isinstance(document, Object)

    def _described(self, head: Object) -> dict[str, Any]:
        found = {column: value for column, path in self.about.items() if (value := taken(head, path)) is not None}
        run: dict[str, Any] = {column: found.pop(column) for column in RUN if isinstance(found.get(column), str)}
        machine: dict[str, Any] = {
            column: found.pop(column) for column in MACHINE if isinstance(found.get(column), str)
        }
        if isinstance(gpus := found.get("gpus"), str | list):
            del found["gpus"]
            machine["gpus"] = [gpus] if isinstance(gpus, str) else [gpu for gpu in gpus if isinstance(gpu, str)]
        if type(found.get("logical_cores")) is int:
            machine["logical_cores"] = found.pop("logical_cores")
        if "started_at" in found:
            run["started_at"] = Object([("at", found.pop("started_at"))]).moment("at")
        return run | {"environment": Environment(environment_id="", **machine), "tags": found}

    def load(self, record: Object, results: Results) -> None:
        """One case."""
        for path in self.omitted:
            taken(record, path)
        if record is not results.context:
            for path in self.about.values():  # which the run says
                if (said := look(record, path)) is not None and said == look(results.context, path):
                    taken(record, path)
        case = self.case(record, results)
        for keys, value in list(leaves(record)):
            if (rule := self.rule(".".join(keys))) is not None and not rule.is_void(value):
                rule.add(case, value)
                take(record, keys)
        self.more(record, case, results)
        case.fields(record.left())

    def case(self, record: Object, results: Results, name: str | None = None) -> Subject:
        """The case of a record, by its name and axes."""
        name = name or next(
            (said for path in self.names if isinstance(said := taken(record, path), str) and said), None
        )
        if self.names and name is None:
            raise BadRecord(f"no {' or '.join(self.names)}")
        axes: dict[str, Any] = {}
        for axis, path in self.axes.items():
            value = path[1:] if path.startswith("=") else taken(record, path)
            if value is not None and value != "":
                whole = isinstance(value, float) and value.is_integer()
                axes[axis] = "inf" if value == float("inf") else int(value) if whole else value
        free = {field: value for field, value in record.left().items() if self.rule(field) is None}
        axes |= {field: record.take(field) for field, _ in settings_of(free)}
        if self.setup:
            axes |= self._settings(record)
        return results.case(name or results.file_name(), **placed(axes))

    def _settings(self, record: Object) -> dict[str, Any]:
        """The texts and switches of a record that no table names."""
        named = set(self.about.values()) | set(self.names) | set(self.axes.values())
        found = {}
        for keys, value in list(leaves(record)):
            path = ".".join(keys)
            if isinstance(value, str | bool) and path not in named and self.rule(path) is None:
                found[path] = take(record, keys)
        return found

    def rule(self, path: str) -> Quantity | None:
        """The metric of a field, by its path."""
        if path in self.values:
            return self.values[path]
        return _ruled(type(self), path) if self.patterns and len(path) <= LONGEST_PATH else None

    def more(self, record: Object, case: Subject, results: Results) -> None:  # nothing more, unless a format says so
        """Add what no table can say, such as how the case ended."""


@functools.lru_cache(maxsize=4096)
def _ruled(kind: type[Declared], path: str) -> Quantity | None:
    for pattern, value in kind.patterns.items():
        if match := re.fullmatch(pattern, path):
            return value.of(match, kind.metrics)
    return None


def _cut(path: str) -> tuple[str, str]:
    """A path up to the objects of its last list, and the key in them."""
    before, level, key = path.rpartition(LEVEL)
    return before + level, key


def placed(axes: dict[str, Any]) -> dict[str, Any]:
    """The columns of a case that axes of their names are, and as `parameters` the others."""
    columns = {axis: axes[axis] for axis in COLUMNS if _fits(axis, axes.get(axis))}
    return {**columns, "parameters": {axis: value for axis, value in axes.items() if axis not in columns}}


def _fits(axis: str, value: Any) -> bool:
    """Return whether a value is of the type that a column of `cases` has."""
    return type(value) is int if axis in ("batch_size", "sequence_length") else isinstance(value, str)


def leaves(record: Object, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The fields of a record and of the objects in it, each with its keys."""
    for key, value in record.items():
        if isinstance(value, Object):
            yield from leaves(value, (*before, key))
        else:
            yield (*before, key), value


def look(record: Object, path: str) -> Any:
    """A field by its path, which is not taken."""
    value: Any = record
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Object) else None
    return value


def take(record: Object, keys: tuple[str, ...]) -> Any:
    """Take a field by its keys."""
    for key in keys[:-1]:
        record.take(key)
        record = record[key]
    return record.take(keys[-1])


def taken(record: Object, path: str) -> Any:
    """Take a field by its path; None if it is not there."""
    keys = path.split(".")
    for key in keys[:-1]:
        inner = record.get(key)
        if not isinstance(inner, Object):
            return None
        record.take(key)
        record = inner
    return record.take(keys[-1])
