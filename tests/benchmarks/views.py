"""What every view costs over 20,000 cases in each of 50 runs: seconds, and memory of a process that asks for all rows.

The store has scheduler steps, traced source lines and operators of models as well, and 38 % of the cases are flagged in a run.
A process asks for every column of every row, and keeps none; views of two sides compare the last two runs.
"""

import tempfile
from pathlib import Path

import duckdb
from bench import sql
from bench.warehouse.snapshot import empty
from bench.warehouse.views import compute_derived

from ..builders import call
from .figures import Figures, python

RUNS, WORKS, BACKENDS = 50, 4_000, 5
STEPS, LINES, OPERATORS = 20_000, 2_000, 40  # of a run: scheduler steps, source lines, operators of each of 100 models
SLOWEST, LARGEST = 1.0, 1000  # s, MB
BARS = {  # verdicts may take longer: docs/decisions/2026-11-26-times-above-their-goals.md
    "newly_flagged": (0.5, 500), "regressions": (1.2, LARGEST), "regression_findings": (1.6, LARGEST),
}  # fmt: skip
SIDES = f"['run-{RUNS - 2:03}']", f"['run-{RUNS - 1:03}']"
ASK = """
import sys, time, duckdb
connection = duckdb.connect(sys.argv[1], read_only=True)
connection.execute("SET enable_progress_bar = false")
began = time.perf_counter()
connection.execute(f"SELECT max(hash(row)) FROM (SELECT row FROM {sys.argv[2]} AS row)").fetchall()
print(time.perf_counter() - began)
"""


def measure(figures: Figures) -> None:
    """Fill a store, then ask for one view after the other."""
    with tempfile.TemporaryDirectory() as name:
        database = Path(name, "warehouse.duckdb")
        fill(database)
        for view in sql.views().values():
            if view.columns and not view.name.startswith("_"):
                answer = python(ASK, str(database), call(view, *SIDES))
                slowest, largest = BARS.get(view.name, (SLOWEST, LARGEST))
                figures.add(f"{view.name}, 1M cases", float(answer.stdout), "s", most=slowest)
                figures.add(f"memory of {view.name}, 1M cases", answer.peak_bytes / 1e6, "MB", most=largest)


def fill(database: Path, works: int = WORKS) -> None:
    """Write the events of the store, and derive its tables."""
    database.write_bytes(empty())
    with duckdb.connect(str(database)) as connection:
        connection.execute("SELECT setseed(0.5)")
        for table, select in _events(works).items():
            for rows in select:
                connection.execute(f"INSERT INTO {table} BY NAME {rows}")
        run_ids = [run_id for (run_id,) in connection.execute("SELECT run_id FROM runs").fetchall()]
        compute_derived(connection, run_ids)


def _events(works: int) -> dict[str, tuple[str, ...]]:
    """The rows of each table."""
    run = f"(SELECT format('run-{{:03}}', n) AS run_id, n FROM range({RUNS}) AS of(n)) AS run"
    case = f"""(
        SELECT format('case-{{:05}}', n) AS case_id, format('work-{{:05}}', n // {BACKENDS}) AS work_hash, n // {BACKENDS} AS work,
            n % {BACKENDS} AS side, 1 + hash(n) % 1000 / 1500.0 AS gain
        FROM range({works * BACKENDS}) AS of(n)
    ) AS it"""
    noise = "exp(0.03 * sqrt(-2 * ln(1 - random())) * cos(6.283 * random()))"
    steps = f"range({STEPS}) AS of(i)"
    traced = f"range({LINES}) AS of(i)"
    operators = f"range({OPERATORS}) AS of(operator)"
    return {
        "runs": (
            f"""SELECT run_id, 'nightly' AS config, 'measure' AS source, 'host' AS host,
                    TIMESTAMP '2026-01-01' + n * INTERVAL 1 DAY AS started_at, format('{{:040x}}', n) AS git_commit FROM {run}""",
        ),
        "cases": (
            f"""SELECT run_id, case_id, work_hash, 'suite-' || work % 4 AS suite, 'model-' || work AS name, 'inference' AS mode,
                    'cpu' AS device, 'float32' AS dtype, ['eager', 'inductor', 'aot', 'onnx', 'script'][side + 1] AS backend,
                    8 AS batch_size FROM {case}, {run}""",
        ),
        "outcomes": (
            f"""SELECT run_id, case_id, 'performance' AS kind, CASE WHEN random() < 0.01 THEN 'OOM' ELSE 'ok' END AS status
                FROM {case}, {run}""",
        ),
        "timings": (
            f"""SELECT run_id, case_id, 'latency' AS metric, 'steady' AS phase, 1 AS loops,
                    (1e7 * {noise} / CASE WHEN side = 0 THEN 1.38 ELSE gain END)::BIGINT AS duration_ns
                FROM {case}, {run}""",
        ),
        "metrics": (
            f"""SELECT run_id, case_id, 'compile_latency' AS metric, 'ns' AS unit, 'lower' AS better,
                    (20 + work % 130) * 1e9 * {noise} AS value FROM {case}, {run} WHERE side > 0""",
            f"""SELECT run_id, case_id, 'graph_break:reason ' || work % 7 AS metric, 'count' AS unit, 1.0 AS value
                FROM {case}, {run} WHERE side = 1 AND work % 40 = 0""",
            f"""SELECT run_id, case_id, prefix || 'operator:aten.op' || operator AS metric, 'count' AS unit, 3.0 AS value
                FROM {case}, {run}, {operators}, (VALUES (''), ('graph_')) AS kinds(prefix) WHERE side = 0 AND work < 100""",
        ),
        "memory_samples": (
            f"""SELECT run_id, case_id, 'rss_growth' AS source, 'peak' AS statistic, (1e8 * {noise})::BIGINT AS size_bytes
                FROM {case}, {run}""",
            f"""SELECT run_id, 'case-00000' AS case_id, 'rss' AS source, 'reading' AS statistic, i + 1 AS line,
                    'a.py:' || i AS place, (1e8 * {noise})::BIGINT AS size_bytes FROM {run}, {traced}""",
        ),
        "memory_lines": (
            f"""SELECT run_id, 'case-00000' AS case_id, 'a.py' AS file, i + 1 AS line, 'f' AS function, 'x = 1' AS text, 1 AS hits,
                    100 AS start_bytes, 300 AS peak_bytes, 200 AS end_bytes, 100 AS increase_bytes FROM {run}, {traced}""",
        ),
        "schedule_chunks": (
            f"""SELECT run_id, 'writer' AS writer, i + 1 AS line, i AS batch_id, [1 + i % 900, 5] AS chunk_sizes, 0.1 AS schedule_ms,
                    5 + i % 900 / 100.0 * {noise} AS model_run_ms, 3 AS waiting, 2 AS running FROM {run}, {steps}""",
        ),
    }  # fmt: skip
