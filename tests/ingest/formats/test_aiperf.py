"""AIPerf: requests, with the summary beside them."""

import json
from pathlib import Path

from bench.ingest.formats.aiperf import SUMMARY as SUMMARY_NAME
from bench.ingest.registry import find_format
from bench.warehouse.events import CaseRecord, Metric

from ...exhaustive import exhaustive
from ..conftest import Load, Rows
from .reading import lay, read_file
from .samples import SAMPLES

REQUESTS = "".join(
    json.dumps({
        "metadata": {"session_num": number, "request_start_ns": 1760000000000000000 + number * 10**8,
                     "benchmark_phase": "profiling",
                     "request_end_ns": 1760000000900000000, "worker_id": "w", "was_cancelled": number == 2},
        "metrics": {} if number == 2 else {
            "request_latency": {"value": 900.5, "unit": "ms"}, "time_to_first_token": {"value": 100.25, "unit": "ms"},
            "inter_token_latency": {"value": 20.0, "unit": "ms"}, "inter_chunk_latency": {"value": [20.0, 21.5], "unit": "ms"},
            "input_sequence_length": {"value": 550, "unit": "tokens"}, "output_sequence_length": {"value": 41, "unit": "tokens"},
        },
        "error": {"code": 499, "type": "RequestCancellationError", "message": "cancelled"} if number == 2 else None,
    }) + "\n"
    for number in range(3)
).encode()  # fmt: skip
SUMMARY = {
    "input_config": {
        "endpoint": {"model_names": ["llama"], "api_key": "s"},
        "loadgen": {"concurrency": 8, "request_count": 3},
    }
}


def files(folder: Path, **beside: object) -> Path:
    lay(
        folder,
        {"profile_export.jsonl": REQUESTS}
        | {name.replace("_dot_", "."): json.dumps(value).encode() for name, value in beside.items()},
    )
    return folder


def test_a_request_is_samples_of_one_number(tmp_path: Path) -> None:
    """The mean gap is tpot; gaps between chunks are itl, with how many each request has."""
    got = read_file(find_format("aiperf"), files(tmp_path) / "profile_export.jsonl")

    assert got.accounting == (3, 3, 0)
    assert got.samples("ttft") == [(100_250_000, 1)] * 2
    assert got.samples("tpot") == [(20_000_000, 1)] * 2
    assert got.samples("itl") == [(20_000_000, 1), (21_500_000, 1)] * 2
    assert [(m.value, m.sample) for m in got.of(Metric) if m.metric == "output_tokens"] == [(41, 0), (41, 1)]
    assert [(m.original_value, m.sample) for m in got.of(Metric) if m.metric == "request_outcome"] == [("cancelled", 2)]


def test_a_folder_of_nights_is_a_run_each(load: Load, rows: Rows, tmp_path: Path) -> None:
    """Eight nights were one run of all their files: by day in the name, or as the summaries say."""
    (summary,) = SAMPLES["aiperf-summary"].values()
    nights = {day: json.dumps({**json.loads(summary), "start_time": f"2026-05-{day}T10:00:00"}) for day in ("01", "02")}
    lay(tmp_path / "named", {f"2026-05-{day}/c8/profile_export.jsonl": REQUESTS + b" " * int(day) for day in nights})
    lay(tmp_path / "said", {f"job{day}-c8/{SUMMARY_NAME}": text.encode() for day, text in nights.items()})
    load(tmp_path / "named", tmp_path / "said")

    began = "SELECT config, strftime(started_at, '%d') FROM runs ORDER BY 1, 2"
    assert rows(began) == [("named", "01"), ("named", "02"), ("said", "01"), ("said", "02")]


def test_the_summary_names_model_and_load(tmp_path: Path) -> None:
    """Without it the folder names what was asked. Keys of the server stay out."""
    got = read_file(
        find_format("aiperf"), files(tmp_path, profile_export_aiperf_dot_json=SUMMARY) / "profile_export.jsonl"
    )

    (case,) = got.of(CaseRecord)
    assert (case.name, json.loads(case.parameters or "{}")) == ("llama", {"concurrency": 8, "request_count": 3})
    assert [
        case.name
        for case in read_file(find_format("aiperf"), files(tmp_path / "own") / "profile_export.jsonl").of(CaseRecord)
    ] == ["own"]


def test_models_of_a_later_version_are_items(tmp_path: Path) -> None:
    """Its configuration lists models, phases and data sets; the phase that is measured says the load."""
    later = {"input_config": {
        "models": {"items": [{"name": "llama"}, {"name": 3}, "x"]}, "endpoint": {"urls": ["u"]},
        "phases": [{"name": "warmup", "concurrency": 1}, {"name": "profiling", "concurrency": 8, "requests": 3}],
        "datasets": [{"prompts": {"isl": {"mean": 64.0}, "osl": 16}}],
    }}  # fmt: skip
    got = read_file(
        find_format("aiperf"), files(tmp_path, profile_export_aiperf_dot_json=later) / "profile_export.jsonl"
    )

    (case,) = got.of(CaseRecord)
    assert (case.name, json.loads(case.parameters or "{}")) == (
        "llama", {"concurrency": 8, "request_count": 3, "input_tokens": 64, "output_tokens": 16},
    )  # fmt: skip


def test_goodput_of_aiperf(tmp_path: Path, load: Load, rows: Rows) -> None:
    """A cancelled request counts among those sent; times count from the first arrival to the last token."""
    load(f"A:{files(tmp_path / 'run')}")

    assert rows(
        "SELECT requests, completed, good, round(duration_s, 6), round(throughput, 3) FROM goodput(ttft := 101, tpot := 19)"
    ) == [(3, 2, 0, 1.0005, round(82 / 1.0005, 3))]
    assert rows("SELECT good FROM goodput(ttft := 101, tpot := 20, e2e := 901)") == [(2,)]


@exhaustive
def test_a_sweep_without_its_trials_is_its_means(tmp_path: Path, load: Load, rows: Rows) -> None:
    """A case each combination, named by the folder of the benchmark; with a trial beside it the sweep is left out."""
    ((name, content),) = SAMPLES["aiperf-sweep"].items()
    lay(tmp_path / "llama-a100", {f"aggregate/sweep_aggregate/{name}": content})
    load(tmp_path / "llama-a100")

    means = (("latency_mean", 1.5e9), ("output_throughput", 400.0), ("ttft_p99", 120.5e6))
    assert rows("""
        SELECT name, parameters->>'concurrency', concat_ws('_', metric, statistic), value
        FROM metrics JOIN cases USING (run_id, case_id)
        WHERE value IS NOT NULL ORDER BY 2, 3
    """) == [
        ("llama-a100", many, *one)
        for many, whole in (("10", 100.0), ("20", 200.0))
        for one in sorted([*means, ("request_throughput", whole)])
    ]  # fmt: skip

    (trial,) = SAMPLES["aiperf-summary"].values()
    lay(tmp_path / "own", {f"sweep_aggregate/{name}": content, f"concurrency_10/{SUMMARY_NAME}": trial})
    report = load(tmp_path / "own")
    assert [(line.format, line.loaded) for line in report.lines if line.loaded] == [("aiperf-summary", 1)]


def of_trials(mean: float) -> bytes:
    """The aggregate that AIPerf writes of several trials of one setting."""
    metric = {
        "mean": mean,
        "std": 1.0,
        "cv": 0.02,
        "se": 0.6,
        "ci_low": mean - 2.5,
        "ci_high": mean + 2.5,
        "t_critical": 4.303,
    }
    return json.dumps({
        "schema_version": "1.0", "aiperf_version": "0.9.0",
        "metadata": {"aggregation_type": "confidence", "num_profile_runs": 3, "num_successful_runs": 2,
                     "failed_runs": ["run_0002"]},
        "metrics": {"request_throughput_avg": metric | {"unit": "requests/sec"},
                    "time_to_first_token_p99": metric | {"unit": "ms"}},
    }).encode()  # fmt: skip


@exhaustive
def test_trials_of_which_only_the_aggregate_was_kept_are_their_means(tmp_path: Path, load: Load, rows: Rows) -> None:
    """A case named by the folder of the benchmark, with the load by which a sweep names its folders; failed trials are told."""
    name, values = "profile_export_aiperf_aggregate.json", (("request_throughput", None), ("ttft", "p99"))
    lay(tmp_path / "alone", {f"aggregate/{name}": of_trials(50)})
    lay(tmp_path / "repeated", {f"aggregate/concurrency_{many}/{name}": of_trials(many) for many in (10, 20)})
    lay(tmp_path / "apart", {f"request_rate_2.5/aggregate/{name}": of_trials(30)})
    for folder in ("alone", "repeated", "apart"):
        report = load(tmp_path / folder)
        assert any("run_0002" in note for note in report.notes)

    found = rows("""
        SELECT name, parameters, metric, statistic, value
        FROM metrics JOIN cases USING (run_id, case_id)
        WHERE value IS NOT NULL ORDER BY ALL
    """)
    axes = (
        ("alone", None, 50),
        ("apart", {"request_rate": 2.5}, 30),
        *(("repeated", {"concurrency": n}, n) for n in (10, 20)),
    )
    assert [(case, json.loads(given or "null"), *rest) for case, given, *rest in found] == [
        (case, given, metric, statistic, mean * (1e6 if statistic else 1))
        for case, given, mean in axes
        for metric, statistic in values
    ]


def test_an_aggregate_beside_what_it_sums_up_is_left_out(tmp_path: Path, load: Load) -> None:
    """Trials, or the aggregate of the sweep that they are of."""
    name, ((sweep, content),) = "profile_export_aiperf_aggregate.json", SAMPLES["aiperf-sweep"].items()
    (trial,) = SAMPLES["aiperf-summary"].values()
    lay(tmp_path / "a", {f"aggregate/{name}": of_trials(50), f"profile_runs/run_0001/{SUMMARY_NAME}": trial})
    lay(
        tmp_path / "b",
        {f"aggregate/concurrency_10/{name}": of_trials(10), f"aggregate/sweep_aggregate/{sweep}": content},
    )
    for folder, path in (("a", f"aggregate/{name}"), ("b", f"aggregate/concurrency_10/{name}")):
        report = load(tmp_path / folder / path)
        assert not any(line.loaded for line in report.lines), folder
