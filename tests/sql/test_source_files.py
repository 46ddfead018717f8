"""The view of imported files: a file may grow, and may hold many runs."""

from typing import Any

from ..builders import source


def rows(warehouse: Any) -> list[tuple[Any, ...]]:
    """What is said of each file."""
    found: list[tuple[Any, ...]] = warehouse.rows("SELECT source_id, runs, parts, lines FROM source_files ORDER BY 1")
    return found


def test_a_file_of_many_runs_was_loaded_once(warehouse: Any) -> None:
    """Each run has a row in `sources`, and its share of the lines."""
    warehouse.add(*(source("f", 5, f"run{n}", part=n, source_id="f", end_byte=100) for n in range(3)))

    assert rows(warehouse) == [("f", 3, 1, 15)]


def test_a_file_that_grew_was_loaded_as_often(warehouse: Any) -> None:
    """Each time to a further end."""
    warehouse.add(*(source("f", 5, "run", part=n, source_id="f", end_byte=100 * n) for n in (1, 2)))

    assert rows(warehouse) == [("f", 1, 2, 10)]
