"""Recording: every event that a call returned from is there, whichever thread, process or signal handler made the call."""

import collections
import contextlib
import gc
import itertools
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import bench
import pytest
from bench.warehouse import events, recorder
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError, UnknownName
from bench.warehouse.events import Event, Metric, RunRecord
from bench.warehouse.load import load
from bench.warehouse.log import EventLog
from bench.warehouse.recorder import case_ids, join
from bench.warehouse.store import Store
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ..builders import stored
from ..exhaustive import exhaustive, first_of, sampled
from .strategies import any_events, as_dict, plain

pytestmark = pytest.mark.usefixtures("nothing_derived")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.find(tmp_path / "store")


def rows(store: Store, query: str, parameters: object = ()) -> list[tuple[Any, ...]]:
    """The answer after everything that can be sealed and loaded is."""
    load(store)
    return stored(query, store, parameters)


@settings(max_examples=4, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_event_reaches_the_warehouse_as_it_was(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Event to journal to Parquet to DuckDB, for any values of any table."""
    store = Store.find(tmp_path_factory.mktemp("store"))
    with bench.run("any", store=store) as run:
        fixed = {"run_id": run.run_id, "writer": run._writer}
        emitted = data.draw(st.lists(any_events(**fixed), min_size=1, max_size=30))
        emitted = list({(e.TABLE, getattr(e, "environment_id", n)): e for n, e in enumerate(emitted)}.values())
        emitted = [event for event in emitted if not isinstance(event, RunRecord)]  # parts of a run become one row
        for event in emitted:
            run.emit(event)
    own = {"environments", "outcomes"}  # the run's own rows are there too

    with Warehouse.open(store) as warehouse:
        for table in dict.fromkeys(event.TABLE for event in emitted):
            query = warehouse.connection.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in query.description]
            found = [dict(zip(names, map(plain, row), strict=True)) for row in query.fetchall()]
            wanted = [as_dict(event) for event in emitted if table == event.TABLE]
            if table in own:
                assert [row for row in wanted if row not in found] == []
            else:
                assert sorted(map(str, wanted)) == sorted(map(str, found))


@exhaustive
def test_a_run_in_brief(store: Store) -> None:
    """All that a measurement script records can be asked for."""
    with bench.run("config", suite="s", store=store, tags={"who": "me"}) as run:
        case = run.case("matmul", batch_size=8, backend="eager", parameters={"n": 64})
        with case.time(loops=3):
            pass
        case.timing(70, phase="warmup", details={"block": 2})
        case.memory(1 << 20)
        case.metric("graph_breaks", 2, better="lower")
        case.outcome("ok", phase="steady")
        run.schedule_chunk([512, 1], schedule_ms=0.5, model_run_ms=20.0, waiting=3)
        run.schedule_chunk([], batch_id=9)

    assert rows(store, "SELECT config, suite, source, tags->>'who' FROM runs") == [("config", "s", "api", "me")]
    assert rows(store, "SELECT name, batch_size, backend, parameters->>'n' FROM cases") == [
        ("matmul", 8, "eager", "64")
    ]
    assert rows(store, "SELECT phase, loops, sample, block FROM timings ORDER BY sample") == [
        ("steady", 3, 0, None),
        ("warmup", 1, 1, 2),
    ]
    assert rows(
        store, "SELECT batch_id, chunk_sizes, schedule_ms, waiting, line FROM schedule_chunks ORDER BY line"
    ) == [(None, [512, 1], 0.5, 3, 1), (9, [], None, None, 2)]
    assert rows(store, "SELECT size_bytes, statistic FROM memory_samples") == [(1 << 20, "peak")]
    assert rows(store, "SELECT metric, value, better FROM metrics") == [("graph_breaks", 2.0, "lower")]
    assert rows(store, "SELECT status, case_id IS NULL FROM outcomes ORDER BY ALL") == [("ok", False), ("ok", True)]


@pytest.mark.parametrize("repeats", [1, 50], ids=["alone", "alike"])
def test_a_step_knows_what_it_was_not_told(store: Store, repeats: int) -> None:
    """Left out and None are NULL; a zero, a negative number and a measured NaN are none of these."""
    with bench.run("config", store=store) as run:
        for _ in range(repeats):
            run.schedule_chunk([1], step_ms=math.nan, waiting=0, running=-1)
        for _ in range(repeats):
            run.schedule_chunk([1], step_ms=None, waiting=None, decode=2)

    assert rows(
        store,
        "SELECT isnan(step_ms), model_run_ms, waiting, running, decode, batch_id FROM schedule_chunks ORDER BY line",
    ) == [*[(True, None, 0, -1, None, None)] * repeats, *[(None, None, None, None, 2, None)] * repeats]


def test_a_step_takes_no_place_for_what_few_servers_know(store: Store) -> None:
    """A third of a step of 16 chunks; one such number takes the places of all."""
    with bench.run("config", store=store) as run:
        sizes = [run._journal.size_bytes]
        for given in ({}, {"decode": 2}):
            run.schedule_chunk([1] * 16, schedule_ms=0.5, waiting=3, **given)
            sizes.append(run._journal.size_bytes)

    assert [after - before for before, after in itertools.pairwise(sizes)] == [97, 97 + 6 * 8]


def test_a_run_that_raises_says_why(store: Store) -> None:
    """The exception passes, and the run's outcome tells of it; Ctrl-C is an interruption."""
    with pytest.raises(ZeroDivisionError), bench.run("a", store=store):
        _ = 1 / 0
    with pytest.raises(KeyboardInterrupt), bench.run("b", store=store):
        raise KeyboardInterrupt

    assert rows(store, "SELECT status, reason FROM outcomes ORDER BY status") == [
        ("failed", "ZeroDivisionError: division by zero"),
        ("interrupted", "KeyboardInterrupt"),
    ]


@pytest.mark.exhaustive
@pytest.mark.usefixtures("derived")
def test_a_case_whose_blocks_all_raised_has_failed(store: Store) -> None:
    """Also where the script caught what they raised; one block that ended well is enough, and an outcome given says more."""
    with bench.run("raises", store=store) as run:
        for name in ("never", "retried", "told"):
            case = run.case(name)
            with contextlib.suppress(ZeroDivisionError), case.time():
                1 / 0  # noqa: B018
            if name == "retried":
                with case.time():
                    pass
            if name == "told":
                case.outcome("skipped", reason="not here")
        with run.case("at last").time():
            pass
        with contextlib.suppress(ZeroDivisionError), run.case("at last").time():
            1 / 0  # noqa: B018
        if os.fork() == 0:  # a child ends its part of the run, and says nothing of its parent's cases
            run.close()
            os._exit(0)
        os.wait()

    assert rows(store, "SELECT name, status, reason FROM case_outcomes ORDER BY name") == [
        ("at last", "ok", None),
        ("never", "fail_to_run", "ZeroDivisionError: division by zero"),
        ("retried", "ok", None),
        ("told", "skipped", "not here"),
    ]
    assert rows(store, "SELECT count(*) FROM outcomes WHERE status = 'fail_to_run'") == [(1,)]


def test_a_run_and_a_case_say_what_they_are(store: Store) -> None:
    """In a prompt and in messages."""
    with bench.run("shown", store=store, run_id="shown-1") as run:
        case = run.case("m")
        assert repr(run) == f"<run shown-1 in {store.root}>"
        assert repr(case) == f"<case {case.case_id} of run shown-1>"
        with pytest.raises(UnknownName, match="no kind of outcome 'banana'"):
            case.outcome("ok", kind="banana")
        with pytest.raises(UnknownName, match=r"no status 'time_out'\. Nearest: 'timeout'"):
            case.outcome("time_out")
    assert repr(run) == f"<run shown-1 in {store.root}, closed: ok>"


def test_a_case_is_announced_once(store: Store) -> None:
    """However often it is asked for: a row more would count its samples twice wherever they are joined with it."""
    with bench.run("main", store=store) as run:
        for duration_ns in (1, 2):
            run.case("matmul", batch_size=8).timing(duration_ns)

    query = "SELECT duration_ns FROM timings JOIN cases USING (run_id, case_id) ORDER BY 1"
    assert rows(store, query) == [(1,), (2,)]


def test_a_closed_run_records_nothing_and_says_so(store: Store) -> None:
    """After close every way of recording raises, and what was there stays."""
    run = bench.run("a", store=store)
    case = run.case("c")
    case.timing(1)
    run.close()
    run.close()
    for record in (
        lambda: case.timing(2),
        lambda: case.timing(2, details={"block": 1}),
        lambda: case.metric("m", 1),
        lambda: run.schedule_chunk([1]),
        lambda: run.case("d"),
    ):
        with pytest.raises(BenchError, match="is closed"):
            record()

    assert rows(store, "SELECT duration_ns FROM timings") == [(1,)]


def test_joined_processes_add_to_the_same_run(store: Store) -> None:
    """A worker's events belong to the run; it adds neither a run nor a run's end."""
    with bench.run("a", store=store) as run:
        case_id = run.case("c").case_id
        with join(run.run_id, store) as worker:
            worker.case("c", announce=False).timing(5)

    assert rows(
        store, "SELECT t.duration_ns, config FROM timings t JOIN runs USING (run_id) WHERE case_id = ?", [case_id]
    ) == [(5, "a")]
    assert rows(store, "SELECT (SELECT count(*) FROM cases), (SELECT count(*) FROM outcomes)") == [(1, 1)]


def test_the_work_hash_leaves_out_the_backend_alone() -> None:
    """Two sides of a comparison share the work, not the case."""
    one, work = case_ids(name="m", backend="eager", batch_size=1, parameters={"a": 1, "b": 2})
    assert (one, work) == case_ids(name="m", backend="eager", batch_size=1, parameters={"b": 2, "a": 1})
    assert case_ids(name="m", backend="inductor", batch_size=1, parameters={"a": 1, "b": 2})[1] == work
    assert case_ids(name="m", backend="eager", batch_size=2, parameters={"a": 1, "b": 2})[1] != work


class Contrary:
    """What a tensor of floats does when asked for an integer."""

    def __repr__(self) -> str:
        return "Contrary()"

    def __index__(self) -> int:
        raise TypeError("only integer tensors of a single element")


@pytest.mark.parametrize("wrong", first_of(2, [1 << 63, -(1 << 63) - 1, 1.5, "1", None, Contrary()]), ids=repr)
def test_a_value_that_does_not_fit_loses_nothing_around_it(wrong: Any, store: Store) -> None:
    """In the hot paths too: an error that says so, and every event before and after is there."""
    with bench.run("a", store=store) as run:
        case = run.case("c")
        for number in range(3):
            case.timing(number)
            run.schedule_chunk([number], schedule_ms=1.0)
            with pytest.raises((BenchError, TypeError)):  # passed on, where the value's own class raised it
                case.timing(wrong)
            with pytest.raises(BenchError):
                case.timing(1, details={"block": object()})  # type: ignore[dict-item]
            with pytest.raises((BenchError, TypeError)):
                run.schedule_chunk([1, wrong])
            with pytest.raises(BenchError):
                run.schedule_chunk([1], schedule_ms="fast")  # type: ignore[arg-type]

    assert rows(store, "SELECT duration_ns FROM timings ORDER BY 1") == [(0,), (1,), (2,)]
    assert rows(store, "SELECT chunk_sizes[1] FROM schedule_chunks ORDER BY 1") == [(0,), (1,), (2,)]


def test_a_detail_that_is_no_column_is_named(store: Store) -> None:
    """A typing error in a keyword is an error, not a lost value."""
    with bench.run("a", store=store) as run, pytest.raises(BenchError, match="blok"):
        run.case("c").timing(1, details={"blok": 3})


@pytest.mark.exhaustive
@pytest.mark.parametrize("rotate", first_of(1, [1 << 26, 30_000]), ids=["one journal", "many journals"])
def test_many_threads_lose_nothing(rotate: int, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that share a case, or have their own, record every event once, each in its order, over any journals."""
    monkeypatch.setattr(recorder, "ROTATE_BYTES", rotate)
    threads, each = 5, 1000
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with bench.run("a", store=store) as run:
            shared = run.case("shared")

            def work(thread: int) -> None:
                own = run.case(f"own {thread}")
                for number in range(each):
                    shared.timing(number, loops=thread + 1)
                    own.timing(number, phase=f"phase {number % 5}")
                    run.schedule_chunk([thread, number], schedule_ms=number / 3)
                    if number % 50 == 0:
                        own.metric(f"metric {thread}", number)

            workers = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            journals = len(run._rotated) + 1
    finally:
        sys.setswitchinterval(interval)

    assert (journals > 5) == (rotate < 1 << 26)
    found = rows(
        store,
        "SELECT loops, duration_ns, sample FROM timings JOIN cases USING (case_id) WHERE name = 'shared' ORDER BY sample",
    )
    assert [sample for _, _, sample in found] == list(range(threads * each))
    order = collections.defaultdict(list)
    for loops, number, _ in found:
        order[loops].append(number)
    assert dict(order) == {thread + 1: list(range(each)) for thread in range(threads)}
    assert rows(
        store,
        """SELECT name, count(*), count(DISTINCT duration_ns), bool_and(phase = 'phase ' || duration_ns % 5)
        FROM timings JOIN cases USING (case_id) WHERE name <> 'shared' GROUP BY 1 ORDER BY 1""",
    ) == [(f"own {thread}", each, each, True) for thread in range(threads)]
    assert rows(
        store,
        """SELECT count(*), count(DISTINCT chunk_sizes), bool_and(schedule_ms = chunk_sizes[2] / 3), count(DISTINCT line)
        FROM schedule_chunks""",
    ) == [(threads * each, threads * each, True, threads * each)]
    assert rows(store, "SELECT metric, count(*) FROM metrics GROUP BY 1 ORDER BY 1") == [
        (f"metric {t}", each // 50) for t in range(threads)
    ]


def forked(work: Any) -> int:
    """Run `work` in a forked child that ends without clean-up; its wait status."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1]


@exhaustive
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("end", sampled(["_exit", "SIGKILL", "close"], "SIGKILL"))
def test_forked_children_record_beside_their_parent(end: str, store: Store) -> None:
    """Parent and child both record after a fork, whichever way the child ends; neither disturbs the other."""
    with bench.run("a", store=store) as run:
        case = run.case("c")
        case.timing(1)
        run.schedule_chunk([1])

        def work() -> None:
            case.timing(100)
            run.schedule_chunk([100])
            if end == "close":
                run.close()
            if end == "SIGKILL":
                os.kill(os.getpid(), signal.SIGKILL)

        assert (forked(work) == signal.SIGKILL) == (end == "SIGKILL")
        case.timing(2)
        run.schedule_chunk([2])
        forked(lambda: None)
        assert len(EventLog(store).journals()) == (1 if end == "close" else 2)  # who records nothing needs none

    assert rows(store, "SELECT duration_ns FROM timings ORDER BY 1") == [(1,), (2,), (100,)]
    assert rows(store, "SELECT chunk_sizes[1], line FROM schedule_chunks ORDER BY 1") == [(1, 1), (2, 2), (100, 1)]
    assert rows(store, "SELECT count(DISTINCT writer) FROM schedule_chunks") == [(2,)]
    assert rows(store, "SELECT count(*) FROM outcomes") == [(1,)]


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_that_finds_no_space_leaves_its_parent_alone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that cannot open a journal gets an error from each event, and never writes into its parent's."""
    with bench.run("a", store=store) as run:
        case = run.case("c")
        case.timing(1)

        def work() -> None:
            def full(*_: object) -> None:
                raise OSError(28, "No space left on device")

            os.posix_fallocate = full
            for _ in range(3):
                try:
                    case.timing(100)
                except BenchError as error:
                    if "No space left" in str(error):
                        continue
                os.abort()

        assert forked(work) == 0
        case.timing(2)

    assert rows(store, "SELECT duration_ns FROM timings ORDER BY 1") == [(1,), (2,)]


@pytest.mark.exhaustive
def test_a_signal_handler_may_record(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler that records in the midst of the main thread's recording disturbs none of it."""
    monkeypatch.setattr(recorder, "ROTATE_BYTES", 400_000)
    seen = 0
    with bench.run("a", store=store) as run:
        case = run.case("c")

        def handler(*_: object) -> None:
            nonlocal seen
            case.timing(seen, metric="handler")
            run.schedule_chunk([seen] * (seen % 40))
            seen += 1
            signal.setitimer(signal.ITIMER_REAL, 0.0003)

        previous = signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.0003)
        try:
            number = 0
            while seen < 150 or number < 10_000:
                case.timing(number)
                run.schedule_chunk([number])
                number += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)

    query = "SELECT metric, count(*), count(DISTINCT duration_ns), max(duration_ns) FROM timings GROUP BY 1 ORDER BY 1"
    assert rows(store, query) == [("handler", seen, seen, seen - 1), ("latency", number, number, number - 1)]
    assert rows(store, "SELECT count(*) FROM schedule_chunks") == [(seen + number,)]


def test_a_run_left_open_closes_itself(tmp_path: Path) -> None:
    """At exit of the interpreter the run ends and is sealed."""
    script = f"import bench; run = bench.run('a', store={str(tmp_path / 's')!r}); run.case('c').timing(1)"
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    store = Store.find(tmp_path / "s")

    assert EventLog(store).journals() == []
    assert rows(store, "SELECT duration_ns FROM timings") == [(1,)]


def test_the_thread_that_syncs_keeps_no_run_alive(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """It lives to the end of the process: a run that it held would keep what hangs on it, and DuckDB reports a leak."""
    synced = threading.Event()
    monkeypatch.setattr(recorder, "SYNC_SECONDS", 0.01)
    monkeypatch.setattr(recorder, "_syncing", None)
    with bench.run("a", store=store.root) as run:
        monkeypatch.setattr(run, "flush", synced.set)
        assert synced.wait(60)
        monkeypatch.undo()
    gone = weakref.ref(run)
    del run

    deadline = time.monotonic() + 60
    while gone() is not None and time.monotonic() < deadline:
        time.sleep(0.01)
        gc.collect()
    assert gone() is None


@pytest.mark.exhaustive
def test_without_pyarrow_the_journal_stays_for_the_next_load(tmp_path: Path) -> None:
    """Recording works without pyarrow, and a machine that has it seals the journal later."""
    script = (
        "import sys; sys.modules['pyarrow'] = sys.modules['duckdb'] = None\n"
        f"import bench\nwith bench.run('a', store={str(tmp_path / 's')!r}) as run: run.case('c').timing(1)"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    store = Store.find(tmp_path / "s")

    assert (done.stderr, len(EventLog(store).journals())) == ("", 1)
    assert rows(store, "SELECT duration_ns FROM timings") == [(1,)]
    assert EventLog(store).journals() == []


def test_a_disk_full_while_sealing_keeps_the_journal(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """close says what is wrong; the next load, with room again, seals what was recorded."""
    import pyarrow.parquet as pq

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    run = bench.run("a", store=store)
    run.case("c").timing(1)
    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(BenchError, match="No space left on device"):
        run.close()
    monkeypatch.undo()

    assert rows(store, "SELECT duration_ns FROM timings") == [(1,)]
    assert rows(store, "SELECT status FROM outcomes") == [("ok",)]


@pytest.mark.exhaustive
def test_a_run_that_cannot_be_ended_for_lack_of_space_lets_go_of_its_journal(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """close raises, and yet what was recorded can be recovered while the process lives."""
    run = bench.run("a", store=store)
    run.case("c").timing(1)

    def full(*_: object) -> None:
        raise BenchError("no space")

    monkeypatch.setattr(run, "emit", full)
    with pytest.raises(BenchError, match="no space"):
        run.close()

    assert rows(store, "SELECT duration_ns FROM timings") == [(1,)]


def test_flush_reaches_every_journal_of_the_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those filled before the present one too, for they are not sealed yet."""
    monkeypatch.setattr(recorder, "ROTATE_BYTES", 30_000)
    fdatasync, synced = os.fdatasync, set()

    def noting(file: int) -> None:
        synced.add(os.fstat(file).st_ino)
        fdatasync(file)

    monkeypatch.setattr(os, "fdatasync", noting)
    with bench.run("a", store=store) as run:
        case = run.case("c")
        for number in range(20_000):
            case.timing(number)
        journals = {path.stat().st_ino for path in EventLog(store).journals()}
        run.flush()

    assert len(journals) > 2 and journals <= synced


def test_names_that_are_no_unicode_are_kept_readable(store: Store) -> None:
    """A file name of bytes that are no UTF-8 is recorded with those bytes escaped."""
    with bench.run("caf\udce9", store=store) as run:
        run.emit(Metric(run_id=run.run_id, metric="名前\0\n", value=None))

    assert rows(store, "SELECT config, metric, value FROM runs, metrics") == [("caf\\udce9", "名前\0\n", None)]


@pytest.mark.exhaustive
def test_every_declared_event_can_be_emitted(store: Store) -> None:
    """No table is forgotten by the journal: each declared kind has a way in and out."""
    fill: dict[Any, Any] = {str: "x", int: 1, float: 1.0, events.Instant: 1}
    kinds: list[type[Event]] = [kind for kind in events.EVENTS if kind not in (events.RunRecord, events.Environment)]
    with bench.run("a", store=store) as run:
        for kind in kinds:
            values = {f.name: fill.get(f.type) for f in kind.fields() if not f.nullable or f.name == "value"}
            values["run_id"] = run.run_id
            run.emit(kind(**values))

    for kind in kinds:
        assert rows(store, f"SELECT count(*) FROM {kind.TABLE}") == [(2 if kind is events.Outcome else 1,)]


@pytest.mark.exhaustive
def test_chunks_beyond_16_bits_are_recorded_like_the_others(store: Store) -> None:
    """The narrow layout is for the common case; what does not fit it goes the careful way, in order."""
    with bench.run("a", store=store) as run:
        for size in (1, 2**16 - 1, 2**16, 2**63 - 1, 5):
            run.schedule_chunk([size, 1], model_run_ms=1.0)
        run.schedule_chunk((7, 8), batch_id=70)
        run.schedule_chunk([1] * 2000, batch_id=71)

    assert rows(
        store, "SELECT line, batch_id, chunk_sizes[1], len(chunk_sizes) FROM schedule_chunks ORDER BY line"
    ) == [
        (1, None, 1, 2),
        (2, None, 2**16 - 1, 2),
        (3, None, 2**16, 2),
        (4, None, 2**63 - 1, 2),
        (5, None, 5, 2),
        (6, 70, 7, 2),
        (7, 71, 1, 2000),
    ]


@pytest.mark.exhaustive
def test_words_that_no_json_has_leave_the_store_readable(store: Store) -> None:
    """A byte that is no UTF-8 (of a command line) and NaN stand as text: one bad label would make all runs unreadable."""
    with bench.run("any", store=store, tags={"path": "a\udcff"}) as run:
        run.case("x", parameters={"value": math.nan, "of": (math.inf,), "text": "\ud800", "kind": str})

    found = rows(store, "SELECT tags ->> 'path', parameters FROM runs JOIN cases USING (run_id)")

    said = json.loads(found[0][1])
    assert found[0][0] == "a\ufffd\ufffd\ufffd"
    assert said == {"value": "NaN", "of": ["Infinity"], "text": "\ufffd\ufffd\ufffd", "kind": "<class 'str'>"}


@pytest.mark.exhaustive
def test_json_that_is_none_closes_no_store(store: Store) -> None:
    """Older versions wrote stray bytes as JSON: such an event is there as text."""
    with bench.run("any", store=store) as run:
        run.emit(events.ScheduleChunk(run_id=run.run_id, chunk_sizes=[1], extra=events.Json('{"v": "\\ud800"}')))

    assert rows(store, "SELECT extra ->> '$' FROM schedule_chunks") == [('{"v": "\\ud800"}',)]


def test_timings_of_a_sample_are_those_of_each_metric(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through as many windows as they take, and a value that does not fit loses none around it."""
    monkeypatch.setattr(recorder, "ROTATE_BYTES", 300_000)
    with bench.run("together", store=store) as run:
        case = run.case("step")
        for number in range(20_000):
            case.timings({"latency": 3 * number, "data_time": number}, sample=number)
        with pytest.raises(BenchError, match=r"duration_ns is 0\.5"):
            case.timings({"latency": 1, "data_time": 0.5}, sample=20_000)  # type: ignore[dict-item]
        case.timings({"latency": 2}, phase="warmup")

    sums = "SELECT metric, phase, count(*), sum(duration_ns), sum(sample) FROM timings GROUP BY ALL ORDER BY ALL"
    assert rows(store, sums) == [
        ("data_time", "steady", 20_000, 199_990_000, 199_990_000), ("latency", "steady", 20_001, 599_970_001, 200_010_000),
        ("latency", "warmup", 1, 2, 0),
    ]  # fmt: skip


@exhaustive
def test_timings_between_which_windows_are_emptied_define_their_texts_anew(store: Store) -> None:
    """Each row lies in a window that can be read by itself, also where others fill the windows between two of a sample."""
    with bench.run("together", store=store) as run:
        case, other = run.case("step"), run.case("other")

        class Busy(dict[str, int]):
            def items(self) -> Any:
                for metric, duration_ns in super().items():
                    yield metric, duration_ns
                    assert metric in run._journal._active.defined
                    for _ in range(12_000):  # more than both windows hold
                        other.timing(1)

        for durations in ({"latency": 1, "data_time": 2}, Busy(latency=3, data_time=4)):
            case.timings(durations)

    assert rows(store, "SELECT sum(duration_ns) FROM timings WHERE duration_ns > 1") == [(9,)]
    assert rows(store, "SELECT count(*) FROM timings") == [(24_004,)]


def test_a_direction_is_higher_or_lower(store: Store) -> None:
    """Any other word would be taken for none, and no regression be seen."""
    with bench.run("any", store=store) as run, pytest.raises(BenchError, match="is not a direction"):
        run.case("x").metric("tokens", 1, better="Higher")


def test_metrics_of_any_shape_come_back_as_they_were(store: Store) -> None:
    """Whichever of their texts are there, the first and later ones of a kind, over many windows."""
    kinds: list[dict[str, Any]] = [
        {}, {"unit": "ms"}, {"better": "lower"}, {"statistic": "p50", "phase": "steady"},
        {"unit": "s", "better": "higher", "statistic": "p99", "phase": "warmup"}, {"text": "1 s"},
    ]  # fmt: skip
    with bench.run("metrics", store=store) as run:
        case = run.case("c")
        for number in range(6000):
            case.metric(f"m{number % 7}", None if number % 11 == 0 else number / 3, **kinds[number % len(kinds)])
        with pytest.raises(ValueError, match="could not convert"):
            case.metric("m0", "many")  # type: ignore[arg-type]
        with pytest.raises(BenchError, match="not a direction"):
            case.metric("m0", 1, better="more")

    columns = ("unit", "better", "statistic", "phase", "text")
    wanted = [
        (f"m{n % 7}", None if n % 11 == 0 else n / 3, *(kinds[n % len(kinds)].get(name) for name in columns))
        for n in range(6000)
    ]
    found = rows(store, "SELECT metric, value, unit, better, statistic, phase, original_value FROM metrics")
    assert (sorted(found, key=str) == sorted(wanted, key=str)) is True
