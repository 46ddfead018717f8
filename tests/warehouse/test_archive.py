"""Archiving: what began before a date moves into another store; nothing is lost on the way, and nothing is there twice."""

import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import bench
import pytest
from bench.ingest.format import Options
from bench.ingest.run import ingest
from bench.query.resolve import check_values, removed_runs, resolve_runs
from bench.warehouse import load as loading
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError, Missing
from bench.warehouse.events import Environment, Event, Instant, Outcome, RunRecord, ScheduleChunk, Timing
from bench.warehouse.load import load, rebuild
from bench.warehouse.log import EventLog, LogFile, splits
from bench.warehouse.remote.copying import copy_events
from bench.warehouse.remote.places import Folder
from bench.warehouse.remote.sync import sync
from bench.warehouse.store import Store
from bench.warehouse.upkeep import archive as room
from bench.warehouse.upkeep.archive import ArchiveResult, archive
from bench.warehouse.upkeep.compaction import _drop_parts, compact
from bench.warehouse.upkeep.verify import verify

from ..builders import run, source, stored
from ..exhaustive import exhaustive, sampled

MB = 1 << 20
OCTOBER, NOVEMBER = Instant(1_760_000_000_000_000), Instant(1_762_500_000_000_000)
FIRST = datetime(2025, 11, 1)
TABLES = ("runs", "timings", "outcomes", "schedule_chunks", "sources")
RUNS = [("old-0", OCTOBER), ("new-0", NOVEMBER), ("old-1", OCTOBER), ("new-1", NOVEMBER)]

Rows = dict[str, list[str]]  # of each table, as text


def write(store: Store, run_id: str, began: Instant | None) -> None:
    """The files of one run, as if sealed."""
    log = EventLog(store)
    machine = f"machine {run_id[-1]}"
    rows: dict[type[Event], list[Any]] = {
        Environment: [Environment(environment_id=machine)],
        RunRecord: [run(run_id, run_id[:3], started_at=began, environment_id=machine)],
        Timing: [Timing(run_id=run_id, case_id="c", duration_ns=n, sample=n) for n in range(3)],
        Outcome: [Outcome(run_id=run_id, status="ok")],
    }
    for event, events in rows.items():
        log.write(event, events, run_id)


def imported(store: Store, name: str, *runs: tuple[str, Instant]) -> None:
    """One imported file of several runs."""
    with store.lock(), EventLog(store).batch(name) as batch:
        for part, (run_id, began) in enumerate(runs):
            batch.add(run(run_id, run_id[:3], started_at=began))
            for line in (2 * part + 1, 2 * part + 2):
                batch.add(ScheduleChunk(run_id=run_id, source_id=name, line=line, chunk_sizes=[line]))
            batch.add(source(name, 2, run=run_id, part=part, first_line=2 * part + 1))


def filled(store: Store) -> Store:
    """Two old runs and two new ones, an import of either and one of both; loaded."""
    for run_id, began in RUNS:
        write(store, run_id, began)
    imported(store, "both", ("old-2", OCTOBER), ("new-2", NOVEMBER))
    imported(store, "before", ("old-3", OCTOBER))
    imported(store, "after", ("new-3", NOVEMBER))
    load(store)
    return store


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Store]:
    """Such a store, as it was recorded and compacted."""
    stores = {compacted: filled(Store(tmp_path_factory.mktemp("made") / "store")) for compacted in (False, True)}
    compact(stores[True], below_bytes=MB, target_bytes=MB)
    return stores


@pytest.fixture
def store(made: dict[bool, Store], tmp_path: Path) -> Store:
    """A copy of it, not compacted."""
    return Store(Path(shutil.copytree(made[False].root, tmp_path / "store")))


@pytest.fixture
def compacted(made: dict[bool, Store], tmp_path: Path) -> Store:
    """A copy of it, compacted."""
    return Store(Path(shutil.copytree(made[True].root, tmp_path / "compacted")))


@pytest.fixture(params=sampled(["store", "compacted"], "store"))
def either(request: pytest.FixtureRequest) -> Store:
    """One of these after the other."""
    found: Store = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def third(made: dict[bool, Store], tmp_path: Path) -> Store:
    """Another copy of the store as it was recorded."""
    return Store(Path(shutil.copytree(made[False].root, tmp_path / "third")))


@pytest.fixture
def target(tmp_path: Path) -> Store:
    return Store.find(tmp_path / "archive")


def events(*stores: Store) -> Rows:
    """All rows of stores, each store as it is."""
    found: Rows = {}
    for store in stores:
        with Warehouse.open(store) as warehouse:
            for table in TABLES:
                found.setdefault(table, []).extend(map(str, warehouse.rows(f"FROM {table}")))
    return {table: sorted(rows) for table, rows in found.items()}


def runs(store: Store) -> set[str]:
    return {run_id for (run_id,) in stored("SELECT run_id FROM runs", store)}


def sound(*stores: Store) -> bool:
    """Whether nothing is wrong with stores, and they are the same when they are derived anew."""
    for store in stores:
        before = events(store)
        rebuild(store)
        if verify(store).problems or events(store) != before:
            return False
    return True


@pytest.mark.exhaustive
def test_old_runs_move_and_the_rest_stays(either: Store, target: Store) -> None:
    """Both stores together hold what the one did, each is sound by itself; a file of both kinds of run is split."""
    wanted = events(either)
    done = archive(either, target, FIRST)

    assert (done.runs, done.left, done.split) == (4, 4, 3)
    assert runs(either) == {f"new-{n}" for n in range(4)} and runs(target) == {f"old-{n}" for n in range(4)}
    assert events(either, target) == wanted
    assert sound(either, target)
    assert stored("SELECT count(*) FROM environments", target) == [(2,)]


@exhaustive
def test_an_archive_may_be_a_bucket(compacted: Store, machine: Callable[[str], Store]) -> None:
    """Merged files count there, too; a second attempt has nothing to do, and any machine can ask and bring it back."""
    wanted = events(compacted)
    assert archive(compacted, machine("a"), FIRST).runs == 4
    assert archive(compacted, machine("a"), FIRST).runs == 0

    there = machine("b")
    assert events(compacted, there) == wanted
    assert verify(there).problems == {}
    sync(there, compacted)
    assert events(compacted) == wanted


@pytest.mark.exhaustive
def test_a_dry_run_moves_nothing(store: Store, target: Store) -> None:
    """It says what would be moved."""
    load(store)
    before = EventLog(store).files()
    done = archive(store, target, FIRST, dry_run=True)

    assert (done.runs, done.left, done.split) == (4, 4, 3) and done.size_bytes > 0
    assert EventLog(store).files() == before and not target.root.exists()


@exhaustive
def test_nothing_to_move_makes_no_store(store: Store, target: Store) -> None:
    """And says so by its counts."""
    assert archive(store, target, datetime(2020, 1, 1)) == ArchiveResult(runs=0, left=8)
    assert not target.root.exists()


@exhaustive
@pytest.mark.parametrize("times", sampled([1, 2], 1))
def test_what_went_comes_back(store: Store, target: Store, times: int) -> None:
    """By copying between stores; it can go again, to the same place or another."""
    wanted = events(store)
    for _ in range(times):
        archive(store, target, FIRST)
        sync(target, store)
        assert events(store) == wanted
        assert verify(store).problems == {}
    elsewhere = Store.find(target.root.parent / "elsewhere")
    archive(store, elsewhere, FIRST)

    assert events(store, elsewhere) == wanted


@exhaustive
def test_later_dates_take_more(store: Store, target: Store) -> None:
    """A split run may be split again, or go as a whole, also after it was compacted here and there."""
    for number in range(2):
        write(store, f"mid-{number}", Instant(OCTOBER + 86_400_000_000 * (number + 1)))
    compact(store, below_bytes=MB, target_bytes=MB)
    wanted = events(store)
    for day in (10, 11, 20):
        archive(store, target, datetime(2025, 10, day))
        compact(target, below_bytes=MB, target_bytes=MB)
    assert events(store, target) == wanted
    assert runs(store) == {f"new-{n}" for n in range(4)}
    assert sound(store, target)


@exhaustive
def test_what_is_not_known_to_be_old_stays(store: Store, target: Store) -> None:
    """A run without a beginning, and one that is still being recorded."""
    write(store, "undated-0", None)
    with bench.run("alive", store=store) as alive:
        alive.case("c").timing(1)
        done = archive(store, target, datetime(2100, 1, 1))
        assert done.left == 1
        assert runs(store) == {"undated-0"}
    assert runs(store) == {"undated-0", alive.run_id}


@exhaustive
def test_what_runs_left_beside_their_events_goes_along(store: Store, target: Store) -> None:
    """Their traces, with the folders; those of other runs stay."""
    for run_id in ("old-0", "new-0"):
        folder = store.artefacts / run_id
        folder.mkdir(parents=True)
        (folder / "trace.json").write_text(run_id)
    archive(store, target, FIRST)

    assert [path.name for path in store.artefacts.iterdir()] == ["new-0"]
    assert (target.artefacts / "old-0" / "trace.json").read_text() == "old-0"


class Killed(BaseException):
    """Stands for SIGKILL at a line of our choice."""


def killed_at(count: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, until it is called once more than so often; of removals only those of event files count."""
    calls = 0

    unlink = Path.unlink

    def step(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += function is not unlink or arguments[0].suffix == ".parquet"
        if calls > count:
            raise Killed
        return function(*arguments, **options)

    return step


STEPS: list[tuple[Any, str, int]] = [
    (room, "_split", 1), (room, "copy_events", 1), (room, "_check", 0), (EventLog, "write", 0), (room, "publish_text", 0),
    (Path, "unlink", 3), (loading, "_publish", 0),
]  # fmt: skip


@exhaustive
@pytest.mark.parametrize(
    ("place", "name", "count"), sampled(STEPS, STEPS[5]), ids=lambda value: getattr(value, "__name__", str(value))
)
def test_killed_anywhere_nothing_is_lost_or_there_twice(
    place: Any, name: str, count: int, compacted: Store, target: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every run is whole in one store or in both; the next attempt finishes what the first began."""
    wanted = events(compacted)
    monkeypatch.setattr(place, name, killed_at(count, getattr(place, name)))
    with pytest.raises(Killed):
        archive(compacted, target, FIRST)
    monkeypatch.undo()

    here, there = events(compacted), events(target) if EventLog(target).files() else dict[str, Any]()
    for table in TABLES:
        assert sorted({*here[table], *there.get(table, ())}) == wanted[table]
        assert len(here[table]) in (len(wanted[table]), len(wanted[table]) // 2)
    archive(compacted, target, FIRST)
    compacted.database.unlink()
    assert events(compacted, target) == wanted
    assert [path.name for path in compacted.root.iterdir() if "archiving" in path.name] == []


def test_a_damaged_copy_is_noticed_before_anything_goes(
    store: Store, target: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy is read back from the disk; the store is as it was."""
    wanted = events(store)

    def spoil(source: Any, there: Any, *arguments: Any, **options: Any) -> None:
        copy_events(source, there, *arguments, **options)
        path = next(path for path in (target.events / "timings").iterdir() if "old" in path.name)
        data = bytearray(path.read_bytes())
        data[40:44] = b"oops"
        path.write_bytes(data)

    monkeypatch.setattr(room, "copy_events", spoil)
    with pytest.raises(BenchError, match="damaged"):
        archive(store, target, FIRST)

    assert events(store) == wanted


def copy_files(files: list[LogFile], store: Store) -> None:
    for file in files:
        (store.events / file.table).mkdir(parents=True, exist_ok=True)
        shutil.copy(file.path, store.events / file.table)


@exhaustive
def test_a_third_store_that_has_the_whole_file_takes_no_part_of_it(either: Store, target: Store, third: Store) -> None:
    """A copy of the store, made before, stays whole whichever parts it is given later."""
    wanted = events(third)
    archive(either, target, FIRST)
    for other in (either, target):
        copy_files(_parts(other), third)

        assert events(third) == wanted
    for other in (either, target):  # and whoever has a part takes the file in its place
        sync(third, other)
        assert set(map(tuple, (events(other)["timings"], events(other)["runs"]))) == {
            tuple(wanted["timings"]), tuple(wanted["runs"])
        }  # fmt: skip
    archive(either, target, FIRST)
    assert runs(either) == {f"new-{n}" for n in range(4)}


@exhaustive
def test_compacting_drops_parts_of_what_is_here_whole(either: Store, target: Store, third: Store) -> None:
    """They count for nothing, and every command would look into them; parts of what is not here, or is damaged, stay."""
    wanted = events(third)
    archive(either, target, FIRST)
    copy_files(parts := _parts(either), third)
    damaged = next(file for file in EventLog(third).files() if file.name in splits(parts[0].path))
    content = damaged.path.read_bytes()
    damaged.path.write_bytes(b"oops")
    _drop_parts(EventLog(third).files())
    assert parts[0].name in {part.name for part in _parts(third)}
    damaged.path.write_bytes(content)

    compact(third, below_bytes=0, target_bytes=1)
    compact(either, below_bytes=0, target_bytes=1)
    assert (events(third), _parts(third)) == (wanted, [])
    assert [part.name for part in _parts(either)] == [part.name for part in parts]
    assert sound(either, third)


def _parts(store: Store) -> list[LogFile]:
    return [file for file in EventLog(store).files() if file.stem.startswith("split-")]


@pytest.mark.exhaustive
def test_a_file_that_cannot_be_found_takes_none_along_that_stays(
    store: Store, target: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy looks again for what went; only for that."""
    lost, get = [file.name for file in EventLog(store).files() if file.name.startswith("old-0")][:1], Folder.get

    def get_later(self: Folder, name: str, path: Path) -> None:
        if name.endswith(tuple(lost)):
            lost.clear()
            raise Missing(f"{self.url} holds no {name}")
        get(self, name, path)

    monkeypatch.setattr(Folder, "get", get_later)
    archive(store, target, FIRST)
    assert not lost and {run_id.partition("-")[0] for run_id in runs(target)} == {"old"}
    assert sound(store, target)


def test_a_damaged_file_keeps_everything_here(store: Store, target: Store) -> None:
    """Nobody can tell whose events are in it."""
    path = next((store.events / "timings").iterdir())
    path.write_bytes(b"oops")
    store.database.unlink()
    with pytest.raises(BenchError, match=r"is damaged.*nothing is archived"):
        archive(store, target, FIRST)

    assert not target.root.exists()


@exhaustive
def test_a_run_with_a_hostile_name_takes_nothing_along(store: Store, target: Store) -> None:
    """Its name is no way out of the folder of what runs left."""
    write(store, "x", OCTOBER)
    EventLog(store).write(RunRecord, [run("../events", "evil", started_at=OCTOBER)], "evil")
    (store.artefacts / "x").mkdir(parents=True)
    (store.artefacts / "x" / "note").touch()
    archive(store, target, FIRST)

    assert runs(store) == {f"new-{n}" for n in range(4)} and (target.artefacts / "x" / "note").exists()


@pytest.mark.exhaustive
def test_asking_for_an_archived_run_says_where_it_is(store: Store, target: Store) -> None:
    """By id or config, with the ways to get at it; a name nobody ever had stays unknown."""
    for _ in range(2):  # it counts runs, however often they went
        sync(target, store) if target.exists() else None
        archive(store, target, FIRST)
    with Warehouse.open(store) as warehouse:
        assert removed_runs(warehouse) == [f"4 runs were archived to {target}: ask there with --store {target}."]
        with pytest.raises(
            BenchError, match=rf"run old-0 was archived to {target}.*bench store sync {target} {store.root}"
        ):
            resolve_runs(warehouse, "old-0")
        with pytest.raises(BenchError, match=r"the 4 runs of 'old' were archived to"):
            resolve_runs(warehouse, "old")
        with pytest.raises(BenchError, match=r"the 4 runs of 'old' were archived to"):
            check_values(warehouse, "run_summaries", "config", ["old"])
        with pytest.raises(BenchError, match="no run 'none'"):
            resolve_runs(warehouse, "none")
    sync(target, store)
    with Warehouse.open(store) as warehouse:
        assert len(resolve_runs(warehouse, "old")) == 4
        assert removed_runs(warehouse) == []


@exhaustive
def test_where_all_runs_went_is_said_where_there_are_none(store: Store, target: Store) -> None:
    """Rather than that there is nothing called latest, the nearest being latest."""
    archive(store, target, datetime(2026, 1, 1))
    with Warehouse.open(store) as warehouse, pytest.raises(BenchError, match=r"no runs .* 8 runs were archived to"):
        resolve_runs(warehouse, "latest")


@pytest.mark.exhaustive
def test_a_file_whose_run_was_archived_is_not_loaded_again(target: Store, tmp_path: Path) -> None:
    """Though nothing of it is here: it is known, and said where it is; what came back is known as before."""
    store = Store.find(tmp_path / "importing")
    file = tmp_path / "results.csv"
    file.write_text("model,batch_size,sequence_length,result\na,1,128,2.5\n")
    options = Options(metric="time")
    ingest(store, [str(file)], options=options)
    archive(store, target, datetime(2100, 1, 1))

    report = ingest(store, [str(file)])
    assert [line.known for line in report.lines] == [1] and runs(store) == set()
    assert report.notes == [
        f"{file} was archived to {target} and is not loaded again. Bring it back with bench store sync"
    ]
    sync(target, store)
    assert ingest(store, [str(file)]).notes == [] and len(runs(store)) == 1


def test_a_store_is_no_archive_of_its_own(store: Store) -> None:
    """Nor is a mirror one that can be archived from."""
    with pytest.raises(BenchError, match="this very store"):
        archive(store, store, FIRST)
    with pytest.raises(BenchError, match="bench store sync s3://bucket FOLDER"):
        archive(Store(store.root, "s3://bucket"), Store.find(store.root.parent / "x"), FIRST)
