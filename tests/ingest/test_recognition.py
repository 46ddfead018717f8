# ruff: noqa: E501
"""What a file is taken for and why, and what is told of files that do not say enough."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench.ingest.command import ingest as command
from bench.ingest.formats import _serving
from bench.ingest.formats.tritonbench import Tritonbench
from bench.ingest.readers.document import Object
from bench.ingest.readers.leading_text import document_in
from bench.ingest.readers.settings import is_setting
from bench.ingest.run import IngestReport
from bench.warehouse.events import CaseRecord
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from ..exhaustive import exhaustive, first_of
from .formats.reading import lay, read, recognised

pytestmark = pytest.mark.usefixtures("nothing_derived")

Load = Callable[..., IngestReport]
Rows = Callable[[str], list[tuple[Any, ...]]]


def vllm(**fields: Any) -> dict[str, Any]:
    """A serving benchmark of vLLM."""
    return {
        "date": "20260501-100000", "backend": "openai", "model_id": "tiny", "tokenizer_id": "tiny", "num_prompts": 50,
        "request_rate": "inf", "duration": 10.0, "completed": 50, "total_input_tokens": 6400, "total_output_tokens": 6400,
        "mean_ttft_ms": 20.0, "p99_ttft_ms": 30.0,
    } | fields  # fmt: skip


def invoke(*arguments: object) -> Any:
    """Run bench ingest."""
    return CliRunner().invoke(command, list(map(str, arguments)), catch_exceptions=False)


SERIES = "time,commit,tests.mean\n2026-05-01,aaaaaaa,1.5\n2026-05-02,bbbbbbb,1.25\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SERIES, ["time-series"]),
        ("timestamp,kernel,provider,ms\n2026-05-01,softmax,triton,0.5\n2026-05-02,softmax,torch,0.75\n", []),
        ("date,ms\n2026-05-01,0.5\n2026-05-01,0.75\n", []),
        ("date,branch,ms\n2026-05-01,main,0.5\n2026-05-02,dev,0.75\n", ["time-series"]),
    ],
)
def test_a_time_series_has_times_that_differ_and_texts_that_do_not(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    """A table of cases that has a column of times is no history."""
    (tmp_path / "a.csv").write_text(text)

    assert recognised(tmp_path / "a.csv") == expected


@pytest.mark.parametrize(
    "content", ["\n\na,b\n1,2\n", "\n\n\n", ",\n,\n", '""\n""\n', "\ufeff\n\n1\n", ";\n;\n", "[\n\n"]
)
def test_every_format_looks_at_lines_that_hold_nothing(tmp_path: Path, content: str) -> None:
    """Two blank lines at the beginning of any file were an internal error."""
    (tmp_path / "a").write_text(content)

    assert recognised(tmp_path / "a") == []


@exhaustive
def test_a_format_that_fails_at_looking_leaves_the_file_to_others(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be somebody else's; the note names it."""

    def fail(*_: object) -> bool:
        raise KeyError("a key")

    monkeypatch.setattr(Tritonbench, "recognise", fail)
    (tmp_path / "a.csv").write_text(SERIES)

    report = load(tmp_path / "a.csv")

    assert [line.format for line in report.lines] == ["time-series"]
    assert any(
        "the format tritonbench failed to look at it, a bug in that format (KeyError: 'a key')" in n
        for n in report.notes
    )


def test_what_looks_like_a_time_series_is_told_why_it_is_none(tmp_path: Path) -> None:
    """With the way out."""
    (tmp_path / "a.csv").write_text("timestamp,provider,ms\n2026-05-01,triton,0.5\n2026-05-02,torch,0.75\n")
    result = CliRunner().invoke(command, [str(tmp_path / "a.csv"), "--store", str(tmp_path / "s")])

    assert "is not a series over time: its rows differ in 'provider'" in str(result.exception)
    assert "--map" in str(result.exception)


def test_a_training_log_of_mlperf_is_no_log_of_loadgen(tmp_path: Path) -> None:
    """Both consist of :::MLLOG lines; a run without its end failed, one with it has its time."""

    def entry(key: str, time: int, **about: Any) -> str:
        return f":::MLLOG {json.dumps({'time_ms': time, 'key': key, 'value': None, 'metadata': about})}\n"

    begun = entry("run_start", 1000)
    cut, whole = (read("mlperf-training", text) for text in (begun, begun + entry("run_stop", 3500, status="success")))

    assert cut.outcomes() == [("fail_to_run", "the log has no run_stop: the run did not end")]
    assert (whole.outcomes(), whole.metrics()) == ([("ok", None)], {"time_to_train": (2.5e9, "ns")})


def test_text_before_a_document_is_skipped_and_counted() -> None:
    """Whatever the program printed, brackets too."""
    document = [{"model_type": "tiny", "n_prompt": 8, "n_gen": 0, "avg_ts": 5.0, "samples_ns": [10]}]
    got = read("llama-bench", f"[INFO] 2 devices\n[1.5] ready {{x}}\n{json.dumps(document, indent=1)}\n")

    assert got.accounting == (1, 1, 0)
    assert got.tally.notes == ["results.json: 2 lines before the document are no part of it"]


def test_log_entries_before_a_list_are_no_part_of_it() -> None:
    """Though they are JSON, too; of lines that are all entries none is left out."""
    document = [{"model_type": "tiny", "n_prompt": 8, "n_gen": 0, "avg_ts": 5.0, "samples_ns": [10]}]
    got = read("llama-bench", f'{{"level": "info"}}\n{{"level": "warn"}}\n{json.dumps(document, indent=1)}\n')

    assert got.accounting == (1, 1, 0)
    assert got.tally.notes == ["results.json: 2 lines before the document are no part of it"]
    lines = json.dumps(document[0]) + "\n" + json.dumps(document) + "\n"
    assert document_in(lines) == (lines, 0)


@pytest.mark.exhaustive
def test_colours_before_a_document_do_not_hide_it(tmp_path: Path, rows: Rows) -> None:
    """The bracket of an escape sequence opens nothing."""
    document = {"results": [{"command": "x", "mean": 1.0, "times": [1.0]}]}
    (tmp_path / "r.json").write_text(f"\x1b[0;33mWARNING\x1b[m\n{json.dumps(document)}", encoding="utf-8")
    result = invoke(tmp_path / "r.json", "--store", tmp_path / "store")

    assert result.exit_code == 0, result.output
    assert rows("SELECT source FROM runs") == [("hyperfine",)]


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_a_document_without_text_before_it_is_left_as_it_is(value: Any) -> None:
    """Whatever it holds."""
    for text in (json.dumps(value), json.dumps(value, indent=2)):
        assert document_in(text) == (text, 0)


@pytest.mark.parametrize(
    "facts", [{"GIT_COMMIT_HASH": "0abc000", "GIT_BRANCH": "main"}, {"gitrev": "0abc000", "git-branch": "main"},
              {"git_commit": "0abc000", "branch": "main"}, {"GITHUB_SHA": "0abc000", "GITHUB_REF_NAME": "main"},
              {"vcs.revision": "0abc000", "GITHUB_REF": "refs/heads/main"},
              {"GITHUB_SHA": "0abc000", "GITHUB_REF": "refs/pull/7/merge", "GITHUB_HEAD_REF": "main"},
              {"CIRCLE_SHA1": "0abc000", "GIT_BRANCH": "origin/main"},
              {"Build.SourceVersion": "0abc000", "Build.SourceBranch": "refs/heads/main"}],
)  # fmt: skip
def test_commit_and_branch_go_by_their_usual_names(facts: dict[str, str]) -> None:
    """In the context of google-benchmark, or anywhere else that becomes tags."""
    context = {"date": "2026-05-01T10:00:00+00:00", "num_cpus": 4, **facts}
    got = read("google-benchmark", {"context": context, "benchmarks": []})

    (run,) = got.runs
    assert (run.git_commit, run.git_branch) == ("0abc000", "main")


@pytest.mark.parametrize(
    ("told", "commit", "dirty"),
    [("abc1234-dirty", "abc1234", True), ("v1.2-rc.3-4-gabc1234", "abc1234", None), ("1.0-7-gabc1234-dirty", "abc1234", True),
     ("abc1234+", "abc1234", True), ("unknown", None, None)],
)  # fmt: skip
def test_what_git_describe_says_is_a_commit(told: str, commit: str | None, dirty: bool | None) -> None:
    """With changes that were not committed; HEAD is no branch."""
    context = {"date": "2026-05-01T10:00:00Z", "num_cpus": 4, "GIT_VERSION": told, "GIT_BRANCH": "HEAD"}
    (run,) = read("google-benchmark", {"context": context, "benchmarks": []}).runs

    assert (run.git_commit, run.git_dirty, run.git_branch) == (commit, dirty, None)


def test_what_is_no_commit_is_none() -> None:
    """A word under that name is a tag like any other."""
    context = {"date": "2026-05-01T10:00:00+00:00", "num_cpus": 4, "revision": "r3 of the board"}

    assert read("google-benchmark", {"context": context, "benchmarks": []}).runs[0].git_commit is None


@exhaustive
@pytest.mark.usefixtures("derived")
def test_facts_that_files_lack_are_said_with_set(tmp_path: Path, rows: Rows) -> None:
    """A fact of the file itself stays, and a sentence says so."""
    lay(tmp_path, {"a/a.json": {"results": [{"command": "x", "mean": 1.0, "times": [1.0]}]},
                   "b/b.json": {"context": {"date": "2026-05-01T10:00:00Z", "num_cpus": 4, "git_commit": "fffffff"}, "benchmarks": []}})  # fmt: skip
    result = invoke(
        tmp_path / "a",
        tmp_path / "b",
        "--set",
        "commit=abc1234",
        "--set",
        "time=2026-05-02",
        "--store",
        tmp_path / "store",
    )

    assert rows("SELECT git_commit, started_at::DATE::VARCHAR FROM runs ORDER BY 1") == [
        ("abc1234", "2026-05-02"), ("fffffff", "2026-05-01"),
    ]  # fmt: skip
    assert "note: --set commit: what the files say differs, and is kept" in result.stderr


@pytest.mark.parametrize(
    ("said", "message"),
    [("comit=abc", "commit"), ("commit=", "has no value"), ("time=soon", "cannot be read as a time")],
)
def test_a_fact_that_cannot_be_meant_is_an_error(tmp_path: Path, said: str, message: str) -> None:
    """With the nearest name, or how to write it."""
    (tmp_path / "a.csv").write_text(SERIES)
    result = CliRunner().invoke(command, [str(tmp_path / "a.csv"), "--set", said, "--store", str(tmp_path / "s")])

    assert result.exit_code and message in str(result.exception)


def test_verbose_says_of_each_file_what_it_is_and_why(tmp_path: Path) -> None:
    """By keys, by columns, by its beginning."""
    lay(tmp_path / "f", {
        "a.json": {"results": [{"command": "x", "mean": 1.0, "times": [1.0]}]},
        "b.csv": "command,mean,stddev,median,user,system,min,max\nx,1,0,1,1,1,1,1\n", "c.txt": "goos: linux\nBenchmarkA 1 5 ns/op\n",
    })  # fmt: skip
    said = invoke(tmp_path / "f", "-v", "--dry-run", "--store", tmp_path / "s").stderr

    assert f"{tmp_path}/f/a.json: hyperfine, because it has the keys results[].command, results[].mean\n" in said
    assert "b.csv: hyperfine, because it has the columns command, max, mean, median and 4 more\n" in said
    assert "c.txt: go-test, because it begins as output of go test -bench does\n" in said


@exhaustive
@pytest.mark.usefixtures("derived")
def test_numbers_without_unit_and_direction_are_told_once(tmp_path: Path) -> None:
    """For all files together."""
    for name in ("a", "b"):
        context = {"date": f"2026-05-01T10:00:0{len(name)}Z", "num_cpus": 4, "executable": name}
        entry = {"name": "BM", "run_type": "iteration", "iterations": 1, "real_time": 1.0, "cpu_time": 1.0, "hits": 5}
        lay(tmp_path / "f", {f"{name}.json": {"context": context, "benchmarks": [entry]}})

    assert [
        line for line in invoke(tmp_path / "f", "--store", tmp_path / "s").stderr.splitlines() if "never judged" in line
    ] == ["note: 1 metric has no unit and no direction, and is never judged: hits"]


@pytest.mark.usefixtures("derived")
def test_prompts_of_other_lengths_are_other_cases(load: Load, rows: Rows, tmp_path: Path) -> None:
    """vLLM writes totals only: 128, 1,024 and 8,192 tokens a request, in two files each."""
    for length in (128, 1024, 8192):
        for at in (0, 1):
            lay(
                tmp_path / "f",
                {f"{length}_{at}.json": vllm(total_input_tokens=length * 50, mean_ttft_ms=length / 8 + at)},
            )
    load(tmp_path / "f")

    assert rows("SELECT parameters->>'input_tokens', n, median / 1e6 FROM cells WHERE metric = 'ttft_mean' ORDER BY 3") == [
        ("128", 2, 16.5), ("1024", 2, 128.5), ("8192", 2, 1024.5),
    ]  # fmt: skip


SETTINGS = {
    "request_rate": (4.0, "inf"), "max_concurrency": (8, 64), "burstiness": (1.0, 0.5), "num_prompts": (50, 500),
    "dtype": ("bfloat16", "fp8"), "tensor_parallel_size": (1, 4), "max_num_seqs": (128, 256), "gpu_memory_utilization": (0.5, 0.9),
    "kv_cache_dtype": ("auto", "fp8"), "quantization": ("awq", "gptq"), "num_speculative_tokens": (2, 3), "enforce_eager": (True, False),
    "temperature": (0.5, 1.0), "random_input_len": (128, 1024), "dataParallelSize": (1, 2), "num-gpus": (1, 8),
}  # fmt: skip


@pytest.mark.usefixtures("derived")
@pytest.mark.parametrize("field", first_of(1, SETTINGS))
def test_files_of_another_setup_are_other_cases(field: str, load: Load, rows: Rows, tmp_path: Path) -> None:
    """Each file has the case it has alone, whatever it is loaded with; repeats stay repeats."""
    for name, value in zip("abc", (SETTINGS[field][0], *SETTINGS[field]), strict=True):
        lay(tmp_path / "f", {f"{name}.json": vllm(mean_ttft_ms=ord(name) * 1.0, **{field: value})})
    report = load(tmp_path / "f")

    assert rows("SELECT n, median / 1e6 FROM cells WHERE metric = 'ttft_mean' ORDER BY ALL") == [(1, 99.0), (2, 97.5)]
    assert [note for note in report.notes if "same case" in note or "never judged" in note] == []
    alone = read("vllm", vllm(mean_ttft_ms=99.0, **{field: SETTINGS[field][1]})).of(CaseRecord)[0].case_id
    assert rows("SELECT case_id FROM cells WHERE metric = 'ttft_mean' AND n = 1") == [(alone,)]


@pytest.mark.parametrize(
    "name",
    [
        "mean_batch_size",
        "total_input_tokens",
        "spec_decode_acceptance_rate",
        "peak_concurrency",
        "p99_ttft_ms",
        "duration",
    ],
)
def test_what_was_measured_is_no_setting(name: str) -> None:
    """Else every run would be a case of its own."""
    assert not is_setting(name)


@pytest.mark.exhaustive
def test_another_setup_that_no_axis_says_is_told(load: Load, tmp_path: Path) -> None:
    """Arguments of a server are no axes, for its defaults change with its version; once for all files of a config."""

    def sglang(chunk: int) -> str:
        said = {"backend": "sglang", "request_rate": 4.0, "random_range_ratio": 0.0, "random_output_len": 8, "dataset_name": "random",
                "completed": 5, "duration": float(chunk), "server_info": {"model_path": "m", "chunked_prefill_size": chunk, "random_seed": chunk}}  # fmt: skip
        return json.dumps(said) + "\n"

    lay(tmp_path / "f", {f"{chunk}.jsonl": sglang(chunk) for chunk in (2048, 4096, 8192)})

    assert [note for note in load(tmp_path / "f").notes if "same case" in note] == [
        "2048.jsonl and 4096.jsonl name the same case, but differ in server_info.chunked_prefill_size: 2048 and 4096."
        " Give them configs of their own with NAME:PATH"
    ]


@pytest.mark.exhaustive
def test_files_that_share_a_case_but_not_their_prompts_are_told(load: Load, tmp_path: Path) -> None:
    """Means that vary are known by the nearest power of two only."""
    lay(
        tmp_path / "f",
        {"a.json": vllm(total_input_tokens=45_011), "b.json": vllm(total_input_tokens=50_021, mean_ttft_ms=21.0)},
    )

    assert [note for note in load(tmp_path / "f").notes if "same case" in note] == [
        "a.json and b.json name the same case, but differ in input tokens of a request: 900.2 and 1,000.4."
        " Give them configs of their own with NAME:PATH"
    ]


@given(st.integers(1, 10_000), st.integers(1, 1_000_000), st.floats(0.98, 1.02))
def test_a_mean_length_that_varies_a_little_is_one_axis_or_its_neighbour(count: int, total: int, factor: float) -> None:
    """Of whole means it is exact; of others the nearest power of two, which a small change moves by one at most."""
    record = Object([("completed", count), ("total_input_tokens", total)])
    axis = _serving.tokens(record)["input_tokens"]

    if total % count == 0:
        assert axis == total // count
    else:
        near = _serving.length(total * factor / count + 1e-7, response=False)
        exact = float(str(axis).removeprefix("~"))
        assert (
            exact / 2 <= float(str(near).removeprefix("~")) * 1.05 and float(str(near).removeprefix("~")) <= exact * 2.1
        )


def test_zero_in_all_statistics_is_missing() -> None:
    """One token has no gaps; one statistic of 0 among others is a value."""
    silent = read("vllm", vllm(mean_itl_ms=0.0, p99_itl_ms=0.0, mean_tpot_ms=0.0)).metrics()
    some = read("vllm", vllm(mean_itl_ms=2.0, median_itl_ms=0.0)).metrics()

    assert not {"itl_mean", "itl_p99", "tpot_mean"} & silent.keys()
    assert json.loads(silent["fields"])["p99_itl_ms"] == 0.0
    assert (some["itl_mean"], some["itl_median"]) == ((2e6, "ns"), (0.0, "ns"))


def test_each_request_has_its_time_per_output_token() -> None:
    """It is the time after the first token over the tokens after it; one token, or a failed request, has none."""
    got = read("vllm", vllm(
        num_prompts=3, completed=2, input_lens=[4, 4, 4], output_lens=[3, 1, 5], ttfts=[0.25, 0.5, 0.5],
        itls=[[0.5, 0.25], [], [1.0]], errors=["", "", "why"],
    ))  # fmt: skip

    assert got.samples("tpot") == [(375_000_000, 1)]


@exhaustive
@pytest.mark.usefixtures("derived")
def test_trials_of_aiperf_are_runs_of_one_case(load: Load, rows: Rows, tmp_path: Path) -> None:
    """Each in its folder; the settings of a sweep are cases; what sums up the trials is left out."""

    def summary(latency: float, concurrency: int) -> dict[str, Any]:
        return {
            "aiperf_version": "0.9.0", "start_time": "2026-05-01T10:00:00", "request_latency": {"unit": "ms", "avg": latency},
            "request_throughput": {"unit": "requests/sec", "avg": 50.0},
            "input_config": {"endpoint": {"model_names": ["tiny"]}, "loadgen": {"concurrency": concurrency}},
        }  # fmt: skip

    name = "profile_export_aiperf.json"
    lay(tmp_path / "f", {
        f"trial_1/{name}": summary(200.0, 10), f"trial_2/{name}": summary(210.0, 10), f"c20/trial_1/{name}": summary(300.0, 20),
        "aggregate/profile_export_aiperf_aggregate.json": {"aiperf_version": "0.9.0", "metadata": {"aggregation_type": "confidence"}},
    })  # fmt: skip
    report = load(tmp_path / "f")

    assert rows("""
        SELECT name, parameters->>'concurrency', count(DISTINCT run_id), median(median) / 1e6
        FROM cells WHERE metric = 'latency_mean' GROUP BY ALL ORDER BY 2
    """) == [("tiny", "10", 2, 205.0), ("tiny", "20", 1, 300.0)]
    assert [line.rejected for line in report.lines] == [0, 0, 0]


def test_slices_of_time_are_samples_that_nobody_judges() -> None:
    """A mean a slice, numbered."""
    document = {
        "timeslices": [
            {"start_ns": at, "request_latency": {"unit": "ms", "avg": 100.0 + at, "p99": 200.0}} for at in (0, 1)
        ]
    }
    got = read("aiperf-summary", document)

    assert (got.metrics()["latency_by_slice"], got.better()["latency_by_slice"]) == ((101e6, "ns"), None)


def test_a_metric_of_test_infra_has_the_unit_it_says() -> None:
    """A unit in brackets in its name counts first."""
    record = {
        "benchmark": {"name": "op"},
        "model": {"name": "add"},
        "metric": {"name": "latency", "unit": "us", "benchmark_values": [12.5]},
    }

    assert read("test-infra", [record]).metrics()["latency"] == (12_500.0, "ns")
