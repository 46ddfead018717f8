"""CSV formats: model results, and torch.compile reports with all their traps."""

import json
import math
from pathlib import Path

import pytest
from bench.ingest.format import Options
from bench.ingest.run import IngestReport
from bench.warehouse.errors import BenchError
from bench.warehouse.store import Store
from bench.warehouse.upkeep.verify import verify

from ..exhaustive import exhaustive, sampled
from .conftest import Load, Rows

pytestmark = pytest.mark.usefixtures("nothing_derived")

HEADER = "dev,name,batch_size,speedup,abs_latency,compilation_latency,compression_ratio\n"
NAME = "inductor_no_cudagraphs_timm_models_amp_training_cuda_performance.csv"


def write(folder: Path, name: str, text: str) -> Path:
    """A file in a folder of its own."""
    path = folder / "day" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode())
    return path


def accounting(report: IngestReport) -> tuple[int, int, int]:
    """Lines, loaded and rejected over all files."""
    return (
        sum(line.lines for line in report.lines),
        sum(line.loaded for line in report.lines),
        sum(line.rejected for line in report.lines),
    )


def test_seconds_become_nanoseconds(load: Load, rows: Rows, tmp_path: Path) -> None:
    """The file's name says time and inference; carriage returns are no part of a value."""
    path = write(tmp_path, "x_inference_time.csv", "model,batch_size,sequence_length,result\r\nbert,8,32,0.5\r\n")

    assert accounting(load(path)) == (1, 1, 0)
    assert rows("SELECT metric, value, unit, better, original_value, original_unit, line FROM metrics") == [
        ("latency", 5e8, "ns", "lower", "0.5", "s", 2)
    ]
    assert rows("SELECT name, mode, batch_size, sequence_length FROM cases") == [("bert", "inference", 8, 32)]


@exhaustive
def test_megabytes_are_two_to_the_twentieth(load: Load, rows: Rows, tmp_path: Path) -> None:
    """Sizes come with units or without; what is no number is kept as a reject, and blank lines at the end are none."""
    text = (
        "model,batch_size,sequence_length,result\nm,1,1,2\nm,1,2,5.5MB\nm,1,3,292.000KB\nm,1,4,1 GB\n"
        "m,1,5,N/A\nm,1,6,None\nm,x,1,1\nm,1\n\n\n"
    )
    path = write(tmp_path, "k80_memory.csv", text)

    assert accounting(load(path)) == (8, 6, 2)
    assert rows("SELECT value, original_unit FROM metrics WHERE metric = 'memory' ORDER BY line") == [
        (2 * 2**20, "MB"), (5.5 * 2**20, "MB"), (292 * 2**10, "KB"), (2**30, "GB"),
    ]  # fmt: skip
    assert rows("SELECT line, reason FROM rejects ORDER BY 1") == [
        (8, "batch_size is 'x', not a finite number"),
        (9, "2 columns, not 4"),
    ]


@pytest.mark.usefixtures("derived")
def test_a_cell_without_a_result_has_failed(load: Load, rows: Rows, store: Store, tmp_path: Path) -> None:
    """With the reason; a later row of the same cell that has a result makes it ok, and all lines are accounted for."""
    text = "model,batch_size,sequence_length,result\nm,1,1,N/A\nm,1,2,None\nm,1,2,3\nm,1,3,N/A\nm,1,3,n/a\n"
    load(write(tmp_path, "memory.csv", text))

    assert rows("SELECT sequence_length, status, reason, failed FROM case_outcomes ORDER BY 1") == [
        (1, "fail_to_run", "the file has 'N/A' for its memory", True),
        (2, "ok", None, False),
        (3, "fail_to_run", "the file has 'n/a' for its memory", True),
    ]
    assert rows("SELECT cases, failed FROM run_summaries") == [(3, 2)]
    assert verify(store).problems == {}


@exhaustive
@pytest.mark.usefixtures("derived")
def test_equal_rows_of_a_cell_are_its_samples(load: Load, rows: Rows, tmp_path: Path) -> None:
    """None of them is taken for the result in silence."""
    text = "model,batch_size,sequence_length,result\nm,1,1,2\nm,1,1,4\nm,1,2,3\n"
    report = load(write(tmp_path, "memory.csv", text))

    assert rows("SELECT sequence_length, n, median / 1048576 FROM cells ORDER BY 1") == [(1, 2, 3.0), (2, 1, 3.0)]
    assert report.notes == [
        "memory.csv: 1 model and size has several rows: its samples, of which views give the median"
    ]


@exhaustive
@pytest.mark.usefixtures("derived")
def test_a_model_that_was_measured_is_ok(load: Load, rows: Rows, tmp_path: Path) -> None:
    """It passes, as what any other tool measured does; once, whatever files it stands in."""
    for name in ("time", "memory"):
        path = write(tmp_path, f"{name}.csv", "model,batch_size,sequence_length,result\nm,1,1,2\nm,1,2,N/A\n")
    load(path.parent)

    assert rows("SELECT name, sequence_length, kind, status, failed FROM case_outcomes ORDER BY 2") == [
        ("m", 1, "performance", "ok", False),
        ("m", 2, "performance", "fail_to_run", True),
    ]
    assert rows("SELECT rate FROM pass_rates") == [("50%, 1/2",)]


@exhaustive
def test_a_file_that_does_not_say_what_it_measures_is_asked_for(load: Load, rows: Rows, tmp_path: Path) -> None:
    """--metric answers."""
    path = write(tmp_path, "results.csv", "model,batch_size,sequence_length,result\nm,1,1,2\n")
    with pytest.raises(BenchError, match="--metric time or --metric memory"):
        load(path)

    load(path, options=Options(metric="memory"))

    assert rows("SELECT metric FROM metrics") == [("memory",)]


def test_line_ends_of_old_macs_are_named_with_the_cure(load: Load, tmp_path: Path) -> None:
    """A file with them is one line to every reader."""
    path = tmp_path / "times.csv"
    path.write_text("model,batch_size,sequence_length,result\ra,1,2,3.0\r", newline="")

    with pytest.raises(BenchError, match="the line end of old Macs"):
        load(path)


def test_the_real_results_have_the_sums_known(load: Load, rows: Rows, shared_data: Path) -> None:
    """Every number of the hf_benchmark files arrives."""
    facts = json.loads((shared_data / "facts.json").read_text())
    load(shared_data / "hf_benchmark")
    found = {
        name: (count, total)
        for name, count, total in rows(
            "SELECT name, count(*), sum(CASE unit WHEN 'ns' THEN value / 1e9 ELSE value / 1048576 END) "
            "FROM metrics JOIN sources USING (source_id) GROUP BY 1"
        )
    }

    for name, (count, total) in found.items():
        fact = facts[f"hf_benchmark/{name}"]
        assert count == fact["numeric"]
        assert math.isclose(total, fact["sum"])
    assert len(found) == 5


def test_a_performance_row_is_metrics_in_canonical_units(load: Load, rows: Rows, tmp_path: Path) -> None:
    """The axes come from the file's name and the row."""
    load(write(tmp_path, NAME, HEADER + "cuda,vit,8,1.5,20.5,30.25,0.9\n"))

    assert rows("SELECT metric, value, unit, better, original_value, original_unit FROM metrics ORDER BY 1") == [
        ("absolute_latency", 20.5e6, "ns", "lower", "20.5", "ms"),
        ("compile_latency", 30.25e9, "ns", "lower", "30.25", "s"),
        ("compression_ratio", 0.9, "ratio", "higher", "0.9", "ratio"),
        ("speedup", 1.5, "ratio", "higher", "1.5", "ratio"),
    ]
    assert rows("SELECT name, suite, mode, device, dtype, backend, batch_size FROM cases") == [
        ("vit", "timm_models", "training", "cuda", "amp", "inductor_no_cudagraphs", 8)
    ]
    assert rows("SELECT kind, status FROM outcomes") == [("performance", "ok")]


@pytest.mark.parametrize(
    ("text", "columns"),
    sampled([
        (HEADER + "cuda,gat,0,0.0000\n", 7),
        ("\ncuda,gat,0,0.0000\ncuda,vit,8,1.5,20.5,30.25,0.9\n", 7),
        ("cuda,vit,8,1.5,20.5,30.25,0.9\ncuda,gat,0,0.0000\n", 7),
        ("#" + HEADER + "cuda,gat,0,0.0\n", 7),
        (HEADER + "cuda,gat,4,0.0,0.0,0.0,0.0\n", 7),
        (HEADER + "cuda,vit,8,1.5,20.5,30.25,0.9,1,1,5,1,0,0\ncuda,gat,0,0.0000\n", 13),
    ], ("\ncuda,gat,0,0.0000\ncuda,vit,8,1.5,20.5,30.25,0.9\n", 7)),
)  # fmt: skip
def test_a_failed_model_is_an_outcome_and_never_a_zero(
    load: Load, rows: Rows, tmp_path: Path, text: str, columns: int
) -> None:
    """Under 7 or 13 columns, with a header, without, with an empty first line or a # before it."""
    load(write(tmp_path, NAME, text))

    query = "SELECT status, reason FROM outcomes JOIN cases USING (run_id, case_id) WHERE name = 'gat'"
    ((status, reason),) = rows(query)
    assert status == "fail_to_run"
    assert "cuda,gat," in reason
    assert rows("SELECT count(*) FROM metrics JOIN cases USING (run_id, case_id) WHERE name = 'gat'") == [(0,)]
    assert rows("SELECT count(*) FROM rejects") == [(0,)]


def test_accuracy_is_a_status_and_zero_is_none(load: Load, rows: Rows, tmp_path: Path) -> None:
    """0.0000 in the accuracy column is a model that did not run."""
    name = NAME.replace("performance", "accuracy")
    load(
        write(tmp_path, name, "dev,name,batch_size,accuracy\ncuda,a,4,pass\ncuda,b,0,0.0000\ncuda,c,4,fail_accuracy\n")
    )

    assert rows("SELECT kind, status, reason FROM outcomes ORDER BY line") == [
        ("accuracy", "pass", None),
        ("accuracy", "fail_to_run", "the accuracy column reads '0.0000'"),
        ("accuracy", "fail_accuracy", None),
    ]


@pytest.mark.exhaustive
def test_equal_accuracy_files_of_two_compilers_both_load(load: Load, rows: Rows, tmp_path: Path) -> None:
    """Their content is the same; their names say it was measured twice."""
    text = "dev,name,batch_size,accuracy\ncuda,a,4,pass\n"
    for compiler in ("eager", "aot_eager"):
        path = write(tmp_path, f"{compiler}_torchbench_float32_inference_cuda_accuracy.csv", text)

    assert accounting(load(path.parent)) == (2, 2, 0)
    assert accounting(load(path.parent)) == (2, 0, 0)
    assert rows("SELECT backend FROM cases ORDER BY 1") == [("aot_eager",), ("eager",)]
    assert rows("SELECT count(*) FROM runs") == [(1,)]


def test_the_traps_of_a_row(load: Load, rows: Rows, tmp_path: Path) -> None:
    """Disabled rows, lists of batch sizes, repeated names, headers amid rows, broken numbers."""
    text = HEADER + (
        '#cuda,off,1,1.5,1,1,1\ncuda,list,"[1, 2]",1.5,1,1,1\ncuda,twice,4,1.5,1,1,1\ncuda,twice,4,1.6,1,1,1\n'
        + HEADER
        + 'cuda,bad,4,fast,1,1,1\ncuda,short\n\ncuda,"open,4,1.5,1,1,1\n'
    )
    report = load(write(tmp_path, NAME, text))

    assert accounting(report) == (9, 3, 6)
    assert rows("SELECT line, reason FROM rejects ORDER BY 1") == [
        (2, "disabled with #"),
        (6, "a header amid the rows"),
        (7, "speedup is 'fast', not a number"),
        (8, "2 columns; want device, name, batch size and a result at least"),
        (9, "blank line"),
        (10, "not valid CSV: unexpected end of data"),
    ]
    assert rows("SELECT batch_size, parameters FROM cases WHERE name = 'list'") == [(None, '{"batch_sizes": "[1, 2]"}')]
    assert rows("SELECT count(*) FROM metrics WHERE metric = 'speedup'") == [(3,)]
    assert any("1 row repeats the name" in note for note in report.notes)


@pytest.mark.exhaustive
def test_cpu_memory_is_a_hundredth_of_what_is_written(load: Load, rows: Rows, tmp_path: Path) -> None:
    """The benchmark multiplies a percentage by the memory; the note says so."""
    columns = HEADER.strip() + ",eager_peak_mem,dynamo_peak_mem,calls_captured\n"
    for device in ("cpu", "cuda"):
        name = NAME.replace("cuda_perf", f"{device}_perf")
        path = write(tmp_path, name, columns + f"{device},bert,2,2.0,58.9,38.5,0.92,250.0,300.0,545\n")
    report = load(path.parent)

    query = (
        "SELECT device, value, original_unit FROM metrics JOIN cases USING (run_id, case_id) "
        "WHERE metric = 'eager_peak_memory' ORDER BY 1"
    )
    assert rows(query) == [("cpu", 2.5e9, "GB × 100"), ("cuda", 2.5e11, "GB")]
    assert any("100 times too large" in note for note in report.notes)


@exhaustive
def test_phases_of_compilation_are_known_only_when_none_is_missing(load: Load, rows: Rows, tmp_path: Path) -> None:
    """A phase that did not run is left out of a row without a gap: which one, nobody can tell."""
    name = NAME.replace(".csv", "_compilation_metrics.csv")
    load(write(tmp_path, name, "dev,name,batch_size,first,second\ncuda,a,4,1.5,2.5\ncuda,b,4,1.5\ncuda,c,4,1,2,3\n"))

    assert rows("SELECT metric, value, unit FROM metrics ORDER BY 1") == [
        ("compile_phase:first", 1.5e9, "ns"),
        ("compile_phase:second", 2.5e9, "ns"),
    ]
    assert rows("SELECT line, reason FROM rejects ORDER BY 1") == [
        (3, "1 phase times under 2 phases: which are missing or added is unknown"),
        (4, "3 phase times under 2 phases: which are missing or added is unknown"),
    ]


@pytest.mark.exhaustive
def test_published_summaries_are_left_out(load: Load, tmp_path: Path) -> None:
    """They are derived; the views derive them again."""
    write(tmp_path, "geomean.csv", ",Compiler,torchbench\neager,eager,1.00x\n")
    path = write(tmp_path, NAME, HEADER + "cuda,vit,8,1.5,20.5,30.25,0.9\n")

    report = load(path.parent)

    assert [line.path.name for line in report.lines] == [NAME]
    assert any("geomean.csv is a published summary" in note for note in report.notes)


@pytest.mark.exhaustive
def test_every_row_of_the_real_report_arrives(load: Load, rows: Rows, shared_data: Path) -> None:
    """Rows, failures and statuses are as an independent reader counted them."""
    folder = next((shared_data / "dynamo_dashboard").glob("day_*"))
    facts = json.loads((shared_data / "facts.json").read_text())[f"dynamo_dashboard/{folder.name}"]["cells"]
    report = load(folder)

    assert not [line for line in report.lines if line.rejected and "compilation_metrics" not in line.path.name]
    performance = {
        f"{backend}/{suite}": (total, failed)
        for backend, suite, total, failed in rows(
            "SELECT backend, suite, count(*), count(*) FILTER (status = 'fail_to_run') FROM outcomes AS o "
            "JOIN cases AS c ON c.source_id = o.source_id AND c.case_id = o.case_id WHERE kind = 'performance' GROUP BY ALL"
        )
    }
    assert performance == {cell: (fact["perf_rows"], fact["perf_speedup_zero"]) for cell, fact in facts.items()}
    for cell, fact in facts.items():
        backend, suite = cell.split("/")
        (found,) = rows(
            "SELECT count(*), avg(m.value) / 1e9 FROM metrics AS m JOIN cases AS c ON c.source_id = m.source_id "
            f"AND c.case_id = m.case_id WHERE metric = 'speedup' AND backend = '{backend}' AND suite = '{suite}'"
        )
        assert found[0] == fact["speedup_pos"]["n"]
        assert math.isclose(found[1] * 1e9, fact["speedup_pos"]["mean"])


@pytest.mark.exhaustive
def test_each_day_has_all_its_files_though_some_say_the_same(load: Load, rows: Rows, tmp_path: Path) -> None:
    """Accuracy seldom changes from day to day: the day whose file equals the last one's has it too, and only once."""
    head = "dev,name,batch_size"
    for day, speedup in enumerate((1.5, 1.4, 1.5)):
        folder = tmp_path / f"day{day}"
        folder.mkdir()
        write(
            folder,
            "inductor_timm_models_amp_training_cuda_performance.csv",
            f"{head},speedup\ncuda,m,1,{speedup}{day}\n",
        )
        write(folder, "inductor_timm_models_amp_training_cuda_accuracy.csv", f"{head},accuracy\ncuda,m,1,pass\n")
        load(f"main:{folder}/day")
    again = load(f"main:{tmp_path}/day1/day")

    assert rows("SELECT count(*), count(DISTINCT run_id) FROM source_files") == [(6, 3)]
    assert rows("SELECT status, count(*) FROM case_outcomes WHERE kind = 'accuracy' GROUP BY 1") == [("pass", 3)]
    assert sum(line.loaded for line in again.lines) == 0
