"""`bench sql` holds a list of what is allowed: statements of every type that DuckDB has, in every place, write nothing."""

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import duckdb
import pytest
from bench.query.allowed import READERS, VALUE_FUNCTIONS
from bench.query.ask import ask, lock_settings
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError
from bench.warehouse.store import Store
from hypothesis import given
from hypothesis import strategies as st

# A statement of each of DuckDB's types that writes, loads, or hides another that does; {out} is a folder to write into, and
# {made} one that holds schema.sql, which holds a COPY.
WRITERS: dict[str, list[str]] = {
    "COPY": ["COPY (SELECT 1) TO '{out}/a.csv'", "COPY runs TO '{out}/b.parquet'", "COPY t FROM '{made}/schema.sql'"],
    "COPY_DATABASE": ["COPY FROM DATABASE warehouse TO memory"],
    "EXPORT": ["EXPORT DATABASE '{out}/db'"],
    "PRAGMA": [
        "IMPORT DATABASE '{made}'", "PRAGMA import_database('{made}')", "PRAGMA enable_profiling='json'",
        "PRAGMA profiling_output='{out}/p'", "PRAGMA copy_database('a', 'b')", "PRAGMA force_checkpoint",
        "PRAGMA add_parquet_key('k', '0123456789112345')", "PRAGMA json_execute_serialized_sql('[]')",
    ],
    "ATTACH": ["ATTACH '{out}/x.duckdb'", "ATTACH ':memory:' AS m"],
    "DETACH": ["DETACH warehouse"],
    "LOAD": ["LOAD httpfs", "INSTALL httpfs", "FORCE INSTALL httpfs", "INSTALL httpfs FROM community"],
    "EXTENSION": ["UPDATE EXTENSIONS", "UPDATE EXTENSIONS (httpfs)"],
    "CREATE": [
        "CREATE TABLE t (a INT)", "CREATE TABLE memory.t AS SELECT 1", "CREATE VIEW v AS SELECT 1", "CREATE SCHEMA s",
        "CREATE SECRET s (TYPE s3)", "CREATE PERSISTENT SECRET s (TYPE s3)", "CREATE SEQUENCE q", "CREATE TYPE e AS ENUM ('a')",
        "CREATE INDEX i ON runs (run_id)", "CREATE MACRO m() AS 1", "CREATE DATABASE d", "CREATE TRIGGER t AFTER INSERT ON r",
    ],
    "CREATE_FUNC": ["CREATE FUNCTION f() AS 1"],
    "DROP": ["DROP TABLE runs", "DROP VIEW speedups", "DROP SECRET s", "DEALLOCATE p"],
    "ALTER": ["ALTER TABLE runs ADD COLUMN x INT", "COMMENT ON TABLE runs IS 'x'"],
    "INSERT": ["INSERT INTO runs VALUES (1)", "INSERT OR REPLACE INTO runs FROM runs"],
    "UPDATE": ["UPDATE runs SET config = 'x'"],
    "DELETE": ["DELETE FROM runs", "TRUNCATE runs"],
    "MERGE_INTO": ["MERGE INTO runs USING runs AS r ON (true) WHEN MATCHED THEN DELETE"],
    "PREPARE": ["PREPARE p AS COPY (SELECT 1) TO '{out}/c.csv'", "PREPARE p AS SELECT 1"],
    "EXECUTE": ["EXECUTE p"],
    "CALL": ["CALL enable_logging(storage = 'file', storage_path = '{out}')", "CALL pragma_version()", "CHECKPOINT"],
    "TRANSACTION": ["BEGIN", "COMMIT", "ROLLBACK"],
    "VACUUM": ["VACUUM", "VACUUM ANALYZE"],
    "ANALYZE": ["ANALYZE"],
    "SET": ["SET log_query_path = '{out}/l'", "SET secret_directory = '{out}'", "SET GLOBAL temp_directory = '{out}'"],
    "VARIABLE_SET": ["SET home_directory = '{out}'", "RESET lock_configuration", "SET enable_external_access = true"],
    "SELECT": [
        "FROM enable_logging(storage = 'file', storage_path = '{out}')", "SELECT * FROM main.\"Enable_Logging\" ()",
        "FROM checkpoint()", "FROM query('FROM enable_logging()')", "FROM json_execute_serialized_sql('')",
        "FROM enable_profiling(save_location = '{out}/e')", "FROM range(1), truncate_duckdb_logs()", "FROM pandas_scan(1, 2, 3)",
        "SELECT (SELECT count(*) FROM disable_logging())", "FROM (force_checkpoint())",
        "FROM range(2) r, LATERAL arrow_scan(1, 2, 3)",
    ],
    "EXPLAIN": ["EXPLAIN ANALYZE COPY (SELECT 1) TO '{out}/d.csv'", "EXPLAIN (FORMAT json) INSERT INTO runs VALUES (1)"],
    "MULTI": ["EXPLAIN ANALYZE EXPORT DATABASE '{out}/e'"],
}  # fmt: skip
UNUSED = {"INVALID", "LOGICAL_PLAN", "RELATION"}  # DuckDB's own, which no text makes
QUESTIONS = [
    "SELECT 1", "FROM runs", "FROM runs SELECT config", "WITH a AS (SELECT 1 AS x) SELECT x FROM a", "VALUES (1), (2)",
    "TABLE runs",
    "PIVOT (FROM (VALUES (1, 'a')) v(x, y)) ON y USING sum(x)", "UNPIVOT (SELECT 1 AS a, 2 AS b) ON a, b", "DESCRIBE runs",
    "DESCRIBE SELECT 1", "SUMMARIZE runs", "SHOW TABLES", "EXPLAIN SELECT 1", "EXPLAIN ANALYZE SELECT 1",
    "EXPLAIN (FORMAT json) SELECT 1", "(SELECT 1) UNION ALL (SELECT 2)", "SELECT 'COPY x TO y; IMPORT DATABASE z' AS said",
    "WITH RECURSIVE t(n) AS MATERIALIZED (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 3) FROM t",
    "SELECT sum(x) OVER w FROM (SELECT 1 AS x) WINDOW w AS (PARTITION BY x ORDER BY x)", "SELECT $$it's; COPY$$",
    "SELECT extract(year FROM now()), 1 IS DISTINCT FROM abs(1), substring('abc' FROM 2)", "SELECT version()",
    "FROM read_csv('{made}/data.csv')", "FROM '{made}/data.csv'", "FROM glob('{made}/*')", "FROM runtime_vs_tokens()",
    "SELECT list_transform([1], lambda x: x + 1)", "PRAGMA version", "PRAGMA table_info('runs')", "-- only\nSELECT 1 /* one */",
    "SELECT copy, load FROM (SELECT 1 AS copy, 2 AS load)", "SELECT json_serialize_sql('SELECT 1')", "SELECT 'ü' AS \"ö;\", 1",
    "CREATE TEMP MACRO twice(x) AS x * 2; SELECT twice(2)",
    "CREATE TEMP MACRO rows_of(n) AS TABLE FROM range(n); FROM rows_of(2)",
    "CREATE TEMP TABLE t AS FROM range(3); SELECT count(*) FROM t", "SET threads = 1; SET TIME ZONE 'UTC'; SELECT 1",
]  # fmt: skip
AROUND = [  # places where a statement may stand; the first is alone
    "{}", "SELECT 1; {}", "{}; SELECT 1", "/* */ {} -- end", "EXPLAIN {}", "EXPLAIN ANALYZE {}", "WITH a AS ({}) FROM a",
    "WITH a AS (SELECT 1), b AS MATERIALIZED ({}) FROM b", "WITH a AS NOT MATERIALIZED ({}) SELECT 1",
    "WITH a AS (WITH b AS ({}) FROM b) FROM a", "FROM ({})", "SELECT * FROM ({}) AS q", "SELECT ({})", "SELECT EXISTS ({})",
    "({})",
    "PREPARE p AS {}; EXECUTE p", "CREATE TEMP TABLE tt AS {}", "CREATE TEMP MACRO mm() AS TABLE {}; FROM mm()",
    "CREATE TEMP MACRO mm() AS ({}); SELECT mm()", "DESCRIBE {}", "SUMMARIZE {}", "SHOW {}", "PIVOT ({}) ON 1",
    "SELECT $$'$$; {}; SELECT $$'$$", "SELECT '--'; {}", "SELECT 1 -- '\n; {}", 'SELECT 1 AS "\'"; {}; SELECT 2 AS "\'"',
    "SELECT /* /* */ 1; {}", "SELECT E'\\''; {}", "SET VARIABLE x = [({})]", "WITH a AS (/**/ {}) FROM a", "FROM query('{}')",
]  # fmt: skip


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """A folder that nobody may write into, and one with files to read, of which one holds a statement that writes there."""
    out, made = tmp_path_factory.mktemp("out"), tmp_path_factory.mktemp("made")
    (made / "schema.sql").write_text(f"COPY (SELECT 1) TO '{out}/imported.csv';")
    (made / "load.sql").touch()
    (made / "data.csv").write_text("x\n1\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(out)
        yield out, made


def put(store: Store, query: str) -> str | None:
    """Ask, and read all rows; the error if there is one."""
    with Warehouse.open(store) as warehouse:
        lock_settings(warehouse)
        try:
            answer = ask(warehouse, query)
            list(answer.rows if answer else ())
        except BenchError as error:
            return str(error)
    return None


def test_there_is_a_statement_of_every_type() -> None:
    """A new type of DuckDB's joins the table above."""
    assert {name for name in dir(duckdb.StatementType) if name.isupper()} - UNUSED == WRITERS.keys() & set(
        dir(duckdb.StatementType)
    )


@pytest.mark.parametrize("kind", WRITERS)
def test_a_statement_that_writes_is_refused(store: Store, folders: tuple[Path, Path], kind: str) -> None:
    """Each alone, by bench and before DuckDB runs it."""
    out, made = folders
    for statement in WRITERS[kind]:
        error = put(store, statement.format(out=out, made=made))

        assert error is not None and error.startswith("bench sql only reads"), (statement, error)
        assert not [*out.iterdir()], statement


@pytest.mark.exhaustive
@given(
    st.sampled_from([one for several in WRITERS.values() for one in several]),
    st.lists(st.sampled_from(AROUND), min_size=1, max_size=3),
    st.randoms(),
)
def test_no_place_lets_a_statement_write(
    store: Store, folders: tuple[Path, Path], statement: str, around: list[str], random: Random
) -> None:
    """However they are nested, in any case of letters: an error, and nothing on the disk."""
    out, made = folders
    for place in around:
        statement = place.replace("{}", statement)
    statement = statement.replace("{out}", str(out)).replace("{made}", str(made))
    statement = re.sub(
        r"\b[A-Z]{3,}\b", lambda word: random.choice([str.upper, str.lower, str.title])(word[0]), statement
    )
    error = put(store, statement)

    assert not [*out.iterdir()], statement
    assert error is not None or "'" in statement or "--" in statement, (
        statement
    )  # within a text or a comment it is none


@given(st.sampled_from(QUESTIONS), st.sampled_from(AROUND[:4]))
def test_a_question_is_answered(store: Store, folders: tuple[Path, Path], question: str, around: str) -> None:
    """Every kind of question, alone and beside others."""
    out, made = folders
    question = around.replace("{}", question).replace("{made}", str(made))

    assert put(store, question) is None, question
    assert not [*out.iterdir()]


@pytest.mark.exhaustive
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_is_answered(store: Store, folders: tuple[Path, Path], question: str) -> None:
    """Each once."""
    assert put(store, question.replace("{made}", str(folders[1]))) is None


def test_every_table_function_is_looked_at() -> None:
    """One that DuckDB gains is refused until it is in one of these lists."""
    query = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'table'"
    with duckdb.connect() as connection:
        known = {name for (name,) in connection.execute(query).fetchall()}

    refused = {name for name in known if not READERS.fullmatch(name)}
    assert not refused & VALUE_FUNCTIONS
    assert refused <= {
        "add_grammar_extension", "arrow_scan", "arrow_scan_dumb", "checkpoint", "create_external_resource",
        "deregister_external_resource", "destroy_external_resource", "disable_logging", "disable_profiling", "duckdb_logs",
        "enable_logging", "enable_profiling", "force_checkpoint", "json_execute_serialized_sql", "pandas_scan",
        "python_arrow_scan", "python_map_function", "query", "register_external_resource", "register_external_resource_type",
        "remove_grammar_extension",
        "truncate_duckdb_logs",
    }  # fmt: skip


def test_no_extension_is_fetched_unasked(store: Store) -> None:
    """A file on the network needs one: the error says how to allow it."""
    error = put(store, "FROM read_parquet('https://localhost:9/x.parquet')")

    assert error is not None and "bench sql --extensions httpfs" in error
