"""A double of vLLM: the interfaces that we stand on, at their edge, without what is behind them.

`vllm_contract.py` shows that vLLM 0.33 has them so. The double is a package of its own in `sys.modules`, with the metadata of a
distribution, so that ours finds it as it finds vLLM.
"""

import itertools
import sys
import types
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bench import serving
from bench.measure.serving import server_stats, vllm_classes, vllm_run


def scheduler_output(chunks: dict[str, int], new: Iterable[str] = (), *, before: int = 0, generated: int = 1) -> Any:
    """What `schedule` returns: tokens by request; those of `new` are scheduled for the first time."""
    new = [name for name in chunks if name in set(new)]
    others = [name for name in chunks if name not in new]
    return SimpleNamespace(
        num_scheduled_tokens=chunks,
        total_num_scheduled_tokens=sum(chunks.values()),
        scheduled_new_reqs=[SimpleNamespace(req_id=name, num_computed_tokens=before) for name in new],
        scheduled_cached_reqs=SimpleNamespace(
            req_ids=others, num_computed_tokens=[before] * len(others), num_output_tokens=[generated] * len(others)
        ),
    )


class Scheduler:
    """Schedules what it is given."""

    def __init__(self, vllm_config: Any, plan: Iterable[Any] = ()) -> None:
        self.vllm_config = vllm_config
        self.max_num_scheduled_tokens = 512
        self.plan = iter(plan)
        self.running, self.waiting = 3, 2
        self.updated: list[Any] = []
        self.ended = False

    def schedule(self, throttle_prefills: bool = False) -> Any:
        """The next step."""
        return next(self.plan)

    def update_from_output(self, scheduler_output: Any, model_runner_output: Any) -> Any:
        """Take the model's output."""
        self.updated.append(scheduler_output)
        return {0: model_runner_output}

    def get_request_counts(self) -> tuple[int, int]:
        """Running, waiting."""
        return self.running, self.waiting

    def get_kv_cache_usage(self) -> float:
        """A share."""
        return 0.25

    def shutdown(self) -> None:
        """The end."""
        self.ended = True


class AsyncScheduler(Scheduler):
    """What vLLM takes where scheduling is asynchronous."""


class StatLoggerBase:
    """What a plugin must derive from."""


def config(*, asynchronous: bool = True, scheduler_cls: Any = "bench.serving.RecordingScheduler") -> Any:
    """A server's configuration."""
    return SimpleNamespace(
        model_config=SimpleNamespace(model="org/model", served_model_name="model", dtype="torch.bfloat16"),
        scheduler_config=SimpleNamespace(async_scheduling=asynchronous, scheduler_cls=scheduler_cls, max_num_seqs=8),
        parallel_config=SimpleNamespace(data_parallel_index=1),
    )


def install(monkeypatch: pytest.MonkeyPatch, folder: Path, version: str = "0.33.0") -> None:
    """Let `import vllm` find the double."""
    tree: dict[str, dict[str, Any]] = {
        "vllm.v1.core.sched.scheduler": {"Scheduler": Scheduler},
        "vllm.v1.core.sched.async_scheduler": {"AsyncScheduler": AsyncScheduler},
        "vllm.v1.metrics.loggers": {"StatLoggerBase": StatLoggerBase},
    }
    for name, members in tree.items():
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            path = ".".join(parts[:end])
            if path not in sys.modules:
                monkeypatch.setitem(sys.modules, path, types.ModuleType(path))
        vars(sys.modules[name]).update(members)
    metadata = folder / f"vllm-{version}.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n")
    monkeypatch.syspath_prepend(str(folder))


def forget() -> None:
    """Leave no classes, runs or numbers of a test to the next one."""
    for name in ("RecordingScheduler", "StatLogger"):
        vars(serving).pop(name, None)
    for _, stats in vllm_classes._known.values():
        if stats is not None:
            stats.close()
    vllm_classes._known.clear()
    vllm_run._announcer = None
    server_stats._requests, server_stats._gauges = itertools.count(), itertools.count()
