"""Runs are read while they are recorded: their processes go on, and nothing of theirs is written."""

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import bench
import pytest
from bench.query.contents import follow as follow_module
from bench.query.contents.follow import follow
from bench.query.resolve import resolve_run
from bench.warehouse import recorder
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError, NothingToShow
from bench.warehouse.journals.live import live_store
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store

from ...exhaustive import exhaustive, first_of


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.find(tmp_path / "store")


@pytest.mark.parametrize("rotate", first_of(1, [1 << 26, 300_000]), ids=["one journal", "many journals"])
def test_a_running_process_shows_what_it_has_so_far(rotate: int, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Timings, metrics and their run, which is running; the store has no file more, and the run ends as ever."""
    monkeypatch.setattr(recorder, "ROTATE_BYTES", rotate)
    with bench.run("train", store=store) as run:
        case = run.case("loop")
        for number in range(10_000):  # more than both windows hold
            case.timing(number)
            case.metric("loss", 1 / (number + 1))
        before = sorted(path for path in store.root.rglob("*"))
        with live_store(store) as live, Warehouse.open(live) as warehouse:
            assert warehouse.rows("SELECT count(*), max(duration_ns) FROM timings") == [(10_000, 9999)]
            assert warehouse.rows("SELECT count(*) FROM metrics") == [(10_000,)]
            assert warehouse.rows("SELECT config, status, failed FROM run_summaries") == [("train", "running", 0)]
            assert warehouse.rows("SELECT status, reason FROM case_outcomes") == [("unknown", "it is being recorded")]
        assert sorted(path for path in store.root.rglob("*")) == before
        case.timing(10_000)

    with pytest.raises(NothingToShow, match="no process records"), live_store(store):
        pass
    with Warehouse.open(store) as warehouse:
        assert warehouse.rows("SELECT count(*) FROM timings") == [(10_001,)]
        assert warehouse.rows("SELECT status FROM run_summaries") == [("ok",)]


@pytest.mark.exhaustive
def test_what_a_run_left_in_the_log_already_counts(store: Store) -> None:
    """A worker that has ended, and runs that have nothing to do with it do not."""
    with bench.run("other", store=store) as other:
        other.case("c").timing(1)
    with bench.run("train", store=store) as run:
        case = run.case("loop")
        case.timing(1)
        child = os.fork()
        if child == 0:
            case.timing(2)
            run.close()
            os._exit(0)
        os.waitpid(child, 0)
        assert len(EventLog(store).files()) > 4
        with live_store(store) as live, Warehouse.open(live) as warehouse:
            assert warehouse.rows("SELECT config FROM run_summaries") == [("train",)]
            assert warehouse.rows("SELECT duration_ns FROM timings ORDER BY 1") == [(1,), (2,)]


@exhaustive
@pytest.mark.parametrize("when", first_of(1, ["before they are listed", "after they are listed"]))
def test_what_is_sealed_while_it_is_looked_at_is_there(
    when: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process of the run ends just then: its events were in neither the journals nor the files, for one answer."""
    with bench.run("train", store=store) as run:
        case = run.case("loop")
        case.timing(1)
        if (child := os.fork()) == 0:
            case.timing(2)
            run.close(seal=False)
            os._exit(0)
        os.waitpid(child, 0)
        listed = EventLog.journals

        def sealed_meanwhile(log: EventLog) -> list[Path]:
            paths = listed(log)
            for path in log.abandoned() if len(paths) > 1 and not looked else ():
                log.seal(path)
            looked.append(paths)
            return paths if when == "after they are listed" else listed(log)

        looked: list[list[Path]] = []
        monkeypatch.setattr(EventLog, "being_written", lambda _: [run._journal.path])
        monkeypatch.setattr(EventLog, "abandoned", lambda log: filter(lambda p: p != run._journal.path, listed(log)))
        monkeypatch.setattr(EventLog, "journals", sealed_meanwhile)
        with live_store(store) as live:
            monkeypatch.undo()
            with Warehouse.open(live) as warehouse:
                assert warehouse.rows("SELECT duration_ns FROM timings ORDER BY 1") == [(1,), (2,)]


@pytest.mark.exhaustive
def test_a_damaged_journal_of_a_process_that_died_is_told(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    """The others go on, and what is whole of it counts."""
    with bench.run("train", store=store) as run:
        case = run.case("loop")
        case.timing(1)
        if (child := os.fork()) == 0:
            for number in range(10_000):
                case.timing(number)
            run.close(seal=False)
            os._exit(0)
        os.waitpid(child, 0)
        (path,) = EventLog(store).abandoned()
        data = bytearray(path.read_bytes())
        data[len(data) * 3 // 4 : len(data) * 3 // 4 + 64] = bytes(64)
        path.write_bytes(data)
        with live_store(store) as live, Warehouse.open(live) as warehouse:
            ((count,),) = warehouse.rows("SELECT count(*) FROM timings")

        assert 9_800 < count < 10_001
        assert f"{path.name} is damaged ({10_001 - count} events are lost)" in capfd.readouterr().err
        path.unlink()


def test_a_store_whose_only_run_is_being_recorded_says_so(store: Store) -> None:
    """It names the command that can be asked meanwhile."""
    with bench.run("train", store=store) as run:
        run.case("loop").timing(1)
        with (
            Warehouse.open(store) as warehouse,
            pytest.raises(BenchError, match=r"being recorded: .*bench show --follow"),
        ):
            resolve_run(warehouse, "latest")


@exhaustive
def test_following_ends_with_the_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer has more than the one before; the last is that of the store. One that takes long comes less often."""
    run = bench.run("train", store=store)
    case = run.case("loop")
    case.timing(1)
    steps: list[Callable[[], None]] = [lambda: case.timing(2), run.close]
    spent, paused, seen = iter([0.0, 0.1, 5.0, 6.0, 9.0]), [], []

    def sleep(seconds: float) -> None:
        paused.append(seconds)
        steps.pop(0)()

    monkeypatch.setattr(follow_module, "time", SimpleNamespace(sleep=sleep, process_time=lambda: next(spent)))

    def answer(warehouse: Warehouse) -> None:
        seen.append(warehouse.rows("SELECT status, samples FROM run_summaries")[0])

    follow(store, answer)

    assert seen == [("running", 1), ("running", 2), ("ok", 2)]
    assert paused == [2.0, 10.0]
