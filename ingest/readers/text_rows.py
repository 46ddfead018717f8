# pyright: reportAttributeAccessIssue=false
# pyarrow.compute makes its functions when it is imported
"""RowBlock of a table as columns of text, a block of the file at a time, for SQL to read; rows that are no plain text apart.

A row is plain if splitting its line gives the cells that the exact reader (`readers/tables.py`) finds. Which rows are plain is
told by counting bytes; every other row is a `Record` of the exact reader.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ...warehouse.events import as_json
from ..format import Part, count_lines
from . import csv_rows
from .document import BadRecord
from .records import Record, record_of_csv, record_of_rest
from .text_pieces import line_blocks

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

Each = TypeVar("Each")

BLOCK_BYTES = 8 << 20
MOST_ROWS = 1 << 18  # of a block, about: the exact reader takes hundreds of bytes for each, however short
NOT_AS_JSON = ("\ufffd", 'NaN"', 'Infinity"')  # what `as_json` writes for what JSON has no word for
MOST_COLUMNS = 500  # of a quoted row: RE2 repeats an expression at most 1,000 times
QUOTE, FEED, RETURN, TAB = b'"\n\r\t'


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Some rows, in order.

    `table` has the column `line` and, for each name, a column `c0`, `c1` … of text, NULL where a cell is empty; or, of JSON
    lines, one column `text`. `records` gives a row of it as the exact reader does: a line may hold a list of them. `odd` are the
    rows that are not in it.
    """

    table: "pa.Table"
    names: Sequence[str] | None  # None: of JSON lines
    records: Callable[[int], list[Record]]
    odd: list[Record]


@dataclass(frozen=True, slots=True)
class BlockLines:
    """BlockLines of a block as an Arrow array, each with its line feed, and the places of what parts them."""

    data: bytes
    bytes_of: "np.ndarray[Any, Any]"
    starts: "np.ndarray[Any, Any]"
    ends: "np.ndarray[Any, Any]"  # behind the line feed
    array: "pa.StringArray"

    @classmethod
    def of(cls, data: bytes) -> "BlockLines":
        """The lines of a block; they may not be UTF-8."""
        import numpy as np
        import pyarrow as pa

        bytes_of = np.frombuffer(data, dtype=np.uint8)
        ends = np.flatnonzero(bytes_of == FEED) + 1
        if not data.endswith(b"\n") and data:
            ends = np.append(ends, len(data))
        offsets = np.concatenate(([0], ends)).astype(np.int32)
        array = pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(data))
        return cls(data, bytes_of, offsets[:-1], ends, array)

    def of_bytes(self, is_it: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
        """The lines in which the bytes of a mask stand, in order, each once a byte."""
        import numpy as np

        return np.searchsorted(self.ends, np.flatnonzero(is_it), side="right")

    def line(self, index: int) -> bytes:
        """One of them without its line feed."""
        return self.data[self.starts[index] : self.ends[index]].removesuffix(b"\n")

    def not_utf8(self) -> list[int]:
        """The lines that are no UTF-8."""
        try:
            if not self.data.isascii():
                self.data.decode()
            return []
        except UnicodeDecodeError:
            return [index for index in range(len(self.ends)) if not _is_utf8(self.line(index))]


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def csv_blocks(part: Part, names: list[str], separator: str, header: int) -> Iterator[RowBlock]:
    """The rows below the header of a CSV file; its cells without blanks around them."""
    splitter = _Splitter(names, separator)
    rest, number = b"", 1
    problems: list[BadRecord] = []
    for block, is_last in with_last(_large_blocks(part, problems)):
        data = rest + block
        if number <= header:  # what stands above the header, and the header, are no rows
            while data and number <= header:
                _, _, data = data.partition(b"\n")
                number += 1
        data, rest = splitter.cut(data, is_last=is_last)
        if data:
            yield splitter.rows(data, number)
            number += count_lines(data)
    for error in problems:
        yield block_of_rest(record_of_rest(number - 1, error), names)


def json_blocks(part: Part, read: Callable[[Iterable[tuple[int, bytes]]], Iterator[Record]]) -> Iterator[RowBlock]:
    """The lines of a file of JSON lines. `read` is the exact reader of some of them."""
    import numpy as np

    number = 1
    problems: list[BadRecord] = []
    for data in _large_blocks(part, problems):
        lines = BlockLines.of(data)
        is_odd = np.zeros(len(lines.ends), dtype=bool)
        is_odd[lines.not_utf8()] = True
        is_odd |= (lines.ends - lines.starts) > csv_rows.LONGEST_BYTES
        is_odd[lines.of_bytes(lines.bytes_of == 0)] = True
        is_odd[0] |= number == 1  # which may begin with a mark
        yield _rows_of_lines(lines, is_odd, number, None, lambda chosen: {"text": chosen}, read)
        number += len(lines.ends)
    for error in problems:
        yield block_of_rest(record_of_rest(number - 1, error), None)


def record_blocks(records: Iterable[Record]) -> Iterator[RowBlock]:
    """Rows of other tables as lines of JSON."""
    plain: list[Record] = []
    texts: list[str] = []
    odd: list[Record] = []
    size = 0
    for record in records:
        text = as_json(record.cells)
        if record.problem is not None or any(word in text for word in NOT_AS_JSON):
            odd.append(record)
            continue
        plain.append(record)
        texts.append(text)
        size += len(text)
        if size >= BLOCK_BYTES:
            yield _block_of_records(plain, texts, odd)
            plain, texts, odd, size = [], [], [], 0
    if plain or odd:
        yield _block_of_records(plain, texts, odd)


def _block_of_records(plain: list[Record], texts: list[str], odd: list[Record]) -> RowBlock:
    import pyarrow as pa

    lines = pa.array([record.line for record in plain], pa.int64())
    table = pa.table({"line": lines, "text": pa.array(texts, pa.string())})
    return RowBlock(table, None, lambda row: [plain[row]], odd)


def block_of_rest(record: Record, names: Sequence[str] | None) -> RowBlock:
    """A block of no row but one that cannot be read, with the columns of the others."""
    import pyarrow as pa

    keys = ["text"] if names is None else [f"c{index}" for index, name in enumerate(names) if name]
    empty = pa.schema({"line": pa.int64(), **dict.fromkeys(keys, pa.string())}).empty_table()
    return RowBlock(empty, names, lambda row: [], [record])


def _large_blocks(part: Part, problems: list[BadRecord]) -> Iterator[bytes]:
    """The bytes of a part in large blocks of whole lines, up to its last line that is not blank; why there are no more."""
    some: list[bytes] = []
    size = rows = 0
    try:
        for block in line_blocks(part, blank_end=False):
            some.append(block)
            size += len(block)
            rows += block.count(b"\n")
            if size >= BLOCK_BYTES or rows >= MOST_ROWS:
                yield b"".join(some)
                some, size, rows = [], 0, 0
    except BadRecord as error:
        problems.append(error)
    if some:
        yield b"".join(some)


def with_last(blocks: Iterable[Each]) -> Iterator[tuple[Each, bool]]:
    """Each block, and whether it is the last."""
    before: Each | None = None
    for block in blocks:
        if before is not None:
            yield before, False
        before = block
    if before is not None:
        yield before, True


def _rows_of_lines(
    lines: BlockLines, is_odd: "np.ndarray[Any, Any]", first: int, names: Sequence[str] | None,
    columns_of: Callable[["pa.StringArray"], dict[str, Any]],
    read: Callable[[Iterable[tuple[int, bytes]]], Iterator[Record]],
) -> RowBlock:  # fmt: skip
    """The lines that are not odd as columns; the others read exactly."""
    import numpy as np
    import pyarrow as pa

    chosen = np.flatnonzero(~is_odd)
    array = lines.array if len(chosen) == len(is_odd) else lines.array.take(pa.array(chosen))
    odd = [*read((first + index, lines.line(index)) for index in np.flatnonzero(is_odd).tolist())]

    def records(row: int) -> list[Record]:
        index = int(chosen[row])
        return [*read([(first + index, lines.line(index))])]

    return RowBlock(pa.table({"line": pa.array(chosen + first), **columns_of(array)}), names, records, odd)


class _Splitter:
    """Cuts lines of CSV into columns, where a line is plain."""

    def __init__(self, names: list[str], separator: str) -> None:
        self._names, self._separator = names, separator
        cell = rf'(?:"(?:[^"]|"")*"|[^"{separator}\n]*)'
        self._quoted = rf"^{cell}(?:{_escaped(separator)}{cell}){{{len(names) - 1}}}\r?\n?$"

    def read(self, lines: Iterable[tuple[int, bytes]]) -> Iterator[Record]:
        """The exact reader."""
        return (record_of_csv(row, self._names) for row in csv_rows.rows(lines, self._separator))

    def cut(self, data: bytes, *, is_last: bool) -> tuple[bytes, bytes]:
        """The lines whose quotes end among them, and the rest."""
        if is_last or b'"' not in data:
            return data, b""
        lines = BlockLines.of(data)
        regions = self._open_quotes(lines)
        begin, end = regions[-1] if regions else (0, len(lines.ends))
        if begin == end and begin + csv_rows.LONGEST_RECORD > len(lines.ends):
            start = lines.starts[begin]
            return data[:start], data[start:]
        return data, b""

    def _open_quotes(self, lines: BlockLines) -> list[tuple[int, int]]:
        """First and last line of each record that a quote spreads over several lines, as `csv_rows.rows` joins them.

        They are one line where the quote is not closed.
        """
        import numpy as np

        quotes = np.bincount(lines.of_bytes(lines.bytes_of == QUOTE), minlength=len(lines.ends))
        odd = iter(np.flatnonzero(quotes % 2).tolist())
        regions: list[tuple[int, int]] = []
        last = len(lines.ends) - 1
        first = next(odd, None)
        while first is not None:
            limit = min(first + csv_rows.LONGEST_RECORD - 1, last)
            second = next(odd, None)
            if second is not None and second <= limit:
                regions.append((first, second))
                first = next(odd, None)
            else:
                regions.append((first, first))
                first = second
        return regions

    def rows(self, data: bytes, first: int) -> RowBlock:
        """The rows of whole lines, of which the first has this number."""
        import numpy as np
        import pyarrow.compute as pc

        lines = BlockLines.of(data)
        is_odd = np.zeros(len(lines.ends), dtype=bool)
        is_odd[lines.not_utf8()] = True
        is_odd |= (lines.ends - lines.starts) > csv_rows.LONGEST_BYTES
        controls = lines.bytes_of < ord(" ")
        for usual in {FEED, RETURN, ord(self._separator)} & {FEED, RETURN, TAB}:
            controls &= lines.bytes_of != usual
        is_odd[lines.of_bytes(controls)] = True
        if b"\r" in data:
            lone = lines.bytes_of == RETURN
            lone[:-1] &= lines.bytes_of[1:] != FEED
            is_odd[lines.of_bytes(lone)] = True
        so_far = np.searchsorted(np.flatnonzero(lines.bytes_of == ord(self._separator)), lines.ends)
        wrong = np.diff(so_far, prepend=0) != len(self._names) - 1
        if b'"' in data:
            self._judge_quoted(lines, is_odd, wrong)
        is_odd |= wrong
        if len(self._names) == 1:  # nothing but blanks may be a blank line
            is_odd |= pc.equal(pc.utf8_trim_whitespace(lines.array), "").to_numpy(zero_copy_only=False)
        has_blanks = not data.isascii() or b" " in data or b"\t" in data  # other white space makes a row odd
        columns_of = functools.partial(self._columns, is_quoted=b'"' in data, has_blanks=has_blanks)
        return _rows_of_lines(lines, is_odd, first, self._names, columns_of, self.read)

    def _judge_quoted(self, lines: BlockLines, is_odd: "np.ndarray[Any, Any]", wrong: "np.ndarray[Any, Any]") -> None:
        """Find which lines with quotes are plain: whole cells in quotes, all of them on one line."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        for begin, end in self._open_quotes(lines):
            is_odd[begin : end + 1] = True
        quoted = np.zeros(len(lines.ends), dtype=bool)
        quoted[lines.of_bytes(lines.bytes_of == QUOTE)] = True
        judged = np.flatnonzero(quoted & ~is_odd)
        wrong[judged] = True
        if len(self._names) <= MOST_COLUMNS:
            fits = pc.match_substring_regex(lines.array.take(pa.array(judged)), self._quoted)
            wrong[judged] = ~fits.to_numpy(zero_copy_only=False)

    def _columns(self, chosen: "pa.StringArray", *, is_quoted: bool, has_blanks: bool) -> "dict[str, pa.Array]":
        """The cells of plain lines; those of a column without a name are left out."""
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.csv as pc_csv

        keys = [f"c{index}" for index in range(len(self._names))]
        if not len(chosen):
            return {key: pa.array([], pa.string()) for key, name in zip(keys, self._names, strict=True) if name}
        start, end = chosen.offset, chosen.offset + len(chosen)
        offsets = memoryview(chosen.buffers()[1]).cast("i")
        data = chosen.buffers()[2].slice(offsets[start], offsets[end] - offsets[start])
        table = pc_csv.read_csv(
            pa.BufferReader(data),
            pc_csv.ReadOptions(column_names=keys, use_threads=False, block_size=data.size + 1),
            pc_csv.ParseOptions(
                delimiter=self._separator, quote_char='"' if is_quoted else False, newlines_in_values=False,
                ignore_empty_lines=False,
            ),
            pc_csv.ConvertOptions(
                column_types=dict.fromkeys(keys, pa.string()), check_utf8=False, strings_can_be_null=True, null_values=[""]
            ),
        )  # fmt: skip
        columns = {key: table[key] for key, name in zip(keys, self._names, strict=True) if name}
        if has_blanks:
            for key, cells in columns.items():
                trimmed = pc.utf8_trim_whitespace(cells)
                columns[key] = pc.if_else(pc.equal(trimmed, ""), None, trimmed)
        return columns


def _escaped(separator: str) -> str:
    return "\\" + separator if separator == "|" else separator
