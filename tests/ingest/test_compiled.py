"""A table that is read by SQL becomes the events that it becomes row by row: the exact reader is the oracle."""

import gzip
import json
import random
import tracemalloc
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bench.ingest.format import Part
from bench.ingest.plan import SourceOptions
from bench.ingest.readers import text_rows
from bench.ingest.readers.tables import open_table
from bench.ingest.run import ingest
from bench.ingest.user_formats import mapped
from bench.ingest.user_formats.mapped import MappedFormat
from bench.ingest.user_formats.mapping import parse_mapping
from bench.ingest.user_formats.pattern import Pattern
from bench.warehouse.events import Timing
from bench.warehouse.log import SPILL
from bench.warehouse.secrets import without_secrets
from bench.warehouse.store import Store

from ..exhaustive import in_parts
from .formats import fuzz
from .formats.reading import Read, read_file

pytestmark = pytest.mark.usefixtures("nothing_derived")

MAPPINGS = [
    ["name=m,value=v,unit=ms"],
    ["name=m,value=v,unit=u"],
    ["name=m,value=v,unit=s,status=s,reason=why"],
    ["name=m,value=v,metric=what,unit=u,better=dir,statistic=stat,phase=ph"],
    ["name=m,value=v,unit=us,loops=n,value=w,unit=MB,value=x,statistic=p99,rest=out"],
    ["name=m,value=v,unit=s,time=at"],
    ["name=m,value=v,unit=s,time=at,commit=sha,host=s"],
    ["name=m,value=v,unit=ms,run=sha,parameters=tp,ignore=w"],
    ["name=m,status=s,parameters=v,batch_size=n"],
    ["suite:=nightly,name=m,dtype=u,value=x,unit=tokens/s,phase=ph"],
]
NUMBERS = [
    "1", "2.5", "0", "0.0", "-1.5", "1e3", "1E-05", "3.2e-05", "12 ms", "7%", "1.5 MB", "1,5", "1.234,5", "1_0", "nan", "N/A",
    "inf", "1e999", "1e308", ".5", "5.", "+3", "0.1234567890123456", "9007199254740993", "0x10", "", "", "-",
]  # fmt: skip
NAMES = [
    "a", "b", "b", "c", "", "model with space", 'quo"te', "back\\slash", "é", "𝔘", "token=zyxwvutsrqp", "0xdeadbeef01", "-5",
    "8", "1.0", "1.50", "{}", '{"k": 1}', "null", "true", "NaN", " pad ", "it's",
]  # fmt: skip
WORDS = {
    "u": ["ms", "s", "MB", "%", "tokens/s", "apples", "", "x" * 300],
    "s": ["ok", "PASS", "fail", "Timed out", "odd one", "", ""],
    "why": ["", "too slow", "KeyError: 'x'", "password=hunter2hunter2"],
    "what": ["latency", "loss", "", "accuracy"],
    "dir": ["lower", "higher", "", "up"],
    "stat": ["", "", "mean", "p99", "stddev"],
    "ph": ["", "cold", "steady", "warmup"],
    "n": ["1", "2", "8", "", "0", "1.0", "1.5", "-1", "1e2"],
    "at": ["2026-01-01", "2026-01-01 10:00", "2026-01-01T10:00:05.25Z", "2026-01-01T12:00:00+02:00", "1767225600", "1767225600.5",
           "1767225600123", "01/02/2026", "", "2026-02-30", "2026/01/05", "2026-01-03 00:00:00,5"],
    "sha": ["abc", "def", "", "0123"],
    "tp": ["8", "8.0", "x", "", "1e5", "0.00001", "[1]"],
}  # fmt: skip
COLUMNS = ["m", "v", "w", "x", *WORDS]


def rows_of(rng: random.Random, count: int, *, nasty: float) -> list[dict[str, str]]:
    """Rows of text, of which a share has cells that are rare."""
    rows = []
    for _ in range(count):
        is_nasty = rng.random() < nasty
        row = {"m": rng.choice(NAMES if is_nasty else NAMES[:4])}
        row |= {name: rng.choice(NUMBERS if is_nasty else NUMBERS[:4]) for name in ("v", "w", "x")}
        row |= {name: rng.choice(words if is_nasty else words[:3]) for name, words in WORDS.items()}
        rows.append(row)
    return rows


def as_csv(rng: random.Random, rows: Sequence[dict[str, str]], separator: str = ",") -> bytes:
    """A CSV that quotes now and then, and where a line is sometimes broken."""
    quote_all = rng.random() < 0.3

    def cell(text: str) -> str:
        if quote_all or separator in text or '"' in text or rng.random() < 0.02:
            return '"' + text.replace('"', '""') + '"'
        return text

    lines = [separator.join(COLUMNS)]
    for row in rows:
        line = separator.join(cell(row[name]) for name in COLUMNS)
        if rng.random() < 0.03:
            at = rng.randrange(len(line) or 1)
            broken = [line[:at], line + separator, "", " ", line[:at] + '"' + line[at:], line[:at] + "\r" + line[at:],
                      line[:at] + "\0" + line[at:], line.replace(separator, separator + " "), '"multi\nline"' + separator + line,
                      "#" + line, line[:at] + "\x1f" + line[at:], line[:at] + "\udcff" + line[at:]]  # fmt: skip
            line = rng.choice(broken)
        lines.append(line)
    end = rng.choice(["\n", "\n", "\r\n"])
    text = end.join(lines) + rng.choice(["", end])
    return rng.choice(["", "", "\ufeff", "# comment\n\n"]).encode() + text.encode("utf-8", "surrogateescape")


def as_json_lines(rng: random.Random, rows: Sequence[dict[str, str]]) -> bytes:
    """The same as JSON lines, where numbers are numbers now and then, and some lines are odd."""
    lines = []
    for row in rows:
        cells: dict[str, Any] = {}
        for name, text in row.items():
            if text or rng.random() < 0.1:
                number = float(text) if text.replace(".", "", 1).isdigit() else text
                cells[name] = rng.choice(
                    [number, number, int(number) if isinstance(number, float) and number.is_integer() else number, text]
                )
        if rng.random() < 0.05:
            cells["deep"] = rng.choice([{"a": 1}, {"a": {"b": "x"}}, {}, [1, 2], None, True, {"a": None}])
        if rng.random() < 0.03:
            cells["v"] = rng.choice([[1, 2.5], True, None, {"x": 1}, 10**30, 1e-7, 1e22])
        line = json.dumps(cells, ensure_ascii=rng.random() < 0.5)
        if rng.random() < 0.03:
            odd = [
                "", "[1]", f"[{line}, {line}]", line[:-1], line[:-1] + ",}", line.replace("{", '{"m": "twice", ', 1), "{}", "nul",
                line.replace("}", ', "v2": NaN}'), line + " x", '{"m": "\\ud800", "v": 1}', '{"m": "a\\u0001", "v": 1}',
            ]  # fmt: skip
            line = rng.choice(odd)
        lines.append(line)
    return "\n".join(lines).encode("utf-8", "surrogatepass") + b"\n"


def as_log(rng: random.Random, rows: Sequence[dict[str, str]]) -> bytes:
    """Lines of a log that say some of it, and others."""
    lines = [
        f"INFO {row['m']} took {row['v']} {row['u']} n={row['n']} {row['sha']}{rng.choice(['', '', chr(9) + 'x', chr(13)])}"
        if rng.random() < 0.9
        else "noise"
        for row in rows
    ]
    return "\n".join(lines).encode("utf-8", "surrogateescape") + b"\n"


def read(path: Path, maps: Sequence[str], claimed: Collection[str]) -> Read:
    """What a file becomes by a mapping."""
    kind = Pattern(maps[0], maps[1:]) if maps[0].startswith("INFO") else MappedFormat(parse_mapping(maps))
    return read_file(kind, path, claimed=set(claimed))


def content(found: Read) -> tuple[Any, ...]:
    """All that was read, whatever its order: events, accounting, notes and runs."""
    written = map(without_secrets, found.events)
    events = Counter(
        (type(event).__name__, json.dumps([getattr(event, field.name) for field in event.fields()]))
        for event in written
    )
    shares = [
        (run, share.lines, share.loaded, share.rejected, share.known, share.without_rows)
        for run, share in found.tally.shares.items()
    ]
    return events, found.accounting, found.tally.without_rows, shares, found.tally.notes, found.tally.runs


def same_by_both(
    path: Path, maps: Sequence[str], monkeypatch: pytest.MonkeyPatch, claimed: Collection[str] = ()
) -> Read:
    """What a file becomes, after it was shown that SQL and the exact reader agree on it."""
    monkeypatch.setattr(mapped, "COMPILED_BYTES", 1 << 60)
    expected = read(path, maps, claimed)
    monkeypatch.setattr(mapped, "COMPILED_BYTES", 0)
    found = read(path, maps, claimed)
    ours, theirs = content(found), content(expected)
    assert (dict(ours[0] - theirs[0]), dict(theirs[0] - ours[0])) == ({}, {}), maps
    assert ours == theirs
    return expected


def as_document(rng: random.Random, rows: Sequence[dict[str, str]]) -> bytes:
    """The good lines of JSON as one list, and values that are no rows."""
    found: list[Any] = []
    for line in as_json_lines(rng, rows).splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            found.append(rng.choice([1, None, {"m": "b", "v": 1e-7}, {"m": "\ud800", "v": 2}]))
    return json.dumps(found).encode()


def as_parquet(rng: random.Random, rows: Sequence[dict[str, str]]) -> bytes:
    """Columns of texts and of numbers, with gaps."""
    columns: dict[str, Any] = {name: [row[name] or None for row in rows] for name in COLUMNS}
    numbers = [rng.choice([None, 1.5, 0.0, 1e-7, 1e22, float("nan"), -2.0, 0.1]) for _ in rows]
    columns |= {
        "v": numbers,
        "n": [rng.choice([None, 1, 8, 2**40]) for _ in rows],
        "tp": [rng.random() < 0.5 for _ in rows],
    }
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return bytes(sink.getvalue())


KINDS: dict[str, Callable[..., bytes]] = {
    "csv": as_csv, "json lines": as_json_lines, "json": as_document, "parquet": as_parquet,
}  # fmt: skip


@pytest.mark.parametrize("seeds", in_parts(range(16), every=16))
@pytest.mark.parametrize("kind", KINDS)
def test_sql_and_the_exact_reader_agree(
    kind: str, seeds: Sequence[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over tables of every nastiness, in blocks of any size, and of which some runs are in the store already."""
    for seed in seeds:
        rng = random.Random(f"{kind} {seed}")
        block_bytes, most = rng.choice([(1, 12), (1 << 23, 80)])  # a block a row, or all rows in one
        rows = rows_of(rng, rng.randint(1, most), nasty=rng.choice([0, 0.1, 0.6]))
        path = tmp_path / "t"
        path.write_bytes(KINDS[kind](rng, rows))
        monkeypatch.setattr(text_rows, "BLOCK_BYTES", block_bytes)
        monkeypatch.setattr("bench.ingest.format.BLOCK_BYTES", rng.choice([1 << 12, 1 << 19]))
        for maps in rng.sample(MAPPINGS, 3):
            if MappedFormat(parse_mapping(maps)).unfit(path) is not None:
                continue
            first = same_by_both(path, maps, monkeypatch)
            runs = {run.run_id for run in first.runs}
            if len(runs) > 1:
                same_by_both(path, maps, monkeypatch, claimed={min(runs)})


@pytest.mark.parametrize("seeds", in_parts(range(30), every=15))
def test_they_agree_on_damage(seeds: Sequence[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that are other, gone or doubled; another encoding, line end or package."""
    for seed in seeds:
        rng = random.Random(seed)
        kind = rng.choice(list(KINDS))
        data = KINDS[kind](rng, rows_of(rng, 30, nasty=0.1))
        path = tmp_path / "t"
        path.write_bytes(rng.choice(fuzz.MUTATIONS)(data, rng) or b" ")
        maps = rng.choice(MAPPINGS)
        if MappedFormat(parse_mapping(maps)).unfit(path) is None:
            same_by_both(path, maps, monkeypatch)


PATTERNS = [
    [r"INFO (?P<name>.*?) took (?P<value>\S*) (?P<unit>\S*)"],
    [r"INFO (?P<m>\w*).*took (?P<value>[\d.]+) .* n=(?P<batch_size>\S*)", "name=m,unit=s"],
    [r"INFO (?P<name>\w+) took (?P<value>\S+).* (?P<commit>\w*)\s*(?P<rest_of_it>.*)$", "unit=us"],
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("seeds", in_parts(range(20), every=10))
def test_they_agree_on_the_lines_of_a_pattern(
    seeds: Sequence[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose groups may be empty, take no part, or hold control characters."""
    for seed in seeds:
        rng = random.Random(seed)
        path = tmp_path / "t.log"
        path.write_bytes(as_log(rng, rows_of(rng, rng.randint(1, 60), nasty=rng.choice([0, 0.5]))))
        monkeypatch.setattr("bench.ingest.user_formats.pattern.LINES_OF_A_BLOCK", rng.choice([20, 1000]))
        for maps in PATTERNS:
            same_by_both(path, maps, monkeypatch)


def test_bad_input_is_rejected_with_line_and_reason_and_the_rest_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a file with every kind of damage; nothing is guessed."""
    long = "x" * (10 << 20)
    lines = [
        b"\xef\xbb\xbfm,v,at", b"good,1,2026-01-01", b"ragged,1", b"ragged,1,2026-01-01,4", b"latin \xe9,1,2026-01-01",
        "utf-8 \xe9,2,2026-01-01".encode(), b'"quoted\nname",3,2026-01-01', f"{long},4,2026-01-01".encode(),
        b'decimal,"1,5",2026-01-01', b'thousands,"1,234.5",2026-01-01', b"nul\0,5,2026-01-01", b"iso,6,2026-01-01T10:00:00Z",
        b"european,7,01.02.2026", b"american,8,1/2/2026", b"unix,9,1767225600", b"", b"last,10,2026-01-01",
        b"swiss,1'234.5,2026-01-01", b"french,1 234.5,2026-01-01",
    ]  # fmt: skip
    path = tmp_path / "bad.csv"
    path.write_bytes(b"\n".join(lines) + b"\n")
    found = same_by_both(path, ["name=m,value=v,unit=ms,time=at,run:=one"], monkeypatch)

    assert found.rejects() == [
        (3, "2 columns under a header of 3"), (4, "4 columns under a header of 3"), (5, "not UTF-8"),
        (9, "longer than 1 MiB"),
        (10, 'v is "1,5", not a number: use a decimal point, and no separator of thousands'),
        (11, 'v is "1,234.5", not a number: use a decimal point, and no separator of thousands'),
        (12, "holds a NUL byte"), (14, 'at is "01.02.2026", which cannot be read as a time'),
        (15, 'at is "1/2/2026", which cannot be read as a time'), (17, "blank line"),
        (19, 'v is "1\'234.5", not a number: use a decimal point, and no separator of thousands'),
        (20, 'v is "1 234.5", not a number: use a decimal point, and no separator of thousands'),
    ]  # fmt: skip
    assert found.names == ["good", "utf-8 \xe9", "quoted\nname", "iso", "unix", "last"]
    assert [note for note in found.tally.notes if "separator" in note] == [
        f"bad.csv: v has numbers with {mark}, which are rejected: use a decimal point, and no separator of thousands"
        for mark in ("a comma", "an apostrophe", "a blank")
    ]


@pytest.mark.parametrize("row", ["b,2", '{"m": "b", "v": 2}'])
def test_blank_lines_at_the_end_are_no_rows(row: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever reader reads them, and wherever its blocks end; one between rows is a reject."""
    monkeypatch.setattr(text_rows, "BLOCK_BYTES", 16)
    monkeypatch.setattr("bench.ingest.format.BLOCK_BYTES", 16)
    first = "m,v" if row == "b,2" else row
    path = tmp_path / "rows.txt"
    path.write_text("\n".join([first, row, "", row, *[" " * 5, "\r", ""] * 40]))

    found = same_by_both(path, ["name=m,value=v,unit=ms"], monkeypatch)
    assert found.rejects() == [(3, "blank line")]
    assert found.tally.loaded == 3 - (first != row)


@pytest.mark.exhaustive
@pytest.mark.parametrize("after", [1, 50, 150])
def test_a_quote_that_is_not_closed_costs_its_row_alone(
    after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows below it load, whether another such quote follows soon, late, or in another block."""
    lines = ["m,v", "a,1", '24" screen,2', *["b,3"] * after, 'c"c,4', *["d,5"] * 120, '"e\nf",6']
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    reason = "not valid CSV: a quote that opens or closes no cell, or is not closed within 100 lines"
    for block_bytes in (1, 1 << 23):
        monkeypatch.setattr(text_rows, "BLOCK_BYTES", block_bytes)
        monkeypatch.setattr("bench.ingest.format.BLOCK_BYTES", 64)
        found = same_by_both(path, ["name=m,value=v,unit=ms"], monkeypatch)

        assert found.rejects() == [(3, reason), (after + 4, reason)]
        assert found.names == ["a", "b", "d", "e\nf"]


def test_samples_of_a_case_that_rows_write_in_two_ways_are_numbered_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch of 8 and one of 8.0 are one case: no two of its samples share a number, in one block or in several."""
    path = tmp_path / "t.csv"
    path.write_text("m,n,v\n" + "a,8,1\na,8.0,2\nb,8,3\n" * 3)
    for block_bytes in (1, 1 << 23):
        monkeypatch.setattr(text_rows, "BLOCK_BYTES", block_bytes)
        monkeypatch.setattr("bench.ingest.format.BLOCK_BYTES", 24)
        found = same_by_both(path, ["name=m,value=v,unit=ms,batch_size=n"], monkeypatch)

        samples = [(event.duration_ns, event.sample) for event in found.events if isinstance(event, Timing)]
        assert sorted(samples) == [
            (1e6, 0),
            (1e6, 2),
            (1e6, 4),
            (2e6, 1),
            (2e6, 3),
            (2e6, 5),
            (3e6, 0),
            (3e6, 1),
            (3e6, 2),
        ]


def test_a_header_that_names_a_column_twice_is_refused(tmp_path: Path) -> None:
    """Which of them is meant nobody knows."""
    (tmp_path / "t.csv").write_text("m,v,v\na,1,2\n")
    assert MappedFormat(parse_mapping(["name=m,value=v"])).unfit(tmp_path / "t.csv") == (
        "has the column 'v' twice: give one of the two another name in the header"
    )


def test_what_memory_cannot_hold_goes_into_the_store(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not into the folder where the command was started, which may be read-only."""
    monkeypatch.setattr(mapped, "COMPILED_BYTES", 0)
    settings: list[dict[str, Any]] = []
    connect = duckdb.connect

    def watched(*arguments: Any, **options: Any) -> duckdb.DuckDBPyConnection:
        settings.append(options.get("config") or {})
        return connect(*arguments, **options)

    monkeypatch.setattr(duckdb, "connect", watched)
    (tmp_path / "t.csv").write_text("m,v\na,1\n")
    own = MappedFormat(parse_mapping(["name=m,value=v"]))
    report = ingest(store, [str(tmp_path / "t.csv")], sources=SourceOptions(own=own))

    assert report.lines[0].loaded == 1
    assert str(store.root / SPILL) in [each.get("temp_directory") for each in settings]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("row", [b"a,2", b'{"m": "a", "v": 2}'])
def test_blank_lines_at_the_end_are_not_held(row: bytes, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """A file of blank lines takes no more memory than its text, in either reader; packed or not."""
    path = tmp_path / "t.txt"
    path.write_bytes(pack((b"m,v\n" if row[0] != ord("{") else b"") + row + b"\n" * (4 << 20)))
    table = open_table(Part.alone(path), None)
    assert table.blocks is not None
    for read in (table.rows, table.blocks):
        tracemalloc.start()
        try:
            assert len(list(read())) == 1
            assert tracemalloc.get_traced_memory()[1] < 4 << 20
        finally:
            tracemalloc.stop()
