"""The commands that list: what they print is what the views hold."""

import csv
import datetime as dt
import io
import json
from pathlib import Path

import pytest
from bench.query.comparison.speedups import render
from bench.query.resolve import resolve_run
from bench.warehouse import recorder
from bench.warehouse.console.options import notify
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError, NothingToShow, UnknownName
from bench.warehouse.events import Json, RunRecord
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store

from ..builders import Builder, case, metric, outcome, run
from ..exhaustive import exhaustive, first_of
from .conftest import Bench


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_runs_come_newest_first(bench: Bench) -> None:
    """Each with its status and counts; a limit cuts the older ones."""
    found = rows(bench("runs", "--format", "csv").output)

    assert [(row["run_id"], row["config"], row["status"]) for row in found] == [
        ("bbbb-1", "fuse", "ok"), ("aaaa-2", "main", "ok"), ("aaaa-1", "main", "ok"),
    ]  # fmt: skip
    assert {(row["cases"], row["failed"], row["samples"], row["steps"]) for row in found} == {("6", "1", "40", "25")}
    assert len(rows(bench("runs", "--limit", "1", "--format", "csv").output)) == 1


def test_runs_of_one_second_come_newest_first_in_every_format(bench: Bench, tmp_path: Path) -> None:
    """People are shown whole seconds; `latest` is the first of the list for them, too."""
    store = Store(tmp_path / ".bench").create()
    runs = [
        run("2", "day", started_at=50_200_000),
        run("3", "day", started_at=50_300_000),
        run("9", "day", started_at=50_100_000),
    ]
    EventLog(store).write(RunRecord, runs, "day")

    for fmt in ("table", "csv"):
        lines = bench("runs", "--format", fmt, "--store", str(store.root)).stdout.splitlines()
        assert [line[0] for line in lines[-3:]] == ["3", "2", "9"]


def test_configs_sum_up_their_runs(bench: Bench) -> None:
    """Two runs of main make 12 cases, of which scheduler steps are four."""
    found = rows(bench("configs", "--format", "csv").output)

    assert [(row["config"], row["runs"], row["cases"], row["last_run"]) for row in found] == [
        ("fuse", "1", "6", "bbbb-1"), ("main", "2", "12", "aaaa-2"),
    ]  # fmt: skip


def test_cases_can_be_chosen(bench: Bench) -> None:
    """By run, status, backend and model together."""
    found = rows(bench("cases", "--runs", "latest", "--statuses", "OOM", "--format", "csv").output)

    assert [(row["run_id"], row["name"], row["backend"], row["reason"]) for row in found] == [
        ("bbbb-1", "lstm", "inductor", "out of memory")
    ]  # fmt: skip
    assert rows(bench("cases", "--models", "mlp", "--backends", "eager", "--configs", "fuse", "--format", "csv").output)


@pytest.mark.parametrize("words", first_of(2, ["history", "plan", "show", "compare main fuse", "regressions"]))
def test_a_column_to_filter_by_that_is_none_is_named(words: str, bench: Bench) -> None:
    """By every question that takes --where: history and plan called it a bug in bench."""
    error = bench(*words.split(), "--where", "nam=mlp").exception

    assert isinstance(error, UnknownName) and str(error).startswith("no column 'nam' in ")


def test_that_no_case_ended_so_is_an_answer(bench: Bench) -> None:
    """A status that bench knows is no mistake where nothing has it; one that is misspelt is."""
    assert rows(bench("cases", "--statuses", "timeout", "--format", "csv").output) == []
    assert "no status 'timout' in case_outcomes. Nearest: 'timeout'" in str(
        bench("cases", "--statuses", "timout").exception
    )


def test_a_mistaken_value_names_the_nearest(bench: Bench) -> None:
    """A backend nobody measured is no empty table."""
    error = bench("speedups", "--backends", "inducter").exception

    assert isinstance(error, UnknownName)
    assert "'inductor'" in str(error)


def test_speedups_carry_their_doubt(bench: Bench) -> None:
    """Of each config the newest run; the ratio with its interval; what failed by its status; the geomean with coverage."""
    result = bench("speedups")

    lines = result.stdout.splitlines()
    assert len(lines) == 2 + 2 * 2
    assert "OOM" in lines[2]
    assert "x (95 % " in lines[3] and "n=10, p<0.001)" in lines[3]
    assert "geomean 1." in result.stderr and "over 1 of 2 cases; left out: lstm: OOM" in result.stderr


def test_speedups_as_data_are_raw(bench: Bench) -> None:
    """CSV and JSON carry every column of the view, unrounded, and nothing else on stdout."""
    result = bench("speedups", "--runs", "aaaa-1", "--models", "mlp", "--format", "json")
    (row,) = json.loads(result.stdout)

    assert (row["run_id"], row["n"], row["status"]) == ("aaaa-1", 10, "ok")
    assert row["low"] < row["speedup"] < row["high"]
    assert result.stderr == ""
    assert len(rows(bench("speedups", "--all", "--format", "csv").output)) == 6


def test_nothing_measured_is_said(bench: Bench) -> None:
    """A choice that leaves nothing has its own exit code."""
    error = bench("speedups", "--runs", "aaaa-1", "--configs", "fuse").exception

    assert isinstance(error, NothingToShow)


def test_sources_and_rejects_of_a_store_without_imports(bench: Bench) -> None:
    """Headers only."""
    assert rows(bench("sources", "--format", "csv").output) == []
    assert bench("rejects", "--format", "csv").output.startswith("config,path,line,reason,text")


def test_the_details_of_a_run_are_a_row(bench: Bench) -> None:
    """As fields for people."""
    (row,) = json.loads(bench("show", "main~1", "--details", "--format", "json").output)

    assert "aaaa-1" in bench("show", "main~1", "--details").output
    assert (row["run_id"], row["config"], row["python"] is not None) == ("aaaa-1", "main", True)


@exhaustive
def test_show_names_values_that_nothing_counts(bench: Bench, tmp_path: Path) -> None:
    """Recorded, and too large for any cell."""
    other = Store(tmp_path / "large" / ".bench")
    with recorder.run("main", store=other) as own:
        own.case("a").metric("size", 1e300, unit="bytes")
        own.case("a").metric("size", float("inf"), unit="bytes")

    assert (
        "1 value of 1e150 or more counted in no statistic" in bench("show", "latest", "--store", str(other.root)).stderr
    )
    assert "in no statistic" not in bench("show", "latest").stderr


@pytest.mark.parametrize("words", ["views", "viz list"])
def test_lists_keep_to_the_terminal(bench: Bench, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    """Each entry is on one line; --wide has its end, too."""
    for columns in (80, 100):
        monkeypatch.setenv("COLUMNS", str(columns))
        found = bench(*words.split())

        assert max(map(len, found.stdout.splitlines())) <= columns
        assert "--wide shows all" in found.stderr
    assert max(map(len, bench(*words.split(), "--wide").stdout.splitlines())) > 150


def test_views_are_listed_with_their_meaning(bench: Bench) -> None:
    """Every public view, macro and table; steps are left out."""
    found = rows(bench("views", "--format", "csv").output)

    assert {"speedups", "runtime_vs_tokens()", "comparisons(base, candidate)", "cells"} <= {
        row["name"] for row in found
    }
    assert all(row["rows"].startswith("One row per") for row in found)
    assert not any(row["name"].startswith("_") for row in found)


@pytest.mark.parametrize(
    "name", first_of(3, ["speedups", "runtime_vs_tokens", "regressions", "comparisons", "cells", "timings"])
)
def test_a_view_is_described_column_by_column(bench: Bench, name: str) -> None:
    """Name, type and meaning of each."""
    found = rows(bench("views", name, "--format", "csv").output)

    assert all(row["column"] and row["type"] and row["meaning"] for row in found)


def test_a_macro_is_described_as_it_is_written(bench: Bench) -> None:
    """With what must be given, and the defaults of what may be."""
    assert bench("views", "comparisons").output.startswith(
        "comparisons(base, candidate, floor := NULL, fdr := 0.05, last := 20, across := false)\n"
    )


def test_an_unknown_view_names_the_nearest(bench: Bench) -> None:
    """The cure is `bench views`."""
    assert "'speedups'" in str(bench("views", "speedup").exception)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("latest", "bbbb-1"), ("latest~1", "aaaa-2"), ("main", "aaaa-2"), ("main~1", "aaaa-1"), ("aaaa-1", "aaaa-1"),
        ("bbbb", "bbbb-1"),
    ],
)  # fmt: skip
def test_runs_have_many_names(store: Store, name: str, expected: str) -> None:
    """latest, a config, the beginning of an id; ~N goes back."""
    with Warehouse.open(store) as warehouse:
        assert resolve_run(warehouse, name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    first_of(3, [
        ("2026-11-20", "r-2"), ("2026-11-20~1", "r-1"), ("2026-11-21", "r-3"), ("tag:nightly", "r-3"), ("tag:gpu", "r-2"),
        ("tag:gpu=a100", "r-1"), ("tag:h100", "r-2"), ("2026-11-22", "r-1"),
    ]),
)  # fmt: skip
def test_a_day_or_a_tag_names_its_newest_run(name: str, expected: str) -> None:
    """A day in UTC; a tag by name, value or both. A config of that name comes first."""
    at = [dt.datetime(2026, 11, 20, 1), dt.datetime(2026, 11, 20, 23), dt.datetime(2026, 11, 21)]
    tags = ['{"gpu": "a100"}', '{"gpu": "h100"}', '{"nightly": "yes"}']
    configs = ["2026-11-22", "b", "c"]
    runs = [run(f"r-{i + 1}", configs[i], started_at=at[i], tags=Json(tags[i])) for i in range(3)]
    warehouse = Builder().add(*runs)
    warehouse.store = Store.find("nowhere")

    assert resolve_run(warehouse, name) == expected
    with pytest.raises(BenchError, match="no run 'tag:weekly'"):
        resolve_run(warehouse, "tag:weekly")


def test_a_run_of_a_clock_that_was_ahead_is_told_where_it_counts_as_the_newest(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Also where ~1 goes back behind it, but neither where its id or its day names it, nor for hours between two machines."""
    now = dt.datetime.now(dt.UTC).replace(tzinfo=None)
    began = {"1111-a": now, "2222-a": now + dt.timedelta(hours=12), "9999-a": now + dt.timedelta(days=365)}
    warehouse = Builder().add(*(run(name, "ahead", started_at=at) for name, at in began.items()))
    warehouse.store = Store.find("nowhere")

    assert resolve_run(warehouse, "9999-a") == resolve_run(warehouse, began["9999-a"].date().isoformat()) == "9999-a"
    assert capfd.readouterr().err == ""
    assert resolve_run(warehouse, "ahead~1") == "2222-a"
    told = capfd.readouterr().err
    assert told.count("note: ") == 1 and "run 9999-a counts as the newest of 'ahead'" in told
    assert "bench forget 9999-a" in told


def test_a_whole_id_names_its_run() -> None:
    """Though it is short, or other ids begin with it."""
    warehouse = Builder().add(run("r1"), run("night-1"), run("night-10"))
    warehouse.store = Store.find("nowhere")

    assert [resolve_run(warehouse, name) for name in ("r1", "night-1", "night-10")] == ["r1", "night-1", "night-10"]


def test_a_commit_names_its_newest_run() -> None:
    """The beginning of a commit is enough."""
    warehouse = Builder().add(run("r-1", git_commit="deadbeef00"), run("r-2", git_commit="cafe000000"))
    warehouse.store = Store.find("nowhere")

    assert resolve_run(warehouse, "deadbee") == "r-1"


@pytest.mark.parametrize(
    ("name", "message"), [("aaaa", "matches 2 run ids"), ("mian", "'main'"), ("main~7", "has 2"), ("b", "no run 'b'")]
)
def test_a_run_that_is_not_there_is_said(store: Store, name: str, message: str) -> None:
    """Ambiguous, misspelt or too far back: each has its sentence."""
    with Warehouse.open(store) as warehouse, pytest.raises(BenchError, match=message):
        resolve_run(warehouse, name)


def test_many_exclusions_are_counted_by_reason() -> None:
    """Three are named, more are counted."""
    from bench.query.comparison.speedups import geomeans

    cases = [case(f"m{i}", backend="inductor") for i in range(6)]
    warehouse = Builder().add(run(source="torch-compile"), *cases, *(outcome(it, "OOM") for it in cases[1:]))
    warehouse.add(outcome(cases[0]), metric(cases[0], "speedup", 2.0))

    assert list(geomeans(warehouse, {})) == ["run inductor: geomean 2.00x over 1 of 6 cases; left out: 5 OOM"]


def test_a_wrong_answer_shows_no_speedup() -> None:
    """Its accuracy stands where its status would."""
    columns, (right, wrong) = render(
        [
            (*[None] * 9, "inductor", 2e6, 1e6, 2.0, 1.9, 2.1, 9, 0.04, "ok", accuracy, passing)
            for accuracy, passing in (("pass", True), ("fail_accuracy", False))
        ]
    )

    assert columns == ["backend", "baseline", "candidate", "speedup", "status"]
    assert right == ["inductor", "2 ms", "1 ms", "2.00x (95 % 1.90–2.10, n=9, p=0.040)", "ok"]
    assert wrong == ["inductor", "2 ms", "1 ms", None, "fail_accuracy"]


def test_what_is_said_cannot_steer_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """A config may be called anything."""
    notify("run of \n\x1b[31mred: geomean 2.00x")

    assert capsys.readouterr().err == "run of \\n\\x1b[31mred: geomean 2.00x\n"
