"""The tables that the torch.compile dashboard published come out of the views, cell by cell."""

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.warehouse.events import Event

from ..builders import Builder, case, metric, outcome, run

BACKENDS = ("inductor_no_cudagraphs", "aot_eager", "inductor", "eager")  # longest first: names hold underscores
METRICS = {  # column -> metric, unit, factor to it
    "speedup": ("speedup", "ratio", 1.0),
    "abs_latency": ("absolute_latency", "ns", 1e6),
    "compilation_latency": ("compile_latency", "ns", 1e9),
    "compression_ratio": ("compression_ratio", "ratio", 1.0),
}
FOLDER = "day_001_01_01_23_performance_amp_179"


def published(folder: Path, name: str) -> dict[tuple[str, str], str]:
    """A published summary: (backend, suite) -> its text."""
    with (folder / f"{name}.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    return {(row[1], suite): text for row in rows for suite, text in zip(header[2:], row[2:], strict=True)}


def events(folder: Path) -> Iterator[Event]:
    """What an import of the folder emits."""
    yield run("day", source="torch-compile")
    for file in sorted(folder.glob("*_cuda_*.csv")):
        head, _, kind = file.stem.partition("_amp_training_cuda_")
        backend = next(name for name in BACKENDS if head.startswith(f"{name}_"))
        axes = {"suite": head.removeprefix(f"{backend}_"), "mode": "training", "device": "cuda", "dtype": "amp"}
        with file.open(newline="") as lines:
            rows = list(csv.DictReader(lines))
        for row in rows if kind in ("performance", "accuracy") else ():
            it = case(
                row["name"], run="day", batch_size=int(row["batch_size"]), backend=backend, source_id="file", **axes
            )
            yield it
            if kind == "accuracy":
                yield outcome(it, "fail_to_run" if row["accuracy"] == "0.0000" else row["accuracy"], kind="accuracy")
                continue
            yield outcome(it, "ok" if float(row["speedup"]) > 0 else "fail_to_run")
            for column, (name, unit, factor) in METRICS.items():
                if row[column] and float(row["speedup"]) > 0:
                    yield metric(it, name, float(row[column]) * factor, unit=unit)


@pytest.fixture(scope="module")
def dashboard(shared_data: Path) -> tuple[Builder, Path]:
    """The day's results in a warehouse, and its folder."""
    folder = shared_data / "dynamo_dashboard" / FOLDER
    return Builder().add(*events(folder)), folder


@pytest.mark.parametrize(
    ("name", "view", "text"),
    [
        ("geomean", "geomean_speedups()", "format('{:.2f}x', dashboard_speedup)"),
        ("passrate", "pass_rates", "rate"),
        ("comp_time", "compile_times", "format('{:.2f}', mean_seconds)"),
        ("memory", "memory_compression", "format('{:.2f}x', mean_ratio)"),
    ],
)
def test_a_published_table_is_reproduced(dashboard: tuple[Builder, Path], name: str, view: str, text: str) -> None:
    """Every backend and suite, to the digit printed."""
    warehouse, folder = dashboard
    rows = warehouse.rows(f"SELECT backend, suite, {text} FROM {view}")

    assert {(backend, suite): value for backend, suite, value in rows} == published(folder, name)


def test_matched_geomeans_cover_the_same_models(dashboard: tuple[Builder, Path]) -> None:
    """By default every backend of a suite is averaged over the same number of models, and none is lost sight of."""
    warehouse, _ = dashboard
    rows = warehouse.rows("SELECT suite, n, n_total, len(excluded) FROM geomean_speedups(matched := true)")

    assert len({(suite, n) for suite, n, _, _ in rows}) == 3
    assert all(n + excluded == total for _, n, total, excluded in rows)
