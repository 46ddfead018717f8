"""Exports of Nsight Systems: spans of any table, and databases that mean harm."""

import json
import sqlite3
from pathlib import Path

import pytest
from bench.ingest.formats import nsight
from bench.ingest.readers.sqlite_file import open_sqlite
from bench.ingest.registry import find_format
from bench.warehouse.events import CaseRecord, Metric, Timing

from .reading import Read, lay, read, read_file, recognised
from .samples import NSYS, database

KIND = "nsight-systems"
STRINGS = (
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES (1, 'k'), (2, 'api');"
)
KERNEL = "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, demangledName INTEGER);"


def load(script: str) -> Read:
    """What a database becomes that a script makes."""
    return read(KIND, database(script), "report.sqlite")


def test_spans_are_timings() -> None:
    """Kernels, copies, calls and ranges, under the names that torch.profiler has for their kinds."""
    found = load(NSYS)

    cases = {case.case_id: case for case in found.of(CaseRecord)}
    spans = [(cases[t.case_id].suite, cases[t.case_id].name, t.duration_ns) for t in found.of(Timing)]
    assert spans == [
        ("kernel", "add(int, float *)", 250), ("kernel", "add(int, float *)", 300), ("gpu_memcpy", "memcpy HtoD", 50),
        ("cuda_runtime", "cudaFree_v3020", 4), ("nvtx", "step", 800),
    ]  # fmt: skip
    assert found.of(CaseRecord)[0].parameters == '{"block": [256, 1, 1], "grid": [24, 1, 1]}'
    assert found.of(CaseRecord)[1].parameters == '{"bytes": 4096, "copyKind": 1}'
    assert {case.suite: case.device for case in found.of(CaseRecord)} == {
        "kernel": "cuda", "gpu_memcpy": "cuda", "cuda_runtime": None, "nvtx": None,
    }  # fmt: skip
    assert found.accounting == (6, 6, 0)


def test_other_columns_stay_beside_the_span() -> None:
    """Links to other spans are among them; a mark has no duration, and is kept."""
    fields = [json.loads(m.original_value or "") for m in load(NSYS).of(Metric)]

    assert fields[0]["correlationId"] == 1
    assert fields[0]["start"] == 100
    assert fields[-1] == {"start": 20, "eventType": 34, "text": "mark"}


def test_the_session_is_run_and_environment() -> None:
    """Its time, host and GPUs; tables without spans are counted."""
    found = load(NSYS)

    (run,) = found.runs
    assert (run.started_at, run.host) == (1684406205203098, "node1")
    assert found.environment.gpus == ["A100"]
    assert json.loads(found.environment.extra or "")["system"]["CpuCores"] == "128"
    assert found.of(Timing)[0].recorded_at == (1684406205203098174 + 100) // 1000
    assert any("SCHED_EVENTS 1" in note for note in found.tally.notes)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("'x', 5, 1", "start is 'x', end 5"),
        ("9, 5, 1", "start is 9, end 5"),
        (f"{-(2**63)}, {2**63 - 1}, 1", f"start is {-(2**63)}, end {2**63 - 1}"),
        ("NULL, 5, 1", "start is None, end 5"),
        ("1.5, 5, 1", "start is 1.5, end 5"),
    ],
)
def test_what_is_no_span(row: str, reason: str) -> None:
    """Is a reject with its row; the next one loads."""
    found = load(f"{STRINGS}{KERNEL} INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({row}), (1, 2, 1);")

    assert found.rejects() == [(1, reason)]
    assert found.accounting == (2, 1, 1)


def test_a_name_that_is_no_id() -> None:
    """Nobody knows it: the kind stands for it. Bytes that are no text are shown as such."""
    rows = "(1, 2, 99), (1, 2, NULL)"
    strings = "INSERT INTO StringIds VALUES (5, x'ff41');"
    found = load(f"{STRINGS}{strings}{KERNEL} INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES {rows}, (1, 2, 5);")

    assert found.names == ["kernel", "\\xffA"]


@pytest.mark.parametrize(
    "harm",
    [
        "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n) "
        "SELECT start, start + 1 AS end, 1 AS demangledName FROM n;",
        "CREATE VIRTUAL TABLE CUPTI_ACTIVITY_KIND_KERNEL USING fts5(start, end);",
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER GENERATED ALWAYS AS (start + 1) VIRTUAL);",
    ],
)
def test_nothing_of_the_schema_runs(tmp_path: Path, harm: str) -> None:
    """Views, virtual tables and computed columns are no tables of spans."""
    try:
        data = database(f"{STRINGS}{harm} CREATE TABLE OSRT_API (start INTEGER, end INTEGER, nameId INTEGER); "
                        "INSERT INTO OSRT_API VALUES (1, 3, 2);")  # fmt: skip
    except sqlite3.OperationalError:
        pytest.skip("this SQLite has no such module")

    found = read(KIND, data, "report.sqlite")

    assert [(t.duration_ns) for t in found.of(Timing)] == [2]


def test_names_of_tables_and_columns_are_only_names() -> None:
    """Whatever they contain."""
    found = load(f"""{STRINGS} CREATE TABLE "x""; DROP TABLE y; --" (start INTEGER, end INTEGER, "a""b" TEXT);
        INSERT INTO "x""; DROP TABLE y; --" VALUES (1, 2, 'v');""")

    assert found.samples() == [(1, 1)]
    assert json.loads(found.of(Metric)[0].original_value or "")['a"b'] == "v"


def test_it_is_opened_to_read_only(tmp_path: Path) -> None:
    """No lock, no journal, no write, nothing attached; a file beside it that holds more is said."""
    lay(tmp_path, {"r.sqlite": database(NSYS), "r.sqlite-wal": b"x"})
    before = sorted(path.name for path in tmp_path.iterdir())
    with open_sqlite(tmp_path / "r.sqlite") as opened:
        for query in ("INSERT INTO StringIds VALUES (9, 'x')", f"ATTACH '{tmp_path}/other.sqlite' AS other"):
            with pytest.raises(sqlite3.Error):
                opened.execute(query)

    found = read_file(find_format(KIND), tmp_path / "r.sqlite")

    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert any("write-ahead log" in note for note in found.tally.notes)


def test_work_is_bounded_by_the_size_of_the_file(tmp_path: Path) -> None:
    """A query without end is interrupted."""
    lay(tmp_path, {"r.sqlite": database(NSYS)})
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    with open_sqlite(tmp_path / "r.sqlite") as opened, pytest.raises(sqlite3.OperationalError, match="interrupted"):
        opened.execute(endless).fetchall()


def test_what_is_said_is_bounded_by_the_size_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged file can show the same pages over and over."""
    monkeypatch.setattr(nsight, "MOST_SAID", 0)
    found = load(NSYS)

    assert found.rejects()[0][1].endswith("has more rows than the file has room for")


def test_another_database_is_not_recognised(tmp_path: Path) -> None:
    """Nor is what only begins like one."""
    lay(
        tmp_path,
        {"a": database("CREATE TABLE t (start INTEGER, end INTEGER);"), "b": b"SQLite format 3\0" + b"x" * 5000},
    )

    assert recognised(tmp_path / "a") == recognised(tmp_path / "b") == []
