"""Mappings: the meaning of the columns of an unknown table, in words such as `name=model,value=result,unit=ms`.

    FIELD=COLUMN     the field is what the column says, row by row
    FIELD:=TEXT      the field is this text in every row
    FIELD=WORD       the same, for words that can be nothing else: unit=ms, better=lower, statistic=mean, phase=warmup

What describes a value (metric, unit, better, statistic, phase, loops) belongs to the `value` it follows; before the first,
to all.
"""

import hashlib
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...query.axes import WORK_AXES
from ...warehouse.errors import BenchError, UnknownName
from ...warehouse.settings import setting
from ..readers.units import PERCENT, unit_of
from .columns import measure_of, unit_of_samples

MAPPED_AXES = ("name", *(axis for axis in WORK_AXES if axis != "name"))
OF_VALUE = ("metric", "unit", "better", "statistic", "phase", "loops")
OF_ROW = ("time", "status", "reason")
OF_RUN = ("run", "commit", "branch", "host", "config")
KEY = "@key"  # the column that holds the key of a row, where an object holds the rows
OF_KEY = "@value"  # the column that holds what is under that key, where it is a number
FIELDS = {
    "name": "what is measured: model, function, command; @key: the key of each row (its @value), where a JSON object holds them",
    **dict.fromkeys(MAPPED_AXES[1:], "are the axes of a case"),
    "parameters": "further axis; may be repeated; each key of an object is an axis",
    "value": "a number, or a list of numbers, which are samples; may be repeated",
    "melt": "an axis: each column that nothing names is a value, and its name the value of the axis",
    "metric": "what the value is; else latency, throughput or the column's name",
    "unit": "of the value: ms, s, MB, GB/s, tokens/s …",
    "better": "lower or higher, where the unit does not say it",
    "statistic": "mean, median, p99 …: the value is an aggregate, no sample",
    "phase": "cold, compile, warmup or steady",
    "loops": "calls that were timed together, where the value is the time of one",
    "time": "when the row was measured: ISO 8601 or a unix time; a pause of over 30 minutes ends a run",
    "status": "ok, failed, OOM, timeout, skipped …",
    "reason": "why it failed",
    "run": "rows that differ in it, or in one of the next four, belong to different runs",
    "commit": "commit that was measured",
    "branch": "its branch",
    "host": "machine that measured",
    "config": "a column: its rows become runs of the config that it names",
    "records": "where the rows are: a path in JSON such as results.items, a table of SQLite, a sheet of xlsx",
    "ignore": "a column to leave out; may be repeated",
    "rest": "what becomes of other columns: parameters (the default) or out",
}
REPEATED = ("value", "parameters", "ignore")
RESTS = ("parameters", "out")
OF_FORMAT = {"recognise", "doc", "becomes", "lost"}  # keys of a file that make its mapping a format
METRICS = {"ns": "latency", "ops/s": "throughput"}  # what a value is that has this unit and no name
SUFFIXES = ("ns", "bytes", "%")  # units that may stand behind a number, as `unit_of` names them
STATISTIC = re.compile(
    r"min|max|mean|median|sum|mode|q1|q3|std|stddev|stderr|variance|cv|iqr|mad|low|high|p\d+(\.\d+)?"
)
WORDS = {
    "unit": {"ratio", "count", *PERCENT},
    "better": {"lower", "higher"},
    "phase": {"cold", "compile", "warmup", "steady"},
}
PAIR = re.compile(r"\s*(\w+)\s*(:?=)\s*(.*?)\s*", re.DOTALL)
Pair = tuple[str, bool, str]  # field, whether its text stands for itself, column or text


@dataclass(frozen=True, slots=True)
class Term:
    """The source of a field: a column, or the mapping itself."""

    text: str
    fixed: bool = False

    def __str__(self) -> str:
        return f"{':=' if self.fixed else '='}{self.text.replace(',', chr(92) + ',')}"


@dataclass(frozen=True, slots=True)
class Value:
    """A column of numbers, and its description."""

    column: str
    about: dict[str, Term]
    metric: str | None = None  # what it is where nothing says it; None: what its unit makes of it
    melt: str | None = (
        None  # axis whose values are names of columns; without a column, it stands for all that nothing names
    )

    @property
    def default_metric(self) -> str:
        """The metric where neither the mapping nor its unit gives one: the column's name, if it names the measure."""
        return "value" if self.melt is not None or self.column == OF_KEY else self.column

    def __str__(self) -> str:
        first = f"value{Term(self.column)}" if self.melt is None else f"melt{Term(self.melt)}"
        return ",".join([first, *(f"{key}{self.about[key]}" for key in sorted(self.about))])


def measured_value(column: str) -> Value:
    """A column that holds measured numbers by its name, which says unit and direction, too."""
    about = {field: Term(text, fixed=True) for field, text in (measure_of(column) or {}).items()}
    return Value(column, about, column)


@dataclass(frozen=True, slots=True)
class Mapping:
    """The meaning of each column of a table."""

    fields: dict[str, Term] = field(default_factory=dict)
    values: tuple[Value, ...] = ()
    parameters: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    records: str | None = None
    rest: str = RESTS[0]

    @property
    def columns(self) -> dict[str, str]:
        """Every column that is named, and the field it is."""
        terms = [(name, term) for name, term in self.fields.items()]
        for value in self.values:
            terms += [*([("value", Term(value.column))] if value.column else []), *value.about.items()]
        terms += [("parameters", Term(column)) for column in self.parameters]
        terms += [("ignore", Term(column)) for column in self.ignored]
        return {term.text: name for name, term in reversed(terms) if not term.fixed}

    @property
    def melts(self) -> bool:
        """True if names of columns are values of an axis."""
        return any(value.melt is not None for value in self.values)

    @property
    def parts_runs(self) -> bool:
        """True if rows name their run."""
        return any(name in self.fields and not self.fields[name].fixed for name in OF_RUN)

    @property
    def may_part_runs(self) -> bool:
        """True if runs can be told by the times of rows: there is a column of times, and nothing names a row's run."""
        return (
            "time" in self.fields and not self.fields["time"].fixed and not any(name in self.fields for name in OF_RUN)
        )

    @property
    def digest(self) -> str:
        """Eight digits that two mappings share only if they mean the same."""
        return hashlib.sha256(str(self).encode("utf-8", "surrogateescape")).hexdigest()[:8]

    def __str__(self) -> str:
        parts = [f"{name}{self.fields[name]}" for name in FIELDS if name in self.fields]
        parts += [f"parameters{Term(column)}" for column in sorted(self.parameters)]
        parts += [f"ignore{Term(column)}" for column in sorted(self.ignored)]
        parts += [f"records{Term(self.records)}"] if self.records else []
        parts += [f"rest={self.rest}"] if self.rest != RESTS[0] else []
        return ",".join([*parts, *map(str, self.values)])


def parse_mapping(texts: Iterable[str], groups: Sequence[str] = ()) -> Mapping:
    """The mapping from the arguments of `--map` together.

    Args:
        texts: FIELD=COLUMN pairs parted by commas (one that belongs to a name is written `\\,`), or @FILE of TOML.
        groups: Columns there are that were named for their fields, as the groups of a pattern are.

    Raises:
        BenchError: They say nothing that can be understood, or leave out what is measured or its value.
    """
    texts = list(texts)
    _check_order([pair for text in texts if not text.startswith("@") for pair in _of_text(text)])
    pairs = [*pairs_of(texts)]
    return _checked(_build([*pairs, *_of_groups(groups, pairs)]), ", or a group (?P<name>…)" if groups else "")


def pairs_of(texts: Iterable[str]) -> Iterator[Pair]:
    """The words of the arguments of `--map`, those of files among them."""
    return (pair for text in texts for pair in (_of_file(text[1:]) if text.startswith("@") else _of_text(text)))


def _checked(mapping: Mapping, group: str) -> Mapping:
    """The mapping, if it says what is measured; `group` is a further way to say it."""
    if "name" not in mapping.fields:
        raise BenchError(f"nothing says what is measured. Map name=COLUMN, or name:=TEXT for all rows{group}")
    if not mapping.values and "status" not in mapping.fields:
        raise BenchError("nothing is measured. Map value=COLUMN, or at least status=COLUMN")
    return mapping


def mapping_of_document(document: dict[str, Any], name: str) -> Mapping:
    """The mapping that a document of TOML is; `name` is its file's. Raises as `parse_mapping`."""
    return _checked(_build(_of_document(document, name)), "")


def terms_of(axes: Iterable[str], metrics: Iterable[str], ignored: Iterable[str]) -> list[str]:
    """The words of a mapping in which these columns are axes, measured numbers, or left out."""
    return [
        *(f"{column if column in MAPPED_AXES else 'parameters'}{Term(column)}" for column in axes),
        *(str(Value(column, {})) for column in metrics),
        *(f"ignore{Term(column)}" for column in ignored),
    ]


def with_columns(mapping: Mapping, columns: Sequence[str]) -> Mapping:
    """The mapping for a table: a column that has the name of an axis of cases is that axis, unless it is something else; what
    is melted is a value a column.
    """
    free = set(columns) - set(mapping.columns) - {name for name in MAPPED_AXES if name in mapping.fields}
    found = {name: Term(name) for name in MAPPED_AXES if name in free}
    values: list[Value] = []
    for value in mapping.values:
        melted = [column for column in columns if column in free - found.keys()] if value.melt else []
        values += [replace(value, column=column) for column in melted] or ([] if value.melt else [value])
    return replace(mapping, fields={**found, **mapping.fields}, values=tuple(values))


def _of_text(text: str) -> Iterator[Pair]:
    for part in re.split(r"(?<!\\),", text):
        if part.strip():
            match = PAIR.fullmatch(part.replace("\\,", ","))
            if match is None or not match[3]:
                raise BenchError(
                    f"--map {part.strip()!r} is not FIELD=COLUMN or FIELD:=TEXT, such as name=model,value=result,unit=ms"
                )
            yield match[1], match[2] == ":=", match[3]


def _check_order(pairs: Sequence[Pair]) -> None:
    """A description before each of several values is meant for the one after it, and would be that of the one before.

    Raises:
        BenchError: Some are written so.
    """
    for about in OF_VALUE:
        order = [name for name, _, _ in pairs if name in ("value", about)]
        if len(order) > 2 and order == [about, "value"] * (len(order) // 2):
            text, column = (next(text for name, _, text in pairs if name == wanted) for wanted in (about, "value"))
            raise BenchError(
                f"{about} stands before each value, and belongs after it: value={column},{about}={text},value=…"
            )


def _of_file(name: str) -> Iterator[Pair]:
    """The same in TOML: a string is a column, {text = "…"} a text, a list several, [[value]] a value with what it is."""
    return _of_document(read_toml(_mapping_file(name), name), name)


def read_toml(path: Path, name: str) -> dict[str, Any]:
    """The content of a mapping's file, which messages call `name`.

    Raises:
        BenchError: It cannot be read.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise BenchError(f"cannot read the mapping {name}: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BenchError(f"the mapping {name} is not valid TOML: {error}") from None


def _of_document(document: dict[str, Any], name: str) -> Iterator[Pair]:
    """The words of a mapping, those of all values first; without the words for recognition and for people."""
    for key in sorted(
        document.keys() - OF_FORMAT, key=lambda key: (key in (*REPEATED, "melt"), list(document).index(key))
    ):
        for value in document[key] if isinstance(document[key], list) else [document[key]]:
            if key in ("value", "melt") and isinstance(value, dict):
                about = dict(value)
                yield _pair(name, key, about.pop("column" if key == "value" else "axis", None))
                yield from (_pair(name, inner, about[inner]) for inner in about)
            else:
                yield _pair(name, key, value)


def _mapping_file(name: str) -> Path:
    """The file of `@name`: a path, else NAME or NAME.toml in the folder of mappings that the project's settings name."""
    path, folder = Path(name), setting("mappings")
    kept = (Path(folder, file) for file in (name, f"{name}.toml")) if folder else ()
    return path if path.exists() else next((file for file in kept if file.is_file()), path)


def _pair(name: str, key: str, value: Any) -> Pair:
    fixed = isinstance(value, dict) and list(value) == ["text"]
    text = value["text"] if fixed else value
    if not isinstance(text, str) or not text:
        raise BenchError(f'the mapping {name}: {key} is neither a column, such as "model", nor {{text = "…"}}')
    return key, fixed, text


def _of_groups(groups: Sequence[str], pairs: Sequence[Pair]) -> Iterator[Pair]:
    """The groups that have the name of a field and are nothing else yet; of those that describe, the value comes first."""
    taken = {text for _, fixed, text in pairs if not fixed} | {name for name, _, _ in pairs if name not in REPEATED}
    for name in sorted(set(groups) - taken, key=lambda name: (name in OF_VALUE, name)):
        if name in FIELDS and name not in ("records", "rest"):
            yield name, False, name


def _build(pairs: Iterable[Pair]) -> Mapping:
    settings: dict[str, str] = {}
    fields: dict[str, Term] = {}
    repeated: dict[str, list[str]] = {"parameters": [], "ignore": []}
    values: list[Value] = []
    of_all: dict[str, Term] = {}
    for name, fixed, text in pairs:
        if name not in FIELDS:
            cure = f"A column that tells cases apart is an axis: parameters={text}. Fields: {', '.join(FIELDS)}"
            raise UnknownName("field", name, FIELDS, where="the mapping", cure=cure)
        target = fields if name not in OF_VALUE else values[-1].about if values else of_all
        if name in target or name in settings:
            raise BenchError(f"the mapping says {name} twice")
        if name in (*REPEATED, "config", "melt") and fixed:
            what = "an axis" if name == "melt" else "a column"
            cure = f"--config {text} is for all rows" if name == "config" else f"{name}={text}"
            raise BenchError(f"{name} is {what}, not a text: {cure}")
        if name == "value":
            values.append(Value(text, {}))
        elif name == "melt":
            if any(value.melt for value in values):
                raise BenchError("the mapping says melt twice")
            values.append(Value("", {}, melt=text))
        elif name in repeated:
            repeated[name].append(text)
        elif name in ("records", "rest"):
            settings[name] = text
        else:
            target[name] = Term(text, fixed or _is_word(name, text))
    if settings.get("rest", RESTS[0]) not in RESTS:
        raise UnknownName("rest", settings["rest"], RESTS, where="the mapping")
    for name, term in of_all.items():
        for value in values:
            value.about.setdefault(name, term)
    _add_units(values)
    named = tuple(replace(value, metric=_metric(value, values)) for value in values)
    lists = {"parameters": tuple(repeated["parameters"]), "ignored": tuple(repeated["ignore"])}
    return Mapping(fields, named, **lists, records=settings.get("records"), rest=settings.get("rest", RESTS[0]))


def _add_units(values: Iterable[Value]) -> None:
    """Give each value without a unit what its column's name says of it: as if nobody had mapped it."""
    for value in values:
        if "unit" in value.about:
            continue
        if unit := unit_of_samples(value.column):
            value.about["unit"] = Term(unit, True)
        elif "metric" not in value.about and (found := measure_of(value.column)):
            if "unit" in found and "statistic" not in value.about:
                found["metric"] = value.column
            value.about.update({key: Term(said, True) for key, said in found.items() if key not in value.about})


def _is_word(name: str, text: str) -> bool:
    """Return whether a text is a keyword and not a column."""
    if name == "unit" and (unit_of(text).better is not None or unit_of(text).name == "bytes"):
        return True
    return bool(STATISTIC.fullmatch(text)) if name == "statistic" else text in WORDS.get(name, ())


def _metric(value: Value, values: Sequence[Value]) -> str | None:
    """The column's name as metric, if two values would be equal without it."""
    kinds = [_kind(other) for other in values]
    return value.column if kinds.count(_kind(value)) > 1 else None


def _kind(value: Value) -> tuple[object, ...]:
    unit = value.about.get("unit")
    name = unit_of(unit.text).name if unit and unit.fixed else unit
    return (name, *(value.about.get(key) for key in ("metric", "statistic", "phase")))


def fields_for_people() -> str:
    """The fields and what they are, one a line; those that are the same kind of thing on one."""
    lines: dict[str, list[str]] = {}
    for name, doc in FIELDS.items():
        lines.setdefault(doc, []).append(name)
    return "\n".join(f"  {' '.join(names):<11} {doc}" for doc, names in lines.items())
