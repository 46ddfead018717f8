"""The views as SQL text for DuckDB and Spark."""

import functools
import re
import sys
import types
from collections.abc import Iterable

import bench.query.engines
import duckdb
import pytest
from bench import sql
from bench.cli import cli
from bench.warehouse.errors import BenchError, MissingExtra, UnknownName
from bench.warehouse.schema import create_tables
from click.testing import CliRunner

from ..exhaustive import exhaustive, first_of

sqlglot = pytest.importorskip("sqlglot", reason="sqlglot is not installed: pip install -e '.[spark]'")

from bench.query.engines import functions  # noqa: E402
from bench.query.engines.dialects import statements  # noqa: E402
from bench.query.engines.spark_session import _cause, session  # noqa: E402
from bench.query.engines.translate import Untranslatable, reads, translate  # noqa: E402
from sqlglot import exp  # noqa: E402

PUBLIC = {name for name in (*sql.tables(), *sql.views()) if not name.startswith("_")}


@functools.cache
def everything(dialect: str) -> list[str]:
    """What is printed of all views."""
    return list(statements(dialect, ()))


def code(texts: Iterable[str]) -> list[str]:
    """The statements without comments."""
    return list(filter(None, (re.sub(r"(?m)^--.*\n?", "", text).strip() for text in texts)))


@exhaustive
def test_what_is_printed_is_sql_in_spark() -> None:
    """Every statement parses there and reads only what comes before it; no view is left out."""
    ours, seen = sql.tables().keys() | sql.views().keys(), set[str]()
    for text in code(everything("spark")):
        (statement,) = sqlglot.parse(text, dialect="spark")
        made = statement.this.name if isinstance(statement, exp.Create) else ""
        steps = {step.alias for step in statement.find_all(exp.CTE)}
        read = {table.name for table in statement.find_all(exp.Table)} - steps - {made}
        assert not read & ours - seen
        seen.add(made)

    assert not any("-- Not translated" in text for text in everything("spark"))
    assert seen >= {view.name for view in sql.views().values() if view.arguments is None}


def test_what_has_no_counterpart_says_why_and_what_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rather than SQL that Spark cannot run, or that means something else there."""
    monkeypatch.delitem(functions.FUNCTIONS, "divide")

    (cells,) = (text for text in statements("spark", ["cells"]) if text.startswith("-- cells:"))

    assert re.search(r"(?s)Not translated: Spark has no counterpart of divide.*bench sql\s(-- )?\"FROM", cells)
    assert "CREATE" not in cells


@exhaustive
def test_duckdb_gets_the_files_as_they_are() -> None:
    """They make an empty warehouse's views."""
    with duckdb.connect() as connection:
        create_tables(connection)
        for text in everything("duckdb"):
            connection.execute(text)
        made = {
            name for (name,) in connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
        }

    assert made == {view.name for view in sql.views().values() if view.arguments is None}


def test_a_name_brings_what_it_reads() -> None:
    """And no more."""
    made = [
        name for text in code(statements("duckdb", ["pass_rates"])) for name in re.findall(r"^CREATE \w+ (\w+)", text)
    ]

    assert made[-1] == "pass_rates"
    assert {"cells", "_summaries"} < set(made) < PUBLIC | {"_run_records", "_summaries", "_touched"}


@pytest.mark.parametrize(
    "names", first_of(1, [["rounds", "_rounds"], [*sql.tables(), *sql.views()]]), ids=["two", "all"]
)
def test_what_a_name_reads_ends(names: list[str]) -> None:
    """Also where a step below it has its name, as in `rounds`; a view is not read because a step is named so."""
    views = sql.tables() | sql.views()
    read = {name: reads(views[name].query) for name in names}

    assert "_rounds" in read["rounds"] and "rounds" not in read["_rounds"]


@exhaustive
def test_a_macro_comes_with_its_defaults_or_as_a_query_with_parameters() -> None:
    """A required argument is a parameter; a comment says the rest."""
    limits, sides = (
        next(iter(reversed(list(statements("spark", [name]))))) for name in ("flags", "environment_differences")
    )

    assert "-- A macro, here with min_speedup := 0.95, max_compile_seconds := 120, min_compression := 0.9." in limits
    assert "CREATE OR REPLACE TEMPORARY VIEW `flags` AS" in limits
    assert "-- A query with parameters, not a view: base, candidate." in sides
    assert "ARRAY_CONTAINS(:base" in sides


@exhaustive
def test_the_command_prints_it() -> None:
    """Without a store."""
    result = CliRunner().invoke(cli, ["views", "speedups", "--dialect", "spark"])

    assert result.exit_code == 0
    assert "CREATE OR REPLACE TEMPORARY VIEW `speedups` AS" in result.stdout


def test_wrong_names_and_arguments_are_said() -> None:
    """As everywhere."""
    with pytest.raises(UnknownName, match="speedups"):
        list(statements("spark", ["speedup"]))
    with pytest.raises(BenchError, match=r"flags takes other arguments: flags\(min_speedup := 0.95"):
        translate("FROM flags(least := 1)")
    with pytest.raises(BenchError, match="cannot read the query"):
        translate("SELECT (")
    with pytest.raises(Untranslatable, match="sort it the other way"):
        translate("SELECT list(line ORDER BY line DESC) FROM runs")


def test_without_sqlglot_the_cure_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an extra."""
    monkeypatch.delitem(sys.modules, "bench.query.engines.translate")
    monkeypatch.delattr(bench.query.engines, "translate")
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(MissingExtra, match=r"needs sqlglot.*\[spark\]"):
        list(statements("spark", []))


def test_a_column_without_a_name_is_called_what_was_written() -> None:
    """As near to DuckDB as names go."""
    query = "SELECT config, max(line) + 1, 'it''s' || config, r.* FROM runs AS r GROUP BY ALL ORDER BY max(line)"

    names = sqlglot.parse_one(translate(query), dialect="spark").named_selects
    assert names[:3] == ["config", "max(line) + 1", "'it''s' || config"]


def test_what_a_query_reads_is_found_through_views_and_macros() -> None:
    """Hostile or unknown names are nothing of ours."""
    assert reads("FROM pass_rates") >= {
        "pass_rates", "_summaries", "case_outcomes", "cells", "timings", "runs", "_touched",
    }  # fmt: skip
    assert reads("FROM flags(min_speedup := 1)") >= {"case_summaries"}
    assert reads('FROM "x; DROP TABLE runs"') == set()


def test_why_spark_did_not_start_is_one_line() -> None:
    """Of a master that nobody answers for, what it logged; else the first exception; never the trace of a stopped context."""
    trace = "Cannot call methods on a stopped SparkContext.\nThis was created at:\n  at x.y(Z.scala:1)"
    logged = "26/11/22 08:55:08 ERROR Backend: All masters are unresponsive! Giving up.\n"

    assert _cause(logged, trace) == "All masters are unresponsive! Giving up"
    assert _cause("Exception in thread main SparkException: Bad master.\n  at x", trace) == "Bad master"
    assert _cause("", trace) == "Cannot call methods on a stopped SparkContext"


def test_without_pyspark_or_java_the_cure_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is started."""
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(MissingExtra, match=r"needs pyspark.*\[spark\]"), session("local[1]"):
        pass
    for name in ("pyspark", "pyspark.sql"):
        monkeypatch.setitem(sys.modules, name, types.SimpleNamespace(SparkSession=None))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BenchError, match="Spark needs Java, but there is no `java` in PATH"), session("local[1]"):
        pass
