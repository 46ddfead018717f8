"""One deliberately nasty result set, and what each format makes of it."""

import contextlib
import datetime
import decimal
import io
import json
import os
from pathlib import Path
from typing import Any

import duckdb
import pytest
from bench.warehouse.console import tables
from bench.warehouse.console.options import FORMATS
from bench.warehouse.console.tables import escape, width, write_rows
from bench.warehouse.errors import BenchError
from hypothesis import given
from hypothesis import strategies as st

COLUMNS = ["name", "ns", "ratio", "name", "at"]
AT = datetime.datetime(2026, 11, 21, 4, 5, 6)
ROWS: list[tuple[Any, ...]] = [
    ("plain", 1, 1.5, "", AT),
    ('a,"b"|c', None, float("nan"), None, None),
    ("two\nlines\r", 2**62, 1 / 3, "模型", None),
    ("\x1b[31mred\u202e", -7, float("inf"), "<b>`x`\\", AT),
]

GOLDEN = {
    "table": """\
name                                ns     ratio  name     at
─────────────────  ───────────────────  ────────  ───────  ───────────────────
plain                                1       1.5           2026-11-21 04:05:06
a,"b"|c                                      nan
two\\nlines\\r       4611686018427387904  0.333333  模型
\\x1b[31mred\\u202e                   -7       inf  <b>`x`\\  2026-11-21 04:05:06
""",
    "csv": """\
name,ns,ratio,name,at
plain,1,1.5,"",2026-11-21T04:05:06
"a,""b""|c",,nan,,
"two\nlines\r",4611686018427387904,0.3333333333333333,模型,
\x1b[31mred\u202e,-7,inf,<b>`x`\\,2026-11-21T04:05:06
""",
    "json": """\
[
{"name": "plain", "ns": 1, "ratio": 1.5, "name_1": "", "at": "2026-11-21T04:05:06"},
{"name": "a,\\"b\\"|c", "ns": null, "ratio": null, "name_1": null, "at": null},
{"name": "two\\nlines\\r", "ns": 4611686018427387904, "ratio": 0.3333333333333333, "name_1": "模型", "at": null},
{"name": "\\u001b[31mred\u202e", "ns": -7, "ratio": null, "name_1": "<b>`x`\\\\", "at": "2026-11-21T04:05:06"}
]
""",
    "jsonl": """\
{"name": "plain", "ns": 1, "ratio": 1.5, "name_1": "", "at": "2026-11-21T04:05:06"}
{"name": "a,\\"b\\"|c", "ns": null, "ratio": null, "name_1": null, "at": null}
{"name": "two\\nlines\\r", "ns": 4611686018427387904, "ratio": 0.3333333333333333, "name_1": "模型", "at": null}
{"name": "\\u001b[31mred\u202e", "ns": -7, "ratio": null, "name_1": "<b>`x`\\\\", "at": "2026-11-21T04:05:06"}
""",
    "markdown": """\
| name | ns | ratio | name | at |
|---|--:|--:|---|---|
| plain | 1 | 1.5 |  | 2026-11-21T04:05:06 |
| a,"b"\\|c |  | nan |  |  |
| two<br>lines<br> | 4611686018427387904 | 0.3333333333333333 | 模型 |  |
| \\x1b[31mred\\u202e | -7 | inf | &lt;b>\\`x\\`\\\\ | 2026-11-21T04:05:06 |
""",
}


class Terminal(io.StringIO):
    """A stdout that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("fmt", GOLDEN)
def test_a_nasty_result_in_every_text_format(fmt: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The same bytes on standard output and in a file."""
    write_rows(COLUMNS, ROWS, fmt)
    write_rows(COLUMNS, iter(ROWS), fmt, tmp_path / "out")

    assert capsys.readouterr().out == GOLDEN[fmt]
    assert (tmp_path / "out").read_bytes().decode() == GOLDEN[fmt]


@pytest.mark.parametrize("fmt", [fmt for fmt in FORMATS if fmt != "parquet"])
@given(st.lists(st.text(), min_size=1, max_size=3))
def test_no_format_steers_a_terminal(fmt: str, names: list[str]) -> None:
    """Whatever stands in names and columns; JSON still reads back equal, and elsewhere the bytes are as they are."""
    terminal, file = Terminal(), io.StringIO()
    for out in (terminal, file):
        with contextlib.redirect_stdout(out), pytest.MonkeyPatch.context() as patch:
            patch.setenv("NO_COLOR", "1")
            write_rows(["name\x9b31m"], [(f"{name}\x1b]0;title\x07\x9b31m\u202e",) for name in names], fmt)
    shown = terminal.getvalue()

    assert shown.replace("\n", "").isprintable()
    if fmt.startswith("json"):
        assert (
            [json.loads(line) for line in shown.splitlines() if "{" in line][-1:]
            if fmt == "jsonl"
            else json.loads(shown)
        )
    if fmt == "csv":
        assert "\x9b31m\u202e" in file.getvalue()


def test_every_format_has_a_golden_file_or_a_test() -> None:
    """Parquet is tested below by reading it back."""
    assert {*GOLDEN, "parquet"} == set(FORMATS)


def test_parquet_reads_back_equal(tmp_path: Path) -> None:
    """Values and NULLs survive; columns of one name are numbered."""
    file = tmp_path / "out.parquet"
    write_rows(COLUMNS, iter(ROWS), "parquet", file)

    found = duckdb.execute(f"SELECT * FROM '{file}'")
    assert [column[0] for column in found.description or ()] == ["name", "ns", "ratio", "name_1", "at"]
    assert [list(map(repr, row)) for row in found.fetchall()] == [list(map(repr, row)) for row in ROWS]


def test_parquet_joins_chunks_of_different_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first chunk of NULLs does not decide the type."""
    monkeypatch.setattr(tables, "CHUNK", 1)
    write_rows(["x"], [(None,), (1,), (1.5,)], "parquet", tmp_path / "x")

    assert duckdb.execute(f"SELECT x FROM read_parquet('{tmp_path / 'x'}')").fetchall() == [(None,), (1.0,), (1.5,)]


def test_parquet_is_kept_off_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Binary on a screen helps nobody: the cure is named."""
    monkeypatch.setattr("sys.stdout", Terminal())

    with pytest.raises(BenchError, match="-o"):
        write_rows(["x"], [(1,)], "parquet")


def test_what_parquet_cannot_hold_is_said(tmp_path: Path) -> None:
    """A number beyond 64 bits is an error in a sentence."""
    with pytest.raises(BenchError, match="jsonl"):
        write_rows(["x"], [(2**70,)], "parquet", tmp_path / "x")


def test_a_table_fits_its_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts longer than a line are cut, however long; wide characters count as two, and only a terminal gets bold."""
    out = Terminal()
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setenv("COLUMNS", "32")
    monkeypatch.setenv("TERM", "xterm")
    write_rows(["a", "b"], [("x" * 50, 1), ("模" * 50_000, 2)], "table")

    head, *lines = out.getvalue().splitlines()
    assert head.startswith("\x1b[1m")
    assert all(width(line) <= 32 for line in lines)
    assert [line[-1] for line in lines[3:]] == ["…", "1", "…", "2"]


FOLDED = {
    "44": """\
parameters          ms
  ratio
  why
────────────────  ────
  ──────────────────────
  ─────────────────────────────
tokens:2048–4095  45.2
  1.39x (95 % 1.35–1.43)
  noise 1.7 %
tokens:1           7.4
tokens:2–3         7.3
  1.00x (no interval)
  single samples, no other runs
""",
    "76": """\
parameters          ms  ratio                   why
────────────────  ────  ──────────────────────  ────────────────────────────
tokens:2048–4095  45.2  1.39x (95 % 1.35–1.43)  noise 1.7 %
tokens:1           7.4
tokens:2–3         7.3  1.00x (no interval)
  single samples, no other runs
""",
}


@pytest.mark.parametrize("columns", FOLDED)
def test_a_row_that_does_not_fit_goes_on_below(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut to fit, cases that differ look alike, a ratio loses its interval and a command cannot be run: nothing is cut."""
    out = Terminal()
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("TERM", "dumb")
    rows = [
        ("tokens:2048–4095", 45.2, "1.39x (95 % 1.35–1.43)", "noise 1.7 %"), ("tokens:1", 7.4, None, None),
        ("tokens:2–3", 7.3, "1.00x (no interval)", "single samples, no other runs"),
    ]  # fmt: skip
    write_rows(["parameters", "ms", "ratio", "why"], rows, "table")

    assert out.getvalue() == FOLDED[columns]


def test_a_reader_who_leaves_ends_the_rows_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """`bench regressions | head` ends as it would without: the rows after are not even asked for."""
    end, begin = os.pipe()
    os.close(end)
    asked = iter(range(1_000_000))
    with os.fdopen(begin, "w", encoding="utf-8") as out:
        monkeypatch.setattr("sys.stdout", out)
        write_rows(["x"], ((value,) for value in asked), "csv")
        write_rows(["x"], [(1,)], "table")

    assert next(asked) < 100_000


def test_a_table_of_nothing_is_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    """No rows are no error."""
    write_rows(["a", "bc"], [], "table")
    write_rows(["a", "bc"], [], "json")

    assert capsys.readouterr().out == "a  bc\n─  ──\n[]\n"


def test_rows_are_written_as_they_come(tmp_path: Path) -> None:
    """The first row is out before the second is asked for."""
    file = tmp_path / "rows.jsonl"
    seen = []

    def rows() -> Any:
        for value in range(20_000):
            seen.append(file.stat().st_size)
            yield (value,)

    write_rows(["x"], rows(), "jsonl", file)

    assert seen[-1] > 0


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    """The error names the file and the reason."""
    for fmt in FORMATS:
        with pytest.raises(BenchError, match="No such file"):
            write_rows(["x"], [(1,)], fmt, tmp_path / "missing" / "out")


def test_nested_and_odd_values_become_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Lists and structs stay nested; decimals are numbers, bytes and durations text."""
    row = (
        [1, None, float("nan")],
        {"k": decimal.Decimal("1.5")},
        decimal.Decimal("3"),
        b"\x00a",
        datetime.timedelta(1),
    )
    write_rows(list("abcde"), [row], "jsonl")

    expected = {"a": [1, None, None], "b": {"k": 1.5}, "c": 3, "d": "\\x00\\x61", "e": "1 day, 0:00:00"}
    assert json.loads(capsys.readouterr().out) == expected


@given(st.text())
def test_escaped_text_cannot_steer_a_terminal(text: str) -> None:
    """Whatever the text, what is printed is printable and one line."""
    assert escape(text).isprintable()


@pytest.mark.parametrize(
    ("encoding", "written"),
    [
        ("ascii", "1.2 us +-3 %...\n\\u6a21\n"),
        ("latin-1", "1.2 µs ±3 %...\n\\u6a21\n"),
        ("utf-8", "1.2 µs ±3 %…\n模\n"),
    ],
)
def test_an_output_that_lacks_a_character_gets_the_nearest(
    monkeypatch: pytest.MonkeyPatch, encoding: str, written: str
) -> None:
    """A table is legible over any connection; only letters without a near one become escapes."""
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr("sys.stdout", out)
    write_rows(["a"], [("1.2 µs ±3 %…",), ("模",)], "table")
    out.seek(0)
    rows = out.buffer.read().decode(encoding).split("\n")[2:]
    assert [row.rstrip() for row in rows] == written.split("\n")
