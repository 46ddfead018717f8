"""Folders of CSV files as PyTorch's and transformers' benchmarks write them: the same names and columns, and they come back."""

import csv
from pathlib import Path
from typing import Any

import pytest
from bench.ingest.run import ingest
from bench.query.export.folders import FOLDER_TARGETS, _decimals, _word, folder_files
from bench.query.export.runs import Omitted
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError, NothingToShow
from bench.warehouse.events import Environment, Event, Instant
from bench.warehouse.store import Store
from hypothesis import given
from hypothesis import strategies as st

from ... import builders
from ...builders import Builder, case, memory, metric, outcome, timing
from ...exhaustive import exhaustive, first_of
from ..conftest import Bench

PERFORMANCE = """dev,name,batch_size,speedup,abs_latency,compilation_latency,compression_ratio
cuda,BERT_pytorch,16,2.363800,23.757500,40.812800,1.114400
cuda,alexnet,8,1.100000,5.500000,1.000000,0.900000
cuda,gat,0,0.000000,0,0,0
"""
ACCURACY = """dev,name,batch_size,accuracy
cuda,BERT_pytorch,4,pass
cuda,alexnet,4,pass_due_to_skip
cuda,gat,4,fail_accuracy
"""
NAME = "inductor_no_cudagraphs_torchbench_amp_training_cuda"


def warehouse(*events: Event, **facts: Any) -> Builder:
    """A warehouse of one run."""
    return Builder().add(builders.run("run", "main", **{"started_at": Instant(1767225600_000000), **facts}), *events)


def files(target: str, built: Any, run: str = "run") -> tuple[dict[str, str], list[str]]:
    """The files of a run, and what is said to be left out."""
    left = Omitted()
    built.rows("FROM cells")
    return folder_files(built, run, FOLDER_TARGETS[target], left), left.sentences()


def lay(folder: Path, texts: dict[str, str]) -> Path:
    """Write files."""
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def loaded(folder: Path, source: Path) -> Warehouse:
    """The warehouse of a store that has only this folder."""
    store = Store(folder).create()
    ingest(store, [str(source)])
    return Warehouse.open(store)


def test_a_report_of_pytorch_goes_out_as_it_came_in(tmp_path: Path) -> None:
    """The same files, to the byte: names, header, order of columns, six decimals, failed models as rows of 0."""
    texts = {f"{NAME}_performance.csv": PERFORMANCE, f"{NAME}_accuracy.csv": ACCURACY}
    came = loaded(tmp_path / "store", lay(tmp_path / "report", texts))
    ((run,),) = came.rows("SELECT run_id FROM runs")

    assert files("torch-compile-csv", came, run)[0] == texts


@pytest.mark.exhaustive
def test_the_dashboard_of_2023_comes_back_equal(shared_data: Path, tmp_path: Path) -> None:
    """Every speedup, latency, ratio and accuracy of the real report of a day, after a way out and in."""
    came = loaded(tmp_path / "first", shared_data / "dynamo_dashboard" / "day_001_01_01_23_performance_amp_179")
    ((run,),) = came.rows("SELECT run_id FROM runs")
    back = loaded(tmp_path / "second", lay(tmp_path / "out", files("torch-compile-csv", came, run)[0]))
    columns = (
        "suite, name, mode, device, dtype, backend, batch_size, status = 'ok' AS ok, accuracy, speedup, abs_latency, "
        "compilation_latency, compression_ratio"
    )
    query = f"SELECT {columns} FROM dashboard_results ORDER BY ALL"

    first = came.rows(query)
    assert len(first) > 500
    assert back.rows(query) == first


def measured() -> list[Event]:
    """A model measured by bench itself: eager and inductor, on the CPU."""
    axes: dict[str, Any] = {
        "suite": "huggingface-small",
        "mode": "training",
        "device": "cpu",
        "dtype": "float32",
        "batch_size": 4,
    }
    eager, fast = (case("bert", sequence_length=64, backend=backend, **axes) for backend in ("eager", "inductor"))
    found: list[Event] = []
    for it, latency, peak in ((eager, 8_000_000, 400 << 20), (fast, 4_000_000, 500 << 20)):
        found += [it, outcome(it), outcome(it, "pass", kind="accuracy"), timing(it, latency), memory(it, peak)]
    return [*found, metric(fast, "compile_latency", 2.5e9, unit="ns"), metric(fast, "graph_breaks", 3, unit="count")]


def test_what_bench_measured_has_the_dashboards_columns() -> None:
    """Milliseconds, seconds, GB; what was not measured has no column, what has no place is counted."""
    found, left = files("torch-compile-csv", warehouse(*measured()))

    name = "inductor_huggingface-small_float32_training_cpu"
    assert list(csv.DictReader(found[f"{name}_performance.csv"].splitlines())) == [
        {
            "dev": "cpu", "name": "bert", "batch_size": "4", "speedup": "2.000000", "abs_latency": "4.000000",
            "compilation_latency": "2.500000", "compression_ratio": "0.800000", "eager_peak_mem": "41.943040",
            "dynamo_peak_mem": "52.428800", "graph_breaks": "3",
        }
    ]  # fmt: skip
    assert found[f"{name}_accuracy.csv"] == "dev,name,batch_size,accuracy\ncpu,bert,4,pass\n"
    assert found["eager_huggingface-small_float32_training_cpu_accuracy.csv"].endswith("cpu,bert,4,pass\n")
    assert "2 peak memories of a CPU, written times 100 as PyTorch's benchmark does" in left
    assert any("sequence lengths" in sentence for sentence in left)


@exhaustive
def test_what_bench_measured_comes_back(tmp_path: Path) -> None:
    """The factor 100 of a CPU's memories is taken away again by the reader, so nothing is lost but decimals."""
    query = "SELECT speedup, abs_latency, compilation_latency, eager_peak_mem, dynamo_peak_mem, accuracy FROM dashboard_results"
    built = warehouse(*measured())
    back = loaded(tmp_path / "store", lay(tmp_path / "out", files("torch-compile-csv", built)[0]))

    of = f"{query} WHERE backend = 'inductor'"
    assert back.rows(of) == [pytest.approx(row) for row in built.rows(of)]


def test_a_tag_tells_rows_apart_that_no_column_does() -> None:
    """Two lengths of one model and batch are two rows of one name; the benchmark's own column for that is tag."""
    axes: dict[str, Any] = {"suite": "s", "mode": "inference", "device": "cpu", "dtype": "float32", "batch_size": 4}
    cases = [case("bert", backend="inductor", sequence_length=length, **axes) for length in (64, 128)]
    found, _ = files("torch-compile-csv", warehouse(*cases, *(outcome(it, "OOM") for it in cases)))

    rows = list(csv.DictReader(found["inductor_s_float32_inference_cpu_performance.csv"].splitlines()))
    assert [(row["tag"], row["speedup"]) for row in rows] == [
        ("sequence_length=64", "0.000000"),
        ("sequence_length=128", "0.000000"),
    ]


@pytest.mark.exhaustive
def test_transformers_files_come_back(tmp_path: Path) -> None:
    """Time and memory, inference and training, and the machine: every number of the files after a way out and in."""
    texts = {
        "a_inference_time.csv": "model,batch_size,sequence_length,result\nbert,8,32,0.0577\nbert,8,512,N/A\n",
        "a_train_memory.csv": "model,batch_size,sequence_length,result\nbert,8,32,937\n",
        "env.csv": "framework,PyTorch\nframework_version,1.5.0\npython_version,3.7.5\nsystem,Linux\ncpu,x86_64\n"
        "architecture,64bit\ndate,2020-06-24\ntime,09:59:43.187965\nfp16,False\ncpu_ram_mb,15869\n",
    }
    came = loaded(tmp_path / "first", lay(tmp_path / "in", texts))
    ((run,),) = came.rows("SELECT run_id FROM runs")
    out, _ = files("model-csv", came, run)
    back = loaded(tmp_path / "second", lay(tmp_path / "out", out))

    assert out["inference_time_1592992783.csv"].splitlines()[1:] == ["bert,8,32,0.0577", "bert,8,512,N/A"]
    assert out["train_memory_1592992783.csv"].splitlines()[1:] == ["bert,8,32,937.0000"]
    query = "SELECT name, mode, batch_size, sequence_length, status, time_s, memory_mb FROM size_results ORDER BY ALL"
    assert back.rows(query) == came.rows(query)
    machine = "SELECT began_at, cpu, ram_bytes, gpus, os, python, torch FROM run_details"
    assert back.rows(machine) == came.rows(machine)


def test_each_backend_has_a_folder_of_old_files() -> None:
    """They know no backend, so that two of them in one folder would be two samples of one thing."""
    built = warehouse(*measured(), environment_id="e").add(
        Environment(environment_id="e", cpu="EPYC", os="Linux 6.1", python="3.11", torch="2.13", ram_bytes=1 << 30)
    )
    found, _ = files("model-csv", built)

    assert set(found) == {
        f"{backend}_float32_cpu/{name}_1767225600.csv"
        for backend in ("eager", "inductor")
        for name in ("train_time", "train_memory", "env_info")
    }
    assert found["inductor_float32_cpu/train_time_1767225600.csv"].endswith("bert,4,64,0.0040\n")
    assert "cpu_ram_mb,1024\n" in found["eager_float32_cpu/env_info_1767225600.csv"]


@pytest.mark.exhaustive
@given(st.floats(1e-9, 1e9))
def test_four_decimals_never_leave_fewer_than_four_digits(value: float) -> None:
    """An old file has four decimals; a short time has more of them, so that it is not 0."""
    text = _decimals(value)

    assert len(text.partition(".")[2]) >= 4
    assert float(text) == pytest.approx(value, rel=5.001e-4)


@given(st.text())
def test_no_name_leaves_the_folder(name: str) -> None:
    """A backend or suite may be called anything."""
    word = _word(name)

    assert Path(word).name == word
    assert not word.startswith(".")


@pytest.mark.parametrize("target", first_of(1, FOLDER_TARGETS))
def test_the_command_writes_into_a_folder(bench: Bench, tmp_path: Path, target: str) -> None:
    """It is made if it is not there; without one the cure is said, and where there is nothing no folder appears."""
    missing = bench("export", "main", "--as", target)
    assert isinstance(missing.exception, BenchError)
    assert "-o FOLDER" in str(missing.exception)

    done = bench("export", "main", "--as", target, "-o", str(tmp_path / "out"))
    there = (tmp_path / "out").is_dir()
    assert there if done.exception is None else isinstance(done.exception, NothingToShow) and not there
