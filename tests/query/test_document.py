"""Documents: values as people read them, Markdown that hostile names cannot break, and comments that fit."""

import datetime
import math

import pytest
from bench.query.document import Document, Section, Table, TableColumn, markdown_text
from hypothesis import given
from hypothesis import strategies as st


def document(*sections: Section, **fields: object) -> Document:
    return Document(**{"title": "t", "verdict": "v", "good": True, "sections": sections, **fields})  # type: ignore[arg-type]


def listing(rows: int, key: str = "list", **fields: object) -> Section:
    """A section with a table of so many rows."""
    table = Table([TableColumn("name"), TableColumn("n", "count")], [[f"case {i}", i] for i in range(rows)])
    return Section(**{"key": key, "title": key, "tables": [table], **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        ("text", "a\x1b[31m", "a\\x1b[31m"),
        ("number", 0.123456789, "0.123457"),
        ("count", 1234567, "1,234,567"),
        ("duration", 1_500_000.0, "1.5 ms"),
        ("seconds", 3.456, "3.46 s"),
        ("ratio", 1.18, "1.18x"),
        ("change", -0.0523, "-5.2 %"),
        ("share", 0.5, "50.0 %"),
        ("bytes", 3 * 2**20, "3 MiB"),
        ("time", datetime.datetime(2026, 1, 2, 3, 4, 5), "2026-01-02 03:04"),
        ("ratio", None, ""),
        ("ratio", math.nan, ""),
        ("ratio", math.inf, "infx"),
    ],
)
def test_a_value_is_shown_by_its_kind(kind: str, value: object, shown: str) -> None:
    """Nothing stands for what is not there."""
    assert shown == TableColumn("c", kind).shown(value)


def test_markdown_holds_verdict_facts_and_sections_in_order() -> None:
    """The whole form, once."""
    found = document(
        Section(key="a", title="Open", sentences=["One sentence."]),
        listing(2, folded=True),
        verdict="1 regressed",
        good=False,
        facts=[("commit", "abc")],
    ).markdown()

    assert found == (
        "## t\n\n❌ **1 regressed**\n\ncommit `abc`\n\n### Open\n\nOne sentence.\n\n"
        "<details>\n<summary>list</summary>\n\n"
        "| name | n |\n|---|--:|\n| case 0 | 0 |\n| case 1 | 1 |\n\n</details>\n"
    )


def test_a_comment_keeps_what_weighs_most() -> None:
    """Rows are cut from the lightest section first, the cut is said with its count, and the rest is whole."""
    light, heavy = listing(500, "light", weight=1), listing(500, "heavy", weight=2)
    whole = document(heavy, light).markdown(None)

    found = document(heavy, light).markdown(len(whole) - 1000)

    assert len(whole) - 1100 < len(found) <= len(whole) - 1000
    assert found.count("_and ") == 1
    assert "| case 499 | 499 |" in found.partition("### light")[0]


def test_a_full_comment_keeps_the_first_rows_of_every_table() -> None:
    """One table of thousands of rows does not cut the others to nothing."""
    found = document(listing(9000, "heavy", weight=2), listing(400, "light", weight=1)).markdown(20_000)
    heavy, light = found.split("### light")

    assert len(found) <= 20_000
    assert "| case 9 | 9 |" in light and "| case 10 | 10 |" not in light
    assert "| case 500 | 500 |" in heavy and "more_" in heavy


@given(st.integers(0, 400), st.integers(0, 400), st.integers(20, 20_000))
def test_no_comment_is_longer_than_its_limit(first: int, second: int, limit: int) -> None:
    """However little room there is."""
    assert len(document(listing(first), listing(second, "b", weight=1)).markdown(limit)) <= limit


@given(st.text(max_size=40))
def test_a_name_is_no_markup(name: str) -> None:
    """No tag, no fence, no new line, no mention: nothing of a name is more than text, and a table keeps its columns."""
    text = markdown_text(name)
    table = document(
        Section(key="k", title="k", tables=[Table([TableColumn("a"), TableColumn("b")], [[name, name]])])
    ).markdown()

    assert "\n" not in text
    assert not any(f"\\{c}" not in text and c in text for c in "`*_[]|#~")
    assert "<" not in text
    assert "@" not in text.replace("@\u200b", "")
    assert table.count("\n") == document(listing(1)).markdown().count("\n")


def test_columns_in_which_nothing_stands_are_left_out() -> None:
    """A column of NULLs says nothing; zeros and empty texts stand."""
    table = Table([TableColumn("a"), TableColumn("b"), TableColumn("c", "count")], [["", None, 0], [None, None, 1]])

    assert [column.name for column in table.without_empty().columns] == ["a", "c"]
