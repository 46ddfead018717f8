"""Every number of the real files of LLM servers and of MLPerf that an independent reader computed, by a query."""

import json
from pathlib import Path

import pytest

from .facts import Ask, Facts, load, near, of, one

FOLDERS = ("vllm_bench", "sglang_bench", "genai_perf", "llmperf", "optimum_benchmark/llama_awq", "mlperf_loadgen")
SUMMARY = "mlperf_loadgen/mlperf_log_summary.txt"  # is left out beside the detailed log, so it is given by itself


@pytest.fixture(scope="module")
def ask(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """Questions to a store that holds the real files."""
    alone = tmp_path_factory.mktemp("alone") / SUMMARY
    alone.parent.mkdir()
    alone.write_bytes((shared_data / SUMMARY).read_bytes())
    report, ask = load(tmp_path_factory, [*(shared_data / folder for folder in FOLDERS), f"alone:{alone}"])
    assert sum(line.rejected for line in report.lines) == 0
    return ask


def test_every_byte_was_read(ask: Ask, facts: Facts) -> None:
    """The size of each file is that of its source, but for those that say what another says."""
    sizes = {path: said["size"] for path, said in facts.items() if path.startswith(FOLDERS) and "size" in said}
    read = {path: ask("SELECT DISTINCT bytes FROM source_files WHERE ends_with(path, ?)", path) for path in sizes}

    assert {path: [(size,)] for path, size in sizes.items() if "measurements" not in path} | {
        "mlperf_loadgen/measurements.json": []
    } == {
        path: rows
        for path, rows in read.items()
        if "benchmark_config" not in path and not path.endswith("/benchmark.json")
    }


def test_vllm(ask: Ask, facts: Facts, shared_data: Path) -> None:
    """Every field has its place: parameter, column, metric; and the samples are what the aggregates are of."""
    serving, latency = "vllm_bench/serving_llama8B_tp1_qps_1.json", "vllm_bench/latency_llama8B_tp1.json"
    document = json.loads((shared_data / serving).read_text())
    ((name, backend, parameters, day),) = ask("""
        SELECT name, backend, parameters, strftime(started_at, '%Y%m%d-%H%M%S')
        FROM cases JOIN runs USING (run_id) WHERE cases.{file}
    """, serving)  # fmt: skip
    found = {
        "model_id": name,
        "tokenizer_id": name,
        "backend": backend,
        "date": day,
        "max_concurrency": None,
    } | json.loads(parameters)
    for field in facts[serving]["fields"]:
        if field.endswith("_ms"):
            kind, metric, _ = field.split("_")
            value = ask(
                "SELECT value / 1e6 FROM metrics WHERE metric = ? AND statistic = ? AND {file}",
                metric, {"std": "stddev"}.get(kind, kind), serving,
            )  # fmt: skip
            assert near(one(value), document[field]), field
        else:
            assert found[field] == document[field], field
    ((count, mean, given),) = ask("""
        SELECT count(*), avg(duration_ns), (SELECT value FROM metrics WHERE statistic = 'mean' AND {file})
        FROM timings WHERE {file}
    """, latency, latency)  # fmt: skip
    assert facts[latency]["fields"] == ["avg_latency", "latencies", "percentiles"]
    assert count == len(json.loads((shared_data / latency).read_text())["latencies"]) and near(mean, given)
    kinds = ask("SELECT statistic FROM metrics WHERE statistic LIKE 'p%' AND {file} ORDER BY statistic", latency)
    assert [kind for (kind,) in kinds] == ["p10", "p25", "p50", "p75", "p90", "p99"]


def test_sglang(ask: Ask, facts: Facts) -> None:
    """A line a benchmark, with its load."""
    for path, said in of(facts, "sglang_bench"):
        rows = ask("""
            SELECT
                parameters ->> 'request_rate', max(value) FILTER (metric = 'completed'),
                max(value) FILTER (metric = 'benchmark_duration') / 1e9,
                max(value) FILTER (metric = 'latency' AND statistic = 'mean') / 1e6,
                max(value) FILTER (metric = 'ttft' AND statistic = 'median') / 1e6,
                max(value) FILTER (metric = 'output_throughput')
            FROM metrics JOIN cases USING (run_id, case_id) WHERE metrics.{file}
            GROUP BY metrics.line, parameters ORDER BY metrics.line
        """, path)  # fmt: skip
        assert len(rows) == said["lines"] == one(ask("SELECT lines FROM source_files WHERE ends_with(path, ?)", path))
        names = ("request_rate", "completed", "duration", "mean_e2e_latency_ms", "median_ttft_ms", "output_throughput")
        for row, expected in zip(rows, said["rows"], strict=True):
            assert all(near(float(value), expected[name]) for name, value in zip(names, row, strict=True))


def test_genai_perf(ask: Ask, facts: Facts) -> None:
    """Rows of statistics, and numbers of the whole; thousands have no comma."""
    names = {
        "Input Sequence Length (tokens)": "input_tokens", "Inter Token Latency (ms)": "itl",
        "Output Sequence Length (tokens)": "output_tokens", "Request Latency (ms)": "latency", "Time To First Token (ms)": "ttft",
        "Time To Second Token (ms)": "ttst", "Output Token Throughput (per sec)": "output_throughput",
        "Request Count (count)": "request_count", "Request Throughput (per sec)": "request_throughput",
    }  # fmt: skip
    for path, said in of(facts, "genai_perf"):
        values = """
            SELECT metric, value / CASE unit WHEN 'ns' THEN 1e6 ELSE 1 END
            FROM metrics WHERE coalesce(statistic, 'mean') = 'mean' AND {file}
        """
        found: dict[str, float] = dict(ask(values, path))
        for name, value in (said["avg"] | said["scalars"]).items():
            assert near(found[names[name]], value), name
        kinds = "SELECT count(DISTINCT statistic), count(DISTINCT metric) FROM metrics WHERE statistic IS NOT NULL AND {file}"
        assert ask(kinds, path) == [(len(said["stat_cols"]), said["stat_rows"])]


def test_llmperf(ask: Ask, facts: Facts, shared_data: Path) -> None:
    """Every key of the summary has its place."""
    for path, said in of(facts, "llmperf"):
        document = json.loads((shared_data / path).read_text())
        assert len(document) == said["n"] and list(document)[: len(said["keys"])] == said["keys"]
        numbers = "SELECT count(*) FROM metrics WHERE value IS NOT NULL AND metric <> 'benchmark_duration' AND {file}"
        assert one(ask(numbers, path)) == sum(
            key.startswith("results_") and key != "results_error_code_frequency" for key in document
        )
        ((name, parameters, began),) = ask("""
            SELECT name, parameters, epoch(started_at) FROM cases JOIN runs USING (run_id) WHERE cases.{file}
        """, path)  # fmt: skip
        assert (name, began) == (document["model"], document["timestamp"])
        rest = {key for key in document if not key.startswith("results_")} - {"model", "timestamp", "version", "name"}
        assert {key: document[key] for key in rest} == json.loads(parameters)
        p25 = "SELECT value / 1e9 FROM metrics WHERE metric = 'time_per_output_token' AND statistic = 'p25' AND {file}"
        assert near(one(ask(p25, path)), document["results_inter_token_latency_s_quantiles_p25"])


def test_optimum_benchmark(ask: Ask, facts: Facts) -> None:
    """Samples, aggregates and peaks of each target."""
    for path, said in of(facts, "optimum_benchmark"):
        if "phases" not in said:
            continue
        assert said["phases"].keys() == {
            target for (target,) in ask("SELECT parameters ->> 'target' FROM cases WHERE {file}", path)
        }
        for target, expected in said["phases"].items():
            where = "run_id || case_id IN (SELECT run_id || case_id FROM cases WHERE parameters ->> 'target' = ?)"
            ((count, mean),) = ask(
                f"SELECT count(*), avg(duration_ns) / 1e9 FROM timings WHERE {where} AND {{file}}", target, path
            )
            assert count == expected["count"] and near(mean, expected["mean_recomputed"])
            ((stored, p50, throughput, unit),) = ask(f"""
                SELECT
                    max(value) FILTER (metric = 'latency' AND statistic = 'mean') / 1e9,
                    max(value) FILTER (metric = 'latency' AND statistic = 'p50') / 1e9,
                    max(value) FILTER (metric = 'throughput'),
                    any_value(original_unit) FILTER (metric = 'latency' AND statistic = 'mean')
                FROM metrics WHERE {where} AND {{file}}
            """, target, path)  # fmt: skip
            assert near(stored, expected["mean_stored"]) and near(p50, expected["p50"])
            assert throughput is None if expected["throughput"] is None else near(throughput, expected["throughput"])
            assert unit == expected["unit"]
            for key, source in (("max_ram", "rss"), ("max_allocated", "cuda_allocated")):
                peaks = ask(
                    f"SELECT size_bytes / 1e6 FROM memory_samples WHERE source = ? AND {where} AND {{file}}",
                    source,
                    target,
                    path,
                )
                assert peaks == [] if expected[key] is None else near(one(peaks), expected[key])


def test_mlperf(ask: Ask, facts: Facts) -> None:
    """Results of the summary; every line of both files; what was submitted."""
    for path, said in of(facts, "mlperf_loadgen"):
        if "measurements" in path:
            tags = "SELECT json_keys(tags) FROM runs WHERE source = 'mlperf' AND config = 'mlperf_loadgen'"
            assert len(one(ask(tags))) + 1 == said["lines"]  # the last brace ends no line
            continue
        assert one(ask("SELECT lines FROM source_files WHERE ends_with(path, ?)", path)) == said["lines"]
        if not said["kv"]:
            assert said["mllog"] == said["lines"]
            continue
        found: dict[str, float] = dict(ask("""
            SELECT metric || coalesce('_' || statistic, ''), value FROM metrics WHERE value IS NOT NULL AND {file}
        """, path))  # fmt: skip
        ((name, scenario, mode, status),) = ask("""
            SELECT name, parameters ->> 'scenario', parameters ->> 'mode', status
            FROM case_outcomes WHERE config = 'alone'
        """)  # fmt: skip
        kv = said["kv"]
        assert (name, scenario, mode) == (kv["SUT name"], kv["Scenario"], kv["Mode"])
        assert (status, kv["Result is"]) == ("ok", "VALID")
        for key, metric in (
            ("90.00 percentile latency (ns)", "latency_p90"), ("99.00 percentile latency (ns)", "latency_p99"),
            ("Mean latency (ns)", "latency_mean"), ("Samples per second", "throughput"),
        ):  # fmt: skip
            assert near(found[metric], float(kv[key]))
