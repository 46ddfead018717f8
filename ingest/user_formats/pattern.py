# pyright: reportAttributeAccessIssue=false
# pyarrow.compute makes its functions when it is imported
"""Text logs by a regular expression: a line that it matches is a row, and its named groups are the columns of a mapping.

The engine is RE2, which comes with pyarrow: its time is linear in the length of a line whatever the expression, so none can
hang bench. What that costs are look-around and back references, which it refuses with a sentence.
"""

import codecs
import functools
import hashlib
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ...warehouse.console.numbers import counted
from ...warehouse.errors import BenchError
from ...warehouse.log import Batch
from ..format import FILE, Format, Head, Part, Tally, encoding
from ..readers.document import BadRecord, show
from ..readers.json_format import reject_file
from ..readers.packing import packing_of
from ..readers.records import Record, record_of_rest
from ..readers.results import Results
from ..readers.tables import TableFile
from ..readers.text_pieces import numbered_lines
from ..readers.text_rows import RowBlock, block_of_rest
from .mapped import read_table
from .mapping import parse_mapping

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST = 1 << 20  # bytes of a line that is looked at
LINES = 8192  # matched at a time
CHARACTERS = 4 << 20  # of lines matched at a time, at most
LINES_OF_A_BLOCK, CHARACTERS_OF_A_BLOCK = 300_000, 16 << 20  # the same for SQL
CONTROL = r"[\x00-\x1f]"


class Pattern(Format):
    """Text whose lines the user describes."""

    doc = "any text whose lines --pattern describes"
    unpacks = True
    runs = FILE

    def __init__(self, pattern: str, maps: Sequence[str]) -> None:
        """A format of its own for each pattern and mapping.

        Raises:
            BenchError: RE2 refuses the pattern, its groups have no names, or the mapping cannot be understood.
        """
        self.pattern = pattern
        self.groups = _groups(pattern)
        self.mapping = parse_mapping(maps, self.groups)
        text = f"{pattern}\n{self.mapping}".encode("utf-8", "surrogateescape")
        self.name = f"pattern-{hashlib.sha256(text).hexdigest()[:8]}"
        self.histories = self.mapping.parts_runs
        self.grows = not self.histories

    def recognise(self, head: Head) -> bool:
        """Never: the user chooses this format."""
        return False

    def unfit(self, path: Path) -> str | None:
        """The reason for which nothing is in it: no line matches, or the pattern lacks a group that the mapping names."""
        missing = [name for name in self.mapping.columns if name not in self.groups]
        if missing:
            return f"cannot have a column {missing[0]!r}: the groups of the pattern are {', '.join(self.groups)}"
        try:
            matches = _Matches(Part.alone(path), self.pattern)
            if next(iter(matches), None) is not None:
                return None
        except BadRecord as error:
            return str(error)
        return f"has no line that the pattern matches; it begins with: {show(matches.first)}"

    def whole(self, line: bytes) -> bool:
        """Never for text, whose writer may be in the middle of a number; compressed and UTF-16 files are whole."""
        try:
            codecs.getincrementaldecoder("utf-8")().decode(line)  # a character may be cut at the end
        except UnicodeDecodeError:
            return True
        return b"\0" in line

    def read(self, part: Part, batch: Batch) -> Tally:
        """One record a line that matches."""
        results = Results(part, batch)
        results.note(f"read with --pattern {shlex.quote(self.pattern)} --map {shlex.quote(str(self.mapping))}")
        matches = _Matches(part, self.pattern)
        table = TableFile("log", self.groups, True, lambda: iter(matches), blocks=matches.blocks)
        try:
            read_table(table, self.mapping, results)
        except BadRecord as error:
            reject_file(results, error)
            return results.close()
        results.leave_out(matches.others + matches.long)
        if matches.others:
            results.note(f"{counted(matches.others, 'line', 'does', 'do')} not match the pattern")
        if matches.long:
            results.note(f"{counted(matches.long, 'line', 'is', 'are')} longer than 1 MiB and not looked at")
        return results.close()


def _groups(pattern: str) -> list[str]:
    """The names of its groups."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        kind = pc.extract_regex(pa.array([""]), pattern).type
    except pa.ArrowInvalid as error:
        if "unnamed groups" in str(error):
            raise BenchError("--pattern has a group without a name. Name it (?P<name>…), or write (?:…)") from None
        raise BenchError(
            f"--pattern is refused: {str(error).removeprefix('Invalid regular expression: ')}. The syntax is RE2's, which has"
            " no look-around and no back references."
        ) from None
    names = [kind.field(index).name for index in range(kind.num_fields)]
    if not names or len(set(names)) < len(names):
        raise BenchError(
            "--pattern names one group twice" if names else "--pattern has no named group, such as (?P<value>[0-9.]+)"
        )
    return names


@dataclass(slots=True)
class _Matches:
    """The lines of a file that match, each time it is gone through; and how many others there were."""

    part: Part
    pattern: str
    others: int = 0
    long: int = 0
    first: str = ""
    rest: list[Record] = field(default_factory=list)  # what stands for all that could not be read

    def __iter__(self) -> Iterator[Record]:
        """One row a line that matches: the groups that took part in the match and are not empty.

        Raises:
            BadRecord: Nothing of the file can be unpacked, or decoded as UTF-16.
        """
        for lines in self._batches(LINES, CHARACTERS):
            hits, groups = self._match(lines)
            for hit, cells in zip(hits, groups.to_pylist(), strict=True):
                yield _record(lines[hit], cells)
        yield from self.rest

    def blocks(self) -> Iterator[RowBlock]:
        """The same rows as columns of text, for SQL; those with control characters apart.

        Raises:
            BadRecord: As iterating does.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        for lines in self._batches(LINES_OF_A_BLOCK, CHARACTERS_OF_A_BLOCK):
            hits, groups = self._match(lines)
            said = pa.array([lines[hit][1] for hit in hits], pa.string())
            is_odd = pc.match_substring_regex(said, CONTROL)
            plain = pc.indices_nonzero(pc.invert(is_odd))
            odd = [_record(lines[hits[at]], groups[at].as_py()) for at in pc.indices_nonzero(is_odd).to_pylist()]
            chosen = groups.take(plain)
            places = [hits[at] for at in plain.to_pylist()]
            columns = {f"c{index}": _not_empty(chosen.field(index)) for index in range(chosen.type.num_fields)}
            names = [chosen.type.field(index).name for index in range(chosen.type.num_fields)]
            table = pa.table({"line": pa.array([lines[place][0] for place in places], pa.int64()), **columns})
            yield RowBlock(table, names, functools.partial(_records, lines, places, chosen), odd)
        for record in self.rest:
            yield block_of_rest(record, _groups(self.pattern))

    def _batches(self, most_lines: int, most_characters: int) -> Iterator[list[tuple[int, str]]]:
        """The lines with their numbers, so many at a time; lines that are too long are counted."""
        self.others = self.long = 0
        self.rest = []
        batch: list[tuple[int, str]] = []
        size = 0
        number = 0
        try:
            for number, line in _lines(self.part):
                if line is None:
                    self.long += 1
                    continue
                self.first = self.first or line
                batch.append((number, line))
                size += len(line)
                if len(batch) >= most_lines or size >= most_characters:
                    yield batch
                    batch, size = [], 0
        except BadRecord as error:
            if not number:
                raise
            self.rest = [record_of_rest(number, error)]
        if batch:
            yield batch

    def _match(self, lines: list[tuple[int, str]]) -> "tuple[list[int], pa.StructArray]":
        """The lines that match, and their groups; the others are counted."""
        import pyarrow as pa
        import pyarrow.compute as pc

        found = pc.extract_regex(pa.array([line for _, line in lines], pa.string()), self.pattern)
        hits = pc.indices_nonzero(found.is_valid())
        self.others += len(lines) - len(hits)
        return hits.to_pylist(), found.take(hits)


def _record(numbered: tuple[int, str], groups: dict[str, str | None]) -> Record:
    number, line = numbered
    return Record(number, {name: text for name, text in groups.items() if text}, functools.partial(str, line))


def _records(lines: list[tuple[int, str]], places: list[int], groups: "pa.StructArray", row: int) -> list[Record]:
    return [_record(lines[places[row]], groups[row].as_py())]


def _not_empty(texts: "pa.Array") -> "pa.Array":
    import pyarrow.compute as pc

    return pc.if_else(pc.equal(texts, ""), None, texts)


def _lines(part: Part) -> Iterator[tuple[int, str | None]]:
    """The lines of a part with their numbers in the file; None for one that is too long. Bytes that are no UTF-8 are \\xNN."""
    with part.path.open("rb") as file:
        mark = file.read(8)
        if packing_of(mark) or encoding(mark) == "utf-16":
            for number, packed in numbered_lines(part):
                text = packed.removesuffix(b"\r").decode("utf-8", "backslashreplace")
                yield number, text if len(packed) < LONGEST else None
            return
        file.seek(0)
        number = sum(file.read(size).count(b"\n") for size in _blocks(part.start_byte))
        while file.tell() < part.end_byte and (line := file.readline(LONGEST)):
            number += 1
            if len(line) == LONGEST and not line.endswith(b"\n"):
                while (more := file.readline(LONGEST)) and not more.endswith(b"\n"):
                    pass
                yield number, None
            else:
                text = line.rstrip(b"\r\n").decode("utf-8", "backslashreplace")
                yield number, text.removeprefix("\ufeff") if number == 1 else text


def _blocks(size: int) -> Iterator[int]:
    """Sizes of at most a MiB that add up."""
    yield from [1 << 20] * (size >> 20)
    yield size & ((1 << 20) - 1)
