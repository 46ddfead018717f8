"""Recording a vLLM server, on a double of it; `vllm_contract` does it with the real one."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bench import serving
from bench.measure.serving import step_recorder, vllm_classes, vllm_run
from bench.measure.serving.outbox import MOST_QUEUED, Outbox
from bench.warehouse.load import load
from bench.warehouse.store import Store

from ...builders import stored
from ...exhaustive import exhaustive, first_of
from .engine_double import AsyncScheduler, StatLoggerBase, config, forget, install, scheduler_output


@pytest.fixture(autouse=True)
def double(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The double of vLLM, and a server that is to be recorded."""
    install(monkeypatch, tmp_path)
    monkeypatch.setenv("BENCH_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("BENCH_CONFIG", "")
    monkeypatch.setenv("BENCH_RUN", "")
    forget()
    yield
    forget()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Where the server records."""
    return Store.find(tmp_path / "store")


def rows(store: Store, query: str) -> list[Any]:
    """What the store holds."""
    load(store)
    return stored(query, store)


def serve(steps: list[Any], **settings: Any) -> Any:
    """A server that ran these steps one after another, and ended."""
    scheduler = serving.RecordingScheduler(config(**settings), steps)
    for _ in steps:
        scheduler.update_from_output(scheduler.schedule(), "output")
    scheduler.shutdown()
    return scheduler


def test_a_step_has_its_chunks_and_what_the_scheduler_knows(store: Store) -> None:
    """Chunk sizes as scheduled, prefill and decode apart, queue, KV cache, rank and budget."""
    serve([scheduler_output({"new": 500, "a": 1, "b": 1}, ["new"], before=64)])

    columns = """chunk_sizes, total_tokens, prefill, prefill_tokens, prefill_kv_tokens, decode, decode_tokens, decode_kv_tokens,
        running, waiting, kv_cache_usage, token_budget, dp_rank, batch_id, time_span, capture_mode"""
    assert rows(store, f"SELECT {columns} FROM schedule_chunks") == [
        ([500, 1, 1], 502, 1, 500, 64, 2, 2, 128, 3, 2, 0.25, 512, 1, 0, "schedule_to_output", "full")
    ]


@exhaustive
def test_the_rest_of_a_chunked_prompt_is_prefill(store: Store) -> None:
    """A request without a token of its response is in prefill, whenever it was scheduled first."""
    serve([scheduler_output({"a": 100, "b": 20}, before=512, generated=0)])

    assert rows(store, "SELECT prefill, prefill_tokens, prefill_kv_tokens, decode FROM schedule_chunks") == [
        (2, 120, 1024, 0)
    ]


@exhaustive
def test_steps_that_overlap_are_told_apart_by_their_output(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second is scheduled before the first is done; its model runs from then on, not from when it was scheduled."""
    times = iter([0, 1, 2, 3, 10, 15])  # ms: two `schedule`, two outputs
    monkeypatch.setattr(vllm_classes, "clock", lambda: next(times) * 1_000_000)
    scheduler = serving.RecordingScheduler(config(), [scheduler_output({"a": 7}), scheduler_output({"a": 8})])
    first, second = scheduler.schedule(), scheduler.schedule()
    scheduler.update_from_output(first, None)
    scheduler.update_from_output(second, None)
    scheduler.shutdown()

    assert rows(store, "SELECT chunk_sizes, schedule_ms, model_run_ms, step_ms FROM schedule_chunks ORDER BY line") == [
        ([7], 1.0, 9.0, 10.0),
        ([8], 1.0, 5.0, 13.0),
    ]


@exhaustive
def test_a_step_of_nothing_is_none(store: Store) -> None:
    """An engine that waits schedules nothing, many times a second."""
    serve([scheduler_output({}), scheduler_output({"a": 1}), scheduler_output({})])

    assert rows(store, "SELECT count(*) FROM schedule_chunks") == [(1,)]


def test_the_run_has_the_settings_of_the_server(store: Store) -> None:
    """Its config is the model's name, unless BENCH_CONFIG says another."""
    serve([scheduler_output({"a": 1})])

    ((name, settings, tags),) = rows(store, "SELECT config, settings, tags FROM runs")
    assert (name, json.loads(tags)) == ("model", {"engine": "vllm"})
    assert json.loads(settings) == {
        "vllm": "0.33.0", "model": "org/model", "dtype": "bfloat16", "max_num_seqs": 8, "async_scheduling": True,
    }  # fmt: skip


def test_nothing_is_recorded_unless_it_is_asked_for(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed bench is silent: neither a store nor a run comes of it."""
    monkeypatch.setenv("BENCH_STORE", "")
    scheduler = serve([scheduler_output({"a": 1})])
    serving.announce()
    logger = serving.StatLogger(config())
    logger.record(None, iteration())

    assert len(scheduler.updated) == 1 and scheduler.ended
    assert not store.exists() and not os.environ["BENCH_RUN"]


def test_another_release_is_a_warning_and_a_server_that_runs(
    store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It may have changed what we read."""
    (tmp_path / "other").mkdir()
    install(monkeypatch, tmp_path / "other", "0.99.1")
    scheduler = serve([scheduler_output({"a": 1})])

    assert len(scheduler.updated) == 1 and not store.exists()
    assert "vLLM 0.99.1 is not among 0.33.*" in caplog.text


@pytest.mark.parametrize("asynchronous", [True, False])
def test_the_scheduler_is_of_the_kind_that_the_settings_ask_for(asynchronous: bool) -> None:
    """Ours derives from what vLLM would take."""
    assert isinstance(serve([], asynchronous=asynchronous), AsyncScheduler) == asynchronous


@pytest.mark.parametrize(
    "broken",
    [
        lambda scheduler, monkeypatch: monkeypatch.delattr(type(scheduler).__mro__[-2], "get_request_counts"),
        lambda scheduler, monkeypatch: monkeypatch.setattr(scheduler.bench_recorder, "done", lambda *_: 1 / 0),
        lambda scheduler, monkeypatch: monkeypatch.setattr(scheduler.bench_recorder.run, "emit", lambda *_: 1 / 0),
    ],
    ids=["scheduled", "done", "written"],
)
def test_an_error_of_ours_ends_the_recording_and_not_the_engine(
    broken: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said once, whatever it is and wherever it happens."""
    scheduler = serving.RecordingScheduler(config(), [scheduler_output({"a": 1}) for _ in range(3)])
    broken(scheduler, monkeypatch)
    results = [scheduler.update_from_output(scheduler.schedule(), number) for number in range(3)]
    scheduler.shutdown()

    assert results == [{0: 0}, {0: 1}, {0: 2}] and scheduler.ended
    assert caplog.text.count("does not record any more") == 1


def test_a_store_that_cannot_be_made_is_a_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: Any) -> None:
    """The server starts without it."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BENCH_STORE", str(tmp_path / "file"))

    assert len(serve([scheduler_output({"a": 1})]).updated) == 1
    assert "file is a file" in " ".join(caplog.text.split())


def test_a_configuration_that_cannot_be_read_is_no_error_of_the_engine() -> None:
    """Its settings are unknown then; the server starts."""

    class Strange:
        def __getattr__(self, name: str) -> Any:
            raise ValueError(name)

    scheduler = serving.RecordingScheduler(Strange(), [scheduler_output({"a": 1})])
    assert scheduler.update_from_output(scheduler.schedule(), "output") == {0: "output"}
    scheduler.shutdown()


def test_steps_without_an_output_are_forgotten() -> None:
    """An engine that fails again and again costs no memory."""
    steps = [scheduler_output({"a": 1}) for _ in range(3 * step_recorder.MOST_IN_FLIGHT)]
    scheduler = serving.RecordingScheduler(config(), steps)
    for _ in steps:
        scheduler.schedule()

    assert len(scheduler.bench_recorder._flying) <= step_recorder.MOST_IN_FLIGHT
    scheduler.shutdown()


def test_processes_of_a_server_write_one_run(store: Store) -> None:
    """The front end and the engine core each keep a journal of the run that the first of them chose."""
    script = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[1:]
import pytest
from engine_double import config, install, scheduler_output
import tempfile
install(pytest.MonkeyPatch(), Path(tempfile.mkdtemp()))
from bench import serving
scheduler = serving.RecordingScheduler(config(), [scheduler_output({"a": 5})])
scheduler.update_from_output(scheduler.schedule(), None)
scheduler.shutdown()
"""
    serving.announce()  # as vLLM does before it starts the engine core
    subprocess.run([sys.executable, "-c", script, str(Path(__file__).parent)], check=True)
    logger = serving.StatLogger(config())
    logger.record(None, iteration(finished("length")))
    close(logger)

    assert rows(store, "SELECT count(DISTINCT run_id) FROM runs") == [(1,)]
    assert len(list(store.events.glob("runs/*.parquet"))) == 2  # one of each journal
    assert rows(store, "SELECT run_id FROM schedule_chunks") == rows(store, "SELECT DISTINCT run_id FROM timings")
    assert rows(store, "SELECT steps, samples > 0, status FROM run_summaries") == [(1, True, "ok")]


# The stat logger


def finished(reason: str, **more: Any) -> Any:
    """A request that took 2 s: 0.1 in the queue, 0.2 in prefill, 1.6 in decode."""
    return SimpleNamespace(
        **{
            "finish_reason": reason, "e2e_latency": 2.0, "num_prompt_tokens": 10, "num_generation_tokens": 5,
            "num_cached_tokens": 4, "queued_time": 0.1, "prefill_time": 0.2, "decode_time": 1.6,
            "mean_time_per_output_token": 0.4, **more,
        }
    )  # fmt: skip


def iteration(*requests: Any, at: float = 1000.0, tokens: int = 0) -> Any:
    """What the front end counts of one output of the engine core."""
    return SimpleNamespace(
        iteration_timestamp=at, finished_requests=list(requests), num_prompt_tokens=0, num_generation_tokens=tokens
    )


def scheduler_stats(details: Any = None) -> Any:
    """What the engine core says."""
    return SimpleNamespace(
        num_running_reqs=5,
        num_waiting_reqs=2,
        num_skipped_waiting_reqs=1,
        kv_cache_usage=0.5,
        iteration_details=details,
    )


def close(logger: Any) -> None:
    """Write all that it has queued."""
    logger._stats.close()


def test_the_stat_logger_is_one_for_vllm() -> None:
    """Anything else is a TypeError at the server's start."""
    assert issubclass(serving.StatLogger, StatLoggerBase)


@pytest.mark.exhaustive
def test_samples_of_a_request_share_a_number(store: Store) -> None:
    """They are the samples that benchmarks of clients have, by the same names."""
    logger = serving.StatLogger(config())
    logger.record(None, iteration(finished("stop"), finished("length", num_generation_tokens=1, decode_time=0.0)))
    close(logger)

    assert rows(store, "SELECT sample, metric, duration_ns / 1e9 FROM timings WHERE metric NOT LIKE '%_time' ORDER BY ALL") == [
        (0, "latency", 2.0), (0, "tpot", 0.4), (0, "ttft", 0.4), (1, "latency", 2.0), (1, "ttft", 2.0),
    ]  # fmt: skip
    assert rows(store, "SELECT metric, value, unit FROM metrics WHERE sample = 0 ORDER BY metric") == [
        ("cached_tokens", 4, "tokens"), ("input_tokens", 10, "tokens"), ("output_tokens", 5, "tokens"),
        ("start_time", 998e9, "ns"),
    ]  # fmt: skip


@exhaustive
@pytest.mark.parametrize(("reason", "outcome"), first_of(1, [("abort", "cancelled"), ("error", "errored")]))
def test_a_request_that_did_not_complete_has_an_outcome_and_no_times(store: Store, reason: str, outcome: str) -> None:
    """It counts against the limits of a service, and its times are no latencies."""
    logger = serving.StatLogger(config())
    logger.record(None, iteration(finished(reason)))
    close(logger)

    assert rows(store, "SELECT original_value FROM metrics WHERE metric = 'request_outcome'") == [(outcome,)]
    assert rows(store, "SELECT count(*) FROM timings") == [(0,)]


def test_gauges_are_read_once_a_second(store: Store) -> None:
    """Queue, KV cache and throughput, however often the engine core reports."""
    logger = serving.StatLogger(config())
    for step in range(25):
        logger.record(scheduler_stats(), iteration(at=1000 + step / 10, tokens=100))
    close(logger)

    found = rows(store, "SELECT metric, count(*), min(value) FROM metrics GROUP BY 1 ORDER BY 1")
    assert [(name, n, round(value, 6)) for name, n, value in found] == [
        ("input_throughput", 2, 0), ("kv_cache_usage", 2, 0.5), ("output_throughput", 2, 1000), ("running", 2, 5),
        ("waiting", 2, 3),
    ]  # fmt: skip


DETAILS = SimpleNamespace(
    iteration_index=9, num_ctx_requests=1, num_ctx_tokens=500, num_generation_requests=30, num_generation_tokens=31,
    elapsed_ms=12.5, is_dummy=False,
)  # fmt: skip


@exhaustive
def test_totals_of_steps_are_recorded_where_nobody_else_does(store: Store) -> None:
    """With vLLM's own scheduler, and not with ours, which has more of the same steps."""
    for chosen in (None, "bench.serving.RecordingScheduler"):
        logger = serving.StatLogger(config(scheduler_cls=chosen))
        logger.record(scheduler_stats(DETAILS), iteration(), engine_idx=2)
        logger.record(scheduler_stats(SimpleNamespace(**{**vars(DETAILS), "is_dummy": True})), iteration())
        close(logger)

    assert rows(store, """
        SELECT counter_id, dp_rank, total_tokens, prefill, prefill_tokens, decode, decode_tokens, model_run_ms, time_span, waiting
        FROM schedule_chunks
    """) == [(9, 2, 531, 1, 500, 30, 31, 12.5, "output_wait", 3)]  # fmt: skip


@pytest.mark.exhaustive
def test_what_is_queued_when_the_front_end_ends_is_written(store: Store) -> None:
    """Nobody tells a stat logger that the process ends."""
    script = """
import sys, tempfile
from pathlib import Path
sys.path[:0] = sys.argv[1:]
import pytest
from engine_double import config, install
from types import SimpleNamespace
install(pytest.MonkeyPatch(), Path(tempfile.mkdtemp()))
from bench import serving
logger = serving.StatLogger(config())
aborted = SimpleNamespace(finish_reason="abort", e2e_latency=1.0, num_prompt_tokens=1)
for _ in range(500):
    logger.record(None, SimpleNamespace(
        iteration_timestamp=1000.0, finished_requests=[aborted], num_prompt_tokens=0, num_generation_tokens=0
    ))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(Path(__file__).parent)], check=True, capture_output=True, text=True
    )

    assert (done.stderr, rows(store, "SELECT count(*) FROM requests")) == ("", [(500,)])


def test_an_error_of_the_stat_logger_stays_ours(caplog: pytest.LogCaptureFixture) -> None:
    """Statistics that have changed end the recording, and are said once."""
    logger = serving.StatLogger(config())
    for _ in range(3):
        logger.record(SimpleNamespace(), SimpleNamespace())

    assert caplog.text.count("does not record any more") == 1


# The outbox


def test_what_comes_faster_than_it_is_written_is_counted_as_lost() -> None:
    """The queue does not grow for ever, and the end says what is missing."""
    taken, held = threading.Event(), threading.Event()
    errors: list[Exception] = []

    def write(item: int) -> None:
        taken.set()
        held.wait(60)

    outbox = Outbox[int]("steps", write, errors.append)
    outbox.put(0)
    assert taken.wait(60)
    for number in range(MOST_QUEUED + 5):
        outbox.put(number)
    held.set()
    outbox.close()

    assert outbox.lost == 5
    assert [str(error).partition(":")[0] for error in errors] == ["5 records of steps are missing"]


def test_after_an_error_nothing_is_written() -> None:
    """It is told once; what is left counts as lost."""
    errors: list[Exception] = []

    def write(item: int) -> None:
        raise ZeroDivisionError

    outbox = Outbox[int]("test", write, errors.append)
    outbox.put(1)
    outbox.close()
    outbox.put(2)

    assert [type(error) for error in errors] == [ZeroDivisionError] and outbox.lost == 2


# The names


def test_the_names_import_without_vllm() -> None:
    """And do not import it: it sets up more than a process may want."""
    script = """
import sys
import bench.serving
assert "vllm" not in sys.modules
bench.serving.announce()
try:
    bench.serving.RecordingScheduler
except ImportError as error:
    print(error.name)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "vllm\n"


def test_another_name_is_an_attribute_error() -> None:
    """As of any module."""
    with pytest.raises(AttributeError, match="no attribute 'Scheduler'"):
        _ = serving.Scheduler


def test_one_class_is_made_once() -> None:
    """vLLM asks again in the same process."""
    assert serving.RecordingScheduler is serving.RecordingScheduler
    assert serving.RecordingScheduler.__module__ == "bench.serving"


@pytest.mark.parametrize(
    ("version", "known"),
    [("0.33.0", True), ("0.33.1.post1", True), ("0.33", True), ("0.330.0", False), ("0.34.0", False)],
)
def test_a_release_is_supported_by_its_first_two_numbers(version: str, known: bool) -> None:
    """Its patches are too."""
    assert vllm_run.is_supported(version) == known


def test_a_child_has_the_command_line_of_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A spawned process has one of Python's own, which says nothing."""
    import multiprocessing

    assert vllm_run.server_command() is None
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: object())
    assert vllm_run.server_command()
