"""Runs that are named by a path."""

from pathlib import Path

import pytest
from bench.cli import cli
from bench.ingest.plan import SourceOptions
from bench.ingest.run import ingest
from bench.query.resolve import resolve_run
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError, UnknownName
from bench.warehouse.store import Store
from click.testing import CliRunner

from ..exhaustive import exhaustive

HYPERFINE = '{"results": [{"command": "sleep", "mean": 1.5, "median": 1.5, "min": 1.5, "max": 1.5, "times": [1.5]}]}'


def test_a_run_is_named_by_the_folder_or_file_it_was_loaded_from(tmp_path: Path) -> None:
    """Wherever a run is named; a path of which nothing was loaded says how to load it, and no path is no run."""
    folder, other = tmp_path / "results", tmp_path / "other"
    for place, text in ((folder, HYPERFINE), (other, HYPERFINE.replace("1.5", "2.5"))):
        place.mkdir()
        (place / "times.json").write_text(text)
    store = Store(tmp_path / "store")
    ingest(store, [str(folder)], sources=SourceOptions(config="main"))

    with Warehouse.open(store) as warehouse:
        assert (
            resolve_run(warehouse, str(folder))
            == resolve_run(warehouse, str(folder / "times.json"))
            == resolve_run(warehouse, "main")
        )
        with pytest.raises(BenchError, match="bench ingest"):
            resolve_run(warehouse, str(other))
        with pytest.raises(BenchError, match="nothing of /dev/null is in"):
            resolve_run(warehouse, "/dev/null")
        with pytest.raises(UnknownName):
            resolve_run(warehouse, str(tmp_path / "nothing"))


@exhaustive
def test_two_folders_that_share_a_file_are_two_sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has the file: nights of a report, of which one part is byte for byte that of the night before."""
    monkeypatch.setenv("BENCH_STORE", str(tmp_path / "store"))
    sides = [tmp_path / name for name in ("monday", "tuesday")]
    for folder, took in zip(sides, ("1.5", "2.5"), strict=True):
        folder.mkdir()
        (folder / "times.json").write_text(HYPERFINE.replace("1.5", took))
        (folder / "more.json").write_text(HYPERFINE.replace("sleep", "true"))
    done = CliRunner().invoke(cli, ["compare", *map(str, sides), "--all"], standalone_mode=False)

    assert done.exception is None, done.exception
    assert "sleep" in done.stdout and "true" in done.stdout


@exhaustive
@pytest.mark.parametrize("order", [("monday", "tuesday"), pytest.param(("tuesday", "monday"), marks=exhaustive)])
def test_a_folder_means_its_own_run_though_another_shares_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: tuple[str, str]
) -> None:
    """Nights of one config whose accuracy is byte for byte the same: each path shows its own times, whichever came last."""
    store = Store(tmp_path / "store")
    monkeypatch.setenv("BENCH_STORE", str(store.root))
    took = {"monday": "11.5", "tuesday": "22.5"}
    for night in order:
        folder = tmp_path / night
        folder.mkdir()
        (folder / "inductor_torchbench_amp_training_cuda_accuracy.csv").write_text(
            "dev,name,batch_size,accuracy\ncuda,net,4,pass\n"
        )
        (folder / "inductor_torchbench_amp_training_cuda_performance.csv").write_text(
            f"dev,name,batch_size,speedup,abs_latency\ncuda,net,16,2.0,{took[night]}\n"
        )
        ingest(store, [str(folder)], sources=SourceOptions(config="nightly"))

    for night, milliseconds in took.items():
        done = CliRunner().invoke(cli, ["show", str(tmp_path / night)], standalone_mode=False)
        assert f"{milliseconds} ms" in done.stdout, done.stdout
    done = CliRunner().invoke(cli, ["compare", *(str(tmp_path / night) for night in took)], standalone_mode=False)
    assert "1.96x slower" in done.stdout, done.output
