"""Under torchrun: `torchrun --nproc-per-node 2 -m bench measure models --distributed ddp …`.

torchrun starts bench once for each rank, on any number of machines. The bench of rank 0 works as usual. The others follow:
whenever a worker of rank 0 begins, each starts a process of its rank for it, and forwards the worker's messages. The messages
pass through the key-value store of torchrun, under keys of our own; every worker and its ranks form their own process group.
"""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

PATIENCE = timedelta(days=7)  # a plan may take long, and who waits for it costs nothing
LEAVING = timedelta(seconds=30)  # for which rank 0 keeps the store for the others at most, when all is over
GROUP = "BENCH_RANKS_GROUP"  # number of the worker that a rank is for
BEGIN, TELL, END, OVER = "begin", "tell", "end", "over"


def left(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment without the variables of torchrun, for a process that belongs to no rank."""
    ours = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "TORCHELASTIC_RUN_ID")
    return {name: value for name, value in environment.items() if name not in ours}


def started() -> int | None:
    """The number of ranks that torchrun started; None without torchrun."""
    return int(os.environ["WORLD_SIZE"]) if "TORCHELASTIC_RUN_ID" in os.environ else None


def leading() -> bool:
    """Return whether this is rank 0 of several that torchrun started, or a worker of it."""
    return started() is not None and os.environ["RANK"] == "0"


def following() -> bool:
    """Return whether this is one of the other ranks."""
    return started() is not None and os.environ["RANK"] != "0"


def _store(*, host: bool = False) -> "Store":
    """The store of the ranks; rank 0's bench keeps it where torchrun does not."""
    from torch._C._distributed_c10d import PrefixStore, TCPStore

    kept = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    where = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    store = TCPStore(*where, is_master=host and not kept, timeout=PATIENCE, wait_for_workers=False)
    return PrefixStore(f"bench/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)


def _post(store: "Store", what: str, line: str = "") -> None:
    store.set(f"said/{store.add('said', 1)}", json.dumps([what, line]))


def meeting() -> dict[str, Any]:
    """Arguments of `init_process_group` for a worker and its ranks; none if the environment has them."""
    if started() is None:
        return {}
    from torch._C._distributed_c10d import PrefixStore

    return {
        "store": PrefixStore(f"group/{os.environ[GROUP]}", _store()),
        "rank": int(os.environ["RANK"]), "world_size": int(os.environ["WORLD_SIZE"]),
    }  # fmt: skip


class Followers:
    """All other ranks, as a worker of rank 0 controls them."""

    def __init__(self, message: str) -> None:
        """Let each start a process, and send it the workload and the settings."""
        self._store = _store()
        os.environ[GROUP] = str(self._store.add("group", 1))
        _post(self._store, BEGIN, json.dumps([os.environ[GROUP], message]))

    def send(self, line: str) -> None:
        """Send them a line."""
        _post(self._store, TELL, line)

    def close(self) -> None:
        """Close them."""
        _post(self._store, END)


@contextlib.contextmanager
def lead() -> Iterator[None]:
    """Let the other ranks serve the workers of the context, if there are other ranks, and end them after it."""
    if not leading():
        yield
        return
    store = _store(host=True)
    try:
        yield
    finally:
        _post(store, OVER)
        with contextlib.suppress(RuntimeError):  # one is gone, or never came: no reason to stay
            store.wait([f"gone/{rank}" for rank in range(1, int(os.environ["WORLD_SIZE"]))], LEAVING)


def follow() -> None:
    """Start a process of this rank for every worker of rank 0, and forward its messages, until rank 0 ends."""
    from .rank import Rank

    store, number = _store(), 0
    process: Rank | None = None
    while True:
        number += 1
        what, line = json.loads(store.get(f"said/{number}"))
        if what == TELL:
            if process is not None:
                process.send(line)
            continue
        if process is not None:  # ended, or the worker died without a word
            process.close()
            process = None
        if what == OVER:
            store.set(f"gone/{os.environ['RANK']}", "")
            return
        if what == BEGIN:
            group, message = json.loads(line)
            process = Rank({**os.environ, GROUP: group}, message)
