"""Tables that fit: what goes where there is no room, and what never does."""

import unicodedata
from typing import Any

import click
import pytest
from bench.warehouse.console.fitting import fit, without_shared, write_fitted
from bench.warehouse.console.options import Command, format_option
from bench.warehouse.console.parameters import ParametersText
from bench.warehouse.console.tables import cell_text, width
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

COLUMNS = ["model", "difference", "ratio", "verdict", "why"]
ROW = ["bert", "−1.2 ms", "1.10x (95 % 1.05–1.15)", "FASTER", "q = 0.01; noise of a run 1.4 %"]


def test_of_parameters_those_are_said_once_that_all_rows_have() -> None:
    """A row that lacks one keeps it from being shared; a column of which nothing is left goes."""
    given = [{"tokens": 512, "engine": "v1"}, {"tokens": 64, "engine": "v1"}]

    def folded(*rows: dict[str, Any]) -> Any:
        return without_shared(["name", "parameters"], [["a", ParametersText.of(row)] for row in rows], ["parameters"])

    assert folded(*given) == ((["name", "parameters"], [["a", "tokens:512"], ["a", "tokens:64"]]), ["engine v1"])
    assert folded(given[0], given[0]) == ((["name"], [["a"], ["a"]]), ["tokens 512", "engine v1"])
    assert folded(given[0], {})[1] == []


def test_a_table_that_fits_keeps_everything() -> None:
    """At its own width nothing is missing."""
    assert fit(COLUMNS, [ROW], ["difference"], "why", 100) == ((COLUMNS, [ROW]), [])


def test_spare_columns_go_first_and_the_last_one_is_shortened() -> None:
    """The interval and the verdict stay whole."""
    (columns, [row]), hidden = fit(COLUMNS, [ROW], ["difference"], "why", 60)

    assert columns == ["model", "ratio", "verdict", "why"]
    assert row == ["bert", "1.10x (95 % 1.05–1.15)", "FASTER", "q = 0.01; noise of …"]
    assert hidden == ["difference", "the end of why"]


def test_a_last_column_without_room_goes() -> None:
    """A few letters of a reason say nothing."""
    (columns, _), hidden = fit(COLUMNS, [ROW], ["difference"], "why", 55)

    assert (columns, hidden) == (["model", "ratio", "verdict"], ["difference", "why"])


def test_a_column_without_any_value_makes_room_for_the_others() -> None:
    """It is not missed, so it is not told; where there is room it stays."""
    row = ["bert", "−1.2 ms", "1.10x (95 % 1.05–1.15)", "FASTER", ""]
    kept = fit(COLUMNS, [row], ["difference"], None, 50)

    assert kept == ((COLUMNS[:-1], [row[:-1]]), [])
    assert fit(COLUMNS, [row], ["difference"], None, 60) == ((COLUMNS, [row]), [])


def test_what_is_not_spare_stays() -> None:
    """In any room: a terminal folds such rows."""
    (columns, _), _ = fit(COLUMNS, [ROW], ["difference"], "why", 5)

    assert columns == ["model", "ratio", "verdict"]


@given(
    st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30), st.text(max_size=60)), min_size=1),
    st.integers(10, 120),
)
def test_a_fitted_table_is_no_wider_than_the_room_or_has_nothing_left_to_give(
    rows: list[tuple[str, str, str]], room: int
) -> None:
    """Whatever the texts: East Asian, combining, empty."""
    (columns, fitted), _ = fit(["a", "b", "c"], rows, ["b"], "c", room)

    widths = [max(width(cell_text(value)) for value in cells) for cells in zip(columns, *fitted, strict=True)]
    assert sum(widths) + 2 * (len(widths) - 1) <= room or columns == ["a"]


def test_what_all_rows_share_is_said_once() -> None:
    """Of the columns named, nothing of those without a value; of a single row nothing is shared."""
    rows = [["A", "cpu", None, 1], ["B", "cpu", None, 1]]

    assert without_shared(["config", "device", "size", "n"], rows, ["config", "device", "size"]) == (
        (["config", "n"], [["A", 1], ["B", 1]]),
        ["device cpu"],
    )
    assert without_shared(["config"], rows[:1], ["config"]) == ((["config"], rows[:1]), [])


LONG = ["bert", "−1.2 ms", "1.10x (95 % 1.05–1.15)", "FASTER", "q = 0.01; " + "noise of a run 1.4 %; " * 5 + "the end"]


def test_nothing_is_left_out_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a pipe or a file of CI the reason stands whole, on one line below its row, and no column goes."""
    monkeypatch.delenv("COLUMNS", raising=False)
    write_fitted(COLUMNS, [LONG, ROW], "table", spare=("difference",), reason="why")
    out, err = capsys.readouterr()

    assert f"\n  {LONG[-1]}\n" in out and f"\n  {ROW[-1]}\n" in out
    assert "−1.2 ms" in out and "…" not in out and err == ""


def test_a_reason_stands_whole_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On lines of its own, as wide as the terminal."""
    monkeypatch.setenv("COLUMNS", "60")
    write_fitted(COLUMNS, [LONG], "table", spare=("difference",), reason="why")
    lines = capsys.readouterr().out.splitlines()

    assert max(map(len, lines)) <= 60
    assert " ".join(" ".join(lines[3:]).split()) == LONG[-1]


def test_a_reason_with_room_stays_in_its_row(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a column."""
    monkeypatch.setenv("COLUMNS", "100")
    write_fitted(COLUMNS, [ROW], "table", reason="why")

    assert len(capsys.readouterr().out.splitlines()) == 3


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-o", "rows.csv"], "csv"), (["-o", "ROWS.JSON"], "json"), (["-o", "rows.parquet"], "parquet"),
        (["-o", "rows.md"], "markdown"), (["-o", "rows"], "table"), (["-o", "rows.csv", "--format", "json"], "json"),
        (["-o", "rows.csv", "--format", "table"], "table"), ([], "table"), (["-o", "rows.2"], "table"),
        (["-o", "rows.html", "--format", "csv"], "csv"),
    ],
)  # fmt: skip
def test_the_ending_of_the_output_chooses_the_format(words: list[str], expected: str) -> None:
    """Unless `--format` does."""

    @click.command(cls=Command)
    @click.option("-o", "--output")
    @format_option
    def command(output: str | None, fmt: str) -> None:
        click.echo(fmt)

    assert CliRunner().invoke(command, words).output.strip() == expected
    refused = CliRunner().invoke(command, ["-o", "rows.HTML"])
    assert refused.output == "" and "Name it .csv, " in str(refused.exception)


def test_every_character_takes_the_columns_that_unicode_says() -> None:
    """Also where no table is asked, because all characters of a text are narrow."""
    said = {
        chr(code): 0
        if unicodedata.combining(chr(code))
        else 2
        if unicodedata.east_asian_width(chr(code)) in "WF"
        else 1
        for code in range(0x20, 0x30000)
    }

    assert {c for c, columns in said.items() if width(c) != columns} == set()
    assert width("1.24x (95 % 1.19–1.30)") == 22 and width("µs 漢字…") == 8


def test_what_all_rows_share_is_told_on_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A parameter of a million letters filled the screen."""
    write_fitted(["model", "pad"], [["a", "x" * 10_000], ["b", "x" * 10_000]], "table", shared=["pad"])

    said = capsys.readouterr().err
    assert said.startswith("all: pad xxx") and len(said) < 120
