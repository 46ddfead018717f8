"""The interface of a format: how a file is recognised by its content, and how its records become events.

`registry.py` finds every format there is.
"""

import functools
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from .readers.folders import date_in
from .readers.leading_text import unlogged

if TYPE_CHECKING:
    import duckdb

    from ..warehouse.events import RunRecord
    from ..warehouse.log import Batch

BLOCK_BYTES = 1 << 19
MAX_LINE_BYTES = 16 << 20  # a longer line is no record; it is also what DuckDB takes for one JSON object at most
MAX_TEXT = 64 << 10  # characters of a reject that are kept
LOOK = 32 << 10  # bytes of a head that are looked at as a document
TOKEN = re.compile(  # matches in linear time; a bracket after an escape sets a colour
    r'"([^"\\]*(?:\\.[^"\\]*)*)(?:"(\s*:)?)?|[{}\]]|(?<!\x1b)\[', re.DOTALL
)
PATH_DEPTH = 6
NAMED_KEYS = 4  # keys or columns by which a file was recognised
FOLDER, FILE = "folder", "file"


@dataclass(frozen=True)
class Head:
    """The beginning of a file, by which its format is recognised."""

    path: Path
    data: bytes  # whole lines, at least the first, unless the file is smaller or has no line end for megabytes
    packed: bool = False  # whether it was; `data` is unpacked

    @functools.cached_property
    def text(self) -> str:
        """The first 32 KiB decoded, by their byte order mark or as UTF-8, and leniently."""
        return self.data[:LOOK].decode(encoding(self.data), "replace").removeprefix("\ufeff")

    @functools.cached_property
    def printed(self) -> "Head":
        """The text that a job printed, of its log; of any other text itself."""
        text, _ = unlogged(self.text)
        return self if text is self.text else Head(self.path, text.encode("utf-8", "replace"), self.packed)

    @functools.cached_property
    def paths(self) -> frozenset[str]:
        """Paths of the keys in the beginning of a JSON document, such as `benchmarks[].stats.mean`, six levels deep."""
        return frozenset(self.key_paths)

    @functools.cached_property
    def key_paths(self) -> tuple[str, ...]:
        """The same in the order in which they come."""
        found: dict[str, None] = {}
        opened: list[str] = []  # path of each container we are in
        here = ""
        for token in TOKEN.finditer(self.text):
            mark = token[0][0]
            if mark == '"':
                if token[2] and 0 < len(opened) <= PATH_DEPTH:
                    here = f"{opened[-1]}.{token[1]}" if opened[-1] else token[1]
                    found[here] = None
            elif mark in "{[":
                here = f"{here}[]" if mark == "[" and len(opened) < PATH_DEPTH else here
                opened.append(here)
            elif opened:
                opened.pop()
                here = opened[-1] if opened else ""
        return tuple(found)

    def lines(self, count: int = 20) -> list[str]:
        """The first lines, decoded leniently, without their ends and without a byte order mark."""
        text = self.data[: 1 << 20].decode("utf-8", "backslashreplace").removeprefix("\ufeff")
        return text.split("\n", count)[:count]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the user for reading a file."""

    metric: str | None = None  # 'time' or 'memory', for a file that does not say what its numbers are
    engine: str | None = None  # what served, for a forward pass trace, which does not say what its times span
    in_place: bool = False  # only what questions ask: no store keeps the rest of a span's fields


def _no_database() -> "duckdb.DuckDBPyConnection":
    raise RuntimeError("a look at a file needs no database")


@dataclass(frozen=True, slots=True)
class Part:
    """The part of one file to read: its bytes from `start_byte` to `end_byte`, all of them whole lines."""

    path: Path
    run_id: str
    source_id: str
    start_byte: int
    end_byte: int
    first_line: int
    options: Options
    cursor: "Callable[[], duckdb.DuckDBPyConnection]"  # an in-memory DuckDB, a connection of its own for each thread
    config: str = ""
    format: str = ""
    name: str = ""  # of the file, within its result set
    claim: Callable[[str], bool] = lambda run_id: True  # whether a run is new, and now the caller's to fill
    stopped: Callable[[], bool] = lambda: False  # whether nobody wants the rest, after Ctrl-C

    @classmethod
    def alone(cls, path: Path) -> "Part":
        """A whole file, outside of any run."""
        return cls(path, "", "", 0, path.stat().st_size, 1, Options(), _no_database)

    @property
    def size_bytes(self) -> int:
        """Bytes to read."""
        return self.end_byte - self.start_byte

    def blocks(self) -> Iterator[bytes]:
        """The bytes, cut into blocks of whole lines of about half a MB; a line longer than that is one block."""
        left = self.size_bytes
        pieces: list[bytes] = []
        with self.path.open("rb") as file:
            file.seek(self.start_byte)
            while left and (block := file.read(min(BLOCK_BYTES, left))):
                if self.stopped():
                    raise KeyboardInterrupt
                left -= len(block)
                cut = block.rfind(b"\n") + 1
                if cut:
                    yield b"".join((*pieces, block[:cut]))
                    pieces = []
                if cut < len(block):
                    pieces.append(block[cut:])
        if pieces:
            yield b"".join(pieces)

    def without_blank_end(self) -> "Part":
        """The part of a plain text up to its last line that is not blank, found from behind, however many are blank."""
        end = self.end_byte
        with self.path.open("rb") as file:
            filled = 0
            while end > self.start_byte and not filled:
                if self.stopped():
                    raise KeyboardInterrupt
                begin = max(self.start_byte, end - BLOCK_BYTES)
                file.seek(begin)
                filled = len(file.read(end - begin).rstrip())
                end = begin + filled
            file.seek(end)
            while filled and (block := file.read(min(BLOCK_BYTES, self.end_byte - end))):
                cut = block.find(b"\n") + 1
                end += cut or len(block)
                filled = not cut
        return replace(self, end_byte=end)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Every line with its number, without its line feed."""
        number = self.first_line
        for block in self.blocks():
            lines = split_lines(block)
            yield from enumerate(lines, number)
            number += len(lines)


@dataclass(slots=True)
class Tally:
    """Counts of the lines (or records) of a part."""

    lines: int = 0
    loaded: int = 0
    rejected: int = 0
    known: int = 0  # in the store already, from another file or another line
    left_out: int = 0  # no records, such as lines that no pattern matches
    without_rows: int = 0  # of the loaded ones: they describe the run, or say nothing, or share the row of another
    notes: list[str] = field(default_factory=list)  # sentences for the user
    runs: "list[RunRecord]" = field(default_factory=list)  # new ones that the file describes
    unitless: set[str] = field(default_factory=set)  # metrics of numbers without a unit and without a direction
    setups: dict[tuple[str, str], dict[str, bool | float | str]] = field(
        default_factory=dict
    )  # by run and case: facts that may tell two apart
    # of each run it describes; without one, the part's own is made
    shares: "dict[str, Tally]" = field(default_factory=dict)

    def add(self, other: "Tally") -> None:
        """Add the counts of another."""
        self.lines += other.lines
        self.loaded += other.loaded
        self.rejected += other.rejected
        self.known += other.known
        self.left_out += other.left_out
        self.without_rows += other.without_rows

    @property
    def unaccounted(self) -> int:
        """Lines that were read and are in none of the counts, or in two: there must be none."""
        return self.lines - self.loaded - self.rejected - self.known - self.left_out


class Format(ABC):
    """One kind of file."""

    name: str
    doc: ClassVar[str]  # one line, for people
    becomes: ClassVar[str] = "see [ingest](ingest.md)"  # which rows its records become, for docs/formats.md
    lost: ClassVar[str] = "nothing"  # which content of a file does not reach the tables
    grows: bool = False  # whether writers append lines to a file that may have been loaded before
    unpacks: ClassVar[bool] = False  # whether it also reads packed files
    printed: ClassVar[bool] = (
        False  # whether its results may stand in the log of a CI job, with the time before each line
    )
    runs: ClassVar[str] = FOLDER  # what is a run where a file describes none: a folder's files together, or each file
    # finds in its beginning when a file was measured: a folder may hold many nights
    began: ClassVar[re.Pattern[str] | None] = None
    histories: bool = False  # whether a file may hold runs that are in the store already, from another file
    shapes: ClassVar[
        tuple[frozenset[str], ...]
    ] = ()  # paths of keys (`Head.paths`): a JSON file has all of one of these
    of_project: bool = False  # whether a file of the project's own describes it, which counts before what bench has
    places: ClassVar[tuple[str, ...]] = ()  # patterns of paths below a folder where its files lie too
    beside: ClassVar[
        tuple[str, ...]
    ] = ()  # formats of which the folder itself must have a file, for its places to count

    @abstractmethod
    def recognise(self, head: Head) -> bool:
        """Return whether a file is of this format, by its content; a name alone is not enough."""

    def takes(self, head: Head) -> bool:
        """Return whether it recognises a file that it can read as it is packed and logged."""
        return (self.unpacks or not head.packed) and self.recognise(head.printed if self.printed else head)

    @abstractmethod
    def read(self, part: Part, batch: "Batch") -> Tally:
        """Add the events of a part to the batch: each with `run_id`, `source_id` and `line` of the part."""

    def whole(self, line: bytes) -> bool:
        """True if a last line without line feed is a whole record; if not, its writer may still be writing it."""
        return True

    def unfit(self, path: Path) -> str | None:
        """The reason for which a file is not of this format although the user says so, after its name; None if it is."""
        return None

    def evidence(self, head: Head) -> str:
        """The reason for which a file is taken for one of this format, in words that follow `because it`."""
        shape = next((shape for shape in self.shapes if shape <= head.paths), None)
        if shape is None:
            return f"begins as {self.doc} does"
        keys = sorted(shape)
        return f"has the keys {', '.join(keys[:NAMED_KEYS])}" + (
            f" and {len(keys) - NAMED_KEYS} more" if keys[NAMED_KEYS:] else ""
        )

    def near_miss(self, head: Head) -> str | None:
        """The reason for which a file that looks like this format is not one, after its name; None for any other file."""
        return None

    def left_out(self, head: Head) -> str | None:
        """The reason for which a recognised file holds nothing to load, after its name; None for a file that does."""
        return None

    def identity(self, name: str) -> str:
        """Facts in the file's name that are not in its content: two files of the same content may differ in them."""
        return ""

    def group(self, name: str) -> str:
        """The part of the config that the file's subfolder adds to the folder's name; `name` is the path below the folder."""
        return ""

    def result_set(self, name: str) -> str:
        """The result set of its folder that a file belongs to, by the day in its name; each is a run of the same config."""
        day = date_in(name) if self.runs == FOLDER else None
        return day.date().isoformat() if day else ""

    def order(self, names: Iterable[str]) -> list[str]:
        """The order of the files of a result set."""
        return sorted(names)


def split_lines(block: bytes) -> list[bytes]:
    """The lines of a block without their line feeds; what follows the last line feed counts if it is not empty."""
    lines = block.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return lines


def count_lines(block: bytes) -> int:
    """The number of lines that `split_lines` returns."""
    return block.count(b"\n") + (not block.endswith(b"\n") and bool(block))


def encoding(data: bytes) -> str:
    """The encoding that a byte order mark says, else UTF-8."""
    return "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"


def as_text(line: bytes) -> str:
    """A record as a reject stores it: invalid UTF-8 as \\xNN, cut after 64 Ki characters with a note."""
    text = line.removesuffix(b"\r").decode("utf-8", "backslashreplace")
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}… ({len(line)} bytes)"
