"""Rows on their way out: a table for people, and csv, json, jsonl, markdown or parquet for everything else.

Only `table` rounds numbers. All text formats are UTF-8 with one line per row; rows are written as they come. On a terminal no
format writes characters that steer it.
"""

import contextlib
import datetime
import decimal
import html
import io
import itertools
import json
import math
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from ..errors import BenchError
from ..files import cannot_write
from .ascii import ERRORS
from .numbers import number

SAMPLE = 1000  # rows a table's widths are taken from; later ones may stick out
CHUNK = 10_000  # rows that become one Arrow table
NARROWEST = 24  # characters of a last column that are worth beginning at the end of a line
INDENT = "  "  # of what does not fit on the line of its row

Rows = Iterable[Sequence[Any]]

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def write_rows(columns: Sequence[str], rows: Rows, fmt: str, file: str | os.PathLike[str] | None = None) -> None:
    """Write rows in one of `options.FORMATS`.

    Args:
        columns: Their names.
        rows: The values; read once, and for all formats but parquet written as they come.
        fmt: table, csv, json, jsonl, markdown or parquet.
        file: Path to write to; standard output if left out.

    Raises:
        BenchError: The file cannot be written, parquet would go to a terminal, or a value fits no Parquet type.
    """
    if fmt == "parquet":
        return _write_parquet(columns, rows, file)
    with _text(file) as out:
        _WRITERS[fmt](columns, rows, out)
    return None


def write_noted(columns: Sequence[str], rows: Rows, notes: Iterable[str]) -> None:
    """Write the table for people to standard output, below each row its note, of one or more lines, if it has one."""
    with _text(None) as out:
        _write_table(columns, rows, out, notes)


def write_dicts(rows: Sequence[Mapping[str, Any]], fmt: str, file: str | os.PathLike[str] | None = None) -> None:
    """Write rows that are there, each with the same columns, as `write_rows` does."""
    write_rows(list(rows[0]), (list(row.values()) for row in rows), fmt, file)


def text_table(columns: Sequence[str], rows: Rows) -> str:
    """The table for people, as on a wide terminal, without a line feed at its end."""
    out = io.StringIO()
    _write_table(columns, rows, out)
    return out.getvalue().removesuffix("\n")


def html_table(columns: Sequence[str], rows: Rows) -> str:
    """The table for people as HTML; names and values are escaped, numbers are aligned right."""
    head = "".join(f"<th>{html.escape(escape(name))}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _html_cell(value: Any) -> str:
    style = "right" if _is_number(value) else "left"
    return f'<td style="text-align: {style}">{html.escape(cell_text(value))}</td>'


def write_text(text: str, file: str | os.PathLike[str] | None = None) -> None:
    """Write a text to a file, or to standard output.

    Raises:
        BenchError: The file cannot be written.
    """
    with _text(file) as out:
        out.write(text)


def obeys(stream: IO[str]) -> bool:
    """Return whether escape sequences steer what is behind a stream: a terminal, and no dumb one."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


@contextlib.contextmanager
def _text(file: str | os.PathLike[str] | None) -> Iterator[IO[str]]:
    if file is None:
        if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.encoding.lower() != "utf-8":
            sys.stdout.reconfigure(errors=ERRORS)
        try:
            yield sys.stdout
            sys.stdout.flush()
        except BrokenPipeError:  # the reader has seen enough; what was found out, and the exit code, stand
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    with _opened(file), open(file, "w", encoding="utf-8", newline="") as out:
        yield out


@contextlib.contextmanager
def _opened(file: str | os.PathLike[str]) -> Iterator[None]:
    """Turn a file that cannot be written into a sentence."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise cannot_write(file, error) from error


def _write_table(columns: Sequence[str], rows: Rows, out: IO[str], notes: Iterable[str] = ()) -> None:
    tty = out.isatty()
    stream = iter(rows)
    sample = list(itertools.islice(stream, SAMPLE))
    texts = [[cell_text(value) for value in row] for row in sample]
    right = [any(map(_is_number, values)) for values in zip(*sample, strict=True)] or [False] * len(columns)
    names = [escape(name) for name in columns]
    widths = [max(map(width, column)) for column in zip(names, *texts, strict=True)]
    below, lines = 0, [slice(None)]
    if tty and columns:
        widths, below, lines = _fold(widths, shutil.get_terminal_size().columns)

    def line(cells: Sequence[str]) -> str:
        padded = [*map(_pad, cells, widths, right)]
        return f"\n{INDENT}".join("  ".join(padded[part]).rstrip() for part in lines).rstrip()

    def fitting(cells: Sequence[str]) -> str:
        *before, last = map(cut_to, cells, [*widths[:-1], below])
        return line([*before, last]) if width(last) <= widths[-1] else f"{line([*before, ''])}\n{INDENT}{last}"

    row = fitting if tty and columns else line
    head = line(names)
    out.write(f"\x1b[1m{head}\x1b[0m\n" if obeys(out) and not os.environ.get("NO_COLOR") else f"{head}\n")
    out.write(line(["─" * size for size in widths]) + "\n")
    written = itertools.chain(texts, ([cell_text(value) for value in row] for row in stream))
    for cells, note in zip(written, itertools.chain(notes, itertools.repeat("")), strict=False):
        out.write(row(cells) + "\n" + (note and f"{note}\n"))


def _fold(widths: Sequence[int], room: int) -> tuple[list[int], int, list[slice]]:
    """Fitting rows to a terminal: a row that is too wide goes on below.

    Returns:
        Widths of the columns, what the last one may take on a line of its own (what is left of its line is enough for
        most of it), and the columns that each line of a row shows.
    """
    room = max(room, NARROWEST + len(INDENT))
    whole = [min(size, room - len(INDENT)) for size in widths]
    fitted = [*whole[:-1], min(whole[-1], NARROWEST)]
    starts, used = [0], 0
    for index, size in enumerate(fitted):
        if index and used + size > room:
            starts.append(index)
            used = len(INDENT)
        used += size + 2
    fitted[-1] = min(whole[-1], fitted[-1] + room - (used - 2))
    return fitted, room - len(INDENT), [slice(*ends) for ends in itertools.pairwise([*starts, None])]


_NARROW = re.compile("[\x20-\u02ff\u2010-\u2027\u2190-\u22ff\u2500-\u257f]*")  # a column each: µ, –, …, −, ×, ─


def width(text: str) -> int:
    """Columns a terminal needs for a text: two for wide East Asian characters, none for combining ones."""
    if text.isascii() or _NARROW.fullmatch(text):
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def cut_to(text: str, room: int) -> str:
    """The text in at most that many columns."""
    if width(text) <= room:
        return text
    return fitting(text, room - 1) + "…"


def shorten(text: str, columns: int) -> str:
    """The text in at most that many columns, cut in the middle: both ends of a name tell it from its neighbours."""
    if width(text) <= columns:
        return text
    head, tail = (columns - 1) - (columns - 1) // 2, (columns - 1) // 2
    return f"{fitting(text, head)}…{fitting(text[::-1], tail)[::-1]}"


def fitting(text: str, columns: int) -> str:
    """The beginning of a text, as long as there is room."""
    ends = itertools.accumulate(map(width, text))
    return text[: next((index for index, end in enumerate(ends) if end > columns), None)]


def _pad(text: str, size: int, right: bool) -> str:
    space = " " * (size - width(text))
    return space + text if right else text + space


def escape(text: str) -> str:
    """Text that cannot steer a terminal: control, formatting and line-breaking characters as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def escape_json(text: str) -> str:
    """The same JSON, which shows what it is: characters that steer a terminal or turn the direction of text are escaped."""
    return text if text.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | decimal.Decimal) and not isinstance(value, bool)


def cell_text(value: Any) -> str:
    """A value as a table for people shows it."""
    if isinstance(value, float):
        return number(value)
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ")
    return escape(_text_of(value))


def _text_of(value: Any) -> str:
    """The exact text of a value, NULL as nothing."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | list | tuple | dict):
        return _encode(json_value(value))
    if isinstance(value, bytes):
        return "".join(f"\\x{byte:02X}" for byte in value)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return str(value)


def _write_csv(columns: Sequence[str], rows: Rows, out: IO[str]) -> None:
    safe = escape if out.isatty() else str
    for row in itertools.chain([columns], rows):
        out.write(safe(",".join(map(_quoted, row))) + "\n")


def _quoted(value: Any) -> str:
    """A CSV field; an empty text is quoted, NULL is not. Python's csv cannot do that before 3.12."""
    if type(value) is int or type(value) is float:
        return repr(value)
    text = _text_of(value)
    if value is not None and (not text or any(c in text for c in '",\r\n') or text != text.strip()):
        return '"' + text.replace('"', '""') + '"'
    return text


def _write_markdown(columns: Sequence[str], rows: Rows, out: IO[str]) -> None:
    stream = iter(rows)
    sample = list(itertools.islice(stream, SAMPLE))
    right = [any(map(_is_number, values)) for values in zip(*sample, strict=True)] or [False] * len(columns)

    def line(values: Iterable[Any]) -> str:
        return "| " + " | ".join(map(_markdown, values)) + " |\n"

    out.write(line(columns))
    out.write("|" + "|".join("--:" if r else "---" for r in right) + "|\n")
    out.writelines(line(row) for row in itertools.chain(sample, stream))


def _markdown(value: Any) -> str:
    text = _text_of(value).replace("\r\n", "\n").replace("\n", "\0").replace("\r", "\0")
    safe = escape(text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\0", "<br>"))
    return safe.replace("`", "\\`")


def _write_json(columns: Sequence[str], rows: Rows, out: IO[str]) -> None:
    start = "["
    for text in _objects(columns, rows, out):
        out.write(f"{start}\n{text}")
        start = ","
    out.write("[]\n" if start == "[" else "\n]\n")


def _write_jsonl(columns: Sequence[str], rows: Rows, out: IO[str]) -> None:
    for text in _objects(columns, rows, out):
        out.write(f"{text}\n")


def _objects(columns: Sequence[str], rows: Rows, out: IO[str]) -> Iterator[str]:
    names, safe = _unique(columns), escape_json if out.isatty() else str
    for row in rows:
        yield safe(_encode(dict(zip(names, map(json_value, row), strict=True))))


def _unique(columns: Sequence[str]) -> list[str]:
    """Column names, those that repeat numbered: an object holds a key once."""
    names: list[str] = []
    for column in columns:
        numbered = (f"{column}_{i}" for i in itertools.count(1))
        names.append(next(name for name in itertools.chain([column], numbered) if name not in names))
    return names


def json_value(value: Any) -> Any:
    """A value that JSON can hold: NaN and infinities are null, instants ISO 8601."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, dict):
        return {_text_of(key): json_value(item) for key, item in value.items()}
    return _text_of(value)


def _write_parquet(columns: Sequence[str], rows: Rows, file: str | os.PathLike[str] | None) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if file is None and sys.stdout.isatty():
        raise BenchError("parquet is binary and this is a terminal. Name a file with -o, or pipe it somewhere.")
    names = _unique(columns)
    stream = iter(rows)
    tables = []
    try:
        while chunk := list(itertools.islice(stream, CHUNK)):
            values = list(zip(*chunk, strict=True))
            tables.append(pa.table([pa.array(map(_arrow, column)) for column in values], names=names))
        empty = pa.table([pa.nulls(0) for _ in names], names=names)
        table = pa.concat_tables(tables or [empty], promote_options="permissive")
    except (pa.ArrowException, OverflowError) as error:
        raise BenchError(
            f"this result does not fit Parquet: {error}. Cast the column, or use --format jsonl."
        ) from error
    if file is None:
        pq.write_table(table, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    else:
        with _opened(file):
            pq.write_table(table, Path(file))


def _arrow(value: Any) -> Any:
    """Values for Arrow; UUIDs and the like as text."""
    return value if value is None or isinstance(value, _ARROW_HOLDS) else str(value)


_ARROW_HOLDS = (
    str, bool, int, float, bytes, list, tuple, dict, decimal.Decimal, datetime.date, datetime.time, datetime.timedelta,
)  # fmt: skip
_WRITERS: dict[str, Callable[[Sequence[str], Rows, IO[str]], None]] = {
    "table": _write_table,
    "csv": _write_csv,
    "json": _write_json,
    "jsonl": _write_jsonl,
    "markdown": _write_markdown,
}
