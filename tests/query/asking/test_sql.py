"""bench sql: any question, nothing written, errors that name the cure."""

import json
from pathlib import Path

import pytest
from bench.query import ask as asking
from bench.query.ask import ask, shut_in
from bench.query.limited import parse_bytes
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError
from bench.warehouse.store import Store

from ...exhaustive import exhaustive, first_of
from ..conftest import Bench


@pytest.mark.exhaustive
def test_a_query_comes_as_argument_file_or_stdin(bench: Bench, tmp_path: Path) -> None:
    """The three ways give the same bytes."""
    query = "SELECT config, count(*) AS runs FROM runs GROUP BY config ORDER BY config"
    (tmp_path / "q.sql").write_text(query)

    expected = "config,runs\nfuse,1\nmain,2\n"
    assert bench("sql", query, "--format", "csv").output == expected
    assert bench("sql", "-f", str(tmp_path / "q.sql"), "--format", "csv").output == expected
    assert bench("sql", "--format", "csv", stdin=query).output == expected
    assert bench("sql", "-", "--format", "csv", stdin=query).output == expected


@exhaustive
def test_of_several_statements_the_last_one_answers(bench: Bench) -> None:
    """A script may prepare temporary tables; SET alone writes nothing."""
    script = "CREATE TEMP TABLE t AS SELECT 7 AS x; SELECT 1 AS y; SELECT x FROM t"

    assert bench("sql", script, "--format", "csv").output == "x\n7\n"
    assert bench("sql", "SET threads = 1").output == ""


def test_a_result_goes_to_a_file(bench: Bench, tmp_path: Path) -> None:
    """-o writes the file and nothing else."""
    file = tmp_path / "out.json"

    assert bench("sql", "SELECT 1 AS x", "--format", "json", "-o", str(file)).output == ""
    assert json.loads(file.read_text()) == [{"x": 1}]


@pytest.mark.parametrize(
    ("query", "message"),
    first_of(
        4,
        [
            ("selec 1", "syntax error"),
            ("SELECT nam FROM speedups", 'Candidate bindings: "name"'),
            ("SELECT * FROM speedup", "no table or view 'speedup'. Nearest: speedups"),
            ("SELECT * FROM runtime_vs_tokens", "is read as: FROM runtime_vs_tokens()"),
            ("SELECT * FROM speedups()", "is read as: FROM speedups"),
            ("SELECT CAST(name AS INT) FROM cases", "Could not convert"),
            ("", "the query is empty"),
            ("DELETE FROM runs", "bench sql only reads"),
            ("CREATE TABLE t AS SELECT 1", "bench sql only reads"),
            ("COPY runs TO 'x.csv'", "bench sql only reads"),
            ("ATTACH 'x.duckdb'", "bench sql only reads"),
            ("PREPARE p AS COPY runs TO 'x.csv'", "bench sql only reads"),
            ("/* */ explain analyze COPY runs TO 'x.csv'", "bench sql only reads"),
        ],
    ),
)
def test_an_error_is_a_sentence(bench: Bench, query: str, message: str) -> None:
    """It quotes DuckDB with our own names in place of mistaken ones, and has no traceback."""
    result = bench("sql", query)

    assert isinstance(result.exception, BenchError)
    assert message in str(result.exception)


def test_two_queries_are_one_too_many(bench: Bench, tmp_path: Path) -> None:
    """An argument and a file contradict each other."""
    (tmp_path / "q.sql").write_text("SELECT 1")

    assert isinstance(bench("sql", "SELECT 1", "-f", str(tmp_path / "q.sql")).exception, BenchError)


@pytest.mark.parametrize(
    "query",
    first_of(
        4,
        [
            "SELECT * FROM read_csv('{file}')",
            "SELECT * FROM read_text('{file}')",
            "SELECT * FROM glob('{folder}/*')",
            "EXPLAIN ANALYZE COPY (SELECT 1) TO '{folder}/new'",
            "SET enable_external_access = true",
            "RESET lock_configuration",
            "SET temp_directory = '{folder}'",
            "LOAD httpfs",
            "INSTALL httpfs",
            "SELECT * FROM query('COPY runs TO ''{folder}/new''')",
            "SELECT * FROM '{folder}/events/runs/*.parquet'",
        ],
    ),
)
def test_the_sandbox_holds(store: Store, tmp_path: Path, query: str) -> None:
    """No way to a file, the network or a setting; and nothing appears on disk."""
    (tmp_path / "secret.csv").write_text("secret\n1\n")
    before = set(tmp_path.rglob("*"))
    with Warehouse.open(store) as warehouse:
        shut_in(warehouse)
        with pytest.raises(BenchError):
            answer = ask(warehouse, query.format(file=tmp_path / "secret.csv", folder=tmp_path))
            list(answer.rows if answer else ())

    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "query",
    first_of(
        8,
        [
            "SET log_query_path = '{folder}/new'",
            "PRAGMA log_query_path = '{folder}/new'",
            "SET GLOBAL log_query_path = '{folder}/new'",
            "SET profile_output = '{folder}/new'",
            "SET profiling_output = '{folder}/new'",
            "SET enable_profiling = 'json'",
            "PRAGMA enable_profiling",
            "PRAGMA enable_profiling = 'json'",
            "CALL enable_profiling(format = 'json', save_location = '{folder}/new.json')",
            "CALL enable_logging(storage = 'file', storage_config = {{'path': '{folder}/new'}})",
            "FROM enable_logging(storage = 'file', storage_path = '{folder}/new')",
            "SELECT * FROM \"enable_logging\" (storage = 'file', storage_path = '{folder}/new')",
            "WITH x AS (FROM /* */ Enable_Logging /**/ (storage = 'file', storage_path = '{folder}/new')) FROM x",
            "CREATE TEMP MACRO m() AS TABLE FROM enable_logging(storage = 'file', storage_path = '{folder}/new')",
            "CALL disable_logging()",
            "SET logging_storage = 'file'",
            "SET secret_directory = '{folder}'",
            "SET extension_directory = '{folder}'",
            "SET home_directory = '{folder}'",
            "SET temp_directory = '{folder}'",
            "SET allowed_configs = ['log_query_path']",
            "SET lock_configuration = false",
            "RESET lock_configuration",
            "RESET log_query_path",
            "CREATE PERSISTENT SECRET s (TYPE s3, KEY_ID 'a', SECRET 'b')",
            "CREATE OR REPLACE PERSISTENT SECRET s (TYPE s3, KEY_ID 'a', SECRET 'b')",
            "DROP PERSISTENT SECRET s",
            "DROP SECRET s",
            "LOAD httpfs",
            "INSTALL httpfs",
            "FORCE INSTALL httpfs",
            "UPDATE EXTENSIONS",
        ],
    ),
)
def test_read_only_is_read_only(bench: Bench, tmp_path: Path, query: str) -> None:
    """No setting, function or secret writes, loads or logs; with the next query nothing appears on disk either."""
    before = set(tmp_path.rglob("*"))
    result = bench("sql", query.format(folder=tmp_path) + "; SELECT 1")

    assert isinstance(result.exception, BenchError)
    assert "bench sql only reads" in str(result.exception)
    assert set(tmp_path.rglob("*")) == before


def test_a_file_of_statements_is_read_by_the_same_rules(bench: Bench, tmp_path: Path) -> None:
    """PRAGMA import_database runs what a folder holds."""
    (tmp_path / "schema.sql").write_text(f"COPY (SELECT 1) TO '{tmp_path}/new';")
    (tmp_path / "load.sql").touch()
    result = bench("sql", f"PRAGMA import_database('{tmp_path}')")

    assert "bench sql only reads" in str(result.exception)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "query",
    first_of(4, [
        "SET threads = 1", "PRAGMA threads = 1", "RESET threads", "SET memory_limit = '500MB'", "SET TimeZone = 'UTC'",
        "SET null_order = 'nulls_first'", "SET search_path = 'warehouse'", "USE warehouse", "SET VARIABLE x = 1",
        "SET integer_division = true", "CREATE TEMP TABLE t AS SELECT 'enable_logging(' AS x", "PRAGMA database_list",
        "EXPLAIN ANALYZE SELECT 1", "CREATE TEMP MACRO m() AS TABLE SELECT 1 -- enable_logging",
    ]),
)  # fmt: skip
def test_what_only_shapes_an_answer_can_be_set(bench: Bench, query: str) -> None:
    """Threads, memory, order, time zone; temporary tables, macros and variables; and text may say anything."""
    assert bench("sql", f"{query}\n; SELECT 1 AS one", "--format", "csv").output == "one\n1\n"


def test_the_sandbox_still_answers(bench: Bench) -> None:
    """Views, macros and aggregates work as outside."""
    assert (
        bench("sql", "--sandbox", "SELECT count(*) AS n FROM runtime_vs_tokens()", "--format", "csv").output
        == "n\n15\n"
    )


def test_the_sandbox_keeps_to_its_limits(bench: Bench) -> None:
    """Of time, memory, rows and their size, each with its option; text is not cut below a million characters."""
    endless = "SELECT sum(a.range * b.range) FROM range(10000000) AS a, range(10000000) AS b"
    late = bench("sql", "--sandbox", "--timeout", "0.2", endless)
    large = bench("sql", "--sandbox", "--memory", "400MB", "SELECT list(range) FROM range(3000000000)")
    many = bench("sql", "--sandbox", "--most-rows", "250", "FROM range(1000)", "--format", "csv")
    wide = bench(
        "sql", "--sandbox", "--most-size", "2MB", "SELECT repeat('x', 10000) FROM range(1000)", "--format", "csv"
    )
    few = bench("sql", "--sandbox", "--most-rows", "3", "FROM range(3)", "--format", "csv")

    assert str(late.exception) == "the query took longer than 0.2 s. Ask for less, or allow it more."
    assert str(large.exception) == "the query takes more than 0.4 GB of memory. Ask for less, or allow it more."
    assert str(wide.exception) == "the answer is larger than 2 MB. Ask for less, or allow it more."
    assert len(wide.stdout) < 4_000_000
    assert many.stdout.splitlines() == ["range", *map(str, range(250))]
    assert many.stderr == "note: these are the first 250 rows of more. Allow more with: --most-rows\n"
    assert (few.stdout, few.stderr) == ("range\n0\n1\n2\n", "")


@pytest.mark.parametrize(("text", "size"), [("500MB", 5 * 10**8), ("2g", 2 * 10**9), ("1.5 GB", 1_500_000_000)])
def test_sizes(text: str, size: int) -> None:
    """With or without a unit; nonsense is an error."""
    assert parse_bytes(text) == size
    for wrong in ("", "0", "GB", "-1GB", "2 XB"):
        with pytest.raises(BenchError, match="is not a size"):
            parse_bytes(wrong)


def test_rows_come_in_batches(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error far into a result is still a sentence, after the rows before it."""
    monkeypatch.setattr(asking, "BATCH", 10)
    with Warehouse.open(store) as warehouse:
        answer = ask(warehouse, "SELECT range AS x FROM range(25)")

        assert answer is not None
        assert [x for (x,) in answer.rows] == list(range(25))


def test_the_prompt_answers_and_goes_on_after_an_error(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Statements may take several lines; a mistake does not end the session; history is kept."""
    from bench.query import prompt

    lines = iter(["selec 1;", "", "SELECT", "  41 + 1 AS x;", "quit"])
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with Warehouse.open(store) as warehouse:
        prompt.converse(warehouse, "csv")

    out, err = capsys.readouterr()
    assert out == "x\n42\n"
    assert "syntax error" in err
    assert (tmp_path / "bench" / "sql_history").exists()
