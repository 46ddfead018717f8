"""Sixteen processes write one store, some of them killed: every event whose call returned is there, and once."""

import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.measure.engine.workload import Settings, Workload
from bench.measure.models.fleet import Claims
from bench.warehouse.load import load
from bench.warehouse.log import EventLog
from bench.warehouse.remote.places import place
from bench.warehouse.store import Store
from bench.warehouse.upkeep.compaction import compact
from bench.warehouse.upkeep.verify import verify

from ..builders import stored
from ..exhaustive import exhaustive

WRITERS, KILLED = 16, 9

# Each process emits the numbers from 0 and says in shared memory how many calls have returned, until it is told to stop.
FLEET = f"""
import mmap, os, sys, time
import pyarrow
import bench
from bench.warehouse import recorder
recorder.ROTATE_BYTES = 100_000
deadline = time.monotonic() + 120  # whoever started us may be killed himself
file = open(sys.argv[2], "r+b")
shared = memoryview(mmap.mmap(file.fileno(), 0)).cast("q")
def write(writer):
    with bench.run(f"writer {{writer}}", store=sys.argv[1]) as run:
        case = run.case("c")
        number = 0
        while not shared[{WRITERS}] and time.monotonic() < deadline:
            for _ in range(40 if number < 6000 else 0):
                if number % 40 < 30:
                    case.timing(number)
                else:
                    run.schedule_chunk([number], schedule_ms=number / 7)
                number += 1
                shared[writer] = number
            time.sleep(0.02)
pids = []
for writer in range({WRITERS}):
    pid = os.fork()
    if not pid:
        write(writer)
        os._exit(0)
    pids.append(pid)
print(*pids, flush=True)
for pid in pids:
    os.waitpid(pid, 0)
"""


def test_claims_in_a_bucket_are_made_by_one(machine: Callable[[str], Store]) -> None:
    """The server decides who was first, whatever mirrors the machines have."""
    plan = [
        Workload(
            suite="s", name=f"model {number}", target="", mode="", device="", dtype="", batch_size=0,
            sequence_length=None, backends=("eager",),
        )
        for number in range(6)
    ]  # fmt: skip

    def got(name: str) -> list[str]:
        claims = Claims(place(machine(name)), "night", plan, Settings(), name)
        return [workload.name for workload in claims.of(plan)]

    with ThreadPoolExecutor(4) as pool:
        all_got = [name for names in pool.map(got, "abcd") for name in names]
    assert sorted(all_got) == [workload.name for workload in plan]


@exhaustive
def test_no_event_of_a_fleet_is_lost(tmp_path: Path) -> None:
    """Another process seals, loads and merges meanwhile; nine of the sixteen are killed at moments of a seed."""
    chance = random.Random(8)
    store = Store.find(tmp_path / "store")
    counters = tmp_path / "counters"
    counters.write_bytes(bytes(8 * (WRITERS + 1)))
    fleet = subprocess.Popen(
        [sys.executable, "-c", FLEET, store.root, counters], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        with counters.open("r+b") as file, mmap.mmap(file.fileno(), 0) as shared:
            assert fleet.stdout is not None
            pids = [int(word) for word in fleet.stdout.readline().split()]
            while not all(struct.unpack(f"<{WRITERS}q", shared[: 8 * WRITERS])):
                assert fleet.poll() is None
                time.sleep(0.001)
            for turn, writer in enumerate(chance.sample(range(WRITERS), KILLED)):
                time.sleep(chance.random() * 0.04)
                os.kill(pids[writer], signal.SIGKILL)
                if turn == 4:
                    compact(store, below_bytes=1 << 20, target_bytes=1 << 24)
            shared[8 * WRITERS] = 1
            assert fleet.wait(timeout=60) == 0
            acknowledged = struct.unpack(f"<{WRITERS}q", shared[: 8 * WRITERS])
    finally:
        os.killpg(fleet.pid, signal.SIGKILL) if fleet.poll() is None else None
        fleet.communicate()

    load(store)
    query = """
        SELECT config[8:]::BIGINT AS writer, count(*), count(DISTINCT number), max(number) + 1
        FROM (
            SELECT run_id, duration_ns AS number FROM timings
            UNION ALL
            SELECT run_id, chunk_sizes[1] FROM schedule_chunks
        ) JOIN runs USING (run_id)
        GROUP BY 1 ORDER BY 1
    """
    found = stored(query, store)
    assert [row[0] for row in found] == list(range(WRITERS))
    for (_, count, distinct, end), known in zip(found, acknowledged, strict=True):
        assert count == distinct == end
        assert 0 <= count - known <= 1
    assert EventLog(store).journals() == [] and verify(store).problems == {}
