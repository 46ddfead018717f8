"""Nothing is lost in silence: damaged files, killed commands, tracers in four threads, a full disk, clocks days apart.

Each trial counts the events written and those read, and looks whether what is missing is told. A silent difference is
beyond its bar. `tests/warehouse` tries each kind by itself, at every point; here all kinds are drawn at random.
"""

import contextlib
import io
import itertools
import multiprocessing
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bench
from bench.ingest.run import ingest
from bench.warehouse import schema
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError
from bench.warehouse.load import load, rebuild
from bench.warehouse.remote.sync import sync
from bench.warehouse.store import Store
from bench.warehouse.upkeep import healing
from bench.warehouse.upkeep.compaction import compact

from ..ingest.records import lines, step
from ..warehouse.journals.test_damage import KILLED
from ..warehouse.test_kills import SCENARIOS, given_again, undisturbed
from ..warehouse.upkeep.test_campaign import Rows, hurt, read, total
from .figures import Figures

DAMAGES, KILLS, TRACED = 500, 200, 20
PROCESSORS = len(os.sched_getaffinity(0))
FORKED = multiprocessing.get_context("forkserver")  # threads would take each other's exit codes
LOST = re.compile(r"([\d,]+) (?:events? (?:is|are) lost|of its [\d,]+ rows, in [^,]* (?:is|are) lost)")


@dataclass(slots=True)
class Count:
    """The events of some trials."""

    trials: int = 0
    written: int = 0
    read: int = 0
    told: int = 0  # events that were said to be lost
    silent: int = 0  # of trials with a difference that nobody told

    def add(self, written: int, found: int, *, same: bool, told: int = 0) -> None:
        """Count a trial; `same` is whether all is there, or what is missing was told."""
        self.trials, self.written, self.read = self.trials + 1, self.written + written, self.read + found
        self.told += told
        self.silent += not same


def measure(figures: Figures) -> None:
    """All kinds, or those whose names hold `BENCH_KINDS`; `BENCH_TRIALS` is the share of trials to make, such as 0.1."""
    share = float(os.environ.get("BENCH_TRIALS", "1"))
    kinds: dict[str, Callable[[Path, float], Count]] = {
        "damaged files": _damages, "killed commands": _kills, "four threads, traced and killed": _tracers,
        "a full disk": _full_disk, "clocks six days apart": _clocks,
    }  # fmt: skip
    for name, trial in kinds.items():
        if os.environ.get("BENCH_KINDS", "") not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            count = trial(Path(folder), share)
        print(f"{name}: {count}", file=sys.stderr)
        figures.add(f"{name}: trials", count.trials, "count")
        figures.add(f"{name}: events written", count.written, "count", reference=count.read, against="events read")
        figures.add(f"{name}: events told lost", count.told, "count")
        figures.add(f"{name}: silent differences", count.silent, "count", most=0)


def _damages(folder: Path, share: float) -> Count:
    """One random damage each to a journal, an event file, a manifest or the warehouse of a store: one on each processor."""
    count, store = Count(), Store(folder / "whole").create()
    schema.ROWS_IN_GROUP, rows_in_group = 100, schema.ROWS_IN_GROUP
    for number in range(3):
        with bench.run(f"c{number}", store=store) as recorded:
            for sample in range(300):
                recorded.case("case").timing(1000 + number + 7 * sample)
        if number == 1:
            compact(store, below_bytes=1 << 20, target_bytes=1 << 20)
    (folder / "p.jsonl").write_text(lines(*map(step, range(200))))
    ingest(store, [str(folder / "p.jsonl")])
    schema.ROWS_IN_GROUP = rows_in_group
    load(store)
    for closed in (True, False):
        dying = bench.run("dead", store=store)
        for sample in range(6000):
            dying.case("case").timing(sample)
        if closed:
            dying.close(seal=False)
    journals = sorted(store.journals.iterdir())
    unchecked = dying._journal.path.name  # its last events have no checksum yet, as each answer says
    shutil.copytree(store.root, folder / "sealed")
    dying.close(seal=False)
    expected = read(_copy(folder, "expected"))
    kinds = [journals, sorted(store.events.glob("*/*.parquet")), [store.root / "sources.json"], [store.database]]
    draw = random.Random(42)
    paths = [draw.choice(draw.choice(kinds)).relative_to(store.root) for _ in range(round(DAMAGES * share))]
    with ProcessPoolExecutor(PROCESSORS, FORKED) as pool:
        trials = pool.map(_after_damage, itertools.repeat(folder), paths, range(len(paths)))
        for path, (found, told) in zip(paths, trials, strict=True):
            missing = total(expected) - total(found)
            is_told = path.name in told if missing else path.name == unchecked and "without a checksum" in told
            number = sum(int(digits.replace(",", "")) for digits in LOST.findall(told))
            count.add(total(expected), total(found), same=found == expected or is_told, told=number)
            if found != expected and not is_told:
                print(f"silent: {path.name}, told {told!r}", file=sys.stderr)
    return count


def _copy(folder: Path, name: str) -> Store:
    shutil.copytree(folder / "sealed", folder / name)
    return Store(folder / name)


def _after_damage(folder: Path, path: Path, trial: int) -> tuple[Rows, str]:
    """What an answer has, and what it says on stderr, where one file of the store was damaged."""
    draw, tried = random.Random(trial), _copy(folder, f"tried{trial}")
    hurt(tried.root / path, draw)
    if draw.random() < 0.5:
        tried.database.unlink(missing_ok=True)
    try:
        return _asked(tried)
    finally:
        shutil.rmtree(tried.root)


def _asked(store: Store) -> tuple[Rows, str]:
    """What an answer has, and what it says on stderr."""
    healing._noted.clear()
    with contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            return read(store), said.getvalue()
        except BenchError as error:
            return {}, said.getvalue() + str(error)


def _kills(folder: Path, share: float) -> Count:
    """Commands that die at a random change to a file, or at any time, and are given again: one on each processor."""
    count, draw = Count(), random.Random(7)
    with ProcessPoolExecutor(PROCESSORS, FORKED) as pool:
        for name, scenario in SCENARIOS.items():
            expected, ended = undisturbed(scenario, folder / name, folder / "work")
            kills: list[tuple[int | None, float | None]] = [
                (draw.choice(ended.points)[0], None) if draw.random() < 0.5 else (None, draw.random() * ended.seconds)
                for _ in range(round(KILLS * share / len(SCENARIOS)))
            ]
            trials = [
                pool.submit(given_again, scenario, folder / name, folder / f"{name}-{index}", *kill)
                for index, kill in enumerate(kills)
            ]
            for kill, trial in zip(kills, trials, strict=True):
                found = trial.result()
                wrong = [*expected.wrong(scenario, found.result)] if found.result else [found.output]
                count.add(_events(expected.after), _events(found.result), same=not wrong)
                for sentence in wrong:
                    print(f"{name} killed at (point, seconds) {kill}: {sentence}", file=sys.stderr)
            print(f"{count.trials} commands killed, {name} the last, {count.silent} wrong", file=sys.stderr)
    return count


def _events(found: dict[str, Any] | None) -> int:
    return sum(len(rows) for now in found["then"] for rows in now["state"].values()) if found else 0


def _tracers(folder: Path, share: float) -> Count:
    """Processes of four threads under a tracer, killed at any time."""
    count, draw = Count(), random.Random(3)
    for number in range(max(1, round(TRACED * share))):
        store, counters = Store(folder / str(number)), folder / f"{number}.counters"
        counters.write_bytes(bytes(32))
        pause = str(0.05 + draw.random() / 3)
        subprocess.run([sys.executable, "-c", KILLED, store.root, counters, "traced", pause], check=False)
        acknowledged = [int.from_bytes(counters.read_bytes()[8 * n : 8 * n + 8], "little") for n in range(4)]
        load(store)
        with Warehouse.open(store) as warehouse:
            rows = warehouse.rows("SELECT loops - 1, count(*), count(DISTINCT duration_ns) FROM timings GROUP BY ALL")
        found = {thread: many for thread, many, distinct in rows if many == distinct}
        same = all(found.get(thread, 0) - many in (0, 1) for thread, many in enumerate(acknowledged))
        count.add(sum(acknowledged), sum(found.values()), same=same)
    return count


def _full_disk(folder: Path, share: float) -> Count:
    """A disk of 4 MB that is full while events are recorded; left out where nobody may mount one."""
    count, disk = Count(), folder / "disk"
    disk.mkdir()
    for filled in range(400_000, 3_200_000, round(400_000 / max(share, 0.2))):
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk], capture_output=True).returncode:
            print("no disk can be mounted here: a full one is left out", file=sys.stderr)
            return count
        try:
            (disk / "filler").write_bytes(bytes(filled))
            taken, found = _until_full(Store(disk / "store").create(), disk / "filler")
            count.add(taken, found, same=taken == found)
        finally:
            subprocess.run(["umount", "-l", disk], check=True)
    return count


def _until_full(store: Store, filler: Path) -> tuple[int, int]:
    """Events taken before the disk is full and after it has room again, and those that are read then."""
    taken, dying = 0, bench.run("full", store=store)
    case = dying.case("case")
    with contextlib.suppress(BenchError):
        while True:
            case.timing(taken)
            taken += 1
    filler.unlink()
    with contextlib.suppress(BenchError):
        for _ in range(100):
            case.timing(taken)
            taken += 1
    dying.close(seal=False)
    shutil.copytree(store.root, copied := Path(tempfile.mkdtemp()) / "store")
    try:
        load(Store(copied))
        with Warehouse.open(Store(copied)) as warehouse:
            return taken, warehouse.rows("SELECT count(DISTINCT duration_ns) FROM timings")[0][0]
    finally:
        shutil.rmtree(copied.parent)


RECORD = """
import sys, time
offset, name, store, count = int(sys.argv[1]) * 10**9, *sys.argv[2:4], int(sys.argv[4])
real, seconds = time.time_ns, time.time
time.time_ns, time.time = lambda: real() + offset, lambda: seconds() + offset / 1e9
import bench
with bench.run(name, store=store) as run:
    for number in range(count):
        run.case("case").timing(number)
"""


def _clocks(folder: Path, share: float) -> Count:
    """Two machines, one three days ahead and one three days behind, whose stores are copied into a third by turns."""
    count, stores, written = Count(), [folder / "ahead", folder / "behind"], Counter[str]()
    both = Store(folder / "both").create()
    for turn in range(max(1, round(5 * share))):
        for store, days in zip(stores, (3, -3), strict=True):
            offset = str(days * 86400)
            subprocess.run([sys.executable, "-c", RECORD, offset, f"{store.name}{turn}", store, "300"], check=True)
            written[store.name] += 300
            sync(Store(store), both)
            if turn == 2:
                compact(both, below_bytes=1 << 20, target_bytes=1 << 20)
        sync(both, Store(stores[turn % 2]))
        rebuild(both) if turn % 2 else load(both)
        with Warehouse.open(both) as warehouse:
            ((found, runs),) = warehouse.rows("SELECT count(*), count(DISTINCT run_id) FROM timings")
        expected = sum(written.values())
        count.add(expected, found, same=(found, runs) == (expected, 2 * (turn + 1)))
    return count
