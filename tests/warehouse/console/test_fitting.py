"""Tables that fit: what goes where there is no room, and what never does."""

from bench.warehouse.console.fitting import fit, without_shared
from bench.warehouse.console.tables import cell_text, width
from hypothesis import given
from hypothesis import strategies as st

COLUMNS = ["model", "difference", "ratio", "verdict", "why"]
ROW = ["bert", "−1.2 ms", "1.10x (95 % 1.05–1.15)", "FASTER", "q = 0.01; noise of a run 1.4 %"]


def test_a_table_that_fits_keeps_everything() -> None:
    """At its own width nothing is missing."""
    assert fit(COLUMNS, [ROW], ["difference"], "why", 100) == ((COLUMNS, [ROW]), [])


def test_spare_columns_go_first_and_the_last_one_is_shortened() -> None:
    """The interval and the verdict stay whole."""
    (columns, [row]), hidden = fit(COLUMNS, [ROW], ["difference"], "why", 60)

    assert columns == ["model", "ratio", "verdict", "why"]
    assert row == ["bert", "1.10x (95 % 1.05–1.15)", "FASTER", "q = 0.01 …"]
    assert hidden == ["difference", "the end of why"]


def test_a_last_column_without_room_goes() -> None:
    """A few letters of a reason say nothing."""
    (columns, _), hidden = fit(COLUMNS, [ROW], ["difference"], "why", 55)

    assert (columns, hidden) == (["model", "ratio", "verdict"], ["difference", "why"])


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
    """Of the columns named; of a single row nothing is shared."""
    rows = [["A", "cpu", 1], ["B", "cpu", 1]]

    assert without_shared(["config", "device", "n"], rows, ["config", "device"]) == (
        (["config", "n"], [["A", 1], ["B", 1]]),
        ["device cpu"],
    )
    assert without_shared(["config"], rows[:1], ["config"]) == ((["config"], rows[:1]), [])
