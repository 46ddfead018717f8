"""What settles a verdict that an interval leaves open: the command below the table of `bench compare`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import bench
import pytest
from bench.query.comparison.compare import compare, exit_code
from bench.query.comparison.render import verdict
from bench.query.comparison.sides import Side
from bench.warehouse.errors import Exit
from bench.warehouse.events import Event
from bench.warehouse.store import Store

from ...builders import Builder, case, metric, options, outcome, run, timing
from ...exhaustive import exhaustive
from ..conftest import Bench

FUNCTION = json.loads(options("measure function", ("what", "", "work:f")))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store of its own in the folder that the commands run in."""
    monkeypatch.chdir(tmp_path)
    return Store(tmp_path / ".bench")


def record(store: Store, config: str, us: int, name: str = "work:f", **fields: Any) -> None:
    """A run of one case in two processes, as `bench measure function` records them."""
    with bench.run(config, store=store, suite="function", **fields) as run:
        case = run.case(name, suite="function", backend=name)
        for block in range(20):
            case.timing(us * 1000 + block, details={"process": block % 2, "block": block})
        case.outcome("ok")


@pytest.mark.exhaustive
def test_runs_of_other_tools_are_loaded_again(bench: Bench, store: Store) -> None:
    """One run a side is likely at most; all runs of both configs decide."""
    record(store, "A b", 100)
    record(store, "C", 150)

    assert (
        "to settle it, load another result of each side, then: bench compare 'A b' C --all-runs"
        in bench("compare", "A b", "C").stderr
    )


@exhaustive
def test_runs_that_are_there_already_are_judged_first(bench: Bench, store: Store) -> None:
    """Nobody measures again what a store holds."""
    for us in (100, 108):
        record(store, "A", us)
        record(store, "C", us + 4)

    told = "to settle it, judge all 4 runs of both sides: bench compare A C --all-runs"
    assert told in bench("compare", "A", "C").stderr


@pytest.mark.exhaustive
def test_rows_for_programs_say_what_settles_them(bench: Bench, store: Store) -> None:
    """The reason of a row ends with the command, in compare and in regressions."""
    for config, us in (("A", 100), ("A", 150), ("C", 150)):
        record(store, config, us)

    compared = json.loads(bench("compare", "A~1", "C", "--format", "json").output)
    judged = json.loads(bench("regressions", "A", "--format", "json").output)

    assert [row["reason"].rpartition("; ")[2] for row in (*compared, *judged)] == [
        "to settle it, load another result of each side, then: bench compare A C --all-runs",
        "to settle it, record another run of A, then: bench regressions A",
    ]


@pytest.mark.exhaustive
def test_what_is_likely_in_one_night_is_confirmed(bench: Bench, store: Store) -> None:
    """A run that bench measured is measured again with --confirm."""
    for us in (100, 150):
        record(store, "A", us, source="measure", options=FUNCTION)

    (row,) = json.loads(bench("regressions", "A", "--format", "json").output)

    assert row["reason"].endswith(f"; to settle it: bench regressions {row['run_id'][:13]} --confirm")


def test_what_bench_measured_is_measured_again(bench: Bench, store: Store) -> None:
    """Both sides as they were measured, with the config that each has, then the comparison over all runs.

    Outside of git nothing but their code tells the sides apart, and measuring both with what is there now would mix them up.
    """
    for config, us in (("A", 100), ("C", 150)):
        record(store, config, us, source="measure", options=FUNCTION)

    again = [f"bench measure function --config {config} --store {store.root} work:f" for config in "AC"]
    told = f"to settle it, measure again, each side with the code that it had: {' && '.join(again)}"
    assert f"{told} && bench compare A C --all-runs" in bench("compare", "A", "C").stderr


@pytest.mark.exhaustive
def test_files_get_further_files_beside_them(bench: Bench, tmp_path: Path) -> None:
    """A folder of results is a side of several runs."""
    for name, seconds in (("a", 0.100), ("b", 0.106)):
        times = [seconds + 1e-6 * number for number in range(10)]
        statistics = dict.fromkeys(("mean", "median", "min", "max"), seconds)
        result = {"command": "x", **statistics, "stddev": 1e-6, "times": times}
        (tmp_path / f"{name}.json").write_text(json.dumps({"results": [result]}))

    told = "to settle it, put more results of each side into a folder: bench compare BASE/ CANDIDATE/"
    assert told in bench("compare", "a.json", "b.json").stderr


@pytest.mark.exhaustive
def test_runs_of_one_config_without_commits_are_joined_by_their_ids(bench: Bench, store: Store) -> None:
    """Nothing but its id tells a run of one side from one of the other."""
    for us in (100, 106):
        record(store, "A", us)

    told = "to settle it, record more runs of each side and join their ids: bench compare BASE+ID CANDIDATE+ID"
    assert told in bench("compare", "A~1", "A").stderr


@pytest.mark.exhaustive
def test_a_config_is_no_folder_of_its_name(bench: Bench, store: Store, tmp_path: Path) -> None:
    """A name wins over a path, here as for the sides."""
    record(store, "A", 100)
    record(store, "C", 106)
    (tmp_path / "A").mkdir()

    assert "then: bench compare A C --all-runs" in bench("compare", "A", "C").stderr


@exhaustive
def test_what_is_decided_needs_no_more(bench: Bench, store: Store) -> None:
    """Nothing is said where every verdict stands."""
    for config, us in (("A", 100), ("C", 150)):
        for _ in range(3):
            record(store, config, us)

    found = bench("compare", "A", "C", "--all-runs")
    assert "SLOWER" in found.output and "to settle it" not in found.stderr


def test_sizes_that_are_the_same_settle_no_time() -> None:
    """A job whose times are all UNSURE is not judged, and the sentence says so."""
    events: list[Event] = []
    for run_id in ("a", "b"):
        it = case("m", run=run_id)
        events += [run(run_id, run_id), it, outcome(it), metric(it, "allocated", 64.0, unit="bytes", better="lower")]
        events += [timing(it, 1_000_000 + n) for n in range(10)]
    found = compare(Builder().add(*events), Side("a", ("a",)), Side("b", ("b",)))

    assert exit_code(found) == Exit.TOO_LITTLE
    assert verdict(found) == "no change found; 1 the same, 1 unsure; no time or rate is decided"
    sizes = replace(found, rows=[row for row in found.rows if row["unit"] == "bytes"], shifts=[])
    assert exit_code(sizes) == Exit.OK


@exhaustive
def test_two_cases_of_other_names_come_with_the_command_that_compares_them(bench: Bench, store: Store) -> None:
    """Nothing matches, and what is meant is plain; the command answers."""
    record(store, "A", 100)
    record(store, "C", 150, name="work:g")

    command = "compare work:f work:g --by name --runs A C"
    assert f"each side has a case of its own; to compare the two: bench {command}" in bench("compare", "A", "C").stderr
    assert "work:f → work:g" in bench(*command.split()).stdout
