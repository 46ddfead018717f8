"""Runs are read while they are recorded: their processes go on, and nothing of theirs is written."""

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import bench
import pytest
from bench.query.contents import follow as follow_module
from bench.query.contents.follow import follow
from bench.warehouse import recorder
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import NothingToShow
from bench.warehouse.journals.live import live_store
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.find(tmp_path / "store")


@pytest.mark.parametrize("rotate", [1 << 26, 300_000], ids=["one journal", "many journals"])
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


def test_following_ends_with_the_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer has more than the one before; the last is that of the store."""
    run = bench.run("train", store=store)
    case = run.case("loop")
    case.timing(1)
    steps: list[Callable[[], None]] = [lambda: case.timing(2), run.close]
    monkeypatch.setattr(follow_module, "time", SimpleNamespace(sleep=lambda _: steps.pop(0)()))
    seen = []

    def answer(warehouse: Warehouse) -> None:
        seen.append(warehouse.rows("SELECT status, samples FROM run_summaries")[0])

    follow(store, answer)

    assert seen == [("running", 1), ("running", 2), ("ok", 2)]
