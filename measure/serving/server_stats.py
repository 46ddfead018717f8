"""Records what vLLM's front end knows: each finished request, and once a second the queue and the KV cache in use.

Of a request the front end knows when it arrived and when its last token came, and the engine core how long it was in the queue,
in prefill and in decode:

- latency: from its arrival in the front end until its last token is there.
- tpot: time in decode over the tokens after the first; by the engine core's clock.
- ttft: latency without the time in decode. It spans what latency spans, and ends with the first token.
- queue_time, prefill_time: in the engine core, until it is first scheduled and from then to its first token.

Samples of one request share a number. The steps' totals are recorded, too, where the engine tells them
(--enable-logging-iteration-details) and no scheduler of ours records the steps.
"""

import itertools
import os
import time
from typing import Any, NamedTuple

from ...warehouse.events import Instant, Metric, ScheduleChunk
from ...warehouse.recorder import Run
from .outbox import Outbox
from .vllm_run import complain, is_announced_here, model_name

FAILED = {"abort": "cancelled", "error": "errored"}  # vLLM's reason why a request finished -> outcome
TIME_SPAN = "output_wait"
GAUGE_SECONDS = 1.0

_requests, _gauges = itertools.count(), itertools.count()  # of this process, whichever of its engines they are of


class FrontEndUpdate(NamedTuple):
    """The statistics of one output of an engine core."""

    now: float  # wall clock, s
    engine: int
    finished: list[Any]
    stats: Any  # of the scheduler, if they are to be recorded
    window: tuple[float, int, int] | None  # seconds, tokens in and tokens out since the last gauges, if they are due


class ServerStats:
    """Records the requests of one front-end process, and what it hears of the engine cores."""

    def __init__(self, run: Run, vllm_config: Any, *, steps: bool) -> None:
        """Record into a run; `steps` where nobody else records them."""
        self.run = run
        self._steps = steps
        self._case = run.case(model_name(vllm_config), suite="serving", mode="inference", backend="vllm")
        self._first = 0 if is_announced_here() else os.getpid() << 32  # other processes number requests of the run, too
        self._lines = itertools.count(1)
        self._windows: dict[int, tuple[float, int, int]] = {}  # of an engine core: since when, tokens in, tokens out
        self._outbox = Outbox("requests", self._write, complain)

    def update(self, scheduler_stats: Any, iteration_stats: Any, engine: int) -> None:
        """Queue what there is to record."""
        now = time.time() if iteration_stats is None else iteration_stats.iteration_timestamp
        began, tokens_in, tokens_out = self._windows.get(engine) or (now, 0, 0)
        finished: list[Any] = []
        if iteration_stats is not None:
            finished = iteration_stats.finished_requests
            tokens_in += iteration_stats.num_prompt_tokens
            tokens_out += iteration_stats.num_generation_tokens
        due = scheduler_stats is not None and now - began >= GAUGE_SECONDS
        self._windows[engine] = (now, 0, 0) if due else (began, tokens_in, tokens_out)
        step = self._steps and scheduler_stats is not None and scheduler_stats.iteration_details is not None
        if finished or due or step:
            window = (now - began, tokens_in, tokens_out) if due else None
            self._outbox.put(
                FrontEndUpdate(now, engine, list(finished), scheduler_stats if due or step else None, window)
            )

    def close(self) -> None:
        """Write what is queued, and end the run."""
        self._outbox.close()
        self.run.close()

    def _write(self, update: FrontEndUpdate) -> None:
        at = Instant(int(update.now * 1e6))
        for request in update.finished:
            self._request(request, update.now, at)
        details = getattr(update.stats, "iteration_details", None)
        if self._steps and details is not None and not details.is_dummy:
            self._step(details, update.stats, update.engine, at)
        if update.window is not None:
            self._gauge(update.stats, *update.window, at)

    def _request(self, request: Any, now: float, at: Instant) -> None:
        number = self._first + next(_requests)
        outcome = FAILED.get(str(request.finish_reason))
        self._metric("start_time", (now - request.e2e_latency) * 1e9, "ns", number, at)
        self._metric("input_tokens", request.num_prompt_tokens, "tokens", number, at)
        if outcome:
            self._metric("request_outcome", None, None, number, at, text=outcome)
            return
        self._metric("output_tokens", request.num_generation_tokens, "tokens", number, at)
        self._metric("cached_tokens", request.num_cached_tokens, "tokens", number, at)
        times = {
            "latency": request.e2e_latency,
            "ttft": request.e2e_latency - request.decode_time,
            "queue_time": request.queued_time,
            "prefill_time": request.prefill_time,
        }
        if request.num_generation_tokens > 1:
            times["tpot"] = request.mean_time_per_output_token
        for metric, seconds in times.items():
            self._case.timing(round(seconds * 1e9), metric=metric, sample=number)

    def _step(self, details: Any, stats: Any, engine: int, at: Instant) -> None:
        self.run.emit(
            ScheduleChunk(
                run_id=self.run.run_id, line=next(self._lines), counter_id=details.iteration_index, dp_rank=engine,
                total_tokens=details.num_ctx_tokens + details.num_generation_tokens,
                prefill=details.num_ctx_requests, prefill_tokens=details.num_ctx_tokens,
                decode=details.num_generation_requests, decode_tokens=details.num_generation_tokens,
                model_run_ms=details.elapsed_ms, time_span=TIME_SPAN, capture_mode="full", recorded_at=at,
                running=stats.num_running_reqs, waiting=waiting(stats), kv_cache_usage=stats.kv_cache_usage,
            )
        )  # fmt: skip

    def _gauge(self, stats: Any, seconds: float, tokens_in: int, tokens_out: int, at: Instant) -> None:
        number = self._first + next(_gauges)
        self._metric("running", stats.num_running_reqs, "count", number, at)
        self._metric("waiting", waiting(stats), "count", number, at)
        self._metric("kv_cache_usage", stats.kv_cache_usage, "ratio", number, at)
        self._metric("input_throughput", tokens_in / seconds, "tokens/s", number, at)
        self._metric("output_throughput", tokens_out / seconds, "tokens/s", number, at)

    def _metric(
        self, name: str, value: float | None, unit: str | None, sample: int, at: Instant, *, text: str | None = None
    ) -> None:
        self.run.emit(
            Metric(
                run_id=self.run.run_id, case_id=self._case.case_id, metric=name, unit=unit, sample=sample, recorded_at=at,
                value=None if value is None else float(value), original_value=text,
            )
        )  # fmt: skip


def waiting(stats: Any) -> int:
    """Requests in the queue, those that are held back too."""
    return int(stats.num_waiting_reqs + stats.num_skipped_waiting_reqs)
