"""The whole way, as a user goes it: files in, published numbers out."""

import csv
import json
from pathlib import Path

import pytest
from bench.cli import cli
from click.testing import CliRunner

PUBLISHED = {
    "geomean.csv": "SELECT backend, suite, printf('%.2fx', dashboard_speedup) AS cell FROM geomean_speedups()",
    "passrate.csv": "SELECT backend, suite, rate AS cell FROM pass_rates",
    "comp_time.csv": "SELECT backend, suite, printf('%.2f', mean_seconds) AS cell FROM compile_times",
    "memory.csv": "SELECT backend, suite, printf('%.2fx', mean_ratio) AS cell FROM memory_compression",
}


def ask(store: Path, query: str) -> list[dict[str, object]]:
    """The rows of a query, through the command line."""
    done = CliRunner().invoke(
        cli, ["sql", query, "--format", "json", "--store", str(store)], catch_exceptions=False, standalone_mode=False
    )
    rows: list[dict[str, object]] = json.loads(done.stdout)
    return rows


@pytest.fixture(scope="module")
def dashboard(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """One day of torch.compile results, and a store that ingested it."""
    (day,) = (shared_data / "dynamo_dashboard").glob("day_*")
    store = tmp_path_factory.mktemp("dashboard") / "store"
    CliRunner().invoke(cli, ["ingest", str(day), "--store", str(store)], catch_exceptions=False, standalone_mode=False)
    return day, store


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_cell_comes_out_of_the_views(name: str, dashboard: tuple[Path, Path]) -> None:
    """`bench ingest` and a SELECT give the dashboard of that day, cell by cell."""
    day, store = dashboard
    with (day / name).open() as file:
        published = {
            (row["Compiler"], suite): row[suite]
            for row in csv.DictReader(file)
            for suite in ("torchbench", "huggingface", "timm_models")
        }

    assert {(row["backend"], row["suite"]): row["cell"] for row in ask(store, PUBLISHED[name])} == published


def test_every_line_of_the_dashboard_is_accounted_for(dashboard: tuple[Path, Path]) -> None:
    """Verification finds as many events and rejects as lines, file by file."""
    _, store = dashboard
    done = CliRunner().invoke(cli, ["verify", "--store", str(store)], catch_exceptions=False, standalone_mode=False)

    assert "all is well" in done.stdout
