"""The views as other engines' SQL: all of them, or a reason."""

import functools
import re
import sys
import types
from collections.abc import Iterable

import bench.warehouse
import duckdb
import pytest
from bench import sql
from bench.cli import cli
from bench.warehouse.errors import BenchError, MissingExtra, UnknownName
from bench.warehouse.schema import create_tables
from click.testing import CliRunner

sqlglot = pytest.importorskip("sqlglot", reason="sqlglot is not installed: pip install -e '.[spark]'")

from bench.query.dialects import statements  # noqa: E402
from bench.query.spark_session import _cause, session  # noqa: E402
from bench.warehouse.translate import Untranslatable, reads, translate  # noqa: E402
from sqlglot import exp  # noqa: E402

pytestmark = pytest.mark.xdist_group("spark")  # what is translated for both is translated once

PUBLIC = {name for name in (*sql.tables(), *sql.views()) if not name.startswith("_")}
# Plain enough for every engine; whoever makes one of them less plain shall know it.
EVERYWHERE = {
    "case_outcomes",
    "compile_times",
    "geomean_speedups",
    "history",
    "pass_rates",
    "run_details",
    "samples",
    "speedups",
}


@functools.cache
def everything(dialect: str) -> list[str]:
    """What is printed of all views."""
    return list(statements(dialect, ()))


def untranslated(dialect: str) -> set[str]:
    """Names of the views there is only a comment for."""
    return {re.findall(r"^-- (\w+):", text)[0] for text in everything(dialect) if "-- Not translated" in text}


def code(texts: Iterable[str]) -> list[str]:
    """The statements without comments."""
    return list(filter(None, (re.sub(r"(?m)^--.*\n?", "", text).strip() for text in texts)))


@pytest.mark.parametrize("dialect", ["spark", "trino", "bigquery", "snowflake"])
def test_what_is_printed_is_sql_there(dialect: str) -> None:
    """Every statement parses in its own dialect, and reads nothing that comes after it."""
    ours, seen = sql.tables().keys() | sql.views().keys(), untranslated(dialect)
    for text in code(everything(dialect)):
        (statement,) = sqlglot.parse(text, dialect=dialect)
        made = statement.this.name if isinstance(statement, exp.Create) else ""
        steps = {step.alias for step in statement.find_all(exp.CTE)}
        read = {table.name for table in statement.find_all(exp.Table)} - steps - {made}
        assert not read & ours - seen
        seen.add(made)

    assert seen - untranslated(dialect) >= EVERYWHERE


def test_spark_has_all_of_them() -> None:
    """A view that Spark has nothing for fails."""
    assert untranslated("spark") == set()


@pytest.mark.parametrize("dialect", ["trino", "bigquery", "snowflake"])
def test_what_has_no_counterpart_says_why_and_what_else(dialect: str) -> None:
    """Rather than SQL that is broken, or that means another thing."""
    (cells,) = (text for text in everything(dialect) if text.startswith("-- cells:"))

    assert re.search(rf"(?s)Not translated: {dialect} has nothing .*bench sql\s(-- )?\"FROM", cells)
    assert "CREATE" not in cells


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
    assert {"cells", "_summaries"} < set(made) < PUBLIC | {"_summaries", "_touched"}


def test_a_macro_comes_with_its_defaults_or_as_a_query_with_parameters() -> None:
    """What must be given is a parameter; the rest is said."""
    limits, sides = (
        next(iter(reversed(list(statements("spark", [name]))))) for name in ("flags", "environment_differences")
    )

    assert "-- A macro, here with min_speedup := 0.95, max_compile_seconds := 120, min_compression := 0.9." in limits
    assert "CREATE OR REPLACE TEMPORARY VIEW `flags` AS" in limits
    assert "-- A query with parameters, not a view: base, candidate." in sides
    assert "ARRAY_CONTAINS(:base" in sides


def test_the_command_prints_it() -> None:
    """Without a store."""
    result = CliRunner().invoke(cli, ["views", "speedups", "--dialect", "trino"])

    assert result.exit_code == 0
    assert 'CREATE OR REPLACE VIEW "speedups" AS' in result.stdout


def test_wrong_names_and_arguments_are_said() -> None:
    """As everywhere."""
    with pytest.raises(UnknownName, match="speedups"):
        list(statements("trino", ["speedup"]))
    with pytest.raises(BenchError, match=r"flags takes other arguments: flags\(min_speedup := 0.95"):
        translate("FROM flags(least := 1)", "spark")
    with pytest.raises(BenchError, match="cannot read the query"):
        translate("SELECT (", "spark")
    with pytest.raises(Untranslatable, match="trino has nothing for list_avg"):
        translate("SELECT list_avg([1])", "trino")


def test_without_sqlglot_the_cure_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an extra."""
    monkeypatch.delitem(sys.modules, "bench.warehouse.translate")
    monkeypatch.delattr(bench.warehouse, "translate")
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(MissingExtra, match=r"needs sqlglot.*\[spark\]"):
        list(statements("spark", []))


def test_a_column_without_a_name_is_called_what_was_written() -> None:
    """As near to DuckDB as names go; not for BigQuery, whose names are of letters and digits."""
    query = "SELECT config, max(line) + 1, 'it''s' || config, r.* FROM runs AS r GROUP BY ALL ORDER BY max(line)"

    for dialect in ("spark", "trino", "snowflake", "bigquery"):
        names = sqlglot.parse_one(translate(query, dialect), dialect=dialect).named_selects
        said = ["_col_1", "_col_2"] if dialect == "bigquery" else ["max(line) + 1", "'it''s' || config"]
        assert names[:3] == ["config", *said]


def test_what_a_query_reads_is_found_through_views_and_macros() -> None:
    """Hostile or unknown names are nothing of ours."""
    assert reads("FROM pass_rates") >= {
        "pass_rates",
        "_summaries",
        "case_outcomes",
        "cells",
        "timings",
        "runs",
        "_touched",
    }
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
    with pytest.raises(BenchError, match="Spark needs Java, and there is none"), session("local[1]"):
        pass
