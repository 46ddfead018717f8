"""The views and derived tables: one SELECT a file, documented column by column.

A file begins with a comment of paragraphs, separated by empty `--` lines:

    -- One row per case measured with both eager and another backend.       the grain, then any notes
    --
    -- arguments: configs := NULL, floor := {floor}                          only in macros; a rule of `rules.py` in braces
    --
    -- from: _case_effects without deviations                                the columns, in order: those of another view,
    -- axes: run, case without work_hash                                     groups of `axes.txt` (`case of name backend`),
    -- name      VARCHAR  Model.                                             what one of them means in this view,
    -- speedup   DOUBLE   eager median / backend median; > 1 is faster,      and columns with their type and meaning;
    --                    NULL where either failed.                          indented lines continue one

and the rest is one SELECT, in which `{axes}` stands for the axes of a case, `{own.axes}` for those of a table,
`{axes without backend}` for all others, `{axis: min(axis) AS axis}` for that of every axis, whose `type` may stand in it, and
`{axis without backend: …}` for that of all others. A file without columns
whose doc begins "One value" is a scalar macro: the rest is an expression. What it needs more than once it names by a
lambda over a list of one; a subquery would be joined back row by row, at ten times the price.
A name that begins with `_` is a step which only other views read.
Where many steps are planned together, a SELECT does not read a name that it gives itself: DuckDB plans that as a copy, after a
search for a column of the name. The next step reads it.

A word means one thing in all files. `side` is base or candidate. `mean` is an arithmetic mean; a geometric one is a `speedup`,
or a `geomean`. `passing` says of a case whether it passes, and of a group how many do. `n` counts what a number is taken over,
`total` what was judged; `in_mean` and `in_total` say whether a case is among these. A panel is a suite, mode, dtype, device and
backend; a setting is a panel without its backend.

Spark runs every file too (`query.engines.translate`), so a file keeps to what translates: `len` is of lists and `length` of
text, `unnest` stands alone in its column, no lambda contains a window function, and the fields of a struct are named one by
one.
"""

import functools
import graphlib
import hashlib
import importlib.resources
import itertools
import re
from collections.abc import Set
from dataclasses import dataclass
from importlib.resources.abc import Traversable

from .rules import with_rules

_COLUMN = re.compile(r"(\w+)\s{2,}([A-Z]+(?:\[\])?)\s{2,}(\S.*)")  # name, type, meaning
_GROUP = re.compile(r"(\w+)(?: (without|of) ([\w ]+))?")
# a number cast to DOUBLE is planned as a function, at the price of an addition; as `2.5e0` it is one as it stands
_DOUBLE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)(e-?\d+)?::DOUBLE\b")
_AXES = re.compile(r"\{(\w*\.?)(?:axes|axis)(?: without ([\w ]+))?(?:: ([^{}]+))?\}")
# what is read or called; comments and texts are passed over
_READ = re.compile(r"--.*|'[^']*'|(?<!DISTINCT )\b(?:FROM|JOIN)\s+(\w+)|\b(\w+)\(")
_STEP = re.compile(r"(?:\bWITH|,)\s+(\w+) AS (?:MATERIALIZED )?\(")


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a macro; `default` is SQL, None where it must be given."""

    name: str
    default: str | None


@dataclass(frozen=True, slots=True)
class ViewColumn:
    """One column of a view."""

    type: str  # DuckDB's name of it
    meaning: str


@dataclass(frozen=True, slots=True)
class View:
    """One SQL file: what it is called, what it means, what it gives."""

    name: str
    doc: str  # the grain first
    columns: dict[str, ViewColumn]  # by name, in order
    arguments: tuple[Argument, ...] | None  # None: no macro
    body: str  # the SELECT, or a scalar macro's expression, without comment and semicolon

    @property
    def scalar(self) -> bool:
        """True for a macro that gives one value rather than rows."""
        return self.arguments is not None and not self.columns

    @property
    def query(self) -> str:
        """The body as a query of its own."""
        return f"SELECT {self.body}" if self.scalar else self.body

    @property
    def last_select(self) -> str:
        """The SELECT after all steps, for a caller that brings the steps it reads, under their names."""
        return self.body[self.body.rindex("\nSELECT") + 1 :]

    @property
    def after_first_step(self) -> str:
        """The query without its first step, for a caller that brings what this gives, under its name."""
        return "WITH\n" + self.body.partition("),\n")[2]

    @property
    def reads(self) -> set[str]:
        """Names of what it reads from or calls, its own steps left out."""
        names = {table or function for table, function in _READ.findall(self.body)}
        return names.difference(_STEP.findall(self.body))


@functools.cache
def views() -> dict[str, View]:
    """Every view and macro by name, in alphabetical order."""
    return {name: view(name) for name in _files("views")}


def view_names() -> Set[str]:
    """The names of all views and macros; their files are not read."""
    return _paths("views").keys()


@functools.cache
def view(name: str) -> View:
    """One view or macro: to read all takes 10 ms.

    Raises:
        KeyError: There is none of this name.
    """
    return parse(name, _paths("views")[name].read_text(encoding="utf-8"))


@functools.cache
def tables() -> dict[str, View]:
    """Every derived table by name: its SELECT computes the rows that the runs in the temporary table `_touched` concern."""
    return {name: parse(name, text) for name, text in _files("tables").items()}


@functools.cache
def computed() -> dict[str, View]:
    """Tables that Python computes when a query names them, by name; the body is `module:function` in the package."""
    return {name: parse(name, text) for name, text in _files("computed").items()}


@functools.cache
def axes() -> dict[str, dict[str, ViewColumn]]:
    """The groups of columns that headers refer to, by name."""
    text = importlib.resources.files(__name__).joinpath("axes.txt").read_text(encoding="utf-8")
    found = {}
    for paragraph in text.strip().split("\n\n")[1:]:
        name, _, lines = paragraph.partition("\n")
        found[name] = read_columns("axes.txt", lines)
    return found


@functools.cache
def in_order() -> tuple[str, ...]:
    """Every derived table and view by name, each after all that it reads."""
    known = tables() | views()
    graph = {name: sorted(view.reads & known.keys()) for name, view in known.items()}
    return tuple(graphlib.TopologicalSorter(graph).static_order())


@functools.cache
def digest() -> str:
    """SHA-256 of all SQL files and of what completes them: a warehouse built with another one has stale views."""
    here, texts = importlib.resources.files(__name__), [*_files("tables").items(), *_files("views").items()]
    completing = [here.joinpath(name).read_text(encoding="utf-8") for name in ("axes.txt", "rules.py", "__init__.py")]
    return hashlib.sha256("\0".join((*itertools.chain(*texts), *completing)).encode()).hexdigest()


@functools.cache
def case_axes() -> tuple[str, ...]:
    """The axes of a case, in order: the columns of the group `case` but the two checksums."""
    return tuple(name for name in axes()["case"] if name not in ("case_id", "work_hash"))


def _rendered(text: str) -> str:
    """The text of an SQL file with the values of rules in place of `{floor}`, columns in place of `{axes}` and the like.

    Numbers are written as DuckDB plans them cheaply.
    """

    def columns(match: re.Match[str]) -> str:
        each, left_out = match[3] or f"{match[1]}axis", (match[2] or "").split()
        known = ((axis, axes()["case"][axis].type) for axis in case_axes() if axis not in left_out)
        return ", ".join(re.sub(r"\btype\b", type_, re.sub(r"\baxis\b", axis, each)) for axis, type_ in known)

    return _DOUBLE.sub(lambda number: number[1] + (number[2] or "e0"), _AXES.sub(columns, with_rules(text)))


@functools.cache
def _files(folder: str) -> dict[str, str]:
    """The text of every SQL file by name, as it stands: to complete all takes 15 ms."""
    return {name: path.read_text(encoding="utf-8") for name, path in _paths(folder).items()}


@functools.cache
def _paths(folder: str) -> dict[str, Traversable]:
    """Every SQL file by name, from a folder and the folders in it."""
    found: dict[str, Traversable] = {}
    ahead = [importlib.resources.files(__name__).joinpath(folder)]
    while ahead:
        for entry in ahead.pop().iterdir():
            if entry.name.endswith(".sql"):
                found[entry.name.removesuffix(".sql")] = entry
            elif entry.is_dir():
                ahead.append(entry)
    return dict(sorted(found.items()))


def parse(name: str, text: str) -> View:
    """Read one SQL file.

    Raises:
        ValueError: The header does not follow the grammar above.
    """
    lines = _rendered(text).splitlines()
    count = next((i for i, line in enumerate(lines) if not line.startswith("--")), len(lines))
    header = "\n".join(line[2:].removeprefix(" ") for line in lines[:count])
    paragraphs = [paragraph for paragraph in re.split(r"\n\s*\n", header) if paragraph.strip()]
    body = "\n".join(lines[count:]).strip().removesuffix(";")
    if not paragraphs or not paragraphs[0].startswith("One ") or not body:
        raise ValueError(f"{name}.sql: want a comment that begins with the grain ('One row per …'), then SQL")
    arguments = _arguments(paragraphs)
    columns = read_columns(f"{name}.sql", paragraphs.pop()) if not paragraphs[0].startswith("One value") else {}
    return View(name, " ".join(" ".join(paragraphs).split()), columns, arguments, body)


def _arguments(paragraphs: list[str]) -> tuple[Argument, ...] | None:
    """Take the paragraph of arguments out, if there is one."""
    for index, paragraph in enumerate(paragraphs):
        if paragraph.startswith("arguments:"):
            text = " ".join(paragraphs.pop(index).removeprefix("arguments:").split())
            parts = [part.split(":=") for part in re.split(r",(?![^\[]*\])", text)]  # a list's commas part nothing
            return tuple(Argument(part[0].strip(), part[1].strip() if len(part) > 1 else None) for part in parts)
    return None


def read_columns(file: str, paragraph: str) -> dict[str, ViewColumn]:
    """The columns that a paragraph describes, by name, in order.

    Raises:
        ValueError: A line is none of a header's.
    """
    columns: dict[str, ViewColumn] = {}
    last = ""  # the column that an indented line continues
    for line in paragraph.splitlines():
        if line.startswith("from: "):
            columns |= _columns_of(file, line.removeprefix("from: "))
        elif line.startswith("axes: "):
            columns |= _groups(file, line.removeprefix("axes: "))
        elif line.startswith(" ") and last:
            columns[last] = ViewColumn(columns[last].type, f"{columns[last].meaning} {line.strip()}")
        elif match := _COLUMN.fullmatch(line.rstrip()):
            last = match[1]
            columns[last] = ViewColumn(match[2], match[3])
        else:
            raise ValueError(
                f"{file}: want '-- column  TYPE  meaning', '-- axes: group' or '-- from: view', got {line!r}"
            )
    return columns


def _columns_of(file: str, text: str) -> dict[str, ViewColumn]:
    """The columns of `_case_effects without deviations`, another view that this one hands on."""
    match, files = _GROUP.fullmatch(text.strip()), _files("views")
    if match is None or match[1] not in files or match[2] == "of":
        raise ValueError(f"{file}: {text!r} is not the name of a view")
    columns, left_out = parse(match[1], files[match[1]]).columns, set((match[3] or "").split())
    if unknown := left_out - columns.keys():
        raise ValueError(f"{file}: {match[1]} has no columns {', '.join(sorted(unknown))} to leave out")
    return {name: column for name, column in columns.items() if name not in left_out}


def _groups(file: str, text: str) -> dict[str, ViewColumn]:
    """The columns of `run, case without work_hash`, `case of name backend`."""
    columns: dict[str, ViewColumn] = {}
    for part in text.split(", "):
        match = _GROUP.fullmatch(part.strip())
        group = axes().get(match[1]) if match else None
        if match is None or group is None or not group.keys() >= (named := set((match[3] or "").split())):
            raise ValueError(f"{file}: {part!r} is not a group of axes.txt: {', '.join(axes())}")
        columns |= {name: column for name, column in group.items() if (name in named) == (match[2] == "of")}
    return columns
