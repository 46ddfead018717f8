"""Distributed models: several processes as one workload, by DDP or FSDP, with gloo on CPUs and NCCL on GPUs.

The worker is rank 0 and leads. It starts the other ranks, `rank_process`, with the environment
that torchrun would give them. Where torchrun started bench itself, the bench of each rank starts them (see torchrun). The
worker tells them what to prepare and how often to run it, before its clock starts. All ranks have the same inputs, so that
the averaged gradients are those of one process, and accuracy can be judged.
"""

import atexit
import json
import os
import socket
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Protocol

from ..engine.workload import Settings, Workload
from . import torchrun
from .rank import Rank


class Other(Protocol):
    """Another rank, or several, as rank 0 controls them."""

    def send(self, line: str) -> None:
        """Send it a line."""

    def close(self) -> None:
        """Close it."""


class Ranks:
    """The other ranks, controlled by rank 0; in another rank it controls none."""

    def __init__(self, workload: Workload, settings: Settings, count: int) -> None:
        """Start the other ranks and join their group; another rank only joins."""
        self._prepared = 0
        self._others: list[Other] = []
        message = json.dumps([asdict(workload), asdict(settings)])
        if torchrun.leading():
            self._others = [torchrun.Followers(message)]
        elif "RANK" not in os.environ:
            _check_gpus(workload.device, count)
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
            os.environ |= {**meeting, "WORLD_SIZE": str(count), "RANK": "0", "LOCAL_RANK": "0"}
            self._others = [
                Rank({**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank)}, message, give_up)
                for rank in range(1, count)
            ]
        atexit.register(self._close)
        meet(workload.device)

    def prepare(self, backend: str) -> None:
        """Let the others prepare a step like this rank; they synchronise during it."""
        self._tell("prepare", backend)

    def together(self, step: Callable[[], Any]) -> Callable[[], Any]:
        """The last prepared step, run by all ranks together."""
        self._prepared += 1
        return Together(step, self._prepared - 1, self._tell) if self._others else step

    def _close(self) -> None:
        """Let the others go; a process that left its group without a word would be waited for."""
        import torch

        for other in self._others:
            other.close()
        torch.distributed.destroy_process_group()

    def _tell(self, *words: Any) -> None:
        for other in self._others:
            other.send(json.dumps(words))


class Together:
    """A step that all ranks run together."""

    def __init__(self, step: Callable[[], Any], number: int, send: Callable[..., None]) -> None:
        self.step, self._number, self._tell = step, number, send

    def __call__(self) -> Any:
        """Take it once."""
        return self.together(1)()

    def together(self, loops: int) -> Callable[[], Any]:
        """Let the others run it so often; returns the function to call as often here."""
        self._tell("run", self._number, loops)
        barrier()
        return self.step


def give_up(reason: str) -> None:
    """End this process: a collective that a rank is missing from would be waited for until its timeout."""
    sys.stderr.write(f"{reason}\n")
    sys.stderr.flush()
    os._exit(1)


def _check_gpus(device: str, count: int) -> None:
    """Every rank of this machine needs a GPU of its own.

    Raises:
        ValueError: There are too few; NCCL would wait for them.
    """
    import torch

    if device.startswith("cuda") and count > (there := torch.cuda.device_count()):
        raise ValueError(f"{count} ranks need {count} GPUs and torch sees {there}. Choose as many with --ranks")


def meet(device: str) -> None:
    """Join the group of ranks."""
    import torch

    on_gpu = device.startswith("cuda")
    torch.distributed.init_process_group("nccl" if on_gpu else "gloo", **torchrun.meeting())


def barrier() -> None:
    """Wait for all ranks."""
    import torch

    torch.distributed.barrier()


def spread(module: Any, kind: str) -> Any:
    """The module as each rank calls it: replicas with averaged gradients, or shards of its parameters."""
    import torch

    if kind == "ddp":
        return torch.nn.parallel.DistributedDataParallel(module)
    from torch.distributed.fsdp import fully_shard

    for part in module.children():
        if any(True for _ in part.parameters()):
            fully_shard(part)
    fully_shard(module)
    return module
