"""Our classes in the real vLLM, without a GPU: `make test-vllm` runs these tests in an environment of its own.

The scheduler is vLLM's, and so is all that it plans; only the model is left out: it answers each request that is due with a
token. The file's name keeps it out of the other tests' collection, where vLLM is not installed.
"""

import json
import os
import random
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Any

import pytest
from bench.measure.serving import vllm_run
from bench.warehouse.database import Warehouse
from bench.warehouse.load import load
from bench.warehouse.store import Store

STEPS = 10_000
BLOCKS = 800  # of the KV cache: few enough that requests are preempted
MODEL = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 64,
    "num_attention_heads": 2, "num_hidden_layers": 2, "num_key_value_heads": 2, "vocab_size": 1000,
    "max_position_embeddings": 4096, "torch_dtype": "float16",
}  # fmt: skip


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """Where this process records; each test is a run of its own."""
    monkeypatch.setenv("BENCH_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("BENCH_CONFIG", "contract")
    monkeypatch.delenv("BENCH_RUN", raising=False)
    yield Store.find(tmp_path / "store")
    os.environ.pop("BENCH_RUN", None)


def vllm_config(folder: Path, *, asynchronous: bool) -> Any:
    """A server's configuration, of a model that is never loaded."""
    from vllm.config import CacheConfig, DeviceConfig, ModelConfig, SchedulerConfig, VllmConfig

    (folder / "config.json").write_text(json.dumps(MODEL))
    cache = CacheConfig(block_size=16, enable_prefix_caching=True)
    cache.num_gpu_blocks = BLOCKS
    return VllmConfig(
        model_config=ModelConfig(model=str(folder), skip_tokenizer_init=True, dtype="float16", max_model_len=4096),
        scheduler_config=SchedulerConfig(
            max_num_seqs=256, max_num_batched_tokens=1024, max_model_len=4096, enable_chunked_prefill=True,
            is_encoder_decoder=False, async_scheduling=asynchronous, scheduler_cls="bench.serving.RecordingScheduler",
        ),
        cache_config=cache,
        device_config=DeviceConfig("cpu"),
    )  # fmt: skip


def scheduler_of(config: Any) -> Any:
    """The scheduler, made as the engine core makes it."""
    import torch
    from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
    from vllm.v1.structured_output import StructuredOutputManager

    spec = FullAttentionSpec(block_size=16, num_kv_heads=1, head_size=1, dtype=torch.float32)
    kv_cache = KVCacheConfig(
        num_blocks=BLOCKS, kv_cache_tensors=[], kv_cache_groups=[KVCacheGroupSpec(["layer"], spec)]
    )
    return config.scheduler_config.get_scheduler_cls()(
        vllm_config=config,
        kv_cache_config=kv_cache,
        structured_output_manager=StructuredOutputManager(config),
        block_size=16,
        log_stats=True,
    )


class Traffic:
    """Requests of many lengths, that come by chance."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.number = 0

    def request(self) -> Any:
        """One."""
        from vllm.sampling_params import SamplingParams
        from vllm.v1.request import Request

        self.number += 1
        parameters = SamplingParams(max_tokens=self.chance.randint(1, 300), ignore_eos=True)
        prompt = [self.chance.randrange(1000) for _ in range(int(self.chance.paretovariate(1.1) * 20) % 3500 + 1)]
        return Request(f"r{self.number}", prompt, parameters, None)


def answer(scheduler: Any, output: Any) -> Any:
    """What a model would answer: a token for each request whose prompt is computed."""
    from vllm.v1.outputs import ModelRunnerOutput

    names = list(output.num_scheduled_tokens)
    before = {each.req_id: each.num_computed_tokens for each in output.scheduled_new_reqs}
    cached = output.scheduled_cached_reqs
    before |= dict(zip(cached.req_ids, cached.num_computed_tokens, strict=True))
    tokens = []
    for name in names:
        request = scheduler.requests.get(name)
        due = request is not None and before[name] + output.num_scheduled_tokens[name] >= request.num_prompt_tokens
        tokens.append([7] if due else [])
    return ModelRunnerOutput(names, {name: index for index, name in enumerate(names)}, tokens)


def drive(scheduler: Any, steps: int, *, depth: int, seed: int = 1) -> list[list[int]]:
    """Run so many steps as the engine core does, with `depth` of them under way.

    Returns:
        The chunk sizes of each step, in the order of their outputs.
    """
    traffic, under_way, seen = Traffic(seed), deque[Any](), list[list[int]]()
    while len(seen) < steps:
        for _ in range(traffic.chance.choice((0, 0, 0, 1, 1, 2))):
            scheduler.add_request(traffic.request())
        if scheduler.has_requests():
            under_way.append(scheduler.schedule())
        if len(under_way) >= depth or (under_way and not scheduler.has_requests()):
            output = under_way.popleft()
            if output.num_scheduled_tokens:
                seen.append(list(output.num_scheduled_tokens.values()))
            if traffic.chance.random() < 0.01 and output.num_scheduled_tokens:  # a client goes away
                scheduler.finish_requests(next(iter(output.num_scheduled_tokens)), aborted())
            scheduler.update_from_output(output, answer(scheduler, output))
            if traffic.chance.random() < 0.05:  # a GPU would give the writing thread time at every step
                time.sleep(0.03)
    return seen


def aborted() -> Any:
    """The status of a request whose client is gone."""
    from vllm.v1.request import RequestStatus

    return RequestStatus.FINISHED_ABORTED


def rows(store: Store, query: str) -> list[Any]:
    """What the store holds now."""
    load(store)
    with Warehouse.open(store) as warehouse:
        return warehouse.rows(query)


@pytest.mark.parametrize("asynchronous", [True, False], ids=["asynchronous", "synchronous"])
def test_every_step_has_the_chunk_sizes_of_the_scheduler(tmp_path: Path, store: Store, asynchronous: bool) -> None:
    """In all of 10,000 steps, in their order, with chunked prefill, preemptions and aborted requests."""
    scheduler = scheduler_of(vllm_config(tmp_path, asynchronous=asynchronous))
    preempted, preempt = list[str](), scheduler._preempt_request

    def watched(request: Any, *rest: Any, **more: Any) -> None:
        preempted.append(request.request_id)
        preempt(request, *rest, **more)

    scheduler._preempt_request = watched
    seen = drive(scheduler, STEPS, depth=2 if asynchronous else 1)
    lost = scheduler.bench_recorder._outbox.lost
    scheduler.shutdown()

    steps = rows(store, """
        SELECT chunk_sizes, total_tokens, prefill_tokens + decode_tokens, prefill + decode, model_run_ms, schedule_ms, step_ms
        FROM schedule_chunks ORDER BY line
    """)  # fmt: skip
    assert lost == 0 and preempted and max(map(max, seen)) > 1
    assert [step[0] for step in steps] == seen
    assert [step[1:4] for step in steps] == [(sum(chunks), sum(chunks), len(chunks)) for chunks in seen]
    assert all(0 <= run <= step and 0 < schedule <= step for *_, run, schedule, step in steps)


def test_totals_are_those_that_vllm_computes(tmp_path: Path, store: Store) -> None:
    """Requests and tokens in prefill and in decode, step by step."""
    from vllm.v1.utils import compute_iteration_details

    scheduler = scheduler_of(vllm_config(tmp_path, asynchronous=True))
    theirs, schedule = [], scheduler.schedule

    def watched() -> Any:
        output = schedule()
        if output.num_scheduled_tokens:
            found = compute_iteration_details(output)
            theirs.append((found.num_ctx_requests, found.num_ctx_tokens, found.num_generation_requests,
                           found.num_generation_tokens))  # fmt: skip
        return output

    scheduler.schedule = watched
    drive(scheduler, 1000, depth=2)
    scheduler.shutdown()

    ours = rows(store, "SELECT prefill, prefill_tokens, decode, decode_tokens FROM schedule_chunks ORDER BY line")
    assert ours == theirs[: len(ours)] and len(ours) >= 1000


def test_scheduling_is_as_without_us(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same requests are scheduled in the same chunks."""
    ours = drive(scheduler_of(vllm_config(tmp_path, asynchronous=True)), 1000, depth=2)
    config = vllm_config(tmp_path, asynchronous=True)
    config.scheduler_config.scheduler_cls = None
    assert ours == drive(scheduler_of(config), 1000, depth=2)


@pytest.mark.parametrize("asynchronous", [True, False], ids=["asynchronous", "synchronous"])
def test_the_scheduler_is_of_the_kind_that_the_settings_ask_for(tmp_path: Path, asynchronous: bool) -> None:
    """Asynchronous scheduling is neither turned on nor off by us."""
    from vllm.v1.core.sched.async_scheduler import AsyncScheduler
    from vllm.v1.core.sched.scheduler import Scheduler

    config = vllm_config(tmp_path, asynchronous=asynchronous)
    scheduler = scheduler_of(config)

    assert isinstance(scheduler, Scheduler) and isinstance(scheduler, AsyncScheduler) == asynchronous
    assert config.scheduler_config.async_scheduling is asynchronous
    scheduler.shutdown()


def test_the_plugin_is_found_by_its_entry_point(tmp_path: Path, store: Store) -> None:
    """vLLM takes it for one of its own, and it records the requests that finish."""
    from vllm.v1.engine import FinishReason
    from vllm.v1.metrics.loggers import StatLoggerBase, load_stat_logger_plugin_factories
    from vllm.v1.metrics.stats import FinishedRequestStats, IterationStats, SchedulerStats

    (found,) = (each for each in load_stat_logger_plugin_factories() if each.__module__ == "bench.serving")
    assert issubclass(found, StatLoggerBase)

    logger: Any = found(vllm_config(tmp_path, asynchronous=True), 0)
    logger.log_engine_initialized()
    logger.log()
    logger.record_sleep_state(1, 0)
    statistics = IterationStats()
    statistics.finished_requests = [
        FinishedRequestStats(FinishReason.LENGTH, "a", e2e_latency=2.0, num_prompt_tokens=10, num_generation_tokens=5,
                             queued_time=0.1, prefill_time=0.2, decode_time=1.6, mean_time_per_output_token=0.4),
        FinishedRequestStats(FinishReason.ABORT, "b", e2e_latency=1.0, num_prompt_tokens=3),
    ]  # fmt: skip
    logger.record(SchedulerStats(), statistics, mm_cache_stats=None, engine_idx=0)
    logger._stats.close()

    times = rows(store, "SELECT metric, sample, duration_ns / 1e6 FROM timings ORDER BY ALL")
    assert times == [("latency", 0, 2000.0), ("prefill_time", 0, 200.0), ("queue_time", 0, 100.0), ("tpot", 0, 400.0),
                     ("ttft", 0, 400.0)]  # fmt: skip
    assert rows(store, "SELECT sample, original_value FROM metrics WHERE metric = 'request_outcome'") == [
        (1, "cancelled")
    ]


def test_details_of_iterations_are_as_we_read_them() -> None:
    """The fields of what vLLM calls unstable."""
    from vllm.v1.metrics.stats import FinishedRequestStats, IterationStats, SchedulerIterationDetails, SchedulerStats

    assert {
        "num_running_reqs",
        "num_waiting_reqs",
        "num_skipped_waiting_reqs",
        "kv_cache_usage",
        "iteration_details",
    } <= set(SchedulerStats.__dataclass_fields__)
    assert {"iteration_index", "num_ctx_requests", "num_ctx_tokens", "num_generation_requests", "num_generation_tokens",
            "elapsed_ms", "is_dummy"} <= set(SchedulerIterationDetails.__dataclass_fields__)  # fmt: skip
    request = {"finish_reason", "e2e_latency", "num_prompt_tokens", "num_generation_tokens", "queued_time", "prefill_time",
               "decode_time", "mean_time_per_output_token", "num_cached_tokens"}  # fmt: skip
    assert request <= set(FinishedRequestStats.__dataclass_fields__)
    assert {"finished_requests", "iteration_timestamp", "num_generation_tokens"} <= set(vars(IterationStats()))
    assert IterationStats().num_prompt_tokens == 0


def test_this_release_is_supported() -> None:
    """The one that these tests have seen."""
    assert vllm_run.is_supported(version("vllm"))


def test_the_run_is_chosen_before_vllm_starts_a_process() -> None:
    """vLLM loads its general plugins first of all, where ours leaves the run in the environment."""
    assert [each.value for each in entry_points(group="vllm.general_plugins") if each.name == "bench"] == [
        "bench.serving:announce"
    ]
    script = """
import os
from vllm.plugins import load_general_plugins
before = os.environ.get("BENCH_RUN")
load_general_plugins()
print(before, len(os.environ["BENCH_RUN"]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "None 36"


def test_a_server_is_one_run_of_two_journals(store: Store) -> None:
    """The real front end and engine core, in processes of their own; only the model is ours."""
    here = Path(__file__).parent
    environment = {**os.environ, "VLLM_TARGET_DEVICE": "cpu", "PYTHONPATH": str(here)}
    subprocess.run([sys.executable, str(here / "model_double.py"), "12"], check=True, env=environment)

    assert rows(store, "SELECT count(DISTINCT run_id), any_value(config), any_value(command) FROM runs") == [
        (1, "contract", f"{sys.executable} {here / 'model_double.py'} 12")
    ]
    assert len(list(store.events.glob("runs/*.parquet"))) == 2
    assert rows(store, "SELECT count(*) FROM timings WHERE metric = 'latency'") == [(12,)]
    asked = "SELECT sum(value) FROM metrics WHERE metric = '{}'"
    ((tokens_in,),), ((tokens_out,),) = (rows(store, asked.format(name)) for name in ("input_tokens", "output_tokens"))
    ((prefill, decode, least),) = rows(store, """
        SELECT sum(prefill_tokens), sum(decode_tokens), min(model_run_ms - 4 - 0.02 * total_tokens) FROM schedule_chunks
    """)  # fmt: skip
    assert prefill == tokens_in  # every prompt token is computed once
    assert tokens_out - 12 <= decode <= tokens_out  # the first token of a response comes of its prefill
    assert least >= 0  # no step is shorter than its model ran
