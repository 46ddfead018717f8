"""The classes that vLLM takes from us. They derive from vLLM's own, so they are made, and vLLM imported, when they are asked for.

Nothing of ours may end or change the engine: what we raise is caught, logged once, and ends the recording.
"""

import importlib
import os
import threading
from typing import Any

from .server_stats import ServerStats
from .step_recorder import StepRecorder, clock
from .vllm_run import begin, complain, value_at

SCHEDULER = "RecordingScheduler"


def recording_scheduler() -> type:
    """The class for `--scheduler-cls`: the scheduler that vLLM would take, whose steps are recorded."""
    synchronous = _recording("vllm.v1.core.sched.scheduler", "Scheduler")
    asynchronous: Any = _recording("vllm.v1.core.sched.async_scheduler", "AsyncScheduler")

    class RecordingScheduler(asynchronous):  # type: ignore[misc]
        """vLLM's scheduler, whose steps bench records."""

        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            """An instance that schedules as the server's settings say."""
            config = kwargs.get("vllm_config", args[0] if args else None)
            if value_at(config, "scheduler_config.async_scheduling") is False:
                return synchronous(*args, **kwargs)
            return super().__new__(cls)

    return RecordingScheduler


def _recording(module: str, name: str) -> type:
    """A scheduler of vLLM with a recorder beside it."""
    base: Any = getattr(importlib.import_module(module), name)

    class Recording(base):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.bench_recorder = _step_recorder(self)

        def schedule(self, *args: Any, **kwargs: Any) -> Any:
            began = clock()
            output = super().schedule(*args, **kwargs)
            if self.bench_recorder is not None:
                try:
                    self.bench_recorder.scheduled(self, output, began, clock())
                except Exception as error:
                    self._end_recording(error)
            return output

        def update_from_output(self, scheduler_output: Any, *args: Any, **kwargs: Any) -> Any:
            if self.bench_recorder is not None:
                try:
                    self.bench_recorder.done(scheduler_output, clock())
                except Exception as error:
                    self._end_recording(error)
            return super().update_from_output(scheduler_output, *args, **kwargs)

        def shutdown(self, *args: Any, **kwargs: Any) -> Any:
            self._end_recording()
            return super().shutdown(*args, **kwargs)

        def _end_recording(self, error: Exception | None = None) -> None:
            recorder, self.bench_recorder = self.bench_recorder, None
            if error is not None:
                complain(error)
            if recorder is None:
                return
            if error is None:
                recorder.close()
            else:  # the engine goes on, and does not wait for what is left to be written
                threading.Thread(target=recorder.close, name="bench-close", daemon=True).start()

    return Recording


def _step_recorder(scheduler: Any) -> StepRecorder | None:
    config = getattr(scheduler, "vllm_config", None)
    run = begin(config)
    if run is None:
        return None
    try:
        # The index, because vLLM sets the rank of each engine to 0 where they need not wait for each other.
        rank = value_at(config, "parallel_config.data_parallel_index")
        return StepRecorder(run, dp_rank=rank, token_budget=getattr(scheduler, "max_num_scheduled_tokens", None))
    except Exception as error:
        complain(error)
        return None


def stat_logger() -> type:
    """The class that vLLM finds as a plugin of the group `vllm.stat_logger_plugins`."""
    base: Any = importlib.import_module("vllm.v1.metrics.loggers").StatLoggerBase

    class StatLogger(base):  # type: ignore[misc]
        """Records the requests of a server, and its queue."""

        def __init__(self, vllm_config: Any, engine_index: int = 0) -> None:
            self._stats = _server_stats(vllm_config)

        def record(
            self,
            scheduler_stats: Any = None,
            iteration_stats: Any = None,
            mm_cache_stats: Any = None,
            engine_idx: int = 0,
            **_: Any,
        ) -> None:
            if self._stats is not None:
                try:
                    self._stats.update(scheduler_stats, iteration_stats, engine_idx)
                except Exception as error:
                    self._stats = None
                    complain(error)

        def log_engine_initialized(self) -> None:
            """Nothing to say."""

    return StatLogger


_known: dict[tuple[int, int], tuple[Any, ServerStats | None]] = {}  # by process and configuration, which they keep


def _server_stats(vllm_config: Any) -> ServerStats | None:
    """The recorder that all engines of a server share; None if nothing is recorded."""
    key = os.getpid(), id(vllm_config)
    if key not in _known:
        stats, run = None, begin(vllm_config)
        try:
            if run is not None:
                stats = ServerStats(run, vllm_config, steps=not _records_steps(vllm_config))
        except Exception as error:
            complain(error)
        _known[key] = vllm_config, stats
    return _known[key][1]


def _records_steps(vllm_config: Any) -> bool:
    """Return whether the server's scheduler is ours."""
    chosen = value_at(vllm_config, "scheduler_config.scheduler_cls")
    return str(getattr(chosen, "__qualname__", chosen)).endswith(SCHEDULER)
