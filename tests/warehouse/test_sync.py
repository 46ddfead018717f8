"""`bench store sync`: what a store lacks is copied, checked, and counts once, between folders and buckets alike."""

import shutil
import sys
from pathlib import Path

import bench
import pytest
from bench import cli
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError
from bench.warehouse.log import EventLog
from bench.warehouse.remote.inventory import holding
from bench.warehouse.remote.places import place
from bench.warehouse.remote.sync import sync
from bench.warehouse.store import Store
from bench.warehouse.upkeep.compaction import compact, merge
from bench.warehouse.upkeep.verify import verify

from ..exhaustive import exhaustive
from ..object_server import ObjectServer
from .conftest import durations, held

pytestmark = pytest.mark.usefixtures("nothing_derived")
MB = 1 << 20


@pytest.fixture
def source(tmp_path: Path) -> Store:
    return Store(tmp_path / "source")


@pytest.fixture(params=["folder", "bucket"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "folder":
        return Store(tmp_path / "target")
    return Store(tmp_path / "mirror", request.getfixturevalue("url"))


def record(store: Store, duration: int) -> str:
    with bench.run("x", store=store) as run:
        run.case("c").timing(duration)
    return run.run_id


def timings(store: Store) -> list[Path]:
    return sorted((store.events / "timings").glob("*.parquet"))


def merge_all(store: Store, *paths: Path) -> None:
    """Merge these files, and load."""
    with Warehouse.open(store):
        merge(store, {path.name: None for path in paths}, below_bytes=MB, target_bytes=MB)
    durations(store)


def test_what_is_missing_is_copied_once(source: Store, target: Store) -> None:
    """Artefacts, too; a second time finds nothing to do, and what is new is all of the third."""
    run_id = record(source, 1)
    (source.artefacts / run_id).mkdir(parents=True)
    (source.artefacts / run_id / "trace.json").write_text("{}")
    first = sync(source, target)
    assert {entry.name for entry in first.entries} == {
        *holding(place(source)).files, f"artefacts/{run_id}/trace.json",
    }  # fmt: skip
    assert (sync(source, target).entries, first.problems) == ([], {})
    record(source, 2)

    assert {entry.name.split("/")[1] for entry in sync(source, target).entries} == {
        "cases", "environments", "outcomes", "runs", "timings",
    }  # fmt: skip
    assert held(target) == [1, 2]
    assert place(target).read(f"artefacts/{run_id}/trace.json") == b"{}"


def test_a_bucket_is_copied_to_a_folder_and_to_a_bucket(url: str, tmp_path: Path) -> None:
    """With what waits in the mirror."""
    bucket, folder = Store(tmp_path / "mirror", url), Store(tmp_path / "folder")
    other = Store(tmp_path / "other", url + "-other")
    record(bucket, 1)
    sync(bucket, folder)
    sync(bucket, other)

    assert held(folder) == held(other) == [1]


def test_a_dry_run_copies_nothing(source: Store, target: Store) -> None:
    """It says the same as the copy would, with sizes."""
    record(source, 1)
    planned = sync(source, target, dry_run=True)
    assert not list(place(target).list("events"))

    assert planned.entries and planned.size_bytes == sum(
        path.stat().st_size for path in source.events.rglob("*.parquet")
    )
    assert {entry.name for entry in sync(source, target).entries} == {entry.name for entry in planned.entries}


def test_a_damaged_file_is_named_and_the_rest_copied(source: Store, target: Store) -> None:
    """It is copied when it is whole again."""
    record(source, 1)
    record(source, 2)
    path = timings(source)[0]
    content = path.read_bytes()
    path.write_bytes(content[:-100] + bytes(100))
    copied = sync(source, target)
    assert list(copied.problems) == [f"events/timings/{path.name}"]
    assert f"{path} is damaged" in next(iter(copied.problems.values()))
    assert held(target) == [2]

    path.write_bytes(content)
    assert [entry.name for entry in sync(source, target).entries] == [f"events/timings/{path.name}"]
    assert held(target) == [1, 2]


@exhaustive
def test_what_was_broken_off_goes_on(source: Store, url: str, server: ObjectServer, tmp_path: Path) -> None:
    """By being repeated: what was copied is not copied again."""
    target = Store(tmp_path / "mirror", url)
    for duration in range(3):
        record(source, duration)
    server.fault = lambda method, path, number: "refuse" if method == "PUT" and "/timings/" in path else None
    with pytest.raises(BenchError, match="refused"):
        sync(source, target)
    server.fault = None
    there = len(list(place(target).list("events")))

    assert len(sync(source, target).entries) == len(EventLog(source).files()) - there
    assert held(target) == [0, 1, 2]


@exhaustive
def test_what_both_stores_merged_counts_once(source: Store, target: Store) -> None:
    """In either order, each by itself; and one goes on and merges more."""
    for duration in range(3):
        record(source, duration)
    sync(source, target)
    compact(source, below_bytes=MB, target_bytes=MB)
    assert sync(source, target).entries == []  # all is there, in smaller files
    compact(target, below_bytes=MB, target_bytes=MB)
    assert sync(source, target).entries == []
    record(source, 3)
    compact(source, below_bytes=MB, target_bytes=MB)
    sync(source, target)

    assert durations(source) == durations(target) == [0, 1, 2, 3]
    assert verify(target).problems == {}


@pytest.mark.exhaustive
def test_small_files_of_what_is_merged_there_are_not_copied(source: Store, target: Store) -> None:
    """The merged file says what it stands for."""
    for duration in range(2):
        record(source, duration)
    sync(source, target)
    compact(target, below_bytes=MB, target_bytes=MB)

    assert sync(source, target).entries == []
    assert durations(target) == [0, 1]


@pytest.mark.exhaustive
def test_files_that_were_merged_apart_and_overlap_are_left_out(source: Store, tmp_path: Path) -> None:
    """Neither can give way: it is named, and nothing counts twice."""
    target = Store(tmp_path / "target")
    for duration in range(3):
        record(source, duration)
    durations(source)
    sync(source, target)
    durations(target)
    first, second, third = timings(source)
    merge_all(target, target.events / "timings" / first.name, target.events / "timings" / second.name)
    record(source, 3)
    merge_all(source, second, third, timings(source)[-1])
    copied = sync(source, target)

    assert [name.split("/")[1] for name in copied.problems] == ["timings"]
    assert "were merged apart and hold 1 file in common" in next(iter(copied.problems.values()))
    assert durations(target) == [0, 1, 2]


@exhaustive
def test_a_damaged_merged_file_gives_way_to_what_it_stands_for(source: Store, target: Store) -> None:
    """As long as that is there."""
    for duration in range(2):
        record(source, duration)
    durations(source)
    small = timings(source)
    merge(source, {path.name: None for path in small}, below_bytes=MB, target_bytes=MB)
    (merged,) = set(timings(source)) - set(small)
    data = bytearray(merged.read_bytes())
    data[10] ^= 1
    merged.write_bytes(data)

    assert list(sync(source, target).problems) == [f"events/timings/{merged.name}"]
    assert durations(target) == [0, 1]


def test_journals_of_the_dead_are_sealed_and_those_of_the_living_named(source: Store, target: Store) -> None:
    """The events of a killed process are copied with the rest."""
    run = bench.run("x", store=source)
    run.case("c").timing(1)
    assert sync(source, target).notes == [f"1 journal is still written to in {source}, and not copied"]
    run.close(seal=False)

    assert sync(source, target).notes == []
    assert held(target) == [1]


def test_a_store_is_not_copied_to_itself_nor_from_nowhere(source: Store, url: str, tmp_path: Path) -> None:
    """The error names it."""
    for nowhere in (Store(tmp_path / "none"), Store(tmp_path / "mirror", url)):
        with pytest.raises(BenchError, match=f"there is no store at {nowhere}"):
            sync(nowhere, source)
    record(source, 1)
    with pytest.raises(BenchError, match="both source and destination"):
        sync(source, Store(tmp_path / "x" / ".." / "source"))


def test_the_command_counts_lists_and_fails(
    source: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Rows of a dry run on stdout, talk on stderr, exit code 1 for what could not be copied."""

    def tell(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["bench", "sync", str(source.root), str(tmp_path / "target"), *arguments])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        out, err = capfd.readouterr()
        return int(stopped.value.code or 0), out, err

    record(source, 1)
    size = sum(path.stat().st_size for path in source.events.rglob("*.parquet")) / 1e3
    code, out, err = tell("--dry-run", "--format", "csv")
    assert (code, len(out.splitlines()), out.splitlines()[0]) == (0, 6, "file,size_bytes")
    assert err == f"5 files of {size:.1f} kB would be copied\n"
    assert tell() == (0, f"5 files of {size:.1f} kB copied\n", "")

    shutil.rmtree(tmp_path / "target")
    path = timings(source)[0]
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    code, out, err = tell()
    assert (code, out.split(" ")[0]) == (1, "4")
    assert err.startswith(f"Error: {path} is damaged")
