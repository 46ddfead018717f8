"""What a store costs as it grows a thousandfold: its files, its loading, its questions, at 10^5 to 10^8 timings.

The store holds nightly runs of 3,200 cases, one file of each table a night, as a fleet leaves it: a month at 1.5 million
timings, 5 years at 100 million. What is measured at 10^7 and 10^8 stands beside what 10^6 cost, in proportion: a ratio
of at most 1 is a cost that grew no faster than the store. docs/decisions/2026-11-28-growth-of-a-store.md has the results.
"""

import sys
import tempfile
import threading
import time
from pathlib import Path

from bench.warehouse.database import Warehouse
from bench.warehouse.events import Timing
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store

from .figures import Figures, weigh
from .nights import COMPARE, REPORT, SAMPLES, Nights

SIZES = (2, 20, 195, 1973)  # nights: 10^5 to 10^8 timings, of which one case in a hundred failed
YARDSTICK = 20  # what the larger ones stand beside, for a cost must not grow faster than the store
CALL = "import sys; from pathlib import Path; from bench.warehouse.load import load; from bench.warehouse.upkeep import compaction; from bench.warehouse.store import Store; store = Store(Path(sys.argv[1])); "
LIST = """
import sys, time
from pathlib import Path
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store
log = EventLog(Store(Path(sys.argv[1])))
began = time.perf_counter()
log.files()
print(time.perf_counter() - began)
"""
QUESTIONS = {
    "a report": REPORT,
    "a compare": COMPARE,
    "raw SQL": ("SELECT run_id, median(duration_ns) FROM timings GROUP BY run_id",),
}


def measure(figures: Figures) -> None:
    """One store after the other, each ten times larger."""
    smaller: dict[str, float] = {}
    for nights in SIZES:
        with tempfile.TemporaryDirectory() as name:
            each = _size(figures, Store(Path(name) / "store").create(), nights, smaller)
        smaller = smaller or (each if nights == YARDSTICK else {})


def _size(figures: Figures, store: Store, runs: int, smaller: dict[str, float]) -> dict[str, float]:
    """Measure a store of so many nights beside a smaller one; returns what a timing cost in each respect."""
    each: dict[str, float] = {}
    nights = Nights(store, runs, at_once=1)
    nights.time()
    nights.judge()
    timings = round(runs * len(nights.axes) * 0.99) * SAMPLES
    size = f"{timings:.0e}".replace("e+0", "e") + " timings"

    def add(name: str, value: float, unit: str, **bars: float) -> None:
        each[name] = value / timings
        figures.add(f"{name}, {size}", value, unit, **bars, against="the smaller store's, in proportion",
                    reference=smaller[name] * timings if name in smaller else None)  # fmt: skip

    def run(name: str, source: str, **bars: float) -> None:
        with _Spill(store) as spill:
            cost = weigh([sys.executable, "-c", CALL + source, str(store.root)])
        add(f"{name}", cost.seconds, "s", **bars)
        figures.add(f"{name}: memory, {size}", cost.peak_bytes / 1e6, "MB", most=4096)
        figures.add(f"{name}: spilled, {size}", spill.most / 1e6, "MB", most=4096)

    linear = {"ratio_most": 1.0} if smaller else {}
    add("listing", float(weigh([sys.executable, "-c", LIST, str(store.root)]).stdout), "s")
    run("load", "load(store)", **linear)
    add("bytes of timings as written", _of_timings(store), "B")
    run("compact", "compaction.compact(store, below_bytes=16 << 20, target_bytes=128 << 20)")
    add("bytes of timings, compacted", _of_timings(store), "B", most=20.0 * timings)
    add("bytes of the warehouse", store.database.stat().st_size, "B")
    with Warehouse.open(store) as warehouse:
        counted = warehouse.rows("SELECT count(*) FROM timings")[0][0]
        for name, queries in QUESTIONS.items():
            add(name, min(_seconds(warehouse, nights.asked(queries)) for _ in range(3)), "s", **linear)
    figures.add(f"timings in the store, {size}", counted, "count")
    Nights(store, 1, at_once=1).time()
    run("one night more", "load(store)")
    return each


def _seconds(warehouse: Warehouse, queries: list[str]) -> float:
    began = time.perf_counter()
    for query in queries:
        warehouse.rows(query)
    return time.perf_counter() - began


def _of_timings(store: Store) -> int:
    return sum(file.size_bytes for file in EventLog(store).files() if file.table == Timing.TABLE)


class _Spill:
    """Watches how much a load puts on the disk for want of memory."""

    def __init__(self, store: Store) -> None:
        self.folder, self.most, self._done = store.root / ".spill", 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def _watch(self) -> None:
        while not self._done.wait(0.1):
            try:
                self.most = max(self.most, sum(path.stat().st_size for path in self.folder.iterdir()))
            except OSError:
                continue

    def __enter__(self) -> "_Spill":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
