"""`bench ingest --map` of tables in SQLite files and workbooks, which may be hostile."""

import io
import json
import random
import sqlite3
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from bench.ingest.format import Part
from bench.ingest.plan import SourceOptions
from bench.ingest.readers import sqlite_file, xlsx_file
from bench.ingest.readers.document import MAX_BYTES, BadRecord
from bench.ingest.readers.files import read_head
from bench.ingest.readers.tables import open_table
from bench.ingest.readers.unrecognised import describe
from bench.ingest.run import IngestReport
from bench.ingest.user_formats.mapped import MappedFormat
from bench.ingest.user_formats.mapping import parse_mapping
from bench.warehouse.errors import BenchError
from bench.warehouse.events import CaseRecord, Reject, Timing

from ..exhaustive import in_parts
from .formats.reading import Read, read_file

pytestmark = pytest.mark.usefixtures("nothing_derived")

MAP = "name=model,value=ms,unit=ms"
CELLS: list[list[Any]] = [["model", "batch_size", "ms"], ["resnet", 8, 12.5], ["resnet", 8, 12.75], ["bert", 4, 3]]
Cells = Sequence[Sequence[Any]]
Write = Callable[[Path], None]


def database(path: Path, *statements: str) -> Path:
    """An SQLite file."""
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


def results(path: Path, *statements: str) -> Path:
    """An SQLite file with a table of results."""
    create = "CREATE TABLE results (model TEXT, batch_size INTEGER, ms REAL)"
    return database(path, create, "INSERT INTO results VALUES ('resnet', 8, 12.5), ('bert', 4, 3)", *statements)


MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def cell(value: Any) -> str:
    """A cell as it is written, or the XML that a test gives in its place."""
    if isinstance(value, str) and value.startswith("<c"):
        return value
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return "<c/>" if value is None else f"<c><v>{value}</v></c>"


def sheet(rows: Cells) -> str:
    """A sheet of cells."""
    inside = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    return f"<worksheet {MAIN}><sheetData>{inside}</sheetData></worksheet>"


def workbook(path: Path, sheets: Mapping[str, Cells | str], parts: Mapping[str, str] | None = None) -> Path:
    """A workbook with these sheets, and further parts or others in the place of its own."""
    names = list(sheets)
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{at}" r:id="rId{at}"/>' for at, name in enumerate(names, 1)
    )
    linked = "".join(
        f'<Relationship Id="rId{at}" Target="worksheets/sheet{at}.xml"/>' for at in range(1, len(names) + 1)
    )
    contents = {
        "[Content_Types].xml": "<Types/>",
        "xl/workbook.xml": f'<workbook {MAIN} xmlns:r="{LINKS}"><workbookPr/><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f"<Relationships>{linked}</Relationships>",
    }
    for at, rows in enumerate(sheets.values(), 1):
        contents[f"xl/worksheets/sheet{at}.xml"] = rows if isinstance(rows, str) else sheet(rows)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {**contents, **(parts or {})}.items():
            archive.writestr(name, text)
    return path


def read(path: Path, *maps: str) -> Read:
    """What a table becomes by a mapping."""
    kind = MappedFormat(parse_mapping(maps or [MAP]))
    assert kind.unfit(path) is None
    return read_file(kind, path)


def unfit(path: Path, *maps: str) -> str:
    """Why a mapping cannot be of a file."""
    return MappedFormat(parse_mapping(maps or [MAP])).unfit(path) or ""


def axes(read: Read) -> list[tuple[Any, ...]]:
    """Name, batch size and parameters of each case."""
    return [(c.name, c.batch_size, json.loads(c.parameters) if c.parameters else None) for c in read.of(CaseRecord)]


# -- SQLite


def test_rows_of_a_database_are_records(tmp_path: Path) -> None:
    """The only table needs no name; NULL is an empty cell, bytes are text."""
    path = results(
        tmp_path / "r.sqlite", "INSERT INTO results VALUES (x'ff61', NULL, 2), ('bert', 4, 'fast'), (NULL, 1, 1)"
    )

    found = read(path)

    assert axes(found) == [("resnet", 8, None), ("bert", 4, None), ("\\xffa", None, None)]
    assert found.samples() == [(12_500_000, 1), (3_000_000, 1), (2_000_000, 1)]
    assert found.rejects() == [(4, 'ms is "fast", not a number'), (5, "no model")]
    assert found.accounting == (5, 3, 2)


def test_a_table_is_named_where_there_are_several(tmp_path: Path) -> None:
    """Views are none, whatever they do."""
    path = results(tmp_path / "r.db", 'CREATE TABLE "odd ""name" (a)', "CREATE VIEW v AS SELECT * FROM results")

    assert unfit(path) == "holds 2 tables: 'odd \"name', 'results'. Say which with --map 'records=odd \"name'"
    assert "has no table 'v'" in unfit(path, MAP, "records=v")
    assert "Nearest: 'results'" in unfit(path, MAP, "records=result")
    assert "no column 'model'" in unfit(path, MAP, 'records=odd "name')
    assert read(path, MAP, "records=results").accounting == (2, 2, 0)


def test_a_write_ahead_log_is_a_note(tmp_path: Path) -> None:
    """The rows in it are not read, and the command that brings them in is named."""
    path = results(tmp_path / "r.db")
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("INSERT INTO results VALUES ('new', 1, 1)")
    writer.commit()
    try:
        found = read(path)
    finally:
        writer.close()

    assert found.accounting == (2, 2, 0)
    assert any("write-ahead log" in note and "wal_checkpoint" in note for note in found.tally.notes)


def test_a_database_is_left_as_it_was(tmp_path: Path) -> None:
    """No trigger runs, nothing is written, no file comes beside it."""
    trigger = "CREATE TRIGGER t AFTER INSERT ON results BEGIN DELETE FROM results; END"
    path = results(tmp_path / "r.db", trigger)
    before = path.read_bytes()

    read(path)

    assert path.read_bytes() == before and [*tmp_path.iterdir()] == [path]


def test_a_database_that_claims_more_than_it_has_room_for_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows before the end count, and one reject explains the rest."""
    path = results(tmp_path / "r.db")
    monkeypatch.setattr(sqlite_file, "ROW_BYTES", path.stat().st_size)

    found = read(path)

    assert found.accounting == (2, 1, 1)
    assert found.rejects()[0][1].startswith("the rest of the table cannot be read: it has more rows")


@pytest.mark.parametrize("places", in_parts(range(120), every=10))
def test_a_damaged_database_is_read_as_far_as_it_goes(tmp_path: Path, places: list[int]) -> None:
    """Or is not fit; nothing else comes of it."""
    whole = results(tmp_path / "r.db", *(f"INSERT INTO results VALUES ('m{i}', {i}, {i})" for i in range(300)))
    data = whole.read_bytes()
    ends = set()
    for place in places:
        rng = random.Random(place)
        damaged = bytearray(data[: rng.randrange(100, len(data))] if rng.random() < 0.3 else data)
        for _ in range(rng.randrange(1, 20)):
            damaged[rng.randrange(100, len(damaged))] = rng.randrange(256)
        whole.write_bytes(damaged)
        ends.add(check(whole))

    assert ends >= {"read"}


def check(path: Path) -> str:
    """Read a damaged table, and hold it to its accounting."""
    kind = MappedFormat(parse_mapping([MAP]))
    describe(read_head(path), ())
    if kind.unfit(path) is not None:
        return "unfit"
    found = read_file(kind, path)
    assert found.tally.lines == found.tally.loaded + found.tally.rejected
    assert len(found.of(Reject)) == found.tally.rejected
    return "read"


def test_a_packed_database_says_so(tmp_path: Path) -> None:
    """SQLite reads files, not streams."""
    import gzip

    path = tmp_path / "r.db.gz"
    path.write_bytes(gzip.compress(results(tmp_path / "r.db").read_bytes()))

    assert unfit(path) == "is a packed SQLite file, which is read unpacked only: unpack it first"


# -- workbooks


def test_rows_of_a_sheet_are_records(tmp_path: Path) -> None:
    """The first row that holds something names the columns; empty rows are none, and lines are rows of the sheet."""
    path = workbook(tmp_path / "r.xlsx", {"Results": [[], *CELLS, [None], ["bert", 4, "fast"], ["x", 1, 2, "more"]]})

    found = read(path)

    assert axes(found) == [("resnet", 8, None), ("bert", 4, None)]
    assert [timing.line for timing in found.of(Timing)] == [3, 4, 5]
    assert found.samples() == [(12_500_000, 1), (12_750_000, 1), (3_000_000, 1)]
    assert found.rejects() == [
        (7, 'ms is "fast", not a number'),
        (8, "a cell in column 4, which the header does not name"),
    ]
    assert found.accounting == (5, 3, 2)


def test_a_sheet_is_named_where_there_are_several(tmp_path: Path) -> None:
    """By the name on its tab."""
    path = workbook(tmp_path / "r.xlsx", {"A & B": CELLS, "raw": [["a"]]})

    assert unfit(path) == "holds 2 sheets: 'A & B', 'raw'. Say which with --map 'records=A & B'"
    assert "Nearest: 'raw'" in unfit(path, MAP, "records=row")
    assert read(path, MAP, "records=A & B").accounting == (3, 3, 0)


def test_cells_of_every_kind(tmp_path: Path) -> None:
    """Texts in one place, rich text without its furigana, booleans, errors, dates by their style."""
    header = ["model", "ms", "ok", "when", "rich", "far"]
    row = ['<c t="s"><v>0</v></c>', '<c s="1"><v>1.5</v></c>', '<c t="b"><v>1</v></c>', '<c s="2"><v>45418.25</v></c>',
           '<c t="s"><v>1</v></c>', '<c r="H2" t="str"><f>1</f><v>x</v></c>']  # fmt: skip
    formats = '<numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ [$-409]hh:mm"/></numFmts>'
    styles = '<cellXfs><xf numFmtId="0"/><xf numFmtId="2"/><xf numFmtId="164"/></cellXfs>'
    texts = "<si><t>résnet</t></si><si><r><t>a</t></r><r><t>b</t></r><rPh><t>no</t></rPh></si>"
    parts = {
        "xl/styles.xml": f"<styleSheet {MAIN}><cellStyleXfs><xf numFmtId='14'/></cellStyleXfs>{formats}{styles}</styleSheet>",
        "xl/sharedStrings.xml": f"<sst {MAIN}>{texts}</sst>",
    }
    path = workbook(tmp_path / "r.xlsx", {"S": [[*header[:5], None, None, header[5]], row]}, parts)

    (record,) = open_table(Part.alone(path), None).rows()

    assert record.cells == {
        "model": "résnet", "ms": 1.5, "ok": True, "when": "2024-05-06 06:00:00", "rich": "ab", "far": "x",
    }  # fmt: skip


def test_a_formula_that_was_never_computed_is_a_reject(tmp_path: Path) -> None:
    """Its value is nowhere in the file; one whose value is an empty text is an empty cell."""
    rows = [
        ["model", "ms"],
        ["a", "<c><f>1+1</f></c>"],
        ["b", "<c><f>1+1</f><v>2</v></c>"],
        ["c", '<c t="str"><f>x</f><v/></c>'],
    ]
    found = read(workbook(tmp_path / "r.xlsx", {"S": rows}))

    assert found.names == ["b", "c"] and found.samples() == [(2_000_000, 1)]
    ((line, reason),) = found.rejects()
    assert line == 2 and reason.startswith("a formula that was never computed")


def test_days_may_be_counted_from_1904(tmp_path: Path) -> None:
    """As old Macs do."""
    sheets = '<sheets><sheet name="S" r:id="rId1"/></sheets>'
    book = f'<workbook {MAIN} xmlns:r="{LINKS}"><workbookPr date1904="1"/>{sheets}</workbook>'
    styles = f'<styleSheet {MAIN}><cellXfs><xf numFmtId="14"/></cellXfs></styleSheet>'
    path = workbook(
        tmp_path / "r.xlsx", {"S": [["when"], ["<c><v>1</v></c>"]]}, {"xl/workbook.xml": book, "xl/styles.xml": styles}
    )

    assert [record.cells["when"] for record in open_table(Part.alone(path), None).rows()] == ["1904-01-02 00:00:00"]


def test_a_broken_cell_is_a_reject_and_a_broken_sheet_ends(tmp_path: Path) -> None:
    """Rows before the break count."""
    rows: list[list[Any]] = [["model", "ms"], ["a", '<c t="s"><v>7</v></c>'], ["b", "<c><v>1e</v></c>"], ["c", 1]]
    text = sheet(rows).replace("</sheetData>", "<row></oops>")

    found = read(workbook(tmp_path / "r.xlsx", {"S": text}))

    assert found.names == ["c"]
    assert [reason[:38] for _, reason in found.rejects()] == [
        "a cell is '7', which is not a text", "a cell is '1e', which is not a number", "the rest of the sheet: xl/worksheets/s",
    ]  # fmt: skip
    assert found.accounting == (4, 1, 3)


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"xl/workbook.xml": "<!DOCTYPE x [<!ENTITY a 'b'>]><x>&a;</x>"}, "declares a document type"),
        ({"xl/workbook.xml": "<x>"}, "xl/workbook.xml cannot be read"),
        ({"xl/_rels/workbook.xml.rels": '<a><Relationship Id="rId1" Target="../../etc/passwd"/></a>'}, "holds no sheet"),
        ({"xl/worksheets/sheet1.xml": "<a><row r='9999999'><c><v>1</v></c></row></a>"}, "a cell in row 9,999,999"),
        ({"xl/worksheets/sheet1.xml": "<a><row><c r='ZZZ1'><v>1</v></c></row></a>"}, "column 18,278, where a sheet has none"),
        ({"xl/worksheets/sheet1.xml": "<a/>"}, "has no header in the sheet 'S'"),
        ({"xl/worksheets/sheet1.xml": sheet([["a", "a"]])}, "has the column 'a' twice"),
    ],
)  # fmt: skip
def test_a_hostile_workbook_is_not_fit(tmp_path: Path, parts: dict[str, str], says: str) -> None:
    """With the part and the reason."""
    assert says in unfit(workbook(tmp_path / "r.xlsx", {"S": CELLS}, parts))


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a large part, nor many cells that are the same large text."""
    bomb = workbook(tmp_path / "bomb.xlsx", {"S": CELLS}, {"xl/media/a.png": "0" * (MAX_BYTES + 1)})
    texts = f"<sst><si><t>{'x' * 1000}</t></si></sst>"
    rows: list[list[Any]] = [["model", "ms"], *([['<c t="s"><v>0</v></c>', 1]] * 5)]
    many = workbook(tmp_path / "many.xlsx", {"S": rows}, {"xl/sharedStrings.xml": texts})
    monkeypatch.setattr(xlsx_file, "MOST_TEXT", 2500)

    assert bomb.stat().st_size < 1 << 20 and "unpacks to more than 128 MiB" in unfit(bomb)
    assert read(many).accounting == (3, 2, 1)


def test_an_old_workbook_says_so(tmp_path: Path) -> None:
    """So does one with a password, which is packed the same way."""
    (tmp_path / "r.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))

    assert unfit(tmp_path / "r.xls").startswith("is an old (.xls) or an encrypted workbook: save it as .xlsx")


@pytest.mark.parametrize("places", in_parts(range(200), every=10))
def test_a_damaged_workbook_is_read_as_far_as_it_goes(tmp_path: Path, places: list[int]) -> None:
    """Damage to the archive, and to the XML of a part."""
    whole = workbook(tmp_path / "r.xlsx", {"S": [*CELLS, *([["m", i, i] for i in range(50)])]}).read_bytes()
    ends = set()
    for place in places:
        rng = random.Random(place)
        data = bytearray(whole)
        if rng.random() < 0.7:
            data = bytearray(_with_damaged_part(whole, rng))
        else:
            for _ in range(rng.randrange(1, 8)):
                data[rng.randrange(len(data))] = rng.randrange(256)
        (tmp_path / "d.xlsx").write_bytes(data[: rng.randrange(len(data))] if rng.random() < 0.1 else data)
        ends.add(check(tmp_path / "d.xlsx"))

    assert ends == {"read", "unfit"}


def _with_damaged_part(whole: bytes, rng: random.Random) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(written, "w") as new:
        target = rng.choice(old.namelist()[1:])
        for name in old.namelist():
            data = bytearray(old.read(name))
            for _ in range(rng.randrange(1, 4) * (name == target)):
                data[rng.randrange(len(data))] = rng.choice(b'<>/"=&;A9\0\xff ')
            new.writestr(name, bytes(data))
    return written.getvalue()


# -- the command


@pytest.mark.parametrize(
    ("write", "says"),
    [
        (results, "is an SQLite file with the tables: 'results'"),
        (lambda path: workbook(path, {"S": CELLS}), "is a workbook with the sheets: 'S'"),
    ],
)
def test_without_a_mapping_a_table_says_what_it_holds(
    load: Callable[..., IngestReport], tmp_path: Path, write: Write, says: str
) -> None:
    """And not all the formats that it is not of."""
    write(tmp_path / "r.bin")

    with pytest.raises(BenchError) as raised:
        load(tmp_path / "r.bin")

    assert says in str(raised.value) and "--map" in str(raised.value) and "hyperfine" not in str(raised.value)


@pytest.mark.parametrize("write", [results, lambda path: workbook(path, {"S": CELLS})])
def test_a_table_is_loaded_once(load: Callable[..., IngestReport], tmp_path: Path, write: Write) -> None:
    """Loaded, rejected and known are all its rows."""
    write(tmp_path / "r.bin")
    own = SourceOptions(own=MappedFormat(parse_mapping([MAP])))

    (first,), (second,) = (load(tmp_path / "r.bin", sources=own).lines for _ in range(2))

    assert first.loaded == first.lines > 0
    assert (second.loaded, second.known) == (0, first.lines)


def test_damage_is_said_without_a_mapping(tmp_path: Path) -> None:
    """In words that follow the name of the file."""
    path = results(tmp_path / "r.db")
    path.write_bytes(path.read_bytes()[:100] + b"\xff" * 400)
    with pytest.raises(BadRecord, match="cannot be read as SQLite"):
        open_table(Part.alone(path), None)

    assert describe(read_head(path), ()).startswith("cannot be read as SQLite")
