"""Records the steps of vLLM's scheduler, at less than 3 µs each in the scheduler's thread.

Of a step that is scheduled its times are noted, and when its output arrives it is queued: both take the same time for any
number of requests. The outbox's thread reads the chunk sizes, sums and writes. The engine does not change a step any more by
then.

A step's times, by the host's clock:

- schedule_ms: within `schedule`.
- step_ms: from the begin of `schedule` to the begin of `update_from_output`.
- model_run_ms: to the begin of `update_from_output`, from the end of `schedule` or, if that is later, from when the output of
  the step before arrived. With asynchronous scheduling a step is scheduled while the one before runs.
"""

import contextlib
import itertools
import time
from typing import Any, NamedTuple

from ...warehouse.events import Instant, ScheduleChunk
from ...warehouse.recorder import Run
from .outbox import Outbox
from .vllm_run import complain

TIME_SPAN = "schedule_to_output"
MOST_IN_FLIGHT = 1000  # scheduled steps without an output, such as those of an engine that failed

clock = time.perf_counter_ns


class NotedStep(NamedTuple):
    """A step and what the scheduler knew when it had scheduled it. In the scheduler's thread it is a plain tuple, made faster."""

    output: Any  # vLLM's SchedulerOutput, which the engine changes no more
    began: int
    scheduled: int
    counts: tuple[int, int]  # running, waiting
    kv_cache_usage: float


class StepRecorder:
    """Records the steps of one scheduler."""

    def __init__(self, run: Run, *, dp_rank: int | None = None, token_budget: int | None = None) -> None:
        """Record into a run, until `close`."""
        self.run = run
        self._fixed: dict[str, Any] = {
            "dp_rank": dp_rank,
            "token_budget": token_budget,
            "time_span": TIME_SPAN,
            "capture_mode": "full",
        }
        self._numbers = itertools.count(1)
        self._flying: dict[int, tuple[Any, int, int, tuple[int, int], float]] = {}
        self._last_output = 0
        self._outbox = Outbox[tuple[Any, int]]("steps", self._write, complain)

    def scheduled(self, scheduler: Any, output: Any, began: int, ended: int) -> None:
        """Note a step that was scheduled; its output finds it again, because several may be under way."""
        if output.total_num_scheduled_tokens:
            flying = self._flying
            if len(flying) >= MOST_IN_FLIGHT:
                flying.clear()
            flying[id(output)] = output, began, ended, scheduler.get_request_counts(), scheduler.get_kv_cache_usage()

    def done(self, output: Any, now: int) -> None:
        """Queue a step whose output has arrived."""
        noted = self._flying.pop(id(output), None)
        if noted is not None:
            self._outbox.put((noted, now))

    def close(self) -> None:
        """Write what is queued, and end the run."""
        self._outbox.close()
        with contextlib.suppress(Exception):
            self.run.close(seal=False)  # by the next command that opens the store: an engine that ends is soon killed

    def _write(self, item: tuple[Any, int]) -> None:
        step, arrived = NotedStep(*item[0]), item[1]
        began = max(step.scheduled, self._last_output)
        self._last_output = arrived
        number = next(self._numbers)
        recorded_at = time.time_ns() - (clock() - arrived)
        self.run.emit(
            ScheduleChunk(
                run_id=self.run.run_id, line=number, batch_id=number - 1,
                chunk_sizes=list(step.output.num_scheduled_tokens.values()),
                schedule_ms=(step.scheduled - step.began) / 1e6, model_run_ms=(arrived - began) / 1e6,
                step_ms=(arrived - step.began) / 1e6, running=step.counts[0], waiting=step.counts[1],
                kv_cache_usage=step.kv_cache_usage, recorded_at=Instant(recorded_at // 1000),
                **totals(step.output), **self._fixed,
            )
        )  # fmt: skip


def totals(output: Any) -> dict[str, Any]:
    """Requests, tokens and context of a step, of those in prefill and of those in decode.

    A request is in prefill until its response has a token. One that was preempted later and computes its tokens anew is in
    decode, as for vLLM.
    """
    chunks, new, others = output.num_scheduled_tokens, output.scheduled_new_reqs, output.scheduled_cached_reqs
    tokens, prefill = output.total_num_scheduled_tokens, len(new)
    prefill_tokens, prefill_kv = sum(chunks[each.req_id] for each in new), sum(each.num_computed_tokens for each in new)
    kv = prefill_kv + sum(others.num_computed_tokens)
    if 0 in others.num_output_tokens:
        for name, generated, computed in zip(
            others.req_ids, others.num_output_tokens, others.num_computed_tokens, strict=True
        ):
            if not generated:
                prefill += 1
                prefill_tokens += chunks[name]
                prefill_kv += computed
    return {
        "total_tokens": tokens,
        "prefill": prefill,
        "prefill_tokens": prefill_tokens,
        "prefill_kv_tokens": prefill_kv,
        "decode": len(chunks) - prefill,
        "decode_tokens": tokens - prefill_tokens,
        "decode_kv_tokens": kv - prefill_kv,
    }
