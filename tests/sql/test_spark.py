"""Spark and DuckDB, asked the same of the same events. One Java, started once, in one process of xdist."""

import decimal
import math
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from bench import sql
from bench.cli import cli
from bench.query.engines.spark_session import answer, session
from bench.spark import ask, register
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError
from bench.warehouse.events import TABLES, Event, Timing
from bench.warehouse.log import EventLog, sha256
from bench.warehouse.store import Store
from click.testing import CliRunner

from ..builders import call, case, run, timing
from ..exhaustive import exhaustive
from .everything import SIDES, everything, extremes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install -e '.[spark]'")
pytest.importorskip("sqlglot", reason="sqlglot is not installed: pip install -e '.[spark]'")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java: apt install openjdk-17-jre-headless", allow_module_level=True)

pytestmark = exhaustive

# Nothing is compiled for plans that run once: a third of the time.
SMALL = {
    "spark.sql.shuffle.partitions": "1", "spark.sql.adaptive.enabled": "false", "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN", "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}  # fmt: skip

DERIVED = [view for view in (sql.tables() | sql.views()).values() if view.columns]
# Spark takes minutes to analyse them, or a rule of it breaks their plan; docs/spark.md says which.
TOO_DEEP = {
    "call_results", "case_results", "comparisons", "comparison_means", "crossovers", "recent_steps", "regression_findings",
    "regressions", "request_times", "series_levels", "shared_shifts",
}  # fmt: skip
NO_SPARK = {"trace_parts", "trace_part_sides"}  # paths of JSON in a list; docs/spark.md says so, too
EMPTY = {"_machine_names"}  # whoever opens the warehouse fills it
NAMES = [
    *TABLES,
    *(
        view.name
        for view in DERIVED
        if view.name not in TOO_DEEP | NO_SPARK | EMPTY
        if view.arguments is None or not view.name.startswith("_")
    ),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Everything there is, in two files a table, and in a folder whose name Spark would take for a pattern."""
    store = Store(tmp_path_factory.mktemp("spark") / "{a,b} [c]*").create()
    log, rows = EventLog(store), dict[type[Event], list[Event]]()
    for event in everything():
        rows.setdefault(type(event), []).append(event)
    for kind, some in rows.items():
        log.write(kind, some[::2], "first")
        log.write(kind, some[1::2], "second")
    # not committed by a `sources` file: it does not count
    log.write(Timing, [timing(case("ghost", "main-1"), 1)], "import-unfinished")
    return store


@pytest.fixture(scope="module")
def spark(store: Store, tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    """A session that has the store."""
    folder = str(tmp_path_factory.mktemp("catalog"))
    with session("local[1]", **SMALL, **{"spark.sql.warehouse.dir": folder}) as spark:
        assert register(spark, store) == {}
        yield spark


@pytest.fixture(scope="module")
def duck(store: Store) -> Iterator[Warehouse]:
    with Warehouse.open(store) as warehouse:
        yield warehouse


@pytest.mark.parametrize("name", NAMES)
def test_every_table_and_view_is_the_same_on_both_engines(name: str, spark: "SparkSession", duck: Warehouse) -> None:
    """All rows, all columns: texts and whole numbers equal, the others to nine digits."""
    view = next((view for view in DERIVED if view.name == name), None)
    query = f"SELECT * FROM {call(view, *SIDES, ttft='70') if view else name}"
    frame = ask(spark, query)
    found = duck.connection.execute(query)
    expected = [_plain(row) for row in found.fetchall()]
    actual = [_plain(tuple(row)) for row in frame.collect()]

    assert [column[0] for column in found.description or ()] == frame.columns
    assert expected, "nothing to compare: tests/sql/everything.py wants events that this view shows"
    assert len(expected) == len(actual)
    for a, b in zip(sorted(expected, key=_order), sorted(actual, key=_order), strict=True):
        assert all(map(_same, a, b)), (a, b)


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_plain(part) for part in value)
    return float(value) if isinstance(value, decimal.Decimal) else value


def _order(value: Any) -> Any:
    """NULL first, and numbers as far as they are compared."""
    if isinstance(value, tuple):
        return tuple(_order(part) for part in value)
    if isinstance(value, int | float):
        return (1, float(f"{value:.6g}"))
    return (0, "") if value is None else (2, str(value))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and (a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12))
    return bool(a == b)


def test_no_value_closes_a_view(spark: "SparkSession", tmp_path: Path) -> None:
    """Extremes of every column's type, in the views that compute with them."""
    extreme, rows = Store(tmp_path / "store").create(), dict[type[Event], list[Event]]()
    for event in extremes(1):
        rows.setdefault(type(event), []).append(event)
    for kind, some in rows.items():
        EventLog(extreme).write(kind, some, "one")
    computing = [
        "step_breakdown", "step_cells", "runtime_vs_tokens", "runtime_vs_tokens_counts", "memory_totals", "graph_break_reasons",
        "operator_coverage", "source_files", "config_summaries", "step_cost_models", "samples", "noise_floors",
        "step_phases", "step_phase_costs",
    ]  # fmt: skip
    mine = spark.newSession()
    register(mine, extreme, only=computing)

    for name in computing:
        mine.table(name).write.format("noop").mode("overwrite").save()  # every column, unlike count()


@pytest.mark.parametrize(
    "expression",
    [
        "[10, 20][2]", "[10][2]", "[1, 2, 3, 4][2:3]", "list_avg([1, 2])", "list_sum([1, 2])", "list_sum([]::BIGINT[])",
        "list_median([4, 1, 2])", "list_stddev_samp([1, 2, 4])", "list_stddev_samp([1])", "list_position(['a'], 'b')",
        "list_aggregate([1, 2, 4], 'quantile_cont', 0.25)", "len([1, NULL])", "length('abc')", "greatest(1, NULL)",
        "2.5::DOUBLE::BIGINT", "3.5::DOUBLE::BIGINT", "7 // 2", "1 / 4", "printf('%g %%', 100 * 0.02)",
        "printf('%g', 120::DOUBLE)",
        "format('{:.2g}|{}', 0.00001::DOUBLE, 'x')", "round_even(2.5::DOUBLE, 0)", "'a' || NULL", "concat_ws('-', 'a', NULL)",
        "list_transform(range(1, 1), lambda i: i)", "step_cost_ms(100, 2, 1.0, 2.0, 64, 0.1, 0.5)",
        "step_phase_cost_ms(100, 2, NULL, 6.0, 0.02, 0.01, 0.0)",
        "json_object('a', 'b')", "floor(log2(8))", "list_filter([1, 2], lambda i: i > 1)", "_t975(5)", "_t_tail(2.5, 7)",
        "_digamma(2.5)", "_trigamma(0.5)",
        "_finite('nan'::DOUBLE)", "_finite(1.5)", "_difference(9223372036854775807, -1)", "_fixed_point(1e300, 1e6)",
        "_step_tokens([]::BIGINT[], 7)", "_step_tokens([512, 1], 7)",
        "_token_bin(1023)", "_token_bin(-1)", "_token_bin_name(512)",
    ],
)  # fmt: skip
def test_functions_mean_the_same(expression: str, spark: "SparkSession", duck: Warehouse) -> None:
    """Those that have another name elsewhere, at the edges where engines differ."""
    ((expected,),) = duck.rows(f"SELECT {expression}")
    ((actual,),) = ask(spark, f"SELECT {expression} AS it").collect()

    assert _same(_plain(expected), _plain(actual)), (expected, actual)


def test_nothing_but_its_own_session_is_touched(spark: "SparkSession", tmp_path: Path) -> None:
    """A temporary view of the same name is replaced, another session's and a table of the catalog are not."""
    small = Store(tmp_path / "store").create()
    EventLog(small).write(Timing, [timing(case("only", "small"), 7)], "one")
    mine = spark.newSession()
    mine.sql("SELECT 'mine' AS it").createOrReplaceTempView("timings")
    mine.sql("CREATE TABLE default.runs USING parquet AS SELECT 'kept' AS it")
    register(mine, small, only=["timings", "runs"])

    assert [row.duration_ns for row in mine.table("timings").collect()] == [7]
    assert mine.table("runs").collect() == []
    assert [row.it for row in mine.table("spark_catalog.default.runs").collect()] == ["kept"]
    assert [row.n for row in ask(spark, "SELECT count(*) AS n FROM timings WHERE duration_ns = 7").collect()] == [0]


def test_an_older_file_reads_as_null_and_a_newer_one_is_left_out(spark: "SparkSession", tmp_path: Path) -> None:
    """The schema is the declared one, whatever columns a file has."""
    import pyarrow.parquet as pq

    small = Store(tmp_path / "store").create()
    path = EventLog(small).write(Timing, [timing(case("old", "small"), 7, sample=3)], "old")
    old = pq.read_table(path).drop_columns(["sample"])
    pq.write_table(old, path)
    path = path.rename(path.with_name(f"old-{sha256(path)[:16]}.parquet"))
    newer = old.replace_schema_metadata({**old.schema.metadata, b"bench.version": b"99"})
    pq.write_table(newer, new := path.with_name("new.parquet"))
    new = new.rename(new.with_name(f"new-{sha256(new)[:16]}.parquet"))
    said: list[str] = []
    found = answer(spark.newSession(), small, "SELECT count(*) FROM timings", said.append)
    assert (found.columns, list(found.rows)) == (["count(*)"], [(1,)])
    mine = spark.newSession()
    register(mine, small, only=["timings"])

    assert [(row.duration_ns, row.sample) for row in mine.table("timings").collect()] == [(7, None)]
    assert f"left out: {new.name} was written as timings v99" in said[0]


def test_executors_elsewhere_read_the_log_by_its_address(spark: "SparkSession", tmp_path: Path) -> None:
    """The files that count are looked up here, and read there."""
    here, there = Store(tmp_path / "here").create(), tmp_path / "there"
    path = EventLog(here).write(Timing, [timing(case("m", "small"), 7)], "one")
    shutil.copytree(here.events, there)
    mine = spark.newSession()
    register(mine, here, log=f"file://{there}/", only=["timings"])

    assert mine.table("timings").inputFiles() == [f"file://{there}/timings/{path.name}"]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, spark: "SparkSession", store: Store) -> Any:
    """The command line, on the session there is."""
    mine = spark.newSession()
    monkeypatch.setattr("bench.query.engines.spark_session.session", lambda master: nullcontext(mine))
    return lambda *words: CliRunner().invoke(cli, [*words, "--store", str(store.root)])


@pytest.mark.parametrize("fmt", ["csv", "json", "table"])
def test_the_command_prints_the_same(bench: Any, fmt: str) -> None:
    """The same question, the same text."""
    query = "SELECT run_id, began_at, git_commit, host IS NULL AS nowhere FROM _run_times ORDER BY run_id"
    ours, theirs = bench("sql", query, "--format", fmt), bench("sql", query, "--format", fmt, "--engine", "spark")

    assert theirs.exit_code == 0, theirs.output
    assert ours.stdout == theirs.stdout


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT * FROM _run_tim", "no table or view '_run_tim'"),
        ("SELECT nothing FROM runs", "nothing"),
        ("SELECT (", "cannot read the query"),
        ("DROP TABLE runs", "only a question"),
        ("FROM flags(1, 2, 3, 4)", "flags takes other arguments: flags(min_speedup := 0.95"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(bench: Any, query: str, said: str) -> None:
    """No plan, no trace, and no more than one paragraph."""
    result = bench("sql", "--engine", "spark", query)

    assert isinstance(result.exception, BenchError)
    assert said in str(result.exception)
    assert "org.apache" not in str(result.exception)


def test_a_run_that_nobody_described_is_there(spark: "SparkSession", tmp_path: Path) -> None:
    """Its cases and steps say it."""
    small = Store(tmp_path / "store").create()
    of = case("m", "lost")
    EventLog(small).write(type(of), [of], "one")
    EventLog(small).write(type(run()), [run("known")], "one")
    mine = spark.newSession()
    register(mine, small, only=["case_outcomes"])

    assert [(row.run_id, row.config) for row in mine.table("case_outcomes").collect()] == [("lost", None)]
