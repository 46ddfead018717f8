"""`bench ingest` as it is typed."""

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from bench.cli import cli
from bench.ingest.command import ingest
from bench.warehouse.errors import AllRejected, BenchError, Exit
from bench.warehouse.events import ScheduleChunk
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store
from bench.warehouse.upkeep.verify import verify
from click.testing import CliRunner, Result

from ..exhaustive import exhaustive
from .passes import fpm, segment, traced
from .records import lines, step

pytestmark = pytest.mark.usefixtures("nothing_derived")


def run(*arguments: object, store: Path) -> Result:
    """The command, its output streams apart; errors come through."""
    return CliRunner().invoke(ingest, [*map(str, arguments), "--store", str(store)], catch_exceptions=False)


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    """Two folders of steps, one with a broken line."""
    for name, broken in (("a", ["oops"]), ("b", [])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "p_1.jsonl").write_text(lines(step(1), *broken, step(2, note=name)))
    return tmp_path


@pytest.mark.usefixtures("derived")
def test_the_summary_is_the_accounting(profiles: Path) -> None:
    """One row a config and format, a total, and on stderr where the rejects are."""
    result = run(f"A:{profiles / 'a'}", f"B:{profiles / 'b'}", store=profiles / "store")

    assert result.exit_code == 0
    rows = [re.split(r"\s+", line.strip()) for line in result.stdout.splitlines()]
    assert rows[0] == ["config", "format", "files", "lines", "loaded", "rejected", "known"]
    assert rows[2:5] == [
        ["A", "scheduler", "1", "3", "2", "1", "0"],
        ["B", "scheduler", "1", "2", "2", "0", "0"],
        ["total", "2", "5", "4", "1", "0"],
    ]
    assert "bench list rejects" in result.stderr


def test_a_dry_run_shows_the_plan(profiles: Path) -> None:
    """It lists the files that would be loaded, and writes nothing."""
    result = run(profiles / "a", "--dry-run", store=profiles / "store")

    assert "load" in result.stdout
    assert not (profiles / "store").exists()


@pytest.mark.usefixtures("derived")
def test_a_path_that_is_not_recognised_fails_beside_others_that_are_loaded(profiles: Path) -> None:
    """As a README that a shell's `*` names: its error is the last word."""
    (profiles / "README").write_text("about")
    (profiles / "empty").mkdir()
    with pytest.raises(
        BenchError, match=r"(?s)^the folder .*empty holds no files\.\nnothing in .*README is recognised"
    ):
        run(profiles / "README", profiles / "empty", profiles / "b", store=profiles / "store")

    assert run(profiles / "b", store=profiles / "store").stdout.split()[-5:] == ["1", "2", "0", "0", "2"]


def test_without_a_path_nothing_is_an_answer(profiles: Path) -> None:
    """Journals are recovered; there are none. Without a store there is nothing to recover from, which is an error."""
    with pytest.raises(BenchError, match="there is no store"):
        run(store=profiles / "store")
    Store(profiles / "store").create()
    result = run(store=profiles / "store")

    assert (result.exit_code, result.stdout) == (0, "")
    assert "nothing new" in result.stderr


@pytest.mark.usefixtures("derived")
def test_a_load_of_which_all_is_rejected_fails(tmp_path: Path) -> None:
    """With an exit code of its own and the most frequent reason; the rejects are kept. A record that is there is enough."""
    file, store = tmp_path / "r.csv", tmp_path / "store"
    mapped = (file, "--map", "name=model,value=result,unit=ms", "--store", store)
    file.write_text("model,result\na,x\nb,y\nb,y\n")
    with pytest.raises(AllRejected, match=r'r\.csv: each of 3 records is rejected: result is "y", not a number\. See'):
        run(*mapped, store=store)
    listed = CliRunner().invoke(cli, ["list", "rejects", "--store", str(store)]).stdout

    assert int(AllRejected.exit_code) == int(Exit.REJECTED) == 65 and listed.count("not a number") == 3
    assert run(*mapped, store=store).exit_code == 0, "all three are known"
    file.write_text("model,result\na,x\nb,2\n")
    assert run(*mapped, store=store).exit_code == 0, "one is loaded"


def test_a_side_of_which_all_is_rejected_is_no_side(tmp_path: Path) -> None:
    """Beside a whole file; an empty side would show every case of the other as added."""
    whole = '{"results": [{"command": "sleep", "mean": 1.5, "times": [1.5]}]}'
    (tmp_path / "whole.json").write_text(whole)
    (tmp_path / "cut.json").write_text(whole[:-1])
    result = CliRunner().invoke(cli, ["compare", str(tmp_path / "cut.json"), str(tmp_path / "whole.json")])

    assert isinstance(result.exception, BenchError) and result.exception.exit_code == Exit.REJECTED
    assert "cut.json could not be read" in str(result.exception)


def test_a_tag_is_a_pair(profiles: Path) -> None:
    """The error shows how."""
    with pytest.raises(BenchError, match="KEY=VALUE"):
        run(profiles / "a", "--tag", "gpu", store=profiles / "store")


@pytest.mark.exhaustive
def test_values_that_no_cell_counts_are_noted(tmp_path: Path) -> None:
    """Infinity is none of them: it is a row without a value."""
    for number, value in enumerate(("1e149", "inf", "-1e150")):
        path = tmp_path / f"{number}.csv"
        path.write_text(f"name,v\na,{value}\nb,1\n")
        said = run(path, "--map", "name=name,value=v", store=tmp_path / "store").stderr
        assert ("1e150 or more are in `metrics`, but in no statistic" in said) == (value == "-1e150"), value


@exhaustive
@pytest.mark.usefixtures("derived")
def test_a_loaded_trace_is_verified_with_its_heartbeats(tmp_path: Path) -> None:
    """They are loaded lines without an event of their own. No rebuild is advised for what a file of a newer bench holds."""
    run(segment(tmp_path, [traced(fpm(1, decode=1)), traced(fpm(2)), traced(fpm(3))]), store=tmp_path / "store")
    events = EventLog(Store.find(tmp_path / "store"))
    assert verify(events.store).problems == {}

    (steps,) = [file for file in events.files() if file.table == ScheduleChunk.TABLE]
    rows = pq.read_table(steps.path)
    steps.path.unlink()
    newer = events.write(ScheduleChunk, rows, steps.stem, **{"bench.version": "9"})
    events.store.database.unlink()
    of_file, of_source = verify(events.store).problems.items()

    assert of_file[0] == newer.name and "Update bench" in of_file[1]
    assert of_source[1].endswith(
        "rows of 0 lines and 0 rejects are here. The rest may be in a file that is named above"
    )
