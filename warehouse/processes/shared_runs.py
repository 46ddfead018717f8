"""Runs that several processes record into: ranks that torchrun started, and children that `multiprocessing` spawned."""

import hashlib
import itertools
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

SPAWNED = "BENCH_SPAWNED_RUNS"  # ids of the runs that the parent of a spawned child began, in order
MOST = 100  # that a script may begin while it is imported
_calls = itertools.count()


@dataclass(frozen=True, slots=True)
class SharedRun:
    """The place of this process in a run of several."""

    run_id: str
    begins: bool  # whether it is this process that announces the run and says how it ended
    axes: Mapping[str, int] = field(default_factory=dict)  # parameters that its cases have beside their own


def find_shared_run() -> SharedRun | None:
    """The run to record into instead of a new one, at each call of `bench.run` in a script; None for a run of its own."""
    call = next(_calls)
    if _is_importing_main():
        ids = os.environ.get(SPAWNED, "").split(",")
        return SharedRun(ids[call], begins=False) if call < len(ids) and ids[call] else None
    rank, world = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    if not (rank.isdecimal() and world.isdecimal() and int(world) > 1):
        return None
    return SharedRun(_id_of_ranks(call), begins=int(rank) == 0, axes={"rank": int(rank)})


def announce_to_children(run_id: str) -> None:
    """Leave the id of a run where a spawned child, which imports the script again, finds it."""
    ids = [*filter(None, os.environ.get(SPAWNED, "").split(",")), run_id]
    os.environ[SPAWNED] = ",".join(ids[:MOST])


def _is_importing_main() -> bool:
    """True in a child of `multiprocessing` that imports its parent's script, as it does before its own work."""
    process = sys.modules.get("multiprocessing.process")
    return process is not None and getattr(process.current_process(), "_inheriting", False)


def _id_of_ranks(call: int) -> str:
    """An id that all ranks of one start of a program agree on, and no other start has: a UUID of version 8 (RFC 9562)."""
    job = [os.environ.get(name, "") for name in ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "SLURM_JOB_ID")]
    if os.environ.get("LOCAL_WORLD_SIZE") == os.environ["WORLD_SIZE"]:  # one machine: all have the same parent
        job += [os.uname().nodename, str(os.getppid()), _start_of(os.getppid())]
    else:
        job += [os.environ.get(name, "") for name in ("MASTER_ADDR", "MASTER_PORT")]
    digits = hashlib.sha256(repr((job, call)).encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-8{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"


def _start_of(pid: int) -> str:
    """The time when a process began, in ticks since boot, with the boot's id; empty where the kernel does not tell."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[19]}"
    except (OSError, IndexError):
        return ""
