"""One number has one interval: whichever command, format or chart prints it, it is that of the view."""

import csv
import json
from pathlib import Path
from typing import Any

import bench as library
import pytest
from bench.cli import cli
from bench.warehouse.database import Warehouse
from bench.warehouse.load import load
from bench.warehouse.store import Store
from click.testing import CliRunner


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """One run a side of one case in three processes, the second half as fast."""
    store = Store(tmp_path / ".bench")
    monkeypatch.setenv("BENCH_STORE", str(store.root))
    for config, ns in (("A", 100_000), ("B", 200_000)):
        with library.run(config, store=store, run_id=f"{config}-1", suite="function") as run:
            case = run.case("work", suite="function")
            for block in range(60):
                case.timing(ns + 37 * (block % 7) + 900 * (block % 3), details={"process": block % 3, "block": block})
            case.outcome("ok")
    load(store)
    return store


def said(*arguments: str) -> str:
    """What a command line prints."""
    return CliRunner().invoke(cli, arguments, catch_exceptions=False).stdout


def ends(row: dict[str, Any], *columns: str) -> tuple[float, ...]:
    """Columns of a row of any format."""
    return tuple(float(row[column]) for column in columns or ("low", "high"))


def rows_of(spec: Any) -> list[dict[str, Any]]:
    """The rows of a chart that have an interval, wherever they lie in its specification."""
    if isinstance(spec, dict):
        return (
            [spec] if isinstance(spec.get("low"), float) else [row for part in spec.values() for row in rows_of(part)]
        )
    return [row for part in spec for row in rows_of(part)] if isinstance(spec, list) else []


def test_a_value_has_the_interval_of_cells_everywhere(store: Store) -> None:
    """Processes are counted, not samples: show, explain, the report and SQL."""
    with Warehouse.open(store) as warehouse:
        ((low, high),) = warehouse.rows("SELECT low, high FROM case_results WHERE run_id = 'B-1'")

    (of_cells,) = json.loads(
        said("sql", "SELECT median_low, median_high FROM cells WHERE run_id = 'B-1'", "--format", "json")
    )
    assert ends(of_cells, "median_low", "median_high") == (low, high)
    assert ends(json.loads(said("show", "B", "--format", "json"))[0]) == (low, high)
    (of_csv,) = csv.DictReader(said("show", "B", "--format", "csv").splitlines())
    assert ends(of_csv) == (low, high)
    text = f"{low / 1000:.1f}"
    for door in (("show", "B"), ("explain", "work", "--run", "B"), ("report", "B")):
        assert f"{text}–{high / 1000:.1f} µs" in said(*door).replace(f"{text} µs–", f"{text}–"), door


@pytest.mark.exhaustive
def test_a_change_has_the_interval_of_comparisons_everywhere(store: Store, tmp_path: Path) -> None:
    """It holds what sessions may do: compare in each format, explain, the report, the chart's data and SQL."""
    with Warehouse.open(store) as warehouse:
        ((low, high),) = warehouse.rows("SELECT low, high FROM comparisons(['A-1'], ['B-1']) WHERE metric = 'latency'")

    (of_json,) = json.loads(said("compare", "A", "B", "--format", "json"))
    (of_csv,) = csv.DictReader(said("compare", "A", "B", "--format", "csv").splitlines())
    said("viz", "movers", "A", "B", "-o", str(tmp_path / "movers.json"))
    (drawn,) = rows_of(json.loads((tmp_path / "movers.json").read_text()))
    assert ends(of_json) == ends(of_csv) == ends(drawn) == (low, high)
    text = f"{of_json['candidate_value'] / of_json['base_value']:.2f}x slower (95 % {1 / high:.2f}–{1 / low:.2f})"
    for door in (
        ("compare", "A", "B"), ("compare", "A", "B", "--format", "markdown"), ("explain", "A", "B", "work"), ("report", "A", "B"),
    ):  # fmt: skip
        assert text in said(*door), door
