"""torch.compile results of any age: archives of many days, layouts of 2022, tables that say others' results again."""

import gzip
from pathlib import Path

import pytest
from bench.warehouse.events import CaseRecord

from ...exhaustive import first_of
from ..conftest import Load, Rows
from .reading import lay, read, recognised

HEAD = "dev,name,batch_size,speedup\n"
ACCURACY = "dev,name,batch_size,accuracy\ncuda,a,4,pass\n"


def archive(folder: Path, days: int, first: int = 0) -> None:
    """Day folders over new year, two files each: accuracy is the same every day."""
    for day in range(first, first + days):
        name = f"day_{day + 365:03}_31_12_22" if not day else f"day_{day:03}_{day:02}_01_23"
        place = f"{name}_performance_amp_{100 + day}/inductor_torchbench_amp_training_cuda"
        lay(folder, {
            f"{place}_performance.csv": f"{HEAD}cuda,a,4,1.{day + 1:02}\ncuda,b,0,0.0000\n", f"{place}_accuracy.csv": ACCURACY,
        })  # fmt: skip


def test_an_archive_is_a_run_each_day(tmp_path: Path, load: Load, rows: Rows) -> None:
    """In one command, of one config, each at its time: the history is in order of days, not of folders."""
    archive(tmp_path / "archive", 12)
    (tmp_path / "archive" / "lookup.csv").write_text("001,performance,amp,day_001\n002,performance,amp,day_002\n")
    report = load(f"main:{tmp_path}/archive")

    assert sum(line.loaded for line in report.lines) == 12 * 3
    assert rows(
        "SELECT config, count(*), min(started_at)::DATE::VARCHAR, max(started_at)::DATE::VARCHAR FROM runs GROUP BY 1"
    ) == [("main", 12, "2022-12-31", "2023-01-11")]
    assert rows("SELECT DISTINCT count(*) FROM source_files GROUP BY run_id") == [(2,)]
    points = rows("SELECT value FROM series WHERE metric = 'speedup' ORDER BY position")
    assert points == [(1 + (day + 1) / 100,) for day in range(12)]
    assert rows("SELECT count(*) FROM history() WHERE speedup > 1") == [(10,)]
    assert any("lookup.csv is an index of 2 reports, 2 of which are not here" in note for note in report.notes)


@pytest.mark.exhaustive
def test_an_archive_that_goes_on(tmp_path: Path, load: Load, rows: Rows) -> None:
    """The same command loads the days that came since; a day whose accuracy is that of another has it, too."""
    archive(tmp_path / "archive", 2)
    load(f"main:{tmp_path}/archive")
    archive(tmp_path / "archive", 2, first=2)

    report = load(f"main:{tmp_path}/archive")
    again = load(f"main:{tmp_path}/archive")

    assert [sum(getattr(line, what) for line in report.lines) for what in ("loaded", "known")] == [6, 6]
    assert [sum(getattr(line, what) for line in again.lines) for what in ("loaded", "known")] == [0, 12]
    assert rows("SELECT count(*) FROM runs") == [(4,)]
    assert rows("SELECT count(*), count(DISTINCT run_id) FROM case_outcomes WHERE kind = 'accuracy'") == [(4, 4)]


@pytest.mark.parametrize(
    ("folder", "day"),
    first_of(
        1,
        [
            ("day_102_12_04_23_performance_amp_274", "2023-04-12"),
            ("08_05_22_Performance_19942", "2022-08-05"),
            ("day_366_31_02_23_performance_amp_1", None),
            ("results", None),
        ],
    ),
)
def test_a_folder_says_its_day(tmp_path: Path, load: Load, rows: Rows, folder: str, day: str | None) -> None:
    """Given alone, too; archives of 2022 write the month first."""
    lay(tmp_path / folder, {"inductor_torchbench_float32_training_cuda.csv": f"{HEAD}cuda,a,4,1.5\n"})
    load(tmp_path / folder)

    assert rows("SELECT started_at::DATE::VARCHAR FROM runs") == [(day,)]


def test_the_layout_of_2022() -> None:
    """No kind in the name, and nothing but a speedup."""
    found = read("torch-compile", f"{HEAD}cuda,a,4,1.1702\n", "ts_nvfuser_huggingface_float32_training_cuda.csv")

    (case,) = found.of(CaseRecord)
    assert (case.backend, case.suite, case.dtype, case.mode) == ("ts_nvfuser", "huggingface", "float32", "training")
    assert found.metrics() == {"speedup": (1.1702, "ratio")}


def test_rows_from_before_the_absolute_latency() -> None:
    """Six columns without a header: what follows the speedup is the time of compilation."""
    found = read("torch-compile", "cuda,a,4,1.5,30.25,0.9\n", "inductor_torchbench_amp_training_cuda_performance.csv")

    assert found.metrics() == {
        "speedup": (1.5, "ratio"), "compile_latency": (30.25e9, "ns"), "compression_ratio": (0.9, "ratio"),
    }  # fmt: skip


def test_coverage() -> None:
    """Counts of what was captured; a short row is a failure; nothing captured is none."""
    text = (
        "dev,name,batch_size,graphs,graph_calls,captured_ops,total_ops,pct_ops,pct_time,start_latency\n"
        "cuda,maml,1,23,23,751,1196,0.6279,0.5521,9.5\ncuda,dlrm,0,0.0000\ncuda,none,1,0,0,0,5,0.0,0.0,1.0\n"
    )
    found = read("torch-compile", text, "dynamo_eager_torchbench_float32_coverage_cuda.csv")

    assert [status for status, _ in found.outcomes()] == ["ok", "fail_to_run", "ok"]
    assert found.metrics()["captured_ops_share"] == (0.0, "ratio")
    assert found.metrics()["start_latency"] == (1e9, "ns")
    assert {case.backend for case in found.of(CaseRecord)} == {"dynamo_eager"}


def test_expected_performance() -> None:
    """The name says compiler and suite."""
    found = read("torch-compile", f"{HEAD}cuda,a,4,1.5\n", "expected_ci_perf_inductor_torchbench.csv")

    assert [(case.backend, case.suite) for case in found.of(CaseRecord)] == [("inductor", "torchbench")]


@pytest.mark.parametrize(
    ("name", "header"),
    first_of(
        1,
        [
            ("huggingface_float32_training_cuda.csv", "dev,name,batch_size,ts_nvfuser,aot_nvfuser\ncuda,a,4,1.1,1.2\n"),
            ("sorted_timm_models_float32_coverage_cuda_graphs.csv", "dev,suite,name,graphs\ncuda,torchbench,a,4\n"),
        ],
    ),
)
def test_tables_of_others_results_are_left_out(tmp_path: Path, load: Load, name: str, header: str) -> None:
    """They would count twice."""
    lay(tmp_path / "day", {"eager_torchbench_float32_training_cuda.csv": f"{HEAD}cuda,a,4,1.5\n", name: header})

    report = load(tmp_path / "day")

    assert [line.path.name for line in report.lines] == ["eager_torchbench_float32_training_cuda.csv"]
    assert any(name in note and note.endswith("left out") for note in report.notes)


def test_a_packed_file(tmp_path: Path) -> None:
    """Its name says the axes all the same; one that is cut short is a reject."""
    name = "inductor_torchbench_float32_training_cuda_performance.csv.gz"
    packed = gzip.compress(f"{HEAD}cuda,a,4,1.5\n".encode() + b"#" * 5000)
    assert read("torch-compile", packed, name).of(CaseRecord)[0].backend == "inductor"

    lay(tmp_path, {name: packed[:-12]})
    assert recognised(tmp_path / name) == ["torch-compile"]
    assert read("torch-compile", packed[:-12], name).rejects()[0][1].startswith("cannot be unpacked")
