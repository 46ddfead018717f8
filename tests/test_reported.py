# ruff: noqa: E501
"""Rows of reports about benchmark tools, typed: each has one right answer, read from its files by hand.

Every test reads inputs of its own (`reported.py`) and, with the exhaustive tests, files that reproduce the reports, where there are any.
"""

import csv
import io
from pathlib import Path

import pytest
from bench.cli import cli
from bench.warehouse.errors import BenchError
from click.testing import CliRunner, Result

from . import reported
from .builders import stored
from .exhaustive import exhaustive

Row = dict[str, str]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the inputs of every row."""
    folder = tmp_path_factory.mktemp("reported")
    reported.write(folder)
    return folder


@pytest.fixture(params=["own", pytest.param("present", marks=pytest.mark.exhaustive)])
def inputs(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the rows lie; the working directory is an empty folder."""
    monkeypatch.chdir(tmp_path)
    if request.param == "own":
        found: Path = request.getfixturevalue("own")
        return found
    folder: Path = request.getfixturevalue("shared_data") / "reported"
    return folder if folder.is_dir() else pytest.skip("no files that reproduce the reports")


def bench(*words: object, code: int = 0) -> Result:
    """Type a command; its exit code must be `code`."""
    done = CliRunner().invoke(cli, list(map(str, words)), standalone_mode=False)
    error = done.exception
    found = error.exit_code if isinstance(error, BenchError) else done.return_value or done.exit_code
    assert found == code, (words, done.output, error)
    return done


def said(*words: object, code: int = 0) -> str:
    """All that a command writes, or its error."""
    done = bench(*words, code=code)
    return str(done.exception) if isinstance(done.exception, BenchError) else done.output


def asked(*words: object, code: int = 0) -> tuple[list[Row], str]:
    """What a command answers as CSV, and what it says beside it."""
    done = bench(*words, "--format", "csv", code=code)
    return list(csv.DictReader(io.StringIO(done.stdout))), done.stderr


@pytest.mark.parametrize(
    ("drawn", "code", "expected", "reason"),
    [
        pytest.param("seen", 0, {"SAME", "UNSURE"}, "", marks=exhaustive),
        ("never", 4, {"UNSURE"}, "first run on unknown processor, 4 cores, L3 48 MiB, 2793 MHz"),
    ],
)
def test_01_a_night_on_the_slower_processor_is_compared_with_its_own(
    drawn: str, code: int, expected: set[str], reason: str, inputs: Path
) -> None:
    """Drawn before: no change. Drawn for the first time: UNSURE, exit 4, and the reason names cores, cache and clock."""
    bench("ingest", f"x:{inputs}/01-machine-lottery/{drawn}")
    text = said("regressions", "--all", code=code)
    found = {line.split()[0] for line in text.splitlines() if " BM_" in line}

    assert found <= expected and ("6 UNSURE" in text or not reason) and reason in text


def test_02_files_of_a_night_are_judged_together(inputs: Path) -> None:
    """The case of the executable that ran first is SLOWER, none is REMOVED, and eight nights are listed."""
    bench("ingest", f"x:{inputs}/02-several-files-a-night/nightly")
    found, _ = asked("regressions", code=1)

    assert {(row["name"], row["metric"], row["verdict"]) for row in found if row["verdict"] not in ("SAME", "UNSURE")} == {
        ("BM_a0", "latency", "SLOWER"), ("BM_a0", "cpu_time", "SLOWER"),
    }  # fmt: skip
    assert said("runs").count("round of 2") == 8


def test_03_prompts_of_other_lengths_are_other_cases(inputs: Path) -> None:
    """Three cases of two files; two lengths share no case, and both are named."""
    bench("ingest", inputs / "03-vllm-lengths")
    found = stored(
        "SELECT parameters->>'input_tokens', n, median / 1e6 FROM cells WHERE metric = 'ttft_median' ORDER BY 3"
    )
    assert [(tokens, n) for tokens, n, _ in found] == [("128", 2), ("1024", 2), ("8192", 2)]
    assert [ms for *_, ms in found] == pytest.approx([20.1, 90.45, 703.5], abs=0.11)

    for side in (128, 8192):
        Path(str(side)).mkdir()
        for file in (inputs / "03-vllm-lengths").glob(f"*_isl{side}_*"):
            (Path(str(side)) / file.name).write_bytes(file.read_bytes())
    compared, _ = asked("compare", "./128", "./8192", "--store", "other")
    assert {row["verdict"] for row in compared} == {"ADDED", "REMOVED"}


@exhaustive
def test_04_a_table_with_a_time_is_no_history(inputs: Path) -> None:
    """An error with the whole command that reads it, and that loads four cases of one run."""
    file = inputs / "04-table-with-timestamp" / "kernels.csv"
    error = said("ingest", file, code=2)
    (mapping,) = (line.split(" --map ")[1] for line in error.splitlines() if " --map " in line)
    bench("ingest", file, "--map", mapping.strip("'"))

    assert stored("SELECT count(DISTINCT run_id), count(*) FROM cases") == [(1, 4)]


@exhaustive
def test_05_the_unit_of_test_infra_is_a_unit(inputs: Path) -> None:
    """12.3 us are 12,300 ns, and lower is better."""
    bench("ingest", inputs / "05-test-infra-unit")

    assert stored("SELECT value, unit, better FROM metrics WHERE metric = 'latency'") == [(12_300.0, "ns", "lower")]


@exhaustive
def test_06_a_training_log_is_no_load_generator(inputs: Path) -> None:
    """It passed in 1,000 s, with 100.5 samples a second at step 10."""
    bench("ingest", inputs / "06-mlperf-training" / "result_0.txt")

    assert stored("SELECT status FROM outcomes") == [("ok",)]
    assert {(1e12, "ns"), (100.5, "samples/s")} <= set(stored("SELECT median, unit FROM cells"))


@exhaustive
def test_07_trials_of_aiperf_are_runs_of_a_case(inputs: Path) -> None:
    """Model and settings are the case; what only sums up the trials is left out, with a note; warm-up is a phase."""
    told = said("ingest", f"x:{inputs}/07-aiperf-summary/acme-tiny-7b-openai-chat-concurrency_10")
    query = "SELECT DISTINCT name, parameters->>'concurrency', parameters->>'request_count' FROM cases"
    assert stored(query) == [("acme/tiny-7b", "10", "40")] and "1 file in subfolders" in told

    query = "SELECT median FROM cells WHERE metric = '{}' AND phase IS DISTINCT FROM 'warmup' ORDER BY 1"
    means = [value / 1e6 for (value,) in stored(query.format("latency_mean"))]
    assert means == pytest.approx([197.82, 199.69, 199.72], abs=0.006)
    assert stored(query.format("request_throughput")) == [(49.5,), (50.5,), (51.5,)]
    assert stored("SELECT count(*) > 0 FROM cells WHERE phase = 'warmup'") == [(True,)]


@exhaustive
def test_08_commit_and_branch_of_a_context_are_those_of_the_run(inputs: Path) -> None:
    """GIT_COMMIT_HASH and GIT_BRANCH."""
    bench("ingest", inputs / "08-gbench-commit")

    assert stored("SELECT git_commit, git_branch FROM runs") == [("0abc000", "main")]


@exhaustive
def test_09_calls_that_all_fail_alike_are_compared(inputs: Path) -> None:
    """hyperfine was told to ignore it: 100 → 150 ms is SLOWER, and a note says what the calls ended with."""
    folder = inputs / "09-hyperfine-ignored-failure"
    found, beside = asked("compare", folder / "A", folder / "B")
    (row,) = (row for row in found if row["metric"] == "latency")

    assert row["verdict"] == "SLOWER" and float(row["ratio"]) == pytest.approx(2 / 3, abs=0.005)
    assert "told to ignore (-i)" in beside


@exhaustive
def test_10_lines_before_a_document_are_no_part_of_it(inputs: Path) -> None:
    """Two results are loaded, and two lines told."""
    told = said("ingest", inputs / "10-llama-bench-noise" / "lb.json")
    query = "SELECT parameters->>'test', median FROM cells WHERE metric = 'throughput' ORDER BY 1"

    assert "2 lines before the document" in told
    assert [(test, round(rate, 1)) for test, rate in stored(query) if rate] == [
        ("pp512", 1024.0),
        ("pp512 @ d4096", 640.0),
    ]


ABSENT = {
    "bmf.json": (2, {("latency", 1500.0), ("latency", 2750.0), ("throughput", 12.0), ("latency_low", 1400.0)}),
    "codspeed.json": (1, {("latency_median", 104.0), ("latency_min", 100.0), ("latency_max", 120.0)}),
    "hf_bench_v2.json": (1, {("latency", 1.05e9)}),
    "inferencex_agg.json": (3, {("throughput_per_gpu", 2639.016), ("throughput_per_gpu", 6964.405)}),
    "k6new.json": (1, {("latency_mean", 12e6), ("latency_median", 11e6), ("latency_p95", 25e6), ("request_throughput", 10.0)}),
    "perf_txt.txt": (1, {("task-clock_mean", 1234.56e6), ("cycles_mean", 4e9), ("latency_mean", 1.237e9)}),
    "sglang_one_batch.jsonl": (2, {("prefill_latency", 51.2e6), ("prefill_latency", 3e8), ("latency", 150e6), ("latency", 420e6)}),
    "torchbench_userbenchmark.json": (2, {("latency_median", 12.3e6), ("latency_median", 45.6e6)}),
    "triton.csv": (4, {("throughput", 512e9), ("throughput", 341.33e9), ("throughput", 768e9), ("throughput", 630.15e9)}),
    "trtllm.json": (1, {("output_throughput", 160.0), ("ttft_mean", 60e6), ("tpot_mean", 22e6), ("latency_p50", 790e6)}),
}  # fmt: skip


@pytest.mark.parametrize("name", ABSENT)
@pytest.mark.exhaustive
def test_11_files_of_other_tools_have_their_cases_and_values(name: str, inputs: Path) -> None:
    """As read from the file by hand; times in ns, rates in bytes a second."""
    bench("ingest", inputs / "11-absent" / name)
    cases, expected = ABSENT[name]
    found = {
        (metric, float(f"{value:.7g}"))
        for metric, value in stored("SELECT metric, median FROM cells")
        if value is not None
    }

    assert stored("SELECT count(DISTINCT case_id) FROM cases") == [(cases,)]
    assert not expected - found, sorted(found)


@exhaustive
def test_12_axes_do_not_follow_from_digits(inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All four cases of two configs match; a mean of 52.50 ms and a utilization are metrics in both."""
    store = Path("s").absolute()
    monkeypatch.chdir(inputs / "12-map-identity")
    mapping = "name=model,backend=engine,value=tok_s,unit:=tokens/s"
    bench("ingest", "./d1", "./d2", "--store", store, "--map", mapping)
    found, _ = asked("compare", "d1", "d2", "--all", "--store", store)

    assert len(found) == 16 and not {"ADDED", "REMOVED"} & {row["verdict"] for row in found}
    assert {row["metric"]: (row["unit"], row["better"]) for row in found} == {
        "tok_s": ("tokens/s", "higher"), "mean_ttft_ms": ("ns", "lower"), "p99_ttft_ms": ("ns", "lower"), "gpu_util": ("", ""),
    }  # fmt: skip


def test_13_alternatives_in_a_run_are_compared(inputs: Path) -> None:
    """`speedups` gives the command, which says 1.63x, 1.64x and their mean."""
    file = inputs / "13-alternatives-in-one-run" / "kernels.csv"
    bench("ingest", file, "--map", "name=kernel,backend=provider,parameters=size,value=ms,unit:=ms")
    assert "2 values of backend: bench compare torch liger --by backend" in said("speedups", code=3)

    text = said("compare", "torch", "liger", "--by", "backend")
    assert "1.63x faster (95 %" in text and "1.64x faster (95 %" in text
    assert "latency: geomean 1.64x faster" in text and "over 2 of 2 matched" in text


def test_13_two_commands_of_hyperfine_are_compared(inputs: Path) -> None:
    """`speedups` gives the command, which says 2.00x; the call that failed is a count."""
    bench("ingest", inputs / "13-alternatives-in-one-run" / "hyperfine.json")
    assert "2 values of name: bench compare 'grep foo' 'rg foo' --by name" in said("speedups", code=3)

    found, _ = asked("compare", "grep foo", "rg foo", "--by", "name")
    assert {row["metric"]: row["verdict"] for row in found if row["verdict"]} == {
        "latency": "FASTER",
        "failed_calls": "UNSURE",
    }
    assert [round(float(row["ratio"]), 2) for row in found if row["metric"] == "latency"] == [2.0]


def test_14_one_token_has_no_time_between_tokens(inputs: Path) -> None:
    """0 ms of all statistics is missing, not measured."""
    bench("ingest", inputs / "14-zero-itl.json")

    assert stored("SELECT count(*) FROM metrics WHERE metric LIKE 'itl%' OR metric LIKE 'tpot%'") == [(0,)]
    found, _ = asked("compare", inputs / "14-zero-itl-base.json", inputs / "14-zero-itl.json", "--all")
    assert not [row for row in found if row["candidate_value"] == "0.0" and row["metric"] != "failed"]


@exhaustive
def test_gb_repetitions_are_one_benchmark(inputs: Path) -> None:
    """Two of them 1.30x slower; the one that failed on both sides is listed."""
    found, _ = asked("compare", inputs / "gb1.json", inputs / "gb2.json")
    slower = {
        row["name"]: round(1 / float(row["ratio"]), 2) for row in found if row["verdict"] in ("SLOWER", "LIKELY SLOWER")
    }

    assert slower == {"BM_A/1024/real_time": 1.3, "BM_B<float>/threads:8": 1.3}
    assert {row["name"] for row in found} - set(slower) == {"BM_Err"}


@exhaustive
def test_go_bytes_of_a_call_are_exact(inputs: Path) -> None:
    """Twice the bytes is WORSE, 32 % more time LIKELY SLOWER, and equal allocations are the same."""
    every, _ = asked("compare", inputs / "go1.txt", inputs / "go2.txt", "--all")
    found = {row["metric"]: row for row in every if row["name"].startswith("BenchmarkFoo")}
    size, time = found["allocated"], found["latency"]

    assert (size["verdict"], float(size["ratio"])) == ("WORSE", 0.5) and "exact" in size["reason"] + size["evidence"]
    assert time["verdict"] == "LIKELY SLOWER" and 1 / float(time["ratio"]) == pytest.approx(1.32, abs=0.005)
    assert found["allocations"]["verdict"] == "SAME"


def test_gha_another_processor_is_told_first(inputs: Path) -> None:
    """The factor that all eight cases share belongs to the machine: none is called slower."""
    text = said("compare", inputs / "gha_3.json", inputs / "gha_4.json")

    assert "another machine: EPYC 7763, 4 cores → Xeon 8272CL, 4 cores; all 8 cases share " in text
    assert "against gha_4.json" in text and ": 8 UNSURE\n" in text


@exhaustive
def test_vllm_requests_have_their_time_per_token(inputs: Path) -> None:
    """(latency - TTFT) / (output - 1) of each; the two that failed are counted."""
    bench("ingest", inputs / "openai-infqps-x-20260226-115439.json")

    assert stored("SELECT n, median FROM cells WHERE metric = 'tpot'") == [(40, pytest.approx(20e6, rel=0.02))]
    assert any(line.split()[-2:] == ["2", "ok"] for line in said("show", "latest").splitlines())


@exhaustive
def test_sg_a_server_that_does_not_stream_has_no_first_token(inputs: Path) -> None:
    """Its 0.0 is missing; the latencies are there."""
    bench("ingest", inputs / "sg.jsonl")

    assert stored("SELECT count(*) FROM metrics WHERE metric LIKE 'ttft%' OR metric LIKE 'itl%'") == [(0,)]
    assert {4.76e9, 9.1e9} <= {value for (value,) in stored("SELECT median FROM cells WHERE unit = 'ns'")}
