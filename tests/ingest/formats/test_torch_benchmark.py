"""torch.utils.benchmark: tables of Compare, measurements as JSON, pickles of them; and TorchDynamo's wide CSVs of 2022."""

import json
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from bench.ingest.readers.files import read_head
from bench.ingest.readers.unrecognised import describe
from bench.ingest.registry import formats
from bench.warehouse.events import CaseRecord, Metric, Timing

from .reading import lay, read, recognised
from .samples import TORCH_TABLES

AXES = {"sub_label": "(64, 64)", "num_threads": 1, "env": "e1"}


def test_a_cell_of_a_table_is_a_median() -> None:
    """Titles and names may hold bars; colours are none of the text; an empty cell was not measured."""
    got = read("torch-benchmark", TORCH_TABLES, name="compare.txt")

    cases = [(case.name, json.loads(case.parameters or "")) for case in got.of(CaseRecord)]
    assert cases[:2] == [("Ops | odd", AXES | {"description": "x+x"}), ("Ops | odd", AXES | {"description": "x@x"})]
    assert cases[2] == (
        "Ops | odd",
        {"sub_label": "(256, 256)", "num_threads": 1, "env": "env two", "description": "x+x"},
    )
    assert cases[-1] == ("softmax", {"sub_label": "dense", "num_threads": 1, "description": "B=8"})
    medians = [metric.value for metric in got.of(Metric) if metric.statistic == "median"]
    assert medians == [1500.0, 7100.0, 6400.0, 1500.0, 15953200.0, 7590200.0, 11977500.0, 250000.0]
    assert got.metrics()["relative_iqr"] == (33.0, "%") and got.metrics()["latency_range"] == (125000.0, "ns")
    assert got.accounting == (8, 8, 0) and got.tally.notes == ["compare.txt: 1 line is not a result"]


def test_a_cell_that_is_no_time_is_a_reject() -> None:
    """So is a row of another length."""
    text = TORCH_TABLES.replace("6.4  |", "fast |").replace("|     1.5  |   15953.2", "   15953.2")
    got = read("torch-benchmark", text, name="compare.txt")

    assert [reason for _, reason in got.rejects()] == ["'fast' is not a time", "0 cells under a header of 2"]
    assert got.accounting == (7, 5, 2)


def test_measurements_in_json_are_samples() -> None:
    """A raw time is that of all runs together."""
    measurement = {
        "stmt": "x + x", "setup": "pass", "global_setup": "", "label": "add", "sub_label": "n=4", "description": None,
        "env": None, "num_threads": 2, "number_per_run": 100, "raw_times": [0.5, 0.25],
    }  # fmt: skip
    got = read("torch-benchmark", [measurement], name="times.json")

    assert got.samples() == [(500_000_000, 100), (250_000_000, 100)]
    (case,) = got.of(CaseRecord)
    assert case.name == "add" and json.loads(case.parameters or "") == {
        "sub_label": "n=4",
        "num_threads": 2,
        "stmt": "x + x",
    }
    assert got.accounting == (1, 1, 0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("torchs", [False, True])
def test_a_pickle_is_refused_with_a_command_that_writes_json(tmp_path: Path, torchs: bool) -> None:
    """The command is typed here, as it is printed, and what it writes is loaded."""
    torch = pytest.importorskip("torch")
    timer = pytest.importorskip("torch.utils.benchmark").Timer("x + 1", globals={"x": 1}, label="add", sub_label="n=1")
    path = tmp_path / "my times.pkl"
    if torchs:
        torch.save([timer.timeit(10)], path)
    else:
        path.write_bytes(pickle.dumps([timer.timeit(10)]))

    said = describe(read_head(path), formats().values())

    assert said.startswith("is a pickle, which can run any code when it is loaded, so it is not read. If you trust")
    command = said.partition("JSON: ")[2].replace("python", sys.executable, 1)
    subprocess.run(command, shell=True, check=True, cwd=tmp_path, timeout=120)
    got = read("torch-benchmark", (tmp_path / "times.json").read_text(), name="times.json")
    assert got.names == ["add"] and [timing.loops for timing in got.of(Timing)] == [10]


def test_no_pickle_is_ever_loaded(tmp_path: Path) -> None:
    """Any other is named as what it is."""

    class Hostile:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return Path.touch, (Path(tmp_path, "ran"),)  # type: ignore[return-value]

    (tmp_path / "p.pkl").write_bytes(pickle.dumps(Hostile()))
    with zipfile.ZipFile(tmp_path / "p.pt", "w") as archive:
        archive.writestr("p/data.pkl", pickle.dumps(Hostile()))

    for name in ("p.pkl", "p.pt"):
        said = describe(read_head(tmp_path / name), formats().values())
        assert (
            said
            == "is a pickle, which can run any code when it is loaded, so it is not read. Write the results as JSON or CSV"
        )
    assert not (tmp_path / "ran").exists()


def test_a_column_is_a_backend() -> None:
    """Its number is the speedup over eager; 0 is what failed, and is no speedup."""
    text = "dev,name,ts,ofi\ncuda,alexnet,1.0241,0.0000\ncpu,dcgan,nan,1.25\n"
    got = read("torch-baselines", text, name="baseline_ts.csv")

    assert [(case.name, case.device, case.backend) for case in got.of(CaseRecord)] == [
        ("alexnet", "cuda", "ts"), ("alexnet", "cuda", "ofi"), ("dcgan", "cpu", "ts"), ("dcgan", "cpu", "ofi"),
    ]  # fmt: skip
    assert [(m.metric, m.value, m.better) for m in got.of(Metric)] == [
        ("speedup", 1.0241, "higher"),
        ("speedup", 1.25, "higher"),
    ]
    assert [reason for status, reason in got.outcomes() if status == "fail_to_run"] == [
        "the column reads 0.0000", "the column reads nan",
    ]  # fmt: skip
    assert got.accounting == (2, 2, 0)


def test_a_dashboards_table_is_read_where_it_is_all_there_is(tmp_path: Path) -> None:
    """Its name says what was measured; beside the compilers' own files it is left out."""
    name = "torchbench_amp_training_cuda_compression_ratio.csv"
    text = "dev,name,batch_size,eager,hidet\ncuda,alexnet,4,0.5,0.75\n"
    got = read("torch-baselines", text, name=name)
    (eager, hidet) = got.of(CaseRecord)
    assert (eager.suite, eager.dtype, eager.mode, eager.batch_size) == ("torchbench", "amp", "training", 4)
    assert hidet.backend == "hidet" and got.metrics()["compression_ratio"] == (0.75, "ratio")

    own = "dev,name,batch_size,speedup\ncuda,alexnet,4,1.5\n"
    lay(tmp_path, {name: text, "hidet_torchbench_amp_training_cuda_performance.csv": own})
    assert recognised(tmp_path / name) == ["torch-compile"]
    assert "side by side" in (formats()["torch-compile"].left_out(read_head(tmp_path / name)) or "")


def test_words_of_a_wide_table_are_outcomes() -> None:
    """As of accuracy."""
    text = "dev,name,batch_size,eager,inductor\ncuda,alexnet,4,pass,fail_accuracy\n"
    got = read("torch-baselines", text, name="torchbench_amp_training_cuda_accuracy.csv")

    assert got.outcomes() == [("pass", None), ("fail_accuracy", None)]
