"""The views and derived tables: one SELECT a file, documented column by column.

A file begins with a comment of paragraphs, parted by empty `--` lines:

    -- One row per case measured with both eager and another backend.       the grain, then any notes
    --
    -- arguments: configs := NULL, trim := 10                                only in macros
    --
    -- speedup   eager median / backend median; > 1 is faster,               the columns, in order;
    --           NULL where either failed.                                   more indented lines continue one

and the rest is one SELECT. A file without columns whose doc begins "One value" is a scalar macro: the rest is an
expression. What it needs more than once it names by a lambda over a list of one; a subquery would be joined back row by
row, at ten times the price. A name that begins with `_` is a step which only other views read.

Every file is also run on Spark (`warehouse.translate`), so it keeps to what translates: `len` is of lists and `length` of
text, `unnest` stands alone in its column, a window function in no lambda, and a struct's fields are named one by one.
"""

import functools
import graphlib
import hashlib
import importlib.resources
import re
from dataclasses import dataclass

_COLUMN = re.compile(r"(\w+)\s{2,}(\S.*)")
# what is read or called; comments and texts are passed over
_READ = re.compile(r"--.*|'[^']*'|(?<!DISTINCT )\b(?:FROM|JOIN)\s+(\w+)|\b(\w+)\(")
_STEP = re.compile(r"(?:\bWITH|,)\s+(\w+) AS (?:MATERIALIZED )?\(")


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a macro; `default` is SQL, None where it must be given."""

    name: str
    default: str | None


@dataclass(frozen=True, slots=True)
class View:
    """One SQL file: what it is called, what it means, what it gives."""

    name: str
    doc: str  # the grain first
    columns: dict[str, str]  # name -> meaning, in order
    arguments: tuple[Argument, ...] | None  # None: no macro
    body: str  # the SELECT, or a scalar macro's expression, without comment and semicolon

    @property
    def scalar(self) -> bool:
        """Whether it is a macro that gives one value rather than rows."""
        return self.arguments is not None and not self.columns

    @property
    def query(self) -> str:
        """The body as a query of its own."""
        return f"SELECT {self.body}" if self.scalar else self.body

    @property
    def reads(self) -> set[str]:
        """Names of what it reads from or calls, its own steps left out."""
        names = {table or function for table, function in _READ.findall(self.body)}
        return names.difference(_STEP.findall(self.body))


@functools.cache
def views() -> dict[str, View]:
    """Every view and macro by name, in alphabetical order."""
    return {name: parse(name, text) for name, text in _files("views").items()}


@functools.cache
def tables() -> dict[str, View]:
    """Every derived table by name: its SELECT computes the rows that the runs in the temporary table `_touched` concern."""
    return {name: parse(name, text) for name, text in _files("tables").items()}


@functools.cache
def in_order() -> tuple[str, ...]:
    """Every derived table and view by name, each after all that it reads."""
    known = tables() | views()
    graph = {name: sorted(view.reads & known.keys()) for name, view in known.items()}
    return tuple(graphlib.TopologicalSorter(graph).static_order())


@functools.cache
def digest() -> str:
    """SHA-256 of all SQL files: a warehouse built with another one has stale views."""
    texts = {folder: _files(folder) for folder in ("tables", "views")}
    return hashlib.sha256(repr(texts).encode()).hexdigest()


def _files(folder: str) -> dict[str, str]:
    files = importlib.resources.files(__name__).joinpath(folder).iterdir()
    found = {file.name.removesuffix(".sql"): file for file in files if file.name.endswith(".sql")}
    return {name: found[name].read_text(encoding="utf-8") for name in sorted(found)}


def parse(name: str, text: str) -> View:
    """Read one SQL file.

    Raises:
        ValueError: The header does not follow the grammar above.
    """
    lines = text.splitlines()
    count = next((i for i, line in enumerate(lines) if not line.startswith("--")), len(lines))
    header = "\n".join(line[2:].removeprefix(" ") for line in lines[:count])
    paragraphs = [paragraph for paragraph in re.split(r"\n\s*\n", header) if paragraph.strip()]
    body = "\n".join(lines[count:]).strip().removesuffix(";")
    if not paragraphs or not paragraphs[0].startswith("One ") or not body:
        raise ValueError(f"{name}.sql: want a comment that begins with the grain ('One row per …'), then SQL")
    arguments = _arguments(paragraphs)
    columns = _columns(name, paragraphs.pop()) if not paragraphs[0].startswith("One value") else {}
    return View(name, " ".join(" ".join(paragraphs).split()), columns, arguments, body)


def _arguments(paragraphs: list[str]) -> tuple[Argument, ...] | None:
    """Take the paragraph of arguments out, if there is one."""
    for index, paragraph in enumerate(paragraphs):
        if paragraph.startswith("arguments:"):
            text = " ".join(paragraphs.pop(index).removeprefix("arguments:").split())
            parts = [part.split(":=") for part in re.split(r",(?![^\[]*\])", text)]  # a list's commas part nothing
            return tuple(Argument(part[0].strip(), part[1].strip() if len(part) > 1 else None) for part in parts)
    return None


def _columns(name: str, paragraph: str) -> dict[str, str]:
    columns: dict[str, str] = {}
    for line in paragraph.splitlines():
        if line.startswith(" ") and columns:
            columns[next(reversed(columns))] += " " + line.strip()
        elif match := _COLUMN.fullmatch(line.rstrip()):
            columns[match[1]] = match[2]
        else:
            raise ValueError(f"{name}.sql: want '-- column   meaning', got {line!r}")
    return columns
