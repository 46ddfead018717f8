"""What recording costs a serving engine's scheduler: its own thread, the thread that writes, and memory as steps go by."""

import gc
import json
import sys
import tempfile
import time
import types
from array import array
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import bench
from bench.measure.serving import vllm_classes
from bench.measure.serving.step_recorder import StepRecorder

from .figures import Figures

REQUESTS = 1000
BATCH, BATCHES = 200, 50
NAMES = [f"cmpl-{number:032x}-0" for number in range(REQUESTS)]
MODULE = "bench_engine_of_figures"


class Scheduler:
    """A scheduler that has planned its steps, and counts as vLLM's does."""

    def __init__(self) -> None:
        self.plan: list[Any] = []
        self.running, self.waiting, self.holding = NAMES, list(range(40)), list[int]()
        self.pool = SimpleNamespace(free=lambda: 700, total=1000)

    def schedule(self) -> Any:
        """The next step."""
        return self.plan.pop()

    def update_from_output(self, scheduler_output: Any, model_runner_output: Any) -> None:
        """Nothing: the model's output is none."""

    def get_request_counts(self) -> tuple[int, int]:
        """Running, waiting."""
        return len(self.running), len(self.waiting) + len(self.holding)

    def get_kv_cache_usage(self) -> float:
        """A share."""
        return float(1.0 - self.pool.free() / self.pool.total)

    def shutdown(self) -> None:
        """The end."""


def output() -> Any:
    """A step in which one prompt begins, and 999 requests decode."""
    return SimpleNamespace(
        num_scheduled_tokens=dict.fromkeys(NAMES, 1) | {NAMES[0]: 512},
        total_num_scheduled_tokens=REQUESTS + 511,
        scheduled_new_reqs=[SimpleNamespace(req_id=NAMES[0], num_computed_tokens=0)],
        scheduled_cached_reqs=SimpleNamespace(
            req_ids=NAMES[1:], num_computed_tokens=[2000] * (REQUESTS - 1), num_output_tokens=[300] * (REQUESTS - 1)
        ),
    )


def measure(figures: Figures) -> None:
    """A step of 1,000 requests, in turns with the same step unrecorded, with packing its chunk sizes, and with JSON of it."""
    module = types.ModuleType(MODULE)
    vars(module)["Scheduler"] = Scheduler
    sys.modules[MODULE] = module
    plain: Any = Scheduler()
    recorded: Any = vllm_classes._recording(MODULE, "Scheduler")()
    with tempfile.TemporaryDirectory() as folder:
        recorded.bench_recorder = recorder = StepRecorder(bench.run("serving", store=folder))
        spent = dict.fromkeys(("plain", "recorded", "packed", "json", "written"), 0)
        blocks: list[int] = []
        for number in range(BATCHES + 1):
            plan = [output() for _ in range(BATCH)]
            chunks = [each.num_scheduled_tokens for each in plan]
            plain.plan, recorded.plan = list(plan), list(plan)
            ways = {
                "plain": thread_ns(run, plain),
                "packed": thread_ns(lambda: [array("H", each.values()) for each in chunks]),  # noqa: B023
                "json": thread_ns(lambda: [json.dumps(list(each.values())) for each in chunks]),  # noqa: B023
            }
            before = time.process_time_ns()
            ways["recorded"] = thread_ns(run, recorded)
            while recorder._outbox._queue:
                time.sleep(0.001)
            ways["written"] = time.process_time_ns() - before - ways["recorded"]
            if number:  # the first one warms up
                spent = {name: total + ways[name] for name, total in spent.items()}
            plan, chunks, ways = [], [], {}
            gc.collect()
            blocks.append(sys.getallocatedblocks())
        lost = recorder._outbox.lost
        recorded.shutdown()
    del sys.modules[MODULE]
    each = {name: total / (BATCH * BATCHES) for name, total in spent.items()}
    figures.add("recorded step of 1,000 requests, in the scheduler's thread", each["recorded"] - each["plain"], "ns",
                reference=each["packed"], most=3000, against="array of the chunk sizes")  # fmt: skip
    figures.add("recorded step of 1,000 requests, in the writing thread", each["written"], "ns", reference=each["json"],
                against="json.dumps of the chunk sizes")  # fmt: skip
    figures.add("steps lost", lost, "count", most=0)
    figures.add("memory blocks more after 10,000 steps than after 2,000", blocks[-1] - blocks[10], "count", most=500)


def run(scheduler: Any) -> None:
    """All steps of its plan."""
    for _ in range(BATCH):
        scheduler.update_from_output(scheduler.schedule(), None)


def thread_ns(function: Callable[..., object], *arguments: object) -> int:
    """Processor time of this thread in a call."""
    start = time.thread_time_ns()
    function(*arguments)
    return time.thread_time_ns() - start
