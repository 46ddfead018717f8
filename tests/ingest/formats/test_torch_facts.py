"""Every number of the real files of PyTorch and its profilers that an independent reader computed comes out by a query."""

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from bench.warehouse.console.numbers import counted

from .facts import Ask, Facts, load, of, one

FOLDERS = (
    "dynamo_dashboard", "dynamo_misc", "dynamo_expected_accuracy", "torch_profiler", "nsys_sqlite", "hf_benchmark",
)  # fmt: skip
DAY = "day_001_01_01_23_performance_amp_179"
OF_DAY = "run_id IN (SELECT run_id FROM runs WHERE config = 'dynamo_dashboard')"


@pytest.fixture(scope="module")
def ask(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """Questions to a store that holds the real files; `{day}` in one stands for the rows of the dashboard."""
    _, ask = load(tmp_path_factory, [shared_data / folder for folder in FOLDERS])
    return lambda query, *parameters: ask(query.replace("{day}", OF_DAY), *parameters)


def near(left: Any, right: Any) -> bool:
    """Equal but for the last digits."""
    return math.isclose(left, right, rel_tol=1e-9)


@pytest.mark.exhaustive
def test_every_byte_was_read(ask: Ask, facts: Facts) -> None:
    """The size of each file is that of its source."""
    sizes = [(path, said["size"]) for path, said in facts.items() if "size" in said and path.startswith(FOLDERS)]
    for path, size in sizes:
        assert ask("SELECT bytes FROM source_files WHERE ends_with(path, ?)", path) == [(size,)], path
    assert len(sizes) >= 4


@pytest.mark.exhaustive
def test_a_day_of_the_dashboard(ask: Ask, facts: Facts) -> None:
    """Found below its archive, at its day; each cell has the rows, statuses and figures that were published."""
    assert ask("SELECT started_at::DATE::VARCHAR FROM runs WHERE config = 'dynamo_dashboard'") == [("2023-01-01",)]
    for cell, said in facts[f"dynamo_dashboard/{DAY}"]["cells"].items():
        axes = tuple(cell.split("/"))
        statuses = ask("""
            SELECT kind, CASE WHEN reason LIKE 'the accuracy column reads%' THEN '0.0000' ELSE status END
            FROM outcomes JOIN cases USING (run_id, source_id, case_id, line) WHERE {day} AND backend = ? AND suite = ?
        """, *axes)  # fmt: skip
        assert said["acc_status"] == Counter(status for kind, status in statuses if kind == "accuracy"), cell
        performance = [status for kind, status in statuses if kind == "performance"]
        assert (len(performance), performance.count("ok")) == (said["perf_rows"], said["speedup_pos"]["n"])
        unmatched = "SELECT {} FROM geomean_speedups() WHERE {day} AND backend = ? AND suite = ?"
        assert near(one(ask(unmatched.replace("{}", "dashboard_speedup", 1), *axes)), said["geomean_passing_clip1"])
        assert near(one(ask(unmatched.replace("{}", "speedup", 1), *axes)), said["geomean_passing_unclipped"])
        assert (
            one(ask("SELECT rate FROM pass_rates WHERE {day} AND backend = ? AND suite = ?", *axes)) == said["passrate"]
        )
        for metric, key, unit, passing in (
            ("speedup", "speedup_pos", 1, False), ("absolute_latency", "mean_abs_latency", 1e6, True),
            ("compile_latency", "mean_compilation_latency", 1e9, True), ("compression_ratio", "mean_compression_ratio", 1, True),
        ):  # fmt: skip
            fact = said[key]
            n, *row, geomean = ask(FIGURES, metric, *axes, passing)[0]
            assert n == fact["n"], (cell, metric)
            assert all(
                near(value / unit, fact[name])
                for value, name in zip(row, ("mean", "median", "min", "max"), strict=True)
            )
            assert passing or near(geomean, said["geomean_all_positive"])


FIGURES = """
    WITH axes AS (SELECT DISTINCT run_id, case_id, backend, suite, name FROM cases WHERE {day}),
    good AS (
        SELECT axes.backend, axes.suite, axes.name FROM case_outcomes JOIN axes USING (run_id, case_id)
        WHERE kind = 'accuracy' AND status IN ('pass', 'pass_due_to_skip')
    )
    SELECT count(*), avg(value), median(value), min(value), max(value), exp(avg(ln(value)))
    FROM metrics JOIN axes USING (run_id, case_id)
    WHERE metric = ? AND backend = ? AND suite = ? AND value > 0 AND (NOT ? OR (backend, suite, name) IN (FROM good))
"""


def test_expected_performance(ask: Ask, facts: Facts) -> None:
    """Speedups, of each row."""
    for path, said in of(facts, "dynamo_misc"):
        (row,) = ask("""
            SELECT count(*), avg(value), exp(avg(ln(value))), exp(avg(ln(greatest(value, 1)))) FROM metrics
            WHERE metric = 'speedup' AND {file}
        """, path)  # fmt: skip
        assert row[0] == said["rows"] - said["zero_speedup"]
        assert (
            near(row[1], said["mean_pos"]) and near(row[2], said["geomean_pos"]) and near(row[3], said["geomean_clip1"])
        )
        sizes: Counter[str] = Counter(str(size) for (size,) in ask("SELECT batch_size FROM cases WHERE {file}", path))
        assert all(sizes[size] == count for size, count in said["batch_kinds"].items())
        repeated = "SELECT count(*) - count(DISTINCT (name, batch_size)) FROM cases WHERE {file}"
        assert one(ask(repeated, path)) == said["dup_name_batch"]
        columns = one(ask("SELECT count(DISTINCT metric) FROM metrics WHERE {file}", path))
        assert columns == len(said["header"]) - len(["dev", "name", "batch_size"])


def test_expected_accuracy(ask: Ask, facts: Facts) -> None:
    """Statuses by dtype; a comment is a note."""
    for path, said in of(facts, "dynamo_expected_accuracy"):
        statuses: dict[str, int] = dict(
            ask("SELECT status, count(*) FROM outcomes WHERE kind = 'accuracy' AND {file} GROUP BY 1", path)
        )
        assert statuses == said["status"]
        lines, notes = ask("SELECT lines, notes FROM source_files WHERE ends_with(path, ?)", path)[0]
        assert lines + said["comment_rows"] == said["rows"]
        assert counted(said["comment_rows"], "comment") in notes
        dtypes = {dtype for (dtype,) in ask("SELECT DISTINCT dtype FROM cases WHERE {file}", path)}
        assert {"name", *dtypes} == set(said["header"])


def test_traces(ask: Ask, facts: Facts) -> None:
    """Events, spans by category, sums of durations, kernels, first and last times, what the document says."""
    for path, said in of(facts, "torch_profiler"):
        assert one(ask("SELECT lines FROM source_files WHERE ends_with(path, ?)", path)) == said["events"]
        fields = "SELECT original_value::JSON AS event FROM metrics WHERE metric = 'fields' AND {file}"
        phases: dict[str, int] = dict(
            ask(f"SELECT coalesce(event ->> 'ph', 'X'), count(*) FROM ({fields}) GROUP BY 1", path)
        )
        assert phases == said["ph"]
        spans = """
            SELECT suite, name, duration_ns / 1000 AS us FROM timings JOIN cases USING (run_id, case_id) WHERE timings.{file}
        """
        assert dict(ask(f"SELECT suite, count(*) FROM ({spans}) GROUP BY 1", path)) == said["cats"]
        assert near(one(ask(f"SELECT sum(us) FROM ({spans})", path)), said["dur_sum_us"])
        kernels = f"SELECT name, sum(us) AS us, count(*) AS n FROM ({spans}) WHERE suite = 'kernel' GROUP BY 1 ORDER BY 2 DESC"
        rows = ask(kernels, path)
        assert (len(rows), sum(n for _, _, n in rows)) == (said["kernel_names"], said["kernels"])
        assert math.isclose(sum(us for _, us, _ in rows), said["kernel_dur_sum_us"], abs_tol=1e-6)
        if said["top_kernel"]:
            assert (rows[0][0][:60], rows[0][1]) == tuple(said["top_kernel"])
        times = """
            SELECT (original_value::JSON ->> 'ts')::DOUBLE AS ts, duration_ns / 1000 AS us
            FROM timings JOIN metrics USING (source_id, line) WHERE timings.{file}
        """
        first, last = ask(f"SELECT min(ts), max(ts + us) FROM ({times})", path)[0]
        assert first == said["ts_min"] and math.isclose(last, said["ts_max"], rel_tol=1e-14)
        keys = ask("""
            SELECT unnest(json_keys(tags) || coalesce(json_keys(extra), []))
            FROM runs LEFT JOIN environments USING (environment_id)
            WHERE run_id = (SELECT run_id FROM source_files WHERE ends_with(path, ?))
        """, path)  # fmt: skip
        empty = {"deviceProperties"} if path.endswith("rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz") else set()
        assert {key for (key,) in keys} == set(said["top"]) - {"traceEvents"} - empty


def test_nsight_systems(ask: Ask, facts: Facts) -> None:
    """Rows of each table, kernels, copies by kind, calls that take longest."""
    for path, said in of(facts, "nsys_sqlite"):
        suites: dict[str, int] = dict(ask("""
            SELECT suite, count(*) FROM timings JOIN cases USING (run_id, case_id) WHERE timings.{file} GROUP BY 1
        """, path))  # fmt: skip
        names = {"KERNEL": "kernel", "MEMCPY": "gpu_memcpy", "RUNTIME": "cuda_runtime", "SYNCHRONIZATION": "cuda_sync"}
        for table, suite in names.items():
            assert suites[suite] == said["rows"][f"CUPTI_ACTIVITY_KIND_{table}"]
        gpus = "SELECT len(gpus) FROM runs JOIN environments USING (environment_id) WHERE config = 'nsys_sqlite'"
        assert one(ask(gpus)) == said["rows"]["TARGET_INFO_GPU"]
        figures = "{}, count(*), sum(duration_ns)::BIGINT, avg(duration_ns), min(duration_ns), max(duration_ns)"
        spans = "FROM timings JOIN cases USING (run_id, case_id) WHERE timings.{file} AND suite = ? GROUP BY 1 ORDER BY 3 DESC"
        kernels = ask(f"SELECT {figures} {spans}".replace("{}", "name"), path, "kernel")
        assert [list(row) for row in kernels] == said["kernels"]
        copies = ask("""
            SELECT (parameters ->> 'copyKind')::INT, count(*), sum((parameters ->> 'bytes')::BIGINT)::BIGINT,
                   sum(duration_ns)::BIGINT
            FROM timings JOIN cases USING (run_id, case_id) WHERE timings.{file} AND suite = 'gpu_memcpy' GROUP BY 1 ORDER BY 1
        """, path)  # fmt: skip
        assert [list(row) for row in copies] == said["memcpy"]
        calls = ask(f"SELECT name, count(*), sum(duration_ns)::BIGINT {spans} LIMIT 3", path, "cuda_runtime")
        assert [list(row) for row in calls] == said["runtime_top"]


@pytest.mark.exhaustive
def test_machines_of_transformers(ask: Ask, facts: Facts) -> None:
    """Each line of a file about a machine, as a column or as extra, or as the time of the run."""
    columns = {
        "framework_version": "torch", "python_version": "python", "system": "os", "cpu": "cpu", "architecture": "architecture",
        "cpu_ram_mb": "ram_bytes", "gpu": "gpus[1]",
    }  # fmt: skip
    for path, said in of(facts, "hf_benchmark"):
        if "keys" not in said:
            continue
        assert one(ask("SELECT loaded FROM source_files WHERE ends_with(path, ?)", path)) == said["rows"]
        version = {"hf_benchmark/k80_env.csv": "3.7.12"}.get(path, "3.7.5")
        extra = one(ask("SELECT json_keys(extra) FROM environments WHERE python = ?", version))
        assert set(extra) == set(said["keys"]) - columns.keys() - {"date", "time"}
        for column in [columns[key] for key in said["keys"] if key in columns]:
            assert one(ask(f"SELECT {column} IS NOT NULL FROM environments WHERE python = ?", version))
    assert ask("SELECT started_at::VARCHAR FROM runs WHERE config = 'hf_benchmark'") == [("2021-12-11 17:44:16.29382",)]


def test_results_of_transformers(ask: Ask, facts: Facts) -> None:
    """Rows, numbers and what is none, sums, means, models."""
    for path, said in of(facts, "hf_benchmark"):
        if "numeric" not in said:
            continue
        lines, rejected = ask("SELECT lines, rejected FROM source_files WHERE ends_with(path, ?)", path)[0]
        ((measured,),) = ask("SELECT count(*) FROM metrics WHERE {file}", path)
        assert (lines, rejected, measured) == (said["rows"], 0, said["numeric"])
        failed = (
            "SELECT DISTINCT regexp_extract(reason, '[''](.*)['']', 1) FROM outcomes WHERE {file} AND status <> 'ok'"
        )
        texts = ask(failed, path)
        assert [text for (text,) in texts] == said["non_numeric"]
        if not said["numeric"]:
            continue
        value = "CASE unit WHEN 'ns' THEN value / 1e9 ELSE value / 1048576 END"
        figures = (
            f"SELECT sum(v), avg(v), max(v), exp(avg(ln(v))) FROM (SELECT {value} AS v FROM metrics WHERE {{file}})"
        )
        assert all(map(near, ask(figures, path)[0], (said[key] for key in ("sum", "mean", "max", "geomean"))))
        models = [name for (name,) in ask("SELECT DISTINCT name FROM cases WHERE {file} ORDER BY 1", path)]
        assert models == said["models"]
