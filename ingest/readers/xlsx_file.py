"""Workbooks (xlsx) that may be hostile: the cells of a sheet, read a row at a time from its XML.

No tree is built, no document type is accepted, nothing but names, texts, dates and values is looked at; formulas are the
values that were last computed. What all parts unpack to is bounded.
"""

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from posixpath import join, normpath
from typing import Any
from xml.parsers import expat

from .document import MAX_BYTES, BadRecord
from .packing import DAMAGES

ZIP = b"PK\x03\x04"
BOOK = "xl/workbook.xml"
LAST_COLUMN, LAST_ROW, LONGEST_TEXT = 1 << 14, 1 << 20, (1 << 15) - 1  # as in Excel
MOST_TEXT = 4 * MAX_BYTES  # characters of all cells of a sheet, of which many may refer to the same text
BLOCK = 1 << 16
DATES = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}  # number formats that need no description
NO_DATE = re.compile(r'"[^"]*"|\\.|\[(?![hms]+\])[^\]]*\]|General', re.IGNORECASE)  # texts and colours in a format
ERRORS = (*DAMAGES, expat.ExpatError)


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row that holds something."""

    number: int
    cells: dict[int, Any]  # by column, counted from 0
    problem: str | None  # why a cell cannot be read


@dataclass(frozen=True, slots=True)
class Workbook:
    """The facts of a workbook that its sheets need."""

    path: Path
    sheets: dict[str, str]  # name -> part
    texts: list[str] = field(repr=False)
    dates: set[int]  # styles whose numbers are days
    first_day: datetime

    def rows(self, sheet: str) -> Iterator[SheetRow]:
        """The rows of a sheet that hold something.

        Raises:
            BadRecord: The rest cannot be read.
        """
        reader = _Sheet(self)
        with _opened(self.path) as archive:
            try:
                for _ in _parse(archive, self.sheets[sheet], reader):
                    yield from reader.take()
            except BadRecord:
                yield from reader.take()
                raise

    def value(self, kind: str, style: int, text: str) -> Any:
        """The value of a cell.

        Raises:
            BadRecord: It has none.
        """
        try:
            if kind == "s":
                text = self.texts[int(text)]
                kind = "str"
            if kind == "b":
                return text == "1"
            if kind != "n":  # a text, a date in ISO 8601, or an error such as #DIV/0!
                return text[:LONGEST_TEXT]
            number = float(text)
            if style in self.dates:
                return (self.first_day + timedelta(microseconds=round(number * 86_400e6))).isoformat(sep=" ")
            return int(text) if text.lstrip("-").isdigit() else number
        except (ValueError, IndexError, OverflowError):
            raise BadRecord(f"a cell is {text[:60]!r}, which is not a {'text' if kind == 's' else 'number'}") from None


def is_workbook(path: Path) -> bool:
    """Return whether a file is a workbook."""
    try:
        with path.open("rb") as file:
            if file.read(4) != ZIP:
                return False
        with zipfile.ZipFile(path) as archive:
            return BOOK in archive.namelist()
    except ERRORS:
        return False


def open_workbook(path: Path) -> Workbook:
    """A workbook without its sheets.

    Raises:
        BadRecord: It is none, or is too large.
    """
    with _opened(path) as archive:
        names = set(archive.namelist())
        book, parts, styles, texts = _Book(), _Parts(), _Styles(), _Texts()
        readers: dict[str, _Reader] = {
            BOOK: book,
            "xl/_rels/workbook.xml.rels": parts,
            "xl/styles.xml": styles,
            "xl/sharedStrings.xml": texts,
        }
        for name, reader in readers.items():
            for _ in _parse(archive, name, reader) if name in names else ():
                pass
    places = {sheet: normpath(join("/xl", parts.targets.get(at, ""))).lstrip("/") for sheet, at in book.sheets.items()}
    sheets = {sheet: place for sheet, place in places.items() if place in names and "chartsheets/" not in place}
    dates = {at for at, number in enumerate(styles.cells) if number in DATES or number in styles.dates}
    first = datetime(1904, 1, 1) if book.from_1904 else datetime(1899, 12, 30)
    return Workbook(path, sheets, texts.found, dates, first)


class _Reader:
    """Takes the elements of a part: the start of each with its attributes, the end with its text."""

    def start(self, tag: str, about: dict[str, str]) -> None:
        pass

    def end(self, tag: str, text: str) -> None:
        pass


class _Book(_Reader):
    """The names of the sheets, and which day is the first."""

    def __init__(self) -> None:
        self.sheets: dict[str, str] = {}
        self.from_1904 = False

    def start(self, tag: str, about: dict[str, str]) -> None:
        if tag == "sheet":
            at = next((value for key, value in about.items() if key.endswith(" id") or key == "r:id"), "")
            self.sheets[about.get("name", "")] = at
        elif tag == "workbookPr":
            self.from_1904 = about.get("date1904") in ("1", "true")


class _Parts(_Reader):
    """The places of the parts that a workbook names."""

    def __init__(self) -> None:
        self.targets: dict[str, str] = {}

    def start(self, tag: str, about: dict[str, str]) -> None:
        if tag == "Relationship":
            self.targets[about.get("Id", "")] = about.get("Target", "")


class _Styles(_Reader):
    """The number format of each style, and which formats are dates."""

    def __init__(self) -> None:
        self.cells: list[int] = []
        self.dates: set[int] = set()
        self._inside = False

    def start(self, tag: str, about: dict[str, str]) -> None:
        if tag == "numFmt" and re.search("[ymdhs]", NO_DATE.sub("", about.get("formatCode", "")), re.IGNORECASE):
            self.dates.add(_whole(about.get("numFmtId")))
        elif tag == "cellXfs":
            self._inside = True
        elif tag == "xf" and self._inside:
            self.cells.append(_whole(about.get("numFmtId")))

    def end(self, tag: str, text: str) -> None:
        self._inside &= tag != "cellXfs"


class _Texts(_Reader):
    """The texts that cells refer to."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._pieces: list[str] = []
        self._phonetic = False

    def start(self, tag: str, about: dict[str, str]) -> None:
        self._phonetic |= tag == "rPh"

    def end(self, tag: str, text: str) -> None:
        if tag == "rPh":
            self._phonetic = False
        elif tag == "t" and not self._phonetic:
            self._pieces.append(text)
        elif tag == "si":
            self.found.append("".join(self._pieces))
            self._pieces = []


class _Sheet(_Reader):
    """The rows of a sheet."""

    def __init__(self, book: Workbook) -> None:
        self._done: list[SheetRow] = []
        self._book = book
        self._cells: dict[int, Any] = {}
        self._problem: str | None = None
        self._room = MOST_TEXT
        self._row, self._column = 0, -1
        self._kind, self._style = "n", 0
        self._value: str | None = None
        self._formula: str | None = None
        self._inline = _Texts()

    def start(self, tag: str, about: dict[str, str]) -> None:
        self._inline.start(tag, about)
        if tag == "row":
            self._row = _whole(about.get("r"), self._row + 1)
            self._cells, self._column, self._problem = {}, -1, None
        elif tag == "c":
            self._column = _column(about.get("r"), self._column + 1)
            self._kind, self._style, self._value = about.get("t", "n"), _whole(about.get("s")), None
            self._formula = None
            if self._row > LAST_ROW or self._column >= LAST_COLUMN:
                raise BadRecord(f"a cell in row {self._row:,}, column {self._column + 1:,}, where a sheet has none")
        elif tag == "is":
            self._inline = _Texts()

    def end(self, tag: str, text: str) -> None:
        self._inline.end(tag, text)
        if tag == "v":
            self._value = text
        elif tag == "f":
            self._formula = text
        elif tag == "is":
            self._inline.end("si", "")
            self._kind, self._value = "str", self._inline.found[-1]
        elif tag == "c" and self._value:
            self._set(self._value)
        elif tag == "c" and self._value is None and self._formula is not None:
            self._cells[self._column] = f"={self._formula[:LONGEST_TEXT]}"
            self._problem = "a formula that was never computed: open the workbook in a spreadsheet program and save it"
        elif tag == "row" and self._cells:
            self._done.append(SheetRow(self._row, self._cells, self._problem))

    def take(self) -> list[SheetRow]:
        """The rows that are whole, once."""
        done, self._done = self._done, []
        return done

    def _set(self, text: str) -> None:
        try:
            value = self._book.value(self._kind, self._style, text)
        except BadRecord as error:
            value, self._problem = text, str(error)
        self._cells[self._column] = value
        self._room -= len(value) if isinstance(value, str) else 0
        if self._room < 0:
            raise BadRecord(f"more than {MOST_TEXT:,} characters")


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(path)
    except ERRORS as error:
        raise BadRecord(f"cannot be read as a workbook: {error}") from None
    if sum(each.file_size for each in archive.infolist()) > MAX_BYTES:  # zipfile reads no more of a part than it says
        archive.close()
        raise BadRecord(f"unpacks to more than {MAX_BYTES >> 20} MiB: save the sheet as CSV, which is read row by row")
    return archive


def _parse(archive: zipfile.ZipFile, name: str, reader: _Reader) -> Iterator[None]:
    """Give a reader the elements of a part, a block at a time, by their names without namespace.

    Raises:
        BadRecord: It is no XML, or declares a document type.
    """
    text: list[str] = []

    def on_start(tag: str, about: dict[str, str]) -> None:
        text.clear()
        reader.start(tag.rpartition(" ")[2], about)

    def on_end(tag: str) -> None:
        reader.end(tag.rpartition(" ")[2], "".join(text))
        text.clear()

    def on_doctype(*_: object) -> None:
        raise BadRecord(f"{name} declares a document type, which no workbook needs")

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler, parser.EndElementHandler = on_start, on_end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = text.append, on_doctype
    try:
        with archive.open(name) as part:
            while block := part.read(BLOCK):
                parser.Parse(block, False)
                yield
        parser.Parse(b"", True)
        yield
    except (*ERRORS, KeyError, ValueError) as error:
        raise BadRecord(f"{name} cannot be read: {error}") from None


def _whole(text: str | None, otherwise: int = 0) -> int:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else otherwise


def _column(place: str | None, otherwise: int) -> int:
    """The column of a cell such as AB12, counted from 0."""
    letters = re.match(r"[A-Z]{1,3}", place or "")
    if letters is None:
        return otherwise
    column = 0
    for letter in letters[0]:
        column = column * 26 + ord(letter) - ord("A") + 1
    return column - 1
