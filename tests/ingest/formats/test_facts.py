"""Every number of the real files that an independent reader computed comes out of the warehouse by a query."""

import math
from pathlib import Path

import pytest

from .facts import Ask, Facts, load, near, of, one

FOLDERS = (
    "pytest_benchmark", "pyperf", "google_benchmark", "hyperfine", "gh_action_benchmark_datajs", "otava_csv",
    "conbench_outliers", "asv/example_results", "criterion", "jmh", "benchmarkdotnet", "go_bench", "cargo_criterion_text",
    "nvbench", "testinfra_v3", "conbench",
)  # fmt: skip


@pytest.fixture(scope="module")
def ask(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """Questions to a store that holds the real files."""
    report, ask = load(tmp_path_factory, [shared_data / folder for folder in FOLDERS])
    assert sum(line.rejected for line in report.lines) == 0
    return ask


@pytest.mark.exhaustive
def test_every_byte_was_read(ask: Ask, facts: Facts) -> None:
    """The size of each file is that of its source."""
    checked = 0
    for path, said in facts.items():
        if "size" in said and path.startswith(FOLDERS) and not path.startswith("criterion"):
            assert ask("SELECT bytes FROM source_files WHERE ends_with(path, ?)", path) == [(said["size"],)], path
            checked += 1
    assert checked >= 20


def test_pytest_benchmark(ask: Ask, facts: Facts) -> None:
    """Means, rounds and data points, of which the sample's authors left most out."""
    for path, said in of(facts, "pytest_benchmark"):
        rows = ask("""
            SELECT split_part(name, '::', -1), value / 1e9
            FROM metrics JOIN cases USING (run_id, case_id)
            WHERE metric = 'latency' AND statistic = 'mean' AND metrics.{file}
            ORDER BY metrics.line
        """, path)  # fmt: skip
        assert [name for name, _ in rows] == said["names"]
        assert all(near(mean, said["means"][name]) for name, mean in rows)
        assert near(sum(mean for _, mean in rows), said["mean_sum"])
        assert len(rows) == said["benchmarks"]
        assert one(ask("SELECT sum(value) FROM metrics WHERE metric = 'rounds' AND {file}", path)) == said["rounds_sum"]
        points = """
            SELECT (SELECT count(*) FROM timings WHERE {file})
                 + (SELECT count(*) FROM metrics WHERE metric = 'latency' AND statistic IS NULL AND {file})
        """
        assert one(ask(points, path, path)) == said["data_points"]


def test_pyperf(ask: Ask, facts: Facts) -> None:
    """Values per loop, workers, and calibration apart from them."""
    for path, said in of(facts, "pyperf"):
        assert said["benchmarks"] == one(ask("SELECT count(DISTINCT case_id) FROM cases WHERE {file}", path))
        for each in said["per"]:
            row = ask("""
                WITH sample AS (
                    SELECT duration_ns / loops / 1e9 AS value, phase, process
                    FROM timings JOIN cases USING (run_id, case_id) WHERE name = ? AND timings.{file}
                )
                SELECT
                    count(*) FILTER (phase = 'steady'), count(DISTINCT process),
                    count(DISTINCT process) - count(DISTINCT process) FILTER (phase = 'steady'),
                    avg(value) FILTER (phase = 'steady'), median(value) FILTER (phase = 'steady'),
                    min(value) FILTER (phase = 'steady'), max(value) FILTER (phase = 'steady'),
                    stddev_samp(value) FILTER (phase = 'steady')
                FROM sample
            """, each["name"], path)[0]  # fmt: skip
            assert row[:3] == (each["values"], each["runs"], each["calib_or_warmup_only"])
            for value, name in zip(row[3:], ("mean", "median", "min", "max"), strict=False):
                assert near(value, each[name]), (each["name"], name)
            assert math.isclose(row[7], each["stdev"], rel_tol=1e-5)


def test_google_benchmark(ask: Ask, facts: Facts) -> None:
    """Real times by entry, whatever unit; run types; duplicate names."""
    factors = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
    for path, said in of(facts, "google_benchmark"):
        text = """
            SELECT
                line, coalesce(original_value::JSON ->> 'time_unit', 'ns'), original_value::JSON ->> 'run_type',
                original_value::JSON ->> 'name'
            FROM metrics WHERE metric = 'fields' AND {file} ORDER BY line
        """
        said_of = {line: (unit, kind, name) for line, unit, kind, name in ask(text, path)}
        rows = ask("""
            SELECT line, name, sum(value) FROM (
                SELECT run_id, case_id, line, duration_ns / loops AS value FROM timings WHERE metric = 'latency' AND {file}
                UNION ALL
                SELECT run_id, case_id, line, CASE WHEN statistic NOT IN ('BigO', 'RMS') THEN value END
                FROM metrics WHERE metric = 'latency' AND {file}
            ) JOIN (SELECT DISTINCT run_id, case_id, name FROM cases) USING (run_id, case_id) GROUP BY ALL ORDER BY line
        """, path, path)  # fmt: skip
        assert len(rows) == said["benchmarks"]
        for (key, real), (line, name, value) in zip(
            sorted(said["real"].items(), key=lambda pair: int(pair[0].partition("#")[2])), rows, strict=True
        ):
            assert key.startswith(name) and int(key.partition("#")[2]) == line - 1
            assert (real is None) == (value is None)
            assert real is None or near(value, real * factors[said_of[line][0]])
        assert said["dup_names"] == len(rows) - len({said_of[line][2] or name for line, name, _ in rows})
        kinds = [said_of[line][1] for line, _, _ in rows]
        assert said["run_type"] == {kind or "(none)": kinds.count(kind) for kind in set(kinds)}


def test_hyperfine(ask: Ask, facts: Facts) -> None:
    """Its own statistics agree with those of its times."""
    for path, said in of(facts, "hyperfine"):
        assert said["results"] == one(ask("SELECT lines FROM source_files WHERE ends_with(path, ?)", path))
        for each in said["per"]:
            aggregates: dict[str, float] = dict(ask("""
                SELECT statistic, value / 1e9 FROM metrics JOIN cases USING (run_id, case_id)
                WHERE name = ? AND metric = 'latency' AND statistic IS NOT NULL
            """, each["command"]))  # fmt: skip
            for name in ("mean", "median", "min", "max", "stddev"):
                assert near(aggregates[name], each[name])
            cell = ask("SELECT n, mean / 1e9 FROM cells WHERE name = ? AND metric = 'latency'", each["command"])
            assert cell[0][0] == each["times"]
            assert near(cell[0][1], each["recomputed_mean"])


def test_github_action_benchmark(ask: Ask, facts: Facts) -> None:
    """Entries are runs in order; series have their length and their mean."""
    for path, said in of(facts, "gh_action_benchmark_datajs"):
        for suite, each in said["suites"].items():
            runs = ask("""
                SELECT left(git_commit, 10), epoch_ms(started_at) FROM runs
                WHERE suite = ? AND run_id IN (SELECT run_id FROM metrics WHERE {file}) ORDER BY started_at
            """, suite, path)  # fmt: skip
            assert (len(runs), list(runs[0]), list(runs[-1])) == (each["entries"], each["first"], each["last"])
            assert each["dup_commits"] == len(runs) - len({commit for commit, _ in runs})
            values = ask("""
                SELECT name, value, position FROM series WHERE suite = ? AND metric = 'throughput_mean' ORDER BY name, position
            """, suite)  # fmt: skip
            assert each["bench_points"] == len(values)
            assert each["series"] == len({name for name, _, _ in values})
            length, name, mean = each["longest"]
            points = [value for named, value, _ in values if named == name]
            assert len(points) == length
            assert near(sum(points) / length, mean)
            units = ask("SELECT DISTINCT original_unit FROM metrics WHERE metric = 'throughput' AND {file}", path)
            assert [unit for (unit,) in units] == each["units"]
            tools = ask("SELECT DISTINCT tags ->> 'tool' FROM runs WHERE suite = ?", suite)
            assert [tool for (tool,) in tools] == each["tools"]


def test_otava(ask: Ask, facts: Facts) -> None:
    """Rows but the header, each a run."""
    for path, said in of(facts, "otava_csv"):
        assert one(ask("SELECT lines + 1 FROM source_files WHERE ends_with(path, ?)", path)) == said["lines"]
        names = ask("SELECT DISTINCT metric FROM metrics WHERE {file} ORDER BY 1", path)
        assert ["time", "commit", *(name for (name,) in names)] == said["head"].replace(";", ",").split(",")


def test_conbench_outliers(ask: Ask, facts: Facts) -> None:
    """NaN is a value that is none; the outliers are there; the comments are noted."""
    for path, said in of(facts, "conbench_outliers"):
        rows, none, mean, median, outliers, noted = ask("""
            SELECT
                count(*), count(*) - count(value), avg(value), median(value),
                list_sort(max(value, 2)), (SELECT notes FROM source_files WHERE ends_with(path, ?))
            FROM metrics WHERE {file}
        """, path, path)[0]  # fmt: skip
        assert (rows, none) == (said["rows"], said["nan"])
        assert near(mean, said["mean_non_nan"]) and near(median, said["median_non_nan"])
        assert outliers == said["expected_outlier_values"]
        assert f"{said['comment_lines']} lines are comments" in noted


def test_asv(ask: Ask, facts: Facts) -> None:
    """Benchmarks over commits; null is a failure, NaN a skip."""
    said = facts["asv/example_results"]
    files = "SELECT count(*), sum(loaded)::BIGINT FROM source_files WHERE format = 'asv'"
    assert ask(files) == [(said["result_files"], said["result_entries"])]
    names = ask("""
        SELECT name, count(DISTINCT run_id) FROM cases JOIN runs USING (run_id)
        WHERE source = 'asv' GROUP BY name ORDER BY 2 DESC, name
    """)  # fmt: skip
    assert len(names) == said["distinct_benchmarks"]
    assert all((name, count) in names for name, count in map(tuple, said["most"]))
    failed = """
        SELECT count(*) FROM case_outcomes JOIN runs USING (run_id)
        WHERE source = 'asv' AND status = 'fail_to_run' AND (parameters ->> 'param1') IS NULL
    """
    assert one(ask(failed)) == said["null_entries"]
    assert len(said["unparseable"]) == one(ask("SELECT count(*) FROM rejects"))


def test_criterion(ask: Ask, facts: Facts) -> None:
    """Estimates, changes and samples of each benchmark and baseline."""
    for path, said in of(facts, "criterion"):
        _, *name, baseline, file = path.split("/")
        config = "criterion/base" if baseline == "base" else "criterion"
        where = ("/".join(name), config)
        if file == "estimates.json":
            metric = "change" if baseline == "change" else "latency"
            value = ask(
                "SELECT median FROM cells WHERE name = ? AND config = ? AND metric = ?", *where, f"{metric}_mean"
            )
            assert near(one(value), said["mean"])
        else:
            cell = ask("SELECT n, mean, median FROM cells WHERE name = ? AND config = ? AND metric = 'latency'", *where)
            assert cell[0][0] == said["samples"]
            assert near(cell[0][1], said["mean_ns"]) and near(cell[0][2], said["median_ns"])


def test_jmh(ask: Ask, facts: Facts) -> None:
    """Scores and raw data by benchmark and parameters."""
    for path, said in of(facts, "jmh"):
        assert said["benchmarks"] == one(ask("SELECT count(*) FROM cases WHERE {file}", path))
        for each in said["per"]:
            row = ask("""
                SELECT
                    max(value) FILTER (statistic = 'mean'), count(*) FILTER (statistic IS NULL AND value IS NOT NULL),
                    avg(value) FILTER (statistic IS NULL), any_value(unit), any_value(parameters ->> 'jmh.mode')
                FROM metrics JOIN cases USING (run_id, case_id)
                WHERE name = ? AND (parameters ->> 'computeType') = ? AND metric = 'throughput'
            """, each["b"], each["params"]["computeType"])[0]  # fmt: skip
            assert near(row[0], each["score"]) and near(row[2], each["raw_mean"])
            assert row[1:2] + row[3:] == (each["raw"], each["unit"], each["mode"])


def test_benchmark_dotnet(ask: Ask, facts: Facts) -> None:
    """Statistics in ns; no memory was measured."""
    for path, said in of(facts, "benchmarkdotnet"):
        rows = ask("""
            SELECT
                name, max(value) FILTER (metric = 'samples'), max(value) FILTER (metric = 'latency' AND statistic = 'mean'),
                count(*) FILTER (metric = 'allocated')
            FROM metrics JOIN cases USING (run_id, case_id) WHERE metrics.{file} GROUP BY name ORDER BY name
        """, path)  # fmt: skip
        assert len(rows) == said["benchmarks"]
        assert [n for _, n, _, _ in rows] == said["n"]
        assert any(near(mean, said["means"]["null"]) for _, _, mean, _ in rows)
        assert sum(memory for _, _, _, memory in rows) == said["has_memory"]
        assert all(name.startswith(said["namespaces"][0]) for name, _, _, _ in rows)


def test_go(ask: Ask, facts: Facts) -> None:
    """Times in the order of the lines, and their geometric mean."""
    for path, said in of(facts, "go_bench"):
        rows = ask("""
            SELECT name, duration_ns / loops FROM timings JOIN cases USING (run_id, case_id)
            WHERE timings.{file} ORDER BY timings.line
        """, path)  # fmt: skip
        assert [name for name, _ in rows] == said["names"]
        assert all(near(value, expected) for (_, value), expected in zip(rows, said["ns_op"], strict=True))
        assert len(rows) == said["lines"] == len({name for name, _ in rows}) + said["dup"]
        geomean = "SELECT exp(avg(ln(duration_ns / loops))) FROM timings WHERE {file}"
        assert near(one(ask(geomean, path)), said["geomean"])


def test_nvbench(ask: Ask, facts: Facts) -> None:
    """States, skips, summaries, axes and devices."""
    for path, said in of(facts, "nvbench"):
        assert one(ask("SELECT lines FROM source_files WHERE ends_with(path, ?)", path)) == said["states"]
        assert one(ask("SELECT count(*) FROM outcomes WHERE status = 'skipped' AND {file}", path)) == said["skipped"]
        assert one(ask("SELECT count(*) FROM metrics WHERE metric <> 'fields' AND {file}", path)) == said["summaries"]
        axes = ask("""
            SELECT name, list_filter(list_distinct(flatten(list(json_keys(parameters)))), lambda key: key <> 'gpu')
            FROM cases WHERE {file} GROUP BY name ORDER BY min(line)
        """, path)  # fmt: skip
        assert [name for name, _ in axes] == said["benchmarks"]
        assert {name: sorted(keys) for name, keys in axes} == said["axes"]
        assert (
            one(ask("SELECT len(gpus) FROM environments WHERE len(gpus) > 0 AND gpus[1] LIKE 'Quadro%'"))
            == said["devices"]
        )


def test_testinfra(ask: Ask, facts: Facts) -> None:
    """Instruction counts, one a file."""
    for path, said in of(facts, "testinfra_v3"):
        rows = ask("SELECT metric, value FROM metrics WHERE value IS NOT NULL AND {file} ORDER BY line", path)
        assert [metric for metric, _ in rows] == said["metrics"]
        assert [[value] for _, value in rows] == said["values"]
        assert one(ask("SELECT lines FROM source_files WHERE ends_with(path, ?)", path)) == said["records"]


def test_conbench(ask: Ask, facts: Facts) -> None:
    """A page of results, and a run that has none."""
    for path, said in of(facts, "conbench"):
        assert one(ask("SELECT count(*) FROM cases WHERE {file}", path)) == said["data_len"]
